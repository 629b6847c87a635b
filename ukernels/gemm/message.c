/* SPDX-License-Identifier: Apache-2.0 */
/* The message of the last failed call of each thread. */
#include <stdarg.h>
#include <stdio.h>
#include "plan.h"

static _Thread_local char message[GEMM_MESSAGE];

const char *uk_last_message(void) {
    return message;
}

enum uk_status uk_gemm_refuse(enum uk_status status, const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    vsnprintf(message, sizeof message, format, ap);
    va_end(ap);
    return status;
}
