/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests libukblas: every function against a product computed here, exactly, on integers; its reports of
 * illegal arguments; products without memory, from several threads and after fork.
 */
#define _GNU_SOURCE
#include <cblas.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "entries.h"
#include "emulated.h"
#include "random.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/* ---- a product, its operands and what must come out ---- */

static uint64_t seed;

static void *elements(const struct entry *entry, const double *values, int64_t count) {
    float *narrow = malloc((size_t)count * sizeof(double) + 1);

    assert_non_null(narrow);
    if (entry->is_double)
        memcpy(narrow, values, (size_t)count * sizeof(double));
    else
        for (int64_t i = 0; i < count; i++)
            narrow[i] = (float)values[i];
    return narrow;
}

struct values {
    /* `count` matrices, `stride` elements apart, of rows x columns elements; columns are `ld` apart. */
    int64_t rows, columns, ld, stride, count;
    int64_t total;
    double *at;
};

/* Integers in the matrices, and NaN between them, or everywhere if `nan`: a result that depends on an unused
 * element is NaN. */
static struct values make_values(int64_t rows, int64_t columns, int64_t count, bool by_rows, bool nan) {
    struct values v = {.rows = by_rows ? columns : rows, .columns = by_rows ? rows : columns, .count = count};

    v.ld = (v.rows > 1 ? v.rows : 1) + random_below(&seed, 3);
    v.stride = v.ld * v.columns + random_below(&seed, 4);
    v.total = v.stride * count + v.ld;
    v.at = malloc((size_t)v.total * sizeof *v.at);
    assert_non_null(v.at);
    for (int64_t i = 0; i < v.total; i++)
        v.at[i] = NAN;
    for (int64_t q = 0; q < count && !nan; q++)
        for (int64_t j = 0; j < v.columns; j++)
            for (int64_t i = 0; i < v.rows; i++)
                v.at[q * v.stride + j * v.ld + i] = (double)(random_below(&seed, 7) - 3);
    return v;
}

static double *element(const struct values *v, int64_t q, int64_t i, int64_t j, bool exchanged) {
    return &v->at[q * v->stride + (exchanged ? i * v->ld + j : j * v->ld + i)];
}

static void multiply(const struct product *p, const struct values *a, const struct values *b,
                     struct values *c, bool rows, bool ta, bool tb) {
    for (int64_t q = 0; q < p->count; q++)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                double *x = element(c, q, i, j, rows), sum = 0;

                for (int64_t l = 0; l < p->k && p->alpha != 0; l++)
                    sum += *element(a, q, i, l, rows != ta) * *element(b, q, l, j, rows != tb);
                *x = (p->beta == 0 ? 0 : p->beta * *x) + p->alpha * sum;
            }
}

static bool same(const struct entry *entry, const void *c, const struct values *wanted) {
    for (int64_t i = 0; i < wanted->total; i++) {
        double found = entry->is_double ? ((const double *)c)[i] : (double)((const float *)c)[i];

        if (found != wanted->at[i] && !(isnan(found) && isnan(wanted->at[i])))
            return false;
    }
    return true;
}

/* Computes a random product of at most these sizes. True if the result is right. */
static bool product_is_right(const struct entry *entry, int64_t largest) {
    static const double alphas[] = {0, 1, -2, 3}, betas[] = {0, 1, -1, 2};
    bool rows = entry->c_interface && random_below(&seed, 2), ta = random_below(&seed, 2),
         tb = random_below(&seed, 2);
    struct product p = {.layout = rows ? CblasRowMajor : CblasColMajor,
                        .ta = (ta ? "TtCc" : "NnNn")[random_below(&seed, 4)],
                        .tb = (tb ? "TtCc" : "NnNn")[random_below(&seed, 4)],
                        .number_a = ta ? CblasTrans + (int)random_below(&seed, 2) : CblasNoTrans,
                        .number_b = tb ? CblasTrans + (int)random_below(&seed, 2) : CblasNoTrans,
                        .m = random_below(&seed, (int)largest + 1),
                        .n = random_below(&seed, (int)largest + 1),
                        .k = random_below(&seed, (int)largest + 1),
                        .count = entry->batch ? random_below(&seed, 4) : 1,
                        .alpha = alphas[random_below(&seed, 4)],
                        .beta = betas[random_below(&seed, 4)]};
    struct values a = make_values(ta ? p.k : p.m, ta ? p.m : p.k, p.count, rows, p.alpha == 0);
    struct values b = make_values(tb ? p.n : p.k, tb ? p.k : p.n, p.count, rows, p.alpha == 0);
    struct values c = make_values(p.m, p.n, p.count, rows, p.beta == 0);
    bool right;

    if (!random_below(&seed, 4)) /* all products of a batch have the same B */
        b.stride = 0;
    p.lda = a.ld;
    p.ldb = b.ld;
    p.ldc = c.ld;
    p.stride_a = a.stride;
    p.stride_b = b.stride;
    p.stride_c = c.stride;
    p.a = elements(entry, a.at, a.total);
    p.b = elements(entry, b.at, b.total);
    p.c = elements(entry, c.at, c.total);
    multiply(&p, &a, &b, &c, rows, ta, tb);
    entry->call(&p);
    right = same(entry, p.c, &c);
    free(p.a);
    free(p.b);
    free(p.c);
    free(a.at);
    free(b.at);
    free(c.at);
    return right;
}

static void all_entries_are_right(int64_t largest, int times) {
    for (int i = 0; i < entry_count; i++) {
        int before = atomic_load(&calls);

        for (int time = 0; time < times; time++)
            if (!product_is_right(&entries[i], largest))
                fail_msg("%s (64-bit integers: %d) is wrong", entries[i].routine, entries[i].wide);
        assert_true(atomic_load(&calls) > before);
    }
}

static void products(void **state) {
    (void)state;
    seed = 1;
    all_entries_are_right(9, 400);
    all_entries_are_right(70, 40);
    all_entries_are_right(260, 4);
    assert_int_equal(report.argument, 0);
}

/* libukblas computes products that uk_sgemm refuses. */
static void products_refused(void **state) {
    (void)state;
    seed = 2;
    answer = UK_OUT_OF_MEMORY;
    all_entries_are_right(12, 200);
    answer = UK_UNSUPPORTED;
    all_entries_are_right(12, 20);
    answer = UK_OK;
}

/* ---- illegal arguments ---- */

enum field { LAYOUT, NUMBER_A, NUMBER_B, LETTER_A, LETTER_B, SIZE_M, SIZE_N, SIZE_K, LDA, LDB, LDC, COUNT };

static void set(struct product *p, enum field field) {
    int64_t *sizes[] = {[SIZE_M] = &p->m, [SIZE_N] = &p->n, [SIZE_K] = &p->k,   [LDA] = &p->lda,
                        [LDB] = &p->ldb,  [LDC] = &p->ldc,  [COUNT] = &p->count};

    if (field == LAYOUT)
        p->layout = 100;
    else if (field == NUMBER_A)
        p->number_a = 114;
    else if (field == NUMBER_B)
        p->number_b = 0;
    else if (field == LETTER_A)
        p->ta = 'R';
    else if (field == LETTER_B)
        p->tb = 0;
    else
        *sizes[field] = field >= LDA && field <= LDC ? *sizes[field] - 1 : -1;
}

/* The argument's number in the reference BLAS; 0: this function does not have it. */
static int number(const struct entry *entry, enum field field) {
    static const int positions[] = {[LETTER_A] = 1, [LETTER_B] = 2, [SIZE_M] = 3, [SIZE_N] = 4,
                                    [SIZE_K] = 5,   [LDA] = 8,      [LDB] = 10,   [LDC] = 13};
    static const int in_batch[] = {[LETTER_A] = 1, [LETTER_B] = 2, [SIZE_M] = 3, [SIZE_N] = 4, [SIZE_K] = 5,
                                   [LDA] = 8,      [LDB] = 11,     [LDC] = 15,   [COUNT] = 17};

    if (entry->c_interface && field <= NUMBER_B)
        return field == LAYOUT ? 1 : field == NUMBER_A ? 2 : 3;
    if (field <= NUMBER_B || (field == COUNT && !entry->batch) ||
        (entry->c_interface && (field == LETTER_A || field == LETTER_B)))
        return 0;
    return (entry->batch ? in_batch : positions)[field] + entry->c_interface;
}

static void refuses(const struct entry *entry, enum field field, int layout, bool transposed) {
    bool rows = layout == CblasRowMajor;
    int64_t a[] = {4, 6}, b[] = {6, 5}, c[] = {4, 5}; /* m, k; k, n; m, n */
    double memory[64] = {0}, before[64] = {0};
    struct product p = {.layout = layout,
                        .ta = transposed ? 'T' : 'N',
                        .tb = transposed ? 'c' : 'n',
                        .number_a = transposed ? CblasTrans : CblasNoTrans,
                        .number_b = transposed ? CblasConjTrans : CblasNoTrans,
                        .m = 4,
                        .n = 5,
                        .k = 6,
                        .lda = a[rows != transposed],
                        .ldb = b[rows != transposed],
                        .ldc = c[rows],
                        .count = 1,
                        .alpha = 1,
                        .beta = 0,
                        .a = memory,
                        .b = memory,
                        .c = memory};
    int wanted = number(entry, field), before_calls = atomic_load(&calls);

    if (!wanted)
        return;
    memset(memory, 0x5a, sizeof memory);
    memset(before, 0x5a, sizeof before);
    set(&p, field);
    memset(&report, 0, sizeof report);
    entry->call(&p);
    if (report.argument != wanted || strcmp(report.routine, entry->routine) || report.wide != entry->wide ||
        report.c_interface != entry->c_interface)
        fail_msg("%s, argument %d, layout %d: reported %s, %d, 64-bit integers: %d", entry->routine, wanted,
                 layout, report.routine, report.argument, report.wide);
    assert_memory_equal(memory, before, sizeof memory);
    assert_int_equal(atomic_load(&calls), before_calls);
    assert_int_equal(RowMajorStrg, 0);
}

static void illegal_arguments(void **state) {
    (void)state;
    for (int i = 0; i < entry_count; i++)
        for (enum field field = LAYOUT; field <= COUNT; field++)
            for (int transposed = 0; transposed < 2; transposed++) {
                refuses(&entries[i], field, CblasColMajor, transposed);
                if (entries[i].c_interface)
                    refuses(&entries[i], field, CblasRowMajor, transposed);
            }
    memset(&report, 0, sizeof report);
}

/* ---- threads, fork, memory ---- */

enum { SIZE = 200 };
static double left[SIZE * SIZE], right[SIZE * SIZE], wanted[SIZE * SIZE];

static void make_large(void) {
    seed = 3;
    for (int i = 0; i < SIZE * SIZE; i++) {
        left[i] = (double)(random_below(&seed, 7) - 3);
        right[i] = (double)(random_below(&seed, 7) - 3);
        wanted[i] = 0;
    }
    for (int i = 0; i < SIZE; i++)
        for (int l = 0; l < SIZE; l++)
            for (int j = 0; j < SIZE; j++)
                wanted[i * SIZE + j] += left[i * SIZE + l] * right[l * SIZE + j];
}

static bool large_is_right(void) {
    double *c = malloc(sizeof wanted);
    bool equal;

    if (!c)
        return false;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIZE, SIZE, SIZE, 1, left, SIZE, right, SIZE, 0, c,
                SIZE);
    equal = !memcmp(c, wanted, sizeof wanted);
    free(c);
    return equal;
}

static void *in_thread(void *wrong) {
    for (int i = 0; i < 10; i++)
        if (!large_is_right())
            atomic_fetch_add((atomic_int *)wrong, 1);
    return NULL;
}

static void several_threads(void **state) {
    atomic_int wrong = 0;
    pthread_t threads[4];

    (void)state;
    make_large();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, in_thread, &wrong), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&wrong), 0);
}

/* Calls it in a child process. True if the result is right there. */
static bool right_in_child(bool (*run)(void)) {
    int status;
    pid_t child = fork();

    if (!child)
        _exit(run() ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void after_fork(void **state) {
    (void)state;
    SKIP_UNDER_QEMU("qemu-user 7.2 cannot start threads in the child of a process with threads");
    make_large();
    assert_true(large_is_right());
    assert_true(right_in_child(large_is_right));
    assert_true(large_is_right());
}

#ifndef SANITIZED
/* Touches the stack's pages below the caller's frame, while memory can still be mapped. */
__attribute__((noinline)) static void touch_stack(void) {
    volatile char stack[1 << 19];

    for (size_t i = 0; i < sizeof stack; i += 1024)
        stack[i] = 0;
}

/* Computes a product after limiting the address space to 0 and using up malloc's free memory. */
static bool right_without_memory(void) {
    static double c[SIZE * SIZE];
    struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    void *volatile taken;

    touch_stack();
    uk_release_memory();
    if (setrlimit(RLIMIT_AS, &none))
        return false;
    for (size_t size = (size_t)1 << 24; size >= 16; size /= 2)
        do
            taken = malloc(size);
        while (taken);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIZE, SIZE, SIZE, 1, left, SIZE, right, SIZE, 0, c,
                SIZE);
    return !memcmp(c, wanted, sizeof wanted);
}

static void without_memory(void **state) {
    (void)state;
    SKIP_UNDER_QEMU("qemu-user keeps no limit of the address space");
    make_large();
    assert_true(right_in_child(right_without_memory));
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products),          cmocka_unit_test(products_refused),
        cmocka_unit_test(illegal_arguments), cmocka_unit_test(several_threads),
        cmocka_unit_test(after_fork),
#ifndef SANITIZED
        cmocka_unit_test(without_memory),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
