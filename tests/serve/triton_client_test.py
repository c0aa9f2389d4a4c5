#!/usr/bin/env python3
"""Runs Triton's own clients against halyard-serve, without a change to them.

    tests/serve/triton_client_test.py BUILD_FOLDER

It needs the package `tritonclient[http,grpc]` (python/environment).
"""
import asyncio
import os
import pathlib
import queue
import shutil
import signal
import sys
import tempfile
import threading
import time

import numpy as np
import tritonclient.grpc as triton_grpc
import tritonclient.grpc.aio as triton_grpc_aio
import tritonclient.http as triton_http
import tritonclient.http.aio as triton_http_aio
import tritonclient.utils.shared_memory as shm
from halyard_server import INPUT, MODEL, OUTPUT, ROOT, SHAPE, Server
from tritonclient.utils import InferenceServerException

BUILD = pathlib.Path(sys.argv[1]).resolve()


def each_client(server):
    yield triton_http, triton_http.InferenceServerClient(server.http, concurrency=4)
    yield triton_grpc, triton_grpc.InferenceServerClient(server.grpc)


def tensor_of(module, picture):
    tensor = module.InferInput(INPUT, list(picture.shape), "FP32")
    tensor.set_data_from_numpy(picture)
    return tensor


def infer(module, client, picture, **arguments):
    return client.infer(MODEL, [tensor_of(module, picture)], **arguments).as_numpy(OUTPUT)


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


def check_asynchronous(module, client):
    """The call that returns before its answer, and the clients for asyncio."""
    pictures = np.random.default_rng(4).random((8, *SHAPE), np.float32)
    expected = [infer(module, client, each) for each in pictures]
    if module is triton_http:
        calls = [client.async_infer(MODEL, [tensor_of(module, each)]) for each in pictures]
        found = [call.get_result() for call in calls]
    else:
        answers = queue.Queue()
        for i, each in enumerate(pictures):
            client.async_infer(MODEL, [tensor_of(module, each)], request_id=str(i),
                               callback=lambda result, error: answers.put(error or result))
        found = sorted((answers.get(timeout=60) for _ in pictures), key=lambda each: int(each.get_response().id))
    for result, right in zip(found, expected):
        np.testing.assert_allclose(result.as_numpy(OUTPUT), right, atol=1e-5)


def check_stream(server):
    """Several requests of a stream are in flight. The answers have their order, and an error does not end it."""
    client = triton_grpc.InferenceServerClient(server.grpc)
    pictures = np.random.default_rng(5).random((40, *SHAPE), np.float32)
    answers = queue.Queue()
    client.start_stream(callback=lambda result, error: answers.put((result, error)))
    for i, each in enumerate(pictures):
        client.async_stream_infer("none" if i == 7 else MODEL, [tensor_of(triton_grpc, each)], request_id=str(i))
    for i, each in enumerate(pictures):
        result, error = answers.get(timeout=60)
        if i == 7:
            assert "there is no model 'none'" in str(error), error
        else:
            assert result.get_response().id == str(i), result.get_response().id
            np.testing.assert_allclose(result.as_numpy(OUTPUT), infer(triton_grpc, client, each), atol=1e-5)
    client.stop_stream()


async def check_asyncio(server):
    pictures = np.random.default_rng(6).random((8, *SHAPE), np.float32)
    found = []
    for module, address in ((triton_http_aio, server.http), (triton_grpc_aio, server.grpc)):
        async with module.InferenceServerClient(address) as client:
            assert await client.is_model_ready(MODEL)
            results = await asyncio.gather(*(client.infer(MODEL, [tensor_of(module, each)]) for each in pictures))
            found.append([each.as_numpy(OUTPUT) for each in results])
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


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
        server = Server(BUILD, folder, "--max-batch", "4", "--model-control", "explicit", "--shared-memory",
                        "--device", "cpu")
        for module, client in each_client(server):
            for check in (check_documents, check_results, check_errors, check_repository, check_shared_memory,
                          check_asynchronous):
                check(module, client)
                print(f"{module.__name__} {check.__name__}: passed")
        check_stream(server)
        asyncio.run(check_asyncio(server))
        print("streams and asyncio: passed")
        check_driver_death(server, pathlib.Path(folder) / f"{MODEL}.tflite")
        server.end()


if __name__ == "__main__":
    main()
