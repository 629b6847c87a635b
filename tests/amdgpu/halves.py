# SPDX-License-Identifier: Apache-2.0
"""Instructions on halves of registers, for opcodes.py: op_sel, signs, SDWA, and the half of the destination
that is kept."""

from pcode import FUNCTIONS, Float, arithmetic, float_of, raw, typed


def half(bits, upper):
    return bits >> 16 * bool(upper) & 0xffff


def halves(bits, low, high):
    return half(bits, low) | half(bits, high) << 16


def mix(where, sources=((0, 0), (0, 0), (0, 0)), signs=("", "", "")):
    """v_fma_mix_f32 and variants with a half as result; per source "-", "|" or "-|", whether it is a half,
    and which."""
    def model(env):
        values = []
        for n, (is_half, upper) in enumerate(sources):
            value = Float(float_of(half(env[f"S{n}"], upper), 16).value, 32) if is_half else float_of(env[f"S{n}"], 32)
            bits = value.bits & 0x7fffffff if "|" in signs[n] else value.bits
            values.append(float_of(bits ^ (0x80000000 if "-" in signs[n] else 0), 32))
        value = FUNCTIONS["fma"](*values)
        if where == "f32":
            env["D0"] = raw(value)
        else:
            bits = raw(Float(value.value, 16))
            env["D0"] = env["D0"] & 0xffff | bits << 16 if where == "high" else env["D0"] & 0xffff0000 | bits
    return model


MIX = {"v_fma_mix_f32": "f32", "v_fma_mixlo_f16": "low", "v_fma_mixhi_f16": "high"}
MODELS = {name: mix(where) for name, where in MIX.items()}


def keeping(code):
    """A model with a 16-bit result that keeps the upper half of the destination."""
    def model(env):
        old = env["D0"]
        code(env)
        env["D0"] = old & 0xffff0000 | env["D0"] & 0xffff
    return model


def variants(name, n, kept, changed):
    """Yields lines and models for n sources in v20, v22, v24; `changed` is opcodes.py's."""
    sources = ", ".join(f"v{at}" for at in (20, 22, 24)[:n])
    if name in MIX:
        signed = ((1, 1), (1, 0), (0, 0)), ("", "-", "|")
        yield f"{name} v26, v20, -v22, |v24| op_sel:[1,0,0] op_sel_hi:[1,1,0]\n", mix(MIX[name], *signed)
        yield f"{name} v26, v20, v22, -|v24| op_sel:[0,0,1] op_sel_hi:[0,0,1]\n", mix(MIX[name], ((0, 0), (0, 0), (1, 1)), ("", "", "-|"))
        yield f"{name} v26, v20, 1.0, 0\n", changed(lambda e: {"S1": 0x3f800000, "S2": 0})
        yield f"{name} v26, v20, 1.0, v24 op_sel_hi:[0,1,0]\n", changed(lambda e: {"S1": 0x3f800000})
    elif name.startswith("v_pk_") and name.endswith("16"):
        bits = lambda first, others: "[" + ",".join([first] + [others] * (n - 1)) + "]"
        yield f"{name} v26, {sources} op_sel:{bits('1', '0')} op_sel_hi:{bits('0', '1')}\n", changed(lambda e: {"S0": halves(e["S0"], 1, 0)})
        yield f"{name} v26, {sources} op_sel_hi:{bits('0', '1')}\n", changed(lambda e: {"S0": halves(e["S0"], 0, 0)})
        last = f"S{n - 1}"
        yield (f"{name} v26, {sources} op_sel:[{','.join(['0'] * (n - 1) + ['1'])}]\n", changed(lambda e: {last: halves(e[last], 1, 1)}))
        if name.endswith("f16"):
            yield (f"{name} v26, {sources} neg_lo:{bits('1', '0')} neg_hi:{bits('0', '1')}\n",
                   changed(lambda e: {"S0": e["S0"] ^ 0x8000} | {f"S{k}": e[f"S{k}"] ^ 0x80000000 for k in range(1, n)}))
            yield f"{name} v26, {sources.replace('v20', '1.0')} op_sel_hi:{bits('0', '1')}\n", changed(lambda e: {"S0": 0x3c003c00})
            yield f"{name} v26, {sources.replace('v20', '0')}\n", changed(lambda e: {"S0": 0})
            yield (f"{name} v26, {sources.replace('v20', '2.0')} op_sel:{bits('1', '0')} op_sel_hi:{bits('0', '1')}\n",
                   changed(lambda e: {"S0": 0x40000000}))
            yield f"{name} v26, {sources.replace('v20', '2.0')}\n", changed(lambda e: {"S0": 0x4000})
        else:  # an integer constant has 32 bits
            yield (f"{name} v26, {sources.replace('v20', '5')} op_sel:{bits('1', '0')} op_sel_hi:{bits('0', '1')}\n", changed(lambda e: {"S0": 5 << 16}))
            yield f"{name} v26, {sources.replace('v20', '5')}\n", changed(lambda e: {"S0": 5})
            yield f"{name} v26, {sources.replace('v20', '-3')} op_sel:{bits('1', '0')}\n", changed(lambda e: {"S0": 0xffffffff})
    elif kept:
        zeros = ",0" * (n - 1)
        yield f"{name} v26, {sources} op_sel:[1{zeros},0]\n", changed(lambda e: {"S0": half(e["WIDE0"], 1)})
        # Result in the upper half.
        yield (f"{name} v26, {sources} op_sel:[0{zeros},1]\n",
               changed(lambda e: {"OLD": e["D0"]}, lambda e: e.update(D0=e["OLD"] & 0xffff | (e["D0"] & 0xffff) << 16)))
        if name.endswith("f16"):
            yield f"{name} v26, {sources.replace('v20', '-|v20|')}\n", changed(lambda e: {"S0": e["S0"] | 0x8000})
    elif name in ("v_max_f16", "v_mul_f16"):
        yield (f"{name}_sdwa v26, -v20, |v22| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 src1_sel:WORD_0\n",
               changed(lambda e: {"OLD": e["D0"], "S0": half(e["WIDE0"], 1) ^ 0x8000, "S1": e["S1"] & 0x7fff},
                       lambda e: e.update(D0=e["OLD"] & 0xffff | (e["D0"] & 0xffff) << 16)))
    elif name == "v_cndmask_b32":
        yield f"{name}_e64 v26, -v20, |v22|, s[12:13]\n", changed(lambda e: {"S0": e["S0"] ^ 0x80000000, "S1": e["S1"] & 0x7fffffff})
        yield f"{name}_e64 v26, -|v20|, v22, s[12:13]\n", changed(lambda e: {"S0": e["S0"] | 0x80000000})
