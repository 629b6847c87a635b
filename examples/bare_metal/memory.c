/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that compilers call in place of loops, for use without a C library. Compile with -fno-builtin,
 * else they would call themselves. */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    return memmove(to, from, n);
}

void *memmove(void *to, const void *from, size_t n) {
    unsigned char *t = to;
    const unsigned char *f = from;

    if (t <= f)
        for (size_t i = 0; i < n; i++)
            t[i] = f[i];
    else
        while (n-- > 0)
            t[n] = f[n];
    return to;
}

void *memset(void *to, int byte, size_t n) {
    unsigned char *t = to;

    for (size_t i = 0; i < n; i++)
        t[i] = (unsigned char)byte;
    return to;
}

int memcmp(const void *a, const void *b, size_t n) {
    const unsigned char *x = a, *y = b;

    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}
