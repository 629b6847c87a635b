/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by ops.c, ops_line.c, ops_report.c, own_operators.c and numpy.c: the state of uk bench ops. */
#ifndef UK_BENCH_OPS_H
#define UK_BENCH_OPS_H

#include <stdio.h>
#include "benchmarks.h"

/* ---- own_operators.c ---- */

struct uk_own_operator;

/* Parses the operator's program for the case's type, and completes *shape: all sizes of the program, in
 * order, those of the case or the program's own. NULL: it printed why not. */
struct uk_own_operator *uk_own_operator_parse(const struct bench_op *op, struct bench_op_case *shape);
/* As bench_op_bytes: the bytes that a call reads and writes; -1: the program refuses the sizes. */
int64_t uk_own_operator_bytes(void *own, const struct bench_op_case *shape);
/* Describes the operands of c->op and c->shape. False: it printed why not. */
bool uk_own_operator_describe(const struct uk_own_operator *o, struct bench_op_call *c);
/* Compiles the program for c->shape. False: it printed why not. */
bool uk_own_operator_compile(struct uk_own_operator *o, const struct bench_op_call *c,
                             const struct uk_arguments *a);
void uk_own_operator_repeat(const struct uk_own_operator *o, long calls);
/* Compares some elements of the results with the interpreter's. False: it printed the first that is wrong. */
bool uk_own_operator_check(struct uk_own_operator *o, const struct bench_op_call *c,
                           const struct uk_arguments *a);
/* The kernels of the program, separated by commas; "": none. */
const char *uk_own_operator_kernels(const struct uk_own_operator *o);
void uk_own_operator_free(struct uk_own_operator *o);

/* ---- numpy.c ---- */

/* Python in a process of its own, which waits between two requests. */
struct uk_numpy {
    bool missing, has_started;
    char detail[BENCH_PEER_TEXT]; /* version, or why it is missing */
    int pid, open_end;
    FILE *to, *from;
};

/* Seconds of the operator, and of a copy that took turns with it there. 0: NumPy does not compute it. */
struct uk_numpy_times {
    double seconds, copy;
};

void uk_numpy_begin(struct uk_numpy *n);
struct uk_numpy_times uk_numpy_measure(struct uk_numpy *n, const struct bench_op_call *c);
void uk_numpy_end(struct uk_numpy *n);

/* ---- ops_line.c: the measurement of one shape ---- */

/* What was measured of a shape, in seconds a call; 0: not measured. */
struct op_result {
    struct bench_contender ours, copy, onnxruntime;
    struct uk_numpy_times numpy;
    double share;                  /* time of the copy divided by ours */
    double x_onnxruntime, x_numpy; /* their time divided by ours */
};

/* A shape of an operator. */
struct op_shape {
    const struct bench_op *op;
    struct bench_op_case shape;
};

enum { OPS_ONNXRUNTIME, OPS_NUMPY, OPS_COPY, OPS_PEERS };

struct ops_session {
    const struct uk_arguments *a;
    int threads, isa;
    struct bench_library peer[OPS_PEERS];
    struct uk_numpy numpy;
    struct bench_ops ops;
    int count, room, done; /* shapes; those measured */
    struct op_shape *shape;
    struct op_result *result;
    double deadline; /* in bench_seconds(), 0: none */
    double printed;  /* time of the last progress line */
    FILE *table;
    cJSON *json;
};

/* The line that is measured: operands, ours and the result. */
struct op_line {
    const struct op_shape *shape;
    struct bench_op_call call;
    struct uk_own_operator *own;
    struct op_result result;
};

/* Measures the shape and keeps it, unless the time is up before. Exit status. */
int uk_bench_op_line(struct ops_session *s, const struct op_shape *shape);

/* ---- ops_report.c ---- */

/* Adds a shape's results to the table, the summary and the JSON. */
void uk_bench_keep_op(struct ops_session *s, const struct op_line *l);
void uk_bench_print_ops_summary(const struct ops_session *s);
void uk_bench_add_ops_context(struct ops_session *s);
/* Prints the conditions needed to interpret the table. */
void uk_bench_print_ops_conditions(const struct ops_session *s);

#endif
