# SPDX-License-Identifier: Apache-2.0
"""The modifier clamp, for opcodes.py: it limits floats to 0 to 1, and integers to the range of their type."""

import re

from pcode import Code, Float, float_of, raw

RANGES = {"u16": (0, 0xffff), "i16": (-0x8000, 0x7fff), "u32": (0, 0xffffffff), "i32": (-0x80000000, 0x7fffffff)}
# Floats in the result: bits of each, and their number.
FLOATS = {"v_fma_f32": (32, 1), "v_add_f32": (32, 1), "v_mul_f32": (32, 1), "v_fma_mix_f32": (32, 1), "v_pk_fma_f32": (32, 2), "v_pk_add_f32": (32, 2),
          "v_add_f16": (16, 1), "v_max_f16": (16, 1), "v_fma_f16": (16, 1), "v_fma_mixlo_f16": (16, 1), "v_pk_mul_f16": (16, 2), "v_pk_max_f16": (16, 2),
          "v_add_f64": (64, 1), "v_fma_f64": (64, 1)}


def floats(name):
    size, n = FLOATS[name]
    mask = (1 << size) - 1

    def clamp(env):
        for shift in range(0, size * n, size):
            value = float_of(env["D0"] >> shift & mask, size)
            bits = 0 if not value.value > 0 else raw(Float(min(value.value, 1.0), size))
            env["D0"] = env["D0"] & ~(mask << shift) | bits << shift
    return clamp


def integers(name, d, manual, keeps):
    """The pseudocode with the result limited to its type's range, not cut to its bits; halves each by their
    own."""
    least, most = RANGES[d]
    packed = name.startswith("v_pk_")
    one = name.replace("v_pk_", "v_").replace("_legacy", "")
    text = next(manual.text[one + suffix] for suffix in ("_e32", "", "_e64") if one + suffix in manual.text)
    code = Code(re.sub(r"\bD0\.[iu]\d+", "D0.i64", text), manual.call)

    def exact(env):
        code(env)
        value = env["D0"] & (1 << 64) - 1
        return min(max(value - (value >> 63 << 64), least), most) & (0xffff if d.endswith("16") else 0xffffffff)

    def model(env):
        if packed:
            env["D0"] = sum(exact({k: env[k] >> shift & 0xffff for k in ("S0", "S1", "S2") if k in env}) << shift for shift in (0, 16))
        else:
            old = env["D0"]
            env["D0"] = exact(dict(env)) | (old & 0xffff0000 if keeps else 0)
    return model


def variants(row, text, manual, changed):
    """Yields lines and models; `text` is the line without clamp, `changed` is opcodes.py's."""
    kind, name, d, keeps = row[0], row[1], row[2], row[7]
    if name in FLOATS:
        yield text.replace("\n", " clamp\n"), changed(after=floats(name))
    if kind == "VS" and manual:
        model = integers(name, d, manual, keeps)
        yield text.replace("\n", " clamp\n"), model
        if name in ("v_sub_u16", "v_add_u16", "v_subrev_u16", "v_add_u32"):
            def parts(env):
                env |= {"S0": env["S0"] >> 8 & 255, "S1": env["WIDE1"] >> 16 & 0xffff}
                model(env)
            yield text.replace(name, name + "_sdwa").replace("\n", " clamp dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1\n"), parts
