"""Models of files and builders."""
from __future__ import annotations

import os
from operator import index
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence,
                    Tuple, Union)

from . import _core
from ._compiled import Compiled
from ._devices import devices as all_devices
from ._html import paragraph, table
from ._tensors import Tensor, bad_data, tensor_from

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Devices = Union[str, Iterable[str], None]
    Progress = Union[bool, Callable[[float], None]]

PREFERENCES = {"low-power": 0, "fast-single-answer": 1, "sustained-speed": 2}
PRIORITIES = {"low": 90, "medium": 100, "high": 110}


def nanoseconds(timeout: Optional[float]) -> int:
    """A time limit in seconds as the C API takes it; 0 for none."""
    if timeout is None:
        return 0
    if not timeout > 0:
        raise bad_data(f"a time limit of {timeout} s, expected more than 0")
    return max(1, min(round(timeout * 1e9), 2**63))


def code_of(codes: "dict[str, int]", name: Optional[str], what: str) -> Optional[int]:
    if name is None:
        return None
    if name not in codes:
        raise bad_data(f"{what} '{name}', expected one of {', '.join(codes)}")
    return codes[name]


def names_of(wanted: "Devices") -> List[str]:
    """The full names of devices, by the rule of the command line: "cpu" is "halyard-cpu"."""
    if wanted is None:
        return []
    names = [each.name for each in all_devices()]
    asked = [wanted] if isinstance(wanted, str) else list(wanted)
    return list(dict.fromkeys(names[_core.choose_device(names, str(each))] for each in asked))


def _cache_folder(cache: "Union[bool, str, os.PathLike[str]]") -> str:
    if cache is False:
        return ""
    if cache is not True:
        folder = os.path.abspath(os.fspath(cache))
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):
            base = os.path.join(os.path.expanduser("~"), ".cache")
        if not os.path.isabs(base):
            return ""  # a user without a home
        folder = os.path.join(base, "halyard", "compilations")
    _core.make_cache_folder(folder)
    return folder


class _Progress:
    """Calls the user's function, or moves a tqdm bar, while a compilation runs."""

    def __init__(self, wanted: "Progress") -> None:
        self.bar: Any = None
        self.call: Optional[Callable[[float], None]] = wanted if callable(wanted) else None
        if wanted is True:
            try:
                from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
            except ImportError:
                return
            self.bar = tqdm(desc="compiling", unit=" s", bar_format="{desc}: {elapsed}")
            self.call = lambda _: self.bar.update(0) or self.bar.refresh()

    def __enter__(self) -> Optional[Callable[[float], None]]:
        return self.call

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()


class Model:
    """A model: its inputs and outputs, before devices are chosen. Any thread may use it."""

    inputs: Tuple[Tensor, ...]
    outputs: Tuple[Tensor, ...]
    operation_count: int
    #: The first values of the states, by name. States are the last inputs and the last outputs.
    states: "Dict[str, NDArray[Any]]"

    def __init__(self, description: Tuple[Any, Any, int, Tuple[bytes, ...]], name: str) -> None:
        inputs, outputs, self.operation_count, first_values = description
        self.inputs = tuple(tensor_from(each) for each in inputs)
        self.outputs = tuple(tensor_from(each) for each in outputs)
        self.name = name
        states = self.inputs[len(self.inputs) - len(first_values):]
        self.states = {each.name: each._from_bytes(value)
                       for each, value in zip(states, first_values)}

    def _graph(self, devices: List[str]) -> _core.Graph:
        raise NotImplementedError

    def _token(self) -> bytes:
        """32 bytes that distinguish the model from all others in a cache."""
        raise NotImplementedError

    def compile(self, device: "Devices" = None, *, require_device: bool = False,
                preference: Optional[str] = None, priority: Optional[str] = None,
                cache: "Union[bool, str, os.PathLike[str]]" = True,
                timeout: Optional[float] = None, progress: "Progress" = False) -> Compiled:
        """Compiles the model for one or several devices.

        device: the name of a device, or several. Without it, the runtime chooses among all devices
            by predicted cost. Operations that the named devices do not support go to the runtime's
            own CPU device.
        require_device: such an operation is an error.
        preference: "low-power", "fast-single-answer" or "sustained-speed".
        priority: "low", "medium" or "high".
        cache: keeps the compilation for the next process, if the driver's cache needs files. True is
            the user's cache folder; a path is another folder.
        timeout: the limit in seconds. Needs exactly one device.
        progress: a function that gets the seconds since the start, from time to time; True shows
            them with tqdm, if it is installed.

        Raises halyard.Error; its text names the operation and the reason. Ctrl-C interrupts.
        """
        names = names_of(device)
        if require_device and not names:
            raise bad_data("require_device needs the name of a device")
        preference_code = code_of(PREFERENCES, preference, "preference")
        priority_code = code_of(PRIORITIES, priority, "priority")
        folder = _cache_folder(cache)
        with _Progress(progress) as tick:
            native = _core.compile(
                self._graph(names), names, not require_device, preference_code, priority_code,
                nanoseconds(timeout), folder, self._token() if folder else b"", tick)
        options = {"device": names or None, "require_device": require_device,
                   "preference": preference, "priority": priority, "cache": cache,
                   "timeout": timeout}
        return Compiled(self, native, options)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.operation_count} operations"]
        lines += [f"  input  {each}" for each in self.inputs]
        lines += [f"  output {each}" for each in self.outputs]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<halyard.Model {self}>"

    def _repr_html_(self) -> str:
        rows = [[kind, each.name, each.dtype, each.shape, f"{each.scale:g}", each.zero_point]
                for kind, tensors in (("input", self.inputs), ("output", self.outputs))
                for each in tensors]
        return paragraph(f"{self.name}: {self.operation_count} operations") + table(
            ["", "name", "type", "shape", "scale", "zero point"], rows)


class FileModel(Model):
    """The model of a .tflite file."""

    def __init__(self, path: str, contents: bytes, open_dimensions: bool,
                 shapes: "List[Tuple[str, List[int]]]", states: bool, allow_fp16: bool) -> None:
        self._path = path
        self._contents = contents
        self._how = (open_dimensions, shapes, states, allow_fp16)
        super().__init__(_core.describe_file(path, contents, *self._how),
                         os.path.basename(path) or "model")

    def _graph(self, devices: List[str]) -> _core.Graph:
        return _core.import_graph(self._path, self._contents, *self._how, devices)

    def _token(self) -> bytes:
        import hashlib

        digest = hashlib.sha256(self._contents + repr(self._how).encode())
        if self._path:
            with open(self._path, "rb") as file:
                for block in iter(lambda: file.read(1 << 20), b""):
                    digest.update(block)
        return digest.digest()

    def __reduce__(self) -> Any:
        return FileModel, (self._path, self._contents, *self._how)


def load(model: "Union[str, os.PathLike[str], bytes, bytearray, memoryview]", *,
         open_dimensions: bool = False, shapes: "Optional[Mapping[str, Sequence[int]]]" = None,
         states: bool = False, allow_fp16: bool = False) -> Model:
    """Reads a .tflite model: a path, or the bytes of the file.

    open_dimensions: inputs of any size in dimensions that the file leaves open, instead of the size
        that it begins with.
    shapes: the shapes of inputs by name, for inputs that the file leaves open.
    states: makes the values that the file keeps between executions (variables) inputs and outputs
        with equal names, behind the others. `Compiled.stream` passes them on. Without it, each
        execution begins with their first values.
    allow_fp16: float32 may be computed with the range and precision of float16. It belongs to the
        model, as in Builder.finish.

    Raises halyard.BadDataError for a damaged file, or one with an operator that Halyard cannot
    express, and FileNotFoundError. No device is started.
    """
    sizes = []
    for name, shape in (shapes or {}).items():
        extents = [index(extent) for extent in shape]
        if any(not 0 < extent < 2**32 for extent in extents):
            raise bad_data(f"the shape {extents} of input '{name}', expected extents of 1 or more")
        sizes.append((name, extents))
    if isinstance(model, (bytes, bytearray, memoryview)):
        return FileModel("", bytes(model), open_dimensions, sizes, states, allow_fp16)
    path = os.fspath(model)
    if not os.path.exists(path):
        raise FileNotFoundError(f"no file {path}")
    return FileModel(os.path.abspath(path), b"", open_dimensions, sizes, states, allow_fp16)
