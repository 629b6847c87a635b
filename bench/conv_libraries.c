/* SPDX-License-Identifier: Apache-2.0 */
/* All libraries that compute convolutions. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"
#include <stdio.h>
#include <stdlib.h>

void bench_conv_libraries_open(struct bench_library *l, const char *directory,
                               const struct bench_conv_options *how) {
    bench_peers_set_environment(how->isa, how->threads, how->type == BENCH_CONV_U8I8);
    /* Workers of GNU's OpenMP spin as long as they do by default, before they sleep: the kernel often wakes a
     * sleeping one on the CPU of the thread that waits for it. */
    if (how->threads > 1)
        setenv("GOMP_SPINCOUNT", "300000", 0);
    for (int i = 0; i < BENCH_ONEDNN_VERSIONS; i++)
        bench_onednn_conv_open(l + 2 * i, directory, i, how);
    struct bench_library *onnxruntime = l + 2 * BENCH_ONEDNN_VERSIONS;
    bench_onnxruntime_open(onnxruntime, directory, how->threads);
    const char *why = how->isa != bench_isa_best()
                          ? "uses this CPU's widest instructions, whatever the target is"
                      : how->weights_are_arguments ? "its models have constant weights"
                                                   : NULL;
    if (!onnxruntime->missing && why) {
        onnxruntime->missing = true;
        snprintf(onnxruntime->detail, sizeof onnxruntime->detail, "%s", why);
    }
}
