/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a launch by kinds of blocks (slice.h): the first two blocks of each kind are executed, and the others
 * are counted like the second.
 *
 * Lines: an access of another block of the kind touches the same bytes as that of the first one, moved by the
 * distance of their first addresses (footprint.c). That is exact for addresses that are sums of a term of the
 * block and a term of the thread and the iteration, and an approximation for others: pixels of a block that
 * begin in the middle of an image's row.
 *
 * Time: the second block finds all of its lines in L2, the first one those that blocks before it accessed.
 * Another block's wave takes the second's cycles, and of the difference to the first one as much as it has
 * new lines.
 */
#include <stdlib.h>
#include <string.h>
#include "kinds.h"

struct kind {
    uint64_t number, blocks, executed;
    uint64_t first; /* block that is executed first */
    struct uk_block_time time;
    /* cycles of the longest wave if its lines are in L2; and of the first block, in addition, per new line */
    float alone, new_line;
    uint64_t new_lines;             /* of the first block */
    struct uk_footprint *footprint; /* per access; NULL: there are no other blocks than the first two */
};

struct uk_kinds {
    struct uk_slice slice;
    uint64_t blocks;
    uint32_t *of_block; /* per block: its kind */
    uint64_t *address;  /* per block and access: uk_slice_block() */
    struct kind *kind;
    uint32_t n, capacity;
    uint32_t *table; /* kinds by number, open addressing, 1-based */
    uint64_t table_size;
};

/* ---- finding kinds ---- */

/* The kind with this number, which may be new; NULL: no memory. */
static struct kind *find_kind(struct uk_kinds *k, uint64_t number, uint64_t block) {
    uint64_t at = number % k->table_size;

    while (k->table[at] && k->kind[k->table[at] - 1].number != number)
        at = (at + 1) % k->table_size;
    if (k->table[at])
        return &k->kind[k->table[at] - 1];
    if (k->n == k->capacity) {
        const uint32_t capacity = k->capacity ? 2 * k->capacity : 16;
        struct kind *kind = realloc(k->kind, capacity * sizeof *kind);

        if (!kind)
            return NULL;
        k->kind = kind;
        k->capacity = capacity;
    }
    k->kind[k->n] = (struct kind){.number = number, .first = block};
    k->table[at] = ++k->n;
    return &k->kind[k->n - 1];
}

static enum uk_slice_result find_kinds(struct uk_kinds *k, struct uk_amdgpu_run_state *run,
                                       const struct uk_amdgpu_descriptor *descriptor) {
    k->table_size = 2 * k->blocks + 1;
    k->of_block = malloc(k->blocks * sizeof *k->of_block);
    k->table = calloc(k->table_size, sizeof *k->table);
    if (!uk_slice_begin(&k->slice, run->code) || !k->of_block || !k->table)
        return UK_SLICE_NO_MEMORY;
    k->address = malloc((k->blocks * k->slice.accesses + 1) * sizeof *k->address);
    if (!k->address)
        return UK_SLICE_NO_MEMORY;
    for (uint64_t b = 0; b < k->blocks; ++b) {
        uint64_t number;
        struct kind *kind;

        uk_block_begin(run, b);
        const enum uk_slice_result result =
            uk_slice_block(&k->slice, run, descriptor, &number, k->address + b * k->slice.accesses);

        if (result)
            return result;
        if (!(kind = find_kind(k, number, b)))
            return UK_SLICE_NO_MEMORY;
        ++kind->blocks;
        k->of_block[b] = (uint32_t)(kind - k->kind);
    }
    return UK_SLICE_DONE;
}

static void free_kinds(struct uk_kinds *k) {
    for (uint32_t i = 0; i < k->n; ++i) {
        for (uint32_t a = 0; k->kind[i].footprint && a < k->slice.accesses; ++a)
            uk_footprint_end(&k->kind[i].footprint[a]);
        free(k->kind[i].footprint);
    }
    uk_slice_end(&k->slice);
    free(k->of_block);
    free(k->address);
    free(k->kind);
    free(k->table);
}

/* ---- lines ---- */

static uint64_t distance_of(const struct uk_kinds *k, const struct kind *kind, uint32_t access,
                            uint64_t block) {
    return k->address[block * k->slice.accesses + access] -
           k->address[kind->first * k->slice.accesses + access];
}

/* Begins to record the accesses of a kind's first block, for the distances of all of its blocks. false: no
 * memory. */
static bool begin_footprints(const struct uk_kinds *k, struct kind *kind, unsigned line) {
    const uint32_t number = (uint32_t)(kind - k->kind);

    if (!(kind->footprint = calloc(k->slice.accesses + 1, sizeof *kind->footprint)))
        return false;
    for (uint32_t a = 0; a < k->slice.accesses; ++a)
        if (!uk_footprint_begin(&kind->footprint[a], line))
            return false;
    for (uint64_t b = kind->first; b < k->blocks; ++b)
        for (uint32_t a = 0; a < k->slice.accesses && k->of_block[b] == number; ++a)
            kind->footprint[a].is_used[distance_of(k, kind, a, b) % line] = true;
    return true;
}

/* Counts the lines of a block that is not executed. false: no memory. */
static bool add_lines(const struct uk_kinds *k, struct uk_amdgpu_run_state *run, const struct kind *kind,
                      uint64_t block) {
    struct uk_block_time *time = &run->launch->times[block];
    uint64_t all = 0, is_new = 0;

    for (uint32_t a = 0; a < k->slice.accesses; ++a) {
        const uint64_t distance = distance_of(k, kind, a, block);

        all += kind->footprint[a].lines[distance % kind->footprint[a].line];
        if (!uk_footprint_mark(&kind->footprint[a], &run->gpu->memory, distance, &is_new))
            return false;
    }
    run->counts->lines += all;
    run->counts->distinct_lines += is_new;
    *time = kind->time;
    time->lines = (float)all;
    time->alone += kind->new_line * (float)is_new;
    return true;
}

/* ---- execution ---- */

/* The counters of one instruction. */
struct counters {
    uint64_t executed, lds_cycles, lds_conflicts, waited[2];
};

static struct counters *counters_of(const struct uk_amdgpu_code *code) {
    struct counters *c = malloc(code->n * sizeof *c);

    for (uint32_t i = 0; i < code->n && c; ++i) {
        const struct uk_amdgpu_inst *n = &code->inst[i];

        c[i] =
            (struct counters){n->n_executed, n->lds_cycles, n->lds_conflicts, {n->waited[0], n->waited[1]}};
    }
    return c;
}

/* Adds the increase since `before` again, `times` times. */
static void repeat(uint64_t *count, uint64_t before, uint64_t times) {
    *count += (*count - before) * times;
}

static void repeat_instructions(struct uk_amdgpu_code *code, const struct counters *before, uint64_t times) {
    for (uint32_t i = 0; i < code->n; ++i) {
        struct uk_amdgpu_inst *n = &code->inst[i];

        repeat(&n->n_executed, before[i].executed, times);
        repeat(&n->lds_cycles, before[i].lds_cycles, times);
        repeat(&n->lds_conflicts, before[i].lds_conflicts, times);
        repeat(&n->waited[0], before[i].waited[0], times);
        repeat(&n->waited[1], before[i].waited[1], times);
    }
}

static void repeat_counts(struct uk_amdgpu_counts *c, const struct uk_amdgpu_counts *before, uint64_t times) {
    repeat(&c->flops, before->flops, times);
    repeat(&c->matrix_multiply_adds, before->matrix_multiply_adds, times);
    repeat(&c->load_bytes, before->load_bytes, times);
    repeat(&c->store_bytes, before->store_bytes, times);
    repeat(&c->lds_read_cycles, before->lds_read_cycles, times);
    repeat(&c->lds_write_cycles, before->lds_write_cycles, times);
    repeat(&c->lds_read_conflicts, before->lds_read_conflicts, times);
    repeat(&c->lds_write_conflicts, before->lds_write_conflicts, times);
}

/* Executes the first or second block of a kind. false: no memory. */
static bool execute(struct uk_kinds *k, struct uk_amdgpu_run_state *run,
                    const struct uk_amdgpu_descriptor *descriptor, struct kind *kind, uint64_t block) {
    const bool is_first = !kind->executed++;
    struct uk_amdgpu_counts before = *run->counts;
    struct counters *instructions = counters_of(run->code);

    if (is_first && kind->blocks > 2 &&
        !begin_footprints(k, kind, (unsigned)run->launch->core->device.line)) {
        free(instructions);
        return false;
    }
    run->footprint = is_first ? kind->footprint : NULL;
    run->access = k->slice.access;
    run->in_l2 = !is_first;
    uk_amdgpu_run_block(run, descriptor, block);
    run->in_l2 = false;
    run->footprint = NULL;
    ++run->counts->executed_blocks;
    if (instructions && !is_first) {
        repeat_instructions(run->code, instructions, kind->blocks - 2);
        repeat_counts(run->counts, &before, kind->blocks - 2);
    }
    kind->time = run->launch->times[block];
    if (is_first) {
        kind->new_lines = run->counts->distinct_lines - before.distinct_lines;
        kind->alone = kind->time.alone;
        for (uint32_t a = 0; a < k->slice.accesses && kind->footprint; ++a)
            uk_footprint_join(&kind->footprint[a]);
    } else {
        const float more = kind->alone - kind->time.alone;

        kind->new_line = kind->new_lines && more > 0 ? more / (float)kind->new_lines : 0;
        kind->alone = kind->time.alone;
        run->launch->times[block].alone +=
            kind->new_line * (float)(run->counts->distinct_lines - before.distinct_lines);
    }
    free(instructions);
    return instructions;
}

static bool run_block(struct uk_kinds *k, struct uk_amdgpu_run_state *run,
                      const struct uk_amdgpu_descriptor *descriptor, uint64_t block) {
    struct kind *kind = &k->kind[k->of_block[block]];

    return kind->executed < 2 ? execute(k, run, descriptor, kind, block) : add_lines(k, run, kind, block);
}

bool uk_run_kinds(struct uk_amdgpu_run_state *run, const struct uk_amdgpu_descriptor *descriptor) {
    const uint32_t *grid = run->launch->grid;
    struct uk_amdgpu_counts *counts = run->counts, unused = {.flops = 0};
    struct uk_kinds k = {.blocks = (uint64_t)grid[0] * grid[1] * grid[2]};

    run->counts = &unused;
    enum uk_slice_result result = k.blocks ? find_kinds(&k, run, descriptor) : UK_SLICE_DATA;

    run->counts = counts;
    run->steps = 0;
    run->counts->kinds = result ? 0 : k.n;
    for (uint64_t b = 0; b < k.blocks && !result && !run->status; ++b)
        if (!run_block(&k, run, descriptor, b))
            result = UK_SLICE_NO_MEMORY;
    if (result == UK_SLICE_NO_MEMORY)
        run->status = uk_amdgpu_fail(run->gpu, UK_AMDGPU_NO_MEMORY, "no memory for the kinds of blocks");
    free_kinds(&k);
    return result != UK_SLICE_DATA;
}
