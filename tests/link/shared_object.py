# SPDX-License-Identifier: Apache-2.0
"""Compiled shared objects name the libraries that they need, and programs that are not linked with these can
load them.

    shared_object.py UK READELF LOAD_SHARED LIBUKERNELS
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

uk, readelf, load, libukernels = sys.argv[1:]
if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"):
    print("skipped: this CPU has no AVX2")
    sys.exit(77)
PRODUCT = "tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor C f32 [M, N]\nC[m, n] = sum(k) A[m, k] * B[k, n]\n"
SERIAL, PARALLEL = "schedule\n  split C.m 4 -> mo mi\n", "schedule\n  parallel C.m\n"
SCALE = "tensor X f32 [N]\ntensor Y f32 [N]\nY[i] = 2 * X[i]\nschedule\n  split Y.i 4 -> io ii\n"


def dynamic(path, tag):
    out = subprocess.run([readelf, "-d", path], check=True, capture_output=True, text=True).stdout
    return re.findall(rf"\({tag}\).*\[(.*)\]", out)


def make(name, *programs, target="x86_64-avx2"):
    path = work / name
    subprocess.run([uk, "compile", *programs, f"--target={target}", "--emit=shared", "-o", path], check=True)
    return path


def check(what, holds):
    if not holds:
        sys.exit(f"{what} does not hold")
    print(what)


def loaded(path, folder):
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    if folder:
        environment["LD_LIBRARY_PATH"] = folder
    return subprocess.run([load, path], env=environment, capture_output=True, text=True, check=False)


with tempfile.TemporaryDirectory() as folder:
    work = pathlib.Path(folder)
    for name, steps in ("serial", SERIAL), ("parallel", PARALLEL):
        (work / name).mkdir()
        (work / name / "matmul.uk").write_text(PRODUCT + steps, encoding="utf-8")
    (work / "scale.uk").write_text(SCALE, encoding="utf-8")
    (soname,) = dynamic(libukernels, "SONAME")
    here = str(pathlib.Path(libukernels).parent)
    serial, parallel = make("serial.so", work / "serial/matmul.uk"), make("parallel.so", work / "parallel/matmul.uk")
    both = make("both.so", work / "scale.uk", work / "parallel/matmul.uk")
    check("the program that loads does not need libukernels", soname not in dynamic(load, "NEEDED"))
    check("a serial object does not need libukernels", soname not in dynamic(serial, "NEEDED"))
    check("a parallel object needs libukernels, once", dynamic(parallel, "NEEDED").count(soname) == 1)
    check("so does one of which a part is parallel", dynamic(both, "NEEDED").count(soname) == 1)
    check("a serial object is loaded alone", loaded(serial, None).returncode == 0)
    for path in parallel, both:
        check(f"{path.name} brings libukernels", loaded(path, here).returncode == 0)
        failed = loaded(path, None)
        check(f"without libukernels {path.name} does not load, and says so", failed.returncode == 2 and soname in failed.stderr)
    check("the same program gives the same bytes",
          parallel.read_bytes() == make("again.so", work / "parallel/matmul.uk").read_bytes())
    if pathlib.Path("/usr/aarch64-linux-gnu/lib/libc.so.6").exists():
        foreign = make("foreign.so", work / "parallel/matmul.uk", target="aarch64-neon")
        check("so does a parallel object of another architecture", dynamic(foreign, "NEEDED").count(soname) == 1)
    else:
        print("left out: libc6-dev-arm64-cross is not installed")
