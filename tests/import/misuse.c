/* SPDX-License-Identifier: Apache-2.0 */
/* Every function of networks.h with NULL, out of order, and with arguments that are out of range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "networks.h"
#include "onnx_text.h"

static const char text[] = "meta key value\ninput x f32 N,4\nExp x -> y\nRelu y -> z\noutput z\n";

static void fails(const struct uk_network *n, enum uk_status s, enum uk_status expected, const char *what) {
    if (s != expected || !strstr(uk_network_message(n), what))
        fail_msg("status %d, not \"%s\": %s", s, what, uk_network_message(n));
}

static void says(const struct uk_network *n, enum uk_status s, const char *what) {
    fails(n, s, UK_INVALID_ARGUMENT, what);
}

/* On NULL, and on a network that was not read or not compiled. */
static void nothing_there(struct uk_network *n) {
    const char *const message = n ? "no network has been read" : "";
    char memory[64] = {0}, *bytes = memory;
    struct uk_network_device *d = (void *)memory;
    size_t length = 0;
    double error;
    int64_t element = 0;

    assert_null(uk_network_value(n, UK_NETWORK_INPUT, 0));
    assert_string_equal(uk_network_name(n), "");
    assert_null(uk_network_layer(n, 0));
    says(n, uk_network_schedule(n, "text", "", 0, NULL), message);
    says(n, uk_network_compile(n, NULL), message);
    says(n, uk_network_emit(n, NULL, UK_EMIT_OBJECT, &bytes, &length), message);
    assert_null(bytes);
    says(n, uk_network_emit_steps(n, NULL, &bytes, &length), message);
    assert_int_equal(uk_network_memory(n), 0);
    assert_null(uk_network_input(n, memory, 0));
    assert_null(uk_network_output(n, memory, 0));
    assert_int_equal(uk_network_run(n, memory), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_network_run_layer(n, memory, 0), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_network_memory_bound(n), 0);
    says(n, uk_network_interpret_layer(n, memory, 0, memory), message);
    says(n, uk_network_interpret_elements(n, NULL, memory, 0, 1, &element, memory, &error), message);
    assert_int_equal(uk_network_layer_give(n, memory, 0, 0, memory), UK_INVALID_ARGUMENT);
    assert_null(uk_network_layer_output(n, memory, 0));
    assert_int_equal(uk_network_layer_copy(n, memory, 0, memory), UK_INVALID_ARGUMENT);
    says(n, uk_network_compile_device(n, NULL), message);
    says(n, uk_network_device_create(n, (void *)memory, &d), message);
    assert_null(d);
}

static void no_network(void **state) {
    struct uk_network *n = uk_network_create();
    struct uk_network_tensor t;
    void *data;

    (void)state;
    nothing_there(NULL);
    nothing_there(n);
    assert_string_equal(uk_network_message(NULL), "");
    assert_null(uk_network_metadata(NULL, "key"));
    assert_int_equal(uk_network_read(NULL, "n", text, 1, NULL, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_network_read_file(NULL, "n", NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_network_read_tensor(NULL, "n", &t, &data), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_network_device_run(NULL, NULL, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_network_device_run_layer(NULL, NULL, 0), UK_INVALID_ARGUMENT);
    uk_network_device_destroy(NULL);
    uk_network_destroy(NULL);
    says(n, uk_network_read(n, NULL, text, 1, NULL, NULL), "name is NULL");
    says(n, uk_network_read(n, "n", NULL, 1, NULL, NULL), "bytes is NULL");
    says(n, uk_network_read_file(n, NULL, NULL), "path is NULL");
    fails(n, uk_network_read_file(n, "/none/n.onnx", NULL), UK_IO, "/none/n.onnx");
    says(n, uk_network_read_tensor(n, NULL, &t, &data), "NULL");
    says(n, uk_network_read_tensor(n, "n", NULL, &data), "NULL");
    says(n, uk_network_read_tensor(n, "n", &t, NULL), "NULL");
    fails(n, uk_network_read_tensor(n, "/none/t.npy", &t, &data), UK_IO, "/none/t.npy");
    assert_null(data);
    uk_network_destroy(n);
}

/* A network is read once, even if that failed. */
static void read_again(void **state) {
    static const char *const first[] = {"meta a b\nmeta a b\nmeta a b\nRelu none -> y\n",
                                        "meta a b\ninput x str 1\noutput x\n"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct uk_network *n = uk_network_create();
        size_t length;
        unsigned char *bad = onnx_of_text(first[i], &length);

        assert_int_equal(uk_network_read(n, "n", bad, length, NULL, NULL), UK_REFUSED);
        says(n, uk_network_read(n, "n", bad, length, NULL, NULL),
             "the network has been read; make another one");
        free(bad);
        uk_network_destroy(n);
    }
}

static void refuses(const struct uk_network_options *o, const char *what) {
    struct uk_network *n = uk_network_create();
    size_t length;
    unsigned char *bytes = onnx_of_text(text, &length);

    says(n, uk_network_read(n, "n", bytes, length, NULL, o), what);
    free(bytes);
    uk_network_destroy(n);
}

static void options(void **state) {
    static const char *const names[] = {NULL}, *const good[] = {"N"};
    static const int64_t values[] = {-1};
    static const struct uk_network_tensor x = {.name = "x", .rank = 2, .shape = {2, 4}};
    struct uk_network_tensor t = x;
    const struct uk_network_options of_shape = {.shapes = &t, .shape_count = 1},
                                    of_constant = {.constants = &t, .constant_count = 1};
    const void *const none = NULL;

    (void)state;
    refuses(&(struct uk_network_options){.shape_count = 1}, "1 shapes are given, or NULL");
    refuses(&(struct uk_network_options){.shape_count = -1, .shapes = &x}, "-1 shapes");
    refuses(&(struct uk_network_options){.constant_count = 1}, "1 constants");
    refuses(&(struct uk_network_options){.constant_count = -1}, "-1 constants");
    refuses(&(struct uk_network_options){.size_count = 1}, "NULL");
    refuses(&(struct uk_network_options){.size_count = -1}, "NULL");
    refuses(&(struct uk_network_options){.size_count = 1, .size_names = names, .size_values = values},
            "size 0 has no name");
    refuses(&(struct uk_network_options){.size_count = 1, .size_names = good, .size_values = values},
            "is -1");
    refuses(&of_constant, "NULL");
    refuses(&(struct uk_network_options){.constants = &x, .constant_count = 1, .constant_data = &none},
            "the constant given for x is NULL");
    t.name = NULL;
    refuses(&of_shape, "shape 0 has no name");
    refuses(&of_constant, "constant 0 has no name");
    t = x;
    t.rank = -1;
    refuses(&of_shape, "-1 dimensions");
    t.rank = 9;
    refuses(&of_shape, "9 dimensions");
    t = x;
    t.shape[1] = INT64_MIN;
    refuses(&of_shape, "dimension 1 is -9223372036854775808");
}

static void of_a_network(struct uk_network *n, char *memory) {
    static const int none[] = {-1, 2, INT32_MIN, INT32_MAX};
    struct uk_network_device *d;
    char *bytes;
    size_t length;
    double error;
    int64_t element = 0;

    for (int i = 0; i < 4; i++) {
        assert_null(uk_network_value(n, UK_NETWORK_INPUT, none[i]));
        assert_null(uk_network_value(n, (enum uk_network_role)none[i], 0));
        assert_null(uk_network_layer(n, none[i]));
        assert_null(uk_network_input(n, memory, none[i]));
        assert_null(uk_network_output(n, memory, none[i]));
        assert_int_equal(uk_network_run_layer(n, memory, none[i]), UK_INVALID_ARGUMENT);
        says(n, uk_network_interpret_layer(n, memory, none[i], memory), "no layer");
        says(n, uk_network_interpret_elements(n, NULL, memory, none[i], 1, &element, memory, &error),
             "no layer");
        assert_int_equal(uk_network_layer_give(n, memory, none[i], 0, memory), UK_INVALID_ARGUMENT);
        assert_int_equal(uk_network_layer_give(n, memory, 0, none[i], memory), UK_INVALID_ARGUMENT);
        assert_null(uk_network_layer_output(n, memory, none[i]));
        assert_int_equal(uk_network_layer_copy(n, memory, none[i], memory), UK_INVALID_ARGUMENT);
    }
    assert_null(uk_network_metadata(n, NULL));
    assert_null(uk_network_metadata(n, "none"));
    assert_null(uk_network_input(n, NULL, 0));
    assert_null(uk_network_output(n, NULL, 0));
    assert_int_equal(uk_network_run(n, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_network_run_layer(n, NULL, 0), UK_INVALID_ARGUMENT);
    says(n, uk_network_interpret_layer(n, NULL, 0, memory), "no memory");
    says(n, uk_network_interpret_layer(n, memory, 0, NULL), "NULL");
    says(n, uk_network_interpret_elements(n, NULL, memory, 0, -1, &element, memory, &error), "");
    says(n, uk_network_interpret_elements(n, NULL, memory, 0, 1, NULL, memory, &error), "NULL");
    says(n, uk_network_interpret_elements(n, NULL, memory, 0, 1, &element, NULL, &error), "NULL");
    says(n, uk_network_interpret_elements(n, NULL, memory, 0, 1, &element, memory, NULL), "NULL");
    assert_int_equal(uk_network_layer_give(n, NULL, 0, 0, memory), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_network_layer_give(n, memory, 0, 0, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_network_layer_copy(n, NULL, 0, memory), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_network_layer_copy(n, memory, 0, NULL), UK_INVALID_ARGUMENT);
    assert_null(uk_network_layer_output(n, NULL, 0));
    says(n, uk_network_emit(n, NULL, UK_EMIT_OBJECT, NULL, &length), "NULL");
    says(n, uk_network_emit(n, NULL, UK_EMIT_OBJECT, &bytes, NULL), "NULL");
    says(n, uk_network_emit(n, NULL, (enum uk_emit) - 1, &bytes, &length), "");
    says(n, uk_network_emit(n, NULL, (enum uk_emit)99, &bytes, &length), "");
    says(n, uk_network_emit_steps(n, NULL, NULL, &length), "NULL");
    says(n, uk_network_emit_steps(n, NULL, &bytes, NULL), "NULL");
    assert_int_not_equal(uk_network_compile(n, &(struct uk_options){.target = "none"}), UK_OK);
    assert_non_null(strstr(uk_network_message(n), "none"));
    says(n, uk_network_device_create(n, NULL, &d), "");
}

static void after_reading(void **state) {
    static const char *const names[] = {"N"};
    static const int64_t values[] = {2};
    const struct uk_network_options o = {.size_names = names, .size_values = values, .size_count = 1};
    static _Alignas(64) char memory[4096];
    struct uk_network *n = uk_network_create();
    char name[10000];
    size_t length;
    unsigned char *bytes = onnx_of_text(text, &length);

    (void)state;
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = 0;
    assert_int_equal(uk_network_read(n, name, bytes, length, NULL, &o), UK_OK);
    assert_int_equal(strlen(uk_network_name(n)), 180);
    of_a_network(n, memory);
    if (uk_network_compile(n, NULL))
        fail_msg("%s", strstr(uk_network_message(n), "error: "));
    of_a_network(n, memory);
    assert_true(uk_network_memory(n) <= sizeof memory);
    assert_int_equal(uk_network_run(n, memory), UK_OK);
    free(bytes);
    uk_network_destroy(n);
}

/* Texts of schedules, whole and cut anywhere; one that is refused changes nothing. */
static void schedules(void **state) {
    static const char *const names[] = {"N"};
    static const int64_t values[] = {2};
    const struct uk_network_options o = {.size_names = names, .size_values = values, .size_count = 1};
    struct uk_network *n = uk_network_create();
    char whole[128], one[64];
    size_t length;
    unsigned char *bytes = onnx_of_text(text, &length);
    int unused = -1;

    (void)state;
    assert_int_equal(uk_network_read(n, "n", bytes, length, NULL, &o), UK_OK);
    const struct uk_network_layer *l = uk_network_layer(n, 0);
    assert_int_equal(strlen(l->key), 16);
    assert_null(l->schedule);
    says(n, uk_network_schedule(n, NULL, "", 0, NULL), "NULL");
    says(n, uk_network_schedule(n, "text", NULL, 0, NULL), "NULL");
    const int count =
        snprintf(whole, sizeof whole, "\t# a comment\r\n\n layer %s\r\n  # none\nlayer none", l->key);
    assert_int_equal(uk_network_schedule(n, "text", whole, (size_t)count, &unused), UK_OK);
    assert_int_equal(unused, 1);
    assert_string_equal(l->schedule, "  # none\n");
    snprintf(one, sizeof one, "layer %s\nlayer %s\n", l->key, l->key);
    fails(n, uk_network_schedule(n, "text", one, strlen(one), NULL), UK_SYNTAX, "text:2: layer");
    assert_string_equal(l->schedule, "  # none\n");
    fails(n, uk_network_schedule(n, "text", "layers x\n", 9, NULL), UK_SYNTAX, "text:1: expected 'layer'");
    fails(n, uk_network_schedule(n, "text", "layer", 5, NULL), UK_SYNTAX, "text:1: expected 'layer'");
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

static void files(void **state) {
    struct uk_network_tensor t = {.type = UK_F32, .rank = 1, .shape = {1}, .elements = 1, .bytes = 4};
    const float one = 1;
    size_t length;

    (void)state;
    assert_null(uk_network_npy(NULL, &one, &length));
    assert_null(uk_network_npy(&t, NULL, &length));
    assert_null(uk_network_npy(&t, &one, NULL));
    t.rank = 9;
    assert_null(uk_network_npy(&t, &one, &length));
    t.rank = -1;
    assert_null(uk_network_npy(&t, &one, &length));
    t.rank = 1;
    t.type = UK_BF16;
    assert_null(uk_network_npy(&t, &one, &length));
    t.type = (enum uk_type) - 1;
    assert_null(uk_network_npy(&t, &one, &length));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_network),    cmocka_unit_test(read_again), cmocka_unit_test(options),
        cmocka_unit_test(after_reading), cmocka_unit_test(schedules),  cmocka_unit_test(files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
