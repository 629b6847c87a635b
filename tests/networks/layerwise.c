/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs each layer of a network on inputs that another program computed: layerwise FOLDER, which contains
 *
 *     model.onnx    the network
 *     input_0.npy   its inputs, ...
 *     values.txt    a line for each tensor between nodes: its name, and NUMBER of value_NUMBER.npy
 *
 * Writes result_0.npy ..., the outputs of a whole run; layer_0.npy ..., the result of each layer for the
 * inputs in value_NUMBER.npy; and layers.txt with a line per layer, of fields separated by tabs: number,
 * operators, the tensor that it computes, the tensors that it reads. A layer that reads a tensor which is not
 * listed does not run; its line ends with a ?.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "networks.h"

struct listed {
    char *name;
    int number;
};

struct layerwise {
    const char *folder;
    struct uk_network *n;
    struct listed *value;
    int values;
    void *memory;
    FILE *log;
};

static bool fail(const char *what) {
    fprintf(stderr, "layerwise: %s\n", what);
    return false;
}

static const char *path_of(const struct layerwise *w, const char *stem, int number, const char *end) {
    static char path[4096];

    if (number < 0)
        snprintf(path, sizeof path, "%s/%s%s", w->folder, stem, end);
    else
        snprintf(path, sizeof path, "%s/%s_%d%s", w->folder, stem, number, end);
    return path;
}

/* ---- tensors in files ---- */

static void *read_tensor(struct layerwise *w, const char *path, const struct uk_network_tensor *like) {
    struct uk_network_tensor t;
    void *data;

    if (uk_network_read_tensor(w->n, path, &t, &data)) {
        fail(uk_network_message(w->n));
        return NULL;
    }
    if (t.type == like->type && t.elements == like->elements)
        return data;
    fprintf(stderr, "layerwise: %s is no tensor like %s\n", path, like->name);
    free(data);
    return NULL;
}

static bool write_tensor(const char *path, const struct uk_network_tensor *t, const void *data) {
    size_t length;
    char *bytes = uk_network_npy(t, data, &length);
    FILE *f = bytes ? fopen(path, "wb") : NULL;
    bool written = f && fwrite(bytes, 1, length, f) == length;

    if (f)
        written = !fclose(f) && written;
    free(bytes);
    return written ? true : fail(path);
}

static bool read_list(struct layerwise *w) {
    FILE *f = fopen(path_of(w, "values", -1, ".txt"), "r");
    char *line = NULL;
    size_t room = 0;

    if (!f)
        return fail("no values.txt");
    while (getline(&line, &room, f) > 0) {
        char *tab = strrchr(line, '\t');
        struct listed *more = tab ? realloc(w->value, ((size_t)w->values + 1) * sizeof *more) : NULL;
        if (!more)
            break;
        w->value = more;
        *tab = '\0';
        w->value[w->values++] = (struct listed){.name = strdup(line), .number = atoi(tab + 1)};
    }
    const bool all = feof(f);
    free(line);
    fclose(f);
    return all ? true : fail("values.txt");
}

static int number_of(const struct layerwise *w, const char *name) {
    for (int i = 0; i < w->values; i++)
        if (w->value[i].name && !strcmp(w->value[i].name, name))
            return w->value[i].number;
    return -1;
}

/* ---- runs ---- */

static bool run_whole(struct layerwise *w) {
    const struct uk_network_tensor *t;

    for (int i = 0; (t = uk_network_value(w->n, UK_NETWORK_INPUT, i)); i++) {
        void *data = read_tensor(w, path_of(w, "input", i, ".npy"), t);
        if (!data)
            return false;
        memcpy(uk_network_input(w->n, w->memory, i), data, t->bytes);
        free(data);
    }
    if (uk_network_run(w->n, w->memory))
        return fail("the run failed");
    for (int i = 0; (t = uk_network_value(w->n, UK_NETWORK_OUTPUT, i)); i++)
        if (!write_tensor(path_of(w, "result", i, ".npy"), t, uk_network_output(w->n, w->memory, i)))
            return false;
    return true;
}

/* Path of the elements: the oracle's file or, if the oracle has the tensor in another shape (channels are
 * padded), that of an earlier layer. */
static const char *elements_of(const struct layerwise *w, const struct uk_network_tensor *t, int layer) {
    for (int i = layer - 1; i >= 0; i--) {
        const struct uk_network_layer *l = uk_network_layer(w->n, i);
        if (!strcmp(l->output.name, t->name) && !strcmp(l->operators, "PadChannels") &&
            l->output.elements == t->elements)
            return path_of(w, "layer", i, ".npy");
    }
    return path_of(w, "value", number_of(w, t->name), ".npy");
}

static bool give_inputs(struct layerwise *w, const struct uk_network_layer *l, int layer) {
    for (int i = 0; i < l->inputs; i++) {
        void *data = read_tensor(w, elements_of(w, &l->input[i], layer), &l->input[i]);
        const bool given = data && !uk_network_layer_give(w->n, w->memory, layer, i, data);
        free(data);
        if (!given)
            return false;
    }
    return true;
}

static bool run_layer(struct layerwise *w, int layer) {
    const struct uk_network_layer *l = uk_network_layer(w->n, layer);
    bool known = true;

    fprintf(w->log, "%d\t%s\t%s", layer, l->operators, l->output.name);
    for (int i = 0; i < l->inputs; i++) {
        fprintf(w->log, "\t%s", l->input[i].name);
        known = known && number_of(w, l->input[i].name) >= 0;
    }
    fprintf(w->log, known ? "\n" : "\t?\n");
    if (!known || !l->output.elements)
        return true;
    void *result = malloc(l->output.bytes);
    const bool done = result && give_inputs(w, l, layer) && !uk_network_run_layer(w->n, w->memory, layer) &&
                      !uk_network_layer_copy(w->n, w->memory, layer, result) &&
                      write_tensor(path_of(w, "layer", layer, ".npy"), &l->output, result);
    free(result);
    return done ? true : fail(l->name);
}

static bool run_all(struct layerwise *w) {
    bool done = read_list(w);

    if (done && (uk_network_read_file(w->n, path_of(w, "model", -1, ".onnx"), NULL) ||
                 uk_network_compile(w->n, NULL)))
        return fail(uk_network_message(w->n));
    const size_t bytes = (uk_network_memory(w->n) + 63) / 64 * 64;
    w->memory = done ? aligned_alloc(64, bytes) : NULL;
    w->log = w->memory ? fopen(path_of(w, "layers", -1, ".txt"), "w") : NULL;
    if (!w->log)
        return false;
    memset(w->memory, 0xa5, bytes);
    done = run_whole(w);
    for (int i = -1; done && (i = uk_network_next_layer(w->n, w->memory, i)) >= 0;)
        done = run_layer(w, i);
    return !fclose(w->log) && done;
}

int main(int argc, char **argv) {
    struct layerwise w = {.folder = argc == 2 ? argv[1] : NULL, .n = uk_network_create()};

    if (!w.folder || !w.n) {
        fprintf(stderr, "usage: layerwise FOLDER\n");
        return 2;
    }
    const bool done = run_all(&w);
    for (int i = 0; i < w.values; i++)
        free(w.value[i].name);
    free(w.value);
    free(w.memory);
    uk_network_destroy(w.n);
    return !done;
}
