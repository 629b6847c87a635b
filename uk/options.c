/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of uk's commands and options. */
#include <stddef.h>
#include <string.h>
#include "options.h"

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
    HELP = 512,
    MACHINE = 1024
};
enum { OF_PROGRAMS = UK_OF_PROGRAMS, OF_NETWORKS = UK_OF_NETWORKS };
enum { REMOTE = RUN | TUNE | VERIFY | BENCH | KERNELS };
enum { PROGRAMS = RUN | COMPILE | EXPLAIN | TUNE };

const struct uk_command uk_commands[] = {
    {"run", RUN, 1, 1, "FILE", "<file>", "compile a program or network, run it, and check or time it",
     uk_command_run, uk_run_network},
    {"compile", COMPILE, 1, INT32_MAX, "FILE...", "<file>",
     "compile a program or network to its schedule, loops, LLVM IR, assembly, object or header",
     uk_command_compile, uk_compile_network},
    {"explain", EXPLAIN, 1, 1, "FILE", "<file>", "print which kernels fit a program, and why others do not",
     uk_command_explain, uk_explain_network},
    {"tune", TUNE, 1, 1, "FILE", "<file>",
     "search for a faster schedule than the automatic one, for a program or each layer of a network",
     uk_command_tune, uk_tune_network},
    {"verify", VERIFY, 0, 1, "[FILE|KERNEL]", "<file> <kernel>",
     "compare the machine code of kernels with their declarations", uk_command_verify, NULL},
    {"kernels", KERNELS, 0, 1, "[OPERATION]", "<operation>",
     "list the kernels, all or of one operation, and which of them run here", uk_command_kernels, NULL},
    {"show", SHOW, 1, 1, "KERNEL", "<kernel>",
     "print one kernel: what it computes, its assembly, its LLVM IR", uk_command_show, NULL},
    {"gemm", GEMM, 3, 3, "M N K", NULL,
     "explain how uk_sgemm or uk_dgemm computes a product of this shape: path, kernel, blocks, threads",
     uk_command_gemm, NULL},
    {"machine", MACHINE, 0, 0, "", NULL,
     "print or measure the parameters of this core, its caches and memory", uk_command_machine, NULL},
    {"bench", BENCH, 0, INT32_MAX, "[gemm | conv | ops | networks MODEL... | KERNEL...]",
     "gemm conv ops networks <kernel> <file>",
     "time single kernels, or compare products, convolutions, operators or networks with other libraries",
     uk_command_bench, NULL},
    {"help", HELP, 0, 1, "[COMMAND | targets]", "<command> targets",
     "print what a command does and its options, or list the targets and their cores", uk_command_help, NULL},
    {0},
};

#define FIELD(name) offsetof(struct uk_arguments, name)

const struct uk_option uk_options[] = {
    {"--define", "NAME=VALUE", UK_OPTION_BINDING, PROGRAMS | BENCH | OF_PROGRAMS, 0, 0, NULL,
     "compile this size as a constant, so that the function has no argument for it; repeatable"},
    {"--size", "NAME=VALUE", UK_OPTION_BINDING, PROGRAMS | BENCH, 0, 0, NULL,
     "call the function with this value, and choose the automatic schedule for it; network: "
     "NAME=LOWER..UPPER "
     "or NAME=LOWER..UPPER:STEP leaves a dimension open, and a value besides is that of the run (default: "
     "the "
     "largest); repeatable"},
    {"--shape", "INPUT=N,N,...", UK_OPTION_LIST, PROGRAMS | OF_NETWORKS, 0, 0, NULL,
     "network: shape of an input whose dimensions are not fixed in the file; repeatable"},
    {"--constant", "INPUT=FILE", UK_OPTION_LIST, PROGRAMS | OF_NETWORKS, 0, 0, "<file>",
     "network: fix an input, on whose value shapes depend, to that of a .npy or .pb file; repeatable"},
    {"--state", "INPUT=OUTPUT", UK_OPTION_LIST, PROGRAMS | BENCH | OF_NETWORKS, 0, 0, NULL,
     "network: an output that is the input with rows appended or replaced stays in the network's memory; "
     "auto: "
     "all whose names exporters pair; repeatable"},
    {"--input", "FILE", UK_OPTION_LIST, RUN | OF_NETWORKS, 0, 0, "<file>",
     "network: read the next input in the model's order, or by NAME=FILE the input NAME, as .npy, .pb or raw "
     "bytes (default: random values); repeatable"},
    {"--output", "FILE", UK_OPTION_LIST, RUN | OF_NETWORKS, 0, 0, "<file>",
     "network: write the next output in the model's order, as .npy or raw bytes; repeatable"},
    {"--layers", "DIR", UK_OPTION_TEXT, RUN | OF_NETWORKS, FIELD(layers), 0, "<file>",
     "network: write the result of each layer to this folder, as .npy in ONNX's order of dimensions"},
    {"--target", "TARGET", UK_OPTION_TEXT, PROGRAMS | VERIFY | KERNELS | SHOW, FIELD(target), 0, "<target>",
     "CPU or GPU to compile for; uk help targets lists them (default: native, this CPU)"},
    {"--target", "TARGET", UK_OPTION_TEXT, BENCH, FIELD(target), 0, "<target>",
     "kernels: count the instructions that each executes on this target of another architecture, under qemu"},
    {"--isa", "ISA", UK_OPTION_TEXT, KERNELS, FIELD(isa), 0, "<isa>",
     "list only kernels of this instruction set, named as in the column isa"},
    {"--device", "WHERE", UK_OPTION_CHOICE, RUN, FIELD(device), 0, "interp gpu sim",
     "run on: interp, the interpreter of the scheduled loops, which reports races; for a GPU target gpu, or "
     "sim, its simulator"},
    {"--remote", "HOST", UK_OPTION_TEXT, REMOTE, FIELD(remote), 0, NULL,
     "run on the machine [USER@]HOST[:PORT] by ssh, and delete all files there afterwards; tune: also on "
     "several, A,B,..."},
    {"--ssh", "COMMAND", UK_OPTION_TEXT, REMOTE, FIELD(ssh), 0, NULL,
     "with --remote: connect by this command, for instance 'ssh -F FILE' (default: $UK_SSH, or ssh)"},
    {"--remote-dir", "DIR", UK_OPTION_TEXT, REMOTE, FIELD(remote_dir), 0, NULL,
     "with --remote: folder on that machine for temporary files (default: its $TMPDIR, or /tmp)"},
    {"--remote-prefix", "COMMAND", UK_OPTION_TEXT, REMOTE, FIELD(remote_prefix), 0, NULL,
     "with --remote: put this command before each program that is run there, for instance 'taskset -c 3'"},
    {"--remote-keep", NULL, UK_OPTION_FLAG, REMOTE, FIELD(remote_keep), 0, NULL,
     "with --remote: keep programs there, in ~/.cache/ukernels, so that each is uploaded only once"},
    {"--schedule", "FILE", UK_OPTION_TEXT, PROGRAMS, FIELD(schedule), 0, "<file>",
     "take the schedule from this file instead of the program; network: a file written by uk tune"},
    {"--threads", "N", UK_OPTION_COUNT, PROGRAMS | BENCH | GEMM, FIELD(threads), 1024, NULL,
     "number of threads; automatic schedules have parallel loops if it is above 1 (default: all CPUs for "
     "run, else 1)"},
    {"--all", NULL, UK_OPTION_FLAG, EXPLAIN, FIELD(all), 0, NULL,
     "print every candidate kernel of each statement, not only the closest ten"},
    {"--require-kernels", NULL, UK_OPTION_FLAG, PROGRAMS, FIELD(require_kernels), 0, NULL,
     "fail if no kernel fits a statement or a copy (default: compile it as plain loops, with a note)"},
    {"--no-kernels", NULL, UK_OPTION_FLAG, RUN | COMPILE, FIELD(no_kernels), 0, NULL,
     "use no kernels in automatic schedules, only plain loops, as a baseline for comparisons"},
    {"--name", "NAME", UK_OPTION_TEXT, PROGRAMS, FIELD(name), 0, NULL,
     "name of the generated function, or of a network the prefix of its functions' names (default: made of "
     "the file's name; for standard input, program)"},
    {"--emit", "WHAT", UK_OPTION_CHOICE, COMPILE, FIELD(emit), 0,
     "schedule loops llvm linked optimized asm object header shared device host layers program kernel-inc",
     "kind of output: schedule, loops, llvm, linked, optimized, asm, object, header, shared, device or host; "
     "of a network also layers, program or kernel-inc (default: by the suffix of -o, else object)"},
    {"-o", "OUT", UK_OPTION_TEXT, COMPILE | SHOW | TUNE, FIELD(out), 0, "<file>",
     "file to write, only on success; compile: its suffix, .o .so .s .ll or .h, selects what (default: "
     "standard output)"},
    {"--constants", "FILE", UK_OPTION_TEXT, RUN | TUNE | OF_NETWORKS, FIELD(constants), 0, "<file>",
     "network for another architecture: write the constants, packed, to this file, which the emulator's "
     "program maps; they may then have more than 1 GiB"},
    {"--constants", "FILE", UK_OPTION_TEXT, COMPILE | OF_NETWORKS, FIELD(constants), 0, "<file>",
     "network: write the constants, packed, to this file instead of the object; the program passes them to "
     "NAME_constants, and they may have any length"},
    {"--check", "all", UK_OPTION_EXTENT, RUN, FIELD(check), FIELD(check_all), "all",
     "compare the results with the interpreter's; network: 4096 elements of each layer, or all elements with "
     "--check=all"},
    {"--time", NULL, UK_OPTION_FLAG, RUN, FIELD(time), 0, NULL,
     "print how long each stage of compilation takes, the speed of the code in absolute terms and as a share "
     "of the peak, and the speed of other libraries that are installed"},
    {"--cooldown", "SECONDS", UK_OPTION_COUNT, RUN | TUNE | BENCH, FIELD(cooldown), 3600, NULL,
     "with --remote: pause for this long before each sample, so that the board cools down"},
    {"--count", "layers", UK_OPTION_EXTENT, RUN, FIELD(count), FIELD(count_layers), "layers",
     "for another architecture or a GPU: count the instructions that the call executes, in an emulator or "
     "simulator; network: also of each layer with --count=layers"},
    {"--histogram", NULL, UK_OPTION_FLAG, RUN | OF_PROGRAMS, FIELD(histogram), 0, NULL,
     "as --count, and also count by function and by mnemonic"},
    {"--seed", "N", UK_OPTION_SEED, VERIFY | TUNE | BENCH, FIELD(seed), 0, NULL,
     "seed of the random choices; the same seed repeats them (default: 0)"},
    {"--sweep", "N", UK_OPTION_AMOUNT, BENCH, FIELD(sweep), FIELD(drawn), NULL,
     "gemm: measure drawn products (default: 60 general ones, 40 of few rows); conv: measure N drawn "
     "convolutions of each kind (default: 80 dense and 60 depthwise ones in f32, 60 of "
     "bytes); ops: measure N drawn shapes of each operator (default: 20); networks: draw N layers (default: "
     "40), and compare the number of instructions of each on "
     "RISC-V P "
     "with its lower bound"},
    {"--weights", "WHERE", UK_OPTION_CHOICE, BENCH, FIELD(weights), 0, "constant argument",
     "conv: weights are constant (default), and packed before the time is taken; or an argument of each "
     "call, "
     "which packs them"},
    {"--workspace", "WHERE", UK_OPTION_CHOICE, COMPILE | OF_PROGRAMS, FIELD(workspace), 0,
     "allocate argument",
     "where the function's temporary memory comes from: allocate (default), by malloc; or argument, from the "
     "caller by the last argument"},
    {"--time", NULL, UK_OPTION_FLAG, COMPILE, FIELD(time), 0, NULL,
     "print how long each stage of compilation takes, on standard error"},
    {"--seconds", "N", UK_OPTION_COUNT, VERIFY, FIELD(time_limit), 86400, NULL,
     "limit of the CPU time of one call of a kernel (default: 60)"},
    {"--measure", NULL, UK_OPTION_FLAG, MACHINE, FIELD(measure), 0, NULL,
     "measure each parameter by a microbenchmark, and print it next to the one of the built-in table"},
    {"--seconds", "N", UK_OPTION_COUNT, MACHINE, FIELD(time_limit), 60, NULL,
     "approximate duration of --measure; each parameter is measured at least once (default: 30)"},
    {"--list", NULL, UK_OPTION_FLAG, MACHINE, FIELD(list), 0, NULL,
     "list the cores of the built-in table: names for uk gemm --machine and, of this architecture, for "
     "UK_MACHINE"},
    {"--json", NULL, UK_OPTION_FLAG, MACHINE, FIELD(json), 0, NULL, "print the parameters as JSON"},
    {"--time-limit", "SECONDS", UK_OPTION_COUNT, TUNE, FIELD(time_limit), 86400, NULL,
     "duration of the search (default: 60, for a network 300; no limit if --trials is given)"},
    {"--time-limit", "SECONDS", UK_OPTION_COUNT, BENCH, FIELD(time_limit), 86400, NULL,
     "gemm, conv and ops: start no product, convolution or operator after this time; gemm: take fewer "
     "samples to be done by "
     "then"},
    {"--set", "NAME,...", UK_OPTION_TEXT, BENCH, FIELD(set), 0, NULL,
     "gemm and conv: measure only these sets of shapes; ops: only these operators"},
    {"--shapes", "FILE", UK_OPTION_TEXT, BENCH, FIELD(shapes), 0, "<file>",
     "gemm, conv and ops: read the shapes or operators from this file, in the format of bench/shapes.txt, "
     "bench/conv_shapes.txt or bench/ops/operators.txt"},
    {"--type", "TYPE", UK_OPTION_CHOICE, GEMM, FIELD(type), 0, "f32 f64",
     "element type of the product: f32 (default) or f64"},
    {"--type", "TYPE", UK_OPTION_CHOICE, BENCH, FIELD(type), 0, "f32 f64 u8i8 i8i8 bf16 f16 w4 w8 u8",
     "element type: f32 (default); gemm: f64, and with B packed beforehand u8i8 (A of u8, B of i8), i8i8, "
     "bf16, f16, w4, w8 (A of f32, B of weights of 4 or 8 bits); conv: u8i8, images of u8 and weights of i8; "
     "ops: only operators that have the type f32, f64, bf16, f16 or u8 (default: the types of their cases)"},
    {"--machine", "ROW", UK_OPTION_TEXT, GEMM, FIELD(machine), 0, NULL,
     "explain for another core, with its caches and instruction set; uk machine --list prints the names"},
    {"--plan", "PATH[,KERNEL[,KC]]", UK_OPTION_TEXT, GEMM, FIELD(plan), 0, NULL,
     NULL}, /* for measurements, hidden from the help */
    {"--layout", "LAYOUT", UK_OPTION_CHOICE, GEMM, FIELD(layout), 0, "row column",
     "storage order of all three matrices: row (default) or column"},
    {"--ta", "T", UK_OPTION_CHOICE, GEMM, FIELD(ta), 0, "n t", "n: A is not transposed (default); t: it is"},
    {"--tb", "T", UK_OPTION_CHOICE, GEMM, FIELD(tb), 0, "n t", "n: B is not transposed (default); t: it is"},
    {"--peers", "NAME,...", UK_OPTION_TEXT, BENCH, FIELD(peers), 0, NULL,
     "gemm, conv, ops and networks: compare only with libraries whose names begin with one of these, or with "
     "none"},
    {"--trials", "N", UK_OPTION_COUNT, TUNE, FIELD(trials), 1000000, NULL, "measure at most N schedules"},
    {"--trial-limit", "SECONDS", UK_OPTION_COUNT, TUNE, FIELD(trial_limit), 86400, NULL,
     "limit of the CPU time of one schedule (default: a quarter of --time-limit, at least 1 and at most 30)"},
    {"--log", "FILE", UK_OPTION_TEXT, TUNE, FIELD(log), 0, "<file>",
     "append every measurement to this file; a search that finds some there resumes from them"},
    {"--doc", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL,
     "print the kernel's documentation, which is the comment at the head of its source (default)"},
    {"--declaration", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL,
     "print the computation that the kernel performs, as a program in the language of uk.5"},
    {"--asm", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL,
     "print the kernel's assembly, compiled from its bitcode for its instruction set or for --target"},
    {"--llvm", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL, "print the kernel's bitcode as LLVM IR"},
    {"--bitcode", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL,
     "write the kernel's bitcode to the file of -o"},
    {"--static", NULL, UK_OPTION_FLAG, BENCH, FIELD(is_static), 0, NULL,
     "kernels: print llvm-mca's estimate of the inner loop on cores of the kernel's architecture, or on "
     "--target=CORE; for a GPU target of programs too"},
    {"--histogram", NULL, UK_OPTION_FLAG, BENCH, FIELD(histogram), 0, NULL,
     "kernels, with --target: also print the instructions per step by mnemonic"},
    {"--cycles", NULL, UK_OPTION_FLAG, BENCH, FIELD(cycles), 0, NULL,
     "kernels, with --target=riscv64-p: estimate cycles from the latencies of the example core in the draft "
     "specification"},
    {"--json", "FILE.json", UK_OPTION_JSON, BENCH, 0, 0, "<file>",
     "write the results in Google Benchmark's JSON format to this file, or without one to standard output"},
    {"--plot", "FILE.svg", UK_OPTION_TEXT, BENCH, FIELD(plot), 0, "<file>",
     "gemm and conv: plot by gnuplot the speed of each library, the peak and the roofline"},
    {"--compare", "OLD.json", UK_OPTION_TEXT, BENCH, FIELD(compare), 0, "<file>",
     "compare with the results of an earlier run, and list changes of speed above the noise"},
    {"--completion", NULL, UK_OPTION_FLAG, HELP, FIELD(completion), 0, NULL,
     "print a script that completes commands, options and kernels in bash"},
    {0},
};

const struct uk_command *uk_command_named(const char *name) {
    for (const struct uk_command *c = uk_commands; c->name; c++)
        if (!strcmp(c->name, name))
            return c;
    return NULL;
}
