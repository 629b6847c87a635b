/* SPDX-License-Identifier: Apache-2.0 */
/* Error messages. */
#include <stdarg.h>
#include <stdio.h>
#include "state.h"

enum uk_amdgpu_status uk_amdgpu_fail(struct uk_amdgpu *gpu, enum uk_amdgpu_status status, const char *format,
                                     ...) {
    va_list list;

    va_start(list, format);
    vsnprintf(gpu->message, sizeof gpu->message, format, list);
    va_end(list);
    for (char *c = gpu->message; *c;
         /* names in a damaged object may contain anything; a message is one line */
         ++c)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
    return status;
}
