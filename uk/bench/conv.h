/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by conv.c, conv_report.c, own_convolutions.c, called_convolutions.c and copied_images.c: the state
 * of uk bench conv. */
#ifndef UK_BENCH_CONV_H
#define UK_BENCH_CONV_H

#include <stdio.h>
#include "benchmarks.h"

/* Our own libraries come first: programs with an automatic schedule. Last come what are no peers:
 * uk_sconv2d_run, a copy of as many bytes, and the same programs as plain loops, the baseline. */
enum { CONV_OURS = 1, CONV_CALLED = CONV_OURS + BENCH_CONV_LIBRARIES, CONV_COPY, CONV_PLAIN, CONV_LIBRARIES };

/* What was measured of one shape. x: our speed relative to the best peer; 0: there is none. x_without: the
 * same if each call of oneDNN took its own cost less. x_called, x_copy, x_plain: relative to our call, to the
 * copy, and to plain loops. */
struct conv_result {
    double percent, x, x_without, x_called, x_copy, x_plain;
};

struct conv_session {
    const struct uk_arguments *a;
    struct bench_conv_options how;
    double peak;     /* median of the peaks measured next to the samples */
    double *peaks;   /* per shape measured */
    double deadline; /* in bench_seconds(), 0: none */
    double printed;  /* time of the last progress line */
    struct bench_library library[CONV_LIBRARIES];
    struct bench_conv_shapes shapes;
    int chosen, done; /* numbers of shapes */
    struct conv_result *result;
    FILE *table;
    cJSON *json;
};

/* The measurement of one shape. */
struct conv_line {
    const struct bench_conv_shape *shape;
    struct bench_call call[CONV_LIBRARIES];
    struct bench_contender contender[CONV_LIBRARIES]; /* ours is first, plain loops are last */
    int count, peers; /* contenders; those that are peers, which follow ours */
    bool has_called, has_copy, has_plain;
    double flops;
    struct bench_plan plan;
};

/* ---- own_convolutions.c ---- */

/* Opens ours and plain loops. */
void uk_bench_own_convolutions(struct bench_library *ours, struct bench_library *plain,
                               const struct uk_arguments *a, const struct bench_conv_options *how);

/* ---- called_convolutions.c ---- */

/* Opens the call; missing for bytes, which it does not compute. */
void uk_bench_called_convolutions(struct bench_library *called, const struct bench_conv_options *how);

/* ---- copied_images.c ---- */

/* Opens the copy by memcpy, which reads and writes half as many bytes each as image and result have together.
 * It takes part in depthwise convolutions whose image and result exceed the cache L2: moving them limits
 * these. Missing with several threads. */
void uk_bench_copied_images(struct bench_library *copied, const struct bench_conv_options *how);

/* ---- conv_report.c ---- */

/* Adds a shape's results to the table, the summary and the JSON. */
void uk_bench_keep_conv(struct conv_session *s, const struct conv_line *l);
void uk_bench_print_conv_summary(const struct conv_session *s);
void uk_bench_add_conv_context(struct conv_session *s);
/* Prints the conditions needed to interpret the table. */
void uk_bench_print_conv_conditions(const struct conv_session *s);

#endif
