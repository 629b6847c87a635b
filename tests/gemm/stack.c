/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the stack that calls take: at most 16 KB on every path, on the caller's thread and on the pool's.
 * Calls run on a thread whose stack is filled with a pattern before each. The shapes must reach all paths
 * listed below, as uk_gemm_explain names them. The argument "far" simulates a machine with a distant
 * last-level cache, which has other paths. UK_ISA and UK_NUM_THREADS apply.
 */
#define _GNU_SOURCE
#include <cblas.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>
#include "gemm/gemm.h"
#include "random.h"

enum { MOST = 16 << 10, STACK = 256 << 10, NEAR = 512, PAINT = 0xa5 };

/* ---- caches ---- */

const struct uk_machine *__real_uk_machine(void);
const struct uk_machine *__wrap_uk_machine(void);
static bool is_far;
static struct uk_machine far;

const struct uk_machine *__wrap_uk_machine(void) {
    return is_far ? &far : __real_uk_machine();
}

/* ---- filled stacks ---- */

static unsigned char *new_stack(void) {
    unsigned char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(stack, MAP_FAILED);
    memset(stack, PAINT, STACK);
    return stack;
}

/* Bytes below `from` that no longer hold the pattern; fewer than NEAR are not detected. */
static size_t used(const unsigned char *stack, const unsigned char *from) {
    const unsigned char *p = stack;

    while (p < from - NEAR && *p == PAINT)
        p++;
    return (size_t)(from - p);
}

struct measured {
    void (*call)(void);
    unsigned char *stack;
    size_t bytes;
};

__attribute__((noinline)) static size_t measure(unsigned char *stack, void (*call)(void)) {
    unsigned char *here = __builtin_frame_address(0);

    memset(stack, PAINT, (size_t)(here - stack) - NEAR);
    call();
    return used(stack, here);
}

/* A thread of the pool, from its first instruction. */
struct worker {
    void *(*start)(void *argument);
    void *argument;
    unsigned char *stack, *top;
};

enum { WORKERS_MOST = 64 };
static struct worker worker[WORKERS_MOST];
static atomic_int workers;
static bool are_painted; /* fill the stacks of threads that start now */

typedef int create_function(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                            void *argument);

static void *work(void *argument) {
    struct worker *w = argument;

    w->top = __builtin_frame_address(0);
    return w->start(w->argument);
}

/* Replaces the system's function, for libpthreadpool too. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument) {
    create_function *const create = (create_function *)dlsym(RTLD_NEXT, "pthread_create");
    pthread_attr_t painted;
    const int i = are_painted ? atomic_fetch_add(&workers, 1) : WORKERS_MOST;

    if (i >= WORKERS_MOST)
        return create(thread, attributes, start, argument);
    worker[i] = (struct worker){start, argument, new_stack(), NULL};
    pthread_attr_init(&painted);
    pthread_attr_setstack(&painted, worker[i].stack, STACK);
    return create(thread, &painted, work, &worker[i]);
}

/* ---- calls ---- */

struct shape {
    enum uk_layout layout;
    enum uk_transpose ta, tb;
    int64_t m, n, k, pad;
    int alpha, beta;
    bool is_double;
};

static struct shape shape;
static void *a, *b, *c, *workspace, *packed_a, *packed_b;
static void *pointers_a[3], *pointers_b[3], *pointers_c[3];
static struct uk_gemm_options options;
static bool has_epilogue;
static enum uk_status status;
static char text[2000];

static int64_t leading(bool by_rows, int64_t rows, int64_t columns) {
    const int64_t length = by_rows ? columns : rows;

    return (length > 1 ? length : 1) + shape.pad;
}

static int64_t lda(void) {
    return leading((shape.layout == UK_ROW_MAJOR) == (shape.ta == UK_NO_TRANSPOSE), shape.m, shape.k);
}

static int64_t ldb(void) {
    return leading((shape.layout == UK_ROW_MAJOR) == (shape.tb == UK_NO_TRANSPOSE), shape.k, shape.n);
}

static int64_t ldc(void) {
    return leading(shape.layout == UK_ROW_MAJOR, shape.m, shape.n);
}

#define SHAPE shape.layout, shape.ta, shape.tb, shape.m, shape.n, shape.k

static void call_gemm(void) {
    status = shape.is_double
                 ? uk_dgemm(SHAPE, shape.alpha, a, lda(), b, ldb(), shape.beta, c, ldc())
                 : uk_sgemm(SHAPE, (float)shape.alpha, a, lda(), b, ldb(), (float)shape.beta, c, ldc());
}

static void call_batch(void) {
    for (int i = 0; i < 3; i++) {
        pointers_a[i] = a;
        pointers_b[i] = b;
        pointers_c[i] = (char *)c + i * (16 << 20);
    }
    if (shape.is_double)
        status = uk_dgemm_batch(SHAPE, shape.alpha, (const double *const *)pointers_a, lda(),
                                (const double *const *)pointers_b, ldb(), shape.beta,
                                (double *const *)pointers_c, ldc(), 3);
    else
        status = uk_sgemm_batch(SHAPE, (float)shape.alpha, (const float *const *)pointers_a, lda(),
                                (const float *const *)pointers_b, ldb(), (float)shape.beta,
                                (float *const *)pointers_c, ldc(), 3);
}

static void call_batch_strided(void) {
    const int64_t on = (16 << 20) / 8;

    if (shape.is_double)
        status =
            uk_dgemm_batch_strided(SHAPE, shape.alpha, a, lda(), 0, b, ldb(), 0, shape.beta, c, ldc(), on, 3);
    else
        status = uk_sgemm_batch_strided(SHAPE, (float)shape.alpha, a, lda(), 0, b, ldb(), 0,
                                        (float)shape.beta, c, ldc(), on, 3);
}

/* Makes a plan with `options`; packs, runs and explains it. */
static void call_plan(void) {
    struct uk_gemm_plan plan;
    const unsigned flags = UK_EPILOGUE_SCALE | UK_EPILOGUE_CLAMP;
    const struct uk_sgemm_epilogue es = {flags, 2, 0, INFINITY, NULL, NULL, NULL};
    const struct uk_dgemm_epilogue ed = {flags, 2, 0, INFINITY, NULL, NULL};

    status = shape.is_double ? uk_dgemm_plan(&plan, SHAPE, lda(), ldb(), ldc(), &options)
                             : uk_sgemm_plan(&plan, SHAPE, lda(), ldb(), ldc(), &options);
    if (status)
        return;
    uk_gemm_explain(&plan, text, sizeof text);
    const void *x = options.a_packed ? packed_a : a, *y = options.b_packed ? packed_b : b;
    void *work = options.threads ? workspace : NULL;

    if (shape.is_double) {
        if (options.a_packed)
            status |= uk_dgemm_pack_a(&plan, a, packed_a);
        if (options.b_packed)
            status |= uk_dgemm_pack_b(&plan, b, packed_b);
        status |= uk_dgemm_run(&plan, shape.alpha, x, y, shape.beta, c, has_epilogue ? &ed : NULL, work);
    } else {
        if (options.a_packed)
            status |= uk_sgemm_pack_a(&plan, a, packed_a);
        if (options.b_packed)
            status |= uk_sgemm_pack_b(&plan, b, packed_b);
        status |= uk_sgemm_run(&plan, (float)shape.alpha, x, y, (float)shape.beta, c,
                               has_epilogue ? &es : NULL, work);
    }
}

/* Products of low precision of the same shape. */
static void call_low(void) {
    const struct uk_gemm_options bytes = {.c_element = UK_C_U8}, sums = {.f16_sums = true};
    const struct uk_igemm_epilogue e = {
        .flags = UK_EPILOGUE_SCALE, .scale = 0.5f, .a_zero = 3, .b_zero = -2, .c_zero = 5};
    const float alpha = (float)shape.alpha, beta = (float)shape.beta;
    struct uk_gemm_plan plan;

    status = uk_igemm(SHAPE, a, lda(), b, ldb(), shape.beta, c, ldc());
    status |= uk_bgemm(SHAPE, alpha, a, lda(), b, ldb(), beta, c, ldc());
    status |= uk_hgemm(SHAPE, alpha, a, lda(), b, ldb(), beta, c, ldc());
    if (status || (status = uk_igemm_plan(&plan, SHAPE, lda(), ldb(), ldc(), &bytes)))
        return;
    status = uk_igemm_run(&plan, a, b, 0, c, &e, NULL);
    if (status || (status = uk_hgemm_plan(&plan, SHAPE, lda(), ldb(), ldc(), &sums)))
        return;
    status = uk_hgemm_run(&plan, alpha, a, b, beta, c, NULL, NULL);
}

static void call_cblas(void) {
    const CBLAS_LAYOUT layout = shape.layout == UK_ROW_MAJOR ? CblasRowMajor : CblasColMajor;
    const CBLAS_TRANSPOSE ta = shape.ta ? CblasTrans : CblasNoTrans,
                          tb = shape.tb ? CblasTrans : CblasNoTrans;
    const int m = (int)shape.m, n = (int)shape.n, k = (int)shape.k;

    status = UK_OK;
    if (shape.is_double)
        cblas_dgemm(layout, ta, tb, m, n, k, shape.alpha, a, (int)lda(), b, (int)ldb(), shape.beta, c,
                    (int)ldc());
    else
        cblas_sgemm(layout, ta, tb, m, n, k, (float)shape.alpha, a, (int)lda(), b, (int)ldb(),
                    (float)shape.beta, c, (int)ldc());
}

/* ---- the error path of the BLAS ---- */

static int illegal;

void xerbla_(const char *routine, const int32_t *argument, size_t length);
void xerbla_(const char *routine, const int32_t *argument, size_t length) {
    (void)routine;
    (void)length;
    illegal = *argument;
}

#undef sgemm_
void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *, const float *,
            const int *, const float *, const int *, const float *, float *, const int *);

static void call_illegal(void) {
    const int two = 2, minus = -1;
    const float one = 1;

    sgemm_("N", "N", &two, &two, &minus, &one, a, &two, b, &two, &one, c, &two);
}

/* ---- the paths ---- */

static const struct path {
    const char *part;                       /* text that uk_gemm_explain prints */
    bool far_only, vectors_only, wide_only; /* wide_only: needs vectors of 64 bytes */
} paths[] = {
    {"path: tiles", false, false, false},
    {"C is scaled", false, false, false},
    {"by inner products along", false, false, false},
    {"by sums of contiguous", false, false, false},
    {"A: read in place", false, true, false},
    {"A: packed in panels", false, false, false},
    {"B: read in place", false, true, false},
    {"B: packed in panels", false, false, false},
    {"packed beforehand", false, false, false},
    {"which packs B", true, true, false},
    {"last columns", true, true, false},
    {"transposed on the way to C", true, true, false},
    {"path: small, all rows in one call, A read in place, B read in place", false, true, false},
    {"path: small, all rows in one call, A read in place, B transposed first", false, true, false},
    {"path: small, along rows of C", true, true, false},
    {"inner products of rows of A and columns of B", false, true, false},
    {"B transposed first\nkernel", true, true, false},
    {"all rows at once, B in the order of memory", false, true, false},
};
enum { PATHS = sizeof paths / sizeof *paths };
static int seen[PATHS];

static void look(void) {
    for (int i = 0; i < PATHS; i++)
        seen[i] += strstr(text, paths[i].part) != NULL;
}

static uint64_t seed = 1;

static int64_t next(int64_t n) {
    return (int64_t)(random_next(&seed) >> 1) % n;
}

/* Draws sizes that reach all paths, in all forms, then random ones. */
static struct shape draw(int64_t i) {
    static const int64_t sizes[][3] = {
        {1, 1, 1},      {3, 5, 0},      {8, 8, 8},       {17, 33, 20},    {33, 65, 97},    {9, 100, 30},
        {64, 64, 64},   {1, 40, 9},     {40, 1, 9},      {1, 3000, 300},  {3000, 1, 300},  {1, 900, 3000},
        {900, 1, 3000}, {1, 9000, 40},  {9000, 1, 40},   {6, 800, 700},   {800, 6, 700},   {70, 300, 130},
        {300, 70, 130}, {97, 90, 600},  {300, 310, 320}, {16, 1003, 300}, {1003, 16, 300}, {5, 700, 1500},
        {900, 6, 1500}, {40, 256, 100}, {33, 512, 64},   {20, 20, 255},   {32, 32, 255},   {100, 128, 128},
        {500, 700, 12}, {700, 500, 20}, {12, 12, 300},   {8, 300, 2000},  {256, 384, 128}, {200, 600, 1024},
    };
    enum { SIZES = sizeof sizes / sizeof *sizes };
    const int64_t form = i / SIZES;
    const int64_t *size = sizes[i % SIZES];
    const bool is_listed = form < 16;

    return (struct shape){
        .layout = form & 1 ? UK_COLUMN_MAJOR : UK_ROW_MAJOR,
        .ta = form & 2 ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
        .tb = form & 4 ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
        .m = is_listed ? size[0] : 1 + next(400),
        .n = is_listed ? size[1] : 1 + next(400),
        .k = is_listed ? size[2] : 1 + next(400),
        .pad = i % 4 == 3 ? next(5) : 0,
        .alpha = is_listed && i % 3 ? 1 : 2,
        .beta = (int)(i % 5 % 3),
        .is_double = form & 8,
    };
}

struct call {
    const char *name;
    void (*function)(void);
};

static struct {
    size_t bytes;
    const char *name;
    struct shape shape;
} worst;

static void check(unsigned char *stack, const char *name, void (*call)(void)) {
    status = UK_INTERNAL;
    text[0] = 0;
    const size_t bytes = measure(stack, call);

    if (status)
        worst.name = "a call fails";
    if (bytes > worst.bytes && !status) {
        worst.bytes = bytes;
        worst.name = name;
        worst.shape = shape;
    }
    look();
}

enum { CASES = 36 * 24 };

static void *all_calls(void *stack) {
    are_painted = true;
    shape = draw(30);
    check(stack, "the first call", call_gemm);
    measure(stack, call_illegal);
    for (int64_t i = 0; i < CASES; i++) {
        shape = draw(i);
        check(stack, "gemm", call_gemm);
        check(stack, "cblas_gemm", call_cblas);
        if (i % 4 == 0 && shape.m * shape.n <= 1 << 16 && shape.k <= 1 << 11)
            check(stack, "low precision", call_low);
        if (shape.m * shape.n <= 1 << 18) {
            check(stack, "gemm_batch", call_batch);
            check(stack, "gemm_batch_strided", call_batch_strided);
        }
        for (int j = 0; j < 5; j++) {
            options =
                (struct uk_gemm_options){.threads = j & 1, .a_packed = j & 2 && i & 1, .b_packed = j & 2};
            has_epilogue = j == 4;
            check(stack, "plan", call_plan);
        }
    }
    are_painted = false;
    return NULL;
}

static void print_worst(void) {
    print_message("%s: %zu bytes; %s layout %d ta %d tb %d m %lld n %lld k %lld pad %lld alpha %d beta %d\n",
                  worst.name, worst.bytes, worst.shape.is_double ? "f64" : "f32", worst.shape.layout,
                  worst.shape.ta, worst.shape.tb, (long long)worst.shape.m, (long long)worst.shape.n,
                  (long long)worst.shape.k, (long long)worst.shape.pad, worst.shape.alpha, worst.shape.beta);
}

static void *huge(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

static void all_calls_take_little_stack(void **state) {
    pthread_t thread;
    pthread_attr_t attributes;
    unsigned char *stack = new_stack();

    (void)state;
    a = huge(64 << 20);
    b = huge(64 << 20);
    c = huge(64 << 20);
    workspace = huge(64 << 20);
    packed_a = huge(64 << 20);
    packed_b = huge(64 << 20);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, STACK);
    assert_int_equal(pthread_create(&thread, &attributes, all_calls, stack), 0);
    pthread_join(thread, NULL);
    print_worst();
    assert_int_equal(illegal, 5);
    assert_true(worst.bytes > NEAR);
    assert_true(worst.bytes <= MOST);
    size_t most = 0;
    for (int i = 0; i < WORKERS_MOST && worker[i].top; i++) {
        const size_t bytes = used(worker[i].stack, worker[i].top);

        most = bytes > most ? bytes : most;
    }
    print_message("threads of the pool: %zu bytes\n", most);
    assert_true(most > NEAR * 4); /* tasks ran on these threads */
    assert_true(most <= MOST);
}

static void all_paths_are_reached(void **state) {
    const bool has_vectors = uk_cpu_has("avx2"), is_wide = uk_cpu_has("avx512f");

    (void)state;
#ifndef __x86_64__
    skip(); /* paths depend on the architecture */
#endif
    for (int i = 0; i < PATHS; i++) {
        const struct path *p = &paths[i];

        print_message("%6d %s\n", seen[i], p->part);
        if ((!p->far_only || is_far) && (!p->vectors_only || has_vectors) && (!p->wide_only || is_wide))
            assert_true(seen[i] > 0);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_calls_take_little_stack),
        cmocka_unit_test(all_paths_are_reached),
    };

    is_far = argc > 1 && !strcmp(argv[1], "far");
    far = uk_machine_of(uk_core_find("golden_cove"));
    far.cache[UK_LLC].size = 256 << 20; /* as reported by virtual machines */
    setenv("UK_NUM_THREADS", "2", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
