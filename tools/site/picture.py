"""Parts of a drawing, as SVG: boxes, frames, arrows and texts.

A drawing is 480 units wide, so that its letters stay readable on a phone. It has a light ground of
its own, so that it reads the same on light and dark pages.
"""
from __future__ import annotations

from html import escape

WIDTH = 480
INK = "#1f2933"
GREY = "#5b6770"
GROUND = "#fbfcfd"
FILL = {"plain": ("#ffffff", "#9aa5b1"), "own": ("#dcebfb", "#2f6fb3"), "driver": ("#e2f3e4", "#2e7d4f"),
        "outside": ("#fdf0d5", "#b7791f"), "warning": ("#fde4e1", "#b83a2e")}


class Picture:
    """A drawing that grows by each call. Coordinates are in units, from the upper left corner."""

    def __init__(self, height: int, title: str) -> None:
        self.height = height
        self.title = title
        self.parts: list[str] = []

    def text(self, x: float, y: float, content: str, *, size: float = 12, bold: bool = False,
             anchor: str = "middle", colour: str = INK, halo: bool = False) -> None:
        """A line of text. A halo keeps it readable above lines."""
        ring = f' paint-order="stroke" stroke="{GROUND}" stroke-width="4"' if halo else ""
        weight = ' font-weight="600"' if bold else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" text-anchor="{anchor}" '
                          f'fill="{colour}"{weight}{ring}>{escape(content)}</text>')

    def box(self, x: float, y: float, width: float, height: float, *lines: str,
            kind: str = "plain") -> None:
        """A box with lines of text. The first line is bold if there are several."""
        fill, stroke = FILL[kind]
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5" '
                          f'fill="{fill}" stroke="{stroke}"/>')
        first = y + height / 2 + 4 - (len(lines) - 1) * 7
        for number, line in enumerate(lines):
            head = number == 0
            self.text(x + width / 2, first + number * 14, line, size=12 if head else 11,
                      bold=head and len(lines) > 1, colour=INK if head else GREY)

    def bar(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{colour}"/>')

    def frame(self, x: float, y: float, width: float, height: float, title: str,
              kind: str = "plain") -> None:
        """A frame around other parts, with its title in the upper left corner."""
        stroke = FILL[kind][1]
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8" '
                          f'fill="{FILL[kind][0]}" fill-opacity="0.35" stroke="{stroke}"/>')
        self.text(x + 10, y + 17, title, size=12, bold=True, anchor="start", colour=stroke)

    def line(self, *points: tuple[float, float], head: bool = True, dashed: bool = False,
             colour: str = GREY) -> None:
        """A line through the points, with the head of an arrow at its end."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dash = ' stroke-dasharray="6 4"' if dashed else ""
        end = ' marker-end="url(#head)"' if head else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                          f'stroke-width="1.5"{dash}{end}/>')

    def arrow(self, x1: float, y1: float, x2: float, y2: float, label: str = "", *,
              side: str = "right", dashed: bool = False) -> None:
        """An arrow. The label stands beside its middle, or above it with side="above"."""
        self.line((x1, y1), (x2, y2), dashed=dashed)
        x, y = (x1 + x2) / 2, (y1 + y2) / 2
        if label and side == "above":
            self.text(x, y - 5, label, size=11, colour=GREY)
        elif label:
            anchor, shift = ("start", 7) if side == "right" else ("end", -7)
            self.text(x + shift, y + 4, label, size=11, anchor=anchor, colour=GREY)

    def step(self, x: float, y: float, number: int) -> None:
        """A number in a circle."""
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="9" fill="{INK}"/>')
        self.text(x, y + 4, str(number), size=11, bold=True, colour="#ffffff")

    def svg(self) -> str:
        body = "\n".join(self.parts)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
                f'width="{WIDTH}" height="{self.height}" role="img" '
                f'font-family="system-ui, \'DejaVu Sans\', sans-serif">\n'
                f"<title>{escape(self.title)}</title>\n"
                '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
                f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{GREY}"/></marker></defs>\n'
                f'<rect width="{WIDTH}" height="{self.height}" rx="8" fill="{GROUND}"/>\n'
                f"{body}\n</svg>\n")
