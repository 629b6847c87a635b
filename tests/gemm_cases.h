/* The checks of tests/gemm.c for one element type: ELEMENT, with F(name) and UK(name) its functions. */

typedef ELEMENT F(element);

struct F(data) {
    struct operand a, b, c;
    ELEMENT *pa, *pb, *pc, *expected; /* expected: C as it should be, padding included */
    double *bound;                    /* sum of |a b|; NULL for integers */
};

static void F(fill)(ELEMENT *p, int64_t n, bool integers) {
    for (int64_t i = 0; i < n; i++)
        p[i] = (ELEMENT)(integers ? small_integer() : fraction());
}

static void F(make)(const struct shape *s, struct F(data) * d, bool integers) {
    d->a = operand(s, s->ta == UK_TRANSPOSE, s->m, s->k);
    d->b = operand(s, s->tb == UK_TRANSPOSE, s->k, s->n);
    d->c = operand(s, false, s->m, s->n);
    d->pa = malloc((size_t)(d->a.elements + 1) * sizeof(ELEMENT));
    d->pb = malloc((size_t)(d->b.elements + 1) * sizeof(ELEMENT));
    d->pc = malloc((size_t)(d->c.elements + 1) * sizeof(ELEMENT));
    d->expected = malloc((size_t)(d->c.elements + 1) * sizeof(ELEMENT));
    d->bound = integers ? NULL : calloc((size_t)(d->c.elements + 1), sizeof(double));
    assert_true(d->pa && d->pb && d->pc && d->expected && (integers || d->bound));
    F(fill)(d->pa, d->a.elements, integers);
    F(fill)(d->pb, d->b.elements, integers);
    F(fill)(d->pc, d->c.elements, integers);
    memcpy(d->expected, d->pc, (size_t)d->c.elements * sizeof(ELEMENT));
}

static void F(unmake)(struct F(data) * d) {
    free(d->pa);
    free(d->pb);
    free(d->pc);
    free(d->expected);
    free(d->bound);
}

/* One element by the definition, summed in double. */
static double F(element_of)(const struct shape *s, const struct F(data) * d, int64_t i, int64_t j) {
    double sum = 0;

    for (int64_t p = 0; p < s->k && s->alpha != 0; p++)
        sum += (double)d->pa[at(&d->a, i, p)] * (double)d->pb[at(&d->b, p, j)];
    return (s->alpha == 0 ? 0 : s->alpha * sum) +
           (s->beta == 0 ? 0 : s->beta * (double)d->pc[at(&d->c, i, j)]);
}

/* Row after row, without padding. */
static double *F(dense)(const struct operand *o, const ELEMENT *from, int64_t rows, int64_t columns) {
    double *to = malloc((size_t)(rows * columns + 1) * sizeof *to);

    assert_non_null(to);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[i * columns + j] = (double)from[at(o, i, j)];
    return to;
}

/* All elements. The innermost loops are along rows of B, which compilers make vectors of. */
static void F(expect)(const struct shape *s, struct F(data) * d) {
    const int64_t n = s->n, k = s->alpha == 0 ? 0 : s->k;
    double *a = F(dense)(&d->a, d->pa, s->m, k), *b = F(dense)(&d->b, d->pb, k, n);
    double *sum = malloc((size_t)(2 * n + 1) * sizeof *sum), *size = sum + n;

    assert_non_null(sum);
    for (int64_t i = 0; i < s->m; i++) {
        memset(sum, 0, (size_t)(2 * n) * sizeof *sum);
        for (int64_t p = 0; p < k; p++) {
            const double x = a[i * k + p];

            for (int64_t j = 0; j < n; j++)
                sum[j] += x * b[p * n + j];
            for (int64_t j = 0; d->bound && j < n; j++)
                size[j] += fabs(x * b[p * n + j]);
        }
        for (int64_t j = 0; j < n; j++) {
            const int64_t e = at(&d->c, i, j);
            const double old = s->beta == 0 ? 0 : s->beta * (double)d->pc[e];

            d->expected[e] = (ELEMENT)((k ? s->alpha * sum[j] : 0) + old);
            if (d->bound)
                d->bound[e] = fabs(s->alpha) * size[j] + fabs(old);
        }
    }
    free(sum);
    free(a);
    free(b);
}

static void F(describe)(const struct shape *s) {
    print_message("%s %s A%s B%s m %lld n %lld k %lld pad %lld alpha %g beta %g\n",
                  sizeof(ELEMENT) == 4 ? "f32" : "f64",
                  s->layout == UK_ROW_MAJOR ? "row-major" : "column-major", s->ta ? "'" : "",
                  s->tb ? "'" : "", (long long)s->m, (long long)s->n, (long long)s->k, (long long)s->pad,
                  s->alpha, s->beta);
}

static enum uk_status F(call)(const struct shape *s, const struct F(data) * d) {
    return SGEMM(s->layout, s->ta, s->tb, s->m, s->n, s->k, (ELEMENT)s->alpha, d->pa, d->a.ld, d->pb, d->b.ld,
                 (ELEMENT)s->beta, d->pc, d->c.ld);
}

/* Everything, the padding of C too. */
static void F(compare)(const struct shape *s, const struct F(data) * d, bool integers) {
    for (int64_t e = 0; e < d->c.elements; e++) {
        const double difference = fabs((double)d->pc[e] - (double)d->expected[e]);
        const double most = integers ? 0 : ((double)s->k + 4) * EPSILON * d->bound[e];

        if (!(difference <= most)) {
            F(describe)(s);
            fail_msg("element %lld is %.9g, not %.9g", (long long)e, (double)d->pc[e],
                     (double)d->expected[e]);
        }
    }
}

static void F(check)(const struct shape *s, bool integers) {
    struct F(data) d;

    F(make)(s, &d, integers);
    F(expect)(s, &d);
    const enum uk_status status = F(call)(s, &d);
    if (status)
        F(describe)(s);
    assert_int_equal(status, UK_OK);
    F(compare)(s, &d, integers);
    F(unmake)(&d);
}

/* Of a large product some elements, the corners among them. */
static void F(check_sampled)(const struct shape *s) {
    struct F(data) d;
    enum { SAMPLES = 400 };
    int64_t index[SAMPLES];

    F(make)(s, &d, true);
    for (int i = 0; i < SAMPLES; i++) {
        const int64_t row = i < 4 ? (i & 1) * (s->m - 1) : next() % s->m;
        const int64_t column = i < 4 ? (i >> 1) * (s->n - 1) : next() % s->n;

        index[i] = at(&d.c, row, column);
        d.expected[index[i]] = (ELEMENT)F(element_of)(s, &d, row, column);
    }
    assert_int_equal(F(call)(s, &d), UK_OK);
    for (int i = 0; i < SAMPLES; i++)
        if (d.pc[index[i]] != d.expected[index[i]]) {
            F(describe)(s);
            fail_msg("element %lld is %g, not %g", (long long)index[i], (double)d.pc[index[i]],
                     (double)d.expected[index[i]]);
        }
    F(unmake)(&d);
}

/* ---- NaN and infinity ---- */

static void F(nan_case)(int64_t m, int64_t n, int64_t k, int form) {
    const struct shape s = {form & 1,
                            form & 2 ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                            form & 4 ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                            m,
                            n,
                            k,
                            1,
                            1,
                            0};
    struct shape t = s;
    struct F(data) d;

    F(make)(&s, &d, true);
    for (int64_t e = 0; e < d.c.elements; e++)
        d.pc[e] = d.expected[e] = (ELEMENT)NAN;
    /* beta = 0: none of it leaks, whatever alpha. The padding stays. */
    F(expect)(&s, &d);
    assert_int_equal(F(call)(&s, &d), UK_OK);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            assert_true(d.pc[at(&d.c, i, j)] == d.expected[at(&d.c, i, j)]);
    t.alpha = 2;
    for (int64_t e = 0; e < d.c.elements; e++)
        d.pc[e] = (ELEMENT)NAN;
    assert_int_equal(F(call)(&t, &d), UK_OK);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            assert_true(d.pc[at(&d.c, i, j)] == 2 * d.expected[at(&d.c, i, j)]);
    /* beta = 1: NaN of C stays; a NaN of A reaches its row and no other, an infinity of B its column. */
    if (k) {
        const int64_t row = m / 2, column = n / 2;

        t.alpha = t.beta = 1;
        d.pa[at(&d.a, row, k - 1)] = (ELEMENT)NAN;
        for (int64_t e = 0; e < d.c.elements; e++)
            d.pc[e] = 1;
        d.pc[at(&d.c, m - 1, n - 1)] = (ELEMENT)NAN;
        d.pb[at(&d.b, 0, column)] = (ELEMENT)INFINITY;
        for (int64_t i = 0; i < m; i++)
            d.pa[at(&d.a, i, 0)] = i == row && k == 1 ? (ELEMENT)NAN : 1;
        assert_int_equal(F(call)(&t, &d), UK_OK);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                const ELEMENT x = d.pc[at(&d.c, i, j)];

                if (i == row || (i == m - 1 && j == n - 1))
                    assert_true(isnan(x));
                else if (j == column)
                    assert_true(isinf(x) && x > 0);
                else
                    assert_true(isfinite(x));
            }
    }
    /* alpha = 0: neither A nor B is read. */
    t.alpha = 0;
    t.beta = 3;
    for (int64_t e = 0; e < d.c.elements; e++)
        d.pc[e] = 2;
    assert_int_equal(SGEMM(t.layout, t.ta, t.tb, m, n, k, 0, NULL, d.a.ld, NULL, d.b.ld, 3, d.pc, d.c.ld),
                     UK_OK);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            assert_true(d.pc[at(&d.c, i, j)] == 6);
    F(unmake)(&d);
}

static void F(nan_rules)(void) {
    int64_t shape[][3] = {{1, 1, 1},    {1, 40, 9},   {40, 1, 9},    {3, 5, 0},
                          {17, 33, 20}, {70, 90, 50}, {15, 200, 60}, {530, 520, 510}};

    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        shrink(shape[i], 100);
        for (int form = 0; form < 8; form++)
            F(nan_case)(shape[i][0], shape[i][1], shape[i][2], form);
    }
}

/* ---- guard pages ---- */

struct F(guarded_call) {
    const struct shape *s;
    const struct F(data) * d;
    enum uk_status status;
};

static void F(call_guarded)(void *argument) {
    struct F(guarded_call) *g = argument;

    g->status = F(call)(g->s, g->d);
}

/* Each operand at the end of its pages, then at their beginning. */
static void F(guarded)(const struct shape *s) {
    struct F(data) d, g;
    struct arena arena[3];
    const void *where;

    F(make)(s, &d, true);
    F(expect)(s, &d);
    ELEMENT *const from[] = {d.pa, d.pb, d.pc};
    const int64_t elements[] = {d.a.elements, d.b.elements, d.c.elements};

    for (int i = 0; i < 3; i++)
        assert_true(arena_make(&arena[i], (size_t)elements[i] * sizeof(ELEMENT) + 1));
    for (int end = 0; end < 2; end++) {
        ELEMENT *to[3];

        for (int i = 0; i < 3; i++) {
            const size_t bytes = (size_t)elements[i] * sizeof(ELEMENT);

            to[i] = (ELEMENT *)(arena[i].data + (end ? arena[i].size - bytes : 0));
            memcpy(to[i], from[i], bytes);
        }
        g = d;
        g.pa = to[0];
        g.pb = to[1];
        g.pc = to[2];
        struct F(guarded_call) call = {s, &g, UK_INTERNAL};
        if (!run_guarded(F(call_guarded), &call, &where)) {
            F(describe)(s);
            fail_msg("touches memory outside its operands");
        }
        assert_int_equal(call.status, UK_OK);
        F(compare)(s, &g, true);
    }
    for (int i = 0; i < 3; i++)
        arena_free(&arena[i]);
    F(unmake)(&d);
}

/* ---- plans: threads, packing, workspace ---- */

static ELEMENT *F(memory)(size_t bytes) {
    ELEMENT *p = __real_aligned_alloc(64, (bytes + 127) / 64 * 64);

    assert_non_null(p);
    return p;
}

/* C computed by a plan with these options; free it. */
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

static void F(epilogue)(const struct shape *s, int64_t i) {
    struct F(data) d;
    struct uk_gemm_plan plan;
    enum { MOST = 1024 };
    ELEMENT rows[MOST], columns[MOST];
    const struct UK(gemm_epilogue) e = {
        .scale = i % 2 ? 2 : 1,
        .low = i % 3 ? 0 : (ELEMENT)-INFINITY,
        .high = i % 5 ? (ELEMENT)INFINITY : 6,
        .row_bias = i % 4 & 1 ? rows : NULL,
        .column_bias = i % 4 & 2 ? columns : NULL,
    };

    assert_true(s->m <= MOST && s->n <= MOST);
    F(fill)(rows, MOST, true);
    F(fill)(columns, MOST, true);
    F(make)(s, &d, true);
    F(expect)(s, &d);
    for (int64_t r = 0; r < s->m; r++)
        for (int64_t c = 0; c < s->n; c++) {
            ELEMENT *x = &d.expected[at(&d.c, r, c)];

            *x = e.scale * *x + (e.row_bias ? rows[r] : 0) + (e.column_bias ? columns[c] : 0);
            *x = *x < e.low ? e.low : *x > e.high ? e.high : *x;
        }
    assert_int_equal(
        UK(gemm_plan)(&plan, s->layout, s->ta, s->tb, s->m, s->n, s->k, d.a.ld, d.b.ld, d.c.ld, NULL), UK_OK);
    assert_int_equal(UK(gemm_run)(&plan, (ELEMENT)s->alpha, d.pa, d.pb, (ELEMENT)s->beta, d.pc, &e, NULL),
                     UK_OK);
    F(compare)(s, &d, true);
    F(unmake)(&d);
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
    if (count) { /* by strides: one B for all */
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
            assert_true(all_c[e] == expected[e]); /* 0 and -0 are equal */
        free(all_a);
        free(all_c);
    }
    free(expected);
    for (int64_t i = 0; i < count; i++)
        F(unmake)(&d[i]);
}

/* ---- errors ---- */

static void F(wrong)(void) {
    enum { N = 4 };
    ELEMENT a[16] = {0}, b[16] = {0}, c[16];
    const ELEMENT *pointer = a;
    ELEMENT *to = c;
    struct uk_gemm_plan plan;
    const enum uk_layout R = UK_ROW_MAJOR;
    const enum uk_transpose no = UK_NO_TRANSPOSE;
    const int64_t huge = INT64_MAX / 2;
#if UINTPTR_MAX == UINT32_MAX
    const int64_t narrow =
        (INT64_C(1) << 30) / (int64_t)sizeof(ELEMENT); /* elements of which two rows are 2^31 bytes */
#endif

    for (int i = 0; i < 16; i++)
        c[i] = 7;
    const struct {
        enum uk_status status, expected;
    } result[] = {
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
#if UINTPTR_MAX == UINT32_MAX
        {SGEMM(R, no, no, 2, 2, 2, 1, a, narrow, b, 2, 0, c, 2), UK_INVALID_SIZE},
        {SGEMM(R, no, no, 2, 2, 2, 1, a, 2, b, narrow, 0, c, 2), UK_INVALID_SIZE},
        {SGEMM(R, no, no, 2, 2, 2, 1, a, 2, b, 2, 0, c, narrow), UK_INVALID_SIZE},
        {SGEMM(R, no, no, narrow, 2, 2, 1, a, 2, b, 2, 0, c, 2), UK_INVALID_SIZE},
        {SGEMM(R, no, no, 2, 2, (int64_t)4 << 30, 1, a, (int64_t)4 << 30, b, 2, 0, c, 2), UK_INVALID_SIZE},
        {SGEMM(UK_COLUMN_MAJOR, no, no, 2, narrow, 2, 1, a, 2, b, 2, 0, c, 2), UK_INVALID_SIZE},
        {UK(gemm_plan)(&plan, R, no, no, 2, 2, 2, narrow, 2, 2, NULL), UK_INVALID_SIZE},
        {UK(gemm_plan)(&plan, R, no, no, 2, 2, 2, narrow - 1, 2, 2, NULL), UK_OK},
#endif
        {UK(gemm_batch)(R, no, no, N, N, N, 1, &pointer, N, &pointer, N, 0, &to, N, -1), UK_INVALID_SIZE},
        {UK(gemm_batch)(R, no, no, N, N, N, 1, NULL, N, &pointer, N, 0, &to, N, 1), UK_INVALID_ARGUMENT},
        {UK(gemm_batch_strided)(R, no, no, N, N, N, 1, a, N, 0, NULL, N, 0, 0, c, N, 0, 1),
         UK_INVALID_ARGUMENT},
        {UK(gemm_plan)(NULL, R, no, no, N, N, N, N, N, N, NULL), UK_INVALID_ARGUMENT},
        {UK(gemm_plan)(&plan, R, no, no, N, N, N, N, N, N, &(struct uk_gemm_options){.threads = -1}),
         UK_INVALID_ARGUMENT},
        /* and these are right */
        {SGEMM(R, no, no, 0, N, N, 1, NULL, N, NULL, N, 0, NULL, N), UK_OK},
        {SGEMM(R, no, no, N, N, N, 0, NULL, N, NULL, N, 1, c, N), UK_OK},
        {SGEMM(R, no, no, N, N, 0, 1, NULL, 1, NULL, N, 1, c, N), UK_OK},
    };
    for (size_t i = 0; i < sizeof result / sizeof *result; i++)
        if (result[i].status != result[i].expected)
            fail_msg("call %zu: status %d, not %d", i, result[i].status, result[i].expected);
    for (int i = 0; i < 16; i++)
        assert_true(c[i] == 7);
    /* a plan of the other type */
#define OTHER(name) (sizeof(ELEMENT) == 4 ? uk_d##name : uk_s##name)
    assert_int_equal(OTHER(gemm_plan)(&plan, R, no, no, N, N, N, N, N, N, NULL), UK_OK);
    assert_int_equal(UK(gemm_run)(&plan, 1, a, b, 0, c, NULL, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(UK(gemm_pack_a)(&plan, a, c), UK_INVALID_ARGUMENT);
#undef OTHER
}

static void F(no_memory)(void) {
    for (int form = 0; form < 8; form++) {
        const struct shape s = {form & 1,
                                form & 2 ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                                form & 4 ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                                600,
                                700,
                                800,
                                0,
                                1,
                                1};
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

/* The allocations of a call that is given no workspace. */
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

/* A workspace serves the next calls of its size or less, and a larger one takes its place. */
static void F(memory_kept)(void) {
    const int64_t n = part() > 1 ? 140 : 150, n2 = part() > 1 ? 260 : 400, n3 = part() > 1 ? 330 : 800;
    struct uk_gemm_plan small, middle, large;

    assert_int_equal(UK(gemm_plan)(&small, UK_ROW_MAJOR, UK_TRANSPOSE, UK_TRANSPOSE, n, n, n, n, n, n, NULL),
                     UK_OK);
    assert_int_equal(
        UK(gemm_plan)(&middle, UK_ROW_MAJOR, UK_TRANSPOSE, UK_TRANSPOSE, n2, n2, n2, n2, n2, n2, NULL),
        UK_OK);
    assert_int_equal(
        UK(gemm_plan)(&large, UK_ROW_MAJOR, UK_TRANSPOSE, UK_TRANSPOSE, n3, n3, n3, n3, n3, n3, NULL), UK_OK);
    assert_true(uk_gemm_workspace(&small) < uk_gemm_workspace(&middle));
    assert_true(uk_gemm_workspace(&middle) < uk_gemm_workspace(&large));
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

/* n x n by the functions that may run beside this one: no assertions, which are for one thread. */
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
