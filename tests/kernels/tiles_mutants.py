# SPDX-License-Identifier: Apache-2.0
"""Breaks the kernels on matrix tiles, in C as kernels_in_c has them, and sees that the test of kernels finds each error.

    tiles_mutants.py SOURCE_ROOT CLANG KERNELS_IN_C
"""

import pathlib
import re
import subprocess
import sys
import tempfile

source, clang, program = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
FILE = source / "intrinsics/x86_64/gemm_tiles_amx.c"
HEADER = source / "tests/kernels/amx_in_c/immintrin.h"
BYTES, HALVES = "igemm_ra", "bgemm_runs"

# What is wrong, in which operation, the text, and what replaces it.
MUTANTS = [
    ("one row too many", BYTES, "mr < TILE ? mr : 0", "mr < TILE ? mr + 1 : 0"),
    ("the second tile begins a row too early", BYTES, "mr > TILE ? mr - TILE : 0", "mr > TILE ? mr - TILE - 1 : 0"),
    ("the second tile is 16 rows below", BYTES, "mr > TILE ? mr - TILE : 0", "mr > TILE ? TILE : 0"),
    ("columns begin a column too late", BYTES, "nr > TILE ? nr - TILE : 0", "nr > TILE ? nr - TILE + 1 : 0"),
    ("terms behind the last are not 0", BYTES, "k * (int64_t)sizeof(left));\n            if", "LINE);\n            if"),
    ("groups of B behind the last are read", HALVES, "(p < groups ? p * NR * 4 + half : 0),\n                          p < groups ? LINE : 0);",
     "p * NR * 4 + half, LINE);"),
    ("C is read although it is overwritten", HALVES, "if (!acc) {", "if (!acc && !t->rows) {"),
    ("C of a part is not read", BYTES, "if (is_part && acc)", "if (is_part && acc && !t.rows)"),
    ("the wrong tile of A", BYTES, "MULTIPLY(2, 5, 6)", "MULTIPLY(2, 4, 6)"),
    ("runs of B begin where the run before ended", HALVES, "b += ldb)", "b += k * NR)"),
    ("pairs are swapped", HALVES, "MULTIPLY _tile_dpbf16ps", "MULTIPLY(d, a, b) tile_bf16(&tile[d], &tile[b], &tile[a])"),
    ("the signs of the operands are swapped", BYTES, "MULTIPLY _tile_dpbusd", "MULTIPLY _tile_dpbsud"),
]


def parameters(op):
    text = subprocess.run([clang, "-E", "-P", "-xc", f"-I{source}/ukernels", "-"], check=True, capture_output=True, text=True, input=
                          f'#define UK_OP_ROW(name, parameters, ...) ROW name parameters END\n#include "registry/ops.def"\n').stdout
    return re.search(rf"ROW {op} (\(.*?\)) END", text, re.S)[1].replace("\n", " ")


def caught(text, op, folder):
    isa, kr = ("amxbf16", 2) if op.startswith("bgemm") else ("amxint8", 4)
    symbol = f"uk_{op}_32x32_{isa}_intrin"
    file, library = folder / "kernel.c", folder / "kernel.so"
    file.write_text(text.replace('"../any/runs.h"', f'"{source}/intrinsics/any/runs.h"'), encoding="utf-8")
    subprocess.run([clang, "-O2", "-shared", "-fPIC", "-mavx2", "-isystem", HEADER.parent, f"-I{source}/ukernels", "-DUK_IN_C",
                    f"-DUK_SYMBOL={symbol}", f"-DUK_OP_{op}", "-DUK_MR=32", "-DUK_NR=32", f"-DUK_KR={kr}",
                    f"-DUK_PARAMETERS={parameters(op)}", file, "-o", library], check=True)
    done = subprocess.run([program, library, symbol], capture_output=True, text=True, check=False)
    return done.returncode != 0, (done.stdout + done.stderr).strip()


failures = []
original = FILE.read_text(encoding="utf-8")
with tempfile.TemporaryDirectory() as name:
    for op in (BYTES, HALVES):
        wrong, message = caught(original, op, pathlib.Path(name))
        if wrong:
            failures.append(f"{op} as it is: {message}")
    for what, op, old, new in MUTANTS:
        if original.count(old) != 1:
            failures.append(f"{what}: {old!r} occurs {original.count(old)} times in {FILE.name}")
            continue
        wrong, message = caught(original.replace(old, new), op, pathlib.Path(name))
        print(f"{what}: {message or 'not found'}")
        if not wrong:
            failures.append(f"{what}: not found")
print(*failures, sep="\n")
sys.exit(1 if failures else 0)
