/* SPDX-License-Identifier: Apache-2.0 */
/* Public functions to read, compile and run a network. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emit/emit.h"
#include "language/language.h"

struct uk_network *uk_network_create(void) {
    struct uk_network *n = calloc(1, sizeof *n);

    if (!n)
        return NULL;
    uk_graph_begin(&n->graph);
    n->context = uk_context_create();
    if (!n->context) {
        free(n);
        return NULL;
    }
    return n;
}

void uk_network_destroy(struct uk_network *n) {
    if (!n)
        return;
    uk_module_destroy(n->module);
    free(n->block);
    uk_network_forget_device(n);
    uk_context_destroy(n->context);
    uk_graph_end(&n->graph);
    free(n);
}

/* ---- reading ---- */

static void show_tensors(struct uk_network *n) {
    struct uk_graph *g = &n->graph;

    for (int i = 0; i < g->inputs; i++)
        uk_tensor_show(&n->input[i], g->input[i], g->input[i]->name);
    for (int i = 0; i < g->outputs; i++)
        uk_tensor_show(&n->output[i], g->output[i], g->output[i]->name);
    uk_states_show(n);
}

static enum uk_status show_all(struct uk_network *n) {
    struct uk_graph *g = &n->graph;

    n->input = uk_alloc(&g->arena, ((size_t)g->inputs + 1) * sizeof *n->input);
    n->output = uk_alloc(&g->arena, ((size_t)g->outputs + 1) * sizeof *n->output);
    if (!n->input || !n->output || uk_states_begin(n))
        return uk_graph_no_memory(g);
    show_tensors(n);
    return UK_OK;
}

enum uk_status uk_network_show_chosen(struct uk_network *n) {
    uk_network_set_chosen(n);
    show_tensors(n);
    return uk_layers_show(n);
}

/* Bytes of a network's name at most. Names of programs have at most 200, and end in _layer_ and a number. */
enum { UK_LONGEST_NAME = 180 };

/* Sets the network's name: the option's, or one made of the stem of the file's name. */
static enum uk_status name_functions(struct uk_network *n, const char *given) {
    const char *slash = strrchr(n->graph.name, '/'), *stem = slash ? slash + 1 : n->graph.name;
    const char *dot = strrchr(stem, '.');

    if (given && (!uk_is_identifier(given) || strlen(given) > UK_LONGEST_NAME))
        return uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL,
                             "the name '%s' is not a C identifier of at most %d characters", given,
                             UK_LONGEST_NAME);
    n->name = given ? uk_strdup(&n->graph.arena, given)
                    : uk_name_of_stem(&n->graph.arena, stem, dot ? (size_t)(dot - stem) : strlen(stem),
                                      UK_LONGEST_NAME, "net");
    const char *function = n->name ? uk_format(&n->graph.arena, "%s_run", n->name) : NULL;
    if (!function)
        return uk_graph_no_memory(&n->graph);
    return uk_may_name_function(function)
               ? UK_OK
               : uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL,
                               "the name '%s' makes %s a function, a name that C reserves; use another one",
                               given, function);
}

/* Infers shapes, at each point of open sizes if there are any. */
static enum uk_status infer(struct uk_network *n) {
    struct uk_graph *g = &n->graph, before;
    enum uk_status s;

    if (!g->open_count)
        return uk_infer(g, uk_fold_by_interpreter, n->context);
    s = uk_open_copy(g, &before) ? uk_graph_no_memory(g) : uk_points_choose(g);
    if (!s)
        s = uk_infer(g, uk_fold_by_interpreter, n->context);
    n->is_opening = !s;
    if (!s)
        s = uk_open_evaluate(g, &before, n->context);
    uk_graph_end(&before);
    return s ? s : uk_open_constants(g);
}

static enum uk_status read_model(struct uk_network *n, const char *name, const void *bytes, size_t length,
                                 const struct uk_folders *folders, const struct uk_network_options *o) {
    struct uk_graph *g = &n->graph;
    const char *copy = uk_strdup(&g->arena, name);
    enum uk_status s;

    if (!copy)
        return uk_graph_no_memory(g);
    g->name = copy;
    if ((s = name_functions(n, o->name)) || (s = uk_import(g, bytes, length, folders, o)) ||
        (s = uk_rewrite(g)) || (s = infer(n)) || (s = uk_rewrite_normalized(g)) ||
        (s = uk_rewrite_statistics(g)) || (s = uk_infer(g, uk_fold_by_interpreter, n->context)))
        return s;
    for (int i = 0; i < g->outputs; i++)
        if (!g->output[i]->has_shape)
            return uk_graph_fail(g, UK_REFUSED, NULL, "the shape of output '%s' is not known",
                                 g->output[i]->name);
    if ((s = uk_plan_states(g))) {
        n->is_opening = false;
        return s;
    }
    if ((s = show_all(n)) || (s = uk_plan(&n->plan, g, n->name, n->context)))
        return s;
    uk_sizes_show(n);
    n->is_read = true;
    return uk_layers_show(n);
}

enum uk_status uk_network_read_bytes(struct uk_network *n, const char *name, const void *bytes, size_t length,
                                     const struct uk_folders *folders, const struct uk_network_options *o) {
    static const struct uk_network_options none;
    enum uk_status s = uk_network_enter(n, false);

    if (s)
        return s;
    struct uk_graph *g = &n->graph;
    if (n->is_begun)
        return uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL,
                             "a network has been read already; create another one");
    if (!name || (!bytes && length))
        return uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL, "%s is NULL", name ? "bytes" : "name");
    n->is_begun = true;
    s = read_model(n, name, bytes, length, folders, o ? o : &none);
    if (s == UK_REFUSED && g->open_count && !n->is_trial)
        uk_network_advise(n, name, bytes, length, folders, o);
    return s;
}

enum uk_status uk_network_read(struct uk_network *n, const char *name, const void *bytes, size_t length,
                               const char *folder, const struct uk_network_options *o) {
    return uk_network_read_bytes(n, name, bytes, length, &(struct uk_folders){.given = folder}, o);
}

/* Returns the folder of a path, allocated; NULL: no memory. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');

    return slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(".");
}

enum uk_status uk_network_read_file(struct uk_network *n, const char *path,
                                    const struct uk_network_options *o) {
    struct uk_mapped m;
    enum uk_status s = uk_network_enter(n, false);

    if (!s && !path)
        s = uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL, "path is NULL");
    if (!s)
        s = uk_file_map(&n->graph, path, &m);
    if (s)
        return s;
    char *real_path = realpath(path, NULL), *folder = folder_of(path),
         *real = real_path ? folder_of(real_path) : NULL;
    s = folder && (real || !real_path)
            ? uk_network_read_bytes(n, path, m.bytes, m.length, &(struct uk_folders){folder, real, &m}, o)
            : uk_graph_no_memory(&n->graph);
    uk_file_unmap(&m);
    free(real_path);
    free(folder);
    free(real);
    return s;
}

enum uk_status uk_network_read_tensor(struct uk_network *n, const char *path, struct uk_network_tensor *t,
                                      void **data) {
    enum uk_status s = uk_network_enter(n, false);

    if (data)
        *data = NULL;
    if (s)
        return s;
    if (!path || !t || !data)
        return uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL, "path, tensor or data is NULL");
    struct uk_graph *g = &n->graph;
    const struct uk_mark mark = uk_arena_mark(&g->arena);
    struct uk_graph_value v = {.type = UK_TYPES};
    char *name = NULL;
    v.name = path;
    s = uk_file_tensor(g, path, &v);
    if (!s) {
        uk_tensor_show(t, &v, path);
        *data = malloc(t->bytes + 1);
        if (*data)
            memcpy(*data, v.data, t->bytes);
    }
    uk_arena_release(&g->arena, mark);
    if (!s && (!*data || !(name = uk_strdup(&g->arena, path)))) {
        free(*data);
        *data = NULL;
        return uk_graph_no_memory(g);
    }
    t->name = name;
    return s;
}

/* ---- access ---- */

const struct uk_network_tensor *uk_network_value(const struct uk_network *n, enum uk_network_role role,
                                                 int i) {
    const bool input = role == UK_NETWORK_INPUT;

    if (!n || !n->is_read || (!input && role != UK_NETWORK_OUTPUT) || i < 0 ||
        i >= (input ? n->graph.inputs : n->graph.outputs))
        return NULL;
    return input ? &n->input[i] : &n->output[i];
}

const char *uk_network_name(const struct uk_network *n) {
    return n && n->is_read ? n->name : "";
}

const char *uk_network_metadata(const struct uk_network *n, const char *key) {
    for (int i = 0; n && key && i < n->graph.properties; i++)
        if (!strcmp(n->graph.property[i].key, key))
            return n->graph.property[i].value;
    return NULL;
}

const struct uk_network_layer *uk_network_layer(const struct uk_network *n, int i) {
    return n && n->is_read && i >= 0 && i < n->plan.count ? &n->plan.layer[i]->shown : NULL;
}

size_t uk_network_memory_bound(const struct uk_network *n) {
    return n && n->is_read ? (size_t)n->plan.bound : 0;
}

/* ---- compiling ---- */

static void *find(const struct uk_network *n, const char *suffix) {
    char name[288];

    snprintf(name, sizeof name, "%s_%s", n->name, suffix);
    return uk_module_find(n->module, name);
}

enum uk_status uk_network_compile(struct uk_network *n, const struct uk_options *options) {
    struct uk_module *module = NULL;
    struct uk_compilation c = {.has_step = true, .module = &module};
    enum uk_status s = uk_network_enter(n, true);

    if (!s)
        s = uk_network_build(n, options, &c);
    if (s)
        return s;
    uk_module_destroy(n->module);
    free(n->block);
    n->module = module;
    n->block = c.block;
    void *const found[] = {find(n, "memory"), find(n, "run"), find(n, "step")};
    memcpy(&n->memory, &found[0], sizeof n->memory);
    memcpy(&n->run, &found[1], sizeof n->run);
    memcpy(&n->step, &found[2], sizeof n->step);
    return UK_OK;
}

/* Emits a text that needs no code: the header, or the calls. */
static enum uk_status emit_text(struct uk_network *n, enum uk_emit what, enum uk_home home, char **bytes,
                                size_t *length) {
    uk_network_set_largest(n);
    *bytes = what == UK_EMIT_HEADER ? uk_driver_header(n, home) : uk_driver_calls(n);
    uk_network_set_chosen(n);
    if (!*bytes)
        return uk_graph_no_memory(&n->graph);
    *length = strlen(*bytes);
    return UK_OK;
}

/* Begins a public function that sets *bytes and *length. */
static enum uk_status begin_emit(struct uk_network *n, char **bytes, const size_t *length) {
    const enum uk_status s = uk_network_enter(n, true);

    if (bytes)
        *bytes = NULL;
    return s || (bytes && length)
               ? s
               : uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL, "bytes or length is NULL");
}

enum uk_status uk_network_emit(struct uk_network *n, const struct uk_options *options, enum uk_emit what,
                               char **bytes, size_t *length) {
    const enum uk_status s = begin_emit(n, bytes, length);

    if (s)
        return s;
    if (what == UK_EMIT_HEADER || what == UK_EMIT_HOST)
        return emit_text(n, what, UK_IN_OBJECT, bytes, length);
    return uk_network_build(n, options,
                            &(struct uk_compilation){.what = what, .bytes = bytes, .length = length});
}

enum uk_status uk_network_emit_constants(struct uk_network *n, const struct uk_options *options,
                                         enum uk_emit what, uk_network_write *write, void *user, char **bytes,
                                         size_t *length) {
    struct uk_compilation c = {.what = what, .write = write, .user = user, .bytes = bytes, .length = length};
    const enum uk_status s = begin_emit(n, bytes, length);

    if (s)
        return s;
    if (what == UK_EMIT_HEADER)
        return emit_text(n, what, UK_IN_FILE, bytes, length);
    if (what != UK_EMIT_OBJECT && what != UK_EMIT_SHARED)
        return uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL,
                             "stage %d has no file of constants; emit an object, a shared object or a header",
                             (int)what);
    if (!write)
        return uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL, "the function that writes is NULL");
    return uk_network_build(n, options, &c);
}

enum uk_status uk_network_emit_steps(struct uk_network *n, const struct uk_options *options,
                                     uk_network_write *write, void *user, char **bytes, size_t *length) {
    struct uk_compilation c = {.has_step = true,
                               .has_each = true,
                               .what = UK_EMIT_OBJECT,
                               .write = write,
                               .user = user,
                               .bytes = bytes,
                               .length = length};
    const enum uk_status s = begin_emit(n, bytes, length);

    return s ? s : uk_network_build(n, options, &c);
}

/* ---- running ---- */

size_t uk_network_memory(const struct uk_network *n) {
    if (n && !n->memory && n->device_layer) /* workspaces are on the device */
        return (size_t)n->plan.bytes + UK_PLACE_ALIGNMENT;
    return n && n->memory ? n->memory() : 0;
}

static void *place(void *memory, struct uk_graph_value *v) {
    return (char *)memory + uk_value_offset(v, NULL);
}

void *uk_network_input(const struct uk_network *n, void *memory, int i) {
    return uk_network_value(n, UK_NETWORK_INPUT, i) && memory ? place(memory, n->graph.input[i]) : NULL;
}

void *uk_network_output(const struct uk_network *n, void *memory, int i) {
    return uk_network_value(n, UK_NETWORK_OUTPUT, i) && memory ? place(memory, n->graph.output[i]) : NULL;
}

enum uk_status uk_network_run_sizes(const struct uk_network *n, void *memory, const int64_t *sizes) {
    return n && n->run && memory && (sizes || !n->graph.open_count) ? (enum uk_status)n->run(memory, sizes)
                                                                    : UK_INVALID_ARGUMENT;
}

/* Writes the chosen sizes. */
static void chosen_sizes(const struct uk_network *n, int64_t *sizes) {
    for (int i = 0; i < n->graph.open_count; i++)
        sizes[i] = n->chosen[i] * n->size[i].step;
}

enum uk_status uk_network_run(const struct uk_network *n, void *memory) {
    int64_t sizes[UK_MAX_OPEN] = {0};

    if (n)
        chosen_sizes(n, sizes);
    return uk_network_run_sizes(n, memory, sizes);
}

enum uk_status uk_network_run_layer(const struct uk_network *n, void *memory, int layer) {
    int64_t sizes[UK_MAX_OPEN] = {0};

    if (!n || !n->step || !memory || !uk_network_layer(n, layer))
        return UK_INVALID_ARGUMENT;
    chosen_sizes(n, sizes);
    return (enum uk_status)n->step(memory, layer, sizes);
}
