/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uk bench --target=TARGET, for another architecture: instructions that a kernel executes, counted by a plugin of
 * qemu-user's, for each step of k and each multiply-add, or each element of vectors; on request by mnemonic, and as cycles
 * of the core whose latencies RISC-V P's draft lists. That says nothing of time.
 *
 * With --remote=HOST the kernel is timed there instead.
 *
 * The kernel runs on a whole tile with two numbers of steps; the difference is the loop's, all of it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emulate/emulate.h"
#include "registry/operation.h"
#include "remote/remote.h"
#include "uk_bench.h"

/* Multiples of every kernel's steps a turn; LD: elements between rows, of all matrices,
 * which does not put them into the same sets of a cache. */
enum { FEW = 64, MANY = 576, LD = 2064 };

/* What a kernel goes through: the parameter that says how far, how much of it is a step, and what each step does so many of. */
struct work {
    const char *parameter; /* NULL: a call is a step */
    int step;
    const char *unit;
    double units; /* 0: it is neither a product nor one of vectors */
};

static struct work work_of(const struct uk_kernel *k) {
    const int window = uk_kernel_operation(k)->window;
    struct work w = {"k", uk_kernel_kr(k), "multiply-add", 0};

    switch (uk_kernel_operation(k)->form) {
    case UK_OP_DEPTHWISE_WINDOW:
        w = (struct work){NULL, 1, "multiply-add",
                          (double)window * window * uk_kernel_mr(k) * uk_kernel_nr(k)};
        break;
    case UK_OP_DEPTHWISE_CHANNELS:
        w = (struct work){NULL, 1, "multiply-add", 9.0 * uk_kernel_mr(k) * uk_kernel_nr(k)};
        break;
    case UK_OP_GEMV_N:
        w.units = (double)uk_kernel_mr(k) * uk_kernel_kr(k);
        break;
    case UK_OP_GEMV_T:
        w.units = uk_kernel_nr(k);
        break;
    case UK_OP_PANELS:
    case UK_OP_RA:
    case UK_OP_RUNS:
    case UK_OP_RAB:
    case UK_OP_SAB:
    case UK_OP_RAP:
    case UK_OP_SMALL:
    case UK_OP_SMALL_TA:
    case UK_OP_NT:
    case UK_OP_SHARED:
    case UK_OP_DEPTHWISE:
    case UK_OP_DEPTHWISE_ROW:
        w.units = (double)uk_kernel_mr(k) * uk_kernel_nr(k) * uk_kernel_kr(k);
        break;
    case UK_OP_DOT:
        w.units = 1;
        break;
    case UK_OP_AXPY:
        w = (struct work){"n", 1, "multiply-add", 1};
        break;
    case UK_OP_ADD_VECTOR:
        w = (struct work){NULL, 1, "element", uk_kernel_nr(k)};
        break;
    case UK_OP_ADD:
        w = (struct work){"n", 1, "element", 1};
        break;
    default:
        break;
    }
    return w;
}

/* What the call passes for the parameter from `begin` to `end`. False: no value is known. */
static bool put_argument(struct uk_text *t, const struct uk_kernel *k, const char *begin, const char *end,
                         int *pointers) {
    static const char *const names[] = {"m", "mr", "n", "nr", "acc", "ahead", "alpha", "r", "s"};
    const int64_t values[] = {
        uk_kernel_mr(k), uk_kernel_mr(k), uk_kernel_nr(k), uk_kernel_nr(k), 1, 0, 2, 3, 3};
    const char *parameter = work_of(k).parameter;
    const char *name = end;

    while (name > begin && name[-1] != ' ' && name[-1] != '*')
        name--;
    const size_t n = (size_t)(end - name);
    if (memchr(begin, '*', (size_t)(end - begin))) {
        uk_put(t, "(void *)memory[%d]", (*pointers)++);
        return true;
    }
    if (parameter && strlen(parameter) == n && !strncmp(parameter, name, n)) {
        uk_put(t, "steps");
        return true;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && !strncmp(names[i], name, n)) {
            uk_put(t, "%" PRId64, values[i]);
            return true;
        }
    if (strncmp(name, "ld", 2) && strncmp(name, "cs", 2))
        return false;
    uk_put(t, "%d", *name == 'l' ? LD : 1);
    return true;
}

/* A program that calls the kernel, on zeros, with its argument for the parameter of its steps, or so often. */
static int put_runner(struct uk_text *t, const struct uk_kernel *k) {
    const char *p = uk_kernel_parameters(k) + 1, *between = "";
    int pointers = 0;

    uk_runner_put_runtime(t, 1);
    uk_put(t,
           "#include <stdint.h>\n#include <stdlib.h>\nvoid %s%s;\n"
           "static _Alignas(64) char memory[6][16 << 20];\nstatic int64_t steps;\n"
           "static int32_t call(void) {\n    %s%s(",
           uk_kernel_symbol(k), uk_kernel_parameters(k),
           work_of(k).parameter ? "" : "for (int64_t i = 0; i < steps; i++)\n        ", uk_kernel_symbol(k));
    for (size_t n; (n = strcspn(p, ",)")); p += n + 1, p += strspn(p, " ")) {
        uk_put(t, "%s", between);
        between = ", ";
        if (!put_argument(t, k, p, p + n, &pointers))
            return uk_complain(UK_EXIT_WRONG,
                               "%s: no value for its parameter '%.*s'; add one to uk_bench_count.c",
                               uk_kernel_symbol(k), (int)n, p);
        if (p[n] == ')')
            break;
    }
    uk_put(t,
           ");\n    return 0;\n}\nint main(int argc, char **argv) {\n"
           "    steps = argc >= 2 ? atoll(argv[1]) : 0;\n    return %s;\n}\n",
           uk_board_in_use() ? "uk_timing(call, argv + 2)" : "call()");
    return t->failed ? uk_complain(UK_EXIT_WRONG, "out of memory") : UK_EXIT_OK;
}

/* Without steps, with few and with many. */
enum { NONE, SOME, ALL, RUNS };
static const int steps_of[RUNS] = {0, FEW, MANY};

static double per_step(int64_t few, int64_t many) {
    return (double)(many - few) / (MANY - FEW);
}

/* A row for every architecture states its instructions for none in particular. */
static void print_steps(const struct uk_kernel *k, const struct uk_emulated_counts runs[RUNS]) {
    const struct work w = work_of(k);
    const double step = per_step(runs[SOME].instructions, runs[ALL].instructions);

    printf("%-34s %9.3f instructions a step, ", uk_kernel_symbol(k), step);
    if (strcmp(uk_kernel_arch(k), "any") && uk_kernel_fma(k) > 0)
        printf("%5.1f %% of them multiply-adds, ", 100 * uk_kernel_fma(k) / step);
    printf("%8.5f for each %s; %" PRId64 " without steps\n", step / w.units, w.unit, runs[NONE].instructions);
}

static void print_histogram(const struct uk_emulated_counts runs[RUNS]) {
    const char *between = "    in a step: ";

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

static void print_cycles(const struct uk_kernel *k, const struct uk_emulated_counts runs[RUNS]) {
    const double step = per_step(runs[SOME].cycles, runs[ALL].cycles);

    if (strcmp(uk_kernel_isa(k), "rvp"))
        printf("    no estimate of cycles: rvp.def has no latencies of its instructions\n");
    else
        printf("    estimate by the example core of the draft: %.3f cycles a step, %.5f for each %s\n", step,
               step / work_of(k).units, work_of(k).unit);
}

/* On a board nothing is counted. */
static int time_kernel(struct uk_emulation *e, const struct uk_kernel *k, const struct uk_arguments *a) {
    const struct work w = work_of(k);
    const int steps = 4 * FEW * w.step, flops = strcmp(w.unit, "element") ? 2 : 1;
    const struct uk_timing how = {
        .rounds = 7, .cooldown = (int)a->cooldown, .flops = flops * w.units * steps / w.step};
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

static int count_runs(struct uk_emulation *e, const struct uk_kernel *k, bool cycles,
                      struct uk_emulated_counts runs[RUNS]) {
    int status = UK_EXIT_OK;

    for (int i = 0; i < RUNS && !status; i++) {
        char argument[32];

        snprintf(argument, sizeof argument, "%d", steps_of[i] * work_of(k).step);
        status = uk_emulation_count(e, uk_kernel_symbol(k), argument, cycles, &runs[i]);
    }
    return status;
}

static int count_kernel(struct uk_context *c, const struct uk_kernel *k, const struct uk_arguments *a) {
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
    int status = put_runner(&runner, k);
    if (!status)
        status = uk_emulation_open_kernel(&e, a->target, runner.text, assembly);
    if (!status && uk_board_in_use())
        status = time_kernel(e, k, a);
    else if (!status)
        status = count_runs(e, k, a->cycles, runs);
    if (!status && !uk_board_in_use())
        print_steps(k, runs);
    if (!status && a->histogram)
        print_histogram(runs);
    if (!status && a->cycles)
        print_cycles(k, runs);
    for (int i = 0; i < RUNS; i++)
        uk_counts_free(&runs[i]);
    uk_emulation_end(e);
    uk_text_free(assembly);
    free(runner.text);
    return status;
}

/* One row, named or not. *left_out grows if it is not counted. */
static int count_row(struct uk_context *c, const struct uk_kernel *k, const struct uk_arguments *a,
                     int *left_out) {
    char lacking[64];

    if (!k)
        return UK_EXIT_USAGE;
    if (work_of(k).units == 0 && a->positionals)
        return uk_complain(
            UK_EXIT_WRONG,
            "%s is neither a product nor one of vectors, whose instructions a step are counted, or timed",
            uk_kernel_symbol(k));
    if (work_of(k).units > 0 && (a->positionals || !uk_kernel_fits(c, k, a->target, lacking, sizeof lacking)))
        return count_kernel(c, k, a);
    ++*left_out;
    return UK_EXIT_OK;
}

int uk_bench_count(const struct uk_arguments *a) {
    if (a->cycles && !uk_is_simulated(a->target))
        return uk_complain(UK_EXIT_USAGE,
                           "--cycles: latencies are listed of RISC-V P's instructions alone; take "
                           "--target=riscv64-p, or for cores that LLVM models --static");

    struct uk_context *c = uk_context_create();
    int left_out = 0, status = c ? UK_EXIT_OK : uk_complain(UK_EXIT_WRONG, "out of memory");
    const int wanted = a->positionals ? a->positionals : uk_kernel_count();

    for (int i = 0; i < wanted && !status; i++)
        status =
            count_row(c, a->positionals ? uk_kernel_named(a->positional[i]) : uk_kernel_at(i), a, &left_out);
    if (left_out)
        fprintf(stderr, "%d kernels left out: neither products nor of vectors, or not for %s\n", left_out,
                a->target);
    uk_context_destroy(c);
    return status;
}
