/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of cores: they are sound, CPUs find theirs, UK_MACHINE chooses one, and ports give the cycles of
 * instructions.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "cost/cost.h"
#include "machine/machine.h"
#include "ukernels.h"

/* ---- rows ---- */

static void check_ports(const struct uk_core *core, const char *what, const struct uk_ports *p) {
    if (!p->ports || p->cycles <= 0 || p->cycles > 4)
        fail_msg("%s: %s has ports %#x for %g cycles", core->name, what, p->ports, p->cycles);
}

static void check_cache(const struct uk_core *core, const char *what, const struct uk_cache *c) {
    if (c->size < 4096 || c->ways < 1 || c->size % (c->ways * 64) || c->latency < 1 || c->bytes <= 0 ||
        c->lines < 1)
        fail_msg("%s: the cache %s is %lld bytes of %d ways, %g cycles, %g bytes, %d lines", core->name, what,
                 (long long)c->size, c->ways, c->latency, c->bytes, c->lines);
}

static void check_core(const struct uk_core *core) {
    const struct uk_machine m = uk_machine_of(core);

    assert_ptr_equal(uk_core_find(core->name), core); /* no other row has this name */
    assert_true(core->issue >= 1 && core->fma_latency >= 1 && core->l2_cores >= 1);
    for (int i = 0; i < UK_WIDTHS && core->vectors[i].bytes; i++) {
        const struct uk_vectors *v = &core->vectors[i];

        assert_true(!i || v->bytes > v[-1].bytes);
        assert_ptr_equal(uk_core_vectors(core, v->bytes), v);
        check_ports(core, "an FMA", &v->fma);
        check_ports(core, "a load", &v->load);
        check_ports(core, "a shuffle", &v->shuffle);
        check_ports(core, "a store", &v->store);
        assert_true(v->registers >= 8);
    }
    check_cache(core, "l1", &core->l1);
    check_cache(core, "l2", &core->l2);
    assert_non_null(m.uncore.name);
    if (m.uncore.cache.size)
        check_cache(core, m.uncore.name, &m.uncore.cache);
    assert_true(m.uncore.latency > m.uncore.cache.latency && m.uncore.latency > core->l2.latency);
    assert_true(m.uncore.cores >= 1 && m.uncore.bytes > 0);
    assert_true(core->tlb.first > 0 && core->tlb.page == 4096 && core->tlb.walk > core->tlb.latency);
    assert_true(core->prefetch.streams > 0 && core->prefetch.ahead >= 64);
}

/* Rows of GPUs have the values that their schedules need, and no others; the interpreter's row is also one of
 * a CPU. */
static void rows_are_sound(void **state) {
    int rows = 0;

    (void)state;
    for (const struct uk_core *core; (core = uk_core_at(rows)); rows++)
        if (core->device.threads && strcmp(core->name, "interp"))
            assert_true(core->vectors[0].bytes > 0 && core->device.lanes > 0);
        else
            check_core(core);
    assert_true(rows >= 20);
    assert_null(uk_core_at(-1));
    assert_null(uk_core_find("zen"));
}

/* ---- CPUs ---- */

/* Cores have the instruction sets before their own, except one that they lack. */
static void cores_have_sets(void **state) {
    static const struct {
        const char *core, *isa;
        bool has;
    } cases[] = {
        {"haswell", "avx2", true},
        {"haswell", "avxvnni", false},
        {"generic-avxvnni", "avx2", true},
        {"generic-avxvnni", "avxvnni", true},
        {"generic-avxvnni", "avx512", false},
        {"skylake_x", "avx2", true},
        {"skylake_x", "avxvnni", false},
        {"zen4", "avx512vnni", true},
        {"zen4", "avxvnni", false},
        {"zen5", "avxvnni", true},
        {"golden_cove", "avxvnni", true},
        {"golden_cove", "amxint8", true},
        {"zen5", "neon", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (uk_core_has(uk_core_find(cases[i].core), cases[i].isa) != cases[i].has)
            fail_msg("%s: %s", cases[i].core, cases[i].isa);
}

static void cpus_have_rows(void **state) {
    static const struct {
        int arch;
        const char *vendor;
        unsigned family, model;
        const char *row;
    } cpus[] = {
        {UK_ARCH_x86_64, "amd", 0x19, 0x01, "zen3"},        /* EPYC 7003 */
        {UK_ARCH_x86_64, "amd", 0x19, 0x21, "zen3"},        /* Ryzen 5000 */
        {UK_ARCH_x86_64, "amd", 0x19, 0x11, "zen4"},        /* EPYC 9004 */
        {UK_ARCH_x86_64, "amd", 0x19, 0xa0, "zen4"},        /* EPYC 97x4 */
        {UK_ARCH_x86_64, "amd", 0x1a, 0x02, "zen5"},        /* EPYC 9005 */
        {UK_ARCH_x86_64, "amd", 0x17, 0x31, NULL},          /* EPYC 7002 */
        {UK_ARCH_x86_64, "intel", 6, 0x3f, "haswell"},      /* Xeon E5 v3 */
        {UK_ARCH_x86_64, "intel", 6, 0x4f, "haswell"},      /* Xeon E5 v4 */
        {UK_ARCH_x86_64, "intel", 6, 0x55, "skylake_x"},    /* Xeon Scalable, first two generations */
        {UK_ARCH_x86_64, "intel", 6, 0x8f, "golden_cove"},  /* Sapphire Rapids */
        {UK_ARCH_x86_64, "intel", 6, 0xcf, "golden_cove"},  /* Emerald Rapids */
        {UK_ARCH_x86_64, "intel", 6, 0xad, "redwood_cove"}, /* Granite Rapids */
        {UK_ARCH_x86_64, "intel", 0x19, 0x01, NULL},
        {UK_ARCH_x86_64, "", 0x19, 0x01, NULL},
        {UK_ARCH_aarch64, "arm", 0, 0xd03, "cortex-a53"},
        {UK_ARCH_aarch64, "arm", 0, 0xd0c, "neoverse-n1"},
        {UK_ARCH_aarch64, "arm", 0, 0xd4f, "neoverse-v2"},
        {UK_ARCH_arm, "arm", 0, 0xc07, "cortex-a7"},
        {UK_ARCH_arm, "arm", 0, 0xd0c, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        const struct uk_core *row = uk_core_of(cpus[i].arch, cpus[i].vendor, cpus[i].family, cpus[i].model);

        if (row ? !cpus[i].row || strcmp(row->name, cpus[i].row) : cpus[i].row != NULL)
            fail_msg("%s %x:%02x is %s, not %s", cpus[i].vendor, cpus[i].family, cpus[i].model,
                     row ? row->name : "no row", cpus[i].row ? cpus[i].row : "none");
    }
}

/* ---- UK_MACHINE ---- */

/* UK_MACHINE is read once per process: a child prints what it selects. */
static void see(const char *name, char *text, size_t size) {
    int channel[2], status;

    assert_int_equal(pipe(channel), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        const char *why;

        if (name)
            setenv("UK_MACHINE", name, 1);
        else
            unsetenv("UK_MACHINE");
        const int refused = uk_cpu_status(&why) == UK_INVALID_ARGUMENT;
        const struct uk_machine *m = uk_machine();

        dprintf(channel[1], "%s %lld %lld %lld %s", m->core.name, (long long)m->cache[UK_L1].size,
                (long long)m->cache[UK_L2].size, (long long)m->cache[UK_LLC].size, refused ? why : "");
        _exit(0);
    }
    close(channel[1]);
    memset(text, 0, size);
    for (size_t n = 0; n + 1 < size;) {
        const ssize_t got = read(channel[0], text + n, size - 1 - n);

        if (got <= 0)
            break;
        n += (size_t)got;
    }
    close(channel[0]);
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

/* A name selects a row of this architecture, with the caches of this CPU. Names of other architectures are
 * refused, and this CPU's row is used. */
static void environment_names_a_row(void **state) {
    char own[800], text[800], expected[1000];
    const struct uk_core *other = NULL, *foreign = NULL;

    (void)state;
    unsetenv("UK_ISA");
    see(NULL, own, sizeof own);
    const size_t name = strcspn(own, " ");

    for (int i = 0; uk_core_at(i); i++) {
        const struct uk_core *row = uk_core_at(i);

        if (row->arch != UK_ARCH_HERE)
            foreign = row;
        else if (strlen(row->name) != name || strncmp(row->name, own, name))
            other = row;
    }
    assert_true(other && foreign);
    see("", text, sizeof text);
    assert_string_equal(text, own);
    see(other->name, text, sizeof text);
    snprintf(expected, sizeof expected, "%s%s", other->name, own + name);
    assert_string_equal(text, expected);
    const char *const wrong[] = {foreign->name, "sse9", "interp"};
    for (int i = 0; i < 3; i++) {
        see(wrong[i], text, sizeof text);
        snprintf(expected, sizeof expected, "%sUK_MACHINE=%s names no core of this architecture; use one of ",
                 own, wrong[i]);
        assert_memory_equal(text, expected, strlen(expected));
        assert_non_null(strstr(text + strlen(expected) - 1, other->name));
        assert_true(text[strlen(text) - 1] != ',');
    }
}

/* ---- cycles ---- */

static double cycles(const char *row, int bytes, struct uk_counts n) {
    const struct uk_core *core = uk_core_find(row);

    return uk_cost_cycles(core, uk_core_vectors(core, bytes), &n);
}

static void ports_are_shared(void **state) {
    (void)state;
    /* Two FMAs and two loads per cycle, on separate ports. */
    assert_true(cycles("zen3", 32, (struct uk_counts){.fma = 12, .load = 8}) == 6);
    assert_true(cycles("zen3", 32, (struct uk_counts){.fma = 4, .load = 14}) == 7);
    /* A 512-bit operation takes a port for two cycles. */
    assert_true(cycles("zen4", 64, (struct uk_counts){.fma = 12}) == 12);
    assert_true(cycles("zen4", 32, (struct uk_counts){.fma = 12}) == 6);
    /* 512-bit shuffles use one of the two FMA ports; 256-bit ones have a port of their own. */
    assert_true(cycles("golden_cove", 64, (struct uk_counts){.fma = 4, .shuffle = 8}) == 8);
    assert_true(cycles("golden_cove", 64, (struct uk_counts){.fma = 10, .shuffle = 6}) == 8);
    assert_true(cycles("golden_cove", 32, (struct uk_counts){.fma = 10, .shuffle = 4}) == 5);
    /* A load that merges into a register takes an FMA port; on AMD it takes none. */
    assert_true(cycles("golden_cove", 64, (struct uk_counts){.fma = 12, .load = 6, .merge = 6}) == 9);
    assert_true(cycles("zen5", 64, (struct uk_counts){.fma = 12, .load = 6, .merge = 6}) == 6);
    /* An in-order core: a vector load takes two cycles, in which no FMA begins. */
    assert_true(cycles("cortex-a53", 16, (struct uk_counts){.fma = 24, .load = 3}) == 30);
    /* 16 instructions take 4 cycles if 4 are issued per cycle, though their ports need less. */
    assert_true(cycles("haswell", 32, (struct uk_counts){.fma = 4, .load = 4, .other = 8}) == 4);
    assert_true(cycles("haswell", 32, (struct uk_counts){0}) == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environment_names_a_row), /* first: this process must not have read UK_MACHINE */
        cmocka_unit_test(rows_are_sound),          cmocka_unit_test(cores_have_sets),
        cmocka_unit_test(cpus_have_rows),          cmocka_unit_test(ports_are_shared),
    };

    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
