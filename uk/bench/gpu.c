/* SPDX-License-Identifier: Apache-2.0 */
/* uk bench --static for GPUs: runs programs in the simulator, and prints what gpu_kernel.c reports of their
 * kernels. */
#define _DEFAULT_SOURCE /* strsep */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "benchmarks.h"
#include "operands/data.h"
#include "gpu_counts.h"
#include "gpu_run.h"
#include "program.h"
#include "operands/shape.h"
#include "show.h"
#include "target/target.h"

enum { DEFAULT_SIZE = 512 };

/* ---- a program ---- */

struct gpu_report {
    struct uk_job job;
    struct uk_module *module;
    int64_t *sizes, *arguments;
    double *scalars;
    struct uk_data data;
};

/* True if an `assume P == (H + 1) / 2` determines the size. */
static bool is_assumed(const struct uk_program *p, const struct uk_var *v) {
    for (const struct uk_assume *a = p->assumes; a; a = a->next) {
        const struct uk_index *r = a->relation;

        if (r->op == UK_I_EQ &&
            ((r->a->op == UK_I_VAR && r->a->var == v) || (r->b->op == UK_I_VAR && r->b->var == v)))
            return true;
    }
    return false;
}

/* Sizes without a value become large enough for several blocks. */
static int choose_sizes(struct gpu_report *r, const struct uk_arguments *a) {
    struct uk_program *p = r->job.program;
    int count = 0;

    for (struct uk_var *v = p->sizes; v; v = v->next)
        if (v->is_extent && !v->defined && !v->has_default && !is_assumed(p, v)) {
            v->has_default = true;
            v->default_value = DEFAULT_SIZE;
        }
    const int status = uk_choose_sizes(p, a, r->sizes);

    for (const struct uk_var *v = p->sizes; v && !status; v = v->next) {
        if (!v->defined)
            r->arguments[count++] = r->sizes[v->number];
        printf("%s%s=%" PRId64, v == p->sizes ? "sizes: " : " ", v->name, r->sizes[v->number]);
    }
    if (p->sizes && !status)
        printf("\n");
    return status;
}

static int prepare(struct gpu_report *r, const struct uk_arguments *a) {
    struct uk_program *p = r->job.program;

    r->sizes = calloc((size_t)uk_program_sizes(p) + 1, sizeof *r->sizes);
    r->arguments = calloc((size_t)uk_program_sizes(p) + 1, sizeof *r->arguments);
    r->scalars = calloc((size_t)uk_program_scalars(p) + 1, sizeof *r->scalars);
    if (!r->sizes || !r->arguments || !r->scalars)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    int status = choose_sizes(r, a);

    return status ? status : uk_data_create(&r->data, p, r->sizes);
}

/* Runs the function in the simulator and counts. by_kind: executes only some blocks, as long as no launch
 * depends on what others would have computed. */
static int count(struct gpu_report *r, const struct uk_target *t, bool by_kind,
                 struct uk_gpu_counts *counts) {
    const struct uk_gpu_call call = {.module = r->module,
                                     .target = t->name,
                                     .kind = t->arch->gpu,
                                     .device = "sim",
                                     .sizes = r->arguments,
                                     .scalars = r->scalars,
                                     .data = &r->data,
                                     .quiet = !by_kind};
    enum uk_status returned = UK_OK;

    uk_data_integers(&r->data);
    uk_gpu_counts_begin(counts, t->name, by_kind);
    int status = uk_gpu_run(&call, &returned);
    const int ended = uk_gpu_counts_end(counts);

    if (!status)
        status = ended;
    if (!status && returned == UK_INVALID_SIZE &&
        uk_program_check_sizes(r->job.program, &r->job.options, r->sizes))
        status = uk_job_failed(&r->job, UK_INVALID_SIZE);
    if (!status && returned)
        status = uk_complain(UK_EXIT_WRONG, "%s: the function refused its arguments: %s",
                             r->job.program->name, uk_status_text(returned));
    return status;
}

static int run(struct gpu_report *r, const struct uk_target *t) {
    struct uk_gpu_counts counts;
    int status = count(r, t, true, &counts);

    if (!status && counts.is_by_data) {
        uk_gpu_counts_free(&counts);
        status = count(r, t, false, &counts);
    }
    for (int i = 0; i < counts.kernels && !status; i++)
        status = uk_bench_print_gpu_kernel(&counts.kernel[i], t);
    if (!status)
        uk_gpu_counts_print_share(&counts, r->job.program, r->sizes);
    uk_gpu_counts_free(&counts);
    return status;
}

/* ---- kernels: products as in the kernel's declaration, of any size, with an automatic schedule that uses
 * the kernel ---- */

/* Derives a program from the declaration: its tensors without layouts, and its statement. The text is no
 * longer than the declaration. */
static char *product_of(const struct uk_kernel *k) {
    static const char *const left_out[] = {"intrinsic", "assume", "compute", "reset", "update", "end"};
    const size_t length = uk_kernel_declaration(k, NULL, 0);
    char *text = malloc(length + 1), *declaration = malloc(length + 1), *at = text;

    if (text && declaration)
        uk_kernel_declaration(k, declaration, length + 1);
    for (char *rest = declaration, *line; text && (line = strsep(&rest, "\n"));) {
        size_t n = strlen(line += strspn(line, " "));
        bool kept = n;

        for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
            kept &= strncmp(line, left_out[i], strlen(left_out[i])) != 0;
        if (!strncmp(line, "tensor ", 7) && strchr(line, ']'))
            n = (size_t)(strchr(line, ']') - line) + 1;
        if (kept) {
            memcpy(at, line, n);
            at[n] = '\n';
            at += n + 1;
        }
    }
    if (text)
        *at = 0;
    free(declaration);
    return text;
}

/* True if --size sets the variable. */
static bool is_given(const struct uk_arguments *a, const struct uk_var *v) {
    for (int i = 0; i < a->bindings; i++)
        if (!strcmp(a->binding[i].name, v->name))
            return true;
    return false;
}

static bool is_used(struct uk_module *m, const struct uk_kernel *k) {
    for (int i = 0; uk_module_kernel(m, i); i++)
        if (!strcmp(uk_module_kernel(m, i), uk_kernel_symbol(k)))
            return true;
    return false;
}

/* Compiles the product with the automatic schedule for each kernel, until one uses this kernel. */
static int compile_with(struct gpu_report *r, const struct uk_arguments *a, const struct uk_kernel *k) {
    int cursor = 0;

    for (struct uk_var *v = r->job.program->sizes; v; v = v->next)
        if (!is_given(a, v)) {
            v->has_default = true;
            v->default_value = DEFAULT_SIZE;
        }
    for (;;) {
        char *steps;
        enum uk_status s = uk_schedule_start(r->job.program, &r->job.options, &cursor, &steps);

        if (s || !steps)
            return s ? uk_job_failed(&r->job, s) : UK_EXIT_OK;
        s = uk_program_schedule(r->job.program, "schedule", steps, strlen(steps));
        uk_text_free(steps);
        if (!s)
            s = uk_compile(r->job.program, &r->job.options, &r->module);
        if (s)
            return uk_job_failed(&r->job, s);
        if (is_used(r->module, k))
            return UK_EXIT_OK;
        uk_module_destroy(r->module);
        r->module = NULL;
    }
}

static int begin_kernel(struct gpu_report *r, const struct uk_arguments *a, const struct uk_kernel *k) {
    char lacking[64];
    int status = uk_job_prepare(&r->job, a);
    const enum uk_status fits =
        status ? UK_OK : uk_kernel_fits(r->job.context, k, a->target, lacking, sizeof lacking);

    if (status || fits)
        return status ? status : uk_job_failed(&r->job, fits);
    if (!(r->job.text = product_of(k)))
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    r->job.length = strlen(r->job.text);
    status = uk_job_parse(&r->job, a);
    if (!status)
        status = compile_with(r, a, k);
    if (!status && !r->module)
        printf("%s: no automatic schedule for %s uses it; give a program whose schedule does\n",
               uk_kernel_symbol(k), a->target);
    for (struct uk_var *v = status ? NULL : r->job.program->sizes; v; v = v->next)
        v->has_default = is_given(a, v);
    return status;
}

static int begin_program(struct gpu_report *r, const struct uk_arguments *a) {
    const int status = uk_job_begin(&r->job, a);
    const enum uk_status s = status ? UK_OK : uk_compile(r->job.program, &r->job.options, &r->module);

    if (!status && !s)
        uk_job_notes(&r->job);
    return s ? uk_job_failed(&r->job, s) : status;
}

/* ---- the command ---- */

static int report(const struct uk_arguments *a, const struct uk_target *t, const char *name,
                  const struct uk_kernel *k) {
    struct gpu_report r = {.module = NULL};
    struct uk_arguments one = *a;

    one.positional = &name;
    one.positionals = 1;
    one.target = t->name;
    int status = k ? begin_kernel(&r, &one, k) : begin_program(&r, &one);

    if (!status && r.module)
        status = prepare(&r, &one);
    if (!status && r.module)
        status = run(&r, t);
    uk_data_free(&r.data);
    uk_module_destroy(r.module);
    uk_job_end(&r.job);
    free(r.sizes);
    free(r.arguments);
    free(r.scalars);
    return status;
}

static int report_all(const struct uk_arguments *a, const struct uk_target *t) {
    int status = UK_EXIT_OK;
    struct uk_context *c = uk_context_create();
    char lacking[64];

    for (int i = 0; i < uk_kernel_count() && !status && c; i++) {
        const struct uk_kernel *k = uk_kernel_at(i);

        if (!uk_kernel_fits(c, k, t->name, lacking, sizeof lacking))
            status = report(a, t, uk_kernel_symbol(k), k);
    }
    if (!c)
        status = uk_complain(UK_EXIT_WRONG, "out of memory");
    uk_context_destroy(c);
    return status;
}

int uk_bench_gpu(const struct uk_arguments *a) {
    const struct uk_target *t = uk_targets;
    int status = UK_EXIT_OK;

    if (!uk_gpu_is_simulated(a->target))
        return uk_complain(
            UK_EXIT_USAGE,
            "uk bench --static: the simulator has no %s; use an AMD GPU's target, for instance amdgcn-gfx90a",
            a->target);
    while (strncmp(t->name, a->target, strlen(t->name)))
        t++;
    for (int i = 0; i < a->positionals && !status; i++) {
        const char *name = a->positional[i];
        /* File names of programs end in .uk or contain a folder; names of kernels contain neither a dot nor a
         * slash. */
        const bool is_name = !strncmp(name, "uk_", 3) && !strpbrk(name, "./");
        const struct uk_kernel *k = is_name ? uk_kernel_named(name) : NULL;

        status = is_name && !k ? UK_EXIT_USAGE : report(a, t, name, k);
    }
    if (!a->positionals)
        status = report_all(a, t);
    if (!status)
        puts(
            "\nInstructions of each unit in an iteration of the loop, for one wave. FMA %: percentage of the "
            "vector instructions. LDS\ncycles are those of the compute unit, as its SIMDs share the LDS.");
    return status;
}
