/* SPDX-License-Identifier: Apache-2.0 */
/* Converts isl's AST of each nest to the loop IR. */
#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/id.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/union_set.h>
#include <isl/val.h>
#include <stdio.h>
#include <string.h>
#include "nest.h"

/* ---- isl AST -> loop IR ---- */

static struct uk_stage *stage_named(struct uk_nest *n, const char *name) {
    for (int i = 0; i < n->stages; i++)
        if (!strcmp(isl_set_get_tuple_name(n->member[i].set), name))
            return n->member[i].stage;
    return NULL;
}

static struct uk_node *convert(struct uk_nest *n, const struct uk_ast_scope *scope, struct uk_loop *l,
                               isl_ast_node *node);

static struct uk_node *convert_free(struct uk_nest *n, const struct uk_ast_scope *scope, struct uk_loop *l,
                                    isl_ast_node *node) {
    struct uk_node *r = convert(n, scope, l, node);

    isl_ast_node_free(node);
    return r;
}

static struct uk_node *leaf(struct uk_nest *n, const struct uk_ast_scope *scope, isl_ast_node *node) {
    isl_ast_expr *e = isl_ast_node_user_get_expr(node), *name = isl_ast_expr_get_op_arg(e, 0);
    isl_id *id = isl_ast_expr_get_id(name);
    struct uk_stage *st = stage_named(n, isl_id_get_name(id));
    struct uk_index *value[UK_MAX_LOOPS] = {0};

    for (int i = 0; st && i < st->tile; i++)
        value[st->loop[i]->id] = uk_ast_argument(n->s, scope, e, i + 1);
    isl_id_free(id);
    isl_ast_expr_free(name);
    isl_ast_expr_free(e);
    return st ? uk_lower_leaf(n->s, st, value) : NULL;
}

/* isl's condition of a for is `i <= e` or `i < e`. */
static struct uk_index *upper_bound(struct uk_nest *n, const struct uk_ast_scope *scope, isl_ast_node *node) {
    isl_ast_expr *cond = isl_ast_node_for_get_cond(node);
    struct uk_index *e = uk_ast_argument(n->s, scope, cond, 1);

    if (isl_ast_expr_get_op_type(cond) == isl_ast_expr_op_le)
        e = uk_index_op(n->s->arena, UK_I_ADD, e, uk_index_int(n->s->arena, 1));
    isl_ast_expr_free(cond);
    return e;
}

/* A stage attached below a parallel loop fills buffers of one thread, so the loops inside run in that thread;
 * also if the parallel loop has only one iteration and disappears. */
static bool runs_in_one_thread(const struct uk_nest *n, const struct uk_loop *l) {
    for (int i = 0; i < n->stages; i++) {
        const struct uk_stage *st = n->member[i].stage;
        bool parallel = false;

        for (int k = 0; k < st->prefix; k++)
            parallel |= st->loop[k]->kind == UK_LOOP_PARALLEL;
        if (!parallel || !st->parent)
            continue;
        for (int k = st->prefix; k < st->parent->loops; k++)
            if (st->parent->loop[k] == l)
                return true;
    }
    return false;
}

static struct uk_node *for_node(struct uk_nest *n, const struct uk_ast_scope *scope, struct uk_loop *l,
                                isl_ast_node *node) {
    struct uk_node *loop = uk_alloc(n->s->arena, sizeof *loop);
    struct uk_var *var = uk_alloc(n->s->arena, sizeof *var);
    isl_ast_expr *iterator = isl_ast_node_for_get_iterator(node), *init = isl_ast_node_for_get_init(node);
    isl_id *id = isl_ast_expr_get_id(iterator);

    if (loop && var && l) {
        *var = (struct uk_var){.name = l->var->name, .kind = UK_VAR_LOOP};
        *loop = (struct uk_node){.op = UK_N_FOR, .var = var, .step = 1, .stage = l->stage->name};
        uk_set_kind(loop, l);
        l->is_made = true;
        if (loop->loop == UK_LOOP_PARALLEL && runs_in_one_thread(n, l))
            loop->loop = UK_LOOP_SERIAL;
        loop->lower = uk_ast_index(n->s, scope, init);
        const bool once = isl_ast_node_for_is_degenerate(node) == isl_bool_true;
        if (once && uk_is_bound(l)) {
            loop->upper = uk_index_op(n->s->arena, UK_I_ADD, loop->lower, uk_index_int(n->s->arena, 1));
        } else if (once) {
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
        struct uk_ast_scope inner = {.outer = scope, .iterator = isl_id_get_name(id), .var = var};
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

static struct uk_node *if_node(struct uk_nest *n, const struct uk_ast_scope *scope, struct uk_loop *l,
                               isl_ast_node *node) {
    struct uk_node *r = uk_alloc(n->s->arena, sizeof *r);
    isl_ast_expr *cond = isl_ast_node_if_get_cond(node);

    if (r) {
        *r = (struct uk_node){.op = UK_N_IF, .condition = uk_ast_index(n->s, scope, cond)};
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

static struct uk_node *block_node(struct uk_nest *n, const struct uk_ast_scope *scope, struct uk_loop *l,
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

/* True if guards may make the loop begin after 0. */
static bool begins_late(const struct uk_nest *n, const struct uk_loop *l) {
    for (int i = 0; i < n->stages; i++)
        if (uk_may_begin_above_zero(n->member[i].stage, l))
            return true;
    return false;
}

/* The value of loop l in the first leaf of the node, which isl gives if it left the loop out. */
static struct uk_index *value_inside(struct uk_nest *n, const struct uk_ast_scope *scope,
                                     const struct uk_loop *l, isl_ast_node *node) {
    struct uk_index *value = NULL;
    isl_ast_node *inside = NULL;

    switch (isl_ast_node_get_type(node)) {
    case isl_ast_node_user: {
        isl_ast_expr *e = isl_ast_node_user_get_expr(node), *name = isl_ast_expr_get_op_arg(e, 0);
        isl_id *id = isl_ast_expr_get_id(name);
        const struct uk_stage *st = stage_named(n, isl_id_get_name(id));
        const int position = st ? uk_loop_position(st, l) : -1;

        if (position >= 0 && position < st->tile)
            value = uk_ast_argument(n->s, scope, e, position + 1);
        isl_id_free(id);
        isl_ast_expr_free(name);
        isl_ast_expr_free(e);
        return value;
    }
    case isl_ast_node_for:
        inside = isl_ast_node_for_get_body(node);
        break;
    case isl_ast_node_if:
        inside = isl_ast_node_if_get_then_node(node);
        break;
    case isl_ast_node_mark:
        inside = isl_ast_node_mark_get_node(node);
        break;
    case isl_ast_node_block: {
        isl_ast_node_list *list = isl_ast_node_block_get_children(node);

        inside = isl_ast_node_list_size(list) ? isl_ast_node_list_get_at(list, 0) : NULL;
        isl_ast_node_list_free(list);
        break;
    }
    default:
        break;
    }
    value = inside ? value_inside(n, scope, l, inside) : NULL;
    isl_ast_node_free(inside);
    return value;
}

/* isl leaves out a loop whose value is known: 0, unless there are guards. A kernel still needs its grid, and
 * only one of several threads may run the body. */
static struct uk_node *restore_loop(struct uk_nest *n, const struct uk_ast_scope *scope, struct uk_loop *l,
                                    isl_ast_node *node, struct uk_node *body) {
    struct uk_schedule *s = n->s;
    struct uk_node *loop = uk_alloc(s->arena, sizeof *loop);
    struct uk_var *var = uk_alloc(s->arena, sizeof *var);

    if (!loop || !var)
        return NULL;
    *var = (struct uk_var){.name = l->var->name, .kind = UK_VAR_LOOP};
    *loop = (struct uk_node){.op = UK_N_FOR, .var = var, .step = 1, .stage = l->stage->name, .body = body};
    uk_set_kind(loop, l);
    loop->lower = begins_late(n, l) ? value_inside(n, scope, l, node) : uk_index_int(s->arena, 0);
    if (!loop->lower)
        uk_fail(s->context, UK_UNSUPPORTED, l->at,
                "bind %s: conditions leave one iteration of the loop, and loops inside it decide which; bind "
                "another loop",
                l->var->name);
    else
        loop->upper = uk_index_op(s->arena, UK_I_ADD, loop->lower, uk_index_int(s->arena, 1));
    return loop->upper ? loop : NULL;
}

static struct uk_node *convert_loop(struct uk_nest *n, const struct uk_ast_scope *scope, struct uk_loop *l,
                                    isl_ast_node *node) {
    const bool before = l->is_made;
    struct uk_node *body;

    l->is_made = false;
    body = convert(n, scope, l, node);
    if (body && uk_is_bound(l) && !l->is_made)
        body = restore_loop(n, scope, l, node, body);
    isl_ast_node_free(node);
    l->is_made |= before;
    return body;
}

/* l: the loop of the next for node. NULL (an error): no memory, or an AST node that isl does not generate
 * here. */
static struct uk_node *convert(struct uk_nest *n, const struct uk_ast_scope *scope, struct uk_loop *l,
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
        return convert_loop(n, scope, l, isl_ast_node_mark_get_node(node));
    }
    default:
        return NULL;
    }
}

/* ---- a nest ---- */

/* The sizes for which the nest has an iteration. */
static isl_set *nest_context(struct uk_nest *n) {
    struct uk_stage *st = n->main;
    isl_set *set;

    uk_scope_begin(n->s);
    for (int i = 0; i < n->stages; i++)
        uk_scope_stage(n->s, n->member[i].stage);
    set = uk_context_set(n->s);

    for (int i = 0; i < st->iterators; i++) {
        if (!uk_needs_iterations(n, i) ||
            (st->reduced[i] && uk_is_raised_extent(n, st->statement->extent[i])))
            continue;
        struct uk_index *one =
            uk_index_op(n->s->arena, UK_I_GE, st->statement->extent[i], uk_index_int(n->s->arena, 1));

        set = isl_set_intersect(set, uk_relation_params(n->s, one));
    }
    return set;
}

/* Those of the sizes for which the raised ones are at least 1; takes the set. */
static isl_set *raised_context(const struct uk_nest *n, isl_set *set) {
    for (int i = 0; i < n->s->raised; i++) {
        struct uk_index *v = uk_index_var(n->s->arena, (struct uk_var *)n->s->raised_size[i]);

        set = isl_set_intersect(set, uk_relation_params(n->s, uk_index_op(n->s->arena, UK_I_GE, v,
                                                                          uk_index_int(n->s->arena, 1))));
    }
    return set;
}

/* Sets the instances of every stage. Guards of a kernel's tiles are tested at the call: in the domain they
 * would make isl generate a version of the loops for each place where one stage runs and another does not. */
static bool make_sets(struct uk_nest *n, isl_set *context) {
    for (int i = 0; i < n->stages; i++) {
        const struct uk_stage *st = n->member[i].stage->match
                                        ? uk_stage_without_guards(n->s, n->member[i].stage)
                                        : n->member[i].stage;
        char name[24];

        if (!st) {
            while (i-- > 0)
                isl_set_free(n->member[i].set);
            return false;
        }
        snprintf(name, sizeof name, "S%d", i);
        n->member[i].set =
            isl_set_intersect_params(uk_outer_set(n->s, st, st->tile, name), isl_set_copy(context));
    }
    return true;
}

/* True if guards leave no instance. */
static bool is_nothing(isl_ast_node *node) {
    if (isl_ast_node_get_type(node) != isl_ast_node_block)
        return false;
    isl_ast_node_list *list = isl_ast_node_block_get_children(node);
    bool nothing = isl_ast_node_list_size(list) == 0;

    isl_ast_node_list_free(list);
    return nothing;
}

/* Checks the assumptions over all sizes; each nest has only its own. */
static enum uk_status check_assumptions(struct uk_schedule *s) {
    if (!s->program->assumes || !s->stages)
        return UK_OK;
    uk_scope_all(s);
    isl_set *context = uk_context_set(s);
    const bool is_empty = isl_set_is_empty(context) == isl_bool_true;
    enum uk_status status = uk_isl_status(s);

    isl_set_free(context);
    if (status || !is_empty)
        return status;
    s->is_final = true;
    return uk_fail(s->context, UK_REFUSED, s->stages->statement->at,
                   "no sizes fulfil the assumptions; correct `assume` or --define");
}

/* The sizes for which the loops are made, in *out; NULL: there are none, as the nest has no iterations. */
static enum uk_status find_context(struct uk_nest *n, isl_set **out) {
    isl_set *context = nest_context(n);
    const bool has_none = isl_set_is_empty(context) == isl_bool_true;

    *out = context = raised_context(n, context);
    const bool is_empty = isl_set_is_empty(context) == isl_bool_true;
    enum uk_status status = uk_isl_status(n->s);
    if (!status && !is_empty)
        return UK_OK;
    *out = isl_set_free(context);
    return status || has_none
               ? status
               : uk_fail(
                     n->s->context, UK_REFUSED, n->main->statement->at,
                     "stage %s: its sums have no terms for all sizes that are allowed; tensorize no loop of "
                     "it, and attach no later stage inside of them",
                     n->main->name);
}

static enum uk_status lower_nest(struct uk_nest *n, struct uk_node **out) {
    struct uk_schedule *s = n->s;
    isl_ctx *ctx = uk_isl(s);
    int64_t none;

    *out = NULL;
    if (!ctx)
        return UK_OUT_OF_MEMORY;
    for (int i = 0; i < n->main->iterators; i++)
        if (!n->main->reduced[i] && uk_index_is_int(n->main->statement->extent[i], &none) && none <= 0)
            return UK_OK;
    enum uk_status status = uk_raise_sizes(n);
    if (status)
        return status;
    isl_set *context;
    if ((status = find_context(n, &context)) || !context) {
        s->raised = 0;
        return status;
    }
    if (!make_sets(n, context)) {
        isl_set_free(context);
        return uk_out_of_memory(s->context);
    }
    isl_schedule *tree = uk_schedule_tree(n);
    isl_ast_build *build = isl_ast_build_from_context(context);
    isl_ast_node *node = isl_ast_build_node_from_schedule(build, tree);
    isl_ast_build_free(build);
    status = uk_isl_status(s);
    if (!status && node && !is_nothing(node)) {
        struct uk_node *body = convert(n, NULL, NULL, node);

        *out = body ? uk_guard_body(n, body) : NULL;
        status = *out ? UK_OK : uk_failure(s->context);
    }
    isl_ast_node_free(node);
    for (int i = 0; i < n->stages; i++)
        isl_set_free(n->member[i].set);
    s->raised = 0;
    return status;
}

/* Links every stage to its nest, the list of its root. Returns the number of stages. */
static int link_nests(struct uk_schedule *s) {
    int stages = 0;

    for (struct uk_stage *st = s->stages; st; st = st->next, stages++)
        st->in_nest = st->last_in_nest = NULL;
    for (struct uk_stage *st = s->stages; st; st = st->next) {
        struct uk_stage *root = st;

        while (root->parent)
            root = root->parent;
        if (st == root)
            continue;
        *(root->last_in_nest ? &root->last_in_nest->in_nest : &root->in_nest) = st;
        root->last_in_nest = st;
    }
    return stages;
}

static enum uk_status collect(struct uk_nest *n) {
    n->stages = 0;
    n->member[n->stages++].stage = n->main;
    for (struct uk_stage *st = n->main->in_nest; st; st = st->in_nest) {
        if (st->is_copy && uk_is_empty(st->parent))
            continue;
        if (st->prefix > st->parent->tile)
            return uk_fail(n->s->context, UK_REFUSED, st->statement->at,
                           "%s %s is attached inside a kernel; %s", st->is_copy ? "the copy" : "stage",
                           st->name,
                           st->is_copy ? "pack outside of the tensorized loops"
                                       : "attach it outside of the tensorized loops");
        n->member[n->stages++].stage = st;
    }
    return UK_OK;
}

enum uk_status uk_lower_stages(struct uk_schedule *s, struct uk_node **out) {
    struct uk_nest *n = uk_alloc(s->arena, sizeof *n);
    struct uk_node **end = out;

    *out = NULL;
    if (!n || !(n->member = uk_alloc(s->arena, sizeof *n->member * (size_t)(link_nests(s) + 1))))
        return uk_out_of_memory(s->context);
    n->s = s;
    enum uk_status status = check_assumptions(s);
    if (status)
        return status;
    for (n->main = s->stages; n->main; n->main = n->main->next) {
        s->at = n->main;
        if (n->main->parent)
            continue;
        status = collect(n);
        for (int i = 0; i < n->stages && !status; i++)
            status = uk_lower_checks(s, n->member[i].stage, &end);
        if (!status)
            status = lower_nest(n, end);
        if (status)
            return status;
        while (*end)
            end = &(*end)->next;
    }
    return UK_OK;
}
