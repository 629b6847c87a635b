/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the plans of each shape of bench/shapes.txt for six cores with the caches of their rows, so that any
 * host shows what a change of the planner affects.
 *
 *     plans FOLDER [--update]    compares with FOLDER/<row>.txt, or writes it
 *
 * A line is a shape, or several cubes computed in the same way, and the text of uk_gemm_explain without
 * costs.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

static const char *const machines[] = {"generic-avx2", "zen3", "zen4", "zen5", "golden_cove", "neoverse-v1"};

enum { PLAN = 2048 };

struct text {
    char *text;
    size_t length, room;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *format, ...) {
    char line[PLAN + 256];
    va_list ap;

    va_start(ap, format);
    const int n = vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    if (t->length + (size_t)n >= t->room) {
        t->room = 2 * t->room + sizeof line;
        t->text = realloc(t->text, t->room);
        if (!t->text)
            abort();
    }
    memcpy(t->text + t->length, line, (size_t)n + 1);
    t->length += (size_t)n;
}

/* Lines of uk_gemm_explain that are kept: how they begin, and the text in the file. */
static const struct {
    const char *begins, *put;
} lines[] = {
    {"path: tiles of ", "tiles "},
    {"path: small, all rows in one call, A read in place, B ", "small, B "},
    {"path: small, along rows of C, A read in place, B ", "small by rows, B "},
    {"path: ", ""},
    {"kernel of the first rows, which packs B: uk_", "first "},
    {"kernel of the last columns: uk_", "last "},
    {"kernel of columns ", ""},
    {"kernel: uk_", ""},
    {"blocks: ", ""},
    {"A: ", "A "},
    {"B: ", "B "},
    {"last block: ", "last block "},
};

/* Joins the plan's kept lines with commas; false: there is no plan. */
static bool describe(const char *machine, bool f64, const struct bench_shape *s, char *out) {
    const struct uk_gemm_options options = {.threads = 1, .machine = machine};
    struct uk_gemm_plan plan;
    char text[PLAN];
    size_t length = 0;

    if ((f64 ? uk_dgemm_plan
             : uk_sgemm_plan)(&plan, UK_ROW_MAJOR, s->a_transposed ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                              s->b_transposed ? UK_TRANSPOSE : UK_NO_TRANSPOSE, s->m, s->n, s->k,
                              s->a_transposed ? s->m : s->k, s->b_transposed ? s->k : s->n, s->n, &options))
        return false;
    uk_gemm_explain(&plan, text, sizeof text);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            const size_t n = strlen(lines[i].begins);

            if (strncmp(line, lines[i].begins, n))
                continue;
            length += (size_t)snprintf(out + length, PLAN - length, "%s%s%s", length ? ", " : "",
                                       lines[i].put, line + n);
            break;
        }
    return true;
}

static bool is_cube(const struct bench_shape *s) {
    return s->m == s->n && s->n == s->k && !s->a_transposed && !s->b_transposed;
}

static bool put_plans(struct text *t, const char *machine, bool f64, const struct bench_shapes *all) {
    char plan[PLAN], next[PLAN];
    int last;

    for (int i = 0; i < all->count; i = last + 1) {
        const struct bench_shape *s = &all->shape[i];

        last = i;
        if (!strcmp(s->set, "resolved")) /* cubes that another set has too */
            continue;
        if (!describe(machine, f64, s, plan))
            return false;
        for (last = i; last + 1 < all->count && is_cube(s) && is_cube(&all->shape[last + 1]) &&
                       !strcmp(s->set, all->shape[last + 1].set);
             last++)
            if (!describe(machine, f64, &all->shape[last + 1], next) || strcmp(plan, next))
                break;
        put(t, "%s %s ", f64 ? "f64" : "f32", s->set);
        if (last > i)
            put(t, "%" PRId64 " to %" PRId64, s->m, all->shape[last].m);
        else
            put(t, "%" PRId64 " x %" PRId64 " x %" PRId64 " %c%c", s->m, s->n, s->k,
                s->a_transposed ? 'T' : 'N', s->b_transposed ? 'T' : 'N');
        put(t, ": %s\n", plan);
    }
    return true;
}

/* Prints the first ten differing lines. */
static void print_differences(const char *machine, const char *expected, const char *got) {
    int shown = 0;

    while ((*expected || *got) && shown < 10) {
        const size_t n = strcspn(expected, "\n"), m = strcspn(got, "\n");

        if (n != m || strncmp(expected, got, n)) {
            printf("%s\n  was %.*s\n  is  %.*s\n", machine, (int)n, expected, (int)m, got);
            shown++;
        }
        expected += n + (expected[n] == '\n');
        got += m + (got[m] == '\n');
    }
}

static char *read_all(const char *path) {
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t room = 0;

    if (file) {
        if (getdelim(&text, &room, 0, file) < 0)
            text = NULL;
        fclose(file);
    }
    return text;
}

static bool check(const char *folder, const char *machine, bool update, const struct bench_shapes *all) {
    struct text t = {0};
    char path[1024];
    bool right;

    snprintf(path, sizeof path, "%s/%s.txt", folder, machine);
    for (int f64 = 0; f64 < 2; f64++)
        if (!put_plans(&t, machine, f64, all)) {
            printf("%s: no plan\n", machine);
            return false;
        }
    if (update) {
        FILE *file = fopen(path, "w");

        right = file && fputs(t.text, file) >= 0;
        right &= file && !fclose(file);
    } else {
        char *expected = read_all(path);

        right = expected && !strcmp(expected, t.text);
        if (!right)
            print_differences(machine, expected ? expected : "", t.text);
        free(expected);
    }
    free(t.text);
    return right;
}

/* A plan for another machine cannot be run, and an unknown core's name is refused. */
static bool check_refusals(void) {
    float one = 1, c = 5;
    struct uk_gemm_plan plan;
    const struct uk_gemm_options zen4 = {.machine = "zen4"}, unknown = {.machine = "zen"},
                                 gpu = {.machine = "gfx906"}, interp = {.machine = "interp"};
    const struct uk_gemm_options *const refused[] = {&unknown, &gpu, &interp};
    bool right =
        !uk_sgemm_plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 1, 1, 1, 1, 1, 1, &zen4) &&
        uk_sgemm_run(&plan, 1, &one, &one, 0, &c, NULL, NULL) == UK_INVALID_ARGUMENT && c == 5 &&
        uk_sgemm_pack_b(&plan, &one, &c) == UK_INVALID_ARGUMENT && c == 5;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        right &= uk_sgemm_plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 1, 1, 1, 1, 1, 1,
                               refused[i]) == UK_INVALID_ARGUMENT;
    if (!right)
        printf("a plan of another machine is run, or a machine that is none is taken\n");
    return right;
}

int main(int argc, char **argv) {
    const bool update = argc == 3 && !strcmp(argv[2], "--update");
    struct bench_shapes all;
    char message[256];
    bool right = true;

    if (argc != 2 + update || setenv("UK_NUM_THREADS", "1", 1))
        return 2;
    if (bench_shapes_parse(bench_shapes_text, &all, message, sizeof message)) {
        printf("%s\n", message);
        return 1;
    }
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        right &= check(argv[1], machines[i], update, &all);
    bench_shapes_free(&all);
    right &= check_refusals();
    return !right;
}
