/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops for AArch64 with NEON. Registers:
 *
 * - 0-4, 10-14: accumulators
 * - 8, 9: operands
 * - 20-24: destinations of partial loads, used in turn because a load that keeps the other half waits for the
 *   old value
 * - 25: destination that is never read
 *
 * All are 0, because subnormal numbers would take extra time.
 */
#include "measure.h"

#define REPEAT(n, body) ".rept " #n "\n\t" body ".endr\n\t"
/* No .rept: it would join a number and the dot after it. */
#define FOUR(body) body body body body
#define FIVE(body) ".irp i,0,1,2,3,4\n\t" body ".endr\n\t"
#define EIGHT(body) ".irp i,0,1,2,3,4,5,6,7\n\t" body ".endr\n\t"
#define ZERO ".irp i,0,1,2,3,4,8,9,10,11,12,13,14,20,21,22,23,24,25\n\tmovi v\\i\\().16b, #0\n\t.endr\n\t"

#define LOOP(name, body)                                                                                     \
    static void name(long iterations, char *memory) {                                                        \
        __asm__ volatile(ZERO "1:\n\t" body "subs %0, %0, #1\n\t"                                            \
                              "b.ne 1b"                                                                      \
                         : "+r"(iterations), "+r"(memory)                                                    \
                         :                                                                                   \
                         : "cc", "memory", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "v0", "v1", "v2", \
                           "v3", "v4", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v20", "v21", "v22",   \
                           "v23", "v24", "v25");                                                             \
    }

#define FMA_A "fmla v\\i\\().4s, v8.4s, v9.4s\n\t"
#define FMA_B "fmla v1\\i\\().4s, v8.4s, v9.4s\n\t"
#define SHUFFLE "zip1 v25.4s, v8.4s, v9.4s\n\t"
#define MERGE "ld1 {v2\\i\\().d}[1], [%1]\n\t"

LOOP(fma, FOUR(FIVE(FMA_A FMA_B)))
LOOP(fma_chain, REPEAT(20, "fmla v0.4s, v8.4s, v9.4s\n\t"))
LOOP(shuffle, REPEAT(40, SHUFFLE))
LOOP(fma_shuffle, FOUR(FIVE(FMA_A SHUFFLE FMA_B SHUFFLE)))
LOOP(fma2_shuffle, FOUR(FIVE(FMA_A FMA_B SHUFFLE)))
LOOP(load, REPEAT(5, EIGHT("ldr q25, [%1, 16*\\i]\n\t")))
LOOP(store, REPEAT(5, EIGHT("str q8, [%1, 16*\\i]\n\t")))
LOOP(merge, FOUR(FIVE(MERGE) FIVE(MERGE)))
LOOP(fma2_merge, FOUR(FIVE(FMA_A FMA_B MERGE)))
LOOP(read, EIGHT("ldr q25, [%1, 16*\\i]\n\t") "add %1, %1, 8*16\n\t")
LOOP(lines, REPEAT(5, EIGHT("ldr q25, [%1, 64*\\i]\n\t")))
LOOP(fma5_line, FOUR(FIVE(FMA_A) "ldr q25, [%1]\n\t" FIVE(FMA_B) "ldr q25, [%1, 64]\n\t"))
/* Of 8 instructions, 4 are additions, 2 vector operations and 2 loads, as on x86-64. */
LOOP(issue, REPEAT(10, "add x9, x9, x10\n\tand v0.16b, v0.16b, v8.16b\n\tldr x14, [%1]\n\t"
                       "add x11, x11, x10\n\tadd x12, x12, x10\n\tand v1.16b, v1.16b, v8.16b\n\t"
                       "ldr x15, [%1, 8]\n\tadd x13, x13, x10\n\t"))

const struct uk_micro uk_micros[] = {
    {UK_MICRO_ISSUE, 0, "", UK_STATE_NONE, 80, issue},
    {UK_MICRO_FMA, 16, "", UK_STATE_NONE, 40, fma},
    {UK_MICRO_FMA_CHAIN, 16, "", UK_STATE_NONE, 20, fma_chain},
    {UK_MICRO_SHUFFLE, 16, "", UK_STATE_NONE, 40, shuffle},
    {UK_MICRO_FMA_SHUFFLE, 16, "", UK_STATE_NONE, 40, fma_shuffle},
    {UK_MICRO_FMA2_SHUFFLE, 16, "", UK_STATE_NONE, 20, fma2_shuffle},
    {UK_MICRO_LOAD, 16, "", UK_STATE_NONE, 40, load},
    {UK_MICRO_STORE, 16, "", UK_STATE_NONE, 40, store},
    {UK_MICRO_LINES, 16, "", UK_STATE_NONE, 40, lines},
    {UK_MICRO_FMA5_LINE, 16, "", UK_STATE_NONE, 8, fma5_line},
    {UK_MICRO_MERGE, 16, "", UK_STATE_NONE, 40, merge},
    {UK_MICRO_FMA2_MERGE, 16, "", UK_STATE_NONE, 20, fma2_merge},
    {UK_MICRO_READ, 16, "", UK_STATE_NONE, 8, read},
    {0},
};
