# SPDX-License-Identifier: Apache-2.0
"""Compares uk bench --static and uk run --count of GPU programs with LLVM's figures for the same code, and
with the sizes.

    report.py FOLDER UK LLVM_BIN SOURCES
"""

import pathlib
import re
import subprocess
import sys

folder, uk, llvm, sources = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
folder.mkdir(parents=True, exist_ok=True)
failures = []

NUMBER = r"([-+.e0-9]+)"


def run(*command, status=0):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if result.returncode != status:
        sys.exit(f"{' '.join(map(str, command))}: status {result.returncode}: {result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def expect(what, is_so, text=""):
    if not is_so:
        failures.append(f"{what}: {text}")


def of_llvm(path, gpu):
    """Figures in LLVM's comments after each kernel, and the block with the most FMAs, of the program's
    optimized code."""
    run(uk, "compile", path, f"--target=amdgcn-{gpu}", "--emit=optimized", "-o", folder / "optimized.ll")
    option = re.search(r'\.llvm_option = "(.+)"', (sources / "ukernels/machine/archs/amdgcn.def").read_text(encoding="utf-8"))[1]
    run(llvm / "llc", f"-mcpu={gpu}", option, folder / "optimized.ll", "-o", folder / "optimized.s")
    text = (folder / "optimized.s").read_text(encoding="utf-8")
    figures = {}
    for name, body in re.findall(r"; -- Begin function (\S+)\n(.*?); -- End function", text, re.S):
        rest = text[text.index(f"{name}:") :]
        figures[name] = {k: int(re.search(rf"^; {k}: (\d+)", rest, re.M)[1]) for k in ("NumVgprs", "Occupancy", "ScratchSize")}
        blocks = re.split(r"^\.LBB\w+:.*$|^; %bb.*$", body, flags=re.M)
        figures[name]["loop"] = max(blocks, key=lambda b: len(re.findall(r"v_(?:pk_)?fmac?_", b)))
    return figures


def check_program(path, gpu, kernels, share):
    """The first kernels have short indices; as many others, which only larger sizes launch, have wide ones."""
    said = run(uk, "bench", "--static", f"--target=amdgcn-{gpu}", path, "--size", "M=256", "--size", "N=256", "--size", "K=128")
    llvm_says = of_llvm(path, gpu)
    name = f"{path.name} for {gpu}"
    expect(name, len(llvm_says) == 2 * kernels, f"{list(llvm_says)} are its kernels")
    for kernel, figures in list(llvm_says.items())[:kernels]:
        found = re.search(rf"^{kernel}: (\d+) VGPR, .*?(\d+) of scratch, (\d+) VGPR and \d+ SGPR spilled; .* "
                          rf"{NUMBER} resident waves a SIMD \(registers: (\d+)\)$", said, re.M)
        if not found:
            failures.append(f"{name}: no line of {kernel} in: {said}")
            continue
        expect(name, int(found[1]) == figures["NumVgprs"], f"{found[1]} VGPRs, of LLVM {figures['NumVgprs']}")
        expect(name, int(found[3]) == 0, f"{found[3]} VGPRs are spilled")
        expect(name, int(found[2]) == figures["ScratchSize"] == 0, f"{found[2]} bytes of scratch")
        expect(name, float(found[4]) == figures["Occupancy"], f"{found[4]} resident waves, LLVM's occupancy is {figures['Occupancy']}")
        expect(name, int(found[5]) >= figures["Occupancy"], f"{found[5]} waves by registers, LLVM's occupancy is {figures['Occupancy']}")
    if not share:
        return
    found = re.search(rf"kernel's loop +VALU {NUMBER} \(FMA {NUMBER}, {NUMBER} %\), .*LDS {NUMBER}, VMEM {NUMBER}, branch {NUMBER}, ", said)
    expect(name, found and float(found[3]) >= share, said)
    if not found or float(found[6]) != 1:  # the loop has other loops, or branches
        return
    loop = next(iter(llvm_says.values()))["loop"]
    counts = [len(re.findall(p, loop, re.M)) for p in (r"^\s+v_", r"^\s+v_(?:pk_)?fmac?_", r"^\s+ds_", r"^\s+global_")]
    expect(name, found and [float(found[i]) for i in (1, 2, 4, 5)] == counts, f"the loop has {counts} VALU, FMA, LDS, VMEM; {said}")
    conflicts = re.search(rf"kernel's loop.*\n.*LDS cycles {NUMBER} of reads, 0 of writes, 0 of them by conflicts: {NUMBER} %", said)
    expect(name, conflicts and float(conflicts[2]) <= 80, said)
    step = re.search(rf"K step +VALU {NUMBER} \(FMA {NUMBER}", said)
    expect(name, step and float(step[2]) % counts[1] == 0 and float(step[2]) > counts[1], said)


def check_count(path, m, n, k):
    """For full tiles: every FMA of every lane is needed."""
    said = run(uk, "run", "--count", "--histogram", "--target=amdgcn-gfx906", path, "--size", f"M={m}", "--size", f"N={n}", "--size", f"K={k}")
    fma = int(re.search(r"^  fma (\d+),", said, re.M)[1])
    expect("count", fma * 64 == m * n * k, said)
    expect("count", f"flops: {2 * m * n * k};" in said, said)
    expect("count", re.search(rf"^ +{fma} v_fmac_f32", said, re.M), said)


def check_cycles(path, gpu, rate, units):
    """The device share is M * N * K at the GPU's rate over the cycles; without a pipeline, loads are waited for, and it is less.
    Each line is loaded by the blocks of a row or a column, and A, B, C are M * K + K * N + M * N elements."""
    m, n, k = 256, 128, 64
    shares = []
    for text in (path.read_text(encoding="utf-8"), path.read_text(encoding="utf-8").replace("  pipeline ko 2\n", "")):
        (folder / "product.uk").write_text(text, encoding="utf-8")
        said = run(uk, "run", "--count", f"--target=amdgcn-{gpu}", folder / "product.uk", "--size", f"M={m}", "--size", f"N={n}", "--size", f"K={k}")
        found = re.search(rf"^device: (\d+) cycles, 1 launch; share {NUMBER} %: multiply-adds at the peak rate \(f32 by vector instructions\) take (\d+)$", said, re.M)
        if not found:
            failures.append(f"cycles for {gpu}: {said}")
            return
        least = m * n * k / rate / units
        expect("least cycles", abs(int(found[3]) - least) <= 0.5, f"{least}: {said}")
        expect("share", abs(100 * least / int(found[1]) - float(found[2])) <= 0.006 * float(found[2]), said)
        shares.append(float(found[2]))
        lines = re.search(r"^  lines of (\d+) bytes: \d+ accessed, (\d+) different", said, re.M)
        expect("lines", lines and int(lines[2]) == 4 * (m * k + k * n + m * n) // int(lines[1]), said)
        expect("blocks", re.search(rf"^  cycles: {found[1]}, bounded by latency; 2 blocks on {units} units, ", said, re.M), said)
    expect(f"pipeline for {gpu}", shares[0] > 1.05 * shares[1], shares)


def check_matrix(m, n, k):
    """The share of a product by matrix instructions is one of their rate: 512 multiply-adds of f16 a cycle and unit. A product
    with sums in f16, which they do not add, has one of vector instructions."""
    product = sources / "tests/gpu/matrix.uk"
    sizes = ("--size", f"M={m}", "--size", f"N={n}", "--size", f"K={k}")
    plain = folder / "halves.uk"
    plain.write_text("tensor A f16 [M, K]\ntensor B f16 [K, N]\ntensor C f16 [M, N]\nC[m, n] = sum(k) A[m, k] * B[k, n]\n", encoding="utf-8")
    for command, path, gpu, units, rate, number in (
        (("run", "--check", "--count"), product, "gfx90a", "matrix units", 512, 104),
        (("bench", "--static"), product, "gfx90a", "matrix units", 512, 104),
        (("bench", "--static"), plain, "gfx90a", "vector instructions", 128, 104),
        (("bench", "--static"), plain, "gfx906", "vector instructions", 128, 60),
    ):
        said = run(uk, *command, path, f"--target=amdgcn-{gpu}", *sizes)
        found = re.search(rf"^device: (\d+) cycles, .*; share {NUMBER} %: multiply-adds at the peak rate \(f16 by {units}\) take (\d+)$", said, re.M)
        least = m * n * k / rate / number
        expect(f"{path.name} for {gpu}", found and abs(int(found[3]) - least) <= 0.5, f"{least}: {said}")
        expect(f"{path.name} for {gpu}", found and abs(100 * least / int(found[1]) - float(found[2])) <= 0.006 * float(found[2]), said)
    said = run(uk, "explain", product, "--target=amdgcn-gfx90a")
    rates = "products of C: at most 128 multiply-adds of f16 a cycle in each of 104 compute units, 512 by matrix instructions, which take subnormal numbers as 0"
    expect("explain for gfx90a", rates in said.splitlines(), said)
    for gpu, number in (("gfx906", 60), ("gfx90a", 104)):
        said = run(uk, "explain", plain, f"--target=amdgcn-{gpu}")
        expect(f"explain for {gpu}", f"products of C: at most 128 multiply-adds of f16 a cycle in each of {number} compute units" in said.splitlines(), said)


def check_estimate(gpu, m, n, k):
    """The cycles by which an automatic schedule chooses its tile, and those of the executed blocks. Blocks of a kind are
    executed twice. The launch that adds parts of sums takes the time of its lines at memory's rate."""
    name = f"{m} x {n} x {k} for {gpu}"
    constants = [f"--define={size}={value}" for size, value in (("M", m), ("N", n), ("K", k))]
    product = folder / "dense.uk"
    product.write_text("tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor C f32 [M, N]\nC[i, j] = sum(k) A[i, k] * B[k, j]\n", encoding="utf-8")
    estimated = re.search(r"^stage C: tiles of .*: estimated (\d+) cycles$", run(uk, "explain", f"--target=amdgcn-{gpu}", product, *constants), re.M)
    said = run(uk, "bench", "--static", f"--target=amdgcn-{gpu}", product, *constants)
    counted = re.search(r"^device: (\d+) cycles, ", said, re.M)
    if not estimated or not counted:
        failures.append(f"{name}: {estimated}, {counted}: {said}")
        return
    expect(name, abs(int(estimated[1]) - int(counted[1])) <= 0.15 * int(counted[1]), f"{estimated[1]} cycles are estimated, {counted[1]} counted")
    bounds = re.findall(r"^  cycles: \d+, bounded by (\w+)", said, re.M)
    expect(name, len(bounds) == 1 or bounds[1:] == ["memory"], said)
    for executed, blocks, kinds in re.findall(r"^  (\d+) of (\d+) blocks executed: the others are of the same (\d+) kinds?$", said, re.M):
        expect(name, int(executed) <= 2 * int(kinds) and int(kinds) <= 32 and int(blocks) > 0, said)


def check_few_rows(gpu, m, n, k, lines, transposed):
    """Blocks read whole lines of the matrix, each line once, and all compute units have as much to do. Lines of the rows
    are read by each block, so that all lines are a few more."""
    name = f"{m} x {n} x {k} for {gpu}{', transposed' if transposed else ''}"
    matrix, access = ("[N, K]", "B[j, k]") if transposed else ("[K, N]", "B[k, j]")
    rows = folder / "rows.uk"
    rows.write_text(f"tensor A f32 [M, K]\ntensor B f32 {matrix}\ntensor C f32 [M, N]\nC[i, j] = sum(k) A[i, k] * {access}\n", encoding="utf-8")
    said = run(uk, "bench", "--static", f"--target=amdgcn-{gpu}", rows, f"--define=M={m}", f"--define=N={n}", f"--define=K={k}")
    busy = re.search(r"^  cycles: .*; units busy (\d+) %", said, re.M)
    found = re.search(r"^  lines of \d+ bytes: (\d+) accessed, (\d+) different", said, re.M)
    expect(name, busy and int(busy[1]) >= 90, said)
    expect(name, found and int(found[1]) <= lines * int(found[2]), said)


def check_data(gpu):
    """Divisions of i64 branch on their operands, of which other blocks compute one: all blocks of both kernels are executed."""
    (folder / "quotients.uk").write_text("tensor A i64 [M, N]\ntensor B i64 [M, N]\ntemp S i64 [M]\ntensor C i64 [M, N]\n"
                                         "S[i] = sum(j) A[i, j]\nC[i, j] = S[i] / max(B[i, j], 1)\n", encoding="utf-8")
    sizes = ("--size", "M=300", "--size", "N=70")
    said = run(uk, "bench", "--static", f"--target=amdgcn-{gpu}", folder / "quotients.uk", *sizes)
    whole = run(uk, "run", "--count", f"--target=amdgcn-{gpu}", folder / "quotients.uk", *sizes)
    cycles, wanted = (re.findall(r"^  cycles: .*|^device: \d.*", text, re.M) for text in (said, whole))
    expect(f"quotients for {gpu}", "blocks executed" not in said and len(wanted) == 3 and cycles == wanted, f"{said}, {whole}")


def check_matrix_kernel(a, c, terms):
    """The K step of a product by tiles of 64 x 64 a wave: matrix instructions take longer than all else, and are no more than the
    product has; shared memory has no conflicts; two waves fit a SIMD."""
    path = folder / f"matrix_{a}.uk"
    cast, size, k = c if a != c else "", 4096, 1024
    path.write_text(f"""tensor A {a} [{size}, {k}]
tensor B {a} [{k}, {size}]
tensor C {c} [{size}, {size}]
C[m, n] = sum(k) {cast}(A[m, k]) * {cast}(B[k, n])
""", encoding="utf-8")
    said = run(uk, "bench", "--static", "--target=amdgcn-gfx90a", path)
    step = re.search(rf"^  K step .*, matrix {NUMBER}, .*\n +LDS cycles {NUMBER} of reads, {NUMBER} of writes, 0 of them by conflicts", said, re.M)
    whole = re.search(rf"^  whole wave .*, matrix {NUMBER},", said, re.M)
    waves = re.search(rf"{NUMBER} resident waves a SIMD", said)
    matrix, reads, writes = (float(n) for n in step.groups()) if step else (0, 0, 0)
    matrix *= 64 / 4  # cycles of one of four SIMDs, as a compute unit's waves share the LDS
    good = step and whole and waves and reads <= 0.6 * matrix and reads + writes <= 0.8 * matrix and float(waves[1]) >= 2
    good = good and float(whole[1]) == 4 * k // terms and "bounded by matrix units" in said and "tiles of 64 x 64" in run(
        uk, "explain", "--target=amdgcn-gfx90a", path)
    expect(f"matrix kernel of {a}", good, said)


def check_depthwise(gpu, size, channels, most, busy):
    """A tile of pixels loads few lines twice, and blocks occupy the compute units."""
    path = folder / "depthwise.uk"
    path.write_text(f"""tensor X f32 [1, {size}, {size}, {channels}]
tensor F f32 [3, 3, {channels}] finite
tensor bias f32 [{channels}]
tensor Y f32 [1, {size}, {size}, {channels}]
temp T f32 [1, {size}, {size}, {channels}]
T[n, p, q, c] = sum(r, s) pad(X[n, p + r - 1, q + s - 1, c], 0) * F[r, s, c]
Y[n, p, q, c] = min(max(T[n, p, q, c] + bias[c], 0), 6)
""", encoding="utf-8")
    said = run(uk, "bench", "--static", f"--target=amdgcn-{gpu}", path)
    times = re.search(rf"^  lines of .* accessed, .* each {NUMBER} times$", said, re.M)
    units = re.search(r"; units busy (\d+) %", said)
    expect(f"depthwise {size} for {gpu}", times and float(times[1]) <= most and int(units[1]) >= busy and ", 1 launch;" in said, said)


check_data("gfx906")
check_matrix(128, 128, 256)
check_data("gfx90a")
for size in ((256, 256, 256), (512, 512, 512), (1098, 458, 1526), (381, 1030, 508), (128, 128, 8192), (4096, 4096, 4096), (121, 214, 931), (16, 4096, 4096)):
    check_estimate("gfx906", *size)
    check_estimate("gfx90a", *size)
for kernel in (("f16", "f32", 8), ("bf16", "f32", 8), ("i8", "i32", 8), ("f32", "f32", 2)):
    check_matrix_kernel(*kernel)
# 512 channels of f32 are 16 lines. 1.2 allows two tiles of 14 x 14 pixels for each line: 32 blocks for the 104 units of gfx90a.
# Its 84 blocks for 80 % would be six tiles, which load (14 + 2) * (14 + 4) pixels instead of 14 * 14, so that lines are 1.4.
for shape in (("gfx906", 112, 64, 1.2, 80), ("gfx90a", 112, 64, 1.2, 80), ("gfx906", 14, 512, 1.2, 80), ("gfx90a", 14, 512, 1.3, 50)):
    check_depthwise(*shape)
for target in ("gfx906", "gfx90a"):
    check_few_rows(target, 1, 4096, 1024, 1.05, False)
    check_few_rows(target, 1, 4096, 1024, 1.05, True)
    check_few_rows(target, 16, 4096, 4096, 1.25 if target == "gfx906" else 1.5, False)
check_cycles(sources / "examples/matmul_gpu.uk", "gfx906", 64, 60)
check_cycles(sources / "examples/matmul_gpu.uk", "gfx90a", 128, 104)
check_program(sources / "tests/golden/gpu_matmul.uk", "gfx906", 1, 98)
check_program(sources / "tests/golden/gpu_matmul_wide.uk", "gfx90a", 1, 95)
for kernel, target in (("uk_sgemm_s_8x8_gfx906_asm", "gfx906"), ("uk_sgemm_s_8x16_gfx90a_asm", "gfx90a")):
    kernels = run(uk, "bench", "--static", f"--target=amdgcn-{target}", kernel)
    expect(kernel, re.search(rf"^{kernel}_c_0: .* 0 of scratch, 0 VGPR and 0 SGPR spilled; .*\n"
                             rf"  kernel's loop  VALU \S+ \(FMA 512, 9[5-9].\d %\)", kernels, re.M), kernels)
sized = run(uk, "bench", "--static", "--target=amdgcn-gfx906", "uk_sgemm_s_8x8_gfx906_asm", "--size", "P=96")
expect("size of a kernel", "sizes: I=512 P=96 J=512\n" in sized, sized)
lacking = run(uk, "bench", "--static", "--target=amdgcn-gfx906", "uk_sgemm_s_8x16_gfx90a_asm", status=1)
expect("lacking", "is for gfx90a, which target amdgcn-gfx906 lacks" in lacking, lacking)
no_target = run(uk, "bench", "--static", "uk_sgemm_s_8x8_gfx906_asm", status=2)
expect("no target", "use --target=amdgcn-gfx90a, for instance" in no_target, no_target)
check_count(sources / "tests/golden/gpu_matmul.uk", 256, 128, 48)
for options, pattern in (
    (("run", "--count", "--device=gpu"), "--count needs a --target that an emulator or a simulator runs"),
    (("run", "--count", "--device=interp"), "--count needs a --target that an emulator or a simulator runs"),
):
    refused = run(uk, *options, "--target=amdgcn-gfx90a", sources / "tests/golden/gpu_matmul.uk", status=2)
    expect(options, pattern in refused, refused)
for options, status, pattern in (
    (("run", "--count"), 2, "--count needs a --target that an emulator or a simulator runs"),
    (("run", "--device=sim"), 1, "no GPU for target 'nvptx-sm80' is here, and the simulator has only AMD's"),
    (("bench", "--static"), 2, "the simulator has no nvptx-sm80"),
):
    refused = run(uk, *options, "--target=nvptx-sm80", sources / "examples/vadd.uk", status=status)
    expect(options, pattern in refused, refused)
for failure in failures:
    print(failure)
sys.exit(bool(failures))
