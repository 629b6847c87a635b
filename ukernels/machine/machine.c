/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of cores.def and uncores.def, and the one of this process's CPU. */
#include "machine.h"
#include <cpuinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ukernels.h"

/* Fields that a row omits are 0: the core has no such thing. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define KIB(n) ((int64_t)(n) << 10)
static const struct uk_core cores[] = {
#define UK_CORE_ROW(name_, arch_, ...) {.name = name_, .arch = UK_ARCH_##arch_, __VA_ARGS__},
#include "cores.def"
};
static const struct uk_uncore uncores[] = {
#define UK_UNCORE_ROW(name_, ...) {.name = name_, __VA_ARGS__},
#include "uncores.def"
};
enum { CORES = sizeof cores / sizeof *cores, UNCORES = sizeof uncores / sizeof *uncores };

const struct uk_core *uk_core_at(int i) {
    return i >= 0 && i < CORES ? &cores[i] : NULL;
}

const struct uk_core *uk_core_find(const char *name) {
    for (int i = 0; i < CORES; i++)
        if (!strcmp(cores[i].name, name))
            return &cores[i];
    return NULL;
}

bool uk_core_has(const struct uk_core *core, const char *isa) {
    static const struct {
        const char *name;
        int arch;
    } all[] = {
#define UK_ISA_ROW(name, arch, features, flags, private) {#name, UK_ARCH_##arch},
#include "archs.def"
    };
    const int count = sizeof all / sizeof *all;
    int wanted = 0, own = 0;

    while (wanted < count && strcmp(all[wanted].name, isa))
        wanted++;
    while (own < count && strcmp(all[own].name, core->isa))
        own++;
    return wanted < count && wanted <= own && !(core->lacks && !strcmp(core->lacks, isa)) &&
           (all[wanted].arch == UK_ARCH_any || all[wanted].arch == core->arch);
}

const struct uk_tile_configuration uk_tile_configuration = {
    .palette = 1, .bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

/* Sets `cache` to one core's share of each cache: shared ones are divided evenly. */
static void divide(struct uk_machine *m) {
    m->cache[UK_L1] = m->core.l1;
    m->cache[UK_L2] = m->core.l2;
    m->cache[UK_L2].size /= m->core.l2_cores > 1 ? m->core.l2_cores : 1;
    m->cache[UK_LLC] = m->uncore.cache.size ? m->uncore.cache : m->cache[UK_L2];
}

struct uk_machine uk_machine_of(const struct uk_core *core) {
    struct uk_machine m = {.core = *core, .cores = 1};

    for (int i = 0; i < UNCORES && core->uncore; i++)
        if (!strcmp(uncores[i].name, core->uncore))
            m.uncore = uncores[i];
    divide(&m);
    return m;
}

const struct uk_vectors *uk_core_vectors(const struct uk_core *core, int bytes) {
    const struct uk_vectors *v = core->vectors;

    for (int i = 1; i < UK_WIDTHS; i++)
        if (core->vectors[i].bytes && core->vectors[i].bytes <= bytes)
            v = &core->vectors[i];
    return v;
}

double uk_ports_rate(const struct uk_ports *p) {
    return p->ports ? __builtin_popcount(p->ports) / p->cycles : 0;
}

/* ---- the machine of this process ---- */

/* True if a row's `cpus`, after the vendor ("19:00-0f,20-2f,1a:00-ff" or "d0c", hexadecimal), contain the
 * family and model. A part number of Arm's is a model of family 0. */
static bool lists(const char *list, unsigned family, unsigned model) {
    unsigned long of = 0, low, high;
    char *end;

    for (;; list = end + 1) {
        low = strtoul(list, &end, 16);
        if (*end == ':') {
            of = low;
            low = strtoul(end + 1, &end, 16);
        }
        high = *end == '-' ? strtoul(end + 1, &end, 16) : low;
        if (of == family && low <= model && model <= high)
            return true;
        if (*end != ',')
            return false;
    }
}

const struct uk_core *uk_core_of(int arch, const char *vendor, unsigned family, unsigned model) {
    const size_t length = strlen(vendor);

    for (int i = 0; i < CORES && length; i++)
        if (cores[i].arch == arch && cores[i].cpus && !strncmp(cores[i].cpus, vendor, length) &&
            cores[i].cpus[length] == ' ' && lists(cores[i].cpus + length + 1, family, model))
            return &cores[i];
    return NULL;
}

/* The row of a core that cpuinfo reports, or NULL. */
static const struct uk_core *row_of(const struct cpuinfo_core *c) {
    if (!c)
        return NULL;
#if CPUINFO_ARCH_X86 || CPUINFO_ARCH_X86_64
    /* A base family of 15 is extended by addition; the extended model is the upper four bits of the model. */
    const unsigned base = c->cpuid >> 8 & 15, family = base == 15 ? base + (c->cpuid >> 20 & 255) : base;

    return uk_core_of(UK_ARCH_HERE,
                      c->vendor == cpuinfo_vendor_amd     ? "amd"
                      : c->vendor == cpuinfo_vendor_intel ? "intel"
                                                          : "",
                      family, (c->cpuid >> 4 & 15) | (c->cpuid >> 12 & 0xf0));
#elif CPUINFO_ARCH_ARM || CPUINFO_ARCH_ARM64
    return uk_core_of(UK_ARCH_HERE, c->midr >> 24 == 0x41 ? "arm" : "", 0, c->midr >> 4 & 0xfff);
#else
    return NULL;
#endif
}

/* The generic row of the strongest instruction set that this CPU has; the architecture's first row if none of
 * its sets has a generic row. */
static const struct uk_core *generic_row(void) {
    static const struct {
        const char *row, *features;
        bool here;
    } isas[] = {
#define UK_ISA_ROW(name, arch, features, flags, private) {"generic-" #name, features, UK_IS_HERE(arch)},
#include "archs.def"
    };
    const struct uk_core *best = cores, *row;
    char missing[32];

    while (best->arch != UK_ARCH_HERE)
        best++;
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++)
        if (isas[i].here && (row = uk_core_find(isas[i].row)) && row->arch == UK_ARCH_HERE &&
            !uk_cpu_lacks(isas[i].features, missing, sizeof missing))
            best = row;
    return best;
}

static struct uk_machine own;
static char message[640];
static bool refused;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The row that UK_MACHINE names. NULL: this architecture has none of that name; the message lists those that
 * it has. */
static const struct uk_core *row_named(const char *name) {
    const struct uk_core *row = uk_core_find(name);
    int n;

    if (row && row->arch == UK_ARCH_HERE)
        return row;
    refused = true;
    n = snprintf(message, sizeof message, "UK_MACHINE=%.20s names no core of this architecture; use one of",
                 name);
    for (int i = 0; i < CORES && n < (int)sizeof message; i++)
        if (cores[i].arch == UK_ARCH_HERE)
            n += snprintf(message + n, sizeof message - (size_t)n, " %s,", cores[i].name);
    message[strlen(message) - 1] = 0; /* the last comma */
    return NULL;
}

/* Sets *c to one core's share of the cache that cpuinfo found, and returns the number of cores that share it.
 * Virtual machines may report any size: if the share is outside of low .. high bytes, the row's size stays,
 * and 0 is returned. */
static int take(struct uk_cache *c, const struct cpuinfo_cache *found, uint32_t threads, int64_t low,
                int64_t high) {
    if (!found)
        return 0;
    const uint32_t sharing = found->processor_count > threads ? found->processor_count / threads : 1;
    const int64_t part = found->size / sharing;

    if (found->associativity >= 2 && found->associativity <= 32)
        c->ways = (int)found->associativity;
    if (part < low || part > high)
        return 0;
    c->size = part;
    return (int)sharing;
}

static void find_this_machine(void) {
    const char *wanted = getenv("UK_MACHINE");
    const struct cpuinfo_core *core = cpuinfo_initialize() ? cpuinfo_get_core(0) : NULL;
    const struct uk_core *row = wanted && *wanted ? row_named(wanted) : NULL;

    row = row ? row : row_of(core);
    own = uk_machine_of(row ? row : generic_row());
    if (!core)
        return;
    const uint32_t threads = core->processor_count ? core->processor_count : 1;

    const int l2_cores = take(&own.core.l2, cpuinfo_get_l2_cache(0), threads, 131072, 4 << 20);
    const int cores_of_last = take(&own.uncore.cache, cpuinfo_get_l3_cache(0), threads, 1 << 20, 256 << 20);

    take(&own.core.l1, cpuinfo_get_l1d_cache(0), threads, 16384, 262144);
    if (l2_cores) {
        own.core.l2_cores = l2_cores;
        own.core.l2.size *= l2_cores;
    }
    if (cores_of_last)
        own.uncore.cores = cores_of_last;
    divide(&own);
    if (cpuinfo_get_cores_count())
        own.cores = (int)cpuinfo_get_cores_count();
}

const struct uk_machine *uk_machine(void) {
    pthread_once(&once, find_this_machine);
    return &own;
}

bool uk_machine_is_refused(const char **text) {
    pthread_once(&once, find_this_machine);
    *text = message;
    return refused;
}
