/* SPDX-License-Identifier: Apache-2.0 */
/* uk run of a network: the command. */
#include <string.h>
#include "gpu_run.h"
#include "network.h"
#include "progress.h"

static int check_options(const struct uk_arguments *a) {
    if (a->time && !a->remote && uk_is_emulated(a->target))
        return uk_complain(UK_EXIT_USAGE,
                           "--time: target %s runs under an emulator here, whose speed says nothing; use "
                           "--count, which counts instructions",
                           a->target);
    if (a->time && !a->remote && uk_gpu_kind_of(a->target))
        return uk_complain(UK_EXIT_USAGE,
                           "--time: uk does not time the GPU target %s here; leave it out, or use --remote",
                           a->target);
    if (a->device && (!strcmp(a->device, "interp") || !uk_gpu_kind_of(a->target)))
        return uk_complain(UK_EXIT_USAGE,
                           "--device=%s: a network needs a GPU's --target, for instance amdgcn-gfx90a, and "
                           "--device=gpu or sim",
                           a->device);
    if (a->count && !uk_is_emulated(a->target) && !uk_gpu_is_simulated(a->target))
        return uk_complain(UK_EXIT_USAGE, "--count needs a --target that an emulator or a simulator runs, "
                                          "for instance riscv64-p or amdgcn-gfx90a; here --time measures");
    return uk_net_check_constants(a);
}

static void print_network(const struct uk_net_job *j) {
    const char *target = j->options.target ? j->options.target : "native";
    char where[300];
    const double n = uk_net_multiply_adds(j);

    const int layers = uk_net_layers(j);

    printf("%s for %s: %d layer%s", uk_network_name(j->network), target, layers, layers == 1 ? "" : "s");
    if (n > 0)
        printf(", %.4g M multiply-adds", 1e-6 * n);
    if (j->emulation)
        printf(", run %s", uk_emulation_where(j->emulation, where, sizeof where));
    if (uk_net_device_name(j))
        printf(", on %s", uk_net_device_name(j));
    printf("\n");
}

static void print_memory(const struct uk_net_job *j) {
    const size_t bound = uk_network_memory_bound(j->network);

    printf("activation memory: %zu bytes", j->bytes);
    if (bound > 0)
        printf(" (lower bound %zu)", bound);
    printf("\n");
}

static int call(struct uk_net_job *j) {
    if (j->arguments->check || j->arguments->layers)
        return uk_net_run_layers(j);
    const bool slow = j->emulation || j->device;
    if (slow)
        uk_progress_begin(
            j->arguments->remote
                ? "running on the board"
                : "running under an emulator or a simulator, which is hundreds of times slower");
    const int status = j->arguments->count ? uk_net_count(j) : uk_net_call(j);
    if (slow)
        uk_progress_end();
    return status;
}

/* Runs the network; checking layers and counting are separate runs. */
static int run(struct uk_net_job *j) {
    int status;

    uk_net_print_inputs(j);
    uk_net_fill(j);
    uk_net_fill_states(j);
    status = call(j);
    if (!status)
        status = uk_net_write_outputs(j);
    if (!status && j->arguments->count && (j->arguments->check || j->arguments->layers)) {
        uk_net_fill(j);
        uk_net_fill_states(j);
        status = uk_net_count(j);
    }
    if (!status && j->arguments->time && (j->emulation || j->device))
        uk_net_fill(j);
    return !status && j->arguments->time ? uk_net_time(j) : status;
}

int uk_run_network(const struct uk_arguments *a) {
    struct uk_net_job j;
    int status = check_options(a);

    if (status)
        return status;
    status = uk_net_begin(&j, a);
    if (!status)
        status = uk_net_check_outputs(&j);
    if (!status)
        status = uk_net_take_inputs(&j);
    if (!status)
        status = uk_net_make_folder(&j);
    if (!status)
        status = uk_net_prepare(&j);
    if (!status) {
        print_network(&j);
        status = run(&j);
    }
    if (!status)
        print_memory(&j);
    uk_net_end(&j);
    return status;
}
