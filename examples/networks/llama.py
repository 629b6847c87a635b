# SPDX-License-Identifier: Apache-2.0
"""Llama-shaped decoders with a cache of keys and values, for make.py: the same network in the ways of three exporters."""

import numpy
from onnx import TensorProto


class Llama:
    """A decoder with a cache. Subclasses are the ways in which exporters write its parts. Values have the shapes of one token after none."""

    opset = 17

    def __init__(self, net, layers, width, heads, groups, words):
        self.net = net
        self.layers, self.width, self.heads, self.groups, self.words = layers, width, heads, groups, words
        self.each, self.inner = width // heads, -(-width * 8 // 3) // 32 * 32
        self.outputs = []

    def integers(self, *v):
        return self.net.constant(numpy.array(v, numpy.int64), counts=False)

    def number(self, v):
        return self.net.constant(numpy.float32(v), counts=False)

    def linear(self, x, out):
        into = self.net.shape[x][-1]
        self.net.multiply_adds += into * out
        return self.net.node("MatMul", [x, self.net.weight(into, out, fan_in=2 * into)], (*self.net.shape[x][:-1], out))

    def norm_scale(self):
        return self.net.constant(self.net.random.normal(1, 0.02, self.width).astype(numpy.float32))

    def split(self, x, heads):
        shape = (1, 1, heads, self.each)
        x = self.net.node("Reshape", [x, self.integers(0, 0, heads, self.each)], shape)
        return self.net.node("Transpose", [x], (1, heads, 1, self.each), perm=[0, 2, 1, 3])

    def size(self, x, axis):
        """The extent of a dimension, a list of one integer."""
        return self.net.node("Gather", [self.net.node("Shape", [x], (len(self.net.shape[x]),)), self.integers(axis)], (1,), axis=0)

    def cache(self, i):
        shape = [1, self.groups, "past", self.each]
        return [self.net.input(f"past_key_values.{i}.{kind}", shape) for kind in ("key", "value")]

    def name_output(self, value, name, shape):
        """Gives the last node's value the name of an output."""
        node = next(n for n in self.net.nodes if value in n.output)
        node.output[list(node.output).index(value)] = name
        for n in self.net.nodes:
            n.input[:] = [name if v == value else v for v in n.input]
        self.net.shape[name] = shape
        self.outputs.append(name)
        return name

    def make(self):
        net = self.net
        ids = net.integers("input_ids", [1, "seq"], 0, self.words)
        pasts = [self.cache(i) for i in range(self.layers)]
        x = net.node("Gather", [net.constant(net.random.normal(0, 1, (self.words, self.width)).astype(numpy.float32)), ids], (1, 1, self.width), axis=0)
        self.prepare(ids, pasts[0][0])
        for i, past in enumerate(pasts):
            h = self.norm(x)
            q, k, v = (self.linear(h, count * self.each) for count in (self.heads, self.groups, self.groups))
            y, *presents = self.attention(q, k, v, *past)
            for kind, present in zip(("key", "value"), presents):
                self.name_output(present, f"present.{i}.{kind}", [1, self.groups, "all", self.each])
            x = net.add(self.linear(y, self.width), x)
            h = self.norm(x)
            gate, up = self.linear(h, self.inner), self.linear(h, self.inner)
            gate = net.add(gate, net.node("Sigmoid", [gate], net.shape[gate]), "Mul")
            x = net.add(self.linear(net.add(gate, up, "Mul"), self.width), x)
        logits = self.linear(self.norm(x), self.words)
        return net, net.model(self.name_output(logits, "logits", [1, "seq", self.words]), *self.outputs[:-1], opset=self.opset)

    def angles(self, positions):
        """The angles of rotary positions, which are floats [.., 1]."""
        powers = 10000 ** -(numpy.arange(0, self.each, 2) / self.each)
        return self.net.node("Mul", [positions, self.net.constant(powers.astype(numpy.float32), counts=False)], (1, self.each // 2))


class TorchLlama(Llama):
    """Small operators, as torch.onnx writes them."""

    def prepare(self, ids, past):
        net = self.net
        self.past, self.seq = self.size(past, 2), self.size(ids, 1)
        self.all = net.add(self.past, self.seq)
        scalars = [net.node("Squeeze", [v, self.integers(0)], ()) for v in (self.past, self.all)]
        zero, one = (net.constant(numpy.int64(v), counts=False) for v in (0, 1))
        rows = net.node("Unsqueeze", [net.node("Range", [*scalars, one], (1,)), self.integers(1)], (1, 1))
        columns = net.node("Unsqueeze", [net.node("Range", [zero, scalars[1], one], (1,)), self.integers(0)], (1, 1))
        self.mask = net.node("Where", [net.node("Greater", [columns, rows], (1, 1)), self.number(numpy.finfo(numpy.float32).min), self.number(0)], (1, 1))
        half = self.angles(net.node("Cast", [rows], (1, 1), to=TensorProto.FLOAT))
        both = net.node("Concat", [half, half], (1, self.each), axis=-1)
        self.cos, self.sin = (net.node(op, [both], (1, self.each)) for op in ("Cos", "Sin"))

    def norm(self, x):
        net = self.net
        mean = net.node("ReduceMean", [net.node("Pow", [x, self.number(2)], net.shape[x])], (1, 1, 1), axes=[-1], keepdims=1)
        root = net.node("Sqrt", [net.add(mean, self.number(1e-5))], (1, 1, 1))
        return net.add(net.add(x, net.node("Reciprocal", [root], (1, 1, 1)), "Mul"), self.norm_scale(), "Mul")

    def rotated(self, x):
        net, half = self.net, self.each // 2
        shape = net.shape[x]
        parts = [net.node("Slice", [x, self.integers(a), self.integers(b), self.integers(3)], (*shape[:3], half)) for a, b in ((0, half), (half, self.each))]
        turned = net.node("Concat", [net.node("Neg", [parts[1]], net.shape[parts[1]]), parts[0]], shape, axis=-1)
        return net.add(net.add(x, self.cos, "Mul"), net.add(turned, self.sin, "Mul"))

    def repeated(self, x):
        """Repeats keys or values for the heads of a group."""
        net, group = self.net, self.heads // self.groups
        if group == 1:
            return x
        x = net.node("Unsqueeze", [x, self.integers(2)], (1, self.groups, 1, 1, self.each))
        shape = net.node("Concat", [self.integers(1, self.groups, group), self.all, self.integers(self.each)], (5,), axis=0)
        x = net.node("Expand", [x, shape], (1, self.groups, group, 1, self.each))
        return net.node("Reshape", [x, self.integers(1, self.heads, -1, self.each)], (1, self.heads, 1, self.each))

    def attention(self, q, k, v, past_key, past_value):
        net, shape = self.net, (1, self.heads, 1, 1)
        q, k, v = self.split(q, self.heads), self.split(k, self.groups), self.split(v, self.groups)
        k, v = (net.node("Concat", [past, new], net.shape[v], axis=2) for past, new in ((past_key, self.rotated(k)), (past_value, v)))
        columns = net.node("Transpose", [self.repeated(k)], (1, self.heads, self.each, 1), perm=[0, 1, 3, 2])
        scores = net.add(net.node("MatMul", [self.rotated(q), columns], shape), self.number(self.each**0.5), "Div")
        y = net.node("MatMul", [net.node("Softmax", [net.add(scores, self.mask)], shape, axis=-1), self.repeated(v)], (1, self.heads, 1, self.each))
        y = net.node("Transpose", [y], (1, 1, self.heads, self.each), perm=[0, 2, 1, 3])
        return net.node("Reshape", [y, self.integers(0, 0, self.width)], (1, 1, self.width)), k, v


class Llama23(Llama):
    """Operators of set 23."""

    opset = 23

    def prepare(self, ids, past):
        net = self.net
        first = net.node("Squeeze", [self.size(past, 2), self.integers(0)], ())
        end = net.add(first, net.node("Squeeze", [self.size(ids, 1), self.integers(0)], ()))
        rows = net.node("Range", [first, end, net.constant(numpy.int64(1), counts=False)], (1,))
        angles = self.angles(net.node("Cast", [net.node("Unsqueeze", [rows, self.integers(0, 2)], (1, 1, 1))], (1, 1, 1), to=TensorProto.FLOAT))
        self.cos, self.sin = (net.node(op, [angles], (1, 1, self.each // 2)) for op in ("Cos", "Sin"))

    def norm(self, x):
        return self.net.node("RMSNormalization", [x, self.norm_scale()], self.net.shape[x], epsilon=1e-5)

    def attention(self, q, k, v, past_key, past_value):
        net = self.net
        q, k = (net.node("RotaryEmbedding", [x, self.cos, self.sin], net.shape[x], num_heads=heads) for x, heads in ((q, self.heads), (k, self.groups)))
        y = net.node("Attention", [q, k, v, "", past_key, past_value], net.shape[q], q_num_heads=self.heads, kv_num_heads=self.groups, is_causal=1)
        presents = [f"{y}_{kind}" for kind in ("key", "value")]
        net.nodes[-1].output.extend(presents)
        return y, *presents


class MicrosoftLlama(Llama):
    """Operators of com.microsoft, as ONNX Runtime's model builder writes them."""

    most = 4096  # positions

    def prepare(self, ids, past):
        net = self.net
        total = net.add(self.size(past, 2), self.size(ids, 1))
        total = net.node("Cast", [total], (1,), to=TensorProto.INT32)
        self.last = net.node("Sub", [total, net.constant(numpy.array([1], numpy.int32), counts=False)], (1,))
        self.total = net.node("Squeeze", [total, self.integers(0)], ())
        angles = numpy.arange(self.most)[:, None] * 10000 ** -(numpy.arange(0, self.each, 2) / self.each)
        self.cos, self.sin = (net.constant(f(angles).astype(numpy.float32), counts=False) for f in (numpy.cos, numpy.sin))

    def norm(self, x):
        return self.net.node("SimplifiedLayerNormalization", [x, self.norm_scale()], self.net.shape[x], epsilon=1e-5)

    def attention(self, q, k, v, past_key, past_value):
        net = self.net
        y = net.node("GroupQueryAttention", [q, k, v, past_key, past_value, self.last, self.total, self.cos, self.sin], net.shape[q], domain="com.microsoft",
                     num_heads=self.heads, kv_num_heads=self.groups, do_rotary=1)
        presents = [f"{y}_{kind}" for kind in ("key", "value")]
        net.nodes[-1].output.extend(presents)
        return y, *presents
