/* SPDX-License-Identifier: Apache-2.0 */
/* Reads scales and zero points of quantized operators. */
#include <inttypes.h>
#include <math.h>
#include "layers/bytes/quantized.h"

bool uk_is_byte(enum uk_type t) {
    return t == UK_U8 || t == UK_I8;
}

double uk_scale_at(const struct uk_quantization *s, int64_t c) {
    return uk_constant_real(s->scale, s->count > 1 ? c : 0);
}

int64_t uk_zero_at(const struct uk_quantization *s, int64_t c) {
    return s->zero ? uk_constant_int(s->zero, s->count > 1 ? c : 0) : 0;
}

enum uk_status uk_scale_of(struct uk_graph *g, const struct uk_graph_node *n, int scale, int zero,
                           int64_t channels, enum uk_type type, struct uk_quantization *out) {
    *out = (struct uk_quantization){uk_node_input(n, scale), uk_node_input(n, zero), 1};
    if (!out->scale || out->scale->type != UK_F32)
        return uk_graph_fail(g, UK_REFUSED, n, "its scale, input %d, must be given, and be f32", scale);
    enum uk_status s = uk_need_constant(g, n, uk_node_input(n, scale));
    if (!s && out->zero)
        s = uk_need_constant(g, n, uk_node_input(n, zero));
    if (s)
        return s;
    out->count = uk_value_elements(out->scale);
    if ((out->count != 1 && out->count != channels) || out->scale->rank > 1 ||
        (out->zero && out->zero->rank > 1) || (out->zero && uk_value_elements(out->zero) != out->count) ||
        (out->zero && out->zero->type != type))
        return uk_graph_fail(g, UK_REFUSED, n,
                             "%" PRId64 " scales for %" PRId64
                             " channels, or the zero point has another type",
                             out->count, channels);
    for (int64_t i = 0; i < out->count; i++)
        if (!(uk_scale_at(out, i) > 0) || isinf(uk_scale_at(out, i)))
            return uk_graph_fail(g, UK_REFUSED, n, "a scale is %g; scales must be finite and above 0",
                                 uk_scale_at(out, i));
    return UK_OK;
}
