"""Operations that treat every element by itself, with or without broadcasting."""
import numpy as np

from .fixed_point import fix, mbq
from .operand import (Refused, activate, clamp_units, require, required_parameters,
                      requantise, round_away, same_parameters)


def broadcast_shape(a, b):
    rank = max(len(a), len(b))
    a = (1,) * (rank - len(a)) + tuple(a)
    b = (1,) * (rank - len(b)) + tuple(b)
    for m, n in zip(a, b):
        require(m == n or m == 1 or n == 1, "shapes {} and {} do not broadcast", a, b)
    return tuple(n if m == 1 else m for m, n in zip(a, b))


def broadcast(x, y):
    shape = broadcast_shape(x.shape, y.shape)
    return np.broadcast_to(x, shape), np.broadcast_to(y, shape)


def divide_integers(x, y):
    return np.where(y == 0, 0, np.floor_divide(x, np.where(y == 0, 1, y)))


def arithmetic(real_function, int_function):
    def run(ins, outs):
        a, b, code = ins[0], ins[1], ins[2].scalar()
        if a.type == "TENSOR_INT32":
            require(code == 0, "activation {} of integers", code)
            x, y = broadcast(a.value.astype(np.int64), b.value.astype(np.int64))
            return [outs[0].store(int_function(x, y))]
        x, y = broadcast(a.real(), b.real())
        with np.errstate(divide="ignore", invalid="ignore"):
            return [activate(code, real_function(x, y), outs[0])]
    return run


def multiply(ins, outs):
    if outs[0].quantised:
        require(outs[0].scale > np.float32(ins[0].scale) * np.float32(ins[1].scale),
                "scale of the product {} is too small", outs[0].scale)
    return arithmetic(np.multiply, np.multiply)(ins, outs)


def quantized_multiply(ins, outs):
    """In fixed point, of an output of any scale."""
    a, b, code, out = ins[0], ins[1], ins[2].scalar(), outs[0]
    with np.errstate(over="ignore"):
        ratio = np.float32(a.scale) * np.float32(b.scale) / np.float32(out.scale)
    require(np.isfinite(ratio), "ratio of scales {}", ratio)
    multiplier = fix(ratio)
    x, y = broadcast(*(i.value.astype(np.int64) - i.zero_point for i in (a, b)))
    products = [mbq(int(p), multiplier) + out.zero_point for p in (x * y).reshape(-1)]
    return [clamp_units(code, np.array(products, np.int64).reshape(x.shape), out)]


def unary(function):
    def run(ins, outs):
        with np.errstate(all="ignore"):
            return [outs[0].store(function(ins[0].real()))]
    return run


def logistic(ins, outs):
    required_parameters(outs[0], unsigned=(1 / 256, 0), signed=(1 / 256, -128))
    return unary(lambda x: 1 / (1 + np.exp(-x)))(ins, outs)


def tanh(ins, outs):
    required_parameters(outs[0], unsigned=(1 / 128, 128), signed=(1 / 128, 0))
    return unary(np.tanh)(ins, outs)


def relu(code):
    def run(ins, outs):
        if not ins[0].quantised:
            return [activate(code, ins[0].real(), outs[0])]
        same_parameters(ins[0], outs[0])
        return [clamp_units(code, ins[0].value.astype(np.int64), outs[0])]
    return run


def rsqrt(ins, outs):
    with np.errstate(all="ignore"):
        x = ins[0].real()
        if not ins[0].quantised:
            return [outs[0].store(1 / np.sqrt(x))]
        y = np.where(x > 0, 1 / np.sqrt(np.where(x > 0, x, 1)), np.inf)
        return [outs[0].saturate(round_away(y / outs[0].scale) + outs[0].zero_point)]


def integer_unary(function):
    """Of whole numbers in int64, of others in float64."""
    def run(ins, outs):
        if ins[0].type == "TENSOR_INT32":
            return [function(ins[0].value.astype(np.int64)).astype(np.int32)]
        return [outs[0].store(function(ins[0].real()))]
    return run


def compare(function):
    def run(ins, outs):
        if ins[0].quantised:
            sides = [np.float32(i.scale) * i.corrected().astype(np.float32) for i in ins[:2]]
        elif ins[0].type == "TENSOR_BOOL8":
            sides = [i.value != 0 for i in ins[:2]]
        else:
            sides = [i.value for i in ins[:2]]
        return [function(*broadcast(*sides)).astype(np.uint8)]
    return run


def logical(function):
    def run(ins, outs):
        sides = [i.value != 0 for i in ins]
        if len(sides) == 2:
            sides = broadcast(*sides)
        return [function(*sides).astype(np.uint8)]
    return run


def extremum(function):
    def run(ins, outs):
        if ins[0].quantised:
            sides = [requantise(i, outs[0]) for i in ins[:2]]
        else:
            sides = [i.value for i in ins[:2]]
        return [function(*broadcast(*sides))]
    return run


def power(ins, outs):
    x, y = broadcast(ins[0].real(), ins[1].real())
    with np.errstate(all="ignore"):
        return [outs[0].store(np.power(x, y))]


def prelu(ins, outs):
    x, alpha = broadcast(ins[0].real(), ins[1].real())
    return [outs[0].store(np.where(x >= 0, x, alpha * x))]


def select(ins, outs):
    condition, x, y = ins
    require(condition.shape == x.shape == y.shape, "shapes {}, {}, {}", condition.shape, x.shape,
            y.shape)
    if x.quantised:
        return [np.where(condition.value != 0, requantise(x, outs[0]), requantise(y, outs[0]))]
    return [np.where(condition.value != 0, x.value, y.value)]


def elu(ins, outs):
    x, alpha = ins[0].real(), ins[1].scalar()
    with np.errstate(over="ignore"):
        return [outs[0].store(np.maximum(0, x) + np.minimum(0, alpha * np.expm1(x)))]


def hard_swish(ins, outs):
    x = ins[0].real()
    return [outs[0].store(x * np.clip(x + 3, 0, 6) / 6)]


def cast(ins, outs):
    source, target = ins[0], outs[0]
    plain = {"TENSOR_FLOAT32", "TENSOR_FLOAT16", "TENSOR_INT32", "TENSOR_QUANT8_ASYMM"}
    if source.type not in plain or target.type not in plain:
        if source.type != target.type:
            raise Refused(f"cast of {source.type} to {target.type}")
        return [source.value]
    x = source.value.astype(np.float64)
    if target.type == "TENSOR_QUANT8_ASYMM":
        return [np.trunc(np.clip(x, 0, 255)).astype(np.uint8)]
    if target.type == "TENSOR_INT32":
        return [np.clip(np.trunc(x), -2**31, 2**31 - 1).astype(np.int32)]
    return [target.store(x)]


def dequantise(ins, outs):
    return [outs[0].store(ins[0].real())]


def quantise(ins, outs):
    x = ins[0].value.astype(np.float32) / np.float32(outs[0].scale)
    return [outs[0].saturate(round_away(x) + outs[0].zero_point)]


def logical_not(x):
    return ~x


OPERATIONS = {
    "ADD": arithmetic(np.add, np.add), "SUB": arithmetic(np.subtract, np.subtract),
    "MUL": multiply, "DIV": arithmetic(np.divide, divide_integers),
    "QUANTIZED_MUL": quantized_multiply,
    "FLOOR": unary(np.floor), "LOGISTIC": logistic, "TANH": tanh, "RELU": relu(1),
    "RELU1": relu(2), "RELU6": relu(3), "ABS": integer_unary(np.abs), "EXP": unary(np.exp),
    "LOG": unary(np.log), "NEG": integer_unary(np.negative), "RSQRT": rsqrt,
    "SIN": unary(np.sin), "SQRT": unary(np.sqrt),
    "EQUAL": compare(np.equal), "NOT_EQUAL": compare(np.not_equal), "LESS": compare(np.less),
    "LESS_EQUAL": compare(np.less_equal), "GREATER": compare(np.greater),
    "GREATER_EQUAL": compare(np.greater_equal), "LOGICAL_AND": logical(np.logical_and),
    "LOGICAL_OR": logical(np.logical_or), "LOGICAL_NOT": logical(logical_not),
    "MAXIMUM": extremum(np.maximum), "MINIMUM": extremum(np.minimum), "POW": power,
    "PRELU": prelu, "SELECT": select, "ELU": elu, "HARD_SWISH": hard_swish, "CAST": cast,
    "DEQUANTIZE": dequantise, "QUANTIZE": quantise,
}
