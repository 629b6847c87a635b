# SPDX-License-Identifier: Apache-2.0
"""Tests the matrix instructions of the simulator of AMD's GPUs: matrix.py FOLDER SIMULATOR LLVM_BIN SOURCE [SEED].

Each row of matrix.def is assembled and runs on random matrices. The lanes that hold their elements are those of
matrix_lanes.tsv, AMD's facts; results are compared with D = A * B + C: integers and small numbers exactly, others
within the bound that matrix.def states. With a SEED, or `new`, operands are other ones.
"""

import fractions
import functools
import math
import operator
import pathlib
import random
import re
import struct
import subprocess
import sys

from assembly import kernels

folder, simulator, llvm, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
seed = 1 if len(sys.argv) < 6 else random.randrange(1 << 30) if sys.argv[5] == "new" else int(sys.argv[5])
rng = random.Random(seed)
folder.mkdir(parents=True, exist_ok=True)

BITS = {"f64": 64, "f32": 32, "i32": 32, "f16": 16, "bf16": 16, "i8": 8}
FORMATS = {"f64": "d", "f32": "f", "i32": "i", "f16": "e", "i8": "b"}
LEAST = {"f16": 2.0 ** -14, "bf16": 2.0 ** -126, "f32": 2.0 ** -126}
ROUNDING = {"f32": 2.0 ** -24, "f64": 2.0 ** -53}


class Instruction:
    """A row of matrix.def, and for each of its matrices the digits of rows, columns and blocks."""

    def __init__(self, name, d, ab, size, k, blocks, passes):
        self.name, self.d, self.ab = name, d, ab
        self.size, self.k, self.blocks, self.passes = int(size), int(k), int(blocks), int(passes)
        self.shape = {"A": (self.size, self.k), "B": (self.k, self.size), "D": (self.size, self.size)}
        self.digits = {}

    def registers(self, matrix):
        rows, columns = self.shape[matrix]
        return rows * columns * self.blocks * BITS[self.d if matrix == "D" else self.ab] // 64 // 32

    @functools.cache
    def place(self, matrix, block, row, column):
        """The lane that holds the element, and which of the lane's elements it is."""
        at = {"l": 0, "v": 0}
        for index, digits in zip((row, column, block), self.digits[matrix]):
            for n, digit in enumerate(digits):
                at[digit[0]] |= (index >> n & 1) << int(digit[1:])
        return at["l"], at["v"]


def instructions():
    text = (source / "simulate/amdgpu/matrix.def").read_text(encoding="utf-8")
    rows = {row[0]: Instruction(*row) for row in re.findall(r"^MATRIX\((\w+), (\w+), (\w+), (\d+), (\d+), (\d+), (\d+)\)", text, re.M)}
    for line in (source / "tests/amdgpu/matrix_lanes.tsv").read_text(encoding="utf-8").splitlines():
        if line.startswith("gfx90a"):
            _, name, cycles, matrix, *digits = line.split("\t")
            digits = [[] if part == "-" else part.split() for part in digits]
            sizes = [1 << len(part) for part in digits]
            row = rows.get(name) or sys.exit(f"{name} has no row in matrix.def")
            if (*row.shape[matrix], row.blocks, 4 * row.passes) != (*sizes, int(cycles)):
                sys.exit(f"{name}: {matrix} has {sizes} rows, columns and blocks, and {cycles} cycles; not what matrix.def says")
            row.digits[matrix] = digits
    if missing := [name for name, row in rows.items() if len(row.digits) < 3]:
        sys.exit(f"matrix_lanes.tsv has no lines of {missing}")
    return list(rows.values())


# --- elements


def encode(kind, value):
    if kind == "bf16":
        return struct.unpack("<I", struct.pack("<f", value))[0] >> 16
    return int.from_bytes(struct.pack("<" + FORMATS[kind], value), "little")


def decode(kind, bits):
    if kind == "bf16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    return struct.unpack("<" + FORMATS[kind], bits.to_bytes(BITS[kind] // 8, "little"))[0]


def small(_kind, _matrix):
    return rng.randrange(-8, 9)


def whole(kind, _matrix):
    """Integers of all sizes; sums of i32 overflow."""
    return rng.choice((-128, 127, rng.randrange(-128, 128))) if kind == "i8" else rng.randrange(-1 << 31, 1 << 31)


def any_float(kind, _matrix):
    return decode(kind, encode(kind, math.ldexp(rng.uniform(-2, 2), rng.randrange(-6, 6))))


def tiny(kind, matrix, of="A"):
    """The least normal number, half of it and 0 in the matrix `of`."""
    least = LEAST.get(kind, 2.0 ** -1022)
    if matrix == "B":
        return rng.choice((-1, 1)) * rng.choice((0.5, 1, 2))
    return rng.choice((-1, 1)) * (rng.choice((0, least, least / 2)) if matrix == of else 0)


def tiny_sum(kind, matrix):
    return tiny(kind, matrix, "D")


def special(kind, matrix):
    return rng.choice((math.inf, -math.inf, math.nan)) if rng.random() < 0.02 else float(small(kind, matrix))


# --- kernels


def text_of(row, cases):
    """For each case: loads A, B and C, multiplies, and stores D after them. A block has its own matrices."""
    factors, sums = row.registers("A"), row.registers("D")
    name = lambda file, first, n: f"{file}[{first}:{first + n - 1}]" if n > 1 else f"{file}{first}"
    step = "s_add_u32 s4, s4, 256\ns_addc_u32 s5, s5, 0\n"
    text = f"s_mul_i32 s6, s2, {256 * 2 * (factors + sums) * len(cases)}\ns_add_u32 s4, s4, s6\ns_addc_u32 s5, s5, 0\n"
    for case in cases:
        file, first = ("a", 0) if case.get("file") else ("v", 32)
        factor = case.get("factors", "v")
        modifiers = "".join(f" {name}:{case[name]}" for name in ("cbsz", "abid", "blgp") if name in case)
        registers = [*(f"{factor}{20 + r}" for r in range(2 * factors)), *(f"{file}{first + r}" for r in range(sums))]
        text += "".join(f"global_load_dword {r}, v10, s[4:5]\n{step}" for r in registers) + "s_waitcnt vmcnt(0)\n"
        d = name(file, first, sums)
        text += f"{row.name} {d}, {name(factor, 20, factors)}, {name(factor, 20 + factors, factors)}, {case.get('constant', d)}{modifiers}\n"
        text += "s_nop 7\ns_nop 7\ns_nop 7\n"
        text += "".join(f"global_store_dword v10, {r}, s[4:5]\n{step}" for r in registers[2 * factors:])
        text += "s_waitcnt vmcnt(0)\n"
    return text


def build(name, texts):
    (folder / f"{name}.s").write_text(kernels("gfx90a", texts), encoding="utf-8")
    for command in (["llvm-mc", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-filetype=obj", "-o", f"{name}.o", f"{name}.s"],
                    ["ld.lld", "-shared", "-o", f"{name}.hsaco", f"{name}.o"]):
        subprocess.run([llvm / command[0], *command[1:]], cwd=folder, check=True)


def pack(row, matrix, values):
    """The words of the matrix's registers, a register after the other, from its elements by block, row, column."""
    bits = BITS[row.d if matrix == "D" else row.ab]
    registers = [[0] * 64 for _ in range(row.registers(matrix))]
    for (block, i, j), value in values.items():
        lane, at = row.place(matrix, block, i, j)
        word = encode(row.d if matrix == "D" else row.ab, value)
        for part in range(max(1, bits // 32)):
            registers[at * bits // 32 + part][lane] |= (word >> 32 * part & 0xffffffff) << at * bits % 32
    return [word for register in registers for word in register]


def unpack(row, words):
    values = {}
    n = BITS[row.d] // 32
    for block in range(row.blocks):
        for i in range(row.size):
            for j in range(row.size):
                lane, at = row.place("D", block, i, j)
                values[block, i, j] = sum(words[(at * n + part) * 64 + lane] << 32 * part for part in range(n))
    return values


def draw(row, matrix, value):
    rows, columns = row.shape[matrix]
    kind = row.d if matrix == "D" else row.ab
    return {(b, i, j): value(kind, matrix) for b in range(row.blocks) for i in range(rows) for j in range(columns)}


# --- the reference


def patterned(row, b, blgp):
    """B after the modifier blgp, which moves whole lanes."""
    source_lane = (lambda l: l, lambda l: l % 32, lambda l: l % 32 + 32, lambda l: (l + 16) % 64, *((lambda l, n=n: l % 16 + 16 * n) for n in range(4)))[blgp]
    at = {row.place("B", *index): value for index, value in b.items()}
    return {index: at[source_lane(lane), value] for index in b for lane, value in [row.place("B", *index)]}


def flushed(row, kind, value):
    flushes = row.ab in ("f16", "bf16") and not math.isnan(value) and abs(value) < LEAST[kind]
    return math.copysign(0, value) if flushes else value


def reference(row, a, b, c, cbsz=0, abid=0, blgp=0):
    """For each element of D its value and the terms that it is the sum of."""
    a, b, c = ({index: flushed(row, kind, value) for index, value in m.items()} for m, kind in ((a, row.ab), (patterned(row, b, blgp), row.ab), (c, row.d)))
    exact = fractions.Fraction if row.d == "f64" and all(math.isfinite(x) for m in (a, b, c) for x in m.values()) else lambda x: x
    left = {(block, i): [exact(a[block, i, k]) for k in range(row.k)] for block in range(row.blocks) for i in range(row.size)}
    right = {(block, j): [exact(b[block, k, j]) for k in range(row.k)] for block in range(row.blocks) for j in range(row.size)}
    out = {}
    for (block, i, j), start in c.items():
        terms = [exact(start), *map(operator.mul, left[(block >> cbsz << cbsz) + abid, i], right[block, j])]
        total = sum(terms)
        if row.d == "f32" and math.isfinite(total):
            total = math.fsum(terms)
        out[block, i, j] = total, terms
    return out


def check(row, what, wanted, found, is_exact):
    for index, (total, terms) in wanted.items():
        value = decode(row.d, found[index])
        if row.d == "i32":
            good = value == (total + (1 << 31)) % (1 << 32) - (1 << 31)
        elif not math.isfinite(total):
            good = math.isnan(value) if math.isnan(total) else value == total
        elif is_exact:
            total = flushed(row, row.d, decode(row.d, encode(row.d, total)))
            good = value == total
        else:
            good = abs(value - total) <= 2 * (row.k + 1) * ROUNDING[row.d] * sum(map(abs, terms))
        if not good:
            sys.exit(f"{row.name}{what}: D{list(index[1:])} of block {index[0]} is {value!r}, not {float(total)!r}; seed {seed}")


# --- cases


def kinds(row):
    """Functions that draw elements, and whether results are then exact."""
    if row.d == "i32":
        return [(small, True), (whole, True)]
    return [(small, True), (any_float, False), (tiny, True), (tiny_sum, True), (special, True)]


def variants(row):
    """Modifiers, constants as C, and registers of D: each alone."""
    yield {}
    yield {"file": "a"}
    yield {"factors": "a"}
    for constant in ("1.0", "-4.0") if row.d != "i32" else ("1", "-4"):
        yield {"constant": constant}
    if row.ab != "f64":
        for blgp in range(1, 8):
            yield {"blgp": blgp}
    for cbsz in range(1, row.blocks.bit_length()):
        for abid in sorted({0, 1, (1 << cbsz) - 1}):
            yield {"cbsz": cbsz, "abid": abid}


def test(row):
    cases, used = list(variants(row)), kinds(row)
    drawn, data = {}, []
    for block, (value, _) in enumerate(used):
        for n, case in enumerate(cases):
            if block == 0 or n < 2:
                drawn[block, n] = [draw(row, matrix, value) for matrix in "ABD"]
                data += [word for matrix, values in zip("ABD", drawn[block, n]) for word in pack(row, matrix, values)]
            else:
                data += [0] * (64 * (2 * row.registers("A") + row.registers("D")))
            data += [0] * (64 * row.registers("D"))
    (folder / "in").write_bytes(struct.pack(f"<{len(data)}I", *data))
    out = subprocess.run([simulator, "matrix.hsaco", row.name, f"--grid={len(used)}", "--block=64", "--count", "@in=out"],
                         cwd=folder, check=False, capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"{row.name}: {out.stderr}")
    counts = dict(line.split() for line in out.stdout.splitlines())
    executed = len(used) * len(cases)
    multiply_adds = executed * row.size ** 2 * row.k * row.blocks
    for name, count in (("matrix", executed), ("matrix_multiply_adds", multiply_adds), ("flops", 2 * multiply_adds * (row.d != "i32"))):
        if counts[name] != str(count):
            sys.exit(f"{row.name}: {counts[name]} {name}, not {count}")
    words = struct.unpack(f"<{len(data)}I", (folder / "out").read_bytes())
    stride = len(data) // executed
    for (block, n), (a, b, c) in drawn.items():
        case = cases[n]
        if "constant" in case:
            c = {index: float(case["constant"]) if row.d != "i32" else int(case["constant"]) for index in c}
        end = stride * (block * len(cases) + n + 1)
        found = unpack(row, words[end - 64 * row.registers("D"):end])
        check(row, f" {case}", reference(row, a, b, c, case.get("cbsz", 0), case.get("abid", 0), case.get("blgp", 0)), found, used[block][1])
    return len(drawn) * row.size ** 2 * row.blocks


rows = instructions()
build("matrix", {row.name: text_of(row, list(variants(row))) for row in rows})
total = sum(map(test, rows))
print(f"{len(rows)} instructions, {total} results, seed {seed}")
