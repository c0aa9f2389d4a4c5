"""Errors of Halyard: one exception for each status of NNAPI, with the text of the runtime."""
from __future__ import annotations

import enum
from typing import Dict, Type


class Status(enum.IntEnum):
    """The result codes of NNAPI (``ANEURALNETWORKS_*``)."""

    NO_ERROR = 0
    OUT_OF_MEMORY = 1
    INCOMPLETE = 2
    UNEXPECTED_NULL = 3
    BAD_DATA = 4
    OP_FAILED = 5
    BAD_STATE = 6
    UNMAPPABLE = 7
    OUTPUT_INSUFFICIENT_SIZE = 8
    UNAVAILABLE_DEVICE = 9
    MISSED_DEADLINE_TRANSIENT = 10
    MISSED_DEADLINE_PERSISTENT = 11
    RESOURCE_EXHAUSTED_TRANSIENT = 12
    RESOURCE_EXHAUSTED_PERSISTENT = 13
    DEAD_OBJECT = 14


class Error(RuntimeError):
    """A failed call. ``status`` is its code, and the text names the fault and its place."""

    status: Status

    def __init__(self, status: int, text: str) -> None:
        self.status = Status(status)
        self.text = text
        super().__init__(f"{self.status.name}: {text}")

    def __reduce__(self) -> "tuple[Type[Error], tuple[int, str]]":
        return type(self), (int(self.status), self.text)


class BadDataError(Error, ValueError):
    """A bad argument, model or request: a second attempt fails too."""


class BadStateError(Error):
    """An object in the wrong state, such as an object of the parent in a forked child."""


class OperationFailedError(Error):
    """An execution or a driver failed. Another device may succeed."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed."""


class DeadlineError(Error, TimeoutError):
    """The call took longer than its deadline allows."""


class ResourceError(Error):
    """The device lacks a resource, such as memory for another model."""


class DeviceError(Error):
    """The driver's process ended, or cannot serve now."""


class UnmappableError(Error):
    """A descriptor whose memory cannot be mapped."""


class OutputSizeError(Error):
    """The space for an output is too small."""


_CLASSES: Dict[Status, Type[Error]] = {
    Status.OUT_OF_MEMORY: OutOfMemoryError,
    Status.UNEXPECTED_NULL: BadDataError,
    Status.BAD_DATA: BadDataError,
    Status.OP_FAILED: OperationFailedError,
    Status.BAD_STATE: BadStateError,
    Status.UNMAPPABLE: UnmappableError,
    Status.OUTPUT_INSUFFICIENT_SIZE: OutputSizeError,
    Status.UNAVAILABLE_DEVICE: DeviceError,
    Status.MISSED_DEADLINE_TRANSIENT: DeadlineError,
    Status.MISSED_DEADLINE_PERSISTENT: DeadlineError,
    Status.RESOURCE_EXHAUSTED_TRANSIENT: ResourceError,
    Status.RESOURCE_EXHAUSTED_PERSISTENT: ResourceError,
    Status.DEAD_OBJECT: DeviceError,
}


def error_for(status: int, text: str) -> Error:
    """The exception for a status. The native module calls this."""
    return _CLASSES.get(Status(status), Error)(status, text)
