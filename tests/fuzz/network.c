/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target. Bytes are an ONNX model or, after a first byte of 0xff, which begins no model, random
 * numbers that determine a network. It is read, or refused with a message of one line. Each layer of a
 * network that was read is a program that the parser accepts. Nothing leaks.
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

static void read_model(const void *bytes, size_t size) {
    struct uk_network *n = uk_network_create();

    must(n);
    const enum uk_status s = uk_network_read(n, "fuzz", bytes, size, NULL, NULL);
    const char *message = uk_network_message(n);
    must(s == UK_OK ||
         (s == UK_REFUSED && *message && !strchr(message, '\n') && !is_internal(message, bytes, size)));
    if (!s)
        check_layers(n);
    uk_network_destroy(n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size || *data != IS_DRAWN) {
        read_model(data, size);
        return 0;
    }
    char *text = random_network(data + 1, size - 1);
    size_t length;
    must(text);
    unsigned char *bytes = onnx_of_text(text, &length);
    must(bytes);
    if (getenv("UK_FUZZ_TEXT"))
        fputs(text, stderr);
    read_model(bytes, length);
    free(bytes);
    free(text);
    return 0;
}
