"""Runs Halyard and the other runtimes on the same models, in turns, and prints a comparison."""

import argparse
import json
import pathlib
import platform
import shutil
import sys
import tempfile
from importlib.metadata import version

from peers import accuracy, conformance, contenders, goals, measure, models, report

PACKAGES = ("ai-edge-litert", "onnxruntime", "openvino")
# Parallel clients run with one model of each kind.
THROUGHPUT_MODELS = ("mobilenet_v1_float", "mobilenet_v2_uint8", "kws_ref_int8")


def parse_arguments():
    parser = argparse.ArgumentParser(prog="bench/peers/run", description=__doc__)
    parser.add_argument("--models", nargs="+", metavar="NAME", default=models.names(),
                        help="names (see --list) or .tflite files; default: all")
    parser.add_argument("--threads", default="1,2", help="numbers of threads; default: %(default)s")
    parser.add_argument("--peers", default=",".join(contenders.PEERS),
                        help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=0.6,
                        help="measuring time of each contender; default: %(default)s")
    parser.add_argument("--only", default="latency,load,throughput,accuracy,conformance",
                        type=lambda text: text.split(","), metavar="PARTS",
                        help="what to measure; default: %(default)s")
    parser.add_argument("--build", type=pathlib.Path, default=models.SOURCE / "build" / "release",
                        help="Halyard's build folder; default: build/release")
    parser.add_argument("--json", type=pathlib.Path, help="write all results there")
    parser.add_argument("--check", action="store_true",
                        help="exit with 1 unless every goal is measured and holds")
    parser.add_argument("--list", action="store_true", help="list the models and exit")
    return parser.parse_args()


def measure_model(model, arguments, build, folder):
    inputs = contenders.Inputs(model, folder)
    threads = [int(text) for text in arguments.threads.split(",")]
    names = [*arguments.peers.split(","), *contenders.HALYARDS]
    entry = {"name": model.name, "kind": model.kind, "threads": {}}
    parts = arguments.only
    if "latency" in parts:
        for count in threads:
            contestants = [name for name in names if name]
            if model.kind == "small" and count > 1:
                contestants.append(contenders.ONE_THREAD)
            results = measure.latency(model, inputs, contestants, count, arguments.seconds, build,
                                      folder)
            entry["threads"][count] = results
            report.print_latency(model.name, count, results)
    if "load" in parts:
        entry["load"] = measure.loading(model, inputs, max(threads), build)
    if "throughput" in parts and (model.name in THROUGHPUT_MODELS):
        entry["throughput"] = measure.throughput(model, inputs, build)
    return entry


def machine():
    text = platform.machine()
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return f"{line.split(':', 1)[1].strip()}, {text}"
    return text


def has_matrix_unit():
    """Whether the processor multiplies 8 bit tiles (AMX) and the kernel offers that."""
    with open("/proc/cpuinfo") as file:
        return any(line.startswith("flags") and " amx_int8" in line for line in file)


def main():
    arguments = parse_arguments()
    if arguments.list:
        print("\n".join(models.names()))
        return 0
    needed = [conformance.PROGRAM] if "conformance" in arguments.only else []
    build = contenders.HalyardBuild(arguments.build, needed)
    run = {"machine": machine(), "matrix_unit": has_matrix_unit(),
           "versions": {name: version(name) for name in PACKAGES}, "models": [], "missing": []}
    report.print_head(run)
    for name in arguments.models:
        model = models.find(name)
        if model is None:
            run["missing"].append(name)
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix="halyard_peers_"))
        try:
            run["models"].append(measure_model(model, arguments, build, folder))
        finally:
            shutil.rmtree(folder)
    if "accuracy" in arguments.only:
        run["accuracy"] = accuracy.measure(build)
    if "conformance" in arguments.only:
        run["conformance"] = conformance.measure(build)
    run["failures"] = goals.failures(run)
    if arguments.check:
        run["failures"] += goals.unmeasured(run, models.names())
    report.print_tail(run)
    if arguments.json:
        arguments.json.write_text(json.dumps(run, indent=1))
    return 1 if arguments.check and run["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
