# SPDX-License-Identifier: Apache-2.0
"""Normalizations, alone and as the chains of operators that exporters write."""

import math
import random

from defined import Case, drawn, indices, made
from onnx_writer import INT64, model, node, tensor, value

draw = random.Random(47)
SHAPE = (2, 3, 4, 5)
X = drawn(draw, SHAPE, -2, 3)
SKIP = drawn(draw, SHAPE)
ROW, COLUMN, PLANE = drawn(draw, [5], 0.5, 1.5), drawn(draw, [3, 4, 1]), drawn(draw, [4, 5])


def statistics(x, axis, has_mean=True):
    """Means and variances over the dimensions from axis on, by the index of the others; the mean is 0 without
    has_mean."""
    mean, variance = {}, {}
    for kept in indices(x.shape[:axis]):
        values = [x[(*kept, *rest)] for rest in indices(x.shape[axis:])]
        mean[kept] = math.fsum(values) / len(values) if has_mean else 0.0
        variance[kept] = math.fsum((v - mean[kept]) ** 2 for v in values) / len(values)
    return mean, variance


def broadcast(a, index):
    return a[tuple(i if n > 1 else 0 for i, n in zip(index[len(index) - len(a.shape):], a.shape))]


def normalized(x, axis, epsilon, scale, bias=None, has_mean=True):
    mean, variance = statistics(x, axis, has_mean)

    def element(*i):
        kept = i[:axis]
        y = (x[i] - mean[kept]) / math.sqrt(variance[kept] + epsilon)
        return y * (broadcast(scale, i) if scale else 1) + (broadcast(bias, i) if bias else 0)

    return made(x.shape, element)


def grouped(x, groups, epsilon, scale, bias, by_channel):
    each = x.shape[1] // groups
    y = made((x.shape[0], groups, each, *x.shape[2:]), lambda n, g, c, *rest: x[(n, g * each + c, *rest)])
    mean, variance = statistics(y, 2)

    def element(n, c, *rest):
        at, p = (n, c // each), c if by_channel else c // each
        return (x[(n, c, *rest)] - mean[at]) / math.sqrt(variance[at] + epsilon) * scale[p] + bias[p]

    return made(x.shape, element)


def of_statistic(x, axis, rule):
    mean, variance = statistics(x, axis)
    shape = (*x.shape[:axis], *[1] * (len(x.shape) - axis))
    return made(shape, lambda *i: rule(mean[i[:axis]], variance[i[:axis]]))


def constant(name, a):
    return tensor(name, a.shape, a.values)


def case(nodes, outputs, tensors, inputs=None, opset=23, **more):
    inputs = inputs or {"x": X}
    return Case(model(nodes, [value(k, v.shape) for k, v in inputs.items()], [value(k, v.shape) for k, v in outputs.items()], tensors, opset=opset,
                      domains=["com.microsoft"]), inputs, list(outputs.values()), 5e-6, **more)


def layer(op, axis, has_mean, scale, bias=None, domain="", **more):
    """One normalization that has only its first output."""
    attributes = {"epsilon": 0.02} if axis is None else {"epsilon": 0.02, "axis": axis}
    tensors = [constant("scale", scale)] + ([constant("bias", bias)] if bias else [])
    axis = -1 if axis is None else axis
    return case([node(op, ["x", "scale"] + ["bias"] * bool(bias), ["y"], domain=domain, **attributes)],
                {"y": normalized(X, axis % 4, 0.02, scale, bias, has_mean)}, tensors, layers=1, **more)


def skip(op, skipped, bias, addend, with_sum):
    """A skip normalization of x and another input."""
    has_mean = op == "SkipLayerNormalization"
    total = made(SHAPE, lambda *i: X[i] + broadcast(skipped, i) + (broadcast(addend, i) if addend else 0))
    inputs = ["x", "skip", "scale"] + (["bias" if bias else ""] if has_mean else []) + (["addend"] if addend else [])
    tensors = [constant(n, v) for n, v in (("scale", ROW), ("bias", bias), ("addend", addend)) if v]
    outputs = {"y": normalized(total, 3, 1e-12, ROW, bias, has_mean)}
    if with_sum:
        outputs["total"] = total
    return case([node(op, inputs, ["y", "", "", "total"] if with_sum else ["y"], domain="com.microsoft")], outputs, tensors, {"x": X, "skip": skipped})


def group(groups, opset, **more):
    scale, bias = (drawn(draw, [6 if opset > 18 else groups]) for _ in range(2))
    x = drawn(draw, [2, 6, 3, 5], 0, 2)
    return case([node("GroupNormalization", ["x", "scale", "bias"], ["y"], num_groups=groups, epsilon=0.01)],
                {"y": grouped(x, groups, 0.01, scale, bias, opset > 18)}, [constant("scale", scale), constant("bias", bias)], {"x": x}, opset, layers=1, **more)


CONSTANTS = [tensor("two", [], [2.0]), tensor("epsilon", [1], [0.02]), tensor("one", [], [1.0]), tensor("last", [1], [3], INT64), constant("scale", ROW),
             constant("bias", PLANE)]
MEAN = node("ReduceMean", ["x", "last"], ["mean"])
SQUARE = {"power": [node("Sub", ["x", "mean"], ["d"]), node("Pow", ["d", "two"], ["q"])],
          "product": [node("Sub", ["x", "mean"], ["d"]), node("Mul", ["d", "d"], ["q"])],
          "twice": [node("Sub", ["x", "mean"], ["d"]), node("Sub", ["x", "mean"], ["e"]), node("Pow", ["e", "two"], ["q"])]}
ROOT = [node("ReduceMean", ["q", "last"], ["v"]), node("Add", ["v", "epsilon"], ["w"]), node("Sqrt", ["w"], ["s"])]
AFTER = [node("Mul", ["n", "scale"], ["ns"]), node("Add", ["ns", "bias"], ["y"])]
QUOTIENT = {"quotient": lambda of: [node("Div", [of, "s"], ["n"])],
            "reciprocal": lambda of: [node("Reciprocal", ["s"], ["r"]), node("Mul", ["r", of], ["n"])],
            "one": lambda of: [node("Div", ["one", "s"], ["r"]), node("Mul", [of, "r"], ["n"])]}


def chain(square, quotient, layers=1, more=()):
    """A layer normalization if `square` is a key of SQUARE, else an RMS normalization."""
    has_mean = square in SQUARE
    nodes = [MEAN, *SQUARE[square]] if has_mean else [node("Pow", ["x", "two"], ["q"]) if square == "rms" else node("Mul", ["x", "x"], ["q"])]
    nodes += [*ROOT, *QUOTIENT[quotient]("d" if has_mean else "x"), *AFTER]
    return case(nodes, {"y": normalized(X, 3, 0.02, ROW, PLANE, has_mean), **dict(more)}, CONSTANTS, layers=layers)


def wrong_chain(swap, wanted):
    """A chain that is no normalization, because of the node that is replaced."""
    nodes = [MEAN, *SQUARE["power"], *ROOT, *QUOTIENT["quotient"]("d")]
    nodes = [n if swap[0] != i else swap[1] for i, n in enumerate(nodes)]
    return case([*nodes, node("Identity", ["n"], ["y"])], {"y": wanted}, CONSTANTS)


def instance_chain(groups, back=(2, 6, 3, 5)):
    """What exporters write for a group normalization: an instance normalization of groups as channels. The second
    layer is due to the output, whose channels are not innermost."""
    x, scale, bias = drawn(draw, [2, 6, 3, 5], 0, 2), drawn(draw, [groups], 0.5, 1.5), drawn(draw, [groups])
    weight, shift = drawn(draw, [6, 1, 1]), drawn(draw, [6, 1, 1])
    y = grouped(x, groups, 0.01, scale, bias, False)
    tensors = [tensor("in", [3], [0, groups, -1], INT64), tensor("out", [4], list(back), INT64)] + [constant(n, v) for n, v in (("s", scale), ("b", bias), ("w", weight), ("h", shift))]
    nodes = [node("Reshape", ["x", "in"], ["g"]), node("InstanceNormalization", ["g", "s", "b"], ["i"], epsilon=0.01), node("Reshape", ["i", "out"], ["r"]),
             node("Mul", ["r", "w"], ["m"]), node("Add", ["m", "h"], ["y"])]
    if back != (2, 6, 3, 5):  # another shape than x has
        return case(nodes[:3] + [node("Neg", ["r"], ["y"])], {"y": made(back, lambda *i, v=iter(y.values): -next(v))}, tensors, {"x": x})
    return case(nodes, {"y": made(x.shape, lambda n, c, *i: y[(n, c, *i)] * weight[c, 0, 0] + shift[c, 0, 0])}, tensors, {"x": x}, layers=2)


MEANS, VARIANCES = statistics(X, 3)
CUBED = made(SHAPE, lambda *i: (X[i] - MEANS[i[:3]]) / math.sqrt(math.fsum((abs(X[(*i[:3], k)] - MEANS[i[:3]])) for k in range(5)) / 5 + 0.02))
OF_X = made(SHAPE, lambda *i: X[i] / math.sqrt(VARIANCES[i[:3]] + 0.02))

CASES = {
    "layer": layer("LayerNormalization", None, True, ROW, ROW), "layer_axis": layer("LayerNormalization", 1, True, COLUMN, PLANE),
    "layer_all": layer("LayerNormalization", 0, True, ROW), "layer_wide": layer("LayerNormalization", -1, True, COLUMN, ROW, opset=17),
    "layer_statistics": case([node("LayerNormalization", ["x", "scale"], ["y", "mean", "inverse"], axis=2)],
                             {"y": normalized(X, 2, 1e-5, PLANE), "mean": of_statistic(X, 2, lambda m, v: m),
                              "inverse": of_statistic(X, 2, lambda m, v: 1 / math.sqrt(v + 1e-5))}, [constant("scale", PLANE)]),
    "rms": layer("RMSNormalization", None, False, ROW), "rms_axis": layer("RMSNormalization", 1, False, COLUMN),
    "simplified": layer("SimplifiedLayerNormalization", -1, False, ROW), "simplified_microsoft": layer("SimplifiedLayerNormalization", 2, False, PLANE, domain="com.microsoft"),
    "simplified_inverse": case([node("SimplifiedLayerNormalization", ["x", "scale"], ["y", "inverse"])],
                               {"y": normalized(X, 3, 1e-5, ROW, has_mean=False),
                                "inverse": made((2, 3, 4, 1), lambda *i: 1 / math.sqrt(statistics(X, 3, False)[1][i[:3]] + 1e-5))}, [constant("scale", ROW)]),
    "skip": skip("SkipLayerNormalization", SKIP, ROW, ROW, True), "skip_plain": skip("SkipLayerNormalization", PLANE, None, None, False),
    "skip_simplified": skip("SkipSimplifiedLayerNormalization", SKIP, None, ROW, True), "skip_simplified_plain": skip("SkipSimplifiedLayerNormalization", SKIP, None, None, True),
    "skip_mean": Case(model([node("SkipLayerNormalization", ["x", "x", "scale"], ["z", "y"], domain="com.microsoft")], [value("x", SHAPE)], [value("y", (2, 3, 4, 1))],
                            [constant("scale", ROW)], domains=["com.microsoft"]), refused="SkipLayerNormalization .*: its output 'y' is not supported"),
    "group_18": group(3, 18), "group_21": group(2, 21), "group_one": group(1, 21), "group_each": group(6, 21),
    "group_divides": Case(model([node("GroupNormalization", ["x", "scale", "scale"], ["y"], num_groups=4)], [value("x", (1, 6, 2))], [value("y", (1, 6, 2))],
                                [tensor("scale", [6], [1.0] * 6)], opset=21), refused="num_groups=4 does not divide channels of shape 1x6x2"),
    **{f"chain_{s}_{q}": chain(s, q) for s in (*SQUARE, "rms", "rms_product") for q in QUOTIENT},
    "chain_groups": instance_chain(3), "chain_one_group": instance_chain(1), "chain_channels": instance_chain(6), "chain_other_shape": instance_chain(2, (2, 5, 3, 6)),
    "layer_old": layer("LayerNormalization", -1, True, ROW, ROW, opset=11),
    # No normalizations: the mean of absolute values, of other elements; a quotient of x itself.
    "chain_absolute": wrong_chain((2, node("Abs", ["d"], ["q"])), CUBED), "chain_uncentered": wrong_chain((6, node("Div", ["x", "s"], ["n"])), OF_X),
}
