/* SPDX-License-Identifier: Apache-2.0 */
/* Each field of a machine's row has a measured value, or a reason why not. The values themselves cannot be
 * tested. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "measure.h"

static void check_fields(const struct uk_lab *lab) {
    int measured = 0;

    for (const struct uk_field *f = uk_fields; f->name; f++) {
        const struct uk_answer *a = uk_lab_answer(lab, f->name);
        if (uk_field_is_absent(&lab->machine, f) || f->kind == UK_FIELD_TEXT || f->kind == UK_FIELD_ARCH) {
            assert_null(a);
            continue;
        }
        if (!a)
            fail_msg("%s has no answer for %s", f->name, lab->machine.core.name);
        if (a->reason)
            continue;
        if (!isfinite(a->value) || a->value < 0)
            fail_msg("%s of %s is %g", f->name, lab->machine.core.name, a->value);
        measured++;
    }
    assert_true(measured >= 8);
}

static void check_others(const struct uk_lab *lab) {
    for (int i = 0; i < lab->answers; i++) {
        const struct uk_answer *a = &lab->answer[i];
        bool is_field = false;
        for (const struct uk_field *f = uk_fields; f->name; f++)
            is_field = is_field || !strcmp(f->name, a->field);
        if (is_field == (a->unit != NULL))
            fail_msg("%s is %s field", a->field, is_field ? "a" : "no");
        if (!is_field)
            assert_true(isfinite(a->value) && a->value >= 0);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(a->field, lab->answer[j].field);
    }
}

static void check_machine(const struct uk_machine *m) {
    struct uk_lab *lab = uk_lab_create(m);

    assert_non_null(lab);
    assert_true(lab->points > 0 && lab->points < UK_POINTS);
    uk_lab_measure(lab, 0);
    assert_int_equal(lab->rounds, 1);
    assert_true(lab->answers < UK_ANSWERS);
    check_fields(lab);
    check_others(lab);
    uk_lab_free(lab);
}

static void own(void **state) {
    (void)state;
    check_machine(uk_machine());
}

/* The architecture's last row; on x86-64 a core with vectors of both widths, which not all CPUs have. */
static void another(void **state) {
    const struct uk_core *row = NULL, *c;
    (void)state;

    for (int i = 0; (c = uk_core_at(i)); i++)
        if (c->arch == UK_ARCH_HERE)
            row = c;
    assert_non_null(row);
    const struct uk_machine m = uk_machine_of(row);
    check_machine(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(own), cmocka_unit_test(another)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
