/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the peak of this machine, and times several contenders in one process, in turn.
 *
 * Each time is accompanied by the peak of a register-only loop, measured just before and after it, as clock
 * rates change: on a shared machine a rate varies, but its share of the peak repeats within a few per cent.
 *
 * A peer is another library, loaded at run time, that computes matrix products. Uses registry, machine.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "arguments.h"
#include "convolution.h"
#include "ops/operators.h"
#include "ukernels.h"

/* ---- isas_<arch>.c: the instruction sets of this architecture that are measured ---- */

/* Each peer's name for the instruction set, which selects its kernels; NULL: it selects them itself. */
struct bench_peer_settings {
    const char *openblas, *mkl, *blis, *xsmm, *onednn;
    const char *onednn_bytes;         /* for products of bytes: without units that no kernel of ours uses */
    const char *onednn_without_tiles; /* without AMX */
};

struct bench_isa {
    const char *name;
    const char *kernels;  /* prefix of the isas in kernels.def that use it */
    const char *features; /* of the CPU, as in archs.def */
    bool (*runs)(void);   /* true if the CPU has them; ignores UK_ISA */
    /* The loop on registers, and its operations per iteration; a multiply-add is two. */
    void (*iterate)(long iterations);
    double operations;
    /* load: loads `bytes` (a positive multiple of 1024) and discards them. load_and_store: also loads as many
     * bytes of `to` and stores them unchanged. */
    void (*load)(const float *from, size_t bytes);
    void (*load_and_store)(const float *from, float *to, size_t bytes);
    struct bench_peer_settings peers;
};

/* Weakest first; the first one runs on every CPU. An `isa` below is an index into this table. */
extern const struct bench_isa bench_isas[];
extern const int bench_isa_count;

/* ---- loops_<arch>.c: loops of one instruction ---- */

enum bench_type {
    BENCH_F32,
    BENCH_F64,
    BENCH_U8I8,
    BENCH_I8I8,
    BENCH_BF16,
    BENCH_F16,
    BENCH_W4,
    BENCH_W8,
    BENCH_TYPES
};

/* A loop on registers whose rate bounds the products of kernels that use its instruction. */
struct bench_loop {
    const char *name;    /* of the instruction */
    const char *kernels; /* part of the names of the kernels that use it */
    bool is_for_bytes;   /* true: of products of bytes; false: of bf16 */
    void (*iterate)(long iterations);
    double operations;   /* per iteration; a multiply-add is two */
    enum uk_state state; /* needed while it runs */
};

/* The loop of the instruction that the kernels use, a list of names, in products of this type. NULL: they use
 * multiply-adds of floating-point numbers, as bench_peak() does. */
const struct bench_loop *bench_loop_of(enum bench_type type, const char *kernels);

/* ---- peak.c: the peak of an instruction set ---- */

/* The widest set that runs here. */
int bench_isa_best(void);
/* The widest set whose `kernels` occur in the text, which is an isa of kernels.def or the name of a target; 0
 * if none of them does. */
int bench_isa_of(const char *kernels);
/* Seconds of a monotonic clock. */
double bench_seconds(void);
/* CPU seconds of this thread: fewer than have passed if other threads share its CPU. */
double bench_thread_seconds(void);
/* CPU seconds of all threads of this process. */
double bench_process_seconds(void);
/* f32 operations per second (a multiply-add is two) of `threads` threads together, from a loop on registers
 * that is timed for at least 0.3 ms; a single thread is timed by its CPU clock. 0 if a thread cannot be
 * started. */
double bench_peak(int isa, int threads);
/* As bench_peak(), of another loop. 0 also if the loop's state is not permitted. */
double bench_loop_rate(const struct bench_loop *loop, int threads);
/* Bytes per second at which this thread reads a buffer of `bytes` (a positive multiple of 1024) again and
 * again; the best of five samples. 0: no memory for the buffer. */
double bench_read_rate(int isa, int64_t bytes);

/* ---- peers.c: other libraries, loaded at run time ---- */

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
    bench_cblas_dgemm *dgemm;     /* NULL only if sgemm is */
    void *library;                /* of dlopen; NULL: missing */
};

struct bench_peers {
    struct bench_peer peer[BENCH_PEERS];
};

/* Loads the libraries below `directory`, forces each to its best kernels for the instruction set and to
 * `threads` threads. Overwrites the environment variables that they read, unless UK_PEERS_KEEP_ENV=1: then
 * the user's settings and the libraries' own choices hold. Call it once per process, as the libraries read
 * their settings once. A missing library is no error; `detail` says so. */
void bench_peers_open(struct bench_peers *peers, const char *directory, int isa, int threads);
/* The part of it that sets the environment. `bytes`: for products of bytes. */
void bench_peers_set_environment(int isa, int threads, bool bytes);
/* Sets a variable of the environment, unless UK_PEERS_KEEP_ENV=1. NULL: removes it. */
void bench_peers_set_variable(const char *name, const char *value);
/* The directory of the libraries: $UK_PEERS, else .peers in the current directory. */
const char *bench_peers_directory(void);
void bench_peer_run(const struct bench_peer *peer, const struct bench_gemm *gemm);
/* The path of the first library below the directory whose name begins with `prefix`; false if there is none.
 */
bool bench_find_library(const char *directory, const char *prefix, char *path, size_t size);
/* The path of the n-th of these, n = 0, 1, ..., in the order of their names. */
bool bench_find_nth_library(const char *directory, const char *prefix, int n, char *path, size_t size);
/* Sets `out`, a pointer to a function, to the library's function of that name, or NULL. ISO C has no cast
 * from an object pointer to a function pointer; POSIX says that they have the same bytes. */
#define BENCH_FUNCTION(library, name, out)          \
    do {                                            \
        void *address_ = dlsym(library, name);      \
        memcpy(&(out), &address_, sizeof address_); \
    } while (0)

/* ---- measure.c: paired timing ---- */

struct bench_contender {
    const char *name;
    void (*run)(void *user);
    void (*repeat)(void *user, long calls); /* instead of `run`: `calls` calls, back to back */
    void *user;
    /* results */
    long calls;                       /* per sample */
    double seconds, fastest, slowest; /* per call: median, minimum, maximum */
    double percent; /* of the peak measured next to the sample, median; 0 if there are no flops */
    double percent_low, percent_high; /* its quartiles */
    double ratio, ratio_low,
        ratio_high; /* speed of the first contender over this one's in the same round: median, range */
};

struct bench_plan {
    int isa;
    int threads;
    bool doubles;                  /* f64: the peak is half of f32's, as a vector holds half as many */
    const struct bench_loop *loop; /* what the peak is measured with; NULL: multiply-adds of the set `isa` */
    /* One thread is timed by the CPU clock of the process, because a contender computes on a thread of its
     * own; no sample is repeated: the caller uses the fastest one. */
    bool whole_process;
    double flops;       /* per call; 0: no share of the peak is computed */
    int rounds;         /* 0: 15. Result: the number that ended before the deadline */
    double sample_time; /* minimum length of a sample in seconds; 0: 0.015 */
    double deadline;    /* time of bench_seconds() after which no call begins; 0: none */
    double peak;        /* result: median of the measured peaks, operations per second */
};

/* Times all contenders in turn, round after round: one thread by its CPU clock, several by wall-clock time.
 * Each sample follows an untimed call; with several threads, untimed calls until their time settles, for at
 * most 20 ms. A round that the deadline cuts off does not count; if no round is left, the results stay
 * unchanged. */
enum uk_status bench_paired(struct bench_plan *plan, struct bench_contender *contender, int contenders);
/* Sorts the values and returns their median. */
double bench_median(double *values, int count);
/* Fills `values` with numbers in [-1, 1) that depend only on the seed. */
void bench_random(float *values, size_t count, uint32_t seed);

/*
 * Matrix products by several libraries: their calls, the check of their results, and sets of shapes.
 */

/* BENCH_CALL: the timed call gets shape and layout, and chooses kernels and blocks itself, as BLAS does.
 * BENCH_RESOLVED: the library has chosen them for shape and layout before; the timed call gets addresses. */
enum bench_form { BENCH_CALL, BENCH_RESOLVED };

/* The elements of a type. u8i8: A of u8, B of i8, C of i32; i8i8: A of i8; bf16 and f16: C of f32. */
struct bench_elements {
    const char *name;
    size_t factor, sum; /* bytes of an element of A and B, of C */
    bool is_packed;     /* B is packed before the time is taken, where a library can */
};

extern const struct bench_elements bench_elements[BENCH_TYPES];

/* Terms of a column of weights that share a scale. */
enum { BENCH_BLOCK = 32 };
/* The bits of a weight, if A is of f32 and B consists of weights in blocks, as ONNX's MatMulNBits has them;
 * else 0. */
static inline int bench_weight_bits(enum bench_type type) {
    return type == BENCH_W4 ? 4 : type == BENCH_W8 ? 8 : 0;
}

/* Bytes of B, of weights with their scales. */
static inline double bench_b_bytes(enum bench_type type, int64_t k, int64_t n) {
    const double each = bench_weight_bits(type)
                            ? bench_weight_bits(type) / 8.0 + (double)sizeof(float) / (double)BENCH_BLOCK
                            : (double)bench_elements[type].factor;
    return (double)k * (double)n * each;
}

/* True if sums are of whole numbers. */
static inline bool bench_is_bytes(enum bench_type type) {
    return type == BENCH_U8I8 || type == BENCH_I8I8;
}

/* Row-major C[m, n] = sum A[m, k] B[k, n] + beta C; a transposed operand is stored column-major. */
struct bench_product {
    enum bench_type type;
    bool a_transposed, b_transposed;
    int64_t m, n, k, lda, ldb, ldc;
    double beta; /* 0 or 1 */
    const void *a, *b;
    void *c;
    const float *scale; /* of each block of weights, [n][k / BENCH_BLOCK]; else NULL */
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

/* The built-in sets: the text of bench/shapes.txt. */
extern const char bench_shapes_text[];
/* Those of bytes, bf16 and f16: the text of bench/packed_shapes.txt. */
extern const char bench_packed_shapes_text[];
/* Reads a text of the form that shapes.txt describes. UK_INVALID_ARGUMENT: `message` names the line. The
 * caller frees the shapes in any case. */
enum uk_status bench_shapes_parse(const char *text, struct bench_shapes *shapes, char *message, size_t size);
enum uk_status bench_shapes_add(struct bench_shapes *shapes, const struct bench_shape *shape);
void bench_shapes_free(struct bench_shapes *shapes);

/* ---- sweep.c ---- */

/* Adds `count` drawn shapes to each of two sets; 0: the usual number, 60 and 40. `general`: m from 16 to
 * 2048, n and k from 32 to 4096, their logarithms evenly distributed, half of the shapes of multiples of 16
 * only, half without any. `rows`: 1 to 16 rows, B of 4 to 64 MB. The same seed draws the same shapes. */
enum uk_status bench_shapes_sweep(struct bench_shapes *shapes, enum bench_type type, int count,
                                  uint64_t seed);

/* ---- libraries.c: libraries that compute products ---- */

struct bench_library;

/* One library's call for one product; `state` belongs to the library. */
struct bench_call {
    const struct bench_library *library;
    const struct bench_product *product;         /* NULL: the convolution */
    const struct bench_convolution *convolution; /* NULL: the product */
    void *state[6];
};

typedef void bench_function(void);

enum { BENCH_FUNCTIONS = 24 };

struct bench_library {
    const char *name;
    char detail[BENCH_PEER_TEXT]; /* version and kernels; or why it is missing */
    bool missing;
    bool forms[2]; /* by enum bench_form: true if it is compared in that form */
    /* Prepares the call. False if the library cannot compute this product. */
    bool (*begin)(struct bench_call *);
    void (*repeat)(struct bench_call *, long calls);
    void (*end)(struct bench_call *); /* NULL: nothing to free */
    /* Copies the result of a convolution to its Y; NULL: calls write it there. */
    void (*take_result)(struct bench_call *);
    /* Seconds that a call, and that the end of `repeat`, take besides computing; 0: unknown. */
    double call_cost, repeat_cost;
    bench_function *function[BENCH_FUNCTIONS]; /* private to begin, repeat and end */
    void *handle[2];                           /* likewise, shared by all calls */
    int isa;                                   /* likewise: instruction set that layouts are chosen for */
    bool is_blocked;                           /* likewise: images are in blocks of channels */
    bool is_own;                               /* ours, no peer */
    bool by_bytes;                             /* private: rows are rounded to bytes, for weights in blocks */
    int threads;                               /* likewise, for convolutions and packed products */
    bool weights_are_arguments; /* likewise: each call brings weights into the layout that it needs */
};

enum { BENCH_LIBRARIES = 9 };

/* Opens the peers in all the ways in which they are called: the four of bench_peers_open (OpenBLAS, MKL,
 * OpenBLAS of Debian, BLIS), MKL's direct call, MKL's JIT, libxsmm's BLAS, its dispatched calls, and oneDNN.
 * What bench_peers_open says about the environment holds here too. */
void bench_libraries_open(struct bench_library *libraries, const char *directory, int isa, int threads);

/* packed_libraries.c: products of bytes, bf16 and f16, with B packed beforehand: two versions of oneDNN, each
 * with all instruction sets and without AMX; MKL; ONNX Runtime, with weights in blocks also by bytes. A
 * process must be bound to as many CPUs as there are threads, as for bench_conv_libraries_open(). */
enum { BENCH_PACKED_LIBRARIES = 2 * BENCH_ONEDNN_VERSIONS + 3 };
void bench_packed_libraries_open(struct bench_library *libraries, const char *directory, enum bench_type type,
                                 int isa, int threads);
/* onednn_packed.c: the n-th version that is installed, and the same without AMX. */
void bench_onednn_packed_open(struct bench_library *two, const char *directory, int version, int isa,
                              int threads);
/* mkl_packed.c */
void bench_mkl_packed_open(struct bench_library *l, const struct bench_peer *mkl);
/* onnxruntime_matmul.c */
void bench_onnxruntime_matmul_open(struct bench_library *l, const char *directory, enum bench_type type,
                                   bool by_bytes, int threads);

/* onednn.c */
void bench_onednn_open(struct bench_library *l, const char *directory, int threads);

/* ---- product.c: operands and the check of results ---- */

/* Allocates and fills operands of that shape, with padding around them, as BLIS reads beyond its operands.
 * Free them by bench_product_free, which accepts a product that could not be created. */
enum uk_status bench_product_create(struct bench_product *p, const struct bench_shape *shape,
                                    enum bench_type type);
void bench_product_free(struct bench_product *p);
double bench_product_flops(const struct bench_product *p);
/* Bytes that a call reads and writes at least. */
double bench_product_bytes(const struct bench_product *p);
/* Makes one call and compares C with sums in double precision, and of whole numbers exactly: all elements of
 * a small C, samples of a large one that include its edges. With beta 0, C holds NaN before the call, or a
 * number that the call must overwrite. */
bool bench_product_check(const struct bench_product *p, struct bench_call *call);
/* Number of wrong elements among those that it compares, whose number is set too. */
int64_t bench_product_wrong(const struct bench_product *p, struct bench_call *call, int64_t *compared);

#endif
