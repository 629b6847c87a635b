/* SPDX-License-Identifier: Apache-2.0 */
/* Single layers: descriptions, inputs and results, and the interpreter on their programs. */
#include <stdlib.h>
#include <string.h>
#include "emit/emit.h"
#include "language/language.h"

/* ---- multiply-adds ---- */

static bool has_element(const struct uk_expr *e) {
    bool found = e->op == UK_E_ACCESS;

    for (int i = 0; i < 3 && e->arg[i]; i++)
        found = found || has_element(e->arg[i]);
    return found;
}

/* True if the expression is a product of two factors that read elements; casts around it do not matter. */
static bool is_product(const struct uk_expr *e) {
    while (e->op == UK_E_CAST)
        e = e->arg[0];
    return e->op == UK_E_MUL && has_element(e->arg[0]) && has_element(e->arg[1]);
}

/* Value of a size. user: the values of the program's sizes. */
static int64_t value_of(const struct uk_var *v, void *user) {
    const int64_t *size = user;

    return size ? size[v->number] : v->value;
}

static double multiply_adds(const struct uk_program *p, const int64_t *size) {
    bool overflow = false;
    double all = 0;

    for (const struct uk_statement *s = p->statements; s; s = s->next) {
        double terms = s->reduce == UK_REDUCE_SUM && is_product(s->right);
        for (int i = 0; i < s->iterators && terms > 0; i++)
            terms *= (double)uk_index_eval(s->extent[i], value_of, (void *)(uintptr_t)size, &overflow);
        all += terms;
    }
    return all;
}

static enum uk_status parse(struct uk_network *n, const struct uk_layer_function *f, struct uk_program **p) {
    if (uk_program_parse(n->context, "layer.uk", f->text, strlen(f->text), p))
        return uk_graph_fail(&n->graph, UK_REFUSED, NULL, "%s", uk_context_message(n->context));
    return UK_OK;
}

/* Returns the i-th argument if it is in the block of memory and not the result, else NULL. */
static const struct uk_graph_value *input_at(const struct uk_layer *l, int i) {
    return i < l->arguments - 1 && !l->argument[i]->data ? l->argument[i] : NULL;
}

static enum uk_status show_inputs(struct uk_network *n, struct uk_layer *l) {
    struct uk_network_tensor *input = (struct uk_network_tensor *)(uintptr_t)l->shown.input;

    if (!input)
        input = uk_alloc(&n->graph.arena, ((size_t)l->arguments + 1) * sizeof *input);
    if (!input)
        return uk_graph_no_memory(&n->graph);
    l->shown.input = input;
    l->shown.inputs = 0;
    for (int i = 0; i < l->arguments; i++)
        if (input_at(l, i))
            uk_tensor_show(&input[l->shown.inputs++], uk_value_inside_border(l->argument[i]),
                           l->argument[i]->name);
    return UK_OK;
}

/* The product of the trip counts of the loops around the layer, at most 2^40; -1: data decide it. */
static int64_t trips_of(const struct uk_layer *l) {
    int64_t all = 1;

    for (const struct uk_graph_region *r = l->region; r && all >= 0; r = r->outside)
        if (r->trips < 0 || r->condition)
            all = -1;
        else if (__builtin_mul_overflow(all, r->trips, &all) || all > UK_MAX_ELEMENTS)
            all = UK_MAX_ELEMENTS;
    return all;
}

enum uk_status uk_layers_show(struct uk_network *n) {
    enum uk_status s = UK_OK;

    for (const struct uk_layer_function *f = n->plan.functions; f && !s; f = f->next) {
        struct uk_program *p = NULL;
        s = parse(n, f, &p);
        for (struct uk_layer *l = n->plan.layers; l && !s; l = l->next)
            if (l->function == f)
                l->shown.multiply_adds = multiply_adds(p, uk_layer_sizes(n, l)) * l->true_terms;
        uk_program_destroy(p);
    }
    for (struct uk_layer *l = n->plan.layers; l && !s; l = l->next) {
        memcpy(l->shown.output.shape, l->result->extent, sizeof l->shown.output.shape);
        l->shown.output.elements = (size_t)uk_value_elements(l->result);
        l->shown.output.bytes = l->shown.output.elements * uk_type_bytes(l->result->type);
        memcpy(l->shown.order, l->result->order, sizeof l->shown.order);
        l->shown.trips = trips_of(l);
        l->shown.offset = (size_t)uk_value_offset(l->result, NULL);
        s = show_inputs(n, l);
    }
    return s;
}

/* ---- elements ---- */

static char *place(const void *memory, const struct uk_graph_value *v) {
    return (char *)(uintptr_t)memory + uk_value_offset(v, memory);
}

void *uk_network_layer_output(const struct uk_network *n, void *memory, int layer) {
    return uk_network_layer(n, layer) && memory ? place(memory, n->plan.layer[layer]->result) : NULL;
}

/* Returns the offset, in elements, of the element whose row-major index in ONNX's order is `element`. */
static int64_t stored(const struct uk_graph_value *v, const int64_t *stride, int64_t element) {
    int64_t at = 0;

    for (int d = v->rank - 1; d >= 0; d--) {
        at += element % v->extent[d] * stride[d];
        element /= v->extent[d];
    }
    return at;
}

/* Copies elements from memory into ONNX's order, or back. */
static void copy_elements(const struct uk_graph_value *v, char *memory, char *elements, bool back) {
    const size_t bytes = uk_type_bytes(v->type);
    int64_t stride[UK_RANK];

    uk_value_strides(v, stride);
    for (int64_t i = 0; i < uk_value_elements(v); i++) {
        char *const inside = memory + (size_t)stored(v, stride, i) * bytes, *const outside =
                                                                                elements + (size_t)i * bytes;
        memcpy(back ? inside : outside, back ? outside : inside, bytes);
    }
}

enum uk_status uk_network_layer_copy(const struct uk_network *n, const void *memory, int layer, void *copy) {
    if (!uk_network_layer(n, layer) || !memory || !copy)
        return UK_INVALID_ARGUMENT;
    const struct uk_graph_value *v = n->plan.layer[layer]->result;

    copy_elements(v, place(memory, v), copy, false);
    return UK_OK;
}

enum uk_status uk_network_layer_give(const struct uk_network *n, void *memory, int layer, int input,
                                     const void *elements) {
    if (!uk_network_layer(n, layer) || !memory || !elements || input < 0)
        return UK_INVALID_ARGUMENT;
    const struct uk_layer *l = n->plan.layer[layer];

    for (int i = 0; i < l->arguments; i++)
        if (input_at(l, i) && input-- == 0) {
            const struct uk_graph_value *v = uk_value_inside_border(l->argument[i]);
            uk_border_fill(l->argument[i], place(memory, l->argument[i]));
            copy_elements(v, place(memory, v), (char *)(uintptr_t)elements, true);
            return UK_OK;
        }
    return UK_INVALID_ARGUMENT;
}

/* ---- the interpreter ---- */

/* A layer's program with its operands in order; the caller adds the result. */
struct interpreted {
    struct uk_arena arena;
    struct uk_program *program;
    void **tensor;
    const struct uk_layer *layer;
};

/* Returns a copy of the constant in the layout that the layer reads. NULL: a failure is recorded. */
static const void *constant_of(struct uk_network *n, const struct uk_graph_value *v, struct uk_arena *arena) {
    void *data = uk_alloc(arena, (size_t)uk_stored_elements(v) * uk_type_bytes(v->type) + 1);

    if (data)
        uk_permute(v, v->order, data);
    else
        uk_graph_no_memory(&n->graph);
    return data;
}

/* Prepares to interpret a layer. Call end() in any case. */
static enum uk_status begin(struct uk_network *n, const void *memory, int layer, struct interpreted *in) {
    *in = (struct interpreted){.arena = {0}};
    enum uk_status s = uk_network_enter(n, true);

    if (s)
        return s;
    if (!uk_network_layer(n, layer) || !memory)
        return uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL, "there is no layer %d, or memory is NULL",
                             layer);
    const struct uk_layer *l = in->layer = n->plan.layer[layer];
    in->tensor = uk_alloc(&in->arena, ((size_t)l->arguments + 1) * sizeof *in->tensor);
    if (!in->tensor)
        return uk_graph_no_memory(&n->graph);
    for (int i = 0; i < l->arguments && !n->graph.status; i++) {
        const struct uk_graph_value *v = l->argument[i];
        in->tensor[i] = v->data ? (void *)(uintptr_t)constant_of(n, v, &in->arena) : place(memory, v);
    }
    return n->graph.status ? n->graph.status : parse(n, l->function, &in->program);
}

static enum uk_status end(struct uk_network *n, struct interpreted *in, enum uk_status s) {
    if (s && !n->graph.status)
        uk_graph_fail(&n->graph, s, NULL, "%s", uk_context_message(n->context));
    uk_program_destroy(in->program);
    uk_arena_free(&in->arena);
    return s;
}

enum uk_status uk_network_interpret_layer(struct uk_network *n, const void *memory, int layer, void *result) {
    struct interpreted in;
    enum uk_status s = begin(n, memory, layer, &in);

    if (!s && !result)
        s = uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL, "result is NULL");
    if (!s) {
        in.tensor[in.layer->arguments - 1] = result;
        s = uk_program_interpret(in.program, uk_layer_sizes(n, in.layer), NULL, in.tensor);
    }
    return n ? end(n, &in, s) : s;
}

enum uk_status uk_network_interpret_elements(struct uk_network *n, const struct uk_options *options,
                                             const void *memory, int layer, int64_t count,
                                             const int64_t *element, void *result, double *error) {
    /* The interpreter refuses a count above INT32_MAX before it reads an element. */
    const int64_t listed = count > 0 && count <= INT32_MAX ? count : 0;
    struct interpreted in;
    enum uk_status s = begin(n, memory, layer, &in);

    if (!s && (!element || !result || !error))
        s = uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL, "elements, result or error is NULL");
    int64_t *at = s ? NULL : uk_alloc(&in.arena, ((size_t)listed + 1) * sizeof *at);
    if (!s && !at)
        s = uk_graph_no_memory(&n->graph);
    const struct uk_graph_value *v = s ? NULL : in.layer->result;
    int64_t stride[UK_RANK];
    if (!s)
        uk_value_strides(v, stride);
    for (int64_t i = 0; i < listed && !s; i++)
        at[i] = element[i] < 0 || element[i] >= uk_value_elements(v) ? -1 : stored(v, stride, element[i]);
    if (!s)
        s = uk_program_interpret_elements(in.program, options, uk_layer_sizes(n, in.layer), NULL, in.tensor,
                                          in.layer->arguments - 1, count, at, result, error);
    return n ? end(n, &in, s) : s;
}
