# SPDX-License-Identifier: Apache-2.0
"""Tests a wheel in a root with nothing but Python and NumPy: wheel.py NETWORK.onnx, in a folder that it may
write to.

Products, programs and networks are called and saved as objects; functions that need clang or lld name the
missing package.
"""

import pathlib
import subprocess
import sys

import numpy as np
import ukernels as uk

MATMUL = """tensor A f32 [M, K]
tensor B f32 [K, N]
tensor C f32 [M, N]
C[m, n] = sum(k) A[m, k] * B[k, n]
"""
IMPORT = '''pragma import c """
void twice_4(const float *x, float *y) { for (int i = 0; i < 4; i++) y[i] = x[i] + x[i]; }
"""
intrinsic twice_4
  tensor x f32 [4]
  tensor y f32 [4]
  y[i] = x[i] + x[i]
  compute void twice_4(ptr x, ptr y)
end
tensor X f32 [N]
tensor Y f32 [N]
Y[i] = X[i] + X[i]
schedule
  split Y.i 4 -> io ii
  tensorize ii twice_4
'''


def is_object(path):
    return pathlib.Path(path).read_bytes().startswith(b"\x7fELF")


def refused(what, *words):
    """Checks that the call raises UnsupportedError with these words in its message."""
    try:
        what()
    except uk.UnsupportedError as error:
        missing = [word for word in words if word not in str(error)]
        assert not missing, f"no {missing} in: {error}"
    else:
        raise AssertionError(f"{words[0]} is not needed")


def main():
    for program in ("clang-19", "clang", "gcc", "ld.lld-19", "ld"):
        assert subprocess.run(["sh", "-c", f"command -v {program}"], stdout=subprocess.DEVNULL, check=False).returncode, f"{program} is installed"
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((65, 70), (70, 90)))
    assert (uk.sgemm(a, b) == a @ b).all() and (uk.dgemm(a.astype(float), b.astype(float)) == a @ b).all()
    matmul = uk.compile(MATMUL, name="matmul")
    assert (matmul(a, b) == a @ b).all() and matmul.kernels
    matmul.save("matmul.o", header="matmul.h")
    uk.compile(MATMUL, name="matmul", target="aarch64-neon").save("arm.o")
    network = uk.network(sys.argv[1])
    image = np.ones(network.inputs[0].shape, np.float32)
    assert np.isfinite(network(image)).all()
    network.save("network.o", header="network.h")
    assert is_object("matmul.o") and is_object("arm.o") and is_object("network.o")
    pathlib.Path("matmul.uk").write_text(MATMUL, encoding="utf-8")
    for words in (["run", "matmul.uk", "--size=M=20", "--size=N=30", "--size=K=10", "--check"], ["run", sys.argv[1], "--check"],
                  ["compile", "matmul.uk", "-o", "command.o"], ["compile", sys.argv[1], "-o", "command_network.o"],
                  ["tune", "matmul.uk", "--size=M=16", "--size=N=16", "--size=K=16", "--trials=1", "-o", "best.uk"], ["verify", "uk_sgemm_4x8_generic_c"]):
        done = subprocess.run(["uk", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, f"uk {' '.join(words)}\n{done.stdout}"
        assert "--check" not in words or "check: equal" in done.stdout or "within" in done.stdout, done.stdout
    assert is_object("command.o") and is_object("command_network.o")
    refused(lambda: matmul.save("matmul.so"), "clang-19")
    refused(lambda: uk.compile(IMPORT), "clang-19", "install")
    refused(lambda: uk.compile(MATMUL, target="amdgcn-gfx90a").save("gpu.o"), "lld-19", "install")
    clang = pathlib.Path("/usr/bin/clang-19")  # without lld; only this test uses the system
    clang.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    clang.chmod(0o755)
    refused(lambda: matmul.save("matmul.so"), "lld-19", "install")
    clang.unlink()
    print(f"{uk.__version__} of {pathlib.Path(uk.__file__).parent}: called, saved, and refused what needs clang or lld")


if __name__ == "__main__":
    main()
