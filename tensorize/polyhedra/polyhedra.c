/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to isl: sets of instances, proofs over them, and whether a loop order preserves the
 * dependences. */
#include <isl/aff.h>
#include <isl/id.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/space.h>
#include <isl/val.h>
#include <string.h>
#include "polyhedra.h"

/* A compilation takes some thousands of isl operations; the limit turns a problem that does not end into an
 * error. */
enum { MAX_OPERATIONS = 50000000 };

void uk_context_isl_destroy(struct isl_ctx *ctx) {
    isl_ctx_free(ctx);
}

isl_ctx *uk_isl(struct uk_schedule *s) {
    if (!s->context->isl) {
        s->context->isl = isl_ctx_alloc();
        if (!s->context->isl) {
            uk_out_of_memory(s->context);
            return NULL;
        }
        isl_options_set_on_error(s->context->isl, ISL_ON_ERROR_CONTINUE);
    }
    isl_ctx_reset_error(s->context->isl);
    isl_ctx_reset_operations(s->context->isl);
    isl_ctx_set_max_operations(s->context->isl, MAX_OPERATIONS);
    return s->context->isl;
}

enum uk_status uk_isl_status(struct uk_schedule *s) {
    isl_ctx *ctx = s->context->isl;

    switch (isl_ctx_last_error(ctx)) {
    case isl_error_none:
        return s->context->failed ? uk_failure(s->context) : UK_OK;
    case isl_error_alloc:
        return uk_out_of_memory(s->context);
    case isl_error_quota:
        return uk_fail(
            s->context, UK_REFUSED, (struct uk_position){0},
            "the sizes and loops make too large a problem (%d steps); use simpler indices or fewer loops",
            MAX_OPERATIONS);
    default:
        return uk_fail(s->context, UK_INTERNAL, (struct uk_position){0}, "isl: %s",
                       isl_ctx_last_error_msg(ctx) ? isl_ctx_last_error_msg(ctx) : "unknown error");
    }
}

/* ---- sets and expressions ---- */

isl_space *uk_loop_space(struct uk_schedule *s, int loops, const char *name) {
    isl_space *sp = isl_space_set_from_params(uk_parameters(s));

    sp = isl_space_add_dims(sp, isl_dim_set, (unsigned)loops);
    return name ? isl_space_set_tuple_name(sp, isl_dim_set, name) : sp;
}

static isl_pw_aff *number(isl_space *sp, int64_t v) {
    isl_val *val = isl_val_int_from_si(isl_space_get_ctx(sp), v);

    return isl_pw_aff_from_aff(isl_aff_val_on_domain_space(isl_space_copy(sp), val));
}

static isl_pw_aff *variable(struct uk_schedule *s, const struct uk_stage *st, isl_space *sp,
                            const struct uk_var *v) {
    isl_local_space *ls = isl_local_space_from_space(isl_space_copy(sp));

    if (v->kind == UK_VAR_SIZE) {
        int p = isl_space_find_dim_by_name(sp, isl_dim_param, v->name);

        if (v->defined) {
            isl_local_space_free(ls);
            return number(sp, v->value);
        }
        if (p >= 0)
            return isl_pw_aff_from_aff(isl_aff_var_on_domain(ls, isl_dim_param, (unsigned)p));
    }
    for (int i = 0; st && i < st->loops && i < (int)isl_space_dim(sp, isl_dim_set); i++)
        if (st->loop[i]->var == v)
            return isl_pw_aff_from_aff(isl_aff_var_on_domain(ls, isl_dim_set, (unsigned)i));
    isl_local_space_free(ls);
    if (!uk_isl_status(s))
        uk_fail(s->context, UK_REFUSED, v->at,
                "%s is used in a bound, but is not an extent of a tensor; use it in a shape", v->name);
    return NULL;
}

isl_pw_aff *uk_isl_affine(struct uk_schedule *s, const struct uk_stage *st, isl_space *sp,
                          const struct uk_index *e) {
    int64_t c;

    if (!e)
        return NULL;
    if (e->op == UK_I_INT)
        return number(sp, e->value);
    if (e->op == UK_I_VAR)
        return variable(s, st, sp, e->var);
    isl_pw_aff *l = uk_isl_affine(s, st, sp, e->a), *r = e->b ? uk_isl_affine(s, st, sp, e->b) : NULL;
    switch (e->op) {
    case UK_I_NEG:
        return isl_pw_aff_neg(l);
    case UK_I_ADD:
        return isl_pw_aff_add(l, r);
    case UK_I_SUB:
        return isl_pw_aff_sub(l, r);
    case UK_I_MIN:
        return isl_pw_aff_min(l, r);
    case UK_I_MAX:
        return isl_pw_aff_max(l, r);
    case UK_I_MUL:
        if (isl_pw_aff_is_cst(l) == isl_bool_true || isl_pw_aff_is_cst(r) == isl_bool_true)
            return isl_pw_aff_mul(l, r);
        break;
    case UK_I_DIV:
        if (uk_index_is_int(e->b, &c) && c > 0)
            return isl_pw_aff_floor(isl_pw_aff_div(l, r));
        break;
    case UK_I_MOD:
        if (uk_index_is_int(e->b, &c) && c > 0) {
            isl_pw_aff_free(r);
            return isl_pw_aff_mod_val(l, isl_val_int_from_si(s->context->isl, c));
        }
        break;
    default:
        break;
    }
    isl_pw_aff_free(l);
    isl_pw_aff_free(r);
    if (!uk_isl_status(s))
        uk_fail(s->context, UK_REFUSED, e->at,
                "a bound multiplies or divides sizes; only constants may do that");
    return NULL;
}

isl_set *uk_relation_set(struct uk_schedule *s, const struct uk_stage *st, isl_space *sp,
                         const struct uk_index *e) {
    int64_t c;

    if (!e)
        return NULL;
    if (uk_index_is_int(e, &c))
        return c ? isl_set_universe(isl_space_copy(sp)) : isl_set_empty(isl_space_copy(sp));
    if (e->op == UK_I_AND || e->op == UK_I_OR) {
        isl_set *a = uk_relation_set(s, st, sp, e->a), *b = uk_relation_set(s, st, sp, e->b);

        return e->op == UK_I_AND ? isl_set_intersect(a, b) : isl_set_union(a, b);
    }
    isl_pw_aff *l = uk_isl_affine(s, st, sp, e->a), *r = uk_isl_affine(s, st, sp, e->b);
    switch (e->op) {
    case UK_I_EQ:
        return isl_pw_aff_eq_set(l, r);
    case UK_I_NE:
        return isl_pw_aff_ne_set(l, r);
    case UK_I_LT:
        return isl_pw_aff_lt_set(l, r);
    case UK_I_LE:
        return isl_pw_aff_le_set(l, r);
    case UK_I_GT:
        return isl_pw_aff_gt_set(l, r);
    case UK_I_GE:
        return isl_pw_aff_ge_set(l, r);
    default:
        isl_pw_aff_free(l);
        isl_pw_aff_free(r);
        uk_fail(s->context, UK_INTERNAL, e->at, "a relation was expected");
        return NULL;
    }
}

isl_set *uk_context_set(struct uk_schedule *s) {
    isl_space *sp = isl_space_set_from_params(uk_parameters(s));
    isl_set *set = isl_set_universe(isl_space_copy(sp));

    for (int i = 0; i < (int)isl_space_dim(sp, isl_dim_param); i++)
        set = isl_set_lower_bound_si(set, isl_dim_param, (unsigned)i, 0);
    for (const struct uk_assume *a = s->program->assumes; a; a = a->next)
        if (uk_is_in_scope(s, a->relation))
            set = isl_set_intersect(set, uk_relation_set(s, NULL, sp, a->relation));
    isl_space_free(sp);
    return isl_set_params(set);
}

isl_set *uk_relation_params(struct uk_schedule *s, const struct uk_index *relation) {
    isl_space *sp = isl_space_set_from_params(uk_parameters(s));
    isl_set *set = uk_relation_set(s, NULL, sp, relation);

    isl_space_free(sp);
    return isl_set_params(set);
}

static isl_pw_aff *form_affine(struct uk_schedule *s, const struct uk_stage *st, isl_space *sp,
                               const struct uk_affine *f, int loops) {
    isl_pw_aff *e = f->rest ? uk_isl_affine(s, st, sp, f->rest) : number(sp, 0);

    if (f->general) {
        isl_pw_aff_free(e);
        return uk_isl_affine(s, st, sp, f->general);
    }
    for (int i = 0; i < loops; i++) {
        int64_t c = f->coefficient[st->loop[i]->id];

        if (c)
            e = isl_pw_aff_add(e, isl_pw_aff_scale_val(variable(s, st, sp, st->loop[i]->var),
                                                       isl_val_int_from_si(s->context->isl, c)));
    }
    return e;
}

/* Inner loops begin at 0 and have nonnegative coefficients in the bounds, so dropping them projects them out.
 * A guard with a negative coefficient of an inner loop is left out, because it bounds that loop; one that a
 * kernel applies is too, because it lets the tile run. */
isl_set *uk_outer_set(struct uk_schedule *s, const struct uk_stage *st, int loops, const char *name) {
    isl_space *sp = uk_loop_space(s, loops, name);
    isl_set *set = isl_set_universe(isl_space_copy(sp));

    for (int i = 0; i < loops; i++)
        set = isl_set_lower_bound_si(set, isl_dim_set, (unsigned)i, 0);
    for (int b = 0; b < st->bounds; b++) {
        bool inner = st->bound[b].in_kernel && loops < st->loops;

        for (int i = loops; i < st->loops; i++)
            inner |= st->bound[b].form.coefficient[st->loop[i]->id] < 0;
        if (inner)
            continue;
        isl_pw_aff *l = form_affine(s, st, sp, &st->bound[b].form, loops),
                   *r = uk_isl_affine(s, st, sp, st->bound[b].upper);

        set = isl_set_intersect(set, isl_pw_aff_lt_set(l, r));
    }
    isl_space_free(sp);
    return set;
}

isl_map *uk_isl_any_value(isl_space *sp) {
    isl_space *one = isl_space_set_from_params(isl_space_params(isl_space_copy(sp)));

    one = isl_space_add_dims(one, isl_dim_set, 1);
    return isl_map_from_domain_and_range(isl_set_universe(isl_space_copy(sp)), isl_set_universe(one));
}

static void scope_of(struct uk_schedule *s, const struct uk_stage *st) {
    uk_scope_begin(s);
    uk_scope_stage(s, st);
}

bool uk_proves(struct uk_schedule *s, const struct uk_stage *st, int loops, struct uk_index *relation) {
    int64_t c;

    if (!relation)
        return false;
    if (uk_index_is_int(relation, &c))
        return c != 0;
    scope_of(s, st);
    uk_scope_index(s, relation);
    isl_set *domain = isl_set_intersect_params(uk_outer_set(s, st, loops, NULL), uk_context_set(s));
    isl_space *sp = uk_loop_space(s, loops, NULL);
    isl_set *holds = uk_relation_set(s, st, sp, relation);
    bool proved = isl_set_is_subset(domain, holds) == isl_bool_true;

    isl_space_free(sp);
    isl_set_free(domain);
    isl_set_free(holds);
    return proved;
}

/* True if the index is an iterator over exactly this extent, which is inside without a proof. */
static bool is_plain(const struct uk_stage *st, const struct uk_index *index, const struct uk_index *extent) {
    for (int i = 0; i < st->statement->iterators; i++)
        if (index->op == UK_I_VAR && index->var == st->statement->iterator[i])
            return uk_index_equal(st->statement->extent[i], extent);
    return false;
}

isl_set *uk_sizes_outside_shape(struct uk_schedule *s, const struct uk_stage *st, const struct uk_access *a,
                                int d) {
    struct uk_affine f;

    if (uk_has_element(a->index[d]) || is_plain(st, a->index[d], a->tensor->shape[d]) ||
        uk_affine_of(s, st, a->index[d], &f))
        return NULL;
    isl_space *sp = uk_loop_space(s, st->loops, NULL);
    isl_pw_aff *x = form_affine(s, st, sp, &f, st->loops);
    isl_set *low = isl_pw_aff_lt_set(isl_pw_aff_copy(x), number(sp, 0));
    isl_set *high = isl_pw_aff_ge_set(x, uk_isl_affine(s, st, sp, a->tensor->shape[d]));

    isl_space_free(sp);
    return isl_set_params(isl_set_intersect(isl_set_union(low, high), uk_outer_set(s, st, st->loops, NULL)));
}

isl_set *uk_instance_sizes(struct uk_schedule *s, const struct uk_stage *st) {
    return isl_set_intersect(isl_set_params(uk_outer_set(s, st, st->loops, NULL)), uk_context_set(s));
}

/* ---- dependences ---- */

static isl_map *loops_to(struct uk_schedule *s, const struct uk_stage *st, const struct uk_affine *f, int n) {
    isl_space *sp = uk_loop_space(s, st->loops, NULL);
    isl_map *m = isl_map_from_domain(uk_outer_set(s, st, st->loops, NULL));

    for (int i = 0; i < n; i++)
        m = isl_map_flat_range_product(
            m, uk_has_element(f[i].general) ? uk_isl_any_value(sp)
                                            : isl_map_from_pw_aff(form_affine(s, st, sp, &f[i], st->loops)));
    isl_space_free(sp);
    return m;
}

/* Pairs of instances that access one element of the tensor that the stage writes, at least one of them
 * writing. The terms of a sum have no order by definition: `relax` leaves out dependences that are due to the
 * reduction itself. Stages that write at elements of a tensor do not reduce, and may write one element
 * several times, in their order. */
static isl_map *conflicts(struct uk_schedule *s, const struct uk_stage *st, bool relax) {
    const struct uk_operand *w = &st->operand[0];
    isl_map *write = loops_to(s, st, w->index, w->tensor->stored_dims);
    isl_map *all = relax && !uk_is_gathered(w)
                       ? NULL
                       : isl_map_apply_range(isl_map_copy(write), isl_map_reverse(isl_map_copy(write)));

    for (int o = 1; o < st->operands; o++) {
        if (st->operand[o].tensor != w->tensor)
            continue;
        isl_map *read = loops_to(s, st, st->operand[o].index, w->tensor->stored_dims);
        isl_map *pairs = isl_map_apply_range(isl_map_copy(write), isl_map_reverse(read));

        pairs = isl_map_union(pairs, isl_map_reverse(isl_map_copy(pairs)));
        all = all ? isl_map_union(all, pairs) : pairs;
    }
    isl_map_free(write);
    return all;
}

enum uk_status uk_check_order(struct uk_schedule *s, struct uk_stage *st, struct uk_position at,
                              const char *step) {
    scope_of(s, st);
    isl_map *pairs = conflicts(s, st, true);

    if (!pairs)
        return uk_isl_status(s);
    isl_map *was = loops_to(s, st, st->iterator, st->iterators);
    isl_space *range = isl_space_range(isl_map_get_space(was)), *now = uk_loop_space(s, st->loops, NULL);
    isl_map *from = isl_map_reverse(isl_map_copy(was));
    isl_map *before = isl_map_apply_range(was, isl_map_apply_range(isl_map_lex_lt(range), from));
    isl_map *bad = isl_map_intersect(isl_map_intersect(pairs, before), isl_map_lex_ge(now));
    bad = isl_map_intersect_params(bad, uk_context_set(s));
    isl_bool empty = isl_map_is_empty(bad);

    isl_map_free(bad);
    if (empty == isl_bool_true)
        return UK_OK;
    enum uk_status status = uk_isl_status(s);
    if (!status && uk_is_gathered(&st->operand[0]))
        return uk_fail(s->context, UK_REFUSED, at,
                       "%s: stage %s writes %s at elements of a tensor, which may be equal, and this order "
                       "would write some of these in another order; leave the loops in theirs",
                       step, st->name, st->operand[0].tensor->name);
    return status ? status
                  : uk_fail(s->context, UK_REFUSED, at,
                            "%s: stage %s reads elements of %s that it writes itself; this order would read "
                            "some before "
                            "they are written",
                            step, st->name, st->operand[0].tensor->name);
}

enum uk_status uk_check_parallel(struct uk_schedule *s, struct uk_stage *st, int position, bool relax,
                                 struct uk_position at, const char *step) {
    const struct uk_loop *l = st->loop[position];

    if (!relax && st->operand[0].tensor->kind == UK_TENSOR_PACKED && position < uk_home_prefix(s, st))
        return UK_OK; /* each thread has its own copy of the buffer */
    scope_of(s, st);
    isl_map *pairs = conflicts(s, st, relax);

    if (!pairs && relax)
        return uk_isl_status(s);
    for (int i = 0; i < position; i++)
        pairs = isl_map_equate(pairs, isl_dim_in, i, isl_dim_out, i);
    pairs = isl_map_order_lt(pairs, isl_dim_in, position, isl_dim_out, position);
    pairs = isl_map_intersect_params(pairs, uk_context_set(s));
    isl_bool empty = isl_map_is_empty(pairs);

    isl_map_free(pairs);
    if (empty == isl_bool_true)
        return UK_OK;
    enum uk_status status = uk_isl_status(s);
    if (status)
        return status;
    if (uk_is_gathered(&st->operand[0]))
        return uk_fail(
            s->context, UK_REFUSED, at,
            "%s %s: stage %s writes %s at elements of a tensor, which may be equal, and then their "
            "order counts; leave the loop serial",
            step, l->var->name, st->name, st->operand[0].tensor->name);
    if (uk_is_reduced(st, l) && !relax)
        return uk_fail(s->context, UK_REFUSED, at, "%s %s: the loop carries the reduction into %s; %s", step,
                       l->var->name, st->operand[0].tensor->name,
                       strstr(step, "bind") ? "bind a loop of an output axis"
                                            : "make a loop of an output axis parallel");
    return uk_fail(s->context, UK_REFUSED, at,
                   "%s %s: different iterations write and read the same element of %s", step, l->var->name,
                   st->operand[0].tensor->name);
}

/* Maps each instance to the number of its thread in its block. */
static isl_map *threads_map(struct uk_schedule *s, const struct uk_stage *st) {
    struct uk_affine number = {.rest = NULL};

    for (int i = 0; i < st->loops; i++)
        if (st->loop[i]->kind == UK_LOOP_THREAD)
            number.coefficient[st->loop[i]->id] = st->loop[i]->weight;
    return loops_to(s, st, &number, 1);
}

bool uk_has_shared_element(struct uk_schedule *s, const struct uk_stage *a, const struct uk_stage *b,
                           int operand, int host, int inside, bool blocks) {
    const struct uk_tensor *t = a->operand[0].tensor;

    /* Elements without any term, because of guards, are initialized too. */
    a = uk_stage_without_guards(s, a);
    b = operand ? b : uk_stage_without_guards(s, b);
    if (!a || !b)
        return true;
    uk_scope_begin(s);
    uk_scope_stage(s, a);
    uk_scope_stage(s, b);
    isl_map *pairs =
        isl_map_apply_range(loops_to(s, a, a->operand[0].index, t->stored_dims),
                            isl_map_reverse(loops_to(s, b, b->operand[operand].index, t->stored_dims)));
    isl_map *same = isl_map_copy(pairs);

    for (int i = 0; i < inside; i++) {
        same = isl_map_equate(same, isl_dim_in, i, isl_dim_out, i);
        if (i < host || !blocks)
            pairs = isl_map_equate(pairs, isl_dim_in, i, isl_dim_out, i);
    }
    if (!blocks)
        same = isl_map_intersect(same,
                                 isl_map_apply_range(threads_map(s, a), isl_map_reverse(threads_map(s, b))));
    pairs = isl_map_intersect_params(isl_map_subtract(pairs, same), uk_context_set(s));
    isl_bool empty = isl_map_is_empty(pairs);

    isl_map_free(pairs);
    return empty != isl_bool_true;
}
