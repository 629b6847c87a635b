/* SPDX-License-Identifier: Apache-2.0 */
/* Tests every row of the registry and its variants, called natively. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>
#include "check_kernel.h"
#include "check_variant.h"

static void check_variants(const struct uk_kernel *row) {
    static const struct {
        int variant;
        const char *name;
    } all[] = {{UK_PREFETCHING, "prefetching"}, {UK_PACKING, "packing"}, {UK_RESOLVED, "resolved"}};
    char message[512];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        void (*function)(void) = variant_function(row, all[i].variant);

        if (function && !check_kernel(row, function, message, sizeof message))
            fail_msg("variant %s: %s", all[i].name, message);
        if (function && !variant_packed())
            fail_msg("%s, variant %s: what it has packed or returned is wrong", row->symbol, all[i].name);
    }
}

static void check_row(void **state) {
    const struct uk_kernel *row = *state;
    char message[512];

    if (!uk_kernel_runs_here(row)) {
        uk_cpu_lacks(row->features, message, sizeof message);
        print_message("%s: skipped, this CPU lacks %s or UK_ISA hides it\n", row->symbol, message);
        skip();
    }
    if (uk_state_load(row->state)) {
        print_message("%s: skipped, no permission to use matrix tiles\n", row->symbol);
        skip();
    }
    uk_state_release(row->state);
    if (!check_kernel(row, row->function, message, sizeof message))
        fail_msg("%s", message);
    check_variants(row);
}

int main(int argc, char **argv) {
    const int count = uk_kernel_count();
    int own = 0;
    struct CMUnitTest *tests = calloc((size_t)count, sizeof *tests);

    if (!tests)
        return 1;
    for (int i = 0; i < count; i++) {
        const struct uk_kernel *row = uk_kernel_at(i);

        if (row->function)
            tests[own++] = (struct CMUnitTest){
                .name = row->symbol, .test_func = check_row, .initial_state = (void *)row};
    }
    if (own < count)
        print_message("%d kernels of other architectures left out\n", count - own);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    int failed = _cmocka_run_group_tests("kernels", tests, (size_t)own, NULL, NULL);
    free(tests);
    return failed;
}
