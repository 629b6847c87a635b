# SPDX-License-Identifier: Apache-2.0
"""Weights of four and eight bits with scales per block; tensors of four bits."""

import math
import random
import struct

from defined import Array, Case, drawn, made, whole
from onnx_writer import INT4, INT8, INT16, INT64, UINT4, UINT8, model, node, tensor, value

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
    if len(a.values) == 1:
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


def readers(which, name, x, w, y):
    """Nodes that read the weights, too, as 'd' or as `name`, their constants, and what they compute."""
    if which == "product":
        return [node("Neg", ["x"], ["h"]), node("MatMul", ["h", name], ["v"])], [], made(y.shape, lambda *i: -y[i])
    if which == "gather":
        return [node("Gather", ["d", "rows"], ["v"])], [tensor("rows", [2], [3, 1], INT64)], made((2, w.shape[1]), lambda i, j: w[(3, 1)[i], j])
    if which == "both ways":
        turned = made(y.shape, lambda *i: math.fsum(x[(*i[:-1], p)] * w[i[-1], p] for p in range(w.shape[1])))
        return [node("Transpose", ["d"], ["r"]), node("MatMul", ["x", "r"], ["v"])], [], turned
    if which == "other way":
        sums = made((w.shape[0], 1), lambda i, _: math.fsum(w[i, j] for j in range(w.shape[1])))
        return [node("MatMul", ["d", "u"], ["v"])], [tensor("u", [w.shape[1], 1], [1.0] * w.shape[1])], sums
    return [node("Identity", ["d"], ["v"])], [], w


def weighted(kind, k=64, n=12, block=32, axis=0, op="MatMul", zero=True, bias=None, x_shape=(2, 3), transposes=None, alpha=1.0, reader="", scale=None, least=0.01, most=0.1, bound=2e-5):
    """A product with weights that DequantizeLinear makes: [K, N] if axis is 0, else [N, K], which a Transpose or transB turns.

    bias: the shape of a Gemm's; reader: another one of the weights; scale: the shape of scales that are not in blocks."""
    shape, along, block = ((k, n) if axis == 0 else (n, k)), (axis if scale is None else 1 - axis), (block if scale is None else 0)
    scale = [-(-e // block) if d == axis else e for d, e in enumerate(shape)] if scale is None else scale
    x, q, s, z = drawn(draw, [*x_shape, k]), whole(draw, shape, *RANGE[kind], kind), drawn(draw, scale, least, most), whole(draw, scale, *RANGE[kind], kind)
    w = made(shape, lambda *i: (q[i] - (parameter(z, i, along, block) if zero else 0)) * parameter(s, i, along, block))
    b = drawn(draw, bias or []) if bias is not None else Array((), [0])
    y = made((*x_shape, n), lambda *i: alpha * math.fsum(x[(*i[:-1], p)] * w[(p, i[-1]) if axis == 0 else (i[-1], p)] for p in range(k)) + b.values[(i[0] * n + i[-1]) % len(b.values)])
    turns = axis == 1 and op == "MatMul" if transposes is None else transposes
    name, more = "t" if turns else "d", {"transB": int((axis == 1) != turns), "alpha": alpha} if op == "Gemm" else {}
    nodes = [node("DequantizeLinear", ["q", "s"] + ["z"] * zero, ["d"], axis=along, **{"block_size": block} if block else {}),
             *[node("Transpose", ["d"], ["t"], **{"perm": [1, 0]} if zero else {})] * turns, node(op, ["x", name] + ["b"] * (bias is not None), ["y"], **more)]
    tensors = [tensor("q", shape, q.values, kind), tensor("s", s.shape, s.values), tensor("z", z.shape, z.values, kind), tensor("b", b.shape, b.values)]
    outputs = {"y": y}
    if reader:
        others, constants, outputs["v"] = readers(reader, name, x, w, y)
        nodes, tensors = nodes + others, tensors + constants
    return Case(model(nodes, [value("x", x.shape)], [value(v, a.shape) for v, a in outputs.items()], tensors, opset=21), {"x": x}, list(outputs.values()), bound)


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


# Products whose weights keep their bits, by the kernel of weights that they take; and those whose weights are dequantized.
KERNEL = {UINT4: "u4", INT4: "u4", UINT8: "u8", INT8: "u8"}
NAME = {UINT4: "u4", INT4: "i4", UINT8: "u8", INT8: "i8"}
KEPT = {
    **{f"weights_{NAME[kind]}_{axis}": (weighted(kind, axis=axis), KERNEL[kind]) for kind in NAME for axis in (0, 1)},
    **{f"weights_{NAME[kind]}_{axis}_plain": (weighted(kind, axis=axis, zero=False), NAME[kind]) for kind in NAME for axis in (0, 1)},
    **{f"weights_gemm_{axis}": (weighted(INT4, axis=axis, op="Gemm", zero=False, x_shape=[7]), "i4") for axis in (0, 1)},
    **{f"weights_gemm_bias_{axis}": (weighted(UINT4, axis=axis, op="Gemm", bias=shape, x_shape=[7]), "u4") for axis, shape in ((0, [12]), (1, [1, 12]))},
    "weights_gemm_bias_number": (weighted(INT8, axis=1, op="Gemm", bias=[], x_shape=[1]), "u8"),
    "weights_gemm_transposed": (weighted(INT4, axis=1, op="Gemm", transposes=True, bias=[1], x_shape=[4], zero=False), "i4"),
    **{f"weights_rest_{NAME[kind]}_{axis}": (weighted(kind, k=72, axis=axis), KERNEL[kind]) for kind in NAME for axis in (0, 1)},
    "weights_large_block": (weighted(INT4, k=48, block=64), "u4"), "weights_one_row": (weighted(UINT8, n=40, x_shape=[1], axis=1), "u8"),
    **{f"weights_readers_{axis}": (weighted(INT4, axis=axis, reader="product"), "u4") for axis in (0, 1)},
    **{f"weights_columns_{NAME[kind]}_{axis}": (weighted(kind, axis=axis, scale=[12]), KERNEL[kind]) for kind in NAME for axis in (0, 1)},
    "weights_scale": (weighted(INT8, scale=[], zero=False), "i8"), "weights_scale_zero": (weighted(UINT4, axis=1, scale=[1]), "u4"),
    "weights_no_scale": (weighted(INT4, least=0, most=0), "u4"),
}
WIDENED = {
    "weights_odd": weighted(INT8, k=51, block=17), "weights_small_blocks": weighted(INT4, block=8), "weights_part_of_group": weighted(INT4, block=20),
    "weights_gathered": weighted(INT4, reader="gather"), "weights_output": weighted(UINT8, reader="identity"), "weights_other_way": weighted(INT8, axis=1, reader="other way"),
    "weights_both_ways": weighted(INT8, n=64, scale=[], reader="both ways"),
    "weights_other_axis": weighted(INT8, n=64, scale=[64], axis=1, k=7), "weights_factor": weighted(INT4, op="Gemm", alpha=0.5, x_shape=[4]),
    "weights_bias_of_elements": weighted(INT4, op="Gemm", bias=[4, 12], x_shape=[4]), "weights_large_scale": weighted(INT4, least=1.5e36, most=1.5e36, bound=1e-3),
}

CASES = {
    **{name: case for name, (case, _) in KEPT.items()}, **WIDENED, "weights_vector": weighted(INT4, x_shape=[], zero=False),
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
    **{f"weights_refused_{op}": Case(model([node("DequantizeLinear", ["q", "s"], ["d"], axis=0, block_size=32), node(op, ["x", "d"], ["y"])], [value("x", shape)], [value("y", [*shape[:-1], 12])],
                                           [tensor("q", [64, 12], [0] * 768, INT4), tensor("s", [2, 12], [1.0] * 24)], opset=21), refused=f"f32 of shape {text} cannot be multiplied by weights of shape 64x12")
       for op, shape, text in (("MatMul", [2, 63], "2x63"), ("Gemm", [1, 2, 64], "1x2x64"))},
    "blocks_shape": Case(model([node("QuantizeLinear", ["x", "s"], ["y"], block_size=2)], [value("x", [3, 6])], [value("y", [3, 6], UINT8)], [tensor("s", [3, 2], [1.0] * 6)], opset=21),
                         refused="scales of shape 3x2 do not fit blocks of 2 in an input of shape 3x6"),
    "nibbles": nibbles(),
    "nibbles_cast": Case(model([node("CastLike", ["x", "w"], ["y"])], [value("x", [2])], [value("y", [2], INT4)], [tensor("w", [1], [1], INT4)], opset=21),
                         refused="casts to four bits are not supported"),
    "nibbles_short": Case(model([node("DequantizeLinear", ["w", "s"], ["y"])], [], [value("y", [4])],
                                [tensor("w", [3], [1, 2, 3], INT4).replace(b"\x08\x03", b"\x08\x07", 1), tensor("s", [], [1.0])], opset=21), refused="'w' of 7 elements of i8 has 2 bytes"),
}
