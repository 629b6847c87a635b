/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the layers' programs, the constants and the driver into one piece of code. Constants of two or more
 * dimensions are packed as each layer's schedule wants them. Automatic schedules are therefore written out
 * first, and packing and code both use that text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emit/emit.h"

/* The context's message without "error: ", which uk_graph_fail() adds. */
static const char *reason(const struct uk_network *n) {
    const char *message = uk_context_message(n->context);

    return strncmp(message, "error: ", 7) ? message : message + 7;
}

/* Programs, and the modules that pack their constants, by function number. */
struct building {
    struct uk_program **program;
    struct uk_module **packing;
};

static enum uk_status parse_all(struct uk_network *n, bool packs, struct uk_program **program) {
    enum uk_status s = UK_OK;
    char file[256];

    for (const struct uk_layer_function *f = n->plan.functions; f && !s; f = f->next) {
        const char *text = packs ? f->text : f->plain_text;
        snprintf(file, sizeof file, "%s.uk", f->name);
        s = uk_program_parse(n->context, file, text, strlen(text), &program[f->number]);
        if (!s)
            s = uk_layer_schedule(n, f, program[f->number]);
    }
    return s;
}

/* Fixes the automatic schedule and compiles a module that packs by it. An empty schedule packs nothing: no
 * module. */
static enum uk_status prepare(struct uk_program *p, const struct uk_options *options,
                              struct uk_module **packing) {
    struct uk_options loops = *options;
    char *steps = NULL;
    size_t length;
    enum uk_status s = uk_emit(p, options, UK_EMIT_SCHEDULE, &steps, &length);

    loops.interpret = true;
    if (!s && length) {
        s = uk_program_schedule(p, "automatic", steps, length);
        if (!s)
            s = uk_compile(p, &loops, packing);
    }
    uk_text_free(steps);
    return s;
}

static enum uk_status compile_bundle(struct uk_network *n, struct uk_compilation *c,
                                     const struct building *b) {
    const char *const suffix[] = {
        "memory", "input", "output", "run", c->has_step ? "step" : NULL, n->graph.states ? "state" : NULL};
    enum { SUFFIXES = sizeof suffix / sizeof *suffix };
    struct uk_constants constants = {0};
    char *source = uk_driver_llvm(n, b->packing, c->has_step), name[SUFFIXES][288];
    const char *exported[SUFFIXES];
    int count = 0;
    enum uk_status s = source ? uk_constants_make(n, b->packing, &constants) : uk_graph_no_memory(&n->graph);

    for (int i = 0; i < SUFFIXES; i++) {
        if (!suffix[i])
            continue;
        snprintf(name[count], sizeof name[count], "%s_%s", n->name, suffix[i]);
        exported[count] = name[count];
        count++;
    }
    const struct uk_bundle bundle = {
        .programs = b->program,
        .count = n->plan.function_count,
        .constants = constants.constant,
        .constant_count = constants.count,
        .source = source,
        .exported = exported,
        .exported_count = count,
        .source_is_llvm = true,
    };
    if (!s)
        s = c->module ? uk_compile_bundle(&bundle, &c->options, c->module)
                      : uk_emit_bundle(&bundle, &c->options, c->what, c->bytes, c->length);
    uk_constants_free(&constants);
    free(source);
    return s;
}

static enum uk_status build(struct uk_network *n, struct uk_compilation *c, bool packs) {
    const size_t count = (size_t)n->plan.function_count + 1;
    struct building b = {calloc(count, sizeof *b.program), packs ? calloc(count, sizeof *b.packing) : NULL};
    enum uk_status s = b.program && (b.packing || !packs) ? parse_all(n, packs, b.program) : UK_OUT_OF_MEMORY;

    for (const struct uk_layer_function *f = n->plan.functions; f && packs && !s; f = f->next)
        if (f->text != f->plain_text) {
            uk_progress_set(&n->context->progress, UK_PROGRESS_SCHEDULE, f->number);
            s = prepare(b.program[f->number], &c->options, &b.packing[f->number]);
        }
    if (!s)
        s = compile_bundle(n, c, &b);
    uk_progress_set(&n->context->progress, UK_PROGRESS_NONE, 0);
    for (int i = 0; i < n->plan.function_count; i++) {
        if (b.packing)
            uk_module_destroy(b.packing[i]);
        if (b.program)
            uk_program_destroy(b.program[i]);
    }
    free(b.packing);
    free(b.program);
    return s;
}

enum uk_status uk_network_build(struct uk_network *n, const struct uk_options *options,
                                struct uk_compilation *c) {
    if (!n->plan.function_count)
        return uk_graph_fail(&n->graph, UK_REFUSED, NULL, "the network has no nodes to compute");
    c->options = options ? *options : (struct uk_options){0};
    c->options.workspace_argument = true;
    uk_network_set_largest(n);
    enum uk_status s = build(n, c, true);
    /* Written out, a schedule may be refused where the automatic one is not: retries without packing. */
    if (s == UK_REFUSED || s == UK_NO_MATCH)
        s = build(n, c, false);
    uk_network_set_chosen(n);
    return s ? uk_graph_fail(&n->graph, s, NULL, "%s", s == UK_OUT_OF_MEMORY ? "out of memory" : reason(n))
             : UK_OK;
}
