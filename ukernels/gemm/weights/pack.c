/* SPDX-License-Identifier: Apache-2.0 */
/* Packed weights, and the stamp in front of them. */
#include "gemm/weights.h"
#include "registry/half.h"
#include <string.h>

enum { GROUP = 4 }; /* bytes of a column that follow one another in a panel: KR of the kernels */

/* What packed weights are for: all that their layout depends on. */
struct stamp {
    uint64_t magic;
    int32_t bits, width, scale, has_zeros;
    int64_t n, k, block;
    uint64_t reserved[2];
};
_Static_assert(sizeof(struct stamp) == WEIGHTS_STAMP, "packed weights begin at a cache line");

static struct stamp stamp_of(const struct weights_plan *p) {
    const uint64_t magic = 0x31746867776b75; /* "ukwght1" */

    return (struct stamp){.magic = magic,
                          .bits = p->bits,
                          .width = p->kernel->nr,
                          .scale = (int32_t)p->options.scale,
                          .has_zeros = p->options.has_zeros,
                          .n = p->n,
                          .k = p->k,
                          .block = p->block};
}

size_t uk_weights_bytes(const struct weights_plan *p) {
    const uint64_t bytes = (uint64_t)weights_panels(p) * (uint64_t)p->panel_bytes + WEIGHTS_STAMP;

    return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

bool uk_weights_are_packed(const struct weights_plan *plan, const char *packed) {
    const struct stamp expected = stamp_of(plan);

    return !memcmp(packed, &expected, sizeof expected);
}

/* A caller's weights, with all steps. */
struct source {
    const struct weights_plan *plan;
    struct uk_weights w;
    char *packed;
};

static struct uk_weights with_steps(const struct weights_plan *p, const struct uk_weights *given) {
    struct uk_weights w = *given;
    const int64_t bytes = weights_column_bytes(p);

    w.weight_block = w.weight_block ? w.weight_block : bytes;
    w.weight_column = w.weight_column ? w.weight_column : p->blocks * bytes;
    w.scale_block = w.scale_block ? w.scale_block : weights_scale_bytes(p);
    w.scale_column = w.scale_column ? w.scale_column : p->blocks * weights_scale_bytes(p);
    w.zero_block = w.zero_block ? w.zero_block : 1;
    if (!w.zero_column)
        w.zero_column = w.zero_nibbles ? uk_ceil_div(p->blocks, 2) : p->blocks;
    return w;
}

static const void *scale_place(const struct source *s, int64_t g, int64_t j) {
    return (const char *)s->w.scale + g * s->w.scale_block + j * s->w.scale_column;
}

static float scale_at(const struct source *s, int64_t g, int64_t j) {
    uint16_t half;
    float scale;

    if (s->plan->options.scale == UK_SCALE_F32) {
        memcpy(&scale, scale_place(s, g, j), sizeof scale);
        return scale;
    }
    memcpy(&half, scale_place(s, g, j), sizeof half);
    return s->plan->options.scale == UK_SCALE_F16 ? uk_from_f16(half) : uk_from_bf16(half);
}

static int zero_at(const struct source *s, int64_t g, int64_t j) {
    const struct uk_weights *w = &s->w;

    if (w->zero_nibbles)
        return w->zero[j * w->zero_column + g / 2] >> g % 2 * 4 & 15;
    return w->zero[g * w->zero_block + j * w->zero_column];
}

/* Byte t of the kernels' order; of signed weights if there are no zero points: their top bits are toggled. */
static uint8_t byte_at(const struct source *s, int64_t g, int64_t t, int64_t j) {
    const struct weights_plan *p = s->plan;
    const uint8_t *from = s->w.weight + g * s->w.weight_block + j * s->w.weight_column;
    const uint8_t toggled = p->options.has_zeros ? 0 : p->bits == 4 ? 8 * 0x11 : (uint8_t)INT8_MIN;
    const int64_t half = p->block / 2;

    if (p->bits == 8 || s->w.nibbles == UK_NIBBLES_HALVES)
        return from[t] ^ toggled;
    const int low = from[t / 2] >> t % 2 * 4 & 15, high = from[(t + half) / 2] >> (t + half) % 2 * 4 & 15;

    return (uint8_t)(low | high << 4) ^ toggled;
}

static void pack_block(const struct source *s, int64_t panel, int64_t g, char *to) {
    const struct weights_plan *p = s->plan;
    const int64_t width = p->kernel->nr, first = panel * width, columns = uk_min(width, p->n - first),
                  bytes = weights_column_bytes(p), size = weights_scale_bytes(p);
    char *const scales = to + width * bytes, *const offsets = scales + width * size;

    memset(to, 0, (size_t)p->block_bytes);
    for (int64_t j = 0; j < columns; j++) {
        for (int64_t t = 0; t < bytes; t++)
            to[(t / GROUP * width + j) * GROUP + t % GROUP] = (char)byte_at(s, g, t, first + j);
        memcpy(scales + j * size, scale_place(s, g, first + j), (size_t)size);
        if (p->options.has_zeros) {
            const float offset = -(float)zero_at(s, g, first + j) * scale_at(s, g, first + j);

            memcpy(offsets + j * (int64_t)sizeof offset, &offset, sizeof offset);
        }
    }
}

static void pack_panel(void *context, int64_t index, int64_t thread) {
    const struct source *s = context;

    (void)thread;
    for (int64_t g = 0; g < s->plan->blocks; g++)
        pack_block(s, index, g, s->packed + index * s->plan->panel_bytes + g * s->plan->block_bytes);
}

/* ---- checks ---- */

static enum uk_status check_layout(const struct weights_plan *p, const struct uk_weights *w) {
    if ((unsigned)w->nibbles > UK_NIBBLES_HALVES)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "weights.nibbles = %d is no enum uk_nibbles",
                              (int)w->nibbles);
    if (w->zero_nibbles && (p->bits != 4 || w->zero_block))
        return uk_gemm_refuse(UK_INVALID_ARGUMENT,
                              p->bits != 4 ? "weights.zero_nibbles is set, but weights have 8 bits"
                                           : "weights.zero_block must be 0 with zero_nibbles");
    return UK_OK;
}

static enum uk_status check_values(const struct source *s) {
    const struct weights_plan *p = s->plan;

    for (int64_t j = 0; j < p->n; j++)
        for (int64_t g = 0; g < p->blocks; g++) {
            const float scale = scale_at(s, g, j);

            if (!(scale - scale == 0))
                return uk_gemm_refuse(UK_INVALID_ARGUMENT,
                                      "the scale of block %lld of column %lld is %g, not a finite number",
                                      (long long)g, (long long)j, (double)scale);
            if (p->options.has_zeros && zero_at(s, g, j) >> p->bits)
                return uk_gemm_refuse(UK_INVALID_ARGUMENT,
                                      "the zero point of block %lld of column %lld is %d, more than %d",
                                      (long long)g, (long long)j, zero_at(s, g, j), (1 << p->bits) - 1);
        }
    return UK_OK;
}

enum uk_status uk_weights_pack(const struct weights_plan *plan, const struct uk_weights *weights,
                               char *packed) {
    const struct stamp stamp = stamp_of(plan);
    struct source s = {.plan = plan, .packed = packed + WEIGHTS_STAMP};
    const bool is_empty = !plan->n || !plan->k;
    enum uk_status status = check_layout(plan, weights);

    if (status)
        return status;
    if (!is_empty && (!weights->weight || !weights->scale || (plan->options.has_zeros && !weights->zero)))
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "weights.%s is NULL",
                              !weights->weight  ? "weight"
                              : !weights->scale ? "scale"
                                                : "zero");
    s.w = with_steps(plan, weights);
    if (!is_empty && (status = check_values(&s)))
        return status;
    if (!is_empty)
        uk_weights_parallel(plan, pack_panel, &s, weights_panels(plan));
    memcpy(packed, &stamp, sizeof stamp);
    return UK_OK;
}
