/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests what uk_program_check() refuses with isl: layouts that give two elements the same place, and reads of
 * elements of temps that no statement has written. For random ones, the expected answer is counted over all
 * sizes that the program admits.
 *
 *     places [--seed N|new] [--layouts N] [--parts N]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "language/language.h"
#include "random.h"
#include "ukernels.h"
#include "seed.h"
#include "test_context.h"

static uint64_t seed = 1;
static int layouts = 1500, parts = 1000;

/* ---- messages ---- */

struct refused {
    const char *text, *message;
};

static const struct refused refused_texts[] = {
    {"tensor X f32 [N]\ntemp T f32 [N] layout (i) -> [i / 2]\ntensor Y f32 [N]\nT[i] = X[i]\nY[i] = T[i]\n",
     "f.uk:2:6: error: the layout of T is not one to one: T[0] and T[1] share place [0] for N = 2; give each "
     "element a place of its own, as (i) -> [i / 4, i % 4] does"},
    {"tensor X f32 [M, N] layout (i, j) -> [i % 4, j]\nX[i, j] = 1\n",
     "f.uk:1:8: error: the layout of X is not one to one: X[0, 0] and X[4, 0] share place [0, 0] for M = 5, "
     "N = 1; give each element a place of its own, as (i) -> [i / 4, i % 4] does"},
    {"tensor X f32 [8] layout (i) -> [0]\ntensor Y f32 [8]\nY[i] = X[i]\n",
     "f.uk:1:8: error: the layout of X is not one to one: X[0] and X[1] share place [0]; give each element a "
     "place of its own, as (i) -> [i / 4, i % 4] does"},
    {"tensor X f32 [N, 5] layout (i, j) -> [4 * i + j] stride [1]\nassume N > 3\nX[i, j] = 1\n",
     "f.uk:1:8: error: the layout of X is not one to one: X[0, 4] and X[1, 0] share place [4] for N = 4; "
     "give each element a place of its own, as (i) -> [i / 4, i % 4] does"},
    {"intrinsic k\n  tensor a f32 [16]\n  tensor c f32 [16] layout (i) -> [i % 8]\n  c[i] = a[i] + a[i]\n"
     "  compute void k(ptr a, ptr c)\nend\ntensor Y f32 [4]\nY[i] = 1\n",
     "f.uk:3:10: error: the layout of c is not one to one: c[0] and c[8] share place [0]; give each element "
     "a place of its own, as (i) -> [i / 4, i % 4] does"},
    {"tensor X f32 [M]\ntemp T f32 [M + 1]\ntensor Y f32 [M + 1]\nT[i + 1] = X[i]\nY[i] = T[i]\n",
     "f.uk:5:8: error: temp T: T[0] is read, but no earlier statement writes it for M = 0; write it, or "
     "exclude these sizes by `assume`"},
    {"tensor A f32 [H, 8]\ntensor B f32 [H, P]\ntemp T f32 [H, 24]\ntensor Y f32 [H, 24]\n"
     "T[h, c + 0] = A[h, c]\nb: T[h, c + 8] = B[h, c]\nY[h, c] = T[h, c]\n",
     "f.uk:7:11: error: temp T: T[0, 8] is read, but no earlier statement writes it for H = 1, P = 0; write "
     "it, or exclude these sizes by `assume`"},
};

static const char *const taken_texts[] = {
    "tensor X f32 [N] layout (i) -> [i % 4]\nassume N <= 4\nX[i] = 1\n",
    "tensor X f32 [N, 4] layout (i, j) -> [4 * i + j]\nX[i, j] = 1\n",
    "tensor X f32 [N] layout (i) -> [i % 8, i / 4]\nX[i] = 1\n",
    "tensor X f32 [M, N] layout (i, j) -> [j, i] stride [M, 1]\nX[i, j] = 1\n",
    "tensor A f32 [H, 8]\ntensor B f32 [H, P]\ntemp T f32 [H, 24]\ntensor Y f32 [H, 24]\nassume P == 16\n"
    "T[h, c + 0] = A[h, c]\nb: T[h, c + 8] = B[h, c]\nY[h, c] = T[h, c]\n",
    "tensor A f32 [H, 8]\ntemp T f32 [H, 24]\ntensor Y f32 [H, 8]\nT[h, c + 16] = A[h, c]\n"
    "Y[h, c] = T[h, c + 16]\n",
    "tensor A f32 [N]\ntemp T f32 [N + 2]\ntensor Y f32 [N + 2]\nT[i + 1] = A[i]\nlow: T[i] = 0 where i < 1\n"
    "high: T[i + N + 1] = 0 where i < 1\nY[i] = T[i]\n",
};

static void messages(void **state) {
    struct uk_module *m;

    (void)state;
    for (size_t i = 0; i < sizeof refused_texts / sizeof *refused_texts; i++) {
        struct uk_program *p = parse_text(refused_texts[i].text);

        assert_int_equal(uk_program_check(p), UK_REFUSED);
        assert_string_equal(uk_context_message(context), refused_texts[i].message);
        assert_int_equal(uk_compile(p, NULL, &m), UK_REFUSED);
        assert_string_equal(uk_context_message(context), refused_texts[i].message);
        uk_program_destroy(p);
    }
    for (size_t i = 0; i < sizeof taken_texts / sizeof *taken_texts; i++) {
        struct uk_program *p = parse_text(taken_texts[i]);

        if (uk_program_check(p))
            fail_msg("%s\n%s", uk_context_message(context), taken_texts[i]);
        uk_program_destroy(p);
    }
}

/* A program that is built by calls: the check and the interpreter refuse it or not, depending on the size
 * that is defined afterwards. */
static void calls(void **state) {
    struct uk_program *p;
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    void *tensor[] = {x};

    (void)state;
    assert_int_equal(uk_program_create(context, "f", &p), UK_OK);
    struct uk_index *n = uk_size(p, "N"), *i = uk_iterator(p, "i");
    struct uk_tensor *t = uk_tensor(p, "X", UK_F32, 1, &n, NULL);

    uk_tensor_layout(p, t, "(i) -> [i % 4]", NULL);
    uk_statement(p, NULL, t, &i, UK_ASSIGN, NULL, uk_number(p, 0));
    assert_int_equal(uk_program_check(p), UK_REFUSED);
    assert_string_equal(
        uk_context_message(context),
        "f: tensor 1: error: the layout of X is not one to one: X[0] and X[4] share place [0] "
        "for N = 5; give each element a place of its own, as (i) -> [i / 4, i % 4] does");
    assert_int_equal(uk_program_interpret(p, (const int64_t[]){3}, NULL, tensor), UK_REFUSED);
    assert_true(x[0] == 1);
    assert_int_equal(uk_program_define(p, "N", 4), UK_OK);
    assert_int_equal(uk_program_interpret(p, (const int64_t[]){4}, NULL, tensor), UK_OK);
    assert_true(x[0] == 0 && x[3] == 0 && x[4] == 5);
    assert_int_equal(uk_program_define(p, "N", 5), UK_OK);
    assert_int_equal(uk_program_interpret(p, (const int64_t[]){5}, NULL, tensor), UK_REFUSED);
    uk_program_destroy(p);
}

/* Strides of temps are checked like those of arguments, whichever way the program runs. */
static void strides_of_temps(void **state) {
    static const char text[] = "size N, s\ntensor X f32 [N, 2]\ntemp T f32 [N, 2] stride [s, 1]\n"
                               "tensor Y f32 [N, 2]\nT[i, j] = X[i, j]\nY[i, j] = T[i, j]\n";
    struct uk_program *p = parse_text(text);
    float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {0};
    void *tensor[] = {x, y};

    (void)state;
    for (int way = 0; way < 3; way++)
        for (int s = 1; s <= 3; s++) {
            const int64_t sizes[] = {3, s};
            const enum uk_status expected = s < 2 ? UK_INVALID_SIZE : UK_OK;
            struct uk_module *m;

            memset(y, 0, sizeof y);
            if (way == 2) {
                assert_int_equal(uk_program_interpret(p, sizes, NULL, tensor), expected);
            } else {
                assert_int_equal(uk_compile(p, &(struct uk_options){.target = way ? "interp" : NULL}, &m),
                                 UK_OK);
                assert_int_equal(uk_module_call(m, sizes, NULL, tensor), expected);
                uk_module_destroy(m);
            }
            assert_int_equal(memcmp(x, y, sizeof y) == 0, !expected);
        }
    uk_program_destroy(p);
}

/* The registry's own declarations pass the checks, which programs that use their kernels do not repeat. */
static void kernels(void **state) {
    static char text[16384];

    (void)state;
    for (int i = 0; i < uk_kernel_count(); i++) {
        const size_t n = uk_kernel_declaration(uk_kernel_at(i), text, sizeof text);
        struct uk_program *p;

        assert_in_range(n, 1, sizeof text - 64);
        strcat(text, "\ntensor Y_ f32 [4]\nY_[i_] = 1\n");
        p = parse_text(text);
        if (uk_program_check(p))
            fail_msg("%s\n%s", uk_context_message(context), text);
        uk_program_destroy(p);
    }
}

/* ---- random layouts ---- */

enum { MOST_SIZE = 9, MOST_PLACES = 3 };

/* a term of a sum: factor * (name / divisor % modulus); modulus 0: none */
struct term {
    int name, factor, divisor, modulus;
};

struct layout {
    int dims, places, terms[MOST_PLACES];
    struct term term[MOST_PLACES][2];
    int extent[2]; /* 0: the size N */
    int most;      /* largest N */
    int multiple;  /* N is a multiple of it */
};

static void draw(uint64_t *x, struct layout *l) {
    static const int divisors[] = {1, 1, 2, 3, 4};

    *l = (struct layout){.dims = 1 + random_below(x, 2),
                         .places = 1 + random_below(x, 3),
                         .most = 1 + random_below(x, MOST_SIZE)};
    l->multiple = 1 + random_below(x, 2) * random_below(x, 4);
    for (int d = 0; d < l->dims; d++)
        l->extent[d] = random_below(x, 2) ? 1 + random_below(x, 6) : 0;
    for (int k = 0; k < l->places; k++) {
        l->terms[k] = 1 + !random_below(x, 3);
        for (int t = 0; t < l->terms[k]; t++)
            l->term[k][t] = (struct term){.name = random_below(x, l->dims),
                                          .factor = random_below(x, 3) ? 1 : random_below(x, 6),
                                          .divisor = divisors[random_below(x, 5)],
                                          .modulus = random_below(x, 3) ? 0 : 1 + random_below(x, 5)};
    }
}

static void put_layout(struct uk_text *t, const struct layout *l) {
    uk_put(t, "size N\ntensor X f32 [");
    for (int d = 0; d < l->dims; d++)
        uk_put(t, l->extent[d] ? "%s%d" : "%sN", d ? ", " : "", l->extent[d]);
    uk_put(t, "] layout (%s) -> [", l->dims > 1 ? "i, j" : "i");
    for (int k = 0; k < l->places; k++)
        for (int n = 0; n < l->terms[k]; n++) {
            const struct term *e = &l->term[k][n];

            uk_put(t, "%s%d * (%c / %d", n ? " + " : k ? ", " : "", e->factor, "ij"[e->name], e -> divisor);
            uk_put(t, e->modulus ? " %% %d)" : ")", e->modulus);
        }
    uk_put(t, "]\nassume N <= %d and N %% %d == 0\nX[%s] = 1\n", l->most, l->multiple,
           l->dims > 1 ? "i, j" : "i");
}

static void place_of(const struct layout *l, const int index[2], int place[MOST_PLACES]) {
    for (int k = 0; k < l->places; k++) {
        place[k] = 0;
        for (int n = 0; n < l->terms[k]; n++) {
            const struct term *e = &l->term[k][n];
            const int digit = index[e->name] / e->divisor;

            place[k] += e->factor * (e->modulus ? digit % e->modulus : digit);
        }
    }
}

static bool share(const struct layout *l, const int a[2], const int b[2]) {
    int at[MOST_PLACES], other[MOST_PLACES];

    place_of(l, a, at);
    place_of(l, b, other);
    return !memcmp(at, other, sizeof at[0] * (size_t)l->places);
}

/* True if two elements have the same place, for some size. */
static bool any_share(const struct layout *l) {
    for (int n = 0; n <= l->most; n += l->multiple) {
        const int e[2] = {l->extent[0] ? l->extent[0] : n, l->dims < 2 ? 1 : l->extent[1] ? l->extent[1] : n};

        for (int a = 0; a < e[0] * e[1]; a++)
            for (int b = 0; b < a; b++)
                if (share(l, (int[]){a / e[1], a % e[1]}, (int[]){b / e[1], b % e[1]}))
                    return true;
    }
    return false;
}

static int number_after(const char **text, const char *mark) {
    const char *at = strstr(*text, mark);

    if (!at)
        fail_msg("no %s in %s", mark, *text);
    *text = at + strlen(mark);
    return (int)strtol(*text, (char **)text, 10);
}

/* The message names two different elements, which exist for the size that it names and have the same
 * place. */
static void check_witness(const struct layout *l, const char *message) {
    const char *at = message;
    int a[2] = {0}, b[2] = {0}, n = 0;

    a[0] = number_after(&at, "X[");
    if (l->dims > 1)
        a[1] = number_after(&at, ", ");
    b[0] = number_after(&at, "X[");
    if (l->dims > 1)
        b[1] = number_after(&at, ", ");
    if (strstr(at, " for N = "))
        n = number_after(&at, " for N = ");
    assert_true(memcmp(a, b, sizeof a) && share(l, a, b) && n <= l->most && n % l->multiple == 0);
    for (int d = 0; d < l->dims; d++)
        assert_true(a[d] < (l->extent[d] ? l->extent[d] : n) && b[d] < (l->extent[d] ? l->extent[d] : n));
}

static void random_layouts(void **state) {
    uint64_t x = seed * 0x9e3779b97f4a7c15;
    int refused = 0;

    (void)state;
    for (int i = 0; i < layouts; i++) {
        struct uk_text t = {0};
        struct uk_program *p;
        struct layout l;

        draw(&x, &l);
        put_layout(&t, &l);
        p = parse_text(t.text);
        const enum uk_status status = uk_program_check(p), expected = any_share(&l) ? UK_REFUSED : UK_OK;

        if (status != expected)
            fail_msg("layout %d of seed %llu: %s\n%s", i, (unsigned long long)seed,
                     status ? uk_context_message(context) : "two elements share a place", t.text);
        if (status)
            check_witness(&l, uk_context_message(context));
        refused += status != UK_OK;
        uk_program_destroy(p);
        uk_text_free(t.text);
    }
    assert_in_range(refused, layouts / 10, layouts - layouts / 10);
}

/* ---- random parts of a temp ---- */

enum { MOST_PARTS = 4, EXTENT = 12 };

/* The elements T[low + i], 0 <= i < extent; low_by_n, extent_by_n: N is added. */
struct part {
    int low, extent;
    bool low_by_n, extent_by_n;
};

static int value_of(int c, bool by_n, int n) {
    return c + (by_n ? n : 0);
}

static struct part draw_part(uint64_t *x) {
    return (struct part){random_below(x, 6), random_below(x, 7), !random_below(x, 3), !random_below(x, 3)};
}

static void put_sum(struct uk_text *t, int c, bool by_n) {
    uk_put(t, by_n ? "%d + N" : "%d", c);
}

/* True if each element that is read was written before, for all sizes for which every access is within
 * bounds. */
static bool all_written(const struct part *part, int n, const struct part *read, int most) {
    for (int size = 0; size <= most; size++) {
        bool written[EXTENT + 2 * MOST_SIZE + 16] = {false};

        for (int k = 0; k < n; k++)
            for (int i = 0; i < value_of(part[k].extent, part[k].extent_by_n, size); i++)
                written[i + value_of(part[k].low, part[k].low_by_n, size)] = true;
        for (int i = 0; i < value_of(read->extent, read->extent_by_n, size); i++) {
            const int at = i + value_of(read->low, read->low_by_n, size);

            if (at < EXTENT + size && !written[at])
                return false;
        }
    }
    return true;
}

static void random_parts(void **state) {
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15;
    int refused = 0;

    (void)state;
    for (int i = 0; i < parts; i++) {
        struct part part[MOST_PARTS], read = draw_part(&x);
        const int n = 1 + random_below(&x, MOST_PARTS), most = random_below(&x, 6);
        struct uk_text t = {0};
        struct uk_program *p;

        uk_put(&t, "size N\ntemp T f32 [N + %d]\ntensor Y f32 [N + 40]\nassume N <= %d\n", EXTENT, most);
        for (int k = 0; k < n; k++) {
            part[k] = draw_part(&x);
            uk_put(&t, "t%d: T[i + ", k);
            put_sum(&t, part[k].low, part[k].low_by_n);
            uk_put(&t, "] = 1 where i < ");
            put_sum(&t, part[k].extent, part[k].extent_by_n);
            uk_put(&t, "\n");
        }
        uk_put(&t, "Y[i] = T[i + ");
        put_sum(&t, read.low, read.low_by_n);
        uk_put(&t, "] where i < ");
        put_sum(&t, read.extent, read.extent_by_n);
        uk_put(&t, "\n");
        p = parse_text(t.text);
        const enum uk_status status = uk_program_check(p);
        const enum uk_status expected = all_written(part, n, &read, most) ? UK_OK : UK_REFUSED;

        if (status != expected)
            fail_msg("parts %d of seed %llu: %s\n%s", i, (unsigned long long)seed,
                     status ? uk_context_message(context) : "an element is not written", t.text);
        refused += status != UK_OK;
        uk_program_destroy(p);
        uk_text_free(t.text);
    }
    assert_in_range(refused, parts / 10, parts - parts / 10);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages), cmocka_unit_test(calls),          cmocka_unit_test(strides_of_temps),
        cmocka_unit_test(kernels),  cmocka_unit_test(random_layouts), cmocka_unit_test(random_parts),
    };

    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seed"))
            seed = seed_of(argv[i + 1]);
        else if (!strcmp(argv[i], "--layouts"))
            layouts = atoi(argv[i + 1]);
        else if (!strcmp(argv[i], "--parts"))
            parts = atoi(argv[i + 1]);
    }
    printf("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
