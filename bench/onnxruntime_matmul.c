/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX Runtime's MatMulInteger and MatMulNBits: a session of one node with constant B, which it packs when
 * the session is made. It has no products of bf16 and f16 with sums in f32. */
#include "onnxruntime.h"
#include "onnx_model.h"
#include <stdlib.h>

struct operands {
    void *session, *a, *c; /* a, c: values of ONNX Runtime */
};

static void end_matmul(struct bench_call *call) {
    bench_function *const *f = call->library->function;
    struct operands *o = call->state[0];
    if (o->a)
        ((onnxruntime_destroy *)f[ONNXRUNTIME_FREE_VALUE])(o->a);
    if (o->c)
        ((onnxruntime_destroy *)f[ONNXRUNTIME_FREE_VALUE])(o->c);
    if (o->session)
        ((onnxruntime_destroy *)f[ONNXRUNTIME_FREE_SESSION])(o->session);
    free(o);
}

/* The model, of *length bytes, and the types of its input and output. NULL: out of memory. */
static void *make_model(const struct bench_library *l, const struct bench_product *p, int *input, int *output,
                        size_t *length) {
    const bool is_unsigned = p->type == BENCH_U8I8;
    if (bench_weight_bits(p->type)) {
        *input = *output = ONNX_FLOAT;
        return bench_onnx_weights_model(p, l->by_bytes ? 4 : 0, length);
    }
    *input = is_unsigned ? ONNX_UINT8 : ONNX_INT8;
    *output = ONNX_INT32;
    return bench_onnx_matmul_model(is_unsigned, p->m, p->n, p->k, p->b, length);
}

static bool make_operands(const struct bench_library *l, const struct bench_product *p, struct operands *o) {
    const int64_t a[] = {p->m, p->k}, c[] = {p->m, p->n};
    const struct bench_elements *e = &bench_elements[p->type];
    onnxruntime_create_tensor *tensor = (onnxruntime_create_tensor *)l->function[ONNXRUNTIME_TENSOR];
    size_t length;
    int input, output;
    void *model = make_model(l, p, &input, &output, &length);
    if (model)
        o->session = bench_onnxruntime_session(l, model, length);
    free(model);
    return o->session &&
           bench_onnxruntime_succeeded(l, tensor(l->handle[1], (void *)(uintptr_t)p->a,
                                                 (size_t)(p->m * p->k) * e->factor, a, 2, input, &o->a)) &&
           bench_onnxruntime_succeeded(
               l, tensor(l->handle[1], p->c, (size_t)(p->m * p->n) * e->sum, c, 2, output, &o->c));
}

static bool begin_matmul(struct bench_call *call) {
    const struct bench_product *p = call->product;
    if ((!bench_is_bytes(p->type) && !bench_weight_bits(p->type)) || p->beta != 0 || p->a_transposed ||
        p->b_transposed)
        return false;
    struct operands *o = call->state[0] = calloc(1, sizeof *o);
    if (!o)
        return false;
    if (make_operands(call->library, p, o))
        return true;
    end_matmul(call);
    return false;
}

static void repeat_matmul(struct bench_call *call, long calls) {
    static const char *const inputs[] = {"x"}, *const outputs[] = {"y"};
    const struct bench_library *l = call->library;
    struct operands *o = call->state[0];
    const void *const input[] = {o->a};
    for (long i = 0; i < calls; i++)
        bench_onnxruntime_succeeded(l, ((onnxruntime_run *)l->function[ONNXRUNTIME_RUN])(
                                           o->session, NULL, inputs, input, 1, outputs, 1, &o->c));
}

void bench_onnxruntime_matmul_open(struct bench_library *l, const char *directory, enum bench_type type,
                                   bool by_bytes, int threads) {
    *l = (struct bench_library){.name = by_bytes ? "ONNX Runtime by bytes" : "ONNX Runtime",
                                .forms = {[BENCH_CALL] = true, [BENCH_RESOLVED] = true},
                                .begin = begin_matmul,
                                .repeat = repeat_matmul,
                                .end = end_matmul,
                                .by_bytes = by_bytes,
                                .threads = threads};
    bench_onnxruntime_load(l, directory,
                           !bench_weight_bits(type) ? ", MatMulInteger of constant B"
                           : by_bytes               ? ", MatMulNBits of accuracy_level 4"
                                                    : ", MatMulNBits");
}
