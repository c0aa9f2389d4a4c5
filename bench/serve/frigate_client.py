"""Sends pictures to a ZMQ detector as Frigate does: one request at a time, by the specification.

    python frigate_client.py ENDPOINT MODEL SIZE SECONDS

It prints a line of JSON.
"""
import json
import sys
import time

import numpy as np
import zmq

REQUEST_TIMEOUT, MODEL_TIMEOUT = 200, 30_000  # in milliseconds, Frigate's


def main():
    endpoint, model, size, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    socket = zmq.Context().socket(zmq.REQ)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.SNDTIMEO, REQUEST_TIMEOUT)
    socket.setsockopt(zmq.RCVTIMEO, MODEL_TIMEOUT)
    socket.connect(endpoint)
    socket.send_json({"model_request": True, "model_name": model})
    answer = socket.recv_json()
    assert answer["model_available"] and answer["model_loaded"], answer
    socket.setsockopt(zmq.RCVTIMEO, REQUEST_TIMEOUT)
    random = np.random.default_rng(1)
    pictures = [random.integers(0, 256, (1, size, size, 3), np.uint8) for _ in range(16)]
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        picture = pictures[len(times) % len(pictures)]
        begin = time.monotonic()
        header = {"shape": list(picture.shape), "dtype": str(picture.dtype), "model_type": "ssd"}
        socket.send_multipart([json.dumps(header).encode(), picture.tobytes()])
        frames = socket.recv_multipart()
        assert len(frames) == 1 and np.frombuffer(frames[0], np.float32).reshape(20, 6)[0, 1] > 0
        times.append(time.monotonic() - begin)
    milliseconds = np.array(times) * 1000
    print(json.dumps({"fps": len(times) / seconds, "p50_ms": float(np.percentile(milliseconds, 50)),
                      "p99_ms": float(np.percentile(milliseconds, 99))}))


if __name__ == "__main__":
    main()
