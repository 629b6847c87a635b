/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uk bench --target=TARGET for another architecture: counts the instructions that a kernel executes, with a
 * plugin of qemu-user. Reports them per step of k and per multiply-add, or per element of vectors; on request
 * by mnemonic, and as cycles on the core whose latencies RISC-V P's draft lists. The counts do not predict
 * time.
 *
 * With --remote=HOST the kernel is timed on that board instead.
 *
 * The kernel runs on a whole tile with two numbers of steps; the difference is due to the loop alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "benchmarks.h"
#include "show.h"
#include "emulate/emulate.h"
#include "remote/remote.h"

/* FEW, MANY: steps of k, multiples of every kernel's unrolling. GAP: elements between rows, so that rows do
 * not collide in cache sets. */
enum { FEW = 64, MANY = 576, GAP = 16 };

/* Work per call: loop size, step, unit, units per step. */
struct work {
    char size; /* the loop's size; 0: a call is one step */
    int step;
    const char *unit;
    double units; /* 0: neither a product nor an operation on vectors */
    double times; /* steps as counted in kernels.def per step here: steps of a run, or products of a window */
    struct bench_declaration declaration;
    struct bench_arguments arguments; /* for a call with many steps */
};

static bool has(const struct bench_declaration *d, char letter) {
    return d->has_size[letter - 'A'];
}

static bool is_of_vectors(const struct bench_declaration *d) {
    for (int i = 0; i < d->tensors; i++)
        if (d->tensor[i].dims > 1)
            return false;
    return true;
}

/* Derives the work of the kernel's call from its declaration. Exit status. */
static int find_work(const struct uk_kernel *k, struct work *w) {
    const struct bench_declaration *d = &w->declaration;
    struct bench_sizes sizes;

    *w = (struct work){.step = 1};
    const int status = uk_bench_declaration(k, &w->declaration);
    if (status)
        return status;
    w->unit = d->multiplies ? "multiply-add" : "element";
    w->size = has(d, 'P') ? 'P' : has(d, 'J') && !has(d, 'I') && !d->max_size['J' - 'A'] ? 'J' : 0;
    if (w->size == 'P')
        w->step = uk_kernel_kr(k);
    uk_bench_sizes(k, d, MANY * w->step, &sizes);
    sizes.gap = GAP;
    bench_arguments(d, &sizes, &w->arguments);
    if (d->multiplies || is_of_vectors(d))
        w->units =
            uk_bench_terms(k, d, &sizes) * w->step / (w->size ? (double)*bench_size(&sizes, w->size) : 1);
    w->times = has(d, 'T') ? (double)*bench_size(&sizes, 'T') : has(d, 'R') ? w->units : 1;
    return UK_EXIT_OK;
}

static void put_arguments(struct uk_text *t, const struct work *w) {
    const struct bench_declaration *d = &w->declaration;

    for (int i = 0, word = 0; i < d->parameters; i++) {
        const struct bench_parameter *p = &d->parameter[i];

        uk_put(t, "%s", i ? ", " : "");
        if (p->tensor >= 0)
            uk_put(t, "(void *)memory[%d]", p->tensor);
        else if (p->tensor == BENCH_SCALAR)
            uk_put(t, "2");
        else if (w->size && p->value.name[0] == w->size)
            uk_put(t, "steps");
        else
            uk_put(t, "%" PRId64, w->arguments.word[word]);
        word += p->tensor != BENCH_SCALAR;
    }
}

/* Generates a program that calls the kernel on zeros. Its argument is the value of the loop's size, or the
 * number of calls. */
static int put_runner(struct uk_text *t, const struct uk_kernel *k, const struct work *w) {
    uk_runner_put_runtime(t, 1);
    uk_put(t,
           "#include <stdint.h>\n#include <stdlib.h>\nvoid %s%s;\n"
           "static _Alignas(64) char memory[%d][32 << 20];\nstatic int64_t steps;\n"
           "static int32_t call(void) {\n    %s%s(",
           uk_kernel_symbol(k), uk_kernel_parameters(k), w->declaration.tensors,
           w->size ? "" : "for (int64_t i = 0; i < steps; i++)\n        ", uk_kernel_symbol(k));
    put_arguments(t, w);
    uk_put(t,
           ");\n    return 0;\n}\nint main(int argc, char **argv) {\n"
           "    steps = argc >= 2 ? atoll(argv[1]) : 0;\n    return %s;\n}\n",
           uk_board_in_use() ? "uk_timing(call, argv + 2)" : "call()");
    return t->failed ? uk_complain(UK_EXIT_WRONG, "out of memory") : UK_EXIT_OK;
}

/* The three runs: no steps, few, many. */
enum { NONE, SOME, ALL, RUNS };
static const int steps_of[RUNS] = {0, FEW, MANY};

static double per_step(int64_t few, int64_t many) {
    return (double)(many - few) / (MANY - FEW);
}

/* Prints the counts per step. Generic C kernels have no stated number of multiply-add instructions, as it
 * depends on the architecture. */
static void print_steps(const struct uk_kernel *k, const struct work *w,
                        const struct uk_emulated_counts runs[RUNS]) {
    const double step = per_step(runs[SOME].instructions, runs[ALL].instructions);

    printf("%-34s %9.3f instructions per step, ", uk_kernel_symbol(k), step);
    if (strcmp(uk_kernel_arch(k), "any") && uk_kernel_fma(k) > 0)
        printf("%5.1f %% of them multiply-adds, ", 100 * uk_kernel_fma(k) * w->times / step);
    printf("%8.5f for each %s; %" PRId64 " without a step\n", step / w->units, w->unit,
           runs[NONE].instructions);
}

static void print_histogram(const struct uk_emulated_counts runs[RUNS]) {
    const char *between = "    per step: ";

    for (int i = 0; i < runs[ALL].lines; i++) {
        const struct uk_count *line = &runs[ALL].line[i];
        const double n = per_step(uk_counts_of(&runs[SOME], line->mnemonic), line->count);

        if (n > 0) {
            printf("%s%.3f %s", between, n, line->mnemonic);
            between = ", ";
        }
    }
    printf("\n");
}

static void print_cycles(const struct uk_kernel *k, const struct work *w,
                         const struct uk_emulated_counts runs[RUNS]) {
    const double step = per_step(runs[SOME].cycles, runs[ALL].cycles);

    if (strcmp(uk_kernel_isa(k), "rvp"))
        printf("    no estimate of cycles: the latencies of its instructions are not known\n");
    else
        printf("    estimate by the example core of the draft: %.3f cycles per step, %.5f for each %s\n",
               step, step / w->units, w->unit);
}

/* Times the kernel on the board; nothing is counted. */
static int time_kernel(struct uk_emulation *e, const struct uk_kernel *k, const struct work *w,
                       const struct uk_arguments *a) {
    const int steps = 4 * FEW * w->step, flops = w->declaration.multiplies ? 2 : 1;
    const struct uk_timing how = {
        .rounds = 7, .cooldown = (int)a->cooldown, .flops = flops * w->units * steps / w->step};
    struct uk_board_times times;
    char argument[32];

    snprintf(argument, sizeof argument, "%d", steps);
    const int status = uk_emulation_time(e, argument, &how, &times);
    if (!status) {
        printf("%-34s ", uk_kernel_symbol(k));
        uk_board_times_print(&times, &how, 0);
    }
    return status;
}

static int count_runs(struct uk_emulation *e, const struct uk_kernel *k, const struct work *w, bool cycles,
                      struct uk_emulated_counts runs[RUNS]) {
    int status = UK_EXIT_OK;

    for (int i = 0; i < RUNS && !status; i++) {
        char argument[32];

        snprintf(argument, sizeof argument, "%d", steps_of[i] * w->step);
        status = uk_emulation_count(e, uk_kernel_symbol(k), argument, cycles, &runs[i]);
    }
    return status;
}

static int count_kernel(struct uk_context *c, const struct uk_kernel *k, const struct work *w,
                        const struct uk_arguments *a) {
    struct uk_text runner = {0};
    struct uk_emulation *e = NULL;
    struct uk_emulated_counts runs[RUNS] = {{0}};
    char *assembly;
    size_t length;
    const enum uk_status s = uk_kernel_emit(c, k, a->target, UK_EMIT_ASM, &assembly, &length);

    if (s) {
        fprintf(stderr, "%s\n", uk_context_message(c));
        return UK_EXIT_WRONG;
    }
    int status = put_runner(&runner, k, w);
    if (!status)
        status = uk_emulation_open_kernel(&e, a->target, runner.text, assembly);
    if (!status && uk_board_in_use())
        status = time_kernel(e, k, w, a);
    else if (!status)
        status = count_runs(e, k, w, a->cycles, runs);
    if (!status && !uk_board_in_use())
        print_steps(k, w, runs);
    if (!status && a->histogram)
        print_histogram(runs);
    if (!status && a->cycles)
        print_cycles(k, w, runs);
    for (int i = 0; i < RUNS; i++)
        uk_counts_free(&runs[i]);
    uk_emulation_end(e);
    uk_text_free(assembly);
    free(runner.text);
    return status;
}

/* Handles one row, named or not; increments *left_out if it cannot be counted. */
static int count_row(struct uk_context *c, const struct uk_kernel *k, const struct uk_arguments *a,
                     int *left_out) {
    char lacking[64];
    struct work w;

    if (!k)
        return UK_EXIT_USAGE;
    const int status = find_work(k, &w);
    if (status)
        return status;
    if (w.units == 0 && a->positionals)
        return uk_complain(
            UK_EXIT_WRONG,
            "%s is neither a product nor a vector operation; only these can be counted or timed",
            uk_kernel_symbol(k));
    if (w.units > 0 && (a->positionals || !uk_kernel_fits(c, k, a->target, lacking, sizeof lacking)))
        return count_kernel(c, k, &w, a);
    ++*left_out;
    return UK_EXIT_OK;
}

int uk_bench_count(const struct uk_arguments *a) {
    if (a->cycles && !uk_is_simulated(a->target))
        return uk_complain(UK_EXIT_USAGE, "--cycles: latencies are known of RISC-V P only; use "
                                          "--target=riscv64-p, or --static for cores that LLVM models");

    struct uk_context *c = uk_context_create();
    int left_out = 0, status = c ? UK_EXIT_OK : uk_complain(UK_EXIT_WRONG, "out of memory");
    const int wanted = a->positionals ? a->positionals : uk_kernel_count();

    for (int i = 0; i < wanted && !status; i++)
        status =
            count_row(c, a->positionals ? uk_kernel_named(a->positional[i]) : uk_kernel_at(i), a, &left_out);
    if (left_out)
        fprintf(stderr, "%d kernels left out: neither products nor vector operations, or not for %s\n",
                left_out, a->target);
    uk_context_destroy(c);
    return status;
}
