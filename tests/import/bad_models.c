/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models that are wrong, strange or empty, as texts (data/onnx_text.h): each is read, or refused with a line
 * that says what is wrong and, where it is about a node, which one.
 *
 *     bad_models [--write FOLDER]: the models as files, as seeds of libFuzzer
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "networks.h"
#include "onnx_text.h"

#define X "input x f32 1,3,4,4\n"
#define ONE(node) X node "\noutput y\n"

/* message: what the refusal says; NULL: it is read. */
static const struct {
    const char *text, *message;
} cases[] = {
#include "bad_models.def"
};

enum { CASES = sizeof cases / sizeof *cases };

/* Reads the text's model, and whether that has the outcome; else a line that tells it. */
static bool has_outcome(int i) {
    size_t length;
    unsigned char *bytes = onnx_of_text(cases[i].text, &length);
    struct uk_network *n = uk_network_create();
    bool good = false;

    assert_true(bytes && n);
    const enum uk_status s = uk_network_read(n, "bad", bytes, length, NULL, NULL);
    const char *message = uk_network_message(n);
    if (!cases[i].message)
        good = s == UK_OK && !*message;
    else
        good = s == UK_REFUSED && strstr(message, cases[i].message) && !strchr(message, '\n') &&
               strlen(message) <= 2000;
    if (!good)
        print_message("%s\nstatus %d: %.400s\nnot: %s\n\n", cases[i].text, s, message,
                      cases[i].message ? cases[i].message : "read");
    uk_network_destroy(n);
    free(bytes);
    return good;
}

static void models(void **state) {
    int wrong = 0;

    (void)state;
    for (int i = 0; i < CASES; i++)
        wrong += !has_outcome(i);
    assert_int_equal(wrong, 0);
}

static int write_all(const char *folder) {
    for (int i = 0; i < CASES; i++) {
        char path[4096];
        size_t length;
        unsigned char *bytes = onnx_of_text(cases[i].text, &length);

        snprintf(path, sizeof path, "%s/model_%d", folder, i);
        FILE *f = fopen(path, "wb");
        if (!bytes || !f || fwrite(bytes, 1, length, f) != length || fclose(f)) {
            perror(path);
            return 1;
        }
        free(bytes);
    }
    /* Bytes of which libFuzzer's target draws networks, by numbers that look random. */
    for (int i = 0; i < 64; i++) {
        char path[4096], drawn[200] = {(char)0xff};
        uint32_t x = (uint32_t)i + 1;

        for (size_t k = 1; k < sizeof drawn; k++)
            drawn[k] = (char)((x = 1664525 * x + 1013904223) >> 24);
        snprintf(path, sizeof path, "%s/drawn_%d", folder, i);
        FILE *f = fopen(path, "wb");
        if (!f || fwrite(drawn, 1, sizeof drawn, f) != sizeof drawn || fclose(f)) {
            perror(path);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(models)};

    if (argc == 3 && !strcmp(argv[1], "--write"))
        return write_all(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
