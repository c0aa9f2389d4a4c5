#!/usr/bin/env python3
"""Checks docs/driver_requirements.md; exit status 1 when a rule is broken.

Numbers ascend, and no number occurs twice. Every obligation names its enforcer. An obligation that
Halyard enforces names a test. Every named test stands in the tree as TEST, TEST_F or TEST_P. The
numbers that the validation kit's checks name are obligations.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/driver_requirements.md"
TEST = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.M)


def tests_of_the_tree():
    listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*_test*.cc"], cwd=ROOT,
                             check=True, capture_output=True, text=True)
    return {f"{suite}.{name}" for path in listing.stdout.split()
            for suite, name in TEST.findall((ROOT / path).read_text())}


def numbers_of_the_kit():
    listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "validation/*.cc"],
                             cwd=ROOT, check=True, capture_output=True, text=True)
    for path in listing.stdout.split():
        if path.endswith("_test.cc"):
            continue
        for number in set(re.findall(r'"(ND-\d+)"', (ROOT / path).read_text())):
            yield path, number


def problems_of(page, tests):
    numbers = []
    for line in page.splitlines():
        if not line.startswith("| ND-"):
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 5:
            yield f"{cells[0]} has {len(cells)} columns, expected 5"
            continue
        number, obligation, _, enforced, named = cells
        numbers.append(number)
        if not obligation:
            yield f"{number} demands nothing"
        if not enforced.startswith(("Halyard", "Driver")):
            yield f"{number} is enforced by '{enforced}', expected Halyard or Driver"
        found = re.findall(r"`([^`]+)`", named)
        if enforced == "Halyard" and not found:
            yield f"{number} is enforced by Halyard and names no test"
        for test in found:
            if test not in tests:
                yield f"{number} names {test}, which is no test in the tree"
    for path, number in numbers_of_the_kit():
        if number not in numbers:
            yield f"{path} checks {number}, which is no obligation"
    if numbers != sorted(set(numbers)):
        yield "the numbers do not ascend"
    if not numbers:
        yield "there are no obligations"


def main():
    problems = list(problems_of(PAGE.read_text(), tests_of_the_tree()))
    for problem in problems:
        print(f"requirements: {problem}", file=sys.stderr)
    print(f"requirements: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
