# SPDX-License-Identifier: Apache-2.0
"""Weights of four and eight bits with scales per block; tensors of four bits."""

import math
import random
import struct

from defined import Array, Case, drawn, made, whole
from onnx_writer import INT4, INT8, INT16, UINT4, UINT8, model, node, tensor, value

draw = random.Random(53)
RANGE = {UINT4: (0, 15), INT4: (-8, 7), UINT8: (0, 255), INT8: (-128, 127), INT16: (-32768, 32767)}


def packed(rows, bits):
    """Rows of numbers of so many bits, each row in whole bytes."""
    if bits == 8:
        return [v for row in rows for v in row]
    return [a | b << 4 for row in rows for a, b in zip([*row, 0][: (len(row) + 1) // 2 * 2 : 2], [*row, 0][1::2])]


def in_steps(row, block):
    """A row whose blocks are rounded to multiples of their largest magnitude / 127."""
    parts = [row[i : i + block] for i in range(0, len(row), block)]
    return [round(v * 127 / max(map(abs, part))) * max(map(abs, part)) / 127 for part in parts for v in part]


def product(bits=4, rows=3, k=40, n=5, block=16, zeros=None, bias=False, refused="", **more):
    """MatMulNBits; zeros: None, "packed" or "floats"."""
    blocks, most = -(-k // block), 2**bits - 1
    x, q = drawn(draw, [2, rows, k]), [[draw.randint(0, most) for _ in range(blocks * block)] for _ in range(n)]
    scales = drawn(draw, [n, blocks], 0.01, 0.1)
    points = [[draw.randint(0, most) for _ in range(blocks)] for _ in range(n)]
    if zeros == "floats":
        points = [[v + 0.5 for v in row] for row in points]
    shift = drawn(draw, [n]) if bias else None
    tensors = [tensor("w", [n, blocks, block * bits // 8], packed(q, bits), UINT8), tensor("s", scales.shape, scales.values)]
    if zeros == "packed":
        tensors.append(tensor("z", [len(packed(points, bits))], packed(points, bits), UINT8))
    elif zeros:
        tensors.append(tensor("z", [n, blocks], [v for row in points for v in row]))
    if bias:
        tensors.append(tensor("b", [n], shift.values))

    terms = {(i, j): in_steps([x[i, j, p] for p in range(k)], block) if more.get("accuracy_level") == 4 else [x[i, j, p] for p in range(k)]
             for i in range(2) for j in range(rows)}

    def element(*i):
        c = i[-1]
        weight = lambda j: (q[c][j] - (points[c][j // block] if zeros else 2 ** (bits - 1))) * scales[c, j // block]
        return math.fsum(terms[i[:-1]][j] * weight(j) for j in range(k)) + (shift[(c,)] if bias else 0)

    inputs = ["x", "w", "s", "z" if zeros else "", "", "b" if bias else ""]
    while not inputs[-1]:
        inputs.pop()
    y = made((2, rows, n), element)
    return Case(model([node("MatMulNBits", inputs, ["y"], domain="com.microsoft", K=k, N=n, bits=bits, block_size=block, **more)], [value("x", x.shape)], [value("y", y.shape)],
                      tensors, domains=["com.microsoft"]), {"x": x}, [y], 2e-5, refused)


def parameter(a, index, axis, block):
    """The scale or zero point of an element: of all, along the axis, or of a block along it."""
    if not a.shape:
        return a.values[0]
    if not block:
        return a[(index[axis],)]
    return a[tuple(i // block if d == axis else i for d, i in enumerate(index))]


def dequantized(kind, shape=(3, 6), axis=1, block=0, scale=(), zero=True, constant=True):
    x, s, z = whole(draw, shape, *RANGE[kind], kind), drawn(draw, scale, 0.1, 1), whole(draw, scale, *RANGE[kind], kind)
    y = made(shape, lambda *i: (x[i] - (parameter(z, i, axis % len(shape), block) if zero else 0)) * parameter(s, i, axis % len(shape), block))
    more = {"block_size": block} if block else {}
    tensors = [tensor("s", s.shape, s.values)] + [tensor(k, a.shape, a.values, kind) for k, a in (("z", z), ("x", x)) if k == "z" and zero or k == "x" and constant]
    other = drawn(draw, shape)  # an input, so that something is computed
    nodes = [node("DequantizeLinear", ["x", "s"] + ["z"] * zero, ["d"], axis=axis, **more), node("Add", ["d", "other"], ["y"])]
    given = {"other": other, **({} if constant else {"x": x})}
    return Case(model(nodes, [value(k, a.shape, a.kind) for k, a in given.items()], [value("y", shape)], tensors, opset=21), given,
                [made(shape, lambda *i: y[i] + other[i])], 5e-6)


def quantized(kind, shape=(3, 6), axis=1, block=0, scale=(), zero=True):
    x, s, z = drawn(draw, shape, -20, 20), made(scale, lambda *_: 2.0 ** draw.randint(-2, 1)), whole(draw, scale, *RANGE[kind], kind)
    low, high = RANGE[kind]
    y = made(shape, lambda *i: min(max(round(x[i] / parameter(s, i, axis % len(shape), block)) + (parameter(z, i, axis % len(shape), block) if zero else 0), low), high), kind)
    more = {"block_size": block} if block else {}
    if not zero:
        more["output_dtype"] = kind
    tensors = [tensor("s", s.shape, s.values)] + [tensor("z", z.shape, z.values, kind)] * zero
    return Case(model([node("QuantizeLinear", ["x", "s"] + ["z"] * zero, ["y"], axis=axis, **more)], [value("x", shape)], [value("y", shape, kind)], tensors, opset=21), {"x": x}, [y])


def nibbles():
    """An odd number of elements; the list of numbers instead of bytes; a Constant."""
    low = b"".join(struct.pack("BB", 5 << 3, v) if v < 128 else struct.pack("BBB", 5 << 3, v & 127 | 128, 1) for v in (0x7F, 0x98, 0x01))
    listed = b"\x08\x05\x10\x16" + low + b"\x42\x01w"  # dims, data_type, int32_data, name
    nodes = [node("DequantizeLinear", ["w", "s"], ["a"]), node("Constant", [], ["c"], value=tensor("", [5], [-8, -1, 0, 7, 3], INT4)),
             node("DequantizeLinear", ["c", "s"], ["b"]), node("Sum", ["a", "b", "x"], ["y"])]
    x = Array((5,), [0.0] * 5)
    return Case(model(nodes, [value("x", [5])], [value("y", [5])], [listed, tensor("s", [], [1.0])], opset=21), {"x": x},
                [Array((5,), [-1.0 - 8, 7.0 - 1, -8.0 + 0, -7.0 + 7, 1.0 + 3])])


CASES = {
    **{f"product_{bits}_{zeros}": product(bits, zeros=zeros, bias=bool(zeros)) for bits in (4, 8) for zeros in (None, "packed", "floats")},
    "product_bytes": product(accuracy_level=4, k=64, block=32), "product_bytes_zeros": product(accuracy_level=4, zeros="packed"), "product_bytes_floats": product(accuracy_level=4, zeros="floats"),
    "product_bytes_8": product(accuracy_level=4, bits=8), "product_bytes_8_zeros": product(accuracy_level=4, bits=8, zeros="packed", n=19, rows=7),
    "product_one_row": product(rows=1), "product_blocks": product(k=64, block=32, zeros="packed"), "product_bits": Case(model([node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=32, N=1, bits=2, block_size=32)], [value("x", [1, 32])], [value("y", [1, 1])],
               [tensor("w", [1, 1, 8], [0] * 8, UINT8), tensor("s", [1], [1.0])], domains=["com.microsoft"]), refused="bits=2, block_size=32"),
    "product_prepacked": product(refused="weight_prepacked=1 is not supported", weight_prepacked=1),
    "product_shape": Case(model([node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", K=32, N=2, block_size=32)], [value("x", [1, 32])], [value("y", [1, 2])],
                                [tensor("w", [1, 1, 16], [0] * 16, UINT8), tensor("s", [2], [1.0] * 2)], domains=["com.microsoft"]), refused="weights of shape 1x1x16"),
    **{f"dequantized_{kind}": dequantized(kind) for kind in RANGE}, **{f"dequantized_{kind}_columns": dequantized(kind, scale=(6,), zero=kind == UINT4) for kind in (UINT4, INT4)},
    **{f"dequantized_{kind}_blocks_{axis}": dequantized(kind, axis=axis, block=2, scale=scale) for kind in (INT4, UINT8) for axis, scale in ((0, (2, 6)), (1, (3, 3)), (-1, (3, 3)))},
    "dequantized_computed": dequantized(INT4, constant=False), "dequantized_computed_blocks": dequantized(UINT8, block=4, scale=(3, 2), constant=False),
    "dequantized_one_dimension": dequantized(INT8, (7,), 0, 3, (3,), constant=False), "dequantized_one_block": dequantized(INT8, (3, 6), 1, 6, (3, 1), constant=False),
    **{f"quantized_{kind}": quantized(kind) for kind in RANGE}, **{f"quantized_{kind}_plain": quantized(kind, zero=False) for kind in RANGE},
    **{f"quantized_{kind}_blocks": quantized(kind, block=4, scale=(3, 2)) for kind in (UINT4, INT8)},
    "blocks_shape": Case(model([node("QuantizeLinear", ["x", "s"], ["y"], block_size=2)], [value("x", [3, 6])], [value("y", [3, 6], UINT8)], [tensor("s", [3, 2], [1.0] * 6)], opset=21),
                         refused="scales of shape 3x2 do not fit blocks of 2 in an input of shape 3x6"),
    "nibbles": nibbles(),
    "nibbles_cast": Case(model([node("CastLike", ["x", "w"], ["y"])], [value("x", [2])], [value("y", [2], INT4)], [tensor("w", [1], [1], INT4)], opset=21),
                         refused="casts to four bits are not supported"),
    "nibbles_short": Case(model([node("DequantizeLinear", ["w", "s"], ["y"])], [], [value("y", [4])],
                                [tensor("w", [3], [1, 2, 3], INT4).replace(b"\x08\x03", b"\x08\x07", 1), tensor("s", [], [1.0])], opset=21), refused="'w' of 7 elements of i8 has 2 bytes"),
}
