/* SPDX-License-Identifier: Apache-2.0 */
/* All libraries that compute products of bytes, bf16 and f16, or with weights in blocks, with a factor packed
 * beforehand. */
#include "bench.h"
#include <stdio.h>

/* Says why libraries are left out. */
static void leave_out(struct bench_library *l, int count, const char *why) {
    for (int i = 0; i < count; i++)
        if (!l[i].missing) {
            l[i].missing = true;
            snprintf(l[i].detail, sizeof l[i].detail, "%s", why);
        }
}

void bench_packed_libraries_open(struct bench_library *l, const char *directory, enum bench_type type,
                                 int isa, int threads) {
    enum { OTHERS = 2 * BENCH_ONEDNN_VERSIONS + 1 };
    struct bench_peers peers;
    struct bench_library *onnxruntime = &l[OTHERS];
    const bool has_weights = bench_weight_bits(type);
    bench_peers_open(&peers, directory, isa, threads);
    for (int i = 0; i < BENCH_ONEDNN_VERSIONS; i++)
        bench_onednn_packed_open(l + 2 * i, directory, i, isa, threads);
    bench_mkl_packed_open(&l[OTHERS - 1], &peers.peer[1]);
    for (int i = 0; i < 2; i++)
        bench_onnxruntime_matmul_open(onnxruntime + i, directory, type, i, threads);
    if (has_weights)
        leave_out(l, OTHERS, "has no weights in blocks that it can be given");
    else
        leave_out(onnxruntime + 1, 1, "only for weights in blocks");
    if (isa != bench_isa_best())
        leave_out(onnxruntime, 2, "uses this CPU's widest instructions, whatever the target is");
}
