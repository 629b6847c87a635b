/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the model, whose bodies take the place of nodes that call them, and graphs in attributes. The
 * schema is older than some of a function's fields; those are found among the unknown ones.
 */
#include <string.h>
#include "import/scope.h"

/* Calls inside each other, and nodes that all calls may expand to. */
enum { DEEPEST = 32, MOST_INLINED = 1 << 20 };

/* Fields that the schema lacks, by number. */
enum { NODE_OVERLOAD = 8, FUNCTION_DEFAULT = 11, FUNCTION_OVERLOAD = 13 };

static const char *domain_of(const char *domain) {
    return !domain || !strcmp(domain, "ai.onnx") ? "" : domain;
}

/* ---- unknown fields: length, as a varint, and that many bytes ---- */

static bool payload(const ProtobufCMessageUnknownField *f, ProtobufCBinaryData *out) {
    size_t head = 0;

    if (f->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
        return false;
    while (head < f->len && f->data[head] & 0x80)
        head++;
    if (head >= f->len)
        return false;
    *out = (ProtobufCBinaryData){f->len - head - 1, f->data + head + 1};
    return true;
}

/* Returns the text in a field; an empty one if the message lacks it. */
static ProtobufCBinaryData unknown_text(const ProtobufCMessage *m, unsigned tag) {
    ProtobufCBinaryData found = {0};

    for (unsigned i = 0; i < m->n_unknown_fields; i++)
        if (m->unknown_fields[i].tag == tag)
            payload(&m->unknown_fields[i], &found);
    return found;
}

static bool same_overload(const Onnx__NodeProto *n, const Onnx__FunctionProto *f) {
    const ProtobufCBinaryData a = unknown_text(&n->base, NODE_OVERLOAD),
                              b = unknown_text(&f->base, FUNCTION_OVERLOAD);

    return a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
}

const Onnx__FunctionProto *uk_import_function(const struct uk_importing *im, const Onnx__NodeProto *from) {
    for (size_t i = 0; i < im->model->n_functions; i++) {
        const Onnx__FunctionProto *f = im->model->functions[i];
        if (f->name && from->op_type && !strcmp(f->name, from->op_type) &&
            !strcmp(domain_of(f->domain), domain_of(from->domain)) && same_overload(from, f))
            return f;
    }
    return NULL;
}

/* ---- attributes of calls ---- */

enum uk_status uk_import_reference(struct uk_importing *im, const char *name, const struct uk_graph_node *n,
                                   const struct uk_attribute **found) {
    const struct uk_function_call *call = im->scope->call;

    *found = NULL;
    if (!call)
        return uk_graph_fail(im->g, UK_REFUSED, n,
                             "it refers to attribute '%s' of a function, and is in none", name);
    for (int i = 0; i < call->attributes && !*found; i++)
        if (!strcmp(call->attribute[i].name, name))
            *found = &call->attribute[i];
    return *found && (*found)->kind == UK_A_GRAPH
               ? uk_graph_fail(im->g, UK_REFUSED, n, "attribute '%s' of the function is a graph", name)
               : UK_OK;
}

static bool has_attribute(const struct uk_function_call *call, const char *name) {
    for (int i = 0; i < call->attributes; i++)
        if (name && !strcmp(call->attribute[i].name, name))
            return true;
    return false;
}

/* Adds the default unless the call has an attribute of that name. */
static enum uk_status add_default(struct uk_importing *im, struct uk_function_call *call,
                                  const ProtobufCMessageUnknownField *field) {
    static const char what[] = "an attribute of a function is malformed";
    ProtobufCBinaryData bytes;
    enum uk_status s = UK_OK;

    if (!payload(field, &bytes))
        return uk_graph_fail(im->g, UK_REFUSED, call->node, "%s", what);
    Onnx__AttributeProto *a =
        uk_import_unpack(im->g, &onnx__attribute_proto__descriptor, bytes.data, bytes.len, what);
    if (!a)
        return im->g->status;
    if (!has_attribute(call, a->name))
        s = uk_import_attribute(im, a, call->node, &call->attribute[call->attributes++]);
    onnx__attribute_proto__free_unpacked(a, NULL);
    return s;
}

static enum uk_status attributes(struct uk_importing *im, struct uk_function_call *call) {
    const ProtobufCMessage *m = &call->function->base;
    const struct uk_graph_node *n = call->node;
    enum uk_status s = UK_OK;

    call->attribute =
        uk_alloc(&im->g->arena, ((size_t)n->attributes + m->n_unknown_fields + 1) * sizeof *call->attribute);
    if (!call->attribute)
        return uk_graph_no_memory(im->g);
    for (int i = 0; i < n->attributes; i++)
        call->attribute[call->attributes++] = n->attribute[i];
    for (unsigned i = 0; i < m->n_unknown_fields && !s; i++)
        if (m->unknown_fields[i].tag == FUNCTION_DEFAULT)
            s = add_default(im, call, &m->unknown_fields[i]);
    return s;
}

/* ---- calls ---- */

bool uk_import_is_omitted(const struct uk_importing *im, const char *name) {
    const Onnx__FunctionProto *f = im->scope->call ? im->scope->call->function : NULL;

    for (size_t i = 0; f && i < f->n_input; i++)
        if (!strcmp(f->input[i], name))
            return true;
    return false;
}

/* Gives the call's inputs and outputs the names that they have in the function. */
static enum uk_status bind(struct uk_importing *im, struct uk_function_call *call) {
    const Onnx__FunctionProto *f = call->function;
    const struct uk_graph_node *n = call->node;

    if (n->inputs > (int)f->n_input || n->outputs > (int)f->n_output)
        return uk_graph_fail(im->g, UK_REFUSED, n,
                             "it has %d inputs and %d outputs, its function has %zu and %zu", n->inputs,
                             n->outputs, f->n_input, f->n_output);
    for (int i = 0; i < n->inputs; i++) {
        if (!n->input[i])
            continue;
        if (uk_names_find(&im->scope->names, f->input[i]))
            return uk_graph_fail(im->g, UK_REFUSED, n, "two inputs of its function are named '%s'",
                                 f->input[i]);
        if (!uk_names_add(&im->scope->names, f->input[i], n->input[i]))
            return uk_graph_no_memory(im->g);
    }
    for (int i = 0; i < n->outputs; i++) {
        if (!n->output[i])
            continue;
        if (uk_names_find(&call->results, f->output[i]))
            return uk_graph_fail(im->g, UK_REFUSED, n, "two outputs of its function are named '%s'",
                                 f->output[i]);
        if (!uk_names_add(&call->results, f->output[i], n->output[i]))
            return uk_graph_no_memory(im->g);
    }
    return UK_OK;
}

/* Checks that the body computes the call's outputs. An output that is an input gets a node. */
static enum uk_status results(struct uk_importing *im, const struct uk_function_call *call,
                              struct uk_graph_node ***end) {
    for (int i = 0; i < call->node->outputs; i++) {
        struct uk_graph_value *to = call->node->output[i],
                              *from = to ? uk_import_find(im, call->function->output[i]) : NULL;
        if (!to || from == to)
            continue;
        if (!from)
            return uk_graph_fail(im->g, UK_REFUSED, call->node,
                                 "its function does not compute its output '%s'", call->function->output[i]);
        struct uk_graph_node *n = uk_identity_new(im->g, call->node->name, from, to);
        if (!n)
            return uk_graph_no_memory(im->g);
        **end = n;
        *end = &n->next;
    }
    return UK_OK;
}

/* Refuses functions that call themselves, and calls that expand to too much. */
static enum uk_status check_call(struct uk_importing *im, const struct uk_function_call *call) {
    int depth = 0;

    for (const struct uk_function_call *at = call->outside; at; at = at->outside, depth++)
        if (at->function == call->function)
            return uk_graph_fail(im->g, UK_REFUSED, call->node, "function '%s' calls itself",
                                 call->function->name);
    im->inlined += (int64_t)call->function->n_node + 1;
    if (depth >= DEEPEST || im->inlined > MOST_INLINED)
        return uk_graph_fail(im->g, UK_REFUSED, call->node,
                             "functions call each other more than %d deep, or expand to more than %d nodes",
                             (int)DEEPEST, (int)MOST_INLINED);
    return UK_OK;
}

enum uk_status uk_import_call(struct uk_importing *im, const Onnx__FunctionProto *f, struct uk_graph_node *n,
                              struct uk_graph_node ***end) {
    struct uk_name_scope *const outside = im->scope;
    struct uk_function_call call = {.outside = outside->call, .function = f, .node = n};
    struct uk_name_scope inside = {.call = &call,
                                   .sets = f->n_opset_import ? f->opset_import : outside->sets,
                                   .set_count = f->n_opset_import ? f->n_opset_import : outside->set_count};
    enum uk_status s = check_call(im, &call);

    if (!s && !(inside.prefix = uk_format(&im->g->arena, "%s/", n->name)))
        s = uk_graph_no_memory(im->g);
    if (!s)
        s = attributes(im, &call);
    im->scope = &inside;
    if (!s)
        s = bind(im, &call);
    if (!s)
        s = uk_import_nodes(im, f->node, f->n_node, end);
    if (!s)
        s = results(im, &call, end);
    im->scope = outside;
    uk_names_free(&inside.names);
    uk_names_free(&call.results);
    if (!s)
        uk_node_release(n);
    return s;
}

/* ---- graphs in attributes ---- */

static enum uk_status fill_subgraph(struct uk_importing *im, const Onnx__GraphProto *graph,
                                    const struct uk_graph_node *n, struct uk_subgraph *sub) {
    struct uk_graph_node **end = &sub->nodes;
    enum uk_status s = uk_import_initializers(im, graph);

    for (size_t i = 0; i < graph->n_input && !s; i++) {
        const char *name = graph->input[i]->name ? graph->input[i]->name : "";
        struct uk_graph_value *v = uk_import_define(im, name, NULL);
        s = v ? UK_OK : im->g->status;
        sub->input[sub->inputs++] = v;
    }
    sub->first = im->g->node_count;
    if (!s)
        s = uk_import_nodes(im, graph->node, graph->n_node, &end);
    sub->end = im->g->node_count;
    for (size_t i = 0; i < graph->n_output && !s; i++) {
        const char *name = graph->output[i]->name ? graph->output[i]->name : "";
        struct uk_graph_value *v = uk_import_find(im, name);
        if (!v)
            return uk_graph_fail(im->g, UK_REFUSED, n, "its graph does not compute its output '%s'", name);
        v->uses++;
        sub->output[sub->outputs++] = v;
    }
    return s;
}

enum uk_status uk_import_subgraph(struct uk_importing *im, const Onnx__GraphProto *graph,
                                  const struct uk_graph_node *n, struct uk_subgraph **out) {
    struct uk_name_scope *const outside = im->scope;
    struct uk_name_scope inside = {
        .outside = outside, .sets = outside->sets, .set_count = outside->set_count, .call = outside->call};
    struct uk_subgraph *sub = *out = uk_alloc(&im->g->arena, sizeof *sub);

    if (!sub || !(inside.prefix = uk_format(&im->g->arena, "%s/", n->name)) ||
        !(sub->input = uk_alloc(&im->g->arena, (graph->n_input + 1) * sizeof *sub->input)) ||
        !(sub->output = uk_alloc(&im->g->arena, (graph->n_output + 1) * sizeof *sub->output)))
        return uk_graph_no_memory(im->g);
    im->scope = &inside;
    const enum uk_status s = fill_subgraph(im, graph, n, sub);
    im->scope = outside;
    uk_names_free(&inside.names);
    return s;
}
