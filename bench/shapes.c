/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a text of shapes; bench/shapes.txt describes the format. */
#include "bench.h"
#include "lines.h"
#include <stdlib.h>
#include <string.h>

struct reader {
    struct bench_lines lines;
    struct bench_shapes *shapes;
    struct bench_shape set; /* defaults of its shapes */
};

enum uk_status bench_shapes_add(struct bench_shapes *all, const struct bench_shape *shape) {
    if (all->count == all->room) {
        int room = all->room ? 2 * all->room : 64;
        struct bench_shape *more = realloc(all->shape, (size_t)room * sizeof *more);
        if (!more)
            return UK_OUT_OF_MEMORY;
        all->shape = more;
        all->room = room;
    }
    all->shape[all->count++] = *shape;
    return UK_OK;
}

static enum uk_status add(struct reader *r, struct bench_shape shape) {
    return *shape.set ? bench_shapes_add(r->shapes, &shape)
                      : bench_refuse_line(&r->lines, "a shape outside of a set; begin one with 'set NAME'");
}

static enum uk_status add_cube(struct reader *r, int64_t n) {
    struct bench_shape s = r->set;
    s.m = s.n = s.k = n;
    return add(r, s);
}

static enum uk_status read_cubes(struct reader *r, char **word, int words) {
    enum uk_status status = UK_OK;
    if (words < 2)
        return bench_refuse_line(&r->lines, "cubes without a size; for instance cubes 16 32 or cubes 1..128");
    for (int i = 1; i < words && !status; i++) {
        int64_t from, to;
        char *dots = strstr(word[i], "..");
        if (dots)
            *dots = 0;
        if (!bench_parse_size(word[i], &from) || !bench_parse_size(dots ? dots + 2 : word[i], &to) ||
            to < from)
            return bench_refuse_line(&r->lines, "'%s%s%s' is no size from 1 to %d, and no range", word[i],
                                     dots ? ".." : "", dots ? dots + 2 : "", BENCH_LARGEST_SIZE);
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
    if (words < 4 || !bench_parse_size(word[1], &s.m) || !bench_parse_size(word[2], &s.n) ||
        !bench_parse_size(word[3], &s.k))
        return bench_refuse_line(&r->lines, "%s needs three sizes from 1 to %d: M N K", word[0],
                                 BENCH_LARGEST_SIZE);
    s.beta = !strcmp(word[0], "add");
    for (int form = 0; all && form < 4; form++) {
        s.a_transposed = form & 2;
        s.b_transposed = form & 1;
        enum uk_status status = add(r, s);
        if (status || form == 3)
            return status      ? status
                   : words > 4 ? bench_refuse_line(&r->lines, "'%s' after the sizes of forms", word[4])
                               : UK_OK;
    }
    int next = 4;
    if (next < words && take_form(word[next], &s))
        next++;
    if (next < words && strlen(word[next]) < sizeof s.label)
        memcpy(s.label, word[next], strlen(word[next]) + 1), next++;
    if (next < words)
        return bench_refuse_line(
            &r->lines, "'%s' is neither a form (NN, NT, TN, TT) nor a label of less than %d letters",
            word[next], BENCH_NAME);
    return add(r, s);
}

static enum uk_status read_set(struct reader *r, char **word, int words) {
    r->set = (struct bench_shape){.form = BENCH_CALL};
    if (words < 2 || words > 3 || strlen(word[1]) >= sizeof r->set.set ||
        (words == 3 && strcmp(word[2], "resolved")))
        return bench_refuse_line(&r->lines,
                                 "expected 'set NAME' or 'set NAME resolved', NAME of less than %d letters",
                                 BENCH_NAME);
    memcpy(r->set.set, word[1], strlen(word[1]) + 1);
    if (words == 3)
        r->set.form = BENCH_RESOLVED;
    return UK_OK;
}

static enum uk_status read_line(struct bench_lines *lines, char **word, int words) {
    struct reader *r = lines->user;
    if (!strcmp(word[0], "set"))
        return read_set(r, word, words);
    if (!strcmp(word[0], "cubes"))
        return read_cubes(r, word, words);
    if (!strcmp(word[0], "gemm") || !strcmp(word[0], "forms") || !strcmp(word[0], "add"))
        return read_gemm(r, word, words);
    return bench_refuse_line(lines, "'%s' is none of set, cubes, gemm, forms, add", word[0]);
}

enum uk_status bench_shapes_parse(const char *text, struct bench_shapes *shapes, char *message, size_t size) {
    struct reader r = {.lines = {.read = read_line, .message = message, .size = size}, .shapes = shapes};
    r.lines.user = &r;
    *shapes = (struct bench_shapes){0};
    return bench_read_lines(&r.lines, text);
}

void bench_shapes_free(struct bench_shapes *shapes) {
    free(shapes->shape);
    *shapes = (struct bench_shapes){0};
}
