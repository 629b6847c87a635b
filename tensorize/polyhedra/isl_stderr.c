/* SPDX-License-Identifier: Apache-2.0 */
/* The name under which our copy of isl refers to stderr; see meson.build. isl writes to it only with warnings
 * enabled. */
#include <stdio.h>

extern FILE *uk_isl_stderr;
FILE *uk_isl_stderr;

__attribute__((constructor)) static void set(void) {
    uk_isl_stderr = stderr;
}
