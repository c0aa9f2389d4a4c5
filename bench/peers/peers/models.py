"""The models of the comparison, their files, and their goals.

Kinds, by the goals in goals.py that hold for them:
  float        large float models
  quant8       8 bit models
  transformer  models of matrix products and normalisations, with float32 activations
  small        recurrent and small models: relative to LiteRT
  other        shown only
"""

import dataclasses
import pathlib

from peers import tflite_to_onnx
from peers.architectures import ARCHITECTURES

SOURCE = pathlib.Path(__file__).resolve().parents[3]
BUILD = SOURCE / "build" / "peers"
SHARED = SOURCE.parent / "shared" / "models"

_KINDS = {
    "mobilenet_v1_float": "float",
    "mobilenet_v2_float": "float",
    "resnet_50_float": "float",
    "deeplabv3_float": "float",
    "mobilenet_v1_uint8": "quant8",
    "mobilenet_v2_uint8": "quant8",
    "mobilenet_v1_int8": "quant8",
    "mobilenet_v2_int8": "quant8",
    "coco_ssd_mobilenet_v1_quant": "quant8",
    "mobilenet_v2_1.0_224_quant": "quant8",
    "tf2_mobilenet_v2_1.0_224_ptq": "quant8",
    "mobilenet_v1_0.25_128_quant": "quant8",
    "lstm_acoustic_float": "small",
    "lstm_acoustic_dynamic": "small",
    "mnist_lstm_float": "small",
    "keras_lstm_mnist_ptq": "small",
    "kws_ref_float": "small",
    "kws_ref_int8": "small",
    "ad01_float": "small",
    "vww_96_float": "small",
    "vww_96_int8": "small",
    "resnet_cifar10_float": "small",
    "resnet_cifar10_int8": "small",
    "fashion_mnist_float": "small",
    "fashion_mnist_int8": "small",
    "mobilenet_v1_0.25_224_float": "other",
    **{f"{name}_{kind}": "transformer"
       for name in ("mobilebert", "minilm", "vit_tiny", "whisper_tiny")
       for kind in ("float", "float16", "dynamic")},
}


@dataclasses.dataclass
class PeerModel:
    name: str
    kind: str
    tflite: pathlib.Path
    onnx: pathlib.Path | None = None  # None: not converted
    why_not: str = ""
    input_offsets: tuple = ()  # of the ONNX file's 8 bit inputs and outputs against TFLite's
    output_offsets: tuple = ()


def names():
    return list(_KINDS)


def path_of(name):
    """The file, which is made now if it is one of ours; None when it is not on this machine."""
    if name not in ARCHITECTURES:
        for folder in (SOURCE / "models", SHARED):
            if (folder / f"{name}.tflite").exists():
                return folder / f"{name}.tflite"
        return None
    path = BUILD / "models" / f"{name}.tflite"
    made_by = [pathlib.Path(__file__).parent / file
               for file in ("architectures.py", "tflite_writer.py", "transformers.py")]
    newest = max(file.stat().st_mtime for file in made_by)
    if not path.exists() or path.stat().st_mtime < newest:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".new")
        unfinished.write_bytes(ARCHITECTURES[name]())
        unfinished.rename(path)
    return path


def find(name):
    """The PeerModel with its ONNX form, or None when the file is not on this machine. The path of a
    .tflite file is also a name."""
    if name.endswith(".tflite"):
        path = pathlib.Path(name).resolve()
    else:
        path = path_of(name)
    if path is None:
        return None
    if not path.exists():
        raise SystemExit(f"{path} is not there")
    model = PeerModel(path.stem, _KINDS.get(path.stem, "other"), path)
    try:
        converted = tflite_to_onnx.convert(path.read_bytes())
    except tflite_to_onnx.Unsupported as error:
        model.why_not = str(error)
        return model
    model.onnx = BUILD / "models" / f"{path.stem}.onnx"
    model.onnx.parent.mkdir(parents=True, exist_ok=True)
    model.onnx.write_bytes(converted.model.SerializeToString())
    model.input_offsets = tuple(converted.input_offsets)
    model.output_offsets = tuple(converted.output_offsets)
    return model
