/* SPDX-License-Identifier: Apache-2.0 */
/* Skips and reports what cannot be tested under qemu-user, where UK_UNDER_QEMU is set. */
#ifndef TESTS_EMULATED_H
#define TESTS_EMULATED_H

#include <stdlib.h>

#define SKIP_UNDER_QEMU(reason)                                   \
    do                                                            \
        if (getenv("UK_UNDER_QEMU")) {                            \
            print_message("%s: skipped, " reason "\n", __func__); \
            skip();                                               \
        }                                                         \
    while (0)

#endif
