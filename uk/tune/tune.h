/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of uk tune: trials, the search, its log, and the process that measures a
 * trial. */
#ifndef UK_TUNE_H
#define UK_TUNE_H

#include "operands/data.h"
#include "program.h"
#include "emulate/emulate.h"
#include "remote/remote.h"

enum tune_outcome {
    TUNE_OK,
    TUNE_REFUSED, /* does not compile, or the function rejects its arguments */
    TUNE_CRASH,
    TUNE_TIMEOUT,
    TUNE_WRONG,     /* result differs from the reference's (tune.reference) */
    TUNE_BOUND,     /* not measured: a lower bound of its kernels' time exceeds the best time */
    TUNE_EXPENSIVE, /* not measured: its estimated cost exceeds the best one's by a large factor */
    TUNE_OUTCOMES
};

/* Rounds of a measurement: the first, the second for the fastest trials, and the final one. */
enum { TUNE_FIRST_ROUNDS = 3, TUNE_SECOND_ROUNDS = 7, TUNE_FINAL_ROUNDS = 15 };

struct tune_trial {
    char *steps; /* allocated by malloc */
    enum tune_outcome outcome;
    double seconds;        /* per call; for an emulated target, instructions */
    double speed;          /* relative to the reference measured in alternation with it */
    double reference_cost; /* the reference's seconds or instructions in that measurement; 0: unknown */
    double noise; /* with at least TUNE_FINAL_ROUNDS rounds: relative difference between two measurements of
                     the reference */
    double cost;  /* on a board: its uk_board_times.cost, in operations of the peak loop */
    int rounds;
    bool is_start;
    bool is_complete; /* on a board: the measurement was completed */
    char message[256];
};

/* ---- choose.c: the search, which measures nothing itself ---- */

struct tune_search {
    uint64_t random;
    int trials, room;
    struct tune_trial *trial; /* in the order of measurement */
};

/* Appends a trial and takes ownership of trial.steps. False: out of memory, and the steps are freed. */
bool tune_add(struct tune_search *s, struct tune_trial trial);
/* Finds the trial of these steps; NULL: there is none. */
struct tune_trial *tune_find(const struct tune_search *s, const char *steps);
/* The rank-th fastest successful trial, from 0; NULL: there are fewer. */
struct tune_trial *tune_rank(const struct tune_search *s, int rank);
/* Chooses the trial to modify next, and sets *changes to the number of changes: mostly a fast trial, changed
 * once; sometimes a starting schedule, changed several times. NULL: no trial was successful. */
const struct tune_trial *tune_parent(struct tune_search *s, int *changes);
void tune_free(struct tune_search *s);

/* ---- log.c: the log of all trials, as JSON lines ---- */

struct tune_log {
    int file; /* -1: none */
    const char *path;
    const struct uk_program *program;
    const struct uk_arguments *arguments;
    const int64_t *sizes;
    int threads;
    char key[17]; /* hash of the experiment: program, sizes, target, threads, CPU */
    int others;   /* number of lines with another key */
};

/* Reads the existing log into the search and truncates an incomplete last line. Exit status. */
int tune_log_open(struct tune_log *l, struct uk_job *job, const struct uk_arguments *a, const int64_t *sizes,
                  struct tune_search *s);
int tune_log_add(const struct tune_log *l, const struct tune_trial *t, int number);
void tune_log_close(struct tune_log *l);
const char *tune_outcome_text(enum tune_outcome outcome);

/* Report of a trial's process. */
struct tune_report {
    enum tune_outcome outcome;
    double seconds, speed, reference_cost, noise, cost;
    int rounds;
    bool has_board_failed; /* true if the board failed, not the trial */
    char message[256];
};

/* ---- count.c: trials of emulated code ---- */

struct tune_bench;
/* In a trial's process: runs the steps' code once on the data and counts instructions. */
enum tune_outcome tune_count(struct tune_bench *b, const char *steps, double *count, char *message,
                             size_t size);
/* In a trial's process: redirects standard error to a file. tune_captured_error() copies the file's last text
 * to `message` and returns the outcome that it implies. */
void tune_capture_errors(void);
enum tune_outcome tune_captured_error(char *message, size_t size);
/* Formats a trial's seconds or instructions. */
const char *tune_cost_text(const struct tune_bench *b, double cost, char text[32]);

/* ---- boards.c: trials on boards ---- */

struct tune_board {
    struct uk_board board;
    bool is_dropped; /* no longer used: it failed or is slow */
    double cost;     /* cost of the reference on this board; 0: not measured */
};
/* Connects to the boards of --remote, if given. Exit status; call tune_boards_close() in any case. */
int tune_boards_open(struct tune_bench *b, const struct uk_arguments *a);
void tune_boards_close(struct tune_bench *b);
int tune_usable_boards(const struct tune_bench *b);
/* In a trial's process: runs and times the steps' code on the board in use. */
void tune_run_on_board(struct tune_bench *b, const char *steps, int rounds, struct tune_report *r);
/* Measures n trials at once, at most one per board, or all on `only` unless that is NULL. False: some were
 * not measured. */
bool tune_measure_on_boards(struct tune_bench *b, struct tune_trial *trials, int n, int rounds,
                            volatile int *interrupted, struct tune_board *only);
/* Measures the reference on each board; *t receives the first board's result. False: no board measured it, or
 * the search was interrupted. */
bool tune_measure_reference_on_boards(struct tune_bench *b, struct tune_trial *t, volatile int *interrupted);

/* ---- trial.c: one trial, in a process of its own ---- */

struct tune_bench {
    struct uk_job job;
    struct tune_board *board; /* array of boards; NULL: code runs here or under an emulator */
    char *board_names;
    int boards, cooldown;
    const char *reference_steps;
    bool is_counted;            /* code runs under an emulator, and counts of instructions replace seconds */
    int64_t *sizes, *arguments; /* values of all sizes; those that are arguments of the function */
    double *scalars;
    struct uk_data data; /* integers; modified only in trials' processes */
    struct uk_module *reference;
    double reference_seconds;    /* seconds or instructions per call; 0: not measured yet */
    struct tune_results *shared; /* the reference's results, in memory shared with trials' processes */
    size_t shared_bytes;
    double limit; /* seconds of CPU time per thread for one trial; in wall-clock time 20 times as many here,
                     and 4 times as many, plus the transfer, on a board */
    double end;   /* no trial continues after this time of bench_seconds() */
    void (*tick)(void *); /* called about once a second while a trial runs */
    void *user;           /* argument of tick */
};

/* Starts a trial's process; *in receives its report. Returns the process, or -1 and errno. */
int tune_start(struct tune_bench *b, const char *steps, int rounds, int *in);
/* In a trial's process: keeps the reference's results, or compares another trial's with them. False: they
 * differ. */
bool tune_compare(struct tune_bench *b, struct tune_report *r);
/* Set a trial to its state before measurement, to its process's report, or to how the process ended without a
 * report. */
void tune_clear_trial(struct tune_trial *t);
void tune_set_report(struct tune_trial *t, const struct tune_report *r);
void tune_describe_end(struct tune_trial *t, int status, double limit);
/* A program that is not in a file; steps: an initial schedule, or NULL. */
struct tune_source {
    const char *text, *steps;
};
/* Creates sizes, operands and shared memory for `source` or, if that is NULL, for the program in the
 * command's file. There is no reference yet. Exit status. */
int tune_bench_create(struct tune_bench *b, const struct uk_arguments *a, const struct tune_source *source);
void tune_bench_free(struct tune_bench *b);
/* Makes `steps` the reference, and compiles it if code runs in this process. The next trial with the same
 * steps produces the results that other trials are compared with. */
enum uk_status tune_set_reference(struct tune_bench *b, const char *steps);
/* Measures t->steps in alternation with the reference. False: interrupted, or the time is up. */
bool tune_measure(struct tune_bench *b, struct tune_trial *t, int rounds, volatile int *interrupted);

/* A search for one program. */
struct tune {
    struct tune_bench bench;
    struct tune_search search;
    struct tune_log log;
    char *reference; /* the schedule that others are compared with */
    bool is_reference_auto;
    double start_time, limit;
    int max_trials, measured, count[TUNE_OUTCOMES];
    double peak, best;      /* operations per second; speed relative to the reference */
    double reference_bound; /* lower bound in seconds of the time that its kernels take */
    double best_cost;       /* estimated cost of the best schedule; 0: unknown */
    /* progress_interval: seconds until the next line, if not on a terminal */
    double last_progress_time, progress_interval;
    bool is_deciding;           /* the search has ended and the final measurement runs */
    struct tune_trial *pending; /* trials waiting until there is one per board */
    int pendings;
    volatile int *interrupted; /* signal that ends the search; 0: none came */
};

/* ---- search.c: one program ---- */

/* Sets up what is common to all programs: boards, limits, signal handlers; refuses targets that cannot be
 * measured. Exit status; call tune_close() in any case. */
int tune_open(struct tune *t, const struct uk_arguments *a);
void tune_close(struct tune *t);
/* Loads a program and its trials from the log. Exit status; call tune_unload() in any case. */
int tune_load(struct tune *t, const struct uk_arguments *a, const struct tune_source *source);
void tune_unload(struct tune *t);

struct tune_result {
    const char *steps; /* valid as long as the search; NULL: no schedule was successful */
    double speed;      /* relative to t->reference */
    bool is_decided;   /* confirmed by the final measurement */
};
/* Searches until the time or trial limit. Exit status. */
int tune_run_search(struct tune *t, struct tune_result *r);

/* ---- decide.c: the end of a search ---- */

/* Prints on standard error, overwriting a progress line on a terminal. */
void tune_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The reference's seconds or instructions measured in alternation with the trial. */
double tune_reference_cost(const struct tune_trial *t);
/* Seconds since the search began. */
double tune_elapsed(const struct tune *t);
/* Measures the reference and the finalists in alternation, fastest first, until one wins; otherwise the
 * reference does. *steps is NULL if the time was up. Exit status. */
int tune_decide(struct tune *t, const char **steps, double *speed);
/* The schedule to write if nothing was decided: the fastest so far or, unless it is faster than the reference
 * by more than noise, the reference. */
const char *tune_best_so_far(const struct tune *t, double *speed);
/* Writes the schedule and, as comments, how it was found. Exit status. */
int tune_write(const struct tune *t, const struct uk_arguments *a, const char *steps, double speed,
               bool decided);

#endif
