/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong, unusual and empty models as texts (data/onnx_text.h): each is read, or refused with one line that
 * says what is wrong and, if a node is at fault, names it. Also texts of schedules for a model.
 *
 *     bad_models [--write FOLDER]: writes the models to files, as seeds for libFuzzer
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

/* message: part of the refusal's message; NULL: the model is read. */
static const struct {
    const char *text, *message;
} cases[] = {
#include "bad_models.def"
};

enum { CASES = sizeof cases / sizeof *cases };

/* True if reading the text's model has the expected outcome; prints the difference otherwise. */
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

static void takes(struct uk_network *n, const char *schedules, enum uk_status expected, const char *what) {
    const enum uk_status s = uk_network_schedule(n, "text", schedules, strlen(schedules), NULL);

    if (s != expected || !strstr(uk_network_message(n), what))
        fail_msg("status %d, not \"%s\": %s", s, what, uk_network_message(n));
}

/* Texts of schedules, whole and cut anywhere; a refused one changes nothing. The network's name is longer
 * than functions' names may be. */
static void schedules(void **state) {
    struct uk_network *n = uk_network_create();
    char whole[128], one[64], name[10000];
    size_t length;
    unsigned char *bytes = onnx_of_text("input x f32 2,4\nExp x -> y\nRelu y -> z\noutput z\n", &length);
    int unused = -1;

    (void)state;
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = 0;
    assert_int_equal(uk_network_read(n, name, bytes, length, NULL, NULL), UK_OK);
    assert_int_equal(strlen(uk_network_name(n)), 180);
    const struct uk_network_layer *l = uk_network_layer(n, 0);
    assert_int_equal(strlen(l->key), 16);
    assert_null(l->schedule);
    const int count =
        snprintf(whole, sizeof whole, "\t# a comment\r\n\n layer %s\r\n  # none\nlayer none", l->key);
    assert_int_equal(uk_network_schedule(n, "text", whole, (size_t)count, &unused), UK_OK);
    assert_int_equal(unused, 1);
    assert_string_equal(l->schedule, "  # none\n");
    snprintf(one, sizeof one, "layer %s\nlayer %s\n", l->key, l->key);
    takes(n, one, UK_SYNTAX, "text:2: layer");
    assert_string_equal(l->schedule, "  # none\n");
    takes(n, "layers x\n", UK_SYNTAX, "text:1: expected 'layer'");
    takes(n, "layer", UK_SYNTAX, "text:1: expected 'layer'");
    for (int i = 0; i <= count; i++) {
        char *cut = malloc((size_t)i + 1);
        memcpy(cut, whole, (size_t)i);
        uk_network_schedule(n, "text", cut, (size_t)i, NULL);
        free(cut);
    }
    assert_int_equal(uk_network_schedule(n, "text", "", 0, &unused), UK_OK);
    assert_null(l->schedule);
    assert_int_equal(unused, 0);
    free(bytes);
    uk_network_destroy(n);
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
    /* Bytes from which the libFuzzer target draws random networks. */
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(models), cmocka_unit_test(schedules)};

    if (argc == 3 && !strcmp(argv[1], "--write"))
        return write_all(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
