/* SPDX-License-Identifier: Apache-2.0 */
/* uk run: compiles a program, runs it on generated data, and on request checks and times it. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "operands/data.h"
#include "gpu_counts.h"
#include "gpu_run.h"
#include "program.h"
#include "progress.h"
#include "operands/shape.h"
#include "time_program.h"
#include "operands/versions.h"
#include "emulate/emulate.h"
#include "remote/remote.h"

/* True unless a note says that imported machine code is called instead of inlined. */
static bool are_inlined(const struct uk_job *job) {
    return !strstr(uk_context_notes(job->context), "called, not inlined");
}

static void print_kernels(const struct uk_job *job, const struct uk_module *m) {
    const char *target = job->options.target ? job->options.target : "native";
    printf("%s for %s:", job->program->name, target);
    if (!uk_module_kernel(m, 0))
        printf(" no kernel");
    for (int i = 0; uk_module_kernel(m, i); i++)
        printf("%s %s", i ? "," : "", uk_module_kernel(m, i));
    printf("%s\n", !uk_module_kernel(m, 0) ? ""
                   : are_inlined(job)      ? " (inlined: 0 calls left)"
                                           : " (not all inlined, see the notes)");
}

static void print_sizes(FILE *to, const struct uk_program *p, const int64_t *sizes) {
    for (const struct uk_var *v = p->sizes; v; v = v->next)
        fprintf(to, "%s%s%s=%" PRId64, v == p->sizes ? "sizes: " : " ", v->name,
                v->defined ? " (constant)" : "", sizes[v->number]);
    if (p->sizes)
        fprintf(to, "\n");
}

/* Prints the first elements and the sum of each result, enough to see that two runs agree. */
static void print_results(const struct uk_data *d) {
    enum { SHOWN = 6 };
    for (int t = 0; t < d->count; t++) {
        const struct uk_array *a = &d->array[t];
        double sum = 0;
        if (!a->tensor->is_written)
            continue;
        for (size_t i = 0; i < a->elements; i++)
            sum += uk_data_value(a, i);
        printf("%s %s, %zu elements:", a->tensor->name, uk_type_name(a->tensor->type), a->elements);
        for (size_t i = 0; i < a->elements && i < SHOWN; i++)
            printf(" %g", uk_data_value(a, i));
        printf("%s, sum %.17g\n", a->elements > SHOWN ? " ..." : "", sum);
    }
}

/* True if the name, of n characters, is that of a kernel in the registry or of the program's own. */
static bool is_kernel(const struct uk_program *p, const char *name, size_t n) {
    char symbol[128];
    snprintf(symbol, sizeof symbol, "%.*s", (int)n, name);
    for (const struct uk_intrinsic *in = p->intrinsics; in; in = in->next)
        if (!strcmp(in->name, symbol))
            return true;
    return uk_kernel_find(symbol);
}

/* Prints the kernels and the emulator or board, without a module: kernels are the functions that the LLVM IR
 * declares before they are linked in. */
static int print_emulation(struct uk_job *job, const struct uk_emulation *e) {
    static const char declaration[] = "\ndeclare ";
    const char *between = "";
    char *text, where[300];
    size_t length;
    enum uk_status s = uk_emit(job->program, &job->options, UK_EMIT_LLVM, &text, &length);
    if (s)
        return uk_job_failed(job, s);
    printf("%s for %s:", job->program->name, job->options.target);
    for (const char *d = text; (d = strstr(d, declaration)); d++) {
        const char *name = d + strcspn(d, "@(");
        size_t n = *name == '@' ? strcspn(++name, "(") : 0;
        if (!n || !is_kernel(job->program, name, n))
            continue;
        printf("%s %.*s", between, (int)n, name);
        between = ",";
    }
    uk_text_free(text);
    printf("%s, run %s\n",
           !*between          ? " no kernel"
           : are_inlined(job) ? " (inlined: 0 calls left)"
                              : " (not all inlined, see the notes)",
           uk_emulation_where(e, where, sizeof where));
    return UK_EXIT_OK;
}

struct run {
    struct uk_job job;
    struct uk_module *module;       /* NULL: code of another architecture */
    struct uk_emulation *emulation; /* runs code of another architecture */
    int64_t *sizes;                 /* values of all sizes, in order */
    double *scalars;
    struct uk_data data, expected;
    struct uk_gpu_call gpu; /* kind is NULL: a CPU */
};

/* Prints why the function refused its arguments; first the reason if sizes are at fault. Exit status. */
static int is_refused(const struct run *r, int status) {
    if (!status)
        return UK_EXIT_OK;
    if (status == UK_INVALID_SIZE && uk_program_check_sizes(r->job.program, &r->job.options, r->sizes))
        uk_job_failed(&r->job, UK_INVALID_SIZE);
    /* The interpreter has left a message. */
    if (r->module && status != UK_INVALID_SIZE && *uk_context_message(r->job.context))
        return uk_job_failed(&r->job, (enum uk_status)status);
    return uk_complain(UK_EXIT_WRONG, "%s: the function refused its arguments: %s", r->job.program->name,
                       uk_status_text((enum uk_status)status));
}

static int call_gpu(struct run *r, const struct uk_arguments *a, const int64_t *arguments,
                    enum uk_status *returned) {
    const bool counting = a->count || a->histogram;
    struct uk_gpu_counts counts = {.kernels = 0};

    r->gpu.module = r->module;
    r->gpu.target = r->job.options.target;
    r->gpu.sizes = arguments;
    r->gpu.scalars = r->scalars;
    r->gpu.data = &r->data;
    if (counting)
        uk_gpu_counts_begin(&counts, r->job.options.target, false);
    int status = uk_gpu_run(&r->gpu, returned);
    if (counting && !status)
        status = uk_gpu_counts_end(&counts);
    if (counting && !status)
        uk_gpu_counts_print(&counts, a->histogram);
    if (counting && !status)
        uk_gpu_counts_print_share(&counts, r->job.program, r->sizes);
    uk_gpu_counts_free(&counts);
    return status;
}

static int call(struct run *r, const struct uk_arguments *a) {
    int64_t *arguments = calloc((size_t)r->job.program->size_count + 1, sizeof *arguments);
    int count = 0;
    if (!arguments)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (const struct uk_var *v = r->job.program->sizes; v; v = v->next)
        if (!v->defined)
            arguments[count++] = r->sizes[v->number];
    enum uk_status returned;
    int status = UK_EXIT_OK;
    struct uk_operands operands = {.data = &r->data};
    if (r->gpu.kind) {
        status = call_gpu(r, a, arguments, &returned);
    } else {
        status = uk_operands_create(&operands, &r->data, r->module, arguments, &returned);
        if (!status && !returned)
            returned = (enum uk_status)uk_module_call(r->module, arguments, r->scalars, operands.origins);
    }
    uk_operands_free(&operands);
    free(arguments);
    return status ? status : is_refused(r, (int)returned);
}

/* Multiply-adds in sums of products, to compare the instruction count with. */
static double multiply_adds(const struct uk_program *p, const int64_t *sizes) {
    double n = 0;

    for (const struct uk_statement *s = p->statements; s; s = s->next)
        n += s->reduce == UK_REDUCE_SUM ? uk_terms(s, sizes) : 0;
    return n;
}

static int print_counts(const struct run *r, const struct uk_emulated_counts *counts, bool histogram) {
    const double n = multiply_adds(r->job.program, r->sizes);

    printf("count: %" PRId64 " instructions", counts->instructions);
    if (n > 0)
        printf(", %.0f multiply-adds, %.4f instructions for each", n, (double)counts->instructions / n);
    printf("\n");
    return histogram ? uk_counts_print(counts) : UK_EXIT_OK;
}

static int call_emulated(struct run *r, const struct uk_arguments *a) {
    const bool counting = a->count || a->histogram;
    struct uk_emulated_counts counts = {0};
    int32_t refused;
    uk_progress_begin(a->remote ? "running on the board"
                                : "running under an emulator, which is hundreds of times slower than a CPU");
    int status = counting
                     ? uk_emulation_count_run(r->emulation, r->job.program->name, &r->data, &refused, &counts)
                     : uk_emulation_run(r->emulation, &r->data, &refused);
    uk_progress_end();
    if (!a->time) {
        uk_emulation_end(r->emulation);
        r->emulation = NULL;
    }
    if (!status)
        status = is_refused(r, refused);
    if (!status && counting)
        status = print_counts(r, &counts, a->histogram);
    uk_counts_free(&counts);
    return status;
}

/* Times the function on a board, with random values. Exit status. */
static int time_on_board(struct run *r, const struct uk_arguments *a) {
    const bool on_gpu = r->gpu.kind;
    const struct uk_timing how = {
        .rounds = 15, .cooldown = (int)a->cooldown, .flops = uk_operations(r->job.program, r->sizes)};
    struct uk_board_times times;

    uk_data_random(&r->data);
    r->gpu.how = &how;
    r->gpu.times = &times;
    uk_progress_begin("measuring on the board");
    const int status = on_gpu ? call(r, a) : uk_emulation_time_run(r->emulation, &r->data, &how, &times);
    uk_progress_end();
    r->gpu.how = NULL;
    if (!status)
        uk_board_times_print(&times, &how, uk_traffic(r->job.program, r->sizes));
    return status;
}

/* Prints how results were compared: first those that must be equal, then each tensor with a tolerance. */
static void print_checked(const struct uk_data *d, const struct uk_tolerance *each) {
    bool any = false;

    for (int t = 0; t < d->count; t++) {
        if (!d->array[t].tensor->is_written || each[t].ulps > 0 || each[t].absolute > 0)
            continue;
        printf("%s of %s (%zu)", any ? "" : "check: equal to the interpreter's, every element",
               d->array[t].tensor->name, d->array[t].elements);
        any = true;
    }
    if (any)
        printf("\n");
    for (int t = 0; t < d->count; t++) {
        if (!d->array[t].tensor->is_written || !(each[t].ulps > 0 || each[t].absolute > 0))
            continue;
        if (isinf(each[t].absolute)) {
            printf("check: %s (%zu) cannot be compared, as it depends on integers rounded at a tie\n",
                   d->array[t].tensor->name, d->array[t].elements);
            continue;
        }
        printf("check: within ");
        if (each[t].ulps > 0)
            printf("%.0f roundings%s", each[t].ulps, each[t].absolute > 0 ? " and " : "");
        if (each[t].absolute > 0)
            printf("%.0f (integers rounded at a tie may differ)", each[t].absolute);
        printf(" of the interpreter's, every element of %s (%zu)\n", d->array[t].tensor->name,
               d->array[t].elements);
    }
}

/* Compares the results with the interpreter's. Prints how, unless `quiet`. */
static int check(struct run *r, bool quiet) {
    int status = uk_data_create(&r->expected, r->job.program, r->sizes);
    if (status)
        return status;
    uk_data_integers(&r->expected);
    uk_progress_begin("computing the expected values by the interpreter");
    enum uk_status interpreted =
        uk_program_interpret(r->job.program, r->sizes, r->scalars, r->expected.origins);
    uk_progress_end();
    if (interpreted)
        return uk_job_failed(&r->job, interpreted);
    struct uk_tolerance *each = uk_tolerances(r->job.program, r->sizes);
    if (!each)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    const bool equal = uk_data_equal(&r->data, &r->expected, r->sizes, each);
    if (equal && !quiet)
        print_checked(&r->data, each);
    free(each);
    return equal ? UK_EXIT_OK : UK_EXIT_WRONG;
}

/* Calls the function for these sizes, and compares the results. */
static int check_at(const struct run *r, const struct uk_arguments *a, int64_t *sizes) {
    struct uk_arguments quiet = *a;
    struct run other = *r;

    quiet.count = quiet.histogram = false;
    other.sizes = sizes;
    other.gpu.quiet = true;
    other.data = other.expected = (struct uk_data){0};
    int status = uk_data_create(&other.data, r->job.program, sizes);
    if (!status) {
        uk_data_integers(&other.data);
        status = call(&other, &quiet);
    }
    if (!status)
        status = check(&other, true);
    if (status) {
        fprintf(stderr, "that was another call, on one side of a condition; ");
        print_sizes(stderr, r->job.program, sizes);
    }
    uk_data_free(&other.expected);
    uk_data_free(&other.data);
    return status;
}

/* Checks the schedules for sizes on both sides of their conditions. */
static int check_versions(const struct run *r, const struct uk_arguments *a) {
    const struct uk_program *p = r->job.program;
    const int versions = uk_version_count(p);
    int calls[UK_MAX_VERSIONS + 1] = {0};
    struct uk_test_sizes points;
    int status = uk_test_sizes_find(&points, r->job.program, &r->job.options, r->sizes);

    for (int i = 0; i < points.count && !status; i++) {
        status = check_at(r, a, points.sizes[i]);
        calls[uk_version_taken(p, points.sizes[i])]++;
    }
    if (!status) {
        printf("check: equal for %d sets of sizes on both sides of the conditions; calls that took each "
               "schedule:",
               points.count);
        for (int i = 1; i <= versions; i++)
            printf("%s %d", i > 1 ? "," : "", calls[i]);
        printf("\n");
    }
    for (int i = 1; i <= versions && !status; i++)
        if (!calls[i])
            fprintf(stderr,
                    "note: schedule %d was not checked; give sizes near those for which it is taken\n", i);
    uk_test_sizes_free(&points);
    return status;
}

/* For the interpreter: makes the automatic schedule the program's own if there are constant tensors, because
 * its steps decide how these are packed. */
static enum uk_status keep_schedule(struct run *r) {
    struct uk_program *p = r->job.program;
    const struct uk_tensor *t = p->tensors;
    char *steps;
    size_t length;

    while (t && !t->is_constant)
        t = t->next;
    if (!t || p->steps || p->versions)
        return UK_OK;
    enum uk_status status = uk_emit(p, &r->job.options, UK_EMIT_SCHEDULE, &steps, &length);
    if (!status && length)
        status = uk_program_schedule(p, "automatic", steps, length);
    uk_text_free(steps);
    return status;
}

static int prepare(struct run *r, const struct uk_arguments *a) {
    int status = uk_job_begin(&r->job, a);
    if (status)
        return status;
    struct uk_program *p = r->job.program;
    r->sizes = calloc((size_t)uk_program_sizes(p) + 1, sizeof *r->sizes);
    r->scalars = calloc((size_t)uk_program_scalars(p) + 1, sizeof *r->scalars);
    if (!r->sizes || !r->scalars)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (int i = 0; i < uk_program_scalars(p); i++)
        r->scalars[i] = i + 2;
    if ((status = uk_choose_sizes(p, a, r->sizes)))
        return status;
    const bool interpret = r->job.options.interpret = a->device && !strcmp(a->device, "interp");
    r->gpu = (struct uk_gpu_call){.kind = interpret ? NULL : uk_gpu_kind_of(a->target),
                                  .device = a->count || a->histogram ? "sim" : a->device};
    if (uk_is_emulated(a->target) && !interpret) {
        status = uk_data_create(&r->data, p, r->sizes);
        return status ? status : uk_emulation_begin(&r->emulation, &r->job, r->sizes, r->scalars, &r->data);
    }
    if (!a->threads)
        r->job.options.threads = uk_num_threads();
    enum uk_status compiled = interpret ? keep_schedule(r) : UK_OK;
    if (!compiled)
        compiled = uk_compile(p, &r->job.options, &r->module);
    if (compiled)
        return uk_job_failed(&r->job, compiled);
    uk_job_notes(&r->job);
    return uk_data_create(&r->data, p, r->sizes);
}

static int check_options(const struct uk_arguments *a) {
    const bool interpret = a->device && !strcmp(a->device, "interp");
    const bool elsewhere = uk_is_emulated(a->target) || uk_gpu_kind_of(a->target);
    if (a->device && !interpret && !uk_gpu_kind_of(a->target))
        return uk_complain(
            UK_EXIT_USAGE,
            "--device=%s: target '%s' is not a GPU; use a GPU's --target, for instance amdgcn-gfx90a",
            a->device, a->target ? a->target : "native");
    if (a->time && interpret)
        return uk_complain(
            UK_EXIT_USAGE,
            "--time: --device=interp interprets, whose speed says nothing; leave one of them out");
    if (a->time && !a->remote && uk_gpu_kind_of(a->target))
        return uk_complain(UK_EXIT_USAGE,
                           "--time: uk does not time the GPU target %s here; leave it out, or use --remote",
                           a->target);
    if (a->time && !a->remote && elsewhere)
        return uk_complain(UK_EXIT_USAGE,
                           "--time: target %s runs under an emulator here, whose speed says nothing; use "
                           "--count, or uk bench --target=%s, which count instructions",
                           a->target, a->target);
    if (a->count_layers)
        return uk_complain(UK_EXIT_USAGE, "--count=layers: a program has no layers; use --count");
    if ((a->count || a->histogram) && (interpret || !elsewhere || (a->device && strcmp(a->device, "sim")) ||
                                       (uk_gpu_kind_of(a->target) && !uk_gpu_is_simulated(a->target))))
        return uk_complain(UK_EXIT_USAGE,
                           "%s needs a --target that an emulator or a simulator runs, for instance riscv64-p "
                           "or amdgcn-gfx90a; here --time measures",
                           a->count ? "--count" : "--histogram");
    return UK_EXIT_OK;
}

static int run(const struct uk_arguments *a) {
    struct run r = {0};
    char threads[32];
    int status = check_options(a);
    if (status)
        return status;
    /* The thread pool reads the environment once, at its first use. */
    snprintf(threads, sizeof threads, "%" PRId64, a->threads);
    if (a->threads)
        setenv("UK_NUM_THREADS", threads, 1);
    status = prepare(&r, a);
    if (!status) {
        uk_data_integers(&r.data);
        if (r.module)
            print_kernels(&r.job, r.module);
        else
            status = print_emulation(&r.job, r.emulation);
    }
    if (!status) {
        print_sizes(stdout, r.job.program, r.sizes);
        uk_version_print(r.job.program, r.sizes);
        status = r.module ? call(&r, a) : call_emulated(&r, a);
    }
    if (!status)
        print_results(&r.data);
    if (!status && a->check)
        status = check(&r, false);
    if (!status && a->check && r.job.program->versions && r.module)
        status = check_versions(&r, a);
    if (!status && a->time)
        status = a->remote ? time_on_board(&r, a)
                           : uk_time_program(&r.job, a, r.module, r.sizes, r.scalars, &r.data);
    uk_data_free(&r.expected);
    uk_data_free(&r.data);
    uk_module_destroy(r.module);
    uk_emulation_end(r.emulation);
    uk_job_end(&r.job);
    free(r.sizes);
    free(r.scalars);
    return status;
}

/* With --device=interp the interpreter runs the loops of the given target, by default those of the target
 * interp. */
int uk_command_run(const struct uk_arguments *a) {
    struct uk_arguments given = *a;

    if (a->device && !strcmp(a->device, "interp") && !a->target)
        given.target = a->device;
    return run(&given);
}
