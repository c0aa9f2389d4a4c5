"""Starts halyard-serve for tests of clients of other makers."""
import os
import pathlib
import signal
import subprocess
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL, INPUT, OUTPUT = "fashion_mnist_float", "serving_default_image:0", "StatefulPartitionedCall_1:0"
SHAPE = [1, 28, 28, 1]


class Server:
    """A server with ports of its own, and the driver for the CPU in a process of its own."""

    def __init__(self, build, folder, *options):
        environment = dict(os.environ, HALYARD_DRIVER_FILES=str(build / "share/halyard/drivers.d/cpu.json"))
        self.process = subprocess.Popen(
            [build / "bin/halyard-serve", folder, "--http-port", "0", "--grpc-port", "0", *options],
            stdout=subprocess.PIPE, text=True, env=environment)
        self.http = self.process.stdout.readline().split()[1]
        self.grpc = self.process.stdout.readline().split()[1]
        deadline = time.time() + 60
        while not self._is_ready():
            assert time.time() < deadline, "the server is not ready after a minute"
            time.sleep(0.05)

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"http://{self.http}/v2/health/ready") as answer:
                return answer.status == 200
        except OSError:
            return False

    def driver(self):
        """The process id of the driver. A new one may take a moment to start."""
        deadline = time.time() + 60
        while time.time() < deadline:
            children = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/children")
            try:
                for child in " ".join(each.read_text() for each in children).split():
                    if "driver" in pathlib.Path(f"/proc/{child}/cmdline").read_text():
                        return int(child)
            except FileNotFoundError:
                pass  # a thread or a driver has ended meanwhile
            time.sleep(0.02)
        raise AssertionError("the server has no driver")

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0, "the server ends with success"
