/* SPDX-License-Identifier: Apache-2.0 */
/* Inside uk tune: trials, the search through them, their log, and the process that measures one. */
#ifndef UK_TUNE_H
#define UK_TUNE_H

#include "emulate/emulate.h"

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
    double noise;   /* of TUNE_FINAL rounds and more: how far the reference is from itself */
    int rounds;
    bool is_start;
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
/* What to change next, and how often: mostly one of the fastest once; now and then a start, several times. NULL:
 * nothing has worked. */
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

/* ---- tune_count.c: trials of another architecture's code ---- */

struct tune_bench;
/* In the process of the trial: runs the steps' code once on the data, counting. */
enum tune_outcome tune_count(struct tune_bench *b, const char *steps, double *count, char *message,
                             size_t size);
/* Of a trial's seconds or instructions. */
const char *tune_cost_text(const struct tune_bench *b, double cost, char text[32]);

/* ---- tune_trial.c: one trial in a process of its own ---- */

struct tune_bench {
    struct uk_job job;
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

/* Sizes, operands, shared memory; no reference yet. Exit status. */
int tune_bench_create(struct tune_bench *b, const struct uk_arguments *a);
void tune_bench_free(struct tune_bench *b);
/* Compiles the reference; the next trial of the same steps makes what the others are compared with. */
enum uk_status tune_set_reference(struct tune_bench *b, const char *steps);
/* Measures t->steps in turns with the reference. False: interrupted, or the end came first. */
bool tune_measure(struct tune_bench *b, struct tune_trial *t, int rounds, volatile int *interrupted);

#endif
