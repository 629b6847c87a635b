/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a network on a GPU: one module per layer function, called in order. Activations stay on the device
 * between layers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emit/emit.h"
#include "gpu/gpu.h"

struct uk_network_device {
    struct uk_network *n;
    struct uk_gpu *gpu;
    uk_gpu_address block;
    uk_gpu_address *constant; /* by value number; 0: not a constant that a layer reads */
};

/* ---- compiling ---- */

void uk_network_forget_device(struct uk_network *n) {
    for (int i = 0; n->device_layer && i < n->plan.function_count; i++)
        uk_module_destroy(n->device_layer[i]);
    free(n->device_layer);
    n->device_layer = NULL;
}

static const struct uk_layer *layer_of(const struct uk_network *n, const struct uk_layer_function *f) {
    const struct uk_layer *l = n->plan.layers;

    while (l->function != f)
        l = l->next;
    return l;
}

static enum uk_status compile(struct uk_network *n, const struct uk_layer_function *f,
                              const struct uk_options *options) {
    const struct uk_graph_node *at = layer_of(n, f)->node[0];
    struct uk_program *p = NULL;
    char file[300];

    snprintf(file, sizeof file, "%s.uk", f->name);
    enum uk_status s = uk_program_parse(n->context, file, f->plain_text, strlen(f->plain_text), &p);

    if (!s)
        s = uk_layer_schedule(n, f, p);
    if (!s)
        s = uk_compile(p, options, &n->device_layer[f->number]);
    uk_program_destroy(p);
    return s ? uk_graph_fail(&n->graph, s, at, "%s", uk_context_message(n->context)) : UK_OK;
}

enum uk_status uk_network_compile_device(struct uk_network *n, const struct uk_options *options) {
    struct uk_options o = options ? *options : (struct uk_options){0};
    enum uk_status s = uk_network_enter(n, true);

    if (!s)
        s = uk_network_refuse_open(n, "a GPU");
    if (!s)
        s = uk_network_refuse_loops(n, "a GPU");
    if (!s)
        s = uk_network_refuse_states(n, "a GPU");
    if (s)
        return s;
    uk_network_forget_device(n);
    o.workspace_argument = false; /* the GPU has a workspace of its own, which grows */
    n->device_layer = calloc((size_t)n->plan.function_count + 1, sizeof *n->device_layer);
    if (!n->device_layer)
        return uk_graph_no_memory(&n->graph);
    for (const struct uk_layer_function *f = n->plan.functions; f && !s; f = f->next) {
        uk_progress_set(&n->context->progress, UK_PROGRESS_COMPILE, f->number);
        s = compile(n, f, &o);
    }
    uk_progress_set(&n->context->progress, UK_PROGRESS_NONE, 0);
    if (s)
        uk_network_forget_device(n);
    return s;
}

/* ---- the device ---- */

static enum uk_status failed(const struct uk_network_device *d, enum uk_status s) {
    return s ? uk_graph_fail(&d->n->graph, s, NULL, "%s: %s", uk_gpu_name(d->gpu), uk_gpu_message(d->gpu))
             : UK_OK;
}

/* Uploads a constant; elements that are permuted are copied first. */
static enum uk_status upload(struct uk_network_device *d, const struct uk_constants *c,
                             const struct uk_placed *k) {
    const void *elements = uk_constant_elements(k);
    void *made = elements ? NULL : malloc(k->bytes);
    uk_gpu_address *at = &d->constant[k->value->number];
    enum uk_status s = UK_OK;

    if (!elements && !made)
        return uk_graph_no_memory(&d->n->graph);
    if (made)
        s = uk_constant_write(c, k, made);
    if (!s)
        s = failed(d, uk_gpu_alloc(d->gpu, k->bytes, at));
    if (!s)
        s = failed(d, uk_gpu_upload(d->gpu, *at, made ? made : elements, k->bytes));
    free(made);
    return s;
}

static enum uk_status upload_constants(struct uk_network_device *d) {
    struct uk_constants c = {.n = d->n};
    enum uk_status s = uk_constants_list(&c);

    for (int i = 0; i < c.count && !s; i++)
        s = upload(d, &c, &c.placed[i]);
    uk_constants_free(&c);
    return s;
}

void uk_network_device_destroy(struct uk_network_device *d) {
    if (!d)
        return;
    for (int i = 0; d->constant && i < d->n->graph.value_count; i++)
        if (d->constant[i])
            uk_gpu_free(d->gpu, d->constant[i]);
    if (d->block)
        uk_gpu_free(d->gpu, d->block);
    free(d->constant);
    free(d);
}

enum uk_status uk_network_device_create(struct uk_network *n, struct uk_gpu *gpu,
                                        struct uk_network_device **out) {
    enum uk_status s = uk_network_enter(n, true);

    if (out)
        *out = NULL;
    if (s)
        return s;
    if (!gpu || !out || !n->device_layer)
        return uk_graph_fail(
            &n->graph, UK_INVALID_ARGUMENT, NULL,
            n->device_layer
                ? "gpu or out is NULL"
                : "the network is not compiled for a GPU; call uk_network_compile_device() first");
    struct uk_network_device *d = calloc(1, sizeof *d);
    if (!d || !(d->constant = calloc((size_t)n->graph.value_count + 1, sizeof *d->constant))) {
        free(d);
        return uk_graph_no_memory(&n->graph);
    }
    d->n = n;
    d->gpu = gpu;
    s = failed(d, uk_gpu_alloc(gpu, (size_t)n->plan.bytes + UK_PLACE_ALIGNMENT, &d->block));
    if (!s)
        s = upload_constants(d);
    if (s) {
        uk_network_device_destroy(d);
        return s;
    }
    *out = d;
    return UK_OK;
}

/* ---- running ---- */

static uk_gpu_address place(const struct uk_network_device *d, const struct uk_graph_value *v) {
    if (d->constant[v->number])
        return d->constant[v->number];
    return d->block + (uk_gpu_address)uk_value_offset(v, NULL);
}

static enum uk_status run_layer(struct uk_network_device *d, const struct uk_layer *l) {
    void **argument = calloc((size_t)l->arguments + 1, sizeof *argument);

    if (!argument)
        return uk_graph_no_memory(&d->n->graph);
    argument[0] = d->gpu;
    for (int i = 0; i < l->arguments; i++)
        argument[i + 1] = (void *)(uintptr_t)place(d, l->argument[i]);
    enum uk_status s =
        (enum uk_status)uk_module_call(d->n->device_layer[l->function->number], NULL, NULL, argument);
    free(argument);
    return s ? uk_graph_fail(&d->n->graph, s, l->node[0], "%s: %s", uk_gpu_name(d->gpu),
                             uk_gpu_message(d->gpu))
             : UK_OK;
}

static enum uk_status copy(struct uk_network_device *d, const struct uk_graph_value *v, void *to,
                           const void *from) {
    const size_t bytes = (size_t)uk_value_elements(v) * uk_type_bytes(v->type);

    if (!bytes)
        return UK_OK;
    return failed(d, to ? uk_gpu_download(d->gpu, to, place(d, v), bytes)
                        : uk_gpu_upload(d->gpu, place(d, v), from, bytes));
}

enum uk_status uk_network_device_run(struct uk_network_device *d, const void *const *inputs,
                                     void *const *outputs) {
    enum uk_status s = d ? uk_network_enter(d->n, true) : UK_INVALID_ARGUMENT;

    if (s)
        return s;
    const struct uk_graph *g = &d->n->graph;
    if (!d->n->device_layer || (g->inputs && !inputs) || (g->outputs && !outputs))
        return uk_graph_fail(&d->n->graph, UK_INVALID_ARGUMENT, NULL,
                             "inputs or outputs are NULL, or nothing is compiled");
    for (int i = 0; i < g->inputs && !s; i++)
        s = copy(d, g->input[i], NULL, inputs[i]);
    for (const struct uk_layer *l = d->n->plan.layers; l && !s; l = l->next)
        if (uk_value_elements(l->result))
            s = run_layer(d, l);
    for (int i = 0; i < g->outputs && !s; i++)
        s = copy(d, g->output[i], outputs[i], NULL);
    return s;
}

/* Uploads or downloads the whole storage of a layer's operand, which may be a slice of it. Constants are on
 * the device already. */
static enum uk_status exchange(struct uk_network_device *d, const struct uk_graph_value *v, void *memory,
                               bool down) {
    const struct uk_graph_value *whole = uk_storage((struct uk_graph_value *)v);
    char *at = (char *)memory + whole->offset;

    return d->constant[v->number] || v->data ? UK_OK : copy(d, whole, down ? at : NULL, at);
}

enum uk_status uk_network_device_run_layer(struct uk_network_device *d, void *memory, int layer) {
    enum uk_status s = d ? uk_network_enter(d->n, true) : UK_INVALID_ARGUMENT;

    if (s)
        return s;
    if (!d->n->device_layer || !memory || !uk_network_layer(d->n, layer))
        return uk_graph_fail(&d->n->graph, UK_INVALID_ARGUMENT, NULL,
                             "there is no layer %d, or memory is NULL", layer);
    const struct uk_layer *l = d->n->plan.layer[layer];
    for (int i = 0; i < l->arguments && !s; i++)
        s = exchange(d, l->argument[i], memory, false);
    if (!s && uk_value_elements(l->result))
        s = run_layer(d, l);
    return s ? s : exchange(d, l->result, memory, true);
}
