/* SPDX-License-Identifier: Apache-2.0 */
/* Which operands a call of a kernel has, by its declaration. */
#ifndef CHECK_PLAN_H
#define CHECK_PLAN_H

#include "verify/abi.h"
#include "arguments.h"
#include "check_element.h"
#include "registry/registry.h"

enum { OPERANDS = BENCH_TENSORS, MAX_K = 257, GAP = 5, SOME_COLUMNS = 2 * 16 + 3 /* two vectors and some */ };
_Static_assert(ABI_WORDS >= 3 + BENCH_PARAMETERS,
               "references take MR, NR and KR before the kernel's arguments");
enum placement { AT_END, AT_START, MISALIGNED, PLACEMENTS };
enum data { INTEGERS, RANDOM, DATA };

/* What a call is made for. */
struct shape {
    int64_t k, mr, nr, acc;
    int64_t gap;   /* between the rows of an operand whose stride the caller chooses */
    int64_t step;  /* rows from one window to the next, where windows overlap; other sizes vary with it */
    bool reversed; /* of several strides of an operand the last is the greatest */
    enum placement placement;
    enum data data;
};

/* As in struct bench_operand; what the call does not use may be read and must not matter. */
struct operand {
    enum element type;
    int64_t rows, length, used, stride, over;
    int align;
    bool output, never_read; /* never_read: an output that no form adds to */
    char *at;                /* in its arena */
};

struct plan {
    struct operand operand[OPERANDS];
    int operands;
    int64_t words[ABI_WORDS]; /* where operand_of >= 0: filled in once the operand has its place */
    int operand_of[ABI_WORDS];
    int count;
    double scalar;
};

/* An operation as a kernel's row declares it. */
struct op {
    void (*reference)(void);
    struct bench_declaration is;
    /* Those that are tried: where any number is taken, two tiles and some; one, where there is no parameter.
     * */
    int64_t least_rows, most_rows, least_columns, most_columns;
    bool has_k, has_acc, adds; /* adds: always to what is there */
    bool is_wide;              /* so many columns, in vectors, that some stand for all */
};

/* False: there is no operation of that name, or its declaration has what no call can be derived from; which,
 * in `what`. */
bool check_op(const struct uk_kernel *row, struct op *op, char *what, size_t size);
/* The call of that shape. */
void check_plan(const struct uk_kernel *row, const struct op *op, const struct shape *s, struct plan *p);

#endif
