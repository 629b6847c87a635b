/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the kernels' own test on the objects of kernels_inlined --objects: every kernel inlined twice into one
 * function, for a target of this architecture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "check_kernel.h"

#define INLINED(symbol, target, function) void function(void);
#include "inlined.def"
#undef INLINED

static const struct inlined {
    const char *symbol, *target;
    void (*function)(void);
} all[] = {
#define INLINED(symbol, target, function) {#symbol, target, function},
#include "inlined.def"
#undef INLINED
};
enum { COUNT = sizeof all / sizeof *all };

static void check_one(void **state) {
    const struct inlined *f = *state;
    const struct uk_kernel *row = uk_kernel_find(f->symbol);
    char message[512];

    assert_non_null(row);
    if (!uk_kernel_runs_here(row)) {
        uk_cpu_lacks(uk_kernel_features(row), message, sizeof message);
        print_message("%s inlined: skipped, this CPU lacks %s\n", f->symbol, message);
        skip();
    }
    if (!check_kernel(row, f->function, message, sizeof message))
        fail_msg("inlined twice for %s: %s", f->target, message);
}

int main(int argc, char **argv) {
    static struct CMUnitTest tests[COUNT];

    for (int i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){
            .name = all[i].symbol, .test_func = check_one, .initial_state = (void *)(uintptr_t)&all[i]};
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("inlined", tests, NULL, NULL);
}
