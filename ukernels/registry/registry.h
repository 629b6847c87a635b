/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry: a table of all kernels, and of the operations that they compute.
 *
 *     kernels.def    a row for each kernel
 *     ops.def        a row for each operation: its C parameters, its declaration (a text of the .uk
 *                    language), and the attributes of struct uk_operation (operation.h)
 *     registry.c     the array of struct uk_kernel; programs read it by functions of ukernels.h
 *     reference.c    each operation in plain loops; kernels are tested against it
 *     rows.py        reads the rows for the build; order.py sorts them
 *     bitcode.py     compiles kernels to bitcode; kernels_json.c lists it for importers
 *     half.h         converts f16 and bf16
 *     small_call.h   prepared calls of small products
 *     kernel_contract.h, gpu_kernel.h, rvp.h
 *                    what kernels include
 *
 * Uses the folder machine only.
 */
#ifndef UK_REGISTRY_H
#define UK_REGISTRY_H

#include "kernels.h"
#include "operation.h"

/* The tiles mr x nr that a kernel computes. */
enum uk_edges {
    UK_EDGES_ANY,  /* 1 <= mr <= MR, 1 <= nr <= NR */
    UK_EDGES_ROWS, /* 1 <= mr <= MR, nr = NR */
    UK_EDGES_COLS, /* mr = MR, 1 <= nr <= NR */
    UK_EDGES_FULL, /* mr = MR, nr = NR */
};

/* A row of kernels.def. Programs and libuktensorize read it by the functions uk_kernel_<field> of ukernels.h,
 * so that fields can be added; those functions' comments describe the fields that have none here. */
struct uk_kernel {
    const char *symbol;
    const char *op;
    const struct uk_operation *operation;
    const char *isa;
    const char *impl;
    const char *arch;
    /* The source, if the row shares it with others: "intrinsics/any/name.c"; else NULL. */
    const char *file;
    const char *features; /* default: those of the isa */
    const char *cores;    /* default NULL */
    const char *parameters;
    const char *declaration; /* of its op; uk_kernel_declaration replaces the words in capitals */
    uk_function *function;
    int mr, nr;
    int kr;                    /* default 1 */
    int least_terms;           /* of a window: for fewer another row is faster */
    bool any_k;                /* rows of A in place, in groups of kr terms: the last group may be partial */
    enum uk_edges edges;       /* default UK_EDGES_ANY */
    int row_step, column_step; /* default MR, NR */
    int a_over;                /* elements that it may read past the end of a row of the first operand */
    int a_align, b_align, c_align; /* bytes; default 1: the alignment of the elements suffices */
    /* Ties: among rows that are estimated to take the same time, the lowest rank is chosen. 0, the default:
     * after all rows with a rank, in the order of kernels.def. uk_kernel_at lists rows in this order. */
    int rank;
    double fma, loads, other;
    enum uk_exec_scope scope;                /* default UK_EXEC_THREAD */
    enum uk_state state;                     /* default UK_STATE_NONE */
    enum uk_space a_space, b_space, c_space; /* of its first three operands; default UK_SPACE_GENERIC */
    int variants;                            /* bits UK_PREFETCHING, ...; default 0 */
};

/*
 * Variants: further functions that a kernel's source is compiled to, as bits of .variants.
 *
 *     UK_PREFETCHING, UK_PACKING    the kernel, which also prefetches or packs operands of later tiles; its
 *                                   arguments are followed by those of that work, which the source explains
 *     UK_RESOLVED                   prepares repeated calls: struct uk_small_call of small_call.h
 */
enum { UK_PREFETCHING = 1, UK_PACKING = 2, UK_RESOLVED = 4 };

struct uk_variant {
    uk_function *kernel;   /* .function of the kernel's row */
    uk_function *function; /* NULL: the row belongs to another architecture than this build's */
    int variant;           /* one of the bits */
};

/* One variant of a kernel; NULL: its row does not have that bit. */
const struct uk_variant *uk_kernel_variant(const struct uk_kernel *kernel, int variant);

/* References of operations: their arguments are the kernel's MR, NR and KR, then those of the kernel. */
#define UK_REFERENCE_PARAMETERS(...) __VA_ARGS__
#define UK_OP_ROW(name, parameters, declaration, ...) \
    void uk_reference_##name(int64_t MR, int64_t NR, int64_t KR, UK_REFERENCE_PARAMETERS parameters);
#include "ops.def"
#undef UK_OP_ROW

#endif
