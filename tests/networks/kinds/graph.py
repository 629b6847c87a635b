# SPDX-License-Identifier: Apache-2.0
"""A network under construction, node by node as exporters write it: small integers are Constant nodes, shapes come from
Shape, Gather and Concat, names are paths. Weights are drawn by a seed."""

import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from onnx_writer import FLOAT, INT64, model, node, number, tensor, text, value  # noqa: E402


class Graph:
    """opset decides between attributes and inputs of axes. `inputs` are (name, shape, type, least, most): an extent that is a
    string is open; values are drawn from least to most."""

    def __init__(self, opset=17, seed=1):
        self.opset, self.random = opset, random.Random(seed)
        self.nodes, self.tensors, self.inputs, self.outputs, self.made, self.domains = [], [], [], [], 0, set()

    # ---- nodes ----

    def op(self, op, *inputs, outputs=1, domain="", **attributes):
        """Returns the output's name, or a list of several ones' names. Inputs that are numbers become constants of f32."""
        self.made += 1
        names = [f"/net/{op}_{self.made}_output_{i}" for i in range(outputs)]
        inputs = [i if isinstance(i, str) else self.number(i) for i in inputs]
        self.nodes.append(node(op, inputs, names, name=f"/net/{op}_{self.made}", domain=domain, **attributes))
        if domain:
            self.domains.add(domain)
        return names[0] if outputs == 1 else names

    def constant(self, shape, values, kind=FLOAT):
        return self.op("Constant", value=tensor("", shape, values, kind))

    def ints(self, *values):
        return self.constant([len(values)], values, INT64)

    def integer(self, v):
        return self.constant([], [v], INT64)

    def number(self, v):
        return self.constant([], [v])

    def stored(self, shape, values, kind=FLOAT):
        """An initializer."""
        self.made += 1
        self.tensors.append(tensor(f"net.{self.made}.weight", shape, values, kind))
        return f"net.{self.made}.weight"

    def weight(self, *shape, fan=None, around=0.0):
        """Uniform values of variance 1 / fan around a number."""
        scale = math.sqrt(3 / (fan or max(1, math.prod(shape[1:]))))
        return self.stored(shape, [around + self.random.uniform(-scale, scale) for _ in range(math.prod(shape))])

    def input(self, name, shape, kind=FLOAT, least=-1, most=1):
        self.inputs.append((name, shape, kind, least, most))
        return name

    def output(self, x, name, kind=FLOAT):
        """Names a result; its shape is for the reader to infer."""
        self.nodes.append(node("Identity", [x], [name], name=f"/net/{name}"))
        self.outputs.append(text(1, name) + text(2, text(1, number(1, kind))))

    def model(self):
        return model(self.nodes, [value(*i[:3]) for i in self.inputs], self.outputs, self.tensors, self.opset, domains=sorted(self.domains))

    # ---- operators that changed between versions ----

    def unsqueeze(self, x, *axes):
        return self.op("Unsqueeze", x, self.ints(*axes)) if self.opset >= 13 else self.op("Unsqueeze", x, axes=axes)

    def squeeze(self, x, *axes):
        return self.op("Squeeze", x, self.ints(*axes)) if self.opset >= 13 else self.op("Squeeze", x, axes=axes)

    def reduce(self, op, x, *axes, keep=1):
        if self.opset >= (13 if op == "ReduceSum" else 18):
            return self.op(op, x, self.ints(*axes), keepdims=keep)
        return self.op(op, x, axes=axes, keepdims=keep)

    def mean(self, x, *axes, keep=1):
        return self.reduce("ReduceMean", x, *axes, keep=keep)

    def split(self, x, axis, *sizes):
        if self.opset >= 18 and len(set(sizes)) == 1:
            return self.op("Split", x, outputs=len(sizes), axis=axis, num_outputs=len(sizes))
        if self.opset >= 13:
            return self.op("Split", x, self.ints(*sizes), outputs=len(sizes), axis=axis)
        return self.op("Split", x, outputs=len(sizes), axis=axis, split=sizes)

    # ---- shapes ----

    def extent(self, x, axis):
        """An extent as a number."""
        return self.op("Gather", self.op("Shape", x), self.integer(axis), axis=0)

    def list(self, *parts):
        """A list of integers, constant or computed."""
        if not any(isinstance(p, str) for p in parts):
            return self.ints(*parts)
        return self.op("Concat", *(self.unsqueeze(p, 0) if isinstance(p, str) else self.ints(p) for p in parts), axis=0)

    def reshape(self, x, *parts):
        return self.op("Reshape", x, self.list(*parts))

    def transpose(self, x, *order):
        return self.op("Transpose", x, perm=order)

    def expand(self, x, *parts):
        """torch's expand: -1 in the list keeps the extent."""
        shape = self.list(*parts)
        ones = self.op("ConstantOfShape", self.op("Shape", shape), value=tensor("", [1], [1], INT64))
        kept = self.op("Equal", shape, self.op("Mul", ones, self.integer(-1)))
        return self.op("Expand", x, self.op("Where", kept, ones, shape))

    def slice(self, x, axis, start, end=(1 << 63) - 1, step=1):
        """start and end: a number, or the name of a list of one."""
        name = lambda v: v if isinstance(v, str) else self.ints(v)
        return self.op("Slice", x, name(start), name(end), self.ints(axis), self.ints(step))

    def halves(self, x, width, axis=-1):
        """Both halves of the last axis, whose place is computed from the shape."""
        half = self.op("Div", self.op("Gather", self.op("Shape", x), self.integer(axis), axis=0), self.integer(2))
        half = self.unsqueeze(self.op("Cast", self.op("Cast", half, to=INT64), to=INT64), 0)
        return self.slice(x, axis, 0, half), self.slice(x, axis, half)

    def range(self, start, end):
        return self.op("Range", start if isinstance(start, str) else self.integer(start), end, self.integer(1))

    def cast(self, x, kind):
        return self.op("Cast", x, to=kind)

    # ---- layers ----

    def linear(self, x, into, out, bias=True):
        y = self.op("MatMul", x, self.weight(into, out, fan=into))
        return self.op("Add", self.weight(out, fan=30), y) if bias else y

    def conv(self, x, into, out, kernel, bias=True, group=1, **attributes):
        """kernel: a list of extents."""
        inputs = [x, self.weight(out, into // group, *kernel), *([self.weight(out, fan=30)] if bias else [])]
        return self.op("Conv", *inputs, kernel_shape=kernel, group=group, **attributes)

    def same(self, x, into, out, size, rank=2, stride=1, **attributes):
        """A convolution with an odd filter that keeps the extents."""
        return self.conv(x, into, out, [size] * rank, pads=[size // 2] * 2 * rank, strides=[stride] * rank, **attributes)

    def layer_norm(self, x, width, epsilon=1e-5):
        scale, bias = self.weight(width, fan=30, around=1), self.weight(width, fan=30)
        if self.opset >= 17:
            return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)
        centered = self.op("Sub", x, self.mean(x, -1))
        variance = self.mean(self.op("Pow", centered, 2.0), -1)
        y = self.op("Div", centered, self.op("Sqrt", self.op("Add", variance, epsilon)))
        return self.op("Add", self.op("Mul", y, scale), bias)

    def rms_norm(self, x, width, epsilon=1e-6):
        x = self.cast(x, FLOAT)
        variance = self.mean(self.op("Pow", x, 2.0), -1)
        root = self.op("Div", 1.0, self.op("Sqrt", self.op("Add", variance, epsilon)))
        return self.op("Mul", self.weight(width, fan=30, around=1), self.cast(self.op("Mul", x, root), FLOAT))

    def gelu(self, x):
        if self.opset >= 20:
            return self.op("Gelu", x)
        y = self.op("Add", self.op("Erf", self.op("Div", x, math.sqrt(2))), 1.0)
        return self.op("Mul", self.op("Mul", x, y), 0.5)

    def gelu_tanh(self, x):
        inner = self.op("Add", x, self.op("Mul", self.op("Pow", x, 3.0), 0.044715))
        y = self.op("Add", self.op("Tanh", self.op("Mul", inner, math.sqrt(2 / math.pi))), 1.0)
        return self.op("Mul", self.op("Mul", x, 0.5), y)

    def silu(self, x):
        return self.op("Mul", x, self.op("Sigmoid", x))

    def split_heads(self, x, heads, size, batch, seq=-1):
        return self.transpose(self.reshape(x, batch, seq, heads, size), 0, 2, 1, 3)

    def join_heads(self, x, width, batch, seq):
        return self.reshape(self.transpose(x, 0, 2, 1, 3), batch, seq, width)

    def attend(self, q, k, v, size, mask=None):
        """q, k, v: batch, heads, rows, size."""
        scores = self.op("MatMul", q, self.transpose(k, 0, 1, 3, 2))
        scores = self.op("Mul", scores, size ** -0.5)
        scores = self.op("Add", scores, mask) if mask else scores
        return self.op("MatMul", self.op("Softmax", scores, axis=-1), v)

    def attention(self, x, width, heads, other=None, mask=None):
        """From x to itself, or to another sequence, without a cache."""
        batch, seq, source = self.extent(x, 0), self.extent(x, 1), other or x
        q, k, v = (self.split_heads(self.linear(s, width, width), heads, width // heads, batch) for s in (x, source, source))
        return self.linear(self.join_heads(self.attend(q, k, v, width // heads, mask), width, batch, seq), width, width)
