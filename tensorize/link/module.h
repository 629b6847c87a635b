/* SPDX-License-Identifier: Apache-2.0 */
/* Inside link: what a module is. */
#ifndef UK_MODULE_H
#define UK_MODULE_H

#include "link.h"

/* Trampolines of the functions that make a constant tensor's packed form. */
struct uk_module_packing {
    int64_t (*bytes)(const int64_t *sizes, const double *scalars, void *const *tensors);
    int (*pack)(const int64_t *sizes, const double *scalars, void *const *tensors);
};

struct uk_module {
    struct uk_program *program;   /* of an interpreted module */
    struct uk_function *function; /* interpreted: lives in the program's arena */
    LLVMOrcLLJITRef jit;
    void *code;
    int (*call)(const int64_t *sizes, const double *scalars, void *const *tensors);
    struct uk_module_packing
        *packing;             /* of each tensor argument, all NULL where it is not constant; or NULL */
    int arguments;            /* of tensors: as many are in `packing` */
    struct uk_module **packs; /* interpreted: what packs a tensor argument, once it is needed; or NULL */
    char **kernel;            /* NULL-terminated */
    char **name;              /* of the functions, in order; NULL-terminated */
    bool takes_sizes, takes_scalars, takes_tensors; /* the function that uk_module_call calls */
    struct uk_times times;
};

/* How the i-th tensor argument is packed; NULL: it is not. */
const struct uk_packed *uk_packed_at(const struct uk_function *f, int i);

#endif
