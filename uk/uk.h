/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations shared by the files of the command uk. It uses the rooms bench, gemm, verify (and what verify
 * needs), networks/import and networks/emit, and simulate/amdgpu as a GPU.
 *
 * Throughout uk/, "Exit status." means: returns one of the statuses below, and has printed the reason unless
 * it is UK_EXIT_OK. "There", in uk/remote/ and its users, means on the board.
 */
#ifndef UK_UK_H
#define UK_UK_H

#include <stdio.h>
#include "bench.h"
#include "base/base.h"
#include "language/language.h"

struct uk_option;

/* Exit statuses of uk, returned by most functions of this folder. */
enum { UK_EXIT_OK = 0, UK_EXIT_WRONG = 1, UK_EXIT_USAGE = 2 };

/* A value for a size: --define M=784 makes M a constant, --size M=784 passes it as an argument of the
 * function. */
struct uk_size_value {
    char name[64];
    int64_t value;
    bool is_constant;
    bool is_used; /* true if a program has a size of this name */
};

/* One option from the command line. */
struct uk_option_value {
    const struct uk_option *option;
    const char *value; /* NULL: given without a value */
};

struct uk_arguments {
    const char *command;
    struct uk_option_value *option_values; /* all options, in the order given */
    int option_value_count;
    const char **positional;
    int positionals;
    int programs; /* number of programs compiled together; 0 means one */
    struct uk_size_value *binding;
    int bindings;
    const char *target, *device, *emit, *out, *schedule, *workspace, *name, *isa;
    const char *layers; /* networks only */
    const char *form;   /* uk show: "doc", "asm", ... */
    int64_t threads;    /* 0: not given */
    int64_t seed;       /* seed of random choices */
    const char *log;
    int64_t time_limit, trial_limit, trials;                              /* 0: not given */
    const char *set, *shapes, *type, *peers, *compare, *plot, *json_file; /* uk bench */
    bool time, check, count, histogram, cycles, require_kernels, no_kernels, all, json, is_static, completion;
    bool check_all, count_layers, sweep;
    bool list, measure;                                    /* uk machine */
    const char *layout, *ta, *tb, *machine, *plan;         /* uk gemm */
    const char *remote, *ssh, *remote_dir, *remote_prefix; /* boards, see uk/remote/ */
    bool remote_keep;
    int64_t cooldown; /* seconds; 0: not given */
};

/* ---- uk.c, complain.c ---- */

/* Prints "uk: error: ..." on standard error and returns the exit status. */
int uk_complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- repeated_options.c ---- */

/* Returns the i-th value given for the option, i = 0, 1, ...; NULL: there are no more. */
const char *uk_repeated_option(const struct uk_arguments *a, const char *option, int i);

/* ---- help.c ---- */

struct uk_command;
/* Prints the help of one command, or of all if c is NULL. */
void uk_print_help(FILE *out, const struct uk_command *c);
/* Prints an error for an unknown command or an unknown option of `c`, and suggests the closest name. Returns
 * the exit status. */
int uk_complain_of_unknown(const char *what, const char *word, const struct uk_command *c);

/* ---- compile.c ---- */

/* Maps a word of --emit to its enum uk_emit; -1: the word applies to networks only. */
int uk_emit_of_word(const char *word);
/* Chooses the output kind by the extension of -o's file, for when --emit is not given; no extension means an
 * object. Exit status: an unknown extension is refused. */
int uk_emit_of_extension(const char *out, int *stage);
/* Refuses binary output without -o. Returns UK_EXIT_OK for everything else. */
int uk_check_binary(const struct uk_arguments *a, int stage);

/* ---- file.c ---- */

/* True if the name means standard input. */
bool uk_is_stdin(const char *path);
/* The file's name as messages show it. */
const char *uk_file_text(const char *path);
/* Reads the whole file, or standard input; the caller frees the text. NULL: the reason has been printed. */
char *uk_read_file(const char *path, size_t *length);
/* Checks before a long computation that the output's folder exists. Exit status. */
int uk_check_output(const char *path);
/* Writes to a temporary file and renames it to `path`; writes to standard output if path is NULL or "-". Exit
 * status. */
int uk_write_output(const char *path, const char *bytes, size_t length);

/* ---- program.c: the program of run, compile and explain ---- */

struct uk_job {
    struct uk_context *context;
    struct uk_program *program;
    struct uk_options options;
    char *text, *steps; /* contents of the program's file and of --schedule's; NULL: not read, or not given */
    size_t length, steps_length;
    double parse_time; /* seconds to parse the text */
};

/* Creates the context and options, then reads the program, its schedule and its constants. Exit status; call
 * uk_job_end() in any case. */
int uk_job_begin(struct uk_job *job, const struct uk_arguments *a);
/* Like uk_job_begin(), but only creates the context and the options. */
int uk_job_prepare(struct uk_job *job, const struct uk_arguments *a);
void uk_job_end(struct uk_job *job);
/* Like uk_job_begin(), in the job's existing context. */
int uk_job_load(struct uk_job *job, const struct uk_arguments *a);
/* Like uk_job_begin(), in the job's context and from the texts it has already read. */
int uk_job_parse(struct uk_job *job, const struct uk_arguments *a);
/* Prints the context's message and returns the exit status that corresponds to this library status. */
int uk_job_failed(const struct uk_job *job, enum uk_status status);
/* Prints the notes and warnings of the last call on the context. */
void uk_job_notes(const struct uk_job *job);

/* ---- shape.c: values of sizes, operation counts, recognition of matrix products ---- */

/* Assigns values to all sizes, from --size, constants, `size` items and assumptions. Strides without a value
 * become the smallest that the rows allow. Exit status. */
int uk_choose_sizes(const struct uk_program *p, const struct uk_arguments *a, int64_t *sizes);
int64_t uk_value(const struct uk_index *e, const int64_t *sizes);
/* terms.c: number of times that the statement's right side is evaluated, excluding terms that `where`
 * skips or that are zero padding. */
double uk_terms(const struct uk_statement *s, const int64_t *sizes);
/* Floating-point or integer operations per call; a multiply-add counts as two. */
double uk_operations(const struct uk_program *p, const int64_t *sizes);
/* Lower bound of the bytes that one call reads and writes; 0 if the program has a reduction. */
double uk_traffic(const struct uk_program *p, const int64_t *sizes);
/* True if the program is a single f32 matrix product that BLAS computes; sets *g to its shape. `tensors` are
 * in the program's order. */
bool uk_is_gemm(const struct uk_program *p, const int64_t *sizes, void *const *tensors, struct bench_gemm *g);

/* ---- data.c: the operands of a call ---- */

struct uk_array {
    const struct uk_tensor *tensor;
    size_t elements, bytes;
    char *memory; /* includes guard bytes on both sides */
    void *origin;
    bool is_index; /* elements are subscripts and must satisfy lower <= v < upper */
    int64_t lower, upper;
};

struct uk_data {
    const struct uk_program *program;
    int count;
    struct uk_array *array;
    void **origins; /* address of each array's first element, in order */
};

/* Allocates the operands. Exit status; call uk_data_free() in any case. */
int uk_data_create(struct uk_data *d, struct uk_program *p, const int64_t *sizes);
void uk_data_free(struct uk_data *d);
/* Allocated bytes of the array, guard bytes included. */
size_t uk_data_room(const struct uk_array *a);
/* Encodes a small integer as f16 or bf16. */
unsigned uk_half_bits(enum uk_type type, double value);
/* Fills the arrays with small integers, the same in each run, so that sums of their products are exact. */
void uk_data_integers(struct uk_data *d);
/* Fills f32 arrays with random values in [-1, 1). */
void uk_data_random(struct uk_data *d);
double uk_data_value(const struct uk_array *a, size_t i);
/* Largest allowed difference from the interpreter's result.
 *
 * - ulps: units in the last place of the tensor's largest magnitude
 * - absolute: a difference added to that */
struct uk_tolerance {
    double ulps, absolute;
};
/* operands.c: arguments of the module's function: the arrays' addresses, with those of constant arrays
 * replaced by their packed copies. */
struct uk_operands {
    const struct uk_data *data;
    struct uk_module *module;
    const int64_t *sizes; /* those that are not constants of the program */
    void **origins;
};
/* Packs the constant arrays. Exit status; if UK_EXIT_OK, *status is the packing functions' result. Call
 * uk_operands_free() in any case. */
int uk_operands_create(struct uk_operands *o, const struct uk_data *data, struct uk_module *m,
                       const int64_t *sizes, enum uk_status *status);
/* Repacks the constants after the data have changed. */
int uk_operands_pack(const struct uk_operands *o, enum uk_status *status);
void uk_operands_free(struct uk_operands *o);
/* Compares all elements, padding and guard bytes. Prints the first difference and who may have caused it.
 * `each` has a tolerance per array, in order; NULL: values must be equal. */
bool uk_data_equal(const struct uk_data *got, const struct uk_data *expected, const int64_t *sizes,
                   const struct uk_tolerance *each);
/* tolerance.c: the tolerance of each array for calls on uk_data_integers(). The caller frees it; NULL: out
 * of memory. */
struct uk_tolerance *uk_tolerances(const struct uk_program *p, const int64_t *sizes);

/* ---- gpu_run.c ---- */

/* A call of a module compiled for a GPU. `sizes` are those that are not constants. */
struct uk_gpu_call {
    const struct uk_module *module;
    const char *target, *kind; /* kind of GPU that runs the code, as uk_gpu_open() takes it */
    const char *device;        /* "gpu", "sim", or NULL: the GPU, or the simulator if there is none */
    const int64_t *sizes;
    const double *scalars;
    struct uk_data *data;
    /* Boards: how to time the kernels after the call, and the result; NULL: no timing. */
    const struct uk_timing *how;
    struct uk_board_times *times;
};
/* Runs the call. Exit status; if UK_EXIT_OK, *status is the function's result. */
int uk_gpu_run(const struct uk_gpu_call *c, enum uk_status *status);
/* True if the simulator runs the target's code. */
bool uk_gpu_is_simulated(const char *target);
/* The kind of GPU that runs the target's code; NULL: the target is not a GPU. */
const char *uk_gpu_kind_of(const char *target);
/* The kind to pass to uk_gpu_open(): that of uk_gpu_kind_of(), or the kind registered for the board in
 * use. */
const char *uk_gpu_kind_here(const char *target);

/* ---- child.c: child processes and signals ---- */

/* Defers signals that would end uk: they end the program that uk_run_child() waits for, with its descendants,
 * so that uk can remove its files. Calls nest; each needs a uk_release_signals(). */
void uk_hold_signals(void);
/* Ends a uk_hold_signals(). The outermost one restores the handlers; if a signal came meanwhile, uk ends
 * here. */
void uk_release_signals(void);
/* Gives a process that was forked while signals were held a handling of its own, not held. */
void uk_begin_signals(void);
/* True if a signal came since signals were held. */
bool uk_is_interrupted(void);
/* Runs a program found on PATH and waits for it. Returns its status as waitpid() does, or -1 and errno; the
 * value is undefined if uk_is_interrupted(). */
int uk_run_child(char *const argv[]);
/* Like uk_run_child(), with these as standard input, output and error; -1: uk's own. files = NULL: uk's own
 * for all three. */
int uk_run_child_on(char *const argv[], const int files[3]);
/* Starts a program in a process group of its own. *open_end is the read end of a pipe that the program and
 * its descendants hold open, so end of file means that all have ended. Returns 0 or an errno value. */
int uk_start_child(char *const argv[], const int files[3], int *open_end, int *pid);

/* ---- progress.c ---- */

/* The current activity, such as "compiling layer", 37 of 101. what = NULL: the text of
 * uk_progress_begin_items(); of = 0: without numbers. */
struct uk_progress_item {
    const char *what;
    int number, of;
};
/* Shows `text` on standard error, with the elapsed time, until uk_progress_end(). Calls do not nest. */
void uk_progress_begin(const char *text);
/* Like uk_progress_begin(), with the activity that items() returns; a signal handler calls it. */
void uk_progress_begin_items(const char *text, struct uk_progress_item items(const void *), const void *user);
void uk_progress_end(void);

/* ---- show.c ---- */

/* The comment at the head of a kernel's source, as `uk show` prints it. The build generates the table from
 * the sources; the last row's symbol is NULL. */
struct uk_kernel_doc {
    const char *symbol, *text;
};
extern const struct uk_kernel_doc uk_kernel_docs[];
/* Finds the kernel's row. NULL: an error with the closest name has been printed. */
const struct uk_kernel *uk_kernel_named(const char *name);

/* ---- simulate.c: GPU kernels in the simulator. One simulation serves the launches of one code object;
 * NULL: out of memory. ---- */

struct uk_simulation *uk_simulation_begin(void);
void uk_simulation_end(struct uk_simulation *s);
/* Launches one kernel; has the signature of struct uk_verify_runner's launch. */
enum uk_status uk_simulate(void *simulation, const struct uk_verify_launch *l, char *message, size_t room);

/* ---- the commands; each returns the exit status ---- */

int uk_run_network(const struct uk_arguments *a);
int uk_compile_network(const struct uk_arguments *a);
int uk_explain_network(const struct uk_arguments *a);
int uk_tune_network(const struct uk_arguments *a);
int uk_command_run(const struct uk_arguments *a);
int uk_command_compile(const struct uk_arguments *a);
int uk_command_explain(const struct uk_arguments *a);
int uk_command_tune(const struct uk_arguments *a);
int uk_command_kernels(const struct uk_arguments *a);
int uk_command_show(const struct uk_arguments *a);
int uk_command_bench(const struct uk_arguments *a);
int uk_command_verify(const struct uk_arguments *a);
int uk_command_gemm(const struct uk_arguments *a);
int uk_command_machine(const struct uk_arguments *a);
int uk_command_help(const struct uk_arguments *a);

/* time.c: times a compiled program and compares it with the peak and with the peers. */
int uk_time_program(const struct uk_job *job, const struct uk_arguments *a, struct uk_module *m,
                    const int64_t *sizes, const double *scalars, struct uk_data *data);

/* The instruction set whose peak a target's speed is compared with. */
int uk_target_isa(const char *target);

#endif
