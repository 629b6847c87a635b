/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the instructions that the GPU simulator executes, per kernel, and prints them for uk run
 * --count. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "driver.h"
#include "gpu_counts.h"
#include "gpu_run.h"

/* ---- collecting ---- */

static struct uk_gpu_kernel_counts *find(struct uk_gpu_counts *c, const struct uk_amdgpu_kernel *k) {
    for (int i = 0; i < c->kernels; i++)
        if (!strcmp(c->kernel[i].name, k->name))
            return &c->kernel[i];
    struct uk_gpu_kernel_counts *more = realloc(c->kernel, ((size_t)c->kernels + 1) * sizeof *more);

    if (!more)
        return NULL;
    c->kernel = more;
    more += c->kernels;
    *more = (struct uk_gpu_kernel_counts){.name = strdup(k->name),
                                          .vgprs = k->vgprs,
                                          .agprs = k->agprs,
                                          .sgprs = k->sgprs,
                                          .lds_bytes = k->lds_bytes,
                                          .scratch_bytes = k->scratch_bytes,
                                          .vgpr_spills = k->vgpr_spills,
                                          .sgpr_spills = k->sgpr_spills,
                                          .instructions = (int)uk_amdgpu_n_instructions(k)};
    more->instruction = calloc((size_t)more->instructions + 1, sizeof *more->instruction);
    if (!more->name || !more->instruction) {
        free(more->name);
        free(more->instruction);
        return NULL;
    }
    c->kernels++;
    return more;
}

static void add_instructions(struct uk_gpu_counts *c, struct uk_gpu_kernel_counts *to,
                             const struct uk_amdgpu_kernel *k) {
    for (int i = 0; i < to->instructions; i++) {
        const struct uk_amdgpu_instruction from = uk_amdgpu_instruction(k, (uint32_t)i);
        struct uk_amdgpu_instruction *sum = &to->instruction[i];

        if (!sum->text)
            c->failed |= !(sum->text = strdup(from.text));
        sum->offset = from.offset;
        sum->kind = from.kind;
        sum->executed += from.executed;
        sum->lds_cycles += from.lds_cycles;
        sum->lds_conflicts += from.lds_conflicts;
        if (from.max_conflict_ways > sum->max_conflict_ways)
            sum->max_conflict_ways = from.max_conflict_ways;
    }
}

static void add(struct uk_amdgpu_counts *to, const struct uk_amdgpu_counts *from) {
    for (int i = 0; i < UK_AMDGPU_N_KINDS; i++)
        to->instructions[i] += from->instructions[i];
    to->executed_blocks += from->executed_blocks;
    to->kinds += from->kinds;
    to->flops += from->flops;
    to->matrix_multiply_adds += from->matrix_multiply_adds;
    to->load_bytes += from->load_bytes;
    to->store_bytes += from->store_bytes;
    to->lds_read_cycles += from->lds_read_cycles;
    to->lds_write_cycles += from->lds_write_cycles;
    to->lines += from->lines;
    to->distinct_lines += from->distinct_lines;
    to->lds_read_conflicts += from->lds_read_conflicts;
    to->lds_write_conflicts += from->lds_write_conflicts;
    if (from->max_conflict_ways > to->max_conflict_ways)
        to->max_conflict_ways = from->max_conflict_ways;
}

static void add_time(struct uk_gpu_counts *c, struct uk_gpu_kernel_counts *to, uint64_t blocks,
                     const struct uk_amdgpu_launch *how, const struct uk_amdgpu_counts *executed) {
    const struct uk_device *d = &c->core->device;
    struct uk_device_launch l = {.blocks = blocks,
                                 .block = how->times,
                                 .waves = (int)(to->threads + (uint32_t)d->lanes - 1) / d->lanes,
                                 .distinct_lines = (double)executed->distinct_lines};
    struct uk_launch_time time;

    to->resident = uk_device_resident(d, uk_device_registers((int)to->vgprs, (int)to->agprs),
                                      (int64_t)to->lds_bytes + (int64_t)how->lds_bytes, (int)to->threads);
    l.resident = to->resident;
    c->failed |= !uk_device_time(c->core, &l, &time);
    to->cycles += time.cycles;
    if (time.cycles > to->time.cycles)
        to->time = time;
}

static void record_launch(void *counts, const struct uk_amdgpu_kernel *k, const struct uk_amdgpu_launch *how,
                          const struct uk_amdgpu_counts *executed) {
    struct uk_gpu_counts *c = counts;
    struct uk_gpu_kernel_counts *to = find(c, k);

    if (!to) {
        c->failed = true;
        return;
    }
    const uint64_t blocks = (uint64_t)how->grid[0] * how->grid[1] * how->grid[2];

    c->is_by_data |= c->is_partial && !executed->kinds;
    c->is_partial |= executed->executed_blocks < blocks;
    to->threads = how->block[0] * how->block[1] * how->block[2];
    to->launches++;
    to->blocks += blocks;
    to->waves += blocks * ((to->threads + k->wave - 1) / k->wave);
    add(&to->all, executed);
    add_time(c, to, blocks, how, executed);
    add_instructions(c, to, k);
}

void uk_gpu_counts_begin(struct uk_gpu_counts *c, const char *target, bool by_kind) {
    *c = (struct uk_gpu_counts){.core = uk_gpu_core(target)};
    uk_sim_observe(record_launch, c, c->core, by_kind);
}

int uk_gpu_counts_end(struct uk_gpu_counts *c) {
    uk_sim_observe(NULL, NULL, NULL, false);
    return c->failed ? uk_complain(UK_EXIT_WRONG, "out of memory") : UK_EXIT_OK;
}

void uk_gpu_counts_free(struct uk_gpu_counts *c) {
    for (int i = 0; i < c->kernels; i++) {
        for (int k = 0; k < c->kernel[i].instructions; k++)
            free((char *)(uintptr_t)c->kernel[i].instruction[k].text);
        free(c->kernel[i].instruction);
        free(c->kernel[i].name);
    }
    free(c->kernel);
    *c = (struct uk_gpu_counts){.kernels = 0};
}

/* ---- printing ---- */

struct mnemonic {
    const char *text;
    size_t length;
    uint64_t executed;
};

static int compare_counts(const void *x, const void *y) {
    const struct mnemonic *a = x, *b = y;

    if (a->executed != b->executed)
        return a->executed < b->executed ? 1 : -1;
    const int order = strncmp(a->text, b->text, a->length < b->length ? a->length : b->length);

    return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* Prints in decreasing order of count. */
static void print_histogram(const struct uk_gpu_kernel_counts *k) {
    struct mnemonic *list = calloc((size_t)k->instructions + 1, sizeof *list);
    int count = 0;

    for (int i = 0; i < k->instructions && list; i++) {
        const char *text = k->instruction[i].text;
        const size_t n = strcspn(text, " ");
        int at = 0;

        while (at < count && (list[at].length != n || strncmp(list[at].text, text, n)))
            at++;
        if (at == count)
            list[count++] = (struct mnemonic){text, n, 0};
        list[at].executed += k->instruction[i].executed;
    }
    if (list)
        qsort(list, (size_t)count, sizeof *list, compare_counts);
    for (int i = 0; i < count && list[i].executed; i++)
        printf("  %12" PRIu64 " %.*s\n", list[i].executed, (int)list[i].length, list[i].text);
    free(list);
}

void uk_gpu_counts_print_cycles(const struct uk_gpu_kernel_counts *k, const struct uk_core *core) {
    const double ideal = (double)k->all.distinct_lines;

    if (k->all.kinds)
        printf("  %" PRIu64 " of %" PRIu64 " blocks executed: the others are of the same %" PRIu64
               " kind%s\n",
               k->all.executed_blocks, k->blocks, k->all.kinds, k->all.kinds == 1 ? "" : "s");
    printf("  cycles: %.0f, bounded by %s; %" PRIu64
           " blocks on %d units, %d resident in each; units busy %.0f %%, "
           "tail %.0f %%\n",
           k->cycles, uk_device_bound_names[k->time.bound], k->blocks, core->device.units, k->resident,
           100 * k->time.busy, 100 * k->time.tail);
    printf("  lines of %d bytes: %" PRIu64 " accessed, %" PRIu64 " different ones", core->device.line,
           k->all.lines, k->all.distinct_lines);
    if (ideal > 0)
        printf(", each %.3g times", (double)k->all.lines / ideal);
    printf("\n");
}

unsigned uk_gpu_counts_matrix(const struct uk_gpu_counts *c) {
    unsigned matrix = 0;

    for (int i = 0; i < c->kernels; i++)
        for (int k = 0; k < c->kernel[i].instructions; k++) {
            const struct uk_amdgpu_instruction *in = &c->kernel[i].instruction[k];

            if (in->kind == UK_AMDGPU_MATRIX && in->executed)
                matrix |= 1u << uk_factors_of_matrix(in->text);
        }
    return matrix;
}

void uk_gpu_counts_print_share(const struct uk_gpu_counts *c, const struct uk_program *p,
                               const int64_t *sizes) {
    struct uk_peak peak = {.cycles = 0};
    char units[UK_PEAK_TEXT];
    double cycles = 0;
    uint64_t launches = 0;

    for (int i = 0; i < c->kernels; i++) {
        cycles += c->kernel[i].cycles;
        launches += c->kernel[i].launches;
    }
    if (launches > 1)
        cycles += (double)(launches - 1) * c->core->device.launch;
    printf("device: %.0f cycles, %" PRIu64 " launch%s", cycles, launches, launches == 1 ? "" : "es");
    uk_peak_add(&peak, p, sizes, &c->core->device, uk_gpu_counts_matrix(c));
    if (peak.cycles > 0)
        printf("; share %.3g %%: multiply-adds at the peak rate (%s) take %.0f", 100 * peak.cycles / cycles,
               uk_peak_units(&peak, units), peak.cycles);
    printf("\n");
}

void uk_gpu_counts_print(const struct uk_gpu_counts *c, bool histogram) {
    for (int i = 0; i < c->kernels; i++) {
        const struct uk_gpu_kernel_counts *k = &c->kernel[i];
        const struct uk_amdgpu_counts *a = &k->all;
        const uint64_t fma = a->instructions[UK_AMDGPU_FMA], vector = fma + a->instructions[UK_AMDGPU_VALU];
        uint64_t all = 0;

        for (int n = 0; n < UK_AMDGPU_N_KINDS; n++)
            all += a->instructions[n];
        printf("count: %s: %" PRIu64 " instructions of %" PRIu64 " waves in %" PRIu64 " blocks of %" PRIu32
               " threads\n",
               k->name, all, k->waves, k->blocks, k->threads);
        for (int n = 0; n < UK_AMDGPU_N_KINDS; n++)
            printf("%s %s %" PRIu64, n ? "," : " ", uk_amdgpu_kind_names[n], a->instructions[n]);
        printf("\n  fma share of vector instructions: %.1f %%; flops: %" PRIu64 "; bytes loaded: %" PRIu64
               ", stored: %" PRIu64 "\n",
               vector ? 100.0 * (double)fma / (double)vector : 0, a->flops, a->load_bytes, a->store_bytes);
        if (a->matrix_multiply_adds)
            printf("  multiply-adds of matrix instructions: %" PRIu64 "\n", a->matrix_multiply_adds);
        printf("  LDS cycles: %" PRIu64 " of reads, %" PRIu64 " by conflicts; %" PRIu64 " of writes, %" PRIu64
               " by conflicts, at most %" PRIu64 "-way\n",
               a->lds_read_cycles, a->lds_read_conflicts, a->lds_write_cycles, a->lds_write_conflicts,
               a->max_conflict_ways);
        uk_gpu_counts_print_cycles(k, c->core);
        if (histogram)
            print_histogram(k);
    }
}
