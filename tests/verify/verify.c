/* SPDX-License-Identifier: Apache-2.0 */
/* uk_verify: kernels that violate their declarations in one way each, with the report on each; correct ones
 * pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "registry/operation.h"
#include "report.h"
#include "test_context.h"

/* c[4][8] = sum over p of a[p][i] * b[p][j]; a is a panel of four rows. */
#define HEAD                                        \
    "pragma import c \"\"\"\n"                      \
    "#include <immintrin.h>\n#include <stdint.h>\n" \
    "void mm(int64_t k, const float *a, const float *b, float *c, int64_t ldc, int64_t acc) {\n"
#define TAIL                                                          \
    "}\n\"\"\"\n"                                                     \
    "intrinsic mm\n"                                                  \
    "  tensor a f32 [4, P] layout (i, p) -> [p, i] stride [4, 1]\n"   \
    "  tensor b f32 [P, 8]\n"                                         \
    "  tensor c f32 [4, 8] stride [ldc, 1]\n"                         \
    "  c[i, j] = sum(p) a[i, p] * b[p, j]\n"                          \
    "  compute void mm(i64 P, ptr a, ptr b, ptr c, i64 ldc, i64 0)\n" \
    "  update void mm(i64 P, ptr a, ptr b, ptr c, i64 ldc, i64 1)\n"  \
    "end\n"
/* The product, with expressions for ldc, for the initial value of a sum and for the number of steps. */
#define PRODUCT(ldc, start, steps)                                                  \
    "for (int i = 0; i < 4; i++) for (int j = 0; j < 8; j++) {\n"                   \
    "  float s = " start ";\n"                                                      \
    "  for (int64_t p = 0; p < " steps "; p++) s += a[p * 4 + i] * b[p * 8 + j];\n" \
    "  c[i * " ldc " + j] = s;\n}\n"
#define GOOD PRODUCT("ldc", "acc ? c[i * ldc + j] : 0", "k")

static bool all;

static const struct broken {
    /* parts of the report's lines about compute and update */
    const char *name, *body, *compute, *update;
} kernels[] = {
    {"good", GOOD, "mm compute: ok, 504 cases", "mm update: ok, 504 cases"},
    {"reads_output", PRODUCT("ldc", "acc * c[i * ldc + j]", "k"), "c[0, 0] is nan, not", "ok"},
    {"ignores_output", PRODUCT("ldc", "0", "k"), "ok", "c[0, "},
    {"ignores_last_step", PRODUCT("ldc", "acc ? c[i * ldc + j] : 0", "k - 1"), "c[0, ", "c[0, "},
    {"ignores_no_steps", "if (k == 0) return;" GOOD, "is nan, not 0; with P=0", "ok"},
    {"ignores_stride", PRODUCT("8", "acc ? c[i * 8 + j] : 0", "k"), "c[", "c"},
    {"cuts_stride", PRODUCT("(int32_t)ldc", "acc ? c[i * (int32_t)ldc + j] : 0", "k"), "ldc=42949",
     "ldc=42949"},
    {"reads_past_b", GOOD "volatile float x = b[8 * k]; (void)x;", "reads past the end of b: byte",
     "reads past the end of b: byte"},
    {"reads_before_a", GOOD "volatile float x = a[-1]; (void)x;", "reads 4 bytes before the start of a",
     "reads 4 bytes before the start of a"},
    {"writes_past_c", GOOD "c[3 * ldc + 8] = 1;", "c: byte", "c: byte"},
    {"writes_a", GOOD "((float *)(uintptr_t)a)[0] = 77;", "writes a[0, 0], which is only read",
     "writes a[0, 0], which is only read"},
    {"needs_alignment", GOOD "*(volatile __m128 *)c = *(volatile __m128 *)c;", "not aligned", "not aligned"},
    {"direction_flag", GOOD "__asm__ volatile(\"std\");", "does not preserve the direction flag",
     "does not preserve the direction flag"},
    {"flush_to_zero", GOOD "_mm_setcsr(_mm_getcsr() | 0x8040);",
     "does not preserve the control bits of MXCSR", "MXCSR"},
    {"illegal", GOOD "__builtin_trap();", "an instruction that this CPU does not have", "instruction"},
    {"leaves",
     GOOD "__asm__ volatile(\"mov $60, %%eax; mov $7, %%edi; syscall\" ::: \"memory\", \"rax\", \"rdi\", "
          "\"rcx\", \"r11\");",
     "ends the process by exit status 7", "exit status 7"},
    {"wild", GOOD "*(volatile int *)16 = 1;", "writes at address 0x10, which is not near any of its operands",
     "writes at address 0x10"},
    {"no_stack", GOOD "__asm__ volatile(\"xor %%esp, %%esp; push %%rax\" :: );",
     "is not near any of its operands", "not near any"},
};

static void is_judged(void **state) {
    const struct broken *b = *state;
    char *text = malloc(sizeof HEAD + strlen(b->body) + sizeof TAIL);
    bool good = strstr(b->compute, "ok") && strstr(b->update, "ok");

    assert_non_null(text);
    sprintf(text, "%s%s%s", HEAD, b->body, TAIL);
    char *report = report_of(context, text, NULL, good ? UK_OK : UK_WRONG_RESULT);

    expect_line(report, "mm compute:", b->compute);
    expect_line(report, "mm update:", b->update);
    uk_text_free(report);
    free(text);
}

static bool is_clock_stopped;
double __real_uk_now(void);
double __wrap_uk_now(void);

double __wrap_uk_now(void) {
    return is_clock_stopped ? 0 : __real_uk_now();
}

/* The limit of CPU time ends it, whatever else the machine does: that of wall-clock time is never reached. */
static void endless(void **state) {
    const struct uk_verify_options options = {.seconds = 1};

    is_clock_stopped = true;
    char *report =
        report_of(context, HEAD "for (;;) __asm__ volatile(\"\");" TAIL, &options, UK_WRONG_RESULT);

    (void)state;
    is_clock_stopped = false;
    expect_line(report, "mm compute:", "WRONG in case 1: does not return within 1 seconds of CPU time");
    uk_text_free(report);
}

/* The time limit applies to each call; all together may take longer. */
static void slow(void **state) {
    const struct uk_verify_options options = {.seconds = 1, .cases = 40};

    (void)state;
    uk_text_free(
        report_of(context, HEAD "for (volatile int i = 0; i < 20000000; i++);\n" GOOD TAIL, &options, UK_OK));
}

/* A call that sleeps takes no CPU time. */
static void asleep(void **state) {
    const struct uk_verify_options options = {.seconds = 1};

    (void)state;
    if (!all)
        skip();
    char *report = report_of(
        context,
        HEAD "__asm__ volatile(\"mov $34, %%eax; syscall\" ::: \"memory\", \"rax\", \"rcx\", \"r11\");" TAIL,
        &options, UK_WRONG_RESULT);
    expect_line(report, "mm compute:", "WRONG in case 1: does not return within 20 seconds");
    uk_text_free(report);
}

/* Changes a callee-saved register that the compiler has no other reason to save. */
#define ADD(body)                                                               \
    "pragma import c \"\"\"\n#include <immintrin.h>\n"                          \
    "void add(const float *a, const float *b, float *c) {\n" body "}\n\"\"\"\n" \
    "intrinsic add requires avx\n"                                              \
    "  tensor a f32 [8]\n  tensor b f32 [8]\n  tensor c f32 [8]\n"              \
    "  c[i] = a[i] + b[i]\n"                                                    \
    "  compute void add(ptr a, ptr b, ptr c)\nend\n"
#define SUM "_mm256_storeu_ps(c, _mm256_add_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(b)));\n"

static void registers(void **state) {
    /* xor %ebx, %ebx etc. as data: an undeclared change that asm states in words is found before the code
     * runs. */
    static const char *const names[][2] = {{"rbx", "0x31, 0xdb"},       {"rbp", "0x31, 0xed"},
                                           {"r12", "0x45, 0x31, 0xe4"}, {"r13", "0x45, 0x31, 0xed"},
                                           {"r14", "0x45, 0x31, 0xf6"}, {"r15", "0x45, 0x31, 0xff"}};

    (void)state;
    for (int i = 0; i < 6; i++) {
        char text[2048], expected[64];

        snprintf(text, sizeof text, ADD(SUM "__asm__ volatile(\".byte %s\" ::);"), names[i][1]);
        snprintf(expected, sizeof expected, "does not preserve %s", names[i][0]);
        char *report = report_of(context, text, NULL, UK_WRONG_RESULT);

        expect_line(report, "add compute:", expected);
        uk_text_free(report);
    }
    uk_text_free(report_of(context, ADD(SUM), NULL, UK_OK));
}

static void upper_halves(void **state) {
    char *report;

    (void)state;
    if (!__builtin_cpu_supports("avx"))
        skip();
    /* Element by element: with wide vectors the compiler would clear the upper halves itself. */
    report = report_of(context,
                       ADD("for (int i = 0; i < 8; i++) c[i] = *(volatile const float *)(a + i) + b[i];\n"
                           "__asm__ volatile(\".byte 0xc5, 0xfc, 0xc2, 0xc0, 0x0f\");" /* vcmptrueps */),
                       NULL, UK_WRONG_RESULT);
    expect_line(report, "add compute:", "the upper halves of vector registers");
    uk_text_free(report);
}

/* Types, layouts, alignments, over-reads and assumptions that declarations may have. */
static void declarations(void **state) {
    static const char *const good[] = {
        /* u8 and i8 over their whole range: saturating sums of pairs would be found */
        "pragma import c \"\"\"\n#include <stdint.h>\n"
        "void dot(int64_t k, const uint8_t *a, const int8_t *b, int32_t *c, int acc) {\n"
        "  int32_t s = acc ? *c : 0; for (int64_t p = 0; p < k; p++) s += a[p] * b[p]; *c = s; }\n\"\"\"\n"
        "intrinsic dot\n  tensor a u8 [P]\n  tensor b i8 [P]\n  tensor c i32 []\n  assume P % 4 == 0\n"
        "  c[] = sum(p) i32(a[p]) * i32(b[p])\n"
        "  compute void dot(i64 P, ptr a, ptr b, ptr c, i32 0)\n"
        "  update void dot(i64 P, ptr a, ptr b, ptr c, i32 1)\nend\n",
        /* reset and update, a size that depends on another, alignment, over-read up to 16 */
        "pragma import c \"\"\"\n#include <immintrin.h>\n"
        "void zero(float *c, int n) { for (int i = 0; i < n; i++) c[i] = 0; }\n"
        "void pairs(const float *a, const float *w, float *c, int n) {\n"
        "  *(volatile __m128 *)&(__m128){0} = *(const volatile __m128 *)(a + 12);\n"
        "  for (int i = 0; i < n; i++) c[i] += w[0] * a[2 * i] + w[1] * a[2 * i + 1]; }\n\"\"\"\n"
        "intrinsic pairs requires sse2\n  tensor a f32 [M] align 16 over [16]\n"
        "  tensor w f32 [2]\n  tensor c f32 [N]\n  assume M == 2 * N and N <= 8\n"
        "  c[i] = sum(r) w[r] * a[2 * i + r]\n"
        "  reset void zero(ptr c, i32 N)\n  update void pairs(ptr a, ptr w, ptr c, i32 N)\nend\n",
        /* max over a column of a strided matrix; scalars */
        "pragma import c \"\"\"\n"
        "void top(long m, const double *a, long lda, double *c) {\n"
        "  double s = -__builtin_inf(); for (long i = 0; i < m; i++)\n"
        "    s = (!(a[i * lda] <= s) && s == s) || (a[i * lda] == 0 && s == 0 && __builtin_signbit(s)) ? a[i "
        "* lda] : s;\n"
        "  *c = s; }\n"
        "void axpy(long n, float s, const float *x, float *y) { for (long i = 0; i < n; i++) y[i] += s * "
        "x[i]; }\n"
        "\"\"\"\n"
        "intrinsic top\n  tensor a f64 [M] stride [lda]\n  tensor c f64 []\n"
        "  c[] = max(i) a[i]\n  compute void top(i64 M, ptr a, i64 lda, ptr c)\nend\n"
        "intrinsic axpy\n  scalar s f32\n  tensor x f32 [N]\n  tensor y f32 [N]\n"
        "  y[i] += s * x[i]\n  compute void axpy(i64 N, f32 s, ptr x, ptr y)\nend\n",
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        for (uint64_t seed = 0; seed < 4; seed++)
            uk_text_free(
                report_of(context, good[i], &(struct uk_verify_options){.seed = seed, .cases = 300}, UK_OK));
}

static void is_refused(const char *text, enum uk_status expected, const char *word) {
    struct uk_program *p = parse_text(text);
    char *report;

    assert_int_equal(uk_verify(p, NULL, &report), expected);
    assert_null(report);
    if (!strstr(uk_context_message(context), word))
        fail_msg("no '%s' in: %s", word, uk_context_message(context));
    uk_program_destroy(p);
}

static void refusals(void **state) {
    (void)state;
    is_refused("tensor X f32 [N]\nX[i] = 1\n", UK_REFUSED, "declares no intrinsic");
    is_refused("intrinsic f\n  tensor c f32 [4]\n  c[i] = 1\n  compute void f(ptr c)\nend\n", UK_LINK,
               "no import defines f");
    is_refused("pragma import c \"\"\"\nvoid f(float *c) { *c = 1; }\n\"\"\"\n"
               "intrinsic f scope wave\n  tensor c f32 [4]\n  c[i] = 1\n  compute void f(ptr c)\nend\n",
               UK_UNSUPPORTED, "wave");
    is_refused("pragma import c \"\"\"\nvoid f(float *c, long n) { *c = 1; }\n\"\"\"\n"
               "intrinsic f\n  tensor c f32 [N]\n  assume N >= 3 and N * 2 <= 4\n  c[i] = 1\n"
               "  compute void f(ptr c, i64 N)\nend\n",
               UK_REFUSED, "found no sizes that fulfil its assumptions");
}

static bool is_asm(const struct uk_kernel *row) {
    return !strncmp(uk_kernel_impl(row), "asm", 3);
}

/* True if the kernel is the first one of its operation's form that runs here, among those with inline
 * assembly or those without. */
static bool is_example(const struct uk_kernel *row) {
    for (int i = 0; uk_kernel_at(i) != row; i++) {
        const struct uk_kernel *other = uk_kernel_at(i);

        if (uk_kernel_runs_here(other) &&
            uk_kernel_operation(other)->form == uk_kernel_operation(row)->form &&
            is_asm(other) == is_asm(row))
            return false;
    }
    return true;
}

/* With --all every kernel; otherwise two per form of operation, with fewer cases: the test `kernels` checks
 * the results of all. */
static void registry(void **state) {
    int foreign = 0;

    (void)state;
    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);
        const struct uk_verify_options options = {.seed = 7, .cases = all ? 50 : 15};
        char *report;

        if (!all && !is_example(k))
            continue;
        if (!uk_kernel_runs_here(k)) {
            assert_int_equal(uk_verify_kernel(context, k, &options, &report), UK_UNSUPPORTED);
            if (uk_kernel_function(k))
                print_message("skipped: %s\n", uk_context_message(context));
            foreign += !uk_kernel_function(k);
            continue;
        }
        if (uk_verify_kernel(context, k, &options, &report))
            fail_msg("%s%s", uk_context_message(context), report ? report : "");
        uk_text_free(report);
    }
    print_message("%d kernels of other architectures refused\n", foreign);
}

int main(int argc, char **argv) {
    enum { COUNT = sizeof kernels / sizeof *kernels, OTHERS = 8 };
    struct CMUnitTest tests[COUNT + OTHERS] = {
        cmocka_unit_test(endless),   cmocka_unit_test(slow),         cmocka_unit_test(asleep),
        cmocka_unit_test(registers), cmocka_unit_test(upper_halves), cmocka_unit_test(declarations),
        cmocka_unit_test(refusals),  cmocka_unit_test(registry),
    };

    for (int i = 0; i < COUNT; i++)
        tests[i + OTHERS] = (struct CMUnitTest){
            .name = kernels[i].name, .test_func = is_judged, .initial_state = (void *)(uintptr_t)&kernels[i]};
    all = argc > 1 && !strcmp(argv[1], "--all");
    return cmocka_run_group_tests_name("verify", tests, make_context, destroy_context);
}
