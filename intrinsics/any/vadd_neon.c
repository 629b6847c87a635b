/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 8 floats at a time in two q registers; fewer as 4, 2 and 1, since NEON has no masks. For aarch64 and ARMv7.
 *
 * Bound: 4 loads, 2 adds, 2 stores. At two 128-bit loads and one store a cycle (Cortex-A76, Neoverse N1) 2
 * cycles for 8 flop; a Cortex-A53 loads 64 bits a cycle, and takes 8 for the loads alone.
 */
#include <arm_neon.h>
#include "registry/kernel_contract.h"

void UK_SYMBOL(const float *a, const float *b, float *c, int64_t n) {
    if (n == 8) {
        vst1q_f32(c, vaddq_f32(vld1q_f32(a), vld1q_f32(b)));
        vst1q_f32(c + 4, vaddq_f32(vld1q_f32(a + 4), vld1q_f32(b + 4)));
        return;
    }
    if (n & 4) {
        vst1q_f32(c, vaddq_f32(vld1q_f32(a), vld1q_f32(b)));
        a += 4, b += 4, c += 4;
    }
    if (n & 2) {
        vst1_f32(c, vadd_f32(vld1_f32(a), vld1_f32(b)));
        a += 2, b += 2, c += 2;
    }
    if (n & 1)
        *c = *a + *b;
}
