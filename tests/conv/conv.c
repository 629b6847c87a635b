/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares convolutions exactly with their definition: every path that applies, drawn shapes with strides,
 * dilations, pads, groups, layouts, distances of rows and epilogues; infinite weights at borders; numbers of
 * threads. Operands end or begin at an inaccessible page.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "conv_shape.h"
#include "emulated.h"

/* ---- small caches, so that small shapes have several blocks and boxes of terms ---- */

enum { SMALL = 16384, LARGE = 262144 };

const struct uk_machine *__real_uk_machine(void);
const struct uk_machine *__wrap_uk_machine(void);
static struct uk_machine smaller;

static void make_smaller(void) {
    smaller = *__real_uk_machine();
    smaller.cache[UK_L1].size = 2048;
    smaller.cache[UK_L2].size = SMALL;
}

const struct uk_machine *__wrap_uk_machine(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_smaller);
    return &smaller;
}

/* ---- drawn shapes ---- */

static void draw_strides(const struct uk_conv2d *s, struct uk_image_strides *strides, int64_t h, int64_t w,
                         int64_t c) {
    const int64_t more = below(3) ? 0 : 1 + below(5);

    if (s->layout == UK_NHWC) {
        strides->column = more || below(2) ? c + more : 0;
        strides->row = below(2) ? w * (c + more) + below(3) : 0;
        strides->image = below(2) && strides->row ? h * strides->row + below(3) : 0;
    } else {
        strides->row = more || below(2) ? w + more : 0;
        strides->channel = below(2) ? h * (w + more) + below(3) : 0;
        strides->image = below(2) && strides->channel ? c * strides->channel + below(3) : 0;
    }
}

static void draw_epilogue(struct conv_case *t) {
    struct uk_sgemm_epilogue *e = &t->epilogue;
    static const float any;

    t->has_epilogue = below(2);
    if (!t->has_epilogue)
        return;
    if (!below(4)) {
        e->flags |= UK_EPILOGUE_SCALE;
        e->scale = (float)below(3);
    }
    if (below(2)) {
        e->flags |= UK_EPILOGUE_CLAMP;
        e->low = (float)(below(20) - 20);
        e->high = (float)below(20);
    }
    if (below(2))
        e->flags |= UK_EPILOGUE_RESIDUAL;
    if (below(2))
        e->column_bias = &any; /* replaced by the operand */
}

static struct conv_case draw(void) {
    struct conv_case t = {.at_end = below(2)};

    smaller.cache[UK_L2].size = below(2) ? SMALL : LARGE; /* plans read it */
    draw_shape(&t.shape);
    assert_int_equal(uk_conv_check(&t.shape, &t.v), UK_OK);
    draw_strides(&t.shape, &t.shape.x, t.v.h, t.v.w, t.v.c);
    draw_strides(&t.shape, &t.shape.y, t.v.p, t.v.q, t.v.o);
    if (uk_conv_check(&t.shape, &t.v)) {
        describe(&t);
        fail_msg("%s", uk_last_message());
    }
    draw_epilogue(&t);
    return t;
}

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
        t->y.data[i] = 12345;
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

/* Compares Y, and what is between its elements. */
static void compare(const struct conv_case *t, const char *path) {
    const struct conv_shape *v = &t->v;
    char *is_element = calloc((size_t)t->y.count + 1, 1);

    assert_non_null(is_element);
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t p = 0; p < v->p; p++)
            for (int64_t q = 0; q < v->q; q++)
                for (int64_t o = 0; o < v->o; o++) {
                    const int64_t at = image_at(&v->y, n, p, q, o);
                    const double expected = element_of(t, n, p, q, o, at), y = (double)t->y.data[at];

                    is_element[at] = 1;
                    if (y != expected && !(isnan(y) && isnan(expected))) {
                        describe(t);
                        fail_msg("%s: element %d, %d, %d, %d is %g, not %g", path, (int)n, (int)p, (int)q,
                                 (int)o, y, expected);
                    }
                }
    for (int64_t i = 0; i < t->y.count; i++)
        if (!is_element[i] && t->y.data[i] != 12345) {
            describe(t);
            fail_msg("%s: writes between the elements of Y", path);
        }
    free(is_element);
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
        struct conv_case t = draw();

        make_operands(&t, small_integer);
        check_case(&t);
        free_operands(&t);
    }
    for (int i = 0; i < 1 || uk_conv_paths[i - 1]; i++)
        print_message("%s: %d shapes\n", i ? uk_conv_paths[i - 1]->name : "best", applied[i]);
}

/* Terms outside of the image are left out: infinite weights there make no NaN. */
static float seldom_finite(void) {
    return below(12) ? small_integer() : below(2) ? INFINITY : NAN;
}

static void infinite_weights_at_borders(void **state) {
    (void)state;
    for (int i = 0; i < cases() / 3; i++) {
        struct conv_case t = draw();

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
        struct conv_case t = draw();
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
