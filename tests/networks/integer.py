# SPDX-License-Identifier: Apache-2.0
"""Products of bytes with zero points that are computed, and what they are quantized by."""

import random
import struct

from defined import Array, Case, drawn, indices, made, whole
from onnx_writer import INT8, INT32, UINT8, model, node, tensor, value

draw = random.Random(52)
INTEGERS = {UINT8: (0, 255), INT8: (-128, 127)}


def byte(shape, kind):
    return whole(draw, shape, *INTEGERS[kind], kind)


def single(v):
    return struct.unpack("f", struct.pack("f", v))[0]


def even(v):
    """The nearest integer, the even one of two."""
    return round(v)


def at(a, *index):
    """An element of an array whose dimensions of extent 1 are repeated, and which may lack leading ones."""
    return a[tuple(i if n > 1 else 0 for i, n in zip(index[len(index) - len(a.shape):], a.shape))]


def case(op, inputs, outputs, constants=(), domain="", bound=2e-6, refused="", **attributes):
    names = [k if v else "" for k, v in inputs.items()]
    while not names[-1]:
        names.pop()
    given = {k: v for k, v in inputs.items() if v and k not in constants}
    return Case(model([node(op, names, list(outputs), domain=domain, **attributes)], [value(k, v.shape, v.kind) for k, v in given.items()],
                      [value(k, v.shape, v.kind) for k, v in outputs.items()], [tensor(k, inputs[k].shape, inputs[k].values, inputs[k].kind) for k in constants], opset=21,
                      domains=["com.microsoft"]), given, list(outputs.values()), bound, refused)


def sums(a, b, za, zb, shape):
    """Products of a [.., rows, K] and b [.., K, columns] less their zero points."""
    def element(*i):
        *batch, m, n = i
        return sum((at(a, *batch, m, k) - (at(za, m) if za else 0)) * (at(b, *batch, k, n) - (at(zb, n) if zb else 0)) for k in range(a.shape[-1]))

    return made(shape, element, INT32)


def product(kind_a, kind_b, a=(3, 5), b=(5, 4), shape=(3, 4), za=(), zb=(), constants=(), extreme=False):
    """extreme: all products are the largest."""
    low, high = INTEGERS[kind_a][0], INTEGERS[kind_b][1]
    a, b = (made(a, lambda *_: low, kind_a), made(b, lambda *_: high, kind_b)) if extreme else (byte(a, kind_a), byte(b, kind_b))
    za, zb = (byte(z, kind) if z is not None else None for z, kind in ((za, kind_a), (zb, kind_b)))
    if extreme:
        za, zb = Array((), [INTEGERS[kind_a][1]], kind_a), Array((), [INTEGERS[kind_b][0]], kind_b)
    return case("MatMulInteger", {"a": a, "b": b, "za": za, "zb": zb}, {"y": sums(a, b, za, zb, shape)}, constants)


def convolution(constants=(), zx=(), zf=(), pads=(1, 0, 2, 1), stride=1):
    x, f = byte((1, 2, 5, 6), UINT8), byte((3, 2, 2, 3), INT8)
    zx, zf = (byte(z, kind) if z is not None else None for z, kind in ((zx, UINT8), (zf, INT8)))
    shape = (1, 3, (5 + pads[0] + pads[2] - 2) // stride + 1, (6 + pads[1] + pads[3] - 3) // stride + 1)

    def element(n, o, p, q):
        total = 0
        for c, r, s in indices((2, 2, 3)):
            row, column = p * stride + r - pads[0], q * stride + s - pads[1]
            if 0 <= row < 5 and 0 <= column < 6:
                total += (x[n, c, row, column] - (at(zx, 0) if zx else 0)) * (f[o, c, r, s] - (at(zf, o) if zf else 0))
        return total

    return case("ConvInteger", {"x": x, "f": f, "zx": zx, "zf": zf}, {"y": made(shape, element, INT32)}, constants, pads=list(pads), strides=[stride, stride])


def quantized(x):
    """Bytes, scale and zero point by DynamicQuantizeLinear, in f32."""
    low, high = min(0.0, min(x.values)), max(0.0, max(x.values))
    scale = single(single(high - low) / 255) or 1.0
    zero = min(max(even(single(-low / scale)), 0), 255)
    return made(x.shape, lambda *i: min(max(even(single(x[i] / scale)) + zero, 0), 255), UINT8), Array((), [scale]), Array((), [zero], UINT8)


def dynamic(values):
    x = Array((len(values),), values)
    return case("DynamicQuantizeLinear", {"x": x}, dict(zip(("y", "scale", "zero"), quantized(x), strict=True)))


def dynamic_product(bias, zero, constants):
    x, b, scale = drawn(draw, [3, 5], -1, 2), byte([5, 4], INT8), drawn(draw, [4], 0.01, 0.1)
    zero, bias = byte([4], INT8) if zero else None, drawn(draw, [4]) if bias else None
    q, xs, xz = quantized(x)
    total = sums(q, b, xz, zero, (3, 4))
    y = made((3, 4), lambda m, n: total[m, n] * (xs.values[0] * scale[(n,)]) + (bias[(n,)] if bias else 0))
    return case("DynamicQuantizeMatMul", {"x": x, "b": b, "scale": scale, "zero": zero, "bias": bias}, {"y": y}, constants, "com.microsoft", bound=2e-5)


def to_float(columns):
    a, b, za, zb = byte([2, 3, 5], UINT8), byte([5, 4], UINT8), byte([], UINT8), byte([4] if columns else [], UINT8)
    sa, sb = drawn(draw, [], 0.01, 0.1), drawn(draw, [4] if columns else [1], 0.01, 0.1)
    total = sums(a, b, za, zb, (2, 3, 4))
    y = made((2, 3, 4), lambda i, m, n: total[i, m, n] * (sa.values[0] * at(sb, n)))
    return case("MatMulIntegerToFloat", {"a": a, "b": b, "sa": sa, "sb": sb, "za": za, "zb": zb}, {"y": y}, (), "com.microsoft", bound=2e-5)


def linear(kind, columns):
    """QLinearMatMul with scales that are powers of two, so that no tie depends on a rounding."""
    a, b, za, zb = byte([3, 5], UINT8), byte([5, 4], kind), byte([], UINT8), byte([4] if columns else [], kind)
    sa, sb, sy = Array((), [2.0**-4]), Array((4,), [2.0**-i for i in range(4)]) if columns else Array((), [0.25]), Array((), [8.0])
    zy = Array((), [100], UINT8)
    total = sums(a, b, za, zb, (3, 4))
    y = made((3, 4), lambda m, n: min(max(even(total[m, n] * sa.values[0] * at(sb, n) / 8) + 100, 0), 255), UINT8)
    return case("QLinearMatMul", {"a": a, "sa": sa, "za": za, "b": b, "sb": sb, "zb": zb, "sy": sy, "zy": zy}, {"y": y})


CASES = {
    **{f"product_{a}_{b}_{len(fixed)}": product(a, b, constants=fixed) for a in INTEGERS for b in INTEGERS for fixed in ((), ("b",), ("b", "zb"))},
    "product_plain": product(UINT8, INT8, za=None, zb=None), "product_a": product(UINT8, INT8, zb=None, constants=("b",)), "product_b": product(UINT8, INT8, za=None),
    "product_columns": product(UINT8, INT8, zb=(4,), constants=("b",)), "product_rows": product(UINT8, UINT8, za=(3,), zb=(4,)), "product_one": product(UINT8, INT8, za=(1,), zb=(1,)),
    "product_batches": product(UINT8, INT8, (2, 1, 3, 5), (3, 5, 4), (2, 3, 3, 4)), "product_batches_constant": product(UINT8, INT8, (2, 1, 3, 5), (3, 5, 4), (2, 3, 3, 4), constants=("b",)),
    "product_extreme": product(UINT8, UINT8, (1, 33000), (33000, 1), (1, 1), extreme=True),
    "product_long": Case(model([node("MatMulInteger", ["a", "b"], ["y"])], [value("a", [1, 40000], UINT8), value("b", [40000, 1], UINT8)], [value("y", [1, 1], INT32)]),
                         refused="sums of 40000 products of bytes may overflow 32 bits"),
    "product_zero": Case(model([node("MatMulInteger", ["a", "b", "z"], ["y"])], [value("a", [2, 3], UINT8), value("b", [3, 1], UINT8), value("z", [3], UINT8)], [value("y", [2, 1], INT32)]),
                         refused="zero points of shape 3 and type u8 do not fit 2x3"),
    "convolution": convolution(), "convolution_constant": convolution(("f", "zf")), "convolution_channels": convolution(("f",), zf=(3,)), "convolution_plain": convolution(zx=None, zf=None),
    "convolution_stride": convolution(("f",), zx=(1,), zf=None, stride=2), "dynamic": dynamic([-1.0, 0.5, 2.0, 0.25, -0.125]), "dynamic_above": dynamic([2.0, 3.0]),
    "dynamic_below": dynamic([-2.0, -3.0]), "dynamic_none": dynamic([0.0, 0.0]), "dynamic_product": dynamic_product(True, True, ("b", "scale", "zero", "bias")),
    "dynamic_product_computed": dynamic_product(False, False, ()), "to_float": to_float(False), "to_float_columns": to_float(True),
    **{f"linear_{kind}_{columns}": linear(kind, columns) for kind in INTEGERS for columns in (False, True)},
}
