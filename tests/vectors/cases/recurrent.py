"""Recurrent operations on floating point. Weights are small, so that float32 is accurate enough
over all steps."""
import itertools

import numpy as np

from builder import (Collection, FLOAT_TYPES, const, flag, fs, grid, i32, ignored, none, omitted,
                     out, real)

TANH = 4
BATCH, INPUTS, CELLS, OUTPUTS, STEPS = 2, 3, 4, 2, 3


class Source:
    """Tensors of small random numbers of one type."""

    def __init__(self, c, name, type_, make=const):
        self.random, self.type, self.make = c.random(name), type_, make

    def __call__(self, *shape, high=0.5, make=None):
        values = grid(self.random, *shape, low=-high, high=high, step=high / 16)
        return (make or self.make)(self.type, values)

    def maybe(self, present, *shape, high=0.5):
        return self(*shape, high=high) if present else none(self.type, dims=shape)


def cell_inputs(s, inputs=INPUTS, cifg=False, peephole=False, projection=False, bias=True,
                cells=CELLS):
    """The 17 operands that all forms of LSTM have in one order, and the size of the output."""
    outputs = OUTPUTS if projection else cells
    x, h = (cells, inputs), (cells, outputs)
    return [s.maybe(not cifg, *x), s(*x), s(*x), s(*x),
            s.maybe(not cifg, *h), s(*h), s(*h), s(*h),
            s.maybe(peephole and not cifg, cells), s.maybe(peephole, cells),
            s.maybe(peephole, cells),
            s.maybe(not cifg, cells), s(cells), s(cells), s(cells),
            s.maybe(projection, outputs, cells), s.maybe(projection and bias, outputs)], outputs


def norm_inputs(s, present, cifg=False, cells=CELLS):
    return [s.maybe(present and not cifg, cells, high=1.0)] + [
        s.maybe(present, cells, high=1.0) for _ in range(3)]


# name: (options of cell_inputs, layer norm or None, activation, cell clip, projection clip)
CELLS_OF = {
    "plain": ({}, None, TANH, 0.0, 0.0),
    "cifg": ({"cifg": True}, None, TANH, 0.0, 0.0),
    "peephole": ({"peephole": True}, None, TANH, 0.0, 0.0),
    "cifg_peephole": ({"cifg": True, "peephole": True}, None, TANH, 0.0, 0.0),
    "projection": ({"projection": True}, None, TANH, 0.0, 0.0),
    "projection_no_bias": ({"projection": True, "bias": False}, None, TANH, 0.0, 0.0),
    "clips": ({"projection": True}, None, TANH, 0.25, 0.125),
    "cell_clip": ({"peephole": True}, None, TANH, 0.125, 0.0),
    "everything": ({"peephole": True, "projection": True}, True, TANH, 0.5, 0.5),
    "norm": ({}, True, TANH, 0.0, 0.0),
    "norm_cifg_peephole": ({"cifg": True, "peephole": True}, True, TANH, 0.0, 0.0),
    "no_activation": ({}, None, 0, 0.0, 0.0), "relu": ({}, None, 1, 0.0, 0.0),
    "relu6": ({}, None, 3, 0.0, 0.0), "sigmoid": ({}, None, 6, 0.0, 0.0),
}


def lstm():
    c = Collection("lstm")

    def inputs(type_, name, variant="plain", listed_norm=False, make=const):
        options, norm, activation, cell_clip, projection_clip = CELLS_OF[variant]
        s = Source(c, name, type_, make)
        cell, outputs = cell_inputs(s, **options)
        ins = [s(BATCH, INPUTS, high=1.0, make=real), *cell,
               s(BATCH, outputs, high=1.0, make=real), s(BATCH, CELLS, high=1.0, make=real),
               i32(activation), fs(type_, cell_clip), fs(type_, projection_clip)]
        if norm or listed_norm:
            ins += norm_inputs(s, norm, options.get("cifg", False))
        return ins

    def targets(type_, dims=((),) * 4):
        return [ignored(out(type_, dims=dims[0])), *[out(type_, dims=d) for d in dims[1:]]]

    for type_, variant in itertools.product(FLOAT_TYPES, CELLS_OF):
        c.add(f"{type_.lower()}_{variant}", "LSTM", inputs(type_, variant, variant),
              targets(type_))
    for type_ in FLOAT_TYPES:
        c.add(f"{type_.lower()}_norm_listed_but_absent", "LSTM",
              inputs(type_, "absent", "plain", True), targets(type_))
        c.add(f"{type_.lower()}_weights_as_inputs", "LSTM",
              inputs(type_, "in", "everything", make=real), targets(type_))
    left_out = [omitted("F32", dims=o.dims) if o.lifetime == "NO_VALUE" else o
                for o in inputs("F32", "cifg", "cifg", make=real)]
    c.add("left_out_at_execution", "LSTM", left_out, targets("F32"))
    c.add("relaxed", "LSTM", inputs("F32", "plain"), targets("F32"), relaxed=True)
    dims = ([BATCH, 4 * CELLS], [BATCH, CELLS], [BATCH, CELLS], [BATCH, CELLS])
    lack = lambda *shape: none("F32", dims=shape)  # noqa: E731
    full, x = (CELLS, INPUTS), (CELLS,)
    for name, variant, changes in (
            ("input_gate_in_part", "plain", {1: lack(*full)}),
            ("recurrent_input_gate_missing", "plain", {5: lack(CELLS, CELLS)}),
            ("input_bias_missing", "plain", {12: lack(*x)}),
            ("peephole_in_part", "plain", {10: const("F32", np.ones(x))}),
            ("cifg_with_input_peephole", "cifg_peephole", {9: const("F32", np.ones(x))}),
            ("projection_bias_alone", "plain", {17: const("F32", np.ones(x))}),
            ("forget_weights_missing", "plain", {2: lack(*full)}),
            ("norm_in_part", "norm", {24: lack(*x)}),
            ("input_size", "plain", {0: real("F32", np.ones([BATCH, 5]))}),
            ("state_size", "plain", {18: real("F32", np.ones([BATCH, 7]))}),
            ("cell_size", "plain", {19: real("F32", np.ones([BATCH, 7]))}),
            ("weights_rank", "plain", {3: const("F32", np.ones([CELLS]))}),
            ("activation", "plain", {20: i32(5)}), ("activation_seven", "plain", {20: i32(7)}),
            ("clip_negative", "plain", {21: fs("F32", -1.0)}),
            ("projection_clip_negative", "plain", {22: fs("F32", -1.0)}),
            ("clip_precision", "plain", {21: fs("F16", 1.0)}),
            ("type_mixed", "plain", {14: const("F16", np.ones(x))}),
            ("no_output", "plain", {})):
        ins = [changes.get(i, o) for i, o in enumerate(inputs("F32", "f", variant))]
        outs = targets("F32", dims)
        c.fails(name, "LSTM", ins, outs[:3] if name == "no_output" else outs)
    c.refusals("LSTM", lambda: (inputs("F32", "r"), targets("F32")),
               keep={"output_shape"})
    return c


def ordered(steps, batch, size, time_major):
    return (steps, batch, size) if time_major else (batch, steps, size)


def unidirectional_lstm():
    c = Collection("unidirectional_sequence_lstm")

    def inputs(type_, name, variant="plain", time_major=1, make=const):
        options, norm, activation, cell_clip, projection_clip = CELLS_OF[variant]
        s = Source(c, name, type_, make)
        cell, outputs = cell_inputs(s, **options)
        return [s(*ordered(STEPS, BATCH, INPUTS, time_major), high=1.0, make=real), *cell,
                s(BATCH, outputs, high=1.0, make=real), s(BATCH, CELLS, high=1.0, make=real),
                i32(activation), fs(type_, cell_clip), fs(type_, projection_clip),
                flag(time_major), *norm_inputs(s, norm, options.get("cifg", False))]

    for type_, variant in itertools.product(FLOAT_TYPES, CELLS_OF):
        major = len(variant) % 2
        for states in (0, 1):
            c.add(f"{type_.lower()}_{variant}_{'states' if states else 'sequence'}",
                  "UNIDIRECTIONAL_SEQUENCE_LSTM", inputs(type_, variant, variant, major ^ states),
                  [out(type_) for _ in range(3 if states else 1)])
    c.add("f32_weights_as_inputs", "UNIDIRECTIONAL_SEQUENCE_LSTM",
          inputs("F32", "in", "everything", make=real), [out("F32")])
    dims = [STEPS, BATCH, CELLS]
    for name, changes, count in (
            ("two_outputs", {}, 2), ("rank2", {0: real("F32", np.ones([BATCH, INPUTS]))}, 1),
            ("input_gate_in_part", {12: none("F32", dims=(CELLS,))}, 1),
            ("time_major_type", {23: i32(1)}, 1), ("activation", {20: i32(9)}, 1),
            ("norm_in_part", {25: const("F32", np.ones([CELLS]))}, 1),
            ("clip_negative", {21: fs("F32", -0.5)}, 1),
            ("state_batch", {18: real("F32", np.ones([BATCH + 1, CELLS]))}, 1)):
        ins = [changes.get(i, o) for i, o in enumerate(inputs("F32", "f"))]
        c.fails(name, "UNIDIRECTIONAL_SEQUENCE_LSTM", ins,
                [out("F32", dims=dims), out("F32", dims=[BATCH, CELLS])][:count])
    c.refusals("UNIDIRECTIONAL_SEQUENCE_LSTM", lambda: (inputs("F32", "r"), [out("F32")]))
    return c


def bidirectional_lstm():
    c = Collection("bidirectional_sequence_lstm")

    def inputs(type_, name, variant="plain", time_major=1, merge=0, linking="none", backward=None):
        options, norm, activation, cell_clip, projection_clip = CELLS_OF[variant]
        back_options, back_norm = CELLS_OF[backward or variant][:2]
        s = Source(c, name, type_)
        aux_size = 5
        forward_cell, outputs = cell_inputs(s, **options)
        backward_cell, back_outputs = cell_inputs(
            s, inputs=aux_size if linking == "parallel" else INPUTS, cells=CELLS - 1,
            **back_options)
        aux = none(type_, dims=(1, 1, 1))
        if linking != "none":
            aux = s(*ordered(STEPS, BATCH, aux_size, time_major), high=1.0, make=real)

        def aux_weights(cells, cifg):
            return [s.maybe(linking == "cross" and not (k == 0 and cifg), cells, aux_size)
                    for k in range(4)]

        cifg, back_cifg = options.get("cifg", False), back_options.get("cifg", False)
        return [s(*ordered(STEPS, BATCH, INPUTS, time_major), high=1.0, make=real),
                *forward_cell, *backward_cell,
                s(BATCH, outputs, high=1.0, make=real), s(BATCH, CELLS, high=1.0, make=real),
                s(BATCH, back_outputs, high=1.0, make=real),
                s(BATCH, CELLS - 1, high=1.0, make=real), aux, *aux_weights(CELLS, cifg),
                *aux_weights(CELLS - 1, back_cifg), i32(activation), fs(type_, cell_clip),
                fs(type_, projection_clip), flag(merge), flag(time_major),
                *norm_inputs(s, norm, cifg), *norm_inputs(s, back_norm, back_cifg, CELLS - 1)]

    for type_, variant in itertools.product(FLOAT_TYPES, CELLS_OF):
        major = len(variant) % 2
        for merge, states in itertools.product((0, 1), (0, 1)):
            if variant not in ("plain", "everything", "cifg_peephole") and merge != states:
                continue
            name = f"{type_.lower()}_{variant}_merge{merge}_states{states}"
            c.add(name, "BIDIRECTIONAL_SEQUENCE_LSTM",
                  inputs(type_, variant, variant, major ^ merge, merge),
                  [out(type_) for _ in range(2 - merge + 4 * states)])
    for type_, linking, major in itertools.product(FLOAT_TYPES, ("parallel", "cross"), (0, 1)):
        for variant in ("plain", "cifg", "everything"):
            c.add(f"{type_.lower()}_{linking}_{variant}_{'time' if major else 'batch'}_major",
                  "BIDIRECTIONAL_SEQUENCE_LSTM",
                  inputs(type_, f"{linking}{variant}", variant, major, linking=linking),
                  [out(type_) for _ in range(6)])
    c.add("f32_directions_differ", "BIDIRECTIONAL_SEQUENCE_LSTM",
          inputs("F32", "differ", "cifg_peephole", backward="norm"), [out("F32"), out("F32")])
    dims = [STEPS, BATCH, CELLS]
    weight = const("F32", np.ones([CELLS, 5]))
    for name, linking, changes, count in (
            ("aux_weights_without_aux", "none", {40: weight, 41: weight, 42: weight, 43: weight},
             2),
            ("aux_weights_of_one_direction", "parallel",
             {40: weight, 41: weight, 42: weight, 43: weight}, 2),
            ("aux_weights_in_part", "cross", {42: none("F32", dims=(CELLS, 5))}, 2),
            ("three_outputs", "none", {}, 3), ("four_outputs", "none", {}, 4),
            ("backward_input_gate_in_part", "none", {29: none("F32", dims=(CELLS - 1,))}, 2),
            ("norm_in_part", "none", {58: const("F32", np.ones([CELLS - 1]))}, 2),
            ("activation", "none", {48: i32(8)}, 2), ("merge_type", "none", {51: i32(0)}, 2),
            ("clip_negative", "none", {49: fs("F32", -1.0)}, 2)):
        ins = [changes.get(i, o) for i, o in enumerate(inputs("F32", "f", linking=linking))]
        outs = [out("F32", dims=dims), out("F32", dims=[STEPS, BATCH, CELLS - 1]),
                out("F32", dims=[BATCH, CELLS]), out("F32", dims=[BATCH, CELLS])]
        c.fails(name, "BIDIRECTIONAL_SEQUENCE_LSTM", ins, outs[:count])
    c.refusals("BIDIRECTIONAL_SEQUENCE_LSTM", lambda: (inputs("F32", "r"),
                                                       [out("F32"), out("F32")]))
    return c


ACTIVATIONS = (0, 1, 2, 3, 4, 6)


def rnn():
    c = Collection("rnn")

    def inputs(type_, name, activation=1, make=const):
        s = Source(c, name, type_, make)
        return [s(BATCH, INPUTS, high=2.0, make=real), s(CELLS, INPUTS, high=1.0),
                s(CELLS, CELLS), s(CELLS, high=1.0), s(BATCH, CELLS, high=2.0, make=real),
                i32(activation)]

    for type_, activation in itertools.product(FLOAT_TYPES, ACTIVATIONS):
        c.add(f"{type_.lower()}_activation{activation}", "RNN",
              inputs(type_, f"{activation}", activation), [out(type_), out(type_)])
    c.add("f32_weights_as_inputs", "RNN", inputs("F32", "in", make=real), [out("F32"), out("F32")])
    c.add("relaxed", "RNN", inputs("F32", "in"), [out("F32"), out("F32")], relaxed=True)
    for name, changes in (("activation_five", {5: i32(5)}),
                          ("activation_negative", {5: i32(-1)}),
                          ("weights", {1: const("F32", np.ones([CELLS, INPUTS + 1]))}),
                          ("recurrent_not_square", {2: const("F32", np.ones([CELLS, 3]))}),
                          ("bias", {3: const("F32", np.ones([CELLS + 1]))}),
                          ("state", {4: real("F32", np.ones([BATCH + 1, CELLS]))}),
                          ("rank", {0: real("F32", np.ones([1, BATCH, INPUTS]))}),
                          ("type_mixed", {3: const("F16", np.ones([CELLS]))})):
        ins = [changes.get(i, o) for i, o in enumerate(inputs("F32", "f"))]
        c.fails(name, "RNN", ins, [out("F32", dims=[BATCH, CELLS]) for _ in range(2)])
    c.refusals("RNN", lambda: (inputs("F32", "r"), [out("F32"), out("F32")]))
    return c


def unidirectional_rnn():
    c = Collection("unidirectional_sequence_rnn")

    def inputs(type_, name, activation=TANH, time_major=1):
        s = Source(c, name, type_)
        return [s(*ordered(STEPS, BATCH, INPUTS, time_major), high=1.0, make=real),
                s(CELLS, INPUTS), s(CELLS, CELLS), s(CELLS), s(BATCH, CELLS, make=real),
                i32(activation), i32(time_major)]

    for type_, activation, major in itertools.product(FLOAT_TYPES, ACTIVATIONS, (0, 1)):
        for states in (0, 1) if activation in (1, TANH) else (major,):
            name = f"{type_.lower()}_activation{activation}_major{major}_states{states}"
            c.add(name, "UNIDIRECTIONAL_SEQUENCE_RNN", inputs(type_, name, activation, major),
                  [out(type_) for _ in range(1 + states)])
    for name, changes in (("time_major_two", {6: i32(2)}), ("time_major_negative", {6: i32(-1)}),
                          ("time_major_type", {6: flag(1)}), ("activation", {5: i32(5)}),
                          ("rank2", {0: real("F32", np.ones([BATCH, INPUTS]))}),
                          ("weights", {1: const("F32", np.ones([CELLS, INPUTS + 1]))}),
                          ("state", {4: real("F32", np.ones([BATCH + 1, CELLS]))})):
        ins = [changes.get(i, o) for i, o in enumerate(inputs("F32", "f"))]
        c.fails(name, "UNIDIRECTIONAL_SEQUENCE_RNN", ins, [out("F32", dims=[STEPS, BATCH, CELLS])])
    c.refusals("UNIDIRECTIONAL_SEQUENCE_RNN", lambda: (inputs("F32", "r"), [out("F32")]))
    return c


def bidirectional_rnn():
    c = Collection("bidirectional_sequence_rnn")

    def inputs(type_, name, linking="none", time_major=1, merge=0, activation=TANH):
        s = Source(c, name, type_)
        aux_size, units = 5, CELLS - 1
        size = aux_size if linking == "parallel" else INPUTS
        cross = linking == "cross"
        aux = none(type_, dims=(1, 1, 1))
        if linking != "none":
            aux = s(*ordered(STEPS, BATCH, aux_size, time_major), high=1.0, make=real)
        return [s(*ordered(STEPS, BATCH, INPUTS, time_major), high=1.0, make=real),
                s(CELLS, INPUTS), s(CELLS, CELLS), s(CELLS), s(BATCH, CELLS, make=real),
                s(units, size), s(units, units), s(units), s(BATCH, units, make=real), aux,
                s.maybe(cross, CELLS, aux_size), s.maybe(cross, units, aux_size),
                i32(activation), flag(time_major), flag(merge)]

    for type_, linking, major, merge, states in itertools.product(
            FLOAT_TYPES, ("none", "parallel", "cross"), (0, 1), (0, 1), (0, 1)):
        name = f"{type_.lower()}_{linking}_major{major}_merge{merge}_states{states}"
        c.add(name, "BIDIRECTIONAL_SEQUENCE_RNN", inputs(type_, name, linking, major, merge),
              [out(type_) for _ in range(2 - merge + 2 * states)])
    for type_, activation in itertools.product(FLOAT_TYPES, ACTIVATIONS):
        c.add(f"{type_.lower()}_activation{activation}", "BIDIRECTIONAL_SEQUENCE_RNN",
              inputs(type_, f"{activation}", activation=activation), [out(type_), out(type_)])
    dims = [STEPS, BATCH, CELLS], [STEPS, BATCH, CELLS - 1]
    for name, linking, changes, count in (
            ("aux_weights_without_aux", "cross", {9: none("F32", dims=(1, 1, 1))}, 2),
            ("aux_weights_of_one_direction", "cross", {10: none("F32", dims=(CELLS, 5))}, 2),
            ("activation", "none", {12: i32(5)}, 2), ("major_type", "none", {13: i32(1)}, 2),
            ("five_outputs", "none", {}, 5),
            ("backward_weights", "none", {5: const("F32", np.ones([CELLS - 1, 7]))}, 2),
            ("backward_state", "none", {8: real("F32", np.ones([BATCH, 7]))}, 2)):
        ins = [changes.get(i, o) for i, o in enumerate(inputs("F32", "f", linking))]
        outs = [out("F32", dims=dims[i % 2]) for i in range(5)]
        c.fails(name, "BIDIRECTIONAL_SEQUENCE_RNN", ins, outs[:count])
    c.refusals("BIDIRECTIONAL_SEQUENCE_RNN", lambda: (inputs("F32", "r"),
                                                      [out("F32"), out("F32")]))
    return c


def svdf():
    c = Collection("svdf")

    def inputs(type_, name, rank=2, units=3, memory=4, bias=True, activation=0):
        s = Source(c, name, type_)
        filters = rank * units
        return [s(BATCH, INPUTS, high=1.0, make=real), s(filters, INPUTS), s(filters, memory),
                s.maybe(bias, units), s(BATCH, memory * filters, high=1.0, make=real), i32(rank),
                i32(activation)]

    for type_ in FLOAT_TYPES:
        for rank, units, memory in ((1, 4, 3), (2, 3, 4), (3, 1, 2), (1, 2, 1)):
            for bias in (True, False):
                name = f"{type_.lower()}_rank{rank}_units{units}_memory{memory}_bias{int(bias)}"
                c.add(name, "SVDF", inputs(type_, name, rank, units, memory, bias),
                      [out(type_), out(type_)])
        for activation in ACTIVATIONS[1:]:
            name = f"{type_.lower()}_activation{activation}"
            c.add(name, "SVDF", inputs(type_, name, activation=activation),
                  [out(type_), out(type_)])
    ins = inputs("F32", "omit")
    c.add("bias_left_out_at_execution", "SVDF", [*ins[:3], omitted("F32"), *ins[4:]],
          [out("F32"), out("F32")])
    for name, changes in (("rank_zero", {5: i32(0)}), ("rank_indivisible", {5: i32(4)}),
                          ("rank_negative", {5: i32(-2)}), ("activation", {6: i32(5)}),
                          ("state_size", {4: real("F32", np.ones([BATCH, 23]))}),
                          ("feature", {1: const("F32", np.ones([6, INPUTS + 1]))}),
                          ("time_rows", {2: const("F32", np.ones([5, 4]))}),
                          ("type_mixed", {2: const("F16", np.ones([6, 4]))})):
        ins = [changes.get(i, o) for i, o in enumerate(inputs("F32", "f"))]
        c.fails(name, "SVDF", ins, [out("F32", dims=[BATCH, 24]), out("F32", dims=[BATCH, 3])])
    c.refusals("SVDF", lambda: (inputs("F32", "r"), [out("F32"), out("F32")]))
    return c


def collections():
    return [lstm(), unidirectional_lstm(), bidirectional_lstm(), rnn(), unidirectional_rnn(),
            bidirectional_rnn(), svdf()]
