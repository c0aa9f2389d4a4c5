"""Halyard: the Neural Networks API (NNAPI) for Linux.

    import halyard
    compiled = halyard.load("model.tflite").compile()
    y = compiled(x)
    print(compiled.explain())

`halyard.devices()` lists the devices, `halyard.Builder` builds models operation by operation, and
`halyard.litert.delegate()` brings Halyard to TensorFlow Lite's interpreter. `halyard.ray` runs models
on the machines of a Ray cluster.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core
from ._errors import (BadDataError, BadStateError, DeadlineError, DeviceError, Error,
                      OperationFailedError, OutOfMemoryError, OutputSizeError, ResourceError, Status,
                      UnmappableError)

if TYPE_CHECKING:
    from . import litert, ray
    from ._async import Run
    from ._builder import Builder, BuiltModel, Operand, Operation, operations
    from ._compiled import Binding, Compiled, Stream
    from ._devices import Device, DeviceList, devices
    from ._memory import Event, Memory, MemoryPart
    from ._model import FileModel, Model, load
    from ._report import Explanation, Profile, Report
    from ._tensors import Tensor
    from ._trace import Trace, trace

__version__ = _core.version()

# The modules of names that the first use imports, so that `import halyard` is quick.
_MODULES = {
    "_async": ("Run",),
    "_builder": ("Builder", "BuiltModel", "Operand", "Operation", "operations"),
    "_compiled": ("Binding", "Compiled", "Stream"),
    "_devices": ("Device", "DeviceList", "devices"),
    "_memory": ("Event", "Memory", "MemoryPart"),
    "_model": ("FileModel", "Model", "load"),
    "_report": ("Explanation", "Profile", "Report"),
    "_tensors": ("Tensor",),
    "_trace": ("Trace", "trace"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "BadDataError", "BadStateError", "Binding", "Builder", "BuiltModel", "Compiled",
    "DeadlineError", "Device", "DeviceError", "DeviceList", "Error", "Event", "Explanation",
    "FileModel", "Memory", "MemoryPart", "Model", "Operand", "Operation", "OperationFailedError",
    "OutOfMemoryError", "OutputSizeError", "Profile", "Report", "ResourceError", "Run", "Status",
    "Stream", "Tensor", "Trace", "UnmappableError", "devices", "litert", "load", "operations",
    "ray", "trace",
]


def __getattr__(name: str) -> object:
    import importlib

    if name in ("litert", "ray"):
        return importlib.import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module 'halyard' has no attribute '{name}'")
    value: object = getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> "list[str]":
    return sorted(__all__)
