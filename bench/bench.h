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
#include "arguments.h"
#include "ukernels.h"

/* ---- isas_<arch>.c: this architecture's instruction sets, as far as they are measured ---- */

/* What makes a peer take its kernels of the set; NULL: it does so by itself. */
struct bench_peer_settings {
    const char *openblas, *mkl, *blis, *xsmm, *onednn;
};

struct bench_isa {
    const char *name;
    const char *kernels;  /* how the isas of kernels.def begin that use it */
    const char *features; /* of the CPU, as in archs.def */
    bool (*runs)(void);   /* whether the CPU has them, whatever UK_ISA says */
    void (*iterate)(long iterations);
    double operations; /* of a turn */
    /* Loads bytes (a multiple of 1024, not 0) and does nothing with them; or of two arrays, and stores the
     * second one's values where they are. */
    void (*load)(const float *from, size_t bytes);
    void (*load_and_store)(const float *from, float *to, size_t bytes);
    struct bench_peer_settings peers;
};

/* Weakest first; the first one runs everywhere. An `isa` below is a place in this table. */
extern const struct bench_isa bench_isas[];
extern const int bench_isa_count;

/* ---- peak.c: the peak of an instruction set ---- */

/* The widest one that runs here. */
int bench_isa_best(void);
/* The widest one whose kernels the text names: an isa of kernels.def, a target; the first one if it names
 * none. */
int bench_isa_of(const char *kernels);
/* Seconds of a clock that never goes back. */
double bench_seconds(void);
/* Seconds that this thread has run: where others run on the same CPU, less than have passed. */
double bench_thread_seconds(void);
/* f32 operations per second (a multiply-add is two) of so many threads at once, from a loop that touches
 * nothing but registers, timed for 0.3 ms or more: of one thread by its own clock. 0 if a thread cannot be
 * started. */
double bench_peak(int isa, int threads);

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
 * then the libraries see the user's settings and choose by themselves. The libraries read their settings
 * once: call this once per process. A library that is not there is named in `detail` and is no error. */
void bench_peers_open(struct bench_peers *peers, const char *directory, int isa, int threads);
/* Where the libraries are looked for: $UK_PEERS, else .peers in the current directory. */
const char *bench_peers_directory(void);
void bench_peer_run(const struct bench_peer *peer, const struct bench_gemm *gemm);
/* The path of the first file below the directory whose name begins so; false if there is none. */
bool bench_find_library(const char *directory, const char *prefix, char *path, size_t size);
/* A function by name, or NULL; ISO C has no cast from an object pointer, POSIX says that the bytes are the
 * same. */
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
    int isa;
    int threads;
    bool doubles;       /* f64: the peak is half of f32's, for a vector holds half as many */
    double flops;       /* of one call; 0: nothing to compare with the peak */
    int rounds;         /* 0: 15. Afterwards as many as there were before the deadline */
    double sample_time; /* seconds that one sample lasts at least; 0: 0.015 */
    double deadline;    /* bench_seconds() at which no more calls begin; 0: none */
    double peak;        /* result: median of the peaks, operations per second */
};

/* Times all contenders in turn, one thread by its own clock, several by the wall's, round after round, one
 * untimed call before each sample; with several threads untimed calls until their time settles, 20 ms at
 * most. Rounds that the deadline ends do not count; if none is left, the contenders' results are as they
 * were. */
enum uk_status bench_paired(struct bench_plan *plan, struct bench_contender *contender, int contenders);
/* Sorts the values; their middle one. */
double bench_median(double *values, int count);
/* Fills with values in [-1, 1) that depend on the seed only. */
void bench_random(float *values, size_t count, uint32_t seed);

/*
 * Matrix products by many libraries: what can be called for a product, whether its result is right, and the
 * shapes that are worth measuring.
 */

enum bench_type { BENCH_F32, BENCH_F64 };
/* A call that takes everything and decides anew, or one for which all was decided before. */
enum bench_form { BENCH_CALL, BENCH_RESOLVED };

/* Row-major C[m, n] = sum A[m, k] B[k, n] + beta C; an operand that is transposed is stored the other way. */
struct bench_product {
    enum bench_type type;
    bool a_transposed, b_transposed;
    int64_t m, n, k, lda, ldb, ldc;
    double beta; /* 0 or 1 */
    const void *a, *b;
    void *c;
};

/* ---- shapes.c: a text of shapes ---- */

enum { BENCH_NAME = 32 };

struct bench_shape {
    char set[BENCH_NAME], label[BENCH_NAME];
    enum bench_form form;
    bool a_transposed, b_transposed;
    double beta;
    int64_t m, n, k;
};

struct bench_shapes {
    int count, room;
    struct bench_shape *shape;
};

/* The sets that come with this, bench/shapes.txt. */
extern const char bench_shapes_text[];
/* Reads a text in the form that shapes.txt describes. On UK_INVALID_ARGUMENT `message` says which line is
 * wrong. Free the shapes in any case. */
enum uk_status bench_shapes_parse(const char *text, struct bench_shapes *shapes, char *message, size_t size);
void bench_shapes_free(struct bench_shapes *shapes);

/* ---- libraries.c: who computes products ---- */

struct bench_library;

/* One library's call for one product; `state` is the library's. */
struct bench_call {
    const struct bench_library *library;
    const struct bench_product *product;
    void *state[6];
};

typedef void bench_function(void);

enum { BENCH_FUNCTIONS = 12 };

struct bench_library {
    const char *name;
    char detail[BENCH_PEER_TEXT]; /* version and kernels; or why it is missing */
    bool missing;
    bool forms[2]; /* which of enum bench_form it is compared in */
    /* Prepares the call; false: it does not offer this product. */
    bool (*begin)(struct bench_call *);
    void (*repeat)(struct bench_call *, long calls);
    void (*end)(struct bench_call *);          /* NULL: nothing to free */
    bench_function *function[BENCH_FUNCTIONS]; /* the library's; which is which, its begin and repeat know */
    void *handle[2];                           /* the library's, for all calls */
};

enum { BENCH_LIBRARIES = 9 };

/* Opens the peers: OpenBLAS, MKL, OpenBLAS of Debian, BLIS, MKL's direct call and JIT, libxsmm's BLAS and
 * dispatched calls, oneDNN. As bench_peers_open. */
void bench_libraries_open(struct bench_library *libraries, const char *directory, int isa, int threads);

/* onednn.c */
void bench_onednn_open(struct bench_library *l, const char *directory, int threads);

/* ---- product.c: operands, and what is right ---- */

/* Operands of that shape, filled; with room around them, because BLIS reads beyond its own. NULL-safe free.
 * */
enum uk_status bench_product_create(struct bench_product *p, const struct bench_shape *shape,
                                    enum bench_type type);
void bench_product_free(struct bench_product *p);
double bench_product_flops(const struct bench_product *p);
/* Bytes that one call must read and write at least. */
double bench_product_bytes(const struct bench_product *p);
/* Makes one call on a C of which nothing may be left if beta is 0, and compares it: all of a small C, samples
 * of a large one, edges always among them, with sums in double precision. */
bool bench_product_check(const struct bench_product *p, struct bench_call *call);

#endif
