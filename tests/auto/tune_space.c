/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search space of uk tune. Every start and every change of a schedule is legal and computes what the
 * program says, or refuses a subscript out of bounds; the same seed draws the same changes, and the program
 * stays unchanged. Also the search itself, on invented costs.
 *
 *     tune_space [SEED|new]
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "run_program.h"
#include "seed.h"
#include "test_context.h"
#include "tune/tune.h"

#define TILES_6X16                                                         \
    "split C.m 6 -> mo mi\nsplit C.n 16 -> no ni\nreorder mo no mi ni k\n" \
    "pack A at root panel 6\npack B at root panel 16\n"

enum { CHANGES = 60 };

static uint64_t seed = 1;
static const struct {
    const char *text;
    int64_t sizes[3];
    int sizes_count;
    /* minimum number of starts besides auto */
    int kernels;
    int subscript; /* number of the tensor whose elements are subscripts; 0: none */
} programs[] = {
    {"size M = 37, N = 41, K = 19\n"
     "tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor C f32 [M, N]\n"
     "C[m, n] = sum(k) A[m, k] * B[k, n]\n",
     {37, 41, 19},
     3,
     3,
     0},
    {"tensor A f32 [19, 37]\ntensor B f32 [41, 19]\ntensor C f32 [37, 41]\n"
     "C[m, n] += sum(k) A[k, m] * B[n, k]\n",
     {0},
     0,
     2,
     0},
    {"size N = 1000\ntensor X f32 [N]\ntensor Y f32 [N]\ntensor Z f32 [N]\nZ[i] = X[i] + Y[i]\n",
     {1000},
     1,
     1,
     0},
    {"size M = 30, K = 50\ntensor A f32 [M, K]\ntensor x f32 [K]\ntensor y f32 [M]\ntensor z f32 [M]\n"
     "y[m] = sum(k) A[m, k] * x[k]\nz[i] = max(y[i], 0) + x[0]\n",
     {30, 50},
     2,
     0,
     0},
    {"tensor X i32 [V, W]\ntensor I i32 [N]\ntemp T i32 [V, W]\ntemp J i32 [N]\ntemp U i32 [N, W]\n"
     "tensor Y i32 [N, W]\ntensor S i32 [W]\n"
     "T[v, w] = X[v, w] * 3\n"
     "J[n] = I[n] - 1\n"
     "U[n, w] = T[wrap(J[n]), w] + X[I[n], w]\n"
     "Y[n, w] = max(U[n, w], 0)\n"
     "S[w] = sum(n) U[n, w]\n",
     {7, 19, 11},
     3,
     0,
     1},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

static struct uk_program *parse(int i) {
    return run_parse(context, "tuned.uk", programs[i].text, NULL);
}

static const struct uk_options avx2 = {.target = "x86_64-avx2", .threads = 2};

/* Operands of a program, and a copy with a subscript out of bounds, which must be refused. */
struct operands {
    struct random_data good, bad;
};

static void draw(int i, struct operands *o) {
    struct uk_program *p = parse(i);

    *o = (struct operands){0};
    memcpy(o->good.size, programs[i].sizes, sizeof programs[i].sizes);
    memcpy(o->bad.size, programs[i].sizes, sizeof programs[i].sizes);
    random_data_fill(&o->good, p, 7);
    random_data_fill(&o->bad, p, 7);
    if (programs[i].subscript) {
        memset(o->bad.start[programs[i].subscript] + RANDOM_DATA_MARGIN, 0xff, sizeof(int32_t));
        random_data_interpret(&o->bad, p);
        assert_int_equal(o->bad.status, UK_INVALID_INDEX);
    }
    uk_program_destroy(p);
}

static void discard(struct operands *o) {
    random_data_free(&o->good);
    random_data_free(&o->bad);
}

static bool is_right(struct run *r, int i, struct operands *o) {
    return run_is_right(r, &o->good) && (!programs[i].subscript || run_is_right(r, &o->bad));
}

/* Checks that the steps compute what the statements say, with kernels by their declarations and as machine
 * code. False: a vector lacks what it needs, which shows only when all steps are applied. */
static bool must_be_right(int i, const char *steps, struct operands *o, bool compile) {
    struct run r = {.context = context,
                    .program = run_parse(context, "tuned.uk", programs[i].text, steps),
                    .options = avx2};
    const enum uk_status status = run_loops(&r, NULL);
    const bool refused = status == UK_REFUSED && programs[i].subscript;

    if ((status && !refused) ||
        (!status && (!is_right(&r, i, o) || (compile && (run_code(&r) || !is_right(&r, i, o))))))
        fail_msg("program %d, seed %" PRIu64 ": %s\n%s", i, seed, uk_context_message(context), steps);
    run_end(&r);
    return !refused;
}

/* ---- starts ---- */

static void starts(void **state) {
    (void)state;
    for (int i = 0; i < PROGRAMS; i++) {
        struct uk_program *p = parse(i);
        struct operands d;
        char *before, *after, *steps, *automatic;
        size_t length;
        int cursor = 0, count = 0;

        draw(i, &d);
        assert_int_equal(uk_program_print(p, &before), UK_OK);
        assert_int_equal(uk_emit(p, &avx2, UK_EMIT_SCHEDULE, &automatic, &length), UK_OK);
        for (;; count++) {
            assert_int_equal(uk_schedule_start(p, &avx2, &cursor, &steps), UK_OK);
            if (!steps)
                break;
            if (!count)
                assert_string_equal(steps, automatic);
            must_be_right(i, steps, &d, false);
            uk_text_free(steps);
        }
        discard(&d);
        assert_true(count > programs[i].kernels);
        assert_int_equal(uk_program_print(p, &after), UK_OK);
        assert_string_equal(before, after);
        uk_text_free(automatic);
        uk_text_free(before);
        uk_text_free(after);
        uk_program_destroy(p);
    }
}

static void start_refused(void **state) {
    const struct uk_options no_loops = {.target = "x86_64-avx2", .require_kernels = true};
    const struct uk_options unknown = {.target = "pdp11"};
    static const char text[] = "tensor X f32 [N]\ntensor Y f32 [N]\nY[i] = exp(X[i])\n";
    struct uk_program *p = parse_text(text);
    char *steps;
    int cursor = 0;

    (void)state;
    assert_int_equal(uk_schedule_start(p, &no_loops, &cursor, &steps), UK_NO_MATCH);
    assert_null(steps);
    assert_non_null(strstr(uk_context_message(context), "do not require kernels"));
    cursor = 0;
    assert_int_equal(uk_schedule_start(p, &unknown, &cursor, &steps), UK_INVALID_ARGUMENT);
    assert_null(steps);
    uk_program_destroy(p);
}

/* ---- changes ---- */

static void walk(int i, char *steps) {
    struct uk_program *p = parse(i);
    struct operands d;
    uint64_t random = seed, again;
    char *before, *after;
    int different = 0, applied = 0;

    draw(i, &d);
    assert_int_equal(uk_program_print(p, &before), UK_OK);
    for (int c = 0; c < CHANGES; c++) {
        char *changed, *same;

        again = random;
        enum uk_status status = uk_schedule_change(p, &avx2, steps, &random, &changed);
        if (status)
            fail_msg("program %d, seed %" PRIu64 ", change %d: %s\n%s", i, seed, c,
                     uk_context_message(context), steps);
        assert_int_equal(uk_schedule_change(p, &avx2, steps, &again, &same), UK_OK);
        assert_string_equal(changed, same);
        assert_true(random == again);
        different += strcmp(steps, changed) != 0;
        uk_text_free(same);
        const bool right = must_be_right(i, changed, &d, c % 10 == 0 && run_is_possible(avx2.target));
        uk_text_free(right ? steps : changed);
        steps = right ? changed : steps;
        applied += right;
    }
    discard(&d);
    assert_true(different > CHANGES / 2 && applied > CHANGES / 2);
    assert_int_equal(uk_program_print(p, &after), UK_OK);
    assert_string_equal(before, after);
    uk_text_free(before);
    uk_text_free(after);
    uk_text_free(steps);
    uk_program_destroy(p);
}

static void changes(void **state) {
    (void)state;
    for (int i = 0; i < PROGRAMS; i++) {
        struct uk_program *p = parse(i);
        char *steps;
        int cursor = 0;

        assert_int_equal(uk_schedule_start(p, &avx2, &cursor, &steps), UK_OK);
        uk_program_destroy(p);
        walk(i, steps);
    }
}

/* A factor of 16 becomes half, 3/2, 2/3, a quarter, twice and four times of it, one more and one less, and
 * 13, the length of three about equal parts of 37. */
static void factors(void **state) {
    static const char steps[] = "split C.m 16 -> mo mi\n";
    static const int expected[] = {4, 8, 10, 13, 15, 17, 24, 32, 64};
    enum { COUNT = sizeof expected / sizeof *expected, MAX_DRAWS = 20000 };
    struct uk_program *p = parse(0);
    uint64_t random = seed;
    bool is_found[COUNT] = {false};
    int found = 0;

    (void)state;
    for (int n = 0; n < MAX_DRAWS && found < COUNT; n++) {
        char *changed, *split;
        int factor = 16, i = 0;

        assert_int_equal(uk_schedule_change(p, &avx2, steps, &random, &changed), UK_OK);
        if ((split = strstr(changed, "split C.m ")))
            factor = atoi(split + strlen("split C.m "));
        uk_text_free(changed);
        while (i < COUNT && expected[i] != factor)
            i++;
        if (i < COUNT && !is_found[i])
            found += is_found[i] = true;
    }
    for (int i = 0; i < COUNT; i++)
        if (!is_found[i])
            fail_msg("seed %" PRIu64 ": no change to factor %d", seed, expected[i]);
    uk_program_destroy(p);
}

static void change_refused(void **state) {
    struct uk_program *p = parse(0);
    uint64_t random = seed;
    double operations;
    char *changed;

    (void)state;
    assert_int_equal(uk_schedule_change(p, &avx2, "split C.q 4 -> qo qi\n", &random, &changed), UK_REFUSED);
    assert_null(changed);
    assert_non_null(strstr(uk_context_message(context), "there is no loop C.q"));
    assert_int_not_equal(uk_schedule_change(p, &avx2, "splat\n", &random, &changed), UK_OK);
    assert_null(changed);
    assert_int_not_equal(uk_schedule_bound(p, &avx2, "splat\n", &operations), UK_OK);
    assert_int_equal(uk_program_status(p), UK_OK);
    uk_program_destroy(p);
}

/* The 6x16 kernel of AVX2 reaches the peak, 4x8 in portable C does not. */
static void bounds(void **state) {
    static const char fast[] = TILES_6X16 "tensorize mi uk_sgemm_6x16_avx2_asm\n",
                      slow[] = "split C.m 4 -> mo mi\nsplit C.n 8 -> no ni\nreorder mo no mi ni k\n"
                               "pack A at root panel 4\npack B at root panel 8\n"
                               "tensorize mi uk_sgemm_4x8_generic_c\n";
    struct uk_program *p = parse(0);
    double work = 2.0 * 37 * 41 * 19, operations;

    (void)state;
    assert_int_equal(uk_schedule_bound(p, &avx2, fast, &operations), UK_OK);
    assert_true(fabs(operations - work) < 1e-6 * work);
    assert_int_equal(uk_schedule_bound(p, &avx2, slow, &operations), UK_OK);
    assert_true(operations > 1.5 * work);
    assert_int_equal(uk_schedule_bound(p, &avx2, "reorder C.k C.m\n", &operations), UK_OK);
    assert_true(operations == 0);
    uk_program_destroy(p);
}

/* The estimate for sums in which each addition waits for the previous one is far above kernels'; for vectors
 * across sums nothing is known. */
static void costs(void **state) {
    static const char kernel[] = TILES_6X16 "tensorize mi uk_sgemm_6x16_avx2_asm\n";
    struct uk_program *p = parse(0);
    double work = 2.0 * 37 * 41 * 19, operations;

    (void)state;
    assert_int_equal(uk_schedule_cost(p, &avx2, kernel, &operations), UK_OK);
    assert_true(fabs(operations - work) < 1e-6 * work);
    assert_int_equal(uk_schedule_cost(p, &avx2, "reorder C.n C.m\n", &operations), UK_OK);
    assert_true(operations > 30 * work);
    assert_int_equal(uk_schedule_cost(p, &avx2, "reorder C.k C.m\n", &operations), UK_OK);
    assert_true(operations == 0);
    assert_int_not_equal(uk_schedule_cost(p, &avx2, "splat\n", &operations), UK_OK);
    uk_program_destroy(p);
}

/* ---- memory ---- */

void *__real_uk_alloc(struct uk_arena *a, size_t n);
void *__wrap_uk_alloc(struct uk_arena *a, size_t n);

static long left = -1; /* allocations until one fails; negative: none does */

void *__wrap_uk_alloc(struct uk_arena *a, size_t n) {
    return left >= 0 && left-- == 0 ? NULL : __real_uk_alloc(a, n);
}

static void no_memory(void **state) {
    static const char steps[] = TILES_6X16;
    struct uk_program *p = parse(0);
    char *normal, *changed;
    int failed = 0;

    (void)state;
    assert_int_equal(uk_schedule_change(p, &avx2, steps, &(uint64_t){seed}, &normal), UK_OK);
    for (long n = 0; n >= 0; n += 1 + n / 20) {
        double operations;

        left = n;
        enum uk_status status = uk_schedule_change(p, &avx2, steps, &(uint64_t){seed}, &changed);
        bool all = left >= 0;
        left = -1;
        if (status != UK_OK && status != UK_OUT_OF_MEMORY)
            fail_msg("allocation %ld fails and the status is %d: %s", n, status, uk_context_message(context));
        assert_true((status == UK_OK) == (changed != NULL));
        uk_text_free(changed);
        if (all)
            break;
        failed += status == UK_OUT_OF_MEMORY;
        left = n;
        status = uk_schedule_bound(p, &avx2, steps, &operations);
        left = -1;
        assert_true(status == UK_OK || status == UK_OUT_OF_MEMORY);
    }
    assert_true(failed > 5);
    assert_int_equal(uk_schedule_change(p, &avx2, steps, &(uint64_t){seed}, &changed), UK_OK);
    assert_string_equal(changed, normal);
    uk_text_free(normal);
    uk_text_free(changed);
    uk_program_destroy(p);
}

/* ---- the search ---- */

static struct tune_trial made_up(int value, bool is_start) {
    char text[32];

    snprintf(text, sizeof text, "%d", value);
    return (struct tune_trial){.steps = strdup(text),
                               .outcome = value % 7 ? TUNE_OK : TUNE_CRASH,
                               .speed = value,
                               .is_start = is_start};
}

/* Costs are numbers: a change adds to the parent's, and every seventh trial crashes. Returns the best. */
static int climb(uint64_t first, int *order) {
    struct tune_search s = {.random = first};

    assert_null(tune_parent(&s, &(int){0}));
    assert_true(tune_add(&s, made_up(8, true)) && tune_add(&s, made_up(1, true)) &&
                tune_add(&s, made_up(14, true)));
    while (s.trials < 200) {
        int count = 0;
        const struct tune_trial *parent = tune_parent(&s, &count);
        assert_non_null(parent);
        assert_int_equal(parent->outcome, TUNE_OK);
        struct tune_trial t = made_up(atoi(parent->steps) + count, false);
        if (tune_find(&s, t.steps)) {
            free(t.steps);
            t = made_up(atoi(parent->steps) + 2 * count + s.trials % 3, false);
        }
        if (tune_find(&s, t.steps)) {
            free(t.steps);
            t = made_up(1000 * s.trials + 7000000, false);
        }
        order[s.trials] = atoi(t.steps);
        assert_true(tune_add(&s, t));
    }
    const struct tune_trial *best = tune_rank(&s, 0), *second = tune_rank(&s, 1);
    assert_true(best->outcome == TUNE_OK && best->speed > second->speed);
    assert_null(tune_rank(&s, s.trials));
    int value = atoi(best->steps);
    tune_free(&s);
    return value;
}

static void climbing(void **state) {
    int one[200] = {0}, two[200] = {0}, three[200] = {0};
    int best = climb(seed, one);

    (void)state;
    /* only reachable by changes of changed schedules */
    assert_true(best > 30);
    assert_int_equal(climb(seed, two), best);
    assert_memory_equal(one, two, sizeof one);
    climb(seed + 1, three);
    assert_memory_not_equal(one, three, sizeof one);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts),  cmocka_unit_test(start_refused),  cmocka_unit_test(changes),
        cmocka_unit_test(factors), cmocka_unit_test(change_refused), cmocka_unit_test(bounds),
        cmocka_unit_test(costs),   cmocka_unit_test(climbing),       cmocka_unit_test(no_memory),
    };

    if (argc > 1)
        seed = seed_of(argv[1]);
    print_message("seed %" PRIu64 "\n", seed);
    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
