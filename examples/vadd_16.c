/* A kernel of the user's own: c[0..15] = a[0..15] + b[0..15]. vadd.uk says what it computes. */
#include <immintrin.h>

void vadd_16(const float *a, const float *b, float *c) {
    _mm256_storeu_ps(c, _mm256_add_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(b)));
    _mm256_storeu_ps(c + 8, _mm256_add_ps(_mm256_loadu_ps(a + 8), _mm256_loadu_ps(b + 8)));
}
