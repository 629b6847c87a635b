/* SPDX-License-Identifier: Apache-2.0 */
/* The element of AVX2 kernels, float or double; a vector has V of them. MASK(n) selects the first n
 * elements. */
#include "store_first_avx2.h"

#ifdef UK_DOUBLE
typedef double element;
typedef __m256d vector;
#define V 4
#define BYTES "8"
#define P "pd"
#define S "sd"
#define MASK(n) _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_set_epi64x(3, 2, 1, 0))
#define load(p) _mm256_loadu_pd(p)
#define load_part(p, mask) _mm256_maskload_pd(p, mask)
#define store(p, v) _mm256_storeu_pd(p, v)
#define store_first(p, n, v) store_first_pd(p, n, v)
#else
typedef float element;
typedef __m256 vector;
#define V 8
#define BYTES "4"
#define P "ps"
#define S "ss"
#define MASK(n) _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0))
#define load(p) _mm256_loadu_ps(p)
#define load_part(p, mask) _mm256_maskload_ps(p, mask)
#define store(p, v) _mm256_storeu_ps(p, v)
#define store_first(p, n, v) store_first_ps(p, n, v)
#endif
