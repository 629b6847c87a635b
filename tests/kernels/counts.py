# SPDX-License-Identifier: Apache-2.0
"""The instruction counts that kernels.def states for products, against the machine code of their bitcode.

    counts.py UK LLVM_BINDIR [KERNEL...]

A row is right if an innermost loop of its kernel has u times .fma multiply-adds, u times .loads vector loads (prefetches
count: they use a load slot; of a load of several registers each counts, of ARM's halves each two) and u times .other further vector instructions, for a whole number u of steps, or one step in
a whole number of turns. Those of GPUs are for tests/gpu/tiles.py.
"""

import importlib
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "filecheck"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "ukernels", "machine"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "ukernels", "registry"))
import archs  # noqa: E402
import k_loops  # noqa: E402
import ops  # noqa: E402

PRODUCTS = ("PANELS", "RA", "RUNS", "RAB", "SAB", "RAP", "SMALL", "SMALL_TA", "NT", "SHARED", "DOT", "AXPY", "GEMV_N", "GEMV_T")
ARCHS, ISAS = archs.architectures(), archs.isas()


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def rows(uk, names):
    products = [name for name, op in ops.operations().items() if op["form"] in PRODUCTS]
    isas = [name for name in ISAS if name != "generic" and not ARCHS[ISAS[name]["arch"]]["is_device"]]
    for line in run(uk, "kernels").splitlines():
        found = re.match(rf"(\S+)\s+(?:{'|'.join(products)})\s+\S+\s+({'|'.join(isas)})\s+\S+\s+([\d.]+)/([\d.]+)/([\d.]+)\s", line)
        if found and (not names or found[1] in names):
            yield found[1], found[2], tuple(float(found[i]) for i in (3, 4, 5))


def loops(uk, bindir, kernel, isa, folder):
    assembly, code = os.path.join(folder, kernel + ".s"), os.path.join(folder, kernel + ".o")
    run(uk, "show", kernel, "--asm", "-o", assembly)
    arch = ISAS[isa]["arch"]
    features = ["-mattr=" + ",".join("+" + f for f in ISAS[isa]["features"] if f not in ISAS[isa]["private"])]
    run(os.path.join(bindir, "llvm-mc"), "-triple=" + ARCHS[arch]["triple"], *features, "-filetype=obj", assembly, "-o", code)
    text = run(os.path.join(bindir, "llvm-objdump"), "-d", code)
    for body in k_loops.functions(text.splitlines()):
        edges = k_loops.graph(body)
        for loop in k_loops.innermost(set(edges), edges):
            yield importlib.import_module("count_" + arch).count(body, loop, kernel)


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
