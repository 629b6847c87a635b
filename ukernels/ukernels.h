/*
 * ukernels: micro-kernels for GEMM and convolution, called directly.
 *
 * Link with -lukernels. Nothing in here prints, aborts or allocates behind the caller's back.
 */
#ifndef UKERNELS_H
#define UKERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What every function of both libraries, and every generated function, returns. The values are part of the ABI. */
enum uk_status {
    UK_OK = 0,
    UK_INVALID_ARGUMENT = 1, /* a null pointer, an unknown name, an option out of range */
    UK_INVALID_SIZE = 2,     /* negative or overflowing sizes, strides smaller than extents, sizes that break an assumption */
    UK_OVERLAP = 3,          /* an output overlaps another operand */
    UK_OUT_OF_MEMORY = 4,
    UK_SYNTAX = 5,           /* the text is not in the language */
    UK_REFUSED = 6,          /* understood, and not legal: the message says which step, which loop, why */
    UK_NO_MATCH = 7,         /* tensorize: no kernel computes this nest; the message has the first difference */
    UK_UNSUPPORTED = 8,      /* this CPU, target or build cannot do it */
    UK_LINK = 9,             /* bitcode that cannot be linked or inlined */
    UK_IO = 10,
    UK_WRONG_RESULT = 11,    /* a check found a difference */
    UK_INTERNAL = 12,        /* a defect of ours; please report the message */
};

/* A short English text, never NULL. */
const char *uk_status_text(enum uk_status status);

#ifdef __cplusplus
}
#endif
#endif
