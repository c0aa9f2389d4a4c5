#!/usr/bin/env python3
"""Runs Triton's own clients against halyard-serve, without a change to them.

    tests/serve/triton_client_test.py BUILD_FOLDER

It needs the package `tritonclient[http,grpc]` (python/environment).
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http
import tritonclient.utils.shared_memory as shm
from tritonclient.utils import InferenceServerException

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1]).resolve()
MODEL, INPUT, OUTPUT = "fashion_mnist_float", "serving_default_image:0", "StatefulPartitionedCall_1:0"
SHAPE = [1, 28, 28, 1]


class Server:
    """A server with ports of its own, and the driver for the CPU in a process of its own."""

    def __init__(self, folder, *options):
        environment = dict(os.environ, HALYARD_DRIVER_FILES=str(BUILD / "share/halyard/drivers.d/cpu.json"))
        self.process = subprocess.Popen(
            [BUILD / "bin/halyard-serve", folder, "--http-port", "0", "--grpc-port", "0", *options],
            stdout=subprocess.PIPE, text=True, env=environment)
        self.http = self.process.stdout.readline().split()[1]
        self.grpc = self.process.stdout.readline().split()[1]
        deadline = time.time() + 60
        client = triton_http.InferenceServerClient(self.http)
        while not client.is_server_ready():
            assert time.time() < deadline, "the server is not ready after a minute"
            time.sleep(0.05)

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


def each_client(server):
    yield triton_http, triton_http.InferenceServerClient(server.http, concurrency=4)
    yield triton_grpc, triton_grpc.InferenceServerClient(server.grpc)


def infer(module, client, picture, **arguments):
    tensor = module.InferInput(INPUT, list(picture.shape), "FP32")
    tensor.set_data_from_numpy(picture)
    return client.infer(MODEL, [tensor], **arguments).as_numpy(OUTPUT)


def check_documents(module, client):
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready(MODEL)
    assert not client.is_model_ready("none")
    arguments = {"as_json": True} if module is triton_grpc else {}
    assert client.get_server_metadata(**arguments)["name"] == "halyard"
    metadata = client.get_model_metadata(MODEL, **arguments)
    assert metadata["inputs"][0]["datatype"] == "FP32", metadata
    config = client.get_model_config(MODEL, **arguments)
    assert config.get("config", config)["max_batch_size"] == 4, config
    statistics = client.get_inference_statistics(MODEL, **arguments)
    assert statistics["model_stats"][0]["name"] == MODEL, statistics
    index = client.get_model_repository_index(**arguments)
    assert MODEL in str(index), index


def check_results(module, client):
    pictures = np.random.default_rng(1).random((4, *SHAPE[1:]), np.float32)
    alone = np.concatenate([infer(module, client, pictures[i:i + 1]) for i in range(4)])
    together = infer(module, client, pictures)
    np.testing.assert_allclose(alone, together, atol=1e-5)
    output = module.InferRequestedOutput(OUTPUT, class_count=2)
    classes = infer(module, client, pictures[:1], outputs=[output])
    assert int(classes[0][0].split(b":")[1]) == alone[0].argmax(), classes


def check_errors(module, client):
    for shape, text in (([1, 3], "the shape is [1,3], expected [-1,28,28,1]"), ([9, 28, 28, 1], "a batch of 9")):
        try:
            infer(module, client, np.zeros(shape, np.float32))
            raise AssertionError("no error")
        except InferenceServerException as error:
            assert text in str(error), error


def check_repository(module, client):
    client.unload_model(MODEL)
    assert not client.is_model_ready(MODEL)
    client.load_model(MODEL)
    assert client.is_model_ready(MODEL)


def check_shared_memory(module, client):
    picture = np.random.default_rng(2).random(SHAPE, np.float32)
    expected = infer(module, client, picture)
    region = shm.create_shared_memory_region("region", f"/halyard_test_{os.getpid()}", picture.nbytes + 40)
    try:
        shm.set_shared_memory_region(region, [picture])
        client.register_system_shared_memory("region", f"/halyard_test_{os.getpid()}", picture.nbytes + 40)
        tensor = module.InferInput(INPUT, SHAPE, "FP32")
        tensor.set_shared_memory("region", picture.nbytes)
        output = module.InferRequestedOutput(OUTPUT)
        output.set_shared_memory("region", 40, offset=picture.nbytes)
        client.infer(MODEL, [tensor], outputs=[output])
        found = shm.get_contents_as_numpy(region, np.float32, [1, 10], offset=picture.nbytes)
        np.testing.assert_array_equal(found, expected)
        client.unregister_system_shared_memory("region")
    finally:
        shm.destroy_shared_memory_region(region)


def check_driver_death(server, file):
    """Kills the driver again and again; every request gets its right answer. The model's file has
    gone meanwhile."""
    file.unlink()
    client = triton_grpc.InferenceServerClient(server.grpc)
    pictures = np.random.default_rng(3).random((8, *SHAPE), np.float32)
    expected = [infer(triton_grpc, client, each) for each in pictures]
    faults, answers, end = [], [0], threading.Event()

    def work(start):
        own = triton_grpc.InferenceServerClient(server.grpc)
        i = start
        while not end.is_set():
            try:
                np.testing.assert_allclose(infer(triton_grpc, own, pictures[i % 8]), expected[i % 8], atol=1e-5)
                answers[0] += 1
            except Exception as error:  # pylint: disable=broad-except
                faults.append(error)
            i += 1

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            time.sleep(0.3)
            os.kill(server.driver(), signal.SIGKILL)
        time.sleep(0.5)
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert not faults, faults[:3]
    print(f"driver killed 5 times: {answers[0]} answers, 0 failures")


def main():
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ROOT / f"models/{MODEL}.tflite", folder)
        server = Server(folder, "--max-batch", "4", "--model-control", "explicit", "--shared-memory",
                        "--device", "cpu")
        for module, client in each_client(server):
            for check in (check_documents, check_results, check_errors, check_repository, check_shared_memory):
                check(module, client)
                print(f"{module.__name__} {check.__name__}: passed")
        check_driver_death(server, pathlib.Path(folder) / f"{MODEL}.tflite")
        server.end()


if __name__ == "__main__":
    main()
