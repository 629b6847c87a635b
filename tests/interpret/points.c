/* SPDX-License-Identifier: Apache-2.0 */
/* Compares single elements of a declaration's result with the whole result. */
#include <stdarg.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>
#include "language/language.h"
#include "interpret/interpret.h"
#include "test_context.h"

/* Small integers: sums of them are exact in any order. */
static void fill(float *x, int n, int seed) {
    for (int i = 0; i < n; i++)
        x[i] = (float)((i * 7 + seed) % 17 - 8);
}

/* Computing single elements gives the values that each form stores, and writes nothing. */
static void points_of_a_declaration(void **state) {
    static const char *const text[] = {
        "intrinsic k\n  tensor a f32 [I, P]\n  tensor c f32 [I, J] stride [ldc, 1]\n"
        "  c[i, j] = sum(p) a[i, p] * pad(a[i, p + j - 1], 0) * 0.3\n  compute void k(ptr a)\nend\n",
        "intrinsic k\n  tensor a f32 [I, P]\n  tensor c f32 [I, J] stride [ldc, 1]\n"
        "  c[i, j] = max(p) a[i, p] * f32(index(j - 2))\n  compute void k(ptr a)\nend\n"};
    enum { I = 3, P = 7, J = 5, LDC = 6, COUNT = I * J };
    int64_t index[2 * COUNT], element[COUNT];
    union uk_value value[COUNT];
    const struct uk_points points = {COUNT, index, element, value};

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        index[2 * i] = i / J;
        index[2 * i + 1] = i % J;
    }
    for (int form = 0; form < UK_FORMS * 2; form++) {
        struct uk_arena arena = {0};
        struct uk_intrinsic *k;
        float a[I * P], c[I * LDC], before[I * LDC];
        const struct uk_values v = {.size = (int64_t[]){I, P, J, LDC}, .tensor = (void *[]){a, c}};

        fill(a, I * P, 1);
        fill(c, I * LDC, 2);
        memcpy(before, c, sizeof c);
        uk_context_enter(context, "k");
        if (uk_parse_intrinsic(context, &arena, text[form / UK_FORMS], &k))
            fail_msg("%s", uk_context_message(context));
        assert_string_equal(k->declaration->sizes->next->next->name, "J");
        if (uk_interpret_points(k, (enum uk_form_kind)(form % UK_FORMS), &v, &points))
            fail_msg("%s", uk_context_message(context));
        assert_memory_equal(before, c, sizeof c);
        assert_int_equal(uk_interpret_form(k, (enum uk_form_kind)(form % UK_FORMS), &v), UK_OK);
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(element[i], i / J * LDC + i % J);
            assert_true(value[i].d == (double)c[element[i]]);
        }
        uk_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(points_of_a_declaration)};

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
