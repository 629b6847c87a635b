# SPDX-License-Identifier: Apache-2.0
"""Bounds on the difference of two programs' f32 results for a layer.

Both programs compute each node in f32, in any order. A sum of k terms is off by at most (k + 2) * EPS times
the sum of the terms' magnitudes; if factors differ, roundings have either sign, and 8 * sqrt(k) replaces k +
2 where it is smaller. A function is off by a few ulps, and errors of inputs propagate. The bound is twice the
error, since both programs have one.
"""

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper

EPS = 2.0**-24
FUNCTION = 8  # error in ulps of functions like exp, in either program
SMALL = 2.0**-22  # absolute error of sigmoids, tanh and erf by rational functions

SAME = set("Relu LeakyRelu PRelu Clip HardSigmoid HardSwish Identity Dropout Elu Selu Neg Abs Max Min Cast Flatten".split())
MOVES = set("Reshape Transpose Squeeze Unsqueeze Slice Split DepthToSpace SpaceToDepth Concat Expand Tile Pad Gather MaxPool GlobalMaxPool".split())
SUMS = {"Conv": 1, "ConvTranspose": 1, "Gemm": 1, "MatMul": 1}
CONSTANTS = set("Constant ConstantOfShape".split())
MEANS = set("AveragePool GlobalAveragePool ReduceMean ReduceSum Resize Upsample".split())


def of_sum(terms, alike=False):
    return numpy.float32(((terms if alike else min(terms, 8 * terms**0.5)) + 2) * EPS)


def run(node, opset, inputs):
    """The node's first output for these inputs."""
    names = [f"i{k}" if v is not None else "" for k, v in enumerate(inputs)]
    alone = onnx.NodeProto()
    alone.CopyFrom(node)
    del alone.input[:]
    alone.input.extend(names)
    feeds = {n: v for n, v in zip(names, inputs) if n}
    fixed = [n for k, n in enumerate(names) if n and k and node.op_type not in SUMS and feeds[n].dtype != numpy.float32]
    graph = helper.make_graph(
        [alone], "node",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feeds.items() if n not in fixed],
        [onnx.ValueInfoProto(name=o) for o in node.output], [numpy_helper.from_array(feeds[n], n) for n in fixed])
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    o = onnxruntime.SessionOptions()
    o.log_severity_level = 3
    s = onnxruntime.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"])
    return s.run(None, {k: v for k, v in feeds.items() if k not in fixed})


class Layer:
    def __init__(self, oracle, inputs):
        self.oracle, self.error = oracle, {}
        self.exact = set(inputs) | set(oracle.constants)

    def value(self, name):
        return self.oracle.value(name)

    def of(self, name):
        """The maximum difference of the value from the result of exact sums, as an array."""
        if not name or name in self.exact or name not in self.oracle.producer:
            return numpy.float32(0)
        if name not in self.error:
            node = self.oracle.producer[name]
            for o, e in zip(node.output, self.node(node)):
                self.error[o] = e
        return self.error[name]

    def spread(self, name):
        """The error as an array of the value's shape."""
        return numpy.broadcast_to(numpy.asarray(self.of(name), numpy.float32), self.value(name).shape).copy()

    def node(self, node):
        x = [self.value(i) for i in node.input]
        y = self.value(node.output[0])
        if y is None or y.dtype.kind != "f" or node.op_type in CONSTANTS:
            return [numpy.float32(0)] * len(node.output)
        y = numpy.abs(y)
        kind = node.op_type
        if kind in SUMS:
            return [self.sums(node, x)]
        if kind in MOVES:
            moved = [self.spread(i) if v is not None and v.dtype.kind == "f" else v for i, v in zip(node.input, x)]
            if kind == "Pad":
                moved[1:] = [v for v in x[1:]]
            return run(node, self.oracle.opset, moved)
        if kind in MEANS:
            terms = max(x[0].size / y.size, 1) if kind not in ("AveragePool",) else numpy.prod(kernel(node))
            inside = self.spread(node.input[0]) + (of_sum(terms) + FUNCTION * EPS) * numpy.abs(x[0])
            return run(node, self.oracle.opset, [inside, *x[1:]])
        one = getattr(self, kind.lower(), None)
        if one:
            return [one(node, x, y)]
        if kind in SAME:
            return [sum(self.spread(i) * 1.2 for i, v in zip(node.input, x) if v is not None and v.shape == y.shape) + 4 * EPS * y]
        raise SystemExit(f"bounds.py: no rule for {kind}")

    def sums(self, node, x):
        w = x[1]
        terms = w.size // (w.shape[0] if node.op_type == "Conv" else w.shape[-1]) if w.ndim > 1 else w.size
        if node.op_type == "MatMul":
            terms = x[0].shape[-1]
        scale = of_sum(terms, w.min() == w.max())
        inside = self.spread(node.input[0]) + scale * numpy.abs(x[0])
        more = [scale * numpy.abs(v) for v in x[2:]]
        out = run(node, self.oracle.opset, [inside, numpy.abs(w), *more])[0]
        if numpy.any(self.of(node.input[1])):
            out += run(node, self.oracle.opset, [numpy.abs(x[0]), self.spread(node.input[1]), *(numpy.zeros_like(v) for v in x[2:])])[0]
        return out

    # ---- elementwise ----

    def add(self, node, x, y):
        return sum(self.of(i) for i in node.input) + len(x) * EPS * sum(numpy.abs(v) for v in x)

    sub = sum = mean = add

    def mul(self, node, x, y):
        a, b = (self.of(i) for i in node.input)
        return a * numpy.abs(x[1]) + b * (numpy.abs(x[0]) + a) + EPS * y

    def div(self, node, x, y):
        a, b = (self.of(i) for i in node.input)
        return (a + b * y) / numpy.abs(x[1]) + 2 * EPS * y

    def sqrt(self, node, x, y):
        return self.of(node.input[0]) / (2 * y + 1e-30) + 2 * EPS * y

    def pow(self, node, x, y):
        grows = numpy.abs(x[1]) * numpy.abs(x[0]) ** (numpy.abs(x[1]) - 1)
        return self.of(node.input[0]) * grows + FUNCTION * EPS * y

    def exp(self, node, x, y):
        return y * (self.of(node.input[0]) + FUNCTION * EPS)

    def sigmoid(self, node, x, y):
        return self.of(node.input[0]) * 1.2 + SMALL

    tanh = erf = softplus = gelu = sigmoid

    # ---- combinations of several elements ----

    def batchnormalization(self, node, x, y):
        shape = (1, -1) + (1,) * (x[0].ndim - 2)
        epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-5)
        scale = (numpy.abs(x[1]) / numpy.sqrt(x[4] + epsilon)).reshape(shape)
        size = scale * (numpy.abs(x[0]) + numpy.abs(x[3]).reshape(shape)) + numpy.abs(x[2]).reshape(shape)
        return self.of(node.input[0]) * scale + FUNCTION * EPS * size

    def softmax(self, node, x, y):
        largest = numpy.abs(x[0]).max() + numpy.max(self.of(node.input[0]))
        return y * (2 * numpy.max(self.of(node.input[0])) + EPS * (2 * largest + x[0].shape[-1] + 2 * FUNCTION))

    def lrn(self, node, x, y):
        return 2 * self.of(node.input[0]) + (FUNCTION + 8) * EPS * y

    def layernormalization(self, node, x, y):
        epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-5)
        deviation = numpy.sqrt(x[0].var(axis=-1, keepdims=True) + epsilon)
        near = numpy.max(self.of(node.input[0])) + of_sum(x[0].shape[-1]) * numpy.abs(x[0]).max(axis=-1, keepdims=True)
        return (4 * near / deviation + FUNCTION * EPS) * (numpy.abs(x[1]) * (1 + numpy.abs(x[0]) / deviation)) + 2 * EPS * y


def kernel(node):
    return next(a.ints for a in node.attribute if a.name == "kernel_shape")


def part_of_bound(oracle, name, inputs, got):
    """The largest difference, as a fraction of the bound at that element."""
    bound = 2 * Layer(oracle, inputs).spread(name) + numpy.float32(1e-37)
    expected = oracle.values[name]
    apart = numpy.abs(got.astype(numpy.float64) - expected)
    if not numpy.isfinite(apart).all():
        return float("inf")
    return float((apart / bound).max()) if apart.size else 0.0
