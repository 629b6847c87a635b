/* SPDX-License-Identifier: Apache-2.0 */
/* Printer of steps: the row's word, then its arguments in order (steps.def). */
#include <inttypes.h>
#include "language/language.h"

/* Number of list entries printed so far. */
struct printed {
    int loops, numbers;
};

static void put_loop(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    const struct uk_loop_name *l = &s->loop[done->loops++];

    uk_put(t, " %s%s%s", l->stage ? l->stage : "", l->stage ? "." : "", l->loop);
}

static void put_more_loops(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    while (done->loops < s->loops)
        put_loop(t, s, done);
}

static void put_factor(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    uk_put(t, " %" PRId64, s->number[done->numbers++]);
}

static void put_factor_or_parts(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    uk_put(t, "%s", s->parts ? " parts" : "");
    put_factor(t, s, done);
}

static void put_slots(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    put_factor(t, s, done);
}

static void put_axis(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    (void)done;
    uk_put(t, " %s", s->axis);
}

static void put_tensor(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    (void)done;
    uk_put(t, " %s", s->subject);
}

static void put_access(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    put_tensor(t, s, done);
    for (int d = 0; d < s->subscripts; d++) {
        uk_put(t, d ? ", " : "[");
        uk_print_index(t, s->subscript[d]);
    }
    uk_put(t, "%s", s->subscripts ? "]" : "");
}

static void put_stage(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    put_tensor(t, s, done);
}

static void put_kernel(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    put_tensor(t, s, done);
}

static void put_place(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    uk_put(t, " at");
    put_loop(t, s, done);
}

static void put_scope(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    (void)done;
    if (s->has_scope)
        uk_put(t, " in %s", uk_scope_names[s->scope]);
}

static void put_layout(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    (void)done;
    if (s->layout) {
        uk_put(t, " layout ");
        uk_print_map(t, s->layout);
    }
    for (int i = 0; i < s->strides; i++)
        uk_put(t, "%s%" PRId64 "%s", i ? ", " : " stride [", s->stride[i], i + 1 < s->strides ? "" : "]");
}

static void put_panel_or_layout(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    if (s->has_panel)
        uk_put(t, " panel %" PRId64, s->number[0]);
    if (s->has_along)
        uk_put(t, " along %" PRId64, s->along);
    put_layout(t, s, done);
}

static void put_names(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    (void)done;
    for (int i = 0; i < s->names; i++)
        uk_put(t, "%s%s", i ? " " : " -> ", s->name[i]);
}

static void put_optional_names(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    put_names(t, s, done);
}

/* Prints what follows `pragma import`. */
static void put_imported(struct uk_text *t, const struct uk_import *i) {
    if (i->kind == UK_IMPORT_FILE)
        uk_put(t, " \"%s\"", i->text);
    else
        uk_put(t, " %s \"\"\"%s\"\"\"", i->kind == UK_IMPORT_LL_TEXT ? "ll" : "c", i->text);
}

static void put_import(struct uk_text *t, const struct uk_step *s, struct printed *done) {
    (void)done;
    put_imported(t, s->import);
}

void uk_print_import(struct uk_text *t, const struct uk_import *i) {
    uk_put(t, "pragma import");
    put_imported(t, i);
    uk_put(t, "\n");
}

void uk_print_step(struct uk_text *t, const struct uk_step *s) {
    static void (*const put[])(struct uk_text *t, const struct uk_step *s, struct printed *done) = {
#define UK_STEP_ARGUMENT(name) [UK_STEP_ARGUMENT_##name] = put_##name,
#include "language/steps.def"
    };
    struct printed done = {0, 0};

    uk_put(t, "%s", uk_steps[s->kind].word);
    for (const unsigned char *a = uk_steps[s->kind].argument; *a; a++)
        put[*a](t, s, &done);
    uk_put(t, "\n");
}

/* version -1: prints the steps of all versions. */
static void put_steps(struct uk_text *t, const struct uk_step *s, int version) {
    for (; s; s = s->next)
        if (version < 0 || s->version == version) {
            uk_put(t, "  ");
            uk_print_step(t, s);
        }
}

void uk_print_condition(struct uk_text *t, const struct uk_index *condition) {
    uk_put(t, "schedule");
    if (condition) {
        uk_put(t, " where ");
        uk_print_index(t, condition);
    }
    uk_put(t, "\n");
}

void uk_print_steps(struct uk_text *t, const struct uk_program *p) {
    int n = 0;

    if (!p->versions)
        put_steps(t, p->steps, -1);
    for (const struct uk_version *v = p->versions; v; v = v->next) {
        uk_print_condition(t, v->condition);
        put_steps(t, p->steps, n++);
    }
}
