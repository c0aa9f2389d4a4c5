"""An extension of griffe: docstrings of the package halyard become Markdown.

A docstring describes an argument by a line "name: text", with further lines indented. Such lines
become a list. Indented code becomes a block of code.
"""
from __future__ import annotations

import re
from typing import Any

import griffe

ARGUMENT = re.compile(r"^([a-z_]\w*(?:, [a-z_]\w*)*): (?=\S)")


def markdown(text: str) -> str:
    result: list[str] = []
    in_item = False
    for line in text.split("\n"):
        match = ARGUMENT.match(line)
        if match:
            names = ", ".join(f"`{name}`" for name in match.group(1).split(", "))
            if result and result[-1] and not in_item:
                result.append("")
            result.append(f"- {names}: {line[match.end():]}")
            in_item = True
        elif in_item and line.startswith(" "):
            result.append("  " + line.strip())
        else:
            if in_item and line:
                result.append("")
            in_item = False
            result.append(line)
    return "\n".join(result)


def unquoted(annotation: Any) -> Any:
    text = str(annotation)
    return text[1:-1] if text[:1] in ("'", '"') else annotation


class Docstrings(griffe.Extension):
    """Changes each docstring of the package when it is read."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Annotations in quotation marks lose them."""
        func.returns = unquoted(func.returns)
        for parameter in func.parameters:
            parameter.annotation = unquoted(parameter.annotation)

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
