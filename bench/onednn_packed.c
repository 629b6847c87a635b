/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oneDNN's matmul of bytes, bf16 and f16. The primitive is made beforehand, and B is brought into the layout
 * that the primitive prefers. A and C are plain matrices.
 *
 * oneDNN reads the instruction sets that it may use once per library, so a second copy of the library, loaded
 * from memory, computes without AMX.
 */
#define _GNU_SOURCE
#include "onednn.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C, OPERANDS };

/* A call's operands: `plain` describes ours. B is in `packed`. */
struct operands {
    void *plain[OPERANDS], *memory[OPERANDS];
    void *packed, *kind, *primitive;
};

static const int types[BENCH_TYPES][OPERANDS] = {
    [BENCH_U8I8] = {ONEDNN_U8, ONEDNN_S8, ONEDNN_S32},
    [BENCH_I8I8] = {ONEDNN_S8, ONEDNN_S8, ONEDNN_S32},
    [BENCH_BF16] = {ONEDNN_BF16, ONEDNN_BF16, ONEDNN_F32},
    [BENCH_F16] = {ONEDNN_F16, ONEDNN_F16, ONEDNN_F32},
};

static void *matrix_desc(const struct bench_library *l, int64_t rows, int64_t columns, int64_t ld,
                         bool transposed, int type) {
    int64_t sizes[12] = {rows, columns}, strides[12] = {transposed ? 1 : ld, transposed ? ld : 1};
    void *desc = NULL;
    return ((onednn_desc *)l->function[ONEDNN_DESC])(&desc, 2, sizes, type, strides) ? NULL : desc;
}

static void free_desc(const struct bench_library *l, void *desc) {
    if (desc)
        ((onednn_destroy *)l->function[ONEDNN_FREE_DESC])(desc);
}

static bool make_primitive(const struct bench_library *l, const struct bench_product *p, struct operands *o) {
    bench_function *const *f = l->function;
    const int64_t sizes[12] = {p->k, p->n};
    const int *type = types[p->type];
    void *any = NULL;
    o->plain[A] = matrix_desc(l, p->m, p->k, p->lda, p->a_transposed, type[A]);
    o->plain[B] = matrix_desc(l, p->k, p->n, p->ldb, p->b_transposed, type[B]);
    o->plain[C] = matrix_desc(l, p->m, p->n, p->ldc, false, type[C]);
    const bool made = o->plain[A] && o->plain[B] && o->plain[C] &&
                      !((onednn_desc_by_tag *)f[ONEDNN_DESC_BY_TAG])(&any, 2, sizes, type[B], ONEDNN_ANY) &&
                      !((onednn_matmul *)f[ONEDNN_MATMUL])(&o->kind, l->handle[0], o->plain[A], any, NULL,
                                                           o->plain[C], NULL) &&
                      bench_onednn_has_kernel(l, o->kind) &&
                      !((onednn_primitive *)f[ONEDNN_PRIMITIVE])(&o->primitive, o->kind);
    free_desc(l, any);
    return made;
}

static bool fill_operands(const struct bench_library *l, const struct bench_product *p, struct operands *o) {
    const void *layout =
        ((onednn_query_desc *)l->function[ONEDNN_QUERY_DESC])(o->kind, ONEDNN_QUERY_WEIGHTS, 0);
    const size_t bytes = layout ? ((onednn_desc_size *)l->function[ONEDNN_DESC_SIZE])(layout) : 0;
    o->packed = bytes ? aligned_alloc(4096, (bytes + 4095) / 4096 * 4096) : NULL;
    if (!o->packed)
        return false;
    memset(o->packed, 0, bytes);
    return bench_onednn_copy(l, o->plain[B], (void *)(uintptr_t)p->b, layout, o->packed) &&
           bench_onednn_make_memory(l, o->plain[A], (void *)(uintptr_t)p->a, &o->memory[A]) &&
           bench_onednn_make_memory(l, layout, o->packed, &o->memory[B]) &&
           bench_onednn_make_memory(l, o->plain[C], p->c, &o->memory[C]);
}

static void end_matmul(struct bench_call *call) {
    const struct bench_library *l = call->library;
    struct operands *o = call->state[0];
    for (int i = 0; i < OPERANDS; i++) {
        bench_onednn_free_memory(l, o->memory[i]);
        free_desc(l, o->plain[i]);
    }
    if (o->primitive)
        ((onednn_destroy *)l->function[ONEDNN_FREE_PRIMITIVE])(o->primitive);
    if (o->kind)
        ((onednn_destroy *)l->function[ONEDNN_FREE_KIND])(o->kind);
    free(o->packed);
    free(o);
}

static bool begin_matmul(struct bench_call *call) {
    struct operands *o = call->state[0] = calloc(1, sizeof *o);
    if (!o)
        return false;
    if (call->product->beta == 0 && make_primitive(call->library, call->product, o) &&
        fill_operands(call->library, call->product, o))
        return true;
    end_matmul(call);
    return false;
}

static void repeat_matmul(struct bench_call *call, long calls) {
    const struct bench_library *l = call->library;
    const struct operands *o = call->state[0];
    const struct onednn_argument arguments[] = {
        {ONEDNN_SOURCE, o->memory[A]}, {ONEDNN_WEIGHTS, o->memory[B]}, {ONEDNN_DESTINATION, o->memory[C]}};
    onednn_execute *run = (onednn_execute *)l->function[ONEDNN_EXECUTE];
    for (long i = 0; i < calls; i++)
        run(o->primitive, l->handle[1], OPERANDS, arguments);
    ((onednn_wait *)l->function[ONEDNN_WAIT])(l->handle[1]);
}

/* Loads the library, limited to these instruction sets. NULL: all. */
static void load(struct bench_library *l, const char *directory, const char *path, const char *instructions) {
    bench_peers_set_variable("ONEDNN_MAX_CPU_ISA", instructions);
    if (bench_onednn_load(l, directory, path, ", B packed by it")) {
        const size_t used = strlen(l->detail);
        const int sets = ((int (*)(void))l->function[ONEDNN_INSTRUCTIONS])();
        snprintf(l->detail + used, sizeof l->detail - used, ", instruction sets 0x%x of dnnl_cpu_isa_t",
                 (unsigned)sets);
    }
}

void bench_onednn_packed_open(struct bench_library *two, const char *directory, int version, int isa,
                              int threads) {
    static char name[BENCH_ONEDNN_VERSIONS][2][32];
    static const char prefix[] = "libdnnl.so.3.";
    const struct bench_peer_settings *peers = &bench_isas[isa].peers;
    char path[4096], copied[64];
    const bool found = bench_find_nth_library(directory, prefix, version, path, sizeof path),
               has_tiles = !uk_state_load(UK_STATE_TILES);
    const char *number = found ? strrchr(path, '/') + sizeof prefix - 2 : version ? "(second)" : "(first)";
    if (has_tiles)
        uk_state_release(UK_STATE_TILES);
    for (int i = 0; i < 2; i++) {
        struct bench_library *l = &two[i];
        *l = (struct bench_library){.name = name[version][i],
                                    .missing = true,
                                    .forms = {[BENCH_CALL] = true, [BENCH_RESOLVED] = true},
                                    .begin = begin_matmul,
                                    .repeat = repeat_matmul,
                                    .end = end_matmul,
                                    .threads = threads};
        snprintf(name[version][i], sizeof name[version][i], "oneDNN %.12s%s", number, i ? " no AMX" : "");
        if (!found)
            snprintf(l->detail, sizeof l->detail, "not installed; ./uk-setup peers installs it");
        else if (!i)
            load(l, directory, path, has_tiles ? peers->onednn : peers->onednn_without_tiles);
        else if (!has_tiles)
            snprintf(l->detail, sizeof l->detail, "the other one uses no AMX either");
        else if (!bench_onednn_duplicate(path, copied, sizeof copied))
            snprintf(l->detail, sizeof l->detail, "its file cannot be copied to memory");
        else
            load(l, directory, copied, peers->onednn_without_tiles);
    }
}
