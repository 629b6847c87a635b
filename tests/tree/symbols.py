# SPDX-License-Identifier: Apache-2.0
"""Checks the symbols that built files refer to and export.

    symbols.py NM READELF BUILD VERSION

Every kernel's bitcode and object is freestanding; the libraries export only uk_ names, their text needs no
relocation, isl is linked in, and programs that only call kernels do not load LLVM. Sonames and symbol
versions contain the version up to the number at which interfaces may change.
"""

import pathlib
import subprocess
import sys

nm, readelf, build, version = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), sys.argv[4]
failures = []


def symbols(path, *options):
    out = subprocess.run([nm, *options, path], check=True, capture_output=True, text=True).stdout
    return [line.split()[-1].split("@")[0] for line in out.splitlines() if line and not line.endswith(":") and " A " not in line]


# Position-independent code refers to the offset table; sanitizers add calls to native objects.
allowed = ("_GLOBAL_OFFSET_TABLE_", "__asan", "__ubsan", "__tsan", "__msan", "__sanitizer", "__start_asan",
           "__stop_asan")
# Libraries that libukernels may load.
light = ("libc.", "libm.", "libpthreadpool.", "libcpuinfo.", "ld-linux", "libasan.", "libubsan.", "libtsan.",
         "libclang_rt.")
bitcode = sorted((build / "ukernels").glob("*.uk_*.bc"))
objects = sorted((build / "ukernels").glob("libuk_*_*x*.a")) + sorted((build / "ukernels").glob("uk_*.o"))
if not bitcode or not objects:
    failures.append("no kernels were found in the build folder")
# Checks hundreds of files in one process; -A puts the file's name before each line.
needed = subprocess.run([nm, "-A", "--undefined-only", *bitcode, *objects], check=True, capture_output=True, text=True).stdout
for line in needed.splitlines():
    path, name = line.split(": ", 1)[0], line.split()[-1]
    if not name.startswith(allowed):
        failures.append(f"{path} is not freestanding: it needs {name}")

# Every global name of an archive can clash with one of the program's.
for name in symbols(build / "ukernels/libukernels.a", "--defined-only", "--extern-only"):
    if not name.startswith(("uk_", "__asan", "__odr_asan", "__ubsan", "__tsan")):
        failures.append(f"libukernels.a defines {name}")

for path in (build / "ukernels/libukernels.so", build / "tensorize/libuktensorize.so", build / "networks/libuknetworks.so"):
    if not path.exists():
        continue
    for name in symbols(path, "-D", "--defined-only"):
        if not name.startswith("uk_"):
            failures.append(f"{path.name} shows {name}")
    for name in symbols(path, "-D", "--undefined-only"):
        if name.startswith(("isl_", "uk_isl_")):
            failures.append(f"{path.name} takes {name} from another library")
    dynamic = subprocess.run([readelf, "-dW", path], check=True, capture_output=True, text=True).stdout
    if "TEXTREL" in dynamic:
        failures.append(f"{path.name} has text relocations")
    for line in dynamic.splitlines():
        if "(NEEDED)" in line and "libukernels" in path.name and not line.split("[")[1].startswith(light):
            failures.append(f"{path.name} needs {line.split('[')[1].rstrip(']')}")

# The simulator exports one name, by which libukernels finds it.
simulator = build / "simulate/libukgpusim.so"
if simulator.exists() and symbols(simulator, "-D", "--defined-only") != ["uk_gpu_sim"]:
    failures.append(f"{simulator.name} shows {symbols(simulator, '-D', '--defined-only')}")

# libukblas exports these names of BLAS, and no others.
blas = build / "ukernels/libukblas.so"
gemm = ("{}gemm_", "{}gemm_64_", "{}gemm_batch_strided_", "{}gemm_batch_strided_64_", "cblas_{}gemm", "cblas_{}gemm_64",
        "cblas_{}gemm64_", "cblas_{}gemm_batch_strided", "cblas_{}gemm_batch_strided_64")
wanted = {name.format(letter) for name in gemm for letter in "sd"}
shown = set(symbols(blas, "-D", "--defined-only"))
for name in shown ^ wanted:
    failures.append(f"{blas.name} {'shows' if name in shown else 'lacks'} {name}")
for line in subprocess.run([readelf, "-dW", blas], check=True, capture_output=True, text=True).stdout.splitlines():
    if "(NEEDED)" in line and not line.split("[")[1].startswith(("libukernels.", *light)):
        failures.append(f"{blas.name} needs {line.split('[')[1].rstrip(']')}")

# Before 1.0 a minor version may change interfaces (CHANGELOG.md).
major, minor, _ = version.split(".")
number = major + (f".{minor}" if major == "0" else "")
for path in (build / "ukernels/libukernels.so", blas, build / "tensorize/libuktensorize.so", build / "networks/libuknetworks.so", simulator):
    if not path.exists():
        continue
    if f"[{path.name}.{number}]" not in subprocess.run([readelf, "-dW", path], check=True, capture_output=True, text=True).stdout:
        failures.append(f"{path.name} does not name itself {path.name}.{number}")
    wanted_version = f"{path.stem[3:].upper()}_{number}"
    for line in subprocess.run([nm, "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout.splitlines():
        if " A " not in line and not line.endswith(f"@@{wanted_version}"):
            failures.append(f"{path.name} shows {line.split()[-1]}, which is not of version {wanted_version}")

print("\n".join(failures) or f"{len(bitcode)} kernels, all freestanding")
sys.exit(1 if failures else 0)
