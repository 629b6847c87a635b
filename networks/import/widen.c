/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of 16-bit floats become f32. Inputs are converted before the first node and outputs after the last
 * one; constants are converted here. Results in between keep the digits that f16 would round away, unless a
 * Cast asks for the rounding. States are f32, so that no run converts them.
 */
#include <stdlib.h>
#include <string.h>
#include "import/scope.h"

enum { ONNX_FLOAT = 1, ONNX_FLOAT16 = 10, ONNX_BFLOAT16 = 16 };

static bool is_narrow(enum uk_type t) {
    return t == UK_F16 || t == UK_BF16;
}

static bool is_narrow_number(int64_t onnx_type) {
    return onnx_type == ONNX_FLOAT16 || onnx_type == ONNX_BFLOAT16;
}

/* The value of an f16: 1 sign, 5 exponent and 10 fraction bits. */
static float f16_value(uint16_t bits) {
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
    float v;

    if (!exponent) { /* zeros and subnormals, in units of 2^-24 */
        v = (float)fraction * 0x1p-24f;
        return sign ? -v : v;
    }
    const uint32_t wide = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | fraction << 13;
    memcpy(&v, &wide, sizeof v);
    return v;
}

static float bf16_value(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float v;

    memcpy(&v, &wide, sizeof v);
    return v;
}

static enum uk_status widen_constant(struct uk_graph *g, struct uk_graph_value *v) {
    const int64_t count = uk_value_elements(v);
    const uint16_t *from = v->data;

    uk_allow_constant(g, count * (int64_t)sizeof(float));
    float *to = uk_constant_alloc(g, count * (int64_t)sizeof *to);
    if (!to)
        return uk_graph_no_memory(g); /* or why it is refused */
    for (int64_t i = 0; i < count; i++)
        to[i] = v->type == UK_F16 ? f16_value(from[i]) : bf16_value(from[i]);
    v->data = to;
    v->type = UK_F32;
    return UK_OK;
}

/* Returns a node that converts; NULL: no memory. */
static struct uk_graph_node *cast_new(struct uk_graph *g, struct uk_graph_value *from,
                                      struct uk_graph_value *to, int64_t type) {
    struct uk_graph_node *n = from && to ? uk_graph_node_new(g, "Cast", to->name, 1, 1) : NULL;

    if (!n || !(n->attribute = uk_alloc(&g->arena, sizeof *n->attribute)))
        return NULL;
    n->attributes = 1;
    *n->attribute = (struct uk_attribute){.name = "to", .kind = UK_A_INT, .i = type};
    n->input[0] = from;
    from->uses++;
    n->output[0] = to;
    to->producer = n;
    return n;
}

/* ---- nodes ---- */

/* Splits a Cast to a 16-bit type, which is at *place: a new node before it rounds, and it converts to f32. */
static bool split_cast(struct uk_graph *g, struct uk_graph_node **place, struct uk_attribute *to) {
    struct uk_graph_node *n = *place;
    struct uk_graph_value *rounded = uk_value_new(g, n->name);
    struct uk_graph_node *rounds = n->inputs ? cast_new(g, n->input[0], rounded, to->i) : NULL;

    if (!rounds)
        return false;
    n->input[0]->uses--;
    n->input[0] = rounded;
    rounded->uses = 1;
    to->i = ONNX_FLOAT;
    rounds->next = n;
    *place = rounds;
    return true;
}

/* widened: by number, the value that replaces an input. */
static bool widen_nodes(struct uk_graph *g, struct uk_graph_node **place, struct uk_graph_value **widened) {
    bool done = true;

    for (; *place && done; place = &(*place)->next) {
        struct uk_graph_node *n = *place;
        for (int i = 0; i < n->inputs; i++)
            if (n->input[i] && widened[n->input[i]->number]) {
                n->input[i]->uses--;
                n->input[i] = widened[n->input[i]->number];
                n->input[i]->uses++;
            }
        for (int i = 0; i < n->attributes && done; i++) {
            struct uk_attribute *a = &n->attribute[i];
            if (a->kind == UK_A_GRAPH)
                done = widen_nodes(g, &a->graph->nodes, widened);
            else if (a->kind == UK_A_INT && is_narrow_number(a->i) && !strcmp(a->name, "to") &&
                     !strcmp(n->type, "Cast"))
                done = split_cast(g, place, a);
            else if (a->kind == UK_A_INT && is_narrow_number(a->i) &&
                     (!strcmp(a->name, "dtype") || !strcmp(a->name, "output_dtype") ||
                      !strcmp(a->name, "softmax_precision") || !strcmp(a->name, "stash_type")))
                a->i = ONNX_FLOAT;
        }
        if (*place != n)
            place = &(*place)->next;
    }
    return done;
}

/* ---- the network's values ---- */

static bool is_state(const struct uk_graph *g, const struct uk_graph_value *v) {
    for (int i = 0; i < g->states; i++)
        if (g->state[i].past == v || g->state[i].present == v)
            return true;
    return false;
}

/* Makes nodes at *end that convert inputs. */
static bool widen_inputs(struct uk_graph *g, struct uk_graph_value **widened, struct uk_graph_node **end) {
    for (int i = 0; i < g->inputs; i++) {
        struct uk_graph_value *v = g->input[i], *wide;
        if (!is_narrow(v->type))
            continue;
        if (is_state(g, v)) {
            v->type = UK_F32;
            continue;
        }
        wide = uk_value_new(g, v->name);
        if (!(*end = cast_new(g, v, wide, ONNX_FLOAT)))
            return false;
        widened[v->number] = wide;
        end = &(*end)->next;
    }
    return true;
}

static bool narrow_outputs(struct uk_graph *g, const Onnx__GraphProto *graph) {
    struct uk_graph_node **end = &g->nodes;

    while (*end)
        end = &(*end)->next;
    for (int i = 0; i < g->outputs; i++) {
        const Onnx__TypeProto *t = graph->output[i]->type;
        struct uk_graph_value *v = g->output[i];
        if (v->is_input || is_state(g, v) || !t || t->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
            !is_narrow_number(t->tensor_type->elem_type))
            continue;
        struct uk_graph_value *narrow = uk_value_new(g, v->name);
        if (!(*end = cast_new(g, v, narrow, t->tensor_type->elem_type)))
            return false;
        end = &(*end)->next;
        v->is_output = false;
        v->uses--;
        narrow->is_output = true;
        narrow->uses = 1;
        g->output[i] = narrow;
    }
    return true;
}

enum uk_status uk_import_widen(struct uk_graph *g, const Onnx__GraphProto *graph) {
    struct uk_graph_value **widened = calloc((size_t)g->value_count + 1, sizeof *widened);
    struct uk_graph_node *conversions = NULL, **end = &conversions;
    enum uk_status s = widened ? UK_OK : uk_graph_no_memory(g);

    for (struct uk_graph_value *v = g->values; v && !s; v = v->next)
        if (v->data && is_narrow(v->type))
            s = widen_constant(g, v);
    if (!s &&
        !(widen_inputs(g, widened, end) && widen_nodes(g, &g->nodes, widened) && narrow_outputs(g, graph)))
        s = uk_graph_no_memory(g);
    while (*end)
        end = &(*end)->next;
    *end = g->nodes;
    g->nodes = conversions;
    free(widened);
    return s;
}
