"""Memory that a model reads and writes in place, and events."""
from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Sequence

from . import _core
from ._tensors import bad_data

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


class Memory:
    """Memory for inputs and outputs, which Halyard and its drivers map instead of copying it.

    Memory(1000) allocates host memory of 1000 bytes, all 0. `Memory.from_fd` takes a memfd, a file
    or a dma-buf. `Compiled.device_memory` makes memory of a device.
    """

    def __init__(self, size: "int | _core.Memory") -> None:
        self._native = size if isinstance(size, _core.Memory) else _core.Memory.allocate(size)

    @classmethod
    def from_fd(cls, fd: int, size: int, *, offset: int = 0, writable: bool = True) -> "Memory":
        """`size` bytes at `offset` of a file. The descriptor is duplicated."""
        return cls(_core.Memory.from_fd(fd, size, writable, offset))

    @property
    def size(self) -> int:
        """The number of bytes; 0 for memory of a device."""
        return self._native.size

    def fileno(self) -> int:
        """The descriptor of host memory, which stays this object's."""
        fd = self._native.fd()
        if fd is None:
            raise bad_data("memory of a device has no descriptor")
        return fd

    def array(self, dtype: "DTypeLike" = "u1", shape: Optional[Sequence[int]] = None,
              offset: int = 0) -> "NDArray[Any]":
        """A NumPy array in the memory, without a copy."""
        import numpy as np

        if not self.size:
            raise bad_data("memory of a device has no array; copy it to host memory")
        count = -1 if shape is None else int(np.prod(shape))
        array = np.frombuffer(self._native.bytes(), dtype, count, offset)
        return array if shape is None else array.reshape(shape)

    def part(self, offset: int, size: int) -> "MemoryPart":
        """A part of the memory as an argument of an execution."""
        return MemoryPart(self, offset, size)

    def copy_to(self, other: "Memory") -> None:
        """Copies all bytes to another memory of the same size, such as memory of a device."""
        self._native.copy_to(other._native)


@dataclasses.dataclass(frozen=True)
class MemoryPart:
    """`size` bytes of a memory at `offset`."""

    memory: Memory
    offset: int
    size: int


def native_argument(value: Any) -> Any:
    """The value as the native module takes it."""
    if isinstance(value, Memory):
        return value._native, 0, value.size
    if isinstance(value, MemoryPart):
        return value.memory._native, value.offset, value.size
    return value


class Event:
    """The end of a started execution, or a sync fence of another library."""

    def __init__(self, native: _core.Event,
                 results: "Optional[Callable[[], Dict[str, NDArray[Any]]]]" = None) -> None:
        self._native = native
        self._results = results

    @classmethod
    def from_fd(cls, fd: int) -> "Event":
        """An event that is signaled when the sync fence is. The descriptor is duplicated."""
        return cls(_core.Event.from_fd(fd))

    def wait(self) -> None:
        """Waits, and raises the error of the execution. Ctrl-C interrupts."""
        self._native.wait()

    def results(self) -> "Dict[str, NDArray[Any]]":
        """Waits. Returns the outputs by name."""
        self.wait()
        if self._results is None:
            raise bad_data("a fence of another library has no results")
        return self._results()

    def sync_fence(self) -> int:
        """A new descriptor of the sync fence, which the caller closes.

        Raises halyard.BadDataError if the device gave no fence.
        """
        return self._native.sync_fence()
