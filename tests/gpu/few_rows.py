# SPDX-License-Identifier: Apache-2.0
"""Draws products with few rows, and runs them by automatic schedules on the simulated GPUs: results must be the
interpreter's, and the simulator must report nothing. Sizes are such that blocks, vectors and parts of the sum are
whole or not, constants or not; matrices are transposed or not, and outputs too.

    few_rows.py FOLDER UK COUNT SEED|new
"""

import pathlib
import random
import subprocess
import sys

folder, uk, count = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
seed = random.randrange(10**6) if sys.argv[4] == "new" else int(sys.argv[4])
folder.mkdir(parents=True, exist_ok=True)
draw = random.Random(seed)
print("seed", seed)


def program(kind):
    """A product of the type, with an epilogue or without; and the sizes that it has."""
    out = {"i8": "i32"}.get(kind, kind)
    convert = "i32({})" if kind == "i8" else "{}"
    is_vector, is_transposed = draw.random() < 0.2, draw.random() < 0.5
    row, matrix = ("A[k]", "B[n, k]") if is_vector else ("A[m, k]", "B[n, k]")
    matrix = matrix if is_transposed else "B[k, n]"
    index, shape = ("n", "[N]") if is_vector else draw.choice((("m, n", "[M, N]"), ("n, m", "[N, M]")))
    text = f"tensor A {kind} {'[K]' if is_vector else '[M, K]'}\ntensor B {kind} {'[N, K]' if is_transposed else '[K, N]'}\n"
    value = f"sum(k) {convert.format(row)} * {convert.format(matrix)}"
    if draw.random() < 0.5:
        text += f"tensor b {out} [N]\ntemp T {out} {shape}\ntensor C {out} {shape}\n"
        text += f"T[{index}] = {value}\nC[{index}] = max(T[{index}] + b[n], 0)\n"
    else:
        text += f"tensor C {out} {shape}\nC[{index}] = {value}\n"
    return text, "NK" if is_vector else "MNK"


failures = 0
for number in range(count):
    text, sizes = program(draw.choice(("f32", "f32", "f16", "i8", "f64")))
    values = {"M": draw.randint(1, 18), "N": draw.choice((64, 96, 100, 257, 512)), "K": draw.choice((64, 100, 255, 300, 700))}
    options = [f"--{'define' if s == 'M' or draw.random() < 0.8 else 'size'}={s}={values[s]}" for s in sizes]
    target = f"amdgcn-{('gfx906', 'gfx90a')[number % 2]}"
    path = folder / "rows.uk"
    path.write_text(text, encoding="utf-8")
    result = subprocess.run([uk, "run", path, f"--target={target}", "--check", *options], capture_output=True, text=True, check=False)
    if result.returncode or "\ncheck: " not in result.stdout:
        failures += 1
        print(f"product {number} for {target}, {' '.join(options)}:\n{text}{result.stdout}{result.stderr}")
sys.exit(failures > 0)
