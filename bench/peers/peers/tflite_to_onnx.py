"""Converts a .tflite file to ONNX, so that other runtimes get the same numbers as Halyard.

It covers the operators of convolutional and recurrent networks and transformers; `Unsupported`
names an operator that is not covered. Images are NHWC in TFLite and NCHW in ONNX. The output of a
convolution stays NCHW as long as operators allow, and is transposed where an operator does not.

Quantised models become QDQ: QuantizeLinear and DequantizeLinear around float operators. ONNX
Runtime and OpenVINO turn them into integer kernels. Both are fastest with unsigned activations and
signed weights. So the difference of 128 between the two kinds of 8 bits moves into the zero points;
the real values do not change. Inputs and outputs of INT8 become UINT8 in the same way
(`Converted.offset`).

Dynamically quantised full connections become DynamicQuantizeLinear and MatMulInteger, as ONNX
Runtime's own tool writes them. It has one scale for all rows of the activations; LiteRT has one for
each. Dynamically quantised convolutions become float32. Constants of float16 become float32.
"""

import dataclasses

import numpy as np
import onnx
from ai_edge_litert import schema_py_generated as schema
from onnx import TensorProto, helper, numpy_helper

_OPSET = 17
_NAMES = {value: name for name, value in vars(schema.BuiltinOperator).items()
          if not name.startswith("_")}
_TYPES = {
    schema.TensorType.FLOAT32: np.float32,
    schema.TensorType.INT32: np.int32,
    schema.TensorType.INT64: np.int64,
    schema.TensorType.UINT8: np.uint8,
    schema.TensorType.INT8: np.int8,
    schema.TensorType.FLOAT16: np.float16,
}
_ONNX_TYPES = {np.float32: TensorProto.FLOAT, np.uint8: TensorProto.UINT8,
               np.int8: TensorProto.UINT8, np.int32: TensorProto.INT32}
_TO_NCHW, _TO_NHWC = (0, 3, 1, 2), (0, 2, 3, 1)


class Unsupported(Exception):
    """The file has an element without a counterpart here."""


@dataclasses.dataclass
class Converted:
    model: onnx.ModelProto
    input_offsets: list  # 128 for each input that changed from INT8 to UINT8, otherwise 0
    output_offsets: list


def _is_quantized(dtype):
    return dtype in (np.uint8, np.int8)


class _Converter:
    def __init__(self, data):
        model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))
        if len(model.subgraphs) != 1:
            raise Unsupported("several subgraphs")
        self._graph = model.subgraphs[0]
        self._codes = model.operatorCodes
        self._buffers = model.buffers
        self._nodes, self._initializers, self._count = [], [], 0
        self._unpacked = {}
        # Names of float values by tensor and layout.
        self._plain, self._nchw = {}, {}
        # Constants of float16 by the tensor that DEQUANTIZE makes of them.
        self._unpacked = {op.outputs[0]: op.inputs[0] for op in self._graph.operators
                          if self._name(op) == "DEQUANTIZE"
                          and self._dtype(op.inputs[0]) == np.float16
                          and self._stored(op.inputs[0]) is not None}

    def _name(self, operator):
        code = self._codes[operator.opcodeIndex]
        return _NAMES[max(code.builtinCode, code.deprecatedBuiltinCode)]

    # -- tensors ------------------------------------------------------------------------------

    def _tensor(self, i):
        return self._graph.tensors[i]

    def _dtype(self, i):
        kind = self._tensor(i).type
        if kind not in _TYPES:
            raise Unsupported(f"tensor type {kind}")
        return _TYPES[kind]

    def _shape(self, i):
        return [int(d) for d in self._tensor(i).shape]

    def _stored(self, i):
        """A constant as the file has it, or None. float32 in place of float16."""
        if i in self._unpacked:
            return self._stored(self._unpacked[i]).astype(np.float32)
        data = self._buffers[self._tensor(i).buffer].data
        if data is None or len(data) == 0:
            return None
        values = np.frombuffer(np.asarray(data, np.uint8).tobytes(), self._dtype(i))
        return values.reshape(self._shape(i))

    def _scales(self, i):
        """(scales, zero points, axis) with zero points of unsigned activations."""
        info = self._tensor(i).quantization
        if info is None or info.scale is None or len(info.scale) == 0:
            raise Unsupported(f"tensor {i} is quantised without a scale")
        return (np.asarray(info.scale, np.float32), np.asarray(info.zeroPoint, np.int64),
                int(info.quantizedDimension))

    def _constant(self, values):
        self._count += 1
        name = f"c{self._count}"
        self._initializers.append(numpy_helper.from_array(np.array(values, order="C"), name))
        return name

    def _node(self, kind, inputs, outputs=1, **attributes):
        names = []
        for _ in range(outputs):
            self._count += 1
            names.append(f"v{self._count}")
        self._nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def _quantize_pair(self, name, i):
        """The float value rounded to the values of the tensor's type."""
        scale, zero = self._activation_parameters(i)
        return self._node("DequantizeLinear",
                          [self._node("QuantizeLinear", [name, scale, zero]), scale, zero])

    def _activation_parameters(self, i):
        scales, zeros, _ = self._scales(i)
        shift = 128 if self._dtype(i) == np.int8 else 0
        return (self._constant(np.float32(scales[0])),
                self._constant(np.uint8(zeros[0] + shift)))

    def real_values(self, i):
        """A constant as float32, or INT32 without a scale."""
        values = self._stored(i)
        if _is_quantized(values.dtype.type):
            scales, zeros, _ = self._scales(i)
            values = ((values.astype(np.float32) - zeros[0]) * scales[0]).astype(np.float32)
        return values.astype(np.float32) if values.dtype == np.float16 else values

    def _float_constant(self, i, order=None):
        """The same as an initializer, perhaps transposed."""
        values = self.real_values(i)
        return self._constant(values if order is None else values.transpose(order))

    def value(self, i):
        """The tensor's float value in TFLite's layout."""
        if i not in self._plain:
            if self._stored(i) is not None:
                self._plain[i] = self._float_constant(i)
            else:
                self._plain[i] = self._relaid(self._nchw[i], self._shape(i), _TO_NHWC)
        return self._plain[i]

    def image(self, i):
        """The float value of an image in ONNX's layout."""
        if i not in self._nchw:
            self._nchw[i] = self._node("Transpose", [self.value(i)], perm=_TO_NCHW)
        return self._nchw[i]

    def _relaid(self, name, shape, order):
        if shape[1] == shape[2] == 1:
            return self._node("Reshape", [name, self._constant(np.asarray(shape, np.int64))])
        return self._node("Transpose", [name], perm=order)

    def is_dynamic(self, x, w):
        """Whether float32 is multiplied with 8 bits."""
        return self._dtype(x) == np.float32 and _is_quantized(self._dtype(w))

    def dynamic_product(self, x, w):
        """The product of the rows of `x` with the transposed INT8 weights."""
        values, (scales, zeros, axis) = self._stored(w), self._scales(w)
        if values.dtype != np.int8 or zeros.any() or (len(scales) > 1 and axis != 0):
            raise Unsupported("dynamically quantised weights of that form")
        bytes_, scale, zero = self._node("DynamicQuantizeLinear", [self.value(x)], outputs=3)
        sums = self._node("MatMulInteger", [bytes_, self._constant(values.T), zero])
        sums = self._node("Cast", [sums], to=TensorProto.FLOAT)
        step = self._node("Mul", [scale, self._constant(scales)])
        return self._node("Mul", [sums, step])

    def weights(self, i, order=None, is_dynamic=False):
        """Weights with `order` as their transposition; quantised ones behind DequantizeLinear,
        or as float32 if they are `is_dynamic`."""
        values = self._stored(i)
        if values is None:
            raise Unsupported("weights that are no constant")
        order = order or tuple(range(values.ndim))
        if not _is_quantized(values.dtype.type):
            return self._constant(values.astype(np.float32).transpose(order))
        scales, zeros, axis = self._scales(i)
        if is_dynamic:
            along = scales.reshape([-1 if k == axis else 1 for k in range(values.ndim)])
            return self._constant((values.astype(np.float32) * along).transpose(order))
        if values.dtype == np.uint8:
            values, zeros = (values.astype(np.int16) - 128).astype(np.int8), zeros - 128
        many = len(scales) > 1
        attributes = {"axis": order.index(axis)} if many else {}
        return self._node(
            "DequantizeLinear",
            [self._constant(values.transpose(order)),
             self._constant(scales if many else np.float32(scales[0])),
             self._constant((zeros if many else zeros[0]).astype(np.int8))], **attributes)

    def bias(self, i):
        values = self._stored(i)
        if values.dtype != np.int32:
            return self._constant(values.astype(np.float32))
        scales, _, _ = self._scales(i)
        many = len(scales) > 1
        attributes = {"axis": 0} if many else {}
        zeros = np.zeros(len(scales), np.int32)
        return self._node("DequantizeLinear",
                          [self._constant(values),
                           self._constant(scales if many else np.float32(scales[0])),
                           self._constant(zeros if many else np.int32(0))], **attributes)

    def finish_value(self, i, name, activation=0, is_image=False):
        """Applies an output's activation and quantisation to an operator's float result."""
        kinds = schema.ActivationFunctionType
        if self._clips_itself(i, activation):
            pass
        elif activation == kinds.RELU6:
            name = self._node("Clip", [name, self._constant(np.float32(0)),
                                       self._constant(np.float32(6))])
        elif activation == kinds.RELU:
            name = self._node("Relu", [name])
        elif activation != kinds.NONE:
            raise Unsupported(f"activation {activation}")
        if _is_quantized(self._dtype(i)):
            name = self._quantize_pair(name, i)
        (self._nchw if is_image else self._plain)[i] = name

    def _clips_itself(self, i, activation):
        """Whether rounding to the tensor's range has the effect of the activation."""
        kinds = schema.ActivationFunctionType
        if activation not in (kinds.RELU, kinds.RELU6) or not _is_quantized(self._dtype(i)):
            return False
        scales, zeros, _ = self._scales(i)
        limits = np.iinfo(self._dtype(i))
        most = (limits.max - zeros[0]) * scales[0]
        return zeros[0] == limits.min and (activation == kinds.RELU or most < 6 + scales[0] / 2)

    # -- the graph ----------------------------------------------------------------------------

    def convert(self):
        inputs = []
        for i in self._graph.inputs:
            name, dtype = f"input_{i}", self._dtype(i)
            if dtype not in _ONNX_TYPES:
                raise Unsupported(f"input of {dtype.__name__}")
            inputs.append(helper.make_tensor_value_info(name, _ONNX_TYPES[dtype], self._shape(i)))
            if _is_quantized(dtype):
                name = self._node("DequantizeLinear", [name, *self._activation_parameters(i)])
            self._plain[i] = name
        for operator in self._graph.operators:
            if operator.outputs[0] in self._unpacked:
                continue
            name = self._name(operator)
            handler = getattr(_Operators, name.lower(), None)
            if handler is None:
                raise Unsupported(f"operator {name}")
            handler(self, operator, operator.builtinOptions)
        outputs = [self._output(i) for i in self._graph.outputs]
        graph = helper.make_graph(self._nodes, "main", inputs, outputs, self._initializers)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)],
                                  ir_version=8)
        onnx.checker.check_model(model)
        offset = lambda i: 128 if self._dtype(i) == np.int8 else 0  # noqa: E731
        return Converted(model, [offset(i) for i in self._graph.inputs],
                         [offset(i) for i in self._graph.outputs])

    def _output(self, i):
        name, dtype = f"output_{i}", self._dtype(i)
        value = self.value(i)
        if _is_quantized(dtype):
            self._nodes.append(helper.make_node(
                "QuantizeLinear", [value, *self._activation_parameters(i)], [name]))
        else:
            self._nodes.append(helper.make_node("Identity", [value], [name]))
        return helper.make_tensor_value_info(name, _ONNX_TYPES[dtype], self._shape(i))


def _pads(sizes, windows, strides, padding):
    """ONNX's pads of an image for TFLite's padding: all beginnings, then all ends."""
    if padding == schema.Padding.VALID:
        return [0] * 4
    totals = [max(0, (-(-size // stride) - 1) * stride + window - size)
              for size, window, stride in zip(sizes, windows, strides)]
    return [t // 2 for t in totals] + [t - t // 2 for t in totals]


class _Operators:
    """One function for each of TFLite's operators: (converter, operator, its options)."""

    def conv_2d(c, op, options, group=1, order=(0, 3, 1, 2)):
        x, w = op.inputs[0], op.inputs[1]
        filter_shape = c._shape(w)
        dilations = [options.dilationHFactor, options.dilationWFactor]
        windows = [(size - 1) * d + 1 for size, d in zip(filter_shape[1:3], dilations)]
        strides = [options.strideH, options.strideW]
        inputs = [c.image(x), c.weights(w, order, c.is_dynamic(x, w))]
        if len(op.inputs) > 2 and op.inputs[2] >= 0:
            inputs.append(c.bias(op.inputs[2]))
        y = c._node("Conv", inputs, group=group, strides=strides, dilations=dilations,
                    pads=_pads(c._shape(x)[1:3], windows, strides, options.padding))
        c.finish_value(op.outputs[0], y, options.fusedActivationFunction, is_image=True)

    def depthwise_conv_2d(c, op, options):
        _Operators.conv_2d(c, op, options, c._shape(op.inputs[0])[3], (3, 0, 1, 2))

    def fully_connected(c, op, options):
        x, w = op.inputs[0], op.inputs[1]
        shape, depth = c._shape(op.outputs[0]), c._shape(w)[1]
        value = c.value(x)
        has_bias = len(op.inputs) > 2 and op.inputs[2] >= 0
        is_dynamic = c.is_dynamic(x, w)
        if is_dynamic and c._shape(x)[-1] != depth:
            raise Unsupported("a dynamically quantised full connection of flattened rows")
        if is_dynamic or (options.keepNumDims and len(shape) > 2):
            y = c.dynamic_product(x, w) if is_dynamic else c._node(
                "MatMul", [value, c.weights(w, (1, 0))])
            if has_bias:
                y = c._node("Add", [y, c.bias(op.inputs[2])])
        else:
            if c._shape(x) != [int(np.prod(c._shape(x))) // depth, depth]:
                value = c._node("Reshape", [value, c._constant(np.asarray([-1, depth], np.int64))])
            inputs = [value, c.weights(w)] + ([c.bias(op.inputs[2])] if has_bias else [])
            y = c._node("Gemm", inputs, transB=1)
        c.finish_value(op.outputs[0], y, options.fusedActivationFunction)

    def _pool(c, op, options, kind, **attributes):
        x = op.inputs[0]
        windows = [options.filterHeight, options.filterWidth]
        strides = [options.strideH, options.strideW]
        sizes = c._shape(x)[1:3]
        if kind == "AveragePool" and windows == sizes and strides == [1, 1]:
            y = c._node("GlobalAveragePool", [c.image(x)])
        else:
            y = c._node(kind, [c.image(x)], kernel_shape=windows, strides=strides,
                        pads=_pads(sizes, windows, strides, options.padding), **attributes)
        c.finish_value(op.outputs[0], y, options.fusedActivationFunction, is_image=True)

    def average_pool_2d(c, op, options):
        _Operators._pool(c, op, options, "AveragePool", count_include_pad=0)

    def max_pool_2d(c, op, options):
        _Operators._pool(c, op, options, "MaxPool")

    def mean(c, op, options):
        axes = sorted(int(a) for a in np.ravel(c._stored(op.inputs[1])))
        if axes == [1, 2] and options.keepDims:
            y = c._node("GlobalAveragePool", [c.image(op.inputs[0])])
            return c.finish_value(op.outputs[0], y, is_image=True)
        if axes == [1, 2]:
            y = c._node("GlobalAveragePool", [c.image(op.inputs[0])])
            y = c._node("Reshape", [y, c._constant(np.asarray(c._shape(op.outputs[0]), np.int64))])
            return c.finish_value(op.outputs[0], y)
        y = c._node("ReduceMean", [c.value(op.inputs[0])], axes=axes,
                    keepdims=int(options.keepDims))
        c.finish_value(op.outputs[0], y)

    def _binary(c, op, options, kind):
        a, b = op.inputs[0], op.inputs[1]
        # The result is an image only if the other input is an image or a value for each channel.
        image = any(i in c._nchw and c._stored(i) is None for i in (a, b))
        names = []
        for i in (a, b):
            stored = c._stored(i)
            if not image:
                names.append(c.value(i))
            elif stored is None:
                image = image and len(c._shape(i)) == 4
                names.append(c.image(i))
            elif stored.size == stored.shape[-1] if stored.ndim else True:
                full = stored.reshape((1, -1, 1, 1)) if stored.ndim else stored
                if stored.dtype != np.float32:
                    raise Unsupported("a quantised constant beside an image")
                names.append(c._constant(full))
            else:
                raise Unsupported("a constant of that shape beside an image")
        y = c._node(kind, names)
        c.finish_value(op.outputs[0], y, options.fusedActivationFunction, is_image=image)

    def add(c, op, options):
        _Operators._binary(c, op, options, "Add")

    def mul(c, op, options):
        _Operators._binary(c, op, options, "Mul")

    def sub(c, op, options):
        _Operators._binary(c, op, options, "Sub")

    def squared_difference(c, op, _):
        difference = c._node("Sub", [c.value(op.inputs[0]), c.value(op.inputs[1])])
        c.finish_value(op.outputs[0], c._node("Mul", [difference, difference]))

    def rsqrt(c, op, _):
        root = c._node("Sqrt", [c.value(op.inputs[0])])
        c.finish_value(op.outputs[0], c._node("Reciprocal", [root]))

    def gelu(c, op, options):
        """In the form that ONNX Runtime and OpenVINO know."""
        if options.approximate:
            raise Unsupported("GELU by tanh")
        x = c.value(op.inputs[0])
        error = c._node("Erf", [c._node("Div", [x, c._constant(np.float32(np.sqrt(2)))])])
        error = c._node("Add", [error, c._constant(np.float32(1))])
        y = c._node("Mul", [c._node("Mul", [x, error]), c._constant(np.float32(0.5))])
        c.finish_value(op.outputs[0], y)

    def softmax(c, op, options):
        if options.beta != 1:
            raise Unsupported("softmax with a factor")
        c.finish_value(op.outputs[0], c._node("Softmax", [c.value(op.inputs[0])], axis=-1))

    def logistic(c, op, _):
        c.finish_value(op.outputs[0], c._node("Sigmoid", [c.value(op.inputs[0])]))

    def tanh(c, op, _):
        c.finish_value(op.outputs[0], c._node("Tanh", [c.value(op.inputs[0])]))

    def relu(c, op, _):
        _Operators._alike(c, op, lambda x: c._node("Relu", [x]))

    def relu6(c, op, _):
        limits = [c._constant(np.float32(0)), c._constant(np.float32(6))]
        _Operators._alike(c, op, lambda x: c._node("Clip", [x, *limits]))

    def quantize(c, op, _):
        _Operators._alike(c, op, lambda x: x)

    def dequantize(c, op, _):
        _Operators._alike(c, op, lambda x: x)

    def _alike(c, op, make):
        """Element by element, in the layout of the input."""
        x = op.inputs[0]
        image = x in c._nchw and x not in c._plain
        c.finish_value(op.outputs[0], make(c.image(x) if image else c.value(x)), is_image=image)

    def reshape(c, op, _):
        shape = c._constant(np.asarray(c._shape(op.outputs[0]), np.int64))
        c.finish_value(op.outputs[0], c._node("Reshape", [c.value(op.inputs[0]), shape]))

    squeeze = expand_dims = reshape

    def transpose(c, op, _):
        order = [int(i) for i in c._stored(op.inputs[1])]
        c.finish_value(op.outputs[0], c._node("Transpose", [c.value(op.inputs[0])], perm=order))

    def pad(c, op, _):
        around = c._stored(op.inputs[1]).astype(np.int64)
        image = len(around) == 4
        if image:
            around = around[list(_TO_NCHW)]
        pads = c._constant(around.T.reshape(-1))
        x = c.image(op.inputs[0]) if image else c.value(op.inputs[0])
        # Pads with the real value zero, which a quantised zero point represents.
        y = c._node("Pad", [x, pads, c._constant(np.float32(0))], mode="constant")
        c.finish_value(op.outputs[0], y, is_image=image)

    def concatenation(c, op, options):
        rank = len(c._shape(op.outputs[0]))
        axis = options.axis % rank
        image = rank == 4 and all(i in c._nchw for i in op.inputs)
        names = [c.image(i) if image else c.value(i) for i in op.inputs]
        y = c._node("Concat", names, axis=(0, 2, 3, 1)[axis] if image else axis)
        c.finish_value(op.outputs[0], y, options.fusedActivationFunction, is_image=image)

    def resize_bilinear(c, op, options):
        mode = "asymmetric"
        if options.alignCorners:
            mode = "align_corners"
        elif options.halfPixelCenters:
            mode = "half_pixel"
        shape = c._shape(op.outputs[0])
        sizes = c._constant(np.asarray([shape[i] for i in _TO_NCHW], np.int64))
        y = c._node("Resize", [c.image(op.inputs[0]), "", "", sizes], mode="linear",
                    coordinate_transformation_mode=mode)
        c.finish_value(op.outputs[0], y, is_image=True)

    def batch_matmul(c, op, options):
        sides = []
        for i, adjoint in zip(op.inputs, (options.adjX, options.adjY)):
            order = list(range(len(c._shape(i))))
            order[-2:] = order[:-3:-1]
            name = c.value(i)
            sides.append(c._node("Transpose", [name], perm=order) if adjoint else name)
        c.finish_value(op.outputs[0], c._node("MatMul", sides))

    def unidirectional_sequence_lstm(c, op, options):
        inputs = list(op.inputs)
        if c._dtype(inputs[0]) != np.float32 or options.cellClip or options.timeMajor:
            raise Unsupported("an LSTM that is quantised, clips, or has time first")
        if options.fusedActivationFunction != schema.ActivationFunctionType.TANH:
            raise Unsupported("an LSTM without tanh")
        if any(i >= 0 for i in inputs[9:12] + inputs[16:18] + inputs[20:]) or inputs[1] < 0:
            raise Unsupported("an LSTM with peepholes, projection, norms, or coupled gates")
        # TFLite's gates are input, forget, cell, output; ONNX's input, output, forget, cell.
        order = (0, 3, 1, 2)

        def gates(first):
            return [c.real_values(inputs[first + k]) for k in order]

        biases = np.concatenate(gates(12))
        names = [c._constant(np.concatenate(gates(first))[None]) for first in (1, 5)]
        names.append(c._constant(np.concatenate([biases, np.zeros_like(biases)])[None]))
        x = c._node("Transpose", [c.value(inputs[0])], perm=(1, 0, 2))
        y = c._node("LSTM", [x, *names], hidden_size=c._shape(op.outputs[0])[-1])
        y = c._node("Squeeze", [y, c._constant(np.asarray([1], np.int64))])
        c.finish_value(op.outputs[0], c._node("Transpose", [y], perm=(1, 0, 2)))


def convert(data):
    """Converts the bytes of a .tflite file to Converted; raises Unsupported if it cannot."""
    return _Converter(data).convert()
