# SPDX-License-Identifier: Apache-2.0
"""If with a condition that is computed at run time: results of both branches, values of outside, branches in
branches and in loops."""

import random

from counted import boolean, loop, network
from defined import Array, Case, drawn, made
from loops import body
from onnx_writer import BOOL, INT64, Graph, graph, model, node, tensor, value

draw = random.Random(89)
ROWS, N = 4, 3
X, Z = drawn(draw, [ROWS, N]), drawn(draw, [ROWS, N])
C = drawn(draw, [N])


def branch(nodes, results, initializers=()):
    return Graph(graph(nodes, outputs=[value(r, []) for r in results], initializers=initializers))


def choice(condition, then, otherwise, outputs=("y",), name="choose"):
    """An If; both branches are lists of nodes and names of results."""
    return node("If", [condition], outputs, name, then_branch=branch(*then), else_branch=branch(*otherwise))


def each(rule, of=X):
    return Array(of.shape, [rule(v, i) for i, v in enumerate(of.values)])


NEGATED = [node("Neg", ["x"], ["p"])], ["p"]
DOUBLED = [node("Add", ["x", "x"], ["p"])], ["p"]
OUTSIDE = [], ["x"]
CONSTANT = [node("Constant", [], ["k"], value=tensor("", [ROWS, N], list(range(ROWS * N))))], ["k"]
RULES = {"negated": (NEGATED, lambda v, i: -v), "doubled": (DOUBLED, lambda v, i: 2 * v), "outside": (OUTSIDE, lambda v, i: v), "constant": (CONSTANT, lambda v, i: i)}


def pair(a, b, is_true):
    return network([choice("c", RULES[a][0], RULES[b][0])], {"x": X, "c": boolean(is_true)}, {"y": each(RULES[a if is_true else b][1])})


def read_later(is_true):
    """The result is read twice after the branches, with values that were computed before them."""
    nodes = [node("Relu", ["x"], ["r"]), choice("c", ([node("Mul", ["x", "r"], ["p"])], ["p"]), ([node("Sub", ["r", "x"], ["p"])], ["p"]), ["q"]), node("Add", ["q", "r"], ["s"]),
             node("Transpose", ["q"], ["t"], perm=[1, 0])]
    rule = (lambda v: v * max(v, 0)) if is_true else (lambda v: max(v, 0) - v)
    return network(nodes, {"x": X, "c": boolean(is_true, (1,))}, {"s": each(lambda v, i: rule(v) + max(v, 0)), "t": made((N, ROWS), lambda i, k: rule(X[k, i]))})


def several(is_true):
    """Results of other types and shapes; one twice; a view; a part; one that nobody reads."""
    shared = [node("Neg", ["x"], ["n"]), node("Reshape", ["n", "shape"], ["v"]), node("Slice", ["n", "one", "two"], ["part"])]
    other = [node("Add", ["x", "x"], ["n"]), node("Reshape", ["x", "shape"], ["v"]), node("Slice", ["x", "one", "two"], ["part"])]
    then = [*shared, node("Greater", ["n", "x"], ["g"])], ["n", "n", "v", "part", "g", "n"]
    otherwise = [*other, node("Less", ["n", "x"], ["g"])], ["n", "x", "v", "part", "g", "x"]
    rule = (lambda v: -v) if is_true else (lambda v: 2 * v)
    same = (lambda v: -v) if is_true else (lambda v: v)
    outputs = {"a": each(lambda v, i: rule(v)), "b": each(lambda v, i: same(v)), "r": Array((2, 6), [same(v) for v in X.values]),
               "s": made((1, N), lambda _, i: same(X[1, i])), "g": Array(X.shape, [-v > v if is_true else 2 * v < v for v in X.values], BOOL)}
    return network([choice("c", then, otherwise, ["a", "b", "r", "s", "g", "unread"])], {"x": X, "c": boolean(is_true)}, outputs,
                   [tensor("shape", [2], [2, 6], INT64), tensor("two", [1], [2], INT64)])


def computed(limit):
    """The condition is a comparison of a sum with an input."""
    nodes = [node("ReduceSum", ["x"], ["sum"], keepdims=0), node("Greater", ["sum", "limit"], ["c"]), choice("c", NEGATED, DOUBLED)]
    return network(nodes, {"x": X, "limit": Array((), [limit])}, {"y": each(lambda v, i: -v if sum(X.values) > limit else 2 * v)})


def nested(a, b):
    """Each branch has another If; one of them reads a value of the branch around it."""
    then = [node("Mul", ["x", "x"], ["xx"]), choice("b", ([node("Neg", ["xx"], ["p"])], ["p"]), ([], ["xx"]), ["q"], "inner"), node("Add", ["q", "x"], ["r"])], ["r"]
    otherwise = [choice("b", DOUBLED, NEGATED, ["q"], "other")], ["q"]
    rules = {(1, 1): lambda v, i: v - v * v, (1, 0): lambda v, i: v + v * v, (0, 1): lambda v, i: 2 * v, (0, 0): lambda v, i: -v}
    return network([choice("a", then, otherwise)], {"x": X, "a": boolean(a), "b": boolean(b)}, {"y": each(rules[a, b])})


def chained(a):
    """The condition of the second is a result of the first one."""
    nodes = [choice("a", ([node("Not", ["a"], ["p"])], ["p"]), ([node("Identity", ["a"], ["s"]), node("Not", ["s"], ["p"])], ["p"]), ["b"]), choice("b", NEGATED, DOUBLED, name="second")]
    return network(nodes, {"x": X, "a": boolean(a)}, {"y": each(lambda v, i: 2 * v if a else -v)})


def in_loop():
    """The branch of an iteration depends on its number; the state and the results are from the branches."""
    choose = choice("odd", ([node("Mul", ["s0", "c"], ["p"]), node("Neg", ["p"], ["q"])], ["p", "q"]), ([node("Add", ["s0", "c"], ["p"])], ["p", "s0"]), ["n", "m"])
    nodes = [node("Mod", ["i", "two"], ["rest"]), node("Equal", ["rest", "one"], ["odd"]), choose, node("Identity", ["go"], ["stays"])]
    h, every = X.values[:N], []
    for i in range(4):
        before, h = h, [v * C[k] if i % 2 else v + C[k] for k, v in enumerate(h)]
        every += [-v for v in h] if i % 2 else before
    return network([node("Gather", ["x", "zero"], ["row"]), loop(["last", "all"], "four", "", ["row"], nodes, ["stays", "n", "m"])], {"x": X, "c": C},
                   {"last": Array((N,), h), "all": Array((4, N), every)}, [tensor("two", [], [2], INT64)])


def in_scan():
    """A condition for each row of x."""
    flags = made([ROWS], lambda i: i in (1, 2), BOOL)
    nodes = [choice("f", ([node("Neg", ["v"], ["p"])], ["p"]), ([node("Mul", ["v", "v"], ["p"])], ["p"]), ["r"])]
    return network([node("Scan", ["x", "f"], ["y"], num_scan_inputs=2, body=body(nodes, ["v", "f"], ["r"]))], {"x": X, "f": flags},
                   {"y": made(X.shape, lambda t, i: -X[t, i] if flags[t] else X[t, i]**2)})


def with_loop(is_true):
    """Both branches have loops, with different trip counts; one of them does not run at all."""
    def repeated(count):
        return [loop(["h"], count, "", ["x"], [node("Add", ["s0", "z"], ["n"]), node("Identity", ["go"], ["stays"])], ["stays", "n"], "repeat_" + count)], ["h"]

    return network([choice("c", repeated("four"), repeated("m"))], {"x": X, "z": Z, "c": boolean(is_true), "m": Array((), [2], INT64)},
                   {"y": each(lambda v, i: v + (4 if is_true else 2) * Z.values[i])})


def image(is_true):
    """Convolutions in the branches and after them, whose channels are innermost in memory."""
    n, p = 4, 3
    x, w = drawn(draw, [1, n, p, p]), drawn(draw, [n, n, 1, 1])

    def conv(v):
        return [[sum(w[k, j, 0, 0] * v[j][i] for j in range(n)) for i in range(p * p)] for k in range(n)]

    def rectified(v):
        return [[max(e, 0.0) for e in row] for row in v]

    planes = [[x[0, k, i // p, i % p] for i in range(p * p)] for k in range(n)]
    chosen = rectified(conv(planes)) if is_true else rectified(planes)
    right = [[a + b for a, b in zip(*rows)] for rows in zip(conv(chosen), chosen)]
    nodes = [choice("c", ([node("Conv", ["x", "w"], ["s"]), node("Relu", ["s"], ["p"])], ["p"]), ([node("Relu", ["x"], ["p"])], ["p"]), ["q"]), node("Conv", ["q", "w"], ["t"]),
             node("Add", ["t", "q"], ["y"])]
    return network(nodes, {"x": x, "c": boolean(is_true)}, {"y": Array(x.shape, [v for row in right for v in row])}, [tensor("w", w.shape, w.values)])


def united(is_true):
    """A result that is one of the operands of a Concat, and an operand in a branch."""
    nodes = [choice("c", ([node("Neg", ["x"], ["n"]), node("Concat", ["n", "x"], ["p"], axis=0), node("Split", ["p"], ["u", "v"], axis=0)], ["u"]), DOUBLED, ["q"]),
             node("Concat", ["z", "q"], ["y"], axis=0)]
    return network(nodes, {"x": X, "z": Z, "c": boolean(is_true)}, {"y": Array((2 * ROWS, N), [*Z.values, *(-v if is_true else 2 * v for v in X.values)])})


def open_rows(is_true):
    made_model = model([choice("c", NEGATED, ([node("Add", ["x", "z"], ["p"])], ["p"]))], [value("x", ["t", N]), value("z", ["t", N]), value("c", [], BOOL)], [value("y", ["t", N])])
    return Case(made_model, {"x": X, "z": Z, "c": boolean(is_true)}, [each(lambda v, i: -v if is_true else v + Z.values[i])], options=("--size=t=0..9", f"--size=t={ROWS}"))


def refused(pattern, then, otherwise, condition=value("c", [], BOOL), nodes=()):
    return Case(model([*nodes, choice("c", then, otherwise)], [value("x", X.shape), condition], [value("y", X.shape)]), {"x": X}, refused=pattern)


SHORTER = [node("ReduceSum", ["x"], ["p"], keepdims=1)], ["p"]
WHOLE = [node("Cast", ["x"], ["p"], to=INT64)], ["p"]
CASES = {
    **{f"{a}_{b}_{c}": pair(a, b, c) for a in RULES for b in RULES for c in (0, 1)},
    **{f"{rule.__name__}_{c}": rule(c) for rule in (read_later, several, chained, with_loop, image, united, open_rows) for c in (0, 1)},
    **{f"computed_{limit}": computed(limit) for limit in (-100.0, 100.0)},
    **{f"nested_{a}_{b}": nested(a, b) for a in (0, 1) for b in (0, 1)},
    "in_loop": in_loop(),
    "in_scan": in_scan(),
    "refused_shape": refused("inputs must be known at compile time: 'c'; give --constant c=FILE", NEGATED, SHORTER),
    "refused_computed": refused("choose: its result 'y' is f32 4x3 in one branch and f32 1x1 in the other one; both must have the same type and shape, as its condition is computed",
                                NEGATED, SHORTER, value("limit", [4, 30]), [node("ReduceSum", ["limit"], ["sum"], keepdims=0), node("Greater", ["sum", "sum"], ["c"])]),
    "refused_branch": refused("MatMul choose/matmul_p: .*; it is in a branch that a value of 'c' chooses: for another value give --constant c=FILE$", ([node("MatMul", ["x", "x"], ["p"])], ["p"]), DOUBLED),
    "refused_type": refused("inputs must be known at compile time: 'c'", NEGATED, WHOLE),
    "refused_condition": refused("its condition 'c' is not one boolean", NEGATED, DOUBLED, value("c", [2], BOOL)),
    "refused_float": refused("its condition 'c' is not one boolean", NEGATED, DOUBLED, value("c", [])),
}
for checked in CASES.values():
    checked.options += () if checked.refused else ("--check=all",)
