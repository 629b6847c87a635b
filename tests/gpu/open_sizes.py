# SPDX-License-Identifier: Apache-2.0
"""Compares a product that is compiled without sizes with the best schedule for each of some drawn sizes, by
the cycles of executed counts. The schedules for comparison have every tile, number of waves and number of
parts of the sum. Each product must reach LEAST of the best one's speed, and all of them MEAN in the geometric
mean.

    open_sizes.py UK DIRECTORY PRODUCTS SEED|new
"""

import math
import pathlib
import random
import re
import subprocess
import sys

UK, directory, products, seed = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]

SOURCE = """tensor A f32 [M, K]
tensor B f32 [K, N]
tensor C f32 [M, N]
C[m, n] = sum(k) A[m, k] * B[k, n]
"""
TILES = {"gfx906": [(8, 8), (8, 4), (4, 4)], "gfx90a": [(8, 16), (8, 8), (8, 4), (4, 4)]}
PARTS = [1, 2, 4, 8, 16]
SIZES = range(64, 513)
LEAST, MEAN = 0.6, 0.75
LEAST_TERMS = 32  # of a part


def layout(each):
    """The layout of an operand in shared memory, whose threads have tiles of `each` rows."""
    return "i0 / 4" if each == 4 else f"i0 / 4 % {each // 4}, i0 / {each}"


def schedule(rows, columns, threads, terms, each_part):
    """The steps of a product; each_part: terms of a part, or None."""
    stage = "P" if each_part else "C"
    padded = rows * threads + 4
    inside = [padded, 4, 1] if rows == 4 else [padded, 4 * threads, 4, 1]
    steps = [f"split C.k {each_part} -> kp kr", "rfactor C.kp -> P"] if each_part else []
    k, blocks = ("kr", ["kp", "mb", "nb"]) if each_part else ("k", ["mb", "nb"])
    steps += [
        f"split {stage}.m {rows * threads} -> mb mp",
        f"split {stage}.mp {rows} -> mt mi",
        f"split {stage}.n {columns * threads} -> nb np",
        f"split {stage}.np {columns} -> nt ni",
        f"split {stage}.{k} {terms} -> ko ki",
        f"reorder {stage}." + f" {stage}.".join(blocks + ["ko", "mt", "nt", "ki", "mi", "ni"]),
    ]
    steps += [f"bind {stage}.{loop} block.{axis}" for loop, axis in zip(reversed(blocks), "yxz")]
    steps += [
        f"bind {stage}.mt thread.y",
        f"bind {stage}.nt thread.x",
        f"cache_write {stage} at {stage}.nb in register -> kept",
        f"cache_read A at {stage}.ko in shared layout (i0, i1) -> [i1, {layout(rows)}, i0 % 4] stride {inside} -> As",
        "reorder " + " ".join(f"As.d{d}" for d in list(range(1, len(inside))) + [0]),
        f"cache_read B at {stage}.ko in shared layout (i1, i0) -> [i1, {layout(columns)}, i0 % 4] -> Bs",
        f"pipeline {stage}.ko 2",
        f"tensorize {stage}.ki auto",
    ]
    if each_part:
        steps += ["split C.n 256 -> nb1 nt1", "bind C.m block.x", "bind C.nb1 block.y", "bind C.nt1 thread.x",
                  "cache_write C at C.nt1 in register -> total"]
    return "schedule\n" + "".join(f"  {step}\n" for step in steps)


def cycles(target, text, option, sizes):
    """The cycles of a call; None: the schedule is refused."""
    path = directory / "product.uk"
    path.write_text(text)
    command = [UK, "bench", "--static", f"--target=amdgcn-{target}", path]
    done = subprocess.run(command + [f"--{option}={name}={size}" for name, size in zip("MNK", sizes)],
                          capture_output=True, text=True)
    found = re.search(r"^device: (\d+) cycles", done.stdout, re.M)
    if not found and option == "size":
        sys.exit(f"{target} {sizes}: {done.stdout}{done.stderr}")
    return int(found[1]) if found else None


def best_of(target, sizes):
    best = None
    for rows, columns in TILES[target]:
        terms = 16 if rows * columns <= 32 else 8
        for threads in 8, 16:
            for parts in PARTS:
                each = -(-sizes[2] // parts // terms) * terms if parts > 1 else None
                if each and each < LEAST_TERMS:
                    continue
                text = SOURCE + schedule(rows, columns, threads, terms, each)
                now = cycles(target, text, "define", sizes)
                if now and (not best or now < best[0]):
                    best = now, f"{rows} x {columns}, {threads * threads} threads, {parts} parts"
    return best


def check(target, drawn):
    steps = subprocess.run([UK, "compile", "--emit=schedule", f"--target=amdgcn-{target}", directory / "open.uk"],
                           capture_output=True, text=True, check=True).stdout
    if steps.count("schedule where") < 2:
        sys.exit(f"{target}: the product without sizes has too few versions:\n{steps}")
    reached = []
    for sizes in drawn:
        now, (best, name) = cycles(target, SOURCE + steps, "size", sizes), best_of(target, sizes)
        reached.append(best / now)
        print(f"{target} {sizes}: {now} cycles, {reached[-1]:.2f} of {name}", flush=True)
    mean = math.exp(sum(map(math.log, reached)) / len(reached))
    print(f"{target}: least {min(reached):.2f}, geometric mean {mean:.2f}")
    return min(reached) >= LEAST and mean >= MEAN


directory.mkdir(parents=True, exist_ok=True)
(directory / "open.uk").write_text(SOURCE)
seed = random.randrange(1 << 32) if seed == "new" else int(seed)
print(f"seed {seed}")
rng = random.Random(seed)
drawn = [tuple(rng.choice(SIZES) for _ in "MNK") for _ in range(products)]
if not all([check(target, drawn) for target in TILES]):
    sys.exit(f"slower than {LEAST} of the best schedule, or than {MEAN} in the geometric mean")
