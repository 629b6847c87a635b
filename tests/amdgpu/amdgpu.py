# SPDX-License-Identifier: Apache-2.0
"""Tests the simulator of AMD's GPUs: amdgpu.py PART FOLDER SIMULATOR LLVM_BIN SOURCE [PROGRAM MUTANTS [new]].

    programs   kernels compiled from programs.c give the right results; refusals are messages of one line
    waits      without one wait or barrier of a product, or with one count raised, there is always a report
    reports    assembly kernels with one mistake each, and corrected
    scratch    kernels compiled from scratch.c, with buffer_NAME, scratch_NAME and flat_NAME, are right
    banks      LDS cycles and conflicts, compared with a model of its phases
    times      cycles of blocks that PROGRAM prints, of kernels whose instructions are counted by hand; a wait behind
               each load of a product makes it slower
    library    PROGRAM calls the library, and launches MUTANTS damaged code objects per GPU, the same ones or,
               with `new`, new ones
"""

import ctypes
import math
import pathlib
import random
import re
import struct
import subprocess
import sys

from assembly import CASES, kernels

GPUS = ("gfx906", "gfx90a")


class Bench:
    def __init__(self, folder, simulator, llvm, source, *rest):
        self.rest = rest
        self.folder, self.simulator = pathlib.Path(folder), pathlib.Path(simulator).resolve()
        self.llvm, self.source = pathlib.Path(llvm), source
        self.folder.mkdir(parents=True, exist_ok=True)
        self.checks = 0

    def tool(self, *command):
        result = subprocess.run([str(self.llvm / command[0]), *map(str, command[1:])], capture_output=True, text=True, check=False)
        if result.returncode:
            sys.exit(f"{' '.join(map(str, command))}: {result.stderr}")
        return result.stdout

    def compile(self, gpu, source="programs.c", *options):
        out = self.folder / f"{pathlib.Path(source).stem}.{gpu}.hsaco"
        self.tool("clang", "--target=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-nogpulib", "-O3", "-std=c17", "-Wall", "-Werror",
                  *options, "-o", out, pathlib.Path(self.source) / source)
        return out

    def assemble(self, gpu, text, name):
        source = self.file(f"{name}.s", text.encode())
        out = self.folder / f"{name}.hsaco"
        self.tool("llvm-mc", "-triple=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-filetype=obj", "-o", self.folder / f"{name}.o", source)
        self.tool("ld.lld", "-shared", "-o", out, self.folder / f"{name}.o")
        return out

    def file(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def run(self, *arguments):
        """Returns status, standard output and standard error."""
        result = subprocess.run([self.simulator, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=self.folder)
        self.checks += 1
        return result.returncode, result.stdout, result.stderr

    def passes(self, *arguments):
        status, out, err = self.run(*arguments)
        if status or err:
            sys.exit(f"{' '.join(map(str, arguments))}: status {status}, {err}")
        return out

    def refused(self, why, *arguments, status=1):
        """Checks that the message is one line with the reason."""
        found, out, err = self.run(*arguments)
        if found != status or out or why not in err or (status == 1 and err.count("\n") != 1):
            sys.exit(f"{' '.join(map(str, arguments))}: status {found}, not {status} with {why!r}: {out}{err}")

    def read(self, name, kind):
        data = (self.folder / name).read_bytes()
        return struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def test_vadd(bench, gpu, image):
    rng = random.Random(1)
    for n in (0, 1, 63, 64, 65, 1000):
        x, y = ([rng.randrange(-1000, 1000) / 8 for _ in range(n)] for _ in range(2))
        bench.file("x", floats(x))
        bench.file("y", floats(y))
        for seed in range(3):
            bench.passes(image, "vadd", f"--grid={n // 64 + 1}", "--block=64", f"--seed={seed}", "@x", "@y", f"zero:{4 * n}=z", n)
            if bench.read("z", "f") != tuple(a + b for a, b in zip(x, y)):
                sys.exit(f"{gpu}: vadd of {n} elements is wrong")
    counts = dict(line.split() for line in bench.passes(
        image, "vadd", "--grid=16", "--block=64", "@x", "@y", "zero:4000", 1000, "--count").splitlines())
    wanted = {"load": 32, "store": 16, "flops": 1000, "load_bytes": 8000, "store_bytes": 4000, "other": 16}
    for name, count in wanted.items():
        if int(counts[name]) != count:
            sys.exit(f"{gpu}: vadd has {counts[name]} {name}, not {count}")


def test_places(bench, gpu, image):
    bench.passes(image, "places", "--grid=3,2,2", "--block=4,6,5", f"zero:{4 * 12 * 12 * 10}=z")
    if bench.read("z", "i") != tuple(10000 * w + 100 * y + x for w in range(10) for y in range(12) for x in range(12)):
        sys.exit(f"{gpu}: threads are in wrong places")


def test_sizes(bench, gpu, image):
    bench.passes(image, "sizes", "--block=4,3,2", "zero:16=z")
    if bench.read("z", "i") != (4, 3, 2, 4):
        sys.exit(f"{gpu}: wrong sizes")
    text = bench.passes(image, "vadd", "--grid=3", "--block=64", "@x", "@y", "zero:4000", 0, "--listing")
    executed = [line.split(None, 2) for line in text.splitlines()]
    stores = [int(count) for _, count, what in executed if what.startswith("global_store")]
    ends = [int(count) for _, count, what in executed if what.startswith("s_endpgm")]
    if stores != [0] or ends != [3]:
        sys.exit(f"{gpu}: the listing of vadd: {text}")


def rounded(value):
    return ctypes.c_float(value).value


def test_divide(bench, gpu, image):
    rng = random.Random(3)
    ends = [0.0, -0.0, math.inf, -math.inf, math.nan, 2.0 ** -149, 2.0 ** -126, 3.4028234663852886e38, 1.0, 3.0, 2.0 ** 126, 2.0 ** 127, -7.0]
    pairs = [(x, y) for x in ends for y in ends]
    pairs += [tuple(rounded(math.ldexp(rng.uniform(-2, 2), rng.randrange(-150, 128))) for _ in range(2)) for _ in range(2000)]
    n = len(pairs)
    bench.file("x", floats([x for x, _ in pairs]))
    bench.file("y", floats([y for _, y in pairs]))
    bench.passes(image, "divide", f"--grid={n // 64 + 1}", "--block=64", "@x", "@y", f"zero:{4 * n}=q", f"zero:{4 * n}=r", n)
    for (x, y), quotient, root in zip(pairs, bench.read("q", "f"), bench.read("r", "f")):
        if y:
            wanted = rounded(x / y)
        else:
            wanted = math.nan if not x or math.isnan(x) else math.copysign(math.inf, x) * math.copysign(1, y)
        wanted_root = math.nan if math.isnan(x) or x < 0 else rounded(math.sqrt(x))
        if repr(wanted) != repr(quotient) or (repr(wanted_root) != repr(root) and x):
            sys.exit(f"{gpu}: {x!r} / {y!r} is {quotient!r}, not {wanted!r}; its root {root!r}, not {wanted_root!r}")


def test_integers(bench, gpu, image):
    rng = random.Random(4)
    ends = [0, 1, -1, 2, 3, 7, 1 << 30, (1 << 31) - 1, -(1 << 31), 1000003]
    pairs = [(x, y) for x in ends for y in ends if y and (x, y) != (-(1 << 31), -1)]
    pairs += [(rng.randrange(-(1 << 31), 1 << 31), rng.choice((1, -1)) * rng.randrange(1, 1 << rng.randrange(1, 31))) for _ in range(500)]
    n = len(pairs)
    bench.file("x", struct.pack(f"<{n}i", *(x for x, _ in pairs)))
    bench.file("y", struct.pack(f"<{n}i", *(y for _, y in pairs)))
    bench.passes(image, "integers", f"--grid={n // 64 + 1}", "--block=64", "@x", "@y", f"zero:{4 * n}=q", f"zero:{4 * n}=r", f"zero:{8 * n}=p", n)
    cut = lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    wanted = [(cut(x, y), x % (1 << 32) % (y % (1 << 32)), cut(x * y, 3)) for x, y in pairs]
    for pair, want, *found in zip(pairs, wanted, bench.read("q", "i"), bench.read("r", "I"), bench.read("p", "q")):
        if want != tuple(found):
            sys.exit(f"{gpu}: {pair}: {found}, not {want}")


def test_exponentials(bench, gpu, image):
    rng, n, m = random.Random(5), 70, 9
    x = [rounded(rng.uniform(-80, 80)) for _ in range(n * m)]
    bench.file("x", floats(x))
    bench.passes(image, "exponentials", "--grid=2", "--block=64", "@x", f"zero:{4 * n * m}=y", n, m)
    y = bench.read("y", "f")
    for i in range(n):
        row = [math.exp(rounded(a - max(x[i * m:i * m + m]))) for a in x[i * m:i * m + m]]
        for a, b in zip(row, y[i * m:i * m + m]):
            if abs(a / sum(row) - b) > 2.0 ** -20 * a / sum(row) + 2.0 ** -140:
                sys.exit(f"{gpu}: an exponential is {b}, not {a / sum(row)}")


def test_convolution(bench, gpu, image):
    rng, height, width = random.Random(6), 13, 11
    x, w = ([rng.randrange(-9, 10) for _ in range(n)] for n in (height * width, 9))
    bench.file("x", floats(x))
    bench.file("w", floats(w))
    bench.passes(image, "convolution", "--grid=3", "--block=64", "@x", "@w", f"zero:{4 * height * width}=y", height, width)
    at = lambda r, c: x[r * width + c] if 0 <= r < height and 0 <= c < width else 0
    wanted = [max(0, sum(at(r + a, c + b) * w[3 * a + b + 4] for a in (-1, 0, 1) for b in (-1, 0, 1))) for r in range(height) for c in range(width)]
    if list(bench.read("y", "f")) != wanted:
        sys.exit(f"{gpu}: the convolution is wrong")


def test_refused(bench, gpu, image):
    vadd = (image, "vadd", "--grid=16", "--block=64", "@x", "@y")
    bench.file("x", bytes(4000))
    bench.file("y", bytes(4000))
    bench.refused("vadd takes 4 arguments, not 3", *vadd, "zero:4000")
    bench.refused("argument 3, f64:2: the kernel takes 4 bytes", *vadd, "zero:4000", "f64:2")
    bench.refused("argument 3, zero:8: the kernel takes a value", *vadd, "zero:4000", "zero:8")
    bench.refused("argument 2, 7: the kernel takes a buffer", *vadd, 7, 1000)
    bench.refused("argument 3, many: not a number", *vadd, "zero:4000", "many")
    bench.refused("nothing.bin: No such file", image, "vadd", "@nothing.bin", "@y", "zero:4", 1)
    bench.refused("has no kernel vsub", image, "vsub", "@x")
    bench.refused("a block of 1,1,0 threads", image, "vadd", "--block=1,1,0", "@x", "@y", "zero:4", 1)
    bench.refused("a block of 1024,2,1 threads", image, "vadd", "--block=1024,2,1", "@x", "@y", "zero:4", 1)
    bench.refused("a grid of 1,65536,1 blocks", image, "vadd", "--grid=1,65536,1", "@x", "@y", "zero:4", 1)
    bench.refused("after 100 instructions of waves, the limit", *vadd, "zero:4000", 1000, "--max-steps=100")
    bench.refused("not an option", image, "vadd", "--blocks=1", status=2)
    bench.refused("usage", status=2)
    bench.refused("is not an ELF file", "x")
    bench.refused("not for amdgcn", sys.executable)
    other = bench.compile("gfx1100")
    bench.refused("for another GPU (ELF flags 0x41)", other)
    bench.tool("clang", "--target=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-nogpulib", "-O3", "-c", "-o", bench.folder / "p.o",
               pathlib.Path(bench.source) / "programs.c")
    bench.refused("is not linked", "p.o")
    out = bench.passes(image)
    if "vadd: " not in out or "3: 4 bytes at 24, by_value" not in out:
        sys.exit(f"the list of kernels is {out}")
    # Out of bounds by one byte, at either end.
    bench.refused("a store of 4 bytes", *vadd, "zero:3999", 1000)
    bench.refused("at its byte 3996", *vadd, "zero:3999", 1000)
    bench.refused("a load of 4 bytes", *vadd, "zero:8000", 1001)


def programs(bench):
    for gpu in GPUS:
        image = bench.compile(gpu)
        test_vadd(bench, gpu, image)
        test_places(bench, gpu, image)
        test_sizes(bench, gpu, image)
        test_divide(bench, gpu, image)
        test_integers(bench, gpu, image)
        test_exponentials(bench, gpu, image)
        test_convolution(bench, gpu, image)
        test_refused(bench, gpu, image)


def product(bench, image, m, n, k, *options):
    rng = random.Random(2)
    a, b = ([rng.randrange(-4, 5) for _ in range(k * size)] for size in (m, n))
    bench.file("a", floats(a))
    bench.file("b", floats(b))
    command = (image, "product", f"--grid={n // 64},{m // 64}", "--block=256", *options, "@a", "@b", f"zero:{4 * m * n}=c", m, n, k)
    columns = [b[j::n] for j in range(n)]
    rows = [a[i::m] for i in range(m)]
    return command, tuple(float(sum(x * y for x, y in zip(row, column))) for row in rows for column in columns)


def waits(bench):
    for gpu in GPUS:
        out = bench.folder / f"product.{gpu}.s"
        bench.tool("clang", "--target=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-nogpulib", "-O3", "-S", "-o", out,
                   pathlib.Path(bench.source) / "programs.c")
        lines = out.read_text().split("\n")
        for seed in range(4):
            command, wanted = product(bench, bench.assemble(gpu, "\n".join(lines), f"whole.{gpu}"), 128, 64, 24, f"--seed={seed}")
            bench.passes(*command)
            if bench.read("c", "f") != wanted:
                sys.exit(f"{gpu}: the product is wrong")
        begin = next(i for i, line in enumerate(lines) if line.startswith("product:"))
        end = next(i for i in range(begin, len(lines)) if "s_endpgm" in lines[i])
        broken = 0
        for i in range(begin, end):
            found = re.match(r"\s+s_(waitcnt|barrier)(.*)", lines[i])
            if not found:
                continue
            # Removes the instruction, and raises each of its counts by one.
            counts = re.findall(r"\w+cnt\(\d+\)", found[2])
            changes = ["s_nop 0"]
            for count in counts:
                name, number = re.match(r"(\w+)\((\d+)\)", count).groups()
                raised = f"{name}({int(number) + 1})"
                changes.append("s_waitcnt " + " ".join(raised if c == count else c for c in counts))
            for change in changes:
                text = lines[:i] + [change] + lines[i + 1:]
                command, _ = product(bench, bench.assemble(gpu, "\n".join(text), f"broken.{gpu}"), 128, 64, 24)
                bench.refused("before an s_waitcnt for" if "cnt" in lines[i] and "race" not in bench.run(*command)[2] else "race: ", *command)
                broken += 1
        if broken < 20:
            sys.exit(f"{gpu}: only {broken} waits and barriers were found")


def reports(bench):
    bench.file("z", bytes(4096))
    for gpu in GPUS:
        mended = {name: fix(text) for name, (_, _, text, fix) in CASES.items()}
        broken = bench.assemble(gpu, kernels(gpu, {name: text for name, (_, _, text, _) in CASES.items()}, scratch=48), f"broken.{gpu}")
        whole = bench.assemble(gpu, kernels(gpu, mended, scratch=48), f"mended.{gpu}")
        for name, (why, block, text, _) in CASES.items():
            arguments = (name, "--grid=2", f"--block={block}", "--max-steps=100000", "@z=out")
            bench.refused(why, broken, *arguments)
            if mended[name] != text:
                bench.passes(whole, *arguments)
        # The seed determines the order of waves: which access the message calls the second differs between seeds, not
        # for one seed.
        seen = {bench.run(broken, "race_lds", "--block=128", f"--seed={seed}", "@z")[2] for seed in (*range(8), *range(8))}
        if not 1 < len(seen) <= 8 or not all("race: " in text for text in seen):
            sys.exit(f"{gpu}: orders of waves: {seen}")


WORDS, SPILLED = 20, 150  # as in scratch.c


def permuted(t):
    for k in range(WORDS - 1):
        j = k + t[k] % (WORDS - k)
        t[k], t[j] = t[j], t[k]
    return t


def hashed(values):
    small, half, out = [0] * WORDS, [0] * WORDS, 0
    for value in values:
        small[value % WORDS] = (small[value % WORDS] - 3 + 128) % 256 - 128
        half[value // WORDS % WORDS] = (half[value // WORDS % WORDS] + 40000) % 65536
    for a, b in zip(small, half):
        out = (out * 31 + a * b) % (1 << 32)
    return out


def scratch(bench):
    rng, n = random.Random(7), 256
    x = [rng.randrange(1 << 31) for _ in range(SPILLED * n)]
    rows = [x[WORDS * i:WORDS * i + WORDS] for i in range(n)]
    bench.file("x", struct.pack(f"<{len(x)}I", *x))
    wanted = {
        "words": [word for row in rows for word in permuted(list(row))],
        "bytes": [hashed(row) for row in rows],
        "either": [row[row[1] % WORDS] * (1 if row[0] % 2 else 3) % (1 << 32) for row in rows],
        "spilled": [(x[(SPILLED - 1 - k) * n + i] + x[k * 7 % SPILLED * n + i]) % (1 << 32) for k in range(SPILLED) for i in range(n)],
    }
    for gpu in GPUS:
        for options, prefix in (((), "buffer_"), (("-Xclang", "-target-feature", "-Xclang", "+enable-flat-scratch"), "scratch_")):
            image = bench.compile(gpu, "scratch.c", *options)
            for name, values in wanted.items():
                listing = bench.passes(image, name, "--grid=2", "--block=128", "@x", f"zero:{4 * len(values)}=y", "--listing")
                if bench.read("y", "I") != tuple(values):
                    sys.exit(f"{gpu} {options}: {name} is wrong")
                if prefix not in listing or (name == "either" and " flat_" not in listing):
                    sys.exit(f"{gpu} {options}: {name} has no {prefix}NAME: {listing}")


PHASES_16 = [[0, 1, 2, 3, 20, 21, 22, 23], [4, 5, 6, 7, 16, 17, 18, 19], [8, 9, 10, 11, 28, 29, 30, 31], [12, 13, 14, 15, 24, 25, 26, 27]]
PHASES_16 += [[lane + 32 for lane in phase] for phase in PHASES_16]


def modelled(name, size, addresses):
    """Returns cycles, and those due to conflicts: per phase, the largest number of different words in one
    bank."""
    per_phase = {4: 32, 8: 16, 16: 8}[size]
    phases = [list(range(i, i + per_phase)) for i in range(0, 64, per_phase)]
    if name == "ds_read_b128":
        phases = PHASES_16
    cycles = added = 0
    for phase in phases:
        banks = {}
        for lane in phase:
            for word in range(addresses[lane] // 4, (addresses[lane] + size) // 4):
                banks.setdefault(word % 32, set()).add(word)
        worst = max(len(words) for words in banks.values())
        cycles += worst
        added += worst - 1
    return cycles, added


def banks(bench):
    tests = {}
    for name, size, registers in (("ds_read_b32", 4, "v2"), ("ds_read_b64", 8, "v[2:3]"), ("ds_read_b128", 16, "v[2:5]"),
                                  ("ds_write_b32", 4, "v2"), ("ds_write_b64", 8, "v[2:3]"), ("ds_write_b128", 16, "v[2:5]")):
        for factor, mask in ((size, 63), (2 * size, 63), (4, 63), (4 * 33, 63), (128, 63), (size, 7), (64, 15), (16, 63), (16, 24), (16, 19), (32, 56)):
            operands = f"v1, {registers}" if "write" in name else f"{registers}, v1"
            text = f"v_and_b32 v1, {mask}, v0\nv_mul_u32_u24 v1, {factor}, v1\n" + "".join(f"v_mov_b32 v{i}, 0\n" for i in range(2, 6))
            tests[f"{name}_{factor}_{mask}"] = (name, size, factor, mask, f"{text}{name} {operands}\ns_waitcnt lgkmcnt(0)\n")
    for gpu in GPUS:
        image = bench.assemble(gpu, kernels(gpu, {key: test[4] for key, test in tests.items()}, 16384), f"banks.{gpu}")
        for key, (name, size, factor, mask, _) in tests.items():
            counts = dict(line.split() for line in bench.passes(image, key, "--block=64", "zero:4", "--count").splitlines())
            kind = "write" if "write" in name else "read"
            found = int(counts[f"lds_{kind}_cycles"]), int(counts[f"lds_{kind}_conflicts"])
            wanted = modelled(name, size, [(lane & mask) * factor for lane in range(64)])
            if found != wanted:
                sys.exit(f"{name}, {factor} * (lane & {mask}): {found} cycles and conflicts, not {wanted}")


def library(bench):
    program, mutants, *new = bench.rest
    seed = random.randrange(1 << 30) if new else 1
    for gpu in GPUS:
        image = bench.compile(gpu)
        result = subprocess.run([pathlib.Path(program).resolve(), image, str(seed), mutants], check=False)
        if result.returncode:
            sys.exit(f"{program} {image} {seed} {mutants}: {result.returncode}")
        bench.checks += int(mutants)


LOAD = "global_load_dword v2, v10, s[4:5]\n"
WAIT = "s_waitcnt vmcnt(0)\n"
BRANCH = "v_readfirstlane_b32 s8, v0\ns_cmp_lt_u32 s8, 64\ns_cbranch_scc1 other\n" + "v_mov_b32 v2, 0\n" * 10 + "other:\ns_barrier\n"
BRANCH += "s_cmp_lt_u32 s8, 64\ns_cbranch_scc0 past\n" + "v_mov_b32 v2, 0\n" * 10 + "past:\n"
# Text, threads, and the expected cycles of vector, scalar, memory and LDS instructions and from begin to end, besides those
# of the kernel's begin and end: 1 vector and 3 scalar ones a wave, and the time from its first scalar load to its value.
TIMES = {
    "empty": ("", 64, lambda lds, l2, memory, f64: (0, 0, 0, 0, 0)),
    "adds": ("v_add_f32 v2, v2, v2\n" * 10, 64, lambda lds, l2, memory, f64: (40, 0, 0, 0, 40)),
    "waves": ("v_add_f32 v2, v2, v2\n" * 10, 256, lambda lds, l2, memory, f64: (160, 0, 0, 0, 40)),
    "slow": ("v_rcp_f32 v2, v2\nv_mul_lo_u32 v2, v2, v2\n", 64, lambda lds, l2, memory, f64: (32, 0, 0, 0, 32)),
    "f64": ("v_add_f64 v[2:3], v[2:3], v[2:3]\n", 64, lambda lds, l2, memory, f64: (f64, 0, 0, 0, f64)),
    "scalar": ("s_mov_b32 s8, 0\n" * 3, 64, lambda lds, l2, memory, f64: (0, 12, 0, 0, 12)),
    "load": (LOAD + WAIT, 64, lambda lds, l2, memory, f64: (0, 4, 4, 0, memory + 4)),
    "hidden": (LOAD + "v_mov_b32 v3, 0\n" * 50 + WAIT, 64, lambda lds, l2, memory, f64: (200, 4, 4, 0, memory + 4)),
    "unhidden": (LOAD + "v_mov_b32 v3, 0\n" * 200 + WAIT, 64, lambda lds, l2, memory, f64: (800, 4, 4, 0, 808)),
    "again": ((LOAD + WAIT) * 2, 64, lambda lds, l2, memory, f64: (0, 8, 8, 0, memory + l2 + 8)),
    "lds": ("ds_read_b32 v2, v10\ns_waitcnt lgkmcnt(0)\n", 64, lambda lds, l2, memory, f64: (0, 4, 0, 4, lds + 4)),
    "nops": ("s_nop 0\ns_nop 7\n", 64, lambda lds, l2, memory, f64: (0, 8, 0, 0, 36)),
    "barrier": (BRANCH, 128, lambda lds, l2, memory, f64: (88, 40, 0, 0, 104)),
}
# The same on gfx90a, after those cycles those of the matrix units: one begins when the one before it has ended, and
# overlaps with other instructions, except one of f64.
MATRIX = "v_mfma_f32_32x32x2f32 v[12:27], v2, v3, v[12:27]\n"
SMALL = "v_mfma_f32_4x4x1f32 v[28:31], v2, v3, v[28:31]\n"
F64 = "v_mfma_f64_16x16x4f64 v[32:39], v[2:3], v[4:5], v[32:39]\n"
MATRIX_TIMES = {
    "matrix": (MATRIX, 64, lambda *_: (4, 0, 0, 0, 4, 64)),
    "matrix_chain": (MATRIX * 3, 64, lambda *_: (12, 0, 0, 0, 132, 192)),
    "matrix_mixed": (MATRIX + SMALL + MATRIX, 64, lambda *_: (12, 0, 0, 0, 76, 136)),
    "matrix_beside": (MATRIX + "v_mov_b32 v6, 0\n" * 10 + MATRIX, 64, lambda *_: (48, 0, 0, 0, 68, 128)),
    "matrix_behind": (MATRIX + "v_mov_b32 v6, 0\n" * 20 + MATRIX, 64, lambda *_: (88, 0, 0, 0, 88, 128)),
    "matrix_read": (MATRIX + "s_nop 7\ns_nop 7\ns_nop 2\nv_mov_b32 v6, v12\n", 64, lambda *_: (8, 12, 0, 0, 84, 64)),
    "matrix_waves": (MATRIX * 2, 256, lambda *_: (32, 0, 0, 0, 68, 512)),
    "matrix_f64": (F64 + "v_mov_b32 v6, 0\n", 64, lambda *_: (36, 0, 0, 0, 36, 32)),
}

# Kernels of 8 blocks, and how many kinds of these there are; 0: they cannot be told. s2 is the block.
MOVED = "s_lshl_b32 s8, s2, 8\nv_add_u32 v10, s8, v10\n"
KINDS = {
    "alike": (MOVED + LOAD + WAIT, 1),
    "alternate": (MOVED + LOAD + WAIT + "s_bitcmp1_b32 s2, 0\ns_cbranch_scc1 other\nv_mov_b32 v3, 0\nother:\n", 2),
    "lanes": ("v_cmp_gt_u32 vcc, s2, v0\ns_and_saveexec_b64 s[8:9], vcc\n" + LOAD + WAIT, 8),
    "loops": ("s_lshr_b32 s8, s2, 1\nagain:\ns_add_i32 s8, s8, -1\nv_mov_b32 v3, 0\ns_cmp_gt_i32 s8, 0\ns_cbranch_scc1 again\n", 3),
    # v3 is written for some lanes, and other lanes keep an older value.
    "merged": (MOVED + "v_mov_b32 v3, 0\ns_mov_b64 exec, 0xff\nv_mov_b32 v3, 4\ns_mov_b64 exec, -1\nv_add_u32 v10, v3, v10\n" + LOAD + WAIT, 1),
    "data": ("s_load_dword s8, s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 other\nv_mov_b32 v3, 0\nother:\n", 0),
    "shared_data": ("v_mov_b32 v2, 0\nds_write_b32 v10, v2\ns_waitcnt lgkmcnt(0)\nds_read_b32 v2, v10\ns_waitcnt lgkmcnt(0)\n"
                    "v_cmp_eq_u32 vcc, 0, v2\ns_cbranch_vccnz other\nv_mov_b32 v3, 0\nother:\n", 0),
    "gather": (LOAD + WAIT + "v_and_b32 v10, 0xffc, v2\n" + LOAD + WAIT, 0),
}


def times(bench):
    program = pathlib.Path(bench.rest[0]).resolve()

    def blocks(*arguments):
        bench.checks += 1
        out = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
        if out.returncode:
            sys.exit(f"{arguments}: {out.stdout}")
        return [[int(word) for word in line.split()] for line in out.stdout.splitlines()]

    for gpu in GPUS:
        tests = TIMES | MATRIX_TIMES if gpu == "gfx90a" else TIMES
        image = bench.assemble(gpu, kernels(gpu, {name: test[0] for name, test in tests.items()}), f"times.{gpu}")
        for name, (text, threads, wanted) in tests.items():
            (lds, l2, memory, f64, line), *found, lines = blocks(gpu, image, name, 1, threads)
            waves = threads // 64
            *wanted, matrix = (*wanted(lds, l2, memory, f64), 0)[:6]
            wanted = [a + b for a, b in zip(wanted, (4 * waves, 12 * waves, 0, 0, l2 + 8))]
            loads = text.count(LOAD)
            if found != [[*wanted[:4], matrix, 2 * ("ds_read" in text), loads * 256 // line, wanted[4]]] or lines != [loads * 256 // line, (loads > 0) * 256 // line]:
                sys.exit(f"{gpu}: {name}: {found}, lines {lines}, not {wanted}")
        image = bench.assemble(gpu, kernels(gpu, {name: test[0] for name, test in KINDS.items()}), f"kinds.{gpu}")
        for name, (_, kinds) in KINDS.items():
            *whole, lines = blocks(gpu, image, name, 8, 64)
            *found, last = blocks(gpu, image, name, 8, 64, "kinds")
            if [b[:-1] for b in whole] != [b[:-1] for b in found] or last != [*lines, min(2 * kinds or 8, 8), kinds]:
                sys.exit(f"{gpu}: {name} by kinds: {found}, {last}, not {whole}, {lines}, {kinds} kinds")
        endless = bench.assemble(gpu, kernels(gpu, {"endless": "again:\ns_branch again\n"}), f"endless.{gpu}")
        out = subprocess.run([program, gpu, endless, "endless", "8", "64", "kinds"], capture_output=True, text=True, check=False, timeout=30)
        if out.returncode != 1 or "endless ended after 1048576 instructions of waves, the limit" not in out.stdout:
            sys.exit(f"{gpu}: endless: {out.returncode}, {out.stdout}")
        source = bench.folder / f"product.{gpu}.s"
        bench.tool("clang", "--target=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-nogpulib", "-O3", "-S", "-o", source, pathlib.Path(bench.source) / "programs.c")
        text = source.read_text()
        alone = []
        for name, after in (("whole", r"\1"), ("waiting", r"\1\n\ts_waitcnt vmcnt(0) lgkmcnt(0)")):
            changed = bench.assemble(gpu, re.sub(r"(\t(?:global_load|ds_read)_.*)", after, text), f"{name}.{gpu}")
            found = blocks(gpu, changed, "product", 2, 256, 64, 128, 32)
            alone.append([block[-1] for block in found[1:-1]])
        if not all(slow > fast for fast, slow in zip(*alone)):
            sys.exit(f"{gpu}: waits behind all loads: {alone}")


PARTS = {"times": times, "library": library, "programs": programs, "waits": waits, "reports": reports, "scratch": scratch, "banks": banks}
part = Bench(*sys.argv[2:])
PARTS[sys.argv[1]](part)
print(f"{part.checks} runs of the simulator")
