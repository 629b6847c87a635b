#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the device shares of products on simulated GPUs with goals.

    bench/gpu_goals.py [--target=gfx906] [--type=f16] [--drawn=40] [--seed=N] [--no-squares] [UK]

A goal is 85 % of the share that the model of ukernels/machine/machine.h gives for the best of all tiles, steps, waves of a
block and parts of the sum, if 97 % of the vector instructions of a step are multiply-adds, no bank conflict occurs, and
everything else is as in the row of cores.def. The share next to it is by executed counts (uk bench --static). Goals of f16
are of the matrix units' peak if the GPU has such units; the executed share says of which peak it is.
"""

import argparse
import itertools
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parent.parent
SQUARES = [(n, n, n) for n in (256, 512, 1024, 2048, 4096)]
LONG = [(128, 128, 8192)]
BYTES = {"f32": 4, "f16": 2}

GOAL = 0.85
FMA_SHARE = 0.97
LANES = 64
INSTRUCTION = 4  # cycles of most instructions
ACCESS = 16  # bytes of a thread's access
SCALAR = 8  # scalar instructions of a step: the loop, waits, barriers
SPARE_REGISTERS = 24  # addresses and the like
WAVES_OF_SIMD = 2  # at least: one computes while another waits


class Device:
    """A row of cores.def."""

    def __init__(self, name):
        text = (SOURCES / "ukernels/machine/cores.def").read_text(encoding="utf-8")
        row = re.search(rf'^UK_CORE_ROW\("{name}", amdgcn.*?\}}\)$', text, re.M | re.S)[0]
        row = re.sub(r"KIB\((\d+)\)", lambda m: str(1024 * int(m[1])), row)
        first = [int(n) for n in re.search(r"\.device = \{([\d, ]+),", row)[1].split(",")]
        self.shared_bytes, self.registers, self.granule, self.waves, self.simds, self.units, self.shared_rate = first[1], *first[4:]
        self.l2_rate = int(re.search(r"\.l2 = .*?\.bytes = (\d+)", row)[1])
        self.line, self.memory_rate, self.launch = (int(re.search(rf"\.{field} = (\d+)", row)[1]) for field in ("line", "memory_rate", "launch"))
        self.shared_latency, _, self.memory_latency = (int(n) for n in re.search(r"\.latency = \{(\d+), (\d+), (\d+)\}", row).groups())
        self.fma, self.matrix = self.rates(row, "fma"), self.rates(row, "matrix")

    @staticmethod
    def rates(row, field):
        found = re.search(rf"\.{field} = \{{(\d+), (\d+), (\d+), (\d+)\}}", row)
        return dict(zip(("f32", "f64", "f16", "i8"), map(int, found.groups()))) if found else {}

    def resident(self, registers, shared, waves):
        """Blocks of a compute unit at a time."""
        by_registers = self.registers // math.ceil(registers / self.granule) // self.granule
        if min(by_registers, self.waves) < WAVES_OF_SIMD:
            return 0
        return min(min(by_registers, self.waves) * self.simds // waves, self.shared_bytes // shared)


class Choice:
    """How blocks compute a product: the rows and columns of a wave, the waves along both, and terms of the sum in a step."""

    def __init__(self, rows, columns, waves, terms):
        self.waves, self.terms = waves[0] * waves[1], terms
        self.rows, self.columns = rows * waves[0], columns * waves[1]


class Vectors(Choice):
    """Each thread has a tile of `tile` elements in registers, and computes `packed` of them by an instruction."""

    def __init__(self, tile, packed, size, waves, terms):
        super().__init__(8 * tile[0], 8 * tile[1], waves, terms)
        elements = tile[0] * tile[1]
        self.compute = elements / packed * INSTRUCTION * terms
        self.others = self.compute * (1 / FMA_SHARE - 1)
        self.matrix = 0
        self.ahead = 1  # terms whose operands are read at a time
        self.shared_bytes = sum(tile) * size * terms  # that a thread reads in a step
        self.copied = (self.rows + self.columns) * terms * size / (LANES * self.waves)  # bytes of a thread in a step
        self.registers = elements + 2 * sum(tile) + self.copied / 4 + SPARE_REGISTERS
        self.elements = elements


class Matrices(Choice):
    """Each wave has a tile of the output in registers, and computes it by matrix instructions."""

    def __init__(self, tile, rate, waves, terms):
        super().__init__(tile, tile, waves, terms)
        self.elements = tile * tile / LANES
        self.matrix = tile * tile * terms / rate
        self.ahead = 8
        instructions = tile * tile * terms / 8192  # of 32 x 32 x 8
        self.compute = INSTRUCTION * instructions
        self.others = self.compute
        self.shared_bytes = 2 * tile * terms * 2 / LANES
        self.copied = (self.rows + self.columns) * terms * 2 / (LANES * self.waves)
        self.registers = self.elements + (2 * self.shared_bytes + self.copied) / 4 + SPARE_REGISTERS


def choices(device, kind):
    """All of them that fit."""
    tiles = [(8, 8), (8, 4), (4, 4)] + ([(8, 16)] if device.fma["f32"] > LANES else [])
    for waves, terms in itertools.product(((1, 1), (2, 1), (2, 2)), (8, 16, 32)):
        if kind == "f16" and device.matrix.get("f16"):
            yield from (Matrices(tile, device.matrix["f16"] / device.simds, waves, terms) for tile in (32, 64))
        else:
            yield from (Vectors(tile, device.fma[kind] / LANES, BYTES[kind], waves, terms) for tile in tiles)


def cycles(device, choice, kind, m, n, k, parts):
    """The time of the launches, by the rules of machine.h for equal blocks; None: a block does not fit."""
    size = BYTES[kind]
    resident = device.resident(choice.registers, 2 * (choice.rows + choice.columns) * choice.terms * size, choice.waves)
    if not resident:
        return None
    blocks = math.ceil(m / choice.rows) * math.ceil(n / choice.columns) * parts
    steps = math.ceil(math.ceil(k / parts) / choice.terms)
    reads, copies = choice.shared_bytes / ACCESS, choice.copied / ACCESS
    # Of a wave in a step. It reads the operands of the next term before it computes this one, and loads those of the next
    # step before it computes this one.
    vector = choice.compute + choice.others
    step = max(vector + INSTRUCTION * (reads + 2 * copies + SCALAR), choice.matrix, choice.terms * device.shared_latency / choice.ahead, device.memory_latency)
    alone = steps * step + 2 * device.memory_latency + INSTRUCTION * 2 * choice.elements
    of_unit = math.ceil(blocks / device.units)
    waves_of_simd = math.ceil(of_unit * choice.waves / device.simds)
    shared = of_unit * choice.waves * steps * LANES * (choice.shared_bytes + choice.copied) / device.shared_rate
    lines = of_unit * (steps * (choice.rows + choice.columns) * choice.terms * size + choice.rows * choice.columns * 4) / device.l2_rate
    distinct = ((m * k + k * n) * size + m * n * parts * 4) / device.memory_rate
    launch = max(waves_of_simd * steps * max(vector, choice.matrix), shared, lines, math.ceil(of_unit / resident) * alone, distinct)
    if parts > 1:
        launch += device.launch + max((parts + 1) * m * n * 4 / device.memory_rate, 2 * device.memory_latency + INSTRUCTION * parts)
    return launch


def goal_of(device, kind, m, n, k):
    """In percent."""
    peak = device.matrix.get("f16") if kind == "f16" else None
    best = min(filter(None, (cycles(device, c, kind, m, n, k, parts) for c in choices(device, kind) for parts in (1, 2, 4, 8, 16, 32, 64)
                             if parts == 1 or parts * c.terms <= k)))
    return GOAL * 100 * m * n * k / (peak or device.fma[kind]) / device.units / best


def executed_share(uk, target, program, m, n, k):
    """In percent, and what has the peak rate."""
    command = [uk, "bench", "--static", f"--target=amdgcn-{target}", program, *(f"--define={s}={v}" for s, v in zip("MNK", (m, n, k)))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"^device: .*share ([\d.e+-]+) %: .*\(\w+ by ([\w ]+)\)", done.stdout, re.M)
    if not found:
        sys.exit(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return float(found[1]), found[2]


def mean(shares):
    return math.exp(sum(map(math.log, shares)) / len(shares))


def compare(uk, target, kind, given, drawn):
    device = Device(target)
    cast = "" if kind == "f32" else "f32"
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "product.uk"
        program.write_text(f"tensor A {kind} [M, K]\ntensor B {kind} [K, N]\ntensor C f32 [M, N]\n"
                           f"C[i, j] = sum(k) {cast}(A[i, k]) * {cast}(B[k, j])\n", encoding="utf-8")
        for m, n, k in given + drawn:
            goal = goal_of(device, kind, m, n, k)
            share, units = executed_share(uk, target, program, m, n, k)
            rows.append((goal, share))
            print(f"{target} {kind} {m:5} x {n:5} x {k:5}  goal {goal:5.1f} %  executed {share:5.1f} % of {units}"
                  f"{'  below' * (share < goal)}", flush=True)
    if drawn:
        goals, shares = zip(*rows[len(given):])
        print(f"{target} {kind} geometric mean of {len(drawn)} drawn products: goal {mean(goals):.1f} %  executed {mean(shares):.1f} %")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("uk", nargs="?", default="uk", metavar="UK")
    parser.add_argument("--target", action="append", choices=("gfx906", "gfx90a"), help="default: both")
    parser.add_argument("--type", action="append", choices=tuple(BYTES), help="default: f32")
    parser.add_argument("--drawn", type=int, default=40, metavar="N", help="products of 64 to 2048 rows, columns and terms")
    parser.add_argument("--seed", type=int, default=2048)
    parser.add_argument("--no-squares", action="store_true", help="drawn products only")
    given = parser.parse_args()
    draw = random.Random(given.seed)
    drawn = [tuple(draw.randint(64, 2048) for _ in "MNK") for _ in range(given.drawn)]
    print(f"seed {given.seed}")
    for target, kind in itertools.product(given.target or ("gfx906", "gfx90a"), given.type or ("f32",)):
        compare(given.uk, target, kind, [] if given.no_squares else SQUARES + LONG, drawn)


if __name__ == "__main__":
    main()
