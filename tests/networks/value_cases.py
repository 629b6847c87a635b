# SPDX-License-Identifier: Apache-2.0
"""Cases of NaN and of unions; and networks of many nodes, each a row: its operator, inputs and right output."""

import collections
import math
import struct

from defined import Array, Case
from onnx_writer import FLOAT, INT32, INT64, model, node, tensor, value
from unions import Graph

NAN, INF = math.nan, math.inf

def array(values, *shape, kind=FLOAT):
    return Array(tuple(shape) or (len(values),), list(values), kind)


class Constant(Array):
    """An input that is an initializer of the network."""


def constant(values, *shape, kind=FLOAT):
    return Constant(tuple(shape) or (len(values),), list(values), kind)


def scalar(v, kind=FLOAT):
    return Constant((), [v], kind)


def f32(v):
    """v rounded to f32."""
    return struct.unpack("<f", struct.pack("<f", v))[0]


Row = collections.namedtuple("Row", "op inputs right attributes")


def row(op, inputs, right, **attributes):
    return Row(op, inputs, right, attributes)


def case(rows, ulps=0, opset=20):
    """One network of separate nodes, one for each row."""
    nodes, initializers, inputs, outputs, feeds = [], [], [], [], {}
    for i, r in enumerate(rows):
        names = [f"x{i}_{j}" if a else "" for j, a in enumerate(r.inputs)]
        for name, a in zip(names, r.inputs):
            if isinstance(a, Constant):
                initializers.append(tensor(name, a.shape, a.values, a.kind))
            elif a:
                inputs.append(value(name, a.shape, a.kind))
                feeds[name] = a
        outputs.append(value(f"y{i}", r.right.shape, r.right.kind))
        nodes.append(node(r.op, names, [f"y{i}"], **r.attributes))
    labels = [f"row {i}, {r.op} {r.attributes or ''}" for i, r in enumerate(rows)]
    return Case(model(nodes, inputs, outputs, initializers, opset), feeds, [r.right for r in rows], ulps=ulps, labels=labels, is_everywhere=True)


# ---- NaN ----

MIXED = [NAN, -2.0, 1.0, NAN, 3.0, -INF, INF, NAN, 0.0]


def kept(function, values=None):
    """The function's results; NaN of NaN."""
    return array([NAN if math.isnan(v) else function(v) for v in values or MIXED])


def first_nan(function, *lists):
    return array([NAN if any(map(math.isnan, vs)) else function(vs) for vs in zip(*lists)])


def nan_elementwise():
    """Operators keep NaN. ThresholdedRelu is 0 by its definition: NaN is not above alpha."""
    x, turned = array(MIXED), [MIXED[(i + 4) % 9] for i in range(9)]
    many = [[MIXED[(i * k) % 9] if k % 2 else float(i - k) for i in range(9)] for k in range(12)]
    return case([
        row("Relu", [x], kept(lambda v: max(v, 0.0))), row("Clip", [x, scalar(-1.0), scalar(2.0)], kept(lambda v: min(max(v, -1.0), 2.0))),
        row("Clip", [x, scalar(-1.0)], kept(lambda v: max(v, -1.0))), row("Clip", [x, None, scalar(2.0)], kept(lambda v: min(v, 2.0))),
        row("Clip", [x, scalar(3.0), scalar(2.0)], kept(lambda v: 2.0)),
        row("Max", [x, scalar(0.5)], kept(lambda v: max(v, 0.5))), row("Min", [scalar(0.5), x], kept(lambda v: min(v, 0.5))),
        row("Max", [x, array(turned)], first_nan(max, MIXED, turned)), row("Min", [array(turned), x], first_nan(min, MIXED, turned)),
        row("Max", [array(m) for m in many], first_nan(max, *many)), row("Min", [array(m) for m in many[:5]], first_nan(min, *many[:5])),
        row("Max", [constant(turned), x], first_nan(max, MIXED, turned)), row("Sign", [x], kept(lambda v: float((v > 0) - (v < 0)))),
        row("LeakyRelu", [x], kept(lambda v: v if v >= 0 else v * 0.5), alpha=0.5), row("PRelu", [x, scalar(0.5)], kept(lambda v: v if v >= 0 else v * 0.5)),
        row("HardSigmoid", [x], kept(lambda v: min(max(v * 0.25 + 0.5, 0.0), 1.0)), alpha=0.25, beta=0.5),
        row("ThresholdedRelu", [x], array([v if v > 1 else 0.0 for v in MIXED]), alpha=1.0), row("Abs", [x], kept(abs)),
        row("Elu", [array([NAN, 1.0])], array([NAN, 1.0])), row("Selu", [array([NAN, NAN])], array([NAN, NAN])), row("Celu", [array([NAN, 1.0])], array([NAN, 1.0])),
        row("HardSwish", [array([NAN, 4.0])], array([NAN, 4.0])), row("Mish", [array([NAN, 0.0])], array([NAN, 0.0])),
        row("Softplus", [array([NAN, INF])], array([NAN, INF])), row("Gelu", [array([NAN, 0.0])], array([NAN, 0.0])),
        row("Cast", [array([NAN, 300.0, -1.5])], array([0, 300, -1], kind=INT64), to=INT64),
    ])


def nan_windows():
    """NaN spreads through maxima and sums; other rows do not get one."""
    x = [1.0, NAN, 3.0, 2.0, 5.0, 4.0, 0.0, -1.0, 7.0, 8.0, 6.0, NAN]
    image = array(x, 1, 1, 3, 4)
    rows = [x[4 * i : 4 * i + 4] for i in range(3)]
    pick = lambda f, values: NAN if any(map(math.isnan, values)) else f(values)
    windows = [[rows[r + i][c + j] for i in range(2) for j in range(2)] for r in range(2) for c in range(3)]
    padded = [[rows[r][c] for r in range(3) if abs(r - p) < 2 for c in range(4) if abs(c - q) < 2] for p in range(3) for q in range(4)]
    axis = constant([3], kind=INT64)
    soft = [1 / 4] * 4
    return case([
        row("MaxPool", [image], array([pick(max, w) for w in windows], 1, 1, 2, 3), kernel_shape=[2, 2]),
        row("MaxPool", [image], array([pick(max, w) for w in padded], 1, 1, 3, 4), kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        row("GlobalMaxPool", [array(x[2:10], 1, 2, 2, 2)], array([5.0, 8.0], 1, 2, 1, 1)), row("GlobalMaxPool", [image], array([NAN], 1, 1, 1, 1)),
        row("ReduceMax", [image, axis], array([pick(max, r) for r in rows], 1, 1, 3, 1)), row("ReduceMin", [image, axis], array([pick(min, r) for r in rows], 1, 1, 3, 1)),
        row("Softmax", [array([NAN, 1.0, 2.0, 3.0] + [5.0] * 4, 2, 4)], array([NAN] * 4 + soft, 2, 4), axis=1),
    ])


def nan_after_products():
    """The clamp after a product or convolution keeps NaN, in the tile's result as in the rest."""
    channels, side = 24, 9
    weights = [float((i * 7 + j * 3) % 5 - 2) for i in range(channels) for j in range(channels)]
    x = [float((i * 5) % 7 - 3) for i in range(channels * side * side)]
    at = [40, 5 * side * side + 3]
    for i in at:
        x[i] = NAN
    plane = side * side
    product = [sum(weights[o * channels + c] * x[c * plane + p] for c in range(channels)) for o in range(channels) for p in range(plane)]
    clip = lambda low, high: [NAN if math.isnan(v) else min(max(v, low), high) for v in product]
    nodes = [
        node("Conv", ["x", "w"], ["c"], kernel_shape=[1, 1]), node("Clip", ["c", "low", "high"], ["y0"]), node("Conv", ["x", "w"], ["d"], kernel_shape=[1, 1]),
        node("Relu", ["d"], ["y1"]), node("Reshape", ["x", "matrix"], ["m"]), node("MatMul", ["w2", "m"], ["n"]), node("Relu", ["n"], ["y2"]),
        node("Gemm", ["w2", "m"], ["g"]), node("Min", ["g", "high"], ["y3"]),
    ]
    tensors = [tensor("w", [channels, channels, 1, 1], weights), tensor("w2", [channels, channels], weights), tensor("low", [], [-3.0]), tensor("high", [], [6.0]),
               tensor("matrix", [2], [channels, plane], INT64)]
    shape, flat = [1, channels, side, side], [channels, plane]
    outputs = [value(f"y{i}", shape if i < 2 else flat) for i in range(4)]
    right = [array(clip(-3.0, 6.0), *shape), array(clip(0.0, INF), *shape), array(clip(0.0, INF), *flat), array(clip(-INF, 6.0), *flat)]
    return Case(model(nodes, [value("x", shape)], outputs, tensors), {"x": array(x, *shape)}, right, ulps=0, labels=["Conv, Clip", "Conv, Relu", "MatMul, Relu", "Gemm, Min"],
                is_everywhere=True)


# ---- ArgMax, ArgMin ----


def arg(values, is_max, last):
    """The index of the extreme element by comparing each with the extreme one so far: a NaN stays if it is first."""
    at = 0
    for i, v in enumerate(values):
        more = v > values[at] if is_max else v < values[at]
        at = i if more or (last and v == values[at]) else at
    return at


def arg_nan():
    lines = [[NAN, 5.0, 1.0, 2.0], [1.0, NAN, 3.0, 3.0], [NAN] * 4, [2.0, 2.0, NAN, 1.0], [-INF, NAN, -INF, NAN], [INF, 0.0, INF, NAN]]
    flat = [v for line in lines for v in line]
    rows = []
    for op in "ArgMax", "ArgMin":
        for last in 0, 1:
            right = [arg(line, op == "ArgMax", last) for line in lines]
            rows.append(row(op, [array(flat, 6, 4)], array(right, 6, 1, kind=INT64), axis=-1, select_last_index=last))
            across = [arg(flat[i::4], op == "ArgMax", last) for i in range(4)]
            rows.append(row(op, [array(flat, 6, 4)], array(across, 4, kind=INT64), axis=0, keepdims=0, select_last_index=last))
            whole = [3, 0, 3, 0]
            rows.append(row(op, [array(whole, 4, kind=INT32)], array([arg(whole, op == "ArgMax", last)], 1, kind=INT64), axis=0, select_last_index=last))
    rows.append(row("ArgMax", [array([], 0, 3)], array([], 0, 1, kind=INT64), axis=1))
    return case(rows)


# ---- parts of parts ----


def unions(seed):
    g = Graph(seed)
    shape, values = g.value["x"].shape, g.value["x"].values
    network = model(g.nodes, [value("x", shape)], [value(o, g.value[o].shape) for o in g.outputs], g.constants, opset=13)
    right = [array(g.value[o].values, *g.value[o].shape) for o in g.outputs]
    return Case(network, {"x": array(values, *shape)}, right, ulps=0, labels=g.outputs)


def nested_unions():
    """Unions in unions: a value that is read twice, rows of a union that are read by a layer that writes beside
    them, an input of the network, an output that is part of another, a part of a union."""
    nodes = [
        node("Relu", ["x"], ["a"]), node("Concat", ["a", "x"], ["c"], axis=1), node("Concat", ["c", "a"], ["y0"], axis=1),
        node("Concat", ["x", "x", "x"], ["y1"], axis=0), node("Neg", ["x"], ["b"]), node("Abs", ["x"], ["d"]), node("Neg", ["d"], ["e"]),
        node("Concat", ["b", "e"], ["f"], axis=0), node("Concat", ["d", "d"], ["g"], axis=0), node("Concat", ["g", "f"], ["y2"], axis=1),
        node("Relu", ["b"], ["y3"]), node("Concat", ["y3", "b"], ["y4"], axis=1), node("Split", ["y4", "sizes"], ["h", "i"], axis=1),
        node("Concat", ["i", "h"], ["y5"], axis=1),
    ]
    x = [[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]
    each = lambda function: [[function(v) for v in line] for line in x]
    beside = lambda *parts: [sum(lines, []) for lines in zip(*parts)]
    a, b, d = each(lambda v: max(v, 0.0)), each(lambda v: -v), each(abs)
    e, y3 = each(lambda v: -abs(v)), each(lambda v: max(-v, 0.0))
    y4 = beside(y3, b)
    right = [beside(a, x, a), x * 3, beside(d + d, b + e), y3, y4, [line[2:] + line[:2] for line in y4]]
    outputs = [value(f"y{i}", [len(r), len(r[0])]) for i, r in enumerate(right)]
    return Case(model(nodes, [value("x", [2, 3])], outputs, [tensor("sizes", [2], [2, 4], INT64)], opset=13), {"x": array(sum(x, []), 2, 3)},
                [array(sum(r, []), len(r), len(r[0])) for r in right], ulps=0)


CASES = {f.__name__: f() for f in (nan_elementwise, nan_windows, nan_after_products, arg_nan, nested_unions)}
CASES.update((f"unions_{seed}", unions(seed)) for seed in range(48))
