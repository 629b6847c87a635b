/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "link/module.h"
#include "lower/lower.h"
#include "run_program.h"
#include "target/target.h"

struct uk_program *run_parse(struct uk_context *c, const char *name, const char *text, const char *steps) {
    struct uk_program *p;

    if (uk_program_parse(c, name, text, strlen(text), &p) ||
        (steps && *steps && uk_program_schedule(p, "steps", steps, strlen(steps))))
        fail_msg("%s\n%s%s", uk_context_message(c), text, steps ? steps : "");
    return p;
}

enum uk_status run_lower(struct uk_program *p, const struct uk_options *o, struct uk_text *report,
                         struct uk_text *steps, struct uk_function **f) {
    const struct uk_target *target;
    const enum uk_status status = uk_program_check(p);

    if (status)
        return status;
    uk_context_enter(p->context, "steps");
    if (uk_target_find(p->context, o->target ? o->target : "native", &target))
        fail_msg("%s", uk_context_message(p->context));
    return uk_lower(p, target, o, report, steps, f);
}

bool run_gives_loops(struct uk_program *p, const struct uk_options *o, const char *steps,
                     const struct uk_function *f) {
    struct uk_text loops = {0}, again = {0};
    struct uk_function *g;

    uk_print_loops(&loops, f);
    bool same = !uk_program_schedule(p, "steps", steps, strlen(steps)) && !run_lower(p, o, NULL, NULL, &g);
    if (same)
        uk_print_loops(&again, g);
    same = same && loops.text && again.text && !strcmp(loops.text, again.text);
    uk_text_free(loops.text);
    uk_text_free(again.text);
    return same;
}

bool run_is_possible(const char *target) {
    const char *const feature = target && strstr(target, "avx512") ? "avx512dq" : "avx2";

    return !target || !strcmp(target, "native") ||
           (!strncmp(target, "x86_64-avx", 10) && uk_cpu_has(feature) && uk_cpu_has("fma"));
}

enum uk_status run_compile(struct run *r) {
    return uk_compile(r->program, &r->options, &r->module);
}

enum uk_status run_loops(struct run *r, struct uk_text *steps) {
    r->options.interpret = true;
    const enum uk_status status = run_lower(r->program, &r->options, r->report, steps, &r->loops);

    if (status)
        return status;
    assert_non_null(r->module = uk_module_create());
    r->module->program = r->program;
    r->module->function = r->loops;
    return UK_OK;
}

enum uk_status run_code(struct run *r) {
    const struct uk_target *target;

    uk_module_destroy(r->module);
    assert_non_null(r->module = uk_module_create());
    r->options.interpret = false;
    uk_context_enter(r->context, "steps");
    const enum uk_status status =
        uk_target_find(r->context, r->options.target ? r->options.target : "native", &target);
    return status ? status : uk_module_build(r->context, r->loops, target, r->module);
}

void run_end(struct run *r) {
    uk_module_destroy(r->module);
    uk_program_destroy(r->program);
    r->module = NULL;
    r->program = NULL;
}

/* ---- one call ---- */

/* Calls the module in this process; packs the operands that it expects packed. */
static int call_here(const struct run *r, const int64_t *sizes, struct random_data *d) {
    void *argument[RANDOM_DATA_TENSORS + 1], *packed[RANDOM_DATA_TENSORS] = {NULL};
    int status = UK_OK;

    for (int i = 0; i < d->tensors; i++) {
        const int64_t bytes = uk_module_packed_bytes(r->module, sizes, i);

        argument[i] = d->origin[i];
        if (bytes < 0) /* not a constant tensor */
            continue;
        argument[i] = packed[i] = aligned_alloc(64, ((size_t)bytes + 127) / 64 * 64);
        assert_non_null(packed[i]);
        status |= uk_module_pack(r->module, sizes, i, d->origin[i], packed[i]);
    }
    argument[d->tensors] = r->workspace;
    if (!status)
        status = uk_module_call(r->module, sizes, d->scalar, argument);
    for (int i = 0; i < d->tensors; i++)
        free(packed[i]);
    return status;
}

int run_call(const struct run *r, struct random_data *d) {
    int64_t given[RANDOM_DATA_SIZES];
    int n = 0;

    for (const struct uk_var *v = r->program->sizes; v; v = v->next)
        if (!v->defined)
            given[n++] = d->size[v->number];
    random_data_begin(d);
    uk_context_enter(r->context, NULL);
    return (r->call ? r->call : call_here)(r, given, d);
}

bool run_is_right(struct run *r, struct random_data *d) {
    const int status = run_call(r, d);
    char where[64] = "an operand was changed", what[128];
    const bool same = status ? random_data_is_unchanged(d) : random_data_matches(d, r->program, where);

    if (status == (int)d->status && same)
        return true;
    snprintf(what, sizeof what, "status %d, the interpreter's %d%s%s", status, (int)d->status,
             same ? "" : "; ", same ? "" : where);
    run_complain(r, d, what);
    return false;
}

void run_complain(struct run *r, const struct random_data *d, const char *what) {
    const struct uk_options *o = &r->options;
    char sizes[1024] = "", *text = NULL;

    if (r->is_quiet || r->wrong++ > 5) /* the first few suffice */
        return;
    if (d)
        random_data_shape(r->program, d, sizes, sizeof sizes);
    print_error("%s: %s, %d threads, %s,%s: %s\n%s\n",
                r->repeat_arguments ? r->repeat_arguments : "always the same",
                o->target ? o->target : "native", o->threads, o->interpret ? "interpreted" : "machine code",
                sizes, what, uk_context_message(r->context));
    if (!uk_program_print(r->program, &text))
        print_error("%s", text);
    uk_text_free(text);
}

/* ---- sizes ---- */

static int64_t size_of(const struct uk_var *v, void *size) {
    return v->defined ? v->value : ((const int64_t *)size)[v->number];
}

static int64_t value_of(const struct uk_index *e, const int64_t *size) {
    bool overflow = false;

    return uk_index_eval(e, size_of, (void *)(uintptr_t)size, &overflow);
}

bool run_assume(const struct uk_program *p, int64_t *size) {
    bool any = false;

    for (const struct uk_assume *a = p->assumes; a; a = a->next)
        if (a->relation->op == UK_I_EQ && a->relation->a->op == UK_I_VAR) {
            int64_t *at = &size[a->relation->a->var->number], value = value_of(a->relation->b, size);

            any |= *at != value;
            *at = value;
        }
    return any;
}

bool run_is_assumed(const struct uk_program *p, const int64_t *size) {
    for (const struct uk_assume *a = p->assumes; a; a = a->next)
        if (!value_of(a->relation, size))
            return false;
    return true;
}

bool run_is_extent(const struct uk_program *p, const struct uk_var *size) {
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        for (int d = 0; d < t->dims; d++)
            if (uk_mentions(t->shape[d], size))
                return true;
    return false;
}
