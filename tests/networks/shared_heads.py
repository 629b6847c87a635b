# SPDX-License-Identifier: Apache-2.0
"""Products with keys and values that heads share by Unsqueeze, Expand and Reshape, and forms that are near to it."""

import math
import random

from defined import Case, drawn, made
from onnx_writer import INT64, model, node, tensor, value

draw = random.Random(52)
BATCH, GROUPS, KEYS, SIZE = 2, 2, 5, 4


def shared(name, repeats, tensors, axis=2, by="Unsqueeze"):
    """Nodes from NAME to NAME_r, whose heads are each `repeats` times; axis 1: one after the other."""
    at = [BATCH, GROUPS, KEYS, SIZE]
    apart, repeated = at[:axis] + [1] + at[axis:], at[:axis] + [repeats] + at[axis:]
    tensors += [tensor(f"{name}_axis", [1] if by == "Unsqueeze" else [5], [axis] if by == "Unsqueeze" else apart, INT64),
                tensor(f"{name}_by", [5], repeated, INT64), tensor(f"{name}_to", [4], [BATCH, GROUPS * repeats, KEYS, SIZE], INT64)]
    return [node(by, [name, f"{name}_axis"], [f"{name}_u"]), node("Expand", [f"{name}_u", f"{name}_by"], [f"{name}_e"]), node("Reshape", [f"{name}_e", f"{name}_to"], [f"{name}_r"])]


def transposed(name, tensors, flat, heads):
    """Nodes from NAME to NAME_t; flat: by three dimensions."""
    if not flat:
        return [node("Transpose", [name], [f"{name}_t"], perm=[0, 1, 3, 2])]
    tensors += [tensor("flat", [3], [-1, KEYS, SIZE], INT64), tensor("back", [4], [BATCH, heads, SIZE, KEYS], INT64)]
    return [node("Reshape", [name, "flat"], [f"{name}_f"]), node("Transpose", [f"{name}_f"], [f"{name}_ft"], perm=[0, 2, 1]), node("Reshape", [f"{name}_ft", "back"], [f"{name}_t"])]


def product(v, repeats, axis):
    """The head of v that head h reads."""
    return lambda b, h, j, d: v[b, h // repeats if axis == 2 else h % GROUPS, j, d]


def case(nodes, inputs, y, tensors, rows, layers):
    """rows: their range if their number is an open size."""
    row = lambda v: [*v.shape[:2], "seq", v.shape[3]] if rows else v.shape
    first, second = inputs
    made_of = model(nodes, [value(first, row(inputs[first])), value(second, inputs[second].shape)], [value("y", row(y))], tensors)
    return Case(made_of, inputs, [y], layers=layers, options=(f"--size=seq={rows}", f"--size=seq={y.shape[2]}") if rows else ())


def scores(rows=3, repeats=3, axis=2, flat=False, factor=None, after=None, by="Unsqueeze", layers=1, open_rows=None):
    """factor: multiplies the keys before they are transposed, `after` afterwards."""
    heads, tensors = GROUPS * repeats, []
    q, k = drawn(draw, [BATCH, heads, rows, SIZE]), drawn(draw, [BATCH, GROUPS, KEYS, SIZE])
    nodes, last = [], "k"
    if repeats > 1:
        nodes, last = shared("k", repeats, tensors, axis, by), "k_r"
    if factor:
        tensors.append(tensor("factor", [], [factor]))
        nodes.append(node("Mul", ["factor", last], ["km"]))
        last = "km"
    nodes += transposed(last, tensors, flat, heads)
    last += "_t"
    if after:
        tensors.append(tensor("after", [1], [after]))
        nodes.append(node("Mul", [last, "after"], ["scaled"]))
        last = "scaled"
    nodes.append(node("MatMul", ["q", last], ["y"]))
    of, scale = product(k, repeats, axis), (factor or 1) * (after or 1)
    y = made([BATCH, heads, rows, KEYS], lambda b, h, i, j: scale * math.fsum(q[b, h, i, d] * of(b, h, j, d) for d in range(SIZE)))
    return case(nodes, {"q": q, "k": k}, y, tensors, open_rows, layers)


def values(rows=3, repeats=3, axis=2, by="Unsqueeze", layers=1, open_rows=None):
    heads, tensors = GROUPS * repeats, []
    p, v = drawn(draw, [BATCH, heads, rows, KEYS]), drawn(draw, [BATCH, GROUPS, KEYS, SIZE])
    nodes = [*shared("v", repeats, tensors, axis, by), node("MatMul", ["p", "v_r"], ["y"])]
    of = product(v, repeats, axis)
    y = made([BATCH, heads, rows, SIZE], lambda b, h, i, d: math.fsum(p[b, h, i, j] * of(b, h, j, d) for j in range(KEYS)))
    return case(nodes, {"p": p, "v": v}, y, tensors, open_rows, layers)


def also_read():
    """The repeated keys are an output, too."""
    tensors = []
    q, k = drawn(draw, [BATCH, 6, 3, SIZE]), drawn(draw, [BATCH, GROUPS, KEYS, SIZE])
    nodes = [*shared("k", 3, tensors), *transposed("k_r", tensors, False, 6), node("MatMul", ["q", "k_r_t"], ["y"])]
    repeated = made([BATCH, 6, KEYS, SIZE], product(k, 3, 2))
    y = made([BATCH, 6, 3, KEYS], lambda b, h, i, j: math.fsum(q[b, h, i, d] * repeated[b, h, j, d] for d in range(SIZE)))
    return Case(model(nodes, [value("q", q.shape), value("k", k.shape)], [value("y", y.shape), value("k_r", repeated.shape)], tensors), {"q": q, "k": k}, [y, repeated])


CASES = {
    "scores": scores(), "scores_row": scores(rows=1), "scores_reshaped": scores(by="Reshape"), "scores_flat": scores(flat=True), "scores_flat_alone": scores(repeats=1, flat=True),
    "scores_factor": scores(factor=0.5, layers=2), "scores_after": scores(rows=1, after=-1.5, layers=2), "scores_factors": scores(flat=True, factor=0.5, after=3.0, layers=2),
    "scores_alternate": scores(axis=1, layers=0),  # heads 0, 1, 0, 1, ..: no groups
    "values": values(), "values_row": values(rows=1), "values_reshaped": values(by="Reshape"), "values_alternate": values(axis=1, layers=0),
    "scores_open": scores(open_rows="1..5"), "scores_open_row": scores(rows=1, open_rows="1..5", flat=True, factor=0.5, layers=2),
    "values_open": values(open_rows="1..5"), "values_open_row": values(rows=1, open_rows="1..5"),
    "also_read": also_read(),
}
