/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of tensors' elements and their subscripts. */
#include "language/parse.h"

static struct uk_tensor *named_tensor(struct uk_parser *ps) {
    const struct uk_position at = ps->t->at;
    const char *name = uk_expect_name(ps, "an element");
    struct uk_tensor *x = name ? uk_find_tensor(ps->p, name) : NULL;

    if (name && !x)
        return uk_program_fail(ps->p, UK_REFUSED, at,
                               "%s is not a tensor; declare it above, `tensor %s f32 [...]`", name, name);
    return x;
}

static bool has_dims(struct uk_parser *ps, const struct uk_tensor *t, int n, struct uk_position at) {
    return n == t->dims || uk_program_fail(ps->p, UK_REFUSED, at,
                                           "%s has %d dimension%s and %d subscript%s here; give one each",
                                           t->name, t->dims, t->dims == 1 ? "" : "s", n, n == 1 ? "" : "s");
}

/* An element as a subscript: I[k] or wrap(I[k]). */
static struct uk_index *index_element(struct uk_parser *ps) {
    const struct uk_position at = ps->t->at;
    const bool wraps = uk_accept(ps, "wrap");
    struct uk_index *list[UK_MAX_DIMS], *e;

    if (wraps && !uk_expect(ps, "(", "write wrap(I[k])"))
        return NULL;
    struct uk_tensor *t = named_tensor(ps);
    int n = t ? uk_parse_affines(ps, list) : -1;

    if (n < 0 || !has_dims(ps, t, n, at))
        return NULL;
    ps->p->at = at;
    e = uk_index_element(ps->p, t, list);
    if (!wraps || !e)
        return e;
    return uk_expect(ps, ")", "close the bracket") ? uk_index_wrap(ps->p, e) : NULL;
}

static struct uk_index *subscript(struct uk_parser *ps) {
    const bool is_name = ps->t->kind == UK_T_WORD && uk_token_is(ps->t + 1, "[");
    struct uk_index *e;

    if (!is_name && !uk_next_is(ps, "wrap"))
        return uk_parse_affine(ps);
    e = index_element(ps);
    if (e && !uk_next_is(ps, ",") && !uk_next_is(ps, "]"))
        return uk_expected(
            ps, "',' or ']'",
            "an element of a tensor is a whole subscript; compute another index beforehand, in a "
            "tensor");
    return e;
}

struct uk_tensor *uk_parse_access(struct uk_parser *ps, struct uk_index *index[]) {
    const struct uk_position at = ps->t->at;
    struct uk_tensor *x = named_tensor(ps);
    int n = x ? uk_parse_list(ps, index, subscript) : -1;

    if (n < 0 || !has_dims(ps, x, n, at))
        return NULL;
    ps->p->at = at;
    return x;
}
