/* SPDX-License-Identifier: Apache-2.0 */
/* Error messages of the command. */
#include <stdarg.h>
#include <stdio.h>
#include "uk.h"

int uk_complain(int status, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    fputs("uk: error: ", stderr);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    return status;
}
