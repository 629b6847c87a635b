/*
 * Sizes, strides and scalars for one call of a kernel: random ones, edges more often, within what the declaration
 * assumes.
 */
#include <string.h>
#include "interpret.h"
#include "verify.h"

enum { TRIES = 4000, LARGEST_SIZE = 130, LARGEST_GAP = 20, ONE_IN_FAR = 24 };
/* Between the rows of an operand, once in a while: a stride cut to 32 bits is then its row's length. */
static const int64_t far_gap = (int64_t)1 << 32;

/* splitmix64 */
uint64_t uk_verify_random(struct uk_verifier *v, uint64_t n) {
    uint64_t x = v->seed += 0x9e3779b97f4a7c15;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return (x ^ (x >> 31)) % n;
}

int64_t uk_verify_size(const struct uk_var *var, void *verifier) {
    return ((const struct uk_verifier *)verifier)->size[var->number];
}

static int64_t value(struct uk_verifier *v, const struct uk_index *e) {
    bool overflow = false;
    int64_t n = uk_index_eval(e, uk_verify_size, v, &overflow);

    return overflow ? -1 : n;
}

/* ---- extents ---- */

/* What `var <= c` and `c <= var` among the assumptions say. */
static void bounds(const struct uk_verifier *v, const struct uk_var *var, int64_t *least, int64_t *most) {
    *least = 0;
    *most = LARGEST_SIZE;
    for (const struct uk_assume *a = v->intrinsic->declaration->assumes; a; a = a->next) {
        const struct uk_index *r = a->relation;
        bool turned = r->b && r->b->op == UK_I_VAR && r->b->var == var;
        const struct uk_index *name = turned ? r->b : r->a, *other = turned ? r->a : r->b;
        int64_t c;

        if (!other || name->op != UK_I_VAR || name->var != var || !uk_index_is_int(other, &c))
            continue;
        enum uk_index_op op = r->op;
        if (turned)
            op = op == UK_I_LE   ? UK_I_GE
                 : op == UK_I_LT ? UK_I_GT
                 : op == UK_I_GE ? UK_I_LE
                 : op == UK_I_GT ? UK_I_LT
                                 : op;
        if ((op == UK_I_LE || op == UK_I_LT || op == UK_I_EQ) && c - (op == UK_I_LT) < *most)
            *most = c - (op == UK_I_LT);
        if ((op == UK_I_GE || op == UK_I_GT || op == UK_I_EQ) && c + (op == UK_I_GT) > *least)
            *least = c + (op == UK_I_GT);
    }
    if (*most < *least)
        *most = *least;
}

static int64_t choose_extent(struct uk_verifier *v, const struct uk_var *var) {
    static const unsigned char favourite[] = {0,  1,  2,  3,  4,  7,  8,  9,  12,
                                              15, 16, 17, 24, 31, 32, 33, 64, 128};
    int64_t least, most;

    bounds(v, var, &least, &most);
    switch (uk_verify_random(v, 4)) {
    case 0:
        return least;
    case 1:
        if (most < LARGEST_SIZE)
            return most;
        /* fall through */
    case 2: {
        int64_t f = favourite[uk_verify_random(v, sizeof favourite)];

        if (f >= least && f <= most)
            return f;
    }
        /* fall through */
    default:
        return least + (int64_t)uk_verify_random(v, (uint64_t)(most - least) + 1);
    }
}

static bool mentions(const struct uk_index *e, const struct uk_var *var) {
    return e && ((e->op == UK_I_VAR && e->var == var) || mentions(e->a, var) || mentions(e->b, var) ||
                 mentions(e->c, var));
}

/* `P == (H + 1) / 2` gives P its value. */
static void follow_equalities(struct uk_verifier *v) {
    for (const struct uk_assume *a = v->intrinsic->declaration->assumes; a; a = a->next) {
        const struct uk_index *l = a->relation->a, *r = a->relation->b;

        if (a->relation->op != UK_I_EQ)
            continue;
        if (l->op == UK_I_VAR && !mentions(r, l->var))
            v->size[l->var->number] = value(v, r);
        else if (r->op == UK_I_VAR && !mentions(l, r->var))
            v->size[r->var->number] = value(v, l);
    }
}

/* ---- strides ---- */

/* Dimensions as stored, from the innermost outwards: constant strides by size, then names, the last one first. */
static void inner_first(const struct uk_tensor *t, int order[UK_MAX_DIMS]) {
    int64_t key[UK_MAX_DIMS];

    for (int i = 0; i < t->stored_dims; i++) {
        int d = t->stored_dims - 1 - i, j = i;
        int64_t k;

        if (!uk_index_is_int(t->stride[d], &k))
            k = INT64_MAX;
        for (; j > 0 && key[j - 1] > k; j--) {
            key[j] = key[j - 1];
            order[j] = order[j - 1];
        }
        key[j] = k;
        order[j] = d;
    }
}

/* Does the form take this size as something narrower than 64 bits? */
static bool is_narrow(const struct uk_verifier *v, const struct uk_var *var) {
    const struct uk_form *f = &v->intrinsic->form[v->form];

    for (int i = 0; i < f->arguments; i++)
        if (f->argument[i].size == var && f->argument[i].ctype != UK_I64)
            return true;
    return false;
}

static int64_t gap(struct uk_verifier *v, const struct uk_var *var, int64_t least) {
    switch (uk_verify_random(v, 4)) {
    case 0:
        return 0;
    case 1:
        return 15 - (least + 15) % 16;
    default:
        if (!is_narrow(v, var) && !uk_verify_random(v, ONE_IN_FAR))
            return far_gap;
        return (int64_t)uk_verify_random(v, LARGEST_GAP);
    }
}

/* Names that stand only in strides become at least what keeps the rows of every tensor apart. */
static void choose_strides(struct uk_verifier *v) {
    const struct uk_program *p = v->intrinsic->declaration;

    for (const struct uk_var *var = p->sizes; var; var = var->next)
        if (!var->is_extent)
            v->size[var->number] = 0;
    for (int round = 0; round < 2; round++)
        for (const struct uk_tensor *t = p->tensors; t; t = t->next) {
            int order[UK_MAX_DIMS];
            int64_t need = 1;

            inner_first(t, order);
            for (int i = 0; i < t->stored_dims; i++) {
                const struct uk_index *stride = t->stride[order[i]];
                int64_t extent = value(v, t->stored[order[i]]);

                if (stride->op == UK_I_VAR && !stride->var->is_extent && v->size[stride->var->number] < need)
                    v->size[stride->var->number] = need + gap(v, stride->var, need);
                need += extent > 1 ? (extent - 1) * value(v, stride) : 0;
            }
        }
}

/* Rows that are only read may overlap, as those of a convolution's image do. */
static void overlap_rows(struct uk_verifier *v) {
    for (const struct uk_var *var = v->intrinsic->declaration->sizes; var; var = var->next) {
        bool written = var->is_extent;

        for (const struct uk_tensor *t = v->intrinsic->declaration->tensors; t; t = t->next)
            for (int d = 0; d < t->stored_dims; d++)
                written |= t->is_written && mentions(t->stride[d], var);
        if (!written && !uk_verify_random(v, 8) && v->size[var->number] < far_gap)
            v->size[var->number] = (int64_t)uk_verify_random(v, (uint64_t)v->size[var->number] + 1);
    }
}

/* ---- the whole ---- */

static bool rows_are_apart(struct uk_verifier *v, const struct uk_tensor *t) {
    int64_t need = 1;
    int order[UK_MAX_DIMS];

    inner_first(t, order);
    for (int i = 0; i < t->stored_dims; i++) {
        int64_t extent = value(v, t->stored[order[i]]), stride = value(v, t->stride[order[i]]);

        if (extent <= 1)
            continue;
        if (stride < need)
            return false;
        need += (extent - 1) * stride;
    }
    return true;
}

static bool is_small(struct uk_verifier *v) {
    const struct uk_program *p = v->intrinsic->declaration;

    for (const struct uk_tensor *t = p->tensors; t; t = t->next) {
        int64_t count = 1;

        for (int d = 0; d < t->stored_dims && count <= UK_VERIFY_ELEMENTS; d++) {
            int64_t extent = value(v, t->stored[d]);

            if (extent < 0)
                return false;
            count *= extent;
        }
        if (count > UK_VERIFY_ELEMENTS || uk_tensor_elements(t, uk_verify_size, v) < 0)
            return false;
    }
    for (const struct uk_statement *s = p->statements; s; s = s->next) {
        int64_t instances = 1;

        for (int i = 0; i < s->iterators && instances <= UK_VERIFY_INSTANCES; i++)
            instances *= value(v, s->extent[i]);
        if (instances > UK_VERIFY_INSTANCES)
            return false;
    }
    return true;
}

static bool is_allowed(struct uk_verifier *v) {
    const struct uk_program *p = v->intrinsic->declaration;

    for (const struct uk_var *var = p->sizes; var; var = var->next)
        if (v->size[var->number] < 0)
            return false;
    for (const struct uk_assume *a = p->assumes; a; a = a->next)
        if (value(v, a->relation) <= 0)
            return false;
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        for (int d = 0; d < t->dims; d++)
            if (value(v, t->shape[d]) < 0)
                return false;
    if (!is_small(v))
        return false;
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        if (t->is_written && !rows_are_apart(v, t))
            return false;
    return true;
}

bool uk_verify_choose(struct uk_verifier *v) {
    const struct uk_program *p = v->intrinsic->declaration;
    int n = 0;

    for (const struct uk_scalar *s = p->scalars; s; s = s->next)
        v->scalar[n++] = (double)uk_verify_random(v, 7) - (s->type == UK_U8 ? 0 : 3);
    for (int tries = 0; tries < TRIES; tries++) {
        for (const struct uk_var *var = p->sizes; var; var = var->next)
            if (var->is_extent)
                v->size[var->number] = choose_extent(v, var);
        follow_equalities(v);
        choose_strides(v);
        overlap_rows(v);
        if (is_allowed(v))
            return true;
    }
    return false;
}

void uk_verify_words(const struct uk_verifier *v, int64_t words[UK_VERIFY_WORDS]) {
    const struct uk_form *f = &v->intrinsic->form[v->form];

    for (int i = 0; i < f->arguments; i++) {
        const struct uk_argument *a = &f->argument[i];
        enum uk_type type = a->ctype < UK_TYPES ? (enum uk_type)a->ctype : UK_I64;
        union uk_value x = {.i = a->size ? v->size[a->size->number] : a->number};
        int n = 0;

        words[i] = 0;
        if (a->tensor) {
            while (v->memory[n].tensor != a->tensor)
                n++;
            words[i] = (int64_t)(intptr_t)v->memory[n].origin;
            continue;
        }
        for (const struct uk_scalar *s = v->intrinsic->declaration->scalars; a->scalar && s != a->scalar;
             s = s->next)
            n++;
        if (uk_type_is_float(type))
            x.d = a->scalar ? v->scalar[n] : a->real;
        else if (a->scalar)
            x.i = (int64_t)v->scalar[n];
        uk_store(type, &words[i], 0, x);
    }
}
