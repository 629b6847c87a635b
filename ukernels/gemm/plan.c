/* SPDX-License-Identifier: Apache-2.0 */
/* Makes plans: checks arguments, normalizes the product, chooses its path. Each thread remembers its last
 * plans. */
#include <math.h>
#include <string.h>
#include "small.h"

/* ---- arguments ---- */

/* True if an operand of `lines` rows (columns, if it is column-major) may exceed the address space, as it is
 * or packed: panels are as wide as a tile, however few lines there are. */
static bool is_too_large(int64_t lines, int64_t ld, int size) {
    int64_t elements, bytes;
    ptrdiff_t last; /* has as many bits as addresses, which may be 32 */

    return __builtin_mul_overflow(lines, ld, &elements) ||
           __builtin_mul_overflow(elements, GEMM_PANEL_GROWTH * size, &bytes) ||
           __builtin_mul_overflow(elements, size, &last);
}

/* Checks an operand of `lines` rows or columns (`what` says which), of `length` elements each, `ld` apart. */
static enum uk_status check_operand(char name, const char *what, int64_t lines, int64_t length, int64_t ld,
                                    int size) {
    if (ld < 1 || ld < length)
        return uk_gemm_refuse(UK_INVALID_SIZE, "ld%c = %lld is less than %lld, the elements of a %s of %c",
                              name, (long long)ld, (long long)(length < 1 ? 1 : length), what,
                              name - 'a' + 'A');
    if (is_too_large(lines, ld, size))
        return uk_gemm_refuse(UK_INVALID_SIZE,
                              "%c, %lld %s%s %lld elements apart, is too large to be addressed",
                              name - 'a' + 'A', (long long)lines, what, lines == 1 ? "" : "s", (long long)ld);
    return UK_OK;
}

static enum uk_status check_size(char name, int64_t size) {
    return size < 0 ? uk_gemm_refuse(UK_INVALID_SIZE, "%c = %lld is negative", name, (long long)size) : UK_OK;
}

static enum uk_status check_transpose(const char *name, enum uk_transpose t) {
    return t == UK_NO_TRANSPOSE || t == UK_TRANSPOSE
               ? UK_OK
               : uk_gemm_refuse(UK_INVALID_ARGUMENT, "%s = %d is neither UK_NO_TRANSPOSE nor UK_TRANSPOSE",
                                name, (int)t);
}

static enum uk_status check(const struct gemm_type *type, const struct gemm_shape *s,
                            enum uk_c_element c_element) {
    const bool rows = s->layout == UK_ROW_MAJOR;
    const bool a_rows = rows == (s->ta == UK_NO_TRANSPOSE), b_rows = rows == (s->tb == UK_NO_TRANSPOSE);
    const char *const line[] = {"column", "row"};
    enum uk_status status;

    if (!rows && s->layout != UK_COLUMN_MAJOR)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "layout = %d is neither UK_ROW_MAJOR nor UK_COLUMN_MAJOR",
                              (int)s->layout);
    if ((status = check_transpose("ta", s->ta)) || (status = check_transpose("tb", s->tb)) ||
        (status = check_size('m', s->m)) || (status = check_size('n', s->n)) ||
        (status = check_size('k', s->k)) ||
        (status = check_operand('a', line[rows], a_rows ? s->m : s->k, a_rows ? s->k : s->m, s->lda,
                                type->size)) ||
        (status =
             check_operand('b', line[rows], b_rows ? s->k : s->n, b_rows ? s->n : s->k, s->ldb, type->size)))
        return status;
    return check_operand('c', line[rows], rows ? s->m : s->n, rows ? s->n : s->m, s->ldc,
                         gemm_c_element_bytes(type, c_element));
}

/* True if the caller's A and B are the product's B and A. */
static bool is_swapped(const struct gemm_arguments *x) {
    return x->shape.layout != UK_ROW_MAJOR && x->type->left == x->type->right;
}

/* The product of checked arguments. An operand that is column-major and row-major at once becomes row-major.
 */
static struct gemm_product normalize(const struct gemm_arguments *x) {
    const struct gemm_shape *s = &x->shape;
    const bool rows = s->layout == UK_ROW_MAJOR, ta = s->ta == UK_TRANSPOSE, tb = s->tb == UK_TRANSPOSE;
    struct gemm_product p = {x->type,     s->m,
                             s->n,        s->k,
                             s->lda,      s->ldb,
                             s->ldc,      ta == rows,
                             tb == rows,  !rows,
                             x->a_packed, x->b_packed,
                             x->threads,  x->c_element ? x->c_element : x->type->c_element};

    if (is_swapped(x))
        p = gemm_transposed(&p);
    if (p.a_columns && p.lda == 1) { /* of one row */
        p.a_columns = false;
        p.lda = p.k;
    }
    if (p.b_columns && gemm_b_is_rows(&p)) {
        p.b_columns = false;
        p.ldb = p.n;
    }
    return p;
}

/* ---- the choice ---- */

/* Sums that are no elements of C are not kept from one block of k to the next; those of f16 never are. */
static struct gemm_plan plan_without_path(const struct gemm_product *p) {
    return (struct gemm_plan){.product = *p,
                              .row_tasks = 1,
                              .column_tasks = 1,
                              .whole = !gemm_sums_in_c(p) || p->type->sum == UK_C_F16};
}

/* The plan by tiles for a product whose own path cannot take packed operands, or several threads. k is one
 * block, as there, so that the order of sums stays. */
static enum uk_status plan_whole_tiles(const struct gemm_product *p, struct gemm_plan *plan) {
    *plan = plan_without_path(p);
    plan->path = &uk_gemm_tiles;
    plan->whole = true;
    plan->cycles = plan->path->cycles(plan);
    return plan->cycles < HUGE_VAL ? plan->path->plan(plan) : UK_UNSUPPORTED;
}

/* Makes a plan by the path with the fewest cycles, ties: the last path; or by the path that is wanted. */
static enum uk_status choose(const struct gemm_product *p, const struct gemm_wanted *wanted,
                             struct gemm_plan *plan) {
    bool is_known = !wanted;

    *plan = plan_without_path(p);
    plan->cycles = HUGE_VAL;
    for (const struct gemm_path *const *path = uk_gemm_paths; *path && !plan->is_certain; path++) {
        struct gemm_plan one = plan_without_path(p);

        if (wanted && strcmp((*path)->name, wanted->path))
            continue;
        is_known = true;
        one.path = *path;
        one.is_wanted = wanted;
        if (wanted && *path == &uk_gemm_tiles) {
            *plan = one;
            return uk_gemm_plan_wanted(plan, wanted);
        }
        one.cycles = one.path->cycles(&one);
        if (one.cycles < HUGE_VAL && one.cycles <= plan->cycles)
            *plan = one;
    }
    if (!is_known)
        return UK_INVALID_ARGUMENT;
    if (!plan->path)
        return wanted ? UK_NO_MATCH
                      : uk_gemm_refuse(UK_UNSUPPORTED, "this CPU has no kernels of %s", p->type->name);
    const enum uk_status status = plan->path->plan ? plan->path->plan(plan) : UK_OK;

    return status == UK_NO_MATCH && !wanted ? plan_whole_tiles(p, plan) : status;
}

static enum uk_status plan_new(const struct gemm_arguments *x, const struct gemm_wanted *wanted,
                               struct gemm_plan *plan) {
    const struct gemm_product p = normalize(x);
    const enum uk_status status = choose(&p, wanted, plan);

    plan->swapped ^= is_swapped(x);
    return status;
}

enum uk_status uk_gemm_plan_packing(const struct gemm_plan *plan, struct gemm_plan *packing) {
    if (plan->path != &uk_gemm_small && plan->path != &uk_gemm_stream) {
        *packing = *plan;
        return UK_OK;
    }
    const enum uk_status status = plan_whole_tiles(&plan->product, packing);

    packing->swapped ^= plan->swapped;
    return status;
}

/* ---- remembered plans, because an estimate takes as long as a product of 60 cubed ---- */

enum { REMEMBERED = 8 };
struct remembered {
    struct gemm_arguments arguments;
    struct gemm_plan plan;
};
static _Thread_local struct {
    unsigned last, oldest; /* indices of the entry that was used last, and of the one to be replaced next */
    struct remembered entry[REMEMBERED];
} memory;

static inline bool is_same(const struct gemm_arguments *x, const struct gemm_arguments *y) {
    const struct gemm_shape *s = &x->shape, *t = &y->shape;

    GEMM_REQUIRE(x->type == y->type);
    GEMM_REQUIRE(s->m == t->m);
    GEMM_REQUIRE(s->n == t->n);
    GEMM_REQUIRE(s->k == t->k);
    GEMM_REQUIRE(s->lda == t->lda);
    GEMM_REQUIRE(s->ldb == t->ldb);
    GEMM_REQUIRE(s->ldc == t->ldc);
    GEMM_REQUIRE(s->layout == t->layout);
    GEMM_REQUIRE(s->ta == t->ta);
    GEMM_REQUIRE(s->tb == t->tb);
    GEMM_REQUIRE(x->threads == y->threads);
    GEMM_REQUIRE(x->c_element == y->c_element);
    return x->a_packed == y->a_packed && x->b_packed == y->b_packed;
}

/* Finds the entry with these arguments, or adds it after checking them. */
__attribute__((noinline)) static enum uk_status find_entry(const struct gemm_arguments *x) {
    for (unsigned i = 0; i < REMEMBERED; i++)
        if (is_same(&memory.entry[i].arguments, x)) {
            memory.last = i;
            return UK_OK;
        }
    struct remembered new = {.arguments = *x};
    enum uk_status status = check(x->type, &x->shape, x->c_element);

    if (status || (status = plan_new(x, NULL, &new.plan)))
        return status;
    memory.last = memory.oldest++ % REMEMBERED;
    memory.entry[memory.last] = new;
    return UK_OK;
}

enum uk_status uk_gemm_planned(const struct gemm_arguments *x, const struct gemm_plan **plan) {
    const struct remembered *last = &memory.entry[memory.last];

    if (!is_same(&last->arguments, x)) {
        const enum uk_status status = find_entry(x);

        if (status)
            return status;
        last = &memory.entry[memory.last];
    }
    *plan = &last->plan;
    return UK_OK;
}

/* ---- plans with options ---- */

int64_t uk_gemm_threads(int threads, struct pthreadpool *pool) {
    const int64_t most = pool ? uk_pool_threads(pool) : uk_count_threads();

    return threads > 0 ? uk_min(threads, most) : most;
}

static bool can_store(const struct gemm_type *type, enum uk_c_element e) {
    return e == UK_C_DEFAULT || (e > 0 && e <= UK_C_BF16 && type->c_elements >> e & 1);
}

enum uk_status uk_gemm_resolve(struct gemm_plan *plan, const struct gemm_type *type,
                               const struct gemm_shape *shape, const struct uk_gemm_options *options,
                               const struct gemm_wanted *wanted) {
    static const struct uk_gemm_options defaults = {0};
    const struct uk_gemm_options *o = options ? options : &defaults;
    enum uk_status status = check(type, shape, o->c_element);

    if (status)
        return status;
    if (o->threads < 0)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "options.threads = %d is negative", o->threads);
    if (o->f16_sums && type->sum != UK_C_F16)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "options.f16_sums is set, but uk_%s has no sums of f16",
                              type->name);
    if (!can_store(type, o->c_element))
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "options.c_element = %d is no type that uk_%s can store",
                              (int)o->c_element, type->name);
    if (o->machine && (status = uk_gemm_type_on(o->machine, type, &type)))
        return uk_gemm_refuse(status,
                              status == UK_INVALID_ARGUMENT ? "options.machine: no CPU's core is named \"%s\""
                                                            : "options.machine: no memory for \"%s\"",
                              o->machine);
    const struct gemm_arguments x = {type,        *shape,      (int)uk_gemm_threads(o->threads, o->pool),
                                     o->a_packed, o->b_packed, o->c_element};
    struct gemm_plan own;
    const struct gemm_plan *found = &own;

    status = wanted ? plan_new(&x, wanted, &own) : uk_gemm_planned(&x, &found);
    if (status)
        return status;
    *plan = *found;
    plan->pool = o->pool;
    return UK_OK;
}

enum uk_status uk_gemm_prepare(struct gemm_prepared *plan, const struct gemm_type *type,
                               const struct gemm_shape *shape, const struct uk_gemm_options *options,
                               const struct gemm_wanted *wanted) {
    struct gemm_prepared own = {.resolved = {NULL}};
    const enum uk_status status = uk_gemm_resolve(&own.plan, type, shape, options, wanted);

    if (status)
        return status;
    if (own.plan.path == &uk_gemm_small && !uk_gemm_is_verbose && type == own.plan.product.type)
        uk_gemm_prepare_small(&own);
    *plan = own;
    return UK_OK;
}

enum uk_status uk_gemm_plan_as(struct uk_gemm_plan *plan, bool is_double, const struct gemm_shape *shape,
                               const struct uk_gemm_options *options, const struct gemm_wanted *wanted) {
    return uk_gemm_prepare((struct gemm_prepared *)(void *)plan,
                           uk_gemm_look_up(is_double ? &uk_gemm_f64 : &uk_gemm_f32), shape, options, wanted);
}
