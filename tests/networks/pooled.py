# SPDX-License-Identifier: Apache-2.0
"""Places of MaxPool, MaxUnpool and Col2Im, and ConvTranspose whose windows do not overlap, from ONNX's definitions."""

import itertools
import math
import random

from arranged import refused
from defined import Array, Case, drawn, indices, made, whole
from onnx_writer import FLOAT, INT8, INT32, INT64, UINT8, model, node, tensor, value

DRAW = random.Random(9)
NAN = math.nan


def spread(n, strides=None, dilations=None, pads=None):
    return strides or [1] * n, dilations or [1] * n, pads or [0] * 2 * n


def pooled(x, kernel, strides=None, dilations=None, pads=None, ceil=False, columns=False, opset=12, only_places=False):
    """The first largest element of each window, or the first NaN, and its place. Outside of the image there are none."""
    n = len(kernel)
    sizes, (s, d, p) = x.shape[2:], spread(n, strides, dilations, pads)
    out = []
    for i in range(n):
        room = sizes[i] + p[i] + p[n + i] - (kernel[i] - 1) * d[i] - 1
        out.append((-(-room // s[i]) if ceil else room // s[i]) + 1)
        out[i] -= ceil and (out[i] - 1) * s[i] >= sizes[i] + p[i]
    best = {}
    for at in indices((*x.shape[:2], *out)):
        for r in itertools.product(*map(range, kernel)):
            place = tuple(q * s[i] + r[i] * d[i] - p[i] for i, q in enumerate(at[2:]))
            if not all(0 <= a < size for a, size in zip(place, sizes)):
                continue
            v = x[(*at[:2], *place)]
            if at not in best or v > best[at][0] or v != v and best[at][0] == best[at][0]:
                best[at] = v, place

    def number(*at):
        weights = [math.prod(sizes[:i] if columns else sizes[i + 1:]) for i in range(n)]
        return (at[0] * x.shape[1] + at[1]) * math.prod(sizes) + sum(a * w for a, w in zip(best[at][1], weights)) if at in best else -1
    values = made((*x.shape[:2], *out), lambda *at: best[at][0] if at in best else -math.inf, x.kind)
    places = made(values.shape, number, INT64)
    more = {k: v for k, v in {"strides": strides, "dilations": dilations, "pads": pads, "ceil_mode": int(ceil), "storage_order": int(columns)}.items() if v}
    outputs = [value("y", values.shape, x.kind), value("at", places.shape, INT64)][only_places:]
    return Case(model([node("MaxPool", ["x"], ["y", "at"], "pool", kernel_shape=kernel, **more)], [value("x", x.shape, x.kind)], outputs, opset=opset),
                {"x": x}, [values, places][only_places:])


def between_bytes(scale):
    """Places between DequantizeLinear and QuantizeLinear; there are ties."""
    x = whole(DRAW, (1, 2, 5, 5), 120, 126, UINT8)
    right = pooled(made(x.shape, lambda *at: (x[at] - 123) * scale), [2, 2]).outputs[1]
    nodes = [node("DequantizeLinear", ["x", "s", "z"], ["d"]), node("MaxPool", ["d"], ["m", "at"], kernel_shape=[2, 2]), node("QuantizeLinear", ["m", "s", "z"], ["y"])]
    outputs = [value("at", right.shape, INT64), value("y", right.shape, UINT8)]
    best = made(right.shape, lambda *at: x.values[right[at]], UINT8)
    return Case(model(nodes, [value("x", x.shape, UINT8)], outputs, [tensor("s", [], [scale]), tensor("z", [], [123], UINT8)]), {"x": x}, [right, best])


def unpooled(x, at, kernel, strides=None, pads=None, shape=None, opset=11):
    n = len(kernel)
    s, _, p = spread(n, strides, None, pads)
    image = [*x.shape[:2], *((x.shape[i + 2] - 1) * s[i] + kernel[i] - p[i] - p[n + i] for i in range(n))]
    flat = [0] * math.prod(image)
    for v, place in zip(x.values, at.values):
        flat[place] = v
    inside = Array(tuple(image), flat, x.kind)
    right = made(shape or image, lambda *i: inside[i] if all(a < b for a, b in zip(i, image)) else 0, x.kind)
    more = {k: v for k, v in {"strides": strides, "pads": pads}.items() if v}
    made_node = node("MaxUnpool", ["x", "at", *(["shape"] if shape else [])], ["y"], kernel_shape=kernel, **more)
    tensors = [tensor("shape", [len(shape)], shape, INT64)] if shape else []
    return Case(model([made_node], [value("x", x.shape, x.kind), value("at", at.shape, INT64)], [value("y", right.shape, x.kind)], tensors, opset=opset),
                {"x": x, "at": at}, [right])


def places(shape, most):
    """Different places."""
    return Array(tuple(shape), DRAW.sample(range(most), math.prod(shape)), INT64)


def summed(x, image, block, strides=None, dilations=None, pads=None):
    n = len(image)
    s, d, p = spread(n, strides, dilations, pads)
    blocks = [(image[i] + p[i] + p[n + i] - (block[i] - 1) * d[i] - 1) // s[i] + 1 for i in range(n)]
    channels = x.shape[1] // math.prod(block)
    total = {}
    for b, c in itertools.product(range(x.shape[0]), range(channels)):
        for row, r in enumerate(itertools.product(*map(range, block))):
            for column, q in enumerate(itertools.product(*map(range, blocks))):
                at = b, c, *(q[i] * s[i] + r[i] * d[i] - p[i] for i in range(n))
                total[at] = total.get(at, 0) + x[b, c * math.prod(block) + row, column]
    right = made((x.shape[0], channels, *image), lambda *at: total.get(at, 0), x.kind)
    more = {k: v for k, v in {"strides": strides, "dilations": dilations, "pads": pads}.items() if v}
    made_node = node("Col2Im", ["x", "image", "block"], ["y"], **more)
    return Case(model([made_node], [value("x", x.shape, x.kind)], [value("y", right.shape, x.kind)],
                      [tensor("image", [n], image, INT64), tensor("block", [n], block, INT64)], opset=18), {"x": x}, [right])


X, BYTES = drawn(DRAW, (2, 3, 5, 6)), whole(DRAW, (2, 2, 5, 4), 0, 3, UINT8)
ODD = Array((1, 2, 3, 3), [1.0, NAN, NAN, 2.0, 3.0, 3.0, -math.inf, 1.0, 3.0] + [-math.inf] * 9)
def tiled(kernel, bias=True, constants=("w", "b"), pads=None, more=None, strides=None, batch=1, sizes=(3, 4)):
    """ConvTranspose: each element of the image makes a tile of the result, cut off by pads or followed by zeros (more)."""
    x, w, b = drawn(DRAW, (batch, 5, *sizes)), drawn(DRAW, (5, 3, *kernel)), drawn(DRAW, (3,)) if bias else None
    s, p, m = strides or kernel, pads or [0] * 4, more or [0, 0]
    x.values[-1] = NAN
    out = [s[i] * (sizes[i] - 1) + kernel[i] + m[i] - p[i] - p[2 + i] for i in range(2)]

    def element(n, o, *at):
        total = b[(o,)] if bias else 0.0
        for r in itertools.product(*map(range, kernel)):
            place = [at[i] + p[i] - r[i] for i in range(2)]
            if all(v % s[i] == 0 and 0 <= v // s[i] < sizes[i] for i, v in enumerate(place)):
                total += sum(x[n, c, place[0] // s[0], place[1] // s[1]] * w[c, o, r[0], r[1]] for c in range(5))
        return total
    y = made((batch, 3, *out), element)
    given = {k: v for k, v in {"x": x, "w": w, "b": b}.items() if v and k not in constants}
    fixed = [tensor(k, v.shape, v.values) for k, v in {"w": w, "b": b}.items() if v and k in constants]
    attributes = {"strides": s, **({"pads": pads} if pads else {}), **({"output_padding": more} if more else {})}
    return Case(model([node("ConvTranspose", ["x", "w", *(["b"] if bias else [])], ["y"], **attributes)], [value(k, v.shape) for k, v in given.items()], [value("y", y.shape)], fixed),
                given, [y], 2e-6)


CASES = {
    "tiles": tiled([2, 2]), "tiles_three": tiled([3, 3], bias=False, batch=2), "tiles_computed": tiled([2, 2], constants=()), "tiles_bias": tiled([2, 2], constants=("w",)),
    "tiles_cut": tiled([2, 2], pads=[1, 0, 0, 1]), "tiles_apart": tiled([2, 2], strides=[3, 3]), "tiles_followed": tiled([2, 2], more=[1, 0]), "tiles_oblong": tiled([2, 3]),
    "tiles_one": tiled([2, 2], sizes=(1, 1)),
    "places": pooled(X, [2, 2]), "places_columns": pooled(X, [2, 3], [2, 1], columns=True), "places_pads": pooled(X, [3, 3], [2, 2], pads=[1, 2, 2, 1]),
    "places_dilated": pooled(X, [2, 2], dilations=[2, 3], pads=[1, 0, 0, 2]), "places_ceil": pooled(X, [3, 2], [2, 3], ceil=True), "places_ties": pooled(BYTES, [2, 2], pads=[1, 1, 1, 1]),
    "places_signed": pooled(whole(DRAW, (1, 2, 4, 4), -128, -127, INT8), [3, 3], pads=[1, 1, 1, 1], columns=True), "places_nan": pooled(ODD, [2, 2], pads=[1, 1, 1, 1]),
    "places_row": pooled(drawn(DRAW, (2, 2, 9)), [3], [2], pads=[1, 1], columns=True), "places_volume": pooled(drawn(DRAW, (1, 2, 3, 4, 3)), [2, 2, 2], [1, 2, 1], pads=[0, 1, 0, 1, 0, 1]),
    "places_volume_columns": pooled(drawn(DRAW, (2, 1, 3, 4, 3)), [2, 2, 2], columns=True), "places_of_padding": pooled(drawn(DRAW, (1, 1, 2, 2)), [1, 1], [2, 2], pads=[1, 1, 1, 1], opset=10),
    "places_of_bytes": between_bytes(0.5), "places_of_negative_bytes": between_bytes(-0.5),
    "places_only": pooled(X, [2, 2], [2, 2], only_places=True),
    "unpool": unpooled(drawn(DRAW, (1, 2, 2, 3)), places((1, 2, 2, 3), 48), [2, 2], [2, 2]), "unpool_shape": unpooled(drawn(DRAW, (1, 1, 2, 2)), places((1, 1, 2, 2), 16), [2, 2], [2, 2], shape=[1, 1, 5, 4]),
    "unpool_pads": unpooled(drawn(DRAW, (2, 1, 3)), places((2, 1, 3), 10), [3], [2], [1, 1]), "unpool_pads_shape": unpooled(drawn(DRAW, (2, 1, 3)), places((2, 1, 3), 10), [3], [2], [1, 1], [2, 1, 8]),
    "unpool_equal": unpooled(drawn(DRAW, (1, 1, 4)), Array((1, 1, 4), [3, 1, 3, 1], INT64), [2], [2]), "unpool_bytes": unpooled(whole(DRAW, (1, 2, 1, 2, 2), 1, 9, UINT8), places((1, 2, 1, 2, 2), 64), [2, 2, 2], [2, 2, 2], opset=22),
    "unpool_none": unpooled(drawn(DRAW, (0, 2, 3)), Array((0, 2, 3), [], INT64), [2], [2]),
    "unpool_types": refused("MaxUnpool", {"x": drawn(DRAW, (1, 1, 4)), "at": whole(DRAW, (1, 1, 4), 0, 3, INT32)}, "places of type i32 and shape 1x1x4 do not fit", opset=11, kernel_shape=[2]),
    "unpool_smaller": refused("MaxUnpool", {"x": drawn(DRAW, (1, 1, 4)), "at": whole(DRAW, (1, 1, 4), 0, 3, INT64)}, "output_shape does not contain the image", [("shape", [3], [1, 1, 4], INT64)],
                              opset=11, kernel_shape=[2]),
    "blocks": summed(drawn(DRAW, (2, 12, 12)), [3, 5], [2, 3], pads=[0, 0, 1, 1]), "blocks_strides": summed(drawn(DRAW, (1, 8, 6)), [5, 8], [2, 2], [2, 3]),
    "blocks_dilated": summed(drawn(DRAW, (1, 4, 9)), [5, 4], [2, 2], [2, 1], [1, 2], [1, 1, 0, 0]), "blocks_row": summed(whole(DRAW, (2, 6, 4), -9, 9, INT32), [9], [3], [2]),
    "blocks_volume": summed(drawn(DRAW, (1, 16, 12)), [3, 3, 4], [2, 2, 2], dilations=[2, 1, 1], pads=[1, 0, 0, 0, 0, 0]), "blocks_apart": summed(drawn(DRAW, (1, 4, 4)), [7, 7], [2, 2], [4, 4]),
    "blocks_none": summed(drawn(DRAW, (1, 4, 0)), [1, 3], [2, 2]), "blocks_wrong": refused("Col2Im", {"x": drawn(DRAW, (1, 4, 5))}, r"is not \[N, channels \* 4, 6\]", [("image", [2], [3, 4], INT64), ("block", [2], [2, 2], INT64)]),
}
