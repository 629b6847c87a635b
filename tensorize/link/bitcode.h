/* SPDX-License-Identifier: Apache-2.0 */
/* Room link: the bitcode of the registry's kernels, which the build embeds. */
#ifndef UK_BITCODE_H
#define UK_BITCODE_H

#include <stddef.h>

struct uk_bitcode {
    const char *arch; /* name of a row of archs.def */
    const char *symbol;
    const unsigned char *data; /* bytes of the staged file SYMBOL.bc */
    size_t size;
};

/* Finds a kernel's bitcode; NULL if the architecture has no row with that symbol. */
const struct uk_bitcode *uk_bitcode_find(const char *arch, const char *symbol);

#endif
