# SPDX-License-Identifier: Apache-2.0
"""Resize by windows of weighted elements (cubic, and linear with antialias) and of a part of an image, from ONNX's definition."""

import itertools
import math
import random

from arranged import refused
from defined import Case, drawn, made, whole
from onnx_writer import FLOAT, INT32, INT64, model, node, tensor, value

DRAW = random.Random(19)


def source(i, n, out, scale, mode, part):
    """The coordinate of an output in the input."""
    if mode == "align_corners":  # the length before it is rounded down, as ONNX's own cases have it
        return i * (n - 1) / (scale * n - 1) if scale * n != 1 else 0
    if mode == "asymmetric":
        return i / scale
    if mode == "tf_crop_and_resize":
        start, end = part
        return start * (n - 1) + i * (end - start) * (n - 1) / (out - 1) if out > 1 else 0.5 * (start + end) * (n - 1)
    if mode == "pytorch_half_pixel" and out == 1:
        return 0
    moved = n / 2 * (1 - out / (scale * n)) if mode == "half_pixel_symmetric" else 0
    return moved + (i + 0.5) / scale - 0.5


def filtered(distance, mode, a):
    d = abs(distance)
    if mode == "linear":
        return max(0, 1 - d)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0


def window(x, n, scale, mode, a, antialias, excludes):
    """Elements and weights: those at which the filter, stretched if the image is to become smaller, is not 0. Beyond the image are its first
    and last element, unless they are excluded."""
    stretch = min(scale, 1) if antialias else 1
    reach = (2 if mode == "cubic" else 1) / stretch
    near = [(i, filtered((i - x) * stretch, mode, a)) for i in range(math.floor(x - reach), math.ceil(x + reach) + 1)]
    near = [(i, w) for i, w in near if 0 <= i < n or not excludes]
    total = sum(w for _, w in near) if antialias or excludes else 1
    return [(min(max(i, 0), n - 1), w / total) for i, w in near]


def nearest(x, n):
    return [(min(max(math.ceil(x - 0.5), 0), n - 1), 1)]


def resized(x, scales=None, sizes=None, mode="cubic", transformation="half_pixel", a=-0.75, antialias=False, excludes=False, roi=None, outside=0.0, opset=19):
    rank = len(x.shape)
    out = sizes or [math.floor(n * s) for n, s in zip(x.shape, scales)]
    factors = scales or [o / n for o, n in zip(sizes, x.shape)]

    def rule(*at):
        choices = []
        for d, i in enumerate(at):
            n, part = x.shape[d], (roi[d], roi[rank + d]) if roi else (0, 1)
            if out[d] == n and factors[d] == 1 and part == (0, 1):
                choices.append([(i, 1)])
                continue
            s = source(i, n, out[d], factors[d], transformation, part)
            if transformation == "tf_crop_and_resize" and not 0 <= s <= n - 1:
                return outside
            choices.append(nearest(s, n) if mode == "nearest" else window(s, n, factors[d], mode, a, antialias, excludes))
        return sum(x[tuple(i for i, _ in chosen)] * math.prod(w for _, w in chosen) for chosen in itertools.product(*choices))
    right = made(out, rule)
    more = {"antialias": int(antialias)} if opset >= 18 else {}
    tensors = [tensor("roi", [2 * rank], roi, FLOAT)] if roi else []
    tensors.append(tensor("sizes", [rank], sizes, INT64) if sizes else tensor("scales", [rank], scales, FLOAT))
    inputs = ["x", "roi" if roi else "", "" if sizes else "scales", *(["sizes"] if sizes else [])]
    made_node = node("Resize", inputs, ["y"], mode=mode, coordinate_transformation_mode=transformation, cubic_coeff_a=a,
                     exclude_outside=int(excludes), extrapolation_value=outside, **more)
    return Case(model([made_node], [value("x", x.shape)], [value("y", right.shape)], tensors, opset=opset), {"x": x}, [right], 1e-5)


X, TALL, ROW = drawn(DRAW, (1, 2, 4, 5)), drawn(DRAW, (1, 1, 11, 3)), drawn(DRAW, (1, 1, 7))
TRANSFORMATIONS = "half_pixel half_pixel_symmetric pytorch_half_pixel align_corners asymmetric".split()
CASES = {f"cubic_{t}_{excludes}": resized(X, [1.0, 1.0, 2.5, 0.75], transformation=t, excludes=excludes) for t in TRANSFORMATIONS for excludes in (False, True)}
CASES.update({f"{mode}_antialias_{t}_{excludes}": resized(TALL, sizes=[1, 1, 4, 5], mode=mode, transformation=t, antialias=True, excludes=excludes)
              for mode in ("linear", "cubic") for t in TRANSFORMATIONS for excludes in ((False, True) if t == "half_pixel" else (False,))})
CASES.update({f"{mode}_crop_{outside}": resized(X, sizes=[1, 2, 3, 6], mode=mode, transformation="tf_crop_and_resize", roi=[0.0, 0.0, 0.25, -0.5, 1.0, 1.0, 1.25, 0.75], outside=outside)
              for mode, outside in (("nearest", 9.5), ("linear", 0.0), ("cubic", 9.5))})
CASES.update({
    "cubic_coefficient": resized(X, [1.0, 1.0, 1.5, 2.0], a=-0.5), "cubic_one": resized(X, sizes=[1, 2, 1, 1]), "cubic_one_pytorch": resized(X, sizes=[1, 2, 1, 3], transformation="pytorch_half_pixel"),
    "cubic_row": resized(ROW, sizes=[1, 1, 4], opset=11), "cubic_channels": resized(X, sizes=[1, 3, 4, 5], opset=13), "cubic_same": resized(X, sizes=[1, 2, 4, 5], opset=18),
    "cubic_backwards": resized(ROW, sizes=[1, 1, 5], transformation="tf_crop_and_resize", roi=[0.0, 0.0, 1.0, 1.0, 1.0, 0.0]),
    "antialias_larger": resized(X, sizes=[1, 2, 9, 8], mode="linear", antialias=True), "antialias_one": resized(TALL, sizes=[1, 1, 1, 1], antialias=True),
    "antialias_far": resized(drawn(DRAW, (1, 1, 40)), [1.0, 1.0, 0.1], mode="linear", antialias=True, excludes=True),
    "area": refused("Resize", {"x": X}, "mode=area is not supported; nearest, linear and cubic are", [("scales", [4], [1.0, 1.0, 2.0, 2.0], FLOAT)], opset=10, mode="area"),
    "cubic_of_integers": refused("Resize", {"x": whole(DRAW, (1, 3), 0, 9, INT32)}, "mode=cubic of type i32 is not supported", [("s", [2], [1.0, 2.0], FLOAT)], opset=10, mode="cubic"),
})
