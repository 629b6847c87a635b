/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes and executes words of RISC-V P 0.9.11, by ukernels/registry/rvp.def; it uses only registry and no
 * operating system. Used by the emulation under Linux (emulate.c), the one without a system (bare.c), and
 * tests on other machines.
 */
#ifndef UK_RVP_DECODE_H
#define UK_RVP_DECODE_H

#include <stdbool.h>
#include <stdint.h>

enum uk_rvp_form {
    UK_RVP_FORM_RR,
    UK_RVP_FORM_RRA,
    UK_RVP_FORM_R,
    UK_RVP_FORM_I3,
    UK_RVP_FORM_I4,
    UK_RVP_FORM_I5,
    UK_RVP_FORM_I6,
    UK_RVP_FORM_I3A
};

struct uk_rvp_row {
    const char *name;
    enum uk_rvp_form form;
    /* A word belongs to this row if its bits under mask equal match; the opcode is not among them. */
    uint32_t mask, match;
    bool saturates;
    int cycles; /* latency of the result in the draft's example core */
    uint64_t (*value)(uint64_t d, uint64_t a, uint64_t b, uint64_t *ov);
};

/* The row of a word of P, or NULL. */
const struct uk_rvp_row *uk_rvp_find(uint32_t word);

/* True for pack of B (Zbkb) and packu, P's encodings of pkbb32 and pktt32. */
static inline bool uk_rvp_is_pack(uint32_t word) {
    return (word & 0xbe00707f) == 0x08004033;
}
/* True if the word belongs to P: its opcode is 0x77 or 0x7f, or it is pack or packu. */
static inline bool uk_rvp_is_opcode(uint32_t word) {
    return (word & 0x7f) == 0x77 || (word & 0x7f) == 0x7f || uk_rvp_is_pack(word);
}
static inline bool uk_rvp_reads_rd(const struct uk_rvp_row *row) {
    return row->form == UK_RVP_FORM_RRA || row->form == UK_RVP_FORM_I3A;
}
static inline bool uk_rvp_reads_rs2(const struct uk_rvp_row *row) {
    return row->form == UK_RVP_FORM_RR || row->form == UK_RVP_FORM_RRA;
}
/* The immediate: the bits of the word that the row leaves free, from bit 20 on; 0 in form R. */
static inline uint32_t uk_rvp_immediate(const struct uk_rvp_row *row, uint32_t word) {
    return (word & ~row->mask) >> 20;
}

/*
 * Executes an instruction of P, or one that reads or writes the CSR vxsat (0x009), on registers x; x[0] is 0
 * and stays 0. False: the word is neither, and nothing has changed.
 */
bool uk_rvp_execute(uint32_t word, uint64_t x[32], uint64_t *vxsat);

#endif
