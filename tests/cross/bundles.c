/* SPDX-License-Identifier: Apache-2.0 */
/* Calls what the two bundles of tests/link/bundle.c export. Both have a program, a constant and a function of
 * the same names. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40 };

int bundle_run(const float *x, float *y, float *total, void *work);
int64_t bundle_memory(void);
const void *bundle_bytes(void);
const void *bundle_far(void);
void bundle_weights(float *to);
int other_run(const float *x, float *y, void *work);

static void check(const char *what, int holds) {
    if (holds)
        return;
    fprintf(stderr, "%s does not hold\n", what);
    exit(1);
}

int main(void) {
    static _Alignas(64) unsigned char work[4096];
    const unsigned char *far = bundle_far();
    float x[N], y[N], z[N], total;

    for (int i = 0; i < N; i++)
        x[i] = 1;
    check("the workspace's size", bundle_memory() >= 0 && bundle_memory() <= (int64_t)sizeof work);
    check("bundle_run", !bundle_run(x, y, &total, work));
    check("other_run", !other_run(x, z, work));
    for (int i = 0; i < N; i++)
        check("the result", y[i] == N + 1 && z[i] == y[i]);
    check("the sum", total == N * (N + 1));
    check("a constant of 5 bytes", !memcmp(bundle_bytes(), "\1\2\3\4\5", 5));
    check("the alignment", (uintptr_t)far % 4096 == 0);
    for (int i = 0; i < 3000; i++)
        check("a constant of 3000 bytes", far[i] == i % 251);
    bundle_weights(y);
    for (int i = 0; i < N; i++)
        check("a copy of a constant", y[i] == i + 1);
    return 0;
}
