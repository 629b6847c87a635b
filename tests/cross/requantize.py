#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requantizes sums to bytes by examples/conv2d_requantize_*.uk on every architecture, and compares with the
rules of ONNX Runtime, TVM and TensorFlow Lite, implemented here from their definitions: ties of either sign,
saturation, and the limits of i32; with a multiplier for each channel, as in the examples, and with one for
the whole tensor.

    requantize.py UK SOURCES FOLDER CLANG: builds in FOLDER.

Exits with 77 if an emulator is missing.
"""

import math
import pathlib
import random
import shutil
import struct
import subprocess
import sys

uk, source, folder, clang = sys.argv[1], *map(pathlib.Path, sys.argv[2:4]), sys.argv[4]
sys.path.insert(0, str(source / "ukernels/machine"))
import archs  # noqa: E402

I32 = 1 << 31
H, W, C = 3, 5, 8
X0 = 7
ACCUMULATORS = [0, 1, -1, 2, 3, -3, 5, -5, 127, -128, 255, 256, -257, (1 << 24) + 1, -(1 << 24) - 1, (1 << 30) - 1, I32 - 1, 1 - I32, -I32]
# Parameters of each rule: multipliers and shifts. Halves come first, so that odd sums are ties.
FLOATS = [(0.5,), (1.0,), (0.25,), (1.5,), (2.0**-24,), (0.0007,), (1e-40,), (3e38,)]
NOT_FINITE = [(float("nan"),), (float("inf"),), (float("-inf"),)]
UPWARD = [(1 << 30, 31), (1 << 30, 32), (I32 - 1, 31), (1 << 30, 54), (0x5A827999, 38), (3, 1), (1, 62), (I32 - 1, 62)]
DOUBLING = [(1 << 30, 0), (1 << 30, 1), (I32 - 1, 0), (1 << 30, 23), (0x5A827999, 7), (I32 - 1, 31), (-I32, 0), (0x40000001, 2)]


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def wrapped(v):
    return (v + I32) % (2 * I32) - I32


def f32(v):
    try:
        return struct.unpack("f", struct.pack("f", v))[0]
    except OverflowError:
        return float("inf") if v > 0 else float("-inf")


def saturated(v):
    return min(max(v, 0), 255)


def onnx_runtime(total, zero, scale):
    product = f32(f32(total) * f32(scale))  # exact in 53 bits, then rounded once
    if product != product:
        return 0  # result for NaN in the language
    return saturated(round(min(max(product, -1e6), 1e6)) + zero)


def tvm(total, zero, multiplier, shift):
    return saturated((total * multiplier + (1 << (shift - 1)) >> shift) + zero)


def tensorflow_lite(total, zero, multiplier, shift):
    if total == multiplier == -I32:
        high = I32 - 1
    else:
        product = total * multiplier
        nudged = product + ((1 << 30) if product >= 0 else 1 - (1 << 30))
        high = abs(nudged) // I32 * (1 if nudged >= 0 else -1)  # truncates, as division in C
    mask = (1 << shift) - 1
    threshold = (mask >> 1) + (high < 0)
    return saturated((high >> shift) + ((high & mask) > threshold) + zero)


RULES = {
    "float": (onnx_runtime, FLOATS + NOT_FINITE, (("scale", "f32"),)),
    "finite": (onnx_runtime, FLOATS, (("scale", "f32"),)),  # the scales are declared `finite`
    "upward": (tvm, UPWARD, (("multiplier", "i32"), ("shift", "i32"))),
    "doubling": (tensorflow_lite, DOUBLING, (("multiplier", "i32"), ("shift", "i32"))),
}
C_TYPES = {"f32": "float", "i32": "int32_t"}


class Data:
    """Two images: one is X0 everywhere, so sums are the bias alone; one is random, and its result depends on
    the padding."""

    def __init__(self, channels):
        draw = random.Random(18)
        self.channels = channels
        pixels = H * W * C
        self.x = [X0] * pixels + [draw.choice((0, 255, draw.randrange(256))) for _ in range(pixels)]
        self.f = [draw.choice((-128, 127, draw.randrange(-128, 128))) for _ in range(9 * C * channels)]
        self.product = [[self.sums(p, q, o) for o in range(channels)] for p in range(H) for q in range(W)]

    def sums(self, p, q, o):
        """Sums of the second image, without zero points: X - X0 is 0 outside it."""
        total = 0
        for r in range(max(0, 1 - p), min(3, H + 1 - p)):
            for s in range(max(0, 1 - q), min(3, W + 1 - q)):
                at = H * W * C + ((p + r - 1) * W + q + s - 1) * C
                for c in range(C):
                    total += (self.x[at + c] - X0) * self.f[((r * 3 + s) * C + c) * self.channels + o]
        return total

    def folded(self, bias):
        of = [sum(self.f[t * self.channels + o] for t in range(9 * C)) for o in range(self.channels)]
        return [wrapped(b - X0 * s) for b, s in zip(bias, of)]

    def expected(self, bias, zero, rule, values):
        nothing = [[0] * self.channels] * (H * W)
        return [rule(wrapped(t + b), zero, *v) for pixel in nothing + self.product for t, b, v in zip(pixel, bias, values)]


def literal(v, kind):
    if kind == "f32" and not math.isfinite(v):
        return f'(float){v}'.replace("inf", "INFINITY").replace("nan", "NAN")
    return f"{v.hex()}f" if kind == "f32" else f"(-{-v - 1} - 1)" if v < 0 else str(v)


def array(kind, name, values):
    return f"static const {kind} {name}[] = {{{', '.join(map(str, values))}}};\n"


def call(name, zero, operands, data, kinds, values):
    """One call and its comparison. A list of values is a tensor, one tuple scalars."""
    text, scalars, tensors = "", "", ""
    for i, (_, kind) in enumerate(kinds):
        if isinstance(values, tuple):
            scalars += f"{literal(values[i], kind)}, "
        else:
            text += array(C_TYPES[kind], f"v{i}", [literal(v[i], kind) for v in values])
            tensors += f"v{i}, "
    arguments = f"2, {H}, {W}, {C}, {data.channels}, {X0}, {zero}, {scalars}x_{operands}, f_{operands}, bias_{operands}, {tensors}y"
    return f"{{ {text} failures += differs(\"{name}\", {name}({arguments}), expected, {data.channels}); }}\n"


def cases(name):
    """Data and calls for a rule's two programs."""
    rule, parameters, kinds = RULES[name]
    text, calls = "", ""
    for suffix, bias, choices in (
        ("channel", [a for a in ACCUMULATORS for _ in parameters], [[v for _ in ACCUMULATORS for v in parameters]]),
        ("tensor", ACCUMULATORS, parameters),
    ):
        operands = f"{name}_{suffix}"
        data = Data(len(bias))
        text += array("uint8_t", f"x_{operands}", data.x) + array("int8_t", f"f_{operands}", data.f)
        text += array("int32_t", f"bias_{operands}", [literal(b, "i32") for b in data.folded(bias)])
        for values in choices:
            for zero in (0, 3, 255):
                each = values if isinstance(values, list) else [values] * len(bias)
                calls += "{ " + array("uint8_t", "expected", data.expected(bias, zero, rule, each))
                calls += call(f"requantize_{operands}", zero, operands, data, kinds, values) + "}\n"
    return text, calls


def write_programs():
    """Writes the example, and the same with scalars in place of a tensor's channels; returns both paths."""
    paths = []
    for name, (_, _, kinds) in RULES.items():
        text = (source / f"examples/conv2d_requantize_{name.replace('finite', 'float')}.uk").read_text(encoding="ascii")
        one = text
        for operand, kind in kinds:
            assert f"tensor {operand} {kind} [O]\n" in text
            if name == "finite":
                text = text.replace(f"tensor {operand} {kind} [O]", f"tensor {operand} {kind} [O] finite")
            one = one.replace(f"tensor {operand} {kind} [O]", f"scalar {operand} {kind}").replace(f"{operand}[o]", operand)
        for suffix, what in (("channel", text), ("tensor", one)):
            paths.append(folder / f"requantize_{name}_{suffix}.uk")
            paths[-1].write_text(what, encoding="ascii")
    return paths


DRIVER = """#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "requantize.h"
static uint8_t y[1 << 16];
static int differs(const char *name, int status, const uint8_t *expected, int channels) {
    const int n = 2 * %d * channels;
    int wrong = 0;
    for (int i = 0; i < n; i++)
        if (status || y[i] != expected[i]) {
            if (!wrong)
                printf("%%s: status %%d; pixel %%d, channel %%d is %%d, not %%d\\n", name, status, i / channels, i %% channels, y[i], expected[i]);
            wrong = 1;
        }
    memset(y, 0xa5, sizeof y);
    return wrong;
}
""" % (H * W)


def write_driver():
    both = [cases(name) for name in RULES]
    main = "int main(void) {\n    int failures = 0;\n" + "".join(calls for _, calls in both) + "    return failures != 0;\n}\n"
    (folder / "driver.c").write_text(DRIVER + "".join(text for text, _ in both) + main, encoding="ascii")


def targets():
    """Yields target, clang's options, emulator."""
    flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii").split()
    for target, needed in (("x86_64-avx2", "avx2"), ("x86_64-avx512", "avx512vl")):
        if needed in flags:
            yield target, [], []
    for arch in archs.emulated().values():
        emulator = arch["emulator"]
        command = [emulator["program"], "-cpu", emulator["cpus"]]
        options = [f"--target={emulator['triple']}", "-static", "-fuse-ld=lld"]
        if not shutil.which(command[0]):
            print(f"requantize skipped: {command[0]} is not installed; ./uk-setup test installs it")
            sys.exit(77)
        yield arch["targets"][0], options, command
        if arch["llvm"] == "RISCV":
            simulated = [source / f"simulate/rvp/{name}.c" for name in ("emulate", "replace", "decode", "illegal", "signals", "copies")]
            include = [f"-I{source / room}" for room in ("ukernels", "simulate/rvp")]
            yield "riscv64-p", [*options, "-march=rv64gc", "-Wl,-u,uk_rvp_start", *include, *simulated], command


def main():
    folder.mkdir(parents=True, exist_ok=True)
    programs = write_programs()
    write_driver()
    run(uk, "compile", *programs, "--target=x86_64-avx2", "--emit=header", "-o", folder / "requantize.h")
    failures = 0
    for target, options, emulator in targets():
        compiled, program = folder / f"{target}.o", folder / target
        run(uk, "compile", *programs, f"--target={target}", "--require-kernels", "-o", compiled)
        run(clang, *options, "-O1", f"-I{folder}", folder / "driver.c", compiled, "-lm", "-o", program)
        done = subprocess.run([*emulator, program], capture_output=True, text=True, check=False)
        print(f"{target}: {'equal' if not done.returncode else done.stdout + done.stderr}")
        failures += done.returncode != 0
    sys.exit(failures != 0)


main()
