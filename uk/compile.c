/* SPDX-License-Identifier: Apache-2.0 */
/* uk compile: writes one stage of the compilation of a program, or of several programs as one unit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compile.h"
#include "file.h"
#include "program.h"
#include "uk.h"

static const char *const stages[] = {
    [UK_EMIT_SCHEDULE] = "schedule", [UK_EMIT_LOOPS] = "loops",         [UK_EMIT_LLVM] = "llvm",
    [UK_EMIT_LINKED] = "linked",     [UK_EMIT_OPTIMIZED] = "optimized", [UK_EMIT_ASM] = "asm",
    [UK_EMIT_OBJECT] = "object",     [UK_EMIT_HEADER] = "header",       [UK_EMIT_SHARED] = "shared",
    [UK_EMIT_DEVICE] = "device",     [UK_EMIT_HOST] = "host",
};

int uk_emit_of_word(const char *word) {
    for (int i = 0; i < (int)(sizeof stages / sizeof *stages); i++)
        if (!strcmp(word, stages[i]))
            return i;
    return -1;
}

int uk_emit_of_extension(const char *out, int *stage) {
    static const struct {
        const char *ending;
        enum uk_emit stage;
    } endings[] = {{".o", UK_EMIT_OBJECT},
                   {".so", UK_EMIT_SHARED},
                   {".s", UK_EMIT_ASM},
                   {".ll", UK_EMIT_OPTIMIZED},
                   {".h", UK_EMIT_HEADER}};
    const char *name = out ? strrchr(out, '/') : NULL, *dot = out ? strrchr(name ? name : out, '.') : NULL;

    *stage = UK_EMIT_OBJECT;
    if (!dot)
        return UK_EXIT_OK;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (!strcmp(dot, endings[i].ending)) {
            *stage = endings[i].stage;
            return UK_EXIT_OK;
        }
    return uk_complain(UK_EXIT_USAGE,
                       "-o %s: unknown file type '%s'; use .o, .so, .s, .ll or .h, or say what by --emit",
                       out, dot);
}

int uk_check_binary(const struct uk_arguments *a, int stage) {
    const char *binary = stage == UK_EMIT_OBJECT   ? "an object"
                         : stage == UK_EMIT_SHARED ? "a shared object"
                         : stage == UK_EMIT_DEVICE ? "an image for a device"
                                                   : NULL;

    return binary && !a->out
               ? uk_complain(UK_EXIT_USAGE, "refusing to write %s to standard output; use -o FILE", binary)
               : UK_EXIT_OK;
}

/* Checks that the files can be read, so that this error comes before one about options. */
static int check_files(const struct uk_arguments *a) {
    for (int i = 0; i < a->positionals; i++) {
        size_t length;
        char *text = uk_is_stdin(a->positional[i]) ? NULL : uk_read_file(a->positional[i], &length);
        if (!text && !uk_is_stdin(a->positional[i]))
            return UK_EXIT_WRONG;
        free(text);
    }
    return UK_EXIT_OK;
}

/* Sets *stage to the enum uk_emit given by --emit or by -o's extension. Exit status. */
static int find_stage(const struct uk_arguments *a, int *stage) {
    int status = UK_EXIT_OK;

    if (a->emit)
        *stage = uk_emit_of_word(a->emit);
    else
        status = uk_emit_of_extension(a->out, stage);
    if (!status && *stage < 0)
        return uk_complain(UK_EXIT_USAGE,
                           "--emit=%s is for networks, and '%s' is a program; use another --emit", a->emit,
                           uk_file_text(a->positional[0]));
    if (!status && !a->out)
        status = check_files(a);
    return status ? status : uk_check_binary(a, *stage);
}

/* Refuses options that apply to a single program, if there are several. */
static int check_options(const struct uk_arguments *a) {
    const char *option = a->name ? "--name" : a->schedule ? "--schedule" : NULL;
    if (a->positionals > 1 && option)
        return uk_complain(
            UK_EXIT_USAGE,
            "%s is for one program, but %d are given; leave it out, or compile them one by one", option,
            a->positionals);
    for (int i = 0, inputs = 0; i < a->positionals; i++)
        if (uk_is_stdin(a->positional[i]) && inputs++)
            return uk_complain(UK_EXIT_USAGE,
                               "standard input can be only one program; give the others as files");
    return UK_EXIT_OK;
}

static int no_size(struct uk_program *const *program, int programs, const char *name) {
    struct uk_closest_name near = {.word = name};

    for (int i = 0; i < programs; i++)
        for (const struct uk_var *v = program[i]->sizes; v; v = v->next)
            uk_consider_name(&near, v->name);
    return uk_complain(UK_EXIT_USAGE, "no program has a size '%s'%s%s%s", name,
                       near.name ? "; did you mean '" : "", near.name ? near.name : "", near.name ? "'" : "");
}

/* Loads all programs into the first job's context. Exit status. */
static int load_all(struct uk_job *job, struct uk_program **program, const struct uk_arguments *a) {
    for (int i = 0; i < a->positionals; i++) {
        struct uk_arguments one = *a;
        struct uk_job next = {.context = job->context, .options = job->options};
        one.positional = a->positional + i;
        one.programs = a->positionals;
        int status = uk_job_load(&next, &one);
        program[i] = next.program;
        free(next.text);
        free(next.steps);
        job->parse_time += next.parse_time;
        if (status)
            return status;
    }
    for (int i = 0; i < a->bindings; i++)
        if (!a->binding[i].is_used)
            return no_size(program, a->positionals, a->binding[i].name);
    return UK_EXIT_OK;
}

/* Prints on standard error, because standard output may be the compiled code. */
static void print_times(const struct uk_job *job) {
    double milliseconds, sum = 1e3 * job->parse_time;
    const char *name;
    fprintf(stderr, "compiled in parse %.1f", 1e3 * job->parse_time);
    for (int i = 0; (name = uk_context_time(job->context, i, &milliseconds)); i++) {
        fprintf(stderr, ", %s %.1f", name, milliseconds);
        sum += milliseconds;
    }
    fprintf(stderr, ": %.1f ms\n", sum);
}

static int emit(struct uk_job *job, struct uk_program **program, const struct uk_arguments *a,
                enum uk_emit what) {
    char *bytes = NULL;
    size_t length = 0;
    int status = load_all(job, program, a);
    if (status)
        return status;
    enum uk_status emitted = uk_emit_programs(program, a->positionals, &job->options, what, &bytes, &length);
    if (!emitted)
        uk_job_notes(job);
    status = emitted ? uk_job_failed(job, emitted) : uk_write_output(a->out, bytes, length);
    if (!status && a->time)
        print_times(job);
    uk_text_free(bytes);
    return status;
}

int uk_command_compile(const struct uk_arguments *a) {
    int what, status = find_stage(a, &what);
    if (!status)
        status = check_options(a);
    struct uk_job job;
    if (status)
        return status;
    struct uk_program **program = calloc((size_t)a->positionals, sizeof *program);
    status = program ? uk_job_prepare(&job, a) : uk_complain(UK_EXIT_WRONG, "out of memory");
    if (!status) {
        job.options.workspace_argument = a->workspace && !strcmp(a->workspace, "argument");
        status = emit(&job, program, a, (enum uk_emit)what);
    }
    for (int i = 0; program && i < a->positionals; i++)
        uk_program_destroy(program[i]);
    if (program)
        uk_job_end(&job);
    free(program);
    return status;
}
