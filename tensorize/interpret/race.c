/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Races between the threads of a kernel. Each element has a record of its last writer and readers, each with
 * its thread and epoch; barriers, blocks and launches begin an epoch. Threads run one after another here, so
 * races do not change results; they are reported.
 */
#include <inttypes.h>
#include "interpret.h"

/* epoch 0: no access */
struct accessor {
    uint32_t epoch, thread;
};

/* Two readers of one epoch suffice: a writer differs from at least one of them. earlier_reader: one in an
 * earlier block of the launch. */
struct uk_shadow {
    struct accessor writer, reader[2], earlier_reader;
};

struct uk_races {
    uint32_t epoch, block_begin, launch_begin; /* the first epochs of the block and of the launch */
    const struct uk_node *launch;
};

bool uk_races_begin(struct uk_frame *f) {
    f->races = uk_alloc(&f->arena, sizeof *f->races);
    for (int i = 0; i < f->storages && f->races; i++) {
        struct uk_storage *s = &f->storage[i];

        if (!s->is_private &&
            !(s->shadow = uk_alloc(&f->arena, ((size_t)s->elements + 1) * sizeof *s->shadow)))
            return false;
    }
    return f->races;
}

void uk_races_launch(struct uk_frame *f, const struct uk_node *launch) {
    struct uk_races *r = f->races;

    r->launch = launch;
    r->launch_begin = r->block_begin = ++r->epoch;
}

void uk_races_block(struct uk_frame *f) {
    f->races->block_begin = ++f->races->epoch;
}

void uk_races_barrier(struct uk_frame *f) {
    f->races->epoch++;
}

struct uk_shadow *uk_shadow_at(const struct uk_storage *s, int64_t element) {
    return s->shadow ? s->shadow + element : NULL;
}

/* Puts NAME[3, 17] for an element's offset: divides by the largest strides first. */
static void put_element(struct uk_frame *f, struct uk_text *t, const struct uk_tensor *x, int64_t at) {
    int64_t stride[UK_MAX_DIMS], index[UK_MAX_DIMS] = {0};
    bool done[UK_MAX_DIMS] = {false};

    for (int d = 0; d < x->stored_dims; d++)
        stride[d] = uk_index_eval(x->stride[d], uk_frame_value, f, &f->overflow);
    for (int n = 0; n < x->stored_dims; n++) {
        int outermost = -1;

        for (int d = 0; d < x->stored_dims; d++)
            outermost = !done[d] && (outermost < 0 || stride[d] > stride[outermost]) ? d : outermost;
        done[outermost] = true;
        if (stride[outermost] > 0) {
            index[outermost] = at / stride[outermost];
            at %= stride[outermost];
        }
    }
    uk_put(t, "%s[", x->name);
    for (int d = 0; d < x->stored_dims; d++)
        uk_put(t, "%s%" PRId64, d ? ", " : "", index[d]);
    uk_put(t, "]");
}

static void put_thread(struct uk_frame *f, struct uk_text *t, uint32_t thread) {
    const int64_t *block = f->races->launch->block;

    uk_put(t, "(%" PRId64, thread % block[0]);
    if (block[1] * block[2] > 1)
        uk_put(t, ",%" PRId64, thread / block[0] % block[1]);
    if (block[2] > 1)
        uk_put(t, ",%" PRId64, thread / block[0] / block[1]);
    uk_put(t, ")");
}

static void report(struct uk_frame *f, const struct uk_storage *s, int64_t at, const struct accessor *other) {
    struct uk_text t = {0};

    if (f->status)
        return;
    put_element(f, &t, s->tensor, at);
    uk_put(&t, " between thread ");
    put_thread(f, &t, other->thread);
    if (other->epoch < f->races->block_begin)
        uk_put(&t, " of another block");
    uk_put(&t, " and ");
    put_thread(f, &t, (uint32_t)f->thread);
    f->status = uk_fail(f->context, UK_INTERNAL, (struct uk_position){0, 0}, "race on %s; please report this",
                        t.text ? t.text : "?");
    uk_text_free(t.text);
}

/* True if nothing orders the two accesses. Each block has its own shared memory. */
static bool is_unordered(const struct uk_frame *f, const struct uk_storage *s, const struct accessor *other) {
    const struct uk_races *r = f->races;

    if (other->epoch == r->epoch)
        return other->thread != (uint32_t)f->thread;
    return other->epoch >= r->launch_begin && other->epoch < r->block_begin && s->scope == UK_SCOPE_GLOBAL;
}

static void keep_reader(const struct uk_frame *f, struct uk_shadow *x) {
    const struct uk_races *r = f->races;
    const struct accessor me = {r->epoch, (uint32_t)f->thread};

    for (int i = 0; i < 2; i++)
        if (x->reader[i].epoch >= r->launch_begin && x->reader[i].epoch < r->block_begin)
            x->earlier_reader = x->reader[i];
    for (int i = 0; i < 2; i++)
        if (x->reader[i].epoch != r->epoch || x->reader[i].thread == me.thread) {
            x->reader[i] = me;
            return;
        }
}

void uk_race(struct uk_frame *f, const struct uk_storage *s, int64_t at, bool writes) {
    struct uk_shadow *x = s->shadow + at;

    if (!f->races || !f->in_kernel)
        return;
    if (is_unordered(f, s, &x->writer))
        report(f, s, at, &x->writer);
    if (!writes) {
        keep_reader(f, x);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (is_unordered(f, s, &x->reader[i]))
            report(f, s, at, &x->reader[i]);
    if (is_unordered(f, s, &x->earlier_reader))
        report(f, s, at, &x->earlier_reader);
    x->writer = (struct accessor){f->races->epoch, (uint32_t)f->thread};
}
