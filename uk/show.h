/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by name, with the comments at the heads of their sources. */
#ifndef UK_SHOW_H
#define UK_SHOW_H

/* The comment at the head of a kernel's source, as `uk show` prints it. The build generates the table from
 * the sources; the last row's symbol is NULL. */
struct uk_kernel_doc {
    const char *symbol, *text;
};
extern const struct uk_kernel_doc uk_kernel_docs[];
/* Finds the kernel's row. NULL: an error with the closest name has been printed. */
const struct uk_kernel *uk_kernel_named(const char *name);

#endif
