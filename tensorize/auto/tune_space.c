/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search space of schedules: starting points besides the automatic schedule (the automatic tiling for
 * every other kernel that fits), legal changes of one choice, and a lower bound of a schedule's time by its
 * kernels.
 */
#include <string.h>
#include "space.h"

enum { TRIES = 64 };

/* ---- one candidate at a time, in the program's arena ---- */

/* A program that evaluates one candidate: what is allocated between visit_begin and visit_end is released. */
struct visit {
    struct uk_program *p, saved;
    struct uk_mark mark;
    struct uk_import **imports_end;
    const struct uk_options *options;
    const struct uk_target *target;
};

/* An argument that may not be NULL. */
struct needed {
    const void *argument;
    const char *what;
};

static enum uk_status visit_begin(struct visit *v, struct uk_program *p, const struct uk_options *o,
                                  const struct needed *needed, int count) {
    static const struct uk_options none;

    *v = (struct visit){.p = p, .options = o ? o : &none};
    enum uk_status status = uk_program_check(p);
    for (int i = 0; i < count && !status; i++)
        status = uk_require(p->context, needed[i].argument, needed[i].what);
    if (status)
        return status;
    v->saved = *p;
    v->mark = uk_arena_mark(&p->arena);
    v->imports_end = &p->imports;
    while (*v->imports_end)
        v->imports_end = &(*v->imports_end)->next;
    status = uk_target_chosen(p->context, v->options, &v->target);
    return status ? status : uk_check_constants(p, uk_target_max_bytes(v->target));
}

/* True if memory ran out, even if a later status hid it: then there is no message. */
static bool ran_out(const struct visit *v) {
    return v->p && v->p->context->failed && !v->p->context->message;
}

/* Ends the visit; returns the status that the caller should return. */
static enum uk_status visit_end(struct visit *v, enum uk_status status) {
    if (status && ran_out(v))
        status = UK_OUT_OF_MEMORY;
    /* visit_begin failed: nothing to restore */
    if (!v->imports_end)
        return status;
    struct uk_arena arena = v->p->arena;

    *v->p = v->saved;
    v->p->arena = arena;
    /* removes modules that the steps imported */
    *v->imports_end = NULL;
    uk_arena_release(&v->p->arena, v->mark);
    return status;
}

static enum uk_status open_schedule(const struct visit *v, struct uk_schedule **out) {
    struct uk_schedule *s = *out = uk_alloc(&v->p->arena, sizeof *s);

    if (!s)
        return uk_out_of_memory(v->p->context);
    *s = (struct uk_schedule){.program = v->p,
                              .context = v->p->context,
                              .arena = &v->p->arena,
                              .target = v->target,
                              .options = v->options};
    s->applied_end = &s->applied;
    return uk_stages_create(s);
}

/* Applies one step; each of its loops is qualified with its stage. */
static enum uk_status apply_qualified(struct uk_schedule *s, const struct uk_step *step) {
    struct uk_step *one = uk_alloc(s->arena, sizeof *one);
    struct uk_loop_name *loop = uk_alloc(s->arena, sizeof *loop * (size_t)(step->loops + 1));

    if (!one || !loop)
        return uk_out_of_memory(s->context);
    *one = *step;
    one->next = NULL;
    one->loop = loop;
    for (int i = 0; i < step->loops; i++) {
        struct uk_stage *st;
        int position;

        loop[i] = step->loop[i];
        if (loop[i].stage || !strcmp(loop[i].loop, "root"))
            continue;
        enum uk_status status = uk_find_loop(s, &loop[i], &st, &position);
        if (status)
            return status;
        loop[i].stage = st->name;
    }
    return uk_apply_steps(s, one);
}

/* Parses and applies the steps of the text. */
static enum uk_status read_draft(struct visit *v, const char *steps, struct uk_draft *d) {
    enum uk_status status;

    d->steps = 0;
    v->p->steps = NULL;
    v->p->versions = NULL;
    v->p->has_schedule = false;
    if ((status = uk_parse_steps(v->p, NULL, steps, strlen(steps), false)) ||
        (status = uk_refuse_versions(v->p)) || (status = open_schedule(v, &d->s)))
        return status;
    for (const struct uk_step *step = v->p->steps; step; step = step->next)
        if ((status = apply_qualified(d->s, step)))
            return status;
    for (struct uk_step *step = d->s->applied; step; step = step->next) {
        if (d->steps == AUTO_STEPS)
            return uk_fail(v->p->context, UK_REFUSED, step->at,
                           "a schedule of more than %d steps; tune a shorter one", AUTO_STEPS);
        d->step[d->steps++] = step;
    }
    return UK_OK;
}

static enum uk_status give_steps(const struct uk_schedule *s, char **text) {
    struct uk_program shown = *s->program;
    struct uk_text t = {0};

    shown.steps = s->applied;
    uk_put(&t, "%s", "");
    uk_print_steps(&t, &shown);
    *text = t.text;
    return t.text ? UK_OK : uk_out_of_memory(s->context);
}

/* ---- starting points ---- */

/* Name of the i-th kernel: the program's own first, then those of the target's architecture; NULL: there are
 * no more. */
static const char *kernel_number(const struct visit *v, int i) {
    const struct uk_intrinsic *own = v->p->intrinsics;
    const struct uk_kernel *row;

    for (; own && i; i--)
        own = own->next;
    if (own)
        return own->name;
    for (int at = 0; (row = uk_kernel_at(at)) && (!uk_target_takes(v->target, row) || i); at++)
        i -= uk_target_takes(v->target, row);
    return uk_kernel_symbol(row);
}

static const struct uk_statement *statement_number(const struct uk_program *p, int i) {
    const struct uk_statement *t = p->statements;

    for (; t && i; i--)
        t = t->next;
    return t;
}

/* Applies a step that changes almost nothing, if the schedule has none: a text without steps would select the
 * automatic schedule. A reorder names all loops in their order; a single loop is split. */
static enum uk_status name_loops(struct uk_schedule *s, const struct uk_stage *st) {
    struct uk_step *step = uk_alloc(s->arena, sizeof *step);
    struct uk_loop_name *loop = uk_alloc(s->arena, sizeof *loop * (size_t)(st->loops + 1));

    if (!step || !loop)
        return uk_out_of_memory(s->context);
    for (int i = 0; i < st->loops; i++)
        loop[i] = (struct uk_loop_name){.stage = st->name, .loop = st->loop[i]->var->name};
    *step =
        (struct uk_step){.kind = UK_STEP_REORDER, .at = st->statement->at, .loops = st->loops, .loop = loop};
    if (st->loops == 1) {
        const char *base = st->statement->iterator[0]->name;

        if (!(step->name = uk_alloc(s->arena, 2 * sizeof *step->name)) ||
            !(step->name[0] = uk_fresh_name(s, base, "o")) || !(step->name[1] = uk_fresh_name(s, base, "i")))
            return uk_out_of_memory(s->context);
        step->kind = UK_STEP_SPLIT;
        step->names = 2;
        step->number[0] = AUTO_PLAIN_BLOCK;
    }
    return st->loops ? uk_apply_steps(s, step) : UK_OK;
}

/* Sets *out to the automatic schedule in which statement t is computed by the kernel, or by plain loops if
 * `kernel` is NULL; NULL: there is no such schedule. */
static enum uk_status start_with(struct visit *v, const struct uk_statement *t, const char *kernel,
                                 char **out) {
    struct uk_schedule *s;
    enum uk_status status = open_schedule(v, &s);
    bool taken = false;

    if (status)
        return status;
    s->wanted_stage = t->label;
    s->wanted_kernel = kernel ? kernel : "";
    status = s->target->arch->is_device ? uk_auto_device(s) : uk_auto_schedule(s);
    for (const struct uk_stage *st = s->stages; st && !status; st = st->next) {
        if (strcmp(st->name, t->label))
            continue;
        taken = kernel ? st->match && !strcmp(st->match->intrinsic->name, kernel) : !st->match && st->loops;
        if (!kernel && taken && !s->applied)
            status = name_loops(s, st);
    }
    if (status || !taken) {
        if (status && (status == UK_OUT_OF_MEMORY || ran_out(v)))
            return uk_out_of_memory(v->p->context);
        /* a kernel that does not fit is no error: forget the message */
        uk_context_enter(v->p->context, v->p->file);
        return UK_OK;
    }
    return give_steps(s, out);
}

enum uk_status uk_start_with_kernel(struct uk_program *p, const struct uk_options *options, int *cursor,
                                    char **steps) {
    struct visit v;
    const struct uk_statement *t;
    int kernels = 0;

    *steps = NULL;
    enum uk_status status = visit_begin(&v, p, options, NULL, 0);
    while (!status && kernel_number(&v, kernels))
        kernels++;
    while (!status && !*steps && (t = statement_number(p, *cursor / (kernels + 1)))) {
        const char *kernel = kernel_number(&v, *cursor % (kernels + 1));

        ++*cursor;
        status = kernel || !v.options->require_kernels ? start_with(&v, t, kernel, steps) : UK_OK;
    }
    return visit_end(&v, status);
}

/* ---- changes ---- */

static enum uk_status try_change(const struct visit *v, const struct uk_draft *d, uint64_t *random,
                                 char **changed) {
    struct uk_draft t = *d;
    struct uk_schedule *s;
    enum uk_status status = uk_change(&t, random);

    if (status || (status = open_schedule(v, &s)))
        return status;
    for (int i = 0; i < t.steps; i++)
        if ((status = apply_qualified(s, t.step[i])))
            return status;
    return give_steps(s, changed);
}

enum uk_status uk_schedule_change(struct uk_program *p, const struct uk_options *options, const char *steps,
                                  uint64_t *random, char **changed) {
    struct visit v;
    struct uk_draft *d = NULL;

    if (changed)
        *changed = NULL;
    const struct needed needed[] = {{steps, "the text of the steps"},
                                    {random, "the state of the random numbers"},
                                    {changed, "the place for the changed steps"}};
    enum uk_status status = visit_begin(&v, p, options, needed, 3);
    if (!status && !(d = uk_alloc(&p->arena, sizeof *d)))
        status = uk_out_of_memory(p->context);
    if (!status)
        status = read_draft(&v, steps, d);
    for (int i = 0; !status && !*changed && i < TRIES; i++) {
        struct uk_mark mark = uk_arena_mark(&p->arena);
        enum uk_status tried = try_change(&v, d, random, changed);

        if (tried && (tried == UK_OUT_OF_MEMORY || ran_out(&v)))
            status = uk_out_of_memory(p->context);
        /* an illegal change is no error: forget the message */
        else if (tried)
            uk_context_enter(p->context, p->file);
        uk_arena_release(&p->arena, mark);
    }
    if (!status && !*changed)
        status = uk_fail(p->context, UK_REFUSED, (struct uk_position){0},
                         "none of %d changes of this schedule is legal; start from another one", TRIES);
    return visit_end(&v, status);
}

/* ---- lower bound of the time ---- */

/* Multiply-adds of the stage, for the sizes that the program's `size` items give. */
static double terms_of(const struct uk_draft *d, const struct uk_stage *st) {
    double terms = 1;

    for (int i = 0; i < st->iterators; i++)
        terms *= uk_size_estimate(d->s, st->statement->extent[i]);
    return terms;
}

/* The target's peak in f32 operations per cycle. */
static double peak_of(const struct visit *v) {
    return 2 * uk_ports_rate(&v->target->vectors.fma) * v->target->vectors.bytes / 4;
}

/* Lower bound of the stage's time with its kernel, in f32 operations at peak; 0: it has no kernel with
 * counted instructions. */
static double kernel_operations(const struct visit *v, const struct uk_draft *d, const struct uk_stage *st) {
    const struct uk_kernel *row = st->match ? st->match->intrinsic->row : NULL;

    return row && uk_kernel_fma(row) > 0 && !st->is_copy
               ? 2 * terms_of(d, st) / uk_kernel_bound(v->target, row) * peak_of(v)
               : 0;
}

/* The same for a float sum in plain loops whose innermost loop is summed over: each addition waits for the
 * previous one, because roundings keep their order. */
static double chain_operations(const struct visit *v, const struct uk_draft *d, const struct uk_stage *st) {
    /* latency of an addition: 3 to 5 on the cores in cores.def */
    const double add_cycles = 4;
    const struct uk_loop *last = st->loops > st->prefix ? st->loop[st->loops - 1] : NULL;

    return !st->match && !st->is_copy && !st->is_reset && st->statement->reduce == UK_REDUCE_SUM &&
                   uk_type_is_float(st->statement->left.tensor->type) && last && uk_is_reduced(st, last)
               ? terms_of(d, st) * add_cycles * peak_of(v)
               : 0;
}

typedef double count_operations(const struct visit *v, const struct uk_draft *d, const struct uk_stage *st);

/* Adds up what these functions count over all stages. */
static enum uk_status sum_operations(struct uk_program *p, const struct uk_options *options,
                                     const char *steps, count_operations *const counts[],
                                     double *operations) {
    struct visit v;
    struct uk_draft *d = NULL;

    if (operations)
        *operations = 0;
    const struct needed needed[] = {{steps, "the text of the steps"},
                                    {operations, "the place for the operations"}};
    enum uk_status status = visit_begin(&v, p, options, needed, 2);
    if (!status && !(d = uk_alloc(&p->arena, sizeof *d)))
        status = uk_out_of_memory(p->context);
    if (!status)
        status = read_draft(&v, steps, d);
    for (const struct uk_stage *st = status ? NULL : d->s->stages; st; st = st->next)
        for (int i = 0; counts[i]; i++)
            *operations += counts[i](&v, d, st);
    return visit_end(&v, status);
}

enum uk_status uk_schedule_bound(struct uk_program *p, const struct uk_options *options, const char *steps,
                                 double *operations) {
    count_operations *const counts[] = {kernel_operations, NULL};

    return sum_operations(p, options, steps, counts, operations);
}

enum uk_status uk_schedule_cost(struct uk_program *p, const struct uk_options *options, const char *steps,
                                double *operations) {
    count_operations *const counts[] = {kernel_operations, chain_operations, NULL};

    return sum_operations(p, options, steps, counts, operations);
}
