"""halyard.ray on two simulated nodes. The tests skip only if the package ray is not installed."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import numpy as np
import pytest

import halyard
from conftest import FLOAT, QUANT8, SOURCE

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")
from halyard import ray as halyard_ray  # noqa: E402
from halyard._ray_job import Job  # noqa: E402

DEVICE = "halyard-cpu"
IMAGE = "serving_default_image:0"


def pictures(start, stop):
    """Generated pictures: row n depends only on n."""
    rows = [np.random.default_rng(n).integers(-128, 128, (28, 28, 1), np.int8) for n in range(start, stop)]
    return {IMAGE: np.stack(rows)}


@pytest.fixture(scope="module")
def cluster():
    """Two nodes, each with one processor and the device."""
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    node = {"num_cpus": 1, "resources": {DEVICE: 1}, "object_store_memory": 100 << 20}
    # Room for actors that hold no processor, such as those of Ray Serve.
    made = Cluster(initialize_head=True, head_node_args={**node, "num_cpus": 2})
    made.add_node(**node)
    made.wait_for_nodes()
    ray.init(address=made.address, log_to_driver=False, ignore_reinit_error=True,
             runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(
                 [str(pathlib.Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}})
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture(scope="module")
def expected():
    """The scores of the first 100 pictures, computed in this process."""
    compiled = halyard.load(QUANT8.read_bytes()).compile("cpu")
    name = compiled.outputs[0].name
    return name, np.stack([compiled.run([picture[np.newaxis]])[name][0] for picture in pictures(0, 100)[IMAGE]])


def test_without_ray_the_error_says_how_to_install_it():
    program = ("import sys; sys.modules['ray'] = None\nimport halyard.ray\n"
               "try:\n halyard.ray.predict(None, b'')\n"
               "except ImportError as error: print(error)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 'pip install "ray[data,serve]"' in done.stdout


def test_resources_are_the_devices_of_the_machine():
    assert halyard_ray.resources()[DEVICE] == 1.0
    assert "nnapi-reference" not in halyard_ray.resources()
    with pytest.raises(halyard.BadDataError, match="device 'npu', expected one of .*halyard-cpu"):
        halyard_ray.resources(["npu"])
    shown = subprocess.run([sys.executable, "-m", "halyard.ray"], capture_output=True, text=True, check=True)
    assert json.loads(shown.stdout) == halyard_ray.resources()


def test_predict_gives_the_results_of_one_process(cluster, expected):
    name, scores = expected
    dataset = ray.data.from_numpy(pictures(0, 100)[IMAGE]).rename_columns({"data": IMAGE})
    dataset = dataset.add_column("n", lambda batch: np.arange(len(batch)), batch_format="pandas")
    results = halyard_ray.predict(dataset.repartition(4), QUANT8, device=DEVICE, workers=(1, 2), cpus=0.5,
                                  batch_size=10)
    rows = results.take_all()
    assert len(rows) == 100
    found = {row[IMAGE].tobytes(): row[name] for row in rows}
    for picture, score in zip(pictures(0, 100)[IMAGE], scores):
        np.testing.assert_array_equal(found[picture.tobytes()], score)


def test_a_device_that_no_node_has_is_an_error_with_the_resources(cluster):
    dataset = ray.data.range(1)
    with pytest.raises(halyard.BadDataError, match=r"no node .* 'vendor-npu' \(resources: .*halyard-cpu"):
        halyard_ray.predict(dataset, QUANT8, device="vendor-npu")


def test_a_column_of_the_wrong_type_names_the_input():
    worker = halyard_ray.Worker(QUANT8.read_bytes(), None)
    with pytest.raises(halyard.BadDataError, match="column is float64, expected int8"):
        worker({IMAGE: np.zeros((1, 28, 28, 1))})
    with pytest.raises(halyard.BadDataError, match="no column for the input .* columns are other"):
        worker({"other": np.zeros((1, 28, 28, 1), np.int8)})


def test_workers_and_replicas_allow_float16_on_request():
    model = FLOAT.read_bytes()
    for allowed in (False, True):
        for made in (halyard_ray.Worker(model, None, allowed), halyard_ray.Replica(model, "name", None, allowed)):
            assert made.compiled.report()["allow_fp16"] is allowed


def test_a_job_has_all_rows_and_continues_where_it_ended(cluster, expected, tmp_path):
    name, scores = expected
    seen = []
    options = {"rows_per_part": 15, "device": DEVICE, "workers": (1, 2), "cpus": 0.5}
    job = halyard_ray.run_job(pictures, 100, QUANT8, tmp_path, progress=lambda *p: seen.append(p), **options)
    np.testing.assert_array_equal(np.concatenate([part[name] for part in job.results()]), scores)
    assert seen[0] == (0, 7) and seen[-1] == (7, 7) and len(seen) == 8

    for part in (2, 6):
        job.path(part).unlink()
    (tmp_path / ".part-00000002-elsewhere-1.tmp").write_bytes(b"half")
    before = {part: job.path(part).stat().st_mtime_ns for part in (0, 1, 3, 4, 5)}
    with pytest.raises(halyard.BadDataError, match="part-00000002.npz is missing, and 2 of 7 parts"):
        next(job.results())
    seen.clear()
    job = halyard_ray.run_job(pictures, 100, QUANT8, tmp_path, progress=lambda *p: seen.append(p), **options)
    assert seen == [(5, 7), (6, 7), (7, 7)]
    assert {part: job.path(part).stat().st_mtime_ns for part in before} == before
    np.testing.assert_array_equal(np.concatenate([part[name] for part in job.results()]), scores)
    assert not list(tmp_path.glob(".part-*"))


def test_a_killed_worker_leaves_all_results_exactly_once(cluster, expected, tmp_path):
    name, scores = expected
    marks = tmp_path / "marks"
    marks.mkdir()

    def read(start, stop):
        """Kills its worker at the first attempt of two parts, once before and once within writing."""
        mark = marks / str(start)
        if start in (20, 60) and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        rows = [np.random.default_rng(n).integers(-128, 128, (28, 28, 1), np.int8) for n in range(start, stop)]
        return {IMAGE: np.stack(rows)}

    job = halyard_ray.run_job(read, 100, QUANT8, tmp_path / "job", rows_per_part=10, device=DEVICE,
                              workers=(2, 2), cpus=0.5)
    assert sorted(mark.name for mark in marks.iterdir()) == ["20", "60"]
    assert len(list((tmp_path / "job").glob("part-*.npz"))) == 10
    np.testing.assert_array_equal(np.concatenate([part[name] for part in job.results()]), scores)


def test_the_example_survives_killed_workers_and_continues(tmp_path):
    def run(*arguments):
        path = SOURCE / "python/examples/cluster/ray_batch.py"
        done = subprocess.run([sys.executable, path, tmp_path / "job", "--rows", "200", "--rows-per-part", "20",
                               "--device", DEVICE, *arguments], capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "stopped; call again" in run("--stop-after", "2")
    there = len(list((tmp_path / "job").glob("part-*.npz")))
    assert 2 <= there < 10
    output = run("--kill", "5")
    assert f"{there} of 10 parts" in output and "10 of 10 parts" in output
    assert "all 200 results are there exactly once, and equal those of this process" in output


def test_a_folder_belongs_to_one_job_and_one_run(tmp_path):
    job = Job(tmp_path, 100, 10, "a" * 64)
    with job.opened():
        with pytest.raises(halyard.BadDataError, match="another run of the job"):
            with job.opened():
                pass
    with pytest.raises(halyard.BadDataError, match="model_sha256 is 'aaa.*this call has 'bbb"):
        with Job(tmp_path, 100, 10, "b" * 64).opened():
            pass
    with pytest.raises(halyard.BadDataError, match="allow_fp16 is False, and this call has True"):
        with Job(tmp_path, 100, 10, "a" * 64, allow_fp16=True).opened():
            pass
    description = json.loads((tmp_path / "job.json").read_text())
    del description["allow_fp16"]  # as earlier versions wrote it
    (tmp_path / "job.json").write_text(json.dumps(description))
    with job.opened():
        pass
    (tmp_path / "job.json").write_text("{")
    with pytest.raises(halyard.BadDataError, match="job.json: no description of a job"):
        with job.opened():
            pass
    with pytest.raises(halyard.BadDataError, match="0 rows in parts of 10"):
        Job(tmp_path, 0, 10, "a" * 64)
    with pytest.raises(halyard.BadDataError, match="output 'y' has 9 rows, expected 10"):
        job.write(0, {"y": np.zeros(9)})
    assert job.missing() == list(range(10))
    job.write(0, {"file": np.arange(10)})
    assert job.missing() == list(range(1, 10))
    assert np.load(job.path(0))["file"].tolist() == list(range(10))


def test_serve_answers_requests_and_explains_wrong_ones(cluster, expected):
    from ray import serve

    name, scores = expected
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    serve.start(http_options={"port": port, "host": "127.0.0.1"})
    try:
        handle = serve.run(halyard_ray.deployment(QUANT8, "fashion", device=DEVICE, cpus=0.1),
                           route_prefix="/v2/models/fashion", name="fashion")
        picture = pictures(0, 1)[IMAGE]
        direct = handle.infer.remote({IMAGE: picture}).result(timeout_s=60)
        np.testing.assert_array_equal(direct[name][0], scores[0])

        base = f"http://127.0.0.1:{port}/v2/models/fashion"

        def post(document):
            body = document if isinstance(document, bytes) else json.dumps(document).encode()
            try:
                with urllib.request.urlopen(urllib.request.Request(base + "/infer", body), timeout=60) as answer:
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as error:
                return error.code, json.load(error)

        one = {"name": IMAGE, "datatype": "INT8", "shape": [1, 28, 28, 1], "data": picture.ravel().tolist()}
        status, answer = post({"inputs": [one]})
        assert status == 200 and answer["outputs"][0]["data"] == scores[0].tolist()
        for document, text in ((b"{", "Expecting"), ({"inputs": []}, "is missing; found: no input"),
                               ({"inputs": [{**one, "datatype": "FP32"}]}, "datatype FP32, expected INT8"),
                               ({"inputs": [{**one, "shape": [1, 3]}]}, "data and shape do not fit"),
                               ({"inputs": [{**one, "name": ["x"]}]}, "input #0: name ['x'], expected a text"),
                               ({"inputs": [one, {**one, "name": "x"}]}, "input 'x' is no input")):
            status, answer = post(document)
            assert status == 400 and text in answer["error"], answer
        with urllib.request.urlopen(base + "/ready", timeout=60) as answer:
            assert json.load(answer) == {"ready": True}
    finally:
        serve.shutdown()
