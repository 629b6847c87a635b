/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the command uk: what its files share. It uses bench, gemm, verify and all that verify needs,
 * simulate/amdgpu as a device, networks/import and networks/emit.
 */
#ifndef UK_UK_H
#define UK_UK_H

#include <stdio.h>
#include "bench.h"
#include "base/base.h"
#include "language/language.h"

struct uk_option;

/* Exit statuses. */
enum { UK_EXIT_OK = 0, UK_EXIT_WRONG = 1, UK_EXIT_USAGE = 2 };

/* --define M=784 makes a constant, --size M=784 is a value that the function is called with. */
struct uk_size_value {
    char name[64];
    int64_t value;
    bool constant;
    bool is_used; /* a program has that size */
};

/* An option as it was given. */
struct uk_given {
    const struct uk_option *option;
    const char *value; /* or NULL */
};

struct uk_arguments {
    const char *command;
    struct uk_given *given; /* all of them, in order */
    int givens;
    const char **positional;
    int positionals;
    int programs; /* how many are compiled together; 0: one */
    struct uk_size_value *binding;
    int bindings;
    const char *target, *device, *emit, *out, *schedule, *workspace, *name, *isa;
    const char *layers; /* of networks */
    const char *form;   /* of uk show: "doc", "asm", ... */
    int64_t threads;    /* 0: not given */
    int64_t seed;       /* of random choices */
    const char *log;
    int64_t time_limit, trial_limit, trials;                              /* 0: not given */
    const char *set, *shapes, *type, *peers, *compare, *plot, *json_file; /* of uk bench */
    bool time, check, count, histogram, cycles, require_kernels, no_kernels, all, json, is_static, completion;
    bool check_all, count_layers, sweep;
    bool list, measure;                                    /* of uk machine */
    const char *layout, *ta, *tb, *machine, *way;          /* of uk gemm */
    const char *remote, *ssh, *remote_dir, *remote_prefix; /* boards: see uk/remote/ */
    bool remote_keep;
    int64_t cooldown; /* seconds; 0: not given */
};

/* ---- uk.c, uk_complain.c ---- */

/* Prints "uk: error: ..." on standard error and returns the exit status. */
int uk_complain(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- uk_given.c ---- */

/* The i-th value of the option of that name, for i = 0, 1, ...; NULL: there are no more. */
const char *uk_given(const struct uk_arguments *a, const char *option, int i);

/* ---- uk_help.c ---- */

struct uk_command;
/* Of one command; NULL: of all. */
void uk_print_help(FILE *out, const struct uk_command *c);
/* Complains about a word that is no command, or no option of `c`, and names the nearest one that is. Exit
 * status. */
int uk_unknown(const char *what, const char *word, const struct uk_command *c);

/* ---- uk_compile.c ---- */

/* The enum uk_emit of a word of --emit; -1: it is a network's. */
int uk_stage_of(const char *word);
/* What is written to -o's file if --emit is not given, by its ending; an object if it has none. Exit status:
 * unknown endings are refused. */
int uk_stage_by_ending(const char *out, int *stage);
/* Refuses to print what is binary and has no -o; UK_EXIT_OK of all else. */
int uk_check_binary(const struct uk_arguments *a, int stage);

/* ---- uk_file.c ---- */

/* Whether the name stands for standard input. */
bool uk_is_stdin(const char *path);
/* The file's name in messages. */
const char *uk_file_text(const char *path);
/* The whole file, or standard input; free it. NULL: the reason has been printed. */
char *uk_read_file(const char *path, size_t *length);
/* Whether that can be, before what takes time is done: the folder is there. Exit status. */
int uk_check_output(const char *path);
/* Writes to a new file and renames it to `path`; to standard output if path is NULL or -. Exit status. */
int uk_write_output(const char *path, const char *bytes, size_t length);

/* ---- uk_program.c: what run, compile and explain share ---- */

struct uk_job {
    struct uk_context *context;
    struct uk_program *program;
    struct uk_options options;
    char *text, *steps; /* of the program's file and of --schedule's; NULL: not read, or none */
    size_t length, steps_length;
    double parse_time; /* seconds, from text to program */
};

/* Reads the program, its schedule and its constants. Exit status; end the job in any case. */
int uk_job_begin(struct uk_job *job, const struct uk_arguments *a);
/* The context and the options alone. */
int uk_job_prepare(struct uk_job *job, const struct uk_arguments *a);
void uk_job_end(struct uk_job *job);
/* The same in a context that exists. */
int uk_job_load(struct uk_job *job, const struct uk_arguments *a);
/* The same from the texts that the job has. */
int uk_job_parse(struct uk_job *job, const struct uk_arguments *a);
/* Prints the context's message; exit status for this library status. */
int uk_job_failed(const struct uk_job *job, enum uk_status status);
/* Prints the notes and warnings of the context's last call. */
void uk_job_notes(const struct uk_job *job);

/* ---- uk_shape.c: sizes, work, and whether it is a matrix product ---- */

/* Values of all sizes: --size, constants, `size` items; strides without one become as small as the rows
 * allow. */
int uk_choose_sizes(const struct uk_program *p, const struct uk_arguments *a, int64_t *sizes);
int64_t uk_value(const struct uk_index *e, const int64_t *sizes);
/* uk_terms.c: how often the statement's right side is computed, without the terms that `where` leaves out or
 * that a pad makes 0. */
double uk_terms(const struct uk_statement *s, const int64_t *sizes);
/* Operations of one call, in such terms: a multiply-add in a sum counts for two. */
double uk_operations(const struct uk_program *p, const int64_t *sizes);
/* Bytes that one call reads and writes at least, or 0 if the program has a reduction. */
double uk_traffic(const struct uk_program *p, const int64_t *sizes);
/* If the program is one f32 matrix product that BLAS computes, its shape; tensors are in the order of the
 * program. */
bool uk_is_gemm(const struct uk_program *p, const int64_t *sizes, void *const *tensors, struct bench_gemm *g);

/* ---- uk_data.c: operands ---- */

struct uk_array {
    const struct uk_tensor *tensor;
    size_t elements, bytes;
    char *memory; /* with guard bytes on both sides */
    void *origin;
    bool is_index; /* its elements are subscripts, which have to be lower <= v < upper */
    int64_t lower, upper;
};

struct uk_data {
    const struct uk_program *program;
    int count;
    struct uk_array *array;
    void **origins; /* of the arrays, in order */
};

/* Exit status; free the data in any case. */
int uk_data_create(struct uk_data *d, struct uk_program *p, const int64_t *sizes);
void uk_data_free(struct uk_data *d);
/* Bytes of an array's memory. */
size_t uk_data_room(const struct uk_array *a);
/* The bits of a small integer in half precision or bfloat16. */
unsigned uk_half_bits(enum uk_type type, double value);
/* Small integers, the same each time: sums of their products are exact. */
void uk_data_integers(struct uk_data *d);
/* Random values in [-1, 1) where the type is f32. */
void uk_data_random(struct uk_data *d);
double uk_data_value(const struct uk_array *a, size_t i);
/* How far a value may be from the interpreter's: so many units in the last place of its tensor's largest
 * value, and so much. */
struct uk_tolerance {
    double roundings, steps;
};
/* uk_operands.c: the data as the module's function takes it: the arrays' origins, or what constant ones are
 * packed to. */
struct uk_operands {
    const struct uk_data *data;
    struct uk_module *module;
    const int64_t *sizes; /* that are not defined */
    void **origins;
};
/* Exit status, and if that is UK_EXIT_OK what the functions that pack returned; free the operands in any
 * case. */
int uk_operands_create(struct uk_operands *o, const struct uk_data *data, struct uk_module *m,
                       const int64_t *sizes, enum uk_status *status);
/* Again, of other values. */
int uk_operands_pack(const struct uk_operands *o, enum uk_status *status);
void uk_operands_free(struct uk_operands *o);
/* Compares element by element, padding and guard bytes included; prints the first difference, and whose
 * defect it may be. Exactly, or, of the arrays in order, as `each` allows. */
bool uk_data_equal(const struct uk_data *got, const struct uk_data *expected, const int64_t *sizes,
                   const struct uk_tolerance *each);
/* uk_tolerance.c: what a call on uk_data_integers() may differ by, of each array; free it. NULL: no memory.
 * */
struct uk_tolerance *uk_tolerances(const struct uk_program *p, const int64_t *sizes);

/* ---- uk_gpu_run.c ---- */

/* A call of a module that was compiled for a GPU. Sizes are those that are not defined. */
struct uk_gpu_call {
    const struct uk_module *module;
    const char *target, *kind; /* the kind of GPU that runs its code, as uk_gpu_open takes it */
    const char *device;        /* "gpu", "sim", or NULL: the simulator where no such GPU is */
    const int64_t *sizes;
    const double *scalars;
    struct uk_data *data;
    /* On a board, where the kernels may be timed besides; NULL: they are not. */
    const struct uk_timing *how;
    struct uk_board_times *times;
};
/* Exit status, and if that is UK_EXIT_OK what the function returned. */
int uk_gpu_run(const struct uk_gpu_call *c, enum uk_status *status);
/* Whether the simulator runs the target's code. */
bool uk_gpu_is_simulated(const char *target);
/* The kind of GPU that runs the target's code; NULL: the target is no GPU. */
const char *uk_gpu_kind_of(const char *target);
/* The kind by which such a GPU is opened: that, or the one of a board that is in use. */
const char *uk_gpu_kind_here(const char *target);

/* ---- uk_child.c: programs that uk runs, and signals ---- */

/* Until as many calls of uk_release_signals(), signals that would end uk end the program that uk_run_child()
 * waits for, and all that it started; uk then removes its files. */
void uk_hold_signals(void);
/* Restores the handling of signals; if one came, it ends uk here. */
void uk_release_signals(void);
/* In a process that was forked while signals were held, and that handles them as they come again: it holds
 * its own. */
void uk_begin_signals(void);
/* Whether one came. */
bool uk_is_interrupted(void);
/* Runs a program of the PATH to its end. Its status as of waitpid(), or -1 with errno; anything if uk is
 * interrupted. */
int uk_run_child(char *const argv[]);
/* The same with these files as its standard ones; -1: uk's own. NULL: all are. */
int uk_run_child_on(char *const argv[], const int files[3]);
/* Starts it, in a group of processes of its own; *open_end is the end of a pipe that it and all that it
 * starts hold open. 0, or the error. */
int uk_start_child(char *const argv[], const int files[3], int *open_end, int *pid);

/* ---- uk_progress.c ---- */

/* What is being done: "compiling layer", 37 of 101. NULL: the text says it; of is 0: without numbers. */
struct uk_progress_item {
    const char *what;
    int number, of;
};
/* Until uk_progress_end() a line on standard error says now and then what is being done. One at a time. */
void uk_progress_begin(const char *text);
/* The same with what `items` returns, which a signal handler calls. */
void uk_progress_begin_items(const char *text, struct uk_progress_item items(const void *), const void *user);
void uk_progress_end(void);

/* ---- uk_show.c ---- */

/* What a kernel's source says about it; the build makes the table from the sources. The last row's symbol is
 * NULL. */
struct uk_kernel_doc {
    const char *symbol, *text;
};
extern const struct uk_kernel_doc uk_kernel_docs[];
/* The row; NULL: the name and the nearest one have been printed. */
const struct uk_kernel *uk_kernel_named(const char *name);

/* ---- uk_simulate.c: kernels of GPUs in the simulator. A simulation is for the launches of one code object;
 * NULL: no memory. ---- */

struct uk_simulation *uk_simulation_begin(void);
void uk_simulation_end(struct uk_simulation *s);
/* As struct uk_verify_runner's launch. */
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

/* uk_time.c: times a compiled program beside the peak and the peers. */
int uk_time_program(const struct uk_job *job, const struct uk_arguments *a, struct uk_module *m,
                    const int64_t *sizes, const double *scalars, struct uk_data *data);

/* The instruction set whose peak a target's figures stand beside. */
int uk_target_isa(const char *target);

#endif
