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


test_pairs()
print(f"{runs} runs of the simulator")
