/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks one call. Operands lie in arenas, next to one guard page or the other. Bytes of an arena outside the
 * operand hold canaries; elements that a kernel may read but not use hold NaN. The reference runs on a copy
 * of the output's arena. Afterwards the arenas must be equal in every byte, except for rounding on random
 * data.
 */
#include "check_call.h"
#include "random.h"
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool check_fail(struct check *c, const char *format, ...) {
    const struct shape *s = &c->shape;
    static const char *const places[] = {"end at a page", "start at a page", "start off alignment"};
    va_list ap;
    int n = snprintf(
        c->message, c->size,
        "%s, k=%lld mr=%lld nr=%lld acc=%lld, rows %lld longer than used, step %lld%s, operands %s: ",
        c->row->symbol, (long long)s->k, (long long)s->mr, (long long)s->nr, (long long)s->acc,
        (long long)s->gap, (long long)s->step, s->reversed ? " reversed" : "", places[s->placement]);

    va_start(ap, format);
    if (n > 0 && (size_t)n < c->size)
        vsnprintf(c->message + n, c->size - (size_t)n, format, ap);
    va_end(ap);
    return false;
}

static bool has_weights(const struct check *c) {
    return c->row->operation && c->row->operation->form == UK_OP_WEIGHTS;
}

/* Draws an element. INTEGERS: so small that sums of products are exact in the type of the sum for any k here;
 * else any value. Bytes and i16 take all values, or mostly the extremes, with which sums of products overflow
 * 16 bits. */
static double value(struct check *c, const struct operand *o) {
    const uint64_t x = random_next(&c->seed);
    const bool small = c->shape.data == INTEGERS;
    enum element type = o->type;

    /* Bytes that are multiplied by weights of 8 bits and two scales, and summed in f32. */
    if (small && has_weights(c) && o == c->plan.operand && type == I8)
        type = F32;

    switch (type) {
    case U8:
        return small ? (double)(x % 256) : x % 8 ? 255.0 * (double)(x >> 8 & 1) : (double)(x >> 8 & 255);
    case I8:
        return small || x % 8 == 0 ? (double)(x >> 8 & 255) - 128 : x >> 8 & 3 ? -128 : 127;
    case I16:
        return small   ? (double)(x >> 8 & 15) - 8
               : x % 8 ? x >> 8 & 3 ? -32768 : 32767
                       : (double)(int16_t)(x >> 8);
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

int64_t operand_extent(const struct operand *o) {
    return o->rows && o->length ? (o->rows - 1) * o->stride + o->length + o->over : 0;
}

/* Elements of a row that are processed at once. */
enum { PIECE = 64 };

static int64_t piece(int64_t left) {
    return left < PIECE ? left : PIECE;
}

void check_put_values(struct check *c, const struct operand *o, int64_t first) {
    double values[PIECE];

    for (int64_t x = 0, n; x < o->used; x += n) {
        n = piece(o->used - x);
        for (int64_t i = 0; i < n; i++)
            values[i] = value(c, o);
        put(o->type, o->at, first + x, values, n);
    }
}

/* Places the operand and fills its arena. */
static bool fill(struct check *c, int i) {
    struct operand *o = &c->plan.operand[i];
    struct arena *arena = &c->arena[i];
    const size_t element = bytes_of(o->type), bytes = (size_t)operand_extent(o) * element;
    const size_t align = (size_t)o->align > element ? (size_t)o->align : element;
    const bool reads_output = c->op.adds || (c->op.has_acc && c->shape.acc);
    size_t offset = 0;

    if (bytes + align > arena->size)
        return check_fail(c, "the test's arenas are too small for operand %d", i);
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
            check_put_values(c, o, first);
        if (!o->output && o->length)
            put_nan(o->type, o->at, first + o->used, r + 1 < o->rows ? first + o->stride : operand_extent(o));
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

/* Register contents of a float or double argument. */
static uint64_t scalar_bits(const struct check *c) {
    uint64_t bits = 0;

    put(c->plan.operand[0].type, &bits, 0, &c->plan.scalar, 1);
    return bits;
}

/* Bit mask of the call's words that are addresses. */
static unsigned addresses(const struct plan *p) {
    unsigned bits = 0;

    for (int i = 0; i < p->count; i++)
        bits |= (unsigned)(p->operand_of[i] >= 0) << i;
    return bits;
}

void check_reference(struct check *c) {
    int64_t words[ABI_WORDS] = {c->row->mr, c->row->nr, c->row->kr};

    memcpy(words + 3, c->plan.words, (ABI_WORDS - 3) * sizeof *words);
    abi_call(c->op.reference, words, c->plan.count + 3, addresses(&c->plan) << 3, scalar_bits(c));
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

/* Runs the reference in the arenas, stores the outputs' arenas as the expected result, and restores all
 * contents. */
static void expect(struct check *c) {
    struct arena *arena = c->arena;

    if (c->shape.data == RANDOM) {
        for (int i = 0; i < c->plan.operands; i++)
            in_absolute_values(&c->plan.operand[i]);
        check_reference(c);
        for (int i = 0; i < c->plan.operands; i++) {
            memcpy(c->magnitude[i], arena[i].data, arena[i].size);
            memcpy(arena[i].data, c->before[i], arena[i].size);
        }
    }
    check_reference(c);
    for (int i = 0; i < c->plan.operands; i++)
        if (c->plan.operand[i].output)
            swap_contents(&arena[i], c->before[i]);
}

/* Unit roundoff; doubled for sums of bf16, because instructions for them round to odd. */
static double roundoff(const struct check *c, enum element sum) {
    return sum == F64                        ? DBL_EPSILON / 2
           : sum == F16                      ? 0x1p-11
           : c->plan.operand[0].type == BF16 ? (double)FLT_EPSILON
                                             : (double)FLT_EPSILON / 2;
}

/* Error bound. Both sums of k products, in any order, are within g = k u / (1 - k u) times the sum of
 * magnitudes, where k counts C and the padding of the last group; so is the computed sum of magnitudes. The
 * loss when an f16 becomes subnormal is added. */
static double tolerance(const struct check *c, const struct operand *o, double magnitude) {
    /* Of weights in blocks: two terms a byte, and the product of both scales. */
    const double terms = has_weights(c) ? (double)(2 * c->plan.words[0] * c->plan.words[1] + 2)
                                        : (double)(c->shape.k + c->row->kr);
    const double k = terms + 1, u = roundoff(c, o->type), g = k * u / (1 - k * u);

    if (c->shape.data == INTEGERS || is_integer(o->type))
        return 0;
    if (has_weights(c)) /* they have signs of their own: all terms are taken for the largest */
        magnitude = terms * (c->plan.operand->type == I8 ? 128 : 1) * (1 << c->row->operation->bits) + 1;
    return 2 * g / (1 - g) * magnitude + (o->type == F16 ? k * 0x1p-24 : 0);
}

/* Compares n elements of a row from the x-th. Elements within the bound are replaced by the expected ones, so
 * that arenas can be compared bytewise. */
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
            return check_fail(c, "wrong result: row %lld, column %lld is %g, not %g", (long long)r,
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
        return check_fail(c, "wrote outside its output: operand %d, %lld bytes from its start", i,
                          (long long)(data + b - (const unsigned char *)c->plan.operand[i].at));
    }
    return true;
}

struct guarded_call {
    void (*function)(void);
    const struct plan *plan;
    uint64_t scalar;
    enum uk_state state;
    const char *broken;
};

static void call_kernel(void *argument) {
    struct guarded_call *g = argument;

    if (g->state && !uk_state_load(g->state)) /* without it the function is the kernel in C */
        abi_check_tiles();
    g->broken = abi_call(g->function, g->plan->words, g->plan->count, addresses(g->plan), g->scalar);
    if (g->state)
        uk_state_release(g->state);
}

bool check_run(struct check *c, const char **broken, const void **at) {
    struct guarded_call g = {.function = c->function,
                             .plan = &c->plan,
                             .scalar = scalar_bits(c),
                             .state = uk_kernel_state(c->row)};
    const bool ended = run_guarded(call_kernel, &g, at);

    *broken = g.broken;
    return ended;
}

static bool fault(struct check *c, const void *at) {
    for (int i = 0; i < c->plan.operands; i++) {
        const struct operand *o = &c->plan.operand[i];
        const ptrdiff_t from = (const char *)at - o->at;

        if (from >= 0 && from < (ptrdiff_t)((size_t)operand_extent(o) * bytes_of(o->type)))
            return check_fail(c, "faulted %lld bytes into operand %d: an aligned access", (long long)from, i);
        if (from >= -4096 && from < (ptrdiff_t)c->arena[i].size + 4096)
            return check_fail(c, "read or wrote outside operand %d: %lld bytes from its start, it has %lld",
                              i, (long long)from,
                              (long long)operand_extent(o) * (long long)bytes_of(o->type));
    }
    return check_fail(c, "faulted (address %p): an instruction this CPU lacks, or an aligned access", at);
}

void check_set_addresses(struct check *c) {
    for (int i = 0; i < c->plan.count; i++)
        if (c->plan.operand_of[i] >= 0)
            c->plan.words[i] = (int64_t)(intptr_t)c->plan.operand[c->plan.operand_of[i]].at;
}

bool check_call(struct check *c) {
    const char *broken;
    const void *at;

    check_plan(c->row, &c->op, &c->shape, &c->plan);
    for (int i = 0; i < c->plan.operands; i++)
        if (!fill(c, i))
            return false;
    check_set_addresses(c);
    expect(c);
    if (!check_run(c, &broken, &at))
        return fault(c, at);
    if (broken)
        return check_fail(c, "does not preserve %s", broken);
    return compare(c);
}
