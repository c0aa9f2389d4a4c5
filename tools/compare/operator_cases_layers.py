"""Random cases of convolutions, pools, products, resizing, recurrent layers, and the rest."""
import numpy as np

from operator_cases import ACTIVATIONS, TENSOR_TYPES, case
from operator_models import QUANTISED, Tensor

SAME, VALID = 0, 1


def products_output(d, x, weight_scale, terms):
    """An output for sums of products: its range fits most results."""
    type_ = d.tensors[x].type
    if type_ not in QUANTISED:
        return d.output(type_)
    scale = d.quantisation_of(x)[0] * weight_scale * 74 * (0.3 + terms ** 0.5)
    steps = 10000 if type_ == "i16" else 60
    magnitude = scale * (9000 if type_ == "i16" else 74) / steps
    return d.output(type_, d.quantisation(type_, magnitude * d.real(0.7, 1.5)))


def filter_for(d, family, shape, channel_dim):
    """(filter, its least scale). Families: f32, u8, i8 per channel or not, hybrid, hybrid4, i16, i4."""
    d.is_rounded = family.startswith("hybrid")
    if family == "f32":
        return d.tensor("f32", shape, -1, 1, constant=True), 1
    if family == "u8":
        scale = d.real(0.002, 0.02)
        return d.tensor("u8", shape, quantisation=(scale, d.between(1, 254)), constant=True), scale
    type_ = "i4" if family.endswith("4") else "i8"
    channels = shape[channel_dim] if not d.is_rounded and d.between(0, 3) else 1
    if channels > 1:
        scales = [d.real(0.002, 0.02) for _ in range(channels)]
    else:
        scales = [d.real(0.002, 0.02)]
    value = d.random.randint(-7 if type_ == "i4" else -127, 8 if type_ == "i4" else 128, shape)
    index = d.add(Tensor(type_, list(shape), value.astype(np.int8), scales, [0] * len(scales),
                         channel_dim, constant=True))
    return index, min(scales)


def bias_for(d, family, x, weights, channels):
    if family == "f32" or d.is_rounded:
        return d.tensor("f32", [channels], -1, 1, constant=True)
    scales = [d.quantisation_of(x)[0] * s for s in d.tensors[weights].scales]
    type_ = "i64" if family == "i16" and d.coin() else "i32"
    value = d.random.randint(-2000, 2001, [channels])
    return d.add(Tensor(type_, [channels], value.astype(np.int64 if type_ == "i64" else np.int32),
                        scales, [0] * len(scales), 0, constant=True))


def activation_of(d):
    """A layer that rounds its activations gets none with an upper limit, which hides its errors."""
    return d.pick(ACTIVATIONS[:4] if d.is_rounded else ACTIVATIONS)


def bias_type(d, index):
    """The option quantizedBiasType. Without it, the interpreter reads a bias of INT32 as INT64."""
    is_narrow = index >= 0 and d.tensors[index].type == "i32" and d.tensors[d.inputs[0]].type == "i16"
    return TENSOR_TYPES["i32" if is_narrow else "f32"]


FAMILIES = ("f32", "u8", "i8", "i8", "hybrid", "hybrid4", "i16", "i4")
ACTIVATION_TYPES = {"f32": "f32", "u8": "u8", "i8": "i8", "hybrid": "f32", "hybrid4": "f32",
                    "i16": "i16", "i4": "i8"}


@case("CONV_2D", "DEPTHWISE_CONV_2D")
def convolution(d, name):
    family = d.pick(FAMILIES)
    kernel = [d.between(1, 3), d.between(1, 3)]
    dilation = [d.pick((1, 1, 2)), d.pick((1, 1, 2))]
    size = [d.between((k - 1) * s + 1, 9) for k, s in zip(kernel, dilation)]
    depth, channels = d.between(1, 9), d.between(1, 9)
    x = d.tensor(ACTIVATION_TYPES[family], [d.between(1, 2), *size, depth])
    fields = {"padding": d.pick((SAME, VALID)), "strideW": d.between(1, 2),
              "strideH": d.between(1, 2), "dilationWFactor": dilation[1],
              "dilationHFactor": dilation[0]}
    if name == "CONV_2D":
        weights, scale = filter_for(d, family, [channels, *kernel, depth], 0)
        terms = kernel[0] * kernel[1] * depth
        options = "Conv2DOptions"
    else:
        fields["strideH"] = fields["strideW"]
        multiplier = d.pick((1, 1, 2, 3))
        channels, options = depth * multiplier, "DepthwiseConv2DOptions"
        weights, scale = filter_for(d, family, [1, *kernel, channels], 3)
        terms = kernel[0] * kernel[1]
        fields["depthMultiplier"] = multiplier
    operands = [x, weights]
    operands.append(bias_for(d, family, x, weights, channels))
    products_output(d, x, scale, terms)
    if name == "CONV_2D":
        fields["quantizedBiasType"] = bias_type(d, operands[2])
    d.operator(name, operands, options, fusedActivationFunction=activation_of(d), **fields)


@case("TRANSPOSE_CONV")
def transpose_convolution(d, name):
    family = d.pick(("f32", "u8", "i8", "i16"))
    n, h, w, depth, channels = (d.between(1, 4) for _ in range(5))
    kernel, stride = [d.between(1, 3), d.between(1, 3)], [d.between(1, 2), d.between(1, 2)]
    padding = d.pick((SAME, VALID))
    if padding == SAME:
        size = [h * stride[0], w * stride[1]]
    else:
        size = [(own - 1) * s + k for own, s, k in zip((h, w), stride, kernel)]
    x = d.tensor(ACTIVATION_TYPES[family], [n, h, w, depth])
    weights, scale = filter_for(d, family, [channels, *kernel, depth], 0)
    operands = [d.ints([n, *size, channels]), weights, x]
    if d.coin():
        operands.append(bias_for(d, family, x, weights, channels))
    products_output(d, x, scale, depth * 2)
    d.operator(name, operands, "TransposeConvOptions", padding=padding, strideH=stride[0],
               strideW=stride[1], quantizedBiasType=bias_type(d, operands[-1]))


@case("CONV_3D")
def convolution_3d(d, name):
    kernel = [d.between(1, 2) for _ in range(3)]
    size = [d.between(k, 4) for k in kernel]
    depth, channels = d.between(1, 3), d.between(1, 3)
    x = d.tensor("f32", [d.between(1, 2), *size, depth])
    weights = d.tensor("f32", [*kernel, depth, channels], -1, 1, constant=True)
    operands = [x, weights]
    if d.coin():
        operands.append(d.tensor("f32", [channels], constant=True))
    d.output("f32")
    d.operator(name, operands, "Conv3DOptions", padding=d.pick((SAME, VALID)), strideD=1,
               strideW=d.between(1, 2), strideH=d.between(1, 2),
               fusedActivationFunction=d.pick(ACTIVATIONS), dilationDFactor=1, dilationWFactor=1,
               dilationHFactor=1)


@case("CONV_3D_TRANSPOSE")
def transpose_convolution_3d(d, name):
    kernel = [d.between(1, 2) for _ in range(3)]
    size = [d.between(1, 3) for _ in kernel]
    n, depth, channels = d.between(1, 2), d.between(1, 3), d.between(1, 3)
    x = d.tensor("f32", [n, *size, depth])
    weights = d.tensor("f32", [*kernel, channels, depth], -1, 1, constant=True)
    shape = d.ints([n, *(own + k - 1 for own, k in zip(size, kernel)), channels])
    d.output("f32")
    d.operator(name, [shape, weights, x], "Conv3DOptions", padding=VALID, strideD=1, strideW=1,
               strideH=1, fusedActivationFunction=0, dilationDFactor=1, dilationWFactor=1,
               dilationHFactor=1)


@case("FULLY_CONNECTED")
def fully_connected(d, name):
    family = d.pick(FAMILIES)
    depth, units = d.between(1, 40), d.between(1, 12)
    shape = d.shape(0, 2) + [depth]
    if len(shape) == 1:
        shape = [1, depth]
    x = d.tensor(ACTIVATION_TYPES[family], shape)
    weights, scale = filter_for(d, family, [units, depth], 0)
    operands = [x, weights, bias_for(d, family, x, weights, units) if d.coin() else -1]
    products_output(d, x, scale, depth)
    d.operator(name, operands, "FullyConnectedOptions", quantizedBiasType=bias_type(d, operands[2]),
               fusedActivationFunction=activation_of(d), keepNumDims=d.coin())


@case("BATCH_MATMUL")
def batch_matmul(d, name):
    type_ = d.pick(("f32", "f32", "i8", "i16"))
    rows, inner, columns = d.between(1, 6), d.between(1, 9), d.between(1, 6)
    batch = d.shape(0, 2, 3)
    other = [1 if d.between(0, 3) == 0 else size for size in batch]
    adjoint = d.coin(), d.coin()
    a = d.tensor(type_, batch + ([inner, rows] if adjoint[0] else [rows, inner]))
    b = d.maybe_constant(type_, other + ([columns, inner] if adjoint[1] else [inner, columns]))
    scale = d.quantisation_of(b)[0] if type_ in QUANTISED else 1
    products_output(d, a, scale * (100 if type_ == "i16" else 1), inner)
    d.operator(name, [a, b], "BatchMatMulOptions", adjX=adjoint[0], adjY=adjoint[1])


@case("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
def pool(d, name):
    type_ = "f32" if name == "L2_POOL_2D" else d.pick(("f32", "u8", "i8", "i16"))
    window = [d.between(1, 3), d.between(1, 3)]
    x = d.tensor(type_, [d.between(1, 2), *(d.between(k, 8) for k in window), d.between(1, 9)])
    d.like(x)
    d.operator(name, [x], "Pool2DOptions", padding=d.pick((SAME, VALID)), strideW=d.between(1, 3),
               strideH=d.between(1, 3), filterHeight=window[0], filterWidth=window[1],
               fusedActivationFunction=d.pick(ACTIVATIONS))


@case("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(d, name):
    x = d.tensor(d.pick(("f32", "u8", "i8", "i16")),
                 [d.between(1, 2), d.between(1, 6), d.between(1, 6), d.between(1, 5)])
    corners = d.pick(((False, False), (True, False), (False, True)))
    d.like(x)
    options = ("ResizeBilinearOptions" if name == "RESIZE_BILINEAR" else
               "ResizeNearestNeighborOptions")
    d.operator(name, [x, d.ints([d.between(1, 12), d.between(1, 12)])], options,
               alignCorners=corners[0], halfPixelCenters=corners[1])


@case("RFFT2D")
def rfft2d(d, name):
    lengths = [2 ** d.between(0, 3), 2 ** d.between(1, 4)]
    x = d.tensor("f32", d.shape(0, 2, 3) + lengths)
    d.output("c64")
    d.operator(name, [x, d.ints(lengths)], "Rfft2dOptions")


@case("SVDF")
def svdf(d, name):
    rank, units = d.between(1, 2), d.between(1, 4)
    filters, inputs, memory = rank * units, d.between(1, 6), d.between(1, 5)
    n = d.between(1, 3)
    x = d.tensor("f32", [n, inputs])
    features = d.tensor("f32", [filters, inputs], constant=True)
    time = d.tensor("f32", [filters, memory], constant=True)
    bias = d.tensor("f32", [units], constant=True) if d.coin() else -1
    state = d.variable("f32", [n, memory * filters])
    d.output("f32")
    d.operator(name, [x, features, time, bias, state], "SVDFOptions", rank=rank,
               fusedActivationFunction=d.pick((0, 1)))


@case("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")
def rnn(d, name):
    n, steps, inputs, units = (d.between(1, 4) for _ in range(4))
    major = d.coin()
    shape = [n, inputs] if name == "RNN" else [steps, n, inputs] if major else [n, steps, inputs]
    x = d.tensor("f32", shape)
    weights = d.tensor("f32", [units, inputs], -1, 1, constant=True)
    recurrent = d.tensor("f32", [units, units], -1, 1, constant=True)
    bias = d.tensor("f32", [units], constant=True)
    state = d.variable("f32", [n, units])
    d.output("f32")
    fields = {"fusedActivationFunction": d.pick((0, 1, 3, 4))}
    if name != "RNN":
        fields["timeMajor"] = major
    d.operator(name, [x, weights, recurrent, bias, state],
               "RNNOptions" if name == "RNN" else "SequenceRNNOptions", **fields)


@case("BIDIRECTIONAL_SEQUENCE_RNN")
def bidirectional_rnn(d, name):
    n, steps, inputs = (d.between(1, 4) for _ in range(3))
    major, merge = d.coin(), d.coin()
    x = d.tensor("f32", [steps, n, inputs] if major else [n, steps, inputs])
    operands = [x]
    for _ in range(2):
        units = d.between(1, 4)
        operands += [d.tensor("f32", [units, inputs], -1, 1, constant=True),
                     d.tensor("f32", [units, units], -1, 1, constant=True),
                     d.tensor("f32", [units], constant=True), d.variable("f32", [n, units])]
    d.output("f32")
    if not merge:
        d.output("f32")
    d.operator(name, operands + [-1] * 3, "BidirectionalSequenceRNNOptions", timeMajor=major,
               fusedActivationFunction=d.pick((0, 1, 3, 4)), mergeOutputs=merge)


def lstm_operands(d, n, inputs, units, outputs):
    """The 20 weights and biases of a float LSTM, with and without peepholes and a projection."""
    def weights(*shape):
        return d.tensor("f32", list(shape), -1, 1, constant=True)

    coupled, peephole, projects = d.between(0, 3) == 0, d.between(0, 2) == 0, outputs != units
    operands = [-1 if coupled else weights(units, inputs)]
    operands += [weights(units, inputs) for _ in range(3)]
    operands += [-1 if coupled else weights(units, outputs)]
    operands += [weights(units, outputs) for _ in range(3)]
    operands += [weights(units) if peephole and not coupled else -1]
    operands += [weights(units) if peephole else -1 for _ in range(2)]
    operands += [-1 if coupled else weights(units)]
    operands += [weights(units) for _ in range(3)]
    operands += [weights(outputs, units) if projects else -1]
    operands += [weights(outputs) if projects and d.coin() else -1]
    return operands + [d.variable("f32", [n, outputs]), d.variable("f32", [n, units])]


@case("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")
def lstm(d, name):
    n, steps, inputs, units = (d.between(1, 4) for _ in range(4))
    outputs, major = (units if d.coin() else d.between(1, 4)), d.coin()
    shape = [n, inputs] if name == "LSTM" else [steps, n, inputs] if major else [n, steps, inputs]
    x = d.tensor("f32", shape)
    operands = [x] + lstm_operands(d, n, inputs, units, outputs)
    d.output("f32")
    fields = {"fusedActivationFunction": 4, "cellClip": d.pick((0.0, 1.0)),
              "projClip": d.pick((0.0, 1.0))}
    if name == "LSTM":
        fields["kernelType"] = 0
    else:
        fields["timeMajor"] = major
    d.operator(name, operands + [-1] * 4, "LSTMOptions" if name == "LSTM" else
               "UnidirectionalSequenceLSTMOptions", **fields)


@case("BIDIRECTIONAL_SEQUENCE_LSTM")
def bidirectional_lstm(d, name):
    n, steps, inputs, units = (d.between(1, 4) for _ in range(4))
    # The interpreter's merged results of sequences by batch do not repeat: it reads memory that
    # nothing has written.
    major, merge = d.pick(((False, False), (True, False), (True, True)))
    x = d.tensor("f32", [steps, n, inputs] if major else [n, steps, inputs])
    forward = lstm_operands(d, n, inputs, units, units)
    backward = lstm_operands(d, n, inputs, units, units)
    d.output("f32")
    if not merge:
        d.output("f32")
    d.operator(name, [x] + forward[:-2] + backward[:-2] + forward[-2:] + backward[-2:] + [-1] * 9,
               "BidirectionalSequenceLSTMOptions", fusedActivationFunction=4, timeMajor=major,
               cellClip=d.pick((0.0, 1.0)), projClip=0.0, mergeOutputs=merge)


@case("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")
def non_max_suppression(d, name):
    count = d.between(1, 12)
    corners = d.random.uniform(0, 4, [count, 2]).astype(np.float32)
    sizes = d.random.uniform(0.5, 3, [count, 2]).astype(np.float32)
    boxes = d.tensor("f32", [count, 4], value=np.concatenate([corners, corners + sizes], 1))
    scores = d.tensor("f32", [count], 0, 1)
    numbers = [np.array(value, np.float32) for value in
               (d.real(0.2, 0.8), d.real(0, 0.4), d.pick((0.0, 0.5)))]
    operands = [boxes, scores, d.ints(np.array(d.between(1, 6)))]
    operands += [d.tensor("f32", [], value=value, constant=True)
                 for value in numbers[:2 if name.endswith("V4") else 3]]
    d.output("i32")
    if name.endswith("V5"):
        d.output("f32")
    d.output("i32")
    d.operator(name, operands, "NonMaxSuppressionV4Options" if name.endswith("V4") else
               "NonMaxSuppressionV5Options")


@case("LSH_PROJECTION")
def lsh_projection(d, name):
    hashes = d.tensor("f32", [d.between(1, 4), d.between(1, 8)], constant=True)
    rows = d.between(1, 5)
    x = d.tensor(d.pick(("i32", "f32")), [rows, d.between(1, 3)])
    operands = [hashes, x]
    if d.coin():
        operands.append(d.tensor("f32", [rows], 0, 1))
    d.output("i32")
    d.operator(name, operands, "LSHProjectionOptions", type=d.pick((1, 2)))


@case("STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM",
      "STABLEHLO_SHIFT_LEFT")
def stablehlo_binary(d, name):
    type_, shape = d.pick(("f32", "i32") if name != "STABLEHLO_SHIFT_LEFT" else ("i32",)), d.shape()
    shifts = d.random.randint(0, 12, shape) if name == "STABLEHLO_SHIFT_LEFT" else None
    a, b = d.tensor(type_, shape), d.tensor(type_, shape, value=shifts)
    d.output(type_)
    d.operator(name, [a, b])


@case("STABLEHLO_CBRT")
def stablehlo_unary(d, name):
    x = d.tensor("f32", d.shape())
    d.output("f32")
    d.operator(name, [x])


@case("STABLEHLO_PAD")
def stablehlo_pad(d, name):
    shape = d.shape(1, 3)
    x = d.tensor("f32", shape)
    value = d.tensor("f32", [], constant=True)
    d.output("f32")
    d.operator(name, [x, value], second_options="StablehloPadOptions",
               edgePaddingLow=[d.between(0, 2) for _ in shape],
               edgePaddingHigh=[d.between(0, 2) for _ in shape],
               interiorPadding=[d.between(0, 1) for _ in shape])


@case("STABLEHLO_GATHER")
def stablehlo_gather(d, name):
    shape = d.shape(1, 3)
    rank = len(shape)
    batch = [d.between(1, 4) for _ in range(d.between(0 if rank > 1 else 1, 2))]
    index_map = d.random.permutation(rank)[:d.between(1, rank)].tolist()
    sizes = [d.between(1, size) if at in index_map else size for at, size in enumerate(shape)]
    collapsed = [at for at in range(rank) if sizes[at] == 1 and d.coin()]
    result_rank = len(batch) + rank - len(collapsed)
    offsets = sorted(d.random.permutation(result_rank)[:rank - len(collapsed)].tolist())
    indices = d.random.randint(-2, max(shape) + 2, [*batch, len(index_map)])
    has_tuples = len(index_map) != 1 or not batch or d.coin()
    x = d.tensor("f32", shape)
    tuples = d.ints(indices if has_tuples else indices[..., 0], d.pick(("i32", "i64")),
                    constant=False)
    y = d.output("f32")
    # The interpreter takes the shape of the result from the file.
    slices = iter([size for at, size in enumerate(sizes) if at not in collapsed])
    outer = iter(batch)
    d.tensors[y].shape = [next(slices) if at in offsets else next(outer)
                          for at in range(result_rank)]
    d.operator(name, [x, tuples], second_options="StablehloGatherOptions", offsetDims=offsets,
               collapsedSliceDims=collapsed, startIndexMap=index_map, indexVectorDim=len(batch),
               sliceSizes=sizes, indicesAreSorted=False)


@case("DILATE")
def dilate(d, name):
    shape = d.shape(1, 3)
    x = d.tensor("f32", shape)
    factors = d.ints([d.between(1, 3) for _ in shape])
    d.output("f32")
    d.operator(name, [x, factors, d.tensor("f32", [], constant=True)],
               second_options="DilateOptions")


@case("REDUCE_WINDOW")
def reduce_window(d, name):
    shape = d.shape(1, 3)
    window = [d.between(1, size) for size in shape]
    x = d.tensor("f32", shape)
    lists = [window, [d.between(1, 2) for _ in shape], [1 for _ in shape]]
    operands = [x, d.tensor("f32", [], value=np.float32(0), constant=True)]
    operands += [d.ints(values, "i64") for values in lists]
    d.output("f32")
    d.operator(name, operands, second_options="ReduceWindowOptions", reduceFunction=1)


