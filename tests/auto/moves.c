/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stages that only move elements: transpositions of drawn shapes, orders, types and strides, of two to four
 * dimensions, equal the interpreter's, byte for byte. Some strides are powers of two.
 *
 *     moves [--seed N|new] [--count N]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "language/language.h"
#include "random.h"
#include "run_program.h"
#include "test_context.h"
#include "test_options.h"

enum { MOST_DIMS = 4, MOST_ELEMENTS = 200000 };

static uint64_t seed = 1;
static int count = 60;

struct shape {
    int dims, order[MOST_DIMS]; /* dimension d of the result is dimension order[d] of the source */
    int extent[MOST_DIMS];      /* of the source */
    int padding[2];             /* elements between rows of the source and of the result */
};

static int draw_extent(uint64_t *x, int64_t most) {
    static const int usual[] = {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 256, 512, 1024};
    const int n =
        random_below(x, 2) ? usual[random_below(x, sizeof usual / sizeof *usual)] : 1 + random_below(x, 300);

    return n < most ? n : (int)most;
}

static void draw_shape(uint64_t *x, struct shape *s) {
    int64_t elements = 1;

    s->dims = 2 + random_below(x, MOST_DIMS - 1);
    for (int d = 0; d < s->dims; d++) {
        s->order[d] = d;
        s->extent[d] = draw_extent(x, MOST_ELEMENTS / elements);
        elements *= s->extent[d];
    }
    for (int d = s->dims - 1; d > 0; d--) {
        const int other = random_below(x, d + 1), kept = s->order[d];

        s->order[d] = s->order[other];
        s->order[other] = kept;
    }
    for (int i = 0; i < 2; i++)
        s->padding[i] = random_below(x, 3) ? 0 : random_below(x, 70);
}

/* Prints the declaration of a tensor whose rows are `padding` elements longer than its last dimension. */
static void print_tensor(struct uk_text *t, const char *name, const char *type, int dims, const int *extent,
                         int padding) {
    int64_t stride = extent[dims - 1] + padding, strides[MOST_DIMS];

    strides[dims - 1] = 1;
    for (int d = dims - 2; d >= 0; stride *= extent[d--])
        strides[d] = stride;
    uk_put(t, "tensor %s %s [", name, type);
    for (int d = 0; d < dims; d++)
        uk_put(t, "%s%d", d ? ", " : "", extent[d]);
    uk_put(t, "] stride [");
    for (int d = 0; d < dims; d++)
        uk_put(t, "%s%lld", d ? ", " : "", (long long)strides[d]);
    uk_put(t, "]\n");
}

static void print_program(struct uk_text *t, const struct shape *s, const char *type) {
    int to[MOST_DIMS];

    for (int d = 0; d < s->dims; d++)
        to[d] = s->extent[s->order[d]];
    print_tensor(t, "X", type, s->dims, s->extent, s->padding[0]);
    print_tensor(t, "Y", type, s->dims, to, s->padding[1]);
    uk_put(t, "Y[");
    for (int d = 0; d < s->dims; d++)
        uk_put(t, "%si%d", d ? ", " : "", s->order[d]);
    uk_put(t, "] = X[");
    for (int d = 0; d < s->dims; d++)
        uk_put(t, "%si%d", d ? ", " : "", d);
    uk_put(t, "]\n");
}

static void check_move(uint64_t *x, const char *target) {
    static const char *const types[] = {"u8", "i8", "f16", "bf16", "i16", "f32", "i32", "f64", "i64"};
    struct uk_text t = {0};
    struct shape s;
    struct random_data d = {0};

    draw_shape(x, &s);
    print_program(&t, &s, types[random_below(x, sizeof types / sizeof *types)]);
    assert_false(t.failed);
    struct run r = {.context = context,
                    .program = run_parse(context, "move.uk", t.text, NULL),
                    .options = {.target = target, .threads = 1 + random_below(x, 2)}};
    if (run_compile(&r))
        fail_msg("%s\n%s", uk_context_message(context), t.text);
    random_data_fill(&d, r.program, random_next(x));
    if (!run_is_right(&r, &d))
        fail_msg("%s: wrong\n%s", target, t.text);
    random_data_free(&d);
    run_end(&r);
    uk_text_free(t.text);
}

static void drawn_moves(void **state) {
    static const char *const targets[] = {"x86_64-avx2", "x86_64-avx512"};
    uint64_t x = seed;

    (void)state;
    for (int i = 0; i < count; i++)
        if (run_is_possible(targets[i % 2]))
            check_move(&x, targets[i % 2]);
}

int main(int argc, char **argv) {
    const struct test_option options[] = {
        {.name = "--seed", .seed = &seed}, {.name = "--count", .number = &count}, {0}};
    const struct CMUnitTest tests[] = {cmocka_unit_test(drawn_moves)};

    take_options(argc, argv, options);
    return cmocka_run_group_tests_name("moves", tests, make_context, destroy_context);
}
