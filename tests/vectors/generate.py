#!/usr/bin/env python3
"""Writes the vectors from the descriptions in cases/, or compares them with the present files.

    generate.py            write every file again, and MANIFEST.json
    generate.py --check    write nothing; exit status 1 when a file is not as generated
    generate.py --list     say how many cases each operation has

The comparison is of the files' contents. Their compressed bytes depend on the version of zlib. The
last bit of a float may depend on the machine's mathematical library. So floats that the reference
computed may differ by one unit in the last place.
"""
import argparse
import collections
import gzip
import hashlib
import importlib
import json
import pathlib
import platform
import sys
import zlib

import numpy as np

from reference import model
from reference.operand import FLOATS

FOLDER = pathlib.Path(__file__).resolve().parent
FAMILIES = [p.stem for p in sorted((FOLDER / "cases").glob("*.py")) if p.stem != "__init__"]


def collections_of_all():
    made = []
    for family in FAMILIES:
        made += importlib.import_module(f"cases.{family}").collections()
    names = [c.name for c in made]
    assert len(set(names)) == len(names), "two collections of one name"
    return made


def manifest(files):
    return json.dumps({
        "python": platform.python_version(), "numpy": np.__version__, "zlib": zlib.ZLIB_VERSION,
        "seeds": "numpy.random.RandomState(crc32 of 'COLLECTION/CASE')",
        "files": {name: {"cases": len(c.cases), "sha256": hashlib.sha256(data).hexdigest()}
                  for name, (c, data) in sorted(files.items())},
    }, indent=1) + "\n"


def close(a, b):
    """Whether two operands hold the same, floats up to their last bit."""
    if a.value is None or b.value is None or a.type not in FLOATS:
        return model.operand_json(a) == model.operand_json(b)
    without = [{k: v for k, v in model.operand_json(o).items() if k != "data"} for o in (a, b)]
    x, y = a.value.astype(np.float64), b.value.astype(np.float64)
    step = np.spacing(np.maximum(np.abs(a.value), np.abs(b.value))).astype(np.float64)
    return without[0] == without[1] and bool((np.abs(x - y) <= step).all())


def same_case(fresh, committed):
    a, b = model.parse_case(fresh), model.parse_case(committed)
    if len(a.main.operands) != len(b.main.operands):
        return False
    outputs = set(a.main.outputs)
    for i, (x, y) in enumerate(zip(a.main.operands, b.main.operands)):
        if i in outputs and close(x, y):
            x.value = y.value
    return model.case_line(a) == model.case_line(b)


def differences(files):
    """A line for each file that is not as generated."""
    there = {p.name for p in FOLDER.glob("*.jsonl.gz")}
    for name in sorted(there - set(files)):
        yield f"{name}: nothing generates it"
    for name, (_, data) in sorted(files.items()):
        if name not in there:
            yield f"{name}: missing"
            continue
        fresh = gzip.decompress(data).decode().splitlines()
        committed = gzip.decompress((FOLDER / name).read_bytes()).decode().splitlines()
        wrong = [json.loads(f)["name"] for f, c in zip(fresh, committed)
                 if f != c and not same_case(f, c)]
        if wrong or len(fresh) != len(committed):
            yield (f"{name}: {len(wrong)} cases differ, {len(fresh)} generated, "
                   f"{len(committed)} there {wrong[:3]}")


def print_list(made):
    runs, refusals = collections.Counter(), collections.Counter()
    for case in [c for collection in made for c in collection.cases]:
        types = {p[0] for s in [case.main, *case.referenced] for p in s.operations}
        (refusals if case.expect_failure else runs).update(types)
    for name in sorted(set(runs) | set(refusals)):
        print(f"{name:32}{runs[name]:5} run{refusals[name]:5} refused")
    print(f"{len(set(runs) | set(refusals))} operations")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    made = collections_of_all()
    count = sum(len(c.cases) for c in made)
    if arguments.list:
        print_list(made)
        return 0
    files = {f"{c.name}.jsonl.gz": (c, model.packed(c.cases)) for c in made}
    if arguments.check:
        wrong = list(differences(files))
        for line in wrong:
            print(line, file=sys.stderr)
        print(f"vectors: {count} cases in {len(files)} files, {len(wrong)} files differ")
        return 1 if wrong else 0
    for old in FOLDER.glob("*.jsonl.gz"):
        if old.name not in files:
            old.unlink()
    for name, (_, data) in files.items():
        (FOLDER / name).write_bytes(data)
    (FOLDER / "MANIFEST.json").write_text(manifest(files))
    size = sum(len(data) for _, data in files.values())
    print(f"vectors: {count} cases in {len(files)} files, {size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
