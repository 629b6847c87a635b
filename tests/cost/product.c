/* SPDX-License-Identifier: Apache-2.0 */
/* Cycles of a product's tiles, added up here tile by tile, for all kernels of products on the machine of each
 * row of cores.def that has their vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "cost/cost.h"
#include "registry/operation.h"
#include "ukernels.h"

/* Numbers of rows and columns: fewer than a tile, whole tiles, and beyond. */
static const int64_t extents[] = {1, 2, 3, 5, 8, 14, 15, 16, 17, 29, 33, 64, 100};
enum { EXTENTS = sizeof extents / sizeof *extents };

static bool has_tile(const struct uk_kernel *k) {
    const enum uk_op_form form = uk_kernel_operation(k)->form;

    return uk_kernel_fma(k) > 0 &&
           (form <= UK_OP_RAB || form == UK_OP_SAB || form == UK_OP_SMALL || form == UK_OP_SMALL_TA);
}

/* Cycles of a k iteration of one tile. */
static double tile_cycles(const struct uk_core *core, const struct uk_kernel *k, int64_t rows,
                          int64_t columns) {
    const struct uk_product_kernel p = uk_product_kernel(k);
    const int64_t whole = (rows + p.row_step - 1) / p.row_step * p.row_step;
    const struct uk_counts n = uk_product_counts(&p, (double)whole, columns);
    const double cycles = uk_cost_cycles(core, uk_core_vectors(core, 64), &n);

    const double latency = uk_kernel_state(k) ? core->tiles.latency / 16.0 : core->fma_latency,
                 copy = uk_kernel_state(k) && rows < 16 ? core->tiles.stored / 16.0 : 0;

    return (cycles > latency ? cycles : latency) + copy;
}

static bool can_have(const struct uk_core *core, const struct uk_kernel *k) {
    return !uk_kernel_state(k) || core->tiles.product.ports;
}

/* The rows of tile i of `tiles`: equal numbers, or one more. */
static int64_t even_rows(int64_t m, int64_t tiles, int64_t i) {
    return m * (i + 1) / tiles - m * i / tiles;
}

static double sum_of_tiles(const struct uk_core *core, const struct uk_kernel *k, int64_t rows, int64_t m,
                           int64_t n) {
    const int64_t mr = uk_kernel_mr(k), nr = uk_kernel_nr(k), each = rows ? rows : mr,
                  tiles = (m + each - 1) / each;
    double cycles = 0;

    for (int64_t i = 0; i < tiles; i++)
        for (int64_t j = 0; j < n; j += nr) {
            const int64_t left = m - i * rows, last = left < rows ? left : rows;

            cycles += tile_cycles(core, k, rows ? last : even_rows(m, tiles, i), n - j < nr ? n - j : nr);
        }
    return cycles;
}

static void compare(const struct uk_core *core, const struct uk_kernel *k, int64_t rows, int64_t m,
                    int64_t n) {
    const struct uk_product_kernel p = uk_product_kernel(k);
    const double expected = sum_of_tiles(core, k, rows, m, n),
                 cycles = uk_product_iteration(core, uk_core_vectors(core, 64), &p, rows, m, n);

    if (cycles < expected * (1 - 1e-9) || cycles > expected * (1 + 1e-9))
        fail_msg("%s, %s, %lld x %lld in tiles of %lld rows: %g cycles instead of %g", core->name,
                 uk_kernel_symbol(k), (long long)m, (long long)n, (long long)rows, cycles, expected);
}

static void tiles_add_up(void **state) {
    int kernels = 0;

    (void)state;
    for (int c = 0; uk_core_at(c); c++)
        for (int i = 0; i < uk_kernel_count() && !uk_core_at(c)->device.lanes; i++) {
            const struct uk_core *core = uk_core_at(c);
            const struct uk_kernel *k = uk_kernel_at(i);

            kernels += has_tile(k);
            for (int m = 0; m < EXTENTS && has_tile(k) && can_have(core, k); m++)
                for (int n = 0; n < EXTENTS; n++) {
                    compare(core, k, uk_kernel_mr(k), extents[m], extents[n]);
                    compare(core, k, 0, extents[m], extents[n]);
                }
        }
    assert_true(kernels > 0);
}

/* A whole tile has the instructions of its row, and conversions, which the row does not count. */
static void whole_tiles_are_rows(void **state) {
    (void)state;
    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);
        const struct uk_product_kernel p = uk_product_kernel(k);

        if (!has_tile(k))
            continue;
        const struct uk_counts n = uk_product_counts(&p, p.mr, p.nr);
        const double converts = p.converts_b + p.converts_a;

        assert_true(n.fma + n.bf16 + n.tile == uk_kernel_fma(k));
        assert_float_equal(n.load + n.tile_load, uk_kernel_loads(k), 1e-6);
        assert_true(n.shuffle + n.other == uk_kernel_other(k) + converts);
        assert_true(n.merge <= n.load + converts && (n.tile > 0) == (n.tile_load > 0));
    }
}

/* Fewer rows or columns take less, down to one step of either. */
static void parts_take_less(void **state) {
    (void)state;
    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);
        const struct uk_product_kernel p = uk_product_kernel(k);

        for (int rows = p.row_step; has_tile(k) && rows < p.mr; rows += p.row_step)
            assert_true(uk_product_counts(&p, rows, p.nr).fma < p.fma);
        for (int n = p.column_step; has_tile(k) && !p.shares_vectors && n < p.nr; n += p.column_step) {
            assert_true(uk_product_counts(&p, p.mr, n).fma < p.fma);
            assert_true(uk_product_counts(&p, p.mr, n - p.column_step + 1).fma ==
                        uk_product_counts(&p, p.mr, n).fma);
        }
    }
}

static void rows_are_even(void **state) {
    (void)state;
    for (int mr = 1; mr <= 16; mr++)
        for (int step = 1; step <= mr; step++)
            for (int64_t m = 1; m <= 100 && mr % step == 0; m++) {
                const int64_t rows = uk_product_rows(m, mr, step), tiles = (m + rows - 1) / rows;

                assert_true(rows >= 1 && rows <= mr && rows % step == 0);
                assert_true(tiles == (m + mr - 1) / mr);
                /* A step less would be too low for as many tiles. */
                assert_true((rows - step) * tiles < m);
            }
}

/* Cycles per element of C and term of a kernel on a core, for whole tiles. */
static double term_cycles(const char *core, const char *symbol) {
    const struct uk_core *c = uk_core_find(core);
    const struct uk_kernel *k = uk_kernel_find(symbol);

    assert_true(c && k);
    return tile_cycles(c, k, uk_kernel_mr(k), uk_kernel_nr(k)) /
           (uk_kernel_mr(k) * uk_kernel_nr(k) * uk_kernel_kr(k));
}

/* bf16 is widened where vdpbf16ps is slower than the multiply-adds that it replaces, and only there. */
static void slow_dot_products_are_replaced(void **state) {
    static const char *const slow[] = {"golden_cove", "redwood_cove"}, *const fast[] = {"zen4", "zen5"};
    static const char *const widening = "uk_bgemm_ra_14x64_avx512_intrin",
                             *const dots = "uk_bgemm_ra_14x32_avx512bf16_intrin";

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_true(term_cycles(slow[i], widening) < 0.7 * term_cycles(slow[i], dots));
        assert_true(term_cycles(fast[i], dots) < 0.7 * term_cycles(fast[i], widening));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_add_up),
        cmocka_unit_test(whole_tiles_are_rows),
        cmocka_unit_test(parts_take_less),
        cmocka_unit_test(rows_are_even),
        cmocka_unit_test(slow_dot_products_are_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
