"""The files of the runtime that a wheel contains."""
from __future__ import annotations

import pathlib

ROOT = pathlib.Path(__file__).parent.absolute() / "_runtime"


def command() -> pathlib.Path:
    """The program `halyard`."""
    return ROOT / "bin" / "halyard"


def library(name: str) -> pathlib.Path:
    """A shared library of Halyard, such as libhalyard_tflite_delegate.so."""
    return ROOT / "lib" / name


def sample(name: str) -> pathlib.Path:
    """The manifest of a sample driver, such as float_fast or device_memory."""
    return ROOT / "share" / "halyard" / "samples" / f"{name}.json"
