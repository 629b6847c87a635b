/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a text of shapes; bench/shapes.txt describes the format. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 512, LONGEST_LINE = 4096 };
/* The largest dimension: BLAS has 32-bit sizes. */
static const long long LARGEST = 1 << 24;

struct reader {
    struct bench_shapes *shapes;
    struct bench_shape set; /* defaults of its shapes */
    int line;
    char *message;
    size_t size;
};

static enum uk_status refuse_shape(struct reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum uk_status refuse_shape(struct reader *r, const char *format, ...) {
    va_list ap;
    int used = snprintf(r->message, r->size, "line %d: ", r->line);
    va_start(ap, format);
    if (used > 0 && (size_t)used < r->size)
        vsnprintf(r->message + used, r->size - (size_t)used, format, ap);
    va_end(ap);
    return UK_INVALID_ARGUMENT;
}

static enum uk_status add(struct reader *r, struct bench_shape shape) {
    struct bench_shapes *all = r->shapes;
    if (!*shape.set)
        return refuse_shape(r, "a shape outside of a set; begin one with 'set NAME'");
    if (all->count == all->room) {
        int room = all->room ? 2 * all->room : 64;
        struct bench_shape *more = realloc(all->shape, (size_t)room * sizeof *more);
        if (!more)
            return UK_OUT_OF_MEMORY;
        all->shape = more;
        all->room = room;
    }
    all->shape[all->count++] = shape;
    return UK_OK;
}

static bool parse_size(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    *value = v;
    return end != text && !*end && !errno && v >= 1 && v <= LARGEST;
}

static enum uk_status add_cube(struct reader *r, int64_t n) {
    struct bench_shape s = r->set;
    s.m = s.n = s.k = n;
    return add(r, s);
}

static enum uk_status read_cubes(struct reader *r, char **word, int words) {
    enum uk_status status = UK_OK;
    if (words < 2)
        return refuse_shape(r, "cubes without a size; for instance cubes 16 32 or cubes 1..128");
    for (int i = 1; i < words && !status; i++) {
        int64_t from, to;
        char *dots = strstr(word[i], "..");
        if (dots)
            *dots = 0;
        if (!parse_size(word[i], &from) || !parse_size(dots ? dots + 2 : word[i], &to) || to < from)
            return refuse_shape(r, "'%s%s%s' is no size from 1 to %lld, and no range", word[i],
                                dots ? ".." : "", dots ? dots + 2 : "", LARGEST);
        for (int64_t n = from; n <= to && !status; n++)
            status = add_cube(r, n);
    }
    return status;
}

static bool take_form(const char *word, struct bench_shape *s) {
    static const char *const forms[] = {"NN", "NT", "TN", "TT"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(word, forms[i])) {
            s->a_transposed = i & 2;
            s->b_transposed = i & 1;
            return true;
        }
    return false;
}

static enum uk_status read_gemm(struct reader *r, char **word, int words) {
    struct bench_shape s = r->set;
    bool all = !strcmp(word[0], "forms");
    if (words < 4 || !parse_size(word[1], &s.m) || !parse_size(word[2], &s.n) || !parse_size(word[3], &s.k))
        return refuse_shape(r, "%s needs three sizes from 1 to %lld: M N K", word[0], LARGEST);
    s.beta = !strcmp(word[0], "add");
    for (int form = 0; all && form < 4; form++) {
        s.a_transposed = form & 2;
        s.b_transposed = form & 1;
        enum uk_status status = add(r, s);
        if (status || form == 3)
            return status      ? status
                   : words > 4 ? refuse_shape(r, "'%s' after the sizes of forms", word[4])
                               : UK_OK;
    }
    int next = 4;
    if (next < words && take_form(word[next], &s))
        next++;
    if (next < words && strlen(word[next]) < sizeof s.label)
        memcpy(s.label, word[next], strlen(word[next]) + 1), next++;
    if (next < words)
        return refuse_shape(r, "'%s' is neither a form (NN, NT, TN, TT) nor a label of less than %d letters",
                            word[next], BENCH_NAME);
    return add(r, s);
}

static enum uk_status read_set(struct reader *r, char **word, int words) {
    r->set = (struct bench_shape){.form = BENCH_CALL};
    if (words < 2 || words > 3 || strlen(word[1]) >= sizeof r->set.set ||
        (words == 3 && strcmp(word[2], "resolved")))
        return refuse_shape(r, "expected 'set NAME' or 'set NAME resolved', NAME of less than %d letters",
                            BENCH_NAME);
    memcpy(r->set.set, word[1], strlen(word[1]) + 1);
    if (words == 3)
        r->set.form = BENCH_RESOLVED;
    return UK_OK;
}

static enum uk_status read_line(struct reader *r, char *line) {
    char *word[WORDS], *rest;
    int words = 0;
    line[strcspn(line, "#")] = 0;
    for (char *w = strtok_r(line, " \t\r", &rest); w && words < WORDS; w = strtok_r(NULL, " \t\r", &rest))
        word[words++] = w;
    if (!words)
        return UK_OK;
    if (!strcmp(word[0], "set"))
        return read_set(r, word, words);
    if (!strcmp(word[0], "cubes"))
        return read_cubes(r, word, words);
    if (!strcmp(word[0], "gemm") || !strcmp(word[0], "forms") || !strcmp(word[0], "add"))
        return read_gemm(r, word, words);
    return refuse_shape(r, "'%s' is none of set, cubes, gemm, forms, add", word[0]);
}

enum uk_status bench_shapes_parse(const char *text, struct bench_shapes *shapes, char *message, size_t size) {
    struct reader r = {.shapes = shapes, .message = message, .size = size};
    enum uk_status status = UK_OK;
    *shapes = (struct bench_shapes){0};
    while (*text && !status) {
        char line[LONGEST_LINE];
        size_t length = strcspn(text, "\n");
        r.line++;
        if (length >= sizeof line)
            return refuse_shape(&r, "longer than %d letters", LONGEST_LINE - 1);
        memcpy(line, text, length);
        line[length] = 0;
        text += length + (text[length] == '\n');
        status = read_line(&r, line);
    }
    return status;
}

void bench_shapes_free(struct bench_shapes *shapes) {
    free(shapes->shape);
    *shapes = (struct bench_shapes){0};
}
