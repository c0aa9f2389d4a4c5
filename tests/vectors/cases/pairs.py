"""Operations of two or three tensors, element by element, except arithmetic."""
import numpy as np

from builder import (Collection, DATA_TYPES, FLOAT_TYPES, QUANT_TYPES, const, grid, out, real,
                     stored)

ZERO = {"U8": 128, "S8": 0}
BROADCASTS = [([4], [4]), ([2, 3], [2, 3]), ([2, 1, 3], [1, 4, 1]), ([2, 2, 1, 2], [3, 2]),
              ([1], [2, 3]), ([1, 2, 1, 3, 1], [2, 1, 2])]


def pairs(c, operation, types, first, result, second=None):
    """`first`, `second`: from random numbers and a shape to values; `result`: from type to out."""
    for type_ in types:
        for a, b in BROADCASTS:
            name = f"{type_.lower()}_{'x'.join(map(str, a))}_and_{'x'.join(map(str, b))}"
            r = c.random(name)
            c.add(name, operation, [real(type_, first(r, *a)),
                                    (const if len(a) > len(b) else real)(
                                        type_, (second or first)(r, *b))], [result(type_)])


def failures(c, operation, result):
    one = np.ones([2, 3])
    c.fails("shapes", operation, [real("F32", one), real("F32", np.ones([2, 2]))],
            [out(result, dims=[2, 3])])
    c.fails("types", operation, [real("F32", one), real("F16", one)], [out(result, dims=[2, 3])])
    c.refusals(operation, lambda: ([real("F32", one), real("F32", one)], [out(result)]))


def coarse(random, *shape):
    """Few different values, so that many are equal."""
    return random.randint(-2, 3, shape) * 0.5


def comparison(operation):
    c = Collection(operation.lower())
    pairs(c, operation, ("F32", "F16", "I32", "U8", "S8"),
          lambda r, *s: coarse(r, *s) * 2, lambda t: out("B8"))
    pairs(c, operation, ("B8",), lambda r, *s: r.randint(0, 2, s), lambda t: out("B8"))
    c.add("b8_any_byte_is_true", operation, [stored("B8", [0, 1, 2, 255]),
                                             stored("B8", [2, 7, 0, 255])], [out("B8")])
    for type_ in QUANT_TYPES:
        zero = ZERO[type_]
        for number, (a, b) in enumerate([((0.5, zero), (0.25, zero)),
                                         ((1.0, zero - 28), (0.5, zero + 10)),
                                         ((0.125, zero + 127), (2.0, zero - 128))]):
            r = c.random(f"{type_}{number}")
            low = np.iinfo(np.uint8 if type_ == "U8" else np.int8).min
            c.add(f"{type_.lower()}_own_parameters{number}", operation,
                  [stored(type_, low + np.arange(256).reshape(16, 16), a),
                   stored(type_, r.randint(low, low + 256, [16, 1]), b)], [out("B8")])
        c.add(f"{type_.lower()}_equal_reals", operation,
              [stored(type_, [zero + 10, zero + 20, zero - 4], (0.5, zero)),
               stored(type_, [zero + 20, zero + 10, zero - 8], (0.25, zero))], [out("B8")])
    c.add("f32_infinities_and_zeros", operation,
          [real("F32", [np.inf, -np.inf, 0.0, np.inf]), real("F32", [np.inf, 1.0, -0.0, -np.inf])],
          [out("B8")])
    c.add("i32_edges", operation, [real("I32", [2**31 - 1, -2**31, -1, 16777217]),
                                   stored("I32", [-2**31, 2**31 - 1, -1, 16777216])], [out("B8")])
    c.fails("sym8", operation, [stored("SYM8", [1]), stored("SYM8", [1])], [out("B8", dims=[1])])
    failures(c, operation, "B8")
    return c


def logical(operation):
    c = Collection(operation.lower())
    pairs(c, operation, ("B8",), lambda r, *s: r.randint(0, 2, s), lambda t: out("B8"))
    c.add("any_byte_is_true", operation, [stored("B8", [[0, 1], [2, 255]]),
                                          stored("B8", [[3, 0], [128, 0]])], [out("B8")])
    for type_ in ("F32", "I32", "U8"):
        c.fails(f"{type_.lower()}_unsupported", operation,
                [real(type_, [1.0]), real(type_, [1.0])], [out("B8", dims=[1])])
    c.fails("shapes", operation, [stored("B8", [1, 0]), stored("B8", [1, 0, 1])],
            [out("B8", dims=[3])])
    c.refusals(operation, lambda: ([stored("B8", [1, 0]), stored("B8", [1, 1])], [out("B8")]))
    return c


def logical_not():
    c = Collection("logical_not")
    for shape in ([4], [2, 3], [2, 1, 2], [1, 2, 2, 2], [1, 2, 1, 2, 1, 2]):
        r = c.random(str(shape))
        c.add("x".join(map(str, shape)), "LOGICAL_NOT", [stored("B8", r.randint(0, 2, shape))],
              [out("B8")])
    c.add("any_byte_is_true", "LOGICAL_NOT", [stored("B8", [0, 1, 2, 128, 255])], [out("B8")])
    c.fails("f32_unsupported", "LOGICAL_NOT", [real("F32", [1.0])], [out("F32", dims=[1])])
    c.fails("i32_unsupported", "LOGICAL_NOT", [real("I32", [1.0])], [out("I32", dims=[1])])
    c.refusals("LOGICAL_NOT", lambda: ([stored("B8", [1, 0])], [out("B8")]))
    return c


def extremum(operation):
    c = Collection(operation.lower())
    pairs(c, operation, DATA_TYPES + ("I32",), grid, out)
    for type_ in QUANT_TYPES:
        zero, low = ZERO[type_], 0 if type_ == "U8" else -128
        for number, (a, b, result) in enumerate([
                ((0.5, zero), (0.25, zero + 9), (0.5, zero)),
                ((1.0, zero - 28), (0.5, zero + 10), (0.3, zero + 30)),
                ((0.1, zero + 127), (0.1, zero - 128), (0.25, zero))]):
            r = c.random(f"{type_}{number}")
            c.add(f"{type_.lower()}_own_parameters{number}", operation,
                  [stored(type_, r.randint(low, low + 256, [4, 6]), a),
                   stored(type_, r.randint(low, low + 256, [6]), b)], [out(type_, result)])
    c.add("i32_edges", operation, [real("I32", [2**31 - 1, -2**31, 16777217]),
                                   stored("I32", [-1, 0, 16777216])], [out("I32")])
    c.add("relaxed", operation, [real("F32", [1.5, -2.0]), real("F32", [0.25])], [out("F32")],
          relaxed=True)
    c.fails("b8", operation, [stored("B8", [1]), stored("B8", [1])], [out("B8", dims=[1])])
    failures(c, operation, "F32")
    return c


def power():
    c = Collection("pow")
    pairs(c, "POW", FLOAT_TYPES, lambda r, *s: grid(r, *s, low=0.25, high=2),
          out, lambda r, *s: grid(r, *s, low=-2, high=2, step=0.25))
    for type_ in FLOAT_TYPES:
        c.add(f"{type_.lower()}_whole_exponents", "POW",
              [real(type_, [-2.0, -1.5, 3.0, -0.5, 0.0, 2.0]),
               real(type_, [3.0, 2.0, -2.0, 4.0, 3.0, 0.0])], [out(type_)])
        c.add(f"{type_.lower()}_edges", "POW",
              [real(type_, [0.0, 1.0, -1.0, 4.0, 0.0]), real(type_, [0.0, 9.0, 5.0, 0.5, 2.5])],
              [out(type_)])
    c.fails("i32", "POW", [real("I32", [2]), real("I32", [2])], [out("I32", dims=[1])])
    failures(c, "POW", "F32")
    return c


def prelu():
    c = Collection("prelu")
    pairs(c, "PRELU", DATA_TYPES, grid, lambda t: out(
        t, (0.05, ZERO[t] - 3) if t in ZERO else None))
    for type_ in QUANT_TYPES:
        zero, low = ZERO[type_], 0 if type_ == "U8" else -128
        for number, (x, alpha, result) in enumerate([
                ((0.25, zero), (0.25, zero - 78), (0.25, zero)),
                ((0.5, zero + 50), (0.03, zero + 20), (0.2, zero - 60)),
                ((0.25, zero - 50), (2.0, zero), (0.5, zero + 100))]):
            r = c.random(f"{type_}{number}")
            c.add(f"{type_.lower()}_all_values{number}", "PRELU",
                  [stored(type_, low + np.arange(256).reshape(8, 32), x),
                   stored(type_, r.randint(low, low + 256, [1, 32]), alpha, const=True)],
                  [out(type_, result)])
    for type_ in FLOAT_TYPES:
        c.add(f"{type_.lower()}_channels_of_rank4", "PRELU",
              [real(type_, grid(c.random(type_), 1, 2, 2, 3)), const(type_, [[[0.0, 1.0, -2.0]]])],
              [out(type_)])
    c.fails("i32", "PRELU", [real("I32", [2]), real("I32", [2])], [out("I32", dims=[1])])
    failures(c, "PRELU", "F32")
    return c


def select():
    c = Collection("select")
    for type_ in DATA_TYPES + ("I32",):
        for shape in ([5], [2, 3], [2, 1, 3], [1, 2, 2, 2], [1, 2, 1, 2, 1, 2]):
            name = f"{type_.lower()}_{'x'.join(map(str, shape))}"
            r = c.random(name)
            c.add(name, "SELECT", [stored("B8", r.randint(0, 2, shape)),
                                   real(type_, grid(r, *shape)), real(type_, grid(r, *shape))],
                  [out(type_)])
    c.add("any_byte_is_true", "SELECT", [stored("B8", [0, 1, 2, 255]),
                                         real("F32", [1.0, 2.0, 3.0, 4.0]),
                                         const("F32", [-1.0, -2.0, -3.0, -4.0])], [out("F32")])
    for type_ in QUANT_TYPES:
        zero, low = ZERO[type_], 0 if type_ == "U8" else -128
        r = c.random(type_)
        c.add(f"{type_.lower()}_own_parameters", "SELECT",
              [stored("B8", r.randint(0, 2, [32])),
               stored(type_, r.randint(low, low + 256, [32]), (0.5, zero - 20)),
               stored(type_, r.randint(low, low + 256, [32]), (0.125, zero + 30))],
              [out(type_, (0.25, zero))])
    condition, x = stored("B8", [1, 0]), real("F32", [1.0, 2.0])
    c.fails("condition_type", "SELECT", [real("F32", [1.0, 0.0]), x, x], [out("F32", dims=[2])])
    c.fails("broadcast", "SELECT", [stored("B8", [1]), x, x], [out("F32", dims=[2])])
    c.fails("broadcast_value", "SELECT", [condition, x, real("F32", [1.0])],
            [out("F32", dims=[2])])
    c.fails("types", "SELECT", [condition, x, real("F16", [1.0, 2.0])], [out("F32", dims=[2])])
    c.refusals("SELECT", lambda: ([stored("B8", [1, 0]), real("F32", [1.0, 2.0]),
                                   real("F32", [1.0, 2.0])], [out("F32")]))
    return c


def collections():
    made = [comparison(o) for o in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER",
                                    "GREATER_EQUAL")]
    return made + [logical("LOGICAL_AND"), logical("LOGICAL_OR"), logical_not(),
                   extremum("MAXIMUM"), extremum("MINIMUM"), power(), prelu(), select()]
