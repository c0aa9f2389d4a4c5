"""Convolutions and pooling."""
import itertools

import numpy as np

from builder import (Collection, DATA_TYPES, FLOAT_TYPES, QUANT_TYPES, flag, grid, i32, ints,
                     out, per_channel, real, stored, zero_sized)

SAME, VALID = 1, 2
ZERO = {"U8": 128, "S8": 0}
KINDS = ("F32", "F16", "U8", "S8", "U8_PC8", "S8_PC8")
X_PARAMS, W_SCALE = 0.0625, 0.03125


def main_type(kind):
    return kind.split("_")[0]


def picture(random, type_, shape, nchw=False, const=False):
    x = grid(random, *shape, low=-1, high=1)
    params = (X_PARAMS, ZERO[type_] + 11) if type_ in QUANT_TYPES else None
    return real(type_, np.moveaxis(x, 3, 1) if nchw else x, params, const)


def weights(random, kind, shape, channels, dim, const=True):
    """Filter and bias for the kind, of small values, so that sums stay well conditioned."""
    type_ = main_type(kind)
    if type_ in FLOAT_TYPES:
        return (real(type_, grid(random, *shape, low=-1, high=1, step=0.125), const=const),
                real(type_, grid(random, channels), const=const))
    if kind.endswith("PC8"):
        scales = [W_SCALE * (1 + i % 3) for i in range(channels)]
        return (per_channel(random.randint(-32, 33, shape), dim, scales, const),
                stored("I32", random.randint(-400, 400, [channels]), (0.0, 0), const))
    low = ZERO[type_] - 32
    return (stored(type_, random.randint(low, low + 65, shape), (W_SCALE, ZERO[type_] - 7), const),
            stored("I32", random.randint(-400, 400, [channels]), (X_PARAMS * W_SCALE, 0), const))


def result(kind, dims=(), scale=0.05):
    type_ = main_type(kind)
    return out(type_, (scale, ZERO[type_] + 5) if type_ in QUANT_TYPES else None, dims)


def numbers(*values):
    return [i32(v) for v in values]


# name: (padding: scheme or left, right, top, bottom; stride width, height; activation; layout or
# None; dilation width, height or None)
FORMS = {
    "same": ((SAME,), (1, 1), 0, None, None),
    "valid_stride2": ((VALID,), (2, 2), 1, None, None),
    "same_stride": ((SAME,), (3, 2), 3, None, None),
    "same_nchw": ((SAME,), (1, 2), 0, 1, None),
    "valid_nhwc": ((VALID,), (1, 1), 2, 0, None),
    "same_dilated": ((SAME,), (1, 1), 0, 0, (1, 2)),
    "valid_dilated_nchw": ((VALID,), (1, 1), 0, 1, (2, 1)),
    "explicit": ((2, 0, 1, 0), (1, 1), 0, None, None),
    "explicit_stride": ((0, 1, 1, 0), (2, 1), 1, None, None),
    "explicit_nchw": ((1, 1, 0, 0), (1, 1), 3, 1, None),
    "explicit_dilated": ((2, 1, 0, 2), (1, 2), 0, 0, (2, 2)),
    "explicit_dilated_nchw": ((1, 0, 1, 1), (1, 1), 2, 1, (1, 2)),
}


def tail(form, middle=()):
    padding, strides, activation, layout, dilations = form
    return [*numbers(*padding, *strides, *middle, activation),
            *([] if layout is None else [flag(layout)]), *numbers(*(dilations or ()))]


def conv_inputs(random, kind, form, image, filter_shape, dim, middle=(), const=True):
    x = picture(random, main_type(kind), image, nchw=bool(form[3]))
    channels = filter_shape[dim]
    return [x, *weights(random, kind, filter_shape, channels, dim, const), *tail(form, middle)]


def conv_failures(c, operation, inputs, dims, dim):
    """Adds cases that all convolutions refuse, and meaningless ones that they accept.

    `inputs(kind, form)`: the inputs of a case that runs. `dims`: the dimensions of its result."""
    plain = FORMS["same"]

    def fails(name, change, kind="F32", form=plain):
        ins = inputs(kind, form)
        changed = change(ins)
        c.fails(name, operation, ins if changed is None else changed, [result(kind, dims)])

    def at(position, value):
        def change(ins):
            ins[position] = value
        return change

    fails("bias_length", at(2, real("F32", np.ones([17]))))
    fails("filter_type", at(1, real("F16", np.ones([1, 1, 1, 1]))))
    fails("filter_rank", at(1, real("F32", np.ones([4, 2, 2]))))
    fails("input_rank", at(0, real("F32", np.ones([2, 3, 2]))))
    fails("filter_depth", at(1, real("F32", np.ones([1, 2, 2, 7]))))
    fails("stride_zero", lambda i: [*i[:4], i32(0), *i[5:]])
    fails("activation", lambda i: [*i[:-1], i32(4)] if operation in ("CONV_2D",
                                                                     "DEPTHWISE_CONV_2D")
          else [*i[:-2], i32(4), i[-1]])
    channels = dims[3]
    fails("bias_scale", at(2, stored("I32", np.ones([channels]), (0.5, 0))), "U8")
    fails("bias_zero_scale", at(2, stored("I32", np.ones([channels]), (0.0, 0))), "U8")
    fails("signed_filter_of_unsigned", lambda i: [i[0], stored("S8", i[1].value.astype(int) - 128,
                                                               (W_SCALE, 0)), *i[2:]], "U8")
    wrong = 1 if dim != 1 else 2

    def other_channel_dim(ins):
        shape = ins[1].value.shape
        ins[1] = per_channel(ins[1].value, wrong, [W_SCALE] * shape[wrong])
    fails("channel_dim", other_channel_dim, "U8_PC8")
    for kind in ("U8_PC8", "S8_PC8"):
        ins = inputs(kind, plain)
        ins[2].scale = 0.5
        c.add(f"{kind.lower()}_bias_with_scale", operation, ins, [result(kind)])


def conv_2d():
    c = Collection("conv_2d")

    def inputs(kind, form, name="plain", const=True):
        return conv_inputs(c.random(name), kind, form, [2, 4, 5, 2], [3, 2, 3, 2], 0, const=const)

    for kind, (name, form) in itertools.product(KINDS, FORMS.items()):
        case = f"{kind.lower()}_{name}"
        c.add(case, "CONV_2D", inputs(kind, form, name), [result(kind)])
    for kind in KINDS:
        c.add(f"{kind.lower()}_1x1", "CONV_2D", conv_inputs(
            c.random(f"{kind}1x1"), kind, ((VALID,), (1, 1), 0, None, None), [1, 3, 2, 4],
            [5, 1, 1, 4], 0), [result(kind)])
        c.add(f"{kind.lower()}_weights_as_inputs", "CONV_2D", inputs(kind, FORMS["same"], "in",
                                                                     const=False), [result(kind)])
        c.add(f"{kind.lower()}_whole_picture", "CONV_2D", conv_inputs(
            c.random(f"{kind}whole"), kind, ((VALID,), (1, 1), 1, None, None), [1, 3, 3, 1],
            [2, 3, 3, 1], 0), [result(kind)])
        if kind in QUANT_TYPES:
            c.add(f"{kind.lower()}_saturates", "CONV_2D", inputs(kind, FORMS["same"], "s"),
                  [result(kind, scale=0.002)])
    for kind in DATA_TYPES:
        for nchw in (0, 1):
            params = (X_PARAMS, ZERO[kind] + 11) if kind in QUANT_TYPES else None
            before, empty = zero_sized(kind, [2, 4, 5] if nchw else [4, 5, 2], params)
            ins = inputs(kind, ((SAME,), (2, 2), 0, nchw, None), f"empty{nchw}")
            c.graph(f"{kind.lower()}_no_rows_{'nchw' if nchw else 'nhwc'}",
                    [*before, ("CONV_2D", [empty, *ins[1:]], [result(kind)])])
    c.add("relaxed", "CONV_2D", inputs("F32", FORMS["same"]), [result("F32")], relaxed=True)
    conv_failures(c, "CONV_2D", inputs, [2, 4, 5, 3], 0)
    for name, form in (("padding_too_wide", ((3, 0, 0, 0), (1, 1), 0, None, None)),
                       ("padding_too_high", ((0, 0, 0, 2), (1, 1), 0, None, None)),
                       ("padding_negative", ((-1, 0, 0, 0), (1, 1), 0, None, None)),
                       ("dilation_zero", ((SAME,), (1, 1), 0, 0, (0, 1))),
                       ("filter_larger_than_picture", ((VALID,), (1, 1), 0, 0, (1, 9)))):
        c.fails(name, "CONV_2D", inputs("F32", form), [result("F32", [2, 4, 5, 3])])
    c.fails("one_dilation", "CONV_2D", inputs("F32", ((SAME,), (1, 1), 0, 0, (1,))),
            [result("F32", [2, 4, 5, 3])])
    c.refusals("CONV_2D", lambda: (inputs("F32", FORMS["same"]), [result("F32")]))
    return c


def depthwise_conv_2d():
    c = Collection("depthwise_conv_2d")

    def inputs(kind, form, name="plain", multiplier=2, const=True):
        return conv_inputs(c.random(name), kind, form, [2, 4, 5, 2],
                           [1, 2, 3, 2 * multiplier], 3, (multiplier,), const)

    for kind, (name, form) in itertools.product(KINDS, FORMS.items()):
        c.add(f"{kind.lower()}_{name}", "DEPTHWISE_CONV_2D", inputs(kind, form, name),
              [result(kind)])
    for kind in KINDS:
        for multiplier in (1, 3):
            c.add(f"{kind.lower()}_multiplier{multiplier}", "DEPTHWISE_CONV_2D",
                  inputs(kind, FORMS["same"], f"m{multiplier}", multiplier), [result(kind)])
        c.add(f"{kind.lower()}_weights_as_inputs", "DEPTHWISE_CONV_2D",
              inputs(kind, FORMS["explicit"], "in", const=False), [result(kind)])
    for kind in DATA_TYPES:
        params = (X_PARAMS, ZERO[kind] + 11) if kind in QUANT_TYPES else None
        before, empty = zero_sized(kind, [4, 5, 2], params)
        c.graph(f"{kind.lower()}_no_rows",
                [*before, ("DEPTHWISE_CONV_2D", [empty, *inputs(kind, FORMS["same"])[1:]],
                           [result(kind)])])
    conv_failures(c, "DEPTHWISE_CONV_2D", inputs, [2, 4, 5, 4], 3)
    for name, form, multiplier in (("padding_too_wide", ((3, 0, 0, 0), (1, 1), 0, None, None), 2),
                                   ("padding_negative", ((0, 0, -1, 0), (1, 1), 0, None, None), 2),
                                   ("dilation_zero", ((SAME,), (1, 1), 0, 0, (1, 0)), 2)):
        c.fails(name, "DEPTHWISE_CONV_2D", inputs("F32", form, multiplier=multiplier),
                [result("F32", [2, 4, 5, 4])])
    ins = inputs("F32", FORMS["same"])
    for multiplier in (0, 1, 3, -2):
        changed = [*ins[:6], i32(multiplier), *ins[7:]]
        c.fails(f"multiplier_{multiplier}", "DEPTHWISE_CONV_2D", changed,
                [result("F32", [2, 4, 5, 4])])
    c.fails("two_filters", "DEPTHWISE_CONV_2D", [ins[0], real("F32", np.ones([2, 2, 3, 4])),
                                                 *ins[2:]], [result("F32", [2, 4, 5, 4])])
    c.refusals("DEPTHWISE_CONV_2D", lambda: (inputs("F32", FORMS["same"]), [result("F32")]))
    return c


def grouped_conv_2d():
    c = Collection("grouped_conv_2d")

    def inputs(kind, form, name="plain", groups=2, const=True):
        form = (*form[:3], form[3] or 0, None)
        return conv_inputs(c.random(name), kind, form, [2, 4, 5, 4], [6, 2, 3, 4 // groups], 0,
                           (groups,), const)

    forms = {n: f for n, f in FORMS.items() if f[4] is None}
    for kind, (name, form) in itertools.product(KINDS, forms.items()):
        c.add(f"{kind.lower()}_{name}", "GROUPED_CONV_2D", inputs(kind, form, name),
              [result(kind)])
    for kind in KINDS:
        c.add(f"{kind.lower()}_one_group", "GROUPED_CONV_2D",
              inputs(kind, FORMS["same"], "one", 1), [result(kind)])
        c.add(f"{kind.lower()}_weights_as_inputs", "GROUPED_CONV_2D",
              inputs(kind, FORMS["same"], "in", const=False), [result(kind)])
    conv_failures(c, "GROUPED_CONV_2D", inputs, [2, 4, 5, 6], 0)
    ins = inputs("F32", FORMS["same"])
    for groups in (0, 1, 3, 4, -2):
        changed = [*ins[:6], i32(groups), *ins[7:]]
        c.fails(f"groups_{groups}", "GROUPED_CONV_2D", changed, [result("F32", [2, 4, 5, 6])])
    c.refusals("GROUPED_CONV_2D", lambda: (inputs("F32", FORMS["same"]), [result("F32")]))
    return c


def transpose_conv_2d():
    c = Collection("transpose_conv_2d")
    # name: (padding, wanted height and width or None, strides, activation, layout)
    forms = {
        "same": ((SAME,), (6, 8), (2, 2), 0, 0), "same_nchw": ((SAME,), (3, 4), (1, 1), 0, 1),
        "same_cut": ((SAME,), (5, 7), (2, 2), 1, 0), "valid": ((VALID,), (7, 9), (2, 2), 3, 0),
        "valid_stride_above_filter": ((VALID,), (10, 15), (4, 4), 0, 0),
        "valid_nchw": ((VALID,), (4, 6), (1, 1), 2, 1),
        "explicit": ((1, 0, 0, 1), None, (2, 1), 0, 0),
        "explicit_negative_end": ((0, -1, 1, -2), None, (2, 2), 0, 0),
        "explicit_nchw": ((2, 1, 1, 1), None, (1, 2), 1, 1),
    }

    def inputs(kind, form, name="plain", const=True):
        padding, wanted, strides, activation, nchw = form
        r = c.random(name)
        ins = [picture(r, main_type(kind), [2, 3, 4, 2], bool(nchw)),
               *weights(r, kind, [3, 2, 3, 2], 3, 0, const)]
        if wanted:
            ins.append(ints([2, 3, *wanted] if nchw else [2, *wanted, 3]))
        return [*ins, *numbers(*padding, *strides, activation), flag(nchw)]

    for kind, (name, form) in itertools.product(KINDS, forms.items()):
        c.add(f"{kind.lower()}_{name}", "TRANSPOSE_CONV_2D", inputs(kind, form, name),
              [result(kind)])
    for kind in KINDS:
        c.add(f"{kind.lower()}_weights_as_inputs", "TRANSPOSE_CONV_2D",
              inputs(kind, forms["same"], "in", const=False), [result(kind)])
    for kind in DATA_TYPES:
        params = (X_PARAMS, ZERO[kind] + 11) if kind in QUANT_TYPES else None
        before, empty = zero_sized(kind, [3, 4, 2], params)
        c.graph(f"{kind.lower()}_no_rows",
                [*before, ("TRANSPOSE_CONV_2D", [empty, *inputs(kind, forms["explicit"])[1:]],
                           [result(kind)])])
    for kind in ("U8_PC8", "S8_PC8"):
        ins = inputs(kind, forms["same"])
        ins[2].scale = 0.5
        c.add(f"{kind.lower()}_bias_with_scale", "TRANSPOSE_CONV_2D", ins, [result(kind)])
    dims = [2, 3, 8, 3]
    for name, form in (("left_negative", ((-1, 0, 0, 0), None, (2, 1), 0, 0)),
                       ("top_negative", ((0, 0, -1, 0), None, (2, 1), 0, 0)),
                       ("stride_zero", ((0, 0, 0, 0), None, (0, 1), 0, 0)),
                       ("activation", ((0, 0, 0, 0), None, (1, 1), 9, 0))):
        c.fails(name, "TRANSPOSE_CONV_2D", inputs("F32", form), [result("F32", dims)])
    ins = inputs("F32", forms["explicit"])
    for name, changed in (("bias_length", [*ins[:2], real("F32", [1.0]), *ins[3:]]),
                          ("filter_depth", [ins[0], real("F32", np.ones([3, 2, 3, 3])), *ins[2:]]),
                          ("input_rank", [real("F32", np.ones([3, 4, 2])), *ins[1:]])):
        c.fails(name, "TRANSPOSE_CONV_2D", changed, [result("F32", dims)])
    quantised = inputs("U8", forms["explicit"])
    c.fails("bias_scale", "TRANSPOSE_CONV_2D",
            [*quantised[:2], stored("I32", [1, 2, 3], (0.5, 0)), *quantised[3:]],
            [result("U8", dims)])
    c.refusals("TRANSPOSE_CONV_2D", lambda: (inputs("F32", forms["same"]), [result("F32")]))
    return c


POOL_FORMS = {
    "same": ((SAME,), (1, 1), (2, 2), 0, None), "valid": ((VALID,), (2, 1), (3, 2), 0, None),
    "same_stride": ((SAME,), (2, 2), (3, 3), 1, None),
    "valid_nhwc": ((VALID,), (1, 1), (2, 2), 3, 0),
    "same_nchw": ((SAME,), (2, 1), (2, 3), 2, 1),
    "explicit": ((1, 0, 1, 1), (1, 1), (2, 3), 0, None),
    "explicit_relu6": ((0, 0, 0, 0), (1, 1), (1, 1), 3, None),
    "explicit_nchw": ((1, 1, 0, 2), (2, 2), (2, 3), 1, 1),
    "whole": ((VALID,), (1, 1), (5, 4), 0, None),
}


def pool(operation):
    c = Collection(operation.lower())
    types = FLOAT_TYPES if operation == "L2_POOL_2D" else DATA_TYPES

    def inputs(type_, form, name="plain"):
        padding, strides, sizes, activation, layout = form
        x = grid(c.random(name), 2, 4, 5, 2, low=-4, high=8)
        params = (0.0625, ZERO[type_] - 30) if type_ in QUANT_TYPES else None
        return [real(type_, np.moveaxis(x, 3, 1) if layout else x, params),
                *numbers(*padding, *strides, *sizes, activation),
                *([] if layout is None else [flag(layout)])]

    def target(type_, dims=()):
        return out(type_, (0.0625, ZERO[type_] - 30) if type_ in QUANT_TYPES else None, dims)

    for type_, (name, form) in itertools.product(types, POOL_FORMS.items()):
        c.add(f"{type_.lower()}_{name}", operation, inputs(type_, form, name), [target(type_)])
    for type_ in types:
        params = (0.0625, ZERO[type_] - 30) if type_ in QUANT_TYPES else None
        for nchw in (0, 1):
            before, empty = zero_sized(type_, [4, 5, 2], params)
            form = ((SAME,), (2, 2), (2, 2), 0, nchw)
            c.graph(f"{type_.lower()}_no_rows_{'nchw' if nchw else 'nhwc'}",
                    [*before, (operation, [empty, *inputs(type_, form)[1:]], [target(type_)])])
    c.add("relaxed", operation, inputs("F32", POOL_FORMS["same"]), [target("F32")], relaxed=True)
    dims = [2, 4, 5, 2]
    for name, form in (("stride_zero", ((SAME,), (0, 1), (2, 2), 0, None)),
                       ("filter_zero", ((SAME,), (1, 1), (2, 0), 0, None)),
                       ("activation", ((SAME,), (1, 1), (2, 2), 5, None)),
                       ("padding_as_filter", ((2, 0, 0, 0), (1, 1), (2, 2), 0, None)),
                       ("padding_negative", ((0, 0, 0, -1), (1, 1), (2, 2), 0, None)),
                       ("filter_above_picture", ((VALID,), (1, 1), (6, 2), 0, None))):
        c.fails(name, operation, inputs("F32", form), [target("F32", dims)])
    c.fails("rank3", operation, [real("F32", np.ones([4, 5, 2])),
                                 *inputs("F32", POOL_FORMS["same"])[1:]],
            [target("F32", [4, 5, 2])])
    if operation != "L2_POOL_2D":
        c.fails("output_scale", operation, inputs("U8", POOL_FORMS["same"]),
                [out("U8", (0.5, 0), dims)])
    else:
        c.fails("u8", operation, [stored("U8", np.ones([2, 4, 5, 2])),
                                  *inputs("F32", POOL_FORMS["same"])[1:]], [out("U8", dims=dims)])
    c.refusals(operation, lambda: (inputs("F32", POOL_FORMS["same"]), [target("F32")]))
    return c


def fully_connected():
    c = Collection("fully_connected")

    def inputs(kind, shape, units=3, activation=0, name="plain", const=True):
        r = c.random(name)
        size = shape[-1] if len(shape) == 2 else int(np.prod(shape[1:]))
        params = (X_PARAMS, ZERO[kind] + 11) if kind in QUANT_TYPES else None
        return [real(kind, grid(r, *shape, low=-1, high=1), params),
                *weights(r, kind, [units, size], units, 0, const), i32(activation)]

    for kind in DATA_TYPES:
        for shape, units, activation in (([2, 5], 3, 0), ([1, 4], 1, 1), ([3, 2, 2], 2, 2),
                                         ([2, 1, 3, 2], 4, 3), ([4, 3], 3, 0)):
            name = f"{kind.lower()}_{'x'.join(map(str, shape))}_act{activation}"
            c.add(name, "FULLY_CONNECTED", inputs(kind, shape, units, activation, name),
                  [result(kind)])
        c.add(f"{kind.lower()}_weights_as_inputs", "FULLY_CONNECTED",
              inputs(kind, [2, 5], name="in", const=False), [result(kind)])
        r = c.random(f"{kind}regrouped")
        w = weights(r, kind, [2, 3], 2, 0)
        c.add(f"{kind.lower()}_batch_from_count", "FULLY_CONNECTED",
              [picture(r, kind, [2, 2, 3, 2]), *w, i32(0)], [result(kind)])
        params = (X_PARAMS, ZERO[kind] + 11) if kind in QUANT_TYPES else None
        before, empty = zero_sized(kind, [5], params)
        c.graph(f"{kind.lower()}_no_rows", [*before, ("FULLY_CONNECTED",
                                                      [empty, *inputs(kind, [2, 5])[1:]],
                                                      [result(kind)])])
    c.add("u8_scale_below_product", "FULLY_CONNECTED", inputs("U8", [2, 5]),
          [result("U8", scale=0.001)])
    c.add("relaxed", "FULLY_CONNECTED", inputs("F32", [2, 5]), [result("F32")], relaxed=True)
    ins = inputs("F32", [2, 5])
    for name, changed, dims in (
            ("indivisible", [real("F32", np.ones([2, 3])), *ins[1:]], [2, 3]),
            ("bias_length", [*ins[:2], real("F32", [1.0]), ins[3]], [2, 3]),
            ("weights_rank", [ins[0], real("F32", np.ones([1, 3, 5])), *ins[2:]], [2, 3]),
            ("rank1", [real("F32", np.ones([5])), *ins[1:]], [1, 3]),
            ("rank5", [real("F32", np.ones([1, 1, 1, 1, 5])), *ins[1:]], [1, 3]),
            ("activation", [*ins[:3], i32(-1)], [2, 3]),
            ("weights_type", [ins[0], real("F16", np.ones([3, 5])), *ins[2:]], [2, 3]),
            ("kept_rank", ins, [1, 2, 3])):
        c.fails(name, "FULLY_CONNECTED", changed, [result("F32", dims)])
    ins = inputs("U8", [2, 5])
    for name, bias in (("bias_scale", stored("I32", [1, 2, 3], (0.5, 0))),
                       ("bias_type", real("F32", [1.0, 2.0, 3.0]))):
        c.fails(name, "FULLY_CONNECTED", [*ins[:2], bias, ins[3]], [result("U8", [2, 3])])
    c.fails("per_channel", "FULLY_CONNECTED",
            [ins[0], per_channel(np.ones([3, 5]), 0, [0.5] * 3), stored("I32", [1, 2, 3]), ins[3]],
            [result("U8", [2, 3])])
    c.refusals("FULLY_CONNECTED", lambda: (inputs("F32", [2, 5]), [result("F32")]))
    return c


def batch_matmul():
    c = Collection("batch_matmul")
    for type_ in ("F32", "F16", "S8", "I32"):
        for batch in ([], [2], [2, 3]):
            for adj_x, adj_y in itertools.product((0, 1), (0, 1)):
                name = f"{type_.lower()}_rank{len(batch) + 2}_adj{adj_x}{adj_y}"
                r = c.random(name)
                x, y = ([4, 2] if adj_x else [2, 4]), ([3, 4] if adj_y else [4, 3])

                def made(shape, zero):
                    if type_ == "I32":
                        return stored("I32", r.randint(-99, 100, batch + shape))
                    if type_ == "S8":
                        return stored("S8", r.randint(-128, 128, batch + shape), (0.03125, zero))
                    return real(type_, grid(r, *batch, *shape, step=0.125))

                c.add(name, "BATCH_MATMUL", [made(x, 7), made(y, -20), flag(adj_x), flag(adj_y)],
                      [out(type_, (0.1, -5) if type_ == "S8" else None)])
    c.add("i32_wraps", "BATCH_MATMUL", [stored("I32", [[2**20, 1]]), stored("I32", [[2**13], [5]]),
                                        flag(0), flag(0)], [out("I32")])
    x = lambda *s: real("F32", np.ones(s))  # noqa: E731
    for name, ins, dims in (("inner", [x(2, 3), x(2, 3), flag(0), flag(0)], [2, 3]),
                            ("batches", [x(2, 2, 3), x(1, 3, 2), flag(0), flag(0)], [2, 2, 2]),
                            ("ranks", [x(1, 2, 3), x(3, 2), flag(0), flag(0)], [1, 2, 2]),
                            ("rank1", [x(3), x(3), flag(0), flag(0)], [1]),
                            ("rank5", [x(1, 1, 1, 2, 2)] * 2 + [flag(0), flag(0)],
                             [1, 1, 1, 2, 2]),
                            ("types", [x(2, 2), real("F16", np.ones([2, 2])), flag(0), flag(0)],
                             [2, 2]),
                            ("no_flags", [x(2, 2), x(2, 2)], [2, 2])):
        c.fails(name, "BATCH_MATMUL", ins, [out("F32", dims=dims)])
    c.fails("u8", "BATCH_MATMUL", [stored("U8", np.ones([2, 2]))] * 2 + [flag(0), flag(0)],
            [out("U8", dims=[2, 2])])
    c.refusals("BATCH_MATMUL", lambda: ([x(2, 2), x(2, 2), flag(0), flag(1)], [out("F32")]))
    return c


def collections():
    return [conv_2d(), depthwise_conv_2d(), grouped_conv_2d(), transpose_conv_2d(),
            pool("AVERAGE_POOL_2D"), pool("L2_POOL_2D"), pool("MAX_POOL_2D"), fully_connected(),
            batch_matmul()]
