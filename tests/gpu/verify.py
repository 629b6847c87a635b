# SPDX-License-Identifier: Apache-2.0
"""uk verify of kernels for GPUs: the registry's kernels are right; imported kernels are right, or broken in
one way each, which is found, or refused with a reason.

    verify.py FOLDER UK SOURCES [waves]

waves: the broken kernels of a whole wave, else all others.
"""

import pathlib
import re
import subprocess
import sys

folder, uk, sources = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
folder.mkdir(parents=True, exist_ok=True)
failures = []

# c[2][4] += a * b over all of k; rows of a and b may begin anywhere.
HEAD = "void mm(int64_t k, const UK_SHARED float *a, int64_t lda, const UK_SHARED float *b, int64_t ldb, UK_REGISTER float *c)"
LOAD = """    float s[8];
#pragma unroll
    for (int i = 0; i < 8; i++) s[i] = c[i];
"""
STORE = """#pragma unroll
    for (int i = 0; i < 8; i++) c[i] = s[i];
"""
FMA = '__asm__("v_fmac_f32 %0, %1, %2" : "+v"(s[i]) : "v"(a[p * lda + i / 4]), "v"(b[p * ldb + i % 4]));'
DECLARATION = """intrinsic mm requires gfx906
  tensor a f32 [I, P] stride [1, lda] in shared
  tensor b f32 [P, J] stride [ldb, 1] in shared
  tensor c f32 [I, J] stride [4, 1] in register
  assume I == 2 and J == 4
  c[i, j] = sum(p) a[i, p] * b[p, j]
  update void mm(i64 P, ptr a, i64 lda, ptr b, i64 ldb, ptr c)
end
"""


def loop(body, steps="k", load=LOAD, store=STORE, before="", head=HEAD):
    return f"""{before}{head} {{
{load}    for (int64_t p = 0; p < {steps}; p++)
#pragma unroll
        for (int i = 0; i < 8; i++) {{ {body} }}
{store}}}
"""


def run(*arguments):
    return subprocess.run([uk, "verify", *arguments], capture_output=True, text=True, check=False)


def verify(name, source, declaration=DECLARATION, target="amdgcn-gfx906", limit=60):
    path = folder / f"{name}.uk"
    path.write_text(f'pragma import c """\n#include <stdint.h>\n{source}"""\n{declaration}', encoding="utf-8")
    return run(path, f"--target={target}", f"--seconds={limit}")


def expect(name, result, status, pattern):
    said = result.stdout + result.stderr
    if result.returncode != status or not re.search(pattern, said):
        failures.append(f"{name}: status {result.returncode}, not {status}, and '{pattern}' looked for in: {said}")


def source_of(file, rows, columns):
    """The kernel's source with the headers of its folder in place, as function mm."""
    folder = sources / "asm/amdgcn"
    text = (folder / file).read_text(encoding="utf-8")
    for header in ("groups.h", "k_loop.h"):
        text = text.replace(f'#include "{header}"', (folder / header).read_text(encoding="utf-8"))
    text = re.sub(r'^#include ".*"$', "", text, flags=re.M)
    return text.replace("UK_SYMBOL", "mm").replace("UK_MR", str(rows)).replace("UK_NR", str(columns))


TILES = {"gfx906": ("8x8", "8x4", "4x4"), "gfx90a": ("8x16", "8x8", "8x4", "4x4")}


def registry():
    kernels = [f"uk_sgemm_s_{tile}_{gpu}_asm" for gpu, tiles in TILES.items() for tile in tiles]
    kernels += [f"uk_i8gemm_s_{tile}_gfx906_intrin" for tile in TILES["gfx906"]]
    kernels += [f"uk_{op}gemm_w_{tile}_gfx90a_intrin" for op in ("s", "h", "b", "i8") for tile in ("64x64", "32x32")]
    for kernel in (kernels[0], kernels[-1]):
        expect(kernel, run(kernel), 0, f"^{kernel} update: ok, [0-9]+ cases$")
    whole = run("--target=amdgcn-gfx90a")
    for kernel in kernels:
        expect("all", whole, 0, f"(?m)^{kernel} update: ok")
    expect("lacking", run("uk_sgemm_s_8x16_gfx90a_asm", "--target=amdgcn-gfx906"), 1, "requires gfx90a, which target amdgcn-gfx906")
    expect("nothing", run(), 2, "give a file or a kernel, or a --target")


def right():
    good = "mm update: ok, 104 cases"
    expect("good", verify("good", loop(FMA)), 0, good)
    expect("newer", verify("newer", loop(FMA), target="amdgcn-gfx90a"), 0, good)
    expect("c", verify("c", loop("s[i] += a[p * lda + i / 4] * b[p * ldb + i % 4];")), 0, good)
    packed = loop(
        'if (i % 2 == 0) { typedef float pair __attribute__((ext_vector_type(2))); pair x = {s[i], s[i + 1]}; '
        'float r = a[p * lda + i / 4]; pair y = {r, r}, z = {b[p * ldb + i % 4], b[p * ldb + i % 4 + 1]}; '
        '__asm__("v_pk_fma_f32 %0, %1, %2, %0" : "+v"(x) : "v"(y), "v"(z)); s[i] = x.x; s[i + 1] = x.y; }'
    )
    expect("packed", verify("packed", packed, target="amdgcn-gfx90a"), 0, good)
    expect("packed, gfx906", verify("packed_906", packed), 1, "instruction not supported on this GPU")
    scaled = """void scale(float f, const float *x, int32_t n, UK_SHARED float *y) {
    for (int32_t i = 0; i < n; i++) y[i] = f * x[i];
}
"""
    declaration = """intrinsic scale requires gfx906
  scalar f f32
  tensor x f32 [N]
  tensor y f32 [N] in shared
  assume N <= 20
  y[i] = f * x[i]
  compute void scale(f32 f, ptr x, i32 N, ptr y)
end
"""
    expect("scale", verify("scale", scaled, declaration), 0, "scale compute: ok")
    expect("scale, too far", verify("scale_far", scaled.replace("i < n", "i <= n"), declaration), 1, "scale compute: WRONG")
    expect("scale, one less", verify("scale_less", scaled.replace("i < n", "i < n - 1"), declaration), 1, "WRONG.*y.* is nan, not")


def wrong():
    for name, source, pattern in (
        ("off_by_one", loop(FMA, "k - 1"), r"WRONG in case \d+: c\[0, 0\] is .*, not .*; in thread 0; with "),
        ("long_sums", loop(FMA, "(k > 300 ? k - 1 : k)"), r"WRONG in case \d+: c\[0, .\] is .*P=([3-9]\d\d|\d{4,}) "),
        ("one_more", loop(FMA, "k + 1"), "WRONG in case"),
        ("index", loop(FMA.replace("i / 4", "i % 2")), r"WRONG in case \d+: c\[0, 1\] is "),
        ("another_row", loop(FMA.replace("p * ldb", "p * lda")), "WRONG in case"),
        # With inputs only, the compiler assumes that the sum is unchanged since before the loop.
        ("no_plus", loop(FMA.replace('"+v"(s[i]) :', ': "v"(s[i]),')), "WRONG"),
        ("assigned", loop(FMA.replace("+v", "=v")), "WRONG in case"),
        ("undeclared", loop(FMA.replace('"v_fmac', '"v_mov_b32 v3, 0\\nv_fmac')), "WRONG: .*v3"),
        ("writes_b", loop(FMA, store=STORE + "    ((UK_SHARED float *)b)[0] = 77;\n"), r"writes b\[0, 0\], which is only read|race"),
        ("beyond", loop(FMA, store=STORE + "    if (k) ((UK_SHARED float *)b)[(k - 1) * ldb + 4] = 77;\n"), "WRONG in case"),
        ("ignores_c", loop(FMA, load=LOAD.replace("= c[i]", "= 0")), r"WRONG in case \d+: c\[0, 0\]"),
        ("wide", loop(FMA, load=LOAD + "    if (k > 5) s[3] += a[1000000];\n"),
         "WRONG in case .*a read of 4 bytes at byte [0-9]* of LDS; the block has"),
        ("endless", loop(FMA, store=STORE + '    for (;;) __asm__ volatile("");\n'), "does not return within"),
    ):
        expect(name, verify(name, source, limit=2 if name == "endless" else 60), 1, pattern)


def flushed():
    """A sum in f32 of products of f16 that takes subnormal factors as 0, as matrix instructions of gfx90a do, is right there alone."""
    head = HEAD.replace("const UK_SHARED float", "const UK_SHARED _Float16")
    before = "static inline float normal(float x) { return x > -0x1p-14f && x < 0x1p-14f ? 0 : x; }\n"
    body = "s[i] += {0}(a[p * lda + i / 4]) * {0}(b[p * ldb + i % 4]);"
    declaration = DECLARATION.replace("a f32", "a f16").replace("b f32", "b f16").replace("a[i, p] * b[p, j]", "f32(a[i, p]) * f32(b[p, j])")
    kept, lost = (loop(body.format(factor), before=before, head=head) for factor in ("(float)", "normal"))
    for gpu in ("gfx906", "gfx90a"):
        expect("kept", verify(f"kept_{gpu}", kept, declaration, f"amdgcn-{gpu}"), 0, "mm update: ok")
    expect("flushed on gfx90a", verify("flushed_gfx90a", lost, declaration, "amdgcn-gfx90a"), 0, "mm update: ok")
    expect("flushed on gfx906", verify("flushed_gfx906", lost, declaration), 1, r"WRONG in case \d+: c\[\d, \d\] is ")


def registry_broken():
    """The registry's kernels from their sources, with one mistake each."""
    for symbol, file, target, rows, columns in (("uk_sgemm_s_8x8_gfx906_asm", "gemm_gfx906.c", "amdgcn-gfx906", 8, 8),
                                                ("uk_sgemm_s_8x16_gfx90a_asm", "gemm_gfx90a.c", "amdgcn-gfx90a", 8, 16),
                                                ("uk_sgemm_s_4x4_gfx90a_asm", "gemm_gfx90a.c", "amdgcn-gfx90a", 4, 4)):
        declaration = subprocess.run([uk, "show", symbol, "--declaration"], capture_output=True, text=True, check=True).stdout
        declaration = declaration.replace(symbol, "mm")
        text = source_of(file, rows, columns)
        expect(f"{symbol}, imported", verify(f"{symbol}_import", text, declaration, target), 0, "mm update: ok")
        ahead = rows * columns <= (32 if "gfx906" in file else 64)
        for number, (right, slip) in enumerate((
            ("a, da, sa, b, db, sb);\n        return", "a, db, sa, b, db, sb);\n        return") if ahead else ("b + i * db, sb", "b + i * da, sb"),
            ("a += UNROLL * da", "a += 2 * da"), ("left > 2; left -= 2", "left > 1; left -= 2") if ahead else ("left >= UNROLL;", "left >= 1;"),
            ("    if (left)\n        multiply", "    if (0)\n        multiply") if ahead else ("(; left; left--", "(; left > 1; left--"),
            ('"+v"', '"=v"'), ("s + i * stride", "s + i * GROUP") if rows > 4 else ("s + i * stride", "s + 1 + i * stride"),
            ("c[i] = sum", "c[i ^ 1] = sum"), ("i % GROUP", "(i + 1) % GROUP") if rows > 4 or "gfx906" in file else ("i % GROUP ?", "!(i % GROUP) ?"),
        )):
            assert right in text, right
            expect(f"{symbol}: {slip}", verify(f"{symbol}_{number}", text.replace(right, slip), declaration, target), 1, "WRONG in case")


def bytes_broken():
    """The kernel of bytes, with one mistake each."""
    file = sources / "intrinsics/amdgcn/gemm_bytes.c"
    text = re.sub(r'^#include ".*"$', "", file.read_text(encoding="utf-8"), flags=re.M)
    text = text.replace("UK_SYMBOL", "mm").replace("UK_MR", "8").replace("UK_NR", "4")
    declaration = subprocess.run([uk, "show", "uk_i8gemm_s_8x4_gfx906_intrin", "--declaration"], capture_output=True, text=True, check=True).stdout
    declaration = declaration.replace("uk_i8gemm_s_8x4_gfx906_intrin", "mm")
    expect("bytes, imported", verify("bytes_import", text, declaration), 0, "mm update: ok")
    for number, (right, slip) in enumerate((
        ("a += (int)lda", "a += (int)ldb"), ("s + i * stride", "s + i * 16"), ("left > 0", "left > TERMS"), ("= c[i];", "= 0;"),
        ("x[i / GROUP][i % GROUP]", "x[i / GROUP][(i + 1) % GROUP]"), ("TERMS = 4", "TERMS = 8"), ("c[i] = sum", "c[i ^ 1] = sum"),
    )):
        assert right in text, right
        expect(f"bytes: {slip}", verify(f"bytes_{number}", text.replace(right, slip), declaration), 1, "WRONG in case")


# The layout of the sums of a wave's kernel, and maps that give each element a register too, but another one.
MAP = "lane i / 4 % 2 * 32 + j % 32, [i / 32, i / 8 % 4, i % 4, j / 32]"
OTHER_MAPS = (
    "lane i / 4 % 2 + j % 32 * 2, [i / 32, i / 8 % 4, i % 4, j / 32]",
    "lane i / 8 % 2 * 32 + j % 32, [i / 32, i / 16 % 2, i % 8, j / 32]",
    "lane i / 16 % 2 * 32 + j % 32, [i / 32, i / 4 % 4, i % 4, j / 32]",
    "lane i % 2 * 32 + j % 32, [i / 32, i / 8 % 4, i / 2 % 4, j / 32]",
    "lane i / 4 % 2 * 32 + j / 2, [i / 32, i / 8 % 4, i % 4, j % 2]",
    "lane j, [i / 32, i / 8 % 4, i % 8]",
    "lane j / 4 % 2 * 32 + i % 32, [j / 32, j / 8 % 4, j % 4, i / 32]",
    "lane i / 4 % 2 * 32 + j % 32, [i / 8 % 4, i / 32, i % 4, j / 32]",
    "lane i / 4 % 2 * 32 + j % 32, [i / 32, i % 4, i / 8 % 4, j / 32]",
    "lane i / 4 % 2 * 32 + j % 32, [i / 32, i / 8 % 4, j / 32, i % 4]",
    "lane i / 4 % 2 * 32 + j % 32, [j / 32, i / 8 % 4, i % 4, i / 32]",
)
SLIPS = (
    ("a += half", "a += (1 - half)"), ("b += half", "b += (1 - half)"), ("lane % SIZE", "(lane ^ 1) % SIZE"),
    ("MULTIPLY(x[i][w]", "MULTIPLY(x[i ^ 1][w]"), ("y[j][w], sum", "y[j ^ 1][w], sum"), ("= c[i];", "= 0;"),
    ("c[i] = sum", "c[i ^ 1] = sum"), ("c[i] = sum", "c[i ^ 2] = sum"), ("c[i] = sum", "c[i ^ 32] = sum"), ("left > 0", "left > TERMS"),
    ("MULTIPLY(x[i][w]", "MULTIPLY(x[i][0]"), ("w < (int)WORDS", "w < (int)WORDS - 1"),
    ("a += 2 * (int)lda", "a += (int)lda"), ("s + i * SIZE", "s + i"), ("left -= TERMS", "left -= 2 * TERMS"),
)


def wave_broken():
    """The kernels of a wave with one mistake each, in the kernel or in the layout of its sums."""
    symbol = "uk_hgemm_w_64x64_gfx90a_intrin"
    text = re.sub(r'^#include ".*"$', "", (sources / "intrinsics/amdgcn/gemm_matrix.c").read_text(encoding="utf-8"), flags=re.M)
    for name, value in (("UK_SYMBOL", "mm"), ("UK_MR", "64"), ("UK_NR", "64"), ("UK_KR", "8")):
        text = text.replace(name, value)
    text = "#define UK_OP_hgemm_w\n" + text
    declaration = subprocess.run([uk, "show", symbol, "--declaration"], capture_output=True, text=True, check=True).stdout
    declaration = declaration.replace(symbol, "mm")
    assert MAP in declaration

    def check(name, status, pattern, source=text, declared=declaration):
        expect(f"wave, {name}", verify(f"wave_{re.sub('[^a-z0-9]+', '_', name)}", source, declared, "amdgcn-gfx90a"), status, pattern)

    check("imported", 0, "mm update: ok, 104 cases")
    for number, layout in enumerate(OTHER_MAPS):
        check(f"layout {number}", 1, r"WRONG in case \d+: c\[\d+, \d+\] \(register \d+ of lane \d+\) is .*, not .*; in wave \d; with P=\d+ .*, \d waves?$",
              declared=declaration.replace(MAP, layout))
    for number, (right, slip) in enumerate(SLIPS):
        assert right in text, right
        check(f"slip {number}", 1, "WRONG in case", text.replace(right, slip))
    for name, layout, pattern in (
        ("two owners", MAP.replace("i % 4,", "i % 2,"), r"c is not one to one: c\[0, 0\] and c\[2, 0\] share place 0 of the lanes"),
        ("same lane", MAP.replace("* 32", "* 16"), r"c is not one to one: c\[0, 16\] and c\[4, 0\] share place 16 of the lanes"),
        ("no owner", MAP.replace("[i / 32", "[i / 16"), r"mm: c has 4096 elements, and 64 lanes have \d+ registers each; give each register of lanes 0 to 63 one element"),
        ("no such lane", MAP.replace("* 32", "* 64"), r"mm: c\[4, 0\] is in lane 64, and a wave has 64; give"),
    ):
        check(name, 1, pattern, declared=declaration.replace(MAP, layout))
    for name, right, wrong, pattern in (
        ("thread", " scope wave", "", "c is spread over the lanes of a wave, and the kernel is one thread's; declare it with `scope wave`"),
        ("block", "scope wave", "scope block", "block"),
        ("no lanes", MAP, "[i, j]", "mm: c is in registers of a wave; say by `layout .. -> lane` which lane has an element"),
        ("memory", MAP + " in register", MAP, "mm: c is spread over the lanes of a wave; declare it `in register`"),
    ):
        assert right in declaration, right
        check(name, 1, pattern, declared=declaration.replace(right, wrong))


def by_itself():
    """If the kernel's code is refused, the automatic schedule does without it; if kernels are required, the
    message names it."""
    declaration = subprocess.run([uk, "show", "uk_sgemm_s_4x4_gfx906_asm", "--declaration"], capture_output=True, text=True, check=True).stdout
    body = "for (int64_t i = 0; i < k; i++) ((UK_REGISTER signed char *)c)[(int)a[i] & 63] += (signed char)b[i];"
    head = HEAD.replace("lda,", "lda, int64_t sa,").replace("ldb,", "ldb, int64_t sb,")
    text = f'pragma import c """\n#include <stdint.h>\n{head} {{ {body} }}\n"""\n{declaration.replace("uk_sgemm_s_4x4_gfx906_asm", "mm")}'
    path = folder / "by_itself.uk"
    path.write_text(text + "tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor C f32 [M, N]\nC[m, n] = sum(k) A[m, k] * B[k, n]\n", encoding="utf-8")
    sizes = ["--size", "M=130", "--size", "N=70", "--size", "K=20"]
    for option, status, pattern in (
        ([], 0, "check: equal(.*\n)*.*its kernel was refused: mm: .*indexed by a value that is not constant.*see mm"),
        (["--require-kernels"], 1, "stage 'C' would be compiled as plain loops: .*mm: .*indexed by a value that is not constant"),
    ):
        result = subprocess.run([uk, "run", "--check", "--target=amdgcn-gfx906", path, *sizes, *option],
                                capture_output=True, text=True, check=False)
        expect("by itself", result, status, pattern)


def program():
    """An imported kernel is matched like the registry's, and inlined."""
    text = "#include <stdint.h>\n" + source_of("gemm_gfx906.c", 8, 8)
    declaration = subprocess.run([uk, "show", "uk_sgemm_s_8x8_gfx906_asm", "--declaration"], capture_output=True, text=True, check=True).stdout
    declaration = declaration.replace("uk_sgemm_s_8x8_gfx906_asm", "mm")
    product = (sources / "tests/golden/gpu_matmul.uk").read_text(encoding="utf-8").split("#=")[0].replace("tensorize mi auto", "tensorize mi mm")
    (folder / "mm.c").write_text(text, encoding="utf-8")
    for name, changed, status, pattern in (
        ("program", declaration, 0, "mm .inlined: 0 calls left.*\n(.*\n)*check: equal"),
        ("program_other", declaration.replace("a[i, p] * b[p, j]", "a[i, p] + b[p, j]"), 1, "mm"),
    ):
        path = folder / f"{name}.uk"
        path.write_text('pragma import "mm.c"\n' + changed + product, encoding="utf-8")
        result = subprocess.run([uk, "run", "--check", "--target=amdgcn-gfx90a", path, "--size", "M=130", "--size", "N=70", "--size", "K=20"],
                                capture_output=True, text=True, check=False)
        expect(name, result, status, pattern)


def refused():
    for name, source, pattern in (
        ("host_pointers", loop(FMA, head=HEAD.replace("UK_SHARED ", "")), "mm is void .i64, ptr, .*UK_SHARED . for what is in shared"),
        ("scratch", loop(FMA, store=STORE + "    float t[99];\n    for (int i = 0; i < 99; i++) t[i] = a[i];\n    c[0] += t[k % 99];\n"),
         "mm has an array in memory.*pragma unroll"),
        ("call", loop(FMA, before="float f(float);\n", store=STORE + "    c[0] = f(c[0]);\n"), "calls f, which is not in it"),
        ("barrier", loop(FMA, store=STORE + "    __builtin_amdgcn_s_barrier();\n"), "calls llvm.amdgcn.s.barrier; the barriers"),
        ("own_shared", loop(FMA, before="static UK_SHARED float own[64];\n", store=STORE + "    own[k & 63] = c[0]; c[1] += own[k & 31];\n"),
         "has the variable own"),
        ("load", loop(FMA.replace("v_fmac_f32 %0, %1, %2", "ds_read_b32 %0, %1")), "asm of mm has ds_read_b32; .*only compute with values"),
        ("wait", loop(FMA.replace('"v_fmac', '"s_waitcnt lgkmcnt(0)\\nv_fmac')), "asm of mm has s_waitcnt"),
        ("mfma", loop(FMA.replace("v_fmac_f32 %0, %1, %2", "v_mfma_f32_4x4x1f32 a[0:3], %1, %2, a[0:3]")), "asm of mm has v_mfma"),
        ("other_gpu", loop(FMA, store=STORE + "    typedef float f4 __attribute__((ext_vector_type(4))); f4 x = {0};\n"
                           "    x = __builtin_amdgcn_mfma_f32_4x4x1f32(c[0], c[1], x, 0, 0, 0); c[0] += x.x;\n"), "mai-insts|target feature"),
    ):
        expect(name, verify(name, source), 1, pattern)
    large = DECLARATION.replace("I == 2 and J == 4", "I == 16 and J == 16").replace("stride [4, 1] in register", "stride [16, 1] in register")
    expect("tile_in_memory", verify("tile_in_memory", HEAD + " { c[k & 255] += a[0]; }\n", large), 1, "indexed by a value that is not constant.*see mm")


for check in (wave_broken,) if sys.argv[4:] == ["waves"] else (registry, right, flushed, registry_broken, bytes_broken, wrong, by_itself, program, refused):
    check()
for failure in failures:
    print(failure)
sys.exit(bool(failures))
