# SPDX-License-Identifier: Apache-2.0
"""Small networks with open sizes, for ranges.c, and the ranges that they are tested with.

    open_networks.py RANGES FOLDER DRAWS [NAME ...]
    open_networks.py --write NAME >FILE.onnx
    open_networks.py --make RANGES FOLDER DRAWS NAME RANGE...    a network of examples/networks/make.py
"""

import math
import pathlib
import random
import subprocess
import sys

import every_operator
import small_networks
from onnx_writer import INT32, INT64, UINT8, model, node, tensor, value
from small_networks import weights


def transformer(width=16, heads=2):
    """A layer with attention over an open sequence, as exporters write it: reshapes take the sizes from the
    input's shape."""
    nodes, each = [], width // heads
    tensors = [weights(1, "wq", [width, width]), weights(2, "wk", [width, width]), weights(3, "wv", [width, width]), weights(4, "wo", [width, width]),
               weights(5, "scale", [width], 1), weights(6, "bias", [width], 1), weights(7, "table", [1, 40, width], 9), tensor("heads", [1], [heads], INT64),
               tensor("each", [1], [each], INT64), tensor("width", [1], [width], INT64), tensor("root", [], [math.sqrt(each)]), tensor("zero", [1], [0], INT64),
               tensor("one", [1], [1], INT64), tensor("two", [1], [2], INT64), tensor("far", [], [-1e4])]
    nodes += [node("Shape", ["x"], ["shape"]), node("Slice", ["shape", "zero", "one", "zero"], ["batch"]), node("Slice", ["shape", "one", "two", "zero"], ["seq"]),
              node("Slice", ["table", "zero", "seq", "one"], ["positions"]), node("Add", ["x", "positions"], ["e"]),
              node("Concat", ["batch", "seq", "heads", "each"], ["split"], axis=0), node("Concat", ["batch", "seq", "width"], ["joined"], axis=0)]
    for a in "qkv":
        nodes += [node("MatMul", ["e", "w" + a], [a + "0"]), node("Reshape", [a + "0", "split"], [a + "1"]), node("Transpose", [a + "1"], [a + "2"], perm=[0, 2, 1, 3])]
    nodes += [node("Transpose", ["k2"], ["kt"], perm=[0, 1, 3, 2]), node("MatMul", ["q2", "kt"], ["s0"]), node("Div", ["s0", "root"], ["s1"]),
              node("Cast", ["mask"], ["m0"], to=1), node("Mul", ["m0", "far"], ["m1"]), node("Unsqueeze", ["m1", "mid"], ["m2"]), node("Add", ["s1", "m2"], ["s2"]),
              node("Softmax", ["s2"], ["p"], axis=-1), node("MatMul", ["p", "v2"], ["o0"]), node("Transpose", ["o0"], ["o1"], perm=[0, 2, 1, 3]),
              node("Reshape", ["o1", "joined"], ["o2"]), node("MatMul", ["o2", "wo"], ["o3"]), node("Add", ["o3", "x"], ["o4"]),
              node("LayerNormalization", ["o4", "scale", "bias"], ["y"], axis=-1), node("ReduceMean", ["y"], ["pooled"], axes=[1], keepdims=0)]
    return model(nodes, [value("x", ["batch", "seq", width]), value("mask", ["batch", "seq"], INT64)], [value("y", ["batch", "seq", width]), value("pooled", ["batch", width])],
                 tensors + [tensor("mid", [2], [1, 2], INT64)])


def decoder(width=16, heads=2, rows=40):
    """A decoder with a cache: a causal mask from ranges and one of an input, whose dimension is named by a sum;
    rotary positions from a table; keys and values appended to those of earlier calls."""
    each = width // heads
    tensors = [weights(1, "wq", [width, width]), weights(2, "wk", [width, width]), weights(3, "wv", [width, width]), weights(4, "wo", [width, width]),
               weights(8, "cosines", [rows, each], 2), tensor("split", [4], [0, 0, heads, each], INT64), tensor("joined", [3], [0, 0, width], INT64),
               tensor("root", [], [math.sqrt(each)]), tensor("first", [], [1], INT64), tensor("third", [], [2], INT64), tensor("none", [], [0], INT64),
               tensor("one", [], [1], INT64), tensor("ahead", [1], [0], INT64), tensor("behind", [1], [1], INT64), tensor("far", [], [-1e9]), tensor("zero", [], [0.0]),
               tensor("mid", [2], [1, 2], INT64)]
    nodes = [node("Cast", ["drop"], ["d0"], to=1), node("Mul", ["d0", "far"], ["d1"]), node("Unsqueeze", ["d1", "mid"], ["d2"]), node("Shape", ["x"], ["x_shape"]), node("Gather", ["x_shape", "first"], ["seq"], axis=0), node("Shape", ["past_k"], ["past_shape"]),
             node("Gather", ["past_shape", "third"], ["past"], axis=0), node("Add", ["past", "seq"], ["all"]), node("Range", ["past", "all", "one"], ["places"]),
             node("Range", ["none", "all", "one"], ["keys"]), node("Unsqueeze", ["places", "behind"], ["rows"]), node("Unsqueeze", ["keys", "ahead"], ["columns"]),
             node("Greater", ["columns", "rows"], ["hidden"]), node("Where", ["hidden", "far", "zero"], ["mask"]), node("Gather", ["cosines", "places"], ["c"], axis=0)]
    for a in "qkv":
        nodes += [node("MatMul", ["x", "w" + a], [a + "0"]), node("Reshape", [a + "0", "split"], [a + "1"]), node("Transpose", [a + "1"], [a + "2"], perm=[0, 2, 1, 3])]
    nodes += [node("Mul", ["q2", "c"], ["qr"]), node("Mul", ["k2", "c"], ["kr"]), node("Concat", ["past_k", "kr"], ["present_k"], axis=2),
              node("Concat", ["past_v", "v2"], ["present_v"], axis=2), node("Transpose", ["present_k"], ["kt"], perm=[0, 1, 3, 2]), node("MatMul", ["qr", "kt"], ["s0"]),
              node("Div", ["s0", "root"], ["s1"]), node("Add", ["s1", "mask"], ["s2"]), node("Add", ["s2", "d2"], ["s3"]), node("Softmax", ["s3"], ["p"], axis=-1), node("MatMul", ["p", "present_v"], ["o0"]),
              node("Transpose", ["o0"], ["o1"], perm=[0, 2, 1, 3]), node("Reshape", ["o1", "joined"], ["o2"]), node("MatMul", ["o2", "wo"], ["o3"]), node("Add", ["o3", "x"], ["y"])]
    cache = ["batch", heads, "past", each]
    return model(nodes, [value("x", ["batch", "seq", width]), value("past_k", cache), value("past_v", cache), value("drop", ["batch", "past + seq"], INT64)],
                 [value("y", ["batch", "seq", width]), value("present_k", cache[:2] + ["all", each]), value("present_v", cache[:2] + ["all", each])], tensors)


def batches():
    """Keys before the rows that differ by batch; all keys are counted from shapes, and the buffer grows."""
    nodes = [node("Shape", ["past_k"], ["s"]), node("Gather", ["s", "two"], ["p"], axis=0), node("Shape", ["q"], ["t"]), node("Gather", ["t", "one"], ["r"], axis=0),
             node("Add", ["p", "r"], ["sum"]), node("Cast", ["sum"], ["total"], to=INT32),
             node("GroupQueryAttention", ["q", "k", "v", "past_k", "past_v", "lengths", "total"], ["y", "new_k", "new_v"], domain="com.microsoft", num_heads=4, kv_num_heads=2)]
    cache, new = ["batch", 2, "past", 8], ["batch", 2, "all", 8]
    return model(nodes, [value("q", ["batch", "seq", 32]), *(value(k, ["batch", "seq", 16]) for k in "kv"), value("past_k", cache), value("past_v", cache), value("lengths", ["batch"], INT32)],
                 [value("y", ["batch", "seq", 32]), value("new_k", new), value("new_v", new)], [tensor("two", [], [2], INT64), tensor("one", [], [1], INT64)], domains=["com.microsoft"])


def shapes():
    """Sizes as values: a shape, a count, ranges; a mean over an open dimension; a product of two sizes."""
    nodes = [node("Shape", ["x"], ["shape"]), node("Size", ["x"], ["size"]), node("Reshape", ["x", "flat"], ["rows"]), node("ReduceMean", ["x"], ["mean"], axes=[0, 1], keepdims=0),
             node("MatMul", ["rows", "w"], ["product"]), node("Cast", ["size"], ["count"], to=1), node("Div", ["product", "count"], ["y"]),
             node("ConstantOfShape", ["shape"], ["zeros"]), node("Add", ["zeros", "x"], ["same"]), node("Identity", ["shape"], ["out"])]
    return model(nodes, [value("x", ["batch", "seq", 6])], [value("y", ["rows", 5]), value("mean", [6]), value("same", ["batch", "seq", 6]), value("out", [3], INT64)],
                 [tensor("flat", [2], [-1, 6], INT64), weights(3, "w", [6, 5])])


def slices():
    """Values that are parts of another one, at places that depend on a size: a concatenation, and a part that
    begins at a size."""
    nodes = [node("Relu", ["old"], ["a"]), node("Tanh", ["new"], ["b"]), node("Concat", ["a", "b"], ["c"], axis=0), node("MatMul", ["c", "w"], ["d"]),
             node("Shape", ["old"], ["s0"]), node("Slice", ["s0", "zero", "one", "zero"], ["from"]), node("Slice", ["d", "from", "end", "zero"], ["e"]),
             node("MatMul", ["e", "v"], ["y"])]
    return model(nodes, [value("old", ["past", 6]), value("new", ["seq", 6])], [value("y", ["seq", 4])],
                 [weights(1, "w", [6, 5]), weights(2, "v", [5, 4]), tensor("zero", [1], [0], INT64), tensor("one", [1], [1], INT64), tensor("end", [1], [1 << 31], INT64)])


def scales():
    """Images of several scales, each as one row per channel, next to each other, as detectors join their predictions."""
    pooled = [node("MaxPool", [a], [b], kernel_shape=[2, 2], strides=[2, 2]) for a, b in (("x", "p"), ("p", "b"), ("b", "c"))]
    rows = [node("Reshape", [a, "shape"], [f"{a}_rows"]) for a in "abcd"]
    nodes = [*pooled, node("ConvTranspose", ["p", "w"], ["a"], kernel_shape=[2, 2], strides=[2, 2]), node("Neg", ["x"], ["d"]), *rows, node("Concat", [f"{a}_rows" for a in "badc"], ["all"], axis=2), node("Tanh", ["all"], ["y"])]
    return model(nodes, [value("x", [1, 3, "height", "width"])], [value("y", [1, 3, "n"])], [weights(1, "w", [3, 3, 2, 2]), tensor("shape", [3], [1, 3, -1], INT64)])


def upsampled():
    """Lists of places that end at the last element: linear interpolation, repeated edges; a mean over an open area."""
    nodes = [node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]), node("Resize", ["c", "", "scales"], ["r"], mode="linear", coordinate_transformation_mode="half_pixel"),
             node("Pad", ["r", "pads"], ["p"], mode="edge"), node("GlobalAveragePool", ["p"], ["g"]), node("Mul", ["p", "g"], ["m"]),
             node("Resize", ["m", "", "scales"], ["y"], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")]
    return model(nodes, [value("x", ["batch", 3, "height", "width"])], [value("y", ["batch", 4, "h", "w"])],
                 [weights(1, "w", [4, 3, 3, 3]), tensor("scales", [4], [1.0, 1.0, 2.0, 2.0]), tensor("pads", [8], [0, 0, 2, 1, 0, 0, 1, 3], INT64)])


def moved():
    """Images whose elements are read at places that are computed at run time: reflected and repeated edges, corners that are aligned, windows
    of a size that the shape of another tensor gives, maxima that are put back."""
    nodes = [node("Pad", ["x", "pads"], ["a"], mode="reflect"), node("Pad", ["a", "pads"], ["b"], mode="wrap"),
             node("Resize", ["b", "", "scales"], ["c"], mode="linear", coordinate_transformation_mode="align_corners"),
             node("MaxPool", ["c"], ["d", "at"], kernel_shape=[2, 2], strides=[2, 2]), node("Relu", ["d"], ["e"]), node("MaxUnpool", ["e", "at"], ["f"], kernel_shape=[2, 2], strides=[2, 2]),
             node("Add", ["c", "f"], ["g"]), node("Shape", ["x"], ["shape"]), node("Resize", ["g", "", "", "shape"], ["h"], mode="cubic", coordinate_transformation_mode="align_corners", exclude_outside=1),
             node("Resize", ["h", "", "halves"], ["i"], mode="cubic", antialias=1), node("Resize", ["i", "", "", "shape"], ["y"], mode="nearest", coordinate_transformation_mode="align_corners")]
    return model(nodes, [value("x", ["batch", 3, "height", "width"])], [value("y", ["batch", 3, "height", "width"])],
                 [tensor("scales", [4], [1.0, 1.0, 2.0, 2.0]), tensor("halves", [4], [1.0, 1.0, 0.5, 0.5]), tensor("pads", [8], [0, 0, 2, 1, 0, 0, 1, 4], INT64)], opset=19)


def boxes():
    """Boxes that overlap no better one: at most 6, of fewer boxes or more; and an image sampled at a grid of its own."""
    nodes = [node("NonMaxSuppression", ["corners", "scores", "most", "overlap"], ["rows"]), node("Max", ["rows", "zero"], ["chosen"]), node("ReduceSum", ["chosen", "first"], ["y"], keepdims=0),
             node("Shape", ["x"], ["size"]), node("AffineGrid", ["theta", "size"], ["grid"], align_corners=1), node("GridSample", ["x", "grid"], ["z"], mode="cubic", padding_mode="reflection", align_corners=1)]
    tensors = [tensor("most", [1], [6], INT64), tensor("overlap", [1], [0.1]), tensor("zero", [], [0], INT64), tensor("first", [1], [0], INT64)]
    return model(nodes, [value("corners", ["batch", "count", 4]), value("scores", ["batch", 2, "count"]), value("x", ["batch", 2, "height", "width"]), value("theta", ["batch", 2, 3])],
                 [value("y", [3], INT64), value("z", ["batch", 2, "height", "width"])], tensors, opset=20)


def byte_means():
    """A convolution of bytes with a border, and means of bytes over windows and over open areas."""
    microsoft, one = {"domain": "com.microsoft"}, ["s", "z"]
    nodes = [node("QLinearConv", ["x", *one, "w", *one, *one], ["a"], pads=[1, 1, 1, 1], strides=[2, 2]), node("QLinearAveragePool", ["a", *one, *one], ["b"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], **microsoft),
             node("QLinearAdd", ["a", *one, "b", *one, *one], ["c"], **microsoft), node("QLinearGlobalAveragePool", ["c", *one, *one], ["y"], **microsoft)]
    draw = random.Random(3)
    return model(nodes, [value("x", ["batch", 3, "height", "width"], UINT8)], [value("y", ["batch", 5, 1, 1], UINT8), value("c", ["batch", 5, "h", "w"], UINT8)],
                 [tensor("s", [], [0.02]), tensor("z", [], [110], UINT8), tensor("w", [5, 3, 3, 3], [draw.randint(90, 130) for _ in range(135)], UINT8)], domains=["com.microsoft"])


def grids():
    """Coordinates of the elements of an image, as a list of rows: a view of elements that are apart in the largest grid, and a transposed one."""
    nodes = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "zero"], ["h"], axis=0), node("Gather", ["shape", "one"], ["w"], axis=0),
             node("Range", ["zero", "h", "one"], ["rows"]), node("Range", ["zero", "w", "one"], ["columns"]), node("Unsqueeze", ["rows", "ahead"], ["down"]),
             node("Expand", ["down", "shape"], ["grid_y"]), node("Expand", ["columns", "shape"], ["grid_x"]), node("Unsqueeze", ["grid_y", "end"], ["a"]),
             node("Unsqueeze", ["grid_x", "end"], ["b"]), node("Concat", ["a", "b"], ["both"], axis=-1), node("Reshape", ["both", "pairs"], ["list"]),
             node("Cast", ["list"], ["y"], to=1), node("Transpose", ["grid_x"], ["t"], perm=[1, 0]), node("Reshape", ["t", "flat"], ["f"]), node("Cast", ["f"], ["z"], to=1)]
    tensors = [tensor("zero", [], [0], INT64), tensor("one", [], [1], INT64), tensor("ahead", [1], [1], INT64), tensor("end", [1], [-1], INT64),
               tensor("pairs", [2], [-1, 2], INT64), tensor("flat", [1], [-1], INT64)]
    return model(nodes, [value("x", ["height", "width"])], [value("y", ["places", 2]), value("z", ["places"])], tensors)


def repeated():
    """Tile along open dimensions, along fixed ones, and as often as an open size says."""
    nodes = [node("Tile", ["x", "twice"], ["a"]), node("Relu", ["a"], ["y"]), node("Shape", ["x"], ["shape"]), node("Slice", ["shape", "zero", "one", "zero"], ["batch"]),
             node("Concat", ["batch", "one", "one"], ["times"], axis=0), node("Tile", ["w", "times"], ["b"]), node("Add", ["b", "x"], ["z"])]
    tensors = [tensor("twice", [3], [3, 2, 2], INT64), tensor("zero", [1], [0], INT64), tensor("one", [1], [1], INT64), weights(1, "w", [1, 1, 6])]
    return model(nodes, [value("x", ["batch", "seq", 6])], [value("y", ["rows", "twice", 12]), value("z", ["batch", "seq", 6])], tensors)


def recurrences():
    """Loops of as many steps as an open size says, in both directions, with lengths and without."""
    nodes = [node("Mul", ["more", "five"], ["m"]), node("Add", ["m", "two"], ["lengths"]), node("LSTM", ["x", "lw", "lr", "lb", "lengths"], ["l", "", "c"], hidden_size=9, direction="bidirectional"), node("Transpose", ["l"], ["lt"], perm=[0, 2, 1, 3]),
             node("Reshape", ["lt", "wide"], ["a"]), node("GRU", ["a", "gw", "gr", "", "", ""], ["g", "h"], hidden_size=7, direction="bidirectional", linear_before_reset=1),
             node("GRU", ["a", "gw", "gr", "", "", "h"], ["y"], hidden_size=7, direction="bidirectional")]
    return model(nodes, [value("x", ["seq", "batch", 6]), value("more", ["batch"], INT32)], [value("y", ["seq", 2, "batch", 7]), value("g", ["seq", 2, "batch", 7]), value("c", [2, "batch", 9])],
                 [weights(1, "lw", [2, 36, 6], 6), weights(2, "lr", [2, 36, 9], 9), weights(3, "lb", [2, 72], 9), weights(4, "gw", [2, 21, 18], 18), weights(5, "gr", [2, 21, 7], 7),
                  tensor("wide", [3], [0, 0, -1], INT64), tensor("five", [], [5], INT32), tensor("two", [], [2], INT32)])


NETWORKS = {
    "moved": (moved(), ["batch=1..2", "height=6..20:2", "width=6..18:2"]),
    "boxes": (boxes(), ["batch=1..2", "count=1..9", "height=1..7", "width=2..9"]),
    "byte_means": (byte_means(), ["batch=1..2", "height=6..20:2", "width=6..40:2"]),
    "grids": (grids(), ["height=1..9", "width=1..12"]),
    "repeated": (repeated(), ["batch=1..2", "seq=0..9"]),
    "transformer": (transformer(), ["batch=1..4", "seq=1..40"]),
    "decoder": (decoder(), ["batch=1..2", "seq=1..8", "past=0..32"]),
    "long_decoder": (decoder(rows=700), ["batch=1..2", "seq=1..64", "past=0..600"]),
    "recurrences": (recurrences(), ["seq=1..12", "batch=1..3"]),
    "batches": (batches(), ["batch=2..3", "seq=1..3", "past=1..20"]),
    "shapes": (shapes(), ["batch=1..5", "seq=1..9"]),
    "slices": (slices(), ["past=0..7", "seq=1..9"]),
    "scales": (scales(), ["height=8..40:8", "width=8..32:8"]),
    "upsampled": (upsampled(), ["batch=1..2", "height=3..17", "width=4..20:2"]),
    "convolutions": (small_networks.convolutions("batch", "height", "width"), ["batch=1..3", "height=8..40:4", "width=8..24:4"]),
    "unions": (small_networks.unions("batch", "height", "width"), ["batch=1..3", "height=1..9", "width=2..17"]),
    "unnamed": (small_networks.unions("", "?", ""), ["x.0=1..3", "x.2=1..9", "x.3=2..17"]),
    "broadcasts": (small_networks.broadcasts("batch"), ["batch=1..9"]),
    "views": (small_networks.views("batch"), ["batch=1..7"]),
    "loops": (small_networks.loops("batch", "seq"), ["batch=1..5", "seq=0..9"]),
    "branches": (small_networks.branches("rows"), ["rows=0..7"]),
    "tokens": (every_operator.tokens("batch", "seq"), ["batch=1..4", "seq=1..20"]),
    "integers": (small_networks.integers("rows", "columns"), ["rows=1..9", "columns=1..6"]),
    "quantized": (small_networks.quantized("batch", "height", "width"), ["batch=1..3", "height=8..20", "width=8..33"]),
    "rows": (small_networks.rows("batch"), ["batch=1..3"]),
    "byte_rows": (small_networks.byte_rows("batch", "height", "width"), ["batch=1..2", "height=5..24", "width=3..40"]),
    "borders": (small_networks.borders(False, "batch", "height", "width"), ["batch=1..2", "height=28..40:4", "width=30..44:2"]),
}

if __name__ == "__main__" and sys.argv[1] == "--write":
    sys.stdout.buffer.write(NETWORKS[sys.argv[2]][0])
elif __name__ == "__main__" and sys.argv[1] == "--make":
    program, folder, draws, name, *sizes = sys.argv[2:]
    pathlib.Path(folder).mkdir(exist_ok=True)
    make = pathlib.Path(__file__).parents[2] / "examples/networks/make.py"
    subprocess.run([sys.executable, str(make), name, f"--folder={folder}"], check=True)
    sys.exit(subprocess.run([program, f"{folder}/{name}.onnx", draws, *sizes]).returncode)
elif __name__ == "__main__":
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(exist_ok=True)
    failed = []
    import states  # which imports this module
    cached = {name: (states.NETWORKS[name][0], [w.replace("160", "40") for w in states.NETWORKS[name][1] if "=" in w]) for name in ("attention", "multi_head", "group_query")}
    for name, (network, sizes) in {**NETWORKS, **cached}.items():
        if sys.argv[4:] and name not in sys.argv[4:]:
            continue
        path = folder / f"{name}.onnx"
        path.write_bytes(network)
        if subprocess.run([program, str(path), sys.argv[3], *sizes]).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"wrong with open sizes: {', '.join(failed)}")
