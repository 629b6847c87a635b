# SPDX-License-Identifier: Apache-2.0
"""Calls every public function with one bad argument after the other: each is refused with a status and a
message that says what was wrong and does not ask for a report, or is listed as harmless. A function of
tests/tree/abi.txt without an entry in the tables is a failure.

    sweep.py SOURCE NM LIBUKERNELS LIBUKTENSORIZE LIBUKGPUSIM LIBUKBLAS LIBUKNETWORKS [FUNCTION...]

LIBUKNETWORKS is "" if it is not built.
"""

import ctypes
import pathlib
import subprocess
import sys

from calls import Interface, covered, run_apart
import blas
import gpus
import networks
import products
import programs

source, nm, *libraries = sys.argv[1:8]
only = sys.argv[8:]
listed = pathlib.Path(source, "tests/tree/abi.txt").read_text(encoding="utf-8")
failures, cases = [], 0


def sweep(table, interface, cases_of):
    global cases
    failures.extend(covered(table, interface, cases_of.__module__ + ".py"))
    for name in sorted(set(table) & set(interface.functions)):
        if not only or name in only:
            wrong, count = run_apart(name, cases_of(interface, name))
            failures.extend(wrong)
            cases += count


ctypes.CDLL(libraries[2], mode=ctypes.RTLD_GLOBAL)  # uk_gpu_open finds it by its name
kernels = Interface(listed, "libukernels.so", libraries[0])
tensorize = Interface(listed, "libuktensorize.so", libraries[1])
tensorize.kernels, tensorize.file = kernels, str(pathlib.Path(source, "tests/tree/misuse/nothing.ll")).encode()
kernels.tensorize = tensorize
of_gpus = kernels.part(lambda name: name.startswith("uk_gpu_"))
sweep(gpus.GOOD, of_gpus, gpus.cases)
sweep(products.GOOD, kernels.part(lambda name: name not in of_gpus.functions), products.cases)
sweep(programs.GOOD, tensorize, programs.cases)
if libraries[4]:
    of_networks = Interface(listed, "libuknetworks.so", libraries[4])
    of_networks.kernels = kernels
    sweep(networks.GOOD, of_networks, networks.cases)
of_blas = blas.Functions(libraries[3], subprocess.run([nm, "-D", "--defined-only", libraries[3]], check=True, capture_output=True, text=True).stdout)
failures += [f"{name}: tests/tree/misuse/blas.py knows no function of such a name" for name, known in of_blas.functions.items() if not known]
sweep({name: True for name, known in of_blas.functions.items() if known}, of_blas, blas.cases)

for failure in failures:
    print(failure)
print(f"{cases} calls, {len(failures)} failures")
sys.exit(bool(failures))
