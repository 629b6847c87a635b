/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of uk bench. */
#ifndef UK_BENCHMARKS_H
#define UK_BENCHMARKS_H

#include <cjson/cJSON.h>
#include <stdio.h>
#include "bench.h"
#include "uk.h"

/* ---- report.c ---- */

/* Creates {"context": ..., "benchmarks": []} in Google Benchmark's schema, plus a "cpu". Free it with
 * cJSON_Delete(). */
cJSON *uk_bench_json(void);
/* Adds a benchmark and returns it, so that the caller can add counters. */
cJSON *uk_bench_record(cJSON *all, const char *name, const struct bench_contender *c, int threads);
/* Checks, before hours of measuring, that the run named by --compare can be read, and that the folder of
 * --json's file exists. Exit status. */
int uk_bench_check(const struct uk_arguments *a);
/* Writes the JSON to --json's file and compares it with --compare's run: UK_EXIT_WRONG if a benchmark became
 * slower. */
int uk_bench_finish(const struct uk_arguments *a, const cJSON *all);

/* Prints the head of a table of ratios, and a row about the ratios of a set, which it sorts: none if there
 * are none. "Lowest 5 %" is the ratio that 5 % of the shapes do not exceed. */
void uk_bench_print_ratios_header(FILE *table);
void uk_bench_print_ratios(FILE *table, const char *set, const char *to, double *ratio, int count);

/* ---- kernels.c ---- */

/* Reads the kernel's declaration. Exit status. */
int uk_bench_declaration(const struct uk_kernel *k, struct bench_declaration *d);
/* Chooses sizes: one tile, and sums of `length` terms, or slightly more. uk_bench_terms() returns the
 * multiplications of such a call, or the operations that take their place. */
void uk_bench_sizes(const struct uk_kernel *k, const struct bench_declaration *d, int64_t length,
                    struct bench_sizes *s);
double uk_bench_terms(const struct uk_kernel *k, const struct bench_declaration *d,
                      const struct bench_sizes *s);

/* ---- plot.c ---- */

/* Checks, before hours of measuring, the name of --plot's file, its folder, and that the tools exist. Exit
 * status. */
int uk_bench_plot_check(const struct uk_arguments *a);
/* Plots the JSON of uk bench gemm to --plot's file. Exit status. */
int uk_bench_plot(const struct uk_arguments *a, const cJSON *all);

/* ---- count.c ---- */

/* uk bench of kernels for an emulated target: counts instructions, measures no time. Exit status. */
int uk_bench_count(const struct uk_arguments *a);

/* ---- gemm.c ---- */

/* uk bench gemm. Exit status. */
int uk_bench_gemm(const struct uk_arguments *a);

/* ---- static.c ---- */

/* uk bench --static. Exit status. */
int uk_bench_static(const struct uk_arguments *a);

/* ---- gpu.c ---- */

/* uk bench --static for a GPU target. Exit status. */
int uk_bench_gpu(const struct uk_arguments *a);

/* ---- gpu_kernel.c ---- */

struct uk_gpu_kernel_counts;
struct uk_target;
/* Prints the kernel's resources, and the instructions of its loops. Exit status. */
int uk_bench_print_gpu_kernel(const struct uk_gpu_kernel_counts *k, const struct uk_target *t);

/* ---- conv.c ---- */

/* uk bench conv. Exit status. */
int uk_bench_conv(const struct uk_arguments *a);

/* ---- select.c: what gemm and conv measure ---- */

/* True if `word` is in the comma-separated list; NULL contains every word. */
bool uk_bench_listed(const char *list, const char *word);
/* Complains of a name of --set's list that no shape has; names are `count`, `stride` bytes apart. `examples`
 * begins the list of sets in the message. Exit status. */
int uk_bench_check_sets(const char *list, const char *first, size_t stride, int count, const char *examples);
/* Marks the libraries as missing whose names begin with none of --peers' list, which `known` explains. Exit
 * status. */
int uk_bench_choose_libraries(const char *list, struct bench_library *libraries, int count,
                              const char *known);
/* Sets the instruction set by --target, and the threads, through the environment, like a user of any library
 * would; must precede the first call. Exit status. */
int uk_bench_choose_target(const struct uk_arguments *a, int threads, int *isa);
/* Binds the process to the CPU that it runs on and to the next ones that it may use, one for each thread:
 * libraries have as many threads as there are CPUs that they may use. Exit status. */
int uk_bench_bind_to_cpus(int threads);

/* ---- own_products.c ---- */

struct bench_library;
/* Sets two libraries: uk_sgemm and uk_dgemm called like BLAS, and the same with plans made beforehand. */
void uk_bench_own_products(struct bench_library *libraries, int isa, int threads);

/* ---- own_packed.c ---- */

/* Sets ours for bytes, bf16 and f16: programs, then functions of libukernels if there are any; each with B
 * packed beforehand and without. */
enum { UK_BENCH_OWN_PACKED = 4 };
void uk_bench_own_packed(struct bench_library *libraries, const struct uk_arguments *a, enum bench_type type,
                         int isa, int threads);

/* own_weights.c: the same with weights in blocks: sums in f32, and rows rounded to bytes. `own`: how programs
 * are compiled. */
void uk_bench_own_weights(struct bench_library *libraries, enum bench_type type, int isa, int threads,
                          void *own);

/* ---- own_program.c ---- */

/* How programs are compiled; handle[0] of the library. */
struct uk_bench_own_options {
    const char *target;
    bool plain_loops;
};

enum { UK_BENCH_TENSORS = 4 };

/* Compiles the program and packs its tensor 1, unless the library's weights are arguments. False: it printed
 * why not. */
bool uk_bench_begin_program(struct bench_call *call, const char *text, void *const tensors[UK_BENCH_TENSORS]);
void uk_bench_repeat_program(struct bench_call *call, long calls);
void uk_bench_end_program(struct bench_call *call);
/* The kernels of the program, separated by commas. */
const char *uk_bench_own_kernels(const struct bench_call *call);

/* ---- networks.c ---- */

/* Compares networks with ONNX Runtime and others. Exit status. */
int uk_bench_networks(const struct uk_arguments *a);
/* Interpreter for embedded scripts: that of the environment which ./uk-setup networks creates in the source
 * folder, else the one on PATH. */
const char *uk_bench_python(void);

/* ---- ops.c ---- */

/* uk bench ops: compares operators with a copy, ONNX Runtime and NumPy. Exit status. */
int uk_bench_ops(const struct uk_arguments *a);

#endif
