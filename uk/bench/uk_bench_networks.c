/* SPDX-License-Identifier: Apache-2.0 */
/* uk bench networks: bench/networks.py, which is inside of uk, runs networks beside ONNX Runtime. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "uk_bench.h"

extern const char uk_bench_networks_text[];

/* The environment that ./uk-setup networks makes in the source folder has what the script imports. */
static const char *python(void) {
    static const char of_setup[] = ".venv-networks/bin/python3";

    return access(of_setup, X_OK) ? "python3" : of_setup;
}

int uk_bench_networks(const struct uk_arguments *a) {
    char self[4096];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    const int models = a->positionals - 1;

    if (models < 1)
        return uk_complain(UK_EXIT_USAGE, "uk bench networks: no model; give files of ONNX, which "
                                          "examples/networks/make.py writes");
    if (length < 0)
        return uk_complain(UK_EXIT_WRONG, "/proc/self/exe: %s", strerror(errno));
    self[length] = 0;
    const char **argv = calloc((size_t)models + 5, sizeof *argv);
    if (!argv)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    argv[0] = python();
    argv[1] = "-c";
    argv[2] = uk_bench_networks_text;
    argv[3] = self;
    memcpy(argv + 4, a->positional + 1, (size_t)models * sizeof *argv);
    const int status = uk_run_child((char **)argv);
    const char *program = argv[0];
    free(argv);
    if (status == -1)
        return uk_complain(UK_EXIT_WRONG, "%s cannot be started: %s; install it", program, strerror(errno));
    return status ? uk_complain(UK_EXIT_WRONG, "uk bench networks: not all models are compared") : UK_EXIT_OK;
}
