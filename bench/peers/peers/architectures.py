"""Well-known architectures with random weights as .tflite files, for measurements of speed."""

import functools

from peers import tflite_writer as tfl
from peers import transformers

CLASSES = 1001
# Random weights keep the real values of a layer without an activation within this limit.
LINEAR = 8.0


def _image(kind, size=224):
    writer = tfl.TfliteWriter(kind)
    return writer, writer.input((1, size, size, 3), writer.range(-1, 1))


def _classify(writer, x, classes=CLASSES, gain=1.0):
    """Average, a 1 x 1 convolution to the classes, softmax, as in the published files. The gain
    makes the classes' probabilities differ."""
    x = writer.conv(writer.global_average(x), 1, 1, classes, tfl.NONE,
                    writer.range(-LINEAR, LINEAR), gain)
    return writer.softmax(writer.reshape(x, (1, classes)))


def mobilenet_v1(kind):
    """Howard et al., MobileNets, 2017, table 1."""
    writer, x = _image(kind)
    active = writer.range(0, 6)
    x = writer.conv(x, 3, 2, 32, tfl.RELU6, active)
    blocks = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)]
    blocks += [(512, 1)] * 5 + [(1024, 2), (1024, 1)]
    for channels, stride in blocks:
        x = writer.depthwise(x, 3, stride, tfl.RELU6, active)
        x = writer.conv(x, 1, 1, channels, tfl.RELU6, active)
    return writer.finish([_classify(writer, x, gain=3.0)], f"MobileNet v1 1.0 224, {kind}, random weights")


def mobilenet_v2(kind):
    """Sandler et al., MobileNetV2, 2018, table 2."""
    writer, x = _image(kind)
    active, linear = writer.range(0, 6), writer.range(-LINEAR, LINEAR)
    x = writer.conv(x, 3, 2, 32, tfl.RELU6, active)
    stages = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
              (6, 160, 3, 2), (6, 320, 1, 1)]
    for expansion, channels, count, stride in stages:
        for i in range(count):
            before, depth = x, writer.shape(x)[3]
            if expansion > 1:
                x = writer.conv(x, 1, 1, depth * expansion, tfl.RELU6, active)
            x = writer.depthwise(x, 3, stride if i == 0 else 1, tfl.RELU6, active)
            x = writer.conv(x, 1, 1, channels, tfl.NONE, linear)
            if i > 0:
                x = writer.add(before, x, tfl.NONE, linear)
    x = writer.conv(x, 1, 1, 1280, tfl.RELU6, active)
    return writer.finish([_classify(writer, x)], f"MobileNet v2 1.0 224, {kind}, random weights")


def resnet_50():
    """He et al., Deep Residual Learning, 2015, with the stride in the 3 x 3 layer (v1.5)."""
    writer, x = _image(tfl.FLOAT)
    x = writer.conv(x, 7, 2, 64, tfl.RELU)
    x = writer.pool(x, "MAX", 3, 2)
    for stage, count in enumerate((3, 4, 6, 3)):
        channels = 64 << stage
        for i in range(count):
            stride = 2 if stage > 0 and i == 0 else 1
            side = x
            if i == 0:
                side = writer.conv(x, 1, stride, 4 * channels, tfl.NONE)
            x = writer.conv(x, 1, 1, channels, tfl.RELU)
            x = writer.conv(x, 3, stride, channels, tfl.RELU)
            x = writer.conv(x, 1, 1, 4 * channels, tfl.NONE, gain=0.25)
            x = writer.add(side, x, tfl.RELU)
    return writer.finish([_classify(writer, x, 1000)], "ResNet-50, float, random weights")


def lstm_acoustic(kind, layers=5, units=512, features=240, steps=20, phones=42):
    """Speech recognition: layers of LSTM over stacked frames, 10 M weights, to phones."""
    writer = tfl.TfliteWriter(kind)
    x = writer.input((1, steps, features))
    for _ in range(layers):
        x = writer.sequence_lstm(x, units)
    x = writer.softmax(writer.fully_connected(x, phones))
    return writer.finish([x], f"LSTM acoustic model of ASR size, {kind}, random weights")


# By the names for `run --models`.
ARCHITECTURES = {
    "mobilenet_v1_float": lambda: mobilenet_v1(tfl.FLOAT),
    "mobilenet_v2_float": lambda: mobilenet_v2(tfl.FLOAT),
    "mobilenet_v1_uint8": lambda: mobilenet_v1(tfl.UINT8),
    "mobilenet_v2_uint8": lambda: mobilenet_v2(tfl.UINT8),
    "mobilenet_v1_int8": lambda: mobilenet_v1(tfl.INT8),
    "mobilenet_v2_int8": lambda: mobilenet_v2(tfl.INT8),
    "resnet_50_float": resnet_50,
    "lstm_acoustic_float": lambda: lstm_acoustic(tfl.FLOAT),
    "lstm_acoustic_dynamic": lambda: lstm_acoustic(tfl.DYNAMIC),
}
for _kind in (tfl.FLOAT, tfl.FLOAT16, tfl.DYNAMIC):
    ARCHITECTURES |= {
        f"{name}_{_kind}": functools.partial(make, _kind)
        for name, make in (("mobilebert", transformers.mobilebert), ("minilm", transformers.minilm),
                           ("vit_tiny", transformers.vit_tiny),
                           ("whisper_tiny", transformers.whisper_tiny))}
