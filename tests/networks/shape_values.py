# SPDX-License-Identifier: Apache-2.0
"""Which elements an operator keeps, repeats or leaves out."""

import itertools
import math
from dataclasses import replace

from onnx_writer import INT64
from value_cases import array, case, constant, row, scalar


def transposed(x, w, stride, dilation, before, out):
    """ConvTranspose in one dimension: all sums, of which those from number `before` on are kept."""
    y = [0.0] * (max(before, 0) + out + len(x) * stride + len(w) * dilation)
    for (i, v), (k, u) in itertools.product(enumerate(x), enumerate(w)):
        y[i * stride + k * dilation] += v * u
    return y[before : before + out]


def transposed_rows():
    """The total of the padding follows from output_shape; SAME_UPPER begins with its smaller half, all else with
    its larger one (ONNX's ConvTranspose)."""
    rows = []
    x, w = [1.0, 2.0, -3.0], [1.0, 10.0, 100.0, 1000.0]
    for stride, dilation, more, out, pad in itertools.product((1, 2, 3), (1, 2), (0, 1), (4, 5), ("NOTSET", "SAME_UPPER", "SAME_LOWER")):
        total = stride * 2 + 3 * dilation + 1 + more - out
        if more >= stride or total < 0:
            continue
        before = total // 2 if pad == "SAME_UPPER" else total - total // 2
        rows.append(row("ConvTranspose", [array(x, 1, 1, 3), constant(w, 1, 1, 4)], array(transposed(x, w, stride, dilation, before, out), 1, 1, out), strides=[stride],
                        dilations=[dilation], output_padding=[more], output_shape=[out], auto_pad=pad))
    return rows


def kept_ratio():
    """Resize with a common scale, the smallest or largest of the axes'; extents are rounded, halves up."""
    rows = []
    h, w = 3, 2
    x = [float(3 * i + 1) for i in range(h * w)]
    for axes, policy, sizes in itertools.product(([2, 3], [3, 2], [2]), ("stretch", "not_larger", "not_smaller"), ([5, 3], [4, 9], [9, 5])):
        sizes = sizes[: len(axes)]
        scales = {axis: size / (h, w)[axis - 2] for axis, size in zip(axes, sizes)}
        if policy != "stretch":
            common = (min if policy == "not_larger" else max)(scales.values())
            scales = {axis: common for axis in axes}
        out = [math.floor(extent * scales.get(2 + d, 1) + 0.5) for d, extent in enumerate((h, w))]
        at = lambda d, i: min(math.floor(i / scales.get(2 + d, 1) + 1e-9), (h, w)[d] - 1)
        right = [x[at(0, i) * w + at(1, j)] for i in range(out[0]) for j in range(out[1])]
        rows.append(row("Resize", [array(x, 1, 1, h, w), None, None, constant(sizes, kind=INT64)], array(right, 1, 1, *out), axes=axes, keep_aspect_ratio_policy=policy,
                        mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"))
    return rows


def padded(line, before, after, mode, value):
    """Negative padding removes elements before others are repeated."""
    line = line[max(-before, 0) : len(line) - max(-after, 0)]
    n = len(line)
    places = range(-max(before, 0), n + max(after, 0))
    if mode == "constant":
        return [line[i] if 0 <= i < n else value for i in places]
    if mode == "reflect":
        return [line[min(i % (2 * n - 2), -i % (2 * n - 2))] for i in places]
    return [line[i % n] if mode == "wrap" else line[min(max(i, 0), n - 1)] for i in places]


def padded_rows():
    rows = []
    x = [[float(10 * i + j) for j in range(5)] for i in range(3)]
    for mode, (before, after) in itertools.product(("constant", "edge", "reflect", "wrap"), ((2, 1), (2, -1), (-2, 2), (-1, -2), (0, -3), (1, -3))):
        right = [padded(line, before, after, mode, 7.0) for line in x]
        value = scalar(7.0) if mode == "constant" else None
        for axis in 1, -1:
            rows.append(row("Pad", [array(sum(x, []), 3, 5), constant([before, after], kind=INT64), value, constant([axis], kind=INT64)],
                            array(sum(right, []), 3, len(right[0])), mode=mode))
    return rows


CASES = {name: replace(case(rows), is_everywhere=False) for name, rows in (("transposed", transposed_rows()), ("kept_ratio", kept_ratio()), ("padded", padded_rows()))}
