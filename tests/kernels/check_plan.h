/* SPDX-License-Identifier: Apache-2.0 */
/* Which operands a call of a kernel has, for every operation: what the kernel test does not share. */
#ifndef CHECK_PLAN_H
#define CHECK_PLAN_H

#include "verify/abi.h"
#include "check_element.h"
#include "registry/registry.h"

enum { OPERANDS = 4, MAX_K = 257, GAP = 5, SOME_COLUMNS = 2 * 16 + 3 /* two vectors and some */ };
enum placement { AT_END, AT_START, MISALIGNED, PLACEMENTS };
enum data { INTEGERS, RANDOM, DATA };

/* What a call is made for. */
struct shape {
    int64_t k, mr, nr, acc;
    int64_t gap; /* between the rows of an operand whose stride the caller chooses */
    enum placement placement;
    enum data data;
};

/* `rows` rows of `length` elements, `stride` apart. Of each, `used` elements from the first are the tile's;
 * the rest and `over` more behind the last row may be read and must not matter. */
struct operand {
    enum element type; /* by the operation: its plan leaves it open */
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

/* What a kernel's operation takes, by its form and its declaration; a false says that its kernels have no such argument. `adds`: always
 * to what is there. `any_rows`: from 1 to any number. `any_columns`: from 0 to any number, and no edges. `wide`: so many columns, in
 * vectors, that some stand for all. `types`: of the operands. */
struct op {
    void (*reference)(void);
    void (*plan)(const struct uk_kernel *row, const struct shape *s, struct plan *p);
    bool has_k, has_rows, has_columns, has_acc, adds, any_rows, any_columns, wide;
    enum element types[OPERANDS];
};

/* False: there is no operation of that name, or no operands are known for its form. */
bool check_op(const char *name, struct op *op);

#endif
