/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on a program's sizes, with messages in the program's terms: on constants at compile time, on all
 * sizes for a call. */
#include <inttypes.h>
#include "language.h"

static const struct uk_position nowhere = {0, 0};

/* Known values of sizes: of all, or only of those that are defined. */
struct given {
    const int64_t *size; /* by number; NULL: only defined sizes are known */
    bool known;
};

static int64_t value_of(const struct uk_var *v, void *user) {
    struct given *g = user;

    if (v->defined)
        return v->value;
    if (v->definition) {
        bool overflow = false;

        return uk_index_eval(v->definition, value_of, user, &overflow);
    }
    g->known = g->known && g->size;
    return g->size ? g->size[v->number] : 1;
}

/* True if the value is known. An overflow counts as known and sets *overflow. */
static bool evaluate(const struct uk_index *e, const int64_t *size, int64_t *value, bool *overflow) {
    struct given g = {size, true};

    *overflow = false;
    *value = uk_index_eval(e, value_of, &g, overflow);
    return g.known;
}

/* ---- one tensor ---- */

static enum uk_status refuse_element_count(const struct uk_program *p, const struct uk_tensor *t) {
    return uk_fail(p->context, UK_INVALID_SIZE, t->at,
                   "%s is too large for this address space; use smaller sizes", t->name);
}

/* Checks the extents. UK_OK with *empty, or with *known false: nothing else can be checked. */
static enum uk_status check_extents(const struct uk_program *p, const struct uk_tensor *t,
                                    const int64_t *size, bool *empty, bool *known) {
    struct uk_text text = {0};
    int64_t extent;
    bool overflow, bad = false;

    *empty = false;
    *known = true;
    for (int d = 0; d < t->dims && !bad; d++) {
        if (!evaluate(t->shape[d], size, &extent, &overflow)) {
            *known = false;
            continue;
        }
        *empty |= !extent && !overflow;
        if (!overflow && extent >= 0)
            continue;
        bad = true;
        uk_print_index(&text, t->shape[d]);
        if (overflow)
            uk_fail(p->context, UK_INVALID_SIZE, t->at,
                    "the extent %s of dimension %d of %s overflows; use smaller sizes",
                    text.text ? text.text : "?", d, t->name);
        else
            uk_fail(p->context, UK_INVALID_SIZE, t->at,
                    "the extent %s of dimension %d of %s is %" PRId64 ", which is negative; use another size",
                    text.text ? text.text : "?", d, t->name, extent);
    }
    uk_text_free(text.text);
    return bad ? uk_failure(p->context) : UK_OK;
}

void uk_order_by_stride(const struct uk_tensor *t, int order[UK_MAX_DIMS]) {
    int64_t key[UK_MAX_DIMS];

    for (int i = 0; i < t->stored_dims; i++) {
        int d = t->stored_dims - 1 - i, j = i;
        int64_t k = INT64_MAX;

        if (uk_index_is_int(t->stride[d], &k) && k == INT64_MAX)
            k--;
        for (; j > 0 && key[j - 1] > k; j--) {
            key[j] = key[j - 1];
            order[j] = order[j - 1];
        }
        key[j] = k;
        order[j] = d;
    }
}

static enum uk_status short_stride(const struct uk_program *p, const struct uk_tensor *t, int d,
                                   int64_t stride, int64_t need) {
    struct uk_text text = {0};

    uk_print_index(&text, t->stride[d]);
    enum uk_status status = uk_fail(p->context, UK_INVALID_SIZE, t->at,
                                    "the stride %s of dimension %d of %s is %" PRId64
                                    ", and the dimensions inside of it reach over %" PRId64
                                    " elements; make it %" PRId64 " or more",
                                    text.text ? text.text : "?", d, t->name, stride, need, need);
    uk_text_free(text.text);
    return status;
}

/* Checks that strides keep elements apart and that the last element is addressable. */
static enum uk_status check_strides(const struct uk_program *p, const struct uk_tensor *t,
                                    const int64_t *size, int64_t most_bytes) {
    int64_t need = 1, bytes;
    int order[UK_MAX_DIMS];

    uk_order_by_stride(t, order);
    for (int i = 0; i < t->stored_dims; i++) {
        int64_t extent, stride, span;
        bool overflow, far;

        if (!evaluate(t->stored[order[i]], size, &extent, &overflow) || overflow)
            return overflow ? refuse_element_count(p, t) : UK_OK;
        if (!evaluate(t->stride[order[i]], size, &stride, &far))
            return UK_OK;
        if (far && extent > 1)
            return refuse_element_count(p, t);
        if (t->has_strides && extent > 1 && stride < need)
            return short_stride(p, t, order[i], stride, need);
        if (extent > 1 &&
            (__builtin_mul_overflow(extent - 1, stride, &span) || __builtin_add_overflow(need, span, &need)))
            return refuse_element_count(p, t);
    }
    bool far = __builtin_mul_overflow(need, (int64_t)uk_type_bytes(t->type), &bytes) || bytes > most_bytes;
    return far ? refuse_element_count(p, t) : UK_OK;
}

/* Checks constant extents, for any values of the other sizes except 0. */
static enum uk_status check_known_extents(const struct uk_program *p, const struct uk_tensor *t,
                                          int64_t most_bytes) {
    int64_t bytes = (int64_t)uk_type_bytes(t->type), extent;
    bool overflow;

    for (int d = 0; d < t->dims; d++)
        if (evaluate(t->shape[d], NULL, &extent, &overflow) &&
            (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > most_bytes))
            return refuse_element_count(p, t);
    return UK_OK;
}

static enum uk_status check_tensor(const struct uk_program *p, const struct uk_tensor *t, const int64_t *size,
                                   int64_t most_bytes) {
    bool empty, known;
    enum uk_status status = check_extents(p, t, size, &empty, &known);

    if (status || empty)
        return status;
    return known ? check_strides(p, t, size, most_bytes) : check_known_extents(p, t, most_bytes);
}

/* ---- the program ---- */

enum uk_status uk_check_has_statement(const struct uk_program *p, struct uk_position at) {
    if (p->statements)
        return UK_OK;
    return uk_fail(p->context, UK_REFUSED, at,
                   "the program has no statement; write what it computes, as in C[m, n] = A[m, n] + B[m, n]");
}

enum uk_status uk_check_constants(const struct uk_program *p, int64_t most_bytes) {
    enum uk_status status = uk_check_has_statement(p, nowhere);

    for (const struct uk_tensor *t = p->tensors; t && !status; t = t->next)
        status = check_tensor(p, t, NULL, most_bytes);
    return status;
}

static bool has_size(const struct uk_index *e, const struct uk_var *v) {
    return e && (e->var == v || has_size(e->a, v) || has_size(e->b, v) || has_size(e->c, v));
}

/* Appends the sizes in e with their values: "P = 3, H = 7". */
static void put_sizes(struct uk_text *t, const struct uk_program *p, const struct uk_index *e,
                      const int64_t *size) {
    const char *between = "";

    for (const struct uk_var *v = p->sizes; v; v = v->next) {
        if (!has_size(e, v))
            continue;
        uk_put(t, "%s%s = %" PRId64, between, v->name, v->defined ? v->value : size[v->number]);
        between = ", ";
    }
}

enum uk_status uk_check_relation(const struct uk_program *p, const struct uk_index *e, const int64_t *size,
                                 struct uk_position at, const char *before, const char *after) {
    struct uk_text relation = {0}, values = {0};
    int64_t holds;
    bool overflow;

    if (evaluate(e, size, &holds, &overflow) && holds && !overflow)
        return UK_OK;
    uk_print_index(&relation, e);
    put_sizes(&values, p, e, size);
    enum uk_status status =
        uk_fail(p->context, UK_INVALID_SIZE, at, "%s%s%s for %s; use other sizes", before,
                relation.text ? relation.text : "?", after, values.text ? values.text : "?");
    uk_text_free(relation.text);
    uk_text_free(values.text);
    return status;
}

enum uk_status uk_check_overlap(const struct uk_program *p, const int64_t *size) {
    enum uk_status status = UK_OK;

    for (const struct uk_tensor *t = p->tensors; t && !status; t = t->next)
        if (t->has_strides)
            status = check_tensor(p, t, size, INT64_MAX);
    return status;
}

enum uk_status uk_check_sizes(const struct uk_program *p, const int64_t *size, int64_t most_bytes) {
    enum uk_status status = UK_OK;

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (v->is_extent && !v->defined && size[v->number] < 0)
            return uk_fail(p->context, UK_INVALID_SIZE, v->at,
                           "the size %s is %" PRId64 ", which is negative; take one of 0 or more", v->name,
                           size[v->number]);
    for (const struct uk_assume *a = p->assumes; a && !status; a = a->next)
        status = uk_check_relation(p, a->relation, size, a->at, "assume ", " does not hold");
    for (const struct uk_tensor *t = p->tensors; t && !status; t = t->next)
        status = check_tensor(p, t, size, most_bytes);
    return status;
}
