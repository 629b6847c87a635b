/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test for every kernel of every operation: the operation's declaration defines the operands of a call.
 */
#include "check_kernel.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check_call.h"

enum { STEPS = 3 };

/* Checks an edge. Whole tiles and tiles of one element get all combinations of acc, strides, placement and
 * data; sizes between get some in turn. */
static bool check_edge(struct check *c, int64_t k, int64_t mr, int64_t nr, unsigned *turn) {
    const bool corner = (mr == c->row->mr && nr == c->row->nr) || (mr == 1 && nr == 1);
    const char *emulated = getenv("UK_UNDER_QEMU");
    const bool longest = k == MAX_K && emulated;
    const bool wide = c->op.is_wide && nr > 1, some = emulated && !strcmp(emulated, "some");
    const bool all = corner && !(longest && wide) && !(some && (longest || wide));
    const unsigned variants = 2 * 2 * PLACEMENTS * DATA;

    /* Under an emulator the longest k takes four fifths of the time. There only corners run it, and with
     * thousands of columns only two variants. With UK_UNDER_QEMU=some either reason limits the test to two
     * variants. */
    if (longest && !corner)
        return true;
    for (unsigned v = 0; v < (all ? variants : 2); v++) {
        /* 7 is coprime to the number of variants, so the turns reach all. */
        unsigned now = all ? v : (*turn += 7) % variants;

        c->shape = (struct shape){.k = k, .mr = mr, .nr = nr};
        c->shape.acc = c->op.has_acc && now % 2;
        c->shape.gap = now / 2 % 2 ? GAP : 0;
        c->shape.step = 1 + (k + mr + now) % STEPS;
        c->shape.reversed = (k + nr + now / 2) % 2;
        c->shape.placement = (enum placement)(now / 4 % PLACEMENTS);
        c->shape.data = (enum data)(now / 4 / PLACEMENTS % DATA);
        if (!check_call(c))
            return false;
    }
    return true;
}

/* Checks all edges with each k; k = NULL: checks accesses outside the output's rows. */
static bool check_edges(struct check *c, const int64_t *k, unsigned *turn) {
    const struct op *op = &c->op;
    bool ok = true;

    for (int64_t mr = op->min_rows; mr <= op->max_rows; mr++)
        for (int64_t nr = op->min_columns; nr <= op->max_columns && ok; nr++) {
            if (nr > SOME_COLUMNS && nr != op->max_columns && op->is_wide)
                continue;
            if (k)
                ok = check_edge(c, *k, mr, nr, turn);
            else
                ok = check_neighbours(c, mr, nr, 0) && (!op->has_acc || check_neighbours(c, mr, nr, 1));
        }
    return ok;
}

/* Makes arenas as large as the largest operands with that k, plus a page for stray writes, which are checked
 * too. */
static bool make_arenas(struct check *c, int64_t k) {
    size_t bytes[OPERANDS] = {0};
    struct plan plan;
    bool ok = true;

    for (int v = 0; v < 2 * STEPS; v++) {
        const struct shape most = {.k = k,
                                   .mr = c->op.max_rows,
                                   .nr = c->op.max_columns,
                                   .gap = GAP,
                                   .step = 1 + v / 2,
                                   .reversed = v % 2};

        check_plan(c->row, &c->op, &most, &plan);
        for (int i = 0; i < plan.operands; i++) {
            const size_t n = (size_t)operand_extent(&plan.operand[i]) * bytes_of(plan.operand[i].type);

            bytes[i] = n > bytes[i] ? n : bytes[i];
        }
    }
    for (int i = 0; i < plan.operands; i++)
        ok = arena_make(&c->arena[i], bytes[i] + 4096) && (c->before[i] = malloc(c->arena[i].size)) &&
             (c->magnitude[i] = malloc(c->arena[i].size)) && ok;
    if (!ok)
        snprintf(c->message, c->size, "%s: no memory for the test", c->row->symbol);
    return ok;
}

static void free_arenas(struct check *c) {
    for (int i = 0; i < OPERANDS; i++) {
        arena_free(&c->arena[i]);
        free(c->before[i]);
        free(c->magnitude[i]);
        c->before[i] = c->magnitude[i] = NULL;
        check_release_rows(&c->far_row[i]);
    }
}

bool check_kernel(const struct uk_kernel *row, void (*function)(void), char *message, size_t size) {
    /* 29: after whole vectors of 8 or 16 terms some are left. */
    static const int64_t all_sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 29, 64, MAX_K},
                         some_sizes[] = {0, 1, 3, 4, 7, 29, MAX_K};
    const char *emulated = getenv("UK_UNDER_QEMU");
    const bool some = emulated && !strcmp(emulated, "some");
    const int64_t *sizes = some ? some_sizes : all_sizes;
    const size_t count = some ? sizeof some_sizes / sizeof *sizes : sizeof all_sizes / sizeof *sizes;
    struct check c = {.row = row, .function = function, .seed = 1, .message = message, .size = size};
    unsigned turn = 0;
    bool ok = true;

    if (!check_op(row, &c.op, message, size))
        return false;
    for (size_t i = 0; i < count && ok; i++)
        if (c.op.has_k || sizes[i] == 1) {
            ok = make_arenas(&c, sizes[i]) && check_edges(&c, &sizes[i], &turn);
            free_arenas(&c);
        }
    ok = ok && make_arenas(&c, CHECK_FAR_K) && check_edges(&c, NULL, &turn);
    /* 32-bit addresses cannot hold such distances. */
    if (sizeof(void *) == 8)
        ok = ok && check_far_rows(&c);
    free_arenas(&c);
    return ok;
}
