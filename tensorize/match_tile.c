/* What must hold for every tile of a match: it is a box the kernel takes, in memory that it may read. */
#include <string.h>
#include "match.h"

static bool is_box(struct uk_attempt *t, const struct uk_bound *bound, int bounds) {
    for (int b = 0; b < bounds; b++) {
        const struct uk_loop *first = NULL;

        for (int i = t->tile; i < t->st->loops; i++) {
            if (!bound[b].form.coefficient[t->st->loop[i]->id])
                continue;
            if (first)
                return uk_differ(t, "the tile is not a box: how far %s runs depends on %s; split further",
                                 t->st->loop[i]->var->name, first->var->name);
            first = t->st->loop[i];
        }
    }
    return true;
}

static void outer_values(const struct uk_attempt *t, struct uk_index **value) {
    for (int i = 0; i < t->tile; i++)
        value[t->st->loop[i]->id] = uk_index_var(t->s->arena, t->st->loop[i]->var);
}

struct uk_index *uk_tile_extent(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                                struct uk_index *const *value) {
    struct uk_index *end = uk_extent(s, st, l, value);

    return end && uk_starts_late(st, l) ? uk_index_op(s->arena, UK_I_SUB, end, uk_first(s, st, l, value))
                                        : end;
}

struct uk_index *uk_match_size(struct uk_schedule *s, const struct uk_stage *st, const struct uk_match *m,
                               int size, struct uk_index *const *value) {
    int axis = m->size[size].axis;

    switch (m->size[size].role) {
    case UK_SIZE_STRIDE:
        return uk_poly_index(s->arena, &m->size[size].value);
    case UK_SIZE_EXTENT:
        return uk_tile_extent(s, st, m->axis[axis], value);
    default: {
        const struct uk_operand *o = &st->operand[m->size[size].operand];
        struct uk_index *all = uk_extent(s, st, m->axis[axis], value);
        struct uk_index *valid = uk_extent_within(s, st, o->within, o->valid, m->axis[axis], value);

        return valid && all ? uk_index_op(s->arena, UK_I_MIN, all, valid) : all;
    }
    }
}

/* Which axis a size of the declaration is the extent of, if any: the range of an iterator, or of an index
 * under pad. */
bool uk_match_roles(struct uk_attempt *t) {
    for (const struct uk_var *v = t->k->declaration->sizes; v; v = v->next) {
        t->m.size[v->number].role = UK_SIZE_STRIDE;
        for (int a = 0; a < t->ks->iterators; a++)
            if (t->ks->extent[a]->op == UK_I_VAR && t->ks->extent[a]->var == v) {
                t->m.size[v->number].role = UK_SIZE_EXTENT;
                t->m.size[v->number].axis = a;
            }
        for (int n = 0; n < t->m.tensors && t->m.size[v->number].role == UK_SIZE_STRIDE; n++)
            for (int d = 0; t->padded[n] && d < t->access[n]->tensor->dims; d++)
                for (int a = 0; a < t->ks->iterators; a++) {
                    const struct uk_index *extent = t->access[n]->tensor->shape[d],
                                          *x = t->access[n]->index[d];

                    if (extent->op == UK_I_VAR && extent->var == v && x->op == UK_I_VAR &&
                        x->var == t->ks->iterator[a]) {
                        t->m.size[v->number].role = UK_SIZE_VALID;
                        t->m.size[v->number].axis = a;
                        t->m.size[v->number].operand = t->m.operand[n];
                    }
                }
        if (t->m.size[v->number].role == UK_SIZE_STRIDE && !t->m.size[v->number].bound)
            return uk_differ(t, "nothing here tells the kernel's size %s", v->name);
    }
    return true;
}

static bool check_extents(struct uk_attempt *t) {
    struct uk_index *value[UK_MAX_LOOPS] = {0};
    struct uk_arena *a = t->s->arena;

    outer_values(t, value);
    for (int v = 0; v < t->ks->iterators; v++) {
        struct uk_index *e = uk_tile_extent(t->s, t->st, t->m.axis[v], value);
        int64_t c;

        if (!e)
            return uk_differ(t, "nothing bounds the loop %s", t->m.axis[v]->var->name);
        if (!uk_index_is_int(t->ks->extent[v], &t->m.fixed[v]))
            continue;
        t->m.always[v] = uk_index_is_int(e, &c)
                             ? c == t->m.fixed[v]
                             : uk_proves(t->s, t->st, t->tile, uk_index_op(a, UK_I_EQ, e, t->ks->extent[v]));
        int64_t most = uk_constant_extent(t->st, t->m.axis[v]);
        if (!t->m.always[v] && most != t->m.fixed[v])
            return uk_differ(t, "%s takes exactly %lld along %s, the loop %s has %s%.0lld; split it by %lld",
                             t->k->name, (long long)t->m.fixed[v], t->ks->iterator[v]->name,
                             t->m.axis[v]->var->name, most < 0 ? "no constant extent" : "at most ",
                             most < 0 ? 0LL : (long long)most, (long long)t->m.fixed[v]);
        t->m.partial |= !t->m.always[v];
    }
    return true;
}

/* min(.., c', ..) - max(0, ..) <= c, seen without isl */
static bool least_is_at_most(const struct uk_index *e, int64_t c) {
    int64_t n;

    if (uk_index_is_int(e, &n))
        return n <= c;
    if (e->op == UK_I_SUB && e->b->op == UK_I_MAX && uk_index_is_int(e->b->a, &n) && n >= 0)
        return least_is_at_most(e->a, c);
    return e->op == UK_I_MIN && (least_is_at_most(e->a, c) || least_is_at_most(e->b, c));
}

static struct uk_index *bind_sizes(struct uk_attempt *t, const struct uk_index *e,
                                   struct uk_index *const *value) {
    struct uk_index *r = (struct uk_index *)e;

    for (const struct uk_var *v = t->k->declaration->sizes; v && r; v = v->next) {
        struct uk_index *x = uk_match_size(t->s, t->st, &t->m, v->number, value);

        r = x ? uk_substitute(t->s->arena, r, v, x) : NULL;
    }
    return r;
}

/* The size that a relation `1 <= I` or `I >= 1` is about, if it is the extent of a loop: every tile has an
 * instance. */
static bool is_trivial(const struct uk_attempt *t, const struct uk_index *r, bool *of_sum) {
    const struct uk_index *v = r->op == UK_I_LE ? r->b : r->op == UK_I_GE ? r->a : NULL;
    const struct uk_index *one = r->op == UK_I_LE ? r->a : r->b;
    int64_t c;

    if (!v || v->op != UK_I_VAR || !uk_index_is_int(one, &c) || c > 1 ||
        t->m.size[v->var->number].role != UK_SIZE_EXTENT)
        return false;
    *of_sum = t->m.size[v->var->number].axis >= t->ks->left_iterators;
    return true;
}

static bool check_assumptions(struct uk_attempt *t) {
    struct uk_index *value[UK_MAX_LOOPS] = {0};

    outer_values(t, value);
    for (const struct uk_assume *a = t->k->declaration->assumes; a; a = a->next) {
        bool of_sum = false;
        int64_t c;

        if (is_trivial(t, a->relation, &of_sum)) {
            t->m.first &= !of_sum; /* an empty sum would be a call with 0 */
            continue;
        }
        struct uk_index *r = bind_sizes(t, a->relation, value);
        if (!r)
            return false;
        if (r->op == UK_I_LE && uk_index_is_int(r->b, &c) && least_is_at_most(r->a, c))
            continue;
        if (uk_proves(t->s, t->st, t->tile, r))
            continue;
        struct uk_text want = {0}, have = {0};
        uk_print_index(&want, a->relation);
        uk_print_index(&have, r);
        uk_differ(t, "the kernel assumes %s, which is not so for every tile: %s", want.text ? want.text : "?",
                  have.text ? have.text : "?");
        uk_text_free(want.text);
        uk_text_free(have.text);
        return false;
    }
    return true;
}

/* What the kernel reads past the box must exist: the lanes of a packed panel. */
static bool check_over(struct uk_attempt *t, int tensor) {
    const struct uk_access *a = t->access[tensor];
    const struct uk_operand *o = &t->st->operand[t->m.operand[tensor]];

    for (int d = 0; a->tensor->has_over && d < a->tensor->dims; d++) {
        int64_t over, room;

        if (uk_index_equal(a->tensor->over[d], a->tensor->shape[d]) || a->index[d]->op != UK_I_VAR)
            continue;
        int axis = 0;
        while (axis < t->ks->iterators && t->ks->iterator[axis] != a->index[d]->var)
            axis++;
        if (axis < t->ks->iterators && t->m.axis[axis] && uk_starts_late(t->st, t->m.axis[axis]))
            return uk_differ(t, "%s: guards let tiles begin inside a panel of it, and %s reads whole panels",
                             o->tensor->name, t->k->name);
        if (axis == t->ks->iterators || !uk_index_is_int(a->tensor->over[d], &over))
            return uk_differ(t, "%s: `over` of the kernel is not a constant", o->tensor->name);
        for (int q = 0; q < o->tensor->stored_dims; q++) {
            const struct uk_affine *f = &o->index[q];
            int64_t c = f->coefficient[t->m.axis[axis]->id];
            bool alone = !f->rest;

            for (int i = 0; i < t->st->loops; i++)
                alone &= t->st->loop[i] == t->m.axis[axis] || !f->coefficient[t->st->loop[i]->id];
            if (c && (!alone || !uk_index_is_int(o->tensor->shape[q], &room) || c * (over - 1) >= room))
                return uk_differ(
                    t, "%s: %s reads %lld elements along %s whatever the tile; pack %s with panel %lld",
                    o->tensor->name, t->k->name, (long long)over, t->ks->iterator[axis]->name,
                    o->tensor->name, (long long)over);
        }
    }
    return true;
}

static int64_t common_divisor(int64_t a, int64_t b) {
    return b ? common_divisor(b, a % b) : a;
}

/* Is p * bytes a multiple of `of` for all sizes? A factor may be one by assumption. */
static bool is_multiple(struct uk_attempt *t, const struct uk_poly *p, int64_t bytes, int64_t of) {
    struct uk_arena *a = t->s->arena;

    for (int i = 0; i < p->terms; i++) {
        int64_t rest = p->term[i].factor % of * bytes % of;
        bool multiple = rest == 0;
        struct uk_index *need = uk_index_int(a, of / common_divisor(of, rest < 0 ? -rest : rest));

        for (int k = 0; k < p->term[i].atoms && !multiple; k++)
            multiple = uk_proves(
                t->s, t->st, t->tile,
                uk_index_op(a, UK_I_EQ, uk_index_op(a, UK_I_MOD, (struct uk_index *)p->term[i].atom[k], need),
                            uk_index_int(a, 0)));
        if (!multiple)
            return false;
    }
    return p->terms >= 0;
}

static bool check_alignment(struct uk_attempt *t, int tensor) {
    const struct uk_operand *o = &t->st->operand[t->m.operand[tensor]];
    int64_t want = t->access[tensor]->tensor->align, bytes = uk_type_bytes(o->tensor->type);
    bool aligned = want <= bytes || (o->tensor->align && o->tensor->align % want == 0);

    for (int i = 0; i < t->tile && want > bytes && aligned; i++) {
        struct uk_poly c = uk_coefficient(o, t->st->loop[i]->id);

        aligned = is_multiple(t, &c, bytes, want);
    }
    for (int v = 0; v < t->m.axes && want > bytes && aligned; v++) {
        struct uk_poly c = uk_coefficient(o, t->m.axis[v]->id);

        aligned = !uk_starts_late(t->st, t->m.axis[v]) || is_multiple(t, &c, bytes, want);
    }
    for (int d = 0; d < o->tensor->stored_dims && want > bytes && aligned; d++) {
        struct uk_poly rest = o->index[d].rest ? uk_poly_of(o->index[d].rest) : (struct uk_poly){0};
        struct uk_poly stride = uk_poly_of(o->tensor->stride[d]);

        rest = uk_poly_multiply(&rest, &stride);
        aligned = is_multiple(t, &rest, bytes, want);
    }
    return aligned ||
           uk_differ(
               t,
               "%s: cannot prove that every tile is aligned to %lld bytes; state `align %lld` and strides "
               "that keep it, or pack it",
               o->tensor->name, (long long)want, (long long)want);
}

/* ---- forms: C =, C +=, and where a sum begins ---- */

static const char *reduction_name(enum uk_reduce r) {
    static const char *const name[] = {[UK_REDUCE_NONE] = "no reduction",
                                       [UK_REDUCE_SUM] = "sum",
                                       [UK_REDUCE_PROD] = "prod",
                                       [UK_REDUCE_MAX] = "max",
                                       [UK_REDUCE_MIN] = "min"};

    return name[r];
}

static const char *assignment_name(enum uk_assign a) {
    static const char *const name[] = {[UK_ASSIGN] = "=",
                                       [UK_ASSIGN_ADD] = "+=",
                                       [UK_ASSIGN_MUL] = "*=",
                                       [UK_ASSIGN_MAX] = "max=",
                                       [UK_ASSIGN_MIN] = "min="};

    return name[a];
}

bool uk_match_forms(struct uk_attempt *t) {
    const struct uk_statement *p = t->st->statement;
    const struct uk_form *f = t->k->form;
    bool outer_sum = false, guarded = false;

    if (t->st->previous || t->st->is_filtered)
        return uk_differ(t, t->st->previous ? "a scan goes on from element to element"
                                            : "a `where` has relations that are no bounds of loops");
    if (p->reduce != t->ks->reduce)
        return uk_differ(t, "%s here, %s in the kernel", reduction_name(p->reduce),
                         reduction_name(t->ks->reduce));
    for (int i = 0; i < t->tile; i++)
        outer_sum |= uk_is_reduced(t->st, t->st->loop[i]);
    if (p->reduce == UK_REDUCE_NONE)
        return (p->assign == t->ks->assign && f[UK_FORM_COMPUTE].given) ||
               uk_differ(t, "the statement's %s is not what the kernel's compute form does",
                         assignment_name(p->assign));
    if (p->assign != UK_ASSIGN && !f[UK_FORM_UPDATE].given)
        return uk_differ(t, "%s needs the kernel's `update`, which it does not have",
                         assignment_name(p->assign));
    if (outer_sum && !f[UK_FORM_UPDATE].given)
        return uk_differ(
            t, "the sum goes on over several tiles, which needs the kernel's `update`; it has none");
    for (int b = 0; b < t->st->bounds; b++)
        guarded |= t->st->bound[b].is_guard;
    if (guarded && !f[UK_FORM_UPDATE].given)
        return uk_differ(t, "guards leave terms out, so the sum is set to 0 before it, which needs the "
                            "kernel's `update`; it has none");
    t->m.first = !guarded && p->assign == UK_ASSIGN && (f[UK_FORM_COMPUTE].given || f[UK_FORM_RESET].given);
    if (p->assign == UK_ASSIGN && !t->m.first && !f[UK_FORM_UPDATE].given)
        return uk_differ(t, "the kernel has neither compute nor update");
    for (int i = 0; i < t->st->iterators; i++) {
        const struct uk_index *e = p->extent[i];
        int64_t c;

        t->m.first &= !t->st->reduced[i] || (uk_index_is_int(e, &c) ? c > 0 : e->op == UK_I_VAR);
    }
    return true;
}

bool uk_match_tiles(struct uk_attempt *t) {
    if (!is_box(t, t->st->bound, t->st->bounds))
        return false;
    for (int o = 0; o < t->st->operands; o++)
        if (!is_box(t, t->st->operand[o].within, t->st->operand[o].valid))
            return false;
    if (!check_extents(t) || !check_assumptions(t))
        return false;
    for (int n = 0; n < t->m.tensors; n++)
        if (!check_over(t, n) || !check_alignment(t, n))
            return false;
    return true;
}
