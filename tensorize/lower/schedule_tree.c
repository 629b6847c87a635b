/* SPDX-License-Identifier: Apache-2.0 */
/* The schedule tree of a nest for isl: one statement per tile; its dimensions are the loops before the
 * tile. */
#include <isl/id.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/union_set.h>
#include "nest.h"

/* stage[m] of a nest with the stages attached to it, directly or indirectly, inside more than its first
 * `depth` loops; depth -1: all of them. */
struct group {
    int m, depth;
};

static bool is_in(const struct uk_nest *n, struct group g, int i) {
    const struct uk_stage *main = n->member[g.m].stage, *st = n->member[i].stage;

    while (st && st != main && st->parent != main)
        st = st->parent;
    return st && (st == main || st->prefix > g.depth);
}

/* isl leaves loops that run once out of its AST, so each band is below a mark that names its loop. */
static isl_schedule_node *insert_loop(isl_schedule_node *node, struct uk_nest *n, struct group g,
                                      struct uk_loop *l, int position) {
    isl_union_pw_aff *f = NULL;

    for (int i = 0; i < n->stages; i++) {
        if (!is_in(n, g, i))
            continue;
        isl_local_space *ls = isl_local_space_from_space(isl_set_get_space(n->member[i].set));
        isl_aff *a = isl_aff_var_on_domain(ls, isl_dim_set, (unsigned)position);
        isl_union_pw_aff *u = isl_union_pw_aff_from_aff(a);

        f = f ? isl_union_pw_aff_union_add(f, u) : u;
    }
    node = isl_schedule_node_insert_partial_schedule(node, isl_multi_union_pw_aff_from_union_pw_aff(f));
    /* keeps this one loop, with conditions inside: a kernel has one grid, and a block one set of threads */
    if (uk_is_bound(l) || l->slots)
        node = isl_schedule_node_band_member_set_ast_loop_type(node, 0, isl_ast_loop_atomic);
    node = isl_schedule_node_insert_mark(node, isl_id_alloc(n->s->context->isl, "loop", l));
    return isl_schedule_node_child(isl_schedule_node_child(node, 0), 0);
}

static isl_union_set *filter(struct uk_nest *n, struct group g) {
    isl_union_set *u = NULL;

    for (int i = 0; i < n->stages; i++)
        if (is_in(n, g, i)) {
            isl_union_set *one = isl_union_set_from_set(isl_set_copy(n->member[i].set));

            u = u ? isl_union_set_union(u, one) : one;
        }
    return u;
}

static bool is_attached(const struct uk_nest *n, int i, int m, int depth) {
    const struct uk_stage *st = n->member[i].stage;

    return st->parent == n->member[m].stage && st->prefix == depth;
}

static isl_schedule_node *insert_stage(isl_schedule_node *node, struct uk_nest *n, int m, int depth);

/* Inserts the stages attached to stage[m] at this depth before or after the rest of it. Returns the leaf of
 * the rest. */
static isl_schedule_node *insert_attached(isl_schedule_node *node, struct uk_nest *n, int m, int depth) {
    const struct group left = {m, depth};
    int parts = 1, rest = 0, position = 0;
    isl_union_set_list *list;

    for (int i = 0; i < n->stages; i++)
        if (is_attached(n, i, m, depth)) {
            rest += !n->member[i].stage->after;
            parts++;
        }
    if (parts == 1)
        return node;
    list = isl_union_set_list_alloc(n->s->context->isl, parts);
    for (int after = 0; after < 2; after++) {
        for (int i = 0; i < n->stages; i++)
            if (is_attached(n, i, m, depth) && n->member[i].stage->after == after)
                list = isl_union_set_list_add(list, filter(n, (struct group){i, -1}));
        if (!after)
            list = isl_union_set_list_add(list, filter(n, left));
    }
    node = isl_schedule_node_insert_sequence(node, list);
    for (int after = 0; after < 2; after++) {
        for (int i = 0; i < n->stages; i++) {
            if (!is_attached(n, i, m, depth) || n->member[i].stage->after != after)
                continue;
            node = isl_schedule_node_child(isl_schedule_node_child(node, position++), 0);
            node = insert_stage(node, n, i, depth);
            node = isl_schedule_node_ancestor(node, 2);
        }
        position += !after;
    }
    return isl_schedule_node_child(isl_schedule_node_child(node, rest), 0);
}

/* Inserts the loops of stage[m] from `depth` on. node is a leaf for the whole stage below the shared loops,
 * on entry and on return. */
static isl_schedule_node *insert_stage(isl_schedule_node *node, struct uk_nest *n, int m, int depth) {
    struct uk_stage *st = n->member[m].stage;
    int level = (int)isl_schedule_node_get_tree_depth(node);

    for (int d = depth; d <= st->tile; d++) {
        node = insert_attached(node, n, m, d);
        if (d < st->tile)
            node = insert_loop(node, n, (struct group){m, d}, st->loop[d], d);
    }
    return isl_schedule_node_ancestor(node, (int)isl_schedule_node_get_tree_depth(node) - level);
}

isl_schedule *uk_schedule_tree(struct uk_nest *n) {
    isl_schedule *tree = isl_schedule_from_domain(filter(n, (struct group){0, -1}));
    isl_schedule_node *node = isl_schedule_node_child(isl_schedule_get_root(tree), 0);

    isl_schedule_free(tree);
    node = insert_stage(node, n, 0, 0);
    tree = isl_schedule_node_get_schedule(node);
    isl_schedule_node_free(node);
    return tree;
}
