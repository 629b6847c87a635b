/* SPDX-License-Identifier: Apache-2.0 */
/* Inside uk bench: what its files share. */
#ifndef UK_BENCH_H
#define UK_BENCH_H

#include <cjson/cJSON.h>
#include "bench.h"
#include "uk.h"

/* ---- uk_bench_report.c ---- */

/* {"context": ..., "benchmarks": []} of Google Benchmark's schema, with a "cpu" added. cJSON_Delete it. */
cJSON *uk_bench_json(void);
/* Adds a benchmark; the caller adds its counters to what is returned. */
cJSON *uk_bench_record(cJSON *all, const char *name, const struct bench_contender *c, int threads);
/* Whether the run that --compare names can be read: better known before hours of measuring. Exit status. */
int uk_bench_check(const struct uk_arguments *a);
/* Writes the JSON where --json says, and compares with the run that --compare names: UK_EXIT_WRONG if
 * something got slower. */
int uk_bench_finish(const struct uk_arguments *a, const cJSON *all);

/* ---- uk_bench.c ---- */

/* The kernel's declaration, read; exit status. */
int uk_bench_declaration(const struct uk_kernel *k, struct bench_declaration *d);
/* The sizes of one tile and of sums of so many terms, or somewhat more; how often such a call multiplies, or
 * what it does instead. */
void uk_bench_sizes(const struct uk_kernel *k, const struct bench_declaration *d, int64_t length,
                    struct bench_sizes *s);
double uk_bench_terms(const struct uk_kernel *k, const struct bench_declaration *d,
                      const struct bench_sizes *s);

/* ---- uk_bench_plot.c ---- */

/* Whether what --plot needs is there: better known before hours of measuring. Exit status. */
int uk_bench_plot_check(const struct uk_arguments *a);
/* Draws the JSON of uk bench gemm where --plot says. Exit status. */
int uk_bench_plot(const struct uk_arguments *a, const cJSON *all);

/* ---- uk_bench_count.c ---- */

/* uk bench of kernels for a target that is emulated: instructions, no time. Exit status. */
int uk_bench_count(const struct uk_arguments *a);

/* ---- uk_bench_gemm.c ---- */

/* uk bench gemm. Exit status. */
int uk_bench_gemm(const struct uk_arguments *a);

/* ---- uk_bench_static.c ---- */

/* uk bench --static. Exit status. */
int uk_bench_static(const struct uk_arguments *a);

/* ---- uk_bench_gpu.c ---- */

/* uk bench --static with a GPU's target. Exit status. */
int uk_bench_gpu(const struct uk_arguments *a);

/* ---- uk_bench_ours.c ---- */

struct bench_library;
/* Two: uk_sgemm and uk_dgemm as BLAS is called, and planned beforehand. */
void uk_bench_ours(struct bench_library *libraries, int isa, int threads);

/* ---- uk_bench_networks.c ---- */

/* Networks beside ONNX Runtime. Exit status. */
int uk_bench_networks(const struct uk_arguments *a);

#endif
