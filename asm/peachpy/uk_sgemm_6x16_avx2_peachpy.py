# SPDX-License-Identifier: Apache-2.0
"""sgemm, a 6x16 tile of C on AVX2 and FMA, written with PeachPy.

    a panel [k][6], b panel [k][16]           one k iteration
                                                           b[0..7]       b[8..15]
    c[i][0..7]   += a[i] * b[0..7]               a[0]   c[0][0] ymm    c[0][1] ymm
    c[i][8..15]  += a[i] * b[8..15]              ...        ...            ...
                                                 a[5]   c[5][0] ymm    c[5][1] ymm

12 accumulators, 2 vectors of b and 1 or 2 broadcast elements of a fill the 16 ymm registers. The bound: 12 FMAs
on two ports take 6 cycles, the 8 loads of a k iteration 4 or fewer, so 192 flop in 6 cycles = 32 flop per cycle. The loop
is not unrolled: its 4 scalar instructions fit beside the 20 vector instructions of those 6 cycles.

Edges: every row of a is multiplied, the first mr are stored. Columns from nr on are masked out of the loads and
stores of C; the masks are compared from an index vector that is built from an immediate, because the wrapper
carries no constant pool. A full tile takes the stores without masks.
"""
from peachpy import Argument, const_float_, float_, int64_t, ptr
from peachpy.x86_64 import *

MR = 6
NR = 16
LANES = 8
FLOAT = 4
VECTOR = LANES * FLOAT

k_argument = Argument(int64_t, name="k")
a_argument = Argument(ptr(const_float_), name="a")
b_argument = Argument(ptr(const_float_), name="b")
c_argument = Argument(ptr(float_), name="c")
ldc_argument = Argument(int64_t, name="ldc")
acc_argument = Argument(int64_t, name="acc")
mr_argument = Argument(int64_t, name="mr")
nr_argument = Argument(int64_t, name="nr")


def multiply_k_iteration(accumulators, a, b):
    """accumulators += a[0..5] * b[0..15]"""
    b_low = YMMRegister()
    b_high = YMMRegister()
    VMOVUPS(b_low, [b])
    VMOVUPS(b_high, [b + VECTOR])
    for i in range(MR):
        a_element = YMMRegister()
        VBROADCASTSS(a_element, [a + i * FLOAT])
        VFMADD231PS(accumulators[i][0], a_element, b_low)
        VFMADD231PS(accumulators[i][1], a_element, b_high)


def column_masks(nr):
    """Two masks, lane j of mask h set where 8 h + j < nr; changes nr."""
    lane = YMMRegister()
    bytes_0_to_7 = GeneralPurposeRegister64()
    MOV(bytes_0_to_7, 0x0706050403020100)
    VMOVQ(lane.as_xmm, bytes_0_to_7)
    VPMOVZXBD(lane, lane.as_xmm)
    masks = []
    for half in range(NR // LANES):
        if half > 0:
            SUB(nr, LANES)
        mask = YMMRegister()
        VMOVD(mask.as_xmm, nr.as_dword)
        VPBROADCASTD(mask, mask.as_xmm)
        VPCMPGTD(mask, mask, lane)
        masks.append(mask)
    return masks


def store_rows(accumulators, c, ldc_bytes, mr, accumulate, masks, done):
    """Writes the first mr rows; changes c. The last row falls through."""
    for i in range(MR):
        for half, sum_ in enumerate(accumulators[i]):
            address = [c + half * VECTOR]
            if masks is None:
                if accumulate:
                    VADDPS(sum_, sum_, address)
                VMOVUPS(address, sum_)
            else:
                if accumulate:
                    old = YMMRegister()
                    VMASKMOVPS(old, masks[half], address)
                    VADDPS(sum_, sum_, old)
                VMASKMOVPS(address, masks[half], sum_)
        if i + 1 < MR:
            CMP(mr, i + 1)
            JE(done)
            ADD(c, ldc_bytes)


with Function("uk_sgemm_6x16_avx2_peachpy",
              (k_argument,
               a_argument,
               b_argument,
               c_argument,
               ldc_argument,
               acc_argument,
               mr_argument,
               nr_argument),
              target=uarch.haswell) as function:
    k, a, b, c, ldc, acc, mr, nr = [GeneralPurposeRegister64() for _ in range(8)]
    for register, argument in zip((k, a, b, c, ldc, acc, mr, nr), function.arguments):
        LOAD.ARGUMENT(register, argument)

    accumulators = [[YMMRegister() for _ in range(NR // LANES)] for _ in range(MR)]
    for row in accumulators:
        for sum_ in row:
            VXORPS(sum_.as_xmm, sum_.as_xmm, sum_.as_xmm)
    SHL(ldc, 2)

    summed = Label("summed")
    TEST(k, k)
    JZ(summed)
    k_iteration = Label("k_iteration")
    LABEL(k_iteration)
    multiply_k_iteration(accumulators, a, b)
    ADD(a, MR * FLOAT)
    ADD(b, NR * FLOAT)
    DEC(k)
    JNZ(k_iteration)
    LABEL(summed)

    edge = Label("edge")
    full_plain = Label("full_plain")
    edge_plain = Label("edge_plain")
    done = Label("done")

    CMP(nr, NR)
    JNE(edge)
    TEST(acc, acc)
    JZ(full_plain)
    store_rows(accumulators, c, ldc, mr, True, None, done)
    JMP(done)
    LABEL(full_plain)
    store_rows(accumulators, c, ldc, mr, False, None, done)
    JMP(done)

    LABEL(edge)
    masks = column_masks(nr)
    TEST(acc, acc)
    JZ(edge_plain)
    store_rows(accumulators, c, ldc, mr, True, masks, done)
    JMP(done)
    LABEL(edge_plain)
    store_rows(accumulators, c, ldc, mr, False, masks, done)

    LABEL(done)
    RETURN()
