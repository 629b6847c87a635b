/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of a product's tile on a GPU, by the estimate of tile_time.c. Few blocks leave compute units
 * idle, so the sum of a small output is divided into parts, which a second kernel adds.
 */
#include <float.h>
#include <limits.h>
#include <string.h>
#include "product.h"
#include "registry/operation.h"

enum {
    /* rows and columns of a thread's tile if the target has no kernels */
    DEFAULT_TILE = 8,
    /* threads along either axis of a block that is a square */
    MAX_THREADS = 16,
    MIN_THREADS = 8,
    /* an output with at most as many rows or columns is narrow: blocks may be, too */
    NARROW = 32,
    /* steps of the sum in a part, at least */
    MIN_STEPS = 4,
    /* terms of the sum in a step: enough work to hide the loads of the next one */
    MIN_TERMS = 8,
    MAX_TERMS = 32,
    /* waves along either axis of a block, each with a kernel's tile, and groups of terms in a step of such:
     * the two that lanes read at a time, or more */
    MAX_WAVES_PER_AXIS = 2,
    MIN_WAVE_GROUPS = 2,
    MAX_WAVE_GROUPS = 8,
    MOST_PARTS = 64,
};

struct choice {
    struct uk_tile tile;
    double cycles; /* UK_TILE_NO_MEMORY is less than any */
};

const char *uk_device_tile_name(const struct uk_product *p, const struct uk_tile *t) {
    struct uk_arena *a = p->s->arena;
    const char *tile =
        uk_format(a, "tiles of %d x %d in blocks of %d x %d %s, %d terms a step", t->rows, t->columns,
                  t->row_threads, t->column_threads, t->wave ? "waves" : "threads", t->terms);

    if (t->part_terms && tile)
        return uk_format(a, "%s, parts of the sum of %d terms", tile, t->part_terms);
    return t->parts == 1 || !tile ? tile : uk_format(a, "%s, %d parts of the sum", tile, (int)t->parts);
}

/* True if the draft with this tile was refused. One with parts is of the stage that computes these. */
static bool is_refused(const struct uk_product *p, const struct uk_tile *t) {
    const char *name = p->s->refused ? uk_device_tile_name(p, t) : NULL;

    return name && uk_refusal(p->s, uk_device_has_parts(t) ? p->parts_name : p->st->name, name);
}

/* The number of parts of the sum that may be tried: those of constant sizes, each of a few steps. */
static int64_t most_parts(const struct uk_product *p) {
    const int64_t terms = uk_constant_extent(p->st, p->sum);
    int64_t parts = 1;

    while (p->parts_name && 2 * parts <= MOST_PARTS && terms >= 2 * parts * MIN_STEPS * MIN_TERMS)
        parts *= 2;
    return parts;
}

const char *uk_device_wanted_kernel(const struct uk_product *p) {
    const char *stage = p->s->wanted_stage;

    return stage && !strcmp(stage, p->st->name) ? p->s->wanted_kernel : NULL;
}

struct uk_tile_range uk_device_tile_range(const struct uk_tile *t) {
    if (t->wave)
        return (struct uk_tile_range){1, MAX_WAVES_PER_AXIS, MIN_WAVE_GROUPS * t->group,
                                      MAX_WAVE_GROUPS * t->group};
    return (struct uk_tile_range){MIN_THREADS, MAX_THREADS, MIN_TERMS * t->group, MAX_TERMS * t->group};
}

static void consider_block(const struct uk_product *p, struct uk_tile t, int most_terms,
                           struct choice *best) {
    const int64_t most = uk_device_wanted_kernel(p) ? 1 : most_parts(p);
    const struct uk_tile_range r = uk_device_tile_range(&t);

    for (t.terms = r.min_terms; t.terms <= r.max_terms && t.terms <= most_terms; t.terms *= 2)
        for (t.parts = 1; t.parts <= most; t.parts *= 2) {
            const double cycles =
                is_refused(p, &t) ? DBL_MAX : uk_device_tile_cycles(p, &t, AUTO_COUNTED_BLOCKS);

            if (cycles < best->cycles)
                *best = (struct choice){t, cycles};
        }
}

/* Considers this tile in blocks of 1, 2 and 4 waves, with up to this many terms a step and any number of
 * parts, and updates *best. Narrow blocks are for narrow outputs. */
static void consider_tile(const struct uk_product *p, struct uk_tile t, int most_terms, struct choice *best) {
    static const struct {
        int rows, columns;
        bool is_narrow;
    } threads[] = {{16, 16, false}, {8, 16, false}, {16, 8, false}, {8, 8, false}, {4, 16, true},
                   {4, 32, true},   {2, 32, true},  {2, 64, true},  {1, 64, true}};

    for (int waves = 0; t.wave && waves < MAX_WAVES_PER_AXIS * MAX_WAVES_PER_AXIS; waves++) {
        t.row_threads = MAX_WAVES_PER_AXIS - waves / MAX_WAVES_PER_AXIS;
        t.column_threads = MAX_WAVES_PER_AXIS - waves % MAX_WAVES_PER_AXIS;
        consider_block(p, t, most_terms, best);
    }
    for (size_t i = 0; !t.wave && i < sizeof threads / sizeof threads[0]; i++) {
        t.row_threads = threads[i].rows;
        t.column_threads = threads[i].columns;
        if (!threads[i].is_narrow || p->row_values <= NARROW)
            consider_block(p, t, most_terms, best);
        t.row_threads = threads[i].columns;
        t.column_threads = threads[i].rows;
        if (threads[i].is_narrow && p->column_values <= NARROW)
            consider_block(p, t, most_terms, best);
    }
}

static void consider_plain_tile(const struct uk_product *p, int rows, int columns, struct choice *best) {
    const struct uk_tile t = {.rows = rows, .columns = columns, .group = 1, .instructions = rows * columns};

    consider_tile(p, t, MIN_TERMS, best);
}

/* True if the kernel multiplies the operands' types into the output's. */
static bool has_types(const struct uk_product *p, const struct uk_kernel *k) {
    const enum uk_type c = p->st->operand[0].tensor->type, a = p->st->operand[p->a].tensor->type,
                       b = p->st->operand[p->b].tensor->type;

    switch (uk_kernel_operation(k)->element) {
    case UK_ELEMENT_F32:
        return c == UK_F32 && a == c && b == c;
    case UK_ELEMENT_F16:
        return c == UK_F32 && a == UK_F16 && b == a;
    case UK_ELEMENT_BF16:
        return c == UK_F32 && a == UK_BF16 && b == a;
    case UK_ELEMENT_I8:
        return c == UK_I32 && a == UK_I8 && b == a;
    default:
        return false;
    }
}

bool uk_device_kernel_tile(const struct uk_product *p, int kernel, struct uk_tile *out) {
    const struct uk_kernel *k = uk_kernel_at(kernel);
    const bool is_wave = uk_kernel_operation(k)->form == UK_OP_WAVE;
    const char *wanted = uk_device_wanted_kernel(p);
    char lacks[64];

    *out = (struct uk_tile){.rows = uk_kernel_mr(k),
                            .columns = uk_kernel_nr(k),
                            .wave = is_wave ? k : NULL,
                            .group = uk_kernel_kr(k),
                            .parts = 1,
                            .instructions = (uk_kernel_fma(k) + uk_kernel_other(k)) / uk_kernel_kr(k)};
    return (is_wave || uk_kernel_operation(k)->form == UK_OP_SHARED) && has_types(p, k) &&
           (!is_wave || uk_device_has_groups(p, out)) && (!wanted || !strcmp(wanted, uk_kernel_symbol(k))) &&
           !uk_target_lacks_for(p->s->target, k, lacks, sizeof lacks);
}

/* True if a version of the program wants this tile, and it was not refused. */
static bool takes_wanted(const struct uk_product *p, struct uk_tile *out) {
    const struct uk_wanted_tile *w = p->s->version ? p->s->version->wanted_tile : NULL;

    if (!w || strcmp(w->stage, p->st->name) != 0 || (uk_device_has_parts(&w->tile) && !p->parts_name) ||
        is_refused(p, &w->tile))
        return false;
    *out = w->tile;
    return true;
}

enum uk_status uk_device_choose_tile(const struct uk_product *p, struct uk_tile *out, bool *found) {
    struct choice best = {.cycles = DBL_MAX};
    const char *wanted = uk_device_wanted_kernel(p);
    bool has_kernels = false;
    struct uk_tile t;

    if ((*found = takes_wanted(p, out))) {
        if (p->s->report)
            uk_put(p->s->report, "stage %s: %s\n", p->st->name, uk_device_tile_name(p, out));
        return UK_OK;
    }
    for (int i = 0; i < uk_kernel_count(); i++)
        if (uk_device_kernel_tile(p, i, &t)) {
            has_kernels = true;
            consider_tile(p, t, INT_MAX, &best);
        }
    /* Without kernels LLVM compiles tiles of about their size, and smaller ones in any case. It reads all
     * operands of a step ahead, so a step of more terms takes too many registers. */
    if (!has_kernels)
        consider_plain_tile(p, DEFAULT_TILE, DEFAULT_TILE, &best);
    if (!wanted || !has_kernels) {
        consider_plain_tile(p, DEFAULT_TILE, UK_GROUP, &best);
        consider_plain_tile(p, UK_GROUP, UK_GROUP, &best);
    }
    *out = best.tile;
    *found = best.cycles < DBL_MAX;
    if (*found && p->s->report)
        uk_put(p->s->report, "stage %s: %s: estimated %.0f cycles\n", p->st->name,
               uk_device_tile_name(p, out), best.cycles);
    return best.cycles < 0 ? uk_out_of_memory(p->s->context) : UK_OK;
}
