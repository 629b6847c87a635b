# SPDX-License-Identifier: Apache-2.0
"""Networks with states, for states.c: a cache of keys and values, as exporters write it.

    states.py STATES FOLDER STEPS [NAME ...]
    states.py --emulate UK FOLDER TARGET...    uk run --check on other targets
    states.py --write NAME >FILE.onnx
"""

import math
import pathlib
import subprocess
import sys

import open_networks
from onnx_writer import INT32, INT64, UINT8, model, node, tensor, value
from small_networks import weights

WIDTH, HEADS, GROUPS, EACH = 16, 4, 2, 8
MICROSOFT = "com.microsoft"


def projections(kinds="qkv", width=None):
    """Products of x with weights: q, k and v."""
    width = width or {"q": HEADS, "k": GROUPS, "v": GROUPS}
    return ([node("MatMul", ["x", "w" + a], [a]) for a in kinds], [weights(i + 1, "w" + a, [WIDTH, width[a] * EACH]) for i, a in enumerate(kinds)])


def cache(name, rows, heads=GROUPS):
    return value(name, ["batch", heads, rows, EACH])


def attention(is_four=False):
    """Attention of ONNX, whose heads share keys and values; past and present are inputs and outputs of the node.
    is_four: of four dimensions."""
    nodes, tensors = projections()
    names = ["q", "k", "v"]
    if is_four:
        for a, heads in (("q", HEADS), ("k", GROUPS), ("v", GROUPS)):
            tensors.append(tensor("split_" + a, [4], [0, 0, heads, EACH], INT64))
            nodes += [node("Reshape", [a, "split_" + a], [a + "1"]), node("Transpose", [a + "1"], [a + "2"], perm=[0, 2, 1, 3])]
        names = ["q2", "k2", "v2"]
    nodes.append(node("Attention", [*names, "", "past.0.key", "past.0.value"], ["y", "present.0.key", "present.0.value"], is_causal=1,
                      **({} if is_four else {"q_num_heads": HEADS, "kv_num_heads": GROUPS})))
    y = ["batch", HEADS, "seq", EACH] if is_four else ["batch", "seq", HEADS * EACH]
    return model(nodes, [value("x", ["batch", "seq", WIDTH]), cache("past.0.key", "past"), cache("past.0.value", "past")],
                 [value("y", y), cache("present.0.key", "all"), cache("present.0.value", "all")], tensors, opset=23)


def multi_head():
    nodes, tensors = projections(width=dict.fromkeys("qkv", HEADS))
    nodes.append(node("MultiHeadAttention", ["q", "k", "v", "", "", "", "past_key_0", "past_value_0"], ["y", "present_key_0", "present_value_0"], domain=MICROSOFT, num_heads=HEADS, unidirectional=1))
    return model(nodes, [value("x", ["batch", "seq", WIDTH]), cache("past_key_0", "past", HEADS), cache("past_value_0", "past", HEADS)],
                 [value("y", ["batch", "seq", HEADS * EACH]), cache("present_key_0", "all", HEADS), cache("present_value_0", "all", HEADS)], tensors, domains=[MICROSOFT])


def group_query(rotary=False):
    """GroupQueryAttention with a past that grows; all keys are counted from the shape of a mask."""
    nodes, tensors = projections()
    angles = [[row / 10 ** (d / 4) for d in range(EACH // 2)] for row in range(200)] if rotary else []
    tensors += [tensor(name, [200, EACH // 2], [f(a) for row in angles for a in row]) for name, f in (("cos", math.cos), ("sin", math.sin)) if rotary]
    nodes += [node("Shape", ["mask"], ["mask_shape"]), node("Gather", ["mask_shape", "one"], ["all"], axis=0), node("Cast", ["all"], ["total"], to=INT32),
              node("Sub", ["total", "first"], ["last"]), node("Unsqueeze", ["last", "axis"], ["lengths"]),
              node("GroupQueryAttention", ["q", "k", "v", "past_key_values.0.key", "past_key_values.0.value", "lengths", "total", *(["cos", "sin"] if rotary else [])],
                   ["y", "present.0.key", "present.0.value"], domain=MICROSOFT, num_heads=HEADS, kv_num_heads=GROUPS, do_rotary=int(rotary))]
    tensors += [tensor("one", [], [1], INT64), tensor("first", [], [1], INT32), tensor("axis", [1], [0], INT64)]
    rows = lambda name, extent: value(name, [1, GROUPS, extent, EACH])
    return model(nodes, [value("x", [1, "seq", WIDTH]), value("mask", [1, "past + seq"], INT64), rows("past_key_values.0.key", "past"), rows("past_key_values.0.value", "past")],
                 [value("y", [1, "seq", HEADS * EACH]), rows("present.0.key", "all"), rows("present.0.value", "all")], tensors, domains=[MICROSOFT])


def torch(axis=2, transposed=False, scaled=False):
    """The manner of torch: heads share keys by Unsqueeze, Expand and Reshape. axis 3: keys are stored as
    columns. transposed: the present is a transposed Concat. scaled: keys are reshaped for the transposition,
    and scaled before the product."""
    nodes, tensors = projections()
    group = HEADS // GROUPS
    for a, heads in (("q", HEADS), ("k", GROUPS), ("v", GROUPS)):
        tensors.append(tensor("split_" + a, [4], [0, 0, heads, EACH], INT64))
        nodes += [node("Reshape", [a, "split_" + a], [a + "1"]), node("Transpose", [a + "1"], [a + "2"], perm=[0, 2, 1, 3])]
    nodes += [node("Tanh", ["k2"], ["k3"]), node("Identity", ["past.0.value"], ["old_v"]), node("Concat", ["old_v", "v2"], ["all_v"], axis=2), node("Identity", ["all_v"], ["present.0.value"])]
    if axis == 3:
        nodes += [node("Transpose", ["k3"], ["k4"], perm=[0, 1, 3, 2]), node("Concat", ["past.0.key", "k4"], ["present.0.key"], axis=3), node("Transpose", ["present.0.key"], ["all_k"], perm=[0, 1, 3, 2])]
    elif transposed:
        nodes += [node("Transpose", ["past.0.key"], ["old_k"], perm=[0, 2, 1, 3]), node("Transpose", ["k3"], ["k4"], perm=[0, 2, 1, 3]), node("Concat", ["old_k", "k4"], ["all_t"], axis=1),
                  node("Transpose", ["all_t"], ["present.0.key"], perm=[0, 2, 1, 3]), node("Identity", ["present.0.key"], ["all_k"])]
    else:
        nodes += [node("Concat", ["past.0.key", "k3"], ["present.0.key"], axis=2), node("Identity", ["present.0.key"], ["all_k"])]
    nodes += [node("Shape", ["all_v"], ["all_shape"]), node("Gather", ["all_shape", "two"], ["all"], axis=0), node("Shape", ["x"], ["x_shape"]), node("Gather", ["x_shape", "none"], ["batch"], axis=0),
              node("Concat", ["batch", "groups", "repeats", "all", "each"], ["expanded"], axis=0), node("Concat", ["batch", "heads", "all", "each"], ["joined"], axis=0)]
    for a in "kv":
        nodes += [node("Unsqueeze", ["all_" + a, "two"], [a + "5"]), node("Expand", [a + "5", "expanded"], [a + "6"]), node("Reshape", [a + "6", "joined"], [a + "7"])]
    if scaled:
        nodes += [node("Concat", ["any", "all", "each"], ["flat_k"], axis=0), node("Reshape", ["k7", "flat_k"], ["k8"]), node("Transpose", ["k8"], ["k9"], perm=[0, 2, 1]),
                  node("Concat", ["batch", "heads", "each", "all"], ["columns"], axis=0), node("Reshape", ["k9", "columns"], ["k10"]), node("Mul", ["k10", "half"], ["kt"]),
                  node("Mul", ["q2", "half"], ["q3"]), node("MatMul", ["q3", "kt"], ["s1"])]
    else:
        nodes += [node("Transpose", ["k7"], ["kt"], perm=[0, 1, 3, 2]), node("MatMul", ["q2", "kt"], ["s0"]), node("Div", ["s0", "root"], ["s1"])]
    nodes += [node("Softmax", ["s1"], ["p"], axis=-1),
              node("MatMul", ["p", "v7"], ["o0"]), node("Transpose", ["o0"], ["o1"], perm=[0, 2, 1, 3]), node("Reshape", ["o1", "flat"], ["y"])]
    tensors += [tensor("two", [1], [2], INT64), tensor("none", [1], [0], INT64), tensor("groups", [1], [GROUPS], INT64), tensor("repeats", [1], [group], INT64), tensor("heads", [1], [HEADS], INT64),
                tensor("each", [1], [EACH], INT64), tensor("flat", [3], [0, 0, HEADS * EACH], INT64), tensor("root", [], [math.sqrt(EACH)]), tensor("half", [], [EACH**-0.25]), tensor("any", [1], [-1], INT64)]
    key = (lambda name, rows: value(name, ["batch", GROUPS, EACH, rows])) if axis == 3 else cache
    return model(nodes, [value("x", ["batch", "seq", WIDTH]), key("past.0.key", "past"), cache("past.0.value", "past")],
                 [value("y", ["batch", "seq", HEADS * EACH]), key("present.0.key", "all"), cache("present.0.value", "all")], tensors)


def integers():
    """Bytes appended to bytes, and to the same ones in another order: elements are moved, never computed."""
    return model([node("Concat", ["past_a", "x"], ["present_a"], axis=0), node("Cast", ["present_a"], ["c"], to=INT32), node("ReduceSum", ["c", "axes"], ["y"], keepdims=0)],
                 [value("x", ["seq", 7], UINT8), value("past_a", ["past", 7], UINT8)], [value("y", [7], INT32), value("present_a", ["all", 7], UINT8)], [tensor("axes", [1], [0], INT64)])


ROWS = 1600


def static(op, mode="linear"):
    """A cache of fixed size, into which rows are written at a position."""
    shape = [1, GROUPS, ROWS, EACH]
    tensors = [weights(1, "wk", [WIDTH, GROUPS * EACH]), tensor("split", [4], [1, 1, GROUPS, EACH], INT64), tensor("mid", [1], [0], INT64)]
    nodes = [node("MatMul", ["x", "wk"], ["k"]), node("Reshape", ["k", "split"], ["k1"]), node("Transpose", ["k1"], ["k2"], perm=[0, 2, 1, 3])]
    if op == "TensorScatter":
        nodes.append(node(op, ["cache_in", "k2", "position"], ["cache_out"], axis=2, mode=mode))
    elif op == "ScatterElements":
        tensors.append(tensor("like", [4], [1, GROUPS, 1, EACH], INT64))
        nodes += [node("Expand", ["position", "like"], ["at"]), node(op, ["cache_in", "at", "k2"], ["cache_out"], axis=2)]
    else:  # one index for each group: [group, position]
        tensors += [tensor("column", [2], [GROUPS, 1], INT64), tensor("group", [GROUPS, 1], list(range(GROUPS)), INT64), tensor("zeros", [GROUPS, 1], [0] * GROUPS, INT64),
                    tensor("rows", [2], [GROUPS, EACH], INT64)]
        nodes += [node("Expand", ["position", "column"], ["at"]), node("Concat", ["zeros", "group", "at"], ["index"], axis=1), node("Reshape", ["k2", "rows"], ["update"]),
                  node(op, ["cache_in", "index", "update"], ["cache_out"])]
    nodes += [node("ReduceMax", ["cache_out"], ["y"], keepdims=0)]
    return model(nodes, [value("x", [1, 1, WIDTH]), value("position", [1], INT64), value("cache_in", shape)], [value("y", []), value("cache_out", shape)], tensors, opset=24 if op == "TensorScatter" else 17)


OPEN = ["batch=1..2", "seq=1..8", "past=0..160", "pages"]
NETWORKS = {
    "decoder": (open_networks.decoder(rows=200), OPEN),
    "attention": (attention(), OPEN),
    "attention_four": (attention(is_four=True), OPEN),
    "multi_head": (multi_head(), OPEN),
    "group_query": (group_query(), OPEN[1:]),
    "rotary": (group_query(rotary=True), OPEN[1:]),
    "torch": (torch(), OPEN),
    "scaled": (torch(scaled=True), OPEN),
    "columns": (torch(axis=3), OPEN[:3]),  # each page has new elements
    "transposed": (torch(transposed=True), OPEN),
    "integers": (integers(), ["seq=1..600", "past=0..9000", "pages"]),
    "tensor_scatter": (static("TensorScatter"), ["pages"]),
    "circular": (static("TensorScatter", "circular"), ["pages"]),
    "scatter_elements": (static("ScatterElements"), ["pages"]),
    "scatter_nd": (static("ScatterND"), ["pages"]),
}

if __name__ == "__main__" and sys.argv[1] == "--write":
    sys.stdout.buffer.write(NETWORKS[sys.argv[2]][0])
elif __name__ == "__main__" and sys.argv[1] == "--emulate":
    program, folder, *targets = sys.argv[2:]
    pathlib.Path(folder).mkdir(exist_ok=True)
    for name in ("attention", "transposed", "scatter_nd"):
        network, words = NETWORKS[name]
        path = pathlib.Path(folder) / f"{name}.onnx"
        path.write_bytes(network)
        sizes = [f"--size={w}" for w in [*words, "past=9", "seq=2"] if "=" in w and len(words) > 1]
        for target in targets:
            subprocess.run([program, "run", str(path), "--state=auto", f"--target={target}", "--check", *sizes], check=True, stdout=subprocess.DEVNULL)
elif __name__ == "__main__":
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(exist_ok=True)
    failed = []
    for name, (network, words) in NETWORKS.items():
        if sys.argv[4:] and name not in sys.argv[4:]:
            continue
        path = folder / f"{name}.onnx"
        path.write_bytes(network)
        if subprocess.run([program, str(path), sys.argv[3], *words]).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"wrong with states: {', '.join(failed)}")
