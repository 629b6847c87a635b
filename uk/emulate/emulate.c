/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs programs for another architecture: links the object with a static runner that contains that
 * architecture's C library, and runs it under qemu-user or on a board. Operands are exchanged through a file
 * that both sides map. Under qemu this does not predict speed.
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
#include "child.h"
#include "operands/data.h"
#include "emulate.h"
#include "file.h"
#include "program.h"
#include "target/target.h"
#include "remote/remote.h"

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

    if (!uk_board_in_use() && !is_in_path(e->program))
        return uk_complain(UK_EXIT_WRONG,
                           "target %s: its code runs here under %s, which is not installed; install Debian's "
                           "qemu-user, or run the object that uk compile writes on such a machine",
                           target, e->program);
    if (access(UK_LLD, X_OK))
        return uk_complain(UK_EXIT_WRONG,
                           "target %s: its linker is missing (%s); install Debian's lld-" UK_LLVM, target,
                           UK_LLD);
    if (access(e->libc, R_OK))
        return uk_complain(UK_EXIT_WRONG, "target %s: its C library is missing (%s); install Debian's %s",
                           target, e->libc, e->libc_package);
    if (e->libgcc && access(e->libgcc, R_OK))
        return uk_complain(UK_EXIT_WRONG,
                           "target %s: its compiler's run-time library is missing (%s); install Debian's %s",
                           target, e->libgcc, e->libgcc_package);
    return UK_EXIT_OK;
}

/* ---- the folder of a run ---- */

static const char *const files[] = {"program.o", "kernel.s", "runner.c", "runner",
                                    "data",      "count.so", "count"};
enum { OBJECT, ASSEMBLY, SOURCE, RUNNER, DATA, PLUGIN, COUNT, FILES };

struct uk_emulation {
    const struct uk_emulator *emulator;
    bool simulates; /* simulates instructions that the emulator lacks, by code that is linked in */
    const char *cpu, *target;
    char folder[256], path[FILES][300];
    char *command[5]; /* runs the program, without its argument */
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
    /* Clang leaves temporary files if a signal ends it; here they are removed with the folder. */
    setenv("TMPDIR", e->folder, 1);
    for (int i = 0; i < FILES; i++)
        snprintf(e->path[i], sizeof e->path[i], "%s/%s", e->folder, files[i]);
    return UK_EXIT_OK;
}

/* Removes the folder and its files. */
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

/* ---- linking ---- */

enum { SIMULATION = 16 }; /* maximal number of files */

/* Writes the simulation's files to the folder and adds the paths of C files and objects to argv. Exit
 * status. */
static int write_simulation(const struct uk_emulation *e, char paths[SIMULATION][300], char **argv) {
    int status = UK_EXIT_OK;

    for (int i = 0; uk_rvp_sources[i].name && !status; i++) {
        const struct uk_source_file *f = &uk_rvp_sources[i];

        snprintf(paths[i], sizeof paths[i], "%s/%s", e->folder, f->name);
        status = uk_write_output(paths[i], f->text, f->length);
        if (strstr(f->name, ".c") || strstr(f->name, ".o"))
            *argv++ = paths[i];
    }
    return status;
}

/* Links the runner's source with the object or assembly at that path. Exit status. */
static int link_runner(const struct uk_emulation *e, const char *code) {
    char target[64], paths[SIMULATION][300];
    char *argv[10 + SIMULATION + 3] = {UK_CLANG,
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
    argv[n++] = "-lm";
    if (uk_board_in_use())
        argv[n] = (char *)*uk_emulation_flags(e->target);
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

/* ---- running, for uk run ---- */

/* Creates the emulation of a target. Exit status. */
static int open_emulation(struct uk_emulation **out, const char *target) {
    struct uk_emulation *e = *out = calloc(1, sizeof *e);

    if (!e)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    e->emulator = uk_emulator_of(target);
    e->target = target;
    e->cpu = uk_board_in_use() ? "" : uk_emulator_cpu(e->emulator, target);
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
        status = uk_runner_write(e->path[SOURCE], job, sizes, scalars, data);
    return status ? status : link_runner(e, e->path[OBJECT]);
}

const char *uk_emulation_where(const struct uk_emulation *e, char *text, size_t size) {
    const struct uk_board *b = uk_board_in_use();

    if (b)
        snprintf(text, size, "on %s (%s)", b->text, *b->cpu ? b->cpu : b->machine);
    else
        snprintf(text, size, "by %s -cpu %s", e->emulator->program, e->cpu);
    return text;
}

/* Runs the program on a board. Uploads the operands' file before and downloads it after; its path may be part
 * of the argument. Exit status. */
static int run_on_board(const struct uk_emulation *e, const char *argument, char *const more[],
                        const char *out) {
    static const char data[] = "data";
    struct uk_board *b = uk_board_in_use();
    const size_t path = strlen(e->path[DATA]), n = strlen(argument);
    const bool has_data = n >= path && !strcmp(argument + n - path, e->path[DATA]);
    char name[64], text[400], *words[8] = {text};
    int status = uk_board_program(b, e->path[RUNNER], name, sizeof name);

    snprintf(text, sizeof text, "%.*s%s", (int)(has_data ? n - path : n), argument, has_data ? data : "");
    for (int i = 0; more && more[i] && i < 6; i++)
        words[i + 1] = more[i];
    if (!status && has_data)
        status = uk_board_upload(b, e->path[DATA], data);
    if (!status)
        status = uk_board_run(b, name, words, out, out != NULL);
    return status || !has_data || out ? status : uk_board_download(b, data, e->path[DATA]);
}

/* Runs the program under the emulator, with one more option of it if that is not NULL. Exit status. */
static int emulate(const struct uk_emulation *e, const char *option, const char *value,
                   const char *argument) {
    const char *argv[8] = {e->emulator->program, "-cpu", e->cpu};
    int n = 3;

    if (uk_board_in_use())
        return run_on_board(e, argument, NULL, NULL);
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

int uk_emulation_measure(struct uk_emulation *e, const char *argument, const struct uk_timing *how,
                         FILE **out) {
    char rounds[24], rest[24], *words[] = {rounds, rest, NULL};

    snprintf(rounds, sizeof rounds, "%d", how->rounds);
    snprintf(rest, sizeof rest, "%d", how->cooldown);
    const int status = run_on_board(e, argument, words, e->path[COUNT]);
    if (!status && !(*out = fopen(e->path[COUNT], "r")))
        return uk_complain(UK_EXIT_WRONG, "%s: %s", e->path[COUNT], strerror(errno));
    return status;
}

int uk_emulation_time(struct uk_emulation *e, const char *argument, const struct uk_timing *how,
                      struct uk_board_times *times) {
    FILE *f = NULL;
    int status = uk_emulation_measure(e, argument, how, &f);

    if (!status)
        status = uk_board_times_read(times, f, how);
    if (f)
        fclose(f);
    return status;
}

int uk_emulation_time_run(struct uk_emulation *e, const struct uk_data *data, const struct uk_timing *how,
                          struct uk_board_times *times) {
    int32_t status;
    const int failed = uk_runner_exchange(e->path[DATA], data, false, &status);

    return failed ? failed : uk_emulation_time(e, e->path[DATA], how, times);
}

int uk_emulation_run(struct uk_emulation *e, const struct uk_data *data, int32_t *status) {
    int exit_status = uk_runner_exchange(e->path[DATA], data, false, status);

    if (!exit_status)
        exit_status = emulate(e, NULL, NULL, e->path[DATA]);
    return exit_status ? exit_status : uk_runner_exchange(e->path[DATA], data, true, status);
}

/* ---- counting, for uk bench --target ---- */

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
    struct uk_board *b = uk_board_in_use();
    char name[64];

    if (b)
        return uk_board_program(b, e->path[RUNNER], name, sizeof name) ? NULL : uk_relay_command(b, name);
    e->command[0] = (char *)e->emulator->program;
    e->command[1] = "-cpu";
    e->command[2] = (char *)e->cpu;
    e->command[3] = e->path[RUNNER];
    return e->command;
}

/* Runs the program with the plugin and its options, and reads the counts. Exit status. */
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
    int exit_status = uk_runner_exchange(e->path[DATA], data, false, status);

    if (!exit_status)
        exit_status = uk_emulation_call(e, e->path[DATA], name, counts);
    return exit_status ? exit_status : uk_runner_exchange(e->path[DATA], data, true, status);
}
