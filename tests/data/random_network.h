/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random networks, as texts of data/onnx_text.h, from bytes that are taken one after the other (0 where they
 * end): all operators with all their attributes, most of which make sense.
 */
#ifndef RANDOM_NETWORK_H
#define RANDOM_NETWORK_H

#include <stddef.h>
#include <stdint.h>

/* Free it. NULL: no memory. */
char *random_network(const uint8_t *bytes, size_t length);

#endif
