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


def left_shift(x, y):
    return (x * 2 ** y + 2 ** 31) % 2 ** 32 - 2 ** 31 if 0 <= y <= 31 else 0


def unique(ins, outs):
    x = ins[0].value
    require(x.ndim == 1, "rank {}", x.ndim)
    found = []
    places = []
    for value in x.tolist():
        if value not in found:
            found.append(value)
        places.append(found.index(value))
    return [np.array(found, x.dtype), np.array(places, np.int32)]


def dilate(ins, outs):
    for operand in (ins[0], ins[2]):
        same_parameters(operand, outs[0])
    x, steps, fill = ins[0].value, ins[1].ints(), ins[2].value
    require(ins[1].shape == (x.ndim,) and min(steps) >= 1, "steps {}", steps)
    require(fill.size == 1, "fill {}", fill.shape)
    shape = [(d - 1) * step + 1 for d, step in zip(x.shape, steps)]
    result = np.full(shape, fill.reshape(-1)[0], x.dtype)
    result[tuple(slice(None, None, step) for step in steps)] = x
    return [result]


REDUCTIONS = {1: sum, 2: math.prod, 3: min, 4: max, 5: all, 6: any}


def reduce_window(ins, outs):
    x, function = ins[0].real(), ins[5].scalar()
    window, strides, dilations = (i.ints() for i in ins[2:5])
    for operand in ins[2:5]:
        require(operand.shape == (x.ndim,) and min(operand.ints()) >= 1, "{}", operand.ints())
    require(ins[1].value.size == 1, "init {}", ins[1].shape)
    allowed = (5, 6) if ins[0].type == "TENSOR_BOOL8" else (1, 2, 3, 4)
    require(function in allowed, "function {}", function)
    extents = [(w - 1) * d + 1 for w, d in zip(window, dilations)]
    require(all(e <= d for e, d in zip(extents, x.shape)), "window {}", window)
    shape = [(d - e) // s + 1 for d, e, s in zip(x.shape, extents, strides)]
    result = np.zeros(shape)
    for at in np.ndindex(*shape):
        taken = x[tuple(slice(a * s, a * s + e, d)
                        for a, s, e, d in zip(at, strides, extents, dilations))]
        values = [ins[1].real().reshape(-1)[0], *taken.reshape(-1)]
        result[at] = REDUCTIONS[function](values)
    return [outs[0].store(result)]


def volume_windows(large, filter_, paddings, strides, dilations):
    """The output's depth, height and width, and for each of its places and each tap: the place in
    the input that they meet."""
    extents = [(k - 1) * d + 1 for k, d in zip(filter_, dilations)]
    padded = [n + a + b for n, (a, b) in zip(large, paddings)]
    require(all(e <= p for e, p in zip(extents, padded)), "filter {}", filter_)
    small = [(p - e) // s + 1 for p, e, s in zip(padded, extents, strides)]
    met = []
    for at in np.ndindex(*small):
        for tap in np.ndindex(*filter_):
            place = tuple(a * s - p[0] + t * d for a, s, p, t, d in
                          zip(at, strides, paddings, tap, dilations))
            if all(0 <= q < n for q, n in zip(place, large)):
                met.append((at, tap, place))
    return tuple(small), met


def conv_3d(ins, outs, transposed=False):
    x, weights, bias = (i.real() for i in ins[:3])
    require(x.ndim == 5 and weights.ndim == 5, "ranks {} and {}", x.ndim, weights.ndim)
    inputs, outputs = weights.shape[3:][::-1] if transposed else weights.shape[3:]
    require(inputs == x.shape[4] and bias.shape == (outputs,), "channels")
    require(ins[3].shape == (3, 2) and ins[4].shape == ins[5].shape == (3,), "shapes of lists")
    paddings, strides, dilations = ins[3].value.tolist(), ins[4].ints(), ins[5].ints()
    require(min(map(min, paddings)) >= 0 and min(strides) >= 1 and min(dilations) >= 1, "numbers")
    require(0 <= ins[6].scalar() <= 3, "activation")
    large = tuple(ins[7].ints()) if transposed else x.shape[1:4]
    require(len(large) == 3 and min(large) >= 1, "size {}", large)
    small, met = volume_windows(large, weights.shape[:3], paddings, strides, dilations)
    require(not transposed or small == x.shape[1:4], "size {}", large)
    result = np.zeros((x.shape[0], *(large if transposed else small), outputs)) + bias
    for at, tap, place in met:
        source, target = (at, place) if transposed else (place, at)
        factors = weights[tap].T if transposed else weights[tap]
        result[(slice(None), *target)] += x[(slice(None), *source)] @ factors
    low, high = {0: (-np.inf, np.inf), 1: (0, np.inf), 2: (-1, 1), 3: (0, 6)}[ins[6].scalar()]
    return [outs[0].store(np.clip(result, low, high))]


OPERATIONS = {
    "UNIQUE": unique, "DILATE": dilate, "REDUCE_WINDOW": reduce_window, "CONV_3D": conv_3d,
    "CONV_3D_TRANSPOSE": lambda ins, outs: conv_3d(ins, outs, transposed=True),
    "LEFT_SHIFT": pairs(left_shift),
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
