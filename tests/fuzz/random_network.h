/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random networks, as texts for data/onnx_text.h, drawn from a string of bytes (zeros after its end): all
 * operators with all attributes, most of them plausible, recurrent ones, loops, branches and states.
 */
#ifndef RANDOM_NETWORK_H
#define RANDOM_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "networks.h"

enum { RANDOM_SIZES = 2, RANDOM_STATES = 2, RANDOM_NAME = 16 };

/* What the network is to be read with. A size may be one that the network lacks. */
struct random_options {
    struct uk_network_size size[RANDOM_SIZES];
    int sizes;
    char past[RANDOM_STATES][RANDOM_NAME], present[RANDOM_STATES][RANDOM_NAME];
    int states;
    bool find_states;
};

/* The caller frees the text. NULL: out of memory. */
char *random_network(const uint8_t *bytes, size_t length, struct random_options *o);

#endif
