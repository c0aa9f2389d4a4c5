"""The delegate under LiteRT's own interpreter."""
import gc
import json
import os
import pathlib
import signal
import threading

import numpy as np
import pytest

import halyard

interpreter_module = pytest.importorskip("ai_edge_litert.interpreter")
Interpreter = interpreter_module.Interpreter

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MODELS = SOURCE / "models"
SHARED = SOURCE.parent / "shared" / "models"
INT8 = str(MODELS / "fashion_mnist_int8.tflite")
FLOAT = str(MODELS / "fashion_mnist_float.tflite")


def random_inputs(interpreter, seed=1):
    """A value for each input, in order."""
    draw = np.random.default_rng(seed)
    values = []
    for detail in interpreter.get_input_details():
        kind, shape = detail["dtype"], detail["shape"]
        if np.issubdtype(kind, np.floating):
            values.append(draw.uniform(-1, 1, shape).astype(kind))
        else:
            values.append(draw.integers(0, 100, shape).astype(kind))
    return values


def results(interpreter, values):
    for detail, value in zip(interpreter.get_input_details(), values):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]).copy()
            for detail in interpreter.get_output_details()]


def make(path, delegates=()):
    interpreter = Interpreter(path, num_threads=1, experimental_delegates=list(delegates))
    interpreter.allocate_tensors()
    return interpreter


def assert_same(ours, theirs, limit=1e-5):
    """`limit`: of floats, relative to the greatest magnitude."""
    for a, b in zip(ours, theirs):
        assert a.shape == b.shape and a.dtype == b.dtype
        if np.issubdtype(b.dtype, np.floating):
            assert float(np.abs(a - b).max()) <= limit * max(float(np.abs(b).max()), 1e-6)
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("path", [INT8, FLOAT])
def test_the_whole_model_runs_on_the_device(path, tmp_path):
    report = tmp_path / "report.json"
    delegate = halyard.litert.delegate(device="halyard-cpu", require_device=True, claim_all=True,
                                       report=report)
    interpreter, plain = make(path, [delegate]), make(path)
    for seed in range(3):
        values = random_inputs(plain, seed)
        assert_same(results(interpreter, values), results(plain, values))
    del interpreter
    gc.collect()
    graph, = json.loads(report.read_text())["graphs"]
    assert graph["refused"] == [] and len(graph["partitions"]) == 1
    assert graph["constants_mapped"]
    operations = graph["compilations"][0]["report"]["operations"]
    assert {operation["device"] for operation in operations} == {"halyard-cpu"}


def test_a_model_from_memory(tmp_path):
    content = pathlib.Path(FLOAT).read_bytes()
    interpreter = Interpreter(model_content=content,
                              experimental_delegates=[halyard.litert.delegate(claim_all=True)])
    interpreter.allocate_tensors()
    plain = make(FLOAT)
    values = random_inputs(plain)
    assert_same(results(interpreter, values), results(plain, values))


def test_other_batches(tmp_path):
    interpreter, plain = make(FLOAT, [halyard.litert.delegate(claim_all=True)]), make(FLOAT)
    for batch in (3, 1, 2, 3):
        for each in (interpreter, plain):
            detail, = each.get_input_details()
            each.resize_tensor_input(detail["index"], [batch, *detail["shape"][1:]])
            each.allocate_tensors()
        values = random_inputs(plain, batch)
        ours = results(interpreter, values)
        assert ours[0].shape[0] == batch
        assert_same(ours, results(plain, values))


@pytest.mark.parametrize("model", ["branch_and_loop", "composite"])
def test_graphs_of_an_ended_interpreter_are_forgotten(model, tmp_path):
    """Another interpreter's first graph may have the address of one that a claimed node called."""
    report = tmp_path / "report.json"
    delegate = halyard.litert.delegate(claim_all=True, report=report)
    path = str(SOURCE / "src/import/tflite/fuzz_corpus" / f"{model}.tflite")
    for _ in range(8):
        interpreter = Interpreter(path, num_threads=1, experimental_delegates=[delegate])
        interpreter.allocate_tensors()
        del interpreter
        gc.collect()
    graphs = [(len(graph["partitions"]), graph["refused"])
              for graph in json.loads(report.read_text())["graphs"]]
    count = len(graphs) // 8
    assert count > 0 and graphs == graphs[:count] * 8


@pytest.mark.parametrize("from_memory", [False, True])
def test_branches_and_loops(from_memory, tmp_path):
    path = str(SOURCE / "src/import/tflite/fuzz_corpus/branch_and_loop.tflite")
    report = tmp_path / "report.json"
    delegate = halyard.litert.delegate(claim_all=True, report=report)
    source = ({"model_content": pathlib.Path(path).read_bytes()} if from_memory
              else {"model_path": path})
    interpreter, plain = Interpreter(**source, num_threads=1, experimental_delegates=[delegate]), make(path)
    interpreter.allocate_tensors()
    for seed in range(6):  # both branches
        values = random_inputs(plain, seed)
        assert_same(results(interpreter, values), results(plain, values))
    graphs = json.loads(report.read_text())["graphs"]
    refused = {node["operator"] for graph in graphs for node in graph["refused"]}
    assert refused == ({"IF", "WHILE"} if from_memory else set())
    # The delegate takes the four other graphs with the first one, or one by one.
    assert len(graphs) == (5 if from_memory else 1)


def test_a_delegate_may_end_before_its_interpreters():
    delegate = halyard.litert.delegate(claim_all=True)
    interpreter = make(INT8, [delegate])
    del delegate
    gc.collect()
    plain = make(INT8)
    values = random_inputs(plain)
    assert_same(results(interpreter, values), results(plain, values))


def drivers():
    """The processes of the CPU driver that this process has started."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = folder.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            program = folder.joinpath("cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        if int(parent) == os.getpid() and b"halyard-driver-cpu" in program:
            found.append(int(folder.name))
    return found


def test_threads_go_on_after_the_death_of_a_driver(tmp_path):
    report = tmp_path / "report.json"
    delegate = halyard.litert.delegate(device="halyard-cpu", claim_all=True, report=report)
    plain = make(INT8)
    values = random_inputs(plain)
    expected = results(plain, values)
    ready = threading.Barrier(3)
    killed = threading.Event()
    failures = []

    def work(interpreter):
        try:
            assert_same(results(interpreter, values), expected)
            ready.wait()
            killed.wait()
            for _ in range(20):
                assert_same(results(interpreter, values), expected)
        except Exception as error:  # pylint: disable=broad-except
            failures.append(error)

    threads = [threading.Thread(target=work, args=(make(INT8, [delegate]),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    ready.wait()
    for process in drivers():
        os.kill(process, signal.SIGKILL)
    killed.set()
    for thread in threads:
        thread.join()
    assert not failures
    errors = json.loads(report.read_text())["errors"]
    assert len(errors) == 2  # one of each interpreter
    assert all("DEAD_OBJECT" in error for error in errors)


@pytest.mark.parametrize("name, value, text", [
    ("device", "npu7", "npu7"),
    ("priority", "huge", "low, medium, high"),
    ("max_partitions", -1, "whole number"),
    ("timeout_ms", 5, "require_device"),
])
def test_options_are_refused_in_words(name, value, text):
    with pytest.raises(ValueError, match=text):
        halyard.litert.delegate(**{name: value})


def test_an_unknown_option_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'colour' is unknown.*claim_all"):
        interpreter_module.load_delegate(halyard.litert.library_path(), {"colour": "red"})


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared models are not there")
@pytest.mark.parametrize("path", sorted(SHARED.glob("*.tflite")), ids=lambda path: path.stem)
def test_shared_models(path, tmp_path):
    try:
        plain = make(str(path))
    except RuntimeError:
        pytest.skip("the interpreter does not take the model")
    report = tmp_path / "report.json"
    interpreter = make(str(path), [halyard.litert.delegate(claim_all=True, report=report)])
    # The same model on the interpreter's kernels without XNNPACK: how far it computes by itself.
    other = Interpreter(str(path), num_threads=1, experimental_op_resolver_type=interpreter_module
                        .OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    other.allocate_tensors()
    for seed in range(2):  # the second execution of an LSTM depends on its state
        values = random_inputs(plain, seed)
        ours, theirs, also = (results(each, values) for each in (interpreter, plain, other))
        for a, b, c in zip(ours, theirs, also):
            own = float(np.abs(b.astype(float) - c).max() / max(float(np.abs(b).max()), 1e-6))
            assert_same([a], [b], limit=max(1e-5, own))
    assert json.loads(report.read_text())["graphs"][0]["refused"] == []


def test_a_stream_equals_the_interpreter():
    path = str(SOURCE / "src/import/tflite/fuzz_corpus/variables.tflite")
    interpreter = Interpreter(path)
    interpreter.allocate_tensors()
    stream = halyard.load(path, states=True).compile("cpu", cache=False).stream()
    for i in range(5):
        x = np.array([i, 3 * i + 1], np.float32)
        np.testing.assert_array_equal(stream(x), results(interpreter, [x])[0])


# The interpreter has no kernel for MediaPipe's operator, only its own delegate has.
def test_a_custom_operator_without_a_kernel():
    path = str(SOURCE / "src/import/tflite/fuzz_corpus/transposed_by_mediapipe.tflite")
    outputs = []
    for delegates in ([], [halyard.litert.delegate(device="cpu", claim_all=True)]):
        interpreter = Interpreter(path, experimental_delegates=delegates)
        interpreter.allocate_tensors()
        values = random_inputs(interpreter)
        outputs.append(results(interpreter, values))
    for expected, found in zip(*outputs):
        np.testing.assert_allclose(found, expected, atol=1e-5)
