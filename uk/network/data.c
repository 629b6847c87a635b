/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs of networks: tensors in files, or random values. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "bench.h"
#include "operands/data.h"
#include "file.h"
#include "network.h"

static bool has_suffix(const char *path, const char *suffix) {
    const size_t n = strlen(path), m = strlen(suffix);

    return n > m && !strcasecmp(path + n - m, suffix);
}

/* ---- elements ---- */

double uk_net_element(enum uk_type type, const void *data, size_t i) {
    const struct uk_tensor tensor = {.type = type};

    return uk_data_value(&(struct uk_array){.tensor = &tensor, .origin = (void *)(uintptr_t)data}, i);
}

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Fills a tensor with random values. Integers stay small, as they may be subscripts of other tensors. */
static const char *fill_random(const struct uk_network_tensor *t, void *data, uint32_t seed) {
    uint32_t state = seed;

    switch (t->type) {
    case UK_F32:
        bench_random(data, t->elements, seed);
        return "random, in [-1, 1)";
    case UK_F64:
        for (size_t i = 0; i < t->elements; i++)
            ((double *)data)[i] = next(&state) * 0x1p-23 - 1;
        return "random, in [-1, 1)";
    case UK_F16:
    case UK_BF16:
        for (size_t i = 0; i < t->elements; i++)
            ((uint16_t *)data)[i] = (uint16_t)(uk_half_bits(t->type, 0.5 + (next(&state) & 63) / 128.0) |
                                               (next(&state) & 1) << 15);
        return "random, of magnitude [1/2, 1)";
    case UK_I8:
    case UK_U8:
        for (size_t i = 0; i < t->elements; i++)
            ((uint8_t *)data)[i] = (uint8_t)(next(&state) & (t->is_boolean ? 1 : 255));
        return t->is_boolean ? "random, 0 or 1" : "random, all bytes";
    case UK_I16:
    case UK_U16:
        for (size_t i = 0; i < t->elements; i++)
            ((int16_t *)data)[i] = (int16_t)(next(&state) & 1);
        return "random, 0 or 1";
    case UK_I32:
    case UK_U32:
        for (size_t i = 0; i < t->elements; i++)
            ((int32_t *)data)[i] = (int32_t)(next(&state) & 1);
        return "random, 0 or 1";
    default:
        for (size_t i = 0; i < t->elements; i++)
            ((int64_t *)data)[i] = (int64_t)(next(&state) & 1);
        return "random, 0 or 1";
    }
}

/* ---- inputs ---- */

/* Returns the input whose name, the longest of several, begins the text and is followed by '='; -1: there is
 * none. *file: what follows. */
static int input_named(const struct uk_net_job *j, const char *text, const char **file) {
    const struct uk_network_tensor *t;
    size_t longest = 0;
    int found = -1;

    for (int i = 0; (t = uk_net_input(j, i)); i++) {
        const size_t n = strlen(t->name);
        if (n >= longest && !strncmp(text, t->name, n) && text[n] == '=') {
            longest = n;
            found = i;
            *file = text + n + 1;
        }
    }
    return found;
}

/* Refuses NAME=FILE whose NAME is not that of an input. */
static int refuse_name(const struct uk_net_job *j, const char *text) {
    char *name = strndup(text, strcspn(text, "="));
    struct uk_closest_name near = {.word = name ? name : ""};
    const struct uk_network_tensor *t;
    struct uk_text list = {0};

    for (int i = 0; (t = uk_net_input(j, i)); i++) {
        uk_consider_name(&near, t->name);
        uk_put(&list, "%s%s", list.length ? ", " : "", t->name);
    }
    uk_complain(
        0, "--input %s: there is no such file, and the network has no input '%s'%s%s%s; its inputs are %s",
        text, near.word, near.name ? "; did you mean '" : "", near.name ? near.name : "",
        near.name ? "'" : "", list.length ? list.text : "none");
    free(list.text);
    free(name);
    return UK_EXIT_USAGE;
}

/* Assigns the files of --input: those given by name, then the others to the other inputs in the model's
 * order. */
static int assign_files(struct uk_net_job *j) {
    const char *file, *option;
    int order = 0;

    for (int i = 0; (option = uk_repeated_option(j->arguments, "--input", i)); i++) {
        const int named = input_named(j, option, &file);
        if (named >= 0 && j->sources[named])
            return uk_complain(UK_EXIT_USAGE, "--input %s: a file is given for this input already; give one",
                               option);
        if (named >= 0)
            j->sources[named] = file;
        else if (strchr(option, '=') && access(option, F_OK))
            return refuse_name(j, option);
    }
    for (int i = 0; (option = uk_repeated_option(j->arguments, "--input", i)); i++) {
        if (input_named(j, option, &file) >= 0)
            continue;
        while (order < j->inputs_count && j->sources[order])
            order++;
        if (order == j->inputs_count)
            return uk_complain(UK_EXIT_USAGE,
                               "--input %s: the network has only %d input%s; leave this one out", option,
                               order, order == 1 ? "" : "s");
        j->sources[order] = option;
    }
    return UK_EXIT_OK;
}

static int raw_input(const struct uk_network_tensor *t, const char *path, void *to) {
    size_t length;
    char *bytes = uk_read_file(path, &length);
    int status = UK_EXIT_OK;

    if (!bytes)
        return UK_EXIT_WRONG;
    if (length != t->bytes)
        status = uk_complain(UK_EXIT_WRONG,
                             "%s has %zu bytes, but input '%s', %s %s, has %zu; give a file of that size",
                             path, length, t->name, uk_net_type(t), uk_net_shape(t), t->bytes);
    else
        memcpy(to, bytes, length);
    for (size_t i = 0; t->is_boolean && !status && i < length; i++)
        ((char *)to)[i] = bytes[i] != 0;
    free(bytes);
    return status;
}

static int tensor_input(struct uk_net_job *j, const struct uk_network_tensor *t, const char *path, void *to) {
    struct uk_network_tensor found;
    void *data;

    if (uk_network_read_tensor(j->network, path, &found, &data))
        return uk_net_failed(j);
    bool same = found.type == t->type && found.is_boolean == t->is_boolean && found.rank == t->rank;
    for (int i = 0; i < t->rank && same; i++)
        same = found.shape[i] == t->shape[i];
    if (same)
        memcpy(to, data, t->bytes);
    uk_text_free(data);
    return same ? UK_EXIT_OK
                : uk_complain(UK_EXIT_WRONG,
                              "%s is %s %s, but input '%s' is %s %s; give an array of that type and shape",
                              path, uk_net_type(&found), uk_net_shape(&found), t->name, uk_net_type(t),
                              uk_net_shape(t));
}

int uk_net_take_inputs(struct uk_net_job *j) {
    const struct uk_network_tensor *t;
    size_t bytes = 1;

    for (int i = 0; (t = uk_net_input(j, i)); i++)
        bytes += t->bytes;
    j->inputs = malloc(bytes);
    j->sources = calloc((size_t)j->inputs_count + (size_t)j->states_count + 1, sizeof *j->sources);
    if (!j->inputs || !j->sources)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    int status = assign_files(j);
    char *to = j->inputs;
    for (int i = 0; !status && (t = uk_net_input(j, i)); i++) {
        const char *file = j->sources[i];
        if (!file)
            j->sources[i] = fill_random(t, to, (uint32_t)i + 1);
        else if (has_suffix(file, ".npy") || has_suffix(file, ".pb"))
            status = tensor_input(j, t, file, to);
        else
            status = raw_input(t, file, to);
        to += t->bytes;
    }
    return status;
}

void uk_net_print_inputs(const struct uk_net_job *j) {
    const struct uk_network_tensor *t;

    for (int i = 0; (t = uk_net_input(j, i)); i++)
        printf("%s %s %s %s: %s\n", i < j->inputs_count ? "input" : "state", t->name, uk_net_type(t),
               uk_net_shape(t), j->sources[i]);
}

void uk_net_fill(const struct uk_net_job *j) {
    const char *from = j->inputs;

    for (int i = 0; i < j->inputs_count; i++) {
        const size_t bytes = uk_net_input(j, i)->bytes;
        memcpy(uk_network_input(j->network, j->memory, i), from, bytes);
        from += bytes;
    }
}

/* ---- outputs ---- */

int uk_net_check_outputs(const struct uk_net_job *j) {
    const char *file;
    const int outputs = j->outputs_count + j->states_count;
    int status = UK_EXIT_OK;

    for (int i = 0; (file = uk_repeated_option(j->arguments, "--output", i)) && !status; i++) {
        if (i == outputs)
            return uk_complain(UK_EXIT_USAGE,
                               "--output %s: the network has only %d output%s; leave this one out", file,
                               outputs, outputs == 1 ? "" : "s");
        status = uk_check_output(file);
    }
    return status;
}

int uk_net_write_tensor(const char *path, const struct uk_network_tensor *t, const void *data) {
    size_t length;

    if (!has_suffix(path, ".npy"))
        return uk_write_output(path, data, t->bytes);
    char *bytes = uk_network_npy(t, data, &length);
    int status = bytes ? uk_write_output(path, bytes, length) : uk_complain(UK_EXIT_WRONG, "out of memory");
    free(bytes);
    return status;
}

static void print(const char *what, const struct uk_network_tensor *t, const void *data) {
    enum { SHOWN = 6 };
    double sum = 0;

    printf("%s %s %s %s:", what, t->name, uk_net_type(t), uk_net_shape(t));
    for (size_t i = 0; i < t->elements; i++) {
        const double v = uk_net_element(t->type, data, i);
        sum += v;
        if (i < SHOWN)
            printf(" %g", v);
    }
    printf("%s, sum %.9g\n", t->elements > SHOWN ? " ..." : "", sum);
}

static int write_output(const struct uk_net_job *j, int i, const char *what, const void *data) {
    const struct uk_network_tensor *t = uk_net_output(j, i);
    const char *file = uk_repeated_option(j->arguments, "--output", i);

    print(what, t, data);
    return file ? uk_net_write_tensor(file, t, data) : UK_EXIT_OK;
}

int uk_net_write_outputs(const struct uk_net_job *j) {
    int status = UK_EXIT_OK;

    for (int i = 0; i < j->outputs_count && !status; i++)
        status = write_output(j, i, "output", uk_network_output(j->network, j->memory, i));
    for (int i = 0; i < j->states_count && !status; i++) {
        char *elements = malloc(uk_net_output(j, j->outputs_count + i)->bytes + 1);
        if (!elements)
            return uk_complain(UK_EXIT_WRONG, "out of memory");
        uk_net_take_state(j, i, elements);
        status = write_output(j, j->outputs_count + i, "state", elements);
        free(elements);
    }
    return status;
}
