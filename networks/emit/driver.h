/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the driver, which is written as LLVM IR. */
#ifndef UK_DRIVER_H
#define UK_DRIVER_H

#include "emit/emit.h"

/* Text under construction, and its inputs. */
struct uk_driver {
    struct uk_text text;
    const struct uk_network *n;
    const struct uk_constants *constants;
    bool is_step; /* a layer by itself: iterations are those that the block of memory holds */
};

/* ---- driver_loops.c ---- */

/* Writes the instructions that compute the address of the value, plus `fixed` bytes; %NAME becomes it. NULL:
 * the beginning of the block. name: at most 40 characters. */
void uk_driver_put_pointer(struct uk_driver *d, const struct uk_graph_value *v, int64_t fixed,
                           const char *name);
/* Writes the ends of loops that are left and the beginnings of those that are entered between two layers, of
 * these regions; NULL: the network. */
void uk_driver_change_region(struct uk_driver *d, const struct uk_graph_region *from,
                             const struct uk_graph_region *to);

#endif
