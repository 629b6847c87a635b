/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the .uk language for parse.c; together they use every production of the grammar. */
#ifndef TEXT_CASES_H
#define TEXT_CASES_H

/* Texts that are printed unchanged. */
static const char *const canonical[] = {
    "tensor E f32 [3, 4, 1, 2]\n"
    "tensor I i64 [2, 3]\n"
    "tensor D u8 []\n"
    "temp J i32 [2, 3]\n"
    "tensor Y f32 [2, 2]\n"
    "J[i, k] = i32(I[i, k]) + 1\n"
    "Y[i, w] = sum(k where k < 2) E[wrap(J[i, k]), D[], 0, w] where w < 2\n",
    "tensor I i64 [2, 3]\n"
    "tensor D u8 []\n"
    "tensor U f32 [2, 3, 4]\n"
    "tensor Y f32 [5, 6, 7]\n"
    "Y[wrap(I[i, 1]), w + 0, D[]] += U[i, 0, w]\n"
    "second: Y[I[i, k + 1], i + 0, wrap(I[i, k])] max= U[i, k, 0] where k < 2\n",
    /* calls of min and max, which are no reductions, before words that are no values */
    "tensor Y f32 [N]\n"
    "scalar a f32\n"
    "scalar b f32\n"
    "Y[i] = select(a <= min(a, b) and (b < max(a, b) or a < b), a, max(a, b)) where i < 3\n"
    "Y[i] = max(a, b) where i < 4\n",
    /* the three examples of the language */
    "size M = 1024, K = 1024, N = 1024\n"
    "tensor A f32 [M, K] stride [lda, 1]\n"
    "tensor B f32 [K, N] stride [ldb, 1]\n"
    "tensor C f32 [M, N] stride [ldc, 1]\n"
    "C[m, n] = sum(k) A[m, k] * B[k, n]\n"
    "\n"
    "schedule\n"
    "  split C.n 2048 -> nc n1\n"
    "  split C.k 512 -> kc ki\n"
    "  split C.m 280 -> mc m1\n"
    "  split n1 32 -> no ni\n"
    "  split m1 14 -> mo mi\n"
    "  reorder nc kc mc no mo mi ni ki\n"
    "  pack B at kc panel 32 -> BP\n"
    "  pack A at mc panel 14 -> AP\n"
    "  parallel mc\n"
    "  tensorize mi uk_sgemm_14x32_avx512_asm\n",
    "tensor X f32 [N, H, W, C]\n"
    "tensor F f32 [3, 3, C, O]\n"
    "tensor bias f32 [O]\n"
    "temp T f32 [N, P, Q, O]\n"
    "tensor Y f32 [N, P, Q, O]\n"
    "assume P == (H + 1) / 2\n"
    "assume Q == (W + 1) / 2\n"
    "T[n, p, q, o] = sum(r, s, c) pad(X[n, 2 * p + r - 1, 2 * q + s - 1, c], 0) * F[r, s, c, o]\n"
    "Y[n, p, q, o] = max(T[n, p, q, o] + bias[o], 0)\n"
    "\n"
    "schedule\n"
    "  split T.q 14 -> qo qi\n"
    "  split T.o 32 -> oo oi\n"
    "  reorder T.n oo p qo r s qi oi c\n"
    "  pack F at root panel 32 -> FP\n"
    "  reverse_compute_at Y T.qo\n"
    "  tensorize qi uk_sgemm_ra_14x32_avx512_intrin\n"
    "  parallel T.n oo\n",
    /* several schedules, one of them without steps; they may make the same names */
    "tensor X f32 [M, N] stride [ld, 1]\n"
    "tensor Y f32 [M, N]\n"
    "Y[m, n] = X[m, n]\n"
    "\n"
    "schedule where M <= 16 and N % 16 == 0\n"
    "  split n 16 -> no ni\n"
    "schedule where ld == N\n"
    "schedule where 2 * M + 1 < N and N < 3 * M\n"
    "  unroll m\n"
    "  unroll n\n"
    "schedule\n"
    "  split n 8 -> no ni\n",
    "pragma import \"vadd_16.c\"\n"
    "intrinsic vadd_16 requires avx2\n"
    "  tensor a f32 [16]\n"
    "  tensor b f32 [16]\n"
    "  tensor c f32 [16]\n"
    "  c[i] = a[i] + b[i]\n"
    "  compute void vadd_16(ptr a, ptr b, ptr c)\n"
    "end\n"
    "tensor X f32 [N]\n"
    "tensor Y f32 [N]\n"
    "tensor Z f32 [N]\n"
    "Z[i] = X[i] + Y[i]\n"
    "\n"
    "schedule\n"
    "  split Z.i 16 -> io ii\n"
    "  tensorize ii vadd_16\n",
    /* attributes, maps, integer expressions */
    "tensor A u8 [N, M] layout (i, j) -> [i / 4, j, i % 4] stride [4 * M * s, 4, 1] align 64 over [N + 3, "
    "M]\n"
    "tensor B f16 [8] layout (i) -> lane i % 4, [i / 4]\n"
    "temp T bf16 [N] in shared\n"
    "tensor D f64 []\n"
    "T[i] = 1\n",
    /* statements */
    "tensor A f32 [N, M]\n"
    "tensor B f32 [N]\n"
    "tensor I i64 [N]\n"
    "tensor S f32 [N]\n"
    "scalar alpha f32\n"
    "scalar beta f32\n"
    "assume N != 7\n"
    "init: B[i] = -alpha\n"
    "B[i] += sum(j where j <= i and 2 * j != 5) A[i, j]\n"
    "B[i] *= prod(j) A[i, j]\n"
    "B[i] max= max(j) A[i, j]\n"
    "B[i] min= min(j) A[i, j]\n"
    "S[i] = scan sum(i) B[i]\n"
    "I[i] = index(i / 2 * 3 - -(i + 1)) << 2 + 1 >> 1\n"
    "I[i] = (I[i] | 3) & I[i] ^ 7 + I[i] << 1 | (I[i] ^ 1 ^ 2) & (I[i] & 8)\n"
    "S[i] = select(I[i] & 1 == 1 | I[i], 1, 2)\n"
    "S[i] = max(alpha, beta) - (alpha - beta) - alpha * (beta / 2.5) / -B[i]\n"
    "S[i] = exp(tanh(sqrt(abs(round(min(B[i], inf))))))\n"
    "S[i] = pow(log(erf(floor(ceil(B[i])))), -pow(alpha, 2))\n"
    "S[i] = f32(i8(I[i])) + select(B[i] < 1e-07 and (I[i] == 3 or not I[i] > 4), 1, 2.0)\n"
    "S[i] = select(not (B[i] < 1 or B[i] >= 2) and (alpha + 1) * 2 > 1, pad(B[i + 1], -inf), 0)\n",
    /* intrinsics */
    "pragma import ll \"\"\"define void @k() {\n  ret void\n}\n\"\"\"\n"
    "intrinsic k requires avx512f, avx512vnni scope wave\n"
    "  tensor a u8 [I, P] layout (i, p) -> [p / 4, i, p % 4] stride [24, 4, 1] over [6, P]\n"
    "  tensor b i8 [P, J] layout (p, j) -> [p / 4, j, p % 4] stride [64, 4, 1] over [P, 16]\n"
    "  tensor c i32 [I, J] stride [ldc, 1]\n"
    "  scalar f f32\n"
    "  assume 1 <= I\n"
    "  assume I <= 6\n"
    "  assume P % 4 == 0\n"
    "  c[i, j] = sum(p) i32(a[i, p]) * i32(b[p, j])\n"
    "  compute void k(i64 P, ptr a, ptr b, ptr c, i32 ldc, i64 0, f32 f, f64 2.5)\n"
    "  reset i32 k0()\n"
    "  update void k1(i64 P, ptr a, ptr b, ptr c, i64 ldc, i64 1, i64 I, i64 J)\n"
    "end\n",
    /* steps */
    "pragma import \"first.bc\"\n"
    "tensor A f32 [N, M]\n"
    "A[i, j] = 1\n"
    "\n"
    "schedule\n"
    "  tile A.i A.j 4 8 -> io jo ii ji\n"
    "  split i parts 4 -> a b\n"
    "  fuse a b -> f\n"
    "  unroll f\n"
    "  vectorize f\n"
    "  bind f block.x\n"
    "  bind f thread.z\n"
    "  pack A at f panel 4 along 1\n"
    "  pack A at root layout (x, y) -> [y / 4, x, y % 4] -> P\n"
    "  cache_read A at f in register layout (x, y) -> [x, y] -> R\n"
    "  cache_write A at A.f -> W\n"
    "  compute_at P A.f\n"
    "  compute_inline P\n"
    "  rfactor f -> g\n"
    "  pragma import \"k.ll\"\n"
    "  pragma import c \"\"\"void f(void);\"\"\"\n"
    "  tensorize g auto\n",
};

/* Other spellings, and how they are printed. */
static const struct {
    const char *text, *printed;
} spelled[] = {
    {"tensor A f32 [N]\nA[i] = 1\nschedule", "tensor A f32 [N]\nA[i] = 1\n\nschedule\n"},
    {"tensor A f32[N,\r\n  M]\r\nA[i,j] =\r\n  (1 +\r\n 2) # end\r\n",
     "tensor A f32 [N, M]\nA[i, j] = 1 + 2\n"},
    {"tensor A f32 [2*3*4/4, N*1 + 0]\nassume 1 <= N <= 6 and N*4/4 > 0\nA[i, j] = ((1))",
     "tensor A f32 [6, N]\nassume 1 <= N\nassume N <= 6\nassume N > 0\nA[i, j] = 1\n"},
    {"tensor A f32 [N]\ntensor B f32 [M]\nsize L = 5, K\nA[i] = B[2*i + 3 - 4]",
     "size N, M, L = 5, K\ntensor A f32 [N]\ntensor B f32 [M]\nA[i] = B[2 * i - 1]\n"},
    {"assume M > 1\ntensor A f32 [N, M]\nA[i, j] = max(1, 2, 3)",
     "tensor A f32 [N, M]\nassume M > 1\nA[i, j] = max(max(1, 2), 3)\n"},
    {"tensor c f32 [x]\nll: c[y] = 1\n", "tensor c f32 [x]\nll: c[y] = 1\n"},
    {"tensor A f32 [N, M]\ntensor B f32 [N]\nB[i] = max(j) A[i, j]\nB[i] = sum(j) A[i, j] * (1 + 2) * 3\n",
     "tensor A f32 [N, M]\ntensor B f32 [N]\nB[i] = max(j) A[i, j]\nB[i] = sum(j) A[i, j] * (1 + 2) * 3\n"},
    {"intrinsic k\ntensor a f32 [4]\na[i] = 1\nreset void r(ptr a)\nupdate void u(ptr a)\nend",
     "intrinsic k\n  tensor a f32 [4]\n  a[i] = 1\n  reset void r(ptr a)\n  update void u(ptr a)\nend\n"},
};

/* Texts that are refused, with the exact messages. */
static const struct {
    const char *text, *message;
} refused[] = {
#include "refused_texts.def"
};

#endif
