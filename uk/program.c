/* SPDX-License-Identifier: Apache-2.0 */
/* uk explain, and how commands load their program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "file.h"
#include "gpu_run.h"
#include "operands/shape.h"
#include "program.h"
#include "uk.h"

int uk_job_failed(const struct uk_job *job, enum uk_status status) {
    const char *message = uk_context_message(job->context);
    if (*message)
        fprintf(stderr, "%s\n", message);
    else
        uk_complain(0, "%s", uk_status_text(status));
    return UK_EXIT_WRONG;
}

void uk_job_notes(const struct uk_job *job) {
    fputs(uk_context_notes(job->context), stderr);
}

static struct uk_var *find_size(const struct uk_program *p, const char *name) {
    struct uk_var *v = p->sizes;
    while (v && strcmp(v->name, name))
        v = v->next;
    return v;
}

static int no_size(const struct uk_program *p, const char *file, const char *name) {
    struct uk_closest_name near = {.word = name};
    struct uk_text list = {0};
    for (const struct uk_var *v = p->sizes; v; v = v->next) {
        uk_consider_name(&near, v->name);
        uk_put(&list, "%s%s", list.length ? ", " : "", v->name);
    }
    uk_complain(0, "%s has no size '%s'%s%s%s; its sizes are %s", file, name,
                near.name ? "; did you mean '" : "", near.name ? near.name : "", near.name ? "'" : "",
                list.length ? list.text : "none");
    free(list.text);
    return UK_EXIT_USAGE;
}

/* Binds sizes: --define makes constants; --size sets the values that automatic schedules assume, as if the
 * program's text stated them. */
static int bind_sizes(struct uk_job *job, const struct uk_arguments *a) {
    for (int i = 0; i < a->bindings; i++) {
        const struct uk_size_value *b = &a->binding[i];
        struct uk_var *v = find_size(job->program, b->name);
        if (!v && a->programs > 1) /* another program may have the size */
            continue;
        if (!v)
            return no_size(job->program, uk_file_text(a->positional[0]), b->name);
        a->binding[i].is_used = true;
        if (b->upper)
            return uk_complain(
                UK_EXIT_USAGE,
                "size '%s' has a range, which is for networks; a program takes any value of it", b->name);
        if (b->value < 0)
            return uk_complain(UK_EXIT_USAGE, "size '%s' is %lld; give 0 or more", b->name,
                               (long long)b->value);
        if (b->is_constant) {
            enum uk_status status = uk_program_define(job->program, b->name, b->value);
            if (status)
                return uk_job_failed(job, status);
        } else {
            v->has_default = true;
            v->default_value = b->value;
        }
    }
    return UK_EXIT_OK;
}

/* Renames the function. The name must be a C identifier. */
static int rename_program(struct uk_program *p, const char *name) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    if (!*name || strspn(name, letters) != strlen(name) || (*name >= '0' && *name <= '9'))
        return uk_complain(UK_EXIT_USAGE, "--name '%s' is not a C identifier; use letters, digits and _",
                           name);
    if (!uk_may_name_function(name))
        return uk_complain(UK_EXIT_USAGE,
                           "--name '%s' is a word or a standard function of C or C++; use another name",
                           name);
    p->name = uk_strdup(&p->arena, name);
    return p->name ? UK_EXIT_OK : uk_complain(UK_EXIT_WRONG, "out of memory");
}

int uk_job_parse(struct uk_job *job, const struct uk_arguments *a) {
    const char *file = uk_file_text(a->positional[0]);
    double start = bench_seconds();
    enum uk_status status = uk_program_parse(job->context, file, job->text, job->length, &job->program);
    job->parse_time = bench_seconds() - start;
    if (!status && job->steps)
        status = uk_program_schedule(job->program, uk_file_text(a->schedule), job->steps, job->steps_length);
    if (status)
        return uk_job_failed(job, status);
    const char *name = a->name ? a->name : uk_is_stdin(a->positional[0]) ? "program" : NULL;
    int exit_status = name ? rename_program(job->program, name) : UK_EXIT_OK;
    return exit_status ? exit_status : bind_sizes(job, a);
}

int uk_job_load(struct uk_job *job, const struct uk_arguments *a) {
    if (a->schedule && uk_is_stdin(a->schedule) && uk_is_stdin(a->positional[0]))
        return uk_complain(UK_EXIT_USAGE,
                           "the program and --schedule are both standard input; give one as a file");
    if (!(job->text = uk_read_file(a->positional[0], &job->length)) ||
        (a->schedule && !(job->steps = uk_read_file(a->schedule, &job->steps_length))))
        return UK_EXIT_WRONG;
    return uk_job_parse(job, a);
}

int uk_job_prepare(struct uk_job *job, const struct uk_arguments *a) {
    *job = (struct uk_job){.context = uk_context_create()};
    if (!job->context)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    job->options = (struct uk_options){.target = a->target,
                                       .require_kernels = a->require_kernels,
                                       .plain_loops = a->no_kernels,
                                       .all_candidates = a->all,
                                       .threads = a->threads ? (int)a->threads : 1};
    return UK_EXIT_OK;
}

int uk_job_begin(struct uk_job *job, const struct uk_arguments *a) {
    int status = uk_job_prepare(job, a);
    return status ? status : uk_job_load(job, a);
}

void uk_job_end(struct uk_job *job) {
    free(job->text);
    free(job->steps);
    uk_program_destroy(job->program);
    uk_context_destroy(job->context);
}

int uk_command_explain(const struct uk_arguments *a) {
    struct uk_job job;
    int status = uk_job_begin(&job, a);
    if (!status) {
        char *text = NULL;
        enum uk_status explained = uk_explain(job.program, &job.options, &text);
        const struct uk_core *gpu = uk_gpu_core(a->target);

        if (text)
            fputs(text, stdout);
        if (text && gpu)
            uk_peak_explain(job.program, &gpu->device, "");
        if (explained)
            status = uk_job_failed(&job, explained);
        uk_text_free(text);
    }
    uk_job_end(&job);
    return status;
}
