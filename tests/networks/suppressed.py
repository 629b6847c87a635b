# SPDX-License-Identifier: Apache-2.0
"""NonMaxSuppression from ONNX's definition. Rows of -1 follow those of the boxes that are chosen."""

import math
import random

from arranged import refused
from defined import Array, Case, drawn, whole
from onnx_writer import FLOAT, INT64, model, node, tensor, value

DRAW = random.Random(31)


def corners(box, is_center):
    a, b, c, d = box
    return (a - c / 2, b - d / 2, a + c / 2, b + d / 2) if is_center else (min(a, c), min(b, d), max(a, c), max(b, d))


def overlap(a, b):
    def area(box):
        return (box[2] - box[0]) * (box[3] - box[1])
    both = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
    return both / (area(a) + area(b) - both) if both else 0


def chosen(boxes, scores, most, limit, least):
    """Indices of boxes: the best first, without those that overlap a better one; of equal scores the first."""
    kept = []
    for i in sorted((i for i, s in enumerate(scores) if s > least), key=lambda i: (-scores[i], i)):
        if len(kept) < most and all(overlap(boxes[i], boxes[k]) <= limit for k in kept):
            kept.append(i)
    return kept


def suppressed(batch, classes, count, most=None, limit=None, least=None, is_center=False, scores=None):
    boxes = drawn(DRAW, (batch, count, 4), 0.05 if is_center else -1.0)
    scores = scores or drawn(DRAW, (batch, classes, count))
    rows = []
    for b in range(batch):
        places = [corners([boxes[b, i, k] for k in range(4)], is_center) for i in range(count)]
        for c in range(classes):
            of = [scores[b, c, i] for i in range(count)]
            rows += [(b, c, i) for i in chosen(places, of, most or 0, limit or 0, -math.inf if least is None else least)]
    bound = batch * classes * min(most or 0, count)
    right = Array((bound, 3), [v for row in rows + [(-1, -1, -1)] * (bound - len(rows)) for v in row], INT64)
    given = [("most", most, INT64), ("limit", limit, FLOAT), ("least", least, FLOAT)]
    names = [name if v is not None else "" for name, v, _ in given]
    return Case(model([node("NonMaxSuppression", ["boxes", "scores", *names], ["y"], **({"center_point_box": 1} if is_center else {}))],
                      [value("boxes", boxes.shape), value("scores", scores.shape)], [value("y", right.shape, INT64)],
                      [tensor(name, [1], [v], kind) for name, v, kind in given if v is not None], opset=11), {"boxes": boxes, "scores": scores}, [right])


EQUAL = Array((1, 2, 9), [v / 4 for v in whole(DRAW, (1, 2, 9), 0, 3, INT64).values])
WRONG = {"boxes": drawn(DRAW, (1, 5, 4)), "scores": drawn(DRAW, (1, 2, 6))}
CASES = {
    "plain": suppressed(1, 1, 12, 12, 0.3), "least": suppressed(2, 3, 12, 12, 0.2, 0.1), "few": suppressed(1, 2, 15, 3, 0.4), "center": suppressed(2, 1, 12, 8, 0.25, 0.0, True),
    "one": suppressed(1, 1, 1, 4, 0.5), "no_overlap": suppressed(1, 2, 10, 10), "all_low": suppressed(1, 1, 5, 5, 0.5, 2.0), "equal": suppressed(1, 2, 9, 9, 0.9, scores=EQUAL),
    "none_wanted": suppressed(1, 2, 4), "no_boxes": suppressed(1, 2, 0, 4, 0.5), "no_classes": suppressed(2, 0, 4, 4, 0.5),
    "unlike": refused("NonMaxSuppression", WRONG, r"boxes and scores of shapes 1x5x4 and 1x2x6 are not", opset=11),
    "point": refused("NonMaxSuppression", {**WRONG, "scores": drawn(DRAW, (1, 2, 5))}, "center_point_box=2 is neither 0 nor 1", opset=11, center_point_box=2),
}
