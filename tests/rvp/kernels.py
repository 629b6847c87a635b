# SPDX-License-Identifier: Apache-2.0
"""Tests the kernels of riscv64 under qemu: the contract, with clang and gcc and both opcodes of P; and the
instructions of products with edges.

    kernels.py SOURCES FOLDER CLANG PLUGIN some|all

Builds in FOLDER; PLUGIN is qemu's counting plugin. `some`: only gcc with the other opcode, as cross_riscv64
runs clang, with the first kernel of each source; edges with one k, of whole tiles and of partial ones.

Exits with 77 if a tool is missing.
"""

import os
import pathlib
import shutil
import subprocess
import sys

source, folder, clang, plugin, which = sys.argv[1:]
source, folder = pathlib.Path(source), pathlib.Path(folder)
INCLUDES = [f"-I{source / room}" for room in ("ukernels", "bench", "tests/kernels", "tests/data", "tensorize", "simulate/rvp")]
GCC = ["riscv64-linux-gnu-gcc", "-march=rv64gc"]
CLANG = [clang, "--target=riscv64-linux-gnu", "-march=rv64gc", "-Wno-unused-command-line-argument"]
COMMON = [
    *sorted((source / "tests/kernels").glob("check_*.c")), "tests/data/arena.c", "bench/arguments.c", "bench/declaration.c",
    "tensorize/verify/abi_riscv64.c", "ukernels/registry/reference.c", "ukernels/registry/registry.c",
    *(f"simulate/rvp/{name}.c" for name in ("emulate", "replace", "decode", "illegal", "signals", "copies")),
]  # fmt: skip
# Maximum instructions per multiply-add of a product with one column.
MOST_OF_A_COLUMN = 0.40
failures = 0


def run(*command, env=None, check=True):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, env={**os.environ, **(env or {})})
    if check and done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done


def rows():
    text = run(sys.executable, source / "ukernels/registry/rows.py", source / "ukernels").stdout
    for line in text.splitlines():
        symbol, isa, _, path, flags, arch, _, parameters, _ = line.split("\t")
        if arch == "riscv64" and isa != "generic":
            yield symbol, path, [*flags.split(), "-DUK_PARAMETERS=" + parameters]


def objects(compiler, name, options=(), only=()):
    """Objects by symbol, of all kernels or of these."""
    made = {}
    for symbol, path, flags in rows():
        if only and symbol not in only:
            continue
        made[symbol] = folder / f"{symbol}.{name}.o"
        run(*compiler, "-std=c17", "-O2", "-Wall", "-Wextra", "-Werror", "-ffreestanding", *INCLUDES, *flags, *options,
            "-c", source / path, "-o", made[symbol])  # fmt: skip
    return made


def common():
    made = []
    # These two files are outputs of the build; riscv64's rows have no variants.
    (folder / "variants.def").write_text("", encoding="utf-8")
    (folder / "order.def").write_text(run(sys.executable, source / "ukernels/registry/order.py").stdout, encoding="utf-8")
    for path in COMMON:
        made.append(folder / (pathlib.Path(path).stem + ".o"))
        run(*GCC, "-std=gnu17", "-O2", "-DUK_ARCH_HERE=UK_ARCH_riscv64", '-DUK_VERSION=""', *INCLUDES, f"-I{folder}", "-c", source / path, "-o", made[-1])
    return made


def link(program, *arguments):
    # The registry names kernels of every architecture and asks for the CPU's features; this program calls neither.
    run(*GCC, "-std=c17", "-O1", "-static", *INCLUDES, "-Wl,--unresolved-symbols=ignore-all", "-Wl,-u,uk_rvp_start",
        source / "tests/rvp/kernels.c", *arguments, "-lm", "-o", program)  # fmt: skip


def check(name, kernels, others):
    global failures
    program = folder / ("kernels_" + name)
    link(program, *kernels.values(), *others)
    done = run("qemu-riscv64", "-cpu", "rv64", program, env={"UK_UNDER_QEMU": which}, check=False)
    print(f"{name}: {done.stdout.strip()}{done.stderr.strip()}, exit status {done.returncode}")
    failures += done.returncode != 0 or not done.stdout.endswith(f"{len(kernels)} kernels, 0 failed\n")


def count_edges(symbol, kernels, others):
    """Instructions of a product of m x n never decrease for n from 1 to 24, and one column takes at most
    MOST_OF_A_COLUMN per multiply-add."""
    global failures
    mr, nr = map(int, symbol.split("_")[-3].split("x"))
    program, counted = folder / "edges", folder / "count"
    link(program, f"-DKERNEL={symbol}", f"-DMR={mr}", f"-DNR={nr}", f"-DIN_PLACE={int('_ra_' in symbol)}", kernels[symbol], *others)
    for k in (256, 257) if which == "all" else (257,):
        for m in (24, 7, 1) if which == "all" else (24, 7):
            counts = []
            for n in range(1, 25):
                run("qemu-riscv64", "-cpu", "rv64", "-plugin", f"{plugin},symbol={symbol},out={counted}", program, m, n, k)
                counts.append(int(counted.read_text().split()[0]))
            if any(more < less for less, more in zip(counts, counts[1:])):
                failures += 1
                print(f"{symbol}, k = {k}, m = {m}: instructions fall when n grows: {counts}")
            column = counts[0] / (m * k)
            print(f"{symbol}, k = {k}, m = {m}: {column:.3f} per multiply-add at n = 1, {counts[-1] / (24 * m * k):.3f} at n = 24")
            if m == 24 and column > MOST_OF_A_COLUMN:
                failures += 1
                print(f"  more than {MOST_OF_A_COLUMN}")


def main():
    for tool in ("qemu-riscv64", GCC[0]):
        if not shutil.which(tool):
            print(f"rvp_kernels skipped: {tool} is not installed; ./uk-setup test installs it")
            sys.exit(77)
    folder.mkdir(parents=True, exist_ok=True)
    edges = ("uk_igemm_4x5_rvp_asm", "uk_igemm_ra_4x8_rvp_asm")
    others, by_clang = common(), objects(CLANG, "clang", only=edges if which == "some" else ())
    if which == "all":
        check("clang", by_clang, others)
        check("gcc", objects(GCC, "gcc"), others)
    first = {path: symbol for symbol, path, _ in reversed(list(rows()))}.values()
    check("gcc_7f", objects(GCC, "gcc_7f", ["-DUK_RVP_OPCODE=0x7f"], first if which == "some" else ()), others)
    for symbol in edges:
        count_edges(symbol, by_clang, others)
    sys.exit(failures > 0)


main()
