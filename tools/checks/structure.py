#!/usr/bin/env python3
"""Checks rules on the shape of the tree; run from anywhere, exit status 1 when one is broken.

1. The name of an operation stands in at most 3 hand-written files: the public header, ops.inc and
   the operation's own file. Not counted: tests, benchmarks, documentation, examples, importers,
   which speak of the operators of other formats, and tools, which show particular results.
2. Source files stay under 600 lines; scripts and the public headers, which are documentation, under
   1,000.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = {".cc", ".h", ".c", ".inc", ".capnp", ".fbs", ".py", ".sh"}
UNCOUNTED = re.compile(r"(_test\.(cc|c)|_bench\.cc|_for_test\.h|/test_model\.h)$|/testing/|"
                       r"^(src/import|bench|tests|docs|examples|models|tools)/")
MAX_PLACES = 3
MAX_LINES = 600
MAX_DOCUMENT_LINES = 1000


def tracked_files():
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True,
                             text=True)
    return [name for name in listing.stdout.splitlines()
            if pathlib.Path(name).suffix in SOURCE and (ROOT / name).is_file()]


def code_of(text, name):
    """The text without comments, in which an operation may be mentioned freely."""
    if name.endswith((".py", ".sh")):
        return re.sub(r"#.*", "", text)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"//.*", "", text)


def operation_places(files):
    names = re.findall(r"HALYARD_OPERATION\(\d+, (\w+)",
                       (ROOT / "src/ops/ops.inc").read_text())
    texts = {f: code_of((ROOT / f).read_text(), f) for f in files if not UNCOUNTED.search(f)}
    problems = []
    for name in names:
        # IF is also a word of other languages; what counts is the enumerator or the API's constant.
        pattern = re.compile(rf"(\bOperationType::{name}\b|\bANEURALNETWORKS_{name}\b|"
                             rf"\(\d+, {name}\b)")
        places = [f for f, text in texts.items() if pattern.search(text)]
        if len(places) > MAX_PLACES:
            problems.append(f"{name} is named in {len(places)} files: {', '.join(places)}")
    return problems


def long_files(files):
    problems = []
    for name in files:
        lenient = name.startswith("include/") or name.endswith(".py")
        limit = MAX_DOCUMENT_LINES if lenient else MAX_LINES
        lines = (ROOT / name).read_text().count("\n")
        if lines > limit:
            problems.append(f"{name} has {lines} lines, at most {limit}")
    return problems


def main():
    files = tracked_files()
    problems = operation_places(files) + long_files(files)
    for problem in problems:
        print(f"structure: {problem}", file=sys.stderr)
    print(f"structure: {len(files)} files looked at, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
