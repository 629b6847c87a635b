/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs on a board and drives its GPU: loads HIP or CUDA, as its argument says, and answers requests from
 * standard input until end of file (gpu_wire.h). It is linked dynamically because a static program cannot
 * load a driver.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "gpu_wire.h"
#include "vendors.h"

static const struct uk_gpu_driver *driver;
static int out;

/* ---- input and output ---- */

static int take(void *to, size_t bytes) {
    char *at = to;

    for (ssize_t n; bytes; at += n, bytes -= (size_t)n)
        if ((n = read(STDIN_FILENO, at, bytes)) <= 0)
            return 0;
    return 1;
}

static int give(const void *from, size_t bytes) {
    const char *at = from;

    for (ssize_t n; bytes; at += n, bytes -= (size_t)n)
        if ((n = write(out, at, bytes)) <= 0)
            return 0;
    return 1;
}

static void *room(size_t bytes) {
    void *p = malloc(bytes + 1);

    if (!p) {
        fprintf(stderr, "there is no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return p;
}

/* ---- recorded launches ---- */

struct kept {
    struct kept *next;
    struct uk_gpu_request request;
    char bytes[];
};
static struct kept *first, **last = &first;
static uint32_t keeps;

static void keep(const struct uk_gpu_request *q, const char *data) {
    if (!keeps || (q->what != UK_GPU_LAUNCH && (q->what != UK_GPU_UPLOAD || keeps < 2)))
        return;
    struct kept *k = room(sizeof *k + q->bytes);
    k->next = NULL;
    k->request = *q;
    memcpy(k->bytes, data, q->bytes);
    *last = k;
    last = &k->next;
}

static void forget(void) {
    for (struct kept *next; first; first = next) {
        next = first->next;
        free(first);
    }
    last = &first;
}

static void *device_of(const struct uk_gpu_request *q) {
    return (void *)(uintptr_t)q->device;
}

static enum uk_status begin(const struct uk_gpu_request *q, const char *data, char *message) {
    void *d = device_of(q);

    if (q->what == UK_GPU_UPLOAD)
        return driver->upload(d, q->address, data, q->bytes, message);
    return driver->launch(d, (struct uk_gpu_kernel *)(uintptr_t)q->address, q->grid, q->block, q->shared,
                          data, q->bytes, message);
}

static enum uk_status time_kept(struct uk_gpu_event *events[2], long calls, double *seconds, char *message) {
    void *d = device_of(&first->request);
    enum uk_status s = driver->record(d, events[0], message);

    for (long i = 0; i < calls && !s; i++)
        for (const struct kept *k = first; k && !s; k = k->next)
            s = begin(&k->request, k->bytes, message);
    if (!s)
        s = driver->record(d, events[1], message);
    if (!s)
        s = driver->seconds(d, events[0], events[1], seconds, message);
    *seconds /= (double)calls;
    return s;
}

/* Measures samples of several milliseconds each; the first calls show how many repetitions that takes. */
static enum uk_status measure(struct uk_gpu_event *events[2], const struct uk_gpu_request *q, double *seconds,
                              char *message) {
    enum { WARM = 3, MOST_CALLS = 10000 };
    const double sample = 0.01;
    double each = 0;
    enum uk_status s = UK_OK;

    for (int i = 0; i < 2 && !s; i++)
        s = time_kept(events, WARM, &each, message);
    const long calls = each > sample                        ? 1
                       : each * (double)MOST_CALLS < sample ? MOST_CALLS
                                                            : (long)(sample / each);
    for (uint64_t i = 0; i < q->number && !s; i++) {
        if (q->value)
            nanosleep(&(struct timespec){.tv_sec = q->value}, NULL);
        s = time_kept(events, calls > 0 ? calls : 1, &seconds[i], message);
    }
    return s;
}

static enum uk_status replay(const struct uk_gpu_request *q, double *seconds, char *message) {
    struct uk_gpu_event *events[2] = {NULL, NULL};
    void *d = device_of(&first->request);
    char unused[UK_GPU_MESSAGE];
    enum uk_status s = driver->event_make(d, &events[0], message);

    if (!s)
        s = driver->event_make(d, &events[1], message);
    if (!s)
        s = measure(events, q, seconds, message);
    for (int i = 0; i < 2; i++)
        if (events[i])
            driver->event_free(d, events[i], unused);
    return s;
}

/* ---- requests ---- */

static enum uk_status find(const struct uk_gpu_request *q, const char *data, uint64_t *value, char *message) {
    struct uk_gpu_kernel *kernel = NULL;
    const enum uk_status s =
        driver->find(device_of(q), (struct uk_gpu_module *)(uintptr_t)q->address, data, &kernel, message);

    *value = (uintptr_t)kernel;
    return s;
}

static enum uk_status load(const struct uk_gpu_request *q, const char *data, uint64_t *value, char *message) {
    struct uk_gpu_module *module = NULL;
    const enum uk_status s = driver->load(device_of(q), data, q->bytes, &module, message);

    *value = (uintptr_t)module;
    return s;
}

static enum uk_status open_device(const struct uk_gpu_request *q, struct uk_gpu_reply *r, char **back,
                                  char *message) {
    void *device = NULL;
    const enum uk_status s = driver->open((int)q->device, &device, message);

    if (!s) {
        const char *name = driver->name(device);

        r->bytes = strlen(name);
        memcpy(*back = room(r->bytes), name, r->bytes);
    }
    r->value = (uintptr_t)device;
    return s;
}

static enum uk_status record(const struct uk_gpu_request *q) {
    forget();
    keeps = q->value;
    return UK_OK;
}

static enum uk_status answer(const struct uk_gpu_request *q, const char *data, struct uk_gpu_reply *r,
                             char **back, char *message) {
    void *d = device_of(q);

    switch (q->what) {
    case UK_GPU_OPEN:
        return open_device(q, r, back, message);
    case UK_GPU_CLOSE:
        return driver->close(d), UK_OK;
    case UK_GPU_ALLOC:
        return driver->alloc(d, q->number, &r->value, message);
    case UK_GPU_FREE:
        return driver->free(d, q->address, message);
    case UK_GPU_UPLOAD:
    case UK_GPU_LAUNCH:
        keep(q, data);
        return begin(q, data, message);
    case UK_GPU_DOWNLOAD:
        *back = room(r->bytes = q->number);
        return driver->download(d, *back, q->address, q->number, message);
    case UK_GPU_FILL:
        return driver->fill(d, q->address, (unsigned char)q->value, q->number, message);
    case UK_GPU_LOAD:
        return load(q, data, &r->value, message);
    case UK_GPU_UNLOAD:
        return driver->unload(d, (struct uk_gpu_module *)(uintptr_t)q->address, message);
    case UK_GPU_FIND:
        return find(q, data, &r->value, message);
    case UK_GPU_WAIT:
        return driver->wait(d, message);
    case UK_GPU_RECORD:
        return record(q);
    default:
        keeps = 0;
        r->bytes = first ? q->number * sizeof(double) : 0;
        *back = room(r->bytes);
        return first ? replay(q, (double *)(void *)*back, message) : UK_OK;
    }
}

int main(int argc, char **argv) {
    struct uk_gpu_request q;

    driver = argc > 1 && !strcmp(argv[1], "hip") ? &uk_gpu_hip : &uk_gpu_cuda;
    /* The driver may print on standard output, which must not mix with replies. */
    out = dup(STDOUT_FILENO);
    if (out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 1;
    while (take(&q, sizeof q)) {
        struct uk_gpu_reply r = {0};
        char message[UK_GPU_MESSAGE] = "", *back = NULL, *data = room(q.bytes);

        if (!take(data, q.bytes))
            return 1;
        data[q.bytes] = 0;
        r.status = answer(&q, data, &r, &back, message);
        if (r.status)
            r.bytes = strlen(message);
        if (!give(&r, sizeof r) || !give(r.status ? message : back, r.bytes))
            return 1;
        free(back);
        free(data);
    }
    return 0;
}
