/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the plans of 60 products for six cores with the caches of their rows, so that any host shows what a
 * change of the planner affects.
 *
 *     plans FOLDER [--update]    compares with FOLDER/<row>.txt, or writes it
 *
 * A line is a product, the reason why it is in the list, and the text of uk_gemm_explain without costs.
 *
 * How the products were chosen: each path has products that it computes in each of its ways. At each border
 * between two paths there is a product on either side, and the two differ in one size, stride or option. The
 * borders are the conditions of the functions `cycles` of struct gemm_path, and of gemm_is_small. Then come
 * the options that a path refuses, and arguments that are refused. Products are of floats unless the type
 * matters.
 *
 * The reason says what the rows do that have the kernels for it: neoverse-v1 has none of small products and
 * of inner products, and tiles compute these. Where an estimate decides, at least one row does what it says.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ukernels.h"

static const char *const machines[] = {"generic-avx2", "zen3", "zen4", "zen5", "golden_cove", "neoverse-v1"};

enum { THREADS = 4, PLAN = 2048 };

/* A product of floats, doubles or bytes ('s', 'd', 'i'). Leading dimensions: the least, unless given. */
static const struct product {
    const char *why;
    char type;
    long long m, n, k;
    const char *form; /* NN, NT, TN, TT: T where an operand is stored transposed */
    long long lda, ldb;
    int threads;         /* 0: one */
    const char *options; /* "A": A is packed beforehand; "B"; "column-major" */
} products[] = {
    {"no k iterations", 's', 5, 7, 0, .form = "NN"},
    {"no rows", 's', 0, 7, 5, .form = "NN"},

    {"m = 1, 256 multiply-adds: small", 's', 1, 16, 16, .form = "NN"},
    {"m = 1, more multiply-adds", 's', 1, 16, 17, .form = "NN"},
    {"m = 1, B column-major, 12 bytes along k: small", 's', 1, 12, 3, .form = "NT"},
    {"m = 1, B column-major, 20 k iterations: small if two vectors of columns are transposed at a time", 's',
     1, 12, 20, .form = "NT"},
    {"m = 1, B column-major, 21 k iterations", 's', 1, 12, 21, .form = "NT"},
    {"n = 1, 20 k iterations: small", 's', 12, 1, 20, .form = "NN"},
    {"n = 1, 21 k iterations", 's', 12, 1, 21, .form = "NN"},
    {"n = 1, A column-major", 's', 300, 1, 300, .form = "TN"},
    {"n = 1, B's elements 7 apart", 's', 300, 1, 300, .form = "NN", .ldb = 7},
    {"m = 1, matrix from memory", 'd', 1, 4096, 4096, .form = "NT"},
    {"m = 1, threads", 's', 1, 4096, 4096, .form = "NN", .threads = THREADS},

    {"inner products, k one less than the least: small", 's', 8, 8, 47, .form = "NT"},
    {"inner products of the least k", 's', 8, 8, 48, .form = "NT"},
    {"inner products, k in blocks", 's', 6, 16, 6400, .form = "NT"},
    {"as many columns as a vector: small", 's', 64, 64, 64, .form = "NT"},
    {"inner products, few columns are transposed", 's', 300, 4, 129, .form = "NN"},
    {"the same, k one less than the least: small", 's', 300, 4, 128, .form = "NN"},
    {"the same, less than 8 times as many rows: small", 's', 31, 4, 129, .form = "NN"},
    {"the same, more columns than the kernel's: small", 's', 300, 5, 129, .form = "NN"},
    {"inner products, few rows are transposed", 's', 4, 300, 200, .form = "TT"},
    {"inner products, threads", 's', 8, 64, 8192, .form = "NT", .threads = THREADS},
    {"inner products, packed operand", 's', 6, 16, 6400, .form = "NT", .options = "A"},

    {"small, several kernels", 's', 61, 61, 61, .form = "NN"},
    {"small, A column-major", 'd', 24, 24, 24, .form = "TN"},
    {"small, few columns are transposed", 's', 40, 20, 40, .form = "NT"},
    {"small, some columns at a time are transposed", 's', 100, 100, 40, .form = "TT"},
    {"small, blocks of columns", 's', 40, 500, 20, .form = "NN"},
    {"small, C larger than L1: along rows", 's', 300, 1000, 20, .form = "NN"},
    {"small, A from beyond L2, few columns: blocks of rows", 's', 4096, 64, 64, .form = "NN"},
    {"small, 2^24 multiply-adds", 's', 512, 256, 128, .form = "NN"},
    {"more multiply-adds: an estimate decides", 's', 513, 256, 128, .form = "NN"},
    {"small, 2^24 multiply-adds, B column-major", 's', 512, 256, 128, .form = "NT"},
    {"more multiply-adds, B column-major: tiles", 's', 513, 256, 128, .form = "NT"},
    {"small, k 128, many columns", 's', 200, 300, 128, .form = "NN"},
    {"k 129, many columns: tiles", 's', 200, 300, 129, .form = "NN"},
    {"k 129, few columns: small", 's', 200, 32, 129, .form = "NN"},
    {"k beyond 800, operands in half of L2: small", 's', 16, 8, 2000, .form = "NN"},
    {"k beyond 800, A larger: an estimate decides", 's', 64, 16, 4096, .form = "NN"},
    {"k beyond 800, B larger: tiles", 's', 64, 64, 9000, .form = "NN"},
    {"k 300, A column-major and in L2: small", 's', 300, 16, 300, .form = "TN"},
    {"k 300, A column-major and beyond L2: tiles", 's', 6000, 16, 300, .form = "TN"},
    {"rows of A share sets of L1: tiles", 's', 64, 64, 64, .form = "NN", .lda = 4096},
    {"rows of A share sets, too few to evict each other: small", 's', 2, 64, 64, .form = "NN", .lda = 4096},
    {"several threads: tiles, k in one block", 's', 200, 200, 100, .form = "NN", .threads = THREADS},
    {"packed operand: tiles, k in one block", 's', 100, 100, 100, .form = "NN", .options = "B"},

    {"tiles, k 800 in one block", 's', 1000, 1000, 800, .form = "NN"},
    {"tiles, k 801 in blocks", 's', 1000, 1000, 801, .form = "NN"},
    {"tiles, A column-major", 'd', 777, 777, 777, .form = "TN"},
    {"tiles, B column-major and wide: C transposed", 's', 16, 1000, 300, .form = "NT"},
    {"tiles, few rows, A copied in rows", 's', 6, 2000, 2000, .form = "NN"},
    {"tiles, the first panel's rows share sets of L1", 's', 2048, 2048, 2048, .form = "NN"},
    {"tiles, A beyond 17 MB: blocks of rows", 'd', 6000, 2000, 2000, .form = "NN"},
    {"tiles, a grid of threads, column-major C", 's', 1000, 1000, 1000, .form = "TT", .threads = THREADS,
     .options = "column-major"},
    {"tiles of bytes", 'i', 300, 64, 576, .form = "NN"},
    {"tiles of bytes, column-major C", 'i', 300, 64, 576, .form = "NT", .options = "column-major"},

    {"refused", 's', -1, 4, 4, .form = "NN"},
    {"refused", 's', 4, 4, 4, .form = "TN", .lda = 3},
    {"refused", 's', 1LL << 40, 4, 1LL << 40, .form = "NN"},
};

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
    {"threads: ", "threads "},
};

/* The least leading dimension of rows or columns of n elements. */
static long long least(long long n) {
    return n > 1 ? n : 1;
}

/* Makes the product's plan for a machine; UK_OK, or a message says why there is none. */
static enum uk_status make_plan(const char *machine, const struct product *p, struct uk_gemm_plan *plan) {
    const char *options = p->options ? p->options : "";
    const struct uk_gemm_options o = {.threads = p->threads ? p->threads : 1,
                                      .a_packed = *options == 'A',
                                      .b_packed = *options == 'B',
                                      .machine = machine};
    const bool columns = *options == 'c', ta = p->form[0] == 'T', tb = p->form[1] == 'T';
    const long long lda = ta != columns ? p->m : p->k, ldb = tb != columns ? p->k : p->n,
                    ldc = columns ? p->m : p->n;

    return (p->type == 's'   ? uk_sgemm_plan
            : p->type == 'd' ? uk_dgemm_plan
                             : uk_igemm_plan)(
        plan, columns ? UK_COLUMN_MAJOR : UK_ROW_MAJOR, ta ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
        tb ? UK_TRANSPOSE : UK_NO_TRANSPOSE, p->m, p->n, p->k, p->lda ? p->lda : least(lda),
        p->ldb ? p->ldb : least(ldb), least(ldc), &o);
}

/* Puts the plan's kept lines, joined by commas. */
static void put_plan(struct text *t, const struct uk_gemm_plan *plan) {
    const char *separator = " ";
    char text[PLAN];

    uk_gemm_explain(plan, text, sizeof text);
    if (strstr(text, "exchanged")) {
        put(t, " of the transposes");
        separator = ", ";
    }
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        for (size_t i = 0; i < sizeof lines / sizeof *lines && strcmp(line, "threads: 1 (1 x 1)"); i++) {
            const size_t n = strlen(lines[i].begins);

            if (strncmp(line, lines[i].begins, n))
                continue;
            put(t, "%s%s%s", separator, lines[i].put, line + n);
            separator = ", ";
            break;
        }
}

static void put_product(struct text *t, const char *machine, const struct product *p) {
    struct uk_gemm_plan plan;

    put(t, "%cgemm %lld x %lld x %lld %s", p->type, p->m, p->n, p->k, p->form);
    if (p->lda)
        put(t, " lda %lld", p->lda);
    if (p->ldb)
        put(t, " ldb %lld", p->ldb);
    if (p->threads)
        put(t, " %d threads", p->threads);
    if (p->options)
        put(t, " %s%s", p->options, *p->options == 'c' ? "" : " packed");
    put(t, " (%s):", p->why);
    if (make_plan(machine, p, &plan))
        put(t, " %s", uk_last_message());
    else
        put_plan(t, &plan);
    put(t, "\n");
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

static bool check(const char *folder, const char *machine, bool update) {
    struct text t = {0};
    char path[1024];
    bool right;

    snprintf(path, sizeof path, "%s/%s.txt", folder, machine);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        put_product(&t, machine, &products[i]);
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
    bool right = true;

    if (argc != 2 + update || setenv("UK_NUM_THREADS", "4", 1))
        return 2;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        right &= check(argv[1], machines[i], update);
    right &= check_refusals();
    return !right;
}
