/* SPDX-License-Identifier: Apache-2.0 */
/* uk verify: compares kernels with their declarations: those of a program, one of the registry, or all that a
 * target has. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "file.h"
#include "program.h"
#include "show.h"
#include "simulate.h"
#include "emulate/emulate.h"
#include "remote/remote.h"

/* Runs code of another architecture or of a GPU. */
struct elsewhere {
    const char *target;
    struct uk_emulation *emulation;
    struct uk_simulation *simulation;
    int status; /* exit status; unless 0, the error has been printed */
};

static enum uk_status link_elsewhere(void *user, const char *source, const char *object, size_t length,
                                     char *const **argv) {
    struct elsewhere *e = user;
    char *relayed = uk_board_in_use() ? uk_relay_guest(source) : NULL;

    if (uk_board_in_use() && !relayed)
        e->status = uk_complain(UK_EXIT_WRONG, "out of memory");
    else
        e->status =
            uk_emulation_open_object(&e->emulation, e->target, relayed ? relayed : source, object, length);
    free(relayed);
    if (!e->status && !(*argv = uk_emulation_command(e->emulation)))
        e->status = UK_EXIT_WRONG;
    return e->status ? UK_IO : UK_OK;
}

static enum uk_status launch(void *user, const struct uk_verify_launch *l, char *message, size_t room) {
    struct elsewhere *e = user;

    if (!e->simulation)
        e->simulation = uk_simulation_begin();
    return e->simulation ? uk_simulate(e->simulation, l, message, room) : UK_OUT_OF_MEMORY;
}

static int finish(const struct uk_job *job, struct elsewhere *elsewhere, enum uk_status status,
                  char *report) {
    if (report)
        fputs(report, stdout);
    uk_text_free(report);
    uk_emulation_end(elsewhere->emulation);
    uk_simulation_end(elsewhere->simulation);
    if (elsewhere->status)
        return elsewhere->status;
    uk_job_notes(job);
    if (status == UK_WRONG_RESULT)
        return UK_EXIT_WRONG; /* the report says which results are wrong */
    return status ? uk_job_failed(job, status) : UK_EXIT_OK;
}

/* Verifies the kernel, or all of the program's if it is NULL. */
static int verify(const struct uk_job *job, const struct uk_arguments *a, const struct uk_kernel *kernel) {
    struct elsewhere elsewhere = {.target = a->target};
    const struct uk_verify_runner runner = {
        .link = uk_is_emulated(a->target) ? link_elsewhere : NULL, .user = &elsewhere, .launch = launch};
    const struct uk_verify_options options = {
        .target = a->target, .seed = (uint64_t)a->seed, .seconds = (int)a->time_limit, .runner = &runner};
    char *report = NULL;
    const enum uk_status s = kernel ? uk_verify_kernel(job->context, kernel, &options, &report)
                                    : uk_verify(job->program, &options, &report);

    return finish(job, &elsewhere, s, report);
}

/* Verifies all kernels; continues after a failure. */
static int verify_all(const struct uk_job *job, const struct uk_arguments *a) {
    int status = UK_EXIT_OK;

    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);
        char lacking[64];
        const enum uk_status s = uk_kernel_fits(job->context, k, a->target, lacking, sizeof lacking);

        if (s && !*lacking)
            return uk_job_failed(job, s);
        if (!s && verify(job, a, k))
            status = UK_EXIT_WRONG;
    }
    return status;
}

int uk_command_verify(const struct uk_arguments *a) {
    const char *name = a->positionals ? a->positional[0] : "";
    /* File names of programs end in .uk, contain a folder, or exist; names of kernels contain neither a dot
     * nor a slash. */
    bool is_name = *name && !uk_is_stdin(name) && !strpbrk(name, "./") &&
                   (!strncmp(name, "uk_", 3) || access(name, F_OK));
    const struct uk_kernel *kernel = is_name ? uk_kernel_named(name) : NULL;
    struct uk_job job = {.context = NULL};
    int status;

    if (is_name && !kernel)
        return UK_EXIT_USAGE;
    if (!*name && !a->target)
        return uk_complain(UK_EXIT_USAGE,
                           "verify: give a file or a kernel, or a --target for all its kernels");
    if (!kernel && *name) {
        status = uk_job_begin(&job, a);
        if (!status)
            status = verify(&job, a, NULL);
    } else if (!(job.context = uk_context_create())) {
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    } else {
        status = kernel ? verify(&job, a, kernel) : verify_all(&job, a);
    }
    uk_job_end(&job);
    return status;
}
