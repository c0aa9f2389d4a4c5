"""Random cases of the operators that move, pick, repeat, reduce or count elements."""
import numpy as np

from operator_cases import TENSOR_TYPES, case, output_for
from operator_models import QUANTISED

MOVED = ("f32", "i32", "i64", "u8", "i8", "i16", "bool")
USUAL = ("f32", "i32", "i64", "u8", "i8")


def permutation(d, count):
    return [int(i) for i in d.random.permutation(count)]


def signed_axis(d, axis, rank):
    return axis - rank if d.coin() else axis


@case("RESHAPE")
def reshape(d, name):
    shape = d.shape()
    x = d.tensor(d.pick(MOVED), shape)
    target = [shape[i] for i in permutation(d, len(shape))]
    if d.coin():
        target.insert(d.between(0, len(target)), 1)
    if d.coin():
        target = [int(np.prod(target))]
    given = list(target)
    if d.coin():
        given[d.between(0, len(given) - 1)] = -1
    d.like(x)
    how = d.between(0, 2)
    operands = [x] if how == 0 else [x, d.ints(given, constant=how == 1)]
    d.operator(name, operands, "ReshapeOptions", newShape=given)


@case("SQUEEZE")
def squeeze(d, name):
    shape = [d.pick((1, 1, d.between(2, 5))) for _ in range(d.between(1, 5))]
    x = d.tensor(d.pick(USUAL), shape)
    axes = [signed_axis(d, i, len(shape)) for i, size in enumerate(shape) if size == 1 and d.coin()]
    d.like(x)
    d.operator(name, [x], "SqueezeOptions", squeezeDims=axes)


@case("EXPAND_DIMS")
def expand_dims(d, name):
    shape = d.shape(0)
    x = d.tensor(d.pick(MOVED), shape)
    axis = signed_axis(d, d.between(0, len(shape)), len(shape) + 1)
    d.like(x)
    d.operator(name, [x, d.ints([axis] if d.coin() else axis)], "ExpandDimsOptions")


@case("SHAPE")
def shape_of(d, name):
    x = d.tensor(d.pick(USUAL), d.shape())
    type_ = d.pick(("i32", "i64"))
    d.output(type_)
    d.operator(name, [x], "ShapeOptions", outType=TENSOR_TYPES[type_])


@case("RANK")
def rank(d, name):
    x = d.tensor(d.pick(USUAL), d.shape(0))
    d.output("i32")
    d.operator(name, [x], "RankOptions")


@case("TRANSPOSE")
def transpose(d, name):
    shape = d.shape(1, 5)
    x = d.tensor(d.pick(MOVED), shape)
    d.like(x)
    d.operator(name, [x, d.ints(permutation(d, len(shape)))], "TransposeOptions")


@case("CONCATENATION")
def concatenation(d, name):
    type_, shape = d.pick(MOVED), d.shape()
    axis = d.between(0, len(shape) - 1)
    quantisation = d.quantisation(type_)
    operands = []
    for i in range(d.between(1, 4)):
        own = list(shape)
        own[axis] = d.between(1, 5)
        other = type_ in ("u8", "i8") and d.between(0, 3) == 0 and type_ == "u8"
        how = {"quantisation": None if other else quantisation}
        operands.append(d.maybe_constant(type_, own, **how) if i else d.tensor(type_, own, **how))
    d.output(type_, quantisation)
    d.operator(name, operands, "ConcatenationOptions", axis=signed_axis(d, axis, len(shape)),
               fusedActivationFunction=0)


@case("PACK")
def pack(d, name):
    type_, shape = d.pick(MOVED), d.shape(0, 3)
    quantisation = d.quantisation(type_)
    operands = [d.tensor(type_, shape, quantisation=quantisation) for _ in range(d.between(1, 4))]
    d.output(type_, quantisation)
    axis = signed_axis(d, d.between(0, len(shape)), len(shape) + 1)
    d.operator(name, operands, "PackOptions", valuesCount=len(operands), axis=axis)


@case("UNPACK")
def unpack(d, name):
    type_, shape = d.pick(MOVED), d.shape(1, 4)
    x = d.tensor(type_, shape)
    axis = d.between(0, len(shape) - 1)
    for _ in range(shape[axis]):
        d.like(x)
    d.operator(name, [x], "UnpackOptions", num=shape[axis], axis=signed_axis(d, axis, len(shape)))


@case("SPLIT")
def split(d, name):
    type_, shape, parts = d.pick(USUAL + ("i16",)), d.shape(), d.between(1, 4)
    axis = d.between(0, len(shape) - 1)
    shape[axis] *= parts
    x = d.tensor(type_, shape)
    for _ in range(parts):
        d.like(x)
    at = d.ints(signed_axis(d, axis, len(shape)))
    d.operator(name, [at, x], "SplitOptions", numSplits=parts)


@case("SPLIT_V")
def split_v(d, name):
    type_, shape = d.pick(USUAL + ("i16",)), d.shape()
    axis = d.between(0, len(shape) - 1)
    sizes = [d.between(1, 4) for _ in range(d.between(1, 4))]
    shape[axis] = sum(sizes)
    x = d.tensor(type_, shape)
    if d.coin():
        sizes[d.between(0, len(sizes) - 1)] = -1
    for _ in sizes:
        d.like(x)
    d.operator(name, [x, d.ints(sizes), d.ints(signed_axis(d, axis, len(shape)))], "SplitVOptions",
               numSplits=len(sizes))


@case("SLICE")
def slice_(d, name):
    shape = d.shape(1, 5)
    x = d.tensor(d.pick(MOVED), shape)
    begin = [d.between(0, size - 1) for size in shape]
    size = [-1 if d.coin() else d.between(1, s - b) for s, b in zip(shape, begin)]
    type_, constant = d.pick(("i32", "i64")), d.between(0, 4) > 0
    d.like(x)
    d.operator(name, [x, d.ints(begin, type_, constant), d.ints(size, type_, constant)],
               "SliceOptions")


@case("STRIDED_SLICE")
def strided_slice(d, name):
    shape = d.shape(1, 4)
    x = d.tensor(d.pick(MOVED), shape)
    begin, end, strides = [], [], []
    masks = {"beginMask": 0, "endMask": 0, "ellipsisMask": 0, "newAxisMask": 0,
             "shrinkAxisMask": 0}
    has_ellipsis = len(shape) > 1 and d.between(0, 5) == 0
    kept = shape[:d.between(1, len(shape))]
    for i, size in enumerate(kept):
        position = 1 << len(begin)
        if has_ellipsis and i == 1:
            masks["ellipsisMask"] |= position
            begin, end, strides = begin + [0], end + [0], strides + [1]
            continue
        if d.between(0, 8) == 0:
            masks["newAxisMask"] |= position
            begin, end, strides = begin + [0], end + [0], strides + [1]
            position <<= 1
        first = d.between(0, size - 1)
        if d.between(0, 3) == 0:
            masks["shrinkAxisMask"] |= position
            begin, end, strides = begin + [first], end + [first + 1], strides + [1]
            continue
        forwards = d.between(0, 3) > 0
        begin.append(first if d.coin() else first - size)
        end.append(d.between(first + 1, size) if forwards else d.between(-size - 1, -size + first))
        strides.append(d.between(1, 3) * (1 if forwards else -1))
        if not forwards and end[-1] == first - size:
            end[-1] -= 1
        masks["beginMask"] |= position * d.pick((0, 0, 1))
        masks["endMask"] |= position * d.pick((0, 0, 1))
    if len(begin) == 1 or d.between(0, 7):
        lists = [d.ints(values) for values in (begin, end, strides)]
    else:
        lists = [d.ints(begin, constant=False), d.ints(end, constant=False), d.ints(strides)]
    d.like(x)
    d.operator(name, [x, *lists], "StridedSliceOptions", offset=False, **masks)


@case("TILE")
def tile(d, name):
    shape = d.shape(1, 4, 4)
    x = d.tensor(d.pick(("f32", "i32", "i64", "u8", "i8", "bool")), shape)
    d.like(x)
    multiples = d.ints([d.between(1, 3) for _ in shape], d.pick(("i32", "i64")))
    d.operator(name, [x, multiples], "TileOptions")


@case("BROADCAST_TO")
def broadcast_to(d, name):
    shape = d.shape(1, 4)
    own = [1 if d.coin() else size for size in shape]
    own = own[d.between(0, len(own) - 1):]
    x = d.tensor(d.pick(("f32", "i32", "i64", "u8", "i8", "i16", "bool")), own)
    d.like(x)
    d.operator(name, [x, d.ints(shape, d.pick(("i32", "i64")))], "BroadcastToOptions")


@case("BROADCAST_ARGS")
def broadcast_args(d, name):
    shape = d.shape(1, 4)
    a = [1 if d.between(0, 2) == 0 else size for size in shape]
    b = [size if own == 1 or d.coin() else 1 for size, own in zip(shape, a)]
    b = b[d.between(0, len(b) - 1):]
    type_ = d.pick(("i32", "i64"))
    constant = d.coin()
    d.operator(name, [d.ints(a, type_, constant), d.ints(b, type_, constant)])
    d.output(type_)


@case("FILL")
def fill(d, name):
    type_ = d.pick(("f32", "i32", "i64", "bool"))
    dims = d.ints(d.shape(), d.pick(("i32", "i64")))
    value = d.maybe_constant(type_, [])
    d.output(type_)
    d.operator(name, [dims, value], "FillOptions")


@case("RANGE")
def range_(d, name):
    type_ = d.pick(("f32", "i32", "i64"))
    start, delta = d.between(-5, 5), d.pick((1, 2, 3, -1, -2))
    limit = start + delta * d.between(1, 6) + (1 if delta > 0 else -1) * d.between(0, 1)
    constant = d.between(0, 3) > 0
    operands = [d.ints(np.array(v), type_, constant) for v in (start, limit, delta)]
    d.output(type_)
    d.operator(name, operands, "RangeOptions")


@case("PAD", "PADV2")
def pad(d, name):
    shape = d.shape(1, 4)
    x = d.tensor(d.pick(("f32", "i32", "i64", "u8", "i8", "i16")), shape)
    pads = d.ints([[d.between(0, 3), d.between(0, 3)] for _ in shape], d.pick(("i32", "i64")))
    operands = [x, pads]
    if name == "PADV2":
        operands.append(d.maybe_constant(d.tensors[x].type, [1] if d.coin() else [],
                                         quantisation=d.quantisation_of(x)))
    d.like(x)
    d.operator(name, operands, "PadOptions" if name == "PAD" else "PadV2Options")


@case("MIRROR_PAD")
def mirror_pad(d, name):
    shape = d.shape(1, 4)
    mode = d.between(0, 1)
    x = d.tensor(d.pick(USUAL), shape)
    pads = [[d.between(0, size - 1 + mode), d.between(0, size - 1 + mode)] for size in shape]
    d.like(x)
    d.operator(name, [x, d.ints(pads, d.pick(("i32", "i64")))], "MirrorPadOptions", mode=mode)


@case("REVERSE_V2")
def reverse(d, name):
    shape = d.shape(1, 4)
    x = d.tensor(d.pick(MOVED), shape)
    count = d.between(1, len(shape)) if d.coin() else 1
    start = d.between(0, len(shape) - count)
    d.like(x)
    d.operator(name, [x, d.ints(list(range(start, start + count)))], "ReverseV2Options")


@case("REVERSE_SEQUENCE")
def reverse_sequence(d, name):
    shape = d.shape(2, 4)
    batch, sequence = permutation(d, len(shape))[:2]
    lengths = [d.between(1, shape[sequence]) for _ in range(shape[batch])]
    x = d.tensor(d.pick(("f32", "i32", "i64", "u8", "i16")), shape, quantisation=None)
    d.like(x)
    d.operator(name, [x, d.ints(lengths, d.pick(("i32", "i64")), d.coin())],
               "ReverseSequenceOptions", seqDim=sequence, batchDim=batch)


@case("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")
def blocks(d, name):
    size = d.between(1, 3)
    n, h, w, c = (d.between(1, 4) for _ in range(4))
    shape = [n, h * size, w * size, c] if name == "SPACE_TO_DEPTH" else [n, h, w, c * size * size]
    x = d.tensor(d.pick(USUAL), shape)
    d.like(x)
    d.operator(name, [x], "SpaceToDepthOptions" if name == "SPACE_TO_DEPTH" else
               "DepthToSpaceOptions", blockSize=size)


@case("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")
def batch_blocks(d, name):
    dimensions = d.pick((2, 2, 1))
    block = [d.between(1, 3) for _ in range(dimensions)]
    shape = [d.between(1, 3)] + [d.between(1, 5) for _ in block] + [d.between(1, 4)]
    type_ = d.pick(USUAL + ("i16",))
    edges = []
    if name == "SPACE_TO_BATCH_ND":
        for size, own in zip(block, shape[1:]):
            before = d.between(0, size - 1)
            edges.append([before, -(own + before) % size])
    else:
        shape[0] *= int(np.prod(block))
        for size, own in zip(block, shape[1:]):
            left = size * own - 1
            before = d.between(0, min(left, 2)) if d.coin() else 0
            edges.append([before, d.between(0, min(left - before, 2)) if d.coin() else 0])
    x = d.tensor(type_, shape)
    d.like(x)
    d.operator(name, [x, d.ints(block), d.ints(edges)], "SpaceToBatchNDOptions" if
               name == "SPACE_TO_BATCH_ND" else "BatchToSpaceNDOptions")


@case("GATHER")
def gather(d, name):
    shape = d.shape(1, 4)
    batch = d.between(1, len(shape) - 1) if len(shape) > 1 and d.between(0, 4) == 0 else 0
    axis = d.between(batch, len(shape) - 1)
    own = shape[:batch] + d.shape(0 if batch == 0 else 1, 2, 4)
    indices = d.ints(d.random.randint(0, shape[axis], own), d.pick(("i32", "i64")), d.coin())
    x = d.tensor(d.pick(MOVED), shape)
    d.like(x)
    d.operator(name, [x, indices], "GatherOptions", axis=axis if batch else
               signed_axis(d, axis, len(shape)), batchDims=batch)


@case("GATHER_ND")
def gather_nd(d, name):
    shape = d.shape(1, 4)
    depth = d.between(1, len(shape))
    own = d.shape(0, 2, 4)
    indices = np.stack([d.random.randint(0, size, own) for size in shape[:depth]], -1)
    x = d.tensor(d.pick(USUAL + ("i16", "bool")), shape)
    operands = [x, d.ints(indices, d.pick(("i32", "i64")), d.coin())]
    d.like(x)
    d.operator(name, operands, "GatherNdOptions")


@case("SCATTER_ND")
def scatter_nd(d, name):
    shape = d.shape(1, 4)
    depth = d.between(1, len(shape))
    own = d.shape(1, 2, 4)
    indices = np.stack([d.random.randint(0, size, own) for size in shape[:depth]], -1)
    type_ = d.pick(("f32", "i32", "i64", "bool", "u8", "i8"))
    updates = d.tensor(type_, own + shape[depth:], quantisation=())
    d.output(type_, ())
    d.operator(name, [d.ints(indices, constant=d.coin()), updates,
                      d.ints(shape, constant=d.between(0, 4) > 0)], "ScatterNdOptions")


@case("SPARSE_TO_DENSE")
def sparse_to_dense(d, name):
    shape = d.shape(1, 3)
    count = d.between(1, 4)
    places = sorted({int(p) for p in d.random.randint(0, int(np.prod(shape)), count)})
    indices = np.stack(np.unravel_index(places, shape), -1)
    if len(shape) == 1:
        indices = indices.reshape(-1)
    type_ = d.pick(("f32", "i32", "i64"))
    values = d.tensor(type_, [len(places)])
    default = d.ints(np.array(d.pick((0, 0, -1))), type_)
    d.output(type_)
    d.operator(name, [d.ints(indices), d.ints(shape), values, default], "SparseToDenseOptions",
               validateIndices=False)


@case("DYNAMIC_UPDATE_SLICE")
def dynamic_update_slice(d, name):
    shape = d.shape(1, 4)
    own = [d.between(1, size) for size in shape]
    type_ = d.pick(("f32", "i32", "i64", "i8", "bool"))
    x = d.tensor(type_, shape, quantisation=())
    update = d.tensor(type_, own, quantisation=())
    starts = d.ints([d.between(-1, size) for size in shape], d.pick(("i32", "i64")), d.coin())
    d.output(type_, ())
    d.operator(name, [x, update, starts], "DynamicUpdateSliceOptions")


@case("SEGMENT_SUM")
def segment_sum(d, name):
    shape = d.shape()
    ids = np.cumsum(d.random.randint(0, 2, shape[0]))
    type_ = d.pick(("f32", "i32"))
    x = d.tensor(type_, shape)
    d.output(type_)
    d.operator(name, [x, d.ints(ids, constant=d.coin())], "SegmentSumOptions")


@case("UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_SUM",
      "UNSORTED_SEGMENT_MIN")
def unsorted_segment(d, name):
    shape, count = d.shape(), d.between(1, 5)
    own = shape[:d.between(1, len(shape))]
    type_ = d.pick(("f32", "i32"))
    x = d.tensor(type_, shape)
    ids = d.ints(d.random.randint(-1, count, own), constant=d.coin())
    d.output(type_)
    kind = "".join(word.capitalize() for word in name.split("_"))
    d.operator(name, [x, ids, d.ints(np.array(count))], kind + "Options")


@case("EMBEDDING_LOOKUP")
def embedding_lookup(d, name):
    rows = d.between(1, 6)
    shape = [rows] + d.shape(1, 3)
    table = d.tensor(d.pick(("f32", "u8", "i8")), shape, constant=True)
    ids = d.tensor("i32", [d.between(1, 5)], value=d.random.randint(0, rows, d.between(1, 5)))
    d.tensors[ids].shape = list(d.tensors[ids].value.shape)
    if d.coin():
        d.output("f32")
    else:
        d.like(table)
    d.operator(name, [ids, table])


@case("HASHTABLE_LOOKUP")
def hashtable_lookup(d, name):
    keys = np.unique(d.random.randint(-9, 9, d.between(1, 6)))
    lookups = d.ints(d.random.randint(-9, 9, d.between(1, 5)), constant=False)
    values = d.tensor("f32", [len(keys)] + d.shape(1, 2))
    d.output("f32")
    d.output("u8", ())
    d.operator(name, [lookups, d.ints(keys), values])


@case("ONE_HOT")
def one_hot(d, name):
    type_, depth = d.pick(("f32", "i32", "i64", "bool", "i8", "u8")), d.between(1, 6)
    shape = d.shape(0, 3)
    indices = d.ints(d.random.randint(-1, depth + 1, shape), d.pick(("i32", "i64")), False)
    on = d.tensor(type_, [], 1, 3, quantisation=(), constant=d.coin())
    off = d.tensor(type_, [], -1, 0, quantisation=(), constant=d.coin())
    d.output(type_, ())
    d.operator(name, [indices, d.ints(np.array(depth)), on, off], "OneHotOptions",
               axis=d.pick((-1, d.between(0, len(shape)))))


@case("MATRIX_DIAG")
def matrix_diag(d, name):
    x = d.tensor(d.pick(("f32", "i32", "i64", "u8", "i8", "i16")), d.shape(1, 3))
    d.like(x)
    d.operator(name, [x], "MatrixDiagOptions")


@case("MATRIX_SET_DIAG")
def matrix_set_diag(d, name):
    type_, shape = d.pick(("f32", "i32", "i64", "u8", "i8", "i16")), d.shape(2, 4)
    x = d.tensor(type_, shape)
    diagonal = d.tensor(type_, shape[:-2] + [min(shape[-2:])],
                        quantisation=d.quantisation_of(x) or ())
    d.like(x)
    d.operator(name, [x, diagonal], "MatrixSetDiagOptions")


@case("WHERE")
def where(d, name):
    type_ = d.pick(("bool", "f32", "i32", "i64"))
    x = d.tensor(type_, d.shape(1, 3), -1, 1)
    if type_ == "f32":
        d.tensors[x].value = np.round(d.tensors[x].value)
    d.tensors[x].value.reshape(-1)[0] = 1
    d.output("i64")
    d.operator(name, [x], "WhereOptions")


@case("UNIQUE")
def unique(d, name):
    type_, out = d.pick(("f32", "i32", "i64")), d.pick(("i32", "i64"))
    x = d.tensor(type_, [d.between(1, 12)], value=d.random.randint(-3, 4, d.between(1, 12)))
    d.tensors[x].shape = list(d.tensors[x].value.shape)
    d.output(type_)
    d.output(out)
    d.operator(name, [x], "UniqueOptions", idxOutType=TENSOR_TYPES[out])


@case("CUMSUM")
def cumsum(d, name):
    type_, shape = d.pick(("f32", "i32", "i64")), d.shape()
    x = d.tensor(type_, shape)
    axis = signed_axis(d, d.between(0, len(shape) - 1), len(shape))
    d.output(type_)
    d.operator(name, [x, d.ints(np.array(axis))], "CumsumOptions", exclusive=d.coin(),
               reverse=d.coin())


@case("BUCKETIZE")
def bucketize(d, name):
    type_ = d.pick(("f32", "i32", "i64"))
    x = d.tensor(type_, d.shape())
    d.output("i32")
    d.operator(name, [x], "BucketizeOptions",
               boundaries=sorted(d.between(-4, 4) for _ in range(d.between(1, 4))))


REDUCTIONS = {"MEAN": ("f32", "f32", "u8", "i8", "i16", "i32", "i64"),
              "SUM": ("f32", "f32", "u8", "i8", "i16", "i32", "i64"),
              "REDUCE_PROD": ("f32", "i32", "i64", "i8"),
              "REDUCE_MAX": ("f32", "i32", "i64", "u8", "i8", "i16"),
              "REDUCE_MIN": ("f32", "i32", "i64", "u8", "i8", "i16"),
              "REDUCE_ANY": ("bool",), "REDUCE_ALL": ("bool",)}


@case(*REDUCTIONS)
def reduction(d, name):
    type_, shape = d.pick(REDUCTIONS[name]), d.shape()
    x = d.tensor(type_, shape, -2, 2)
    axes = permutation(d, len(shape))[:d.between(1, len(shape))]
    axes = [signed_axis(d, axis, len(shape)) for axis in axes]
    if type_ not in QUANTISED or name in ("REDUCE_MAX", "REDUCE_MIN") or d.coin():
        d.like(x)
    else:
        output_for(d, type_, 4)
    d.operator(name, [x, d.ints(axes if len(axes) > 1 or d.coin() else np.array(axes[0]))],
               "ReducerOptions", keepDims=d.coin())


@case("ARG_MAX", "ARG_MIN")
def argument(d, name):
    shape, out = d.shape(), d.pick(("i32", "i64"))
    x = d.tensor(d.pick(("f32", "u8", "i8", "i32", "bool")), shape)
    axis = d.ints(np.array(signed_axis(d, d.between(0, len(shape) - 1), len(shape))))
    d.output(out)
    d.operator(name, [x, axis], "ArgMaxOptions" if name == "ARG_MAX" else "ArgMinOptions",
               outputType=TENSOR_TYPES[out])


@case("TOPK_V2")
def top_k(d, name):
    type_, shape = d.pick(("f32", "i32", "i64", "u8", "i8")), d.shape()
    x = d.tensor(type_, shape)
    d.like(x)
    d.output("i32")
    d.operator(name, [x, d.ints(np.array(d.between(1, shape[-1])))], "TopKV2Options")
