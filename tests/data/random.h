/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers of all tests: splitmix64 (Steele, Lea and Flood 2014). Any state is valid; equal states give
 * equal numbers on every machine. */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/* A number from 0 to n - 1; requires n > 0. */
static inline int random_below(uint64_t *state, int n) {
    return (int)((random_next(state) >> 33) % (uint64_t)n);
}

/* A number from 1 to 2^octaves - 1, as often from each power of two to the next. */
static inline int random_size(uint64_t *state, int octaves) {
    const int power = 1 << random_below(state, octaves);

    return power + random_below(state, power);
}

#endif
