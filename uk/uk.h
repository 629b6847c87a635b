/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command uk: its exit statuses, the values of its options, and its commands. It uses the rooms bench,
 * gemm, conv, verify (and what verify needs), networks/import and networks/emit, and simulate/amdgpu as a
 * GPU.
 *
 * Throughout uk/, "Exit status." means: returns one of the statuses below, and has printed the reason unless
 * it is UK_EXIT_OK. "There", in uk/remote/ and its users, means on the board.
 */
#ifndef UK_UK_H
#define UK_UK_H

#include <stdio.h>
#include "base/base.h"

struct uk_option;

/* Exit statuses of uk, returned by most functions of this folder. */
enum { UK_EXIT_OK = 0, UK_EXIT_WRONG = 1, UK_EXIT_USAGE = 2 };

/* A value for a size: --define M=784 makes M a constant, --size M=784 passes it as an argument of the
 * function. --size M=1..784:8, of networks, makes one network for all multiples of the step in the range; a
 * value given in addition is that of a run. */
struct uk_size_value {
    char name[256];
    int64_t value;            /* of a range: the smallest */
    int64_t upper, step, run; /* of a range; upper 0: a single value; run: the value of a run, or -1 */
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
    const char *layers, *constants; /* networks only */
    const char *form;               /* uk show: "doc", "asm", ... */
    int64_t threads;                /* 0: not given */
    int64_t seed;                   /* seed of random choices */
    int64_t drawn;                  /* layers or convolutions that --sweep draws; 0: not given */
    const char *weights;            /* uk bench conv: "constant" or "argument"; NULL: not given */
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

#endif
