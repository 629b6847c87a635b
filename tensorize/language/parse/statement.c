/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of statements and their reductions. */
#include "language/parse.h"

/* True if a value follows the closing bracket of max(a, b): then max reduces. The words `and`, `or` and
 * `where` go on after a call. A sign may be an operator or begin a value; there the first name decides. */
static bool value_follows(const struct uk_parser *ps, const struct uk_token *name,
                          const struct uk_token *close) {
    const struct uk_token *t = close + 1;

    if (uk_token_is(t, "and") || uk_token_is(t, "or") || uk_token_is(t, "where"))
        return false;
    if (!uk_token_is(t, "-"))
        return t->kind != UK_T_NEWLINE && t->kind != UK_T_END &&
               (t->kind != UK_T_MARK || uk_token_is(t, "("));
    for (const struct uk_scalar *s = ps->p->scalars; s; s = s->next)
        if (uk_token_is(name, s->name))
            return false;
    return true;
}

/* Distinguishes max(k) A[k], a reduction, from max(a, b) and max(inf, a), calls. */
bool uk_reduction_ahead(const struct uk_parser *ps) {
    const struct uk_token *t = ps->t;

    if (uk_token_is(t, "scan") || uk_token_is(t, "sum") || uk_token_is(t, "prod"))
        return true;
    if ((!uk_token_is(t, "max") && !uk_token_is(t, "min")) || !uk_token_is(t + 1, "("))
        return false;
    for (const struct uk_token *name = t + 2;; name += 2) {
        if (name->kind != UK_T_WORD || uk_is_reserved(name->s, name->n))
            return false;
        if (uk_token_is(name + 1, "where"))
            return true;
        if (uk_token_is(name + 1, ")"))
            return value_follows(ps, t + 2, name + 1);
        if (!uk_token_is(name + 1, ","))
            return false;
    }
}

static bool parse_reduction(struct uk_parser *ps, struct uk_reduction *r) {
    static const char *const kinds[] = {"sum", "prod", "max", "min"};
    int kind = 0;

    r->scan = uk_accept(ps, "scan");
    while (kind < 4 && !uk_accept(ps, kinds[kind]))
        kind++;
    if (kind == 4)
        return uk_expected(ps, "a reduction", "reductions are sum, prod, max and min");
    r->kind = (enum uk_reduce)(UK_REDUCE_SUM + kind);
    if (!uk_expect(ps, "(", "the iterators of the reduction stand in ( )"))
        return false;
    do {
        struct uk_position at = ps->t->at;
        const char *name = uk_expect_name(ps, "an iterator");

        if (!name)
            return false;
        ps->p->at = at;
        if (r->iterators == UK_MAX_DIMS)
            return uk_program_fail(ps->p, UK_REFUSED, at, "more than %d iterators; join some", UK_MAX_DIMS);
        if (!(r->iterator[r->iterators++] = uk_iterator(ps->p, name)))
            return false;
    } while (uk_accept(ps, ","));
    if (uk_accept(ps, "where") && !(r->where = uk_parse_relations(ps)))
        return false;
    return uk_expect(ps, ")", "close the bracket");
}

/* `where i < extent and j < extent`: ranges of the statement made last. */
static bool parse_ranges(struct uk_parser *ps) {
    do {
        const struct uk_position at = ps->t->at;
        const char *name = uk_expect_name(ps, "an iterator");
        struct uk_index *iterator, *extent;

        ps->p->at = at;
        if (!name || !(iterator = uk_iterator(ps->p, name)) ||
            !uk_expect(ps, "<", "a range is an iterator below its extent, as in where i < N") ||
            !(extent = uk_parse_affine(ps)))
            return false;
        ps->p->at = at;
        uk_statement_range(ps->p, iterator, extent);
    } while (uk_accept(ps, "and"));
    return !ps->p->status;
}

bool uk_parse_statement(struct uk_parser *ps) {
    static const char *const assigns[] = {"=", "+=", "*=", "max=", "min="};
    struct uk_position at = ps->t->at;
    struct uk_index *index[UK_MAX_DIMS];
    struct uk_reduction r = {.kind = UK_REDUCE_NONE};
    const char *label = NULL;
    int assign = 0;

    ps->names = UK_NAMES_STATEMENT;
    if (uk_token_is(ps->t + 1, ":")) {
        if (!(label = uk_expect_name(ps, "a label")))
            return false;
        ps->t++;
    }
    struct uk_tensor *left = uk_parse_access(ps, index);

    if (!left)
        return false;
    while (assign < 5 && !uk_accept(ps, assigns[assign]))
        assign++;
    if (assign == 5)
        return uk_expected(ps, "an assignment", "write = += *= max= or min=");
    ps->left = left;
    bool reduces = uk_reduction_ahead(ps);

    if (reduces && !parse_reduction(ps, &r))
        return false;
    struct uk_expr *value = uk_parse_expression(ps);

    if (!value)
        return false;
    ps->p->at = at;
    uk_statement(ps->p, label, left, index, (enum uk_assign)assign, reduces ? &r : NULL, value);
    if (uk_accept(ps, "where"))
        return parse_ranges(ps);
    return !ps->p->status;
}
