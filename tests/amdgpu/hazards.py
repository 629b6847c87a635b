# SPDX-License-Identifier: Apache-2.0
"""Tests what the simulator of AMD's GPUs reports about matrix instructions: hazards.py FOLDER SIMULATOR LLVM_BIN SOURCE.

    pairs      two instructions that use the same registers: LLVM's number of wait states between them is enough,
               one less is reported
    compiled   kernels that clang compiles from matrix.c run; with one s_nop after a matrix instruction shortened by
               one, they are reported
    mistakes   assembly with one mistake each, and corrected
"""

import pathlib
import re
import subprocess
import sys

from assembly import kernels

folder, simulator, llvm, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
folder.mkdir(parents=True, exist_ok=True)
runs = 0


def tool(*command):
    result = subprocess.run([llvm / command[0], *command[1:]], cwd=folder, capture_output=True, text=True, check=False)
    return result.stdout if result.returncode == 0 else sys.exit(f"{' '.join(map(str, command))}: {result.stderr}")


def assemble(name, text, gpu="gfx90a"):
    (folder / f"{name}.s").write_text(text, encoding="utf-8")
    tool("llvm-mc", "-triple=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-filetype=obj", "-o", f"{name}.o", f"{name}.s")
    tool("ld.lld", "-shared", "-o", f"{name}.hsaco", f"{name}.o")
    return f"{name}.hsaco"


def run(image, kernel, *arguments):
    """The simulator's message, or "" if there is none."""
    global runs
    runs += 1
    result = subprocess.run([simulator, image, kernel, *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False)
    if bool(result.returncode) != bool(result.stderr) or result.stderr.count("\n") > 1:
        sys.exit(f"{image} {kernel}: status {result.returncode}: {result.stderr}")
    return result.stderr


# --- pairs of instructions


def names(first, n):
    """The registers in LLVM's machine code, and in assembly."""
    return "$" + "_".join(f"vgpr{r}" for r in range(first, first + n)), f"v[{first}:{first + n - 1}]" if n > 1 else f"v{first}"


class Matrix:
    def __init__(self, shape, sums, factors):
        self.shape, self.sums, self.factors = shape, sums, factors

    def write(self, d, a, b, c):
        (d, d_text), (c, c_text) = names(d, self.sums), names(c, self.sums)
        (a, a_text), (b, b_text) = names(a, self.factors), names(b, self.factors)
        code = f"V_MFMA_{self.shape.upper()}_vgprcd_e64"
        return f"{d} = {code} {a}, {b}, {c}, 0, 0, 0, implicit $mode, implicit $exec", f"v_mfma_{self.shape} {d_text}, {a_text}, {b_text}, {c_text}"


MATRICES = [Matrix("f32_4x4x1f32", 4, 1), Matrix("f32_16x16x4f32", 4, 1), Matrix("f32_32x32x2f32", 16, 1), Matrix("i32_16x16x16i8", 4, 1),
            Matrix("f32_32x32x8f16", 16, 2), Matrix("f64_4x4x4f64", 2, 2), Matrix("f64_16x16x4f64", 8, 2)]
VALU = {"mov": lambda d, s: (f"{names(d, 1)[0]} = V_MOV_B32_e32 {names(s, 1)[0]}, implicit $exec", f"v_mov_b32 v{d}, v{s}"),
        "dot": lambda d, s: (f"{names(d, 1)[0]} = V_DOT4_I32_I8 8, {names(s, 1)[0]}, 8, {names(s, 1)[0]}, 8, {names(s, 1)[0]}, 0, 0, 0, 0, 0, implicit $exec",
                             f"v_dot4_i32_i8 v{d}, v{s}, v{s}, v{s}")}
MEMORY = {  # by the register of data
    "store": lambda r: (f"GLOBAL_STORE_DWORD_SADDR $vgpr62, $vgpr{r}, $sgpr4_sgpr5, 0, 0, implicit $exec", f"global_store_dword v62, v{r}, s[4:5]"),
    "load": lambda r: (f"$vgpr{r} = GLOBAL_LOAD_DWORD_SADDR $sgpr4_sgpr5, $vgpr62, 0, 0, implicit $exec", f"global_load_dword v{r}, v62, s[4:5]"),
    "address": lambda r: (f"$vgpr61 = DS_READ_B32_gfx9 $vgpr{r}, 0, 0, implicit $exec", f"ds_read_b32 v61, v{r}"),
    "write": lambda r: (f"DS_WRITE_B32_gfx9 $vgpr62, $vgpr{r}, 0, 0, implicit $exec", f"ds_write_b32 v62, v{r}"),
    "read": lambda r: (f"$vgpr{r} = DS_READ_B32_gfx9 $vgpr62, 0, 0, implicit $exec", f"ds_read_b32 v{r}, v62"),
}
F64_FMA = ("$vgpr60_vgpr61 = V_FMA_F64_e64 0, $vgpr60_vgpr61, 0, $vgpr60_vgpr61, 0, $vgpr60_vgpr61, 0, 0, implicit $mode, implicit $exec",
           "v_fma_f64 v[60:61], v[60:61], v[60:61], v[60:61]")
DOT_SUM = ("$vgpr61 = V_DOT4_I32_I8 8, $vgpr60, 8, $vgpr60, 8, $vgpr0, 0, 0, 0, 0, 0, implicit $exec", "v_dot4_i32_i8 v61, v60, v60, v0")
A, B, C, OTHER = 56, 58, 40, 18  # registers of matrix instructions whose D begins at v0


def pairs():
    """Name, first instruction, instructions between, second instruction."""
    for m in MATRICES:
        first = m.write(0, A, B, C)
        add = lambda name, second, first=first, m=m, between=(): (f"{m.shape}_{name}", first, between, second)
        yield add("valu", VALU["mov"](60, m.sums - 1))
        yield add("valu_over", VALU["mov"](0, 60))
        yield add("valu_over_c", VALU["mov"](C + m.sums - 1, 60))
        yield add("valu_over_a", VALU["mov"](A, 60))
        yield add("dot", VALU["dot"](60, 0))
        yield add("f64_fma", F64_FMA)
        for name, memory in MEMORY.items():
            yield add(name, memory(1 if name != "address" else 0))
        yield add("load_over_c", MEMORY["load"](C))
        yield add("between", VALU["mov"](60, 1), between=(VALU["mov"](60, 61), VALU["mov"](60, 61)))
        for n in MATRICES:
            yield add(f"{n.shape}_a", n.write(OTHER, 0, B, C))
            yield add(f"{n.shape}_b", n.write(OTHER, A, m.sums - n.factors, C))
            yield add(f"{n.shape}_c", n.write(0, A, B, 0))
            if m.sums > 2:
                yield add(f"{n.shape}_part", n.write(OTHER, A, B, 2))
    dot, move = VALU["dot"], VALU["mov"]
    yield "dot_mov", dot(0, 60), (), move(61, 0)
    yield "dot_over", dot(0, 60), (), move(0, 60)
    yield "dot_same_a", dot(0, 60), (), dot(61, 0)
    yield "dot_same_c", dot(0, 60), (), DOT_SUM
    yield "dot_dot_over", dot(0, 60), (), dot(0, 60)
    for name, memory in MEMORY.items():
        yield f"dot_{name}", dot(0, 60), (), memory(0)
    for m in MATRICES:
        for name, valu in VALU.items():
            for operand, at in (("a", A), ("b", B + m.factors - 1), ("c", C + m.sums - 1)):
                yield f"{name}_{m.shape}_{operand}", valu(at, 60), (), m.write(0, A, B, C)
        for name in ("store", "address"):
            yield f"mov_{m.shape}_{name}", VALU["mov"](61, 60), (m.write(0, A, B, C),), MEMORY[name](61)


def llvm_states(cases):
    """Wait states that LLVM adds between the last two instructions of each pair."""
    text = ""
    for name, first, between, second in cases:
        body = "\n".join(f"    {line}" for line, _ in (first, *between, second))
        text += f"---\nname: {name}\nbody: |\n  bb.0:\n{body}\n    S_ENDPGM 0\n...\n"
    (folder / "pairs.mir").write_text(text, encoding="utf-8")
    out = tool("llc", "-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-run-pass=post-RA-hazard-rec", "pairs.mir", "-o", "-")
    states = {}
    for part in out.split("name:")[1:]:
        states[part.split()[0]] = sum(1 + int(n) for n in re.findall(r"^ +S_NOP (\d+)", part, re.M))
    return states


BEGIN = "v_mov_b32 v62, v10\n" + "".join(f"v_mov_b32 v{r}, 0\n" for r in range(62)) + "s_nop 7\n"
APART = "s_waitcnt vmcnt(0) lgkmcnt(0)\n" + "s_nop 7\n" * 3


def nops(states):
    return "".join(f"s_nop {min(states - at, 8) - 1}\n" for at in range(0, states, 8))


def test_pairs():
    cases = list(pairs())
    states = llvm_states(cases)
    text = {name: lambda n, first=first, between=between, second=second: "\n".join(t for _, t in (first, *between)) + "\n" + nops(n) + second[1] + "\n"
            for name, first, between, second in cases}
    whole = "".join(text[name](states[name]) + APART for name, *_ in cases)
    image = assemble("pairs", kernels("gfx90a", {"whole": BEGIN + whole, **{name: BEGIN + text[name](n - 1) for name, n in states.items() if n}}))
    if message := run(image, "whole", "--block=64", "zero:4096"):
        sys.exit(f"with LLVM's wait states: {message}")
    for name, n in states.items():
        message = run(image, name, "--block=64", "zero:4096") if n else ""
        if n and "needed: add" not in message:
            sys.exit(f"{name}: LLVM waits {n} states; with one less there is {message!r}:\n{text[name](n - 1)}")
    if len(states) != len(cases) or not {0, 1, 2, 4, 5, 6, 7, 8, 9, 11, 15, 16, 17, 18, 19} <= set(states.values()):
        sys.exit(f"LLVM's wait states are {sorted(set(states.values()))} in {len(states)} of {len(cases)} pairs")


# --- compiled kernels

ARGUMENTS = {"halves": ("zero:4096", "zero:4096", "zero:4096"), "factors": ("zero:256", "zero:256", "zero:1024"), "blocks": ("zero:256", "zero:256", "zero:1024"),
             "others": ("zero:256", "zero:512", "zero:1024", "zero:2048"), "many": ("zero:4096", "zero:4096", "zero:65536", 2)}


def test_compiled():
    text = tool("clang", "--target=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib", "-O3", "-std=c17", "-Wall", "-Werror", "-S", "-o", "-",
                (source / "tests/amdgpu/matrix.c").resolve())
    image = assemble("compiled", text)
    for kernel, arguments in ARGUMENTS.items():
        if message := run(image, kernel, "--block=64", *arguments):
            sys.exit(message)
    lines, kernel, found, after = text.split("\n"), "", 0, False
    for at, line in enumerate(lines):
        if name := re.match(r"(\w+):", line):
            kernel, after = name[1], False
        after |= "v_mfma" in line
        nop = re.match(r"\ts_nop (\d+)$", line)
        if not nop or not after:
            continue
        shorter = f"\ts_nop {int(nop[1]) - 1}" if int(nop[1]) else ""
        message = run(assemble("shorter", "\n".join((*lines[:at], shorter, *lines[at + 1:]))), kernel, "--block=64", *ARGUMENTS[kernel])
        if "needed: add" not in message:
            sys.exit(f"{kernel}: line {at + 1} as {shorter!r}: {message!r}")
        found += 1
    if found < 12:
        sys.exit(f"only {found} s_nop after matrix instructions")


# --- mistakes


def without(what):
    return lambda text: text.replace(what, "")


def instead(what, other):
    return lambda text: text.replace(what, other)


def lanes(mask):
    return f"s_mov_b32 exec_lo, {mask & 0xffffffff:#x}\ns_mov_b32 exec_hi, {mask >> 32:#x}\n"


ALL = (1 << 64) - 1
ZEROS = "v_mov_b32 v16, 0\nv_mov_b32 v17, 0\n" + "".join(f"v_mov_b32 v{r}, 0\n" for r in range(20, 24)) + "s_nop 1\n"
SMALL = "v_mfma_f32_16x16x4f32 v[20:23], v16, v17, v[20:23]\ns_nop 7\ns_nop 7\n"
LARGE = "s_nop 1\nv_mfma_f32_32x32x2f32 v[0:15], v16, v17, 0\n"
LARGE_WORDS = "s_nop 1\n.long 0xd3c40000, {:#x}\n"  # D v[0:15], A v16, B v17; C by the second word


def c_from(register):
    return 0x04022310 + (register << 18)


def undefined(register, lane, stored, other_lanes):
    """One lane of a register is undefined. The store of `stored` in all lanes is reported, that in other_lanes is not."""
    before = f"{lanes(ALL ^ 1 << lane)}v_mov_b32 v{register}, 0\n{lanes(ALL)}s_nop 7\n"
    text = ZEROS.replace(f"v_mov_b32 v{register}, 0\n", "") + before + SMALL + "s_nop 0\n" + f"global_store_dword v10, v{stored}, s[4:5]\n"
    return text, instead("s_nop 0\n", lanes(other_lanes))


def every(lane, of):
    """All lanes but lane, lane + of, ..."""
    return ALL ^ sum(1 << at for at in range(lane, 64, of))


# Name: message, text, function that corrects the text.
MISTAKES = {
    "exec": ("EXEC has 63 of 64 lanes", "s_mov_b32 exec_lo, -2\n" + LARGE, without("s_mov_b32 exec_lo, -2\n")),
    "overlap": ("D overlaps C in part, from v2 on", LARGE_WORDS.format(c_from(2)), instead(f"{c_from(2):#x}", f"{c_from(0):#x}")),
    "overlap_end": ("D overlaps C in part, from v15 on", LARGE_WORDS.format(c_from(15)), instead(f"{c_from(15):#x}", f"{c_from(16):#x}")),
    "not_loaded": ("v16 is used before an s_waitcnt", "global_load_dword v16, v10, s[4:5]\n" + LARGE, instead("v16, v10", "v18, v10")),
    "d_not_loaded": ("v15 is overwritten before an s_waitcnt", "global_load_dword v15, v10, s[4:5]\n" + LARGE, instead("v15, v10", "v18, v10")),
    "no_vgpr": ("no register v64: the kernel's descriptor has 64 VGPRs and 64 AGPRs", "v_mov_b32 v64, 0", instead("v64", "v63")),
    "no_agpr": ("no register a64:", "v_accvgpr_read_b32 v1, a64", instead("a64", "a63")),
    "no_d": ("no register v65:", LARGE.replace("v[0:15]", "v[50:65]"), instead("v[50:65]", "v[48:63]")),
    "cbsz": ("cbsz or abid of this instruction is not simulated", LARGE.replace(" 0\n", " 0 cbsz:1\n"), without(" cbsz:1")),
    "abid": ("cbsz or abid of this instruction is not simulated", "v_mfma_f32_4x4x1f32 v[0:3], v16, v17, 0 cbsz:1 abid:2", instead("abid:2", "abid:1")),
    "blgp": ("blgp of this instruction is not simulated", ".long 0xd3ef0000, 0x24020902", instead("0x24020902", "0x04020902")),  # f64
    # Register r of lane l is row 4 * (l / 16) + r, column l % 16. Lane 3 of A is in row 3, lane 5 of B in column 5.
    "row": ("lane 0: the stored v23 is undefined", *undefined(16, 3, 23, ALL ^ 0xffff)),
    "column": ("lane 5: the stored v21 is undefined", *undefined(17, 5, 21, every(5, 16))),
    "element": ("lane 7: the stored v22 is undefined", *undefined(22, 7, 22, ALL ^ 1 << 7)),
    "rows_above": ("lane 0: the stored v23 is undefined", undefined(16, 3, 23, ALL)[0], instead("v10, v23", "v10, v22")),
    "element_alone": ("lane 7: the stored v22 is undefined", undefined(22, 7, 22, ALL)[0], instead("v10, v22", "v10, v21")),
}
# What the instruction set allows: D in the registers of A, and up to 4 registers that overlap C in part.
ALLOWED = {
    "d_over_a": LARGE.replace("v16", "v2"),
    "small_overlap": "v_mfma_f32_16x16x4f32 v[20:23], v16, v17, v[22:25]",
}


def test_mistakes():
    broken = assemble("broken", kernels("gfx90a", {name: text for name, (_, text, _) in MISTAKES.items()}))
    whole = assemble("whole", kernels("gfx90a", {name: fix(text) for name, (_, text, fix) in MISTAKES.items()} | ALLOWED))
    for name, (why, _, _) in MISTAKES.items():
        if why not in (message := run(broken, name, "--block=64", "zero:4096")):
            sys.exit(f"{name}: {message!r}, not {why!r}")
    for name in (*MISTAKES, *ALLOWED):
        if message := run(whole, name, "--block=64", "zero:4096"):
            sys.exit(f"{name}, corrected: {message}")
    if "EXEC has 63 of 64 lanes" not in (message := run(whole, "exec", "--block=63", "zero:4096")):
        sys.exit(f"63 threads: {message!r}")
    other = assemble("other", kernels("gfx906", {"matrix": LARGE_WORDS.format(c_from(0)), "no_vgpr": "v_mov_b32 v64, 0"}), "gfx906")
    for name, why in (("matrix", "this word, which is not an instruction, is not simulated"), ("no_vgpr", "has 64 VGPRs and 0 AGPRs")):
        if why not in (message := run(other, name, "--block=64", "zero:4096")):
            sys.exit(f"gfx906, {name}: {message!r}, not {why!r}")


test_pairs()
test_compiled()
test_mistakes()
print(f"{runs} runs of the simulator")
