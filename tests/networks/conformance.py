#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs cases of ONNX's own conformance suite: the node, converted and operator cases of the package onnx.

    conformance.py CONFORM UK [--only=PATTERN] [--every=N] [--folder=DIR]

Each case goes through tests/networks/conform, every 8th also through `uk run` with .npy files. --every=N takes
every N-th case only. Prints a table: for each operator, the numbers of cases that passed, were refused and
failed. Fails if a case failed, if one was refused for a reason that is not in REFUSED, or, when all are
run, if fewer than PASSED node cases passed.
"""

import collections
import concurrent.futures
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

PASSED = 1514  # node cases of onnx 1.23.2
UK_RUN = 8  # every so many cases also run by `uk run`
# Why a case may be refused: patterns of messages.
NEVER = set("""Bernoulli DFT ImageDecoder NegativeLogLikelihoodLoss OptionalGetElement OptionalHasElement RandomUniformLike SoftmaxCrossEntropyLoss
SplitToSequence STFT TfIdfVectorizer Unique BlackmanWindow HammingWindow HannWindow MelWeightMatrix ai.onnx.ml.ArrayFeatureExtractor ai.onnx.ml.Binarizer
ai.onnx.ml.TreeEnsemble ai.onnx.preview.FlexAttention ai.onnx.preview.training.Adagrad ai.onnx.preview.training.Adam
ai.onnx.preview.training.Momentum""".split())
REFUSED = [
    r"is not a tensor", r"SequenceConstruct", r"Optional .*: this operator is not supported",  # sequences, optionals, maps
    r"element type (string|float8\w+|float4e2m1|u?int[24]) \(",
    r"training mode", r"its result depends on data", r"Slice .* must be known at compile time, but is computed from data", r"casts to four bits",
    r"blocks of scales",
    r"izeLinear y: (de)?quantizing",
    rf"operators? (is|are) not supported: .*\b({'|'.join(map(re.escape, NEVER))}) \(",
]


def tensor(value):
    return value if isinstance(value, TensorProto) else numpy_helper.from_array(numpy.asarray(value))


def is_tensor(value):
    return value is not None and not isinstance(value, (list, dict))


class Case:
    """The files of a case in a folder of its own."""

    def __init__(self, folder, name, model, inputs, outputs, rtol, atol):
        self.name, self.rtol, self.atol, self.place = name, rtol, atol, folder / name
        self.operators = {n.op_type for n in model.graph.node}
        initialized = {w.name for w in model.graph.initializer}
        self.names = [i.name for i in model.graph.input if i.name not in initialized]
        self.place.mkdir(parents=True, exist_ok=True)
        onnx.save(model, str(self.place / "model.onnx"))
        for kind, values in (("input", inputs), ("output", outputs)):
            for i, v in enumerate(values):
                if is_tensor(v):
                    (self.place / f"{kind}_{i}.pb").write_bytes(tensor(v).SerializeToString())
        (self.place / "inputs.txt").write_text("".join(n + "\n" for n in self.names))
        self.inputs = [v for v in inputs]
        self.outputs = [v for v in outputs]


def padded(model, inputs, outputs):
    """A NonMaxSuppression gives a row for each box that may be chosen; rows of -1 follow those that are."""
    if [n.op_type for n in model.graph.node] != ["NonMaxSuppression"]:
        return outputs
    (rows,), (batch, classes, boxes) = outputs, inputs[1].shape
    return [numpy.pad(rows, ((0, batch * classes * min(int(inputs[2][0]), boxes) - len(rows)), (0, 0)), constant_values=-1)]


def node_cases(folder, only, every):
    for case in [c for c in collect_testcases(None) if fnmatch.fnmatch(c.name, only)][::every]:
        for i, (inputs, outputs) in enumerate(case.data_sets):
            yield Case(folder, f"{case.name}_{i}" if i else case.name, case.model, inputs, padded(case.model, inputs, outputs), case.rtol, case.atol)


def model_cases(folder, only, every):
    data = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    number = lambda path: int(path.stem.split("_")[1])
    for kind in ("pytorch-converted", "pytorch-operator"):
        for place in sorted((data / kind).iterdir())[::every]:
            if fnmatch.fnmatch(place.name, only):
                values = [[onnx.load_tensor(str(p)) for p in sorted(place.glob(f"test_data_set_0/{what}_*.pb"), key=number)]
                          for what in ("input", "output")]
                yield Case(folder, place.name, onnx.load(str(place / "model.onnx")), *values, 1e-3, 1e-7)


def conform(command, cases, list_file):
    """Returns "passed", "refused" or "failed", and the reason, by the case's name."""
    list_file.write_text("".join(f"{c.name} {c.rtol} {c.atol} {c.place}\n" for c in cases))
    ran = subprocess.run([command, list_file], stdout=subprocess.PIPE, text=True)
    found = {}
    for line in ran.stdout.splitlines():
        what, _, rest = line.partition(" ")
        name, _, reason = rest.partition(": ")
        found[name] = what, reason
    for c in cases:
        found.setdefault(c.name, ("failed", f"conform ended with status {ran.returncode} before"))
    return found


def array(value):
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else numpy.asarray(value)


def difference(case, i, got):
    """Returns how output i differs from what is expected, or ""."""
    want = array(case.outputs[i])
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"output {i} is {got.dtype} {got.shape}, not {want.dtype} {want.shape}"
    if want.dtype == numpy.float16:  # as conform.c: rounded once
        equal = numpy.isclose(got, want, max(case.rtol, 2**-9), case.atol, equal_nan=True)
    elif want.dtype.kind == "f":
        equal = numpy.isclose(got, want, case.rtol, case.atol, equal_nan=True)
    else:
        equal = got == want
    return "" if numpy.all(equal) else f"output {i}: {numpy.count_nonzero(~equal)} elements differ"


def uk_run(uk, case):
    """The same by the command: its inputs and outputs are .npy files."""
    constants = []
    files = [case.place / f"output_{i}.npy" for i in range(len(case.outputs))]
    for name, v in zip(case.names, case.inputs):
        numpy.save(case.place / f"{len(constants)}.npy", array(v))
        constants.append([name, case.place / f"{len(constants)}.npy", "input"])
    while True:
        ran = subprocess.run([uk, "run", case.place / "model.onnx", *[f"--{kind}={name}={file}" for name, file, kind in constants],
                              *[f"--output={f}" for f in files]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wanted = [c for c in constants if c[0] in re.findall(r"--constant ([^=]+)=", ran.stderr) and c[2] == "input"]
        if not wanted:
            break
        for c in wanted:
            c[2] = "constant"
    if ran.returncode:
        return "failed", ran.stderr.strip()
    wrong = [w for i, f in enumerate(files) if (w := difference(case, i, numpy.load(f)))]
    return ("failed", wrong[0]) if wrong else ("passed", "")


def takes_npy(case):
    """True if NumPy has the types of all tensors."""
    return all(is_tensor(v) and array(v).dtype.kind in "biuf" and array(v).dtype.isbuiltin == 1 for v in [*case.inputs, *case.outputs])


def print_table(cases, found):
    kinds = "passed", "refused", "failed"
    table = collections.defaultdict(collections.Counter)
    for case in cases:
        for operator in case.operators:
            table[operator][found[case.name][0]] += 1
    table["cases"] = collections.Counter(what for what, _ in found.values())
    print(f"{'operator':28}" + "".join(f"{k:>9}" for k in kinds))
    for operator in sorted(table, key=lambda o: (o == "cases", o)):
        print(f"{operator:28}" + "".join(f"{table[operator][k]:9}" for k in kinds))


def unexpected(found):
    """Returns what is wrong, one line each."""
    return [f"{what}: {name}: {reason}" for name, (what, reason) in found.items()
            if what == "failed" or (what == "refused" and not any(re.search(r, reason) for r in REFUSED))]


def main():
    command, uk = sys.argv[1:3]
    options = dict(word.removeprefix("--").split("=", 1) for word in sys.argv[3:])
    if not options.keys() <= {"only", "every", "folder"}:
        sys.exit(__doc__)
    only, every = options.get("only", "*"), int(options.get("every", 1))
    warnings.simplefilter("ignore")  # onnx divides by 0 intentionally
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as workers:
        folder = pathlib.Path(options.get("folder", temporary))
        cases = [*node_cases(folder, only, every)]
        nodes = {c.name for c in cases}
        cases += model_cases(folder, only, every)
        parts = [cases[i::8] for i in range(8)]
        found = {}
        for part in workers.map(lambda i: conform(command, parts[i], folder / f"list_{i}.txt"), range(8)):
            found.update(part)
        again = [c for c in cases[::UK_RUN] if found[c.name][0] == "passed" and takes_npy(c)]
        for case, (what, reason) in zip(again, workers.map(lambda c: uk_run(uk, c), again)):
            if what != "passed":
                found[case.name] = what, f"uk run: {reason}"
    print_table(cases, found)
    passed = sum(found[name][0] == "passed" for name in nodes)
    wrong = unexpected(found)
    if only == "*" and every == 1 and passed < PASSED:
        wrong.append(f"{passed} node cases passed, not {PASSED} or more")
    print(f"{passed} of {len(nodes)} node cases passed; {len(again)} cases ran by uk run too", *wrong, sep="\n")
    sys.exit(bool(wrong) or not found)


if __name__ == "__main__":
    main()
