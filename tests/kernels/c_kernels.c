/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests kernels for RISC-V P, VNNI and AMX in C form, which runs on every machine and under every sanitizer:
 * the same sources with UK_IN_C, where the functions of rvp.h, the loops and the intrinsics are C.
 *
 *     kernels_in_c                   all
 *     kernels_in_c LIBRARY SYMBOL    the function of that name in a shared object; exit status 1: it is wrong
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dlfcn.h>
#include <stdio.h>
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

static int check_other(const char *library, const char *symbol) {
    void *handle = dlopen(library, RTLD_NOW);
    void *address = handle ? dlsym(handle, symbol) : NULL;
    void (*function)(void);
    char message[512];

    if (!address) {
        printf("%s\n", dlerror());
        return 2;
    }
    __builtin_memcpy(&function, &address, sizeof function);
    if (check_kernel(uk_kernel_find(symbol), function, message, sizeof message))
        return 0;
    printf("%s\n", message);
    return 1;
}

int main(int argc, char **argv) {
    struct CMUnitTest tests[COUNT];

    if (argc == 3)
        return check_other(argv[1], argv[2]);

    for (int i = 0; i < COUNT; i++)
        tests[i] = (struct CMUnitTest){.name = kernels[i].symbol,
                                       .test_func = check_row,
                                       .initial_state = (void *)(uintptr_t)&kernels[i]};
    return cmocka_run_group_tests_name("kernels in C", tests, NULL, NULL);
}
