/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares a network whose sizes are open with networks compiled for one value of them:
 *
 *     ranges MODEL DRAWS NAME=LOWER..UPPER:STEP ...
 *
 * - It runs at the smallest sizes, at the largest, and at DRAWS others, in one block of memory. Outputs have
 *   the shapes and the elements of the network compiled for these sizes: integers the same, floats up to
 *   FLOAT_DISTANCE of the largest.
 * - Each layer's elements are within the interpreter's bounds at these sizes.
 * - DRAWS of 1, for tests that must be short: networks of one value of the sizes are interpreted, since
 *   compiling them takes most of the time.
 * - Sizes out of range, and off their step, are refused with nothing written.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "interpreted.h"

enum { MOST = 8, CHECKED = 48 };
/* Layers have their own, tight bounds: this one finds values of other elements. It allows roundings, which
 * differ between two programs in each layer. */
#define FLOAT_DISTANCE 1e-5

struct ranges {
    const char *model;
    const char *name[MOST];
    int64_t lower[MOST], upper[MOST], step[MOST];
    int sizes, draws;
    struct uk_network *n;
    void *memory;
    double worst;
    uint64_t state;
};

static bool fail(const struct ranges *r, const int64_t *size, const char *what) {
    fprintf(stderr, "ranges: %s", r->model);
    for (int i = 0; size && i < r->sizes; i++)
        fprintf(stderr, " %s=%" PRId64, r->name[i], size[i]);
    fprintf(stderr, ": %s\n", what);
    return false;
}

static uint64_t draw(struct ranges *r) {
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return r->state >> 33;
}

/* ---- tensors ---- */

static bool is_float(enum uk_type type) {
    return type == UK_F32 || type == UK_F64 || type == UK_F16 || type == UK_BF16;
}

/* Element i of floats. */
static double real_of(enum uk_type type, const void *data, size_t i) {
    const uint32_t wide = type == UK_BF16 ? (uint32_t)((const uint16_t *)data)[i] << 16 : 0;
    float of_bf16;

    memcpy(&of_bf16, &wide, sizeof of_bf16);
    return type == UK_F64   ? ((const double *)data)[i]
           : type == UK_F32 ? ((const float *)data)[i]
           : type == UK_F16 ? (double)((const _Float16 *)data)[i]
                            : of_bf16;
}

/* Puts a value of -1 to 1. */
static void put_real(enum uk_type type, void *data, size_t i, double v) {
    const float single = (float)v;
    uint32_t bits;

    memcpy(&bits, &single, sizeof bits);
    if (type == UK_F64)
        ((double *)data)[i] = v;
    else if (type == UK_F32)
        ((float *)data)[i] = single;
    else if (type == UK_F16)
        ((_Float16 *)data)[i] = (_Float16)v;
    else
        ((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
}

/* The distance of two results, relative to the largest one: results of 16 bits are rounded once more. */
static double most_distance(enum uk_type type) {
    return FLOAT_DISTANCE + (type == UK_F16 ? 0x1p-10 : type == UK_BF16 ? 0x1p-7 : 0);
}

static void fill(struct ranges *r, const struct uk_network_tensor *t, void *to) {
    for (size_t i = 0; i < t->elements; i++) {
        const double v = (double)(draw(r) % 4096) / 2048 - 1;
        if (is_float(t->type))
            put_real(t->type, to, i, v);
        else if (t->type == UK_I64)
            ((int64_t *)to)[i] = (int64_t)(draw(r) & 1);
        else if (t->type == UK_I32)
            ((int32_t *)to)[i] = (int32_t)(draw(r) & 1);
        else
            memset((char *)to + i * uk_type_bytes(t->type), (int)(draw(r) & (t->is_boolean ? 1 : 255)),
                   uk_type_bytes(t->type));
    }
}

static bool same_tensor(struct ranges *r, const int64_t *size, const struct uk_network_tensor *a,
                        const struct uk_network_tensor *b, const void *data_a, const void *data_b) {
    double largest = 0, distance = 0;

    if (a->rank != b->rank || a->type != b->type || memcmp(a->shape, b->shape, (size_t)a->rank * 8) != 0)
        return fail(r, size, "an output has another shape");
    if (!is_float(a->type))
        return memcmp(data_a, data_b, a->bytes) ? fail(r, size, "integers differ") : true;
    for (size_t i = 0; i < a->elements; i++) {
        const double x = real_of(a->type, data_a, i), y = real_of(a->type, data_b, i);
        if (isnan(x) != isnan(y))
            return fail(r, size, "a NaN differs");
        if (x == y || isnan(x))
            continue;
        largest = fmax(largest, fabs(y));
        distance = fmax(distance, fabs(x - y));
    }
    if (distance > 0 && distance / largest > r->worst)
        r->worst = distance / largest;
    return distance <= largest * most_distance(a->type) ? true : fail(r, size, "floats differ");
}

/* ---- layers ---- */

static bool check_layer(struct ranges *r, const int64_t *size, int layer) {
    const struct uk_network_tensor *t = &uk_network_layer(r->n, layer)->output;
    const int64_t count = t->elements < CHECKED ? (int64_t)t->elements : CHECKED;
    char expected[CHECKED * 8], *result = malloc(t->bytes + 1);
    const size_t bytes = uk_type_bytes(t->type);
    int64_t element[CHECKED];
    double bound[CHECKED];
    bool right = true;

    for (int64_t i = 0; i < count; i++)
        element[i] = i == 0   ? 0
                     : i == 1 ? (int64_t)t->elements - 1
                              : (int64_t)(draw(r) % (uint64_t)t->elements);
    if (!result || uk_network_layer_copy(r->n, r->memory, layer, result) ||
        (count &&
         uk_network_interpret_elements(r->n, NULL, r->memory, layer, count, element, expected, bound)))
        right = fail(r, size, uk_network_message(r->n));
    for (int64_t i = 0; i < count && right; i++) {
        const char *got = result + (size_t)element[i] * bytes, *wanted = expected + (size_t)i * bytes;
        bool same = !memcmp(got, wanted, bytes);
        if (is_float(t->type)) {
            const double x = real_of(t->type, got, 0), y = real_of(t->type, wanted, 0);
            same |= (isnan(x) && isnan(y)) || fabs(x - y) <= bound[i];
        }
        if (!same)
            right = fail(r, size, uk_network_layer(r->n, layer)->text);
    }
    free(result);
    return right;
}

static bool check_layers(struct ranges *r, const int64_t *size) {
    for (int i = -1; (i = uk_network_next_layer(r->n, r->memory, i)) >= 0;)
        if (uk_network_run_layer(r->n, r->memory, i))
            return fail(r, size, "a layer refuses its arguments");
        else if (!check_layer(r, size, i))
            return false;
    return true;
}

/* ---- one run ---- */

/* True if networks of one value of the sizes are compiled. */
static bool is_compiled(const struct ranges *r) {
    return r->draws > 1;
}

static struct uk_network *read_fixed(const struct ranges *r, const int64_t *size) {
    struct uk_network *f = uk_network_create();
    const struct uk_network_options o = {.size_names = r->name, .size_values = size, .size_count = r->sizes};

    if (f && (uk_network_read_file(f, r->model, &o) || (is_compiled(r) && uk_network_compile(f, NULL)))) {
        fail(r, size, uk_network_message(f));
        uk_network_destroy(f);
        return NULL;
    }
    return f;
}

/* The sizes in the order of the open network's. */
static void in_order(const struct ranges *r, const int64_t *size, int64_t *ordered) {
    for (int i = 0; uk_network_size(r->n, i); i++)
        for (int k = 0; k < r->sizes; k++)
            if (!strcmp(uk_network_size(r->n, i)->name, r->name[k]))
                ordered[i] = size[k];
}

static bool give_inputs(struct ranges *r, const int64_t *size, struct uk_network *f, void *memory) {
    const struct uk_network_tensor *a, *b;

    for (int i = 0; (b = uk_network_value(f, UK_NETWORK_INPUT, i)); i++) {
        a = uk_network_value(r->n, UK_NETWORK_INPUT, i);
        if (a->bytes != b->bytes)
            return fail(r, size, "an input has another size");
        fill(r, b, uk_network_input(f, memory, i));
        memcpy(uk_network_input(r->n, r->memory, i), uk_network_input(f, memory, i), b->bytes);
    }
    return true;
}

static bool choose(struct ranges *r, const int64_t *size) {
    int64_t ordered[MOST] = {0};

    in_order(r, size, ordered);
    return uk_network_choose(r->n, ordered) ? fail(r, size, uk_network_message(r->n)) : true;
}

static bool compare(struct ranges *r, const int64_t *size) {
    struct uk_network *f = read_fixed(r, size);
    const size_t bytes = !f               ? 0
                         : is_compiled(r) ? (uk_network_memory(f) + 63) / 64 * 64
                                          : interpreted_bytes(f);
    void *memory = f ? aligned_alloc(64, bytes) : NULL;
    int64_t ordered[MOST] = {0};
    bool right = memory && choose(r, size) && give_inputs(r, size, f, memory) && check_layers(r, size);

    in_order(r, size, ordered);
    /* A run of layers may have overwritten the inputs. */
    for (int i = 0; right && uk_network_value(f, UK_NETWORK_INPUT, i); i++)
        memcpy(uk_network_input(r->n, r->memory, i), uk_network_input(f, memory, i),
               uk_network_value(f, UK_NETWORK_INPUT, i)->bytes);
    if (right && (uk_network_run_sizes(r->n, r->memory, ordered) ||
                  (is_compiled(r) ? uk_network_run(f, memory) : interpret_network(f, memory))))
        right = fail(r, size, "a run refuses its inputs");
    for (int i = 0; right && uk_network_value(f, UK_NETWORK_OUTPUT, i); i++)
        right = same_tensor(r, size, uk_network_value(r->n, UK_NETWORK_OUTPUT, i),
                            uk_network_value(f, UK_NETWORK_OUTPUT, i), uk_network_output(r->n, r->memory, i),
                            uk_network_output(f, memory, i));
    free(memory);
    uk_network_destroy(f);
    return right;
}

/* ---- refusals ---- */

static bool is_refused(struct ranges *r, int size, int64_t value) {
    int64_t sizes[MOST] = {0};
    const size_t bytes = uk_network_memory(r->n);
    char *before = malloc(bytes);
    bool right = before;

    in_order(r, r->upper, sizes);
    for (int i = 0; uk_network_size(r->n, i); i++)
        if (!strcmp(uk_network_size(r->n, i)->name, r->name[size]))
            sizes[i] = value;
    if (right) {
        memcpy(before, r->memory, bytes);
        right = uk_network_run_sizes(r->n, r->memory, sizes) == UK_INVALID_SIZE &&
                !memcmp(before, r->memory, bytes) && uk_network_choose(r->n, sizes) == UK_INVALID_SIZE;
    }
    free(before);
    return right ? true : fail(r, sizes, "sizes out of range are not refused");
}

static bool refuses(struct ranges *r) {
    bool right = true;

    for (int i = 0; i < r->sizes && right; i++)
        right = is_refused(r, i, r->lower[i] - r->step[i]) && is_refused(r, i, r->upper[i] + r->step[i]) &&
                is_refused(r, i, INT64_MIN) && is_refused(r, i, INT64_MAX) &&
                (r->step[i] == 1 || is_refused(r, i, r->upper[i] - 1));
    return right;
}

/* ---- entry ---- */

static bool parse(struct ranges *r, char *text) {
    char *equals = strchr(text, '='), *at = equals;
    const int i = r->sizes++;

    if (!equals || i == MOST)
        return false;
    *equals = 0;
    r->name[i] = text;
    r->lower[i] = strtoll(at + 1, &at, 10);
    r->upper[i] = *at == '.' ? strtoll(at + 2, &at, 10) : 0;
    r->step[i] = *at == ':' ? strtoll(at + 1, &at, 10) : 1;
    return r->upper[i] > r->lower[i] && !*at;
}

static bool run(struct ranges *r) {
    int64_t size[MOST];

    for (int i = 0; i < r->sizes; i++)
        if (uk_network_range(r->n,
                             &(struct uk_network_size){r->name[i], r->lower[i], r->upper[i], r->step[i]}))
            return fail(r, NULL, uk_network_message(r->n));
    if (uk_network_read_file(r->n, r->model, NULL) || uk_network_compile(r->n, NULL))
        return fail(r, NULL, uk_network_message(r->n));
    const size_t bytes = (uk_network_memory(r->n) + 63) / 64 * 64;
    r->memory = aligned_alloc(64, bytes);
    if (!r->memory)
        return fail(r, NULL, "out of memory");
    memset(r->memory, 0xa5, bytes);
    bool right = refuses(r) && compare(r, r->upper) && compare(r, r->lower);
    for (int d = 0; d < r->draws && right; d++) {
        for (int i = 0; i < r->sizes; i++)
            size[i] =
                r->lower[i] +
                (int64_t)(draw(r) % (uint64_t)((r->upper[i] - r->lower[i]) / r->step[i] + 1)) * r->step[i];
        right = compare(r, size);
    }
    free(r->memory);
    return right;
}

int main(int argc, char **argv) {
    struct ranges r = {.model = argc > 1 ? argv[1] : "", .n = uk_network_create(), .state = 1};
    bool right = argc > 3 && r.n;

    r.draws = argc > 2 ? atoi(argv[2]) : 0;
    for (int i = 3; i < argc && right; i++)
        right = parse(&r, argv[i]) ? true : fail(&r, NULL, "expected NAME=LOWER..UPPER:STEP");
    right = right && run(&r);
    if (right)
        printf("%s: right at %d sizes; floats differ by %.2g of the largest at most\n", r.model, r.draws + 2,
               r.worst);
    uk_network_destroy(r.n);
    return !right;
}
