/* SPDX-License-Identifier: Apache-2.0 */
/* The opcode table, from opcodes.def: a function for each row's expression, and the check of operands against
 * a row. */
#include <stdlib.h>
#include <string.h>
#include "lanes.h"
#include "matrix.h"
#include "state.h"

/* For each operand type of the rows: its C type, and reading (GET) and writing (PUT) lane l of its
 * registers. */
typedef uint32_t t_none, t_u32, t_u24, t_b0, t_b1, t_b2, t_b3, t_n4, t_n5, t_n6, t_n32;
typedef int32_t t_i32, t_i24;
typedef uint64_t t_u64;
typedef int64_t t_i64;
typedef float t_f32;
typedef double t_f64;
typedef _Float16 t_f16;
typedef uint16_t t_u16;
typedef int16_t t_i16;

static inline uint64_t uk_get_u64(const uint32_t *const *s, int l) {
    return s[0][l] | (uint64_t)s[1][l] << 32;
}
static inline _Float16 uk_get_f16(const uint32_t *const *s, int l) {
    const uint16_t bits = (uint16_t)s[0][l];
    _Float16 a;

    memcpy(&a, &bits, 2);
    return a;
}
#define GET_none(s, l) 0
#define GET_u32(s, l) (s)[0][l]
#define GET_u24(s, l) ((s)[0][l] & 0xffffff)
#define GET_b0(s, l) ((s)[0][l] & 255)
#define GET_b1(s, l) ((s)[0][l] >> 8 & 255)
#define GET_b2(s, l) ((s)[0][l] >> 16 & 255)
#define GET_b3(s, l) ((s)[0][l] >> 24)
#define GET_n4(s, l) ((s)[0][l] & 15)
#define GET_n5(s, l) ((s)[0][l] & 31)
#define GET_n6(s, l) ((s)[0][l] & 63)
#define GET_n32(s, l) (s)[0][l]
#define GET_i32(s, l) (int32_t)(s)[0][l]
#define GET_i24(s, l) ((int32_t)((s)[0][l] << 8) >> 8)
#define GET_u16(s, l) (uint16_t)(s)[0][l]
#define GET_i16(s, l) (int16_t)(s)[0][l]
#define GET_f32(s, l) uk_float((s)[0][l])
#define GET_f16(s, l) uk_get_f16(s, l)
#define GET_u64(s, l) uk_get_u64(s, l)
#define GET_i64(s, l) (int64_t)uk_get_u64(s, l)
#define GET_f64(s, l) uk_double(uk_get_u64(s, l))

static inline void uk_put_u64(uint32_t (*d)[UK_AMDGPU_LANES], int l, uint64_t a) {
    d[0][l] = (uint32_t)a;
    d[1][l] = (uint32_t)(a >> 32);
}
static inline void uk_put_f64(uint32_t (*d)[UK_AMDGPU_LANES], int l, double a) {
    uint64_t bits;

    memcpy(&bits, &a, 8);
    uk_put_u64(d, l, bits);
}
static inline void uk_put_f16(uint32_t (*d)[UK_AMDGPU_LANES], int l, _Float16 a) {
    uint16_t bits;

    memcpy(&bits, &a, 2);
    d[0][l] = bits;
}
#define PUT_u32(d, l, a) (d)[0][l] = (a)
#define PUT_i32(d, l, a) (d)[0][l] = (uint32_t)(a)
#define PUT_u16(d, l, a) (d)[0][l] = (a)
#define PUT_i16(d, l, a) (d)[0][l] = (uint16_t)(a)
#define PUT_f32(d, l, a) (d)[0][l] = uk_bits(a)
#define PUT_f16(d, l, a) uk_put_f16(d, l, a)
#define PUT_u64(d, l, a) uk_put_u64(d, l, a)
#define PUT_i64(d, l, a) uk_put_u64(d, l, (uint64_t)(a))
#define PUT_f64(d, l, a) uk_put_f64(d, l, a)

#define LANES_OF(name) uk_lanes_##name
#define SOURCES(A, B, C)               \
    const t_##A a = GET_##A(s, l);     \
    const t_##B b = GET_##B(s + 2, l); \
    const t_##C c = GET_##C(s + 4, l); \
    (void)a, (void)b, (void)c
#define PARAMETERS                                                                               \
    uint32_t(*restrict d)[UK_AMDGPU_LANES], const uint32_t *const *restrict s, uint64_t mask_in, \
        uint64_t *restrict mask_out

#define V(name, D, A, B, C, flags, ...)             \
    static void LANES_OF(name)(PARAMETERS) {        \
        (void)mask_in, (void)mask_out;              \
        for (int l = 0; l < UK_AMDGPU_LANES; ++l) { \
            SOURCES(A, B, C);                       \
            PUT_##D(d, l, (__VA_ARGS__));           \
        }                                           \
    }
/* Integer results computed in 64 bits, without overflow; clamped to the minimum and maximum of D. */
#define EXACT(function, D, A, B, C, result, ...)                                           \
    static void function(PARAMETERS) {                                                     \
        (void)mask_in, (void)mask_out;                                                     \
        for (int l = 0; l < UK_AMDGPU_LANES; ++l) {                                        \
            const int64_t a = GET_##A(s, l), b = GET_##B(s + 2, l), c = GET_##C(s + 4, l), \
                          exact = (__VA_ARGS__);                                           \
            (void)c;                                                                       \
            PUT_##D(d, l, (t_##D)(result));                                                \
        }                                                                                  \
    }
#define MIN_u16 0
#define MIN_u32 0
#define MIN_i16 INT16_MIN
#define MIN_i32 INT32_MIN
#define MAX_u16 UINT16_MAX
#define MAX_u32 UINT32_MAX
#define MAX_i16 INT16_MAX
#define MAX_i32 INT32_MAX
#define VS(name, D, A, B, C, flags, ...)                  \
    EXACT(LANES_OF(name), D, A, B, C, exact, __VA_ARGS__) \
    EXACT(uk_clamped_##name, D, A, B, C, uk_median_i64(exact, MIN_##D, MAX_##D), __VA_ARGS__)
#define VM(name, D, A, B, C, flags, ...)            \
    static void LANES_OF(name)(PARAMETERS) {        \
        uint64_t out = 0;                           \
        for (int l = 0; l < UK_AMDGPU_LANES; ++l) { \
            const bool m = mask_in >> l & 1;        \
            bool k = false;                         \
            SOURCES(A, B, C);                       \
            (void)m;                                \
            PUT_##D(d, l, (__VA_ARGS__));           \
            out |= (uint64_t)k << l;                \
        }                                           \
        *mask_out = out;                            \
    }
#define VC(name, A, B, ...)                         \
    static void LANES_OF(name)(PARAMETERS) {        \
        uint64_t out = 0;                           \
        (void)mask_in, (void)d;                     \
        for (int l = 0; l < UK_AMDGPU_LANES; ++l) { \
            SOURCES(A, B, none);                    \
            out |= (uint64_t)(__VA_ARGS__) << l;    \
        }                                           \
        *mask_out = out;                            \
    }
#include "opcodes.def"

/* Most executed instructions are FMAs of f32: the host's FMA instruction is used if it exists. */
#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static void uk_lanes_fma_avx2(uint32_t (*restrict d)[UK_AMDGPU_LANES],
                                                                  const uint32_t *const *restrict s) {
    for (int l = 0; l < UK_AMDGPU_LANES; ++l)
        d[0][l] = uk_bits(__builtin_fmaf(uk_float(s[0][l]), uk_float(s[2][l]), uk_float(s[4][l])));
}
#endif
static void uk_lanes_fma(PARAMETERS) {
    (void)mask_in, (void)mask_out;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        uk_lanes_fma_avx2(d, s);
        return;
    }
#endif
    for (int l = 0; l < UK_AMDGPU_LANES; ++l)
        d[0][l] = uk_bits(fmaf(uk_float(s[0][l]), uk_float(s[2][l]), uk_float(s[4][l])));
}

/* Scalars: 32-bit operands are extended to 64 bits, so that carries are visible. */
#define SGET_none(x) ((void)(x), 0)
#define SGET_u32(x) (uint64_t)(uint32_t)(x)
#define SGET_i32(x) (int64_t)(int32_t)(x)
#define SGET_k16(x) (int64_t)(int16_t)(x)
#define SGET_ku16(x) (uint64_t)(uint16_t)(x)
#define SGET_u64(x) (uint64_t)(x)
#define SGET_i64(x) (int64_t)(x)
#define s_none uint64_t
#define s_u32 uint64_t
#define s_i32 int64_t
#define s_k16 int64_t
#define s_ku16 uint64_t
#define s_u64 uint64_t
#define s_i64 int64_t
#define SMASK_none UINT64_MAX
#define SMASK_u32 UINT32_MAX
#define SMASK_u64 UINT64_MAX
#define SCALAR_OF(name, D, A, B, nonzero, ...)                                                  \
    static uint64_t uk_scalar_##name(uint64_t a_bits, uint64_t b_bits, uint64_t d, bool *scc) { \
        const s_##A a = SGET_##A(a_bits);                                                       \
        const s_##B b = SGET_##B(b_bits);                                                       \
        uint64_t r = 0;                                                                         \
        (void)a, (void)b, (void)d, (void)r;                                                     \
        r = (uint64_t)(__VA_ARGS__) & SMASK_##D;                                                \
        *scc = (nonzero) ? r != 0 : *scc;                                                       \
        return r;                                                                               \
    }
#define S(name, D, A, B, flags, ...) SCALAR_OF(name, D, A, B, false, __VA_ARGS__)
#define SZ(name, D, A, B, flags, ...) SCALAR_OF(name, D, A, B, true, __VA_ARGS__)
#include "opcodes.def"

#define KIND_OF(flags) ((flags) & F_FMA ? UK_AMDGPU_FMA : UK_AMDGPU_VALU)
static const struct uk_amdgpu_opcode uk_opcodes[] = {
#define V(name, D, A, B, C, flags, ...)                                                              \
    {#name, uk_run_valu, KIND_OF(flags), {T_##D, T_##A, T_##B, T_##C}, flags, uk_lanes_##name, NULL, \
     NULL,  NULL},
#define VS(name, D, A, B, C, flags, ...)                                      \
    {#name, uk_run_valu,     KIND_OF(flags),    {T_##D, T_##A, T_##B, T_##C}, \
     flags, uk_lanes_##name, uk_clamped_##name, NULL,                         \
     NULL},
#define VM(name, D, A, B, C, flags, ...) V(name, D, A, B, C, flags, )
#define VF(name, flags)                                                                              \
    {#name, uk_run_valu, UK_AMDGPU_FMA, {T_f32, T_f32, T_f32, T_f32}, (flags) | F_FMA, uk_lanes_fma, \
     NULL,  NULL,        NULL},
#define VC(name, A, B, ...)                                                                                \
    {#name, uk_run_valu, UK_AMDGPU_VALU, {T_none, T_##A, T_##B, T_none}, F_COMPARE, uk_lanes_##name, NULL, \
     NULL,  NULL},
#define S(name, D, A, B, flags, ...)                                                                         \
    {#name, uk_run_salu, UK_AMDGPU_SALU, {T_##D, T_##A, T_##B, T_none}, flags, NULL, NULL, uk_scalar_##name, \
     NULL},
#define SZ(name, D, A, B, flags, ...) \
    {#name,                           \
     uk_run_salu,                     \
     UK_AMDGPU_SALU,                  \
     {T_##D, T_##A, T_##B, T_none},   \
     (flags) | F_SCC_OUT,             \
     NULL,                            \
     NULL,                            \
     uk_scalar_##name,                \
     NULL},
#define X(name, run, kind, flags) {#name, run, UK_AMDGPU_##kind, {0}, flags, NULL, NULL, NULL, NULL},
#define MEMORY(name, run, kind, bytes, registers, flags)                                               \
    {name, run, (flags) & F_WRITE ? kind##_WRITE : kind##_READ, {bytes, registers}, flags, NULL, NULL, \
     NULL, NULL},
#define BUFFER_READ UK_AMDGPU_LOAD
#define BUFFER_WRITE UK_AMDGPU_STORE
#define MG(name, bytes, registers, flags)                                                \
    MEMORY("global_" #name, uk_run_global, BUFFER, bytes, registers, flags)              \
    MEMORY("flat_" #name, uk_run_global, BUFFER, bytes, registers, (flags) | F_FLAT)     \
    MEMORY("buffer_" #name, uk_run_global, BUFFER, bytes, registers, (flags) | F_BUFFER) \
    MEMORY("scratch_" #name, uk_run_global, BUFFER, bytes, registers, (flags) | F_PRIVATE)
#define ML(name, bytes, registers, flags) MEMORY(#name, uk_run_lds, UK_AMDGPU_LDS, bytes, registers, flags)
#define MS(name, registers) \
    {#name, uk_run_smem, UK_AMDGPU_SMEM, {4 * (registers), registers}, 0, NULL, NULL, NULL, NULL},
#include "opcodes.def"
#define MATRIX(name, D, AB, size, k, blocks, passes) \
    {#name,                                          \
     uk_run_matrix,                                  \
     UK_AMDGPU_MATRIX,                               \
     {T_##D, T_##AB, T_##AB, T_##D},                 \
     0,                                              \
     NULL,                                           \
     NULL,                                           \
     NULL,                                           \
     &(const struct uk_matrix){T_##D, T_##AB, size, k, blocks, passes}},
#include "matrix.def"
};

const struct uk_amdgpu_opcode *uk_amdgpu_opcode(const char *name) {
    for (size_t i = 0; i < sizeof uk_opcodes / sizeof uk_opcodes[0]; ++i)
        if (strcmp(uk_opcodes[i].name, name) == 0)
            return &uk_opcodes[i];
    return NULL;
}

static const uint8_t uk_type_words[] = {
    [T_u32] = 1, [T_i32] = 1, [T_f32] = 1, [T_u64] = 2,  [T_i64] = 2, [T_f64] = 2, [T_u16] = 1,
    [T_i16] = 1, [T_f16] = 1, [T_k16] = 1, [T_ku16] = 1, [T_u24] = 1, [T_i24] = 1, [T_b0] = 1,
    [T_b1] = 1,  [T_b2] = 1,  [T_b3] = 1,  [T_n4] = 1,   [T_n5] = 1,  [T_n6] = 1,  [T_n32] = 1,
};

static bool uk_is_float(enum uk_amdgpu_type type) {
    return type == T_f32 || type == T_f64 || type == T_f16;
}

/* True if the operand may have a sign modifier. A u16 may in rows that move the bits of an f16
 * (v_pack_b32_f16). */
static bool uk_has_sign(enum uk_amdgpu_type type, uint32_t flags) {
    return uk_is_float(type) || flags & F_SELECT || (type == T_u16 && flags & F_OP_SEL && flags & F_BITS);
}

/* The 32 bits of a literal are the upper ones of an f64. */
void uk_constant(struct uk_amdgpu_operand *o, enum uk_amdgpu_type type) {
    if (!o->is_float) {
        if (type == T_f64 && o->value[0] > 64 && o->value[0] < UINT32_MAX - 16)
            o->value[1] = o->value[0], o->value[0] = 0;
        return;
    }
    if (type == T_f16 || type == T_u16 || type == T_i16) {
        const _Float16 half = (_Float16)o->number;
        uint16_t bits;

        memcpy(&bits, &half, 2);
        o->value[0] = bits;
    } else if (uk_type_words[type] == 2) {
        memcpy(o->value, &o->number, 8);
    } else {
        o->value[0] = uk_bits((float)o->number);
    }
}

/* Checks source n against the row's type; NULL, or the part that is not simulated. */
static const char *uk_source(struct uk_amdgpu_inst *i, unsigned n, bool vector) {
    const uint32_t flags = i->op->flags;
    struct uk_amdgpu_operand *o = &i->o[n];
    const enum uk_amdgpu_type type = flags & F_MIX && o->select_high ? T_f16 : i->op->types[n];

    if (type == T_none)
        return NULL;
    if (o->kind == UK_AMDGPU_OPERAND_NONE || o->kind == UK_AMDGPU_OPERAND_OFF ||
        (o->kind == UK_AMDGPU_OPERAND_V && !vector))
        return "an operand of this instruction";
    if (o->kind == UK_AMDGPU_OPERAND_CONSTANT)
        uk_constant(o, type);
    else if (o->kind != UK_AMDGPU_OPERAND_SCC && o->words != uk_type_words[type])
        return "the size of an operand of this instruction";
    if ((o->negative || o->absolute) && !uk_has_sign(type, flags))
        return "a sign of this instruction";
    return NULL;
}

/* Moves operands from the order of the text (destination, a mask, sources, a mask) to fixed places:
 * destination o[0], sources from o[1], masks o[4] and o[5]. */
static const char *uk_operands_valu(struct uk_amdgpu_inst *i) {
    struct uk_amdgpu_operand in[UK_AMDGPU_MAX_OPERANDS], zero = {0};
    const uint32_t flags = i->op->flags;
    const bool by_half = flags & (F_PK | F_HALVES | F_PK_HALF | F_MIX);
    unsigned at = 1, n = 1;

    memcpy(in, i->o, sizeof in);
    for (unsigned k = 1; k < UK_AMDGPU_MAX_OPERANDS; ++k)
        i->o[k] = zero;
    if (flags & F_MASK_OUT)
        i->o[4] = in[at++];
    for (; n <= 3 && i->op->types[n] && !(n == 3 && flags & F_ACC); ++n, ++at) {
        const struct uk_amdgpu_operand bits = in[n];

        if (at >= i->n)
            return "the number of operands of this instruction";
        i->o[n] = in[at];
        if (by_half) { /* modifiers were read by position, and there is no mask */
            i->o[n].select_low = bits.select_low;
            i->o[n].select_high = bits.select_high;
        }
        if (n <= 2)
            i->o[n].sdwa = i->source_sdwa[n - 1];
    }
    /* The destination's bit of op_sel follows those of the sources. */
    i->upper = flags & F_WRITE_HI || (n < UK_AMDGPU_MAX_OPERANDS && in[n].select_low && !by_half);
    if (i->upper && !(flags & F_KEEP))
        return "a modifier of this instruction";
    if (flags & F_ACC)
        i->o[3] = i->o[0];
    if (flags & F_MASK_IN && at < i->n)
        i->o[5] = in[at++];
    for (unsigned k = 1; k <= 3 && !by_half; ++k) {
        struct uk_amdgpu_operand *o = &i->o[k];

        if (o->select_high || o->negative_high || (o->select_low && !(flags & F_OP_SEL)))
            return "a modifier of this instruction";
        if (o->select_low)
            o->sdwa = UPPER_HALF;
        o->select_low = false;
    }
    if (flags & F_VCC_IN)
        i->o[5] = (struct uk_amdgpu_operand){.kind = UK_AMDGPU_OPERAND_S, .index = VCC, .words = 2};
    return at == i->n ? NULL : "the number of operands of this instruction";
}

/* v_pk_mov_b32 takes one half of each source; other packed instructions take a low and a high half for each
 * result. */
static const char *uk_operands_packed(struct uk_amdgpu_inst *i) {
    for (unsigned n = 1; n <= 3; ++n) {
        struct uk_amdgpu_operand *o = &i->o[n];

        if (!i->op->types[n])
            continue;
        if (o->kind == UK_AMDGPU_OPERAND_CONSTANT)
            uk_constant(o, T_f32);
        else if (o->words != 2)
            return "the size of an operand of this instruction";
        /* A constant has only a lower half, except 0. */
        const bool has_one_half = o->kind == UK_AMDGPU_OPERAND_CONSTANT && o->value[0];

        if (o->absolute || (has_one_half && o->select_low != o->select_high))
            return "a modifier of this instruction";
        if (has_one_half && o->select_high)
            return "a constant whose upper half is taken";
    }
    return i->o[0].kind == UK_AMDGPU_OPERAND_V && i->o[0].words == 2
               ? NULL
               : "the size of an operand of this instruction";
}

/* 16-bit halves. A constant has 32 bits, as LLVM assumes (SIFoldOperands, tryFoldImmWithOpSel): the upper
 * half is the sign extension of an integer and 0 of a float. A float constant of an integer instruction is
 * refused. */
static const char *uk_operands_halves(struct uk_amdgpu_inst *i) {
    for (unsigned n = 1; n <= 3; ++n) {
        const struct uk_amdgpu_operand *o = &i->o[n];

        if (o->absolute ||
            (o->kind == UK_AMDGPU_OPERAND_CONSTANT && o->is_float && o->value[0] && i->op->types[n] != T_f16))
            return "a modifier of this instruction";
    }
    return NULL;
}

static const char *uk_check_valu(struct uk_amdgpu_inst *i) {
    const struct uk_amdgpu_opcode *op = i->op;
    const char *why = uk_operands_valu(i);
    const unsigned d = op->flags & F_COMPARE ? 2 : uk_type_words[op->types[0]];

    if (why)
        return why;
    if ((op->flags & F_MASK_OUT && !uk_is_mask(&i->o[4])) || (op->flags & F_MASK_IN && !uk_is_mask(&i->o[5])))
        return "a mask of this instruction";
    i->flops = op->flags & F_FMA ? 2 : op->flags & F_FLOP ? 1 : 0;
    if (op->flags & F_FMA && !uk_is_float(op->types[0]))
        i->flops = 0;
    if (op->flags & F_PK) {
        i->flops *= 2;
        return uk_operands_packed(i);
    }
    for (unsigned n = 1; n <= 3 && !why; ++n)
        why = uk_source(i, n, true);
    if (!why && op->flags & F_PK_HALF) {
        i->flops *= 2;
        why = uk_operands_halves(i);
    }
    if (why)
        return why;
    if (op->flags & F_COMPARE ? !uk_is_mask(&i->o[0])
                              : i->o[0].kind != UK_AMDGPU_OPERAND_V || i->o[0].words != d)
        return "the destination of this instruction";
    if (i->clamp && !op->clamped && !uk_is_float(op->types[0]))
        return "the modifier clamp of this instruction";
    if ((i->sdwa || i->source_sdwa[0] || i->source_sdwa[1]) && (d == 2) != !!(op->flags & F_COMPARE))
        return "SDWA of this instruction";
    return NULL;
}

static const char *uk_check_salu(struct uk_amdgpu_inst *i) {
    const struct uk_amdgpu_opcode *op = i->op;
    struct uk_amdgpu_operand zero = {0};
    const bool d = !(op->flags & F_NO_D);
    const char *why = NULL;
    unsigned n;

    if (!d) {
        memmove(i->o + 1, i->o, (UK_AMDGPU_MAX_OPERANDS - 1) * sizeof i->o[0]);
        i->o[0] = zero;
        ++i->n;
    }
    if (op->flags & F_ACC_S) {
        memmove(i->o + 2, i->o + 1, (UK_AMDGPU_MAX_OPERANDS - 2) * sizeof i->o[0]);
        i->o[1] = i->o[0];
        ++i->n;
    }
    for (n = 1; n <= 2 && op->types[n] && !why; ++n)
        why = uk_source(i, n, false);
    if (!why && i->n != n)
        why = "the number of operands of this instruction";
    if (!why && d && (i->o[0].kind != UK_AMDGPU_OPERAND_S || i->o[0].words != uk_type_words[op->types[0]]))
        why = "the destination of this instruction";
    return why;
}

const char *uk_amdgpu_operands(struct uk_amdgpu_inst *i) {
    const struct uk_amdgpu_opcode *op = i->op;

    if (op->run == uk_run_valu)
        return uk_check_valu(i);
    if (op->run == uk_run_salu)
        return uk_check_salu(i);
    if (op->matrix)
        return uk_check_matrix(i);
    if (op->run == uk_run_global || op->run == uk_run_lds || op->run == uk_run_smem)
        return uk_check_access(i);
    if (op->run == uk_run_branch) {
        if (i->n != 1 || i->o[0].kind != UK_AMDGPU_OPERAND_CONSTANT)
            return "the target of this jump";
        i->address_offset = (int16_t)i->o[0].value[0];
    }
    if ((op->run == uk_run_getpc || op->run == uk_run_setpc) && (i->n != 1 || !uk_is_mask(&i->o[0])))
        return "an operand of this instruction";
    if (op->run == uk_run_readlane &&
        (i->n != (op->flags & F_ANY_LANE ? 3 : 2) || i->o[0].kind != UK_AMDGPU_OPERAND_S ||
         i->o[0].words != 1 || i->o[1].kind != UK_AMDGPU_OPERAND_V || i->o[1].words != 1))
        return "an operand of this instruction";
    if (op->run == uk_run_swap &&
        (i->n != 2 || i->o[0].kind != UK_AMDGPU_OPERAND_V || i->o[1].kind != UK_AMDGPU_OPERAND_V ||
         i->o[0].words != 1 || i->o[1].words != 1))
        return "an operand of this instruction";
    if (op->run == uk_run_writelane &&
        (i->n != 3 || i->o[0].kind != UK_AMDGPU_OPERAND_V || i->o[0].words != 1 ||
         i->o[1].kind == UK_AMDGPU_OPERAND_V || i->o[2].kind == UK_AMDGPU_OPERAND_V))
        return "an operand of this instruction";
    return NULL;
}
