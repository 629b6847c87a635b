#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares networks with ONNX Runtime: one thread each, alternating in one process.

    bench/networks.py UK MODEL.onnx... [--rounds=N] [--json=FILE]

The command UK compiles each model into a shared object, which is called through ctypes; ONNX Runtime runs the
same model with its defaults and one thread. Prints a line per model: median milliseconds of both, and the
median and quartiles of the ratio of neighbouring runs (above 1: ours is faster). Needs numpy and onnxruntime,
as in the environment .venv-networks that ./uk-setup networks makes.
"""

import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile
import time

try:
    import numpy
    import onnxruntime
except ImportError as error:
    sys.exit(f"{error}: ./uk-setup networks installs numpy and onnxruntime into .venv-networks")

TYPES = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(uint8)": numpy.uint8, "tensor(int8)": numpy.int8,
         "tensor(int32)": numpy.int32}


class Ours:
    """A network's shared object and its block of memory."""

    def __init__(self, path, name):
        self.library = ctypes.CDLL(str(path))
        function = lambda suffix, result: self.function(f"{name}_{suffix}", result)
        self.run_function = function("run", ctypes.c_int)
        self.input, self.output = function("input", ctypes.c_void_p), function("output", ctypes.c_void_p)
        size = function("memory", ctypes.c_size_t)()
        self.block = ctypes.create_string_buffer(size + 64)
        self.memory = ctypes.c_void_p((ctypes.addressof(self.block) + 63) // 64 * 64)

    def function(self, name, result):
        f = getattr(self.library, name)
        f.restype = result
        return f

    def run(self, inputs):
        for i, x in enumerate(inputs):
            ctypes.memmove(self.input(self.memory, i), x.ctypes.data, x.nbytes)
        status = self.run_function(self.memory)
        if status:
            sys.exit(f"the network returned status {status}")


def timed(f):
    start = time.perf_counter()
    f()
    return (time.perf_counter() - start) * 1e3


def quantile(values, q):
    return float(numpy.quantile(values, q))


def measure(uk, model, rounds):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(1)
    feed = {}
    for i in session.get_inputs():
        kind = TYPES[i.type]
        feed[i.name] = (random.uniform(-1, 1, i.shape) if kind == numpy.float32 else random.integers(0, 2, i.shape)).astype(kind)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "net.so"
        since = time.perf_counter()
        subprocess.run([uk, "compile", str(model), "-o", str(path)], check=True)
        compiled = time.perf_counter() - since
        name = "".join(c if c.isalnum() and c.isascii() else "_" for c in model.stem)
        ours = Ours(path, f"_{name}" if name[0].isdigit() else name)
    inputs = list(feed.values())
    pairs = []
    until = time.perf_counter() + 20
    while len(pairs) < 3 or (len(pairs) < rounds and time.perf_counter() < until):
        pairs.append((timed(lambda: ours.run(inputs)), timed(lambda: session.run(None, feed))))
    pairs = numpy.array(pairs[1:])
    ratios = pairs[:, 1] / pairs[:, 0]
    return {"model": model.stem, "ours_ms": quantile(pairs[:, 0], 0.5), "onnxruntime_ms": quantile(pairs[:, 1], 0.5),
            "ratio": quantile(ratios, 0.5), "quartiles": [quantile(ratios, 0.25), quantile(ratios, 0.75)], "pairs": len(pairs),
            "compile_s": compiled}


def main():
    rounds, out, words = 200, None, []
    for word in sys.argv[1:]:
        if word.startswith("--rounds="):
            rounds = int(word.split("=", 1)[1])
        elif word.startswith("--json="):
            out = word.split("=", 1)[1]
        else:
            words.append(word)
    if len(words) < 2:
        sys.exit(__doc__)
    rows = []
    for model in words[1:]:
        row = measure(words[0], pathlib.Path(model), rounds)
        rows.append(row)
        print("{model}: {ours_ms:.3f} ms, ONNX Runtime {onnxruntime_ms:.3f} ms, ratio {ratio:.2f}".format(**row),
              "({:.2f}..{:.2f}), {} pairs; compiled in {:.1f} s".format(*row["quartiles"], row["pairs"], row["compile_s"]), flush=True)
    if out:
        pathlib.Path(out).write_text(json.dumps(rows, indent=1) + "\n")


main()
