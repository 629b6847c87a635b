/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of a program that only isl can check, in addition to those of the language; every use of a program
 * begins with them. */
#include "polyhedra.h"

/* Layouts made of matching quotients and remainders need no proof. */
static enum uk_status check_layouts(struct uk_schedule *s) {
    for (const struct uk_tensor *t = s->program->tensors; t; t = t->next) {
        struct uk_buffer_layout digits;
        enum uk_status status;

        if (!t->layout || !uk_layout_of_map(t->layout, &digits))
            continue;
        const char *shared = uk_shared_place(s, t->name, t->layout, t->shape);

        if (shared)
            return uk_fail(s->context, UK_REFUSED, t->at,
                           "the layout of %s is not one to one: %s; give each element a place of its own, as "
                           "(i) -> [i / 4, i %% 4] does",
                           t->name, shared);
        if ((status = uk_isl_status(s)))
            return status;
    }
    return UK_OK;
}

/* Checks one program. Afterwards its sizes are in no scope, so that the next problem begins from scratch. */
static enum uk_status check_program(struct uk_program *p) {
    struct uk_arena arena = {0};
    struct uk_schedule s = {.program = p, .context = p->context, .arena = &arena};
    enum uk_status status = check_layouts(&s);

    if (!status)
        status = uk_check_written(&s);
    if (!status)
        status = uk_check_version_sizes(&s);
    if (!status && arena.failed)
        status = uk_out_of_memory(p->context);
    for (struct uk_var *v = p->sizes; v; v = v->next)
        v->scope = 0;
    uk_arena_free(&arena);
    return status;
}

enum uk_status uk_program_check(struct uk_program *p) {
    enum uk_status status = uk_check_rules(p);

    if (status || p->is_checked_for_sizes)
        return status;
    for (const struct uk_intrinsic *i = p->intrinsics; i && !status; i = i->next)
        status = check_program(i->declaration);
    if (!status)
        status = check_program(p);
    p->is_checked_for_sizes = !status;
    return status;
}
