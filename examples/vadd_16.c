/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel of the user's own, for any machine: c[0..15] = a[0..15] + b[0..15]. vadd.uk says what it computes.
 * */

/* 8 floats wherever they lie; compilers make of it what the target has. */
typedef float vector __attribute__((vector_size(32), aligned(4), may_alias));

void vadd_16(const float *a, const float *b, float *c) {
    *(vector *)c = *(const vector *)a + *(const vector *)b;
    *(vector *)(c + 8) = *(const vector *)(a + 8) + *(const vector *)(b + 8);
}
