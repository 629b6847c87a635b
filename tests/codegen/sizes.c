/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled matrix products for all sizes around tiles and blocks: every element is exact, nothing else is
 * written, and nothing out of bounds is read.
 *
 * A and B hold the same small integers for all sizes, so one sum over 257 k gives the expected values of
 * every K and, as its upper left corner, of every M and N. Operands end at an inaccessible page and have NaN
 * between their rows; C has canaries there, and NaN in elements that are not added to. The program defines
 * aligned_alloc and free: workspaces are full of NaN and end at an inaccessible page, too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "arena.h"
#include "tensorize.h"
#include "sizes.h"

enum { MAX = 257, PADDING = 5, FRONT = 16 };

static const int64_t sizes[] = {0,  1,  2,  3,  5,  7,  8,  13, 14, 15, 16, 17,
                                31, 32, 33, 47, 48, 49, 63, 64, 65, 97, MAX};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* ---- the workspace ---- */

static struct {
    struct arena arena;
    /* the next calls of aligned_alloc come from the generated function */
    bool watched;
    bool refused;
    void *given;
    int taken, freed;
} work;

void *aligned_alloc(size_t alignment, size_t size) {
    static void *(*next)(size_t, size_t);

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "aligned_alloc");
    if (!work.watched)
        return next(alignment, size);
    work.taken++;
    if (work.refused || work.given || size % alignment || size > work.arena.size)
        return NULL;
    work.given = work.arena.data + work.arena.size - size;
    memset(work.given, 0xff, size);
    return work.given;
}

void free(void *at) {
    static void (*next)(void *);

    if (at && at == work.given) {
        work.given = NULL;
        work.freed++;
        return;
    }
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "free");
    next(at);
}

/* ---- operands ---- */

enum { A, B, C, OPERANDS };
static const float canary = -0x1.9p77f;
static struct arena arena[OPERANDS];
static float a[MAX][MAX], b[MAX][MAX], c[MAX][MAX];
/* sums over the first sizes[i] of k */
static float product[SIZES][MAX][MAX];

static void make_data(void) {
    for (int i = 0; i < MAX; i++)
        for (int j = 0; j < MAX; j++) {
            a[i][j] = (float)((i * 7 + j * 13 + i * j) % 9 - 4);
            b[i][j] = (float)((i * 11 + j * 5 + i * j * 3) % 7 - 3);
            c[i][j] = (float)((i * 3 + j) % 100);
        }
    static float sum[MAX][MAX];
    int64_t k = 0;

    for (int s = 0; s < SIZES; s++) {
        for (; k < sizes[s]; k++)
            for (int i = 0; i < MAX; i++)
                for (int j = 0; j < MAX; j++)
                    sum[i][j] += a[i][k] * b[k][j];
        memcpy(product[s], sum, sizeof sum);
    }
}

struct operand {
    float *at;
    int64_t rows, columns, stride;
};

/* Places an operand at the end of its arena; elements between rows are `between`. NULL source: NaN. */
static struct operand place(int which, int64_t rows, int64_t columns, int64_t padding, bool transposed,
                            const float (*source)[MAX], float between) {
    struct operand o = {.rows = transposed ? columns : rows, .columns = transposed ? rows : columns};

    o.stride = o.columns + padding;
    const int64_t n = o.rows && o.columns ? (o.rows - 1) * o.stride + o.columns : 0;

    o.at = (float *)(arena[which].data + arena[which].size) - n;
    for (int64_t i = -FRONT; i < n; i++)
        o.at[i] = between;
    for (int64_t i = 0; i < o.rows; i++)
        for (int64_t j = 0; j < o.columns; j++)
            o.at[i * o.stride + j] = !source ? NAN : transposed ? source[j][i] : source[i][j];
    return o;
}

static bool is_canary(const float *f) {
    return !memcmp(f, &canary, sizeof canary);
}

/* ---- one program ---- */

/* A program compiled for one check. */
struct compiled {
    const struct program *source;
    struct uk_context *context;
    struct uk_program *program;
    struct uk_module *module;
    /* sizes of the current call */
    int64_t m, n, k;
    char message[256];
};

static void compile(struct compiled *x, const struct program *source) {
    const struct uk_options options = {
        .target = source->target, .require_kernels = true, .threads = source->threads};
    char text[2048];
    int n = snprintf(text, sizeof text, "%s%s", source->text, source->schedule ? source->schedule : "");

    assert_true(n > 0 && (size_t)n < sizeof text);
    *x = (struct compiled){.source = source, .context = uk_context_create()};
    assert_non_null(x->context);
    if (uk_program_parse(x->context, "product.uk", text, (size_t)n, &x->program) ||
        uk_compile(x->program, &options, &x->module))
        fail_msg("%s: %s", source->name, uk_context_message(x->context));
}

static void discard(struct compiled *x) {
    uk_module_destroy(x->module);
    uk_program_destroy(x->program);
    uk_context_destroy(x->context);
}

static int call(const struct compiled *x, const struct operand *o) {
    static const char *const names[] = {"M", "N", "K", "lda", "ldb", "ldc"};
    const int64_t values[] = {x->m, x->n, x->k, o[A].stride, o[B].stride, o[C].stride};
    int64_t given[6] = {0};

    for (int i = 0; i < uk_program_sizes(x->program); i++)
        for (int j = 0; j < 6; j++)
            if (!strcmp(names[j], uk_program_size_name(x->program, i)))
                given[i] = values[j];
    work.taken = work.freed = 0;
    work.watched = true;
    int status = uk_module_call(x->module, given, NULL, (void *[]){o[A].at, o[B].at, o[C].at});
    work.watched = false;
    return status;
}

static bool wrong(struct compiled *x, const char *what, int64_t i, int64_t j, float got, float expected) {
    snprintf(x->message, sizeof x->message, "%s at row %lld, column %lld: %g, not %g", what, (long long)i,
             (long long)j, got, expected);
    return false;
}

static bool check_c(struct compiled *x, const struct operand *o, int size_of_k) {
    for (int64_t i = -FRONT; i < 0; i++)
        if (!is_canary(&o->at[i]))
            return wrong(x, "wrote before C", 0, i, o->at[i], canary);
    for (int64_t i = 0; i < o->rows; i++) {
        for (int64_t j = 0; j < o->columns; j++) {
            const float expected = product[size_of_k][i][j] + (x->source->adds ? c[i][j] : 0);

            if (!(o->at[i * o->stride + j] == expected))
                return wrong(x, "wrong element", i, j, o->at[i * o->stride + j], expected);
        }
        for (int64_t j = o->columns; j < o->stride && i + 1 < o->rows && o->columns; j++)
            if (!is_canary(&o->at[i * o->stride + j]))
                return wrong(x, "wrote between C's rows", i, j, o->at[i * o->stride + j], canary);
    }
    return true;
}

static bool check_size(struct compiled *x, int size_of_k, int64_t padding) {
    const struct program *p = x->source;
    struct operand o[OPERANDS] = {
        place(A, x->m, x->k, padding, p->a_transposed, a, NAN),
        place(B, x->k, x->n, padding, p->b_transposed, b, NAN),
        place(C, x->m, x->n, padding, false, p->adds ? c : NULL, canary),
    };
    int status = call(x, o);

    if (status) {
        snprintf(x->message, sizeof x->message, "status %d", status);
        return false;
    }
    if (work.taken > 1 || work.taken != work.freed) {
        snprintf(x->message, sizeof x->message, "%d workspaces taken, %d freed", work.taken, work.freed);
        return false;
    }
    return check_c(x, &o[C], size_of_k);
}

struct sweep {
    struct compiled *x;
    bool ok;
};

static void all_sizes(void *argument) {
    struct sweep *sweep = argument;
    struct compiled *x = sweep->x;
    int turn = 0;

    for (int i = 0; i < SIZES; i++)
        for (int j = 0; j < SIZES; j++)
            for (int k = 0; k < SIZES; k++) {
                x->m = sizes[i];
                x->n = sizes[j];
                x->k = sizes[k];
                if (!check_size(x, k, turn++ % 2 ? PADDING : 0))
                    return;
            }
    sweep->ok = true;
}

static bool runs_here(const char *target) {
    const char *const feature = strstr(target, "avx512") ? "avx512dq" : "avx2";

    if (uk_cpu_has(feature) && uk_cpu_has("fma"))
        return true;
    print_message("%s: skipped, this CPU lacks %s or UK_ISA hides it\n", target, feature);
    return false;
}

static void check_program(void **state) {
    struct compiled x;
    struct sweep sweep = {&x, false};
    const struct program *p = *state;
    const void *at = NULL;

    if (!runs_here(p->target))
        skip();
    compile(&x, p);
    bool returned = run_guarded(all_sizes, &sweep, &at);
    work.watched = false;
    work.given = NULL;
    if (!returned)
        snprintf(x.message, sizeof x.message, "faulted at %p", at);
    if (!returned || !sweep.ok)
        fail_msg("%s, M=%lld N=%lld K=%lld: %s", p->name, (long long)x.m, (long long)x.n, (long long)x.k,
                 x.message);
    discard(&x);
}

/* ---- what is refused at entry ---- */

struct bad_call {
    int64_t m, n, k, lda, ldb, ldc;
    /* offsets in bytes; -1: a null pointer */
    int a, b, c;
    enum uk_status status;
};

static const struct bad_call bad_calls[] = {
    {3, 4, 5, 5, 4, 4, 0, 512, 1024, UK_OK},
    {-1, 4, 5, 5, 4, 4, 0, 512, 1024, UK_INVALID_SIZE},
    {3, -4, 5, 5, 4, 4, 0, 512, 1024, UK_INVALID_SIZE},
    {3, 4, -5, 5, 4, 4, 0, 512, 1024, UK_INVALID_SIZE},
    {INT64_MIN, 4, 5, 5, 4, 4, 0, 512, 1024, UK_INVALID_SIZE},
    {0, 4, INT64_MIN, 5, 4, 4, 0, 512, 1024, UK_INVALID_SIZE},
    {3, 4, 5, 4, 4, 4, 0, 512, 1024, UK_INVALID_SIZE},
    {3, 4, 5, 5, 3, 4, 0, 512, 1024, UK_INVALID_SIZE},
    {3, 4, 5, 5, 4, 3, 0, 512, 1024, UK_INVALID_SIZE},
    {3, 4, 5, -5, 4, 4, 0, 512, 1024, UK_INVALID_SIZE},
    {3, 4, 5, 5, 4, INT64_MIN, 0, 512, 1024, UK_INVALID_SIZE},
    {3, 4, 5, INT64_MAX, 4, 4, 0, 512, 1024, UK_INVALID_SIZE},
    {3, 4, 5, 5, INT64_MAX / 4, 4, 0, 512, 1024, UK_INVALID_SIZE},
    {3, 4, 5, 5, 4, INT64_MAX / 8, 0, 512, 1024, UK_INVALID_SIZE},
    {INT64_MAX, 4, 5, 5, 4, 4, 0, 512, 1024, UK_INVALID_SIZE},
    {3, INT64_MAX, 5, 5, INT64_MAX, INT64_MAX, 0, 512, 1024, UK_INVALID_SIZE},
    {3, 4, INT64_MAX, INT64_MAX, 4, 4, 0, 512, 1024, UK_INVALID_SIZE},
    {3, 4, 5, 5, 4, 4, -1, 512, 1024, UK_INVALID_ARGUMENT},
    {3, 4, 5, 5, 4, 4, 0, -1, 1024, UK_INVALID_ARGUMENT},
    {3, 4, 5, 5, 4, 4, 0, 512, -1, UK_INVALID_ARGUMENT},
    {3, 4, 5, 5, 4, 4, 2, 512, 1024, UK_INVALID_ARGUMENT},
    {3, 4, 5, 5, 4, 4, 0, 512, 1023, UK_INVALID_ARGUMENT},
    {3, 4, 5, 5, 4, 4, 0, 512, 0, UK_OVERLAP},
    {3, 4, 5, 5, 4, 4, 0, 512, 56, UK_OVERLAP}, /* A's last element is C's first */
    {3, 4, 5, 5, 4, 4, 0, 512, 588, UK_OVERLAP},
    {3, 4, 5, 5, 4, 4, 44, 512, 0, UK_OVERLAP}, /* C's last element is A's first */
    {3, 4, 5, 5, 4, 4, 0, 512, 60, UK_OK},      /* C begins where A ends */
    {3, 4, 5, 5, 4, 4, 48, 512, 0, UK_OK},
    {3, 4, 5, 5, 4, 4, 0, 0, 1024, UK_OK}, /* two inputs may be the same */
    {0, 4, 5, 5, 4, 4, -1, 512, -1, UK_OK},
    {3, 0, 5, 5, 0, 0, 0, -1, -1, UK_OK},
    {3, 4, 0, 0, 4, 4, -1, -1, 1024, UK_OK},
    /* a single row: its stride does not matter */
    {1, 4, 5, 0, 4, -4, 0, 512, 1024, UK_OK},
    {0, 4, 5, -7, 4, -7, 1, 512, 3, UK_OK},
};

/* Checks the memory after the call: C must be unchanged unless the status is UK_OK. */
static void check_bad_call(struct compiled *x, const struct bad_call *t, int number) {
    static _Alignas(64) unsigned char memory[2048], before[2048];
    const int at[] = {t->a, t->b, t->c};
    struct operand o[OPERANDS] = {{.stride = t->lda}, {.stride = t->ldb}, {.stride = t->ldc}};

    for (size_t i = 0; i < sizeof memory; i++)
        memory[i] = (unsigned char)(i * 7);
    for (int64_t i = 0; t->c >= 0 && t->status == UK_OK && i < t->m; i++)
        memset(memory + t->c + i * t->ldc * 4, 0, (size_t)t->n * 4);
    memcpy(before, memory, sizeof memory);
    for (int i = 0; i < OPERANDS; i++)
        o[i].at = at[i] < 0 ? NULL : (float *)(void *)(memory + at[i]);
    x->m = t->m;
    x->n = t->n;
    x->k = t->k;
    int status = call(x, o);
    if (status != (int)t->status)
        fail_msg("%s, call %d: status %d, not %d", x->source->name, number, status, t->status);
    for (int64_t i = 0; t->c >= 0 && status == UK_OK && i < t->m; i++)
        memcpy(memory + t->c + i * t->ldc * 4, before + t->c + i * t->ldc * 4, (size_t)t->n * 4);
    if (memcmp(memory, before, sizeof memory))
        fail_msg("%s, call %d: wrote what is not C's", x->source->name, number);
    if (work.taken != work.freed)
        fail_msg("%s, call %d: the workspace is not freed", x->source->name, number);
}

/* If the workspace cannot be allocated, nothing is written. */
static void check_no_memory(struct compiled *x) {
    struct operand o[OPERANDS];

    x->m = x->n = x->k = 33;
    o[A] = place(A, 33, 33, 0, false, a, NAN);
    o[B] = place(B, 33, 33, 0, false, b, NAN);
    o[C] = place(C, 33, 33, 0, false, c, canary);
    work.refused = true;
    int status = call(x, o);
    work.refused = false;
    assert_int_equal(status, work.taken ? UK_OUT_OF_MEMORY : UK_OK);
    for (int i = 0; i < 33 && work.taken; i++)
        assert_memory_equal(o[C].at + i * 33, c[i], 33 * sizeof(float));
}

static void check_entry(void **state) {
    struct compiled x;
    const struct program *p = *state;

    if (!runs_here(p->target))
        skip();
    compile(&x, p);
    for (size_t i = 0; i < sizeof bad_calls / sizeof *bad_calls; i++)
        check_bad_call(&x, &bad_calls[i], (int)i);
    check_no_memory(&x);
    discard(&x);
}

int main(int argc, char **argv) {
    struct CMUnitTest *tests = calloc(2 * (size_t)size_program_count, sizeof *tests);
    size_t count = 0;

    /* Several threads, whatever this machine has. */
    if (!tests || setenv("UK_NUM_THREADS", "2", 0) || !arena_make(&work.arena, 8 << 20))
        return 1;
    for (int i = 0; i < OPERANDS; i++)
        if (!arena_make(&arena[i], (MAX * (MAX + PADDING) + FRONT) * sizeof(float)))
            return 1;
    make_data();
    for (int i = 0; i < size_program_count; i++) {
        const struct program *p = &size_programs[i];

        tests[count++] =
            (struct CMUnitTest){.name = p->name, .test_func = check_program, .initial_state = (void *)p};
        /* These calls assume operands as in C = A B. */
        if (!p->a_transposed && !p->b_transposed)
            tests[count++] =
                (struct CMUnitTest){.name = p->name, .test_func = check_entry, .initial_state = (void *)p};
    }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const int failed = _cmocka_run_group_tests("sizes", tests, count, NULL, NULL);
    free(tests);
    return failed;
}
