# SPDX-License-Identifier: Apache-2.0
"""Cases of single operators with open dimensions: each either equals what is compiled for drawn sizes (ranges.c), or is refused.

    open_cases.py RANGES FILE EVERY MODULE...

Of each case of the modules, and of every_operator, an input's dimension is opened alone, with those of its extent, and with those
of its extent at its place. Each EVERY-th of these networks is compared.
"""

import importlib
import pathlib
import re
import subprocess
import sys

import onnx_writer

# What else may happen, by the beginning of the case's name: rows for boxes that may be chosen are as many as for the largest number of boxes; drawn places are
# outside of a tensor; drawn lengths contradict the number of all keys, a constant, which decides where there is one sequence.
OUTSIDE = "a layer refuses its arguments"
EXPECTED = {"suppressed.": "an output has another shape", "rotary.": OUTSIDE, "indexed.": OUTSIDE, "microsoft_attention.groups": "floats differ"}
MORE = 8  # values of a range above the case's own
WRONG = re.compile(r"_layer_\d+\.uk:|^ranges: [^:]*=", re.MULTILINE)  # errors of compilation, and of comparison


class Made(bytes):
    """What a function of onnx_writer made, and its arguments."""


def kept(function):
    def make(*arguments, **options):
        made = Made(function(*arguments, **options))
        made.arguments, made.options = arguments, options
        return made

    return make


model, value = onnx_writer.model, onnx_writer.value
onnx_writer.model, onnx_writer.value = kept(model), kept(value)


def opened(case, chosen):
    """The network with the dimensions (input, number) of that list open."""
    nodes, inputs, outputs, *rest = case.arguments
    shapes = [["n" if (i, d) in chosen else e for d, e in enumerate(v.arguments[1])] for i, v in enumerate(inputs)]
    left = [value(v.arguments[0], [f"{v.arguments[0]}_{d}" for d, _ in enumerate(v.arguments[1])], *v.arguments[2:], **v.options) for v in outputs]
    return model(nodes, [value(v.arguments[0], s, *v.arguments[2:], **v.options) for v, s in zip(inputs, shapes)], left, *rest, **case.options)


def choices(case):
    """Sets of dimensions, and their extent."""
    shapes = [v.arguments[1] for v in case.arguments[1]]
    dims = [(i, d, e) for i, s in enumerate(shapes) for d, e in enumerate(s) if isinstance(e, int) and e]
    found = {}
    for i, d, e in dims:
        alike = [(a, b) for a, b, f in dims if f == e]
        back = len(shapes[i]) - d
        for chosen in ([(i, d)], alike, [x for x in alike if x[1] == d], [(a, b) for a, b in alike if len(shapes[a]) - b == back]):
            found[frozenset(chosen)] = e
    return found.items()


def cases(modules):
    for module in modules:
        loaded = importlib.import_module(module)
        if hasattr(loaded, "CASES"):
            made = {k: c.model for k, c in loaded.CASES.items() if not c.refused and not any(o.startswith("--s") for o in c.options)}
        else:
            made = {k: f() for k, f in loaded.ALL.items()}
        yield from ((f"{module}.{k}", m) for k, m in made.items() if isinstance(m, Made))


program, path, every, *modules = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]
right = refused = count = 0
wrong = []
for name, case in cases(modules):
    for chosen, extent in choices(case):
        count += 1
        if count % every:
            continue
        path.write_bytes(opened(case, chosen))
        done = subprocess.run([program, str(path), "1", f"n={extent}..{extent + MORE}"], capture_output=True, text=True, check=False)
        if not done.returncode:
            right += 1
        elif done.returncode == 1 and (not WRONG.search(done.stderr) or any(name.startswith(k) and v in done.stderr for k, v in EXPECTED.items())):
            refused += 1
        else:
            wrong.append(f"{name} {sorted(chosen)} n={extent}..{extent + MORE}: exit status {done.returncode}: {done.stderr.strip()[-500:]}")
print(*wrong, f"{right} right, {refused} refused, {len(wrong)} wrong", sep="\n")
sys.exit(bool(wrong) or 4 * right < refused)  # many cases do not fit other extents
