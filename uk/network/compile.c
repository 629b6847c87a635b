/* SPDX-License-Identifier: Apache-2.0 */
/* uk compile of a network: writes code, a header, or an intermediate form. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "bench.h"
#include "compile.h"
#include "file.h"
#include "gpu_run.h"
#include "network.h"
#include "progress.h"

/* ---- texts ---- */

static void put_layers(const struct uk_net_job *j, struct uk_text *t) {
    const struct uk_network_layer *l;

    uk_put(t, "# number operators function type shape bytes offset multiply-adds\n");
    for (int i = 0; (l = uk_network_layer(j->network, i)); i++)
        uk_put(t, "%d %s %s %s %s %zu %zu %.0f\n", i, l->operators, l->function, uk_type_name(l->output.type),
               uk_net_shape(&l->output), l->output.bytes, l->offset, l->multiply_adds);
}

/* True if an earlier layer calls the same function. */
static bool is_repeated(const struct uk_net_job *j, int layer) {
    const char *function = uk_network_layer(j->network, layer)->function;

    for (int i = 0; i < layer; i++)
        if (!strcmp(uk_network_layer(j->network, i)->function, function))
            return true;
    return false;
}

static void put_program(const struct uk_network_layer *l, struct uk_text *t) {
    uk_put(t, "%s", l->text);
    if (l->schedule)
        uk_put(t, "schedule\n%s", l->schedule);
}

static void put_programs(const struct uk_net_job *j, struct uk_text *t) {
    const struct uk_network_layer *l;

    for (int i = 0; (l = uk_network_layer(j->network, i)); i++)
        if (!is_repeated(j, i)) {
            uk_put(t, "%s# %s.uk, of layer %d: %s\n", i ? "\n" : "", l->function, i, l->operators);
            put_program(l, t);
        }
}

static int write_program(const struct uk_network_layer *l, const char *path) {
    struct uk_text t = {0};

    put_program(l, &t);
    const int status =
        t.failed ? uk_complain(UK_EXIT_WRONG, "out of memory") : uk_write_output(path, t.text, t.length);
    free(t.text);
    return status;
}

static int write_programs(const struct uk_net_job *j, const char *folder) {
    const struct uk_network_layer *l;
    int status = UK_EXIT_OK;

    for (int i = 0; (l = uk_network_layer(j->network, i)) && !status; i++) {
        char path[4096];
        if (is_repeated(j, i))
            continue;
        const int n = snprintf(path, sizeof path, "%s/%s.uk", folder, l->function);
        status = n < 0 || (size_t)n >= sizeof path
                     ? uk_complain(UK_EXIT_WRONG, "%s: the path is too long; give a shorter one", folder)
                     : write_program(l, path);
    }
    return status;
}

static bool is_folder(const char *path) {
    struct stat st;

    return path && !stat(path, &st) && S_ISDIR(st.st_mode);
}

static int write_text(const struct uk_net_job *j, void (*put)(const struct uk_net_job *, struct uk_text *)) {
    struct uk_text t = {0};

    put(j, &t);
    const int status = t.failed ? uk_complain(UK_EXIT_WRONG, "out of memory")
                                : uk_write_output(j->arguments->out, t.text, t.length);
    free(t.text);
    return status;
}

/* ---- code ---- */

static enum uk_status emit(struct uk_net_job *j, enum uk_emit what, struct uk_net_constants *c, char **bytes,
                           size_t *length) {
    return c->path ? uk_network_emit_constants(j->network, &j->options, what, uk_net_put_constants, c, bytes,
                                               length)
                   : uk_network_emit(j->network, &j->options, what, bytes, length);
}

/* Writes the code; then the file of constants gets its name, so that both exist or neither. */
static int write_code(struct uk_net_job *j, enum uk_emit what) {
    struct uk_net_constants constants = {.path = j->arguments->constants};
    char *bytes;
    size_t length;

    uk_net_progress_begin(j);
    const double start = bench_seconds();
    const enum uk_status s = emit(j, what, &constants, &bytes, &length);
    j->compile_time = bench_seconds() - start;
    uk_progress_end();
    int status = s ? uk_net_not_emitted(j, &constants) : uk_write_output(j->arguments->out, bytes, length);
    status = uk_net_end_constants(&constants, status);
    if (!status && j->arguments->time)
        fprintf(stderr, "read in %.1f ms, compiled in %.1f ms\n", 1e3 * j->read_time, 1e3 * j->compile_time);
    uk_text_free(bytes);
    return status;
}

/* Sets *stage to an enum uk_emit, or -1 for output without code: layers, programs. */
static int find_stage(const struct uk_arguments *a, int *stage) {
    if (!a->emit)
        return uk_emit_of_extension(a->out, stage);
    *stage = !strcmp(a->emit, "kernel-inc") ? UK_EMIT_HOST : uk_emit_of_word(a->emit);
    return UK_EXIT_OK;
}

/* Checks the file of --constants. */
static int check_constants(const struct uk_arguments *a, int stage) {
    if (!a->constants)
        return UK_EXIT_OK;
    if (stage != UK_EMIT_OBJECT && stage != UK_EMIT_SHARED && stage != UK_EMIT_HEADER)
        return uk_complain(UK_EXIT_USAGE,
                           "--constants goes with an object, a shared object or a header; leave "
                           "it out, or use another --emit");
    if (!strcmp(a->constants, "-") || (a->out && !strcmp(a->constants, a->out)))
        return uk_complain(UK_EXIT_USAGE, "--constants %s: that is where the code goes; give another file",
                           a->constants);
    return stage == UK_EMIT_HEADER ? UK_EXIT_OK : uk_check_output(a->constants);
}

static int check_options(const struct uk_arguments *a, int *stage) {
    const bool is_program = a->emit && !strcmp(a->emit, "program");

    if (a->emit && (!strcmp(a->emit, "device") || !strcmp(a->emit, "host")))
        return uk_complain(UK_EXIT_USAGE,
                           "--emit=%s is for programs for GPUs, and '%s' is a network; use another --emit",
                           a->emit, a->positional[0]);
    if (is_folder(a->out) && !is_program)
        return uk_complain(
            UK_EXIT_USAGE,
            "-o %s: that is a folder, which only --emit=program fills; give the name of a file", a->out);
    int status = find_stage(a, stage);
    if (!status)
        status = uk_check_binary(a, *stage);
    if (!status)
        status = check_constants(a, *stage);
    return status || is_folder(a->out) ? status : uk_check_output(a->out);
}

int uk_compile_network(const struct uk_arguments *a) {
    struct uk_net_job j;
    int stage, status = check_options(a, &stage);

    if (status)
        return status;
    status = uk_net_begin(&j, a);
    if (!status && stage >= 0)
        status = write_code(&j, (enum uk_emit)stage);
    else if (!status && !strcmp(a->emit, "layers"))
        status = write_text(&j, put_layers);
    else if (!status && is_folder(a->out))
        status = write_programs(&j, a->out);
    else if (!status)
        status = write_text(&j, put_programs);
    uk_net_end(&j);
    return status;
}
