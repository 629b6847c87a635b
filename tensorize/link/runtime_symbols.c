/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that generated code may refer to. */
#define _GNU_SOURCE /* roundeven */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "link.h"
#include "gpu/gpu.h"

/* The complete list: no symbol is looked up by name in the process. */
const struct uk_symbol uk_symbols[] = {
#define UK_SYMBOL(name) {#name, (void (*)(void))name}
    UK_SYMBOL(aligned_alloc),
    UK_SYMBOL(free),
    UK_SYMBOL(memcpy),
    UK_SYMBOL(memset),
    UK_SYMBOL(memmove),
    UK_SYMBOL(expf),
    UK_SYMBOL(exp),
    UK_SYMBOL(tanhf),
    UK_SYMBOL(tanh),
    UK_SYMBOL(fmaf),
    UK_SYMBOL(fma),
    UK_SYMBOL(roundevenf),
    UK_SYMBOL(roundeven),
    UK_SYMBOL(uk_parallel_for),
    UK_SYMBOL(uk_num_threads),
    UK_SYMBOL(uk_gpu_use),
    UK_SYMBOL(uk_gpu_workspace),
    UK_SYMBOL(uk_gpu_launch),
#undef UK_SYMBOL
};

_Static_assert(sizeof uk_symbols / sizeof *uk_symbols == UK_SYMBOLS, "the number in link.h is another");

bool uk_is_runtime_symbol(const char *name) {
    for (int i = 0; i < UK_SYMBOLS; i++)
        if (!strcmp(uk_symbols[i].name, name))
            return true;
    return false;
}
