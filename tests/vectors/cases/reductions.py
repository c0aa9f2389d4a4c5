"""Reductions, normalisations along an axis, and operations that rank elements."""
import numpy as np

from builder import (Collection, DATA_TYPES, FLOAT_TYPES, QUANT_TYPES, flag, fs, grid, i32, ints,
                     out, real, spaced, stored, zero_sized)

ZERO = {"U8": 128, "S8": 0}
WITH_I32 = DATA_TYPES + ("I32",)
AXES = [([5], [0]), ([2, 3], [1]), ([2, 3], [0]), ([2, 3, 2], [-1]), ([2, 3, 2], [0, 2]),
        ([2, 2, 3, 2], [1, 2]), ([2, 2, 3, 2], [3, -4, 3]), ([2, 2], [0, 1])]


def text(numbers):
    return "x".join(str(n) for n in numbers)


def over_axes(c, operation, types, values, keep_type):
    for type_ in types:
        for shape, axes in AXES:
            for keep in (0, 1):
                name = f"{type_.lower()}_{text(shape)}_axes_{text(axes)}_keep{keep}"
                c.add(name, operation, [values(type_, c.random(name), shape), ints(axes),
                                        keep_type(keep)], [out(type_)])
        name = f"{type_.lower()}_twice_the_same_axis"
        c.add(name, operation, [values(type_, c.random(name), [2, 3]), ints([0, 0]), keep_type(0)],
              [out(type_)])
    c.add("axes_as_input", operation, [values(types[0], c.random("axes"), [2, 3]),
                                       ints([1], True), keep_type(1)], [out(types[0])])
    x = lambda: values(types[0], c.random("failures"), [2, 3])  # noqa: E731
    for name, axes in (("axis_above", [2]), ("axis_below", [-3]), ("one_axis_above", [0, 5])):
        c.fails(name, operation, [x(), ints(axes), keep_type(0)], [out(types[0], dims=[2])])
    c.fails("rank5", operation, [values(types[0], c.random("rank5"), [1, 1, 1, 1, 2]), ints([0]),
                                 keep_type(0)], [out(types[0], dims=[1, 1, 1, 2])])
    c.fails("keep_type", operation, [x(), ints([0]), i32(0) if keep_type is flag else flag(0)],
            [out(types[0], dims=[3])])
    if "U8" in types:
        c.fails("output_scale", operation, [values("U8", c.random("scale"), [2, 3]), ints([0]),
                                            keep_type(0)], [out("U8", (0.5, 0), dims=[3])])
    c.refusals(operation, lambda: ([x(), ints([0]), keep_type(0)], [out(types[0])]))


def mean():
    c = Collection("mean")
    over_axes(c, "MEAN", DATA_TYPES, lambda t, r, s: real(t, grid(r, *s)), i32)
    c.add("keep_is_any_positive", "MEAN", [real("F32", [[1.0, 2.0]]), ints([1]), i32(7)],
          [out("F32")])
    c.add("negative_keep_drops", "MEAN", [real("F32", [[1.0, 2.0]]), ints([1]), i32(-1)],
          [out("F32")])
    for type_ in QUANT_TYPES:
        zero = ZERO[type_]
        c.add(f"{type_.lower()}_far_from_zero_point", "MEAN",
              [stored(type_, np.array([[0, 1, 3], [255, 255, 254]]) + zero - 128, (0.5, zero + 99)),
               ints([1]), i32(0)], [out(type_, (0.5, zero + 99))])
    return c


def reduce_numbers(operation, types):
    c = Collection(operation.lower())
    factors = (lambda r, s: r.choice([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], s))
    over_axes(c, operation, types, lambda t, r, s: real(
        t, factors(r, s) if operation == "REDUCE_PROD" else grid(r, *s)), flag)
    if operation == "REDUCE_PROD":
        c.add("f32_zero_factor", operation, [real("F32", [[0.0, 5.0], [-2.0, 3.0]]), ints([1]),
                                             flag(0)], [out("F32")])
    if operation in ("REDUCE_MAX", "REDUCE_MIN"):
        for type_ in QUANT_TYPES:
            c.add(f"{type_.lower()}_extremes", operation,
                  [stored(type_, np.array([[0, 255], [0, 0], [255, 255]]) + ZERO[type_] - 128),
                   ints([1]), flag(0)], [out(type_)])
        c.add("f32_all_negative", operation, [real("F32", [[-5.0, -3e30], [-1e-6, -2.0]]),
                                              ints([1]), flag(0)], [out("F32")])
    else:
        c.fails("u8_unsupported", operation, [stored("U8", [1, 2]), ints([0]), flag(0)],
                [out("U8", dims=[1])])
    c.fails("i32_unsupported", operation, [stored("I32", [1, 2]), ints([0]), flag(0)],
            [out("I32", dims=[1])])
    return c


def reduce_booleans(operation):
    c = Collection(operation.lower())
    over_axes(c, operation, ("B8",), lambda t, r, s: stored(t, r.randint(0, 2, s)), flag)
    c.add("any_byte_is_true", operation, [stored("B8", [[2, 255], [0, 128], [0, 0]]), ints([1]),
                                          flag(0)], [out("B8")])
    c.fails("f32_unsupported", operation, [real("F32", [1.0]), ints([0]), flag(0)],
            [out("F32", dims=[1])])
    return c


def argument(operation):
    c = Collection(operation.lower())
    for type_ in WITH_I32:
        for shape, axis in (([5], 0), ([2, 3], 1), ([2, 3], -2), ([2, 3, 2], 1),
                            ([2, 2, 3, 2], -1), ([1, 2, 1, 4, 1], 3)):
            name = f"{type_.lower()}_{text(shape)}_axis_{axis}"
            step = 1.0 if type_ == "I32" else 0.0625
            c.add(name, operation, [real(type_, spaced(c.random(name), *shape, start=-0.5,
                                                       step=step)), i32(axis)], [out("I32")])
        c.add(f"{type_.lower()}_ties", operation,
              [real(type_, [[1, 2, 2, 1], [3, 3, 3, 3], [-1, -2, -2, -1]]), i32(1)], [out("I32")])
    c.add("i32_beyond_float32", operation, [stored("I32", [16777217, 16777216, 16777218]), i32(0)],
          [out("I32")])
    for axis in (2, -3):
        c.fails(f"axis_{axis}", operation, [real("F32", [[1.0, 2.0]]), i32(axis)],
                [out("I32", dims=[1])])
    c.fails("b8", operation, [stored("B8", [1]), i32(0)], [out("I32", dims=[1])])
    c.refusals(operation, lambda: ([real("F32", [[1.0, 2.0]]), i32(1)], [out("I32")]))
    return c


def topk():
    c = Collection("topk_v2")
    for type_ in WITH_I32:
        step = 1.0 if type_ == "I32" else 0.0625
        for shape, k in (([6], 3), ([6], 6), ([2, 4], 1), ([2, 2, 3], 2), ([1, 2, 2, 3], 2),
                         ([1, 2, 1, 2, 3], 2)):
            name = f"{type_.lower()}_{text(shape)}_k{k}"
            c.add(name, "TOPK_V2", [real(type_, spaced(c.random(name), *shape, start=-0.5,
                                                       step=step)), i32(k)],
                  [out(type_), out("I32")])
        c.add(f"{type_.lower()}_ties", "TOPK_V2",
              [real(type_, [[1, 2, 2, 1], [3, 3, 3, 3], [2, 1, 1, 1]]), i32(3)],
              [out(type_), out("I32")])
    for k in (0, -1, 4):
        c.fails(f"k_{k}", "TOPK_V2", [real("F32", [1.0, 2.0, 3.0]), i32(k)],
                [out("F32", dims=[max(k, 1)]), out("I32", dims=[max(k, 1)])])
    c.fails("output_scale", "TOPK_V2", [stored("U8", [1, 2]), i32(1)],
            [out("U8", (0.5, 0), dims=[1]), out("I32", dims=[1])])
    c.refusals("TOPK_V2", lambda: ([real("F32", [1.0, 2.0]), i32(1)], [out("F32"), out("I32")]))
    return c


def softmax():
    c = Collection("softmax")
    results = {"U8": (1 / 256, 0), "S8": (1 / 256, -128)}
    for type_ in DATA_TYPES:
        for shape, beta, axis in (([2, 4], 1.0, None), ([2, 2, 2, 3], 0.5, None), ([5], 2.0, None),
                                  ([2, 3, 2], 1.0, 1), ([2, 3, 2], 1.0, -3), ([2, 2, 3, 2], 1.0, 2),
                                  ([2, 2, 3, 2], 0.25, -1), ([3, 1], 1.0, 1)):
            name = f"{type_.lower()}_{text(shape)}_beta{beta}_axis_{axis}".replace(".", "_")
            c.add(name, "SOFTMAX", [real(type_, grid(c.random(name), *shape)), fs(type_, beta),
                                    *([] if axis is None else [i32(axis)])],
                  [out(type_, results.get(type_))])
        before, empty = zero_sized(type_, [3])
        c.graph(f"{type_.lower()}_no_rows", [*before, ("SOFTMAX", [empty, fs(type_, 1.0)],
                                                       [out(type_, results.get(type_))])])
    c.add("f32_large_values", "SOFTMAX", [real("F32", [[1000.0, 999.0, -1000.0]]), fs("F32", 1.0)],
          [out("F32")])
    c.add("u8_all_equal", "SOFTMAX", [stored("U8", [[7, 7, 7, 7]], (3.0, 9)), fs("U8", 1.0)],
          [out("U8", results["U8"])])
    c.add("relaxed", "SOFTMAX", [real("F32", [[1.0, 2.0]]), fs("F32", 1.0)], [out("F32")],
          relaxed=True)
    x = lambda: real("F32", [[1.0, 2.0]])  # noqa: E731
    for name, ins in (("beta_zero", [x(), fs("F32", 0.0)]), ("beta_negative", [x(), fs("F32", -1)]),
                      ("axis_above", [x(), fs("F32", 1.0), i32(2)]),
                      ("axis_below", [x(), fs("F32", 1.0), i32(-3)]),
                      ("beta_precision", [x(), fs("F16", 1.0)])):
        c.fails(name, "SOFTMAX", ins, [out("F32", dims=[1, 2])])
    for type_ in QUANT_TYPES:
        c.fails(f"{type_.lower()}_output_scale", "SOFTMAX",
                [stored(type_, [[1, 2]]), fs(type_, 1.0)], [out(type_, (0.5, 0), dims=[1, 2])])
    c.fails("rank5", "SOFTMAX", [real("F32", np.ones([1, 1, 1, 1, 2])), fs("F32", 1.0)],
            [out("F32", dims=[1, 1, 1, 1, 2])])
    c.refusals("SOFTMAX", lambda: ([x(), fs("F32", 1.0)], [out("F32")]))
    return c


def log_softmax():
    c = Collection("log_softmax")
    for type_ in FLOAT_TYPES:
        for shape, beta, axis in (([5], 1.0, 0), ([2, 4], 1.0, 1), ([2, 4], 0.5, -2),
                                  ([2, 3, 2], 2.0, 1), ([2, 2, 3, 2], 1.0, -1),
                                  ([1, 2, 1, 3, 2], 1.0, 3)):
            name = f"{type_.lower()}_{text(shape)}_beta{beta}_axis_{axis}".replace(".", "_")
            c.add(name, "LOG_SOFTMAX", [real(type_, grid(c.random(name), *shape)), fs(type_, beta),
                                        i32(axis)], [out(type_)])
    c.add("f32_large_values", "LOG_SOFTMAX", [real("F32", [[1000.0, 998.0, 0.0]]), fs("F32", 1.0),
                                              i32(-1)], [out("F32")])
    for axis in (2, -3):
        c.fails(f"axis_{axis}", "LOG_SOFTMAX", [real("F32", [[1.0, 2.0]]), fs("F32", 1.0),
                                                i32(axis)], [out("F32", dims=[1, 2])])
    c.fails("u8", "LOG_SOFTMAX", [stored("U8", [[1]]), fs("U8", 1.0), i32(0)],
            [out("U8", dims=[1, 1])])
    c.refusals("LOG_SOFTMAX", lambda: ([real("F32", [[1.0, 2.0]]), fs("F32", 1.0), i32(1)],
                                       [out("F32")]))
    return c


def l2_normalization():
    c = Collection("l2_normalization")
    results = {"U8": (1 / 128, 128), "S8": (1 / 128, 0)}
    for type_ in DATA_TYPES:
        for shape, axis in (([1, 2, 2, 3], None), ([4], None), ([2, 3], 0), ([2, 3, 2], 1),
                            ([2, 2, 3, 2], -2), ([2, 2, 3, 2], 3), ([3, 4], -1)):
            name = f"{type_.lower()}_{text(shape)}_axis_{axis}"
            c.add(name, "L2_NORMALIZATION",
                  [real(type_, grid(c.random(name), *shape)),
                   *([] if axis is None else [i32(axis)])], [out(type_, results.get(type_))])
        c.add(f"{type_.lower()}_zeros", "L2_NORMALIZATION",
              [real(type_, [[[[0.0, 0.0, 0.0], [3.0, 0.0, -4.0]]]])],
              [out(type_, results.get(type_))])
    for axis in (4, -5):
        c.fails(f"axis_{axis}", "L2_NORMALIZATION", [real("F32", np.ones([1, 1, 1, 2])), i32(axis)],
                [out("F32", dims=[1, 1, 1, 2])])
    for type_ in QUANT_TYPES:
        c.fails(f"{type_.lower()}_output_scale", "L2_NORMALIZATION", [stored(type_, [[1, 2]])],
                [out(type_, (0.5, 0), dims=[1, 2])])
    c.refusals("L2_NORMALIZATION", lambda: ([real("F32", [[3.0, 4.0]]), i32(1)], [out("F32")]),
               keep={"too_few_inputs"})
    return c


def local_response_normalization():
    c = Collection("local_response_normalization")
    for type_ in FLOAT_TYPES:
        for shape, radius, bias, alpha, beta, axis in (
                ([1, 1, 2, 6], 2, 1.0, 0.5, 0.5, None), ([1, 2, 1, 4], 20, 2.0, 1.0, 0.75, None),
                ([6], 1, 1.0, 1.0, 0.5, None), ([1, 1, 1, 5], 1, 0.0, 1.0, 0.5, None), ([2, 4], 0, 0.5, 2.0, 1.0, 1),
                ([2, 5, 2], 1, 1.0, 1.0, 0.5, -2), ([4, 1, 2, 2], 1, 9.0, 4.0, 0.5, 0)):
            name = f"{type_.lower()}_{text(shape)}_radius{radius}_axis_{axis}"
            c.add(name, "LOCAL_RESPONSE_NORMALIZATION",
                  [real(type_, grid(c.random(name), *shape)), i32(radius), fs(type_, bias),
                   fs(type_, alpha), fs(type_, beta), *([] if axis is None else [i32(axis)])],
                  [out(type_)])

    def arguments(radius=1, axis=-1, precision="F32"):
        return [real("F32", np.ones([1, 1, 1, 2])), i32(radius), fs(precision, 1.0),
                fs(precision, 1.0), fs(precision, 0.5), i32(axis)]

    for name, ins in (("radius_negative", arguments(radius=-1)), ("axis_above", arguments(axis=4)),
                      ("axis_below", arguments(axis=-5)),
                      ("precision", arguments(precision="F16"))):
        c.fails(name, "LOCAL_RESPONSE_NORMALIZATION", ins, [out("F32", dims=[1, 1, 1, 2])])
    c.refusals("LOCAL_RESPONSE_NORMALIZATION", lambda: (arguments(), [out("F32")]),
               keep={"too_few_inputs"})
    return c


def instance_normalization():
    c = Collection("instance_normalization")
    for type_ in FLOAT_TYPES:
        for nchw in (0, 1):
            for shape, gamma, beta, epsilon in (([2, 3, 2, 2], 1.0, 0.0, 1e-4),
                                                ([1, 2, 3, 2], 2.0, -1.0, 0.25),
                                                ([2, 2, 4, 1], -0.5, 3.0, 1.0)):
                name = f"{type_.lower()}_{'nchw' if nchw else 'nhwc'}_{text(shape)}"
                c.add(name, "INSTANCE_NORMALIZATION",
                      [real(type_, grid(c.random(name), *shape)), fs(type_, gamma),
                       fs(type_, beta), fs(type_, epsilon), flag(nchw)], [out(type_)])
    c.add("constant_picture", "INSTANCE_NORMALIZATION",
          [real("F32", np.full([1, 2, 2, 1], 3.0)), fs("F32", 2.0), fs("F32", 0.5),
           fs("F32", 1e-3), flag(0)], [out("F32")])
    arguments = lambda x: [x, fs("F32", 1.0), fs("F32", 0.0), fs("F32", 0.1), flag(0)]  # noqa: E731
    c.fails("rank3", "INSTANCE_NORMALIZATION", arguments(real("F32", np.ones([1, 2, 2]))),
            [out("F32", dims=[1, 2, 2])])
    c.fails("u8", "INSTANCE_NORMALIZATION", arguments(stored("U8", np.ones([1, 2, 2, 1]))),
            [out("U8", dims=[1, 2, 2, 1])])
    c.refusals("INSTANCE_NORMALIZATION", lambda: (arguments(real("F32", np.ones([1, 2, 2, 1]))),
                                                  [out("F32")]))
    return c


def collections():
    return [mean(), reduce_numbers("REDUCE_MAX", DATA_TYPES),
            reduce_numbers("REDUCE_MIN", DATA_TYPES), reduce_numbers("REDUCE_PROD", FLOAT_TYPES),
            reduce_numbers("REDUCE_SUM", FLOAT_TYPES), reduce_booleans("REDUCE_ALL"),
            reduce_booleans("REDUCE_ANY"), argument("ARGMAX"), argument("ARGMIN"), topk(),
            softmax(), log_softmax(), l2_normalization(), local_response_normalization(),
            instance_normalization()]
