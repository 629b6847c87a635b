/* SPDX-License-Identifier: Apache-2.0 */
/* Inside libuktensorize: the bitcode of the registry's kernels, embedded by the build. */
#ifndef UK_BITCODE_H
#define UK_BITCODE_H

#include <stddef.h>

struct uk_bitcode {
    const char *arch; /* a row of archs.def */
    const char *symbol;
    const unsigned char *data; /* the bytes of the staged file SYMBOL.bc */
    size_t size;
};

/* NULL: no row of that symbol that the architecture has. */
const struct uk_bitcode *uk_bitcode_find(const char *arch, const char *symbol);

#endif
