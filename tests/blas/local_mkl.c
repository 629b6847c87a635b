/* SPDX-License-Identifier: Apache-2.0 */
/* The error handler of MKL, in a shared object. */
#include <stdio.h>

char reported[80];

void cblas_xerbla(const char *routine, int argument);
void mkl_get_version(void *version);

void cblas_xerbla(const char *routine, int argument) {
    snprintf(reported, sizeof reported, "mkl %s %d", routine, argument);
}

void mkl_get_version(void *version) {
    (void)version;
}
