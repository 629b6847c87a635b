/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the readers of all architectures. */
#include <string.h>
#include "verify/verify.h"
#include "asm.h"

bool uk_asm_is_one(struct uk_asm_text text, const char *words) {
    for (const char *w = words; *w;) {
        size_t n = strcspn(w, " ");
        const bool prefix = w[n - 1] == '*';

        if (prefix ? text.length >= n - 1 && !memcmp(text.at, w, n - 1)
                   : text.length == n && !memcmp(text.at, w, n))
            return true;
        w += n + strspn(w + n, " ");
    }
    return false;
}

int uk_asm_number(const char *at, size_t length) {
    int n = 0;

    for (size_t i = 0; i < length; i++) {
        if (at[i] < '0' || at[i] > '9' || n > 999)
            return -1;
        n = 10 * n + (at[i] - '0');
    }
    return length ? n : -1;
}

size_t uk_asm_prefix(struct uk_asm_text name) {
    size_t n = 1;

    while (n < name.length && name.at[n] >= '0' && name.at[n] <= '9')
        n++;
    return n;
}

void uk_asm_write(struct uk_asm_writes *w, struct uk_asm_text name) {
    if (w->count < UK_ASM_WRITES)
        w->name[w->count++] = name;
}

void uk_asm_write_first(const struct uk_asm_instruction *i, int count, struct uk_asm_writes *w) {
    for (int k = 0; k < count && k < i->operands; k++)
        uk_asm_write(w, i->operand[k]);
}

void uk_asm_write_all(struct uk_asm_writes *w, const char *const *names) {
    for (; *names; names++)
        uk_asm_write(w, (struct uk_asm_text){*names, strlen(*names)});
}
