/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compiled product on a GPU: memory of the device, copies, the call, the time by events. Neither LLVM nor
 * ROCm is linked; the driver's library is loaded when the device is opened.
 *
 *     uk compile matmul.uk --target=amdgcn-gfx90a --emit=object -o matmul.o
 *     uk compile matmul.uk --target=amdgcn-gfx90a --emit=header -o matmul.h
 *     cc gpu_gemm.c matmul.o -lukernels -o gpu_gemm
 *     ./gpu_gemm             # or ./gpu_gemm KIND SIZE DEVICE: "hip", "cuda" or "sim", M = N = K, and the
 *                            device's number
 *     ./gpu_gemm sim 200 1   # without a GPU: device 1 of the simulator is a gfx90a
 */
#include <stdio.h>
#include <stdlib.h>
#include <ukernels/gpu.h>
#include "matmul.h"

struct operands {
    int64_t n;
    size_t bytes;
    float *host[3]; /* A, B, C */
    uk_gpu_address device[3];
};

/* A[i][k] = i + k and B[k][j] = k - j, modulo 5, so that all sums are exact. */
static int make(struct operands *o) {
    for (int x = 0; x < 3; x++)
        if (!(o->host[x] = calloc((size_t)(o->n * o->n) + 1, sizeof(float))))
            return 0;
    for (int64_t i = 0; i < o->n; i++)
        for (int64_t j = 0; j < o->n; j++) {
            o->host[0][i * o->n + j] = (float)((i + j) % 5);
            o->host[1][i * o->n + j] = (float)((i - j) % 5);
        }
    return 1;
}

/* Checks the elements of a diagonal; returns the number of wrong ones. */
static int check(const struct operands *o) {
    int wrong = 0;

    for (int64_t i = 0; i < o->n; i++) {
        const int64_t j = o->n - 1 - i;
        float sum = 0;

        for (int64_t k = 0; k < o->n; k++)
            sum += o->host[0][i * o->n + k] * o->host[1][k * o->n + j];
        wrong += o->host[2][i * o->n + j] != sum;
    }
    return wrong;
}

/* Multiplies twice: the first call loads the code object, the second is timed. Memory and events are freed
 * with the device. */
static enum uk_status multiply(struct uk_gpu *gpu, struct operands *o, double *seconds) {
    const int64_t n = o->n;
    struct uk_gpu_event *event[2];
    enum uk_status s = UK_OK;

    for (int x = 0; x < 3 && !s; x++)
        s = uk_gpu_alloc(gpu, o->bytes, &o->device[x]);
    for (int x = 0; x < 2 && !s; x++)
        s = uk_gpu_upload(gpu, o->device[x], o->host[x], o->bytes);
    for (int x = 0; x < 2 && !s; x++)
        s = uk_gpu_event_make(gpu, &event[x]);
    for (int x = 0; x < 2 && !s; x++) {
        s = uk_gpu_record(gpu, event[0]);
        if (!s) /* arguments: sizes, row strides, tensors */
            s = (enum uk_status)matmul(gpu, n, n, n, n, n, n, o->device[0], o->device[1], o->device[2]);
        if (!s)
            s = uk_gpu_record(gpu, event[1]);
    }
    if (!s)
        s = uk_gpu_download(gpu, o->host[2], o->device[2], o->bytes);
    *seconds = 0; /* stays 0 if the device cannot measure time */
    if (!s && (s = uk_gpu_seconds(gpu, event[0], event[1], seconds)) == UK_UNSUPPORTED)
        s = UK_OK;
    return s;
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : NULL;
    struct operands o = {.n = argc > 2 ? atoi(argv[2]) : 2048};
    const int device = argc > 3 ? atoi(argv[3]) : 0;
    char why[UK_GPU_MESSAGE];
    struct uk_gpu *gpu;
    double seconds;
    int wrong = 1;

    o.bytes = (size_t)(o.n * o.n) * sizeof(float);
    if (uk_gpu_open(kind, device, &gpu, why)) {
        fprintf(stderr, "no GPU: %s\n", why);
        return 1;
    }
    if (!make(&o)) {
        fprintf(stderr, "out of memory\n");
    } else if (multiply(gpu, &o, &seconds)) {
        fprintf(stderr, "%s: %s\n", uk_gpu_name(gpu), uk_gpu_message(gpu));
    } else {
        wrong = check(&o);
        printf("%s: %d of %d elements are wrong", uk_gpu_name(gpu), wrong, (int)o.n);
        if (seconds > 0)
            printf("; %g seconds, %.0f GFLOP/s", seconds,
                   2e-9 * (double)o.n * (double)o.n * (double)o.n / seconds);
        printf("\n");
    }
    uk_gpu_close(gpu);
    for (int x = 0; x < 3; x++)
        free(o.host[x]);
    return wrong != 0;
}
