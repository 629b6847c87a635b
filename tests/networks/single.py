# SPDX-License-Identifier: Apache-2.0
"""Second programs of layers, for runs in which a size is 1.

    single.py UK FOLDER

A product with a large constant and the attention of one token have one, others have none; both programs of a layer read the
constants in one layout. A run of one row and one of several are right, also in a loop, and with constants in a file.
"""

import os
import pathlib
import re
import subprocess
import sys

from onnx_writer import BOOL, INT64, Graph, graph, model, node, tensor, value
from small_networks import weights

uk, folder = sys.argv[1], pathlib.Path(sys.argv[2])
WIDTH, COLUMNS, EACH = 512, 3000, 64  # the weights of WIDTH x COLUMNS exceed any L2
failures = []
# Kernels, the caches, whose sizes are cpuinfo's, and the prefetcher decide schedules.
os.environ.update(UK_MACHINE="zen3", UK_ISA="avx2")


def network():
    """A product, an elementwise layer, and an attention whose keys are inputs."""
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Tanh", ["a"], ["y"]), node("Transpose", ["keys"], ["kt"], perm=[0, 2, 1]), node("MatMul", ["q", "kt"], ["s"]),
             node("Softmax", ["s"], ["p"], axis=-1), node("MatMul", ["p", "values"], ["o"]), node("Relu", ["x"], ["z"])]
    return model(nodes, [value("x", ["seq", WIDTH]), value("q", [2, "seq", EACH]), value("keys", [2, "past", EACH]), value("values", [2, "past", EACH])],
                 [value("y", ["seq", COLUMNS]), value("o", [2, "seq", EACH]), value("z", ["seq", WIDTH])], [weights(1, "w", [WIDTH, COLUMNS], WIDTH)])


def loop():
    """A product in each iteration of a loop."""
    body = Graph(graph([node("Identity", ["go"], ["more"]), node("MatMul", ["state", "w"], ["m"]), node("Tanh", ["m"], ["next"])], [value("i", [], INT64), value("go", [], BOOL), value("state", [])],
                       [value("more", [], BOOL), value("next", [])]))
    return model([node("Loop", ["trips", "", "x"], ["y"], body=body)], [value("x", ["seq", WIDTH])], [value("y", ["seq", WIDTH])],
                 [tensor("trips", [], [3], INT64), weights(1, "w", [WIDTH, WIDTH], WIDTH)])


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    if done.returncode:
        failures.append(f"{' '.join(map(str, words))}: {done.stderr[-400:]}")
    return done.stdout


def schedules(name, *sizes):
    """By function, the steps of its automatic schedule."""
    text = run(uk, "compile", folder / f"{name}.onnx", "--emit=schedule", *sizes)
    return dict(re.findall(r"^# (\w+)\n(.*?)(?=^# |\Z)", text, re.M | re.S))


def packs(steps):
    return re.findall(r"pack x1 at root.*", steps)


def check(what, is_right):
    if not is_right:
        failures.append(what)


folder.mkdir(exist_ok=True)
(folder / "product.onnx").write_bytes(network())
(folder / "loop.onnx").write_bytes(loop())
past = "--size=past=0..900"
open_, fixed = schedules("product", "--size=seq=1..32", past), schedules("product", "--size=seq=1", past)
singles = {name for name in open_ if name.endswith("_single")}
with_constant = [name for name in singles if packs(open_[name])]
check(f"{sorted(singles)} are the second programs, of {sorted(open_)}", 2 <= len(singles) <= 3 and len(with_constant) == 1)
for name in with_constant:
    check(f"{name} has other panels than the program for all sizes", packs(open_[name]) == packs(open_[name.removesuffix("_single")]))
    check(f"{name} does not read panels in turns", re.search(r"split \w+\.k \d+", open_[name]) and re.search(r"split \w+\.i\d*o \d+", open_[name]))
check("a network of one row has second programs", not any(name.endswith("_single") for name in fixed))
check("sizes from 2 on have second programs", not any(name.endswith("_single") for name in schedules("product", "--size=seq=2..32", past)))
for name, more in (("product", [past]), ("loop", [])):
    for seq in (1, 7):
        run(uk, "run", folder / f"{name}.onnx", "--size=seq=1..32", *more, f"--size=seq={seq}", *(["--size=past=611"] if more else []), "--check")
if failures:
    sys.exit("\n".join(failures))
