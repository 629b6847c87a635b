# SPDX-License-Identifier: Apache-2.0
"""Networks as images without an operating system (examples/bare_metal/): MobileNet_v1 0.25/96 on bytes, and a loop
with branches. An image has no undefined symbols, and its scores on the serial port are, bit by bit, those of
the same network under Linux.

    bare_metal.py SOURCE UK
"""

import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import byte_mobilenet
from onnx_writer import FLOAT, INT64, Graph, graph, model, node, tensor, value

source, uk = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
QEMU = "qemu-system-riscv64 -M virt -bios none -display none -monitor none -serial stdio -kernel".split()
PACKAGES = {"riscv64-linux-gnu-gcc": "gcc-riscv64-linux-gnu", "qemu-system-riscv64": "qemu-system-misc", "qemu-riscv64": "qemu-user"}


def run(*words, **options):
    ran = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=500, **options)
    if ran.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit {ran.returncode}: {ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    return ran.stdout


def rows():
    """A loop over rows of the image; a branch negates some of them; it has as many scores as the MobileNet."""
    negated, kept = Graph(graph([node("Neg", ["row"], ["p"])], outputs=[value("p", [1024])])), Graph(graph([], outputs=[value("row", [1024])]))
    body = [node("Gather", ["x", "i"], ["row"]), node("ReduceSum", ["row"], ["sum"], keepdims=0), node("Greater", ["sum", "zero"], ["c"]),
            node("If", ["c"], ["part"], then_branch=negated, else_branch=kept), node("Cast", ["i"], ["number"], to=FLOAT), node("Mul", ["part", "number"], ["term"]),
            node("Add", ["h", "term"], ["next"]), node("Identity", ["go"], ["stays"])]
    loop = node("Loop", ["count", "", "first"], ["last"], body=Graph(graph(body, [value(n, []) for n in ("i", "go", "h")], [value(n, []) for n in ("stays", "next")])))
    tensors = [tensor("rows", [2], [27, 1024], INT64), tensor("count", [], [27], INT64), tensor("zero", [], [0.0]), tensor("first", [1024], [0.5] * 1024),
               tensor("from", [1], [0], INT64), tensor("to", [1], [1000], INT64)]
    return model([node("Reshape", ["image", "rows"], ["x"]), loop, node("Slice", ["last", "from", "to"], ["y"])], [value("image", [1, 3, 96, 96])], [value("y", [1000])], tensors)


def check(name, network, folder):
    """Builds and runs the image."""
    path = folder / f"{name}.onnx"
    path.write_bytes(network)
    run(source / "examples/bare_metal/build.sh", uk, path, folder / name)
    image = folder / name / "net.elf"
    if run("riscv64-linux-gnu-nm", "-u", image).strip():
        sys.exit(f"{name}: undefined: {run('riscv64-linux-gnu-nm', '-u', image)}")
    said = [line.split() for line in run(*QEMU, image).splitlines()]
    # The image that main.c generates instead of reading a camera.
    (folder / "image.bin").write_bytes(struct.pack("<27648f", *(i * 37 % 251 / 128 - 1 for i in range(27648))))
    run(uk, "run", path, "--target=riscv64-p", f"--input={folder}/image.bin", f"--output={folder}/scores.bin")
    scores = (folder / "scores.bin").read_bytes()
    floats, hosted = (struct.unpack(f"<{len(scores) // 4}{kind}", scores) for kind in "fI")
    if len(set(hosted)) < 20:
        sys.exit(f"{name}: the scores are {set(floats)}: they show little")
    if [words[:3] for words in said[:-1]] != [["score", str(i), f"{b:#x}"] for i, b in enumerate(hosted)]:
        apart = [(words, f"{b:#x}") for words, b in zip(said, hosted) if words[-1] != f"{b:#x}"]
        sys.exit(f"{name}: {len(apart)} of {len(hosted)} scores differ, {len(said)} lines: {apart[:5]}")
    if said[-1] != ["class", str(floats.index(max(floats)))]:
        sys.exit(f"{name}: {said[-1]}, not {floats.index(max(floats))}")


def main():
    absent = [package for tool, package in PACKAGES.items() if not shutil.which(tool)]
    if absent:
        print(f"bare_metal skipped: needs the packages {' '.join(absent)}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as temporary:
        check("mobilenet", byte_mobilenet.network(), pathlib.Path(temporary))
        check("rows", rows(), pathlib.Path(temporary))


main()
