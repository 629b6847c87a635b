/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs small networks, one for each line of standard input:
 *
 *     WAY LAYERS PATH
 *
 * The network is PATH.onnx, its inputs PATH.NAME.npy; outputs become PATH.0.npy, PATH.1.npy ... WAY is
 * `compile` or `interpret`, which takes much less time than compiling. LAYERS is the number of layers that
 * the network has to have, or 0. Prints a line per network: "PATH" and, if it failed, the reason.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "interpreted.h"

struct evaluation {
    struct uk_network *n;
    char path[1024], way[16], reason[600];
    int layers;
    char *memory;
};

static bool fail(struct evaluation *e, const char *reason) {
    snprintf(e->reason, sizeof e->reason, "%s", reason);
    return false;
}

static bool fail_as(struct evaluation *e, enum uk_status s) {
    return fail(e, *uk_network_message(e->n) ? uk_network_message(e->n) : uk_status_text(s));
}

static bool is_compiled(const struct evaluation *e) {
    return !strcmp(e->way, "compile");
}

static bool allocate(struct evaluation *e) {
    const enum uk_status s = is_compiled(e) ? uk_network_compile(e->n, NULL) : UK_OK;

    if (s)
        return fail_as(e, s);
    const size_t bytes = (is_compiled(e) ? uk_network_memory(e->n) + 64 : interpreted_bytes(e->n)) / 64 * 64;
    e->memory = aligned_alloc(64, bytes);
    if (!e->memory)
        return fail(e, "out of memory");
    memset(e->memory, 0xa5, bytes);
    return true;
}

static bool read_inputs(struct evaluation *e) {
    const struct uk_network_tensor *t;
    struct uk_network_tensor given;
    char file[2048];
    void *data;

    for (int i = 0; (t = uk_network_value(e->n, UK_NETWORK_INPUT, i)); i++) {
        snprintf(file, sizeof file, "%s.%s.npy", e->path, t->name);
        if (uk_network_read_tensor(e->n, file, &given, &data))
            return fail_as(e, UK_INVALID_ARGUMENT);
        const bool fits = given.bytes == t->bytes && given.type == t->type;
        if (fits)
            memcpy(uk_network_input(e->n, e->memory, i), data, t->bytes);
        uk_text_free(data);
        if (!fits)
            return fail(e, "an input has another type or size");
    }
    return true;
}

static bool run(struct evaluation *e) {
    const enum uk_status s =
        is_compiled(e) ? uk_network_run(e->n, e->memory) : interpret_network(e->n, e->memory);

    return s ? fail_as(e, s) : true;
}

static bool write_outputs(struct evaluation *e) {
    const struct uk_network_tensor *t;
    char name[1100];
    size_t length;

    for (int i = 0; (t = uk_network_value(e->n, UK_NETWORK_OUTPUT, i)); i++) {
        snprintf(name, sizeof name, "%s.%d.npy", e->path, i);
        char *bytes = uk_network_npy(t, uk_network_output(e->n, e->memory, i), &length);
        FILE *file = bytes ? fopen(name, "wb") : NULL;
        const bool is_written = file && fwrite(bytes, 1, length, file) == length;
        free(bytes);
        if ((file && fclose(file)) || !is_written)
            return fail(e, "an output cannot be written");
    }
    return true;
}

static bool evaluate(struct evaluation *e) {
    char model[1100];
    int layers = 0;

    snprintf(model, sizeof model, "%s.onnx", e->path);
    const enum uk_status s = uk_network_read_file(e->n, model, NULL);
    if (s)
        return fail_as(e, s);
    while (uk_network_layer(e->n, layers))
        layers++;
    if (e->layers && layers != e->layers) {
        snprintf(e->reason, sizeof e->reason, "%d layers, not %d", layers, e->layers);
        return false;
    }
    return allocate(e) && read_inputs(e) && run(e) && write_outputs(e);
}

int main(void) {
    char line[1100];

    while (fgets(line, sizeof line, stdin)) {
        struct evaluation e = {.n = uk_network_create()};
        if (!e.n || sscanf(line, "%15s %d %1023s", e.way, &e.layers, e.path) != 3)
            return 2;
        printf("%s", e.path);
        if (!evaluate(&e))
            printf(" %s", e.reason);
        printf("\n");
        fflush(stdout);
        uk_network_destroy(e.n);
        free(e.memory);
    }
    return 0;
}
