/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a board's GPUs a kind of GPU of this process. Compiled functions that launch kernels run here; each
 * call of the driver goes to a program on the board (gpu_program.c) through its standard input and output.
 * Addresses are those of the device on the board.
 */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "child.h"
#include "gpu_run.h"
#include "gpu_wire.h"
#include "remote.h"
#include "gpu/gpu.h"

enum { PIECE = 16 << 20 /* bytes per message of a copy */ };

/* A device opened on the board. */
struct device {
    uint64_t handle;
    char name[UK_GPU_MESSAGE];
};

/* ---- requests ---- */

static bool send_all(int link, const void *from, size_t bytes) {
    const char *at = from;

    for (ssize_t n; bytes; at += n, bytes -= (size_t)n)
        if ((n = send(link, at, bytes, MSG_NOSIGNAL)) < 0) {
            if (errno != EINTR || uk_is_interrupted())
                return false;
            n = 0;
        }
    return true;
}

/* Waits for bytes with a timeout, because a signal may have come just before the wait. */
static bool is_there(int link) {
    struct pollfd p = {.fd = link, .events = POLLIN};
    enum { MILLISECONDS = 500 };

    while (!uk_is_interrupted()) {
        const int n = poll(&p, 1, MILLISECONDS);

        if (n > 0)
            return true;
        if (n < 0 && errno != EINTR)
            return false;
    }
    return false;
}

static bool receive(int link, void *to, size_t bytes) {
    char *at = to;

    for (ssize_t n; bytes; at += n, bytes -= (size_t)n) {
        if (!is_there(link) || !(n = recv(link, at, bytes, 0)))
            return false;
        if (n < 0 && errno != EINTR)
            return false;
        n = n < 0 ? 0 : n;
    }
    return true;
}

/* Ends the session. Returns the program's exit status, or -1. */
static int end(struct uk_board *b, bool at_once) {
    int result = 0;

    if (b->gpu_link >= 0)
        close(b->gpu_link);
    b->gpu_link = -1;
    if (b->gpu_ssh <= 0)
        return -1;
    if (at_once)
        kill(b->gpu_ssh, SIGTERM);
    while (waitpid(b->gpu_ssh, &result, 0) < 0)
        if (errno != EINTR)
            return -1;
    b->gpu_ssh = -1;
    return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

static void error_output_path(const struct uk_board *b, char *path, size_t size) {
    snprintf(path, size, "%s/said.gpu", b->guard.folder);
}

static enum uk_status broken(struct uk_board *b, char *message) {
    char path[96], said[256];

    if (uk_is_interrupted()) {
        end(b, true);
        snprintf(message, UK_GPU_MESSAGE, "interrupted");
        return UK_DEVICE;
    }
    const bool was = b->gpu_ssh <= 0;
    const int result = end(b, false);
    error_output_path(b, path, sizeof path);
    uk_last_line(path, said, sizeof said);
    if (was)
        snprintf(message, UK_GPU_MESSAGE, "the program there has ended");
    else
        uk_board_ended(b, b->gpu_program, result, said, message, UK_GPU_MESSAGE);
    return UK_DEVICE;
}

/* Sends a request with q->bytes bytes of data. The reply's bytes go to `back`, which has room for `room`;
 * *got is their number. got = NULL: a reply without an error has exactly `room` bytes. */
static enum uk_status ask(const struct uk_gpu_request *q, const void *data, uint64_t *value, void *back,
                          size_t room, size_t *got, char *message) {
    struct uk_board *b = uk_board_in_use();
    struct uk_gpu_reply r;

    if (b->gpu_link < 0 || !send_all(b->gpu_link, q, sizeof *q) || !send_all(b->gpu_link, data, q->bytes) ||
        !receive(b->gpu_link, &r, sizeof r))
        return broken(b, message);
    if (r.bytes > (r.status ? UK_GPU_MESSAGE - 1 : room) || (!r.status && !got && r.bytes != room) ||
        !receive(b->gpu_link, r.status ? message : back, r.bytes))
        return broken(b, message);
    if (r.status)
        message[r.bytes] = 0;
    if (value)
        *value = r.value;
    if (got)
        *got = r.bytes;
    return (enum uk_status)r.status;
}

static enum uk_status tell(const struct uk_gpu_request *q, char *message) {
    return ask(q, NULL, NULL, NULL, 0, NULL, message);
}

/* ---- the driver ---- */

static uint64_t handle_of(const void *device) {
    return ((const struct device *)device)->handle;
}

static enum uk_status open_device(int ordinal, void **device, char *message) {
    const struct uk_board *b = uk_board_in_use();
    const struct uk_gpu_request q = {.what = UK_GPU_OPEN, .device = (uint64_t)ordinal};
    struct device *d = calloc(1, sizeof *d);
    size_t n = 0;

    if (!d) {
        snprintf(message, UK_GPU_MESSAGE, "out of memory");
        return UK_OUT_OF_MEMORY;
    }
    const enum uk_status s = ask(&q, NULL, &d->handle, d->name, sizeof d->name / 2, &n, message);
    if (s) {
        free(d);
        return s;
    }
    snprintf(d->name + n, sizeof d->name - n, " on %.200s", b->text);
    *device = d;
    return UK_OK;
}

static void close_device(void *device) {
    char message[UK_GPU_MESSAGE];

    tell(&(struct uk_gpu_request){.what = UK_GPU_CLOSE, .device = handle_of(device)}, message);
    free(device);
}

static const char *get_name(void *device) {
    return ((struct device *)device)->name;
}

static enum uk_status alloc(void *device, size_t bytes, uk_gpu_address *address, char *message) {
    const struct uk_gpu_request q = {.what = UK_GPU_ALLOC, .device = handle_of(device), .number = bytes};

    return ask(&q, NULL, address, NULL, 0, NULL, message);
}

static enum uk_status free_memory(void *device, uk_gpu_address address, char *message) {
    return tell(
        &(struct uk_gpu_request){.what = UK_GPU_FREE, .device = handle_of(device), .address = address},
        message);
}

static enum uk_status upload(void *device, uk_gpu_address to, const void *from, size_t bytes, char *message) {
    enum uk_status s = UK_OK;

    for (size_t at = 0; at < bytes && !s; at += PIECE) {
        const struct uk_gpu_request q = {.what = UK_GPU_UPLOAD,
                                         .device = handle_of(device),
                                         .address = to + at,
                                         .bytes = bytes - at < PIECE ? bytes - at : PIECE};
        s = ask(&q, (const char *)from + at, NULL, NULL, 0, NULL, message);
    }
    return s;
}

static enum uk_status download(void *device, void *to, uk_gpu_address from, size_t bytes, char *message) {
    enum uk_status s = UK_OK;

    for (size_t at = 0; at < bytes && !s; at += PIECE) {
        const struct uk_gpu_request q = {.what = UK_GPU_DOWNLOAD,
                                         .device = handle_of(device),
                                         .address = from + at,
                                         .number = bytes - at < PIECE ? bytes - at : PIECE};
        s = ask(&q, NULL, NULL, (char *)to + at, q.number, NULL, message);
    }
    return s;
}

static enum uk_status fill(void *device, uk_gpu_address to, unsigned char value, size_t bytes,
                           char *message) {
    return tell(
        &(struct uk_gpu_request){
            .what = UK_GPU_FILL, .device = handle_of(device), .address = to, .number = bytes, .value = value},
        message);
}

/* Sends a request whose reply is a handle, which is kept as a pointer. */
static enum uk_status get(const struct uk_gpu_request *q, const void *data, void **handle, char *message) {
    uint64_t value = 0;
    const enum uk_status s = ask(q, data, &value, NULL, 0, NULL, message);

    *handle = (void *)(uintptr_t)value;
    return s;
}

static enum uk_status load(void *device, const void *image, size_t bytes, struct uk_gpu_module **module,
                           char *message) {
    const struct uk_gpu_request q = {.what = UK_GPU_LOAD, .device = handle_of(device), .bytes = bytes};
    void *handle;
    const enum uk_status s = get(&q, image, &handle, message);

    *module = handle;
    return s;
}

static enum uk_status unload(void *device, struct uk_gpu_module *module, char *message) {
    return tell(&(struct uk_gpu_request){.what = UK_GPU_UNLOAD,
                                         .device = handle_of(device),
                                         .address = (uintptr_t)module},
                message);
}

static enum uk_status find(void *device, struct uk_gpu_module *module, const char *name,
                           struct uk_gpu_kernel **kernel, char *message) {
    const struct uk_gpu_request q = {.what = UK_GPU_FIND,
                                     .device = handle_of(device),
                                     .address = (uintptr_t)module,
                                     .bytes = strlen(name)};
    void *handle;
    const enum uk_status s = get(&q, name, &handle, message);

    *kernel = handle;
    return s;
}

static enum uk_status launch(void *device, struct uk_gpu_kernel *kernel, const unsigned grid[3],
                             const unsigned block[3], unsigned shared, const void *arguments, size_t bytes,
                             char *message) {
    struct uk_gpu_request q = {.what = UK_GPU_LAUNCH,
                               .device = handle_of(device),
                               .address = (uintptr_t)kernel,
                               .shared = shared,
                               .bytes = bytes};

    memcpy(q.grid, grid, sizeof q.grid);
    memcpy(q.block, block, sizeof q.block);
    return ask(&q, arguments, NULL, NULL, 0, NULL, message);
}

static enum uk_status wait_all(void *device, char *message) {
    return tell(&(struct uk_gpu_request){.what = UK_GPU_WAIT, .device = handle_of(device)}, message);
}

/* Events are unsupported: times are measured on the board, around repeated launches. */
static enum uk_status no_event(void *device, struct uk_gpu_event **event, char *message) {
    (void)device;
    *event = NULL;
    snprintf(message, UK_GPU_MESSAGE, "GPU events are not available for a board");
    return UK_UNSUPPORTED;
}

static enum uk_status no_point(void *device, struct uk_gpu_event *event, char *message) {
    return no_event(device, &event, message);
}

static enum uk_status no_seconds(void *device, struct uk_gpu_event *start, struct uk_gpu_event *stop,
                                 double *seconds, char *message) {
    (void)stop;
    *seconds = 0;
    return no_event(device, &start, message);
}

static const struct uk_gpu_driver driver = {
    "remote", open_device, close_device, get_name, alloc,    free_memory, upload,   download, fill,
    load,     unload,      find,         launch,   wait_all, no_event,    no_point, no_point, no_seconds};

/* ---- the program on the board ---- */

static int start_ssh(struct uk_board *b, const char *kind, bool locked) {
    const char *argv[UK_BOARD_ARGUMENTS], *body;
    char *words[UK_WORDS + 3], path[96];
    int n = 0, link[2], open_end, status = uk_board_body(b, locked, &body);

    if (status)
        return status;
    for (int i = 0; i < b->prefix.count; i++)
        words[n++] = b->prefix.word[i];
    words[n++] = b->gpu_program;
    words[n++] = (char *)kind;
    words[n] = NULL;
    char *command = uk_board_script(b, body, words);
    if (!command)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    uk_board_command(b, argv, false, command);
    error_output_path(b, path, sizeof path);
    FILE *said = fopen(path, "we");
    int error = said && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) ? 0 : errno;
    if (!error) {
        error = uk_start_child((char *const *)argv, (const int[]){link[1], link[1], fileno(said)}, &open_end,
                               &b->gpu_ssh);
        close(link[1]);
        close(error ? link[0] : open_end);
        b->gpu_link = error ? -1 : link[0];
    }
    if (said)
        fclose(said);
    free(command);
    return error ? uk_complain(UK_EXIT_WRONG, "cannot start %s: %s", b->ssh.word[0], strerror(error))
                 : UK_EXIT_OK;
}

int uk_board_gpu_begin(struct uk_board *b, const char *target) {
    char program[128], why[UK_GPU_MESSAGE];
    struct uk_gpu *gpu;
    int status = uk_board_gpu_build(b, program, sizeof program);

    if (!status)
        status = uk_board_program(b, program, b->gpu_program, sizeof b->gpu_program);
    if (!status)
        status = start_ssh(b, uk_gpu_kind_of(target), b->arguments->time);
    if (status)
        return status;
    uk_gpu_register(&driver);
    if (!uk_gpu_open(driver.kind, 0, &gpu, why)) {
        uk_gpu_close(gpu);
        return UK_EXIT_OK;
    }
    if (uk_is_interrupted())
        return UK_EXIT_WRONG;
    if (b->gpu_link < 0) /* the board did not say whether it has a GPU */
        return uk_complain(UK_EXIT_WRONG, "--remote=%s: %s", b->text, why);
    return uk_complain(UK_EXIT_WRONG, "--remote=%s: no GPU for target '%s' was found: %s", b->text, target,
                       why);
}

void uk_board_gpu_end(struct uk_board *b) {
    end(b, uk_is_interrupted());
}

const char *uk_gpu_kind_here(const char *target) {
    return uk_board_in_use() && uk_gpu_kind_of(target) ? driver.kind : uk_gpu_kind_of(target);
}

/* ---- timing ---- */

enum uk_status uk_board_gpu_record(int what, char *message) {
    return tell(&(struct uk_gpu_request){.what = UK_GPU_RECORD, .value = (uint32_t)what}, message);
}

enum uk_status uk_board_gpu_replay(const struct uk_timing *how, double *seconds, char *message) {
    const struct uk_gpu_request q = {
        .what = UK_GPU_REPLAY, .number = (uint64_t)how->rounds, .value = (uint32_t)how->cooldown};

    memset(seconds, 0, (size_t)how->rounds * sizeof *seconds);
    return ask(&q, NULL, NULL, seconds, (size_t)how->rounds * sizeof *seconds, NULL, message);
}
