"""Reductions, and normalisations along an axis."""
import numpy as np

from .operand import (from_nhwc, normal_axis, require, required_parameters, same_parameters,
                      to_nhwc)


def axes_of(operand, rank):
    return tuple(sorted({normal_axis(a, rank) for a in operand.ints()}))


def keep_shape(y):
    return y.reshape(y.shape or (1,))


def mean(ins, outs):
    same_parameters(ins[0], outs[0])
    axes = axes_of(ins[1], ins[0].rank)
    keep = ins[2].scalar() > 0
    return [outs[0].store(keep_shape(np.mean(ins[0].real(), axis=axes, keepdims=keep)))]


def product(x, axis, keepdims):
    zero = np.any(x == 0, axis=axis, keepdims=keepdims)
    with np.errstate(all="ignore"):
        return np.where(zero, 0.0, np.prod(x, axis=axis, keepdims=keepdims))


def reduce(function, stored):
    """`stored`: on the elements as they are, which keeps order and booleans."""
    def run(ins, outs):
        same_parameters(ins[0], outs[0])
        axes, keep = axes_of(ins[1], ins[0].rank), ins[2].flag()
        x = ins[0].value if stored else ins[0].real()
        y = keep_shape(np.asarray(function(x, axis=axes, keepdims=keep)))
        return [y.astype(outs[0].dtype) if stored else outs[0].store(y)]
    return run


def argument(function):
    def run(ins, outs):
        axis = normal_axis(ins[1].scalar(), ins[0].rank)
        return [keep_shape(function(ins[0].value, axis)).astype(np.int32)]
    return run


def softmax(ins, outs):
    required_parameters(outs[0], unsigned=(1 / 256, 0), signed=(1 / 256, -128))
    beta = ins[1].scalar()
    require(beta > 0, "beta {}", beta)
    axis = normal_axis(ins[2].scalar() if len(ins) > 2 else -1, ins[0].rank)
    x = ins[0].real()
    if x.size == 0:
        return [outs[0].store(x)]
    e = np.exp(beta * (x - x.max(axis, keepdims=True)))
    return [outs[0].store(e / e.sum(axis, keepdims=True))]


def log_softmax(ins, outs):
    beta, axis = ins[1].scalar(), normal_axis(ins[2].scalar(), ins[0].rank)
    x = ins[0].real()
    d = beta * (x - x.max(axis, keepdims=True))
    return [outs[0].store(d - np.log(np.exp(d).sum(axis, keepdims=True)))]


def l2_normalization(ins, outs):
    required_parameters(outs[0], unsigned=(1 / 128, 128), signed=(1 / 128, 0))
    axis = normal_axis(ins[1].scalar() if len(ins) > 1 else -1, ins[0].rank)
    # The scale of a quantised input cancels out, the guard against 0 apart.
    x = ins[0].corrected().astype(np.float64) if ins[0].quantised else ins[0].real()
    norm = np.sqrt((x * x).sum(axis, keepdims=True))
    return [outs[0].store(x / np.maximum(norm, 1e-6))]


def local_response_normalization(ins, outs):
    radius, bias, alpha, beta = (i.scalar() for i in ins[1:5])
    require(radius >= 0, "radius {}", radius)
    axis = normal_axis(ins[5].scalar() if len(ins) > 5 else -1, ins[0].rank)
    x = np.moveaxis(ins[0].real(), axis, -1)
    y = np.empty_like(x)
    for i in range(x.shape[-1]):
        window = x[..., max(0, i - radius):i + radius + 1]
        y[..., i] = x[..., i] * (bias + alpha * (window * window).sum(-1)) ** -beta
    return [outs[0].store(np.moveaxis(y, -1, axis))]


def instance_normalization(ins, outs):
    gamma, beta, epsilon = (i.scalar() for i in ins[1:4])
    nchw = ins[4].flag()
    x = to_nhwc(ins[0].real(), nchw)
    mu, var = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
    return [outs[0].store(from_nhwc((x - mu) * gamma / np.sqrt(var + epsilon) + beta, nchw))]


OPERATIONS = {
    "MEAN": mean, "REDUCE_ALL": reduce(np.all, True), "REDUCE_ANY": reduce(np.any, True),
    "REDUCE_MAX": reduce(np.max, True), "REDUCE_MIN": reduce(np.min, True),
    "REDUCE_PROD": reduce(product, False), "REDUCE_SUM": reduce(np.sum, False),
    "ARGMAX": argument(np.argmax), "ARGMIN": argument(np.argmin), "SOFTMAX": softmax,
    "LOG_SOFTMAX": log_softmax, "L2_NORMALIZATION": l2_normalization,
    "LOCAL_RESPONSE_NORMALIZATION": local_response_normalization,
    "INSTANCE_NORMALIZATION": instance_normalization,
}
