/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uk_lower: from the steps, the program's or an automatic schedule, to the function. Drafts of an automatic
 * schedule are tried: if a step, the lowering or a limit of the target refuses one, the whole program is
 * scheduled again without it, as long as there are other drafts (auto/refused.c).
 */
#include "lower.h"

static void print_applied(struct uk_schedule *s, struct uk_text *steps) {
    struct uk_program shown = *s->program;

    shown.steps = s->applied;
    shown.versions = NULL;
    uk_print_steps(steps, &shown);
}

/* A GPU needs bound loops: steps without any are for CPUs. */
static bool has_steps(const struct uk_program *p, const struct uk_target *t) {
    const struct uk_step *step = p->steps;

    while (step && t->arch->is_device && step->kind != UK_STEP_BIND)
        step = step->next;
    return step;
}

static enum uk_status choose_steps(struct uk_schedule *s) {
    const struct uk_step *step = s->program->steps;
    enum uk_status status = UK_OK;

    if (has_steps(s->program, s->target))
        return uk_apply_steps(s, s->program->steps);
    s->is_automatic = true;
    if (step)
        status = uk_note(
            s->context, step->at,
            "the schedule binds no loop, so it does not apply to %s; an automatic one is used instead",
            s->target->name);
    if (status)
        return status;
    return s->target->arch->is_device ? uk_auto_device(s) : uk_auto_schedule(s);
}

/* Changes to all stages at once; a refusal may be due to any draft. */
typedef enum uk_status change_all(struct uk_schedule *s);

static enum uk_status apply_schedule(struct uk_schedule *s) {
    static change_all *const then[] = {uk_place_temps,   uk_fill_tiles,    uk_spread_over_threads,
                                       uk_finish_stages, uk_check_kernels, uk_make_registers,
                                       uk_match_locals,  uk_check_memory,  uk_add_temps};
    const double since = uk_now();
    enum uk_status status = uk_stages_create(s);

    if (!status)
        status = choose_steps(s);
    for (size_t i = 0; i < sizeof then / sizeof *then && !status; i++) {
        s->at = NULL;
        status = then[i](s);
    }
    uk_time(s->context->times, "match", since);
    return status;
}

static enum uk_status make_function(struct uk_schedule *s, struct uk_function *f) {
    const double since = uk_now();
    struct uk_stage *packed, **end = &packed;
    enum uk_status status = uk_pack_constants(s, f, &packed);

    if (!status)
        status = uk_lower_stages(s, &f->body);
    while (*end)
        end = &(*end)->next;
    *end = s->stages;
    s->stages = packed;
    s->at = NULL;
    if (status || (status = uk_constant_edges(s, f->body)) || (status = uk_fold_bias(s, &f->body)) ||
        (status = uk_make_launches(s, &f->body)) || (status = uk_add_checks(s, f)) ||
        (status = uk_list_intrinsics(s, f)))
        return status;
    for (struct uk_packed *k = f->packed; k; k = k->next)
        k->pack->checks = f->checks;
    uk_time(s->context->times, "loops", since);
    f->buffers = s->buffers;
    f->aliases = s->aliases;
    if ((status = uk_find_short_indices(s, f)))
        return status;
    for (const struct uk_stage *st = s->stages; st; st = st->next)
        f->is_parallel |= uk_nest_is_parallel(s, st);
    return UK_OK;
}

enum uk_status uk_list_tensors(struct uk_program *p, struct uk_function *f) {
    const int n = uk_tensor_position(p, NULL) - 1;

    if (!(f->tensor = uk_alloc(&p->arena, ((size_t)n + 1) * sizeof *f->tensor)))
        return uk_out_of_memory(p->context);
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        f->tensor[f->tensors++] = t;
    return UK_OK;
}

/* Tries one schedule; s has the drafts that are not tried again. */
static enum uk_status try_schedule(struct uk_schedule *s, struct uk_function *f) {
    enum uk_status status = apply_schedule(s);

    return status ? status : make_function(s, f);
}

/* GPUs copy blocks to their own memories, so nothing is packed beforehand. */
static enum uk_status refuse_constants(const struct uk_program *p, const struct uk_target *t) {
    const struct uk_tensor *x = p->tensors;

    while (x && !x->is_constant)
        x = x->next;
    return !x || !t->arch->is_device
               ? UK_OK
               : uk_fail(p->context, UK_UNSUPPORTED, x->at,
                         "%s is constant, but programs for GPUs cannot pack in advance; leave `constant` out "
                         "for %s",
                         x->name, t->name);
}

enum uk_status uk_lower_schedule(struct uk_program *p, const struct uk_target *t, const struct uk_options *o,
                                 const char *name, const struct uk_version *version,
                                 const struct uk_schedule *last, struct uk_text *report,
                                 struct uk_text *steps, struct uk_function **out) {
    struct uk_schedule *s = uk_alloc(&p->arena, sizeof *s), begin;
    struct uk_function *f = uk_alloc(&p->arena, sizeof *f);
    enum uk_status status;

    *out = NULL;
    if (!s || !f)
        return uk_out_of_memory(p->context);
    const size_t notes = p->context->notes.length, reported = report ? report->length : 0;
    begin = (struct uk_schedule){.program = p,
                                 .context = p->context,
                                 .arena = &p->arena,
                                 .target = t,
                                 .options = o,
                                 .report = report,
                                 .version = version};
    s->refused = last ? last->refused : NULL;
    s->as_written = o->plain_loops || (last && last->as_written);
    do {
        begin.refused = s->refused;
        begin.as_written = s->as_written;
        *s = begin;
        s->applied_end = &s->applied;
        *f = (struct uk_function){.program = p,
                                  .name = name,
                                  .scalars = p->scalars,
                                  .work_argument = o->workspace_argument,
                                  .schedule = s};
        if ((status = uk_list_tensors(p, f)))
            return status;
        uk_text_cut(&p->context->notes, notes);
        if (report)
            uk_text_cut(report, reported);
        status = try_schedule(s, f);
    } while (status && uk_refuse_draft(s, status));
    if (status)
        return status;
    uk_report_refused(s);
    if (steps)
        print_applied(s, steps);
    *out = f;
    return UK_OK;
}

/* last: the function that was lowered before, whose refused drafts are not tried again; or NULL. */
static enum uk_status lower(struct uk_program *p, const struct uk_target *t, const struct uk_options *o,
                            const struct uk_function *last, struct uk_text *report, struct uk_text *steps,
                            struct uk_function **out) {
    enum uk_status status;

    *out = NULL;
    if ((status = uk_check_constants(p, uk_target_max_bytes(t))) || (status = uk_warn_of_pads(p)) ||
        (status = refuse_constants(p, t)))
        return status;
    if (p->versions)
        return uk_lower_all_schedules(p, t, o, last, report, steps, out);
    struct uk_version *automatic = last ? last->automatic : NULL;

    if (!automatic && !o->plain_loops && !has_steps(p, t) &&
        (status = t->arch->is_device ? uk_auto_device_versions(p, t, o, &automatic)
                                     : uk_auto_product_versions(p, t, o, &automatic)))
        return status;
    p->versions = automatic;
    status = automatic ? uk_lower_all_schedules(p, t, o, last, report, steps, out)
                       : uk_lower_schedule(p, t, o, p->name, NULL, last ? last->schedule : NULL, report,
                                           steps, out);
    p->versions = NULL;
    if (*out)
        (*out)->automatic = automatic;
    return status;
}

/* After a failed allocation later decisions may be wrong (a coefficient that could not be computed differs
 * from the kernel's), so only the failure is reported. */
static enum uk_status lower_all(struct uk_program *p, const struct uk_target *t, const struct uk_options *o,
                                const struct uk_function *last, struct uk_text *report, struct uk_text *steps,
                                struct uk_function **out) {
    p->arena.failed = p->context->arena.failed = false;
    enum uk_status status = lower(p, t, o, last, report, steps, out);

    if (!p->arena.failed && !p->context->arena.failed && !(report && report->failed) &&
        !(steps && steps->failed))
        return status;
    *out = NULL;
    uk_context_enter(p->context, p->context->file);
    return uk_out_of_memory(p->context);
}

enum uk_status uk_lower(struct uk_program *p, const struct uk_target *t, const struct uk_options *o,
                        struct uk_text *report, struct uk_text *steps, struct uk_function **out) {
    return lower_all(p, t, o, NULL, report, steps, out);
}

bool uk_refuse_code(const struct uk_function *f, enum uk_status status) {
    const struct uk_function_version *v = f->versions;

    while (v && !uk_refuse_code(v->function, status))
        v = v->next;
    return v || (f->schedule && uk_refuse_draft_code(f->schedule, status));
}

enum uk_status uk_lower_again(const struct uk_function *f, struct uk_text *steps, struct uk_function **out) {
    const struct uk_schedule *s = f->versions ? f->versions->function->schedule : f->schedule;

    return lower_all(s->program, s->target, s->options, f, NULL, steps, out);
}
