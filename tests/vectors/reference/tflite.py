"""Operations of halyard.tflite that count, select, sum and place elements."""
import itertools
import math

import numpy as np

from .elementwise import broadcast, broadcast_shape
from .operand import require, same_parameters


def function(of):
    """A function of one real number, element by element."""
    def run(ins, outs):
        return [outs[0].store(np.vectorize(of, otypes=[np.float64])(ins[0].real()))]
    return run


def half_to_even(x):
    low = math.floor(x)
    if x - low == 0.5:
        return float(low + low % 2)
    return float(math.floor(x + 0.5))


def gelu(ins, outs):
    def exact(x):
        return x / 2 * (1 + math.erf(x / math.sqrt(2)))

    def approximate(x):
        return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))

    return function(approximate if ins[1].flag() else exact)(ins, outs)


def pairs(of):
    """A function of two elements; integers are Python's."""
    def run(ins, outs):
        x, y = broadcast(ins[0].value, ins[1].value)
        kind = int if ins[0].type == "TENSOR_INT32" else float
        results = [of(kind(a), kind(b)) for a, b in zip(x.reshape(-1), y.reshape(-1))]
        return [outs[0].store(np.array(results).reshape(x.shape))]
    return run


def floor_mod(x, y):
    if y == 0:
        return x if isinstance(x, int) else math.nan
    return x - math.floor(x / y) * y


def truncated_div(x, y):
    if y == 0:
        return 0
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def right_shift(x, y):
    return math.floor(x / 2 ** min(max(y, 0), 31))


def select(ins, outs):
    for operand in ins[1:]:
        same_parameters(operand, outs[0])
    shape = broadcast_shape(broadcast_shape(ins[0].shape, ins[1].shape), ins[2].shape)
    condition, x, y = (np.broadcast_to(i.value, shape) for i in ins)
    return [np.where(condition != 0, x, y)]


def cumsum(ins, outs):
    x, axis = ins[0].real(), ins[1].scalar()
    require(-x.ndim <= axis < x.ndim, "axis {} of rank {}", axis, x.ndim)
    lines = np.moveaxis(x, axis, -1)
    result = np.zeros(lines.shape)
    for line in np.ndindex(lines.shape[:-1]):
        count = lines.shape[-1]
        for i in range(count):
            places = range(i, count) if ins[3].flag() else range(i + 1)
            result[line][i] = sum(lines[line][k] for k in places
                                  if not (ins[2].flag() and k == i))
    return [outs[0].store(np.moveaxis(result, -1, axis))]


def scatter_nd(ins, outs):
    indices, updates, shape = ins[0].value, ins[1].real(), ins[2].ints()
    require(ins[2].rank == 1 and all(d > 0 for d in shape), "shape {}", shape)
    depth = indices.shape[-1] if indices.ndim else 0
    require(1 <= depth <= len(shape), "tuples of {}", depth)
    expected = indices.shape[:-1] + tuple(shape[depth:])
    require(updates.shape == expected or (not expected and updates.shape == (1,)),
            "updates {}, expected {}", updates.shape, expected)
    result = np.zeros(shape)
    updates = updates.reshape(expected)
    for place in np.ndindex(indices.shape[:-1]):
        at = tuple(int(i) for i in indices[place])
        require(all(0 <= i < d for i, d in zip(at, shape)), "index {} of {}", at, shape)
        result[at] += updates[place]
    return [outs[0].store(result)]


def segments(empty, of):
    def run(ins, outs):
        data, numbers, count = ins[0].real(), ins[1].value, ins[2].scalar()
        require(count >= 1, "{} segments", count)
        require(data.shape[:numbers.ndim] == numbers.shape, "numbers {}", numbers.shape)
        start = empty["TENSOR_INT32" if ins[0].type == "TENSOR_INT32" else "float"]
        result = np.full((count,) + data.shape[numbers.ndim:], start, np.float64)
        for place in np.ndindex(numbers.shape):
            number = int(numbers[place])
            require(number < count, "segment {} of {}", number, count)
            if number >= 0:
                result[number] = of(result[number], data[place])
        return [outs[0].store(result)]
    return run


MOST = {"TENSOR_INT32": 2 ** 31 - 1, "float": float(np.finfo(np.float32).max)}
LEAST = {"TENSOR_INT32": -2 ** 31, "float": -float(np.finfo(np.float32).max)}


def dynamic_update_slice(ins, outs):
    x, update, starts = ins[0].value, ins[1].value, ins[2].ints()
    for operand in ins[:2]:
        same_parameters(operand, outs[0])
    require(x.ndim == update.ndim and len(starts) == x.ndim and ins[2].rank == 1,
            "ranks {}, {} and {}", x.ndim, update.ndim, len(starts))
    require(all(u <= d for u, d in zip(update.shape, x.shape)), "update {}", update.shape)
    result = x.copy()
    for place in np.ndindex(update.shape):
        at = tuple(min(max(s, 0), d - u) + p
                   for s, d, u, p in zip(starts, x.shape, update.shape, place))
        result[at] = update[place]
    return [result]


def where(ins, outs):
    places = [at for at in np.ndindex(ins[0].shape) if ins[0].value[at] != 0]
    return [np.array(places, np.int32).reshape(len(places), ins[0].rank)]


def reverse_sequence(ins, outs):
    same_parameters(ins[0], outs[0])
    x, lengths = ins[0].value, ins[1].ints()
    axes = [i.scalar() for i in ins[2:4]]
    require(all(-x.ndim <= a < x.ndim for a in axes), "axes {}", axes)
    sequence, batch = (a % x.ndim for a in axes)
    require(sequence != batch, "axes {}", axes)
    require(ins[1].shape == (x.shape[batch],), "lengths {}", lengths)
    require(all(0 <= n <= x.shape[sequence] for n in lengths), "lengths {}", lengths)
    result = x.copy()
    for place in itertools.product(*(range(d) for d in x.shape)):
        at = list(place)
        if place[sequence] < lengths[place[batch]]:
            at[sequence] = lengths[place[batch]] - 1 - place[sequence]
        result[place] = x[tuple(at)]
    return [result]


def bucketize(ins, outs):
    boundaries = ins[1].real()
    require(boundaries.ndim == 1, "boundaries of rank {}", boundaries.ndim)
    require((np.diff(boundaries) >= 0).all(), "boundaries {}", boundaries)
    return [outs[0].store((ins[0].real()[..., None] >= boundaries).sum(-1))]


def overlap(a, b):
    """The intersection over the union of two boxes; 0 next to one without an area."""
    low = np.maximum(np.minimum(a[:2], a[2:]), np.minimum(b[:2], b[2:]))
    high = np.minimum(np.maximum(a[:2], a[2:]), np.maximum(b[:2], b[2:]))
    areas = [abs(float(np.prod(box[2:] - box[:2]))) for box in (a, b)]
    if min(areas) <= 0:
        return 0.0
    common = float(np.prod(np.maximum(high - low, 0)))
    return common / (sum(areas) - common)


def non_max_suppression(ins, outs):
    boxes, scores, limit = ins[0].real(), ins[1].real().copy(), ins[2].scalar()
    require(boxes.ndim == 2 and boxes.shape[1] == 4, "boxes {}", boxes.shape)
    require(scores.shape == boxes.shape[:1], "scores {}", scores.shape)
    require(limit >= 1, "limit {}", limit)
    iou_threshold, score_threshold, sigma = (i.scalar() for i in ins[3:6])
    left = [i for i in range(len(scores)) if scores[i] > score_threshold]
    kept = []
    while left and len(kept) < limit:
        best = max(left, key=lambda i: (scores[i], -i))
        kept.append(best)
        left.remove(best)
        ratios = {i: overlap(boxes[i], boxes[best]) for i in left}
        left = [i for i in left if ratios[i] < iou_threshold]
        for i in left:
            scores[i] *= math.exp(-ratios[i] ** 2 / (2 * sigma)) if sigma > 0 else 1
        left = [i for i in left if scores[i] > score_threshold]
    rest = [0] * (limit - len(kept))
    return [np.array(kept + rest, np.int32), outs[1].store(np.array([scores[i] for i in kept] + rest)),
            np.array([len(kept)], np.int32)]


OPERATIONS = {
    "DEQUANTIZE_16": lambda ins, outs: [outs[0].store(ins[0].real())],
    "QUANTIZE_16": lambda ins, outs: [outs[0].store(ins[0].real())],
    "NON_MAX_SUPPRESSION": non_max_suppression,
    "COS": function(math.cos), "ROUND": function(half_to_even), "GELU": gelu,
    "ATAN2": pairs(math.atan2), "FLOOR_MOD": pairs(floor_mod),
    "TRUNCATED_DIV": pairs(truncated_div), "BITWISE_XOR": pairs(lambda x, y: x ^ y),
    "RIGHT_SHIFT": pairs(right_shift), "SELECT_V2": select, "CUMSUM": cumsum,
    "SCATTER_ND": scatter_nd,
    "UNSORTED_SEGMENT_SUM": segments({"TENSOR_INT32": 0, "float": 0}, np.add),
    "UNSORTED_SEGMENT_PROD": segments({"TENSOR_INT32": 1, "float": 1}, np.multiply),
    "UNSORTED_SEGMENT_MAX": segments(LEAST, np.maximum),
    "UNSORTED_SEGMENT_MIN": segments(MOST, np.minimum),
    "DYNAMIC_UPDATE_SLICE": dynamic_update_slice, "WHERE": where,
    "REVERSE_SEQUENCE": reverse_sequence, "BUCKETIZE": bucketize,
}
