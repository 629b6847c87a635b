/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one statement: first proves that every subscript is inside, then runs the loops. */
#include <inttypes.h>
#include <math.h>
#include "interpret.h"

enum { UK_MAX_GUARDS = 16 };

struct run {
    struct uk_frame *f;
    struct uk_statement *s;
    enum uk_form_kind form;
    enum uk_assign assign;
    int64_t extent[2 * UK_MAX_DIMS];
    struct uk_code *right;
    struct uk_flat left;
    struct uk_storage *target;
    union uk_value initial;
    const struct uk_code *guard[UK_MAX_GUARDS]; /* pad(x, 0) as a factor: outside, the term is left out */
    int guards;
    struct uk_bounds *bounds; /* accesses that intervals do not prove inside */
    bool has_left, any;   /* has_left: some iteration of the left iterators exists; any: of all iterators */
    union uk_value sum;   /* of the reduction, or of the scan so far */
    int block;            /* level of the left iterator that runs in blocks, or -1 */
    union uk_value *sums; /* of the current block */
};

static bool out_of_bounds(struct run *r, const struct uk_access *a, int dim, int64_t min, int64_t max,
                          int64_t extent) {
    struct uk_frame *f = r->f;

    struct uk_text access = {0}, range = {0};

    uk_print_access(&access, a, a->tensor->dims);
    uk_put(&range, min < max ? "%" PRId64 " to %" PRId64 : "%" PRId64, min, max);
    if (!f->status)
        f->status = uk_fail(f->context, UK_INVALID_SIZE, a->at,
                            "%s: dimension %d of %s is indexed by %s and its extent is %" PRId64
                            "; pad it, or restrict it by where",
                            access.text ? access.text : "?", dim, a->tensor->name,
                            range.text ? range.text : "?", extent);
    uk_text_free(access.text);
    uk_text_free(range.text);
    return false;
}

/* The minimum and maximum over the box of iterators; false if unknown. */
static bool interval(const struct run *r, const struct uk_flat *x, int64_t *min, int64_t *max) {
    *min = *max = x->constant;
    for (int i = 0; i < x->terms; i++) {
        int64_t span;

        if (__builtin_mul_overflow(x->coefficient[i], r->extent[x->slot[i]] - 1, &span))
            return false;
        if (span < 0 ? __builtin_add_overflow(*min, span, min) : __builtin_add_overflow(*max, span, max))
            return false;
    }
    return !x->trees;
}

/* Proves that an access is inside by intervals, or adds it to the list to check one by one. */
static bool bound_access(struct run *r, const struct uk_access *a) {
    struct uk_frame *f = r->f;
    struct uk_bounds b = {.access = a, .next = r->bounds};
    bool proved = true, overflow = false;

    for (int i = 0; i < a->tensor->dims; i++) {
        int64_t min, max;

        b.extent[i] = uk_index_eval(a->tensor->shape[i], uk_frame_value, f, &overflow);
        if (a->index[i]->op == UK_I_ELEMENT) { /* checked when it has a value; here it counts as 0 */
            struct uk_access *own = uk_alloc(&f->arena, sizeof *own); /* the list of bounds keeps it */

            if (!own) {
                f->status = uk_out_of_memory(f->context);
                return false;
            }
            *own = uk_element_access(a->index[i]);
            if (!bound_access(r, own))
                return false;
            b.next = r->bounds;
            b.extent[i] = 1;
            continue;
        }
        if (overflow || !uk_flatten(f, a->index[i], 1, &b.index[i]))
            return out_of_bounds(r, a, i, INT64_MIN, INT64_MAX, b.extent[i]);
        proved = proved && interval(r, &b.index[i], &min, &max) && min >= 0 && max < b.extent[i];
    }
    if (proved)
        return true;
    r->bounds = uk_alloc(&f->arena, sizeof b);
    if (!r->bounds) {
        f->status = uk_out_of_memory(f->context);
        return false;
    }
    *r->bounds = b;
    return true;
}

static bool bound_value(struct run *r, const struct uk_expr *e) {
    if (e->op == UK_E_ACCESS && !bound_access(r, &e->access))
        return false;
    for (int i = e->op == UK_E_PAD; i < 3 && e->arg[i]; i++)
        if (!bound_value(r, e->arg[i]))
            return false;
    return true;
}

static void find_guards(struct run *r, const struct uk_expr *e, const struct uk_code *c) {
    if (e->op == UK_E_MUL) {
        find_guards(r, e->arg[0], c->arg[0]);
        find_guards(r, e->arg[1], c->arg[1]);
    } else if (e->op == UK_E_CAST) {
        find_guards(r, e->arg[0], c->arg[0]);
    } else if (e->op == UK_E_PAD && uk_is_zero(e->arg[1]) && r->guards < UK_MAX_GUARDS) {
        r->guard[r->guards++] = c;
    }
}

static bool is_left_out(struct run *r) {
    if (r->s->where && !uk_index_eval(r->s->where, uk_frame_value, r->f, &r->f->overflow))
        return true;
    for (int i = 0; i < r->guards; i++)
        if (!uk_inside(r->f, r->guard[i]))
            return true;
    return false;
}

static bool try_bounds(struct run *r) {
    for (const struct uk_bounds *b = r->bounds; b && !is_left_out(r); b = b->next)
        for (int i = 0; i < b->access->tensor->dims; i++) {
            int64_t v = uk_flat_value(r->f, &b->index[i]);

            if (v < 0 || v >= b->extent[i])
                return out_of_bounds(r, b->access, i, v, v, b->extent[i]);
        }
    return true;
}

/* Checks all iterations, without accessing elements. */
static bool try_all(struct run *r, int level) {
    int64_t *i = &r->f->slot[level];

    if (level == r->s->iterators)
        return try_bounds(r);
    for (*i = 0; *i < r->extent[level]; ++*i)
        if (!try_all(r, level + 1))
            return false;
    return true;
}

static union uk_value identity(enum uk_reduce reduce, enum uk_type t) {
    bool real = uk_type_is_float(t);

    switch (reduce) {
    case UK_REDUCE_PROD:
        return real ? (union uk_value){.d = 1} : (union uk_value){.i = 1};
    case UK_REDUCE_MAX:
        return real ? (union uk_value){.d = -INFINITY} : (union uk_value){.i = uk_integer_min(t)};
    case UK_REDUCE_MIN:
        return real ? (union uk_value){.d = INFINITY}
                    : (union uk_value){.i = t == UK_U64 ? -1 : uk_integer_max(t)};
    default:
        return real ? (union uk_value){.d = 0} : (union uk_value){.i = 0};
    }
}

static const enum uk_expr_op reduce_ops[] = {UK_E_ADD, UK_E_ADD, UK_E_MUL, UK_E_MAX, UK_E_MIN};

enum uk_expr_op uk_reduce_op(enum uk_reduce reduce) {
    return reduce_ops[reduce];
}

static void add_term(struct run *r) {
    if (!is_left_out(r))
        r->sum = uk_reduced(reduce_ops[r->s->reduce], r->target->tensor->type, r->sum,
                            uk_run_value(r->f, r->right));
}

static void reduce(struct run *r, int level) {
    int64_t *i = &r->f->slot[level];

    if (level == r->s->iterators) {
        add_term(r);
        return;
    }
    for (*i = 0; *i < r->extent[level]; ++*i)
        reduce(r, level + 1);
}

static void run_element(struct run *r) {
    int64_t at = uk_flat_value(r->f, &r->left);
    union uk_value v = r->initial;

    if (at < 0 || at >= r->target->elements) {
        r->f->overflow = true;
        return;
    }
    if (r->form != UK_FORM_RESET && !r->s->reduce) {
        v = uk_run_value(r->f, r->right);
    } else if (r->form != UK_FORM_RESET) {
        if (!r->s->scan)
            r->sum = r->initial;
        reduce(r, r->s->left_iterators);
        v = r->sum;
    }
    uk_assign_value(r->assign, r->target, uk_record_access(r->f, r->target, at, true), v);
}

/* ---- in blocks ---- */

/* The level to run in blocks. Elements are independent of each other, so any iterator is correct: the
 * innermost one that is not short, else the longest; -1: none. */
static int block_level(const struct run *r) {
    enum { SHORTEST = 4, LONG = 16 };
    int64_t longest = SHORTEST - 1;
    int level = -1;

    if (r->s->where || r->s->scan || r->form == UK_FORM_RESET || r->left.trees)
        return -1;
    for (int i = r->s->left_iterators - 1; i >= 0 && longest < LONG; i--)
        if (r->extent[i] > longest && uk_has_blocks(r->right, i)) {
            longest = r->extent[i];
            level = i;
        }
    return level;
}

/* Adds the terms of n sums, each in its own order. */
static void reduce_block(struct run *r, int level, int n) {
    union uk_value term[UK_BLOCK];
    int64_t *i = &r->f->slot[level];

    if (level == r->s->iterators) {
        if (is_left_out(r))
            return;
        uk_run_block(r->f, r->right, r->block, n, term);
        uk_reduce_block(reduce_ops[r->s->reduce], r->target->tensor->type, n, r->sums, term);
        return;
    }
    for (*i = 0; *i < r->extent[level]; ++*i)
        reduce_block(r, level + 1, n);
}

/* Runs all indices of the blocked iterator. */
static void run_blocks(struct run *r) {
    union uk_value sums[UK_BLOCK];
    const int slot = r->block;
    const int64_t extent = r->extent[slot];

    r->sums = sums;
    for (int64_t first = 0; first < extent; first += UK_BLOCK) {
        const int n = extent - first < UK_BLOCK ? (int)(extent - first) : UK_BLOCK;

        r->f->slot[slot] = first;
        for (int i = 0; i < n; i++)
            sums[i] = r->initial;
        if (r->s->reduce)
            reduce_block(r, r->s->left_iterators, n);
        else
            uk_run_block(r->f, r->right, slot, n, sums);
        for (int i = 0; i < n; i++) {
            r->f->slot[slot] = first + i;
            int64_t at = uk_flat_value(r->f, &r->left);

            if (at < 0 || at >= r->target->elements)
                r->f->overflow = true;
            else
                uk_assign_value(r->assign, r->target, uk_record_access(r->f, r->target, at, true), sums[i]);
        }
    }
}

/* The scanned iterator, which runs innermost; -1 if the statement is no scan. */
static int scanned(const struct uk_statement *s) {
    for (int i = 0; s->scan && i < s->left_iterators; i++)
        if (s->iterator[i] == s->reduced_iterator[0])
            return i;
    return -1;
}

static void run_left_iterators(struct run *r, int level, int scan) {
    if (level == scan || level == r->block) {
        run_left_iterators(r, level + 1, scan);
        return;
    }
    if (level == r->s->left_iterators && r->block >= 0) {
        run_blocks(r);
        return;
    }
    if (level == r->s->left_iterators) {
        if (scan < 0) {
            run_element(r);
            return;
        }
        r->sum = r->initial;
        for (r->f->slot[scan] = 0; r->f->slot[scan] < r->extent[scan]; r->f->slot[scan]++)
            run_element(r);
        return;
    }
    for (int64_t i = 0; i < r->extent[level]; i++) {
        r->f->slot[level] = i;
        run_left_iterators(r, level + 1, scan);
    }
}

static bool prepare_ranges(struct run *r) {
    bool overflow = false;

    r->any = r->has_left = true;
    for (int i = 0; i < r->s->iterators; i++) {
        r->s->iterator[i]->slot = i;
        r->extent[i] = uk_index_eval(r->s->extent[i], uk_frame_value, r->f, &overflow);
        r->any = r->any && r->extent[i] > 0;
        if (i < r->s->left_iterators)
            r->has_left = r->any;
    }
    return !overflow;
}

/* The reset form assigns the value of an empty reduction; the update form combines with the present value. */
static enum uk_assign assign_of(const struct uk_statement *s, enum uk_form_kind form) {
    static const enum uk_assign updates[] = {UK_ASSIGN, UK_ASSIGN_ADD, UK_ASSIGN_MULTIPLY, UK_ASSIGN_MAX,
                                             UK_ASSIGN_MIN};

    if (form == UK_FORM_RESET)
        return UK_ASSIGN;
    return form == UK_FORM_UPDATE && s->assign == UK_ASSIGN ? updates[s->reduce] : s->assign;
}

/* False: there is nothing to run, or f->status has the error. */
static bool prepare(struct run *r) {
    struct uk_frame *f = r->f;
    const struct uk_statement *s = r->s;

    if (!prepare_ranges(r))
        f->status = uk_fail(f->context, UK_INVALID_SIZE, s->at, "an extent overflows; use smaller sizes");
    if (f->status || !r->has_left)
        return false;
    r->target = uk_find_storage(f, s->left.tensor);
    r->initial = identity(s->reduce, s->left.tensor->type);
    r->right = uk_compile_value(f, s->right, false);
    if (!r->target || !r->right || !uk_flatten_access(f, &s->left, false, &r->left))
        return false;
    if (s->reduce == UK_REDUCE_SUM)
        find_guards(r, s->right, r->right);
    return true;
}

static enum uk_status overflowed(struct uk_frame *f, const struct uk_statement *s) {
    if (f->overflow && !f->status)
        f->status = uk_fail(f->context, UK_INVALID_SIZE, s->at, "a subscript overflows; use smaller sizes");
    return f->status;
}

enum uk_status uk_run_statement(struct uk_frame *f, struct uk_statement *s, enum uk_form_kind form,
                                bool check_only) {
    struct run r = {.f = f, .s = s, .form = form, .assign = assign_of(s, form)};

    if (!prepare(&r))
        return f->status;
    if (check_only) {
        if (!bound_access(&r, &s->left) || (r.any && !bound_value(&r, s->right)) ||
            (r.bounds && !try_all(&r, 0)))
            return f->status;
        return UK_OK;
    }
    r.block = block_level(&r);
    run_left_iterators(&r, 0, scanned(s));
    return overflowed(f, s);
}

/* Computes into a copy of the element what run_element() would store. */
static void run_point(struct run *r, int64_t at, union uk_value *value) {
    const enum uk_type type = r->target->tensor->type;
    struct uk_storage *const target = r->target;
    unsigned char copy[sizeof *value];
    struct uk_storage alone = {.tensor = target->tensor, .base = (char *)copy, .elements = 1};
    struct uk_flat left = r->left;

    uk_store(type, copy, 0, uk_load(type, target->base, at));
    r->left = (struct uk_flat){0};
    r->target = &alone;
    run_element(r);
    r->left = left;
    r->target = target;
    *value = uk_load(type, copy, 0);
}

enum uk_status uk_run_points(struct uk_frame *f, struct uk_statement *s, enum uk_form_kind form,
                             const struct uk_points *points) {
    struct run r = {.f = f, .s = s, .form = form, .assign = assign_of(s, form), .block = -1};

    if (!prepare(&r))
        return f->status;
    if (!bound_access(&r, &s->left) || (r.any && !bound_value(&r, s->right)))
        return f->status;
    if (r.bounds)
        return f->status = uk_fail(f->context, UK_UNSUPPORTED, s->at,
                                   "only trying all subscripts shows whether they are inside");
    for (int k = 0; k < points->count && !f->overflow; k++) {
        for (int i = 0; i < s->left_iterators; i++)
            f->slot[i] = points->index[k * s->left_iterators + i];
        points->element[k] = uk_flat_value(f, &r.left);
        if (points->element[k] < 0 || points->element[k] >= r.target->elements)
            f->overflow = true;
        else
            run_point(&r, points->element[k], &points->value[k]);
    }
    return overflowed(f, s);
}

/* ---- element by element ---- */

static void visit_terms(struct run *r, struct uk_visit *v, int level) {
    int64_t *i = &r->f->slot[level];

    if (level == r->s->iterators) {
        if (!(r->s->reduce && is_left_out(r)) && try_bounds(r))
            v->term(v);
        return;
    }
    for (*i = 0; *i < r->extent[level] && !r->f->status; ++*i)
        visit_terms(r, v, level + 1);
}

static void visit_element(struct run *r, struct uk_visit *v) {
    const int64_t at = uk_flat_value(r->f, &r->left);

    if (at < 0 || at >= r->target->elements) {
        r->f->overflow = true;
    } else if (v->begin(v, at)) {
        visit_terms(r, v, r->s->left_iterators);
        v->end(v, at);
    }
}

static void visit_left(struct run *r, struct uk_visit *v, int level, int scan) {
    if (level == r->s->left_iterators) {
        v->continues_scan = false;
        for (int64_t i = 0; scan >= 0 && i < r->extent[scan]; i++) {
            r->f->slot[scan] = i;
            visit_element(r, v);
            v->continues_scan = true;
        }
        if (scan < 0)
            visit_element(r, v);
        return;
    }
    if (level == scan) {
        visit_left(r, v, level + 1, scan);
        return;
    }
    for (int64_t i = 0; i < r->extent[level] && !r->f->status; i++) {
        r->f->slot[level] = i;
        visit_left(r, v, level + 1, scan);
    }
}

enum uk_status uk_visit_statement(struct uk_frame *f, struct uk_statement *s, struct uk_visit *v) {
    struct run r = {.f = f, .s = s, .form = UK_FORM_COMPUTE, .assign = s->assign, .block = -1};

    if (!prepare(&r))
        return f->status;
    if (!bound_access(&r, &s->left) || (r.any && !bound_value(&r, s->right)))
        return f->status;
    v->statement = s;
    v->target = r.target;
    v->right = r.right;
    v->initial = r.initial;
    if (v->prepare && !v->prepare(v))
        return UK_OK;
    visit_left(&r, v, 0, scanned(s));
    return overflowed(f, s);
}
