# SPDX-License-Identifier: Apache-2.0
"""Commands of uk on small networks that a script writes.

    verbs.py UK CC [--all] [TARGET...]       --all: every operator for each target

Runs with --check, here and for the targets under an emulator; inputs and outputs in files of each kind;
layers in files; compile to each kind of file; an object called from C; explain.
"""

import ast
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import every_operator
import open_networks
import small_networks
from onnx_writer import BFLOAT16, BOOL, FLOAT, INT32, INT64, UINT8, UINT16, UINT32, UINT64, elements, external, listed, model, node, npy, tensor, value

uk, cc, *targets = [word for word in sys.argv[1:] if word != "--all"]
is_whole = "--all" in sys.argv
failures = []

CALLER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "net.h"
int main(void) {
    void *memory = aligned_alloc(64, (convolutions_memory() + 63) / 64 * 64);
    if (!memory || fread(convolutions_input(memory, 0), 4, 3 * 19 * 13, stdin) != 3 * 19 * 13 || convolutions_run(memory))
        return 1;
    fwrite(convolutions_output(memory, 0), 4, 7, stdout);
    return convolutions_input(memory, 1) || convolutions_output(memory, -1);
}
"""

# Runs at two sizes in one block of memory, and at one out of range; writes y of both runs.
RANGES = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "net.h"
int main(void) {
    void *memory = aligned_alloc(64, (transformer_memory() + 63) / 64 * 64);
    const int64_t sizes[][2] = {{2, 33}, {1, 5}, {1, 41}};
    for (int i = 0; memory && i < 2; i++) {
        const size_t rows = (size_t)(sizes[i][0] * sizes[i][1]);
        for (size_t k = 0; k < rows * 16; k++)
            ((float *)transformer_input(memory, 0))[k] = (float)(k % 23) / 8 - 1;
        for (size_t k = 0; k < rows; k++)
            ((int64_t *)transformer_input(memory, 1))[k] = k % 3 == 0;
        if (transformer_run(memory, sizes[i]))
            return 1;
        fwrite(transformer_output(memory, 0), 4, rows * 16, stdout);
    }
    return !memory || transformer_run(memory, sizes[2]) != 2;
}
"""


def fail(what):
    failures.append(what)


def run(*words, status=0, program=None, **more):
    """Returns standard output."""
    done = subprocess.run([*(program or [uk]), *words], capture_output=True, check=False, **more)
    if done.returncode != status:
        fail(f"{' '.join(map(str, words))[:200]}: exit status {done.returncode}: {done.stderr[-500:]!r}")
    return done.stdout if more.get("input") is not None else done.stdout.decode()


def expect(pattern, said, what):
    if not re.search(pattern, said, re.M):
        fail(f"{what}: {said[-800:]}\nexpected: {pattern}")


def expect_memory(said, most, what):
    """Checks that the output states the bytes of activations, and that they are at most `most` times their
    lower bound."""
    found = re.search(r"^activation memory: (\d+) bytes \(lower bound (\d+)\)$", said, re.M)
    if not found or not int(found[2]) <= int(found[1]) <= most * int(found[2]):
        fail(f"{what}: {said}")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data.encode() if isinstance(data, str) else data)


def read_npy(path):
    data = read(path)
    length = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10 : 10 + length].decode())
    return head["descr"], head["shape"], data[10 + length :]


def floats(data):
    return struct.unpack(f"<{len(data) // 4}f", data)


def close(a, b):
    return len(a) == len(b) and all(abs(x - y) <= 1e-5 for x, y in zip(a, b))


def check_counts(said, what):
    """Instructions of layers, and of kinds of layers, add up to the network's; each layer that computes
    something has a line."""
    table = [line.split() for line in said[said.index("layer kind") :].splitlines()[1:]]
    layers, kinds = [row for row in table if len(row) == 10], [row for row in table if row[2] == "all"]
    whole = int(re.search(r"^count: (\d+)", said, re.M).group(1))
    if any(sum(int(row[5]) for row in rows) != whole for rows in (layers, kinds)) or not all(int(row[5]) for row in layers):
        fail(f"{what}: {whole} instructions, by layers {layers}, by kinds {kinds}")
    if len(layers) != sum(int(row[0]) for row in kinds):
        fail(f"{what}: {len(layers)} layers, {kinds}")


def check_runs():
    """Every network on every target: each layer is compared with the interpreter's."""
    for name in small_networks.ALL:
        said = run("run", name + ".onnx", "--check=all", "--threads=2", "--output=native.bin")
        expect(r"^check: \d+ layers, [1-9]\d* elements, all: ", said, f"uk run {name}.onnx --check=all")
        expect_memory(said, 1.15 if name in small_networks.ROWS else 1000, f"memory of {name}")
        for target in targets:
            said = run("run", name + ".onnx", "--target=" + target, "--check", "--count=layers", "--output=emulated.bin")
            expect(r"^check: \d+ layers, .*\n(?s:.*)^count: [1-9]\d+ instructions", said, f"{name} for {target}")
            check_counts(said, f"{name} for {target}")
            got, here = read("emulated.bin"), read("native.bin")
            if got != here if name in small_networks.WHOLE else not close(floats(got), floats(here)):
                fail(f"{name} for {target}: other outputs than here")


def check_operators(is_whole):
    """Every operator here; for the targets some networks, or all. An operator of operators.def that no network contains is a failure."""
    with open(pathlib.Path(__file__).parents[2] / "networks/layers/operators.def", encoding="utf-8") as f:
        lacking = every_operator.missing(f.read())
    if lacking:
        fail(f"no network has {' '.join(lacking)}")
    for i, (name, make) in enumerate(every_operator.ALL.items()):
        write(name + ".onnx", make())
        elsewhere = targets if is_whole or name in every_operator.BYTES or i % 3 == 0 else []
        for words in ["--threads=2"], *(["--target=" + target] for target in elsewhere):
            expect(r"^check: \d+ layers?, [1-9]\d* elements, all: ", run("run", name + ".onnx", "--check=all", *words), f"{name} {words}")


def check_plain():
    """Without kernels each layer is right, too, and products take more instructions."""
    product = os.path.join(os.path.dirname(__file__), "../../examples/matmul_i8.uk")
    sizes = [f"--define={size}=32" for size in "MNK"]
    for target in targets[-1:]:
        expect(r"^check: \d+ layers, [1-9]\d* elements: ", run("run", "quantized.onnx", "--target=" + target, "--check", "--no-kernels"), "--no-kernels")
        said = [run("run", product, *sizes, "--target=" + target, "--check", "--count", *more) for more in ([], ["--no-kernels"])]
        expect("no kernel", said[1], "--no-kernels")
        counts = [int(re.search(r"^count: (\d+)", text, re.M).group(1)) for text in said]
        if not 2 * counts[0] < counts[1]:
            fail(f"instructions with and without kernels: {counts}")


def check_gpu():
    """A GPU in the simulator: constants stay on it, and each layer is compared."""
    for name in ("convolutions", "integers", "unions"):
        said = run("run", name + ".onnx", "--target=amdgcn-gfx90a", "--device=sim", "--check", "--output=gpu.bin")
        expect(r"on gfx90a, simulated\n(?s:.*)^check: \d+ layers, [1-9]", said, f"{name} on a GPU")
        run("run", name + ".onnx", "--output=native.bin")
        whole = run("run", name + ".onnx", "--target=amdgcn-gfx90a", "--count", "--output=gpu2.bin")
        expect(name + "_layer_0", whole, f"{name} --count on a GPU")
        layered = run("run", name + ".onnx", "--target=amdgcn-gfx90a", "--count=layers", "--output=gpu3.bin")
        lines = [line.split() for line in re.findall(r"^ +\d+ \w+ .*", layered, re.M)]
        total = re.search(r"^device: (\d+) cycles of all layers", layered, re.M)
        # Launches of different layers follow each other at a distance of 4000 cycles, as those of one do.
        if not total or abs(sum(float(line[3]) for line in lines) + 4000 * (len(lines) - 1) - float(total[1])) > len(lines):
            fail(f"{name}: cycles of layers on a GPU: {layered}")
        expect(r"^layer 0: (?s:.*)stage \w+ is compiled as plain loops", run("explain", name + ".onnx", "--target=amdgcn-gfx90a"), f"explain {name} for a GPU")
        for file in ("gpu.bin", "gpu2.bin", "gpu3.bin"):
            if read(file) != read("native.bin") if name in small_networks.WHOLE else not close(floats(read(file)), floats(read("native.bin"))):
                fail(f"{name} on a GPU: other outputs than here")


def check_sums():
    """Known results: (a + b)^2 summed over rows, and the minimum of a."""
    a, b = [i - 5 for i in range(12)], [3 * i % 7 for i in range(12)]
    rows = [sum((a[4 * r + c] + b[4 * r + c]) ** 2 for c in range(4)) for r in range(3)]
    wanted = elements(INT32, [max(rows[i // 4], a[i]) for i in range(12)])
    write("a.npy", npy([3, 4], a, INT32))
    write("a.pb", tensor("a", [3, 4], a, INT32))
    write("b.bin", elements(INT32, b))
    write("b.npy", npy([3, 4], b, INT32))
    for words in (["--input=a.npy", "--input=b.bin"], ["--input=b=b.npy", "--input=a=a.pb"], ["--input=b=b.bin", "--input=a.npy"]):
        run("run", "integers.onnx", *words, "--output=o.npy")
        if read_npy("o.npy") != ("<i4", (3, 4), wanted):
            fail(f"uk run integers.onnx {' '.join(words)}: {read_npy('o.npy')}")
    said = run("run", "broadcasts.onnx", "--output=mean.npy", "--output=less.bin")
    if read_npy("mean.npy")[:2] != ("<f4", (2, 7)) or set(read("less.bin")) != {0, 1}:
        fail(f"outputs of broadcasts.onnx: {said}")
    if run("run", "broadcasts.onnx") != run("run", "broadcasts.onnx"):
        fail("random inputs are others each time")


def check_open():
    """Shapes given by options."""
    write("open.onnx", small_networks.open_batch())
    write("shape.npy", npy([2], [3, 4], INT64))
    for words in (["--size=batch=2"], ["--shape=x=2,6"]):
        expect(r"^output y f32 \[3, 4\]", run("run", "open.onnx", *words, "--constant=shape=shape.npy", "--check"), " ".join(words))


def check_names():
    """Names of inputs, of dimensions and of files may contain '='; files without a name are for the inputs without one."""
    os.mkdir("folder=1")
    for name, data in (("two.npy", [2.0, 2.0]), ("folder=1/three.npy", [3.0, 3.0])):
        write(name, npy([2], data))
    write("names.onnx", model([node("Mul", ["a", "a"], ["aa"]), node("Add", ["aa", "a=b"], ["y"])], [value("a", ["n=1"]), value("a=b", ["n=1"])],
                              [value("y", ["n=1"])]))
    for words, wanted in ((["--input=a=b=folder=1/three.npy", "--input=a=two.npy"], 7), (["--input=a=two.npy", "--input=folder=1/three.npy"], 7),
                          (["--input=a=b=two.npy", "--input=a=folder=1/three.npy"], 11), (["--constant=a=b=folder=1/three.npy", "--input=two.npy"], 7),
                          (["--constant=a=folder=1/three.npy", "--input=a=b=two.npy"], 11)):
        run("run", "names.onnx", "--size=n=1=2", *words, "--output=y.npy")
        if floats(read_npy("y.npy")[2]) != (wanted, wanted):
            fail(f"uk run names.onnx {' '.join(words)}: {floats(read_npy('y.npy')[2])}, not {wanted}")


def check_files():
    """Functions have valid names, whatever the file's; all of these networks are linked into one program."""
    prefixes = {"сеть.onnx": "net____", "网络.onnx": "net__", "é1.onnx": "_1", "_Net.onnx": "net_Net", "__init.onnx": "net__init", "_.onnx": "net_", ".onnx": "net",
                "NET.ONNX": "NET", "int.Onnx": "int", "for.onnx": "for", "main.onnx": "main", "UK_x.onnx": "net_UK_x", "1st net.v2.onnx": "_1st_net_v2",
                "a" * 250 + ".onnx": "a" * 180, "other.onnx": "given"}
    relu = model([node("Relu", ["x"], ["y"])], [value("x", [2])], [value("y", [2])])
    write("x.NPY", npy([2], [-1.0, 3.0]))
    for i, (name, prefix) in enumerate(prefixes.items()):
        write(name, relu)
        words = ["--name=given"] if prefix == "given" else []
        run("compile", name, *words, "-o", f"named{i}.o")
        run("compile", name, *words, "-o", f"named{i}.h")
        expect(rf"^{prefix} for ", run("run", name, *words, "--input=x.NPY", "--output=y.NPY"), f"the name of {name}")
        if floats(read_npy("y.NPY")[2]) != (0, 3):
            fail(f"uk run {name}: {read_npy('y.NPY')}")
    calls = "".join(f"    bad |= !{p}_input(block, 0) || {p}_memory() > sizeof block || {p}_run(block);\n" for p in prefixes.values())
    write("named.c", "".join(f'#include "named{i}.h"\n' for i in range(len(prefixes))) + "_Alignas(64) static char block[4096];\n"
          + "int main(void) {\n    int bad = 0;\n" + calls + "    return bad;\n}\n")
    run("-O1", "-Wall", "-Werror", "named.c", *(f"named{i}.o" for i in range(len(prefixes))), "-o", "named", program=cc.split())
    run(program=["./named"])
    expect("^int given_run", run("compile", "NET.ONNX", "--name=given", "--emit=header"), "--name")


def check_external():
    """Data in files beside the model as it is given, or links there to files beside the model's real file, as in a cache on disk."""
    for folder in ("plain/sub", "cache/snapshots/x", "cache/blobs"):
        os.makedirs(folder)
    for path, location in (("plain/model.onnx", "sub/w.data"), ("cache/blobs/abc", "model.onnx_data")):
        write(path, model([node("Add", ["x", "w"], ["y"])], [value("x", [2])], [value("y", [2])], [external("w", [2], location, offset=3, length=8)]))
    for path in ("plain/sub/w.data", "cache/blobs/def"):
        write(path, b"abc" + elements(FLOAT, [1.0, 2.0]) + b"more")
    os.symlink("../../blobs/abc", "cache/snapshots/x/model.onnx")
    os.symlink("../../blobs/def", "cache/snapshots/x/model.onnx_data")
    os.symlink("plain", "linked")
    write("x.npy", npy([2], [10.0, 20.0]))
    for path in ("plain/model.onnx", "linked/model.onnx", "cache/snapshots/x/model.onnx", os.path.abspath("cache/snapshots/x/model.onnx")):
        run("run", path, "--input=x.npy", "--output=y.npy")
        if floats(read_npy("y.npy")[2]) != (11, 22):
            fail(f"{path}: {read_npy('y.npy')}")


def check_types():
    """Results of type bool are bool in .npy, whatever moves them, and elements of bf16 two bytes without a type, as ml_dtypes has them."""
    values, other = [1, 0, 1, 1, 0, 0], [0, 0, 1, 0, 1, 0]
    write("p.npy", npy([2, 3], values, BOOL))
    write("q.bin", bytes(7 * v for v in other))  # other bytes than 0 are true
    ints = lambda name, *numbers: tensor(name, [len(numbers)], numbers, INT64)
    nodes = [node("And", ["p", "q"], ["and"]), node("Not", ["p"], ["not"]), node("Reshape", ["p", "six"], ["reshape"]), node("Transpose", ["p"], ["transpose"]),
             node("Concat", ["p", "q"], ["concat"], axis=0), node("Where", ["p", "q", "and"], ["where"]), node("Expand", ["p", "more"], ["expand"]),
             node("Slice", ["p", "one", "two"], ["slice"]), node("Gather", ["p", "one"], ["gather"]), node("Tile", ["p", "twice"], ["tile"]),
             node("ReduceMax", ["p", "one"], ["any"]), node("ReduceMin", ["p", "one"], ["all"]), node("Cast", ["p"], ["byte"], to=UINT8), node("Identity", ["p"], ["same"])]
    rows = lambda *of: [v for row in of for v in row]
    p, q, both = (values[:3], values[3:]), (other[:3], other[3:]), [a & b for a, b in zip(values, other)]
    wanted = {"and": ((2, 3), both), "not": ((2, 3), [1 - v for v in values]), "reshape": ((6,), values), "transpose": ((3, 2), rows(*zip(*p))),
              "concat": ((4, 3), values + other), "where": ((2, 3), [b if a else c for a, b, c in zip(values, other, both)]), "expand": ((2, 2, 3), values * 2),
              "slice": ((1, 3), p[1]), "gather": ((1, 3), p[1]), "tile": ((4, 3), values * 2), "any": ((2, 1), [max(row) for row in p]),
              "all": ((2, 1), [min(row) for row in p]), "byte": ((2, 3), values), "same": ((2, 3), values)}
    kind = lambda name: UINT8 if name == "byte" else BOOL
    initializers = [ints("six", 6), ints("more", 2, 1, 1), ints("twice", 2, 1), ints("one", 1), ints("two", 2)]
    write("booleans.onnx", model(nodes, [value("p", [2, 3], BOOL), value("q", [2, 3], BOOL)], [value(name, wanted[name][0], kind(name)) for name in wanted],
                                 initializers, opset=20))
    said = run("run", "booleans.onnx", "--input=p.npy", "--input=q.bin", *(f"--output={name}.npy" for name in wanted), "--layers=booleans")
    expect(r"^input p bool \[2, 3\]: p.npy$(?s:.*)^output and bool \[2, 3\]: 0 0 1 0 0 0, sum 1$", said, "uk run booleans.onnx")
    for name, (shape, elements_of) in wanted.items():
        if read_npy(name + ".npy") != ("|u1" if name == "byte" else "|b1", shape, bytes(elements_of)):
            fail(f"{name} of booleans.onnx: {read_npy(name + '.npy')}, not {shape}, {elements_of}")
    for name in os.listdir("booleans"):
        if read_npy("booleans/" + name)[0] != ("|u1" if "cast" in name else "|b1"):
            fail(f"booleans/{name}: {read_npy('booleans/' + name)}")
    write("halves.onnx", model([node("Cast", ["x"], ["f"], to=FLOAT), node("Add", ["f", "f"], ["s"]), node("Cast", ["s"], ["y"], to=BFLOAT16)],
                               [value("x", [3], BFLOAT16)], [value("y", [3], BFLOAT16)]))
    for name, data in (("h.npy", npy([3], [0x3F80, 0xC020, 0x0001], BFLOAT16)), ("n.npy", npy([3], [0x3F80, 0xC020, 0x0001], BFLOAT16).replace(b"<V2", b"|V2"))):
        write(name, data)
        run("run", "halves.onnx", "--input=" + name, "--output=y.npy")
        if read_npy("y.npy") != ("<V2", (3,), elements(BFLOAT16, [0x4000, 0xC0A0, 0x0002])):
            fail(f"halves.onnx: {read_npy('y.npy')}")


def check_ranges():
    """Open sizes: of a run, here and for the targets; of an object called from C; layers and explanations."""
    network, sizes = open_networks.NETWORKS["transformer"]
    write("transformer.onnx", network)
    words = ["transformer.onnx", *(f"--size={size}" for size in sizes)]
    wanted = b""
    for batch, seq in ((2, 33), (1, 5)):
        rows = batch * seq
        write("x.npy", npy([batch, seq, 16], [k % 23 / 8 - 1 for k in range(rows * 16)]))
        write("mask.npy", npy([batch, seq], [int(k % 3 == 0) for k in range(rows)], INT64))
        run("run", "transformer.onnx", f"--size=batch={batch}", f"--size=seq={seq}", "--input=x.npy", "--input=mask.npy", "--output=fixed.bin")
        of_run = [*words, f"--size=batch={batch}", f"--size=seq={seq}", "--input=x.npy", "--input=mask.npy"]
        for target in ["native"] if seq == 33 else targets or ["native"]:
            said = run("run", *of_run, f"--target={target}", "--check", "--output=y.bin", "--layers=open_layers")
            expect(rf"^input x f32 \[{batch}, {seq}, 16\](?s:.*)^check: \d+ layers, ", said, f"open sizes for {target}")
            if not close(floats(read("y.bin")), floats(read("fixed.bin"))):
                fail(f"open sizes for {target}: other outputs than those of fixed sizes")
        if not any(read_npy(f"open_layers/{f}")[1] == (batch, seq, 16) for f in os.listdir("open_layers")):
            fail(f"--layers with open sizes: no layer of {batch} x {seq} x 16")
        wanted += read("fixed.bin")
    expect(r"^layer 0: .*\n    f32 \[4, 40, 16\]", run("explain", *words), "uk explain with open sizes")
    run("compile", *words, "-o", "transformer.o")
    run("compile", *words, "--emit=header", "-o", "net.h")
    write("ranges.c", RANGES)
    run("-O1", "-Wall", "-Werror", "ranges.c", "transformer.o", "-o", "ranges", "-lm", program=cc.split())
    if not close(floats(run(program=["./ranges"], input=b"")), floats(wanted)):
        fail("an object with open sizes called from C: other outputs than those of fixed sizes")


def check_places():
    """Values are placed in the minimum of memory."""
    write("chain.onnx", small_networks.chain())
    expect_memory(run("run", "chain.onnx", "--target=x86_64-avx2"), 1.09, "places of chain.onnx")


def check_borders():
    """If padding is a border around another layer's result, the output is that of convolutions that pad by
    themselves."""
    write("apart.onnx", small_networks.borders(apart=True))
    operators = [line.split(" ", 2)[1] for line in run("compile", "apart.onnx", "--emit=layers").splitlines()[1:]]
    bordered = run("compile", "borders.onnx", "--emit=program")
    if len(re.findall(r"^# .*: Border$", bordered, re.M)) != 3 or "pad(" in bordered or "Border" in operators:
        fail(f"borders of borders.onnx: {bordered}, apart.onnx: {operators}")
    run("run", "borders.onnx", "--output=bordered.bin")
    run("run", "apart.onnx", *[f"--output={name}.bin" for name in ("y", "c0", "c1", "c2")])
    if read("bordered.bin") != read("y.bin"):
        fail("borders.onnx: another result than where convolutions pad by themselves")


def check_subnormal():
    """Results may differ from the interpreter's only where vectors flush subnormal numbers to zero."""
    write("subnormal.onnx", small_networks.subnormal())
    for target in ["--target=" + t for t in targets if t == "armv7-neon"]:
        expect(r"^check: \d+ layers?, [1-9]\d* elements: ", run("run", "subnormal.onnx", target, "--check"), "subnormal weights, " + target)
        expect(r"^check: \d+ layers?, [1-9]\d* elements: ", run("run", "subnormal.onnx", "--check"), "subnormal weights")


def check_layers():
    """Each layer's result, in ONNX's order of dimensions; the last one is the output."""
    run("run", "convolutions.onnx", "--layers=layers", "--output=scores.bin")
    lines = [line.split(" ", 4) for line in run("compile", "convolutions.onnx", "--emit=layers").splitlines()[1:]]
    names = sorted(os.listdir("layers"))
    if len(names) != len(lines) or read_npy("layers/" + names[-1]) != ("<f4", (1, 7), read("scores.bin")):
        fail(f"uk run --layers: {names}")
    for name, line in zip(names, lines):
        shape = ast.literal_eval(line[4][: line[4].index("]") + 1])
        if read_npy("layers/" + name)[1] != tuple(shape):
            fail(f"layers/{name}: {read_npy('layers/' + name)[1]}, not {shape}")
    # A batch of two images gives the results of each alone; channels of layers are not innermost in ONNX's order.
    write("two.onnx", small_networks.convolutions(2))
    image = elements(FLOAT, [(7 * i % 31 - 15) / 16 for i in range(3 * 19 * 13)])
    write("one.bin", image)
    write("both.bin", image + image)
    run("run", "convolutions.onnx", "--input=one.bin", "--layers=layers", "--output=scores.bin")
    run("run", "two.onnx", "--input=both.bin", "--layers=both", "--output=scores2.bin")
    if not close(floats(read("scores2.bin")), floats(read("scores.bin")) * 2):
        fail("a batch of two")
    one, two = read_npy("layers/" + names[0]), read_npy("both/" + sorted(os.listdir("both"))[0])
    if one[1] != (1, 10, 10, 7) or two[1] != (2, 10, 10, 7) or not close(floats(two[2]), floats(one[2]) * 2):
        fail("the first layer of a batch of two")


def check_compile():
    """Files of each kind; the object is called from C, and from a shared object, with the same result."""
    run("compile", "convolutions.onnx", "--emit=header", "-o", "net.h")
    write("main.c", CALLER)
    run("run", "convolutions.onnx", "--input=one.bin", "--output=scores.bin")
    for out in ("net.o", "net.so"):
        run("compile", "convolutions.onnx", "-o", out)
        run("-O1", "-Wall", "-Werror", "main.c", out, "-o", "main", "-Wl,-rpath,$ORIGIN", "-lm", program=cc.split())
        if run(program=["./main"], input=read("one.bin")) != read("scores.bin"):
            fail(f"{out}, called from C: other scores")
    once = read("net.o")
    run("compile", "convolutions.onnx", "-o", "net.o")
    if read("net.o") != once:
        fail("the same network gives another object")
    expect(r"^int convolutions_run\(void \*memory\) {\n(?s:.*)status = status \? status : convolutions_layer_0\(",
           run("compile", "convolutions.onnx", "--emit=kernel-inc"), "--emit=kernel-inc")
    expect(r"convolutions_run", run("compile", "convolutions.onnx", "--emit=asm"), "--emit=asm")
    text = run("compile", "convolutions.onnx", "--emit=program")
    os.mkdir("programs")
    run("compile", "convolutions.onnx", "--emit=program", "-o", "programs")
    for name in sorted(os.listdir("programs")):
        if f"# {name}, of layer" not in text:
            fail(f"--emit=program: no {name} in one text")
    run("compile", *(f"programs/{name}" for name in sorted(os.listdir("programs"))), "-o", "all.o")
    expect(r"check: ", run("run", "programs/convolutions_layer_0.uk", "--check"), "a layer's program by itself")
    for target in targets[:1]:
        run("compile", "convolutions.onnx", "--target=" + target, "-o", "other.o")


def check_means():
    """Means of nine bytes with equal scales are summed in i32, those of four or six, which are often ties of
    two bytes, in f32."""
    text = run("compile", "quantized.onnx", "--emit=program")
    expect(r"sum\(r0, r1 where r0 < 3 and r1 < 3\) i32\(x0\[i0, i2 \+ r0, i3 \+ r1, i1\]\)$", text, "means of nine")
    expect(r"sum\(r0, r1 where r0 < 2 and r1 < 3\) max\(f32\(i32\(x0\[.*/ 6 / ", text.replace("\n", " "), "means of six")


def check_unsigned():
    """Sums modulo 2^n, constants of both encodings, conversions to and from f32, and files of each unsigned type."""
    for kind, descr, bits in (UINT16, "<u2", 16), (UINT32, "<u4", 32), (UINT64, "<u8", 64):
        x, c, d = [0, 1, 2 ** (bits - 1), 2**bits - 1], [5, 2**bits - 1, 2 ** (bits - 1) + 1, 3], [2**bits - 1, 7, 2 ** (bits - 1), 0]
        f = [-1.5, 2.0**70, 3.99, 4e4]
        nodes = [node("Add", ["x", "c"], ["s"]), node("Max", ["s", "d"], ["y"]), node("Cast", ["x"], ["z"], to=FLOAT),
                 node("Cast", ["f"], ["t"], to=kind)]
        write("unsigned.onnx", model(nodes, [value("x", [4], kind), value("f", [4])],
                                     [value("y", [4], kind), value("z", [4]), value("t", [4], kind)],
                                     [tensor("c", [4], c, kind), listed("d", [4], d, kind)]))
        write("x.npy", npy([4], x, kind))
        write("f.npy", npy([4], f))
        run("run", "unsigned.onnx", "--input=x.npy", "--input=f.npy", "--output=y.npy", "--output=z.npy", "--output=t.npy", "--check=all")
        sums = [max((a + b) % 2**bits, m) for a, b, m in zip(x, c, d)]
        for file, wanted in {"y.npy": (descr, (4,), elements(kind, sums)), "z.npy": ("<f4", (4,), elements(FLOAT, [float(v) for v in x])),
                             "t.npy": (descr, (4,), elements(kind, [0, 2**bits - 1, 3, 40000]))}.items():
            if read_npy(file) != wanted:
                fail(f"{file} of {descr}: {read_npy(file)}, not {wanted}")


def check_explain():
    said = run("explain", "convolutions.onnx")
    expect(r"^layer 0: Conv\+Clip clip_a0\n    f32 \[1, 10, 10, 7\], in memory as \[1, 10, 7, 10\], 2800 bytes at \d+, 0.0189 M multiply-adds$", said, "uk explain")
    expect(r"taken: uk_", said, "uk explain")
    expect(r"^convolutions: \d+ layers in \d+ functions, .* 0 copies of 0 bytes; activation memory: at least \d+ bytes", said, "uk explain")
    expect(r"^    a copy into row-major order(?s:.*)[1-9]\d* cop(y|ies) of [1-9]\d* bytes;", run("explain", "views.onnx"), "uk explain views.onnx")


def check_time():
    said = run("run", "convolutions.onnx", "--time")
    expect(r"^time: \d+\.\d+ ms .* GFLOP/s, .* % of the .* peak", said, "--time")
    expect(r"^slowest of \d+ layers, .*\n +\d+ \S+ +\[.* ms +\d+\.\d %", said, "--time")
    said = run("run", "branches.onnx", "--time", "--threads=1")
    expect(r"^slowest of \d+ layers(?s:.*) ms +\d+\.\d %, as often as data decide$", said, "--time of loops")
    expect(r" ms +\d+\.\d %, 10 runs", run("run", "loops.onnx", "--time", "--threads=1"), "--time of a nested loop")
    said = run("explain", "loops.onnx")
    expect(r"^layer \d+: Tanh .*\n    f32 \[9\], 36 bytes at \d+, 10 times$", said.replace("in memory ", ""), "uk explain of a nested loop")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    for network, make in small_networks.ALL.items():
        write(network + ".onnx", make())
    check_runs()
    check_operators(is_whole)
    check_plain()
    check_gpu()
    check_sums()
    check_open()
    check_names()
    check_files()
    check_external()
    check_types()
    check_ranges()
    check_places()
    check_borders()
    check_subnormal()
    check_layers()
    check_compile()
    check_means()
    check_unsigned()
    check_explain()
    check_time()
    os.chdir("/")
for failure in failures:
    print(failure)
sys.exit(bool(failures))
