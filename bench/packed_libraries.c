/* SPDX-License-Identifier: Apache-2.0 */
/* All libraries that compute products of bytes, bf16 and f16 with a factor packed beforehand. */
#include "bench.h"
#include <stdio.h>

void bench_packed_libraries_open(struct bench_library *l, const char *directory, int isa, int threads) {
    struct bench_peers peers;
    struct bench_library *onnxruntime = &l[2 * BENCH_ONEDNN_VERSIONS + 1];
    bench_peers_open(&peers, directory, isa, threads);
    for (int i = 0; i < BENCH_ONEDNN_VERSIONS; i++)
        bench_onednn_packed_open(l + 2 * i, directory, i, isa, threads);
    bench_mkl_packed_open(&l[2 * BENCH_ONEDNN_VERSIONS], &peers.peer[1]);
    bench_onnxruntime_matmul_open(onnxruntime, directory, threads);
    if (!onnxruntime->missing && isa != bench_isa_best()) {
        onnxruntime->missing = true;
        snprintf(onnxruntime->detail, sizeof onnxruntime->detail,
                 "uses this CPU's widest instructions, whatever the target is");
    }
}
