"""Random cases of TensorFlow Lite's operators, for random_operators.py.

A case is a function of a Draw. CASES has them by the operator's name. Shapes, types, quantisations
and options are drawn from the forms that TensorFlow Lite's kernels document.
"""
import numpy as np

from operator_models import QUANTISED

CASES = {}

ACTIVATIONS = (0, 0, 0, 1, 2, 3)  # NONE, RELU, RELU_N1_TO_1, RELU6
TENSOR_TYPES = {"f32": 0, "i32": 2, "i64": 4, "bool": 6}


def case(*names):
    """Registers a function for operators; it gets the name as its second argument."""
    def register(function):
        for name in names:
            CASES[name] = function
        return function
    return register


def broadcast_pair(d, highest=4):
    """Two shapes that broadcast to one."""
    shape = d.shape(1, highest)
    a, b = list(shape), list(shape)
    for i in range(len(shape)):
        choice = d.between(0, 5)
        if choice == 0:
            a[i] = 1
        if choice == 1:
            b[i] = 1
    if d.coin():
        cut = d.between(0, len(shape) - 1)
        if d.coin():
            a = a[cut:]
        else:
            b = b[cut:]
    return a, b


def spread(d, index):
    """The largest magnitude that a quantised tensor can have."""
    scale, zero = d.quantisation_of(index)
    low, high = {"i8": (-128, 127), "u8": (0, 255), "i16": (-32768, 32767)}[d.tensors[index].type]
    return scale * max(abs(low - zero), abs(high - zero))


def output_for(d, type_, magnitude):
    """An output whose range fits results up to `magnitude`."""
    if type_ not in QUANTISED:
        return d.output(type_)
    steps = 32767 if type_ == "i16" else 255
    return d.output(type_, d.quantisation(type_, magnitude * d.real(0.5, 2) / steps))


# Functions of one element: types, least and greatest input, options, kind of the output.
FREE, SAME, UNIT, HYPERBOLIC = "free", "same", "unit", "hyperbolic"
UNARY = {
    "ABS": (("f32", "i8", "i16", "i32"), -4, 4, "AbsOptions", FREE),
    "CEIL": (("f32",), -9, 9, None, SAME),
    "COS": (("f32",), -9, 9, "CosOptions", SAME),
    "ELU": (("f32", "i8"), -4, 4, None, FREE),
    "EXP": (("f32", "i8", "i16"), -4, 4, "ExpOptions", FREE),
    "FLOOR": (("f32",), -9, 9, None, SAME),
    "HARD_SWISH": (("f32", "u8", "i8"), -5, 5, "HardSwishOptions", FREE),
    "LOG": (("f32", "i8", "i16"), 0.01, 9, None, FREE),
    "LOGICAL_NOT": (("bool",), 0, 1, "LogicalNotOptions", SAME),
    "LOGISTIC": (("f32", "u8", "i8", "i16"), -6, 6, None, UNIT),
    "NEG": (("f32", "i32", "i64"), -9, 9, "NegOptions", SAME),
    "RELU": (("f32", "u8", "i8", "i16"), -9, 9, None, FREE),
    "RELU6": (("f32", "u8", "i8", "i16"), -9, 9, None, FREE),
    "RELU_N1_TO_1": (("f32", "u8", "i8"), -2, 2, None, FREE),
    "RELU_0_TO_1": (("f32", "u8", "i8"), -2, 2, None, FREE),
    "ROUND": (("f32",), -9, 9, None, SAME),
    "RSQRT": (("f32", "i8", "i16"), 0.01, 9, None, FREE),
    "SIGN": (("f32", "i32"), -2, 2, "SignOptions", SAME),
    "SIN": (("f32",), -9, 9, None, SAME),
    "SQRT": (("f32",), 0, 9, None, SAME),
    "SQUARE": (("f32",), -4, 4, "SquareOptions", SAME),
    "TANH": (("f32", "u8", "i8", "i16"), -3, 3, None, HYPERBOLIC),
    "ZEROS_LIKE": (("f32", "i32", "i64"), -4, 4, "ZerosLikeOptions", SAME),
}


@case(*UNARY)
def unary(d, name):
    types, low, high, options, kind = UNARY[name]
    type_ = d.pick(types)
    d.is_tabled = type_ == "i16" and kind in (UNIT, HYPERBOLIC)
    positive = name in ("LOG", "RSQRT") and type_ in QUANTISED
    quantisation = (d.real(0.005, 0.05), -128) if positive and type_ == "i8" else None
    value = None
    shape = d.shape(0 if d.between(0, 9) == 0 else 1)
    if positive and type_ == "i16":
        value = d.random.randint(1, 32768, shape)
    x = d.tensor(type_, shape, low, high, quantisation=quantisation, value=value)
    if type_ not in QUANTISED or kind == SAME:
        d.like(x)
    elif kind == UNIT:
        d.output(type_, {"u8": (1 / 256, 0), "i8": (1 / 256, -128), "i16": (1 / 32768, 0)}[type_])
    elif kind == HYPERBOLIC:
        d.output(type_, {"u8": (1 / 128, 128), "i8": (1 / 128, 0), "i16": (1 / 32768, 0)}[type_])
    elif name.startswith("RELU") and d.coin():
        d.like(x)
    else:
        output_for(d, type_, 4)
    if name == "ROUND":  # halves among the values
        tensor = d.tensors[x]
        tensor.value = (np.round(tensor.value * 2) / 2).astype(np.float32)
    d.operator(name, [x], options)


@case("GELU")
def gelu(d, name):
    type_ = d.pick(("f32", "i8", "u8"))
    x = d.tensor(type_, d.shape())
    output_for(d, type_, 3)
    d.operator(name, [x], "GeluOptions", approximate=d.coin())


@case("LEAKY_RELU")
def leaky_relu(d, name):
    type_ = d.pick(("f32", "u8", "i8", "i16"))
    x = d.tensor(type_, d.shape())
    output_for(d, type_, 4)
    d.operator(name, [x], "LeakyReluOptions", alpha=d.real(0.01, 0.9))


@case("PRELU")
def prelu(d, name):
    type_ = d.pick(("f32", "u8", "i8"))
    a, _ = broadcast_pair(d)
    slopes = [1] * (len(a) - 1) + [a[-1]] if d.coin() else list(a[1:]) or [1]
    x = d.tensor(type_, a)
    alpha = d.tensor(type_, slopes, -1, 1, constant=d.coin())
    output_for(d, type_, 4)
    d.operator(name, [x, alpha])


@case("SOFTMAX")
def softmax(d, name):
    type_ = d.pick(("f32", "u8", "i8", "i16"))
    d.is_tabled = type_ == "i16"
    x = d.tensor(type_, d.shape())
    d.output(type_, {"f32": None, "u8": (1 / 256, 0), "i8": (1 / 256, -128),
                     "i16": (1 / 32768, 0)}[type_])
    d.operator(name, [x], "SoftmaxOptions", beta=d.pick((1.0, 0.5, 2.0)))


@case("LOG_SOFTMAX")
def log_softmax(d, name):
    type_ = d.pick(("f32", "u8", "i8"))
    x = d.tensor(type_, d.shape())
    d.output(type_, {"f32": None, "u8": (16 / 256, 255), "i8": (16 / 256, 127)}[type_])
    d.operator(name, [x], "LogSoftmaxOptions")


@case("L2_NORMALIZATION")
def l2_normalization(d, name):
    type_ = d.pick(("f32", "u8", "i8"))
    x = d.tensor(type_, d.shape())
    d.output(type_, {"f32": None, "u8": (1 / 128, 128), "i8": (1 / 128, 0)}[type_])
    d.operator(name, [x], "L2NormOptions")


@case("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(d, name):
    x = d.tensor("f32", d.shape(4, 4))
    d.output("f32")
    d.operator(name, [x], "LocalResponseNormalizationOptions", radius=d.between(0, 4),
               bias=d.real(0.5, 2), alpha=d.real(0.01, 1), beta=d.real(0.2, 1))


# Functions of two elements.
@case("ADD", "SUB", "MUL", "DIV")
def arithmetic(d, name):
    types = ("f32", "i32", "u8") if name == "DIV" else ("f32", "f32", "i32", "i64", "u8", "i8",
                                                       "i16")
    type_ = d.pick(types)
    shapes = broadcast_pair(d)
    nonzero = name == "DIV" and type_ != "f32"
    a = d.tensor(type_, shapes[0])
    value, quantisation = None, None
    if nonzero:
        value = d.random.randint(1, 9, shapes[1]) * (d.random.randint(0, 2, shapes[1]) * 2 - 1)
        if type_ == "u8":
            value, quantisation = d.random.randint(20, 256, shapes[1]), (0.02, 0)
    b = d.maybe_constant(type_, shapes[1], value=value, quantisation=quantisation)
    if type_ in QUANTISED:
        sizes = spread(d, a), spread(d, b)
        output_for(d, type_, {"MUL": sizes[0] * sizes[1], "DIV": 2}.get(name, sum(sizes)))
    else:
        d.output(type_)
    activation = d.pick(ACTIVATIONS) if type_ not in ("i64",) else 0
    options = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions"}
    d.operator(name, [a, b], options[name], fusedActivationFunction=activation)


@case("FLOOR_DIV", "FLOOR_MOD")
def floor_division(d, name):
    type_ = d.pick(("f32", "i32", "i64") if name == "FLOOR_MOD" else ("f32", "i32"))
    shapes = broadcast_pair(d)
    a = d.tensor(type_, shapes[0], -30, 30)
    signs = d.random.randint(0, 2, shapes[1]) * 2 - 1
    b = d.maybe_constant(type_, shapes[1], value=d.random.randint(1, 9, shapes[1]) * signs)
    d.output(type_)
    d.operator(name, [a, b], "FloorDivOptions" if name == "FLOOR_DIV" else "FloorModOptions")


@case("POW")
def power(d, name):
    type_ = d.pick(("f32", "f32", "i32"))
    shapes = broadcast_pair(d)
    a = d.tensor(type_, shapes[0], *((0.1, 3) if type_ == "f32" else (-4, 4)))
    b = d.maybe_constant(type_, shapes[1], **({"low": -2, "high": 2} if type_ == "f32" else
                                              {"low": 0, "high": 4}))
    d.output(type_)
    d.operator(name, [a, b], "PowOptions")


@case("ATAN2")
def arc_tangent(d, name):
    shapes = broadcast_pair(d)
    shape = shapes[0] if len(shapes[0]) >= len(shapes[1]) else shapes[1]
    a, b = d.tensor("f32", shape), d.maybe_constant("f32", shape)
    d.output("f32")
    d.operator(name, [a, b], "ATan2Options")


@case("MAXIMUM", "MINIMUM")
def extremum(d, name):
    type_ = d.pick(("f32", "i32", "i64", "u8", "i8", "i16"))
    shapes = broadcast_pair(d)
    quantisation = d.quantisation(type_)
    a = d.tensor(type_, shapes[0], quantisation=quantisation)
    b = d.maybe_constant(type_, shapes[1], quantisation=quantisation)
    d.like(a)
    d.operator(name, [a, b], "MaximumMinimumOptions")


@case("SQUARED_DIFFERENCE")
def squared_difference(d, name):
    type_ = d.pick(("f32", "i32", "i8"))
    shapes = broadcast_pair(d)
    a, b = d.tensor(type_, shapes[0]), d.maybe_constant(type_, shapes[1])
    output_for(d, type_, 9)
    d.operator(name, [a, b], "SquaredDifferenceOptions")


COMPARISONS = {"EQUAL": "EqualOptions", "NOT_EQUAL": "NotEqualOptions",
               "GREATER": "GreaterOptions", "GREATER_EQUAL": "GreaterEqualOptions",
               "LESS": "LessOptions", "LESS_EQUAL": "LessEqualOptions"}


@case(*COMPARISONS)
def comparison(d, name):
    types = ("f32", "i32", "i64", "u8", "i8") + (("bool",) if name.endswith("EQUAL") and
                                                 "ER" not in name and "LESS" not in name else ())
    type_ = d.pick(types)
    shapes = broadcast_pair(d)
    # The interpreter rounds quantised values to 1/256 before it compares them.
    quantisation = d.quantisation(type_, d.real(0.008, 0.1))
    a = d.tensor(type_, shapes[0], -2, 2, quantisation=quantisation)
    b = d.maybe_constant(type_, shapes[1], low=-2, high=2, quantisation=quantisation)
    d.output("bool")
    d.operator(name, [a, b], COMPARISONS[name])


@case("LOGICAL_AND", "LOGICAL_OR")
def logical(d, name):
    shapes = broadcast_pair(d)
    a, b = d.tensor("bool", shapes[0]), d.maybe_constant("bool", shapes[1])
    d.output("bool")
    d.operator(name, [a, b], "LogicalAndOptions" if name == "LOGICAL_AND" else "LogicalOrOptions")


@case("BITWISE_XOR", "RIGHT_SHIFT")
def bits(d, name):
    type_ = d.pick(("i32", "i32", "u8", "i8", "i16", "u32", "u16"))
    shapes = broadcast_pair(d)
    # Neither bits nor shifts know of scales.
    a = d.tensor(type_, shapes[0], -1000, 1000, quantisation=())
    shifts = d.random.randint(0, 12, shapes[1]) if name == "RIGHT_SHIFT" else None
    b = d.maybe_constant(type_, shapes[1], low=-1000, high=1000, quantisation=(), value=shifts)
    d.output(type_, ())
    d.operator(name, [a, b],
               "BitwiseXorOptions" if name == "BITWISE_XOR" else "RightShiftOptions")


@case("ADD_N")
def add_n(d, name):
    type_, shape = d.pick(("f32", "i32")), d.shape()
    inputs = [d.maybe_constant(type_, shape) if i else d.tensor(type_, shape)
              for i in range(d.between(2, 4))]
    d.output(type_)
    d.operator(name, inputs, "AddNOptions")


@case("SELECT", "SELECT_V2")
def select(d, name):
    type_ = d.pick(("f32", "i32", "i64", "u8", "i8", "bool", "i16"))
    shape = d.shape()
    condition = shape
    x, y = shape, shape
    if name == "SELECT_V2":
        x, y = broadcast_pair(d)
        condition = d.pick((x, y, [1], x[-1:]))
        condition = [c if c == dim else 1 for c, dim in zip(condition, (x if condition is not y
                                                                        else y)[-len(condition):])]
    elif d.between(0, 3) == 0:
        condition = shape[:1]
    quantisation = d.quantisation(type_)
    operands = [d.tensor("bool", condition)]
    operands += [d.maybe_constant(type_, s, quantisation=quantisation) for s in (x, y)]
    d.like(operands[1])
    d.operator(name, operands, "SelectOptions" if name == "SELECT" else "SelectV2Options")


@case("CAST")
def cast(d, name):
    from_, to = d.pick(("f32", "i32", "i64", "bool", "u8", "i8", "i16")), d.pick(
        ("f32", "i32", "i64", "bool", "u8", "i8", "i16"))
    if d.between(0, 9) == 0:
        from_, to = "c64", "f32"
    low = 0 if to.startswith("u") else -100
    value = None
    shape = d.shape()
    if from_ in ("i8", "u8", "i16"):
        value = d.random.randint(0, 100, shape)
    x = d.tensor(from_, shape, low, 100, quantisation=(), value=value)
    d.output(to, ())
    kinds = {"f32": 0, "i32": 2, "u8": 3, "i64": 4, "bool": 6, "i16": 7, "c64": 8, "i8": 9}
    d.operator(name, [x], "CastOptions", inDataType=kinds[from_], outDataType=kinds[to])


@case("QUANTIZE")
def quantize(d, name):
    from_, to = d.pick((("f32", "u8"), ("f32", "i8"), ("f32", "i16"), ("i8", "i8"), ("u8", "u8"),
                        ("i8", "u8"), ("u8", "i8"), ("i16", "i8"), ("i16", "i16"),
                        ("i16", "i32"), ("i8", "i16")))
    x = d.tensor(from_, d.shape())
    if to == "i32":
        d.output(to, (0.001, 0))
    else:
        d.output(to)
    d.operator(name, [x], "QuantizeOptions")


@case("DEQUANTIZE")
def dequantize(d, name):
    type_ = d.pick(("u8", "i8", "i16", "f16"))
    x = d.tensor(type_, d.shape())
    d.output("f32")
    d.operator(name, [x], "DequantizeOptions")


@case("FAKE_QUANT")
def fake_quant(d, name):
    d.is_rounded = True  # a value between two steps may fall to either
    x = d.tensor("f32", d.shape(), -3, 3)
    d.output("f32")
    d.operator(name, [x], "FakeQuantOptions", min=d.real(-4, -0.1), max=d.real(0.1, 4),
               numBits=d.pick((8, 8, 4, 16)), narrowRange=d.coin())


@case("COMPLEX_ABS", "REAL", "IMAG")
def complex_part(d, name):
    x = d.tensor("c64", d.shape())
    d.output("f32")
    d.operator(name, [x])


@case("BITCAST")
def bitcast(d, name):
    from_, to = d.pick((("f32", "i32"), ("i32", "f32"), ("i32", "i32"), ("f32", "f32")))
    x = d.tensor(from_, d.shape(), 1, 1000)
    d.output(to)
    d.operator(name, [x], "BitcastOptions")
