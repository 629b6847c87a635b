/* SPDX-License-Identifier: Apache-2.0 */
/* Products of groups with the rows of A in place: of one run of k terms (UK_OP_..._ra), or of several
 * (UK_OP_..._runs). Run t of row i is at a[i*lda + t*lds], its panel at b[t*ldb]. A file with a loop over
 * runs distinguishes elements by the names of _ra alone: this header defines them for _runs too. */
#include <stdint.h>

#if defined UK_OP_igemm_runs || defined UK_OP_i8gemm_runs || defined UK_OP_u8gemm_runs || \
    defined UK_OP_i8u8gemm_runs || defined UK_OP_bgemm_runs
#define OF_ROWS(left, right) \
    int64_t runs, int64_t k, const left *a, int64_t lda, int64_t lds, const right *b, int64_t ldb
#define ONE_RUN
#else
#define OF_ROWS(left, right) int64_t k, const left *a, int64_t lda, const right *b
#define ONE_RUN enum { runs = 1, lds = 0, ldb = 0 };
#endif
#if defined UK_OP_igemm_runs
#define UK_OP_igemm_ra
#elif defined UK_OP_i8gemm_runs
#define UK_OP_i8gemm_ra
#elif defined UK_OP_u8gemm_runs
#define UK_OP_u8gemm_ra
#elif defined UK_OP_i8u8gemm_runs
#define UK_OP_i8u8gemm_ra
#elif defined UK_OP_bgemm_runs
#define UK_OP_bgemm_ra
#endif
