# SPDX-License-Identifier: Apache-2.0
"""Checks that the planner's measured thresholds are all in one file: other sources have no floating-point
literals, and no integers above 64.

    thresholds.py SOURCE_TREE

Each row of thresholds.def states its unit, the measurement, and the CPUs; there are at most MOST rows, and
each is used.
"""

import pathlib
import re
import sys

MOST = 25
ROOMS = ["ukernels/cost", "ukernels/gemm", "ukernels/conv", "tensorize/auto"]
TABLE = "ukernels/cost/thresholds.def"
NUMBER = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|(?:\d+\.\d*|\.\d+|\d+)(?:[eEpP][-+]?\d+)?)[fFlLuU]*(?:\s*<<\s*(\d+))?(?![\w.])")


def code_of(text):
    """Removes comments and strings; keeps the number of lines."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def is_threshold(number, shift):
    if number.startswith("0x"):  # 64-bit constants of random number generators are allowed
        return 64 < int(number, 16) < 1 << 32
    return not number.isdigit() or int(number) << int(shift or 0) > 64


def literals(path):
    lines = code_of(path.read_text(encoding="utf-8")).split("\n")
    for i, line in enumerate(lines, 1):
        for number, shift in NUMBER.findall(line):
            if is_threshold(number, shift):
                yield i, number


root = pathlib.Path(sys.argv[1])
failures = []
for room in ROOMS:
    for path in sorted((root / room).rglob("*")):
        if path.suffix in (".c", ".h"):
            failures += [f"{path.relative_to(root)}:{line}: {number} belongs into {TABLE}" for line, number in literals(path)]
table = (root / TABLE).read_text(encoding="utf-8")
rows = re.findall(r'^UK_(THRESHOLD|FACTOR)\((\w+), ([^,"]+), "([^"]+)", "([^"]+)", "([^"]+)"\)$', table, flags=re.M)
limits = re.findall(r'^UK_LIMIT\((\w+), ([^,"]+), "([^"]+)", "([^"]+)"\)$', table, flags=re.M)
if len(rows) + len(limits) != len(re.findall(r"^UK_(?:THRESHOLD|FACTOR|LIMIT)\(", table, flags=re.M)):
    failures.append(f"{TABLE}: a row lacks its unit, its measurement or reason, or its CPUs")
if not 0 < len(rows) <= MOST:
    failures.append(f"{TABLE} has {len(rows)} thresholds, not 1 to {MOST}: derive one from the machine's row, or show that it decides nothing")
used = " ".join(code_of(p.read_text(encoding="utf-8")) for room in ROOMS for p in (root / room).rglob("*.[ch]"))
failures += [f"{TABLE}: nothing uses {name}" for name in [r[1] for r in rows] + [r[0] for r in limits] if not re.search(rf"\b{name}\b", used)]
print("\n".join(failures))
sys.exit(bool(failures))
