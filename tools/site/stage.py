#!/usr/bin/env python3
"""Puts the sources of the site into a folder: documents, generated reference pages and charts.

    tools/site/stage.py FOLDER

The documents of the tree have links that work in the tree. Each link is changed to the place of its
target on the site. A target without a page, such as a source file, becomes a page with its text.
"""
from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

from charts import CHARTS, ChartError, draw, table_of
from header_pages import C_HEADERS, Pages, driver_headers, page_of
from headers import HeaderError
from manifest_page import manifest_page
from python_pages import write_python_pages

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Documents outside of docs/, and their pages.
PAGES = {"README.md": "overview.md", "ARCHITECTURE.md": "architecture.md",
         "CONTRIBUTING.md": "contributing.md", "bench/peers/README.md": "peers.md",
         "bench/serve/README.md": "serving_figures.md",
         "models/README.md": "models.md", "tests/vectors/README.md": "vectors.md",
         "docs/README.md": "index.md"}
SHOWN_AS_THEY_ARE = {".svg", ".png"}
LANGUAGES = {".py": "python", ".c": "c", ".h": "c", ".cc": "cpp", ".json": "json", ".yaml": "yaml",
             ".sh": "sh"}
FENCE = re.compile(r"^(```[\w+]*)$")
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
CAPABILITIES = re.compile(r"^<!-- capabilities (\S+) -->$")
CHART = re.compile(r"^<!-- chart (\w+) -->$")
TITLE = re.compile(r"^<!-- (?:file|append to|replace in) (\S+) -->$")


class SiteError(Exception):
    """A document that cannot go on the site. The text names the file and the place."""


def tracked_documents() -> list[str]:
    listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "docs"], cwd=ROOT, check=True,
                             capture_output=True, text=True)
    return sorted(name for name in listing.stdout.split("\n")
                  if name.endswith((".md", *SHOWN_AS_THEY_ARE)) and (ROOT / name).is_file())


def capabilities_table(path: pathlib.Path) -> str:
    """The figures of a device as a table, from the file that its driver reads."""
    figures = json.loads(path.read_text())["capabilities"]
    rows = ["| type or case | time | energy |", "|---|---|---|"]
    cases = {**figures["operand_types"], **{name: each for name, each in figures.items() if name != "operand_types"}}
    for name, each in cases.items():
        rows.append(f"| `{name}` | {each['exec_time']} | {each['power_usage']} |")
    return "\n".join(rows)


class Stage:
    """The folder of sources for mkdocs."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.documents = folder / "docs"
        shutil.rmtree(folder, ignore_errors=True)
        self.documents.mkdir(parents=True)
        names = [*tracked_documents(), *PAGES]
        self.page = {name: PAGES.get(name, name.removeprefix("docs/")) for name in names}
        # Sources with a page of their own in the reference.
        self.reference = {"docs/manifest.schema.json": "reference/manifest.md",
                          "python/halyard/__init__.py": "reference/python_functions.md"}
        for header in C_HEADERS + driver_headers(ROOT):
            self.reference[f"include/{header}"] = f"reference/{page_of(header)}"

    def write(self, page: str, text: str) -> None:
        path = self.documents / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def all(self) -> None:
        for name, page in list(self.page.items()):
            if name.endswith(".md"):
                self.write(page, self.document(name, page))
            else:
                target = self.documents / page
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, target)
        Pages(ROOT).write(self.documents / "reference")
        write_python_pages(ROOT, self.documents / "reference")
        self.write("reference/manifest.md", manifest_page(ROOT))
        shutil.copyfile(HERE / "style.css", self.documents / "style.css")
        self.configuration()

    def document(self, name: str, page: str) -> str:
        """The text of a document, with the links and the charts of the site."""
        out = []
        fence = False
        title = ""
        behind: dict[int, list[str]] = {}  # charts by the number of the line behind their table
        for chart_name, described in CHARTS.items():
            if described.file == name:
                behind.setdefault(table_of(ROOT, described).end + 1, []).append(chart_name)
        for number, line in enumerate((ROOT / name).read_text().split("\n"), 1):
            for chart_name in behind.get(number, []):
                out += ["", self.chart(name, number, chart_name, page), ""]
            if line.startswith("```"):
                match = FENCE.match(line)
                if not fence and title and match:
                    line = f'{match.group(1) if match.group(1) != "```" else "```text"} title="{title}"'
                fence, title = not fence, ""
            elif not fence:
                chart = CHART.match(line)
                named = TITLE.match(line)
                title = named.group(1) if named else title if line == "" or line.startswith("<!--") else ""
                figures = CAPABILITIES.match(line)
                if chart:
                    line = self.chart(name, number, chart.group(1), page)
                elif figures:
                    line = capabilities_table(ROOT / figures.group(1))
                else:
                    line = self.with_links(line, name, number, page)
            out.append(line)
        return "\n".join(out)

    def with_links(self, line: str, name: str, number: int, page: str) -> str:
        parts = re.split(r"(`[^`]*`)", line)
        # A code span may be the text of a link, so the link's end stands in the next part.
        joined = "".join(part if part.startswith("`") is False else part.replace("](", "]\0(") for part in parts)
        changed = LINK.sub(lambda m: m.group(1) + self.target(m.group(2), name, number, page) + m.group(3),
                           joined)
        return changed.replace("]\0(", "](")

    def target(self, link: str, name: str, number: int, page: str) -> str:
        """The link on the site for a link of a document."""
        if re.match(r"[a-z]+:", link) or link.startswith("#"):
            return link
        path, _, anchor = link.partition("#")
        source = os.path.normpath(os.path.join(os.path.dirname(name), path))
        if (ROOT / source).is_dir():
            source = os.path.join(source, "README.md")
        if not (ROOT / source).is_file():
            raise SiteError(f"{name}:{number}: the link '{link}' leads to {source}, which is no file")
        if source not in self.page and source not in self.reference:
            self.page[source] = self.source_page(source)
        place = self.reference.get(source) or self.page[source]
        relative = os.path.relpath(place, os.path.dirname(page) or ".")
        return relative + (f"#{anchor}" if anchor else "")

    def source_page(self, source: str) -> str:
        """A page that shows a source file."""
        page = f"sources/{source.replace('/', '_')}.md"
        language = LANGUAGES.get(pathlib.PurePath(source).suffix, "text")
        self.write(page, f"# {source}\n\n````{language}\n{(ROOT / source).read_text()}\n````\n")
        return page

    def chart(self, name: str, number: int, chart: str, page: str) -> str:
        if chart not in CHARTS:
            raise SiteError(f"{name}:{number}: chart '{chart}' is unknown, expected one of {', '.join(CHARTS)}")
        self.write(f"pictures/chart_{chart}.svg", draw(ROOT, CHARTS[chart]))
        relative = os.path.relpath(f"pictures/chart_{chart}.svg", os.path.dirname(page) or ".")
        return f"![{CHARTS[chart].title}]({relative})"

    def configuration(self) -> None:
        """mkdocs.yml with the pages of headers and decisions, which are lists."""
        text = (HERE / "mkdocs.yml").read_text()
        configuration = yaml.load(text, yaml.BaseLoader)
        self.check_navigation(configuration["nav"])
        lists = {"C_HEADERS": [f"reference/{page_of(name)}" for name in C_HEADERS],
                 "DRIVER_HEADERS": [f"reference/{page_of(name)}" for name in driver_headers(ROOT)],
                 "DECISIONS": [page for page in sorted(self.page.values())
                               if page.startswith("decisions/0")]}
        for marker, pages in lists.items():
            text = re.sub(rf"^( *)- {marker}$", lambda m: "\n".join(f"{m.group(1)}- {page}" for page in pages),
                          text, flags=re.M)
        (self.folder / "mkdocs.yml").write_text(text)

    def check_navigation(self, navigation: object) -> None:
        listed = set(re.findall(r"[\w/.]+\.md", str(navigation)))
        for name, page in self.page.items():
            if page.endswith(".md") and page not in listed and not page.startswith(("decisions/0", "sources/")):
                raise SiteError(f"{name}: the page {page} is missing in nav of tools/site/mkdocs.yml")


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: stage.py FOLDER", file=sys.stderr)
        return 2
    try:
        Stage(pathlib.Path(arguments[0])).all()
    except (SiteError, ChartError, HeaderError) as error:
        print(f"site: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
