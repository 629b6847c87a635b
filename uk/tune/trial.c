/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One trial of uk tune. A child process compiles the schedule, runs it, compares its result, and times it in
 * alternation with the reference, whose code and operands it inherits. The parent never runs generated code.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "child.h"
#include "operands/data.h"
#include "program.h"
#include "operands/shape.h"
#include "time_program.h"
#include "tune.h"

/* A candidate is abandoned if each of its calls during `hopeless_while` seconds is slower than the reference
 * by the factor `hopeless`. */
static const double hopeless = 2, hopeless_while = 0.01;

enum {
    /* wall-clock limit in multiples of the CPU limit: ends trials that only wait, and allows for a busy
     * machine */
    CLOCK = 20
};

/* Memory shared by parent and children. */
struct tune_results {
    bool known; /* the reference's results are stored */
    /* all results are integers that their types hold exactly, so any order of summation gives them */
    bool comparable;
    _Alignas(64) char bytes[]; /* written tensors, one after another, each aligned to 64 bytes */
};

/* ---- common to all trials ---- */

static size_t room_for(const struct uk_array *a) {
    return (a->bytes + 63) / 64 * 64;
}

static size_t written_bytes(const struct uk_data *d) {
    size_t bytes = 0;

    for (int i = 0; i < d->count; i++)
        bytes += d->array[i].tensor->is_written ? room_for(&d->array[i]) : 0;
    return bytes;
}

static int load(struct uk_job *job, const struct uk_arguments *a, const struct tune_source *source) {
    const int status = uk_job_prepare(job, a);

    if (status)
        return status;
    if (!source)
        return uk_job_load(job, a);
    job->text = strdup(source->text);
    job->steps = source->steps ? strdup(source->steps) : NULL;
    if (!job->text || (source->steps && !job->steps))
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    job->length = strlen(job->text);
    job->steps_length = job->steps ? strlen(job->steps) : 0;
    return uk_job_parse(job, a);
}

int tune_bench_create(struct tune_bench *b, const struct uk_arguments *a, const struct tune_source *source) {
    int status = load(&b->job, a, source), count = 0;

    if (status)
        return status;
    struct uk_program *p = b->job.program;
    if (p->versions)
        return uk_complain(UK_EXIT_USAGE,
                           "the program has several schedules, and uk tune changes one; leave one, without "
                           "`where`, or give one by --schedule");
    if (!a->threads && !b->is_counted && !b->board)
        b->job.options.threads = uk_num_threads();
    b->sizes = calloc((size_t)uk_program_sizes(p) + 1, sizeof *b->sizes);
    b->arguments = calloc((size_t)uk_program_sizes(p) + 1, sizeof *b->arguments);
    b->scalars = calloc((size_t)uk_program_scalars(p) + 1, sizeof *b->scalars);
    if (!b->sizes || !b->arguments || !b->scalars)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (int i = 0; i < uk_program_scalars(p); i++)
        b->scalars[i] = i + 2;
    if ((status = uk_choose_sizes(p, a, b->sizes)) || (status = uk_data_create(&b->data, p, b->sizes)))
        return status;
    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (!v->defined)
            b->arguments[count++] = b->sizes[v->number];
    uk_data_integers(&b->data);
    b->shared_bytes = sizeof *b->shared + written_bytes(&b->data);
    b->shared = mmap(NULL, b->shared_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (b->shared == MAP_FAILED) {
        b->shared = NULL;
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    }
    return UK_EXIT_OK;
}

void tune_bench_free(struct tune_bench *b) {
    if (b->shared)
        munmap(b->shared, b->shared_bytes);
    uk_module_destroy(b->reference);
    uk_data_free(&b->data);
    uk_job_end(&b->job);
    free(b->sizes);
    free(b->arguments);
    free(b->scalars);
}

static enum uk_status compile(struct tune_bench *b, const char *steps, struct uk_module **out) {
    enum uk_status status = uk_program_schedule(b->job.program, "candidate", steps, strlen(steps));

    *out = NULL;
    return status ? status : uk_compile(b->job.program, &b->job.options, out);
}

enum uk_status tune_set_reference(struct tune_bench *b, const char *steps) {
    uk_module_destroy(b->reference);
    b->shared->known = false;
    b->reference_seconds = 0;
    b->reference = NULL;
    return b->is_counted || b->board ? UK_OK : compile(b, steps, &b->reference);
}

/* ---- in the child ---- */

/* Integers up to this magnitude are exact in the type. */
static double exact_limit(enum uk_type type) {
    return type == UK_F32 ? 0x1p24 : type == UK_F16 ? 0x1p11 : type == UK_BF16 ? 0x1p8 : 0x1p53;
}

static void keep_results(struct tune_bench *b) {
    char *at = b->shared->bytes;

    b->shared->comparable = true;
    for (int t = 0; t < b->data.count; t++) {
        const struct uk_array *a = &b->data.array[t];

        if (!a->tensor->is_written)
            continue;
        for (size_t i = 0; i < a->elements && b->shared->comparable; i++) {
            double v = uk_data_value(a, i);

            b->shared->comparable = v == floor(v) && fabs(v) < exact_limit(a->tensor->type);
        }
        memcpy(at, a->origin, a->bytes);
        at += room_for(a);
    }
    b->shared->known = true;
}

static bool same_results(const struct tune_bench *b, struct tune_report *r) {
    char *at = b->shared->bytes;

    for (int t = 0; b->shared->known && b->shared->comparable && t < b->data.count; t++) {
        const struct uk_array *a = &b->data.array[t];
        struct uk_array expected = *a;

        if (!a->tensor->is_written)
            continue;
        expected.origin = at;
        at += room_for(a);
        if (!memcmp(a->origin, expected.origin, a->bytes))
            continue;
        for (size_t i = 0; i < a->elements; i++)
            if (uk_data_value(a, i) != uk_data_value(&expected, i)) {
                snprintf(r->message, sizeof r->message,
                         "%s at offset %zu is %.9g, but %.9g by the first schedule; uk verify finds the "
                         "kernel that is wrong",
                         a->tensor->name, i, uk_data_value(a, i), uk_data_value(&expected, i));
                return false;
            }
    }
    return true;
}

bool tune_compare(struct tune_bench *b, struct tune_report *r) {
    if (b->shared->known)
        return same_results(b, r);
    keep_results(b);
    return true;
}

struct call {
    const struct tune_bench *b;
    const struct uk_module *module;
    struct uk_operands operands;
    int status;
};

/* Packs constant tensors as the module requires. */
static bool begin_call(struct call *c, const struct tune_bench *b, struct uk_module *m) {
    enum uk_status packed;

    *c = (struct call){.b = b, .module = m};
    if (uk_operands_create(&c->operands, &b->data, m, b->arguments, &packed))
        return false;
    c->status = packed;
    return true;
}

static void run_call(void *user) {
    struct call *c = user;

    c->status |= uk_module_call(c->module, c->b->arguments, c->b->scalars, c->operands.origins);
}

/* True if a few calls show that the candidate is too slow. */
static bool is_hopeless(const struct tune_bench *b, struct call *c, struct tune_report *r) {
    double least = HUGE_VAL, begun = bench_seconds();

    if (!(b->reference_seconds > 0))
        return false;
    do {
        double start = bench_seconds();

        run_call(c);
        double seconds = bench_seconds() - start;
        least = seconds < least ? seconds : least;
        if (least < hopeless * b->reference_seconds)
            return false;
    } while (bench_seconds() - begun < hopeless_while);
    r->seconds = least;
    r->speed = b->reference_seconds / least;
    return true;
}

static enum tune_outcome try_candidate(struct tune_bench *b, const char *steps, int rounds,
                                       struct tune_report *r) {
    struct call call[2];
    struct uk_module *m;

    if (compile(b, steps, &m)) {
        snprintf(r->message, sizeof r->message, "%s", uk_context_message(b->job.context));
        return TUNE_REFUSED;
    }
    if (!begin_call(&call[1], b, m) || (b->reference && !begin_call(&call[0], b, b->reference))) {
        snprintf(r->message, sizeof r->message, "out of memory");
        return TUNE_REFUSED;
    }
    if (!call[1].status)
        run_call(&call[1]);
    if (call[1].status) {
        snprintf(r->message, sizeof r->message, "the function refused its arguments: %s",
                 uk_status_text((enum uk_status)call[1].status));
        return TUNE_REFUSED;
    }
    if (!b->reference_seconds)
        keep_results(b);
    else if (!same_results(b, r))
        return TUNE_WRONG;
    if (rounds <= TUNE_FIRST_ROUNDS && is_hopeless(b, &call[1], r))
        return TUNE_OK;
    struct bench_contender contender[3] = {{.name = "reference", .run = run_call, .user = &call[0]},
                                           {.name = "candidate", .run = run_call, .user = &call[1]},
                                           {.name = "reference again", .run = run_call, .user = &call[0]}};
    struct bench_plan plan = {.isa = uk_target_isa(b->job.options.target),
                              .threads = b->job.options.threads,
                              .rounds = rounds,
                              .sample_time = rounds > TUNE_FIRST_ROUNDS ? 0.015 : 0.005};
    enum uk_status status = bench_paired(&plan, contender, rounds >= TUNE_FINAL_ROUNDS ? 3 : 2);
    if (status || call[0].status || call[1].status || !(contender[1].seconds > 0)) {
        snprintf(r->message, sizeof r->message, "measuring failed: %s", uk_status_text(status));
        return TUNE_REFUSED;
    }
    r->seconds = contender[1].seconds;
    r->speed = 1 / contender[1].ratio;
    r->reference_cost = contender[0].seconds;
    r->noise = rounds >= TUNE_FINAL_ROUNDS ? fabs(1 / contender[2].ratio - 1) : 0;
    r->rounds = rounds;
    return TUNE_OK;
}

static enum tune_outcome count_candidate(struct tune_bench *b, const char *steps, struct tune_report *r) {
    const enum tune_outcome outcome = tune_count(b, steps, &r->seconds, r->message, sizeof r->message);

    if (outcome != TUNE_OK)
        return outcome;
    if (!b->reference_seconds)
        keep_results(b);
    else if (!same_results(b, r))
        return TUNE_WRONG;
    r->speed = b->reference_seconds > 0 ? b->reference_seconds / r->seconds : 1;
    r->reference_cost = b->reference_seconds;
    r->rounds = 1;
    return TUNE_OK;
}

static void be_child(struct tune_bench *b, const char *steps, int rounds, int out) {
    struct tune_report r = {0};
    int nowhere = open("/dev/null", O_RDWR);

    const rlim_t seconds = (rlim_t)ceil(b->limit * b->job.options.threads);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    uk_begin_signals();
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    /* CPU time, because other processes may delay this one; the parent enforces the wall-clock limit. */
    setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds + 1});
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    if (b->board)
        tune_run_on_board(b, steps, rounds, &r);
    else
        r.outcome = b->is_counted ? count_candidate(b, steps, &r) : try_candidate(b, steps, rounds, &r);
    _exit(write(out, &r, sizeof r) == sizeof r ? 0 : 1);
}

/* ---- in the parent ---- */

/* Receives the child's report before the deadline; false: no complete report. */
static bool receive(const struct tune_bench *b, int in, double deadline, volatile int *interrupted,
                    struct tune_report *r, bool *late) {
    size_t have = 0;

    *late = false;
    while (have < sizeof *r && !*interrupted) {
        double left = deadline - bench_seconds();
        struct pollfd p = {.fd = in, .events = POLLIN};

        if (left <= 0) {
            *late = true;
            return false;
        }
        if (poll(&p, 1, left < 1 ? (int)(1e3 * left) + 1 : 1000) <= 0) {
            b->tick(b->user);
            continue;
        }
        ssize_t n = read(in, (char *)r + have, sizeof *r - have);
        if (n <= 0)
            return false;
        have += (size_t)n;
    }
    return have == sizeof *r;
}

void tune_describe_end(struct tune_trial *t, int status, double limit) {
    t->outcome = TUNE_CRASH;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
        t->outcome = TUNE_TIMEOUT;
        snprintf(t->message, sizeof t->message, "not finished after %.1f s of CPU time", limit);
    } else if (WIFSIGNALED(status)) {
        snprintf(t->message, sizeof t->message, "signal %d: %s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    } else {
        snprintf(t->message, sizeof t->message, "exit status %d", WEXITSTATUS(status));
    }
}

void tune_clear_trial(struct tune_trial *t) {
    t->message[0] = 0;
    t->outcome = TUNE_REFUSED;
    t->seconds = t->speed = t->reference_cost = 0;
    t->rounds = 0;
}

void tune_set_report(struct tune_trial *t, const struct tune_report *r) {
    t->outcome = r->outcome;
    t->seconds = r->seconds;
    t->speed = r->speed;
    t->reference_cost = r->reference_cost;
    t->noise = r->noise;
    t->rounds = r->rounds;
    memcpy(t->message, r->message, sizeof t->message);
}

int tune_start(struct tune_bench *b, const char *steps, int rounds, int *in) {
    int pipes[2];

    fflush(NULL);
    if (pipe2(pipes, O_CLOEXEC))
        return -1;
    const pid_t child = fork();
    if (!child) {
        close(pipes[0]);
        be_child(b, steps, rounds, pipes[1]);
    }
    close(pipes[1]);
    *in = pipes[0];
    if (child < 0)
        close(pipes[0]);
    return child;
}

bool tune_measure(struct tune_bench *b, struct tune_trial *t, int rounds, volatile int *interrupted) {
    int in, status = 0;
    struct tune_report r;
    bool late;

    if (b->board)
        return tune_measure_on_boards(b, t, 1, rounds, interrupted, NULL);
    tune_clear_trial(t);
    const pid_t child = tune_start(b, t->steps, rounds, &in);
    if (child < 0) {
        snprintf(t->message, sizeof t->message, "no process: %s", strerror(errno));
        return !*interrupted;
    }
    const double latest = bench_seconds() + CLOCK * b->limit;
    bool whole = receive(b, in, fmin(latest, b->end), interrupted, &r, &late);
    close(in);
    /* SIGTERM lets a child that has started other programs end them and remove its files. */
    if (!whole && (late || *interrupted))
        kill(child, b->is_counted ? SIGTERM : SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (whole) {
        tune_set_report(t, &r);
    } else if (late) {
        t->outcome = TUNE_TIMEOUT;
        snprintf(t->message, sizeof t->message, "not finished after %.1f s", CLOCK * b->limit);
    } else {
        tune_describe_end(t, status, b->limit);
    }
    return !*interrupted && (whole || !late || latest < b->end);
}
