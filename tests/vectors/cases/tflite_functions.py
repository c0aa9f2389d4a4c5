"""Functions, selections, sums and placements of the extension halyard.tflite."""
import numpy as np

from builder import Collection, FLOAT_TYPES, const, flag, grid, i32, ints, out, real, scalar, stored
from cases.lookup import WITH_I32, numbered, text

SHAPES = ([3], [2, 3], [2, 1, 3], [1, 2, 2, 2], [2, 1, 2, 1, 2])
PAIRS = (([3], [3]), ([2, 1, 3], [1, 4, 1]), ([1], [2, 3]), ([1, 2, 1, 3, 1], [2, 1, 2]))
WITH_B8 = WITH_I32 + ("B8",)


def any_tensor(c, type_, shape, name):
    if type_ == "B8":
        return stored("B8", c.random(name).randint(0, 2, shape))
    return numbered(type_, shape)


def function(operation, *rest):
    c = Collection(operation.lower())
    for type_ in FLOAT_TYPES:
        for shape in SHAPES:
            r = c.random(f"{type_}{text(shape)}")
            c.add(f"{type_.lower()}_{text(shape)}", operation,
                  [real(type_, grid(r, *shape)), *(make() for make in rest)], [out(type_)])
        c.add(f"{type_.lower()}_halves", operation,
              [real(type_, [-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5]), *(make() for make in rest)],
              [out(type_)])
    c.fails("i32", operation, [real("I32", [1.0]), *(make() for make in rest)],
            [out("I32", dims=[1])])
    c.refusals(operation, lambda: ([real("F32", [[1.0, 2.0]]), *(make() for make in rest)],
                                   [out("F32")]))
    return c


def gelu():
    c = function("GELU", lambda: flag(False))
    for type_ in FLOAT_TYPES:
        r = c.random(f"{type_}approximate")
        c.add(f"{type_.lower()}_approximate", "GELU", [real(type_, grid(r, 3, 8)), flag(True)],
              [out(type_)])
    return c


def pair(operation, types, values):
    """`values(random, shape, second)`: the real numbers of an operand."""
    c = Collection(operation.lower())
    for type_ in types:
        for a, b in PAIRS:
            r = c.random(f"{type_}{text(a)}{text(b)}")
            c.add(f"{type_.lower()}_{text(a)}_by_{text(b)}", operation,
                  [real(type_, values(r, a, False)), real(type_, values(r, b, True))],
                  [out(type_)])
        r = c.random(f"{type_}constant")
        c.add(f"{type_.lower()}_constant", operation,
              [real(type_, values(r, [2, 2], False)), const(type_, values(r, [2], True))],
              [out(type_)])
    type_ = types[0]
    c.fails("shapes", operation, [real(type_, np.ones([2])), real(type_, np.ones([3]))],
            [out(type_, dims=[3])])
    c.fails("types", operation, [real("F32", np.ones([2])), real("I32", np.ones([2]))],
            [out("F32", dims=[2])])
    c.refusals(operation, lambda: ([real(type_, np.ones([1, 2])), real(type_, np.ones([1, 2]))],
                                   [out(type_)]))
    return c


def small_integers(r, shape, _):
    return r.randint(-40, 41, shape)


def dividends(r, shape, is_divisor):
    signs = r.randint(0, 2, shape) * 2 - 1
    return r.randint(1, 9, shape) * signs if is_divisor else r.randint(-40, 41, shape)


def shifts(r, shape, is_shift):
    return r.randint(-1, 34, shape) if is_shift else r.randint(-100000, 100001, shape)


def points(r, shape, _):
    return grid(r, *shape) + 0.03125


def floor_mod():
    c = pair("FLOOR_MOD", ("I32", "F32", "F16"), dividends)
    c.add("i32_by_zero", "FLOOR_MOD", [real("I32", [5.0, -5.0, 0.0]), real("I32", [0.0])],
          [out("I32")])
    c.add("f32_fractions", "FLOOR_MOD",
          [real("F32", [7.5, -7.5, 7.5, -7.5]), real("F32", [2.0, 2.0, -2.0, -2.0])], [out("F32")])
    return c


def truncated_div():
    c = pair("TRUNCATED_DIV", ("I32",), dividends)
    c.add("by_zero", "TRUNCATED_DIV", [real("I32", [5.0, -5.0]), real("I32", [0.0])], [out("I32")])
    return c


def select_v2():
    c = Collection("select_v2")
    for type_ in WITH_B8:
        for condition, x, y in (([3], [3], [3]), ([2, 1], [2, 3], [3]), ([3], [2, 1, 1], [2, 1]),
                                ([1], [2, 2], [1]), ([2, 1, 1, 2, 1], [3, 1, 1], [1, 2, 3])):
            name = f"{type_.lower()}_{text(condition)}_{text(x)}_{text(y)}"
            r = c.random(name)
            c.add(name, "SELECT_V2",
                  [stored("B8", r.randint(0, 2, condition)), any_tensor(c, type_, x, name + "x"),
                   any_tensor(c, type_, y, name + "y")], [out(type_)])
    c.fails("shapes", "SELECT_V2", [stored("B8", [1, 0]), numbered("F32", [3]),
                                    numbered("F32", [3])], [out("F32", dims=[3])])
    c.fails("scales", "SELECT_V2",
            [stored("B8", [1]), stored("U8", [1], (0.5, 0)), stored("U8", [1], (0.25, 0))],
            [out("U8", (0.5, 0), dims=[1])])
    c.refusals("SELECT_V2", lambda: ([stored("B8", [1, 0]), numbered("F32", [2]),
                                      numbered("F32", [2])], [out("F32")]))
    return c


def cumsum():
    c = Collection("cumsum")
    for type_ in FLOAT_TYPES + ("I32",):
        for shape in SHAPES:
            for axis in (0, -1):
                name = f"{type_.lower()}_{text(shape)}_axis{axis}"
                r = c.random(name)
                c.add(name, "CUMSUM",
                      [real(type_, grid(r, *shape, step=0.25) * (4 if type_ == "I32" else 1)),
                       i32(axis), flag(r.randint(2)), flag(r.randint(2))], [out(type_)])
    for exclusive in (False, True):
        for reverse in (False, True):
            c.add(f"exclusive{exclusive:d}_reverse{reverse:d}", "CUMSUM",
                  [real("I32", [[1, 2, 3], [4, 5, 6]]), i32(1), flag(exclusive), flag(reverse)],
                  [out("I32")])
    c.fails("axis", "CUMSUM", [real("F32", [1.0]), i32(1), flag(False), flag(False)],
            [out("F32", dims=[1])])
    c.refusals("CUMSUM", lambda: ([real("F32", [1.0]), i32(0), flag(False), flag(False)],
                                  [out("F32")]))
    return c


def scatter_nd():
    c = Collection("scatter_nd")
    for type_ in FLOAT_TYPES + ("I32",):
        for shape, indices in (([5], [[4], [0], [4]]), ([2, 3], [[1, 2], [0, 0]]), ([2, 3], [[1]]),
                               ([2, 3], [1, 0]), ([2, 2, 3], [[[1, 0]], [[0, 1]]]),
                               ([3, 2, 2], [[2], [2], [0]])):
            depth = np.shape(indices)[-1]
            updates = [*np.shape(indices)[:-1], *shape[depth:]] or [1]
            name = f"{type_.lower()}_{text(shape)}_at_{text(np.shape(indices))}"
            c.add(name, "SCATTER_ND", [ints(indices, True), numbered(type_, updates),
                                       ints(shape)], [out(type_)])
    c.add("shape_computed", "SCATTER_ND", [ints([[1]], True), numbered("F32", [1, 2]),
                                           ints([2, 2], True)], [out("F32")])
    for name, indices in (("above", [[3]]), ("negative", [[-1]]), ("tuple_too_long", [[0, 0]])):
        c.fails(name, "SCATTER_ND", [ints(indices, True), numbered("F32", [1]), ints([3])],
                [out("F32", dims=[3])])
    c.fails("updates", "SCATTER_ND", [ints([[0]], True), numbered("F32", [2]), ints([3])],
            [out("F32", dims=[3])])
    c.refusals("SCATTER_ND", lambda: ([ints([[0]], True), numbered("F32", [1]), ints([3])],
                                      [out("F32")]))
    return c


def segments(operation):
    c = Collection(operation.lower())
    for type_ in ("F32", "I32"):
        for shape, numbers, count in (([4], [0, 1, 0, 2], 3), ([3, 2], [1, -1, 1], 2),
                                      ([2, 3], [[0, 1, 0], [1, 1, 0]], 2),
                                      ([2, 2, 2], [[3, 0], [0, 3]], 5)):
            name = f"{type_.lower()}_{text(shape)}_by_{text(np.shape(numbers))}_to_{count}"
            r = c.random(name)
            c.add(name, operation, [real(type_, grid(r, *shape, step=0.5)), ints(numbers, True),
                                    i32(count)], [out(type_)])
    c.fails("above", operation, [real("F32", [1.0, 2.0]), ints([0, 2], True), i32(2)],
            [out("F32", dims=[2])])
    c.fails("none", operation, [real("F32", [1.0]), ints([0], True), i32(0)],
            [out("F32", dims=[1])])
    c.fails("numbers", operation, [real("F32", [1.0, 2.0]), ints([0], True), i32(1)],
            [out("F32", dims=[1])])
    c.refusals(operation, lambda: ([real("F32", [1.0, 2.0]), ints([0, 0], True), i32(1)],
                                   [out("F32")]))
    return c


def dynamic_update_slice():
    c = Collection("dynamic_update_slice")
    for type_ in WITH_B8:
        for shape, part, starts in (([5], [2], [1]), ([3, 3], [1, 2], [2, 1]),
                                    ([3, 3], [2, 2], [7, -4]), ([2, 2, 2], [2, 1, 2], [0, 1, 0])):
            name = f"{type_.lower()}_{text(shape)}_{text(part)}_at_{text(starts)}"
            c.add(name, "DYNAMIC_UPDATE_SLICE",
                  [any_tensor(c, type_, shape, name), any_tensor(c, type_, part, name + "part"),
                   ints(starts, True)], [out(type_)])
    c.fails("large", "DYNAMIC_UPDATE_SLICE",
            [numbered("F32", [2]), numbered("F32", [3]), ints([0])], [out("F32", dims=[2])])
    c.fails("starts", "DYNAMIC_UPDATE_SLICE",
            [numbered("F32", [2]), numbered("F32", [1]), ints([0, 0])], [out("F32", dims=[2])])
    c.refusals("DYNAMIC_UPDATE_SLICE", lambda: ([numbered("F32", [2]), numbered("F32", [1]),
                                                 ints([0])], [out("F32")]))
    return c


def where():
    c = Collection("where")
    for type_ in ("F32", "I32", "B8"):
        for shape in SHAPES:
            values = c.random(f"{type_}{text(shape)}").randint(0, 2, shape)
            values.reshape(-1)[-1] = 1
            c.add(f"{type_.lower()}_{text(shape)}", "WHERE", [stored(type_, values)], [out("I32")])
    c.fails("u8", "WHERE", [stored("U8", [1])], [out("I32", dims=[1, 1])])
    c.refusals("WHERE", lambda: ([stored("B8", [1, 0])], [out("I32")]))
    return c


def reverse_sequence():
    c = Collection("reverse_sequence")
    for type_ in WITH_B8:
        for shape, lengths, sequence, batch in (
                ([2, 4], [3, 4], 1, 0), ([4, 2], [0, 2], 0, 1), ([2, 3, 2], [1, 3], -2, -3),
                ([2, 2, 3], [2, 1, 0], 0, 2), ([1, 2, 2, 2, 3], [3, 2], 4, 2)):
            name = f"{type_.lower()}_{text(shape)}_along_{sequence}_by_{batch}"
            c.add(name, "REVERSE_SEQUENCE",
                  [any_tensor(c, type_, shape, name), ints(lengths, True), i32(sequence),
                   i32(batch)], [out(type_)])
    for name, lengths, sequence in (("long", [4, 1], 1), ("negative", [-1, 1], 1),
                                    ("one_axis", [1, 1], 0), ("axis", [1, 1], 2),
                                    ("lengths", [1], 1)):
        c.fails(name, "REVERSE_SEQUENCE",
                [numbered("F32", [2, 3]), ints(lengths, True), i32(sequence), i32(0)],
                [out("F32", dims=[2, 3])])
    c.refusals("REVERSE_SEQUENCE", lambda: ([numbered("F32", [2, 3]), ints([1, 2], True), i32(1),
                                             i32(0)], [out("F32")]))
    return c


def bucketize():
    c = Collection("bucketize")
    for type_ in ("F32", "I32"):
        for shape in SHAPES:
            r = c.random(f"{type_}{text(shape)}")
            c.add(f"{type_.lower()}_{text(shape)}", "BUCKETIZE",
                  [real(type_, grid(r, *shape)), const("F32", [-1.0, 0.0, 0.0, 1.5])],
                  [out("I32")])
    c.fails("falling", "BUCKETIZE", [real("F32", [1.0]), const("F32", [1.0, 0.0])],
            [out("I32", dims=[1])])
    c.refusals("BUCKETIZE", lambda: ([real("F32", [1.0]), const("F32", [1.0])], [out("I32")]))
    return c


def dequantize_16():
    c = Collection("dequantize_16")
    for number, scale in enumerate((1 / 32768, 0.03, 2.0)):
        c.add(f"edges_{number}", "DEQUANTIZE_16",
              [stored("SYM16", [-32768, -1, 0, 1, 255, 32767], (scale, 0))], [out("F32")])
    for shape in SHAPES:
        r = c.random(text(shape))
        c.add(text(shape), "DEQUANTIZE_16", [stored("SYM16", r.randint(-32768, 32768, shape))],
              [out("F32")])
    c.fails("u8", "DEQUANTIZE_16", [stored("U8", [1])], [out("F32", dims=[1])])
    c.refusals("DEQUANTIZE_16", lambda: ([stored("SYM16", [1, 2])], [out("F32")]))
    return c


def quantize_16():
    c = Collection("quantize_16")
    edges = [-1e6, 1e6, 0.0, 0.0625, -0.0625, 0.03125, -0.03125, 0.09375, 2047.96875, -2048.0]
    for number, scale in enumerate((0.0625, 0.11, 1.0)):
        c.add(f"edges_{number}", "QUANTIZE_16", [real("F32", edges)], [out("SYM16", (scale, 0))])
    for shape in SHAPES:
        r = c.random(text(shape))
        c.add(text(shape), "QUANTIZE_16", [real("F32", grid(r, *shape, low=-9, high=9))],
              [out("SYM16")])
    c.fails("i32", "QUANTIZE_16", [real("I32", [1])], [out("SYM16", dims=[1])])
    c.refusals("QUANTIZE_16", lambda: ([real("F32", [1.0, 2.0])], [out("SYM16")]))
    return c


def suppressed(r, count):
    """Boxes and scores. No ratio is close to a threshold, and no two scores are equal."""
    low = r.randint(0, 8, [count, 2])
    boxes = np.concatenate([low, low + r.randint(1, 6, [count, 2])], 1).astype(np.float64)
    flipped = r.randint(0, 2, count) == 1
    boxes[flipped] = boxes[flipped][:, [2, 1, 0, 3]]
    return [real("F32", boxes), real("F32", (r.permutation(count) + 1.0) / 16)]


def non_max_suppression():
    c = Collection("non_max_suppression")
    targets = lambda: [out("I32"), out("F32"), out("I32")]  # noqa: E731
    sizes = lambda limit: [out("I32", dims=[limit]), out("F32", dims=[limit]),  # noqa: E731
                           out("I32", dims=[1])]
    numbers = lambda *values: [scalar("f32", value) for value in values]  # noqa: E731
    for count, limit in ((1, 1), (6, 3), (12, 12), (12, 20)):
        for name, values in (("hard", (0.37, 0.03, 0.0)), ("soft", (0.93, 0.03, 0.41)),
                             ("both", (0.37, 0.21, 0.41)), ("none", (0.37, 9.0, 0.0))):
            r = c.random(f"{count}of{limit}{name}")
            c.add(f"{name}_{count}_of_{limit}", "NON_MAX_SUPPRESSION",
                  [*suppressed(r, count), i32(limit), *numbers(*values)], targets())
    some = suppressed(c.random("some"), 3)
    rest = lambda: numbers(0.37, 0.03, 0.0)  # noqa: E731
    c.fails("limit", "NON_MAX_SUPPRESSION", [*some, i32(0), *rest()], sizes(1))
    c.fails("scores", "NON_MAX_SUPPRESSION",
            [some[0], real("F32", [0.5, 0.25]), i32(2), *rest()], sizes(2))
    c.fails("corners", "NON_MAX_SUPPRESSION",
            [real("F32", np.ones([2, 3])), real("F32", [0.5, 0.25]), i32(2), *rest()], sizes(2))
    c.refusals("NON_MAX_SUPPRESSION",
               lambda: ([*suppressed(c.random("some"), 3), i32(2), *rest()], targets()))
    return c


def collections():
    return [dequantize_16(), quantize_16(), non_max_suppression(),
            function("COS"), function("ROUND"), gelu(), pair("ATAN2", FLOAT_TYPES, points),
            floor_mod(), truncated_div(), pair("BITWISE_XOR", ("I32",), small_integers),
            pair("RIGHT_SHIFT", ("I32",), shifts), pair("LEFT_SHIFT", ("I32",), shifts),
            select_v2(), cumsum(), scatter_nd(),
            *(segments(f"UNSORTED_SEGMENT_{kind}") for kind in ("SUM", "PROD", "MAX", "MIN")),
            dynamic_update_slice(), where(), reverse_sequence(), bucketize()]
