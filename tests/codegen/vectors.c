/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums that are converted to bytes stay in vectors: assembly for x86-64 neither converts single floats nor
 * moves single elements, even if LLVM unrolls short rows of bytes in a loop over pixels.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "test_context.h"

static char *assembly_of(const char *text, const char *target) {
    const struct uk_options options = {.target = target};
    struct uk_program *p = parse_in(context, "bytes.uk", text);
    char *assembly;
    size_t length;

    if (uk_emit(p, &options, UK_EMIT_ASM, &assembly, &length))
        fail_msg("%s", uk_context_message(context));
    uk_program_destroy(p);
    return assembly;
}

static char *requantized(const char *type, int columns, const char *target, const char *steps) {
    char text[512];

    snprintf(text, sizeof text,
             "tensor x i32 [P, %d]\ntensor b i32 [%d]\ntensor s f32 [%d]\ntensor y %s [P, %d]\n"
             "y[p, c] = %s(round(f32(x[p, c] + b[c]) * s[c]) + 3)\n%s",
             columns, columns, columns, type, columns, type, steps);
    return assembly_of(text, target);
}

static void check(const char *type, int columns, const char *target, const char *steps) {
    static const char *const single[] = {"vcvttss2si", "vpextrb", "vpextrd", "vpinsrd", "vinsertps"};

    char *assembly = requantized(type, columns, target, steps);
    assert_non_null(strstr(assembly, "vcvttps2dq"));
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        if (strstr(assembly, single[i]))
            fail_msg("%d of %s for %s: %s", columns, type, target, single[i]);
    uk_text_free(assembly);
}

static void bytes_are_vectors(void **state) {
    static const char *const type[] = {"u8", "i8"}, *const target[] = {"x86_64-avx2", "x86_64-avx512"};

    (void)state;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            check(type[i], 144, target[k], "");
            check(type[i], 144, target[k], "schedule\nsplit y.c 16 -> co ci\nreorder y.co y.p y.ci\n");
        }
}

/* Short rows end with a masked vector. */
static void short_rows_are_vectors(void **state) {
    static const int columns[] = {24, 72, 88, 127};

    (void)state;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        check("u8", columns[i], "x86_64-avx512", "");
}

/* Narrows 32 bytes together, and stores them at once. */
static void bytes_fill_vectors(void **state) {
    (void)state;
    char *assembly = requantized("u8", 96, "x86_64-avx2", "");
    assert_non_null(strstr(assembly, "vpackuswb\t%ymm"));
    uk_text_free(assembly);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes_are_vectors),
                                       cmocka_unit_test(short_rows_are_vectors),
                                       cmocka_unit_test(bytes_fill_vectors)};

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
