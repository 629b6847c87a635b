/* SPDX-License-Identifier: Apache-2.0 */
/* LDS, the memory that the waves of a block share: accesses, undefined bits, bank conflicts. */
#include <string.h>
#include "state.h"

/*
 * LDS has 32 banks of 4 bytes. An instruction takes phases of as many lanes as move 128 bytes. Two lanes of a
 * phase conflict if they need different words of one bank; one word is delivered to several lanes at once.
 * The lanes of a phase are consecutive, except for reads of 16 bytes.
 *
 * Sources: for 16 bytes AMD's "Understanding AMD GPU LDS and Bank Conflicts" (Composable Kernel's
 * documentation), measured on gfx942; for 4 and 8 bytes the optimization guide of AMD's SHARK. gfx906 and
 * gfx90a are assumed to be the same; that is not verified on hardware.
 */
enum { BANKS = 32 };
static const uint8_t uk_read_16[UK_AMDGPU_LANES] = {
    0,  1,  2,  3,  20, 21, 22, 23, 4,  5,  6,  7,  16, 17, 18, 19, 8,  9,  10, 11, 28, 29,
    30, 31, 12, 13, 14, 15, 24, 25, 26, 27, 32, 33, 34, 35, 52, 53, 54, 55, 36, 37, 38, 39,
    48, 49, 50, 51, 40, 41, 42, 43, 60, 61, 62, 63, 44, 45, 46, 47, 56, 57, 58, 59,
};
static const struct {
    unsigned bytes, lanes; /* bytes per lane; lanes per phase */
    const uint8_t *read;   /* the order of lanes; NULL: consecutive */
} uk_phases[] = {{4, 32, NULL}, {8, 16, NULL}, {16, 8, uk_read_16}};

/* Cycles of one phase: the maximum over banks of the words that a bank has to deliver. */
static unsigned uk_phase_cycles(const uint32_t *words, unsigned n) {
    uint32_t seen[BANKS][64];
    uint8_t count[BANKS] = {0};
    unsigned maximum = 0;

    for (unsigned i = 0; i < n; ++i) {
        const unsigned bank = words[i] % BANKS;
        unsigned k = 0;

        while (k < count[bank] && seen[bank][k] != words[i])
            ++k;
        if (k < count[bank])
            continue;
        seen[bank][count[bank]++] = words[i];
        if (count[bank] > maximum)
            maximum = count[bank];
    }
    return maximum;
}

static void uk_count_banks(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, uint64_t exec,
                           const struct uk_amdgpu_event *e) {
    const unsigned total = e->parts * (e->part_bytes < 4 ? 4 : e->part_bytes);
    struct uk_amdgpu_counts *counts = w->block->run->counts;
    struct uk_amdgpu_inst *inst = &w->block->run->code->inst[i->number];
    const bool write = i->op->flags & F_WRITE;
    unsigned row = 0, cycles = 0, phases = 0;

    while (uk_phases[row].bytes < total && row < 2)
        ++row;
    for (unsigned first = 0; first < UK_AMDGPU_LANES; first += uk_phases[row].lanes) {
        uint32_t words[64];
        unsigned n = 0, worst;

        for (unsigned k = first, before = UK_AMDGPU_LANES; k < first + uk_phases[row].lanes; ++k) {
            /* Only ds_read_b128 has the order of 16-byte reads; two reads of 8 bytes go in lane order. */
            const unsigned l = !write && uk_phases[row].read && e->parts == 1 ? uk_phases[row].read[k] : k;

            if (!(exec >> l & 1) || (before < UK_AMDGPU_LANES && e->address[0][l] == e->address[0][before]))
                continue;
            before = l;
            for (unsigned part = 0; part < e->parts; ++part)
                for (uint64_t at = e->address[part][l] / 4;
                     at <= (e->address[part][l] + e->part_bytes - 1) / 4 && n < 64; ++at)
                    words[n++] = (uint32_t)at;
        }
        worst = uk_phase_cycles(words, n);
        cycles += worst;
        phases += worst > 0;
        if (worst > inst->lds_ways)
            inst->lds_ways = worst;
        if (worst > counts->max_conflict_ways)
            counts->max_conflict_ways = worst;
    }
    inst->lds_cycles += cycles;
    inst->lds_conflicts += cycles - phases;
    *(write ? &counts->lds_write_cycles : &counts->lds_read_cycles) += cycles;
    *(write ? &counts->lds_write_conflicts : &counts->lds_read_conflicts) += cycles - phases;
}

/* Computes the addresses of the one or two accesses of each active lane and stores them in the event. */
static enum uk_amdgpu_step uk_lds_addresses(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                            uint64_t exec, struct uk_amdgpu_event *e) {
    const unsigned a = i->o[!(i->op->flags & F_WRITE)].index, size = i->op->types[0];
    const unsigned scale = size * (i->op->flags & F_ST64 ? 64 : 1);
    enum uk_amdgpu_step step = uk_use_v(w, i, a, 1, exec, "used");

    if (step)
        return step;
    if (w->undefined[a] & exec)
        return uk_report(w, i, __builtin_ctzll(w->undefined[a] & exec),
                         "the address is undefined: it depends on bits that were never written");
    e->parts = i->op->flags & F_TWO ? 2 : 1;
    e->part_bytes = size;
    for (unsigned part = 0; part < e->parts; ++part)
        for (int l = 0; l < UK_AMDGPU_LANES; ++l) {
            const uint64_t offset = e->parts == 2 ? (uint64_t)scale * (part ? i->offset1 : i->offset0)
                                                  : (uint64_t)i->address_offset;

            e->address[part][l] = (uint32_t)(w->v[a][l] + offset); /* wraps */
            if (exec >> l & 1 && (e->address[part][l] > w->block->lds_bytes ||
                                  size > w->block->lds_bytes - e->address[part][l]))
                return uk_report(w, i, l, "%s of %u bytes at byte %llu of LDS; the block has %u bytes",
                                 i->op->flags & F_WRITE ? "a write" : "a read", size,
                                 (unsigned long long)e->address[part][l], w->block->lds_bytes);
        }
    return UK_AMDGPU_STEP_NEXT;
}

static enum uk_amdgpu_step uk_lds_record_access(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                                uint64_t exec, const struct uk_amdgpu_event *e) {
    const bool write = i->op->flags & F_WRITE;
    const struct uk_simt_access me = {w->block->number, w->block->epoch, w->number, i->number, write};
    struct uk_simt_access other;

    for (unsigned part = 0; part < e->parts; ++part)
        for (int l = 0, before = -1; l < UK_AMDGPU_LANES; ++l) {
            int result;

            if (!(exec >> l & 1) || (before >= 0 && e->address[part][l] == e->address[part][before]))
                continue;
            before = l;
            result =
                uk_simt_record_access(&w->block->shadow, e->address[part][l], e->part_bytes, &me, &other);
            if (result < 0)
                return uk_no_memory(w, i);
            if (result)
                return uk_report(w, i, l,
                                 "race: %s byte %llu of LDS, which wave %u %s by %s; an s_waitcnt and a "
                                 "barrier have to separate them",
                                 write ? "writes" : "reads", (unsigned long long)e->address[part][l],
                                 other.wave, other.write ? "writes" : "reads",
                                 uk_name(&w->block->run->code->inst[other.instruction]).text);
        }
    return UK_AMDGPU_STEP_NEXT;
}

/* Undefined bits of registers become undefined bits of LDS. */
static enum uk_amdgpu_step uk_lds_write(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                        uint64_t exec, const struct uk_amdgpu_event *e) {
    const unsigned size = e->part_bytes < 4 ? e->part_bytes : 4, shift = i->op->flags & F_HIGH ? 16 : 0;

    for (unsigned part = 0; part < e->parts; ++part)
        for (unsigned k = 0; k < i->op->types[1]; ++k) {
            const unsigned r = i->o[1 + part].index + k;
            const enum uk_amdgpu_step step = uk_use_v(w, i, r, 1, exec, "used");

            if (step)
                return step;
            for (unsigned l = 0; l < UK_AMDGPU_LANES; ++l) {
                const uint32_t value = w->v[r][l] >> shift, undefined = uk_undefined_bits(w, r, l) >> shift;
                const uint64_t at = e->address[part][l] + 4 * k;

                if (exec >> l & 1) {
                    memcpy(w->block->lds + at, &value, size);
                    memcpy(w->block->lds_undefined + at, &undefined, size);
                }
            }
        }
    return UK_AMDGPU_STEP_NEXT;
}

/* The most common reads: whole words into one register. */
static uint64_t uk_lds_read_words(const struct uk_amdgpu_block *block, const uint64_t *address,
                                  unsigned offset, uint64_t exec, uint32_t *to, uint32_t *undefined) {
    uint64_t lanes = 0;

    for (int l = 0; l < UK_AMDGPU_LANES; ++l) {
        if (!(exec >> l & 1))
            continue;
        memcpy(&undefined[l], block->lds_undefined + address[l] + offset, 4);
        lanes |= (uint64_t)(undefined[l] != 0) << l;
        memcpy(&to[l], block->lds + address[l] + offset, 4);
    }
    return lanes;
}

static void uk_lds_read(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, uint64_t exec,
                        struct uk_amdgpu_event *e) {
    const unsigned size = e->part_bytes < 4 ? e->part_bytes : 4;

    e->first = i->o[0].index;
    e->n = i->o[0].words;
    for (unsigned k = 0; k < i->o[0].words; ++k) {
        const unsigned part = k / i->op->types[1], r = i->o[0].index + k;

        e->undefined[k] = 0;
        if (size == 4) {
            e->undefined[k] = uk_lds_read_words(w->block, e->address[part], 4 * (k % i->op->types[1]), exec,
                                                w->v[r], w->undefined_bits[r]);
            continue;
        }
        for (unsigned l = 0; l < UK_AMDGPU_LANES; ++l) {
            const uint64_t at = e->address[part][l];
            uint32_t undefined;

            if (!(exec >> l & 1))
                continue;
            undefined = uk_loaded(i, uk_undefined_bits(w, r, l), w->block->lds_undefined + at);
            w->v[r][l] = uk_loaded(i, w->v[r][l], w->block->lds + at);
            w->undefined_bits[r][l] = undefined;
            e->undefined[k] |= (uint64_t)(undefined != 0) << l;
        }
    }
}

static enum uk_amdgpu_step uk_lds_do(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, uint64_t exec,
                                     struct uk_amdgpu_event *e) {
    const bool write = i->op->flags & F_WRITE;
    const struct uk_amdgpu_operand *data = &i->o[0];
    enum uk_amdgpu_step step = uk_lds_addresses(w, i, exec, e);

    if (!step && !write && i->op->flags & (F_HIGH | F_LOW))
        step = uk_use_v(w, i, data->index, data->words, exec, "used");
    if (!step && !write)
        step = uk_reload(w, i, data->index, data->words, exec, UK_AMDGPU_QUEUE_LGKM);
    if (!step)
        step = uk_lds_record_access(w, i, exec, e);
    if (!step && write)
        step = uk_lds_write(w, i, exec, e);
    if (!step && !write)
        uk_lds_read(w, i, exec, e);
    return step;
}

enum uk_amdgpu_step uk_run_lds(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    const uint64_t exec = uk_exec(w);
    struct uk_amdgpu_event *e = uk_event_new(w, UK_AMDGPU_QUEUE_LGKM, i);
    const enum uk_amdgpu_step step = uk_lds_do(w, i, exec, e);

    if (step)
        return step;
    e->lds = true;
    e->shared = exec;
    e->write = i->op->flags & F_WRITE;
    uk_count_banks(w, i, exec, e);
    if (!e->write)
        uk_event_marks(w, e);
    return UK_AMDGPU_STEP_NEXT;
}
