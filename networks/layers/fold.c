/* SPDX-License-Identifier: Apache-2.0 */
/* Constant folding: the interpreter of the tensor language runs the programs of nodes whose inputs are
 * constant; views, which have no program, are permuted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "language/language.h"
#include "layers/layers.h"

/* Value of a size. Programs of nodes have none, so it is never needed. */
static int64_t no_value(const struct uk_var *v, void *user) {
    (void)user;
    return v->value;
}

/* Number of evaluations of the statements; each term of a sum counts. */
static double terms_of(const struct uk_program *p) {
    bool overflow = false;
    double all = 0;

    for (const struct uk_statement *s = p->statements; s; s = s->next) {
        double terms = 1;
        for (int i = 0; i < s->iterators; i++)
            terms *= (double)uk_index_eval(s->extent[i], no_value, NULL, &overflow);
        all += terms;
    }
    return overflow ? INFINITY : all;
}

/* Computes the value's elements into *data; NULL if that would exceed the limit on terms. */
static enum uk_status interpret(struct uk_graph *g, const struct uk_writer *w, struct uk_program *p,
                                void **data) {
    const struct uk_graph_value *v = w->result;
    void **tensors = calloc((size_t)w->tensors + 1, sizeof *tensors);
    const double terms = terms_of(p);
    enum uk_status s = tensors ? UK_OK : UK_OUT_OF_MEMORY;

    *data = NULL;
    if (terms <= (double)g->term_room && tensors) {
        g->term_room -= (int64_t)terms;
        *data = uk_constant_alloc(g, uk_value_elements(v) * (int64_t)uk_type_bytes(v->type));
        for (int i = 0; i < w->tensors; i++)
            if (!w->tensor[i].is_temp)
                tensors[i] = w->tensor[i].value == v ? *data : (void *)(uintptr_t)w->tensor[i].value->data;
        s = *data ? uk_program_interpret(p, NULL, NULL, tensors) : uk_graph_no_memory(g);
    }
    free(tensors);
    return s;
}

static enum uk_status fold_output(struct uk_graph *g, const struct uk_graph_node *n, struct uk_graph_value *v,
                                  struct uk_context *c) {
    struct uk_writer w = {.g = g, .result = v, .node = &n, .nodes = 1};
    struct uk_program *p = NULL;
    const char *text;
    void *data = NULL;
    enum uk_status s = UK_OK;

    if (!uk_value_elements(v)) {
        v->data = uk_constant_alloc(g, 0);
        return v->data ? UK_OK : uk_graph_no_memory(g);
    }
    if (!(s = uk_write_program(&w, &text)))
        s = uk_program_parse(c, "constant.uk", text, strlen(text), &p);
    if (!s)
        s = interpret(g, &w, p, &data);
    uk_program_destroy(p);
    uk_writer_end(&w);
    v->data = s ? NULL : data;
    return s == UK_OUT_OF_MEMORY ? uk_graph_no_memory(g)
           : s ? uk_graph_fail(g, UK_REFUSED, n, "its tensor program is refused: %s", uk_context_message(c))
               : UK_OK;
}

enum uk_status uk_fold_view(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_graph_value *x = n->input[0];
    struct uk_graph_value *y = n->output[0];
    const size_t bytes = uk_type_bytes(x->type);
    int perm[UK_RANK];

    if (!x->data)
        return UK_OK;
    if (strcmp(n->type, "Transpose") != 0) {
        y->data = x->data;
        return UK_OK;
    }
    enum uk_status s = uk_permutation(g, n, perm);
    char *data = s ? NULL : uk_constant_alloc(g, uk_value_elements(y) * (int64_t)bytes);
    if (!data)
        return s ? s : uk_graph_no_memory(g);
    uk_permute(x, perm, data);
    y->data = data;
    return UK_OK;
}

void uk_permute(const struct uk_graph_value *v, const int *order, void *out) {
    const size_t bytes = uk_type_bytes(v->type);
    const int64_t elements = uk_stored_elements(v), *extent = uk_stored_extents(v);
    int64_t stride[UK_RANK], at[UK_RANK] = {0}, all = 1, offset = 0;
    char *to = out;

    for (int d = v->rank - 1; d >= 0; d--) {
        stride[d] = all;
        all *= extent[d];
    }
    for (int64_t i = 0; i < elements; i++) {
        memcpy(to + (size_t)i * bytes, (const char *)v->data + (size_t)offset * bytes, bytes);
        for (int k = v->rank - 1; k >= 0; k--) {
            const int d = order[k];
            offset += stride[d];
            if (++at[k] < extent[d])
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
