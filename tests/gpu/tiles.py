# SPDX-License-Identifier: Apache-2.0
"""Kernels for AMD's GPUs, inlined from their bitcode into a kernel around them (tile.c) and run in the
simulator.

    tiles.py FOLDER SIMULATOR LLVM_BIN SOURCES BITCODE...: BITCODE are the folders to search.

Requirements on each row of kernels.def, on every GPU that has it: products of integers are exact for k of 0
to 17, with 1, 5 and 16 steps per call; there are no calls, and no scratch; at least two waves fit a SIMD; the
kernel's loop has the instructions per step that the row states; reads of shared memory take no longer than
16 bytes a lane for each group of four elements, without conflicts. Of the largest tile of each instruction set at
least 98 % of the loop's vector instructions are FMAs, and reads take at most 80 % of the FMAs' time.
"""

import pathlib
import random
import re
import struct
import subprocess
import sys

folder, simulator, llvm, sources, *places = map(pathlib.Path, sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)

GPUS = {"gfx906": {"gfx906"}, "gfx90a": {"gfx906", "gfx90a"}}
REGISTERS = {"gfx906": 128, "gfx90a": 256}  # maximum for two waves per SIMD
LARGEST = {"gfx906": (8, 8), "gfx90a": (8, 16)}
FMA = {"gfx906": "v_fmac_f32", "gfx90a": "v_pk_fma_f32"}  # by the row's isa
THREADS = 16
failures = []


def tool(*command):
    result = subprocess.run([str(llvm / command[0]), *map(str, command[1:])], capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {result.stderr}")
    return result.stdout


def rows():
    text = (sources / "ukernels/registry/kernels.def").read_text(encoding="utf-8")
    row = r"^UK_KERNEL\((sgemm_s), (\d+), (\d+), (\w+), (\w+),.*\.fma = (\d+), \.loads = (\d+)(?:, \.other = (\d+))?\)$"
    for op, mr, nr, isa, impl, *counts in re.findall(row, text, re.M):
        yield f"uk_{op}_{mr}x{nr}_{isa}_{impl}", int(mr), int(nr), isa, [int(c or 0) for c in counts]


def build(symbol, mr, nr, gpu):
    """Returns the linked code object and its assembly."""
    base = folder / f"{symbol}.{gpu}"
    names = {suffix: base.with_name(base.name + "." + suffix) for suffix in ("ll", "linked.ll", "s", "o", "hsaco")}
    tool("clang", "--target=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-nogpulib", "-ffreestanding", "-fconvergent-functions", "-O2", "-std=c17",
         "-Xclang", "-disable-llvm-passes", f"-DTILE={symbol}", f"-DMR={mr}", f"-DNR={nr}", "-S", "-emit-llvm",
         sources / "tests/gpu/tile.c", "-o", names["ll"])
    bitcode = next(path for place in places if (path := place / f"amdgcn.{symbol}.bc").is_file())
    tool("llvm-link", "-S", names["ll"], bitcode, "-o", names["linked.ll"])
    text = names["linked.ll"].read_text(encoding="utf-8")
    group, = re.findall(r"^define protected amdgpu_kernel void @tile\(.*\) #(\d+)", text, re.M)
    text = text.replace(f"attributes #{group} = {{", f'attributes #{group} = {{ "amdgpu-flat-work-group-size"="256,256"', 1)
    names["linked.ll"].write_text(text, encoding="utf-8")
    tool("opt", f"-mcpu={gpu}", "-passes=internalize,default<O3>", "--internalize-public-api-list=tile", "-S", names["linked.ll"], "-o", names["ll"])
    tool("llc", f"-mcpu={gpu}", "-O3", names["ll"], "-o", names["s"])
    tool("llvm-mc", "-triple=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-filetype=obj", names["s"], "-o", names["o"])
    tool("ld.lld", "-shared", names["o"], "-o", names["hsaco"])
    return names["hsaco"], names["s"].read_text(encoding="utf-8")


def check_static(symbol, isa, gpu, text, stated, is_largest):
    def number(name):
        return int(re.search(rf"^\s+\.{name}:\s+(\d+)", text, re.M)[1])

    if number("private_segment_fixed_size") or number("vgpr_spill_count") or "s_swappc" in text:
        failures.append(f"{symbol} on {gpu}: scratch, spills or calls are left")
    if number("vgpr_count") > REGISTERS[gpu]:
        failures.append(f"{symbol} on {gpu}: {number('vgpr_count')} registers leave no room for two waves on a SIMD")
    # The kernel's loop is the block with the most FMAs.
    blocks = re.split(r"^\.LBB\w+:.*$|^; %bb.*$", text, flags=re.M)
    loop = max(blocks, key=lambda block: block.count(FMA[isa]))
    fma, vector = loop.count(FMA[isa]), len(re.findall(r"^\s+v_", loop, re.M))
    print(f"{symbol} on {gpu}: {number('vgpr_count')} registers, {fma} of {vector} vector instructions in the loop are FMAs")
    counts = [fma, len(re.findall(r"^\s+ds_read", loop, re.M)), vector - fma]
    # The others, additions of addresses, are for several steps: less than one for each is stated as none.
    steps = fma // stated[0]
    if [fma, counts[1], counts[2] // steps] != [stated[0] * steps, stated[1] * steps, stated[2]]:
        failures.append(f"{symbol} on {gpu}: kernels.def states {stated} for each step; its loop has (fma, loads, other) {counts}")
    if is_largest and fma < 0.98 * vector:
        failures.append(f"{symbol} on {gpu}: only {fma} of {vector} vector instructions of its loop are FMAs")


def simulate(hsaco, k, step, a, b, c, *options):
    paths = {}
    for name, values in (("a", a), ("b", b), ("c", c)):
        paths[name] = folder / f"{name}.bin"
        paths[name].write_bytes(struct.pack(f"{len(values)}f", *values))
    out = folder / "out.bin"
    result = subprocess.run([simulator, hsaco, "tile", "--grid=1", f"--block={THREADS * THREADS}", str(k), str(step), f"@{paths['a']}",
                             f"@{paths['b']}", f"@{paths['c']}={out}", *options], capture_output=True, text=True, check=False)
    if result.returncode:
        return None, result.stderr.strip()
    return struct.unpack(f"{len(c)}f", out.read_bytes()), result.stdout


def check_product(symbol, mr, nr, gpu, hsaco, k, step):
    random.seed(f"{symbol} {k}")
    m, n = THREADS * mr, THREADS * nr
    a = [float(random.randint(-8, 8)) for _ in range(max(k, 1) * m)]
    b = [float(random.randint(-8, 8)) for _ in range(max(k, 1) * n)]
    c = [float(random.randint(-8, 8)) for _ in range(m * n)]
    found, said = simulate(hsaco, k, step, a, b, c, f"--seed={k}")
    if found is None:
        failures.append(f"{symbol} on {gpu}, k = {k} by {step}: {said}")
        return
    right = list(c)
    for p in range(k):
        row = b[p * n : (p + 1) * n]
        for i, left in enumerate(a[p * m : (p + 1) * m]):
            if left:
                right[i * n : (i + 1) * n] = [x + left * y for x, y in zip(right[i * n : (i + 1) * n], row)]
    wrong = [i for i, (x, y) in enumerate(zip(found, right)) if x != y]
    if wrong:
        i = wrong[0]
        failures.append(f"{symbol} on {gpu}, k = {k} by {step}: c[{i // n}][{i % n}] is {found[i]}, not {right[i]}; {len(wrong)} are wrong")


def check_banks(symbol, mr, nr, gpu, hsaco, is_largest):
    """Counts what 16 more steps of k add: the kernel's reads of shared memory, compared with its FMAs. An FMA
    occupies one of four SIMDs for four cycles, so the FMAs of all waves take as many cycles as there are
    FMAs."""
    counted = []
    for k in (16, 32):
        found, text = simulate(hsaco, k, 16, [0.0] * k * THREADS * mr, [0.0] * k * THREADS * nr, [0.0] * THREADS**2 * mr * nr, "--count")
        if found is None:
            failures.append(f"{symbol} on {gpu}: {text}")
            return
        counted.append({name: int(value) for name, value in re.findall(r"^(.*?)[ :]+(\d+)$", text, re.M)})
    more = {name: counted[1][name] - counted[0][name] for name in counted[0]}
    reads, conflicts = more["lds_read_cycles"], more["lds_read_conflicts"]
    print(f"{symbol} on {gpu}: {reads} cycles of shared memory, {conflicts} of them by conflicts, for {more['fma']} of FMAs")
    # 16 steps of four waves: 8 cycles for 16 bytes of each of 64 lanes.
    if conflicts or reads != 16 * 4 * 8 * (mr + nr) // 4 or (is_largest and reads > 0.8 * more["fma"]):
        failures.append(f"{symbol} on {gpu}: reads of shared memory take {reads} cycles, and FMAs {more['fma']}; {conflicts} are conflicts")


for symbol, mr, nr, isa, stated in rows():
    for gpu, has in GPUS.items():
        if isa not in has:
            continue
        hsaco, assembly = build(symbol, mr, nr, gpu)
        is_largest = (mr, nr) == LARGEST[isa]
        check_static(symbol, isa, gpu, assembly, stated, is_largest)
        for k in (0, 1, 2, 3, 5, 6, 16, 17):
            check_product(symbol, mr, nr, gpu, hsaco, k, 16)
        check_product(symbol, mr, nr, gpu, hsaco, 17, 5)
        check_product(symbol, mr, nr, gpu, hsaco, 3, 1)
        check_banks(symbol, mr, nr, gpu, hsaco, is_largest)
for failure in failures:
    print(failure)
sys.exit(bool(failures))
