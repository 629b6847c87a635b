/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Joins the layers' programs, the constants and the driver into one piece of code. Constants of two or more
 * dimensions are packed as each layer's schedule wants them. Automatic schedules are therefore written out
 * first, and packing and code both use that text.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emit/emit.h"

/* The context's message without "error: ", which uk_graph_fail() adds. */
static const char *reason(const struct uk_network *n) {
    const char *message = uk_context_message(n->context);

    return strncmp(message, "error: ", 7) ? message : message + 7;
}

/* Programs, and the modules that pack their constants, by function number; after them, second programs of
 * functions in their order (single.c). */
struct building {
    struct uk_program **program;
    int programs;
    struct uk_module **packing;
};

static enum uk_status parse_all(struct uk_network *n, bool packs, struct uk_program **program) {
    enum uk_status s = UK_OK;
    char file[256];

    for (struct uk_layer_function *f = n->plan.functions; f && !s; f = f->next) {
        const char *text = packs ? f->text : f->plain_text;
        snprintf(file, sizeof file, "%s.uk", f->name);
        f->single = -1;
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

/* What the bundle asks for once the code is made. */
struct making {
    const struct uk_constants *constants;
    struct uk_compilation *compilation;
};

/* Writes the bundle's constant of that number: one of the network's or, if those are in a file, the stamp of
 * the file, which is written here. */
static enum uk_status make_constant(void *user, int i, void *to) {
    const struct making *m = user;
    struct uk_compilation *c = m->compilation;
    struct uk_stamp stamp;

    if (!c->write)
        return uk_constant_write(m->constants, &m->constants->placed[i], to);
    const enum uk_status s = uk_constants_save(m->constants, c->options.target ? c->options.target : "native",
                                               c->write, c->user, &stamp);
    c->has_written = true;
    memcpy(to, &stamp, sizeof stamp);
    return s;
}

/* Lists the bundle's constants, in memory of the arena. */
static enum uk_status name_constants(const struct uk_constants *c, struct uk_arena *a, struct uk_bundle *b) {
    struct uk_constant *list = uk_alloc(a, ((size_t)c->count + 1) * sizeof *list);
    char name[UK_CONSTANT_NAME];

    b->constants = list;
    for (int i = 0; i < c->count && list && c->home == UK_IN_OBJECT; i++) {
        const struct uk_placed *k = &c->placed[i];
        uk_constant_name(c->n, k->layer, k->argument, k->packing, name);
        list[i] = (struct uk_constant){.name = uk_strdup(a, name), .length = k->bytes};
        b->constant_count++;
    }
    if (list && c->home == UK_IN_FILE)
        list[b->constant_count++] = (struct uk_constant){.name = uk_format(a, "%s_stamp", c->n->name),
                                                         .length = sizeof(struct uk_stamp)};
    return a->failed ? uk_graph_no_memory(&c->n->graph) : UK_OK;
}

static enum uk_status compile_bundle(struct uk_network *n, struct uk_compilation *c, const struct building *b,
                                     struct uk_constants *constants) {
    const char *const suffix[] = {"memory",
                                  "input",
                                  "output",
                                  "run",
                                  c->write ? "constants" : NULL,
                                  c->has_step ? "step" : NULL,
                                  c->has_each ? "each" : NULL,
                                  n->graph.states ? "state" : NULL};
    enum { NAMES = sizeof suffix / sizeof *suffix };
    struct making making = {constants, c};
    struct uk_arena arena = {0};
    const char *exported[NAMES];
    struct uk_bundle bundle = {
        .programs = b->program,
        .count = b->programs,
        .exported = exported,
        .source_is_llvm = true,
        .make_constant = make_constant,
        .user = &making,
    };
    enum uk_status s = name_constants(constants, &arena, &bundle);
    char *source = s ? NULL : uk_driver_llvm(constants, c->has_step, c->has_each);

    bundle.source = source;
    for (int i = 0; i < NAMES; i++)
        if (suffix[i])
            exported[bundle.exported_count++] = uk_format(&arena, "%s_%s", n->name, suffix[i]);
    if (!s && (!source || arena.failed))
        s = uk_graph_no_memory(&n->graph);
    if (!s)
        s = c->module ? uk_compile_bundle(&bundle, &c->options, c->module)
                      : uk_emit_bundle(&bundle, &c->options, c->what, c->bytes, c->length);
    uk_arena_free(&arena);
    free(source);
    return s;
}

/* Bytes of constants of a bundle. */
static const uint64_t MOST_IN_OBJECT = 1 << 30;

/* Makes the code. Constants for this process stay with the network; others are needed only here. */
static enum uk_status compile_all(struct uk_network *n, struct uk_compilation *c, const struct building *b) {
    struct uk_constants constants = {
        .n = n,
        .packing = b->packing,
        .home = c->module  ? UK_IN_PROCESS
                : c->write ? UK_IN_FILE
                           : UK_IN_OBJECT,
    };
    enum uk_status s = uk_constants_list(&constants);

    if (!s && constants.home == UK_IN_OBJECT && constants.length > MOST_IN_OBJECT)
        s = uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL,
                          "its constants take %" PRIu64 " bytes, but code with them has at most %" PRIu64
                          "; put them into a file of their own (--constants=FILE)",
                          constants.length, MOST_IN_OBJECT);
    if (!s && c->module)
        s = uk_constants_load(&constants);
    if (!s)
        s = compile_bundle(n, c, b, &constants);
    if (!s && c->module) {
        c->block = constants.block;
        constants.block = NULL;
    }
    uk_constants_free(&constants);
    return s;
}

/* Prepares the programs whose constants are packed, and makes second programs. */
static enum uk_status prepare_all(struct uk_network *n, const struct uk_options *options,
                                  struct building *b) {
    enum uk_status s = UK_OK;

    for (struct uk_layer_function *f = n->plan.functions; f && !s; f = f->next) {
        uk_progress_set(&n->context->progress, UK_PROGRESS_SCHEDULE, f->number);
        if (f->text != f->plain_text)
            s = prepare(b->program[f->number], options, &b->packing[f->number]);
        if (!s)
            s = uk_single_make(n, options, f, b->program[f->number], &b->program[b->programs]);
        b->programs += !s && f->single >= 0;
    }
    return s;
}

static enum uk_status build(struct uk_network *n, struct uk_compilation *c, bool packs) {
    const size_t count = (size_t)n->plan.function_count + 1;
    struct building b = {calloc(2 * count, sizeof *b.program), n->plan.function_count,
                         packs ? calloc(count, sizeof *b.packing) : NULL};
    enum uk_status s = b.program && (b.packing || !packs) ? parse_all(n, packs, b.program) : UK_OUT_OF_MEMORY;

    if (!s && packs)
        s = prepare_all(n, &c->options, &b);
    if (!s)
        s = compile_all(n, c, &b);
    uk_progress_set(&n->context->progress, UK_PROGRESS_NONE, 0);
    for (int i = 0; i < n->plan.function_count && b.packing; i++)
        uk_module_destroy(b.packing[i]);
    for (int i = 0; i < b.programs && b.program; i++)
        uk_program_destroy(b.program[i]);
    free(b.packing);
    free(b.program);
    return s;
}

/* Fails if the target is unknown, or a GPU. */
static enum uk_status check_target(struct uk_network *n, const char *target) {
    static const char *const gpus[] = {"amdgcn-", "nvptx-"};

    if (!target)
        return UK_OK;
    if (uk_target_runs(n->context, target) == UK_INVALID_ARGUMENT)
        return uk_graph_fail(&n->graph, UK_INVALID_ARGUMENT, NULL, "%s", reason(n));
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        if (!strncmp(target, gpus[i], strlen(gpus[i])))
            return uk_graph_fail(&n->graph, UK_UNSUPPORTED, NULL,
                                 "target %s is a GPU, for which there are no objects of networks; `uk run` "
                                 "and uk_network_compile_device() run them there",
                                 target);
    return UK_OK;
}

enum uk_status uk_network_build(struct uk_network *n, const struct uk_options *options,
                                struct uk_compilation *c) {
    if (!n->plan.function_count)
        return uk_graph_fail(&n->graph, UK_REFUSED, NULL, "the network has no nodes to compute");
    if (check_target(n, options ? options->target : NULL))
        return n->graph.status;
    c->options = options ? *options : (struct uk_options){0};
    c->options.workspace_argument = true;
    uk_network_set_largest(n);
    enum uk_status s = build(n, c, true);
    /* Written out, a schedule may be refused where the automatic one is not: retries without packing. */
    if ((s == UK_REFUSED || s == UK_NO_MATCH) && !c->has_written)
        s = build(n, c, false);
    uk_network_set_chosen(n);
    return s ? uk_graph_fail(&n->graph, s, NULL, "%s", s == UK_OUT_OF_MEMORY ? "out of memory" : reason(n))
             : UK_OK;
}
