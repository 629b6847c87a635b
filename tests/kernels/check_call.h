/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a kernel in the kernel test, on operands between guards, compared with its reference. */
#ifndef CHECK_CALL_H
#define CHECK_CALL_H

#include "arena.h"
#include "check_plan.h"

struct check {
    const struct uk_kernel *row;
    struct op op;
    void (*function)(void);
    struct shape shape;
    struct plan plan;
    struct arena arena[OPERANDS];
    /* contents of the arenas before the call; for an output, after the reference */
    unsigned char *before[OPERANDS];
    /* contents of an output's arena after the reference on absolute values */
    unsigned char *magnitude[OPERANDS];
    struct far_rows {
        struct arena space;
        struct operand of;
    } far_row[OPERANDS]; /* the last address space with rows on separate pages */
    uint64_t seed;
    char *message;
    size_t size;
};

/* Writes the message: kernel, arguments of the call, this text. Returns false. */
__attribute__((format(printf, 2, 3))) bool check_fail(struct check *c, const char *format, ...);
/* Elements from the operand's first to its last, gaps included. */
int64_t operand_extent(const struct operand *o);
/* Fills the operand's row that begins with element `first`. */
void check_put_values(struct check *c, const struct operand *o, int64_t first);
/* Sets the plan's arguments to the operands' addresses. */
void check_set_addresses(struct check *c);
void check_reference(struct check *c);
/* Calls the kernel as planned. False: it faulted at *at. *broken: name of a register that the kernel must
 * preserve and changed; NULL: none. */
bool check_run(struct check *c, const char **broken, const void **at);
/* Checks one call of c->shape: places and fills operands, calls, and compares everything in their arenas. */
bool check_call(struct check *c);

/* ---- check_far_rows.c: rows on separate pages ---- */

/* Checks rows so far apart that strides need 64 bits; only two rows, if the kernel accepts fewer than a
 * tile's. */
bool check_far_rows(struct check *c);
/* Checks the output with each row alone on its pages: a kernel that reads or writes outside a row faults,
 * even if it stores the old values. In a program another thread may be writing there. k is CHECK_FAR_K, as in
 * check_far_rows(). */
enum { CHECK_FAR_K = 3 };
bool check_neighbours(struct check *c, int64_t mr, int64_t nr, int64_t acc);
void check_release_rows(struct far_rows *a);

#endif
