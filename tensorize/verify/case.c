/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the sizes of each case within the assumptions of the declaration, in this order:
 * - combinations of edges (extents that the assumptions bound), each with odd and with even other sizes
 * - each of the other extents beyond 16 bits alone; then all of them, and pairs, as large as possible
 *   together
 * - random sizes: ends of ranges and powers of two more often than others; some are long
 */
#include <string.h>
#include "verify.h"

enum {
    TRIES = 4000,
    FEW_TRIES = 100,
    LARGEST_SIZE = 130,
    LONGEST_SIZE = 2100,
    EDGE_SIZE = 20, /* range of the other extents in the cases of edges */
    MAX_EDGES = 1 << 20,
    COUNTED = 1 << 16,  /* numbers of 16 bits */
    FAR_CASES = 2,      /* cases in which a single extent is far */
    MAX_PAIRED = 6,     /* maximum number of far extents of which all pairs are tried */
    FAR_TRIES = 50,     /* attempts at a far case until no access leaves its tensor */
    EMULATED_SHARE = 16 /* divisor of the instances for an emulator */
};
/* How the sizes of a case are drawn, and the limits for the elements of an operand and the instances of a
 * statement. An extent is far if it exceeds 16 bits.
 *     FAR       one extent is far; the statement may compute a whole tile
 *     TOGETHER  several extents are far
 *     LARGE     the same, so large that a sample of the elements is compared */
enum kind { EDGES, RANDOM, LONG, FAR, TOGETHER, LARGE };
static const struct limit {
    int64_t elements, instances;
} limits[] = {[EDGES] = {1 << 16, 1 << 18}, [RANDOM] = {1 << 16, 1 << 18},   [LONG] = {1 << 18, 1 << 19},
              [FAR] = {1 << 26, 1 << 26},   [TOGETHER] = {1 << 22, 1 << 21}, [LARGE] = {1 << 30, 1 << 25}};

/* ---- extents ---- */

/* True for an edge: an extent with an upper bound by assumptions; it goes from *min to *max. */
static bool is_edge(const struct uk_verifier *v, const struct uk_var *var, int64_t *min, int64_t *max) {
    uk_verify_bounds(v, var, min, max);
    return *max <= LARGEST_SIZE;
}

/* The extent of an edge in this case (*edge: the number of the combination that is left), or one of the given
 * parity. */
static int64_t edge_extent(struct uk_verifier *v, const struct uk_var *var, int64_t *edge, int64_t parity) {
    int64_t min, max, n;

    if (is_edge(v, var, &min, &max)) {
        n = min + *edge % (max - min + 1);
        *edge /= max - min + 1;
        return n;
    }
    n = min + (int64_t)uk_verify_random(v, EDGE_SIZE);
    return n + ((n ^ parity) & 1);
}

static int64_t random_extent(struct uk_verifier *v, const struct uk_var *var) {
    static const unsigned char frequent[] = {0, 1, 2, 3, 4, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 64, 128};
    int64_t min, max;

    if (!is_edge(v, var, &min, &max))
        max = min > LARGEST_SIZE ? min : LARGEST_SIZE;
    switch (uk_verify_random(v, 4)) {
    case 0:
        return min;
    case 1:
        if (max < LARGEST_SIZE)
            return max;
        /* fall through */
    case 2: {
        int64_t f = frequent[uk_verify_random(v, sizeof frequent)];

        if (f >= min && f <= max)
            return f;
    }
        /* fall through */
    default:
        return min + (int64_t)uk_verify_random(v, (uint64_t)(max - min) + 1);
    }
}

/* Extents around the ends of common block sizes. */
static int64_t long_extent(struct uk_verifier *v) {
    static const unsigned short blocks[] = {255,  256,  257,  259,  511,  512,  513,   1023,  1024,
                                            1025, 2047, 2048, 2049, 4097, 8193, 16385, 32767, 32769};

    if (uk_verify_random(v, 2))
        return blocks[uk_verify_random(v, sizeof blocks / sizeof *blocks)];
    return LARGEST_SIZE + 1 + (int64_t)uk_verify_random(v, LONGEST_SIZE - LARGEST_SIZE);
}

/* n, but within the bounds of the assumptions. */
static int64_t clamp(int64_t n, int64_t min, int64_t max) {
    return n < min ? min : n > max ? max : n;
}

/* One extent without upper bound is long, the others are short. */
static void choose_long(struct uk_verifier *v) {
    int chosen = v->far_sizes ? (int)uk_verify_random(v, (uint64_t)v->far_sizes) : -1;
    int64_t min, max;

    for (const struct uk_var *var = v->intrinsic->declaration->sizes; var; var = var->next) {
        if (!var->is_extent)
            continue;
        const bool edge = is_edge(v, var, &min, &max);

        if (!edge && chosen-- == 0)
            v->size[var->number] = clamp(long_extent(v), min, max);
        else
            v->size[var->number] = min + (int64_t)uk_verify_random(v, (uint64_t)(edge ? max - min + 1 : 4));
    }
}

/* 65536, where 16-bit counters overflow, or an extent above it at which 32-bit sums of products of bytes
 * overflow; reduced by a sixth `less` times. */
static int64_t far_extent(struct uk_verifier *v, int variant, int less) {
    int64_t n = COUNTED + (variant ? 264 + (int64_t)uk_verify_random(v, 500) : 0);

    while (less--)
        n -= n / 6;
    return n;
}

/* True if the n-th extent without upper bound is far in this case: first each alone, then all, then pairs. */
static bool is_far(const struct uk_verifier *v, int n) {
    int pair = v->number - v->edges - FAR_CASES * v->far_sizes - 1, second = 1;

    if (pair < 0)
        return pair == -1 || n == (v->number - v->edges) / FAR_CASES;
    while (pair >= second)
        pair -= second++;
    return n == pair || n == second;
}

/* Chooses one or several far extents; the others are small, but not 0. After failed tries other extents
 * without upper bound become as large at random, because one tensor may have to hold another; then far ones
 * shrink until there is room. */
static void choose_far(struct uk_verifier *v, enum kind kind, int tries) {
    const int number = v->number - v->edges, less = kind != FAR ? tries / 2 : (tries - FEW_TRIES / 2) / 2;
    const bool others = kind == FAR && (tries >= FEW_TRIES / 4 || v->failed_attempts >= FAR_TRIES / 2);
    int64_t min, max;
    int n = 0, together = 0;

    if (!tries)
        v->stays_far =
            v->far_sizes > 2 && number == FAR_CASES * v->far_sizes ? 2 : (int)uk_verify_random(v, 3);

    for (const struct uk_var *var = v->intrinsic->declaration->sizes; var; var = var->next) {
        if (!var->is_extent)
            continue;
        const bool edge = is_edge(v, var, &min, &max);
        const bool chosen = !edge && is_far(v, n++),
                   stays = chosen && v->stays_far < 2 && together++ == v->stays_far;

        if (chosen || (!edge && others && uk_verify_random(v, 2)))
            v->size[var->number] =
                clamp(far_extent(v, number % FAR_CASES, less > 0 && !(stays && kind == LARGE) ? less : 0),
                      min, max);
        else
            v->size[var->number] = clamp((min > 1 ? min : 1) + (int64_t)uk_verify_random(v, kind == LARGE ? 1
                                                                                            : edge        ? 2
                                                                                                   : 4),
                                         min, max);
    }
}

static void choose_extents(struct uk_verifier *v, enum kind kind, int tries) {
    const struct uk_program *p = v->intrinsic->declaration;
    /* A permutation of all combinations, so that adjacent ones are far apart; 7919 is prime. */
    int64_t edge = (int64_t)v->number * 7919 % v->all_edges, parity = edge % 2;

    edge /= 2;
    if (kind == LONG)
        choose_long(v);
    else if (kind == FAR || kind == TOGETHER || kind == LARGE)
        choose_far(v, kind, tries);
    else
        for (const struct uk_var *var = p->sizes; var; var = var->next)
            if (var->is_extent)
                v->size[var->number] =
                    kind == EDGES ? edge_extent(v, var, &edge, parity) : random_extent(v, var);
}

/* `P == (H + 1) / 2` determines P. */
static void follow_equalities(struct uk_verifier *v) {
    for (const struct uk_assume *a = v->intrinsic->declaration->assumes; a; a = a->next) {
        const struct uk_index *l = a->relation->a, *r = a->relation->b;

        if (a->relation->op != UK_I_EQ)
            continue;
        if (l->op == UK_I_VAR && !uk_mentions(r, l->var))
            v->size[l->var->number] = uk_verify_value(v, r);
        else if (r->op == UK_I_VAR && !uk_mentions(l, r->var))
            v->size[r->var->number] = uk_verify_value(v, l);
    }
}

/* `lda % 4 == 0`: rounds up to a multiple. */
static void follow_multiples(struct uk_verifier *v) {
    for (const struct uk_assume *a = v->intrinsic->declaration->assumes; a; a = a->next) {
        const struct uk_index *l = a->relation->a;
        int64_t of, zero;

        if (a->relation->op == UK_I_EQ && l->op == UK_I_MOD && l->a->op == UK_I_VAR &&
            uk_index_is_int(l->b, &of) && of > 0 && uk_index_is_int(a->relation->b, &zero) && !zero)
            v->size[l->a->var->number] = (v->size[l->a->var->number] + of - 1) / of * of;
    }
}

/* ---- checks ---- */

static bool is_small(struct uk_verifier *v, enum kind kind) {
    const struct limit *limit = &limits[kind];
    const struct uk_program *p = v->intrinsic->declaration;
    const int64_t max_instances =
        kind == TOGETHER && v->argv ? limit->instances / EMULATED_SHARE : limit->instances;

    for (const struct uk_tensor *t = p->tensors; t; t = t->next) {
        int64_t count = 1;

        for (int d = 0; d < t->stored_dims && count <= limit->elements; d++) {
            int64_t extent = uk_verify_value(v, t->stored[d]);

            if (extent < 0)
                return false;
            count *= extent;
        }
        if (count > limit->elements || uk_tensor_elements(t, uk_verify_size, v) < 0)
            return false;
    }
    for (const struct uk_statement *s = p->statements; s; s = s->next) {
        int64_t instances = 1;

        for (int i = 0; i < s->iterators && instances <= max_instances; i++)
            instances *= uk_verify_value(v, s->extent[i]);
        if (instances > max_instances)
            return false;
    }
    return true;
}

static bool is_allowed(struct uk_verifier *v, enum kind kind) {
    const struct uk_program *p = v->intrinsic->declaration;

    for (const struct uk_var *var = p->sizes; var; var = var->next)
        if (v->size[var->number] < 0 || !uk_verify_fits(v, var))
            return false;
    if (!uk_verify_assumptions_hold(v))
        return false;
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        for (int d = 0; d < t->dims; d++)
            if (uk_verify_value(v, t->shape[d]) < 0)
                return false;
    if (!is_small(v, kind) || !uk_memory_fits(v) || (v->device && !uk_verify_device_fits(v)))
        return false;
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        if (t->is_written && !uk_verify_rows_disjoint(v, t))
            return false;
    return true;
}

/* ---- the next case ---- */

/* The number of far cases: each extent alone, all of them and, if there are more than two, all pairs of the
 * first ones. */
static int far_cases(const struct uk_verifier *v) {
    const int paired = v->far_sizes < MAX_PAIRED ? v->far_sizes : MAX_PAIRED;

    return FAR_CASES * v->far_sizes + (v->far_sizes > 1) + (paired > 2 ? paired * (paired - 1) / 2 : 0);
}

void uk_verify_plan(struct uk_verifier *v, int random) {
    int64_t min, max;

    v->all_edges = 2;
    v->far_sizes = 0;
    for (const struct uk_var *var = v->intrinsic->declaration->sizes; var; var = var->next)
        if (var->is_extent && !is_edge(v, var, &min, &max))
            v->far_sizes++;
        else if (var->is_extent && v->all_edges < MAX_EDGES)
            v->all_edges *= max - min + 1;
    v->edges = v->all_edges < 4 * random ? (int)v->all_edges : 4 * random;
    v->cases = v->edges + far_cases(v) + random;
}

static enum kind kind_of(const struct uk_verifier *v) {
    const int far = v->number - v->edges, random = far - far_cases(v);

    if (far < 0)
        return EDGES;
    if (random < 0)
        return far < FAR_CASES * v->far_sizes ? FAR : TOGETHER;
    return random % 16 == 7 ? LONG : RANDOM;
}

bool uk_verify_should_retry(struct uk_verifier *v) {
    const enum kind kind = kind_of(v);

    return (kind == FAR || kind == TOGETHER) && ++v->failed_attempts < FAR_TRIES;
}

static bool choose(struct uk_verifier *v, enum kind kind) {
    const int max_tries = kind == RANDOM ? TRIES : FEW_TRIES;

    for (int tries = 0; tries < max_tries; tries++) {
        choose_extents(v, kind, tries);
        follow_equalities(v);
        uk_verify_choose_strides(v, kind == EDGES);
        uk_verify_overlap_rows(v);
        follow_multiples(v);
        if (!is_allowed(v, kind) || !uk_verify_choose_magnitudes(v) ||
            (v->is_large && !uk_verify_is_inside(v)))
            continue;
        if (!v->is_large)
            uk_verify_choose_signs(v);
        return true;
    }
    return false;
}

bool uk_verify_choose(struct uk_verifier *v) {
    const enum kind kind = kind_of(v);

    v->is_large = kind == TOGETHER && uk_verify_has_large(v);
    if (v->is_large && choose(v, LARGE))
        return true;
    v->is_large = false;
    return choose(v, kind) || (kind != RANDOM && choose(v, RANDOM));
}

/* ---- arguments ---- */

/* Bytes of the page at address 0. No process has it, so that a kernel that accesses a hint faults. */
enum { FIRST_PAGE = 4096 };

/* The bits that the calling convention leaves unspecified are random. */
static uint64_t with_garbage(struct uk_verifier *v, enum uk_type t, union uk_value x) {
    const bool real = uk_type_is_float(t);
    const size_t bits = 8 * uk_type_bytes(t) < 32 && !real ? 32 : 8 * uk_type_bytes(t);
    uint64_t word = real ? 0 : (uint64_t)x.i;

    if (real)
        uk_store(t, &word, 0, x);
    return bits == 64 ? word : (word & ((UINT64_C(1) << bits) - 1)) | uk_verify_random(v, UINT64_MAX) << bits;
}

void uk_verify_set_arguments(struct uk_verifier *v, struct abi_value value[UK_VERIFY_WORDS]) {
    const struct uk_form *f = &v->intrinsic->form[v->form];
    const struct uk_scalar *scalars = v->intrinsic->declaration->scalars;

    for (int i = 0; i < f->arguments; i++) {
        const struct uk_argument *a = &f->argument[i];
        enum uk_type type = a->ctype < UK_TYPES ? (enum uk_type)a->ctype : UK_I64;
        union uk_value x = {.i = a->size ? v->size[a->size->number] : a->number};
        int n = 0;

        value[i] = (struct abi_value){.is_real = uk_type_is_float(type),
                                      .is_short = uk_type_bytes(type) < 8 && !a->tensor};
        if (a->hint) {
            value[i].bits = uk_verify_random(v, FIRST_PAGE);
            continue;
        }
        if (a->tensor) {
            while (v->memory[n].tensor != a->tensor)
                n++;
            value[i].bits = (uintptr_t)v->memory[n].origin;
            continue;
        }
        if (a->scalar)
            n = uk_scalar_number(scalars, a->scalar);
        if (uk_type_is_float(type))
            x.d = a->scalar ? v->scalar[n] : a->real;
        else if (a->scalar)
            x.i = (int64_t)v->scalar[n];
        value[i].bits = with_garbage(v, type, x);
    }
}
