/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs with several schedules: each becomes a function of its own, whose steps may use the relations of
 * the schedule's condition like assumptions. Schedules that defined sizes rule out are left out.
 *
 * A version checks at entry all that a program with one schedule checks, its own condition included; so a
 * wrong choice would be refused. On a GPU a version with a condition has only kernels with short indices. The
 * last one, which takes all sizes, also has kernels with wide indices, which all larger sizes take.
 */
#include "lower.h"

/* The arguments of uk_lower_all_schedules. */
struct lowering {
    struct uk_program *p;
    const struct uk_target *target;
    const struct uk_options *options;
    struct uk_text *report, *steps;
    struct uk_function_version **end;            /* end of the list of lowered versions */
    struct uk_index *condition[UK_MAX_VERSIONS]; /* of the versions to lower; NULL: the last one */
    const struct uk_version *version[UK_MAX_VERSIONS];
    int number[UK_MAX_VERSIONS]; /* number of each in the program */
    int count;
};

static int64_t defined_value(const struct uk_var *v, void *known) {
    if (!v->defined)
        *(bool *)known = false;
    return v->value;
}

/* True if the condition holds for the defined sizes, and mentions no others. */
static bool is_certain(const struct uk_index *condition) {
    bool known = true, overflow = false;
    const bool holds = uk_index_eval(condition, defined_value, &known, &overflow);

    return known && holds && !overflow;
}

/* Selects the schedules that some sizes take. */
static enum uk_status select_versions(struct lowering *l) {
    struct uk_schedule s = {.program = l->p, .context = l->p->context, .arena = &l->p->arena};
    enum uk_status status = UK_OK;
    int number = 0;

    for (const struct uk_version *v = l->p->versions; v && !status; v = v->next, number++) {
        if (v->condition) {
            const bool possible = uk_is_possible(&s, v->condition);

            if ((status = uk_isl_status(&s)) || !possible)
                continue;
        }
        const bool is_last = !v->condition || is_certain(v->condition);

        l->condition[l->count] = is_last ? NULL : v->condition;
        l->version[l->count] = v;
        l->number[l->count++] = number;
        if (is_last)
            break;
    }
    return status;
}

/* Copies the steps of one schedule. False: no memory. */
static bool copy_steps(struct uk_arena *a, const struct uk_step *steps, int version, struct uk_step **out) {
    struct uk_step **end = out;

    *out = NULL;
    for (; steps; steps = steps->next) {
        if (steps->version != version)
            continue;
        struct uk_step *copy = uk_alloc(a, sizeof *copy);

        if (!copy)
            return false;
        *copy = *steps;
        copy->next = NULL;
        *end = copy;
        end = &copy->next;
    }
    return true;
}

/* Gives these sizes defaults, or takes them away again; NULL: none. */
static void assume_sizes(struct uk_program *p, const int64_t *estimate, bool assumed) {
    for (struct uk_var *v = p->sizes; v && estimate; v = v->next)
        if (estimate[v->number]) {
            v->has_default = assumed;
            v->default_value = assumed ? estimate[v->number] : 0;
        }
}

/* Lowers version i under its condition; the program is changed meanwhile. */
static enum uk_status lower_version(struct lowering *l, int i, const struct uk_schedule *last,
                                    struct uk_function **out) {
    struct uk_program *p = l->p;
    struct uk_index *condition = l->condition[i];
    struct uk_step *steps = p->steps;
    struct uk_assume *assumes = p->assumes;
    const char *name = l->count == 1 ? p->name : uk_format(&p->arena, "%s.%d", p->name, l->number[i] + 1);

    *out = NULL;
    if (l->count > 1 && l->report)
        uk_print_condition(l->report, condition);
    if (l->count > 1 && l->steps)
        uk_print_condition(l->steps, condition);
    p->assumes = uk_assumptions_with(&p->arena, p, condition);
    assume_sizes(p, l->version[i]->estimate, true);
    enum uk_status status = UK_OUT_OF_MEMORY;
    if (name && !p->arena.failed && copy_steps(&p->arena, steps, l->number[i], &p->steps))
        status =
            uk_lower_schedule(p, l->target, l->options, name, l->version[i], last, l->report, l->steps, out);
    assume_sizes(p, l->version[i]->estimate, false);
    p->steps = steps;
    p->assumes = assumes;
    return status;
}

/* The packed form of a constant tensor is that of one schedule. */
static enum uk_status refuse_constants(const struct uk_program *p) {
    for (const struct uk_tensor *x = p->tensors; x; x = x->next)
        if (x->is_constant)
            return uk_fail(p->context, UK_UNSUPPORTED, x->at,
                           "%s is constant, but each of the program's schedules may pack it in another form; "
                           "leave `constant` out, or write one schedule",
                           x->name);
    return UK_OK;
}

static enum uk_status add_version(struct lowering *l, int i, struct uk_function *of, struct uk_function *f) {
    struct uk_function_version *v = uk_alloc(&l->p->arena, sizeof *v);

    if (!v)
        return uk_out_of_memory(l->p->context);
    *v = (struct uk_function_version){.condition = l->condition[i], .function = f};
    f->is_short = f->fits && v->condition;
    *l->end = v;
    l->end = &v->next;
    of->is_parallel |= f->is_parallel;
    return UK_OK;
}

/* Lists the kernels of all versions, each once. */
static enum uk_status list_intrinsics(struct uk_program *p, struct uk_function *of) {
    size_t n = 0;

    for (const struct uk_function_version *v = of->versions; v; v = v->next)
        n += (size_t)v->function->intrinsics;
    if (!(of->intrinsic = uk_alloc(&p->arena, (n + 1) * sizeof *of->intrinsic)))
        return uk_out_of_memory(p->context);
    for (const struct uk_function_version *v = of->versions; v; v = v->next)
        for (int i = 0; i < v->function->intrinsics; i++)
            uk_list_intrinsic(of, v->function->intrinsic[i]);
    return UK_OK;
}

enum uk_status uk_lower_all_schedules(struct uk_program *p, const struct uk_target *t,
                                      const struct uk_options *o, const struct uk_function *last,
                                      struct uk_text *report, struct uk_text *steps,
                                      struct uk_function **out) {
    struct lowering l = {.p = p, .target = t, .options = o, .report = report, .steps = steps};
    struct uk_function *of = uk_alloc(&p->arena, sizeof *of), *f;
    enum uk_status status = of ? select_versions(&l) : uk_out_of_memory(p->context);

    if (!status && l.count == 1)
        return lower_version(&l, 0, last ? last->schedule : NULL, out);
    if (status || (status = refuse_constants(p)))
        return status;
    *of = (struct uk_function){
        .program = p, .name = p->name, .scalars = p->scalars, .work_argument = o->workspace_argument};
    l.end = &of->versions;
    status = uk_list_tensors(p, of);
    const struct uk_function_version *before = last ? last->versions : NULL;
    for (int i = 0; i < l.count && !status; i++) {
        status = lower_version(&l, i, before ? before->function->schedule : NULL, &f);
        if (!status)
            status = add_version(&l, i, of, f);
        before = before ? before->next : NULL;
    }
    if (!status)
        status = list_intrinsics(p, of);
    *out = status ? NULL : of;
    return status;
}
