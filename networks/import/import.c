/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the model's graph: initializers, inputs, nodes in order, outputs. */
#include <stdio.h>
#include <string.h>
#include "import/names.h"
#include "import/tensor.h"

enum { OLDEST = 1, NEWEST = 28 };

struct importing {
    struct uk_graph *g;
    const Onnx__ModelProto *model;
    const char *folder;
    const struct uk_network_options *options;
    struct uk_names names;
};

static const char *or_empty(const char *s) {
    return s ? s : "";
}

/* Creates a value under a new name. NULL: a failure is recorded. */
static struct uk_graph_value *define(struct importing *im, const char *name, const struct uk_graph_node *by) {
    struct uk_graph_value *v;

    if (uk_names_find(&im->names, name)) {
        uk_graph_fail(im->g, UK_REFUSED, by, "value '%s' is defined twice", name);
        return NULL;
    }
    v = uk_value_new(im->g, name);
    if (!v || !uk_names_add(&im->names, v)) {
        uk_graph_no_memory(im->g);
        return NULL;
    }
    v->producer = (struct uk_graph_node *)by;
    return v;
}

/* ---- options ---- */

static enum uk_status check_tensors(struct uk_graph *g, const struct uk_network_tensor *t, int count,
                                    const char *what) {
    if (count < 0 || (count && !t))
        return uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL, "%d %ss are given, or their array is NULL", count,
                             what);
    for (int i = 0; i < count; i++) {
        if (!t[i].name || t[i].rank < 0 || t[i].rank > UK_RANK)
            return uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL, "%s %d has no name, or %d dimensions", what, i,
                                 t[i].rank);
        for (int d = 0; d < t[i].rank; d++)
            if (t[i].shape[d] < 0)
                return uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL,
                                     "the %s given for '%s' has dimension %d = %lld; give 0 or more", what,
                                     t[i].name, d, (long long)t[i].shape[d]);
    }
    return UK_OK;
}

static enum uk_status check_options(struct uk_graph *g, const struct uk_network_options *o) {
    enum uk_status s = check_tensors(g, o->shapes, o->shape_count, "shape");

    if (!s)
        s = check_tensors(g, o->constants, o->constant_count, "constant");
    if (!s && (o->size_count < 0 || (o->size_count && (!o->size_names || !o->size_values)) ||
               (o->constant_count && !o->constant_data)))
        s = uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL,
                          "sizes or constants are given, but their names, values or data are NULL");
    for (int i = 0; i < o->size_count && !s; i++)
        if (!o->size_names[i] || o->size_values[i] < 0)
            s = uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL, "size %d has no name, or is %lld", i,
                              (long long)o->size_values[i]);
    for (int i = 0; i < o->constant_count && !s; i++)
        if (!o->constant_data[i])
            s = uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL, "the constant given for '%s' is NULL",
                              o->constants[i].name);
    return s;
}

/* ---- inputs ---- */

static const struct uk_network_tensor *find_given_shape(const struct uk_network_tensor *of, int count,
                                                        const char *name) {
    for (int i = 0; i < count; i++)
        if (!strcmp(of[i].name, name))
            return &of[i];
    return NULL;
}

static bool size_given(const struct uk_network_options *o, const char *name, int64_t *value) {
    for (int i = 0; i < o->size_count; i++)
        if (!strcmp(o->size_names[i], name)) {
            *value = o->size_values[i];
            return true;
        }
    return false;
}

static enum uk_status input_extent(struct importing *im, struct uk_graph_value *v, int i,
                                   const Onnx__TensorShapeProto__Dimension *d,
                                   const struct uk_network_tensor *shape) {
    const char *name =
        d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM ? or_empty(d->dim_param) : "";
    const bool stated =
        d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && d->dim_value >= 0;
    int64_t *extent = &v->extent[i];

    *extent = stated ? d->dim_value : -1;
    if (shape) {
        if (stated && shape->shape[i] != d->dim_value)
            return uk_graph_fail(
                im->g, UK_REFUSED, NULL,
                "input '%s': dimension %d is %lld in the file, but %lld in the shape given for it", v->name,
                i, (long long)d->dim_value, (long long)shape->shape[i]);
        *extent = shape->shape[i];
    } else if (!stated && !(*name && size_given(im->options, name, extent))) {
        return uk_graph_fail(
            im->g, UK_REFUSED, NULL,
            "input '%s': dimension %d%s%s is open; give the input's shape (--shape %s=...)%s%s%s", v->name, i,
            *name ? ", " : "", name, v->name, *name ? ", or the dimension's size (--size " : "", name,
            *name ? "=...)" : "");
    }
    if (*extent < 0)
        return uk_graph_fail(im->g, UK_REFUSED, NULL, "input '%s': dimension %d is negative", v->name, i);
    return UK_OK;
}

static enum uk_status input_shape(struct importing *im, struct uk_graph_value *v,
                                  const Onnx__TypeProto__Tensor *t, const struct uk_network_tensor *shape) {
    enum uk_status s = UK_OK;

    if (!t->shape && !shape)
        return uk_graph_fail(im->g, UK_REFUSED, NULL, "input '%s' has no shape; give one (--shape %s=...)",
                             v->name, v->name);
    v->rank = t->shape ? (int)t->shape->n_dim : shape->rank;
    if (v->rank > UK_RANK || (t->shape && t->shape->n_dim > UK_RANK))
        return uk_graph_fail(im->g, UK_REFUSED, NULL, "input '%s' has more than %d dimensions", v->name,
                             UK_RANK);
    if (shape && shape->rank != v->rank)
        return uk_graph_fail(im->g, UK_REFUSED, NULL,
                             "input '%s' has %d dimensions, but the shape given for it has %d", v->name,
                             v->rank, shape->rank);
    for (int i = 0; i < v->rank && !s; i++)
        if (t->shape)
            s = input_extent(im, v, i, t->shape->dim[i], shape);
        else
            v->extent[i] = shape->shape[i];
    v->has_shape = !s;
    if (!s && uk_value_elements(v) < 0)
        s = uk_graph_fail(im->g, UK_REFUSED, NULL, "input '%s': its shape is too large for 64 bits", v->name);
    return s;
}

static enum uk_status constant_input(struct importing *im, struct uk_graph_value *v,
                                     const struct uk_network_tensor *t, const void *data) {
    if (t->type != v->type)
        return uk_graph_fail(im->g, UK_REFUSED, NULL,
                             "input '%s' has type %s, but the constant given for it has type %s", v->name,
                             uk_type_name(v->type), uk_type_name(t->type));
    const size_t bytes = (size_t)uk_value_elements(v) * uk_type_bytes(v->type);
    uk_allow_constant(im->g, (int64_t)bytes);
    void *copy = uk_value_constant(im->g, v, v->type, t->rank, t->shape);

    if (!copy)
        return uk_graph_no_memory(im->g);
    if (bytes)
        memcpy(copy, data, bytes);
    return UK_OK;
}

static enum uk_status input(struct importing *im, const Onnx__ValueInfoProto *info) {
    const struct uk_network_options *o = im->options;
    struct uk_graph_value *v = uk_names_find(&im->names, or_empty(info->name));

    if (v && v->data) /* the initializer makes it a constant */
        return UK_OK;
    if (!(v = define(im, or_empty(info->name), NULL)))
        return im->g->status;
    if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return uk_graph_fail(im->g, UK_REFUSED, NULL, "input '%s' is not a tensor", v->name);
    const Onnx__TypeProto__Tensor *t = info->type->tensor_type;
    v->type = uk_import_type(t->elem_type, &v->is_boolean);
    if (v->type == UK_TYPES)
        return uk_graph_fail(im->g, UK_REFUSED, NULL, "input '%s': %s is not supported", v->name,
                             uk_import_type_name(t->elem_type));
    const struct uk_network_tensor *constant = find_given_shape(o->constants, o->constant_count, v->name);
    enum uk_status s =
        input_shape(im, v, t, constant ? constant : find_given_shape(o->shapes, o->shape_count, v->name));
    if (s || constant)
        return s ? s : constant_input(im, v, constant, o->constant_data[constant - o->constants]);
    v->is_input = true;
    im->g->input[im->g->inputs++] = v;
    return UK_OK;
}

static enum uk_status inputs(struct importing *im, const Onnx__GraphProto *graph) {
    struct uk_graph *g = im->g;
    enum uk_status s = UK_OK;

    g->input = uk_alloc(&g->arena, (graph->n_input + 1) * sizeof *g->input);
    if (!g->input)
        return uk_graph_no_memory(g);
    if (graph->n_sparse_initializer)
        return uk_graph_fail(g, UK_REFUSED, NULL, "sparse initializers are not supported");
    for (size_t i = 0; i < graph->n_initializer && !s; i++) {
        struct uk_graph_value *v = define(im, or_empty(graph->initializer[i]->name), NULL);
        s = v ? uk_import_tensor(g, graph->initializer[i], im->folder, v) : g->status;
    }
    for (size_t i = 0; i < graph->n_input && !s; i++)
        s = input(im, graph->input[i]);
    for (int i = 0; i < im->options->shape_count && !s; i++)
        if (!uk_names_find(&im->names, im->options->shapes[i].name))
            s = uk_graph_fail(g, UK_REFUSED, NULL, "a shape is given for '%s', but no input has this name",
                              im->options->shapes[i].name);
    for (int i = 0; i < im->options->constant_count && !s; i++)
        if (!uk_names_find(&im->names, im->options->constants[i].name))
            s = uk_graph_fail(g, UK_REFUSED, NULL, "a constant is given for '%s', but no input has this name",
                              im->options->constants[i].name);
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

/* Infers the kind if the file lacks it, as files before IR version 2 do. */
static int kind_of(const Onnx__AttributeProto *a) {
    if (a->has_type)
        return (int)a->type;
    return a->has_f      ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT
           : a->has_i    ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT
           : a->has_s    ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING
           : a->t        ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR
           : a->n_floats ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS
           : a->n_ints   ? ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS
                         : 0;
}

static enum uk_status attribute(struct importing *im, const Onnx__AttributeProto *from,
                                const struct uk_graph_node *n, struct uk_attribute *a) {
    struct uk_graph *g = im->g;

    a->name = uk_strdup(&g->arena, or_empty(from->name));
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
        return a->tensor ? uk_import_tensor(g, from->t, im->folder, a->tensor) : uk_graph_no_memory(g);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
        a->kind = UK_A_FLOATS;
        return copy_numbers(g, from, a);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        a->kind = UK_A_INTS;
        return copy_numbers(g, from, a);
    default:
        a->kind = UK_A_OTHER;
        return UK_OK;
    }
}

static int version_of(const struct importing *im, const char *domain) {
    for (size_t i = 0; i < im->model->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *o = im->model->opset_import[i];
        const char *name = or_empty(o->domain);
        if (!strcmp(strcmp(name, "ai.onnx") ? name : "", domain))
            return o->version < 0 || o->version > 1000 ? 0 : (int)o->version;
    }
    return 0;
}

static enum uk_status node_inputs(struct importing *im, const Onnx__NodeProto *from,
                                  struct uk_graph_node *n) {
    for (size_t i = 0; i < from->n_input; i++) {
        const char *name = or_empty(from->input[i]);
        if (!*name)
            continue;
        n->input[i] = uk_names_find(&im->names, name);
        if (!n->input[i])
            return uk_graph_fail(
                im->g, UK_REFUSED, n,
                "its input '%s' is neither an input of the network nor a result of an earlier node", name);
        n->input[i]->uses++;
    }
    return UK_OK;
}

static enum uk_status node(struct importing *im, const Onnx__NodeProto *from, struct uk_graph_node *n) {
    struct uk_graph *g = im->g;
    const char *domain = or_empty(from->domain), *first = from->n_output ? or_empty(from->output[0]) : "";
    enum uk_status s = UK_OK;

    n->number = g->node_count++;
    n->type = uk_strdup(&g->arena, or_empty(from->op_type));
    n->name = uk_strdup(&g->arena, *or_empty(from->name) ? from->name : first);
    n->domain = uk_strdup(&g->arena, strcmp(domain, "ai.onnx") ? domain : "");
    n->input = uk_alloc(&g->arena, (from->n_input + 1) * sizeof *n->input);
    n->output = uk_alloc(&g->arena, (from->n_output + 1) * sizeof *n->output);
    n->attribute = uk_alloc(&g->arena, (from->n_attribute + 1) * sizeof *n->attribute);
    if (!n->type || !n->name || !n->domain || !n->input || !n->output || !n->attribute)
        return uk_graph_no_memory(g);
    n->inputs = (int)from->n_input;
    n->outputs = (int)from->n_output;
    n->attributes = (int)from->n_attribute;
    n->version = version_of(im, n->domain);
    if (!*n->domain && (n->version < OLDEST || n->version > NEWEST))
        return uk_graph_fail(g, UK_REFUSED, n, "operator set %d is not supported; versions %d to %d are",
                             n->version, OLDEST, NEWEST);
    for (size_t i = 0; i < from->n_attribute && !s; i++)
        s = attribute(im, from->attribute[i], n, &n->attribute[i]);
    if (!s)
        s = node_inputs(im, from, n);
    for (size_t i = 0; i < from->n_output && !s; i++) {
        if (!*or_empty(from->output[i]))
            continue;
        n->output[i] = define(im, from->output[i], n);
        s = n->output[i] ? UK_OK : g->status;
    }
    return s;
}

static enum uk_status nodes(struct importing *im, const Onnx__GraphProto *graph) {
    struct uk_graph_node **end = &im->g->nodes;
    enum uk_status s = UK_OK;

    for (size_t i = 0; i < graph->n_node && !s; i++) {
        struct uk_graph_node *n = uk_alloc(&im->g->arena, sizeof *n);
        if (!n)
            return uk_graph_no_memory(im->g);
        s = node(im, graph->node[i], n);
        *end = n;
        end = &n->next;
    }
    return s;
}

static enum uk_status outputs(struct importing *im, const Onnx__GraphProto *graph) {
    struct uk_graph *g = im->g;

    g->output = uk_alloc(&g->arena, (graph->n_output + 1) * sizeof *g->output);
    if (!g->output)
        return uk_graph_no_memory(g);
    for (size_t i = 0; i < graph->n_output; i++) {
        struct uk_graph_value *v = uk_names_find(&im->names, or_empty(graph->output[i]->name));
        if (!v)
            return uk_graph_fail(g, UK_REFUSED, NULL, "output '%s' is not the result of a node",
                                 or_empty(graph->output[i]->name));
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
        p->key = uk_strdup(&g->arena, or_empty(m->metadata_props[i]->key));
        p->value = uk_strdup(&g->arena, or_empty(m->metadata_props[i]->value));
        if (!p->key || !p->value)
            return uk_graph_no_memory(g);
    }
    return UK_OK;
}

enum uk_status uk_import(struct uk_graph *g, const void *bytes, size_t length, const char *folder,
                         const struct uk_network_options *o) {
    const char *reason = uk_import_check(&onnx__model_proto__descriptor, bytes, length);
    struct importing im = {.g = g, .folder = folder, .options = o};
    enum uk_status s = check_options(g, o);
    struct uk_unpacking u;

    if (s || reason)
        return s ? s : uk_graph_fail(g, UK_REFUSED, NULL, "%s", reason);
    uk_unpacking_begin(&u);
    Onnx__ModelProto *model = onnx__model_proto__unpack(&u.allocator, length, bytes);
    im.model = model;
    if (!model || !model->graph)
        s = u.failed ? uk_graph_no_memory(g)
                     : uk_graph_fail(g, UK_REFUSED, NULL, "the file is not an ONNX model");
    if (!s)
        s = properties(g, model);
    if (!s)
        s = inputs(&im, model->graph);
    if (!s)
        s = nodes(&im, model->graph);
    if (!s)
        s = outputs(&im, model->graph);
    uk_names_free(&im.names);
    if (model)
        onnx__model_proto__free_unpacked(model, NULL);
    return s;
}
