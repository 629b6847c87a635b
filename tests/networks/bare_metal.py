# SPDX-License-Identifier: Apache-2.0
"""MobileNet_v1 0.25/96 on bytes as an image without an operating system (examples/bare_metal/): the image has
no undefined symbols, and its scores on the serial port are, bit by bit, those of the same network under
Linux.

    bare_metal.py SOURCE UK
"""

import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

import byte_mobilenet

source, uk = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
QEMU = "qemu-system-riscv64 -M virt -bios none -display none -monitor none -serial stdio -kernel".split()
PACKAGES = {"riscv64-linux-gnu-gcc": "gcc-riscv64-linux-gnu", "qemu-system-riscv64": "qemu-system-misc", "qemu-riscv64": "qemu-user"}


def run(*words, **options):
    ran = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=500, **options)
    if ran.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit {ran.returncode}: {ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    return ran.stdout


def main():
    absent = [package for tool, package in PACKAGES.items() if not shutil.which(tool)]
    if absent:
        print(f"bare_metal skipped: needs the packages {' '.join(absent)}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        model = folder / "mobilenet.onnx"
        model.write_bytes(byte_mobilenet.network())
        run(source / "examples/bare_metal/build.sh", uk, model, folder / "bare")
        image = folder / "bare/net.elf"
        if run("riscv64-linux-gnu-nm", "-u", image).strip():
            sys.exit(f"undefined: {run('riscv64-linux-gnu-nm', '-u', image)}")
        said = [line.split() for line in run(*QEMU, image).splitlines()]
        # The image that main.c generates instead of reading a camera.
        (folder / "image.bin").write_bytes(struct.pack("<27648f", *(i * 37 % 251 / 128 - 1 for i in range(27648))))
        run(uk, "run", model, "--target=riscv64-p", f"--input={folder}/image.bin", f"--output={folder}/scores.bin")
        scores = (folder / "scores.bin").read_bytes()
        floats, hosted = (struct.unpack(f"<{len(scores) // 4}{kind}", scores) for kind in "fI")
        if len(set(hosted)) < 20:
            sys.exit(f"the scores are {set(floats)}: they show little")
        if [words[:3] for words in said[:-1]] != [["score", str(i), f"{b:#x}"] for i, b in enumerate(hosted)]:
            apart = [(words, f"{b:#x}") for words, b in zip(said, hosted) if words[-1] != f"{b:#x}"]
            sys.exit(f"{len(apart)} of {len(hosted)} scores differ, {len(said)} lines: {apart[:5]}")
        if said[-1] != ["class", str(floats.index(max(floats)))]:
            sys.exit(f"{said[-1]}, not {floats.index(max(floats))}")


main()
