/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements as subscripts on the left: random statements that write at elements of an integer tensor, of every
 * assignment, rank, element type and index type, many of whose instances write the same element; with random
 * steps, as machine code, with threads and interpreted. The results are compared with loops in C that run the
 * instances in order. Then one index is wrong: every way must return UK_INVALID_INDEX and write nothing.
 *
 *     scatters [--seed N|new] [--programs N]
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "elements.h"
#include "random.h"
#include "test_context.h"
#include "test_options.h"

enum { RANK = 3, BATCH = 2, ITERATORS = RANK + BATCH, EXTENT = 6, ROOM = 4096 };

static uint64_t seed = 1;
static int programs = 60;

/*
 * Y[a0, I0[b0, b1], a2] += U[a0, b0, b1, a2], where some dimensions are indexed by an iterator a<d>,
 * the others by an element of I<d>.
 */
struct scatter {
    int rank, batch;
    bool element[RANK]; /* the dimension is indexed by an element */
    int64_t extent[RANK], count[BATCH];
    /* nested: indices depend on a0 too, if it is an iterator; wraps: negative ones count from the end; temp:
     * the index is a temp, the input plus 1; through: a temp is written, which copies before and after */
    bool nested, wraps, temp, through;
    enum uk_type type, index_type;
    enum uk_assign assign;
};

static const char *const assigns[] = {"=", "+=", "*=", "max=", "min="};

static int below(uint64_t *x, int n) {
    return random_below(x, n);
}

static struct scatter draw(uint64_t *x) {
    static const enum uk_type types[] = {UK_F64, UK_F32, UK_I64, UK_I32, UK_I16, UK_I8, UK_U8},
                              index_types[] = {UK_I64, UK_I32, UK_I16, UK_I8, UK_U8};
    struct scatter s = {.rank = 1 + below(x, RANK),
                        .batch = below(x, BATCH + 1),
                        .type = types[below(x, 7)],
                        .index_type = index_types[below(x, 5)],
                        .assign = (enum uk_assign)below(x, 5)};
    bool any = false;

    for (int d = 0; d < s.rank; d++) {
        s.extent[d] = below(x, 20) ? 1 + below(x, EXTENT) : 0;
        any |= s.element[d] = below(x, 2);
    }
    if (!any)
        s.element[s.rank - 1] = true;
    for (int b = 0; b < s.batch; b++)
        s.count[b] = below(x, 20) ? 1 + below(x, EXTENT) : 0;
    s.nested = !s.element[0] && below(x, 2);
    s.wraps = below(x, 2);
    s.temp = below(x, 4) == 0;
    s.through = below(x, 3) == 0;
    for (int d = 0; d < s.rank; d++) /* an empty dimension has no legal index */
        s.extent[d] += s.element[d] && !s.extent[d];
    return s;
}

/* ---- the text ---- */

static void put_names(struct uk_text *t, const struct scatter *s, bool extents, bool plain) {
    const char *comma = "";

    for (int d = 0; d < s->rank; d++)
        if (!s->element[d] && (plain || (s->nested && !d))) {
            uk_put(t, "%s%c%d", comma, extents ? 'A' : 'a', d);
            comma = ", ";
        }
    for (int b = 0; b < s->batch; b++) {
        uk_put(t, "%s%c%d", comma, extents ? 'B' : 'b', b);
        comma = ", ";
    }
}

static void put_dims(struct uk_text *t, const struct scatter *s, bool extents) {
    for (int d = 0; d < s->rank; d++)
        uk_put(t, "%s%c%d", d ? ", " : "", extents ? 'A' : 'a', d);
}

static void put_indices(struct uk_text *t, const struct scatter *s) {
    for (int d = 0; d < s->rank; d++) {
        if (!s->element[d])
            continue;
        uk_put(t, "tensor I%d %s [", d, uk_type_name(s->index_type));
        put_names(t, s, true, false);
        uk_put(t, "]\n");
        if (!s->temp)
            continue;
        uk_put(t, "temp J%d %s [", d, uk_type_name(s->index_type));
        put_names(t, s, true, false);
        uk_put(t, "]\nJ%d[", d);
        put_names(t, s, false, false);
        uk_put(t, "] = I%d[", d);
        put_names(t, s, false, false);
        uk_put(t, "] + 1\n");
    }
}

static void put_statement(struct uk_text *t, const struct scatter *s) {
    const char *y = s->through ? "T" : "Y";

    if (s->through) {
        uk_put(t, "before: T[");
        put_dims(t, s, false);
        uk_put(t, "] = X[");
        put_dims(t, s, false);
        uk_put(t, "]\n");
    }
    uk_put(t, "S: %s[", y);
    for (int d = 0; d < s->rank; d++) {
        uk_put(t, "%s", d ? ", " : "");
        if (!s->element[d]) {
            uk_put(t, "a%d", d);
            continue;
        }
        uk_put(t, "%s%c%d[", s->wraps ? "wrap(" : "", s->temp ? 'J' : 'I', d);
        put_names(t, s, false, false);
        uk_put(t, "]%s", s->wraps ? ")" : "");
    }
    uk_put(t, "] %s U[", assigns[s->assign]);
    put_names(t, s, false, true);
    uk_put(t, "]\n");
    if (s->through) {
        uk_put(t, "after: Y[");
        put_dims(t, s, false);
        uk_put(t, "] = T[");
        put_dims(t, s, false);
        uk_put(t, "]\n");
    }
}

/* Appends steps that are legal for any such program. */
static void put_steps(struct uk_text *t, const struct scatter *s, uint64_t *x) {
    int plain = -1;

    for (int d = 0; d < s->rank; d++)
        plain = s->element[d] ? plain : d;
    switch (below(x, 5)) {
    case 0:
        uk_put(t, "\nschedule\n");
        break;
    case 1:
        if (plain >= 0)
            uk_put(t, "\nschedule\nparallel S.a%d\n", plain);
        break;
    case 2:
        if (plain >= 0 && !s->nested && s->element[0])
            uk_put(t, "\nschedule\nsplit S.a%d 4 -> ao ai\nvectorize ai\n", plain);
        break;
    case 3:
        if (s->batch)
            uk_put(t, "\nschedule\nsplit S.b0 3 -> bo bi\nunroll bi\n");
        break;
    default:
        break;
    }
}

static struct uk_program *make(const struct scatter *s, uint64_t *x, struct uk_text *t) {
    const char *type = uk_type_name(s->type);

    if (s->through) {
        uk_put(t, "tensor X %s [", type);
        put_dims(t, s, true);
        uk_put(t, "]\ntemp T %s [", type);
        put_dims(t, s, true);
        uk_put(t, "]\n");
    }
    uk_put(t, "tensor U %s [", type);
    put_names(t, s, true, true);
    uk_put(t, "]\ntensor Y %s [", type);
    put_dims(t, s, true);
    uk_put(t, "]\n");
    put_indices(t, s);
    put_statement(t, s);
    put_steps(t, s, x);
    assert_non_null(t->text);
    struct uk_program *p = parse_text(t->text);
    for (int i = 0; i < s->rank + s->batch; i++) {
        const bool of_dims = i < s->rank;
        char name[4];

        if (of_dims && s->element[i] && s->extent[i] % 2) /* some sizes stay arguments */
            continue;
        snprintf(name, sizeof name, "%c%d", of_dims ? 'A' : 'B', of_dims ? i : i - s->rank);
        assert_int_equal(uk_program_define(p, name, of_dims ? s->extent[i] : s->count[i - s->rank]), UK_OK);
    }
    return p;
}

/* ---- operands and the result by definition ---- */

struct operands {
    _Alignas(64) char x[ROOM * 8], u[ROOM * 8], y[ROOM * 8], start[ROOM * 8], wanted[ROOM * 8];
    _Alignas(64) char index[RANK][ROOM * 8];
};

/* The value of each iterator, and its extent; the instances' order is that of the iterators' first appearance
 * on the left. */
struct instance {
    int64_t a[RANK], b[BATCH];
    int order[ITERATORS], n; /* d: a<d>; RANK + b: b<b> */
};

static void find_order(const struct scatter *s, struct instance *i) {
    bool seen[ITERATORS] = {false};

    i->n = 0;
    for (int d = 0; d < s->rank; d++) {
        if (!s->element[d] && !seen[d]) {
            seen[d] = true;
            i->order[i->n++] = d;
        }
        for (int b = 0; s->element[d] && b < s->batch; b++)
            if (!seen[RANK + b]) {
                seen[RANK + b] = true;
                i->order[i->n++] = RANK + b;
            }
    }
}

/* The position in I, with `plain` that in U. */
static int64_t position(const struct scatter *s, const struct instance *i, bool plain) {
    int64_t at = 0;

    for (int d = 0; d < s->rank; d++)
        if (!s->element[d] && (plain || (s->nested && !d)))
            at = at * s->extent[d] + i->a[d];
    for (int b = 0; b < s->batch; b++)
        at = at * s->count[b] + i->b[b];
    return at;
}

static int64_t product(const struct scatter *s, bool plain) {
    int64_t n = 1;

    for (int d = 0; d < s->rank; d++)
        if (!s->element[d] && (plain || (s->nested && !d)))
            n *= s->extent[d];
    for (int b = 0; b < s->batch; b++)
        n *= s->count[b];
    return n;
}

static int64_t elements(const struct scatter *s) {
    int64_t n = 1;

    for (int d = 0; d < s->rank; d++)
        n *= s->extent[d];
    return n;
}

static struct value combined(const struct scatter *s, struct value old, struct value v) {
    const bool real = is_float(s->type), more = real ? v.d > old.d : v.i > old.i,
               less = real ? v.d < old.d : v.i < old.i;

    switch (s->assign) {
    case UK_ASSIGN_ADD:
        return (struct value){.d = old.d + v.d, .i = (int64_t)((uint64_t)old.i + (uint64_t)v.i)};
    case UK_ASSIGN_MULTIPLY:
        return (struct value){.d = old.d * v.d, .i = (int64_t)((uint64_t)old.i * (uint64_t)v.i)};
    case UK_ASSIGN_MAX:
        return more ? v : old;
    case UK_ASSIGN_MIN:
        return less ? v : old;
    default:
        return v;
    }
}

static void run_instances(const struct scatter *s, struct operands *o, struct instance *i, int level) {
    if (level < i->n) {
        const int which = i->order[level];
        int64_t *at = which < RANK ? &i->a[which] : &i->b[which - RANK],
                extent = which < RANK ? s->extent[which] : s->count[which - RANK];

        for (*at = 0; *at < extent; ++*at)
            run_instances(s, o, i, level + 1);
        return;
    }
    int64_t at = 0;
    for (int d = 0; d < s->rank; d++) {
        int64_t k = i->a[d];

        if (s->element[d]) {
            k = get_value(s->index_type, o->index[d], (int)position(s, i, false)).i + s->temp;
            k = s->index_type == UK_U8 ? (uint8_t)k : k; /* 255 + 1 wraps */
            k += k < 0 ? s->extent[d] : 0;
        }
        at = at * s->extent[d] + k;
    }
    put_value(s->type, o->wanted, (int)at,
              combined(s, get_value(s->type, o->wanted, (int)at),
                       get_value(s->type, o->u, (int)position(s, i, true))));
}

/* Small integers: every sum and product is exact. */
static void fill(const struct scatter *s, struct operands *o, uint64_t *x) {
    const int64_t indices = product(s, false);
    struct instance i = {.n = 0};

    assert_true(product(s, true) <= ROOM && elements(s) <= ROOM);
    for (int64_t e = 0; e < ROOM; e++) {
        const int v[] = {below(x, 4), below(x, 4), below(x, 4)}, low = s->type == UK_U8 ? 0 : 2;

        put_value(s->type, o->x, (int)e, (struct value){.d = v[0] - low, .i = v[0] - low});
        put_value(s->type, o->u, (int)e, (struct value){.d = v[1] - low, .i = v[1] - low});
        put_value(s->type, o->start, (int)e, (struct value){.d = v[2] - low, .i = v[2] - low});
    }
    for (int d = 0; d < s->rank; d++)
        for (int64_t e = 0; s->element[d] && e < indices; e++) {
            int64_t k = below(x, (int)s->extent[d]);

            k -= s->wraps && s->index_type != UK_U8 && below(x, 2) ? s->extent[d] : 0;
            put_value(s->index_type, o->index[d], (int)e, (struct value){.i = k - s->temp});
        }
    memcpy(o->wanted, s->through ? o->x : o->start, sizeof o->wanted);
    find_order(s, &i);
    run_instances(s, o, &i, 0);
}

/* ---- the ways to run it ---- */

static int call(const struct scatter *s, struct uk_program *p, struct uk_module *m, struct operands *o) {
    int64_t sizes[ITERATORS];
    void *tensors[RANK + 3];
    int n = 0, count = 0;

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (!m || !v->defined) /* modules take only the sizes that are arguments */
            sizes[count++] = v->name[0] == 'A' ? s->extent[v->name[1] - '0'] : s->count[v->name[1] - '0'];
    if (s->through)
        tensors[n++] = o->x;
    tensors[n++] = o->u;
    tensors[n++] = o->y;
    for (int d = 0; d < s->rank; d++)
        if (s->element[d])
            tensors[n++] = o->index[d];
    memcpy(o->y, o->start, sizeof o->y);
    return m ? uk_module_call(m, sizes, NULL, tensors) : (int)uk_program_interpret(p, sizes, NULL, tensors);
}

static const struct uk_options ways[] = {
    {.target = "interp"}, {.target = "x86_64-generic"}, {.target = NULL}, {.threads = 4}};
enum { WAYS = sizeof ways / sizeof *ways };

/* Calls every way, and the interpreter of the statements. */
static void expect(const struct scatter *s, struct uk_program *p, struct uk_module *const *m,
                   struct operands *o, int status, const void *wanted, const char *text) {
    for (int w = 0; w <= WAYS; w++) {
        const int got = call(s, p, w < WAYS ? m[w] : NULL, o);

        if (got != status || memcmp(o->y, wanted, (size_t)elements(s) * uk_type_bytes(s->type)))
            fail_msg("--seed %" PRIu64 ", way %d: status %d\n%s", seed, w, got, text);
    }
}

/* Puts one index out of bounds: nothing may be written. */
static bool expect_refused(const struct scatter *s, struct uk_program *p, struct uk_module *const *m,
                           struct operands *o, uint64_t *x, const char *text) {
    const int64_t indices = product(s, false);
    int d = below(x, s->rank);

    while (!s->element[d])
        d = (d + 1) % s->rank;
    if (!indices)
        return false;
    const int64_t bad[] = {s->extent[d], (s->wraps ? -s->extent[d] : 0) - 1};
    for (int k = 0; k < (s->index_type == UK_U8 ? 1 : 2); k++) {
        const int at = below(x, (int)indices);
        const struct value was = get_value(s->index_type, o->index[d], at);

        put_value(s->index_type, o->index[d], at, (struct value){.i = bad[k] - s->temp});
        expect(s, p, m, o, UK_INVALID_INDEX, o->start, text);
        put_value(s->index_type, o->index[d], at, was);
    }
    return true;
}

static void random_programs(void **state) {
    static struct operands o;
    int refused = 0;

    (void)state;
    for (int i = 0; i < programs; i++) {
        uint64_t x = seed * 1000003 + (uint64_t)i;
        const struct scatter s = draw(&x);
        struct uk_text text = {0};
        struct uk_program *p = make(&s, &x, &text);
        struct uk_module *m[WAYS];

        fill(&s, &o, &x);
        for (int w = 0; w < WAYS; w++)
            if (uk_compile(p, &ways[w], &m[w]))
                fail_msg("--seed %" PRIu64 ": %s\n%s", seed, uk_context_message(context), text.text);
        expect(&s, p, m, &o, UK_OK, o.wanted, text.text);
        refused += expect_refused(&s, p, m, &o, &x, text.text);
        for (int w = 0; w < WAYS; w++)
            uk_module_destroy(m[w]);
        uk_program_destroy(p);
        free(text.text);
    }
    assert_true(refused > programs / 2);
}

/* Elements of a result, computed one by one: the deviations of terms that meet in one element add up. */
static void single_elements(void **state) {
    struct uk_program *p = parse_text("tensor X f32 [4, 2]\ntensor K i64 [3]\ntensor U f32 [3]\n"
                                      "temp J i64 [3]\ntemp V f32 [3]\ntensor Y f32 [4]\n"
                                      "J[n] = K[n] + 1\nV[n] = U[n] * 2\nY[m] = sum(k) X[m, k] * X[m, k]\n"
                                      "Y[J[n]] += V[n]\nY[wrap(K[n])] *= U[n]\n");
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, u[3] = {2, 3, 5}, y[4] = {0}, value[4];
    int64_t k[3] = {1, 1, -1};
    const int64_t all[4] = {3, 2, 1, 0};
    double error[4];

    (void)state;
    assert_int_equal(
        uk_program_interpret_elements(p, NULL, NULL, NULL, (void *[]){x, k, u, y}, 3, 4, all, value, error),
        UK_OK);
    assert_true(value[3] == 5 + 10 && value[2] == 25 * 6 && value[1] == 61 + 10 && value[0] == 113 * 5);
    for (int i = 0; i < 4; i++)
        assert_int_equal(uk_program_interpret_elements(p, NULL, NULL, NULL, (void *[]){x, k, u, y}, 3, 1,
                                                       &all[i], &y[all[i]], error),
                         UK_OK);
    assert_true(y[0] == value[3] && y[1] == value[2] && y[2] == value[1] && y[3] == value[0]);
    k[2] = 3;
    assert_int_equal(
        uk_program_interpret_elements(p, NULL, NULL, NULL, (void *[]){x, k, u, y}, 3, 1, all, value, error),
        UK_INVALID_INDEX);
    uk_program_destroy(p);
}

int main(int argc, char **argv) {
    take_options(argc, argv,
                 (struct test_option[]){
                     {.name = "--seed", .seed = &seed}, {.name = "--programs", .number = &programs}, {0}});
    printf("--seed %" PRIu64 "\n", seed);
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs), cmocka_unit_test(single_elements)};

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
