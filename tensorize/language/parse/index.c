/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of integer expressions: affine ones, relations, layout maps. */
#include <string.h>
#include "language/parse.h"

/* In the order of enum uk_relation. */
static const char *const relation_marks[] = {"==", "!=", "<", "<=", ">", ">="};

int uk_relation_ahead(const struct uk_parser *ps) {
    for (int i = 0; i < 6; i++)
        if (uk_next_is(ps, relation_marks[i]))
            return i;
    return -1;
}

bool uk_enter_sign(struct uk_parser *ps) {
    if (ps->nesting++ < UK_MAX_NESTING)
        return true;
    uk_program_fail(ps->p, UK_SYNTAX, ps->t->at, "more than %d signs in a row; simplify", UK_MAX_NESTING);
    return false;
}

static struct uk_index *map_name(struct uk_parser *ps, const char *name, struct uk_position at) {
    for (int i = 0; i < ps->map->from_count; i++)
        if (!strcmp(ps->map->from[i]->name, name)) {
            struct uk_index *e =
                uk_program_check_memory(ps->p, uk_index_var(&ps->p->arena, ps->map->from[i]));

            if (e)
                e->at = at;
            return e;
        }
    return uk_program_fail(ps->p, UK_REFUSED, at, "%s is not a name of the map; use the names before ->",
                           name);
}

static struct uk_index *step_name(struct uk_parser *ps, const char *name, struct uk_position at) {
    struct uk_var *v = uk_find_var(ps->p->sizes, name);

    if (!v && (v = uk_program_check_memory(ps->p, uk_alloc(&ps->p->arena, sizeof *v))))
        *v = (struct uk_var){.name = name, .kind = UK_VAR_ITERATOR, .at = at};
    return v ? uk_program_check_memory(ps->p, uk_index_var(&ps->p->arena, v)) : NULL;
}

static struct uk_index *condition_name(struct uk_parser *ps, const char *name, struct uk_position at) {
    struct uk_program *p = ps->p;

    if (uk_find_var(p->sizes, name))
        return uk_size(p, name);
    return uk_program_fail(p, UK_REFUSED, at,
                           "%s is %s; the condition of a schedule may only mention sizes of the program",
                           name,
                           uk_find_tensor(p, name)           ? "a tensor"
                           : uk_find_scalar(p, name)         ? "a scalar"
                           : uk_find_var(p->iterators, name) ? "an iterator"
                                                             : "not declared");
}

static struct uk_index *affine_name(struct uk_parser *ps) {
    struct uk_program *p = ps->p;
    struct uk_position at = p->at = ps->t->at;
    const char *name = uk_expect_name(ps, "a name or an integer");

    if (!name)
        return NULL;
    if (ps->names == UK_NAMES_MAP)
        return map_name(ps, name, at);
    if (ps->names == UK_NAMES_STEP)
        return step_name(ps, name, at);
    if (ps->names == UK_NAMES_CONDITION)
        return condition_name(ps, name, at);
    if (uk_find_tensor(p, name) && uk_next_is(ps, "["))
        return uk_program_fail(p, UK_REFUSED, at,
                               "an element of %s is part of an integer expression, but can only be a whole "
                               "subscript; compute the expression in a tensor first",
                               name);
    if (uk_find_tensor(p, name) || uk_find_scalar(p, name))
        return uk_program_fail(p, UK_REFUSED, at, "%s is a %s, not an integer; use a size or an iterator",
                               name, uk_find_tensor(p, name) ? "tensor" : "scalar");
    if (ps->names == UK_NAMES_SIZE)
        return uk_size(p, name);
    if (ps->names == UK_NAMES_ASSUMED)
        return uk_assumed(p, name);
    return uk_find_var(p->sizes, name) ? uk_size(p, name) : uk_iterator(p, name);
}

static struct uk_index *affine_factor(struct uk_parser *ps) {
    struct uk_index *e;
    int64_t value;

    if (uk_accept(ps, "-")) {
        struct uk_position at = ps->t[-1].at;

        if (!uk_enter_sign(ps) || !(e = affine_factor(ps)))
            return NULL;
        ps->nesting--;
        e = uk_program_check_memory(ps->p, uk_index_op_as_written(&ps->p->arena, UK_I_NEG, e, NULL));
        if (e && !e->at.line)
            e->at = at;
        return e;
    }
    if (uk_accept(ps, "(")) {
        e = uk_parse_affine(ps);
        return e && uk_expect(ps, ")", "close the bracket") ? e : NULL;
    }
    ps->p->at = ps->t->at;
    if (ps->t->kind == UK_T_INT)
        return uk_expect_int(ps, "an integer", &value) ? uk_integer(ps->p, value) : NULL;
    return affine_name(ps);
}

static bool times_ahead(const struct uk_parser *ps) {
    return uk_next_is(ps, "*") || uk_next_is(ps, "/") || uk_next_is(ps, "%");
}

static struct uk_index *affine_term(struct uk_parser *ps) {
    bool leads = ps->t->kind == UK_T_INT && uk_token_is(ps->t + 1, "*") && ps->t[2].kind != UK_T_INT;
    struct uk_index *e = affine_factor(ps);
    int64_t value;

    if (e && leads) {
        ps->t++;
        struct uk_index *x = affine_factor(ps);

        if (x && times_ahead(ps))
            return uk_program_fail(ps->p, UK_SYNTAX, ps->t->at,
                                   "%.*s after an integer times an operand; write (2*p) / 3, not 2*p / 3",
                                   (int)ps->t->n, ps->t->s);
        return x ? uk_index_multiply(ps->p, e, x) : NULL;
    }
    while (e && times_ahead(ps)) {
        char op = *ps->t++->s;

        ps->p->at = ps->t->at;
        if (ps->t->kind != UK_T_INT)
            return uk_expected(ps, "an integer",
                               "subscripts and extents are affine: one factor is a constant");
        if (!uk_expect_int(ps, "an integer", &value))
            return NULL;
        if (op == '*')
            e = uk_index_multiply(ps->p, e, uk_integer(ps->p, value));
        else
            e = op == '/' ? uk_index_floordiv(ps->p, e, value) : uk_index_mod(ps->p, e, value);
    }
    return e;
}

struct uk_index *uk_parse_affine(struct uk_parser *ps) {
    struct uk_index *e = affine_term(ps);

    while (e && (uk_next_is(ps, "+") || uk_next_is(ps, "-"))) {
        bool plus = *ps->t++->s == '+';
        struct uk_index *r = affine_term(ps);

        if (!r)
            return NULL;
        e = plus ? uk_index_add(ps->p, e, r) : uk_index_subtract(ps->p, e, r);
    }
    return e;
}

int uk_parse_list(struct uk_parser *ps, struct uk_index *list[], struct uk_index *parse(struct uk_parser *)) {
    int n = 0;

    if (!uk_expect(ps, "[", "subscripts and extents stand in [ ]"))
        return -1;
    if (uk_accept(ps, "]"))
        return 0;
    do {
        if (n == UK_MAX_DIMS) {
            uk_program_fail(ps->p, UK_REFUSED, ps->t->at, "more than %d dimensions; join some", UK_MAX_DIMS);
            return -1;
        }
        if (!(list[n++] = parse(ps)))
            return -1;
    } while (uk_accept(ps, ","));
    return uk_expect(ps, "]", "separate by commas and close the bracket") ? n : -1;
}

int uk_parse_affines(struct uk_parser *ps, struct uk_index *list[]) {
    return uk_parse_list(ps, list, uk_parse_affine);
}

struct uk_index *uk_parse_relations(struct uk_parser *ps) {
    struct uk_index *all = NULL;

    do {
        struct uk_index *l = uk_parse_affine(ps);
        int r = l ? uk_relation_ahead(ps) : 0;

        if (r < 0)
            return uk_expected(ps, "a relation", "write one of < <= > >= == != between two integers");
        while (l && r >= 0) {
            ps->t++;
            struct uk_index *right = uk_parse_affine(ps);
            struct uk_index *e = right ? uk_index_compare(ps->p, (enum uk_relation)r, l, right) : NULL;

            if (!e)
                return NULL;
            all = all ? uk_index_and(ps->p, all, e) : e;
            l = right;
            r = uk_relation_ahead(ps);
        }
        if (!l)
            return NULL;
    } while (uk_accept(ps, "and"));
    return all;
}

static bool map_names(struct uk_parser *ps, struct uk_map *m) {
    if (!uk_expect(ps, "(", "a map is written (i, j) -> [i / 4, j, i % 4]"))
        return false;
    do {
        struct uk_position at = ps->t->at;
        const char *name = uk_expect_name(ps, "a name");
        struct uk_var *v;

        if (!name)
            return false;
        if (m->from_count == UK_MAX_DIMS)
            return uk_program_fail(ps->p, UK_REFUSED, at, "more than %d names in a map", UK_MAX_DIMS);
        for (int i = 0; i < m->from_count; i++)
            if (!strcmp(m->from[i]->name, name))
                return uk_program_fail(ps->p, UK_REFUSED, at, "%s appears twice in the map; use another name",
                                       name);
        if (!(v = uk_program_check_memory(ps->p, uk_alloc(&ps->p->arena, sizeof *v))))
            return false;
        v->name = name;
        v->kind = UK_VAR_ITERATOR;
        v->at = at;
        m->from[m->from_count++] = v;
    } while (uk_accept(ps, ","));
    return uk_expect(ps, ")", "separate the names by commas") &&
           uk_expect(ps, "->", "the stored indices follow");
}

struct uk_map *uk_parse_layout(struct uk_parser *ps) {
    struct uk_map *m = uk_program_check_memory(ps->p, uk_alloc(&ps->p->arena, sizeof *m));
    enum uk_name_mode names = ps->names;
    struct uk_map *outer = ps->map;

    if (!m || !map_names(ps, m))
        return NULL;
    ps->names = UK_NAMES_MAP;
    ps->map = m;
    if (uk_accept(ps, "lane") &&
        (!(m->lane = uk_parse_affine(ps)) || !uk_expect(ps, ",", "[ follows the lane")))
        return NULL;
    m->to_count = uk_parse_affines(ps, m->to);
    ps->names = names;
    ps->map = outer;
    return m->to_count < 0 ? NULL : m;
}
