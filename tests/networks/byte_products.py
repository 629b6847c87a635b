# SPDX-License-Identifier: Apache-2.0
"""Definitions by NumPy of the operators that multiply bytes. inputs: arrays in order, or None; optional ones at the end may be missing."""

import numpy


def missing_as_none(inputs, count):
    return [*inputs, *[None] * (count - len(inputs))]


def without_zero(x, zero):
    return x.astype(numpy.int64) - (0 if zero is None else zero.astype(numpy.int64))


def product(a, b, a_zero=None, b_zero=None):
    return without_zero(a, a_zero) @ without_zero(b, b_zero)


def matmul_integer(inputs):
    return product(*inputs).astype(numpy.int32)


def matmul_integer_to_float(inputs):
    a, b, a_scale, b_scale, a_zero, b_zero, bias = missing_as_none(inputs, 7)
    y = product(a, b, a_zero, b_zero) * a_scale.astype(numpy.float64) * b_scale
    return (y if bias is None else y + bias).astype(numpy.float32)


def dynamic_quantize_matmul(inputs):
    a, b, b_scale, b_zero, bias = missing_as_none(inputs, 5)
    least, most = min(a.min(), numpy.float32(0)), max(a.max(), numpy.float32(0))
    scale = (most - least) / numpy.float32(255)
    zero = numpy.rint(-least / scale)
    quantized = numpy.clip(numpy.rint(a / scale) + zero, 0, 255).astype(numpy.uint8)
    return matmul_integer_to_float([quantized, b, scale, b_scale, zero.astype(numpy.uint8), b_zero, bias])


def qlinear_matmul(inputs):
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = inputs
    y = numpy.rint(product(a, b, a_zero, b_zero) * (a_scale.astype(numpy.float64) * b_scale / y_scale)) + y_zero
    limits = numpy.iinfo(y_zero.dtype)
    return numpy.clip(y, limits.min, limits.max).astype(y_zero.dtype)


DEFINED = {"MatMulInteger": matmul_integer, "MatMulIntegerToFloat": matmul_integer_to_float, "DynamicQuantizeMatMul": dynamic_quantize_matmul,
           "QLinearMatMul": qlinear_matmul}
