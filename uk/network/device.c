/* SPDX-License-Identifier: Apache-2.0 */
/* Runs networks on a GPU: the first device of the target's kind, or else the simulator. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "child.h"
#include "gpu_counts.h"
#include "operands/shape.h"
#include "gpu_run.h"
#include "network.h"
#include "gpu/gpu.h"
#include "remote/remote.h"

void uk_net_close_device(struct uk_net_job *j) {
    uk_network_device_destroy(j->device);
    if (j->gpu)
        uk_gpu_close(j->gpu);
    j->device = NULL;
    j->gpu = NULL;
}

/* The layer with the least work. A layer without elements runs no code. */
static int smallest_layer(const struct uk_net_job *j) {
    const struct uk_network_layer *l;
    double least = HUGE_VAL;
    int smallest = 0;

    for (int i = 0; (l = uk_network_layer(j->network, i)); i++) {
        const double work = l->multiply_adds + (double)l->output.elements;
        if (l->output.elements && work < least) {
            least = work;
            smallest = i;
        }
    }
    return smallest;
}

/* Runs one layer. A GPU of another architecture is recognized only by an error when it runs code. */
static enum uk_status try_layer(struct uk_net_job *j) {
    void *memory = calloc(1, uk_network_memory(j->network));
    const enum uk_status s =
        memory ? uk_network_device_run_layer(j->device, memory, smallest_layer(j)) : UK_OUT_OF_MEMORY;

    free(memory);
    return s;
}

/* Opens the first device of the kind that can run the code, and uploads the constants. False: there is none,
 * and `why` says the reason. */
static bool open_kind(struct uk_net_job *j, const char *kind, char why[UK_GPU_MESSAGE]) {
    for (int i = 0; !uk_gpu_open(kind, i, &j->gpu, i ? NULL : why); i++) {
        enum uk_status s = uk_network_device_create(j->network, j->gpu, &j->device);
        if (!s)
            s = try_layer(j);
        if (s != UK_UNSUPPORTED)
            return true;
        snprintf(why, UK_GPU_MESSAGE, "%s", uk_gpu_message(j->gpu));
        uk_net_close_device(j);
    }
    j->gpu = NULL;
    return false;
}

int uk_net_open_device(struct uk_net_job *j) {
    const struct uk_arguments *a = j->arguments;
    const bool simulate = a->count || (a->device && !strcmp(a->device, "sim"));
    const bool is_real = a->remote || (a->device && !simulate);
    char why[UK_GPU_MESSAGE] = "";
    bool found = false;

    if (uk_network_compile_device(j->network, &j->options))
        return uk_net_failed(j);
    if (!simulate)
        found = open_kind(j, uk_gpu_kind_here(a->target), why);
    if (uk_is_interrupted())
        return UK_EXIT_WRONG;
    if (!found && is_real)
        return uk_complain(UK_EXIT_WRONG, "%s%s: no GPU for target '%s' was found: %s",
                           a->remote ? "--remote=" : "--device=gpu", a->remote ? a->remote : "", a->target,
                           why);
    if (!found && !uk_gpu_is_simulated(a->target))
        return uk_complain(UK_EXIT_WRONG,
                           "no GPU for target '%s' is here%s%s, and the simulator has only AMD's", a->target,
                           *why ? ": " : "", why);
    if (!found)
        found = open_kind(j, "sim", why);
    if (!found)
        return uk_complain(UK_EXIT_WRONG, "the simulator has no GPU for target %s: %s", a->target, why);
    return j->device ? UK_EXIT_OK : uk_net_failed(j);
}

const char *uk_net_device_name(const struct uk_net_job *j) {
    return j->gpu ? uk_gpu_name(j->gpu) : NULL;
}

static int run_all(struct uk_net_job *j) {
    const size_t most = (size_t)j->inputs_count + (size_t)j->outputs_count + 1;
    void **place = calloc(most, sizeof *place);

    if (!place)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (int i = 0; i < j->inputs_count; i++)
        place[i] = uk_network_input(j->network, j->memory, i);
    for (int i = 0; i < j->outputs_count; i++)
        place[j->inputs_count + i] = uk_network_output(j->network, j->memory, i);
    const enum uk_status s =
        uk_network_device_run(j->device, (const void *const *)place, place + j->inputs_count);
    free(place);
    return s ? uk_net_failed(j) : UK_EXIT_OK;
}

int uk_net_call_device(struct uk_net_job *j, int layer) {
    if (layer < 0)
        return run_all(j);
    return uk_network_device_run_layer(j->device, j->memory, layer) ? uk_net_failed(j) : UK_EXIT_OK;
}

/* ---- counts in the simulator ---- */

static int count_all(struct uk_net_job *j) {
    struct uk_gpu_counts counts;

    uk_gpu_counts_begin(&counts, j->arguments->target, false);
    int status = run_all(j);
    const int counted = uk_gpu_counts_end(&counts);
    if (!status && !(status = counted))
        uk_gpu_counts_print(&counts, false);
    uk_gpu_counts_free(&counts);
    return status;
}

/* Adds a call of the layer, whose launches are counted in *counts. */
static int add_peak(const struct uk_network_layer *l, const struct uk_gpu_counts *counts,
                    struct uk_peak *peak) {
    struct uk_context *c = uk_context_create();
    struct uk_program *p = NULL;
    int64_t *sizes = NULL;

    if (c && !uk_program_parse(c, l->function, l->plain_text, strlen(l->plain_text), &p) &&
        (sizes = calloc((size_t)uk_program_sizes(p) + 1, sizeof *sizes)))
        uk_peak_add(peak, p, sizes, &counts->core->device, uk_gpu_counts_matrix(counts));
    const bool failed = !sizes;
    free(sizes);
    uk_program_destroy(p);
    uk_context_destroy(c);
    return failed ? uk_complain(UK_EXIT_WRONG, "out of memory") : UK_EXIT_OK;
}

/* Cycles of launches one after the other, and of the multiply-adds at the peak rate. */
struct layer_cycles {
    double cycles;
    struct uk_peak peak;
};

/* Prints a layer's line, and adds its cycles to *sum. What bounds it, blocks and units are those of its
 * longest kernel. */
static int print_counts(const struct uk_network_layer *l, int layer, const struct uk_gpu_counts *c,
                        struct layer_cycles *sum) {
    const struct uk_gpu_kernel_counts *longest = NULL;
    double cycles = 0;
    uint64_t launches = 0;
    const double before = sum->peak.cycles;
    const int status = add_peak(l, c, &sum->peak);

    for (int i = 0; i < c->kernels; i++) {
        cycles += c->kernel[i].cycles;
        launches += c->kernel[i].launches;
        longest = longest && longest->cycles >= c->kernel[i].cycles ? longest : &c->kernel[i];
    }
    if (status || !longest)
        return status;
    cycles += (double)(launches - 1) * c->core->device.launch;
    sum->cycles += cycles + (sum->cycles > 0) * c->core->device.launch;
    printf("%5d %-10s %-7s %9.0f %8" PRIu64 " %8.3g %-13s %7" PRIu64 " %6.0f  %s\n", layer, l->kind,
           *l->window ? l->window : "-", cycles, launches, 100 * (sum->peak.cycles - before) / cycles,
           uk_device_bound_names[longest->time.bound], longest->blocks, 100 * longest->time.busy, l->name);
    return UK_EXIT_OK;
}

static int count_layers(struct uk_net_job *j) {
    struct layer_cycles sum = {0};
    char units[UK_PEAK_TEXT];
    const struct uk_network_layer *l;
    int status = UK_EXIT_OK;

    printf("%5s %-10s %-7s %9s %8s %8s %-13s %7s %6s  %s\n", "layer", "kind", "window", "cycles", "launches",
           "share, %", "bounded by", "blocks", "busy,%", "name");
    for (int i = 0; (l = uk_network_layer(j->network, i)) && !status; i++) {
        struct uk_gpu_counts counts;

        uk_gpu_counts_begin(&counts, j->arguments->target, false);
        status = uk_net_call_device(j, i);
        const int counted = uk_gpu_counts_end(&counts);
        if (!status && !(status = counted))
            status = print_counts(l, i, &counts, &sum);
        uk_gpu_counts_free(&counts);
    }
    if (!status && sum.cycles > 0)
        printf("device: %.0f cycles of all layers; share %.3g %%: multiply-adds at the peak rate (%s) take "
               "%.0f\n",
               sum.cycles, 100 * sum.peak.cycles / sum.cycles, uk_peak_units(&sum.peak, units),
               sum.peak.cycles);
    return status;
}

int uk_net_count_device(struct uk_net_job *j) {
    return j->arguments->count_layers ? count_layers(j) : count_all(j);
}

/* ---- timing on a board ---- */

/* Records a run and times its repetitions. For one layer only its kernels repeat. For the whole network the
 * inputs' uploads repeat too, because a run may have overwritten numbers of elements. */
static int replay(struct uk_net_job *j, int layer, const struct uk_timing *how, double *seconds) {
    char why[UK_GPU_MESSAGE];
    enum uk_status s = uk_board_gpu_record(layer < 0 ? UK_RECORD_ALL : UK_RECORD_LAUNCHES, why);
    const int status = s ? UK_EXIT_OK : uk_net_call_device(j, layer);

    if (status)
        return status;
    if (!s)
        s = uk_board_gpu_replay(how, seconds, why);
    return s ? uk_complain(UK_EXIT_WRONG, "--remote=%s: %s", j->arguments->remote, why) : UK_EXIT_OK;
}

int uk_net_time_all_on_gpu(struct uk_net_job *j) {
    enum { ALL = 15 };
    const struct uk_timing how = {
        .rounds = ALL, .cooldown = (int)j->arguments->cooldown, .flops = 2 * uk_net_multiply_adds(j)};
    struct uk_board_times times;
    double seconds[ALL];
    const int status = replay(j, -1, &how, seconds);

    if (status)
        return status;
    uk_board_times_of_gpu(&times, seconds, ALL, uk_net_device_name(j));
    uk_board_times_print(&times, &how, 0);
    return UK_EXIT_OK;
}

int uk_net_time_layers_on_gpu(struct uk_net_job *j, int layers, double *seconds) {
    enum { EACH = 5 };
    const struct uk_timing how = {.rounds = EACH};
    double sample[EACH];
    int status = UK_EXIT_OK;

    for (int i = 0; i < layers && !status; i++) {
        status = replay(j, i, &how, sample);
        seconds[i] = bench_median(sample, EACH);
    }
    return status;
}
