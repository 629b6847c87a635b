/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the network's functions as LLVM IR: calls of the layers' programs on places in one block of memory,
 * to which %m points; in loops and branches as basic blocks around them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "emit/driver.h"

static bool is_empty(const struct uk_layer *l) {
    return !uk_value_elements(l->result);
}

/* Declares the functions: i32 (i64, .., ptr, ..), with their sizes, a pointer per argument and one to the
 * workspace. */
static void put_declarations(struct uk_driver *d) {
    for (const struct uk_layer_function *f = d->n->plan.functions; f; f = f->next) {
        const struct uk_layer *l = d->n->plan.layers;

        while (l && l->function != f)
            l = l->next;
        if (l)
            uk_driver_declare(&d->text, l);
    }
}

/* Writes the address of argument i, or of the workspace after the last one. */
static void put_address(struct uk_driver *d, const struct uk_layer *l, int i) {
    const bool is_workspace = i == l->arguments;
    char name[48];

    snprintf(name, sizeof name, "p%d.%d", l->number, i);
    uk_driver_put_pointer(d, is_workspace ? NULL : l->argument[i], is_workspace ? l->work : 0, name);
}

/* True if the layer's argument i is one of the listed constants. */
static bool is_constant(const struct uk_layer *l, int i) {
    return l->argument[i]->data && uk_value_elements(l->argument[i]);
}

/* Writes the address of the constant that is argument i. */
static void put_constant_address(struct uk_driver *d, const struct uk_layer *l, int i) {
    const struct uk_placed *k = uk_constant_find(d->constants, l, i);

    if (d->constants->home == UK_IN_FILE)
        uk_put(&d->text, "  %%p%d.%d = getelementptr i8, ptr %%constants, i64 %" PRIu64 "\n", l->number, i,
               k->offset);
}

/* Writes the constant as an argument of a call. */
static void put_constant(struct uk_driver *d, const struct uk_layer *l, int i) {
    const struct uk_placed *k = uk_constant_find(d->constants, l, i);
    char name[UK_CONSTANT_NAME];

    switch (d->constants->home) {
    case UK_IN_OBJECT:
        uk_constant_name(d->n, l, i, k->packing, name);
        uk_put(&d->text, "ptr @%s, ", name);
        break;
    case UK_IN_FILE:
        uk_put(&d->text, "ptr %%p%d.%d, ", l->number, i);
        break;
    case UK_IN_PROCESS:
        uk_put(&d->text, "ptr inttoptr (i64 %" PRIuPTR " to ptr), ", (uintptr_t)k->address);
        break;
    }
}

/* Writes the call itself. without: number of the size that the function does not take; -1: it takes all. */
static void put_call_of(struct uk_driver *d, const struct uk_layer *l, const char *suffix, int without) {
    struct uk_text *t = &d->text;

    uk_put(t, "call i32 @%s%s(", l->function->name, suffix);
    for (int i = 0; i < l->sizes; i++)
        if (i != without)
            uk_put(t, "i64 %%n%d.%d, ", l->number, i);
    for (int i = 0; i < l->arguments; i++) {
        if (is_constant(l, i))
            put_constant(d, l, i);
        else
            uk_put(t, "ptr %%p%d.%d, ", l->number, i);
    }
    uk_put(t, "ptr %%p%d.%d)\n", l->number, l->arguments);
}

/* Writes a call. %s<layer> becomes the layer's status; %p<layer>.<argument> are the addresses of its
 * arguments, %n<layer>.<size> its sizes. */
static void put_call(struct uk_driver *d, const struct uk_layer *l) {
    const int single = l->function->single;
    struct uk_text *t = &d->text;
    char name[UK_CONSTANT_NAME];

    for (int i = 0; i <= l->arguments; i++)
        if (i < l->arguments && is_constant(l, i))
            put_constant_address(d, l, i);
        else
            put_address(d, l, i);
    for (int i = 0; i < l->sizes; i++) {
        snprintf(name, sizeof name, "n%d.%d", l->number, i);
        uk_driver_put_form(t, &l->size[i], 1, name);
    }
    if (single < 0) {
        uk_put(t, "  %%s%d = ", l->number);
        put_call_of(d, l, "", -1);
        return;
    }
    uk_put(t,
           "  %%single%1$d = icmp eq i64 %%n%1$d.%2$d, 1\n"
           "  br i1 %%single%1$d, label %%one%1$d, label %%more%1$d\n"
           "one%1$d:\n"
           "  %%s%1$d.one = ",
           l->number, single);
    put_call_of(d, l, "_single", single);
    uk_put(t, "  br label %%called%1$d\nmore%1$d:\n  %%s%1$d.more = ", l->number);
    put_call_of(d, l, "", -1);
    uk_put(t,
           "  br label %%called%1$d\n"
           "called%1$d:\n"
           "  %%s%1$d = phi i32 [ %%s%1$d.one, %%one%1$d ], [ %%s%1$d.more, %%more%1$d ]\n",
           l->number);
}

/* Writes the instructions at the beginning of a run, which end it before anything is written if it cannot
 * take place. */
static void put_begin(struct uk_driver *d) {
    const bool is_open = d->n->graph.open_count > 0;

    uk_put(&d->text,
           "  %%address = ptrtoint ptr %%m to i64\n"
           "  %%skew = and i64 %%address, %d\n"
           "  %%is.skewed = icmp ne i64 %%skew, 0\n"
           "  %%no.block = icmp eq i64 %%address, 0\n"
           "  %%no.place = or i1 %%is.skewed, %%no.block\n",
           UK_PLACE_ALIGNMENT - 1);
    if (is_open)
        uk_put(&d->text, "  %%no.sizes = icmp eq ptr %%sizes, null\n"
                         "  %%is.wrong = or i1 %%no.place, %%no.sizes\n");
    uk_put(&d->text,
           "  br i1 %%%s, label %%refused, label %%begun\n"
           "refused:\n  ret i32 %d\n"
           "begun:\n",
           is_open ? "is.wrong" : "no.place", UK_INVALID_ARGUMENT);
    if (d->constants->home == UK_IN_FILE)
        uk_driver_put_constants_check(&d->text, d->n);
    uk_driver_put_sizes(&d->text, d->n);
}

/* Writes NAME_run or, if is_each, NAME_each, which calls a function after each layer. A size outside of its
 * range ends it before anything is written. The first status other than UK_OK ends the run. */
static void put_run(struct uk_driver *d, bool is_each) {
    const struct uk_graph_region *region = NULL;
    struct uk_text *t = &d->text;

    uk_put(t, "define signext i32 @%s_%s(ptr %%m%s) nounwind {\n", d->n->name, is_each ? "each" : "run",
           !d->n->graph.open_count ? is_each ? ", ptr %ran" : ""
           : is_each               ? ", ptr %ran, ptr %sizes"
                                   : ", ptr %sizes");
    put_begin(d);
    for (const struct uk_layer *l = d->n->plan.layers; l; l = l->next) {
        if (is_empty(l))
            continue;
        uk_driver_change_region(d, region, l->region);
        region = l->region;
        put_call(d, l);
        uk_put(t,
               "  %%c%1$d = icmp eq i32 %%s%1$d, 0\n"
               "  br i1 %%c%1$d, label %%next%1$d, label %%failed%1$d\n"
               "failed%1$d:\n  ret i32 %%s%1$d\n"
               "next%1$d:\n",
               l->number);
        if (is_each)
            uk_put(t, "  call void %%ran(i32 %d)\n", l->number);
    }
    uk_driver_change_region(d, region, NULL);
    uk_put(t, "  ret i32 0\n}\n");
}

/* Writes NAME_step, which runs one layer, so that callers can examine intermediate results. */
static void put_step(struct uk_driver *d) {
    struct uk_text *t = &d->text;

    uk_put(t, "define signext i32 @%s_step(ptr %%m, i32 %%layer%s) nounwind {\n", d->n->name,
           d->n->graph.open_count ? ", ptr %sizes" : "");
    put_begin(d);
    uk_put(t, "  switch i32 %%layer, label %%none [");
    for (const struct uk_layer *l = d->n->plan.layers; l; l = l->next)
        if (!is_empty(l))
            uk_put(t, " i32 %1$d, label %%layer%1$d", l->number);
    uk_put(t, " ]\nnone:\n  ret i32 0\n");
    for (const struct uk_layer *l = d->n->plan.layers; l; l = l->next) {
        if (is_empty(l))
            continue;
        uk_put(t, "layer%d:\n", l->number);
        put_call(d, l);
        uk_put(t, "  ret i32 %%s%d\n", l->number);
    }
    uk_put(t, "}\n");
}

/* Writes NAME_WHAT. at: the value of each number. */
static void put_places(struct uk_text *t, const struct uk_network *n, const char *what, int count,
                       const struct uk_graph_value *(*at)(const struct uk_graph *g, int i)) {
    uk_put(t, "define ptr @%s_%s(ptr %%m, i32 %%i) nounwind {\n  switch i32 %%i, label %%none [", n->name,
           what);
    for (int i = 0; i < count; i++)
        uk_put(t, " i32 %1$d, label %%place%1$d", i);
    uk_put(t, " ]\nnone:\n  ret ptr null\n");
    for (int i = 0; i < count; i++)
        uk_put(t, "place%1$d:\n  %%p%1$d = getelementptr i8, ptr %%m, i64 %2$" PRId64 "\n  ret ptr %%p%1$d\n",
               i, uk_value_offset(at(&n->graph, i), NULL));
    uk_put(t, "}\n");
}

static const struct uk_graph_value *input_of(const struct uk_graph *g, int i) {
    return g->input[i];
}

static const struct uk_graph_value *output_of(const struct uk_graph *g, int i) {
    return g->output[i];
}

static const struct uk_graph_value *buffer_of(const struct uk_graph *g, int i) {
    return g->state[i].buffer;
}

/* Writes NAME_memory: the maximum, over the functions, of the end of the workspace, at least the plan's
 * bytes. It returns C's size_t as a pointer: both have the same size and register on every target, and the IR
 * need not know which size. */
static void put_memory(struct uk_text *t, const struct uk_network *n) {
    uk_put(t,
           "declare i64 @llvm.smax.i64(i64, i64)\ndefine ptr @%s_memory() nounwind {\n  %%most0 = add i64 0, "
           "%" PRId64 "\n",
           n->name, n->plan.bytes ? n->plan.bytes : UK_PLACE_ALIGNMENT);
    const int last = uk_driver_put_memory(t, n);
    uk_put(t, "  %%p = inttoptr i64 %%most%d to ptr\n  ret ptr %%p\n}\n", last);
}

char *uk_driver_llvm(const struct uk_constants *constants, bool with_step, bool with_each) {
    const struct uk_network *n = constants->n;
    struct uk_driver d = {.n = n, .constants = constants};

    put_declarations(&d);
    put_memory(&d.text, n);
    put_places(&d.text, n, "input", n->graph.inputs, input_of);
    put_places(&d.text, n, "output", n->graph.outputs, output_of);
    if (n->graph.states)
        put_places(&d.text, n, "state", n->graph.states, buffer_of);
    if (constants->home == UK_IN_FILE)
        uk_driver_put_constants(&d.text, n);
    put_run(&d, false);
    if (with_each)
        put_run(&d, true);
    d.is_step = true;
    if (with_step)
        put_step(&d);
    return d.text.text;
}
