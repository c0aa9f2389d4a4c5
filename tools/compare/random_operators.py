#!/usr/bin/env python3
"""Compares Halyard with LiteRT's interpreter on random models of one operator, and prints a table.

Each case is a model of one operator with random shapes, types, quantisation and options, and random
inputs (operator_cases*.py). It runs in ai-edge-litert's interpreter, of PyPI, with each of its
three sets of kernels: reference kernels, built-in ones, and default ones. Most of the
default ones are XNNPACK's. It also runs by `halyard run`, or with --delegate in the interpreter under
Halyard's delegate. The same seed makes the same cases.

Columns of the table, in cases:
  tried     made
  taken     run by the interpreter, with one set of kernels at least
  refused   run by the interpreter and not by Halyard, with a reason
  equal     the same as one set of kernels. Floats differ by at most 1e-5 of the greatest
            magnitude. Others are equal to the bit.
  near      quantised, and at most one quantum from one set of kernels. Of float layers with 8 bit
            weights, and of FAKE_QUANT: within 0.1 of the greatest magnitude. Each set of kernels
            rounds the activations of such layers in its own way. LOGISTIC, TANH and SOFTMAX of 16
            bits: at most 64 quanta, since the interpreter computes them by tables.
  wrong     anything else

Exit status: 0, 1 when a result is wrong, 2 on misuse.
"""
import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import zlib

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType, load_delegate

import operator_cases_layers  # noqa: F401 (registers its cases)
import operator_cases_movement  # noqa: F401
import operator_cases_subgraphs  # noqa: F401
from operator_cases import CASES
from operator_models import Draw, TYPES, builtin_codes, model_bytes

SOURCE = pathlib.Path(__file__).resolve().parents[2]
KERNELS = {"reference": OpResolverType.BUILTIN_REF,
           "builtin": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
           "default": OpResolverType.AUTO}
FLOAT_LIMIT = 1e-5
ROUNDED_LIMIT = 0.1
LEAST_MAGNITUDE = 1 / 64  # differences of smaller values are as of this one
MOST_VERSIONS = 16
MOST_ATTEMPTS = 50
TABLE_LIMIT = 64  # quanta of 16 bits: half a quantum of 8 bits
TIME_LIMIT = 60  # seconds for one run of Halyard


def draw_case(name, number, seed, type_=None):
    """The case of this number; with a type, one that has it as an input or output, or None."""
    for attempt in range(MOST_ATTEMPTS):
        text = f"{name}/{number}@{seed}" + (f"/{attempt}" if attempt else "")
        case = Draw(zlib.crc32(text.encode()))
        CASES[name](case, name)
        if type_ is None or any(case.tensors[i].type == type_ for i in case.inputs + case.outputs):
            return case
    return None


def interpreted(model, case, resolver, delegates=()):
    """The interpreter's outputs; an exception when it does not take the model (bytes, or a path)."""
    source = {"model_content" if isinstance(model, bytes) else "model_path": model}
    interpreter = Interpreter(**source, num_threads=1,
                              experimental_op_resolver_type=resolver,
                              experimental_delegates=list(delegates))
    interpreter.allocate_tensors()
    for index in case.inputs:
        interpreter.set_tensor(index, case.tensors[index].value)
    interpreter.invoke()
    return [np.array(interpreter.get_tensor(index)) for index in case.outputs]


def known_versions(name, seed):
    """The versions of the operator that the interpreter has."""
    content = [model_bytes(draw_case(name, 0, seed), version)
               for version in range(1, MOST_VERSIONS)]
    found = []
    for version, model in enumerate(content, 1):
        try:
            Interpreter(model_content=model, num_threads=1,
                        experimental_op_resolver_type=KERNELS["builtin"])
            found.append(version)
        except (RuntimeError, ValueError):
            continue
    return found


def run_halyard(arguments, case, content, folder):
    """(outputs, None), or (None, the error)."""
    model = folder / "model.tflite"
    model.write_bytes(content)
    command = [str(arguments.halyard), "run", str(model), "--no-cache", "--output",
               str(folder / "out")]
    if arguments.device:
        command += ["--device", arguments.device]
    for number, index in enumerate(case.inputs):
        path = folder / f"input_{number}.npy"
        value = case.tensors[index].value
        np.save(path, value.reshape(value.shape or (1,)))
        command += ["--input", f"{number}={path}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return None, lines[-1].replace(str(model), "model").strip()
    paths = [line.split(None, 1)[1] for line in done.stdout.splitlines()
             if line.startswith("wrote")]
    return [np.load(path) for path in paths if path.endswith(".npy")], None


def run_delegate(arguments, case, content, folder):
    """As run_halyard, in the interpreter under the delegate."""
    report = folder / "report.json"
    model = folder / "model.tflite"
    model.write_bytes(content)
    options = {"claim_all": "true", "report": str(report)}
    if arguments.device:
        options["device"] = arguments.device
    delegate = load_delegate(str(arguments.delegate), options)
    try:
        outputs = interpreted(str(model), case, KERNELS["builtin"], [delegate])
    except (RuntimeError, ValueError) as error:
        return None, str(error).strip().splitlines()[0]
    for graph in json.loads(report.read_text())["graphs"]:
        for node in graph["refused"]:
            return None, node["reason"]
    return outputs, None


def difference(ours, theirs, case):
    """(0 equal, 1 near or 2 wrong; a text)."""
    # A scalar of the file has one dimension or more in Halyard.
    if ours.shape != theirs.shape and not (theirs.shape == () and ours.size == 1):
        return 2, f"shape {ours.shape}, expected {theirs.shape}"
    if ours.dtype != theirs.dtype:
        return 2, f"type {ours.dtype}, expected {theirs.dtype}"
    theirs = theirs.reshape(ours.shape)
    if np.issubdtype(theirs.dtype, np.inexact):
        finite = np.isfinite(theirs)
        if not np.array_equal(finite, np.isfinite(ours)) or not np.array_equal(
                np.nan_to_num(ours[~finite]), np.nan_to_num(theirs[~finite])):
            return 2, "not finite in other places"
        if not finite.any():
            return 0, "equal"
        values = np.abs(theirs[finite])
        most = float(np.abs(ours[finite] - theirs[finite]).max()
                     / max(float(values.max()), LEAST_MAGNITUDE))
        near = 1 if case.is_rounded and most <= ROUNDED_LIMIT else 2
        return (0 if most <= FLOAT_LIMIT else near), f"{most:.1e} of the greatest"
    most = int(np.abs(ours.astype(np.int64) - theirs.astype(np.int64)).max())
    if most == 0:
        return 0, "equal"
    is_small = theirs.dtype in (np.int8, np.uint8, np.int16)
    limit = TABLE_LIMIT if case.is_tabled else 1
    return (1 if most <= limit and is_small else 2), f"{most} from it"


def compare(ours, results, case):
    """The best verdict over the sets of kernels: ("equal", "near" or "wrong", a text)."""
    best = (3, "")
    for kernels, theirs in results.items():
        if len(ours) != len(theirs):
            return "wrong", f"{len(ours)} outputs, expected {len(theirs)}"
        worst = max((difference(a, b, case) for a, b in zip(ours, theirs)),
                    key=lambda found: found[0])
        best = min(best, (worst[0], f"{kernels}: {worst[1]}"))
    return ("equal", "near", "wrong")[best[0]], best[1]


def run_case(arguments, name, number, versions, pipe):
    """(verdict, a text) of one case. `pipe` gets ("began", ...) before Halyard computes."""
    case = draw_case(name, number, arguments.seed, arguments.type)
    if case is None:
        return "untaken", f"no case of {arguments.type}"
    version = versions[zlib.crc32(f"{name}/{number}".encode()) % len(versions)]
    content = model_bytes(case, version)
    results = {}
    for kernels, resolver in KERNELS.items():
        try:
            results[kernels] = interpreted(content, case, resolver)
        except (RuntimeError, ValueError) as error:
            reason = str(error).strip().splitlines()[0]
    if not results:
        return "untaken", reason
    outputs = next(iter(results.values()))
    if any(output.size == 0 for output in outputs):
        return "untaken", "an empty result"
    for index, output in zip(case.outputs, outputs):
        case.tensors[index].shape = list(output.shape)
    content = model_bytes(case, version)
    with tempfile.TemporaryDirectory() as folder:
        pipe.send(("began", ""))
        run = run_delegate if arguments.delegate else run_halyard
        ours, error = run(arguments, case, content, pathlib.Path(folder))
    if ours is None:
        verdict, text = "refused", error
    else:
        verdict, text = compare(ours, results, case)
    if verdict == "wrong" or (ours is None and "not supported" not in error
                              and "does not take" not in error):
        kinds = " ".join(f"{t.type}{t.shape}{'c' if t.constant else ''}" for t in case.tensors)
        text = f"{text} [{kinds}] {case.options[1].__dict__ if case.options else ''}"
        if arguments.keep:
            arguments.keep.mkdir(parents=True, exist_ok=True)
            (arguments.keep / f"{name}_{number}.tflite").write_bytes(content)
    return verdict, text


def run_cases(arguments, name, first, pipe):
    """Runs the cases of an operator from `first` on, and sends the verdict of each."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)  # the interpreter writes there
    versions = known_versions(name, arguments.seed)
    if not versions:
        pipe.send(("none", "the interpreter has no kernel for it"))
        return
    for number in range(first, arguments.cases):
        pipe.send(run_case(arguments, name, number, versions, pipe))


def results_of(arguments, name):
    """The verdicts of all cases. A crash of the interpreter ends its process, not this one."""
    results = []
    while len(results) < arguments.cases:
        ours, theirs = multiprocessing.Pipe(duplex=False)
        worker = multiprocessing.Process(target=run_cases,
                                         args=(arguments, name, len(results), theirs))
        worker.start()
        theirs.close()
        began = False
        try:
            while True:
                result = ours.recv()
                began = result[0] == "began"
                if not began:
                    results.append(result)
        except EOFError:
            worker.join()
        if results and results[-1][0] == "none":
            break
        if len(results) < arguments.cases:
            results.append(("wrong" if began else "untaken",
                            f"the process ended with {worker.exitcode}"))
    return results


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", help="default: all that have cases")
    parser.add_argument("--halyard", type=pathlib.Path,
                        default=SOURCE / "build/release/bin/halyard", help="default: %(default)s")
    parser.add_argument("--device", default="nnapi-reference",
                        help="as for halyard run; default: %(default)s")
    parser.add_argument("--delegate", type=pathlib.Path,
                        help="libhalyard_tflite_delegate.so, in place of halyard run")
    parser.add_argument("--cases", type=int, default=100,
                        help="cases of each operator; default: %(default)s")
    parser.add_argument("--seed", type=int, default=1, help="default: %(default)s")
    parser.add_argument("--type", choices=sorted(TYPES),
                        help="only cases with an input or output of this type")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the models of wrong results")
    parser.add_argument("--reasons", action="store_true",
                        help="also print why cases were refused, not taken or wrong")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.operators if name not in CASES]
    if unknown or not arguments.halyard.exists():
        parser.error(f"no cases for {unknown}" if unknown else f"no {arguments.halyard}")
    arguments.operators = [name for name in arguments.operators or sorted(CASES)
                           if draw_case(name, 0, arguments.seed, arguments.type)]
    return arguments


def main():
    arguments = parse_arguments()
    codes = builtin_codes()
    columns = ("tried", "taken", "refused", "equal", "near", "wrong")
    total = collections.Counter()
    print(f"{'operator':30}", *(f"{column:>8}" for column in columns))
    for name in arguments.operators:
        assert name in codes, name
        results = results_of(arguments, name)
        counts = collections.Counter(verdict for verdict, _ in results)
        counts["tried"] = len(results)
        counts["taken"] = counts["tried"] - counts["untaken"] - counts["none"]
        total.update(counts)
        print(f"{name:30}", *(f"{counts[column]:8}" for column in columns), flush=True)
        reasons = collections.Counter(result for result in results
                                      if result[0] not in ("equal", "near"))
        for (verdict, text), count in reasons.most_common(None if arguments.reasons else 0):
            print(f"    {count:4} {verdict}: {text}")
    print(f"{'all':30}", *(f"{total[column]:8}" for column in columns))
    return 1 if total["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
