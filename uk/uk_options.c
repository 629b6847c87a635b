/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of uk and their options. */
#include <stddef.h>
#include <string.h>
#include "uk_options.h"

enum {
    RUN = 1,
    COMPILE = 2,
    EXPLAIN = 4,
    KERNELS = 8,
    SHOW = 16,
    BENCH = 32,
    VERIFY = 64,
    TUNE = 128,
    GEMM = 256,
    HELP = 512
};
enum { PROGRAMS = RUN | COMPILE | EXPLAIN | TUNE };

const struct uk_command uk_commands[] = {
    {"run", RUN, 1, 1, "FILE", "<file>", "compile a program, run it, and check or time it", uk_command_run},
    {"compile", COMPILE, 1, INT32_MAX, "FILE...", "<file>",
     "compile a program to its schedule, loops, LLVM IR, assembly, object or header", uk_command_compile},
    {"explain", EXPLAIN, 1, 1, "FILE", "<file>", "print which kernels fit a program, and why others do not",
     uk_command_explain},
    {"tune", TUNE, 1, 1, "FILE", "<file>", "look for a schedule that is faster than the automatic one",
     uk_command_tune},
    {"verify", VERIFY, 0, 1, "[FILE|KERNEL]", "<file> <kernel>",
     "compare the machine code of kernels with their declarations", uk_command_verify},
    {"kernels", KERNELS, 0, 0, "", NULL, "list the kernels, and which of them run here", uk_command_kernels},
    {"show", SHOW, 1, 1, "KERNEL", "<kernel>",
     "print one kernel: what it computes, its assembly, its LLVM IR", uk_command_show},
    {"gemm", GEMM, 3, 3, "M N K", NULL, "say how uk_sgemm or uk_dgemm computes a product of this shape",
     uk_command_gemm},
    {"bench", BENCH, 0, INT32_MAX, "[gemm | KERNEL...]", "gemm <kernel> <file>",
     "time kernels alone, or uk_sgemm beside other libraries", uk_command_bench},
    {"help", HELP, 0, 1, "[COMMAND]", "<command>", "print what a command does, and its options",
     uk_command_help},
    {0},
};

#define FIELD(name) offsetof(struct uk_arguments, name)

const struct uk_option uk_options[] = {
    {"--define", "NAME=VALUE", UK_OPTION_BINDING, PROGRAMS | BENCH, 0, 0, NULL,
     "make a size a constant; it is then no argument of the function"},
    {"--size", "NAME=VALUE", UK_OPTION_BINDING, PROGRAMS | BENCH, 0, 0, NULL,
     "the value that run and tune call the function with; a hint to automatic schedules"},
    {"--target", "TARGET", UK_OPTION_TEXT, PROGRAMS | VERIFY | KERNELS | SHOW, FIELD(target), 0, "<target>",
     "native (default), x86_64-avx2, aarch64-neon+dotprod, cortex-a76, armv7-neon, ... or interp"},
    {"--target", "TARGET", UK_OPTION_TEXT, BENCH, FIELD(target), 0, "<target>",
     "kernels: of another architecture, count the instructions that they execute, under qemu"},
    {"--device", "WHERE", UK_OPTION_CHOICE, RUN, FIELD(device), 0, "interp gpu sim",
     "interp: interpret the scheduled loops, and report races; of a GPU's target, gpu or its simulator"},
    {"--schedule", "FILE", UK_OPTION_TEXT, PROGRAMS, FIELD(schedule), 0, "<file>",
     "take the steps from this file instead of the program's own"},
    {"--threads", "N", UK_OPTION_COUNT, PROGRAMS | BENCH | GEMM, FIELD(threads), 1024, NULL,
     "threads; more than 1 lets automatic schedules make a loop parallel"},
    {"--all", NULL, UK_OPTION_FLAG, EXPLAIN, FIELD(all), 0, NULL,
     "every candidate kernel, not only the nearest ten"},
    {"--require-kernels", NULL, UK_OPTION_FLAG, PROGRAMS, FIELD(require_kernels), 0, NULL,
     "an error where no kernel fits, instead of plain loops and a note"},
    {"--name", "NAME", UK_OPTION_TEXT, PROGRAMS, FIELD(name), 0, NULL,
     "name of the generated function (default: the file's; for standard input, program)"},
    {"--emit", "WHAT", UK_OPTION_CHOICE, COMPILE, FIELD(emit), 0,
     "schedule loops llvm linked optimized asm object header shared device host",
     "schedule, loops, llvm, linked, optimized, asm, object (default), header, shared, device or host"},
    {"-o", "OUT", UK_OPTION_TEXT, COMPILE | SHOW | TUNE, FIELD(out), 0, "<file>",
     "write to this file, only if all went well (default: standard output)"},
    {"--check", NULL, UK_OPTION_FLAG, RUN, FIELD(check), 0, NULL,
     "compare every element with the interpreter's, exactly"},
    {"--time", NULL, UK_OPTION_FLAG, RUN, FIELD(time), 0, NULL,
     "measure: compile stages, speed, share of the peak, ratio to installed peers"},
    {"--count", NULL, UK_OPTION_FLAG, RUN, FIELD(count), 0, NULL,
     "for another architecture: count all instructions of the call, under the emulator or in the "
     "simulator"},
    {"--histogram", NULL, UK_OPTION_FLAG, RUN, FIELD(histogram), 0, NULL,
     "the same, by function and by mnemonic, too"},
    {"--seed", "N", UK_OPTION_SEED, VERIFY | TUNE, FIELD(seed), 0, NULL,
     "seed of random choices (default: 0)"},
    {"--workspace", "WHERE", UK_OPTION_CHOICE, COMPILE, FIELD(workspace), 0, "allocate argument",
     "allocate (default), or argument: the function takes its memory as its last argument"},
    {"--time", NULL, UK_OPTION_FLAG, COMPILE, FIELD(time), 0, NULL,
     "print what each stage took, on standard error"},
    {"--seconds", "N", UK_OPTION_COUNT, VERIFY, FIELD(time_limit), 86400, NULL,
     "CPU time that one call may take (default: 60)"},
    {"--time-limit", "SECONDS", UK_OPTION_COUNT, TUNE, FIELD(time_limit), 86400, NULL,
     "how long to search (default: 60; with --trials: no limit)"},
    {"--time-limit", "SECONDS", UK_OPTION_COUNT, BENCH, FIELD(time_limit), 86400, NULL,
     "gemm: take fewer samples, and stop then"},
    {"--set", "NAME,...", UK_OPTION_TEXT, BENCH, FIELD(set), 0, NULL, "gemm: these sets of shapes only"},
    {"--shapes", "FILE", UK_OPTION_TEXT, BENCH, FIELD(shapes), 0, "<file>",
     "gemm: shapes from a file like bench/shapes.txt"},
    {"--type", "TYPE", UK_OPTION_CHOICE, BENCH | GEMM, FIELD(type), 0, "f32 f64",
     "gemm: f32 (default) or f64"},
    {"--explain", NULL, UK_OPTION_FLAG, GEMM, FIELD(explain), 0, NULL,
     "print path, kernel, blocking and threads of such a call"},
    {"--layout", "LAYOUT", UK_OPTION_CHOICE, GEMM, FIELD(layout), 0, "row column", "row (default) or column"},
    {"--ta", "T", UK_OPTION_CHOICE, GEMM, FIELD(ta), 0, "n t", "A: n (default), or t if it is transposed"},
    {"--tb", "T", UK_OPTION_CHOICE, GEMM, FIELD(tb), 0, "n t", "B: n (default), or t if it is transposed"},
    {"--peers", "NAME,...", UK_OPTION_TEXT, BENCH, FIELD(peers), 0, NULL,
     "gemm: these libraries only, by the beginnings of their names; or none"},
    {"--trials", "N", UK_OPTION_COUNT, TUNE, FIELD(trials), 1000000, NULL,
     "measure at most so many schedules"},
    {"--trial-limit", "SECONDS", UK_OPTION_COUNT, TUNE, FIELD(trial_limit), 86400, NULL,
     "of CPU time for one schedule (default: a quarter of --time-limit, 1 to 30)"},
    {"--log", "FILE", UK_OPTION_TEXT, TUNE, FIELD(log), 0, "<file>",
     "add every trial to this file, and go on from those that it has"},
    {"--doc", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL,
     "what the kernel's source says about it (default)"},
    {"--declaration", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL,
     "what it computes, in the language of programs"},
    {"--asm", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL,
     "its bitcode, compiled for its instruction set"},
    {"--llvm", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL, "its bitcode as LLVM IR"},
    {"--bitcode", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL, "its bitcode; needs -o"},
    {"--static", NULL, UK_OPTION_FLAG, BENCH, FIELD(is_static), 0, NULL,
     "kernels: what llvm-mca says of the inner loop, on cores of its architecture or on --target=CORE; on a "
     "GPU, programs too"},
    {"--histogram", NULL, UK_OPTION_FLAG, BENCH, FIELD(histogram), 0, NULL,
     "kernels, with --target: the instructions of a step by mnemonic, too"},
    {"--cycles", NULL, UK_OPTION_FLAG, BENCH, FIELD(cycles), 0, NULL,
     "kernels, with --target=riscv64-p: cycles by the latencies of the draft's example core, an estimate"},
    {"--json", "FILE.json", UK_OPTION_JSON, BENCH, 0, 0, "<file>",
     "Google Benchmark's schema, for its compare tools; without a file: on standard output"},
    {"--compare", "OLD.json", UK_OPTION_TEXT, BENCH, FIELD(compare), 0, "<file>",
     "compare with that run, and list what is slower beyond noise"},
    {"--completion", NULL, UK_OPTION_FLAG, HELP, FIELD(completion), 0, NULL,
     "print the completion of commands, options and kernels for bash"},
    {0},
};

const struct uk_command *uk_command_named(const char *name) {
    for (const struct uk_command *c = uk_commands; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}
