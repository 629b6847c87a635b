# SPDX-License-Identifier: Apache-2.0
"""Small networks for tests, as bytes: one for each kind of layer, with seeded values, always the same."""

import math
import random
import sys

from onnx_writer import BOOL, INT8, INT32, INT64, UINT8, Graph, graph, model, node, tensor, value


def weights(seed, name, shape, fan_in=None):
    draw = random.Random(seed)
    n = math.prod(shape)
    scale = 1 / math.sqrt(fan_in or max(1, n // max(1, shape[0])))
    return tensor(name, shape, [draw.uniform(-1.7, 1.7) * scale for _ in range(n)])


def convolutions(batch=1, height=19, width=13):
    """Convolution, depthwise convolution, pools, a product, softmax; with sizes that are not multiples of a
    tile."""
    nodes = [
        node("Conv", ["image", "w0", "b0"], ["c0"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Clip", ["c0", "zero", "six"], ["a0"]),
        node("Conv", ["a0", "w1", "b1"], ["c1"], group=10, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["a1"]),
        node("Conv", ["a1", "w2"], ["c2"], kernel_shape=[1, 1]),
        node("Add", ["c2", "a1"], ["c3"]),
        node("MaxPool", ["c3"], ["p0"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        node("AveragePool", ["p0"], ["p1"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("GlobalAveragePool", ["p1"], ["p2"]),
        node("Flatten", ["p2"], ["f"]),
        node("Gemm", ["f", "w3", "b3"], ["g"], transB=1),
        node("Softmax", ["g"], ["scores"], axis=1),
    ]
    tensors = [weights(1, "w0", [10, 3, 3, 3]), weights(2, "b0", [10], 1), weights(3, "w1", [10, 1, 3, 3]), weights(4, "b1", [10], 1),
               weights(5, "w2", [10, 10, 1, 1]), weights(6, "w3", [7, 10]), weights(7, "b3", [7], 1), tensor("zero", [], [0.0]), tensor("six", [], [6.0])]
    return model(nodes, [value("image", [batch, 3, height, width])], [value("scores", [batch, 7])], tensors)


def unions(batch=1, height=5, width=7):
    """Two results that are slices of a third one, their concatenation by channels."""
    nodes = [
        node("Conv", ["x", "w0"], ["a"], kernel_shape=[1, 1]), node("Relu", ["a"], ["ar"]), node("Conv", ["x", "w1"], ["b"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Relu", ["b"], ["br"]), node("Concat", ["ar", "br"], ["c"], axis=1), node("Conv", ["c", "w2"], ["d"], kernel_shape=[1, 1]),
    ]
    return model(nodes, [value("x", [batch, 3, height, width])], [value("d", [batch, 4, height, width])],
                 [weights(12, "w0", [6, 3, 1, 1]), weights(13, "w1", [5, 3, 3, 3]), weights(14, "w2", [4, 11, 1, 1])])


def broadcasts(batch=2):
    """Elementwise operators with operands of fewer dimensions; two inputs, and two outputs, one of them
    boolean."""
    nodes = [
        node("Add", ["x", "row"], ["s"]), node("Mul", ["s", "column"], ["m"]), node("Sub", ["m", "y"], ["d"]), node("Tanh", ["d"], ["t"]),
        node("Exp", ["d"], ["e"]), node("Div", ["t", "e"], ["q"]), node("Less", ["q", "y"], ["less"]), node("ReduceMean", ["q"], ["mean"], axes=[1], keepdims=0),
    ]
    return model(nodes, [value("x", [batch, 5, 7]), value("y", [batch, 5, 7])], [value("mean", [batch, 7]), value("less", [batch, 5, 7], BOOL)],
                 [weights(8, "row", [7], 1), weights(9, "column", [5, 1], 1)])


def views(batch=2):
    """Transposes and reshapes, one of which needs a copy, and a batch of products."""
    nodes = [
        node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3]), node("Reshape", ["c", "shape"], ["r"]), node("Transpose", ["r"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["r", "t"], ["p"]), node("Softmax", ["p"], ["s"], axis=2), node("MatMul", ["s", "r"], ["o"]),
    ]
    return model(nodes, [value("x", [batch, 3, 6, 7])], [value("o", [batch, 4, 20])],
                 [weights(10, "w", [4, 3, 3, 3]), tensor("shape", [3], [-1, 4, 20], INT64)])


def integers(rows=3, columns=4):
    """Operators on i32 and i64, with exact results."""
    nodes = [node("Add", ["a", "b"], ["s"]), node("Mul", ["s", "s"], ["m"]), node("ReduceSum", ["m", "axes"], ["r"], keepdims=1), node("Max", ["r", "a"], ["o"])]
    return model(nodes, [value("a", [rows, columns], INT32), value("b", [rows, columns], INT32)], [value("o", [rows, columns], INT32)], [tensor("axes", [1], [1], INT64)])


def quantized(batch=1, height=9, width=11):
    """Operators on bytes: two convolutions, the second with scales per channel, maxima, means, a sum; every
    element has one right value."""
    draw = random.Random(11)

    def whole(name, shape, kind, least, most):
        return tensor(name, shape, [draw.randint(least, most) for _ in range(math.prod(shape))], kind)

    nodes = [
        node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
        node("QLinearConv", ["q", "xs", "xz", "w0", "ws", "wz", "as", "az", "b0"], ["c0"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("QLinearConv", ["c0", "as", "az", "w1", "ws8", "wz8", "as", "az", "b1"], ["c1"], kernel_shape=[3, 3], group=8),
        node("MaxPool", ["c1"], ["p"], kernel_shape=[2, 2]),
        node("DequantizeLinear", ["p", "as", "az"], ["d"]),
        node("AveragePool", ["d"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("QuantizeLinear", ["a", "as", "az"], ["m"]),
        node("QLinearConv", ["m", "as", "az", "w2", "ws", "wz", "os", "oz"], ["y"], kernel_shape=[1, 1]),
    ]
    numbers = {"xs": 1 / 64, "ws": 1 / 128, "as": 1 / 16, "os": 1 / 8}
    tensors = [tensor(name, [], [v]) for name, v in numbers.items()]
    tensors += [tensor("xz", [], [131], UINT8), tensor("az", [], [120], UINT8), tensor("oz", [], [128], UINT8), tensor("wz", [], [0], INT8),
                tensor("ws8", [8], [(k + 5) / 1024 for k in range(8)]), tensor("wz8", [8], [0] * 8, INT8), whole("w0", [8, 3, 3, 3], INT8, -127, 127),
                whole("w1", [8, 1, 3, 3], INT8, -127, 127), whole("w2", [5, 8, 1, 1], INT8, -127, 127), whole("b0", [8], INT32, -2000, 2000),
                whole("b1", [8], INT32, -2000, 2000)]
    return model(nodes, [value("x", [batch, 3, height, width])], [value("y", [batch, 5, "h", "w"], UINT8)], tensors)


def rows(batch=1):
    """Sums without kernels, of which only a row at a time is in memory: an average, softmax, a norm,
    maxima."""
    nodes = [
        node("AveragePool", ["x"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]), node("Softmax", ["a"], ["s"], axis=1), node("Reshape", ["s", "shape"], ["r"]),
        node("LayerNormalization", ["r", "scale"], ["n"], axis=-1), node("Reshape", ["n", "image"], ["i"]),
        node("MaxPool", ["i"], ["y"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    return model(nodes, [value("x", [batch, 6, 24, 28])], [value("y", [batch, 6, 12, 14])],
                 [weights(15, "scale", [672], 1), tensor("shape", [3], [-1, 6, 672], INT64), tensor("image", [4], [-1, 6, 24, 28], INT64)])


def byte_rows(batch=1, height=24, width=20):
    """The same for bytes: a depthwise convolution, and maxima."""
    draw = random.Random(16)
    nodes = [
        node("QuantizeLinear", ["x", "xs", "z"], ["q"]),
        node("QLinearConv", ["q", "xs", "z", "w", "ws", "wz", "as", "z"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=16),
        node("MaxPool", ["c"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    ]
    tensors = [tensor("xs", [], [1 / 64]), tensor("ws", [], [1 / 128]), tensor("as", [], [1 / 16]), tensor("z", [], [120], UINT8), tensor("wz", [], [0], INT8),
               tensor("w", [16, 1, 3, 3], [draw.randint(-127, 127) for _ in range(144)], INT8)]
    return model(nodes, [value("x", [batch, 16, height, width])], [value("y", [batch, 16, height, width], UINT8)], tensors)


def borders(apart=False, batch=1, height=31, width=30):
    """Convolutions of bytes whose padding is stored as a border around another layer's result: of 1, of 2 on
    some sides, with stride 2. apart: the values are read elsewhere too, so each convolution pads by itself."""
    draw = random.Random(19)

    def conv(source, i, result, **more):
        return node("QLinearConv", [source, "as", "az", f"w{i}", "ws", "wz", "as", "az", f"b{i}"], [result], **more)

    shapes = [[12, 8, 1, 1], [12, 1, 3, 3], [8, 12, 5, 3], [8, 8, 3, 3]]
    nodes = [
        node("QuantizeLinear", ["x", "as", "az"], ["q"]), conv("q", 0, "c0", kernel_shape=[1, 1]), conv("c0", 1, "c1", kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=12),
        conv("c1", 2, "c2", kernel_shape=[5, 3], pads=[2, 0, 2, 2]), conv("c2", 3, "y", kernel_shape=[3, 3], auto_pad="SAME_UPPER", strides=[2, 2]),
    ]
    tensors = [tensor("as", [], [1 / 16]), tensor("ws", [], [1 / 256]), tensor("az", [], [-7], INT8), tensor("wz", [], [0], INT8)]
    for i, shape in enumerate(shapes):
        tensors += [tensor(f"w{i}", shape, [draw.randint(-127, 127) for _ in range(math.prod(shape))], INT8), tensor(f"b{i}", shape[:1], [0] * shape[0], INT32)]
    outputs = [value("y", [batch, 8, "h", "w"], INT8)]
    if apart:
        outputs += [value("c0", [1, 12, 31, 30], INT8), value("c1", [1, 12, 31, 30], INT8), value("c2", [1, 8, 31, 30], INT8)]
    return model(nodes, [value("x", [batch, 8, height, width])], outputs, tensors)


def loops(batch=2, seq=5):
    """A recurrence from the end of a sequence, in whose iterations another loop goes over the batch; its state
    and the sum of all rows go on into products."""
    inner = Graph(graph([node("Add", ["sum", "row"], ["next"]), node("Tanh", ["next"], ["each"])], [value("sum", []), value("row", [])],
                        [value("next", []), value("each", [])]))
    outer = Graph(graph([node("MatMul", ["h", "r"], ["hr"]), node("Add", ["hr", "v"], ["s"]), node("Tanh", ["s"], ["next"]),
                         node("Scan", ["zero", "next"], ["sum", "rows"], num_scan_inputs=1, body=inner), node("Mul", ["rows", "sum"], ["out"])],
                        [value("h", []), value("v", [])], [value("next", []), value("out", [])]))
    nodes = [node("MatMul", ["x", "w"], ["p"]), node("Scan", ["first", "p"], ["last", "all"], num_scan_inputs=1, body=outer, scan_input_axes=[1], scan_input_directions=[1],
                                                     scan_output_axes=[1], scan_output_directions=[1]),
             node("MatMul", ["all", "w2"], ["y"]), node("Relu", ["last"], ["z"])]
    return model(nodes, [value("x", [batch, seq, 7]), value("first", [batch, 9])], [value("y", [batch, seq, 4]), value("z", [batch, 9])],
                 [weights(41, "w", [7, 9]), weights(42, "r", [9, 9]), weights(43, "w2", [9, 4]), tensor("zero", [9], [0.0] * 9)])


def branches(rows=4):
    """A loop of as many iterations as there are rows, whose branch depends on the iteration; one of a computed
    number; one that ends when a sum is large enough; a branch that a constant chooses and one that data choose."""
    same = [node("Identity", ["go"], ["stays"])]

    def body(nodes, inputs, outputs):
        return Graph(graph(nodes, [value(n, []) for n in inputs], [value(n, []) for n in outputs]))

    def choice(result, condition, then, otherwise):
        return node("If", [condition], [result], then_branch=body(then, [], ["p"]), else_branch=body(otherwise, [], ["p"]))

    by_row = [node("Gather", ["x", "i"], ["row"]), node("Mod", ["i", "two"], ["rest"]), node("Equal", ["rest", "zero"], ["even"]),
              choice("part", "even", [node("MatMul", ["row", "w"], ["p"])], [node("Neg", ["row"], ["p"])]), node("Add", ["h", "part"], ["next"]), *same]
    halved = [node("Mul", ["h", "scale"], ["next"]), *same]
    doubled = [node("Add", ["h", "h"], ["next"]), node("Abs", ["next"], ["size"]), node("ReduceMax", ["size"], ["most"], keepdims=0), node("Less", ["most", "limit"], ["again"])]
    nodes = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "zero"], ["rows"]),
             node("Loop", ["rows", "", "first"], ["sum", "sums"], body=body(by_row, ["i", "go", "h"], ["stays", "next", "next"])),
             node("Abs", ["x"], ["abs"]), node("ReduceSum", ["abs"], ["size"], keepdims=0), node("Cast", ["size"], ["count"], to=INT64),
             node("Loop", ["count", "yes", "sums"], ["less"], body=body(halved, ["i", "go", "h"], ["stays", "next"])),
             node("Loop", ["", "", "sum"], ["more"], body=body(doubled, ["i", "go", "h"], ["again", "next"])),
             node("ReduceSum", ["x"], ["total"], keepdims=0), node("Greater", ["total", "none"], ["positive"]),
             choice("chosen", "positive", [node("Exp", ["less"], ["p"])], [node("Sub", ["less", "more"], ["p"])]),
             choice("y", "yes", [node("Add", ["chosen", "x"], ["p"])], [node("Abs", ["chosen"], ["p"])])]
    return model(nodes, [value("x", [rows, 9])], [value("y", [rows, 9])],
                 [weights(44, "w", [9, 9]), tensor("first", [9], [0.25] * 9), tensor("zero", [], [0], INT64), tensor("two", [], [2], INT64), tensor("yes", [], [1], BOOL),
                  tensor("scale", [], [0.75]), tensor("limit", [], [40.0]), tensor("none", [], [0.0])])


def chain():
    """Values of 6, 4, 4, 8 and 2 units: placed in the order of size they take 14 units, where 12 suffice."""
    channels = [6, 4, 4, 8]
    nodes = [node("Conv", [f"v{i}", f"w{i}"], [f"v{i + 1}"], kernel_shape=[1, 1]) for i in range(3)]
    nodes.append(node("MaxPool", ["v3"], ["y"], kernel_shape=[2, 2], strides=[2, 2]))
    return model(nodes, [value("v0", [1, 6, 12, 16])], [value("y", [1, 8, 6, 8])],
                 [weights(17 + i, f"w{i}", [channels[i + 1], channels[i], 1, 1]) for i in range(3)])


def subnormal():
    """A convolution with subnormal weights and biases, which training leaves in unused channels."""
    draw = random.Random(31)
    tiny = [tensor(name, shape, [draw.uniform(-1e-39, 1e-39) for _ in range(math.prod(shape))]) for name, shape in (("w", [24, 16, 1, 1]), ("b", [24]))]
    nodes = [node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[1, 1]), node("Relu", ["c"], ["y"])]
    return model(nodes, [value("x", [1, 16, 1, 1])], [value("y", [1, 24, 1, 1])], tiny)


def open_batch():
    """A dimension that the file leaves open, and an input that determines a shape."""
    nodes = [node("Reshape", ["x", "shape"], ["r"]), node("Relu", ["r"], ["y"])]
    return model(nodes, [value("x", ["batch", 6]), value("shape", [2], INT64)], [value("y", ["batch", "rest"])])


def open_images():
    return convolutions(height="height")


ALL = {"convolutions": convolutions, "broadcasts": broadcasts, "views": views, "unions": unions, "integers": integers, "quantized": quantized, "rows": rows,
       "byte_rows": byte_rows, "borders": borders}
WHOLE = {"integers", "quantized", "byte_rows", "borders"}  # results are the same everywhere
ROWS = {"rows", "byte_rows"}  # need memory for a row besides live values


if __name__ == "__main__":  # usage: small_networks.py NAME >FILE.onnx
    sys.stdout.buffer.write({**ALL, "branches": branches, "loops": loops, "open_batch": open_batch, "open_images": open_images, "chain": chain, "subnormal": subnormal}[sys.argv[1]]())
