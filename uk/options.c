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
     "look for a schedule that is faster than the automatic one, or for one of each layer of a network",
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
     "print what is known of this core and what lies behind it, and measure it", uk_command_machine, NULL},
    {"bench", BENCH, 0, INT32_MAX, "[gemm | networks MODEL... | KERNEL...]", "gemm networks <kernel> <file>",
     "time kernels alone, or uk_sgemm or networks beside other libraries", uk_command_bench, NULL},
    {"help", HELP, 0, 1, "[COMMAND | targets]", "<command> targets",
     "print what a command does and its options, or list the targets and their cores", uk_command_help, NULL},
    {0},
};

#define FIELD(name) offsetof(struct uk_arguments, name)

const struct uk_option uk_options[] = {
    {"--define", "NAME=VALUE", UK_OPTION_BINDING, PROGRAMS | BENCH | OF_PROGRAMS, 0, 0, NULL,
     "make a size a constant, which is then no argument of the function; repeatable"},
    {"--size", "NAME=VALUE", UK_OPTION_BINDING, PROGRAMS | BENCH, 0, 0, NULL,
     "call the function with this value, and choose the automatic schedule for it; repeatable"},
    {"--shape", "INPUT=N,N,...", UK_OPTION_LIST, PROGRAMS | OF_NETWORKS, 0, 0, NULL,
     "network: the shape of an input that the file leaves open; repeatable, as the next ones are"},
    {"--constant", "INPUT=FILE", UK_OPTION_LIST, PROGRAMS | OF_NETWORKS, 0, 0, "<file>",
     "network: the value of an input on which shapes depend, a .npy or .pb file; it is then no input"},
    {"--input", "FILE", UK_OPTION_LIST, RUN | OF_NETWORKS, 0, 0, "<file>",
     "network: the next input in the model's order, .npy, .pb or raw bytes; NAME=FILE: the input NAME "
     "(default: random)"},
    {"--output", "FILE", UK_OPTION_LIST, RUN | OF_NETWORKS, 0, 0, "<file>",
     "network: write the next output in the model's order, as .npy or raw bytes"},
    {"--layers", "DIR", UK_OPTION_TEXT, RUN | OF_NETWORKS, FIELD(layers), 0, "<file>",
     "network: write the result of each layer to this folder, as .npy in ONNX's order of dimensions"},
    {"--target", "TARGET", UK_OPTION_TEXT, PROGRAMS | VERIFY | KERNELS | SHOW, FIELD(target), 0, "<target>",
     "the CPU or GPU to compile for, as uk help targets lists them (default: native, this CPU)"},
    {"--target", "TARGET", UK_OPTION_TEXT, BENCH, FIELD(target), 0, "<target>",
     "kernels: count the instructions that they execute for this target of another architecture, under qemu"},
    {"--isa", "ISA", UK_OPTION_TEXT, KERNELS, FIELD(isa), 0, "<isa>",
     "list only kernels of this instruction set, as the column isa names it"},
    {"--device", "WHERE", UK_OPTION_CHOICE, RUN, FIELD(device), 0, "interp gpu sim",
     "interp: interpret the scheduled loops and report races; for a GPU's target: gpu, or sim for its "
     "simulator"},
    {"--remote", "HOST", UK_OPTION_TEXT, REMOTE, FIELD(remote), 0, NULL,
     "run on the machine [USER@]HOST[:PORT], by ssh, and leave nothing there; tune: on A,B,..."},
    {"--ssh", "COMMAND", UK_OPTION_TEXT, REMOTE, FIELD(ssh), 0, NULL,
     "with --remote: connect by this command, for instance 'ssh -F FILE' (default: $UK_SSH, or ssh)"},
    {"--remote-dir", "DIR", UK_OPTION_TEXT, REMOTE, FIELD(remote_dir), 0, NULL,
     "with --remote: the folder there in which a run makes its own (default: $TMPDIR there, or /tmp)"},
    {"--remote-prefix", "COMMAND", UK_OPTION_TEXT, REMOTE, FIELD(remote_prefix), 0, NULL,
     "with --remote: run programs there by this command, for instance 'taskset -c 3'"},
    {"--remote-keep", NULL, UK_OPTION_FLAG, REMOTE, FIELD(remote_keep), 0, NULL,
     "with --remote: keep programs there, in ~/.cache/ukernels, and upload each only once"},
    {"--schedule", "FILE", UK_OPTION_TEXT, PROGRAMS, FIELD(schedule), 0, "<file>",
     "take the steps from this file, not from the program; of a network: a file that uk tune wrote"},
    {"--threads", "N", UK_OPTION_COUNT, PROGRAMS | BENCH | GEMM, FIELD(threads), 1024, NULL,
     "threads; more than 1 lets automatic schedules make a loop parallel (default: run all CPUs, else 1)"},
    {"--all", NULL, UK_OPTION_FLAG, EXPLAIN, FIELD(all), 0, NULL,
     "print every candidate kernel of each statement, not only the closest ten"},
    {"--require-kernels", NULL, UK_OPTION_FLAG, PROGRAMS, FIELD(require_kernels), 0, NULL,
     "fail if no kernel fits a statement or a copy, instead of compiling plain loops with a note"},
    {"--no-kernels", NULL, UK_OPTION_FLAG, RUN | COMPILE, FIELD(no_kernels), 0, NULL,
     "compile the statements as plain loops where no schedule is written, to compare kernels with"},
    {"--name", "NAME", UK_OPTION_TEXT, PROGRAMS | OF_PROGRAMS, FIELD(name), 0, NULL,
     "name of the generated function (default: the file's; for standard input, program)"},
    {"--emit", "WHAT", UK_OPTION_CHOICE, COMPILE, FIELD(emit), 0,
     "schedule loops llvm linked optimized asm object header shared device host layers program kernel-inc",
     "schedule, loops, llvm, linked, optimized, asm, object, header, shared, device or host; of a network "
     "also "
     "layers, program or kernel-inc (default: by the ending of -o, else object)"},
    {"-o", "OUT", UK_OPTION_TEXT, COMPILE | SHOW | TUNE, FIELD(out), 0, "<file>",
     "write this file, whole and only on success; compile: .o .so .s .ll .h say what (default: standard "
     "output)"},
    {"--check", "all", UK_OPTION_EXTENT, RUN, FIELD(check), FIELD(check_all), "all",
     "compare every element with the interpreter's; of a network 4096 elements of each layer, with =all "
     "every one"},
    {"--time", NULL, UK_OPTION_FLAG, RUN, FIELD(time), 0, NULL,
     "print the time of each stage of compilation, the speed, its share of the peak, and installed peers' "
     "speed"},
    {"--cooldown", "SECONDS", UK_OPTION_COUNT, RUN | TUNE | BENCH, FIELD(cooldown), 3600, NULL,
     "with --remote: let the board rest for this long before each sample"},
    {"--count", "layers", UK_OPTION_EXTENT, RUN, FIELD(count), FIELD(count_layers), "layers",
     "for another architecture or a GPU: count all instructions of the call, under the emulator or in the "
     "simulator; of a network, with =layers those of each layer too"},
    {"--histogram", NULL, UK_OPTION_FLAG, RUN | OF_PROGRAMS, FIELD(histogram), 0, NULL,
     "as --count, and count by function and by mnemonic too"},
    {"--seed", "N", UK_OPTION_SEED, VERIFY | TUNE | BENCH, FIELD(seed), 0, NULL,
     "seed of random choices; the same seed makes the same ones (default: 0)"},
    {"--sweep", NULL, UK_OPTION_FLAG, BENCH, FIELD(sweep), 0, NULL,
     "networks: draw 40 layers, and compare their instructions on RISC-V P with the lower bound"},
    {"--workspace", "WHERE", UK_OPTION_CHOICE, COMPILE | OF_PROGRAMS, FIELD(workspace), 0,
     "allocate argument",
     "allocate (default), or argument: the function takes its memory as its last argument, and allocates "
     "none"},
    {"--time", NULL, UK_OPTION_FLAG, COMPILE, FIELD(time), 0, NULL,
     "print the time of each stage, on standard error"},
    {"--seconds", "N", UK_OPTION_COUNT, VERIFY, FIELD(time_limit), 86400, NULL,
     "CPU time that one call of a kernel may take (default: 60)"},
    {"--measure", NULL, UK_OPTION_FLAG, MACHINE, FIELD(measure), 0, NULL,
     "measure each fact by a microbenchmark, and print it next to the row's"},
    {"--seconds", "N", UK_OPTION_COUNT, MACHINE, FIELD(time_limit), 60, NULL,
     "about how long to measure; each fact is measured at least once (default: 30)"},
    {"--list", NULL, UK_OPTION_FLAG, MACHINE, FIELD(list), 0, NULL,
     "list the cores; UK_MACHINE takes one of this architecture, uk gemm --machine any"},
    {"--json", NULL, UK_OPTION_FLAG, MACHINE, FIELD(json), 0, NULL, "print the facts as JSON"},
    {"--time-limit", "SECONDS", UK_OPTION_COUNT, TUNE, FIELD(time_limit), 86400, NULL,
     "how long to search (default: 60, for a network 300; with --trials no limit)"},
    {"--time-limit", "SECONDS", UK_OPTION_COUNT, BENCH, FIELD(time_limit), 86400, NULL,
     "gemm: take fewer samples, and begin no product after this time"},
    {"--set", "NAME,...", UK_OPTION_TEXT, BENCH, FIELD(set), 0, NULL, "gemm: only these sets of shapes"},
    {"--shapes", "FILE", UK_OPTION_TEXT, BENCH, FIELD(shapes), 0, "<file>",
     "gemm: take the shapes from a file like bench/shapes.txt"},
    {"--type", "TYPE", UK_OPTION_CHOICE, BENCH | GEMM, FIELD(type), 0, "f32 f64",
     "the elements of a product: f32 (default) or f64"},
    {"--machine", "ROW", UK_OPTION_TEXT, GEMM, FIELD(machine), 0, NULL,
     "explain what another core would do, one that uk machine --list prints, with its caches and instruction "
     "set"},
    {"--way", "PATH[,KERNEL[,KC]]", UK_OPTION_TEXT, GEMM, FIELD(way), 0, NULL,
     NULL}, /* for measurements, hidden from the help */
    {"--layout", "LAYOUT", UK_OPTION_CHOICE, GEMM, FIELD(layout), 0, "row column",
     "order of all three matrices: row (default) or column"},
    {"--ta", "T", UK_OPTION_CHOICE, GEMM, FIELD(ta), 0, "n t",
     "A is not transposed, n (default), or transposed, t"},
    {"--tb", "T", UK_OPTION_CHOICE, GEMM, FIELD(tb), 0, "n t",
     "B is not transposed, n (default), or transposed, t"},
    {"--peers", "NAME,...", UK_OPTION_TEXT, BENCH, FIELD(peers), 0, NULL,
     "gemm: only libraries whose names begin so; or none"},
    {"--trials", "N", UK_OPTION_COUNT, TUNE, FIELD(trials), 1000000, NULL, "measure at most N schedules"},
    {"--trial-limit", "SECONDS", UK_OPTION_COUNT, TUNE, FIELD(trial_limit), 86400, NULL,
     "CPU time for one schedule (default: a quarter of --time-limit, 1 to 30)"},
    {"--log", "FILE", UK_OPTION_TEXT, TUNE, FIELD(log), 0, "<file>",
     "add every trial to this file, and resume from the trials that it has"},
    {"--doc", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL,
     "print what the kernel's source says about it (default)"},
    {"--declaration", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL,
     "print what it computes, in the language of programs"},
    {"--asm", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL,
     "print its assembly: the bitcode compiled for its instruction set, or for --target"},
    {"--llvm", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL, "print its bitcode as LLVM IR"},
    {"--bitcode", NULL, UK_OPTION_FORM, SHOW, FIELD(form), 0, NULL, "write its bitcode; needs -o"},
    {"--static", NULL, UK_OPTION_FLAG, BENCH, FIELD(is_static), 0, NULL,
     "kernels: print llvm-mca's estimate of the inner loop, on cores of its architecture or on "
     "--target=CORE; for "
     "a GPU of programs too"},
    {"--histogram", NULL, UK_OPTION_FLAG, BENCH, FIELD(histogram), 0, NULL,
     "kernels, with --target: print the instructions of a step by mnemonic too"},
    {"--cycles", NULL, UK_OPTION_FLAG, BENCH, FIELD(cycles), 0, NULL,
     "kernels, with --target=riscv64-p: estimate cycles by the latencies of the draft's example core"},
    {"--json", "FILE.json", UK_OPTION_JSON, BENCH, 0, 0, "<file>",
     "write the results in Google Benchmark's schema; without a file to standard output"},
    {"--plot", "FILE.svg", UK_OPTION_TEXT, BENCH, FIELD(plot), 0, "<file>",
     "gemm: draw the rate of each library next to the peak, and the roofline, by gnuplot"},
    {"--compare", "OLD.json", UK_OPTION_TEXT, BENCH, FIELD(compare), 0, "<file>",
     "compare with that run, and list what became slower or faster beyond noise"},
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
