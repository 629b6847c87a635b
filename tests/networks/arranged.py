# SPDX-License-Identifier: Apache-2.0
"""Operators that choose, cumulate or combine elements by their subscripts."""

import itertools
import math
import random
import struct

from defined import Array, Case, drawn, made, whole
from onnx_writer import BOOL, DOUBLE, FLOAT, INT32, INT64, UINT8, UINT64, model, node, tensor, value

DRAW = random.Random(47)
X = drawn(DRAW, (3, 4, 5))
INTS = whole(DRAW, (3, 4, 5), -9, 9, INT32)


def case(op, inputs, right, tensors=(), opset=26, **attributes):
    """A node; `inputs` are arrays by name, `tensors` are constants."""
    names = [*inputs, *(t[0] for t in tensors)]
    made_node = node(op, names, ["y"], **attributes)
    return Case(model([made_node], [value(k, a.shape, a.kind) for k, a in inputs.items()], [value("y", right.shape, right.kind)],
                      [tensor(name, shape, values, kind) for name, shape, values, kind in tensors], opset=opset), inputs, [right])


def refused(op, inputs, pattern, tensors=(), opset=26, **attributes):
    made = case(op, inputs, X, tensors, opset, **attributes)
    return Case(made.model, inputs, refused=pattern)


def cumulated(x, axis, product, exclusive, reverse):
    """Sums or products before each element, from the definition."""
    def rule(*at):
        last = x.shape[axis]
        places = range(at[axis] + exclusive, last) if reverse else range(0, at[axis] + 1 - exclusive)
        terms = [x[(*at[:axis], i, *at[axis + 1:])] for i in places]
        return math.prod(terms) if product else sum(terms)
    return made(x.shape, rule, x.kind)


def cumulate(x, axis, product=False, **flags):
    right = cumulated(x, axis % len(x.shape), product, flags.get("exclusive", 0), flags.get("reverse", 0))
    return case("CumProd" if product else "CumSum", {"x": x}, right, [("axis", [], [axis], INT64)], **flags)


def triangle(x, upper, k):
    right = made(x.shape, lambda *at: x[at] if (at[-1] - at[-2] >= k if upper else at[-1] - at[-2] <= k) else 0, x.kind)
    return case("Trilu", {"x": x}, right, [("k", [], [k], INT64)], upper=upper)


def eye(rows, columns, k, kind):
    return case("EyeLike", {"x": drawn(DRAW, (rows, columns))}, made((rows, columns), lambda i, j: int(j - i == k), kind), k=k, dtype=kind)


def centered(x, shape, axes):
    """Crops and pads; the odd element is cropped from, or added to, the end."""
    full = list(x.shape)
    for axis, n in zip(axes, shape):
        full[axis] = n

    def rule(*at):
        place = []
        for i, n, old in zip(at, full, x.shape):
            place.append(i + (old - n) // 2 if old >= n else i - (n - old) // 2)
        return x[tuple(place)] if all(0 <= p < n for p, n in zip(place, x.shape)) else 0
    return case("CenterCropPad", {"x": x}, made(full, rule), [("shape", [len(shape)], shape, INT64)], axes=axes)


def reversed_sequence(x, lengths, batch, time):
    def rule(*at):
        n, t = lengths[at[batch]], at[time]
        return x[tuple(n - 1 - t if d == time and t < n else i for d, i in enumerate(at))]
    lengths_array = Array((len(lengths),), lengths, INT64)
    return case("ReverseSequence", {"x": x, "n": lengths_array}, made(x.shape, rule), batch_axis=batch, time_axis=time)


def einsum(equation, *operands):
    """The sum over all values of the letters that the result lacks; an ellipsis is written as capital letters here."""
    terms, out = equation.split("->")
    terms = terms.split(",")
    extent = {}
    for term, x in zip(terms, operands):
        for letter, n in zip(term, x.shape):
            extent[letter] = max(n, extent.get(letter, n)) if extent.get(letter, n) and n else 0
    inner = [c for c in extent if c not in out]

    def rule(*at):
        known = dict(zip(out, at))
        total = 0
        for values in itertools.product(*(range(extent[c]) for c in inner)):
            known.update(zip(inner, values))
            total += math.prod(x[tuple(known[c] if n > 1 else 0 for c, n in zip(term, x.shape))] for term, x in zip(terms, operands))
        return total

    def shown(term):
        return "..." + "".join(c for c in term if c.islower()) if any(c.isupper() for c in term) else term
    text = ", ".join(map(shown, terms)) + " -> " + shown(out)
    return case("Einsum", {f"x{i}": x for i, x in enumerate(operands)}, made([extent[c] for c in out], rule), equation=text)


def compress(x, condition, axis=None):
    kept = [i for i, c in enumerate(condition) if c]
    if axis is None:
        right, more = Array((len(kept),), [x.values[i] for i in kept]), {}
    else:
        shape = list(x.shape)
        shape[axis] = len(kept)
        right, more = made(shape, lambda *at: x[tuple(kept[i] if d == axis % len(shape) else i for d, i in enumerate(at))]), {"axis": axis}
    return case("Compress", {"x": x}, right, [("condition", [len(condition)], condition, BOOL)], **more)


def unary(op, values, rule, kind=FLOAT, **attributes):
    x = Array((len(values),), values)
    return case(op, {"x": x}, made(x.shape, lambda i: rule(x[i]), kind), **attributes)


def unary_of(op, x, rule):
    return case(op, {"x": x}, made(x.shape, lambda *at: rule(x[at]), x.kind))


def nonzero():
    """A constant's subscripts, which choose from the input."""
    nodes = [node("NonZero", ["mask"], ["at"]), node("Squeeze", ["at", "zero"], ["list"]), node("Gather", ["x", "list"], ["y"], axis=0)]
    tensors = [tensor("mask", [3], [1.0, 0.0, math.nan]), tensor("zero", [1], [0], INT64)]
    return Case(model(nodes, [value("x", [3, 4, 5])], [value("y", [2, 4, 5])], tensors), {"x": X}, [made((2, 4, 5), lambda i, j, k: X[2 * i, j, k])])


def binary(op, x, y, rule, kind=None, **attributes):
    """Of two arrays of one shape."""
    return case(op, {"x": x, "b": y}, made(x.shape, lambda *at: rule(x[at], y[at]), kind or x.kind), **attributes)


def singles(*values):
    return Array((len(values),), [struct.unpack("f", struct.pack("f", v))[0] for v in values])


def c_fmod(a, b):
    return NAN if math.isinf(a) or math.isnan(a) or b == 0 else math.fmod(a, b)


def python_mod(a, b):
    """The remainder with the divisor's sign."""
    r = c_fmod(a, b)
    return r + b if r != 0 and (r < 0) != (b < 0) else r


def wrapped(v, bits, signed=True):
    v &= (1 << bits) - 1
    return v - (1 << bits) if signed and v >> (bits - 1) else v


def quotient(a, b):
    """Truncated toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def hardmax(x, axis):
    def rule(*at):
        row = [x[(*at[:axis], i, *at[axis + 1:])] for i in range(x.shape[axis])]
        return int(row.index(max(row)) == at[axis])
    return case("Hardmax", {"x": x}, made(x.shape, rule), axis=axis)


def lp_normalized(x, axis, p):
    def rule(*at):
        row = [x[(*at[:axis], i, *at[axis + 1:])] for i in range(x.shape[axis])]
        norm = sum(abs(v) ** p for v in row) ** (1 / p)
        return x[at] / norm if norm else 0
    return case("LpNormalization", {"x": x}, made(x.shape, rule), axis=axis, p=p)


def lp_pooled(x, p, kernel, pad):
    """A window over one dimension, with zeros around."""
    def rule(n, c, i):
        return sum(abs(x[n, c, k]) ** p for k in range(i - pad, i - pad + kernel) if 0 <= k < x.shape[2]) ** (1 / p)
    return case("LpPool", {"x": x}, made((x.shape[0], x.shape[1], x.shape[2] + 2 * pad - kernel + 1), rule), kernel_shape=[kernel], pads=[pad, pad], p=p)


INF, NAN = math.inf, math.nan
LONGS = Array((8,), [7, -7, 7, -7, 2**62 + 12345, -(2**63), 9007199254740993, 0], INT64)
BY = Array((8,), [3, 3, -3, -3, 10007, 3, 1, -5], INT64)
BYTES, MASK = Array((6,), [0, 1, 127, 128, 200, 255], UINT8), Array((6,), [0, 7, 1, 8, 3, 9], UINT8)
WORDS = Array((4,), [0, 1, 2**63, 2**64 - 1], UINT64)
FLOATS, BY_FLOATS = Array((8,), [5.5, -5.5, 1e9, -1e9, 3.0, INF, NAN, 0.1]), Array((8,), [2.0, 2.0, 3.0, -7.5, INF, 2.0, 2.0, 0.0])
FAR, BY_FAR = singles(1e38, -3.4e38, 7e20, 1e38, -1.5e-45, 3e38), singles(1.5e-45, 3.3e-40, 7.1, -0.3, 1e30, 2.9e38)
DOUBLES = Array((16,), [5.5, -5.5, 4.5e15, -1e9, 3.0, INF, 1e-310, 1.7e308, -1.7e308, NAN, 1e300, -1.7e308, 1.7e308, 9.007199254740993e18, 1.0, 4e-310], DOUBLE)
BY_DOUBLES = Array((16,), [2.0, 2.1, 3.7, -7.5, -INF, 2.0, 1e-312, 1.1e308, 1.7e301, 1.0, 3.3, 5e-324, 1.234e-308, 1.1, 7e-320, 3.1e-310], DOUBLE)
ANGLES, UNIT, ABOVE, HALVES = [-1e6, -2.0, 0.0, 0.5, 12345.0], [-1.0, -0.25, 0.0, 0.5, 1.0], [1.0, 1.5, 2.0, 100.0, 1e20], [-0.75, -0.25, 0.0, 0.5, 0.875]
WHERE = [-INF, -1.0, 0.0, NAN, 2.0, INF]
A, B, C = drawn(DRAW, (3, 4)), drawn(DRAW, (4, 6)), drawn(DRAW, (6,))
CASES = {
    "cumsum": cumulate(X, 1), "cumsum_of_ints": cumulate(INTS, -1), "cumsum_reverse": cumulate(X, 0, reverse=1),
    "cumsum_exclusive": cumulate(INTS, -2, exclusive=1), "cumsum_both": cumulate(X, 2, exclusive=1, reverse=1),
    "cumsum_of_nothing": cumulate(Array((2, 0), []), 1), "cumprod": cumulate(X, 1, True), "cumprod_exclusive": cumulate(X, 2, True, exclusive=1),
    "cumprod_reverse": cumulate(INTS, 0, True, reverse=1),
    "cumsum_axis": refused("CumSum", {"x": X}, "axis 3 does not exist", [("axis", [], [3], INT64)]),
    "triu": triangle(X, 1, 0), "tril": triangle(INTS, 0, 0), "triu_far": triangle(X, 1, 7), "tril_negative": triangle(X, 0, -2),
    "triu_of_nan": triangle(Array((2, 2), [NAN, NAN, INF, 1.0]), 1, 0),
    "triangle_of_a_row": refused("Trilu", {"x": C}, "is not a matrix"),
    "eye": eye(3, 5, 0, FLOAT), "eye_above": eye(4, 4, 2, INT32), "eye_below": eye(4, 3, -1, INT64),
    "center_crop": centered(X, [2, 3], [0, 2]), "center_pad": centered(X, [6, 9], [1, 2]), "center_mixed": centered(X, [2, 7], [2, 0]),
    "reverse": reversed_sequence(X, [1, 4, 3], 0, 1), "reverse_time_first": reversed_sequence(X, [3, 0, 1, 2], 1, 0),
    "einsum_product": einsum("ij,jk->ik", A, B), "einsum_turned": einsum("ij,jk->ki", A, B), "einsum_three": einsum("ij,jk,k->i", A, B, C),
    "einsum_diagonal": einsum("ii->i", drawn(DRAW, (4, 4))), "einsum_trace": einsum("ii->", drawn(DRAW, (4, 4))),
    "einsum_rest": einsum("BCij,Cjk->BCik", drawn(DRAW, (2, 1, 3, 4)), drawn(DRAW, (5, 4, 2))), "einsum_empty": einsum("ij,jk->ik", Array((3, 0), []), Array((0, 2), [])),
    "einsum_unknown": refused("Einsum", {"x": A, "z": B}, "its equation 'ij,jk->il' does not fit", equation="ij,jk->il"),
    "einsum_extents": refused("Einsum", {"x": A, "z": A}, "does not fit its inputs", equation="ij,jk->ik"),
    "compress": compress(X, [0, 1, 1], 0), "compress_last": compress(X, [1, 0, 0, 1], -1), "compress_flat": compress(X, [0, 1, 0, 0, 0, 0, 0, 1, 1]),
    "compress_none": compress(X, [0, 0], 1),
    "is_inf": unary("IsInf", WHERE, lambda v: int(math.isinf(v)), BOOL), "is_inf_above": unary("IsInf", WHERE, lambda v: int(v == INF), BOOL, detect_negative=0),
    "is_inf_below": unary("IsInf", WHERE, lambda v: int(v == -INF), BOOL, detect_positive=0),
    "is_inf_never": unary("IsInf", WHERE, lambda v: 0, BOOL, detect_positive=0, detect_negative=0),
    "shrink": unary("Shrink", [-2.0, -1.5, -1.0, 0.0, 1.5, 2.5, INF], lambda v: v + 0.5 if v < -1.5 else v - 0.5 if v > 1.5 else 0, lambd=1.5, bias=0.5),
    "nonzero": nonzero(),
    "divide": binary("Div", LONGS, BY, quotient), "divide_words": binary("Div", WORDS, Array((4,), [1, 1, 3, 3], UINT64), lambda a, b: a // b),
    "mod": binary("Mod", LONGS, BY, lambda a, b: a % b), "fmod_of_ints": binary("Mod", LONGS, BY, lambda a, b: a - quotient(a, b) * b, fmod=1),
    "fmod": binary("Mod", FLOATS, BY_FLOATS, c_fmod, fmod=1),
    "mod_of_floats": binary("Mod", FLOATS, BY_FLOATS, python_mod),
    "fmod_far": binary("Mod", FAR, BY_FAR, math.fmod, fmod=1), "mod_far": binary("Mod", FAR, BY_FAR, python_mod),
    "fmod_of_doubles": binary("Mod", DOUBLES, BY_DOUBLES, c_fmod, fmod=1), "mod_of_doubles": binary("Mod", DOUBLES, BY_DOUBLES, python_mod),
    "mod_of_types": refused("Mod", {"x": X, "z": Array(X.shape, X.values, DOUBLE)}, "its inputs have types f32 and f64"),
    "shift_left": binary("BitShift", BYTES, MASK, lambda a, b: wrapped(a << b, 8, False), direction="LEFT"),
    "shift_right": binary("BitShift", BYTES, MASK, lambda a, b: a >> b, direction="RIGHT"),
    "bits_and": binary("BitwiseAnd", LONGS, BY, lambda a, b: a & b), "bits_or": binary("BitwiseOr", LONGS, BY, lambda a, b: a | b),
    "bits_xor": binary("BitwiseXor", BYTES, MASK, lambda a, b: a ^ b), "bits_not": unary_of("BitwiseNot", LONGS, lambda v: ~v),
    "bits_not_of_words": unary_of("BitwiseNot", WORDS, lambda v: wrapped(~v, 64, False)),
    "hardmax": hardmax(X, 1), "hardmax_of_equals": hardmax(Array((2, 3), [1.0, 1.0, 0.0, 2.0, 2.0, 2.0]), 1),
    "l1_normalized": lp_normalized(X, 2, 1), "l2_normalized": lp_normalized(X, 0, 2), "normalized_zeros": lp_normalized(Array((2, 2), [0.0, 0.0, 3.0, 4.0]), 1, 2),
    "l1_pool": lp_pooled(X, 1, 2, 0), "l2_pool": lp_pooled(X, 2, 3, 1), "l3_pool": lp_pooled(X, 3, 3, 2),
    **{name: unary_of(name, Array((5,), values), rule) for name, values, rule in [
        ("Sin", ANGLES, math.sin), ("Cos", ANGLES, math.cos), ("Tan", ANGLES, math.tan), ("Asin", UNIT, math.asin), ("Acos", UNIT, math.acos),
        ("Atan", ANGLES, math.atan), ("Sinh", UNIT, math.sinh), ("Cosh", UNIT, math.cosh), ("Asinh", ANGLES, math.asinh), ("Acosh", ABOVE, math.acosh), ("Atanh", HALVES, math.atanh)]},
}
