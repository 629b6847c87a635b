/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the model's graph: initializers, nodes in order, outputs, properties. */
#include <stdio.h>
#include <string.h>
#include "import/scope.h"
#include "import/sizes.h"

enum { OLDEST = 1, NEWEST = 28 };

struct uk_graph_value *uk_import_find(const struct uk_importing *im, const char *name) {
    struct uk_graph_value *v = NULL;

    for (const struct uk_name_scope *at = im->scope; at && !v; at = at->outside)
        v = uk_names_find(&at->names, name);
    return v;
}

struct uk_graph_value *uk_import_define(struct uk_importing *im, const char *name,
                                        const struct uk_graph_node *by) {
    struct uk_name_scope *scope = im->scope;
    struct uk_graph_value *v = NULL;

    if (uk_names_find(&scope->names, name)) {
        uk_graph_fail(im->g, UK_REFUSED, by, "value '%s' is defined twice", name);
        return NULL;
    }
    if (scope->call && !scope->outside) /* the body of a function: its outputs exist already */
        v = uk_names_find(&scope->call->results, name);
    if (!v) {
        const char *full = *scope->prefix ? uk_format(&im->g->arena, "%s%s", scope->prefix, name) : name;
        v = full ? uk_value_new(im->g, full) : NULL;
    }
    if (!v || !uk_names_add(&scope->names, *scope->prefix ? name : v->name, v)) {
        uk_graph_no_memory(im->g);
        return NULL;
    }
    v->producer = (struct uk_graph_node *)by;
    return v;
}

enum uk_status uk_import_initializers(struct uk_importing *im, const Onnx__GraphProto *graph) {
    enum uk_status s = UK_OK;

    if (graph->n_sparse_initializer)
        return uk_graph_fail(im->g, UK_REFUSED, NULL, "sparse initializers are not supported");
    for (size_t i = 0; i < graph->n_initializer && !s; i++) {
        struct uk_graph_value *v = uk_import_define(im, uk_or_empty(graph->initializer[i]->name), NULL);
        s = v ? uk_import_tensor(im->g, graph->initializer[i], im->folders, v) : im->g->status;
    }
    return s;
}

/* ---- nodes ---- */

static const char *bytes_of(struct uk_graph *g, ProtobufCBinaryData b) {
    return b.len ? uk_strndup(&g->arena, (const char *)b.data, b.len) : uk_strdup(&g->arena, "");
}

static enum uk_status copy_numbers(struct uk_graph *g, const Onnx__AttributeProto *from,
                                   struct uk_attribute *a) {
    const bool ints = a->kind == UK_A_INTS;

    a->count = (int)(ints ? from->n_ints : from->n_floats);
    void *copy = uk_alloc(&g->arena, (size_t)a->count * 8 + 1);
    if (!copy)
        return uk_graph_no_memory(g);
    for (int i = 0; i < a->count; i++)
        if (ints)
            ((int64_t *)copy)[i] = from->ints[i];
        else
            ((double *)copy)[i] = from->floats[i];
    if (ints)
        a->ints = copy;
    else
        a->floats = copy;
    return UK_OK;
}

static enum uk_status copy_texts(struct uk_graph *g, const Onnx__AttributeProto *from,
                                 struct uk_attribute *a) {
    const char **copy = uk_alloc(&g->arena, (from->n_strings + 1) * sizeof *copy);

    if (!copy)
        return uk_graph_no_memory(g);
    for (size_t i = 0; i < from->n_strings; i++)
        if (!(copy[i] = bytes_of(g, from->strings[i])))
            return uk_graph_no_memory(g);
    a->count = (int)from->n_strings;
    a->strings = copy;
    return UK_OK;
}

/* Infers the kind if the file lacks it, as files before IR version 2 do. */
static int kind_of(const Onnx__AttributeProto *a) {
    if (a->has_type)
        return (int)a->type;
    return a->has_f       ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT
           : a->has_i     ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT
           : a->has_s     ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING
           : a->t         ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR
           : a->g         ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH
           : a->n_floats  ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS
           : a->n_ints    ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS
           : a->n_strings ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS
                          : 0;
}

enum uk_status uk_import_attribute(struct uk_importing *im, const Onnx__AttributeProto *from,
                                   const struct uk_graph_node *n, struct uk_attribute *a) {
    struct uk_graph *g = im->g;

    a->name = uk_strdup(&g->arena, uk_or_empty(from->name));
    if (!a->name)
        return uk_graph_no_memory(g);
    switch (kind_of(from)) {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        a->kind = UK_A_FLOAT;
        a->f = from->f;
        return UK_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        a->kind = UK_A_INT;
        a->i = from->i;
        return UK_OK;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        a->kind = UK_A_STRING;
        a->s = bytes_of(g, from->s);
        return a->s ? UK_OK : uk_graph_no_memory(g);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
        a->kind = UK_A_TENSOR;
        if (!from->t)
            return uk_graph_fail(g, UK_REFUSED, n, "attribute '%s' has no tensor", a->name);
        a->tensor = uk_value_new(g, a->name);
        return a->tensor ? uk_import_tensor(g, from->t, im->folders, a->tensor) : uk_graph_no_memory(g);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
        a->kind = UK_A_FLOATS;
        return copy_numbers(g, from, a);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        a->kind = UK_A_INTS;
        return copy_numbers(g, from, a);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
        a->kind = UK_A_STRINGS;
        return copy_texts(g, from, a);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH:
        a->kind = UK_A_GRAPH;
        if (!from->g)
            return uk_graph_fail(g, UK_REFUSED, n, "attribute '%s' has no graph", a->name);
        return uk_import_subgraph(im, from->g, n, &a->graph);
    default:
        a->kind = UK_A_OTHER;
        return UK_OK;
    }
}

/* Adds the attribute to the node. One that refers to an attribute which the call of the function leaves out
 * is left out, too. */
static enum uk_status node_attribute(struct uk_importing *im, const Onnx__AttributeProto *from,
                                     struct uk_graph_node *n) {
    struct uk_attribute *a = &n->attribute[n->attributes];
    const struct uk_attribute *found;

    if (!*uk_or_empty(from->ref_attr_name)) {
        n->attributes++;
        return uk_import_attribute(im, from, n, a);
    }
    enum uk_status s = uk_import_reference(im, from->ref_attr_name, n, &found);
    if (s || !found)
        return s;
    *a = *found;
    a->name = uk_strdup(&im->g->arena, uk_or_empty(from->name));
    n->attributes++;
    return a->name ? UK_OK : uk_graph_no_memory(im->g);
}

static int version_of(const struct uk_importing *im, const char *domain) {
    for (size_t i = 0; i < im->scope->set_count; i++) {
        const Onnx__OperatorSetIdProto *o = im->scope->sets[i];
        const char *name = uk_or_empty(o->domain);
        if (!strcmp(strcmp(name, "ai.onnx") ? name : "", domain))
            return o->version < 0 || o->version > 1000 ? 0 : (int)o->version;
    }
    return 0;
}

static enum uk_status node_inputs(struct uk_importing *im, const Onnx__NodeProto *from,
                                  struct uk_graph_node *n) {
    for (size_t i = 0; i < from->n_input; i++) {
        const char *name = uk_or_empty(from->input[i]);
        if (!*name)
            continue;
        n->input[i] = uk_import_find(im, name);
        if (!n->input[i] && uk_import_is_omitted(im, name))
            continue;
        if (!n->input[i])
            return uk_graph_fail(
                im->g, UK_REFUSED, n,
                "its input '%s' is neither an input of the network nor a result of an earlier node", name);
        n->input[i]->uses++;
    }
    return UK_OK;
}

static enum uk_status node(struct uk_importing *im, const Onnx__NodeProto *from, bool is_call,
                           struct uk_graph_node *n) {
    struct uk_graph *g = im->g;
    const char *domain = uk_or_empty(from->domain),
               *first = from->n_output ? uk_or_empty(from->output[0]) : "";
    enum uk_status s = UK_OK;

    n->number = g->node_count++;
    n->type = uk_strdup(&g->arena, uk_or_empty(from->op_type));
    n->name = uk_format(&g->arena, "%s%s", im->scope->prefix, *uk_or_empty(from->name) ? from->name : first);
    n->domain = uk_strdup(&g->arena, strcmp(domain, "ai.onnx") ? domain : "");
    n->input = uk_alloc(&g->arena, (from->n_input + 1) * sizeof *n->input);
    n->output = uk_alloc(&g->arena, (from->n_output + 1) * sizeof *n->output);
    n->attribute = uk_alloc(&g->arena, (from->n_attribute + 1) * sizeof *n->attribute);
    if (!n->type || !n->name || !n->domain || !n->input || !n->output || !n->attribute)
        return uk_graph_no_memory(g);
    n->inputs = (int)from->n_input;
    n->outputs = (int)from->n_output;
    n->version = version_of(im, n->domain);
    if (!*n->domain && !is_call && (n->version < OLDEST || n->version > NEWEST))
        return uk_graph_fail(g, UK_REFUSED, n, "operator set %d is not supported; versions %d to %d are",
                             n->version, OLDEST, NEWEST);
    if (!strcmp(n->domain, UK_INTERNAL_DOMAIN))
        return uk_graph_fail(g, UK_REFUSED, n, "domain '%s' is reserved", n->domain);
    for (size_t i = 0; i < from->n_attribute && !s; i++)
        s = node_attribute(im, from->attribute[i], n);
    if (!s)
        s = node_inputs(im, from, n);
    for (size_t i = 0; i < from->n_output && !s; i++) {
        if (!*uk_or_empty(from->output[i]))
            continue;
        n->output[i] = uk_import_define(im, from->output[i], n);
        s = n->output[i] ? UK_OK : g->status;
    }
    return s;
}

enum uk_status uk_import_nodes(struct uk_importing *im, Onnx__NodeProto *const *from, size_t count,
                               struct uk_graph_node ***end) {
    enum uk_status s = UK_OK;

    for (size_t i = 0; i < count && !s; i++) {
        const Onnx__FunctionProto *f = uk_import_function(im, from[i]);
        struct uk_graph_node *n = uk_alloc(&im->g->arena, sizeof *n);
        if (!n)
            return uk_graph_no_memory(im->g);
        if ((s = node(im, from[i], f, n)))
            return s;
        if (f) {
            s = uk_import_call(im, f, n, end);
        } else {
            **end = n;
            *end = &n->next;
        }
    }
    return s;
}

static enum uk_status outputs(struct uk_importing *im, const Onnx__GraphProto *graph) {
    struct uk_graph *g = im->g;

    g->output = uk_alloc(&g->arena, (graph->n_output + 1) * sizeof *g->output);
    if (!g->output)
        return uk_graph_no_memory(g);
    for (size_t i = 0; i < graph->n_output; i++) {
        struct uk_graph_value *v = uk_import_find(im, uk_or_empty(graph->output[i]->name));
        if (!v)
            return uk_graph_fail(g, UK_REFUSED, NULL, "output '%s' is not the result of a node",
                                 uk_or_empty(graph->output[i]->name));
        v->is_output = true;
        v->uses++;
        g->output[g->outputs++] = v;
    }
    return UK_OK;
}

static enum uk_status properties(struct uk_graph *g, const Onnx__ModelProto *m) {
    g->property = uk_alloc(&g->arena, (m->n_metadata_props + 1) * sizeof *g->property);
    if (!g->property)
        return uk_graph_no_memory(g);
    for (size_t i = 0; i < m->n_metadata_props; i++) {
        struct uk_property *p = &g->property[g->properties++];
        p->key = uk_strdup(&g->arena, uk_or_empty(m->metadata_props[i]->key));
        p->value = uk_strdup(&g->arena, uk_or_empty(m->metadata_props[i]->value));
        if (!p->key || !p->value)
            return uk_graph_no_memory(g);
    }
    return UK_OK;
}

enum uk_status uk_import(struct uk_graph *g, const void *bytes, size_t length,
                         const struct uk_folders *folders, const struct uk_network_options *o) {
    static const char what[] = "the file is not an ONNX model";
    struct uk_name_scope scope = {.prefix = ""};
    struct uk_importing im = {.g = g, .folders = folders, .options = o, .scope = &scope};
    struct uk_graph_node **end = &g->nodes;
    enum uk_status s = uk_import_check_options(g, o);

    if (s)
        return s;
    Onnx__ModelProto *model = uk_import_unpack(g, &onnx__model_proto__descriptor, bytes, length, what);
    im.model = model;
    im.end_of_sizes = &im.first_size;
    if (!model)
        s = g->status;
    else if (!model->graph)
        s = uk_graph_fail(g, UK_REFUSED, NULL, "%s", what);
    if (!s) {
        scope.sets = model->opset_import;
        scope.set_count = model->n_opset_import;
        s = properties(g, model);
    }
    if (!s)
        s = uk_import_sizes(g, o);
    if (!s)
        s = uk_import_inputs(&im, model->graph);
    if (!s)
        s = uk_import_open_sizes(g);
    if (!s)
        s = uk_import_nodes(&im, model->graph->node, model->graph->n_node, &end);
    if (!s)
        s = outputs(&im, model->graph);
    if (!s)
        s = uk_import_states(g, o);
    if (!s)
        s = uk_import_widen(g, model->graph);
    uk_names_free(&scope.names);
    uk_names_free(&im.inputs);
    uk_names_free(&im.sizes);
    if (model)
        onnx__model_proto__free_unpacked(model, NULL);
    return s;
}
