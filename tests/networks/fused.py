# SPDX-License-Identifier: Apache-2.0
"""Activations of language models, and products and convolutions with what follows them."""

import math
import random

from defined import Array, Case, drawn, indices, made
from onnx_writer import BOOL, INT32, Floats, model, node, tensor, value

draw = random.Random(48)
INFINITY = float("inf")
X = Array((2, 8), [-INFINITY, -200.0, -30.0, -3.0, -1.0, -0.25, -0.0, 0.0, 1e-6, 0.5, 1.0, 3.0, 40.0, 200.0, INFINITY, float("nan")])
B = drawn(draw, [8])


def sigmoid(x):
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def gelu(x):
    return 0.5 * x * math.erfc(-x / math.sqrt(2)) if x != -INFINITY else math.nan


def fast_gelu(x):
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) if abs(x) != INFINITY else gelu(x)


def swish(x, alpha=1.0):
    return x * sigmoid(alpha * x) if x != -INFINITY else math.nan


def one(op, rule, tensors=(), inputs=("x",), domain="com.microsoft", bound=2e-6, **attributes):
    return Case(model([node(op, inputs, ["y"], domain=domain, **attributes)], [value("x", X.shape)], [value("y", X.shape)], tensors, opset=24,
                      domains=["com.microsoft"]), {"x": X}, [made(X.shape, lambda *i: rule(X[i], i))], bound)


def like(kind, tensors, rule):
    x = Array((4,), [-2.0, 0.0, 0.5, 3.75])
    return Case(model([node("CastLike", ["x", "like"], ["y"])], [value("x", [4])], [value("y", [4], kind)], tensors), {"x": x}, [Array((4,), [rule(v) for v in x.values], kind)])


BIAS = [tensor("b", [8], B.values)]
IMAGE, FILTER, SHIFT, ADDEND = drawn(draw, [1, 2, 4, 5]), drawn(draw, [3, 2, 2, 3]), drawn(draw, [3]), drawn(draw, [1, 3, 3, 3])


def convolved(rule, addend=None, **attributes):
    """A convolution without padding, an addend, an activation."""
    def element(n, c, p, q):
        terms = [IMAGE[n, k, p + r, q + s] * FILTER[c, k, r, s] for k, r, s in indices((2, 2, 3))]
        return rule(math.fsum(terms) + SHIFT[c] + (addend[n, c, p, q] if addend else 0))

    inputs = {"x": IMAGE, **({"z": addend} if addend else {})}
    return Case(model([node("FusedConv", ["x", "w", "b"] + ["z"] * bool(addend), ["y"], domain="com.microsoft", **attributes)],
                      [value(k, v.shape) for k, v in inputs.items()], [value("y", [1, 3, 3, 3])],
                      [tensor("w", FILTER.shape, FILTER.values), tensor("b", [3], SHIFT.values)], domains=["com.microsoft"]),
                inputs, [made((1, 3, 3, 3), element)], 5e-6)


def product(a_shape, b_shape, a_at, b_at, batch=(2, 3), **attributes):
    """A product of batches of 4 x 5 and 5 x 6; a_at(i, j, m, k) is the index of a's element."""
    a, b = drawn(draw, a_shape), drawn(draw, b_shape)
    alpha = attributes.get("alpha", 1.0)
    y = made((*batch, 4, 6), lambda i, j, m, n: alpha * math.fsum(a[a_at(i, j, m, k)] * b[b_at(i, j, k, n)] for k in range(5)))
    return Case(model([node("FusedMatMul", ["a", "b"], ["y"], domain="com.microsoft", **attributes)], [value("a", a_shape), value("b", b_shape)],
                      [value("y", y.shape)], domains=["com.microsoft"]), {"a": a, "b": b}, [y], 5e-6)


def gated(outputs=("y",), layers=1):
    """A product of functions of two inputs, which is one layer unless a factor is an output, too."""
    a, b = drawn(draw, [3, 7]), drawn(draw, [3, 7])
    right = {"y": made((3, 7), lambda *i: math.tanh(a[i]) * sigmoid(b[i] + 1) + math.exp(a[i] * b[i])), "g": made((3, 7), lambda *i: sigmoid(b[i] + 1))}
    nodes = [node("Tanh", ["a"], ["t"]), node("Add", ["b", "one"], ["s"]), node("Sigmoid", ["s"], ["g"]), node("Mul", ["a", "b"], ["ab"]), node("Exp", ["ab"], ["e"]),
             node("Mul", ["t", "g"], ["m"]), node("Add", ["e", "m"], ["y"])]
    return Case(model(nodes, [value("a", [3, 7]), value("b", [3, 7])], [value(o, [3, 7]) for o in outputs], [tensor("one", [], [1.0])]), {"a": a, "b": b}, [right[o] for o in outputs],
                layers=layers)


CASES = {
    "gated": gated(), "gate_shown": gated(("y", "g"), 2),
    "swish": one("Swish", lambda x, i: swish(x), domain=""), "swish_alpha": one("Swish", lambda x, i: swish(x, 0.25), domain="", alpha=0.25),
    "quick_gelu": one("QuickGelu", lambda x, i: swish(x, 1.702)), "gelu": one("Gelu", lambda x, i: gelu(x)),
    "bias_gelu": one("BiasGelu", lambda x, i: gelu(x + B[i[1]]), BIAS, ("x", "b")), "fast_gelu": one("FastGelu", lambda x, i: fast_gelu(x)),
    "fast_gelu_bias": one("FastGelu", lambda x, i: fast_gelu(x + B[i[1]]), BIAS, ("x", "b")),
    "cast_like": like(INT32, [tensor("like", [1], [7], INT32)], int), "cast_like_bool": like(BOOL, [tensor("like", [], [0], BOOL)], lambda v: v != 0),
    "conv": convolved(lambda v: v), "conv_relu": convolved(lambda v: max(v, 0), activation="Relu"),
    "conv_leaky": convolved(lambda v: v if v > 0 else v * 0.125, activation="LeakyRelu", activation_params=Floats([0.125])),
    "conv_hard": convolved(lambda v: min(max(0.25 * v + 0.5, 0), 1), activation="HardSigmoid", activation_params=Floats([0.25, 0.5])),
    "conv_addend": convolved(lambda v: min(max(v, -0.5), 0.75), ADDEND, activation="Clip", activation_params=Floats([-0.5, 0.75])),
    "conv_parameters": Case(model([node("FusedConv", ["x", "w"], ["y"], domain="com.microsoft", activation="HardSigmoid", activation_params=Floats([0.25]))],
                                  [value("x", IMAGE.shape), value("w", FILTER.shape)], [value("y", [1, 3, 3, 3])], domains=["com.microsoft"]),
                            refused="activation HardSigmoid has 1 parameters; it needs 2"),
    "product": product([2, 3, 4, 5], [2, 3, 5, 6], lambda i, j, m, k: (i, j, m, k), lambda i, j, k, n: (i, j, k, n), alpha=0.5),
    "product_transposed": product([2, 3, 5, 4], [3, 6, 5], lambda i, j, m, k: (i, j, k, m), lambda i, j, k, n: (j, n, k), transA=1, transB=1),
    "product_batches": product([4, 2, 3, 5], [6, 2, 3, 5], lambda i, j, m, k: (m, i, j, k), lambda i, j, k, n: (n, i, j, k), transBatchA=1, transBatchB=1, transB=1),
}
