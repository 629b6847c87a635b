/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs of networks: tensors in files, or random values. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "operands/data.h"
#include "file.h"
#include "network.h"

static bool has_suffix(const char *path, const char *suffix) {
    const size_t n = strlen(path), m = strlen(suffix);

    return n > m && !strcmp(path + n - m, suffix);
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
        for (size_t i = 0; i < t->elements; i++)
            ((int16_t *)data)[i] = (int16_t)(next(&state) & 1);
        return "random, 0 or 1";
    case UK_I32:
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

static int input_named(const struct uk_net_job *j, const char *name, size_t length) {
    const struct uk_network_tensor *t;

    for (int i = 0; (t = uk_network_value(j->network, UK_NETWORK_INPUT, i)); i++)
        if (strlen(t->name) == length && !strncmp(t->name, name, length))
            return i;
    return -1;
}

/* The file for an input: given by name, or else by position among those given without names. */
static const char *file_of(const struct uk_net_job *j, int input) {
    const char *by_order = NULL, *file;
    int order = 0;

    for (int i = 0; (file = uk_repeated_option(j->arguments, "--input", i)); i++) {
        const char *equals = strchr(file, '=');
        const int named = equals ? input_named(j, file, (size_t)(equals - file)) : -1;
        if (named == input)
            return equals + 1;
        if (named < 0 && order++ == input)
            by_order = file;
    }
    return by_order;
}

static int check_inputs(const struct uk_net_job *j) {
    const char *file;
    const int inputs = j->inputs_count;
    int order = 0;

    for (int i = 0; (file = uk_repeated_option(j->arguments, "--input", i)); i++) {
        const char *equals = strchr(file, '=');
        if (equals && input_named(j, file, (size_t)(equals - file)) >= 0)
            continue;
        if (order++ == inputs)
            return uk_complain(UK_EXIT_USAGE,
                               "--input %s: the network has only %d input%s; leave this one out", file,
                               inputs, inputs == 1 ? "" : "s");
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
                             path, length, t->name, uk_type_name(t->type), uk_net_shape(t), t->bytes);
    else
        memcpy(to, bytes, length);
    free(bytes);
    return status;
}

static int tensor_input(struct uk_net_job *j, const struct uk_network_tensor *t, const char *path, void *to) {
    struct uk_network_tensor found;
    void *data;

    if (uk_network_read_tensor(j->network, path, &found, &data))
        return uk_net_failed(j);
    bool same = found.type == t->type && found.rank == t->rank;
    for (int i = 0; i < t->rank && same; i++)
        same = found.shape[i] == t->shape[i];
    if (same)
        memcpy(to, data, t->bytes);
    uk_text_free(data);
    return same ? UK_EXIT_OK
                : uk_complain(UK_EXIT_WRONG,
                              "%s is %s %s, but input '%s' is %s %s; give an array of that type and shape",
                              path, uk_type_name(found.type), uk_net_shape(&found), t->name,
                              uk_type_name(t->type), uk_net_shape(t));
}

int uk_net_take_inputs(struct uk_net_job *j) {
    const struct uk_network_tensor *t;
    int status = check_inputs(j);
    size_t bytes = 1;

    for (int i = 0; (t = uk_network_value(j->network, UK_NETWORK_INPUT, i)); i++)
        bytes += t->bytes;
    j->inputs = malloc(bytes);
    j->sources = calloc((size_t)j->inputs_count + 1, sizeof *j->sources);
    if (!j->inputs || !j->sources)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    char *to = j->inputs;
    for (int i = 0; !status && (t = uk_network_value(j->network, UK_NETWORK_INPUT, i)); i++) {
        const char *file = j->sources[i] = file_of(j, i);
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

    for (int i = 0; (t = uk_network_value(j->network, UK_NETWORK_INPUT, i)); i++)
        printf("input %s %s %s: %s\n", t->name, uk_type_name(t->type), uk_net_shape(t), j->sources[i]);
}

void uk_net_fill(const struct uk_net_job *j) {
    const struct uk_network_tensor *t;
    const char *from = j->inputs;

    for (int i = 0; (t = uk_network_value(j->network, UK_NETWORK_INPUT, i)); i++) {
        memcpy(uk_network_input(j->network, j->memory, i), from, t->bytes);
        from += t->bytes;
    }
}

/* ---- outputs ---- */

int uk_net_check_outputs(const struct uk_net_job *j) {
    const char *file;
    const int outputs = j->outputs_count;
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

static void print(const struct uk_network_tensor *t, const void *data) {
    enum { SHOWN = 6 };
    double sum = 0;

    printf("output %s %s %s:", t->name, uk_type_name(t->type), uk_net_shape(t));
    for (size_t i = 0; i < t->elements; i++) {
        const double v = uk_net_element(t->type, data, i);
        sum += v;
        if (i < SHOWN)
            printf(" %g", v);
    }
    printf("%s, sum %.9g\n", t->elements > SHOWN ? " ..." : "", sum);
}

int uk_net_write_outputs(const struct uk_net_job *j) {
    const struct uk_network_tensor *t;
    int status = UK_EXIT_OK;

    for (int i = 0; (t = uk_network_value(j->network, UK_NETWORK_OUTPUT, i)) && !status; i++) {
        const void *data = uk_network_output(j->network, j->memory, i);
        const char *file = uk_repeated_option(j->arguments, "--output", i);
        print(t, data);
        if (file)
            status = uk_net_write_tensor(file, t, data);
    }
    return status;
}
