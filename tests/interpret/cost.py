# SPDX-License-Identifier: Apache-2.0
"""cost.py PROGRAM: counts, by valgrind, the instructions that the interpreter executes per term of a sum,
from the difference of two extents. Blocks of elements are computed in loops specialized by type, without
which `uk run --check` would take tens of seconds."""

import os
import re
import subprocess
import sys
import tempfile

MOST = 25  # instructions per term: 7 to 19 in these loops, at least 200 with a call for each element
SHORT, LONG = 20, 60


def instructions(program, case, k):
    with tempfile.NamedTemporaryFile() as out:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", program, case, str(k)]
        # Meson sets variables that make malloc and free fill memory, which would be counted.
        run = subprocess.run(command, env={**os.environ, "MALLOC_PERTURB_": "0"}, capture_output=True, text=True, check=False)
    counted = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode or not counted:
        sys.exit(f"cost.py: {' '.join(command)} failed:\n{run.stderr}")
    return int(counted[1])


def main():
    program = sys.argv[1]
    failed = False
    for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines():
        case, terms = line.split()
        cost = (instructions(program, case, LONG) - instructions(program, case, SHORT)) / ((LONG - SHORT) * int(terms))
        print(f"{case}: {cost:.1f} instructions for a term")
        failed = failed or cost > MOST
    if failed:
        sys.exit(f"cost.py: a term should take {MOST} at most")


main()
