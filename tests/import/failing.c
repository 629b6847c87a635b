/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each allocation while a network is read fails once, those of protobuf-c included, and each one while it is
 * compiled and emitted: the result is UK_OUT_OF_MEMORY, and afterwards the same network compiles.
 * LeakSanitizer finds leaks in the sanitized build. (Allocations of the compiler: tests/base/fail_alloc.c.)
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "failing_alloc.h"
#include "graph/graph.h"
#include "onnx_text.h"

char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
char *__wrap_strdup(const char *s) {
    return fails(__builtin_return_address(0)) ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n) {
    return fails(__builtin_return_address(0)) ? NULL : __real_strndup(s, n);
}

static const char *const models[] = {
    "meta key value\ninput x f32 1,3,N,4\ninit w f32 2,3,1,1 ~ 0.5 1 -1\ninit v f32 2 : 1 2\ninit s i64 2 = "
    "1 -1\n"
    "Conv x w -> c\nBatchNormalization c v v v v -> n\nRelu n -> r\nTranspose r -> t perm=I:0,2,3,1\nReshape "
    "t s -> f\n"
    "Constant -> k value=t:f32:1:3\nAdd f k -> g\nMul k k -> kk\nAdd g kk -> y\nConcat y y y -> z axis=i:1\n"
    "Split z -> p q axis=i:1 num_outputs=i:2\nSum p q p -> u\nSoftmax u -> o\noutput o\noutput r\n",
    "input q u8 1,2,4,4\ninit s f32 - = 0.5\ninit z u8 - = 3\ninit w u8 4,2,1,1 = 1 2 3 4 5 6 7 8\ninit wz "
    "u8 - = 2\n"
    "DequantizeLinear q s z -> a\nDequantizeLinear w s wz -> v\nConv a v -> c\nQuantizeLinear c s z -> d\n"
    "MaxPool d -> e kernel_shape=I:2,2 pads=I:1,1,1,1\nDequantizeLinear e s z -> h\ninit i i64 2 = 1 "
    "0\nGather h i -> j axis=i:1\n"
    "init x f32 4 = 1 1 2 2\nResize j _ x -> y mode=s:linear\nPad y p -> m mode=s:reflect\ninit p i64 8 = 0 "
    "0 1 1 0 0 1 1\noutput m\n"
    "QGemm@com.microsoft q2 s z w2 s wz -> g transB=i:1\noutput g\ninput q2 u8 2,4\ninit w2 u8 3,4 ~ 1 2 "
    "3\nopset 1 com.microsoft\n"
    "opset 18\n",
    "input x f32 3,2,2\ninit w f32 2,4,2 ~ 0.5 1 -1\ninit r f32 2,4,1 ~ 0.25 -0.5\ninit b f32 2,8 ~ 1 2 "
    "3\ninput l i32 2\n"
    "LSTM x w r b l -> y h c direction=s:bidirectional activations=S:Affine,Tanh,Elu,Sigmoid,Tanh,Relu "
    "clip=f:2 "
    "activation_alpha=F:1,2 activation_beta=F:1\noutput y\noutput h\noutput c\n",
    /* Scan in a branch, and over an open size. */
    "opset 22\ninput x f32 N,2\ninput h f32 2\ninit yes bool - = 1\ngraph b\ninput s f32 ?\ninput e f32 "
    "?\nAdd s e -> t\nRelu t "
    "-> u\n"
    "output t\noutput u\nend\ngraph a\nScan h x -> l y body=g:b num_scan_inputs=i:1 "
    "scan_output_directions=I:1\noutput l\noutput y\n"
    "end\ngraph o\nIdentity h -> l2\nIdentity x -> y2\noutput l2\noutput y2\nend\n"
    "If yes -> p q then_branch=g:a else_branch=g:o\noutput p\noutput q\n",
    "opset 14\ninput x f32 N,2,3\ninit w f32 1,6,3 ~ 0.5 1 -1\ninit r f32 1,6,2 ~ 0.25 -0.5\ninput l i32 2\n"
    "GRU x w r _ l -> y h direction=s:reverse linear_before_reset=i:1\noutput y\noutput h\n",
    /* A loop that data end, with results of a given number of iterations, and a branch at run time. */
    "opset 22\ninput h f32 2\ninput n i64 -\ninput c bool -\ninit m i64 - = 3\ngraph b\ninput i i64 ?\ninput "
    "d bool ?\ninput s f32 "
    "?\n"
    "Add s h -> t\nLess i n -> e\noutput e\noutput t\nend\nLoop _ c h -> p body=g:b\n"
    "graph a\ninput i i64 ?\ninput d bool ?\ninput s f32 ?\nAdd s h -> t\noutput d\noutput t\noutput s\nend\n"
    "Loop m _ h -> q r body=g:a\n"
    "graph yes\nRelu p -> u\noutput u\nend\ngraph no\noutput q\nend\n"
    "If c -> y then_branch=g:yes else_branch=g:no\noutput y\noutput r\n",
    /* A state whose rows are appended, weights of f16. */
    "opset 22\ninput past.0.key f32 1,P,2\ninput x f32 1,1,2\ninit w f16 2,2 ~ 1\nCast w -> v to=i:1\n"
    "MatMul x v -> k\nConcat past.0.key k -> present.0.key axis=i:1\nMul present.0.key present.0.key -> m\n"
    "ReduceSum m -> y keepdims=i:0\noutput y\noutput present.0.key\n",
};

enum { MODELS = sizeof models / sizeof *models };

static void *model[MODELS];
static size_t length[MODELS];

/* What each model is read with: a value of N, a range, and its states. */
static const struct {
    int sizes;
    struct uk_network_size range;
    bool has_states;
} given[MODELS] = {{.sizes = 1},
                   {.sizes = 0},
                   {.sizes = 0},
                   {.range = {"N", 0, 3, 1}},
                   {.range = {"N", 2, 10, 2}},
                   {.sizes = 0},
                   {.range = {"P", 0, 4, 1}, .has_states = true}};

static enum uk_status read_model(struct uk_network **n, int i) {
    static const char *const names[] = {"N"};
    static const int64_t values[] = {4};
    const struct uk_network_options o = {.size_names = names,
                                         .size_values = values,
                                         .size_count = given[i].sizes,
                                         .find_states = given[i].has_states};

    *n = uk_network_create();
    enum uk_status s = *n ? UK_OK : UK_OUT_OF_MEMORY;
    if (!s && given[i].range.name)
        s = uk_network_range(*n, &given[i].range);
    return s ? s : uk_network_read(*n, "failing.onnx", model[i], length[i], NULL, &o);
}

static void must_be_said(const struct uk_network *n, enum uk_status s, const char *what, long k) {
    if (s && (s != UK_OUT_OF_MEMORY || !*uk_network_message(n)))
        fail_msg("%s, allocation %ld: status %d: %s", what, k, s, uk_network_message(n));
}

static void reading(void **state) {
    (void)state;
    for (int i = 0; i < MODELS; i++) {
        long k = 0, refused = 0;

        for (bool happened = true; happened; k++) {
            struct uk_network *n;
            left = k;
            const enum uk_status s = read_model(&n, i);
            happened = left < 0;
            left = -1;
            if (n)
                must_be_said(n, happened ? s : UK_OK, "reading", k);
            if (!happened && s)
                fail_msg("%s", uk_network_message(n));
            refused += s != UK_OK;
            uk_network_destroy(n);
        }
        print_message("model %d: %ld allocations, %ld failures reported\n", i, k, refused);
        assert_true(refused > 200 && refused >= k - k / 20);
    }
}

/* Makes an output of a network that was read. */
static enum uk_status make(struct uk_network *n, int what) {
    static const enum uk_emit kinds[] = {UK_EMIT_HEADER, UK_EMIT_HOST, UK_EMIT_OBJECT};
    char *bytes = NULL;
    size_t size;

    if (what == 3)
        return uk_network_compile(n, NULL);
    if (what == 4) {
        float data[2] = {1, 2};
        const struct uk_network_tensor t = {
            .type = UK_F32, .rank = 1, .shape = {2}, .elements = 2, .bytes = 8};
        bytes = uk_network_npy(&t, data, &size);
        free(bytes);
        return bytes ? UK_OK : UK_OUT_OF_MEMORY;
    }
    if (what == 5) {
        char text[64];
        const int count = snprintf(text, sizeof text, "layer %s\n", uk_network_layer(n, 0)->key);
        return uk_network_schedule(n, "text", text, (size_t)count, NULL);
    }
    const enum uk_status s = uk_network_emit(n, NULL, kinds[what], &bytes, &size);
    uk_text_free(bytes);
    return s;
}

static void make_all(struct uk_network *n) {
    for (int what = 0; what < 6; what++) {
        long k = 0;

        for (bool happened = true; happened; k++) {
            left = k;
            const enum uk_status s = make(n, what);
            happened = left < 0;
            left = -1;
            if (what != 4)
                must_be_said(n, happened ? s : UK_OK, "making", k);
            assert_true(happened || !s);
        }
        print_message("making %d: %ld allocations\n", what, k);
        assert_true(k > 1);
        assert_int_equal(make(n, what), UK_OK);
    }
}

static void making(void **state) {
    static const int made[] = {0, MODELS - 4, MODELS - 2, MODELS - 1};

    (void)state;
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        struct uk_network *n;
        assert_int_equal(read_model(&n, made[i]), UK_OK);
        make_all(n);
        uk_network_destroy(n);
    }
}

static void tensors_in_files(void **state) {
    char path[] = "/tmp/failing_XXXXXX.npy";
    const int file = mkstemps(path, 4);
    float data[2] = {1, 2};
    const struct uk_network_tensor t = {.type = UK_F32, .rank = 1, .shape = {2}, .elements = 2, .bytes = 8};
    struct uk_network *n = uk_network_create();
    size_t size;
    char *bytes = uk_network_npy(&t, data, &size);
    long k = 0;

    (void)state;
    assert_true(file >= 0 && n && bytes && write(file, bytes, size) == (ssize_t)size);
    for (bool happened = true; happened; k++) {
        struct uk_network_tensor got;
        void *elements;
        left = k;
        const enum uk_status s = uk_network_read_tensor(n, path, &got, &elements);
        happened = left < 0;
        left = -1;
        must_be_said(n, happened ? s : UK_OK, "tensor", k);
        assert_true(happened || !s);
        if (!s)
            assert_memory_equal(elements, data, sizeof data);
        free(elements);
    }
    free(bytes);
    close(file);
    unlink(path);
    uk_network_destroy(n);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(reading), cmocka_unit_test(making),
                                       cmocka_unit_test(tensors_in_files)};

    for (int i = 0; i < MODELS; i++)
        model[i] = onnx_of_text(models[i], &length[i]);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < MODELS; i++)
        free(model[i]);
    return failed;
}
