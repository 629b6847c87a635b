/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uk tune: searches for a schedule faster than the automatic one.
 *
 * - Starts: the automatic schedule, the program's own, and the automatic tiling for every kernel that fits
 * - Search: changes of the fastest schedules so far
 * - Decision: measures the fastest again, then the best in alternation with the automatic schedule
 *
 * A schedule is written only if it wins by more than the noise.
 */
#define _GNU_SOURCE
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"
#include "file.h"
#include "program.h"
#include "time_program.h"
#include "tune.h"

enum {
    TIME_LIMIT = 60,
    PROGRESS = 5,   /* seconds between progress lines */
    REPEATED = 300, /* consecutive changes that give known schedules, after which the search ends */
};

static const double search_share = 0.8; /* fraction of the time; the rest is for the decision */
/* A schedule is skipped if the lower bound of its time exceeds both the best time and the reference's lower
 * bound by this factor. The latter guards against a best time that is due to noise. */
static const double bound_margin = 1.1;
/* A schedule is skipped if its estimated cost exceeds the best one's by this factor. */
static const double expensive_ratio = 30;

static volatile int interrupted; /* number of the signal that came */

static void interrupt(int number) {
    interrupted = number;
}

/* The schedule's estimated cost; 0: unknown. */
static double cost(struct tune *t, const char *steps) {
    double operations;
    enum uk_status status = uk_schedule_cost(t->bench.job.program, &t->bench.job.options, steps, &operations);

    return status ? 0 : operations;
}

/* ---- progress ---- */

/* Shows progress: on a terminal one line that is updated, elsewhere lines at doubling intervals. */
static void show_progress(void *user) {
    struct tune *t = user;
    bool terminal = isatty(STDERR_FILENO);

    if (!terminal && tune_elapsed(t) <
                         t->last_progress_time + (t->progress_interval > 0 ? t->progress_interval : PROGRESS))
        return;
    t->progress_interval = t->progress_interval > 0 ? 2 * t->progress_interval : 2 * PROGRESS;
    t->last_progress_time = tune_elapsed(t);
    fprintf(stderr, "%s%6.1f s", terminal ? "\r\033[K" : "", t->last_progress_time);
    if (isfinite(t->limit))
        fprintf(stderr, " of %.0f", t->limit);
    if (t->is_deciding)
        fprintf(stderr, ", measuring the fastest again");
    else
        fprintf(stderr, ", trial %d", t->measured);
    if (t->max_trials < INT32_MAX && !t->is_deciding)
        fprintf(stderr, " of %d", t->max_trials);
    fprintf(stderr, ", best %.3f x%s", t->best, terminal ? "" : "\n");
}

static void show_trial(struct tune *t, const struct tune_trial *trial) {
    char text[32], reference[32];

    t->count[trial->outcome]++;
    if (trial->outcome == TUNE_OK && trial->speed > t->best) {
        const bool is_reference = !(t->best > 0);

        t->best = trial->speed;
        t->best_cost = cost(t, trial->steps);
        t->last_progress_time = tune_elapsed(t);
        tune_cost_text(&t->bench, trial->seconds, text);
        tune_cost_text(&t->bench, tune_reference_cost(trial), reference);
        if (is_reference)
            tune_print("%6.1f s, trial %d: %s, the start\n", tune_elapsed(t), t->measured, text);
        else
            tune_print("%6.1f s, trial %d: %s, the start %s: %.3f x its speed\n", tune_elapsed(t),
                       t->measured, text, reference, trial->speed);
    } else if (trial->outcome != TUNE_OK && trial->outcome < TUNE_BOUND &&
               (trial->outcome != TUNE_REFUSED || !t->reference)) {
        tune_print("%6.1f s, trial %d: %s: %s\n", tune_elapsed(t), t->measured,
                   tune_outcome_text(trial->outcome), trial->message);
    }
    show_progress(t);
}

static void show_counts(const struct tune *t) {
    tune_print("%d schedules measured in %.1f s", t->measured, tune_elapsed(t));
    for (int i = TUNE_REFUSED; i < TUNE_BOUND; i++)
        if (t->count[i])
            fprintf(stderr, ", %d %s", t->count[i], tune_outcome_text((enum tune_outcome)i));
    if (t->count[TUNE_BOUND])
        fprintf(stderr, "; %d not run, as their kernels cannot be as fast as the best", t->count[TUNE_BOUND]);
    if (t->count[TUNE_EXPENSIVE])
        fprintf(stderr, "; %d not run, as they cost more than %g x the best by estimate",
                t->count[TUNE_EXPENSIVE], expensive_ratio);
    fprintf(stderr, "\n");
}

/* ---- one schedule ---- */

static bool is_over(const struct tune *t) {
    return interrupted || tune_elapsed(t) >= search_share * t->limit ||
           t->measured + t->pendings >= t->max_trials || (t->bench.board && !tune_usable_boards(&t->bench));
}

/* Lower bound in seconds of the time of the schedule's kernels; 0: unknown. */
static double bound(struct tune *t, const char *steps) {
    double operations;
    enum uk_status status =
        uk_schedule_bound(t->bench.job.program, &t->bench.job.options, steps, &operations);

    return status || !(t->peak > 0) ? 0 : operations / t->peak;
}

/* True if the schedule's kernels cannot be as fast as the best so far. */
static bool is_bounded(struct tune *t, const char *steps, struct tune_trial *trial) {
    double least = bound(t, steps), best = t->best > 0 ? t->bench.reference_seconds / t->best : HUGE_VAL;

    if (least < bound_margin * best || least < bound_margin * t->reference_bound)
        return false;
    snprintf(trial->message, sizeof trial->message, "its kernels take at least %.4g ms", 1e3 * least);
    return true;
}

static bool is_too_expensive(struct tune *t, const char *steps, struct tune_trial *trial) {
    double operations = t->best_cost > 0 ? cost(t, steps) : 0;

    if (operations <= expensive_ratio * t->best_cost)
        return false;
    snprintf(trial->message, sizeof trial->message, "%.0f x the cost of the best", operations / t->best_cost);
    return true;
}

/* Logs the trial and adds it to the search. Exit status. */
static int keep(struct tune *t, struct tune_trial trial) {
    int status = tune_log_add(&t->log, &trial, t->search.trials);

    show_trial(t, &trial);
    if (!tune_add(&t->search, trial))
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    return status;
}

/* Measures the pending trials, on all boards at once. Trials that were not completed are dropped. Exit
 * status. */
static int flush(struct tune *t) {
    int status = UK_EXIT_OK;

    if (t->pendings)
        tune_measure_on_boards(&t->bench, t->pending, t->pendings, TUNE_FIRST_ROUNDS, &interrupted, NULL);
    for (int i = 0; i < t->pendings; i++) {
        t->measured += t->pending[i].is_complete;
        if (t->pending[i].is_complete && !status)
            status = keep(t, t->pending[i]);
        else
            uk_text_free(t->pending[i].steps);
    }
    t->pendings = 0;
    return status;
}

static bool is_pending(const struct tune *t, const char *steps) {
    for (int i = 0; i < t->pendings; i++)
        if (!strcmp(t->pending[i].steps, steps))
            return true;
    return false;
}

/* Measures a schedule unless it is known, and takes ownership of `steps`. An incomplete trial is dropped.
 * Exit status. */
static int consider(struct tune *t, char *steps, bool is_start, bool *is_new) {
    struct tune_trial trial = {.steps = steps, .is_start = is_start};

    *is_new = !tune_find(&t->search, steps) && !is_pending(t, steps);
    if (!*is_new) {
        uk_text_free(steps);
        return UK_EXIT_OK;
    }
    trial.outcome = is_bounded(t, steps, &trial)         ? TUNE_BOUND
                    : is_too_expensive(t, steps, &trial) ? TUNE_EXPENSIVE
                                                         : TUNE_OK;
    if (trial.outcome != TUNE_OK)
        return keep(t, trial);
    if (t->bench.board) {
        t->pending[t->pendings++] = trial;
        return t->pendings >= tune_usable_boards(&t->bench) ? flush(t) : UK_EXIT_OK;
    }
    bool is_slow = t->bench.is_counted || t->bench.reference_seconds > 0.1;
    bool whole = tune_measure(&t->bench, &trial, is_slow ? 1 : TUNE_FIRST_ROUNDS, &interrupted);
    /* Measures a new best again: it may be due to noise, and the search continues from it. */
    if (whole && !t->bench.is_counted && trial.outcome == TUNE_OK && trial.speed > t->best)
        whole =
            tune_measure(&t->bench, &trial, is_slow ? TUNE_FIRST_ROUNDS : TUNE_SECOND_ROUNDS, &interrupted);
    if (!whole) {
        uk_text_free(steps);
        return UK_EXIT_OK;
    }
    t->measured++;
    return keep(t, trial);
}

/* ---- starts ---- */

/* Makes the schedule the reference if it works; takes ownership of `steps`. A schedule that failed according
 * to the log is not tried again. Exit status. */
static int try_reference(struct tune *t, char *steps) {
    struct tune_trial *known = tune_find(&t->search, steps), trial = {.steps = steps, .is_start = true};
    bool failed = known && known->outcome != TUNE_OK, worked = false;
    enum uk_status status = failed ? UK_OK : tune_set_reference(&t->bench, steps);

    if (failed) {
        trial.outcome = known->outcome;
        memcpy(trial.message, known->message, sizeof trial.message);
    } else if (status) {
        trial.outcome = TUNE_REFUSED;
        snprintf(trial.message, sizeof trial.message, "%s", uk_context_message(t->bench.job.context));
    } else if (!(t->bench.board ? tune_measure_reference_on_boards(&t->bench, &trial, &interrupted)
                                : tune_measure(&t->bench, &trial, TUNE_FIRST_ROUNDS, &interrupted))) {
        uk_text_free(steps);
        return UK_EXIT_OK;
    } else {
        t->measured++;
        worked = trial.outcome == TUNE_OK && trial.seconds > 0;
    }
    trial.speed = worked ? 1 : 0;
    if (worked) {
        t->bench.reference_seconds = trial.seconds;
        t->reference_bound = bound(t, steps);
        t->best = 0;
        if (!(t->reference = strdup(steps))) {
            uk_text_free(steps);
            return uk_complain(UK_EXIT_WRONG, "out of memory");
        }
        t->bench.reference_steps = t->reference;
    }
    if (!known)
        return keep(t, trial);
    show_trial(t, &trial);
    uk_text_free(steps);
    return UK_EXIT_OK;
}

/* The program's own steps, if any, in the form that automatic schedules have. */
static enum uk_status own_steps(struct tune *t, char **steps) {
    size_t length;

    *steps = NULL;
    return t->bench.job.program->steps
               ? uk_emit(t->bench.job.program, &t->bench.job.options, UK_EMIT_SCHEDULE, steps, &length)
               : UK_OK;
}

static int take_start(struct tune *t, char *steps) {
    bool is_new;

    return t->reference ? consider(t, steps, true, &is_new) : try_reference(t, steps);
}

static int run_starts(struct tune *t) {
    int cursor = 0, status = UK_EXIT_OK;
    char *steps, *own;
    enum uk_status refused = own_steps(t, &own);

    if (refused)
        return uk_job_failed(&t->bench.job, refused);
    refused = uk_schedule_start(t->bench.job.program, &t->bench.job.options, &cursor, &steps);
    if (refused && !own)
        return uk_job_failed(&t->bench.job, refused);
    if (steps)
        status = try_reference(t, steps);
    t->is_reference_auto = t->reference;
    if (!status && !t->reference && !interrupted)
        tune_print("the automatic schedule does not work here; the first schedule that works is the "
                   "reference instead\n");
    if (own && !status)
        status = take_start(t, own);
    else
        uk_text_free(own);
    while (!status && !is_over(t)) {
        refused = uk_schedule_start(t->bench.job.program, &t->bench.job.options, &cursor, &steps);
        if (refused)
            return uk_job_failed(&t->bench.job, refused);
        if (!steps)
            break;
        status = take_start(t, steps);
    }
    return status ? status : flush(t);
}

/* ---- the search ---- */

/* Sets *steps to a changed schedule; NULL: no change is legal. Exit status. */
static int next_steps(struct tune *t, char **steps) {
    int changes = 1;
    const struct tune_trial *parent = tune_parent(&t->search, &changes);
    char *now = NULL;

    *steps = NULL;
    for (int i = 0; parent && i < changes; i++) {
        enum uk_status status = uk_schedule_change(t->bench.job.program, &t->bench.job.options,
                                                   now ? now : parent->steps, &t->search.random, steps);
        if (status == UK_REFUSED && now) {
            *steps = now;
            return UK_EXIT_OK;
        }
        uk_text_free(now);
        now = *steps;
        if (status == UK_REFUSED)
            return UK_EXIT_OK;
        if (status)
            return uk_job_failed(&t->bench.job, status);
    }
    return UK_EXIT_OK;
}

static int search(struct tune *t) {
    int status = UK_EXIT_OK, repeated = 0;

    while (!status && !is_over(t) && repeated < REPEATED) {
        char *steps;
        bool is_new = false;

        status = next_steps(t, &steps);
        if (!status && steps)
            status = consider(t, steps, false, &is_new);
        repeated = is_new ? 0 : repeated + 1;
    }
    return status ? status : flush(t);
}

/* ---- the command ---- */

/* Refuses targets that cannot be measured. Boards are checked when they are opened. */
static int check_target(const struct tune *t, const struct uk_arguments *a) {
    struct uk_job job;
    int status = uk_job_prepare(&job, a);

    if (!status && a->target && !strcmp(a->target, "interp"))
        status =
            uk_complain(UK_EXIT_USAGE,
                        "target interp cannot be tuned, as it has no speed; use another --target, or none");
    else if (!status && (t->bench.is_counted || t->bench.board))
        status = uk_emulation_check(a->target);
    else if (!status && uk_target_runs(job.context, a->target))
        status = uk_job_failed(&job, UK_UNSUPPORTED);
    uk_job_end(&job);
    return status;
}

static void take_signals(void) {
    struct sigaction act = {.sa_handler = interrupt}, before;

    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, NULL, &before);
    if (before.sa_handler != SIG_IGN) /* set by nohup */
        sigaction(SIGHUP, &act, NULL);
    signal(SIGPIPE, SIG_IGN); /* if standard error is closed, only progress is lost */
}

int tune_open(struct tune *t, const struct uk_arguments *a) {
    char threads[32];

    *t = (struct tune){.log.file = -1, .interrupted = &interrupted};
    /* The thread pool reads the environment once, at its first use. */
    snprintf(threads, sizeof threads, "%lld", (long long)a->threads);
    if (a->threads)
        setenv("UK_NUM_THREADS", threads, 1);
    int status = tune_boards_open(&t->bench, a);
    if (status)
        return status;
    if (t->bench.boards && !(t->pending = calloc((size_t)t->bench.boards, sizeof *t->pending)))
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    t->bench.is_counted = uk_is_emulated(a->target) && !t->bench.board;
    t->bench.cooldown = (int)a->cooldown;
    if ((status = check_target(t, a)) || (status = uk_check_output(a->out)) ||
        (a->log && (status = uk_check_output(a->log))))
        return status;
    t->start_time = bench_seconds();
    t->limit = a->time_limit ? (double)a->time_limit : a->trials ? HUGE_VAL : TIME_LIMIT;
    t->max_trials = a->trials ? (int)a->trials : INT32_MAX;
    t->bench.limit = a->trial_limit ? (double)a->trial_limit : fmin(fmax(t->limit / 4, 1), 30);
    t->bench.end = t->start_time + t->limit;
    t->bench.tick = show_progress;
    t->bench.user = t;
    t->search.random = (uint64_t)a->seed;
    take_signals();
    return UK_EXIT_OK;
}

void tune_close(struct tune *t) {
    tune_boards_close(&t->bench);
    free(t->pending);
}

static void measure_peak(struct tune *t) {
    for (int i = 0; i < 3; i++) {
        double peak = bench_peak(uk_target_isa(t->bench.job.options.target), t->bench.job.options.threads);

        t->peak = peak > t->peak ? peak : t->peak;
    }
}

int tune_load(struct tune *t, const struct uk_arguments *a, const struct tune_source *source) {
    int status = tune_bench_create(&t->bench, a, source);

    if (status)
        return status;
    if (!(t->peak > 0) && !t->bench.is_counted && !t->bench.board)
        measure_peak(t);
    status = tune_log_open(&t->log, &t->bench.job, a, t->bench.sizes, &t->search);
    if (!status && a->log && (t->search.trials || t->log.others))
        fprintf(stderr, "%s has %d trials of this program and these sizes, and %d of others\n", a->log,
                t->search.trials, t->log.others);
    return status;
}

void tune_unload(struct tune *t) {
    tune_log_close(&t->log);
    tune_free(&t->search);
    free(t->reference);
    tune_bench_free(&t->bench);
}

int tune_run_search(struct tune *t, struct tune_result *r) {
    int status = run_starts(t);

    *r = (struct tune_result){.speed = 1};
    if (!status && t->reference)
        status = search(t);
    if (status)
        return status;
    show_counts(t);
    if (!t->reference)
        return UK_EXIT_OK;
    if (!interrupted && (status = tune_decide(t, &r->steps, &r->speed)))
        return status;
    r->is_decided = r->steps;
    if (!r->is_decided)
        r->steps = tune_best_so_far(t, &r->speed);
    tune_print("%s", "");
    return UK_EXIT_OK;
}

static int tune(struct tune *t, const struct uk_arguments *a) {
    struct tune_result r;
    int status = tune_run_search(t, &r);

    if (status)
        return status;
    if (!r.steps && interrupted)
        return uk_complain(UK_EXIT_WRONG, "interrupted before any schedule worked: nothing is written");
    if (!r.steps)
        return uk_complain(
            UK_EXIT_WRONG,
            "no schedule worked; see the --log, or give a longer --time-limit or --trial-limit");
    if ((status = tune_write(t, a, r.steps, r.speed, r.is_decided)))
        return status;
    const char *where = a->out ? a->out : "standard output";
    if (interrupted)
        return uk_complain(UK_EXIT_WRONG,
                           "interrupted: %s has the best schedule so far, %.3f x the speed of the start%s",
                           where, r.speed, a->log ? "; the same command resumes from the log" : "");
    if (!r.is_decided && t->bench.board && !tune_usable_boards(&t->bench))
        return uk_complain(UK_EXIT_WRONG,
                           "no board is left: %s has the best schedule so far, %.3f x the speed of the start",
                           where, r.speed);
    if (!r.is_decided)
        tune_print("time limit reached: %s has the best schedule so far, %.3f x the speed of the start\n",
                   where, r.speed);
    return UK_EXIT_OK;
}

int uk_command_tune(const struct uk_arguments *a) {
    struct tune t;
    int status = tune_open(&t, a);

    if (!status)
        status = tune_load(&t, a, NULL);
    if (!status)
        status = tune(&t, a);
    tune_unload(&t);
    tune_close(&t);
    return status;
}
