#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes networks of the literature as ONNX, with random weights.

    make.py NAME[-WIDTH][-SIZE]... [--int8] [--folder=DIR]

NAME: mobilenet_v1, mobilenet_v2 (width multipliers 0.25 to 1, images of any size: mobilenet_v1-0.25-96), inception_v3,
inception_v4, resnet18, resnet50, srresnet, bert (-2: two layers of encoders, else 12; after it the length, the width, the heads and the
words: bert-2-128-768-12-30522; length 0: dimensions "batch" and "seq" are open, of up to 512 tokens), speech (-3: three layers of LSTM, then
one of GRU, all in both directions; after it their width, the frames and the sequences: speech-3-256-100-1; frames 0: dimensions "frames" and
"batch" are open), llama (a decoder with a cache of keys and values, whose sizes "seq" and "past" are open, as torch exports it; llama23: by the
operators of set 23; llama_microsoft: by those of com.microsoft; after it the layers, the width, the heads, the groups of heads that share keys,
the words: llama-8-512-8-2-13568). --int8: quantized by ONNX Runtime's quantize_static, per channel, u8 activations, i8 weights. It needs the
Python packages onnx, numpy and for --int8 onnxruntime.
Multiply-adds and parameters are printed.

Sources: Howard et al., MobileNets, 2017, table 1; Sandler et al., MobileNetV2, 2018, table 2; Szegedy et al., Rethinking the
Inception Architecture, 2015, and Inception-v4, 2016, as in TensorFlow's models (slim); He et al., Deep Residual Learning, 2015, table 1;
Ledig et al., Photo-Realistic Single Image Super-Resolution, 2017, figure 4; Devlin et al., BERT, 2018; speech: Graves et al., Speech
Recognition with Deep Recurrent Neural Networks, 2013, with 80 mel features and 29 characters; llama: Touvron et al., LLaMA, 2023, with groups of
heads as in Ainslie et al., GQA, 2023.
"""

import pathlib
import sys

import llama
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Network:
    """A network under construction: nodes in order, values by name. Weights are normal with variance 2 / fan-in."""

    def __init__(self, name, seed=1):
        self.name = name
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.weights, self.shape = [], [], {}
        self.inputs, self.multiply_adds, self.parameters, self.made = [], 0, 0, 0
        self.range = {}  # of inputs of integers: the smallest value, and the first one too large
        self.floats = []  # nodes that quantization leaves in floats

    def input(self, name, shape, kind=TensorProto.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        self.shape[name] = tuple(shape)
        return name

    def integers(self, name, shape, low, high):
        self.range[name] = low, high
        return self.input(name, shape, TensorProto.INT64)

    def constant(self, value, counts=True):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(numpy.asarray(value), name))
        self.parameters += numpy.asarray(value).size if counts else 0
        return name

    def weight(self, *shape, fan_in):
        return self.constant(self.random.normal(0, (2 / fan_in) ** 0.5, shape).astype(numpy.float32))

    def node(self, op, inputs, shape, **attributes):
        self.made += 1
        out = f"{op.lower()}{self.made}"
        self.nodes.append(helper.make_node(op, inputs, [out], name=out, **attributes))
        self.shape[out] = tuple(shape)
        return out

    def conv(self, x, channels, kernel, stride=1, pad="SAME", group=1, relu="Relu", bias=True):
        kh, kw = (kernel, kernel) if isinstance(kernel, int) else kernel
        n, c, h, w = self.shape[x]
        if pad == "SAME":
            total = [max((-(-e // stride) - 1) * stride + k - e, 0) for e, k in ((h, kh), (w, kw))]
            pads = [t // 2 for t in total] + [t - t // 2 for t in total]
        else:
            pads = [0] * 4 if pad == "VALID" else pad
        out = [n, channels, (h + pads[0] + pads[2] - kh) // stride + 1, (w + pads[1] + pads[3] - kw) // stride + 1]
        fan_in = c // group * kh * kw
        inputs = [x, self.weight(channels, c // group, kh, kw, fan_in=fan_in)]
        if bias:
            inputs.append(self.constant(self.random.normal(0, 0.1, channels).astype(numpy.float32)))
        self.multiply_adds += channels * out[2] * out[3] * fan_in
        y = self.node("Conv", inputs, out, kernel_shape=[kh, kw], strides=[stride] * 2, pads=pads, group=group)
        return self.activation(y, relu)

    def activation(self, x, kind):
        if kind == "Relu6":
            bounds = [self.constant(numpy.float32(v), counts=False) for v in (0, 6)]
            return self.node("Clip", [x, *bounds], self.shape[x])
        return self.node(kind, [x], self.shape[x]) if kind else x

    def pool(self, x, kind, kernel, stride, pad="VALID"):
        n, c, h, w = self.shape[x]
        pads = [0] * 4
        if pad == "SAME":
            total = [max((-(-e // stride) - 1) * stride + kernel - e, 0) for e in (h, w)]
            pads = [t // 2 for t in total] + [t - t // 2 for t in total]
        out = [n, c] + [(e + pads[i] + pads[i + 2] - kernel) // stride + 1 for i, e in enumerate((h, w))]
        return self.node(kind, [x], out, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads)

    def concat(self, *x):
        shape = list(self.shape[x[0]])
        shape[1] = sum(self.shape[v][1] for v in x)
        return self.node("Concat", list(x), shape, axis=1)

    def add(self, a, b, op="Add"):
        return self.node(op, [a, b], self.shape[a])

    def classify(self, x, classes):
        n, c = self.shape[x][:2]
        x = self.node("Flatten", [self.node("GlobalAveragePool", [x], (n, c, 1, 1))], (n, c))
        self.multiply_adds += c * classes
        y = self.node("Gemm", [x, self.weight(classes, c, fan_in=c), self.constant(numpy.zeros(classes, numpy.float32))],
                      (n, classes), transB=1)
        return self.node("Softmax", [y], (n, classes), axis=1)

    def model(self, *outputs, opset=17):
        # The reader of the file infers the shapes of outputs.
        values = [helper.make_tensor_value_info(o, TensorProto.FLOAT, self.shape[o]) for o in outputs]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, values, self.weights)
        domains = {"": opset, **{node.domain: 1 for node in self.nodes if node.domain}}
        return helper.make_model(graph, opset_imports=[helper.make_opsetid(*each) for each in domains.items()], ir_version=8)


def mobilenet_v1(width=1.0, size=224):
    net = Network("mobilenet_v1")
    channels = lambda c: max(8, int(c * width))
    x = net.conv(net.input("image", [1, 3, size, size]), channels(32), 3, 2, relu="Relu6")
    for c, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)):
        x = net.conv(x, net.shape[x][1], 3, stride, group=net.shape[x][1], relu="Relu6")
        x = net.conv(x, channels(c), 1, relu="Relu6")
    return net, net.model(net.classify(x, 1000))


def mobilenet_v2(width=1.0, size=224):
    net = Network("mobilenet_v2")

    def channels(c):
        c = int(c * width + 4) // 8 * 8
        return max(8, c)

    x = net.conv(net.input("image", [1, 3, size, size]), channels(32), 3, 2, relu="Relu6")
    for t, c, repeat, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                 (6, 320, 1, 1)):
        for i in range(repeat):
            before, step = x, stride if i == 0 else 1
            y = net.conv(x, net.shape[x][1] * t, 1, relu="Relu6") if t > 1 else x
            y = net.conv(y, net.shape[y][1], 3, step, group=net.shape[y][1], relu="Relu6")
            x = net.conv(y, channels(c), 1, relu=None)
            if net.shape[x] == net.shape[before]:
                x = net.add(x, before)
    return net, net.model(net.classify(net.conv(x, max(1280, channels(1280)), 1, relu="Relu6"), 1000))


def resnet50(size=224):
    net = Network("resnet50")
    x = net.pool(net.conv(net.input("image", [1, 3, size, size]), 64, 7, 2, pad=[3] * 4), "MaxPool", 3, 2, "SAME")
    for c, repeat, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(repeat):
            step = stride if i == 0 else 1
            y = net.conv(net.conv(x, c, 1), c, 3, step)
            y = net.conv(y, 4 * c, 1, relu=None)
            x = net.conv(x, 4 * c, 1, step, relu=None) if i == 0 else x
            x = net.activation(net.add(y, x), "Relu")
    return net, net.model(net.classify(x, 1000))


def resnet18(size=224):
    net = Network("resnet18")
    x = net.pool(net.conv(net.input("image", [1, 3, size, size]), 64, 7, 2, pad=[3] * 4), "MaxPool", 3, 2, "SAME")
    for c, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for step in (stride, 1):
            y = net.conv(net.conv(x, c, 3, step), c, 3, relu=None)
            x = net.conv(x, c, 1, step, relu=None) if net.shape[x] != net.shape[y] else x
            x = net.activation(net.add(y, x), "Relu")
    return net, net.model(net.classify(x, 1000))


def inception_v3(size=299):
    net = Network("inception_v3")
    conv, pool, concat = net.conv, net.pool, net.concat
    x = conv(net.input("image", [1, 3, size, size]), 32, 3, 2, "VALID")
    x = pool(conv(conv(x, 32, 3, 1, "VALID"), 64, 3), "MaxPool", 3, 2)
    x = pool(conv(conv(x, 80, 1), 192, 3, 1, "VALID"), "MaxPool", 3, 2)
    average = lambda v: pool(v, "AveragePool", 3, 1, "SAME")
    for c in (32, 64, 64):
        x = concat(conv(x, 64, 1), conv(conv(x, 48, 1), 64, 5), conv(conv(conv(x, 64, 1), 96, 3), 96, 3), conv(average(x), c, 1))
    x = concat(conv(x, 384, 3, 2, "VALID"), conv(conv(conv(x, 64, 1), 96, 3), 96, 3, 2, "VALID"), pool(x, "MaxPool", 3, 2))
    for c in (128, 160, 160, 192):
        double = x
        for to, kernel in ((c, 1), (c, (7, 1)), (c, (1, 7)), (c, (7, 1)), (192, (1, 7))):
            double = conv(double, to, kernel)
        x = concat(conv(x, 192, 1), conv(conv(conv(x, c, 1), c, (1, 7)), 192, (7, 1)), double, conv(average(x), 192, 1))
    x = concat(conv(conv(x, 192, 1), 320, 3, 2, "VALID"),
               conv(conv(conv(conv(x, 192, 1), 192, (1, 7)), 192, (7, 1)), 192, 3, 2, "VALID"), pool(x, "MaxPool", 3, 2))
    for _ in range(2):
        a, b = conv(x, 384, 1), conv(conv(x, 448, 1), 384, 3)
        x = concat(conv(x, 320, 1), concat(conv(a, 384, (1, 3)), conv(a, 384, (3, 1))),
                   concat(conv(b, 384, (1, 3)), conv(b, 384, (3, 1))), conv(average(x), 192, 1))
    return net, net.model(net.classify(x, 1000))


def inception_v4(size=299):
    net = Network("inception_v4")
    conv, pool, concat = net.conv, net.pool, net.concat
    average = lambda v: pool(v, "AveragePool", 3, 1, "SAME")
    x = conv(conv(conv(net.input("image", [1, 3, size, size]), 32, 3, 2, "VALID"), 32, 3, 1, "VALID"), 64, 3)
    x = concat(pool(x, "MaxPool", 3, 2), conv(x, 96, 3, 2, "VALID"))
    x = concat(conv(conv(x, 64, 1), 96, 3, 1, "VALID"),
               conv(conv(conv(conv(x, 64, 1), 64, (1, 7)), 64, (7, 1)), 96, 3, 1, "VALID"))
    x = concat(conv(x, 192, 3, 2, "VALID"), pool(x, "MaxPool", 3, 2))
    for _ in range(4):
        x = concat(conv(x, 96, 1), conv(conv(x, 64, 1), 96, 3), conv(conv(conv(x, 64, 1), 96, 3), 96, 3), conv(average(x), 96, 1))
    x = concat(conv(x, 384, 3, 2, "VALID"), conv(conv(conv(x, 192, 1), 224, 3), 256, 3, 2, "VALID"), pool(x, "MaxPool", 3, 2))
    for _ in range(7):
        double = x
        for to, kernel in ((192, 1), (192, (7, 1)), (224, (1, 7)), (224, (7, 1)), (256, (1, 7))):
            double = conv(double, to, kernel)
        x = concat(conv(x, 384, 1), conv(conv(conv(x, 192, 1), 224, (1, 7)), 256, (7, 1)), double, conv(average(x), 128, 1))
    x = concat(conv(conv(x, 192, 1), 192, 3, 2, "VALID"),
               conv(conv(conv(conv(x, 256, 1), 256, (1, 7)), 320, (7, 1)), 320, 3, 2, "VALID"), pool(x, "MaxPool", 3, 2))
    for _ in range(3):
        a, b = conv(x, 384, 1), conv(conv(conv(x, 384, 1), 448, (3, 1)), 512, (1, 3))
        x = concat(conv(x, 256, 1), conv(a, 256, (1, 3)), conv(a, 256, (3, 1)), conv(b, 256, (3, 1)), conv(b, 256, (1, 3)),
                   conv(average(x), 256, 1))
    return net, net.model(net.classify(x, 1000))


def srresnet(size=24):
    net = Network("srresnet")

    def prelu(x):
        return net.node("PRelu", [x, net.constant(net.random.uniform(0.1, 0.3, (net.shape[x][1], 1, 1)).astype(numpy.float32))],
                        net.shape[x])

    x = start = prelu(net.conv(net.input("image", [1, 3, size, size]), 64, 9, relu=None))
    for _ in range(16):
        x = net.add(net.conv(prelu(net.conv(x, 64, 3, relu=None)), 64, 3, relu=None), x)
    x = net.add(net.conv(x, 64, 3, relu=None), start)
    for _ in range(2):
        x = net.conv(x, 256, 3, relu=None)
        n, c, h, w = net.shape[x]
        x = prelu(net.node("DepthToSpace", [x], (n, c // 4, 2 * h, 2 * w), blocksize=2, mode="CRD"))
    return net, net.model(net.conv(x, 3, 9, relu=None))


def bert(layers=12, length=128, width=768, heads=12, words=30522):
    net = Network("bert")
    integers = lambda *v: net.constant(numpy.array(v, numpy.int64), counts=False)

    def linear(x, out):
        into = net.shape[x][-1]
        net.multiply_adds += length * into * out
        y = net.node("MatMul", [x, net.weight(into, out, fan_in=2 * into)], (*net.shape[x][:-1], out))
        return net.add(y, net.constant(net.random.normal(0, 0.02, out).astype(numpy.float32)))

    def norm(x):
        scale = [net.constant(net.random.normal(m, 0.02, width).astype(numpy.float32)) for m in (1, 0)]
        return net.node("LayerNormalization", [x, *scale], net.shape[x], axis=-1, epsilon=1e-12)

    is_open = length == 0
    batch, seq, length = ("batch", "seq", 128) if is_open else (1, length, length)

    def split_heads(x):
        x = net.node("Reshape", [x, integers(0, 0, heads, width // heads)], (1, length, heads, width // heads))
        return net.node("Transpose", [x], (1, heads, length, width // heads), perm=[0, 2, 1, 3])

    ids = net.integers("input_ids", [batch, seq], 0, words)
    kinds = net.integers("token_type_ids", [batch, seq], 0, 2)
    mask = net.integers("attention_mask", [batch, seq], 1, 2)
    shape = (1, length, width)
    embed = lambda count, index: net.node("Gather", [net.weight(count, width, fan_in=5000), index], shape, axis=0)
    places = net.weight(1, 512 if is_open else length, width, fan_in=5000)
    if is_open:
        end = net.node("Slice", [net.node("Shape", [ids], (2,)), integers(1), integers(2)], (1,))
        places = net.node("Slice", [places, integers(0), end, integers(1)], shape)
    x = net.add(net.add(embed(words, ids), embed(2, kinds)), places)
    x = norm(x)
    bias = net.node("Cast", [net.node("Unsqueeze", [mask, integers(1, 2)], (1, 1, 1, length))], (1, 1, 1, length), to=1)
    bias = net.node("Sub", [net.constant(numpy.float32(1), counts=False), bias], (1, 1, 1, length))
    bias = net.add(bias, net.constant(numpy.float32(-10000), counts=False), "Mul")
    for _ in range(layers):
        q, k, v = (split_heads(linear(x, width)) for _ in range(3))
        k = net.node("Transpose", [k], (1, heads, width // heads, length), perm=[0, 1, 3, 2])
        scores = net.node("MatMul", [q, k], (1, heads, length, length))
        scores = net.add(scores, net.constant(numpy.float32((width // heads) ** 0.5), counts=False), "Div")
        scores = net.node("Softmax", [net.add(scores, bias)], net.shape[scores], axis=-1)
        y = net.node("MatMul", [scores, v], (1, heads, length, width // heads))
        y = net.node("Transpose", [y], (1, length, heads, width // heads), perm=[0, 2, 1, 3])
        y = net.node("Reshape", [y, integers(0, 0, width)], shape)
        net.multiply_adds += 2 * length * length * width
        x = norm(net.add(linear(y, width), x))
        y = linear(x, 4 * width)
        gelu = net.node("Erf", [net.add(y, net.constant(numpy.float32(2**0.5), counts=False), "Div")], net.shape[y])
        gelu = net.add(gelu, net.constant(numpy.float32(1), counts=False))
        net.floats.append(gelu)  # as bytes of scale 2/255, erf + 1 would always be half-way between two of them
        gelu = net.add(net.add(y, gelu, "Mul"), net.constant(numpy.float32(0.5), counts=False), "Mul")
        x = norm(net.add(linear(gelu, width), x))
    return net, net.model(x)


def speech(layers=3, width=256, frames=100, batch=1):
    """As torch exports it: states of zeros whose shape is computed, features [frames, batch, 80]."""
    net = Network("speech")
    integers = lambda *v: net.constant(numpy.array(v, numpy.int64), counts=False)
    is_open = frames == 0
    steps, sequences = ("frames", "batch") if is_open else (frames, batch)
    x, into = net.input("features", [steps, sequences, 80]), 80
    count = net.node("Slice", [net.node("Shape", [x], (3,)), integers(1), integers(2)], (1,))
    zeros = net.node("ConstantOfShape", [net.node("Concat", [integers(2), count, integers(width)], (3,), axis=0)], (2, sequences, width))

    def drawn(*shape):  # as torch initializes them
        return net.constant(net.random.uniform(-1, 1, shape).astype(numpy.float32) * numpy.float32(width**-0.5))

    for op, gates, more in [("LSTM", 4, {})] * layers + [("GRU", 3, {"linear_before_reset": 1})]:
        inputs = [x, drawn(2, gates * width, into), drawn(2, gates * width, width), drawn(2, 2 * gates * width), "", *[zeros] * (2 if op == "LSTM" else 1)]
        x = net.node(op, inputs, (steps, 2, sequences, width), hidden_size=width, direction="bidirectional", **more)
        x = net.node("Transpose", [x], (steps, sequences, 2, width), perm=[0, 2, 1, 3])
        x = net.node("Reshape", [x, integers(0, 0, -1)], (steps, sequences, 2 * width))
        net.multiply_adds += 0 if is_open else 2 * frames * batch * gates * width * (into + width)
        into = 2 * width
    net.multiply_adds += 0 if is_open else frames * batch * into * 29
    x = net.add(net.node("MatMul", [x, drawn(into, 29)], (steps, sequences, 29)), drawn(29))
    return net, net.model(net.node("LogSoftmax", [x], net.shape[x], axis=-1))


def decoder(kind):
    return lambda layers=8, width=512, heads=8, groups=2, words=13568: kind(Network("llama"), layers, width, heads, groups, words).make()


MAKERS = {f.__name__: f for f in (mobilenet_v1, mobilenet_v2, resnet18, resnet50, inception_v3, inception_v4, srresnet, bert, speech)}
MAKERS |= {"llama": decoder(llama.TorchLlama), "llama23": decoder(llama.Llama23), "llama_microsoft": decoder(llama.MicrosoftLlama)}


def calibration(net, random):
    """Random values for the inputs: floats in [-1, 1), integers in their ranges."""
    feeds = {}
    for value in net.inputs:
        name, shape = value.name, net.shape[value.name]
        integers = net.range.get(name)
        feeds[name] = random.integers(*integers, shape) if integers else random.uniform(-1, 1, shape).astype(numpy.float32)
    return feeds


def quantize(source, target, net):
    """Quantizes by ONNX Runtime, calibrated on two random inputs."""
    import onnxruntime.quantization as q

    class Inputs(q.CalibrationDataReader):
        def __init__(self):
            random = numpy.random.default_rng(2)
            self.feeds = iter([calibration(net, random) for _ in range(2)])

        def get_next(self):
            return next(self.feeds, None)

    q.quantize_static(source, target, Inputs(), quant_format=q.QuantFormat.QDQ, per_channel=True, nodes_to_exclude=net.floats,
                      activation_type=q.QuantType.QUInt8, weight_type=q.QuantType.QInt8)


def main():
    folder, int8, wanted = pathlib.Path("."), False, []
    for word in sys.argv[1:]:
        if word == "--int8":
            int8 = True
        elif word.startswith("--folder="):
            folder = pathlib.Path(word.split("=", 1)[1])
        elif word.split("-")[0] in MAKERS and not word.startswith("-"):
            wanted.append(word)
        else:
            sys.exit(__doc__)
    for word in wanted or sys.exit(__doc__):
        name, *numbers = word.split("-")
        numbers = [float(n) if "." in n else int(n) for n in numbers]
        net, model = MAKERS[name](*numbers)
        path = folder / f"{word}.onnx"
        onnx.save(model, str(path))
        print(f"{path}: {net.multiply_adds / 1e6:.1f} M multiply-adds, {net.parameters / 1e6:.2f} M parameters")
        if int8:
            quantize(str(path), str(folder / f"{word}-int8.onnx"), net)


main()
