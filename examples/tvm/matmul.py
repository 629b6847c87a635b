#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A matrix product by TVM, with a micro-kernel of ukernels in the middle.

    .venv-tvm/bin/python3 examples/tvm/matmul.py [--size MxNxK] [--kernel NAME] [--stage FOLDER] [--no-time]

TVM schedules C = A * B: it packs A and B into panels, blocks the rows for the second-level cache, and tensorizes the
tile that is left with a kernel of the staged lib/ukernels/bitcode. `pragma_import_llvm` links the kernel's bitcode into
the code that TVM generates, and LLVM inlines it: no call of it may be left. The result is compared with numpy's, and the
time with that of two others, by turns on one core: the same schedule with TVM's own code for the tile, and the product
that `uk compile` makes of examples/matmul.uk.

Exit status: 0 if no call is left and the result is right, 1 if not, 2 if the kernel cannot run here.
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TVM_NUM_THREADS"] = "1"

import numpy as np
import tvm
from tvm import te
from tvm.s_tir import Schedule, TensorIntrin
from tvm.script import tirx as T

ROOT = pathlib.Path(__file__).resolve().parents[2]


def cpu_features():
    """The CPU's features, by compilers' names. TVM does not check that its target has the kernel's features."""
    for line in open("/proc/cpuinfo", encoding="ascii"):
        if line.startswith("flags"):
            return set(line.split(":")[1].split())
    return set()


def choose_kernel(bitcode, name):
    """The row of kernels.json with this name, or the largest sgemm that this CPU runs, preferably in assembly."""
    rows = json.loads((bitcode / "kernels.json").read_text(encoding="utf-8"))
    rows = [row for row in rows if row["arch"] == "x86_64"]
    have = cpu_features()
    if name:
        rows = [row for row in rows if row["symbol"] == name and row["op"] == "sgemm"]
        if not rows:
            sys.exit(f"no kernel of the operation sgemm is called {name}; `uk kernels` lists them")
        lacking = [f for f in rows[0]["features"] if f not in have]
        if lacking:
            print(f"{name} needs {', '.join(lacking)}, which this CPU does not have")
            sys.exit(2)
        return rows[0]
    rows = [row for row in rows if row["op"] == "sgemm" and have.issuperset(row["features"])]
    return max(rows, key=lambda row: (row["mr"] * row["nr"], row["impl"] == "asm"))


def register(row, depth):
    """Registers a TensorIntrin of the kernel's name: its declaration for panels of this depth, and its call."""
    symbol, mr, nr = row["symbol"], row["mr"], row["nr"]

    @T.prim_func(s_tir=True)
    def declaration(
        A: T.Buffer((depth, mr), "float32", offset_factor=1),
        B: T.Buffer((depth, nr), "float32", offset_factor=1),
        C: T.Buffer((mr, nr), "float32", offset_factor=1),
    ) -> None:
        with T.sblock("root"):
            T.reads(C[0:mr, 0:nr], A[0:depth, 0:mr], B[0:depth, 0:nr])
            T.writes(C[0:mr, 0:nr])
            for i, j, k in T.grid(mr, nr, depth):
                with T.sblock("update"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    C[vi, vj] = C[vi, vj] + A[vk, vi] * B[vk, vj]

    # void SYMBOL(int64_t k, const float *a, const float *b, float *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr):
    # the types must match exactly; an int32 in place of an int64 would prevent inlining.
    @T.prim_func(s_tir=True)
    def call(
        A: T.Buffer((depth, mr), "float32", offset_factor=1),
        B: T.Buffer((depth, nr), "float32", offset_factor=1),
        C: T.Buffer((mr, nr), "float32", offset_factor=1),
    ) -> None:
        with T.sblock("root"):
            T.reads(C[0:mr, 0:nr], A[0:depth, 0:mr], B[0:depth, 0:nr])
            T.writes(C[0:mr, 0:nr])
            T.evaluate(
                T.call_extern(
                    "void", symbol, T.int64(depth), A.access_ptr("r"), B.access_ptr("r"), C.access_ptr("rw"),
                    T.int64(nr), T.int64(1), T.int64(mr), T.int64(nr),
                )
            )

    TensorIntrin.register(symbol, declaration, call, override=True)


def product(M, N, K, mr, nr):
    """Computes C in tiles from panels of A and B; the last panels are padded with zeros."""
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, N), name="B")
    tiles_m, tiles_n = -(-M // mr), -(-N // nr)

    def panel_a(o, k, i):
        return te.if_then_else(o * mr + i < M, A[o * mr + i, k], 0.0)

    def panel_b(o, k, j):
        return te.if_then_else(o * nr + j < N, B[k, o * nr + j], 0.0)

    AP = te.compute((tiles_m, K, mr), panel_a, name="AP")
    BP = te.compute((tiles_n, K, nr), panel_b, name="BP")
    k = te.reduce_axis((0, K), name="k")
    tile = te.compute(
        (tiles_m, tiles_n, mr, nr), lambda mo, no, mi, ni: te.sum(AP[mo, k, mi] * BP[no, k, ni], axis=k), name="tile"
    )
    C = te.compute((M, N), lambda m, n: tile[m // mr, n // nr, m % mr, n % nr], name="C")
    return te.create_prim_func([A, B, C])


def second_level_cache():
    try:
        text = pathlib.Path("/sys/devices/system/cpu/cpu0/cache/index2/size").read_text(encoding="ascii")
        return min(int(text.strip().rstrip("K")) * 1024, 2 << 20)
    except (OSError, ValueError):
        return 1 << 20


def schedule(M, N, K, mr, nr, row, bitcode):
    """Tiles inside blocks of rows whose panels of A take half of the L2 cache, so that each panel of B that is loaded from
    beyond L2 serves a whole block. A tile's sums stay in a buffer of one tile until they are written to C. The kernel
    computes the tiles if `row` is given, else TVM's own code."""
    s = Schedule(product(M, N, K, mr, nr))
    m, n = s.get_loops(s.get_sblock("C"))
    mo, mi = s.split(m, [None, mr])
    no, ni = s.split(n, [None, nr])
    s.reorder(mo, no, mi, ni)
    s.vectorize(ni)
    tile = s.get_sblock("tile")
    s.compute_at(tile, no)
    i, j, k = s.get_loops(tile)[-3:]
    if not row:
        s.reorder(k, i, j)
        s.unroll(i)
        s.vectorize(j)
        s.decompose_reduction(tile, k)
    else:
        zero = s.decompose_reduction(tile, i)
        s.vectorize(s.get_loops(zero)[-1])
        s.tensorize(i, row["symbol"])
    block, mo = s.split(mo, [None, max(1, second_level_cache() // 2 // (mr * K * 4))])
    s.reorder(block, no, mo)
    if row:
        s.annotate(block, "pragma_import_llvm", str(bitcode / row["bitcode"]))
    _, k, i = s.get_loops(s.get_sblock("AP"))
    k, ki = s.split(k, [None, 16])
    s.reorder(k, i, ki)
    s.unroll(i)
    s.vectorize(ki)
    o, k, j = s.get_loops(s.get_sblock("BP"))
    s.reorder(k, o, j)
    s.vectorize(j)
    return s.mod


def compile_by_tvm(module, row):
    attributes = ["+" + feature for feature in row["features"]]
    return tvm.compile(module, target=tvm.target.Target({"kind": "llvm", "mcpu": "x86-64", "mattr": attributes}))


def compile_by_uk(stage, folder):
    """Compiles the same product to a shared object; its function's arguments: sizes, row strides, tensors."""
    path = folder / "matmul.so"
    subprocess.run(
        [stage / "bin/uk", "compile", ROOT / "examples/matmul.uk", "--emit=shared", "-o", path], check=True
    )
    return ctypes.CDLL(str(path)).matmul


def check_calls(code, symbol):
    assembly = code.mod.inspect_source("asm")
    mentions = len(re.findall(rf"\b{symbol}\b", assembly))
    print(f"calls of {symbol} left in the assembly: {mentions}; multiply-adds in it: {assembly.count('vfmadd')}")
    return mentions == 0


def check_result(name, run, a, b, c):
    """Compares with numpy on integers, for which every order of summation gives the same result."""
    rng = np.random.default_rng(1)
    for operand in (a, b):
        operand[:] = rng.integers(-4, 5, operand.shape)
    c[:] = np.nan
    run()
    wrong = int((c != a @ b).sum())
    print(f"{name}: {'equal to numpy' if not wrong else f'{wrong} elements differ from numpy'}")
    return wrong == 0


def seconds(run, times):
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def compare(runs, operations):
    """Times the functions in alternation; medians over rounds of the times and of the ratios within a round."""
    first = next(iter(runs))
    times = max(1, int(0.01 / max(seconds(runs[first], 2), 1e-7)))
    rounds = [{name: seconds(run, times) for name, run in runs.items()} for _ in range(25)]
    for name in runs:
        own = statistics.median(r[name] for r in rounds)
        ratio = statistics.median(r[name] / r[first] for r in rounds)
        print(f"time: {name}: {own * 1e3:.3f} ms, {operations / own * 1e-9:.1f} GFLOP/s"
              + (f"; {first} has {ratio:.2f} x its speed" if name != first else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--size", default="1024x1024x1024", help="MxNxK (default: %(default)s)")
    parser.add_argument("--kernel", help="of kernels.json, operation sgemm (default: the widest that this CPU runs)")
    parser.add_argument("--stage", type=pathlib.Path, default=ROOT / "build/stage", help="where ukernels is installed")
    parser.add_argument("--no-time", action="store_true", help="only check")
    options = parser.parse_args()
    M, N, K = map(int, options.size.split("x"))
    bitcode = options.stage / "lib/ukernels/bitcode"
    row = choose_kernel(bitcode, options.kernel)
    mr, nr = row["mr"], row["nr"]
    print(f"TVM {tvm.__version__} with LLVM {tvm.target.codegen.llvm_version_major()}, {M} x {N} x {K}, {row['symbol']}")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    register(row, K)
    code = compile_by_tvm(schedule(M, N, K, mr, nr, row, bitcode), row)
    good = check_calls(code, row["symbol"])
    if not good:
        return 1
    plain = compile_by_tvm(schedule(M, N, K, mr, nr, None, bitcode), row)
    tensors = [tvm.runtime.empty(shape, "float32") for shape in ((M, K), (K, N), (M, N))]
    a, b, c = (np.from_dlpack(tensor) for tensor in tensors)
    with tempfile.TemporaryDirectory() as folder:
        own = compile_by_uk(options.stage, pathlib.Path(folder))
        arguments = [ctypes.c_int64(n) for n in (M, N, K, K, N, N)] + [ctypes.c_void_p(x.ctypes.data) for x in (a, b, c)]
        with_kernel, without = code["main"], plain["main"]
        runs = {
            "TVM with the kernel": lambda: with_kernel(*tensors),
            "TVM's own code": lambda: without(*tensors),
            "uk": lambda: own(*arguments),
        }
        for name, run in runs.items():
            good &= check_result(name, run, a, b, c)
        if good and not options.no_time:
            compare(runs, 2.0 * M * N * K)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
