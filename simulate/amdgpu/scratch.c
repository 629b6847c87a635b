/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scratch, the private memory of each lane, for spilled registers and arrays with variable indices. Each wave
 * has a part of it, in which hardware interleaves the lanes by words: byte b of lane l is at 256 * (b / 4) +
 * 4 * l + b % 4 (LLVM's AMDGPUUsage, "Memory Spaces"). buffer_NAME addresses the part by a resource from the
 * launch, to which the kernel adds the wave's offset; scratch_NAME, and flat_NAME with an address in the
 * private aperture, by FLAT_SCRATCH. No lane may reach another's bytes, so here each lane's bytes are
 * contiguous.
 */
#include <string.h>
#include "state.h"

/* granularity in bytes of a wave's part */
enum { PART = 1024 };
/* Words of the resource: lanes are interleaved (SWIZZLE_ENABLE), 64 of them (INDEX_STRIDE), each by its
 * number (ADD_TID_ENABLE). */
enum { RESOURCE_1 = (int)0x80000000, RESOURCE_3 = 3 << 21 | 1 << 23 };

uint32_t uk_scratch_offset(const struct uk_amdgpu_run_state *run, uint32_t wave) {
    const uint32_t words = (run->kernel->scratch_bytes + 3) / 4;

    return wave * ((4 * UK_AMDGPU_LANES * words + PART - 1) / PART * PART);
}

void uk_scratch_resource(const struct uk_amdgpu_run_state *run, uint32_t *words) {
    words[0] = (uint32_t)SCRATCH_ADDRESS;
    words[1] = (uint32_t)(SCRATCH_ADDRESS >> 32) | (uint32_t)RESOURCE_1;
    words[2] = uk_scratch_offset(run, run->block.n_waves);
    words[3] = RESOURCE_3;
}

void uk_scratch_begin(struct uk_amdgpu_run_state *run, struct uk_amdgpu_wave *w) {
    const size_t bytes = (size_t)run->kernel->scratch_bytes * UK_AMDGPU_LANES,
                 all = bytes * run->block.n_waves;

    w->scratch = run->scratch + bytes * w->number;
    w->scratch_undefined = w->scratch + all;
    memset(w->scratch, 0xa5, bytes);
    memset(w->scratch_undefined, 255, bytes);
}

/* Finds a lane's bytes. `from`: distance from the beginning of the wave's part to the base of the interleaved
 * address. */
static enum uk_amdgpu_step uk_scratch_place(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                            int lane, int64_t from, uint32_t offset,
                                            struct uk_amdgpu_places *places) {
    const unsigned size = i->op->types[0], alignment = size < 4 ? size : 4;
    const uint32_t bytes = w->block->run->kernel->scratch_bytes;
    const int64_t at = from / UK_AMDGPU_LANES + (int32_t)offset;

    if (from % (4 * UK_AMDGPU_LANES))
        return uk_report(w, i, lane,
                         "scratch is accessed at %lld bytes from the wave's part; lanes are interleaved "
                         "in units of 256 bytes",
                         (long long)from);
    if (at < 0 || at > bytes || size > bytes - at)
        return uk_report(w, i, lane, "%s of %u bytes at byte %lld of scratch; a thread has %u bytes",
                         i->op->flags & F_WRITE ? "a store" : "a load", size, (long long)at, bytes);
    if (at % alignment)
        return uk_unsupported(w, i, "scratch at byte %lld, which is no multiple of %u, is not simulated",
                              (long long)at, alignment);
    places->bytes[lane] = w->scratch + (size_t)lane * bytes + at;
    places->undefined[lane] = w->scratch_undefined + (size_t)lane * bytes + at;
    return UK_AMDGPU_STEP_NEXT;
}

/* Reads a scalar of an address; a report if it is undefined. */
static enum uk_amdgpu_step uk_scratch_scalar(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                             const struct uk_amdgpu_operand *o, uint64_t *value) {
    uint64_t undefined;
    enum uk_amdgpu_step step = uk_scalar_source(w, i, o, value, &undefined);

    if (!step && undefined)
        step = uk_report(w, i, -1, "the address is undefined: it depends on bits that were never written");
    return step;
}

static int64_t uk_scratch_from(const struct uk_amdgpu_wave *w, uint64_t address) {
    return (int64_t)(address - SCRATCH_ADDRESS) - (int64_t)uk_scratch_offset(w->block->run, w->number);
}

/* The base from FLAT_SCRATCH. */
static enum uk_amdgpu_step uk_scratch_base(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                           int64_t *from) {
    const struct uk_amdgpu_operand base = {.kind = UK_AMDGPU_OPERAND_S, .index = FLAT_SCRATCH, .words = 2};
    uint64_t address;
    const enum uk_amdgpu_step step = uk_scratch_scalar(w, i, &base, &address);

    if (!step)
        *from = uk_scratch_from(w, address);
    return step;
}

/* The base from a resource and an offset that is not interleaved. */
static enum uk_amdgpu_step uk_scratch_by_resource(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                                  int64_t *from) {
    uint32_t wanted[4];
    uint64_t low, high, offset;
    struct uk_amdgpu_operand half = i->o[2];
    enum uk_amdgpu_step step;

    half.words = 2;
    step = uk_scratch_scalar(w, i, &half, &low);
    half.index += 2;
    if (!step)
        step = uk_scratch_scalar(w, i, &half, &high);
    if (!step)
        step = uk_scratch_scalar(w, i, &i->o[3], &offset);
    if (step)
        return step;
    uk_scratch_resource(w->block->run, wanted);
    if (high != (wanted[2] | (uint64_t)wanted[3] << 32) || low >> 48 != wanted[1] >> 16)
        return uk_unsupported(w, i, "a resource that is not the one of scratch is not simulated");
    *from = uk_scratch_from(w, low & 0xffffffffffff) + (int64_t)(uint32_t)offset;
    return UK_AMDGPU_STEP_NEXT;
}

/* Computes each lane's offset from an address register, which may be missing, a scalar instead of it, and the
 * immediate. */
static enum uk_amdgpu_step uk_scratch_offsets(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                              uint64_t exec, uint32_t *offset) {
    const struct uk_amdgpu_operand *a = &i->o[!(i->op->flags & F_WRITE)];
    uint64_t scalar = 0;
    enum uk_amdgpu_step step = UK_AMDGPU_STEP_NEXT;

    if (i->op->flags & F_PRIVATE && i->o[2].kind == UK_AMDGPU_OPERAND_S)
        step = uk_scratch_scalar(w, i, &i->o[2], &scalar);
    if (!step && a->kind == UK_AMDGPU_OPERAND_V) {
        step = uk_use_v(w, i, a->index, 1, exec, "used");
        if (!step && w->undefined[a->index] & exec)
            step = uk_report(w, i, __builtin_ctzll(w->undefined[a->index] & exec),
                             "the address is undefined: it depends on bits that were never written");
    }
    for (int l = 0; l < UK_AMDGPU_LANES; ++l)
        offset[l] = (a->kind == UK_AMDGPU_OPERAND_V ? w->v[a->index][l] : 0) + (uint32_t)scalar +
                    (uint32_t)i->address_offset;
    return step;
}

enum uk_amdgpu_step uk_scratch_places(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, uint64_t exec,
                                      struct uk_amdgpu_places *places) {
    uint32_t offset[UK_AMDGPU_LANES];
    int64_t from = 0;
    enum uk_amdgpu_step step =
        i->op->flags & F_BUFFER ? uk_scratch_by_resource(w, i, &from) : uk_scratch_base(w, i, &from);

    if (!step)
        step = uk_scratch_offsets(w, i, exec, offset);
    for (int l = 0; l < UK_AMDGPU_LANES && !step; ++l)
        if (exec >> l & 1)
            step = uk_scratch_place(w, i, l, from, offset[l], places);
    return step;
}

enum uk_amdgpu_step uk_scratch_flat(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, uint64_t lanes,
                                    const uint64_t *address, struct uk_amdgpu_places *places) {
    int64_t from;
    enum uk_amdgpu_step step = uk_scratch_base(w, i, &from);

    for (int l = 0; l < UK_AMDGPU_LANES && !step; ++l)
        if (lanes >> l & 1)
            step = uk_scratch_place(w, i, l, from, (uint32_t)address[l], places);
    return step;
}

/* Brings operands into memory.c's order: address, data for a store, data, address for a load; then a resource
 * and an offset, or a scalar. */
const char *uk_check_scratch(struct uk_amdgpu_inst *i) {
    const bool write = i->op->flags & F_WRITE, buffer = i->op->flags & F_BUFFER;
    const struct uk_amdgpu_operand *data = &i->o[write], *address = &i->o[!write], *scalar = &i->o[2],
                                   *offset = &i->o[3];

    if (buffer && write) { /* the text has the order of a load */
        const struct uk_amdgpu_operand first = i->o[0];

        i->o[0] = i->o[1];
        i->o[1] = first;
    }
    if (data->kind != UK_AMDGPU_OPERAND_V || data->words != i->op->types[1] || address->index >= AGPR ||
        (address->kind == UK_AMDGPU_OPERAND_V ? address->words != 1 : address->kind != UK_AMDGPU_OPERAND_OFF))
        return "an operand of this instruction";
    if (!buffer)
        return i->n == 3 && (scalar->kind == UK_AMDGPU_OPERAND_OFF ||
                             (address->kind == UK_AMDGPU_OPERAND_OFF && scalar->kind == UK_AMDGPU_OPERAND_S &&
                              scalar->words == 1))
                   ? NULL
                   : "an operand of this instruction";
    if (i->op->types[0] > 4)
        return "a buffer instruction of more than 4 bytes on scratch";
    return i->n == 4 && i->offen == (address->kind == UK_AMDGPU_OPERAND_V) &&
                   scalar->kind == UK_AMDGPU_OPERAND_S && scalar->words == 4 &&
                   (offset->kind == UK_AMDGPU_OPERAND_CONSTANT ||
                    (offset->kind == UK_AMDGPU_OPERAND_S && offset->words == 1))
               ? NULL
               : "an operand of this instruction";
}
