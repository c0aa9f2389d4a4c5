"""Tables in HTML, for notebooks."""
from __future__ import annotations

import html
from typing import Iterable, Sequence


def cell(text: object, tag: str = "td") -> str:
    return f"<{tag} style='text-align:left'>{html.escape(str(text))}</{tag}>"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = ["<tr>" + "".join(cell(each, "th") for each in head) + "</tr>"]
    lines += ["<tr>" + "".join(cell(each) for each in row) + "</tr>" for row in rows]
    return "<table>" + "".join(lines) + "</table>"


def paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"
