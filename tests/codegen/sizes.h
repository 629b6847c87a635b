/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of the test sizes: products with automatic and written schedules. */
#ifndef TEST_SIZES_H
#define TEST_SIZES_H

#include <stdbool.h>

struct program {
    const char *name, *target, *text, *schedule;
    bool adds, a_transposed, b_transposed;
    int threads;
};

extern const struct program size_programs[];
extern const int size_program_count;

#endif
