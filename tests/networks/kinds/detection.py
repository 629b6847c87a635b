# SPDX-License-Identifier: Apache-2.0
"""Detectors up to the suppression of boxes, and a decoder of masks in the manner of Segment Anything."""

import math

from graph import FLOAT, Graph
from onnx_writer import INT64, tensor


def yolo_trunk(g, channels=8):
    """Features at 1/4 and 1/8 of the image."""
    x = g.silu(g.same(g.input("images", ["batch", 3, "height", "width"]), 3, channels, 3, stride=2))
    x = g.silu(g.same(x, channels, channels, 3, stride=2))
    low, high = g.split(g.silu(g.same(x, channels, 2 * channels, 1)), 1, channels, channels)
    near = g.silu(g.same(g.op("Concat", low, high, g.op("Add", high, g.silu(g.same(high, channels, channels, 3))), axis=1), 3 * channels, channels, 1))
    x = g.silu(g.same(near, channels, channels, 3, stride=2))
    pools = [x]
    for _ in range(3):
        pools.append(g.op("MaxPool", pools[-1], kernel_shape=[5, 5], pads=[2, 2, 2, 2], strides=[1, 1], ceil_mode=0))
    far = g.silu(g.same(g.op("Concat", *pools, axis=1), 4 * channels, channels, 1))
    roi = "" if g.opset >= 13 else g.constant([0], [])
    up = g.op("Resize", far, roi, g.constant([4], [1.0, 1.0, 2.0, 2.0]), coordinate_transformation_mode="asymmetric", cubic_coeff_a=-0.75, mode="nearest",
              nearest_mode="floor")
    near = g.silu(g.same(g.op("Concat", up, near, axis=1), 2 * channels, channels, 3))
    return near, far


def yolo_5(classes=3):
    """Anchors and a grid that is computed from the shape."""
    g, anchors, found = Graph(12, 41), 2, []
    for x, stride in zip(yolo_trunk(g), (4, 8)):
        x = g.same(x, 8, anchors * (5 + classes), 1)
        batch, rows, columns = (g.extent(x, i) for i in (0, 2, 3))
        x = g.transpose(g.reshape(x, batch, anchors, 5 + classes, rows, columns), 0, 1, 3, 4, 2)
        down, along = g.unsqueeze(g.cast(g.range(0, rows), FLOAT), 1), g.unsqueeze(g.cast(g.range(0, columns), FLOAT), 0)
        shape = g.list(rows, columns)
        grid = g.op("Concat", g.unsqueeze(g.op("Expand", along, shape), -1), g.unsqueeze(g.op("Expand", down, shape), -1), axis=-1)
        grid = g.op("Sub", g.op("Expand", grid, g.list(1, anchors, rows, columns, 2)), 0.5)
        place, size, scores = g.split(g.op("Sigmoid", x), 4, 2, 2, classes + 1)
        place = g.op("Mul", g.op("Add", g.op("Mul", place, 2.0), grid), float(stride))
        size = g.op("Mul", g.op("Pow", g.op("Mul", size, 2.0), 2.0), g.stored([1, anchors, 1, 1, 2], [float(stride * (i + 2)) for i in range(2 * anchors)]))
        found.append(g.reshape(g.op("Concat", place, size, scores, axis=4), batch, -1, 5 + classes))
    g.output(g.op("Concat", *found, axis=1), "output0")
    return g


def boxes_and_scores(g, classes=3, bins=8):
    """No anchors: the four distances are expectations over bins, by a softmax and a convolution. Boxes are centers and extents."""
    found, centers, strides = [], [], []
    for x, stride in zip(yolo_trunk(g), (4, 8)):
        box = g.same(g.silu(g.same(x, 8, 8, 3)), 8, 4 * bins, 1)
        scores = g.same(g.silu(g.same(x, 8, 8, 3)), 8, classes, 1)
        x = g.op("Concat", box, scores, axis=1)
        rows, columns = g.extent(x, 2), g.extent(x, 3)
        found.append(g.reshape(x, g.extent(x, 0), 4 * bins + classes, -1))
        along, down = (g.op("Add", g.cast(g.range(0, n), FLOAT), 0.5) for n in (columns, rows))
        shape = g.list(rows, columns)
        grid = [g.op("Expand", g.reshape(along, 1, -1), shape), g.op("Expand", g.reshape(down, -1, 1), shape)]
        centers.append(g.reshape(g.op("Concat", *(g.unsqueeze(t, -1) for t in grid), axis=-1), -1, 2))
        strides.append(g.op("ConstantOfShape", g.list(g.op("Mul", rows, columns), 1), value=tensor("", [1], [float(stride)])))
    x = g.op("Concat", *found, axis=2)
    centers, strides = (g.transpose(g.op("Concat", *t, axis=0), 1, 0) for t in (centers, strides))
    box, scores = g.split(x, 1, 4 * bins, classes)
    box = g.transpose(g.reshape(box, g.extent(x, 0), 4, bins, g.extent(x, 2)), 0, 2, 1, 3)
    box = g.op("Conv", g.op("Softmax", box, axis=1), g.stored([1, bins, 1, 1], [float(i) for i in range(bins)]), kernel_shape=[1, 1])
    box = g.reshape(box, g.extent(x, 0), 4, g.extent(x, 2))
    low = g.op("Sub", g.unsqueeze(centers, 0), g.slice(box, 1, 0, 2))
    high = g.op("Add", g.unsqueeze(centers, 0), g.slice(box, 1, 2, 4))
    box = g.op("Concat", g.op("Div", g.op("Add", low, high), 2.0), g.op("Sub", high, low), axis=1)
    return g.op("Mul", box, strides), g.op("Sigmoid", scores)


def yolo_8():
    g = Graph(17, 42)
    g.output(g.op("Concat", *boxes_and_scores(g), axis=1), "output0")
    return g


def yolo_suppressed(kept=9):
    """The boxes of each class that overlap no better one much, and a row of numbers for each of them: image, box, class, score."""
    g = Graph(17, 45)
    boxes, scores = boxes_and_scores(g)
    boxes = g.transpose(boxes, 0, 2, 1)
    chosen = g.op("NonMaxSuppression", boxes, scores, g.ints(kept), g.constant([1], [0.45]), g.constant([1], [0.54]), center_point_box=1)
    image, label, place = (g.slice(chosen, 1, i, i + 1) for i in range(3))
    box = g.op("GatherND", boxes, g.op("Concat", image, place, axis=1))
    score = g.unsqueeze(g.op("GatherND", scores, chosen), 1)
    g.output(g.op("Concat", g.cast(image, FLOAT), box, g.cast(label, FLOAT), score, axis=1), "detections")
    g.output(chosen, "selected", INT64)
    return g


def proposals(anchors=60, classes=4, kept=20):
    """A head's most probable boxes from their distances to anchors, clipped to the image, with their classes."""
    g = Graph(11, 43)
    scores = g.input("scores", ["batch", anchors, classes], FLOAT, -4, 4)
    deltas = g.input("deltas", ["batch", anchors, 4], FLOAT, -1, 1)
    sizes = g.input("image_sizes", ["batch", 2], FLOAT, 40, 90)
    flat = g.reshape(g.op("Sigmoid", scores), g.extent(scores, 0), -1)
    best, places = g.op("TopK", flat, g.ints(kept), outputs=2, axis=1)
    labels = g.op("Mod", places, g.integer(classes), fmod=0)
    rows = g.op("Div", places, g.integer(classes))
    deltas = g.op("GatherElements", deltas, g.expand(g.unsqueeze(rows, -1), -1, -1, 4), axis=1)
    table = g.stored([anchors, 4], [float(v) for i in range(anchors) for v in (i % 8 * 8, i // 8 * 8, i % 8 * 8 + 12, i // 8 * 8 + 20)])
    boxes = g.op("Gather", table, rows, axis=0)
    part = lambda x, i: g.op("Gather", x, g.integer(i), axis=2)
    width, height = (g.op("Sub", part(boxes, i + 2), part(boxes, i)) for i in (0, 1))
    dx, dy, dw, dh = (g.op("Div", part(deltas, i), (10.0, 10.0, 5.0, 5.0)[i]) for i in range(4))
    corners = []
    for i, (d, grow, extent) in enumerate(((dx, dw, width), (dy, dh, height))):
        center = g.op("Add", g.op("Mul", d, extent), g.op("Add", part(boxes, i), g.op("Mul", extent, 0.5)))
        half = g.op("Mul", g.op("Mul", g.op("Exp", g.op("Clip", grow, "", g.number(math.log(1000 / 16)))), extent), 0.5)
        limit = g.op("Gather", sizes, g.ints(1 - i), axis=1)
        corners.append([g.op("Min", g.op("Max", c, g.number(0.0)), limit) for c in (g.op("Sub", center, half), g.op("Add", center, half))])
    boxes = g.op("Concat", *(g.unsqueeze(corners[a][b], 2) for b in (0, 1) for a in (0, 1)), axis=2)
    area = g.op("Mul", *(g.op("Sub", c[1], c[0]) for c in corners))
    g.output(g.op("Where", g.op("Greater", area, 1.0), best, g.op("Mul", best, 0.0)), "found_scores")
    g.output(boxes, "boxes")
    g.output(g.cast(labels, 6), "labels", 6)
    return g


# ---- masks ----


def encoded_places(g, points, width):
    """Sines and cosines of random projections of places in [0, 1)."""
    x = g.op("MatMul", g.op("Sub", g.op("Mul", points, 2.0), 1.0), g.weight(2, width // 2, fan=1))
    x = g.op("Mul", x, 2 * math.pi)
    return g.op("Concat", g.op("Sin", x), g.op("Cos", x), axis=-1)


def points_to_tokens(g, points, labels, width):
    """A vector for each point, by its label: none, outside, inside, two corners."""
    x = encoded_places(g, g.op("Div", g.op("Add", points, 0.5), 64.0), width)
    labels = g.op("Expand", g.unsqueeze(labels, -1), g.op("Shape", x))
    none = g.cast(g.op("Equal", labels, -1.0), FLOAT)
    x = g.op("Add", g.op("Mul", x, g.op("Sub", 1.0, none)), g.op("Mul", g.weight(1, width), none))
    for i in range(4):
        x = g.op("Add", x, g.op("Mul", g.weight(1, width), g.cast(g.op("Equal", labels, float(i)), FLOAT)))
    return x


def two_ways(g, tokens, image, places, width):
    """Attention of tokens to each other, to the image, and of the image to them."""
    def attention(q, k, v, inner):
        batch = g.extent(q, 0)
        q, k, v = (g.split_heads(g.linear(s, width, inner), 2, inner // 2, batch, g.extent(s, 1)) for s in (q, k, v))
        return g.linear(g.join_heads(g.attend(q, k, v, inner // 2), inner, batch, g.extent(q, 2)), inner, width)

    x = tokens
    for i in range(2):
        with_places = x if i == 0 else g.op("Add", x, tokens)
        y = attention(with_places, with_places, x, width)
        x = g.layer_norm(y if i == 0 else g.op("Add", x, y), width)
        keys = g.op("Add", image, places)
        x = g.layer_norm(g.op("Add", x, attention(g.op("Add", x, tokens), keys, image, width // 2)), width)
        x = g.layer_norm(g.op("Add", x, g.linear(g.op("Relu", g.linear(x, width, 2 * width)), 2 * width, width)), width)
        y = attention(keys, g.op("Add", x, tokens), x, width // 2)
        image = g.layer_norm(g.op("Add", image, y), width)
    return x, image


def layer_norm_2d(g, x, channels):
    centered = g.op("Sub", x, g.mean(x, 1))
    y = g.op("Div", centered, g.op("Sqrt", g.op("Add", g.mean(g.op("Pow", centered, 2.0), 1), 1e-6)))
    return g.op("Add", g.op("Mul", g.weight(channels, 1, 1, fan=30, around=1), y), g.weight(channels, 1, 1, fan=30))


def mask_decoder(width=16, side=6, masks=3):
    """From an image's embedding and points to masks; the one with the highest score is given in the image's size."""
    g = Graph(16, 44)
    embedding = g.input("image_embeddings", [1, width, side, side])
    points = g.input("point_coords", ["batch", "points", 2], FLOAT, 0, 63)
    labels = g.input("point_labels", ["batch", "points"], FLOAT, 0, 1)
    before = g.input("mask_input", [1, 1, 4 * side, 4 * side])
    has_before = g.input("has_mask_input", [1], FLOAT, 0, 1)
    sparse = points_to_tokens(g, points, labels, width)
    x = g.gelu(layer_norm_2d(g, g.conv(before, 1, 4, [2, 2], strides=[2, 2]), 4))
    x = g.conv(g.gelu(layer_norm_2d(g, g.conv(x, 4, 8, [2, 2], strides=[2, 2]), 8)), 8, width, [1, 1])
    dense = g.op("Add", g.op("Mul", has_before, x), g.op("Mul", g.op("Sub", 1.0, has_before), g.weight(1, width, 1, 1)))
    tokens = g.op("Concat", g.weight(1, width), g.weight(masks, width), axis=0)
    tokens = g.op("Concat", g.expand(g.unsqueeze(tokens, 0), g.extent(sparse, 0), -1, -1), sparse, axis=1)
    image = g.op("Add", g.op("Tile", embedding, g.list(g.extent(tokens, 0), 1, 1, 1)), dense)
    ones = g.op("ConstantOfShape", g.ints(side, side), value=tensor("", [1], [1.0]))
    grid = [g.op("Div", g.op("Sub", g.op("CumSum", ones, g.integer(axis)), 0.5), float(side)) for axis in (1, 0)]
    places = g.transpose(encoded_places(g, g.op("Concat", *(g.unsqueeze(t, -1) for t in grid), axis=-1), width), 2, 0, 1)
    places = g.op("Tile", g.unsqueeze(places, 0), g.list(g.extent(tokens, 0), 1, 1, 1))
    rows = lambda x: g.transpose(g.reshape(x, g.extent(x, 0), width, -1), 0, 2, 1)
    tokens, image = two_ways(g, tokens, rows(image), rows(places), width)
    image = g.reshape(g.transpose(image, 0, 2, 1), g.extent(image, 0), width, side, side)
    image = g.op("ConvTranspose", image, g.weight(width, 8, 2, 2, fan=width), g.weight(8, fan=30), kernel_shape=[2, 2], strides=[2, 2])
    image = g.gelu(layer_norm_2d(g, image, 8))
    image = g.gelu(g.op("ConvTranspose", image, g.weight(8, 4, 2, 2, fan=8), g.weight(4, fan=30), kernel_shape=[2, 2], strides=[2, 2]))
    of_mask = lambda i: g.op("Gather", g.slice(tokens, 1, 1, 1 + masks), g.integer(i), axis=1)
    filters = g.op("Concat", *(g.unsqueeze(g.linear(g.op("Relu", g.linear(of_mask(i), width, width)), width, 4), 1) for i in range(masks)), axis=1)
    found = g.op("MatMul", filters, g.reshape(image, g.extent(image, 0), 4, -1))
    found = g.reshape(found, g.extent(image, 0), -1, g.extent(image, 2), g.extent(image, 3))
    scores = g.linear(g.op("Relu", g.linear(g.op("Gather", tokens, g.integer(0), axis=1), width, width)), width, masks)
    best = g.op("ArgMax", scores, axis=1, keepdims=0)
    batch = g.range(0, g.extent(found, 0))
    chosen = g.op("GatherND", found, g.op("Concat", g.unsqueeze(batch, -1), g.unsqueeze(best, -1), axis=-1))
    chosen = g.op("Resize", g.unsqueeze(chosen, 1), "", "", g.op("Concat", g.list(g.extent(found, 0)), g.ints(1, 50, 64), axis=0),
                  coordinate_transformation_mode="pytorch_half_pixel", cubic_coeff_a=-0.75, mode="linear", nearest_mode="floor")
    g.output(chosen, "masks")
    g.output(scores, "iou_predictions")
    g.output(found, "low_res_masks")
    return g
