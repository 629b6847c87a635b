# SPDX-License-Identifier: Apache-2.0
"""Checks that each step of tensorize/language/steps.def is complete.

    steps.py SOURCE DICTIONARY

A row has a function that applies it, in room schedule or in match/apply.c; a program of tests/golden uses the
step, and another one refuses it; uk.5 has its section and its words; and the program DICTIONARY, from which
the fuzzers get their words, prints it. The compiler checks that each argument is parsed and printed.
"""

import pathlib
import re
import subprocess
import sys

source, dictionary = pathlib.Path(sys.argv[1]), sys.argv[2]
ROW = re.compile(r'^UK_STEP_ROW\((\w+), "([\w ]+)", (\w+), (\w+), (\d+), ([\w, ]+)\)$', re.M)


def read(*names):
    return "\n".join(path.read_text(encoding="utf-8") for name in names for path in sorted(source.glob(name)))


def steps_of(paths):
    """First words of indented lines, which include steps; lines of comments are expected output."""
    return {word for path in paths for word in re.findall(r"^ +(pragma import|\w+)", path.read_text(encoding="utf-8"), re.M)}


table = read("tensorize/language/steps.def")
rows = ROW.findall(table)
failures = []
if not rows or len(rows) != len(re.findall(r"^UK_STEP_ROW\(", table, re.M)):
    failures.append("steps.def has rows that are not written as UK_STEP_ROW(ID, \"word\", role, apply, names, argument, ..)")
code = read("tensorize/schedule/*.c", "tensorize/match/apply.c")
page = read("tensorize/uk.5")
golden = set((source / "tests/golden").glob("*.uk"))
refusing = {path for path in golden if path.name.startswith("refuse_")}
refused, taken = steps_of(refusing), steps_of(golden - refusing)
fuzzed = subprocess.run([dictionary], check=True, capture_output=True, text=True).stdout
for name, word, _, apply, _, _ in rows:
    if not re.search(rf"^enum uk_status {apply}\(struct uk_schedule \*s, struct uk_step \*step\) \{{", code, re.M):
        failures.append(f"{name}: no file of tensorize/schedule/ has {apply}()")
    if word not in taken:
        failures.append(f"{name}: no program of tests/golden has a step {word}")
    if word not in refused:
        failures.append(f"{name}: no program tests/golden/refuse_*.uk has a step {word}")
    if not all(f'"{part}"\n' in fuzzed for part in word.split()):
        failures.append(f"{name}: the fuzzers' dictionary lacks {word}")
    if not all(f'"{part}"' in page for part in word.split()) or not re.search(rf"^\.SS .*\b{word.split()[0]}\b", page, re.M):
        failures.append(f"{name}: uk.5 has no section {word}, or lacks it in the grammar")
for failure in failures:
    print(failure)
sys.exit(bool(failures))
