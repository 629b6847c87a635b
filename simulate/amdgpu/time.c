/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cycles of a block. Each wave has a clock, as if it ran alone: an instruction takes the cycles that its
 * SIMD needs for all lanes, and s_waitcnt continues when the accesses that it waits for have completed; at a
 * barrier the waves continue with the last one's clock. A matrix instruction begins when the SIMD's matrix
 * unit has ended the wave's previous one; other instructions overlap with it, except with one of f64, and
 * those that need its result follow after enough of s_nop. So latency counts where nothing in the wave hides
 * it; struct uk_block_time has what waves and blocks share, and uk_device_time() adds it up.
 *
 * Sources: AMD's manuals of the Vega 7nm and CDNA 2 instruction sets; CLRX, "GCN ISA Instruction Timings".
 */
#include "footprint.h"
#include "matrix.h"

/* Cycles in which a SIMD of 16 lanes executes an instruction of a wave, and the factor for those that run at
 * a quarter of that rate. */
enum { INSTRUCTION = 4, SLOW = 4 };

static bool uk_is_f64(const struct uk_amdgpu_opcode *op) {
    bool f64 = false;

    for (int i = 0; i < 4; ++i)
        f64 = f64 || op->types[i] == T_f64;
    return f64;
}

uint8_t uk_cycles(const struct uk_core *core, const struct uk_amdgpu_inst *i) {
    const struct uk_amdgpu_opcode *op = i->op;

    if (op && op->matrix && op->matrix->type == T_f64)
        return (uint8_t)(INSTRUCTION * op->matrix->passes);
    if (!op || (op->kind != UK_AMDGPU_FMA && op->kind != UK_AMDGPU_VALU))
        return INSTRUCTION;
    return (uint8_t)((uk_is_f64(op) ? core->device.f64_cycles : INSTRUCTION) *
                     (op->flags & F_SLOW ? SLOW : 1));
}

void uk_time_begin(struct uk_amdgpu_run_state *run, uint64_t block) {
    struct uk_amdgpu_counts *c = run->counts;

    run->block.time = run->launch->core ? &run->launch->times[block] : NULL;
    if (!run->block.time)
        return;
    /* Until the block ends, the counts at its begin. */
    *run->block.time = (struct uk_block_time){.alone = 0};
    run->lds_cycles = c->lds_read_cycles + c->lds_write_cycles;
    run->lines = c->lines;
}

void uk_time_end(struct uk_amdgpu_run_state *run) {
    struct uk_block_time *t = run->block.time;
    const struct uk_amdgpu_counts *c = run->counts;

    if (!t)
        return;
    t->shared = (float)(c->lds_read_cycles + c->lds_write_cycles - run->lds_cycles);
    t->lines = (float)(c->lines - run->lines);
    for (uint32_t i = 0; i < run->block.n_waves; ++i)
        if ((float)run->waves[i]->clock > t->alone)
            t->alone = (float)run->waves[i]->clock;
}

void uk_time_step(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    static const uint8_t unit[UK_AMDGPU_N_KINDS] = {
        [UK_AMDGPU_FMA] = UK_ISSUE_VECTOR,       [UK_AMDGPU_VALU] = UK_ISSUE_VECTOR,
        [UK_AMDGPU_MATRIX] = UK_ISSUE_VECTOR,    [UK_AMDGPU_SALU] = UK_ISSUE_SCALAR,
        [UK_AMDGPU_SMEM] = UK_ISSUE_SCALAR,      [UK_AMDGPU_LOAD] = UK_ISSUE_MEMORY,
        [UK_AMDGPU_STORE] = UK_ISSUE_MEMORY,     [UK_AMDGPU_LDS_READ] = UK_ISSUE_SHARED,
        [UK_AMDGPU_LDS_WRITE] = UK_ISSUE_SHARED, [UK_AMDGPU_WAIT] = UK_ISSUE_SCALAR,
        [UK_AMDGPU_BARRIER] = UK_ISSUE_SCALAR,   [UK_AMDGPU_OTHER] = UK_ISSUE_SCALAR,
    };

    if (i->op && i->op->matrix) {
        const uint32_t busy = INSTRUCTION * i->op->matrix->passes;

        w->clock = w->matrix_free > w->clock ? w->matrix_free : w->clock;
        w->matrix_free = w->clock + busy;
        w->block->time->matrix += (float)busy;
    }
    w->clock += i->cycles + INSTRUCTION * (i->states - 1u);
    w->block->time->issue[unit[i->op ? i->op->kind : UK_AMDGPU_OTHER]] += i->cycles;
}

bool uk_time_lines(struct uk_amdgpu_wave *w, struct uk_amdgpu_event *e, uint64_t lanes,
                   const uint64_t *address, unsigned size) {
    struct uk_amdgpu_run_state *run = w->block->run;
    const struct uk_device *d = &run->launch->core->device;
    uint64_t seen[2 * UK_AMDGPU_LANES];
    unsigned n = 0;

    for (int l = 0; l < UK_AMDGPU_LANES; ++l)
        for (unsigned last = 0; last < 2 && lanes >> l & 1; ++last) {
            const uint64_t line = (address[l] + (last ? size - 1 : 0)) / (uint64_t)d->line;
            unsigned k = n;

            while (k && seen[k - 1] != line)
                --k;
            if (!k)
                seen[n++] = line;
        }
    for (unsigned k = 0; k < n; ++k) {
        /* A line may begin before its buffer. */
        struct uk_simt_buffer *b = uk_simt_buffer_at(&run->gpu->memory, seen[k] * (uint64_t)d->line);
        const uint64_t first = b->address / (uint64_t)d->line;
        const int is_new = uk_simt_access_line(b, (seen[k] - first) * (uint64_t)d->line, (unsigned)d->line);

        if (is_new < 0)
            return false;
        run->counts->distinct_lines += (uint64_t)is_new;
        if (is_new && !run->in_l2)
            e->done = w->clock + (uint64_t)d->latency.memory;
    }
    run->counts->lines += n;
    return !run->footprint || !lanes ||
           uk_footprint_add(&run->footprint[run->access[e->inst->number]], lanes, address, size);
}
