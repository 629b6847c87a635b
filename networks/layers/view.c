/* SPDX-License-Identifier: Apache-2.0 */
/* Views: operators whose result has the input's elements under another shape. */
#include <inttypes.h>
#include <string.h>
#include "layers/layers.h"

enum uk_status uk_infer_same(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_set_output(g, n, 0, n->input[0]->type, n->input[0]->rank, n->input[0]->extent);
    if (!s)
        n->output[0]->is_boolean = n->input[0]->is_boolean;
    return s;
}

/* The bits as another type of the same width. A result of f16 or bf16 would be widened, and one of booleans
 * must be 0 or 1. */
enum uk_status uk_infer_bit_cast(struct uk_graph *g, struct uk_graph_node *n) {
    const int64_t to = uk_attribute_int(n, "to", 0);
    bool is_boolean;
    const enum uk_type type = uk_onnx_type(to, &is_boolean);
    enum uk_status s = uk_need_input(g, n, 0);

    if (s)
        return s;
    if (type == UK_TYPES)
        return uk_graph_refuse_type(g, n, "its result", NULL, to);
    const struct uk_graph_value *x = n->input[0];
    if (uk_type_bytes(type) != uk_type_bytes(x->type) || type == UK_F16 || type == UK_BF16 || x->is_nibble ||
        (is_boolean && !x->is_boolean))
        return uk_graph_fail(
            g, UK_REFUSED, n, "bits of %s as %s are not supported%s", uk_type_name(x->type),
            is_boolean ? "bool" : uk_type_name(type),
            x->type == UK_F32 && uk_type_bytes(type) == 2 ? "; values of f16 and bf16 are f32 here" : "");
    s = uk_set_output(g, n, 0, type, x->rank, x->extent);
    if (!s)
        n->output[0]->is_boolean = is_boolean;
    return s;
}

/* Dropout is the identity at inference; the mask, output 1, is all true. */
enum uk_status uk_infer_dropout(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_graph_value *training = uk_node_input(n, 2);
    struct uk_graph_value *mask = n->outputs > 1 ? n->output[1] : NULL;
    enum uk_status s = uk_infer_same(g, n);

    if (!s && training)
        s = uk_need_constant(g, n, uk_node_input(n, 2));
    if (!s && (training || (n->version < 7 && !uk_attribute_int(n, "is_test", 0))) &&
        !(training && training->data && uk_value_elements(training) == 1 && training->type == UK_U8 &&
          !uk_constant_int(training, 0)))
        s = uk_graph_fail(g, UK_REFUSED, n, "training mode must be a constant false");
    if (!s && mask && mask->uses) {
        uint8_t *data = uk_value_constant(g, mask, UK_U8, n->input[0]->rank, n->input[0]->extent);
        if (!data)
            return uk_graph_no_memory(g);
        memset(data, 1, (size_t)uk_value_elements(mask));
        mask->is_boolean = true;
    }
    return s;
}

static enum uk_status view(struct uk_graph *g, struct uk_graph_node *n, int rank, const int64_t *extent) {
    enum uk_status s = uk_set_output(g, n, 0, n->input[0]->type, rank, extent);

    if (!s && uk_value_elements(n->output[0]) != uk_value_elements(n->input[0]))
        s = uk_graph_fail(g, UK_REFUSED, n, "%s and %s differ in their number of elements",
                          uk_value_shape(n->output[0]), uk_value_shape(n->input[0]));
    if (!s)
        n->output[0]->is_boolean = n->input[0]->is_boolean;
    return s;
}

enum uk_status uk_infer_reshape(struct uk_graph *g, struct uk_graph_node *n) {
    const bool zero = uk_attribute_int(n, "allowzero", 0);
    int64_t list[UK_MAX_LISTED_INTS], known = 1;
    int count = -1, open = -1;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_ints(g, n, "shape", 1, list, &count);
    if (!s && count < 0)
        s = uk_graph_fail(g, UK_REFUSED, n, "the shape is missing");
    for (int i = 0; i < count && !s; i++) {
        if (list[i] == 0 && !zero) {
            if (i >= n->input[0]->rank)
                return uk_graph_fail(g, UK_REFUSED, n,
                                     "dimension %d is to be copied from %s, which has none of that number", i,
                                     uk_value_shape(n->input[0]));
            list[i] = n->input[0]->extent[i];
        }
        if (list[i] == -1 && open < 0)
            open = i;
        else if (list[i] < 0 || __builtin_mul_overflow(known, list[i], &known))
            return uk_graph_fail(g, UK_REFUSED, n, "the shape's dimension %d is %" PRId64, i, list[i]);
    }
    if (!s && open >= 0) {
        const int64_t all = uk_value_elements(n->input[0]);
        if (known == 0 || all % known)
            return uk_graph_fail(g, UK_REFUSED, n, "%s does not divide into parts of %" PRId64 " elements",
                                 uk_value_shape(n->input[0]), known);
        list[open] = all / known;
    }
    return s ? s : view(g, n, count, list);
}

enum uk_status uk_infer_flatten(struct uk_graph *g, struct uk_graph_node *n) {
    const int64_t axis = uk_attribute_int(n, "axis", 1);
    enum uk_status s = uk_need_input(g, n, 0);
    int64_t extent[] = {1, 1};

    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0];
    if (axis < -x->rank || axis > x->rank)
        return uk_graph_fail(g, UK_REFUSED, n, "axis %" PRId64 " does not exist in a tensor of %d dimensions",
                             axis, x->rank);
    for (int d = 0; d < x->rank; d++)
        extent[d >= (axis < 0 ? axis + x->rank : axis)] *= x->extent[d];
    return view(g, n, 2, extent);
}

enum uk_status uk_infer_squeeze(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t list[UK_MAX_LISTED_INTS], extent[UK_RANK];
    bool drop[UK_RANK] = {false};
    int count, rank = 0;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_ints(g, n, "axes", 1, list, &count);
    if (s)
        return s;
    const struct uk_graph_value *x = n->input[0];
    for (int d = 0; d < x->rank && count < 0; d++)
        drop[d] = x->extent[d] == 1;
    for (int i = 0; i < count; i++) {
        int axis;
        if ((s = uk_need_axis(g, n, list[i], x->rank, &axis)))
            return s;
        if (x->extent[axis] != 1)
            return uk_graph_fail(g, UK_REFUSED, n, "dimension %d of %s is not 1", axis, uk_value_shape(x));
        drop[axis] = true;
    }
    for (int d = 0; d < x->rank; d++)
        if (!drop[d])
            extent[rank++] = x->extent[d];
    return view(g, n, rank, extent);
}

enum uk_status uk_infer_unsqueeze(struct uk_graph *g, struct uk_graph_node *n) {
    int64_t list[UK_MAX_LISTED_INTS], extent[UK_RANK];
    bool made[UK_RANK] = {false};
    int count, from = 0;
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_ints(g, n, "axes", 1, list, &count);
    if (s)
        return s;
    const int rank = n->input[0]->rank + (count < 0 ? 0 : count);
    if (count < 0 || rank > UK_RANK)
        return uk_graph_fail(g, UK_REFUSED, n, count < 0 ? "axes are missing" : "more than 8 dimensions");
    for (int i = 0; i < count; i++) {
        int axis;
        if ((s = uk_need_axis(g, n, list[i], rank, &axis)))
            return s;
        if (made[axis])
            return uk_graph_fail(g, UK_REFUSED, n, "axis %d is given twice", axis);
        made[axis] = true;
    }
    for (int d = 0; d < rank; d++)
        extent[d] = made[d] ? 1 : n->input[0]->extent[from++];
    return view(g, n, rank, extent);
}

enum uk_status uk_permutation(struct uk_graph *g, const struct uk_graph_node *n, int *perm) {
    const int rank = n->input[0]->rank;
    int64_t list[UK_MAX_LISTED_INTS];
    bool seen[UK_RANK] = {false};
    int count;
    enum uk_status s = uk_need_ints(g, n, "perm", -1, list, &count);

    for (int d = 0; d < rank && !s; d++) {
        const int64_t p = count < 0 ? rank - 1 - d : d < count ? list[d] : -1;
        if (count > rank || p < 0 || p >= rank || seen[p])
            return uk_graph_fail(g, UK_REFUSED, n, "perm is not a permutation of %d dimensions", rank);
        seen[p] = true;
        perm[d] = (int)p;
    }
    return s;
}

enum uk_status uk_infer_transpose(struct uk_graph *g, struct uk_graph_node *n) {
    int perm[UK_RANK];
    int64_t extent[UK_RANK];
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_permutation(g, n, perm);
    for (int d = 0; !s && d < n->input[0]->rank; d++)
        extent[d] = n->input[0]->extent[perm[d]];
    return s ? s : view(g, n, n->input[0]->rank, extent);
}
