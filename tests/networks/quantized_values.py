# SPDX-License-Identifier: Apache-2.0
"""Operators between DequantizeLinear and QuantizeLinear, with right bytes."""

import math
from dataclasses import replace

from defined import Case
from onnx_writer import FLOAT, INT8, INT32, INT64, UINT8, model, node, tensor, value
from value_cases import Constant, array, constant

RANGE = {UINT8: (0, 255), INT8: (-128, 127)}


class Quantized:
    """A network of one operator on dequantized bytes, whose result is quantized."""

    def __init__(self):
        self.nodes, self.constants, self.inputs, self.feeds = [], [], [], {}

    def constant(self, name, v, kind=FLOAT):
        shape = [len(v)] if isinstance(v, list) else []
        self.constants.append(tensor(name, shape, v if isinstance(v, list) else [v], kind))
        return name

    def dequantize(self, name, a, scale, zero, **attributes):
        if isinstance(a, Constant):
            self.constants.append(tensor(name, a.shape, a.values, a.kind))
        else:
            self.inputs.append(value(name, a.shape, a.kind))
            self.feeds[name] = a
        parts = [name, self.constant(name + "_scale", scale)]
        if zero is not None:
            parts.append(self.constant(name + "_zero", zero, a.kind))
        self.nodes.append(node("DequantizeLinear", parts, [name + "_real"], **attributes))
        return name + "_real"

    def case(self, op, inputs, exact, shape, scale, zero, kind, **attributes):
        """exact: the operator's results, as real numbers; none may be halfway between two bytes. Scales that are
        nodes Constant come after the operator that they are used for."""
        self.nodes.append(node(op, inputs, ["real"], **attributes))
        for name, v, of in ("y_scale", scale, FLOAT), ("y_zero", zero, kind):
            self.nodes.append(node("Constant", [], [name], value=tensor("", [], [v], of)))
        self.nodes.append(node("QuantizeLinear", ["real", "y_scale", "y_zero"], ["y"]))
        steps = [v / scale + zero for v in exact]
        if any(abs(v - math.floor(v) - 0.5) < 1e-3 for v in steps):
            raise ValueError("a result is halfway between two bytes")
        right = [min(max(round(v), RANGE[kind][0]), RANGE[kind][1]) for v in steps]
        network = model(self.nodes, self.inputs, [value("y", shape, kind)], self.constants)
        return Case(network, self.feeds, [array(right, *shape, kind=kind)], labels=[f"{op} {attributes or ''}"])


def quantized_convolution(bias, zero, scale, weight_scale=0.0625, axis=0):
    """y[o] = sum(c) (x[c] - 3) w[o, c] / 16 s[o] + (bias[o] - zero) scale[o]."""
    n = Quantized()
    x, w = [3, 13, 23, 0], [10, -20, 30, 40, -50, 60]
    each = lambda v, o: v[o] if isinstance(v, list) else v
    inputs = [n.dequantize("x", array(x, 1, 2, 1, 2, kind=UINT8), 0.5, 3),
              n.dequantize("w", constant(w, 3, 2, 1, 1, kind=INT8), weight_scale, [0] * 3 if isinstance(weight_scale, list) else 0, axis=axis),
              n.dequantize("b", constant(bias, 3, kind=INT32), scale, zero, axis=0)]
    exact = [sum((x[2 * c + p] - 3) * 0.5 * w[2 * o + c] * each(weight_scale, o) for c in range(2)) + (bias[o] - (each(zero, o) or 0)) * each(scale, o)
             for o in range(3) for p in range(2)]
    return n.case("Conv", inputs, exact, [1, 3, 1, 2], 2.3, 100, UINT8, kernel_shape=[1, 1])


def quantized_product(shape, scale, zero=None, **attributes):
    """Gemm with a bias of any shape that broadcasts to 2 x 3."""
    n = Quantized()
    ta, tb = attributes.get("transA", 0), attributes.get("transB", 0)
    x, w, count = [[10, 20], [30, 45]], [[1, -2, 3], [-4, 5, 6]], math.prod(shape)
    bias = [11 * i - 13 for i in range(count)]
    at = lambda i, j: bias[(0 if len(shape) < 2 or shape[0] == 1 else i) * (shape[-1] if shape else 1) + (0 if not shape or shape[-1] == 1 else j)]
    turned = lambda m, t: sum(map(list, zip(*m) if t else m), [])
    inputs = [n.dequantize("x", array(turned(x, ta), 2, 2, kind=INT8), 0.25, 4),
              n.dequantize("w", constant(turned(w, tb), *([3, 2] if tb else [2, 3]), kind=INT8), 0.125, 0),
              n.dequantize("b", Constant(tuple(shape), bias, INT32), scale, zero)]
    exact = [attributes.get("alpha", 1.0) * sum((x[i][k] - 4) * 0.25 * w[k][j] * 0.125 for k in range(2)) + attributes.get("beta", 1.0) * (at(i, j) - (zero or 0)) * scale
             for i in range(2) for j in range(3)]
    return n.case("Gemm", inputs, exact, [2, 3], 0.0937, -5, INT8, **attributes)


def quantized_unary(op, scale, function, shape=(1, 1, 2, 2), to=None, zero=100, kind=UINT8, result=(1, 1, 1, 1), more=(), **attributes):
    """An operator with the scale on both sides, or with `to` on the result's."""
    n = Quantized()
    x = [10, 200, 50, 130]
    exact = function([(v - zero) * scale for v in x])
    inputs = [n.dequantize("x", array(x, *shape, kind=kind), scale, zero)] + [n.constant(f"c{i}", v, INT64 if isinstance(v, list) and v else FLOAT) for i, v in enumerate(more)]
    return n.case(op, inputs, exact, list(result), to or scale, zero, kind, **attributes)


def quantized_concat(scale):
    n = Quantized()
    a, b = [10, 200], [5, -100]
    inputs = [n.dequantize("a", array(a, 1, 2, kind=UINT8), scale, 100), n.dequantize("b", array(b, 1, 2, kind=INT8), 0.3, -7)]
    return n.case("Concat", inputs, [(v - 100) * scale for v in a] + [(v + 7) * 0.3 for v in b], [1, 4], 0.37, 90, UINT8, axis=1)


def all_cases():
    """A bias with its own scale or zero point, scales along another axis or of weights, negative scales; types that
    the operator on bytes does not take."""
    square = {"shape": (1, 4), "result": (1, 4)}
    mean = lambda v: [sum(v) / 4]
    cases = {
        "bias_of_products": quantized_convolution([1000, -500, 77], None, 0.03125), "bias_scale": quantized_convolution([100, -50, 77], 0, 0.37),
        "bias_zero": quantized_convolution([1000, -500, 77], 300, 0.03125), "bias_twice": quantized_convolution([500, -250, 38], 0, 0.0625),
        "bias_by_channel": quantized_convolution([1000, -500, 77], [0] * 3, [0.03125, 0.0625, 0.015625], [0.0625, 0.125, 0.03125]),
        "bias_by_other_channel": quantized_convolution([100, -500, 77], [0] * 3, [0.4, 0.07, 0.015625], [0.0625, 0.125, 0.03125]),
        "gemm_row": quantized_product([3], 0.03125), "gemm_row_scale": quantized_product([3], 0.21), "gemm_matrix": quantized_product([2, 3], 0.03125),
        "gemm_matrix_scale": quantized_product([2, 3], 0.11, 2), "gemm_column": quantized_product([2, 1], 0.03125, transB=1),
        "gemm_column_scale": quantized_product([2, 1], 0.19), "gemm_one": quantized_product([1, 1], 0.17, transA=1), "gemm_scalar": quantized_product([], 0.03125, 1),
        "gemm_factors": quantized_product([2, 3], 0.03125, alpha=0.75, beta=1.25),
        "max_pool_negative": quantized_unary("MaxPool", -0.1, lambda v: [max(v)], kernel_shape=[2, 2]), "max_pool": quantized_unary("MaxPool", 0.1, lambda v: [max(v)], kernel_shape=[2, 2]),
        "global_max_pool_negative": quantized_unary("GlobalMaxPool", -0.1, lambda v: [max(v)]),
        "average_pool_negative": quantized_unary("AveragePool", -0.1, mean, to=-0.13, kernel_shape=[2, 2]), "global_average_negative": quantized_unary("GlobalAveragePool", -0.3, mean, to=0.11),
        "relu_negative": quantized_unary("Relu", -0.1, lambda v: [max(x, 0) for x in v], **square), "clip_negative": quantized_unary("Clip", -0.1, lambda v: [min(max(x, -3), 2) for x in v], **square, more=[-3.0, 2.0]),
        "leaky_negative": quantized_unary("LeakyRelu", -0.1, lambda v: [x if x >= 0 else x / 4 for x in v], to=0.13, **square, alpha=0.25),
        "sigmoid_negative": quantized_unary("Sigmoid", -0.02, lambda v: [1 / (1 + math.exp(-x)) for x in v], to=0.011, zero=100, **square),
        "softmax_negative": quantized_unary("Softmax", -0.02, lambda v: [math.exp(x) / sum(map(math.exp, v)) for x in v], to=0.0037, zero=20, **square, axis=1),
        "reshape_negative": quantized_unary("Reshape", -0.1, lambda v: v, result=(2, 2), more=[[2, 2]]),
        "resize_negative": quantized_unary("Resize", -0.1, lambda v: [v[0], v[0], v[1], v[1], v[0], v[0], v[1], v[1], v[2], v[2], v[3], v[3], v[2], v[2], v[3], v[3]],
                                           result=(1, 1, 4, 4), more=[[], [], [1, 1, 4, 4]], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        "concat_types": quantized_concat(0.37), "concat_negative": quantized_concat(-0.37),
    }
    emulated = ("bias_scale", "gemm_matrix_scale", "max_pool_negative", "sigmoid_negative")
    return {name: replace(case, is_everywhere=name in emulated) for name, case in cases.items()}


CASES = all_cases()
