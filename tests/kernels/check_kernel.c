/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same test for every kernel of every operation: a plan says which operands a call has, everything else
 * is common.
 *
 * Operands lie in arenas, against one guard page or the other; what lies in an arena and not in an operand is
 * filled with canaries, what a kernel may read and not use with NaN. The reference runs on a copy of the
 * output's arena, and the arenas must then be equal byte by byte, but for the rounding of random data.
 */
#define _GNU_SOURCE
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "arena.h"
#include "check_kernel.h"
#include "check_plan.h"

struct check {
    const struct uk_kernel *row;
    const struct op *op;
    void (*function)(void);
    struct shape shape;
    struct plan plan;
    struct arena arena[OPERANDS];
    unsigned char
        *before[OPERANDS]; /* the arenas' contents before the call; of the output, after the reference */
    unsigned char *magnitude[OPERANDS]; /* an output's arena after the reference on absolute values */
    struct rows_apart {
        struct arena space;
        struct operand of;
    } apart[OPERANDS]; /* the last address space for rows that are far from each other */
    uint64_t seed;
    char *message;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static bool fail(struct check *c, const char *format, ...) {
    const struct shape *s = &c->shape;
    static const char *const places[] = {"end at a page", "start at a page", "start off alignment"};
    va_list ap;
    int n = snprintf(c->message, c->size,
                     "%s, k=%lld mr=%lld nr=%lld acc=%lld, rows %lld longer than used, operands %s: ",
                     c->row->symbol, (long long)s->k, (long long)s->mr, (long long)s->nr, (long long)s->acc,
                     (long long)s->gap, places[s->placement]);

    va_start(ap, format);
    if (n > 0 && (size_t)n < c->size)
        vsnprintf(c->message + n, c->size - (size_t)n, format, ap);
    va_end(ap);
    return false;
}

/* splitmix64 */
static uint64_t next_random(uint64_t *seed) {
    uint64_t x = *seed += 0x9e3779b97f4a7c15;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/* Integers, so small that the products of two add up exactly in the type of the sum for any k here; or any. Of bytes, all
 * values, or mostly the least and the most, with which sums of products overflow in 16 bits. */
static double value(struct check *c, enum element type) {
    const uint64_t x = next_random(&c->seed);
    const bool small = c->shape.data == INTEGERS;

    switch (type) {
    case U8:
        return small ? (double)(x % 256) : x % 8 ? 255.0 * (double)(x >> 8 & 1) : (double)(x >> 8 & 255);
    case I8:
        return small || x % 8 == 0 ? (double)(x >> 8 & 255) - 128 : x >> 8 & 3 ? -128 : 127;
    case I32:
        return (double)(int32_t)(uint32_t)x;
    case F16:
        return small ? (double)(x % 5) - 2 : (double)(x >> 40) * 0x1p-23 - 1;
    case F64:
        return small ? (double)(x % 9) - 4 : (double)(x >> 11) * 0x1p-52 - 1;
    default:
        return small ? (double)(x % 9) - 4 : (double)(x >> 40) * 0x1p-23 - 1;
    }
}

/* Elements from the first to the last that belong to the operand. */
static int64_t extent(const struct operand *o) {
    return o->rows && o->length ? (o->rows - 1) * o->stride + o->length + o->over : 0;
}

static void plan_of(const struct check *c, const struct shape *shape, struct plan *plan) {
    *plan = (struct plan){0};
    c->op->plan(c->row, shape, plan);
    for (int i = 0; i < plan->operands; i++)
        plan->operand[i].type = c->op->types[i];
}

/* So many of a row's elements are worked on at once. */
enum { PIECE = 64 };

static int64_t piece(int64_t left) {
    return left < PIECE ? left : PIECE;
}

/* Data for the row that begins with the first element. */
static void put_values(struct check *c, const struct operand *o, int64_t first) {
    double values[PIECE];

    for (int64_t x = 0, n; x < o->used; x += n) {
        n = piece(o->used - x);
        for (int64_t i = 0; i < n; i++)
            values[i] = value(c, o->type);
        put(o->type, o->at, first + x, values, n);
    }
}

/* Finds the operand its place and fills its arena. */
static bool fill(struct check *c, int i) {
    struct operand *o = &c->plan.operand[i];
    struct arena *arena = &c->arena[i];
    const size_t element = bytes_of(o->type), bytes = (size_t)extent(o) * element;
    const size_t align = (size_t)o->align > element ? (size_t)o->align : element;
    const bool reads_output = c->op->adds || (c->op->has_acc && c->shape.acc);
    size_t offset = 0;

    if (bytes + align > arena->size)
        return fail(c, "the test's arenas are too small for operand %d", i);
    if (c->shape.placement == AT_END)
        offset = (arena->size - bytes) / align * align;
    else if (c->shape.placement == MISALIGNED)
        offset = align;
    o->at = (char *)arena->data + offset;
    memset(arena->data, 0xca, arena->size);
    for (int64_t r = 0; r < o->rows; r++) {
        const int64_t first = r * o->stride;

        if (o->output && (!reads_output || o->never_read))
            put_nan(o->type, o->at, first, first + o->used);
        else
            put_values(c, o, first);
        if (!o->output && o->length)
            put_nan(o->type, o->at, first + o->used, r + 1 < o->rows ? first + o->stride : extent(o));
    }
    memcpy(c->before[i], arena->data, arena->size);
    return true;
}

static void in_absolute_values(const struct operand *o) {
    double values[PIECE];

    for (int64_t r = 0; r < o->rows && !is_integer(o->type); r++) {
        for (int64_t x = 0, n; x < o->used; x += n) {
            n = piece(o->used - x);
            get(o->type, o->at, r * o->stride + x, values, n);
            for (int64_t i = 0; i < n; i++)
                values[i] = fabs(values[i]);
            put(o->type, o->at, r * o->stride + x, values, n);
        }
    }
}

/* What goes into the register of a float or double argument. */
static uint64_t scalar_bits(const struct check *c) {
    uint64_t bits = 0;

    put(c->op->types[0], &bits, 0, &c->plan.scalar, 1);
    return bits;
}

/* Which words of a call are addresses. */
static unsigned addresses(const struct plan *p) {
    unsigned bits = 0;

    for (int i = 0; i < p->count; i++)
        bits |= (unsigned)(p->operand_of[i] >= 0) << i;
    return bits;
}

static void call_reference(struct check *c) {
    int64_t words[ABI_WORDS] = {c->row->mr, c->row->nr, c->row->kr};

    memcpy(words + 3, c->plan.words, (ABI_WORDS - 3) * sizeof *words);
    abi_call(c->op->reference, words, c->plan.count + 3, addresses(&c->plan) << 3, scalar_bits(c));
}

static void swap_contents(struct arena *arena, unsigned char *with) {
    unsigned char piece[4096];

    for (size_t b = 0, n; b < arena->size; b += n) {
        n = arena->size - b < sizeof piece ? arena->size - b : sizeof piece;
        memcpy(piece, arena->data + b, n);
        memcpy(arena->data + b, with + b, n);
        memcpy(with + b, piece, n);
    }
}

/* Runs the reference in the arenas, keeps the outputs' as what is expected, and puts everything back. */
static void expect(struct check *c) {
    struct arena *arena = c->arena;

    if (c->shape.data == RANDOM) {
        for (int i = 0; i < c->plan.operands; i++)
            in_absolute_values(&c->plan.operand[i]);
        call_reference(c);
        for (int i = 0; i < c->plan.operands; i++) {
            memcpy(c->magnitude[i], arena[i].data, arena[i].size);
            memcpy(arena[i].data, c->before[i], arena[i].size);
        }
    }
    call_reference(c);
    for (int i = 0; i < c->plan.operands; i++)
        if (c->plan.operand[i].output)
            swap_contents(&arena[i], c->before[i]);
}

/* Half a unit in the last place of 1; of sums of bf16 a whole one, as instructions for them round to odd. */
static double roundoff(const struct check *c, enum element sum) {
    return sum == F64                ? DBL_EPSILON / 2
           : sum == F16              ? 0x1p-11
           : c->op->types[0] == BF16 ? (double)FLT_EPSILON
                                     : (double)FLT_EPSILON / 2;
}

/* Both sums of k products, in whatever order, are within g = k u / (1 - k u), k counted with C and what fills the last group, of the sum of the magnitudes, so is
 * the one that adds C; and so is the computed sum of the magnitudes. What is lost when an f16 becomes subnormal is added. */
static double tolerance(const struct check *c, const struct operand *o, double magnitude) {
    const double k = (double)(c->shape.k + c->row->kr) + 1, u = roundoff(c, o->type), g = k * u / (1 - k * u);

    if (c->shape.data == INTEGERS || is_integer(o->type))
        return 0;
    return 2 * g / (1 - g) * magnitude + (o->type == F16 ? k * 0x1p-24 : 0);
}

/* The elements of a row from the x-th. What is right becomes what is expected, so that the arenas are equal. */
static bool compare_piece(struct check *c, int i, int64_t r, int64_t x, int64_t n) {
    struct operand *o = &c->plan.operand[i];
    const size_t element = bytes_of(o->type), start = (size_t)((unsigned char *)o->at - c->arena[i].data);
    unsigned char *expected = c->before[i] + start, *magnitude = c->magnitude[i] + start;
    const int64_t at = r * o->stride + x;
    double is[PIECE], right[PIECE], most[PIECE];

    get(o->type, o->at, at, is, n);
    get(o->type, expected, at, right, n);
    get(o->type, magnitude, at, most, n);
    for (int64_t j = 0; j < n; j++)
        if (!(fabs(is[j] - right[j]) <= tolerance(c, o, most[j])))
            return fail(c, "wrong result: row %lld, column %lld is %g, not %g", (long long)r,
                        (long long)(x + j), is[j], right[j]);
    memcpy(expected + (size_t)at * element, o->at + (size_t)at * element, (size_t)n * element);
    return true;
}

static bool compare_output(struct check *c, int i) {
    const struct operand *o = &c->plan.operand[i];

    for (int64_t r = 0; r < o->rows; r++)
        for (int64_t x = 0; x < o->used; x += PIECE)
            if (!compare_piece(c, i, r, x, piece(o->used - x)))
                return false;
    return true;
}

static bool compare(struct check *c) {
    for (int i = 0; i < c->plan.operands; i++) {
        const unsigned char *data = c->arena[i].data, *before = c->before[i];
        size_t b = 0;

        if (c->plan.operand[i].output && !compare_output(c, i))
            return false;
        if (!memcmp(data, before, c->arena[i].size))
            continue;
        while (data[b] == before[b])
            b++;
        return fail(c, "wrote outside its output: operand %d, %lld bytes from its start", i,
                    (long long)(data + b - (const unsigned char *)c->plan.operand[i].at));
    }
    return true;
}

struct guarded_call {
    void (*function)(void);
    const struct plan *plan;
    uint64_t scalar;
    const char *broken;
};

static void call_kernel(void *argument) {
    struct guarded_call *g = argument;

    g->broken = abi_call(g->function, g->plan->words, g->plan->count, addresses(g->plan), g->scalar);
}

static bool fault(struct check *c, const void *at) {
    for (int i = 0; i < c->plan.operands; i++) {
        const struct operand *o = &c->plan.operand[i];
        const ptrdiff_t from = (const char *)at - o->at;

        if (from >= 0 && from < (ptrdiff_t)((size_t)extent(o) * bytes_of(o->type)))
            return fail(c, "faulted %lld bytes into operand %d: an aligned access", (long long)from, i);
        if (from >= -4096 && from < (ptrdiff_t)c->arena[i].size + 4096)
            return fail(c, "read or wrote outside operand %d: %lld bytes from its start, it has %lld", i,
                        (long long)from, (long long)extent(o) * (long long)bytes_of(o->type));
    }
    return fail(c, "faulted (address %p): an instruction this CPU lacks, or an aligned access", at);
}

static void set_addresses(struct check *c) {
    for (int i = 0; i < c->plan.count; i++)
        if (c->plan.operand_of[i] >= 0)
            c->plan.words[i] = (int64_t)(intptr_t)c->plan.operand[c->plan.operand_of[i]].at;
}

static bool check_one(struct check *c) {
    struct guarded_call g = {.function = c->function, .plan = &c->plan};
    const void *at;

    plan_of(c, &c->shape, &c->plan);
    for (int i = 0; i < c->plan.operands; i++)
        if (!fill(c, i))
            return false;
    set_addresses(c);
    expect(c);
    g.scalar = scalar_bits(c);
    if (!run_guarded(call_kernel, &g, &at))
        return fault(c, at);
    if (g.broken)
        return fail(c, "does not preserve %s", g.broken);
    return compare(c);
}

/* Acc, strides, placement and data in full for whole tiles and tiles of one element, in turn for those between.
 */
static bool check_edge(struct check *c, int64_t k, int64_t mr, int64_t nr, unsigned *turn) {
    const bool corner = (mr == c->row->mr && nr == c->row->nr) || (mr == 1 && nr == 1);
    const bool longest = k == MAX_K && getenv("UK_UNDER_QEMU");
    const bool all = corner && !(longest && c->op->wide && nr > 1);
    const unsigned variants = 2 * 2 * PLACEMENTS * DATA;

    /* An emulator takes four fifths of its time for the longest k: there for the corners only, and of thousands of
     * columns for two of the variants. */
    if (longest && !corner)
        return true;
    for (unsigned v = 0; v < (all ? variants : 2); v++) {
        /* 7 and the number of variants have no common divisor: the turns go through them all. */
        unsigned now = all ? v : (*turn += 7) % variants;

        c->shape = (struct shape){.k = k, .mr = mr, .nr = nr};
        c->shape.acc = c->op->has_acc && now % 2;
        c->shape.gap = now / 2 % 2 ? GAP : 0;
        c->shape.placement = (enum placement)(now / 4 % PLACEMENTS);
        c->shape.data = (enum data)(now / 4 / PLACEMENTS % DATA);
        if (!check_one(c))
            return false;
    }
    return true;
}

/* ---- rows apart: so far that strides need 64 bits; or each at the end of a page that no other follows ---- */

enum { FAR_K = 3, PAGES_APART = 8192 /* elements: a multiple of the page, of two at least */ };
static const int64_t far_gap = (int64_t)1 << 32; /* a stride cut to 32 bits is then its row's length */

static bool is_far(const struct operand *o) {
    return o->rows > 1 && o->length && o->stride > PAGES_APART / 2;
}

/* The pages with a row. */
static void row_pages(const struct operand *o, int64_t r, char **start, size_t *bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), element = bytes_of(o->type);
    char *first = o->at + (size_t)(r * o->stride) * element;

    *start = first - (uintptr_t)first % page;
    *bytes = (size_t)(first - *start) + (size_t)(o->length + o->over) * element;
}

/* qemu-user goes through all pages that are mapped, with addresses of 64 bits millions: there only the rows' pages are,
 * where nothing else lies. */
static bool reserves_whole(void) {
    return !getenv("UK_UNDER_QEMU") || sizeof(void *) == 4;
}

/* Before the first element, so that each row ends at a page. */
static size_t padding(const struct operand *o) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), element = bytes_of(o->type);
    const size_t row = (size_t)(o->length + o->over) * element;
    const size_t align = (size_t)o->align > element ? (size_t)o->align : element;

    return (page - row % page) % page / align * align;
}

static size_t pages(const struct operand *o) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return ((size_t)extent(o) * bytes_of(o->type) + padding(o) + page - 1) / page;
}

static void release_rows(struct rows_apart *a) {
    size_t bytes;
    char *start;

    if (a->space.data && reserves_whole())
        munmap(a->space.data, a->space.size);
    for (int64_t r = 0; a->space.data && !reserves_whole() && r < a->of.rows; r++) {
        row_pages(&a->of, r, &start, &bytes);
        munmap(start, bytes);
    }
    a->space.data = NULL;
}

/* Address space for the i-th operand, of which only the pages with its rows exist: where the last one has the same pages,
 * it stays, since systems take longer for it than for the call. */
static bool reserve_rows(struct check *c, int i) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    struct rows_apart *a = &c->apart[i];
    struct operand *o = &c->plan.operand[i];
    void *hint = (void *)(uintptr_t)((UINT64_C(16) + 4 * (uint64_t)i) << 40);
    const bool whole = reserves_whole();
    size_t bytes;
    char *start;

    if (a->space.data && a->of.rows == o->rows && a->of.stride == o->stride && a->of.length == o->length &&
        pages(&a->of) == pages(o)) {
        o->at = (char *)a->space.data + padding(o);
        return true;
    }
    release_rows(a);
    a->space.size = (size_t)extent(o) * bytes_of(o->type) + padding(o);
    a->space.data = whole ? mmap(hint, a->space.size, PROT_NONE, flags, -1, 0) : hint;
    if (a->space.data == MAP_FAILED) {
        a->space.data = NULL;
        return false;
    }
    o->at = (char *)a->space.data + padding(o);
    a->of = *o;
    for (int64_t r = 0; r < o->rows; r++) {
        row_pages(o, r, &start, &bytes);
        if (whole ? mprotect(start, bytes, PROT_READ | PROT_WRITE)
                  : mmap(start, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != start)
            return false;
    }
    return true;
}

/* The tile's elements row after row: to `dense`, or from there. */
static void copy_tile(const struct operand *o, void *dense, bool from) {
    const size_t element = bytes_of(o->type), row = (size_t)o->used * element;

    for (int64_t r = 0; r < o->rows; r++) {
        char *there = (char *)dense + (size_t)r * row, *here = o->at + (size_t)(r * o->stride) * element;

        memcpy(from ? here : there, from ? there : here, row);
    }
}

static bool run_far(struct check *c, const char *how) {
    struct guarded_call g = {.function = c->function, .plan = &c->plan};
    const struct operand *o = c->plan.operand;
    const int n = c->plan.operands;
    const void *at;

    for (int i = 0; i < n; i++)
        for (int64_t r = 0; r < o[i].rows; r++)
            put_values(c, &o[i], r * o[i].stride);
    set_addresses(c);
    for (int i = 0; i < n; i++)
        copy_tile(&o[i], c->before[i], false);
    call_reference(c);
    for (int i = 0; i < n; i++) {
        copy_tile(&o[i], c->magnitude[i], false);
        copy_tile(&o[i], c->before[i], true);
    }
    g.scalar = scalar_bits(c);
    if (!run_guarded(call_kernel, &g, &at))
        return fail(c, "faulted with %s", how);
    for (int i = 0; i < n; i++) {
        copy_tile(&o[i], c->before[i], false);
        if (o[i].output &&
            memcmp(c->before[i], c->magnitude[i], (size_t)(o[i].rows * o[i].used) * bytes_of(o[i].type)))
            return fail(c, "wrong result with %s", how);
    }
    return true;
}

/* The most rows that are tried: of a kernel that takes any number, three of its groups. */
static int64_t most_rows(const struct check *c) {
    return c->op->any_rows ? 2 * c->row->mr + 3 : c->row->mr;
}

/* The most columns that are tried: of a kernel that takes any number, two of its steps and some. */
static int64_t most_columns(const struct check *c) {
    return c->op->any_columns ? 2 * c->row->nr + 3 : c->row->nr;
}

static bool row_edges(const struct check *c) {
    return c->op->has_rows && (c->row->edges == UK_EDGES_ANY || c->row->edges == UK_EDGES_ROWS);
}

static bool column_edges(const struct check *c) {
    return c->op->has_columns && (c->row->edges == UK_EDGES_ANY || c->row->edges == UK_EDGES_COLS);
}

/* c->shape, with rows that the gap puts on pages of their own. */
static bool check_apart(struct check *c, const char *how) {
    plan_of(c, &c->shape, &c->plan);
    for (int i = 0; i < c->plan.operands; i++) {
        struct operand *o = &c->plan.operand[i];

        o->at = (char *)c->arena[i].data;
        if (is_far(o) && !reserve_rows(c, i))
            return fail(c, "no address space for rows that are so far apart");
    }
    return run_far(c, how);
}

static bool check_far_rows(struct check *c) {
    c->shape =
        (struct shape){.k = FAR_K, .mr = c->row->mr, .nr = c->row->nr, .acc = c->op->has_acc, .gap = far_gap};
    if (row_edges(c) && c->shape.mr > 2)
        c->shape.mr = 2;
    return check_apart(c, "strides that need 64 bits");
}

/* Whoever reads or writes beside a row of the output, if only to put back what was there, touches a page that does not
 * exist: there another thread may be writing. */
static bool check_neighbours(struct check *c, int64_t mr, int64_t nr, int64_t acc) {
    c->shape = (struct shape){.k = FAR_K, .mr = mr, .nr = nr, .acc = acc};
    plan_of(c, &c->shape, &c->plan);
    for (int i = 0; i < c->plan.operands; i++) {
        const struct operand *o = &c->plan.operand[i];

        if (!o->output || o->rows < 2 || o->never_read)
            continue;
        c->shape.gap = PAGES_APART - o->stride;
        plan_of(c, &c->shape, &c->plan);
        return o->stride != PAGES_APART || check_apart(c, "nothing between the rows of its output");
    }
    return true;
}

/* All edges with these k; without a k, what lies beside the rows of the output. */
static bool check_edges(struct check *c, const int64_t *k, unsigned *turn) {
    const struct uk_kernel *row = c->row;
    const bool columns = column_edges(c);
    bool ok = true;

    for (int64_t mr = row_edges(c) ? 1 : row->mr; mr <= most_rows(c); mr++)
        for (int64_t nr = c->op->any_columns ? 0 : columns ? 1 : row->nr; nr <= most_columns(c) && ok; nr++) {
            if (nr > SOME_COLUMNS && nr != most_columns(c) && c->op->wide)
                continue;
            if (k)
                ok = check_edge(c, *k, mr, nr, turn);
            else
                ok = check_neighbours(c, mr, nr, 0) && (!c->op->has_acc || check_neighbours(c, mr, nr, 1));
        }
    return ok;
}

/* As large as the largest operands with that k, and a page for what is written outside of them: what does not belong
 * to an operand is checked too. */
static bool make_arenas(struct check *c, int64_t k) {
    const struct shape most = {.k = k, .mr = most_rows(c), .nr = most_columns(c), .gap = GAP};
    struct plan plan;
    bool ok = true;

    plan_of(c, &most, &plan);
    for (int i = 0; i < plan.operands; i++)
        ok = arena_make(&c->arena[i],
                        (size_t)extent(&plan.operand[i]) * bytes_of(plan.operand[i].type) + 4096) &&
             (c->before[i] = malloc(c->arena[i].size)) && (c->magnitude[i] = malloc(c->arena[i].size)) && ok;
    if (!ok)
        snprintf(c->message, c->size, "%s: no memory for the test", c->row->symbol);
    return ok;
}

static void free_arenas(struct check *c) {
    for (int i = 0; i < OPERANDS; i++) {
        arena_free(&c->arena[i]);
        free(c->before[i]);
        free(c->magnitude[i]);
        c->before[i] = c->magnitude[i] = NULL;
        release_rows(&c->apart[i]);
    }
}

bool check_kernel(const struct uk_kernel *row, void (*function)(void), char *message, size_t size) {
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 64, MAX_K};
    struct check c = {.row = row,
                      .op = check_op(row->op),
                      .function = function,
                      .seed = 1,
                      .message = message,
                      .size = size};
    unsigned turn = 0;
    bool ok = true;

    if (!c.op) {
        snprintf(message, size, "%s: no test for op %s; add one to ops[] in check_plan.c", row->symbol,
                 row->op);
        return false;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && ok; i++)
        if (c.op->has_k || sizes[i] == 1) {
            ok = make_arenas(&c, sizes[i]) && check_edges(&c, &sizes[i], &turn);
            free_arenas(&c);
        }
    ok = ok && make_arenas(&c, FAR_K) && check_edges(&c, NULL, &turn);
    /* Where addresses have 32 bits no two rows are so far apart. */
    if (sizeof(void *) == 8)
        ok = ok && check_far_rows(&c);
    free_arenas(&c);
    return ok;
}
