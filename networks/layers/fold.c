/* SPDX-License-Identifier: Apache-2.0 */
/* Constants: what nodes compute of constants, by the interpreter of the tensor language; and nodes that have no statements. */
#include <stdlib.h>
#include <string.h>
#include "layers/layers.h"

static enum uk_status interpret(struct uk_graph *g, const struct uk_graph_node *n, struct uk_writer *w,
                                const char *text, struct uk_context *c, void *result) {
    struct uk_program *p = NULL;
    void **tensors = calloc((size_t)w->tensors + 1, sizeof *tensors);
    enum uk_status s =
        tensors ? uk_program_parse(c, "constant.uk", text, strlen(text), &p) : UK_OUT_OF_MEMORY;

    for (int i = 0; i < w->tensors && !s; i++)
        if (!w->tensor[i].is_temp)
            tensors[i] = w->tensor[i].value == w->result ? result : (void *)w->tensor[i].value->data;
    if (!s)
        s = uk_program_interpret(p, NULL, NULL, tensors);
    uk_program_destroy(p);
    free(tensors);
    return s == UK_OUT_OF_MEMORY ? uk_graph_no_memory(g)
           : s                   ? uk_graph_fail(g, s, n, "its program is refused: %s", uk_context_message(c))
                                 : UK_OK;
}

static enum uk_status fold_output(struct uk_graph *g, const struct uk_graph_node *n, struct uk_graph_value *v,
                                  struct uk_context *c) {
    struct uk_writer w = {.g = g, .result = v, .node = &n, .nodes = 1};
    const char *text;
    void *data = uk_alloc(&g->arena, (size_t)uk_value_elements(v) * uk_element_bytes(v->type) + 1);
    enum uk_status s = data ? uk_write_program(&w, &text) : uk_graph_no_memory(g);

    if (!s && uk_value_elements(v))
        s = interpret(g, n, &w, text, c, data);
    uk_writer_end(&w);
    if (!s)
        v->data = data;
    return s;
}

enum uk_status uk_fold_view(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_graph_value *x = n->input[0];
    struct uk_graph_value *y = n->output[0];
    const size_t bytes = uk_element_bytes(x->type);
    int perm[UK_RANK];

    if (!x->data)
        return UK_OK;
    if (strcmp(n->type, "Transpose") != 0) {
        y->data = x->data;
        return UK_OK;
    }
    enum uk_status s = uk_permutation(g, n, perm);
    char *data = uk_alloc(&g->arena, (size_t)uk_value_elements(y) * bytes + 1);
    if (s || !data)
        return s ? s : uk_graph_no_memory(g);
    uk_permute(x, perm, data);
    y->data = data;
    return UK_OK;
}

void uk_permute(const struct uk_graph_value *v, const int *order, void *out) {
    const size_t bytes = uk_element_bytes(v->type);
    const int64_t elements = uk_value_elements(v);
    int64_t stride[UK_RANK], at[UK_RANK] = {0}, all = 1, offset = 0;
    char *to = out;

    for (int d = v->rank - 1; d >= 0; d--) {
        stride[d] = all;
        all *= v->extent[d];
    }
    for (int64_t i = 0; i < elements; i++) {
        memcpy(to + (size_t)i * bytes, (const char *)v->data + (size_t)offset * bytes, bytes);
        for (int k = v->rank - 1; k >= 0; k--) {
            const int d = order[k];
            offset += stride[d];
            if (++at[k] < v->extent[d])
                break;
            offset -= at[k] * stride[d];
            at[k] = 0;
        }
    }
}

enum uk_status uk_fold_by_interpreter(struct uk_graph *g, struct uk_graph_node *n, void *context) {
    enum uk_status s = UK_OK;

    for (int i = 0; i < n->outputs && !s; i++)
        if (n->output[i] && n->output[i]->has_shape)
            s = fold_output(g, n, n->output[i], context);
    return s;
}
