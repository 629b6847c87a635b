/* SPDX-License-Identifier: Apache-2.0 */
/* Elements used as subscripts: all that a statement uses are checked before it runs. */
#include <inttypes.h>
#include "interpret.h"

struct testing {
    struct uk_frame *f;
    struct uk_statement *s;
    const struct uk_index *element;
    struct uk_flat value; /* of the element, without the extent added to a negative one */
    int64_t lower, upper;
    struct uk_position at;
};

/* Puts "I[1, 2]": the element with the current values of its subscripts. */
static void put_element(struct uk_frame *f, struct uk_text *t, const struct uk_index *e) {
    const struct uk_access a = uk_element_access(e);

    uk_put(t, "%s[", a.tensor->name);
    for (int d = 0; d < a.tensor->dims; d++)
        uk_put(t, "%s%" PRId64, d ? ", " : "", uk_index_eval(a.index[d], uk_frame_value, f, &f->overflow));
    uk_put(t, "]");
}

bool uk_check_element(struct uk_frame *f, const struct uk_index *element, int64_t value, int64_t lower,
                      int64_t upper, struct uk_position at) {
    struct uk_text t = {0};

    if (f->status || (lower <= value && value < upper))
        return !f->status;
    put_element(f, &t, element);
    f->status = uk_fail(f->context, UK_INVALID_INDEX, at,
                        "%s is %" PRId64 ", but as a subscript it must be at least %" PRId64
                        " and less than %" PRId64 "; correct the data",
                        t.text ? t.text : element->tensor->name, value, lower, upper);
    uk_text_free(t.text);
    return false;
}

/* Iterators that occur neither in the element's subscripts nor in `where` stay at 0. */
static bool test_all(struct testing *t, int level) {
    struct uk_frame *f = t->f;
    int64_t *i = &f->slot[level];

    if (level == t->s->iterators)
        return (t->s->where && !uk_index_eval(t->s->where, uk_frame_value, f, &f->overflow)) ||
               uk_check_element(f, t->element, uk_flat_value(f, &t->value), t->lower, t->upper, t->at);
    *i = 0;
    if (!uk_mentions(t->element, t->s->iterator[level]) && !uk_mentions(t->s->where, t->s->iterator[level]))
        return test_all(t, level + 1);
    const int64_t extent = uk_index_eval(t->s->extent[level], uk_frame_value, f, &f->overflow);

    for (; *i < extent; ++*i)
        if (!test_all(t, level + 1))
            return false;
    return true;
}

static bool test(struct uk_frame *f, struct uk_statement *s, const struct uk_access *a, int d) {
    struct uk_index element = *a->index[d];
    struct testing t = {.f = f, .s = s, .element = &element, .at = a->at};

    t.upper = uk_index_eval(a->tensor->shape[d], uk_frame_value, f, &f->overflow);
    t.lower = element.wraps ? -t.upper : 0;
    element.wraps = false;
    element.b = NULL;
    return uk_flatten(f, &element, 1, &t.value) && test_all(&t, 0);
}

static bool test_access(struct uk_frame *f, struct uk_statement *s, const struct uk_access *a) {
    for (int d = 0; d < a->tensor->dims; d++)
        if (a->index[d]->op == UK_I_ELEMENT && !test(f, s, a, d))
            return false;
    return true;
}

static bool test_in(struct uk_frame *f, struct uk_statement *s, const struct uk_expr *e) {
    if (e->op == UK_E_ACCESS && !test_access(f, s, &e->access))
        return false;
    for (int i = 0; i < 3 && e->arg[i]; i++)
        if (!test_in(f, s, e->arg[i]))
            return false;
    return true;
}

enum uk_status uk_check_elements(struct uk_frame *f, struct uk_statement *s) {
    for (int i = 0; i < s->iterators; i++)
        s->iterator[i]->slot = i;
    if (test_access(f, s, &s->left))
        test_in(f, s, s->right);
    return f->status;
}
