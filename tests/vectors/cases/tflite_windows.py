"""Windows, volumes and distinct elements of the extension halyard.tflite."""
import numpy as np

from builder import Collection, FLOAT_TYPES, grid, i32, ints, out, real, stored
from cases.lookup import WITH_I32, numbered, text
from cases.tflite_functions import SHAPES, WITH_B8, any_tensor


def unique():
    c = Collection("unique")
    for type_ in ("F32", "I32"):
        for count in (1, 4, 20):
            r = c.random(f"{type_}{count}")
            c.add(f"{type_.lower()}_{count}", "UNIQUE", [real(type_, r.randint(-3, 4, [count]))],
                  [out(type_), out("I32")])
    c.fails("rank2", "UNIQUE", [real("F32", [[1.0]])], [out("F32", dims=[1]), out("I32", dims=[1])])
    c.fails("u8", "UNIQUE", [stored("U8", [1])], [out("U8", dims=[1]), out("I32", dims=[1])])
    c.refusals("UNIQUE", lambda: ([real("F32", [1.0, 2.0])], [out("F32"), out("I32")]))
    return c


def dilate():
    c = Collection("dilate")
    for type_ in WITH_B8:
        for shape in SHAPES:
            name = f"{type_.lower()}_{text(shape)}"
            r = c.random(name)
            c.add(name, "DILATE", [any_tensor(c, type_, shape, name),
                                   ints(r.randint(1, 4, [len(shape)])),
                                   any_tensor(c, type_, [1], name + "fill")], [out(type_)])
    c.add("steps_computed", "DILATE", [numbered("F32", [3]), ints([2], True), numbered("F32", [1])],
          [out("F32")])
    for name, steps in (("zero", [0]), ("negative", [-1]), ("many", [1, 1]), ("large", [2**31 - 1])):
        c.fails(name, "DILATE", [numbered("F32", [3]), ints(steps), numbered("F32", [1])],
                [out("F32", dims=[3])])
    c.fails("fill", "DILATE", [numbered("F32", [3]), ints([2]), numbered("F32", [2])],
            [out("F32", dims=[5])])
    c.refusals("DILATE", lambda: ([numbered("F32", [3]), ints([2]), numbered("F32", [1])],
                                  [out("F32")]))
    return c


# (shape, window, strides, dilations)
WINDOWS = (([5], [2], [1], [1]), ([6], [3], [2], [2]), ([4, 5], [2, 3], [1, 2], [1, 1]),
           ([2, 4, 4], [1, 2, 2], [1, 2, 2], [1, 1, 2]), ([1, 3, 3, 2], [1, 3, 2, 1], [1] * 4, [1] * 4))


def reduce_window():
    c = Collection("reduce_window")
    for type_ in FLOAT_TYPES + ("I32", "B8"):
        for function in ((5, 6) if type_ == "B8" else (1, 2, 3, 4)):
            for shape, window, strides, dilations in WINDOWS:
                name = f"{type_.lower()}_{text(shape)}_by_{text(window)}_function{function}"
                r = c.random(name)
                # Powers of two: their products are exact.
                values = r.randint(0, 2, shape) if type_ == "B8" else (
                    2.0 ** r.randint(-1, 2, shape) * r.choice([-1, 1], shape))
                init = [r.randint(0, 2) if type_ == "B8" else float(r.randint(-2, 3))]
                make = stored if type_ == "B8" else real
                c.add(name, "REDUCE_WINDOW",
                      [make(type_, values), make(type_, init), ints(window), ints(strides),
                       ints(dilations), i32(function)], [out(type_)])

    def line(*lists, function=1, type_="F32", init=(0.0,)):
        window, strides, dilations = lists or ([2], [1], [1])
        return [real(type_, [1.0, 2.0, 3.0]), real(type_, list(init)), ints(window), ints(strides),
                ints(dilations), i32(function)]

    for name, operands in (("wide", line([4], [1], [1])), ("dilated", line([2], [1], [3])),
                           ("no_window", line([0], [1], [1])), ("no_stride", line([2], [0], [1])),
                           ("no_dilation", line([2], [1], [0])), ("rank", line([1, 2], [1], [1])),
                           ("function", line(function=7)), ("of_booleans", line(function=5)),
                           ("init", line(init=(0.0, 0.0)))):
        c.fails(name, "REDUCE_WINDOW", operands, [out("F32", dims=[2])])
    c.refusals("REDUCE_WINDOW", lambda: (line(), [out("F32")]))
    return c


# (input, filter, paddings, strides, dilations); the filter's last dimensions are those of CONV_3D.
VOLUMES = (
    ([1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [[0, 0]] * 3, [1, 1, 1], [1, 1, 1]),
    ([2, 3, 4, 5, 2], [2, 2, 3, 2, 3], [[0, 0]] * 3, [1, 1, 1], [1, 1, 1]),
    ([1, 3, 3, 3, 3], [3, 3, 3, 3, 2], [[1, 1]] * 3, [1, 2, 1], [1, 1, 1]),
    ([1, 4, 5, 6, 1], [2, 2, 2, 1, 4], [[0, 1], [1, 0], [2, 2]], [2, 2, 3], [2, 1, 2]),
    ([1, 1, 1, 7, 5], [1, 1, 4, 5, 6], [[0, 0], [0, 0], [3, 0]], [1, 1, 2], [1, 1, 1]))


def volumes(transposed):
    operation = "CONV_3D_TRANSPOSE" if transposed else "CONV_3D"
    c = Collection(operation.lower())

    def operands(type_, name, volume, activation=0):
        r = c.random(name)
        shape, taps, paddings, strides, dilations = volume
        outputs = taps[4]
        large = shape[1:4]
        if transposed:
            small = [(n + a + b - (k - 1) * d - 1) // s + 1 for n, (a, b), k, s, d in
                     zip(large, paddings, taps, strides, dilations)]
            shape, taps = [shape[0], *small, shape[4]], [*taps[:3], taps[4], taps[3]]
        made = [real(type_, grid(r, *shape)), real(type_, grid(r, *taps, low=-1, high=1), const=True),
                real(type_, grid(r, outputs), const=True), ints(paddings), ints(strides),
                ints(dilations), i32(activation)]
        return made + ([ints(large)] if transposed else [])

    for type_ in FLOAT_TYPES:
        for number, volume in enumerate(VOLUMES):
            name = f"{type_.lower()}_{number}"
            c.add(name, operation, operands(type_, name, volume), [out(type_)])
    for activation in (1, 2, 3):
        name = f"activation{activation}"
        c.add(name, operation, operands("F32", name, VOLUMES[1], activation), [out("F32")])
    small = ([1, 2, 2, 2, 1], [1, 1, 1, 1, 1], [[0, 0]] * 3, [1, 1, 1], [1, 1, 1])
    target = [out("F32", dims=[1, 2, 2, 2, 1])]
    for name, at, value in (("stride", 4, ints([1, 0, 1])), ("dilation", 5, ints([0, 1, 1])),
                            ("padding", 3, ints([[0, 0], [-1, 0], [0, 0]])),
                            ("activation", 6, i32(4)), ("bias", 2, real("F32", [1.0, 2.0])),
                            ("channels", 1, real("F32", np.ones([1, 1, 1, 2, 2]))),
                            ("wide", 1, real("F32", np.ones([3, 1, 1, 1, 1]))),
                            ("rank4", 0, real("F32", np.ones([2, 2, 2, 1])))):
        broken = operands("F32", "broken", small)
        broken[at] = value
        c.fails(name, operation, broken, target)
    c.refusals(operation, lambda: (operands("F32", "refused", small), [out("F32")]))
    return c


def collections():
    return [unique(), dilate(), reduce_window(), volumes(False), volumes(True)]
