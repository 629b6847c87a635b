/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uk tune --remote=A,B,...: distributes candidates over boards, one at a time per board. A process on this
 * machine compiles a candidate and has the board run and time it. Times are multiplied by the rate of
 * multiply-adds measured next to them, which cancels varying clock rates. A candidate is compared only with
 * the reference on the same board.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench.h"
#include "child.h"
#include "tune.h"

enum { MOST = 16 };
enum {
    CLOCK = 4,
    CONNECTION = 10
}; /* wall-clock limit of a trial: CLOCK x CPU limit + CONNECTION seconds of transfer */

/* ---- boards ---- */

int tune_usable_boards(const struct tune_bench *b) {
    int n = 0;

    for (int i = 0; i < b->boards; i++)
        n += !b->board[i].is_dropped;
    return n;
}

static void leave(struct tune_board *board, const char *why) {
    board->is_dropped = true;
    tune_print("board %s is left out: %s\n", board->board.text, why);
}

/* Reports boards that cannot be reached and continues with the others. */
int tune_boards_open(struct tune_bench *b, const struct uk_arguments *a) {
    int status = UK_EXIT_OK;

    if (!a->remote)
        return UK_EXIT_OK;
    if (!(b->board_names = strdup(a->remote)) || !(b->board = calloc(MOST, sizeof *b->board)))
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (char *name, *rest = b->board_names; (name = strsep(&rest, ","));) {
        if (b->boards == MOST)
            return uk_complain(UK_EXIT_USAGE, "--remote: give at most %d boards", MOST);
        struct tune_board *board = &b->board[b->boards++];

        status = uk_board_open(&board->board, a, name);
        if (status == UK_EXIT_USAGE || uk_is_interrupted())
            return status ? status : UK_EXIT_WRONG;
        if (!status)
            status = uk_board_fits(&board->board, a->target);
        if (status)
            leave(board, "see above");
    }
    if (!tune_usable_boards(b))
        return b->boards == 1 ? status : uk_complain(UK_EXIT_WRONG, "--remote: no board is left");
    for (int i = b->boards - 1; i >= 0; i--)
        if (!b->board[i].is_dropped)
            uk_board_use(&b->board[i].board);
    return UK_EXIT_OK;
}

void tune_boards_close(struct tune_bench *b) {
    for (int i = 0; i < b->boards; i++)
        uk_board_close(&b->board[i].board);
    free(b->board);
    free(b->board_names);
}

/* ---- in a trial's process ---- */

/* Puts the steps' program on the board, runs it once, and checks its result. */
static enum tune_outcome prepare_on_board(struct tune_bench *b, const char *steps, struct uk_emulation **e,
                                          struct tune_report *r) {
    int32_t refused = 0;
    int status;

    if (uk_program_schedule(b->job.program, "candidate", steps, strlen(steps))) {
        snprintf(r->message, sizeof r->message, "%s", uk_context_message(b->job.context));
        return TUNE_REFUSED;
    }
    status = uk_emulation_begin(e, &b->job, b->sizes, b->scalars, &b->data);
    tune_capture_errors();
    if (!status)
        status = uk_emulation_run(*e, &b->data, &refused);
    if (status)
        return tune_captured_error(r->message, sizeof r->message);
    if (refused) {
        snprintf(r->message, sizeof r->message, "the function refused its arguments: %s",
                 uk_status_text((enum uk_status)refused));
        return TUNE_REFUSED;
    }
    return tune_compare(b, r) ? TUNE_OK : TUNE_WRONG;
}

static int time_on_board(struct tune_bench *b, struct uk_emulation *e, int rounds,
                         struct uk_board_times *times) {
    const struct uk_timing how = {.rounds = rounds, .cooldown = b->cooldown};

    return uk_emulation_time_run(e, &b->data, &how, times);
}

/* Times the program with more and more rounds until the interval is small. */
static int time_until_stable(struct tune_bench *b, struct uk_emulation *e, struct tune_report *r) {
    const double small = 0.01;
    struct uk_board_times times = {.interval = HUGE_VAL};
    int status = UK_EXIT_OK;

    for (int rounds = 5; rounds <= 40 && times.interval > small && !status; rounds *= 2)
        status = time_on_board(b, e, rounds, &times);
    r->seconds = times.seconds;
    r->cost = times.cost;
    r->rounds = times.rounds;
    return status;
}

/* Times the program in alternation with the reference, whose own variation is the noise. */
static int time_in_turns(struct tune_bench *b, struct uk_emulation *candidate, struct uk_emulation *reference,
                         struct tune_report *r) {
    enum { TURNS = 4, ROUNDS = 5 };
    double mine[TURNS], its[TURNS];
    struct uk_board_times times = {0};
    int status = UK_EXIT_OK;

    for (int i = 0; i < TURNS && !status; i++) {
        status = time_on_board(b, reference, ROUNDS, &times);
        its[i] = times.cost;
        if (!status)
            status = time_on_board(b, candidate, ROUNDS, &times);
        mine[i] = times.cost;
        r->seconds = times.seconds;
    }
    if (status)
        return status;
    r->cost = bench_median(mine, TURNS);
    r->speed = bench_median(its, TURNS) / r->cost;
    r->noise = (its[TURNS - 1] - its[0]) / bench_median(its, TURNS);
    r->rounds = TURNS * ROUNDS;
    return UK_EXIT_OK;
}

static enum tune_outcome try_on_board(struct tune_bench *b, const char *steps, int rounds,
                                      struct tune_report *r) {
    struct uk_emulation *e = NULL, *reference = NULL;
    enum tune_outcome outcome = prepare_on_board(b, steps, &e, r);
    int status = UK_EXIT_OK;

    if (outcome == TUNE_OK && rounds >= TUNE_FINAL_ROUNDS) {
        outcome = prepare_on_board(b, b->reference_steps, &reference, r);
        if (outcome == TUNE_OK)
            status = time_in_turns(b, e, reference, r);
    } else if (outcome == TUNE_OK) {
        status = time_until_stable(b, e, r);
    }
    if (status)
        outcome = tune_captured_error(r->message, sizeof r->message);
    uk_emulation_end(reference);
    uk_emulation_end(e);
    return outcome;
}

/* Runs the trial. If it failed and the board is gone or takes no more files, the board is to blame. */
void tune_run_on_board(struct tune_bench *b, const char *steps, int rounds, struct tune_report *r) {
    r->outcome = try_on_board(b, steps, rounds, r);
    if (r->outcome != TUNE_OK)
        r->has_board_failed = strstr(r->message, "cannot be written to") ||
                              uk_board_shell(uk_board_in_use(), "looking for it", "true", NULL, -1, -1);
    uk_board_forget(uk_board_in_use());
}

/* ---- in the parent ---- */

struct place {
    struct tune_trial *trial;
    /* board: where the trial runs, NULL: it waits; slow: board on which it did not finish */
    struct tune_board *board, *slow;
    pid_t process;
    int in;
    double latest;
    bool done, whole;
};

static bool is_free(const struct tune_board *board, const struct place *place, int n) {
    for (int i = 0; i < n; i++)
        if (!place[i].done && place[i].board == board)
            return false;
    return !board->is_dropped;
}

/* Starts waiting trials on free boards, and gives up those for which no board is left. */
static void begin(struct tune_bench *b, struct place *place, int n, int rounds, struct tune_board *only) {
    for (int i = 0; i < n; i++) {
        struct place *p = &place[i];

        if (p->done || p->board)
            continue;
        for (int k = 0; k < b->boards && !p->board; k++)
            if (is_free(&b->board[k], place, n) && &b->board[k] != p->slow && (!only || only == &b->board[k]))
                p->board = &b->board[k];
        if (p->board) {
            uk_board_use(&p->board->board);
            p->process = tune_start(b, p->trial->steps, rounds, &p->in);
            p->latest = bench_seconds() + CLOCK * b->limit + CONNECTION;
        }
        if (!p->board || p->process < 0) {
            int running = 0;

            for (int k = 0; k < n; k++)
                running += !place[k].done && place[k].board && &place[k] != p;
            p->done = p->process < 0 || !running;
        }
    }
}

/* Takes a trial's report, or, without one, the way its process ended. */
static void finish(struct tune_bench *b, struct place *p, const struct tune_report *r, bool whole) {
    int status = 0;
    char why[300];

    close(p->in);
    while (waitpid(p->process, &status, 0) < 0 && errno == EINTR)
        ;
    if (whole && r->has_board_failed) {
        snprintf(why, sizeof why, "%s", r->message);
        leave(p->board, why);
        p->board = NULL;
        return;
    }
    if (whole)
        tune_set_report(p->trial, r);
    else
        tune_describe_end(p->trial, status, b->limit);
    if (whole && r->outcome == TUNE_OK && !(p->trial->speed > 0))
        p->trial->speed = p->board->cost > 0 ? p->board->cost / r->cost : 1;
    p->trial->cost = whole ? r->cost : 0;
    if (p->slow && p->trial->outcome == TUNE_OK)
        leave(p->slow, "a schedule that another board finished exceeded the time limit there");
    p->done = p->whole = true;
}

/* Handles a trial that did not finish in time: moves it to another board if there is one; if it finishes
 * there, the first board is to blame. */
static void end_late(struct tune_bench *b, struct place *p) {
    struct tune_board *board = p->board;
    int others = tune_usable_boards(b) - !board->is_dropped;

    kill(p->process, SIGTERM);
    close(p->in);
    while (waitpid(p->process, NULL, 0) < 0 && errno == EINTR)
        ;
    uk_board_stop(&board->board);
    uk_board_forget(&board->board);
    if (uk_board_shell(&board->board, "looking for it", "true", NULL, -1, -1)) {
        leave(board, "it does not answer");
        p->board = NULL;
    } else if (!p->slow && others) {
        p->slow = board;
        p->board = NULL;
    } else {
        p->trial->outcome = TUNE_TIMEOUT;
        snprintf(p->trial->message, sizeof p->trial->message, "not finished after %.1f s",
                 CLOCK * b->limit + CONNECTION);
        p->done = p->whole = true;
    }
}

static void wait_for_one(struct tune_bench *b, struct place *place, int n) {
    struct pollfd fds[MOST];
    int count = 0;

    for (int i = 0; i < n; i++)
        if (!place[i].done && place[i].board)
            fds[count++] = (struct pollfd){.fd = place[i].in, .events = POLLIN};
    if (!count)
        return;
    if (poll(fds, (nfds_t)count, 1000) <= 0)
        b->tick(b->user);
    for (int i = 0, k = 0; i < n; i++) {
        struct place *p = &place[i];
        struct tune_report r;

        if (p->done || !p->board)
            continue;
        if (fds[k++].revents)
            finish(b, p, &r, read(p->in, &r, sizeof r) == sizeof r);
        else if (bench_seconds() > fmin(p->latest, b->end + CONNECTION))
            end_late(b, p);
    }
}

/* Ends all running trials. */
static void give_up(struct place *place, int n) {
    for (int i = 0; i < n; i++) {
        if (place[i].done || !place[i].board)
            continue;
        kill(place[i].process, SIGTERM);
        close(place[i].in);
        while (waitpid(place[i].process, NULL, 0) < 0 && errno == EINTR)
            ;
        uk_board_stop(&place[i].board->board);
    }
}

static bool has_unfinished_place(const struct place *place, int n) {
    for (int i = 0; i < n; i++)
        if (!place[i].done)
            return true;
    return false;
}

bool tune_measure_on_boards(struct tune_bench *b, struct tune_trial *trials, int n, int rounds,
                            volatile int *interrupted, struct tune_board *only) {
    struct place place[MOST] = {{.trial = NULL}};
    bool whole = true;

    for (int i = 0; i < n; i++) {
        place[i] = (struct place){.trial = &trials[i]};
        tune_clear_trial(&trials[i]);
    }
    while (has_unfinished_place(place, n) && !*interrupted) {
        begin(b, place, n, rounds, only);
        wait_for_one(b, place, n);
        if (only && only->is_dropped)
            break;
    }
    give_up(place, n);
    for (int i = 0; i < n; i++) {
        trials[i].is_complete = place[i].whole;
        whole &= place[i].whole;
    }
    return whole && !*interrupted;
}

bool tune_measure_reference_on_boards(struct tune_bench *b, struct tune_trial *t, volatile int *interrupted) {
    bool any = false;

    for (int i = 0; i < b->boards && !*interrupted; i++) {
        struct tune_trial trial = *t;

        if (b->board[i].is_dropped ||
            !tune_measure_on_boards(b, &trial, 1, TUNE_FIRST_ROUNDS, interrupted, &b->board[i]))
            continue;
        if (trial.outcome != TUNE_OK && any) {
            leave(&b->board[i], trial.message);
            continue;
        }
        b->board[i].cost = trial.cost;
        if (!any)
            *t = trial;
        any = true;
        if (trial.outcome != TUNE_OK)
            break;
    }
    return any && !*interrupted;
}
