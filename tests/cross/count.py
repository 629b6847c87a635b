# SPDX-License-Identifier: Apache-2.0
"""Compares the instructions that uk bench --target counts under qemu with the kernels' machine code.

    count.py UK LLVM_BINDIR

A count is right if it is that of an innermost loop of the kernel's code per step, and the same when repeated;
the loop's steps are its multiply-adds divided by those that kernels.def states. The histogram has all of
them, and its sum is the count. In these loops nothing waits for results of RISC-V P, so the estimated cycles
are equal to the count.
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
    "riscv64-p": ["uk_igemm_4x5_rvp_asm", "uk_i8gemm_4x4_rvp_asm", "uk_u8gemm_ra_4x8_rvp_asm", "uk_sgemm_4x6_rv64gc_c"],
}
# Instructions that the emulator's disassembler does not know, such as sdot, are printed as .byte.
MULTIPLIES = r"v?fml[as]|vmla|vfma|[su]dot|smaqa|umaqa|fmadd|\.byte"
FEATURES = {"riscv64": "+m,+f,+d"}


def arch_of(kernel):
    return next(counts.ISAS[part] for part in kernel.split("_") if part in counts.ISAS)["arch"]


def per_step(uk, bindir, kernel, target, fma, folder):
    """Instructions per step, for each innermost loop."""
    assembly, code = os.path.join(folder, kernel + ".s"), os.path.join(folder, kernel + ".o")
    counts.run(uk, "show", kernel, "--asm", "--target=" + target, "-o", assembly)
    features = FEATURES.get(arch_of(kernel), "+dotprod")
    tool = [os.path.join(bindir, "llvm-mc"), "-triple=" + counts.ARCHS[arch_of(kernel)]["triple"], "-mattr=" + features]
    counts.run(*tool, "-filetype=obj", assembly, "-o", code)
    text = counts.run(os.path.join(bindir, "llvm-objdump"), "-d", "--mattr=" + features, code)
    for body in k_loops.functions(text.splitlines()):
        edges = k_loops.graph(body)
        for loop in k_loops.innermost(set(edges), edges):
            multiplies = sum(bool(re.match(MULTIPLIES, body[i].text)) for i in loop)
            if multiplies:
                yield len(loop) / (multiplies / fma)


def near(a, b):
    return abs(a - b) < 0.005 * b


def main():
    uk, bindir = sys.argv[1:]
    wrong = seen = 0
    for tool in sorted({counts.ARCHS[arch_of(k)]["emulator"]["program"] for ks in KERNELS.values() for k in ks}):
        if not shutil.which(tool):
            print(f"count_emulated skipped: {tool} is not installed; ./uk-setup test installs it")
            sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        for target, kernels in KERNELS.items():
            command = [uk, "bench", "--target=" + target, "--histogram", *(["--cycles"] if target == "riscv64-p" else [])]
            first = counts.run(*command, *kernels)
            if counts.run(*command, *kernels) != first:
                sys.exit(f"two runs for {target} count differently")
            for text in re.split(r"^(?=uk_)", first, flags=re.M)[1:]:
                found = re.match(r"(\S+)\s+([\d.]+) instructions per step,\s+([\d.]+) % of them multiply-adds", text)
                kernel, step, share = found[1], float(found[2]), float(found[3])
                loops = [round(x, 3) for x in per_step(uk, bindir, kernel, target, step * share / 100, folder)]
                listed = {name: float(n) for n, name in re.findall(r"([\d.]+) ([\w.]+)", re.search(r"per step: (.*)", text)[1])}
                multiplies = sum(n for name, n in listed.items() if re.match(MULTIPLIES, name))
                cycles = re.search(r"estimate by the example core of the draft: ([\d.]+) cycles per step", text)
                seen += 1
                if not (
                    any(near(x, step) for x in loops) and near(sum(listed.values()), step) and near(multiplies, step * share / 100)
                    and bool(cycles) == ("_rvp_" in kernel) and (not cycles or float(cycles[1]) == step)
                ):  # fmt: skip
                    wrong += 1
                    print(f"{kernel}: {step} counted, its loops have {loops}\n{text}")
        # A vector operation: a kadd32 handles two elements, and so do each load and store.
        text = counts.run(uk, "bench", "--target=riscv64-p", "--histogram", "uk_i32kadd_1x8_rvp_intrin")
        if not re.search(r" for each element;.*\n +per step: 1\.000 ld, 0\.500 kadd32, 0\.500 sd, ", text):
            sys.exit(text)
    if seen != sum(map(len, KERNELS.values())):
        sys.exit(f"only {seen} kernels were counted")
    print(f"{seen - wrong} passed, {wrong} failed")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
