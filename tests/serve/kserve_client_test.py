#!/usr/bin/env python3
"""Runs KServe's own clients against halyard-serve, without a change to them.

    tests/serve/kserve_client_test.py BUILD_FOLDER

It needs the package `kserve`.
"""
import asyncio
import pathlib
import shutil
import sys
import tempfile

import httpx
import numpy as np
from grpc.aio import AioRpcError
from halyard_server import INPUT, MODEL, OUTPUT, ROOT, SHAPE, Server
from kserve import InferenceGRPCClient, InferenceRESTClient, InferInput, InferRequest
from kserve.inference_client import RESTConfig

BUILD = pathlib.Path(sys.argv[1]).resolve()


def request_of(picture, binary, model=MODEL):
    tensor = InferInput(INPUT, list(picture.shape), "FP32")
    tensor.set_data_from_numpy(picture, binary_data=binary)
    return InferRequest(model_name=model, infer_inputs=[tensor], request_id="7")


async def check_rest(server, pictures):
    """Returns the results of JSON, and checks those of binary tensors against them."""
    client = InferenceRESTClient(RESTConfig(protocol="v2"))
    url = f"http://{server.http}"
    assert await client.is_server_live(url) and await client.is_server_ready(url)
    assert await client.is_model_ready(url, MODEL)
    assert not await client.is_model_ready(url, "none")
    results = []
    for binary in (False, True):
        answers = [await client.infer(url, request_of(each, binary), model_name=MODEL) for each in pictures]
        assert all(each.id == "7" and each.model_name == MODEL for each in answers)
        results.append([each.outputs[0].as_numpy() for each in answers])
        assert answers[0].outputs[0].name == OUTPUT
    np.testing.assert_allclose(results[0], results[1], atol=1e-6)
    try:
        await client.infer(url, request_of(np.zeros((1, 3), np.float32), False), model_name=MODEL)
        raise AssertionError("no error")
    except httpx.HTTPStatusError as error:
        assert error.response.status_code == 400 and "the shape is [1,3]" in str(error), error
    await client.close()
    return results[0]


async def check_grpc(server, pictures, expected):
    async with InferenceGRPCClient(server.grpc) as client:
        assert await client.is_server_live() and await client.is_server_ready()
        assert await client.is_model_ready(MODEL)
        for binary in (False, True):
            answers = await asyncio.gather(*(client.infer(request_of(each, binary)) for each in pictures))
            np.testing.assert_allclose([each.outputs[0].as_numpy() for each in answers], expected, atol=1e-5)
        try:
            await client.infer(request_of(pictures[0], False, model="none"))
            raise AssertionError("no error")
        except AioRpcError as error:
            assert "there is no model 'none'" in error.details(), error


async def check(server):
    pictures = np.random.default_rng(1).random((6, *SHAPE), np.float32)
    expected = await check_rest(server, pictures)
    print("kserve, REST: passed")
    await check_grpc(server, pictures, expected)
    print("kserve, gRPC: passed")


def main():
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ROOT / f"models/{MODEL}.tflite", folder)
        server = Server(BUILD, folder, "--max-batch", "4", "--device", "cpu")
        asyncio.run(check(server))
        server.end()


if __name__ == "__main__":
    main()
