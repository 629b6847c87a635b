/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for a nest that no kernel computes: both sides of the difference, and a step that would remove
 * it. */
#include <string.h>
#include "attempt.h"

const char *uk_poly_text(struct uk_attempt *t, const struct uk_poly *p) {
    struct uk_text text = {0};

    if (p->terms < 0)
        return "not a constant";
    const struct uk_index *e = uk_poly_index(t->s->arena, p);
    if (e)
        uk_print_index(&text, e);
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

/* The advice for a packed operand of which the kernel reads no panels. */
static const char *unpack_step(const struct uk_attempt *t, const struct uk_tensor *x) {
    const struct uk_stage *c = copy_of(t, x);
    const char *text =
        c ? uk_format(t->s->arena, "leave out the pack of %s", c->operand[1].tensor->name) : "";

    return text ? text : "";
}

/* The text "split so that each thread has I == 8, J == 16" for a kernel that assumes constant extents; or
 * "". */
static const char *tile_step(struct uk_attempt *t) {
    const char *text = "";

    for (const struct uk_assume *a = t->k->declaration->assumes; a && text; a = a->next) {
        int64_t n;

        for (int v = 0; v < t->ks->left_iterators && text; v++)
            if (a->relation->op == UK_I_EQ && uk_index_equal(a->relation->a, t->ks->extent[v]) &&
                uk_index_is_int(a->relation->b, &n))
                text = uk_format(t->s->arena, "%s%s %s == %lld", text,
                                 *text ? "," : "split so that each thread has", a->relation->a->var->name,
                                 (long long)n);
    }
    return text ? text : "";
}

bool uk_match_differ_in_step(struct uk_attempt *t, const struct uk_pair *p, int axis, const struct uk_loop *l,
                             const struct uk_poly *want, const struct uk_poly *have, const char *step) {
    const struct uk_tensor *x = t->view->operand[p->operand].tensor;

    if (have->terms < 0 && !*step && t->divisor[axis]) {
        const char *text =
            uk_format(t->s->arena, "split %s by multiples of %lld",
                      t->st->statement->iterator[l->iterator]->name, (long long)t->divisor[axis]);
        step = text ? text : "";
    }
    if (!*step)
        step = x->scope == UK_SCOPE_REGISTER ? tile_step(t) : uk_shared_step(t, p);
    if (have->terms < 0)
        return uk_record_difference(t, "%s: its index is not linear in the loops from %s inwards%s%s",
                                    x->name, t->st->loop[t->tile]->var->name, *step ? "; " : "", step);
    return uk_record_difference(t, "%s: coefficient of %s (loop %s) is %s in %s, but %s here%s%s", x->name,
                                t->ks->iterator[axis]->name, l->var->name, uk_poly_text(t, want), t->k->name,
                                uk_poly_text(t, have), *step ? "; " : "", step);
}

/* ---- groups in shared memory ---- */

/* The source's dimension that loop l moves along in the copy, operand o; -1: none. */
static int copied_dimension(const struct uk_stage *c, const struct uk_operand *o, const struct uk_loop *l) {
    const struct uk_buffer_layout *layout = &c->copied->layout;
    const int slots = o->tensor->stored_dims - layout->stored;

    for (int k = 0; l && k < layout->stored; k++) {
        const struct uk_affine *f = &o->index[slots + k];

        if (f->coefficient[l->id] || (f->general && uk_mentions(f->general, l->var)))
            return layout->digit[k].dim;
    }
    return -1;
}

/* Puts a layout such as (m, k) -> [k, m / 4 % 2, m / 8, m % 4], here for extent 8 and group 4. It divides
 * each thread's `extent` elements along dimension d into groups, and puts the groups of the same number of
 * all threads next to each other. */
static void put_groups(struct uk_text *t, const struct uk_access *a, int dims, int d, int64_t group,
                       int64_t extent) {
    const char *before = "(";
    const char *name[UK_MAX_DIMS];

    for (int i = 0; i < dims; i++) {
        static const char *const other[UK_MAX_DIMS] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"};

        name[i] = a->index[i]->op == UK_I_VAR ? a->index[i]->var->name : other[i];
        uk_put(t, "%s%s", before, name[i]);
        before = ", ";
    }
    before = ") -> [";
    for (int i = 0; i < dims; i++)
        if (i != d) {
            uk_put(t, "%s%s", before, name[i]);
            before = ", ";
        }
    if (extent > group)
        uk_put(t, "%s%s / %lld %% %lld", before, name[d], (long long)group, (long long)(extent / group));
    uk_put(t, "%s%s / %lld, %s %% %lld]", extent > group ? ", " : before, name[d], (long long)extent, name[d],
           (long long)group);
}

const char *uk_shared_step(struct uk_attempt *t, const struct uk_pair *p) {
    const struct uk_operand *o = &t->st->operand[p->operand];
    const struct uk_stage *c = o->tensor->scope == UK_SCOPE_SHARED ? copy_of(t, o->tensor) : NULL;
    struct uk_text text = {0};
    const char *step = NULL;

    for (int a = 0; a < t->ks->iterators && c && !step; a++) {
        const struct uk_poly one = uk_coefficient(&t->declared->operand[p->declared], t->ks->iterators + a);
        const struct uk_loop *l = NULL;
        int64_t unit, n = -1;

        for (int i = t->tile; i < t->st->loops && n < 0; i++)
            if (uk_is_reduced(t->st, t->st->loop[i]) == (a >= t->ks->left_iterators) &&
                uk_depends(o, t->st->loop[i])) {
                l = t->st->loop[i];
                n = uk_constant_extent(t->st, l);
            }
        const int d = copied_dimension(c, o, l);
        if (!t->divisor[a] || !uk_poly_is_int(&one, &unit) || unit != 1 || n % t->divisor[a] || d < 0 ||
            c->operand[1].tensor->dims > UK_MAX_DIMS - 2)
            continue;
        put_groups(&text, &o->expr->access, c->operand[1].tensor->dims, d, t->divisor[a], n);
        step = uk_format(t->s->arena, "cache_read %s at %s in shared layout %s", c->operand[1].tensor->name,
                         c->loop[c->prefix - 1]->var->name, text.text ? text.text : "?");
    }
    uk_text_free(text.text);
    return step ? step : "";
}

/* ---- where to pack ---- */

/* True if the part of the operand that is accessed inside the first `prefix` loops is a box: in every index,
 * the inner loops have smaller coefficients than the prefix loops. */
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

/* The loop at which to pack: the innermost one outside the tile along which the operand moves; NULL: at
 * root. */
static const struct uk_loop *place_of(const struct uk_attempt *t, const struct uk_operand *o) {
    for (int i = t->tile - 1; i >= 0; i--)
        if (uk_steps_along(o, t->st->loop[i]) && is_box_inside(t->st, o, i + 1))
            return t->st->loop[i];
    return NULL;
}

/* The text " along d" if the step pack would not choose the lane's dimension d by itself; else "". */
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

/* The advice for a packed operand whose panels do not have the kernel's width. */
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

/* The tensor's dimension along which the loop moves; -1: none. */
static int dimension_of(const struct uk_operand *o, const struct uk_loop *l) {
    for (int d = 0; l && d < o->tensor->stored_dims; d++)
        if (o->index[d].coefficient[l->id])
            return d;
    return -1;
}

/* The only iterator that occurs in the dimension's index; -1: none, or several. */
static int iterator_of(const struct uk_attempt *t, const struct uk_operand *o, int d) {
    int found = -1;

    for (int i = 0; i < t->st->loops; i++) {
        const struct uk_loop *l = t->st->loop[i];

        if (!o->index[d].coefficient[l->id] || l->iterator == found)
            continue;
        if (found >= 0)
            return -1;
        found = l->iterator;
    }
    return found;
}

/* A dimension's name in a map: its iterator's, if no other dimension has that one. */
static const char *dimension_name(const struct uk_attempt *t, const struct uk_operand *o, int d) {
    static const char *const name[UK_MAX_DIMS] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"};
    int i = iterator_of(t, o, d);

    for (int other = 0; i >= 0 && other < o->tensor->stored_dims; other++)
        if (other != d && iterator_of(t, o, other) == i)
            i = -1;
    return i < 0 ? name[d] : t->st->statement->iterator[i]->name;
}

/* The layout's map splits two of the tensor's dimensions, so it has two more; UK_MAX_DIMS limits them. */
bool uk_may_group(const struct uk_attempt *t, const struct uk_operand *o, const struct uk_panel *p) {
    const int lane = dimension_of(o, t->m.axis[p->lane]), of = dimension_of(o, t->m.axis[p->of]);

    return o->tensor->kind != UK_TENSOR_PACKED && lane >= 0 && of >= 0 && lane != of &&
           o->tensor->stored_dims + 2 <= UK_MAX_DIMS;
}

struct uk_map *uk_group_layout(struct uk_attempt *t, int operand, const struct uk_panel *p) {
    struct uk_arena *a = t->s->arena;
    const struct uk_operand *o = &t->st->operand[operand];
    const int lane = dimension_of(o, t->m.axis[p->lane]), of = dimension_of(o, t->m.axis[p->of]);
    struct uk_map *m = uk_alloc(a, sizeof *m);
    struct uk_var *v = uk_alloc(a, sizeof *v * UK_MAX_DIMS);
    struct uk_index *width = uk_index_int(a, p->width), *group = uk_index_int(a, p->group);
    const int dims = o->tensor->stored_dims;

    if (!m || !v)
        return NULL;
    m->from_count = dims;
    for (int d = 0; d < dims; d++) {
        v[d] = (struct uk_var){.name = dimension_name(t, o, d), .kind = UK_VAR_ITERATOR, .number = d};
        m->from[d] = &v[d];
    }
    m->to[m->to_count++] = uk_index_op(a, UK_I_DIV, uk_index_var(a, &v[lane]), width);
    for (int d = 0; d < dims; d++)
        if (d != lane && d != of)
            m->to[m->to_count++] = uk_index_var(a, &v[d]);
    m->to[m->to_count++] = uk_index_op(a, UK_I_DIV, uk_index_var(a, &v[of]), group);
    m->to[m->to_count++] = uk_index_op(a, UK_I_MOD, uk_index_var(a, &v[lane]), width);
    m->to[m->to_count++] = uk_index_op(a, UK_I_MOD, uk_index_var(a, &v[of]), group);
    for (int d = 0; d < m->to_count; d++)
        if (!m->to[d])
            return NULL;
    return m;
}

static const char *pack_step(struct uk_attempt *t, int operand, const struct uk_panel *p) {
    const struct uk_operand *o = &t->st->operand[operand];
    const struct uk_loop *place = place_of(t, o), *lane = t->m.axis[p->lane];
    const char *at = place ? place->var->name : "root";

    if (!p->group) {
        const char *which = along(t, o, lane);

        return which ? uk_format(t->s->arena, "pack %s at %s panel %lld%s", o->tensor->name, at,
                                 (long long)p->width, which)
                     : NULL;
    }
    const struct uk_map *map = uk_group_layout(t, operand, p);
    struct uk_text text = {0};
    if (map)
        uk_print_map(&text, map);
    const char *step =
        text.text ? uk_format(t->s->arena, "pack %s at %s layout %s", o->tensor->name, at, text.text) : NULL;
    uk_text_free(text.text);
    return step;
}

const char *uk_pack_step(struct uk_attempt *t, int operand, const struct uk_panel *p) {
    const struct uk_operand *o = &t->st->operand[operand];
    const char *text;

    if (o->tensor->layout || t->st->is_copy)
        return "";
    if (p->width == UK_UNPACK)
        text = unpack_step(t, o->tensor);
    else if (!t->m.axis[p->lane] || (p->group && !uk_may_group(t, o, p)))
        text = "";
    else
        text = o->tensor->kind == UK_TENSOR_PACKED ? repack(t, o, p->width, t->m.axis[p->lane])
                                                   : pack_step(t, operand, p);
    return text ? text : "";
}

/* ---- the first difference ---- */

static bool differs(struct uk_attempt *t, const struct uk_pair *p, const char *steps) {
    for (int a = 0; a < t->ks->iterators; a++) {
        const struct uk_loop *l = t->divisor[a] ? t->quotient[a] : t->m.axis[a];

        if (!t->m.axis[a])
            continue;
        struct uk_poly want = uk_coefficient(&t->declared->operand[p->declared], a);
        struct uk_poly have = uk_match_step(&t->view->operand[p->operand], l);

        want = uk_match_bound(t, &want);
        if (have.terms >= 0 && uk_poly_equal(&want, &have))
            continue;
        uk_match_differ_in_step(t, p, a, t->m.axis[a], &want, &have, steps);
        return true;
    }
    return false;
}

void uk_match_advise(struct uk_attempt *t) {
    const char *steps = "";

    for (int i = 0; i < t->pairs; i++) {
        int o = t->pair[i].operand;

        if (!t->fit->panel[o].width)
            continue;
        const char *step = uk_pack_step(t, o, &t->fit->panel[o]);
        const char *both = *steps ? uk_format(t->s->arena, "%s, and %s", steps, step) : step;

        steps = both ? both : steps;
    }
    for (int i = 0; i < t->pairs; i++)
        if (t->fit->panel[t->pair[i].operand].width && differs(t, &t->pair[i], steps))
            return;
}
