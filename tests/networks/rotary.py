# SPDX-License-Identifier: Apache-2.0
"""Rotary embeddings: of ONNX and of com.microsoft, with and without positions, whole heads and parts."""

import math
import random

from defined import Array, Case, drawn, made, whole
from onnx_writer import INT64, model, node, tensor, value

draw = random.Random(49)
BATCH, HEADS, ROWS, TABLE = 2, 3, 4, 9
PLACES = whole(draw, [BATCH, ROWS], 0, TABLE - 1, INT64)


def tables(shape):
    angle = drawn(draw, shape, 0, 6)
    return made(shape, lambda *i: math.cos(angle[i])), made(shape, lambda *i: math.sin(angle[i]))


def case(size, rotated=None, flat=True, interleaved=0, positions=PLACES, microsoft=False, constant=False, layers=0, refused="", **more):
    """One embedding of heads with `size` elements, of which `rotated` are rotated; flat: x is [batch, rows, hidden],
    else [batch, heads, rows, size]; constant: tables and positions are."""
    half = (rotated or size) // 2
    x = drawn(draw, [BATCH, ROWS, HEADS * size] if flat else [BATCH, HEADS, ROWS, size])
    cos, sin = tables([TABLE, half] if positions else [BATCH, ROWS, half])

    def element(b, h, s, d):
        at = lambda i: x[(b, s, h * size + i) if flat else (b, h, s, i)]
        if d >= 2 * half:
            return at(d)
        k, second = (d // 2, d % 2) if interleaved else (d % half, d // half)
        other = d + 1 - 2 * second if interleaved else k + half * (1 - second)
        line = (b, s) if not positions else (positions[0] + s,) if positions.shape == (1,) else (positions[b, s],)
        c, t = cos[(*line, k)], sin[(*line, k)]
        return at(d) * c + at(other) * t if second else at(d) * c - at(other) * t

    y = x if refused else made(x.shape, (lambda b, s, i: element(b, i // size, s, i % size)) if flat else element)
    if rotated:
        more["rotary_embedding_dim"] = rotated
    if not microsoft and flat or rotated:
        more["num_heads"] = HEADS
    inputs = {"x": x, "cos": cos, "sin": sin, **({"p": positions} if positions else {})}
    order = ["x", "p", "cos", "sin"] if microsoft else ["x", "cos", "sin"] + ["p"] * bool(positions)
    fixed = {"cos", "sin", "p"} if constant else set()
    made_of = model([node("RotaryEmbedding", order, ["y"], domain="com.microsoft" if microsoft else "", interleaved=interleaved, **more)],
                    [value(k, v.shape, v.kind) for k, v in inputs.items() if k not in fixed], [value("y", y.shape)],
                    [tensor(k, inputs[k].shape, inputs[k].values, inputs[k].kind) for k in inputs if k in fixed], opset=23, domains=["com.microsoft"])
    return Case(made_of, {k: v for k, v in inputs.items() if k not in fixed}, [y], layers=layers, refused=refused)


ONE, FIVE = Array((1,), [0], INT64), Array((1,), [5], INT64)
CASES = {
    **{f"onnx_{flat}_{i}_{bool(p)}": case(8, flat=flat, interleaved=i, positions=p, layers=1) for flat in (True, False) for i in (0, 1) for p in (PLACES, None)},
    **{f"part_{flat}_{i}": case(10, 6, flat=flat, interleaved=i) for flat in (True, False) for i in (0, 1)},
    **{f"microsoft_{flat}_{i}": case(6, flat=flat, interleaved=i, microsoft=True, positions=p) for flat, p in ((True, PLACES), (False, FIVE)) for i in (0, 1)},
    "microsoft_part": case(8, 4, microsoft=True, positions=FIVE), "constants": case(8, constant=True, layers=1), "first": case(4, microsoft=True, positions=ONE, constant=True),
    "odd": case(5, refused="rotating 5 of 5 elements"), "wide": case(4, 6, refused="rotating 6 of 4 elements"),
    "heads": Case(model([node("RotaryEmbedding", ["x", "c", "c"], ["y"], num_heads=5)], [value("x", [1, 2, 12]), value("c", [1, 2, 2])], [value("y", [1, 2, 12])], opset=23),
                  refused="num_heads=5 does not divide rows of 12"),
    "packed": case(8, microsoft=True, is_packed_batching=1, refused="is_packed_batching=1 is not supported"),
    "outside": case(8, positions=made([BATCH, ROWS], lambda b, s: TABLE - 3 + s, INT64), refused="index|range"),
    "reserved": Case(model([node("Rotate", ["x", "x", "x"], ["y"], domain="ukernels")], [value("x", [1, 2, 3, 2, 2])], [value("y", [1, 2, 3, 2, 2])]), refused="domain 'ukernels' is reserved"),
}
