/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VALU: sources as arrays of lanes, the row's function on all 64, and its results into the lanes of EXEC. A lane's result is
 * undefined if one of its sources is; only the use of it in an address, a branch, EXEC or a store to a buffer is reported.
 */
#include <string.h>
#include "lanes.h"
#include "state.h"

/* What an instruction works on. */
struct uk_sources {
    const uint32_t *s[6];
    uint64_t undefined[3], high_undefined[3]; /* of the first word, of the second */
    uint64_t mask, mask_undefined;
    uint32_t copy[6][LANES];
};

static void uk_fill(uint32_t *lanes, uint32_t value) {
    for (int l = 0; l < LANES; ++l)
        lanes[l] = value;
}

/* Bytes of a register, by SDWA. */
static void uk_select(uint32_t *to, const uint32_t *from, uint8_t sdwa, bool sign) {
    const unsigned shift = 8 * (sdwa >> 4), bits = 8 * (sdwa & 15);

    for (int l = 0; l < LANES; ++l) {
        const uint32_t value = bits ? from[l] >> shift & ((1u << bits) - 1) : from[l];

        to[l] = sign && bits ? uk_sign(value, bits) : value;
    }
}

/* The sign's word is the last of the operand's. */
static void uk_change_sign(uint32_t *to, const uint32_t *from, bool absolute, bool negative, uint32_t sign) {
    for (int l = 0; l < LANES; ++l)
        to[l] = (absolute ? from[l] & ~sign : from[l]) ^ (negative ? sign : 0);
}

static const uint32_t *uk_word(struct uk_wave *w, const struct uk_operand *o, unsigned word, uint32_t *copy) {
    if (o->kind == OPERAND_V)
        return w->v[o->index + word];
    uk_fill(copy, o->kind == OPERAND_S     ? w->s[o->index + word]
                  : o->kind == OPERAND_SCC ? w->scc
                                           : o->value[word]);
    return copy;
}

/* Undefined lanes of one of the operand's words; a report if a load of it is outstanding. */
static enum uk_step uk_source_undefined(struct uk_wave *w, const struct uk_inst *i,
                                        const struct uk_operand *o, unsigned word, unsigned half,
                                        uint64_t exec, uint64_t *undefined) {
    const unsigned r = o->index + word;

    if (o->kind == OPERAND_V && w->undefined[r] & exec) {
        *undefined = uk_undefined_half(w, r, half);
        return uk_use_v(w, i, r, 1, exec, "used");
    }
    if (o->kind == OPERAND_S && w->s_undefined[r]) {
        *undefined = UINT64_MAX;
        return uk_use_s(w, i, r, 1, "used");
    }
    *undefined = o->kind == OPERAND_SCC && w->scc_undefined ? UINT64_MAX : 0;
    return STEP_NEXT;
}

/* The half of a register that an operand takes; 2: both. */
static unsigned uk_half_of(const struct uk_operand *o, enum uk_type type) {
    if (o->sdwa)
        return o->sdwa >> 4 >= 2;
    return type == T_u16 || type == T_i16 || type == T_f16 ? 0 : 2;
}

static enum uk_step uk_source_k(struct uk_wave *w, const struct uk_inst *i, unsigned k, unsigned part,
                                uint64_t exec, struct uk_sources *from) {
    const struct uk_operand *o = &i->o[1 + k];
    const enum uk_type type = i->op->types[1 + k];
    const bool two = type == T_u64 || type == T_i64 || type == T_f64, packed = i->op->flags & F_PK;
    const bool move = i->op->flags & F_HALVES;
    const bool negative = packed && part ? o->negative_high : o->negative;
    unsigned first = packed ? (part ? o->select_high : o->select_low) : 0;
    enum uk_step step;

    if (o->kind == OPERAND_NONE)
        return STEP_NEXT;
    if (move) /* v_pk_mov_b32 */
        first = o->select_low;
    if (packed && o->kind == OPERAND_CONSTANT)
        first = 0;
    step = uk_source_undefined(w, i, o, first, uk_half_of(o, type), exec, &from->undefined[k]);
    if (!step && two && !move)
        step = uk_source_undefined(w, i, o, first + 1, 2, exec, &from->high_undefined[k]);
    if (step)
        return step;
    for (unsigned word = 0; word < (two && !move ? 2u : 1u); ++word) {
        uint32_t *copy = from->copy[2 * k + word];

        from->s[2 * k + word] = uk_word(w, o, first + word, copy);
        if (o->sdwa || o->sign_extend) {
            uk_select(copy, from->s[2 * k + word], o->sdwa, o->sign_extend);
            from->s[2 * k + word] = copy;
        }
        if ((negative || o->absolute) && word == two) {
            uk_change_sign(copy, from->s[2 * k + word], o->absolute, negative,
                           type == T_f16 ? 0x8000 : 0x80000000);
            from->s[2 * k + word] = copy;
        }
    }
    if (move) {
        uk_fill(from->copy[2 * k + 1], 0);
        from->s[2 * k + 1] = from->copy[2 * k + 1];
    }
    return STEP_NEXT;
}

static enum uk_step uk_sources(struct uk_wave *w, const struct uk_inst *i, unsigned part, uint64_t exec,
                               struct uk_sources *from) {
    enum uk_step step = STEP_NEXT;

    memset(from->undefined, 0, sizeof from->undefined);
    memset(from->high_undefined, 0, sizeof from->high_undefined);
    from->mask = from->mask_undefined = 0;
    for (unsigned k = 0; k < 3 && !step; ++k)
        step = uk_source_k(w, i, k, part, exec, from);
    if (!step && i->o[5].kind)
        step = uk_scalar_source(w, i, &i->o[5], &from->mask, &from->mask_undefined);
    return step;
}

/* Undefined lanes of both words of a result. The lower word of a sum, a product and a left shift depends on lower words only. */
static void uk_result_undefined(const struct uk_inst *i, const struct uk_sources *from, uint64_t *undefined) {
    const uint64_t *low = from->undefined, *high = from->high_undefined;

    undefined[0] = low[0] | low[1] | low[2] | from->mask_undefined;
    undefined[1] = undefined[0] | high[0] | high[1] | high[2];
    if (i->op->flags & F_SELECT) {
        undefined[0] = (from->mask & low[1]) | (~from->mask & low[0]) | from->mask_undefined;
    } else if (i->op->flags & F_HALVES) {
        undefined[0] = low[0];
        undefined[1] = low[1];
    } else if (!(i->op->flags & F_LOW_FIRST)) {
        undefined[0] = undefined[1];
    }
}

/* The destination's part, by SDWA. */
static void uk_place(const struct uk_inst *i, uint32_t *result, const uint32_t *before) {
    const unsigned shift = 8 * (i->sdwa >> 4), bits = 8 * (i->sdwa & 15);
    const uint32_t mask = bits ? ((1u << bits) - 1) << shift : UINT32_MAX;

    if (!bits)
        return;
    for (int l = 0; l < LANES; ++l) {
        const uint32_t value = result[l] << shift & mask;
        const uint32_t sign =
            result[l] >> (bits - 1) & 1 ? ~((mask >> shift) << shift | ((1u << shift) - 1)) : 0;

        result[l] = i->unused == 'P' ? value : i->unused == 'S' ? value | sign : value | (before[l] & ~mask);
    }
}

static void uk_merge(uint32_t *to, const uint32_t *from, uint64_t exec) {
    if (exec == UINT64_MAX) {
        memcpy(to, from, sizeof(uint32_t[LANES]));
        return;
    }
    for (int l = 0; l < LANES; ++l)
        to[l] = exec >> l & 1 ? from[l] : to[l];
}

static void uk_write_v(struct uk_wave *w, unsigned r, const uint32_t *result, uint64_t exec,
                       uint64_t undefined) {
    uk_merge(w->v[r], result, exec);
    w->undefined[r] = (w->undefined[r] & ~exec) | (undefined & exec);
    w->half[0][r] &= ~exec;
    w->half[1][r] &= ~exec;
}

static enum uk_step uk_write_compare(struct uk_wave *w, const struct uk_inst *i, uint64_t bits,
                                     uint64_t undefined) {
    const uint64_t exec = uk_exec(w);

    return uk_scalar_write(w, i, i->o[0].index, 2, bits & exec, undefined & exec);
}

static void uk_clamp(uint32_t *result) {
    for (int l = 0; l < LANES; ++l) {
        const float a = uk_float(result[l]);

        result[l] = uk_bits(!(a > 0) ? 0 : a > 1 ? 1 : a);
    }
}

enum uk_step uk_run_valu(struct uk_wave *w, const struct uk_inst *i) {
    const unsigned parts = i->op->flags & F_PK ? 2 : 1, words = i->op->flags & F_PK ? 1 : i->o[0].words;
    const uint64_t exec = uk_exec(w);
    uint32_t result[2][LANES];
    uint64_t undefined[3] = {0}, mask_out = 0; /* of a part's both words; the second part has one */
    struct uk_sources from;
    enum uk_step step;

    for (unsigned part = 0; part < parts; ++part) {
        step = uk_sources(w, i, part, exec, &from);
        if (step)
            return step;
        i->op->lanes(&result[part], from.s, from.mask, &mask_out);
        uk_result_undefined(i, &from, undefined + part);
    }
    if (i->flops)
        w->block->run->counts->flops += i->flops * (uint64_t)__builtin_popcountll(exec);
    if (i->op->flags & F_COMPARE)
        return uk_write_compare(w, i, mask_out, undefined[0]);
    step = uk_use_v(w, i, i->o[0].index, i->o[0].words, exec, "overwritten");
    if (!step && i->o[4].kind)
        step = uk_scalar_write(w, i, i->o[4].index, 2, mask_out & exec, undefined[1] & exec);
    if (step)
        return step;
    if (i->clamp)
        uk_clamp(result[0]);
    if (i->sdwa)
        uk_place(i, result[0], w->v[i->o[0].index]);
    for (unsigned r = 0; r < words * parts; ++r)
        uk_write_v(w, i->o[0].index + r, result[r], exec, undefined[r]);
    return STEP_NEXT;
}

/* v_readfirstlane_b32, and v_readlane_b32 with a lane's number. */
enum uk_step uk_run_readlane(struct uk_wave *w, const struct uk_inst *i) {
    const uint64_t exec = uk_exec(w);
    uint64_t lane = exec ? (uint64_t)__builtin_ctzll(exec) : 0, undefined = 0, unknown;
    enum uk_step step = STEP_NEXT;

    if (i->op->flags & F_ANY_LANE)
        step = uk_scalar_source(w, i, &i->o[2], &lane, &undefined);
    lane %= LANES;
    if (!step)
        step = uk_use_v(w, i, i->o[1].index, 1, (uint64_t)1 << lane, "used");
    if (step)
        return step;
    unknown = undefined || w->undefined[i->o[1].index] >> lane & 1 ? UINT32_MAX : 0;
    return uk_scalar_write(w, i, i->o[0].index, 1, w->v[i->o[1].index][lane], unknown);
}

enum uk_step uk_run_writelane(struct uk_wave *w, const struct uk_inst *i) {
    uint64_t value, lane = 0, undefined, lane_undefined = 0;
    enum uk_step step = uk_scalar_source(w, i, &i->o[1], &value, &undefined);

    if (!step)
        step = uk_scalar_source(w, i, &i->o[2], &lane, &lane_undefined);
    lane %= LANES;
    if (!step)
        step = uk_use_v(w, i, i->o[0].index, 1, (uint64_t)1 << lane, "overwritten");
    if (step)
        return step;
    w->v[i->o[0].index][lane] = (uint32_t)value;
    w->undefined[i->o[0].index] &= ~((uint64_t)1 << lane);
    if (undefined | lane_undefined)
        w->undefined[i->o[0].index] |= (uint64_t)1 << lane;
    return STEP_NEXT;
}
