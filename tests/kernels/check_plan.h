/* SPDX-License-Identifier: Apache-2.0 */
/* The operands of a kernel's call, from its declaration. */
#ifndef CHECK_PLAN_H
#define CHECK_PLAN_H

#include "verify/abi.h"
#include "arguments.h"
#include "check_element.h"
#include "registry/registry.h"

enum {
    OPERANDS = BENCH_TENSORS,
    MAX_K = 257,
    GAP = 5,
    SOME_COLUMNS = 2 * 16 + 3 /* two vectors and a remainder */
};
_Static_assert(ABI_WORDS >= 3 + BENCH_PARAMETERS,
               "references take MR, NR and KR before the kernel's arguments");
enum placement { AT_END, AT_START, MISALIGNED, PLACEMENTS };
enum data { INTEGERS, RANDOM, DATA };

/* Parameters of a call. */
struct shape {
    int64_t k, mr, nr, acc;
    int64_t gap;   /* elements between rows of an operand whose stride the caller chooses */
    int64_t step;  /* rows from one window to the next if windows overlap; varies other sizes too */
    bool reversed; /* among several strides of an operand, the last is the largest */
    enum placement placement;
    enum data data;
};

/* Like struct bench_operand. Elements that the call does not use may be read but must not matter. */
struct operand {
    enum element type;
    int64_t rows, length, used, stride, over;
    int align;
    bool output, never_read; /* never_read: an output that no form of the operation adds to */
    char *at;                /* in the operand's arena */
};

struct plan {
    struct operand operand[OPERANDS];
    int operands;
    int64_t words[ABI_WORDS]; /* set once the operand is placed, where operand_of >= 0 */
    int operand_of[ABI_WORDS];
    int count;
    double scalar;
};

/* An operation as a kernel's row declares it. */
struct op {
    void (*reference)(void);
    struct bench_declaration is;
    /* Tested sizes: up to two tiles and a remainder if any number is allowed; one if it is not a
     * parameter. */
    int64_t min_rows, max_rows, min_columns, max_columns;
    bool has_k, has_acc, adds; /* adds: always adds to the output */
    bool is_wide;              /* has too many vectors of columns to test each: a sample represents them */
};

/* False: there is no operation of that name, or no call can be derived from its declaration; `what` says
 * why. */
bool check_op(const struct uk_kernel *row, struct op *op, char *what, size_t size);
/* Plans the call of that shape. */
void check_plan(const struct uk_kernel *row, const struct op *op, const struct shape *s, struct plan *p);

#endif
