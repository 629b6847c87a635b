/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of convolutions: their extents, and a text of them; bench/conv_shapes.txt describes the format. */
#include "bench.h"
#include "lines.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- extents ---- */

bool bench_conv_is_depthwise(const struct bench_conv_shape *s) {
    return s->groups > 1 && s->groups == s->c && s->c == s->o;
}

int64_t bench_conv_rows(const struct bench_conv_shape *s) {
    return (s->h - 1) / s->stride + 1;
}

int64_t bench_conv_columns(const struct bench_conv_shape *s) {
    return (s->w - 1) / s->stride + 1;
}

int64_t bench_conv_above(const struct bench_conv_shape *s) {
    return s->dilation * (s->r / 2);
}

int64_t bench_conv_left(const struct bench_conv_shape *s) {
    return s->dilation * (s->s / 2);
}

int64_t bench_conv_elements(const struct bench_conv_shape *s, int64_t *weights, int64_t *results) {
    *weights = s->r * s->s * (s->c / s->groups) * s->o;
    *results = s->n * bench_conv_rows(s) * bench_conv_columns(s) * s->o;
    return s->n * s->h * s->w * s->c;
}

/* Pairs of a result and an element of the window, of one dimension, whose image element is inside. */
static double pairs_inside(int64_t results, int64_t window, int64_t image, const struct bench_conv_shape *s) {
    double pairs = 0;
    for (int64_t p = 0; p < results; p++)
        for (int64_t r = 0; r < window; r++) {
            const int64_t at = p * s->stride + (r - window / 2) * s->dilation;
            pairs += at >= 0 && at < image;
        }
    return pairs;
}

double bench_conv_multiply_adds(const struct bench_conv_shape *s, bool inside) {
    const int64_t rows = bench_conv_rows(s), columns = bench_conv_columns(s);
    const double each = (double)s->n * (double)(s->c / s->groups) * (double)s->o;
    if (!inside)
        return each * (double)(rows * s->r) * (double)(columns * s->s);
    return each * pairs_inside(rows, s->r, s->h, s) * pairs_inside(columns, s->s, s->w, s);
}

void bench_conv_text(const struct bench_conv_shape *s, char *text, size_t size) {
    const bool depthwise = bench_conv_is_depthwise(s);
    const struct {
        char letter;
        int64_t value;
    } more[] = {{'s', s->stride}, {'d', s->dilation}, {'g', depthwise ? 1 : s->groups}, {'n', s->n}};
    size_t used =
        (size_t)snprintf(text, size, "%lldx%lld %lld", (long long)s->h, (long long)s->w, (long long)s->c);
    if (used < size && depthwise)
        used += (size_t)snprintf(text + used, size - used, " depthwise");
    else if (used < size)
        used += (size_t)snprintf(text + used, size - used, ">%lld", (long long)s->o);
    if (used < size)
        used += (size_t)snprintf(text + used, size - used, " %lldx%lld", (long long)s->r, (long long)s->s);
    for (int i = 0; i < 4 && used < size; i++)
        if (more[i].value > 1)
            used += (size_t)snprintf(text + used, size - used, " %c%lld", more[i].letter,
                                     (long long)more[i].value);
}

/* ---- the text ---- */

struct reader {
    struct bench_lines lines;
    struct bench_conv_shapes *shapes;
    char set[BENCH_CONV_NAME];
};

enum uk_status bench_conv_shapes_add(struct bench_conv_shapes *all, const struct bench_conv_shape *shape) {
    if (all->count == all->room) {
        int room = all->room ? 2 * all->room : 64;
        struct bench_conv_shape *more = realloc(all->shape, (size_t)room * sizeof *more);
        if (!more)
            return UK_OUT_OF_MEMORY;
        all->shape = more;
        all->room = room;
    }
    all->shape[all->count++] = *shape;
    return UK_OK;
}

/* Reads a window such as 3x3; both extents are odd. */
static bool parse_window(char *word, struct bench_conv_shape *s) {
    char *x = strchr(word, 'x');
    if (!x)
        return false;
    *x = 0;
    const bool good = bench_parse_size(word, &s->r) && bench_parse_size(x + 1, &s->s) && s->r % 2 && s->s % 2;
    *x = 'x';
    return good;
}

/* Reads a letter and a number, such as s2. */
static bool parse_more(const char *word, struct bench_conv_shape *s) {
    int64_t *const field[] = {&s->stride, &s->dilation, &s->groups, &s->n};
    static const char letters[] = "sdgn";
    const char *letter = strchr(letters, *word);
    return *word && letter && bench_parse_size(word + 1, field[letter - letters]);
}

/* True if the word may be a label: it is no letter with a number. */
static bool is_label(const char *word) {
    return strlen(word) < BENCH_CONV_NAME &&
           !(strchr("sdgn", *word) && word[1] && strspn(word + 1, "0123456789") == strlen(word + 1));
}

/* Refuses shapes whose groups do not divide the channels, and those too large to measure. */
static enum uk_status add_checked(struct reader *r, const struct bench_conv_shape *s) {
    const double most = 1e9; /* elements of an operand */
    if (s->c % s->groups || s->o % s->groups)
        return bench_refuse_line(&r->lines, "%lld groups do not divide %lld and %lld channels",
                                 (long long)s->groups, (long long)s->c, (long long)s->o);
    if ((double)s->n * (double)s->h * (double)s->w * (double)s->c > most ||
        (double)s->n * (double)s->h * (double)s->w * (double)s->o > most ||
        (double)s->r * (double)s->s * (double)s->c * (double)s->o > most * (double)s->groups)
        return bench_refuse_line(&r->lines, "an operand of more than 1e9 elements");
    return bench_conv_shapes_add(r->shapes, s);
}

static enum uk_status read_conv(struct reader *r, char **word, int words) {
    struct bench_conv_shape s = {.n = 1, .stride = 1, .dilation = 1, .groups = 1};
    const bool depthwise = !strcmp(word[0], "depthwise");
    int next = depthwise ? 4 : 5;
    if (!*r->set)
        return bench_refuse_line(&r->lines, "a shape outside of a set; begin one with 'set NAME'");
    if (words <= next || !bench_parse_size(word[1], &s.h) || !bench_parse_size(word[2], &s.w) ||
        !bench_parse_size(word[3], &s.c) || !bench_parse_size(word[depthwise ? 3 : 4], &s.o) ||
        !parse_window(word[next], &s))
        return bench_refuse_line(&r->lines,
                                 "%s needs sizes from 1 to %d and a window of odd extents: H W %s RxS",
                                 word[0], BENCH_LARGEST_SIZE, depthwise ? "C" : "C O");
    memcpy(s.set, r->set, sizeof s.set);
    while (++next < words)
        if (!parse_more(word[next], &s)) {
            if (next + 1 < words || !is_label(word[next]))
                return bench_refuse_line(
                    &r->lines,
                    "'%s' is neither s, d, g or n with a number nor a last word, the label, "
                    "of less than %d letters",
                    word[next], BENCH_CONV_NAME);
            memcpy(s.label, word[next], strlen(word[next]) + 1);
        }
    if (depthwise)
        s.groups = s.c;
    return add_checked(r, &s);
}

static enum uk_status read_line(struct bench_lines *lines, char **word, int words) {
    struct reader *r = lines->user;
    if (!strcmp(word[0], "conv") || !strcmp(word[0], "depthwise"))
        return read_conv(r, word, words);
    if (strcmp(word[0], "set"))
        return bench_refuse_line(lines, "'%s' is none of set, conv, depthwise", word[0]);
    if (words != 2 || strlen(word[1]) >= sizeof r->set)
        return bench_refuse_line(lines, "expected 'set NAME', NAME of less than %d letters", BENCH_CONV_NAME);
    memcpy(r->set, word[1], strlen(word[1]) + 1);
    return UK_OK;
}

enum uk_status bench_conv_shapes_parse(const char *text, struct bench_conv_shapes *shapes, char *message,
                                       size_t size) {
    struct reader r = {.lines = {.read = read_line, .message = message, .size = size}, .shapes = shapes};
    r.lines.user = &r;
    *shapes = (struct bench_conv_shapes){0};
    return bench_read_lines(&r.lines, text);
}

void bench_conv_shapes_free(struct bench_conv_shapes *shapes) {
    free(shapes->shape);
    *shapes = (struct bench_conv_shapes){0};
}
