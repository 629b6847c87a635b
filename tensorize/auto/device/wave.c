/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on GPUs by kernels of a whole wave, on matrix cores. A block has a square of waves, each with a
 * kernel's tile, whose sums lie in the registers of its lanes. The loops of the output become the digits of
 * the kernel's layout: those of the lane's number are threads, the others the tile of each.
 */
#include "product.h"
#include "registry/operation.h"
#include "auto/steps.h"
#include "match/match.h"

enum {
    /* rows that adjacent threads copy: 8 lanes write shared memory in one cycle, and meet no bank twice */
    COPIED_ROWS = 8,
    VECTOR_BYTES = 16,
    /* cycles of most instructions */
    INSTRUCTION = 4,
    /* the cycles of a matrix instruction over those of others, for its issue */
    PASSES = 16,
    /* instructions of a wave in a step besides arithmetic, reads and copies: vectors and scalars, waits
     * included; and vector instructions for each element that is loaded by itself; counted */
    STEP_VECTOR = 12,
    STEP_SCALAR = 30,
    SINGLE_VECTOR = 3,
    /* registers besides sums, operands read from shared memory, and copies in flight */
    SPARE_REGISTERS = 26,
};

/* ---- what a block uses ---- */

static int lanes_of(const struct uk_product *p) {
    return p->s->target->machine.core.device.lanes;
}

int uk_device_block_threads(const struct uk_product *p, const struct uk_tile *t) {
    return t->row_threads * t->column_threads * (t->wave ? lanes_of(p) : 1);
}

bool uk_device_has_groups(const struct uk_product *p, const struct uk_tile *t) {
    const int64_t terms = uk_constant_extent(p->st, p->sum);

    return terms < 0 || terms > t->group;
}

static int64_t bytes_of(const struct uk_product *p, int o) {
    return (int64_t)uk_type_bytes(p->st->operand[o].tensor->type);
}

/* Bytes that a block copies in a step. */
static int64_t copied_bytes(const struct uk_product *p, const struct uk_tile *t) {
    return (bytes_of(p, p->a) * t->rows * t->row_threads +
            bytes_of(p, p->b) * t->columns * t->column_threads) *
           t->terms;
}

int64_t uk_device_wave_shared(const struct uk_product *p, const struct uk_tile *t) {
    return 2 * copied_bytes(p, t);
}

int64_t uk_device_wave_register_bytes(const struct uk_product *p, const struct uk_tile *t) {
    return bytes_of(p, 0) * t->rows * t->columns / lanes_of(p) +
           copied_bytes(p, t) / uk_device_block_threads(p, t);
}

/* Instructions of a thread that copy its part of an operand in a step: loads of 16 bytes, or of single
 * elements, which have an address each and are then joined, and stores. */
struct copies {
    double loads, vector, stores, registers;
};

static struct copies copies_of(const struct uk_product *p, const struct uk_tile *t, int o, int rows) {
    const double bytes = (double)(bytes_of(p, o) * rows * t->terms) / uk_device_block_threads(p, t);
    const bool is_vector = uk_device_is_contiguous(&p->st->operand[o], p->sum);
    const double loads = bytes / (is_vector ? VECTOR_BYTES : (double)bytes_of(p, o));

    return (struct copies){loads, is_vector ? 0 : SINGLE_VECTOR * loads, bytes / VECTOR_BYTES,
                           is_vector ? bytes / (double)sizeof(float) : 3 * loads};
}

/* Operands: of each 32 rows or columns, a lane reads 16 bytes. An element that is loaded by itself takes a
 * register, and two for its address. */
int uk_device_wave_registers(const struct uk_product *p, const struct uk_tile *t) {
    const struct copies a = copies_of(p, t, p->a, t->rows * t->row_threads),
                        b = copies_of(p, t, p->b, t->columns * t->column_threads);
    const double sums = (double)(t->rows * t->columns) / lanes_of(p),
                 read = 2 * uk_kernel_loads(t->wave) * VECTOR_BYTES / (double)sizeof(float);

    return (int)(sums + read + a.registers + b.registers) + SPARE_REGISTERS;
}

void uk_device_wave_time(const struct uk_product *p, const struct uk_tile *t, double steps, double guards,
                         double guard_vector, double guard_scalar, struct uk_block_time *out) {
    const struct uk_device *d = &p->s->target->machine.core.device;
    const struct copies a = copies_of(p, t, p->a, t->rows * t->row_threads),
                        b = copies_of(p, t, p->b, t->columns * t->column_threads);
    const double waves = t->row_threads * t->column_threads, loads = guards > 0 ? guards : a.loads + b.loads,
                 stores = a.stores + b.stores, matrix = t->terms * t->instructions * INSTRUCTION,
                 reads = t->terms * uk_kernel_loads(t->wave) / uk_kernel_kr(t->wave),
                 vector = INSTRUCTION * (STEP_VECTOR + a.vector + b.vector + guard_vector),
                 issue = INSTRUCTION * t->terms * t->instructions / PASSES,
                 scalar = INSTRUCTION * (STEP_SCALAR + guard_scalar),
                 copy = vector + scalar + INSTRUCTION * (loads + stores), read = INSTRUCTION * reads,
                 step = copy + matrix + read + d->latency.shared, load = d->latency.memory - step;

    *out = (struct uk_block_time){
        .issue = {(float)(waves * steps * (vector + issue)), (float)(waves * steps * scalar),
                  (float)(waves * steps * INSTRUCTION * loads),
                  (float)(waves * steps * INSTRUCTION * (reads + stores))},
        .matrix = (float)(waves * steps * matrix),
        .shared = (float)(steps * (waves * reads * d->lanes * VECTOR_BYTES + (double)copied_bytes(p, t)) /
                          d->shared_rate),
        .alone = (float)(steps * (step + (load > 0 ? load : 0)) + 2 * d->latency.memory +
                         2 * INSTRUCTION * (double)(t->rows * t->columns) / d->lanes),
    };
}

/* ---- the loops ---- */

/* A digit of an axis in the kernel's layout. */
struct digit {
    int64_t divisor;
    int64_t weight; /* in the lane's number; 0: it selects a register */
    int place;      /* among the registers' dimensions */
    struct uk_loop *loop;
};

struct digits {
    int count;
    struct digit of[UK_MAX_DIMS];
};

/* The digits of the output's dimension, the largest divisor first. */
static enum uk_status find_digits(const struct uk_product *p, const struct uk_tile *t, int dimension,
                                  struct digits *out) {
    struct uk_intrinsic *wave, *lane;
    enum uk_status status = uk_context_intrinsic(p->s->context, t->wave, &wave);

    *out = (struct digits){.count = 0};
    if (status || (status = uk_kernel_of_lane(p->s, wave, &lane)))
        return status;
    const struct uk_map *map = wave->computes->left.tensor->layout;
    for (int k = 0; k < map->to_count; k++) {
        struct uk_digit digit;

        if (uk_digit_of(map, map->to[k], &digit) && digit.dim == dimension)
            out->of[out->count++] = (struct digit){.divisor = digit.divisor, .place = k};
    }
    for (int k = 0; k < lane->lane_digits; k++)
        if (lane->lane_digit[k].axis == dimension)
            out->of[out->count++] =
                (struct digit){.divisor = lane->lane_digit[k].divisor, .weight = lane->lane_digit[k].weight};
    for (int i = 1; i < out->count; i++)
        for (int k = i; k > 0 && out->of[k].divisor > out->of[k - 1].divisor; k--) {
            const struct digit x = out->of[k];

            out->of[k] = out->of[k - 1];
            out->of[k - 1] = x;
        }
    return UK_OK;
}

/* The loops that an axis is split into: over blocks, over the block's waves (NULL: it has one), and digits.
 */
struct axis {
    struct uk_loop *block, *wave;
    struct digits digits;
};

static enum uk_status split_axis(struct uk_product *p, const struct uk_tile *t, struct uk_loop *l,
                                 int dimension, int each, int waves, struct axis *out) {
    enum uk_status status = find_digits(p, t, dimension, &out->digits);

    out->wave = NULL;
    if (!status)
        status = uk_device_split(p->s, p->st, &l, (int64_t)each * waves, "b", "p", &out->block);
    if (!status && waves > 1)
        status = uk_device_split(p->s, p->st, &l, each, "w", "p", &out->wave);
    for (int i = 0; i < out->digits.count && !status; i++) {
        struct digit *digit = &out->digits.of[i];

        if (digit->divisor > 1)
            status = uk_device_split(p->s, p->st, &l, digit->divisor, digit->weight ? "t" : "i", "p",
                                     &digit->loop);
        else
            digit->loop = l;
    }
    return status;
}

/* Appends the digits of both axes: those of lanes by decreasing weight, or those of registers by place. */
static int append(const struct axis *r, const struct axis *c, bool lanes, struct uk_loop **order, int n) {
    const struct digits *both[] = {&r->digits, &c->digits};
    const struct digit *chosen[2 * UK_MAX_DIMS];
    int count = 0;

    for (int i = 0; i < 2; i++)
        for (int k = 0; k < both[i]->count; k++) {
            const struct digit *digit = &both[i]->of[k];
            int at = count;

            if (!digit->weight == lanes)
                continue;
            for (; at > 0 &&
                   (lanes ? chosen[at - 1]->weight < digit->weight : chosen[at - 1]->place > digit->place);
                 at--)
                chosen[at] = chosen[at - 1];
            chosen[at] = digit;
            count++;
        }
    for (int i = 0; i < count; i++)
        order[n++] = chosen[i]->loop;
    return n;
}

enum uk_status uk_device_wave_loops(struct uk_product *p, const struct uk_tile *t,
                                    struct uk_device_loops *out) {
    struct axis r, c;
    enum uk_status status = split_axis(p, t, p->rows, 0, t->rows, t->row_threads, &r);

    if (status || (status = split_axis(p, t, p->columns, 1, t->columns, t->column_threads, &c)))
        return status;
    *out = (struct uk_device_loops){.row_block = r.block, .column_block = c.block};
    if (r.wave) {
        out->thread[out->threads] = r.wave;
        out->axis[out->threads++] = 2;
    }
    if (c.wave) {
        out->thread[out->threads] = c.wave;
        out->axis[out->threads++] = 1;
    }
    out->threads = append(&r, &c, true, out->thread, out->threads);
    out->inner_loops = append(&r, &c, false, out->inner, 0);
    return UK_OK;
}

/* ---- copies ---- */

struct uk_map *uk_device_wave_layout(const struct uk_product *p, const struct uk_tile *t, int o, int along,
                                     int sum) {
    struct uk_arena *arena = p->s->arena;
    struct uk_map *m = uk_device_empty_map(arena, p->st->operand[o].tensor->dims);
    struct uk_index *terms = uk_index_int(arena, t->group);

    if (!m)
        return NULL;
    m->to[m->to_count++] = uk_index_op(arena, UK_I_DIV, uk_index_var(arena, m->from[sum]), terms);
    for (int d = 0; d < m->from_count; d++)
        if (d != sum && d != along)
            m->to[m->to_count++] = uk_index_var(arena, m->from[d]);
    m->to[m->to_count++] = uk_index_var(arena, m->from[along]);
    m->to[m->to_count++] = uk_index_op(arena, UK_I_MOD, uk_index_var(arena, m->from[sum]), terms);
    for (int i = 0; i < m->to_count; i++)
        if (!m->to[i])
            return NULL;
    return m;
}

/* Each thread copies a group of terms, 16 bytes. Along the terms, the threads of a wave load whole lines,
 * those of COPIED_ROWS rows in turn; else adjacent rows. */
enum uk_status uk_device_wave_copy(struct uk_product *p, struct uk_stage *copy) {
    struct uk_loop *order[UK_MAX_LOOPS], *group = copy->loop[copy->loops - 1],
                                         *row = copy->loop[copy->loops - 2], *rows;
    int n = 0;

    if (!uk_device_is_contiguous(&copy->operand[1], group) || uk_constant_extent(copy, row) < COPIED_ROWS)
        return UK_OK;
    enum uk_status status = uk_device_split(p->s, copy, &row, COPIED_ROWS, "o", "i", &rows);
    if (status)
        return status;
    order[n++] = rows;
    for (int i = copy->prefix; i < copy->loops; i++)
        if (copy->loop[i] != rows && copy->loop[i] != row && copy->loop[i] != group)
            order[n++] = copy->loop[i];
    order[n++] = row;
    order[n++] = group;
    return uk_device_order(p->s, copy, order, n);
}
