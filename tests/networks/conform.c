/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs cases of ONNX's own conformance suite: conform [--interpret] FILE, whose lines are
 *
 *     NAME RTOL ATOL FOLDER
 *
 * FOLDER contains model.onnx, inputs.txt with the inputs' names, input_0.pb ..., output_0.pb ... A network
 * that is refused because an input must be constant is read again with that constant. Each case is compiled
 * (or its layers are interpreted) and run. Outputs are compared: integers exactly, floats within ATOL + RTOL
 * * |expected|. Prints a line per case: "passed NAME", "refused NAME: REASON", "failed NAME: REASON". Exits
 * with 1 if one failed.
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
    char name[256], folder[1024];
    double rtol, atol;
    bool interpret;
    struct uk_network *n, *files; /* files: owns the names of the tensors in input */
    struct uk_network_tensor input[MOST];
    void *data[MOST];
    bool is_constant[MOST];
    int inputs;
};

static double bf16_value(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float v;

    memcpy(&v, &wide, sizeof v);
    return v;
}

static double value_of(const struct uk_network_tensor *t, const void *data, size_t i) {
    switch (t->type) {
    case UK_F32:
        return ((const float *)data)[i];
    case UK_F64:
        return ((const double *)data)[i];
    case UK_F16: {
        _Float16 v;
        memcpy(&v, (const char *)data + i * sizeof v, sizeof v);
        return (double)v;
    }
    case UK_BF16:
        return bf16_value(((const uint16_t *)data)[i]);
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
    case UK_U16:
        return ((const uint16_t *)data)[i];
    case UK_U32:
        return ((const uint32_t *)data)[i];
    case UK_U64:
        return (double)((const uint64_t *)data)[i];
    default:
        return NAN;
    }
}

static bool same(const struct conformance *c, enum uk_type type, double got, double expected) {
    if (type != UK_F32 && type != UK_F64 && type != UK_F16 && type != UK_BF16)
        return got == expected;
    if (isnan(expected) || isinf(expected))
        return isnan(expected) ? isnan(got) : got == expected;
    /* The suite rounds 16-bit results after each operation, uk once: they may be two units apart. */
    const int digits = type == UK_F16 ? 11 : type == UK_BF16 ? 8 : 0;
    const double step = digits && expected != 0 ? ldexp(2, ilogb(expected) + 1 - digits) : 0;
    return fabs(got - expected) <= fmax(c->atol + c->rtol * fabs(expected), step);
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
    for (int i = -1; !s && (i = uk_network_next_layer(c->n, memory, i)) >= 0;)
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
        if (c->is_constant[i])
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

/* Reads the inputs' elements and names. */
static bool read_inputs(struct conformance *c) {
    char path[1200], line[256];
    bool all = (c->files = uk_network_create());

    snprintf(path, sizeof path, "%s/inputs.txt", c->folder);
    FILE *names = fopen(path, "r");
    for (c->inputs = 0; c->inputs < MOST && all && names && fgets(line, sizeof line, names); c->inputs++) {
        struct uk_network_tensor *t = &c->input[c->inputs];
        c->is_constant[c->inputs] = false;
        c->data[c->inputs] = NULL;
        snprintf(path, sizeof path, "%s/input_%d.pb", c->folder, c->inputs);
        all = !uk_network_read_tensor(c->files, path, t, &c->data[c->inputs]);
        t->name = strndup(line, strcspn(line, "\n"));
    }
    if (names)
        fclose(names);
    return all;
}

/* Makes the inputs constants that a message asks for: --constant A=FILE --constant B=FILE. False: none. */
static bool give_constants(struct conformance *c, const char *message) {
    static const char option[] = "--constant ";
    bool any = false;

    while ((message = strstr(message, option))) {
        const char *name = message += sizeof option - 1;
        for (int i = 0; i < c->inputs; i++)
            if (!c->is_constant[i] && !strncmp(c->input[i].name, name, strcspn(name, "=")) &&
                strlen(c->input[i].name) == strcspn(name, "="))
                any = c->is_constant[i] = true;
    }
    return any;
}

/* Reads the model, with more and more inputs as constants while it asks for them. */
static enum uk_status read_model(struct conformance *c) {
    struct uk_network_tensor constants[MOST];
    const void *data[MOST];
    char path[1200];

    snprintf(path, sizeof path, "%s/model.onnx", c->folder);
    for (;;) {
        struct uk_network_options o = {.constants = constants, .constant_data = data};
        for (int i = 0; i < c->inputs; i++)
            if (c->is_constant[i]) {
                constants[o.constant_count] = c->input[i];
                data[o.constant_count++] = c->data[i];
            }
        if (!(c->n = uk_network_create()))
            return UK_OUT_OF_MEMORY;
        const enum uk_status s = uk_network_read_file(c->n, path, &o);
        if (!s || !give_constants(c, uk_network_message(c->n)))
            return s;
        uk_network_destroy(c->n);
    }
}

/* True unless the case failed. */
static bool try_case(struct conformance *c) {
    char reason[512] = "";
    const bool has_inputs = read_inputs(c);
    enum uk_status s = read_model(c);
    const bool was_read = !s;
    bool passed = !s && has_inputs;

    if (!s)
        s = uk_network_compile(c->n, NULL);
    if (s)
        printf("%s %s: %s\n", was_read ? "failed" : "refused", c->name, uk_network_message(c->n));
    else if (!passed)
        printf("failed %s: %s\n", c->name, uk_network_message(c->files));
    else if ((passed = run_and_compare(c, reason, sizeof reason)))
        printf("passed %s\n", c->name);
    else
        printf("failed %s: %s\n", c->name, reason);
    fflush(stdout);
    for (int i = 0; i < c->inputs; i++) {
        free((void *)c->input[i].name);
        free(c->data[i]);
    }
    uk_network_destroy(c->n);
    uk_network_destroy(c->files);
    return passed || !was_read;
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
        if (sscanf(line, "%255s %lf %lf %1023s", c.name, &c.rtol, &c.atol, c.folder) == 4)
            all &= try_case(&c);
    fclose(list);
    return !all;
}
