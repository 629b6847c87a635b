/* SPDX-License-Identifier: Apache-2.0 */
/* Scales, zero points and biases of DequantizeLinear and QuantizeLinear, before shapes are inferred. */
#include <math.h>
#include <string.h>
#include "rewrite/rewrite.h"

void uk_know_constants(struct uk_graph *g) {
    for (const struct uk_graph_node *n = g->nodes; n; n = n->next) {
        const struct uk_attribute *a =
            !*n->domain && !strcmp(n->type, "Constant") ? uk_attribute_find(n, "value") : NULL;
        struct uk_graph_value *v = n->outputs == 1 ? n->output[0] : NULL;

        if (!a || a->kind != UK_A_TENSOR || !v)
            continue;
        v->data = a->tensor->data;
        v->type = a->tensor->type;
        v->is_nibble = a->tensor->is_nibble;
        v->rank = a->tensor->rank;
        v->has_shape = true;
        memcpy(v->extent, a->tensor->extent, sizeof v->extent);
    }
}

const struct uk_graph_value *uk_constant_input(const struct uk_graph_node *n, int i) {
    const struct uk_graph_value *v = uk_node_input(n, i);

    return v && v->data ? v : NULL;
}

bool uk_has_regular_scales(const struct uk_graph_node *n) {
    const struct uk_graph_value *scale = uk_constant_input(n, 1);

    for (int64_t i = 0; scale && scale->type == UK_F32 && i < uk_value_elements(scale); i++) {
        const double s = uk_constant_real(scale, i);
        if (!(s > 0) || isinf(s))
            return false;
    }
    return scale && scale->type == UK_F32;
}

int64_t uk_count_scales(const struct uk_graph_node *n) {
    const struct uk_graph_value *scale = uk_constant_input(n, 1);

    return scale ? uk_value_elements(scale) : 0;
}

/* Constants of a DequantizeLinear; zero: NULL for 0. */
struct quantized {
    const struct uk_graph_value *q, *scale, *zero;
};

static struct quantized constants_of(const struct uk_graph_node *n) {
    return (struct quantized){uk_constant_input(n, 0), uk_constant_input(n, 1), uk_constant_input(n, 2)};
}

static double scale_at(const struct quantized *c, int64_t i) {
    return uk_constant_real(c->scale, uk_value_elements(c->scale) > 1 ? i : 0);
}

static int64_t difference_at(const struct quantized *c, int64_t i) {
    const int64_t zero = c->zero ? uk_constant_int(c->zero, uk_value_elements(c->zero) > 1 ? i : 0) : 0;

    return uk_constant_int(c->q, i) - zero;
}

static bool fits_elements(const struct uk_graph_value *v, int64_t count) {
    return !v || uk_value_elements(v) == 1 || uk_value_elements(v) == count;
}

/* Bias i in the unit of the products, as an integer; false: it is not an integer, apart from roundings of
 * scales. */
static bool in_products_unit(const struct quantized *c, double unit, int64_t i, int32_t *out) {
    const double exact = (double)difference_at(c, i) * scale_at(c, i) / unit, whole = nearbyint(exact);
    const double tolerance = 0x1p-20; /* a scale and a product of scales in f32 are each off by 2^-24 */

    if (!(fabs(exact - whole) <= tolerance * fmax(fabs(exact), 1)) || fabs(whole) > INT32_MAX)
        return false;
    *out = (int32_t)whole;
    return true;
}

static struct uk_graph_value *constant_like(struct uk_graph *g, const struct uk_graph_value *like,
                                            enum uk_type type, void **data) {
    struct uk_graph_value *v = uk_value_new(g, like->name);

    *data = v ? uk_value_constant(g, v, type, like->rank, like->extent) : NULL;
    return *data ? v : NULL;
}

enum uk_status uk_requantize_bias(struct uk_graph *g, const struct uk_graph_node *bias,
                                  const struct uk_graph_node *x, const struct uk_graph_node *w,
                                  double y_scale, struct uk_bias *out) {
    const struct quantized c = constants_of(bias), wc = constants_of(w);
    const double xs = uk_constant_real(x->input[1], 0);
    void *integers, *reals;

    *out = (struct uk_bias){NULL, NULL};
    if (!c.q || c.q->type != UK_I32 || !c.scale || c.scale->type != UK_F32 ||
        (uk_node_input(bias, 2) && !c.zero))
        return UK_OK;
    const int64_t count = uk_value_elements(c.q), channels = uk_value_elements(wc.scale);
    if (!fits_elements(c.scale, c.q->rank == 1 ? count : 1) ||
        !fits_elements(c.zero, c.q->rank == 1 ? count : 1))
        return UK_OK;
    struct uk_graph_value *whole = constant_like(g, c.q, UK_I32, &integers),
                          *real = constant_like(g, c.q, UK_F32, &reals);
    if (!whole || !real)
        return uk_graph_no_memory(g);
    bool fits = channels == 1 || (c.q->rank == 1 && channels == count);
    for (int64_t i = 0; i < count; i++) {
        fits = fits && in_products_unit(&c, xs * scale_at(&wc, i), i, &((int32_t *)integers)[i]);
        ((float *)reals)[i] = (float)difference_at(&c, i) * (float)scale_at(&c, i) / (float)y_scale;
    }
    *(fits ? &out->whole : &out->real) = fits ? whole : real;
    return UK_OK;
}
