/* SPDX-License-Identifier: Apache-2.0 */
/* Room link: the data structure of modules. */
#ifndef UK_MODULE_H
#define UK_MODULE_H

#include "link.h"

/* Trampolines of the functions that make a constant tensor's packed form. */
struct uk_module_packing {
    int64_t (*bytes)(const int64_t *sizes, const double *scalars, void *const *tensors);
    int (*pack)(const int64_t *sizes, const double *scalars, void *const *tensors);
};

struct uk_module {
    struct uk_program *program;   /* program of an interpreted module */
    struct uk_function *function; /* of an interpreted module: lives in the program's arena */
    LLVMOrcLLJITRef jit;
    void *code;
    int (*call)(const int64_t *sizes, const double *scalars, void *const *tensors);
    /* One per tensor argument, with NULL functions if it is not constant; or NULL. */
    struct uk_module_packing *packing;
    int arguments;            /* number of tensor arguments, and of elements of `packing` */
    struct uk_module **packs; /* of an interpreted module, per tensor argument: module that packs it, compiled
                                 on first use; or NULL */
    char **kernel;            /* names of linked kernels; NULL-terminated */
    char **name;              /* names of functions, in order; NULL-terminated */
    bool takes_sizes, takes_scalars, takes_tensors; /* of the function that uk_module_call calls */
    struct uk_times times;
};

/* How the i-th tensor argument is packed; NULL: it is not packed. */
const struct uk_packed *uk_packed_at(const struct uk_function *f, int i);

#endif
