/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of a tensor, its shape and attributes. */
#include "language/parse.h"

static struct uk_index *one_stride(struct uk_parser *ps) {
    struct uk_index *e = NULL;
    int64_t value;

    do {
        struct uk_index *factor;

        ps->p->at = ps->t->at;
        if (!e && ps->t->kind == UK_T_INT) {
            factor = uk_expect_int(ps, "an integer", &value) ? uk_integer(ps->p, value) : NULL;
        } else {
            struct uk_position at = ps->t->at;
            const char *name = uk_expect_name(ps, e ? "a size name" : "an integer or a size name");

            ps->p->at = at;
            factor = name ? uk_size(ps->p, name) : NULL;
        }
        if (!factor)
            return NULL;
        e = e ? uk_index_multiply(ps->p, e, factor) : factor;
    } while (e && uk_accept(ps, "*"));
    return e;
}

static bool parse_strides(struct uk_parser *ps, struct uk_tensor *t, int *count) {
    if (!uk_expect(ps, "[", "strides stand in [ ]"))
        return false;
    *count = 0;
    if (uk_accept(ps, "]"))
        return true;
    do {
        if (*count == UK_MAX_DIMS)
            return uk_program_fail(ps->p, UK_REFUSED, ps->t->at, "more than %d strides; join dimensions",
                                   UK_MAX_DIMS);
        if (!(t->stride[(*count)++] = one_stride(ps)))
            return false;
    } while (uk_accept(ps, ","));
    return uk_expect(ps, "]", "a stride is a product of an integer and sizes; separate strides by commas");
}

bool uk_parse_scope(struct uk_parser *ps, enum uk_scope *scope) {
    for (int i = 0; i <= UK_SCOPE_REGISTER; i++)
        if (uk_accept(ps, uk_scope_names[i])) {
            *scope = (enum uk_scope)i;
            return true;
        }
    return uk_expected(ps, "a scope", "scopes are global, shared and register");
}

/* Parses one attribute after the shape. `given` has a bit for each attribute seen so far. */
static bool parse_attribute(struct uk_parser *ps, struct uk_tensor *t, unsigned *given, int *strides) {
    static const char *const names[] = {"layout", "stride", "align", "over", "in", "constant", "finite"};
    enum { NAMES = sizeof names / sizeof *names };
    int64_t align;
    int i = 0, n;

    while (i < NAMES && !uk_next_is(ps, names[i]))
        i++;
    if (i == NAMES)
        return uk_expected(ps, "the end of the line",
                           "attributes of a tensor are layout, stride, align, over, in, constant and finite");
    if (*given & 1u << i)
        return uk_program_fail(ps->p, UK_REFUSED, ps->t->at, "%s is given twice; give it once", names[i]);
    *given |= 1u << i;
    ps->t++;
    ps->p->at = ps->t->at;
    switch (i) {
    case 0:
        return (t->layout = uk_parse_layout(ps));
    case 1:
        return parse_strides(ps, t, strides);
    case 2:
        if (!uk_expect_int(ps, "an alignment", &align))
            return false;
        uk_tensor_align(ps->p, t, align > 1 << 20 ? 1 << 20 : (int)align);
        return !ps->p->status;
    case 3:
        n = uk_parse_affines(ps, t->over);
        if (n >= 0 && n != t->dims)
            return uk_program_fail(
                ps->p, UK_REFUSED, ps->p->at,
                "`over` of %s: its dimensions are %d, the extents given are %d; give one each", t->name,
                t->dims, n);
        return t->has_over = n >= 0;
    case 4:
        return uk_parse_scope(ps, &t->scope);
    case 5:
        return t->is_constant = true;
    default:
        return t->is_finite = true;
    }
}

bool uk_parse_tensor(struct uk_parser *ps) {
    enum uk_tensor_kind kind = uk_token_is(&ps->t[-1], "temp") ? UK_TENSOR_TEMP : UK_TENSOR_ARGUMENT;
    struct uk_position at = ps->t->at;
    const char *name = uk_expect_name(ps, "a tensor name");
    enum uk_type type = name ? uk_expect_type(ps) : UK_TYPES;
    int strides = 0;
    unsigned given = 0;

    if (type == UK_TYPES)
        return false;
    ps->p->at = at;
    struct uk_tensor *t = uk_add_tensor(ps->p, kind, name, type);

    ps->names = UK_NAMES_SIZE;
    if (!t || (t->dims = uk_parse_affines(ps, t->shape)) < 0)
        return false;
    t->stored_dims = t->dims;
    while (ps->t->kind != UK_T_NEWLINE && ps->t->kind != UK_T_END)
        if (!parse_attribute(ps, t, &given, &strides))
            return false;
    if (t->layout)
        t->stored_dims = t->layout->to_count;
    t->has_strides = given & 2;
    if (t->has_strides && strides != t->stored_dims)
        return uk_program_fail(
            ps->p, UK_REFUSED, at, "%s has %d stored dimension%s and %d stride%s; give one each", name,
            t->stored_dims, t->stored_dims == 1 ? "" : "s", strides, strides == 1 ? "" : "s");
    return true;
}
