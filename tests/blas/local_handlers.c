/* SPDX-License-Identifier: Apache-2.0 */
/* The error handlers of the reference BLAS, in a shared object. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

char reported[80];
int RowMajorStrg = 5;

void xerbla_(const char *routine, const int32_t *argument, size_t length);
void xerbla_64_(const char *routine, const int64_t *argument, size_t length);
void cblas_xerbla(int32_t argument, const char *routine, const char *form, ...);

void xerbla_(const char *routine, const int32_t *argument, size_t length) {
    snprintf(reported, sizeof reported, "xerbla %.*s %d", (int)length, routine, (int)*argument);
}

void xerbla_64_(const char *routine, const int64_t *argument, size_t length) {
    snprintf(reported, sizeof reported, "xerbla_64 %.*s %lld", (int)length, routine, (long long)*argument);
}

void cblas_xerbla(int32_t argument, const char *routine, const char *form, ...) {
    va_list ap;

    va_start(ap, form);
    va_end(ap);
    snprintf(reported, sizeof reported, "cblas_xerbla %s %d %d", routine, (int)argument, RowMajorStrg);
}
