/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of uk's operands, which do not link the command's main file. */
#include <stdarg.h>
#include <stdio.h>
#include "uk.h"

int uk_complain(int status, const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    return status;
}
