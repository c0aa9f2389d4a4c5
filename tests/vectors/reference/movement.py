"""Operations that move elements without computing with them."""
import math

import numpy as np

from .operand import (from_nhwc, normal_axis, parameters, require, requantise, same_parameters,
                      to_nhwc)


def reshape(ins, outs):
    same_parameters(ins[0], outs[0])
    target = ins[1].ints()
    require(target.count(-1) <= 1 and all(d >= -1 for d in target), "target shape {}", target)
    if -1 in target:
        rest = math.prod(d for d in target if d != -1)
        require(rest > 0 and ins[0].value.size % rest == 0, "target shape {}", target)
        target = [ins[0].value.size // rest if d == -1 else d for d in target]
    require(math.prod(target) == ins[0].value.size, "target shape {}", target)
    return [ins[0].value.reshape(target)]


def squeeze(ins, outs):
    same_parameters(ins[0], outs[0])
    x = ins[0].value
    if ins[1] is None:
        axes = {i for i, d in enumerate(x.shape) if d == 1}
    else:
        axes = {normal_axis(a, x.ndim) for a in ins[1].ints()}
    require(all(x.shape[a] == 1 for a in axes), "squeezed axes {} of {}", axes, x.shape)
    return [x.reshape([d for i, d in enumerate(x.shape) if i not in axes] or [1])]


def expand_dims(ins, outs):
    same_parameters(ins[0], outs[0])
    axis = normal_axis(ins[1].scalar(), ins[0].rank + 1)
    return [np.expand_dims(ins[0].value, axis)]


def transpose(ins, outs):
    same_parameters(ins[0], outs[0])
    perm = ins[1].ints() if ins[1] is not None else list(range(ins[0].rank))[::-1]
    require(sorted(perm) == list(range(ins[0].rank)), "permutation {}", perm)
    return [ins[0].value.transpose(perm)]


def slice_(ins, outs):
    same_parameters(ins[0], outs[0])
    x, begin, size = ins[0].value, ins[1].ints(), ins[2].ints()
    require(len(begin) == len(size) == x.ndim, "begin {} and size {}", begin, size)
    cuts = []
    for b, s, d in zip(begin, size, x.shape):
        s = d - b if s == -1 else s
        require(0 <= b <= d and 0 <= s and b + s <= d, "begin {} and size {} of {}", b, s, d)
        cuts.append(slice(b, b + s))
    return [x[tuple(cuts)]]


def strided_slice(ins, outs):
    same_parameters(ins[0], outs[0])
    x = ins[0].value
    begins, ends, strides = (i.ints() for i in ins[1:4])
    begin_mask, end_mask, shrink = (i.scalar() for i in ins[4:7])
    require(len(begins) == len(ends) == len(strides) == x.ndim, "lengths of begin, end, strides")
    shape = []
    for i, (d, s) in enumerate(zip(x.shape, strides)):
        require(s != 0, "stride 0")

        def index(v):
            if s > 0:
                v = d if v >= d else max(v, -d)
            else:
                v = -1 - d if v < -d else min(v, d - 1)
            return v + d if v < 0 else v

        b = (0 if s > 0 else d - 1) if begin_mask >> i & 1 else index(begins[i])
        e = (d if s > 0 else -1) if end_mask >> i & 1 else index(ends[i])
        length = max(0, -((b - e) // s) if s > 0 else -((e - b) // -s))
        x = np.take(x, [b + k * s for k in range(length)], axis=i)
        if shrink >> i & 1:
            require(s > 0 and length == 1, "shrink with stride {} and length {}", s, length)
        else:
            shape.append(length)
    return [x.reshape(shape or [1])]


def split(ins, outs):
    same_parameters(ins[0], *outs)
    x, axis, count = ins[0].value, normal_axis(ins[1].scalar(), ins[0].rank), ins[2].scalar()
    require(count > 0 and len(outs) == count and x.shape[axis] % count == 0, "{} splits of {}",
            count, x.shape)
    return np.split(x, count, axis)


def concatenation(ins, outs):
    tensors = ins[:-1]
    rank = tensors[0].rank
    axis = normal_axis(ins[-1].scalar(), rank, negatives=False)
    require(rank <= 4, "rank {}", rank)
    parts = []
    for t in tensors:
        require(t.rank == rank and all(t.shape[i] == tensors[0].shape[i] for i in range(rank)
                                       if i != axis), "shapes differ off the axis")
        parts.append(requantise(t, outs[0]) if t.quantised else t.value)
    return [np.concatenate(parts, axis)]


def pack(ins, outs):
    tensors = ins[1:]
    same_parameters(*tensors, outs[0])
    require(all(t.shape == tensors[0].shape for t in tensors), "shapes differ")
    axis = normal_axis(ins[0].scalar(), tensors[0].rank + 1, negatives=False)
    return [np.stack([t.value for t in tensors], axis)]


def tile(ins, outs):
    same_parameters(ins[0], outs[0])
    multiples = ins[1].ints()
    require(len(multiples) == ins[0].rank and all(m > 0 for m in multiples), "multiples {}",
            multiples)
    return [np.tile(ins[0].value, multiples)]


def gather(ins, outs):
    same_parameters(ins[0], outs[0])
    axis = normal_axis(ins[1].scalar(), ins[0].rank)
    indices = ins[2].value
    require(((indices >= 0) & (indices < ins[0].shape[axis])).all(), "index out of range")
    return [np.take(ins[0].value, indices, axis)]


def pad_pairs(x, paddings):
    require(paddings.shape == (x.ndim, 2), "paddings have shape {}", paddings.shape)
    require((paddings.value >= 0).all(), "negative padding")
    return [tuple(int(v) for v in row) for row in paddings.value]


def pad(ins, outs):
    same_parameters(ins[0], outs[0])
    pairs = pad_pairs(ins[0].value, ins[1])
    fill = ins[2].scalar() if len(ins) > 2 else ins[0].zero_point
    return [np.pad(ins[0].value, pairs, constant_values=np.array(fill).astype(ins[0].dtype))]


def mirror_pad(ins, outs):
    same_parameters(ins[0], outs[0])
    x, mode = ins[0].value, ins[2].scalar()
    require(mode in (0, 1), "mode {}", mode)
    skip = 1 - mode
    for axis, (before, after) in enumerate(pad_pairs(x, ins[1])):
        d = x.shape[axis]
        require(before <= d - skip and after <= d - skip, "padding {} {} of {}", before, after, d)
        places = [-p - 1 + skip if p < 0 else 2 * d - 1 - skip - p if p >= d else p
                  for p in range(-before, d + after)]
        x = np.take(x, places, axis)
    return [x]


def reverse(ins, outs):
    same_parameters(ins[0], outs[0])
    require(ins[1].shape == (1,), "axis has shape {}", ins[1].shape)
    return [np.flip(ins[0].value, normal_axis(ins[1].scalar(), ins[0].rank, negatives=False))]


def depth_to_space(ins, outs):
    same_parameters(ins[0], outs[0])
    nchw = len(ins) > 2 and ins[2].flag()
    x, b = to_nhwc(ins[0].value, nchw), ins[1].scalar()
    n, h, w, c = x.shape
    require(b >= 1 and c % (b * b) == 0, "block size {} of {}", b, x.shape)
    y = x.reshape(n, h, w, b, b, c // (b * b)).transpose(0, 1, 3, 2, 4, 5)
    return [from_nhwc(y.reshape(n, h * b, w * b, c // (b * b)), nchw)]


def space_to_depth(ins, outs):
    same_parameters(ins[0], outs[0])
    nchw = len(ins) > 2 and ins[2].flag()
    x, b = to_nhwc(ins[0].value, nchw), ins[1].scalar()
    n, h, w, c = x.shape
    require(b >= 1 and h % b == 0 and w % b == 0, "block size {} of {}", b, x.shape)
    y = x.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5)
    return [from_nhwc(y.reshape(n, h // b, w // b, b * b * c), nchw)]


def blocks(operand):
    sizes = operand.ints()
    require(len(sizes) == 2 and all(b >= 1 for b in sizes), "block sizes {}", sizes)
    return sizes


def batch_to_space(ins, outs):
    same_parameters(ins[0], outs[0])
    nchw = len(ins) > 2 and ins[2].flag()
    x, (bh, bw) = to_nhwc(ins[0].value, nchw), blocks(ins[1])
    n, h, w, c = x.shape
    require(n % (bh * bw) == 0, "{} batches", n)
    y = np.empty((n // (bh * bw), h * bh, w * bw, c), x.dtype)
    for k in range(bh * bw):
        rows = slice(k * y.shape[0], (k + 1) * y.shape[0])
        y[:, k // bw::bh, k % bw::bw] = x[rows]
    return [from_nhwc(y, nchw)]


def space_to_batch(ins, outs):
    same_parameters(ins[0], outs[0])
    nchw = len(ins) > 3 and ins[3].flag()
    x, (bh, bw) = to_nhwc(ins[0].value, nchw), blocks(ins[1])
    require(ins[2].shape == (2, 2) and (ins[2].value >= 0).all(), "paddings")
    top, bottom, left, right = ins[2].ints()
    x = np.pad(x, [(0, 0), (top, bottom), (left, right), (0, 0)],
               constant_values=ins[0].zero_point)
    require(x.shape[1] % bh == 0 and x.shape[2] % bw == 0, "padded shape {}", x.shape)
    parts = [x[:, k // bw::bh, k % bw::bw] for k in range(bh * bw)]
    return [from_nhwc(np.concatenate(parts, 0), nchw)]


def channel_shuffle(ins, outs):
    same_parameters(ins[0], outs[0])
    x, groups = ins[0].value, ins[1].scalar()
    axis = normal_axis(ins[2].scalar(), x.ndim)
    require(groups > 0 and x.shape[axis] % groups == 0, "{} groups of {}", groups, x.shape)
    each = x.shape[axis] // groups
    places = [j * each + k for k in range(each) for j in range(groups)]
    return [np.take(x, places, axis)]


def fill(ins, outs):
    dims = ins[0].ints()
    require(all(d > 0 for d in dims), "dimensions {}", dims)
    return [np.full(dims, ins[1].scalar(), outs[0].dtype)]


def rank(ins, outs):
    return [np.array(ins[0].rank, np.int32)]


def shape(ins, outs):
    return [np.array(ins[0].shape, np.int32)]


def gather_nd(ins, outs):
    same_parameters(ins[0], outs[0])
    x, indices = ins[0].value, ins[1].value
    count = indices.shape[-1]
    require(1 <= count <= x.ndim, "tuples of {} for rank {}", count, x.ndim)
    require(all(((indices[..., i] >= 0) & (indices[..., i] < x.shape[i])).all()
                for i in range(count)), "index out of range")
    result = x[tuple(indices[..., i] for i in range(count))]
    return [result.reshape(result.shape or [1])]


def embedding_lookup(ins, outs):
    same_parameters(ins[1], outs[0])
    lookups, values = ins[0].value, ins[1].value
    require(((lookups >= 0) & (lookups < values.shape[0])).all(), "lookup out of range")
    return [values[lookups]]


def hashtable_lookup(ins, outs):
    same_parameters(ins[2], outs[0])
    require(parameters(outs[1]) == (1.0, 0), "parameters of hits")
    lookups, keys, values = ins[0].ints(), ins[1].ints(), ins[2].value
    require(len(keys) == values.shape[0], "{} keys, {} values", len(keys), values.shape[0])
    rows = [values[keys.index(k)] if k in keys else np.zeros_like(values[0]) for k in lookups]
    hits = np.array([k in keys for k in lookups], np.uint8)
    return [np.stack(rows), hits]


def topk(ins, outs):
    same_parameters(ins[0], outs[0])
    x, k = ins[0].value, ins[1].scalar()
    require(0 < k <= x.shape[-1], "k is {} of {}", k, x.shape)
    indices = np.empty(x.shape[:-1] + (k,), np.int32)
    for row in np.ndindex(x.shape[:-1]):
        order = sorted(range(x.shape[-1]), key=lambda i: (x[row][i], i), reverse=True)
        indices[row] = order[:k]
    return [np.take_along_axis(x, indices.astype(np.int64), -1), indices]


OPERATIONS = {
    "RESHAPE": reshape, "SQUEEZE": squeeze, "EXPAND_DIMS": expand_dims, "TRANSPOSE": transpose,
    "SLICE": slice_, "STRIDED_SLICE": strided_slice, "SPLIT": split,
    "CONCATENATION": concatenation, "PACK": pack, "TILE": tile, "GATHER": gather, "PAD": pad,
    "PAD_V2": pad, "MIRROR_PAD": mirror_pad, "REVERSE": reverse,
    "DEPTH_TO_SPACE": depth_to_space, "SPACE_TO_DEPTH": space_to_depth,
    "BATCH_TO_SPACE_ND": batch_to_space, "SPACE_TO_BATCH_ND": space_to_batch,
    "CHANNEL_SHUFFLE": channel_shuffle, "FILL": fill, "RANK": rank,
    "SHAPE": shape, "GATHER_ND": gather_nd,
    "EMBEDDING_LOOKUP": embedding_lookup, "HASHTABLE_LOOKUP": hashtable_lookup, "TOPK_V2": topk,
}
