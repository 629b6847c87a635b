/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by gemm.c and gemm_report.c: the state of uk bench gemm, and the report of its results. */
#ifndef UK_BENCH_GEMM_H
#define UK_BENCH_GEMM_H

#include <stdio.h>
#include "benchmarks.h"

/* Our own libraries come first: calls like BLAS's, and plans; of types whose B is packed, those of
 * own_packed.c. */
enum { GEMM_OURS = 2, GEMM_LIBRARIES = GEMM_OURS + BENCH_LIBRARIES };
_Static_assert((int)UK_BENCH_OWN_PACKED + (int)BENCH_PACKED_LIBRARIES <= (int)GEMM_LIBRARIES,
               "there is room");

struct gemm_set {
    char name[BENCH_NAME];
    enum bench_form form;
    /* start: index of its first shape, and ratio; compared: shapes with a peer; losses: those slower than
     * 0.97 x the best */
    int start, shapes, compared, losses;
    double log_ratio, worst, percent;
    char worst_shape[64];
    const char *worst_peer;
};

struct gemm_session {
    const struct uk_arguments *a;
    enum bench_type type;
    int isa;
    int threads;
    double peak;              /* an estimate, later the median of the peaks measured next to the samples */
    double *peaks;            /* per shape measured */
    double *ratios;           /* per shape that a peer computes: our speed relative to the best */
    double bandwidth, l1, l2; /* bytes per second that one thread reads from memory, L1, L2 */
    /* deadline: in bench_seconds(), 0: none; printed: time of the last progress line */
    double deadline, printed;
    struct bench_library library[GEMM_LIBRARIES];
    int ours, libraries; /* number of libraries that are ours, and of all */
    /* Of types whose B is packed, per shape measured: the fastest call of each library; 0: none. */
    double (*seconds)[GEMM_LIBRARIES];
    /* Per library: shapes with wrong elements; those elements, and all that were compared. */
    struct {
        int shapes;
        int64_t wrong, compared;
    } errors[GEMM_LIBRARIES];
    struct bench_shapes shapes;
    int chosen, done; /* numbers of shapes */
    FILE *table;
    cJSON *json;
    struct gemm_set *set; /* capacity: the number of shapes */
    int sets, status;
};

/* The measurement of one shape. */
struct gemm_line {
    const struct bench_shape *shape;
    struct bench_call call[GEMM_LIBRARIES];
    struct bench_contender contender[GEMM_LIBRARIES]; /* ours is first */
    int count;
    struct bench_plan plan;
    struct bench_contender best;             /* best peer, measured again; no name: no peer was measured */
    int64_t wrong[GEMM_LIBRARIES], compared; /* elements of each contender's result */
    double bound; /* seconds that a call takes at least by the measured rates; 0: not computed */
};

/* Writes the product's sizes and form, and + if it is added to C. */
void uk_bench_shape_text(const struct bench_shape *s, char *text, size_t size);
/* Adds a shape's results to the table, the summary and the JSON. */
void uk_bench_keep_line(struct gemm_session *s, const struct gemm_line *l, const struct bench_product *p);
void uk_bench_print_summary(struct gemm_session *s);
void uk_bench_add_context(struct gemm_session *s);
/* Prints the conditions needed to interpret the table. */
void uk_bench_print_conditions(struct gemm_session *s);

#endif
