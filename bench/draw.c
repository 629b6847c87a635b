/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers for drawn shapes. */
#include "draw.h"
#include <math.h>

uint64_t bench_draw_begin(uint64_t seed, const char *set) {
    uint64_t state = seed;
    for (const char *c = set; *c; c++)
        state = (state ^ (uint64_t)*c) * 0x100000001b3u;
    return state;
}

uint64_t bench_draw(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

double bench_draw_real(uint64_t *state) {
    return (double)(bench_draw(state) >> 11) * 0x1p-53;
}

int64_t bench_draw_from(uint64_t *state, const int64_t *values, int count) {
    return values[bench_draw(state) % (uint64_t)count];
}

double bench_draw_log(uint64_t *state, double least, double most) {
    return least * exp(bench_draw_real(state) * log(most / least));
}
