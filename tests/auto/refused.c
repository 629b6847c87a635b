/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Automatic schedules when a step, the lowering or a limit of the target refuses a part: another draft is
 * used, in the end plain loops, and the results are right. The test replaces functions of the compiler by
 * ones that refuse.
 */
#include <stdlib.h>
#include <string.h>
#include "link/link.h"
#include "lower/lower.h"
#include "run_program.h"
#include "test_context.h"

enum { SIZES = 3 };

static const struct {
    const char *text;
    int64_t size[SIZES];
} programs[] = {
    {"tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor C f32 [M, N]\nC[m, n] = sum(k) A[m, k] * B[k, n]\n",
     {37, 19, 41}},
    {"tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor b f32 [N]\ntensor C f32 [M, N]\ntemp T f32 [M, N]\n"
     "T[m, n] = sum(k) A[m, k] * B[k, n]\nC[m, n] = max(T[m, n] + b[n], 0)\n",
     {37, 19, 41}},
    {"tensor X f32 [M, K]\ntensor Z f32 [M]\ntensor Y f32 [M]\nZ[m] = sum(k) X[m, k]\nY[m] = max(Z[m], 0)\n",
     {33, 70, 0}},
    {"tensor X u8 [N, 20, 20]\ntensor F i8 [N, 3, 3]\ntensor Y i32 [N, 20, 20]\n"
     "Y[n, p, q] = sum(r, s) i32(pad(X[n, p + r - 1, q + s - 1], 3)) * i32(F[n, r, s])\n",
     {4, 0, 0}},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

static const char *const targets[] = {"x86_64-avx2", "riscv64-p", "amdgcn-gfx906"};
enum { TARGETS = sizeof targets / sizeof *targets };

/* ---- refusals ---- */

static const char made_up[] = "made up by the test";

static enum {
    NOTHING,
    /* step `number`, once */
    ONE_STEP,
    /* every step of that kind */
    ALL_OF_KIND,
    /* lowering of stages that kernels compute */
    MATCHES,
    /* limits of all schedules except the one as written */
    DRAFTS,
    /* limits of all schedules */
    ALL,
    /* code of functions that call kernels */
    CODE,
    /* all code */
    ALL_CODE
} refused;
static int number, steps;
static char report[1 << 16];

static enum uk_status refuse(struct uk_schedule *s) {
    return uk_fail(s->context, UK_REFUSED, (struct uk_position){0}, "%s", made_up);
}

enum uk_status __real_uk_apply_steps(struct uk_schedule *s, struct uk_step *step);
enum uk_status __wrap_uk_apply_steps(struct uk_schedule *s, struct uk_step *step);
enum uk_status __real_uk_lower_stages(struct uk_schedule *s, struct uk_node **out);
enum uk_status __wrap_uk_lower_stages(struct uk_schedule *s, struct uk_node **out);
enum uk_status __real_uk_check_memory(struct uk_schedule *s);
enum uk_status __wrap_uk_check_memory(struct uk_schedule *s);

enum uk_status __wrap_uk_apply_steps(struct uk_schedule *s, struct uk_step *step) {
    const bool is = refused == ONE_STEP      ? steps++ == number
                    : refused == ALL_OF_KIND ? (int)step->kind == number
                                             : false;

    return is ? refuse(s) : __real_uk_apply_steps(s, step);
}

enum uk_status __wrap_uk_lower_stages(struct uk_schedule *s, struct uk_node **out) {
    for (struct uk_stage *st = s->stages; st && refused == MATCHES; st = st->next)
        if (st->match && !st->is_copy) {
            s->at = st;
            return refuse(s);
        }
    return __real_uk_lower_stages(s, out);
}

enum uk_status __wrap_uk_check_memory(struct uk_schedule *s) {
    return refused == ALL || (refused == DRAFTS && !s->as_written) ? refuse(s) : __real_uk_check_memory(s);
}

enum uk_status __real_uk_optimize(struct uk_build *b);
enum uk_status __wrap_uk_optimize(struct uk_build *b);

enum uk_status __wrap_uk_optimize(struct uk_build *b) {
    if (refused != ALL_CODE && (refused != CODE || !b->function->intrinsics))
        return __real_uk_optimize(b);
    uk_build_blames_loops(b);
    return uk_fail(b->context, UK_LINK, (struct uk_position){0}, "%s", made_up);
}

/* ---- a program, compiled and run ---- */

static struct uk_program *parse(int i) {
    return run_parse(context, "drafted.uk", programs[i].text, NULL);
}

static void keep_report(struct uk_text *t) {
    *report = 0;
    strncat(report, t->text ? t->text : "", sizeof report - 1);
    uk_text_free(t->text);
}

static enum uk_status lower(struct uk_program *p, const char *name, bool strict, struct uk_function **f) {
    const struct uk_options o = {.target = name, .threads = 3, .require_kernels = strict};
    struct uk_text t = {0};
    const enum uk_status status = run_lower(p, &o, &t, NULL, f);

    keep_report(&t);
    return status;
}

/* Operands and expected results of each program. */
static struct random_data data[PROGRAMS];

static int make_data(void **state) {
    make_context(state);
    for (int i = 0; i < PROGRAMS; i++) {
        struct uk_program *p = parse(i);

        memcpy(data[i].size, programs[i].size, sizeof programs[i].size);
        random_data_fill(&data[i], p, 7);
        assert_int_equal(data[i].status, UK_OK);
        uk_program_destroy(p);
    }
    return 0;
}

static int free_data(void **state) {
    for (int i = 0; i < PROGRAMS; i++)
        random_data_free(&data[i]);
    return destroy_context(state);
}

/* Checks that the program computes the right results in spite of the refusals. */
static void must_be_right(int i, const char *target) {
    struct uk_text t = {0};
    struct run r = {
        .context = context, .program = parse(i), .options = {.target = target, .threads = 3}, .report = &t};

    steps = 0;
    const bool made = !run_loops(&r, NULL);
    keep_report(&t);
    if (!made || !run_is_right(&r, &data[i]))
        fail_msg("program %d, %s, refusal %d of %d: %s\n%s", i, target, (int)refused, number,
                 uk_context_message(context), report);
    run_end(&r);
}

/* ---- the tests ---- */

/* Unless it is 1, only a part of all is tried: all takes minutes, sanitized an hour. Each program is on one
 * of three targets, with one of `part` * 2 / 3 kinds of steps. Where single steps are refused, it is on each
 * target, with one of `part` steps. */
static int part = 1;

static bool is_tried(int program, int target) {
    return part == 1 || (program + target) % TARGETS == 0;
}

static int first_step(int program, int target) {
    return (program + target) % part;
}

static void each_step(void **state) {
    (void)state;
    refused = ONE_STEP;
    for (int i = 0; i < PROGRAMS; i++)
        for (int t = 0; t < TARGETS; t++)
            for (number = first_step(i, t), steps = number + 1; number < steps; number += part)
                must_be_right(i, targets[t]);
}

static void each_kind(void **state) {
    const int step = part == 1 ? 1 : part * 2 / 3;

    (void)state;
    refused = ALL_OF_KIND;
    for (int i = 0; i < PROGRAMS; i++)
        for (int t = 0; t < TARGETS; t++)
            for (number = i % step; number < UK_STEPS && is_tried(i, t); number += step)
                must_be_right(i, targets[t]);
}

static void lowering(void **state) {
    (void)state;
    refused = MATCHES;
    for (int i = 0; i < PROGRAMS; i++)
        for (int t = 0; t < TARGETS; t++)
            if (is_tried(i, t))
                must_be_right(i, targets[t]);
}

static void limits(void **state) {
    (void)state;
    refused = DRAFTS;
    for (int i = 0; i < PROGRAMS; i++)
        for (int t = 0; t < TARGETS; t++) {
            if (!is_tried(i, t))
                continue;
            must_be_right(i, targets[t]);
            assert_non_null(strstr(report, "was refused: made up by the test"));
            assert_null(strstr(report, "computed by"));
        }
}

/* Messages name the kernel and the reason, whether plain loops are allowed or not. */
static void words(void **state) {
    struct uk_function *f;
    struct uk_program *p = parse(0);

    (void)state;
    refused = MATCHES;
    assert_int_equal(lower(p, "x86_64-avx2", false, &f), UK_OK);
    assert_non_null(strstr(uk_context_notes(context), "stage 'C' is compiled as plain loops"));
    assert_non_null(strstr(uk_context_notes(context), "uk_sgemm_"));
    assert_non_null(strstr(uk_context_notes(context), made_up));
    assert_non_null(strstr(report, "was refused: made up by the test"));
    assert_int_equal(lower(p, "x86_64-avx2", true, &f), UK_NO_MATCH);
    assert_non_null(strstr(uk_context_message(context), "uk_sgemm_"));
    assert_non_null(strstr(uk_context_message(context), made_up));
    uk_program_destroy(p);
}

/* A refusal of every schedule ends with its message; a refusal that was avoided leaves no message. */
static void ends(void **state) {
    struct uk_function *f;
    struct uk_program *p = parse(1);

    (void)state;
    for (int t = 0; t < TARGETS; t++) {
        refused = ALL;
        assert_int_equal(lower(p, targets[t], false, &f), UK_REFUSED);
        assert_non_null(strstr(uk_context_message(context), made_up));
        uk_context_enter(context, NULL);
        refused = NOTHING;
        assert_int_equal(lower(p, targets[t], false, &f), UK_OK);
        assert_null(strstr(report, "refused"));
    }
    uk_program_destroy(p);
}

/* ---- code ---- */

static enum uk_status emit(struct uk_program *const p[], int count, const char *target, bool strict) {
    const struct uk_options o = {.target = target, .threads = 3, .require_kernels = strict};
    char *bytes;
    size_t length;
    const enum uk_status status = uk_emit_programs(p, count, &o, UK_EMIT_OPTIMIZED, &bytes, &length);

    uk_text_free(bytes);
    return status;
}

/* True if kernels compute the program on all targets: it is a product. */
static bool has_kernel(int program) {
    return program < 2;
}

/* Programs whose code LLVM refuses are compiled with other loops, alone or together with others: the first
 * program for all targets, each other one for a single target. */
static void code(void **state) {
    (void)state;
    refused = CODE;
    for (int i = 0; i < PROGRAMS; i++)
        for (int t = 0; t < TARGETS; t++) {
            if ((i || part > 1) && (i + t) % TARGETS)
                continue;
            struct uk_program *const p[] = {parse(i),
                                            run_parse(context, "another.uk", programs[0].text, NULL)};

            for (int count = part > 1 ? 2 : 1; count <= 2; count++) {
                if (emit(p, count, targets[t], false))
                    fail_msg("program %d, %s: %s", i, targets[t], uk_context_message(context));
                if (has_kernel(i) || count == 2)
                    assert_non_null(strstr(uk_context_notes(context), made_up));
            }
            uk_program_destroy(p[0]);
            uk_program_destroy(p[1]);
        }
}

static void code_runs(void **state) {
    (void)state;
    refused = CODE;
    for (int i = 0; i < PROGRAMS; i += part > 1 ? 3 : 1) {
        struct run r = {.context = context, .program = parse(i), .options.threads = 3};

        if (run_compile(&r))
            fail_msg("program %d: %s", i, uk_context_message(context));
        assert_null(uk_module_kernel(r.module, 0));
        assert_true(run_is_right(&r, &data[i]));
        run_end(&r);
    }
}

/* If kernels are required, the message names the refused one and the reason; if plain loops are refused, only
 * that. */
static void code_ends(void **state) {
    /* a different option, since the context caches objects of the same code */
    const struct uk_options other = {.workspace_argument = true},
                            strict = {.workspace_argument = true, .require_kernels = true};
    struct uk_program *p = parse(0);
    struct uk_module *m;

    (void)state;
    for (int t = 0; t < (part > 1 ? 1 : TARGETS); t++) {
        refused = CODE;
        assert_int_equal(emit(&p, 1, targets[t], true), UK_NO_MATCH);
        assert_non_null(strstr(uk_context_message(context), "uk_sgemm_"));
        assert_non_null(strstr(uk_context_message(context), made_up));
        refused = ALL_CODE;
        assert_int_equal(emit(&p, 1, targets[t], false), UK_LINK);
        assert_string_equal(uk_context_message(context), "drafted.uk: error: made up by the test");
    }
    assert_int_equal(uk_compile(p, &other, &m), UK_LINK);
    assert_null(m);
    refused = CODE;
    assert_int_equal(uk_compile(p, &strict, &m), UK_NO_MATCH);
    assert_null(m);
    uk_program_destroy(p);
}

/* ---- searches ---- */

/* A search starts from a schedule that lowering accepts. */
static void searches_loops(void **state) {
    (void)state;
    refused = MATCHES;
    for (int i = 0; i < PROGRAMS; i++)
        for (int t = 0; t < TARGETS - 1; t++) {
            if (!is_tried(i, t))
                continue;
            const struct uk_options o = {.target = targets[t], .threads = 3};
            struct uk_program *p = parse(i);
            struct uk_function *f;
            int cursor = 0;
            char *start;

            assert_int_equal(uk_schedule_start(p, &o, &cursor, &start), UK_OK);
            assert_int_equal(uk_program_schedule(p, "start", start, strlen(start)), UK_OK);
            if (lower(p, targets[t], false, &f))
                fail_msg("program %d, %s: %s\n%s", i, targets[t], uk_context_message(context), start);
            uk_text_free(start);
            uk_program_destroy(p);
        }
}

/* The same after a refused step; the start is what would be compiled. */
static void searches(void **state) {
    (void)state;
    refused = ONE_STEP;
    /* GPU schedules are not searched */
    for (int i = 0; i < PROGRAMS; i++)
        for (int t = 0; t < TARGETS - 1; t++)
            for (number = first_step(i, t), steps = number + 1; number < steps; number += part) {
                const struct uk_options o = {.target = targets[t], .threads = 3};
                struct uk_program *p = parse(i);
                int cursor = 0;
                char *start;

                steps = 0;
                if (uk_schedule_start(p, &o, &cursor, &start))
                    fail_msg("program %d, %s, step %d: %s", i, targets[t], number,
                             uk_context_message(context));
                const int drawn = steps;
                assert_int_equal(uk_program_schedule(p, "start", start, strlen(start)), UK_OK);
                uk_text_free(start);
                uk_program_destroy(p);
                steps = drawn;
            }
}

/* Drafts of these programs were refused once, which the fallback hid; now none may be. */
static void accepted(void **state) {
    static const char *const every[] = {"x86_64-avx2",   "x86_64-avx512", "aarch64-neon",
                                        "armv7-neon",    "riscv64",       "riscv64-p",
                                        "amdgcn-gfx906", "amdgcn-gfx90a", "nvptx-sm80"};
    static const char *const texts[] = {
        /* the outermost loop belongs to the sum */
        "tensor X f32 [B, A]\ntensor Z f32 [B, A]\ntensor Y f32 []\nY[] = sum(a, b) X[b, a] * Z[b, a]\n",
        "size E = 33, A = 33, D = 33\ntensor X f32 [E]\ntensor Z f32 [A, E, D]\ntensor Y f32 [D]\n"
        "Y[d] = sum(a, e) X[e] * Z[a, e, d]\n",
        /* windows of other sizes than those of depthwise kernels */
        "size N = 1, C = 1, O = 3\ntensor X u8 [N, C, H, W + 2]\ntensor F i8 [O, C, 1, 3]\n"
        "tensor Y i32 [N, O, H, W]\n"
        "Y[n, o, p, q] = sum(c, r, s) i32(X[n, c, p + r, q + s]) * i32(F[o, c, r, s])\n",
        "size R = 5, S = 1\ntensor X u8 [N, C, H + R - 1, W + S - 1]\ntensor F i8 [O, C, R, S]\n"
        "tensor Y i32 [N, O, H, W]\n"
        "Y[n, o, p, q] = sum(c, r, s) i32(X[n, c, p + r, q + s]) * i32(F[o, c, r, s])\n",
        /* conditions that cut off parts of tiles, or leave one iteration */
        "tensor A f32 [M, M]\ntensor G f32 [M]\nG[m] = sum(k where k <= m) A[m, k]\n",
        "size W = 1\ntensor X f32 [N, O, W]\ntensor F f32 [O, 3]\ntensor Y f32 [N, O, W]\n"
        "Y[n, o, q] = sum(s) pad(X[n, o, q + s - 1], 0) * F[o, s]\n",
        "tensor L f32 [M, M]\ntensor B f32 [M, N]\ntensor C f32 [M, N]\n"
        "C[m, n] = sum(k where k <= m) L[m, k] * B[k, n]\n",
        /* registers of f64 */
        "size M = 129, N = 200, K = 65\ntensor A f64 [M, K]\ntensor B f64 [K, N]\ntensor C f64 [M, N]\n"
        "C[m, n] = sum(k) A[m, k] * B[k, n]\n",
    };

    (void)state;
    refused = NOTHING;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t t = 0; t < sizeof every / sizeof *every; t++) {
            struct uk_function *f;
            struct uk_program *p;

            if (!is_tried((int)i, (int)t))
                continue;
            if (uk_program_parse(context, "accepted.uk", texts[i], strlen(texts[i]), &p) ||
                lower(p, every[t], false, &f) || strstr(report, "was refused"))
                fail_msg("%s\n%s: %s\n%s", texts[i], every[t], uk_context_message(context), report);
            uk_program_destroy(p);
        }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(searches),  cmocka_unit_test(accepted),  cmocka_unit_test(each_step),
        cmocka_unit_test(each_kind), cmocka_unit_test(lowering),  cmocka_unit_test(limits),
        cmocka_unit_test(words),     cmocka_unit_test(ends),      cmocka_unit_test(searches_loops),
        cmocka_unit_test(code),      cmocka_unit_test(code_runs), cmocka_unit_test(code_ends),
    };

    if (argc > 2 && !strcmp(argv[1], "--part"))
        part = atoi(argv[2]);
    return cmocka_run_group_tests(tests, make_data, free_data);
}
