/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 32 rows x 32 columns of C by AMX's matrix tiles, from rows of A in place and a panel of B in groups of 4
 * bytes, in i32 (amxint8), or of 2 bf16, in f32 (amxbf16). A tile register holds 16 rows of 64 bytes:
 *
 *                    B: tmm6      tmm7         of 16 groups of k; columns 0 to 15, 16 to 31 (or the last 16)
 *     A: tmm4           tmm0      tmm1         rows 0 to 15
 *        tmm5           tmm2      tmm3         rows 16 to 31 (or the last 16)
 *
 * A step of k is 16 groups, 64 bytes of a row of A. The two tiles of B are the halves of the panel's rows,
 * which are 128 bytes apart.
 *
 * Bound: a product of two tiles takes 16 cycles, one per row of A, so that a step of four takes 64: 1024
 * multiply-adds of bytes a cycle, 512 of bf16. Its four loads of a tile take 8 cycles each, beside the
 * products. A sum waits 52 cycles for its next product, in which the three others are computed.
 *
 * Edges: of 17 to 31 rows the second tile has the last 16: rows in both are computed twice, and stored twice
 * with the same values. The same for columns. At most 16 rows or columns: only the first tile; fewer rows are
 * copied beside whatever the copy holds, whose sums are not stored.
 *
 * Where fewer than 16 groups of a sum are left, the terms that A and the panel of B have are copied, and
 * zeros after them. The last group may have fewer than kr terms (.any_k).
 *
 * bf16: the instruction adds the products of the even terms of the 16 groups in turn, and those of the odd
 * terms, and the two to the sum; subnormal factors and sums count as 0.
 */
#include <immintrin.h>
#include "registry/kernel_contract.h"
#include "../any/runs.h"

#if defined(UK_OP_bgemm_ra)
typedef uint16_t left, right;
typedef float total;
#define MULTIPLY _tile_dpbf16ps
#elif defined(UK_OP_i8gemm_ra)
typedef int8_t left, right;
typedef int32_t total;
#define MULTIPLY _tile_dpbssd
#elif defined(UK_OP_u8gemm_ra)
typedef uint8_t left, right;
typedef int32_t total;
#define MULTIPLY _tile_dpbuud
#elif defined(UK_OP_i8u8gemm_ra)
typedef int8_t left;
typedef uint8_t right;
typedef int32_t total;
#define MULTIPLY _tile_dpbsud
#else
typedef uint8_t left;
typedef int8_t right;
typedef int32_t total;
#define MULTIPLY _tile_dpbusd
#endif
#ifndef TILE_REGISTERS /* in C they are variables, which are passed on */
#define TILE_REGISTERS
#define THE_TILES
#define TILE_VARIABLES
#endif
#define LOADS_MEMORY() __asm__ volatile("" : : : "memory") /* gcc's intrinsic does not say that it reads */
enum { MR = UK_MR, NR = UK_NR, KR = UK_KR, TILE = 16, LINE = 64, STEP = LINE / (int)sizeof(left) };

/* The tiles of a call: of 2 x 2 those that are needed. */
struct tiles {
    bool two_rows, two_columns;
    int64_t down, right; /* rows from the first tile to the second, and columns */
    int64_t rows;        /* of A that exist, if fewer than a tile's; else 0 */
};

/* Copies `bytes` bytes, at most a line, and zeros up to a line. */
static inline __attribute__((always_inline)) void copy_line(void *to, const void *from, int64_t bytes) {
    const uint64_t mask = bytes ? ~(uint64_t)0 >> (LINE - bytes) : 0;

    _mm512_storeu_si512(to, _mm512_maskz_loadu_epi8(mask, from));
}

/* Adds the products of a step; a pitch is in bytes. */
static inline __attribute__((always_inline)) void add_step(TILE_REGISTERS const char *a, const char *a_down,
                                                           int64_t a_pitch, const char *b,
                                                           const char *b_right, const struct tiles *t) {
    enum { B_PITCH = NR * 4 };

    _tile_loadd(6, b, B_PITCH);
    _tile_loadd(4, a, a_pitch);
    MULTIPLY(0, 4, 6);
    if (t->two_columns) {
        _tile_loadd(7, b_right, B_PITCH);
        MULTIPLY(1, 4, 7);
    }
    if (t->two_rows) {
        _tile_loadd(5, a_down, a_pitch);
        MULTIPLY(2, 5, 6);
        if (t->two_columns)
            MULTIPLY(3, 5, 7);
    }
}

enum { COPY_OF_A = 2 * TILE * LINE, COPY_OF_B = TILE * NR * 4, COPY_OF_C = TILE * LINE };

/* Adds the products of a run: of whole steps in place, unless there are too few rows, then of the terms left
 * over. */
static inline __attribute__((always_inline)) void add_run(TILE_REGISTERS int64_t k, const left *a,
                                                          int64_t lda, const right *b, const struct tiles *t,
                                                          char *work) {
    const int64_t pitch = lda * (int64_t)sizeof(left), right_bytes = t->right * 4;
    char *const copy_a = work, *const copy_b = work + COPY_OF_A;

    if (t->rows) {
#pragma GCC unroll 1
        for (; k >= STEP; k -= STEP, a += STEP, b += STEP * NR) {
            for (int64_t i = 0; i < t->rows; i++)
                copy_line(copy_a + i * LINE, (const char *)a + i * pitch, LINE);
            LOADS_MEMORY();
            add_step(THE_TILES copy_a, copy_a, LINE, (const char *)b, (const char *)b + right_bytes, t);
        }
    } else {
#pragma GCC unroll 1
        for (; k >= STEP; k -= STEP, a += STEP, b += STEP * NR)
            add_step(THE_TILES(const char *) a, (const char *)a + t->down * pitch, pitch, (const char *)b,
                     (const char *)b + right_bytes, t);
    }
    if (k) {
        const int64_t rows = t->rows ? t->rows : TILE, groups = (k + KR - 1) / KR;

        for (int64_t i = 0; i < rows; i++) {
            copy_line(copy_a + i * LINE, (const char *)a + i * pitch, k * (int64_t)sizeof(left));
            if (t->two_rows)
                copy_line(copy_a + (TILE + i) * LINE, (const char *)a + (t->down + i) * pitch,
                          k * (int64_t)sizeof(left));
        }
        for (int64_t p = 0; p < TILE; p++)
            for (int64_t half = 0; half < NR * 4; half += LINE)
                copy_line(copy_b + p * NR * 4 + half, (const char *)b + (p < groups ? p * NR * 4 + half : 0),
                          p < groups ? LINE : 0);
        LOADS_MEMORY();
        add_step(THE_TILES copy_a, copy_a + TILE * LINE, LINE, copy_b, copy_b + right_bytes, t);
    }
}

/* Where the tiles of C are, rows ld elements apart. */
struct places {
    total *at[4];
    int64_t ld;
};

static inline __attribute__((always_inline)) void begin_sums(TILE_REGISTERS const struct places *c,
                                                             const struct tiles *t, bool acc) {
    const int64_t pitch = c->ld * (int64_t)sizeof(total);

    if (!acc) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        return;
    }
    _tile_loadd(0, c->at[0], pitch);
    if (t->two_columns)
        _tile_loadd(1, c->at[1], pitch);
    if (t->two_rows) {
        _tile_loadd(2, c->at[2], pitch);
        if (t->two_columns)
            _tile_loadd(3, c->at[3], pitch);
    }
}

static inline __attribute__((always_inline)) void store_sums(TILE_REGISTERS const struct places *c,
                                                             const struct tiles *t) {
    const int64_t pitch = c->ld * (int64_t)sizeof(total);

    _tile_stored(0, c->at[0], pitch);
    if (t->two_columns)
        _tile_stored(1, c->at[1], pitch);
    if (t->two_rows) {
        _tile_stored(2, c->at[2], pitch);
        if (t->two_columns)
            _tile_stored(3, c->at[3], pitch);
    }
}

/* Copies the part of the tiles that a call computes, from C to `from_c` or back. */
static inline __attribute__((always_inline)) void
copy_sums(const struct places *to, const struct places *from, const struct tiles *t, int64_t columns) {
    const __mmask16 mask = (__mmask16)((1u << columns) - 1);

    for (int i = 0; i < 4; i++)
        for (int64_t r = 0; r < (t->rows ? t->rows : TILE); r++)
            if ((t->two_columns || i % 2 == 0) && (t->two_rows || i < 2))
                _mm512_mask_storeu_epi32(to->at[i] + r * to->ld, mask,
                                         _mm512_maskz_loadu_epi32(mask, from->at[i] + r * from->ld));
}

void UK_SYMBOL(OF_ROWS(left, right), total *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    ONE_RUN
    const struct tiles t = {.two_rows = mr > TILE,
                            .two_columns = nr > TILE,
                            .down = mr > TILE ? mr - TILE : 0,
                            .right = nr > TILE ? nr - TILE : 0,
                            .rows = mr < TILE ? mr : 0};
    const int64_t columns = nr < TILE ? nr : TILE;
    const bool is_part = mr < TILE || nr < TILE; /* of a tile: it cannot be loaded from C, nor stored */
    /* Copies of A and B, and before and after them of C: a part of a tile has only one other, beside or below
     * it. */
    _Alignas(LINE) char work[COPY_OF_A + COPY_OF_B];
    total *const copy[2] = {(total *)(void *)work, (total *)(void *)(work + COPY_OF_C)};
    const struct places in_place = {{c, c + t.right, c + t.down * ldc, c + t.down * ldc + t.right}, ldc},
                        copied = {{copy[0], copy[1], copy[1], copy[1]}, TILE},
                        *sums = is_part ? &copied : &in_place;
    TILE_VARIABLES

    if (is_part && acc) {
        copy_sums(&copied, &in_place, &t, columns);
        LOADS_MEMORY();
    }
    begin_sums(THE_TILES sums, &t, acc);
#pragma GCC unroll 1
    for (int64_t run = 0; run < runs; run++, a += lds, b += ldb)
        add_run(THE_TILES k, a, lda, b, &t, work);
    store_sums(THE_TILES sums, &t);
    if (is_part)
        copy_sums(&in_place, &copied, &t, columns);
}
