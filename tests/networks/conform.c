/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs cases of ONNX's own conformance suite: conform [--interpret] FILE, whose lines are
 *
 *     NAME RTOL ATOL FOLDER CONSTANTS
 *
 * FOLDER contains model.onnx, input_0.pb ..., output_0.pb ...; the inputs whose numbers are in CONSTANTS
 * ("-", "1,2") determine shapes and are given as constants. Each case is compiled (or its layers are
 * interpreted) and run. Outputs are compared: integers exactly, floats within ATOL + RTOL * |expected|.
 * Prints a line per case: "passed NAME", "refused NAME: REASON", "failed NAME: REASON". Exits with 1 if one
 * failed.
 */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "networks.h"

enum { MOST = 80 };

struct conformance {
    char name[256], folder[1024], constants[256];
    double rtol, atol;
    bool interpret;
    struct uk_network *n;
    struct uk_network_tensor input[MOST];
    void *data[MOST];
    int inputs;
};

static bool is_listed(const char *list, int number) {
    char word[16];

    snprintf(word, sizeof word, "%d", number);
    for (const char *at = list; *at && *at != '-'; at += strcspn(at, ","), at += *at == ',')
        if (strtol(at, NULL, 10) == number)
            return true;
    return false;
}

static double value_of(const struct uk_network_tensor *t, const void *data, size_t i) {
    switch (t->type) {
    case UK_F32:
        return ((const float *)data)[i];
    case UK_F64:
        return ((const double *)data)[i];
    case UK_I64:
        return (double)((const int64_t *)data)[i];
    case UK_I32:
        return ((const int32_t *)data)[i];
    case UK_I16:
        return ((const int16_t *)data)[i];
    case UK_I8:
        return ((const int8_t *)data)[i];
    case UK_U8:
        return ((const uint8_t *)data)[i];
    default:
        return NAN;
    }
}

static bool same(const struct conformance *c, enum uk_type type, double got, double expected) {
    if (type != UK_F32 && type != UK_F64)
        return got == expected;
    if (isnan(expected) || isinf(expected))
        return isnan(expected) ? isnan(got) : got == expected;
    return fabs(got - expected) <= c->atol + c->rtol * fabs(expected);
}

static bool compare(const struct conformance *c, int i, const void *got, char *reason, size_t room) {
    const struct uk_network_tensor *t = uk_network_value(c->n, UK_NETWORK_OUTPUT, i);
    struct uk_network_tensor expected;
    char path[1200];
    void *data;

    snprintf(path, sizeof path, "%s/output_%d.pb", c->folder, i);
    if (uk_network_read_tensor(c->n, path, &expected, &data)) {
        snprintf(reason, room, "%s", uk_network_message(c->n));
        return false;
    }
    bool equal = expected.rank == t->rank && expected.type == t->type;
    for (int d = 0; d < t->rank && equal; d++)
        equal = t->shape[d] == expected.shape[d];
    if (!equal)
        snprintf(reason, room, "output %d: another type or shape than expected", i);
    for (size_t k = 0; k < t->elements && equal; k++) {
        const double a = value_of(t, got, k), b = value_of(t, data, k);
        equal = same(c, t->type, a, b);
        if (!equal)
            snprintf(reason, room, "output %d: element %zu is %.9g, not %.9g", i, k, a, b);
    }
    free(data);
    return equal;
}

static enum uk_status run(struct conformance *c, void *memory) {
    enum uk_status s = UK_OK;

    if (!c->interpret)
        return uk_network_run(c->n, memory);
    for (int i = 0; uk_network_layer(c->n, i) && !s; i++)
        if (uk_network_layer(c->n, i)->output.elements)
            s = uk_network_interpret_layer(c->n, memory, i, uk_network_layer_output(c->n, memory, i));
    return s;
}

static bool run_and_compare(struct conformance *c, char *reason, size_t room) {
    const size_t bytes = (uk_network_memory(c->n) + 63) / 64 * 64;
    void *memory = aligned_alloc(64, bytes ? bytes : 64);
    bool passed = memory;
    int given = 0;

    if (memory)
        memset(memory, 0xa5, bytes);
    for (int i = 0; passed && i < c->inputs; i++) {
        if (is_listed(c->constants, i))
            continue;
        const struct uk_network_tensor *t = uk_network_value(c->n, UK_NETWORK_INPUT, given);
        if (t && t->bytes == c->input[i].bytes)
            memcpy(uk_network_input(c->n, memory, given++), c->data[i], t->bytes);
    }
    enum uk_status s = passed ? run(c, memory) : UK_OUT_OF_MEMORY;
    if (s) {
        snprintf(reason, room, "%s: %s", uk_status_text(s), uk_network_message(c->n));
        passed = false;
    }
    for (int i = 0; passed && uk_network_value(c->n, UK_NETWORK_OUTPUT, i); i++)
        passed = compare(c, i, uk_network_output(c->n, memory, i), reason, room);
    free(memory);
    return passed;
}

/* Sets the inputs' names to the model's, which a first reading of the network gives. */
static void name_inputs(struct conformance *c, const char *names[MOST]) {
    char path[1200], line[256];

    snprintf(path, sizeof path, "%s/inputs.txt", c->folder);
    FILE *f = fopen(path, "r");
    for (int i = 0; i < MOST; i++)
        names[i] = f && fgets(line, sizeof line, f) ? strndup(line, strcspn(line, "\n")) : NULL;
    if (f)
        fclose(f);
}

static enum uk_status read_inputs(struct conformance *c, struct uk_network_tensor *constants,
                                  const void **data, int *count) {
    const char *names[MOST];
    char path[1200];
    enum uk_status s = UK_OK;

    name_inputs(c, names);
    for (c->inputs = 0; c->inputs < MOST && !s; c->inputs++) {
        snprintf(path, sizeof path, "%s/input_%d.pb", c->folder, c->inputs);
        if (access(path, R_OK))
            break;
        struct uk_network_tensor *t = &c->input[c->inputs];
        s = uk_network_read_tensor(c->n, path, t, &c->data[c->inputs]);
        if (!s && is_listed(c->constants, c->inputs) && names[c->inputs]) {
            constants[*count] = *t;
            constants[*count].name = names[c->inputs];
            data[(*count)++] = c->data[c->inputs];
        }
    }
    /* names are valid while the first network exists */
    if (!s) {
        char model[1200];
        struct uk_network_options o = {
            .constants = constants, .constant_data = data, .constant_count = *count};
        snprintf(model, sizeof model, "%s/model.onnx", c->folder);
        s = uk_network_read_file(c->n, model, &o);
    }
    for (int i = 0; i < MOST; i++)
        free((void *)names[i]);
    return s;
}

/* True unless the case failed. */
static bool try_case(struct conformance *c) {
    struct uk_network_tensor constants[MOST];
    const void *data[MOST];
    char reason[512] = "";
    int count = 0;

    c->n = uk_network_create();
    if (!c->n)
        return false;
    bool passed = true;
    enum uk_status s = read_inputs(c, constants, data, &count);
    const bool was_read = !s;
    if (!s)
        s = uk_network_compile(c->n, NULL);
    if (s)
        printf("%s %s: %s\n", was_read ? "failed" : "refused", c->name, uk_network_message(c->n));
    else if ((passed = run_and_compare(c, reason, sizeof reason)))
        printf("passed %s\n", c->name);
    else
        printf("failed %s: %s\n", c->name, reason);
    fflush(stdout);
    for (int i = 0; i < c->inputs; i++)
        free(c->data[i]);
    uk_network_destroy(c->n);
    return passed && !(s && was_read);
}

int main(int argc, char **argv) {
    struct conformance c = {.interpret = argc > 2 && !strcmp(argv[1], "--interpret")};
    FILE *list = argc > 1 ? fopen(argv[argc - 1], "r") : NULL;
    char line[2048];
    bool all = true;

    if (!list) {
        fprintf(stderr, "usage: conform [--interpret] FILE\n");
        return 2;
    }
    while (fgets(line, sizeof line, list))
        if (sscanf(line, "%255s %lf %lf %1023s %255s", c.name, &c.rtol, &c.atol, c.folder, c.constants) == 5)
            all &= try_case(&c);
    fclose(list);
    return !all;
}
