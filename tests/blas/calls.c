/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded together with libukblas: counts its calls of libukernels and passes them on. When the process
 * ends it adds a line "PROGRAM sgemm=CALLS dgemm=CALLS" to the file that UK_BLAS_CALLS names.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "ukernels.h"

static atomic_long sgemm_calls, dgemm_calls;

#define BETWEEN(T, name, count)                                                                          \
    enum uk_status name(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,    \
                        int64_t n, int64_t k, T alpha, const T *a, int64_t lda, const T *b, int64_t ldb, \
                        T beta, T *c, int64_t ldc) {                                                     \
        __typeof__(name) *next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                            \
                                                                                                         \
        atomic_fetch_add(&count, 1);                                                                     \
        return next(layout, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                       \
    }
BETWEEN(float, uk_sgemm, sgemm_calls)
BETWEEN(double, uk_dgemm, dgemm_calls)

__attribute__((destructor)) static void write_calls(void) {
    const char *path = getenv("UK_BLAS_CALLS");
    int file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    char line[256];

    if (file < 0)
        return;
    int length = snprintf(line, sizeof line, "%s sgemm=%ld dgemm=%ld\n", program_invocation_short_name,
                          atomic_load(&sgemm_calls), atomic_load(&dgemm_calls));
    if (write(file, line, (size_t)length) != length)
        _exit(1);
    close(file);
}
