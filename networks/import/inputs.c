/* SPDX-License-Identifier: Apache-2.0 */
/* Checks options, and reads the model's initializers and inputs, with shapes of the file and of the options.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "import/scope.h"

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
        for (int j = 0; j < i; j++)
            if (!strcmp(t[i].name, t[j].name))
                return uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL, "two %ss are given for '%s'; give one",
                                     what, t[i].name);
    }
    return UK_OK;
}

enum uk_status uk_import_check_options(struct uk_graph *g, const struct uk_network_options *o) {
    enum uk_status s = check_tensors(g, o->shapes, o->shape_count, "shape");

    if (!s)
        s = check_tensors(g, o->constants, o->constant_count, "constant");
    if (!s && (o->size_count < 0 || (o->size_count && (!o->size_names || !o->size_values)) ||
               (o->constant_count && !o->constant_data)))
        s = uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL,
                          "sizes or constants are given, but their names, values or data are NULL");
    for (int i = 0; i < o->size_count && !s; i++) {
        if (!o->size_names[i] || o->size_values[i] < 0)
            s = uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL, "size %d has no name, or is %lld", i,
                              (long long)o->size_values[i]);
        for (int j = 0; j < i && !s; j++)
            if (!strcmp(o->size_names[i], o->size_names[j]))
                s = uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL, "two sizes are given for '%s'; give one",
                                  o->size_names[i]);
    }
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

/* The name of an open dimension in the file, "" if it has no name. "?" counts as no name, as dimensions with
 * it need not be equal. */
static const char *name_of(const Onnx__TensorShapeProto__Dimension *d) {
    const bool has_name = d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    const char *name = has_name ? uk_or_empty(d->dim_param) : "";

    return strcmp(name, "?") ? name : "";
}

static bool is_stated(const Onnx__TensorShapeProto__Dimension *d) {
    return d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && d->dim_value >= 0;
}

/* Remembers the name of an open dimension. False: no memory. */
static bool add_size(struct uk_importing *im, const char *name, size_t length) {
    struct uk_graph_value *v = uk_alloc(&im->g->arena, sizeof *v);

    if (!v || !(v->name = uk_strndup(&im->g->arena, name, length)))
        return false;
    if (!length || uk_names_find(&im->sizes, v->name))
        return true;
    *im->end_of_sizes = v;
    im->end_of_sizes = &v->next;
    return uk_names_add(&im->sizes, v->name, v);
}

/* Returns the next term of a name that is a sum of sizes, as exporters write "past + seq", and moves *at past
 * it. NULL: there are no more. */
static const char *next_term(const char **at, size_t *length) {
    const char *from = *at + strspn(*at, " +");

    *length = strcspn(from, "+");
    *at = from + *length;
    while (*length && from[*length - 1] == ' ')
        --*length;
    return *length ? from : NULL;
}

/* The same for the terms of a name that is a sum, except integers. */
static bool add_terms(struct uk_importing *im, const char *name) {
    const char *term, *at = name;
    size_t length;

    while ((term = next_term(&at, &length)))
        if (strspn(term, "0123456789") < length && !add_size(im, term, length))
            return false;
    return true;
}

/* Notes the name of the input's dimension, for the points of open sizes. False: no memory. */
static bool note_dimension(struct uk_graph *g, struct uk_graph_value *v, int i, const char *name) {
    if (!v->dimension)
        v->dimension = uk_alloc(&g->arena, UK_RANK * sizeof *v->dimension);
    return v->dimension && (v->dimension[i] = uk_strdup(&g->arena, name));
}

/* The size of a dimension that has no name: "x.2" is that of dimension 2 of x. NULL: no memory. */
static const char *own_name(struct uk_importing *im, const struct uk_graph_value *v, int i) {
    return uk_format(&im->g->arena, "%s.%d", v->name, i);
}

/* Sets the extent to -1 if neither the file nor the options state it. */
static enum uk_status input_extent(struct uk_importing *im, struct uk_graph_value *v, int i,
                                   const Onnx__TensorShapeProto__Dimension *d,
                                   const struct uk_network_tensor *shape) {
    int64_t *extent = &v->extent[i];

    *extent = shape ? shape->shape[i] : is_stated(d) ? d->dim_value : -1;
    if (shape && is_stated(d) && shape->shape[i] != d->dim_value)
        return uk_graph_fail(
            im->g, UK_REFUSED, NULL,
            "input '%s': dimension %d is %lld in the file, but %lld in the shape given for it", v->name, i,
            (long long)d->dim_value, (long long)shape->shape[i]);
    const char *name = name_of(d);
    if (!add_terms(im, name))
        return uk_graph_no_memory(im->g);
    if (!*name && !is_stated(d))
        name = own_name(im, v, i);
    if (!name || !add_size(im, name, strlen(name)))
        return uk_graph_no_memory(im->g);
    if (*extent < 0 && *name && uk_size_extent(im->g, name, extent) && !note_dimension(im->g, v, i, name))
        return uk_graph_no_memory(im->g);
    return UK_OK;
}

/* Sets the input's shape, unless dimensions of it stay open. */
static enum uk_status input_shape(struct uk_importing *im, struct uk_graph_value *v,
                                  const Onnx__TypeProto__Tensor *t, const struct uk_network_tensor *shape) {
    enum uk_status s = UK_OK;

    v->rank = t->shape ? (int)t->shape->n_dim : shape ? shape->rank : 0;
    if (v->rank > UK_RANK || (t->shape && t->shape->n_dim > UK_RANK))
        return uk_graph_fail(im->g, UK_REFUSED, NULL, "input '%s' has more than %d dimensions", v->name,
                             UK_RANK);
    if (shape && shape->rank != v->rank)
        return uk_graph_fail(im->g, UK_REFUSED, NULL,
                             "input '%s' has %d dimensions, but the shape given for it has %d", v->name,
                             v->rank, shape->rank);
    v->has_shape = t->shape || shape;
    for (int i = 0; i < v->rank && !s; i++) {
        if (t->shape)
            s = input_extent(im, v, i, t->shape->dim[i], shape);
        else
            v->extent[i] = shape->shape[i];
        v->has_shape &= v->extent[i] >= 0;
    }
    if (!s && v->has_shape && uk_value_elements(v) < 0)
        s = uk_graph_fail(im->g, UK_REFUSED, NULL, "input '%s': its shape is too large for 64 bits", v->name);
    return s;
}

static enum uk_status constant_input(struct uk_importing *im, struct uk_graph_value *v,
                                     const struct uk_network_tensor *t, const void *data) {
    const bool has_bits = v->type == UK_BF16 && t->type == UK_U16; /* NumPy has no bf16 */

    if ((t->type != v->type && !has_bits) || t->is_boolean != v->is_boolean)
        return uk_graph_fail(im->g, UK_REFUSED, NULL,
                             "input '%s' has type %s, but the constant given for it has type %s", v->name,
                             v->is_boolean ? "bool" : uk_type_name(v->type),
                             t->is_boolean ? "bool" : uk_type_name(t->type));
    const size_t bytes = (size_t)uk_value_elements(v) * uk_type_bytes(v->type);
    uk_allow_constant(im->g, (int64_t)bytes);
    void *copy = uk_value_constant(im->g, v, v->type, t->rank, t->shape);

    if (!copy)
        return uk_graph_no_memory(im->g);
    if (bytes)
        memcpy(copy, data, bytes);
    return UK_OK;
}

static enum uk_status input(struct uk_importing *im, const Onnx__ValueInfoProto *info) {
    const struct uk_network_options *o = im->options;
    struct uk_graph_value *v = uk_import_find(im, uk_or_empty(info->name));

    const char *name = uk_or_empty(info->name);
    const struct uk_network_tensor *constant = find_given_shape(o->constants, o->constant_count, name),
                                   *shape = find_given_shape(o->shapes, o->shape_count, name);

    if (constant && shape)
        return uk_graph_fail(im->g, UK_INVALID_ARGUMENT, NULL,
                             "a shape and a constant are given for '%s'; leave out the shape", name);
    if (v && v->data) /* the initializer makes it a constant */
        return constant || shape
                   ? uk_graph_fail(im->g, UK_INVALID_ARGUMENT, NULL,
                                   "a %s is given for '%s', which the file makes a constant; leave it out",
                                   constant ? "constant" : "shape", name)
                   : UK_OK;
    if (!(v = uk_import_define(im, name, NULL)))
        return im->g->status;
    if (!uk_names_add(&im->inputs, v->name, v))
        return uk_graph_no_memory(im->g);
    if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return uk_graph_fail(im->g, UK_REFUSED, NULL, "input '%s' is not a tensor", v->name);
    const Onnx__TypeProto__Tensor *t = info->type->tensor_type;
    uk_import_type(t->elem_type, v);
    if (v->type == UK_TYPES)
        return uk_graph_refuse_type(im->g, NULL, "input", v->name, t->elem_type);
    enum uk_status s = input_shape(im, v, t, constant ? constant : shape);
    if (s || constant)
        return s ? s : constant_input(im, v, constant, o->constant_data[constant - o->constants]);
    v->is_input = true;
    im->g->input[im->g->inputs++] = v;
    return UK_OK;
}

/* ---- names in the options ---- */

enum uk_status uk_import_refuse_name(struct uk_graph *g, const char *what, const struct uk_closest_name *near,
                                     struct uk_list *known) {
    const char *list = known->count ? uk_list_end(known, &g->arena) : "none";

    return list ? uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL,
                                "the network has no %s '%s'%s%s%s; its %ss are %s", what, near->word,
                                near->name ? "; did you mean '" : "", near->name ? near->name : "",
                                near->name ? "'" : "", what, list)
                : uk_graph_no_memory(g);
}

static enum uk_status check_inputs(struct uk_importing *im, const struct uk_network_tensor *given,
                                   int count) {
    struct uk_list known = {.count = 0};
    int i = 0;

    while (i < count && uk_names_find(&im->inputs, given[i].name))
        i++;
    if (i == count)
        return UK_OK;
    struct uk_closest_name near = {.word = given[i].name};
    for (const struct uk_graph_value *v = im->g->values; v; v = v->next)
        if (uk_names_find(&im->inputs, v->name) == v) {
            uk_consider_name(&near, v->name);
            uk_list_put(&known, ", ", "%s", v->name);
        }
    return uk_import_refuse_name(im->g, "input", &near, &known);
}

/* Refuses sizes that are no dimensions' names. */
static enum uk_status check_sizes(struct uk_importing *im) {
    const struct uk_graph *g = im->g;
    struct uk_list known = {.count = 0};
    int i = 0;

    while (i < g->sizes && uk_names_find(&im->sizes, g->size[i].name))
        i++;
    if (i == g->sizes)
        return UK_OK;
    struct uk_closest_name near = {.word = g->size[i].name};
    for (const struct uk_graph_value *v = im->first_size; v; v = v->next) {
        uk_consider_name(&near, v->name);
        uk_list_put(&known, ", ", "%s", v->name);
    }
    return uk_import_refuse_name(im->g, "size", &near, &known);
}

/* ---- open dimensions ---- */

/* What is open, and the options that close it, as lists in a message. */
struct open {
    struct uk_list inputs, options;
    const char *unnamed; /* the size of the first dimension without a name; NULL: all have one */
};

/* The quotation mark around an option's value, in case that a shell splits or expands the name. */
static const char *quote(const char *name) {
    return strpbrk(name, " \t$&|;<>()*?[]{}~`#!\"\\") ? "'" : "";
}

/* Lists --size for the name, unless it has a size or is listed already. */
static void list_size(struct uk_importing *im, struct open *o, const char *name, size_t length) {
    for (struct uk_graph_value *v = im->first_size; v; v = v->next)
        if (strlen(v->name) == length && !strncmp(v->name, name, length) && !uk_size_find(im->g, v->name) &&
            !v->uses++)
            uk_list_put(&o->options, " ", "--size %1$s%2$s=...%1$s", quote(v->name), v->name);
}

/* Lists --size for dimension i of the input, or for each term of its name. False: no memory. */
static bool list_sizes(struct uk_importing *im, struct open *o, const struct uk_graph_value *v, int i,
                       const char *name) {
    const char *term, *own = *name ? name : own_name(im, v, i);
    size_t length;

    if (own && !*name)
        list_size(im, o, own, strlen(own));
    for (const char *at = name; (term = next_term(&at, &length));)
        list_size(im, o, term, length);
    return own;
}

/* Lists an input with open dimensions. Those without a name are closed by the input's --shape, which then
 * states all of its dimensions, unless one of them has a size. False: no memory. */
static bool list_input(struct uk_importing *im, struct open *o, const struct uk_graph_value *v,
                       const Onnx__TensorShapeProto *shape) {
    struct uk_text shown = {0}, numbers = {0};
    bool needs_shape = !shape, has_size = false, done = true;

    for (int i = 0; shape && i < v->rank; i++) {
        const char *name = name_of(shape->dim[i]), *between = i ? ", " : "";
        const bool is_unnamed = !*name && !is_stated(shape->dim[i]);
        needs_shape |= is_unnamed && v->extent[i] < 0;
        has_size |= is_unnamed && v->extent[i] >= 0;
        if (is_unnamed && !o->unnamed)
            done = (o->unnamed = own_name(im, v, i));
        if (is_stated(shape->dim[i])) {
            uk_put(&shown, "%s%" PRId64, between, shape->dim[i]->dim_value);
            uk_put(&numbers, "%s%" PRId64, i ? "," : "", shape->dim[i]->dim_value);
        } else {
            uk_put(&shown, "%s%s", between, *name ? name : "?");
            uk_put(&numbers, "%s?", i ? "," : "");
        }
    }
    uk_list_put(&o->inputs, ", ", shape ? "'%s' [%s]" : "'%s' (any rank)", v->name,
                shown.text ? shown.text : "");
    needs_shape &= !has_size;
    if (needs_shape)
        uk_list_put(&o->options, " ", "--shape %1$s%2$s=%3$s%1$s", quote(v->name), v->name,
                    numbers.text ? numbers.text : "?,?,...");
    for (int i = 0; !needs_shape && i < v->rank; i++)
        if (v->extent[i] < 0)
            done = done && list_sizes(im, o, v, i, name_of(shape->dim[i]));
    free(shown.text);
    free(numbers.text);
    return done && !shown.failed && !numbers.failed;
}

/* Sets g->unstated if dimensions of inputs are. */
static enum uk_status find_open(struct uk_importing *im, const Onnx__GraphProto *graph) {
    struct open o = {.inputs.count = 0};
    struct uk_graph *g = im->g;
    bool done = true;

    for (size_t i = 0; i < graph->n_input && done; i++) {
        const struct uk_graph_value *v = uk_import_find(im, uk_or_empty(graph->input[i]->name));
        if (v && !v->has_shape)
            done = list_input(im, &o, v, graph->input[i]->type->tensor_type->shape);
    }
    const char *inputs = uk_list_end(&o.inputs, &g->arena), *options = uk_list_end(&o.options, &g->arena);
    if (done && o.inputs.count && inputs && options)
        g->unstated =
            uk_format(&g->arena, "inputs have open dimensions: %1$s; give %2$s%3$s%4$s%5$s%6$s%4$s", inputs,
                      options, o.unnamed ? "; a dimension without a name has a size, too: --size " : "",
                      o.unnamed ? quote(o.unnamed) : "", o.unnamed ? o.unnamed : "", o.unnamed ? "=..." : "");
    return done && inputs && options && (g->unstated || !o.inputs.count) ? UK_OK : uk_graph_no_memory(g);
}

enum uk_status uk_import_inputs(struct uk_importing *im, const Onnx__GraphProto *graph) {
    struct uk_graph *g = im->g;
    enum uk_status s = UK_OK;

    g->input = uk_alloc(&g->arena, (graph->n_input + 1) * sizeof *g->input);
    if (!g->input)
        return uk_graph_no_memory(g);
    s = uk_import_initializers(im, graph);
    for (size_t i = 0; i < graph->n_input && !s; i++)
        s = input(im, graph->input[i]);
    if (!s)
        s = check_inputs(im, im->options->shapes, im->options->shape_count);
    if (!s)
        s = check_inputs(im, im->options->constants, im->options->constant_count);
    if (!s)
        s = check_sizes(im);
    return s ? s : find_open(im, graph);
}
