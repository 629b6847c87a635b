# SPDX-License-Identifier: Apache-2.0
"""Loop whose condition compares numbers that the loop counts: its results of all iterations have known shapes."""

import operator

from counted import FIRST, I64, SAME, STEP, N, X, integer, loop, network, stepped
from defined import Array, Case
from onnx_writer import BOOL, DOUBLE, FLOAT, INT32, INT64, model, node, tensor, value

COMPARED = {"Less": operator.lt, "LessOrEqual": operator.le, "Greater": operator.gt, "GreaterOrEqual": operator.ge}


def trips(first, step, compare, limit, most=99):
    n, i = 0, first
    while n < most and (n == 0 or compare(i, limit)):
        n, i = n + 1, i + step
    return n


def counted(first, step, compare, limit, kind=INT64, cast=None, count="", most=99, before="yes", extra=(), again="again", operands=("v", "w"), n=None, tensors=()):
    """A state grows from `first`; `most`, `extra` and `again`: a bound and further nodes of the condition; n: the iterations."""
    n = trips(first, step, COMPARED[compare], limit, most) if n is None else n
    states = stepped(FIRST.values, n)
    cast = [node("Cast", [a], [b], to=cast) if cast else node("Identity", [a], [b]) for a, b in (("j", "v"), ("s2", "w"))]
    nodes = [*STEP, node("Add", ["s1", "step"], ["j"]), *cast, node(compare, list(operands), ["again"]), node("Identity", ["s2"], ["limit_"]), *extra]
    made = [tensor(name, [], [v], kind) for name, v in (("from", first), ("step", step), ("limit", limit))]
    return network([loop(["last", "i", "", "all"], count, before, ["first", "from", "limit"], nodes, [again, "n", "j", "limit_", "n"])], {"first": FIRST},
                   {"last": Array((N,), states[-1]), "i": Array((), [first + n * step], kind), "all": Array((n, N), [v for row in states[1:] for v in row])}, [*made, *tensors])


def open_trips():
    """As many iterations as x has rows, by a condition before the loop and one in it."""
    rows = X.shape[0]
    states = stepped(FIRST.values, rows)
    nodes = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "zero"], ["rows"]), node("Cast", ["rows"], ["limit"], to=INT32),
             node("Less", ["from", "limit"], ["before"]),
             loop(["last", "", "", "all"], "", "before", ["first", "from", "limit"],
                  [*STEP, node("Add", ["s1", "step"], ["j"]), node("Cast", ["j"], ["v"], to=FLOAT), node("Cast", ["s2"], ["w"], to=FLOAT), node("Less", ["v", "w"], ["again"]),
                   node("Identity", ["s2"], ["limit_"])], ["again", "n", "j", "limit_", "n"])]
    made_model = model(nodes, [value("x", ["t", N]), value("first", [N])], [value("last", [N]), value("all", ["t", N])],
                       [I64["zero"], tensor("from", [], [0], INT32), tensor("step", [], [1], INT32)])
    return Case(made_model, {"x": X, "first": FIRST}, [Array((N,), states[-1]), Array((rows, N), [v for row in states[1:] for v in row])], 5e-6,
                options=("--size=t=0..9", f"--size=t={rows}"))


def by_number(test, n, tensors=()):
    """The iteration's own number is compared."""
    states = stepped(FIRST.values, n)
    return network([loop(["last", "all"], "", "", ["first"], [*STEP, *test], ["again", "n", "n"])], {"first": FIRST},
                   {"last": Array((N,), states[-1]), "all": Array((n, N), [v for row in states[1:] for v in row])}, tensors)


def refused(limit, step, inputs):
    nodes = [*STEP, node("Add", ["s1", step], ["j"]), node("Less", ["j", limit], ["again"])]
    return Case(model([loop(["last", "", "all"], "four", "yes", ["first", "one"], nodes, ["again", "n", "j", "n"])], [value("first", [N]), *(value(k, [], INT64) for k in inputs)],
                      [value("last", [N]), value("all", [4, N])], [*I64.values(), tensor("yes", [], [1], BOOL)]), {"first": FIRST, **{k: integer(1) for k in inputs}},
                refused="the shape of its result 'all' depends on data|inputs must be known at compile time")


CASES = {
    "less": counted(0, 1, "Less", 4), "less_once": counted(7, 1, "Less", 4), "less_equal": counted(0, 3, "LessOrEqual", 9), "less_between": counted(1, 3, "Less", 12),
    "greater": counted(5, -2, "Greater", 0), "greater_equal": counted(6, -2, "GreaterOrEqual", 0), "swapped": counted(0, 2, "Greater", 7, operands=("w", "v"), n=4),
    "cast": counted(0, 1, "Less", 5, INT32, FLOAT), "real": counted(0, 1, "Less", 3, FLOAT), "double": counted(0, 2, "LessOrEqual", 4, INT64, DOUBLE),
    "bounded": counted(0, 1, "Less", 9, count="four", most=4), "bound_above": counted(0, 2, "Less", 4, count="four", most=4), "never": counted(0, 1, "Less", 4, before="no", n=0),
    "negated": counted(0, 1, "GreaterOrEqual", 4, extra=[node("Not", ["again"], ["on"])], again="on", n=4),
    "both": counted(0, 1, "Less", 8, extra=[node("Constant", [], ["three"], value=tensor("", [], [3], INT64)), node("Less", ["i", "three"], ["few"]), node("And", ["again", "few"], ["on"])],
                    again="on", n=4),
    "number": by_number([node("Less", ["i", "four"], ["again"])], 5), "number_less": by_number([node("Sub", ["i", "negative"], ["k"]), node("Less", ["k", "four"], ["again"])], 3),
    "open": open_trips(),
    "refused_limit": refused("m", "one", ["m"]), "refused_step": refused("four", "m", ["m"]), "refused_still": refused("four", "zero", []),
}
for checked in CASES.values():
    checked.options += () if checked.refused else ("--check=all",)
