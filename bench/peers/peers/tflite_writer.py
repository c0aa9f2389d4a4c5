"""Builds .tflite files layer by layer, in float32 or in 8 bits, with random weights.

Tensors are numbers, as in the file. The code that makes a tensor chooses its quantisation:
`Quantization(scale, zero_point)`, or None for float32. Weights follow the kind of the model:

  FLOAT    float32
  FLOAT16  float16 in the file, behind DEQUANTIZE
  DYNAMIC  int8 with a scale for each output channel, or one for an LSTM's matrix. Activations are
           float32. LiteRT rounds those of each row to 8 bits before it multiplies (dynamic-range
           quantisation)
  UINT8    uint8 with one scale and a zero point that is not in the middle
  INT8     int8 with a scale for each output channel

Activations are float32, except for UINT8 and INT8.
"""

import dataclasses

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

FLOAT, FLOAT16, DYNAMIC, UINT8, INT8 = "float", "float16", "dynamic", "uint8", "int8"
_DTYPES = {UINT8: np.uint8, INT8: np.int8}  # of activations; float32 otherwise
_TYPES = {
    np.dtype(np.float32): schema.TensorType.FLOAT32,
    np.dtype(np.float16): schema.TensorType.FLOAT16,
    np.dtype(np.int32): schema.TensorType.INT32,
    np.dtype(np.uint8): schema.TensorType.UINT8,
    np.dtype(np.int8): schema.TensorType.INT8,
}
NONE = schema.ActivationFunctionType.NONE
RELU = schema.ActivationFunctionType.RELU
RELU6 = schema.ActivationFunctionType.RELU6
TANH = schema.ActivationFunctionType.TANH


@dataclasses.dataclass(frozen=True)
class Quantization:
    scale: float
    zero_point: int


class TfliteWriter:
    """One subgraph; `finish` returns the bytes of the file."""

    def __init__(self, kind=FLOAT, seed=1):
        self.kind = kind
        self._dtype = np.dtype(_DTYPES.get(kind, np.float32))
        self._random = np.random.default_rng(seed)
        self._subgraph = schema.SubGraphT()
        self._subgraph.tensors, self._subgraph.operators = [], []
        self._subgraph.name = b"main"
        self._buffers = [schema.BufferT()]
        self._codes = []
        self._inputs = []

    # -- tensors ------------------------------------------------------------------------------

    def shape(self, tensor):
        return tuple(self._subgraph.tensors[tensor].shape)

    def quantization(self, tensor):
        found = self._subgraph.tensors[tensor].quantization
        return found and Quantization(float(found.scale[0]), int(found.zeroPoint[0]))

    def range(self, low, high):
        """The activations' quantisation for real values of [low, high]; None for float models."""
        if self._is_float:
            return None
        least = np.iinfo(self._dtype).min
        scale = (high - low) / 255
        return Quantization(scale, int(round(least - low / scale)))

    def input(self, shape, quantization=None, name="input"):
        tensor = self._tensor(shape, self._dtype, quantization, name=name)
        self._inputs.append(tensor)
        return tensor

    def constant(self, values, quantization=None):
        """`values` an array in the file's type; `quantization` Quantization or (scales, axis)."""
        return self._tensor(values.shape, values.dtype, quantization, values)

    def weights(self, shape, fan_in, axis=0, gain=1.0):
        """Random weights; `axis` is that of the output channels, or None if int8 weights have one
        scale. With a gain of 1, values behind a ReLU keep their size."""
        deviation = float(gain * np.sqrt(2 / fan_in))
        if self.kind in (FLOAT, FLOAT16):
            values = self._random.standard_normal(shape, np.float32)
            return self._floats(values * np.float32(deviation))
        if self.kind == UINT8:
            zero_point = int(self._random.integers(110, 146))
            # The shorter side of the range holds three standard deviations.
            scale = 3 * deviation / min(zero_point, 255 - zero_point)
            values = self._random.standard_normal(shape, np.float32) * (deviation / scale)
            values = np.clip(np.rint(values) + zero_point, 0, 255).astype(np.uint8)
            return self.constant(values, Quantization(scale, zero_point))
        if axis is None:
            scale = 3 * deviation / 127
            values = self._random.standard_normal(shape, np.float32) * (deviation / scale)
            return self.constant(np.clip(np.rint(values), -127, 127).astype(np.int8),
                                 Quantization(scale, 0))
        scales = self._random.uniform(0.5, 1, shape[axis]) * 3 * deviation / 127
        along = scales.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        values = self._random.standard_normal(shape, np.float32) * deviation / along
        return self.constant(np.clip(np.rint(values), -127, 127).astype(np.int8), (scales, axis))

    def bias(self, x, weights, count):
        values = self._random.uniform(-0.5, 0.5, count)
        if self._is_float:
            return self._floats(values.astype(np.float32))
        found = self._subgraph.tensors[weights].quantization
        scales = np.asarray(found.scale, np.float64) * self.quantization(x).scale
        quantized = np.rint(values / scales).astype(np.int32)
        if len(scales) == 1:
            return self.constant(quantized, Quantization(float(scales[0]), 0))
        return self.constant(quantized, (scales, 0))

    @property
    def _is_float(self):
        return self._dtype == np.float32

    def _floats(self, values):
        """A float32 constant, which the file of a FLOAT16 model has in float16."""
        if self.kind != FLOAT16:
            return self.constant(values)
        stored = self.constant(values.astype(np.float16))
        return self._operator("DEQUANTIZE", (stored,), values.shape, None,
                              schema.DequantizeOptionsT(), 3)

    def _tensor(self, shape, dtype, quantization=None, values=None, name=None, variable=False):
        tensor = schema.TensorT()
        tensor.shape = np.asarray(shape, np.int32)
        tensor.type = _TYPES[np.dtype(dtype)]
        tensor.name = (name or f"t{len(self._subgraph.tensors)}").encode()
        tensor.isVariable = variable
        tensor.hasRank = True
        if quantization is not None:
            info = schema.QuantizationParametersT()
            if isinstance(quantization, Quantization):
                info.scale = np.asarray([quantization.scale], np.float32)
                info.zeroPoint = np.asarray([quantization.zero_point], np.int64)
            else:
                scales, axis = quantization
                info.scale = np.asarray(scales, np.float32)
                info.zeroPoint = np.zeros(len(scales), np.int64)
                info.quantizedDimension = axis
            tensor.quantization = info
        tensor.buffer = 0
        if values is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
            tensor.buffer = len(self._buffers)
            self._buffers.append(buffer)
        self._subgraph.tensors.append(tensor)
        return len(self._subgraph.tensors) - 1

    # -- operators ----------------------------------------------------------------------------

    def _operator(self, name, inputs, shape, quantization, options=None, version=1):
        output = self._tensor(shape, self._dtype, quantization)
        operator = schema.OperatorT()
        operator.opcodeIndex = self._code(getattr(schema.BuiltinOperator, name), version)
        operator.inputs = np.asarray(inputs, np.int32)
        operator.outputs = np.asarray([output], np.int32)
        if options is not None:
            kind = type(options).__name__[: -len("T")]
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
            operator.builtinOptions = options
        self._subgraph.operators.append(operator)
        return output

    def _code(self, builtin, version):
        for i, code in enumerate(self._codes):
            if (code.builtinCode, code.version) == (builtin, version):
                return i
        code = schema.OperatorCodeT()
        code.builtinCode, code.version = builtin, version
        code.deprecatedBuiltinCode = min(builtin, 127)
        self._codes.append(code)
        return len(self._codes) - 1

    @staticmethod
    def _window(options, stride):
        options.padding = schema.Padding.SAME
        options.strideW = options.strideH = stride
        return options

    def conv(self, x, size, stride, channels, activation, quantization=None, gain=1.0):
        """`size` x `size`, or of one line if the image has one. The image is padded so that only
        the stride shrinks it."""
        n, height, width, depth = self.shape(x)
        lines = size if height > 1 else 1
        w = self.weights((channels, lines, size, depth), lines * size * depth, gain=gain)
        options = self._window(schema.Conv2DOptionsT(), stride)
        options.fusedActivationFunction = activation
        options.dilationWFactor = options.dilationHFactor = 1
        shape = (n, -(-height // stride), -(-width // stride), channels)
        inputs = (x, w, self.bias(x, w, channels))
        return self._operator("CONV_2D", inputs, shape, quantization, options, 3)

    def depthwise(self, x, size, stride, activation, quantization=None):
        n, height, width, depth = self.shape(x)
        w = self.weights((1, size, size, depth), size * size, axis=3)
        options = self._window(schema.DepthwiseConv2DOptionsT(), stride)
        options.fusedActivationFunction = activation
        options.depthMultiplier = options.dilationWFactor = options.dilationHFactor = 1
        shape = (n, -(-height // stride), -(-width // stride), depth)
        inputs = (x, w, self.bias(x, w, depth))
        return self._operator("DEPTHWISE_CONV_2D", inputs, shape, quantization, options, 3)

    def fully_connected(self, x, count, activation=NONE, quantization=None):
        """Over the last dimension; all other dimensions stay."""
        depth = self.shape(x)[-1]
        w = self.weights((count, depth), depth)
        options = schema.FullyConnectedOptionsT()
        options.fusedActivationFunction = activation
        options.keepNumDims = len(self.shape(x)) > 2
        options.asymmetricQuantizeInputs = self.kind == DYNAMIC
        shape = self.shape(x)[:-1] + (count,)
        inputs = (x, w, self.bias(x, w, count))
        return self._operator("FULLY_CONNECTED", inputs, shape, quantization, options, 5)

    def pool(self, x, kind, size, stride):
        """`kind` AVERAGE or MAX, padded as conv is."""
        n, height, width, depth = self.shape(x)
        options = self._window(schema.Pool2DOptionsT(), stride)
        options.filterWidth = options.filterHeight = size
        shape = (n, -(-height // stride), -(-width // stride), depth)
        return self._operator(f"{kind}_POOL_2D", (x,), shape, self.quantization(x), options, 2)

    def global_average(self, x):
        """AVERAGE_POOL_2D over the whole image."""
        n, height, width, depth = self.shape(x)
        options = self._window(schema.Pool2DOptionsT(), 1)
        options.padding = schema.Padding.VALID
        options.filterWidth, options.filterHeight = width, height
        shape = (n, 1, 1, depth)
        return self._operator("AVERAGE_POOL_2D", (x,), shape, self.quantization(x), options, 2)

    def add(self, a, b, activation=NONE, quantization=None):
        options = schema.AddOptionsT()
        options.fusedActivationFunction = activation
        shape = np.broadcast_shapes(self.shape(a), self.shape(b))
        return self._operator("ADD", (a, b), shape, quantization, options, 2)

    def multiply(self, a, b, quantization=None):
        options = schema.MulOptionsT()
        options.fusedActivationFunction = NONE
        shape = np.broadcast_shapes(self.shape(a), self.shape(b))
        return self._operator("MUL", (a, b), shape, quantization, options, 2)

    def subtract(self, a, b):
        options = schema.SubOptionsT()
        options.fusedActivationFunction = NONE
        shape = np.broadcast_shapes(self.shape(a), self.shape(b))
        return self._operator("SUB", (a, b), shape, None, options)

    def squared_difference(self, a, b):
        shape = np.broadcast_shapes(self.shape(a), self.shape(b))
        return self._operator("SQUARED_DIFFERENCE", (a, b), shape, None,
                              schema.SquaredDifferenceOptionsT())

    def mean(self, x, axis, keep=True):
        """Over one dimension."""
        shape = list(self.shape(x))
        shape[axis:axis + 1 or None] = [1] if keep else []
        options = schema.ReducerOptionsT()
        options.keepDims = keep
        return self._operator("MEAN", (x, self.constant(np.asarray([axis], np.int32))), shape, None,
                              options, 2)

    def reciprocal_root(self, x):
        return self._operator("RSQRT", (x,), self.shape(x), None)

    def gelu(self, x):
        return self._operator("GELU", (x,), self.shape(x), None, schema.GeluOptionsT())

    def layer_norm(self, x):
        """Over the last dimension, in the ten operators that TensorFlow's converter writes."""
        depth = self.shape(x)[-1]
        factors = self.constant(self._random.uniform(0.5, 1.5, depth).astype(np.float32))
        summands = self.constant(self._random.uniform(-0.1, 0.1, depth).astype(np.float32))
        mean = self.mean(x, -1)
        variance = self.mean(self.squared_difference(x, mean), -1)
        variance = self.add(variance, self.constant(np.asarray(1e-6, np.float32)))
        scale = self.multiply(self.reciprocal_root(variance), factors)
        shift = self.subtract(summands, self.multiply(mean, scale))
        return self.add(self.multiply(x, scale), shift)

    def concatenate(self, parts, axis):
        shape = list(self.shape(parts[0]))
        shape[axis] = sum(self.shape(part)[axis] for part in parts)
        options = schema.ConcatenationOptionsT()
        options.axis, options.fusedActivationFunction = axis, NONE
        return self._operator("CONCATENATION", parts, shape, None, options)

    def softmax(self, x):
        options = schema.SoftmaxOptionsT()
        options.beta = 1.0
        quantization = None
        if not self._is_float:
            quantization = Quantization(1 / 256, int(np.iinfo(self._dtype).min))
        return self._operator("SOFTMAX", (x,), self.shape(x), quantization, options, 2)

    def reshape(self, x, shape):
        options = schema.ReshapeOptionsT()
        options.newShape = np.asarray(shape, np.int32)
        target = self.constant(np.asarray(shape, np.int32))
        return self._operator("RESHAPE", (x, target), shape, self.quantization(x), options)

    def transpose(self, x, order):
        shape = [self.shape(x)[i] for i in order]
        axes = self.constant(np.asarray(order, np.int32))
        options = schema.TransposeOptionsT()
        return self._operator("TRANSPOSE", (x, axes), shape, self.quantization(x), options, 2)

    def batch_matmul(self, a, b, adjoint_b=False, quantization=None):
        options = schema.BatchMatMulOptionsT()
        options.adjX, options.adjY = False, adjoint_b
        columns = self.shape(b)[-2 if adjoint_b else -1]
        shape = self.shape(a)[:-1] + (columns,)
        return self._operator("BATCH_MATMUL", (a, b), shape, quantization, options, 2)

    def sequence_lstm(self, x, units):
        """[batch, time, depth] to [batch, time, units]; no peepholes, no projection."""
        batch, time, depth = self.shape(x)
        inputs = [x]
        inputs += [self.weights((units, depth), 2 * depth, None) for _ in range(4)]
        inputs += [self.weights((units, units), 2 * units, None) for _ in range(4)]
        inputs += [-1, -1, -1]
        biases = [self._random.uniform(-0.5, 0.5, units).astype(np.float32) for _ in range(4)]
        inputs += [self.constant(bias) for bias in biases]
        inputs += [-1, -1]
        inputs += [self._tensor((batch, units), np.float32, variable=True) for _ in range(2)]
        inputs += [-1, -1, -1, -1]
        options = schema.UnidirectionalSequenceLSTMOptionsT()
        options.fusedActivationFunction = TANH
        shape = (batch, time, units)
        return self._operator("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, shape, None, options, 1)

    # -- the file -----------------------------------------------------------------------------

    def finish(self, outputs, description):
        self._subgraph.inputs = np.asarray(self._inputs, np.int32)
        self._subgraph.outputs = np.asarray(outputs, np.int32)
        model = schema.ModelT()
        model.version = 3
        model.description = description.encode()
        model.operatorCodes = self._codes
        model.subgraphs = [self._subgraph]
        model.buffers = self._buffers
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())
