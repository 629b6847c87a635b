/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uk_verify: kernels that are right for easy data, short sums and simple callers, and wrong otherwise; each
 * with a correct variant.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "report.h"

#define C(body) "pragma import c \"\"\"\n#include <immintrin.h>\n#include <stdint.h>\n" body "\n\"\"\"\n"

/* c[] (+)= sum over p of a[p] * b[p], with these types in C and in the language. */
#define DOT_HEAD(x, y, z) "void f(int64_t k, const " x " *a, const " y " *b, " z " *c, int64_t acc) {\n"
#define DOT_TAIL(x, y, z, product)                                                   \
    "intrinsic f\n  tensor a " x " [P]\n  tensor b " y " [P]\n  tensor c " z " []\n" \
    "  c[] = sum(p) " product "\n"                                                   \
    "  compute void f(i64 P, ptr a, ptr b, ptr c, i64 0)\n"                          \
    "  update void f(i64 P, ptr a, ptr b, ptr c, i64 1)\nend\n"
#define F32_DOT(body) \
    C(DOT_HEAD("float", "float", "float") body "}") DOT_TAIL("f32", "f32", "f32", "a[p] * b[p]")
#define F64_DOT(body) \
    C(DOT_HEAD("double", "double", "double") body "}") DOT_TAIL("f64", "f64", "f64", "a[p] * b[p]")
#define I32_DOT(body)                                    \
    C(DOT_HEAD("uint8_t", "int8_t", "int32_t") body "}") \
    DOT_TAIL("u8", "i8", "i32", "i32(a[p]) * i32(b[p])")
#define I64_DOT(body)                                     \
    C(DOT_HEAD("int32_t", "int32_t", "int64_t") body "}") \
    DOT_TAIL("i32", "i32", "i64", "i64(a[p]) * i64(b[p])")
/* The same, with the address of what b is next. */
#define HINTED(body)                                                                                 \
    C("void f(int64_t k, const float *a, const float *b, float *c, int64_t next) {\n" body SUM_FROM( \
        "0", "float", "a[p] * b[p]", "k") "}")                                                       \
    "intrinsic f\n  tensor a f32 [P]\n  tensor b f32 [P]\n  tensor c f32 []\n"                       \
    "  c[] = sum(p) a[p] * b[p]\n  compute void f(i64 P, ptr a, ptr b, ptr c, hint b)\nend\n"
#define SUM(type, product, steps) SUM_FROM("acc ? *c : 0", type, product, steps)
#define SUM_FROM(first, type, product, steps) \
    type " s = " first ";\nfor (int64_t p = 0; p < " steps "; p++) s += " product ";\n*c = s;\n"

/* c = expression of x = a[i] and y = b[i]. */
#define MAP(type, t, expression, says)                                                                   \
    C("void f(int64_t n, const " type " *a, const " type " *b, " type " *c) {\n"                         \
      "for (int64_t i = 0; i < n; i++) { const " type " x = a[i], y = b[i]; c[i] = " expression "; } }") \
    "intrinsic f\n  tensor a " t " [N]\n  tensor b " t " [N]\n  tensor c " t " [N]\n  c[i] = " says "\n" \
    "  compute void f(i64 N, ptr a, ptr b, ptr c)\nend\n"
/* c[] = max over i of a[i]. */
#define TOP(type, t, first, next)                                                             \
    C("void f(int64_t n, const " type " *a, " type " *c) {\n" type " s = " first ";\n"        \
      "for (int64_t i = 0; i < n; i++) { const " type " x = a[i]; s = " next "; } *c = s; }") \
    "intrinsic f\n  tensor a " t " [N]\n  tensor c " t " []\n  c[] = max(i) a[i]\n"           \
    "  compute void f(i64 N, ptr a, ptr c)\nend\n"

/* c[] (*)= product over p of a[p]; `s` is the expression that is stored for a product s. */
#define PROD(type, t, next, s)                                                                         \
    C("void f(int64_t k, const " type " *a, " type " *c, int64_t acc) {\n" type " s = acc ? *c : 1;\n" \
      "for (int64_t p = 0; p < k; p++) { const " type " x = a[p]; s = " next "; } *c = " s "; }")      \
    "intrinsic f\n  tensor a " t " [P]\n  tensor c " t " []\n  c[] = prod(p) a[p]\n"                   \
    "  compute void f(i64 P, ptr a, ptr c, i64 0)\n  update void f(i64 P, ptr a, ptr c, i64 1)\nend\n"
#define I32_PROD(s) PROD("int32_t", "i32", "(int32_t)((uint32_t)s * (uint32_t)x)", s)

/* Any tile of up to that many rows and columns (texts); `s` is the expression that is stored for a sum s. */
#define TILE_OF(rows, columns, before, s, after)                                                          \
    C("void f(int64_t k, const float *a, const float *b, float *c, int64_t ldc, int64_t acc, int64_t m, " \
      "int64_t n) {\n" before "for (int64_t i = 0; i < m; i++) for (int64_t j = 0; j < n; j++) {\n"       \
      "  float s = acc ? c[i * ldc + j] : 0;\n"                                                           \
      "  for (int64_t p = 0; p < k; p++) s += a[p * " rows " + i] * b[p * " columns " + j];\n"            \
      "  c[i * ldc + j] = " s ";\n}\n" after "}")                                                         \
    "intrinsic f\n  tensor a f32 [I, P] stride [1, " rows "] over [" rows ", P]\n"                        \
    "  tensor b f32 [P, J] stride [" columns ", 1] over [P, " columns "]\n"                               \
    "  tensor c f32 [I, J] stride [ldc, 1]\n"                                                             \
    "  assume 1 <= I <= " rows " and 1 <= J <= " columns "\n"                                             \
    "  c[i, j] = sum(p) a[i, p] * b[p, j]\n"                                                              \
    "  compute void f(i64 P, ptr a, ptr b, ptr c, i64 ldc, i64 0, i64 I, i64 J)\n"                        \
    "  update void f(i64 P, ptr a, ptr b, ptr c, i64 ldc, i64 1, i64 I, i64 J)\nend\n"
#define TILE(before, s, after) TILE_OF("5", "11", before, s, after)

/* c = expression of x = a[i] and the scalar s. */
#define SCALED(type, t, expression, says)                                                            \
    C("void f(int64_t n, " type " s, const " type " *a, " type " *c) {\n"                            \
      "for (int64_t i = 0; i < n; i++) { const " type " x = a[i]; c[i] = " expression "; } }")       \
    "intrinsic f\n  scalar s " t "\n  tensor a " t " [N]\n  tensor c " t " [N]\n  c[i] = " says "\n" \
    "  compute void f(i64 N, " t " s, ptr a, ptr c)\nend\n"
/* Conversion to bf16 of a float with the bits u. */
#define TO_BF16(expression)                                                                              \
    C("void f(int64_t n, const float *a, uint16_t *c) { for (int64_t i = 0; i < n; i++) {\n"             \
      "  union { float f; uint32_t u; } x = {a[i]}; const uint32_t u = x.u; c[i] = " expression "; } }") \
    "intrinsic f\n  tensor a f32 [N]\n  tensor c bf16 [N]\n  c[i] = bf16(a[i])\n"                        \
    "  compute void f(i64 N, ptr a, ptr c)\nend\n"
/* Requantized sums: for 990 and 1010 the product rounds to an integer, and the sum is a tie. */
#define REQUANTIZE(scaled)                                                                              \
    C("void f(int64_t n, const int32_t *a, int8_t *c) { for (int64_t i = 0; i < n; i++) {\n"            \
      "  const float x = __builtin_rintf(" scaled ");\n"                                                \
      "  c[i] = (int8_t)(x < -128 ? -128 : x > 127 ? 127 : x); } }")                                    \
    "intrinsic f\n  tensor a i32 [N]\n  tensor c i8 [N]\n  c[i] = i8(round(f32(a[i]) * 0.1 - 100.5))\n" \
    "  compute void f(i64 N, ptr a, ptr c)\nend\n"

/* A sum without the terms outside x. */
#define PADDED(product)                                                                                \
    C("void f(int64_t n, const float *x, const float *w, float *y) {\n"                                \
      "for (int64_t i = 0; i < n; i++) { float s = 0;\n"                                               \
      "  for (int r = 0; r < 3; r++) { const int64_t q = i + r - 1; const int in = q >= 0 && q < n;\n" \
      "    s += " product "; }\n  y[i] = s; } }")                                                      \
    "intrinsic f\n  tensor x f32 [N]\n  tensor w f32 [3]\n  tensor y f32 [N]\n"                        \
    "  y[i] = sum(r) pad(x[i + r - 1], 0) * w[r]\n  compute void f(i64 N, ptr x, ptr w, ptr y)\nend\n"

/* c[i] = a[i] for i < n; n is passed as i32. */
#define COPY(body)                                                                 \
    C("void f(int n, const float *a, float *c) {\n" body "}")                      \
    "intrinsic f\n  tensor a f32 [N]\n  tensor c f32 [N]\n  c[i] = pad(a[i], 0)\n" \
    "  compute void f(i32 N, ptr a, ptr c)\nend\n"
#define COPY_ALL "for (int64_t i = 0; i < n; i++) c[i] = a[i];\n"

/* Moves eight floats by an asm statement. */
#define MOVE(statement)                                                                 \
    C("void f(const float *a, float *c) { " statement " }")                             \
    "intrinsic f requires avx\n  tensor a f32 [8]\n  tensor c f32 [8]\n  c[i] = a[i]\n" \
    "  compute void f(ptr a, ptr c)\nend\n"
#define BY_YMM "vmovups (%0), %%ymm3\\n\\tvmovups %%ymm3, (%1)"

static const struct judged mutants[] = {
    /* ---- precision and overflow ---- */
    {"f32", F32_DOT(SUM("float", "a[p] * b[p]", "k")), "ok"},
    {"f32 summed in f64", F32_DOT(SUM("double", "(double)a[p] * b[p]", "k")), "ok"},
    {"f64", F64_DOT(SUM("double", "a[p] * b[p]", "k")), "ok"},
    {"f64 summed in f32", F64_DOT(SUM("float", "(float)(a[p] * b[p])", "k")), "c[] is "},
    {"f64 multiplied in f32", F64_DOT(SUM("double", "(float)a[p] * (float)b[p]", "k")), "c[] is "},
    {"f32 summed in f16",
     F32_DOT("_Float16 s = 0; for (int64_t p = 0; p < k; p++) s += (_Float16)(a[p] * b[p]);\n"
             "*c = acc ? *c + s : s;"),
     "c[] is "},
    {"f32 as bf16",
     F32_DOT(
         "float s = acc ? *c : 0; for (int64_t p = 0; p < k; p++) {\n"
         "  union { float f; uint32_t u; } x = {a[p]}; x.u = (x.u + 0x7fff + (x.u >> 16 & 1)) & 0xffff0000;\n"
         "  if (a[p] != a[p]) x.f = a[p]; s += x.f * b[p]; } *c = s;"),
     "c[] is "},
    {"f32 with 16 bits",
     F32_DOT("float s = acc ? *c : 0; for (int64_t p = 0; p < k; p++) {\n"
             "  union { float f; uint32_t u; } x = {b[p]}; if (x.f == x.f) x.u &= 0xffffff00; s += a[p] * "
             "x.f; } *c = s;"),
     "c[] is "},
    {"f32 as integers",
     F32_DOT("float s = acc ? *c : 0; for (int64_t p = 0; p < k; p++) {\n"
             "  float x = a[p] > -1e6f && a[p] < 1e6f ? (float)(int)a[p] : a[p]; s += x * b[p]; } *c = s;"),
     "c[] is "},
    {"i32 of bytes",
     I32_DOT("uint32_t s = acc ? (uint32_t)*c : 0; for (int64_t p = 0; p < k; p++)\n"
             "  s += (uint32_t)(a[p] * b[p]); *c = (int32_t)s;"),
     "ok"},
    {"i32 saturates",
     I32_DOT("int64_t s = acc ? *c : 0; for (int64_t p = 0; p < k; p++) s += a[p] * b[p];\n"
             "*c = s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : (int32_t)s;"),
     "c[] is "},
    {"pairs saturate",
     I32_DOT("uint32_t s = acc ? (uint32_t)*c : 0; for (int64_t p = 0; p < k; p += 2) {\n"
             "  int t = a[p] * b[p] + (p + 1 < k ? a[p + 1] * b[p + 1] : 0);\n"
             "  s += (uint32_t)(t > 32767 ? 32767 : t < -32768 ? -32768 : t); } *c = (int32_t)s;"),
     "c[] is "},
    {"i32 to i64",
     I64_DOT("uint64_t s = acc ? (uint64_t)*c : 0; for (int64_t p = 0; p < k; p++)\n"
             "  s += (uint64_t)((int64_t)a[p] * b[p]); *c = (int64_t)s;"),
     "ok"},
    {"i32 multiplied in float",
     I64_DOT("uint64_t s = acc ? (uint64_t)*c : 0; for (int64_t p = 0; p < k; p++)\n"
             "  s += (uint64_t)(int64_t)((float)a[p] * (float)b[p]); *c = (int64_t)s;"),
     "c[] is "},
    {"i32 multiplied in 32 bits",
     I64_DOT("uint64_t s = acc ? (uint64_t)*c : 0; for (int64_t p = 0; p < k; p++)\n"
             "  s += (uint64_t)(int32_t)((uint32_t)a[p] * (uint32_t)b[p]); *c = (int64_t)s;"),
     "c[] is "},
    {"i16", MAP("int16_t", "i16", "(int16_t)(x + y)", "a[i] + b[i]"), "ok"},
    {"i16 saturates",
     MAP("int16_t", "i16", "x + y > 32767 ? 32767 : x + y < -32768 ? -32768 : (int16_t)(x + y)",
         "a[i] + b[i]"),
     "c["},
    {"i32 map", MAP("int32_t", "i32", "(int32_t)((uint32_t)x + (uint32_t)y)", "a[i] + b[i]"), "ok"},
    {"i32 map in float", MAP("int32_t", "i32", "(int32_t)(int64_t)((float)x + (float)y)", "a[i] + b[i]"),
     "c["},
    {"max", TOP("int32_t", "i32", "INT32_MIN", "x > s ? x : s"), "ok"},
    {"max from -1000", TOP("int32_t", "i32", "-1000", "x > s ? x : s"), "c[] is -1000"},
    {"f32 max from -1000",
     TOP("float", "f32", "n ? -1000 : -__builtin_inff()", "!(x <= s) && s == s ? x : s"), "c[] is -1000"},
    {"f32 max from the least",
     TOP("float", "f32", "n ? -3.40282347e38f : -__builtin_inff()", "!(x <= s) && s == s ? x : s"),
     "not -inf"},
    {"f32 prod", PROD("float", "f32", "s * x", "s"), "ok"},
    {"f32 prod from the last", PROD("float", "f32", "((void)x, s * a[k - 1 - p])", "s"), "ok"},
    {"f32 prod with 16 bits",
     PROD("float", "f32", "({ union { float f; uint32_t u; } y = {s * x}; y.u &= 0xffffff00; y.f; })", "s"),
     "c[] is "},
    {"f32 prod without signs of finite factors",
     PROD("float", "f32", "s * (x < -3e38f ? x : __builtin_fabsf(x))", "s"), "c[] is "},
    /* An infinite product would hide it. */
    {"f32 prod, a long one doubled", PROD("float", "f32", "s * x", "k > 65000 ? 2 * s : s"), "P=65"},
    {"f64 prod in f32", PROD("double", "f64", "(float)(s * x)", "s"), "c[] is "},
    {"i32 prod", I32_PROD("s"), "ok"},
    {"i32 prod, of a long one the lower half", I32_PROD("k > 100 ? s & 0xffff : s"), "c[] is "},
    {"i32 prod, an even one plus 1", I32_PROD("s && !(s & 1) ? s + 1 : s"), "c[] is "},
    /* ---- infinities, NaN, zeros, subnormal numbers ---- */
    {"f32 max",
     TOP("float", "f32", "-__builtin_inff()",
         "(!(x <= s) && s == s) || (x == 0 && s == 0 && !__builtin_signbit(x)) ? x : s"),
     "ok"},
    {"f32 max without NaN", TOP("float", "f32", "-__builtin_inff()", "x > s ? x : s"), "not nan"},
    {"f32 map max", MAP("float", "f32", "x > y ? x : y", "max(a[i], b[i])"), "ok"},
    {"f32 map max the other way", MAP("float", "f32", "y > x ? y : x", "max(a[i], b[i])"), "c["},
    {"zeros skipped",
     F32_DOT("float s = acc ? *c : 0; for (int64_t p = 0; p < k; p++) if (a[p]) s += a[p] * b[p]; *c = s;"),
     "not nan"},
    {"padded", PADDED("in ? x[q] * w[r] : 0"), "ok"},
    {"padded by factors of 0", PADDED("(in ? x[q] : 0) * w[r]"), "y["},
    {"copy", COPY(COPY_ALL), "ok"},
    {"copy plus 0", COPY("for (int64_t i = 0; i < n; i++) c[i] = *(volatile const float *)(a + i) + 0.0f;\n"),
     "is 0, not -0"},
    {"subnormals flushed",
     F32_DOT("unsigned m = _mm_getcsr(); _mm_setcsr(m | 0x8040);\n"
             "volatile float s = acc ? *c : 0; for (int64_t p = 0; p < k; p++) s = s + a[p] * b[p];\n"
             "_mm_setcsr(m); *c = s;"),
     "c[] is "},
    {"f32 product", MAP("float", "f32", "x * y", "a[i] * b[i]"), "ok"},
    {"f32 product plus 0", MAP("float", "f32", "*(volatile const float *)(b + i) * x + 0.0f", "a[i] * b[i]"),
     "is 0, not -0"},
    {"f32 sum of the other sign", MAP("float", "f32", "-(-x - y)", "a[i] + b[i]"), "c["},
    {"f32 product, subnormal ones flushed",
     MAP("float", "f32", "__builtin_fabsf(x * y) < 1.17549435e-38f ? __builtin_copysignf(0, x) * y : x * y",
         "a[i] * b[i]"),
     "c["},
    {"f32 product, tails without infinities",
     MAP("float", "f32", "i >= n / 8 * 8 && x > 3e38f ? 3.40282347e38f * y : x * y", "a[i] * b[i]"), "c["},
    {"f64 product, subnormal operands flushed",
     MAP("double", "f64", "(__builtin_fabs(x) < 2.2250738585072014e-308 ? 0 * x : x) * y", "a[i] * b[i]"),
     "c["},
    {"scaled", SCALED("float", "f32", "x * s", "a[i] * s"), "ok"},
    {"scaled, 0 without NaN", SCALED("float", "f32", "s == 0 ? 0 : x * s", "a[i] * s"), "c["},
    {"scaled, 1 plus 0", SCALED("float", "f32", "s == 1 ? x + 0.0f : x * s", "a[i] * s"), "is 0, not -0"},
    {"scaled, no infinite scale",
     SCALED("float", "f32", "__builtin_fabsf(s) > 3e38f ? x : x * s", "a[i] * s"), "c["},
    {"at least the scalar", SCALED("float", "f32", "x > s ? x : s", "max(a[i], s)"), "ok"},
    {"at least the scalar, which is no NaN",
     SCALED("float", "f32", "s != s ? x : x > s ? x : s", "max(a[i], s)"), "c["},
    {"i32 scaled by 24 bits",
     SCALED("int32_t", "i32", "(int32_t)((uint32_t)x * (uint32_t)(int)(float)s)", "a[i] * s"), "c["},
    {"bf16", TO_BF16("x.f != x.f ? 0x7fc0 : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16)"), "ok"},
    {"bf16 of NaN as of numbers", TO_BF16("(uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16)"), "not nan"},
    {"bf16 of NaN cut",
     TO_BF16("x.f != x.f ? (uint16_t)(u >> 16 & 0xffbf) : (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16)"),
     "not nan"},
    {"requantized", REQUANTIZE("(float)a[i] * 0.1f - 100.5f"), "ok"},
    {"requantized by one rounding", REQUANTIZE("__builtin_fmaf((float)a[i], 0.1f, -100.5f)"), "c["},
    {"f32 scaled and added", SCALED("float", "f32", "x * s + s", "a[i] * s + s"), "ok"},
    {"f32 scaled and added by one rounding",
     SCALED("float", "f32", "__builtin_fmaf(x, s, s)", "a[i] * s + s"), "c["},
    {"i32 absolute", SCALED("int32_t", "i32", "x < 0 ? (int32_t)-(uint32_t)x : x", "abs(a[i])"), "ok"},
    {"i32 absolute saturates",
     SCALED("int32_t", "i32", "x < 0 ? x == INT32_MIN ? INT32_MAX : -x : x", "abs(a[i])"), "c["},
    {"i32 shifted", SCALED("int32_t", "i32", "s < 0 || s > 31 ? x >> 31 : x >> s", "a[i] >> s"), "ok"},
    {"i32 shifted by 5 bits", SCALED("int32_t", "i32", "x >> (s & 31)", "a[i] >> s"), "c["},
    {"u8 halves", MAP("uint8_t", "u8", "(uint8_t)((x + y + 1) >> 1)", "u8(i32(a[i]) + i32(b[i]) + 1 >> 1)"),
     "ok"},
    {"u8 halves in 8 bits",
     MAP("uint8_t", "u8", "(uint8_t)((uint8_t)(x + y + 1) >> 1)", "u8(i32(a[i]) + i32(b[i]) + 1 >> 1)"),
     "c["},
    /* ---- long sums, edges ---- */
    {"256 steps", F32_DOT(SUM("float", "a[p] * b[p]", "(k < 256 ? k : 256)")), "c[] is "},
    {"blocks of 512 added twice", F32_DOT(SUM("float", "a[p] * b[p]", "k") "if (k > 512) *c += 1;"),
     "c[] is "},
    {"counter of 16 bits", F32_DOT(SUM("float", "a[p] * b[p]", "(uint16_t)k")), "P=65"},
    {"tile", TILE("", "s", ""), "ok"},
    {"5 x 11 of odd k", TILE("", "m == 5 && n == 11 && k % 2 && i == 4 ? s + 1 : s", ""), "I=5"},
    {"2 x 7 of even k", TILE("", "m == 2 && n == 7 && k % 2 == 0 ? s + 1 : s", ""), "I=2"},
    /* Of the random cases one in 25,000 has both extents. */
    {"14 x 46 of even k", TILE_OF("17", "47", "", "m == 14 && n == 46 && k % 2 == 0 ? s + 1 : s", ""),
     "I=14"},
    /* ---- memory ---- */
    {"writes a and restores it",
     TILE("if (k) { volatile float *v = (float *)(uintptr_t)a; float o = *v; *v = 0; *v = o; }\n", "s", ""),
     "writes a[0, 0], which is only read"},
    {"rewrites a neighbour", TILE("", "s", "if (m > 1) { volatile float *v = c + n; *v = *v; }"),
     "between the rows of c"},
    {"takes ldc for positive", TILE("if (ldc < 0) ldc = -ldc;\n", "s", ""), "ldc=-"},
    {"prefetches by a hint", HINTED("__builtin_prefetch((const void *)next);"), "ok"},
    {"reads by a hint", HINTED("if (k > 3) (void)*(const volatile float *)next;"),
     "not near any of its operands"},
    {"takes a hint for an operand", HINTED("b = (const float *)next;"), "not near any of its operands"},
    /* ---- the caller ---- */
    {"writes the caller's frame",
     TILE("((volatile int64_t *)__builtin_frame_address(0))[4 + 3] = 0;\n", "s", ""),
     "does not preserve the caller's stack"},
    {"rounds as the x87 likes",
     COPY(COPY_ALL "unsigned short w = 0x0f7f; __asm__ volatile(\"fldcw %0\" :: \"m\"(w));\n"),
     "does not preserve the control word of the x87"},
    {"leaves MMX in use", COPY(COPY_ALL "__asm__ volatile(\"pxor %%mm0, %%mm0\" ::: \"mm0\");\n"),
     "does not preserve the empty stack of the x87"},
    {"i32 as 64 bits",
     COPY("int64_t m; __asm__(\"mov %q1, %0\" : \"=r\"(m) : \"r\"(n));\n"
          "for (int64_t i = 0; i < m; i++) c[i] = a[i];\n"),
     "WRONG"},
    /* ---- declared effects of asm ---- */
    {"asm", MOVE("__asm__ volatile(\"" BY_YMM "\" :: \"r\"(a), \"r\"(c) : \"memory\", \"ymm3\");"), "ok"},
    {"asm without its vector", MOVE("__asm__ volatile(\"" BY_YMM "\" :: \"r\"(a), \"r\"(c) : \"memory\");"),
     "changes %ymm3 by 'vmovups ($0), %ymm3' in its asm, which is neither an output nor"},
    {"asm with half of it",
     MOVE("__asm__ volatile(\"" BY_YMM "\" :: \"r\"(a), \"r\"(c) : \"memory\", \"xmm3\");"),
     "changes %ymm3 by"},
    {"asm without its counter",
     MOVE("__asm__ volatile(\"mov $7, %%r10d\\n1:\\n\\tmov (%0,%%r10,4), %%eax; mov %%eax, "
          "(%1,%%r10,4)\\n\\t\"\n"
          "\"dec %%r10d\\n\\tjns 1b\" :: \"r\"(a), \"r\"(c) : \"memory\", \"rax\");"),
     "changes %r10d by"},
    {"asm with its counter",
     MOVE("__asm__ volatile(\"mov $7, %%r10d\\n1:\\n\\tmov (%0,%%r10,4), %%eax; mov %%eax, "
          "(%1,%%r10,4)\\n\\t\"\n"
          "\"dec %%r10d\\n\\tjns 1b\" :: \"r\"(a), \"r\"(c) : \"memory\", \"rax\", \"r10\");"),
     "ok"},
    {"asm that changes an input",
     MOVE("__asm__ volatile(\"vmovups (%0), %%xmm3\\n\\tvmovups %%xmm3, (%1)\\n\\tadd $16, %0\\n\\tvmovups "
          "(%0), %%xmm3\\n\\t\"\n"
          "\"vmovups %%xmm3, 16(%1)\" :: \"r\"(a), \"r\"(c) : \"memory\", \"xmm3\");"),
     "changes $0 by"},
    {"asm that changes an operand",
     MOVE("__asm__ volatile(\"vmovups (%0), %%xmm3\\n\\tvmovups %%xmm3, (%1)\\n\\tadd $16, %0\\n\\tvmovups "
          "(%0), %%xmm3\\n\\t\"\n"
          "\"vmovups %%xmm3, 16(%1)\" : \"+&r\"(a) : \"r\"(c) : \"memory\", \"xmm3\");"),
     "ok"},
    {"asm whose product is in rdx",
     MOVE("__builtin_memcpy(c, a, 32); long x = 3; __asm__ volatile(\"mul %0\" : \"+a\"(x));"),
     "changes rdx by"},
};

static void is_found_with_any_seed(void **state) {
    static const char *const names[] = {"5 x 11 of odd k", "14 x 46 of even k", "f32 as bf16",
                                        "zeros skipped", "takes ldc for positive"};

    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            for (uint64_t seed = 1; seed < 6 && !strcmp(mutants[i].name, names[k]); seed++)
                uk_text_free(report_of(*state, mutants[i].text, &(struct uk_verify_options){.seed = seed},
                                       UK_WRONG_RESULT));
}

int main(int argc, char **argv) {
    return run_judged("verify mutants", mutants, sizeof mutants / sizeof *mutants, is_found_with_any_seed,
                      argc > 1 ? argv[1] : NULL);
}
