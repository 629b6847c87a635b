# SPDX-License-Identifier: Apache-2.0
"""Outputs that are no states of a network: each is refused in one line that says what computes the output, with
exit status 1 (2 for names), and nothing is written.

    refused_states.py UK
"""

import os
import re
import subprocess
import sys
import tempfile

from onnx_writer import INT64, UINT8, model, node, tensor, value

uk = sys.argv[1]
PAST, X = value("past", ["n", 3]), value("x", [2, 3])
PLACES = [tensor("places", [2, 1], [0, 2], INT64)]


def net(*nodes, past=PAST, x=X, present=("m", 3), given=(), more=()):
    return model(nodes, [past, x], [value("present", list(present)), *more], given)


def written(*nodes, more=(), **attributes):
    """Rows of the past are replaced."""
    return net(node("ScatterND", ["past", "places", "x"], ["present"], **attributes), *nodes, given=PLACES, present=("n", 3), more=more)


Y = [value("y", ["n", 3])]
# The network, more options, exit status, and a pattern for the message.
CASES = {
    "added": (net(node("Add", ["past", "x"], ["present"]), past=value("past", [2, 3]), present=(2, 3)), [], 1,
              "Add add_present: 'past' and 'present' are no state that is written in place: this node computes the output"),
    "same": (net(node("Identity", ["past"], ["present"]), node("Relu", ["x"], ["y"]), present=("n", 3), more=[value("y", [2, 3])]), [], 1, "the output is the input as it is"),
    "before": (net(node("Concat", ["x", "past"], ["present"], axis=0)), [], 1, "Concat concat_present.*the input's rows are not at the same place in the output"),
    "shifted": (net(node("Slice", ["past", "one", "end"], ["rest"]), node("Concat", ["rest", "x"], ["present"], axis=0), given=[tensor("one", [1], [1], INT64), tensor("end", [1], [1 << 40], INT64)]),
                ["--size=n=1..9"], 1, "the input's rows are not at the same place in the output"),
    "merged": (net(node("Reshape", ["past", "flat"], ["f"]), node("Reshape", ["x", "flat"], ["g"]), node("Concat", ["f", "g"], ["present"], axis=0), present=("m",), given=[tensor("flat", [1], [-1], INT64)]),
               [], 1, "their types or numbers of dimensions differ"),
    "other": (net(node("Concat", ["x", "x"], ["present"], axis=0), node("Relu", ["past"], ["y"]), present=(4, 3), more=Y), [], 1, "the output has no rows of the input"),
    "open": (net(node("Concat", ["x", "x"], ["present"], axis=0), node("Relu", ["past"], ["y"]), present=(4, 3), more=Y), ["--size=n=1..4"], 1, "leave them out of the states$"),
    "cast": (net(node("Cast", ["past"], ["c"], to=1), node("Concat", ["c", "x"], ["present"], axis=0), past=value("past", ["n", 3], UINT8)), [], 1, "their types or numbers of dimensions differ"),
    "read": (written(node("Relu", ["past"], ["y"]), more=Y), [], 1, "Relu relu_y: .*this node reads the input, whose rows are replaced"),
    "sums": (written(reduction="add"), [], 1, "ScatterND .*its rows are not replaced but combined with others"),
    "input": (net(node("Concat", ["past", "x"], ["present"], axis=0)), ["--state=pasr=present"], 2, "the network has no input 'pasr'; did you mean 'past'; its inputs are past, x$"),
    "output": (net(node("Concat", ["past", "x"], ["present"], axis=0)), ["--state=past=presen"], 2, "no output 'presen'; did you mean 'present'; its outputs are present$"),
    "twice": (net(node("Concat", ["past", "x"], ["present"], axis=0)), ["--state=past=present", "--state=x=present"], 2, "'present' is given for two states"),
    "unnamed": (model([node("Concat", ["a", "x"], ["b"], axis=0)], [value("a", [4, 3]), X], [value("b", [6, 3])]), [], 2, "no output has the name of an input's next value"),
    "gpu": (net(node("Concat", ["past", "x"], ["present"], axis=0)), ["--target=amdgcn-gfx90a"], 1, "a GPU has no states, and 'past' is one"),
    "input_shape": (net(node("Concat", ["past", "x"], ["present"], axis=0)), ["--input=past=none.npy"], 1, "none.npy: No such file"),
}

failures = []
with tempfile.TemporaryDirectory() as folder:
    for name, (data, words, status, pattern) in CASES.items():
        with open(f"{folder}/{name}.onnx", "wb") as f:
            f.write(data)
        words = words if any(w.startswith("--state") for w in words) else ["--state=auto", *words]
        words += [] if any(w.startswith("--size") for w in words) or not re.search(rb"\x12\x01n", data) else ["--size=n=4"]
        done = subprocess.run([uk, "run", f"{name}.onnx", *words], capture_output=True, text=True, check=False, cwd=folder, timeout=300)
        if done.returncode != status or done.stdout or done.stderr.count("\n") != 1 or not re.search(pattern, done.stderr):
            failures.append(f"uk run {name}.onnx {' '.join(words)}: exit status {done.returncode}, {done.stdout[:200]!r}, {done.stderr[:600]!r}")
    if len(os.listdir(folder)) != len(CASES):
        failures.append(f"files were written: {os.listdir(folder)}")
print("\n".join(failures) or f"{len(CASES)} cases")
sys.exit(bool(failures))
