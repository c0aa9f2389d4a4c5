"""Operations that move elements: shapes, slices, joins, paddings."""
import numpy as np

from builder import (Collection, DATA_TYPES, FLOAT_TYPES, fs, i32, ints, none, omitted, out, real,
                     scalar, stored, zero_sized)

WITH_I32 = DATA_TYPES + ("I32",)


def numbered(type_, shape, start=-3.0):
    """Different values throughout, in order."""
    count = int(np.prod(shape))
    step = 1.0 if type_ == "I32" else 0.0625
    return real(type_, (start + np.arange(count) * step).reshape(shape))


def text(numbers):
    return "x".join(str(n) for n in numbers)


def same_parameters_required(c, operation, ins, dims):
    """`ins()`: inputs whose first tensor is U8."""
    c.fails("output_scale", operation, ins(), [out("U8", (0.5, 120), dims)])
    c.fails("output_zero_point", operation, ins(), [out("U8", (0.0625, 121), dims)])


def reshape():
    c = Collection("reshape")
    for type_ in WITH_I32:
        for shape, target in (([2, 3, 4], [4, 6]), ([2, 6], [-1]), ([12], [2, 1, -1, 3]),
                              ([1, 2, 2, 3], [3, 4]), ([4], [1, 1, 2, 1, 2])):
            c.add(f"{type_.lower()}_{text(shape)}_to_{text(target)}", "RESHAPE",
                  [numbered(type_, shape), ints(target)], [out(type_)])
    c.add("target_as_input", "RESHAPE", [numbered("F32", [2, 3]), ints([3, -1], True)],
          [out("F32")])
    c.add("relaxed", "RESHAPE", [numbered("F32", [2, 3]), ints([6])], [out("F32")], relaxed=True)
    for name, target, dims in (("count", [5], [5]), ("two_open", [-1, -1], [2, 3]),
                               ("below", [-2, 3], [2, 3]), ("indivisible", [4, -1], [4, 1]),
                               ("open_beside_zero", [0, -1], [2, 3])):
        c.fails(name, "RESHAPE", [numbered("F32", [2, 3]), ints(target)], [out("F32", dims=dims)])
    same_parameters_required(c, "RESHAPE", lambda: [numbered("U8", [2]), ints([2])], [2])
    c.fails("rank5", "RESHAPE", [numbered("F32", [1, 1, 1, 1, 2]), ints([2])],
            [out("F32", dims=[2])])
    c.refusals("RESHAPE", lambda: ([numbered("F32", [2, 3]), ints([3, 2])], [out("F32")]))
    return c


def squeeze():
    c = Collection("squeeze")
    for type_ in DATA_TYPES:
        for shape, axes in (([1, 3, 1, 2], [0]), ([1, 3, 1, 2], [2, 0]), ([1, 3, 1, 2], [-2, 0, 0]),
                            ([1, 1], [0, 1]), ([4, 1], [-1])):
            c.add(f"{type_.lower()}_{text(shape)}_axes_{text(axes)}", "SQUEEZE",
                  [numbered(type_, shape), ints(axes)], [out(type_)])
        c.add(f"{type_.lower()}_no_axes", "SQUEEZE", [numbered(type_, [1, 2, 1, 3]), none("I32")],
              [out(type_)])
    c.add("axes_omitted_at_execution", "SQUEEZE", [numbered("F32", [1, 2, 1]), omitted("I32")],
          [out("F32")])
    c.add("all_removed", "SQUEEZE", [numbered("F32", [1, 1, 1]), none("I32")], [out("F32")])
    c.add("axes_as_input", "SQUEEZE", [numbered("F32", [1, 2, 1]), ints([2], True)], [out("F32")])
    for name, axes, dims in (("not_one", [1], [1, 1]), ("above", [3], [2, 1]),
                             ("below", [-4], [2, 1])):
        c.fails(name, "SQUEEZE", [numbered("F32", [1, 2, 1]), ints(axes)], [out("F32", dims=dims)])
    same_parameters_required(c, "SQUEEZE", lambda: [numbered("U8", [1, 2]), ints([0])], [2])
    c.refusals("SQUEEZE", lambda: ([numbered("F32", [1, 2]), ints([0])], [out("F32")]))
    return c


def expand_dims():
    c = Collection("expand_dims")
    for type_ in WITH_I32:
        for shape, axis in (([2], 0), ([2], 1), ([2, 3], -1), ([2, 3], -3), ([2, 3], 1),
                            ([1, 2, 1, 3, 1], 3)):
            c.add(f"{type_.lower()}_{text(shape)}_axis_{axis}", "EXPAND_DIMS",
                  [numbered(type_, shape), i32(axis)], [out(type_)])
    for axis in (3, -4):
        c.fails(f"axis_{axis}", "EXPAND_DIMS", [numbered("F32", [2, 3]), i32(axis)],
                [out("F32", dims=[2, 3, 1])])
    same_parameters_required(c, "EXPAND_DIMS", lambda: [numbered("U8", [2]), i32(0)], [1, 2])
    c.refusals("EXPAND_DIMS", lambda: ([numbered("F32", [2]), i32(0)], [out("F32")]))
    return c


def transpose():
    c = Collection("transpose")
    for type_ in DATA_TYPES:
        for shape, perm in (([3], [0]), ([2, 3], [1, 0]), ([2, 3, 4], [2, 0, 1]),
                            ([2, 3, 2, 2], [0, 3, 1, 2]), ([2, 1, 3, 2], [3, 2, 1, 0])):
            c.add(f"{type_.lower()}_{text(shape)}_by_{text(perm)}", "TRANSPOSE",
                  [numbered(type_, shape), ints(perm)], [out(type_)])
        c.add(f"{type_.lower()}_no_permutation", "TRANSPOSE", [numbered(type_, [2, 3]),
                                                               none("I32")], [out(type_)])
        before, empty = zero_sized(type_, [2, 3])
        c.graph(f"{type_.lower()}_no_rows", [*before, ("TRANSPOSE", [empty, ints([1, 0, 2])],
                                                       [out(type_)])])
    c.add("permutation_as_input", "TRANSPOSE", [numbered("F32", [2, 3, 2]),
                                                ints([1, 2, 0], True)], [out("F32")])
    for name, perm, dims in (("twice", [0, 0], [2, 2]), ("above", [0, 2], [2, 3]),
                             ("negative", [-1, 0], [3, 2]), ("short", [0], [2, 3])):
        c.fails(name, "TRANSPOSE", [numbered("F32", [2, 3]), ints(perm)], [out("F32", dims=dims)])
    same_parameters_required(c, "TRANSPOSE", lambda: [numbered("U8", [1, 2]), ints([1, 0])], [2, 1])
    c.refusals("TRANSPOSE", lambda: ([numbered("F32", [2, 3]), ints([1, 0])], [out("F32")]))
    return c


def slice_():
    c = Collection("slice")
    for type_ in WITH_I32:
        for shape, begin, size in (([5], [1], [3]), ([3, 4], [1, 0], [-1, 2]),
                                   ([2, 3, 4], [0, 1, 2], [1, 2, 1]),
                                   ([2, 2, 2, 2], [1, 0, 1, 0], [1, -1, 1, -1]),
                                   ([1, 3, 1, 2, 2], [0, 2, 0, 1, 0], [1, 1, 1, 1, 2])):
            c.add(f"{type_.lower()}_{text(shape)}_{text(begin)}_{text(size)}", "SLICE",
                  [numbered(type_, shape), ints(begin), ints(size)], [out(type_)])
        c.add(f"{type_.lower()}_nothing", "SLICE", [numbered(type_, [3, 2]), ints([3, 0]),
                                                    ints([-1, 2])], [out(type_)])
        before, empty = zero_sized(type_, [2, 3])
        c.graph(f"{type_.lower()}_of_no_rows",
                [*before, ("SLICE", [empty, ints([0, 0, 1]), ints([0, 2, 2])], [out(type_)])])
    c.add("begin_and_size_as_inputs", "SLICE", [numbered("F32", [2, 3]), ints([1, 1], True),
                                                ints([1, 2], True)], [out("F32")])
    for name, begin, size, dims in (("begin_negative", [-1, 0], [1, 1], [1, 1]),
                                    ("begin_above", [3, 0], [-1, 1], [1, 1]),
                                    ("too_far", [1, 1], [1, 3], [1, 3]),
                                    ("size_below", [0, 0], [-2, 1], [1, 1]),
                                    ("overflow", [1, 0], [2**31 - 1, 1], [1, 1])):
        c.fails(name, "SLICE", [numbered("F32", [2, 3]), ints(begin), ints(size)],
                [out("F32", dims=dims)])
    c.fails("short_begin", "SLICE", [numbered("F32", [2, 3]), ints([0]), ints([1, 1])],
            [out("F32", dims=[1, 1])])
    same_parameters_required(c, "SLICE", lambda: [numbered("U8", [2]), ints([0]), ints([2])], [2])
    c.refusals("SLICE", lambda: ([numbered("F32", [2, 3]), ints([0, 0]), ints([2, 3])],
                                 [out("F32")]))
    return c


def strided(type_, shape, begin, end, strides, begin_mask=0, end_mask=0, shrink=0):
    return [numbered(type_, shape), ints(begin), ints(end), ints(strides), i32(begin_mask),
            i32(end_mask), i32(shrink)]


def strided_slice():
    c = Collection("strided_slice")
    variants = {
        "plain": ([5], [1], [4], [1]), "step": ([6], [0], [6], [2]),
        "negative_ends": ([6], [-5], [-1], [1]), "backwards": ([6], [-1], [-7], [-1]),
        "backwards_by_two": ([6], [4], [0], [-2]), "clipped": ([4], [-100], [100], [1]),
        "begin_mask": ([4], [2], [4], [1], 1), "end_mask": ([4], [2], [3], [1], 0, 1),
        "masks_backwards": ([4], [1], [2], [-1], 1, 1),
        "matrix": ([3, 4], [1, -4], [3, 3], [1, 2]),
        "one_mask": ([3, 4], [1, 2], [2, 4], [1, 1], 2),
        "shrink": ([3, 4], [1, 0], [2, 4], [1, 1], 0, 0, 1),
        "shrink_all": ([3, 4], [1, 2], [2, 3], [1, 1], 0, 0, 3),
        "shrink_middle": ([2, 3, 4], [0, 1, 0], [2, 2, 4], [1, 1, 3], 0, 0, 2),
        "rank4": ([2, 2, 3, 2], [0, 1, -1, 0], [2, 2, -4, 2], [1, 1, -1, 2]),
        "mixed": ([2, 3, 4], [1, 0, 3], [2, 3, 0], [1, 2, -2], 4, 2, 1),
    }
    for type_ in DATA_TYPES:
        for name, arguments in variants.items():
            c.add(f"{type_.lower()}_{name}", "STRIDED_SLICE", strided(type_, *arguments),
                  [out(type_)])
    for name, arguments, dims in (
            ("stride_zero", ([4], [0], [2], [0]), [2]),
            ("shrink_backwards", ([4], [2], [1], [-1], 0, 0, 1), [1]),
            ("shrink_of_two", ([4], [0], [2], [1], 0, 0, 1), [1]),
            ("shrink_of_none", ([4], [-1], [0], [1], 0, 0, 1), [1]),
            ("short_begin", ([2, 2], [0], [2, 2], [1, 1]), [2, 2]),
            ("long_strides", ([2, 2], [0, 0], [2, 2], [1, 1, 1]), [2, 2])):
        c.fails(name, "STRIDED_SLICE", strided("F32", *arguments), [out("F32", dims=dims)])
    same_parameters_required(c, "STRIDED_SLICE", lambda: strided("U8", [2], [0], [2], [1]), [2])
    c.refusals("STRIDED_SLICE", lambda: (strided("F32", [3], [0], [2], [1]), [out("F32")]))
    return c


def split():
    c = Collection("split")
    for type_ in WITH_I32:
        for shape, axis, count in (([6], 0, 3), ([2, 6], 1, 2), ([2, 6], -1, 6), ([4, 1, 2], 0, 4),
                                   ([1, 2, 2, 4], -2, 2), ([1, 2, 1, 4, 1], 3, 2), ([3], 0, 1)):
            c.add(f"{type_.lower()}_{text(shape)}_axis_{axis}_by_{count}", "SPLIT",
                  [numbered(type_, shape), i32(axis), i32(count)],
                  [out(type_) for _ in range(count)])
    two = lambda: [out("F32", dims=[2]), out("F32", dims=[2])]  # noqa: E731
    for name, axis, count in (("indivisible", 0, 3), ("axis_above", 1, 2), ("axis_below", -2, 2),
                              ("none", 0, 0), ("other_count", 0, 4), ("negative", 0, -2)):
        c.fails(name, "SPLIT", [numbered("F32", [4]), i32(axis), i32(count)], two())
    c.fails("output_scale", "SPLIT", [numbered("U8", [4]), i32(0), i32(2)],
            [out("U8", dims=[2]), out("U8", (0.5, 120), dims=[2])])
    c.refusals("SPLIT", lambda: ([numbered("F32", [4]), i32(0), i32(2)], [out("F32"), out("F32")]))
    return c


def concatenation():
    c = Collection("concatenation")
    for type_ in DATA_TYPES:
        for shapes, axis in (([[2], [3]], 0), ([[2, 3], [2, 1]], 1), ([[1, 2], [3, 2], [2, 2]], 0),
                             ([[2, 1, 3], [2, 2, 3]], 1), ([[1, 2, 2, 1], [1, 2, 2, 3]], 3),
                             ([[1, 1, 2, 2], [1, 3, 2, 2]], 1), ([[2, 2]], 0)):
            c.add(f"{type_.lower()}_{'_'.join(map(text, shapes))}_axis_{axis}", "CONCATENATION",
                  [*[numbered(type_, s, start=i) for i, s in enumerate(shapes)], i32(axis)],
                  [out(type_)])
        before, empty = zero_sized(type_, [2])
        c.graph(f"{type_.lower()}_no_rows",
                [*before, ("CONCATENATION", [empty, numbered(type_, [3, 2]), i32(0)],
                           [out(type_)])])
        before, empty = zero_sized(type_, [2])
        c.graph(f"{type_.lower()}_only_no_rows",
                [*before, ("CONCATENATION", [empty, empty, i32(1)], [out(type_)])])
    for type_, zero in (("U8", 128), ("S8", 0)):
        r = c.random(type_)
        low = zero - 128
        parts = [stored(type_, r.randint(low, low + 256, [2, 5]), p)
                 for p in ((0.5, zero), (0.1, zero - 30), (1.0, zero + 127), (0.5, zero + 1))]
        c.add(f"{type_.lower()}_own_parameters", "CONCATENATION", [*parts, i32(1)],
              [out(type_, (0.5, zero))])
    x = lambda *s: numbered("F32", list(s))  # noqa: E731
    for name, ins, dims in (("axis_negative", [x(2, 3), x(2, 3), i32(-1)], [2, 6]),
                            ("axis_above", [x(2, 3), x(2, 3), i32(2)], [2, 6]),
                            ("ranks", [x(2, 3), x(2), i32(0)], [3, 3]),
                            ("shapes", [x(2, 3), x(2, 2), i32(0)], [4, 3]),
                            ("types", [x(2), numbered("F16", [2]), i32(0)], [4]),
                            ("nothing", [x(2), x(2)], [4]),
                            ("rank5", [x(1, 1, 1, 1, 2), x(1, 1, 1, 1, 2), i32(0)],
                             [2, 1, 1, 1, 2])):
        c.fails(name, "CONCATENATION", ins, [out("F32", dims=dims)])
    c.refusals("CONCATENATION", lambda: ([x(2), x(2), i32(0)], [out("F32")]))
    return c


def pack():
    c = Collection("pack")
    for type_ in WITH_I32:
        for shape, axis, count in (([3], 0, 2), ([3], 1, 2), ([2, 3], 1, 3), ([2, 1, 2], 3, 1),
                                   ([1, 2, 1, 2], 2, 2), ([1, 2, 1, 2, 1], 0, 2)):
            c.add(f"{type_.lower()}_{text(shape)}_axis_{axis}_of_{count}", "PACK",
                  [i32(axis), *[numbered(type_, shape, start=i) for i in range(count)]],
                  [out(type_)])
    x = lambda *s: numbered("F32", list(s))  # noqa: E731
    for name, ins, dims in (("axis_negative", [i32(-1), x(2), x(2)], [2, 2]),
                            ("axis_above", [i32(2), x(2), x(2)], [2, 2]),
                            ("shapes", [i32(0), x(2), x(3)], [2, 2]),
                            ("types", [i32(0), x(2), numbered("F16", [2])], [2, 2])):
        c.fails(name, "PACK", ins, [out("F32", dims=dims)])
    c.fails("parameters", "PACK", [i32(0), stored("U8", [1, 2]), stored("U8", [1, 2], (0.5, 0))],
            [out("U8", dims=[2, 2])])
    same_parameters_required(c, "PACK", lambda: [i32(0), numbered("U8", [2])], [1, 2])
    c.refusals("PACK", lambda: ([i32(0), x(2), x(2)], [out("F32")]), keep={"too_few_inputs"})
    return c


def tile():
    c = Collection("tile")
    for type_ in WITH_I32:
        for shape, multiples in (([3], [2]), ([2, 3], [1, 2]), ([2, 1, 2], [2, 3, 1]),
                                 ([1, 2, 1, 2], [1, 1, 2, 2]), ([1, 2, 1, 1, 2], [2, 1, 1, 2, 1])):
            c.add(f"{type_.lower()}_{text(shape)}_by_{text(multiples)}", "TILE",
                  [numbered(type_, shape), ints(multiples)], [out(type_)])
    c.add("multiples_as_input", "TILE", [numbered("F32", [2, 2]), ints([2, 1], True)],
          [out("F32")])
    c.fails("short", "TILE", [numbered("F32", [2, 2]), ints([2])], [out("F32", dims=[4, 2])])
    c.fails("negative", "TILE", [numbered("F32", [2, 2]), ints([2, -1])],
            [out("F32", dims=[4, 2])])
    same_parameters_required(c, "TILE", lambda: [numbered("U8", [2]), ints([1])], [2])
    c.refusals("TILE", lambda: ([numbered("F32", [2]), ints([2])], [out("F32")]))
    return c


def paddings(pairs, as_input=False):
    return ints(pairs, as_input, [len(pairs), 2])


def pad():
    c = Collection("pad")
    variants = [([3], [[1, 2]]), ([2, 3], [[0, 1], [2, 0]]), ([2, 1, 2], [[1, 0], [0, 0], [0, 2]]),
                ([1, 2, 2, 1], [[0, 0], [1, 1], [2, 0], [0, 1]]), ([2, 2], [[0, 0], [0, 0]])]
    for type_ in DATA_TYPES:
        for shape, pairs in variants:
            c.add(f"{type_.lower()}_{text(shape)}_by_{text(np.ravel(pairs))}", "PAD",
                  [numbered(type_, shape), paddings(pairs)], [out(type_)])
    c.add("u8_zero_point_zero", "PAD", [stored("U8", [[1, 2], [3, 255]], (0.5, 0)),
                                        paddings([[1, 0], [0, 1]])], [out("U8", (0.5, 0))])
    c.add("paddings_as_input", "PAD", [numbered("F32", [2]), paddings([[1, 1]], True)],
          [out("F32")])
    pad_failures(c, "PAD", lambda t: [])
    return c


def pad_failures(c, operation, more):
    x = lambda: numbered("F32", [2, 2])  # noqa: E731
    for name, made in (("negative", paddings([[-1, 0], [0, 1]])),
                       ("shape", ints([[1, 1, 1, 1]])), ("short", paddings([[0, 1]]))):
        c.fails(name, operation, [x(), made, *more("F32")], [out("F32", dims=[2, 3])])
    c.fails("i32_unsupported" if operation != "MIRROR_PAD" else "b8_unsupported", operation,
            [stored("I32" if operation != "MIRROR_PAD" else "B8", [1, 1]), paddings([[0, 1]]),
             *more("I32")], [out("I32" if operation != "MIRROR_PAD" else "B8", dims=[3])])
    same_parameters_required(c, operation, lambda: [numbered("U8", [2]), paddings([[0, 1]]),
                                                    *more("U8")], [3])
    c.refusals(operation, lambda: ([x(), paddings([[0, 1], [1, 0]]), *more("F32")], [out("F32")]))


def pad_v2():
    c = Collection("pad_v2")
    variants = [([3], [[1, 2]]), ([2, 3], [[0, 1], [2, 0]]),
                ([1, 2, 2, 1], [[0, 0], [1, 1], [2, 0], [0, 1]])]

    def value(type_, number=-1.5):
        return fs(type_, number) if type_ in FLOAT_TYPES else i32(9)

    for type_ in DATA_TYPES:
        for shape, pairs in variants:
            c.add(f"{type_.lower()}_{text(shape)}_by_{text(np.ravel(pairs))}", "PAD_V2",
                  [numbered(type_, shape), paddings(pairs), value(type_)], [out(type_)])
    c.add("s8_negative_value", "PAD_V2", [numbered("S8", [2]), paddings([[1, 1]]), i32(-128)],
          [out("S8")])
    c.add("value_as_input", "PAD_V2", [numbered("F32", [2]), paddings([[1, 1]]),
                                       scalar("f32", 4.0, True)], [out("F32")])
    c.fails("value_type", "PAD_V2", [numbered("U8", [2]), paddings([[1, 1]]), fs("F32", 1.0)],
            [out("U8", dims=[4])])
    pad_failures(c, "PAD_V2", lambda t: [value(t)])
    return c


def mirror_pad():
    c = Collection("mirror_pad")
    for type_ in WITH_I32:
        for mode, name in ((0, "reflect"), (1, "symmetric")):
            for shape, pairs in (([3], [[0, 2]]), ([2, 3], [[1, 1], [2, 0]]),
                                 ([1, 3, 1, 2], [[0, 0], [2, 1], [0, 0], [0, 1]]),
                                 ([2, 1, 2, 1, 2], [[1, 0], [0, 0], [0, 1], [0, 0], [1, 1]])):
                c.add(f"{type_.lower()}_{name}_{text(shape)}_by_{text(np.ravel(pairs))}",
                      "MIRROR_PAD", [numbered(type_, shape), paddings(pairs), i32(mode)],
                      [out(type_)])
    c.add("symmetric_full", "MIRROR_PAD", [numbered("F32", [3]), paddings([[3, 3]]), i32(1)],
          [out("F32")])
    for name, pairs, mode in (("reflect_too_far", [[3, 0]], 0), ("symmetric_too_far", [[0, 4]], 1),
                              ("mode", [[1, 0]], 2), ("mode_negative", [[1, 0]], -1)):
        c.fails(name, "MIRROR_PAD", [numbered("F32", [3]), paddings(pairs), i32(mode)],
                [out("F32", dims=[3 + sum(pairs[0])])])
    pad_failures(c, "MIRROR_PAD", lambda t: [i32(0)])
    return c


def reverse():
    c = Collection("reverse")
    for type_ in WITH_I32:
        for shape, axis in (([4], 0), ([2, 3], 0), ([2, 3], 1), ([2, 1, 3], 2),
                            ([1, 2, 2, 2], 1), ([1, 2, 1, 2, 1, 2, 1, 2], 7)):
            c.add(f"{type_.lower()}_{text(shape)}_axis_{axis}", "REVERSE",
                  [numbered(type_, shape), ints([axis])], [out(type_)])
    c.add("axis_as_input", "REVERSE", [numbered("F32", [2, 3]), ints([1], True)], [out("F32")])
    for name, axis in (("above", [2]), ("negative", [-1]), ("two", [0, 1])):
        c.fails(name, "REVERSE", [numbered("F32", [2, 3]), ints(axis)], [out("F32", dims=[2, 3])])
    c.fails("scalar_axis", "REVERSE", [numbered("F32", [2]), i32(0)], [out("F32", dims=[2])])
    c.fails("rank9", "REVERSE", [numbered("F32", [1] * 8 + [2]), ints([0])],
            [out("F32", dims=[1] * 8 + [2])])
    same_parameters_required(c, "REVERSE", lambda: [numbered("U8", [2]), ints([0])], [2])
    c.refusals("REVERSE", lambda: ([numbered("F32", [2, 3]), ints([1])], [out("F32")]))
    return c


def collections():
    return [reshape(), squeeze(), expand_dims(), transpose(), slice_(), strided_slice(), split(),
            concatenation(), pack(), tile(), pad(), pad_v2(), mirror_pad(), reverse()]
