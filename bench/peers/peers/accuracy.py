"""Top-1 accuracy of Halyard and LiteRT on Fashion-MNIST's test images."""

import gzip
import pathlib
import tempfile

import numpy as np

from peers import contenders, models
from peers.contenders import ContenderError

# Debian's package dataset-fashion-mnist.
FOLDER = pathlib.Path("/usr/share/datasets/fashion-mnist")
MODELS = ("fashion_mnist_float", "fashion_mnist_int8")


def _idx(name, header):
    with gzip.open(FOLDER / f"{name}.gz") as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def measure(build):
    """{model: {"halyard", "litert", "images"} or {"error"}}."""
    if not FOLDER.exists():
        return {"fashion-mnist": {"error": f"{FOLDER} is not there (package dataset-fashion-mnist)"}}
    images = _idx("t10k-images-idx3-ubyte", 16).reshape(-1, 28, 28, 1)
    labels = _idx("t10k-labels-idx1-ubyte", 8)
    results = {}
    for name in MODELS:
        model = models.find(name)
        with tempfile.TemporaryDirectory() as path:
            folder = pathlib.Path(path)
            inputs = contenders.Inputs(model, folder)
            dtype = np.load(inputs.tflite[0]).dtype
            # As in training: pixels of [0, 1]. INT8 begins at -128.
            values = images / np.float32(255) if dtype == np.float32 else images.astype(int) - 128
            values.astype(dtype).tofile(folder / "images.raw")
            results[name] = {"images": len(images)}
            try:
                for contender in ("litert", "halyard"):
                    with contenders.start(contender, model, inputs, 1, build) as worker:
                        worker.ask(do="load")
                        classes = worker.ask(do="classify", file=str(folder / "images.raw"))
                        share = float(np.mean(np.asarray(classes["classes"]) == labels))
                        results[name][contender] = share
            except ContenderError as error:
                results[name] = {"error": str(error)}
    return results
