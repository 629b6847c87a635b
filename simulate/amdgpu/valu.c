/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VALU instructions: collects the sources as arrays of lanes, runs the row's function on all 64, and writes
 * the results of the lanes of EXEC. If a source has undefined bits, undefined.c computes those of the result;
 * an error is reported only when they reach an address, a branch, EXEC or a store to a buffer.
 */
#include <string.h>
#include "lanes.h"
#include "state.h"

/* The results of both parts: words, and their undefined bits, which are valid if `undefined`. */
struct uk_results {
    uint32_t word[3][UK_AMDGPU_LANES], bits[3][UK_AMDGPU_LANES];
    bool undefined;
};

static void uk_fill(uint32_t *lanes, uint32_t value) {
    for (int l = 0; l < UK_AMDGPU_LANES; ++l)
        lanes[l] = value;
}

/* Extracts the bytes that SDWA selects. */
static void uk_select_bytes(uint32_t *to, const uint32_t *from, uint8_t sdwa, bool sign) {
    const unsigned shift = 8 * (sdwa >> 4), bits = 8 * (sdwa & 15);

    for (int l = 0; l < UK_AMDGPU_LANES; ++l) {
        const uint32_t value = bits ? from[l] >> shift & ((1u << bits) - 1) : from[l];

        to[l] = sign && bits ? uk_sign(value, bits) : value;
    }
}

/* Applies the sign modifiers; `sign` is the sign bit, which is in the last word of the operand. */
static void uk_change_sign(uint32_t *to, const uint32_t *from, bool absolute, bool negative, uint32_t sign) {
    for (int l = 0; l < UK_AMDGPU_LANES; ++l)
        to[l] = (absolute ? from[l] & ~sign : from[l]) ^ (negative ? sign : 0);
}

/* One word of an operand, or its undefined bits. */
static const uint32_t *uk_word(const struct uk_amdgpu_wave *w, const struct uk_amdgpu_operand *o,
                               unsigned word, bool bits, uint32_t *copy) {
    const unsigned r = o->index + word;

    if (o->kind == UK_AMDGPU_OPERAND_V && !bits)
        return w->v[r];
    if (o->kind == UK_AMDGPU_OPERAND_V)
        for (unsigned l = 0; l < UK_AMDGPU_LANES; ++l)
            copy[l] = uk_undefined_bits(w, r, l);
    else if (bits)
        uk_fill(copy, o->kind == UK_AMDGPU_OPERAND_S ? w->s_undefined[r]
                                                     : o->kind == UK_AMDGPU_OPERAND_SCC && w->scc_undefined);
    else
        uk_fill(copy, o->kind == UK_AMDGPU_OPERAND_S     ? w->s[r]
                      : o->kind == UK_AMDGPU_OPERAND_SCC ? w->scc
                                                         : o->value[word]);
    return copy;
}

/* Adds the lanes in which the operand's word has undefined bits; a report if a load of it is outstanding. */
static enum uk_amdgpu_step uk_source_undefined(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                               const struct uk_amdgpu_operand *o, unsigned word,
                                               uint64_t exec, uint64_t *undefined) {
    const unsigned r = o->index + word;

    if (o->kind == UK_AMDGPU_OPERAND_V && w->undefined[r] & exec) {
        *undefined |= w->undefined[r] & exec;
        return uk_use_v(w, i, r, 1, exec, "used");
    }
    if (o->kind == UK_AMDGPU_OPERAND_S && w->s_undefined[r]) {
        *undefined |= exec;
        return uk_use_s(w, i, r, 1, "used");
    }
    *undefined |= o->kind == UK_AMDGPU_OPERAND_SCC && w->scc_undefined ? exec : 0;
    return UK_AMDGPU_STEP_NEXT;
}

static bool uk_is_wide(enum uk_amdgpu_type type) {
    return type == T_u64 || type == T_i64 || type == T_f64;
}

/* The first word of an operand for this part. */
static unsigned uk_first_word(const struct uk_amdgpu_inst *i, const struct uk_amdgpu_operand *o,
                              unsigned part) {
    const uint32_t flags = i->op->flags;

    if (o->kind == UK_AMDGPU_OPERAND_CONSTANT)
        return 0;
    return flags & F_HALVES ? o->select_low : flags & F_PK ? (part ? o->select_high : o->select_low) : 0;
}

/* f16 to f32, or undefined bits: any undefined bit makes all undefined. */
static void uk_widen(uint32_t *to, const uint32_t *from, bool bits) {
    for (int l = 0; l < UK_AMDGPU_LANES; ++l)
        to[l] = bits ? -(uint32_t)(from[l] != 0) : uk_bits(uk_half(from[l]));
}

void uk_source_words(const struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, unsigned k,
                     unsigned part, bool bits, const uint32_t **words, uint32_t (*copy)[UK_AMDGPU_LANES]) {
    const struct uk_amdgpu_operand *o = &i->o[1 + k];
    const enum uk_amdgpu_type type = i->op->types[1 + k];
    const uint32_t flags = i->op->flags;
    const bool two = uk_is_wide(type) && !(flags & F_HALVES), half = flags & F_MIX && o->select_high;
    const bool negative = flags & (F_PK | F_PK_HALF) && part ? o->negative_high : o->negative;
    const bool upper = flags & F_PK_HALF && part ? o->select_high : o->select_low;
    const uint8_t sdwa = flags & F_PK_HALF || half ? (upper ? UPPER_HALF : LOWER_HALF) : o->sdwa;

    for (unsigned word = 0; word < 1u + two; ++word) {
        uint32_t *to = copy[word];

        words[word] = uk_word(w, o, uk_first_word(i, o, part) + word, bits, to);
        if (sdwa || o->sign_extend) {
            uk_select_bytes(to, words[word], sdwa, o->sign_extend);
            words[word] = to;
        }
        if (half) {
            uk_widen(to, words[word], bits);
            words[word] = to;
        }
        if ((negative || o->absolute) && word == two) {
            uk_change_sign(to, words[word], o->absolute, negative && !bits,
                           type == T_f16 || type == T_u16 ? 0x8000 : 0x80000000);
            words[word] = to;
        }
    }
    if (flags & F_HALVES) {
        uk_fill(copy[1], 0);
        words[1] = copy[1];
    }
}

static enum uk_amdgpu_step uk_source_k(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, unsigned k,
                                       unsigned part, uint64_t exec, struct uk_amdgpu_sources *from) {
    const struct uk_amdgpu_operand *o = &i->o[1 + k];
    const unsigned first = uk_first_word(i, o, part);
    enum uk_amdgpu_step step;

    if (o->kind == UK_AMDGPU_OPERAND_NONE)
        return UK_AMDGPU_STEP_NEXT;
    step = uk_source_undefined(w, i, o, first, exec, &from->undefined);
    if (!step && uk_is_wide(i->op->types[1 + k]) && !(i->op->flags & F_HALVES))
        step = uk_source_undefined(w, i, o, first + 1, exec, &from->undefined);
    if (!step)
        uk_source_words(w, i, k, part, false, from->s + 2 * k, from->copy + 2 * k);
    return step;
}

static enum uk_amdgpu_step uk_sources(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, unsigned part,
                                      uint64_t exec, struct uk_amdgpu_sources *from) {
    enum uk_amdgpu_step step = UK_AMDGPU_STEP_NEXT;

    from->undefined = from->mask = from->mask_undefined = 0;
    for (unsigned k = 0; k < 3 && !step; ++k)
        step = uk_source_k(w, i, k, part, exec, from);
    if (!step && i->o[5].kind)
        step = uk_scalar_source(w, i, &i->o[5], &from->mask, &from->mask_undefined);
    return step;
}

/* Merges the result into the part of the destination that SDWA selects. */
static void uk_place(const struct uk_amdgpu_inst *i, uint32_t *result, const uint32_t *before) {
    const unsigned shift = 8 * (i->sdwa >> 4), bits = 8 * (i->sdwa & 15);
    const uint32_t mask = bits ? ((1u << bits) - 1) << shift : UINT32_MAX;

    if (!bits)
        return;
    for (int l = 0; l < UK_AMDGPU_LANES; ++l) {
        const uint32_t value = result[l] << shift & mask;
        const uint32_t sign =
            result[l] >> (bits - 1) & 1 ? ~((mask >> shift) << shift | ((1u << shift) - 1)) : 0;

        result[l] = i->unused == 'P' ? value : i->unused == 'S' ? value | sign : value | (before[l] & ~mask);
    }
}

static void uk_merge(uint32_t *to, const uint32_t *from, uint64_t exec) {
    if (exec == UINT64_MAX) {
        memcpy(to, from, sizeof(uint32_t[UK_AMDGPU_LANES]));
        return;
    }
    for (int l = 0; l < UK_AMDGPU_LANES; ++l)
        to[l] = exec >> l & 1 ? from[l] : to[l];
}

/* `bits` is NULL if the whole result is defined. */
static void uk_write_v(struct uk_amdgpu_wave *w, unsigned r, const uint32_t *result, uint64_t exec,
                       const uint32_t *bits) {
    uint64_t undefined = 0;

    uk_merge(w->v[r], result, exec);
    if (bits) {
        uk_merge(w->undefined_bits[r], bits, exec);
        for (int l = 0; l < UK_AMDGPU_LANES; ++l)
            undefined |= (uint64_t)(bits[l] != 0) << l;
    }
    w->undefined[r] = (w->undefined[r] & ~exec) | (undefined & exec);
}

static enum uk_amdgpu_step uk_write_compare(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                            uint64_t bits, uint64_t undefined) {
    const uint64_t exec = uk_exec(w);

    return uk_scalar_write(w, i, i->o[0].index, 2, bits & exec, undefined & exec);
}

/* Clamps floats to 0 to 1; NaN becomes 0. */
static void uk_clamp(enum uk_amdgpu_type type, uint32_t (*result)[UK_AMDGPU_LANES]) {
    for (int l = 0; l < UK_AMDGPU_LANES; ++l) {
        const uint64_t wide = result[0][l] | (uint64_t)result[type == T_f64][l] << 32;
        const double a = type == T_f64   ? uk_double(wide)
                         : type == T_f16 ? (double)uk_half(result[0][l])
                                         : (double)uk_float(result[0][l]);
        const uint64_t one = type == T_f64 ? (uint64_t)1023 << 52 : type == T_f16 ? 0x3c00 : 0x3f800000;
        const uint64_t bits = !(a > 0) ? 0 : one;

        if (a > 0 && a <= 1)
            continue;
        result[0][l] = (uint32_t)bits;
        if (type == T_f64)
            result[1][l] = (uint32_t)(bits >> 32);
    }
}

/* Joins both halves of a register, or one half with the register's old other half. */
static void uk_join(const struct uk_amdgpu_inst *i, uint32_t (*word)[UK_AMDGPU_LANES],
                    const uint32_t *before) {
    const bool both = i->op->flags & F_PK_HALF, upper = i->upper;

    for (int l = 0; l < UK_AMDGPU_LANES; ++l) {
        const uint32_t low = word[0][l] & 0xffff;

        word[0][l] = both    ? low | word[1][l] << 16
                     : upper ? low << 16 | (before[l] & 0xffff)
                             : low | (before[l] & 0xffff0000);
    }
}

/* Completes the destination's register: the bits that the instruction does not write. */
static void uk_complete(const struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, uint64_t exec,
                        struct uk_results *results) {
    const unsigned r = i->o[0].index;
    const bool halves = i->op->flags & (F_KEEP | F_PK_HALF);

    if (!results->undefined && (i->op->flags & F_KEEP || i->unused == 'K') && w->undefined[r] & exec) {
        results->undefined = true;
        memset(results->bits, 0, sizeof results->bits);
    }
    if (halves)
        uk_join(i, results->word, w->v[r]);
    else if (i->sdwa)
        uk_place(i, results->word[0], w->v[r]);
    if (results->undefined) {
        uint32_t before[UK_AMDGPU_LANES];

        for (unsigned l = 0; l < UK_AMDGPU_LANES; ++l)
            before[l] = uk_undefined_bits(w, r, l);
        if (halves)
            uk_join(i, results->bits, before);
        else if (i->sdwa)
            uk_place(i, results->bits[0], before);
    }
}

enum uk_amdgpu_step uk_run_valu(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    const uint32_t flags = i->op->flags;
    const unsigned parts = flags & (F_PK | F_PK_HALF) ? 2 : 1, words = flags & F_PK        ? 2
                                                                       : flags & F_PK_HALF ? 1
                                                                                           : i->o[0].words;
    const uint64_t exec = uk_exec(w);
    uint64_t mask_out = 0, mask_undefined = 0;
    struct uk_results results;
    struct uk_amdgpu_sources from;
    enum uk_amdgpu_step step;

    results.undefined = false;
    for (unsigned part = 0; part < parts; ++part) {
        step = uk_sources(w, i, part, exec, &from);
        if (step)
            return step;
        (i->clamp && i->op->clamped ? i->op->clamped : i->op->lanes)(results.word + part, from.s, from.mask,
                                                                     &mask_out);
        if (from.undefined | (from.mask_undefined & exec)) {
            if (!results.undefined)
                memset(results.bits, 0, sizeof results.bits);
            results.undefined = true;
            mask_undefined |= uk_undefined_result(w, i, &from, part, results.bits + part);
        }
        if (i->clamp && !i->op->clamped)
            uk_clamp(i->op->types[0], results.word + part);
    }
    if (i->flops)
        w->block->run->counts->flops += i->flops * (uint64_t)__builtin_popcountll(exec);
    if (flags & F_COMPARE)
        return uk_write_compare(w, i, mask_out, mask_undefined);
    step = uk_use_v(w, i, i->o[0].index, i->o[0].words, exec, "overwritten");
    if (!step && i->o[4].kind)
        step = uk_scalar_write(w, i, i->o[4].index, 2, mask_out & exec, mask_undefined & exec);
    if (step)
        return step;
    if (flags & (F_KEEP | F_PK_HALF) || i->sdwa)
        uk_complete(w, i, exec, &results);
    for (unsigned r = 0; r < words; ++r)
        uk_write_v(w, i->o[0].index + r, results.word[r], exec, results.undefined ? results.bits[r] : NULL);
    return UK_AMDGPU_STEP_NEXT;
}

/* v_readfirstlane_b32, and v_readlane_b32 with a lane's number. */
enum uk_amdgpu_step uk_run_readlane(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    const uint64_t exec = uk_exec(w);
    uint64_t lane = exec ? (uint64_t)__builtin_ctzll(exec) : 0, undefined = 0, unknown;
    enum uk_amdgpu_step step = UK_AMDGPU_STEP_NEXT;

    if (i->op->flags & F_ANY_LANE)
        step = uk_scalar_source(w, i, &i->o[2], &lane, &undefined);
    lane %= UK_AMDGPU_LANES;
    if (!step)
        step = uk_use_v(w, i, i->o[1].index, 1, (uint64_t)1 << lane, "used");
    if (step)
        return step;
    unknown = undefined ? UINT32_MAX : uk_undefined_bits(w, i->o[1].index, (unsigned)lane);
    return uk_scalar_write(w, i, i->o[0].index, 1, w->v[i->o[1].index][lane], unknown);
}

enum uk_amdgpu_step uk_run_writelane(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    uint64_t value, lane = 0, undefined, lane_undefined = 0;
    enum uk_amdgpu_step step = uk_scalar_source(w, i, &i->o[1], &value, &undefined);

    if (!step)
        step = uk_scalar_source(w, i, &i->o[2], &lane, &lane_undefined);
    lane %= UK_AMDGPU_LANES;
    if (!step)
        step = uk_use_v(w, i, i->o[0].index, 1, (uint64_t)1 << lane, "overwritten");
    if (step)
        return step;
    w->v[i->o[0].index][lane] = (uint32_t)value;
    w->undefined_bits[i->o[0].index][lane] = lane_undefined ? UINT32_MAX : (uint32_t)undefined;
    w->undefined[i->o[0].index] &= ~((uint64_t)1 << lane);
    if (w->undefined_bits[i->o[0].index][lane])
        w->undefined[i->o[0].index] |= (uint64_t)1 << lane;
    return UK_AMDGPU_STEP_NEXT;
}

/* v_swap_b32: exchanges two registers and their undefined bits. */
enum uk_amdgpu_step uk_run_swap(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    const unsigned r[2] = {i->o[0].index, i->o[1].index};
    uint32_t value[2][UK_AMDGPU_LANES], bits[2][UK_AMDGPU_LANES];
    const uint64_t exec = uk_exec(w);
    enum uk_amdgpu_step step = uk_use_v(w, i, r[0], 1, exec, "used");

    if (!step)
        step = uk_use_v(w, i, r[1], 1, exec, "used");
    if (step)
        return step;
    for (int k = 0; k < 2; ++k)
        for (unsigned l = 0; l < UK_AMDGPU_LANES; ++l) {
            value[k][l] = w->v[r[k]][l];
            bits[k][l] = uk_undefined_bits(w, r[k], l);
        }
    for (int k = 0; k < 2; ++k)
        uk_write_v(w, r[k], value[!k], exec, bits[!k]);
    return UK_AMDGPU_STEP_NEXT;
}
