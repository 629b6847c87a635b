/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libukblas: the names of BLAS and CBLAS for uk_sgemm and uk_dgemm. blas.c has them, by product.h once for
 * each element type and entries.h once for each width of integers; handlers.c finds the handlers of illegal
 * arguments.
 *
 * Uses what ukernels.h declares of gemm, as any program does, and nothing else of libukernels.
 */
#ifndef UK_BLAS_H
#define UK_BLAS_H

/* The symbol's address in any object that the process has loaded, whatever its scope; *object is then a
 * handle for dlclose. NULL: none defines it. */
void *blas_find_beside(const char *symbol, void **object);

#endif
