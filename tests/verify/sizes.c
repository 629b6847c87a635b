/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uk_verify: kernels that are wrong only for some sizes, strides and addresses, most of them for a
 * combination of two; each with a correct variant.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "report.h"

#define C(body) "pragma import c \"\"\"\n#include <stdint.h>\n" body "\n\"\"\"\n"

/* c[i, j] = a[i, j] with contiguous rows; `at` is the element's offset. */
#define DENSE(type, t, at)                                                                           \
    C("void f(int64_t m, int64_t n, const " type " *a, " type " *c) {\n"                             \
      "for (int64_t i = 0; i < m; i++) for (int64_t j = 0; j < n; j++) c[i * n + j] = a[" at "]; }") \
    "intrinsic f\n  tensor a " t " [M, N]\n  tensor c " t " [M, N]\n  c[i, j] = a[i, j]\n"           \
    "  compute void f(i64 M, i64 N, ptr a, ptr c)\nend\n"

/* The same with padded rows, and arguments of that type. */
#define ROWS(type, t, from, to, extra)                                                                  \
    C("void f(" type " m, " type " n, const float *a, " type " lda, float *c, " type " ldc) {\n"        \
      "for (" type " i = 0; i < m; i++) for (" type " j = 0; j < n; j++) c[" to "] = a[" from "]" extra \
      "; }")                                                                                            \
    "intrinsic f\n  tensor a f32 [M, N] stride [lda, 1]\n  tensor c f32 [M, N] stride [ldc, 1]\n"       \
    "  c[i, j] = a[i, j]\n  compute void f(" t " M, " t " N, ptr a, " t " lda, ptr c, " t " ldc)\nend\n"
/* A tile of up to 6 rows. */
#define FEW_ROWS(at)                                                                                    \
    C("void f(int m, const float *a, int lda, float *c) {\n"                                            \
      "for (int i = 0; i < m; i++) for (int j = 0; j < 8; j++) c[i * 8 + j] = a[" at "]; }")            \
    "intrinsic f\n  tensor a f32 [I, 8] stride [lda, 1]\n  tensor c f32 [I, 8]\n  assume 1 <= I <= 6\n" \
    "  c[i, j] = a[i, j]\n  compute void f(i32 I, ptr a, i32 lda, ptr c)\nend\n"

/* A product of matrices, with all sizes free. */
#define PRODUCT(s)                                                                                          \
    C("void f(int64_t m, int64_t n, int64_t k, const float *a, const float *b, float *c, int64_t acc) {\n"  \
      "for (int64_t i = 0; i < m; i++) for (int64_t j = 0; j < n; j++) {\n"                                 \
      "  float s = acc ? c[i * n + j] : 0;\n"                                                               \
      "  for (int64_t p = 0; p < k; p++) s += a[i * k + p] * b[p * n + j];\n  c[i * n + j] = " s "; } }")   \
    "intrinsic f\n  tensor a f32 [M, K]\n  tensor b f32 [K, N]\n  tensor c f32 [M, N]\n"                    \
    "  c[i, j] = sum(p) a[i, p] * b[p, j]\n  compute void f(i64 M, i64 N, i64 K, ptr a, ptr b, ptr c, i64 " \
    "0)\n"                                                                                                  \
    "  update void f(i64 M, i64 N, i64 K, ptr a, ptr b, ptr c, i64 1)\nend\n"

/* c[] (+)= sum over p of a[p] * b[p] */
#define DOT(before, after)                                                                             \
    C("void f(int64_t k, const float *a, const float *b, float *c, int64_t acc) {\n" before            \
      "float s = acc ? *c : 0; for (int64_t p = 0; p < k; p++) s += a[p] * b[p]; *c = s;\n" after "}") \
    "intrinsic f\n  tensor a f32 [P]\n  tensor b f32 [P]\n  tensor c f32 []\n"                         \
    "  c[] = sum(p) a[p] * b[p]\n  compute void f(i64 P, ptr a, ptr b, ptr c, i64 0)\n"                \
    "  update void f(i64 P, ptr a, ptr b, ptr c, i64 1)\nend\n"

static const struct judged mutants[] = {
    /* ---- several sizes are large ---- */
    {"dense", DENSE("float", "f32", "i * n + j"), "ok"},
    {"dense, offsets of 24 bits", DENSE("float", "f32", "(i * n + j) & 0xffffff"), "c["},
    {"dense bytes, offsets of 24 bits", DENSE("uint8_t", "u8", "(i * n + j) & 0xffffff"), "c["},
    {"dense, offsets as floats", DENSE("float", "f32", "(int64_t)(float)(i * n + j)"), "c["},
    {"product", PRODUCT("s"), "ok"},
    {"product, wrong where m and n are large", PRODUCT("m > 340 && n > 340 && j > n / 2 ? s + 1 : s"), "c["},
    {"product, wrong where all are", PRODUCT("m > 250 && n > 250 && k > 250 ? s + 1 : s"), "c["},
    /* ---- 32-bit offsets ---- */
    {"rows", ROWS("int64_t", "i64", "i * lda + j", "i * ldc + j", ""), "ok"},
    {"rows of int", ROWS("int", "i32", "(int64_t)i * lda + j", "(int64_t)i * ldc + j", ""), "ok"},
    {"rows of int, offsets of int read",
     ROWS("int", "i32", "(int)((unsigned)i * (unsigned)lda) + j", "(int64_t)i * ldc + j", ""), "a"},
    {"rows of int, offsets of unsigned written",
     ROWS("int", "i32", "(int64_t)i * lda + j", "(unsigned)i * (unsigned)ldc + (unsigned)j", ""), "c"},
    {"rows, offsets of int",
     ROWS("int64_t", "i64", "(int)((unsigned)i * (unsigned)lda) + j", "i * ldc + j", ""), "WRONG"},
    {"few rows", FEW_ROWS("(int64_t)i * lda + j"), "ok"},
    {"few rows, offsets of int", FEW_ROWS("(int)((unsigned)i * (unsigned)lda) + j"), "a"},
    {"few rows, bytes of unsigned", FEW_ROWS("(unsigned)(4 * i * (unsigned)lda) / 4 + j"), "WRONG"},
    /* ---- relations between strides ---- */
    {"wrong where lda is ldc", ROWS("int64_t", "i64", "i * lda + j", "i * ldc + j", " + (lda == ldc)"), "c["},
    {"wrong where rows follow each other",
     ROWS("int64_t", "i64", "i * lda + j", "i * ldc + j", " + (lda == n)"), "c["},
    {"wrong where rows are far apart",
     ROWS("int64_t", "i64", "i * lda + j", "i * ldc + j", " + (lda > n + 100000)"), "c["},
    {"wrong where lda is a power of two",
     ROWS("int64_t", "i64", "i * lda + j", "i * ldc + j", " + (lda > 100 && !(lda & (lda - 1)))"), "c["},
    /* ---- lengths of sums ---- */
    {"dot", DOT("", ""), "ok"},
    {"wrong at 65536 terms", DOT("", "if (k == 65536) *c += 1;"), "P=65536"},
    {"forgets the sum of no terms", DOT("if (!k) return;", ""), "P=0"},
    {"clears an empty update", DOT("", "if (acc && !k) *c = 0;"), "P=0"},
    {"reads before it looks", DOT("volatile float x = k ? 0 : *a; (void)x;", ""), "WRONG"},
    /* ---- addresses ---- */
    {"wrong for an unaligned a", DOT("", "if ((uintptr_t)a % 16) *c += 1;"), "c[] is"},
    {"wrong for an aligned a", DOT("", "if ((uintptr_t)a % 64 == 0) *c += 1;"), "c[] is"},
    {"wrong where both are unaligned alike",
     DOT("", "if ((uintptr_t)a % 64 == 36 && (uintptr_t)b % 64 == 36) *c += 1;"), "c[] is"},
    {"reads whole vectors", DOT("volatile float x = k % 4 ? a[(k + 3) / 4 * 4 - 1] : 0; (void)x;", ""),
     "past the end of a"},
    {"reads in front", DOT("volatile float x = k ? a[-1] : 0; (void)x;", ""), "before the start of a"},
};

int main(int argc, char **argv) {
    return run_judged("verify sizes", mutants, sizeof mutants / sizeof *mutants, NULL,
                      argc > 1 ? argv[1] : NULL);
}
