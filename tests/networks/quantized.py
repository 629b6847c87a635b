# SPDX-License-Identifier: Apache-2.0
"""Exact quantized sums of products in NumPy: ONNX Runtime saturates sums of two products on CPUs without an
instruction for them."""

import numpy
import onnx
from onnx import helper


def attributes(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def pads_of(a, spatial, kernel, strides, dilations):
    if a.get("auto_pad", b"NOTSET") in (b"NOTSET", b"VALID"):
        return a.get("pads", [0] * 2 * len(kernel))
    total = [max((-(-e // s) - 1) * s + (k - 1) * d + 1 - e, 0) for e, k, s, d in zip(spatial, kernel, strides, dilations)]
    before = [t // 2 if a["auto_pad"] == b"SAME_UPPER" else t - t // 2 for t in total]
    return before + [t - b for t, b in zip(total, before)]


def convolution(node, x, w):
    """A two-dimensional convolution in float64, in which sums of products of bytes are exact."""
    a = attributes(node)
    kernel, groups = w.shape[2:], a.get("group", 1)
    strides, dilations = a.get("strides", [1, 1]), a.get("dilations", [1, 1])
    pads = pads_of(a, x.shape[2:], kernel, strides, dilations)
    x = numpy.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    height, width = ((e - (k - 1) * d - 1) // s + 1 for e, k, s, d in zip(x.shape[2:], kernel, strides, dilations))
    w = w.reshape(groups, w.shape[0] // groups, w.shape[1], *kernel)
    out = numpy.zeros((x.shape[0], groups, w.shape[1], height * width))
    for r in range(kernel[0]):
        for s in range(kernel[1]):
            rows = slice(r * dilations[0], r * dilations[0] + (height - 1) * strides[0] + 1, strides[0])
            columns = slice(s * dilations[1], s * dilations[1] + (width - 1) * strides[1] + 1, strides[1])
            part = x[:, :, rows, columns].reshape(x.shape[0], groups, -1, height * width)
            out += w[:, :, :, r, s] @ part
    return out.reshape(x.shape[0], -1, height, width)


def is_tied(node, x):
    """True where the result of a QLinearAveragePool on its inputs x is a tie of two bytes: in f32 the order
    of the sum determines the side."""
    if node.op_type != "QLinearAveragePool" or attributes(node).get("channels_last") or attributes(node).get("ceil_mode"):
        return None
    values, one = x[0].astype(numpy.float64) - float(x[2]), numpy.ones((x[0].shape[1], 1, *attributes(node)["kernel_shape"]))
    alone = onnx.NodeProto()
    alone.CopyFrom(node)
    alone.attribute.append(helper.make_attribute("group", x[0].shape[1]))
    there = numpy.ones(x[0].shape) if not attributes(node).get("count_include_pad") else None
    count = one[0].size if there is None else convolution(alone, there, one)
    mean = convolution(alone, values, one) / count * float(x[1]) / float(x[3])
    return numpy.abs(mean - numpy.floor(mean) - 0.5) < 2.0**-11


def rounded(sums, factor, zero):
    kind = numpy.iinfo(zero.dtype)
    value = numpy.rint(sums.astype(numpy.float32) * factor) + numpy.float32(zero)
    return numpy.clip(value, kind.min, kind.max).astype(zero.dtype)


def computed(node, x):
    """The node's result for its inputs x; None: it is no sum of products of bytes."""
    if node.op_type == "QLinearConv":
        shape = (-1, 1, 1, 1)
        w = x[3].astype(numpy.float64) - x[5].astype(numpy.float64).reshape(shape if x[5].size > 1 else ())
        sums = convolution(node, x[0].astype(numpy.float64) - float(x[2]), w)
        if len(x) > 8:
            sums += x[8].astype(numpy.float64).reshape(1, -1, 1, 1)
        return rounded(sums, ((x[1] * x[4]) / x[6]).reshape(1, -1, 1, 1), x[7].reshape(()))
    if node.op_type == "QGemm" and len(x) > 8:
        a = attributes(node)
        left, right = x[0].astype(numpy.float64) - float(x[2]), x[3].astype(numpy.float64) - x[5].astype(numpy.float64).reshape(-1, 1)[: x[5].size]
        sums = (left.T if a.get("transA") else left) @ (right.T if a.get("transB") else right)
        if x[6] is not None:
            sums += x[6].astype(numpy.float64)
        return rounded(sums, (x[1] * x[4] * numpy.float32(a.get("alpha", 1))) / x[7], x[8].reshape(()))
    return None
