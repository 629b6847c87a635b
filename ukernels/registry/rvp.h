/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RISC-V P 0.9.11, RV64: a function for each row of rvp.def, uk_rvp_<name>, on 64-bit registers. Part of the
 * kernel contract: freestanding, nothing but arithmetic.
 *
 *   rd = uk_rvp_add32(rs1, rs2)    rd = uk_rvp_smaqa_su(rd, rs1, rs2)    rd = uk_rvp_srai32_u(rs1, immediate)
 *
 * On RISC-V each is one instruction, aligned to 4 bytes: the emulation (simulate/rvp) replaces only aligned
 * words while threads run. Compile kernels without the extension C, so that alignment costs no nop. An
 * immediate is a constant when the call is inlined (-O1 and more). Instructions that can set vxsat are kept
 * in their order, others may be moved, merged and dropped as any arithmetic. -DUK_RVP_OPCODE=0x7f: the opcode
 * of 0.5 and of the cores that have it.
 *
 * On other machines, and with -DUK_IN_C, each is C; uk_rvp_c_<name> is C on RISC-V too. Right shifts of
 * negative numbers are arithmetic, which gcc and clang document.
 */
#ifndef UK_RVP_H
#define UK_RVP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In C the functions are not always_inline: without optimization each inlined copy would have variables of
 * its own, thousands in a kernel. */
#ifdef UK_IN_C
#define UK_RVP_INLINE __attribute__((unused)) static inline
#else
#define UK_RVP_INLINE __attribute__((always_inline)) static inline
#endif

/* Lane i of v, of w bits (at most 32): zero-extended and sign-extended. */
UK_RVP_INLINE uint64_t uk_rvp_unsigned(uint64_t v, int w, int i) {
    return v >> (w * i) & (~UINT64_C(0) >> (64 - w));
}
UK_RVP_INLINE int64_t uk_rvp_signed(uint64_t v, int w, int i) {
    return (int64_t)(v << (64 - w - w * i)) >> (64 - w);
}

UK_RVP_INLINE int64_t uk_rvp_min(int64_t v, int64_t w) {
    return v < w ? v : w;
}
UK_RVP_INLINE int64_t uk_rvp_max(int64_t v, int64_t w) {
    return v > w ? v : w;
}

/* v clamped to [low, high]; *ov is set if it was outside. */
UK_RVP_INLINE int64_t uk_rvp_clip(int64_t v, int64_t low, int64_t high, uint64_t *ov) {
    const int64_t r = v < low ? low : v > high ? high : v;

    *ov |= r != v;
    return r;
}
UK_RVP_INLINE int64_t uk_rvp_sclip(int64_t v, uint64_t bits, uint64_t *ov) {
    return uk_rvp_clip(v, -(INT64_C(1) << bits), (INT64_C(1) << bits) - 1, ov);
}
UK_RVP_INLINE int64_t uk_rvp_uclip(int64_t v, uint64_t bits, uint64_t *ov) {
    return uk_rvp_clip(v, 0, (INT64_C(1) << bits) - 1, ov);
}
UK_RVP_INLINE int64_t uk_rvp_sat(int64_t v, int w, uint64_t *ov) {
    return uk_rvp_sclip(v, (uint64_t)w - 1, ov);
}

/* v / 2^amount, rounded half up. */
UK_RVP_INLINE int64_t uk_rvp_round(int64_t v, uint64_t amount) {
    return amount ? (v >> amount) + (v >> (amount - 1) & 1) : v;
}

/*
 * v, of 32 bits, shifted by the low 6 bits of the amount, a signed number: left with saturation if it is
 * positive, else right by its absolute value, of which 32 counts as 31.
 */
UK_RVP_INLINE int64_t uk_rvp_kslra(int64_t v, uint64_t amount, int rounded, uint64_t *ov) {
    const int64_t left = uk_rvp_signed(amount, 6, 0), right = uk_rvp_min(-left, 31);

    if (left >= 0)
        return uk_rvp_sat(v * (INT64_C(1) << left), 32, ov);
    return rounded ? uk_rvp_round(v, (uint64_t)right) : v >> right;
}

/* The sum of the four products of bytes of word x, signed or not, modulo 2^64. */
UK_RVP_INLINE uint64_t uk_rvp_dot(uint64_t a, uint64_t b, int x, int a_signed, int b_signed) {
    uint64_t sum = 0;

#pragma GCC unroll 4
    for (int i = 4 * x; i < 4 * x + 4; i++)
        sum += (a_signed ? (uint64_t)uk_rvp_signed(a, 8, i) : uk_rvp_unsigned(a, 8, i)) *
               (b_signed ? (uint64_t)uk_rvp_signed(b, 8, i) : uk_rvp_unsigned(b, 8, i));
    return sum;
}

/* The sum of the two products of halves of word x: upper by upper and lower by lower; crossed: upper by
 * lower. */
UK_RVP_INLINE int64_t uk_rvp_pair(uint64_t a, uint64_t b, int x, int crossed) {
    return uk_rvp_signed(a, 16, 2 * x + 1) * uk_rvp_signed(b, 16, 2 * x + !crossed) +
           uk_rvp_signed(a, 16, 2 * x) * uk_rvp_signed(b, 16, 2 * x + crossed);
}

/* u + v + w, saturated to 64 bits once. */
UK_RVP_INLINE int64_t uk_rvp_sum(int64_t u, int64_t v, int64_t w, uint64_t *ov) {
    const uint64_t low = (uint64_t)(uint32_t)u + (uint32_t)v + (uint32_t)w;
    const int64_t high = (u >> 32) + (v >> 32) + (w >> 32) + (int64_t)(low >> 32),
                  kept = uk_rvp_sat(high, 32, ov);

    return kept != high ? high < 0 ? INT64_MIN : INT64_MAX : (int64_t)((uint64_t)high << 32 | (uint32_t)low);
}

/* The sum of the absolute differences of the bytes. */
UK_RVP_INLINE uint64_t uk_rvp_sad(uint64_t a, uint64_t b) {
    uint64_t sum = 0;

#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        const int64_t difference = (int64_t)uk_rvp_unsigned(a, 8, i) - (int64_t)uk_rvp_unsigned(b, 8, i);

        sum += (uint64_t)uk_rvp_max(difference, -difference);
    }
    return sum;
}

#define S8(v, i) uk_rvp_signed(v, 8, i)
#define S16(v, i) uk_rvp_signed(v, 16, i)
#define S32(v, i) uk_rvp_signed(v, 32, i)
#define U8(v, i) uk_rvp_unsigned(v, 8, i)
#define U16(v, i) uk_rvp_unsigned(v, 16, i)
#define U32(v, i) uk_rvp_unsigned(v, 32, i)
#define UK_RVP(name, form, funct3, funct7, field, saturates, cycles, width, value)             \
    UK_RVP_INLINE uint64_t uk_rvp_c_##name(uint64_t d, uint64_t a, uint64_t b, uint64_t *ov) { \
        uint64_t r = 0;                                                                        \
                                                                                               \
        (void)d, (void)b, (void)ov;                                                            \
        _Pragma("GCC unroll 8") for (int x = 0; x < 64 / width; x++) r |=                      \
            ((uint64_t)(value) & (~UINT64_C(0) >> (64 - width))) << (width * x);               \
        return r;                                                                              \
    }
#include "rvp.def"
#undef UK_RVP
#undef S8
#undef S16
#undef S32
#undef U8
#undef U16
#undef U32

/*
 * The functions. Arguments of the macro UK_RVP_BODY:
 *
 *     declared    a declaration of rd, if it is not a parameter
 *     d, b        the operands d and b of the function in C
 *     text        the instruction's word
 *     mode        the constraint of rd
 *     ...         the inputs except rs1, with a comma before them
 */
#define UK_RVP_FUNCTION(name, parameters, body)       \
    UK_RVP_INLINE uint64_t uk_rvp_##name parameters { \
        body                                          \
    }
#define UK_RVP_IN_C(name, d, b) \
    uint64_t ov = 0;            \
    return uk_rvp_c_##name(d, rs1, b, &ov);

#if defined __riscv && __riscv_xlen == 64 && !defined UK_IN_C

#ifndef UK_RVP_OPCODE
#define UK_RVP_OPCODE 0x77
#endif
/*
 * For other asm statements: UK_RVP_TEXT is the word of an instruction of three registers, given by their ABI
 * names or as operands (%[sum]). UK_RVP_NAMES must precede the first, and the word must be aligned to 4
 * bytes. UK_RVP_WORD is both, for operands 0 and 1 and a field rs2.
 */
#if UK_RVP_OPCODE == 0x77
#define UK_RVP_NAMES
#define UK_RVP_FIELDS(funct3, funct7, rd, rs1, rs2) \
    ".insn r 0x77, " funct3 ", " funct7 ", " rd ", " rs1 ", " rs2
#define UK_RVP_NAME(r) r
#define UK_RVP_FIELD(number) "x" number
#elif UK_RVP_OPCODE == 0x7f
/* Assemblers take 0x7f for the beginning of a longer instruction, so the word is data, made of register
 * numbers. */
#define UK_RVP_NAMES                                                                                       \
    ".equ uk_rvp_zero, 0\n.equ uk_rvp_ra, 1\n.equ uk_rvp_sp, 2\n.equ uk_rvp_gp, 3\n.equ uk_rvp_tp, 4\n"    \
    ".equ uk_rvp_t0, 5\n.equ uk_rvp_t1, 6\n.equ uk_rvp_t2, 7\n.equ uk_rvp_s0, 8\n.equ uk_rvp_fp, 8\n"      \
    ".equ uk_rvp_s1, 9\n.equ uk_rvp_a0, 10\n.equ uk_rvp_a1, 11\n.equ uk_rvp_a2, 12\n.equ uk_rvp_a3, 13\n"  \
    ".equ uk_rvp_a4, 14\n.equ uk_rvp_a5, 15\n.equ uk_rvp_a6, 16\n.equ uk_rvp_a7, 17\n.equ uk_rvp_s2, 18\n" \
    ".equ uk_rvp_s3, 19\n.equ uk_rvp_s4, 20\n.equ uk_rvp_s5, 21\n.equ uk_rvp_s6, 22\n.equ uk_rvp_s7, 23\n" \
    ".equ uk_rvp_s8, 24\n.equ uk_rvp_s9, 25\n.equ uk_rvp_s10, 26\n.equ uk_rvp_s11, 27\n"                   \
    ".equ uk_rvp_t3, 28\n.equ uk_rvp_t4, 29\n.equ uk_rvp_t5, 30\n.equ uk_rvp_t6, 31\n"
#define UK_RVP_FIELDS(funct3, funct7, rd, rs1, rs2)                                                       \
    ".4byte 0x7f + ((" funct7 ") << 25) + (" funct3 " << 12) + ((" rs2 ") << 20) + (" rd " << 7) + (" rs1 \
    " << 15)"
#define UK_RVP_NAME(r) "uk_rvp_" r
#define UK_RVP_FIELD(number) number
#else
#error "UK_RVP_OPCODE is 0x77 (P 0.9) or 0x7f (P 0.5)"
#endif
#define UK_RVP_TEXT(funct3, funct7, rd, rs1, rs2) \
    UK_RVP_FIELDS(funct3, funct7, UK_RVP_NAME(rd), UK_RVP_NAME(rs1), UK_RVP_NAME(rs2))
#define UK_RVP_WORD(funct3, funct7, rs2) \
    UK_RVP_NAMES ".balign 4\n\t" UK_RVP_FIELDS(funct3, funct7, UK_RVP_NAME("%0"), UK_RVP_NAME("%1"), rs2)
#define UK_RVP_RS2 UK_RVP_NAME("%2")
#define UK_RVP_ASM_0 __asm__
#define UK_RVP_ASM_1 __asm__ __volatile__
#define UK_RVP_BODY(name, saturates, declared, d, b, text, mode, ...)       \
    declared UK_RVP_ASM_##saturates(text : mode(rd) : "r"(rs1)__VA_ARGS__); \
    return rd;
#else
#define UK_RVP_BODY(name, saturates, declared, d, b, text, mode, ...) UK_RVP_IN_C(name, d, b)
#endif
/* Without optimization the immediate of an inline function is not a constant: it is computed in C. */
#ifdef __OPTIMIZE__
#define UK_RVP_IMMEDIATE(...) UK_RVP_BODY(__VA_ARGS__)
#else
#define UK_RVP_IMMEDIATE(name, saturates, declared, d, b, ...) UK_RVP_IN_C(name, d, b)
#endif

#define UK_RVP_RR(name, funct3, funct7, field, saturates)     \
    UK_RVP_FUNCTION(name, (uint64_t rs1, uint64_t rs2),       \
                    UK_RVP_BODY(name, saturates, uint64_t rd; \
                                , 0, rs2, UK_RVP_WORD(#funct3, #funct7, UK_RVP_RS2), "=r", , "r"(rs2)))
#define UK_RVP_RRA(name, funct3, funct7, field, saturates)                                                   \
    UK_RVP_FUNCTION(name, (uint64_t rd, uint64_t rs1, uint64_t rs2),                                         \
                    UK_RVP_BODY(name, saturates, , rd, rs2, UK_RVP_WORD(#funct3, #funct7, UK_RVP_RS2), "+r", \
                                , "r"(rs2)))
#define UK_RVP_R(name, funct3, funct7, field, saturates)      \
    UK_RVP_FUNCTION(name, (uint64_t rs1),                     \
                    UK_RVP_BODY(name, saturates, uint64_t rd; \
                                , 0, 0, UK_RVP_WORD(#funct3, #funct7, UK_RVP_FIELD(#field)), "=r", ))
#define UK_RVP_I(name, funct3, funct7, field, saturates)                                                \
    UK_RVP_FUNCTION(name, (uint64_t rs1, unsigned immediate),                                           \
                    UK_RVP_IMMEDIATE(name, saturates, uint64_t rd;                                      \
                                     , 0, immediate,                                                    \
                                     UK_RVP_WORD(#funct3, #funct7 " + %3", UK_RVP_FIELD("%2")), "=r", , \
                                     "i"(field + (immediate & 31)), "i"(immediate >> 5)))
#define UK_RVP_I3(...) UK_RVP_I(__VA_ARGS__)
#define UK_RVP_I4(...) UK_RVP_I(__VA_ARGS__)
#define UK_RVP_I5(...) UK_RVP_I(__VA_ARGS__)
#define UK_RVP_I6(...) UK_RVP_I(__VA_ARGS__)
#define UK_RVP_I3A(name, funct3, funct7, field, saturates)                                      \
    UK_RVP_FUNCTION(name, (uint64_t rd, uint64_t rs1, unsigned immediate),                      \
                    UK_RVP_IMMEDIATE(name, saturates, , rd, immediate,                          \
                                     UK_RVP_WORD(#funct3, #funct7, UK_RVP_FIELD("%2")), "+r", , \
                                     "i"(field + immediate)))
#define UK_RVP(name, form, funct3, funct7, field, saturates, cycles, width, value) \
    UK_RVP_##form(name, funct3, funct7, field, saturates)
#include "rvp.def"
#undef UK_RVP

/* pack joins the lower words of rs1 and rs2, packu the upper ones; that of rs1 becomes the lower. These
 * instructions of P have the opcode of the extension B. */
#if defined __riscv && __riscv_xlen == 64 && !defined UK_IN_C && UK_RVP_OPCODE == 0x77
#define UK_RVP_PACK(funct7, value)                                                                   \
    uint64_t rd;                                                                                     \
    __asm__(".balign 4\n\t.insn r 0x33, 4, " funct7 ", %0, %1, %2" : "=r"(rd) : "r"(rs1), "r"(rs2)); \
    return rd;
#else
#define UK_RVP_PACK(funct7, value) return value;
#endif
UK_RVP_FUNCTION(pack, (uint64_t rs1, uint64_t rs2), UK_RVP_PACK("0x04", (uint32_t)rs1 | rs2 << 32))
UK_RVP_FUNCTION(packu, (uint64_t rs1, uint64_t rs2), UK_RVP_PACK("0x24", rs1 >> 32 | (rs2 >> 32 << 32)))

#ifdef __cplusplus
}
#endif

#endif
