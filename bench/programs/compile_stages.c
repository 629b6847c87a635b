/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the milliseconds of each stage of a compilation: the first of a process, a second one of the same
 * program, one of another program, one in another context, and one after a hundred different programs.
 *
 *     compile_stages
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tensorize.h"

enum { ROWS = 5, MAX_STAGES = 16, BETWEEN = 100 };

struct row {
    const char *name;
    int stages;
    const char *stage[MAX_STAGES];
    double milliseconds[MAX_STAGES], total;
};

static void compile(struct uk_context *c, const char *assign, int bound, struct row *row) {
    struct uk_program *p;
    struct uk_module *m;
    char text[512];

    snprintf(text, sizeof text,
             "tensor A f32 [M, K] stride [lda, 1]\ntensor B f32 [K, N] stride [ldb, 1]\n"
             "tensor C f32 [M, N] stride [ldc, 1]\nC[m, n] %s sum(k) A[m, k] * B[k, n]\nassume K <= %d\n",
             assign, bound);
    if (uk_program_parse(c, "matmul.uk", text, strlen(text), &p) ||
        uk_compile(p, &(struct uk_options){.require_kernels = true}, &m)) {
        fprintf(stderr, "compile_stages: %s\n", uk_context_message(c));
        exit(1);
    }
    while (row->stages < MAX_STAGES &&
           (row->stage[row->stages] = uk_module_time(m, row->stages, &row->milliseconds[row->stages])))
        row->total += row->milliseconds[row->stages++];
    uk_module_destroy(m);
    uk_program_destroy(p);
}

/* Milliseconds of a stage, summed over its runs. */
static double stage_of(const struct row *row, const char *name) {
    double sum = 0;

    for (int i = 0; i < row->stages; i++)
        if (!strcmp(row->stage[i], name))
            sum += row->milliseconds[i];
    return sum;
}

static bool is_listed_before(const struct row *row, int i) {
    for (int j = 0; j < i; j++)
        if (!strcmp(row->stage[j], row->stage[i]))
            return true;
    return false;
}

static void print(const struct row *row) {
    printf("%-10s", "ms");
    for (int r = 0; r < ROWS; r++)
        printf("  %18s", row[r].name);
    for (int i = 0; i < row->stages; i++) {
        if (is_listed_before(row, i))
            continue;
        printf("\n%-10s", row->stage[i]);
        for (int r = 0; r < ROWS; r++)
            printf("  %18.2f", stage_of(&row[r], row->stage[i]));
    }
    printf("\n%-10s", "all");
    for (int r = 0; r < ROWS; r++)
        printf("  %18.2f", row[r].total);
    printf("\n");
}

int main(void) {
    static struct row row[ROWS] = {{.name = "first"},
                                   {.name = "the same again"},
                                   {.name = "another program"},
                                   {.name = "another context"},
                                   {.name = "after 100 others"}};
    struct uk_context *c = uk_context_create(), *other = uk_context_create();

    if (!c || !other) {
        fprintf(stderr, "compile_stages: out of memory\n");
        return 1;
    }
    compile(c, "=", BETWEEN, &row[0]);
    compile(c, "=", BETWEEN, &row[1]);
    compile(c, "+=", BETWEEN, &row[2]);
    compile(other, "=", BETWEEN, &row[3]);
    for (int i = 0; i < BETWEEN; i++)
        compile(c, "=", BETWEEN + 1 + i, &(struct row){0});
    compile(c, "=", 2 * BETWEEN + 1, &row[4]);
    print(row);
    uk_context_destroy(c);
    uk_context_destroy(other);
    return 0;
}
