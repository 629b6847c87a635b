/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uk_verify: kernels that round differently from their declaration, return the other zero, or count terms in
 * 16 bits; each with a correct variant. A result that rounds has one right value, and is compared exactly.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "report.h"

#define C(body) "pragma import c \"\"\"\n#include <immintrin.h>\n#include <stdint.h>\n" body "\n\"\"\"\n"

/* y[i] = expression of a = x[i]; `says` is the declaration's right side. */
#define MAP(from, f, to, t, expression, says)                                                          \
    C(HELPERS "void f(int64_t n, const " from " *x, " to " *y) {\n"                                    \
              "for (int64_t i = 0; i < n; i++) { const " from " a = x[i]; y[i] = " expression "; } }") \
    "intrinsic f\n  tensor x " f " [N]\n  tensor y " t " [N]\n  y[i] = " says "\n"                     \
    "  compute void f(i64 N, ptr x, ptr y)\nend\n"
/* z[i] = expression of a = x[i] and b = y[i], of one type. */
#define PAIR(type, t, expression, says)                                                                 \
    C(HELPERS "void f(int64_t n, const " type " *x, const " type " *y, " type " *z) {\n"                \
              "for (int64_t i = 0; i < n; i++) { const " type " a = x[i], b = y[i]; z[i] = " expression \
              "; } }")                                                                                  \
    "intrinsic f\n  tensor x " t " [N]\n  tensor y " t " [N]\n  tensor z " t " [N]\n"                   \
    "  z[i] = " says "\n  compute void f(i64 N, ptr x, ptr y, ptr z)\nend\n"

/* Conversions toward zero, with ties upward, and through f32; half precision as bits. */
#define HELPERS                                                                                              \
    "static uint32_t bits(float f) { union { float f; uint32_t u; } x = {f}; return x.u; }\n"                \
    "static float real(uint32_t u) { union { uint32_t u; float f; } x = {u}; return x.f; }\n"                \
    "static uint16_t even(float f) { uint32_t u = bits(f); return f != f ? 0x7fc0 : (u + 0x7fff + (u >> 16 " \
    "& 1)) >> 16; }\n"                                                                                       \
    "static uint16_t up(float f) { uint32_t u = bits(f); return f != f ? 0x7fc0 : (u + 0x8000) >> 16; }\n"   \
    "static uint16_t cut(float f) { return f != f ? 0x7fc0 : bits(f) >> 16; }\n"                             \
    "static unsigned toward_zero(void) { unsigned m = _mm_getcsr(); _mm_setcsr(m | 0x6000); return m; }\n"   \
    "#define CHOPPED(type, e) ({ unsigned m_ = toward_zero(); volatile type r_ = (e); _mm_setcsr(m_); r_; "  \
    "})\n"                                                                                                   \
    "static uint16_t half(float f) { union { _Float16 h; uint16_t u; } x = {(_Float16)f}; return x.u; }\n"   \
    "static float from_half(uint16_t u) { union { uint16_t u; _Float16 h; } x = {u}; return (float)x.h; }\n"

/* c[] (+)= sum over p of a[p] * b[p], with halves as bits. */
#define DOT(type, t, to, r, body, product)                                                               \
    C(HELPERS "void f(int64_t k, const " type " *a, const " type " *b, " to " *c, int64_t acc) {\n" body \
              "}")                                                                                       \
    "intrinsic f\n  tensor a " t " [P]\n  tensor b " t " [P]\n  tensor c " r " []\n"                     \
    "  c[] = sum(p) " product "\n  compute void f(i64 P, ptr a, ptr b, ptr c, i64 0)\n"                  \
    "  update void f(i64 P, ptr a, ptr b, ptr c, i64 1)\nend\n"

/* y[i] = (acc ? y[i] : 0) + sum over p, q of x[i, p, q], with unbounded extents. */
#define SUMS(body)                                                                                     \
    C("void f(int64_t n, int64_t r, int64_t s, const int32_t *x, int64_t ld, int64_t le, int32_t *y, " \
      "int64_t acc) {\n" body "}")                                                                     \
    "intrinsic f\n  tensor x i32 [N, R, S] stride [ld, le, 1]\n  tensor y i32 [N]\n"                   \
    "  y[i] = sum(r, s) x[i, r, s]\n"                                                                  \
    "  compute void f(i64 N, i64 R, i64 S, ptr x, i64 ld, i64 le, ptr y, i64 0)\n"                     \
    "  update void f(i64 N, i64 R, i64 S, ptr x, i64 ld, i64 le, ptr y, i64 1)\nend\n"
#define LOOPS(n, r, s)                                                                 \
    "for (int64_t i = 0; i < (" n "); i++) { uint32_t t = acc ? (uint32_t)y[i] : 0;\n" \
    "  for (int64_t p = 0; p < (" r "); p++) for (int64_t q = 0; q < (" s "); q++)\n"  \
    "    t += (uint32_t)x[i * ld + p * le + q]; y[i] = (int32_t)t; }\n"

/* A product of halves in a tile without edges: f16 has too few bits for long sums. */
#define HALVES(steps)                                                                                       \
    C(HELPERS                                                                                               \
      "void f(int64_t k, const uint16_t *a, const uint16_t *b, uint16_t *c, int64_t acc) {\n"               \
      "for (int i = 0; i < 6; i++) for (int j = 0; j < 16; j++) {\n"                                        \
      "  float s = acc ? from_half(c[i * 16 + j]) : 0;\n"                                                   \
      "  for (int64_t p = 0; p < " steps "; p++)\n"                                                         \
      "    s = from_half(half(s + from_half(half(from_half(a[p * 6 + i]) * from_half(b[p * 16 + j])))));\n" \
      "  c[i * 16 + j] = half(s); } }")                                                                     \
    "intrinsic f\n  tensor a f16 [6, P] stride [1, 6]\n  tensor b f16 [P, 16]\n"                            \
    "  tensor c f16 [6, 16]\n  c[i, j] = sum(p) a[i, p] * b[p, j]\n"                                        \
    "  compute void f(i64 P, ptr a, ptr b, ptr c, i64 0)\n  update void f(i64 P, ptr a, ptr b, ptr c, i64 " \
    "1)\nend\n"

#define RUN "for (int64_t p = 0; p < k; p++) "
#define F16_DOT(body) DOT("uint16_t", "f16", "float", "f32", body, "f32(a[p]) * f32(b[p])")
#define F32_DOT(body) DOT("float", "f32", "float", "f32", body, "a[p] * b[p]")
#define AXPY(body)                                                                                           \
    C(HELPERS "void f(int64_t n, float s, const float *x, float *y) { for (int64_t i = 0; i < n; i++) " body \
              "; }")                                                                                         \
    "intrinsic f\n  scalar s f32\n  tensor x f32 [N]\n  tensor y f32 [N]\n  y[i] += s * x[i]\n"              \
    "  compute void f(i64 N, f32 s, ptr x, ptr y)\nend\n"
#define IN_I32 "a != a ? 0 : a >= 0x1p31f ? INT32_MAX : a <= -0x1p31f ? INT32_MIN : (int32_t)"

static const struct judged kernels[] = {
    /* ---- one conversion ---- */
    {"f32 to bf16", MAP("float", "f32", "uint16_t", "bf16", "even(a)", "bf16(x[i])"), "ok"},
    {"f32 to bf16, cut", MAP("float", "f32", "uint16_t", "bf16", "cut(a)", "bf16(x[i])"), "y["},
    {"f32 to bf16, ties up", MAP("float", "f32", "uint16_t", "bf16", "up(a)", "bf16(x[i])"), "y["},
    {"f64 to bf16, twice", MAP("double", "f64", "uint16_t", "bf16", "even((float)a)", "bf16(x[i])"), "y["},
    {"f64 to f32", MAP("double", "f64", "float", "f32", "(float)a", "f32(x[i])"), "ok"},
    {"f64 to f32, cut",
     MAP("double", "f64", "float", "f32", "CHOPPED(float, (float)*(volatile const double *)(x + i))",
         "f32(x[i])"),
     "y["},
    {"f64 to f32, ties away",
     MAP("double", "f64", "float", "f32",
         "({ union { double d; uint64_t u; } w = {a}; w.u += (w.u & 0x1fffffff) == 0x10000000; (float)w.d; "
         "})",
         "f32(x[i])"),
     "y["},
    {"f32 to f16", MAP("float", "f32", "uint16_t", "f16", "half(a)", "f16(x[i])"), "ok"},
    {"f32 to f16, cut", MAP("float", "f32", "uint16_t", "f16", "_cvtss_sh(a, 3)", "f16(x[i])"), "y["},
    {"f32 to f16, ties away",
     MAP("float", "f32", "uint16_t", "f16", "half((bits(a) & 0x1fff) == 0x1000 ? real(bits(a) + 1) : a)",
         "f16(x[i])"),
     "y["},
    {"f64 to f16, twice", MAP("double", "f64", "uint16_t", "f16", "half((float)a)", "f16(x[i])"), "y["},
    {"i32 to f32", MAP("int32_t", "i32", "float", "f32", "(float)a", "f32(x[i])"), "ok"},
    {"i32 to f32, cut",
     MAP("int32_t", "i32", "float", "f32", "CHOPPED(float, (float)*(volatile const int32_t *)(x + i))",
         "f32(x[i])"),
     "y["},
    {"i32 to f16, cut", MAP("int32_t", "i32", "uint16_t", "f16", "_cvtss_sh((float)a, 3)", "f16(x[i])"),
     "y["},
    {"i64 to f64", MAP("int64_t", "i64", "double", "f64", "(double)a", "f64(x[i])"), "ok"},
    {"i64 to f64, cut",
     MAP("int64_t", "i64", "double", "f64", "CHOPPED(double, (double)*(volatile const int64_t *)(x + i))",
         "f64(x[i])"),
     "y["},
    {"i64 to f32, twice", MAP("int64_t", "i64", "float", "f32", "(float)(double)a", "f32(x[i])"), "y["},
    {"f32 to i32", MAP("float", "f32", "int32_t", "i32", IN_I32 "a", "i32(x[i])"), "ok"},
    {"f32 to i32, nearest", MAP("float", "f32", "int32_t", "i32", IN_I32 "__builtin_rintf(a)", "i32(x[i])"),
     "y["},
    {"round", MAP("float", "f32", "float", "f32", "__builtin_rintf(a)", "round(x[i])"), "ok"},
    {"round, ties away",
     MAP("float", "f32", "float", "f32",
         "__builtin_copysignf(__builtin_floorf(__builtin_fabsf(a) + 0.5f), a)", "round(x[i])"),
     "y["},
    /* ---- one operation ---- */
    {"f32 product", PAIR("float", "f32", "a * b", "x[i] * y[i]"), "ok"},
    {"f32 product, cut",
     PAIR("float", "f32", "CHOPPED(float, *(volatile const float *)(x + i) * b)", "x[i] * y[i]"), "z["},
    {"f32 sum", PAIR("float", "f32", "a + b", "x[i] + y[i]"), "ok"},
    {"f32 sum, cut",
     PAIR("float", "f32", "CHOPPED(float, *(volatile const float *)(x + i) + b)", "x[i] + y[i]"), "z["},
    {"f64 sum, cut",
     PAIR("double", "f64", "CHOPPED(double, *(volatile const double *)(x + i) + b)", "x[i] + y[i]"), "z["},
    {"f32 quotient", PAIR("float", "f32", "a / b", "x[i] / y[i]"), "ok"},
    {"f32 quotient, by the reciprocal", PAIR("float", "f32", "a * (1 / b)", "x[i] / y[i]"), "z["},
    {"f16 sum", PAIR("uint16_t", "f16", "half(from_half(a) + from_half(b))", "x[i] + y[i]"), "ok"},
    {"f16 sum, cut", PAIR("uint16_t", "f16", "_cvtss_sh(from_half(a) + from_half(b), 3)", "x[i] + y[i]"),
     "z["},
    {"requantized",
     MAP("int32_t", "i32", "int8_t", "i8",
         "({ float v = __builtin_rintf((float)a * 0.0123f); v >= 127 ? 127 : v <= -128 ? -128 : (int8_t)v; "
         "})",
         "i8(round(f32(x[i]) * 0.0123))"),
     "ok"},
    {"requantized, ties up",
     MAP("int32_t", "i32", "int8_t", "i8",
         "({ float v = __builtin_floorf((float)a * 0.25f + 0.5f); v >= 127 ? 127 : v <= -128 ? -128 : "
         "(int8_t)v; })",
         "i8(round(f32(x[i]) * 0.25))"),
     "y["},
    /* ---- products that are added may be rounded separately or not; the sum is rounded ---- */
    {"axpy", AXPY("y[i] += s * x[i]"), "ok"},
    {"axpy, fused", AXPY("y[i] = __builtin_fmaf(s, x[i], y[i])"), "ok"},
    {"axpy, cut", AXPY("y[i] = CHOPPED(float, *(volatile float *)(y + i) + s * x[i])"), "y["},
    {"f16 in f32", F16_DOT("float s = acc ? *c : 0; " RUN "s += from_half(a[p]) * from_half(b[p]); *c = s;"),
     "ok"},
    {"f16 in f32, cut",
     F16_DOT("float s = acc ? *c : 0; unsigned m = toward_zero();\n" RUN
             "{ volatile float t = s + from_half(a[p]) * from_half(b[p]); s = t; } _mm_setcsr(m); *c = s;"),
     "c[] is "},
    {"f16 in f16",
     F16_DOT("float s = acc ? *c : 0; " RUN
             "s += from_half(half(from_half(a[p]) * from_half(b[p]))); *c = s;"),
     "c[] is "},
    {"f32 in four sums",
     F32_DOT("float s[4] = {acc ? *c : 0}; " RUN
             "s[p % 4] += a[p] * b[p]; *c = (s[0] + s[1]) + (s[2] + s[3]);"),
     "ok"},
    {"f32 in f64", F32_DOT("double s = acc ? *c : 0; " RUN "s += (double)a[p] * b[p]; *c = s;"), "ok"},
    {"f32, cut",
     F32_DOT("float s = acc ? *c : 0; unsigned m = toward_zero();\n" RUN
             "{ volatile float t = s + a[p] * b[p]; s = t; } _mm_setcsr(m); *c = s;"),
     "c[] is "},
    {"f32, the last addition cut",
     F32_DOT("float s = 0; " RUN
             "s += a[p] * b[p]; *c = acc ? CHOPPED(float, *(volatile float *)c + s) : s;"),
     "update: WRONG"},
    /* ---- zeros ---- */
    {"max", PAIR("float", "f32", "a > b ? a : b", "max(x[i], y[i])"), "ok"},
    {"max, of zeros the first",
     PAIR("float", "f32", "b > a ? b : b != b ? b : a != a ? b : a", "max(x[i], y[i])"), "z["},
    {"min, of zeros the first",
     PAIR("float", "f32", "b < a ? b : b != b ? b : a != a ? b : a", "min(x[i], y[i])"), "z["},
    {"abs", MAP("float", "f32", "float", "f32", "__builtin_fabsf(a)", "abs(x[i])"), "ok"},
    {"abs, by comparison", MAP("float", "f32", "float", "f32", "a < 0 ? -a : a", "abs(x[i])"),
     "is -0, not 0"},
    {"negation", MAP("double", "f64", "double", "f64", "-a", "-x[i]"), "ok"},
    {"negation, from 0", MAP("double", "f64", "double", "f64", "0 - a", "-x[i]"), "is 0, not -0"},
    {"f16 negation, from 0", MAP("uint16_t", "f16", "uint16_t", "f16", "half(0 - from_half(a))", "-x[i]"),
     "is 0, not -0"},
    /* ---- sizes ---- */
    {"sums", SUMS(LOOPS("n", "r", "s")), "ok"},
    {"the first in 16 bits", SUMS(LOOPS("(uint16_t)n", "r", "s")), "N=65"},
    {"the second in 16 bits", SUMS(LOOPS("n", "(uint16_t)r", "s")), "R=65"},
    {"the third in 16 bits", SUMS(LOOPS("n", "r", "(uint16_t)s")), "S=65"},
    {"the second in 16 bits and a sign", SUMS(LOOPS("n", "(int16_t)r", "s")), "R="},
    {"the third up to 2000", SUMS(LOOPS("n", "r", "s > 2000 ? 2000 : s")), "S="},
    {"the first up to 40000", SUMS(LOOPS("n > 40000 ? 40000 : n", "r", "s")), "N=65"},
    {"all beyond 100", SUMS(LOOPS("n", "r", "s") "if (n > 100 && r > 100 && s > 100) y[n - 1]++;"), "WRONG"},
    {"halves", HALVES("k"), "ok"},
    {"halves, 16 bits", HALVES("(uint16_t)k"), "P=65"},
};

/* Not only with the usual seed. */
static void is_judged_with_any_seed(void **state) {
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        for (uint64_t seed = 1; seed < 4; seed++)
            uk_text_free(report_of(*state, kernels[i].text, &(struct uk_verify_options){.seed = seed},
                                   strcmp(kernels[i].says, "ok") ? UK_WRONG_RESULT : UK_OK));
}

int main(int argc, char **argv) {
    const bool all = argc > 1 && !strcmp(argv[1], "--all");

    return run_judged("verify rounding", kernels, sizeof kernels / sizeof *kernels,
                      all ? is_judged_with_any_seed : NULL, argc > 1 && !all ? argv[1] : NULL);
}
