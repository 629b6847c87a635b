/* SPDX-License-Identifier: Apache-2.0 */
/* Programs for other architectures: runs them under qemu-user and counts the instructions that they
 * execute. */
#ifndef UK_EMULATE_H
#define UK_EMULATE_H

#include "operands/data.h"
#include "program.h"
#include "uk.h"

/* ---- read_counts.c: counts of executed instructions ---- */

struct uk_count {
    int64_t count;
    char function[256], mnemonic[24];
};

struct uk_emulated_counts {
    int64_t instructions;
    int64_t cycles; /* estimate by the latencies of RISC-V P's instructions (rvp.def); 0: not requested */
    int lines;
    struct uk_count *line; /* in decreasing order of count */
    int parts;
    int64_t *part; /* of uk_emulation_call(): instructions of each call that the function makes, in order */
};

/* Reads the output of the plugin (count.c) at `path`. Exit status; free the counts in any case. */
int uk_counts_read(struct uk_emulated_counts *c, const char *path, const char *emulator);
void uk_counts_free(struct uk_emulated_counts *c);
/* Instructions with this mnemonic, over all functions. */
int64_t uk_counts_of(const struct uk_emulated_counts *c, const char *mnemonic);
/* Prints the counts by function and by mnemonic. Exit status. */
int uk_counts_print(const struct uk_emulated_counts *c);

/* ---- emulator.c ---- */

struct uk_emulator;
/* The emulator of the target's architecture. NULL: the target's code runs natively and no board is in use, or
 * the target is unknown. */
const struct uk_emulator *uk_emulator_of(const char *target);
/* Compiler flags of clang for measuring the target's peak; ends with NULL. */
const char *const *uk_emulation_flags(const char *target);
/* The emulator's name for the target's own core if it has one, else its first CPU with all of the target's
 * features. */
const char *uk_emulator_cpu(const struct uk_emulator *e, const char *target);

/* ---- runner.c ---- */

/* Threads of a generated program: the requested number on a board, 1 under an emulator, where more would
 * change no result. */
int uk_runner_threads(const struct uk_options *options);
/* Appends the C runtime of a generated program: parallel loops on `threads` threads and, for a board, the
 * timing code. */
void uk_runner_put_runtime(struct uk_text *t, int threads);
/* Writes the C source of a main() that maps a file of operands and calls the program's function on it, with
 * these sizes and scalars. For a board it can also time the calls. Exit status. */
int uk_runner_write(const char *path, struct uk_job *job, const int64_t *sizes, const double *scalars,
                    const struct uk_data *d);
/* Writes the operands to the file or, if `back`, reads them and the function's status from it. Exit
 * status. */
int uk_runner_exchange(const char *path, const struct uk_data *d, bool back, int32_t *status);

/* ---- emulate.c: a linked program, in a temporary folder until uk_emulation_end() ---- */

struct uk_emulation;

/* True if the target's code runs under an emulator, because its architecture differs from this machine's, or
 * on the board in use. */
bool uk_is_emulated(const char *target);
/* True if the target has instructions that qemu lacks and the linked program simulates (RISC-V P). Their
 * latencies are tabulated, so cycles can be estimated. */
bool uk_is_simulated(const char *target);
/* Checks that qemu, lld and the target's C library are installed; prints which are missing. Exit status. */
int uk_emulation_check(const char *target);

/* Compiles a program of tensor expressions for its target and links it with a main() that calls it on these
 * sizes, scalars and operands. Exit status; call uk_emulation_end() in any case. */
int uk_emulation_begin(struct uk_emulation **out, struct uk_job *job, const int64_t *sizes,
                       const double *scalars, const struct uk_data *data);
/* Links a kernel's assembly with `runner`, C code that calls it. Otherwise like uk_emulation_begin(). */
int uk_emulation_open_kernel(struct uk_emulation **out, const char *target, const char *runner,
                             const char *code);
/* Links an object with `runner`, C code that calls it. Otherwise like uk_emulation_begin(). */
int uk_emulation_open_object(struct uk_emulation **out, const char *target, const char *runner,
                             const char *object, size_t length);
/* Removes the program's files, then delivers a signal that came meanwhile. */
void uk_emulation_end(struct uk_emulation *e);

/* Calls the compiled function once on the current data; *status is the function's result. Exit status. */
int uk_emulation_run(struct uk_emulation *e, const struct uk_data *data, int32_t *status);
/* Like uk_emulation_run(), and counts the instructions executed until the function `name` returns, its
 * callees included. Code that simulates an instruction counts as that one instruction. */
int uk_emulation_count_run(struct uk_emulation *e, const char *name, const struct uk_data *data,
                           int32_t *status, struct uk_emulated_counts *counts);
/* Runs main() with the argument and counts the instructions executed in the function `symbol`; if `cycles`
 * and uk_is_simulated(), also estimates their cycles. Exit status. */
int uk_emulation_count(struct uk_emulation *e, const char *symbol, const char *argument, bool cycles,
                       struct uk_emulated_counts *counts);
/* Runs main() with the argument. Unless counts is NULL, counts the instructions until the function `name`
 * returns, as uk_emulation_count_run() does. Exit status. */
int uk_emulation_call(struct uk_emulation *e, const char *argument, const char *name,
                      struct uk_emulated_counts *counts);
/* The path of a file in the program's folder, through which data are exchanged with main(). */
const char *uk_emulation_data(const struct uk_emulation *e);
/* The command that runs the program, ending with NULL; on a board, a command that relays its standard input
 * and output. NULL: the error has been printed. */
char *const *uk_emulation_command(struct uk_emulation *e);
/* Writes "by" and the emulator with its CPU, or "on" and the board, into `text`. */
const char *uk_emulation_where(const struct uk_emulation *e, char *text, size_t size);
/*
 * On a board: calls the compiled function repeatedly, or runs main() with the argument.
 * uk_emulation_measure() opens what the program writes, the others read it as times. Exit status.
 */
struct uk_timing;
struct uk_board_times;
int uk_emulation_measure(struct uk_emulation *e, const char *argument, const struct uk_timing *how,
                         FILE **out);
int uk_emulation_time_run(struct uk_emulation *e, const struct uk_data *data, const struct uk_timing *how,
                          struct uk_board_times *times);
int uk_emulation_time(struct uk_emulation *e, const char *argument, const struct uk_timing *how,
                      struct uk_board_times *times);

/* ---- files that the build embeds as C arrays ---- */

/* Sources or objects, ending with a row whose name is NULL. These simulate RISC-V P's instructions. */
struct uk_source_file {
    const char *name, *text;
    size_t length;
};
extern const struct uk_source_file uk_rvp_sources[];
/* A program that prints the features of its CPU (uk/remote/). */
extern const struct uk_source_file uk_remote_probe[];
/* The part of a guest of uk verify that receives cases on a board. */
extern const struct uk_source_file uk_remote_relay[];
/* The program that drives a board's GPU, and the vendors' driver that it is linked with. */
extern const struct uk_source_file uk_remote_gpu[];
/* Threads and timing of a function on a board: int uk_timing(int32_t (*call)(void), char **argv). */
extern const struct uk_source_file uk_remote_threads[], uk_remote_timing[];
/* The plugin count.c as a shared object. */
extern const unsigned char uk_count_plugin[];
extern const size_t uk_count_plugin_size;

#endif
