# SPDX-License-Identifier: Apache-2.0
"""Runs small networks by uk and compares their outputs with values computed from the operators' definitions."""

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

from onnx_writer import BOOL, FLOAT, FLOAT16, INT4, INT8, INT16, INT32, INT64, UINT4, UINT8, UINT16, UINT32, UINT64, npy

FORMATS = {"<f4": "f", "<f2": "e", "<i2": "h", "<u2": "H", "<u4": "I", "<u8": "Q", "<i4": "i", "<i8": "q", "|u1": "B", "|i1": "b", "|b1": "B"}
KINDS = {FLOAT: "<f4", FLOAT16: "<f2", INT16: "<i2", UINT4: "|u1", INT4: "|i1", UINT16: "<u2", UINT32: "<u4", UINT64: "<u8", INT32: "<i4", INT64: "<i8", UINT8: "|u1", INT8: "|i1", BOOL: "|b1"}


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
    pattern for the message that refuses the model."""

    model: bytes
    inputs: dict = field(default_factory=dict)
    outputs: list = field(default_factory=list)
    bound: float = 2e-6
    refused: str = ""
    options: tuple = ()
    layers: int = 0  # as many; 0: any number


def read_npy(path):
    with open(path, "rb") as f:
        data = f.read()
    length = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10 : 10 + length].decode())
    form = FORMATS[head["descr"]]
    return head["descr"], head["shape"], struct.unpack(f"<{(len(data) - 10 - length) // struct.calcsize(form)}{form}", data[10 + length :])


def near(got, wanted, bound):
    if math.isnan(wanted) or math.isinf(wanted):
        return math.isnan(got) if math.isnan(wanted) else got == wanted
    return abs(got - wanted) <= bound * (1 + abs(wanted))


def difference(path, wanted, bound):
    """Returns how a file's values differ from those wanted; None: not at all."""
    descr, shape, values = read_npy(path)
    if shape != tuple(wanted.shape) or (descr != KINDS[wanted.kind] and wanted.kind != BOOL):
        return f"{descr} {shape}, not {KINDS[wanted.kind]} {wanted.shape}"
    bound = bound if wanted.kind == FLOAT else 0
    for i, (a, b) in enumerate(zip(values, wanted.values, strict=True)):
        if not near(a, b, bound):
            return f"element {i} is {a}, not {b}"
    return None


def failure(uk, name, case, folder):
    """Returns what is wrong; None: nothing."""
    path = os.path.join(folder, name + ".onnx")
    with open(path, "wb") as f:
        f.write(case.model)
    words = [uk, "run", path, *(["--check"] if case.layers else []), *case.options]
    for key, array in case.inputs.items():
        words.append(f"--input={key}={path}.{key}.npy")
        with open(f"{path}.{key}.npy", "wb") as f:
            f.write(npy(array.shape, array.values, array.kind))
    outputs = [f"{path}.{i}.npy" for i in range(len(case.outputs))]
    done = subprocess.run([*words, *("--output=" + o for o in outputs)], capture_output=True, text=True, check=False)
    if case.refused:
        right = done.returncode == 1 and re.search(case.refused, done.stderr)
        return None if right else f"exit status {done.returncode}, {done.stderr[-400:]}, not refused by {case.refused!r}"
    if done.returncode:
        return f"exit status {done.returncode}: {done.stderr[-600:]}"
    if case.layers and not re.search(rf"^check: {case.layers} layers?,", done.stdout, re.M):
        return f"it does not have {case.layers} layers: {done.stdout}"
    wrong = (difference(o, wanted, case.bound) for o, wanted in zip(outputs, case.outputs, strict=True))
    return next((f"output {i}: {w}" for i, w in enumerate(wrong) if w), None)


def failures(uk, cases):
    """Runs all cases, a dictionary by name; returns a line for each that fails."""
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = pool.map(lambda item: (item[0], failure(uk, *item, folder)), cases.items())
        return [f"{name}: {what}" for name, what in found if what]
