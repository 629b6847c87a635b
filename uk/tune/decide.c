/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a search: measures the fastest schedules again, then the best in alternation with the
 * reference. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"
#include "file.h"
#include "tune.h"

enum { FINALISTS = 8, DECISIONS = 3 };

/* Schedules below these speeds after the first and the second measurement are not considered further. */
static const double hopeless_first = 0.9, hopeless_second = 0.98;

static const double least_gain = 0.005; /* a smaller gain is always taken for noise */

void tune_print(const char *format, ...) {
    va_list ap;

    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
}

double tune_reference_cost(const struct tune_trial *t) {
    return t->reference_cost > 0 ? t->reference_cost : t->seconds * t->speed;
}

double tune_elapsed(const struct tune *t) {
    return bench_seconds() - t->start_time;
}

/* Measures the fastest schedules again and sorts them by the result; *count is the number that worked. Exit
 * status. */
static int measure_again(struct tune *t, int *finalist, int *count) {
    int looked[FINALISTS], n = 0, status = UK_EXIT_OK;
    const struct tune_trial *ranked;

    *count = 0;
    for (int rank = 0; n < FINALISTS && (ranked = tune_rank(&t->search, rank)); rank++)
        if (strcmp(ranked->steps, t->reference) && ranked->speed > hopeless_first)
            looked[n++] = (int)(ranked - t->search.trial);
    /* Half of the remaining time is for the final measurements. */
    const double until = (tune_elapsed(t) + t->limit) / 2;
    for (int i = 0; i < n && !status && tune_elapsed(t) < until; i++) {
        struct tune_trial *f = &t->search.trial[looked[i]], trial = *f;
        int rounds = t->bench.reference_seconds > 0.1 ? TUNE_FIRST_ROUNDS + 1 : TUNE_SECOND_ROUNDS,
            at = *count;

        if (!tune_measure(&t->bench, &trial, rounds, t->interrupted))
            return UK_EXIT_OK;
        *f = trial;
        status = tune_log_add(&t->log, f, looked[i]);
        if (f->outcome != TUNE_OK)
            continue;
        for (; at && t->search.trial[finalist[at - 1]].speed < f->speed; at--)
            finalist[at] = finalist[at - 1];
        finalist[at] = looked[i];
        ++*count;
    }
    return status;
}

/* The schedule with the lowest count, which has no noise. */
static const char *least_count(const struct tune *t, const char *name, double *speed) {
    const struct tune_trial *best = tune_rank(&t->search, 0);
    char text[32], reference[32];

    if (!best || best->speed <= 1) {
        tune_print("no schedule takes fewer instructions: the result is %s\n", name);
        return t->reference;
    }
    tune_print("the best takes %s, %s %s: %.3f x as fast by instructions\n",
               tune_cost_text(&t->bench, best->seconds, text), name,
               tune_cost_text(&t->bench, tune_reference_cost(best), reference), best->speed);
    *speed = best->speed;
    return best->steps;
}

int tune_decide(struct tune *t, const char **steps, double *speed) {
    const char *name = t->is_reference_auto ? "the automatic schedule" : "the first schedule that worked";
    int finalist[FINALISTS], count, status;
    char text[32], reference[32];

    *steps = NULL;
    *speed = 1;
    if (t->bench.is_counted) {
        *steps = least_count(t, name, speed);
        return UK_EXIT_OK;
    }
    t->is_deciding = true;
    status = measure_again(t, finalist, &count);
    t->bench.limit *= 4;
    for (int i = 0; i < count && i < DECISIONS && !status && !*t->interrupted; i++) {
        struct tune_trial last = t->search.trial[finalist[i]];

        if (last.speed < hopeless_second) /* the following ones are slower still */
            break;
        if (!tune_measure(&t->bench, &last, TUNE_FINAL_ROUNDS, t->interrupted))
            return UK_EXIT_OK;
        double noise = last.noise > least_gain ? last.noise : least_gain;
        if (last.outcome == TUNE_OK && last.speed > 1 + noise) {
            *steps = last.steps;
            *speed = last.speed;
            tune_print("the best takes %s, %s %s: %.3f x as fast (noise %.3f)\n",
                       tune_cost_text(&t->bench, last.seconds, text), name,
                       tune_cost_text(&t->bench, tune_reference_cost(&last), reference), last.speed, noise);
            return UK_EXIT_OK;
        }
        if (last.outcome == TUNE_OK)
            tune_print("%s takes %s, %s %s: %.3f x as fast, which is within noise (%.3f)\n",
                       i ? "another" : "the best", tune_cost_text(&t->bench, last.seconds, text), name,
                       tune_cost_text(&t->bench, tune_reference_cost(&last), reference), last.speed, noise);
        else
            tune_print("the best failed when it was measured again: %s\n", last.message);
    }
    if (!status && !*t->interrupted && tune_elapsed(t) < t->limit &&
        !(t->bench.board && !tune_usable_boards(&t->bench))) {
        tune_print("no schedule is faster: the result is %s\n", name);
        *steps = t->reference;
    }
    t->is_deciding = false;
    return status;
}

const char *tune_best_so_far(const struct tune *t, double *speed) {
    const struct tune_trial *best = tune_rank(&t->search, 0);
    bool faster = best && best->speed > 1 + least_gain;

    *speed = faster ? best->speed : 1;
    return faster ? best->steps : t->reference;
}

int tune_write(const struct tune *t, const struct uk_arguments *a, const char *steps, double speed,
               bool decided) {
    struct uk_text text = {0};

    uk_put(&text, "# uk tune: %s for %s, %d thread%s", t->bench.job.program->name,
           t->bench.job.options.target ? t->bench.job.options.target : "native", t->bench.job.options.threads,
           t->bench.job.options.threads > 1 ? "s" : "");
    for (const struct uk_var *v = t->bench.job.program->sizes; v; v = v->next)
        uk_put(&text, ", %s=%lld", v->name, (long long)t->bench.sizes[v->number]);
    if (steps != t->reference)
        uk_put(&text, ": %.3f x the speed of %s%s\n", speed, t->is_reference_auto ? "auto" : "the start",
               decided ? "" : ", not measured again");
    else
        uk_put(&text, ": %s\n", t->is_reference_auto ? "auto" : "the first that works");
    uk_put(&text, "schedule\n%s", steps);
    int status = text.text ? uk_write_output(a->out, text.text, text.length)
                           : uk_complain(UK_EXIT_WRONG, "out of memory");
    free(text.text);
    return status;
}
