/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernels there are and what each computes. kernels.def has a row for each kernel, ops.def for each
 * operation: its C parameters and its declaration, a text of the .uk language. registry.c makes the array of
 * struct uk_kernel from them, which programs read by functions; rows.py reads the same rows for the build,
 * bitcode.py compiles their sources to bitcode, kernels_json.c prints the list that importers read.
 * reference.c computes each operation in plain loops: kernels are tested against it. operation.h has the
 * columns of ops.def that code reads, half.h converts f16 and bf16.
 *
 * Uses machine only.
 *
 * The references take the kernel's MR, NR and KR in front of the kernel's own arguments.
 */
#ifndef UK_REGISTRY_H
#define UK_REGISTRY_H

#include "kernels.h"
#include "operation.h"

/* Which edge tiles a kernel takes. */
enum uk_edges {
    UK_EDGES_ANY,  /* 1 <= mr <= MR, 1 <= nr <= NR */
    UK_EDGES_ROWS, /* fewer rows; nr = NR */
    UK_EDGES_COLS, /* fewer columns; mr = MR */
    UK_EDGES_FULL, /* neither */
};

/* A row of kernels.def. Programs and libuktensorize read it by the functions of ukernels.h, so that it may
 * get fields: what has such a function is described there. */
struct uk_kernel {
    const char *symbol;
    const char *op;
    const struct uk_operation *operation;
    const char *isa;
    const char *impl;
    const char *arch;
    /* The source, if the row shares it with others: "intrinsics/any/name.c"; else NULL. */
    const char *file;
    const char *features; /* default: the isa's */
    const char *cores;    /* default NULL */
    const char *parameters;
    const char *declaration; /* its op's, in which uk_kernel_declaration replaces the words in capitals */
    uk_function *function;
    int mr, nr;
    int kr;                        /* default 1 */
    enum uk_edges edges;           /* default UK_EDGES_ANY */
    int row_step;                  /* default MR */
    int a_over;                    /* elements of the first operand it may read past the end of a row */
    int a_align, b_align, c_align; /* bytes; default 1: the elements' own alignment suffices */
    /* Of rows that are estimated to take the same time the one of the lowest rank is chosen; default 0:
     * behind all that have one, in the order of kernels.def. uk_kernel_at lists rows by it. */
    int rank;
    double fma, loads, other;
    enum uk_exec_scope scope;                /* default UK_EXEC_THREAD */
    enum uk_space a_space, b_space, c_space; /* of its first three operands; default UK_SPACE_GENERIC */
    int variants;                            /* what else its source is compiled to; default 0 */
};

/* What else a kernel's source is compiled to: bits of .variants. The arguments of PREFETCHING and PACKING are
 * the kernel's, and behind them what they prefetch or pack, which the source explains. RESOLVED prepares
 * repeated calls: struct uk_small_call of small_call.h. */
enum { UK_PREFETCHING = 1, UK_PACKING = 2, UK_RESOLVED = 4 };

struct uk_variant {
    uk_function *kernel;   /* of the row */
    uk_function *function; /* NULL: of a row of another architecture than this build's */
    int variant;
};

/* One variant of a kernel; NULL: its row has none. */
const struct uk_variant *uk_kernel_variant(const struct uk_kernel *kernel, int variant);

#define UK_REFERENCE_PARAMETERS(...) __VA_ARGS__
#define UK_OP_ROW(name, parameters, declaration, ...) \
    void uk_reference_##name(int64_t MR, int64_t NR, int64_t KR, UK_REFERENCE_PARAMETERS parameters);
#include "ops.def"
#undef UK_OP_ROW

#endif
