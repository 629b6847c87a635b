/* SPDX-License-Identifier: Apache-2.0 */
/* Compares each layer's result with the interpreter's for the same inputs, and writes results to files. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "network.h"
#include "progress.h"

enum { SOME = 4096 }; /* elements compared per layer, unless all are requested */

struct checked {
    int layers;
    int64_t *runs; /* by layer: times that it ran so far */
    /* elements required to be equal, elements with a tolerance, elements without one */
    double equal, within, unknown;
    double share; /* largest fraction of a tolerance that was used */
    int layer;    /* the layer with that fraction */
};

/* ---- choice of elements ---- */

static uint64_t random_below(uint64_t *state, int64_t n) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 20) % (uint64_t)n;
}

/* Chooses elements, the same in each run: corners first, then borders of one dimension after another up to
 * half of the number, then random ones. */
static void choose(const struct uk_network_tensor *t, int64_t count, int64_t *element) {
    const int64_t corners = INT64_C(1) << t->rank;
    uint64_t state = 1;

    for (int64_t i = 0; i < count; i++) {
        int64_t at = 0;
        for (int d = 0; d < t->rank; d++) {
            const bool is_corner = i < corners, is_border = i < count / 2 && i % t->rank == d;
            int64_t x = (int64_t)random_below(&state, t->shape[d]);
            if (is_corner || is_border)
                x = (is_corner ? i >> d : x) & 1 ? t->shape[d] - 1 : 0;
            at = at * t->shape[d] + x;
        }
        element[i] = at;
    }
}

static int64_t choose_elements(const struct uk_network_tensor *t, bool all, int64_t **element) {
    const int64_t n = (int64_t)t->elements, count = all || n <= SOME ? n : SOME;

    *element = malloc(((size_t)count + 1) * sizeof **element);
    if (*element && count < n)
        choose(t, count, *element);
    for (int64_t i = 0; *element && count == n && i < n; i++)
        (*element)[i] = i;
    return count;
}

/* ---- one layer ---- */

static void put_place(char *text, size_t room, const struct uk_network_tensor *t, int64_t element) {
    int64_t index[UK_NETWORK_DIMENSIONS];
    size_t n = 0;

    for (int d = t->rank - 1; d >= 0; d--) {
        index[d] = element % t->shape[d];
        element /= t->shape[d];
    }
    *text = 0;
    for (int d = 0; d < t->rank; d++)
        n += (size_t)snprintf(text + n, room - n, "%s%" PRId64, d ? ", " : "", index[d]);
}

/* Counts the element. False: it is wrong. */
static bool compare(struct checked *c, int layer, double got, double expected, double bound,
                    bool same_bytes) {
    const double apart = fabs(got - expected);

    if (isinf(bound)) {
        c->unknown++;
        return true;
    }
    if (bound > 0)
        c->within++;
    else
        c->equal++;
    if (same_bytes || got == expected || (isnan(got) && isnan(expected)))
        /* i64 values that double cannot represent */
        return !(bound == 0 && !same_bytes && fabs(got) > 0x1p53);
    if (bound > 0 && apart / bound > c->share) {
        c->share = apart / bound;
        c->layer = layer;
    }
    return apart <= bound;
}

static int complain_of_difference(const struct uk_network_layer *l, int layer, int64_t element, double got,
                                  double expected, double bound) {
    char place[200];

    put_place(place, sizeof place, &l->output, element);
    if (bound > 0)
        return uk_complain(UK_EXIT_WRONG,
                           "layer %d, %s %s: element [%s] is %.9g, but the interpreter's is %.9g, which is "
                           "more than the rounding tolerance of %.3g apart; please report this network",
                           layer, l->operators, l->name, place, got, expected, bound);
    return uk_complain(
        UK_EXIT_WRONG,
        "layer %d, %s %s: element [%s] is %.9g, but the interpreter's is %.9g; please report this network",
        layer, l->operators, l->name, place, got, expected);
}

static int check(struct uk_net_job *j, struct checked *c, int layer, const char *result) {
    const struct uk_network_layer *l = uk_network_layer(j->network, layer);
    const enum uk_type type = l->output.type;
    const size_t bytes = uk_type_bytes(type);
    int64_t *element;
    const int64_t count = choose_elements(&l->output, j->arguments->check_all, &element);
    char *expected = malloc((size_t)count * bytes + 1);
    double *bound = malloc(((size_t)count + 1) * sizeof *bound);
    int status = UK_EXIT_OK;

    if (!element || !expected || !bound)
        status = uk_complain(UK_EXIT_WRONG, "out of memory");
    else if (uk_network_interpret_elements(j->network, &j->options, j->memory, layer, count, element,
                                           expected, bound))
        status = uk_net_failed(j);
    for (int64_t i = 0; i < count && !status; i++) {
        const double got = uk_net_element(type, result, (size_t)element[i]),
                     wanted = uk_net_element(type, expected, (size_t)i);
        const bool same = !memcmp(result + (size_t)element[i] * bytes, expected + (size_t)i * bytes, bytes);
        if (!compare(c, layer, got, wanted, bound[i], same))
            status = complain_of_difference(l, layer, element[i], got, wanted, bound[i]);
    }
    c->layers += c->runs[layer] == 1;
    free(element);
    free(expected);
    free(bound);
    return status;
}

static int write_layer(const struct uk_net_job *j, int layer, const char *result) {
    const struct uk_network_layer *l = uk_network_layer(j->network, layer);
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%03d-", j->arguments->layers, layer);

    if (n < 0 || (size_t)n + 140 > sizeof path)
        return uk_complain(UK_EXIT_WRONG, "--layers: the path is too long; give a shorter one");
    for (const char *c = l->name; *c && c < l->name + 120; c++)
        path[n++] =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ? *c : '_';
    memcpy(path + n, ".npy", 5);
    return uk_net_write_tensor(path, &l->output, result);
}

/* True for some of the runs of a layer in a loop: those whose number, from 1, is a power of two, and the last
 * one if it is known. */
static bool is_chosen(const struct uk_network_layer *l, int64_t runs) {
    return !(runs & (runs - 1)) || runs == l->trips;
}

static int look_at(struct uk_net_job *j, struct checked *c, int layer) {
    const struct uk_network_layer *l = uk_network_layer(j->network, layer);
    const bool checks = is_chosen(l, ++c->runs[layer]) && j->arguments->check && l->output.elements;
    int status = UK_EXIT_OK;

    if (!checks && !j->arguments->layers)
        return status;
    char *result = malloc(l->output.bytes + 1);
    if (!result || uk_network_layer_copy(j->network, j->memory, layer, result))
        status = uk_complain(UK_EXIT_WRONG, "out of memory");
    if (!status && checks)
        status = check(j, c, layer, result);
    if (!status && j->arguments->layers)
        status = write_layer(j, layer, result);
    free(result);
    return status;
}

/* ---- all layers ---- */

static void print(const struct uk_net_job *j, const struct checked *c) {
    printf("check: %d layer%s, %.0f elements%s: ", c->layers, c->layers == 1 ? "" : "s",
           c->equal + c->within + c->unknown, j->arguments->check_all ? ", all" : "");
    if (c->equal > 0)
        printf("%.0f bit-identical to the interpreter", c->equal);
    if (c->within > 0)
        printf("%s%.0f within rounding tolerance", c->equal > 0 ? ", " : "", c->within);
    if (c->share > 0)
        printf(" (worst: layer %d, %.2g %% of its tolerance)", c->layer, 100 * c->share);
    if (c->unknown > 0)
        printf("%s%.0f not comparable, as they depend on integers rounded at a tie",
               c->equal + c->within > 0 ? ", " : "", c->unknown);
    printf("\n");
}

int uk_net_make_folder(const struct uk_net_job *j) {
    const char *path = j->arguments->layers;

    if (!path || !mkdir(path, 0777) || (errno == EEXIST && !access(path, W_OK | X_OK)))
        return UK_EXIT_OK;
    return uk_complain(UK_EXIT_WRONG, "--layers %s: cannot make the folder: %s", path, strerror(errno));
}

static struct uk_progress_item progress(const void *job) {
    const struct uk_net_job *j = job;

    return (struct uk_progress_item){j->arguments->check ? "checking layer" : "running layer", j->layer + 1,
                                     j->layers};
}

int uk_net_run_layers(struct uk_net_job *j) {
    struct checked c = {0};
    int status = UK_EXIT_OK;

    j->layers = uk_net_layers(j);
    c.runs = calloc((size_t)j->layers + 1, sizeof *c.runs);
    if (!c.runs)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    uk_progress_begin_items("", progress, j);
    for (int i = -1; (i = uk_network_next_layer(j->network, j->memory, i)) >= 0 && !status;) {
        j->layer = i;
        status = uk_net_call_layer(j, i);
        if (!status)
            status = look_at(j, &c, i);
    }
    uk_progress_end();
    if (!status && j->arguments->check)
        print(j, &c);
    free(c.runs);
    return status;
}
