/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the options about boards and connects to the board while a command with --remote runs. */
#include <ctype.h>
#include <string.h>
#include "gpu_run.h"
#include "options.h"
#include "remote.h"
#include "emulate/emulate.h"

/* Refuses options that have no meaning without --remote. */
static int check_alone(const struct uk_arguments *a) {
    static const char *const options[] = {"--ssh", "--remote-dir", "--remote-prefix", "--remote-keep",
                                          "--cooldown"};

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (int k = 0; k < a->option_value_count; k++)
            if (!strcmp(a->option_values[k].option->name, options[i]))
                return uk_complain(UK_EXIT_USAGE, "%s needs --remote; give --remote=HOST, or leave it out",
                                   options[i]);
    return UK_EXIT_OK;
}

enum { MOST_OF_DIR = 200 }; /* limits struct uk_board.folder, which appends the run's folder */

/* Refuses control characters: the board's shell reports the folder's name in a line. */
static int check_dir(const char *dir) {
    bool has_control = false;

    for (const char *c = dir; *c; c++)
        has_control |= iscntrl((unsigned char)*c) != 0;
    if (strlen(dir) > MOST_OF_DIR || has_control)
        return uk_complain(UK_EXIT_USAGE,
                           "--remote-dir: give a folder whose name has at most %d characters, no control "
                           "character among them",
                           MOST_OF_DIR);
    if (*dir != '/')
        return uk_complain(UK_EXIT_USAGE,
                           "--remote-dir=%s: give a folder from the root, for instance /var/tmp", dir);
    return UK_EXIT_OK;
}

static int check_together(const struct uk_arguments *a) {
    const bool kernels = !strcmp(a->command, "kernels");

    if (!kernels && (!a->target || !strcmp(a->target, "native") || !strcmp(a->target, "interp")))
        return uk_complain(
            UK_EXIT_USAGE,
            "--remote needs a --target to compile for; uk kernels --remote=%s prints the board's", a->remote);
    if (a->target && uk_gpu_kind_of(a->target) && strcmp(a->command, "run"))
        return uk_complain(UK_EXIT_USAGE, "--remote: for the GPU target '%s' only uk run works on boards",
                           a->target);
    if (a->device)
        return uk_complain(UK_EXIT_USAGE, "--device=%s and --remote exclude each other; give one", a->device);
    if (a->count || a->histogram || a->cycles)
        return uk_complain(UK_EXIT_USAGE,
                           "--%s is for emulators, not for a board; leave it out, or use --time",
                           a->count       ? "count"
                           : a->histogram ? "histogram"
                                          : "cycles");
    if (a->cooldown && !a->time && !strcmp(a->command, "run"))
        return uk_complain(UK_EXIT_USAGE, "--cooldown needs --time; give that, or leave it out");
    return a->remote_dir ? check_dir(a->remote_dir) : UK_EXIT_OK;
}

int uk_run_on_board(const struct uk_arguments *a, int (*run)(const struct uk_arguments *)) {
    static struct uk_board board;
    int status = a->remote ? check_together(a) : check_alone(a);

    /* uk tune opens its boards itself. */
    if (status || !a->remote || !strcmp(a->command, "tune"))
        return status ? status : run(a);
    status = uk_board_open(&board, a, a->remote);
    if (!status)
        uk_board_use(&board);
    if (!status && a->target)
        status = uk_gpu_kind_of(a->target) ? uk_board_gpu_begin(&board, a->target)
                                           : uk_board_fits(&board, a->target);
    if (!status)
        status = run(a);
    uk_board_gpu_end(&board);
    uk_board_close(&board);
    return status;
}
