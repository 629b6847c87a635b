/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include "decode.h"
#include "registry/rvp.h"

#define UK_RVP(name, form, funct3, funct7, field, saturates, cycles, width, value)          \
    static uint64_t uk_rvp_value_##name(uint64_t d, uint64_t a, uint64_t b, uint64_t *ov) { \
        return uk_rvp_c_##name(d, a, b, ov);                                                \
    }
#include "registry/rvp.def"
#undef UK_RVP

/* The bits of the fields funct7 and rs2 that a form leaves free. */
enum {
    FREE_RR = 0x1f,
    FREE_RRA = 0x1f,
    FREE_R = 0,
    FREE_I3 = 0x7,
    FREE_I4 = 0xf,
    FREE_I5 = 0x1f,
    FREE_I6 = 0x3f,
    FREE_I3A = 0x7
};
#define FUNCT3 (7u << 12)
#define UK_RVP(name, form, funct3, funct7, field, saturates, cycles, width, value)  \
    {#name,                                                                         \
     UK_RVP_FORM_##form,                                                            \
     FUNCT3 | (0xfffu & ~(unsigned)FREE_##form) << 20,                              \
     (unsigned)(funct3) << 12 | (unsigned)(funct7) << 25 | (unsigned)(field) << 20, \
     saturates,                                                                     \
     cycles,                                                                        \
     uk_rvp_value_##name},
static const struct uk_rvp_row uk_rvp_rows[] = {
#include "registry/rvp.def"
};
#undef UK_RVP

static uint64_t uk_rvp_value_pack(uint64_t d, uint64_t a, uint64_t b, uint64_t *ov) {
    (void)d;
    (void)ov;
    return (uint32_t)a | b << 32;
}
static uint64_t uk_rvp_value_packu(uint64_t d, uint64_t a, uint64_t b, uint64_t *ov) {
    (void)d;
    (void)ov;
    return a >> 32 | (b >> 32 << 32);
}
static const struct uk_rvp_row uk_rvp_packs[] = {
    {"pack", UK_RVP_FORM_RR, FUNCT3 | 0xfe0u << 20, 0x08004000, false, 1, uk_rvp_value_pack},
    {"packu", UK_RVP_FORM_RR, FUNCT3 | 0xfe0u << 20, 0x48004000, false, 1, uk_rvp_value_packu}};

const struct uk_rvp_row *uk_rvp_find(uint32_t word) {
    if (uk_rvp_is_pack(word))
        return &uk_rvp_packs[word >> 30];
    if (uk_rvp_is_opcode(word))
        for (size_t i = 0; i < sizeof uk_rvp_rows / sizeof *uk_rvp_rows; i++)
            if ((word & uk_rvp_rows[i].mask) == uk_rvp_rows[i].match)
                return &uk_rvp_rows[i];
    return NULL;
}

/* csrrw, csrrs, csrrc and their immediate forms; only bit 0 of vxsat is writable. */
static bool uk_rvp_execute_csr(uint32_t word, uint64_t x[32], uint64_t *vxsat) {
    const unsigned rd = word >> 7 & 31, rs1 = word >> 15 & 31, funct3 = word >> 12 & 7;
    const uint64_t operand = funct3 & 4 ? rs1 : x[rs1], old = *vxsat;

    if ((word & 0x7f) != 0x73 || word >> 20 != 0x009 || !(funct3 & 3))
        return false;
    if ((funct3 & 3) == 1)
        *vxsat = operand & 1;
    else if ((funct3 & 3) == 2)
        *vxsat |= operand & 1;
    else
        *vxsat &= ~operand;
    if (rd)
        x[rd] = old;
    return true;
}

bool uk_rvp_execute(uint32_t word, uint64_t x[32], uint64_t *vxsat) {
    const unsigned rd = word >> 7 & 31, rs1 = word >> 15 & 31, rs2 = word >> 20 & 31;
    const struct uk_rvp_row *row = uk_rvp_find(word);

    if (!row)
        return uk_rvp_execute_csr(word, x, vxsat);

    const uint64_t b = uk_rvp_reads_rs2(row) ? x[rs2] : uk_rvp_immediate(row, word);
    const uint64_t value = row->value(x[rd], x[rs1], b, vxsat);

    if (rd)
        x[rd] = value;
    return true;
}
