/* SPDX-License-Identifier: Apache-2.0 */
/* A program's sticky failure: the first one, with its message. */
#include <stdarg.h>
#include <stdio.h>
#include "language.h"

/* Position for a call that makes a part of a later statement. */
static struct uk_position next_statement(const struct uk_program *p) {
    int number = 1;

    for (const struct uk_statement *s = p->statements; s; s = s->next)
        number++;
    return (struct uk_position){-number, UK_ITEM_NEXT};
}

void uk_program_keep_failure(struct uk_program *p, enum uk_status status) {
    const char *message = p->context->message;

    p->status = status;
    p->failure = message ? uk_strdup(&p->arena, message) : NULL;
}

void *uk_program_fail(struct uk_program *p, enum uk_status status, struct uk_position at, const char *format,
                      ...) {
    char stack[512], *what = stack;
    va_list ap;

    if (!uk_may_build(p))
        return NULL;
    uk_context_enter(p->context, p->file);
    va_start(ap, format);
    int n = vsnprintf(stack, sizeof stack, format, ap);
    va_end(ap);
    if (n >= (int)sizeof stack && (what = uk_alloc(&p->arena, (size_t)n + 1))) {
        va_start(ap, format);
        vsnprintf(what, (size_t)n + 1, format, ap);
        va_end(ap);
    }
    if (!at.line)
        at = p->at.line ? p->at : next_statement(p);
    uk_fail(p->context, status, at, "%s", what ? what : stack);
    uk_program_keep_failure(p, status);
    return NULL;
}

void *uk_program_check_memory(struct uk_program *p, void *made) {
    if (uk_may_build(p) && !made) {
        uk_context_enter(p->context, p->file);
        uk_program_keep_failure(p, uk_out_of_memory(p->context));
    }
    if (!uk_may_build(p))
        return NULL;
    p->is_checked = false;
    return made;
}

bool uk_is_own(struct uk_program *p, const char *what, const void *handle) {
    if (uk_arena_has(&p->arena, handle))
        return true;
    uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                    "%s is another program's, or of none; pass what the builders return for this program",
                    what);
    return false;
}
