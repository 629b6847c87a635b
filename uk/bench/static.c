/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uk bench --static: analyzes a kernel's inner loop with llvm-mca, for cores that need not be present.
 *
 * The loop is found in the kernel's assembly: of the backward jumps that enclose no other, the one with the
 * most multiply-adds, or instructions if no loop has any. This is the loop of whole tiles, because edge tiles
 * have fewer rows and remainders of k fewer steps. The bound is the time that the same model gives for the
 * loop's multiply-adds alone.
 *
 * Limits of the models:
 *
 * - They ignore caches.
 * - LLVM 19 models Cortex-A76 as a Cortex-A57, with one 128-bit FMA per cycle instead of two.
 * - Its in-order cores (A53, A55) also retire in order, so a load after an FMA waits for it, which hardware
 *   does not do. For these, compare loops only with each other.
 */
#define _GNU_SOURCE /* mkostemp, environ */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "benchmarks.h"
#include "gpu_run.h"
#include "program.h"
#include "show.h"
#include "target/target.h"

extern char **environ;

enum { ITERATIONS = 100, LINES = 8192 };

/* An instruction or a label of the assembly. */
struct line {
    char *text;      /* without surrounding blanks */
    bool label;      /* the line defines the label `text` */
    int target;      /* line of a jump's label; -1: not a jump */
    bool multiplies; /* contains vector multiply-adds */
};

struct code {
    const struct uk_assembly *rules;
    struct line line[LINES];
    int lines;
};

struct loop {
    int first, last, multiplies, instructions;
};

/* ---- the assembly ---- */

static bool begins_with(const char *text, const char *const beginnings[]) {
    for (; *beginnings; beginnings++)
        if (!strncmp(text, *beginnings, strlen(*beginnings)))
            return true;
    return false;
}

static void add_line(struct code *c, char *text, bool label) {
    if (c->lines < LINES)
        c->line[c->lines++] = (struct line){.text = text,
                                            .label = label,
                                            .target = -1,
                                            .multiplies = !label && begins_with(text, c->rules->multiplies)};
}

/* Splits the text into lines, in place. */
static void split(struct code *c, char *text) {
    for (char *rest = text, *s; (s = strsep(&rest, "\n;"));) {
        char *end = strstr(s, c->rules->comment);

        /* On ARM and AArch64 `#` begins numbers, on x86 comments; hence the architecture's rule. */
        if (end)
            *end = 0;
        for (;;) {
            s += strspn(s, " \t");
            const size_t name = strcspn(s, " \t:");

            if (!name || s[name] != ':')
                break;
            s[name] = 0;
            add_line(c, s, true);
            s += name + 1;
        }
        for (size_t n = strlen(s); n && strchr(" \t\r", s[n - 1]);)
            s[--n] = 0;
        if (*s && *s != '.')
            add_line(c, s, false);
    }
}

/* Line of the label that the last word of line i names; -1: none. */
static int label_line(const struct code *c, int i) {
    const char *name = c->line[i].text + strlen(c->line[i].text);

    while (name > c->line[i].text && !strchr(" \t,", name[-1]))
        name--;
    const size_t digits = strspn(name, "0123456789");
    const bool local = digits && (name[digits] == 'b' || name[digits] == 'f') && !name[digits + 1];
    const size_t length = local ? digits : strlen(name);
    const int step = local && name[digits] == 'b' ? -1 : 1;

    for (int j = local ? i : 0; j >= 0 && j < c->lines; j += step)
        if (c->line[j].label && strlen(c->line[j].text) == length && !strncmp(c->line[j].text, name, length))
            return j;
    return -1;
}

static struct loop measure_loop(const struct code *c, int first, int last) {
    struct loop l = {first, last, 0, 0};

    for (int i = first; i <= last; i++) {
        l.instructions += !c->line[i].label;
        l.multiplies += c->line[i].multiplies;
    }
    return l;
}

/* True if first..last contains another backward jump to a place inside, or a return. In the latter case the
 * jump goes to a shared exit, not to the start of a loop. */
static bool is_no_inner_loop(const struct code *c, int first, int last) {
    static const char *const ends[] = {"ret", "bx", NULL};

    for (int i = first; i <= last; i++)
        if ((!c->line[i].label && begins_with(c->line[i].text, ends)) ||
            (c->line[i].target >= first && c->line[i].target <= i &&
             !(c->line[i].target == first && i == last)))
            return true;
    return false;
}

/* The inner loop of whole tiles; no instructions: there is none. */
static struct loop find_loop(struct code *c) {
    struct loop best = {0, 0, 0, 0};

    for (int i = 0; i < c->lines; i++)
        if (!c->line[i].label && begins_with(c->line[i].text, c->rules->jumps))
            c->line[i].target = label_line(c, i);
    for (int i = 0; i < c->lines; i++) {
        const int first = c->line[i].target;

        if (first < 0 || first > i || is_no_inner_loop(c, first, i))
            continue;
        const struct loop l = measure_loop(c, first, i);

        if (l.multiplies > best.multiplies ||
            (l.multiplies == best.multiplies && l.instructions > best.instructions))
            best = l;
    }
    return best;
}

/* ---- llvm-mca ---- */

/* Writes the loop, or only its multiply-adds, as input of llvm-mca. Jumps get a label that exists. */
static bool write_loop(FILE *f, const struct code *c, const struct loop *l, bool all) {
    fputs(".Lturn:\n", f);
    for (int i = l->first; i <= l->last; i++) {
        const struct line *line = &c->line[i];
        const int name = (int)(strlen(line->text));
        int cut = name;

        if (line->label || !(all || line->multiplies))
            continue;
        if (line->target >= 0) {
            while (cut > 0 && !strchr(" \t,", line->text[cut - 1]))
                cut--;
            fprintf(f, "%.*s.Lturn\n", cut, line->text);
        } else {
            fprintf(f, "%s\n", line->text);
        }
    }
    return !fflush(f) && !ferror(f);
}

static const char *mca_path(void) {
    const char *path = getenv("UK_LLVM_MCA");

    return path && *path ? path : UK_LLVM_MCA_PATH;
}

/* Converts features such as "avx2,fma" to LLVM's -mattr. */
static void attributes(const struct uk_kernel *k, char *out, size_t size) {
    const size_t n = (size_t)snprintf(out, size, "-mattr=");

    uk_llvm_features(uk_arch_of(k), uk_kernel_features(k), out + n, size - n);
}

/* Runs a program with these standard streams. Returns 0 or an errno value. */
static int spawn(char *const argv[], FILE *input, FILE *out, int *result) {
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int error = posix_spawn_file_actions_init(&actions);

    if (error)
        return error;
    rewind(input);
    error = posix_spawn_file_actions_adddup2(&actions, fileno(input), 0);
    for (int i = 1; i < 3 && !error; i++)
        error = posix_spawn_file_actions_adddup2(&actions, fileno(out), i);
    if (!error)
        error = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (!error && waitpid(pid, result, 0) < 0)
        error = errno == EINTR ? 0 : errno;
    rewind(out);
    return error;
}

/* Cycles per iteration; 0 if the core's model lacks an instruction. Exit status. */
static int run_mca(const struct uk_kernel *k, const char *core, FILE *input, double *cycles) {
    char path[512], triple[64], cpu[64], iterations[32], mattr[256], line[256];
    char *argv[] = {path, triple, cpu, iterations, mattr, NULL};
    FILE *out = tmpfile();
    int result = 0, error = out ? 0 : errno;

    *cycles = 0;
    snprintf(path, sizeof path, "%s", mca_path());
    snprintf(triple, sizeof triple, "-mtriple=%s", uk_arch_of(k)->triple);
    snprintf(cpu, sizeof cpu, "-mcpu=%s", core);
    snprintf(iterations, sizeof iterations, "-iterations=%d", ITERATIONS);
    attributes(k, mattr, sizeof mattr);
    if (!strcmp(uk_kernel_arch(k), "x86_64"))
        argv[4] = NULL; /* no -mattr: its cores have all features */
    if (!error)
        error = spawn(argv, input, out, &result);
    while (!error && !result && fgets(line, sizeof line, out))
        if (!strncmp(line, "Total Cycles:", 13))
            *cycles = strtod(line + 13, NULL) / ITERATIONS;
    if (out)
        fclose(out);
    if (error)
        return uk_complain(UK_EXIT_WRONG,
                           "%s: %s; uk bench --static needs llvm-mca, which the package llvm-" UK_LLVM
                           " has: install it, or set UK_LLVM_MCA to its path",
                           mca_path(), strerror(error));
    return UK_EXIT_OK;
}

static int cycles_of(const struct uk_kernel *k, const char *core, const struct code *c, const struct loop *l,
                     bool all, double *cycles) {
    FILE *input = tmpfile();
    int status;

    *cycles = 0;
    if (!input || !write_loop(input, c, l, all))
        status = uk_complain(UK_EXIT_WRONG, "temporary file: %s", strerror(errno));
    else
        status = run_mca(k, core, input, cycles);
    if (input)
        fclose(input);
    return status;
}

/* ---- the table ---- */

/* Prints a row per core; `only` is the single core to print, or NULL. */
static int print_rows(const struct uk_kernel *k, const struct code *c, const struct loop *l,
                      const char *only) {
    const double steps = uk_kernel_fma(k) > 0 && l->multiplies ? l->multiplies / uk_kernel_fma(k) : 1;
    int status = UK_EXIT_OK;

    for (const char *const *core = c->rules->cores; *core && !status; core++) {
        double whole, least = 0;

        if (only && strcmp(only, *core))
            continue;
        status = cycles_of(k, *core, c, l, true, &whole);
        if (!status && whole > 0 && l->multiplies)
            status = cycles_of(k, *core, c, l, false, &least);
        if (status)
            break;
        printf("%-34s %-15s ", uk_kernel_symbol(k), *core);
        if (whole <= 0)
            printf("%9s  LLVM does not model this core, or not all instructions of the loop\n", "-");
        else if (least <= 0)
            printf("%9.2f %9s %7s %10s\n", whole, "-", "-", "-");
        else
            printf("%9.4g %9.4g %5.0f %% %8.1f %%\n", whole / steps, least / steps, 100 * least / whole,
                   100.0 * l->multiplies / l->instructions);
    }
    return status;
}

/* True if the kernel uses a feature that LLVM does not know, so that no model has it; returns the feature. */
static bool is_unknown_to_llvm(const struct uk_kernel *k, const char **feature, size_t *length) {
    for (*feature = uk_kernel_features(k); **feature; *feature += *length, *feature += **feature == ',') {
        *length = strcspn(*feature, ",");
        if (uk_is_private(uk_arch_of(k), *feature, *length))
            return true;
    }
    return false;
}

static int bench_static(struct uk_job *job, const struct uk_kernel *k, const char *only, bool named) {
    char *text = NULL;
    const char *feature;
    size_t length;

    if (uk_arch_of(k)->is_device)
        return named ? uk_complain(UK_EXIT_USAGE,
                                   "%s: LLVM does not model the memory of GPUs; use --target=amdgcn-gfx90a, "
                                   "for instance, to count in the simulator",
                                   uk_kernel_symbol(k))
                     : UK_EXIT_OK;
    if (is_unknown_to_llvm(k, &feature, &length))
        return named ? uk_complain(UK_EXIT_WRONG,
                                   "%s: LLVM has no model of the instructions of %.*s; use uk bench --target "
                                   "to count executed instructions",
                                   uk_kernel_symbol(k), (int)length, feature)
                     : UK_EXIT_OK;
    enum uk_status s = uk_kernel_emit(job->context, k, NULL, UK_EMIT_ASM, &text, &length);
    struct code *c = s ? NULL : calloc(1, sizeof *c);
    int status = UK_EXIT_OK;

    if (s) {
        status = uk_job_failed(job, s);
    } else if (!c) {
        status = uk_complain(UK_EXIT_WRONG, "out of memory");
    } else {
        c->rules = &uk_arch_of(k)->assembly;
        split(c, text);
        const struct loop l = find_loop(c);

        if (c->lines == LINES)
            status =
                uk_complain(UK_EXIT_WRONG, "%s: more than %d lines of assembly", uk_kernel_symbol(k), LINES);
        else if (l.instructions)
            status = print_rows(k, c, &l, only);
        else if (named)
            status = uk_complain(UK_EXIT_WRONG, "%s: its code has no loop to estimate", uk_kernel_symbol(k));
        fflush(stdout);
    }
    free(c);
    uk_text_free(text);
    return status;
}

/* Finds the core; NULL: no architecture has it. */
static const char *core_named(const char *name, const struct uk_arch **arch) {
    for (const struct uk_arch *const *a = uk_archs; name && *a; a++)
        for (const char *const *core = (*a)->assembly.cores; *core; core++)
            if (!strcmp(*core, name)) {
                *arch = *a;
                return *core;
            }
    return NULL;
}

/* True if the table includes the row; sets *status on errors. */
static bool is_asked_for(struct uk_job *job, const struct uk_kernel *k, const char *target, const char *core,
                         const struct uk_arch *arch, int *status) {
    char lacking[64];

    if (core)
        return uk_arch_of(k) == arch;
    if (!target)
        return true;
    const enum uk_status s = uk_kernel_fits(job->context, k, target, lacking, sizeof lacking);

    if (s && s != UK_UNSUPPORTED)
        *status = uk_job_failed(job, s);
    return !s;
}

int uk_bench_static(const struct uk_arguments *a) {
    if (uk_gpu_kind_of(a->target))
        return uk_bench_gpu(a);
    int status = UK_EXIT_OK;
    const struct uk_arch *arch = NULL;
    const char *core = core_named(a->target, &arch);
    struct uk_job job = {.context = uk_context_create()};

    if (!job.context)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (int i = 0; i < a->positionals && !status; i++)
        if (!uk_kernel_named(a->positional[i]))
            status = UK_EXIT_USAGE;
    if (!status)
        printf("%-34s %-15s %9s %9s %7s %10s\n", "kernel", "core", "cycles/k", "bound", "ratio", "fma share");
    for (int i = 0; i < (a->positionals ? a->positionals : uk_kernel_count()) && !status; i++) {
        const struct uk_kernel *k = a->positionals ? uk_kernel_find(a->positional[i]) : uk_kernel_at(i);

        if (is_asked_for(&job, k, a->target, core, arch, &status))
            status = bench_static(&job, k, core, a->positionals);
    }
    if (!status)
        puts("\ncycles/k: estimated cycles of a step of k, or of an iteration if the loop has no "
             "multiply-adds. bound: cycles of the\nmultiply-adds alone. fma share: percentage of "
             "multiply-adds among the loop's instructions.");
    uk_job_end(&job);
    return status;
}
