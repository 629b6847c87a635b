/* SPDX-License-Identifier: Apache-2.0 */
/* All libraries that compute convolutions. */
#include "bench.h"
#include <stdio.h>

void bench_conv_libraries_open(struct bench_library *l, const char *directory, int isa,
                               enum bench_conv_type type) {
    bench_peers_set_environment(isa, 1, type == BENCH_CONV_U8I8);
    for (int i = 0; i < BENCH_ONEDNN_VERSIONS; i++)
        bench_onednn_conv_open(l + 2 * i, directory, i, isa);
    struct bench_library *onnxruntime = l + 2 * BENCH_ONEDNN_VERSIONS;
    bench_onnxruntime_open(onnxruntime, directory);
    if (!onnxruntime->missing && isa != bench_isa_best()) {
        onnxruntime->missing = true;
        snprintf(onnxruntime->detail, sizeof onnxruntime->detail,
                 "uses this CPU's widest instructions, whatever the target is");
    }
}
