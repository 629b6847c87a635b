/* SPDX-License-Identifier: Apache-2.0 */
/* Small products of both element types, as small.c plans them. */
#include "path.h"

#define ELEMENT float
#define BITS uint32_t
#define TYPE uk_gemm_f32
#define DIRECT(name) sdirect_##name
#define SMALL uk_gemm_small_f32
#include "direct_element.h"
#include "small_element.h"
#undef ELEMENT
#undef BITS
#undef TYPE
#undef DIRECT
#undef SMALL
#define ELEMENT double
#define BITS uint64_t
#define TYPE uk_gemm_f64
#define DIRECT(name) ddirect_##name
#define SMALL uk_gemm_small_f64
#include "direct_element.h"
#include "small_element.h"
