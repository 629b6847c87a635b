/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of A and B of AVX2's products of bytes, and 16 of them widened to 16 bits. */
#include <immintrin.h>
#include <stdint.h>

#if defined UK_OP_i8gemm || defined UK_OP_i8gemm_ra
typedef int8_t left, right;
#define WIDEN_A(x) _mm256_cvtepi8_epi16(x)
#define WIDEN_B(x) _mm256_cvtepi8_epi16(x)
#elif defined UK_OP_u8gemm || defined UK_OP_u8gemm_ra
typedef uint8_t left, right;
#define WIDEN_A(x) _mm256_cvtepu8_epi16(x)
#define WIDEN_B(x) _mm256_cvtepu8_epi16(x)
#elif defined UK_OP_i8u8gemm || defined UK_OP_i8u8gemm_ra
typedef int8_t left;
typedef uint8_t right;
#define WIDEN_A(x) _mm256_cvtepi8_epi16(x)
#define WIDEN_B(x) _mm256_cvtepu8_epi16(x)
#else
typedef uint8_t left;
typedef int8_t right;
#define WIDEN_A(x) _mm256_cvtepu8_epi16(x)
#define WIDEN_B(x) _mm256_cvtepi8_epi16(x)
#endif
