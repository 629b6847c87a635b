/* SPDX-License-Identifier: Apache-2.0 */
/* The programs and schedules of regions.c. Sizes are by first appearance in the program. */

#define MATMUL_SIZES                                                     \
    {{0, 5, 4},    {5, 0, 4},   {5, 4, 0},    {1, 1, 1},   {14, 16, 32}, \
     {15, 17, 33}, {13, 3, 31}, {29, 40, 65}, {30, 33, 7}, {-1}}

static const struct example examples[] = {
    {"epilogue",
     "tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor bias f32 [N]\ntensor R f32 [M, N]\n"
     "temp T f32 [M, N]\ntemp S f32 [M, N]\ntemp U f32 [M, N]\ntensor Y f32 [M, N]\n"
     "T[m, n] = sum(k) A[m, k] * B[k, n]\nS[m, n] = T[m, n] + bias[n]\nU[m, n] = max(S[m, n], 0)\n"
     "Y[m, n] = U[m, n] + R[m, n]\n",
     {
         "reverse_compute_at S T.m\n",
         "reverse_compute_at S T.n\n",
         "split T.m 14 -> mo mi\nsplit T.n 32 -> no ni\nreorder mo no mi ni T.k\n"
         "reverse_compute_at S no\nreverse_compute_at U no\nreverse_compute_at Y no\n",
         "split T.m 14 -> mo mi\nsplit T.n 32 -> no ni\nsplit T.k 16 -> ko ki\nreorder mo no ko mi ni ki\n"
         "reverse_compute_at S ko\nreverse_compute_at U ko\nreverse_compute_at Y ko\n",
         "split T.m 14 -> mo mi\nsplit T.n 32 -> no ni\nsplit T.k 16 -> ko ki\nreorder no ko mo mi ni ki\n"
         "reverse_compute_at S mo\nreverse_compute_at U mo\nreverse_compute_at Y mo\nparallel no mo\n",
         "split T.m 14 -> mo mi\nreorder mo T.n mi T.k\nparallel mo\n"
         "reverse_compute_at S mo\nreverse_compute_at U S.n\nreverse_compute_at Y U.n\n",
         "reorder T.k T.m T.n\nreverse_compute_at S T.n\nreverse_compute_at U T.m\n",
         "compute_at U Y.m\ncompute_at S U.n\n",
         "split Y.m 4 -> mo mi\ncompute_at U mo\ncompute_at S U.m\ncompute_at T S.n\nparallel mo\n",
         "compute_at U Y.m\ncompute_at S Y.m\ncompute_at T Y.m\n",
         "split S.n 5 -> so si\nsplit T.n 32 -> no ni\nreorder no T.m ni\nreverse_compute_at S no\n",
     },
     MATMUL_SIZES},
    {"stencils",
     "tensor X f32 [H]\ntemp A f32 [I]\ntemp B f32 [J]\ntensor Y f32 [P]\n"
     "assume H == I + 3 and I == J + 3 and J == P + 3\n"
     "A[i] = X[i + 1] - X[i + 3]\nB[j] = A[j + 1] + A[j + 2] + A[j + 3]\nY[p] = max(B[p + 1], B[p + 3])\n",
     {
         "compute_at B Y.p\n",
         "split Y.p 8 -> po pi\ncompute_at B po\ncompute_at A po\n",
         "split Y.p 8 -> po pi\ncompute_at B po\ncompute_at A B.j\nparallel po\n",
         "split Y.p 8 -> po pi\nsplit po 2 -> poo poi\ncompute_at B poi\ncompute_at A poo\n",
         "split Y.p 8 -> po pi\ncompute_at B po\ncompute_at A po\ncache_read X at A.i\n",
         "split Y.p 5 -> po pi\nsplit B.j 3 -> jo ji\ncompute_at B po\ncache_read A at B.jo\n",
     },
     {{9, 6, 3, 0},
      {10, 7, 4, 1},
      {16, 13, 10, 7},
      {17, 14, 11, 8},
      {26, 23, 20, 17},
      {49, 46, 43, 40},
      {-1}}},
    {"matmul_tile",
     "tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor bias f32 [N]\n"
     "temp T f32 [M, N]\ntemp S f32 [M, N]\ntensor Y f32 [M, N]\n"
     "T[m, n] = sum(k) A[m, k] * B[k, n]\nS[m, n] = T[m, n] + bias[n]\nY[m, n] = max(S[m, n], 0)\n",
     {
         "split T.m 6 -> mo mi\nsplit T.n 16 -> no ni\nreorder mo no mi ni k\npack B at root panel 16 -> BP\n"
         "pack A at mo panel 6 -> AP\nreverse_compute_at S no\nreverse_compute_at Y no\ntensorize mi auto\n",
         "split T.m 6 -> mo mi\nsplit T.n 16 -> no ni\nsplit T.k 8 -> ko ki\nreorder ko mo no mi ni ki\n"
         "pack B at ko panel 16 -> BP\npack A at mo panel 6 -> AP\nreverse_compute_at S no\n"
         "reverse_compute_at Y no\nparallel mo\ntensorize mi auto\n",
         "split T.m 6 -> mo mi\nsplit T.n 16 -> no ni\nsplit T.k 8 -> ko ki\nreorder mo no ko mi ni ki\n"
         "pack B at root panel 16 -> BP\ntensorize mi auto\nreverse_compute_at S ko\n"
         "reverse_compute_at Y S.n\nparallel mo no\n",
     },
     MATMUL_SIZES},
    {"conv",
     "tensor X f32 [N, H, W, C]\ntensor F f32 [3, 3, C, O]\ntensor bias f32 [O]\n"
     "temp T f32 [N, P, Q, O]\ntensor Y f32 [N, P, Q, O]\n"
     "assume P == (H + 1) / 2 and Q == (W + 1) / 2\n"
     "T[n, p, q, o] = sum(r, s, c) pad(X[n, 2*p + r - 1, 2*q + s - 1, c], 0) * F[r, s, c, o]\n"
     "Y[n, p, q, o] = max(T[n, p, q, o] + bias[o], 0)\n",
     {
         "reverse_compute_at Y T.p\n",
         "cache_read X at T.n -> XP\nreverse_compute_at Y T.q\n",
         "split T.q 14 -> qo qi\nsplit T.o 32 -> oo oi\nreorder T.n oo p qo r s qi oi c\n"
         "pack F at root panel 32 along 3 -> FP\nreverse_compute_at Y T.qo\n",
         "split T.q 14 -> qo qi\nsplit T.o 32 -> oo oi\nreorder T.n oo p qo r s qi oi c\n"
         "pack F at root panel 32 along 3 -> FP\nreverse_compute_at Y T.s\nparallel T.n oo\n",
         "split T.q 6 -> qo qi\nsplit T.o 16 -> oo oi\nreorder T.n oo p qo r s qi oi c\n"
         "pack F at root panel 16 along 3 -> FP\ncache_read X at p -> XP\nreverse_compute_at Y T.qo\n"
         "tensorize qi auto\n",
         "split T.q 6 -> qo qi\nsplit T.o 16 -> oo oi\nreorder T.n oo p qo r s qi oi c\n"
         "reverse_compute_at Y T.qo\ntensorize qi auto\nparallel n\n",
         "split T.q 4 -> qo qi\nreorder T.n p qo r s qi T.o c\n"
         "pack X at qo layout (n, h, w, c) -> [c / 4, n, h, w % 2, w / 2, c % 4] -> XP\n",
     },
     {{0, 3, 3, 2, 2, 2, 2},
      {1, 1, 1, 1, 1, 1, 1},
      {2, 5, 4, 3, 5, 3, 2},
      {1, 12, 31, 4, 33, 6, 16},
      {2, 7, 30, 0, 17, 4, 15},
      {1, 4, 29, 5, 32, 2, 15},
      {-1}}},
    {"two_convs",
     "tensor X f32 [H, C]\ntensor F f32 [3, C, D]\ntensor G f32 [3, D, O]\n"
     "temp T f32 [H, D]\ntemp R f32 [H, D]\ntensor Y f32 [H, O]\n"
     "T[p, d] = sum(r, c) pad(X[p + r - 1, c], 0) * F[r, c, d]\nR[p, d] = max(T[p, d], 0)\n"
     "Y[p, o] = sum(r, d) pad(R[p + r - 1, d], 0) * G[r, d, o]\n",
     {
         "reverse_compute_at R T.d\n",
         "split Y.p 4 -> po pi\ncompute_at R po\ncompute_at T po\n",
         "split Y.p 4 -> po pi\ncompute_at R po\ncompute_at T R.p\nparallel po\n",
         "split Y.p 4 -> po pi\ncompute_at R po\ncompute_at T po\ncache_read R at po -> RP\n",
         "split Y.p 4 -> po pi\nreorder po Y.r pi\ncompute_at R Y.r\n",
         "reverse_compute_at R T.p\ncache_read R at root\n",
     },
     {{0, 2, 2, 2},
      {1, 1, 1, 1},
      {3, 2, 4, 1},
      {4, 3, 2, 5},
      {9, 5, 3, 4},
      {14, 0, 4, 3},
      {14, 3, 0, 3},
      {-1}}},
    {"softmax",
     "tensor X f32 [M, N]\ntemp T f32 [M, N]\ntemp W f32 [M]\ntensor Y f32 [M, N]\n"
     "T[m, n] = max(X[m, n], 0)\nW[m] = sum(n) T[m, n]\nY[m, n] = T[m, n] - W[m]\n",
     {
         "reverse_compute_at W T.m\nreverse_compute_at Y T.m\n",
         "split T.m 4 -> mo mi\nreverse_compute_at W mo\nreverse_compute_at Y mo\nparallel mo\n",
         "split Y.m 4 -> mo mi\ncompute_at W mo\ncompute_at T mo\n",
     },
     {{0, 3}, {3, 0}, {1, 1}, {5, 7}, {9, 4}, {-1}}},
    {"labels",
     "tensor A f32 [M, N]\ntensor B f32 [M, N]\ntensor Y f32 [M, N]\n"
     "first: Y[m, n] = A[m, n] + 1\nsecond: Y[m, n] += B[m, n]\nthird: Y[m, n] = max(Y[m, n], 0)\n",
     {
         "reverse_compute_at second first.m\nreverse_compute_at third second.n\n",
         "split first.m 3 -> mo mi\nreverse_compute_at second mo\nreverse_compute_at third second.m\n",
     },
     {{0, 3}, {3, 0}, {1, 1}, {5, 7}, {9, 4}, {-1}}},
    {"narrow",
     "tensor A u8 [M, K]\ntensor B i8 [K, N]\ntemp T i32 [M, N]\ntensor Y i8 [M, N]\n"
     "T[m, n] = sum(k) i32(A[m, k]) * i32(B[k, n])\nY[m, n] = i8(max(min(T[m, n], 7), -8))\n",
     {
         "split T.k 4 -> ko ki\nreorder ko T.m T.n ki\nreverse_compute_at Y T.m\n",
         "split T.k 4 -> ko ki\nsplit T.n 16 -> no ni\nreorder no T.m ni ko ki\nreverse_compute_at Y ni\n"
         "pack B at no layout (k, n) -> [k / 4, n, k % 4] -> BP\n",
         "split T.n 16 -> no ni\nreorder no T.k T.m ni\nreverse_compute_at Y T.k\nparallel no\n",
     },
     MATMUL_SIZES},
    {"cache_write",
     "tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor C f32 [M, N]\nC[m, n] += sum(k) A[m, k] * B[k, n]\n",
     {
         "cache_write C at root\n",
         "cache_write C at C.m\ncache_read A at C.m\n",
         "split C.m 14 -> mo mi\nsplit C.n 32 -> no ni\nreorder mo no k mi ni\ncache_write C at no -> CT\n"
         "parallel mo no\n",
         "split C.m 4 -> mo mi\nsplit C.k 16 -> ko ki\nreorder n ko mo mi ki\nparallel n\n"
         "cache_write C at mo layout (m, n) -> [m / 4, n, m % 4] -> CT\n",
         "split C.k 16 -> ko ki\nreorder ko m n ki\ncache_write C at ko layout (m, n) -> [n / 8, m, n % 8]\n",
         "split C.m 6 -> mo mi\nsplit C.n 16 -> no ni\nreorder mo no mi ni k\npack B at root panel 16 -> BP\n"
         "pack A at mo panel 6 -> AP\ncache_write C at no -> CT\ntensorize mi auto\n",
     },
     MATMUL_SIZES},
    {"cache_write_chain",
     "tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor bias f32 [N]\ntemp T f32 [M, N]\ntensor Y f32 [M, N]\n"
     "T[m, n] = max(k) A[m, k] * B[k, n]\nY[m, n] = T[m, n] + bias[n]\n",
     {
         "split T.m 4 -> mo mi\ncache_write T at mo -> TC\nreverse_compute_at Y mo\n",
         "split T.k 4 -> ko ki\nreorder ko T.m n ki\ncache_write T at T.m -> TC\nreverse_compute_at Y T.m\n",
     },
     {{1, 1, 1}, {14, 16, 32}, {15, 17, 33}, {13, 3, 31}, {-1}}},
    {"scan",
     "tensor X f32 [M, N]\ntemp T f32 [M, N]\ntensor Y f32 [M, N]\n"
     "T[m, n] = scan max(n) X[m, n]\nY[m, n] = T[m, n] + X[m, n]\n",
     {
         "reverse_compute_at Y T.n\n",
         "reverse_compute_at Y T.m\nparallel T.m\n",
         "split T.n 4 -> no ni\nreverse_compute_at Y ni\n",
         "split Y.n 7 -> x y\nreorder T.n T.m\nreorder x y Y.m\nreverse_compute_at Y T.n\n",
     },
     {{0, 3}, {3, 0}, {1, 1}, {5, 9}, {4, 17}, {-1}}},
};
