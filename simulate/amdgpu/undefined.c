/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The undefined bits of a VALU result if sources have undefined bits. Rows with F_BITS move bits or combine
 * bits of the same position: the row's function is evaluated with the undefined bits of its sources flipped,
 * in all combinations of sources. In sums and products the lowest undefined bit makes all bits above it
 * undefined; in any other row one undefined bit makes the whole result undefined.
 */
#include <string.h>
#include "state.h"

/* The bits of a source that an operand of this type reads. */
static const uint32_t uk_read_bits[] = {
    [T_none] = 0,         [T_u32] = UINT32_MAX, [T_i32] = UINT32_MAX, [T_f32] = UINT32_MAX,
    [T_u64] = UINT32_MAX, [T_i64] = UINT32_MAX, [T_f64] = UINT32_MAX, [T_u16] = 0xffff,
    [T_i16] = 0xffff,     [T_f16] = 0xffff,     [T_k16] = 0,          [T_ku16] = 0,
    [T_u24] = 0xffffff,   [T_i24] = 0xffffff,   [T_b0] = 0xff,        [T_b1] = 0xff00,
    [T_b2] = 0xff0000,    [T_b3] = 0xff000000,  [T_n4] = 15,          [T_n5] = 31,
    [T_n6] = 63,          [T_n32] = UINT32_MAX,
};

/* The sources' undefined bits, those of control operands separate from those of data. */
struct uk_undefined {
    const uint32_t *word[6];
    uint32_t copy[6][UK_AMDGPU_LANES];
    uint64_t data[UK_AMDGPU_LANES];
    bool is_control[3];
    uint64_t control; /* lanes with undefined control operands */
};

static void uk_gather(const struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, unsigned part,
                      struct uk_undefined *u) {
    u->control = 0;
    memset(u->data, 0, sizeof u->data);
    for (unsigned k = 0; k < 3; ++k) {
        const enum uk_amdgpu_type type = i->op->types[1 + k];
        const bool two = type == T_u64 || type == T_i64 || type == T_f64 || i->op->flags & F_HALVES;

        u->is_control[k] = type >= T_n4;
        if (i->o[1 + k].kind == UK_AMDGPU_OPERAND_NONE)
            continue;
        uk_source_words(w, i, k, part, true, u->word + 2 * k, u->copy + 2 * k);
        for (unsigned l = 0; l < UK_AMDGPU_LANES; ++l) {
            const uint64_t bits =
                (u->word[2 * k][l] & uk_read_bits[type]) | (two ? (uint64_t)u->word[2 * k + 1][l] << 32 : 0);

            if (u->is_control[k])
                u->control |= (uint64_t)(bits != 0) << l;
            else
                u->data[l] |= bits;
        }
    }
}

/* Sets the bits of the result that change when undefined bits of sources are flipped, in any combination of
 * sources. */
static void uk_by_change(const struct uk_amdgpu_inst *i, const struct uk_amdgpu_sources *from,
                         const struct uk_undefined *u, uint32_t (*result)[UK_AMDGPU_LANES]) {
    const unsigned words = i->o[0].words == 2 && !(i->op->flags & F_PK) ? 2 : 1;
    uint32_t changed[6][UK_AMDGPU_LANES], first[2][UK_AMDGPU_LANES], other[2][UK_AMDGPU_LANES];
    uint64_t mask;

    i->op->lanes(first, from->s, from->mask, &mask);
    for (unsigned sources = 1; sources < 8; ++sources) {
        const uint32_t *s[6];

        memcpy(s, from->s, sizeof s);
        for (unsigned k = 0; k < 6; ++k) {
            if (!(sources >> k / 2 & 1) || i->o[1 + k / 2].kind == UK_AMDGPU_OPERAND_NONE ||
                u->is_control[k / 2] || (k % 2 && i->o[1 + k / 2].words != 2))
                continue;
            for (unsigned l = 0; l < UK_AMDGPU_LANES; ++l)
                changed[k][l] = from->s[k][l] ^ u->word[k][l];
            s[k] = changed[k];
        }
        i->op->lanes(other, s, from->mask, &mask);
        for (unsigned word = 0; word < words; ++word)
            for (unsigned l = 0; l < UK_AMDGPU_LANES; ++l)
                result[word][l] |= first[word][l] ^ other[word][l];
    }
}

static uint64_t uk_from_lowest(uint64_t bits) {
    return 0 - (bits & (0 - bits));
}

/* The undefined bits of the source that the mask selects. If the mask's bit is undefined: also those in which
 * the two sources differ. */
static uint32_t uk_selected(const struct uk_amdgpu_sources *from, const struct uk_undefined *u, unsigned l) {
    const uint32_t a = u->word[0][l], b = u->word[2][l];

    if (from->mask_undefined >> l & 1)
        return a | b | (from->s[0][l] ^ from->s[2][l]);
    return from->mask >> l & 1 ? b : a;
}

uint64_t uk_undefined_result(const struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                             const struct uk_amdgpu_sources *from, unsigned part,
                             uint32_t (*result)[UK_AMDGPU_LANES]) {
    const uint32_t flags = i->op->flags;
    const enum uk_amdgpu_type type = i->op->types[0];
    const uint64_t all = type == T_none || i->o[0].words == 2 ? UINT64_MAX : uk_read_bits[type];
    uint64_t lanes = from->mask_undefined;
    struct uk_undefined u;

    uk_gather(w, i, part, &u);
    lanes |= u.control;
    for (unsigned l = 0; l < UK_AMDGPU_LANES; ++l)
        lanes |= (uint64_t)(u.data[l] != 0) << l;
    if (flags & F_COMPARE)
        return lanes;
    if (flags & F_BITS)
        uk_by_change(i, from, &u, result);
    for (unsigned l = 0; l < UK_AMDGPU_LANES; ++l) {
        uint64_t bits = u.data[l] ? all : 0;

        if (flags & F_SELECT) {
            result[0][l] = uk_selected(from, &u, l);
            continue;
        }
        if (flags & F_LOW_FIRST && !i->clamp)
            bits = uk_from_lowest(u.data[l] | (from->mask_undefined >> l & 1)) & all;
        else if (from->mask_undefined >> l & 1)
            bits = all;
        if (u.control >> l & 1)
            bits = all;
        else if (flags & F_BITS)
            continue;
        result[0][l] = (uint32_t)bits;
        if (i->o[0].words == 2 && !(flags & F_PK))
            result[1][l] = (uint32_t)(bits >> 32);
    }
    return lanes;
}
