/* SPDX-License-Identifier: Apache-2.0 */
/* Where the handlers of illegal arguments are. */
#ifndef BLAS_HANDLERS_H
#define BLAS_HANDLERS_H

/* The symbol's address in any object that the process has loaded, whatever its scope; *object is then a handle for dlclose.
 * NULL: none defines it. */
void *blas_find_beside(const char *symbol, void **object);

#endif
