"""Operations of the extension halyard.tflite."""
import numpy as np

from builder import (Collection, QUANT_TYPES, grid, i32, ints, operand, out, per_channel,
                     real, stored, temp)
from cases.lookup import WITH_I32, numbered, text

LOWEST = {"U8": 0, "S8": -128}


def gather_nd():
    c = Collection("gather_nd")
    for type_ in WITH_I32:
        for shape, indices in (([5], [[4], [0], [4]]), ([2, 3], [[1, 2], [0, 0]]),
                               ([2, 3], [[1]]), ([2, 3], [1, 0]), ([2, 2, 3], [[[1, 0]], [[0, 1]]]),
                               ([2, 1, 2, 2, 3], [[1, 0, 1], [0, 0, 0]]),
                               ([3, 2, 2], [[2], [2], [0]])):
            name = f"{type_.lower()}_{text(shape)}_at_{text(np.shape(indices))}"
            c.add(name, "GATHER_ND", [numbered(type_, shape), ints(indices, True)], [out(type_)])
    c.add("b8", "GATHER_ND", [stored("B8", [[0, 1], [1, 0]]), ints([[1, 0], [0, 0]], True)],
          [out("B8")])
    c.add("indices_constant", "GATHER_ND", [numbered("F32", [3, 2]), ints([[2], [0]])],
          [out("F32")])
    for name, indices in (("above", [[0, 2]]), ("negative", [[-1, 0]]), ("far", [[0, 2**31 - 1]]),
                          ("tuple_too_long", [[0, 0, 0]])):
        c.fails(name, "GATHER_ND", [numbered("F32", [3, 2]), ints(indices, True)],
                [out("F32", dims=[1])])
    c.fails("output_scale", "GATHER_ND", [numbered("U8", [2]), ints([[0]])],
            [out("U8", (0.5, 120), dims=[1])])
    c.refusals("GATHER_ND", lambda: ([numbered("F32", [3]), ints([[1]])], [out("F32")]))
    return c


def quantized_mul():
    c = Collection("quantized_mul")
    for type_ in QUANT_TYPES:
        low = LOWEST[type_]
        for number, (a, b, y) in enumerate([
                (0.05, 0.05, 0.002), (0.05, 0.05, 0.0025), (0.037, 0.021, 0.0001),
                (0.5, 0.5, 0.1), (0.0078125, 0.0078125, 0.00390625), (0.1, 0.3, 0.030000001),
                (1.0, 1.0, 1e-7), (0.004, 0.003, 1e9)]):
            r = c.random(f"{type_}{number}")
            c.add(f"{type_.lower()}_scales{number}", "QUANTIZED_MUL",
                  [stored(type_, low + np.arange(256).reshape(16, 16), (a, low + 100)),
                   stored(type_, low + r.randint(0, 256, [4, 1, 16]), (b, low + 140)), i32(0)],
                  [out(type_, (y, low + 90))])
        for code in (0, 1, 2, 3):
            r = c.random(f"{type_}activation{code}")
            c.add(f"{type_.lower()}_activation{code}", "QUANTIZED_MUL",
                  [stored(type_, low + r.randint(0, 256, [8, 8]), (0.25, low + 128)),
                   stored(type_, low + r.randint(0, 256, [8, 8]), (0.125, low + 128), const=True),
                   i32(code)], [out(type_, (0.03, low + 120))])
        for a, b in (([3], [3]), ([2, 1, 3], [1, 4, 1]), ([1], [2, 3]),
                     ([1, 2, 1, 3, 1], [2, 1, 2])):
            r = c.random(f"{type_}{text(a)}{text(b)}")
            c.add(f"{type_.lower()}_{text(a)}_by_{text(b)}", "QUANTIZED_MUL",
                  [stored(type_, low + r.randint(0, 256, a), (0.02, low + 30)),
                   stored(type_, low + r.randint(0, 256, b), (0.01, low + 200)), i32(0)],
                  [out(type_, (0.0001, low + 128))])

    def one():
        return stored("U8", [1, 2], (0.5, 0))

    c.fails("shapes", "QUANTIZED_MUL", [one(), stored("U8", [1, 2, 3], (0.5, 0)), i32(0)],
            [out("U8", (0.25, 0), [2])])
    c.fails("types", "QUANTIZED_MUL", [one(), stored("S8", [1, 2], (0.5, 0)), i32(0)],
            [out("U8", (0.25, 0), [2])])
    c.fails("f32", "QUANTIZED_MUL", [real("F32", [1.0]), real("F32", [1.0]), i32(0)],
            [out("F32", dims=[1])])
    c.fails("activation", "QUANTIZED_MUL", [one(), one(), i32(4)], [out("U8", (0.25, 0), [2])])
    c.fails("ratio", "QUANTIZED_MUL", [stored("U8", [1], (1e30, 0)), stored("U8", [1], (1e30, 0)),
                                       i32(0)], [out("U8", (1.0, 0), [1])])
    c.refusals("QUANTIZED_MUL", lambda: ([one(), one(), i32(0)], [out("U8", (0.25, 0))]))
    return c


def shape():
    c = Collection("shape")
    for type_ in WITH_I32 + ("B8", "SYM16", "U16", "SYM8"):
        for dims in ([3], [2, 1], [1, 2, 1], [1, 1, 1, 2], [1, 2, 1, 3, 1, 1]):
            c.add(f"{type_.lower()}_{text(dims)}", "SHAPE", [stored(type_, np.ones(dims))],
                  [out("I32")])
    c.add("pc8", "SHAPE", [per_channel([[1, 2], [3, 4]], 1, [0.5, 0.25], const=False)],
          [out("I32")])
    # RESHAPE takes the result of SHAPE.
    dims = temp("I32")
    c.graph("reshape_to_it", [("SHAPE", [real("F32", np.ones([2, 3]))], [dims]),
                              ("RESHAPE", [real("F32", np.arange(6.0)), dims], [out("F32")])])
    c.fails("output_scalar", "SHAPE", [real("F32", [1.0])],
            [operand("i32", "SUBGRAPH_OUTPUT", (0.0, 0))])
    c.refusals("SHAPE", lambda: ([real("F32", [1.0])], [out("I32")]), keep=("output_shape",))
    c.fails("output_rank", "SHAPE", [real("F32", [1.0])], [out("I32", dims=[2])])
    return c


def rfft2d():
    c = Collection("rfft2d")
    for dims, lengths in (([1, 4], [1, 4]), ([4, 4], [4, 4]), ([3, 5], [4, 8]), ([5, 9], [2, 4]),
                          ([2, 1, 16], [1, 16]), ([2, 2, 2, 2], [2, 2]), ([1, 1, 3, 2, 8], [4, 8]),
                          ([3, 3], [1, 1]), ([3, 3], [8, 1]), ([3, 3], [1, 2]), ([1, 60], [1, 64])):
        name = f"{text(dims)}_to_{text(lengths)}"
        r = c.random(name)
        c.add(name, "RFFT2D", [real("F32", grid(r, *dims)), ints(lengths)], [out("F32")])
    r = c.random("length_computed")
    c.add("length_computed", "RFFT2D", [real("F32", grid(r, 2, 8)), ints([1, 8], True)],
          [out("F32")])
    r = c.random("magnitude")
    x, y = real("F32", grid(r, 3, 1, 8)), temp("F32")
    c.graph("magnitude", [("RFFT2D", [x, ints([1, 8])], [y]), ("COMPLEX_ABS", [y], [out("F32")])])
    for name, lengths in (("no_power", [1, 6]), ("zero", [0, 4]), ("negative", [4, -4]),
                          ("one_length", [4]), ("three_lengths", [1, 4, 4])):
        c.fails(name, "RFFT2D", [real("F32", np.ones([2, 4])), ints(lengths)],
                [out("F32", dims=[1, 6])])
    c.fails("rank1", "RFFT2D", [real("F32", np.ones([4])), ints([1, 4])],
            [out("F32", dims=[1, 6])])
    c.fails("f16", "RFFT2D", [real("F16", np.ones([1, 4])), ints([1, 4])],
            [out("F16", dims=[1, 6])])
    c.refusals("RFFT2D", lambda: ([real("F32", np.ones([1, 4])), ints([1, 4])], [out("F32")]))
    return c


def complex_part(operation):
    c = Collection(operation.lower())
    for dims in ([2], [3, 2], [2, 1, 6], [1, 2, 1, 2], [2, 1, 1, 2, 4]):
        r = c.random(text(dims))
        c.add(text(dims), operation, [real("F32", grid(r, *dims))], [out("F32")])
    c.add("whole_numbers", operation, [real("F32", [[3.0, 4.0], [-6.0, 8.0]])], [out("F32")])
    c.add("large", operation, [real("F32", [[3e30, 4e30], [0.0, -1e-30]])], [out("F32")])
    c.fails("three", operation, [real("F32", [[1.0, 2.0, 3.0]])], [out("F32", dims=[1])])
    c.fails("i32", operation, [real("I32", [[1.0, 2.0]])], [out("I32", dims=[1])])
    c.refusals(operation, lambda: ([real("F32", [[1.0, 2.0]])], [out("F32")]))
    return c


def collections():
    return [gather_nd(), quantized_mul(), shape(), rfft2d(), complex_part("COMPLEX_ABS"),
            complex_part("REAL"), complex_part("IMAG")]
