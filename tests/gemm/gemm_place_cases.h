/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of gemm_places.c for one element type, included after gemm_data.h: operands whose lines each lie in
 * pages of their own, between inaccessible pages. */

struct F(place) {
    unsigned char *map, *data; /* map: the whole mapping; data: the first line's pages */
    size_t bytes, distance, span;
    ELEMENT *origin;
};

/* Places lines at least `distance` bytes apart, at the ends of their pages or at the starts. Sets o->ld and
 * o->elements accordingly. */
static void F(place)(struct F(place) * p, struct operand *o, size_t distance, bool at_end) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), used = (size_t)o->length * sizeof(ELEMENT);

    p->span = (used + page - 1) / page * page;
    p->distance = p->span + page;
    if (p->distance < distance)
        p->distance = (distance + page - 1) / page * page;
    p->bytes = page + (size_t)o->lines * p->distance + page;
    p->map = mmap(NULL, p->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(p->map, MAP_FAILED);
    p->data = p->map + page;
    o->ld = (int64_t)(p->distance / sizeof(ELEMENT));
    o->elements = o->lines && o->length ? (o->lines - 1) * o->ld + o->length : 0;
    p->origin = (ELEMENT *)(p->data + (at_end ? p->span - used : 0));
    for (int64_t l = 0; l < o->lines; l++) {
        unsigned char *line = p->data + (size_t)l * p->distance;

        assert_int_equal(mprotect(line, p->span, PROT_READ | PROT_WRITE), 0);
        memset(line, 0x5a, p->span);
        F(fill)(p->origin + l * o->ld, o->length, true);
    }
}

/* True if the bytes of its pages that belong to no line are unchanged. */
static bool F(is_intact)(const struct F(place) * p, const struct operand *o) {
    for (int64_t l = 0; l < o->lines; l++) {
        const unsigned char *line = p->data + (size_t)l * p->distance;
        const unsigned char *begin = (const unsigned char *)(p->origin + l * o->ld);

        for (const unsigned char *q = line; q < line + p->span; q++)
            if ((q < begin || q >= begin + (size_t)o->length * sizeof(ELEMENT)) && *q != 0x5a)
                return false;
    }
    return true;
}

/* The guarded action: a call, or a plan with these options. */
struct F(placed_call) {
    const struct shape *s;
    const struct F(data) * d;
    const struct uk_gemm_options *options; /* NULL: a plain call */
    enum uk_status status;
};

static enum uk_status F(run_plan)(const struct shape *s, const struct F(data) * d,
                                  const struct uk_gemm_options *options) {
    struct uk_gemm_plan plan;
    enum uk_status status =
        UK(gemm_plan)(&plan, s->layout, s->ta, s->tb, s->m, s->n, s->k, d->a.ld, d->b.ld, d->c.ld, options);

    if (status)
        return status;
    ELEMENT *a = options->a_packed ? F(memory)(uk_gemm_packed_a_size(&plan)) : NULL;
    ELEMENT *b = options->b_packed ? F(memory)(uk_gemm_packed_b_size(&plan)) : NULL;

    if (a)
        status = UK(gemm_pack_a)(&plan, d->pa, a);
    if (b && !status)
        status = UK(gemm_pack_b)(&plan, d->pb, b);
    if (!status)
        status = UK(gemm_run)(&plan, (ELEMENT)s->alpha, a ? a : d->pa, b ? b : d->pb, (ELEMENT)s->beta, d->pc,
                              NULL, NULL);
    free(a);
    free(b);
    return status;
}

static void F(call_placed)(void *argument) {
    struct F(placed_call) *c = argument;

    c->status = c->options ? F(run_plan)(c->s, c->d, c->options) : F(call)(c->s, c->d);
}

/* distance: least number of bytes between lines */
static void F(placed)(const struct shape *s, size_t distance, bool at_end,
                      const struct uk_gemm_options *options) {
    struct F(data) d = {.a = operand(s, s->ta == UK_TRANSPOSE, s->m, s->k),
                        .b = operand(s, s->tb == UK_TRANSPOSE, s->k, s->n),
                        .c = operand(s, false, s->m, s->n)};
    struct F(place) a, b, c;
    double *expected = malloc((size_t)(s->m * s->n) * sizeof *expected);
    const void *where;

    assert_non_null(expected);
    F(place)(&a, &d.a, distance, at_end);
    F(place)(&b, &d.b, distance, at_end);
    F(place)(&c, &d.c, distance, at_end);
    d.pa = a.origin;
    d.pb = b.origin;
    d.pc = c.origin;
    for (int64_t e = 0; e < s->m * s->n; e++)
        expected[e] = F(element_of)(s, &d, e / s->n, e % s->n);
    struct F(placed_call) call = {s, &d, options, UK_INTERNAL};
    if (!run_guarded(F(call_placed), &call, &where)) {
        F(describe)(s);
        fail_msg("touches memory between the lines of its operands, which lie at the %s of pages",
                 at_end ? "ends" : "beginnings");
    }
    assert_int_equal(call.status, UK_OK);
    for (int64_t e = 0; e < s->m * s->n; e++)
        if ((double)d.pc[at(&d.c, e / s->n, e % s->n)] != expected[e]) {
            F(describe)(s);
            fail_msg("element %lld, %lld is %g, not %g; lines are %zu bytes apart", (long long)(e / s->n),
                     (long long)(e % s->n), (double)d.pc[at(&d.c, e / s->n, e % s->n)], expected[e],
                     c.distance);
        }
    if (!F(is_intact)(&c, &d.c)) {
        F(describe)(s);
        fail_msg("writes beside a line of C");
    }
    munmap(a.map, a.bytes);
    munmap(b.map, b.bytes);
    munmap(c.map, c.bytes);
    free(expected);
}

/* ---- batches ---- */

/* `count` operands of one shape, at least `step` bytes apart; if they go down, the first has the highest
 * address. */
struct F(row_of_places) {
    struct F(place) place[MOST_PRODUCTS];
    unsigned char *map;
    size_t bytes;
    int64_t stride;
    ELEMENT *first;
};

static void F(place_row)(struct F(row_of_places) * r, const struct operand *o, int count, size_t step,
                         bool goes_down) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), used = (size_t)o->elements * sizeof(ELEMENT);
    const size_t span = (used + page - 1) / page * page;

    step = step > span + page ? (step + page - 1) / page * page : span + page;
    r->bytes = page + (size_t)count * step;
    r->map = mmap(NULL, r->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(r->map, MAP_FAILED);
    for (int i = 0; i < count; i++) {
        unsigned char *data = r->map + page + (size_t)(goes_down ? count - 1 - i : i) * step;

        assert_int_equal(mprotect(data, span, PROT_READ | PROT_WRITE), 0);
        r->place[i].origin = (ELEMENT *)(data + span - used);
        F(fill)(r->place[i].origin, o->elements, true);
    }
    r->first = r->place[0].origin;
    r->stride = (int64_t)(step / sizeof(ELEMENT)) * (goes_down ? -1 : 1);
}

struct F(batch_call) {
    const struct shape *s;
    const struct operand *o;
    const struct F(row_of_places) * row;
    int count;
    enum uk_status status;
};

static void F(call_batch)(void *argument) {
    struct F(batch_call) *c = argument;
    const struct shape *s = c->s;
    const struct F(row_of_places) *r = c->row;

    c->status = UK(gemm_batch_strided)(
        s->layout, s->ta, s->tb, s->m, s->n, s->k, (ELEMENT)s->alpha, r[0].first, c->o[0].ld, r[0].stride,
        r[1].first, c->o[1].ld, r[1].stride, (ELEMENT)s->beta, r[2].first, c->o[2].ld, r[2].stride, c->count);
}

/* down: a bit each for A, B and C. */
static void F(strided)(const struct shape *s, int count, size_t step, int down) {
    static struct F(row_of_places) row[3];
    const struct operand o[3] = {operand(s, s->ta == UK_TRANSPOSE, s->m, s->k),
                                 operand(s, s->tb == UK_TRANSPOSE, s->k, s->n),
                                 operand(s, false, s->m, s->n)};
    double *expected = malloc((size_t)(count * s->m * s->n) * sizeof *expected), *e = expected;
    const void *where;

    assert_true(expected && count <= MOST_PRODUCTS);
    for (int i = 0; i < 3; i++)
        F(place_row)(&row[i], &o[i], count, step, down >> i & 1);
    struct F(data) d = {.a = o[0], .b = o[1], .c = o[2]};
    for (int i = 0; i < count; i++) {
        d.pa = row[0].place[i].origin;
        d.pb = row[1].place[i].origin;
        d.pc = row[2].place[i].origin;
        for (int64_t j = 0; j < s->m * s->n; j++)
            *e++ = F(element_of)(s, &d, j / s->n, j % s->n);
    }
    struct F(batch_call) call = {s, o, row, count, UK_INTERNAL};
    if (!run_guarded(F(call_batch), &call, &where)) {
        F(describe)(s);
        fail_msg("a batch touches memory outside its operands");
    }
    assert_int_equal(call.status, UK_OK);
    e = expected;
    for (int i = 0; i < count; i++)
        for (int64_t j = 0; j < s->m * s->n; j++, e++)
            if ((double)row[2].place[i].origin[at(&o[2], j / s->n, j % s->n)] != *e) {
                F(describe)(s);
                fail_msg("product %d of %d, strides %lld, %lld, %lld: element %lld is wrong", i, count,
                         (long long)row[0].stride, (long long)row[1].stride, (long long)row[2].stride,
                         (long long)j);
            }
    for (int i = 0; i < 3; i++)
        munmap(row[i].map, row[i].bytes);
    free(expected);
}
