/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of gemm.c for one element type: the values that calls compute. Included after gemm_data.h. */

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

/* Copies the matrix without padding, row by row. */
static double *F(dense)(const struct operand *o, const ELEMENT *from, int64_t rows, int64_t columns) {
    double *to = malloc((size_t)(rows * columns + 1) * sizeof *to);

    assert_non_null(to);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[i * columns + j] = (double)from[at(o, i, j)];
    return to;
}

/* Computes all elements. Inner loops run along rows of B, so that compilers vectorize them. */
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

/* Compares all of C, padding included. */
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

/* Checks some elements of a large product, corners included. */
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

/* beta = 1: NaN in C stays; a NaN in A reaches only its row, an infinity in B only its column. */
static void F(nan_spreads)(const struct shape *s, struct F(data) * d) {
    const int64_t m = s->m, n = s->n, row = m / 2, column = n / 2;
    struct shape t = *s;

    t.alpha = t.beta = 1;
    d->pa[at(&d->a, row, s->k - 1)] = (ELEMENT)NAN;
    for (int64_t e = 0; e < d->c.elements; e++)
        d->pc[e] = 1;
    d->pc[at(&d->c, m - 1, n - 1)] = (ELEMENT)NAN;
    d->pb[at(&d->b, 0, column)] = (ELEMENT)INFINITY;
    for (int64_t i = 0; i < m; i++)
        d->pa[at(&d->a, i, 0)] = i == row && s->k == 1 ? (ELEMENT)NAN : 1;
    assert_int_equal(F(call)(&t, d), UK_OK);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            const ELEMENT x = d->pc[at(&d->c, i, j)];

            if (i == row || (i == m - 1 && j == n - 1))
                assert_true(isnan(x));
            else if (j == column)
                assert_true(isinf(x) && x > 0);
            else
                assert_true(isfinite(x));
        }
}

/* alpha = 0: neither A nor B is read. */
static void F(nothing_is_read)(const struct shape *s, struct F(data) * d) {
    for (int64_t e = 0; e < d->c.elements; e++)
        d->pc[e] = 2;
    assert_int_equal(
        SGEMM(s->layout, s->ta, s->tb, s->m, s->n, s->k, 0, NULL, d->a.ld, NULL, d->b.ld, 3, d->pc, d->c.ld),
        UK_OK);
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++)
            assert_true(d->pc[at(&d->c, i, j)] == 6);
}

static void F(nan_case)(int64_t m, int64_t n, int64_t k, int form) {
    const struct shape s = of_form(form, m, n, k, 1, 1, 0);
    struct shape t = s;
    struct F(data) d;

    F(make)(&s, &d, true);
    for (int64_t e = 0; e < d.c.elements; e++)
        d.pc[e] = d.expected[e] = (ELEMENT)NAN;
    /* beta = 0: NaN in C never reaches the result, for any alpha. The padding stays. */
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
    if (k)
        F(nan_spreads)(&s, &d);
    F(nothing_is_read)(&s, &d);
    F(unmake)(&d);
}

static void F(nan_rules)(void) {
    int64_t shape[][3] = {{1, 1, 1},    {1, 40, 9},    {40, 1, 9},      {3, 5, 0},     {17, 33, 20},
                          {70, 90, 50}, {15, 200, 60}, {530, 520, 510}, {7, 2117, 129}};

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

/* Places each operand at the end of its pages, then at their start. */
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
