# SPDX-License-Identifier: Apache-2.0
"""Scan: states, elements of inputs in both directions, results of all iterations."""

import itertools
import random

from defined import Array, Case, drawn, made
from onnx_writer import INT64, Graph, graph, model, node, tensor, value

draw = random.Random(85)
T, N = 5, 3
X, FIRST = drawn(draw, [T, N]), drawn(draw, [N])


def body(nodes, inputs, outputs, initializers=()):
    """A graph whose inputs and outputs are lists of names; their types follow from where it is."""
    return Graph(graph(nodes, [value(n, []) for n in inputs], [value(n, []) for n in outputs], initializers))


def rows(x):
    return [[x[t, i] for i in range(x.shape[1])] for t in range(x.shape[0])]


def array(lists, kind=X.kind):
    """A matrix of lists of numbers."""
    return Array((len(lists), len(lists[0]) if lists else N), [v for row in lists for v in row], kind)


def scan(outputs, states, scanned, name="scan", **attributes):
    return node("Scan", [*states, *scanned], outputs, name, num_scan_inputs=len(scanned), **attributes)


def sums(x, first, backward=False):
    """Sums of rows up to each, from the last one if backward."""
    ordered = list(itertools.accumulate(rows(x)[::-1 if backward else 1], lambda a, b: [p + q for p, q in zip(a, b)], initial=first.values))[1:]
    return ordered


ADDING = body([node("Add", ["h", "v"], ["next"]), node("Mul", ["next", "next"], ["all"])], ["h", "v"], ["next", "all"])
STORED = body([node("Add", ["h", "v"], ["next"])], ["h", "v"], ["next", "next"])
DIRECTIONS = {f"sum_{a}_{b}": (a, b) for a in (0, 1) for b in (0, 1)}


def adding(x, first, graph_of_body=ADDING, rule=lambda v: v * v, into=0, out=0, **more):
    """A Scan that adds rows to a state; its second result is made of all states."""
    steps = sums(x, first, into)
    last = steps[-1] if steps else first.values
    every = [[rule(v) for v in row] for row in (steps[::-1] if out else steps)]
    made_model = model([scan(["last", "all"], ["first"], ["x"], body=graph_of_body, scan_input_directions=[into], scan_output_directions=[out])],
                       [value("x", x.shape), value("first", first.shape)], [value("last", first.shape), value("all", x.shape)], opset=17)
    return Case(made_model, {"x": x, "first": first}, [Array(first.shape, last), array(every)], **more)


def two_results(nodes, tensors, inputs, outputs, states=("a", "b"), scanned=("x",), results=("s", "t"), **attributes):
    """A Scan with states of the inputs' names whose last values are the network's outputs."""
    made_model = model([scan(results, states, scanned, **attributes), *nodes], [value(k, v.shape) for k, v in inputs.items()],
                       [value(r, o.shape) for r, o in zip(results, outputs)], tensors)
    return Case(made_model, inputs, outputs)


A, B = drawn(draw, [N]), drawn(draw, [N])
IGNORED = node("Identity", ["v"], ["unused"])


def states(nodes, outputs, rule):
    """Two states that depend on each other; rule: their values after an iteration from those before."""
    a, b = A.values, B.values
    for _ in range(T):
        a, b = rule(a, b)
    return two_results([], (), {"x": X, "a": A, "b": B}, [Array((N,), a), Array((N,), b)], body=body(nodes, ["p", "q", "v"], outputs))


# Elements of a constant, from the end; along dimension 1 of an input of three dimensions; results along the last one.
WEIGHTS, CUBE = drawn(draw, [T, N]), drawn(draw, [2, T, N])


def axes():
    body_graph = body([node("Mul", ["u", "w"], ["p"]), node("Add", ["h", "p"], ["n"]), node("Neg", ["n"], ["m"])], ["h", "u", "w"], ["n", "m"])
    h = [[0.5] * N for _ in range(2)]
    every = []
    for t in range(T):
        h = [[h[i][k] + CUBE[i, T - 1 - t, k] * WEIGHTS[t, k] for k in range(N)] for i in range(2)]
        every.append(h)
    made_model = model([scan(["last", "all"], ["first"], ["x", "w"], body=body_graph, scan_input_axes=[-2, 0], scan_input_directions=[1, 0], scan_output_axes=[-1])],
                       [value("x", CUBE.shape)], [value("last", [2, N]), value("all", [2, N, T])], [tensor("first", [2, N], [0.5] * 2 * N), tensor("w", [T, N], WEIGHTS.values)])
    return Case(made_model, {"x": CUBE}, [Array((2, N), [v for row in h for v in row]), made((2, N, T), lambda i, k, t: -every[t][i][k])])


def nested():
    """The inner loop adds the rows of an element of the outer one; it reads values of both outsides."""
    inner = body([node("Mul", ["row", "scale"], ["r"]), node("Add", ["h", "r"], ["n"]), node("Add", ["n", "total"], ["m"])], ["h", "row"], ["n", "m"])
    outer = body([scan(["end", "every"], ["total"], ["plane"], "inner", body=inner), node("Concat", ["end", "end"], ["both"], axis=0)],
                 ["total", "plane"], ["end", "every", "both"])
    total, every, both = [0.0] * N, [], []
    for i in range(2):
        h = total
        for t in range(T):
            h = [p + 3 * CUBE[i, t, k] for k, p in enumerate(h)]
            every.append([p + q for p, q in zip(h, total)])
        total = h
        both.append(h + h)
    made_model = model([scan(["last", "every", "both"], ["zero"], ["x"], body=outer)], [value("x", CUBE.shape)],
                       [value("last", [N]), value("every", CUBE.shape), value("both", [2, 2 * N])], [tensor("zero", [N], [0.0] * N), tensor("scale", [1], [3.0])])
    return Case(made_model, {"x": CUBE}, [Array((N,), total), Array(CUBE.shape, [v for row in every for v in row]), array(both)], 5e-6)


def parts():
    """The state's halves change places; the result is made of slices of elements and of a constant."""
    n = 4
    x, h = drawn(draw, [T, n]), drawn(draw, [n])
    body_graph = body([node("Split", ["h"], ["a", "b"], axis=0), node("Concat", ["b", "a"], ["n"], axis=0), node("Slice", ["v", "one", "three"], ["c"]),
                       node("Neg", ["c"], ["d"]), node("Concat", ["d", "c", "k"], ["m"], axis=0)], ["h", "v"], ["n", "m"])
    turned = h.values if T % 2 == 0 else h.values[n // 2:] + h.values[:n // 2]
    made_model = model([scan(["last", "all"], ["first"], ["x"], body=body_graph)], [value("x", x.shape), value("first", [n])],
                       [value("last", [n]), value("all", [T, 5])], [tensor("one", [1], [1], INT64), tensor("three", [1], [3], INT64), tensor("k", [1], [7.0])], opset=13)
    return Case(made_model, {"x": x, "first": h}, [Array((n,), turned), made((T, 5), lambda t, i: [-x[t, 1], -x[t, 2], x[t, 1], x[t, 2], 7.0][i])])


def part_of_state():
    """The second state becomes a part of the first one, which changes at the same time."""
    p, q = drawn(draw, [4]), drawn(draw, [2])
    body_graph = body([node("Neg", ["p"], ["n"]), node("Slice", ["p", "one", "three"], ["part"]), node("Add", ["q", "v"], ["r"])], ["p", "q", "v"], ["n", "part", "r"])
    x, h, k, every = drawn(draw, [3, 2]), p.values, q.values, []
    for t in range(3):
        every += [a + x[t, i] for i, a in enumerate(k)]
        h, k = [-a for a in h], h[1:3]
    made_model = model([scan(["s", "t", "all"], ["p0", "q0"], ["x"], body=body_graph)], [value("x", [3, 2]), value("p0", [4]), value("q0", [2])],
                       [value("s", [4]), value("t", [2]), value("all", [3, 2])], [tensor("one", [1], [1], INT64), tensor("three", [1], [3], INT64)])
    return Case(made_model, {"x": x, "p0": p, "q0": q}, [Array((4,), h), Array((2,), k), Array((3, 2), every)])


def image():
    """A convolution whose channels are innermost in memory, in a state and in the elements."""
    c, p = 4, 3
    x, w = drawn(draw, [2, 1, c, p, p]), drawn(draw, [c, c, 1, 1])
    body_graph = body([node("Add", ["h", "v"], ["s"]), node("Conv", ["s", "w"], ["n"]), node("Relu", ["n"], ["m"])], ["h", "v"], ["m", "n"])
    h, every = x, []
    state = [[x[0, 0, k, i // p, i % p] for i in range(p * p)] for k in range(c)]
    for t in range(2):
        total = [[state[k][i] + x[t, 0, k, i // p, i % p] for i in range(p * p)] for k in range(c)]
        n = [[sum(w[k, j, 0, 0] * total[j][i] for j in range(c)) for i in range(p * p)] for k in range(c)]
        every += [v for row in n for v in row]
        state = [[max(v, 0.0) for v in row] for row in n]
    made_model = model([node("Gather", ["x", "zero"], ["first"], axis=0), scan(["last", "all"], ["first"], ["x"], body=body_graph), node("Relu", ["last"], ["y"])],
                       [value("x", x.shape)], [value("y", x.shape[1:]), value("all", x.shape)], [tensor("w", w.shape, w.values), tensor("zero", [], [0], INT64)])
    return Case(made_model, {"x": h}, [Array(x.shape[1:], [v for row in state for v in row]), Array(x.shape, every)], 5e-6)


def after(nodes, output, rule):
    """Nodes that read the results, at the place of a residual: x is read before the loop, in it and after it."""
    steps = sums(X, FIRST)
    made_model = model([node("Relu", ["x"], ["r"]), scan(["last", "all"], ["first"], ["x"], body=STORED), *nodes], [value("x", X.shape), value("first", [N])],
                       [value(output, X.shape)])
    return Case(made_model, {"x": X, "first": FIRST}, [made(X.shape, lambda t, i: rule(steps[t][i], X[t, i], steps[-1][i]))], 5e-6)


def batch():
    """A Scan of operator set 8: two sequences, each from its end."""
    first = drawn(draw, [2, N])
    runs = [sums(made((T, N), lambda t, k: CUBE[b, t, k]), made((N,), lambda k: first[b, k]), True) for b in range(2)]
    made_model = model([node("Scan", ["", "first", "x"], ["last", "all"], num_scan_inputs=1, body=STORED, directions=[1])], [value("x", CUBE.shape), value("first", first.shape)],
                       [value("last", first.shape), value("all", CUBE.shape)], opset=8)
    return Case(made_model, {"x": CUBE, "first": first}, [array([r[-1] for r in runs]), Array(CUBE.shape, [v for r in runs for row in r for v in row])])


def refused(pattern, nodes=None, outputs=("next", "all"), first=(N,), scanned=("x",), tensors=(), **attributes):
    given = body(nodes or [node("Add", ["h", "v"], ["next"]), node("Neg", ["next"], ["all"])], ["h", "v"], outputs)
    attributes = {"body": given, **attributes}
    nodes = [scan(["last", "all"], ["first"], scanned, **attributes)]
    return Case(model(nodes, [value("x", X.shape), value("first", first)], [value("last", first), value("all", X.shape)], tensors), {"x": X}, refused=pattern)


CASES = {
    **{name: adding(X, FIRST, into=a, out=b) for name, (a, b) in DIRECTIONS.items()},
    **{"stored_" + name: adding(X, FIRST, STORED, lambda v: v, into=a, out=b) for name, (a, b) in DIRECTIONS.items()},
    "one": adding(drawn(draw, [1, N]), FIRST),
    "none": adding(made([0, N], lambda *_: 0), FIRST),
    "swapped": states([node("Identity", ["q"], ["n"]), IGNORED], ["n", "p"], lambda a, b: (b, a)),
    "rotated": states([node("Add", ["p", "q"], ["n"]), IGNORED], ["q", "n"], lambda a, b: (b, [p + q for p, q in zip(a, b)])),
    "kept": states([node("Add", ["p", "q"], ["n"]), IGNORED], ["p", "n"], lambda a, b: (a, [p + q for p, q in zip(a, b)])),
    "axes": axes(),
    "nested": nested(),
    "parts": parts(),
    "part_of_state": part_of_state(),
    "image": image(),
    "after": after([node("Add", ["all", "r"], ["s"]), node("Mul", ["s", "last"], ["y"])], "y", lambda s, x, last: (s + max(x, 0.0)) * last),
    "transposed": after([node("Transpose", ["all"], ["t"]), node("Neg", ["t"], ["u"]), node("Transpose", ["u"], ["y"])], "y", lambda s, *_: -s),
    "batch": batch(),
    "refused_counts": refused("its body has 2 inputs and 1 outputs; it needs 2 and 2, of which 1 are states", outputs=("next",)),
    "refused_shape": refused(r"state '.*' begins as f32 2, and .* is f32 3", first=(2,), nodes=[node("Neg", ["v"], ["next"]), node("Neg", ["v"], ["all"])]),
    "refused_no_body": Case(model([node("Scan", ["x"], ["y"], num_scan_inputs=2, body=ADDING)], [value("x", X.shape)], [value("y", X.shape)]),
                            refused="it has no body, or num_scan_inputs is 2 of 1 inputs"),
    "refused_axis": refused("axis 2 does not exist", scan_input_axes=[2]),
    "refused_list": refused("scan_input_directions has 2 elements; it needs 1", scan_input_directions=[0, 1]),
    "refused_direction": refused("scan_output_directions has the element 2, which is neither 0 nor 1", scan_output_directions=[2]),
    "refused_lengths": Case(model([node("Scan", ["n", "x"], ["y"], num_scan_inputs=1, body=body([node("Neg", ["a"], ["c"])], ["a"], ["c"]))],
                                  [value("n", [2], INT64), value("x", CUBE.shape)], [value("y", CUBE.shape)], opset=8), refused="it has sequence_lens or no inputs"),
    "refused_extents": Case(model([node("Scan", ["x", "z"], ["y"], num_scan_inputs=2, body=body([node("Add", ["a", "b"], ["c"])], ["a", "b"], ["c"]))],
                                  [value("x", X.shape), value("z", [T + 1, N])], [value("y", X.shape)]),
                            refused=r"'z' of shape 6x3 is to be divided along a dimension of 5 elements"),
}
for checked in CASES.values():
    checked.options += () if checked.refused else ("--check",)
