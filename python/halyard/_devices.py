"""The devices of this machine."""
from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, List, Tuple

from . import _core
from ._html import table


@dataclasses.dataclass(frozen=True)
class Device:
    """A device: a driver, in a process of its own or in this one, or the runtime's CPU device."""

    name: str
    type: str
    version: str
    feature_level: int
    features: Tuple[str, ...]
    #: The process of the driver; 0 while it does not run.
    process_id: int
    #: The file that tells Halyard about the driver; empty for the runtime's own device.
    manifest: str
    #: All that `halyard devices --json` shows.
    details: Dict[str, Any] = dataclasses.field(repr=False, compare=False)


class DeviceList(List[Device]):
    """All devices in the order of the runtime. ``problems`` lists manifests that cannot be used."""

    problems: Tuple[Dict[str, Any], ...] = ()

    def _rows(self) -> List[List[str]]:
        return [[d.name, d.type, d.version, str(d.feature_level), str(d.process_id or "-"),
                 ", ".join(d.features)] for d in self]

    def _repr_html_(self) -> str:
        return table(["name", "type", "version", "level", "process", "features"], self._rows())


def devices() -> DeviceList:
    """All devices of this machine. The first call starts their drivers."""
    document = json.loads(_core.devices_json())
    found = DeviceList(
        Device(name=each["name"], type=each["type"], version=each["version"],
               feature_level=each["feature_level"], features=tuple(each["features"]),
               process_id=each.get("process_id") or 0, manifest=each.get("manifest") or "",
               details=each)
        for each in document["devices"])
    found.problems = tuple(document.get("problems", ()))
    return found
