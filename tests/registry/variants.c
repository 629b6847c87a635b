/* SPDX-License-Identifier: Apache-2.0 */
/* Every row has the variants that kernels.def states; each has a function if its row has one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "registry/registry.h"

static const int all[] = {UK_PREFETCHING, UK_PACKING, UK_RESOLVED};

static void rows_have_what_they_state(void **state) {
    int found = 0;

    (void)state;
    for (int i = 0; i < uk_kernel_count(); i++)
        for (size_t j = 0; j < sizeof all / sizeof *all; j++) {
            const struct uk_variant *v = uk_kernel_variant(uk_kernel_at(i), all[j]);

            assert_int_equal(v != NULL, (uk_kernel_at(i)->variants & all[j]) != 0);
            if (!v)
                continue;
            found++;
            assert_ptr_equal(v->kernel, uk_kernel_at(i)->function);
            assert_int_equal(v->function != NULL, uk_kernel_at(i)->function != NULL);
            assert_true(!v->function || (v->variant == all[j] && v->function != uk_kernel_at(i)->function));
        }
    assert_true(found > 0);
}

/* Exactly the kernels of small products have the variant with prepared calls. */
static void small_products_are_resolved(void **state) {
    (void)state;
    for (int i = 0; i < uk_kernel_count(); i++) {
        const enum uk_op_form form = uk_kernel_at(i)->operation->form;

        assert_int_equal(form == UK_OP_SMALL || form == UK_OP_SMALL_TA,
                         (uk_kernel_at(i)->variants & UK_RESOLVED) != 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_what_they_state),
        cmocka_unit_test(small_products_are_resolved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
