# SPDX-License-Identifier: Apache-2.0
"""Small networks with seeded values that together contain every operator; the results of each are combined
into one output."""

import random
import re

from onnx_writer import BOOL, FLOAT, INT8, INT32, INT64, UINT8, Texts, model, node, tensor, value
from small_networks import branches, loops

# Operators of one operand, in -1 to 1 or, POSITIVE, above 0; and of two.
UNARY = ("Atan Asinh Cos Cosh Sin Sinh Tan Abs Ceil Celu Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Mish Neg Relu Round Selu Sigmoid Sign Softplus Softsign Tanh "
         "ThresholdedRelu Identity Dropout").split()
POSITIVE = "Reciprocal Sqrt Log".split()
NARY = "Add Max Mean Min Mul Sub Sum".split()
COMPARE = "Equal Greater GreaterOrEqual Less LessOrEqual".split()
LOGICAL = "And Or Xor".split()
REDUCE = "ReduceL1 ReduceL2 ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare".split()


def values(seed, name, shape, least=-1.0, most=1.0):
    draw = random.Random(seed)
    count = 1
    for n in shape:
        count *= n
    return tensor(name, shape, [draw.uniform(least, most) for _ in range(count)])


def summed(nodes, names, result):
    """Adds the values, by nodes of up to 12 operands."""
    for i in range(0, len(names), 11):
        last = i + 11 >= len(names)
        nodes.append(node("Sum", ([f"sum{i}"] if i else []) + names[i:i + 11], [result if last else f"sum{i + 11}"]))


def elementwise():
    """All elementwise operators; the output is the sum of their results."""
    nodes, sums = [node("Exp", ["y"], ["p"])], []

    def add(op, inputs, **attributes):
        sums.append(f"r{len(sums)}")
        nodes.append(node(op, inputs, [sums[-1]], **attributes))

    for op in UNARY:
        add(op, ["x"])
    for op in POSITIVE:
        add(op, ["p"])
    for op in NARY:
        add(op, ["x", "y"])
    add("Div", ["x", "p"])
    add("Pow", ["p", "y"])
    add("PRelu", ["x", "slope"])
    add("Clip", ["x", "low", "high"])
    add("BatchNormalization", ["x", "scale", "bias", "mean", "variance"])
    last = "is_nan"
    nodes.append(node("IsNaN", ["x"], [last]))
    for i, op in enumerate(COMPARE):
        nodes += [node(op, ["x", "y"], [f"c{i}"]), node(LOGICAL[i % 3], [last, f"c{i}"], [f"l{i}"])]
        last = f"l{i}"
    nodes.append(node("Not", [last], ["not"]))
    add("Where", ["not", "x", "y"])
    nodes.append(node("Cast", ["not"], ["zero_or_one"], to=FLOAT))
    sums.append("zero_or_one")
    summed(nodes, sums, "z")
    tensors = [values(1, "slope", [3, 1]), tensor("low", [], [-0.5]), tensor("high", [], [0.25]), values(2, "scale", [3]), values(3, "bias", [3]),
               values(4, "mean", [3]), values(5, "variance", [3], 0.5, 1.5)]
    return model(nodes, [value("x", [2, 3, 5]), value("y", [2, 3, 5])], [value("z", [2, 3, 5])], tensors, opset=20)


def reductions():
    """All operators that reduce or search along an axis."""
    nodes = [node("Exp", ["x"], ["p"]), node("ReduceLogSum", ["p", "axes"], ["r"], keepdims=1)]
    sums = ["r"]
    for op in REDUCE:
        nodes.append(node(op, ["x", "axes"], ["of_" + op], keepdims=1))
        sums.append("of_" + op)
    for op in "ArgMax", "ArgMin":
        nodes += [node(op, ["x"], ["at_" + op], axis=1, keepdims=1), node("Cast", ["at_" + op], ["of_" + op], to=FLOAT)]
        sums.append("of_" + op)
    nodes += [
        node("Softmax", ["x"], ["softmax"], axis=1), node("LogSoftmax", ["x"], ["log_softmax"], axis=3), node("LRN", ["x"], ["lrn"], size=3),
        node("InstanceNormalization", ["x", "scale", "bias"], ["instance"]), node("LayerNormalization", ["x", "row"], ["layer"], axis=-1),
    ]
    summed(nodes, [*sums, "softmax", "log_softmax", "lrn", "instance", "layer"], "y")
    tensors = [tensor("axes", [1], [1], INT64), values(6, "scale", [4]), values(7, "bias", [4]), values(8, "row", [5])]
    return model(nodes, [value("x", [2, 4, 6, 5])], [value("y", [2, 4, 6, 5])], tensors, opset=18)


def shapes():
    """Operators that move elements or compute a shape; and the convolutions, products and pools that
    small_networks.py lacks."""
    nodes = [
        node("Split", ["x", "halves"], ["a", "b"], axis=1), node("DepthToSpace", ["x"], ["d"], blocksize=2), node("SpaceToDepth", ["d"], ["e"], blocksize=2),
        node("Slice", ["e", "from", "to"], ["f"]), node("Pad", ["f", "pads"], ["g"]), node("Concat", ["a", "b"], ["h"], axis=1),
        node("Gather", ["h", "indices"], ["i"], axis=1), node("Transpose", ["i"], ["j"], perm=[0, 1, 3, 2]), node("Transpose", ["j"], ["k"], perm=[0, 1, 3, 2]),
        node("Shape", ["x"], ["shape"]), node("Expand", ["one", "shape"], ["l"]), node("Tile", ["row", "times"], ["m"]),
        node("Resize", ["x", "", "", "sizes"], ["n"], mode="nearest"), node("MaxPool", ["n"], ["o"], kernel_shape=[2, 2], strides=[2, 2]),
        node("ConvTranspose", ["x", "w"], ["q"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]), node("GlobalMaxPool", ["x"], ["r"]),
        node("Squeeze", ["r", "last"], ["s"]), node("Unsqueeze", ["s", "last"], ["t"]), node("Flatten", ["t"], ["u"]), node("Gemm", ["u", "v"], ["uv"]),
        node("Reshape", ["uv", "back"], ["uw"]), node("AveragePool", ["x"], ["ap"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("GlobalAveragePool", ["x"], ["ga"]), node("MatMul", ["x", "square"], ["mm"]), node("Conv", ["x", "w1"], ["cv"], kernel_shape=[1, 1]),
        node("ConstantOfShape", ["back"], ["zeros"]), node("Size", ["x"], ["size"]), node("Cast", ["size"], ["count"], to=FLOAT),
        node("Range", ["start", "limit", "delta"], ["range"]), node("Constant", [], ["c"], value=tensor("", [1], [0.5])),
        node("Sum", ["g", "k", "l", "m", "o", "q", "uw", "zeros", "count", "range", "c", "ap", "ga", "mm", "cv"], ["y"]),
    ]
    whole = {"halves": [2, 2], "from": [0, 0, 1, 1], "to": [1, 4, 5, 6], "pads": [0, 0, 1, 1, 0, 0, 1, 0], "indices": [3, 0, 2, 1], "times": [1, 4, 6, 1],
             "sizes": [1, 4, 12, 12], "last": [2], "back": [1, 4, 1, 1]}
    tensors = [tensor(name, [len(v)], v, INT64) for name, v in whole.items()]
    tensors += [tensor("one", [1], [1.0]), values(9, "row", [1, 1, 1, 6]), values(10, "w", [4, 4, 3, 3]), values(11, "v", [4, 4]), values(12, "square", [6, 6]),
                values(13, "w1", [4, 4, 1, 1]), tensor("start", [], [0.0]), tensor("limit", [], [6.0]), tensor("delta", [], [1.0])]
    return model(nodes, [value("x", [1, 4, 6, 6])], [value("y", [1, 4, 6, 6])], tensors)


def enlarged():
    """Operators that opsets 10 and 11 removed."""
    nodes = [node("Upsample", ["x", "scales"], ["u"]), node("Scatter", ["u", "at", "updates"], ["s"], axis=2), node("Relu", ["s"], ["y"])]
    tensors = [tensor("scales", [4], [1.0, 1.0, 2.0, 2.0]), tensor("at", [1, 2, 1, 3], [5, 0, -1, 2, 2, 4], INT64), values(21, "updates", [1, 2, 1, 3])]
    return model(nodes, [value("x", [1, 2, 3, 5])], [value("y", [1, 2, 6, 10])], tensors, opset=9)


def scatters():
    """Operators that write at indices, some of them computed, several of them equal."""
    nodes = [
        node("ScatterElements", ["x", "columns", "some"], ["a"], axis=-1, reduction="add"), node("ArgMax", ["x"], ["best"], axis=1, keepdims=1),
        node("ScatterElements", ["a", "best", "plane"], ["b"], axis=1, reduction="min"), node("ScatterND", ["b", "places", "rows"], ["c"], reduction="mul"),
        node("Relu", ["c"], ["d"]), node("TensorScatter", ["d", "two", "starts"], ["y"], axis=1, mode="circular"),
    ]
    tensors = [tensor("columns", [2, 4, 3], [0, 2, -1, 1, 1, 1, 4, 3, 2, 0, 0, 0] * 2, INT64), values(22, "some", [2, 4, 3]), values(23, "plane", [2, 1, 5]),
               tensor("places", [3, 2], [0, 3, 1, -1, 0, 3], INT64), values(24, "rows", [3, 5]), values(25, "two", [2, 2, 5]), tensor("starts", [2], [3, 6], INT64)]
    return model(nodes, [value("x", [2, 4, 5])], [value("y", [2, 4, 5])], tensors, opset=24)


def indices():
    """Operators that read at indices or make a tensor of them."""
    nodes = [
        node("TopK", ["x", "three"], ["top", "at"], axis=1), node("TopK", ["x", "three"], ["least", "last"], axis=-1, largest=0),
        node("GatherElements", ["x", "at"], ["same"], axis=1), node("GatherND", ["x", "places"], ["rows"], batch_dims=1), node("OneHot", ["last", "depth", "off_on"], ["hot"], axis=2),
        node("Add", ["top", "same"], ["a"]), node("Concat", ["a", "rows"], ["b"], axis=1), node("Pad", ["least", "pads"], ["wide"]),
        node("ReduceMax", ["hot", "third"], ["most"], keepdims=0), node("Pad", ["most", "pads"], ["wide_most"]), node("Mul", ["wide", "wide_most"], ["c"]),
        node("Concat", ["b", "c"], ["y"], axis=1),
    ]
    tensors = [tensor("three", [1], [3], INT64), tensor("depth", [], [5], INT64), tensor("off_on", [2], [-0.5, 0.75]), tensor("third", [1], [2], INT64),
               tensor("pads", [6], [0, 0, 0, 0, 0, 2], INT64), tensor("places", [2, 2, 1], [3, -4, 0, 0], INT64)]
    return model(nodes, [value("x", [2, 4, 5])], [value("y", [2, 9, 5])], tensors, opset=18)


def bytewise():
    """Quantized operators, with results that can be one of at most two adjacent values."""
    microsoft = {"domain": "com.microsoft"}
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("QLinearSigmoid", ["q", "s", "z", "s", "z"], ["sg"], **microsoft),
        node("QLinearLeakyRelu", ["q", "s", "z", "s", "z"], ["lr"], **microsoft, alpha=0.1),
        node("QLinearAdd", ["sg", "s", "z", "lr", "s", "z", "s", "z"], ["ad"], **microsoft), node("QLinearMul", ["ad", "s", "z", "q", "s", "z", "s", "z"], ["mu"], **microsoft),
        node("QLinearAveragePool", ["mu", "s", "z", "s", "z"], ["av"], **microsoft, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("QLinearConcat", ["s", "z", "av", "s", "z", "mu", "s", "z"], ["co"], **microsoft, axis=1),
        node("QLinearConv", ["co", "s", "z", "w", "ws", "wz", "s", "z"], ["cv"], kernel_shape=[1, 1]),
        node("QLinearGlobalAveragePool", ["cv", "s", "z", "s", "z"], ["ga"], **microsoft), node("Flatten", ["ga"], ["fl"]),
        node("QGemm", ["fl", "s", "z", "m", "ws", "wz", "", "s", "z"], ["ge"], **microsoft),
        node("QLinearMatMul", ["ge", "s", "z", "m", "ws", "wz", "s", "z"], ["ma"]), node("QLinearSoftmax", ["ma", "s", "z", "s256", "z0"], ["so"], **microsoft, axis=-1, opset=13),
        node("DequantizeLinear", ["so", "s256", "z0"], ["y"]),
    ]
    draw = random.Random(14)
    tensors = [tensor("s", [], [1 / 64]), tensor("z", [], [121], UINT8), tensor("ws", [], [1 / 128]), tensor("wz", [], [0], INT8), tensor("s256", [], [1 / 256]),
               tensor("z0", [], [0], UINT8), tensor("w", [5, 12, 1, 1], [draw.randint(-127, 127) for _ in range(60)], INT8),
               tensor("m", [5, 5], [draw.randint(-127, 127) for _ in range(25)], INT8)]
    return model(nodes, [value("x", [1, 6, 7, 9])], [value("y", [1, 5])], tensors, domains=["com.microsoft"])


def pyramid():
    """Maxima of maxima, concatenated with their inputs, and a residual inside a concatenation: slices that
    are read and written alternate."""
    nodes = [node("Relu", ["x"], ["a"])]
    nodes += [node("MaxPool", [f], [t], kernel_shape=[3, 3], pads=[1, 1, 1, 1]) for f, t in ("ab", "bc")]
    nodes += [
        node("Concat", ["a", "b", "c"], ["d"], axis=1), node("Conv", ["d", "w"], ["e"], kernel_shape=[1, 1]), node("Split", ["e", "halves"], ["f", "g"], axis=1),
        node("Conv", ["g", "v"], ["h"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]), node("Add", ["h", "g"], ["i"]), node("Relu", ["i"], ["j"]), node("Add", ["j", "i"], ["k"]),
        node("Concat", ["f", "g", "i", "k"], ["l"], axis=1), node("Conv", ["l", "u"], ["y"], kernel_shape=[1, 1]),
    ]
    tensors = [values(15, "w", [8, 12, 1, 1]), values(16, "v", [4, 4, 3, 3]), values(17, "u", [3, 16, 1, 1]), tensor("halves", [2], [4, 4], INT64)]
    return model(nodes, [value("x", [1, 4, 6, 7])], [value("y", [1, 3, 6, 7])], tensors)


def arranged():
    """Operators that choose, cumulate or combine elements by their subscripts."""
    nodes = [
        node("CumSum", ["x", "axis"], ["a"]), node("CumProd", ["a", "axis"], ["b"], exclusive=1), node("Trilu", ["b"], ["c"]), node("EyeLike", ["c"], ["d"]),
        node("CenterCropPad", ["x", "shape"], ["e"]), node("ReverseSequence", ["x", "lengths"], ["f"]), node("Einsum", ["x", "d"], ["g"], equation="ij,kj->ik"),
        node("Compress", ["x", "condition"], ["h"], axis=0), node("Shrink", ["x"], ["i"]), node("IsInf", ["x"], ["j"]), node("Cast", ["j"], ["k"], to=FLOAT),
        node("Hardmax", ["x"], ["n"]), node("LpNormalization", ["x"], ["o"]), node("Reshape", ["x", "image"], ["p"]), node("LpPool", ["p"], ["q"], kernel_shape=[3], pads=[1, 1]),
        node("Reshape", ["q", "matrix"], ["r"]), node("GlobalLpPool", ["p"], ["s"]), node("Reshape", ["s", "column"], ["t"]), node("Clip", ["x", "low", "high"], ["u"]),
        node("Acos", ["u"], ["v"]), node("Asin", ["u"], ["w"]), node("Atanh", ["u"], ["x1"]), node("Cosh", ["u"], ["x2"]), node("Acosh", ["x2"], ["x3"]),
        node("Cast", ["x"], ["i1"], to=INT64), node("BitwiseNot", ["i1"], ["i2"]), node("BitwiseAnd", ["i1", "i2"], ["i3"]), node("BitwiseOr", ["i3", "i1"], ["i4"]),
        node("BitwiseXor", ["i4", "i2"], ["i5"]), node("Mod", ["i5", "three"], ["i6"]), node("Cast", ["i6"], ["i7"], to=UINT8), node("BitShift", ["i7", "one"], ["i8"], direction="LEFT"),
        node("Cast", ["i8"], ["x4"], to=FLOAT),
        node("NonZero", ["condition"], ["l"]), node("Cast", ["l"], ["m"], to=FLOAT), node("Sum", ["b", "c", "d", "e", "f", "g", "h", "i", "k", "m"], ["z"]),
        node("Sum", ["z", "n", "o", "r", "t", "v", "w", "x1", "x3", "x4"], ["y"]),
    ]
    tensors = [tensor("axis", [], [1], INT64), tensor("shape", [2], [4, 1], INT64), tensor("lengths", [4], [2, 4, 0, 3], INT64), tensor("image", [3], [1, 4, 4], INT64), tensor("matrix", [2], [4, 4], INT64),
               tensor("column", [2], [4, 1], INT64), tensor("low", [], [-0.875]), tensor("high", [], [0.875]), tensor("three", [], [3], INT64), tensor("one", [], [1], UINT8), tensor("condition", [4], [0, 1, 0, 0], BOOL)]
    return model(nodes, [value("x", [4, 4])], [value("y", [4, 4])], tensors, opset=26)


def samples():
    """Images that are read at computed places."""
    nodes = [
        node("AffineGrid", ["theta", "size"], ["g"]), node("GridSample", ["x", "g"], ["a"], mode="linear"), node("RoiAlign", ["a", "regions", "first"], ["b"], output_height=3, output_width=4, sampling_ratio=2),
        node("Conv", ["b", "w"], ["c"], kernel_shape=[1, 1]), node("DeformConv", ["b", "v", "c"], ["y"]),
    ]
    tensors = [values(40, "theta", [1, 2, 3]), tensor("size", [4], [1, 2, 3, 4], INT64), tensor("regions", [1, 4], [0.5, 0.0, 3.5, 2.0]), tensor("first", [1], [0], INT64),
               values(41, "w", [2, 2, 1, 1]), values(42, "v", [2, 2, 1, 1])]
    return model(nodes, [value("x", [1, 2, 4, 5])], [value("y", [1, 2, 3, 4])], tensors, opset=20)


def windows():
    """Images made of the maxima and of the blocks of windows."""
    nodes = [
        node("MaxPool", ["x"], ["a", "at"], kernel_shape=[2, 2], strides=[2, 2]), node("MaxUnpool", ["a", "at"], ["b"], kernel_shape=[2, 2], strides=[2, 2]),
        node("Reshape", ["x", "columns"], ["c"]), node("Col2Im", ["c", "image", "block"], ["d"], strides=[2, 2]), node("Add", ["b", "d"], ["y"]),
    ]
    tensors = [tensor(name, [len(v)], v, INT64) for name, v in {"columns": [1, 8, 6], "image": [4, 6], "block": [2, 2]}.items()]
    return model(nodes, [value("x", [1, 2, 4, 6])], [value("y", [1, 2, 4, 6])], tensors, opset=18)


def apart():
    """Operators without kin."""
    nodes = [
        node("MeanVarianceNormalization", ["x"], ["a"]), node("BitCast", ["a"], ["b"], to=INT32), node("BitwiseAnd", ["b", "mask"], ["c"]), node("BitCast", ["c"], ["d"], to=FLOAT),
        node("SwiGLU", ["d", "x"], ["e"]), node("Det", ["e"], ["f"]), node("Reshape", ["f", "column"], ["g"]), node("Add", ["e", "g"], ["y"]),
    ]
    return model(nodes, [value("x", [2, 3, 4, 4])], [value("y", [2, 3, 4, 4])], [tensor("mask", [], [2**31 - 1], INT32), tensor("column", [4], [2, 3, 1, 1], INT64)], opset=28)


def normalizations():
    """Normalizations of language models and of generators of images."""
    microsoft = {"domain": "com.microsoft"}
    nodes = [
        node("RMSNormalization", ["x", "row"], ["a"]), node("SimplifiedLayerNormalization", ["a", "row"], ["b"]),
        node("SkipLayerNormalization", ["x", "b", "row", "shift"], ["c", "", "", "sum"], **microsoft),
        node("SkipSimplifiedLayerNormalization", ["c", "sum", "row"], ["d"], **microsoft),
        node("GroupNormalization", ["d", "scale", "bias"], ["y"], num_groups=2),
    ]
    tensors = [values(21, "row", [6], 0.5, 1.5), values(22, "shift", [6]), values(23, "scale", [4], 0.5, 1.5), values(24, "bias", [4])]
    return model(nodes, [value("x", [2, 4, 6])], [value("y", [2, 4, 6])], tensors, opset=23, domains=["com.microsoft"])


def fused():
    """Operators that join others."""
    microsoft = {"domain": "com.microsoft"}
    nodes = [
        node("FusedConv", ["x", "w", "", "x"], ["a"], **microsoft, activation="Relu", pads=[1, 1, 1, 1]), node("BiasGelu", ["a", "row"], ["b"], **microsoft),
        node("FastGelu", ["b", "row"], ["c"], **microsoft), node("QuickGelu", ["c"], ["d"], **microsoft), node("Gelu", ["d"], ["e"], **microsoft),
        node("Swish", ["e"], ["f"]), node("FusedMatMul", ["f", "square"], ["g"], **microsoft, transB=1, alpha=0.5), node("CastLike", ["g", "row"], ["y"]),
    ]
    tensors = [values(25, "w", [4, 4, 3, 3]), values(26, "row", [6]), values(27, "square", [6, 6])]
    return model(nodes, [value("x", [1, 4, 5, 6])], [value("y", [1, 4, 5, 6])], tensors, opset=24, domains=["com.microsoft"])


def attention():
    """Operators of attention."""
    microsoft = {"domain": "com.microsoft"}
    nodes = [
        node("RotaryEmbedding", ["x", "cos", "sin", "places"], ["a"], num_heads=3), node("RotaryEmbedding", ["a", "places", "cos", "sin"], ["b"], **microsoft, interleaved=1),
        node("MultiHeadAttention", ["b", "x", "x"], ["c"], **microsoft, num_heads=3), node("Attention", ["c", "w"], ["d"], **microsoft, num_heads=2),
        node("GroupQueryAttention", ["d", "x", "x", "", "", "less", "all"], ["e"], **microsoft, num_heads=6, kv_num_heads=6),
        node("Attention", ["e", "x", "b", "mask", "past", "past"], ["y", "pk", "pv"], q_num_heads=6, kv_num_heads=6, is_causal=1, softcap=2.0),
    ]
    tensors = [values(28, "cos", [7, 4]), values(29, "sin", [7, 4]), tensor("places", [1, 5], [2, 3, 4, 5, 6], INT64), values(30, "past", [1, 6, 3, 4]), values(31, "w", [24, 72]),
               tensor("less", [1], [4], INT32), tensor("all", [], [5], INT32),
               tensor("mask", [5, 8], [int(i % 5 > 0) for i in range(40)], BOOL)]
    return model(nodes, [value("x", [1, 5, 24])], [value("y", [1, 5, 24])], tensors, opset=24, domains=["com.microsoft"])


def tokens(batch=2, seq=5):
    """Operators that go over tokens with a state."""
    nodes = [
        node("CausalConvWithState", ["x", "w", "", "before"], ["a", "next"], activation="silu"), node("Transpose", ["a"], ["b"], perm=[0, 2, 1]),
        node("Slice", ["b", "zero", "two", "last"], ["g"]), node("Sigmoid", ["g"], ["r"]), node("Neg", ["r"], ["d"]),
        node("LinearAttention", ["b", "b", "b", "", "d", "r"], ["c", "state"], q_num_heads=2, kv_num_heads=2), node("MatMul", ["c", "square"], ["y"]),
    ]
    tensors = [values(35, "w", [8, 1, 4]), values(37, "square", [8, 8]),
               *(tensor(name, [1], [v], INT64) for name, v in (("zero", 0), ("two", 2), ("last", 2)))]
    return model(nodes, [value("x", [batch, 8, seq]), value("before", [batch, 8, 3])], [value("y", [batch, seq, 8]), value("next", [batch, 8, 3]), value("state", [batch, 2, 4, 4])],
                 tensors, opset=27)


def chosen(count=7):
    """Boxes that overlap no better one, and what is read by their numbers."""
    nodes = [
        node("Slice", ["x", "zero", "four", "two"], ["boxes"]), node("Slice", ["x", "four", "last", "two"], ["c"]), node("Transpose", ["c"], ["scores"], perm=[0, 2, 1]),
        node("NonMaxSuppression", ["boxes", "scores", "four", "most", "least"], ["rows"]), node("Slice", ["rows", "two", "last", "one"], ["place"]), node("Squeeze", ["place", "one"], ["i"]),
        node("Abs", ["i"], ["places"]), node("Gather", ["boxes", "places"], ["y"], axis=1),
    ]
    tensors = [*(tensor(name, [1], [v], INT64) for name, v in (("zero", 0), ("one", 1), ("two", 2), ("four", 4), ("last", 100))), tensor("most", [1], [0.2]), tensor("least", [1], [-0.9])]
    return model(nodes, [value("x", [2, count, 6])], [value("rows", [16, 3], INT64), value("y", [2, 16, 4])], tensors)


def integers_computed():
    """Products of bytes whose scales and zero points are computed."""
    microsoft, draw = {"domain": "com.microsoft"}, random.Random(32)
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]), node("ConvInteger", ["q", "f", "z"], ["c"], pads=[1, 1, 1, 1]), node("Cast", ["c"], ["d"], to=FLOAT),
        node("MatMulInteger", ["q", "w", "z"], ["m"]), node("Cast", ["m"], ["e"], to=FLOAT), node("Add", ["d", "e"], ["g"]),
        node("DynamicQuantizeMatMul", ["g", "w", "s"], ["h"], **microsoft), node("MatMulIntegerToFloat", ["q", "w", "s", "s", "z"], ["i"], **microsoft),
        node("QLinearMatMul", ["q", "s", "z", "w", "s", "wz", "s", "z"], ["j"]), node("DequantizeLinear", ["j", "s", "z"], ["k"]), node("Sum", ["h", "i", "k"], ["y"]),
    ]
    tensors = [tensor(name, shape, [draw.randint(-127, 127) for _ in range(n)], INT8) for name, shape, n in (("f", [3, 3, 3, 3], 81), ("w", [6, 6], 36))]
    return model(nodes, [value("x", [1, 3, 5, 6])], [value("y", [1, 3, 5, 6])], [*tensors, tensor("wz", [], [0], INT8)], domains=["com.microsoft"])


def recurrences():
    """Operators of steps whose states the next one reads."""
    nodes = [
        node("LSTM", ["x", "lw", "lr", "lb", "lengths"], ["l", "lh", "lc"], hidden_size=5, direction="bidirectional"), node("Transpose", ["l"], ["lt"], perm=[0, 2, 1, 3]),
        node("Reshape", ["lt", "wide"], ["a"]), node("Reshape", ["lh", "state"], ["lstate"]),
        node("GRU", ["a", "gw", "gr", "gb", "", "lstate"], ["g", "gh"], hidden_size=10, linear_before_reset=1), node("Squeeze", ["g", "one"], ["b"]),
        node("RNN", ["b", "rw", "rr", "", "", "gh"], ["r"], hidden_size=10, direction="reverse", activations=Texts(["LeakyRelu"])),
        node("Squeeze", ["r", "one"], ["c"]), node("Add", ["c", "gh"], ["d"]),
        node("DynamicQuantizeLSTM", ["d", "qw", "qr", "", "", "", "", "", "qs", "qz", "qs", "qz"], ["q"], domain="com.microsoft", hidden_size=10), node("Squeeze", ["q", "one"], ["y"]),
    ]
    shapes = {"lw": [2, 20, 4], "lr": [2, 20, 5], "lb": [2, 40], "gw": [1, 30, 10], "gr": [1, 30, 10], "gb": [1, 60], "rw": [1, 10, 10], "rr": [1, 10, 10]}
    tensors = [values(36 + i, name, shape, -0.5, 0.5) for i, (name, shape) in enumerate(shapes.items())]
    tensors += [tensor("lengths", [2], [5, 3], INT32), tensor("wide", [3], [5, 2, 10], INT64), tensor("state", [3], [1, 2, 10], INT64), tensor("one", [1], [1], INT64)]
    draw = random.Random(46)
    tensors += [tensor(name, [1, 10, 40], [draw.randint(-127, 127) for _ in range(400)], INT8) for name in ("qw", "qr")]
    tensors += [tensor("qs", [1], [0.003]), tensor("qz", [1], [3], INT8)]
    return model(nodes, [value("x", [5, 2, 4])], [value("y", [5, 2, 10])], tensors, domains=["com.microsoft"])


def few_bits():
    """Weights of few bits."""
    draw = random.Random(33)
    nodes = [node("MatMulNBits", ["x", "b", "s", "z"], ["y"], domain="com.microsoft", K=40, N=6, bits=4, block_size=16)]
    tensors = [tensor("b", [6, 3, 8], [draw.randint(0, 255) for _ in range(144)], UINT8), values(34, "s", [6, 3]),
               tensor("z", [6, 2], [draw.randint(0, 255) for _ in range(12)], UINT8)]
    return model(nodes, [value("x", [5, 40])], [value("y", [5, 6])], tensors, domains=["com.microsoft"])


ALL = {f.__name__: f for f in [
    apart,
    arranged,
    branches,
    chosen,
    loops,
    normalizations,
    pyramid,
    elementwise,
    reductions,
    shapes,
    enlarged,
    bytewise,
    fused,
    attention,
    tokens,
    samples,
    windows,
    scatters,
    indices,
    recurrences,
    integers_computed,
    few_bits,
]}
BYTES = {"bytewise", "integers_computed", "few_bits"}


def missing(table):
    """Returns names of operators.def that no network contains."""
    have = b"".join(make() for make in ALL.values())
    # A node's type is field 4, preceded by its length.
    return [name for name in sorted(set(re.findall(r"^UK_(?:OPERATOR|MICROSOFT)\((\w+),", table, re.M))) if b"\x22" + bytes([len(name)]) + name.encode() not in have]
