/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products by many libraries: what can be called for a product, whether its result is right, and the
 * shapes that are worth measuring.
 */
#ifndef BENCH_PRODUCT_H
#define BENCH_PRODUCT_H

#include "bench.h"

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
/* Reads a text; its form is told in shapes.txt. On UK_INVALID_ARGUMENT `message` says which line is wrong. Free the
 * shapes in any case. */
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

/* Opens the peers: OpenBLAS, MKL, OpenBLAS of Debian, BLIS, MKL's direct call and JIT, libxsmm's BLAS and dispatched
 * calls, oneDNN. As bench_peers_open. */
void bench_libraries_open(struct bench_library *libraries, const char *directory, enum bench_isa isa,
                          int threads);

/* onednn.c */
void bench_onednn_open(struct bench_library *l, const char *directory, int threads);

/* ---- product.c: operands, and what is right ---- */

/* Operands of that shape, filled; with room around them, because BLIS reads beyond its own. NULL-safe free. */
enum uk_status bench_product_create(struct bench_product *p, const struct bench_shape *shape,
                                    enum bench_type type);
void bench_product_free(struct bench_product *p);
double bench_product_flops(const struct bench_product *p);
/* Bytes that one call must read and write at least. */
double bench_product_bytes(const struct bench_product *p);
/* Makes one call on a C of which nothing may be left if beta is 0, and compares it: all of a small C, samples of a
 * large one, edges always among them, with sums in double precision. */
bool bench_product_check(const struct bench_product *p, struct bench_call *call);

#endif
