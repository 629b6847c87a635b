/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outstanding memory accesses. Accesses counted by vmcnt complete in order. Of those counted by lgkmcnt, LDS
 * accesses complete in order among themselves, and scalar loads in any order, so that only a wait for 0
 * covers them (AMD's manuals, "Data dependency resolution").
 */
#include <string.h>
#include "state.h"

/* The latest outstanding load of the vector register for any of these lanes, other than `not`; or NULL. Lanes
 * that branched differently may load one register by different instructions. */
static const struct uk_amdgpu_event *uk_event_of(const struct uk_amdgpu_wave *w, unsigned r, uint64_t exec,
                                                 const struct uk_amdgpu_event * not) {
    const struct uk_amdgpu_event *last = NULL;

    for (int queue = 0; queue < 2; ++queue)
        for (unsigned k = 0; k < w->events[queue].n; ++k) {
            const struct uk_amdgpu_event *e = &w->events[queue].slot[w->events[queue].order[k]];

            if (e != not&&!e->scalar && r - e->first < e->n && e->exec & exec && (!last || e->id > last->id))
                last = e;
        }
    return last;
}

/* The lanes of e that no later load of register r writes. */
static uint64_t uk_event_lanes(const struct uk_amdgpu_wave *w, const struct uk_amdgpu_event *e, unsigned r) {
    uint64_t lanes = e->exec;

    for (int queue = 0; queue < 2; ++queue)
        for (unsigned k = 0; k < w->events[queue].n; ++k) {
            const struct uk_amdgpu_event *o = &w->events[queue].slot[w->events[queue].order[k]];

            if (o->id > e->id && !o->scalar && r - o->first < o->n)
                lanes &= ~o->exec;
        }
    return lanes;
}

static void uk_event_end(struct uk_amdgpu_wave *w, const struct uk_amdgpu_event *e) {
    for (unsigned k = 0; k < e->n; ++k) {
        const unsigned r = e->first + k;

        if (e->scalar && w->s_pending[r] == e->id) {
            w->s_pending[r] = 0;
            w->s_undefined[r] = (uint32_t)e->undefined[k];
        } else if (!e->scalar) {
            const struct uk_amdgpu_event *other = uk_event_of(w, r, UINT64_MAX, e);
            const uint64_t lanes = other ? uk_event_lanes(w, e, r) : e->exec;

            w->pending[r] = other ? other->id : 0;
            w->undefined[r] = (w->undefined[r] & ~lanes) | (e->undefined[k] & lanes);
        }
    }
}

/* Completes the access at this position of the queue. */
static void uk_event_take(struct uk_amdgpu_wave *w, struct uk_amdgpu_events *q, unsigned place) {
    const uint8_t slot = q->order[place];

    if (w->clock < q->slot[slot].done)
        w->clock = q->slot[slot].done;
    uk_event_end(w, &q->slot[slot]);
    q->used &= ~((uint64_t)1 << slot);
    --q->n;
    memmove(q->order + place, q->order + place + 1, q->n - place);
}

/* A full queue completes its oldest access, as hardware waits when a counter is full. */
struct uk_amdgpu_event *uk_event_new(struct uk_amdgpu_wave *w, enum uk_amdgpu_queue queue,
                                     const struct uk_amdgpu_inst *inst) {
    const struct uk_core *core = w->block->run->launch->core;
    struct uk_amdgpu_events *q = &w->events[queue];
    struct uk_amdgpu_event *e;
    unsigned slot;

    if (q->n == UK_AMDGPU_QUEUE)
        uk_event_take(w, q, 0);
    slot = (unsigned)__builtin_ctzll(~q->used);
    q->used |= (uint64_t)1 << slot;
    q->order[q->n++] = (uint8_t)slot;
    e = &q->slot[slot];
    e->inst = inst;
    e->exec = uk_exec(w);
    e->id = ++w->next_id;
    e->scalar = e->lds = e->write = false;
    e->shared = 0;
    e->done = 0;
    if (core)
        e->done = w->clock + (uint64_t)(queue == UK_AMDGPU_QUEUE_LGKM ? core->device.latency.shared
                                                                      : core->device.latency.l2);
    e->n = 0;
    e->parts = 0;
    return e;
}

void uk_event_marks(struct uk_amdgpu_wave *w, const struct uk_amdgpu_event *e) {
    for (unsigned k = 0; k < e->n; ++k) {
        const unsigned r = e->first + k;

        if (e->scalar) {
            w->s_pending[r] = e->id;
            w->s_undefined[r] = UINT32_MAX;
        } else {
            w->pending[r] = e->id;
            w->undefined[r] |= e->exec;
        }
    }
}

unsigned uk_wait(struct uk_amdgpu_wave *w, enum uk_amdgpu_queue queue, unsigned n) {
    struct uk_amdgpu_events *q = &w->events[queue];
    const unsigned before = q->n;
    unsigned in_order = 0;

    for (unsigned i = 0; i < q->n; ++i)
        in_order += !q->slot[q->order[i]].scalar;
    for (unsigned i = 0; i < q->n;) {
        const bool scalar = q->slot[q->order[i]].scalar;

        if (scalar ? n > 0 : in_order <= n) {
            ++i;
            continue;
        }
        in_order -= !scalar;
        uk_event_take(w, q, i);
    }
    return before - q->n;
}

static bool uk_event_record_access(struct uk_amdgpu_run_state *run, const struct uk_amdgpu_wave *w,
                                   const struct uk_amdgpu_event *e) {
    const struct uk_simt_access access = {run->block.number, run->block.epoch, w->number, e->inst->number,
                                          e->write};
    struct uk_simt_access other;

    for (unsigned part = 0; part < e->parts; ++part)
        for (int l = 0; l < UK_AMDGPU_LANES; ++l) {
            const uint64_t address = e->address[part][l];
            struct uk_simt_buffer *buffer = e->lds ? NULL : uk_simt_buffer_at(&run->gpu->memory, address);
            struct uk_simt_shadow *shadow = e->lds ? &run->block.shadow : &buffer->shadow;

            if (e->shared >> l & 1 &&
                uk_simt_record_access(shadow, e->lds ? address : address - buffer->address, e->part_bytes,
                                      &access, &other) < 0)
                return false;
        }
    return true;
}

bool uk_wait_barrier(struct uk_amdgpu_run_state *run) {
    for (uint32_t i = 0; i < run->block.n_waves; ++i)
        for (int queue = 0; queue < 2; ++queue)
            for (unsigned k = 0; k < run->waves[i]->events[queue].n; ++k) {
                const struct uk_amdgpu_events *q = &run->waves[i]->events[queue];

                if (!uk_event_record_access(run, run->waves[i], &q->slot[q->order[k]]))
                    return false;
            }
    return true;
}

static const struct uk_amdgpu_event *uk_event_find(const struct uk_amdgpu_wave *w, uint32_t id) {
    for (int queue = 0; queue < 2; ++queue)
        for (unsigned k = 0; k < w->events[queue].n; ++k) {
            const struct uk_amdgpu_event *e = &w->events[queue].slot[w->events[queue].order[k]];

            if (e->id == id)
                return e;
        }
    return NULL;
}

static enum uk_amdgpu_step uk_pending(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, bool vector,
                                      unsigned index, const struct uk_amdgpu_event *e, const char *use) {
    return uk_report(w, i, -1, "%s is %s before an s_waitcnt for %s", uk_register_name(vector, index).text,
                     use, uk_name(e->inst).text);
}

enum uk_amdgpu_step uk_use_v(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, unsigned first,
                             unsigned n, uint64_t exec, const char *use) {
    for (unsigned r = first; r < first + n; ++r)
        if (w->pending[r]) {
            const struct uk_amdgpu_event *e = uk_event_of(w, r, exec, NULL);

            if (e)
                return uk_pending(w, i, true, r, e, use);
        }
    return UK_AMDGPU_STEP_NEXT;
}

enum uk_amdgpu_step uk_use_s(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, unsigned first,
                             unsigned n, const char *use) {
    for (unsigned r = first; r < first + n; ++r)
        if (w->s_pending[r]) {
            const struct uk_amdgpu_event *e = uk_event_find(w, w->s_pending[r]);

            if (e)
                return uk_pending(w, i, false, r, e, use);
        }
    return UK_AMDGPU_STEP_NEXT;
}

/* A later load of the same queue may load the register again: they complete in order. */
enum uk_amdgpu_step uk_reload(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, unsigned first,
                              unsigned n, uint64_t exec, enum uk_amdgpu_queue queue) {
    for (unsigned r = first; r < first + n; ++r)
        if (w->pending[r]) {
            const struct uk_amdgpu_event *e = uk_event_of(w, r, exec, NULL);
            const bool lds = e && e->lds;

            if (e && lds != (queue == UK_AMDGPU_QUEUE_LGKM))
                return uk_pending(w, i, true, r, e, "overwritten");
        }
    return UK_AMDGPU_STEP_NEXT;
}
