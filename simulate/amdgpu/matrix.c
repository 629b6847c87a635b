/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs matrix instructions: collects A, B and C from the lanes as arrays of f64, which hold each product and
 * each i32 exactly, multiplies, and distributes D. An undefined bit of A makes the row of D undefined that
 * its lane has a part in, one of B the column, one of C the element.
 */
#include <string.h>
#include "lanes.h"
#include "matrix.h"
#include "state.h"

enum { MAX_FACTOR = 256, MAX_SUM = 2048 };

/* Elements of A and B are ordered by block, then k, then i or j; those of D by block, i, j. */
struct uk_matrices {
    double a[MAX_FACTOR], b[MAX_FACTOR], d[MAX_SUM];
    bool row_undefined[UK_AMDGPU_LANES], column_undefined[UK_AMDGPU_LANES], undefined[MAX_SUM];
    bool any_undefined;
};

static unsigned uk_bytes_of(uint8_t type) {
    return type == T_f64 ? 8 : type == T_f16 || type == T_bf16 ? 2 : type == T_i8 ? 1 : 4;
}
unsigned uk_matrix_factor_bytes(const struct uk_matrix *m) {
    return uk_bytes_of(m->factor_type);
}
unsigned uk_matrix_sum_bytes(const struct uk_matrix *m) {
    return uk_bytes_of(m->type);
}

struct uk_matrix_place uk_matrix_factor_place(const struct uk_matrix *m, unsigned block, unsigned i,
                                              unsigned k) {
    const unsigned values = (unsigned)m->size * m->k * m->blocks / UK_AMDGPU_LANES;

    return (struct uk_matrix_place){(uint8_t)(i + m->size * (block + m->blocks * (k / values))),
                                    (uint8_t)(k % values)};
}

struct uk_matrix_place uk_matrix_sum_place(const struct uk_matrix *m, unsigned block, unsigned i,
                                           unsigned j) {
    const unsigned group = uk_matrix_sum_bytes(m) == 8 ? 1 : 4, lanes = UK_AMDGPU_LANES / m->size,
                   groups = m->size / group, lane_groups = groups < lanes ? groups : lanes,
                   lane_blocks = lanes / lane_groups;

    return (struct uk_matrix_place){
        (uint8_t)(j + m->size * (block % lane_blocks + lane_blocks * (i / group % lane_groups))),
        (uint8_t)(i % group +
                  group * (i / group / lane_groups + groups / lane_groups * (block / lane_blocks)))};
}

/* ---- operands ---- */

const char *uk_check_matrix(struct uk_amdgpu_inst *i) {
    const struct uk_matrix *m = i->op->matrix;
    const unsigned sum = (unsigned)m->size * m->size * m->blocks / UK_AMDGPU_LANES * uk_matrix_sum_bytes(m),
                   factor =
                       (unsigned)m->size * m->k * m->blocks / UK_AMDGPU_LANES * uk_matrix_factor_bytes(m);

    if (i->n != 4)
        return "the number of operands of this instruction";
    for (unsigned n = 0; n < 4; ++n) {
        struct uk_amdgpu_operand *o = &i->o[n];

        if (o->negative || o->absolute || o->sign_extend)
            return "a sign of this instruction";
        if (n == 3 && o->kind == UK_AMDGPU_OPERAND_CONSTANT)
            uk_constant(o, m->type);
        else if (o->kind != UK_AMDGPU_OPERAND_V || o->words != (n % 3 ? factor : sum) / 4)
            return "an operand of this instruction";
    }
    if (i->cbsz > 4 || 1 << i->cbsz > m->blocks || i->abid >> i->cbsz)
        return "cbsz or abid of this instruction";
    if (i->blgp && m->type == T_f64)
        return "blgp of this instruction";
    return NULL;
}

/* The lane whose B a lane multiplies: the modifier blgp copies a half or a quarter of the lanes to all
 * others, or rotates all. */
static unsigned uk_pattern_lane(unsigned blgp, unsigned lane) {
    if (blgp == 3)
        return (lane + 16) % UK_AMDGPU_LANES;
    if (blgp > 3)
        return lane % 16 + 16 * (blgp - 4);
    return blgp ? lane % 32 + 32 * (blgp - 1) : lane;
}

/* The block whose A a block multiplies: each group of 2^cbsz blocks takes that of its block abid. */
static unsigned uk_broadcast_block(const struct uk_amdgpu_inst *i, unsigned block) {
    return (block >> i->cbsz << i->cbsz) + i->abid;
}

static bool uk_flushes(const struct uk_amdgpu_wave *w, const struct uk_matrix *m) {
    return (m->factor_type == T_f16 || m->factor_type == T_bf16) && w->block->run->gpu->matrix_flush;
}

static double uk_flush_below(double a, double least) {
    return fabs(a) < least ? copysign(0, a) : a;
}

/* An element as a number; `flush`: subnormal numbers are 0. */
static inline double uk_element_value(uint8_t type, uint32_t low, uint32_t high, bool flush) {
    switch (type) {
    case T_f64:
        return uk_double(low | (uint64_t)high << 32);
    case T_f16:
        return uk_flush_below((double)uk_half(low), flush ? 0x1p-14 : 0);
    case T_bf16:
        return uk_flush_below((double)uk_float(low << 16), flush ? 0x1p-126 : 0);
    case T_f32:
        return uk_flush_below((double)uk_float(low), flush ? 0x1p-126 : 0);
    case T_i8:
        return (double)(int8_t)low;
    default:
        return (double)(int32_t)low;
    }
}

/* Reads the elements of n lanes, from that of the place on. */
static void uk_read_lanes(const struct uk_amdgpu_wave *w, const struct uk_amdgpu_operand *o, uint8_t type,
                          struct uk_matrix_place first, unsigned n, bool flush, double *to) {
    const unsigned bit = 8 * uk_bytes_of(type) * first.value, r = o->index + bit / 32;

    if (o->kind == UK_AMDGPU_OPERAND_CONSTANT)
        for (unsigned l = 0; l < n; ++l)
            to[l] = uk_element_value(type, o->value[0], o->value[1], flush);
    else
        for (unsigned l = 0; l < n; ++l)
            to[l] = uk_element_value(type, w->v[r][first.lane + l] >> bit % 32,
                                     type == T_f64 ? w->v[r + 1][first.lane + l] : 0, flush);
}

/* The lanes in which one of the operand's n registers from `first` on has an undefined bit. */
static uint64_t uk_undefined_lanes(const struct uk_amdgpu_wave *w, const struct uk_amdgpu_operand *o,
                                   unsigned first, unsigned n) {
    uint64_t lanes = 0;

    for (unsigned r = first; o->kind == UK_AMDGPU_OPERAND_V && r < first + n; ++r)
        lanes |= w->undefined[o->index + r];
    return lanes;
}

/* In both collections the elements of a row of lanes follow one another. */
static void uk_collect_factors(const struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *inst,
                               struct uk_matrices *to) {
    const struct uk_matrix *m = inst->op->matrix;
    const struct uk_amdgpu_operand *a = &inst->o[1], *b = &inst->o[2];
    const uint64_t a_undefined = uk_undefined_lanes(w, a, 0, a->words),
                   b_undefined = uk_undefined_lanes(w, b, 0, b->words);
    const bool flush = uk_flushes(w, m);

    for (unsigned block = 0, at = 0; block < m->blocks; ++block)
        for (unsigned k = 0; k < m->k; ++k, at += m->size) {
            const unsigned from = uk_broadcast_block(inst, block);
            const struct uk_matrix_place a_place = uk_matrix_factor_place(m, from, 0, k),
                                         b_place = uk_matrix_factor_place(m, block, 0, k);

            uk_read_lanes(w, a, m->factor_type, a_place, m->size, flush, to->a + at);
            for (unsigned i = 0; i < m->size; ++i) {
                const unsigned lane = uk_pattern_lane(inst->blgp, b_place.lane + i);

                uk_read_lanes(w, b, m->factor_type, (struct uk_matrix_place){(uint8_t)lane, b_place.value}, 1,
                              flush, to->b + at + i);
                to->row_undefined[block * m->size + i] |= a_undefined >> (a_place.lane + i) & 1;
                to->column_undefined[block * m->size + i] |= b_undefined >> lane & 1;
            }
        }
    to->any_undefined |= a_undefined || b_undefined;
}

static void uk_collect_sums(const struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *inst,
                            struct uk_matrices *to) {
    const struct uk_matrix *m = inst->op->matrix;
    const struct uk_amdgpu_operand *c = &inst->o[3];
    const unsigned words = uk_matrix_sum_bytes(m) / 4;
    const bool flush = uk_flushes(w, m);

    for (unsigned block = 0, at = 0; block < m->blocks; ++block)
        for (unsigned i = 0; i < m->size; ++i, at += m->size) {
            const struct uk_matrix_place place = uk_matrix_sum_place(m, block, i, 0);
            const uint64_t undefined = uk_undefined_lanes(w, c, words * place.value, words);

            uk_read_lanes(w, c, m->type, place, m->size, flush, to->d + at);
            for (unsigned j = 0; undefined && j < m->size; ++j)
                to->undefined[at + j] = undefined >> (place.lane + j) & 1;
            to->any_undefined |= undefined != 0;
        }
}

/* ---- results ---- */

static void uk_matrix_multiply(const struct uk_matrix *m, struct uk_matrices *x) {
    for (unsigned block = 0; block < m->blocks; ++block)
        for (unsigned i = 0; i < m->size; ++i) {
            double *restrict d = x->d + (block * m->size + i) * m->size;

            for (unsigned k = 0; k < m->k; ++k) {
                const double *restrict b = x->b + (block * m->k + k) * m->size;
                const double a = x->a[(block * m->k + k) * m->size + i];

                if (m->type == T_f64)
                    for (unsigned j = 0; j < m->size; ++j)
                        d[j] = fma(a, b[j], d[j]);
                else
                    for (unsigned j = 0; j < m->size; ++j)
                        d[j] += a * b[j];
            }
        }
}

static uint64_t uk_result_bits(const struct uk_matrix *m, double d, bool flush) {
    if (m->type == T_f64)
        return uk_bits_f64(d);
    if (m->type == T_i32)
        return (uint32_t)(int64_t)d;
    return uk_bits(flush ? uk_flush_subnormal((float)d) : (float)d);
}

/* Writes D: all lanes of its registers. */
static void uk_distribute(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *inst,
                          const struct uk_matrices *from) {
    const struct uk_matrix *m = inst->op->matrix;
    const bool flush = uk_flushes(w, m);
    const unsigned words = uk_matrix_sum_bytes(m) / 4;

    memset(w->undefined + inst->o[0].index, 0, inst->o[0].words * sizeof w->undefined[0]);
    for (unsigned block = 0, at = 0; block < m->blocks; ++block)
        for (unsigned i = 0; i < m->size; ++i, at += m->size) {
            const struct uk_matrix_place place = uk_matrix_sum_place(m, block, i, 0);
            const unsigned first = inst->o[0].index + words * place.value;

            for (unsigned j = 0; j < m->size; ++j) {
                const uint64_t bits = uk_result_bits(m, from->d[at + j], flush);

                for (unsigned r = 0; r < words; ++r)
                    w->v[first + r][place.lane + j] = (uint32_t)(bits >> 32 * r);
                if (!from->any_undefined ||
                    !(from->row_undefined[block * m->size + i] ||
                      from->column_undefined[block * m->size + j] || from->undefined[at + j]))
                    continue;
                for (unsigned r = 0; r < words; ++r) {
                    w->undefined[first + r] |= (uint64_t)1 << (place.lane + j);
                    w->undefined_bits[first + r][place.lane + j] = UINT32_MAX;
                }
            }
        }
}

/* A report if registers of D are registers of C, but not the same ones in the same order. LLVM's assembler
 * allows that for at most 4 registers. */
static enum uk_amdgpu_step uk_report_overlap(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    const struct uk_amdgpu_operand *d = &i->o[0], *c = &i->o[3];

    if (c->kind != UK_AMDGPU_OPERAND_V || d->words <= 4 || c->index == d->index ||
        c->index >= d->index + d->words || d->index >= c->index + c->words)
        return UK_AMDGPU_STEP_NEXT;
    return uk_report(w, i, -1, "D overlaps C in part, from %s on; use the same registers or different ones",
                     uk_register_name(true, c->index > d->index ? c->index : d->index).text);
}

enum uk_amdgpu_step uk_run_matrix(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    const struct uk_matrix *m = i->op->matrix;
    const uint64_t multiply_adds = (uint64_t)m->size * m->size * m->k * m->blocks;
    enum uk_amdgpu_step step = uk_report_overlap(w, i);
    struct uk_matrices x;

    if (uk_exec(w) != UINT64_MAX)
        return uk_report(w, i, -1, "EXEC has %d of 64 lanes; a matrix instruction needs all of them",
                         __builtin_popcountll(uk_exec(w)));
    for (unsigned n = 1; n < 4 && !step; ++n)
        if (i->o[n].kind == UK_AMDGPU_OPERAND_V)
            step = uk_use_v(w, i, i->o[n].index, i->o[n].words, UINT64_MAX, "used");
    if (!step)
        step = uk_use_v(w, i, i->o[0].index, i->o[0].words, UINT64_MAX, "overwritten");
    if (step)
        return step;
    memset(x.row_undefined, 0, sizeof x.row_undefined);
    memset(x.column_undefined, 0, sizeof x.column_undefined);
    memset(x.undefined, 0, sizeof x.undefined);
    x.any_undefined = false;
    uk_collect_factors(w, i, &x);
    uk_collect_sums(w, i, &x);
    uk_matrix_multiply(m, &x);
    uk_distribute(w, i, &x);
    w->block->run->counts->matrix_multiply_adds += multiply_adds;
    w->block->run->counts->flops += m->type == T_i32 ? 0 : 2 * multiply_adds;
    return UK_AMDGPU_STEP_NEXT;
}
