/* SPDX-License-Identifier: Apache-2.0 */
/* uk kernels and uk show: lists the registry, and shows a kernel in each of its forms. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "file.h"
#include "program.h"
#include "show.h"
#include "uk.h"
#include "remote/remote.h"

/* UK_OK if the kernel can be called: by the target's code or, without a target, in this process. */
static enum uk_status usable(const struct uk_kernel *k, struct uk_context *c, const char *target,
                             char *lacking, size_t size) {
    lacking[0] = 0;
    if (target)
        return uk_kernel_fits(c, k, target, lacking, size);
    if (!uk_kernel_function(k))
        snprintf(lacking, size, "%s", uk_kernel_arch(k));
    else
        uk_cpu_lacks(uk_kernel_features(k), lacking, size);
    return uk_kernel_runs_here(k) ? UK_OK : UK_UNSUPPORTED;
}

/* Prints a kernel's row. `share` of the FMA peak: 0 if the row has no FMAs. */
static void print_kernel(const struct uk_kernel *k, bool yes, const char *lacking, double share) {
    char tile[32], counts[48], bound[16] = "-";

    snprintf(tile, sizeof tile, "%dx%d", uk_kernel_mr(k), uk_kernel_nr(k));
    snprintf(counts, sizeof counts, "%g/%g/%g", uk_kernel_fma(k), uk_kernel_loads(k), uk_kernel_other(k));
    if (yes && share > 0)
        snprintf(bound, sizeof bound, "%.0f %%", 100 * share);
    printf("%-34s %-14s %-7s %-10s %-8s %18s %7s  %s%s\n", uk_kernel_symbol(k), uk_kernel_op(k), tile,
           uk_kernel_isa(k), uk_kernel_impl(k), counts, bound, yes ? "yes" : "no: ", lacking);
}

/* True if the kernel's operation has this name, or is a variant of it with a suffix after '_': sgemm,
 * sgemm_ra. */
static bool is_of_operation(const struct uk_kernel *k, const char *operation) {
    const size_t n = strlen(operation);
    const char *op = uk_kernel_op(k);

    return !strncmp(op, operation, n) && (!op[n] || op[n] == '_');
}

static bool is_listed(const struct uk_kernel *k, const struct uk_arguments *a) {
    return (!a->positionals || is_of_operation(k, a->positional[0])) &&
           (!a->isa || !strcmp(uk_kernel_isa(k), a->isa));
}

/* Refuses a filter that no kernel matches, and says which of its two words no kernel has. Exit status. */
static int check_filter(const struct uk_arguments *a) {
    const char *operation = a->positionals ? a->positional[0] : NULL;
    struct uk_closest_name op = {.word = operation ? operation : ""}, isa = {.word = a->isa ? a->isa : ""};
    bool has_op = !operation, has_isa = !a->isa;

    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);

        if (is_listed(k, a))
            return UK_EXIT_OK;
        has_op = has_op || is_of_operation(k, operation);
        has_isa = has_isa || !strcmp(uk_kernel_isa(k), a->isa);
        uk_consider_name(&op, uk_kernel_op(k));
        uk_consider_name(&isa, uk_kernel_isa(k));
    }
    if (has_op && has_isa)
        return uk_complain(UK_EXIT_USAGE, "no kernel of '%s' has the instruction set '%s'; leave out --isa",
                           operation, a->isa);
    const struct uk_closest_name *near = has_op ? &isa : &op;
    return uk_complain(UK_EXIT_USAGE, "unknown %s '%s'%s%s%s 'uk kernels' lists them",
                       has_op ? "instruction set" : "operation", near->word,
                       near->name ? "; did you mean '" : ";", near->name ? near->name : "",
                       near->name ? "'?" : "");
}

static int list_kernels(const struct uk_job *job, const struct uk_arguments *a, const char *target) {
    bool is_first = true;

    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);
        char lacking[64];
        double share = 0;
        if (!is_listed(k, a))
            continue;
        enum uk_status s = usable(k, job->context, target, lacking, sizeof lacking);
        const bool yes = !s;

        if (yes)
            s = uk_kernel_peak_share(job->context, k, target, &share);
        if (s && s != UK_UNSUPPORTED)
            return uk_job_failed(job, s);
        if (is_first)
            printf("%-34s %-14s %-7s %-10s %-8s %18s %7s  %s %s\n", "symbol", "op", "tile", "isa", "impl",
                   "fma/loads/other", "bound", target ? "on" : "runs", target ? target : "here");
        is_first = false;
        print_kernel(k, yes, lacking, share);
    }
    puts("\nfma/loads/other: vector instructions per step of k (per call without k). bound: the share of the "
         "FMA peak\n"
         "that they allow, by the FMAs, loads and instructions that the target issues a cycle.");
    return UK_EXIT_OK;
}

/* Warns about environment variables that the libraries, which never print, ignore. */
static void warn_of_environment(void) {
    const char *message, *threads = getenv("UK_NUM_THREADS");
    char *end;
    const long n = threads ? strtol(threads, &end, 10) : 0;

    if (uk_cpu_status(&message))
        fprintf(stderr, "uk: warning: %s; only generic kernels run\n", message);
    else if (*message)
        fprintf(stderr, "uk: %s\n", message);
    if (threads && (end == threads || *end || n < 1 || n > 1024))
        fprintf(stderr,
                "uk: warning: UK_NUM_THREADS=%.40s is not a number from 1 to 1024; unset it or give one: %d "
                "threads, the default, are used\n",
                threads, uk_num_threads());
}

/* Prints the facts of the board and chooses the target to list kernels for. Exit status. */
static int describe_board(const struct uk_board *b, const char **target) {
    static char text[256];

    if (!*target && !(*target = uk_board_target(b, text, sizeof text)))
        return uk_complain(UK_EXIT_WRONG, "--remote=%s: no target is for its CPU, %s", b->text, b->machine);
    printf("%s: %s, %s: --target=%s\n\n", b->text, *b->cpu ? b->cpu : "a CPU without a name", b->machine,
           *target);
    return UK_EXIT_OK;
}

int uk_command_kernels(const struct uk_arguments *a) {
    struct uk_job job = {.context = uk_context_create()};
    const char *target = a->target;
    int status = check_filter(a);

    if (!job.context)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    if (status)
        ; /* already reported */
    else if (uk_board_in_use())
        status = describe_board(uk_board_in_use(), &target);
    else
        warn_of_environment();
    if (!status)
        status = list_kernels(&job, a, target);
    uk_job_end(&job);
    return status;
}

const struct uk_kernel *uk_kernel_named(const char *name) {
    const struct uk_kernel *k = uk_kernel_find(name);
    if (k)
        return k;
    struct uk_closest_name near = {.word = name};
    for (int i = 0; i < uk_kernel_count(); i++)
        uk_consider_name(&near, uk_kernel_symbol(uk_kernel_at(i)));
    if (near.name)
        uk_complain(0, "unknown kernel '%s'; did you mean '%s'? 'uk kernels' lists them", name, near.name);
    else
        uk_complain(0, "unknown kernel '%s'; 'uk kernels' lists them", name);
    return NULL;
}

static int show_doc(const struct uk_kernel *k, const char *out) {
    for (const struct uk_kernel_doc *d = uk_kernel_docs; d->symbol; d++)
        if (!strcmp(d->symbol, uk_kernel_symbol(k)))
            return uk_write_output(out, d->text, strlen(d->text));
    return uk_complain(UK_EXIT_WRONG, "%s: this build has no documentation of it", uk_kernel_symbol(k));
}

static int show_declaration(const struct uk_kernel *k, const char *out) {
    size_t length = uk_kernel_declaration(k, NULL, 0);
    char *text = malloc(length + 1);
    if (!text)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    uk_kernel_declaration(k, text, length + 1);
    int status = uk_write_output(out, text, length);
    free(text);
    return status;
}

static int show_code(const struct uk_kernel *k, const struct uk_arguments *a, enum uk_emit what) {
    struct uk_job job = {.context = uk_context_create()};
    char *bytes = NULL;
    size_t length = 0;
    if (!job.context)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    enum uk_status emitted = uk_kernel_emit(job.context, k, a->target, what, &bytes, &length);
    int status = emitted ? uk_job_failed(&job, emitted) : uk_write_output(a->out, bytes, length);
    uk_text_free(bytes);
    uk_job_end(&job);
    return status;
}

int uk_command_show(const struct uk_arguments *a) {
    const struct uk_kernel *k = uk_kernel_named(a->positional[0]);
    if (!k)
        return UK_EXIT_USAGE;
    if (a->target && (!a->form || !strcmp(a->form, "doc") || !strcmp(a->form, "declaration")))
        return uk_complain(UK_EXIT_USAGE, "--target is for --asm, --llvm and --bitcode; leave it out");
    if (!a->form || !strcmp(a->form, "doc"))
        return show_doc(k, a->out);
    if (!strcmp(a->form, "declaration"))
        return show_declaration(k, a->out);
    if (!strcmp(a->form, "asm"))
        return show_code(k, a, UK_EMIT_ASM);
    if (!strcmp(a->form, "llvm"))
        return show_code(k, a, UK_EMIT_LLVM);
    if (!a->out)
        return uk_complain(UK_EXIT_USAGE,
                           "refusing to write bitcode to standard output; use -o FILE, or --llvm for text");
    return show_code(k, a, UK_EMIT_LINKED);
}
