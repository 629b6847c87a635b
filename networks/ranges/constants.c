/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants whose elements depend on the open sizes, where a program reads them. A block is read as it is. A
 * few integers, such as a shape, are written as numbers of the program. Others are computed at run time: the
 * node that made the constant is repeated as one that is not folded. The constant itself remains for readers
 * that need its elements at compile time, as a shape.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "ranges/ranges.h"

/* Constants that are computed at run time, by number. */
struct resolving {
    struct uk_graph *g;
    struct uk_graph_value **computed; /* NULL: not yet */
    int count;
};

static bool is_dependent(const struct uk_graph_value *v) {
    return v && v->data && v->data_at;
}

/* ---- numbers of the program ---- */

static enum uk_status write_numbers(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *v = n->input[0];

    (void)output;
    if (!v->rank)
        uk_write(w, n, "$y[] = %" PRId64, uk_constant_int(v, 0));
    for (int64_t i = 0; v->rank && i < uk_value_elements(v); i++)
        uk_write(w, n, "n%" PRId64 ": $y[i0 + %" PRId64 "] = %" PRId64 " where i0 < 1", i, i,
                 uk_constant_int(v, i));
    return UK_OK;
}

static const struct uk_operator numbers_operator = {.name = "Numbers", .domain = "", .write = write_numbers};

static bool is_list_of_integers(const struct uk_graph_value *v) {
    return !v->at && v->rank <= 1 && uk_value_elements(v) <= UK_MAX_LISTED_INTS && v->type != UK_F32 &&
           v->type != UK_F64 && v->type != UK_F16 && v->type != UK_BF16;
}

/* ---- nodes that are computed at run time ---- */

/* Inserts a node after the constant's producer, or first, whose result is a value like the constant. NULL: no
 * memory. */
static struct uk_graph_node *insert(struct uk_graph *g, const struct uk_graph_value *v, int inputs) {
    struct uk_graph_node *n = uk_alloc(&g->arena, sizeof *n),
                         **place = v->producer ? &v->producer->next : &g->nodes;
    struct uk_graph_value *y = uk_value_new(g, v->name);

    if (!n || !y || !(n->input = uk_alloc(&g->arena, ((size_t)inputs + 1) * sizeof *n->input)) ||
        !(n->output = uk_alloc(&g->arena, sizeof *n->output)))
        return NULL;
    if (v->producer) {
        struct uk_graph_value **input = n->input, **output = n->output;
        *n = *v->producer;
        n->input = input;
        n->output = output;
    }
    n->name = v->name;
    n->number = g->node_count++;
    n->inputs = inputs;
    n->outputs = 1;
    n->output[0] = y;
    n->is_folded = false;
    n->next = *place;
    *place = n;
    y->type = v->type;
    y->is_boolean = v->is_boolean;
    y->has_shape = true;
    y->rank = v->rank;
    memcpy(y->extent, v->extent, sizeof y->extent);
    y->at = v->at;
    y->follows = true;
    y->producer = n;
    return n;
}

/* Returns whether the program of the node's output reads elements of v. */
static bool reads(struct uk_graph *g, const struct uk_graph_node *n, const struct uk_graph_value *output,
                  const struct uk_graph_value *v) {
    struct uk_writer w = {.g = g, .result = output, .node = &n, .nodes = 1};
    const char *text;
    bool found = false;

    if (n->op->is_view)
        return n->input[0] == v;
    if (!uk_write_program(&w, &text))
        for (int i = 0; i < w.tensors; i++)
            found |= w.tensor[i].value == v;
    uk_writer_end(&w);
    return found;
}

static bool has_program(const struct uk_graph_node *n) {
    return n && (n->op->write || n->op->is_view || uk_node_is_elementwise(n));
}

static enum uk_status resolve_inputs(struct resolving *r, struct uk_graph_node *n,
                                     const struct uk_graph_value *output);

/* Makes the inserted node write the constant's numbers. */
static void write_constant(struct uk_graph_node *n, struct uk_graph_value *v) {
    n->op = &numbers_operator;
    n->type = numbers_operator.name;
    n->domain = "";
    n->attributes = 0;
    n->input[0] = v;
}

/* Makes r->computed of the constant. */
static enum uk_status compute(struct resolving *r, struct uk_graph_value *v) {
    const struct uk_graph_node *by = v->producer;
    const bool is_numbers = is_list_of_integers(v) && !uk_is_list(by);

    if (r->computed[v->number])
        return UK_OK;
    if (!is_numbers && !has_program(by))
        return uk_graph_fail(r->g, UK_REFUSED, by,
                             "constant '%s' depends on an open size, and no program computes it", v->name);
    struct uk_graph_node *n = insert(r->g, v, is_numbers ? 1 : by->inputs);
    if (!n)
        return uk_graph_no_memory(r->g);
    r->computed[v->number] = n->output[0];
    if (is_numbers)
        write_constant(n, v);
    else
        memcpy(n->input, by->input, (size_t)by->inputs * sizeof *n->input);
    for (int i = 0; i < n->inputs; i++)
        if (n->input[i])
            n->input[i]->uses++;
    return is_numbers ? UK_OK : resolve_inputs(r, n, n->output[0]);
}

/* Has the node read values that are computed at run time in place of dependent constants that it reads. */
static enum uk_status resolve_inputs(struct resolving *r, struct uk_graph_node *n,
                                     const struct uk_graph_value *output) {
    enum uk_status s = UK_OK;

    for (int i = 0; i < n->inputs && !s; i++) {
        struct uk_graph_value *v = n->input[i];
        if (!is_dependent(v) || v->number >= r->count)
            continue;
        const bool is_read = reads(r->g, n, output, v);
        if (r->g->status)
            return r->g->status;
        if (!is_read)
            continue;
        s = compute(r, v);
        if (s)
            break;
        n->input[i] = r->computed[v->number];
        n->input[i]->uses++;
        v->uses--;
    }
    return s;
}

static enum uk_status resolve_outputs(struct resolving *r) {
    struct uk_graph *g = r->g;
    enum uk_status s = UK_OK;

    for (int i = 0; i < g->outputs && !s; i++) {
        struct uk_graph_value *v = g->output[i];
        if (!is_dependent(v) || v->number >= r->count)
            continue;
        s = compute(r, v);
        if (s)
            break;
        g->output[i] = r->computed[v->number];
        g->output[i]->uses++;
        g->output[i]->is_output = true;
    }
    return s;
}

enum uk_status uk_open_constants(struct uk_graph *g) {
    struct resolving r = {g, calloc((size_t)g->value_count + 1, sizeof *r.computed), g->value_count};
    enum uk_status s = r.computed ? UK_OK : uk_graph_no_memory(g);

    for (struct uk_graph_node *n = g->nodes; n && !s; n = n->next)
        for (int i = 0; i < n->outputs && !n->is_folded && !s; i++)
            if (n->output[i] && n->output[i]->uses)
                s = resolve_inputs(&r, n, n->output[i]);
    if (!s)
        s = resolve_outputs(&r);
    free(r.computed);
    return s;
}
