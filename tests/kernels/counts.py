# SPDX-License-Identifier: Apache-2.0
"""Compares the instruction counts that kernels.def states for products with the machine code of their bitcode.

    counts.py UK LLVM_BINDIR [--write] [--table=FILE] [KERNEL...]

A row is right if an innermost loop of its kernel has u times .fma multiply-adds, u times .loads vector loads and u times
.other further vector instructions. u is the number of k iterations per loop iteration: a whole number, or 1 divided by one.
Prefetches count as loads, because they use a load slot; a load of several registers counts once per register, of ARM's half
registers once per two. GPUs are left to tests/gpu/tiles.py.

--write: corrects wrong rows. They get the counts of the loop with the fewest other instructions per multiply-add. .fma follows
from the tile and is not changed; it determines u.
--table: a file other than kernels.def.
"""

import argparse

import importlib
import os
import pathlib
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


def counts(attributes):
    return tuple(float((re.search(rf"\.{name} = ([\d.]+)", attributes) or (0, 0))[1]) for name in ("fma", "loads", "other"))


def rows(text, names):
    """Yields, for products with vectors on CPUs: the position of the row's attributes, its kernel, isa and counts."""
    products = [name for name, op in ops.operations().items() if op["form"] in PRODUCTS]
    isas = [name for name in ISAS if name != "generic" and not ARCHS[ISAS[name]["arch"]]["is_device"]]
    for row in re.finditer(r"^UK_KERNEL\((\w+), (\d+), (\d+), (\w+), (\w+)(.*)\)$", text, re.M):
        op, mr, nr, isa, impl, attributes = row.groups()
        kernel = f"uk_{op}_{mr}x{nr}_{isa}_{impl}"
        if op in products and isa in isas and (not names or kernel in names) and counts(attributes)[0]:
            yield row.span(6), kernel, isa, counts(attributes)


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


def steps_of(counted, stated):
    """k iterations per loop iteration; 0: neither the number nor its inverse is whole."""
    steps = counted[0] / stated[0]
    whole = steps if steps >= 1 else 1 / steps
    return steps if whole == int(whole) else 0


def is_stated(counted, stated):
    steps = steps_of(counted, stated)
    return steps and all(c == steps * s for c, s in zip(counted, stated))


def corrected(attributes, stated, found):
    whole = [c for c in found if steps_of(c, stated)]
    if not whole:
        return attributes
    fma, loads, other = min(whole, key=lambda c: (c[1] + c[2]) / c[0])
    steps = fma / stated[0]
    attributes = re.sub(r", \.(loads|other) = [\d.]+", "", attributes)
    added = "".join(f", .{name} = {value / steps:.6g}" for name, value in (("loads", loads), ("other", other)) if value)
    return re.sub(r"(\.fma = [\d.]+)", rf"\1{added}", attributes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("uk")
    parser.add_argument("bindir")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--table", type=pathlib.Path, default=ops.FILE.parent / "kernels.def")
    parser.add_argument("kernels", nargs="*")
    given = parser.parse_intermixed_args()
    text = given.table.read_text(encoding="utf-8")
    wrong, seen = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for place, kernel, isa, stated in rows(text, given.kernels):
            found = sorted(set(c for c in loops(given.uk, given.bindir, kernel, isa, folder) if c[0]))
            seen += 1
            if not any(is_stated(c, stated) for c in found):
                wrong.append((place, stated, found))
                print(f"{kernel}: {given.table.name} states {stated} per step; its loops have (fma, loads, other) {found}")
    if given.write:
        for (begin, end), stated, found in reversed([row for row in wrong if row[2]]):
            text = text[:begin] + corrected(text[begin:end], stated, found) + text[end:]
        given.table.write_text(text, encoding="utf-8")
    print(f"{seen - len(wrong)} passed, {len(wrong)} {'written' if given.write else 'failed'}")
    sys.exit((bool(wrong) and not given.write) or not seen)


if __name__ == "__main__":
    main()
