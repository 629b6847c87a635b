/* SPDX-License-Identifier: Apache-2.0 */
/* Building calls for programs: names and integers. The parser uses them too. */
#include <stdlib.h>
#include <string.h>
#include "language.h"
#include "lex.h"

void uk_context_set_program(struct uk_context *c, const struct uk_program *p) {
    c->file = p ? p->file : NULL;
    c->schedule_file = p ? p->schedule_file : NULL;
}

enum uk_status uk_program_create(struct uk_context *c, const char *name, struct uk_program **out) {
    if (out)
        *out = NULL;
    if (!c)
        return UK_INVALID_ARGUMENT;
    uk_context_enter(c, NULL);
    if (!out)
        return uk_require(c, out, "the place for the program");
    if (!uk_is_identifier(name))
        return uk_fail(
            c, UK_INVALID_ARGUMENT, (struct uk_position){0, 0},
            "the program's name, %s%s%s, is not a C identifier; give the name of the function to make",
            name ? "\"" : "", name ? name : "NULL", name ? "\"" : "");
    if (!uk_may_name_function(name))
        return uk_fail(c, UK_INVALID_ARGUMENT, (struct uk_position){0, 0},
                       "the program's name, \"%s\", is a word or a standard function of C or C++; "
                       "give the function "
                       "to make another one",
                       name);
    struct uk_program *p = calloc(1, sizeof *p);

    if (!p)
        return uk_out_of_memory(c);
    p->context = c;
    p->name = p->file = uk_strdup(&p->arena, name);
    if (!p->name) {
        uk_program_destroy(p);
        return uk_out_of_memory(c);
    }
    *out = p;
    return UK_OK;
}

void uk_program_destroy(struct uk_program *p) {
    if (!p)
        return;
    p->context->file = p->context->schedule_file = NULL; /* these may point into the program */
    uk_arena_free(&p->arena);
    free(p);
}

enum uk_status uk_program_status(const struct uk_program *p) {
    return p ? p->status : UK_INVALID_ARGUMENT;
}

enum uk_status uk_check_rules(struct uk_program *p) {
    if (!p)
        return UK_INVALID_ARGUMENT;
    uk_context_enter(p->context, p->file);
    uk_context_set_program(p->context, p);
    return p->status ? uk_restore_failure(p->context, p->status, p->failure) : uk_check_program(p);
}

struct uk_position uk_begin_item(struct uk_program *p, enum uk_item kind, int number) {
    struct uk_position before = p->at;

    if (!before.line)
        p->at = (struct uk_position){-number, (int)kind};
    return before;
}

bool uk_name_is_free(struct uk_program *p, const char *name, const char *what) {
    const char *other = NULL;

    if (!uk_is_identifier(name)) {
        uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                        "the name of a %s, %s%s%s, is not an identifier; use letters, digits and _", what,
                        name ? "\"" : "", name ? name : "NULL", name ? "\"" : "");
        return false;
    }
    if (uk_is_reserved(name, strlen(name))) {
        uk_program_fail(p, UK_SYNTAX, p->at, "%s is a word of the language; choose another name for the %s",
                        name, what);
        return false;
    }
    if (uk_find_tensor(p, name))
        other = "a tensor";
    else if (uk_find_scalar(p, name))
        other = "a scalar";
    else if (uk_find_var(p->iterators, name))
        other = "an iterator";
    else if (uk_find_var(p->sizes, name) || uk_find_var(p->assumed, name))
        other = "a size";
    if (other)
        uk_program_fail(p, UK_REFUSED, p->at, "%s is %s already; choose another name for the %s", name, other,
                        what);
    return !other;
}

static struct uk_var *new_var(struct uk_program *p, const char *name, enum uk_var_kind kind) {
    struct uk_var *v = uk_alloc(&p->arena, sizeof *v);

    if (v && !(v->name = uk_strdup(&p->arena, name)))
        v = NULL;
    if (!uk_program_check_memory(p, v))
        return NULL;
    v->kind = kind;
    v->at = p->at;
    return v;
}

static void append_var(struct uk_var **list, struct uk_var *v) {
    while (*list)
        list = &(*list)->next;
    *list = v;
    v->next = NULL;
}

/* Gives a leaf the position of the builders. */
static struct uk_index *leaf(struct uk_program *p, struct uk_index *e) {
    if (e)
        e->at = p->at;
    return uk_program_check_memory(p, e);
}

static struct uk_var *find_or_make_size(struct uk_program *p, const char *name) {
    struct uk_var *v = name ? uk_find_var(p->sizes, name) : NULL;

    if (v)
        return v;
    v = name ? uk_find_var(p->assumed, name) : NULL;
    if (v) {
        struct uk_var **link = &p->assumed;

        while (*link != v)
            link = &(*link)->next;
        *link = v->next;
    } else if (!uk_name_is_free(p, name, "size") || !(v = new_var(p, name, UK_VAR_SIZE))) {
        return NULL;
    }
    v->number = p->size_count++;
    append_var(&p->sizes, v);
    return v;
}

struct uk_index *uk_size(struct uk_program *p, const char *name) {
    struct uk_var *v = uk_may_build(p) ? find_or_make_size(p, name) : NULL;

    return v ? leaf(p, uk_index_var(&p->arena, v)) : NULL;
}

struct uk_index *uk_size_default(struct uk_program *p, const char *name, int64_t value) {
    struct uk_index *e = uk_size(p, name);

    if (!e)
        return NULL;
    if (value < 0)
        return uk_program_fail(p, UK_REFUSED, p->at,
                               "the value of size %s is %lld, which is negative; give one >= 0", name,
                               (long long)value);
    if (e->var->has_default && e->var->default_value != value)
        return uk_program_fail(p, UK_REFUSED, p->at, "size %s already has a value; give only one", name);
    e->var->has_default = true;
    e->var->default_value = value;
    return e;
}

struct uk_index *uk_assumed(struct uk_program *p, const char *name) {
    struct uk_var *v;

    if (!uk_may_build(p))
        return NULL;
    v = uk_find_var(p->sizes, name);
    if (!v)
        v = uk_find_var(p->assumed, name);
    if (!v) {
        if (!uk_name_is_free(p, name, "size") || !(v = new_var(p, name, UK_VAR_SIZE)))
            return NULL;
        append_var(&p->assumed, v);
    }
    return leaf(p, uk_index_var(&p->arena, v));
}

struct uk_index *uk_iterator(struct uk_program *p, const char *name) {
    struct uk_var *v;

    if (!uk_may_build(p))
        return NULL;
    v = name ? uk_find_var(p->iterators, name) : NULL;
    if (!v) {
        if (!uk_name_is_free(p, name, "iterator") || !(v = new_var(p, name, UK_VAR_ITERATOR)))
            return NULL;
        append_var(&p->iterators, v);
    }
    return leaf(p, uk_index_var(&p->arena, v));
}

struct uk_index *uk_integer(struct uk_program *p, int64_t value) {
    return uk_may_build(p) ? leaf(p, uk_index_int(&p->arena, value)) : NULL;
}

/* Makes i + 0: the iterator, marked as written with an offset. */
static struct uk_index *offset_of_zero(struct uk_program *p, const struct uk_index *iterator) {
    struct uk_index *e = uk_index_var(&p->arena, iterator->var);

    if (e) {
        e->is_offset = true;
        e->at = iterator->at;
    }
    return e;
}

static struct uk_index *combine(struct uk_program *p, enum uk_index_op op, struct uk_index *a,
                                struct uk_index *b) {
    if (!uk_may_build(p))
        return NULL;
    if (!a || !b)
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "an operand is NULL; pass what the builders return");
    if (!uk_is_own(p, "an operand", a) || !uk_is_own(p, "an operand", b))
        return NULL;
    if ((op == UK_I_AND) != (a->op >= UK_I_EQ) || (op == UK_I_AND) != (b->op >= UK_I_EQ))
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "a relation is not an integer; join relations by uk_index_and only");
    struct uk_index *e =
        op >= UK_I_EQ ? uk_index_node(&p->arena, op, a, b) : uk_index_op_as_written(&p->arena, op, a, b);

    if (e && e->op == UK_I_VAR && e->var->kind == UK_VAR_ITERATOR && (op == UK_I_ADD || op == UK_I_SUB))
        e = offset_of_zero(p, e);
    if (e && !e->at.line)
        e->at = p->at;
    if (e && e->depth > UK_MAX_DEPTH)
        return uk_program_fail(p, UK_REFUSED, p->at, "more than %d operators in one expression; simplify it",
                               UK_MAX_DEPTH);
    return uk_program_check_memory(p, e);
}

struct uk_index *uk_index_add(struct uk_program *p, struct uk_index *a, struct uk_index *b) {
    return combine(p, UK_I_ADD, a, b);
}

struct uk_index *uk_index_subtract(struct uk_program *p, struct uk_index *a, struct uk_index *b) {
    return combine(p, UK_I_SUB, a, b);
}

struct uk_index *uk_index_multiply(struct uk_program *p, struct uk_index *a, struct uk_index *b) {
    return combine(p, UK_I_MUL, a, b);
}

static struct uk_index *by_constant(struct uk_program *p, enum uk_index_op op, struct uk_index *a,
                                    int64_t divisor) {
    if (uk_may_build(p) && divisor <= 0)
        return uk_program_fail(p, UK_REFUSED, p->at,
                               "the divisor %lld is not positive; divide by a constant > 0",
                               (long long)divisor);
    return combine(p, op, a, uk_integer(p, divisor));
}

struct uk_index *uk_index_floordiv(struct uk_program *p, struct uk_index *a, int64_t divisor) {
    return by_constant(p, UK_I_DIV, a, divisor);
}

struct uk_index *uk_index_mod(struct uk_program *p, struct uk_index *a, int64_t divisor) {
    return by_constant(p, UK_I_MOD, a, divisor);
}

struct uk_index *uk_index_compare(struct uk_program *p, enum uk_relation r, struct uk_index *a,
                                  struct uk_index *b) {
    if (uk_may_build(p) && (unsigned)r > UK_GREATER_EQUAL)
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "there is no relation %d; use one of enum uk_relation", (int)r);
    return combine(p, (enum uk_index_op)(UK_I_EQ + (int)r), a, b);
}

struct uk_index *uk_index_and(struct uk_program *p, struct uk_index *a, struct uk_index *b) {
    return combine(p, UK_I_AND, a, b);
}

static void add_assumption(struct uk_program *p, struct uk_index *relation) {
    struct uk_assume **link = &p->assumes, *assume;
    int number = 1;

    if (relation && !uk_is_own(p, "the relation", relation))
        return;
    if (relation && relation->op == UK_I_AND) {
        add_assumption(p, relation->a);
        add_assumption(p, relation->b);
        return;
    }
    for (; *link; link = &(*link)->next)
        number++;
    struct uk_position before = uk_begin_item(p, UK_ITEM_ASSUMPTION, number);

    if (!relation || relation->op < UK_I_EQ || relation->op > UK_I_GE)
        uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                        "uk_assume takes a relation%s; make it by uk_index_compare",
                        relation ? "" : ", and it is NULL");
    else if ((assume = uk_program_check_memory(p, uk_alloc(&p->arena, sizeof *assume)))) {
        assume->relation = relation;
        assume->at = relation->at.line ? relation->at : p->at;
        *link = assume;
    }
    p->at = before;
}

void uk_assume(struct uk_program *p, struct uk_index *relation) {
    if (uk_may_build(p))
        add_assumption(p, relation);
}
