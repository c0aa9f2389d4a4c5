"""Traces for ui.perfetto.dev."""
from __future__ import annotations

import os
from typing import Any, Optional, Union

from . import _core

_MOST_SLICES = 1 << 20


class Trace:
    """Records this process and its drivers: ``with halyard.trace("trace.json"): ...``."""

    def __init__(self, path: "Union[str, os.PathLike[str], None]", slices: int = 0) -> None:
        self._path = path
        self._slices = min(slices, _MOST_SLICES)

    def __enter__(self) -> "Trace":
        _core.trace_start(self._slices)
        return self

    def __exit__(self, *_: Any) -> Optional[bool]:
        _core.trace_stop()
        if self._path is not None:
            with open(self._path, "w", encoding="utf-8") as file:
                file.write(_core.trace_json())
        return None


def trace(path: "Union[str, os.PathLike[str]]") -> Trace:
    """Writes a trace of the block to a file, for ui.perfetto.dev."""
    return Trace(path)
