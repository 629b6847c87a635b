/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that compute products, each behind one pair of functions.
 *
 * `begin` does what a program does once per shape, `repeat` what it does per call. libxsmm, MKL's JIT and
 * oneDNN do most of their work in `begin`. oneDNN is compared with BLAS calls nevertheless, which favours it.
 */
#define _GNU_SOURCE
#include "bench.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { COLUMN_MAJOR = 102, ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 }; /* cblas.h */

static void mark_missing(struct bench_library *l, const char *why) {
    l->missing = true;
    snprintf(l->detail, sizeof l->detail, "%s", why);
}

/* Looks up the names, in order, into l->function. Returns the first missing one, or NULL. */
static const char *take(struct bench_library *l, void *library, const char *const *names, int count) {
    for (int i = 0; i < count; i++) {
        BENCH_FUNCTION(library, names[i], l->function[i]);
        if (!l->function[i])
            return names[i];
    }
    return NULL;
}

static void mark_missing_function(struct bench_library *l, const char *name) {
    char text[BENCH_PEER_TEXT];
    snprintf(text, sizeof text, "the library lacks %s; ./uk-setup peers installs one that has it", name);
    mark_missing(l, text);
}

/* ---- CBLAS ---- */

/* The functions of single and double precision, in this order. */
static bool begin_cblas(struct bench_call *call) {
    (void)call;
    return true;
}

/* A row-major product is the column-major product of the swapped operands. */
static void repeat_cblas(struct bench_call *call, long calls) {
    const struct bench_product *p = call->product;
    bench_cblas_sgemm *single = (bench_cblas_sgemm *)call->library->function[0];
    bench_cblas_dgemm *twice = (bench_cblas_dgemm *)call->library->function[1];
    int ta = p->a_transposed ? TRANSPOSE : NO_TRANSPOSE, tb = p->b_transposed ? TRANSPOSE : NO_TRANSPOSE;
    int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb, ldc = (int)p->ldc;
    if (p->type == BENCH_F64)
        for (long i = 0; i < calls; i++)
            twice(COLUMN_MAJOR, tb, ta, n, m, k, 1, p->b, ldb, p->a, lda, p->beta, p->c, ldc);
    else
        for (long i = 0; i < calls; i++)
            single(COLUMN_MAJOR, tb, ta, n, m, k, 1, p->b, ldb, p->a, lda, (float)p->beta, p->c, ldc);
}

static struct bench_library cblas_library(const struct bench_peer *peer) {
    struct bench_library l = {.name = peer->name,
                              .forms = {[BENCH_CALL] = true},
                              .missing = !peer->sgemm,
                              .begin = begin_cblas,
                              .repeat = repeat_cblas,
                              .function = {(bench_function *)peer->sgemm, (bench_function *)peer->dgemm}};
    memcpy(l.detail, peer->detail, sizeof l.detail);
    return l;
}

/* ---- Fortran's interface: MKL's direct call, libxsmm_sgemm ---- */

/* The last argument exists only in MKL: nonzero runs on one thread. Other libraries ignore it. */
typedef void fortran_sgemm(const char *ta, const char *tb, const int *m, const int *n, const int *k,
                           const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
                           const float *beta, float *c, const int *ldc, const int *sequential);
typedef void fortran_dgemm(const char *ta, const char *tb, const int *m, const int *n, const int *k,
                           const double *alpha, const double *a, const int *lda, const double *b,
                           const int *ldb, const double *beta, double *c, const int *ldc,
                           const int *sequential);

static void repeat_fortran(struct bench_call *call, long calls) {
    const struct bench_product *p = call->product;
    fortran_sgemm *single = (fortran_sgemm *)call->library->function[0];
    fortran_dgemm *twice = (fortran_dgemm *)call->library->function[1];
    const char *ta = p->a_transposed ? "T" : "N", *tb = p->b_transposed ? "T" : "N";
    const int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb,
              ldc = (int)p->ldc, sequential = 1;
    const float one_f = 1, beta_f = (float)p->beta;
    const double one = 1, beta = p->beta;
    if (p->type == BENCH_F64)
        for (long i = 0; i < calls; i++)
            twice(tb, ta, &n, &m, &k, &one, p->b, &ldb, p->a, &lda, &beta, p->c, &ldc, &sequential);
    else
        for (long i = 0; i < calls; i++)
            single(tb, ta, &n, &m, &k, &one_f, p->b, &ldb, p->a, &lda, &beta_f, p->c, &ldc, &sequential);
}

/* The function that a program compiled with MKL_DIRECT_CALL_SEQ calls for cblas_sgemm: fewer checks, no
 * threads. MKL's header also has loops in C for the smallest sizes, which the program's compiler inlines;
 * they are not measured. */
static struct bench_library mkl_direct(const struct bench_peer *mkl, int threads) {
    static const char *const names[] = {"sgemm_direct", "dgemm_direct"};
    struct bench_library l = {
        .name = "MKL direct", .forms = {[BENCH_CALL] = true}, .begin = begin_cblas, .repeat = repeat_fortran};
    memcpy(l.detail, mkl->detail, sizeof l.detail);
    if (!mkl->library)
        l.missing = true;
    else if (threads > 1)
        mark_missing(&l, "uses one thread");
    else if (take(&l, mkl->library, names, 2))
        mark_missing_function(&l, names[0]);
    return l;
}

/* ---- MKL's JIT ---- */

enum { JIT_CREATE_F32, JIT_CREATE_F64, JIT_GET_F32, JIT_GET_F64, JIT_DESTROY };

typedef int jit_create_f32(void **, int layout, int ta, int tb, int m, int n, int k, float alpha, int lda,
                           int ldb, float beta, int ldc);
typedef int jit_create_f64(void **, int layout, int ta, int tb, int m, int n, int k, double alpha, int lda,
                           int ldb, double beta, int ldc);
typedef void jit_kernel(void *jitter, const void *a, const void *b, void *c);
typedef jit_kernel *jit_get(const void *jitter);
typedef int jit_destroy(void *jitter);

static void end_jit(struct bench_call *call) {
    ((jit_destroy *)call->library->function[JIT_DESTROY])(call->state[0]);
}

static bool begin_jit(struct bench_call *call) {
    const struct bench_product *p = call->product;
    bench_function *const *f = call->library->function;
    int ta = p->a_transposed ? TRANSPOSE : NO_TRANSPOSE, tb = p->b_transposed ? TRANSPOSE : NO_TRANSPOSE;
    int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb, ldc = (int)p->ldc;
    bool twice = p->type == BENCH_F64;
    int status = twice ? ((jit_create_f64 *)f[JIT_CREATE_F64])(&call->state[0], ROW_MAJOR, ta, tb, m, n, k, 1,
                                                               lda, ldb, p->beta, ldc)
                       : ((jit_create_f32 *)f[JIT_CREATE_F32])(&call->state[0], ROW_MAJOR, ta, tb, m, n, k, 1,
                                                               lda, ldb, (float)p->beta, ldc);
    /* 0: code was generated; 1: none, the usual gemm is called; 2: an error. */
    if (status == 1)
        end_jit(call);
    if (status)
        return false;
    jit_kernel *kernel = ((jit_get *)f[twice ? JIT_GET_F64 : JIT_GET_F32])(call->state[0]);
    memcpy(&call->state[1], &kernel, sizeof kernel);
    return true;
}

static void repeat_jit(struct bench_call *call, long calls) {
    const struct bench_product *p = call->product;
    jit_kernel *kernel;
    memcpy(&kernel, &call->state[1], sizeof kernel);
    for (long i = 0; i < calls; i++)
        kernel(call->state[0], p->a, p->b, p->c);
}

static struct bench_library mkl_jit(const struct bench_peer *mkl) {
    static const char *const names[] = {"mkl_cblas_jit_create_sgemm", "mkl_cblas_jit_create_dgemm",
                                        "mkl_jit_get_sgemm_ptr", "mkl_jit_get_dgemm_ptr", "mkl_jit_destroy"};
    struct bench_library l = {.name = "MKL JIT",
                              .forms = {[BENCH_RESOLVED] = true},
                              .begin = begin_jit,
                              .repeat = repeat_jit,
                              .end = end_jit};
    memcpy(l.detail, mkl->detail, sizeof l.detail);
    const char *lacking;
    if (!mkl->library)
        l.missing = true;
    else if ((lacking = take(&l, mkl->library, names, 5)))
        mark_missing_function(&l, lacking);
    return l;
}

/* ---- libxsmm ---- */

enum { XSMM_SGEMM, XSMM_DGEMM, XSMM_SDISPATCH, XSMM_DDISPATCH, XSMM_INIT, XSMM_TARGET };

typedef void xsmm_kernel(const void *a, const void *b, void *c, ...);
typedef xsmm_kernel *xsmm_dispatch_f32(int m, int n, int k, const int *lda, const int *ldb, const int *ldc,
                                       const float *alpha, const float *beta, const int *flags,
                                       const int *prefetch);
typedef xsmm_kernel *xsmm_dispatch_f64(int m, int n, int k, const int *lda, const int *ldb, const int *ldc,
                                       const double *alpha, const double *beta, const int *flags,
                                       const int *prefetch);

/* The documented scope: (M N K)^(1/3) <= 64, the first operand (our B) not transposed. */
static bool begin_xsmm(struct bench_call *call) {
    enum { TRANSPOSED_SECOND = 2, NO_PREFETCH = 0 };
    const struct bench_product *p = call->product;
    bench_function *const *f = call->library->function;
    int m = (int)p->m, n = (int)p->n, k = (int)p->k, lda = (int)p->lda, ldb = (int)p->ldb, ldc = (int)p->ldc;
    int flags = p->a_transposed ? TRANSPOSED_SECOND : 0, prefetch = NO_PREFETCH;
    float one_f = 1, beta_f = (float)p->beta;
    double one = 1, beta = p->beta;
    if (p->b_transposed || p->m * p->n * p->k > 64 * 64 * 64)
        return false;
    xsmm_kernel *kernel = p->type == BENCH_F64
                              ? ((xsmm_dispatch_f64 *)f[XSMM_DDISPATCH])(n, m, k, &ldb, &lda, &ldc, &one,
                                                                         &beta, &flags, &prefetch)
                              : ((xsmm_dispatch_f32 *)f[XSMM_SDISPATCH])(n, m, k, &ldb, &lda, &ldc, &one_f,
                                                                         &beta_f, &flags, &prefetch);
    memcpy(&call->state[0], &kernel, sizeof kernel);
    return kernel;
}

static void repeat_xsmm(struct bench_call *call, long calls) {
    const struct bench_product *p = call->product;
    xsmm_kernel *kernel;
    memcpy(&kernel, &call->state[0], sizeof kernel);
    for (long i = 0; i < calls; i++)
        kernel(p->b, p->a, p->c);
}

static void open_xsmm(struct bench_library *call, struct bench_library *dispatched, const char *directory) {
    static const char *const names[] = {"libxsmm_sgemm",       "libxsmm_dgemm", "libxsmm_smmdispatch",
                                        "libxsmm_dmmdispatch", "libxsmm_init",  "libxsmm_get_target_arch"};
    char path[4096];
    *call = (struct bench_library){
        .name = "libxsmm", .forms = {[BENCH_CALL] = true}, .begin = begin_xsmm, .repeat = repeat_fortran};
    if (!bench_find_library(directory, "libxsmm.so", path, sizeof path)) {
        mark_missing(call, "not installed; ./uk-setup peers installs it");
    } else {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const char *lacking = NULL;
        if (!library)
            mark_missing(call, dlerror());
        else if ((lacking = take(call, library, names, 6)))
            mark_missing_function(call, lacking);
        if (library && !lacking) {
            ((void (*)(void))call->function[XSMM_INIT])();
            snprintf(call->detail, sizeof call->detail, "libxsmm 1.17, %s kernels",
                     ((const char *(*)(void))call->function[XSMM_TARGET])());
        }
    }
    *dispatched = *call;
    dispatched->name = "libxsmm JIT";
    dispatched->forms[BENCH_CALL] = false;
    dispatched->forms[BENCH_RESOLVED] = true;
    dispatched->repeat = repeat_xsmm;
}

/* ---- all libraries ---- */

void bench_libraries_open(struct bench_library *l, const char *directory, int isa, int threads) {
    struct bench_peers peers;
    bench_peers_open(&peers, directory, isa, threads);
    int count = 0;
    for (int i = 0; i < BENCH_PEERS; i++)
        l[count++] = cblas_library(&peers.peer[i]);
    const struct bench_peer *mkl = &peers.peer[1];
    l[count++] = mkl_direct(mkl, threads);
    l[count++] = mkl_jit(mkl);
    open_xsmm(&l[count], &l[count + 1], directory);
    bench_onednn_open(&l[count + 2], directory, threads);
}
