/* SPDX-License-Identifier: Apache-2.0 */
/* Packed weights, and the stamp in front of them. */
#include "conv.h"
#include <string.h>

/* What packed weights are for: all that their layout depends on. */
struct stamp {
    uint64_t magic;
    int32_t packing, width;
    int64_t r, s, gc, go, groups;
    uint64_t is_finite;
};
_Static_assert(sizeof(struct stamp) == CONV_STAMP, "packed weights begin at a cache line");

static struct stamp stamp_of(const struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;
    const uint64_t magic = 0x31767663736b75; /* "ukscvv1" */

    return (struct stamp){magic,
                          (int32_t)plan->packing,
                          plan->packing == CONV_PANELS ? plan->width : 0,
                          v->r,
                          v->s,
                          v->gc,
                          v->go,
                          v->groups,
                          false};
}

int64_t uk_conv_panel_elements(const struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;

    return conv_terms(v) * (plan->packing == CONV_PANELS    ? plan->width
                            : plan->packing == CONV_WINDOWS ? conv_window_pitch(v)
                                                            : v->go);
}

size_t uk_conv_packed_bytes(const struct conv_plan *plan) {
    const struct conv_shape *v = &plan->shape;
    const int64_t elements = uk_conv_panel_elements(plan) * (plan->packing == CONV_PANELS ? conv_panels(plan)
                                                             : plan->packing == CONV_WINDOWS ? 1
                                                                                             : v->groups);
    size_t bytes;

    return __builtin_mul_overflow(elements, sizeof(float), &bytes) ||
                   __builtin_add_overflow(bytes, CONV_STAMP, &bytes)
               ? SIZE_MAX
               : bytes;
}

/* Elements from one weight to the next along each dimension, as the caller stores them. */
struct strides {
    int64_t r, s, c, o;
};

static struct strides strides_of(const struct conv_shape *v) {
    return v->is_oihw ? (struct strides){v->s, 1, v->r * v->s, v->gc * v->r * v->s}
                      : (struct strides){v->s * v->gc * v->o, v->gc * v->o, v->o, 1};
}

void uk_conv_pack_panel(const struct conv_plan *plan, const float *weights, int64_t panel, float *to) {
    const struct conv_shape *v = &plan->shape;
    const struct strides f = strides_of(v);
    const int64_t panels = conv_group_panels(plan), channel = panel % panels * plan->width,
                  n = uk_min(v->go - channel, plan->width), taps = v->is_oihw ? v->r * v->s : 1,
                  terms = conv_terms(v) / taps;
    const float *from = weights + (panel / panels * v->go + channel) * f.o;

    /* Whole panels of adjacent channels are rows: not all widths have a kernel that packs them. */
    if (f.o == 1 && n == plan->width) {
        plan->type->copy_rows(plan->type, terms, n, from, f.c, 1, to, plan->width);
        return;
    }
    for (int64_t tap = 0; tap < taps; tap++)
        plan->type->pack(plan->type, terms, n, from + tap, f.c, f.o, plan->width,
                         to + tap * terms * plan->width);
}

struct packing {
    const struct conv_plan *plan;
    const float *from;
    float *to;
};

static void pack_panel(void *context, int64_t index, int64_t thread) {
    const struct packing *p = context;

    (void)thread;
    uk_conv_pack_panel(p->plan, p->from, index, p->to + index * uk_conv_panel_elements(p->plan));
}

/* Packs the weights of a group in lines: [s][o][r][c]. */
static void pack_lines(void *context, int64_t index, int64_t thread) {
    const struct packing *p = context;
    const struct conv_shape *v = &p->plan->shape;
    const struct strides f = strides_of(v);
    const float *from = p->from + index * v->go * f.o;
    float *to = p->to + index * uk_conv_panel_elements(p->plan);

    (void)thread;
    for (int64_t s = 0; s < v->s; s++)
        for (int64_t o = 0; o < v->go; o++)
            for (int64_t r = 0; r < v->r; r++)
                for (int64_t c = 0; c < v->gc; c++)
                    *to++ = from[s * f.s + o * f.o + r * f.r + c * f.c];
}

/* Packs the weights of a row and column of the window: those of all channels. */
static void pack_window(void *context, int64_t index, int64_t thread) {
    const struct packing *p = context;
    const struct conv_shape *v = &p->plan->shape;
    const struct strides f = strides_of(v);
    const float *from = p->from + index / v->s * f.r + index % v->s * f.s;

    (void)thread;
    for (int64_t o = 0; o < v->o; o++)
        p->to[index * conv_window_pitch(v) + o] = from[o * f.o];
}

/* True if no number is infinite or NaN. */
static bool are_finite(const float *x, int64_t count) {
    bool found = false;

    for (int64_t i = 0; i < count; i++)
        found |= !(x[i] - x[i] == 0);
    return !found;
}

void uk_conv_pack(const struct conv_plan *plan, const float *weights, float *packed) {
    const struct conv_shape *v = &plan->shape;
    struct packing p = {plan, weights, packed + CONV_STAMP / sizeof(float)};
    struct stamp stamp = stamp_of(plan);

    if (!conv_terms(v))
        stamp.is_finite = true;
    else if (plan->packing == CONV_PANELS)
        uk_conv_parallel(plan, pack_panel, &p, conv_panels(plan));
    else if (plan->packing == CONV_LINES)
        uk_conv_parallel(plan, pack_lines, &p, v->groups);
    else
        uk_conv_parallel(plan, pack_window, &p, v->r * v->s);
    stamp.is_finite = are_finite(weights, conv_terms(v) * v->o);
    memcpy(packed, &stamp, sizeof stamp);
}

bool uk_conv_is_packed(const struct conv_plan *plan, const float *packed, bool *is_finite) {
    struct stamp stamp, expected = stamp_of(plan);

    memcpy(&stamp, packed, sizeof stamp);
    expected.is_finite = stamp.is_finite;
    *is_finite = stamp.is_finite == 1;
    return stamp.is_finite <= 1 && !memcmp(&stamp, &expected, sizeof stamp);
}

const float *uk_conv_panel_weights(const struct conv_plan *plan, const float *packed, int64_t panel) {
    const int64_t elements = uk_conv_panel_elements(plan), panels = conv_group_panels(plan);

    if (plan->reads_weights)
        return packed + panel / panels * plan->shape.go + panel % panels * plan->width;
    switch (plan->packing) {
    case CONV_PANELS:
        return packed + panel * elements;
    case CONV_LINES:
        return packed + panel / panels * elements;
    default:
        return packed + panel * plan->width;
    }
}
