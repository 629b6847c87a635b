/* SPDX-License-Identifier: Apache-2.0 */
/* Operands and calls of products of one element type, ELEMENT, whose functions are F(name) and UK(name);
 * shared by the files of checks. */

struct F(data) {
    struct operand a, b, c;
    ELEMENT *pa, *pb, *pc, *expected; /* expected: the right C, padding included */
    double *bound;                    /* sum of |a b| per element; NULL for integers */
};

static void F(fill)(ELEMENT *p, int64_t n, bool integers) {
    for (int64_t i = 0; i < n; i++)
        p[i] = (ELEMENT)(integers ? small_integer() : fraction());
}

/* Computes an element by the definition, in double. */
static double F(element_of)(const struct shape *s, const struct F(data) * d, int64_t i, int64_t j) {
    double sum = 0;

    for (int64_t p = 0; p < s->k && s->alpha != 0; p++)
        sum += (double)d->pa[at(&d->a, i, p)] * (double)d->pb[at(&d->b, p, j)];
    return (s->alpha == 0 ? 0 : s->alpha * sum) +
           (s->beta == 0 ? 0 : s->beta * (double)d->pc[at(&d->c, i, j)]);
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

/* Allocates `bytes` at a multiple of 64, even while other allocations are made to fail. */
static ELEMENT *F(memory)(size_t bytes) {
    ELEMENT *p = __real_aligned_alloc(64, (bytes + 127) / 64 * 64);

    assert_non_null(p);
    return p;
}
