/* The programs and schedules of regions.c. Sizes are by first appearance in the program. */

#define MATMUL_SIZES                                                                                         \
    {                                                                                                        \
        {0, 5, 4}, {5, 0, 4}, {5, 4, 0}, {1, 1, 1}, {14, 16, 32}, {15, 17, 33}, {13, 3, 31}, {29, 40, 65},   \
            {30, 33, 7}, {-1}                                                                                \
    }

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
     {{9, 6, 3, 0}, {10, 7, 4, 1}, {16, 13, 10, 7}, {17, 14, 11, 8}, {26, 23, 20, 17}, {49, 46, 43, 40}, {-1}}},
};
