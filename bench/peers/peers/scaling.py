"""Measures how time and memory of Halyard grow, beside LiteRT where it can do the same.

    threads   the time of an execution with 1 to all threads
    batch     the time of an execution of 1 to 32 elements
    clients   1 to 64 clients of one service
    size      full connections of 0.1 to 100 million weights: time, and memory of all processes

Clients are measured twice. In closed loops, each client computes again at once. Then executions
arrive at random times, at a share of that rate.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import statistics
import tempfile
import time

from peers import charts, contenders, measure, models, tflite_writer
from peers.main import machine

PARTS = ("threads", "batch", "clients", "size")
BATCHES = (1, 2, 4, 8, 16, 32)
CLIENTS = (1, 2, 4, 8, 16, 32, 64)
WEIGHTS = (100_000, 1_000_000, 10_000_000, 100_000_000)
LOAD = 0.7  # of the rate of closed loops, for arrivals
BOTH = ("halyard", "litert")


def parse_arguments():
    parser = argparse.ArgumentParser(prog="bench/scaling", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS), help="parts; default: %(default)s")
    parser.add_argument("--models", nargs="+", metavar="NAME",
                        default=["mobilenet_v1_float", "mobilenet_v1_int8"])
    parser.add_argument("--client-model", default="mobilenet_v1_0.25_224_float", metavar="NAME")
    parser.add_argument("--seconds", type=float, default=2, help="of a point; default: %(default)s")
    parser.add_argument("--build", type=pathlib.Path, default=models.SOURCE / "build" / "release")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures there")
    parser.add_argument("--charts", type=pathlib.Path, help="draw them into this folder, as SVG")
    return parser.parse_args()


def median_ms(worker, seconds):
    return statistics.median(worker.ask(do="run", seconds=seconds, warm=seconds / 10)["us"]) / 1e3


def start_both(stack, model, inputs, threads, build):
    return {name: stack.enter_context(contenders.start(name, model, inputs, threads, build))
            for name in BOTH}


def threads(model, inputs, arguments, build):
    points = []
    for count in range(1, os.cpu_count() + 1):
        with contextlib.ExitStack() as stack:
            workers = start_both(stack, model, inputs, count, build)
            for worker in workers.values():
                worker.ask(do="load")
            medians = measure.rounds(list(workers.values()), arguments.seconds)
        points.append({"threads": count,
                       **{name: statistics.median(medians[name]) for name in BOTH}})
    return points


def batch(model, inputs, arguments, build):
    """A runtime that does not take a batch has no figure for it."""
    points = []
    for size in BATCHES:
        with contextlib.ExitStack() as stack:
            running = []
            for name, worker in start_both(stack, model, inputs, os.cpu_count(), build).items():
                try:
                    worker.ask(do="load", batch=size)
                    running.append(worker)
                except contenders.ContenderError as error:
                    print(f"{name}, {model.name}, batch of {size}: {error}")
            medians = measure.rounds(running, arguments.seconds)
        points.append({"batch": size, **{name: statistics.median(medians[name])
                                         if name in medians else None for name in BOTH}})
    return points


def resident_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


def arrivals(rate, seconds, generator):
    """Times of a Poisson process."""
    at, times = 0.0, []
    while (at := at + generator.expovariate(rate)) < seconds:
        times.append(at)
    return times


def clients(model, inputs, arguments, build):
    points = []
    generator = random.Random(1)
    with build.service() as (manifest, pid), contextlib.ExitStack() as stack:
        workers = []
        for count in CLIENTS:
            while len(workers) < count:
                workers.append(stack.enter_context(build.start(model, inputs, manifest=manifest)))
                workers[-1].ask(do="load")
            rate, slowest = closed_loop(workers, arguments.seconds)
            point = {"clients": count, "per_second": rate, "memory_kib": resident_kib(pid),
                     "slowest_ms": slowest}
            times = open_loop(workers, LOAD * rate, arguments.seconds, generator)
            point["p50_ms"], point["p99_ms"] = percentile(times, 50), percentile(times, 99)
            points.append(point)
    return points


def closed_loop(workers, seconds):
    """Executions per second of all, and the p99 of their times in ms."""
    for worker in workers:
        worker.send(do="run", seconds=seconds, warm=0.2)
    answers = [worker.receive()["us"] for worker in workers]
    rate = sum(len(times) / (sum(times) / 1e6) for times in answers)
    return rate, percentile([t for times in answers for t in times], 99)


def open_loop(workers, rate, seconds, generator):
    """The times in us of executions that arrive at the rate, at random clients."""
    start = time.monotonic() + 0.2
    for worker in workers:
        worker.send(do="arrive", start=start,
                    at=arrivals(rate / len(workers), seconds, generator))
    return [t for worker in workers for t in worker.receive()["us"]]


def percentile(times, share):
    """In ms, of times in us."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)] / 1e3 if ordered else 0.0


def connections(weights):
    """A model of full connections with so many weights."""
    writer = tflite_writer.TfliteWriter()
    width = int((weights / 4) ** 0.5)
    x = writer.input((1, width))
    for _ in range(4):
        x = writer.fully_connected(x, width, tflite_writer.RELU)
    return writer.finish([x], f"4 full connections, {weights} weights")


def size(arguments, build, folder):
    points = []
    for weights in WEIGHTS:
        path = folder / f"connections_{weights}.tflite"
        path.write_bytes(connections(weights))
        model = models.PeerModel(path.stem, "other", path)
        inputs = contenders.Inputs(model, folder)
        results = measure.latency(model, inputs, BOTH, os.cpu_count(), arguments.seconds, build,
                                  folder)
        path.unlink()
        points.append({"weights": weights, **{
            f"{name}_{what}": results[name][key] for name in BOTH
            for what, key in (("ms", "ms"), ("kib", "memory_kib"))}})
    return points


def show(title, points):
    print(f"\n{title}")
    names = list(points[0])
    print("  ".join(f"{name:>12}" for name in names))
    for point in points:
        print("  ".join(f"{'-':>12}" if point[name] is None else f"{point[name]:12.4g}"
                        for name in names))


def main():
    arguments = parse_arguments()
    build = contenders.HalyardBuild(arguments.build)
    run = {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "parts": []}
    print(run["machine"])
    with tempfile.TemporaryDirectory(prefix="halyard_scaling_") as path:
        folder = pathlib.Path(path)
        for part in arguments.only.split(","):
            names = [arguments.client_model] if part == "clients" else arguments.models
            for name in [None] if part == "size" else names:
                if part == "size":
                    points = size(arguments, build, folder)
                else:
                    model = models.find(name)
                    inputs = contenders.Inputs(model, folder)
                    points = globals()[part](model, inputs, arguments, build)
                title = part if name is None else f"{part}: {name}"
                show(title, points)
                run["parts"].append({"part": part, "model": name, "points": points})
    if arguments.json:
        arguments.json.write_text(json.dumps(run, indent=1))
    if arguments.charts:
        charts.draw(run, arguments.charts)


if __name__ == "__main__":
    main()
