/* SPDX-License-Identifier: Apache-2.0 */
/* Programs for other architectures: run under qemu-user, and the instructions that they execute counted. */
#ifndef UK_EMULATE_H
#define UK_EMULATE_H

#include "uk.h"

/* ---- uk_counts.c: instructions that were executed ---- */

struct uk_count {
    int64_t count;
    char function[256], mnemonic[24];
};

struct uk_emulated_counts {
    int64_t instructions;
    int64_t cycles; /* estimated by the latencies of RISC-V P's instructions (rvp.def); 0: not asked for */
    int lines;
    struct uk_count *line; /* the largest first */
    int parts;
    int64_t *part; /* of uk_emulation_call(): of each call that the function makes, in order */
};

/* Reads what the plugin (count.c) wrote to `path`. Exit status; free the counts in any case. */
int uk_counts_read(struct uk_emulated_counts *c, const char *path, const char *emulator);
void uk_counts_free(struct uk_emulated_counts *c);
/* How many of this mnemonic, in all functions. */
int64_t uk_counts_of(const struct uk_emulated_counts *c, const char *mnemonic);
/* Prints them by function, and by mnemonic. Exit status. */
int uk_counts_print(const struct uk_emulated_counts *c);

/* ---- emulator.c ---- */

struct uk_emulator;
/* The emulator of the target's architecture; NULL: its code runs here, or the target is not known. */
const struct uk_emulator *uk_emulator_of(const char *target);
/* What clang takes so that the peak of the target can be measured; ended by NULL. */
const char *const *uk_emulation_flags(const char *target);
/* The emulator's name of the target's own core if it knows it, else the first CPU that has the target's
 * features. */
const char *uk_emulator_cpu(const struct uk_emulator *e, const char *target);

/* ---- runner.c ---- */

/* How many threads such a program has: under an emulator one, as with more it would show nothing else. */
int uk_runner_threads(const struct uk_options *options);
/* C that a runner begins with: parallel loops of so many threads, and, for a board, what measures there. */
void uk_runner_put_runtime(struct uk_text *t, int threads);
/* Writes the source of a main that calls the program's function on these sizes and scalars, and on operands
 * of a file that it maps; for a board it can also time that. Exit status. */
int uk_runner_write(const char *path, struct uk_job *job, const int64_t *sizes, const double *scalars,
                    const struct uk_data *d);
/* Writes the operands to the file, or reads them from it, with what the function returned. Exit status. */
int uk_runner_exchange(const char *path, const struct uk_data *d, bool back, int32_t *status);

/* ---- uk_emulate.c: a linked program, in a folder of its own until uk_emulation_end() ---- */

struct uk_emulation;

/* Whether the target's architecture is not this machine's, and qemu-user may run it here. */
bool uk_is_emulated(const char *target);
/* Whether the target has instructions that qemu lacks and the linked program simulates (RISC-V P). Their
 * latencies are in a table, so that cycles can be estimated. */
bool uk_is_simulated(const char *target);
/* Whether qemu, lld and the C library of the target are here; says what is missing. Exit status. */
int uk_emulation_check(const char *target);

/* Compiles a program of tensor expressions for its target, and links it with a main that calls it on these
 * sizes, scalars and operands. Exit status; end it in any case. */
int uk_emulation_begin(struct uk_emulation **out, struct uk_job *job, const int64_t *sizes,
                       const double *scalars, const struct uk_data *data);
/* Links the assembly of a kernel with the C text `runner` that calls it. As uk_emulation_begin(). */
int uk_emulation_open_kernel(struct uk_emulation **out, const char *target, const char *runner,
                             const char *code);
/* Links an object with the C text `runner` that calls it. As uk_emulation_begin(). */
int uk_emulation_open_object(struct uk_emulation **out, const char *target, const char *runner,
                             const char *object, size_t length);
/* Removes its files, and does to uk what a signal meanwhile would have done. */
void uk_emulation_end(struct uk_emulation *e);

/* Calls the compiled function once with the data as it is now; *status is what it returned. Exit status. */
int uk_emulation_run(struct uk_emulation *e, const struct uk_data *data, int32_t *status);
/* The same, and counts the instructions executed until the function of that name returns, in whatever it
 * calls. Code that simulates an instruction counts as that one instruction. */
int uk_emulation_count_run(struct uk_emulation *e, const char *name, const struct uk_data *data,
                           int32_t *status, struct uk_emulated_counts *counts);
/* Runs main with the argument, counts the instructions executed in the function `symbol`, and estimates their
 * cycles if asked to, where uk_is_simulated(). Exit status. */
int uk_emulation_count(struct uk_emulation *e, const char *symbol, const char *argument, bool cycles,
                       struct uk_emulated_counts *counts);
/* Runs main with the argument; counts is NULL, or gets the instructions executed until the function of that
 * name returns, as of uk_emulation_count_run(). Exit status. */
int uk_emulation_call(struct uk_emulation *e, const char *argument, const char *name,
                      struct uk_emulated_counts *counts);
/* The path of a file in its folder, for what is exchanged with main. */
const char *uk_emulation_data(const struct uk_emulation *e);
/* The command that runs the program, ended by NULL; on a board, that relays what it reads and writes. NULL:
 * what is wrong has been said. */
char *const *uk_emulation_command(struct uk_emulation *e);
/* "by" the emulator and which CPU it shows, or "on" a board; in `text`. */
const char *uk_emulation_where(const struct uk_emulation *e, char *text, size_t size);
/* On a board: calls the compiled function again and again, or main with the argument and how often; what it
 * writes is read, or opened. Exit status. */
struct uk_timing;
struct uk_board_times;
int uk_emulation_measure(struct uk_emulation *e, const char *argument, const struct uk_timing *how,
                         FILE **out);
int uk_emulation_time_run(struct uk_emulation *e, const struct uk_data *data, const struct uk_timing *how,
                          struct uk_board_times *times);
int uk_emulation_time(struct uk_emulation *e, const char *argument, const struct uk_timing *how,
                      struct uk_board_times *times);

/* ---- files that the build makes into C ---- */

/* What simulates instructions: an object, or C files; the last one's name is NULL. */
struct uk_source_file {
    const char *name, *text;
    size_t length;
};
extern const struct uk_source_file uk_rvp_sources[];
/* A program that prints the features of its CPU (uk/remote/). */
extern const struct uk_source_file uk_remote_probe[];
/* What receives cases of uk verify there. */
extern const struct uk_source_file uk_remote_relay[];
/* The program that has a board's GPU, and the driver of vendors that it is linked with. */
extern const struct uk_source_file uk_remote_gpu[];
/* What times a function there: int uk_timing(int32_t (*call)(void), char **argv). */
extern const struct uk_source_file uk_remote_threads[], uk_remote_timing[];
/* count.c as a shared object. */
extern const unsigned char uk_count_plugin[];
extern const size_t uk_count_plugin_size;

#endif
