/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares compiled convolutions exactly with their definition: drawn shapes as for the called ones, NHWC and
 * NCHW, groups, strides, dilations and pads, weights constant or an argument; numbers of threads. Operands
 * end or begin at an inaccessible page. Sizes are numbers in the text.
 */
#define _GNU_SOURCE /* posix_memalign */
#include "conv_shape.h"
#include "test_context.h"
#include "ukernels.h"

enum { TEXT = 2048 };

/* Sets what the definition reads: dense operands of the checked shape. */
static void set_shape(struct conv_case *t) {
    const struct uk_conv2d *s = &t->shape;
    const int64_t p = (s->h + s->pad_top + s->pad_bottom - (s->r - 1) * s->dilation_h - 1) / s->stride_h + 1,
                  q = (s->w + s->pad_left + s->pad_right - (s->s - 1) * s->dilation_w - 1) / s->stride_w + 1;
    const bool is_nhwc = s->layout == UK_NHWC;

    t->v = (struct conv_shape){.n = s->n,
                               .h = s->h,
                               .w = s->w,
                               .c = s->c,
                               .o = s->o,
                               .r = s->r,
                               .s = s->s,
                               .p = p,
                               .q = q,
                               .groups = s->groups,
                               .gc = s->c / s->groups,
                               .go = s->o / s->groups,
                               .stride_h = s->stride_h,
                               .stride_w = s->stride_w,
                               .dilation_h = s->dilation_h,
                               .dilation_w = s->dilation_w,
                               .top = s->pad_top,
                               .left = s->pad_left,
                               .x = is_nhwc
                                        ? (struct uk_image_strides){s->h * s->w * s->c, s->w * s->c, s->c, 1}
                                        : (struct uk_image_strides){s->h * s->w * s->c, s->w, 1, s->h * s->w},
                               .y = is_nhwc ? (struct uk_image_strides){p * q * s->o, q * s->o, s->o, 1}
                                            : (struct uk_image_strides){p * q * s->o, q, 1, p * q},
                               .is_oihw = s->filter == UK_OIHW};
}

/* An index of an image, [n, h, w, g, c] or [n, g, c, h, w]; without groups g is left out, and in depthwise
 * convolutions c. */
static void put_image(const struct conv_case *t, char *to, const char *n, const char *h, const char *w,
                      const char *g, const char *c) {
    const bool is_depthwise = t->v.gc == 1 && t->v.go == 1, has_groups = is_depthwise || t->v.groups > 1;
    char channels[96];

    snprintf(channels, sizeof channels, "%s%s%s", has_groups ? g : "",
             has_groups && !is_depthwise ? ", " : "", is_depthwise ? "" : c);
    if (t->shape.layout == UK_NHWC)
        sprintf(to, "[%s, %s, %s, %s]", n, h, w, channels);
    else
        sprintf(to, "[%s, %s, %s, %s]", n, channels, h, w);
}

/* An index of the weights: [r, s, c, g, o] or [g, o, c, r, s]. */
static void put_weights(const struct conv_case *t, char *to, const char *r, const char *s, const char *c,
                        const char *g, const char *o) {
    const bool is_depthwise = t->v.gc == 1 && t->v.go == 1, has_groups = is_depthwise || t->v.groups > 1;
    const char *before_g = has_groups ? g : "", *after_g = has_groups && !is_depthwise ? ", " : "";

    if (t->v.is_oihw)
        sprintf(to, "[%s%s%s, %s, %s]", before_g, after_g, is_depthwise ? "" : o, is_depthwise ? r : c,
                is_depthwise ? s : r);
    else
        sprintf(to, "[%s, %s, %s%s%s]", r, s, is_depthwise ? "" : c, is_depthwise ? "" : ", ", before_g);
    if (t->v.is_oihw && !is_depthwise)
        sprintf(to + strlen(to) - 1, ", %s]", s);
    else if (!t->v.is_oihw && !is_depthwise)
        sprintf(to + strlen(to) - 1, "%s%s]", after_g, o);
}

static const char *number(char *to, int64_t value) {
    sprintf(to, "%d", (int)value);
    return to;
}

static void put_program(const struct conv_case *t, bool is_constant, char text[TEXT]) {
    const struct conv_shape *v = &t->v;
    char x[256], f[256], y[256], xi[512], fi[256], yi[256], h[96], w[96], a[8][24];
    const bool pads = t->shape.pad_top || t->shape.pad_bottom || t->shape.pad_left || t->shape.pad_right,
               is_depthwise = v->gc == 1 && v->go == 1;

    number(a[0], v->n);
    number(a[1], v->groups);
    number(a[2], v->gc);
    number(a[3], v->go);
    put_image(t, x, a[0], number(a[4], v->h), number(a[5], v->w), a[1], a[2]);
    put_image(t, y, a[0], number(a[4], v->p), number(a[5], v->q), a[1], a[3]);
    put_weights(t, f, number(a[4], v->r), number(a[5], v->s), a[2], a[1], a[3]);
    sprintf(h, "%d * p + %d * r - %d", (int)v->stride_h, (int)v->dilation_h, (int)v->top);
    sprintf(w, "%d * q + %d * s - %d", (int)v->stride_w, (int)v->dilation_w, (int)v->left);
    put_image(t, xi, "n", h, w, "g", "c");
    put_image(t, yi, "n", "p", "q", "g", "o");
    put_weights(t, fi, "r", "s", "c", "g", "o");
    snprintf(text, TEXT,
             "tensor X f32 %s\ntensor F f32 %s%s\ntensor Y f32 %s\nY%s = sum(r, s%s) %sX%s%s * F%s\n", x, f,
             is_constant ? " constant finite" : "", y, yi, is_depthwise ? "" : ", c", pads ? "pad(" : "", xi,
             pads ? ", 0)" : "", fi);
}

/* A compiled case, and its constant's packed form. */
struct compiled {
    struct uk_module *module;
    struct arena packed;
    void *tensor[3];
    int status;
};

static void compile(struct compiled *m, const struct conv_case *t, int threads) {
    const bool is_constant = below(2);
    char text[TEXT];

    put_program(t, is_constant, text);
    struct uk_program *p = parse_in(context, "conv.uk", text);

    if (uk_compile(p, &(struct uk_options){.threads = threads}, &m->module))
        fail_msg("%s\n%s", uk_context_message(context), text);
    uk_program_destroy(p);
    m->tensor[0] = t->x.data;
    m->tensor[1] = t->f.data;
    m->tensor[2] = t->y.data;
    if (!is_constant)
        return;
    const int64_t bytes = uk_module_packed_bytes(m->module, NULL, 1);

    assert_true(bytes >= 0 && arena_make(&m->packed, (size_t)bytes + 64));
    m->tensor[1] = m->packed.data + (m->packed.size - (size_t)bytes) / 64 * 64;
    assert_int_equal(uk_module_pack(m->module, NULL, 1, t->f.data, m->tensor[1]), 0);
}

static void call(void *argument) {
    struct compiled *m = argument;

    m->status = uk_module_call(m->module, NULL, NULL, m->tensor);
}

static void run(struct compiled *m, const struct conv_case *t) {
    const void *where;

    for (int64_t i = 0; i < t->y.count; i++)
        t->y.data[i] = 12345;
    if (!run_guarded(call, m, &where) || m->status) {
        describe(t);
        fail_msg("status %d, or touches memory outside of its operands", m->status);
    }
}

static void finish(struct compiled *m, struct conv_case *t) {
    uk_module_destroy(m->module);
    if (m->packed.data)
        arena_free(&m->packed);
    free_operands(t);
}

/* Draws a case that has elements and terms; with about `work` multiply-adds at least. */
static struct conv_case draw(float (*value)(void), int64_t work) {
    struct conv_case t = {.place = below(2) ? AT_END : AT_BEGIN};

    do {
        draw_shape(&t.shape);
        set_shape(&t);
    } while (!t.v.n || !t.v.h || !t.v.w || !t.v.c || !t.v.o);
    const struct conv_shape *v = &t.v;

    t.shape.n *= 1 + work / (v->n * v->p * v->q * conv_terms(v) * v->o);
    set_shape(&t);
    make_operands(&t, value);
    return t;
}

static int cases(void) {
    return getenv("UK_CONV_CASES") ? atoi(getenv("UK_CONV_CASES")) : 30;
}

static void drawn_shapes_are_exact(void **state) {
    (void)state;
    for (int i = 0; i < cases(); i++) {
        struct conv_case t = draw(small_integer, 0);
        const struct conv_shape *v = &t.v;
        struct compiled m = {0};

        compile(&m, &t, 1);
        run(&m, &t);
        for (int64_t n = 0; n < v->n; n++)
            for (int64_t p = 0; p < v->p; p++)
                for (int64_t q = 0; q < v->q; q++)
                    for (int64_t o = 0; o < v->o; o++) {
                        const int64_t at = image_at(&v->y, n, p, q, o);

                        if ((double)t.y.data[at] != sum_of(&t, n, p, q, o)) {
                            describe(&t);
                            fail_msg("element %d, %d, %d, %d is %g, not %g", (int)n, (int)p, (int)q, (int)o,
                                     (double)t.y.data[at], sum_of(&t, n, p, q, o));
                        }
                    }
        finish(&m, &t);
    }
}

static void threads_change_no_bit(void **state) {
    (void)state;
    for (int i = 0; i < cases() / 10; i++) {
        struct conv_case t = draw(fraction, 1000000);
        const size_t bytes = (size_t)t.y.count * sizeof(float);
        float *first = malloc(bytes);
        struct compiled m = {0};

        assert_non_null(first);
        compile(&m, &t, 8);
        for (int threads = 1; threads <= 8; threads += threads == 3 ? 5 : 1) {
            assert_int_equal(uk_set_num_threads(threads), UK_OK);
            run(&m, &t);
            if (threads == 1)
                memcpy(first, t.y.data, bytes);
            else if (memcmp(first, t.y.data, bytes)) {
                describe(&t);
                fail_msg("%d threads give other bits than one", threads);
            }
        }
        free(first);
        finish(&m, &t);
    }
    assert_int_equal(uk_set_num_threads(0), UK_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(drawn_shapes_are_exact),
                                       cmocka_unit_test(threads_change_no_bit)};

    begin_seed();
    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
