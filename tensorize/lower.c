/* Stages -> isl schedule tree -> isl AST -> our loop IR. */
#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/id.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/union_set.h>
#include <isl/val.h>
#include <stdio.h>
#include <string.h>
#include "schedule.h"

/* ---- the schedule tree: one statement per tile, its dimensions are the loops before the tile ---- */

struct nest {
    struct uk_schedule *s;
    struct uk_stage *main; /* the stage at the root, last in `stage` */
    int stages;
    struct uk_stage *stage[UK_MAX_STAGES]; /* in order of execution */
    isl_set *set[UK_MAX_STAGES];
};

/* isl leaves loops that run once out of its AST, so each band is below a mark that says which loop it is. */
static isl_schedule_node *insert_loop(isl_schedule_node *node, struct nest *n, int from, int to,
                                      int position) {
    isl_union_pw_aff *f = NULL;
    struct uk_loop *l = n->stage[to - 1]->loop[position];

    for (int i = from; i < to; i++) {
        isl_local_space *ls = isl_local_space_from_space(isl_set_get_space(n->set[i]));
        isl_aff *a = isl_aff_var_on_domain(ls, isl_dim_set, (unsigned)position);
        isl_union_pw_aff *u = isl_union_pw_aff_from_aff(a);

        f = f ? isl_union_pw_aff_union_add(f, u) : u;
    }
    node = isl_schedule_node_insert_partial_schedule(node, isl_multi_union_pw_aff_from_union_pw_aff(f));
    node = isl_schedule_node_insert_mark(node, isl_id_alloc(n->s->context->isl, "loop", l));
    return isl_schedule_node_child(isl_schedule_node_child(node, 0), 0);
}

static isl_union_set *filter(struct nest *n, int from, int to) {
    isl_union_set *u = isl_union_set_from_set(isl_set_copy(n->set[from]));

    for (int i = from + 1; i < to; i++)
        u = isl_union_set_union(u, isl_union_set_from_set(isl_set_copy(n->set[i])));
    return u;
}

/* Stages [first, n->stages) share the first `depth` loops; node is the leaf below those. Copies come first,
 * ordered by where they are attached, so that each level takes a run of them. */
static isl_schedule_node *insert_loops(isl_schedule_node *node, struct nest *n) {
    isl_ctx *ctx = n->s->context->isl;
    int first = 0, last = n->stages - 1;

    for (int depth = 0; depth <= n->main->tile; depth++) {
        int here = first;

        while (here < last && n->stage[here]->prefix == depth)
            here++;
        if (here > first) {
            isl_union_set_list *list = isl_union_set_list_alloc(ctx, here - first + 1);

            for (int i = first; i < here; i++)
                list = isl_union_set_list_add(list, filter(n, i, i + 1));
            list = isl_union_set_list_add(list, filter(n, here, n->stages));
            node = isl_schedule_node_insert_sequence(node, list);
            for (int i = first; i < here; i++) {
                node = isl_schedule_node_child(isl_schedule_node_child(node, i - first), 0);
                for (int q = depth; q < n->stage[i]->tile; q++)
                    node = insert_loop(node, n, i, i + 1, q);
                node = isl_schedule_node_ancestor(node, 2 * (n->stage[i]->tile - depth) + 2);
            }
            node = isl_schedule_node_child(isl_schedule_node_child(node, here - first), 0);
            first = here;
        }
        if (depth < n->main->tile)
            node = insert_loop(node, n, first, n->stages, depth);
    }
    return node;
}

static isl_schedule *schedule_tree(struct nest *n) {
    isl_schedule *tree = isl_schedule_from_domain(filter(n, 0, n->stages));
    isl_schedule_node *node = isl_schedule_node_child(isl_schedule_get_root(tree), 0);

    isl_schedule_free(tree);
    node = insert_loops(node, n);
    tree = isl_schedule_node_get_schedule(node);
    isl_schedule_node_free(node);
    return tree;
}

/* ---- isl AST -> loop IR ---- */

struct scope {
    const struct scope *outer;
    const char *iterator; /* isl's name */
    struct uk_var *var;
};

static struct uk_index *expression(struct nest *n, const struct scope *scope, isl_ast_expr *e);

static struct uk_index *argument(struct nest *n, const struct scope *scope, isl_ast_expr *e, int i) {
    isl_ast_expr *a = isl_ast_expr_get_op_arg(e, i);
    struct uk_index *x = expression(n, scope, a);

    isl_ast_expr_free(a);
    return x;
}

static struct uk_index *identifier(struct nest *n, const struct scope *scope, isl_ast_expr *e) {
    isl_id *id = isl_ast_expr_get_id(e);
    const char *name = isl_id_get_name(id);
    struct uk_var *v = isl_id_get_user(id);

    for (const struct scope *c = scope; c; c = c->outer)
        if (!strcmp(c->iterator, name)) {
            isl_id_free(id);
            return uk_index_var(n->s->arena, c->var);
        }
    isl_id_free(id);
    if (!v)
        return NULL;
    /* The nest runs once for an empty sum, to store its 0: isl is told that the size is at least 1. */
    struct uk_index *x = uk_index_var(n->s->arena, v);
    const struct uk_stage *st = n->main;
    for (int i = 0; st->match && st->match->first && i < st->iterators; i++)
        if (st->reduced[i] && st->statement->extent[i]->op == UK_I_VAR && st->statement->extent[i]->var == v)
            return uk_index_op(n->s->arena, UK_I_MAX, x, uk_index_int(n->s->arena, 1));
    return x;
}

static struct uk_index *operation(struct nest *n, const struct scope *scope, isl_ast_expr *e) {
    static const struct {
        enum isl_ast_expr_op_type isl;
        enum uk_index_op op;
    } ops[] = {
        {isl_ast_expr_op_add, UK_I_ADD},      {isl_ast_expr_op_sub, UK_I_SUB},
        {isl_ast_expr_op_mul, UK_I_MUL},      {isl_ast_expr_op_div, UK_I_DIV},
        {isl_ast_expr_op_pdiv_q, UK_I_DIV},   {isl_ast_expr_op_fdiv_q, UK_I_DIV},
        {isl_ast_expr_op_pdiv_r, UK_I_MOD},   {isl_ast_expr_op_zdiv_r, UK_I_MOD},
        {isl_ast_expr_op_min, UK_I_MIN},      {isl_ast_expr_op_max, UK_I_MAX},
        {isl_ast_expr_op_eq, UK_I_EQ},        {isl_ast_expr_op_lt, UK_I_LT},
        {isl_ast_expr_op_le, UK_I_LE},        {isl_ast_expr_op_gt, UK_I_GT},
        {isl_ast_expr_op_ge, UK_I_GE},        {isl_ast_expr_op_and, UK_I_AND},
        {isl_ast_expr_op_and_then, UK_I_AND}, {isl_ast_expr_op_or, UK_I_OR},
        {isl_ast_expr_op_or_else, UK_I_OR},
    };
    enum isl_ast_expr_op_type type = isl_ast_expr_get_op_type(e);
    struct uk_arena *a = n->s->arena;
    struct uk_index *x = argument(n, scope, e, 0);

    if (type == isl_ast_expr_op_minus)
        return uk_index_op(a, UK_I_NEG, x, NULL);
    if (type == isl_ast_expr_op_cond || type == isl_ast_expr_op_select)
        return uk_index_select(a, x, argument(n, scope, e, 1), argument(n, scope, e, 2));
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (ops[i].isl == type) {
            for (int k = 1; k < (int)isl_ast_expr_get_op_n_arg(e); k++)
                x = uk_index_op(a, ops[i].op, x, argument(n, scope, e, k));
            return x;
        }
    return NULL;
}

static struct uk_index *expression(struct nest *n, const struct scope *scope, isl_ast_expr *e) {
    switch (isl_ast_expr_get_type(e)) {
    case isl_ast_expr_int: {
        isl_val *v = isl_ast_expr_get_val(e);
        int64_t value = isl_val_get_num_si(v);

        isl_val_free(v);
        return uk_index_int(n->s->arena, value);
    }
    case isl_ast_expr_id:
        return identifier(n, scope, e);
    case isl_ast_expr_op:
        return operation(n, scope, e);
    default:
        return NULL;
    }
}

static struct uk_stage *stage_named(struct nest *n, const char *name) {
    for (int i = 0; i < n->stages; i++)
        if (!strcmp(isl_set_get_tuple_name(n->set[i]), name))
            return n->stage[i];
    return NULL;
}

static struct uk_node *convert(struct nest *n, const struct scope *scope, const struct uk_loop *l,
                               isl_ast_node *node);

static struct uk_node *convert_free(struct nest *n, const struct scope *scope, const struct uk_loop *l,
                                    isl_ast_node *node) {
    struct uk_node *r = convert(n, scope, l, node);

    isl_ast_node_free(node);
    return r;
}

static struct uk_node *leaf(struct nest *n, const struct scope *scope, isl_ast_node *node) {
    isl_ast_expr *e = isl_ast_node_user_get_expr(node), *name = isl_ast_expr_get_op_arg(e, 0);
    isl_id *id = isl_ast_expr_get_id(name);
    struct uk_stage *st = stage_named(n, isl_id_get_name(id));
    struct uk_index *value[UK_MAX_LOOPS] = {0};

    for (int i = 0; st && i < st->tile; i++)
        value[st->loop[i]->id] = argument(n, scope, e, i + 1);
    isl_id_free(id);
    isl_ast_expr_free(name);
    isl_ast_expr_free(e);
    return st ? uk_lower_leaf(n->s, st, value) : NULL;
}

/* isl's conditions of a for are `i <= e` or `i < e`. */
static struct uk_index *upper_bound(struct nest *n, const struct scope *scope, isl_ast_node *node) {
    isl_ast_expr *cond = isl_ast_node_for_get_cond(node);
    struct uk_index *e = argument(n, scope, cond, 1);

    if (isl_ast_expr_get_op_type(cond) == isl_ast_expr_op_le)
        e = uk_index_op(n->s->arena, UK_I_ADD, e, uk_index_int(n->s->arena, 1));
    isl_ast_expr_free(cond);
    return e;
}

static struct uk_node *for_node(struct nest *n, const struct scope *scope, const struct uk_loop *l,
                                isl_ast_node *node) {
    struct uk_node *loop = uk_alloc(n->s->arena, sizeof *loop);
    struct uk_var *var = uk_alloc(n->s->arena, sizeof *var);
    isl_ast_expr *iterator = isl_ast_node_for_get_iterator(node), *init = isl_ast_node_for_get_init(node);
    isl_id *id = isl_ast_expr_get_id(iterator);

    if (loop && var && l) {
        *var = (struct uk_var){.name = l->var->name, .kind = UK_VAR_LOOP};
        *loop =
            (struct uk_node){.op = UK_N_FOR, .var = var, .loop = l->kind, .step = 1, .stage = l->stage->name};
        loop->lower = expression(n, scope, init);
        if (isl_ast_node_for_is_degenerate(node) == isl_bool_true) {
            loop->op = UK_N_LET;
            loop->value = loop->lower;
        } else {
            isl_ast_expr *inc = isl_ast_node_for_get_inc(node);
            isl_val *step = isl_ast_expr_get_val(inc);

            loop->upper = upper_bound(n, scope, node);
            loop->step = isl_val_get_num_si(step);
            isl_val_free(step);
            isl_ast_expr_free(inc);
        }
        struct scope inner = {.outer = scope, .iterator = isl_id_get_name(id), .var = var};
        loop->body = convert_free(n, &inner, NULL, isl_ast_node_for_get_body(node));
        if (!loop->lower || !loop->body || (loop->op == UK_N_FOR && !loop->upper))
            loop = NULL;
    } else {
        loop = NULL;
    }
    isl_id_free(id);
    isl_ast_expr_free(iterator);
    isl_ast_expr_free(init);
    return loop;
}

static struct uk_node *if_node(struct nest *n, const struct scope *scope, const struct uk_loop *l,
                               isl_ast_node *node) {
    struct uk_node *r = uk_alloc(n->s->arena, sizeof *r);
    isl_ast_expr *cond = isl_ast_node_if_get_cond(node);

    if (r) {
        *r = (struct uk_node){.op = UK_N_IF, .condition = expression(n, scope, cond)};
        r->body = convert_free(n, scope, l, isl_ast_node_if_get_then_node(node));
        bool has_else = isl_ast_node_if_has_else_node(node) == isl_bool_true;
        if (has_else)
            r->other = convert_free(n, scope, l, isl_ast_node_if_get_else_node(node));
        if (!r->condition || !r->body || (has_else && !r->other))
            r = NULL;
    }
    isl_ast_expr_free(cond);
    return r;
}

static struct uk_node *block_node(struct nest *n, const struct scope *scope, const struct uk_loop *l,
                                  isl_ast_node *node) {
    isl_ast_node_list *list = isl_ast_node_block_get_children(node);
    struct uk_node *first = NULL, **end = &first;

    for (int i = 0; i < (int)isl_ast_node_list_size(list); i++) {
        *end = convert_free(n, scope, l, isl_ast_node_list_get_at(list, i));
        if (!*end) {
            first = NULL;
            break;
        }
        while (*end)
            end = &(*end)->next;
    }
    isl_ast_node_list_free(list);
    return first;
}

/* l is the loop that the next for node is. NULL: no memory, or a form of AST that never arises (both errors).
 */
static struct uk_node *convert(struct nest *n, const struct scope *scope, const struct uk_loop *l,
                               isl_ast_node *node) {
    switch (isl_ast_node_get_type(node)) {
    case isl_ast_node_for:
        return for_node(n, scope, l, node);
    case isl_ast_node_if:
        return if_node(n, scope, l, node);
    case isl_ast_node_block:
        return block_node(n, scope, l, node);
    case isl_ast_node_user:
        return leaf(n, scope, node);
    case isl_ast_node_mark: {
        isl_id *id = isl_ast_node_mark_get_id(node);

        l = isl_id_get_user(id);
        isl_id_free(id);
        return convert_free(n, scope, l, isl_ast_node_mark_get_node(node));
    }
    default:
        return NULL;
    }
}

/* A set of sizes as a condition on them; takes the set. */
struct uk_index *uk_condition_index(struct uk_schedule *s, isl_set *set) {
    struct uk_stage none = {0};
    struct nest n = {.s = s, .main = &none};
    isl_ast_build *build = isl_ast_build_from_context(isl_set_universe(isl_set_get_space(set)));
    isl_ast_expr *e = isl_ast_build_expr_from_set(build, set);
    struct uk_index *x = e ? expression(&n, NULL, e) : NULL;

    isl_ast_expr_free(e);
    isl_ast_build_free(build);
    return x;
}

/* ---- a nest ---- */

/* Every extent that must be at least 1 for the nest to do anything: all but the sums that start in the tile.
 */
static bool guards(const struct uk_stage *st, int iterator) {
    return !(st->reduced[iterator] && st->match && st->match->first);
}

static isl_set *nest_context(struct nest *n) {
    struct uk_stage *st = n->main;
    isl_set *set = uk_context_set(n->s);

    for (int i = 0; i < st->iterators; i++) {
        struct uk_index *one =
            uk_index_op(n->s->arena, UK_I_GE, st->statement->extent[i], uk_index_int(n->s->arena, 1));

        set = isl_set_intersect(set, uk_relation_params(n->s, one));
    }
    return set;
}

static struct uk_node *guarded(struct nest *n, struct uk_node *body) {
    struct uk_arena *a = n->s->arena;
    struct uk_index *all = NULL;
    struct uk_node *r;
    int64_t c;

    for (int i = 0; i < n->main->iterators; i++) {
        struct uk_index *e = n->main->statement->extent[i];

        if (!guards(n->main, i) || (uk_index_is_int(e, &c) && c >= 1))
            continue;
        struct uk_index *one = uk_index_op(a, UK_I_GE, e, uk_index_int(a, 1));
        all = all ? uk_index_op(a, UK_I_AND, all, one) : one;
    }
    if (!all)
        return body;
    r = uk_alloc(a, sizeof *r);
    if (r)
        *r = (struct uk_node){.op = UK_N_IF, .condition = all, .body = body};
    return r;
}

static enum uk_status lower_nest(struct nest *n, struct uk_node **out) {
    struct uk_schedule *s = n->s;
    isl_ctx *ctx = uk_isl(s);

    *out = NULL;
    if (!ctx)
        return UK_OUT_OF_MEMORY;
    if (uk_is_empty(n->main))
        return UK_OK;
    isl_set *context = nest_context(n);
    if (isl_set_is_empty(context) == isl_bool_true) {
        isl_set_free(context);
        enum uk_status status = uk_isl_status(s);
        return status ? status
                      : uk_fail(s->context, UK_REFUSED, n->main->statement->at,
                                "no sizes fulfil the assumptions; correct `assume` or --define");
    }
    for (int i = 0; i < n->stages; i++) {
        char name[24];

        snprintf(name, sizeof name, "S%d", i);
        n->set[i] = isl_set_intersect_params(uk_outer_set(s, n->stage[i], n->stage[i]->tile, name),
                                             isl_set_copy(context));
    }
    isl_schedule *tree = schedule_tree(n);
    isl_ast_build *build = isl_ast_build_from_context(context);
    isl_ast_node *node = isl_ast_build_node_from_schedule(build, tree);
    isl_ast_build_free(build);
    enum uk_status status = uk_isl_status(s);
    if (!status && node) {
        struct uk_node *body = convert(n, NULL, NULL, node);

        *out = body ? guarded(n, body) : NULL;
        status = *out ? UK_OK : s->context->failed ? UK_REFUSED : uk_out_of_memory(s->context);
    }
    isl_ast_node_free(node);
    for (int i = 0; i < n->stages; i++)
        isl_set_free(n->set[i]);
    return status;
}

static enum uk_status collect(struct nest *n) {
    n->stages = 0;
    for (int depth = 0; depth <= n->main->loops; depth++)
        for (struct uk_stage *st = n->s->stages; st; st = st->next)
            if (st->parent == n->main && st->prefix == depth) {
                if (depth > n->main->tile)
                    return uk_fail(
                        n->s->context, UK_REFUSED, st->statement->at,
                        "the copy %s is attached inside a kernel; pack outside of the tensorized loops",
                        st->name);
                if (n->stages == UK_MAX_STAGES - 1)
                    return uk_fail(n->s->context, UK_REFUSED, st->statement->at, "more than %d copies",
                                   UK_MAX_STAGES - 1);
                n->stage[n->stages++] = st;
            }
    n->stage[n->stages++] = n->main;
    return UK_OK;
}

enum uk_status uk_lower_stages(struct uk_schedule *s, struct uk_node **out) {
    struct nest *n = uk_alloc(s->arena, sizeof *n);
    struct uk_node **end = out;

    *out = NULL;
    if (!n)
        return uk_out_of_memory(s->context);
    n->s = s;
    for (n->main = s->stages; n->main; n->main = n->main->next) {
        if (n->main->parent)
            continue;
        enum uk_status status = collect(n);

        if (!status)
            status = lower_nest(n, end);
        if (status)
            return status;
        while (*end)
            end = &(*end)->next;
    }
    return UK_OK;
}
