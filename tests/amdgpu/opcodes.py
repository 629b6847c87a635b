# SPDX-License-Identifier: Apache-2.0
"""Compares each arithmetic row of opcodes.def, on corner cases and random operands, with AMD's pseudocode, or
with a model if there is none.

    opcodes.py FOLDER SIMULATOR LLVM_BIN SOURCE CASES [--seed N]

The pseudocode is str_pcode.py of the package tinygrad (group gpu of dependencies.txt), in .gpu/ of the source
tree or at UK_PCODE. Without it only rows with a model are tested, and a line says so.
"""

import math
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
from fractions import Fraction

import clamps
import halves
from assembly import assembly
from pcode import FUNCTIONS, Float, Manual, arithmetic, float_bits, float_of, raw, typed

folder, simulator, llvm, source = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
cases = int(sys.argv[5])
seed = 1 if len(sys.argv) < 8 else random.randrange(1 << 32) if sys.argv[7] == "new" else int(sys.argv[7])
folder.mkdir(parents=True, exist_ok=True)
rng = random.Random(seed)

CORNERS = [0, 1, 2, 5, 16, 31, 32, 33, 63, 64, 127, 128, 255, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffff, 0x800000, 0xffffff, 0x1000000,
           0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff, 0x3f800000, 0xbf800000, 0x3f000000, 0x40000000, 0x40490fdb,
           0xc2c80000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffc00001, 0x007fffff, 0x00800000, 0x7f7fffff, 0xff7fffff,
           0x4b000000, 0x4f000000, 0xcf000000, 0x4f800000, 0x3effffff, 0x3fc00000, 0x7ff00000, 0x3ff00000, 0xfff80000, 0x3c00, 0x7c00]
HALVES = [0, 0x3c003c00, 0x7c00fc00, 0x7e000001]


def operand():
    kind = rng.randrange(6)
    if kind < 2:
        return rng.choice(CORNERS)
    if kind == 2:
        return rng.getrandbits(32)
    if kind == 3:
        return rng.randrange(64)
    return float_bits(math.ldexp(rng.uniform(-2, 2), rng.randrange(-12, 12)), 32)


def pair():
    if rng.randrange(3) == 0:
        bits = float_bits(math.ldexp(rng.uniform(-2, 2), rng.randrange(-12, 12)), 64)
        return [bits & 0xffffffff, bits >> 32]
    return [operand(), operand()]


def operands():
    """a, b, c, d; in some cases close to each other, for carries, maxima and comparisons."""
    a, b, c, d = pair(), pair(), pair(), pair()
    near = rng.randrange(12)
    if near < 4:
        value = a[0] | a[1] << 32
        value = (value, value + 1, value - 1, ~value)[near]
        b = [value & 0xffffffff, value >> 32 & 0xffffffff]
    elif near == 4:
        c = list(rng.choice((a, b)))
    return [*a, *b, *c, *d]


def table():
    """Kind, name, and types of D, A, B, C of each row."""
    text = "".join(f"#define {kind}(name, {types}, ...) ROW {kind[0:2]} name {row}\n" for kind, types, row in (
        ("V", "D, A, B, C", "D A B C"), ("VS", "D, A, B, C", "D A B C"), ("VM", "D, A, B, C", "D A B C"), ("S", "D, A, B", "D A B none"), ("SZ", "D, A, B", "D A B none")))
    text += "#define VF(name, ...) ROW V name f32 f32 f32 f32\n#define VC(name, A, B, ...) ROW VC name none A B none\n"
    out = subprocess.run([llvm / "clang", "-E", "-P", "-x", "c", f"-I{source}/simulate/amdgpu", "-"], input=text + '#include "opcodes.def"\n',
                         text=True, capture_output=True, check=True).stdout
    text = (source / "simulate/amdgpu/opcodes.def").read_text()
    acc, keep = (set(re.findall(rf"^V[FMS]?\((\w+),.*?{flag}\b", text, re.M)) for flag in ("F_ACC", "F_KEEP"))
    rows = [row.split() for row in out.replace("ROW", "\nROW").split("\n") if row.startswith("ROW")]
    return [row[1:7] + [row[2] in acc, row[2] in keep] for row in rows]


def words(kind):
    return 0 if kind == "none" else 2 if kind.endswith("64") else 1


# --- models after the Vega 7nm and CDNA 2 manuals, where the pseudocode is missing or wrong


def flushed(a):
    return Float(math.copysign(0, a.value), 32) if a.value != 0 and abs(a.value) < 2.0 ** -126 else a


def model_mad(env):
    a, b, c = (flushed(float_of(env[name], 32)) for name in ("S0", "S1", "S2"))
    env["D0"] = raw(flushed(arithmetic("+", flushed(arithmetic("*", a, b)), c)))


def model_madmk(env):
    env["S1"] = 0x40600000
    model_mad(env)


def model_madak(env):
    env["S2"] = 0x40600000
    model_mad(env)


def model_mac(env):
    env["S2"] = env["D0"]
    model_mad(env)


def model_move(env):
    env["D0"] = env["S0"]


def model_perm(env):
    data = (env["S0"] << 32 | env["S1"]).to_bytes(8, "little")
    out = []
    for select in env["S2"].to_bytes(4, "little"):
        out.append(data[select] if select < 8 else (0xff if data[2 * (select - 8) + 1] & 0x80 else 0) if select < 12 else 0 if select == 12 else 0xff)
    env["D0"] = int.from_bytes(bytes(out), "little")


def model_sad(env):
    env["D0"] = (abs(env["S0"] - env["S1"]) + env["S2"]) & 0xffffffff


def model_frexp_exp(size):
    def model(env):
        a = float_of(env["S0"], size).value
        env["D0"] = math.frexp(a)[1] & (0xffff if size == 16 else 0xffffffff) if math.isfinite(a) else 0
    return model


def nearest(x, size):
    """Rounds a fraction to a float, once."""
    digits, least, most = {32: (24, -149, 128), 64: (53, -1074, 1024)}[size]
    exponent = x.numerator.bit_length() - x.denominator.bit_length() + 1
    exponent -= abs(x) < Fraction(2) ** (exponent - 1)
    unit = Fraction(2) ** max(exponent - digits, least)
    value = round(x / unit) * unit
    return Float(math.copysign(math.inf if abs(value) >= Fraction(2) ** most else float(abs(value)), 1 if x >= 0 else -1), size)


def model_div_fmas(size):
    """Factors from the manual of RDNA; the one in CDNA's manual does not match the scaling."""
    top, power = {32: (127, 64), 64: (1023, 128)}[size]

    def model(env):
        a, b, c = (float_of(env[name], size) for name in ("S0", "S1", "S2"))
        value = FUNCTIONS["fma"](a, b, c)
        if env["VCC"] & 1 and all(math.isfinite(x.value) for x in (a, b, c)) and value.value:
            up = (c.bits >> {32: 23, 64: 52}[size] & (2 * top + 1)) > top
            value = nearest((Fraction(a.value) * Fraction(b.value) + Fraction(c.value)) * Fraction(2) ** (power if up else -power), size)
        env["D0"] = raw(value)
    return model


def model_div_scale(size):
    """The pseudocode does not say that without a condition nothing is scaled. It also treats 1 / denominator
    as subnormal in f64, which it never is; in f32 both operands are scaled then."""
    def model(env):
        env["D0"] = env["S0"]
        a, den, num = (float_of(env[name], size).value for name in ("S0", "S1", "S2"))
        PSEUDO[f"v_div_scale_f{size}"](env)
        small = lambda x: 0 < abs(rounded_f32(x)) < 2.0 ** -126
        if size == 32 and den and small(1 / den) and num and not small(num / den) and not env["VCC"] & 1:
            env["D0"] = raw(Float(math.ldexp(a, -64), 32))
    return model


def rounded_f32(x):
    return Float(x, 32).value


def model_div_fixup(size):
    """The pseudocode tests whether the denominator's exponent is the largest, where only the quotient's can
    be."""
    digits, largest, least = {32: (23, 255, -150), 64: (52, 2047, -1075)}[size]

    def model(env):
        PSEUDO[f"v_div_fixup_f{size}"](env)
        a, den, num = (float_of(env[name], size) for name in ("S0", "S1", "S2"))
        exponent = lambda x: x.bits >> digits & largest
        if exponent(a) == largest and all(math.isfinite(x.value) and x.value for x in (den, num)) and exponent(num) - exponent(den) >= least:
            env["D0"] = largest << digits | (den.bits ^ num.bits) & 1 << size - 1
    return model


def model_rndne(size):
    """Rounds to even and keeps the sign; the pseudocode's sum loses the sign of zero."""
    def model(env):
        a = float_of(env["S0"], size)
        env["D0"] = raw(Float(math.copysign(round(a.value), a.value), size)) if math.isfinite(a.value) else a.bits
    return model


def model_ldexp(size):
    """Rounds once; the pseudocode's power of 2 overflows."""
    def model(env):
        env["D0"] = raw(FUNCTIONS["ldexp"](float_of(env["S0"], size), typed(env["S1"], "i16" if size == 16 else "i32")))
    return model


def model_mad_legacy_u16(env):
    """Clears the upper half, like all 16-bit operations before gfx9; the pseudocode of this name describes
    the new form."""
    env["D0"] = (env["S0"] * env["S1"] + env["S2"]) & 0xffff


def model_mbcnt(high):
    def model(env):
        below = (1 << env["LANE"]) - 1
        env["D0"] = ((env["S0"] & (below >> 32 if high else below & 0xffffffff)).bit_count() + env["S1"]) & 0xffffffff
    return model


MODELS = {"v_mbcnt_lo_u32_b32": model_mbcnt(False), "v_mbcnt_hi_u32_b32": model_mbcnt(True), "v_madmk_f32": model_madmk, "v_madak_f32": model_madak,
          "v_mad_f32": model_mad, "v_mac_f32": model_mac, "v_perm_b32": model_perm, "v_sad_u32": model_sad,
          "v_accvgpr_read_b32": model_move, "v_accvgpr_write_b32": model_move, "v_accvgpr_mov_b32": model_move,
          "v_frexp_exp_i32_f32": model_frexp_exp(32), "v_frexp_exp_i32_f64": model_frexp_exp(64), "v_frexp_exp_i16_f16": model_frexp_exp(16), "v_rndne_f32": model_rndne(32), "v_rndne_f64": model_rndne(64), "v_rndne_f16": model_rndne(16),
          "v_ldexp_f16": model_ldexp(16),
          "v_ldexp_f32": model_ldexp(32), "v_ldexp_f64": model_ldexp(64), "v_mad_legacy_u16": model_mad_legacy_u16, "v_div_fmas_f32": model_div_fmas(32),
          "v_div_fmas_f64": model_div_fmas(64), **halves.MODELS}
CORRECTED = {"v_div_scale_f32": model_div_scale(32), "v_div_scale_f64": model_div_scale(64), "v_div_fixup_f32": model_div_fixup(32),
             "v_div_fixup_f64": model_div_fixup(64)}
PSEUDO = {}
# Hardware is within 1 ulp, and so may the model be.
LOOSE = {"v_rcp_f32", "v_rcp_iflag_f32", "v_rsq_f32", "v_exp_f32", "v_log_f32", "v_sqrt_f32", "v_rsq_f16", "v_exp_f16", "v_log_f16"}
ONLY_GFX90A = re.compile(r"v_pk_(fma|mul|add|mov)_[fb]32|v_accvgpr_mov|v_mov_b64|v_lshl_add_u64|v_fmac_f64")
NOT_GFX906 = re.compile(r"v_accvgpr|v_dot4c")
NOT_GFX90A = re.compile(r"v_mov_b64|v_lshl_add_u64|v_ma[cd](mk|ak)?_f32")
IMMEDIATES = (0, 1, -1, 100, 32767, -32768)


class Test:
    """One instruction as written: a row, with changes to its operands and result."""

    def __init__(self, row, text, model, immediate=None):
        self.kind, self.name, self.d, self.a, self.b, self.c, self.acc, self.keeps = row
        self.packed = self.name.startswith("v_pk_") and self.name.endswith("16")
        self.text, self.model, self.immediate = text, model, immediate


def vector_text(row):
    """The line, with sources in v[20:25], the result in v[26:27], masks in s[10:11] and s[12:13]."""
    kind, name, d, a, b, c, acc, _ = row
    register = lambda at, kind: f"v[{at}:{at + 1}]" if words(kind) == 2 else f"v{at}"
    packed = name.startswith("v_pk_") and d == "f32"
    wide = "u64" if packed else None
    source_of = [register(at, wide or kind) for at, kind in ((20, a), (22, b), (24, c)) if kind != "none"]
    if acc:
        source_of = source_of[:2]
    operands = ["s[10:11]"] if kind == "VC" else [register(26, wide or d)]
    if kind == "VM" and ("_co_" in name or "mad_" in name or "scale" in name):
        operands.append("s[10:11]")
    operands += source_of
    if "addc" in name or "subb" in name or "cndmask" in name:
        operands.append("s[12:13]")
    if name == "v_accvgpr_write_b32":
        return f"v_accvgpr_write_b32 a1, v20\n s_nop 4\nv_accvgpr_read_b32 v26, a1\n"
    if name == "v_accvgpr_read_b32":
        return f"v_accvgpr_write_b32 a1, v20\n s_nop 4\nv_accvgpr_read_b32 v26, a1\n"
    if name == "v_accvgpr_mov_b32":
        return f"v_accvgpr_write_b32 a1, v20\n s_nop 4\nv_accvgpr_mov_b32 a2, a1\nv_accvgpr_read_b32 v26, a2\n"
    if name in ("v_madmk_f32", "v_madak_f32"):  # with the constant 3.5 in place of b or c
        return f"{name} v26, v20, " + ("0x40600000, v24" if name == "v_madmk_f32" else "v22, 0x40600000") + "\n"
    return f"{name} " + ", ".join(operands) + (" op_sel:[0,1]" if name == "v_pk_mov_b32" else "") + "\n"


def changed_model(code, before=None, after=None):
    def model(env):
        env.update(before(env) if before else {})
        code(env)
        if after:
            after(env)
    return model


def variants(row, code):
    """Some instructions with signs and SDWA: the same model with changed operands."""
    name = row[1]

    def changed(before=None, after=None):
        return changed_model(code, before, after)

    sign = lambda bits: bits ^ 0x80000000
    if name in ("v_fma_f32", "v_add_f32", "v_mul_f32"):
        rest = ", v24" if name == "v_fma_f32" else ""
        yield f"{name} v26, -v20, |v22|{rest}\n", changed(lambda e: {"S0": sign(e["S0"]), "S1": e["S1"] & 0x7fffffff})
        yield f"{name} v26, -|v20|, v22{rest}\n", changed(lambda e: {"S0": e["S0"] | 0x80000000})
        yield f"{name} v26, 2.0, v22{rest}\n", changed(lambda e: {"S0": 0x40000000})
        yield f"{name} v26, v20, -4{rest}\n" if not rest else f"{name} v26, v20, -4, v24\n", changed(lambda e: {"S1": 0xfffffffc})
    if name == "v_pack_b32_f16":
        yield f"{name} v26, v20, v22 op_sel:[1,0,0]\n", changed(lambda e: {"S0": e["WIDE0"] >> 16 & 0xffff})
        yield f"{name} v26, v20, v22 op_sel:[0,1,0]\n", changed(lambda e: {"S1": e["WIDE1"] >> 16 & 0xffff})
        yield f"{name} v26, |v20|, -v22\n", changed(lambda e: {"S0": e["S0"] & 0x7fff, "S1": e["S1"] ^ 0x8000})
        yield f"{name} v26, -|v20|, |v22| op_sel:[0,1,0]\n", changed(lambda e: {"S0": e["S0"] | 0x8000, "S1": e["WIDE1"] >> 16 & 0x7fff})
    if name == "v_pk_mov_b32":
        yield f"{name} v[26:27], v[20:21], v[22:23] op_sel:[1,0]\n", changed(lambda e: {"OPSEL": 1})
    if name in ("v_add_u32", "v_lshlrev_b32", "v_max_i32"):
        byte = lambda bits, n: bits >> 8 * n & 255
        yield (f"{name}_sdwa v26, v20, v22 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1\n",
               changed(lambda e: {"S0": byte(e["S0"], 1), "S1": e["S1"] >> 16}))
        yield (f"{name}_sdwa v26, sext(v20), v22 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3 src1_sel:DWORD\n",
               changed(lambda e: {"OLD": e["D0"], "S0": typed(byte(e["S0"], 3), "i8") & 0xffffffff},
                       lambda e: e.update(D0=e["OLD"] & 0xff00ffff | byte(e["D0"], 0) << 16)))
        yield (f"{name}_sdwa v26, v20, v22 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:DWORD src1_sel:BYTE_0\n",
               changed(lambda e: {"S1": byte(e["S1"], 0)}, lambda e: e.update(D0=typed(e["D0"], "i16") & 0xffffffff)))
    if name in ("v_pk_fma_f32", "v_pk_mul_f32"):
        rest, ones = (", v[24:25]", ",1") if name == "v_pk_fma_f32" else ("", "")
        zeros = ones.replace("1", "0")
        swap = lambda bits, low, high: bits >> 32 * low & 0xffffffff | (bits >> 32 * high & 0xffffffff) << 32
        yield f"{name} v[26:27], v[20:21], v[22:23]{rest} op_sel_hi:[0,1{ones}]\n", changed(lambda e: {"S0": swap(e["S0"], 0, 0)})
        yield f"{name} v[26:27], v[20:21], v[22:23]{rest} op_sel:[1,0{zeros}] op_sel_hi:[1,1{ones}]\n", changed(lambda e: {"S0": swap(e["S0"], 1, 1)})
        yield (f"{name} v[26:27], v[20:21], v[22:23]{rest} op_sel:[0,1{zeros}] op_sel_hi:[1,0{ones}] neg_lo:[1,0{zeros}] neg_hi:[0,1{zeros}]\n",
               changed(lambda e: {"S0": e["S0"] ^ 0x80000000, "S1": swap(e["S1"], 1, 0) ^ 0x8000000000000000}))


def tests(rows, manual, gpu):
    """Returns vector tests, scalar tests, and names without a model."""
    vectors, scalars, missing = [], [], []
    for row in rows:
        name = row[1]
        if (gpu == "gfx906" and (ONLY_GFX90A.match(name) or NOT_GFX906.match(name))) or (gpu == "gfx90a" and NOT_GFX90A.match(name)):
            continue
        code = MODELS.get(name) or (manual and manual.find(name))
        if name in CORRECTED and code:
            PSEUDO[name], code = code, CORRECTED[name]
        if code and row[7] and name not in halves.MODELS:
            code = halves.keeping(code)
        if not code:
            missing.append(name)
        elif row[0].startswith("V"):
            vectors.append(Test(row, vector_text(row), code))
            vectors += [Test(row, text, model) for text, model in variants(row, code)]
            vectors += [Test(row, text, model) for text, model in clamps.variants(row, vector_text(row), manual, lambda code=code, **f: changed_model(code, **f))]
            n = sum(kind != "none" for kind in row[3:6])
            vectors += [Test(row, text, model) for text, model in halves.variants(name, n, row[7], lambda *f, code=code: changed_model(code, *f))]
        else:
            for immediate in IMMEDIATES if row[4] in ("k16", "ku16") or row[3] == "k16" else (None,):
                scalars.append(Test(row, scalar_text(row, immediate), code, immediate))
    return vectors, scalars, missing


def scalar_text(row, immediate):
    """The line, with sources in s[12:15] and the destination in s[16:17]."""
    _, name, d, a, b = row[:5]
    register = lambda at, kind: f"s[{at}:{at + 1}]" if words(kind) == 2 else f"s{at}"
    text = [register(16, d)] if d != "none" else []
    if immediate is not None:
        if d == "none":
            text.append("s12")
        return f"{name} {', '.join(text)}{', ' if text else ''}{immediate & 0xffff:#x}\n"
    text += [register(at, kind) for at, kind in ((12, a), (14, b)) if kind != "none"]
    return f"{name} {', '.join(text)}\n"


VECTOR_IN, SCALAR_IN = 10, 8  # words per lane: a, b, c, d, mask; words per block: a, b, d, scc, the low word of exec


def vector_kernel(tests_of, blocks):
    """Lane l of block b loads 10 words of the input; each test stores 3 words, ordered by test, block and
    lane."""
    text = "s_lshl_b32 s6, s2, 6\nv_add_u32 v1, s6, v0\nv_mul_u32_u24 v2, 40, v1\n"
    for i, at in ((0, 30), (16, 34)):
        text += f"global_load_dwordx4 v[{at}:{at + 3}], v2, s[4:5] offset:{i}\n"
    text += "global_load_dwordx2 v[38:39], v2, s[4:5] offset:32\ns_waitcnt vmcnt(0)\n"
    text += f"v_mul_u32_u24 v3, 12, v1\nv_add_u32 v3, {40 * 64 * blocks}, v3\nv_cmp_ne_u32 s[12:13], 0, v38\nv_mov_b32 v4, {12 * 64 * blocks}\n"
    for test in tests_of:
        text += "".join(f"v_mov_b32 v{20 + i}, v{30 + i}\n" for i in range(8))
        text += "s_mov_b64 s[10:11], 0\ns_mov_b64 vcc, s[12:13]\n" + test.text
        # A dot product's result takes gfx90a three wait states more than others.
        text += "v_cndmask_b32 v28, 0, 1, s[10:11]\ns_nop 1\n"
        text += "global_store_dwordx3 v3, v[26:28], s[4:5]\nv_add_u32 v3, v3, v4\n"
    return text


def scalar_kernel(tests_of, blocks):
    """Block b loads 8 words of the input; each test stores 5 words."""
    text = "s_lshl_b32 s6, s2, 5\ns_add_u32 s8, s4, s6\ns_addc_u32 s9, s5, 0\ns_load_dwordx8 s[20:27], s[8:9], 0x0\ns_mul_i32 s6, s2, 20\n"
    text += f"v_mov_b32 v3, s6\nv_add_u32 v3, {32 * blocks}, v3\nv_mov_b32 v4, {20 * blocks}\ns_waitcnt lgkmcnt(0)\n"
    for test in tests_of:
        text += "s_mov_b64 s[12:13], s[20:21]\ns_mov_b64 s[14:15], s[22:23]\ns_mov_b64 s[16:17], s[24:25]\n"
        if "saveexec" in test.name:
            text += "s_mov_b64 exec, s[22:23]\n"
        text += "s_cmp_lg_u32 s26, 0\n" + test.text
        text += "s_cselect_b32 s18, 1, 0\ns_mov_b64 s[28:29], exec\ns_mov_b64 exec, 1\n"
        text += "v_mov_b32 v20, s16\nv_mov_b32 v21, s17\nv_mov_b32 v22, s18\nv_mov_b32 v23, s28\nv_mov_b32 v24, s29\n"
        text += "global_store_dwordx4 v3, v[20:23], s[4:5]\nglobal_store_dword v3, v24, s[4:5] offset:16\nv_add_u32 v3, v3, v4\n"
    return text


def run(gpu, name, text, data, out_bytes, blocks, block):
    (folder / f"{name}.s").write_text(assembly(gpu, text))
    for command in ([llvm / "llvm-mc", "-triple=amdgcn-amd-amdhsa", f"-mcpu={gpu}", "-filetype=obj", "-o", f"{name}.o", f"{name}.s"],
                    [llvm / "ld.lld", "-shared", "-o", f"{name}.hsaco", f"{name}.o"]):
        subprocess.run(command, cwd=folder, check=True)
    (folder / "in").write_bytes(data + bytes(out_bytes))
    subprocess.run([simulator, f"{name}.hsaco", "test", f"--grid={blocks}", f"--block={block}", "@in=out"], cwd=folder, check=True)
    return struct.unpack(f"<{out_bytes // 4}I", (folder / "out").read_bytes()[len(data):])


def ulps(a, b, size):
    place = lambda bits: bits if bits < 1 << size - 1 else (1 << size - 1) - bits
    return abs(place(a) - place(b))


def agree(test, wanted, found):
    """True if bits are equal, or both are NaN; compares the high word only for results that have one."""
    wide = words(test.d) == 2 or (test.name.startswith("v_pk_") and test.d == "f32")
    wanted, found = (x & (2 ** 64 - 1 if wide else 2 ** 32 - 1) for x in (wanted, found))
    if test.d.endswith("16") and not test.packed and not test.keeps and "PRESERVE" not in test.text:
        wanted &= 0xffff
    if test.d == "f16":
        return all(w == f or all(math.isnan(float_of(x, 16).value) for x in (w, f)) or (test.name in LOOSE and ulps(w, f, 16) <= 1)
                   for w, f in ((halves.half(wanted, upper), halves.half(found, upper)) for upper in (0, 1)))
    parts = [(wanted, found, 64)] if test.d == "f64" else [(wanted >> s & 0xffffffff, found >> s & 0xffffffff, 32) for s in ((0, 32) if wide else (0,))]
    for w, f, size in parts:
        if w == f:
            continue
        if test.d not in ("f32", "f64"):
            return False
        if math.isnan(float_of(w, size).value) and math.isnan(float_of(f, size).value):
            continue
        if not (test.name in LOOSE and ulps(w, f, 32) <= 1):
            return False
    return True


def width(test, kind):
    return 64 if words(kind) == 2 or (test.name.startswith("v_pk_") and test.d == "f32") else 32 if test.packed else 16 if kind.endswith("16") and kind[0] != "k" else 32


def check_vectors(gpu, tests_of, blocks):
    lanes = [[*operands(), rng.randrange(2), 0] for _ in range(64 * blocks)]
    data = b"".join(struct.pack("<10I", *lane) for lane in lanes)
    out = run(gpu, f"vectors.{gpu}", vector_kernel(tests_of, blocks), data, 12 * 64 * blocks * len(tests_of), blocks, 64)
    failed = {}
    for t, test in enumerate(tests_of):
        for i, lane in enumerate(lanes):
            at = 3 * (t * 64 * blocks + i)
            env = {f"S{n}": (lane[2 * n] | lane[2 * n + 1] << 32) & (1 << width(test, kind)) - 1
                   for n, kind in enumerate((test.a, test.b, test.c)) if kind != "none"}
            env |= {"D0": lane[6] | lane[7] << 32, "VCC": lane[8], "D1": 0, "OPSEL": 2, "LANE": i % 64, "WIDE0": lane[0], "WIDE1": lane[2]}
            old = dict(env)
            if test.acc and not test.keeps:
                env["D0"] &= (1 << width(test, test.d)) - 1
            test.model(env)
            mask = env["D0"] & 1 if test.kind == "VC" else env["D1"] if "mad_" in test.name else env["VCC"] & 1
            has_mask = "s[10:11]" in test.text
            wrong = has_mask and mask & 1 != out[at + 2]
            if test.kind != "VC":
                wrong = wrong or not agree(test, env["D0"], out[at] | out[at + 1] << 32)
            if wrong:
                failed.setdefault(test.text, f"{old} gives {raw(env['D0']):#x} mask {mask}; found {out[at] | out[at + 1] << 32:#x} mask {out[at + 2]}")
    return failed


def check_scalars(gpu, tests_of, blocks):
    inputs = [[*operands()[:6], rng.randrange(2), 0] for _ in range(blocks)]
    data = b"".join(struct.pack("<8I", *words_of) for words_of in inputs)
    out = run(gpu, f"scalars.{gpu}", scalar_kernel(tests_of, blocks), data, 20 * blocks * len(tests_of), blocks, 1)
    failed = {}
    for t, test in enumerate(tests_of):
        for i, block in enumerate(inputs):
            a, b, d = (block[2 * n] | block[2 * n + 1] << 32 for n in range(3))
            mask = lambda value, kind: value & (2 ** 64 - 1 if words(kind) == 2 else 2 ** 32 - 1)
            env = {"S0": mask(a, test.a), "S1": mask(b, test.b), "D0": mask(d, test.d), "SCC": block[6], "EXEC": b, "VCC": 0}
            if test.immediate is not None:
                env["SIMM16"] = test.immediate & 0xffff
                env["S1" if test.d == "none" else "S0"] = test.immediate & (0xffff)
            old = dict(env)
            test.model(env)
            at = 5 * (t * blocks + i)
            wrong = (block[6] if "SCC" not in env else int(env["SCC"])) != out[at + 2]
            if test.d != "none":
                wrong = wrong or mask(env["D0"], test.d) != mask(out[at] | out[at + 1] << 32, test.d)
            if "saveexec" in test.name:
                wrong = wrong or env["EXEC"] != out[at + 3] | out[at + 4] << 32
            if wrong:
                failed.setdefault(test.text, f"{old} gives {env}; found {out[at:at + 5]}")
    return failed


where = pathlib.Path(os.environ.get("UK_PCODE", source / ".gpu/tinygrad/runtime/autogen/amd/cdna/str_pcode.py"))
manual = Manual(where) if where.is_file() else None
total = 0
status = 0
for gpu in ("gfx906", "gfx90a"):
    vectors, scalars, missing = tests(table(), manual, gpu)
    failed = check_vectors(gpu, vectors, cases) | check_scalars(gpu, scalars, 16 * cases)
    total += (64 * len(vectors) + 16 * len(scalars)) * cases
    for text, why in failed.items():
        print(f"{gpu}: {text.strip()}: {why}")
    status |= bool(failed) or (manual is not None and bool(missing))
    if manual and missing:
        print(f"{gpu}: no model of {' '.join(missing)}")
    if not manual:
        print(f"{gpu}: skipped, AMD's pseudocode is not in .gpu/ (./uk-setup test): {len(missing)} of the rows")
print(f"{total} results, seed {seed}")
sys.exit(status)
