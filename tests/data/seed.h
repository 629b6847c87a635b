/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds of random tests: a fixed number, unless the command line gives another or asks for a new one, which
 * the test prints so that the run can be repeated. */
#ifndef TESTS_SEED_H
#define TESTS_SEED_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Parses the value of --seed: a number, or `new`. */
static inline uint64_t seed_of(const char *text) {
    struct timespec t = {0};

    if (strcmp(text, "new"))
        return strtoull(text, NULL, 10);
    timespec_get(&t, TIME_UTC);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

#endif
