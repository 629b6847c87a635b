/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the resources that a kernel of a GPU occupies, and the instructions that it executed in the
 * simulator.
 *
 * Loops are found in the machine code, as backward jumps. The kernel's loop is the innermost one with the
 * most multiply-adds, or the most instructions if no loop has any. A K step is one iteration of the enclosing
 * loop with the most iterations. Counts are of executed instructions, so they include inner loops and guarded
 * copies however the compiler arranged them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "target/target.h"
#include "gpu_counts.h"
#include "benchmarks.h"

/* SIMD_LANES: a wave's vector instruction takes lanes / 16 cycles. JUMP: bytes of a jump. */
enum { SIMD_LANES = 16, JUMP = 4 };

/* Indices of the loop's first and last instruction; the last is the backward jump. */
struct gpu_loop {
    int first, last;
    uint64_t iterations;
};

/* Instructions that a loop's iterations execute, by unit. */
struct units {
    double fma, valu, matrix, salu, lds, vmem, branch, wait; /* valu includes fma */
    double read_cycles, write_cycles, conflicts;
    uint64_t ways; /* bank conflicts: the largest number of ways */
};

/* ---- loops ---- */

/* Index of the jump's target; -1: not a jump, or it leaves the kernel. */
static int jump_target(const struct uk_gpu_kernel_counts *k, const struct uk_assembly *rules, int i) {
    const char *text = k->instruction[i].text, *number = strchr(text, ' ');
    const char *const *jump = rules->jumps;

    while (*jump && strncmp(text, *jump, strlen(*jump)))
        jump++;
    if (!*jump || !number)
        return -1;
    /* The operand counts 4-byte words from the next instruction; a jump is 4 bytes long. */
    const int64_t to = (int64_t)k->instruction[i].offset + 4 + 4 * (int64_t)(int16_t)strtol(number, NULL, 0);

    for (int at = 0; at < k->instructions; at++)
        if ((int64_t)k->instruction[at].offset == to)
            return at;
    return -1;
}

/* Finds all backward jumps; the caller frees them. */
static struct gpu_loop *find_loops(const struct uk_gpu_kernel_counts *k, const struct uk_assembly *rules,
                                   int *count) {
    struct gpu_loop *loop = calloc((size_t)k->instructions + 1, sizeof *loop);

    *count = 0;
    for (int i = 0; i < k->instructions && loop; i++) {
        const int to = jump_target(k, rules, i);

        if (to >= 0 && to <= i && k->instruction[i].executed)
            loop[(*count)++] = (struct gpu_loop){to, i, k->instruction[i].executed};
    }
    return loop;
}

static bool is_inside(const struct gpu_loop *in, const struct gpu_loop *out) {
    return in != out && out->first <= in->first && in->last <= out->last;
}

static int multiplies(const struct uk_gpu_kernel_counts *k, const struct gpu_loop *l) {
    int n = 0;

    for (int i = l->first; i <= l->last; i++)
        n += k->instruction[i].kind == UK_AMDGPU_FMA || k->instruction[i].kind == UK_AMDGPU_MATRIX;
    return n;
}

/* The innermost loop with the most multiply-adds; NULL: there is no loop. */
static const struct gpu_loop *inner_loop(const struct uk_gpu_kernel_counts *k, const struct gpu_loop *loop,
                                         int count) {
    const struct gpu_loop *best = NULL;

    for (int i = 0; i < count; i++) {
        bool innermost = true;

        for (int j = 0; j < count; j++)
            innermost &= !is_inside(&loop[j], &loop[i]);
        if (!innermost)
            continue;
        const int more = best ? multiplies(k, &loop[i]) - multiplies(k, best) : 1;

        if (more > 0 || (!more && loop[i].last - loop[i].first > best->last - best->first))
            best = &loop[i];
    }
    return best;
}

/* The enclosing loop with the most iterations; if tied, the smallest. */
static const struct gpu_loop *step_loop(const struct gpu_loop *inner, const struct gpu_loop *loop,
                                        int count) {
    const struct gpu_loop *best = NULL;

    for (int i = 0; i < count && inner; i++)
        if (is_inside(inner, &loop[i]) &&
            (!best || loop[i].iterations > best->iterations ||
             (loop[i].iterations == best->iterations && is_inside(&loop[i], best))))
            best = &loop[i];
    return best;
}

/* ---- executed instructions ---- */

static bool is_branch(const struct uk_assembly *rules, const char *text) {
    for (const char *const *jump = rules->jumps; *jump; jump++)
        if (!strncmp(text, *jump, strlen(*jump)))
            return true;
    return false;
}

static void add_instruction(struct units *u, const struct uk_assembly *rules,
                            const struct uk_amdgpu_instruction *i, double iterations) {
    const double n = (double)i->executed / iterations;

    switch (i->kind) {
    case UK_AMDGPU_FMA:
        u->fma += n;
        /* fall through */
    case UK_AMDGPU_VALU:
        u->valu += n;
        break;
    case UK_AMDGPU_MATRIX:
        u->matrix += n;
        break;
    case UK_AMDGPU_SALU:
        *(is_branch(rules, i->text) ? &u->branch : &u->salu) += n;
        break;
    case UK_AMDGPU_SMEM:
        u->salu += n;
        break;
    case UK_AMDGPU_LOAD:
    case UK_AMDGPU_STORE:
        u->vmem += n;
        break;
    case UK_AMDGPU_LDS_READ:
        u->lds += n;
        u->read_cycles += (double)i->lds_cycles / iterations;
        break;
    case UK_AMDGPU_LDS_WRITE:
        u->lds += n;
        u->write_cycles += (double)i->lds_cycles / iterations;
        break;
    default:
        u->wait += n;
    }
    u->conflicts += (double)i->lds_conflicts / iterations;
    if (i->max_conflict_ways > u->ways)
        u->ways = i->max_conflict_ways;
}

static struct units units_of(const struct uk_gpu_kernel_counts *k, const struct uk_assembly *rules, int first,
                             int last, double iterations) {
    struct units u = {.fma = 0};

    for (int i = first; i <= last; i++)
        add_instruction(&u, rules, &k->instruction[i], iterations);
    return u;
}

/* ---- the report ---- */

static void print_units(const char *name, const struct units *u, const struct uk_device *d) {
    /* A compute unit's SIMDs multiply concurrently and share its LDS. */
    const double cycles = u->fma * d->lanes / SIMD_LANES / d->simds;

    printf("  %-14s VALU %.4g (FMA %.4g", name, u->valu, u->fma);
    if (u->valu > 0)
        printf(", %.1f %%", 100 * u->fma / u->valu);
    printf(")");
    if (u->matrix > 0)
        printf(", matrix %.4g", u->matrix);
    printf(", SALU %.4g, LDS %.4g, VMEM %.4g, branch %.4g, wait %.4g\n", u->salu, u->lds, u->vmem, u->branch,
           u->wait);
    printf("  %-14s LDS cycles %.4g of reads, %.4g of writes, %.4g of them by conflicts", "", u->read_cycles,
           u->write_cycles, u->conflicts);
    if (u->ways > 1)
        printf(" (at most %" PRIu64 "-way)", u->ways);
    if (cycles > 0)
        printf(": %.0f %% of the FMAs' time", 100 * (u->read_cycles + u->write_cycles) / cycles);
    printf("\n");
}

int uk_bench_print_gpu_kernel(const struct uk_gpu_kernel_counts *k, const struct uk_target *t) {
    const struct uk_core *core = uk_core_find(t->row);
    const struct uk_device *d = &core->device;
    const int registers = uk_device_registers((int)k->vgprs, (int)k->agprs),
              waves = (int)(k->threads + (uint32_t)d->lanes - 1) / d->lanes;
    const struct uk_assembly *rules = &t->arch->assembly;
    const struct uk_amdgpu_counts *a = &k->all;
    int count;
    struct gpu_loop *loop = find_loops(k, rules, &count);

    if (!loop)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    const struct gpu_loop *inner = inner_loop(k, loop, count), *step = step_loop(inner, loop, count);
    const struct units all = units_of(k, rules, 0, k->instructions - 1, (double)k->waves);

    printf("%s: %" PRIu32 " VGPR, %" PRIu32 " AGPR, %" PRIu32 " SGPR, %" PRIu32 " bytes of LDS, %" PRIu32
           " of scratch, %" PRIu32 " VGPR and %" PRIu32 " SGPR spilled; blocks of %" PRIu32
           " threads, %.3g resident waves a SIMD (registers: %d)\n",
           k->name, k->vgprs, k->agprs, k->sgprs, k->lds_bytes, k->scratch_bytes, k->vgpr_spills,
           k->sgpr_spills, k->threads, (double)(k->resident * waves) / d->simds,
           uk_device_resident(d, registers, 0, d->lanes) / d->simds);
    if (inner) {
        const struct units u = units_of(k, rules, inner->first, inner->last, (double)inner->iterations);

        print_units(multiplies(k, inner) ? "kernel's loop" : "inner loop", &u, d);
    }
    if (step && multiplies(k, inner)) {
        const struct units u = units_of(k, rules, step->first, step->last, (double)step->iterations);

        print_units("K step", &u, d);
        printf("  %-14s %" PRIu32 " bytes of code; the instruction cache has %d\n", "",
               k->instruction[step->last].offset - k->instruction[step->first].offset + JUMP, d->code);
    }
    print_units("whole wave", &all, d);
    printf("  %-14s %" PRIu64 " bytes loaded, %" PRIu64 " stored", "global memory", a->load_bytes,
           a->store_bytes);
    if (a->flops)
        printf(": %.4g a flop", (double)(a->load_bytes + a->store_bytes) / (double)a->flops);
    printf("\n");
    uk_gpu_counts_print_cycles(k, core);
    free(loop);
    return UK_EXIT_OK;
}
