/* SPDX-License-Identifier: Apache-2.0 */
/* Converts isl's AST expressions to uk_index. */
#include <isl/ast.h>
#include <isl/id.h>
#include <isl/val.h>
#include <string.h>
#include "polyhedra.h"

struct uk_index *uk_ast_argument(struct uk_schedule *s, const struct uk_ast_scope *scope, isl_ast_expr *e,
                                 int i) {
    isl_ast_expr *a = isl_ast_expr_get_op_arg(e, i);
    struct uk_index *x = uk_ast_index(s, scope, a);

    isl_ast_expr_free(a);
    return x;
}

bool uk_is_raised(const struct uk_schedule *s, const struct uk_var *v) {
    for (int i = 0; i < s->raised; i++)
        if (s->raised_size[i] == v)
            return true;
    return false;
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
    return b ? greatest_divisor(b, a % b) : a;
}

/* The minimum of a size that counts as at least 1. Assumptions such as `C % 8 == 0` are given to isl as well,
 * so the minimum has to satisfy them. */
static int64_t common_multiple(const struct uk_schedule *s, const struct uk_var *v) {
    int64_t lcm = 1, c, zero, product;

    for (const struct uk_assume *a = s->program->assumes; a; a = a->next) {
        const struct uk_index *r = a->relation;

        if (r->op == UK_I_EQ && r->a->op == UK_I_MOD && r->a->a->op == UK_I_VAR && r->a->a->var == v &&
            uk_index_is_int(r->a->b, &c) && c > 0 && uk_index_is_int(r->b, &zero) && !zero &&
            !__builtin_mul_overflow(lcm / greatest_divisor(lcm, c), c, &product))
            lcm = product;
    }
    return lcm;
}

static struct uk_index *identifier(struct uk_schedule *s, const struct uk_ast_scope *scope, isl_ast_expr *e) {
    isl_id *id = isl_ast_expr_get_id(e);
    const char *name = isl_id_get_name(id);
    struct uk_var *v = isl_id_get_user(id);

    for (const struct uk_ast_scope *c = scope; c; c = c->outer)
        if (!strcmp(c->iterator, name)) {
            isl_id_free(id);
            return uk_index_var(s->arena, c->var);
        }
    isl_id_free(id);
    if (!v)
        return NULL;
    struct uk_index *x = uk_index_var(s->arena, v);
    return uk_is_raised(s, v)
               ? uk_index_op(s->arena, UK_I_MAX, x, uk_index_int(s->arena, common_multiple(s, v)))
               : x;
}

static struct uk_index *operation(struct uk_schedule *s, const struct uk_ast_scope *scope, isl_ast_expr *e) {
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
    struct uk_arena *a = s->arena;
    struct uk_index *x = uk_ast_argument(s, scope, e, 0);

    if (type == isl_ast_expr_op_minus)
        return uk_index_op(a, UK_I_NEG, x, NULL);
    if (type == isl_ast_expr_op_cond || type == isl_ast_expr_op_select)
        return uk_index_select(a, x, uk_ast_argument(s, scope, e, 1), uk_ast_argument(s, scope, e, 2));
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (ops[i].isl == type) {
            for (int k = 1; k < (int)isl_ast_expr_get_op_n_arg(e); k++)
                x = uk_index_op(a, ops[i].op, x, uk_ast_argument(s, scope, e, k));
            return x;
        }
    return NULL;
}

struct uk_index *uk_ast_index(struct uk_schedule *s, const struct uk_ast_scope *scope, isl_ast_expr *e) {
    switch (isl_ast_expr_get_type(e)) {
    case isl_ast_expr_int: {
        isl_val *v = isl_ast_expr_get_val(e);
        int64_t value = isl_val_get_num_si(v);

        isl_val_free(v);
        return uk_index_int(s->arena, value);
    }
    case isl_ast_expr_id:
        return identifier(s, scope, e);
    case isl_ast_expr_op:
        return operation(s, scope, e);
    default:
        return NULL;
    }
}

struct uk_index *uk_condition_index(struct uk_schedule *s, isl_set *set) {
    isl_ast_build *build = isl_ast_build_from_context(isl_set_universe(isl_set_get_space(set)));
    isl_ast_expr *e = isl_ast_build_expr_from_set(build, set);
    struct uk_index *x = e ? uk_ast_index(s, NULL, e) : NULL;

    isl_ast_expr_free(e);
    isl_ast_build_free(build);
    return x;
}
