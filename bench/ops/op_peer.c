/* SPDX-License-Identifier: Apache-2.0 */
/* Operators by ONNX Runtime: two sessions, with one copy of the nodes and with several, on the same memory.
 */
#include "bench.h"
#include "onnxruntime.h"
#include "op_model.h"
#include "operators.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = BENCH_OP_COPIES * BENCH_OP_TENSORS };

/* A graph, and the values of its inputs and outputs. */
struct session {
    void *session, *input[MOST], *output[MOST];
    char name[2][MOST][2 * BENCH_OP_NAME];
    const char *inputs[MOST], *outputs[MOST];
    int input_count, output_count;
};

struct bench_op_peer {
    const struct bench_library *library;
    const struct bench_op_call *call;
    /* What ONNX Runtime reads and writes: the operand itself, or in another order of dimensions a copy. */
    void *data[BENCH_OP_TENSORS];
    void *result; /* of the last bench_op_peer_result() */
    struct session session[2];
};

/* Copies a tensor into ONNX's order of dimensions, or back. */
static void reorder(const struct bench_op_tensor *t, const int64_t extent[BENCH_OP_DIMS],
                    const int from[BENCH_OP_DIMS], bool back, const void *source, void *target) {
    int64_t stride[BENCH_OP_DIMS], at[BENCH_OP_DIMS] = {0}, own = 1;
    for (int d = t->dims - 1; d >= 0; own *= t->extent[d--])
        stride[d] = own;
    for (int64_t i = 0; i < t->elements; i++) {
        int64_t place = 0;
        for (int d = 0; d < t->dims; d++)
            place += at[d] * stride[from[d]];
        memcpy((char *)target + (size_t)(back ? place : i) * t->element,
               (const char *)source + (size_t)(back ? i : place) * t->element, t->element);
        for (int d = t->dims - 1; d >= 0 && ++at[d] == extent[d]; d--)
            at[d] = 0;
    }
}

/* ---- operands ---- */

static bool make_data(struct bench_op_peer *p, char *message, size_t size) {
    const struct bench_op_call *c = p->call;
    for (int i = 0; i < c->tensors; i++) {
        const struct bench_op_tensor *t = &c->tensor[i];
        int64_t extent[BENCH_OP_DIMS];
        int from[BENCH_OP_DIMS];
        bool same = true;
        if (!bench_op_order(c, t, extent, from, message, size))
            return false;
        for (int d = 0; d < t->dims; d++)
            same &= from[d] == d;
        if (same && !t->is_written) {
            p->data[i] = t->data;
            continue;
        }
        p->data[i] = bench_op_allocate((size_t)t->elements * t->element, i);
        if (!p->data[i])
            return false;
        memset(p->data[i], 0xff, (size_t)t->elements * t->element);
        if (!t->is_written)
            reorder(t, extent, from, false, t->data, p->data[i]);
    }
    return true;
}

static bool add_value(struct bench_op_peer *p, struct session *s, int tensor, int copy, char *message,
                      size_t size) {
    const struct bench_op_tensor *t = &p->call->tensor[tensor];
    onnxruntime_create_tensor *create = (onnxruntime_create_tensor *)p->library->function[ONNXRUNTIME_TENSOR];
    const int at = t->is_written ? s->output_count : s->input_count;
    int64_t extent[BENCH_OP_DIMS];
    const int dims = bench_op_shape(p->call, t, extent, message, size);
    bench_op_value_name(s->name[t->is_written][at], t->name, copy);
    if (dims < 0 ||
        !bench_onnxruntime_succeeded(p->library, create(p->library->handle[1], p->data[tensor],
                                                        (size_t)t->elements * t->element, extent,
                                                        (size_t)dims, bench_op_onnx_type(t->type),
                                                        t->is_written ? &s->output[at] : &s->input[at])))
        return false;
    if (t->is_written)
        s->outputs[s->output_count++] = s->name[1][at];
    else
        s->inputs[s->input_count++] = s->name[0][at];
    return true;
}

/* ---- sessions ---- */

static bool make_session(struct bench_op_peer *p, struct session *s, int copies, char *message, size_t size) {
    size_t length;
    void *model = bench_op_model(p->call, copies, &length, message, size);
    if (model)
        s->session = bench_onnxruntime_session(p->library, model, length);
    free(model);
    for (int copy = 0; copy < copies && s->session; copy++)
        for (int t = 0; t < p->call->tensors; t++)
            if (!add_value(p, s, t, copy, message, size))
                return false;
    return s->session;
}

static void end_session(struct bench_op_peer *p, struct session *s) {
    bench_function *const *f = p->library->function;
    for (int i = 0; i < s->input_count; i++)
        ((onnxruntime_destroy *)f[ONNXRUNTIME_FREE_VALUE])(s->input[i]);
    for (int i = 0; i < s->output_count; i++)
        ((onnxruntime_destroy *)f[ONNXRUNTIME_FREE_VALUE])(s->output[i]);
    if (s->session)
        ((onnxruntime_destroy *)f[ONNXRUNTIME_FREE_SESSION])(s->session);
}

void bench_op_peer_open(struct bench_library *l, const char *directory, int threads) {
    *l = (struct bench_library){.name = "ONNX Runtime", .threads = threads};
    bench_onnxruntime_load(l, directory, "");
}

struct bench_op_peer *bench_op_peer_begin(const struct bench_library *onnxruntime,
                                          const struct bench_op_call *c, char *message, size_t size) {
    struct bench_op_peer *p = calloc(1, sizeof *p);
    *message = 0;
    if (!p)
        return NULL;
    p->library = onnxruntime;
    p->call = c;
    if (make_data(p, message, size) && make_session(p, &p->session[0], 1, message, size) &&
        make_session(p, &p->session[1], BENCH_OP_COPIES, message, size))
        return p;
    bench_op_peer_end(p);
    return NULL;
}

bool bench_op_peer_run(struct bench_op_peer *p, bool all) {
    struct session *s = &p->session[all];
    return bench_onnxruntime_succeeded(p->library, ((onnxruntime_run *)p->library->function[ONNXRUNTIME_RUN])(
                                                       s->session, NULL, s->inputs,
                                                       (const void *const *)s->input, (size_t)s->input_count,
                                                       s->outputs, (size_t)s->output_count, s->output));
}

const void *bench_op_peer_result(struct bench_op_peer *p, int tensor) {
    const struct bench_op_tensor *t = &p->call->tensor[tensor];
    int64_t extent[BENCH_OP_DIMS];
    int from[BENCH_OP_DIMS];
    char message[BENCH_OP_TEXT];
    free(p->result);
    p->result = malloc((size_t)t->elements * t->element + 1);
    if (!p->result || !bench_op_order(p->call, t, extent, from, message, sizeof message))
        return NULL;
    reorder(t, extent, from, true, p->data[tensor], p->result);
    return p->result;
}

void bench_op_peer_end(struct bench_op_peer *p) {
    for (int i = 0; i < 2; i++)
        end_session(p, &p->session[i]);
    for (int i = 0; i < p->call->tensors; i++)
        if (p->data[i] != p->call->tensor[i].data)
            bench_op_deallocate(p->data[i], i);
    free(p->result);
    free(p);
}
