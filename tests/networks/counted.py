# SPDX-License-Identifier: Apache-2.0
"""Loop: trip counts and conditions that are constants, computed, or left out; states; results of all iterations."""

import random

from defined import Array, Case, drawn, made
from loops import body
from onnx_writer import BOOL, FLOAT, INT32, INT64, model, node, tensor, value

draw = random.Random(87)
N = 3
X, FIRST = drawn(draw, [4, N]), drawn(draw, [N])
COUNTS = (-3, 0, 1, 6)
I64 = {name: tensor(name, [], [v], INT64) for name, v in (("zero", 0), ("one", 1), ("four", 4), ("negative", -2))}
TRUE, FALSE = tensor("yes", [], [1], BOOL), tensor("no", [1], [0], BOOL)


def integer(n):
    return Array((), [n], INT64)


def boolean(v, shape=()):
    return Array(shape, [v], BOOL)


def loop(outputs, count, condition, states, nodes, results, name="loop", inputs=("i", "go"), initializers=()):
    """A Loop; results: names in its body of the next condition, the next states, and what is collected."""
    names = [*inputs, *(f"s{k}" for k in range(len(states)))]
    return node("Loop", [count, condition, *states], outputs, name, body=body(nodes, names, results, initializers))


def network(nodes, inputs, outputs, tensors=(), **more):
    """inputs: arrays by name; outputs: by name, in order."""
    kinds = {name: value(name, a.shape, a.kind) for name, a in [*inputs.items(), *outputs.items()]}
    made_model = model(nodes, [kinds[k] for k in inputs], [kinds[k] for k in outputs], [*I64.values(), TRUE, FALSE, *tensors])
    return Case(made_model, inputs, [*outputs.values()], 5e-6, **more)


# The state is doubled and the iteration's number added: h, 2 h, 4 h + 1, 8 h + 4, ...
STEP = [node("Cast", ["i"], ["number"], to=FLOAT), node("Add", ["s0", "s0"], ["twice"]), node("Add", ["twice", "number"], ["n"])]
SAME = [node("Identity", ["go"], ["stays"])]


def stepped(values, n):
    """The states before and after each of n iterations."""
    found = [values]
    for i in range(max(n, 0)):
        found.append([2 * v + i for v in found[-1]])
    return found


def ran(n, count="", condition="", nodes=(), results=("stays",), inputs=None, tensors=(), before=(), out=(N,), **more):
    """n iterations of STEP on `first`."""
    last = Array(out, stepped(FIRST.values, n)[-1])
    return network([*before, loop(["last"], count, condition, ["first"], [*STEP, *SAME, *nodes], [*results, "n"])], {"first": FIRST, **(inputs or {})},
                   {"last": last}, tensors, **more)


def collected(n, count, condition="", nodes=(), result="stays", tensors=(), inputs=None, **more):
    """The state, all states, and whether the iteration is the first one."""
    steps = stepped(FIRST.values, n)
    nodes = [*STEP, *SAME, *nodes, node("Equal", ["i", "zero"], ["is_first"])]
    return network([loop(["last", "all", "firsts"], count, condition, ["first"], nodes, [result, "n", "n", "is_first"])], {"first": FIRST, **(inputs or {})},
                   {"last": Array((N,), steps[-1]), "all": Array((n, N), [v for row in steps[1:] for v in row]), "firsts": made([n], lambda i: i == 0, BOOL)}, tensors, **more)


def until(limit, count="", first=FIRST, **more):
    """Doubles the state, as long as the sum of its squares is at most the limit."""
    test = [node("Mul", ["n", "n"], ["squares"]), node("ReduceSum", ["squares"], ["sum"], keepdims=0), node("LessOrEqual", ["sum", "limit"], ["again"])]
    values, n = first.values, 0
    while more.get("most", n + 1) > n:
        values, n = stepped(values, 1)[-1] if n == 0 else [2 * v + n for v in values], n + 1
        if sum(v * v for v in values) > limit:
            break
    more.pop("most", None)
    return network([loop(["last", "n"], count, "", ["first", "zero"], [*STEP, *test, node("Add", ["s1", "one"], ["m"])], ["again", "n", "m"])], {"first": first},
                   {"last": Array((N,), values), "n": integer(n)}, [tensor("limit", [], [limit])], **more)


def triangle(n):
    """The inner loop has as many iterations as the number of the outer one: each adds the row of x of that number."""
    inner = loop(["sum"], "i", "", ["s0"], [node("Gather", ["x", "k"], ["row"]), node("Mul", ["row", "scale"], ["r"]), node("Add", ["s0", "r"], ["more"]), node("Identity", ["on"], ["on_"])],
                 ["on_", "more"], "inner", inputs=("k", "on"))
    h, every = FIRST.values, []
    for i in range(n):
        for k in range(i):
            h = [v + 3 * X[k, c] for c, v in enumerate(h)]
        every.append([-v for v in h])
    return network([loop(["last", "all"], "four", "", ["first"], [inner, node("Neg", ["sum"], ["m"]), *SAME], ["stays", "sum", "m"])], {"x": X, "first": FIRST},
                   {"last": Array((N,), h), "all": Array((n, N), [v for row in every for v in row])}, [tensor("scale", [], [3.0])])


def exchanged(n, results, rule):
    """Two states and the iteration's number, which is a state's next value itself."""
    a, b, c = FIRST.values, X.values[:N], -1
    for i in range(n):
        a, b, c = *rule(a, b), i
    nodes = [*SAME, node("Add", ["s0", "s1"], ["sum"])]
    return network([node("Gather", ["x", "zero"], ["row"]), loop(["a", "b", "c"], "m", "", ["first", "row", "before"], nodes, ["stays", *results, "i"])],
                   {"x": X, "first": FIRST, "m": integer(n)}, {"a": Array((N,), a), "b": Array((N,), b), "c": integer(c)}, [tensor("before", [], [-1], INT64)])


def in_scan():
    """A Loop in each iteration of a Scan; the trip count is an element of an input."""
    counts = Array((4,), [2, 0, 5, 1], INT64)
    inner = loop(["r"], "m", "", ["v"], [*STEP, *SAME], ["stays", "n"])
    scanned = node("Scan", ["x", "counts"], ["all"], num_scan_inputs=2, body=body([inner], ["v", "m"], ["r"]))
    return network([scanned], {"x": X, "counts": counts}, {"all": Array(X.shape, [v for t in range(4) for v in stepped([X[t, i] for i in range(N)], counts[t])[-1]])})


def views():
    """The network reads a state's first value, its last one, both transposed and reshaped, and the count, after the loop."""
    steps = stepped(X.values, 2)
    nodes = [node("Relu", ["x"], ["r"]), node("Add", ["m", "one"], ["count"]), loop(["last"], "count", "yes", ["x"], [*STEP, *SAME], ["stays", "n"]),
             node("Transpose", ["last"], ["t"], perm=[1, 0]), node("Reshape", ["t", "shape"], ["u"]), node("Transpose", ["r"], ["q"], perm=[1, 0]),
             node("Reshape", ["q", "shape"], ["w"]), node("Add", ["u", "w"], ["y"]), node("Neg", ["count"], ["z"])]
    turned = [steps[-1][i] + max(X.values[i], 0.0) for k in range(N) for i in range(k, 4 * N, N)]
    return network(nodes, {"x": X, "m": integer(1)}, {"y": Array((2, 6), turned), "z": integer(-2)}, [tensor("shape", [2], [2, 6], INT64)])


def normalized():
    """What rewriting passes look for, across the loop's ends: the mean is computed before it, the rest in it."""
    x = drawn(draw, [4, 8])
    before = [node("ReduceMean", ["x"], ["mean"], axes=[-1]), node("Sub", ["x", "mean"], ["d"])]
    nodes = [node("Mul", ["d", "d"], ["dd"]), node("ReduceMean", ["dd"], ["var"], axes=[-1]), node("Add", ["var", "eps"], ["ve"]), node("Sqrt", ["ve"], ["sd"]),
             node("Div", ["d", "sd"], ["z"]), node("Add", ["s0", "z"], ["n"]), *SAME]
    rows = []
    for t in range(4):
        row = [x[t, i] for i in range(8)]
        mean = sum(row) / 8
        sd = (sum((v - mean)**2 for v in row) / 8 + 1e-5)**0.5
        rows += [v + 3 * (v - mean) / sd for v in row]
    return network([*before, loop(["y"], "three", "", ["x"], nodes, ["stays", "n"])], {"x": x}, {"y": Array((4, 8), rows)},
                   [tensor("eps", [], [1e-5]), tensor("three", [], [3], INT64)])


def open_count():
    """As many iterations as x has rows, each of which reads its own row."""
    t = X.shape[0]
    total, every = FIRST.values, []
    for i in range(t):
        total = [v + X[i, c] for c, v in enumerate(total)]
        every += total
    nodes = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "zero"], ["rows"]),
             loop(["last", "all"], "rows", "", ["first"], [node("Gather", ["x", "i"], ["row"]), node("Add", ["s0", "row"], ["n"]), *SAME], ["stays", "n", "n"])]
    made_model = model(nodes, [value("x", ["t", N]), value("first", [N])], [value("last", [N]), value("all", ["t", N])], [I64["zero"]])
    return Case(made_model, {"x": X, "first": FIRST}, [Array((N,), total), Array(X.shape, every)], 5e-6, options=("--size=t=0..9", f"--size=t={t}"))


def open_state():
    """A state and a result of open extents; the number of iterations is computed."""
    rows = X.shape[0]
    steps = stepped(X.values, 3)
    nodes = [loop(["last"], "m", "", ["x"], [*STEP, *SAME], ["stays", "n"]),
             loop(["end", "all"], "four", "", ["last"], [*STEP, *SAME], ["stays", "n", "n"], "second")]
    made_model = model(nodes, [value("x", ["t", N]), value("m", [], INT64)], [value("end", ["t", N]), value("all", [4, "t", N])], [I64["four"]])
    more = stepped(steps[-1], 4)
    return Case(made_model, {"x": X, "m": integer(3)}, [Array(X.shape, more[-1]), Array((4, rows, N), [v for s in more[1:] for v in s])], 5e-6, options=("--size=t=0..9", f"--size=t={rows}"))


def refused(pattern, count="four", condition="", nodes=(), results=("stays", "n"), outputs=("last",), states=("first",), tensors=(), inputs=("i", "go"), more=()):
    same = SAME if "go" in inputs else []
    return Case(model([loop(outputs, count, condition, states, [*STEP, *same, *nodes], results, inputs=inputs)], [value("first", [N]), *more], [value(o, [N]) for o in outputs],
                      [*I64.values(), TRUE, FALSE, *tensors]), {"first": FIRST}, refused=pattern)


LAST = node("Less", ["i", "one"], ["again"])
# Computed from data.
SMALL = [node("ReduceMax", ["n"], ["most"], keepdims=0), node("Less", ["most", "most"], ["again"])]
ALWAYS = node("Constant", [], ["always"], value=TRUE)
NEVER = node("Constant", [], ["never"], value=tensor("", [1], [0], BOOL))
M, GO = value("m", [], INT64), value("c", [], BOOL)
TRUE_ALWAYS = "it does not end: it has no trip count, and its condition is always true"

CASES = {
    **{f"count_{n}": ran(n, "m", inputs={"m": integer(n)}) for n in COUNTS},
    "count_constant": ran(4, "four"),
    "count_negative": ran(0, "negative"),
    "count_vector": ran(5, "m", inputs={"m": Array((1,), [5], INT64)}),
    "count_computed": ran(2, "c", before=[node("Greater", ["first", "least"], ["g"]), node("Cast", ["g"], ["h"], to=INT64), node("ReduceSum", ["h"], ["c"], keepdims=0)],
                          tensors=[tensor("least", [], [sorted(FIRST.values)[0]])]),
    **{f"condition_{v}": ran(4 * v, "four", "c", inputs={"c": boolean(v)}) for v in (0, 1)},
    "condition_vector": ran(4, "four", "c", inputs={"c": boolean(1, (1,))}),
    "condition_true": ran(4, "four", "yes", [ALWAYS], ["always"]),
    "condition_false": ran(0, "four", "no", [ALWAYS], ["always"]),
    "condition_once": ran(1, "four", "", [NEVER], ["never"]),
    "condition_ends": ran(2, "four", "yes", [LAST], ["again"]),
    "condition_alone": ran(2, "", "yes", [LAST], ["again"]),
    "condition_later": ran(1, "one", "", [LAST], ["again"]),
    "condition_first_0": ran(0, "four", "c", [LAST], ["again"], inputs={"c": boolean(0)}),
    "condition_first_1": ran(4, "four", "c", [ALWAYS], ["always"], inputs={"c": boolean(1)}),
    "condition_both_0": ran(0, "m", "c", inputs={"c": boolean(0), "m": integer(5)}),
    "condition_both_1": ran(5, "m", "c", inputs={"c": boolean(1), "m": integer(5)}),
    "condition_cast": ran(4, "four", "yes", [node("Cast", ["stays"], ["kept"], to=BOOL)], ["kept"]),
    "condition_read": network([loop(["last", "all"], "four", "yes", ["first"], [node("Where", ["go", "s0", "minus"], ["w"]), node("Neg", ["w"], ["n"]), ALWAYS], ["always", "n", "n"])],
                              {"first": FIRST}, {"last": FIRST, "all": made((4, N), lambda t, i: FIRST[i] * (-1)**(t + 1))}, [tensor("minus", [], [-1.0])]),
    "until": until(50.0),
    "until_never": until(-1.0),
    "until_bounded": until(1e9, "four", most=4),
    "collected": collected(4, "four"),
    "collected_none": collected(0, "zero"),
    "collected_false": collected(0, "four", "no", [ALWAYS], "always"),
    "collected_true": collected(4, "four", "yes", [ALWAYS], "always"),
    "collected_one": collected(1, "one", "yes"),
    "triangle": triangle(4),
    "exchanged": exchanged(5, ["s1", "s0"], lambda a, b: (b, a)),
    "exchanged_none": exchanged(0, ["s1", "s0"], lambda a, b: (b, a)),
    "kept": exchanged(3, ["s0", "sum"], lambda a, b: (a, [p + q for p, q in zip(a, b)])),
    "added": exchanged(3, ["sum", "s0"], lambda a, b: ([p + q for p, q in zip(a, b)], a)),
    "in_scan": in_scan(),
    "views": views(),
    "normalized": normalized(),
    "open_count": open_count(),
    "open_state": open_state(),
    "refused_endless": refused(TRUE_ALWAYS, ""),
    "refused_endless_true": refused(TRUE_ALWAYS, "", "yes", [ALWAYS], ("always", "n")),
    "refused_count": refused("inputs must be known at compile time: 'm'; give --constant m=FILE", "m", results=("stays", "n", "n"), outputs=("last", "all"), more=[M]),
    "refused_condition": refused("inputs must be known at compile time: 'm', 'c'; give --constant", "m", "c", results=("stays", "n", "n"), outputs=("last", "all"), more=[M, GO]),
    "refused_early": refused("loop: the shape of its result 'all' depends on data: so does the number of iterations", nodes=SMALL, results=("again", "n", "n"), outputs=("last", "all")),
    "refused_unbounded": refused("the shape of its result 'all' depends on data", "", nodes=SMALL, results=("again", "n", "n"), outputs=("last", "all")),
    "refused_shape": refused(r"state '.*' begins as f32 3, and '.*', its next value, is f32 6", nodes=[node("Concat", ["n", "n"], ["both"], axis=0)], results=("stays", "both")),
    "refused_type": refused("begins as f32 3, and '.*', its next value, is i32 3", nodes=[node("Cast", ["n"], ["whole"], to=INT32)], results=("stays", "whole")),
    "refused_slice": refused("Slice .*: its input '.*' must be known at compile time, but is computed from data",
                             nodes=[node("Unsqueeze", ["i", "axis"], ["from"]), node("Slice", ["n", "from", "end"], ["part"])], tensors=[tensor("axis", [1], [0], INT64), tensor("end", [1], [9], INT64)]),
    "refused_counts": refused("its body has 3 inputs and 1 outputs; with 1 states and 1 outputs of the loop it needs 3 and at least 2", results=("stays",)),
    "refused_inputs": refused("its body has 2 inputs and 2 outputs; with 1 states", results=("n", "n"), inputs=("i",)),
    "refused_outputs": refused("its body has 3 inputs and 2 outputs; with 1 states and 2 outputs of the loop it needs 3 and at least 3", outputs=("last", "all")),
    "refused_body": Case(model([node("Loop", ["four"], ["y"])], [value("x", [N])], [value("y", [N])], [I64["four"]]), refused="Loop loop_y: it has no body"),
    "refused_count_type": refused("input 0, 'm', is i32 .*; it must be one i64, the trip count", "m", more=[value("m", [], INT32)]),
    "refused_counts_two": refused("input 0, 'm', is i64 2; it must be one i64", "m", more=[value("m", [2], INT64)]),
    "refused_condition_type": refused("input 1, 'm', is i64 .*; it must be one boolean", "four", "m", more=[M]),
    "refused_next_condition": refused("its condition '.*byte' is u8 scalar, not one boolean$", nodes=[node("Cast", ["number"], ["byte"], to=2)], results=("byte", "n")),
    "refused_next_shape": refused("its condition '.*both' is boolean 2, not one boolean$", nodes=[node("Unsqueeze", ["go", "axis"], ["b"]), node("Concat", ["b", "b"], ["both"], axis=0)],
                                  tensors=[tensor("axis", [1], [0], INT64)], results=("both", "n")),
    "refused_next_float": refused("its condition '.*number' is f32 scalar, not one boolean$", results=("number", "n")),
}
for checked in CASES.values():
    checked.options += () if checked.refused else ("--check=all",)
