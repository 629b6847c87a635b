# SPDX-License-Identifier: Apache-2.0
"""Wrong networks and inputs: each ends with one line on standard error that says what is wrong, exit status 1
(2 for options), nothing on standard output, and no file written.

    bad_networks.py UK
"""

import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile

import open_networks
import small_networks
from onnx_writer import BFLOAT16, BOOL, FLOAT, INT64, STRING, UINT8, external, model, node, npy, number, tensor, text, value, varint

uk = sys.argv[1]
X, Y = [value("x", [2, 3])], [value("y", [2, 3])]


def one(op, inputs=("x",), given=(), shapes=None, opset=17, result=(2, 3), **attributes):
    """A model with a single node."""
    return model([node(op, inputs, ["y"], **attributes)], shapes or X, [value("y", list(result))], given, opset)


def nested(depth):
    """Graphs nested in attributes of nodes."""
    length, heads = 0, []
    for _ in range(depth):
        for field in (6, 5, 1):
            heads.append(varint(field << 3 | 2) + varint(length))
            length += len(heads[-1])
    return text(7, b"".join(reversed(heads)))


def weight(**entries):
    return model([node("Add", ["x", "w"], ["y"])], X, Y, [external("w", [2, 3], **entries)])


ANY_RANK = text(1, "u") + text(2, text(1, number(1, FLOAT)))
floats = [1.0] * 6
# Name: contents of the file, and a pattern for the message, which always contains the file's name.
NETWORKS = {
    "empty": (b"", "empty"), "words": (b"A network.\n" * 20, "not an ONNX model"), "no_graph": (number(1, 8), "not an ONNX model"),
    "nested": (nested(20000), "nested"), "nested_33": (nested(33), "nested|supported"),
    "operator": (one("Bogus"), r"error: 1 operator is not supported: Bogus \(node 'bogus_y'\)$"),
    "operators": (model([node("Sin", ["x"], ["b"], domain="com.x"), node("Bogus", ["b"], ["a"]), node("Relu", ["a"], ["c"]), node("Bogus", ["c"], ["d"]),
                         node("Gelu", ["d"], ["y"])], [value("x", ["n", 3])], Y),
                  r"error: 3 operators are not supported: com\.x\.Sin \(node 'sin_b'\), Bogus \(2 nodes, the first is 'bogus_a'\), Gelu of operator set 17 \(node 'gelu_y'\)$"),
    "many_operators": (model([node(f"B{i}", ["x"], [f"y{i}"]) for i in range(15)], X, [value(f"y{i}", [2, 3]) for i in range(15)]),
                       r"error: 15 operators are not supported: B0 .*, B11 \(node 'b11_y11'\) and 3 more$"),
    "domain": (model([node("Relu", ["x"], ["y"], domain="com.example")], X, Y), r"com\.example\.Relu \(node 'relu_y'\)$"),
    "attribute": (one("Relu", alpha=1.0), "Relu relu_y.*attribute 'alpha'"), "old": (one("Relu", opset=0), "operator set 0"),
    "new": (one("Relu", opset=29), "operator set 29"), "no_opset": (number(1, 8) + text(7, b""), "computes nothing"),
    "type": (model([node("Relu", ["x"], ["y"])], [value("x", [2, 3], STRING)], [value("y", [2, 3], STRING)]), r"input 'x' has the element type string \(8\), which is not supported$"),
    "complex": (model([node("Relu", ["x"], ["y"])], [value("x", [2, 3], 14)], Y), r"input 'x' has the element type complex64 \(14\)"),
    "no_type": (model([node("Relu", ["x"], ["y"])], [value("x", [2, 3], 99)], Y), "input 'x' has the element type 99, which ONNX does not have$"),
    "tensor_type": (one("Add", ["x", "w"], [number(1, 6) + number(2, 17) + text(8, "w") + text(9, b"123456")]), r"tensor 'w' has the element type float8e4m3fn \(17\), which is not supported$"),
    "constant_type": (model([node("Constant", [], ["k"], value=number(2, 14) + text(9, b"12345678")), node("Add", ["x", "k"], ["y"])], X, Y), r"has the element type complex64 \(14\)"),
    "cast": (one("Cast", to=22), r"Cast cast_y: its result has the element type int4 \(22\), which is not supported$"),
    "cast_to_none": (one("Cast", to=0), r"cast_y: its result has the element type undefined \(0\)"), "cast_below": (one("Cast", to=-7), "element type -7, which ONNX"),
    "open": (small_networks.open_batch(), r"error: inputs have open dimensions: 'x' \[batch, 6\]; give --size batch=\.\.\.$"),
    "all_open": (model([node("Relu", ["x"], ["y"])], [value("x", ["batch", 3, "", -1]), value("m", ["batch", "past + 1"]), ANY_RANK, *[value(f"p{i}", ["batch", f"d{i}"]) for i in range(20)]], Y),
                 r"error: inputs have open dimensions: 'x' \[batch, 3, \?, \?\], 'm' \[batch, past \+ 1\], 'u' \(any rank\), 'p0' \[batch, d0\], .*'p8' \[batch, d8\] and 11 more; "
                 r"give --shape x=\?,3,\?,\? --size batch=\.\.\. --size past=\.\.\. --shape u=\?,\?,\.\.\. --size d0=.* --size d7=\.\.\. and 12 more; a dimension without a name has a size, too: --size x\.2=\.\.\.$"),
    "needed": (model([node("Reshape", ["x", "s"], ["r"]), node("Concat", ["h", "w"], ["hw"], axis=0), node("Reshape", ["x", "hw"], ["q"]), node("Relu", ["r"], ["r2"]),
                      node("Add", ["r2", "q"], ["y"])], [*X, value("s", [2], INT64), value("h", [1], INT64), value("w", [1], INT64)], Y),
               "error: inputs must be known at compile time: 's', 'h', 'w'; give --constant s=FILE --constant h=FILE --constant w=FILE$"),
    "from_data": (model([node("Cast", ["x"], ["s"], to=INT64), node("Reshape", ["x", "s"], ["y"])], [value("x", [20])], Y), "Reshape reshape_y: .*'s'.*data"),
    "cycle": (model([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"])], X, [value("b", [2, 3])]), "add_a.*'b' is neither"),
    "missing": (one("Add", ["x", "nowhere"]), "add_y.*nowhere"), "twice": (model([node("Relu", ["x"], ["y"])] * 2, X, Y), "'y' is defined twice"),
    "no_result": (model([node("Relu", ["x"], ["z"])], X, Y), "output 'y'"), "no_operand": (one("Relu", [""]), "relu_y"),
    "add": (one("Add", ["x", "w"], [tensor("w", [4], [1.0] * 4)]), "add_y"), "matmul": (one("MatMul", ["x", "w"], [tensor("w", [4, 3], [1.0] * 12)]), "matmul_y"),
    "conv": (one("Conv", ["x", "w"], [tensor("w", [1, 5, 1, 1], [1.0] * 5)], [value("x", [1, 3, 4, 4])], kernel_shape=[1, 1]), "conv_y.*filter"),
    "reshape": (one("Reshape", ["x", "s"], [tensor("s", [2], [4, 4], INT64)]), "reshape_y"), "transpose": (one("Transpose", perm=[0, 0]), "transpose_y"),
    "huge": (one("Relu", shapes=[value("x", [1 << 40, 1 << 40])]), "x.*too large for 64 bits"), "negative": (one("Relu", shapes=[value("x", [-5, 3])]), r"'x' \[\?, 3\]"),
    "nine": (one("Relu", shapes=[value("x", [1] * 9)]), "input 'x'.*dimensions"),
    "short_data": (one("Add", ["x", "w"], [tensor("w", [2, 3], floats)[:-24] + b""]), "not an ONNX model"),
    "wrong_data": (one("Add", ["x", "w"], [tensor("w", [2, 4], floats)]), "w.*24 bytes"),
    "no_element": (one("ArgMax", shapes=[value("x", [2, 0])], result=(2, 1), axis=1), "argmax_y.*dimension 1 of its input 2x0 has no element"),
    "outside": (weight(location="../secret.bin"), r"tensor 'w': .*'\.\./secret\.bin' is not in the model's folder"),
    "absolute": (weight(location="/etc/hostname"), "tensor 'w': .*'/etc/hostname' is not in the model's folder"),
    "through": (weight(location="sub/../../secret.bin"), "tensor 'w': .*is not in the model's folder"),
    "link": (weight(location="link.bin"), r"tensor 'w': .*'link\.bin' is a link to '/.*/secret\.bin', which is not in or below the folder '\.'; put a copy there$"),
    "folder_link": (weight(location="outer/secret.bin"), "'outer/secret.bin' is a link to '/.*/secret.bin'"),
    "no_file": (weight(location="sub/none.bin"), r"tensor 'w': its external data 'sub/none\.bin' in the folder '\.': No such file"),
    "no_location": (model([node("Add", ["x", "w"], ["y"])], X, Y, [number(1, 2) + number(1, 3) + number(2, FLOAT) + text(8, "w") + number(14, 1)]), "tensor 'w': its external data names no file"),
    "short_file": (weight(location="short.bin"), r"tensor 'w' needs 24 bytes from byte 0 of its external data 'short\.bin', which has only 5 bytes"),
    "beyond": (weight(location="short.bin", offset=2**62), "from byte 4611686018427387904 of"), "far": (weight(location="short.bin", offset=2**63), "the offset of its external data is '9223372036854775808'"),
    "offset": (weight(location="short.bin", offset=-1), "tensor 'w': the offset of its external data is '-1'"), "words_offset": (weight(location="short.bin", offset="4 bytes"), "is '4 bytes'"),
    "length": (weight(location="short.bin", length=5), "'w' of 2x3 elements of f32 needs 24 bytes, but its external data in 'short.bin' has 5$"),
    "long_length": (weight(location="short.bin", length=2**63 - 1), "has 9223372036854775807$"), "is_folder": (weight(location="sub"), "'sub' is not a regular file"),
    "nothing": (model([], X), "computes nothing"),
}
# uk run with good.onnx, which adds x [2, 3] and y [2, 3]: arguments, exit status, pattern for the message.
RUNS = [
    (["--input=none.npy"], 1, "none.npy"), (["--input=five.bin"], 1, "five.bin has 5 bytes.*24"), (["--input=other.npy"], 1, "other.npy is f32 .*3, 2"),
    (["--input=whole.npy"], 1, "whole.npy is i64"), (["--input=cut.npy"], 1, "cut.npy"), (["--input=words.pb"], 1, "words.pb"), (["--input=x=none.bin"], 1, "none.bin"),
    (["--input=good.npy"] * 3, 2, "--input good.npy.*2 inputs"), (["--input="], 2, "--input"), (["--output=none/o.npy"], 1, "none/o.npy"),
    (["--output=a.npy", "--output=b.npy"], 2, "--output b.npy.*1 output"), (["--layers=five.bin/x"], 1, "five.bin"), (["--layers="], 2, "--layers"),
    (["--shape=x"], 2, "--shape x"), (["--shape=x=2,,3"], 2, "--shape"), (["--shape=x=2,-3"], 2, "--shape"), (["--shape=x=" + ",".join("1" * 9)], 2, "--shape"),
    (["--shape=x=3,3"], 1, "input 'x'"), (["--shape=x=2"], 1, "input 'x'"), (["--shape=z=2"], 2, "no input 'z'; its inputs are x, y$"), (["--constant=x"], 2, "--constant"),
    (["--constant=x=none.npy"], 1, "none.npy"), (["--constant=z=good.npy"], 2, "no input 'z'; its inputs are x, y$"), (["--constant=x=whole.npy"], 1, "input 'x'"),
    (["--size=batch=4"], 2, "no size 'batch'; its sizes are none$"), (["--shape=x=2,3", "--shape=x=2,3"], 2, "two shapes are given for 'x'"),
    (["--constant=x=good.npy", "--shape=x=2,3"], 2, "leave out the shape"), (["--constant=x=good.npy"] * 2, 2, "two constants are given for 'x'"),
    (["--input=foo=good.npy"], 2, "no input 'foo'; its inputs are x, y$"), (["--input=x=good.npy"] * 2, 2, "given for this input already"),
    (["--input=x=good.npy"] + ["--input=good.npy"] * 2, 2, "--input good.npy: .*2 inputs"),
    (["--size=batch=-1"], 2, "batch"), (["--define=batch=1"], 2, "--define"), (["--schedule=s"], 1, "s: cannot read"), (["--schedule=words.pb"], 1, "words.pb:1: expected .layer."), (["--device=interp"], 2, "--device"), (["--device=sim"], 2, "--device"),
    (["--time", "--target=amdgcn-gfx90a"], 2, "--time"), (["--target=nvptx-sm80"], 1, "nvptx-sm80"),
    (["--check=some"], 2, "--check=some"), (["--time", "--target=aarch64-neon"], 2, "--time"), (["--count"], 2, "--count"), (["--count=some"], 2, "--count=some"),
    (["--count=layers"], 2, "--count"), (["--target=none"], 1, "none"),
    (["--threads=0"], 2, "--threads"), (["good.onnx"], 2, "too many"),
]
# The same with named.onnx, which adds image [batch, 3], mask ["", "seq=2"] and the constants w and v.
NAMED = [
    (["--size=batchsize=4"], "no size 'batchsize'; did you mean 'batch'; its sizes are batch, mask\.0, seq=2$"), (["--size=seq=2"], "no size 'seq'; "),
    (["--shape=imag=2,3"], "no input 'imag'; did you mean 'image'; its inputs are image, mask$"), (["--constant=images=good.npy"], "no input 'images'; did you mean 'image'"),
    (["--shape=w=2,3"], "'w', which the file makes a constant"), (["--constant=w=good.npy"], "'w', which the file makes a constant"), (["--shape=v=2,3"], "no input 'v'; "),
    (["--size=batch=2", "--size=seq=2=3", "--shape=mask=2,3", "--input=imagee=x.npy"], "no input 'imagee'; did you mean 'image'; its inputs are image, mask$"),
]
# The same with types.onnx, whose inputs are b, of bool, and u, of u8 [2].
TYPES = [
    (["--input=b=u.npy"], 1, r"u\.npy is u8 \[2\], but input 'b' is bool \[2\]"), (["--input=u=b.npy"], 1, r"b\.npy is bool \[2\], but input 'u' is u8 \[2\]"),
    (["--constant=b=u.npy"], 1, "input 'b' has type bool, but the constant given for it has type u8"), (["--constant=u=b.npy"], 1, "has type u8, but .* bool"),
    (["--input=b=big.npy"], 1, "big.npy has the dtype '>f4', which is not supported"), (["--input=b=record.npy"], 1, "record.npy has the dtype of a record, which"),
    (["--input=b=columns.npy"], 1, "columns.npy is in Fortran's order"), (["--input=b=half.npy"], 1, "half.npy is bf16 .*'b' is bool"),
    (["--input=b=no_shape.npy"], 1, "no_shape.npy has no shape"), (["--input=b=long_dtype.npy"], 1, "long_dtype.npy has the dtype"),
]
COMPILES = [
    (["--name=a-b", "--emit=header"], 2, "'a-b' is not a C identifier"), (["--name=__x", "--emit=header"], 2, "__x_run.*reserves"),
    (["--name=" + "a" * 181, "--emit=header"], 2, "at most 180 characters"), (["--name=", "--emit=header"], 2, "--name"),
    (["--target=amdgcn-gfx90a", "-o", "g.o"], 1, r"good\.onnx: error: target amdgcn-gfx90a is a GPU, for which there are no objects of networks"),
    (["--target=x86", "-o", "g.o"], 1, r"good\.onnx: error: unknown target 'x86'; "),
    ([], 2, "-o"), (["-o", "none/n.o"], 1, "none/n.o"), (["--emit=device"], 2, "device"), (["--emit=layers", "-o", "."], 2, "folder"), (["good.onnx"], 2, "only one network"),
    (["--workspace=argument", "--emit=layers"], 2, "--workspace"), (["--emit=program", "-o", "none/x"], 1, "none/x"),
]
# uk compile of networks with open sizes: the network, ranges, exit status, pattern for the message.
OPEN = [small_networks.open_batch(), one("Squeeze", shapes=[value("x", ["n", "m"])], result=("k",)), small_networks.convolutions("batch", "height"),
        one("Det", shapes=[value("x", ["n", "n"])], result=()), one("Relu", shapes=[value("x", ["n", "$"])]),
        open_networks.decoder()]
RANGES = [
    (0, ["batch=3..2"], 2, "--size batch=3..2: a range has two values or more"), (0, ["batch=2..2"], 2, "give --size batch=2$"), (0, ["batch=1..4:0"], 2, "--size batch=1..4:0"), (0, ["batch=-1..4"], 2, "--size"), (0, ["batch=1.."], 2, "--size"),
    (0, ["batch=1..8:2"], 2, "--size batch=1..8:2: .*multiples of the step 2, for instance --size batch=2..8:2$"), (0, ["batch=1..4", "batch=2", "batch=3"], 2, "'batch' already has the value 2"),
    (0, ["batch=1..4", "batch=1..5"], 2, "'batch' already has the range 1..4"), (0, ["batch=1..3:4"], 2, "--size batch=1..3:4: .*multiples of the step 4$"),
    (2, ["batch=2..8", "height=19", "batch=9"], 1, "'batch' is 9, but its range is 2 to 8"), (2, ["batch=2..8:2", "height=19", "batch=5"], 1, "in steps of 2"),
    (0, ["batch=2..8"], 1, "inputs must be known at compile time: 'shape'; give --constant shape=FILE"), (1, ["n=1..4", "m=2..3"], 1, "at n=1, m=.* the network has another form here.*--size n=2..4$"),
    (2, ["batch=1..2", "height=8..40"], 1, "'clip_a0' cannot stay open.* 19, 19 and 20 at height=37, 38 and 39.*--size height=8..40:4$"),
    (2, ["batch=1..2", "height=8..40", "height=12"], 1, "clip_a0"), (3, ["n=1..4"], 1, "Det det_y: layer 'det_y' cannot stay open.*--size n=4$"),
    (4, ["n=1..4"], 1, "open dimensions: 'x'.*; give --size '.=...'$"), (4, ["n=1..4", "$=1..2", "$=0"], 1, "'.' is 0, but its range is 1 to 2$"),
    (5, ["batch=1", "seq=1..8", "past=0..39"], 1, "index 40 is outside of dimension 0 of 40x8, at the largest sizes seq=8, past=39; give ranges that end earlier$"),
]


def wrong(words, status, pattern, folder):
    """Returns what is wrong with the refusal; None: nothing."""
    done = subprocess.run([uk, *words], capture_output=True, check=False, cwd=folder, timeout=600)
    said = done.stderr.decode(errors="replace")
    if done.returncode != status or done.stdout or said.count("\n") != 1 or "error: " not in said or not re.search(pattern, said):
        return f"uk {' '.join(words)[:200]}: exit status {done.returncode}, {done.stdout[:80]!r}, {said[:400]!r}"
    return None


with tempfile.TemporaryDirectory() as outer, concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
    folder = outer + "/models"
    os.makedirs(folder + "/sub")
    cases = []

    def put(name, data):
        with open(f"{folder}/{name}", "wb") as f:
            f.write(data)

    with open(outer + "/secret.bin", "wb") as f:
        f.write(b"x" * 24)
    os.symlink(outer + "/secret.bin", folder + "/link.bin")
    os.symlink(outer, folder + "/outer")
    # A cache's folders: the links of a model and its data lead to files of one folder, or the data's to another.
    os.makedirs(outer + "/cache/snapshots/x")
    os.makedirs(outer + "/cache/blobs")
    with open(outer + "/cache/blobs/abc", "wb") as f:
        f.write(weight(location="model.data"))
    os.symlink("../../blobs/abc", outer + "/cache/snapshots/x/model.onnx")
    os.symlink("../../../secret.bin", outer + "/cache/snapshots/x/model.data")
    files = {"five.bin": b"12345", "short.bin": b"12345", "good.npy": npy([2, 3], floats), "other.npy": npy([3, 2], floats), "cut.npy": npy([2, 3], floats)[:-1],
             "whole.npy": npy([2, 3], [1] * 6, INT64), "words.pb": b"A tensor.", "good.onnx": model([node("Add", ["x", "y"], ["z"])], [X[0], Y[0]], [value("z", [2, 3])])}
    weights = [tensor("w", [2, 3], floats), tensor("v", [2, 3], floats)]
    files["named.onnx"] = model([node("Add", ["image", "mask"], ["s"]), node("Add", ["s", "w"], ["t"]), node("Add", ["t", "v"], ["y"])],
                                [value("image", ["batch", 3]), value("mask", ["", "seq=2"]), value("w", [2, 3])], Y, weights)
    files |= {"u.npy": npy([2], [1, 0], UINT8), "b.npy": npy([2], [1, 0], BOOL), "half.npy": npy([2], [1, 0], BFLOAT16), "big.npy": npy([2], [1.0, 0.0]).replace(b"<f4", b">f4")}
    files |= {"record.npy": npy([2], [1.0, 0.0]).replace(b"'<f4',", b"[1234]"), "columns.npy": npy([2], [1, 0], BOOL).replace(b"False", b"True "),
              "no_shape.npy": npy([2], [1, 0], BOOL).replace(b"'shape'", b"'shade'"), "long_dtype.npy": npy([2], [1.0, 0.0]).replace(b"'<f4'", b"'" + b"f" * 30),
              "types.onnx": model([node("Cast", ["b"], ["c"], to=UINT8), node("Add", ["c", "u"], ["y"])], [value("b", [2], BOOL), value("u", [2], UINT8)],
                                  [value("y", [2], UINT8)])}
    files["loops.onnx"] = small_networks.loops()
    for name, data in files.items():
        put(name, data)
    for name, (data, pattern) in NETWORKS.items():
        put(name + ".onnx", data)
        cases.append((["compile", name + ".onnx", "--emit=layers"], 1, rf"{name}\.onnx.*{pattern}"))
    whole = small_networks.convolutions()
    for end in range(1, len(whole), 50):
        put(f"cut_{end}.onnx", whole[:end])
        cases.append((["compile", f"cut_{end}.onnx", "--emit=layers"], 1, rf"cut_{end}\.onnx: error: "))
    draw = random.Random(1)
    for i in range(40):  # any status, but no crash and at most one line
        data = bytearray(whole)
        for _ in range(8):
            data[draw.randrange(len(data))] = draw.randrange(256)
        put(f"changed_{i}.onnx", bytes(data))
    cases += [(["compile", "none.onnx", "--emit=layers"], 1, "none.onnx.*No such file"), (["run", "sub.onnx/x.onnx"], 1, "x.onnx"),
              (["tune", "good.onnx", "--target=interp"], 2, "interp"), (["tune", "good.onnx", "--define=a=1"], 2, "--define"),
              (["tune", "good.onnx", "-o", "none/x"], 1, "none/x"), (["tune", "good.onnx", "--shape=x=2"], 1, "input 'x'"),
              (["run", "loops.onnx", "--target=amdgcn-gfx90a", "--device=sim"], 1, r"a GPU runs no loops .*, and 'scan_last' is one; use a CPU as target$"),
              (["tune", "good.onnx", "--target=amdgcn-gfx90a"], 1, "amdgcn-gfx90a"), (["tune", "good.onnx", "--log=none/x", "--trials=2"], 1, "none/x"), (["explain", "good.onnx", "--shape=x=2"], 1, "input 'x'")]
    cases += [(["run", "good.onnx", *words], status, pattern) for words, status, pattern in RUNS]
    cases += [(["compile", "../cache/snapshots/x/model.onnx", "--emit=layers"], 1,
               "model.data' is a link to '/.*/secret.bin', which is not in or below the folder '../cache/snapshots/x' or '/.*/cache/blobs'; put a copy there$")]
    cases += [(["run", "types.onnx", *words], status, pattern) for words, status, pattern in TYPES]
    cases += [(["run", "named.onnx", *words], 2, pattern) for words, pattern in NAMED]
    for i, data in enumerate(OPEN):
        put(f"open_{i}.onnx", data)
    cases += [(["compile", f"open_{i}.onnx", "--emit=layers", *(f"--size={size}" for size in sizes)], status, pattern) for i, sizes, status, pattern in RANGES]
    put("relu.onnx", one("Relu", shapes=[value("x", ["n", 3])]))
    put("p.uk", b"tensor x f32 [N]\ntensor y f32 [N]\ny[i] = x[i]\n")
    cases += [(["run", "relu.onnx", "--size=n=1..4", "--target=amdgcn-gfx90a"], 1, "a GPU takes fixed sizes only, and 'n' has a range"),
              (["run", "p.uk", "--size=N=1..4"], 2, "'N' has a range, which is for networks")]
    cases += [(["compile", "good.onnx", *words], status, pattern) for words, status, pattern in COMPILES]
    before = {path: os.stat(f"{folder}/{path}").st_mtime_ns for path in os.listdir(folder)}
    failures = list(filter(None, pool.map(lambda case: wrong(*case, folder), cases)))

    def crashes(i):
        done = subprocess.run([uk, "compile", f"changed_{i}.onnx", "--emit=layers"], capture_output=True, check=False, cwd=folder, timeout=600)
        bad = done.returncode not in (0, 1) or (done.returncode and done.stderr.count(b"\n") != 1)
        return f"changed_{i}.onnx: exit status {done.returncode}, {done.stderr[:400]!r}" if bad else None

    failures += filter(None, pool.map(crashes, range(40)))
    after = {path: os.stat(f"{folder}/{path}").st_mtime_ns for path in os.listdir(folder)}
    if before != after:
        failures.append(f"files were written: {sorted(set(after) ^ set(before)) or 'over others'}")
for failure in failures:
    print(failure)
print(f"{len(cases)} cases, {len(failures)} failures")
sys.exit(bool(failures))
