/* SPDX-License-Identifier: Apache-2.0 */
/* Drawn cases of called convolutions with all that a caller may set, and their comparison with the
 * definition. Programs that include this are linked with --wrap=uk_machine. */
#ifndef CONV_DRAWN_H
#define CONV_DRAWN_H

#include <pthread.h>
#include "conv_shape.h"

/* ---- small caches, so that small shapes have several blocks and boxes of terms ---- */

enum { SMALL = 16384, LARGE = 262144 };

const struct uk_machine *__real_uk_machine(void);
const struct uk_machine *__wrap_uk_machine(void);
static struct uk_machine smaller;

static inline void make_smaller(void) {
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

static inline void draw_strides(const struct uk_conv2d *s, struct uk_image_strides *strides, int64_t h,
                                int64_t w, int64_t c) {
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

static inline void draw_epilogue(struct conv_case *t) {
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

static inline struct conv_case draw_case(void) {
    struct conv_case t = {.place = below(2) ? AT_END : AT_BEGIN};

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

/* ---- values ---- */

static inline float seldom_finite(void) {
    return random_below(&seed, 12) ? small_integer() : random_below(&seed, 2) ? INFINITY : NAN;
}

/* ---- comparison ---- */

enum { UNWRITTEN = 12345 }; /* all of Y before a run */

/* Compares Y, and what is between its elements. */
static inline void compare(const struct conv_case *t, const char *path) {
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
        if (!is_element[i] && t->y.data[i] != UNWRITTEN) {
            describe(t);
            fail_msg("%s: writes between the elements of Y", path);
        }
    free(is_element);
}

#endif
