# SPDX-License-Identifier: Apache-2.0
"""The instructions that uk bench --target counts under qemu, against the kernels' machine code.

    count.py UK LLVM_BINDIR

A count is right if it is that of an innermost loop of the kernel's code, per step, and the same again; the loop's steps
are its multiply-adds over those that kernels.def states.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernels"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "filecheck"))
import counts  # noqa: E402
import k_loops  # noqa: E402

KERNELS = {
    "cortex-a76": [
        "uk_sgemm_8x12_neon_asm", "uk_sgemm_6x16_neon_asm", "uk_dgemm_8x6_neon_asm", "uk_sgemm_6x16_neon_intrin",
        "uk_i8gemm_8x12_dotprod_asm",
    ],
    "armv7-neon": ["uk_sgemm_4x8_armv7neon_asm"],
}


def per_step(uk, bindir, kernel, target, fma, folder):
    """Of each innermost loop: instructions for each step."""
    assembly, code = os.path.join(folder, kernel + ".s"), os.path.join(folder, kernel + ".o")
    counts.run(uk, "show", kernel, "--asm", "--target=" + target, "-o", assembly)
    triple = counts.ARCHS[counts.ISAS[kernel.split("_")[3]]["arch"]]["triple"]
    counts.run(os.path.join(bindir, "llvm-mc"), "-triple=" + triple, "-mattr=+dotprod", "-filetype=obj", assembly, "-o", code)
    text = counts.run(os.path.join(bindir, "llvm-objdump"), "-d", "--mattr=+dotprod", code)
    for body in k_loops.functions(text.splitlines()):
        edges = k_loops.graph(body)
        for loop in k_loops.innermost(set(edges), edges):
            multiplies = sum(bool(re.match(r"v?fml[as]|vmla|vfma|[su]dot", body[i].text)) for i in loop)
            if multiplies:
                yield len(loop) / (multiplies / fma)


def main():
    uk, bindir = sys.argv[1:]
    wrong = seen = 0
    for tool in sorted({counts.ARCHS[counts.ISAS[k.split("_")[3]]["arch"]]["emulator"]["program"] for ks in KERNELS.values() for k in ks}):
        if not shutil.which(tool):
            print(f"count_emulated skipped: {tool} is not installed; ./uk-setup test installs it")
            sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        for target, kernels in KERNELS.items():
            first = counts.run(uk, "bench", "--target=" + target, *kernels)
            if counts.run(uk, "bench", "--target=" + target, *kernels) != first:
                sys.exit(f"two runs for {target} count differently")
            for line in first.splitlines():
                found = re.match(r"(\S+)\s+([\d.]+) instructions a step,\s+([\d.]+) % of them multiply-adds", line)
                kernel, step, share = found[1], float(found[2]), float(found[3])
                loops = [round(x, 3) for x in per_step(uk, bindir, kernel, target, step * share / 100, folder)]
                seen += 1
                if not any(abs(x - step) < 0.005 * step for x in loops):
                    wrong += 1
                    print(f"{kernel}: {step} counted, its loops have {loops}")
    if seen != sum(map(len, KERNELS.values())):
        sys.exit(f"only {seen} kernels were counted")
    print(f"{seen - wrong} passed, {wrong} failed")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
