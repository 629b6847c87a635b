# SPDX-License-Identifier: Apache-2.0
"""Times statements of NumPy, for uk bench ops: for each line of standard input, a JSON object, a line with another one on
standard output.

The first line has the "version", or an "error" if there is no NumPy.

Input: "code", statements on arrays; "tensors", a list of their names, types, shapes, and ranges of values; "bytes", of a
copy that is timed in turns. Output: "seconds" of the statements and "copy_seconds", the least of all samples; or "error".
"""

import json
import os
import sys
import time

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"
try:
    import numpy
except ImportError:
    numpy = None

TYPES = {"f32": "float32", "f64": "float64", "f16": "float16", **{f"{kind[0]}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}}
ROUNDS, SAMPLE = 15, 2e-3


def array(tensor):
    """An array with the tensor's values."""
    kind = numpy.dtype(TYPES[tensor["type"]])
    random = numpy.random.default_rng(1)
    if kind.kind == "f":
        return random.uniform(tensor["least"], tensor["most"], tensor["shape"]).astype(kind)
    return random.integers(int(tensor["least"]), int(tensor["most"]), tensor["shape"], dtype=kind)


def function(code, names):
    """A function that executes the statements a number of times."""
    scope = {"numpy": numpy, **names}
    exec(f"def run(times):\n    for _ in range(times):\n        {code}", scope)
    return scope["run"]


def seconds(run, times):
    start = time.perf_counter()
    run(times)
    return (time.perf_counter() - start) / times


def measure(row):
    names = {tensor["name"]: array(tensor) for tensor in row["tensors"]}
    source = numpy.zeros(int(row["bytes"]), "uint8")
    both = [
        function(row["code"], names),
        function("numpy.copyto(target, source)", {"source": source, "target": numpy.zeros_like(source)}),
    ]
    times = [max(1, int(SAMPLE / min(seconds(run, 1), seconds(run, 1), seconds(run, 1)))) for run in both]
    samples = [[seconds(run, n) for run, n in zip(both, times)] for _ in range(ROUNDS)]
    least = [min(sample) for sample in zip(*samples)]
    return {"seconds": least[0], "copy_seconds": least[1]}


if numpy is None:
    print(json.dumps({"error": "not installed; ./uk-setup networks installs it"}))
    sys.exit()
print(json.dumps({"version": numpy.__version__}), flush=True)
for line in sys.stdin:
    try:
        reply = measure(json.loads(line))
    except Exception as error:  # pylint: disable=broad-exception-caught
        reply = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(reply), flush=True)
