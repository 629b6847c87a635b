/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests kernels for RISC-V P and for VNNI in C form, which runs on every machine and under every sanitizer:
 * the same sources with UK_IN_C, where the functions of rvp.h, the loops and the intrinsics of VNNI are C.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "check_kernel.h"

#define KERNEL(symbol) void symbol(void);
#include "kernels_in_c.def"
#undef KERNEL

static const struct in_c {
    const char *symbol;
    void (*function)(void);
} kernels[] = {
#define KERNEL(symbol) {#symbol, symbol},
#include "kernels_in_c.def"
#undef KERNEL
};
enum { COUNT = sizeof kernels / sizeof *kernels };

static void check_row(void **state) {
    const struct in_c *k = *state;
    char message[512];

    if (!check_kernel(uk_kernel_find(k->symbol), k->function, message, sizeof message))
        fail_msg("%s", message);
}

int main(void) {
    struct CMUnitTest tests[COUNT];

    for (int i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = kernels[i].symbol,
                                       .test_func = check_row,
                                       .initial_state = (void *)(uintptr_t)&kernels[i]};
    return cmocka_run_group_tests_name("kernels in C", tests, NULL, NULL);
}
