/* SPDX-License-Identifier: Apache-2.0 */
/* uk bench gemm --plot: runs the embedded script bench/plot.py, which plots the JSON with gnuplot. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "benchmarks.h"
#include "child.h"
#include "file.h"

extern const char uk_bench_plot_text[];

/* Python prints its own errors; only a missing interpreter is reported here. */
static int run_plot(const char *first, const char *second) {
    char *argv[] = {"python3", "-c", (char *)uk_bench_plot_text, (char *)first, (char *)second, NULL};
    int status = uk_run_child(argv);

    if (status == -1)
        return uk_complain(UK_EXIT_WRONG, "--plot: python3 cannot be started: %s; install it",
                           strerror(errno));
    if (status)
        return uk_complain(UK_EXIT_WRONG,
                           "--plot failed, see above; --json=FILE saves the figures for bench/plot.py");
    return UK_EXIT_OK;
}

int uk_bench_plot_check(const struct uk_arguments *a) {
    size_t n = a->plot ? strlen(a->plot) : 0;
    if (!a->plot)
        return UK_EXIT_OK;
    if (n < 5 || strcmp(a->plot + n - 4, ".svg"))
        return uk_complain(UK_EXIT_USAGE, "--plot=%s: the plot is an SVG file; give a name that ends in .svg",
                           a->plot);
    return uk_check_output(a->plot) ? UK_EXIT_WRONG : run_plot("--check", NULL);
}

int uk_bench_plot(const struct uk_arguments *a, const cJSON *all) {
    const char *folder = getenv("TMPDIR");
    char name[4096];
    if (!a->plot)
        return UK_EXIT_OK;
    snprintf(name, sizeof name, "%s/uk-bench-XXXXXX", folder && *folder ? folder : "/tmp");
    char *text = cJSON_Print(all);
    uk_hold_signals();
    int fd = mkstemp(name), status;
    if (fd < 0)
        status = uk_complain(UK_EXIT_WRONG, "--plot: %s: cannot write: %s", name, strerror(errno));
    else if (!text)
        status = uk_complain(UK_EXIT_WRONG, "out of memory");
    else
        status = uk_write_output(name, text, strlen(text));
    if (!status)
        status = run_plot(name, a->plot);
    if (fd >= 0) {
        close(fd);
        unlink(name);
    }
    uk_release_signals();
    cJSON_free(text);
    return status;
}
