/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a launch: blocks one after the other, the waves of a block interleaved, both in an order that the seed
 * determines. */
#include <stdlib.h>
#include <string.h>
#include "state.h"

/* Properties in the descriptor (AMDGPUUsage): which values the first registers hold. */
enum {
    PROPERTY_BUFFER = 1,
    PROPERTY_PACKET = 2,
    PROPERTY_QUEUE = 4,
    PROPERTY_ARGUMENTS = 8,
    PROPERTY_DISPATCH = 16,
    PROPERTY_SCRATCH = 32,
    PROPERTY_SIZE = 64
};
/* Instructions that a wave executes before another one is scheduled, at most. */
enum { TURN = 512 };

static const struct {
    unsigned property, registers;
} uk_user_registers[] = {
    {PROPERTY_BUFFER, 4},   {PROPERTY_PACKET, 2},  {PROPERTY_QUEUE, 2}, {PROPERTY_ARGUMENTS, 2},
    {PROPERTY_DISPATCH, 2}, {PROPERTY_SCRATCH, 2}, {PROPERTY_SIZE, 1},
};

static void uk_set_s(struct uk_amdgpu_wave *w, unsigned index, uint32_t value) {
    w->s[index] = value;
    w->s_undefined[index] = 0;
}

/* Sets the scalar registers. Those of values that are not simulated (queue, dispatch) stay undefined. */
static void uk_begin_scalars(struct uk_amdgpu_run_state *run, const struct uk_amdgpu_descriptor *descriptor,
                             struct uk_amdgpu_wave *w) {
    unsigned at = 0;

    for (size_t i = 0; i < sizeof uk_user_registers / sizeof uk_user_registers[0]; ++i) {
        const unsigned property = uk_user_registers[i].property;
        const uint64_t value = property == PROPERTY_PACKET    ? run->packet
                               : property == PROPERTY_SCRATCH ? SCRATCH_ADDRESS
                                                              : run->arguments;

        if (!(descriptor->properties & property))
            continue;
        if (property == PROPERTY_BUFFER) {
            uk_scratch_resource(run, w->s + at);
            memset(w->s_undefined + at, 0, 4 * sizeof w->s_undefined[0]);
        }
        if (property == PROPERTY_SIZE)
            uk_set_s(w, at, run->kernel->scratch_bytes);
        if (property == PROPERTY_PACKET || property == PROPERTY_ARGUMENTS || property == PROPERTY_SCRATCH) {
            uk_set_s(w, at, (uint32_t)value);
            uk_set_s(w, at + 1, (uint32_t)(value >> 32));
        }
        at += uk_user_registers[i].registers;
    }
    at = descriptor->rsrc2 >> 1 & 31; /* USER_SGPR_COUNT */
    for (unsigned axis = 0; axis < 3; ++axis)
        if (descriptor->rsrc2 >> (7 + axis) & 1)
            uk_set_s(w, at++, run->block.id[axis]);
    at += descriptor->rsrc2 >> 10 & 1; /* work-group info, not simulated */
    if (descriptor->rsrc2 & 1)
        uk_set_s(w, at, uk_scratch_offset(run, w->number));
    uk_set_s(w, PRIVATE_BASE, (uint32_t)PRIVATE_APERTURE);
    uk_set_s(w, PRIVATE_BASE + 1, (uint32_t)(PRIVATE_APERTURE >> 32));
}

void uk_begin_wave(struct uk_amdgpu_run_state *run, const struct uk_amdgpu_descriptor *descriptor,
                   struct uk_amdgpu_wave *w, uint32_t number) {
    const uint32_t *size = run->launch->block;
    const uint32_t threads = size[0] * size[1] * size[2], left = threads - UK_AMDGPU_LANES * number;
    const unsigned axes = descriptor->rsrc2 >> 11 & 3;

    w->block = &run->block;
    w->number = number;
    w->pc = 0;
    w->state = UK_AMDGPU_WAVE_READY;
    w->alive = left >= UK_AMDGPU_LANES ? UINT64_MAX : ((uint64_t)1 << left) - 1;
    w->scc_undefined = true;
    w->next_id = 0;
    w->clock = w->matrix_free = w->states = w->n_recent = 0;
    memset(w->s_undefined, 255, sizeof w->s_undefined);
    memset(w->s_pending, 0, sizeof w->s_pending);
    memset(w->undefined, 255, sizeof w->undefined);
    memset(w->pending, 0, sizeof w->pending);
    memset(w->undefined_bits, 255, run->code->v_registers * sizeof w->undefined_bits[0]);
    for (int queue = 0; queue < 2; ++queue) {
        w->events[queue].used = 0;
        w->events[queue].n = 0;
    }
    uk_set_s(w, EXEC, (uint32_t)w->alive);
    uk_set_s(w, EXEC + 1, (uint32_t)(w->alive >> 32));
    uk_begin_scalars(run, descriptor, w);
    uk_scratch_begin(run, w);
    for (unsigned axis = 0; axis < 3; ++axis)
        if (run->gpu->packed_ids ? axis == 0 : axis <= axes)
            w->undefined[axis] = 0;
    for (uint32_t l = 0; l < UK_AMDGPU_LANES; ++l) {
        const uint32_t thread = UK_AMDGPU_LANES * number + l;
        const uint32_t id[3] = {thread % size[0], thread / size[0] % size[1], thread / (size[0] * size[1])};

        if (run->gpu->packed_ids)
            w->v[0][l] = id[0] | (axes >= 1 ? id[1] << 10 : 0) | (axes >= 2 ? id[2] << 20 : 0);
        else
            for (unsigned axis = 0; axis <= axes && axis < 3; ++axis)
                w->v[axis][l] = id[axis];
    }
}

/* Runs one wave until it waits, ends or stops, or its time slice is over. */
static void uk_turn(struct uk_amdgpu_run_state *run, struct uk_amdgpu_wave *w) {
    uint32_t left = 1 + uk_simt_random(&run->random) % TURN;

    while (left--) {
        struct uk_amdgpu_inst *i = &run->code->inst[w->pc];
        enum uk_amdgpu_step step;

        if (run->steps++ == run->max_steps) {
            run->status = uk_amdgpu_fail(run->gpu, UK_AMDGPU_LIMIT,
                                         "%.100s ended after %llu instructions of waves, the limit",
                                         run->kernel->name, (unsigned long long)run->max_steps);
            return;
        }
        ++i->n_executed;
        step = run->code->has_hazards ? uk_hazards(w, i) : UK_AMDGPU_STEP_NEXT;
        if (!step)
            step = i->run(w, i);
        if (w->block->time)
            uk_time_step(w, i);
        if (step == UK_AMDGPU_STEP_NEXT) {
            ++w->pc;
        } else if (step == UK_AMDGPU_STEP_BARRIER) {
            ++w->pc;
            w->state = UK_AMDGPU_WAVE_AT_BARRIER;
            return;
        } else if (step == UK_AMDGPU_STEP_ENDED) {
            w->state = UK_AMDGPU_WAVE_ENDED;
            return;
        } else if (step == UK_AMDGPU_STEP_STOPPED) {
            return;
        }
    }
}

/* Ends a barrier, once no wave can run: reports an error unless all waves wait at the same barrier. */
static void uk_meet(struct uk_amdgpu_run_state *run) {
    const struct uk_amdgpu_block *block = &run->block;
    struct uk_amdgpu_wave *first = run->waves[0];
    uint64_t last = 0;

    for (uint32_t i = 1; i < block->n_waves; ++i) {
        struct uk_amdgpu_wave *w = run->waves[i];

        if (w->state != first->state) {
            struct uk_amdgpu_wave *waits = w->state == UK_AMDGPU_WAVE_AT_BARRIER ? w : first,
                                  *ended = waits == w ? first : w;

            uk_report(waits, waits->barrier, -1, "a barrier that wave %u will not reach: it ended by %s",
                      ended->number, uk_name(ended->barrier).text);
            return;
        }
        if (w->barrier != first->barrier) {
            uk_report(w, w->barrier, -1, "divergent barriers: wave 0 waits at %s",
                      uk_name(first->barrier).text);
            return;
        }
    }
    ++run->block.epoch;
    if (!uk_wait_barrier(run))
        uk_no_memory(first, first->barrier);
    for (uint32_t i = 0; i < block->n_waves; ++i)
        last = run->waves[i]->clock > last ? run->waves[i]->clock : last;
    for (uint32_t i = 0; i < block->n_waves; ++i) {
        run->waves[i]->state = UK_AMDGPU_WAVE_READY;
        run->waves[i]->clock = last;
    }
}

static void uk_run_group(struct uk_amdgpu_run_state *run) {
    const uint32_t n = run->block.n_waves;

    for (;;) {
        uint32_t n_ready = 0, n_ended = 0, pick;

        for (uint32_t i = 0; i < n; ++i) {
            n_ready += run->waves[i]->state == UK_AMDGPU_WAVE_READY;
            n_ended += run->waves[i]->state == UK_AMDGPU_WAVE_ENDED;
        }
        if (n_ended == n)
            return;
        if (!n_ready) {
            uk_meet(run);
        } else {
            pick = uk_simt_random(&run->random) % n_ready;
            for (uint32_t i = 0; i < n; ++i)
                if (run->waves[i]->state == UK_AMDGPU_WAVE_READY && pick-- == 0) {
                    uk_turn(run, run->waves[i]);
                    break;
                }
        }
        if (run->status)
            return;
    }
}

void uk_block_begin(struct uk_amdgpu_run_state *run, uint64_t block) {
    const uint32_t *grid = run->launch->grid;

    run->block.id[0] = (uint32_t)(block % grid[0]);
    run->block.id[1] = (uint32_t)(block / grid[0] % grid[1]);
    run->block.id[2] = (uint32_t)(block / grid[0] / grid[1]);
}

void uk_amdgpu_run_block(struct uk_amdgpu_run_state *run, const struct uk_amdgpu_descriptor *descriptor,
                         uint64_t block) {
    uk_block_begin(run, block);
    run->block.number = (uint32_t)block + 1;
    run->block.epoch = 1;
    memset(run->block.lds_undefined, 255, run->block.lds_bytes);
    memset(run->block.lds, 0xa5, run->block.lds_bytes);
    uk_simt_shadow_end(&run->block.shadow);
    if (!uk_simt_shadow_begin(&run->block.shadow, run->block.lds_bytes)) {
        run->status = uk_amdgpu_fail(run->gpu, UK_AMDGPU_NO_MEMORY, "no memory for LDS");
        return;
    }
    for (uint32_t w = 0; w < run->block.n_waves; ++w)
        uk_begin_wave(run, descriptor, run->waves[w], w);
    uk_time_begin(run, block);
    uk_run_group(run);
    uk_time_end(run);
}

static uint64_t uk_gcd(uint64_t a, uint64_t b) {
    return b ? uk_gcd(b, a % b) : a;
}

/* Runs the blocks, from a random one on, in steps of a number coprime to their number, so that each runs
 * once. */
static void uk_run_blocks(struct uk_amdgpu_run_state *run, const struct uk_amdgpu_descriptor *descriptor) {
    const uint32_t *grid = run->launch->grid;
    const uint64_t n = (uint64_t)grid[0] * grid[1] * grid[2];
    uint64_t step = n ? 1 + uk_simt_random(&run->random) % n : 0,
             at = n ? uk_simt_random(&run->random) % n : 0;

    while (n && uk_gcd(step, n) != 1)
        ++step;
    for (uint64_t i = 0; i < n && !run->status; ++i, at = (at + step) % n)
        uk_amdgpu_run_block(run, descriptor, at);
    run->counts->executed_blocks = n;
}

enum uk_amdgpu_status
uk_amdgpu_run(struct uk_amdgpu_run_state *run, const struct uk_amdgpu_descriptor *descriptor,
              bool by_kind(struct uk_amdgpu_run_state *, const struct uk_amdgpu_descriptor *)) {
    const uint32_t *size = run->launch->block;
    bool memory = true;

    run->block.run = run;
    run->block.n_waves = (size[0] * size[1] * size[2] + UK_AMDGPU_LANES - 1) / UK_AMDGPU_LANES;
    run->block.lds = malloc(run->block.lds_bytes + 1);
    run->block.lds_undefined = malloc(run->block.lds_bytes + 1);
    run->scratch = malloc((size_t)2 * UK_AMDGPU_LANES * run->block.n_waves * run->kernel->scratch_bytes + 1);
    for (uint32_t i = 0; i < run->block.n_waves; ++i) {
        run->waves[i] = calloc(1, sizeof *run->waves[i]);
        memory = memory && run->waves[i];
    }
    for (uint32_t i = 0; i < run->code->n; ++i) {
        struct uk_amdgpu_inst *inst = &run->code->inst[i];

        inst->n_executed = inst->lds_cycles = inst->lds_conflicts = inst->lds_ways = 0;
        inst->waited[0] = inst->waited[1] = 0;
        inst->cycles = run->launch->core ? uk_cycles(run->launch->core, inst) : 0;
    }
    if (!memory || !run->block.lds || !run->block.lds_undefined || !run->scratch)
        run->status = uk_amdgpu_fail(run->gpu, UK_AMDGPU_NO_MEMORY, "no memory for a block's waves");
    else if (!by_kind || !by_kind(run, descriptor))
        uk_run_blocks(run, descriptor);
    for (uint32_t i = 0; i < run->code->n; ++i)
        if (run->code->inst[i].op)
            run->counts->instructions[run->code->inst[i].op->kind] += run->code->inst[i].n_executed;
    uk_simt_shadow_end(&run->block.shadow);
    for (uint32_t i = 0; i < run->block.n_waves; ++i)
        free(run->waves[i]);
    free(run->block.lds);
    free(run->block.lds_undefined);
    free(run->scratch);
    return run->status;
}
