# SPDX-License-Identifier: Apache-2.0
"""Right values of networks, from definitions: ONNX's, and NumPy's where ONNX refers to it.

    values.py UK [TARGET...]

Each case of value_cases.py and the files like it is a network, its inputs and its right outputs. It runs here and for the targets under an
emulator, always with --check: the interpreter has the same values. Integers and NaN are compared exactly, other
floats within the case's number of units in the last place.
"""

import concurrent.futures
import math
import os
import struct
import subprocess
import sys
import tempfile

import digit_values
import quantized_values
import shape_values
import value_cases
from onnx_writer import FLOAT, npy, read_npy


def ulp(v):
    """The distance of adjacent f32 numbers at v."""
    return math.ldexp(1, max(math.frexp(v)[1] - 24, -149))


def is_close(got, right, ulps):
    if math.isnan(right) or math.isinf(right) or not math.isfinite(got):
        return got == right or (math.isnan(got) and math.isnan(right))
    return abs(got - right) <= ulps * ulp(right)


def differences(got, right, ulps):
    """Returns what is wrong with an output; None: nothing."""
    kind, shape, values = got
    if (kind, list(shape)) != (right.kind, list(right.shape)):
        return f"type {kind}, shape {shape} instead of type {right.kind}, shape {right.shape}"
    for i, (x, y) in enumerate(zip(values, right.values)):
        if not (is_close(x, y, ulps) if kind == FLOAT else x == y):
            return f"element {i} is {x!r} instead of {y!r}"
    return None


def run(uk, name, case, words, folder):
    """Returns the failures of one case."""
    folder = tempfile.mkdtemp(dir=folder)
    outputs = [f"{folder}/{name}.{i}.npy" for i in range(len(case.right))]
    inputs = []
    for key, a in case.inputs.items():
        path = f"{folder}/{name}.{key}.npy"
        with open(path, "wb") as f:
            f.write(npy(a.shape, a.values, a.kind))
        inputs.append(f"--input={key}={path}")
    with open(f"{folder}/{name}.onnx", "wb") as f:
        f.write(case.model)
    what = f"{name} {' '.join(words)}"
    done = subprocess.run([uk, "run", f"{folder}/{name}.onnx", "--check=all", *words, *inputs, *("--output=" + o for o in outputs)],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        return [f"{what}: exit status {done.returncode}: {done.stderr[-600:]}"]
    found = [differences(read_npy(o), r, case.ulps) for o, r in zip(outputs, case.right)]
    return [f"{what}: {case.labels[i]}: {text}" for i, text in enumerate(found) if text]


def main(uk, targets):
    cases = {**value_cases.all_cases(), **quantized_values.all_cases(), **digit_values.all_cases(), **shape_values.all_cases()}
    runs = [(name, case, words) for name, case in cases.items() for words in ([], *(["--target=" + t] for t in targets if case.is_emulated))]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        failures = sum(pool.map(lambda r: run(uk, *r, folder), runs), [])
    for failure in failures:
        print(failure)
    print(f"{len(runs)} runs, {len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
