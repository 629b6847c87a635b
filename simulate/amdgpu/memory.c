/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar loads, vector loads and stores: finds each lane's bytes in a buffer or in scratch, checks for races,
 * and records outstanding accesses. */
#include <string.h>
#include "state.h"

const char *uk_check_access(struct uk_amdgpu_inst *i) {
    const struct uk_amdgpu_opcode *op = i->op;
    const bool write = op->flags & F_WRITE, two = op->flags & F_TWO;
    const unsigned n = op->types[1] * (two && !write ? 2 : 1);
    const struct uk_amdgpu_operand *data = &i->o[write], *address = &i->o[!write];

    if (op->run == uk_run_smem)
        return i->n == 3 && i->o[0].kind == UK_AMDGPU_OPERAND_S && i->o[0].words == n &&
                       uk_is_mask(&i->o[1]) &&
                       (i->o[2].kind == UK_AMDGPU_OPERAND_CONSTANT ||
                        (i->o[2].kind == UK_AMDGPU_OPERAND_S && i->o[2].words == 1))
                   ? NULL
                   : "an operand of this instruction";
    if (op->flags & (F_BUFFER | F_PRIVATE))
        return uk_check_scratch(i);
    if (i->offen || data->kind != UK_AMDGPU_OPERAND_V || data->words != n ||
        address->kind != UK_AMDGPU_OPERAND_V || address->index >= AGPR)
        return "an operand of this instruction";
    if (op->run == uk_run_lds)
        return address->words == 1 && i->n == 2u + (write && two) &&
                       (!(write && two) || (i->o[2].kind == UK_AMDGPU_OPERAND_V && i->o[2].words == n))
                   ? NULL
                   : "an operand of this instruction";
    if (op->flags & F_FLAT)
        return i->n == 2 && address->words == 2 ? NULL : "an operand of this instruction";
    return i->n == 3 && ((i->o[2].kind == UK_AMDGPU_OPERAND_OFF && address->words == 2) ||
                         (uk_is_mask(&i->o[2]) && address->words == 1))
               ? NULL
               : "an operand of this instruction";
}

/* Reports an address relative to the nearest buffer. */
static enum uk_amdgpu_step uk_outside(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, int lane,
                                      uint64_t address, unsigned size, const char *use) {
    const struct uk_simt_buffer *b = uk_simt_buffer_at(&w->block->run->gpu->memory, address);

    if (!b)
        return uk_report(w, i, lane, "%s of %u bytes at 0x%llx, which lies in no buffer", use, size,
                         (unsigned long long)address);
    return uk_report(w, i, lane, "%s of %u bytes at 0x%llx, outside a buffer of %llu bytes: at its byte %lld",
                     use, size, (unsigned long long)address, (unsigned long long)b->size,
                     (long long)(address - b->address));
}

static enum uk_amdgpu_step uk_report_race(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, int lane,
                                          bool write, const struct uk_simt_buffer *b, uint64_t address,
                                          const struct uk_simt_access *other) {
    const struct uk_amdgpu_inst *by = &w->block->run->code->inst[other->instruction];

    if (other->block != w->block->number)
        return uk_report(w, i, lane, "race: %s byte %llu of a buffer, which another block %s by %s",
                         write ? "writes" : "reads", (unsigned long long)(address - b->address),
                         other->write ? "writes" : "reads", uk_name(by).text);
    return uk_report(w, i, lane,
                     "race: %s byte %llu of a buffer, which wave %u %s by %s, with no barrier between",
                     write ? "writes" : "reads", (unsigned long long)(address - b->address), other->wave,
                     other->write ? "writes" : "reads", uk_name(by).text);
}

static enum uk_amdgpu_step uk_smem_read(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                        uint64_t address, unsigned size) {
    struct uk_amdgpu_run_state *run = w->block->run;
    const struct uk_simt_buffer *b = uk_simt_buffer_at(&run->gpu->memory, address);
    const struct uk_simt_access me = {run->block.number, run->block.epoch, w->number, i->number, false};
    struct uk_simt_access other = me;

    if (!b || !uk_simt_inside(b, address, size))
        return uk_outside(w, i, -1, address, size, "a scalar load");
    /* The scalar cache is not coherent with vector stores, not even with the same wave's. */
    for (uint64_t k = 0; b->shadow.page && k < size / 4; ++k) {
        const struct uk_simt_cell *c = uk_simt_cell_at(&b->shadow, address - b->address + 4 * k);

        if (c && c->write_epoch) {
            other.block = c->write_block;
            other.instruction = uk_simt_instruction(c->write_who);
            return uk_report(w, i, -1, "a scalar load of bytes that the launch has stored by %s",
                             uk_name(&run->code->inst[other.instruction]).text);
        }
    }
    memcpy(&w->s[i->o[0].index], b->bytes + (address - b->address), size);
    return UK_AMDGPU_STEP_NEXT;
}

enum uk_amdgpu_step uk_run_smem(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    uint64_t base, offset, undefined[2];
    struct uk_amdgpu_event *e;
    enum uk_amdgpu_step step = uk_scalar_source(w, i, &i->o[1], &base, &undefined[0]);

    if (!step)
        step = uk_scalar_source(w, i, &i->o[2], &offset, &undefined[1]);
    if (step)
        return step;
    if (undefined[0] | undefined[1])
        return uk_report(w, i, -1, "the address is undefined: it depends on bits that were never written");
    step = uk_use_s(w, i, i->o[0].index, i->op->types[1], "overwritten");
    /* An immediate offset may follow a register. */
    offset += (uint64_t)(int64_t)i->address_offset;
    if (!step)
        step = uk_smem_read(w, i, (base + offset) & ~(uint64_t)3, i->op->types[0]);
    if (step)
        return step;
    e = uk_event_new(w, UK_AMDGPU_QUEUE_LGKM, i);
    e->scalar = true;
    if (w->block->time)
        e->done = w->clock + (uint64_t)w->block->run->launch->core->device.latency.l2;
    e->first = i->o[0].index;
    e->n = i->op->types[1];
    memset(e->undefined, 0, sizeof e->undefined);
    uk_event_marks(w, e);
    return UK_AMDGPU_STEP_NEXT;
}

enum uk_amdgpu_step uk_addresses(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, uint64_t exec,
                                 uint64_t *address) {
    const struct uk_amdgpu_operand *a = &i->o[!(i->op->flags & F_WRITE)], *s = &i->o[2];
    const bool scalar = s->kind == UK_AMDGPU_OPERAND_S;
    uint64_t base = 0, undefined = 0;
    enum uk_amdgpu_step step = UK_AMDGPU_STEP_NEXT;

    if (scalar)
        step = uk_scalar_source(w, i, s, &base, &undefined);
    if (!step)
        step = uk_use_v(w, i, a->index, a->words, exec, "used");
    if (step)
        return step;
    for (unsigned k = 0; k < a->words; ++k)
        undefined |= w->undefined[a->index + k] & exec;
    if (undefined)
        return uk_report(w, i, scalar ? -1 : __builtin_ctzll(undefined),
                         "the address is undefined: it depends on bits that were never written");
    for (int l = 0; l < UK_AMDGPU_LANES; ++l) {
        const uint64_t high = scalar ? 0 : w->v[a->index + 1][l];

        address[l] = base + (w->v[a->index][l] | high << 32) + (uint64_t)(int64_t)i->address_offset;
    }
    return UK_AMDGPU_STEP_NEXT;
}

/* Finds the bytes of these lanes and records the access. The next lane's buffer is likely the same. `shared`:
 * the lanes whose bytes other waves can write. */
static enum uk_amdgpu_step uk_record_global_access(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                                   uint64_t exec, const uint64_t *address,
                                                   struct uk_amdgpu_places *places, uint64_t *shared) {
    const bool write = i->op->flags & F_WRITE;
    struct uk_amdgpu_run_state *run = w->block->run;
    const struct uk_simt_access me = {run->block.number, run->block.epoch, w->number, i->number, write};
    const unsigned size = i->op->types[0];
    struct uk_simt_buffer *b = NULL;
    struct uk_simt_access other;

    for (int l = 0; l < UK_AMDGPU_LANES; ++l) {
        int result;

        if (!(exec >> l & 1))
            continue;
        if (!b || !uk_simt_inside(b, address[l], size)) {
            b = uk_simt_buffer_at(&run->gpu->memory, address[l]);
            if (!b || !uk_simt_inside(b, address[l], size))
                return uk_outside(w, i, l, address[l], size, write ? "a store" : "a load");
            if (write && b->constant)
                return uk_report(w, i, l, "a store to constant memory (arguments or code)");
            if (!b->constant && !b->shadow.page && !uk_simt_shadow_begin(&b->shadow, b->size))
                return uk_no_memory(w, i);
        }
        places->bytes[l] = b->bytes + (address[l] - b->address);
        places->undefined[l] = NULL;
        if (b->constant)
            continue;
        *shared |= (uint64_t)1 << l;
        result = uk_simt_record_access(&b->shadow, address[l] - b->address, size, &me, &other);
        if (result)
            return result < 0 ? uk_no_memory(w, i) : uk_report_race(w, i, l, write, b, address[l], &other);
    }
    return UK_AMDGPU_STEP_NEXT;
}

/* Stores to scratch also store the undefined bits. */
static enum uk_amdgpu_step uk_store_lanes(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                          uint64_t exec, const struct uk_amdgpu_places *places) {
    const struct uk_amdgpu_operand *data = &i->o[1];
    const unsigned size = i->op->types[0] < 4 ? i->op->types[0] : 4, shift = i->op->flags & F_HIGH ? 16 : 0;
    const uint32_t stored = (uint32_t)((UINT64_C(1) << 8 * size) - 1) << shift;

    for (unsigned k = 0; k < data->words; ++k) {
        const unsigned r = data->index + k;

        for (int l = 0; l < UK_AMDGPU_LANES && w->undefined[r] & exec; ++l)
            if (exec >> l & 1 && !places->undefined[l] && uk_undefined_bits(w, r, (unsigned)l) & stored)
                return uk_report(w, i, l,
                                 "the stored %s is undefined: it depends on bits that were never written",
                                 uk_register_name(true, r).text);
        for (int l = 0; l < UK_AMDGPU_LANES; ++l) {
            const uint32_t value = w->v[r][l] >> shift;
            const uint32_t undefined = uk_undefined_bits(w, r, (unsigned)l) >> shift;

            if (exec >> l & 1)
                memcpy(places->bytes[l] + 4 * k, &value, size);
            if (exec >> l & 1 && places->undefined[l])
                memcpy(places->undefined[l] + 4 * k, &undefined, size);
        }
    }
    return UK_AMDGPU_STEP_NEXT;
}

uint32_t uk_loaded(const struct uk_amdgpu_inst *i, uint32_t before, const uint8_t *bytes) {
    const uint32_t flags = i->op->flags, size = i->op->types[0];
    uint32_t value = 0;

    memcpy(&value, bytes, size < 4 ? size : 4);
    if (size < 4 && flags & F_SIGNED)
        value = size == 1 ? (uint32_t)(int8_t)value : (uint32_t)(int16_t)value;
    if (flags & F_HIGH)
        return value << 16 | (before & 0xffff);
    return flags & F_LOW ? (value & 0xffff) | (before & 0xffff0000) : value;
}

/* Bytes of buffers are defined. A load of half a register keeps the undefined bits of the other half. */
static void uk_load_lanes(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, uint64_t exec,
                          const struct uk_amdgpu_places *places, struct uk_amdgpu_event *e) {
    static const uint8_t defined[4];

    e->first = i->o[0].index;
    e->n = i->o[0].words;
    for (unsigned k = 0; k < i->o[0].words; ++k) {
        const unsigned r = i->o[0].index + k;

        e->undefined[k] = 0;
        for (unsigned l = 0; l < UK_AMDGPU_LANES; ++l)
            if (exec >> l & 1) {
                const uint8_t *bits = places->undefined[l] ? places->undefined[l] + 4 * k : defined;
                const uint32_t undefined = uk_loaded(i, uk_undefined_bits(w, r, l), bits);

                w->v[r][l] = uk_loaded(i, w->v[r][l], places->bytes[l] + 4 * k);
                w->undefined_bits[r][l] = undefined;
                e->undefined[k] |= (uint64_t)(undefined != 0) << l;
            }
    }
}

/* Finds each lane's bytes: in buffers, at `address`, or in scratch. */
static enum uk_amdgpu_step uk_find(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, uint64_t exec,
                                   uint64_t *address, struct uk_amdgpu_places *places, uint64_t *shared) {
    uint64_t own = 0;
    enum uk_amdgpu_step step;

    if (i->op->flags & (F_BUFFER | F_PRIVATE))
        return uk_scratch_places(w, i, exec, places);
    step = uk_addresses(w, i, exec, address);
    for (int l = 0; l < UK_AMDGPU_LANES && !step && i->op->flags & F_FLAT; ++l)
        own |= (uint64_t)uk_is_private_address(address[l]) << l;
    own &= exec;
    if (!step && own)
        step = uk_scratch_flat(w, i, own, address, places);
    return step ? step : uk_record_global_access(w, i, exec & ~own, address, places, shared);
}

enum uk_amdgpu_step uk_run_global(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    const bool write = i->op->flags & F_WRITE;
    const struct uk_amdgpu_operand *data = &i->o[write];
    const uint64_t exec = uk_exec(w), moved = (uint64_t)__builtin_popcountll(exec) * i->op->types[0];
    uint64_t address[UK_AMDGPU_LANES], shared = 0;
    struct uk_amdgpu_places places;
    struct uk_amdgpu_event *e;
    enum uk_amdgpu_step step = UK_AMDGPU_STEP_NEXT;

    if (write || i->op->flags & (F_HIGH | F_LOW))
        step = uk_use_v(w, i, data->index, data->words, exec, "used");
    if (!step && !write)
        step = uk_reload(w, i, data->index, data->words, exec, UK_AMDGPU_QUEUE_VM);
    if (!step)
        step = uk_find(w, i, exec, address, &places, &shared);
    if (!step && write)
        step = uk_store_lanes(w, i, exec, &places);
    if (step)
        return step;
    *(write ? &w->block->run->counts->store_bytes : &w->block->run->counts->load_bytes) += moved;
    e = uk_event_new(w, UK_AMDGPU_QUEUE_VM, i);
    e->write = write;
    e->shared = shared;
    if (w->block->time && !uk_time_lines(w, e, shared, address, i->op->types[0]))
        return uk_no_memory(w, i);
    if (shared) {
        e->parts = 1;
        e->part_bytes = i->op->types[0];
        memcpy(e->address[0], address, sizeof address);
    }
    if (write)
        return UK_AMDGPU_STEP_NEXT;
    uk_load_lanes(w, i, exec, &places, e);
    uk_event_marks(w, e);
    return UK_AMDGPU_STEP_NEXT;
}
