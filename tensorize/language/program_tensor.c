/* SPDX-License-Identifier: Apache-2.0 */
/* Building calls for tensors, scalars and statements. */
#include <string.h>
#include "language.h"
#include "lex.h"

bool uk_set_dims(struct uk_program *p, const char *what, int n, struct uk_index *const from[],
                 struct uk_index *to[]) {
    for (int i = 0; i < n; i++) {
        if (!from || !from[i]) {
            uk_program_fail(p, UK_INVALID_ARGUMENT, p->at, "%s %d is NULL; pass what the builders return",
                            what, i);
            return false;
        }
        if (!uk_is_own(p, what, from[i]))
            return false;
        if (from[i]->op >= UK_I_EQ) {
            uk_program_fail(p, UK_INVALID_ARGUMENT, p->at, "%s %d is a relation; pass an integer", what, i);
            return false;
        }
        to[i] = from[i];
    }
    return true;
}

struct uk_tensor *uk_add_tensor(struct uk_program *p, enum uk_tensor_kind kind, const char *name,
                                enum uk_type type) {
    struct uk_tensor **link = &p->tensors, *t;

    if (!uk_may_build(p))
        return NULL;
    if ((unsigned)type >= UK_TYPES)
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "there is no type %d of tensors; use one of enum uk_type", (int)type);
    if (!uk_name_is_free(p, name, "tensor"))
        return NULL;
    t = uk_alloc(&p->arena, sizeof *t);
    if (t && !(t->name = uk_strdup(&p->arena, name)))
        t = NULL;
    if (!uk_program_check_memory(p, t))
        return NULL;
    t->kind = kind;
    t->type = type;
    t->at = p->at;
    while (*link)
        link = &(*link)->next;
    return *link = t;
}

int uk_tensor_position(const struct uk_program *p, const struct uk_tensor *tensor) {
    int number = 1;

    for (const struct uk_tensor *t = p->tensors; t && t != tensor; t = t->next)
        number++;
    return number;
}

static struct uk_tensor *make_shaped(struct uk_program *p, enum uk_tensor_kind kind, const char *name,
                                     enum uk_type type, int dims, struct uk_index *const shape[],
                                     struct uk_index *const strides[]) {
    struct uk_tensor *t = uk_add_tensor(p, kind, name, type);

    if (!t)
        return NULL;
    if (dims < 0 || dims > UK_MAX_DIMS)
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at, "%s has %d dimensions; 0 to %d are possible",
                               name, dims, UK_MAX_DIMS);
    if (!uk_set_dims(p, "extent", dims, shape, t->shape) ||
        (strides && !uk_set_dims(p, "stride", dims, strides, t->stride)))
        return NULL;
    t->dims = t->stored_dims = dims;
    t->has_strides = strides != NULL;
    return t;
}

static struct uk_tensor *add_shaped(struct uk_program *p, enum uk_tensor_kind kind, const char *name,
                                    enum uk_type type, int dims, struct uk_index *const shape[],
                                    struct uk_index *const strides[]) {
    if (!uk_may_build(p))
        return NULL;
    struct uk_position before = uk_begin_item(p, UK_ITEM_TENSOR, uk_tensor_position(p, NULL));
    struct uk_tensor *t = make_shaped(p, kind, name, type, dims, shape, strides);

    p->at = before;
    return t;
}

struct uk_tensor *uk_tensor(struct uk_program *p, const char *name, enum uk_type type, int dims,
                            struct uk_index *const shape[], struct uk_index *const strides[]) {
    return add_shaped(p, UK_TENSOR_ARGUMENT, name, type, dims, shape, strides);
}

struct uk_tensor *uk_temp(struct uk_program *p, const char *name, enum uk_type type, int dims,
                          struct uk_index *const shape[], struct uk_index *const strides[]) {
    return add_shaped(p, UK_TENSOR_TEMP, name, type, dims, shape, strides);
}

bool uk_is_own_tensor(struct uk_program *p, const char *function, const struct uk_tensor *t) {
    if (t)
        return uk_is_own(p, "the tensor", t);
    uk_program_fail(p, UK_INVALID_ARGUMENT, p->at, "%s takes a tensor; it is NULL", function);
    return false;
}

void uk_tensor_align(struct uk_program *p, struct uk_tensor *t, int bytes) {
    if (!uk_may_build(p) || !uk_is_own_tensor(p, "uk_tensor_align", t))
        return;
    if (bytes <= 0 || (bytes & (bytes - 1)) || bytes > 4096)
        uk_program_fail(p, UK_REFUSED, p->at, "align of %s is %d; take a power of two up to 4096", t->name,
                        bytes);
    else
        t->align = bytes;
    p->is_checked = false;
}

void uk_tensor_over(struct uk_program *p, struct uk_tensor *t, struct uk_index *const over[]) {
    if (!uk_may_build(p))
        return;
    if (!uk_is_own_tensor(p, "uk_tensor_over", t))
        return;
    struct uk_position before = uk_begin_item(p, UK_ITEM_TENSOR, uk_tensor_position(p, t));

    t->has_over = uk_set_dims(p, "extent", t->dims, over, t->over);
    p->at = before;
    p->is_checked = false;
}

void uk_tensor_scope(struct uk_program *p, struct uk_tensor *t, enum uk_scope scope) {
    if (!uk_may_build(p) || !uk_is_own_tensor(p, "uk_tensor_scope", t))
        return;
    if ((unsigned)scope > UK_SCOPE_REGISTER)
        uk_program_fail(p, UK_INVALID_ARGUMENT, p->at, "there is no scope %d; use one of enum uk_scope",
                        (int)scope);
    else
        t->scope = scope;
    p->is_checked = false;
}

void uk_tensor_constant(struct uk_program *p, struct uk_tensor *t) {
    if (!uk_may_build(p) || !uk_is_own_tensor(p, "uk_tensor_constant", t))
        return;
    t->is_constant = true;
    p->is_checked = false;
}

void uk_tensor_finite(struct uk_program *p, struct uk_tensor *t) {
    if (!uk_may_build(p) || !uk_is_own_tensor(p, "uk_tensor_finite", t))
        return;
    t->is_finite = true;
    p->is_checked = false;
}

static struct uk_scalar *add_scalar(struct uk_program *p, const char *name, enum uk_type type) {
    struct uk_scalar **link = &p->scalars, *s;

    if ((unsigned)type >= UK_TYPES)
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "there is no type %d of scalars; use one of enum uk_type", (int)type);
    if (!uk_name_is_free(p, name, "scalar"))
        return NULL;
    s = uk_alloc(&p->arena, sizeof *s);
    if (s && !(s->name = uk_strdup(&p->arena, name)))
        s = NULL;
    if (!uk_program_check_memory(p, s))
        return NULL;
    s->type = type;
    s->at = p->at;
    while (*link)
        link = &(*link)->next;
    return *link = s;
}

struct uk_expr *uk_scalar(struct uk_program *p, const char *name, enum uk_type type) {
    if (!uk_may_build(p))
        return NULL;
    struct uk_position before = uk_begin_item(p, UK_ITEM_SCALAR, uk_scalar_number(p->scalars, NULL) + 1);
    struct uk_scalar *s = add_scalar(p, name, type);

    p->at = before;
    return s ? uk_scalar_value(p, s) : NULL;
}

static bool set_reduction(struct uk_program *p, struct uk_statement *s, const struct uk_reduction *r) {
    if (r->kind <= UK_REDUCE_NONE || r->kind > UK_REDUCE_MIN)
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "there is no reduction %d; use one of enum uk_reduce", (int)r->kind);
    if (r->iterators < 1 || r->iterators > UK_MAX_DIMS)
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "a reduction over %d iterators; it may have 1 to %d", r->iterators,
                               UK_MAX_DIMS);
    s->reduce = r->kind;
    s->scan = r->scan;
    s->where = r->where;
    if (r->where && !uk_is_own(p, "`where`", r->where))
        return false;
    if (r->where && r->where->op < UK_I_EQ)
        return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                               "`where` takes relations; make them by uk_index_compare");
    for (int i = 0; i < r->iterators; i++) {
        struct uk_index *e = r->iterator[i];

        if (e && !uk_is_own(p, "an iterator", e))
            return false;
        if (!e || e->op != UK_I_VAR || e->var->kind != UK_VAR_ITERATOR)
            return uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                                   "a reduction runs over iterators only, and iterator %d is %s; make it by "
                                   "uk_iterator",
                                   i, e ? "none" : "NULL");
        for (int k = 0; k < i; k++)
            if (s->reduced_iterator[k] == e->var)
                return uk_program_fail(p, UK_REFUSED, e->at, "%s is reduced twice; name it once",
                                       e->var->name);
        s->reduced_iterator[s->reduced++] = e->var;
    }
    return true;
}

/* True if a stage has that name already. */
static bool label_is_taken(const struct uk_program *p, const char *label) {
    for (const struct uk_statement *s = p->statements; s; s = s->next)
        if (s->has_label && !strcmp(s->label, label))
            return true;
    return false;
}

/* True if s is a label that the text could have. */
static bool is_label(const char *s) {
    const char *const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    const size_t n = strspn(s, letters);

    return n && !s[n] && !(*s >= '0' && *s <= '9') && !uk_is_reserved(s, n);
}

static void add_statement(struct uk_program *p, struct uk_statement **link, const char *label,
                          struct uk_tensor *t, struct uk_index *const index[], enum uk_assign assign,
                          const struct uk_reduction *reduction, struct uk_expr *value) {
    struct uk_statement *s;

    if ((unsigned)assign > UK_ASSIGN_MIN || !value) {
        uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                        value ? "there is no assignment %d; use one of enum uk_assign"
                              : "the value of a statement is NULL; pass what the builders return",
                        (int)assign);
        return;
    }
    if (!uk_is_own_tensor(p, "uk_statement", t) || !uk_is_own(p, "the value", value))
        return;
    if (label && !is_label(label)) {
        uk_program_fail(
            p, UK_INVALID_ARGUMENT, p->at,
            "the label \"%s\" is not an identifier, or a word of the language; use letters, digits and _",
            label);
        return;
    }
    if (label && label_is_taken(p, label)) {
        uk_program_fail(p, UK_REFUSED, p->at, "two stages have the label %s; choose another", label);
        return;
    }
    s = uk_alloc(&p->arena, sizeof *s);
    if (s && !(s->label = label ? uk_strdup(&p->arena, label) : t->name))
        s = NULL;
    if (!uk_program_check_memory(p, s))
        return;
    s->has_label = label != NULL;
    s->left.tensor = t;
    s->left.at = s->at = p->at;
    s->assign = assign;
    s->right = value;
    if (!uk_set_dims(p, "index", t->dims, index, s->left.index))
        return;
    for (int d = 0; d < t->dims; d++)
        if (!(s->left.index[d] = uk_wrapped_by(p, s->left.index[d], t->shape[d])))
            return;
    if ((reduction && !set_reduction(p, s, reduction)))
        return;
    *link = s;
}

void uk_statement(struct uk_program *p, const char *label, struct uk_tensor *t,
                  struct uk_index *const index[], enum uk_assign assign, const struct uk_reduction *reduction,
                  struct uk_expr *value) {
    if (!uk_may_build(p))
        return;
    struct uk_statement **end = &p->statements;
    int number = 1;

    for (; *end; end = &(*end)->next)
        number++;
    struct uk_position before = uk_begin_item(p, UK_ITEM_STATEMENT, number);

    add_statement(p, end, label, t, index, assign, reduction, value);
    p->at = before;
}

static void add_range(struct uk_program *p, struct uk_statement *s, struct uk_index *iterator,
                      struct uk_index *extent) {
    if ((iterator && !uk_is_own(p, "the iterator", iterator)) ||
        (extent && !uk_is_own(p, "the extent", extent)))
        return;
    if (!iterator || !extent || iterator->op != UK_I_VAR || iterator->var->kind != UK_VAR_ITERATOR ||
        extent->op >= UK_I_EQ) {
        uk_program_fail(
            p, UK_REFUSED, p->at,
            "the range of a statement is an iterator and its extent, of sizes and integers%s; write "
            "it as in where i < N",
            iterator && extent ? "" : ", and one is NULL");
        return;
    }
    for (int i = 0; i < s->ranges; i++)
        if (s->ranged[i] == iterator->var) {
            uk_program_fail(p, UK_REFUSED, p->at, "%s already has a range; give one", iterator->var->name);
            return;
        }
    if (s->ranges == 2 * UK_MAX_DIMS) {
        uk_program_fail(p, UK_REFUSED, p->at, "more than %d ranges; a statement has fewer iterators",
                        2 * UK_MAX_DIMS);
        return;
    }
    s->ranged[s->ranges] = iterator->var;
    s->range[s->ranges++] = extent;
    p->is_checked = false;
}

void uk_statement_range(struct uk_program *p, struct uk_index *iterator, struct uk_index *extent) {
    struct uk_statement *s = uk_may_build(p) ? p->statements : NULL;
    int number = 1;

    if (!uk_may_build(p))
        return;
    for (; s && s->next; s = s->next)
        number++;
    struct uk_position before = uk_begin_item(p, UK_ITEM_STATEMENT, number);

    if (s)
        add_range(p, s, iterator, extent);
    else
        uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                        "uk_statement_range is of the last statement; make one before");
    p->at = before;
}
