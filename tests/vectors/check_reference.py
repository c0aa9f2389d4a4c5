#!/usr/bin/env python3
"""Runs the reference interpreter over files of cases, and compares with their expected results.

    check_reference.py PATH...     files NAME.jsonl.gz, or folders that are searched for them

So the cases of other projects test the interpreter itself.
"""
import argparse
import collections
import pathlib
import sys

import numpy as np

from reference import model
from reference.interpreter import Interpreter
from reference.operand import FLOATS, Refused
from reference.signature import required_version


def uses_float16(case):
    return any(o.type in ("TENSOR_FLOAT16", "FLOAT16")
               for s in [case.main, *case.referenced] for o in s.operands)


def difference(operand, actual, coarse):
    """A text of the value's error, or None."""
    expected = operand.value
    if actual.shape != expected.shape:
        return f"shape {actual.shape}, expected {expected.shape}"
    if operand.type in FLOATS:
        small = coarse or operand.type.endswith("16")
        absolute, relative = (5 * 2**-10,) * 2 if small else (1e-5, 5 * 2**-23)
        e, a = expected.astype(np.float64), actual.astype(np.float64)
        with np.errstate(invalid="ignore"):
            good = (np.abs(a - e) <= absolute + relative * np.abs(e)) | (a == e)
        good |= np.isnan(a) & np.isnan(e)
    else:
        e, a = expected.astype(np.int64), actual.astype(np.int64)
        good = np.abs(a - e) <= (1 if operand.quantised else 0)
    if good.all():
        return None
    first = tuple(int(i[0]) for i in np.nonzero(~good))
    return (f"{(~good).sum()} of {good.size} elements; first at {first}: "
            f"{actual[first]}, expected {expected[first]}")


def multinomial_difference(case, actual):
    tensor = case.main.operands[case.main.inputs[0]].real()
    for row, logits in enumerate(tensor):
        p = np.exp(logits - logits.max())
        seen = np.bincount(actual[row], minlength=len(logits)) / actual.shape[1]
        if (np.abs(seen - p / p.sum()) > case.multinomial_tolerance).any():
            return f"frequencies of row {row}"
    return None


def run_case(case):
    """A text of the case's error, or None."""
    try:
        required_version(case)
        actual = Interpreter(case).run()
    except Refused as refusal:
        return None if case.expect_failure else f"refused: {refusal}"
    if case.expect_failure:
        return "ran, but has to be refused"
    if case.multinomial_tolerance:
        return multinomial_difference(case, actual[0])
    for place, (index, value) in enumerate(zip(case.main.outputs, actual)):
        operand = case.main.operands[index]
        if not operand.ignored:
            wrong = difference(operand, value, case.relaxed or uses_float16(case))
            if wrong:
                return f"output {place}: {wrong}"
    return None


def may_end_with_defaults(case):
    """The version in a file may be that of the model without trailing defaults."""
    for _, inputs, _ in case.main.operations:
        last = case.main.operands[inputs[-1]]
        if last.lifetime == "CONSTANT_COPY" and last.type in ("BOOL", "INT32"):
            if last.scalar() in ((0,) if last.type == "BOOL" else (1, -1)):
                return True
    return False


def version_difference(case):
    if case.hal is None or case.expect_failure or may_end_with_defaults(case):
        return None
    needed = required_version(case)
    return None if needed == case.hal else f"needs {needed}, the file says {case.hal}"


def files_below(path):
    path = pathlib.Path(path)
    return sorted(path.rglob("*.jsonl.gz")) if path.is_dir() else [path]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--versions", action="store_true",
                        help="report as well where the stated HAL version is another")
    arguments = parser.parse_args()
    counts = collections.Counter()
    for file in [f for p in arguments.paths for f in files_below(p)]:
        for case in model.read_cases(file):
            wrong = run_case(case)
            counts["failed" if wrong else "passed"] += 1
            if wrong:
                print(f"{file.name}: {case.name}: {wrong}")
            elif arguments.versions and (wrong := version_difference(case)):
                counts["other version"] += 1
                print(f"{file.name}: {case.name}: {wrong}")
    print(", ".join(f"{counts[k]} {k}" for k in ("passed", "failed", "other version")))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
