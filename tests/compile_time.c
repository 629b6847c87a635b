/* What a compilation takes, stage by stage: the first of a process, a second one of the same program, of
 * another one, and in another context. Prints; how long is right depends on the machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "tensorize.h"

enum { ROWS = 4, STAGES = 16 };

#define MATMUL(more)                        \
    "tensor A f32 [M, K] stride [lda, 1]\n" \
    "tensor B f32 [K, N] stride [ldb, 1]\n" \
    "tensor C f32 [M, N] stride [ldc, 1]\n" \
    "C[m, n] " more " sum(k) A[m, k] * B[k, n]\n"

struct row {
    const char *name;
    int stages;
    const char *stage[STAGES];
    double milliseconds[STAGES], total;
};

static void compile(struct uk_context *c, const char *text, struct row *row) {
    struct uk_program *p;
    struct uk_module *m;

    if (uk_program_parse(c, "matmul.uk", text, strlen(text), &p) || uk_compile(p, NULL, &m))
        fail_msg("%s", uk_context_message(c));
    while (row->stages < STAGES &&
           (row->stage[row->stages] = uk_module_time(m, row->stages, &row->milliseconds[row->stages])))
        row->total += row->milliseconds[row->stages++];
    uk_module_destroy(m);
    uk_program_destroy(p);
}

/* A stage may run more than once: its sum. */
static double stage_of(const struct row *row, const char *name) {
    double sum = 0;

    for (int i = 0; i < row->stages; i++)
        if (!strcmp(row->stage[i], name))
            sum += row->milliseconds[i];
    return sum;
}

static bool listed_before(const struct row *row, int i) {
    for (int j = 0; j < i; j++)
        if (!strcmp(row->stage[j], row->stage[i]))
            return true;
    return false;
}

static void print(const struct row *row) {
    print_message("%-10s", "ms");
    for (int r = 0; r < ROWS; r++)
        print_message("  %18s", row[r].name);
    for (int i = 0; i < row->stages; i++) {
        if (listed_before(row, i))
            continue;
        print_message("\n%-10s", row->stage[i]);
        for (int r = 0; r < ROWS; r++)
            print_message("  %18.2f", stage_of(&row[r], row->stage[i]));
    }
    print_message("\n%-10s", "all");
    for (int r = 0; r < ROWS; r++)
        print_message("  %18.2f", row[r].total);
    print_message("\n");
}

static void by_stage(void **state) {
    struct row row[ROWS] = {{.name = "first"},
                            {.name = "the same again"},
                            {.name = "another program"},
                            {.name = "another context"}};
    struct uk_context *c = uk_context_create(), *other = uk_context_create();

    (void)state;
    assert_true(c && other);
    compile(c, MATMUL("="), &row[0]);
    compile(c, MATMUL("="), &row[1]);
    compile(c, MATMUL("+="), &row[2]);
    compile(other, MATMUL("="), &row[3]);
    print(row);
    for (int r = 0; r < ROWS; r++) {
        assert_true(row[r].stages > 0);
        for (int i = 0; i < row[r].stages; i++)
            assert_true(row[r].milliseconds[i] >= 0);
    }
    uk_context_destroy(c);
    uk_context_destroy(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(by_stage)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
