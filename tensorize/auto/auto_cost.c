/* SPDX-License-Identifier: Apache-2.0 */
/* What a stage costs by a kernel: the cycles of its tiles, and of operands that are packed or read where they lie. */
#include "registry/operation.h"
#include "tiling.h"

enum {
    ROWS_IN_PLACE =
        512,            /* longer rows of A, read in place, may evict each other from the first-level cache */
    FEW_ROWS = 100,     /* up to so many rows, packing B costs more than reading it where it is */
    FEW_ROWS_FLAT = 60, /* ... with a flat tile, which reads B more often */
    FEW_ROWS_BIG =
        20, /* ... or with a tall one on cores whose second-level cache is big and far: the first tile packs */
    NEAR_SHARE = 4,      /* of which B takes a quarter at most, or is packed */
    LONG_COLUMNS = 2048, /* rows of B that share so few cache sets that they are best read once, and packed */
    ONE_TILE_ROWS = 7,
};

/* What rows of A in place cost flat tiles beyond ROWS_IN_PLACE, measured where the second-level cache is so large that
 * the first is far from it: as much as packing them when N is about 1024. Elsewhere it is nothing. Taller tiles read
 * them slowly enough, and a large packed A makes the time depend on where its pages lie. */
static const double long_rows = 1.02;
/* Where the second-level cache is smaller, what an element of A in place costs a tall tile in each block of columns but
 * the first, from the third-level cache and, of a large A, from beyond it; and, as a factor, rows that share a set of the
 * first-level cache, if they are more than it has ways. Measured. */
static const double near_row_cycles = 0.2, far_row_cycles = 0.6, one_set = 1.035;
enum { FAR_ROWS_BYTES = 8 << 20, ROWS_BLOCK = 512, WAYS = 12 };
/* What rows of B in place cost where many rows of A use them and they do not stay in the second-level cache,
 * or where the tile is so flat that they stream faster than that cache delivers. */
static const double far_columns = 1.25;
/* What waiting for rows of B costs, whose lines in a tile are so many, measured: a tile of 64 columns instead
 * of 32 at 6 rows. */
static const double wait_for_lines = 0.4;

/* An element of an operand on which all axes of the tile depend (a matrix times a vector) is used once, and comes from
 * beyond the first-level cache: what it costs besides the kernel's own cycles. Measured: 0.13 cycles in all from the
 * second level, 0.16 from the third; packing a transposed B instead pays from 8 rows on. */
static const double streamed_cycles = 0.06;
/* Entering a kernel, and storing what is left in its registers. */
static const double call_cycles = 20;
/* A register of the tile from one call to the next: loaded, added to after the latency of a multiply-add, stored. Measured: 50 to 90
 * cycles for 12 of them and the call. */
static const double register_cycles = 4;

/* One row of a tile has so few sums that an FMA's latency shows: as many rows cost the same, measured. */
enum { ROW_OF_LATENCY = 4 };

/* Tiles of `most` and a last one that costs as much as its length, rounded up to step. */
static double rounded(double n, double most, double step) {
    if (most <= 0 || step <= 0)
        return n;
    double full = (double)(int64_t)(n / most), rest = n - full * most;

    return full * most + (double)(int64_t)((rest + step - 1) / step) * step;
}

/* An element costs about 2 cycles, and a kernel computes 16 terms a cycle or more: up to a quarter of the time. */
bool uk_is_cheap(const struct uk_schedule *s, const struct uk_stage *st, double copied) {
    double terms = 1;

    for (int i = 0; i < st->statement->iterators; i++)
        terms *= uk_size_estimate(s, st->statement->extent[i]);
    return copied * UK_CHEAP_REUSE < terms;
}

/* Elements of an operand, and how many of them lie along the axis. */
static double operand_size(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                           int o, int axis, double *along) {
    double elements = 1;

    *along = 1;
    for (int i = 0; i < st->loops; i++)
        if (uk_depends(&st->operand[o], st->loop[i])) {
            elements *= uk_values_estimate(s, st, st->loop[i]);
            *along =
                axis >= 0 && st->loop[i] == f->axis[axis] ? uk_values_estimate(s, st, st->loop[i]) : *along;
        }
    return elements;
}

/* What an operand of a product costs that is read where it is, as a factor. */
static double in_place(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                       int o) {
    double sum, columns, elements;
    int rows = -1, last = -1, of_sum = -1;

    for (int v = 0; v < f->axes; v++) {
        if (uk_is_reduced(st, f->axis[v])) {
            of_sum = v;
        } else {
            rows = last;
            last = v;
        }
    }
    if (rows < 0 || of_sum < 0)
        return 1;
    bool flat = uk_is_flat(s, st, f);
    operand_size(s, st, f, o, of_sum, &sum);
    elements = operand_size(s, st, f, o, last, &columns);
    if (columns == 1)
        return flat && sum > ROWS_IN_PLACE && uk_has_big_l2(s) ? long_rows : 1;
    double bytes = elements * (double)uk_type_bytes(st->operand[o].tensor->type);
    const double hinted_rows = uk_values_estimate(s, st, f->axis[rows]);
    const int few_rows = flat ? FEW_ROWS_FLAT : uk_has_big_l2(s) ? FEW_ROWS_BIG : FEW_ROWS;
    bool few = hinted_rows <= few_rows && columns < LONG_COLUMNS;
    bool near = !flat && bytes <= (double)uk_l2_share(s) / (uk_has_big_l2(s) ? NEAR_SHARE : 1);
    /* One row of tiles waits for B: the more lines of each of its rows come one after the other, the better. */
    double lines = (double)f->most[last] * (double)uk_type_bytes(st->operand[o].tensor->type) / 64;
    bool waits = hinted_rows <= ONE_TILE_ROWS;
    return (few || near ? 1 : far_columns) * (waits && lines > 0 ? 1 + wait_for_lines / lines : 1);
}

/* What rows of A in place add to the cycles. */
static double rows_in_place(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f,
                            int o, double cycles) {
    double bytes = (double)uk_type_bytes(st->operand[o].tensor->type), columns = 0, along;
    int64_t rows = 0, step = 0, hinted_sum = 0;

    for (int v = 0; v < f->axes; v++) {
        struct uk_poly c = uk_coefficient(&st->operand[o], f->axis[v]->id);

        if (uk_is_reduced(st, f->axis[v]) && uk_poly_is_int(&c, &step))
            hinted_sum = uk_size_guess(s, st->statement->extent[f->axis[v]->iterator]);
        else if (uk_depends(&st->operand[o], f->axis[v]))
            rows = f->most[v];
        else
            columns = uk_values_estimate(s, st, f->axis[v]);
    }
    if (rows <= 1 || columns <= 0 || step != 1 || uk_is_flat(s, st, f) || uk_has_big_l2(s))
        return 0;
    double elements = operand_size(s, st, f, o, -1, &along);
    double each = elements * bytes > FAR_ROWS_BYTES ? far_row_cycles : near_row_cycles;
    bool shares = rows > WAYS && hinted_sum && hinted_sum * (int64_t)bytes % UK_PAGE == 0;

    return elements * each * (double)(int64_t)((columns - 1) / ROWS_BLOCK) +
           (shares ? cycles * (one_set - 1) : 0);
}

/* Windows are read where they are: rows of A in panels would be copied once for each place in the window. */
bool uk_packs_windows(const struct uk_stage *st, const struct uk_fit *f) {
    const struct uk_loop *columns = NULL;

    for (int v = 0; v < f->axes; v++)
        if (!uk_is_reduced(st, f->axis[v]) && f->most[v])
            columns = f->axis[v];
    for (int o = 1; o < st->operands && columns && uk_is_window(st, f); o++)
        if (f->panel[o].width && !uk_depends(&st->operand[o], columns) && !st->operand[o].tensor->is_constant)
            return true;
    return false;
}

/* Does a tile use each element of an operand once? */
static bool streams(const struct uk_stage *st, const struct uk_fit *f) {
    for (int o = 1; o < st->operands && st->statement->reduce != UK_REDUCE_NONE; o++) {
        bool all = true;

        for (int v = 0; v < f->axes; v++)
            all = all && uk_depends(&st->operand[o], f->axis[v]);
        if (all)
            return true;
    }
    return false;
}

static bool has_channels(const struct uk_fit *f) {
    return f->intrinsic->row && uk_kernel_operation(f->intrinsic->row)->form == UK_OP_DEPTHWISE_CHANNELS;
}

int uk_channel_axis(const struct uk_stage *st, const struct uk_fit *f) {
    for (int v = 0; v < f->axes && has_channels(f); v++) {
        bool all = !uk_is_reduced(st, f->axis[v]);

        for (int o = 0; o < st->operands; o++)
            all = all && uk_depends(&st->operand[o], f->axis[v]);
        if (all)
            return v;
    }
    return -1;
}

bool uk_lacks_channels(const struct uk_stage *st, const struct uk_fit *f) {
    return has_channels(f) && uk_channel_axis(st, f) < 0;
}

/* A register of channels takes as long if it is not full. */
static double waste_of_channels(const struct uk_schedule *s, const struct uk_stage *st,
                                const struct uk_fit *f) {
    const int v = uk_channel_axis(st, f);
    const double n = v < 0 ? 0 : uk_values_estimate(s, st, f->axis[v]), nr = uk_kernel_nr(f->intrinsic->row);

    return n > 0 ? (double)(int64_t)((n + nr - 1) / nr) * nr / n : 1;
}

/* How often the kernel is called if its sum is not split. */
static double calls(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    double n = 1;

    for (int i = 0; i < st->loops; i++)
        n *= uk_is_axis(f, st->loop[i]) ? 1 : uk_values_estimate(s, st, st->loop[i]);
    for (int v = 0; v < f->axes; v++)
        n *= f->most[v]
                 ? rounded(uk_values_estimate(s, st, f->axis[v]), (double)f->most[v], (double)f->most[v]) /
                       (double)f->most[v]
                 : 1;
    return n;
}

double uk_call_cycles(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    const double lanes =
        (double)s->target->vectors.bytes / (double)uk_type_bytes(st->operand[0].tensor->type);
    double tile = 1;

    for (int v = 0; v < f->axes; v++)
        tile *= f->most[v] && !uk_is_reduced(st, f->axis[v]) ? (double)f->most[v] : 1;
    return calls(s, st, f) * (call_cycles + register_cycles * tile / (lanes > 1 ? lanes : 1));
}

/* Cycles for the whole statement: tiles by the row's instruction counts, edges rounded up, and the packing, so
 * much for an element. */
double uk_estimate(struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f, double packing) {
    const struct uk_kernel *row = f->intrinsic->row;
    double work = 1, size = 1, all = 1, along;
    bool window = uk_is_window(st, f);

    if (!row)
        return 0; /* what the user brought goes first */
    for (int v = 0; v < f->axes + f->units; v++) {
        double n = v < f->axes ? uk_values_estimate(s, st, f->axis[v]) : 1;
        int64_t most = v < f->axes ? f->most[v] : f->unit[v - f->axes];

        if (v >= f->axes && most == uk_kernel_mr(row) && most >= ROW_OF_LATENCY)
            n = ROW_OF_LATENCY;
        work *= rounded(n, (double)most, most == uk_kernel_mr(row) ? uk_kernel_row_step(row) : (double)most);
        size *= most ? (double)most : 1;
    }
    for (int i = 0; i < st->loops; i++)
        all *= uk_values_estimate(s, st, st->loop[i]);
    for (int i = 0; i < st->loops; i++)
        work *= uk_is_axis(f, st->loop[i]) ? 1 : uk_values_estimate(s, st, st->loop[i]);
    double cycles = work / size * uk_kernel_cycles(s->target, row) * waste_of_channels(s, st, f);
    if (st->statement->reduce != UK_REDUCE_NONE)
        cycles += calls(s, st, f) * call_cycles;
    if (streams(st, f))
        cycles += all * streamed_cycles;
    for (int o = 1; o < st->operands; o++)
        if (f->any_strides[o])
            cycles += uk_scattered_cycles(s, st, f, o, cycles) +
                      (f->panel[o].width || window ? 0 : rows_in_place(s, st, f, o, cycles));
        else if (f->panel[o].width)
            cycles +=
                st->operand[o].tensor->is_constant ? 0 : operand_size(s, st, f, o, -1, &along) * packing;
        else if (st->statement->reduce != UK_REDUCE_NONE && !window)
            cycles = cycles * in_place(s, st, f, o) + rows_in_place(s, st, f, o, cycles);
    return cycles;
}
