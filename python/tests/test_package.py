"""The package: its import, its command line, its delegate, and its examples."""
import json
import os
import pathlib
import re
import runpy
import subprocess
import sys

import numpy as np
import pytest

import halyard
from conftest import FLOAT, QUANT8, SOURCE
from halyard import _runtime_files, litert


def python(*arguments, **environment):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True,
                          env={**os.environ, **environment}, timeout=120)


def test_the_import_loads_no_numpy_and_starts_no_driver():
    done = python("-c", "import sys, os, halyard; print('numpy' in sys.modules);"
                  "print(os.path.exists(f'/proc/{os.getpid()}/task/{os.getpid()}/children') and "
                  "open(f'/proc/{os.getpid()}/task/{os.getpid()}/children').read())")
    assert done.stdout.split() == ["False"], done.stderr


def test_the_module_is_the_command_line():
    done = python("-m", "halyard", "devices", "--json")
    assert "halyard-cpu" in [each["name"] for each in json.loads(done.stdout)["devices"]]
    assert python("-m", "halyard", "run").returncode == 2


@pytest.mark.skipif(_runtime_files.library("libhalyard_tflite_delegate.so").exists(),
                    reason="the delegate is there")
def test_a_missing_delegate_gets_a_text():
    with pytest.raises(FileNotFoundError, match="libhalyard_tflite_delegate.so is missing"):
        litert.delegate()


def test_a_missing_interpreter_gets_a_text():
    done = python("-c", "import halyard; halyard.litert.load_delegate_function('tflite_runtime')")
    assert "ModuleNotFoundError: no package with an interpreter is installed (tflite_runtime)" in (
        done.stderr)
    with pytest.raises(halyard.BadDataError, match="package 'onnx', expected one of ai_edge_litert"):
        litert.load_delegate_function("onnx")


def test_the_options_of_the_delegate_are_texts(tmp_path):
    assert litert.options() == {}
    assert litert.options(device=["a", "b"], require_device=True, max_partitions=2,
                          preference="low-power", cache_dir=tmp_path) == {
        "device": "a,b", "require_device": "true", "max_partitions": "2",
        "preference": "low_power", "cache_dir": str(tmp_path)}


@pytest.mark.skipif(not _runtime_files.library("libhalyard_tflite_delegate.so").exists(),
                    reason="built without the delegate")
@pytest.mark.parametrize("path", [QUANT8, FLOAT], ids=["int8", "float"])
def test_an_interpreter_gets_its_results_from_the_delegate(path, tmp_path):
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    report = tmp_path / "report.json"

    def results(**named):
        made = interpreter.Interpreter(str(path), **named)
        made.allocate_tensors()
        detail = made.get_input_details()[0]
        x = np.random.default_rng(1).integers(0, 100, detail["shape"]).astype(detail["dtype"])
        made.set_tensor(detail["index"], x)
        made.invoke()
        return made.get_tensor(made.get_output_details()[0]["index"])

    ours = results(experimental_delegates=[
        litert.delegate(device="halyard-cpu", claim_all=True, report=report)])
    np.testing.assert_allclose(ours, results(), rtol=1e-4, atol=1e-6)
    assert "halyard-cpu" in report.read_text()


@pytest.mark.parametrize("path", sorted((SOURCE / "python/examples").glob("*.py")),
                         ids=lambda path: path.stem)
def test_the_examples_run(path, capsys):
    runpy.run_path(str(path), run_name="__main__")
    expected = [line.removeprefix("# prints: ") for line in path.read_text().splitlines()
                if line.startswith("# prints: ")]
    printed = capsys.readouterr().out
    assert expected
    for line in expected:
        assert line in printed


def test_the_page_is_a_program_that_runs(monkeypatch):
    monkeypatch.chdir(SOURCE)
    page = (SOURCE / "docs/python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) > 5
    exec(compile("\n".join(blocks), "docs/python.md", "exec"), {})


def test_errors_have_a_class_for_each_status():
    for status in halyard.Status:
        error = halyard._errors.error_for(status, "text")
        assert isinstance(error, halyard.Error) and str(error) == f"{status.name}: text"


def test_the_version_is_that_of_the_library():
    text = (pathlib.Path(SOURCE) / "CMakeLists.txt").read_text()
    assert f"project(halyard VERSION {halyard.__version__} " in text
