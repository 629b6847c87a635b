/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands in shared memory and in registers. The memory scope of each operand must be the declared one. Each
 * thread calls the kernel by itself: in registers it sees only its own part of a buffer, and inside a block
 * every tile is full.
 */
#include <string.h>
#include "attempt.h"

static const char *const places[] = {[UK_SCOPE_GLOBAL] = "global memory",
                                     [UK_SCOPE_SHARED] = "shared memory",
                                     [UK_SCOPE_REGISTER] = "registers"};

/* The name of the innermost loop outside the tile that is not over threads or, with `blocks`, that is over
 * blocks; NULL: there is none. */
static const char *place_outside(const struct uk_attempt *t, bool blocks) {
    for (int i = t->tile; i-- > 0;) {
        const struct uk_loop *l = t->st->loop[i];

        if (blocks ? l->kind == UK_LOOP_BLOCK : l->kind != UK_LOOP_THREAD)
            return l->var->name;
    }
    return NULL;
}

/* The advice that would put the operand into the memory scope of `want`, or "". */
static const char *scope_step(struct uk_attempt *t, int operand, const struct uk_tensor *want) {
    const struct uk_tensor *x = t->st->operand[operand].tensor;
    const char *at = place_outside(t, want->scope == UK_SCOPE_REGISTER && !operand), *step = NULL;

    if (want->scope == UK_SCOPE_GLOBAL)
        step = uk_format(t->s->arena, "; leave that buffer out, or declare %s `in %s`", want->name,
                         x->scope == UK_SCOPE_SHARED ? "shared" : "register");
    else if (at && x->scope == UK_SCOPE_GLOBAL)
        step = uk_format(t->s->arena, "; put `cache_%s %s at %s in %s` before this step",
                         operand ? "read" : "write", x->name, at,
                         want->scope == UK_SCOPE_SHARED ? "shared" : "register");
    return step ? step : "";
}

bool uk_match_scope(struct uk_attempt *t, const struct uk_tensor *want, int operand) {
    const struct uk_tensor *x = t->st->operand[operand].tensor;

    return want->scope == x->scope ||
           uk_record_difference(t, "%s is in %s, but %s of the kernel is in %s%s", x->name, places[x->scope],
                                want->name, places[want->scope], scope_step(t, operand, want));
}

/* ---- the stage as a thread sees it ---- */

static bool has_local(const struct uk_stage *st) {
    for (int o = 0; o < st->operands; o++)
        if (st->operand[o].tensor->scope != UK_SCOPE_GLOBAL)
            return true;
    return false;
}

enum uk_status uk_match_as_thread(struct uk_schedule *s, struct uk_stage *st, struct uk_stage **kept) {
    *kept = NULL;
    if (!has_local(st))
        return UK_OK;
    if (!(*kept = uk_alloc(s->arena, sizeof **kept)))
        return uk_out_of_memory(s->context);
    **kept = *st;
    uk_fill_stage(s, st);
    for (int o = 0; o < st->operands; o++)
        if (st->operand[o].tensor->scope == UK_SCOPE_REGISTER && !uk_thread_part(s, st, &st->operand[o])) {
            *st = **kept;
            return uk_failure(s->context);
        }
    return UK_OK;
}

enum uk_status uk_match_locals(struct uk_schedule *s) {
    enum uk_status status = UK_OK;
    struct uk_text why = {0};

    for (struct uk_stage *st = s->stages; st && !status; st = st->next) {
        struct uk_match *m;

        if (!st->match || !has_local(st))
            continue;
        status = uk_match(s, st, st->tile, st->match->intrinsic, &m, &why);
        if (status == UK_NO_MATCH)
            status = uk_fail(
                s->context, UK_REFUSED, st->match->step,
                "tensorize %s.%s: after the steps that follow, %s does not compute this nest: %s", st->name,
                st->loop[st->tile]->var->name, st->match->intrinsic->name, why.text ? why.text : "?");
        else if (!status) {
            m->step = st->match->step;
            uk_set_match(st, m);
        }
    }
    uk_text_free(why.text);
    return status;
}
