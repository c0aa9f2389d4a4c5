"""Convolutions, pooling, and the products of matrices."""
import numpy as np

from .operand import (activate, clamp_units, from_nhwc, require, round_away, same_parameters,
                      to_nhwc)

SAME = 1


def extent(filter_size, dilation):
    return (filter_size - 1) * dilation + 1


def implicit_pads(scheme, size, filter_size, stride, dilation):
    if scheme != SAME:
        return 0, 0
    out = (size + stride - 1) // stride
    total = max(0, (out - 1) * stride + extent(filter_size, dilation) - size)
    return total // 2, total - total // 2


def output_size(size, filter_size, stride, dilation, pads):
    covered = size + sum(pads) - extent(filter_size, dilation)
    require(covered >= 0, "a filter of {} does not fit into {}", filter_size, size)
    return covered // stride + 1


class Form:
    """The arguments of a windowed operation after its tensors, in any of its forms.

    `middle`: how many scalars stand between strides (and filter sizes) and the activation.
    """

    def __init__(self, arguments, explicit, pooled=False, middle=0):
        a = [i.scalar() for i in arguments]
        self.explicit = explicit
        if explicit:
            self.pads, a = [(a[2], a[3]), (a[0], a[1])], a[4:]
        else:
            self.scheme, a = a[0], a[1:]
        self.strides, a = (a[1], a[0]), a[2:]
        self.filter = None
        if pooled:
            self.filter, a = (a[1], a[0]), a[2:]
            require(min(self.filter) > 0, "filter size {}", self.filter)
        self.middle, a = a[:middle], a[middle:]
        self.activation, a = a[0], a[1:]
        self.nchw = bool(a[0]) if a else False
        self.dilations = (a[2], a[1]) if len(a) > 2 else (1, 1)
        require(min(self.strides) > 0 and min(self.dilations) > 0, "strides {}, dilations {}",
                self.strides, self.dilations)

    def geometry(self, image, filter_sizes):
        """Pads and output sizes for height and width."""
        pads, sizes = [], []
        for i in (0, 1):
            f, d = filter_sizes[i], self.dilations[i]
            if self.explicit:
                p = self.pads[i]
                require(min(p) >= 0 and max(p) < extent(f, d), "padding {}", p)
            else:
                p = implicit_pads(self.scheme, image[i], f, self.strides[i], d)
            pads.append(p)
            sizes.append(output_size(image[i], f, self.strides[i], d, p))
        return pads, sizes


def is_explicit(operation, ins):
    """Whether the paddings are numbers, by count and by the type where counts meet (A.8)."""
    n = len(ins)
    if operation == "CONV_2D":
        return n in (11, 13) or n == 10 and ins[7].type == "INT32"
    if operation == "DEPTHWISE_CONV_2D":
        return n in (12, 14) or n == 11 and ins[8].type == "INT32"
    return n >= {"GROUPED_CONV_2D": 12, "TRANSPOSE_CONV_2D": 11}.get(operation, 10)


def tap(x, pads, sizes, form, u, v):
    """The inputs of tap (u, v) of the window, for every output position. x is padded already."""
    sh, sw = form.strides
    top, left = u * form.dilations[0], v * form.dilations[1]
    return x[:, top:top + (sizes[0] - 1) * sh + 1:sh, left:left + (sizes[1] - 1) * sw + 1:sw]


def padded(x, pads, fill=0):
    return np.pad(x, [(0, 0), pads[0], pads[1], (0, 0)], constant_values=fill)


def check_bias(x, w, bias):
    if not x.quantised:
        return
    if not w.per_channel:  # else the channels say what the bias is in
        product = np.float32(x.scale) * np.float32(w.scale)
        require(abs(bias.scale - product) <= 1e-6 * max(bias.scale, product),
                "bias scale {}, expected {}", bias.scale, product)
    require(bias.zero_point == 0, "bias zero point")


def operands_of_mac(x, w, bias):
    """Input, filter and bias as numbers to multiply: whole where quantised."""
    check_bias(x, w, bias)
    if x.quantised:
        return x.corrected(), w.corrected(), bias.value.astype(np.int64)
    return x.real(), w.real(), bias.real()


def finish_mac(acc, x, w, out, activation):
    if not out.quantised:
        return activate(activation, acc, out)
    scales = np.array(w.channel_scales) if w.per_channel else w.scale
    q = round_away(acc * (x.scale * scales / out.scale)) + out.zero_point
    return clamp_units(activation, q, out)


def conv_2d(ins, outs):
    return convolve(Form(ins[3:], is_explicit("CONV_2D", ins)), ins, outs, groups=1)


def grouped_conv_2d(ins, outs):
    form = Form(ins[3:], is_explicit("GROUPED_CONV_2D", ins), middle=1)
    return convolve(form, ins, outs, form.middle[0])


def convolve(form, ins, outs, groups):
    x, w, bias = operands_of_mac(*ins[:3])
    x = to_nhwc(x, form.nchw)
    require(x.ndim == 4 and w.ndim == 4, "ranks {} and {}", x.ndim, w.ndim)
    require(groups > 0 and w.shape[3] * groups == x.shape[3] and w.shape[0] % groups == 0
            and bias.shape == (w.shape[0],), "shapes {}, {}, {}", x.shape, w.shape, bias.shape)
    require(not ins[1].per_channel or ins[1].channel_dim == 0, "channelDim")
    pads, sizes = form.geometry(x.shape[1:3], w.shape[1:3])
    x = padded(x, pads)
    acc = np.zeros((x.shape[0], *sizes, w.shape[0]), x.dtype) + bias
    depth, made = w.shape[3], w.shape[0] // groups
    for u, v in np.ndindex(w.shape[1:3]):
        seen = tap(x, pads, sizes, form, u, v)
        for g in range(groups):
            acc[..., g * made:(g + 1) * made] += (seen[..., g * depth:(g + 1) * depth]
                                                  @ w[g * made:(g + 1) * made, u, v].T)
    return [from_nhwc(finish_mac(acc, ins[0], ins[1], outs[0], form.activation), form.nchw)]


def depthwise_conv_2d(ins, outs):
    form = Form(ins[3:], is_explicit("DEPTHWISE_CONV_2D", ins), middle=1)
    x, w, bias = operands_of_mac(*ins[:3])
    x, multiplier = to_nhwc(x, form.nchw), form.middle[0]
    require(x.ndim == 4 and w.ndim == 4 and w.shape[0] == 1, "filter shape {}", w.shape)
    require(multiplier > 0 and w.shape[3] == x.shape[3] * multiplier == bias.shape[0],
            "multiplier {}", multiplier)
    require(not ins[1].per_channel or ins[1].channel_dim == 3, "channelDim")
    pads, sizes = form.geometry(x.shape[1:3], w.shape[1:3])
    x = padded(x, pads)
    acc = np.zeros((x.shape[0], *sizes, w.shape[3]), x.dtype) + bias
    for u, v in np.ndindex(w.shape[1:3]):
        acc += np.repeat(tap(x, pads, sizes, form, u, v), multiplier, 3) * w[0, u, v]
    return [from_nhwc(finish_mac(acc, ins[0], ins[1], outs[0], form.activation), form.nchw)]


def transposed_geometry(form, image, filter_sizes, wanted):
    pads, sizes = [], []
    for i in (0, 1):
        stride, f = form.strides[i], filter_sizes[i]
        if form.explicit:
            p = form.pads[i]
            require(p[0] >= 0 and max(p) < f, "padding {}", p)
        elif form.scheme == SAME:
            total = (-(-wanted[i] // stride) - 1) * stride + f
            before = max(0, total - wanted[i]) // 2
            p = (before, total - wanted[i] - before)
        else:
            p = (0, 0)
        pads.append(p)
        sizes.append((image[i] - 1) * stride + f - sum(p))
        require(sizes[-1] > 0, "output size {}", sizes[-1])
    return pads, sizes


def transpose_conv_2d(ins, outs):
    explicit = is_explicit("TRANSPOSE_CONV_2D", ins)
    form = Form(ins[3:] if explicit else ins[4:], explicit)
    x, w, bias = operands_of_mac(*ins[:3])
    x = to_nhwc(x, form.nchw)
    require(x.ndim == 4 and w.ndim == 4 and w.shape[3] == x.shape[3]
            and bias.shape == (w.shape[0],), "shapes {}, {}, {}", x.shape, w.shape, bias.shape)
    require(not ins[1].per_channel or ins[1].channel_dim == 0, "channelDim")
    wanted = None
    if not explicit:
        shape = ins[3].ints()
        require(len(shape) == 4, "output shape {}", shape)
        wanted = shape[2:4] if form.nchw else shape[1:3]
    pads, sizes = transposed_geometry(form, x.shape[1:3], w.shape[1:3], wanted)
    (sh, sw), (pt, pl) = form.strides, (pads[0][0], pads[1][0])
    acc = np.zeros((x.shape[0], *sizes, w.shape[0]), x.dtype) + bias
    for h, wd, u, v in np.ndindex(*x.shape[1:3], *w.shape[1:3]):
        i, j = h * sh + u - pt, wd * sw + v - pl
        if 0 <= i < sizes[0] and 0 <= j < sizes[1]:
            acc[:, i, j] += x[:, h, wd] @ w[:, u, v].T
    return [from_nhwc(finish_mac(acc, ins[0], ins[1], outs[0], form.activation), form.nchw)]


def fully_connected(ins, outs):
    x, w, bias = operands_of_mac(*ins[:3])
    require(w.ndim == 2 and w.size > 0 and x.size % w.shape[1] == 0
            and bias.shape == (w.shape[0],), "shapes {}, {}, {}", x.shape, w.shape, bias.shape)
    batches = x.shape[0] if x.size == 0 else x.size // w.shape[1]
    acc = x.reshape(batches, w.shape[1]) @ w.T + bias
    return [finish_mac(acc, ins[0], ins[1], outs[0], ins[3].scalar())]


def batch_matmul(ins, outs):
    a, b = ins[0], ins[1]
    whole = not a.type.endswith(("FLOAT32", "FLOAT16"))
    x, y = (a.corrected(), b.corrected()) if whole else (a.real(), b.real())
    require(2 <= x.ndim == y.ndim <= 4 and x.shape[:-2] == y.shape[:-2], "shapes {} and {}",
            x.shape, y.shape)
    x = np.swapaxes(x, -1, -2) if ins[2].flag() else x
    y = np.swapaxes(y, -1, -2) if ins[3].flag() else y
    require(x.shape[-1] == y.shape[-2], "inner sizes {} and {}", x.shape, y.shape)
    product = x @ y
    if a.quantised:
        return [finish_mac(product, a, b, outs[0], 0)]
    return [product.astype(np.int32) if whole else outs[0].store(product)]


def pool(function):
    def run(ins, outs):
        same_parameters(ins[0], outs[0])
        form = Form(ins[1:], is_explicit("", ins), pooled=True)
        stored = ins[0].quantised
        x = ins[0].value.astype(np.int64) if stored else ins[0].real()
        x = to_nhwc(x, form.nchw)
        require(x.ndim == 4, "rank {}", x.ndim)
        pads, sizes = form.geometry(x.shape[1:3], form.filter)
        inside = padded(np.ones_like(x, bool), pads, False)
        x = padded(x, pads)
        window = range(form.filter[0]), range(form.filter[1])
        seen = np.stack([tap(x, pads, sizes, form, u, v) for u in window[0] for v in window[1]])
        valid = np.stack([tap(inside, pads, sizes, form, u, v)
                          for u in window[0] for v in window[1]])
        y = function(seen, valid)
        y = clamp_units(form.activation, y, outs[0]) if stored else activate(form.activation, y,
                                                                             outs[0])
        return [from_nhwc(y, form.nchw)]
    return run


def average(seen, valid):
    y = (seen * valid).sum(0) / valid.sum(0)
    return round_away(y) if seen.dtype == np.int64 else y


def root_mean_square(seen, valid):
    return np.sqrt((seen * seen * valid).sum(0) / valid.sum(0))


def largest(seen, valid):
    lowest = np.iinfo(np.int64).min if seen.dtype == np.int64 else -np.inf
    return np.where(valid, seen, lowest).max(0)


OPERATIONS = {
    "CONV_2D": conv_2d, "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "GROUPED_CONV_2D": grouped_conv_2d, "TRANSPOSE_CONV_2D": transpose_conv_2d,
    "FULLY_CONNECTED": fully_connected, "BATCH_MATMUL": batch_matmul,
    "AVERAGE_POOL_2D": pool(average), "L2_POOL_2D": pool(root_mean_square),
    "MAX_POOL_2D": pool(largest),
}
