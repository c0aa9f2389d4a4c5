"""Operations that look elements up, make them from nothing, or rearrange channels and blocks."""
import numpy as np

from builder import (Collection, DATA_TYPES, FLOAT_TYPES, const, flag, fs, grid, i32, ints, none,
                     omitted, operand, out, per_channel, real, stored)

WITH_I32 = DATA_TYPES + ("I32",)


def text(numbers):
    return "x".join(str(n) for n in numbers)


def numbered(type_, shape, start=-3.0):
    step = 1.0 if type_ == "I32" else 0.0625
    return real(type_, (start + np.arange(int(np.prod(shape))) * step).reshape(shape))


def embedding_lookup():
    c = Collection("embedding_lookup")
    for type_ in WITH_I32:
        for shape, lookups in (([4, 2], [3, 0, 0]), ([3, 2, 2], [1]), ([2, 1, 2, 3], [1, 0]),
                               ([2, 1, 2, 1, 2], [0, 1, 1])):
            c.add(f"{type_.lower()}_{text(shape)}_{text(lookups)}", "EMBEDDING_LOOKUP",
                  [ints(lookups, True), numbered(type_, shape)], [out(type_)])
    c.add("values_constant", "EMBEDDING_LOOKUP", [ints([1, 0], True),
                                                  const("F32", [[1.0, 2.0], [3.0, 4.0]])],
          [out("F32")])
    for name, lookups in (("above", [3]), ("negative", [0, -1])):
        c.fails(name, "EMBEDDING_LOOKUP", [ints(lookups, True), numbered("F32", [3, 2])],
                [out("F32", dims=[len(lookups), 2])])
    c.fails("rank1", "EMBEDDING_LOOKUP", [ints([0], True), numbered("F32", [3])],
            [out("F32", dims=[1])])
    c.fails("output_scale", "EMBEDDING_LOOKUP", [ints([0], True), numbered("U8", [2, 2])],
            [out("U8", (0.5, 120), dims=[1, 2])])
    c.refusals("EMBEDDING_LOOKUP", lambda: ([ints([0], True), numbered("F32", [2, 2])],
                                            [out("F32")]))
    return c


def hashtable_lookup():
    c = Collection("hashtable_lookup")
    hits = lambda dims=(): out("U8", (1.0, 0), dims)  # noqa: E731
    for type_ in ("F32", "I32", "U8"):
        for shape, keys, lookups in (([3, 2], [-5, 0, 9], [0, 1, 9, -5]),
                                     ([2, 2, 2], [3, 2**31 - 1], [2**31 - 1, 4]),
                                     ([1, 1, 2, 3], [7], [7, 7, 6])):
            c.add(f"{type_.lower()}_{text(shape)}", "HASHTABLE_LOOKUP",
                  [ints(lookups, True), ints(keys, True), numbered(type_, shape)],
                  [out(type_), hits()])
    c.add("u8_misses_are_zero_bytes", "HASHTABLE_LOOKUP",
          [ints([1, 5], True), ints([1, 2]), stored("U8", [[9, 8], [7, 6]], (0.5, 100))],
          [out("U8", (0.5, 100)), hits()])
    lookups, keys = ints([1], True), ints([1, 2], True)
    c.fails("key_count", "HASHTABLE_LOOKUP", [lookups, keys, numbered("F32", [3, 2])],
            [out("F32", dims=[1, 2]), hits([1])])
    c.fails("f16", "HASHTABLE_LOOKUP", [lookups, keys, numbered("F16", [2, 2])],
            [out("F16", dims=[1, 2]), hits([1])])
    c.fails("hits_scale", "HASHTABLE_LOOKUP", [lookups, keys, numbered("F32", [2, 2])],
            [out("F32", dims=[1, 2]), out("U8", (0.5, 0), [1])])
    c.refusals("HASHTABLE_LOOKUP", lambda: ([ints([1], True), ints([1, 2], True),
                                             numbered("F32", [2, 2])], [out("F32"), hits()]))
    return c


def gather():
    c = Collection("gather")
    for type_ in WITH_I32:
        for shape, axis, indices in (([5], 0, [4, 0]), ([2, 3], 1, [[2, 0], [1, 1]]),
                                     ([2, 3], -2, [1]), ([2, 2, 3], -1, [2, 0, 1]),
                                     ([1, 2, 2, 2], 2, [1]), ([1, 2, 1, 3, 1], 3, [[[2]], [[0]]])):
            c.add(f"{type_.lower()}_{text(shape)}_axis_{axis}_{text(np.ravel(indices))}", "GATHER",
                  [numbered(type_, shape), i32(axis), ints(indices, True)], [out(type_)])
    c.add("indices_constant", "GATHER", [numbered("F32", [3]), i32(0), ints([2, 2])], [out("F32")])
    for name, axis, indices in (("above", 0, [3]), ("negative", 0, [-1]), ("axis_above", 2, [0]),
                                ("axis_below", -3, [0])):
        c.fails(name, "GATHER", [numbered("F32", [3, 2]), i32(axis), ints(indices)],
                [out("F32", dims=[1, 2])])
    c.fails("output_scale", "GATHER", [numbered("U8", [2]), i32(0), ints([0])],
            [out("U8", (0.5, 120), dims=[1])])
    c.refusals("GATHER", lambda: ([numbered("F32", [3]), i32(0), ints([1])], [out("F32")]))
    return c


def fill():
    c = Collection("fill")
    for type_ in ("F32", "F16", "I32"):
        for dims in ([3], [2, 3], [1, 2, 1], [1, 2, 1, 2], [1, 1, 2, 1, 2]):
            value = i32(-7) if type_ == "I32" else fs(type_, -1.5)
            c.add(f"{type_.lower()}_{text(dims)}", "FILL", [ints(dims, True), value], [out(type_)])
    c.fails("other_type", "FILL", [ints([2], True), fs("F32", 1.0)], [out("I32", dims=[2])])
    c.fails("u8", "FILL", [ints([2], True), i32(1)], [out("U8", dims=[2])])
    c.fails("negative", "FILL", [ints([2, -1], True), i32(1)], [out("I32", dims=[2, 1])])
    c.refusals("FILL", lambda: ([ints([2], True), i32(1)], [out("I32")]))
    return c


def rank():
    c = Collection("rank")
    for type_ in WITH_I32 + ("B8", "SYM16", "U16", "SYM8"):
        for shape in ([3], [2, 1], [1, 2, 1], [1, 1, 1, 2], [1, 2, 1, 1, 1, 1]):
            c.add(f"{type_.lower()}_{text(shape)}", "RANK",
                  [stored(type_, np.ones(shape))], [operand("i32", "SUBGRAPH_OUTPUT", (0.0, 0))])
    c.add("pc8", "RANK", [per_channel([[1, 2], [3, 4]], 1, [0.5, 0.25], const=False)],
          [operand("i32", "SUBGRAPH_OUTPUT", (0.0, 0))])
    c.fails("output_tensor", "RANK", [real("F32", [1.0])], [out("I32", dims=[1])])
    c.refusals("RANK", lambda: ([real("F32", [1.0])],
                                [operand("i32", "SUBGRAPH_OUTPUT", (0.0, 0))]))
    return c


def channel_shuffle():
    c = Collection("channel_shuffle")
    for type_ in DATA_TYPES:
        for shape, groups, axis in (([6], 2, 0), ([2, 6], 3, 1), ([2, 4], 2, -1),
                                    ([4, 1, 2], 2, -3), ([1, 2, 2, 6], 3, 3),
                                    ([1, 6, 2, 1], 2, 1), ([2, 3], 1, 1),
                                    ([3], 3, 0)):
            c.add(f"{type_.lower()}_{text(shape)}_groups{groups}_axis_{axis}", "CHANNEL_SHUFFLE",
                  [numbered(type_, shape), i32(groups), i32(axis)], [out(type_)])
    for name, groups, axis in (("indivisible", 4, 1), ("no_groups", 0, 1), ("negative", -2, 1),
                               ("axis_above", 2, 2), ("axis_below", 2, -3)):
        c.fails(name, "CHANNEL_SHUFFLE", [numbered("F32", [2, 6]), i32(groups), i32(axis)],
                [out("F32", dims=[2, 6])])
    c.fails("rank5", "CHANNEL_SHUFFLE", [numbered("F32", [1, 1, 1, 1, 2]), i32(1), i32(0)],
            [out("F32", dims=[1, 1, 1, 1, 2])])
    c.fails("output_scale", "CHANNEL_SHUFFLE", [numbered("U8", [2]), i32(1), i32(0)],
            [out("U8", (0.5, 120), dims=[2])])
    c.refusals("CHANNEL_SHUFFLE", lambda: ([numbered("F32", [2, 4]), i32(2), i32(1)],
                                           [out("F32")]))
    return c


def depth_and_space(operation, shapes):
    """`shapes`: (NHWC shape, block size)."""
    c = Collection(operation.lower())
    for type_ in DATA_TYPES:
        for (n, h, w, d), block in shapes:
            name = f"{type_.lower()}_{n}x{h}x{w}x{d}_block{block}"
            c.add(name, operation, [numbered(type_, [n, h, w, d]), i32(block)], [out(type_)])
            c.add(f"{name}_nhwc", operation, [numbered(type_, [n, h, w, d]), i32(block), flag(0)],
                  [out(type_)])
            c.add(f"{name}_nchw", operation, [numbered(type_, [n, d, h, w]), i32(block), flag(1)],
                  [out(type_)])
    for name, block in (("indivisible", 3), ("zero", 0), ("negative", -1)):
        c.fails(name, operation, [numbered("F32", [1, 2, 2, 4]), i32(block)],
                [out("F32", dims=[1, 2, 2, 4])])
    c.fails("rank3", operation, [numbered("F32", [2, 2, 4]), i32(1)], [out("F32", dims=[2, 2, 4])])
    c.fails("output_scale", operation, [numbered("U8", [1, 1, 1, 4]), i32(1)],
            [out("U8", (0.5, 120), dims=[1, 1, 1, 4])])
    c.refusals(operation, lambda: ([numbered("F32", [1, 2, 2, 4]), i32(2)], [out("F32")]))
    return c


def batch_to_space():
    c = Collection("batch_to_space_nd")
    for type_ in DATA_TYPES:
        for (n, h, w, d), block in (([4, 1, 1, 2], [2, 2]), ([6, 1, 2, 1], [3, 2]),
                                    ([2, 2, 2, 2], [1, 2]), ([8, 2, 1, 1], [2, 2])):
            name = f"{type_.lower()}_{n}x{h}x{w}x{d}_by_{text(block)}"
            c.add(name, "BATCH_TO_SPACE_ND", [numbered(type_, [n, h, w, d]), ints(block)],
                  [out(type_)])
            c.add(f"{name}_nchw", "BATCH_TO_SPACE_ND", [numbered(type_, [n, d, h, w]), ints(block),
                                                        flag(1)], [out(type_)])
    for name, block in (("indivisible", [3, 1]), ("zero", [0, 1]), ("one", [2]),
                        ("negative", [-1, -2]), ("three", [1, 1, 2])):
        c.fails(name, "BATCH_TO_SPACE_ND", [numbered("F32", [2, 1, 1, 1]), ints(block)],
                [out("F32", dims=[1, 2, 1, 1])])
    c.fails("output_scale", "BATCH_TO_SPACE_ND", [numbered("U8", [2, 1, 1, 1]), ints([2, 1])],
            [out("U8", (0.5, 120), dims=[1, 2, 1, 1])])
    c.refusals("BATCH_TO_SPACE_ND", lambda: ([numbered("F32", [2, 1, 1, 1]), ints([2, 1])],
                                             [out("F32")]))
    return c


def space_to_batch():
    c = Collection("space_to_batch_nd")
    for type_ in DATA_TYPES:
        for (n, h, w, d), block, pads in (([1, 2, 2, 2], [2, 2], [0, 0, 0, 0]),
                                          ([1, 3, 4, 1], [3, 2], [0, 0, 0, 0]),
                                          ([2, 3, 2, 1], [2, 2], [1, 0, 2, 0]),
                                          ([1, 1, 5, 2], [2, 3], [0, 1, 0, 1])):
            name = f"{type_.lower()}_{n}x{h}x{w}x{d}_by_{text(block)}_pad_{text(pads)}"
            more = [ints(block), ints(pads, dims=[2, 2])]
            c.add(name, "SPACE_TO_BATCH_ND", [numbered(type_, [n, h, w, d]), *more], [out(type_)])
            c.add(f"{name}_nchw", "SPACE_TO_BATCH_ND", [numbered(type_, [n, d, h, w]), *more,
                                                        flag(1)], [out(type_)])
    c.add("u8_zero_point_zero", "SPACE_TO_BATCH_ND",
          [stored("U8", np.arange(6).reshape(1, 2, 3, 1), (0.5, 0)), ints([2, 2]),
           ints([[0, 0], [1, 0]])], [out("U8", (0.5, 0))])
    for name, block, pads in (("indivisible", [2, 2], [0, 1, 0, 0]), ("zero", [0, 1], [0] * 4),
                              ("negative_padding", [1, 1], [0, -1, 0, 0])):
        c.fails(name, "SPACE_TO_BATCH_ND", [numbered("F32", [1, 2, 2, 1]), ints(block),
                                            ints(pads, dims=[2, 2])],
                [out("F32", dims=[4, 1, 1, 1])])
    c.fails("paddings_shape", "SPACE_TO_BATCH_ND", [numbered("F32", [1, 2, 2, 1]), ints([2, 2]),
                                                    ints([0, 0, 0, 0])],
            [out("F32", dims=[4, 1, 1, 1])])
    c.refusals("SPACE_TO_BATCH_ND", lambda: ([numbered("F32", [1, 2, 2, 1]), ints([2, 2]),
                                              ints([[0, 0], [0, 0]])], [out("F32")]))
    return c


def lsh_projection():
    c = Collection("lsh_projection")
    # Rows of 1 to 80 bytes reach every branch of the hash after its 4 bytes of seed.
    widths = (1, 3, 4, 8, 12, 13, 28, 29, 44, 60, 61, 80, 130)
    for width in widths:
        r = c.random(f"u8{width}")
        c.add(f"u8_rows_of_{width}", "LSH_PROJECTION",
              [real("F32", grid(r, 3, 4)), stored("U8", r.randint(0, 256, [2, width])),
               none("F32"), i32(3)], [out("I32")])
    for hash_type in FLOAT_TYPES:
        for type_ in ("F32", "F16", "I32", "U8"):
            for kind in (1, 2, 3):
                name = f"{hash_type.lower()}_of_{type_.lower()}_kind{kind}"
                r = c.random(name)
                weight = real(hash_type, grid(r, 3, low=0.25)) if kind == 2 else none(hash_type)
                c.add(name, "LSH_PROJECTION",
                      [real(hash_type, grid(r, 4, 2)), real(type_, grid(r, 3, 2)), weight,
                       i32(kind)], [out("I32")])
    r = c.random("more")
    c.add("rank1", "LSH_PROJECTION", [real("F32", grid(r, 2, 3)), stored("I32", [5, 6, 7]),
                                      omitted("F32"), i32(3)], [out("I32")])
    c.add("negative_weights", "LSH_PROJECTION",
          [real("F32", grid(r, 2, 8)), stored("I32", [[5], [6]]), real("F32", [-1.0, 0.5]),
           i32(2)], [out("I32")])
    hashes, x = real("F32", grid(r, 2, 2)), stored("I32", [[1], [2]])
    for name, weight, kind in (("dense_without_weight", none("F32"), 2),
                               ("sparse_with_weight", real("F32", [1.0, 1.0]), 3),
                               ("deprecated_with_weight", real("F32", [1.0, 1.0]), 1),
                               ("weight_length", real("F32", [1.0]), 2),
                               ("kind_zero", none("F32"), 0), ("kind_four", none("F32"), 4)):
        c.fails(name, "LSH_PROJECTION", [hashes, x, weight, i32(kind)],
                [out("I32", dims=[4 if kind == 2 else 2])])
    c.fails("too_many_bits", "LSH_PROJECTION",
            [real("F32", grid(r, 1, 33)), x, none("F32"), i32(3)], [out("I32", dims=[1])])
    c.refusals("LSH_PROJECTION", lambda: ([real("F32", grid(c.random("r"), 2, 2)),
                                           stored("I32", [[1], [2]]), none("F32"), i32(3)],
                                          [out("I32")]))
    return c


def random_multinomial():
    c = Collection("random_multinomial")
    logits = {"even": [[0.0, 0.0, 0.0, 0.0]], "steep": [[0.0, -2.0, -4.0, -1.0, -0.5]],
              "two_rows": [[2.0, 0.0], [-1.0, 1.5]], "sure": [[-50.0, 0.0, -50.0]],
              "one_class": [[3.0]], "large": [[500.0, 501.0]]}
    for type_ in FLOAT_TYPES:
        for number, (name, x) in enumerate(logits.items()):
            c.add(f"{type_.lower()}_{name}", "RANDOM_MULTINOMIAL",
                  [real(type_, x), i32(4096), ints([37 + number, 42])], [out("I32")],
                  multinomial_tolerance=0.04)
    c.add("seeds_as_input", "RANDOM_MULTINOMIAL",
          [real("F32", logits["steep"]), i32(4096), ints([-1, 2**31 - 1], True)], [out("I32")],
          multinomial_tolerance=0.04)
    x = lambda: real("F32", [[1.0, 2.0]])  # noqa: E731
    for name, ins, dims in (("rank1", [real("F32", [1.0, 2.0]), i32(2), ints([1, 2])], [2]),
                            ("one_seed", [x(), i32(2), ints([1])], [1, 2]),
                            ("negative_count", [x(), i32(-2), ints([1, 2])], [1, 2]),
                            ("u8", [stored("U8", [[1]]), i32(2), ints([1, 2])], [1, 2])):
        c.fails(name, "RANDOM_MULTINOMIAL", ins, [out("I32", dims=dims)])
    c.refusals("RANDOM_MULTINOMIAL", lambda: ([x(), i32(2), ints([1, 2])], [out("I32")]))
    return c


def collections():
    return [embedding_lookup(), hashtable_lookup(), gather(), fill(), rank(), channel_shuffle(),
            depth_and_space("DEPTH_TO_SPACE", [([1, 1, 1, 8], 2), ([1, 2, 1, 4], 2),
                                               ([2, 1, 2, 3], 1), ([1, 1, 1, 9], 3)]),
            depth_and_space("SPACE_TO_DEPTH", [([1, 2, 2, 2], 2), ([1, 2, 4, 1], 2),
                                               ([2, 1, 2, 3], 1), ([1, 3, 3, 1], 3)]),
            batch_to_space(), space_to_batch(), lsh_projection(), random_multinomial()]
