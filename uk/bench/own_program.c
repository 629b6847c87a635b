/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a compiled program as contenders. Weights, tensor 1 and perhaps their scales, tensor 2, are packed
 * before the time is taken if they are constant, as networks do it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "benchmarks.h"
#include "tensorize.h"

struct own {
    struct uk_context *context;
    struct uk_program *program;
    struct uk_module *module;
    void *packed[UK_BENCH_TENSORS];
    void *tensors[UK_BENCH_TENSORS]; /* arguments, in order */
    char kernels[512];
};

void uk_bench_end_program(struct bench_call *call) {
    struct own *o = call->state[0];
    uk_module_destroy(o->module);
    uk_program_destroy(o->program);
    uk_context_destroy(o->context);
    for (int t = 0; t < UK_BENCH_TENSORS; t++)
        free(o->packed[t]);
    free(o);
}

static void list_kernels(struct own *o) {
    size_t used = 0;
    for (int i = 0; uk_module_kernel(o->module, i) && used < sizeof o->kernels; i++)
        used += (size_t)snprintf(o->kernels + used, sizeof o->kernels - used, "%s%s", i ? ", " : "",
                                 uk_module_kernel(o->module, i));
}

/* Packs the constant tensors. */
static enum uk_status pack(struct own *o) {
    enum uk_status status = UK_OK;
    for (int t = 1; t < UK_BENCH_TENSORS && !status; t++) {
        const int64_t size = uk_module_packed_bytes(o->module, NULL, t);
        const void *weights = o->tensors[t];
        if (size < 0)
            continue;
        o->tensors[t] = o->packed[t] = aligned_alloc(4096, ((size_t)size + 4095) / 4096 * 4096 + 4096);
        status = o->packed[t] ? (enum uk_status)uk_module_pack(o->module, NULL, t, weights, o->packed[t])
                              : UK_OUT_OF_MEMORY;
    }
    return status;
}

bool uk_bench_begin_program(struct bench_call *call, const char *text,
                            void *const tensors[UK_BENCH_TENSORS]) {
    const struct uk_bench_own_options *how = call->library->handle[0];
    const struct uk_options options = {
        .target = how->target, .plain_loops = how->plain_loops, .threads = call->library->threads};
    struct own *o = call->state[0] = calloc(1, sizeof *o);
    if (!o || !(o->context = uk_context_create())) {
        free(o);
        return false;
    }
    memcpy(o->tensors, tensors, sizeof o->tensors);
    enum uk_status status = uk_program_parse(o->context, "benchmark.uk", text, strlen(text), &o->program);
    if (!status)
        status = uk_compile(o->program, &options, &o->module);
    if (!status && !call->library->weights_are_arguments)
        status = pack(o);
    if (!status) {
        list_kernels(o);
        return true;
    }
    const char *message = uk_context_message(o->context);
    fprintf(stderr, "%s\n%s", *message ? message : uk_status_text(status), text);
    uk_bench_end_program(call);
    return false;
}

/* A call that fails leaves the result as it was, which the check finds. */
void uk_bench_repeat_program(struct bench_call *call, long calls) {
    const struct own *o = call->state[0];
    for (long i = 0; i < calls; i++)
        uk_module_call(o->module, NULL, NULL, o->tensors);
}

const char *uk_bench_own_kernels(const struct bench_call *call) {
    return ((const struct own *)call->state[0])->kernels;
}
