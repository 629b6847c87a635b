# SPDX-License-Identifier: Apache-2.0
"""RoiAlign and DeformConv, which read images between their elements at places that data give, from ONNX's definitions."""

import itertools
import math
import random

from arranged import refused
from defined import Array, Case, drawn, made, whole
from onnx_writer import INT32, INT64, model, node, value

DRAW = random.Random(22)


def near(y, n):
    """The elements next to a place that is moved into the image, and their weights."""
    y = min(max(y, 0), n - 1)
    low = math.floor(y)
    return [(low, 1 - (y - low)), (min(low + 1, n - 1), y - low)]


def aligned(x, regions, images, size, samples, scale=1.0, mode="avg", half=True, opset=16):
    def rule(r, c, *at):
        total = []
        for s in itertools.product(range(samples), range(samples)):
            terms, outside = [], False
            for d in range(2):
                start, end = (regions[r, k] * scale - (0.5 if half else 0) for k in (1 - d, 3 - d))
                length = end - start if half else max(end - start, 1)
                y = start + (at[d] + (s[d] + 0.5) / samples) * length / size[d]
                outside |= y < -1 or y > x.shape[d + 2]
                terms.append(near(y, x.shape[d + 2]))
            total.append([0 if outside else x[images[r], c, i, j] * a * b for (i, a), (j, b) in itertools.product(*terms)])
        return max(map(max, total)) if mode == "max" else sum(map(sum, total)) / samples**2
    right = made((regions.shape[0], x.shape[1], *size), rule)
    more = {"coordinate_transformation_mode": "half_pixel" if half else "output_half_pixel"} if opset >= 16 else {}
    made_node = node("RoiAlign", ["x", "r", "i"], ["y"], mode=mode, output_height=size[0], output_width=size[1], sampling_ratio=samples, spatial_scale=scale, **more)
    inputs = {"x": x, "r": regions, "i": images}
    return Case(model([made_node], [value(k, v.shape, v.kind) for k, v in inputs.items()], [value("y", right.shape)], opset=opset), inputs, [right], 1e-5)


def deformed(x, f, offsets, bias=None, factors=None, strides=(1, 1), dilations=(1, 1), pads=(0, 0, 0, 0), group=1, groups=1, opset=19):
    rows, columns = f.shape[2:]
    out = offsets.shape[2:]

    def element(n, c, at):
        """Interpolated; elements outside are 0."""
        total = 0
        for taps in itertools.product((0, 1), (0, 1)):
            place = [math.floor(a) + t for a, t in zip(at, taps)]
            if all(0 <= i < size for i, size in zip(place, x.shape[2:])):
                total += x[n, c, place[0], place[1]] * math.prod(1 - abs(a - i) for a, i in zip(at, place))
        return total

    def rule(n, o, *at):
        total = bias[o] if bias else 0
        for c, r, s in itertools.product(range(f.shape[1]), range(rows), range(columns)):
            channel = o // (f.shape[0] // group) * f.shape[1] + c
            k = (channel // (x.shape[1] // groups) * rows + r) * columns + s
            place = [at[d] * strides[d] + i * dilations[d] - pads[d] + offsets[(n, 2 * k + d, *at)] for d, i in enumerate((r, s))]
            total += element(n, channel, place) * f[o, c, r, s] * (factors[(n, k, *at)] if factors else 1)
        return total
    right = made((x.shape[0], f.shape[0], *out), rule)
    inputs = {k: v for k, v in {"x": x, "f": f, "o": offsets, "b": bias, "m": factors}.items() if v}
    names = ["x", "f", "o", "b" if bias else "", "m" if factors else ""]
    made_node = node("DeformConv", names, ["y"], strides=list(strides), dilations=list(dilations), pads=list(pads), group=group, offset_group=groups)
    return Case(model([made_node], [value(k, v.shape, v.kind) for k, v in inputs.items()], [value("y", right.shape)], opset=opset), inputs, [right], 1e-5)


X = drawn(DRAW, (2, 3, 6, 7))
# Inside, across each edge, outside, of no extent, and backwards.
REGIONS = Array((6, 4), [0.7, 1.1, 5.2, 4.9, -3.0, -2.5, 3.0, 9.0, 8.5, 7.5, 12.0, 9.0, 2.0, 2.0, 2.0, 2.0, 4.5, 3.0, 1.5, 0.5, 0.0, 0.0, 6.0, 5.0])
IMAGES = Array((6,), [0, 1, 1, 0, 1, 0], INT64)
IMAGE, FILTER = drawn(DRAW, (2, 4, 5, 6)), drawn(DRAW, (6, 4, 3, 2))
OFFSETS = drawn(DRAW, (2, 12, 3, 5), -3, 3)
NO_SAMPLES = dict(opset=16, output_height=2, output_width=2)
GIVEN = {"x": X, "r": REGIONS, "i": IMAGES}
CASES = {
    **{f"aligned_{mode}_{half}": aligned(X, REGIONS, IMAGES, (3, 2), 2, 1.0, mode, half) for mode in ("avg", "max") for half in (False, True)},
    "aligned_scale": aligned(X, made((6, 4), lambda *i: 4 * REGIONS[i]), IMAGES, (1, 4), 3, 0.25), "aligned_early": aligned(X, REGIONS, IMAGES, (2, 2), 1, half=False, opset=10),
    "aligned_point": aligned(drawn(DRAW, (2, 1, 1, 1)), REGIONS, IMAGES, (2, 2), 2, opset=22), "aligned_none": aligned(X, Array((0, 4), []), Array((0,), [], INT64), (2, 2), 2),
    "aligned_by_data": refused("RoiAlign", GIVEN, "sampling_ratio=0, by which the number of samples depends on data, is not supported", **NO_SAMPLES),
    "aligned_mode": refused("RoiAlign", GIVEN, "mode=median with coordinate_transformation_mode=half_pixel is not supported", mode="median", sampling_ratio=2, **NO_SAMPLES),
    "aligned_types": refused("RoiAlign", {**GIVEN, "i": whole(DRAW, (6,), 0, 1, INT32)}, "do not fit images of shape 2x3x6x7", sampling_ratio=2, **NO_SAMPLES),
    "aligned_outside": refused("RoiAlign", {**GIVEN, "i": Array((6,), [0, 1, 2, 0, 1, 0], INT64)}, "index", sampling_ratio=2, **NO_SAMPLES),
    "deformed": deformed(IMAGE, FILTER, OFFSETS), "deformed_bias": deformed(IMAGE, FILTER, OFFSETS, drawn(DRAW, (6,)), drawn(DRAW, (2, 6, 3, 5))),
    "deformed_nowhere": deformed(IMAGE, FILTER, drawn(DRAW, (2, 12, 3, 5), 50, 60)), "deformed_not": deformed(IMAGE, FILTER, made((2, 12, 3, 5), lambda *i: 0.0), opset=22),
    "deformed_window": deformed(IMAGE, FILTER, drawn(DRAW, (2, 12, 2, 6), -1, 1), strides=(2, 1), dilations=(2, 1), pads=(1, 0, 1, 1)),
    "deformed_groups": deformed(IMAGE, drawn(DRAW, (6, 2, 3, 2)), OFFSETS, group=2), "deformed_offset_groups": deformed(IMAGE, FILTER, drawn(DRAW, (2, 24, 3, 5), -2, 2), None, drawn(DRAW, (2, 12, 3, 5)), groups=2),
    "deformed_both": deformed(IMAGE, drawn(DRAW, (4, 1, 1, 1)), drawn(DRAW, (2, 4, 5, 6), -1, 1), drawn(DRAW, (4,)), group=4, groups=2),
    "deformed_shape": refused("DeformConv", {"x": IMAGE, "f": FILTER, "o": drawn(DRAW, (2, 11, 3, 5))}, "with offsets of shape 2x11x3x5, group=1, offset_group=1 does not fit an image of shape 2x4x5x6", opset=19),
    "deformed_row": refused("DeformConv", {"x": drawn(DRAW, (1, 2, 5)), "f": drawn(DRAW, (2, 2, 3)), "o": drawn(DRAW, (1, 3, 3))}, "does not fit an image of shape 1x2x5", opset=19),
}
