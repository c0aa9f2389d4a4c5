#!/usr/bin/env python3
"""Checks rules on the shape of the tree; run from anywhere, exit status 1 when one is broken.

1. The name of an operation stands in at most 3 hand-written files: the public header, its list and
   the operation's own file. Not counted: tests, the validation kit, benchmarks, documentation,
   examples, importers, which speak of the operators of other formats, and tools, which show
   particular results.
2. Source files stay under 600 lines; scripts and the public headers, which are documentation, under
   1,000.
3. What the headers for drivers declare and do not define carries HALYARD_EXPORT: otherwise it would be
   missing in libhalyard_driver, which only drivers outside of this tree would notice. They include
   nothing that is not installed with them.
4. What is shipped reads the environment by environmentVariable (src/base/environment.h) alone, so that
   elevated privileges count for every variable; docs/environment.md names those of Halyard's.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = {".cc", ".h", ".c", ".inc", ".capnp", ".fbs", ".py", ".sh"}
UNCOUNTED = re.compile(r"(_test\.(cc|c)|_bench\.cc|_for_test\.h|/test_model\.h)$|/testing/|"
                       r"^(src/import|bench|tests|docs|examples|models|tools|validation)/")
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
    lists = [(ROOT / "src/ops" / name).read_text() for name in ("ops.inc", "tflite_ops.inc")]
    names = re.findall(r"HALYARD_OPERATION\(\w+, (\w+)", "".join(lists))
    texts = {f: code_of((ROOT / f).read_text(), f) for f in files if not UNCOUNTED.search(f)}
    problems = []
    for name in names:
        # IF is also a word of other languages; what counts is the enumerator or the API's constant.
        pattern = re.compile(rf"(\bOperationType::{name}\b|\bANEURALNETWORKS_{name}\b|"
                             rf"\bHALYARD_TFLITE_{name}\b|\(\w+, {name}\b)")
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


def top_level(code):
    """The declarations outside of all braces but those of namespaces, each with its own braces."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", "", code, flags=re.M)
    code = re.sub(r"namespace[\w:\s]*\{", "", code)
    depth, start = 0, 0
    for at, letter in enumerate(code):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth < 0:  # the end of a namespace
            depth, start = 0, at + 1
        elif depth == 0 and (letter == ";" or letter == "}" and not code[at + 1:].startswith(";")):
            yield code[start:at + 1].strip()
            start = at + 1


def unexported(files):
    problems = []
    for name in files:
        if not re.fullmatch(r"include/halyard/driver/\w+\.h", name):
            continue
        text = (ROOT / name).read_text()
        for included in re.findall(r'#include "(.*)"', text):
            if not included.startswith("halyard/driver/"):
                problems.append(f"{name} includes {included}, which is not installed")
        for declaration in top_level(code_of(text, name)):
            if "HALYARD_EXPORT" in declaration.split("{")[0] or declaration.startswith("template"):
                continue
            if declaration.startswith(("class", "struct")):
                body, inner = declaration.partition("{")[2][:-1], 1
                while inner:  # what is defined on the spot, from the innermost braces out
                    body, inner = re.subn(r"\{[^{}]*\}", "", body)
                needs = re.search(r"\)\s*(const|noexcept|override)*\s*;|\bvirtual\b", body)
            else:
                needs = re.search(r"\)\s*;$", declaration) and not re.match(
                    r"(inline|using|constexpr|static_assert)\b", declaration)
            if needs:
                first = declaration.splitlines()[0]
                problems.append(f"{name}: '{first}' has no HALYARD_EXPORT")
    return problems


def environment_reads(files):
    problems = []
    documented = (ROOT / "docs/environment.md").read_text()
    for name in files:
        if not re.match(r"(src|drivers|tools|validation|include)/.*\.(cc|h|c|inc)$", name):
            continue
        if re.search(r"_test\.(cc|c)$|_for_test\.h$|_fuzz\.cc$|/(testing|fuzz)/", name):
            continue
        code = code_of((ROOT / name).read_text(), name)
        if name != "src/base/environment.h" and re.search(r"\bgetenv\b|\bsecure_getenv\b", code):
            problems.append(f"{name} reads the environment by itself, not by environmentVariable")
        for variable in re.findall(r'(?:Variable|Value|FromEnvironment)\("(HALYARD_\w+)"', code):
            if f"`{variable}`" not in documented:
                problems.append(f"{name} reads {variable}, which docs/environment.md does not name")
    return problems


def main():
    files = tracked_files()
    problems = (operation_places(files) + long_files(files) + unexported(files) +
                environment_reads(files))
    for problem in problems:
        print(f"structure: {problem}", file=sys.stderr)
    print(f"structure: {len(files)} files looked at, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
