/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring: the peak of this machine, other libraries, and paired timing of several contenders in one
 * process.
 *
 * Every figure stands beside the peak that a register-only loop reached next to it, because clocks move: a
 * rate alone says little on a shared machine, the share of the peak repeats within a few per cent.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ukernels.h"

/* ---- peak.c: the peak of an instruction set ---- */

enum bench_isa { BENCH_SSE2, BENCH_AVX2, BENCH_AVX512 };

const char *bench_isa_name(enum bench_isa isa);
bool bench_isa_runs(enum bench_isa isa);
/* The widest one that runs here. */
enum bench_isa bench_isa_best(void);
/* Seconds of a clock that never goes back. */
double bench_seconds(void);
/* f32 operations per second (a multiply-add is two) of so many threads at once, from a loop that touches
 * nothing but registers, timed for 0.3 ms or more. 0 if a thread cannot be started. */
double bench_peak(enum bench_isa isa, int threads);

/* ---- stream.c: the bandwidth of memory ---- */

/* Loads `bytes` (a multiple of 1024) with the set's vectors and does nothing with them. */
void bench_load(enum bench_isa isa, const float *from, size_t bytes);
/* The same of two arrays, and stores the second one's values where they are. */
void bench_load_and_store(enum bench_isa isa, const float *from, float *to, size_t bytes);

/* ---- peers.c: other libraries, loaded while running ---- */

/* Row-major C[m, n] = sum A[m, k] B[k, n] (+ C if accumulate). `a_transposed`: A is stored [k, m]; b
 * likewise. */
struct bench_gemm {
    bool a_transposed, b_transposed, accumulate;
    int64_t m, n, k, lda, ldb, ldc;
    const float *a, *b;
    float *c;
};

enum { BENCH_PEERS = 4, BENCH_PEER_TEXT = 256 };

typedef void bench_cblas_sgemm(int order, int transa, int transb, int m, int n, int k, float alpha,
                               const float *a, int lda, const float *b, int ldb, float beta, float *c,
                               int ldc);

typedef void bench_cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha,
                               const double *a, int lda, const double *b, int ldb, double beta, double *c,
                               int ldc);

struct bench_peer {
    const char *name;             /* "OpenBLAS", "MKL", "OpenBLAS of Debian", "BLIS" */
    char detail[BENCH_PEER_TEXT]; /* version and kernels; or why it is missing */
    bench_cblas_sgemm *sgemm;     /* NULL: missing */
    bench_cblas_dgemm *dgemm;     /* NULL only where sgemm is */
    void *library;                /* of dlopen; NULL: missing */
};

struct bench_peers {
    struct bench_peer peer[BENCH_PEERS];
};

/* Looks below `directory` for the libraries, forces each to its best kernels of the instruction set and to
 * that many threads. What the environment says to the contrary is overwritten, unless UK_PEERS_KEEP_ENV=1:
 * then the libraries see the user's settings and choose by themselves. The libraries read their settings once:
 * call this once per process. A library that is not there is named in `detail` and is no error. */
void bench_peers_open(struct bench_peers *peers, const char *directory, enum bench_isa isa, int threads);
/* Where the libraries are looked for: $UK_PEERS, else .peers in the current directory. */
const char *bench_peers_directory(void);
void bench_peer_run(const struct bench_peer *peer, const struct bench_gemm *gemm);
/* The path of the first file below the directory whose name begins so; false if there is none. */
bool bench_find_library(const char *directory, const char *prefix, char *path, size_t size);
/* A function by name, or NULL; ISO C has no cast from an object pointer, POSIX says that the bytes are the same. */
#define BENCH_FUNCTION(library, name, out)          \
    do {                                            \
        void *address_ = dlsym(library, name);      \
        memcpy(&(out), &address_, sizeof address_); \
    } while (0)

/* ---- measure.c: paired timing ---- */

struct bench_contender {
    const char *name;
    void (*run)(void *user);
    void (*repeat)(void *user, long calls); /* in place of `run`: so many calls, with nothing between them */
    void *user;
    /* results */
    long calls;                       /* in one sample */
    double seconds, fastest, slowest; /* per call: median, least, greatest */
    double percent; /* of the peak measured beside the sample, median; 0 if there are no flops */
    double percent_low, percent_high; /* its quartiles */
    double ratio, ratio_low,
        ratio_high; /* speed of the first contender over this one's, paired: median, range */
};

struct bench_plan {
    enum bench_isa isa;
    int threads;
    bool doubles;       /* f64: the peak is half of f32's, for a vector holds half as many */
    double flops;       /* of one call; 0: nothing to compare with the peak */
    int rounds;         /* 0: 15 */
    double sample_time; /* seconds that one sample lasts at least; 0: 0.015 */
    double peak;        /* result: median of the peaks, operations per second */
};

/* Times all contenders in turn, one thread by its own clock, several by the wall's, round after round, one untimed call before each sample; with several threads
 * untimed calls until their time settles, 20 ms at most. */
enum uk_status bench_paired(struct bench_plan *plan, struct bench_contender *contender, int contenders);
/* Sorts the values; their middle one. */
double bench_median(double *values, int count);
/* Fills with values in [-1, 1) that depend on the seed only. */
void bench_random(float *values, size_t count, uint32_t seed);

#endif
