"""Loading, compiling, caching, reports, profiles and traces."""
import json
import os
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest

import halyard
from halyard import _runtime_files
from conftest import FLOAT, QUANT8, SOURCE, doubling


def test_devices_are_those_of_the_command_line(command):
    document = json.loads(command("devices", "--json"))
    assert [each.name for each in halyard.devices()] == [each["name"] for each in document["devices"]]
    assert halyard.devices()[-1].name == "nnapi-reference"
    assert "halyard-cpu" in halyard.devices()._repr_html_()


def test_a_model_shows_its_inputs_and_outputs(quant8):
    assert quant8.inputs[0].shape == (1, 28, 28, 1)
    assert quant8.outputs[0].dtype == "i1"
    assert quant8.operation_count == 19
    assert 'input  "serving_default_image:0" i1[1, 28, 28, 1]' in str(quant8)
    assert "<table>" in quant8._repr_html_()


def test_a_model_of_bytes_is_the_model_of_the_file(quant8, picture, compiled):
    model = halyard.load(QUANT8.read_bytes())
    assert model.inputs == quant8.inputs
    assert (model.compile("cpu", cache=False)(picture) == compiled(picture)).all()


def test_a_missing_or_damaged_file_gets_a_text(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file .*missing.tflite"):
        halyard.load(tmp_path / "missing.tflite")
    path = tmp_path / "damaged.tflite"
    path.write_bytes(QUANT8.read_bytes()[:1000])
    with pytest.raises(halyard.BadDataError, match="damaged.tflite"):
        halyard.load(path)


def test_wrong_options_get_a_text(quant8):
    with pytest.raises(halyard.BadDataError, match="no device 'npu'; the devices are: halyard-cpu"):
        quant8.compile("npu")
    with pytest.raises(halyard.BadDataError, match="preference 'fast', expected one of low-power"):
        quant8.compile("cpu", preference="fast")
    with pytest.raises(halyard.BadDataError, match="priority 'top', expected one of low"):
        quant8.compile("cpu", priority="top")
    with pytest.raises(halyard.BadDataError, match="require_device needs the name"):
        quant8.compile(require_device=True)
    with pytest.raises(halyard.BadDataError, match="a time limit of 0 s"):
        quant8.compile("cpu", timeout=0)


def test_every_option_compiles(quant8, picture, compiled):
    other = quant8.compile(["cpu"], require_device=True, preference="sustained-speed",
                           priority="high", timeout=60, cache=False)
    assert other.devices == ("halyard-cpu",)
    assert (other(picture) == compiled(picture)).all()


def test_float16_is_allowed_by_the_model():
    def allowed(model):
        return model.compile("cpu", cache=False).report()["allow_fp16"]

    plain, model = halyard.load(FLOAT), halyard.load(FLOAT, allow_fp16=True)
    assert not allowed(plain) and allowed(model)
    assert allowed(pickle.loads(pickle.dumps(model)))
    assert allowed(halyard.load(FLOAT.read_bytes(), allow_fp16=True))
    assert plain._token() != model._token()
    builder = halyard.Builder()
    x = builder.input("x", (1, 4))
    assert allowed(builder.finish(builder.add(x, x, 0), allow_fp16=True))
    assert not allowed(doubling())
    with pytest.raises(TypeError, match="allow_fp16: bool"):
        halyard.load(FLOAT, allow_fp16="perhaps")


def test_the_cpu_device_takes_the_rest():
    # Drivers are looked for once in a process, so this needs one of its own.
    program = f"""
import halyard
model = halyard.load({str(QUANT8.with_name("fashion_mnist_float.tflite"))!r})
print(model.compile("sample-quant", cache=False).devices)
try:
    model.compile("sample-quant", require_device=True, cache=False)
except halyard.Error as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True,
                          env={**os.environ, "HALYARD_LOG": "quiet",
                               "HALYARD_DRIVER_FILES": str(_runtime_files.sample("quant"))})
    lines = done.stdout.splitlines()
    assert "nnapi-reference" in lines[0]
    assert "BAD_DATA" in lines[1] or "OP_FAILED" in lines[1]


def test_the_cache_gets_the_compilation(quant8, picture, compiled, tmp_path):
    folder = tmp_path / "cache"
    first = quant8.compile("halyard-reference", cache=folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    second = quant8.compile("halyard-reference", cache=folder)
    states = [each.report().partitions[0]["cache"]["state"] for each in (first, second)]
    assert states[1] in ("hit", "off")
    assert (second(picture) == first(picture)).all()
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(halyard.Error, match="others may write"):
        quant8.compile("cpu", cache=tmp_path / "open")


def test_the_report_has_partitions_reasons_and_times(compiled, picture):
    compiled(picture)
    report = compiled.report()
    (partition,) = report.partitions
    assert partition["device"] == "halyard-cpu" and partition["executions"] > 0
    assert report.events == []
    assert "halyard-cpu  #0-#18" in str(compiled.explain())
    assert str(report) == str(compiled.explain())
    assert "#18" in str(compiled.explain(all=True))
    for shown in (report, compiled.explain(), compiled):
        assert "halyard-cpu" in shown._repr_html_()


def test_the_text_is_that_of_the_command_line(quant8, command):
    # The command prints the model in its first line. Times differ from run to run.
    text = command("explain", QUANT8, "--device", "cpu").split("\n", 1)[1]
    ours = str(quant8.compile("cpu", cache=False).explain())
    time = re.compile(r"[0-9.]+ [mu]?s\b *")
    assert time.sub("T ", ours) == time.sub("T ", text)


def test_the_profile_has_the_times_of_operations(compiled, tmp_path):
    path = tmp_path / "trace.json"
    profile = compiled.profile(runs=5, warm_up=1, trace=path)
    counts = {each["index"]: each["count"] for each in profile["operations"]}
    assert counts[0] == 6
    assert "CONV_2D" in str(profile) and "#18" in str(profile.text(all=True))
    assert "CONV_2D" in profile._repr_html_()
    names = [each.get("name", "") for each in json.loads(path.read_text())["traceEvents"]]
    assert any("CONV_2D" in name for name in names)


def test_a_trace_has_the_executions_of_its_block(compiled, picture, tmp_path):
    with halyard.trace(tmp_path / "trace.json"):
        compiled(picture)
        with pytest.raises(halyard.BadStateError, match="a trace runs already"):
            with halyard.trace(tmp_path / "second.json"):
                pass
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_progress_is_told(quant8):
    seconds = []
    quant8.compile("cpu", cache=False, progress=seconds.append)
    assert seconds and seconds == sorted(seconds)
    with pytest.raises(ZeroDivisionError):
        quant8.compile("cpu", cache=False, progress=lambda _: 1 / 0)


def test_models_and_compiled_models_can_be_pickled(compiled, picture):
    again = pickle.loads(pickle.dumps(compiled))
    assert (again(picture) == compiled(picture)).all()
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(doubling())
    error = pickle.loads(pickle.dumps(halyard.DeadlineError(10, "late")))
    assert str(error) == "MISSED_DEADLINE_TRANSIENT: late" and isinstance(error, TimeoutError)


# Variables: y = x + a, then a = b and b = y; a = [10, 20] and b = [1, 2] at first.
VARIABLES = SOURCE / "src/import/tflite/fuzz_corpus/variables.tflite"


def test_a_stream_keeps_states():
    model = halyard.load(VARIABLES, states=True)
    assert {name: value.tolist() for name, value in model.states.items()} == {
        "a": [10, 20], "b": [1, 2]}
    assert [each.name for each in model.inputs] == ["x", "a", "b"]
    compiled = model.compile("cpu", cache=False)
    x = np.array([1, 2], np.float32)
    stream, other = compiled.stream(), compiled.stream()
    assert [stream(x).tolist() for _ in range(4)] == [[11, 22], [2, 4], [12, 24], [3, 6]]
    assert stream.states["a"].tolist() == [12, 24]
    assert other.run({"x": x})["y"].tolist() == [11, 22]
    stream.reset()
    assert stream(x=x).tolist() == [11, 22]
    with pytest.raises(ValueError, match="read-only"):
        stream.states["a"][0] = 7
    # The caller may pass the states, too.
    y, a, b = compiled(x, model.states["a"], model.states["b"])
    assert (y.tolist(), a.tolist(), b.tolist()) == ([11, 22], [1, 2], [11, 22])
    assert pickle.loads(pickle.dumps(model)).states.keys() == {"a", "b"}


def test_without_states_each_execution_begins_anew(quant8):
    compiled = halyard.load(VARIABLES).compile("cpu", cache=False)
    for _ in range(2):
        assert compiled(np.array([1, 2], np.float32)).tolist() == [11, 22]
    with pytest.raises(halyard.BadDataError, match="has no states.*states=True"):
        compiled.stream()


def test_an_error_leaves_the_states():
    stream = halyard.load(VARIABLES, states=True).compile("cpu", cache=False).stream()
    stream(np.array([1, 2], np.float32))
    with pytest.raises(halyard.BadDataError, match='input "x"'):
        stream(np.zeros(3, np.float32))
    with pytest.raises(halyard.BadDataError, match="0 inputs, expected 1"):
        stream()
    assert stream(np.array([1, 2], np.float32)).tolist() == [2, 4]


def test_shapes_replace_open_dimensions():
    path = SOURCE / "src/import/tflite/fuzz_corpus/open_shapes.tflite"
    model = halyard.load(path, shapes={"x": (5, 2, 3)})
    assert model.inputs[0].shape == (5, 2, 3)
    best = model.compile("cpu", cache=False)(np.eye(5, 6, dtype=np.float32).reshape(5, 2, 3))
    assert np.ravel(best[-1]).tolist() == [0, 1, 2, 3, 4]
    assert pickle.loads(pickle.dumps(model)).inputs[0].shape == (5, 2, 3)
    with pytest.raises(halyard.BadDataError, match="no input 'y'"):
        halyard.load(path, shapes={"y": (5, 2, 3)})
    with pytest.raises(halyard.BadDataError, match=r"shape \[\?,2,3\] in the file"):
        halyard.load(path, shapes={"x": (5, 2, 4)})
    with pytest.raises(halyard.BadDataError, match="expected extents of 1 or more"):
        halyard.load(path, shapes={"x": (0, 2, 3)})


def test_states_have_names_of_their_own():
    model = halyard.load(VARIABLES.with_name("float_lstm.tflite"), states=True)
    assert len(model.states) == 2
    assert len({each.name for each in model.inputs}) == len(model.inputs)
    stream = model.compile("cpu", cache=False).stream()
    x = np.ones(stream.inputs[0].shape, np.float32)
    first = stream(x)
    assert not np.array_equal(stream(x), first)
    stream.reset()
    np.testing.assert_array_equal(stream(x), first)


def test_a_shape_needs_whole_numbers():
    with pytest.raises(TypeError, match="float"):
        halyard.load(VARIABLES, shapes={"x": (2.5,)})
