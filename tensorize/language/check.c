/* SPDX-License-Identifier: Apache-2.0 */
/* Rules 1, 2, 4, 5 and 8 of the language: names, ranges, coverage, stages. Programs from text and from calls
 * pass the same checks. */
#include <string.h>
#include "language.h"

static bool all_known(struct uk_program *p, const struct uk_statement *s, const struct uk_index *e) {
    if (e->op == UK_I_VAR && e->var->kind == UK_VAR_ITERATOR && uk_iterator_number(s, e->var) < 0)
        return uk_program_fail(p, UK_REFUSED, e->at,
                               "%s is neither on the left nor reduced; add sum(%s), or a `size %s`",
                               e->var->name, e->var->name, e->var->name);
    return (!e->a || all_known(p, s, e->a)) && (!e->b || all_known(p, s, e->b));
}

typedef bool visit_access(struct uk_program *p, struct uk_statement *s, struct uk_expr *e, bool padded);

/* Visits the elements that are subscripts of the access. */
static bool visit_subscripts(struct uk_program *p, struct uk_statement *s, const struct uk_access *a,
                             visit_access *visit) {
    for (int d = 0; d < a->tensor->dims; d++) {
        if (a->index[d]->op != UK_I_ELEMENT)
            continue;
        struct uk_expr e = {
            .op = UK_E_ACCESS, .access = uk_element_access(a->index[d]), .at = a->index[d]->at, .depth = 1};

        if (!visit(p, s, &e, false))
            return false;
    }
    return true;
}

/* Calls visit for each access of the right side, under pad() or not, including those in subscripts, and for
 * each index(). */
static bool visit_right(struct uk_program *p, struct uk_statement *s, struct uk_expr *e, bool padded,
                        visit_access *visit) {
    if ((e->op == UK_E_ACCESS || e->op == UK_E_INDEX) && !visit(p, s, e, padded))
        return false;
    if (e->op == UK_E_ACCESS && !visit_subscripts(p, s, &e->access, visit))
        return false;
    for (int i = 0; i < 3 && e->arg[i]; i++)
        if (!visit_right(p, s, e->arg[i], e->op == UK_E_PAD && i == 0, visit))
            return false;
    return true;
}

/* Checks an element that is a subscript of t. Its own subscripts belong to an access that is visited too. */
static bool check_element(struct uk_program *p, const struct uk_index *e, const struct uk_tensor *t,
                          bool padded) {
    if (padded)
        return uk_program_fail(
            p, UK_REFUSED, e->at,
            "an element of %s is a subscript of %s under pad, which cannot test it; read %s without pad",
            e->tensor->name, t->name, t->name);
    if (e->tensor->layout)
        return uk_program_fail(p, UK_REFUSED, e->at,
                               "%s has a layout, and its elements are subscripts; store it without one",
                               e->tensor->name);
    const struct uk_access own = uk_element_access(e);

    for (int d = 0; d < e->tensor->dims; d++)
        if (!uk_check_affine(p, own.index[d], true))
            return false;
    return true;
}

static bool check_access(struct uk_program *p, struct uk_statement *s, struct uk_expr *e, bool padded) {
    if (e->op == UK_E_INDEX)
        return uk_check_affine(p, e->index, true) && all_known(p, s, e->index);
    struct uk_tensor *t = e->access.tensor;

    t->is_read = true;
    if (t == s->left.tensor && uk_scatters(s))
        return uk_program_fail(p, UK_REFUSED, e->at,
                               "%s is read and written by one statement, which writes it at elements of a "
                               "tensor; read a copy in a temp",
                               t->name);
    for (int i = 0; i < t->dims; i++) {
        const struct uk_index *x = e->access.index[i];

        if (x->op == UK_I_ELEMENT ? !check_element(p, x, t, padded)
                                  : !uk_check_affine(p, x, true) || !all_known(p, s, x))
            return false;
        if (t == s->left.tensor && (!uk_index_equal(e->access.index[i], s->left.index[i]) || s->reduce))
            return uk_program_fail(
                p, UK_REFUSED, e->at,
                "%s is read and written by one statement; read the same element, or use a temp", t->name);
    }
    return true;
}

/* Checks the elements that are subscripts of the left side. */
static bool check_left_elements(struct uk_program *p, struct uk_statement *s) {
    for (int d = 0; d < s->left.tensor->dims; d++)
        if (s->left.index[d]->op == UK_I_ELEMENT &&
            !check_element(p, s->left.index[d], s->left.tensor, false))
            return false;
    return visit_subscripts(p, s, &s->left, check_access);
}

bool uk_same_extent(const struct uk_program *p, const struct uk_index *a, const struct uk_index *b) {
    enum { MOST = 64 }; /* extents known to equal a; further ones are ignored */
    const struct uk_index *equal[MOST] = {a};
    int n = 1;

    for (int i = 0; i < n; i++) {
        if (uk_index_equal(equal[i], b))
            return true;
        for (const struct uk_assume *s = p->assumes; s; s = s->next) {
            const struct uk_index *l = s->relation->a, *r = s->relation->b, *other;
            bool known = false;

            if (s->relation->op != UK_I_EQ)
                continue;
            other = uk_index_equal(l, equal[i]) ? r : uk_index_equal(r, equal[i]) ? l : NULL;
            for (int k = 0; k < n && other; k++)
                known = known || uk_index_equal(equal[k], other);
            if (other && !known && n < MOST)
                equal[n++] = other;
        }
    }
    return false;
}

static const char *extent_text(struct uk_program *p, const struct uk_index *e) {
    struct uk_text t = {0};
    const char *s;

    uk_print_index(&t, e);
    s = t.text ? uk_strdup(&p->arena, t.text) : NULL;
    uk_text_free(t.text);
    return s ? s : "?";
}

/* True if a statement writes the tensor at an offset along the dimension; then each statement writes a part
 * of it there. */
static bool is_in_parts(const struct uk_program *p, const struct uk_tensor *t, int d) {
    for (const struct uk_statement *s = p->statements; s; s = s->next) {
        const struct uk_index *e = s->left.tensor == t ? s->left.index[d] : NULL;

        if (e && e->op != UK_I_ELEMENT && (e->op != UK_I_VAR || e->is_offset))
            return true;
    }
    return false;
}

/* True if `where` gives the iterator's range. */
static bool is_given(const struct uk_statement *s, const struct uk_var *v) {
    for (int i = 0; i < s->ranges; i++)
        if (s->ranged[i] == v)
            return true;
    return false;
}

static bool given_ranges(struct uk_program *p, struct uk_statement *s) {
    for (int i = 0; i < s->ranges; i++) {
        int n = uk_iterator_number(s, s->ranged[i]);

        if (n < 0)
            return uk_program_fail(p, UK_REFUSED, s->range[i]->at,
                                   "%s is not an iterator of the statement; leave its range out",
                                   s->ranged[i]->name);
        if (!uk_check_affine(p, s->range[i], false))
            return false;
        uk_mark_extents(s->range[i]);
        s->extent[n] = s->range[i];
    }
    return true;
}

static bool is_affine(const struct uk_index *e) {
    switch (e->op) {
    case UK_I_INT:
    case UK_I_VAR:
        return true;
    case UK_I_NEG:
        return is_affine(e->a);
    case UK_I_MUL:
        return (uk_index_is_int(e->a, NULL) || uk_index_is_int(e->b, NULL)) && is_affine(e->a) &&
               is_affine(e->b);
    case UK_I_ADD:
    case UK_I_SUB:
        return is_affine(e->a) && is_affine(e->b);
    default:
        return false;
    }
}

/* 1 for one size (or for none of them), 0 for the others. */
static int64_t unit_value(const struct uk_var *v, void *one) {
    return v->defined ? v->value : v == one;
}

static int64_t difference(const struct uk_index *a, const struct uk_index *b, struct uk_var *one,
                          bool *overflow) {
    int64_t value;

    *overflow |= __builtin_sub_overflow(uk_index_eval(a, unit_value, one, overflow),
                                        uk_index_eval(b, unit_value, one, overflow), &value);
    return value;
}

/* Explains why no assumption can make two extents equal, except by making them empty; NULL: one can. Sizes
 * are >= 0, so a difference whose terms have one sign is 0 only if all terms are. In that case *smaller is
 * the extent that the other one exceeds. */
static const char *why_unequal(const struct uk_program *p, const struct uk_index *a, const struct uk_index *b,
                               const struct uk_index **smaller) {
    bool overflow = false, rises = false, falls = false;

    if (!is_affine(a) || !is_affine(b))
        return NULL;
    const int64_t zero = difference(a, b, NULL, &overflow);
    for (struct uk_var *v = p->sizes; v; v = v->next) {
        const int64_t one = difference(a, b, v, &overflow);

        rises |= one > zero;
        falls |= one < zero;
    }
    if (overflow || (rises && falls) || (rises && zero < 0) || (falls && zero > 0))
        return NULL;
    *smaller = zero < 0 || falls ? a : b;
    return zero ? "never equal" : rises || falls ? "different except for sizes of 0" : NULL;
}

/* Takes ranges from the dimensions of one access that an iterator indexes alone. */
static bool take_ranges(struct uk_program *p, struct uk_statement *s, const struct uk_access *a) {
    for (int i = 0; i < a->tensor->dims; i++) {
        const struct uk_index *e = a->index[i];
        const struct uk_index *smaller;
        const char *unequal;
        int n = e->op == UK_I_VAR && e->var->kind == UK_VAR_ITERATOR ? uk_iterator_number(s, e->var) : -1;

        if (n < 0 || is_given(s, e->var) || (a == &s->left && is_in_parts(p, a->tensor, i)))
            continue;
        if (!s->extent[n])
            s->extent[n] = a->tensor->shape[i];
        else if (!uk_same_extent(p, s->extent[n], a->tensor->shape[i]) &&
                 (unequal = why_unequal(p, s->extent[n], a->tensor->shape[i], &smaller)))
            return uk_program_fail(
                p, UK_REFUSED, e->at,
                "index %s has extent %s elsewhere, but dimension %d of %s has extent %s, and these are %s; "
                "make the extents equal, or give a range as in `where %s < %s`",
                e->var->name, extent_text(p, s->extent[n]), i, a->tensor->name,
                extent_text(p, a->tensor->shape[i]), unequal, e->var->name, extent_text(p, smaller));
        else if (!uk_same_extent(p, s->extent[n], a->tensor->shape[i]))
            return uk_program_fail(
                p, UK_REFUSED, e->at,
                "index %s has extent %s elsewhere, but dimension %d of %s has extent %s; make the extents "
                "equal, or add `assume %s == %s`, or give a range as in `where %s < %s`",
                e->var->name, extent_text(p, s->extent[n]), i, a->tensor->name,
                extent_text(p, a->tensor->shape[i]), extent_text(p, s->extent[n]),
                extent_text(p, a->tensor->shape[i]), e->var->name, extent_text(p, a->tensor->shape[i]));
    }
    return true;
}

static bool range_of_access(struct uk_program *p, struct uk_statement *s, struct uk_expr *e, bool padded) {
    return padded || e->op == UK_E_INDEX || take_ranges(p, s, &e->access);
}

/* Takes ranges from an access under pad(), for iterators that no other access gives a range. */
static bool range_of_padded(struct uk_program *p, struct uk_statement *s, struct uk_expr *e, bool padded) {
    (void)p;
    for (int i = 0; padded && i < e->access.tensor->dims; i++) {
        const struct uk_index *x = e->access.index[i];
        int n = x->op == UK_I_VAR && x->var->kind == UK_VAR_ITERATOR ? uk_iterator_number(s, x->var) : -1;

        if (n >= 0 && !s->extent[n])
            s->extent[n] = e->access.tensor->shape[i];
    }
    return true;
}

/* Takes a range from `where i < 3`, for an iterator without one: no tensor has the extent of a window. */
static void take_where(struct uk_statement *s, const struct uk_index *e) {
    int64_t extent;
    int n;

    if (!e)
        return;
    if (e->op == UK_I_AND) {
        take_where(s, e->a);
        take_where(s, e->b);
    }
    if (e->op != UK_I_LT || e->a->op != UK_I_VAR || e->a->var->kind != UK_VAR_ITERATOR)
        return;
    n = uk_iterator_number(s, e->a->var);
    if (n >= 0 && !s->extent[n] && uk_index_is_int(e->b, &extent) && extent > 0)
        s->extent[n] = e->b;
}

/* Takes the whole dimension as the range of an iterator that has none: a dimension written in parts need not
 * have its extent elsewhere. `offset`: selects the iterators written with an offset of 0, for which accesses
 * under pad() have precedence. */
static void range_of_whole(struct uk_statement *s, bool offset) {
    for (int d = 0; d < s->left.tensor->dims; d++) {
        const struct uk_index *e = s->left.index[d];
        int n = e->op == UK_I_VAR && e->is_offset == offset ? uk_iterator_number(s, e->var) : -1;

        if (n >= 0 && !s->extent[n])
            s->extent[n] = s->left.tensor->shape[d];
    }
}

static bool find_ranges(struct uk_program *p, struct uk_statement *s) {
    memset(s->extent, 0, sizeof s->extent);
    if (!given_ranges(p, s) || !take_ranges(p, s, &s->left) ||
        !visit_subscripts(p, s, &s->left, range_of_access) ||
        !visit_right(p, s, s->right, false, range_of_access))
        return false;
    range_of_whole(s, false);
    if (!visit_right(p, s, s->right, false, range_of_padded))
        return false;
    range_of_whole(s, true);
    take_where(s, s->where);
    for (int i = 0; i < s->iterators; i++)
        if (!s->extent[i])
            return uk_program_fail(
                p, UK_REFUSED, s->at,
                "%s has no range; it must stand alone in a subscript of some tensor, or be below a number "
                "after `where`, as in `where %s < 3`",
                s->iterator[i]->name, s->iterator[i]->name);
    return true;
}

static bool check_where(struct uk_program *p, struct uk_statement *s, const struct uk_index *e) {
    if (!e)
        return true;
    if (e->op == UK_I_AND)
        return check_where(p, s, e->a) && check_where(p, s, e->b);
    return uk_check_affine(p, e->a, true) && uk_check_affine(p, e->b, true) && all_known(p, s, e);
}

/* True if an earlier statement wrote the temp. */
static bool is_written_before(const struct uk_program *p, const struct uk_statement *s,
                              const struct uk_tensor *t) {
    for (const struct uk_statement *w = p->statements; w && w != s; w = w->next)
        if (w->left.tensor == t)
            return true;
    return false;
}

static bool check_temp_read(struct uk_program *p, struct uk_statement *s, struct uk_expr *e, bool padded) {
    (void)padded;
    if (e->op == UK_E_INDEX || e->access.tensor->kind != UK_TENSOR_TEMP ||
        is_written_before(p, s, e->access.tensor))
        return true;
    return uk_program_fail(p, UK_REFUSED, e->at,
                           "temp %s is read before a statement writes it; write it above",
                           e->access.tensor->name);
}

static bool check_statement(struct uk_program *p, struct uk_statement *s) {
    struct uk_tensor *t = s->left.tensor;

    if (t->is_constant)
        return uk_program_fail(p, UK_REFUSED, s->at,
                               "%s is constant, and this statement writes it; leave `constant` out, or write "
                               "another tensor",
                               t->name);
    if (t->is_finite)
        return uk_program_fail(p, UK_REFUSED, s->at,
                               "%s is finite, and this statement writes it; leave `finite` out, or write "
                               "another tensor",
                               t->name);
    const bool keeps = s->assign != UK_ASSIGN || uk_scatters(s);

    t->is_written = true;
    if (s->assign != UK_ASSIGN || (keeps && !is_written_before(p, s, t)))
        t->is_read = true;
    if (!uk_find_left_iterators(p, s) || !check_left_elements(p, s) ||
        !visit_right(p, s, s->right, false, check_access) || !check_where(p, s, s->where) ||
        !find_ranges(p, s) || !uk_check_types(p, s) || !visit_subscripts(p, s, &s->left, check_temp_read) ||
        !visit_right(p, s, s->right, false, check_temp_read))
        return false;
    if (keeps && t->kind == UK_TENSOR_TEMP && !is_written_before(p, s, t))
        return uk_program_fail(p, UK_REFUSED, s->at, "temp %s has no value yet; write it by = first",
                               t->name);
    return true;
}

/* True if both steps copy the same tensor for the whole program; then they may share the copy. */
static bool may_share(const struct uk_step *a, const struct uk_step *b) {
    return a != b && a->version == b->version && a->kind == b->kind &&
           uk_step_arguments(a->kind, UK_STEP_ARGUMENT_access) && !strcmp(a->subject, b->subject) &&
           !strcmp(a->loop->loop, "root") && !strcmp(b->loop->loop, "root");
}

/* Checks a name after `->`: it differs from the other new names, iterators, tensors and stages, so that later
 * steps are unambiguous. */
static bool check_new_name(struct uk_program *p, const struct uk_step *s, int n) {
    const char *name = s->name[n], *other = NULL;

    for (const struct uk_step *t = p->steps; t; t = t->next) {
        for (int i = 0; i < t->names && t->version == s->version && !(t == s && i == n); i++)
            if (!strcmp(t->name[i], name) && !may_share(t, s))
                other = "a name that a step made";
        if (t == s)
            break;
    }
    for (const struct uk_statement *t = p->statements; t; t = t->next)
        if (!strcmp(t->label, name))
            other = "a stage";
    if (uk_find_var(p->iterators, name))
        other = "an iterator";
    if (uk_find_tensor(p, name))
        other = "a tensor";
    if (other)
        uk_program_fail(p, UK_REFUSED, s->at, "%s is %s already; choose another name after ->", name, other);
    return !other;
}

/* Applies the rules; p->at is the position of failures that have none of their own. */
static enum uk_status check_rules(struct uk_program *p) {
    if (p->assumed) {
        uk_program_fail(p, UK_REFUSED, p->assumed->at,
                        "%s is not a size; use it in a shape, or add `size %s`", p->assumed->name,
                        p->assumed->name);
        return p->status;
    }
    for (struct uk_tensor *t = p->tensors; t; t = t->next) {
        p->at = t->at;
        if (!uk_check_tensor(p, t))
            return p->status;
        t->is_read = t->is_written = false;
    }
    for (const struct uk_assume *a = p->assumes; a; a = a->next) {
        p->at = a->at;
        if (!uk_check_affine(p, a->relation->a, false) || !uk_check_affine(p, a->relation->b, false))
            return p->status;
    }
    for (struct uk_statement *s = p->statements; s; s = s->next) {
        p->at = s->at;
        if (!check_statement(p, s))
            return p->status;
    }
    for (const struct uk_step *s = p->steps; s; s = s->next)
        for (int i = 0; i < s->names; i++)
            if (!check_new_name(p, s, i))
                return p->status;
    return uk_check_versions(p) ? UK_OK : p->status;
}

enum uk_status uk_check_program(struct uk_program *p) {
    if (p->status || p->is_checked)
        return p->status;
    struct uk_position before = p->at;
    enum uk_status status = check_rules(p);

    p->at = before;
    p->is_checked = !status;
    p->is_checked_for_sizes = false;
    return status;
}
