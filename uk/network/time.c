/* SPDX-License-Identifier: Apache-2.0 */
/* uk run --time of a network: speed relative to the peak, and the slowest layers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "network.h"
#include "time_program.h"

enum { SLOWEST = 10, ROUNDS = 9 };

struct timed {
    struct uk_net_job *job;
    int status;
};

static void run(void *user) {
    struct timed *t = user;

    uk_net_fill(t->job);
    t->status |= (int)uk_network_run(t->job->network, t->job->memory);
}

static int time_all(struct timed *t) {
    struct uk_net_job *j = t->job;
    struct bench_contender c = {.name = "this", .run = run, .user = t};
    struct bench_plan plan = {.isa = uk_target_isa(j->options.target),
                              .threads = j->options.threads,
                              .flops = 2 * uk_net_multiply_adds(j)};
    const enum uk_status s = bench_paired(&plan, &c, 1);

    if (s || t->status)
        return uk_complain(UK_EXIT_WRONG, "measuring failed: %s",
                           uk_status_text(s ? s : (enum uk_status)t->status));
    printf("time: %.4f ms (%.4f..%.4f)", 1e3 * c.seconds, 1e3 * c.fastest, 1e3 * c.slowest);
    if (plan.flops > 0)
        printf(", %.1f GFLOP/s, %.1f %% of the %s peak measured next to it (%.1f GFLOP/s, %d thread%s)",
               1e-9 * plan.flops / c.seconds, c.percent, bench_isas[plan.isa].name, 1e-9 * plan.peak,
               plan.threads, plan.threads > 1 ? "s" : "");
    printf("\n");
    return UK_EXIT_OK;
}

/* Seconds of all runs of each layer: the median over several rounds of whole runs. With one thread, in CPU
 * time of the thread, as for the whole network. */
static int time_layers(struct timed *t, int layers, double *seconds) {
    double (*const now)(void) = t->job->options.threads > 1 ? bench_seconds : bench_thread_seconds;
    double *sample = calloc((size_t)layers * ROUNDS + 1, sizeof *sample);
    struct uk_net_job *j = t->job;

    if (!sample)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (int round = -1; round < ROUNDS; round++) {
        uk_net_fill(j);
        for (int i = -1; (i = uk_network_next_layer(j->network, j->memory, i)) >= 0;) {
            const double start = now();
            t->status |= (int)uk_network_run_layer(j->network, j->memory, i);
            if (round >= 0)
                sample[i * ROUNDS + round] += now() - start;
        }
    }
    for (int i = 0; i < layers; i++)
        seconds[i] = bench_median(sample + (size_t)i * ROUNDS, ROUNDS);
    free(sample);
    return t->status
               ? uk_complain(UK_EXIT_WRONG, "measuring failed: %s", uk_status_text((enum uk_status)t->status))
               : UK_EXIT_OK;
}

int uk_net_time_layers(struct uk_net_job *j, int layers, double *seconds) {
    struct timed t = {.job = j};

    return j->device      ? uk_net_time_layers_on_gpu(j, layers, seconds)
           : j->emulation ? uk_net_time_layers_on_board(j, layers, seconds)
                          : time_layers(&t, layers, seconds);
}

static void print_time(const struct uk_net_job *j, int layer, double seconds, double sum) {
    const struct uk_network_layer *l = uk_network_layer(j->network, layer);
    const double terms = l->multiply_adds * (double)l->trips;

    printf("  %3d %-24s %-20s %9.4f ms %5.1f %%", layer, l->operators, uk_net_shape(&l->output),
           1e3 * seconds, 100 * seconds / sum);
    if (l->trips > 1)
        printf(", %" PRId64 " runs", l->trips);
    else if (l->trips < 0)
        printf(", as often as data decide");
    if (terms > 0 && seconds > 0)
        printf(" %9.2f M multiply-adds, %.1f GFLOP/s", 1e-6 * terms, 2e-9 * terms / seconds);
    printf("\n");
}

static void print_slowest(const struct uk_net_job *j, int layers, double *seconds) {
    double sum = 0;

    for (int i = 0; i < layers; i++)
        sum += seconds[i];
    printf("slowest of %d layers, which take %.4f ms one by one:\n", layers, 1e3 * sum);
    for (int k = 0; k < SLOWEST && k < layers; k++) {
        int slowest = 0;
        for (int i = 1; i < layers; i++)
            slowest = seconds[i] > seconds[slowest] ? i : slowest;
        print_time(j, slowest, seconds[slowest], sum);
        seconds[slowest] = -1;
    }
}

int uk_net_time(struct uk_net_job *j) {
    const int layers = uk_net_layers(j);
    double *seconds = calloc((size_t)layers + 1, sizeof *seconds);
    struct timed t = {.job = j};
    int status = seconds ? UK_EXIT_OK : uk_complain(UK_EXIT_WRONG, "out of memory");

    if (!status) {
        printf("read in %.1f ms, compiled in %.1f ms\n", 1e3 * j->read_time, 1e3 * j->compile_time);
        status = j->device      ? uk_net_time_all_on_gpu(j)
                 : j->emulation ? uk_net_time_all_on_board(j)
                                : time_all(&t);
    }
    if (!status)
        status = uk_net_time_layers(j, layers, seconds);
    if (!status)
        print_slowest(j, layers, seconds);
    free(seconds);
    return status;
}
