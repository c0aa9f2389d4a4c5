"""Reports and profiles of compilations, as texts and as HTML."""
from __future__ import annotations

import json
from typing import Any, Dict, List, Optional

from . import _core
from ._html import paragraph, table


class Text(str):
    """A text that shows itself unquoted."""

    def __repr__(self) -> str:
        return str(self)


class Explanation(Text):
    """The text of `halyard explain`, with tables in a notebook."""

    _html = ""

    def _repr_html_(self) -> str:
        return self._html


def duration(nanoseconds: Optional[float]) -> str:
    if nanoseconds is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds / 1e3:.3g} us"


def ranges(indexes: List[int]) -> str:
    """For example "#0-#3, #7"."""
    parts: List[List[int]] = []
    for index in sorted(indexes):
        if parts and parts[-1][1] + 1 == index:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return ", ".join(f"#{a}" if a == b else f"#{a}-#{b}" for a, b in parts)


class Report(Dict[str, Any]):
    """The document of `halyard explain --json`: operations, partitions and events."""

    def __init__(self, text: str) -> None:
        super().__init__(json.loads(text))
        self.json = text

    @property
    def partitions(self) -> List[Dict[str, Any]]:
        return list(self["partitions"])

    @property
    def events(self) -> List[Dict[str, Any]]:
        """All that went another way than planned, with causes."""
        return list(self["events"])

    def explain(self, all: bool = False) -> Explanation:
        explanation = Explanation(_core.explanation_text(self.json, all))
        explanation._html = self._repr_html_()
        return explanation

    def __str__(self) -> str:
        return str(self.explain())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = []
        for i, each in enumerate(self["partitions"]):
            predicted = each["predicted_ns"]
            operations = ranges(each["operations"])
            if each["within"]:
                operations = f"{each['operation_count']} in {each['within']}"
            rows.append([i, each["device"], operations,
                         duration(predicted["compute"] + predicted["boundary"]),
                         duration(each["measured_mean_ns"]), each["executions"],
                         f"{each['bytes_in']} B", f"{each['bytes_out']} B",
                         "" if each["copied_bytes_mean"] is None
                         else f"{each['copied_bytes_mean']:.0f} B"])
        parts = [table(["partition", "device", "operations", "predicted", "measured", "executions",
                        "in", "out", "copied"], rows)]
        reasons: Dict[str, Dict[str, List[int]]] = {}
        for operation in self["operations"]:
            for other in operation["others"]:
                reasons.setdefault(other["device"], {}).setdefault(other["reason"], []).append(
                    operation["index"])
        for device, by_reason in reasons.items():
            most = list(by_reason.items())[:8]
            parts.append(table([f"not on {device}", "reason"],
                               [[ranges(indexes), reason] for reason, indexes in most]))
        if self["events"]:
            parts.append(table(["event", "device", "now", "operations", "times", "cause"], [
                [each["kind"], each["device"], each["target"], ranges(each["operations"]),
                 each["count"], each["cause"]] for each in self["events"]]))
        return "".join(parts)


class Profile(Dict[str, Any]):
    """The document of `halyard profile --json`: the times of operations, partitions and layers."""

    def __init__(self, text: str, runs: int, warm_up: int) -> None:
        super().__init__(json.loads(text))
        self.json = text
        self.runs = runs
        self.warm_up = warm_up

    def text(self, all: bool = False) -> Text:
        """The text of `halyard profile`. all: every operation, in the order of the model."""
        return Text(_core.profile_text(self.json, all))

    def __str__(self) -> str:
        return str(self.text())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        timed = [each for each in self["operations"] if each["count"]]
        timed.sort(key=lambda each: -each["total_ns"])
        rows = [[f"#{each['index']} {each['type']}", each["device"], each["count"],
                 duration(each["median_ns"]), f"{each['share'] * 100:.1f} %"] for each in timed[:15]]
        return paragraph(f"{self.runs} executions after {self.warm_up} to warm up") + table(
            ["operation", "device", "count", "median", "share"], rows)
