/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the emulator that runs a target's code, and which of its CPUs to emulate. */
#include <string.h>
#include "emulate.h"
#include "gpu_run.h"
#include "target/target.h"
#include "remote/remote.h"

static const struct uk_target *row_of(const char *target) {
    const size_t n = strcspn(target, "+");
    const struct uk_target *t = uk_targets;

    while (t->name && (strlen(t->name) != n || strncmp(t->name, target, n)))
        t++;
    return t->name ? t : NULL;
}

const struct uk_emulator *uk_emulator_of(const char *target) {
    const struct uk_target *t = target ? row_of(target) : NULL;

    if (!t || !t->arch->emulator.triple)
        return NULL;
    /* A board also runs code of this machine's architecture. */
    return uk_board_in_use() || t->arch != uk_own_arch() ? &t->arch->emulator : NULL;
}

bool uk_is_emulated(const char *target) {
    return uk_emulator_of(target);
}

const char *uk_gpu_kind_of(const char *target) {
    const struct uk_target *t = target ? row_of(target) : NULL;

    return t ? t->arch->gpu : NULL;
}

const char *const *uk_emulation_flags(const char *target) {
    const struct uk_target *t = row_of(target);
    static char option[64];
    static const char *flags[] = {option, NULL};

    snprintf(option, sizeof option, "%s%s", t->arch->bits == 32 ? "-mfpu=neon-vfpv4" : t->arch->cpu_option,
             t->arch->bits == 32 ? "" : t->cpu);
    return t->arch == uk_own_arch() || t->arch->bits == 32 ? flags : flags + 1;
}

/* True if the core has the feature, given by its first n characters. */
static bool has(const struct uk_target *core, const char *name, size_t n) {
    for (const char *const *h = core->has; *h; h++)
        if (strlen(*h) == n && !strncmp(*h, name, n))
            return true;
    return false;
}

/* True if the target's row has the feature or its name adds it. */
static bool has_feature(const char *target, const char *name) {
    const char *plus = target + strcspn(target, "+");

    for (size_t n; *plus; plus += n) {
        n = strcspn(++plus, "+");
        if (strlen(name) == n && !strncmp(plus, name, n))
            return true;
    }
    return has(row_of(target), name, strlen(name));
}

bool uk_is_simulated(const char *target) {
    const struct uk_emulator *e = uk_emulator_of(target);

    return e && e->lacks && has_feature(target, e->lacks);
}

/* True if the core has all features of the target, including those that its name adds (`plus`). */
static bool core_has(const struct uk_target *core, const struct uk_target *t, const char *plus) {
    for (const char *const *h = t->has; *h; h++)
        if (!has(core, *h, strlen(*h)))
            return false;
    for (size_t n; *plus; plus += n) {
        n = strcspn(++plus, "+");
        if (n == 3 && !strncmp(plus, "f16", n) ? !has(core, "fullfp16", 8) : !has(core, plus, n))
            return false;
    }
    return true;
}

/* The row with the features of the emulator's CPU: the row of that name, else the architecture's baseline. */
static const struct uk_target *row_of_cpu(const char *cpu, const struct uk_arch *arch) {
    const struct uk_target *t = row_of(cpu);

    for (t = t ? t : uk_targets; t->name && t->arch != arch;)
        t++;
    return t;
}

const char *uk_emulator_cpu(const struct uk_emulator *e, const char *target) {
    const struct uk_target *t = row_of(target);
    const char *plus = target + strcspn(target, "+");
    const char *const *cpu = e->cpus;

    for (; !*plus && cpu[1]; cpu++)
        if (!strcmp(*cpu, t->name))
            return *cpu;
    for (cpu = e->cpus; cpu[1] && !core_has(row_of_cpu(*cpu, t->arch), t, plus);)
        cpu++;
    return *cpu;
}
