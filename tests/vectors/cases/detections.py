"""Operations on boxes and their scores. Scores are all different, except in the cases of ties.
Overlaps are not close to the thresholds. So order and choice do not depend on the last bit."""
import itertools

import numpy as np

from builder import (Collection, DATA_TYPES, FLOAT_TYPES, QUANT_TYPES, flag, fs, grid, i32, ints,
                     out, real, spaced, stored, temp)

ZERO = {"U8": 128, "S8": 0}
BOX = (0.125, 0)
SCORES = {"U8": (0.00390625, 0), "S8": (0.00390625, -128)}


def box_type(type_):
    return type_ if type_ in FLOAT_TYPES else "U16"


def box_params(type_):
    return BOX if type_ in QUANT_TYPES else None


def boxes(type_, values):
    return real(box_type(type_), values, box_params(type_))


def box_out(type_, dims=()):
    return out(box_type(type_), box_params(type_), dims)


def score_out(type_, dims=()):
    return out(type_, SCORES.get(type_), dims)


def scores_of(random, type_, *shape):
    """Different multiples of 1/256 in [1/256, 1)."""
    count = int(np.prod(shape))
    values = random.permutation(np.arange(1, 255))[:count] / 256
    return real(type_, values.reshape(shape), SCORES.get(type_))


def bbox_transform():
    c = Collection("axis_aligned_bbox_transform")
    rois = [[10.0, 20.0, 30.0, 60.0], [0.0, 0.0, 64.0, 32.0], [5.5, 7.25, 5.5, 9.0],
            [50.0, 40.0, 90.0, 100.0]]
    info = [[64.0, 128.0], [128.0, 80.0]]

    def inputs(type_, classes=2, batch=(0, 1, 0, 1), name="plain"):
        deltas = grid(c.random(name), 4, 4 * classes, low=-1, high=1)
        main = box_type(type_)
        params = BOX if main == "U16" else None
        return [real(main, rois, params),
                real(type_, deltas, (0.0625, ZERO[type_] + 3) if type_ in QUANT_TYPES else None),
                ints(batch, True), real(main, info, params)]

    for type_ in DATA_TYPES:
        for classes in (1, 2, 4):
            c.add(f"{type_.lower()}_{classes}_classes", "AXIS_ALIGNED_BBOX_TRANSFORM",
                  inputs(type_, classes, name=f"{classes}"), [box_out(type_)])
        c.add(f"{type_.lower()}_clipped", "AXIS_ALIGNED_BBOX_TRANSFORM",
              [*inputs(type_)[:1], real(type_, np.tile([4.0, -4.0, 3.0, 3.0], [4, 2]),
                                        (0.0625, ZERO[type_]) if type_ in QUANT_TYPES else None),
               *inputs(type_)[2:]], [box_out(type_)])
        before, empty, batch = no_boxes(type_)
        if type_ in FLOAT_TYPES:
            c.graph(f"{type_.lower()}_no_rois",
                    [*before, ("AXIS_ALIGNED_BBOX_TRANSFORM",
                               [empty, empty, batch, inputs(type_)[3]], [box_out(type_)])])
        else:
            deltas = temp(type_, (0.0625, ZERO[type_]))
            cut = ("SLICE", [stored(type_, np.ones([1, 8]), (0.0625, ZERO[type_])), ints([0, 0]),
                             ints([0, 8])], [deltas])
            c.graph(f"{type_.lower()}_no_rois",
                    [*before, cut, ("AXIS_ALIGNED_BBOX_TRANSFORM",
                                    [empty, deltas, batch, inputs(type_)[3]], [box_out(type_)])])
    dims = [4, 8]
    for name, change in (("batch_above", {2: ints([0, 1, 2, 0])}),
                         ("batch_negative", {2: ints([0, 1, -1, 0])}),
                         ("batch_count", {2: ints([0, 1, 0])}),
                         ("x_inside_out", {0: real("F32", [[2.0, 0, 1, 1]] * 4)}),
                         ("y_inside_out", {0: real("F32", [[0, 2.0, 1, 1]] * 4)}),
                         ("roi_columns", {0: real("F32", np.ones([4, 3]))}),
                         ("delta_columns", {1: real("F32", np.ones([4, 6]))}),
                         ("delta_rows", {1: real("F32", np.ones([3, 8]))}),
                         ("info_columns", {3: real("F32", np.ones([2, 3]))})):
        ins = [change.get(i, o) for i, o in enumerate(inputs("F32"))]
        c.fails(name, "AXIS_ALIGNED_BBOX_TRANSFORM", ins, [box_out("F32", dims)])
    ins = inputs("U8")
    for name, position in (("roi_scale", 0), ("info_scale", 3)):
        changed = list(ins)
        changed[position] = stored("U16", ins[position].value, (0.25, 0))
        c.fails(name, "AXIS_ALIGNED_BBOX_TRANSFORM", changed, [box_out("U8", dims)])
    c.fails("output_scale", "AXIS_ALIGNED_BBOX_TRANSFORM", ins, [out("U16", (0.25, 0), dims)])
    c.refusals("AXIS_ALIGNED_BBOX_TRANSFORM", lambda: (inputs("F32"), [box_out("F32")]),
               keep={"output_type"})
    return c


def no_boxes(type_):
    batch, chosen = temp("I32"), temp(box_type(type_), box_params(type_))
    return [("BOX_WITH_NMS_LIMIT",
             [real(type_, np.zeros([1, 2]), SCORES.get(type_)), boxes(type_, np.zeros([1, 8])),
              ints([0], True), fs(type_, 0.75), i32(-1), i32(0), fs(type_, 0.5), fs(type_, 1.0),
              fs(type_, 0.5)],
             [temp(type_, SCORES.get(type_)), chosen, temp("I32"), batch])], chosen, batch


def nms_targets(type_, count=None):
    return [score_out(type_, [count] if count else ()),
            box_out(type_, [count, 4] if count else ()),
            out("I32", dims=[count] if count else ()), out("I32", dims=[count] if count else ())]


def crowd(random, count, classes):
    """Boxes of one size in steps of 4. Overlaps are a few well-separated fractions (9/17, 5/21,
    3/11, 0.15, 0.08). Products of unequal scores with them are unequal."""
    corner = random.randint(0, 4, [count, classes, 2]) * 4.0
    return np.concatenate([corner, corner + 13.0], 2).reshape(count, classes * 4)


def box_with_nms_limit():
    c = Collection("box_with_nms_limit")

    def inputs(type_, kernel, name, limit=-1, threshold=0.1, overlap=0.26, sigma=0.5,
               nms_threshold=0.05, batch=(1, 1, 1, 1, 1, 1, 4, 4, 4), classes=3):
        r = c.random(name)
        return [scores_of(r, type_, len(batch), classes),
                boxes(type_, crowd(r, len(batch), classes)), ints(batch, True),
                fs(type_, threshold), i32(limit), i32(kernel), fs(type_, overlap),
                fs(type_, sigma), fs(type_, nms_threshold)]

    variants = {"plain": {}, "limit3": {"limit": 3}, "limit1": {"limit": 1},
                "strict": {"overlap": 0.1, "threshold": 0.3}, "loose": {"overlap": 0.75},
                "two_classes": {"classes": 2}, "one_batch": {"batch": (0,) * 8},
                "nothing": {"threshold": 0.999}, "no_second_threshold": {"nms_threshold": 0.0}}
    for type_, kernel in itertools.product(DATA_TYPES, (0, 1, 2)):
        for name, arguments in variants.items():
            if type_ in QUANT_TYPES and kernel and name not in ("plain", "limit3", "one_batch"):
                continue
            # Suppressed boxes that stay have equal scores, 0, and no order among them.
            if name == "no_second_threshold" and kernel != 2:
                continue
            ins = inputs(type_, kernel, f"{name}", **arguments)
            c.add(f"{type_.lower()}_kernel{kernel}_{name}", "BOX_WITH_NMS_LIMIT", ins,
                  nms_targets(type_))
    for type_ in FLOAT_TYPES:
        before, empty, batch = no_boxes(type_)
        more = temp(type_), temp(type_)
        c.graph(f"{type_.lower()}_no_rois",
                [*before,
                 ("SLICE", [real(type_, np.ones([1, 2])), ints([0, 0]), ints([0, 2])], [more[0]]),
                 ("SLICE", [real(type_, np.ones([1, 8])), ints([0, 0]), ints([0, 8])], [more[1]]),
                 ("BOX_WITH_NMS_LIMIT", [more[0], more[1], batch, *inputs(type_, 0, "n")[3:]],
                  nms_targets(type_))])
        # Of two boxes with equal scores the first is chosen, and the other is dropped.
        square = [[0.0, 0.0, 13.0, 13.0], [4.0, 0.0, 17.0, 13.0], [40.0, 0.0, 53.0, 13.0]]
        c.add(f"{type_.lower()}_equal_scores", "BOX_WITH_NMS_LIMIT",
              [real(type_, [[0.0, 0.5], [0.0, 0.5], [0.0, 0.75]]),
               boxes(type_, np.tile(square, [1, 2])), ints([3, 3, 3], True),
               *inputs(type_, 0, "equal")[3:]], nms_targets(type_))
    for name, change in (("kernel_three", {5: i32(3)}), ("kernel_negative", {5: i32(-1)}),
                         ("batch_count", {2: ints([0, 0])}),
                         ("box_columns", {1: real("F32", np.zeros([9, 8]))}),
                         ("one_class", {0: real("F32", np.ones([9, 1])),
                                        1: real("F32", np.zeros([9, 4]))}),
                         ("scores_rank", {0: real("F32", np.ones([27]))}),
                         ("precision", {3: fs("F16", 0.5)})):
        ins = [change.get(i, o) for i, o in enumerate(inputs("F32", 0, "f"))]
        c.fails(name, "BOX_WITH_NMS_LIMIT", ins, nms_targets("F32", 3))
    ins = inputs("U8", 0, "u")
    c.fails("box_scale", "BOX_WITH_NMS_LIMIT",
            [ins[0], stored("U16", ins[1].value, (0.25, 0)), *ins[2:]], nms_targets("U8", 3))
    targets = nms_targets("U8", 3)
    c.fails("score_scale", "BOX_WITH_NMS_LIMIT", ins, [out("U8", (0.5, 0), [3]), *targets[1:]])
    c.refusals("BOX_WITH_NMS_LIMIT", lambda: (inputs("F32", 0, "r"), nms_targets("F32")))
    return c


def proposal_targets(type_, count=None):
    return [score_out(type_, [count] if count else ()),
            box_out(type_, [count, 4] if count else ()),
            out("I32", dims=[count] if count else ())]


def generate_proposals():
    c = Collection("generate_proposals")
    anchors = [[-8.0, -8.0, 8.0, 8.0], [-4.0, -12.0, 4.0, 12.0]]

    def inputs(type_, name, nchw=0, pre=-1, post=-1, overlap=0.4, smallest=4.0, strides=(10, 12),
               info=((48.0, 60.0), (40.0, 34.0))):
        r = c.random(name)
        scores = scores_of(r, type_, 2, 3, 4, 2)
        deltas = grid(r, 2, 3, 4, 8, low=-0.25, high=0.25)
        quantised = type_ in QUANT_TYPES
        deltas = real(type_, np.moveaxis(deltas, 3, 1) if nchw else deltas,
                      (0.0625, ZERO[type_] - 10) if quantised else None)
        if nchw:
            scores = stored(type_, np.moveaxis(scores.value, 3, 1), SCORES.get(type_))
        return [scores, deltas,
                real("SYM16" if quantised else type_, anchors, (0.125, 0) if quantised else None),
                boxes(type_, info), fs(type_, strides[0]), fs(type_, strides[1]), i32(pre),
                i32(post), fs(type_, overlap), fs(type_, smallest), flag(nchw)]

    variants = {"plain": {}, "pre10": {"pre": 10}, "post3": {"post": 3},
                "pre12_post2": {"pre": 12, "post": 2}, "strict": {"overlap": 0.1},
                "large_only": {"smallest": 15.3}, "none_large": {"smallest": 900.0}}
    for type_, nchw in itertools.product(DATA_TYPES, (0, 1)):
        for name, arguments in variants.items():
            c.add(f"{type_.lower()}_{'nchw' if nchw else 'nhwc'}_{name}", "GENERATE_PROPOSALS",
                  inputs(type_, name, nchw, **arguments), proposal_targets(type_))
    for type_ in DATA_TYPES:
        # Among equal scores, the first in the present order is chosen.
        ins = inputs(type_, "ties", overlap=0.41)
        ins[0] = real(type_, c.random("tied").randint(1, 4, [2, 3, 4, 2]) / 4, SCORES.get(type_))
        c.add(f"{type_.lower()}_ties", "GENERATE_PROPOSALS", ins, proposal_targets(type_))
    # Boxes beside the picture shrink to its edge. With a negative least size they are still kept.
    c.add("f32_beside_the_picture", "GENERATE_PROPOSALS",
          inputs("F32", "beside", smallest=-1.0, info=((25.0, 20.0), (14.0, 30.0))),
          proposal_targets("F32"))
    for name, change in (("anchor_columns", {2: real("F32", np.ones([2, 5]))}),
                         ("anchor_count", {2: real("F32", np.ones([3, 4]))}),
                         ("delta_channels", {1: real("F32", np.ones([2, 3, 4, 4]))}),
                         ("info_rows", {3: real("F32", np.ones([1, 2]))}),
                         ("scores_rank", {0: real("F32", np.ones([2, 3, 8]))}),
                         ("precision", {8: fs("F16", 0.5)})):
        ins = [change.get(i, o) for i, o in enumerate(inputs("F32", "f"))]
        c.fails(name, "GENERATE_PROPOSALS", ins, proposal_targets("F32", 3))
    ins = inputs("U8", "u")
    for name, change in (("anchor_scale", {2: stored("SYM16", ins[2].value, (0.25, 0))}),
                         ("info_scale", {3: stored("U16", ins[3].value, (0.25, 0))}),
                         ("anchor_type", {2: stored("U16", np.ones([2, 4]), (0.125, 0))})):
        c.fails(name, "GENERATE_PROPOSALS", [change.get(i, o) for i, o in enumerate(ins)],
                proposal_targets("U8", 3))
    c.refusals("GENERATE_PROPOSALS", lambda: (inputs("F32", "r"), proposal_targets("F32")))
    return c


def detection_targets(type_, slots=None, batches=2):
    shapes = ([batches, slots], [batches, slots, 4], [batches, slots], [batches])
    dims = shapes if slots else ((),) * 4
    return [out(type_, dims=dims[0]), out(type_, dims=dims[1]), out("I32", dims=dims[2]),
            out("I32", dims=dims[3])]


def detection_postprocessing():
    c = Collection("detection_postprocessing")

    def inputs(type_, name, regular=1, limit=4, per_anchor=1, per_class=2, threshold=0.1,
               overlap=0.3, background=0, classes=3, columns=4, scales=(10.0, 8.0, 5.0, 4.0)):
        r = c.random(name)
        corner = spaced(r, 6, step=3.0)
        anchors = np.stack([corner, corner[::-1], np.full(6, 8.0), np.full(6, 6.0)], 1)
        return [scores_of(r, type_, 2, 6, classes),
                real(type_, grid(r, 2, 6, columns, low=-1, high=1, step=0.125)),
                real(type_, anchors), *[fs(type_, s) for s in scales], flag(regular), i32(limit),
                i32(per_anchor), i32(per_class), fs(type_, threshold), fs(type_, overlap),
                flag(background)]

    variants = {
        "regular": {}, "regular_background": {"background": 1}, "regular_limit2": {"limit": 2},
        "regular_one_a_class": {"per_class": 1}, "regular_all": {"limit": 20, "per_class": 20},
        "regular_nothing": {"threshold": 0.999}, "regular_more_columns": {"columns": 6},
        "fast": {"regular": 0}, "fast_background": {"regular": 0, "background": 1},
        "fast_two_classes_each": {"regular": 0, "per_anchor": 2, "limit": 3},
        "fast_more_than_classes": {"regular": 0, "per_anchor": 5, "limit": 3},
        "fast_high_threshold": {"regular": 0, "threshold": 0.8},
        "fast_two_classes": {"regular": 0, "classes": 2},
        "fast_loose": {"regular": 0, "overlap": 1.0, "limit": 6},
    }
    for type_ in FLOAT_TYPES:
        for name, arguments in variants.items():
            c.add(f"{type_.lower()}_{name}", "DETECTION_POSTPROCESSING",
                  inputs(type_, name, **arguments), detection_targets(type_))
        ins = inputs(type_, "ties", regular=0, limit=3)
        ins[0] = real(type_, c.random("tied").randint(1, 3, [2, 6, 3]) / 4)
        ins[0].value[:, :, 2] = 0.125
        c.add(f"{type_.lower()}_fast_ties", "DETECTION_POSTPROCESSING", ins,
              detection_targets(type_))
    for name, arguments in (("limit_zero", {"limit": 0}), ("per_class_zero", {"per_class": 0}),
                            ("per_anchor_zero", {"regular": 0, "per_anchor": 0}),
                            ("threshold_negative", {"threshold": -0.5}),
                            ("overlap_negative", {"overlap": -0.5}),
                            ("scale_zero", {"scales": (10.0, 0.0, 5.0, 5.0)}),
                            ("scale_negative", {"scales": (10.0, 10.0, 5.0, -5.0)}),
                            ("one_class", {"classes": 1}), ("three_columns", {"columns": 3})):
        c.fails(name, "DETECTION_POSTPROCESSING", inputs("F32", "f", **arguments),
                detection_targets("F32", 4))
    ins = inputs("F32", "f")
    for name, change in (("anchor_count", {2: real("F32", np.ones([5, 4]))}),
                         ("anchor_columns", {2: real("F32", np.ones([6, 5]))}),
                         ("delta_count", {1: real("F32", np.ones([2, 5, 4]))}),
                         ("precision", {3: fs("F16", 10.0)})):
        c.fails(name, "DETECTION_POSTPROCESSING", [change.get(i, o) for i, o in enumerate(ins)],
                detection_targets("F32", 4))
    c.refusals("DETECTION_POSTPROCESSING", lambda: (inputs("F32", "r"), detection_targets("F32")))
    return c


def collections():
    return [bbox_transform(), box_with_nms_limit(), generate_proposals(),
            detection_postprocessing()]
