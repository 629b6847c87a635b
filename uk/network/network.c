/* SPDX-License-Identifier: Apache-2.0 */
/* Steps common to all commands on networks: reading the file, and the options about its inputs. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"
#include "file.h"
#include "network.h"
#include "progress.h"

int uk_net_failed(const struct uk_net_job *j) {
    const char *message = uk_network_message(j->network);

    fprintf(stderr, "%s\n", *message ? message : "uk: error: out of memory");
    return UK_EXIT_WRONG;
}

static struct uk_progress_item progress(const void *job) {
    const struct uk_net_job *j = job;
    int layer = -1;
    const char *word = uk_network_progress(j->network, &layer);

    if (!word || layer < 0)
        return (struct uk_progress_item){word ? "joining the code of all layers" : NULL, 0, 0};
    return (struct uk_progress_item){*word == 's' ? "scheduling layer" : "compiling layer", layer + 1,
                                     j->layers};
}

void uk_net_progress_begin(struct uk_net_job *j) {
    j->layers = uk_net_layers(j);
    uk_progress_begin_items("compiling the network", progress, j);
}

int uk_net_layers(const struct uk_net_job *j) {
    int n = 0;

    while (uk_network_layer(j->network, n))
        n++;
    return n;
}

bool uk_net_has_loops(const struct uk_net_job *j) {
    const struct uk_network_layer *l;

    for (int i = 0; (l = uk_network_layer(j->network, i)); i++)
        if (l->trips != 1)
            return true;
    return false;
}

double uk_net_multiply_adds(const struct uk_net_job *j) {
    const struct uk_network_layer *l;
    double all = 0;

    for (int i = 0; (l = uk_network_layer(j->network, i)); i++)
        all += l->multiply_adds * (l->trips < 0 ? 1 : (double)l->trips);
    return all;
}

const char *uk_net_type(const struct uk_network_tensor *t) {
    return t->is_boolean ? "bool" : uk_type_name(t->type);
}

const char *uk_net_shape(const struct uk_network_tensor *t) {
    static char text[4][UK_NETWORK_DIMENSIONS * 22 + 4];
    static int turn;
    char *s = text[turn++ % 4];
    size_t n = 1;

    s[0] = '[';
    for (int i = 0; i < t->rank; i++)
        n += (size_t)snprintf(s + n, sizeof text[0] - n, "%s%" PRId64, i ? ", " : "", t->shape[i]);
    s[n] = ']';
    s[n + 1] = 0;
    return s;
}

/* ---- options ---- */

/* Properties of inputs given by options, as lists for struct uk_network_options. */
struct stated {
    struct uk_network_tensor *shape, *constant;
    void **data;
    const char **size;
    int64_t *value;
    const char **state_input, **state_output;
    int shapes, constants, sizes, states;
    bool find_states;
    struct uk_arena arena;
};

/* Splits "INPUT=..." at an '='. */
static const char *split(struct stated *t, const char *text, const char *equals, const char **name) {
    *name = equals && equals > text ? uk_strndup(&t->arena, text, (size_t)(equals - text)) : NULL;
    return *name ? equals + 1 : NULL;
}

/* Returns the last '=' after which the text is the name of a file; else the last one, or NULL. Names of
 * inputs and of files may contain it. */
static const char *equals_before_file(const char *text) {
    const char *last = strrchr(text, '=');

    for (size_t i = last ? (size_t)(last - text) + 1 : 0; i--;)
        if (text[i] == '=' && !access(text + i + 1, F_OK))
            return text + i;
    return last;
}

static int add_shape(struct stated *t, const char *text) {
    struct uk_network_tensor *s = &t->shape[t->shapes++];
    const char *at = split(t, text, strrchr(text, '='), &s->name);
    char *end = NULL;

    for (; at && s->rank < UK_NETWORK_DIMENSIONS; at = end + 1) {
        errno = 0;
        s->shape[s->rank] = strtoll(at, &end, 10);
        if (end == at || errno || s->shape[s->rank] < 0 || (*end && *end != ','))
            break;
        s->rank++;
        if (!*end)
            return UK_EXIT_OK;
    }
    return uk_complain(UK_EXIT_USAGE,
                       "--shape %s: expected INPUT=N,N,... with up to %d sizes, for instance --shape "
                       "x=1,3,224,224",
                       text, UK_NETWORK_DIMENSIONS);
}

static int add_constant(struct uk_net_job *j, struct stated *t, const char *text) {
    struct uk_network_tensor *c = &t->constant[t->constants];
    const char *name, *file = split(t, text, equals_before_file(text), &name);

    if (!file || !*file)
        return uk_complain(UK_EXIT_USAGE, "--constant %s: expected INPUT=FILE, a .npy or .pb file", text);
    if (uk_network_read_tensor(j->network, file, c, &t->data[t->constants]))
        return uk_net_failed(j);
    c->name = name;
    t->constants++;
    return UK_EXIT_OK;
}

static int add_state(struct stated *t, const char *text) {
    const int i = t->states;

    if (!strcmp(text, "auto")) {
        t->find_states = true;
        return UK_EXIT_OK;
    }
    t->states++;
    return uk_net_split_state(&t->arena, text, &t->state_input[i], &t->state_output[i]);
}

static int state(struct uk_net_job *j, struct stated *t) {
    const struct uk_arguments *a = j->arguments;
    const size_t most = (size_t)a->option_value_count + 1;
    int status = UK_EXIT_OK;

    t->shape = uk_alloc(&t->arena, most * sizeof *t->shape);
    t->constant = uk_alloc(&t->arena, most * sizeof *t->constant);
    t->data = uk_alloc(&t->arena, most * sizeof *t->data);
    t->size = uk_alloc(&t->arena, most * sizeof *t->size);
    t->value = uk_alloc(&t->arena, most * sizeof *t->value);
    t->state_input = uk_alloc(&t->arena, most * sizeof *t->state_input);
    t->state_output = uk_alloc(&t->arena, most * sizeof *t->state_output);
    if (t->arena.failed)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (int i = 0; uk_repeated_option(a, "--shape", i) && !status; i++)
        status = add_shape(t, uk_repeated_option(a, "--shape", i));
    for (int i = 0; uk_repeated_option(a, "--constant", i) && !status; i++)
        status = add_constant(j, t, uk_repeated_option(a, "--constant", i));
    for (int i = 0; uk_repeated_option(a, "--state", i) && !status; i++)
        status = add_state(t, uk_repeated_option(a, "--state", i));
    for (int i = 0; i < a->bindings && !status; i++) {
        const struct uk_size_value *b = &a->binding[i];
        const struct uk_network_size range = {b->name, b->value, b->upper, b->step};
        if (b->upper) {
            status = uk_network_range(j->network, &range) ? uk_net_failed(j) : UK_EXIT_OK;
            continue;
        }
        if (a->binding[i].value < 0)
            status = uk_complain(UK_EXIT_USAGE, "--size %s=%" PRId64 ": the size is negative; give one >= 0",
                                 a->binding[i].name, a->binding[i].value);
        t->size[t->sizes] = a->binding[i].name;
        t->value[t->sizes++] = a->binding[i].value;
    }
    return status;
}

static int read_network(struct uk_net_job *j, struct stated *t) {
    const struct uk_network_options o = {.shapes = t->shape,
                                         .shape_count = t->shapes,
                                         .size_names = t->size,
                                         .size_values = t->value,
                                         .size_count = t->sizes,
                                         .constants = t->constant,
                                         .constant_data = (const void *const *)t->data,
                                         .constant_count = t->constants,
                                         .state_inputs = t->state_input,
                                         .state_outputs = t->state_output,
                                         .state_count = t->states,
                                         .find_states = t->find_states,
                                         .name = j->arguments->name};
    const double start = bench_seconds();
    const enum uk_status s = uk_network_read_file(j->network, j->arguments->positional[0], &o);

    j->read_time = bench_seconds() - start;
    if (s)
        return s == UK_INVALID_ARGUMENT ? (uk_net_failed(j), UK_EXIT_USAGE) : uk_net_failed(j);
    while (uk_network_value(j->network, UK_NETWORK_INPUT, j->inputs_count))
        j->inputs_count++;
    while (uk_network_value(j->network, UK_NETWORK_OUTPUT, j->outputs_count))
        j->outputs_count++;
    while (uk_network_state(j->network, j->states_count))
        j->states_count++;
    return uk_network_layer(j->network, 0)
               ? UK_EXIT_OK
               : uk_complain(UK_EXIT_WRONG, "%s: the network computes nothing", j->arguments->positional[0]);
}

/* Chooses the sizes of this run: those given besides the ranges, else the largest. */
static int choose_sizes(struct uk_net_job *j) {
    const struct uk_network_size *z;
    int count = 0;

    for (; (z = uk_network_size(j->network, count)); count++) {
        j->sizes[count] = z->upper;
        for (int i = 0; i < j->arguments->bindings; i++)
            if (!strcmp(j->arguments->binding[i].name, z->name) && j->arguments->binding[i].run >= 0)
                j->sizes[count] = j->arguments->binding[i].run;
    }
    return count && uk_network_choose(j->network, j->sizes) ? uk_net_failed(j) : UK_EXIT_OK;
}

/* Reads the schedules of --schedule. */
static int take_schedules(struct uk_net_job *j) {
    const char *file = j->arguments->schedule;
    size_t length;
    int unused = 0;

    if (!file)
        return UK_EXIT_OK;
    char *text = uk_read_file(file, &length);
    if (!text)
        return UK_EXIT_WRONG;
    const enum uk_status s = uk_network_schedule(j->network, uk_file_text(file), text, length, &unused);
    free(text);
    if (unused && !s)
        fprintf(stderr, "note: %d schedule%s of %s %s no layer of %s\n", unused, unused == 1 ? "" : "s",
                uk_file_text(file), unused == 1 ? "matches" : "match", j->arguments->positional[0]);
    return s ? uk_net_failed(j) : UK_EXIT_OK;
}

int uk_net_begin(struct uk_net_job *j, const struct uk_arguments *a) {
    struct stated t = {.shapes = 0};

    *j = (struct uk_net_job){
        .arguments = a,
        .network = uk_network_create(),
        .options = {.target = a->target,
                    .require_kernels = a->require_kernels,
                    .plain_loops = a->no_kernels,
                    .all_candidates = a->all,
                    .threads = a->threads ? (int)a->threads : 1},
    };
    if (!j->network)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    int status = state(j, &t);
    if (!status)
        status = read_network(j, &t);
    if (!status)
        status = choose_sizes(j);
    if (!status)
        status = take_schedules(j);
    for (int i = 0; i < t.constants; i++)
        uk_text_free(t.data[i]);
    uk_arena_free(&t.arena);
    return status;
}
