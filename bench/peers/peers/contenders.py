"""Contenders: each runs one model in a process of its own, and takes commands in lines of JSON.

A contender is named RUNTIME or RUNTIME/FORM: litert, onnxruntime, openvino (reads .tflite),
openvino/onnx, halyard, halyard/in-process and halyard/one-thread. Only halyard/in-process has the
driver in the application's process. halyard/one-thread has one thread in any run.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

from peers.models import BUILD

PEERS = ("litert", "onnxruntime", "openvino", "openvino/onnx")
HALYARDS = ("halyard", "halyard/in-process")
ONE_THREAD = "halyard/one-thread"
DEVICE = "halyard-cpu"


class ContenderError(Exception):
    """The contender cannot run the model; the text gives the reason."""


class Contender:
    """A running worker. `close` ends it."""

    def __init__(self, name, command, environment=None):
        self.name = name
        self.output_offsets = ()
        self._log = open(BUILD / "workers.log", "ab")  # noqa: SIM115 (closed with the worker)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
            env={**os.environ, **(environment or {})}, cwd=pathlib.Path(__file__).parents[1])

    def send(self, **command):
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # receive reports the reason

    def receive(self):
        # A library may also print to this stream.
        for line in self._process.stdout:
            if line.startswith("{"):
                answer = json.loads(line)
                if "error" in answer:
                    raise ContenderError(" ".join(answer["error"].split())[:300])
                return answer
        raise ContenderError(f"its process ended with {self._process.wait()}")

    def ask(self, **command):
        self.send(**command)
        return self.receive()

    def close(self):
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended already
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def outputs(self, folder):
        """The outputs in TFLite's layout and order."""
        files = self.ask(do="output", folder=str(folder))["files"]
        values = [np.load(file) for file in files]
        offsets = self.output_offsets or (0,) * len(values)
        return [(value.astype(np.int16) - offset).astype(np.int8) if offset else value
                for value, offset in zip(values, offsets)]


class HalyardBuild:
    """A build folder of Halyard: its worker, its driver and their manifests. SystemExit unless the
    worker and the programs of `needed` are there."""

    def __init__(self, folder, needed=()):
        self.folder = folder.resolve()
        self.worker = self.program("halyard_worker")
        for name in needed:
            self.program(name)
        self._manifests = BUILD / "manifests"
        self._manifests.mkdir(parents=True, exist_ok=True)

    def program(self, name):
        path = self.folder / "bin" / name
        if not path.exists():
            raise SystemExit(f"{path} is not there: build the target {name} first")
        return path

    def manifest(self, threads=None, in_process=False):
        """The path of a manifest for the CPU driver with so many threads (None: its default)."""
        content = {"name": DEVICE, "version": "bench", "hal_version": "1.3"}
        if in_process:
            library = self.folder / "drivers" / "libhalyard-driver-cpu-library.so"
            content["library"] = str(library)
        else:
            content["executable"] = str(self.folder / "bin" / "halyard-driver-cpu")
            if threads is not None:
                content["arguments"] = [f"--threads={threads}"]
        path = self._manifests / f"{'library' if in_process else f'process_{threads}'}.json"
        text = json.dumps(content)
        # Another process may read the file at this moment.
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        return path

    @contextlib.contextmanager
    def service(self, threads=None):
        """The CPU driver as a service of all clients; (manifest, process id)."""
        with tempfile.TemporaryDirectory() as folder:
            socket = pathlib.Path(folder) / "cpu.socket"
            arguments = [] if threads is None else [f"--threads={threads}"]
            with open(BUILD / "workers.log", "ab") as log:
                process = subprocess.Popen([self.folder / "bin" / "halyard-driver-cpu", "--listen",
                                            socket, *arguments], stdout=log, stderr=log)
            try:
                manifest = pathlib.Path(folder) / "service.json"
                manifest.write_text(json.dumps({"name": DEVICE, "version": "bench",
                                                "hal_version": "1.3", "socket": str(socket)}))
                deadline = time.monotonic() + 10
                while not socket.exists():
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise SystemExit("the driver does not start as a service: see workers.log")
                    time.sleep(0.01)
                yield manifest, process.pid
            finally:
                process.terminate()
                process.wait()

    def start(self, model, inputs, threads=None, in_process=False, manifest=None):
        # The driver keeps its files here, not among the user's.
        files = manifest or self.manifest(threads, in_process)
        environment = {"HALYARD_DRIVER_FILES": str(files),
                       "XDG_CACHE_HOME": str(BUILD / "cache")}
        if in_process and threads is not None:
            environment["HALYARD_CPU_THREADS"] = str(threads)
        name = HALYARDS[1] if in_process else HALYARDS[0]
        command = [str(self.worker), str(model.tflite), DEVICE, *map(str, inputs.raw)]
        return Contender(name, command, environment)


def start(name, model, inputs, threads, build):
    """A contender before it loads its model. ContenderError when it has no form of the model."""
    if name in HALYARDS:
        return build.start(model, inputs, threads, in_process=name == HALYARDS[1])
    if name == ONE_THREAD:
        contender = build.start(model, inputs, threads=1)
        contender.name = name
        return contender
    runtime, _, form = name.partition("/")
    takes_onnx = runtime == "onnxruntime" or form == "onnx"
    if takes_onnx and model.onnx is None:
        raise ContenderError(f"no ONNX form: {model.why_not}")
    path = model.onnx if takes_onnx else model.tflite
    files = inputs.onnx if takes_onnx else inputs.tflite
    command = [sys.executable, "-m", "peers.peer_worker", runtime, str(path), str(threads),
               *map(str, files)]
    contender = Contender(name, command)
    if takes_onnx:
        contender.output_offsets = model.output_offsets
    return contender


class Inputs:
    """The same random inputs in the forms that the contenders read: `tflite` and `onnx` (.npy),
    `raw` (bytes)."""

    def __init__(self, model, folder, seed=1):
        from ai_edge_litert.interpreter import Interpreter

        generator = np.random.default_rng(seed)
        self.tflite, self.onnx, self.raw = [], [], []
        details = Interpreter(model_path=str(model.tflite)).get_input_details()
        for i, detail in enumerate(details):
            shape, dtype = detail["shape"], detail["dtype"]
            if np.issubdtype(dtype, np.floating):
                value = generator.uniform(-1, 1, shape).astype(dtype)
            else:
                limits = np.iinfo(dtype)
                value = generator.integers(limits.min, limits.max + 1, shape).astype(dtype)
            offset = model.input_offsets[i] if model.input_offsets else 0
            moved = (value.astype(np.int16) + offset).astype(np.uint8) if offset else value
            self.tflite.append(folder / f"{i}_tflite.npy")
            self.onnx.append(folder / f"{i}_onnx.npy")
            self.raw.append(folder / f"{i}.raw")
            np.save(self.tflite[-1], value)
            np.save(self.onnx[-1], moved)
            value.tofile(self.raw[-1])
