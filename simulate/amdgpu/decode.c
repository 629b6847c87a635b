/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes a kernel's code with LLVM's disassembler: text, then operands, then the row of its opcode; once per
 * kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/Disassembler.h>
#include "state.h"

enum { TEXT = 256, MAX_CODE = 16 << 20 };

void uk_amdgpu_code_free(struct uk_amdgpu_code *code) {
    if (!code)
        return;
    for (uint32_t i = 0; i < code->n; ++i)
        free((char *)code->inst[i].text);
    free(code->inst);
    free(code->at);
    free(code);
}

static enum uk_amdgpu_step uk_run_unknown(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    return uk_unsupported(w, i, "%s is not simulated", i->why);
}
static enum uk_amdgpu_step uk_run_past(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    return uk_report(w, i, -1, "the wave ran past the end of its kernel's code");
}

static bool uk_is_beyond(const struct uk_amdgpu_code *code, const struct uk_amdgpu_operand *o) {
    const uint32_t end = (uint32_t)o->index + o->words;

    return o->kind == UK_AMDGPU_OPERAND_V && (o->index < AGPR ? end > code->vgprs : end - AGPR > code->agprs);
}
static enum uk_amdgpu_step uk_run_beyond(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    const struct uk_amdgpu_code *code = w->block->run->code;
    unsigned k = 0;

    while (!uk_is_beyond(code, &i->o[k]))
        ++k;
    return uk_report(w, i, -1, "no register %s: the kernel's descriptor has %u VGPRs and %u AGPRs",
                     uk_register_name(true, i->o[k].index + i->o[k].words - 1u).text, code->vgprs,
                     code->agprs);
}

/* The registers of a thread (AMDGPUUsage, "Kernel Descriptor"): AGPRs are those from ACCUM_OFFSET on. */
static void uk_decode_counts(const struct uk_amdgpu *gpu, const struct uk_amdgpu_descriptor *d,
                             struct uk_amdgpu_code *code) {
    const uint32_t all = ((d->rsrc1 & 63) + 1) * gpu->vgpr_granule, offset = ((d->rsrc3 & 63) + 1) * 4;

    code->vgprs = gpu->has_agprs && offset < all ? offset : all;
    code->agprs = all - code->vgprs;
}

static void uk_decode_registers(struct uk_amdgpu_code *code, struct uk_amdgpu_inst *inst) {
    for (unsigned k = 0; k < UK_AMDGPU_MAX_OPERANDS; ++k) {
        const struct uk_amdgpu_operand *o = &inst->o[k];

        if (o->kind == UK_AMDGPU_OPERAND_V && (uint32_t)o->index + o->words > code->v_registers)
            code->v_registers = (uint32_t)o->index + o->words;
        if (!inst->why && uk_is_beyond(code, o))
            inst->run = uk_run_beyond;
    }
}

/* Decodes one instruction of at most `bytes` bytes. false: no memory. */
static bool uk_decode_one(struct uk_amdgpu *gpu, uint8_t *at, uint64_t bytes, uint64_t offset,
                          struct uk_amdgpu_inst *inst) {
    char text[TEXT], *kept;
    uint32_t word;
    size_t size = LLVMDisasmInstruction(gpu->disassembler, at, bytes, offset, text, sizeof text);

    inst->offset = (uint32_t)offset;
    inst->run = uk_run_unknown;
    inst->states = 1;
    if (!size) {
        memcpy(&word, at, 4);
        snprintf(text, sizeof text, ".long 0x%08x", word);
        size = 4;
        inst->why = "this word, which is not an instruction,";
    }
    inst->size = (uint32_t)size;
    kept = strdup(text + strspn(text, " \t"));
    inst->text = kept;
    if (!kept || inst->why)
        return kept;
    inst->why = uk_amdgpu_parse(inst, text);
    if (!inst->why)
        inst->why = uk_amdgpu_operands(inst);
    if (inst->why)
        return true;
    inst->run = inst->op->run;
    uk_vector_access(inst);
    return true;
}

/* Turns targets of jumps into instruction indices. A jump to any other place gets the last element, which
 * reports it. */
static void uk_decode_targets(struct uk_amdgpu_code *code) {
    for (uint32_t i = 0; i < code->n; ++i) {
        const int64_t at =
            (int64_t)code->inst[i].offset + code->inst[i].size + 4 * (int64_t)code->inst[i].address_offset;

        code->inst[i].number = i;
        code->inst[i].target = code->n - 1;
        if (at >= 0 && at < code->bytes && code->at[at / 4] >= 0)
            code->inst[i].target = (uint32_t)code->at[at / 4];
    }
}

enum uk_amdgpu_status uk_amdgpu_decode(struct uk_amdgpu *gpu, struct uk_amdgpu_kernel_inside *kernel) {
    const struct uk_amdgpu_object *object = kernel->kernel.object;
    uint8_t *bytes = uk_simt_buffer_at(&gpu->memory, object->image)->bytes + kernel->descriptor.entry;
    const uint64_t n = kernel->code_bytes / 4;
    struct uk_amdgpu_code *code;

    if (kernel->code)
        return UK_AMDGPU_OK;
    if (kernel->code_bytes > MAX_CODE)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_UNSUPPORTED, "%s has more than 16 MiB of code",
                              kernel->kernel.name);
    code = calloc(1, sizeof *code);
    if (!code || !(code->at = malloc((n + 1) * sizeof *code->at)) ||
        !(code->inst = calloc(n + 1, sizeof *code->inst))) {
        uk_amdgpu_code_free(code);
        return uk_amdgpu_fail(gpu, UK_AMDGPU_NO_MEMORY, "no memory to decode %s", kernel->kernel.name);
    }
    code->bytes = (uint32_t)(4 * n);
    uk_decode_counts(gpu, &kernel->descriptor, code);
    code->address = object->image + kernel->descriptor.entry;
    memset(code->at, -1, (n + 1) * sizeof *code->at);
    for (uint64_t offset = 0; offset < 4 * n; offset += code->inst[code->n++].size) {
        struct uk_amdgpu_inst *inst = &code->inst[code->n];

        code->at[offset / 4] = (int32_t)code->n;
        if (!uk_decode_one(gpu, bytes + offset, 4 * n - offset, offset, inst)) {
            uk_amdgpu_code_free(code);
            return uk_amdgpu_fail(gpu, UK_AMDGPU_NO_MEMORY, "no memory to decode %s", kernel->kernel.name);
        }
        uk_decode_registers(code, inst);
        code->has_hazards |= gpu->has_agprs && uk_needs_states(inst);
    }
    code->inst[code->n] =
        (struct uk_amdgpu_inst){.run = uk_run_past, .offset = code->bytes, .text = strdup("end of the code")};
    ++code->n;
    uk_decode_targets(code);
    kernel->code = code;
    return UK_AMDGPU_OK;
}
