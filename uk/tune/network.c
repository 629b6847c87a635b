/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uk tune of a network: searches each distinct tensor program of its layers, in decreasing order of cost. A
 * program's share of time and trials is its share of a run's cost with the automatic schedules. Programs
 * whose share is too small for a search keep their schedules.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "file.h"
#include "network.h"

/* A shorter search finds nothing above the noise. */
static const double least_seconds = 3;
enum {
    LEAST_TRIALS = 2, /* includes the automatic schedule */
    TIME_LIMIT = 300
};

/* A tensor program, described by the first layer that calls it. */
struct layer {
    const struct uk_network_layer *shown;
    int number, calls;
    double weight;             /* seconds or instructions of all its calls with the automatic schedule */
    char *steps;               /* NULL: automatic schedule */
    double speed;              /* relative to the automatic schedule */
    bool is_found, is_decided; /* found by this search; confirmed by the final measurement */
};

struct network_tune {
    const struct uk_arguments *arguments;
    struct uk_net_job job;
    struct tune all; /* boards and limits common to the searches */
    struct layer *layer;
    int layers, searched;
    double weight; /* sum over all programs */
};

/* ---- layers ---- */

static struct layer *layer_of(const struct network_tune *n, const char *function) {
    for (int i = 0; i < n->layers; i++)
        if (!strcmp(n->layer[i].shown->function, function))
            return &n->layer[i];
    return NULL;
}

/* Collects the programs. A layer without elements is skipped, because it is not called. */
static int collect(struct network_tune *n) {
    const struct uk_network_layer *l;

    n->layer = calloc((size_t)uk_net_layers(&n->job) + 1, sizeof *n->layer);
    if (!n->layer)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (int i = 0; (l = uk_network_layer(n->job.network, i)); i++) {
        struct layer *of = layer_of(n, l->function);

        if (!l->output.elements)
            continue;
        if (!of) {
            of = &n->layer[n->layers++];
            *of = (struct layer){.shown = l, .number = i, .speed = 1};
            if (l->schedule && !(of->steps = strdup(l->schedule)))
                return uk_complain(UK_EXIT_WRONG, "out of memory");
        }
        of->calls++;
    }
    return UK_EXIT_OK;
}

/* Sorts by decreasing weight; ties in the order of calls. */
static int compare(const void *a, const void *b) {
    const struct layer *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return x->number - y->number;
}

static int weigh(struct network_tune *n) {
    const int layers = uk_net_layers(&n->job);
    double *cost = calloc((size_t)layers + 1, sizeof *cost);
    int status =
        cost ? tune_weigh(&n->job, &n->all, layers, cost) : uk_complain(UK_EXIT_WRONG, "out of memory");
    char text[32];

    for (int i = 0; i < layers && !status; i++) {
        struct layer *of = layer_of(n, uk_network_layer(n->job.network, i)->function);

        if (of && cost[i] > 0) {
            of->weight += cost[i];
            n->weight += cost[i];
        }
    }
    free(cost);
    qsort(n->layer, (size_t)n->layers, sizeof *n->layer, compare);
    if (n->weight > 0)
        tune_print("%d layer%s in %d tensor program%s: %s, measured in %.1f s\n", layers,
                   layers == 1 ? "" : "s", n->layers, n->layers == 1 ? "" : "s",
                   tune_cost_text(&n->all.bench, n->weight, text), tune_elapsed(&n->all));
    return status;
}

/* ---- one layer ---- */

/* A layer's search; its arguments are the command's, with another file. */
struct search {
    struct tune tune;
    struct uk_arguments arguments;
    const char *positional;
    char file[300];
};

/* Prepares a search until `limit` with at most `most` trials. */
static int load(struct network_tune *n, const struct layer *l, struct search *s, double limit, int most) {
    const struct tune_source source = {l->shown->text, l->steps};

    s->tune = n->all;
    s->tune.start_time = bench_seconds();
    s->tune.limit = limit;
    s->tune.bench.end = s->tune.start_time + limit;
    s->tune.bench.user = &s->tune;
    s->tune.max_trials = most;
    snprintf(s->file, sizeof s->file, "%s.uk", l->shown->function);
    s->positional = s->file;
    s->arguments = *n->arguments;
    s->arguments.positional = &s->positional;
    s->arguments.bindings = 0; /* these and the name are the network's, not the layer's */
    s->arguments.name = NULL;
    return tune_load(&s->tune, &s->arguments, &source);
}

static int take(struct layer *l, const struct tune_result *r, const struct tune *t) {
    const bool is_automatic = r->steps == t->reference && t->is_reference_auto;

    if (!r->steps)
        return UK_EXIT_OK;
    free(l->steps);
    l->steps = is_automatic ? NULL : strdup(r->steps);
    l->speed = r->speed;
    l->is_found = true;
    l->is_decided = r->is_decided;
    return is_automatic || l->steps ? UK_EXIT_OK : uk_complain(UK_EXIT_WRONG, "out of memory");
}

static int search(struct network_tune *n, struct layer *l, double limit, int most, int *measured) {
    struct tune_result r;
    struct search s;
    char calls[32] = "", seconds[32] = "";

    if (l->calls > 1)
        snprintf(calls, sizeof calls, " in %d calls", l->calls);
    if (isfinite(limit))
        snprintf(seconds, sizeof seconds, ", %.0f s", limit);
    tune_print("%s, %s: %.1f %% of the network%s%s\n", l->shown->function, l->shown->operators,
               100 * l->weight / n->weight, calls, seconds);
    int status = load(n, l, &s, limit, most);
    if (!status)
        status = tune_run_search(&s.tune, &r);
    if (!status)
        status = take(l, &r, &s.tune);
    *measured = s.tune.measured;
    n->all.peak = s.tune.peak;
    tune_unload(&s.tune);
    return status;
}

/* ---- all layers ---- */

/* Fraction of the seconds and trials that a layer gets: its weight relative to that of itself and those
 * following layers whose fractions still suffice for a search. 0: its own does not. */
static double part(const struct network_tune *n, int layer, double seconds, double trials) {
    double sum = 0, found = 0;

    for (int i = layer; i < n->layers && n->layer[i].weight > 0; i++) {
        sum += n->layer[i].weight;
        const double smallest = n->layer[i].weight / sum;
        if (seconds * smallest < least_seconds || trials * smallest < LEAST_TRIALS)
            break;
        found = n->layer[layer].weight / sum;
    }
    return found;
}

static bool is_over(const struct network_tune *n) {
    return *n->all.interrupted || (n->all.bench.board && !tune_usable_boards(&n->all.bench));
}

static int search_all(struct network_tune *n) {
    int trials = n->all.max_trials, status = UK_EXIT_OK;

    while (n->searched < n->layers && !status && !is_over(n)) {
        const double left = n->all.bench.end - bench_seconds(), share = part(n, n->searched, left, trials);
        const int most = trials < INT32_MAX ? (int)(trials * share + 0.5) : trials;
        int measured;

        if (!(share > 0))
            break;
        status = search(n, &n->layer[n->searched++], left * share, most, &measured);
        trials -= trials < INT32_MAX ? measured : 0;
    }
    return status;
}

/* ---- the result ---- */

static double weight_now(const struct network_tune *n) {
    double sum = 0;

    for (int i = 0; i < n->layers; i++)
        sum += n->layer[i].weight / n->layer[i].speed;
    return sum;
}

static void put_layer(struct uk_text *t, const struct layer *l) {
    uk_put(t, "layer %s # %s, %s: ", l->shown->key, l->shown->function, l->shown->operators);
    if (!l->is_found)
        uk_put(t, "as given\n");
    else
        uk_put(t, "%.3f x the speed of auto%s\n", l->speed, l->is_decided ? "" : ", not measured again");
    uk_put(t, "%s", l->steps);
}

static int write_result(const struct network_tune *n) {
    const struct uk_arguments *a = n->arguments;
    const bool is_here = !n->all.bench.is_counted && !n->all.bench.board;
    const int threads = a->threads ? (int)a->threads : is_here ? uk_num_threads() : 1;
    struct uk_text t = {0};

    uk_put(&t, "# uk tune: %s for %s, %d thread%s: layers one by one %.3f x the speed of auto\n",
           uk_network_name(n->job.network), a->target ? a->target : "native", threads, threads > 1 ? "s" : "",
           n->weight / weight_now(n));
    for (int i = 0; i < n->layers; i++)
        if (n->layer[i].steps)
            put_layer(&t, &n->layer[i]);
    const int status =
        t.failed ? uk_complain(UK_EXIT_WRONG, "out of memory") : uk_write_output(a->out, t.text, t.length);
    free(t.text);
    return status;
}

static void print_result(const struct network_tune *n) {
    char before[32], now[32];
    int own = 0;

    for (int i = 0; i < n->layers; i++)
        own += n->layer[i].steps != NULL;
    tune_cost_text(&n->all.bench, n->weight, before);
    tune_cost_text(&n->all.bench, weight_now(n), now);
    tune_print("%d of %d tensor programs searched, %d got a schedule other than the automatic one: the sum "
               "over the layers is %s instead of %s, %.3f x as fast\n",
               n->searched, n->layers, own, now, before, n->weight / weight_now(n));
}

static int finish(const struct network_tune *n) {
    const struct uk_arguments *a = n->arguments;
    const char *where = a->out ? a->out : "standard output";

    if (!n->searched && *n->all.interrupted)
        return uk_complain(UK_EXIT_WRONG, "interrupted before the search began: nothing is written");
    if (!n->searched)
        return uk_complain(UK_EXIT_WRONG, "the first run leaves too little time for a search; give a longer "
                                          "--time-limit, or more --trials");
    const int status = write_result(n);
    if (status)
        return status;
    print_result(n);
    if (*n->all.interrupted)
        return uk_complain(UK_EXIT_WRONG, "interrupted: %s has the best schedules so far%s", where,
                           a->log ? "; the same command resumes from the log" : "");
    if (n->all.bench.board && !tune_usable_boards(&n->all.bench))
        return uk_complain(UK_EXIT_WRONG, "no board is left: %s has the best schedule so far", where);
    return UK_EXIT_OK;
}

int uk_tune_network(const struct uk_arguments *given) {
    struct uk_arguments a = *given;
    struct network_tune n = {.arguments = &a};

    if (!a.time_limit && !a.trials)
        a.time_limit = TIME_LIMIT;
    int status = tune_open(&n.all, &a);
    if (!status)
        status = uk_net_check_constants(&a);
    if (!status)
        status = uk_net_begin(&n.job, &a);
    if (!status)
        status = collect(&n);
    if (!status)
        status = weigh(&n);
    if (!status)
        status = search_all(&n);
    if (!status)
        status = finish(&n);
    for (int i = 0; i < n.layers; i++)
        free(n.layer[i].steps);
    free(n.layer);
    uk_net_end(&n.job);
    tune_close(&n.all);
    return status;
}
