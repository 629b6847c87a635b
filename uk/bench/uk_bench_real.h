/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that uk_bench.c times of operations that exist for f32 and f64: `real` is the type, RUN(op) the name and
 * FUNCTION(op) the type of a kernel of OP. uk_bench.c includes this for each. */

static void RUN(gemm)(void *user) {
    const struct operands *o = user;
    ((FUNCTION(gemm) *)o->function)(K, o->a, o->b, o->c, o->ldc, 1, o->mr, o->nr);
}

static void RUN(gemm_ra)(void *user) {
    const struct operands *o = user;
    ((FUNCTION(gemm_ra) *)o->function)(K, o->a, LD, o->b, o->c, o->ldc, 1, o->mr, o->nr);
}

static void RUN(gemm_rab)(void *user) {
    const struct operands *o = user;
    ((FUNCTION(gemm_rab) *)o->function)(K, o->a, LD, o->b, o->nr, o->c, o->ldc, 1, o->mr, o->nr);
}

static void RUN(gemm_rap)(void *user) {
    const struct operands *o = user;
    real *panel = (real *)o->b + (size_t)K * (size_t)o->nr; /* in the second half */

    ((FUNCTION(gemm_rap) *)o->function)(K, o->a, LD, o->b, o->nr, panel, o->c, o->ldc, 1, o->mr, o->nr);
}

static void RUN(gemm_sab)(void *user) {
    const struct operands *o = user;
    ((FUNCTION(gemm_sab) *)o->function)(K, o->a, 1, o->mr, o->b, o->nr, o->c, o->ldc, 1, o->mr, o->nr);
}

static void RUN(gemm_small)(void *user) {
    const struct operands *o = user;
    ((FUNCTION(gemm_small) *)o->function)(K, o->a, LD, o->b, o->nr, o->c, o->ldc, 1, o->mr, o->nr);
}

static void RUN(gemm_small_ta)(void *user) {
    const struct operands *o = user;
    ((FUNCTION(gemm_small_ta) *)o->function)(K, o->a, o->mr, o->b, o->nr, o->c, o->ldc, 1, o->mr, o->nr);
}

static void RUN(gemm_nt)(void *user) {
    const struct operands *o = user;
    ((FUNCTION(gemm_nt) *)o->function)(K, o->a, LD, o->b, K, o->c, o->ldc, 1, o->mr, o->nr);
}

static void RUN(pack_t)(void *user) {
    const struct operands *o = user;
    ((FUNCTION(pack_t) *)o->function)(K, o->a, LD, o->b, o->mr);
}

static void RUN(transpose)(void *user) {
    const struct operands *o = user;
    ((FUNCTION(transpose) *)o->function)(K, o->a, LD, o->b, o->mr, o->mr);
}

static void RUN(pack_n)(void *user) {
    const struct operands *o = user;
    ((FUNCTION(pack_n) *)o->function)(K, o->a, LD, o->b, o->nr);
}

static void RUN(dot)(void *user) {
    const struct operands *o = user;
    ((FUNCTION(dot) *)o->function)(VECTOR / sizeof(real), o->a, (const real *)o->a + VECTOR / sizeof(real),
                                   o->c, 0);
}

static void RUN(axpy)(void *user) {
    const struct operands *o = user;
    ((FUNCTION(axpy) *)o->function)(VECTOR / sizeof(real), (real)0.5, o->a,
                                    (real *)o->a + VECTOR / sizeof(real));
}

static void RUN(gemv_n)(void *user) {
    const struct operands *o = user;
    ((FUNCTION(gemv_n) *)o->function)(WIDTH, o->a, WIDTH, o->b, o->c, 0, 0, MATRIX / WIDTH / sizeof(real));
}

static void RUN(gemv_t)(void *user) {
    const struct operands *o = user;
    for (int j = 0; j < WIDTH; j += o->nr)
        ((FUNCTION(gemv_t) *)o->function)(MATRIX / WIDTH / sizeof(real), (const real *)o->a + j, WIDTH, o->b,
                                          (real *)o->c + j, 0, 0, o->nr < WIDTH - j ? o->nr : WIDTH - j);
}
