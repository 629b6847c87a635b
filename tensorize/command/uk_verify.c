/* SPDX-License-Identifier: Apache-2.0 */
/* uk verify: the kernels that a program declares, or one of the registry, against their declarations. */
#include <stdio.h>
#include <string.h>
#include "emulate/emulate.h"

/* Where the code of another architecture runs. */
struct elsewhere {
    const char *target;
    struct uk_emulation *emulation;
    int status; /* exit status; not 0: what is wrong has been said */
};

static enum uk_status link_elsewhere(void *user, const char *source, const char *object, size_t length,
                                     char *const **argv) {
    struct elsewhere *e = user;

    e->status = uk_emulation_open_object(&e->emulation, e->target, source, object, length);
    if (!e->status)
        *argv = uk_emulation_command(e->emulation);
    return e->status ? UK_IO : UK_OK;
}

static int finish(const struct uk_job *job, struct elsewhere *elsewhere, enum uk_status status,
                  char *report) {
    if (report)
        fputs(report, stdout);
    uk_text_free(report);
    uk_emulation_end(elsewhere->emulation);
    if (elsewhere->status)
        return elsewhere->status;
    uk_job_notes(job);
    if (status == UK_WRONG_RESULT)
        return UK_EXIT_WRONG; /* the report says what */
    return status ? uk_job_failed(job, status) : UK_EXIT_OK;
}

int uk_command_verify(const struct uk_arguments *a) {
    struct elsewhere elsewhere = {.target = a->target};
    const struct uk_verify_runner runner = {.link = link_elsewhere, .user = &elsewhere};
    const struct uk_verify_options options = {.target = a->target,
                                              .seed = (uint64_t)a->seed,
                                              .seconds = (int)a->time_limit,
                                              .runner = uk_is_emulated(a->target) ? &runner : NULL};
    const char *name = a->positional[0];
    /* Programs end in .uk or lie in a folder; the names of kernels have neither. */
    bool is_name = !strncmp(name, "uk_", 3) && !strpbrk(name, "./");
    const struct uk_kernel *kernel = is_name ? uk_kernel_named(name) : NULL;
    struct uk_job job = {.context = NULL};
    char *report = NULL;
    int status = UK_EXIT_OK;

    if (is_name && !kernel)
        return UK_EXIT_USAGE;
    if (kernel) {
        job.context = uk_context_create();
        status = job.context ? finish(&job, &elsewhere,
                                      uk_verify_kernel(job.context, kernel, &options, &report), report)
                             : uk_complain(UK_EXIT_WRONG, "out of memory");
    } else {
        status = uk_job_begin(&job, a);
        if (!status)
            status = finish(&job, &elsewhere, uk_verify(job.program, &options, &report), report);
    }
    uk_job_end(&job);
    return status;
}
