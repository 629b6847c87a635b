/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target. Bytes are an ONNX model or, after a first byte of 0xff, which begins no model, random
 * numbers that determine a network, its open sizes and its states. It is read, or refused with a message of
 * one line. Each layer of a network that was read is a program that the parser accepts, at the smallest sizes
 * and the largest ones. Nothing leaks.
 */
#define _GNU_SOURCE /* memmem */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "networks.h"
#include "onnx_text.h"
#include "random_network.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { IS_DRAWN = 0xff };

/* Aborts unless `good`; the crash report shows where. */
static void must(bool good) {
    if (!good)
        abort();
}

static void check_layers(const struct uk_network *n) {
    struct uk_context *c = uk_context_create();

    must(c);
    for (int i = 0; uk_network_layer(n, i); i++) {
        const char *text = uk_network_layer(n, i)->text;
        struct uk_program *p;

        must(uk_program_parse(c, "layer.uk", text, strlen(text), &p) != UK_SYNTAX);
        uk_program_destroy(p);
    }
    uk_context_destroy(c);
}

/* True if the message asks to report an internal error. The word may also come from a name in the model that
 * the message quotes. */
static bool is_internal(const char *message, const void *bytes, size_t size) {
    static const char word[] = "report";

    return strstr(message, word) && !memmem(bytes, size, word, sizeof word - 1);
}

/* Describes inputs and outputs at the smallest and the largest sizes, and makes the header. */
static void describe(struct uk_network *n, const struct random_options *o) {
    int64_t sizes[RANDOM_SIZES];
    char *bytes;
    size_t length;

    for (int largest = 0; largest < 2; largest++) {
        struct uk_network_tensor t;
        for (int i = 0; i < o->sizes && uk_network_size(n, i); i++)
            sizes[i] = largest ? uk_network_size(n, i)->upper : uk_network_size(n, i)->lower;
        for (int role = UK_NETWORK_INPUT; role <= UK_NETWORK_OUTPUT; role++)
            for (int i = 0; uk_network_value(n, role, i); i++)
                must(!uk_network_value_at(n, role, i, sizes, &t));
        must(!uk_network_choose(n, sizes));
        check_layers(n);
    }
    must(!uk_network_emit(n, NULL, UK_EMIT_HEADER, &bytes, &length));
    uk_text_free(bytes);
}

static void read_model(const void *bytes, size_t size, const struct random_options *o) {
    struct uk_network *n = uk_network_create();
    const char *past[RANDOM_STATES], *present[RANDOM_STATES];
    const struct uk_network_options options = {.state_inputs = past,
                                               .state_outputs = present,
                                               .state_count = o->states,
                                               .find_states = o->find_states};

    must(n);
    for (int i = 0; i < o->states; i++) {
        past[i] = o->past[i];
        present[i] = o->present[i];
    }
    for (int i = 0; i < o->sizes; i++)
        must(!uk_network_range(n, &o->size[i]));
    const enum uk_status s = uk_network_read(n, "fuzz", bytes, size, NULL, &options);
    const char *message = uk_network_message(n);
    if (getenv("UK_FUZZ_TEXT"))
        fprintf(stderr, "status %d: %s\n", s, message);
    must(s == UK_OK ||
         ((s == UK_REFUSED || (s == UK_INVALID_ARGUMENT && o->sizes + o->states + o->find_states)) &&
          *message && !strchr(message, '\n') && !is_internal(message, bytes, size)));
    if (!s)
        describe(n, o);
    uk_network_destroy(n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct random_options o = {0};

    if (!size || *data != IS_DRAWN) {
        read_model(data, size, &o);
        return 0;
    }
    char *text = random_network(data + 1, size - 1, &o);
    size_t length;
    must(text);
    unsigned char *bytes = onnx_of_text(text, &length);
    must(bytes);
    if (getenv("UK_FUZZ_TEXT"))
        fputs(text, stderr);
    read_model(bytes, length, &o);
    free(bytes);
    free(text);
    return 0;
}
