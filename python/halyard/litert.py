"""TensorFlow Lite's interpreter on Halyard's devices, by one line:

    interpreter = Interpreter(path, experimental_delegates=[halyard.litert.delegate()])

It works with the interpreters of ai-edge-litert, tflite-runtime and tensorflow.
"""
from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Callable, Dict, Iterable, Optional, Union

from ._runtime_files import library
from ._tensors import bad_data

# Each package with an interpreter, and its module with load_delegate.
_INTERPRETERS = {
    "ai_edge_litert": "ai_edge_litert.interpreter",
    "tflite_runtime": "tflite_runtime.interpreter",
    "tensorflow": "tensorflow.lite.python.interpreter",
}


def library_path() -> str:
    """The path of the delegate, for programs that name a delegate by its file."""
    path = library("libhalyard_tflite_delegate.so")
    if not path.exists():
        raise FileNotFoundError(f"this installation of halyard has no delegate: {path} is missing")
    return str(path)


def load_delegate_function(package: Optional[str] = None) -> Callable[..., Any]:
    """`load_delegate` of the interpreter's package.

    package: "ai_edge_litert", "tflite_runtime" or "tensorflow". Without it, the first one that the
        program has imported, else the first that is installed.
    """
    if package is not None and package not in _INTERPRETERS:
        raise bad_data(f"package '{package}', expected one of {', '.join(_INTERPRETERS)}")
    candidates = [package] if package else sorted(
        _INTERPRETERS, key=lambda each: each not in sys.modules)
    for each in candidates:
        try:
            module = importlib.import_module(_INTERPRETERS[each])
        except ModuleNotFoundError as error:
            if error.name and error.name.split(".")[0] == each:
                continue
            raise
        function: Callable[..., Any] = module.load_delegate
        return function
    raise ModuleNotFoundError(
        f"no package with an interpreter is installed ({', '.join(candidates)}): "
        "pip install ai-edge-litert")


def options(*, device: Union[str, Iterable[str], None] = None, require_device: bool = False,
            cache_dir: "Union[str, os.PathLike[str], None]" = None,
            preference: Optional[str] = None, priority: Optional[str] = None,
            timeout_ms: Optional[int] = None, allow_fp16: bool = False,
            max_partitions: Optional[int] = None,
            min_operations_per_partition: Optional[int] = None, claim_all: bool = False,
            report: "Union[str, os.PathLike[str], None]" = None,
            verbose: bool = False) -> Dict[str, str]:
    """The options of the delegate as texts, as `load_delegate` takes them."""
    if device is not None and not isinstance(device, str):
        device = ",".join(device)
    given = {
        "device": device or None,
        "require_device": "true" if require_device else None,
        "cache_dir": None if cache_dir is None else os.path.abspath(os.fspath(cache_dir)),
        "preference": None if preference is None else preference.replace("-", "_"),
        "priority": priority,
        "timeout_ms": timeout_ms,
        "allow_fp16": "true" if allow_fp16 else None,
        "max_partitions": max_partitions,
        "min_operations_per_partition": min_operations_per_partition,
        "claim_all": "true" if claim_all else None,
        "report": None if report is None else os.path.abspath(os.fspath(report)),
        "verbose": "true" if verbose else None,
    }
    return {name: str(value) for name, value in given.items() if value is not None}


def delegate(package: Optional[str] = None, **named: Any) -> Any:
    """The delegate, loaded, for `Interpreter(..., experimental_delegates=[delegate()])`.

    package: as for load_delegate_function. The other arguments are those of `options`:

    device: the name of a device, or several; without it, the runtime chooses.
    require_device: a node that the device does not take is an error.
    cache_dir: a folder for compilations.
    preference, priority: as for halyard.Model.compile.
    timeout_ms: the limit of an execution, in milliseconds.
    allow_fp16: float32 may be computed with the range and precision of float16.
    max_partitions, min_operations_per_partition: limits for the division of the model.
    claim_all: takes every node that the device computes, also where it does not pay.
    report: a file for the decisions, with reasons.
    verbose: writes the decisions to standard error.

    Raises ModuleNotFoundError without an interpreter's package, FileNotFoundError without the
    delegate's library, and ValueError with the delegate's text when it refuses an option.
    """
    path, texts = library_path(), options(**named)
    return load_delegate_function(package)(path, texts)
