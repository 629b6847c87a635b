/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Works around a bug of NVIDIA's assembler. ptxas 13.0 and that of driver 580, for sm_90 and above -O0, drop
 * a negation whose result is an operand of two maxima or minima of integers: max(max(q, -a), c) becomes
 * max(max(q, a), c) (seen on an H200). A complement plus 1 is compiled correctly.
 */
#include <stddef.h>
#include <string.h>
#include "link.h"

static void put_line(struct uk_text *t, const char *line, size_t n) {
    static const char negation[] = "\tneg.s32 \t"; /* operands: destination, source */
    const size_t head = sizeof negation - 1;
    const char *comma = n > head && !memcmp(line, negation, head) ? memchr(line, ',', n) : NULL;

    if (!comma) {
        uk_put(t, "%.*s", (int)n, line);
        return;
    }
    const char *to = line + head;
    const int length = (int)(comma - to);
    uk_put(t, "\tnot.b32 \t%.*s\tadd.s32 \t%.*s, %.*s, 1;\n", (int)(n - head), to, length, to, length, to);
}

enum uk_status uk_fix_ptx(struct uk_context *c, LLVMMemoryBufferRef *ptx) {
    const char *at = LLVMGetBufferStart(*ptx), *end = at + LLVMGetBufferSize(*ptx);
    struct uk_text t = {0};

    while (at < end) {
        const char *last = memchr(at, '\n', (size_t)(end - at)), *next = last ? last + 1 : end;

        put_line(&t, at, (size_t)(next - at));
        at = next;
    }
    LLVMDisposeMemoryBuffer(*ptx);
    *ptx = t.failed || !t.text ? NULL : LLVMCreateMemoryBufferWithMemoryRangeCopy(t.text, t.length, "ptx");
    uk_text_free(t.text);
    return *ptx ? UK_OK : uk_out_of_memory(c);
}
