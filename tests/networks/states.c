/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a network with states, sequence by sequence, and compares each step with the same network without:
 *
 *     states MODEL STEPS [NAME=LOWER..UPPER] ... [pages]
 *
 * - "past" is the size of what is in the states, "seq" that of the rows that a step adds. A network without a
 *   size "past" has an input "position" of i64 instead, which gets the number of rows so far.
 * - Two blocks of memory hold two sequences, whose steps alternate. A sequence begins again with past = 0
 *   when there is no room for the next step.
 * - Outputs and states are equal: integers the same, floats up to FLOAT_DISTANCE of the largest. Elements of
 *   the states that a step does not write are the same bits as before.
 * - pages: during a run all whole pages of the states are read-only, except those with new rows.
 * - A size out of its range is refused with nothing written.
 */
#define _DEFAULT_SOURCE
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "networks.h"

enum { MOST = 8, SEQUENCES = 2 };
/* Two programs for one layer round differently. */
#define FLOAT_DISTANCE 1e-5

struct test {
    const char *model;
    const char *name[MOST];
    int64_t lower[MOST], upper[MOST];
    int sizes;
    bool protects;
    struct uk_network *n, *plain; /* with states, and without */
    char *memory[SEQUENCES], *plain_memory;
    size_t bytes;
    int64_t rows[SEQUENCES]; /* in the states of each */
    uint64_t draws;
    int pages; /* that were read-only */
};

static bool fail(const struct test *t, const char *what) {
    fprintf(stderr, "states: %s: rows %" PRId64 " and %" PRId64 ": %s\n", t->model, t->rows[0], t->rows[1],
            what);
    return false;
}

static int64_t draw(struct test *t, int64_t low, int64_t high) {
    t->draws = t->draws * 6364136223846793005u + 1442695040888963407u;
    return low + (int64_t)((t->draws >> 33) % (uint64_t)(high - low + 1));
}

static int number_of(const struct test *t, const char *name) {
    for (int i = 0; i < t->sizes; i++)
        if (!strcmp(t->name[i], name))
            return i;
    return -1;
}

/* ---- tensors ---- */

static double real_of(enum uk_type type, const void *data, size_t i) {
    return type == UK_F64 ? ((const double *)data)[i] : type == UK_F32 ? ((const float *)data)[i] : 0;
}

static bool is_same(const struct test *t, const struct uk_network_tensor *of, const void *a, const void *b) {
    double largest = 0, distance = 0;

    if (of->type != UK_F32 && of->type != UK_F64)
        return memcmp(a, b, of->bytes) ? fail(t, of->name) : true;
    for (size_t i = 0; i < of->elements; i++) {
        const double x = real_of(of->type, a, i), y = real_of(of->type, b, i);
        if (isnan(x) || isnan(y))
            return fail(t, of->name);
        largest = fmax(largest, fabs(y));
        distance = fmax(distance, fabs(x - y));
    }
    return distance <= largest * FLOAT_DISTANCE ? true : fail(t, of->name);
}

static void fill(struct test *t, const struct uk_network_tensor *of, void *to, int64_t position) {
    for (size_t i = 0; i < of->elements; i++)
        if (of->type == UK_F32)
            ((float *)to)[i] = (float)draw(t, -2048, 2047) / 2048;
        else if (of->type == UK_I64)
            ((int64_t *)to)[i] = !strncmp(of->name, "position", 8) ? position : draw(t, 0, 1);
        else if (of->type == UK_I32)
            ((int32_t *)to)[i] = (int32_t)draw(t, 0, 1);
        else
            ((unsigned char *)to)[i] = (unsigned char)draw(t, 0, of->is_boolean ? 1 : 255);
}

/* Copies the part of a state's buffer that is the tensor to contiguous elements. */
static void take(const struct uk_network_state *s, const struct uk_network_tensor *of, const char *buffer,
                 char *to) {
    const size_t bytes = uk_type_bytes(of->type);

    for (size_t i = 0; i < of->elements; i++) {
        int64_t rest = (int64_t)i, at = 0, stride = 1;
        for (int d = of->rank - 1; d >= 0; d--) {
            at += rest % of->shape[d] * stride;
            rest /= of->shape[d];
            stride *= s->capacity[d];
        }
        memcpy(to + i * bytes, buffer + (size_t)at * bytes, bytes);
    }
}

/* ---- pages ---- */

/* The dimension of rows; that of the states here if a network does not tell. */
static int axis_of(const struct uk_network_state *s) {
    return s->axis < 0 ? 2 : s->axis;
}

/* True if element i of the buffer may be written: its row is one of the new ones. */
static bool is_new(const struct uk_network_state *s, size_t i, int64_t first, int64_t end) {
    size_t inner = 1;

    for (int d = axis_of(s) + 1; d < s->output.rank; d++)
        inner *= (size_t)s->capacity[d];
    const int64_t row = (int64_t)(i / inner % (size_t)s->capacity[axis_of(s)]);
    return row >= first && row < end;
}

/* Makes the whole pages of a state without new rows read-only, or writable again. */
static bool protect(struct test *t, int sequence, int state, int64_t first, int64_t end, bool writable) {
    const struct uk_network_state *s = uk_network_state(t->n, state);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), element = uk_type_bytes(s->input.type);
    char *const at = uk_network_state_place(t->n, t->memory[sequence], state);
    const size_t skip = -(uintptr_t)at % page;

    for (size_t from = skip; from + page <= s->bytes; from += page) {
        bool written = false;
        for (size_t i = from / element; i < (from + page) / element && !written; i++)
            written = is_new(s, i, first, end);
        if (written)
            continue;
        if (mprotect(at + from, page, writable ? PROT_READ | PROT_WRITE : PROT_READ))
            return fail(t, "mprotect fails");
        t->pages += !writable;
    }
    return true;
}

static bool protect_all(struct test *t, int sequence, int64_t first, int64_t end, bool writable) {
    bool done = true;

    for (int i = 0; t->protects && done && uk_network_state(t->n, i); i++)
        done = protect(t, sequence, i, first, end, writable);
    return done;
}

/* ---- steps ---- */

/* Gives the plain network the inputs of the other: the states' parts, and equal elements. */
static void give(struct test *t, int sequence, int64_t position) {
    const struct uk_network_tensor *v;

    for (int i = 0; (v = uk_network_value(t->plain, UK_NETWORK_INPUT, i)); i++) {
        char *const to = uk_network_input(t->plain, t->plain_memory, i);
        const struct uk_network_state *s;
        const struct uk_network_tensor *w;
        for (int k = 0; (s = uk_network_state(t->n, k)); k++)
            if (!strcmp(s->input.name, v->name))
                take(s, &s->input, uk_network_state_place(t->n, t->memory[sequence], k), to);
        for (int k = 0; (w = uk_network_value(t->n, UK_NETWORK_INPUT, k)); k++)
            if (!strcmp(w->name, v->name)) {
                fill(t, w, to, position);
                memcpy(uk_network_input(t->n, t->memory[sequence], k), to, w->bytes);
            }
    }
}

static bool compare_outputs(struct test *t, int sequence) {
    const struct uk_network_tensor *v, *w;
    const struct uk_network_state *s;
    bool same = true;

    for (int i = 0; (v = uk_network_value(t->plain, UK_NETWORK_OUTPUT, i)) && same; i++) {
        const char *expected = uk_network_output(t->plain, t->plain_memory, i);
        char *part = malloc(v->bytes + 1);
        for (int k = 0; (w = uk_network_value(t->n, UK_NETWORK_OUTPUT, k)) && same && part; k++)
            if (!strcmp(w->name, v->name))
                same = is_same(t, v, uk_network_output(t->n, t->memory[sequence], k), expected);
        for (int k = 0; (s = uk_network_state(t->n, k)) && same && part; k++)
            if (!strcmp(s->output.name, v->name)) {
                take(s, &s->output, uk_network_state_place(t->n, t->memory[sequence], k), part);
                same = s->output.bytes == v->bytes && is_same(t, v, part, expected);
            }
        same = same && part;
        free(part);
    }
    return same;
}

/* True if only elements of new rows differ from the copy of the block. */
static bool keeps_the_rest(struct test *t, int sequence, const char *before, int64_t first, int64_t end) {
    const struct uk_network_state *s;

    for (int k = 0; (s = uk_network_state(t->n, k)); k++) {
        const char *now = uk_network_state_place(t->n, t->memory[sequence], k),
                   *old = before + (now - t->memory[sequence]);
        const size_t bytes = uk_type_bytes(s->input.type);
        for (size_t i = 0; i < s->bytes / bytes; i++)
            if (memcmp(now + i * bytes, old + i * bytes, bytes) != 0 && !is_new(s, i, first, end))
                return fail(t, "an element is written that is not new");
    }
    return true;
}

/* Values of the sizes in the order of the network; seq rows are added. */
static void sizes_of(const struct test *t, int64_t past, int64_t seq, int64_t *sizes) {
    const struct uk_network_size *z;

    for (int i = 0; (z = uk_network_size(t->n, i)); i++)
        sizes[i] = !strcmp(z->name, "past") ? past : !strcmp(z->name, "seq") ? seq : z->upper;
}

static bool step(struct test *t, int sequence, int64_t seq) {
    const bool is_open = number_of(t, "past") >= 0;
    const int64_t past = t->rows[sequence];
    int64_t sizes[MOST] = {0};
    char *before = malloc(t->bytes);
    bool right = before;

    sizes_of(t, is_open ? past : 0, seq, sizes);
    if (right && (uk_network_choose(t->n, sizes) || uk_network_choose(t->plain, sizes)))
        right = fail(t, uk_network_message(t->n));
    if (right) {
        give(t, sequence, past);
        memcpy(before, t->memory[sequence], t->bytes);
        right = protect_all(t, sequence, past, past + seq, false);
        if (right && (uk_network_run_sizes(t->n, t->memory[sequence], sizes) ||
                      uk_network_run_sizes(t->plain, t->plain_memory, sizes)))
            right = fail(t, "a run refuses its inputs");
        right = protect_all(t, sequence, past, past + seq, true) && right;
    }
    right = right && compare_outputs(t, sequence) && keeps_the_rest(t, sequence, before, past, past + seq);
    free(before);
    t->rows[sequence] += seq;
    return right;
}

/* Rows that the states have room for before a step. */
static int64_t most_rows(const struct test *t) {
    const int past = number_of(t, "past");
    const struct uk_network_state *s = uk_network_state(t->n, 0);

    return past >= 0 ? t->upper[past] : s->capacity[axis_of(s)];
}

static bool run_steps(struct test *t, int steps) {
    const int seq = number_of(t, "seq"), past = number_of(t, "past");
    bool right = true;

    for (int i = 0; i < steps && right; i++) {
        const int sequence = i % SEQUENCES;
        const int64_t count = seq < 0         ? 1
                              : i < SEQUENCES ? t->upper[seq]
                                              : draw(t, t->lower[seq], t->upper[seq]);
        if (t->rows[sequence] > most_rows(t) - (past >= 0 ? 0 : count))
            t->rows[sequence] = past >= 0 ? t->lower[past] : 0;
        right = step(t, sequence, count);
    }
    return right;
}

/* ---- refusals ---- */

static bool is_refused(struct test *t) {
    const int past = number_of(t, "past");
    int64_t sizes[MOST] = {0};
    char *before = malloc(t->bytes);
    bool right = before;

    if (past < 0) {
        free(before);
        return true;
    }
    sizes_of(t, t->upper[past] + 1, 1, sizes);
    if (right) {
        memcpy(before, t->memory[0], t->bytes);
        right = uk_network_run_sizes(t->n, t->memory[0], sizes) == UK_INVALID_SIZE &&
                !memcmp(before, t->memory[0], t->bytes);
    }
    free(before);
    return right ? true : fail(t, "a past that is too long is not refused");
}

/* ---- entry ---- */

static char *block(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return at == MAP_FAILED ? NULL : at;
}

static struct uk_network *read_network(const struct test *t, bool find_states) {
    struct uk_network *n = uk_network_create();

    for (int i = 0; n && i < t->sizes; i++)
        uk_network_range(n, &(struct uk_network_size){t->name[i], t->lower[i], t->upper[i], 1});
    if (n && (uk_network_read_file(n, t->model, &(struct uk_network_options){.find_states = find_states}) ||
              uk_network_compile(n, NULL)))
        fail(t, uk_network_message(n));
    else if (n)
        return n;
    uk_network_destroy(n);
    return NULL;
}

static bool run(struct test *t, int steps) {
    t->n = read_network(t, true);
    t->plain = read_network(t, false);
    if (!t->n || !t->plain)
        return false;
    t->bytes = uk_network_memory(t->n);
    for (int i = 0; i < SEQUENCES; i++) {
        if (!(t->memory[i] = block(t->bytes)))
            return fail(t, "no memory");
        memset(t->memory[i], 0xa5, t->bytes);
        for (int k = 0; uk_network_state(t->n, k) && number_of(t, "past") < 0; k++)
            memset(uk_network_state_place(t->n, t->memory[i], k), 0, uk_network_state(t->n, k)->bytes);
    }
    t->plain_memory = block(uk_network_memory(t->plain));
    return t->plain_memory ? run_steps(t, steps) && is_refused(t) : fail(t, "no memory");
}

int main(int argc, char **argv) {
    struct test t = {.model = argc > 1 ? argv[1] : "", .draws = 1};
    bool right = argc > 2;

    for (int i = 3; i < argc && right; i++) {
        char *equals = strchr(argv[i], '='), *end = NULL;
        if (!strcmp(argv[i], "pages")) {
            t.protects = true;
            continue;
        }
        if (!equals || t.sizes == MOST)
            return fail(&t, "expected NAME=LOWER..UPPER"), 1;
        *equals = 0;
        t.name[t.sizes] = argv[i];
        t.lower[t.sizes] = strtoll(equals + 1, &end, 10);
        t.upper[t.sizes++] = strtoll(end + 2, &end, 10);
    }
    right = right && run(&t, atoi(argv[2]));
    if (right && t.protects && !t.pages)
        right = fail(&t, "no page was read-only");
    if (right)
        printf("%s: right in %s steps; %d pages were read-only\n", t.model, argv[2], t.pages);
    uk_network_destroy(t.n);
    uk_network_destroy(t.plain);
    return !right;
}
