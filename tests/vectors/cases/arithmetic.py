"""ADD, SUB, MUL, DIV."""
import numpy as np

from builder import (Collection, FLOAT_TYPES, const, fs, grid, i32, out, real, scalar, stored,
                     zero_sized)

NONE, RELU, RELU1, RELU6 = range(4)
SYMBOL = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply, "DIV": np.divide}


def divisors(random, *shape):
    """Powers of two and their negatives: no quotient needs rounding."""
    return 2.0 ** random.randint(-2, 3, shape) * random.choice([-1, 1], shape)


def floats(c, operation):
    second = divisors if operation == "DIV" else grid
    shapes = [([4], [4]), ([2, 3], [2, 3]), ([2, 1, 3], [1, 4, 1]), ([2, 2, 1, 2], [3, 2]),
              ([1], [2, 3, 1, 2]), ([1, 2, 2, 2], [1, 2, 2, 2])]
    for type_ in FLOAT_TYPES:
        for number, (a, b) in enumerate(shapes):
            r = c.random(f"{type_}{number}")
            same = a == b and len(a) in (1, 4)
            c.add(f"{type_.lower()}_{'x'.join(map(str, a))}_and_{'x'.join(map(str, b))}",
                  operation,
                  [real(type_, grid(r, *a)), (real if same else const)(type_, second(r, *b)),
                   i32(NONE)], [out(type_)])
        for code, name in ((RELU, "relu"), (RELU1, "relu1"), (RELU6, "relu6")):
            r = c.random(f"{type_}{name}")
            c.add(f"{type_.lower()}_{name}", operation,
                  [real(type_, grid(r, 3, 6, low=-8, high=8)), real(type_, second(r, 3, 6)),
                   i32(code)], [out(type_)])
    r = c.random("relaxed")
    c.add("relaxed", operation, [real("F32", grid(r, 2, 2)), real("F32", second(r, 2, 2)),
                                 i32(NONE)], [out("F32")], relaxed=True)
    for type_ in FLOAT_TYPES:
        before, empty = zero_sized(type_, [2, 3])
        c.graph(f"{type_.lower()}_no_rows",
                [*before, (operation, [empty, const(type_, np.ones([1, 3])), i32(RELU)],
                           [out(type_)])])


def quantised(c, operation, type_):
    zero = {"U8": 128, "S8": 0}[type_]
    for name, pa, pb, po in [
            ("same_parameters", (0.25, zero), (0.25, zero), (0.25, zero)),
            ("own_parameters", (0.5, zero - 3), (0.125, zero + 40), (0.3, zero + 7)),
            ("saturates", (1.0, zero), (1.0, zero - 60), (1.01, zero)),
            ("small_scales", (0.0078125, zero - 128), (0.003921569, zero + 127),
             (0.0117, zero - 9))]:
        for code in (NONE, RELU, RELU1, RELU6) if name == "own_parameters" else (NONE,):
            r = c.random(f"{type_}{name}")
            low = 0 if type_ == "U8" else -128
            a, b = r.randint(low, low + 256, (4, 5)), r.randint(low, low + 256, (4, 5))
            c.add(f"{type_.lower()}_{name}" + ("" if code == NONE else f"_act{code}"), operation,
                  [stored(type_, a, pa), stored(type_, b, pb), i32(code)],
                  [out(type_, (max(po[0], pa[0] * pb[0] * 1.01) if operation == "MUL" else po[0],
                               po[1]))])
    r = c.random(f"{type_}broadcast")
    c.add(f"{type_.lower()}_broadcast", operation,
          [real(type_, grid(r, 2, 1, 3), (0.0625, zero)),
           const(type_, grid(r, 4, 1), (0.0625, zero + 11)), i32(NONE)], [out(type_, (0.1, zero))])
    before, empty = zero_sized(type_, [3])
    c.graph(f"{type_.lower()}_no_rows", [*before, (operation, [empty, empty, i32(NONE)],
                                                   [out(type_)])])


def integers(c, operation):
    a = [[7, -7, 5, -5], [0, 12, -12, 100000]]
    b = [[2, 2, -2, -2], [3, 4, 5, -7]]
    c.add("i32", operation, [real("I32", a), real("I32", b), i32(NONE)], [out("I32")])
    c.add("i32_broadcast", operation, [real("I32", a), const("I32", [[3], [-4]]), i32(NONE)],
          [out("I32")])
    c.fails("i32_relu", operation, [real("I32", a), real("I32", b), i32(RELU)],
            [out("I32", dims=[2, 4])])


def failures(c, operation):
    one = np.ones([2, 3])
    for name, ins, dims in [
            ("shapes", [real("F32", one), real("F32", np.ones([2, 2])), i32(NONE)], [2, 3]),
            ("types", [real("F32", one), real("F16", one), i32(NONE)], [2, 3]),
            ("activation", [real("F32", one), real("F32", one), i32(4)], [2, 3]),
            ("activation_below", [real("F32", one), real("F32", one), i32(-1)], [2, 3]),
            ("activation_type", [real("F32", one), real("F32", one), fs("F32", 0)], [2, 3]),
            ("rank5", [real("F32", np.ones([1, 1, 1, 1, 2]))] * 2 + [i32(NONE)],
             [1, 1, 1, 1, 2])]:
        c.fails(name, operation, ins, [out("F32", dims=dims)])
    c.refusals(operation, lambda: ([real("F32", one), real("F32", one), i32(NONE)],
                                   [out("F32")]))


def collections():
    made = []
    for operation in ("ADD", "SUB", "MUL", "DIV"):
        c = Collection(operation.lower())
        floats(c, operation)
        if operation != "DIV":
            quantised(c, operation, "U8")
            quantised(c, operation, "S8")
        else:
            c.fails("u8", "DIV", [real("U8", [1.0]), real("U8", [1.0]), i32(NONE)],
                    [out("U8", dims=[1])])
        integers(c, operation)
        failures(c, operation)
        made.append(c)
        if operation == "MUL":
            one = stored("U8", [1, 2], (0.5, 0))
            c.fails("scale_too_small", "MUL", [one, stored("U8", [1, 2], (0.5, 0)), i32(NONE)],
                    [out("U8", (0.25, 0), [2])])
        if operation == "DIV":
            result = out("I32")
            result.ignored = True  # undefined, but no crash
            c.add("i32_by_zero", "DIV", [real("I32", [5, -5, 0, -2**31]),
                                         real("I32", [0, 0, 0, -1]), i32(NONE)], [result])
    add = made[0]
    add.add("activation_as_input", "ADD",
            [real("F32", [-1.0, 2.0]), real("F32", [0.5, 0.5]), scalar("i32", RELU, True)],
            [out("F32")])
    return made
