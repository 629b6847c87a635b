# SPDX-License-Identifier: Apache-2.0
"""Networks of f16: values are computed in f32, and rounded where a Cast or an output has the type f16."""

import math
import random
import struct

from defined import Array, Case, made
from onnx_writer import FLOAT, FLOAT16, Graph, graph, model, node, tensor, value

DRAW = random.Random(16)


def f16(v):
    return struct.unpack("e", struct.pack("e", v))[0]


def f32(v):
    return struct.unpack("f", struct.pack("f", v))[0]


def drawn(shape):
    return made(shape, lambda *_: f16(DRAW.uniform(-2, 2)), FLOAT16)


def case(nodes, inputs, right, tensors=(), opset=17):
    made_model = model(nodes, [value(k, a.shape, a.kind) for k, a in inputs.items()], [value("y", right.shape, right.kind)], tensors, opset)
    return Case(made_model, inputs, [right], 0)


X, W = drawn((5, 7)), drawn((7, 3))
ALL = Array((4096,), [struct.unpack("e", struct.pack("H", i * 16 + 5))[0] for i in range(4096)], FLOAT16)


def product():
    """Sums of exact products of f16 round once, from f32: sums of integers, so that their order does not matter."""
    x = made((5, 7), lambda *_: float(DRAW.randint(-9, 9)), FLOAT16)
    w = [float(DRAW.randint(-300, 300)) for _ in range(21)]
    right = made((5, 3), lambda i, j: f16(sum(x[i, k] * w[3 * k + j] for k in range(7))), FLOAT16)
    return case([node("MatMul", ["x", "w"], ["y"])], {"x": x}, right, [tensor("w", [7, 3], w, FLOAT16)])


def in_between():
    """65504 + 65504 is no f16, but its half is; the Cast in the other case overflows."""
    x = Array((2,), [65504.0, 1.0], FLOAT16)
    return case([node("Add", ["x", "x"], ["s"]), node("Mul", ["s", "half"], ["y"])], {"x": x}, x, [tensor("half", [], [0.5], FLOAT16)])


def rounded():
    """A Cast to f16 rounds; the result stays f16 as an output."""
    x = Array((4,), [1 / 3, 70000.0, -1e-8, 2049.0])
    right = Array((4,), [f16(1 / 3), math.inf, -0.0, 2048.0])
    return case([node("Cast", ["x"], ["h"], to=FLOAT16), node("Cast", ["h"], ["y"], to=FLOAT)], {"x": x}, right)


def in_branch():
    """The branch of an If reads an input and a constant of f16."""
    then = Graph(graph([node("Mul", ["x", "w"], ["t"])], outputs=[value("t", [3], FLOAT16)], initializers=[tensor("w", [1], [0.5], FLOAT16)]))
    other = Graph(graph([node("Cast", ["q"], ["e"], to=FLOAT16)], outputs=[value("e", [3], FLOAT16)]))
    x = Array((3,), [1.0, -2.5, 3.0], FLOAT16)
    nodes = [node("Cast", ["x"], ["q"], to=FLOAT), node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    return case(nodes, {"x": x}, made((3,), lambda i: x[i] / 2, FLOAT16), [tensor("c", [], [1], 9)])


CASES = {
    "product": product(), "in_between": in_between(), "rounded": rounded(), "in_branch": in_branch(),
    "all_halves": case([node("Identity", ["x"], ["i"]), node("Neg", ["i"], ["y"])], {"x": ALL}, made((4096,), lambda i: -ALL[i], FLOAT16)),
    "exact": case([node("Mul", ["x", "x"], ["y"])], {"x": X}, made((5, 7), lambda i, j: f16(f32(X[i, j] * X[i, j])), FLOAT16)),
    "to_f32": case([node("Add", ["x", "x"], ["a"]), node("Cast", ["a"], ["y"], to=FLOAT)], {"x": W}, made((7, 3), lambda i, j: 2 * W[i, j])),
}
