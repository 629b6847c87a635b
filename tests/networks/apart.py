# SPDX-License-Identifier: Apache-2.0
"""Operators without kin: BitCast, Det, MeanVarianceNormalization and SwiGLU, from ONNX's definitions."""

import fractions
import math
import random
import struct

from arranged import X, case, refused
from defined import FORMATS, KINDS, Array, Case, drawn, made, whole
from onnx_writer import BOOL, FLOAT, FLOAT16, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, model, node, tensor, value

DRAW = random.Random(26)
NAN, INF = math.nan, math.inf


def bits(x, to):
    data = struct.pack(f"<{len(x.values)}{FORMATS[KINDS[x.kind]]}", *x.values)
    return case("BitCast", {"x": x}, Array(x.shape, list(struct.unpack(f"<{len(x.values)}{FORMATS[KINDS[to]]}", data)), to), to=to)


def bits_between():
    """The sign of numbers is cleared by integers; a transposed view is read as bits."""
    nodes = [node("Transpose", ["x"], ["t"], perm=[1, 0]), node("BitCast", ["t"], ["i"], to=INT32), node("BitwiseAnd", ["i", "mask"], ["j"]), node("BitCast", ["j"], ["y"], to=FLOAT)]
    x = drawn(DRAW, (3, 5))
    right = made((5, 3), lambda i, j: abs(x[j, i]))
    return Case(model(nodes, [value("x", x.shape)], [value("y", right.shape)], [tensor("mask", [], [2**31 - 1], INT32)], opset=26), {"x": x}, [right], 0)


def constant_bits():
    nodes = [node("BitCast", ["one"], ["i"], to=INT32), node("Add", ["x", "i"], ["y"])]
    x = Array((2,), [1, -1], INT32)
    return Case(model(nodes, [value("x", [2], INT32)], [value("y", [2], INT32)], [tensor("one", [1], [1.0])], opset=26), {"x": x}, [Array((2,), [0x3F800001, 0x3F7FFFFF], INT32)])


def determinant(rows):
    """By elimination without rounding."""
    rows, total = [[fractions.Fraction(v) for v in row] for row in rows], fractions.Fraction(1)
    for k in range(len(rows)):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return 0.0
        if pivot != k:
            rows[k], rows[pivot], total = rows[pivot], rows[k], -total
        total *= rows[k][k]
        for i in range(k + 1, len(rows)):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k])]
    return float(total)


def determinants(x, right=None, opset=22):
    n, batch = x.shape[-1], x.shape[:-2]
    each = n * n
    count = math.prod(batch)
    values = right or [determinant([x.values[b * each + i * n:b * each + i * n + n] for i in range(n)]) for b in range(count)]
    made_case = case("Det", {"x": x}, Array(tuple(batch), values), opset=opset)
    made_case.bound = 1e-5
    return made_case


def normalized(x, axes=None):
    reduced = [a % len(x.shape) for a in ([0, 2, 3] if axes is None else axes)]
    groups = {}
    for at in made(x.shape, lambda *at: at).values:
        groups.setdefault(tuple(i for d, i in enumerate(at) if d not in reduced), []).append(x[at])

    def rule(*at):
        group = groups[tuple(i for d, i in enumerate(at) if d not in reduced)]
        mean = sum(group) / len(group)
        return (x[at] - mean) / (math.sqrt(sum((v - mean) ** 2 for v in group) / len(group)) + 1e-9)
    made_case = case("MeanVarianceNormalization", {"x": x}, made(x.shape, rule), opset=13, **({} if axes is None else {"axes": axes}))
    made_case.bound = 1e-5
    return made_case


def gated(a, b, alpha):
    return case("SwiGLU", {"a": a, "b": b}, made(a.shape, lambda *at: a[at] / (1 + math.exp(min(-alpha * a[at], 700))) * b[at]), opset=28, alpha=alpha)


IMAGE = drawn(DRAW, (2, 3, 4, 5))
CASES = {
    "bits_of_floats": bits(Array((2, 3), [0.0, -0.0, 1.5, -INF, 1e-45, 3e38]), UINT32), "bits_to_floats": bits(Array((4,), [0, 1, 0x3FC00000, -(2**31)], INT32), FLOAT),
    "bits_of_bytes": bits(whole(DRAW, (3, 3), -128, 127, INT8), UINT8), "bits_of_shorts": bits(whole(DRAW, (5,), 0, 65535, UINT16), INT16), "bits_of_one": bits(Array((), [-2], INT64), INT64),
    "bits_of_bool": bits(whole(DRAW, (5,), 0, 1, BOOL), UINT8), "bits_of_none": bits(Array((0, 2), [], INT32), FLOAT), "bits_between": bits_between(), "bits_of_constant": constant_bits(),
    "bits_of_other_width": refused("BitCast", {"x": X}, "bits of f32 as i64 are not supported", to=INT64),
    "bits_to_bool": refused("BitCast", {"x": whole(DRAW, (2,), 0, 9, UINT8)}, "bits of u8 as bool are not supported", to=BOOL),
    "bits_of_halves": refused("BitCast", {"x": Array((2,), [1.0, 2.0], FLOAT16)}, "values of f16 and bf16 are f32 here", to=INT16),
    **{f"det_{n}": determinants(drawn(DRAW, (2, n, n))) for n in (1, 2, 3, 5)}, "det_16": determinants(drawn(DRAW, (16, 16)), opset=11), "det_batches": determinants(drawn(DRAW, (2, 0, 3, 3, 3))),
    "det_exchanged": determinants(Array((4, 4), [0.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 4.0, 0.0, 0.0])), "det_singular": determinants(Array((3, 3), [0.0, 1.0, 2.0, 0.0, 3.0, 4.0, 0.0, 5.0, 6.0])),
    "det_zero": determinants(Array((2, 2, 2), [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])), "det_nan": determinants(Array((2, 2, 2), [1.0, NAN, 1.0, 1.0, NAN, 1.0, 2.0, 3.0]), [NAN, NAN]),
    "det_of_nothing": determinants(Array((2, 0, 0), []), [1.0, 1.0]), "det_pivot": determinants(Array((2, 2), [1e-7, 1.0, 1.0, 1.0])),
    "det_large": refused("Det", {"x": drawn(DRAW, (33, 33))}, "matrices of 33 rows are not supported; at most 32"),
    "det_oblong": refused("Det", {"x": drawn(DRAW, (2, 3))}, "shape 2x3 does not have square matrices"),
    "normalized": normalized(IMAGE), "normalized_last": normalized(IMAGE, [-1]), "normalized_first": normalized(drawn(DRAW, (5, 2, 2)), [0, 1]), "normalized_all": normalized(drawn(DRAW, (3, 4)), [0, 1]),
    "normalized_mean": normalized(made((2, 64), lambda i, j: 1000 + (i + 1) * (j % 2)), [1]), "normalized_none": normalized(Array((0, 2, 3, 1), [])),
    "normalized_row": refused("MeanVarianceNormalization", {"x": drawn(DRAW, (2, 3))}, "axis 2 does not exist", opset=13),
    "gated": gated(drawn(DRAW, (3, 5), -9, 9), drawn(DRAW, (3, 5)), 1.0), "gated_alpha": gated(drawn(DRAW, (2, 2, 2), -3, 3), drawn(DRAW, (2, 2, 2)), 1.7), "gated_far": gated(Array((4,), [-1e4, -100.0, 90.0, 0.0]), drawn(DRAW, (4,)), 2.0),
    "gated_broadcast": refused("SwiGLU", {"a": X, "b": drawn(DRAW, (5,))}, "shapes 3x4x5 and 5 are not two of floats of one shape", opset=28),
}
