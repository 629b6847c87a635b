/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random networks, as texts for data/onnx_text.h, drawn from a string of bytes (zeros after its end): all
 * operators with all attributes, most of them plausible.
 */
#ifndef RANDOM_NETWORK_H
#define RANDOM_NETWORK_H

#include <stddef.h>
#include <stdint.h>

/* The caller frees the text. NULL: out of memory. */
char *random_network(const uint8_t *bytes, size_t length);

#endif
