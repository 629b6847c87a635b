/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and strides of a program's tensors for given sizes; finds the sizes for which a caller's arrays are
 * the program's tensors. */
#include <inttypes.h>
#include "language.h"

/* Value of sizes that are not known yet; sizes are >= 0. */
enum { UNKNOWN = -1 };

struct solution {
    const struct uk_program *program;
    int64_t *size; /* by number */
    bool has_changed;
};

/* The value factor * unknown + rest. */
struct linear {
    const struct uk_var *unknown; /* NULL: the value is known, it is rest */
    int64_t factor, rest;
};

static int64_t value_of(const struct uk_var *v, void *sizes) {
    return ((const int64_t *)sizes)[v->number];
}

static bool is_known(const struct uk_index *e, const int64_t *size) {
    return !e || ((e->op != UK_I_VAR || size[e->var->number] != UNKNOWN) && is_known(e->a, size) &&
                  is_known(e->b, size) && is_known(e->c, size));
}

/* Combines two operands of a sum or a product; false if the result is not linear in one unknown. */
static bool combine(enum uk_index_op op, const struct linear *a, const struct linear *b, struct linear *l) {
    if ((a->unknown && b->unknown && a->unknown != b->unknown) ||
        (op == UK_I_MUL && a->unknown && b->unknown))
        return false;
    l->unknown = a->unknown ? a->unknown : b->unknown;
    if (op == UK_I_ADD)
        return !__builtin_add_overflow(a->factor, b->factor, &l->factor) &&
               !__builtin_add_overflow(a->rest, b->rest, &l->rest);
    if (op == UK_I_SUB)
        return !__builtin_sub_overflow(a->factor, b->factor, &l->factor) &&
               !__builtin_sub_overflow(a->rest, b->rest, &l->rest);
    const struct linear *x = a->unknown ? a : b, *by = a->unknown ? b : a;

    return !__builtin_mul_overflow(x->factor, by->rest, &l->factor) &&
           !__builtin_mul_overflow(x->rest, by->rest, &l->rest);
}

/* Reads the expression as linear in one unknown size; false if it has several or is not linear. */
static bool read_linear(const struct uk_index *e, int64_t *size, struct linear *l) {
    struct linear a = {0}, b = {0};
    bool overflow = false;

    *l = (struct linear){0};
    if (is_known(e, size)) {
        l->rest = uk_index_eval(e, value_of, size, &overflow);
        return !overflow;
    }
    switch (e->op) {
    case UK_I_VAR:
        *l = (struct linear){e->var, 1, 0};
        return true;
    case UK_I_ADD:
    case UK_I_SUB:
    case UK_I_MUL:
        return read_linear(e->a, size, &a) && read_linear(e->b, size, &b) && combine(e->op, &a, &b, l);
    case UK_I_NEG:
        return read_linear(e->a, size, &a) && combine(UK_I_SUB, &b, &a, l);
    default:
        return false;
    }
}

/* Solves l == r for its only unknown size. If there is no solution, the size stays unknown, or check_solution
 * refuses it. */
static void solve(struct solution *s, const struct linear *l, const struct linear *r) {
    struct linear d;

    if (!combine(UK_I_SUB, l, r, &d) || !d.unknown || !d.factor || d.rest == INT64_MIN ||
        -d.rest % d.factor || -d.rest / d.factor < 0)
        return;
    s->size[d.unknown->number] = -d.rest / d.factor;
    s->has_changed = true;
}

static void solve_value(struct solution *s, const struct uk_index *e, int64_t value) {
    struct linear l;

    if (read_linear(e, s->size, &l) && l.unknown)
        solve(s, &l, &(struct linear){.rest = value});
}

static void solve_relation(struct solution *s, const struct uk_index *e) {
    struct linear l, r;

    if (e->op == UK_I_AND) {
        solve_relation(s, e->a);
        solve_relation(s, e->b);
    } else if (e->op == UK_I_EQ && read_linear(e->a, s->size, &l) && read_linear(e->b, s->size, &r)) {
        solve(s, &l, &r);
    }
}

/* Solves for the sizes by the arrays and the assumptions until nothing changes. */
static void solve_all(struct solution *s, const int64_t *const extents[], const int64_t *const strides[]) {
    do {
        int i = 0;

        s->has_changed = false;
        for (const struct uk_tensor *t = s->program->tensors; t; t = t->next) {
            if (t->kind != UK_TENSOR_ARGUMENT)
                continue;
            for (int d = 0; d < t->stored_dims && extents[i]; d++) {
                solve_value(s, t->stored[d], extents[i][d]);
                if (strides && strides[i] && extents[i][d] > 1)
                    solve_value(s, t->stride[d], strides[i][d]);
            }
            i++;
        }
        for (const struct uk_assume *a = s->program->assumes; a; a = a->next)
            solve_relation(s, a->relation);
    } while (s->has_changed);
}

/* Gives each stride that is still unknown its smallest value. Strides stay unknown for dimensions of one
 * element and for tensors that do not exist yet. */
static void choose_strides(struct solution *s) {
    for (const struct uk_tensor *t = s->program->tensors; t; t = t->next) {
        int order[UK_MAX_DIMS];
        int64_t need = 1, span;

        uk_order_by_stride(t, order);
        for (int i = 0; i < t->stored_dims; i++) {
            const struct uk_index *stride = t->stride[order[i]];
            struct linear l, extent;

            if (!read_linear(stride, s->size, &l) || !read_linear(t->stored[order[i]], s->size, &extent) ||
                extent.unknown)
                break;
            if (l.unknown && !l.unknown->is_extent && l.factor > 0 && !l.rest)
                s->size[l.unknown->number] = (need - 1) / l.factor + 1;
            if (!is_known(stride, s->size))
                break;
            bool overflow = false;
            const int64_t step = uk_index_eval(stride, value_of, s->size, &overflow);

            if (overflow || (extent.rest > 1 && (__builtin_mul_overflow(extent.rest - 1, step, &span) ||
                                                 __builtin_add_overflow(need, span, &need))))
                break;
        }
    }
}

/* ---- arrays that do not fit ---- */

static enum uk_status refuse(const struct uk_program *p, const struct uk_tensor *t, int d, bool is_stride,
                             int64_t given, const struct uk_index *e, int64_t *size) {
    struct uk_text text = {0};
    bool overflow = false;
    const int64_t value = uk_index_eval(e, value_of, size, &overflow);

    uk_print_index(&text, e);
    if (e->op != UK_I_INT && !overflow)
        uk_put(&text, " = %" PRId64, value);
    const char *const written = text.text ? text.text : "?";
    enum uk_status status =
        is_stride ? uk_fail(p->context, UK_INVALID_SIZE, t->at,
                            "elements along dimension %d of %s are %" PRId64
                            " apart, but the program says %s; copy the array so, or declare a stride",
                            d, t->name, given, written)
                  : uk_fail(p->context, UK_INVALID_SIZE, t->at,
                            "dimension %d of %s has %" PRId64
                            " elements, but the program says %s; give an array of that shape",
                            d, t->name, given, written);
    uk_text_free(text.text);
    return status;
}

static enum uk_status check_array(const struct uk_program *p, const struct uk_tensor *t,
                                  const int64_t *extents, const int64_t *strides, int64_t *size) {
    bool overflow = false, is_empty = false;

    for (int d = 0; d < t->stored_dims; d++) {
        is_empty |= !extents[d];
        if (uk_index_eval(t->stored[d], value_of, size, &overflow) != extents[d] || overflow)
            return refuse(p, t, d, false, extents[d], t->stored[d], size);
    }
    for (int d = 0; d < t->stored_dims && strides && !is_empty; d++)
        if (extents[d] > 1 &&
            (uk_index_eval(t->stride[d], value_of, size, &overflow) != strides[d] || overflow))
            return refuse(p, t, d, true, strides[d], t->stride[d], size);
    return UK_OK;
}

static enum uk_status check_solution(const struct solution *s, const int64_t *const extents[],
                                     const int64_t *const strides[]) {
    const struct uk_program *p = s->program;
    enum uk_status status = UK_OK;
    int i = 0;

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (s->size[v->number] == UNKNOWN)
            return uk_fail(p->context, UK_INVALID_SIZE, v->at,
                           "no array gives the size %s; give its value, or another array", v->name);
    for (const struct uk_tensor *t = p->tensors; t && !status; t = t->next)
        if (t->kind == UK_TENSOR_ARGUMENT) {
            if (extents[i])
                status = check_array(p, t, extents[i], strides ? strides[i] : NULL, s->size);
            i++;
        }
    return status ? status : uk_check_sizes(p, s->size, INT64_MAX);
}

enum uk_status uk_program_solve_sizes(struct uk_program *p, const int64_t *const extents[],
                                      const int64_t *const strides[], int64_t *sizes) {
    enum uk_status status = uk_check_rules(p);

    if (!status && uk_program_tensors(p))
        status = uk_require(p->context, extents, "the list of extents");
    if (!status && p->size_count)
        status = uk_require(p->context, sizes, "the place for the sizes");
    if (status)
        return status;
    struct solution s = {p, sizes, false};

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (v->defined)
            sizes[v->number] = v->value;
        else if (sizes[v->number] < 0)
            sizes[v->number] = UNKNOWN;
    solve_all(&s, extents, NULL);
    solve_all(&s, extents, strides); /* second, since extents take precedence over strides */
    choose_strides(&s);
    return check_solution(&s, extents, strides);
}

/* ---- tensors one by one ---- */

int uk_program_tensor_dims(const struct uk_program *p, int i) {
    const struct uk_tensor *t = uk_argument_at(p, i);

    return t ? t->stored_dims : 0;
}

/* The dimension's extent or stride; -1: no such dimension, or overflow. */
static int64_t of_dimension(const struct uk_program *p, int i, int d, const int64_t *sizes, bool is_stride) {
    const struct uk_tensor *t = uk_argument_at(p, i);
    bool overflow = false;

    if (!t || d < 0 || d >= t->stored_dims || (!sizes && p->size_count))
        return -1;
    const int64_t value =
        uk_index_eval(is_stride ? t->stride[d] : t->stored[d], value_of, (void *)(uintptr_t)sizes, &overflow);

    return overflow || value < 0 ? -1 : value;
}

int64_t uk_program_tensor_extent(const struct uk_program *p, int i, int d, const int64_t *sizes) {
    return of_dimension(p, i, d, sizes, false);
}

int64_t uk_program_tensor_stride(const struct uk_program *p, int i, int d, const int64_t *sizes) {
    return of_dimension(p, i, d, sizes, true);
}

bool uk_program_tensor_read(const struct uk_program *p, int i) {
    const struct uk_tensor *t = uk_argument_at(p, i);

    return t && t->is_read;
}

bool uk_program_tensor_constant(const struct uk_program *p, int i) {
    const struct uk_tensor *t = uk_argument_at(p, i);

    return t && t->is_constant;
}

int uk_program_tensor_alignment(const struct uk_program *p, int i) {
    const struct uk_tensor *t = uk_argument_at(p, i);

    return !t ? 0 : t->align ? t->align : (int)uk_type_bytes(t->type);
}
