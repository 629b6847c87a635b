# SPDX-License-Identifier: Apache-2.0
"""Products with weights that DequantizeLinear makes: which keep their bits, and which are floats.

    kept_bits.py UK
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import bits
import defined

uk = sys.argv[1]
WEIGHTS = re.compile(r"uk_sgemm_([iu][48])_")
wanted = {**bits.KEPT, **{name: (case, None) for name, case in bits.WIDENED.items()}}
failures = []
os.environ["UK_MACHINE"] = "zen3"  # the caches decide schedules


def check(name, path, case, kernel):
    defined.write(path, case)
    done = subprocess.run([uk, "compile", path + ".onnx", "--emit=schedule", "--target=x86_64-avx2"], capture_output=True, text=True, check=False)
    found = set(WEIGHTS.findall(done.stdout))
    if done.returncode or found != {kernel} - {None}:
        failures.append(f"{name}: exit status {done.returncode}, kernels of weights {sorted(found)}, not {kernel}: {done.stderr[-400:]}")


with tempfile.TemporaryDirectory() as folder:
    for name, (case, kernel) in wanted.items():
        check(name, str(pathlib.Path(folder) / name), case, kernel)
for line in failures:
    print(line)
sys.exit(bool(failures) or not wanted)
