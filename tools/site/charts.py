"""Draws charts of the tables in the documents. A figure that stands in no table is in no chart.

A chart stands behind its table on the site. Another page asks for it by a comment,
<!-- chart NAME -->, with a name from CHARTS.
"""
from __future__ import annotations

import dataclasses
import math
import pathlib
import re

from picture import GREY, WIDTH, Picture

COLOURS = ("#2f6fb3", "#d9822b", "#3d9a5f", "#8a5fb0")
LEFT, RIGHT = 186, 424
SEPARATOR = re.compile(r"\|[\s:|-]+\|?")


class ChartError(Exception):
    """A table without the expected columns. The text names the file and both lists of columns."""


@dataclasses.dataclass(frozen=True)
class Chart:
    """A bar for each row of a table and each series.

    columns: the column of each series, as (header, which of the columns with that header).
    under: a text in front of the table, if several tables of the file have these columns.
    reference: a value with a line of its own, such as a ratio of 1.
    """
    title: str
    file: str
    columns: tuple[tuple[str, int], ...]
    series: tuple[str, ...]
    unit: str = ""
    under: str = ""
    reference: float | None = None
    logarithmic: bool = False


AMX = "Two virtual processors of an Intel Xeon with AMX"
ZEN4 = "Two virtual processors of an AMD EPYC of family 25"
ZEN5 = "Two virtual processors of an AMD EPYC of family 26"
ZEN3 = "Two virtual processors of an AMD EPYC of the third generation"
PEERS = "bench/peers/README.md"
CHARTS = {
    "peers_amx": Chart("Time relative to the best other runtime, Intel Xeon with AMX", PEERS,
                       (("ratio", 0), ("ratio", 1)), ("1 thread", "2 threads"), under=AMX, reference=1),
    "peers_zen4": Chart("Time relative to the best other runtime, AMD Zen 4", PEERS,
                        (("ratio", 0), ("ratio", 1)), ("1 thread", "2 threads"), under=ZEN4, reference=1),
    "peers_zen5": Chart("Time relative to the best other runtime, AMD Zen 5", PEERS,
                        (("ratio", 0), ("ratio", 1)), ("1 thread", "2 threads"), under=ZEN5, reference=1),
    "peers_zen3": Chart("Time relative to the best other runtime, AMD Zen 3 (AVX2)", PEERS,
                        (("ratio", 0), ("ratio", 1)), ("1 thread", "2 threads"), under=ZEN3, reference=1),
    "loading": Chart("Loading and memory relative to LiteRT, AMD Zen 4", PEERS,
                     (("load", 0), ("first result", 0), ("memory", 0)),
                     ("load until executable", "first result", "peak memory"), under=ZEN4, reference=1),
    "serving": Chart("Requests a second beside mlserver", "bench/serve/README.md",
                     (("halyard serve", 0), ("mlserver", 0)), ("halyard serve", "mlserver"), unit="/s",
                     logarithmic=True),
    "litert": Chart("Delegate on halyard-cpu, relative to XNNPACK", "docs/litert.md", (("ratio", 0),),
                    ("time of the delegate",), reference=1),
    "vulkan": Chart("Driver and ncnn on the same software device", "docs/vulkan_driver.md",
                    (("driver", 0), ("ncnn float32", 0), ("ncnn float16", 0)),
                    ("halyard-vulkan", "ncnn, float32", "ncnn, float16"), unit="ms", logarithmic=True),
    "winograd": Chart("Winograd's convolutions on a software device", "docs/vulkan_driver.md",
                      (("without", 0), ("with", 0)), ("without", "with"), unit="ms"),
    "cpu_threads": Chart("Kernels of the CPU driver, and reference kernels", "docs/cpu_driver.md",
                         (("1 thread", 0), ("2 threads", 0), ("reference kernels, 1 thread", 0)),
                         ("1 thread", "2 threads", "reference kernels"), unit="ms", logarithmic=True),
    "cache": Chart("Starts of a driver that compiles for two seconds", "docs/caching.md",
                   (("2 s: first", 0), ("next", 1)), ("first start", "next starts, from the files"), unit="ms",
                   logarithmic=True),
    "shadow": Chart("Cost of shadow verification", "docs/shadow_verification.md",
                    (("nothing verified", 0), ("every 100-th", 0)), ("nothing verified", "every 100-th"),
                    unit="ms"),
}


def cells_of(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def number_in(cell: str) -> float | None:
    match = re.match(r"[\d,]*\.?\d+", cell.replace("`", ""))
    return float(match.group().replace(",", "")) if match else None


@dataclasses.dataclass
class Table:
    """A table of a document, and the number of the first line behind it, from 0 on."""
    header: list[str]
    rows: list[list[str]]
    end: int


def table_of(root: pathlib.Path, chart: Chart) -> Table:
    """The first table behind the chart's text, or the first one with its columns if it has no text."""
    text = (root / chart.file).read_text()
    if chart.under not in text:
        raise ChartError(f"{chart.file}: the text '{chart.under}' is missing, which stands before a table")
    lines = text.split("\n")
    first = text[:text.index(chart.under)].count("\n") + 1
    found = []
    for number, line in enumerate(lines[first:], first):
        if not SEPARATOR.fullmatch(line.strip()) or not lines[number - 1].startswith("|"):
            continue
        header = cells_of(lines[number - 1])
        if all(header.count(name) > which for name, which in chart.columns):
            rows = []
            for row in lines[number + 1:]:
                if not row.startswith("|"):
                    break
                rows.append(cells_of(row))
            return Table(header, rows, number + 1 + len(rows))
        found.append(" | ".join(header))
        if chart.under:
            break
    wanted = ", ".join(name for name, _ in chart.columns)
    place = f"the table behind '{chart.under}' lacks one of" if chart.under else "no table has"
    raise ChartError(f"{chart.file}: {place} the columns {wanted}; found: {'; '.join(found) or 'no table'}")


def values_of(root: pathlib.Path, chart: Chart) -> list[tuple[str, list[float | None]]]:
    table = table_of(root, chart)
    places = [[i for i, name in enumerate(table.header) if name == wanted][which]
              for wanted, which in chart.columns]
    values = [(row[0], [number_in(row[place]) if place < len(row) else None for place in places])
              for row in table.rows]
    kept = [(name, numbers) for name, numbers in values if any(n is not None for n in numbers)]
    if not kept:
        raise ChartError(f"{chart.file}: the table with the columns of '{chart.title}' has no number")
    return kept


def label(p: Picture, y: float, name: str) -> None:
    """The name of a row. Long names have smaller letters, and lose their end."""
    length = 36
    shown = name if len(name) <= length else name[:length - 1] + "…"
    size = 11 if len(shown) <= 27 else 10 if len(shown) <= 30 else 9
    p.text(LEFT - 7, y, shown, size=size, anchor="end")


def draw(root: pathlib.Path, chart: Chart) -> str:
    rows = values_of(root, chart)
    bar = 11 if len(chart.series) > 1 else 14
    step = bar * len(chart.series) + 8
    top = 30 + 18 * len(chart.series)
    p = Picture(top + step * len(rows) + 34, chart.title)
    p.text(14, 22, chart.title, size=13, bold=True, anchor="start")
    for i, name in enumerate(chart.series):
        p.bar(14, 32 + 18 * i, 12, 11, COLOURS[i])
        p.text(32, 42 + 18 * i, name, size=11, anchor="start")
    most = max(n for _, numbers in rows for n in numbers if n is not None)
    least = min(n for _, numbers in rows for n in numbers if n is not None)
    most = max(most, chart.reference or 0)
    low = math.floor(math.log10(least)) if chart.logarithmic else 0

    def width(value: float) -> float:
        if chart.logarithmic:
            return (math.log10(value) - low) / (math.log10(most) - low) * (RIGHT - LEFT)
        return value / most * (RIGHT - LEFT)

    bottom = top + 4.0 + step * len(rows)
    if chart.reference is not None:
        x = LEFT + width(chart.reference)
        p.line((x, top), (x, bottom), head=False, dashed=True)
        p.text(x, top - 4, f"{chart.reference:g}", size=11, colour=GREY)
    y = top + 4.0
    for name, numbers in rows:
        label(p, y + step / 2, name)
        for i, number in enumerate(numbers):
            if number is not None:
                p.bar(LEFT, y + i * bar, max(width(number), 1), bar - 2, COLOURS[i])
                p.text(LEFT + width(number) + 5, y + i * bar + bar - 3, f"{number:,g}", size=10,
                       anchor="start", colour=GREY, halo=True)
        y += step
    notes = [f"in {chart.unit}" if chart.unit else "less is faster"]
    notes += ["logarithmic: each tenfold is as wide"] if chart.logarithmic else []
    p.text(LEFT, y + 16, ", ".join(notes), size=11, anchor="start", colour=GREY)
    return p.svg()
