# SPDX-License-Identifier: Apache-2.0
"""The instruction counts that kernels.def states for products, against the machine code of their bitcode.

    counts.py UK LLVM_BINDIR [KERNEL...]

A row is right if an innermost loop of its kernel has u times .fma multiply-adds, u times .loads vector loads (prefetches
count: they use a load slot; of a load of several registers each counts, of ARM's halves each two) and u times .other further vector instructions, for a whole number u of steps, or one step in
a whole number of turns.
"""

import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "filecheck"))
import k_loops  # noqa: E402


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def rows(uk, names):
    for line in run(uk, "kernels").splitlines():
        op, isa = r"(?:[sdhb]|[iu]8?)(?:gemm|dot|axpy|gemv)\w*", r"avx2|avx512\w*|" + "|".join(TRIPLES)
        found = re.match(rf"(\S+)\s+{op}\s+\S+\s+({isa})\s+\S+\s+([\d.]+)/([\d.]+)/([\d.]+)\s", line)
        if found and (not names or found[1] in names):
            yield found[1], found[2], tuple(float(found[i]) for i in (3, 4, 5))


def count_arm(body, loop, kernel=""):
    """Of AArch64 and ARM. A kernel for Cortex-A53 or A55 has registers come in parts, ldr d, ldr x and ins, which go beside
    other instructions, but for ldr d on A53: half a load."""
    fma = loads = other = 0
    core = kernel[-4:]
    for text in (body[i].text for i in loop):
        registers = re.search(r"\{(.*?)\}", text)
        registers = len(registers[1].split(",")) if registers else 1
        if core in ("_a53", "_a55") and re.match(r"ldr\s+[dx]\d", text):
            half = core == "_a53" and re.match(r"ldr\s+d", text)
            loads += 0.5 if half else 0
            other += 0 if half else 1
        elif re.match(r"v?fml[as]|vmla|vfma|[us]+dot|(us|[us]|bf)mmla|v?[us]?mull", text):
            fma += 1
        elif text.startswith(("prf", "pld")):
            loads += 1
        elif re.match(r"ldn?p\s+[qds]\d", text):
            loads += 2
        elif re.match(r"ldu?r\s+[qds]\d|vldr", text):
            loads += 1
        elif re.match(r"ld\dr?\s+\{", text):
            loads += registers
        elif text.startswith("vld"):
            loads += (registers + 1) // 2
        elif re.match(r"v|\S+.*\b[vqds]\d+\b", text):
            other += 1
    return fma, loads, other


def count(body, loop):
    fma = loads = other = 0
    for text in (body[i].text for i in loop):
        memory = "(" in text and not text.startswith("lea")
        if re.match(r"(vfn?m\w+|vpdpbusd|vdpbf16ps|vpmaddwd)\s", text):
            fma += 1
            loads += memory
        elif text.startswith("prefetch") or (memory and re.search(r"%[xyz]mm\d+$|%[xyz]mm\d+ \{", text)):
            loads += 1
        elif re.search(r"%[xyz]mm", text):
            other += 1
    return fma, loads, other


AARCH64 = "aarch64-linux-gnu"
TRIPLES = {"neon": AARCH64, "dotprod": AARCH64, "i8mm": AARCH64, "f16": AARCH64, "bf16": AARCH64, "armv7neon": "armv7-linux-gnueabihf"}


def loops(uk, bindir, kernel, isa, folder):
    assembly, code = os.path.join(folder, kernel + ".s"), os.path.join(folder, kernel + ".o")
    run(uk, "show", kernel, "--asm", "-o", assembly)
    triple = TRIPLES.get(isa, "x86_64")
    features = ["-mattr=+all"] if triple == AARCH64 else []
    run(os.path.join(bindir, "llvm-mc"), "-triple=" + triple, *features, "-filetype=obj", assembly, "-o", code)
    text = run(os.path.join(bindir, "llvm-objdump"), "-d", "--no-show-raw-insn", code)
    for body in k_loops.functions(text.splitlines()):
        edges = k_loops.graph(body)
        for loop in k_loops.innermost(set(edges), edges):
            yield count_arm(body, loop, kernel) if isa in TRIPLES else count(body, loop)


def is_stated(counted, stated):
    steps = counted[0] / stated[0]
    whole = steps if steps >= 1 else 1 / steps
    return whole == int(whole) and all(c == steps * s for c, s in zip(counted, stated))


def main():
    uk, bindir, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    wrong = seen = 0
    with tempfile.TemporaryDirectory() as folder:
        for kernel, isa, stated in rows(uk, names):
            found = sorted(set(c for c in loops(uk, bindir, kernel, isa, folder) if c[0]))
            seen += 1
            if not any(is_stated(c, stated) for c in found):
                wrong += 1
                print(f"{kernel}: kernels.def states {stated} per step; its loops have (fma, loads, other) {found}")
    print(f"{seen - wrong} passed, {wrong} failed")
    sys.exit(wrong > 0 or not seen)


if __name__ == "__main__":
    main()
