"""Converts a float .tflite file to ncnn's pair of files, so that ncnn gets the same numbers.

It covers the operators of convolutional networks for classification; `Unsupported` names an
operator that is not covered. Images are NHWC in TFLite and CHW in ncnn.
"""

import struct

import numpy as np
from ai_edge_litert import schema_py_generated as schema

_NAMES = {value: name for name, value in vars(schema.BuiltinOperator).items()
          if not name.startswith("_")}
_SAME = 0  # of schema.Padding
# ncnn's numbers of activations, by those of the schema: none, relu, -, relu6.
_ACTIVATIONS = {0: "", 1: "9=1", 3: "9=3 -23310=2,0.0,6.0"}
_SAME_UPPER = -233  # in place of a convolution's padding


class Unsupported(Exception):
    """The file has an element without a counterpart here."""


class _Converter:
    def __init__(self, data):
        model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))
        self._graph, self._buffers = model.subgraphs[0], model.buffers
        self._codes = model.operatorCodes
        self._layers, self._weights = [], bytearray()
        self._uses = {}   # by tensor: how often operators read it
        self._names = {}  # by tensor: names of ncnn's blobs that are not used yet
        self._blobs = 0

    def _constant(self, i):
        data = np.asarray(self._buffers[self._graph.tensors[i].buffer].data, np.uint8)
        return np.frombuffer(data.tobytes(), np.float32).reshape(self._graph.tensors[i].shape)

    def _layer(self, kind, inputs, outputs, parameters=""):
        self._blobs += len(outputs)
        self._layers.append(f"{kind} l{len(self._layers)} {len(inputs)} {len(outputs)} "
                            f"{' '.join(inputs + outputs)} {parameters}")

    def _take(self, i):
        return self._names[i].pop()

    def _give(self, i, name):
        """Names tensor i. ncnn copies a blob that several layers read."""
        uses = self._uses.get(i, 1)
        if uses == 1:
            self._names[i] = [name]
            return
        self._names[i] = [f"{name}_{use}" for use in range(uses)]
        self._layer("Split", [name], list(self._names[i]))

    def _add_weights(self, *arrays):
        """The first has a word before it that says float32."""
        self._weights += struct.pack("<I", 0)
        for array in arrays:
            self._weights += np.ascontiguousarray(array, "<f4").tobytes()

    def _conv(self, operator, options, is_depthwise):
        weights = self._constant(operator.inputs[1])  # [channels, height, width, depth]
        if is_depthwise:
            weights = weights.transpose(3, 1, 2, 0)  # from [1, height, width, channels]
        channels, height, width, _ = weights.shape
        if options.fusedActivationFunction not in _ACTIVATIONS:
            raise Unsupported(f"activation {options.fusedActivationFunction}")
        padding = _SAME_UPPER if options.padding == _SAME else 0
        parameters = (f"0={channels} 1={width} 11={height} 2={options.dilationWFactor} "
                      f"12={options.dilationHFactor} 3={options.strideW} 13={options.strideH} "
                      f"4={padding} 5=1 6={weights.size} "
                      f"{_ACTIVATIONS[options.fusedActivationFunction]}")
        kind = "Convolution"
        if is_depthwise:
            kind, parameters = "ConvolutionDepthWise", f"{parameters} 7={channels}"
        self._add_weights(weights.transpose(0, 3, 1, 2), self._constant(operator.inputs[2]))
        return kind, parameters

    def _pool(self, options, is_average):
        return "Pooling", (f"0={int(is_average)} 1={options.filterWidth} 11={options.filterHeight} "
                           f"2={options.strideW} 12={options.strideH} "
                           f"5={2 if options.padding == _SAME else 1}")

    def _operator(self, operator):
        code = self._codes[operator.opcodeIndex]
        name = _NAMES[max(code.builtinCode, code.deprecatedBuiltinCode)]
        options, inputs, activation = operator.builtinOptions, operator.inputs[:1], ""
        if name in ("CONV_2D", "DEPTHWISE_CONV_2D"):
            kind, parameters = self._conv(operator, options, name != "CONV_2D")
        elif name == "FULLY_CONNECTED":
            weights = self._constant(operator.inputs[1])
            kind, parameters = "InnerProduct", f"0={len(weights)} 1=1 2={weights.size}"
            self._add_weights(weights, self._constant(operator.inputs[2]))
        elif name in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            kind, parameters = self._pool(options, name == "AVERAGE_POOL_2D")
        elif name == "MEAN":
            kind, parameters = "Pooling", "0=1 4=1"  # over the whole image
        elif name == "ADD":
            kind, parameters, inputs = "BinaryOp", "0=0", operator.inputs
            activation = options.fusedActivationFunction
        elif name in ("RESHAPE", "SQUEEZE"):
            kind, parameters = "Flatten", ""
        elif name == "SOFTMAX":
            kind, parameters = "Softmax", "0=0"
        else:
            raise Unsupported(name)
        result = operator.outputs[0]
        blob = f"t{result}"
        before = f"{blob}_sum" if activation else blob
        self._layer(kind, [self._take(i) for i in inputs], [before], parameters)
        if activation:
            self._layer("ReLU" if activation == 1 else "Clip", [before], [blob],
                        "" if activation == 1 else "0=0.0 1=6.0")
        self._give(result, blob)

    def convert(self):
        for operator in self._graph.operators:
            for i in set(operator.inputs):
                self._uses[i] = self._uses.get(i, 0) + 1
        source = self._graph.inputs[0]
        if self._graph.tensors[source].type != schema.TensorType.FLOAT32:
            raise Unsupported("a quantised model")
        self._layer("Input", [], ["in0"])
        self._give(source, "in0")
        for operator in self._graph.operators:
            self._operator(operator)
        self._layer("Noop", [self._take(self._graph.outputs[0])], ["out0"])
        lines = ["7767517", f"{len(self._layers)} {self._blobs}", *self._layers]
        return "\n".join(lines) + "\n", bytes(self._weights)


def convert(data):
    """The text of the .param file and the bytes of the .bin file."""
    return _Converter(data).convert()
