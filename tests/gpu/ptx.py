# SPDX-License-Identifier: Apache-2.0
"""PTX of programs: NVIDIA's assembler accepts it unchanged, and reports no local memory and at most as many
spilled bytes as SPILLS states; blocks have their shape; no negation remains that the assembler computes wrong
(tensorize/link/ptx.c).

    ptx.py UK SOURCE FOLDER [all]

Without an assembler (./uk-setup installs it in .gpu/) only the text is checked.
"""

import pathlib
import re
import shutil
import subprocess
import sys

uk, source, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
folder.mkdir(parents=True, exist_ok=True)
found = [source / ".gpu/nvidia/cu13/bin/ptxas", pathlib.Path(shutil.which("ptxas") or "")]
ptxas = next((path for path in found if path.is_file()), None)
TYPES = """
tensor X f32 [N]
tensor D f64 [N]
tensor I i32 [N]
tensor B u8 [N]
tensor H f16 [N]
tensor G bf16 [N]
tensor X1 f32 [N]
tensor D1 f64 [N]
tensor I1 i32 [N]
tensor B1 u8 [N]
tensor H1 f16 [N]
tensor G1 bf16 [N]
tensor U1 u16 [N]
tensor V1 u32 [N]
tensor W1 u64 [N]
X1[i] = exp(X[i]) + tanh(X[i]) + sqrt(abs(X[i])) + round(X[i]) / max(X[i], 0.5)
X1[i] += log(X[i]) * erf(X[i]) + pow(X[i], 1.5) + floor(X[i]) - ceil(X[i])
X1[i] += sin(X[i]) + cos(X[i]) * tan(X[i]) + asin(X[i]) * acos(X[i]) + atan(X[i]) + log1p(X[i])
X1[i] += expm1(X[i]) + sinh(X[i]) - cosh(X[i]) + asinh(X[i]) * acosh(X[i]) + atanh(X[i])
D1[i] = exp(D[i]) - tanh(D[i]) * min(D[i], 2.0)
D1[i] += log(D[i]) * erf(D[i]) + pow(D[i], 1.5) + floor(D[i]) - ceil(D[i])
D1[i] += sin(D[i]) + cos(D[i]) * tan(D[i]) + asin(D[i]) * acos(D[i]) + atan(D[i]) + log1p(D[i])
D1[i] += expm1(D[i]) + sinh(D[i]) - cosh(D[i]) + asinh(D[i]) * acosh(D[i]) + atanh(D[i])
I1[i] = i32(X[i]) + (I[i] << 3) + (I[i] >> 2)
I1[i] += max(max(-(I[i] + i32(B[i])), I[i] * i32(B[i])), i32(B[i]))
B1[i] = u8(X[i])
U1[i] = u16(X[i]) & 7 >> u16(D[i])
V1[i] = max(u32(X[i]), u32(I[i])) >> 3
W1[i] = min(u64(D[i]), u64(I[i])) >> 3
X1[i] += f32(W1[i]) + f32(V1[i]) + f32(U1[i])
H1[i] = H[i] * f16(X[i])
G1[i] = G[i] + bf16(D[i])
"""
types = folder / "types.uk"
types.write_text(TYPES, encoding="utf-8")
# Bytes that the assembler reloads in a kernel, by program; others have none.
SPILLS = {"conv2d_1x1_u8i8": 8, "conv2d_3x3_s2": 68, "conv2d_depthwise": 12, "conv2d_nchw": 4, "conv2d_scheduled": 68}
PROGRAMS = [source / "examples" / f"{name}.uk" for name in
            ("vadd", "vadd_gpu", "matmul", "matmul_nt", "matmul_tn", "matmul_tt", "matmul_acc", "matmul_gpu", "mlp", "resnet50_1x1", "attention")]
PROGRAMS += [source / "tests/golden" / f"{name}.uk" for name in ("bind_matmul", "pipeline", "shared_matmul_tvm")] + [types]
if sys.argv[4:] == ["all"]:  # except kernels of another machine
    PROGRAMS = [path for path in sorted((source / "examples").glob("*.uk")) if path.stem not in ("matmul_4x24", "matmul_gfx90a")]

for program in PROGRAMS:
    out = folder / (program.stem + ".ptx")
    made = subprocess.run([uk, "compile", "--target=nvptx-sm80", "--emit=device", "-o", out, program], capture_output=True, text=True, check=False)
    if made.returncode:
        sys.exit(f"{program}: {made.stderr}")
    text = out.read_text(encoding="ascii")
    kernels = re.findall(r"^\.visible \.entry (\w+)\(", text, re.M)
    blocks = re.findall(r"^\.reqntid (\d+), (\d+), (\d+)$", text, re.M)
    if "\0" in text or not kernels or len(blocks) != len(kernels) or re.search(r"\.local|\.extern|neg\.s32", text):
        sys.exit(f"{program}: {len(kernels)} kernels, {len(blocks)} shapes of blocks, or something local, undefined or negated\n{text}")
    if not ptxas:
        continue
    said = subprocess.run([ptxas, "-arch=sm_80", "-v", out, "-o", folder / "cubin"], capture_output=True, text=True, check=False)
    spilled = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", said.stderr + said.stdout)
    if said.returncode or len(spilled) != len(kernels) or any(int(row[2]) > SPILLS.get(program.stem, 0) for row in spilled):
        sys.exit(f"{program}: {said.stdout}{said.stderr}")
# A schedule for GPUs with kernels: compiled as plain loops, with a note, unless kernels are required.
product = [uk, "compile", "--target=nvptx-sm80", "--emit=loops", source / "examples/matmul_gpu.uk"]
for options, status in (([], 0), (["--require-kernels"], 1)):
    made = subprocess.run(product + options, capture_output=True, text=True, check=False)
    if made.returncode != status or "the target nvptx-sm80 has no kernels" not in made.stderr:
        sys.exit(f"{product + options}: {made.stderr}")
if not ptxas:
    print("ptxas was not found: the text was not assembled")
