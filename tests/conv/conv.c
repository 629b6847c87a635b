/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares convolutions exactly with their definition: every path that applies, drawn shapes with strides,
 * dilations, pads, groups, layouts, distances of rows and epilogues; infinite weights at borders; numbers of
 * threads. Operands end or begin at an inaccessible page.
 */
#define _GNU_SOURCE /* posix_memalign */
#include "conv_drawn.h"
#include "emulated.h"

/* ---- runs ---- */

struct call {
    struct conv_case *t;
    const struct uk_conv2d_plan *plan;
    const float *weights;
    void *workspace;
    size_t bytes;
    enum uk_status status;
};

static void call_run(void *argument) {
    struct call *c = argument;
    const struct conv_case *t = c->t;

    c->status = uk_sconv2d_run(c->plan, t->x.data, c->weights, t->y.data,
                               t->has_epilogue ? &t->epilogue : NULL, c->workspace, c->bytes);
}

/* Memory that ends at an inaccessible page as closely as its alignment permits, full of NaN. */
static void *take(struct arena *a, size_t bytes) {
    assert_true(arena_make(a, bytes + 64));
    memset(a->data, 0xff, a->size);
    return a->data + (a->size - bytes) / 64 * 64;
}

/* Runs the case by a plan. */
static void run_case(struct conv_case *t, const struct uk_conv2d_plan *plan, bool packed) {
    struct arena weights = {0}, workspace;
    struct call c = {.t = t, .plan = plan, .weights = t->f.data, .bytes = uk_conv2d_workspace(plan)};
    const void *where;

    for (int64_t i = 0; i < t->y.count; i++)
        t->y.data[i] = UNWRITTEN;
    c.workspace = take(&workspace, c.bytes);
    if (packed) {
        float *to = take(&weights, uk_conv2d_packed_weights_size(plan));

        assert_int_equal(uk_sconv2d_pack_weights(plan, t->f.data, to), UK_OK);
        c.weights = to;
    }
    if (!run_guarded(call_run, &c, &where)) {
        describe(t);
        fail_msg("touches memory outside of its operands");
    }
    if (c.status) {
        describe(t);
        fail_msg("%s", uk_last_message());
    }
    if (packed)
        arena_free(&weights);
    arena_free(&workspace);
}

static int applied[8];

/* Checks all paths that apply, and the chosen one with packed weights. */
static void check_case(struct conv_case *t) {
    for (int i = -1; i < 0 || uk_conv_paths[i]; i++) {
        const struct uk_conv2d_options options = {.weights_packed = i < 0, .threads = 1 + below(2)};
        const char *path = i < 0 ? NULL : uk_conv_paths[i]->name;
        struct uk_conv2d_plan plan;
        const enum uk_status status =
            uk_conv_plan(&t->shape, &options, path, (struct conv_plan *)(void *)&plan);

        if (path && status == UK_NO_MATCH)
            continue;
        assert_int_equal(status, UK_OK);
        applied[i + 1]++;
        run_case(t, &plan, options.weights_packed);
        compare(t, path ? path : "best");
    }
}

/* UK_CONV_CASES: shapes to draw. */
static int cases(void) {
    return getenv("UK_CONV_CASES") ? atoi(getenv("UK_CONV_CASES")) : 200;
}

static void drawn_shapes_are_exact(void **state) {
    (void)state;
    for (int i = 0; i < cases(); i++) {
        struct conv_case t = draw_case();

        make_operands(&t, small_integer);
        check_case(&t);
        free_operands(&t);
    }
    for (int i = 0; i < 1 || uk_conv_paths[i - 1]; i++)
        print_message("%s: %d shapes\n", i ? uk_conv_paths[i - 1]->name : "best", applied[i]);
}

/* Terms outside of the image are left out: infinite weights there make no NaN. */
static void infinite_weights_at_borders(void **state) {
    (void)state;
    for (int i = 0; i < cases() / 3; i++) {
        struct conv_case t = draw_case();

        make_operands(&t, small_integer);
        fill(&t.f, seldom_finite);
        check_case(&t);
        free_operands(&t);
    }
}

/* ---- threads ---- */

static void threads_change_no_bit(void **state) {
    int shared = 0;

    (void)state;
    SKIP_UNDER_QEMU("tasks are the same C code everywhere");
    assert_int_equal(uk_set_num_threads(8), UK_OK);
    for (int i = 0; i < cases() / 8; i++) {
        struct conv_case t = draw_case();
        const int64_t work = t.v.n * t.v.p * t.v.q * conv_terms(&t.v) * t.v.o;
        float *first = NULL;

        if (work < 20000) {
            i--;
            continue;
        }
        t.shape.n *= 1 + 4000000 / work;
        assert_int_equal(uk_conv_check(&t.shape, &t.v), UK_OK);
        make_operands(&t, fraction);
        for (int threads = 1; threads <= 8; threads += threads == 3 ? 5 : 1) {
            const struct uk_conv2d_options options = {.weights_packed = threads == 2, .threads = threads};
            struct uk_conv2d_plan plan;

            assert_int_equal(uk_sconv2d_plan(&plan, &t.shape, &options), UK_OK);
            shared += ((struct conv_plan *)(void *)&plan)->row_tasks *
                          ((struct conv_plan *)(void *)&plan)->panel_tasks >
                      1;
            run_case(&t, &plan, options.weights_packed);
            if (first && memcmp(first, t.y.data, (size_t)t.y.count * sizeof *first)) {
                describe(&t);
                fail_msg("%d threads give other bits than one", threads);
            }
            if (!first) {
                first = malloc((size_t)t.y.count * sizeof *first);
                assert_non_null(first);
                memcpy(first, t.y.data, (size_t)t.y.count * sizeof *first);
            }
        }
        free(first);
        free_operands(&t);
    }
    print_message("several tasks: %d plans\n", shared);
    assert_true(shared > 0);
    assert_int_equal(uk_set_num_threads(0), UK_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(drawn_shapes_are_exact),
                                       cmocka_unit_test(infinite_weights_at_borders),
                                       cmocka_unit_test(threads_change_no_bit)};

    begin_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
