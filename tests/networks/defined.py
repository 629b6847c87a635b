# SPDX-License-Identifier: Apache-2.0
"""Runs small networks by uk and compares their outputs with values computed from the operators' definitions: ONNX's, and
NumPy's where ONNX refers to it."""

import ast
import concurrent.futures
import itertools
import math
import os
import re
import struct
import subprocess
import tempfile
from dataclasses import dataclass, field

from onnx_writer import BOOL, DOUBLE, FLOAT, FLOAT16, INT4, INT8, INT16, INT32, INT64, UINT4, UINT8, UINT16, UINT32, UINT64, npy

FORMATS = {"<f4": "f", "<f8": "d", "<f2": "e", "<i2": "h", "<u2": "H", "<u4": "I", "<u8": "Q", "<i4": "i", "<i8": "q", "|u1": "B", "|i1": "b", "|b1": "B"}
KINDS = {FLOAT: "<f4", DOUBLE: "<f8", FLOAT16: "<f2", INT16: "<i2", UINT4: "|u1", INT4: "|i1", UINT16: "<u2", UINT32: "<u4", UINT64: "<u8", INT32: "<i4", INT64: "<i8", UINT8: "|u1", INT8: "|i1", BOOL: "|b1"}


@dataclass
class Array:
    """Elements in row-major order; a[i, j] is one of them."""

    shape: tuple
    values: list
    kind: int = FLOAT

    def at(self, index):
        place = 0
        for i, n in zip(index, self.shape, strict=True):
            place = place * n + i
        return place

    def __getitem__(self, index):
        return self.values[self.at(index if isinstance(index, tuple) else (index,))]


def indices(shape):
    return itertools.product(*(range(n) for n in shape))


def made(shape, rule, kind=FLOAT):
    """The array whose element at an index is rule(*index)."""
    shape = tuple(shape)
    return Array(shape, [rule(*i) for i in indices(shape)], kind)


def drawn(draw, shape, least=-1.0, most=1.0):
    """Numbers of f32 from the generator."""
    return made(shape, lambda *_: struct.unpack("f", struct.pack("f", draw.uniform(least, most)))[0])


def whole(draw, shape, least, most, kind):
    return made(shape, lambda *_: draw.randint(least, most), kind)


@dataclass
class Case:
    """A model, its inputs by name, its outputs in order, the bound on their relative and absolute error; or a
    pattern for the message that refuses the model. NaN, infinities and integers are always exact."""

    model: bytes
    inputs: dict = field(default_factory=dict)
    outputs: list = field(default_factory=list)
    bound: float = 2e-6
    refused: str = ""
    options: tuple = ()
    layers: int = 0  # as many; 0: any number
    ulps: int = -1  # units in the last place by which floats may differ, where 0 includes the sign of 0; -1: `bound` says
    labels: tuple = ()  # what each output shows
    is_everywhere: bool = False  # compiled here and for other targets in each run of the tests
    has_gpus: bool = True  # GPUs are among these targets


def read_npy(path):
    with open(path, "rb") as f:
        data = f.read()
    length = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10 : 10 + length].decode())
    form = FORMATS[head["descr"]]
    return head["descr"], head["shape"], struct.unpack(f"<{(len(data) - 10 - length) // struct.calcsize(form)}{form}", data[10 + length :])


def ulp(v):
    """The distance of adjacent f32 numbers at v."""
    return math.ldexp(1, max(math.frexp(v)[1] - 24, -149))


def near(got, wanted, case):
    if math.isnan(wanted) or math.isinf(wanted):
        return math.isnan(got) if math.isnan(wanted) else got == wanted
    if case.ulps == 0:
        return got == wanted and math.copysign(1, got) == math.copysign(1, wanted)
    return abs(got - wanted) <= (case.bound * (1 + abs(wanted)) if case.ulps < 0 else case.ulps * ulp(wanted))


def difference(path, wanted, case):
    """Returns how a file's values differ from those wanted; None: not at all."""
    descr, shape, values = read_npy(path)
    if shape != tuple(wanted.shape) or (descr != KINDS[wanted.kind] and wanted.kind != BOOL):
        return f"{descr} {shape}, not {KINDS[wanted.kind]} {wanted.shape}"
    for i, (a, b) in enumerate(zip(values, wanted.values, strict=True)):
        if not (near(a, b, case) if wanted.kind == FLOAT else a == b or (a != a and b != b)):
            return f"element {i} is {a!r}, not {b!r}"
    return None


def write(path, case):
    """Writes the model and its inputs."""
    with open(path + ".onnx", "wb") as f:
        f.write(case.model)
    for key, array in case.inputs.items():
        with open(f"{path}.{key}.npy", "wb") as f:
            f.write(npy(array.shape, array.values, array.kind))


def outputs_differ(path, case):
    """Returns how outputs that were written differ from those wanted; None: not at all."""
    wrong = (difference(f"{path}.{i}.npy", wanted, case) for i, wanted in enumerate(case.outputs))
    return next((f"output {i}: {', '.join(case.labels[i : i + 1])} {w}" for i, w in enumerate(wrong) if w), None)


def run_command(uk, path, case, *more):
    """Runs a case by the command; returns what is wrong, None: nothing."""
    words = [uk, "run", path + ".onnx", *case.options, *more, *(f"--input={key}={path}.{key}.npy" for key in case.inputs)]
    done = subprocess.run([*words, *(f"--output={path}.{i}.npy" for i in range(len(case.outputs)))], capture_output=True, text=True, check=False)
    if case.refused:
        right = done.returncode == 1 and re.search(case.refused, done.stderr)
        return None if right else f"exit status {done.returncode}, {done.stderr[-400:]}, not refused by {case.refused!r}"
    if done.returncode:
        return f"exit status {done.returncode}: {done.stderr[-600:]}"
    return outputs_differ(path, case)


def run_together(evaluate, way, cases):
    """Runs (name, path, case) in one process, where way is compile or interpret; returns a line for each that fails."""
    lines = "".join(f"{way} {case.layers} {path}\n" for _, path, case in cases)
    done = subprocess.run([evaluate], input=lines, capture_output=True, text=True, check=False)
    reasons = dict((line + " ").split(" ", 1) for line in done.stdout.splitlines())
    wrong = [f"evaluate ended with exit status {done.returncode}: {done.stderr[-2000:]}"] if done.returncode else []
    for name, path, case in cases:
        reason = reasons.get(path, "evaluate ended before").strip()
        if case.refused:
            what = None if path in reasons and re.search(case.refused, reason) else f"{reason}, not refused by {case.refused!r}"
        else:
            what = reason or outputs_differ(path, case)
        if what:
            wrong.append(f"{name}: {way}: {what}")
    return wrong


def run_targets(uk, path, case, number, targets, every):
    """Runs a case for other targets, under an emulator or in a simulator: for one of them if not all cases are compiled."""
    targets = [target for target in targets if case.has_gpus or not target.startswith("amdgcn")]
    chosen = targets if every == 1 else targets[number % len(targets) :][:1]
    for target in chosen:
        what = run_command(uk, path, case, f"--target={target}", "--check=all")
        if what:
            return f"{target}: {what}"
    return None


def failures(uk, evaluate, cases, every, targets=()):
    """Runs all cases, a dictionary by name; returns a line for each that fails.

    Cases that have options run by the command. The layers of all others are interpreted; those that say so and each `every`-th of the
    others are compiled too, which takes most of the time. So are cases whose only option is --check or --check=all. Each `every`-th of
    them, and of those that are refused, runs by the command too."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        places = [(name, os.path.join(folder, str(i)), case) for i, (name, case) in enumerate(cases.items())]
        for _, path, case in places:
            write(path, case)
        by_both = [place for place in places if place[2].options in ((), ("--check",), ("--check=all",)) and (place[2].options or place[2].refused)]
        everywhere = [place for place in places if place[2].is_everywhere]
        together = [place for place in places if not place[2].options or place in by_both]
        apart = [place for place in places if place not in together] + by_both[::every]
        accepted, refused = ([place for place in together if bool(place[2].refused) == is_refused] for is_refused in (False, True))
        wrong = run_together(evaluate, "interpret", accepted)
        compiled = everywhere + refused + [place for place in accepted if not place[2].is_everywhere][::every]
        halves = pool.map(lambda part: run_together(evaluate, "compile", part), (compiled[::2], compiled[1::2]))
        found = [*pool.map(lambda place: (place[0], run_command(uk, *place[1:])), apart)]
        if targets:
            found += pool.map(lambda n: (everywhere[n][0], run_targets(uk, *everywhere[n][1:], n, targets, every)), range(len(everywhere)))
        return [*wrong, *(line for half in halves for line in half), *(f"{name}: {what}" for name, what in found if what)]
