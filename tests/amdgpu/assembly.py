# SPDX-License-Identifier: Apache-2.0
"""Assembly kernels with one mistake each: the expected report, and the correction."""

import re


def assembly(gpu, text, lds=1024, scratch=0):
    """Returns an assembly file with the text as kernel `test`."""
    return kernels(gpu, {"test": text}, lds, scratch)


def kernels(gpu, texts, lds=1024, scratch=0):
    """Returns kernels of one buffer, by name. Initially s[0:1] are their arguments, s2 the block, v0 the
    thread; s[4:5] becomes the buffer, v10 4 * v0. With scratch, s[36:39] becomes the resource of the wave's
    part, and flat_scratch its address. Each kernel defines the labels end, again, other and past."""
    out = f'    .amdgcn_target "amdgcn-amd-amdhsa--{gpu}"\n'
    for name, text in texts.items():
        out += code(gpu, name, re.sub(r"\b(end|again|other|past)\b|\.Lend", lambda found: f"{found[0]}_{name}", text), lds, scratch)
    out += f"""    .amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{gpu}
amdhsa.kernels:
"""
    return out + "".join(metadata(name, lds, scratch) for name in texts) + "    .end_amdgpu_metadata\n"


# Initial registers: s[0:3] a resource, s[4:5] the arguments, s[6:7] the address of scratch, s8 the block, s9 the wave's
# offset.
FIND_SCRATCH = """s_add_u32 s36, s0, s9
    s_addc_u32 s37, s1, 0
    s_mov_b64 s[38:39], s[2:3]
    s_add_u32 flat_scratch_lo, s6, s9
    s_addc_u32 flat_scratch_hi, s7, 0
    s_mov_b64 s[0:1], s[4:5]
    s_mov_b32 s2, s8"""


def code(gpu, name, text, lds, scratch):
    return f"""
    .text
    .globl {name}
    .p2align 8
    .type {name},@function
{name}:
    {FIND_SCRATCH if scratch else ""}
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    v_lshlrev_b32 v10, 2, v0
    s_waitcnt lgkmcnt(0)
{text}
    s_endpgm
.Lend_{name}:
    .size {name}, .Lend_{name}-{name}
    .rodata
    .p2align 6
    .amdhsa_kernel {name}
        .amdhsa_user_sgpr_kernarg_segment_ptr 1
        .amdhsa_user_sgpr_private_segment_buffer {int(scratch > 0)}
        .amdhsa_user_sgpr_flat_scratch_init {int(scratch > 0)}
        .amdhsa_system_sgpr_private_segment_wavefront_offset {int(scratch > 0)}
        .amdhsa_private_segment_fixed_size {scratch}
        .amdhsa_system_sgpr_workgroup_id_x 1
        .amdhsa_group_segment_fixed_size {lds}
        .amdhsa_next_free_vgpr {128 if gpu == "gfx90a" else 64}
        .amdhsa_next_free_sgpr 40
        .amdhsa_float_denorm_mode_32 3
        {".amdhsa_accum_offset 64" if gpu == "gfx90a" else ""}
    .end_amdhsa_kernel
"""


def metadata(name, lds, scratch):
    return f"""  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: {scratch}
    .kernarg_segment_align: 8
    .wavefront_size: 64
    .sgpr_count: 40
    .vgpr_count: 64
    .max_flat_workgroup_size: 1024
    .args:
      - .size: 8
        .offset: 0
        .value_kind: global_buffer
        .address_space: global
"""


def without(what):
    return lambda text: text.replace(what, "")


def instead(what, other):
    return lambda text: text.replace(what, other)


def none(text):
    return text


ALONE = "s_cmp_lg_u32 s2, 0\ns_cbranch_scc1 end\n"  # blocks except the first do nothing
END = "\nend:"
FIRST = "v_readfirstlane_b32 s8, v0\ns_lshr_b32 s8, s8, 6\n"  # s8: the wave

STORED = "the stored v6 is undefined"


def far(where, base="s[8:9]"):
    """Jumps to the address in s[8:9]: to `other`, which writes v6, or to `past`, which stores it."""
    return (f"s_getpc_b64 s[8:9]\nagain:\ns_add_u32 s8, s8, {where}\ns_addc_u32 s9, s9, 0\ns_setpc_b64 {base}\ns_endpgm\nother:\n"
            f"v_mov_b32 v6, 1\npast:\nglobal_store_dword v10, v6, s[4:5]{END}")


# name: (expected message, threads per block, text, function that corrects the text)
CASES = {
    "vector_undefined": ("the stored v5 is undefined", 64, ALONE + "global_store_dword v10, v5, s[4:5]" + END, instead("v5, s", "v0, s")),
    "vector_moved": ("the stored v6 is undefined", 64, ALONE + "v_mov_b32 v6, v5\nglobal_store_dword v10, v6, s[4:5]" + END,
                     instead("v5", "1.0")),
    "scalar_undefined": ("the stored v6 is undefined", 64, ALONE + "v_mov_b32 v6, s20\nglobal_store_dword v10, v6, s[4:5]" + END,
                         instead("s20", "s2")),
    "half_undefined": ("lane 32: the stored v6 is undefined", 64,
                       ALONE + "s_mov_b32 exec_hi, 0\nv_mov_b32 v6, 1\ns_mov_b32 exec_hi, -1\nglobal_store_dword v10, v6, s[4:5]" + END,
                       without("s_mov_b32 exec_hi, 0\n")),
    "upper_undefined": ("the stored v1 is undefined", 64, ALONE + "global_load_short_d16 v1, v10, s[4:5]\ns_waitcnt vmcnt(0)\n"
                        "global_store_dword v10, v1, s[4:5]" + END, instead("store_dword", "store_short")),
    "lower_undefined": ("the stored v2 is undefined", 64, ALONE + "global_load_short_d16_hi v1, v10, s[4:5]\ns_waitcnt vmcnt(0)\n"
                        "v_cvt_f32_f16 v2, v1\nglobal_store_dword v10, v2, s[4:5]" + END,
                        instead("v_cvt", "global_load_short_d16 v1, v10, s[4:5]\ns_waitcnt vmcnt(0)\nv_cvt")),
    "lds_half": ("the stored v3 is undefined", 64, ALONE + "ds_write_b16 v10, v0\nds_write_b16 v10, v1 offset:2\n"
                 "ds_read_u16_d16 v3, v10\ns_waitcnt lgkmcnt(0)\nds_read_u16_d16_hi v3, v10 offset:2\ns_waitcnt lgkmcnt(0)\n"
                 "global_store_dword v10, v3, s[4:5]" + END, instead("v1 offset", "v0 offset")),
    "selected_undefined": ("the stored v6 is undefined", 64, ALONE + "s_mov_b64 vcc, 0\nv_cndmask_b32 v6, v5, v0, vcc\n"
                           "global_store_dword v10, v6, s[4:5]" + END, instead("vcc, 0", "vcc, -1")),
    "scalar_selected": ("the stored v6 is undefined", 64, ALONE + "s_cmp_eq_u32 s2, 5\ns_cselect_b32 s8, s2, s20\nv_mov_b32 v6, s8\n"
                        "global_store_dword v10, v6, s[4:5]" + END, instead("s2, 5", "s2, 0")),
    "and_undefined": ("SCC is undefined", 64, "s_and_b32 s8, s20, 1\ns_cmp_eq_u32 s8, 0\ns_cbranch_scc1 end" + END, instead("s20, 1", "s20, 0")),
    "or_undefined": ("SCC is undefined", 64, "s_or_b32 s8, s20, 1\ns_cmp_eq_u32 s8, 0\ns_cbranch_scc1 end" + END, instead("s20, 1", "s20, -1")),
    "andn2_undefined": ("SCC is undefined", 64, "s_andn2_b32 s8, s20, 1\ns_cmp_eq_u32 s8, 0\ns_cbranch_scc1 end" + END, instead("s20, 1", "s20, -1")),
    "high_undefined": ("the stored v9 is undefined", 64, ALONE + "v_mov_b32 v6, 1\nv_mad_u64_u32 v[8:9], s[8:9], v0, v0, v[6:7]\n"
                       "global_store_dword v10, v9, s[4:5]" + END, instead("v10, v9", "v10, v8")),
    "reload_other_queue": ("v1 is overwritten before an s_waitcnt for", 64, "ds_write_b32 v10, v0\nds_read_b32 v1, v10\n"
                           "global_load_dword v1, v10, s[4:5]\n", instead("ds_read_b32 v1", "ds_read_b32 v2")),
    "reload_same_queue": ("v1 is used before an s_waitcnt for", 64, "global_load_dword v1, v10, s[4:5]\nglobal_load_dword v1, v10, s[4:5]\n"
                          "s_waitcnt vmcnt(1)\nv_add_u32 v2, v1, v1", instead("vmcnt(1)", "vmcnt(0)")),
    "lanes_loaded": ("v1 is used before an s_waitcnt for", 64, ALONE + "s_mov_b32 exec_hi, 0\nglobal_load_dword v1, v10, s[4:5]\n"
                     "s_mov_b32 exec_hi, -1\ns_mov_b32 exec_lo, 0\nglobal_load_dword v1, v10, s[4:5]\ns_mov_b32 exec_lo, -1\n"
                     "s_waitcnt vmcnt(1)\nglobal_store_dword v10, v1, s[4:5]" + END, instead("vmcnt(1)", "vmcnt(0)")),
    # Scratch has 48 bytes per thread.
    "scratch_undefined": ("the stored v1 is undefined", 64, ALONE + "buffer_load_dword v1, off, s[36:39], 0 offset:4\ns_waitcnt vmcnt(0)\n"
                          "global_store_dword v10, v1, s[4:5]" + END, instead("buffer_load", "buffer_store_dword v0, off, s[36:39], 0 offset:4\nbuffer_load")),
    "scratch_kept": ("the stored v2 is undefined", 64, ALONE + "v_mov_b32 v3, 1\nv_lshlrev_b32 v1, 8, v5\nbuffer_store_dword v1, off, s[36:39], 0\n"
                     "scratch_load_ubyte v2, v3, off\ns_waitcnt vmcnt(0)\nglobal_store_short v10, v2, s[4:5]" + END,
                     instead("v3, 1", "v3, 0")),
    "scratch_half": ("the stored v2 is undefined", 64, ALONE + "v_mov_b32 v3, 8\nscratch_store_short v3, v0, off\nscratch_load_dword v2, v3, off\n"
                     "s_waitcnt vmcnt(0)\nglobal_store_dword v10, v2, s[4:5]" + END, instead("store_dword", "store_short")),
    "scratch_outside": ("lane 48: a load of 4 bytes at byte 48 of scratch; a thread has 48 bytes", 64, "v_cmp_eq_u32 vcc, 48, v0\n"
                        "v_cndmask_b32 v1, 0, 4, vcc\nbuffer_load_dword v2, v1, s[36:39], 0 offen offset:44", instead("offset:44", "offset:40")),
    "scratch_before": ("a store of 1 bytes at byte -1 of scratch", 64, "v_mov_b32 v1, 0\nscratch_store_byte v1, v0, off offset:-1", without("-")),
    "scratch_flat": ("a store of 8 bytes at byte 44 of scratch", 64, "s_mov_b64 s[8:9], src_private_base\nv_mov_b32 v3, s9\nv_mov_b32 v2, 44\n"
                     "flat_store_dwordx2 v[2:3], v[0:1]", instead("44", "40")),
    "scratch_not_waited": ("v1 is used before an s_waitcnt for", 64, "buffer_load_dword v1, off, s[36:39], 0\nv_add_u32 v2, v1, v1",
                           instead("\nv_add", "\ns_waitcnt vmcnt(0)\nv_add")),
    "scratch_of_wave_0": ("wave 1 lane 0: a load of 4 bytes at byte -48 of scratch", 128, FIRST + "s_mul_i32 s8, s8, 0xc00\ns_sub_u32 s36, s36, s8\n"
                          "buffer_load_dword v1, off, s[36:39], 0", without("s_sub_u32 s36, s36, s8\n")),
    "scratch_lanes": ("scratch is accessed at 4 bytes from the wave's part", 64, "s_mov_b32 s8, 4\nbuffer_load_dword v1, off, s[36:39], s8",
                      instead("s8, 4", "s8, 0x100")),
    "scratch_unaligned": ("scratch at byte 2, which is no multiple of 4, is not simulated", 64, "buffer_load_dword v1, off, s[36:39], 0 offset:2",
                          without(" offset:2")),
    "scratch_resource": ("a resource that is not the one of scratch is not simulated", 64, "s_mov_b32 s38, -1\nbuffer_load_dword v1, off, s[36:39], 0",
                         without("s_mov_b32 s38, -1\n")),
    "scratch_wide": ("a buffer instruction of more than 4 bytes on scratch is not simulated", 64, "buffer_load_dwordx2 v[2:3], off, s[36:39], 0",
                     lambda text: text.replace("dwordx2 v[2:3]", "dword v2")),
    "scratch_address_undefined": ("the address is undefined", 64, "buffer_load_dword v1, v5, s[36:39], 0 offen",
                                  lambda text: "v_mov_b32 v5, 8\n" + text),
    "flat_scratch_undefined": ("the address is undefined", 64, "s_mov_b32 flat_scratch_lo, s20\nv_mov_b32 v1, 0\nscratch_load_dword v2, v1, off",
                               without("s_mov_b32 flat_scratch_lo, s20\n")),
    "constant_not_waited": ("v1 is used before an s_waitcnt for", 128, "v_mov_b32 v2, 0\nglobal_load_dword v1, v2, s[0:1]\ns_barrier\nv_add_u32 v3, v1, v1",
                            instead("s_barrier", "s_barrier\ns_waitcnt vmcnt(0)")),
    "clamp_undefined": (STORED, 64, ALONE + "v_lshlrev_b32 v6, 8, v5\nv_add_u16 v6, v6, v0 clamp\nglobal_store_byte v10, v6, s[4:5]" + END,
                        without(" clamp")),
    "address_undefined": ("the address is undefined", 64, "global_load_dword v1, v11, s[4:5]", instead("v11", "v10")),
    "lds_address_undefined": ("the address is undefined", 64, "ds_read_b32 v1, v11", instead("v11", "v10")),
    "scalar_address_undefined": ("the address is undefined", 64, "s_load_dword s9, s[10:11], 0x0", instead("s[10:11]", "s[4:5]")),
    "branch_undefined": ("SCC is undefined", 64, "s_cmp_eq_u32 s20, 0\ns_cbranch_scc1 end" + END, instead("s20", "s2")),
    "vcc_undefined": ("VCC is undefined", 64, "v_cmp_eq_u32 vcc, 0, v5\ns_cbranch_vccz end" + END, instead("v5", "v0")),
    "exec_undefined": ("EXEC becomes undefined", 64, "v_cmp_eq_u32 vcc, 0, v5\ns_and_saveexec_b64 s[8:9], vcc", instead("v5", "v0")),
    "lds_undefined": ("the stored v1 is undefined", 64,
                      ALONE + "ds_read_b32 v1, v10\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v10, v1, s[4:5]" + END,
                      instead("ds_read_b32", "ds_write_b32 v10, v0\nds_read_b32")),
    "lds_byte_undefined": ("the stored v1 is undefined", 64, ALONE + "ds_write_b16 v10, v0\nds_write_b8 v10, v0 offset:2\n"
                           "ds_read_b32 v1, v10\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v10, v1, s[4:5]" + END,
                           instead("ds_write_b8 v10, v0 offset:2", "ds_write_b16 v10, v0 offset:2")),
    "lds_outside": ("a read of 4 bytes at byte 1021 of LDS; the block has 1024 bytes", 64, "v_mov_b32 v1, 1021\nds_read_b32 v2, v1",
                    instead("1021", "1020")),
    "lds_write_outside": ("a write of 8 bytes at byte 1020 of LDS", 1, "v_mov_b32 v1, 1016\nv_mov_b32 v2, 0\nv_mov_b32 v3, 0\n"
                          "ds_write_b64 v1, v[2:3] offset:4", without(" offset:4")),
    "load_before": ("at its byte -1", 64, "global_load_ubyte v1, v10, s[4:5] offset:-1", without(" offset:-1")),
    "scalar_outside": ("a scalar load of 8 bytes", 64, "s_load_dwordx2 s[8:9], s[4:5], 0xffc", instead("0xffc", "0xff8")),
    "constant_stored": ("a store to constant memory", 1, ALONE + "v_mov_b32 v1, 0\nglobal_store_dword v1, v0, s[0:1]" + END,
                        instead("s[0:1]", "s[4:5]")),
    "load_not_waited": ("v1 is used before an s_waitcnt for", 64, "global_load_dword v1, v10, s[4:5]\nv_add_u32 v2, v1, v1",
                        instead("\nv_add", "\ns_waitcnt vmcnt(0)\nv_add")),
    "load_overwritten": ("v1 is overwritten before an s_waitcnt for", 64, "global_load_dword v1, v10, s[4:5]\nv_mov_b32 v1, 0",
                         instead("\nv_mov", "\ns_waitcnt vmcnt(0)\nv_mov")),
    "loads_in_order": ("v2 is used before an s_waitcnt for", 64, "global_load_dword v1, v10, s[4:5]\nglobal_load_dword v2, v10, s[4:5]\n"
                       "s_waitcnt vmcnt(1)\nv_add_u32 v3, v2, v2", instead("v2, v2", "v1, v1")),
    "scalars_in_no_order": ("s8 is used before an s_waitcnt for", 64, "s_load_dword s8, s[4:5], 0x0\ns_load_dword s9, s[4:5], 0x4\n"
                            "s_waitcnt lgkmcnt(1)\ns_add_u32 s10, s8, s8", instead("lgkmcnt(1)", "lgkmcnt(0)")),
    "address_overwritten": ("s[4:5]", 64, "s_load_dwordx2 s[4:5], s[0:1], 0x0\nglobal_load_dword v1, v10, s[4:5]",
                            instead("\nglobal", "\ns_waitcnt lgkmcnt(0)\nglobal")),
    "race_lds": ("race: ", 128, "ds_write_b32 v10, v0\nv_xor_b32 v11, 0x100, v10\ns_waitcnt lgkmcnt(0)\nds_read_b32 v1, v11",
                 instead("lgkmcnt(0)\n", "lgkmcnt(0)\ns_barrier\n")),
    "race_lds_written": ("race: ", 128, "v_xor_b32 v11, 0x100, v10\nds_write_b32 v10, v0\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
                         "ds_read_b32 v1, v11\ns_waitcnt lgkmcnt(0)\nds_write_b32 v10, v0",
                         lambda t: t.replace("lgkmcnt(0)\nds_write", "lgkmcnt(0)\ns_barrier\nds_write")),
    "race_read_not_waited": ("race: ", 128, "v_xor_b32 v11, 0x100, v10\nds_write_b32 v10, v0\ns_waitcnt lgkmcnt(0)\ns_barrier\n"
                             "ds_read_b32 v1, v11\ns_barrier\nds_write_b32 v10, v0",
                             lambda t: t.replace("v11\ns_barrier", "v11\ns_waitcnt lgkmcnt(0)\ns_barrier")),
    "race_byte": ("byte 0 of LDS, which wave", 128, FIRST + "v_mov_b32 v1, s8\nds_write_b8 v1, v0\nv_mov_b32 v2, 0\ns_waitcnt lgkmcnt(0)\n"
                  "ds_read_u8 v3, v1\nds_read_u8 v3, v2", without("\nds_read_u8 v3, v2")),
    "race_store": ("race: ", 128, ALONE + "v_xor_b32 v11, 0x100, v10\nglobal_store_dword v10, v0, s[4:5]\ns_waitcnt vmcnt(0)\n"
                   "global_load_dword v1, v11, s[4:5]" + END, instead("vmcnt(0)\n", "vmcnt(0)\ns_barrier\n")),
    "race_store_not_waited": ("race: ", 128, ALONE + "v_xor_b32 v11, 0x100, v10\nglobal_store_dword v10, v0, s[4:5]\ns_barrier\n"
                              "global_load_dword v1, v11, s[4:5]" + END, instead("s_barrier", "s_waitcnt vmcnt(0)\ns_barrier")),
    "race_blocks": ("which another block", 64, "global_store_dword v10, v0, s[4:5]",
                    instead("global", "s_lshl_b32 s8, s2, 8\nv_add_u32 v10, s8, v10\nglobal")),
    "race_blocks_read": ("which another block", 64, "global_load_dword v1, v10, s[4:5]\ns_waitcnt vmcnt(0)\n"
                         "global_store_dword v10, v0, s[4:5]", without("global_store_dword v10, v0, s[4:5]")),
    "scalar_load_stored": ("a scalar load of bytes that the launch has stored", 64, ALONE + "global_store_dword v10, v0, s[4:5]\n"
                           "s_waitcnt vmcnt(0)\ns_load_dword s8, s[4:5], 0x0" + END, instead("0x0", "0x100")),
    "barrier_divergent": ("a barrier in divergent code", 64, "v_cmp_gt_u32 vcc, 32, v0\ns_and_saveexec_b64 s[8:9], vcc\ns_barrier",
                          instead("s_barrier", "s_mov_b64 exec, s[8:9]\ns_barrier")),
    "barriers_two": ("divergent barriers", 128, FIRST + "s_cmp_eq_u32 s8, 0\ns_cbranch_scc1 other\ns_barrier\ns_endpgm\nother:\ns_barrier",
                     without("s_cbranch_scc1 other\n")),
    "barrier_ended": ("a barrier that wave", 128, FIRST + "s_cmp_eq_u32 s8, 0\ns_cbranch_scc1 end\ns_barrier" + END,
                      without("s_cbranch_scc1 end\n")),
    "far": (STORED, 64, ALONE + far("past - again"), instead("past - again", "other - again")),
    "far_outside": ("a jump to where no instruction of the kernel begins", 64, ALONE + far("0x100000"), instead("0x100000", "other - again")),
    "far_inside": ("a jump to where no instruction of the kernel begins", 64, ALONE + far("other - again + 2"), without(" + 2")),
    "far_undefined": ("the address is undefined", 64, ALONE + far("other - again", "s[20:21]"), instead("s[20:21]", "s[8:9]")),
    "endless": ("the limit", 64, "again:\ns_branch again", none),
    "past_the_end": ("ran past the end of its kernel's code", 64, "s_branch past\ns_endpgm\n.fill 4, 4, 0xbf800000\npast = .Lend",
                     instead("s_branch past", "")),
    "opcode": ("this opcode is not simulated", 64, "v_cvt_off_f32_i4 v1, v0", none),
    "modifier": ("this opcode is not simulated", 64, "v_mov_b32_dpp v1, v0 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf", none),
    "word": ("which is not an instruction", 64, ".long 0xffffffff", none),
    "omod": ("a modifier of this instruction is not simulated", 64, "v_mul_f32 v1, v0, v0 mul:2", without(" mul:2")),
}

BYTE = "v_and_b32 v7, 0xff, v0\nv_lshl_or_b32 v6, v5, 8, v7\n"  # only the lowest 8 bits of v6 are defined


def stored(text, size="dword"):
    """Code in which only block 0 stores v6; v5 is undefined."""
    return f"{ALONE}{text}\nglobal_store_{size} v10, v6, s[4:5]{END}"


# Undefined bits next to defined ones in one register.
BITS = {
    "bits_packed": (STORED, 64, stored(BYTE, "short"), instead("store_short", "store_byte")),
    "bits_shifted": (STORED, 64, stored("v_lshlrev_b32 v6, 16, v5", "short_d16_hi"), instead("short_d16_hi", "short")),
    "bits_shifted_sign": (STORED, 64, stored(BYTE + "v_lshlrev_b32 v6, 16, v6\nv_ashrrev_i32 v6, 16, v6"), instead("6, 16", "6, 24")),
    "bits_shifted_by": (STORED, 64, stored("v_lshl_or_b32 v6, v5, 4, v0\nv_lshrrev_b32 v6, v6, v0"), instead("v5, 4", "v5, 5")),
    "bits_shifted_64": (STORED, 64, stored(BYTE + "v_mov_b32 v7, 0\nv_lshlrev_b64 v[6:7], 23, v[6:7]"), instead("v[6:7], 23", "v[6:7], 24")),
    "bits_anded": (STORED, 64, stored("v_and_b32 v6, 0xff8000, v5", "short"), instead("0xff8000", "0xff0000")),
    "bits_ored": (STORED, 64, stored("v_or_b32 v6, 0x7fff, v5", "short"), instead("0x7fff", "0xffff")),
    "bits_inserted": (STORED, 64, stored("s_mov_b32 s8, 0xffff\nv_bfi_b32 v6, s8, v0, v5"), instead("store_dword", "store_short")),
    "bits_extracted": (STORED, 64, stored(BYTE + "v_bfe_u32 v6, v6, 1, 8"), instead("1, 8", "1, 7")),
    "bits_extracted_sign": (STORED, 64, stored(BYTE + "v_bfe_i32 v6, v6, 1, 8"), instead("1, 8", "1, 7")),
    "bits_permuted": (STORED, 64, stored(BYTE + "s_mov_b32 s8, 0xc000500\nv_perm_b32 v6, v6, v0, s8"), instead("0xc000500", "0xc000400")),
    "bits_added": (STORED, 64, stored(BYTE + "v_add3_u32 v6, v6, v6, v0", "short"), instead("store_short", "store_byte")),
    "bits_multiplied": (STORED, 64, stored(BYTE + "v_mul_lo_u32 v6, v6, v0", "short"), instead("store_short", "store_byte")),
    "bits_carried": (STORED, 64, stored("v_lshl_or_b32 v6, v5, 7, v0\nv_add_u32 v6, 1, v6", "byte"), instead("v5, 7", "v5, 8")),
    "bits_carried_far": (STORED, 64, stored("v_and_b32 v6, 1, v5\nv_add_u32 v6, v6, v0\nv_lshrrev_b32 v6, 8, v6", "byte"), instead("v_add_u32", "v_or_b32")),
    "bits_compared": ("VCC is undefined", 64, BYTE + "v_cmp_eq_u32 vcc, 0, v6\ns_cbranch_vccz end" + END,
                      instead("v_cmp", "v_and_b32 v6, 0xff, v6\nv_cmp")),
    "bits_converted": (STORED, 64, stored(BYTE + "v_cvt_f32_ubyte1 v6, v6"), instead("ubyte1", "ubyte0")),
    "bits_read": (STORED, 64, stored(BYTE + "v_mul_u32_u24_sdwa v6, v6, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD"),
                  instead("BYTE_1", "BYTE_0")),
    "bits_kept": (STORED, 64, stored("v_or_b32_sdwa v6, v0, v0 dst_sel:BYTE_0 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_0 src1_sel:BYTE_0"),
                  instead("PRESERVE", "PAD")),
    "bits_sign_extended": (STORED, 64, stored(BYTE + "v_mov_b32_sdwa v6, v6 dst_sel:WORD_0 dst_unused:UNUSED_SEXT src0_sel:DWORD", "short_d16_hi"),
                           instead("WORD_0", "BYTE_0")),
    "bits_of_halves": (STORED, 64, stored("s_mov_b32 s8, 0xffff\nv_bfi_b32 v6, s8, v0, v5\nv_pk_add_u16 v6, v6, v0", "short_d16_hi"),
                       instead("short_d16_hi", "short")),
    "bits_of_one_half": (STORED, 64, stored("s_mov_b32 s8, 0xffff\nv_bfi_b32 v6, s8, v0, v5\nv_pk_max_i16 v6, v6, v0 op_sel:[1,0]", "short"),
                         instead("[1,0]", "[0,0]")),
    "bits_mixed": (STORED, 64, stored("s_mov_b32 s8, 0xffff\nv_bfi_b32 v6, s8, v0, v5\nv_fma_mix_f32 v6, v6, v0, v0 op_sel:[1,0,0] op_sel_hi:[1,0,0]"),
                   instead("op_sel:[1,0,0]", "op_sel:[0,0,0]")),
    "bits_beside": (STORED, 64, stored("v_max3_u16 v6, v0, v0, v0 op_sel:[0,0,0,1]"), lambda t: t.replace("v_max3", "v_mov_b32 v6, 0\nv_max3")),
    "bits_scalar": ("SCC is undefined", 64, BYTE + "v_readfirstlane_b32 s8, v6\ns_and_b32 s8, s8, 0x1ff\ns_cmp_eq_u32 s8, 0\ns_cbranch_scc1 end" + END,
                    instead("0x1ff", "0xff")),
    "bits_of_scalar": (STORED, 64, stored("s_or_b32 s8, s20, 0xff\nv_mov_b32 v6, s8", "short"), instead("store_short", "store_byte")),
    # A 64-bit shift whose upper register was never written: as many defined bits as were shifted in.
    "bits_shifted_scalar": (STORED, 64, stored("s_lshl_b64 s[8:9], s[20:21], 7\ns_and_b32 s8, s9, 0xff\nv_mov_b32 v6, s8").replace("s_lshl", "s_mov_b32 s20, 0x12345678\ns_lshl"),
                            instead("0xff", "0x7f")),
    "bits_shifted_scalar_by": (STORED, 64, stored("s_or_b32 s8, s20, 0xff\ns_lshr_b32 s8, s8, s2\nv_mov_b32 v6, s8", "short"), instead("store_short", "store_byte")),
    "bits_shifted_scalar_sign": (STORED, 64, stored("s_or_b32 s8, s20, 0xff\ns_lshl_b32 s8, s8, 23\ns_ashr_i32 s8, s8, 23\nv_mov_b32 v6, s8"), instead(", 23", ", 24")),
    "bits_extracted_scalar": (STORED, 64, stored("s_or_b32 s8, s20, 0xff\ns_bfe_i32 s8, s8, 0x80001\nv_mov_b32 v6, s8"), instead("0x80001", "0x70001")),
    "bits_packed_scalar": (STORED, 64, stored("s_or_b32 s8, s20, 0xffff\ns_pack_ll_b32_b16 s8, s20, s8\nv_mov_b32 v6, s8"), instead("s20, s8\nv", "s8, s8\nv")),
    "bits_sign_extended_scalar": (STORED, 64, stored("s_or_b32 s8, s20, 0x7f\ns_sext_i32_i8 s8, s8\nv_mov_b32 v6, s8"), instead("0x7f", "0xff")),
    "bits_added_scalar": (STORED, 64, stored("s_or_b32 s8, s20, 0xff\ns_add_u32 s8, s8, s8\nv_mov_b32 v6, s8", "short"), instead("store_short", "store_byte")),
    "bits_carried_scalar": ("SCC is undefined", 64, "s_or_b32 s8, s20, 0xff\ns_add_u32 s8, s8, 1\ns_cbranch_scc1 end" + END, instead("s_or_b32 s8, s20", "s_or_b32 s8, s2")),
    "bits_shift_undefined": (STORED, 64, stored("s_lshl_b32 s8, 1, s20\nv_mov_b32 v6, s8", "byte"), instead("s20", "s2")),
    "bits_written_to_lane": (STORED, 64, stored("v_mov_b32 v6, 0\ns_or_b32 s8, s20, 0xff\nv_writelane_b32 v6, s8, 3", "short"),
                             instead("store_short", "store_byte")),
    "bits_swapped": (STORED, 64, stored("v_mov_b32 v6, 1\nv_swap_b32 v6, v5"), instead("v6, v5", "v6, v5\nv_swap_b32 v6, v5")),
    "bits_in_lds": (STORED, 64, stored(BYTE + "ds_write_b32 v10, v6\nds_read_b32 v6, v10\ns_waitcnt lgkmcnt(0)\nv_and_b32 v6, 0x1ff, v6"),
                    instead("0x1ff", "0xff")),
    "bits_of_lds_byte": (STORED, 64, stored("v_lshl_or_b32 v6, v5, 7, v0\nds_write_b8 v10, v6\nds_read_i8 v6, v10\ns_waitcnt lgkmcnt(0)"),
                         instead("v5, 7", "v5, 8")),
    "bits_selected": (STORED, 64, stored("v_mov_b32 v7, v0\nv_cmp_eq_u32 vcc, 0, v5\nv_cndmask_b32 v6, v10, v7, vcc"), instead("v6, v10, v7", "v6, v0, v7")),
}
CASES |= BITS
