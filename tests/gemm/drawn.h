/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of drawn products. UK_GEMM_SEED=n draws other products, and more of them; `new` takes a new seed. */
#ifndef DRAWN_H
#define DRAWN_H

#include <inttypes.h>
#include <stdlib.h>
#include "random.h"
#include "seed.h"

/* Sets the seed if one is given, and prints it. Returns the number of products. */
static int begin_drawing(uint64_t *state) {
    const char *given = getenv("UK_GEMM_SEED");

    if (given)
        *state = seed_of(given);
    print_message("UK_GEMM_SEED=%" PRIu64 "\n", *state);
    return given ? 1500 : 60;
}

/* Draws m, n and k, whose product is at most 2^24. */
static void draw_sizes(uint64_t *state, int64_t size[3]) {
    enum { OCTAVES = 9, ALL = 24 };
    int octaves = ALL;

    for (int i = 0; i < 2; i++) {
        size[i] = random_size(state, OCTAVES);
        for (int64_t left = size[i]; left; left /= 2)
            octaves--;
    }
    size[2] = random_size(state, octaves < 12 ? octaves : 12);
}

#endif
