#!/usr/bin/env python3
"""Runs models under the delegate and beside it, and prints a table.

    delegate_table.py [--build FOLDER] [--threads N] [--json F] [MODEL.tflite]...

Columns: the interpreter's own kernels (XNNPACK), the delegate on halyard-cpu, and the delegate on
two devices that divide the model. Both are the reference driver; the faster one takes CONV_2D,
DEPTHWISE_CONV_2D and FULLY_CONNECTED only. Nodes are those that the delegate takes, and the number
of devices that compute them follows. A distance is the largest over random inputs. It
is in quanta of 8-bit outputs, and a share of the range of float outputs (of a single value: of it).
Latencies are medians of turns of one process for each column. Ratios are medians of the ratios
within a turn.

It needs the packages of requirements.txt. Without models it runs those of ../shared/models.
Exit status: 0, or 1 if a model fails.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SAMPLES = 5  # random inputs of each model
TURNS = 15
TURN_SECONDS = 0.05


def make_interpreter(path, delegate, report, threads):
    from ai_edge_litert.interpreter import Interpreter, load_delegate

    delegates = []
    if delegate:
        options = {"report": report, "claim_all": "true"}
        delegates = [load_delegate(delegate, options)]
    interpreter = Interpreter(path, experimental_delegates=delegates, num_threads=threads)
    interpreter.allocate_tensors()
    return interpreter


def random_input(detail, generator):
    shape, dtype = detail["shape"], detail["dtype"]
    if np.issubdtype(dtype, np.floating):
        return generator.uniform(-1, 1, shape).astype(dtype)
    if dtype == np.bool_:
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype in (np.int32, np.int64):
        return generator.integers(0, 2, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max + 1, shape).astype(dtype)


def worker(path, delegate, report, output, threads):
    """Computes the samples, and then a turn for each line on stdin."""
    interpreter = make_interpreter(path, delegate, report, threads)
    generator = np.random.default_rng(1)
    results = []
    for _ in range(SAMPLES):
        interpreter.reset_all_variables()
        for detail in interpreter.get_input_details():
            interpreter.set_tensor(detail["index"], random_input(detail, generator))
        interpreter.invoke()
        results.append([interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()])
    arrays = {f"{i}_{o}": value for i, sample in enumerate(results) for o, value in enumerate(sample)}
    np.savez(output, **arrays)
    print("ready", flush=True)
    for _ in sys.stdin:
        times = []
        end = time.perf_counter() + TURN_SECONDS
        interpreter.invoke()
        while len(times) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            interpreter.invoke()
            times.append(time.perf_counter() - start)
        print(statistics.median(times), flush=True)


class Contender:
    """A process that computes one model in one way."""

    def __init__(self, name, path, delegate, files, folder, threads):
        self.name = name
        self.delegated = bool(delegate)
        self.report = str(folder / f"{name}.json")
        self.output = folder / f"{name}.npz"
        environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")
        if files:
            environment["HALYARD_DRIVER_FILES"] = ":".join(str(file) for file in files)
        command = [sys.executable, __file__, "--worker", path, delegate or "", self.report,
                   str(self.output), str(threads)]
        self.errors = open(folder / f"{name}.err", "w+")
        self.process = subprocess.Popen(command, env=environment, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors)
        self.works = self.process.stdout.readline().strip() == "ready"
        self.times = []

    def failure(self):
        self.errors.seek(0)
        lines = [line for line in self.errors.read().splitlines() if line.strip()]
        return lines[-1] if lines else "no error text"

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.times.append(float(self.process.stdout.readline()))

    def nodes(self):
        """Taken nodes, all nodes, devices that compute, and reasons of the others."""
        with open(self.report) as file:
            document = json.load(file)
        taken = total = 0
        reasons, devices = [], set()
        for graph in document["graphs"]:
            here = sum(len(partition["nodes"]) for partition in graph["partitions"])
            taken += here
            total += here + len(graph["refused"])
            reasons += [f"{r['operator']}: {r['reason']}" for r in graph["refused"]]
            for compilation in graph["compilations"]:
                for part in (compilation["report"] or {}).get("partitions", []):
                    devices.add(part["device"])
        return taken, total, sorted(devices), reasons

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.errors.close()


def distance(path, expected, found):
    """(quanta, share of the range) of the outputs that differ most."""
    from ai_edge_litert.interpreter import Interpreter

    details = Interpreter(path).get_output_details()
    quanta = share = 0.0
    with np.load(expected) as right, np.load(found) as other:
        for name in right.files:
            a, b = right[name], other[name]
            if a.shape != b.shape:
                return float("inf"), float("inf")
            detail = details[int(name.split("_")[1])]
            if a.size == 0:
                continue
            if detail["quantization_parameters"]["scales"].size:
                quanta = max(quanta, np.abs(a.astype(np.int64) - b.astype(np.int64)).max())
            elif np.issubdtype(a.dtype, np.floating):
                extent = float(a.max() - a.min()) or float(np.abs(a).max()) or 1.0
                share = max(share, float(np.abs(a - b).max()) / extent)
            elif not np.array_equal(a, b):
                quanta = float("inf")
    return quanta, share


def dividing_drivers(build, folder):
    """The manifests of two drivers, of which the faster one takes only some operations."""
    with open(build / "share/halyard/drivers.d/reference.json") as file:
        executable = json.load(file)["executable"]
    executable = os.path.normpath(build / "share/halyard/drivers.d" / executable)
    matrix = ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"]
    manifests = []
    for name, seconds, supports in (("matrix", 0.2, {"operations": matrix}), ("other", 0.3, {})):
        performance = {"exec_time": seconds, "power_usage": 1.0}
        types = ["FLOAT32", "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM", "TENSOR_QUANT8_ASYMM_SIGNED"]
        personality = {"name": f"table-{name}", "version": "1", "type": "CPU", "feature_level": 6,
                       "capabilities": {"default": performance, "relaxed_scalar": performance,
                                        "relaxed_tensor": performance, "if": performance,
                                        "while": performance,
                                        "operand_types": {type: performance for type in types}}}
        if supports:
            personality["supports"] = supports
        (folder / f"{name}.personality").write_text(json.dumps(personality))
        manifest = {"name": f"table-{name}", "version": "1", "hal_version": "1.3",
                    "executable": executable,
                    "arguments": ["--personality", f"${{manifest_dir}}/{name}.personality"]}
        manifests.append(folder / f"{name}.json")
        manifests[-1].write_text(json.dumps(manifest))
    return manifests


def compare(path, build, threads):
    """A row of the table, as a dictionary."""
    library = str(build / "lib/libhalyard_tflite_delegate.so")
    row = {"model": pathlib.Path(path).stem}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        ways = [("interpreter", None, None),
                ("cpu", library, [build / "share/halyard/drivers.d/cpu.json"]),
                ("divided", library, dividing_drivers(build, folder))]
        contenders = [Contender(way, path, delegate, files, folder, threads)
                      for way, delegate, files in ways]
        for contender in contenders:
            if not contender.works:
                row[contender.name] = {"failure": contender.failure()}
        working = [c for c in contenders if c.works]
        for _ in range(TURNS):
            for contender in working:
                contender.turn()
        base = contenders[0]
        for contender in working:
            cell = {"ms": 1e3 * statistics.median(contender.times)}
            if contender.delegated and base.works:
                cell["ratio"] = statistics.median(
                    own / other for own, other in zip(contender.times, base.times))
                cell["quanta"], cell["share"] = distance(path, base.output, contender.output)
            row[contender.name] = cell
        for contender in contenders:
            contender.close()
        for contender in working:
            if contender.delegated:
                taken, total, devices, reasons = contender.nodes()
                row[contender.name].update(nodes=f"{taken}/{total}", devices=devices,
                                           reasons=sorted(set(reasons)))
    return row


def text_of(cell):
    if "failure" in cell:
        return "fails"
    text = f"{cell['ms']:.3g} ms"
    if "ratio" in cell:
        text = f"{cell['nodes']} nodes on {len(cell['devices'])}, {cell['quanta']:.0f} quanta, " \
               f"{cell['share']:.0e}, {text}, {cell['ratio']:.2f}"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--build", default=str(SOURCE / "build/release"), type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    models = arguments.models or sorted(map(str, (SOURCE / "../shared/models").glob("*.tflite")))
    if not models:
        parser.error("no model is named, and ../shared/models does not exist")
    rows = []
    print("| model | interpreter | delegate on halyard-cpu | delegate on divided devices |")
    print("|---|---|---|---|")
    for path in models:
        row = compare(path, arguments.build.resolve(), arguments.threads)
        rows.append(row)
        cells = [text_of(row[name]) for name in ("interpreter", "cpu", "divided")]
        print(f"| {row['model']} | " + " | ".join(cells) + " |", flush=True)
    for row in rows:
        for name in ("interpreter", "cpu", "divided"):
            if "failure" in row[name]:
                print(f"{row['model']}, {name}: {row[name]['failure']}")
            for reason in row[name].get("reasons", []):
                print(f"{row['model']}, {name}: {reason}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(rows, indent=1) + "\n")
    failed = any("failure" in row[name] for row in rows if "failure" not in row["interpreter"]
                 for name in ("cpu", "divided"))
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--worker":
        worker(*sys.argv[2:6], threads=int(sys.argv[6]))
    else:
        sys.exit(main())
