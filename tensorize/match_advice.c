/* What to say when a nest is no kernel: both sides, and a step that brings them together. */
#include <string.h>
#include "match.h"

const char *uk_poly_text(struct uk_attempt *t, const struct uk_poly *p) {
    struct uk_text text = {0};

    if (p->terms < 0)
        return "not a constant";
    uk_print_index(&text, uk_poly_index(t->s->arena, p));
    const char *copy = text.text ? uk_strdup(t->s->arena, text.text) : NULL;
    uk_text_free(text.text);
    return copy ? copy : "?";
}

static const struct uk_stage *copy_of(const struct uk_attempt *t, const struct uk_tensor *x) {
    const struct uk_stage *c = t->s->stages;

    while (c && !(c->is_copy && c->operand[0].tensor == x && c->operands > 1))
        c = c->next;
    return c;
}

/* The kernel reads no panels there. */
static const char *unpack_step(const struct uk_attempt *t, const struct uk_tensor *x) {
    const struct uk_stage *c = copy_of(t, x);
    const char *text =
        c ? uk_format(t->s->arena, "leave out the pack of %s", c->operand[1].tensor->name) : "";

    return text ? text : "";
}

bool uk_match_other_step(struct uk_attempt *t, const struct uk_pair *p, const char *axis,
                         const struct uk_loop *l, const struct uk_poly *want, const struct uk_poly *have,
                         const char *step) {
    const struct uk_tensor *x = t->view->operand[p->operand].tensor;

    if (have->terms < 0)
        return uk_differ(t, "%s: its index is not a sum of the loops from %s on%s%s", x->name,
                         t->st->loop[t->tile]->var->name, *step ? "; " : "", step);
    return uk_differ(t, "%s: coefficient of %s (loop %s) is %s in %s, but %s here%s%s", x->name, axis,
                     l->var->name, uk_poly_text(t, want), t->k->name, uk_poly_text(t, have),
                     *step ? "; " : "", step);
}

/* ---- where to pack ---- */

static bool steps_along(const struct uk_operand *o, const struct uk_loop *l) {
    for (int d = 0; d < o->tensor->stored_dims; d++)
        if (o->index[d].coefficient[l->id])
            return true;
    return false;
}

/* Inside the first `prefix` loops, the operand's part is a box: every index has its fine steps there. */
static bool is_box_inside(const struct uk_stage *st, const struct uk_operand *o, int prefix) {
    for (int d = 0; d < o->tensor->stored_dims; d++) {
        int64_t coarsest = 0, finest = INT64_MAX;

        for (int i = 0; i < st->loops; i++) {
            int64_t c = o->index[d].coefficient[st->loop[i]->id];

            if (c && i < prefix && c < finest)
                finest = c;
            if (i >= prefix && c > coarsest)
                coarsest = c;
        }
        if (coarsest >= finest)
            return false;
    }
    return true;
}

/* The innermost loop outside of the tile with which the operand changes, NULL: root. */
static const struct uk_loop *place_of(const struct uk_attempt *t, const struct uk_operand *o) {
    for (int i = t->tile - 1; i >= 0; i--)
        if (steps_along(o, t->st->loop[i]) && is_box_inside(t->st, o, i + 1))
            return t->st->loop[i];
    return NULL;
}

/* " along d", where pack would not find the lane's dimension by itself. */
static const char *along(struct uk_attempt *t, const struct uk_operand *o, const struct uk_loop *lane) {
    int candidates = 0, want = -1;

    for (int d = 0; d < o->tensor->stored_dims; d++) {
        bool reduced = false;

        for (int i = 0; i < t->st->loops; i++)
            reduced |= o->index[d].coefficient[t->st->loop[i]->id] && uk_is_reduced(t->st, t->st->loop[i]);
        candidates += !reduced;
        if (o->index[d].coefficient[lane->id])
            want = reduced ? -2 : d;
        if (want == -2)
            return uk_format(t->s->arena, " along %d", d);
    }
    return candidates > 1 ? uk_format(t->s->arena, " along %d", want) : "";
}

static const char *repack(struct uk_attempt *t, const struct uk_operand *o, int64_t width,
                          const struct uk_loop *lane) {
    const struct uk_stage *c = copy_of(t, o->tensor);
    int64_t w;

    if (!c)
        return "";
    const char *place = c->prefix ? c->loop[c->prefix - 1]->var->name : "root";
    if (!uk_index_is_int(uk_stored_extent(o->tensor, o->tensor->stored_dims - 1), &w) || w == width)
        return uk_format(t->s->arena, "split so that %s has at most %lld values", lane->var->name,
                         (long long)width);
    return uk_format(t->s->arena, "pack %s at %s panel %lld, not %lld", c->operand[1].tensor->name, place,
                     (long long)width, (long long)w);
}

const char *uk_pack_step(struct uk_attempt *t, int operand, int64_t width, const struct uk_loop *lane) {
    const struct uk_operand *o = &t->st->operand[operand];
    const char *text;

    if ((!lane && width != UK_UNPACK) || o->tensor->layout || t->st->is_copy)
        return "";
    if (o->tensor->kind == UK_TENSOR_PACKED) {
        text = width == UK_UNPACK ? unpack_step(t, o->tensor) : repack(t, o, width, lane);
    } else {
        const struct uk_loop *place = place_of(t, o);
        const char *which = along(t, o, lane);

        text = which ? uk_format(t->s->arena, "pack %s at %s panel %lld%s", o->tensor->name,
                                 place ? place->var->name : "root", (long long)width, which)
                     : NULL;
    }
    return text ? text : "";
}

/* ---- the first difference ---- */

static bool differs(struct uk_attempt *t, const struct uk_pair *p, const char *steps) {
    for (int a = 0; a < t->ks->iterators; a++) {
        if (!t->m.axis[a] || t->divisor[a])
            continue;
        struct uk_poly want = uk_coefficient(&t->declared->operand[p->declared], a);
        struct uk_poly have = uk_match_step(&t->view->operand[p->operand], t->m.axis[a]);

        want = uk_match_bound(t, &want);
        if (have.terms >= 0 && uk_poly_equal(&want, &have))
            continue;
        uk_match_other_step(t, p, t->ks->iterator[a]->name, t->m.axis[a], &want, &have, steps);
        return true;
    }
    return false;
}

void uk_match_advise(struct uk_attempt *t) {
    const char *steps = "";

    for (int i = 0; i < t->pairs; i++) {
        int o = t->pair[i].operand, lane = t->fit->panel[o].lane;

        if (!t->fit->panel[o].width)
            continue;
        const char *step = uk_pack_step(t, o, t->fit->panel[o].width, lane < 0 ? NULL : t->m.axis[lane]);
        const char *both = *steps ? uk_format(t->s->arena, "%s, and %s", steps, step) : step;

        steps = both ? both : steps;
    }
    for (int i = 0; i < t->pairs; i++)
        if (t->fit->panel[t->pair[i].operand].width && differs(t, &t->pair[i], steps))
            return;
}
