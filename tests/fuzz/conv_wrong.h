/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong shapes and epilogues of convolutions, and the rules of ukernels.h for shapes. */
#ifndef FUZZ_CONV_WRONG_H
#define FUZZ_CONV_WRONG_H

#include "conv_shape.h"

/* ---- wrong fields ---- */

/* A number for a field that is `now`. */
static inline int64_t any_number(int64_t now) {
    static const int64_t limits[] = {0, -1, INT64_MAX, INT64_MIN};
    uint64_t raw = 0;

    switch (below(6)) {
    case 0:
        return limits[below(4)];
    case 1:
        return INT64_C(1) << below(63);
    case 2:
        for (int i = 0; i < 8; i++)
            raw = raw << 8 | (uint64_t)below(256);
        return (int64_t)raw;
    default:
        return (int64_t)((uint64_t)now + (below(2) ? 1 : UINT64_MAX)); /* now + 1 or now - 1 */
    }
}

static inline void change_fields(struct uk_conv2d *s) {
    int64_t *const fields[] = {&s->n,          &s->h,       &s->w,          &s->c,        &s->o,
                               &s->r,          &s->s,       &s->stride_h,   &s->stride_w, &s->dilation_h,
                               &s->dilation_w, &s->pad_top, &s->pad_bottom, &s->pad_left, &s->pad_right,
                               &s->groups,     &s->x.image, &s->x.row,      &s->x.column, &s->x.channel,
                               &s->y.image,    &s->y.row,   &s->y.column,   &s->y.channel};
    enum { FIELDS = sizeof fields / sizeof *fields };

    for (int changes = 1 + below(3); changes > 0; changes--) {
        const int i = below(FIELDS + 2);

        if (i < FIELDS)
            *fields[i] = any_number(*fields[i]);
        else if (i == FIELDS)
            s->layout = (enum uk_image_layout)below(4);
        else
            s->filter = (enum uk_filter_layout)below(4);
    }
}

/* Makes the epilogue one that is refused. */
static inline void spoil_epilogue(struct conv_case *t) {
    struct uk_sgemm_epilogue *e = &t->epilogue;

    t->has_epilogue = true;
    switch (below(5)) {
    case 0:
        e->flags |= 2u * UK_EPILOGUE_RESIDUAL << below(29);
        break;
    case 1:
        e->flags &= ~(unsigned)UK_EPILOGUE_SCALE;
        e->scale = 2;
        break;
    case 2:
        e->flags &= ~(unsigned)UK_EPILOGUE_CLAMP;
        *(below(2) ? &e->low : &e->high) = 1;
        break;
    case 3:
        e->row_bias = t->bias.data;
        break;
    default:
        e->flags |= UK_EPILOGUE_RESIDUAL;
        e->residual = NULL;
    }
}

/* ---- rules, in numbers that do not overflow ---- */

__extension__ typedef __int128 wide;

/* IS_LARGE: operands near what addresses reach, which may be refused. */
enum verdict { IS_RIGHT, IS_LARGE, IS_WRONG };

static inline enum verdict by_size(double elements) {
    return elements < (double)(INT64_C(1) << 40) ? IS_RIGHT : IS_LARGE;
}

/* Sets the extent of Y in one dimension. */
static inline enum verdict judge_window(int64_t extent, int64_t before, int64_t after, int64_t taps,
                                        int64_t dilation, int64_t stride, int64_t *outputs) {
    const wide padded = (wide)extent + before + after, window = (wide)(taps - 1) * dilation + 1,
               count = padded ? (padded - window) / stride + 1 : 0;

    *outputs = (int64_t)count;
    return padded && window > padded ? IS_WRONG : padded >> 62 || window >> 62 ? IS_LARGE : IS_RIGHT;
}

/* Dimensions are ordered from the innermost on. */
static inline enum verdict judge_strides(const int64_t *extents, const int64_t *strides) {
    wide taken = 1, stride = 1;

    if (strides[0] > 1)
        return IS_WRONG;
    for (int i = 0; i < 4; i++) {
        stride = strides[i] ? strides[i] : i && extents[i - 1] ? extents[i - 1] * stride : taken;
        if (stride < taken)
            return IS_WRONG;
        taken = extents[i] ? taken + (extents[i] - 1) * stride : 0;
        if (taken >> 62)
            return IS_LARGE;
    }
    return by_size((double)taken);
}

static inline enum verdict judge_image(enum uk_image_layout layout, int64_t n, int64_t h, int64_t w,
                                       int64_t c, const struct uk_image_strides *s) {
    return layout == UK_NHWC
               ? judge_strides((int64_t[]){c, w, h, n}, (int64_t[]){s->channel, s->column, s->row, s->image})
               : judge_strides((int64_t[]){w, h, c, n}, (int64_t[]){s->column, s->row, s->channel, s->image});
}

/* The rules of ukernels.h; sets the rows and columns of Y unless a field is wrong. */
static inline enum verdict judge_shape(const struct uk_conv2d *s, int64_t *p, int64_t *q) {
    const int64_t zero[] = {s->n,         s->h,          s->w,         s->c,        s->o,        s->pad_top,
                            s->pad_left,  s->pad_bottom, s->pad_right, s->x.image,  s->x.row,    s->x.column,
                            s->x.channel, s->y.image,    s->y.row,     s->y.column, s->y.channel},
                  one[] = {s->r, s->s, s->stride_h, s->stride_w, s->dilation_h, s->dilation_w, s->groups};

    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
        if (zero[i] < 0)
            return IS_WRONG;
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        if (one[i] < 1)
            return IS_WRONG;
    if ((s->layout != UK_NHWC && s->layout != UK_NCHW) || (s->filter != UK_HWIO && s->filter != UK_OIHW) ||
        s->c % s->groups || s->o % s->groups)
        return IS_WRONG;
    const enum verdict windows[] = {
        judge_window(s->h, s->pad_top, s->pad_bottom, s->r, s->dilation_h, s->stride_h, p),
        judge_window(s->w, s->pad_left, s->pad_right, s->s, s->dilation_w, s->stride_w, q)};

    if (windows[0] || windows[1])
        return windows[0] == IS_WRONG || windows[1] == IS_WRONG ? IS_WRONG : IS_LARGE;
    const double rows = (double)s->h + (double)s->pad_top + (double)s->pad_bottom,
                 columns = (double)s->w + (double)s->pad_left + (double)s->pad_right;
    const double column = fmax((double)s->x.column, fmax((double)s->c, 1)),
                 row = fmax((double)s->x.row, fmax((double)s->w, 1) * column);
    const enum verdict all[] = {
        by_size(rows * row),
        by_size(columns * column),
        judge_image(s->layout, s->n, s->h, s->w, s->c, &s->x),
        judge_image(s->layout, s->n, *p, *q, s->o, &s->y),
        by_size((double)s->r * (double)s->s * fmax((double)s->c, 1) * fmax((double)s->o, 1)),
        by_size(fmax((double)s->n, 1) * fmax((double)*p, 1) * fmax((double)*q, 1) * fmax((double)s->c, 1))};
    enum verdict worst = IS_RIGHT;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        worst = all[i] > worst ? all[i] : worst;
    return worst;
}

#endif
