/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs for another architecture, run here: the object is linked with a runner that has the C library of that
 * architecture in it, and qemu-user runs that. Operands go through a file that both map. This does not show how fast the
 * code would be.
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "target/target.h"
#include "emulate.h"

/* ---- the tools ---- */

static bool is_in_path(const char *program) {
    const char *path = getenv("PATH");
    char file[4096];

    for (size_t n; path && *path; path += n + (path[n] == ':')) {
        n = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)n, path, program);
        if (!access(file, X_OK))
            return true;
    }
    return false;
}

int uk_emulation_check(const char *target) {
    const struct uk_emulator *e = uk_emulator_of(target);

    if (!is_in_path(e->program))
        return uk_complain(UK_EXIT_WRONG,
                           "target %s: its code runs here under %s, which is not installed; install Debian's "
                           "qemu-user, or run the object that uk compile writes on such a machine",
                           target, e->program);
    if (access(UK_LLD, X_OK))
        return uk_complain(UK_EXIT_WRONG,
                           "target %s: there is no linker for it (%s); install Debian's lld-" UK_LLVM, target,
                           UK_LLD);
    if (access(e->libc, R_OK))
        return uk_complain(UK_EXIT_WRONG,
                           "target %s: there is no C library for it to link with (%s); install Debian's %s",
                           target, e->libc, e->libc_package);
    if (access(e->libgcc, R_OK))
        return uk_complain(UK_EXIT_WRONG,
                           "target %s: there is no library of the compiler's for it to link with (%s); "
                           "install Debian's %s",
                           target, e->libgcc, e->libgcc_package);
    return UK_EXIT_OK;
}

/* ---- the folder of a run ---- */

static const char *const files[] = {"program.o", "kernel.s", "runner.c", "runner",
                                    "data",      "count.so", "count"};
enum { OBJECT, ASSEMBLY, SOURCE, RUNNER, DATA, PLUGIN, COUNT, FILES };

struct uk_emulation {
    const struct uk_emulator *emulator;
    bool simulates; /* what the emulator lacks is linked in */
    const char *cpu;
    char folder[256], path[FILES][300];
    char *command[5]; /* of the runner without an argument */
};

static int make_folder(struct uk_emulation *e) {
    const char *where = getenv("TMPDIR");
    const int n = snprintf(e->folder, sizeof e->folder, "%s/uk-run-XXXXXX", where && *where ? where : "/tmp");

    uk_hold_signals();
    if (n < 0 || (size_t)n >= sizeof e->folder || !mkdtemp(e->folder)) {
        e->folder[0] = 0;
        uk_complain(0, "cannot make a folder in %s: %s", where && *where ? where : "/tmp", strerror(errno));
        uk_release_signals();
        return UK_EXIT_WRONG;
    }
    /* Clang, ended by a signal, leaves its files behind: there, they are found. */
    setenv("TMPDIR", e->folder, 1);
    for (int i = 0; i < FILES; i++)
        snprintf(e->path[i], sizeof e->path[i], "%s/%s", e->folder, files[i]);
    return UK_EXIT_OK;
}

/* With all that is in it. */
static void remove_folder(char *folder) {
    DIR *d = opendir(folder);

    for (struct dirent *entry; d && (entry = readdir(d));)
        unlinkat(dirfd(d), entry->d_name, 0);
    if (d)
        closedir(d);
    rmdir(folder);
    *strrchr(folder, '/') = 0;
    setenv("TMPDIR", folder, 1);
}

void uk_emulation_end(struct uk_emulation *e) {
    const bool made = e && e->folder[0];

    if (made)
        remove_folder(e->folder);
    free(e);
    if (made)
        uk_release_signals();
}

/* ---- operands ---- */

enum { HEAD = 64 }; /* the file begins with the function's status */

static size_t data_size(const struct uk_data *d) {
    size_t n = HEAD;

    for (int i = 0; i < d->count; i++)
        n += uk_data_room(&d->array[i]);
    return n;
}

/* Everything of the operands, guard bytes included, in a file of them alone: to it, or from it with the status. */
static int exchange(const struct uk_emulation *e, const struct uk_data *d, bool back, int32_t *status) {
    const char *path = e->path[DATA];
    FILE *f = fopen(path, back ? "rb" : "wb");
    char head[HEAD] = {0};
    bool good = f && (back ? fread(head, HEAD, 1, f) : fwrite(head, HEAD, 1, f)) == 1;

    for (int i = 0; i < d->count && good; i++) {
        char *memory = d->array[i].memory;
        const size_t n = uk_data_room(&d->array[i]);

        good = (back ? fread(memory, 1, n, f) : fwrite(memory, 1, n, f)) == n;
    }
    if (f && fclose(f))
        good = false;
    if (back)
        memcpy(status, head, sizeof *status);
    return good ? UK_EXIT_OK
                : uk_complain(UK_EXIT_WRONG, "%s: cannot %s: %s", path, back ? "read" : "write",
                              strerror(errno));
}

/* ---- the runner ---- */

/* Parallel loops run one index after the other: with threads of its own the emulator would show no more. */
const char uk_emulation_runtime[] =
    "void uk_parallel_for(void (*task)(void *, int64_t, int64_t), void *context, "
    "int64_t count);\n"
    "void uk_parallel_for(void (*task)(void *, int64_t, int64_t), void *context, "
    "int64_t count) {\n"
    "    for (int64_t i = 0; i < count; i++)\n"
    "        task(context, i, 0);\n"
    "}\n"
    "int uk_num_threads(void);\n"
    "int uk_num_threads(void) {\n"
    "    return 1;\n"
    "}\n";
static const char runner_main[] = "int main(int argc, char **argv) {\n"
                                  "    int file = argc == 2 ? open(argv[1], O_RDWR) : -1;\n";

static void put_scalar(struct uk_text *t, enum uk_type type, double value) {
    if (type == UK_F16 || type == UK_BF16)
        uk_put(t, "0x%04x", uk_half_bits(type, value));
    else
        uk_put(t, "%a", value);
}

/* Returns what comes before the next argument. */
static const char *put_sizes(struct uk_text *t, const struct uk_program *p, const int64_t *sizes) {
    const char *between = "";

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (!v->defined) {
            uk_put(t, "%sINT64_C(%" PRId64 ")", between, sizes[v->number]);
            between = ", ";
        }
    return between;
}

/* Constant tensors are packed there, as packed0 and so on; what refuses the sizes is the call's status. */
static void put_packing(struct uk_text *t, const struct uk_program *p, const int64_t *sizes,
                        const struct uk_data *d) {
    size_t at = HEAD;

    for (int i = 0; i < d->count; at += uk_data_room(&d->array[i++])) {
        const struct uk_array *a = &d->array[i];
        const char *name = a->tensor->name;
        const int align = a->tensor->align > 64 ? a->tensor->align : 64;

        if (!a->tensor->is_constant)
            continue;
        uk_put(t, "    int64_t bytes%d = %s_packed_%s(", i, p->name, name);
        put_sizes(t, p, sizes);
        uk_put(t,
               ");\n    void *packed%d = bytes%d < 0 ? 0 : aligned_alloc(%d, ((size_t)bytes%d + %d) / %d * "
               "%d);\n"
               "    if ((*(int32_t *)(void *)base = packed%d ? %s_pack_%s(",
               i, i, align, i, align, align, align, i, p->name, name);
        uk_put(t, "%s(void *)(base + %zu), packed%d) : %d))\n        return 0;\n", put_sizes(t, p, sizes),
               at + (size_t)((char *)a->origin - a->memory), i, UK_INVALID_SIZE);
    }
}

static void put_call(struct uk_text *t, const struct uk_program *p, const int64_t *sizes,
                     const double *scalars, const struct uk_data *d) {
    size_t at = HEAD;
    int k = 0;

    put_packing(t, p, sizes, d);
    uk_put(t, "    *(int32_t *)(void *)base = %s(", p->name);
    const char *between = put_sizes(t, p, sizes);
    for (const struct uk_scalar *s = p->scalars; s; s = s->next, between = ", ") {
        uk_put(t, "%s", between);
        put_scalar(t, s->type, scalars[k++]);
    }
    for (int i = 0; i < d->count; i++, between = ", ") {
        const struct uk_array *a = &d->array[i];

        if (a->tensor->is_constant)
            uk_put(t, "%spacked%d", between, i);
        else
            uk_put(t, "%s(void *)(base + %zu)", between, at + (size_t)((char *)a->origin - a->memory));
        at += uk_data_room(a);
    }
    uk_put(t, ");\n    return 0;\n}\n");
}

static int write_runner(const struct uk_emulation *e, struct uk_job *job, const int64_t *sizes,
                        const double *scalars, const struct uk_data *d) {
    struct uk_text t = {0};
    char *header;
    size_t length;
    const enum uk_status s = uk_emit(job->program, &job->options, UK_EMIT_HEADER, &header, &length);

    if (s)
        return uk_job_failed(job, s);
    uk_put(&t, "%s\n#include <fcntl.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <sys/mman.h>\n%s%s",
           header, uk_emulation_runtime, runner_main);
    uk_put(&t,
           "    char *base = mmap(NULL, %zuu, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);\n"
           "    if (base == MAP_FAILED) {\n        perror(\"runner: the operands\");\n        return 1;\n    "
           "}\n",
           data_size(d));
    put_call(&t, job->program, sizes, scalars, d);
    uk_text_free(header);
    const int status = t.failed ? uk_complain(UK_EXIT_WRONG, "out of memory")
                                : uk_write_output(e->path[SOURCE], t.text, t.length);

    free(t.text);
    return status;
}

enum { SIMULATION = 16 }; /* sources at most */

/* Into the folder of the run; the C files' paths go to argv. Exit status. */
static int write_simulation(const struct uk_emulation *e, char paths[SIMULATION][300], char **argv) {
    int status = UK_EXIT_OK;

    for (int i = 0; uk_rvp_sources[i].name && !status; i++) {
        const struct uk_source_file *f = &uk_rvp_sources[i];

        snprintf(paths[i], sizeof paths[i], "%s/%s", e->folder, f->name);
        status = uk_write_output(paths[i], f->text, strlen(f->text));
        if (strstr(f->name, ".c"))
            *argv++ = paths[i];
    }
    return status;
}

/* The runner of its source and of the object or assembly at that path. */
static int link_runner(const struct uk_emulation *e, const char *code) {
    char target[64], paths[SIMULATION][300];
    char *argv[10 + SIMULATION + 1] = {UK_CLANG,
                                       target,
                                       "-std=gnu17",
                                       "-O1",
                                       "-static",
                                       "--ld-path=" UK_LLD,
                                       "-o",
                                       (char *)e->path[RUNNER],
                                       (char *)e->path[SOURCE],
                                       (char *)code};
    int n = 10;

    snprintf(target, sizeof target, "--target=%s", e->emulator->triple);
    if (e->simulates && write_simulation(e, paths, argv + n))
        return UK_EXIT_WRONG;
    while (argv[n])
        n++;
    argv[n] = "-lm";
    const int result = uk_run_child(argv);
    if (uk_is_interrupted())
        return UK_EXIT_WRONG;
    if (result < 0)
        return uk_complain(UK_EXIT_WRONG,
                           "cannot start " UK_CLANG ": %s; install clang-" UK_LLVM " and lld-" UK_LLVM,
                           strerror(errno));
    if (result)
        return uk_complain(UK_EXIT_WRONG,
                           UK_CLANG
                           " could not link for %s, see above; it needs Debian's %s, %s and lld-" UK_LLVM,
                           e->emulator->triple, e->emulator->libc_package, e->emulator->libgcc_package);
    return UK_EXIT_OK;
}

/* ---- what uk run calls ---- */

/* What a target needs; exit status. */
static int open_emulation(struct uk_emulation **out, const char *target) {
    struct uk_emulation *e = *out = calloc(1, sizeof *e);

    if (!e)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    e->emulator = uk_emulator_of(target);
    e->cpu = uk_emulator_cpu(e->emulator, target);
    e->simulates = uk_is_simulated(target);
    return uk_emulation_check(target);
}

int uk_emulation_begin(struct uk_emulation **out, struct uk_job *job, const int64_t *sizes,
                       const double *scalars, const struct uk_data *data) {
    char *object;
    size_t length;
    int status = open_emulation(out, job->options.target);
    struct uk_emulation *e = *out;

    if (status)
        return status;
    const enum uk_status s = uk_emit(job->program, &job->options, UK_EMIT_OBJECT, &object, &length);
    if (s)
        return uk_job_failed(job, s);
    uk_job_notes(job);
    if (!(status = make_folder(e)))
        status = uk_write_output(e->path[OBJECT], object, length);
    uk_text_free(object);
    if (!status)
        status = write_runner(e, job, sizes, scalars, data);
    return status ? status : link_runner(e, e->path[OBJECT]);
}

const char *uk_emulation_name(const struct uk_emulation *e, const char **cpu) {
    *cpu = e->cpu;
    return e->emulator->program;
}

/* The runner on that argument, under the emulator with an option, or none if its name is NULL. Exit status. */
static int emulate(const struct uk_emulation *e, const char *option, const char *value,
                   const char *argument) {
    const char *argv[8] = {e->emulator->program, "-cpu", e->cpu};
    int n = 3;

    if (option) {
        argv[n++] = option;
        argv[n++] = value;
    }
    argv[n++] = e->path[RUNNER];
    argv[n++] = argument;
    const int result = uk_run_child((char *const *)argv);
    if (uk_is_interrupted())
        return UK_EXIT_WRONG;
    if (result < 0)
        return uk_complain(UK_EXIT_WRONG, "cannot start %s: %s", e->emulator->program, strerror(errno));
    if (WIFSIGNALED(result))
        return uk_complain(UK_EXIT_WRONG, "the code was ended by signal %d under %s -cpu %s",
                           WTERMSIG(result), e->emulator->program, e->cpu);
    if (result)
        return uk_complain(UK_EXIT_WRONG, "%s -cpu %s could not run the code, see above",
                           e->emulator->program, e->cpu);
    return UK_EXIT_OK;
}

int uk_emulation_run(struct uk_emulation *e, const struct uk_data *data, int32_t *status) {
    int exit_status = exchange(e, data, false, status);

    if (!exit_status)
        exit_status = emulate(e, NULL, NULL, e->path[DATA]);
    return exit_status ? exit_status : exchange(e, data, true, status);
}

/* ---- what uk bench --target calls ---- */

int uk_emulation_open_kernel(struct uk_emulation **out, const char *target, const char *runner,
                             const char *code) {
    int status = open_emulation(out, target);
    struct uk_emulation *e = *out;
    struct uk_text text = {0};

    if (!status)
        status = make_folder(e);
    if (!status) {
        uk_put(&text, "%s%s", e->emulator->directive, code);
        status = text.failed ? uk_complain(UK_EXIT_WRONG, "out of memory")
                             : uk_write_output(e->path[ASSEMBLY], text.text, text.length);
        free(text.text);
    }
    if (!status)
        status = uk_write_output(e->path[SOURCE], runner, strlen(runner));
    if (!status)
        status = uk_write_output(e->path[PLUGIN], (const char *)uk_count_plugin, uk_count_plugin_size);
    return status ? status : link_runner(e, e->path[ASSEMBLY]);
}

int uk_emulation_open_object(struct uk_emulation **out, const char *target, const char *runner,
                             const char *object, size_t length) {
    int status = open_emulation(out, target);
    struct uk_emulation *e = *out;

    if (!status)
        status = make_folder(e);
    if (!status)
        status = uk_write_output(e->path[OBJECT], object, length);
    if (!status)
        status = uk_write_output(e->path[SOURCE], runner, strlen(runner));
    return status ? status : link_runner(e, e->path[OBJECT]);
}

char *const *uk_emulation_command(struct uk_emulation *e) {
    e->command[0] = (char *)e->emulator->program;
    e->command[1] = "-cpu";
    e->command[2] = (char *)e->cpu;
    e->command[3] = e->path[RUNNER];
    return e->command;
}

/* The runner with the plugin, which counts as the options say. Exit status. */
static int count(const struct uk_emulation *e, const char *options, const char *argument,
                 struct uk_emulated_counts *counts) {
    char plugin[1024];

    snprintf(plugin, sizeof plugin, "%s,%s,out=%s", e->path[PLUGIN], options, e->path[COUNT]);
    const int status = emulate(e, "-plugin", plugin, argument);
    return status ? status : uk_counts_read(counts, e->path[COUNT], e->emulator->program);
}

int uk_emulation_count(struct uk_emulation *e, const char *symbol, const char *argument, bool cycles,
                       struct uk_emulated_counts *counts) {
    char options[300];

    snprintf(options, sizeof options, "symbol=%s%s", symbol, cycles ? ",cycles=on" : "");
    return count(e, options, argument, counts);
}

const char *uk_emulation_data(const struct uk_emulation *e) {
    return e->path[DATA];
}

int uk_emulation_call(struct uk_emulation *e, const char *argument, const char *name,
                      struct uk_emulated_counts *counts) {
    char options[300];

    if (!counts)
        return emulate(e, NULL, NULL, argument);
    snprintf(options, sizeof options, "call=%s", name);
    const int status = uk_write_output(e->path[PLUGIN], (const char *)uk_count_plugin, uk_count_plugin_size);
    return status ? status : count(e, options, argument, counts);
}

int uk_emulation_count_run(struct uk_emulation *e, const char *name, const struct uk_data *data,
                           int32_t *status, struct uk_emulated_counts *counts) {
    int exit_status = exchange(e, data, false, status);

    if (!exit_status)
        exit_status = uk_emulation_call(e, e->path[DATA], name, counts);
    return exit_status ? exit_status : exchange(e, data, true, status);
}
