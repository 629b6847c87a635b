/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the kernel test: one call of a kernel, on operands with guards around them, beside its reference. */
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
    unsigned char
        *before[OPERANDS]; /* the arenas' contents before the call; of the output, after the reference */
    unsigned char *magnitude[OPERANDS]; /* an output's arena after the reference on absolute values */
    struct rows_apart {
        struct arena space;
        struct operand of;
    } apart[OPERANDS]; /* the last address space for rows that are far from each other */
    uint64_t seed;
    char *message;
    size_t size;
};

/* Writes the message: the kernel, the call's arguments, this text. Returns false. */
__attribute__((format(printf, 2, 3))) bool check_fail(struct check *c, const char *format, ...);
/* Elements from the first to the last that belong to the operand. */
int64_t operand_extent(const struct operand *o);
/* Data for the row of the operand that begins with that element. */
void check_put_values(struct check *c, const struct operand *o, int64_t first);
/* The operands' places become arguments of the plan. */
void check_set_addresses(struct check *c);
void check_reference(struct check *c);
/* Calls the kernel as planned; whether the call ended: if not, `at` is the address that faulted. *broken: the
 * name of a register that the kernel changed and must not, or NULL. */
bool check_run(struct check *c, const char **broken, const void **at);
/* One call of the shape c->shape: operands are placed and filled, and everything in their arenas is compared.
 * */
bool check_call(struct check *c);

/* ---- check_apart.c: rows on pages of their own ---- */

/* Rows so far apart that strides need 64 bits; two of them, where the kernel takes fewer than its tile has.
 * */
bool check_far_rows(struct check *c);
/* Rows of the output alone on their pages: a kernel that reads or writes beside a row, even if it stores the
 * old values, faults. In a program another thread may be writing there. k is CHECK_FAR_K, as in
 * check_far_rows(). */
enum { CHECK_FAR_K = 3 };
bool check_neighbours(struct check *c, int64_t mr, int64_t nr, int64_t acc);
void check_release_rows(struct rows_apart *a);

#endif
