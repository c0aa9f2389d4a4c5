#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the demo's picture classifier and exports it to TensorFlow Lite.

The network is a small MobileNet-style classifier for Fashion-MNIST (28x28 grey
pictures of ten kinds of clothing). One run of this script

  1. reads the data set from the files of the Debian package
     dataset-fashion-mnist,
  2. trains the network from a fixed seed,
  3. exports it as float32 and as int8 (full integer, weights per channel),
  4. measures both exported files over the 10,000 test pictures with the
     TensorFlow Lite interpreter,
  5. writes the two models, the labels, some test pictures as PNG and
     fashion_mnist.json, a record of the measurements.

Nothing is written unless every check passes. `--check` trains nothing: it
measures the existing files again and compares them with the record.

Inputs and outputs of the exported models
-----------------------------------------
Both take one picture, shape [1, 28, 28, 1] (batch, rows, columns, grey). They
give ten values, shape [1, 10], one per line of the labels file.

  float32: in  pixel / 255, so 0.0 (background, black) to 1.0 (white)
           out probabilities, 0.0 to 1.0, which add up to 1
  int8:    in  pixel - 128, so -128 to 127   (scale 1/255, zero point -128)
           out probability = (value + 128) / 256

where `pixel` is the byte 0 to 255 of the PNG or of the data set.
"""

import argparse
import collections
import contextlib
import gzip
import hashlib
import importlib.util
import io
import json
import math
import os
import platform
import struct
import sys
import time
import zlib
from pathlib import Path

# Quiet start-up messages; must be set before TensorFlow is imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

DEFAULT_DATA_DIR = Path("/usr/share/datasets/fashion-mnist")
DEFAULT_OUT_DIR = Path(__file__).resolve().parent

FLOAT_NAME = "fashion_mnist_float.tflite"
INT8_NAME = "fashion_mnist_int8.tflite"
LABELS_NAME = "fashion_mnist_labels.txt"
RECORD_NAME = "fashion_mnist.json"
IMAGES_NAME = "images"

LABELS = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)

SIDE = 28  # pixels, both ways

# The only operators the exported files may use.
ALLOWED_OPERATORS = frozenset(
    {
        "ADD",
        "AVERAGE_POOL_2D",
        "CONV_2D",
        "DEPTHWISE_CONV_2D",
        "DEQUANTIZE",
        "FULLY_CONNECTED",
        "MEAN",
        "PAD",
        "QUANTIZE",
        "RELU6",
        "RESHAPE",
        "SOFTMAX",
    }
)

MIN_FLOAT_ACCURACY = 0.91  # share of the test pictures
MAX_INT8_LOSS = 0.01  # at most this far below the float model
MAX_TOTAL_BYTES = 1_000_000  # both files together

# The tolerance of --check in correctly classified test pictures: another
# processor rounds differently, which can change a close decision.
CHECK_TOLERANCE = 10

CALIBRATION_PICTURES = 1000  # training pictures shown to the quantiser


class Failure(Exception):
    """An error that the user of the script can resolve."""


# --- The data set ------------------------------------------------------------


def read_idx(path, dimensions):
    """Reads one gzip-compressed idx file of unsigned bytes.

    The format: two zero bytes, a type byte (0x08 = unsigned byte), the number
    of dimensions, each dimension as a big-endian 32-bit number, the values.
    """
    import numpy as np

    if not path.is_file():
        raise Failure(
            f"{path} is not there: the data set is missing. Install it with\n"
            "    apt-get install dataset-fashion-mnist\n"
            "or name the folder that has its four *-ubyte.gz files with --data-dir."
        )
    try:
        with gzip.open(path, "rb") as stream:
            content = stream.read()
    except (OSError, EOFError, zlib.error) as error:
        raise Failure(f"{path} cannot be read: {error}") from error

    header_size = 4 + 4 * dimensions
    if len(content) < header_size or content[:4] != bytes((0, 0, 8, dimensions)):
        raise Failure(f"{path} is not an idx file of bytes with {dimensions} dimension(s).")
    shape = struct.unpack_from(f">{dimensions}I", content, 4)
    if len(content) - header_size != math.prod(shape):
        raise Failure(
            f"{path} says its shape is {shape} but holds {len(content) - header_size} values."
        )
    return np.frombuffer(content, np.uint8, offset=header_size).reshape(shape)


def read_split(data_dir, prefix, count):
    """Returns (pictures, classes): uint8 [count, 28, 28] and uint8 [count], 0 to 9."""
    pictures = read_idx(data_dir / f"{prefix}-images-idx3-ubyte.gz", 3)
    classes = read_idx(data_dir / f"{prefix}-labels-idx1-ubyte.gz", 1)
    if pictures.shape != (count, SIDE, SIDE) or classes.shape != (count,):
        raise Failure(
            f"{data_dir}: expected {count} pictures of {SIDE}x{SIDE} for '{prefix}', "
            f"got {pictures.shape} and {classes.shape[0]} classes."
        )
    if classes.max() >= len(LABELS):
        raise Failure(f"{data_dir}: '{prefix}' has a class above {len(LABELS) - 1}.")
    return pictures, classes


def augment(pictures, rng, max_shift=2):
    """Mirrors half of the pictures and moves each by up to `max_shift` pixels both ways.

    Pixels that move in from outside are background (0). Takes and returns uint8
    [count, 28, 28].
    """
    import numpy as np

    count = len(pictures)
    mirrored = rng.random(count) < 0.5
    pictures = np.where(mirrored[:, None, None], pictures[:, :, ::-1], pictures)

    margin = ((0, 0), (max_shift, max_shift), (max_shift, max_shift))
    padded = np.pad(pictures, margin)
    down, right = rng.integers(0, 2 * max_shift + 1, size=(2, count))
    moved = np.empty_like(pictures)
    for dy in range(2 * max_shift + 1):
        for dx in range(2 * max_shift + 1):
            chosen = (down == dy) & (right == dx)
            moved[chosen] = padded[chosen, dy : dy + SIDE, dx : dx + SIDE]
    return moved


def to_float(pictures):
    """uint8 [count, 28, 28] -> float32 [count, 28, 28, 1], 0.0 to 1.0."""
    import numpy as np

    return pictures[..., None].astype(np.float32) / np.float32(255.0)


# --- The network -------------------------------------------------------------


def build_network():
    """The classifier, from [batch, 28, 28, 1] to ten logits.

    A 3x3 convolution, then depthwise-separable blocks (3x3 depthwise, batch
    norm, ReLU6, 1x1 pointwise, batch norm), three of which have a residual
    add. The ReLU6 of a residual block comes after its add.

    The global average is a 7x7 average pool and not a mean over two axes.
    Its quantised form keeps the scale of its input. Some implementations of
    the operator need that.
    """
    from tensorflow.keras import Input, Model, layers

    def batch_norm(x):
        return layers.BatchNormalization(momentum=0.97)(x)

    def relu6(x):
        return layers.ReLU(max_value=6.0)(x)

    def separable(x, channels, stride=1):
        residual = x if stride == 1 and x.shape[-1] == channels else None
        x = layers.DepthwiseConv2D(3, strides=stride, padding="same", use_bias=False)(x)
        x = relu6(batch_norm(x))
        x = batch_norm(layers.Conv2D(channels, 1, use_bias=False)(x))
        if residual is not None:
            x = layers.Add()([residual, x])
        return relu6(x)

    image = Input((SIDE, SIDE, 1), name="image")
    x = layers.Conv2D(32, 3, padding="same", use_bias=False)(image)  # 28x28x32
    x = relu6(batch_norm(x))
    x = separable(x, 64, stride=2)  # 14x14x64
    x = separable(x, 64)
    x = separable(x, 128, stride=2)  # 7x7x128
    x = separable(x, 128)
    x = separable(x, 128)
    x = separable(x, 256)  # 7x7x256
    x = layers.AveragePooling2D(7)(x)  # 1x1x256
    x = layers.Reshape((256,))(x)
    x = layers.Dropout(0.2)(x)
    logits = layers.Dense(len(LABELS), name="logits")(x)
    return Model(image, logits, name="fashion_mnist")


def train(network, pictures, classes, options):
    """Trains `network` in place; `pictures` is uint8 [count, 28, 28]."""
    import numpy as np
    import tensorflow as tf

    batch = options.batch_size
    steps = len(pictures) // batch
    total = steps * options.epochs
    schedule = tf.keras.optimizers.schedules.CosineDecay(
        initial_learning_rate=options.learning_rate / 50,
        decay_steps=max(1, total - steps),
        warmup_target=options.learning_rate,
        warmup_steps=min(steps, total - 1),
        alpha=1e-3,
    )
    optimizer = tf.keras.optimizers.AdamW(schedule, weight_decay=options.weight_decay)
    optimizer.exclude_from_weight_decay(var_names=["gamma", "beta", "bias"])
    optimizer.build(network.trainable_variables)
    loss_of = tf.keras.losses.CategoricalCrossentropy(
        from_logits=True, label_smoothing=options.label_smoothing
    )

    @tf.function(
        input_signature=[
            tf.TensorSpec([batch, SIDE, SIDE], tf.uint8),
            tf.TensorSpec([batch], tf.uint8),
        ]
    )
    def step(batch_pictures, batch_classes):
        x = tf.cast(batch_pictures[..., None], tf.float32) / 255.0
        with tf.GradientTape() as tape:
            logits = network(x, training=True)
            loss = loss_of(tf.one_hot(batch_classes, len(LABELS)), logits)
        gradients = tape.gradient(loss, network.trainable_variables)
        optimizer.apply(gradients)
        right = tf.argmax(logits, axis=1) == tf.cast(batch_classes, tf.int64)
        return loss, tf.reduce_mean(tf.cast(right, tf.float32))

    rng = np.random.default_rng(options.seed)
    for epoch in range(options.epochs):
        began = time.monotonic()
        order = rng.permutation(len(pictures))
        shown = augment(pictures[order], rng)
        answers = classes[order]
        totals = np.zeros(2)
        for at in range(0, steps * batch, batch):
            result = step(shown[at : at + batch], answers[at : at + batch])
            totals += [float(value) for value in result]
        loss, accuracy = totals / steps
        print(
            f"epoch {epoch + 1:2d}/{options.epochs}: loss {loss:.4f}, "
            f"accuracy {accuracy:.4f} (augmented training pictures), "
            f"{time.monotonic() - began:.0f} s",
            flush=True,
        )


# --- Export ------------------------------------------------------------------


def export(network, calibration):
    """Returns the two .tflite files as bytes: (float32, int8).

    `calibration` is float32 [count, 28, 28, 1]; the quantiser takes the ranges
    of the activations from it.
    """
    import tensorflow as tf

    # The same layers and weights with a softmax after them. The batch is
    # exactly one, so that the file has no open shape.
    image = tf.keras.Input(batch_shape=(1, SIDE, SIDE, 1), name="image")
    probabilities = tf.keras.layers.Softmax(name="probabilities")(network(image, training=False))
    classifier = tf.keras.Model(image, probabilities, name="classifier")

    # Without this the converter lists every variable of the network.
    quiet = contextlib.redirect_stdout(io.StringIO())

    def converter():
        return tf.lite.TFLiteConverter.from_keras_model(classifier)

    with quiet:
        float_model = converter().convert()

    quantiser = converter()
    quantiser.optimizations = [tf.lite.Optimize.DEFAULT]
    quantiser.representative_dataset = lambda: ([picture[None]] for picture in calibration)
    quantiser.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    quantiser.inference_input_type = tf.int8
    quantiser.inference_output_type = tf.int8
    # Convolutions get one scale per channel, the fully connected layer one
    # scale in all: per-channel weights there are a later addition that fewer
    # implementations know. `check_structure` checks the result.
    quantiser._experimental_disable_per_channel_quantization_for_dense_layers = True
    with quiet:
        int8_model = quantiser.convert()
    return float_model, int8_model


def describe(content):
    """Reads a .tflite file: its operators, its inputs and outputs, its weights."""
    from tensorflow.lite.python import schema_py_generated as schema

    names = {
        value: name for name, value in vars(schema.BuiltinOperator).items() if name[0] != "_"
    }
    types = {value: name for name, value in vars(schema.TensorType).items() if name[0] != "_"}
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    if len(model.subgraphs) != 1:
        raise Failure(f"the exported model has {len(model.subgraphs)} subgraphs, not one.")
    graph = model.subgraphs[0]

    def name_of(operator):
        code = model.operatorCodes[operator.opcodeIndex]
        # Codes above 126 do not fit the older of the two fields.
        return names[max(code.builtinCode, code.deprecatedBuiltinCode)], code.version

    def tensor_of(index):
        tensor = graph.tensors[index]
        found = {"shape": [int(size) for size in tensor.shape], "type": types[tensor.type]}
        quantization = tensor.quantization
        if quantization is not None and quantization.scale is not None:
            if len(quantization.scale) == 1:
                found["scale"] = float(quantization.scale[0])
                found["zero_point"] = int(quantization.zeroPoint[0])
        return found

    operators = collections.OrderedDict()
    order = []
    weight_scales = []
    for operator in graph.operators:
        name, version = name_of(operator)
        order.append(name)
        entry = operators.setdefault(name, {"count": 0, "version": version})
        entry["count"] += 1
        entry["version"] = max(entry["version"], version)
        if name in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
            weights = graph.tensors[operator.inputs[1]]
            scale = weights.quantization.scale if weights.quantization else None
            weight_scales.append((name, types[weights.type], 0 if scale is None else len(scale)))

    dynamic = [
        tensor.name.decode()
        for tensor in graph.tensors
        if tensor.shapeSignature is not None and any(size < 0 for size in tensor.shapeSignature)
    ]
    return {
        "operators": dict(sorted(operators.items())),
        "order": order,
        "input": [tensor_of(index) for index in graph.inputs],
        "output": [tensor_of(index) for index in graph.outputs],
        "weight_scales": weight_scales,
        "dynamic": dynamic,
        "types": sorted({types[tensor.type] for tensor in graph.tensors}),
    }


def check_structure(name, found, quantised):
    """Refuses a file with operators or types that the demo must not use."""
    extra = sorted(set(found["operators"]) - ALLOWED_OPERATORS)
    if extra:
        raise Failure(f"{name} uses operators that it must not: {', '.join(extra)}.")
    if found["dynamic"]:
        raise Failure(f"{name} has tensors of dynamic shape: {', '.join(found['dynamic'])}.")
    shapes = [tensor["shape"] for tensor in found["input"] + found["output"]]
    if shapes != [[1, SIDE, SIDE, 1], [1, len(LABELS)]]:
        raise Failure(f"{name} has the wrong inputs or outputs: {shapes}.")
    types = {tensor["type"] for tensor in found["input"] + found["output"]}
    if types != {"INT8" if quantised else "FLOAT32"}:
        raise Failure(f"{name} takes or gives the wrong type: {sorted(types)}.")
    if not quantised:
        return
    if "FLOAT32" in found["types"]:
        raise Failure(f"{name} is not full integer: it still has float tensors.")
    for operator, kind, scales in found["weight_scales"]:
        per_channel = operator != "FULLY_CONNECTED"
        if kind != "INT8" or (scales > 1) != per_channel:
            raise Failure(f"{name}: {operator} has {kind} weights with {scales} scale(s).")
    source, result = found["input"][0], found["output"][0]
    if not math.isclose(source["scale"], 1 / 255, rel_tol=1e-6) or source["zero_point"] != -128:
        raise Failure(f"{name}: the input is not quantised as pixel - 128: {source}.")
    if result["scale"] != 1 / 256 or result["zero_point"] != -128:
        raise Failure(f"{name}: the output is not quantised as 256 steps of 1/256: {result}.")


# --- Measuring ---------------------------------------------------------------


def run_model(content, pictures, threads):
    """Runs a .tflite file over uint8 [count, 28, 28], one picture at a time.

    Returns the probabilities, float32 [count, 10].
    """
    import numpy as np
    import tensorflow as tf

    interpreter = tf.lite.Interpreter(model_content=content, num_threads=threads)
    interpreter.allocate_tensors()
    source = interpreter.get_input_details()[0]
    result = interpreter.get_output_details()[0]

    if source["dtype"] == np.int8:
        # Scale 1/255 and zero point -128 (see check_structure).
        inputs = (pictures.astype(np.int16) - 128).astype(np.int8)[..., None]
    else:
        inputs = to_float(pictures)

    outputs = np.empty((len(pictures), len(LABELS)), result["dtype"])
    for at in range(len(pictures)):
        interpreter.set_tensor(source["index"], inputs[at : at + 1])
        interpreter.invoke()
        outputs[at] = interpreter.get_tensor(result["index"])[0]

    if result["dtype"] == np.int8:
        scale, zero_point = result["quantization"]
        return (outputs.astype(np.float32) - zero_point) * np.float32(scale)
    return outputs


def score(probabilities, classes):
    """The number of correctly classified pictures, in all and for each class."""
    named = probabilities.argmax(axis=1)
    right = named == classes
    return {
        "correct": int(right.sum()),
        "accuracy": round(float(right.mean()), 4),
        "accuracy_per_class": {
            label: round(float(right[classes == index].mean()), 4)
            for index, label in enumerate(LABELS)
        },
    }


def slug(label):
    """'T-shirt/top' -> 't_shirt_top'."""
    return "".join(c if c.isalnum() else "_" for c in label.lower())


def choose_pictures(classes):
    """The indices of the test pictures to keep as PNG.

    The first of each class, and the second coat and the second shirt, the
    classes that are hardest to tell apart. Nothing is chosen by its result.
    """
    chosen = [int((classes == index).argmax()) for index in range(len(LABELS))]
    for label in ("Coat", "Shirt"):
        chosen.append(int((classes == LABELS.index(label)).nonzero()[0][1]))
    return sorted(chosen)


def measure(models, pictures, classes, threads):
    """Checks and measures both files; returns the entries of the record."""
    probabilities = {}
    record = {"models": {}, "images": []}
    for name, content in models.items():
        found = describe(content)
        check_structure(name, found, quantised=name == INT8_NAME)
        probabilities[name] = run_model(content, pictures, threads)
        entry = {
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "input": found["input"][0],
            "output": found["output"][0],
            "operators": found["operators"],
        }
        entry.update(score(probabilities[name], classes))
        record["models"][name] = entry
        print(
            f"{name}: {len(content)} bytes, accuracy {entry['accuracy']:.4f} "
            f"({entry['correct']} of {len(pictures)} test pictures)",
            flush=True,
        )

    first, second = (probabilities[name].argmax(axis=1) for name in (FLOAT_NAME, INT8_NAME))
    record["same_answer"] = round(float((first == second).mean()), 4)

    for index in choose_pictures(classes):
        label = LABELS[classes[index]]
        shown = {
            "file": f"{IMAGES_NAME}/{index:02d}_{slug(label)}.png",
            "test_index": index,
            "class": int(classes[index]),
            "label": label,
        }
        for kind, name in (("float", FLOAT_NAME), ("int8", INT8_NAME)):
            best = int(probabilities[name][index].argmax())
            shown[kind] = {
                "label": LABELS[best],
                "probability": round(float(probabilities[name][index][best]), 4),
            }
        record["images"].append(shown)
    return record


def check_results(record):
    """Refuses models that classify too few pictures correctly or are too large."""
    float_accuracy = record["models"][FLOAT_NAME]["accuracy"]
    int8_accuracy = record["models"][INT8_NAME]["accuracy"]
    if float_accuracy < MIN_FLOAT_ACCURACY:
        raise Failure(
            f"the float model names {float_accuracy:.2%} rightly, under {MIN_FLOAT_ACCURACY:.0%}."
        )
    if int8_accuracy < float_accuracy - MAX_INT8_LOSS:
        raise Failure(
            f"the int8 model names {int8_accuracy:.2%} rightly, more than "
            f"{MAX_INT8_LOSS * 100:.0f} percentage point below the float model's "
            f"{float_accuracy:.2%}."
        )
    total = sum(entry["bytes"] for entry in record["models"].values())
    if total >= MAX_TOTAL_BYTES:
        raise Failure(f"the two models take {total} bytes together; {MAX_TOTAL_BYTES} is too much.")


# --- The files ---------------------------------------------------------------


def write_files(out_dir, models, record, pictures):
    from PIL import Image

    images = out_dir / IMAGES_NAME
    images.mkdir(parents=True, exist_ok=True)
    for name, content in models.items():
        (out_dir / name).write_bytes(content)
    (out_dir / LABELS_NAME).write_text("".join(f"{label}\n" for label in LABELS))
    for stale in images.glob("*.png"):
        stale.unlink()
    for shown in record["images"]:
        image = Image.fromarray(pictures[shown["test_index"]])
        image.save(out_dir / shown["file"], optimize=True)
    (out_dir / RECORD_NAME).write_text(json.dumps(record, indent=2) + "\n")


def check_files(out_dir, pictures, classes, threads):
    """Measures the files in `out_dir` again and compares them with the record."""
    import numpy as np
    from PIL import Image

    try:
        record = json.loads((out_dir / RECORD_NAME).read_text())
        models = {name: (out_dir / name).read_bytes() for name in (FLOAT_NAME, INT8_NAME)}
        labels = (out_dir / LABELS_NAME).read_text().splitlines()
        images = {
            shown["file"]: np.asarray(Image.open(out_dir / shown["file"]))
            for shown in record["images"]
        }
    except (OSError, ValueError, KeyError) as error:
        raise Failure(f"the files of {out_dir} cannot be read: {error}") from error

    if tuple(labels) != LABELS:
        raise Failure(f"{LABELS_NAME} has other labels than the script: {labels}.")
    for shown in record["images"]:
        if not np.array_equal(images[shown["file"]], pictures[shown["test_index"]]):
            raise Failure(f"{shown['file']} is not test picture {shown['test_index']}.")

    measured = measure(models, pictures, classes, threads)
    check_results(measured)
    for name, entry in measured["models"].items():
        recorded = record["models"].get(name, {})
        for key in ("bytes", "sha256", "input", "output", "operators"):
            if recorded.get(key) != entry[key]:
                raise Failure(
                    f"{name}: '{key}' is {entry[key]} but {RECORD_NAME} says {recorded.get(key)}."
                )
        if abs(recorded.get("correct", 0) - entry["correct"]) > CHECK_TOLERANCE:
            raise Failure(
                f"{name} names {entry['correct']} pictures rightly but {RECORD_NAME} says "
                f"{recorded.get('correct')}."
            )
    print("The files are what the record says.")


def parse_options(arguments):
    parser = argparse.ArgumentParser(
        description="Train the Fashion-MNIST classifier of the demo and export it to .tflite."
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=DEFAULT_DATA_DIR,
        help="folder with the four *-ubyte.gz files (default: %(default)s)",
    )
    parser.add_argument(
        "--out-dir",
        type=Path,
        default=DEFAULT_OUT_DIR,
        help="folder to write to (default: the folder of this script)",
    )
    parser.add_argument("--seed", type=int, default=20, help="(default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=16, help="(default: %(default)s)")
    parser.add_argument("--batch-size", type=int, default=128, help="(default: %(default)s)")
    parser.add_argument(
        "--learning-rate", type=float, default=4e-3, help="at its peak (default: %(default)s)"
    )
    parser.add_argument("--weight-decay", type=float, default=0.02, help="(default: %(default)s)")
    parser.add_argument(
        "--label-smoothing", type=float, default=0.05, help="(default: %(default)s)"
    )
    parser.add_argument("--threads", type=int, default=2, help="(default: %(default)s)")
    parser.add_argument(
        "--hold-out",
        type=int,
        default=0,
        metavar="COUNT",
        help="for trying settings: keep the last COUNT training pictures out of training, "
        "measure on them instead of on the test pictures, and write nothing",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="train nothing: measure the files that are there and compare with the record",
    )
    options = parser.parse_args(arguments)
    if options.check and options.hold_out:
        parser.error("--check and --hold-out do not go together")
    for name in ("epochs", "batch_size", "threads"):
        if getattr(options, name) < 1:
            parser.error(f"--{name.replace('_', '-')} must be at least 1")
    if options.hold_out and not 1000 <= options.hold_out <= 30000:
        parser.error("--hold-out must be 1000 to 30000")
    if not 1 <= options.batch_size <= 30000:
        parser.error("--batch-size must be 1 to 30000")
    return options


def main(arguments=None):
    options = parse_options(arguments)

    missing = [
        name for name in ("numpy", "PIL", "tensorflow") if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise Failure(
            f"Python does not find {', '.join(missing)}. Install what the script needs with\n"
            "    pip install -r models/requirements.txt"
        )

    train_pictures, train_classes = read_split(options.data_dir, "train", 60000)
    test_pictures, test_classes = read_split(options.data_dir, "t10k", 10000)

    import numpy as np
    import PIL
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)

    if options.check:
        check_files(options.out_dir, test_pictures, test_classes, options.threads)
        return

    tf.keras.utils.set_random_seed(options.seed)
    tf.config.experimental.enable_op_determinism()

    if options.hold_out:
        test_pictures = train_pictures[-options.hold_out :]
        test_classes = train_classes[-options.hold_out :]
        train_pictures = train_pictures[: -options.hold_out]
        train_classes = train_classes[: -options.hold_out]

    network = build_network()
    print(f"{network.count_params()} parameters, {len(train_pictures)} training pictures")
    began = time.monotonic()
    train(network, train_pictures, train_classes, options)
    print(f"trained in {time.monotonic() - began:.0f} s")

    calibration = to_float(train_pictures[:CALIBRATION_PICTURES])
    float_model, int8_model = export(network, calibration)
    models = {FLOAT_NAME: float_model, INT8_NAME: int8_model}
    measured = measure(models, test_pictures, test_classes, options.threads)
    if options.hold_out:
        print("These are held-out training pictures, not the test pictures; nothing was written.")
        return
    check_results(measured)

    trainable = sum(math.prod(variable.shape) for variable in network.trainable_variables)
    record = {
        "data_set": {
            "name": "Fashion-MNIST",
            "package": "dataset-fashion-mnist (Debian)",
            "licence": "MIT, Copyright 2017 Zalando SE",
            "training_pictures": len(train_pictures),
            "test_pictures": len(test_pictures),
        },
        "input_normalisation": {
            FLOAT_NAME: "pixel / 255, 0.0 to 1.0",
            INT8_NAME: "pixel - 128, -128 to 127",
        },
        "labels": list(LABELS),
        "parameters": {
            "trainable": trainable,
            "with_batch_norm_statistics": network.count_params(),
        },
        "training": {
            "seed": options.seed,
            "epochs": options.epochs,
            "batch_size": options.batch_size,
            "optimizer": "AdamW, one epoch of warm-up, then cosine decay",
            "peak_learning_rate": options.learning_rate,
            "weight_decay": options.weight_decay,
            "label_smoothing": options.label_smoothing,
            "augmentation": "mirrored left to right half of the time, moved by up to 2 pixels",
        },
        "quantisation": {
            "method": "post-training, full integer",
            "calibration": f"the first {CALIBRATION_PICTURES} training pictures",
            "convolution_weights": "int8, one scale per channel",
            "fully_connected_weights": "int8, one scale",
        },
        "tools": {
            "python": platform.python_version(),
            "tensorflow": tf.__version__,
            "keras": tf.keras.__version__,
            "numpy": np.__version__,
            "pillow": PIL.__version__,
        },
    }
    record.update(measured)
    write_files(options.out_dir, models, record, test_pictures)
    print(f"Wrote the files to {options.out_dir}.")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"train_fashion_mnist.py: {failure}")
