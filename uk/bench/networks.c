/* SPDX-License-Identifier: Apache-2.0 */
/* uk bench networks: runs the embedded scripts bench/networks.py, which compares networks with ONNX Runtime
 * and others, and bench/networks_sweep.py, which counts the instructions of random layers. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "benchmarks.h"
#include "child.h"

extern const char uk_bench_networks_text[], uk_bench_sweep_text[];

const char *uk_bench_python(void) {
    static const char of_setup[] = ".venv-networks/bin/python3";

    return access(of_setup, X_OK) ? "python3" : of_setup;
}

/* Runs an embedded script with uk's own path and `count` more arguments. Exit status. */
static int run_script(const char *text, const char *const *more, int count, const char *failed) {
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (length < 0)
        return uk_complain(UK_EXIT_WRONG, "/proc/self/exe: %s", strerror(errno));
    self[length] = 0;
    const char **argv = calloc((size_t)count + 5, sizeof *argv);
    if (!argv)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    argv[0] = uk_bench_python();
    argv[1] = "-c";
    argv[2] = text;
    argv[3] = self;
    memcpy(argv + 4, more, (size_t)count * sizeof *argv);
    const int status = uk_run_child((char **)argv);
    const char *program = argv[0];
    free(argv);
    if (status == -1)
        return uk_complain(UK_EXIT_WRONG, "%s cannot be started: %s; install it", program, strerror(errno));
    return status ? uk_complain(UK_EXIT_WRONG, "uk bench networks: %s", failed) : UK_EXIT_OK;
}

/* Exit status. */
static int sweep(const struct uk_arguments *a) {
    char seed[40], layers[40], json[4200];
    const char *more[3] = {seed};
    int count = 1;

    if (a->positionals > 1)
        return uk_complain(UK_EXIT_USAGE, "--sweep: uk bench networks draws the layers; leave out %s",
                           a->positional[1]);
    snprintf(seed, sizeof seed, "--seed=%" PRId64, a->seed);
    snprintf(layers, sizeof layers, "--layers=%" PRId64, a->drawn);
    snprintf(json, sizeof json, "--json=%s", a->json ? a->json_file : "");
    if (a->drawn)
        more[count++] = layers;
    if (a->json)
        more[count++] = json;
    return run_script(uk_bench_sweep_text, more, count, "some layers could not be counted, see above");
}

/* Adds the values of a repeatable option as words, whose texts are in the arena. False: no memory. */
static bool add_values(const struct uk_arguments *a, struct uk_arena *arena, const char *option,
                       const char **word, int *count) {
    const char *value;

    for (int i = 0; (value = uk_repeated_option(a, option, i)); i++)
        if (!(word[(*count)++] = uk_format(arena, "%s=%s", option, value)))
            return false;
    return true;
}

/* Exit status. */
static int compare(const struct uk_arguments *a) {
    char json[4200], peers[4200];
    struct uk_arena arena = {0};
    const char **more = calloc((size_t)a->positionals + (size_t)a->option_value_count + 2, sizeof *more);
    int count = 0, status;

    if (!more)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    while (count < a->positionals - 1) {
        more[count] = a->positional[count + 1];
        count++;
    }
    snprintf(json, sizeof json, "--json=%s", a->json ? a->json_file : "");
    snprintf(peers, sizeof peers, "--peers=%s", a->peers ? a->peers : "");
    if (a->json)
        more[count++] = json;
    if (a->peers)
        more[count++] = peers;
    if (add_values(a, &arena, "--size", more, &count) && add_values(a, &arena, "--state", more, &count))
        status =
            run_script(uk_bench_networks_text, more, count, "some models could not be compared, see above");
    else
        status = uk_complain(UK_EXIT_WRONG, "out of memory");
    free(more);
    uk_arena_free(&arena);
    return status;
}

int uk_bench_networks(const struct uk_arguments *a) {
    if (a->json && !a->json_file)
        return uk_complain(UK_EXIT_USAGE, "--json: uk bench networks needs a file; give --json=FILE.json");
    if (a->sweep)
        return sweep(a);
    if (uk_repeated_option(a, "--seed", 0))
        return uk_complain(UK_EXIT_USAGE, "--seed is only for --sweep, which draws layers; leave it out");
    if (a->positionals < 2)
        return uk_complain(UK_EXIT_USAGE, "uk bench networks: no model; give files of ONNX, which "
                                          "examples/networks/make.py writes, or --sweep");
    return compare(a);
}
