/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a launch on a GPU of two compute units of two SIMDs, calculated by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "machine/machine.h"

static const struct uk_core core = {.l2 = {.bytes = 4},
                                    .device = {.lanes = 64,
                                               .registers = 256,
                                               .granule = 4,
                                               .waves = 10,
                                               .simds = 2,
                                               .units = 2,
                                               .shared_bytes = 65536,
                                               .line = 64,
                                               .memory_rate = 8}};

static struct uk_launch_time time_of(const struct uk_block_time *block, uint64_t blocks, int waves,
                                     int resident, double distinct_lines) {
    const struct uk_device_launch l = {blocks, block, waves, resident, distinct_lines};
    struct uk_launch_time t;

    assert_true(uk_device_time(&core, &l, &t));
    return t;
}

static void expect(struct uk_launch_time t, enum uk_device_bound bound, double cycles, double busy,
                   double tail) {
    assert_int_equal(t.bound, bound);
    assert_true(t.cycles == cycles);
    assert_true(t.busy == busy);
    assert_true(t.tail == tail);
}

static void test_bounds(void **state) {
    const struct uk_block_time issue = {.issue = {100, 60, 80, 20}, .alone = 10},
                               matrix = {.issue = {100}, .matrix = 130, .alone = 10},
                               shared = {.shared = 70, .alone = 10}, lines = {.lines = 3, .alone = 10},
                               alone = {.issue = {20}, .alone = 90};

    (void)state;
    /* Two waves on two SIMDs; the unit of vectors is the busiest. */
    expect(time_of(&issue, 1, 2, 1, 0), UK_DEVICE_BOUND_ISSUE, 50, 0.5, 1);
    expect(time_of(&issue, 1, 1, 1, 0), UK_DEVICE_BOUND_ISSUE, 100, 0.5, 1);
    expect(time_of(&matrix, 1, 1, 1, 0), UK_DEVICE_BOUND_MATRIX, 130, 0.5, 1);
    expect(time_of(&matrix, 1, 2, 1, 0), UK_DEVICE_BOUND_MATRIX, 65, 0.5, 1);
    expect(time_of(&shared, 1, 1, 1, 0), UK_DEVICE_BOUND_SHARED, 70, 0.5, 1);
    expect(time_of(&lines, 1, 1, 1, 3), UK_DEVICE_BOUND_L2, 48, 0.5, 1);
    expect(time_of(&alone, 1, 1, 1, 0), UK_DEVICE_BOUND_LATENCY, 90, 0.5, 1);
    /* Memory: 20 lines of 64 bytes at 8 bytes a cycle. */
    expect(time_of(&alone, 1, 1, 1, 20), UK_DEVICE_BOUND_MEMORY, 160, 0.5, 1);
    expect(time_of(NULL, 0, 1, 1, 0), UK_DEVICE_BOUND_ISSUE, 0, 0, 0);
}

/* Blocks of 20 cycles of one SIMD that take 90 alone. */
static void test_groups(void **state) {
    struct uk_block_time block[12];

    (void)state;
    for (int i = 0; i < 12; i++)
        block[i] = (struct uk_block_time){.issue = {20}, .alone = 90};
    expect(time_of(block, 2, 1, 1, 0), UK_DEVICE_BOUND_LATENCY, 90, 1, 0);
    expect(time_of(block, 3, 1, 1, 0), UK_DEVICE_BOUND_LATENCY, 180, 0.75, 0.5);
    /* Half of the registers: two at a time hide one another's latency. */
    expect(time_of(block, 4, 1, 1, 0), UK_DEVICE_BOUND_LATENCY, 180, 1, 0);
    expect(time_of(block, 4, 1, 2, 0), UK_DEVICE_BOUND_LATENCY, 90, 1, 0);
    /* Six of 20 cycles on each unit's two SIMDs: three on each. */
    expect(time_of(block, 12, 1, 6, 0), UK_DEVICE_BOUND_LATENCY, 90, 1, 0);
    for (int i = 0; i < 12; i++)
        block[i].issue[UK_ISSUE_VECTOR] = 40;
    expect(time_of(block, 12, 1, 6, 0), UK_DEVICE_BOUND_ISSUE, 120, 1, 0);
}

/* The first blocks go to the units in turn; a later one to the unit that is free first. */
static void test_order(void **state) {
    const struct uk_block_time block[] = {
        {.alone = 100}, {.alone = 30}, {.alone = 30}, {.alone = 30}, {.alone = 20}};

    (void)state;
    expect(time_of(block, 4, 1, 1, 0), UK_DEVICE_BOUND_LATENCY, 100, 0.95, 1 - 90.0 / 100);
    expect(time_of(block, 5, 1, 1, 0), UK_DEVICE_BOUND_LATENCY, 110, 105.0 / 110, 1 - 100.0 / 110);
    /* A group takes as long as its longest block: 100 and 30 beside 30 and 30, then 20. */
    expect(time_of(block, 5, 1, 2, 0), UK_DEVICE_BOUND_LATENCY, 100, 0.75, 0.5);
}

static void test_resident(void **state) {
    const struct uk_device *d = &core.device;

    (void)state;
    assert_int_equal(uk_device_resident(d, 128, 0, 64), 4);
    assert_int_equal(uk_device_resident(d, 129, 0, 64), 2); /* 132 registers by granule */
    assert_int_equal(uk_device_resident(d, 64, 0, 256), 2);
    assert_int_equal(uk_device_resident(d, 64, 0, 257), 1); /* 5 waves */
    assert_int_equal(uk_device_resident(d, 1, 0, 64), 20);  /* 10 waves a SIMD at most */
    assert_int_equal(uk_device_resident(d, 64, 32768, 64), 2);
    assert_int_equal(uk_device_resident(d, 64, 32769, 64), 1);
    assert_int_equal(uk_device_resident(d, 257, 0, 64), 0);
    assert_int_equal(uk_device_registers(10, 0), 10);
    assert_int_equal(uk_device_registers(10, 7), 19);
}

/* Every GPU's row is complete. */
static void test_rows(void **state) {
    const struct uk_core *c;
    int gpus = 0;

    (void)state;
    for (int i = 0; (c = uk_core_at(i)); i++)
        if (c->device.units) {
            const struct uk_device *d = &c->device;

            gpus++;
            assert_true(d->line > 0 && d->latency.shared > 0 && d->latency.l2 > d->latency.shared);
            assert_true(d->latency.memory > d->latency.l2 && d->memory_rate > 0 && d->launch > 0 &&
                        d->code > 0);
            assert_true(d->f64_cycles > 0 && d->fma.f32 > 0 && d->fma.f64 > 0 && d->fma.f16 > 0 &&
                        d->fma.i8 > 0);
        }
    assert_int_equal(gpus, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),   cmocka_unit_test(test_groups), cmocka_unit_test(test_order),
        cmocka_unit_test(test_resident), cmocka_unit_test(test_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
