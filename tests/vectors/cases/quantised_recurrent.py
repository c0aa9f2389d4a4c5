"""The LSTM cells in fixed point."""
import itertools

import numpy as np

from builder import Collection, flag, fs, i32, none, omitted, out, stored

BATCH, INPUTS, CELLS = 2, 3, 4
ACTIVATION = (1 / 128, 128)
STATE = (2.0**-11, 0)


def quantized_16bit_lstm():
    c = Collection("quantized_16bit_lstm")

    def inputs(name, scale=1 / 64, zero=100, sizes=(BATCH, INPUTS, CELLS), extreme=False):
        batch, size, cells = sizes
        r = c.random(name)
        low, high = (0, 256) if extreme else (70, 190)
        weight = lambda *s: stored("U8", r.randint(low, high, s), (scale, zero))  # noqa: E731
        bias_scale = float(np.float32(scale) / np.float32(128))
        reach = 40000 if extreme else 4000
        state = 32767 if extreme else 9000
        return [stored("U8", r.randint(0, 256, [batch, size]), ACTIVATION),
                *[weight(cells, size) for _ in range(4)],
                *[weight(cells, cells) for _ in range(4)],
                *[stored("I32", r.randint(-reach, reach + 1, [cells]), (bias_scale, 0), const=True)
                  for _ in range(4)],
                stored("SYM16", r.randint(-state - 1, state + 1, [batch, cells]), STATE),
                stored("U8", r.randint(0, 256, [batch, cells]), ACTIVATION)]

    def targets(dims=((), ())):
        return [out("SYM16", STATE, dims[0]), out("U8", ACTIVATION, dims[1])]

    variants = {
        "plain": {}, "zero_point_0": {"zero": 0, "scale": 1 / 256},
        "zero_point_255": {"zero": 255, "scale": 0.002}, "steep": {"scale": 0.125},
        "odd_scale": {"scale": 0.00408021, "zero": 128}, "extreme": {"extreme": True},
        "inputs_above_cells": {"sizes": (1, 5, 2)}, "one_of_each": {"sizes": (1, 1, 1)},
        "equal_sizes": {"sizes": (3, 3, 3)}, "wide": {"sizes": (1, 8, 16), "scale": 1 / 256},
    }
    for name, arguments in variants.items():
        c.add(name, "QUANTIZED_16BIT_LSTM", inputs(name, **arguments), targets())
    ins = inputs("still")
    ins[0] = stored("U8", np.full([BATCH, INPUTS], 128), ACTIVATION)
    ins[13] = stored("SYM16", np.zeros([BATCH, CELLS]), STATE)
    ins[14] = stored("U8", np.full([BATCH, CELLS], 128), ACTIVATION)
    c.add("zero_state_and_input", "QUANTIZED_16BIT_LSTM", ins, targets())
    dims = ([BATCH, CELLS], [BATCH, CELLS])
    base = inputs("f")
    again = lambda i, scale, zero: stored(  # noqa: E731
        {0: "U8", 13: "SYM16", 14: "U8"}.get(i, "U8"), base[i].value, (scale, zero))
    for name, changes in (
            ("input_scale", {0: again(0, 0.01, 128)}),
            ("input_zero_point", {0: again(0, 1 / 128, 127)}),
            ("state_scale", {13: again(13, 2.0**-12, 0)}),
            ("output_state_zero_point", {14: again(14, 1 / 128, 0)}),
            ("one_weight_scale", {3: again(3, 1 / 32, 100)}),
            ("one_weight_zero_point", {8: again(8, 1 / 64, 101)}),
            ("bias_scale", {9: stored("I32", base[9].value, (0.5, 0), const=True)}),
            ("weight_shape", {2: stored("U8", np.ones([CELLS, INPUTS + 1]), (1 / 64, 100))}),
            ("recurrent_shape", {6: stored("U8", np.ones([CELLS, CELLS + 1]), (1 / 64, 100))}),
            ("bias_length", {10: stored("I32", np.ones([CELLS + 1]), (1 / 8192, 0))}),
            ("state_shape", {13: stored("SYM16", np.ones([BATCH + 1, CELLS]), STATE)})):
        c.fails(name, "QUANTIZED_16BIT_LSTM", [changes.get(i, o) for i, o in enumerate(base)],
                targets(dims))
    c.fails("new_state_scale", "QUANTIZED_16BIT_LSTM", base,
            [out("SYM16", (2.0**-12, 0), dims[0]), targets(dims)[1]])
    c.fails("output_scale", "QUANTIZED_16BIT_LSTM", base,
            [targets(dims)[0], out("U8", (1 / 64, 128), dims[1])])
    c.refusals("QUANTIZED_16BIT_LSTM", lambda: (inputs("r"), targets()))
    return c


def quantized_lstm():
    c = Collection("quantized_lstm")

    def inputs(name, cifg=False, peephole=False, norm=True, projection=False, bias=True,
               cell_clip=0.0, cell_exponent=-11, x_params=(1 / 128, 0), hidden_zero=0,
               h_params=None, spread=100, outputs=3):
        r = c.random(name)
        size = outputs if projection else CELLS
        hidden_scale = 0.0078125
        h_params = h_params or ((0.015625, 5) if projection else (hidden_scale, -hidden_zero))
        weight = lambda *s: stored("SYM8", r.randint(-spread, spread + 1, s),  # noqa: E731
                                   (0.0078125, 0), const=True)

        def wide(present, low=-9000, high=9001, scale=2.0**-13):
            if not present:
                return none("SYM16", (1.0, 0), (CELLS,))
            return stored("SYM16", r.randint(low, high, [CELLS]), (scale, 0), const=True)

        def norm_weight(present):
            return wide(present, 4000, 20001, 2.0**-15)

        # Without layer norm the meaning of the bias is not defined: it is 0 there.
        reach = 3000000 if norm else 0
        gate_bias = lambda: stored("I32", r.randint(-reach, reach + 1, [CELLS]),  # noqa: E731
                                   (0.0, 0), const=True)
        lack = lambda t, *s: none(t, (1.0, 0) if t != "I32" else (0.0, 0), s)  # noqa: E731
        unit = [0.007059, 0.007812, 0.007059, 0.007812] if norm else [2.0**-12] * 4
        return [stored("S8", r.randint(-128, 128, [BATCH, INPUTS]), x_params),
                lack("SYM8", CELLS, INPUTS) if cifg else weight(CELLS, INPUTS),
                *[weight(CELLS, INPUTS) for _ in range(3)],
                lack("SYM8", CELLS, size) if cifg else weight(CELLS, size),
                *[weight(CELLS, size) for _ in range(3)],
                wide(peephole and not cifg), wide(peephole), wide(peephole),
                lack("I32", CELLS) if cifg else gate_bias(), *[gate_bias() for _ in range(3)],
                weight(size, CELLS) if projection else lack("SYM8", size, CELLS),
                stored("I32", r.randint(-2000, 2001, [size]), (0.0, 0), const=True)
                if projection and bias else lack("I32", size),
                stored("S8", r.randint(-128, 128, [BATCH, size]), h_params),
                stored("SYM16", r.randint(-8000, 8001, [BATCH, CELLS]), (2.0**cell_exponent, 0)),
                norm_weight(norm and not cifg), *[norm_weight(norm) for _ in range(3)],
                fs("F32", cell_clip), fs("F32", 0.0), *[fs("F32", u) for u in unit],
                i32(hidden_zero), fs("F32", hidden_scale)]

    def targets(ins, dims=((), (), ())):
        h, state = ((ins[i].scale, ins[i].zero_point) for i in (18, 19))
        return [out("S8", h, dims[0]), out("SYM16", state, dims[1]), out("S8", h, dims[2])]

    options = {"cifg": (False, True), "projection": (False, True), "peephole": (False, True)}
    for values in itertools.product(*options.values()):
        chosen = dict(zip(options, values))
        name = "norm_" + "_".join(k for k, v in chosen.items() if v)
        ins = inputs(name, **chosen)
        c.add(name.rstrip("_"), "QUANTIZED_LSTM", ins, targets(ins))
    variants = {
        "no_norm": {"norm": False}, "no_norm_cifg": {"norm": False, "cifg": True},
        "no_norm_peephole": {"norm": False, "peephole": True},
        "no_norm_projection": {"norm": False, "projection": True},
        "cell_clip": {"cell_clip": 0.5}, "large_cell_clip": {"cell_clip": 1000.0},
        "cell_scale_15": {"cell_exponent": -15}, "cell_scale_9": {"cell_exponent": -9},
        "input_zero_point": {"x_params": (0.01, 17)}, "hidden_zero_point": {"hidden_zero": 9},
        "hidden_zero_point_projection": {"hidden_zero": -20, "projection": True},
        "state_zero_point": {"projection": True, "h_params": (0.02, -60)},
        "projection_without_bias": {"projection": True, "bias": False},
        "saturating": {"spread": 127, "norm": False, "x_params": (0.05, -128)},
        "projection_saturates": {"projection": True, "h_params": (0.0005, 3)},
        "more_outputs_than_cells": {"projection": True, "outputs": 6},
    }
    for name, arguments in variants.items():
        ins = inputs(name, **arguments)
        c.add(name, "QUANTIZED_LSTM", ins, targets(ins))
    ins = inputs("left_out", cifg=True)
    ins = [omitted({"TENSOR_QUANT8_SYMM": "SYM8", "TENSOR_INT32": "I32"}.get(o.type, "SYM16"),
                   (o.scale, 0), o.dims) if o.lifetime == "NO_VALUE" else o for o in ins]
    c.add("left_out_at_execution", "QUANTIZED_LSTM", ins, targets(ins))
    ins = inputs("same_row")
    ins[0] = stored("S8", np.tile([10, -20, 30], [BATCH, 1]), (1 / 128, 0))
    c.add("equal_rows", "QUANTIZED_LSTM", ins, targets(ins))
    base = inputs("f")
    dims = ([BATCH, CELLS],) * 3
    lack = lambda t, *s: none(t, (1.0, 0) if t != "I32" else (0.0, 0), s)  # noqa: E731
    for name, changes in (
            ("input_gate_in_part", {1: lack("SYM8", CELLS, INPUTS)}),
            ("input_bias_missing", {12: lack("I32", CELLS)}),
            ("peephole_in_part", {10: stored("SYM16", np.ones([CELLS]), (1.0, 0), const=True)}),
            ("norm_in_part", {22: lack("SYM16", CELLS)}),
            ("projection_bias_alone", {17: stored("I32", np.ones([CELLS]), (0.0, 0), const=True)}),
            ("forget_weights_missing", {2: lack("SYM8", CELLS, INPUTS)}),
            ("state_scale", {19: stored("SYM16", base[19].value, (0.0003, 0))}),
            ("state_scale_too_large", {19: stored("SYM16", base[19].value, (2.0**-8, 0))}),
            ("state_scale_too_small", {19: stored("SYM16", base[19].value, (2.0**-16, 0))}),
            ("unsigned_input", {0: stored("U8", np.ones([BATCH, INPUTS]))}),
            ("clip_type", {24: i32(0)}), ("hidden_zero_type", {30: flag(0)})):
        c.fails(name, "QUANTIZED_LSTM", [changes.get(i, o) for i, o in enumerate(base)],
                targets(base, dims))
    outs = targets(base, dims)
    c.fails("output_scale", "QUANTIZED_LSTM", base, [out("S8", (0.5, 0), dims[0]), *outs[1:]])
    c.fails("output_state_scale", "QUANTIZED_LSTM", base,
            [outs[0], out("SYM16", (2.0**-12, 0), dims[1]), outs[2]])

    def make():
        made = inputs("r")
        return made, targets(made)
    c.refusals("QUANTIZED_LSTM", make)
    return c


def collections():
    return [quantized_16bit_lstm(), quantized_lstm()]
