/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests matrix products:
 *
 * - every layout, transpose, edge and stride, compared exactly on integers with the plain sum
 * - error bounds on other values
 * - the rules of BLAS about alpha, beta and NaN
 * - guard pages around every operand
 * - threads, packed operands, batches, epilogues, plans
 * - errors, failing allocations, memory kept between calls, fork
 */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <pthreadpool.h>
#include "gemm_shape.h"

/* ---- allocations that fail ---- */

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
static _Thread_local bool allocation_fails;
static _Thread_local int allocations;

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    allocations++;
    return allocation_fails ? NULL : __real_aligned_alloc(alignment, size);
}

static void nothing(void *context, size_t index) {
    (void)context;
    (void)index;
}

/* One pool for all cases, because new threads spin a million pauses while they wait for their first task. */
static pthreadpool_t callers_pool(void) {
    static pthreadpool_t pool;

    if (!pool) {
        pool = pthreadpool_create(4);
        assert_non_null(pool);
        pthreadpool_parallelize_1d(pool, nothing, NULL, 4, PTHREADPOOL_FLAG_YIELD_WORKERS);
    }
    return pool;
}

/* The functions are the same text for each element type. */
#define ELEMENT float
#define F(name) s##name
#define EPSILON FLT_EPSILON
#define SGEMM uk_sgemm
#define UK(name) uk_s##name
#include "gemm_data.h"
#include "gemm_cases.h"
#include "gemm_plan_cases.h"
#undef ELEMENT
#undef F
#undef EPSILON
#undef SGEMM
#undef UK
#define ELEMENT double
#define F(name) d##name
#define EPSILON DBL_EPSILON
#define SGEMM uk_dgemm
#define UK(name) uk_d##name
#include "gemm_data.h"
#include "gemm_cases.h"
#include "gemm_plan_cases.h"

/* ---- the lists of cases ---- */

static int64_t part_of(int64_t cases) {
    return (cases - 1) / part() + 1;
}

static const int64_t sizes[] = {0,  1,  2,  3,  5,  7,  8,  13, 14, 15, 16,  17,
                                31, 32, 33, 47, 48, 49, 63, 64, 65, 97, 130, 257};
enum { SIZES = sizeof sizes / sizeof *sizes };
static const double factors[] = {0, 1, -1, 2};

/* Draws a random case such that each entry of every list occurs. */
static struct shape draw(int64_t i) {
    struct shape s = of_form(i, sizes[next() % SIZES], 0, 0, 0, 1, 0);

    s.n = sizes[next() % SIZES];
    s.k = sizes[next() % SIZES];
    s.pad = next() % 3 ? next() % 5 : 0;
    s.alpha = next() % 2 ? 1 : factors[next() % 4];
    s.beta = factors[next() % 4];
    return s;
}

static void exact_on_integers(void **state) {
    const int64_t count = getenv("UK_GEMM_CASES") ? atoll(getenv("UK_GEMM_CASES")) : part_of(1200);

    (void)state;
    for (int64_t i = 0; i < count; i++) {
        const struct shape s = draw(i);

        scheck(&s, true);
        if (i % 2)
            dcheck(&s, true);
    }
}

static void small_sizes_all(void **state) {
    (void)state;
    for (int64_t i = 0; i < 8 * 20 * 20 * 20; i += 7) {
        const struct shape s = of_form(i, i / 8 % 20, i / 160 % 20, i / 3200, i % 3, 1, (double)(i % 2));

        scheck(&s, true);
        dcheck(&s, true);
    }
}

/* Products larger than all blocks, with several blocks in each of m, n, k. */
static void large(void **state) {
    int64_t shape[][3] = {{600, 700, 900},    {70, 1500, 1300}, {1500, 70, 1300},  {6, 2000, 1100},
                          {2000, 6, 1100},    {513, 1024, 512}, {256, 1024, 2048}, {1, 3000, 2000},
                          {3000, 1, 2000},    {33, 1000, 77},   {64, 64, 4096},    {1500, 1500, 4},
                          {1024, 1024, 1024}, {16, 1003, 300}};

    (void)state;
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        shrink(shape[i], 100);
        for (int form = 0; form < 8; form++) {
            const struct shape s = of_form(form, shape[i][0], shape[i][1], shape[i][2], form % 3,
                                           form == 5 ? 2 : 1, form % 4 == 3 ? -1 : form % 2);

            scheck_sampled(&s);
            if (form < 4)
                dcheck_sampled(&s);
        }
    }
}

/* Few steps of k for a C larger than the last-level cache, and one within it; with one thread these are small
 * products. Compares all elements. */
static void updates_of_large_c(void **state) {
    int64_t shape[][3] = {{1003, 4999, 9}, {2001, 1500, 17}, {5, 900001, 3}};

    (void)state;
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        shrink(shape[i], 100);
        for (int form = 0; form < 4; form++) {
            const struct shape s = of_form(form & 3, shape[i][form & 1], shape[i][!(form & 1)], shape[i][2],
                                           form % 3, 1, form - 1);

            scheck(&s, true);
            if (form == 0 || form == 2)
                dcheck(&s, true);
        }
    }
}

static void bounds_on_fractions(void **state) {
    (void)state;
    for (int64_t i = 0; i < part_of(200); i++) {
        struct shape s = draw(i);

        s.alpha = fraction();
        s.beta = fraction();
        scheck(&s, false);
        dcheck(&s, false);
    }
}

static void nan_is_overwritten(void **state) {
    (void)state;
    snan_rules();
    dnan_rules();
}

static void nothing_outside_is_touched(void **state) {
    (void)state;
    for (int64_t i = 0; i < part_of(400); i++) {
        const struct shape s = draw(i);

        sguarded(&s);
        if (i % 2)
            dguarded(&s);
    }
    /* A few rows of a B beyond most L2s, longer than a call of their kernel takes. */
    for (int form = 0; form < 8; form++) {
        const struct shape s = of_form(form, 2 + 2 * form, 2117, 301, 1 + form % 2, form % 3, form % 5);

        sguarded(&s);
        dguarded(&s);
    }
    /* C is transposed, or only scaled. */
    for (int form = 0; form < 16; form++) {
        const struct shape s =
            of_form(form, form & 8 ? 1003 : 16, form & 8 ? 16 : 1003, 300, form % 3, 0, form % 5 - 1);

        sguarded(&s);
        dguarded(&s);
    }
}

/* The smallest sizes may each have code of their own. */
static void nothing_outside_the_smallest(void **state) {
    enum { MOST = 9 };

    (void)state;
    for (int64_t i = 0; i < MOST * MOST * MOST; i += part()) {
        const int64_t m = 1 + i % MOST, n = 1 + i / MOST % MOST, k = 1 + i / MOST / MOST;

        for (int form = 0; form < 4; form++) {
            const struct shape s =
                of_form((m + n + k) % 2, m, n, k, form & 1 ? (m + n + k) % 5 : 0, 1, form / 2);

            sguarded(&s);
            dguarded(&s);
        }
    }
}

/*
 * Special cases among the shapes:
 *
 * - 1500 x 1028 x 100: the first rows pack B and the last columns are few, for both types with AVX2 and
 *   AVX-512
 * - 16 x 1003 x 300: C is transposed if B is stored by columns
 * - 80 columns: 16 of them could be summed in another order
 * - next, inner products whose rows and columns are contiguous, or with one operand transposed
 * - the last: A's rows collide in L1 sets and are packed, fewer per panel than a tile has
 */
static void same_bits(void **state) {
    int64_t shape[][3] = {{300, 310, 320},  {14, 33, 77},     {1, 5000, 700},   {5000, 1, 700},
                          {6, 1000, 1000},  {1000, 6, 1000},  {64, 64, 4096},   {129, 1100, 1200},
                          {1100, 129, 900}, {1, 1, 5000},     {31, 31, 31},     {512, 512, 512},
                          {97, 17, 1030},   {700, 1500, 4},   {1024, 80, 2048}, {1500, 1028, 100},
                          {28, 1031, 700},  {33, 1100, 1031}, {16, 1003, 300},  {1, 80, 20000},
                          {5, 700, 1500},   {900, 6, 3000},   {9, 11, 5000},    {700, 5, 1500},
                          {4, 300, 2000},   {1, 128, 700},    {1, 1024, 900},   {512, 1, 1100},
                          {100, 4096, 512}, {13, 600, 1100},  {20, 1100, 1024}};

    (void)state;
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        shrink(shape[i], 200);
        for (int form = 0; form < 8; form++) {
            const struct shape s = of_form(form, shape[i][0], shape[i][1], shape[i][2], form % 2 ? 3 : 0,
                                           form == 3 ? 1.5 : 1, form == 4 ? 0.5 : form % 2);

            sidentical(&s);
            if (form % 3 == 0)
                didentical(&s);
        }
    }
}

/* One to eight columns beyond whole vectors, with as many rows or up to 15 more; k is transposed in
 * pieces. */
static void few_last_columns(void **state) {
    (void)state;
    for (int64_t i = 0; i < part_of(400); i++) {
        const int64_t n = 16 * (1 + i % 4) + 1 + i / 4 % 8, m = n + i % 16, k = n + i % 9;
        const bool rows = i % 3;
        /* Transposes A if row-major, else B. */
        const int transposed = i % 7 < 3 ? (rows ? 2 : 4) : 0;
        const struct shape s =
            of_form(!rows + transposed, rows ? m : n, rows ? n : m, k, i % 5, 1, (double)(i / 2 % 2));

        scheck(&s, true);
        sguarded(&s);
        sidentical(&s);
        dcheck(&s, true);
        dguarded(&s);
        didentical(&s);
    }
}

/* Products that the small path takes directly, and that plans compute in other ways; vectors with at most 256
 * multiply-adds. */
static void same_bits_of_small(void **state) {
    static const int64_t vector[][3] = {{1, 1, 111}, {12, 1, 10}, {1, 12, 10},
                                        {3, 1, 60},  {1, 4, 60},  {1, 7, 40}};

    (void)state;
    for (int form = 0; form < 8; form++)
        for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
            const struct shape s = of_form(form, vector[i][0], vector[i][1], vector[i][2], i % 2 ? 3 : 0, 1,
                                           (double)(i % 3 / 2));

            sidentical(&s);
            didentical(&s);
        }
    for (int64_t i = 0; i < part_of(160); i++) {
        struct shape s = draw(i);

        s.alpha = 1;
        sidentical(&s);
        if (i % 2)
            didentical(&s);
    }
}

static void epilogues(void **state) {
    (void)state;
    sepilogue_flags();
    depilogue_flags();
    for (int64_t i = 0; i < part_of(300); i++) {
        struct shape s = draw(i);

        s.m = larger(s.m, 1);
        s.n = larger(s.n, 1);
        sepilogue(&s, i);
        depilogue(&s, i);
        if (i % 3 == 1) { /* this epilogue scales by 0 */
            sepilogue(&s, i + 1);
            depilogue(&s, i + 1);
        }
    }
    /* With several threads: vectors, inner products (on any CPU, with so few rows), tiles by rows and by
     * columns. */
    int64_t shape[][3] = {{1, 3000, 2000}, {3000, 1, 2000}, {3, 700, 5000},
                          {9, 700, 5000},  {600, 700, 300}, {40, 9000, 60}};

    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        shrink(shape[i], 100);
        for (int form = 0; form < 8; form++) {
            const struct shape s =
                of_form(form, shape[i][0], shape[i][1], shape[i][2], form % 3, 1, form % 2);

            /* Both biases, with a scale of 2 or without one. */
            sepilogue(&s, 12 * form + 3);
            sepilogue(&s, 12 * form + 11);
            if (form % 3 == 0)
                depilogue(&s, 12 * form + 11);
        }
    }
    /* C is transposed. */
    for (int i = 0; i < 4; i++) {
        const struct shape s = of_form(i & 1 ? 3 : 4, i & 1 ? 1003 : 16, i & 1 ? 16 : 1003, 300, i, 1, i / 2);

        sepilogue(&s, i);
        depilogue(&s, i);
        if (i % 3 == 1) {
            sepilogue(&s, i + 1);
            depilogue(&s, i + 1);
        }
    }
}

static void batches(void **state) {
    (void)state;
    for (int64_t i = 0; i < part_of(60); i++) {
        struct shape s = draw(i);

        sbatch(&s, i % 5 ? i % 7 : 64);
        dbatch(&s, i % 5 ? i % 7 : 64);
    }
}

static void wrong_arguments(void **state) {
    (void)state;
    swrong();
    dwrong();
    stoo_large();
    dtoo_large();
    swrong_type();
    dwrong_type();
}

static void allocation_failure(void **state) {
    (void)state;
    sno_memory();
    dno_memory();
    sno_memory_for_small();
    dno_memory_for_small();
}

static void plan_by(const struct uk_machine *machine) {
    uk_gemm_look_up(&uk_gemm_f32);
    uk_gemm_f32.machine = uk_gemm_f64.machine = machine;
}

/* Uses this machine's caches, whatever UK_GEMM_PART says. */
static void memory_is_kept(void **state) {
    (void)state;
    plan_by(__real_uk_machine());
    smemory_kept();
    dmemory_kept();
    plan_by(&smaller);
}

/* A product of two vectors, one of which is copied: 80 MB of zeros. */
static void huge_memory_is_not_kept(void **state) {
    const int64_t k = 20 << 20;
    const size_t bytes = (size_t)k * 2 * sizeof(float);
    float *zeros = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), c;

    (void)state;
    assert_ptr_not_equal(zeros, MAP_FAILED);
    uk_release_memory();
    allocations = 0;
    for (int i = 1; i <= 2; i++) {
        c = 7;
        assert_int_equal(
            uk_sgemm(UK_ROW_MAJOR, UK_TRANSPOSE, UK_NO_TRANSPOSE, 1, 1, k, 1, zeros, 2, zeros, 2, 0, &c, 1),
            UK_OK);
        assert_true(c == 0);
        assert_int_equal(allocations, i);
    }
    munmap(zeros, bytes);
}

static void *many_calls(void *argument) {
    uint32_t mine = *(const uint32_t *)argument;
    bool right = true;

    for (int i = 0; i < 12; i++) {
        const int64_t n = 40 + (int64_t)((mine + (uint32_t)i * 37) % 200);

        right = right && sright(n) && dright(n);
    }
    return right ? argument : NULL;
}

static void several_threads_call(void **state) {
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    uint32_t number[THREADS];

    (void)state;
    for (uint32_t i = 0; i < THREADS; i++) {
        number[i] = i;
        assert_int_equal(pthread_create(&thread[i], NULL, many_calls, &number[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *result;

        pthread_join(thread[i], &result);
        assert_non_null(result);
    }
}

static void works_after_fork(void **state) {
    int status = 0;

    (void)state;
    SKIP_UNDER_QEMU("qemu-user 7.2 cannot start threads in the child of a process with threads");
    assert_true(sright(300)); /* creates the pool */
    const pid_t child = fork();
    if (!child)
        _exit(sright(300) && dright(200) ? 0 : 1);
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
    assert_true(sright(300));
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_on_integers),
        cmocka_unit_test(small_sizes_all),
        cmocka_unit_test(large),
        cmocka_unit_test(updates_of_large_c),
        cmocka_unit_test(bounds_on_fractions),
        cmocka_unit_test(nan_is_overwritten),
        cmocka_unit_test(nothing_outside_is_touched),
        cmocka_unit_test(nothing_outside_the_smallest),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(few_last_columns),
        cmocka_unit_test(same_bits_of_small),
        cmocka_unit_test(epilogues),
        cmocka_unit_test(batches),
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(allocation_failure),
        cmocka_unit_test(memory_is_kept),
        cmocka_unit_test(huge_memory_is_not_kept),
        cmocka_unit_test(several_threads_call),
        cmocka_unit_test(works_after_fork),
    };

    begin_seed();
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    if (argc > 2)
        cmocka_set_skip_filter(argv[2]);
    setenv("UK_NUM_THREADS", "2", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
