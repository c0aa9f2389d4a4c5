"""Operations on pictures and regions of them."""
import math

import numpy as np

from .operand import (from_nhwc, require, required_parameters, round_away,
                      same_parameters, to_nhwc)

BOX = (0.125, 0)


def target_size(operand, size):
    wanted = operand.scalar()
    if operand.type == "INT32":
        return wanted
    return int(np.floor(np.float32(size) * np.float32(wanted)))


class Axis:
    """Where each output position of one axis lies in the input."""

    def __init__(self, size, count, align, half):
        require(count > 0, "output size {}", count)
        self.size, self.align, self.half = size, align, half
        # In float32 throughout, as it decides which pixel is taken.
        ratio = (np.float32(size - 1) / np.float32(count - 1) if align and count > 1
                 else np.float32(size) / np.float32(count))
        o = np.arange(count, dtype=np.float32)
        self.centre = (o + np.float32(0.5)) * ratio if half else o * ratio

    def nearest(self):
        p = round_away(self.centre) if self.align else np.floor(self.centre)
        return np.clip(p, 0, self.size - 1).astype(int)

    def linear(self):
        p = self.centre.astype(np.float64) - (0.5 if self.half else 0)
        low = np.maximum(np.floor(p), 0).astype(int)
        high = np.minimum(np.ceil(p), self.size - 1).astype(int)
        low = np.minimum(low, self.size - 1)
        t = np.where(low == high, 0, p - low)
        return low, np.maximum(high, 0), t


def resize(linear):
    def run(ins, outs):
        same_parameters(ins[0], outs[0])
        nchw, align, half = [len(ins) > i and ins[i].flag() for i in (3, 4, 5)]
        require(not (align and half), "align corners and half pixel centers")
        x = to_nhwc(ins[0].real() if linear else ins[0].value, nchw)
        require(x.ndim == 4, "rank {}", x.ndim)
        rows = Axis(x.shape[1], target_size(ins[2], x.shape[1]), align, half)
        columns = Axis(x.shape[2], target_size(ins[1], x.shape[2]), align, half)
        if not linear:
            return [from_nhwc(x[:, rows.nearest()][:, :, columns.nearest()], nchw)]
        (y0, y1, dy), (x0, x1, dx) = rows.linear(), columns.linear()
        dy, dx = dy[:, None, None], dx[None, :, None]
        top = x[:, y0][:, :, x0] * (1 - dx) + x[:, y0][:, :, x1] * dx
        bottom = x[:, y1][:, :, x0] * (1 - dx) + x[:, y1][:, :, x1] * dx
        return [from_nhwc(outs[0].store(top * (1 - dy) + bottom * dy), nchw)]
    return run


def check_boxes(boxes, operand):
    require(boxes.ndim == 2 and boxes.shape[1] % 4 == 0, "boxes have shape {}", boxes.shape)
    required_parameters(operand, u16=BOX)
    corners = boxes.reshape(-1, 4)
    require((corners[:, 0] <= corners[:, 2]).all() and (corners[:, 1] <= corners[:, 3]).all(),
            "a box is inside out")


def regions(ins, nchw):
    """Feature map in NHWC, RoIs, batch of each."""
    x, rois, batch = to_nhwc(ins[0].value, nchw), ins[1].real(), ins[2].ints()
    require(x.ndim == 4 and rois.shape == (len(batch), 4), "shapes")
    check_boxes(rois, ins[1])
    require(all(0 <= b < x.shape[0] for b in batch), "batch index")
    height, width = ins[3].scalar(), ins[4].scalar()
    ratios = ins[5].scalar(), ins[6].scalar()
    require(height > 0 and width > 0 and min(ratios) > 0, "sizes and ratios")
    if rois.size:
        scaled = rois / [ratios[1], ratios[0], ratios[1], ratios[0]]
        require((rois >= 0).all() and (scaled[:, 2] <= x.shape[2]).all()
                and (scaled[:, 3] <= x.shape[1]).all(), "a box leaves the picture")
    return rois, batch, height, width, ratios


def bilinear(x, p, q):
    """The value of the picture x at row p, column q."""
    places = []
    for v, size in ((p, x.shape[0]), (q, x.shape[1])):
        low = math.floor(v)
        places.append((size - 1, size - 1, 0.0) if low >= size - 1 else (low, low + 1, v - low))
    (y0, y1, dy), (x0, x1, dx) = places
    return ((1 - dy) * ((1 - dx) * x[y0, x0] + dx * x[y0, x1])
            + dy * ((1 - dx) * x[y1, x0] + dx * x[y1, x1]))


def roi_align(ins, outs):
    nchw = ins[9].flag()
    rois, batch, height, width, (hratio, wratio) = regions(ins, nchw)
    samples_y, samples_x = ins[7].scalar(), ins[8].scalar()
    require(samples_y >= 0 and samples_x >= 0, "sampling points")
    x = to_nhwc(ins[0].real(), nchw)
    y = np.zeros((len(batch), height, width, x.shape[3]))
    for r, (x1, y1, x2, y2) in enumerate(rois):
        x1, x2, y1, y2 = x1 / wratio, x2 / wratio, y1 / hratio, y2 / hratio
        bw, bh = max(x2 - x1, 1) / width, max(y2 - y1, 1) / height
        nx, ny = samples_x or math.ceil(bw), samples_y or math.ceil(bh)
        for i, j in np.ndindex(height, width):
            points = [bilinear(x[batch[r]], y1 + bh * i + (a + 0.5) * bh / ny,
                               x1 + bw * j + (b + 0.5) * bw / nx)
                      for a in range(ny) for b in range(nx)]
            y[r, i, j] = np.mean(points, 0)
    return [from_nhwc(outs[0].store(y), nchw)]


def roi_pooling(ins, outs):
    same_parameters(ins[0], outs[0])
    nchw = ins[7].flag()
    rois, batch, height, width, (hratio, wratio) = regions(ins, nchw)
    x = to_nhwc(ins[0].value, nchw)
    y = np.full((len(batch), height, width, x.shape[3]), ins[0].zero_point, x.dtype)
    for r, box in enumerate(rois):
        left, right = (int(round_away(v / wratio)) for v in (box[0], box[2]))
        top, bottom = (int(round_away(v / hratio)) for v in (box[1], box[3]))
        bw, bh = max(right - left + 1, 1) / width, max(bottom - top + 1, 1) / height
        for i, j in np.ndindex(height, width):
            rows = slice(math.floor(top + bh * i), math.ceil(top + bh * (i + 1)))
            columns = slice(math.floor(left + bw * j), math.ceil(left + bw * (j + 1)))
            cell = x[batch[r], rows, columns]
            if cell.size:
                y[r, i, j] = cell.max((0, 1))
    return [from_nhwc(y, nchw)]


def refine_peak(g, epsilon):
    """Offset (x, y) and height of the paraboloid through the 3x3 neighbourhood g."""
    v = g[1, 1]
    bx, by = -(g[1, 2] - g[1, 0]) / 2, -(g[2, 1] - g[0, 1]) / 2
    axx, ayy = g[1, 0] - 2 * v + g[1, 2], g[0, 1] - 2 * v + g[2, 1]
    axy = (g[2, 2] - g[2, 0] - g[0, 2] + g[0, 0]) / 4
    det = axx * ayy - axy * axy
    if abs(det) < epsilon + epsilon * axx * ayy:
        return 0.0, 0.0, v
    dx, dy = (ayy * bx - axy * by) / det, (axx * by - axy * bx) / det
    longest = max(abs(dx), abs(dy))
    if longest > 1.5:
        dx, dy = dx * 1.5 / longest, dy * 1.5 / longest
    return dx, dy, (v - bx * dx - by * dy
                    + (axx * dx * dx + 2 * axy * dx * dy + ayy * dy * dy) / 2)


def heatmap_max_keypoint(ins, outs):
    maps, boxes = to_nhwc(ins[0].real(), ins[2].flag()), ins[1].real()
    check_boxes(boxes, ins[1])
    required_parameters(outs[1], u16=BOX)
    count, size, width, keypoints = maps.shape
    require(size == width and size >= 2 and boxes.shape == (count, 4), "shapes {} and {}",
            maps.shape, boxes.shape)
    epsilon = 1e-3 if ins[0].type == "TENSOR_FLOAT16" else 1e-5
    scores, places = np.zeros((count, keypoints)), np.zeros((count, keypoints, 2))
    mirror = lambda i: 1 if i < 0 else size - 2 if i >= size else i  # noqa: E731
    for b, k in np.ndindex(count, keypoints):
        picture = maps[b, :, :, k]
        h, w = divmod(int(np.argmax(picture)), size)
        g = np.array([[picture[mirror(h + i), mirror(w + j)] for j in (-1, 0, 1)]
                      for i in (-1, 0, 1)])
        dx, dy, scores[b, k] = refine_peak(g, epsilon)
        x1, y1, x2, y2 = boxes[b]
        places[b, k] = (x1 + (w + dx + 0.5) / size * (x2 - x1),
                        y1 + (h + dy + 0.5) / size * (y2 - y1))
    return [outs[0].store(scores), outs[1].store(places)]


OPERATIONS = {
    "RESIZE_BILINEAR": resize(True), "RESIZE_NEAREST_NEIGHBOR": resize(False),
    "ROI_ALIGN": roi_align, "ROI_POOLING": roi_pooling,
    "HEATMAP_MAX_KEYPOINT": heatmap_max_keypoint,
}
