"""Classifies 10,000 generated pictures on the workers of a Ray cluster, each exactly once.

    python ray_batch.py FOLDER                       two simulated nodes on this machine
    python ray_batch.py FOLDER --address HEAD:6379   the nodes of a cluster that see FOLDER
    python ray_batch.py FOLDER --kill 3              three workers are killed on the way
    python ray_batch.py FOLDER --stop-after 5        ends after five parts; the next call continues
    python ray_batch.py FOLDER --plain 2             two plain processes, to see the cost of Ray

At the end it computes all pictures again in this process, and compares each result.
"""
from __future__ import annotations

import argparse
import functools
import hashlib
import multiprocessing
import os
import pathlib
import signal
import time
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

import halyard
from halyard import ray as halyard_ray
from halyard._ray_job import Job

MODEL = pathlib.Path(__file__).resolve().parents[3] / "models/fashion_mnist_int8.tflite"


def pictures(name: str, dtype: str, shape: Tuple[int, ...], killed: Optional[str], start: int,
             stop: int) -> Dict[str, Any]:
    """The generated pictures from start to stop. Picture n depends only on n."""
    if killed:
        kill_this_worker_once(pathlib.Path(killed), start)
    return {name: np.stack([picture(n, np.dtype(dtype), shape) for n in range(start, stop)])}


def picture(n: int, dtype: Any, shape: Tuple[int, ...]) -> Any:
    generator = np.random.default_rng(n)
    if dtype.kind == "f":
        return generator.random(shape, dtype)
    limits = np.iinfo(dtype)
    return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def kill_this_worker_once(folder: pathlib.Path, start: int) -> None:
    """Kills the worker if the folder has a file for this part, which is removed first."""
    try:
        (folder / str(start)).unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class Stopped(Exception):
    """The job has been ended on the way, as by a failure of the machine that started it."""


class Progress:
    """Shows the parts that are there, and keeps the time of the first new one."""

    def __init__(self, stop_after: Optional[int]) -> None:
        self.stop_after = stop_after
        self.begin = time.monotonic()
        self.first: Optional[Tuple[float, int]] = None  # its time, and the parts that are there then
        self.calls = 0

    def __call__(self, done: int, parts: int) -> None:
        now = time.monotonic()
        self.calls += 1
        if self.calls == 2:
            self.first = now, done
        print(f"\r{done} of {parts} parts, {now - self.begin:.1f} s", end="", flush=True)
        if self.stop_after is not None and done >= self.stop_after:
            raise Stopped

    def print_rate(self, rows: int, rows_per_part: int) -> None:
        if self.first is not None:
            at, done = self.first
            rate = (rows - done * rows_per_part) / (time.monotonic() - at)
            print(f"\nthe first part after {at - self.begin:.1f} s, then {rate:.0f} rows/s", end="")


def plain_process(work: Tuple[Job, bytes, Any, List[int]]) -> None:
    job, model, read, parts = work
    worker = halyard_ray.Worker(model, None)
    for part in parts:
        job.write(part, worker.outputs(read(*job.rows_of(part))))


def run_plain(job: Job, model: bytes, read: Any, processes: int) -> None:
    """The same parts in plain processes, dealt out before they start."""
    with job.opened():
        missing = job.missing()
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            pool.map(plain_process, [(job, model, read, missing[i::processes]) for i in range(processes)])


def check(job: Job, model: bytes, read: Any) -> None:
    worker = halyard_ray.Worker(model, None)
    for part, results in enumerate(job.results()):
        for name, expected in worker.outputs(read(*job.rows_of(part))).items():
            np.testing.assert_array_equal(results[name], expected, f"part {part}, output {name}")


def start_ray(address: Optional[str], device: Optional[str], workers: int) -> Any:
    """Joins the cluster, or simulates one with two nodes on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would send reports over the network
    import ray

    ray.data.DataContext.get_current().enable_progress_bars = False
    if address:
        ray.init(address=address)
        return None
    from ray.cluster_utils import Cluster

    node: Dict[str, Any] = {"num_cpus": max(1, (workers + 1) // 2), "resources": {device: 1} if device else {},
            "object_store_memory": 200 << 20}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    cluster.add_node(**node)
    ray.init(address=cluster.address, log_to_driver=False)
    return cluster


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--model", type=pathlib.Path, default=MODEL)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rows-per-part", type=int, default=250)
    parser.add_argument("--device", help="a device of the nodes, such as halyard-cpu")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--address")
    parser.add_argument("--kill", type=int, default=0)
    parser.add_argument("--stop-after", type=int)
    parser.add_argument("--plain", type=int)
    arguments = parser.parse_args()

    model = arguments.model.read_bytes()
    tensor = halyard.load(model).inputs[0]
    shape = tuple(extent or 1 for extent in tensor.shape or ())[1:]
    killed = None
    if arguments.kill:
        killed = str(arguments.folder.absolute() / "to_kill")
        pathlib.Path(killed).mkdir(parents=True, exist_ok=True)
        for part in range(arguments.kill):
            (pathlib.Path(killed) / str((2 * part + 1) * arguments.rows_per_part)).touch()
    harmless = functools.partial(pictures, tensor.name, tensor.dtype, shape, None)
    read = functools.partial(pictures, tensor.name, tensor.dtype, shape, killed)
    cluster = None if arguments.plain else start_ray(arguments.address, arguments.device, arguments.workers)

    progress = Progress(arguments.stop_after)
    try:
        if arguments.plain:
            job = Job(arguments.folder.absolute(), arguments.rows, arguments.rows_per_part,
                      hashlib.sha256(model).hexdigest())
            run_plain(job, model, read, arguments.plain)
        else:
            job = halyard_ray.run_job(read, arguments.rows, model, arguments.folder,
                                      rows_per_part=arguments.rows_per_part, device=arguments.device,
                                      workers=(arguments.workers, arguments.workers),
                                      progress=progress)
            progress.print_rate(arguments.rows, arguments.rows_per_part)
    except Stopped:
        print("\nstopped; call again to continue")
        return
    finally:
        seconds = time.monotonic() - progress.begin
        if cluster is not None:
            import ray

            ray.shutdown()
            cluster.shutdown()
    print(f"\n{arguments.rows} rows in {seconds:.1f} s: {arguments.rows / seconds:.0f} rows/s")
    check(job, model, harmless)
    print(f"all {arguments.rows} results are there exactly once, and equal those of this process")


if __name__ == "__main__":
    main()
