/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Second programs of layers, for runs in which a size is 1: a step of a decoder takes one token, where a
 * product of matrices becomes one of a matrix and a vector. A function has such a program if its automatic
 * schedule has other kernels, or other copies, than that of the whole range, and reads constants in the same
 * layout. The driver chooses between both at each call.
 */
#include <stdio.h>
#include <string.h>
#include "emit/emit.h"
#include "language/language.h"

/* ---- comparison of schedules ---- */

static const char *next_line(const char *line) {
    const char *end = strchr(line, '\n');

    return end ? end + 1 : line + strlen(line);
}

static bool has_word(const char *line, const char *word) {
    line += strspn(line, " ");
    return !strncmp(line, word, strlen(word));
}

/* True if the line splits a loop over terms of a sum. */
static bool splits_sum(const struct uk_program *p, const char *line) {
    const char *end = line + strcspn(line, "\n"), *dot = strchr(line, '.');

    if (!has_word(line, "split ") || !dot || dot > end)
        return false;
    const size_t length = strcspn(dot + 1, " ");
    for (const struct uk_statement *t = p->statements; t; t = t->next)
        for (int i = t->left_iterators; i < t->iterators; i++)
            if (strlen(t->iterator[i]->name) == length && !memcmp(t->iterator[i]->name, dot + 1, length))
                return true;
    return false;
}

/* Returns the next line, from this one on, of a step that copies, takes a kernel or divides a sum, or NULL if
 * no line does. */
static const char *find_step(const struct uk_program *p, const char *line) {
    while (*line && !has_word(line, "pack ") && !has_word(line, "cache_") && !has_word(line, "tensorize ") &&
           !splits_sum(p, line))
        line = next_line(line);
    return *line ? line : NULL;
}

/* The part of the step's line that names no loops outside of a sum: a kernel, the terms of a block, or how a
 * panel is laid out. */
static const char *essence(const char *line, size_t *length) {
    const char *end = line + strcspn(line, "\n"), *panel = strstr(line, " panel "), *from = line;

    if (has_word(line, "tensorize "))
        for (from = end; from > line && from[-1] != ' ';)
            from--;
    else if (has_word(line, "split "))
        from = strchr(line, '.');
    else if (panel && panel < end)
        from = panel;
    *length = (size_t)(end - from);
    return from;
}

/* True if both schedules have the same kernels and the same copies, though perhaps in other loops. */
static bool are_alike(const struct uk_program *p, const char *a, const char *b) {
    size_t n, m;

    for (;;) {
        a = find_step(p, a);
        b = find_step(p, b);
        if (!a || !b)
            return !a && !b;
        const char *x = essence(a, &n), *y = essence(b, &m);
        if (n != m || memcmp(x, y, n) != 0)
            return false;
        a = next_line(a);
        b = next_line(b);
    }
}

/* Returns the next line, from this one on, that copies the tensor, or NULL if no line does. */
static const char *find_copy(const struct uk_program *p, const char *line, const char *tensor) {
    const size_t length = strlen(tensor);

    while ((line = find_step(p, line))) {
        const char *name = strchr(line + strspn(line, " "), ' ') + 1;
        if ((has_word(line, "pack ") || has_word(line, "cache_")) && !strncmp(name, tensor, length) &&
            (name[length] == ' ' || name[length] == '['))
            return line;
        line = next_line(line);
    }
    return NULL;
}

/* True if both schedules copy the constants of the program alike. */
static bool have_same_constants(const struct uk_program *p, const char *a, const char *b) {
    for (int i = 0; i < uk_program_tensors(p); i++) {
        const char *name = uk_program_tensor_name(p, i), *x = a, *y = b;
        while (uk_program_tensor_constant(p, i) && x && y) {
            x = find_copy(p, x, name);
            y = find_copy(p, y, name);
            const size_t length = x ? strcspn(x, "\n") + 1 : 0;
            if (!x != !y || (x && strncmp(x, y, length) != 0))
                return false;
            x = x ? next_line(x) : NULL;
            y = y ? next_line(y) : NULL;
        }
    }
    return true;
}

/* ---- making a program ---- */

struct single {
    struct uk_network *n;
    const struct uk_options *options;
    struct uk_layer_function *function;
    const char *steps; /* those of the whole range */
};

/* True if the size is an open one that may be 1, and no less. */
static bool may_be_one(const struct uk_network *n, const struct uk_size_form *f) {
    const struct uk_size_term *t = f->term;

    return f->terms == 1 && t->factor == 1 && t->a >= 0 && t->b < 0 &&
           n->graph.open[t->a]->lower == n->graph.open[t->a]->step;
}

static bool has_sum(const struct uk_program *p) {
    bool any = false;

    for (const struct uk_statement *t = p->statements; t; t = t->next)
        any |= t->reduce == UK_REDUCE_SUM;
    return any;
}

/* Parses the program, for a value of 1 of its size number k. */
static enum uk_status parse(const struct single *x, int k, struct uk_program **p) {
    const struct uk_layer_function *f = x->function;
    char file[256];

    snprintf(file, sizeof file, "%s_single.uk", f->name);
    enum uk_status s = uk_program_parse(x->n->context, file, f->text, strlen(f->text), p);
    return s ? s : uk_program_define(*p, uk_program_size_name(*p, k), 1);
}

/* Fixes the schedule, as code must not have another one than that whose constants were compared. Written out,
 * a schedule may be refused where the automatic one is not. */
static enum uk_status fix_schedule(const struct single *x, struct uk_program *p, const char *steps) {
    struct uk_options loops = *x->options;
    struct uk_module *module = NULL;
    enum uk_status s = uk_program_schedule(p, "automatic", steps, strlen(steps));

    loops.interpret = true;
    if (!s)
        s = uk_compile(p, &loops, &module);
    uk_module_destroy(module);
    return s;
}

/* Makes the program for size number k if it is worth it; *p is NULL otherwise. If its automatic schedule
 * reads constants in another layout, it gets the first one with another kernel that reads them in that of the
 * whole range. */
static enum uk_status try_size(const struct single *x, int k, struct uk_program **p) {
    char *steps = NULL;
    int cursor = 0;
    bool keeps = false, is_alike = false;
    enum uk_status s = parse(x, k, p);

    while (!s && !keeps && !is_alike && !(s = uk_schedule_start(*p, x->options, &cursor, &steps)) && steps) {
        is_alike = are_alike(*p, x->steps, steps);
        keeps = !is_alike && have_same_constants(*p, x->steps, steps);
        if (keeps && *steps && (cursor > 1 || x->function->text != x->function->plain_text))
            s = fix_schedule(x, *p, steps);
        uk_text_free(steps);
        steps = NULL;
    }
    if (!keeps || s) {
        uk_program_destroy(*p);
        *p = NULL;
    }
    return s == UK_OUT_OF_MEMORY ? s : UK_OK;
}

enum uk_status uk_single_make(struct uk_network *n, const struct uk_options *options,
                              struct uk_layer_function *f, struct uk_program *range,
                              struct uk_program **single) {
    const struct uk_layer *l = n->plan.layers;
    struct single x = {n, options, f, NULL};
    char *steps = NULL;
    size_t length;
    enum uk_status s = UK_OK;

    f->single = -1;
    *single = NULL;
    while (l->function != f)
        l = l->next;
    for (int k = 0; has_sum(range) && k < l->sizes && !s && !*single; k++) {
        if (!may_be_one(n, &l->size[k]))
            continue;
        if (!steps)
            s = uk_emit(range, options, UK_EMIT_SCHEDULE, &steps, &length);
        if (s)
            break;
        x.steps = steps;
        s = try_size(&x, k, single);
        f->single = *single ? k : -1;
    }
    uk_text_free(steps);
    return s == UK_OUT_OF_MEMORY ? s : UK_OK;
}
