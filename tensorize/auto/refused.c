/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refused drafts. An automatic schedule consists of one draft for each stage: a kernel with its tiles, a
 * pattern of loops over blocks and threads, or, as the last one, the loops as the statement has them. A step,
 * lowering or a limit of the target may refuse one; the program is then scheduled again without it.
 */
#include <string.h>
#include "auto.h"

enum {
    /* drafts of a stage that are tried before its loops are left as written */
    MOST_OF_STAGE = 8,
    /* schedules of a program that are tried before all its loops are left as written */
    MOST_TRIES = 32
};

const char *uk_refusal(const struct uk_schedule *s, const char *stage, const char *draft) {
    for (const struct uk_refused *r = s->refused; r; r = r->next)
        if (!strcmp(r->draft.stage, stage) && !strcmp(r->draft.name, draft))
            return r->why;
    return NULL;
}

bool uk_is_as_written(const struct uk_schedule *s, const char *stage) {
    return s->as_written || uk_refusal(s, stage, UK_DRAFT_AS_WRITTEN);
}

const char *uk_reason_as_written(struct uk_schedule *s, const char *stage) {
    const struct uk_refused *first = NULL;

    for (const struct uk_refused *r = s->refused; r; r = r->next)
        if (!strcmp(r->draft.stage, stage) && (!first || strcmp(r->draft.name, UK_DRAFT_AS_WRITTEN)))
            first = r;
    return first ? uk_format(s->arena, "its schedule by %s was refused: %s", first->draft.name, first->why)
                 : NULL;
}

enum uk_status uk_begin_draft(struct uk_schedule *s, struct uk_stage *st, const char *name) {
    struct uk_draft_name *d = uk_alloc(s->arena, sizeof *d);

    if (!d || !name)
        return uk_out_of_memory(s->context);
    *d = (struct uk_draft_name){.stage = st->name, .name = name};
    st->draft = d;
    s->at = st;
    return UK_OK;
}

/* The draft that determined the stage: that of its nest or, for a copy, that of its reader. */
static const struct uk_draft_name *draft_of(const struct uk_stage *st) {
    for (int i = 0; st && i < 2; i++) {
        while (st->parent && !st->draft)
            st = st->parent;
        if (st->draft)
            return st->draft;
        st = st->is_copy ? uk_first_reader(st) : NULL;
    }
    return NULL;
}

static int count(const struct uk_refused *r, const char *stage) {
    int n = 0;

    for (; r; r = r->next)
        n += !stage || !strcmp(r->draft.stage, stage);
    return n;
}

/* Adds the draft to the refused ones; false: it is among them already. After MOST_OF_STAGE of them only the
 * stage as written remains. */
static bool add(struct uk_schedule *s, const struct uk_draft_name *d, const char *why, bool *failed) {
    const bool many = count(s->refused, d->stage) >= MOST_OF_STAGE;
    struct uk_refused *r;

    if (uk_refusal(s, d->stage, d->name))
        return false;
    if (!(r = uk_alloc(s->arena, sizeof *r))) {
        *failed = true;
        return false;
    }
    *r = (struct uk_refused){.draft = *d, .why = why, .next = s->refused};
    r->draft.name = many ? UK_DRAFT_AS_WRITTEN : d->name;
    s->refused = r;
    return true;
}

/* The recorded message without the position of the error. */
static const char *reason(struct uk_schedule *s) {
    static const char mark[] = "error: ";
    const char *text = uk_context_message(s->context), *at = strstr(text, mark);
    char *line = uk_strdup(s->arena, at ? at + sizeof mark - 1 : text);

    for (char *c = line; c && *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    return line;
}

/* True if the status is a refusal with a message, not a lack of memory or an internal error. */
static bool is_refusal(const struct uk_schedule *s, enum uk_status status) {
    return (status == UK_REFUSED || status == UK_UNSUPPORTED || status == UK_NO_MATCH || status == UK_LINK) &&
           !s->arena->failed && !s->context->arena.failed && s->context->message;
}

/* Lists the drafts of all stages as refused. */
static bool add_all(struct uk_schedule *s, const char *why, bool *failed) {
    bool any = false;

    for (const struct uk_stage *st = s->stages; st; st = st->next)
        any |= st->draft && add(s, st->draft, why, failed);
    return any;
}

/* Lists the drafts of all stages that kernels compute, except copies, which belong to their readers' drafts.
 */
static bool add_kernels(struct uk_schedule *s, const char *why, bool *failed) {
    bool any = false;

    for (const struct uk_stage *st = s->stages; st && !*failed; st = st->next) {
        const struct uk_draft_name *d = st->match && !st->is_copy ? draft_of(st) : NULL;
        const char *kernel = d ? st->match->intrinsic->name : NULL,
                   *text = d && !strstr(d->name, kernel) ? uk_format(s->arena, "%s: %s", kernel, why) : why;

        *failed |= !text;
        any |= d && text && add(s, d, text, failed);
    }
    return any;
}

static bool is_last(const struct uk_schedule *s, enum uk_status status) {
    return !s->is_automatic || s->as_written || !is_refusal(s, status);
}

/* Prepares the next schedule, after the refused drafts were listed; without any draft left to refuse, it has
 * no steps. */
static bool follow(struct uk_schedule *s, bool any, bool failed) {
    if (failed)
        return false;
    s->as_written = !any || count(s->refused, NULL) > MOST_TRIES;
    uk_context_forget(s->context);
    return true;
}

bool uk_refuse_draft(struct uk_schedule *s, enum uk_status status) {
    const struct uk_draft_name *d = s->at ? draft_of(s->at) : NULL;
    bool failed = false;

    if (is_last(s, status) || s->is_final)
        return false;
    const char *why = reason(s);
    const bool any = why && (d ? add(s, d, why, &failed) : add_all(s, why, &failed));
    return follow(s, any, failed || !why);
}

bool uk_refuse_draft_code(struct uk_schedule *s, enum uk_status status) {
    bool failed = false;

    if (is_last(s, status))
        return false;
    const char *why = reason(s);
    const bool any = why && (add_kernels(s, why, &failed) || add_all(s, why, &failed));
    return follow(s, any, failed || !why);
}

void uk_report_refused(const struct uk_schedule *s) {
    for (const struct uk_refused *r = s->refused; r && s->report; r = r->next)
        uk_put(s->report, "stage %s: %s was refused: %s\n", r->draft.stage, r->draft.name, r->why);
}
