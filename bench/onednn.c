/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oneDNN's matmul primitive.
 *
 * The primitive, its memory objects and the list of arguments are created once, so that a call is one
 * dnnl_primitive_execute, which oneDNN's own benchmark times, too. Weights are in the plain layout, not in
 * oneDNN's packed one. oneDNN has no f64 product on CPUs; accumulation into C is not measured.
 */
#include "onednn.h"
#include <stdio.h>

/* The state of a call: the primitive and its three memory objects. */
enum { SOURCE_MEMORY, WEIGHTS_MEMORY, DESTINATION_MEMORY, THE_PRIMITIVE };

static void *desc_of(const struct bench_library *l, int64_t rows, int64_t columns, int64_t ld,
                     bool transposed) {
    int64_t sizes[12] = {rows, columns}, strides[12] = {transposed ? 1 : ld, transposed ? ld : 1};
    void *desc = NULL;
    return ((onednn_desc *)l->function[ONEDNN_DESC])(&desc, 2, sizes, ONEDNN_F32, strides) ? NULL : desc;
}

static void end_onednn(struct bench_call *call) {
    bench_function *const *f = call->library->function;
    for (int i = SOURCE_MEMORY; i <= DESTINATION_MEMORY; i++)
        if (call->state[i])
            ((onednn_destroy *)f[ONEDNN_FREE_MEMORY])(call->state[i]);
    if (call->state[THE_PRIMITIVE])
        ((onednn_destroy *)f[ONEDNN_FREE_PRIMITIVE])(call->state[THE_PRIMITIVE]);
}

/* Creates the primitive and its memory objects for three descriptions. */
static bool make(struct bench_call *call, void *const desc[3]) {
    const struct bench_library *l = call->library;
    const struct bench_product *p = call->product;
    bench_function *const *f = l->function;
    void *const data[] = {(void *)(uintptr_t)p->a, (void *)(uintptr_t)p->b, p->c};
    void *matmul = NULL;
    if (((onednn_matmul *)f[ONEDNN_MATMUL])(&matmul, l->handle[0], desc[0], desc[1], NULL, desc[2], NULL))
        return false;
    bool made = !((onednn_primitive *)f[ONEDNN_PRIMITIVE])(&call->state[THE_PRIMITIVE], matmul);
    ((onednn_destroy *)f[ONEDNN_FREE_KIND])(matmul);
    for (int i = 0; i < 3 && made; i++)
        made = !((onednn_memory *)f[ONEDNN_MEMORY])(&call->state[i], desc[i], l->handle[0], data[i]);
    return made;
}

static bool begin_onednn(struct bench_call *call) {
    const struct bench_library *l = call->library;
    const struct bench_product *p = call->product;
    if (p->type != BENCH_F32 || p->beta != 0)
        return false;
    void *desc[3] = {desc_of(l, p->m, p->k, p->lda, p->a_transposed),
                     desc_of(l, p->k, p->n, p->ldb, p->b_transposed), desc_of(l, p->m, p->n, p->ldc, false)};
    bool made = desc[0] && desc[1] && desc[2] && make(call, desc);
    for (int i = 0; i < 3; i++)
        if (desc[i])
            ((onednn_destroy *)l->function[ONEDNN_FREE_DESC])(desc[i]);
    if (!made)
        end_onednn(call);
    return made;
}

static void repeat_onednn(struct bench_call *call, long calls) {
    const struct bench_library *l = call->library;
    const struct onednn_argument arguments[] = {{ONEDNN_SOURCE, call->state[SOURCE_MEMORY]},
                                                {ONEDNN_WEIGHTS, call->state[WEIGHTS_MEMORY]},
                                                {ONEDNN_DESTINATION, call->state[DESTINATION_MEMORY]}};
    onednn_execute *run = (onednn_execute *)l->function[ONEDNN_EXECUTE];
    for (long i = 0; i < calls; i++)
        run(call->state[THE_PRIMITIVE], l->handle[1], 3, arguments);
}

void bench_onednn_open(struct bench_library *l, const char *directory, int threads) {
    char path[4096], suffix[80];
    *l = (struct bench_library){.name = "oneDNN",
                                .missing = true,
                                .forms = {[BENCH_CALL] = true},
                                .begin = begin_onednn,
                                .repeat = repeat_onednn,
                                .end = end_onednn};
    /* The build for GNU's OpenMP: SYCL adds 4 us to every call. */
    if (!bench_find_library(directory, "libdnnl.so.3.2", path, sizeof path)) {
        snprintf(l->detail, sizeof l->detail, "not installed; ./uk-setup peers installs it");
        return;
    }
    snprintf(suffix, sizeof suffix, " matmul, primitive made beforehand, %d thread%s", threads,
             threads > 1 ? "s" : "");
    bench_onednn_load(l, directory, path, suffix);
}
