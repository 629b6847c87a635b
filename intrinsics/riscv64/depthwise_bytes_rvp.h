/* SPDX-License-Identifier: Apache-2.0 */
/* Eight bytes of x times eight weights, added to two sums. */
#include "../any/depthwise_bytes.h"
#include "registry/rvp.h"

/* MAQA(sum, weights, bytes): the signed operand of smaqa.su comes first. */
#if UK_X_IS_SIGNED && UK_WEIGHT_IS_SIGNED
#define MAQA(s, w, x) uk_rvp_smaqa(s, w, x)
#elif UK_X_IS_SIGNED
#define MAQA(s, w, x) uk_rvp_smaqa_su(s, x, w)
#elif UK_WEIGHT_IS_SIGNED
#define MAQA(s, w, x) uk_rvp_smaqa_su(s, w, x)
#else
#define MAQA(s, w, x) uk_rvp_umaqa(s, w, x)
#endif
