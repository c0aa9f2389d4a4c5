"""Compares Halyard's Vulkan driver with ncnn on the same Vulkan device.

    bench/peers/vulkan [--models NAME...] [--seconds S]

Both run in processes of their own, and take turns of 50 ms, as described in README.md.
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

from peers import measure, models, tflite_to_ncnn
from peers.contenders import Contender, ContenderError, Inputs
from peers.models import BUILD, SOURCE

_MODELS = ("mobilenet_v1_float", "mobilenet_v2_float", "mobilenet_v1_0.25_224_float",
           "resnet_cifar10_float", "resnet_50_float", "mobilenet_v1_uint8", "mobilenet_v2_int8")
_DEVICE = "halyard-vulkan"
_FORMS = ("fp32", "fp16")


def _start_halyard(folder, path, inputs):
    manifest = BUILD / "manifests" / "vulkan.json"
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text(json.dumps({
        "name": _DEVICE, "version": "bench", "hal_version": "1.3",
        "executable": str(folder / "bin" / "halyard-driver-vulkan"), "arguments": ["--software"]}))
    command = [str(folder / "bin" / "halyard_worker"), str(path), _DEVICE,
               *map(str, inputs.raw)]
    return Contender("halyard", command, {"HALYARD_DRIVER_FILES": str(manifest),
                                          "XDG_CACHE_HOME": str(BUILD / "cache")})


def _start_ncnn(form, path, inputs):
    command = [sys.executable, "-m", "peers.peer_worker", f"ncnn-{form}", str(path), "1",
               *map(str, inputs.tflite)]
    return Contender(f"ncnn-{form}", command)


def _compare(name, options, folder):
    path = models.path_of(name)
    if path is None:
        return {"error": "its file is not on this machine"}
    inputs = Inputs(models.PeerModel(name, "other", path), folder)
    running = [_start_halyard(options.build.resolve(), path, inputs)]
    try:
        # The weights of a quantised model do not matter for the time: ncnn runs the float model.
        float_path = models.path_of(name.rsplit("_", 1)[0] + "_float")
        text, weights = tflite_to_ncnn.convert((float_path or path).read_bytes())
        param = folder / "model.param"
        param.write_text(text)
        param.with_suffix(".bin").write_bytes(weights)
        shaped = Inputs(models.PeerModel(name, "other", float_path or path), folder)
        running += [_start_ncnn(form, param, shaped) for form in _FORMS]
    except tflite_to_ncnn.Unsupported as error:
        print(f"{name}: no form for ncnn: {error}", file=sys.stderr)
    try:
        for contender in running:
            contender.ask(do="load")
        rounds = measure.rounds(running, options.seconds)
        outputs = {contender.name: contender.outputs(folder) for contender in running}
    finally:
        for contender in running:
            contender.close()
    result = {contender: statistics.median(times) for contender, times in rounds.items()}
    for peer in rounds:
        if peer != "halyard":
            shares = [a / b for a, b in zip(rounds["halyard"], rounds[peer])]
            result[f"ratio to {peer}"] = statistics.median(shares)
    if float_path == path and "ncnn-fp32" in outputs:
        flat = [outputs[who][0].reshape(1, -1) for who in ("halyard", "ncnn-fp32")]
        result["difference"] = measure.difference(flat[:1], flat[1:])
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=_MODELS)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build" / "release")
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    for name in options.models:
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = _compare(name, options, pathlib.Path(folder))
            except ContenderError as error:
                result = {"error": str(error)}
        figures = [f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
                   for key, value in result.items()]
        print(f"{name}: {', '.join(figures)}", flush=True)


if __name__ == "__main__":
    main()
