"""Resizing, and regions of pictures."""
import itertools

import numpy as np

from builder import (Collection, DATA_TYPES, FLOAT_TYPES, QUANT_TYPES, flag, fs, grid, i32, ints,
                     out, real, spaced, stored, temp, zero_sized)

ZERO = {"U8": 128, "S8": 0}
BOX = (0.125, 0)


def box_type(type_):
    return type_ if type_ in FLOAT_TYPES else "U16"


def boxes(type_, values):
    return real(box_type(type_), values, BOX if type_ in QUANT_TYPES else None)


def box_out(type_, dims=()):
    return out(box_type(type_), BOX if type_ in QUANT_TYPES else None, dims)


def laid(x, nchw):
    return np.moveaxis(x, 3, 1) if nchw else x


def resize(operation):
    """Ratios are powers of two or sizes that divide, so that no pixel is chosen by a last bit."""
    c = Collection(operation.lower())
    linear = operation == "RESIZE_BILINEAR"
    for type_ in DATA_TYPES:
        for number, ((h, w), (oh, ow)) in enumerate([((2, 2), (4, 4)), ((4, 4), (2, 2)),
                                                     ((2, 4), (3, 6)), ((3, 5), (3, 5)),
                                                     ((4, 2), (1, 1)), ((1, 1), (2, 3)),
                                                     ((5, 3), (9, 5))]):
            for align, half in ((0, 0), (1, 0), (0, 1)):
                name = f"{type_.lower()}_{h}x{w}_to_{oh}x{ow}_align{align}_half{half}"
                nchw = (number + align + half) % 2
                x = grid(c.random(name), 2, h, w, 2)
                more = [flag(nchw), flag(align), flag(half)]
                c.add(name, operation, [real(type_, laid(x, nchw)), i32(ow), i32(oh), *more],
                      [out(type_)])
        for name, sy, sx, (h, w) in (("double", 2.0, 2.0, (2, 3)), ("mixed", 1.5, 0.5, (2, 4)),
                                     ("cut_down", 1.25, 1.75, (3, 3))):
            for nchw in (0, 1):
                case = f"{type_.lower()}_scale_{name}_{'nchw' if nchw else 'nhwc'}"
                x = grid(c.random(case), 1, h, w, 2)
                c.add(case, operation, [real(type_, laid(x, nchw)), fs(type_, sx), fs(type_, sy),
                                        flag(nchw)], [out(type_)])
        x = grid(c.random(type_), 1, 2, 2, 1)
        if linear:
            c.add(f"{type_.lower()}_three_inputs", operation, [real(type_, x), i32(3), i32(4)],
                  [out(type_)])
        c.add(f"{type_.lower()}_five_inputs", operation,
              [real(type_, x), i32(3), i32(4), flag(0), flag(1)], [out(type_)])
        before, empty = zero_sized(type_, [2, 2, 3])
        c.graph(f"{type_.lower()}_no_rows", [*before, (operation, [empty, i32(4), i32(5), flag(0)],
                                                       [out(type_)])])
        before, empty = zero_sized(type_, [2, 2, 3])
        c.graph(f"{type_.lower()}_no_rows_by_scale",
                [*before, (operation, [empty, fs(type_, 1.5), fs(type_, 2.0), flag(1)],
                           [out(type_)])])
    x = lambda: real("F32", np.ones([1, 2, 2, 1]))  # noqa: E731
    dims = [1, 2, 2, 1]
    for name, ins in (("width_zero", [x(), i32(0), i32(2), flag(0)]),
                      ("height_negative", [x(), i32(2), i32(-2), flag(0)]),
                      ("scale_to_nothing", [x(), fs("F32", 0.25), fs("F32", 1.0), flag(0)]),
                      ("align_and_half", [x(), i32(2), i32(2), flag(0), flag(1), flag(1)]),
                      ("scale_negative", [x(), fs("F32", -1.0), fs("F32", 1.0), flag(0)]),
                      ("scale_precision", [x(), fs("F16", 1.0), fs("F16", 1.0), flag(0)])):
        c.fails(name, operation, ins, [out("F32", dims=dims)])
    c.fails("rank3", operation, [real("F32", np.ones([2, 2, 1])), i32(2), i32(2), flag(0)],
            [out("F32", dims=[2, 2, 1])])
    c.fails("output_scale", operation, [stored("U8", np.ones(dims)), i32(2), i32(2), flag(0)],
            [out("U8", (0.5, 120), dims)])
    c.refusals(operation, lambda: ([x(), i32(2), i32(2), flag(0)], [out("F32")]),
               keep={"too_few_inputs"} if linear else ())
    return c


# Corners on multiples of an eighth, exact in every type of box.
REGIONS = [[2.0, 2.0, 10.0, 6.0], [0.0, 0.0, 11.5, 7.25], [1.125, 3.5, 4.875, 7.75],
           [5.0, 1.0, 5.0, 1.0]]


def roi_inputs(c, type_, name, nchw, batch=(0, 0, 1, 0), rois=REGIONS, shape=(2, 8, 12, 2)):
    x = grid(c.random(name), *shape)
    return [real(type_, laid(x, nchw)), boxes(type_, rois), ints(batch, True)]


def roi_failures(c, operation, tail, target):
    """`tail(height, width, ratio)`: the scalars after the tensors."""
    dims = [4, 2, 3, 2]

    def fails(name, change=None, more=None):
        ins = roi_inputs(c, "F32", "failures", 0)
        if change:
            position, value = change
            ins[position] = value
        c.fails(name, operation, [*ins, *(more or tail("F32"))], [target("F32", dims)])

    fails("batch_above", (2, ints([0, 0, 2, 0])))
    fails("batch_negative", (2, ints([0, 0, -1, 0])))
    fails("batch_count", (2, ints([0, 0, 0])))
    for name, roi in (("negative", [-1.0, 0, 1, 1]), ("beyond_width", [0, 0, 25.0, 1]),
                      ("beyond_height", [0, 0, 1, 17.0]), ("x_inside_out", [3, 0, 2, 1]),
                      ("y_inside_out", [0, 3, 1, 2])):
        fails(f"roi_{name}", (1, boxes("F32", [roi] * 4)))
    fails("roi_columns", (1, real("F32", np.ones([4, 5]))))
    fails("height_zero", more=tail("F32", height=0))
    fails("ratio_zero", more=tail("F32", ratio=0.0))
    fails("ratio_negative", more=tail("F32", ratio=-1.0))
    fails("ratio_precision", more=tail("F16"))
    ins = roi_inputs(c, "U8", "u8", 0)
    ins[1] = real("U16", REGIONS, (0.25, 0))
    c.fails("roi_scale", operation, [*ins, *tail("U8")], [target("U8", dims)])


def roi_align():
    c = Collection("roi_align")

    def tail(type_, height=2, width=3, ratio=2.0, samples=(2, 2), nchw=0):
        return [i32(height), i32(width), fs(type_, ratio), fs(type_, ratio), i32(samples[0]),
                i32(samples[1]), flag(nchw)]

    def target(type_, dims=()):
        return out(type_, (0.05, ZERO[type_] + 5) if type_ in QUANT_TYPES else None, dims)

    for type_, nchw in itertools.product(DATA_TYPES, (0, 1)):
        for name, arguments in (("sampled", {}), ("adaptive", {"samples": (0, 0)}),
                                ("mixed", {"samples": (1, 0), "height": 3, "width": 1}),
                                ("one_cell", {"height": 1, "width": 1, "samples": (4, 4)}),
                                ("small_ratio", {"ratio": 1.0, "samples": (2, 3)})):
            case = f"{type_.lower()}_{'nchw' if nchw else 'nhwc'}_{name}"
            c.add(case, "ROI_ALIGN", [*roi_inputs(c, type_, name, nchw),
                                      *tail(type_, nchw=nchw, **arguments)], [target(type_)])
    for type_ in DATA_TYPES:
        before, rois, batch = no_boxes(type_)
        c.graph(f"{type_.lower()}_no_rois",
                [*before, ("ROI_ALIGN", [real(type_, np.ones([1, 2, 2, 1])), rois, batch,
                                         *tail(type_)], [target(type_)])])
    roi_failures(c, "ROI_ALIGN", tail, target)
    c.fails("samples_negative", "ROI_ALIGN", [*roi_inputs(c, "F32", "s", 0),
                                              *tail("F32", samples=(-1, 2))],
            [target("F32", [4, 2, 3, 2])])
    c.refusals("ROI_ALIGN", lambda: ([*roi_inputs(c, "F32", "r", 0), *tail("F32")],
                                     [target("F32")]))
    return c


def no_boxes(type_):
    """Operations that select no boxes; the boxes, and the batch of each."""
    batch, chosen = temp("I32"), temp(box_type(type_), BOX if type_ in QUANT_TYPES else None)
    scores = real(type_, np.zeros([1, 2]))
    return [("BOX_WITH_NMS_LIMIT",
             [scores, boxes(type_, np.zeros([1, 8])), ints([0], True), fs(type_, 0.75), i32(-1),
              i32(0), fs(type_, 0.5), fs(type_, 1.0), fs(type_, 0.5)],
             [temp(type_), chosen, temp("I32"), batch])], chosen, batch


def roi_pooling():
    c = Collection("roi_pooling")

    def tail(type_, height=2, width=3, ratio=2.0, nchw=0):
        return [i32(height), i32(width), fs(type_, ratio), fs(type_, ratio), flag(nchw)]

    def target(type_, dims=()):
        return out(type_, None, dims)

    for type_, nchw in itertools.product(DATA_TYPES, (0, 1)):
        for name, arguments in (("plain", {}), ("one_cell", {"height": 1, "width": 1}),
                                ("many_cells", {"height": 4, "width": 5}),
                                ("small_ratio", {"ratio": 1.0})):
            case = f"{type_.lower()}_{'nchw' if nchw else 'nhwc'}_{name}"
            c.add(case, "ROI_POOLING", [*roi_inputs(c, type_, name, nchw),
                                        *tail(type_, nchw=nchw, **arguments)], [target(type_)])
    for type_ in DATA_TYPES:
        # Beyond the last pixel when rounded, so that cells are empty.
        c.add(f"{type_.lower()}_empty_cells", "ROI_POOLING",
              [*roi_inputs(c, type_, "empty", 0, (0,), [[23.5, 15.5, 24.0, 16.0]]), *tail(type_)],
              [target(type_)])
    roi_failures(c, "ROI_POOLING", tail, target)
    c.fails("output_scale", "ROI_POOLING", [*roi_inputs(c, "U8", "s", 0), *tail("U8")],
            [out("U8", (0.5, 0), [4, 2, 3, 2])])
    c.refusals("ROI_POOLING", lambda: ([*roi_inputs(c, "F32", "r", 0), *tail("F32")],
                                       [target("F32")]))
    return c


def heatmap_max_keypoint():
    c = Collection("heatmap_max_keypoint")

    def inputs(type_, name, nchw=0, size=4, count=2, keypoints=2):
        maps = spaced(c.random(name), count, size, size, keypoints)
        corners = np.array([[8.0, 4.0, 40.0, 36.0], [0.0, 10.0, 16.0, 74.0]])[:count]
        # Few values on an eighth each: no map is flat around its peak.
        return [real(type_, laid(maps, nchw) % 8, (0.0625, ZERO.get(type_, 0))
                     if type_ in QUANT_TYPES else None), boxes(type_, corners), flag(nchw)]

    def targets(type_, dims=((), ())):
        return [out(type_, (0.0625, ZERO[type_]) if type_ in QUANT_TYPES else None, dims[0]),
                box_out(type_, dims[1])]

    for type_, nchw in itertools.product(DATA_TYPES, (0, 1)):
        for size, keypoints in ((4, 2), (2, 1), (3, 3), (6, 1)):
            case = f"{type_.lower()}_{'nchw' if nchw else 'nhwc'}_{size}x{size}_{keypoints}"
            c.add(case, "HEATMAP_MAX_KEYPOINT", inputs(type_, case, nchw, size, 2, keypoints),
                  targets(type_))
    for type_ in DATA_TYPES:
        peak = np.zeros([1, 5, 5, 1])
        peak[0, 1:4, 1:4, 0] = [[1.0, 2.0, 1.0], [2.0, 4.0, 3.0], [1.0, 2.0, 1.0]]
        c.add(f"{type_.lower()}_peak_in_the_middle", "HEATMAP_MAX_KEYPOINT",
              [real(type_, peak), boxes(type_, [[0.0, 0.0, 50.0, 50.0]]), flag(0)],
              targets(type_))
        # A ridge along the diagonal: the top of the paraboloid lies far off, and is drawn near.
        ridge = np.zeros([1, 5, 5, 1])
        ridge[0, 1:4, 1:4, 0] = [[3.9375, 3.125, 2.0625], [3.125, 4.0, 3.875],
                                 [2.0625, 3.875, 3.9375]]
        c.add(f"{type_.lower()}_top_far_off", "HEATMAP_MAX_KEYPOINT",
              [real(type_, ridge, (0.0625, ZERO[type_]) if type_ in QUANT_TYPES else None),
               boxes(type_, [[0.0, 0.0, 50.0, 50.0]]), flag(0)], targets(type_))
        c.add(f"{type_.lower()}_flat", "HEATMAP_MAX_KEYPOINT",
              [real(type_, np.full([1, 3, 3, 1], 0.5)), boxes(type_, [[1.0, 2.0, 1.0, 2.0]]),
               flag(0)], targets(type_))
    dims = ([1, 1], [1, 1, 2])
    picture = lambda *s: real("F32", np.ones(s))  # noqa: E731
    for name, ins in (("not_square", [picture(1, 2, 3, 1), boxes("F32", [[0, 0, 1, 1]]), flag(0)]),
                      ("size_one", [picture(1, 1, 1, 1), boxes("F32", [[0, 0, 1, 1]]), flag(0)]),
                      ("inside_out", [picture(1, 2, 2, 1), boxes("F32", [[1, 0, 0, 1]]), flag(0)]),
                      ("box_count", [picture(1, 2, 2, 1), boxes("F32", [[0, 0, 1, 1]] * 2),
                                     flag(0)])):
        c.fails(name, "HEATMAP_MAX_KEYPOINT", ins, targets("F32", dims))
    c.fails("box_scale", "HEATMAP_MAX_KEYPOINT",
            [stored("U8", np.ones([1, 2, 2, 1])), real("U16", [[0, 0, 1, 1]], (0.25, 0)), flag(0)],
            targets("U8", dims))
    c.fails("keypoint_scale", "HEATMAP_MAX_KEYPOINT",
            [stored("U8", np.ones([1, 2, 2, 1])), boxes("U8", [[0, 0, 1, 1]]), flag(0)],
            [out("U8", dims=dims[0]), out("U16", (0.25, 0), dims[1])])
    c.refusals("HEATMAP_MAX_KEYPOINT", lambda: (inputs("F32", "r"), targets("F32")))
    return c


def collections():
    return [resize("RESIZE_BILINEAR"), resize("RESIZE_NEAREST_NEIGHBOR"), roi_align(),
            roi_pooling(), heatmap_max_keypoint()]
