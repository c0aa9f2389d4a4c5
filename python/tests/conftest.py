"""Models and drivers for the tests. `halyard` is the package in the build tree, or an installed one."""
import pathlib
import subprocess

import numpy as np
import pytest

import halyard
from halyard import _runtime_files

SOURCE = pathlib.Path(__file__).resolve().parents[2]
QUANT8 = SOURCE / "models/fashion_mnist_int8.tflite"
CORPUS = SOURCE / "src/import/tflite/fuzz_corpus"
FLOAT = SOURCE / "models/fashion_mnist_float.tflite"


@pytest.fixture
def picture():
    """A picture of the quantised model: 28 rows of 28 points."""
    return np.random.default_rng(3).integers(-128, 127, (1, 28, 28, 1)).astype(np.int8)


@pytest.fixture(scope="session")
def quant8():
    return halyard.load(QUANT8)


@pytest.fixture(scope="session")
def compiled(quant8):
    return quant8.compile("cpu", cache=False)


@pytest.fixture
def command():
    """Runs the command line; returns its standard output."""
    def run(*arguments):
        return subprocess.run([_runtime_files.command(), *map(str, arguments)], check=True,
                              capture_output=True, text=True).stdout
    return run


def doubling(shape=(1, 4), name="x"):
    """A model that doubles its input."""
    builder = halyard.Builder()
    x = builder.input(name, shape)
    return builder.finish({"y": builder.add(x, x, 0)})
