#!/usr/bin/env python3
"""Checks a built site: every link and anchor within it, and that no page loads from the network.

    tools/site/check_site.py FOLDER

Each finding is a line with the page, the link and the fault. The exit status is 1 if there is one.
Links to other sites are no faults, since a reader follows them on purpose. Scripts, style sheets,
pictures, fonts and frames from elsewhere are.
"""
from __future__ import annotations

import pathlib
import re
import sys
from html.parser import HTMLParser
from typing import Iterator, Optional
from urllib.parse import unquote, urlsplit

# Attributes that make a browser load a file, by element.
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "audio": "src", "video": "src",
          "embed": "src", "object": "data", "track": "src", "input": "src"}
LOADING_RELATIONS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "modulepreload",
                     "dns-prefetch", "manifest", "apple-touch-icon"}
STYLE_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page(HTMLParser):
    """The links, loaded files and anchors of one page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.in_style = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Optional[str]]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values and tag != "meta")
        self.in_style = tag == "style"
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and set(values.get("rel", "").split()) & LOADING_RELATIONS:
            self.loaded.append(values.get("href", ""))
        if tag in LOADED and LOADED[tag] in values:
            self.loaded.append(values[LOADED[tag]])
        for part in values.get("srcset", "").split(","):
            if part.strip():
                self.loaded.append(part.split()[0])
        self.loaded += style_urls(values.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        self.in_style = False

    def handle_data(self, data: str) -> None:
        if self.in_style:
            self.loaded += style_urls(data)


def style_urls(text: str) -> list[str]:
    return [first or second for first, second in STYLE_URL.findall(text)]


class Site:
    """All pages of a folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.pages = {path: Page(path.read_text(encoding="utf-8"))
                      for path in sorted(folder.rglob("*.html"))}
        self.checked = 0

    def findings(self) -> Iterator[str]:
        for path, page in self.pages.items():
            name = path.relative_to(self.folder)
            for link in page.links:
                fault = self.fault_of(path, link)
                if fault:
                    yield f"{name}: link '{link}': {fault}"
            for url in page.loaded:
                fault = foreign(url) or self.fault_of(path, url)
                if fault:
                    yield f"{name}: loads '{url}': {fault}"
        for path in sorted(self.folder.rglob("*.css")):
            for url in style_urls(path.read_text(encoding="utf-8")):
                fault = foreign(url) or self.fault_of(path, url)
                if fault:
                    yield f"{path.relative_to(self.folder)}: loads '{url}': {fault}"
        for path in sorted(self.folder.rglob("*.svg")):
            for url in re.findall(r"(?:href|src)=\"([^\"]+)\"", path.read_text(encoding="utf-8")):
                if foreign(url):
                    yield f"{path.relative_to(self.folder)}: loads '{url}': {foreign(url)}"

    def fault_of(self, page: pathlib.Path, link: str) -> str:
        """The reason why a link within the site does not work, or an empty text."""
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return ""
        self.checked += 1
        target = page
        if parts.path:
            base = self.folder if parts.path.startswith("/") else page.parent
            target = (base / unquote(parts.path).lstrip("/")).resolve()
            if target.is_dir():
                target = target / "index.html"
            if not target.is_relative_to(self.folder):
                return "leads out of the site"
            if not target.is_file():
                return f"there is no {target.relative_to(self.folder)}"
        anchor = unquote(parts.fragment)
        if anchor and target in self.pages and anchor not in self.pages[target].anchors:
            return f"{target.relative_to(self.folder)} has no anchor '{anchor}'"
        return ""


def foreign(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme == "data":
        return ""
    return "comes from the network, expected a file of the site" if parts.scheme or parts.netloc else ""


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or not pathlib.Path(arguments[0]).is_dir():
        print("usage: check_site.py FOLDER, the folder of a built site", file=sys.stderr)
        return 2
    site = Site(pathlib.Path(arguments[0]).resolve())
    if not site.pages:
        print(f"check_site: {arguments[0]} has no page, expected at least one .html file", file=sys.stderr)
        return 1
    findings = list(site.findings())
    for finding in findings:
        print(finding, file=sys.stderr)
    print(f"site: {len(site.pages)} pages, {site.checked} links and files checked, {len(findings)} faults")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
