/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own kernel, for any machine: c[0..15] = a[0..15] + b[0..15]. vadd.uk declares what it
 * computes. */

/* 8 floats at any address; compilers use the target's vector instructions. */
typedef float vector __attribute__((vector_size(32), aligned(4), may_alias));

void vadd_16(const float *a, const float *b, float *c) {
    *(vector *)c = *(const vector *)a + *(const vector *)b;
    *(vector *)(c + 8) = *(const vector *)(a + 8) + *(const vector *)(b + 8);
}
