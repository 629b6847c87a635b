/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of gemm.c for one element type: plans, epilogues, batches, errors, memory. Included after
 * gemm_cases.h. */

/* ---- plans: threads, packing, workspace ---- */

/* Computes C by a plan with these options; the caller frees it. */
static ELEMENT *F(by_plan)(const struct shape *s, const struct F(data) * d, struct uk_gemm_options o) {
    struct uk_gemm_plan plan;
    const size_t bytes = (size_t)d->c.elements * sizeof(ELEMENT);
    ELEMENT *c = F(memory)(bytes), *a = NULL, *b = NULL;

    assert_int_equal(
        UK(gemm_plan)(&plan, s->layout, s->ta, s->tb, s->m, s->n, s->k, d->a.ld, d->b.ld, d->c.ld, &o),
        UK_OK);
    if (o.a_packed) {
        a = F(memory)(uk_gemm_packed_a_size(&plan));
        assert_int_equal(UK(gemm_pack_a)(&plan, d->pa, a), UK_OK);
    }
    if (o.b_packed) {
        b = F(memory)(uk_gemm_packed_b_size(&plan));
        assert_int_equal(UK(gemm_pack_b)(&plan, d->pb, b), UK_OK);
    }
    ELEMENT *workspace = F(memory)(uk_gemm_workspace(&plan));
    memcpy(c, d->pc, bytes);
    memset(workspace, 0xff, uk_gemm_workspace(&plan));
    allocations = 0;
    assert_int_equal(UK(gemm_run)(&plan, (ELEMENT)s->alpha, a ? a : d->pa, b ? b : d->pb, (ELEMENT)s->beta, c,
                                  NULL, workspace),
                     UK_OK);
    assert_int_equal(allocations, 0);
    free(a);
    free(b);
    free(workspace);
    return c;
}

/* Compares some elements of C with their definition. */
static void F(near_definition)(const struct shape *s, const struct F(data) * d, const ELEMENT *c) {
    const int samples = part() > 1 ? 8 : 60;

    for (int sample = 0; sample < samples && s->m && s->n; sample++) {
        const int64_t i = sample < 4 ? (sample & 1) * (s->m - 1) : next() % s->m;
        const int64_t j = sample < 4 ? (sample >> 1) * (s->n - 1) : next() % s->n;
        const double x = (double)c[at(&d->c, i, j)], expected = F(element_of)(s, d, i, j);
        double size = fabs(s->beta * (double)d->pc[at(&d->c, i, j)]);

        for (int64_t p = 0; p < s->k; p++)
            size += fabs(s->alpha * (double)d->pa[at(&d->a, i, p)] * (double)d->pb[at(&d->b, p, j)]);
        if (!(fabs(x - expected) <= ((double)s->k + 4) * EPSILON * size)) {
            F(describe)(s);
            fail_msg("element %lld, %lld is %.9g, not %.9g", (long long)i, (long long)j, x, expected);
        }
    }
}

/* Checks that the bits are the same with any number of threads, packed or not, and that the values are
 * right. */
static void F(identical)(const struct shape *s) {
    struct F(data) d;
    pthreadpool_t pool = callers_pool();
    const struct uk_gemm_options options[] = {
        {.threads = 2},
        {0},
        {.pool = pool},
        {.pool = pool, .threads = 3},
        {.a_packed = true},
        {.b_packed = true},
        {.pool = pool, .a_packed = true, .b_packed = true},
    };

    F(make)(s, &d, false);
    const size_t bytes = (size_t)d.c.elements * sizeof(ELEMENT);
    ELEMENT *one = F(by_plan)(s, &d, (struct uk_gemm_options){.threads = 1});

    F(near_definition)(s, &d, one);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        ELEMENT *c = F(by_plan)(s, &d, options[i]);

        if (memcmp(one, c, bytes)) {
            F(describe)(s);
            fail_msg("options %zu give other bits", i);
        }
        free(c);
    }
    assert_int_equal(F(call)(s, &d), UK_OK);
    assert_memory_equal(d.pc, one, bytes);
    free(one);
    F(unmake)(&d);
}

/* ---- epilogues ---- */

/* Checks the i-th epilogue. Every 60th is all zeros, which must change nothing; every third scales by 0,
 * after which nothing of A, B and C may remain. */
static void F(epilogue)(const struct shape *s, int64_t i) {
    struct F(data) d;
    struct uk_gemm_plan plan;
    ELEMENT *rows = malloc((size_t)s->m * sizeof *rows), *columns = malloc((size_t)s->n * sizeof *columns);
    static const double bounds[][2] = {{0, 0}, {0, INFINITY}, {-INFINITY, INFINITY}, {0, 6}, {0, 0}};
    const bool scales = i % 3, clamps = i / 3 % 5;
    const struct UK(gemm_epilogue) e = {
        .flags = (scales ? UK_EPILOGUE_SCALE : 0) | (clamps ? UK_EPILOGUE_CLAMP : 0),
        .scale = i % 3 == 2 ? 2 : 0,
        .low = (ELEMENT)bounds[i / 3 % 5][0],
        .high = (ELEMENT)bounds[i / 3 % 5][1],
        .row_bias = i % 4 & 1 ? rows : NULL,
        .column_bias = i % 4 & 2 ? columns : NULL,
    };

    assert_true(rows && columns);
    F(fill)(rows, s->m, true);
    F(fill)(columns, s->n, true);
    F(make)(s, &d, true);
    F(expect)(s, &d);
    for (int64_t r = 0; r < s->m; r++)
        for (int64_t c = 0; c < s->n; c++) {
            ELEMENT *x = &d.expected[at(&d.c, r, c)];

            *x = (scales ? e.scale : 1) * *x + (e.row_bias ? rows[r] : 0) + (e.column_bias ? columns[c] : 0);
            if (clamps)
                *x = *x < e.low ? e.low : *x > e.high ? e.high : *x;
        }
    if (i % 3 == 1 && s->k)
        d.pa[at(&d.a, s->m - 1, s->k - 1)] = d.pb[at(&d.b, 0, s->n - 1)] = (ELEMENT)NAN;
    if (i % 3 == 1)
        d.pc[at(&d.c, 0, 0)] = (ELEMENT)NAN;
    assert_int_equal(
        UK(gemm_plan)(&plan, s->layout, s->ta, s->tb, s->m, s->n, s->k, d.a.ld, d.b.ld, d.c.ld, NULL), UK_OK);
    assert_int_equal(UK(gemm_run)(&plan, (ELEMENT)s->alpha, d.pa, d.pb, (ELEMENT)s->beta, d.pc, &e, NULL),
                     UK_OK);
    F(compare)(s, &d, true);
    F(unmake)(&d);
    free(rows);
    free(columns);
}

/* Values without their flag and undefined flags are refused; a clamp keeps NaN. */
static void F(epilogue_flags)(void) {
    static const struct UK(gemm_epilogue) wrong[] = {{.flags = 4},
                                                     {.flags = ~0u},
                                                     {.scale = 1},
                                                     {.high = 1},
                                                     {.flags = UK_EPILOGUE_SCALE, .low = -1},
                                                     {.flags = UK_EPILOGUE_CLAMP, .scale = 2}};
    const struct UK(gemm_epilogue) zero = {.flags = UK_EPILOGUE_CLAMP};
    const ELEMENT a[4] = {1, 2, 3, (ELEMENT)NAN};
    struct uk_gemm_plan plan;

    assert_int_equal(
        UK(gemm_plan)(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 2, 2, 2, 2, 2, 2, NULL), UK_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ELEMENT c[4] = {5, 5, 5, 5};

        assert_int_equal(UK(gemm_run)(&plan, 1, a, a, 0, c, &wrong[i], NULL), UK_INVALID_ARGUMENT);
        assert_true(c[0] == 5 && c[3] == 5);
    }
    ELEMENT c[4] = {5, 5, 5, 5};

    assert_int_equal(UK(gemm_run)(&plan, 1, a, a, 0, c, &zero, NULL), UK_OK);
    assert_true(c[0] == 0 && isnan(c[1]) && isnan(c[2]) && isnan(c[3]));
}

/* ---- batches ---- */

static void F(batch)(const struct shape *s, int64_t count) {
    struct F(data) d[64];
    const ELEMENT *a[64], *b[64];
    ELEMENT *c[64], *expected = NULL;

    for (int64_t i = 0; i < count; i++) {
        F(make)(s, &d[i], true);
        F(expect)(s, &d[i]);
        a[i] = d[i].pa;
        b[i] = d[i].pb;
        c[i] = d[i].pc;
    }
    const struct operand oa = operand(s, s->ta == UK_TRANSPOSE, s->m, s->k),
                         ob = operand(s, s->tb == UK_TRANSPOSE, s->k, s->n),
                         oc = operand(s, false, s->m, s->n);
    assert_int_equal(UK(gemm_batch)(s->layout, s->ta, s->tb, s->m, s->n, s->k, (ELEMENT)s->alpha, a, oa.ld, b,
                                    ob.ld, (ELEMENT)s->beta, c, oc.ld, count),
                     UK_OK);
    for (int64_t i = 0; i < count; i++)
        F(compare)(s, &d[i], true);
    if (count) { /* by strides, with one B for all */
        const int64_t step = oc.elements + 3;
        ELEMENT *all_a = F(memory)((size_t)(count * (oa.elements + 1)) * sizeof(ELEMENT));
        ELEMENT *all_c = F(memory)((size_t)(count * step) * sizeof(ELEMENT));

        expected = F(memory)((size_t)(count * step) * sizeof(ELEMENT));
        F(fill)(all_c, count * step, true);
        memcpy(expected, all_c, (size_t)(count * step) * sizeof(ELEMENT));
        for (int64_t i = 0; i < count; i++) {
            struct F(data) one = d[i];

            memcpy(all_a + i * (oa.elements + 1), d[i].pa, (size_t)oa.elements * sizeof(ELEMENT));
            one.pb = d[0].pb;
            one.pc = all_c + i * step;
            one.expected = expected + i * step;
            F(expect)(s, &one);
        }
        assert_int_equal(UK(gemm_batch_strided)(s->layout, s->ta, s->tb, s->m, s->n, s->k, (ELEMENT)s->alpha,
                                                all_a, oa.ld, oa.elements + 1, d[0].pb, ob.ld, 0,
                                                (ELEMENT)s->beta, all_c, oc.ld, step, count),
                         UK_OK);
        for (int64_t e = 0; e < count * step; e++)
            assert_true(all_c[e] == expected[e]); /* 0 and -0 compare equal */
        free(all_a);
        free(all_c);
    }
    free(expected);
    for (int64_t i = 0; i < count; i++)
        F(unmake)(&d[i]);
}

/* ---- errors ---- */

/* A plan of the other element type is refused. */
static void F(wrong_type)(void) {
    enum { N = 4 };
    ELEMENT a[16] = {0}, c[16];
    struct uk_gemm_plan plan;

#define OTHER(name) (sizeof(ELEMENT) == 4 ? uk_d##name : uk_s##name)
    assert_int_equal(
        OTHER(gemm_plan)(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, N, N, N, N, N, N, NULL),
        UK_OK);
    assert_int_equal(UK(gemm_run)(&plan, 1, a, a, 0, c, NULL, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(UK(gemm_pack_a)(&plan, a, c), UK_INVALID_ARGUMENT);
#undef OTHER
}

struct F(status) {
    enum uk_status status, expected;
};

static void F(are_expected)(const struct F(status) * result, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (result[i].status != result[i].expected)
            fail_msg("call %zu: status %d, not %d", i, result[i].status, result[i].expected);
}

/* Products of 2^31 bytes and more with 32-bit addresses. */
static void F(too_large)(void) {
#if UINTPTR_MAX == UINT32_MAX
    const int64_t narrow =
        (INT64_C(1) << 30) / (int64_t)sizeof(ELEMENT); /* two rows of this length are 2^31 bytes */
    const enum uk_layout R = UK_ROW_MAJOR;
    const enum uk_transpose no = UK_NO_TRANSPOSE;
    ELEMENT a[4] = {0}, b[4] = {0}, c[4];
    struct uk_gemm_plan plan;
    const struct F(status) result[] = {
        {SGEMM(R, no, no, 2, 2, 2, 1, a, narrow, b, 2, 0, c, 2), UK_INVALID_SIZE},
        {SGEMM(R, no, no, 2, 2, 2, 1, a, 2, b, narrow, 0, c, 2), UK_INVALID_SIZE},
        {SGEMM(R, no, no, 2, 2, 2, 1, a, 2, b, 2, 0, c, narrow), UK_INVALID_SIZE},
        {SGEMM(R, no, no, narrow, 2, 2, 1, a, 2, b, 2, 0, c, 2), UK_INVALID_SIZE},
        {SGEMM(R, no, no, 2, 2, (int64_t)4 << 30, 1, a, (int64_t)4 << 30, b, 2, 0, c, 2), UK_INVALID_SIZE},
        {SGEMM(UK_COLUMN_MAJOR, no, no, 2, narrow, 2, 1, a, 2, b, 2, 0, c, 2), UK_INVALID_SIZE},
        {UK(gemm_plan)(&plan, R, no, no, 2, 2, 2, narrow, 2, 2, NULL), UK_INVALID_SIZE},
        {UK(gemm_plan)(&plan, R, no, no, 2, 2, 2, narrow - 1, 2, 2, NULL), UK_OK},
    };

    F(are_expected)(result, sizeof result / sizeof *result);
#endif
}

static void F(wrong)(void) {
    enum { N = 4 };
    ELEMENT a[16] = {0}, b[16] = {0}, c[16];
    const ELEMENT *pointer = a;
    ELEMENT *to = c;
    struct uk_gemm_plan plan;
    const enum uk_layout R = UK_ROW_MAJOR;
    const enum uk_transpose no = UK_NO_TRANSPOSE;
    const int64_t huge = INT64_MAX / 2;

    for (int i = 0; i < 16; i++)
        c[i] = 7;
    const struct F(status) result[] = {
        {SGEMM((enum uk_layout)9, no, no, N, N, N, 1, a, N, b, N, 0, c, N), UK_INVALID_ARGUMENT},
        {SGEMM(R, (enum uk_transpose)2, no, N, N, N, 1, a, N, b, N, 0, c, N), UK_INVALID_ARGUMENT},
        {SGEMM(R, no, (enum uk_transpose)7, N, N, N, 1, a, N, b, N, 0, c, N), UK_INVALID_ARGUMENT},
        {SGEMM(R, no, no, -1, N, N, 1, a, N, b, N, 0, c, N), UK_INVALID_SIZE},
        {SGEMM(R, no, no, N, -1, N, 1, a, N, b, N, 0, c, N), UK_INVALID_SIZE},
        {SGEMM(R, no, no, N, N, -1, 1, a, N, b, N, 0, c, N), UK_INVALID_SIZE},
        {SGEMM(R, no, no, N, N, N, 1, a, N - 1, b, N, 0, c, N), UK_INVALID_SIZE},
        {SGEMM(R, no, no, N, N, N, 1, a, N, b, N - 1, 0, c, N), UK_INVALID_SIZE},
        {SGEMM(R, no, no, N, N, N, 1, a, N, b, N, 0, c, N - 1), UK_INVALID_SIZE},
        {SGEMM(UK_COLUMN_MAJOR, no, no, N, 2, 2, 1, a, 3, b, N, 0, c, N), UK_INVALID_SIZE},
        {SGEMM(R, no, no, 0, 0, 0, 1, a, 0, b, 1, 0, c, 1), UK_INVALID_SIZE},
        {SGEMM(R, no, no, N, N, N, 1, NULL, N, b, N, 0, c, N), UK_INVALID_ARGUMENT},
        {SGEMM(R, no, no, N, N, N, 1, a, N, NULL, N, 0, c, N), UK_INVALID_ARGUMENT},
        {SGEMM(R, no, no, N, N, N, 1, a, N, b, N, 0, NULL, N), UK_INVALID_ARGUMENT},
        {SGEMM(R, no, no, huge, 2, 2, 1, a, 2, b, 2, 0, c, 2), UK_INVALID_SIZE},
        {SGEMM(R, no, no, 2, 2, 2, 1, a, huge, b, 2, 0, c, 2), UK_INVALID_SIZE},
        {UK(gemm_batch)(R, no, no, N, N, N, 1, &pointer, N, &pointer, N, 0, &to, N, -1), UK_INVALID_SIZE},
        {UK(gemm_batch)(R, no, no, N, N, N, 1, NULL, N, &pointer, N, 0, &to, N, 1), UK_INVALID_ARGUMENT},
        {UK(gemm_batch_strided)(R, no, no, N, N, N, 1, a, N, 0, NULL, N, 0, 0, c, N, 0, 1),
         UK_INVALID_ARGUMENT},
        {UK(gemm_plan)(NULL, R, no, no, N, N, N, N, N, N, NULL), UK_INVALID_ARGUMENT},
        {UK(gemm_plan)(&plan, R, no, no, N, N, N, N, N, N, &(struct uk_gemm_options){.threads = -1}),
         UK_INVALID_ARGUMENT},
        /* valid arguments */
        {SGEMM(R, no, no, 0, N, N, 1, NULL, N, NULL, N, 0, NULL, N), UK_OK},
        {SGEMM(R, no, no, N, N, N, 0, NULL, N, NULL, N, 1, c, N), UK_OK},
        {SGEMM(R, no, no, N, N, 0, 1, NULL, 1, NULL, N, 1, c, N), UK_OK},
    };
    F(are_expected)(result, sizeof result / sizeof *result);
    for (int i = 0; i < 16; i++)
        assert_true(c[i] == 7);
}

static void F(no_memory)(void) {
    for (int form = 0; form < 8; form++) {
        const struct shape s = of_form(form, 600, 700, 800, 0, 1, 1);
        struct F(data) d;
        enum uk_status status;

        F(make)(&s, &d, true);
        uk_release_memory();
        allocations = 0;
        allocation_fails = true;
        status = F(call)(&s, &d);
        allocation_fails = false;
        if (form == 3 || form == 6)
            assert_true(allocations > 0);
        assert_int_equal(status, allocations ? UK_OUT_OF_MEMORY : UK_OK);
        if (status)
            assert_memory_equal(d.pc, d.expected, (size_t)d.c.elements * sizeof(ELEMENT));
        F(unmake)(&d);
    }
}

/* Small products without memory for a copy of B work on a few columns at a time, and give the same bits. */
static void F(no_memory_for_small)(void) {
    static const int64_t shape[][3] = {
        {9, 20, 200}, {30, 100, 120}, {64, 64, 64}, {5, 33, 250}, {40, 31, 127}};

    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        const struct shape s =
            of_form(i % 2 ? 6 : 4, shape[i][0], shape[i][1], shape[i][2], (int64_t)i, 1, i % 3 ? 1 : 0);
        struct uk_gemm_plan plan;
        struct F(data) d;

        F(make)(&s, &d, false);
        const size_t bytes = (size_t)d.c.elements * sizeof(ELEMENT);
        ELEMENT *c = F(by_plan)(&s, &d, (struct uk_gemm_options){.threads = 1});

        assert_int_equal(
            UK(gemm_plan)(&plan, s.layout, s.ta, s.tb, s.m, s.n, s.k, d.a.ld, d.b.ld, d.c.ld, NULL), UK_OK);
        uk_release_memory();
        allocation_fails = true;
        const enum uk_status status = F(call)(&s, &d);
        allocation_fails = false;
        assert_int_equal(status, gemm_plan_in(&plan)->path == &uk_gemm_small ? UK_OK : status);
        if (!status)
            assert_memory_equal(d.pc, c, bytes);
        free(c);
        F(unmake)(&d);
    }
}

/* Number of allocations of a call without a workspace. */
static int F(allocations_of)(int64_t n, bool batch) {
    const struct shape s = {UK_ROW_MAJOR, UK_TRANSPOSE, UK_TRANSPOSE, n, n, n, 0, 1, 0};
    struct F(data) d;

    F(make)(&s, &d, true);
    allocations = 0;
    if (batch)
        assert_int_equal(UK(gemm_batch_strided)(s.layout, s.ta, s.tb, n, n, n, 1, d.pa, n, 0, d.pb, n, 0, 0,
                                                d.pc, n, n * n, 1),
                         UK_OK);
    else
        assert_int_equal(F(call)(&s, &d), UK_OK);
    F(unmake)(&d);
    return allocations;
}

static size_t F(workspace_of)(int64_t n) {
    struct uk_gemm_plan plan;

    assert_int_equal(UK(gemm_plan)(&plan, UK_ROW_MAJOR, UK_TRANSPOSE, UK_TRANSPOSE, n, n, n, n, n, n, NULL),
                     UK_OK);
    return uk_gemm_workspace(&plan);
}

/* The size of the first product, in steps of `step` from n, whose workspace exceeds `than`. Workspaces depend
 * on blocks, and so on caches. */
static int64_t F(needs_more)(int64_t n, int64_t step, size_t than) {
    enum { MOST = 4000 };

    while (n < MOST && F(workspace_of)(n) <= than)
        n += step;
    assert_true(n < MOST);
    return n;
}

/* A workspace serves later calls of its size or less; a larger one replaces it. */
static void F(memory_kept)(void) {
    const bool few = part() > 1;
    const int64_t n = few ? 140 : 150, n2 = F(needs_more)(few ? 260 : 400, 70, F(workspace_of)(n)),
                  n3 = F(needs_more)(n2 + (few ? 70 : 400), 70, F(workspace_of)(n2));

    uk_release_memory();
    assert_int_equal(F(allocations_of)(n2, false), 1);
    assert_int_equal(F(allocations_of)(n2, false), 0);
    assert_int_equal(F(allocations_of)(n, false), 0);
    assert_int_equal(F(allocations_of)(n3, false), 1);
    assert_int_equal(F(allocations_of)(n3, true), 0);
    assert_int_equal(F(allocations_of)(n2, false), 0);
    uk_release_memory();
    assert_int_equal(F(allocations_of)(n2, true), 1);
    assert_int_equal(F(allocations_of)(n2, false), 0);
}

/* True if n x n products are right. Without assertions, which only one thread may use, so that it can run
 * concurrently. */
static bool F(right)(int64_t n) {
    ELEMENT *a = malloc((size_t)(n * n) * sizeof *a), *b = malloc((size_t)(n * n) * sizeof *b),
            *c = malloc((size_t)(n * n) * sizeof *c);
    bool right = a && b && c;

    for (int64_t i = 0; right && i < n * n; i++) {
        a[i] = (ELEMENT)(i % 7 - 3);
        b[i] = (ELEMENT)(i % 5 - 2);
    }
    right = right && !SGEMM(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_TRANSPOSE, n, n, n, 1, a, n, b, n, 0, c, n);
    for (int64_t e = 0; right && e < n * n; e += 13) {
        ELEMENT sum = 0;

        for (int64_t p = 0; p < n; p++)
            sum += a[e / n * n + p] * b[e % n * n + p];
        right = c[e] == sum;
    }
    free(a);
    free(b);
    free(c);
    return right;
}
