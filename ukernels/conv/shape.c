/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a caller's shape, and brings it into the form that paths read. */
#include "conv.h"

typedef long long number; /* of printf */

/* ---- sizes ---- */

struct field {
    const char *name;
    int64_t value;
    int64_t least;
};

static enum uk_status check_fields(const struct uk_conv2d *s) {
    const struct field fields[] = {{"n", s->n, 0},
                                   {"h", s->h, 0},
                                   {"w", s->w, 0},
                                   {"c", s->c, 0},
                                   {"o", s->o, 0},
                                   {"r", s->r, 1},
                                   {"s", s->s, 1},
                                   {"stride_h", s->stride_h, 1},
                                   {"stride_w", s->stride_w, 1},
                                   {"dilation_h", s->dilation_h, 1},
                                   {"dilation_w", s->dilation_w, 1},
                                   {"pad_top", s->pad_top, 0},
                                   {"pad_bottom", s->pad_bottom, 0},
                                   {"pad_left", s->pad_left, 0},
                                   {"pad_right", s->pad_right, 0},
                                   {"groups", s->groups, 1},
                                   {"x.image", s->x.image, 0},
                                   {"x.row", s->x.row, 0},
                                   {"x.column", s->x.column, 0},
                                   {"x.channel", s->x.channel, 0},
                                   {"y.image", s->y.image, 0},
                                   {"y.row", s->y.row, 0},
                                   {"y.column", s->y.column, 0},
                                   {"y.channel", s->y.channel, 0}};

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].value < fields[i].least)
            return uk_gemm_refuse(UK_INVALID_SIZE, "%s = %lld is %s; it must be at least %lld",
                                  fields[i].name, (number)fields[i].value,
                                  fields[i].value < 0 ? "negative" : "too small", (number)fields[i].least);
    if (s->layout != UK_NHWC && s->layout != UK_NCHW)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "layout = %d is neither UK_NHWC nor UK_NCHW",
                              (int)s->layout);
    if (s->filter != UK_HWIO && s->filter != UK_OIHW)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "filter = %d is neither UK_HWIO nor UK_OIHW",
                              (int)s->filter);
    if (s->c % s->groups || s->o % s->groups)
        return uk_gemm_refuse(UK_INVALID_SIZE, "groups = %lld does not divide %s = %lld", (number)s->groups,
                              s->c % s->groups ? "c" : "o", (number)(s->c % s->groups ? s->c : s->o));
    return UK_OK;
}

/* One dimension of the image: 'h' or 'w'. */
struct axis {
    char image, window; /* names: "h", "r" */
    int64_t extent, elements, stride, dilation, before, after;
};

/* Sets the extent of Y. Bounds the stride and the dilation by the padded image: larger ones have no effect,
 * and the places that they lead to would overflow. */
static enum uk_status set_outputs(const struct axis *a, int64_t *outputs, int64_t *stride,
                                  int64_t *dilation) {
    int64_t window, padded;

    if (__builtin_add_overflow(a->extent, a->before, &padded) ||
        __builtin_add_overflow(padded, a->after, &padded))
        return uk_gemm_refuse(UK_INVALID_SIZE, "%c = %lld overflows with its pads %lld and %lld", a->image,
                              (number)a->extent, (number)a->before, (number)a->after);
    if (__builtin_mul_overflow(a->elements - 1, a->dilation, &window) ||
        __builtin_add_overflow(window, 1, &window))
        return uk_gemm_refuse(UK_INVALID_SIZE, "%c = %lld overflows with dilation_%c = %lld", a->window,
                              (number)a->elements, a->image, (number)a->dilation);
    *outputs = 0;
    if (!padded)
        return UK_OK;
    if (window > padded)
        return uk_gemm_refuse(
            UK_INVALID_SIZE,
            "the window's %s, %lld, are more than the padded image's, %lld: reduce %c or pad more",
            a->image == 'h' ? "rows" : "columns", (number)window, (number)padded, a->window);
    *outputs = (padded - window) / a->stride + 1;
    *stride = uk_min(a->stride, padded);
    *dilation = uk_min(a->dilation, padded);
    return UK_OK;
}

/* Places in the padding are computed as if they were elements of X, `stride` elements apart. */
static enum uk_status check_pads(const struct axis *a, int64_t stride) {
    const int64_t padded = a->extent + a->before + a->after;
    int64_t grown;

    return __builtin_mul_overflow(padded, uk_max(stride, 1), &grown) ||
                   __builtin_mul_overflow(grown, GEMM_PANEL_GROWTH * (int64_t)sizeof(float), &grown)
               ? uk_gemm_refuse(UK_INVALID_SIZE, "x, %lld %s with the pads, is too large to be addressed",
                                (number)padded, a->image == 'h' ? "rows" : "columns")
               : UK_OK;
}

/* ---- strides ---- */

/* A dimension of an image operand, from the innermost on. */
struct dimension {
    const char *name;
    int64_t extent;
    int64_t *stride;
    bool is_inner; /* its elements follow one another */
};

/* Sets strides that are 0 to dense ones; refuses those that are smaller. `operand` is "x" or "y". */
static enum uk_status set_strides(const char *operand, const struct dimension *d) {
    int64_t taken = 1; /* by an element of the dimension: from its first element to its last */

    for (int i = 0; i < 4; i++) {
        int64_t dense = taken;

        /* Whole rows are a multiple of a pixel's stride apart, so that all pixels of dense rows are. */
        if (i && d[i - 1].extent > 0 && __builtin_mul_overflow(d[i - 1].extent, *d[i - 1].stride, &dense))
            return uk_gemm_refuse(UK_INVALID_SIZE, "%s is too large to be addressed", operand);
        if (!*d[i].stride)
            *d[i].stride = dense;
        else if (d[i].is_inner && *d[i].stride != 1)
            return uk_gemm_refuse(UK_INVALID_SIZE, "%s.%s = %lld is neither 0 nor 1, as the layout requires",
                                  operand, d[i].name, (number)*d[i].stride);
        if (*d[i].stride < taken)
            return uk_gemm_refuse(UK_INVALID_SIZE,
                                  "%s.%s = %lld is less than %lld, what the dimensions inside take", operand,
                                  d[i].name, (number)*d[i].stride, (number)taken);
        int64_t span;

        if (__builtin_mul_overflow(uk_max(d[i].extent, 1) - 1, *d[i].stride, &span) ||
            __builtin_add_overflow(taken, span, &taken))
            return uk_gemm_refuse(UK_INVALID_SIZE, "%s is too large to be addressed", operand);
        if (!d[i].extent)
            taken = 0;
    }
    const int size = (int)sizeof(float);
    ptrdiff_t bytes; /* has as many bits as addresses, which may be 32 */
    int64_t grown;

    if (__builtin_mul_overflow(taken, size, &bytes) ||
        __builtin_mul_overflow(taken, GEMM_PANEL_GROWTH * size, &grown))
        return uk_gemm_refuse(UK_INVALID_SIZE, "%s, %lld elements, is too large to be addressed", operand,
                              (number)taken);
    return UK_OK;
}

static enum uk_status set_image(const char *operand, enum uk_image_layout layout, int64_t n, int64_t h,
                                int64_t w, int64_t c, struct uk_image_strides *s) {
    const struct dimension last = layout == UK_NHWC ? (struct dimension){"row", h, &s->row, false}
                                                    : (struct dimension){"channel", c, &s->channel, false};
    const struct dimension pixels[] = {{"channel", c, &s->channel, true},
                                       {"column", w, &s->column, false},
                                       last,
                                       {"image", n, &s->image, false}},
                           planes[] = {{"column", w, &s->column, true},
                                       {"row", h, &s->row, false},
                                       last,
                                       {"image", n, &s->image, false}};

    return set_strides(operand, layout == UK_NHWC ? pixels : planes);
}

int64_t uk_conv_span(const struct uk_image_strides *s, int64_t n, int64_t h, int64_t w, int64_t c) {
    return n && h && w && c
               ? (n - 1) * s->image + (h - 1) * s->row + (w - 1) * s->column + (c - 1) * s->channel + 1
               : 0;
}

/* ---- the shape ---- */

/* Refuses counts of weights and pixels that overflow, even where the operand has no elements. */
static enum uk_status check_counts(const struct conv_shape *v) {
    const int64_t weights[] = {v->r, v->s, uk_max(v->gc, 1), uk_max(v->o, 1),
                               GEMM_PANEL_GROWTH * (int64_t)sizeof(float)},
                  pixels[] = {uk_max(v->n, 1), uk_max(v->p, 1), uk_max(v->q, 1), uk_max(v->c, 1),
                              GEMM_PANEL_GROWTH * (int64_t)sizeof(float)};
    int64_t weight_bytes = 1, pixel_bytes = 1;
    size_t bytes;
    bool overflows = false;

    for (int i = 0; i < 5; i++) {
        overflows = overflows || __builtin_mul_overflow(weight_bytes, weights[i], &weight_bytes);
        if (!overflows && __builtin_mul_overflow(pixel_bytes, pixels[i], &pixel_bytes))
            return uk_gemm_refuse(UK_INVALID_SIZE,
                                  "y, %lld images of %lld x %lld pixels, is too large to be addressed",
                                  (number)v->n, (number)v->p, (number)v->q);
    }
    if (overflows || __builtin_mul_overflow(weight_bytes / GEMM_PANEL_GROWTH, 1, &bytes))
        return uk_gemm_refuse(UK_INVALID_SIZE,
                              "the weights, %lld x %lld x %lld x %lld, are too large to be addressed",
                              (number)v->r, (number)v->s, (number)v->gc, (number)v->o);
    return UK_OK;
}

enum uk_status uk_conv_check(const struct uk_conv2d *s, struct conv_shape *v) {
    enum uk_status status = check_fields(s);

    if (status)
        return status;
    *v = (struct conv_shape){.n = s->n,
                             .h = s->h,
                             .w = s->w,
                             .c = s->c,
                             .o = s->o,
                             .r = s->r,
                             .s = s->s,
                             .groups = s->groups,
                             .gc = s->c / s->groups,
                             .go = s->o / s->groups,
                             .stride_h = s->stride_h,
                             .stride_w = s->stride_w,
                             .dilation_h = s->dilation_h,
                             .dilation_w = s->dilation_w,
                             .top = s->pad_top,
                             .left = s->pad_left,
                             .x = s->x,
                             .y = s->y,
                             .is_oihw = s->filter == UK_OIHW};
    const struct axis rows = {'h', 'r', s->h, s->r, s->stride_h, s->dilation_h, s->pad_top, s->pad_bottom},
                      columns = {'w', 's', s->w, s->s, s->stride_w, s->dilation_w, s->pad_left, s->pad_right};

    if ((status = set_outputs(&rows, &v->p, &v->stride_h, &v->dilation_h)) ||
        (status = set_outputs(&columns, &v->q, &v->stride_w, &v->dilation_w)) || (status = check_counts(v)) ||
        (status = set_image("x", s->layout, v->n, v->h, v->w, v->c, &v->x)) ||
        (status = check_pads(&rows, v->x.row)) || (status = check_pads(&columns, v->x.column)))
        return status;
    v->last_q = v->q;
    return set_image("y", s->layout, v->n, v->p, v->q, v->o, &v->y);
}

/* True if the pixels of the images, or of each image, are equally far apart in X and in Y, and each pixel of
 * Y reads one of X. */
static bool is_product(const struct conv_shape *v) {
    return v->r == 1 && v->s == 1 && v->stride_h == 1 && v->stride_w == 1 && !v->top && !v->left &&
           v->p == v->h && v->q == v->w &&
           (v->h == 1 || (v->x.row == v->w * v->x.column && v->y.row == v->w * v->y.column));
}

bool uk_conv_join_pixels(struct conv_shape *v, int64_t pixels) {
    const int64_t image = v->h * v->w, all = v->n * image;

    if (!is_product(v) ||
        (pixels && v->n > 1 && (v->x.image != image * v->x.column || v->y.image != image * v->y.column)))
        return false;
    if (pixels) {
        v->n = 1;
        v->q = uk_min(pixels, all);
        v->p = uk_ceil_div(all, v->q);
        v->last_q = all - (v->p - 1) * v->q;
    } else {
        v->q = v->last_q = image;
        v->p = 1;
    }
    v->h = v->p;
    v->w = v->q;
    v->x.row = v->q * v->x.column;
    v->y.row = v->q * v->y.column;
    return true;
}
