"""Operations of one tensor, element by element."""
import numpy as np

from builder import (Collection, DATA_TYPES, FLOAT_TYPES, QUANT_TYPES, fs, grid, i32,
                     out, per_channel, real, stored, temp, zero_sized)

SHAPES = ([5], [2, 3], [2, 1, 3], [1, 2, 2, 3])
ALL_BYTES = {"U8": np.arange(256), "S8": np.arange(-128, 128)}
ZERO = {"U8": 128, "S8": 0}


def name_of(type_, shape=()):
    return "_".join([type_.lower(), "x".join(map(str, shape))]).rstrip("_")


def floating(c, operation, low, high, limit=4, edges=(), more=()):
    """Shapes of every rank, the named edge values, relaxed; rank 5 where there is no limit."""
    shapes = list(SHAPES) + ([[1, 2, 1, 2, 2], [1, 2, 1, 2, 1, 2]] if limit > 4 else [])
    for type_ in FLOAT_TYPES:
        for shape in shapes:
            r = c.random(f"{type_}{shape}")
            c.add(name_of(type_, shape), operation,
                  [real(type_, grid(r, *shape, low=low, high=high)), *[fs(type_, m) for m in more]],
                  [out(type_)])
        if len(edges):
            c.add(f"{type_.lower()}_edges", operation,
                  [real(type_, edges), *[fs(type_, m) for m in more]], [out(type_)])
    r = c.random("relaxed")
    c.add("relaxed", operation, [real("F32", grid(r, 3, 4, low=low, high=high)),
                                 *[fs("F32", m) for m in more]], [out("F32")], relaxed=True)
    if limit == 4:
        c.fails("rank5", operation, [real("F32", np.ones([1, 1, 1, 1, 2]))],
                [out("F32", dims=[1, 1, 1, 1, 2])])
    c.fails("float_of_other_precision", operation,
            [real("F16", [1.0]), *[fs("F16", m) for m in more]], [out("F32", dims=[1])])
    c.refusals(operation, lambda: ([real("F32", np.full([2, 2], 1.0)),
                                    *[fs("F32", m) for m in more]], [out("F32")]))


def unsupported(c, operation, types):
    for type_ in types:
        c.fails(f"{type_.lower()}_unsupported", operation, [real(type_, [1.0, 0.0])],
                [out(type_, dims=[2])])


def no_rows(c, operation, types=DATA_TYPES, params=None, more=lambda t: []):
    for type_ in types:
        before, empty = zero_sized(type_, [2, 3])
        wanted = (params or {}).get(type_)
        c.graph(f"{type_.lower()}_no_rows",
                [*before, (operation, [empty, *more(type_)], [out(type_, wanted)])])


def squashing(operation, low, params):
    """LOGISTIC and TANH: every stored value, at scales from flat to steep."""
    c = Collection(operation.lower())
    floating(c, operation, low, -low, edges=[-100.0, -20.0, 0.0, 20.0, 100.0, 1e-4, -1e-4])
    for type_ in QUANT_TYPES:
        for number, source in enumerate([(0.0625, ZERO[type_]), (0.004, ZERO[type_] - 20),
                                         (0.5, ZERO[type_] + 127)]):
            c.add(f"{type_.lower()}_all_values_{number}", operation,
                  [stored(type_, ALL_BYTES[type_], source)], [out(type_, params[type_])])
        c.fails(f"{type_.lower()}_output_scale", operation, [stored(type_, [1], (0.1, 0))],
                [out(type_, (0.1, params[type_][1]), [1])])
        c.fails(f"{type_.lower()}_output_zero_point", operation, [stored(type_, [1], (0.1, 0))],
                [out(type_, (params[type_][0], params[type_][1] + 1), [1])])
    no_rows(c, operation, params=params)
    unsupported(c, operation, ["I32", "B8", "SYM8"])
    return c


def rectifier(operation):
    c = Collection(operation.lower())
    floating(c, operation, -8, 8, edges=[-1.0, 1.0, 6.0, -0.0, 0.0, 5.9375, 6.0625, -6.0])
    for type_ in QUANT_TYPES:
        for number, params in enumerate([(0.0625, ZERO[type_]), (0.03, ZERO[type_] - 100),
                                         (0.01, ZERO[type_] + 127), (0.5, ZERO[type_] - 128)]):
            c.add(f"{type_.lower()}_all_values_{number}", operation,
                  [stored(type_, ALL_BYTES[type_], params)], [out(type_, params)])
        c.fails(f"{type_.lower()}_output_scale", operation, [stored(type_, [1], (0.1, 0))],
                [out(type_, (0.2, 0), [1])])
    no_rows(c, operation)
    unsupported(c, operation, ["I32", "B8"])
    return c


def plain(operation, low, high, edges=(), integers=False):
    c = Collection(operation.lower())
    floating(c, operation, low, high, 4 if operation == "FLOOR" else 99, edges)
    if integers:
        for shape in ([6], [2, 3], [1, 2, 1, 1, 3]):
            r = c.random(f"i32{shape}")
            c.add(name_of("I32", shape), operation, [real("I32", r.randint(-1000, 1000, shape))],
                  [out("I32")])
        c.add("i32_edges", operation, [real("I32", [2**31 - 1, -2**31 + 1, 0, -1])], [out("I32")])
    unsupported(c, operation, ["B8", "S8" if operation == "RSQRT" else "U8"]
                if operation != "RSQRT" else ["B8", "I32"])
    return c


def rsqrt():
    c = plain("RSQRT", 0.0625, 8, edges=[0.0625, 4.0, 100.0, 10000.0, 0.25])
    for type_ in QUANT_TYPES:
        for number, (source, target) in enumerate([((0.25, ZERO[type_]), (0.015625, ZERO[type_])),
                                                   ((2.0, ZERO[type_] - 128), (0.01, ZERO[type_])),
                                                   ((0.001, ZERO[type_] - 5),
                                                    (0.5, ZERO[type_] - 90))]):
            c.add(f"{type_.lower()}_all_values_{number}", "RSQRT",
                  [stored(type_, ALL_BYTES[type_], source)], [out(type_, target)])
    return c


def elu():
    c = Collection("elu")
    floating(c, "ELU", -6, 6, 99, edges=[-20.0, -0.0, 0.0, 20.0, -0.001], more=(1.5,))
    for type_ in FLOAT_TYPES:
        for number, alpha in enumerate((0.0, 1.0, -2.0, 0.25)):
            c.add(f"{type_.lower()}_alpha{number}", "ELU",
                  [real(type_, [[-3.0, -0.5, 0.0], [0.5, 3.0, -10.0]]), fs(type_, alpha)],
                  [out(type_)])
    no_rows(c, "ELU", FLOAT_TYPES, more=lambda t: [fs(t, 1.0)])
    c.fails("u8_unsupported", "ELU", [real("U8", [1.0]), fs("F32", 1.0)], [out("U8", dims=[1])])
    c.fails("alpha_of_other_precision", "ELU", [real("F32", [1.0]), fs("F16", 1.0)],
            [out("F32", dims=[1])])
    return c


def hard_swish():
    c = Collection("hard_swish")
    floating(c, "HARD_SWISH", -6, 6, 99, edges=[-3.0, 3.0, 0.0, -2.9375, 2.9375, 100.0, -100.0])
    for type_ in QUANT_TYPES:
        for number, (source, target) in enumerate([((0.0625, ZERO[type_]), (0.0625, ZERO[type_])),
                                                   ((0.03, ZERO[type_] - 70),
                                                    (0.02, ZERO[type_] - 100)),
                                                   ((0.5, ZERO[type_] + 20),
                                                    (0.2, ZERO[type_] + 100))]):
            c.add(f"{type_.lower()}_all_values_{number}", "HARD_SWISH",
                  [stored(type_, ALL_BYTES[type_], source)], [out(type_, target)])
        c.add(f"{type_.lower()}_rank5", "HARD_SWISH",
              [real(type_, grid(c.random(type_), 1, 2, 1, 2, 2))], [out(type_)])
    no_rows(c, "HARD_SWISH")
    unsupported(c, "HARD_SWISH", ["I32", "B8"])
    return c


def cast():
    c = Collection("cast")
    plain_types = ("F32", "F16", "I32", "U8")
    values = {"F32": [[-3.75, -0.5, 0.0], [0.99, 2.5, 300.25]], "U8": [[0, 1, 7], [128, 254, 255]],
              "F16": [[-3.75, -0.5, 0.0], [0.984375, 2.5, 300.25]],
              "I32": [[-300, -1, 0], [255, 256, 70]]}
    for source in plain_types:
        for target in plain_types:
            c.add(f"{source.lower()}_to_{target.lower()}", "CAST",
                  [stored(source, np.array(values[source]), (0.5, 3) if source == "U8" else None)],
                  [out(target, (0.25, 7) if target == "U8" else None)])
    c.add("f32_to_i32_large", "CAST", [real("F32", [2e9, -2e9, 16777217.0, 1e-9])], [out("I32")])
    c.add("i32_to_f32_rounds", "CAST", [real("I32", [16777217, -16777219, 2**31 - 1])],
          [out("F32")])
    c.add("i32_to_f16_rounds", "CAST", [real("I32", [2049, 2051, -4097, 65504])], [out("F16")])
    c.add("i32_to_u8_saturates", "CAST", [real("I32", [-2**31, -1, 255, 256, 2**31 - 1])],
          [out("U8")])
    for type_, elements in (("S8", [-128, -1, 127]), ("B8", [0, 1, 1]), ("U16", [0, 9, 65535]),
                            ("SYM16", [-32768, 5, 32767]), ("SYM8", [-128, 0, 127])):
        c.add(f"{type_.lower()}_identity", "CAST", [stored(type_, elements)], [out(type_)])
        c.fails(f"{type_.lower()}_to_f32", "CAST", [stored(type_, elements)],
                [out("F32", dims=[3])])
        c.fails(f"f32_to_{type_.lower()}", "CAST", [real("F32", [1.0, 2.0])],
                [out(type_, dims=[2])])
    c.add("rank6", "CAST", [real("F32", np.arange(8.0).reshape(1, 2, 1, 2, 1, 2))], [out("I32")])
    c.refusals("CAST", lambda: ([real("F32", [1.0, 2.0])], [out("I32")]))
    return c


def quantize():
    c = Collection("quantize")
    edges = [-100.0, 100.0, 0.0, 0.0625, -0.0625, 0.03125, -0.03125, 0.09375, 15.9375, -15.9375]
    for type_ in FLOAT_TYPES:
        for target in QUANT_TYPES:
            name = f"{type_.lower()}_to_{target.lower()}"
            for number, params in enumerate([(0.0625, ZERO[target]), (0.11, ZERO[target] - 100),
                                             (1.0, ZERO[target] + 127)]):
                c.add(f"{name}_{number}", "QUANTIZE", [real(type_, edges)], [out(target, params)])
            r = c.random(name)
            c.add(f"{name}_rank5", "QUANTIZE",
                  [real(type_, grid(r, 1, 2, 1, 3, 2, low=-9, high=9))],
                  [out(target)])
            before, empty = zero_sized(type_, [2])
            c.graph(f"{name}_no_rows", [*before, ("QUANTIZE", [empty], [out(target)])])
    c.fails("i32", "QUANTIZE", [real("I32", [1])], [out("U8", dims=[1])])
    c.fails("to_sym8", "QUANTIZE", [real("F32", [1.0])], [out("SYM8", dims=[1])])
    c.refusals("QUANTIZE", lambda: ([real("F32", [1.0, 2.0])], [out("U8")]))
    return c


def dequantize():
    c = Collection("dequantize")
    elements = {**ALL_BYTES, "SYM8": ALL_BYTES["S8"]}
    for type_ in ("U8", "S8", "SYM8"):
        zeros = (0,) if type_ == "SYM8" else (ZERO[type_], ZERO[type_] + 127, ZERO[type_] - 128)
        for target in FLOAT_TYPES:
            for number, zero in enumerate(zeros):
                c.add(f"{type_.lower()}_to_{target.lower()}_{number}", "DEQUANTIZE",
                      [stored(type_, elements[type_], (0.03 * (number + 1), zero))], [out(target)])
            r = c.random(type_)
            c.add(f"{type_.lower()}_to_{target.lower()}_rank4", "DEQUANTIZE",
                  [stored(type_, r.randint(0, 100, [1, 2, 3, 2]))], [out(target)])
    for target in FLOAT_TYPES:
        for dim, shape in ((0, [2, 3]), (1, [2, 3]), (3, [1, 2, 2, 3]), (2, [2, 1, 2, 2])):
            r = c.random(f"pc8{dim}{shape}")
            c.add(f"pc8_dim{dim}_{'x'.join(map(str, shape))}_to_{target.lower()}", "DEQUANTIZE",
                  [per_channel(r.randint(-128, 128, shape), dim,
                               [0.5, 0.03, 2.0][:shape[dim]], const=False)], [out(target)])
        for type_ in QUANT_TYPES:
            before, empty = zero_sized(type_, [2, 2])
            c.graph(f"{type_.lower()}_to_{target.lower()}_no_rows",
                    [*before, ("DEQUANTIZE", [empty], [out(target)])])
    c.fails("u16", "DEQUANTIZE", [stored("U16", [1, 2])], [out("F32", dims=[2])])
    c.fails("to_i32", "DEQUANTIZE", [stored("U8", [1, 2])], [out("I32", dims=[2])])
    c.fails("rank5", "DEQUANTIZE", [stored("U8", np.ones([1, 1, 1, 1, 2]))],
            [out("F32", dims=[1, 1, 1, 1, 2])])
    c.fails("too_few_scales", "DEQUANTIZE", [per_channel([[1, 2], [3, 4]], 0, [0.5], const=False)],
            [out("F32", dims=[2, 2])])
    c.refusals("DEQUANTIZE", lambda: ([stored("U8", [1, 2])], [out("F32")]))
    return c


def chain():
    """Several operations with values between them."""
    c = Collection("elementwise_chain")
    for type_ in FLOAT_TYPES:
        a, b, d = temp(type_), temp(type_), temp(type_)
        c.graph(type_.lower(), [("ABS", [real(type_, [[-1.0, 4.0, -9.0]])], [a]),
                                ("SQRT", [a], [b]), ("ADD", [a, b, i32(0)], [d]),
                                ("NEG", [d], [out(type_)])])
    a, b = temp("F32"), temp("U8", (0.05, 100))
    c.graph("through_other_types", [("RELU6", [real("F32", [-1.0, 0.5, 7.0])], [a]),
                                    ("QUANTIZE", [a], [b]), ("DEQUANTIZE", [b], [out("F32")])])
    both = out("F32")
    c.graph("output_read_by_another", [("FLOOR", [real("F32", [1.5, -1.5])], [both]),
                                       ("NEG", [both], [out("F32")])])
    return c


def collections():
    return [
        squashing("LOGISTIC", -8, {"U8": (1 / 256, 0), "S8": (1 / 256, -128)}),
        squashing("TANH", -4, {"U8": (1 / 128, 128), "S8": (1 / 128, 0)}),
        rectifier("RELU"), rectifier("RELU1"), rectifier("RELU6"),
        plain("FLOOR", -4, 4, edges=[-1.5, -1.0, -0.0, 0.25, 3.0, 60000.0, -60000.0]),
        plain("ABS", -4, 4, edges=[-0.0, 0.0, -65504.0, 65504.0], integers=True),
        plain("NEG", -4, 4, edges=[-0.0, 0.0, -65504.0, 65504.0], integers=True),
        plain("EXP", -3, 2, edges=[-20.0, 0.0, 3.0, -0.001]),
        plain("LOG", 0.0625, 8, edges=[1.0, 1e-4, 60000.0, 2.0]),
        plain("SIN", -4, 4, edges=[0.0, 1e-4, -1e-4, 3.140625, -6.28125]),
        plain("SQRT", 0, 8, edges=[0.0, 1.0, 2.0, 65504.0, 1e-4]),
        rsqrt(), elu(), hard_swish(), cast(), quantize(), dequantize(), chain(),
    ]
