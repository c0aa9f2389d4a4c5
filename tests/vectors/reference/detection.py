"""Operations on boxes and their scores."""
import numpy as np

from .image import BOX, check_boxes
from .operand import require, required_parameters, same_parameters, to_nhwc


def iou(a, b):
    """Of boxes given as two corners; the order of the axes does not matter."""
    overlap = (max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
               * max(0.0, min(a[3], b[3]) - max(a[1], b[1])))
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - overlap
    return overlap / union if union else float("nan")


def transform(rois, deltas, limits):
    """rois [n,4], deltas [n,4k], limits [n,2] (height, width): boxes [n,4k], clipped."""
    width, height = rois[:, 2] - rois[:, 0], rois[:, 3] - rois[:, 1]
    cx, cy = (rois[:, 0] + rois[:, 2]) / 2, (rois[:, 1] + rois[:, 3]) / 2
    out = np.empty(deltas.shape)
    for k in range(0, deltas.shape[1], 4):
        dx, dy, dw, dh = deltas[:, k:k + 4].T
        w, h = np.exp(dw) * width / 2, np.exp(dh) * height / 2
        x, y = cx + dx * width, cy + dy * height
        for column, value, limit in ((0, x - w, 1), (1, y - h, 0), (2, x + w, 1), (3, y + h, 0)):
            out[:, k + column] = np.clip(value, 0, limits[:, limit])
    return out


def bbox_transform(ins, outs):
    rois, deltas, batch, info = ins[0].real(), ins[1].real(), ins[2].ints(), ins[3].real()
    for operand in (ins[0], ins[3], outs[0]):
        required_parameters(operand, u16=BOX)
    require(rois.shape == (len(batch), 4) and deltas.ndim == 2 and deltas.shape[0] == len(batch)
            and deltas.shape[1] % 4 == 0 and deltas.shape[1] > 0, "shapes")
    require(info.ndim == 2 and info.shape[1] == 2, "image info has shape {}", info.shape)
    require(all(0 <= b < info.shape[0] for b in batch), "batch index")
    check_boxes(rois, ins[0])
    return [outs[0].store(transform(rois, deltas, info[batch].reshape(-1, 2)))]


def decay(kind, overlap, threshold, sigma):
    if kind == 0:
        return 1.0 if overlap < threshold else 0.0
    if kind == 1:
        return 1.0 if overlap < threshold else 1 - overlap
    return np.exp(-overlap * overlap / sigma)


def soft_nms(scores, boxes, candidates, limit, kernel, threshold, sigma, nms_threshold):
    """Changes scores in place; the chosen candidates in order."""
    order, start, end = list(candidates), 0, len(candidates)
    while start < end and (limit < 0 or start < limit):
        best = max(range(start, end), key=lambda i: (scores[order[i]], -i))
        order[start], order[best] = order[best], order[start]
        chosen, i = order[start], start + 1
        start += 1
        while i < end:
            e = order[i]
            scores[e] *= decay(kernel, iou(boxes[chosen], boxes[e]), threshold, sigma)
            if scores[e] < nms_threshold:
                end -= 1
                order[i], order[end] = order[end], order[i]
            else:
                i += 1
    return order[:start]


def box_with_nms_limit(ins, outs):
    required_parameters(ins[1], u16=BOX)
    required_parameters(outs[1], u16=BOX)
    same_parameters(ins[0], outs[0])
    scores, boxes, batch = ins[0].real(), ins[1].real(), ins[2].ints()
    threshold, limit, kernel, iou_threshold, sigma, nms_threshold = (i.scalar() for i in ins[3:9])
    require(kernel in (0, 1, 2), "kernel {}", kernel)
    require(scores.shape[0] == len(batch) and scores.shape[1] > 1
            and boxes.shape == (len(batch), 4 * scores.shape[1]), "shapes")
    check_boxes(boxes, ins[1])
    classes = scores.shape[1]
    result = []
    for image in sorted(set(batch), key=batch.index):
        rows = [r for r, b in enumerate(batch) if b == image]
        chosen = []
        for c in range(1, classes):
            column = scores[:, c]
            candidates = [r for r in rows if column[r] > threshold]
            kept = soft_nms(column, boxes[:, 4 * c:4 * c + 4], candidates, limit, kernel,
                            iou_threshold, sigma, nms_threshold)
            chosen += [(column[r], c, r) for r in kept]
        chosen.sort(key=lambda e: -e[0])
        chosen = chosen[:limit] if limit >= 0 else chosen
        chosen.sort(key=lambda e: (e[1], -e[0]))
        result += [(s, c, r, image) for s, c, r in chosen]
    rows = [r for _, _, r, _ in result]
    columns = [c for _, c, _, _ in result]
    taken = [ins[1].value[r, 4 * c:4 * c + 4] for r, c in zip(rows, columns)]
    return [outs[0].store(np.array([e[0] for e in result], np.float64)),
            np.array(taken, ins[1].dtype).reshape(-1, 4),
            np.array(columns, np.int32), np.array([e[3] for e in result], np.int32)]


def hard_nms(candidates, score, box, threshold, limit):
    """A dropped box trades places with the last one, which decides among equal scores."""
    order, start, end = list(candidates), 0, len(candidates)
    while start < end and (limit < 0 or start < limit):
        best = max(range(start, end), key=lambda i: (score(order[i]), -i))
        order[start], order[best] = order[best], order[start]
        chosen, i = order[start], start + 1
        start += 1
        while i < end:
            if iou(box(chosen), box(order[i])) >= threshold:
                end -= 1
                order[i], order[end] = order[end], order[i]
            else:
                i += 1
    return order[:start]


def generate_proposals(ins, outs):
    nchw = ins[10].flag()
    scores, deltas = (to_nhwc(i.real(), nchw) for i in ins[:2])
    anchors, info = ins[2].real(), ins[3].real()
    hstride, wstride, pre, post, threshold, smallest = (i.scalar() for i in ins[4:10])
    if ins[2].quantised:
        require(ins[2].scale == 0.125, "anchor scale {}", ins[2].scale)
        required_parameters(ins[3], u16=BOX)
        required_parameters(outs[1], u16=BOX)
    same_parameters(ins[0], outs[0])
    batches, height, width, count = scores.shape
    require(anchors.shape == (count, 4) and deltas.shape == (batches, height, width, 4 * count)
            and info.shape == (batches, 2), "shapes")
    result = []
    for b in range(batches):
        shifts = np.array([[w * wstride, h * hstride, w * wstride, h * hstride]
                           for h in range(height) for w in range(width)])
        rois = (shifts[:, None] + anchors[None]).reshape(-1, 4)
        limits = np.repeat(info[b:b + 1], len(rois), 0)
        boxes = transform(rois, deltas[b].reshape(-1, 4), limits)
        score = scores[b].reshape(-1)
        candidates = list(range(len(rois)))
        if 0 < pre < len(candidates):
            candidates = sorted(candidates, key=lambda i: -score[i])[:pre]

        def large_enough(i):
            x1, y1, x2, y2 = boxes[i]
            return (x2 - x1 > smallest and y2 - y1 > smallest
                    and (x1 + x2) / 2 < info[b, 1] and (y1 + y2) / 2 < info[b, 0])

        candidates = [i for i in candidates if large_enough(i)]
        kept = hard_nms(candidates, lambda i: score[i], lambda i: boxes[i], threshold,
                        post if post > 0 else -1)
        result += [(score[i], boxes[i], b) for i in kept]
    return [outs[0].store(np.array([e[0] for e in result], np.float64)),
            outs[1].store(np.array([e[1] for e in result]).reshape(-1, 4)),
            np.array([e[2] for e in result], np.int32)]


def decode_boxes(deltas, anchors, scales):
    sy, sx, sh, sw = scales
    ay, ax, ah, aw = anchors.T
    cy, cx = ay + ah * deltas[:, 0] / sy, ax + aw * deltas[:, 1] / sx
    hh, hw = ah * np.exp(deltas[:, 2] / sh) / 2, aw * np.exp(deltas[:, 3] / sw) / 2
    return np.stack([cy - hh, cx - hw, cy + hh, cx + hw], 1)


def regular_detections(scores, boxes, per_class, threshold, iou_threshold, limit):
    found = []
    for c in range(1, scores.shape[1]):
        candidates = [a for a in range(len(boxes)) if scores[a, c] > threshold]
        kept = hard_nms(candidates, lambda a: scores[a, c], lambda a: boxes[a], iou_threshold,
                        per_class)
        found += [(scores[a, c], a, c) for a in kept]
    return sorted(found, key=lambda e: -e[0])[:limit]


def fast_detections(scores, boxes, per_anchor, threshold, iou_threshold, limit):
    best = scores[:, 1:].max(1)
    candidates = [a for a in range(len(boxes)) if best[a] > threshold]
    found = []
    for a in hard_nms(candidates, lambda a: best[a], lambda a: boxes[a], iou_threshold, limit):
        classes = sorted(range(1, scores.shape[1]), key=lambda c: -scores[a, c])[:per_anchor]
        found += [(scores[a, c], a, c) for c in classes]
    return found


def detection_postprocessing(ins, outs):
    scores, deltas, anchors = (i.real() for i in ins[:3])
    scales = [i.scalar() for i in ins[3:7]]
    regular, limit, per_anchor, per_class = (i.scalar() for i in ins[7:11])
    threshold, iou_threshold, background = (i.scalar() for i in ins[11:14])
    batches, count, classes = scores.shape
    require(deltas.shape[:2] == (batches, count) and deltas.shape[2] >= 4
            and anchors.shape == (count, 4) and classes > 1, "shapes")
    require(min(scales) > 0 and limit > 0 and threshold >= 0 and iou_threshold >= 0
            and (per_class if regular else per_anchor) > 0, "arguments")
    slots = limit if regular else limit * per_anchor
    y = [np.zeros((batches, slots)), np.zeros((batches, slots, 4)),
         np.zeros((batches, slots), np.int32), np.zeros(batches, np.int32)]
    for b in range(batches):
        boxes = decode_boxes(deltas[b], anchors, scales)
        if regular:
            found = regular_detections(scores[b], boxes, per_class, threshold, iou_threshold, limit)
        else:
            found = fast_detections(scores[b], boxes, per_anchor, threshold, iou_threshold, limit)
        y[3][b] = len(found)
        for i, (score, a, c) in enumerate(found):
            y[0][b, i], y[1][b, i], y[2][b, i] = score, boxes[a], c if background else c - 1
    return [outs[0].store(y[0]), outs[1].store(y[1]), y[2], y[3]]


OPERATIONS = {
    "AXIS_ALIGNED_BBOX_TRANSFORM": bbox_transform, "BOX_WITH_NMS_LIMIT": box_with_nms_limit,
    "GENERATE_PROPOSALS": generate_proposals,
    "DETECTION_POSTPROCESSING": detection_postprocessing,
}
