/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a network: in this process, or in another program under an emulator or on a board. Under the emulator
 * both processes map the block of memory, so this one sees the values between layers. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bench.h"
#include "file.h"
#include "gpu_run.h"
#include "network.h"
#include "progress.h"

/* ---- in this process ---- */

/* Compiles for this machine, or for a GPU, with which the block is exchanged. */
static int compile_here(struct uk_net_job *j) {
    if (uk_gpu_kind_of(j->options.target))
        return uk_net_open_device(j);
    return uk_network_compile(j->network, &j->options) ? uk_net_failed(j) : UK_EXIT_OK;
}

static int prepare_in_process(struct uk_net_job *j) {
    const double start = bench_seconds();
    const int status = compile_here(j);

    j->compile_time = bench_seconds() - start;
    if (status)
        return status;
    j->bytes = uk_network_memory(j->network);
    j->memory = aligned_alloc(64, (j->bytes + 63) / 64 * 64);
    if (!j->memory)
        return uk_complain(UK_EXIT_WRONG, "out of memory for the network's %zu bytes", j->bytes);
    /* A nonzero pattern makes reads of unwritten memory visible. */
    memset(j->memory, 0xa5, j->bytes);
    return UK_EXIT_OK;
}

/* ---- under an emulator ---- */

static int map_file(struct uk_net_job *j) {
    struct stat st;
    const char *path = uk_emulation_data(j->emulation);
    const int file = open(path, O_RDWR | O_CLOEXEC);

    if (file < 0 || fstat(file, &st)) {
        if (file >= 0)
            close(file);
        return uk_complain(UK_EXIT_WRONG, "%s: %s", path, strerror(errno));
    }
    j->mapped_bytes = (size_t)st.st_size;
    void *at = mmap(NULL, j->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (at == MAP_FAILED)
        return uk_complain(UK_EXIT_WRONG, "%s: %s", path, strerror(errno));
    j->mapped = at;
    j->memory = j->mapped + UK_NET_HEAD;
    j->bytes = j->mapped_bytes - UK_NET_HEAD;
    memset(j->memory, 0xa5, j->bytes);
    return UK_EXIT_OK;
}

static int emulate(struct uk_net_job *j, int what, struct uk_emulated_counts *counts) {
    char argument[400], function[300];

    snprintf(argument, sizeof argument, "%d@%s", what, uk_emulation_data(j->emulation));
    snprintf(function, sizeof function, "%s_run", uk_network_name(j->network));
    return uk_emulation_call(j->emulation, argument, function, counts);
}

static int prepare_emulation(struct uk_net_job *j) {
    const double start = bench_seconds();
    struct uk_net_constants constants = {.path = j->arguments->constants};
    char *object = NULL, *runner = NULL;
    size_t length;
    int status = uk_emulation_check(j->options.target);

    if (!status &&
        uk_network_emit_steps(j->network, &j->options, constants.path ? uk_net_put_constants : NULL,
                              &constants, &object, &length))
        status = uk_net_not_emitted(j, &constants);
    status = uk_net_end_constants(&constants, status);
    j->compile_time = bench_seconds() - start;
    if (!status && !(runner = uk_net_runner(j)))
        status = uk_complain(UK_EXIT_WRONG, "out of memory");
    if (!status)
        status = uk_emulation_open_object(&j->emulation, j->options.target, runner, object, length);
    if (!status)
        status = uk_write_output(uk_emulation_data(j->emulation), "", 0);
    if (!status)
        status = emulate(j, UK_NET_SIZE, NULL);
    uk_text_free(object);
    free(runner);
    return status ? status : map_file(j);
}

/* ---- both ---- */

int uk_net_prepare(struct uk_net_job *j) {
    const struct uk_arguments *a = j->arguments;
    char threads[32];

    /* The thread pool reads the environment once, at its first use. */
    snprintf(threads, sizeof threads, "%" PRId64, a->threads);
    if (a->threads)
        setenv("UK_NUM_THREADS", threads, 1);
    if (!a->threads && !uk_is_emulated(a->target) && !uk_gpu_kind_of(a->target))
        j->options.threads = uk_num_threads();
    uk_net_progress_begin(j);
    const int status = uk_is_emulated(a->target) ? prepare_emulation(j) : prepare_in_process(j);
    uk_progress_end();
    return status;
}

void uk_net_end(struct uk_net_job *j) {
    if (j->mapped)
        munmap(j->mapped, j->mapped_bytes);
    else
        free(j->memory);
    free(j->inputs);
    free(j->sources);
    uk_net_close_device(j);
    uk_emulation_end(j->emulation);
    uk_network_destroy(j->network);
}

static int refused(const struct uk_net_job *j, int status, int layer) {
    const struct uk_network_layer *l = uk_network_layer(j->network, layer);

    if (!status)
        return UK_EXIT_OK;
    return uk_complain(UK_EXIT_WRONG, "%s: %s%s%s%s refused its inputs: %s", uk_network_name(j->network),
                       l ? "the layer of " : "the network", l ? l->operators : "", l ? " " : "",
                       l ? l->name : "", uk_status_text((enum uk_status)status));
}

static int call(struct uk_net_job *j, int layer) {
    int32_t status;

    if (j->device)
        return uk_net_call_device(j, layer);
    if (!j->emulation)
        return refused(j,
                       (int)(layer < 0 ? uk_network_run(j->network, j->memory)
                                       : uk_network_run_layer(j->network, j->memory, layer)),
                       layer);
    const int failed = emulate(j, layer, NULL);
    if (failed)
        return failed;
    memcpy(&status, j->mapped, sizeof status);
    return refused(j, status, layer);
}

int uk_net_call(struct uk_net_job *j) {
    return call(j, UK_NET_ALL);
}

int uk_net_call_layer(struct uk_net_job *j, int layer) {
    return call(j, layer);
}

int uk_net_count_call(struct uk_net_job *j, struct uk_emulated_counts *counts) {
    int32_t status;
    const int failed = emulate(j, UK_NET_ALL, counts);

    memcpy(&status, j->mapped, sizeof status);
    return failed ? failed : refused(j, status, UK_NET_ALL);
}
