/* SPDX-License-Identifier: Apache-2.0 */
/* Inside uk tune: trials, the search through them, their log, and the process that measures one. */
#ifndef UK_TUNE_H
#define UK_TUNE_H

#include "emulate/emulate.h"
#include "remote/remote.h"

enum tune_outcome {
    TUNE_OK,
    TUNE_REFUSED, /* does not compile, or the function refuses its arguments */
    TUNE_CRASH,
    TUNE_TIMEOUT,
    TUNE_WRONG,  /* computes something else than auto's */
    TUNE_BOUND,  /* not measured: its kernels cannot be as fast as the best */
    TUNE_BEHIND, /* not measured: the cost rule puts it far behind the best */
    TUNE_OUTCOMES
};

/* Rounds of a trial: a first look, a second one for the fastest, and the decision. */
enum { TUNE_QUICK = 3, TUNE_AGAIN = 7, TUNE_FINAL = 15 };

struct tune_trial {
    char *steps; /* of malloc */
    enum tune_outcome outcome;
    double seconds; /* per call; of another architecture's code instructions */
    double speed;   /* over the reference's, measured in turns with it */
    double beside;  /* the reference's seconds or instructions then; 0: not known */
    double noise;   /* of TUNE_FINAL rounds and more: how far the reference is from itself */
    double cost;    /* on a board: multiply-adds that it could have done meanwhile */
    int rounds;
    bool is_start;
    bool is_whole; /* on boards: it has been measured */
    char message[256];
};

/* ---- tune.c: the search; it measures nothing itself ---- */

struct tune_search {
    uint64_t random;
    int trials, room;
    struct tune_trial *trial; /* in order */
};

/* Takes over trial->steps. False: no memory, and the steps are freed. */
bool tune_add(struct tune_search *s, struct tune_trial trial);
/* The trial of these steps, or NULL. */
struct tune_trial *tune_find(const struct tune_search *s, const char *steps);
/* The rank-th fastest of those that worked, or NULL. */
struct tune_trial *tune_rank(const struct tune_search *s, int rank);
/* What to change next, and how often: mostly one of the fastest once; now and then a start, several times.
 * NULL: nothing has worked. */
const struct tune_trial *tune_parent(struct tune_search *s, int *changes);
void tune_free(struct tune_search *s);

/* ---- tune_log.c: all trials as JSON lines ---- */

struct tune_log {
    int file; /* -1: none */
    const char *path;
    const struct uk_program *program;
    const struct uk_arguments *arguments;
    const int64_t *sizes;
    int threads;
    char key[17]; /* of what was measured: program, sizes, target, threads, CPU */
    int others;   /* lines with another key */
};

/* Reads what is there into the search, and cuts off a last line that is not whole. Exit status. */
int tune_log_open(struct tune_log *l, struct uk_job *job, const struct uk_arguments *a, const int64_t *sizes,
                  struct tune_search *s);
int tune_log_add(const struct tune_log *l, const struct tune_trial *t, int number);
void tune_log_close(struct tune_log *l);
const char *tune_outcome_text(enum tune_outcome outcome);

/* What the process of a trial reports. */
struct tune_report {
    enum tune_outcome outcome;
    double seconds, speed, beside, noise, cost;
    int rounds;
    bool is_lost; /* on a board: that is the board's fault */
    char message[256];
};

/* ---- tune_count.c: trials of another architecture's code ---- */

struct tune_bench;
/* In the process of the trial: runs the steps' code once on the data, counting. */
enum tune_outcome tune_count(struct tune_bench *b, const char *steps, double *count, char *message,
                             size_t size);
/* In the process of a trial: standard error becomes a file, whose last text becomes the message of what it
 * then was. */
void tune_said_begin(void);
enum tune_outcome tune_said(char *message, size_t size);
/* Of a trial's seconds or instructions. */
const char *tune_cost_text(const struct tune_bench *b, double cost, char text[32]);

/* ---- tune_boards.c: trials on boards ---- */

struct tune_board {
    struct uk_board board;
    bool is_out; /* it failed, or is slow */
    double cost; /* of the reference there; 0: not measured */
};
/* Those of --remote, if it is given. Exit status; close them in any case. */
int tune_boards_open(struct tune_bench *b, const struct uk_arguments *a);
void tune_boards_close(struct tune_bench *b);
int tune_boards_left(const struct tune_bench *b);
/* In the process of the trial: runs and times the steps' code on the board in use. */
void tune_there(struct tune_bench *b, const char *steps, int rounds, struct tune_report *r);
/* Measures up to as many trials as there are boards at once; `only`: on that board, else NULL. False: not all
 * of them have been. */
bool tune_measure_there(struct tune_bench *b, struct tune_trial *trials, int n, int rounds,
                        volatile int *interrupted, struct tune_board *only);
/* What the others are compared with, on each board; *t is the first one's. */
bool tune_reference_there(struct tune_bench *b, struct tune_trial *t, volatile int *interrupted);

/* ---- tune_trial.c: one trial in a process of its own ---- */

struct tune_bench {
    struct uk_job job;
    struct tune_board *board; /* NULL: its code runs here, or is counted */
    char *board_names;
    int boards, cooldown;
    const char *reference_steps;
    bool is_counted;            /* its code runs under an emulator: instructions take the place of seconds */
    int64_t *sizes, *arguments; /* all of them; those that the function takes */
    double *scalars;
    struct uk_data data; /* integers; only the processes change it */
    struct uk_module *reference;
    double reference_seconds;    /* or instructions; per call; 0: not measured yet */
    struct tune_results *shared; /* what the reference computes, for the processes */
    size_t shared_bytes;
    double limit; /* seconds for one trial: of CPU time for each thread, and 20 times as many on the clock */
    double end;   /* by bench_seconds(): when no trial goes on */
    void (*tick)(void *); /* called about once a second while a trial runs */
    void *user;           /* its argument */
};

/* Starts the process of a trial, which reports to *in; -1 with a reason in errno. */
int tune_start(struct tune_bench *b, const char *steps, int rounds, int *in);
/* The reference's results are kept, those of others compared with them. */
bool tune_compare(struct tune_bench *b, struct tune_report *r);
/* As before the trial; with what the process reported; with how it ended without. */
void tune_clear(struct tune_trial *t);
void tune_take(struct tune_trial *t, const struct tune_report *r);
void tune_describe_end(struct tune_trial *t, int status, double limit);
/* A program that is in no file; steps: a schedule to begin with, or NULL. */
struct tune_source {
    const char *text, *steps;
};
/* Sizes, operands, shared memory, of the program of the file or, if that is not NULL, the source; no
 * reference yet. Exit status. */
int tune_bench_create(struct tune_bench *b, const struct uk_arguments *a, const struct tune_source *source);
void tune_bench_free(struct tune_bench *b);
/* Compiles the reference; the next trial of the same steps makes what the others are compared with. */
enum uk_status tune_set_reference(struct tune_bench *b, const char *steps);
/* Measures t->steps in turns with the reference. False: interrupted, or the end came first. */
bool tune_measure(struct tune_bench *b, struct tune_trial *t, int rounds, volatile int *interrupted);

/* A search for one program. */
struct tune {
    struct tune_bench bench;
    struct tune_search search;
    struct tune_log log;
    char *reference; /* steps */
    bool reference_is_auto;
    double begun, limit;
    int most, measured, count[TUNE_OUTCOMES];
    double peak, best;      /* operations per second; speed */
    double reference_bound; /* seconds that its kernels take at least */
    double best_cost;       /* of the best, by the cost rule; 0: nothing is known */
    double shown, pause; /* when progress was printed last; seconds until it is again, without a terminal */
    bool is_deciding;    /* the search is over */
    struct tune_trial *pending; /* that wait until there is one for each board */
    int pendings;
    volatile int *interrupted; /* the number of the signal that ends the search; 0: none has come */
};

/* ---- uk_tune.c: one program ---- */

/* What does not depend on the program: boards, limits, signals; and refuses targets that cannot be measured.
 * Exit status; close it in any case. */
int tune_open(struct tune *t, const struct uk_arguments *a);
void tune_close(struct tune *t);
/* Takes a program, and what the log has of it. Exit status; unload it in any case. */
int tune_load(struct tune *t, const struct uk_arguments *a, const struct tune_source *source);
void tune_unload(struct tune *t);

struct tune_result {
    const char *steps; /* lives as long as the search; NULL: none has worked */
    double speed;      /* beside t->reference */
    bool is_decided;   /* not only by a first look */
};
/* Searches until t->limit or t->most. Exit status. */
int tune_look(struct tune *t, struct tune_result *r);

/* ---- tune_decide.c: the end of a search ---- */

/* Prints on standard error, in place of a terminal's line of progress. */
void tune_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What the reference took in turns with the trial. */
double tune_beside(const struct tune_trial *t);
/* Seconds since the search began. */
double tune_passed(const struct tune *t);
/* The reference and the finalists in turns, the fastest first, until one wins; else it is the reference.
 * *steps is NULL if there was no time for that. Exit status. */
int tune_decide(struct tune *t, const char **steps, double *speed);
/* What is written when nothing was decided: the fastest so far, if it is no slower than the reference. */
const char *tune_best_so_far(const struct tune *t, double *speed);
/* Writes the schedule, with what it is the result of. Exit status. */
int tune_write(const struct tune *t, const struct uk_arguments *a, const char *steps, double speed,
               bool decided);

#endif
