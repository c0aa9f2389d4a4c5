"""Halyard: the Neural Networks API (NNAPI) for Linux.

    import halyard
    compiled = halyard.load("model.tflite").compile()
    y = compiled(x)
    print(compiled.explain())

`halyard.devices()` lists the devices, `halyard.Builder` builds models operation by operation, and
`halyard.litert.delegate()` brings Halyard to TensorFlow Lite's interpreter.
"""
from . import _core, litert
from ._builder import Builder, BuiltModel, Operand, Operation, operations
from ._compiled import Binding, Compiled, Run
from ._devices import Device, DeviceList, devices
from ._errors import (BadDataError, BadStateError, DeadlineError, DeviceError, Error,
                      OperationFailedError, OutOfMemoryError, OutputSizeError, ResourceError, Status,
                      UnmappableError)
from ._memory import Event, Memory, MemoryPart
from ._model import FileModel, Model, load
from ._report import Explanation, Profile, Report
from ._tensors import Tensor
from ._trace import Trace, trace

__version__ = _core.version()

__all__ = [
    "BadDataError", "BadStateError", "Binding", "Builder", "BuiltModel", "Compiled",
    "DeadlineError", "Device", "DeviceError", "DeviceList", "Error", "Event", "Explanation",
    "FileModel", "Memory", "MemoryPart", "Model", "Operand", "Operation", "OperationFailedError",
    "OutOfMemoryError", "OutputSizeError", "Profile", "Report", "ResourceError", "Run", "Status",
    "Tensor", "Trace", "UnmappableError", "devices", "litert", "load", "operations", "trace",
]
