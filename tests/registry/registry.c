/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the registry: names, defaults, declarations, and which kernels UK_ISA leaves. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "registry/registry.h"

static void rows_are_sound(void **state) {
    const int count = uk_kernel_count();
    char symbol[128];

    (void)state;
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        const struct uk_kernel *k = uk_kernel_at(i);

        snprintf(symbol, sizeof symbol, "uk_%s_%dx%d_%s_%s", k->op, k->mr, k->nr, k->isa, k->impl);
        assert_string_equal(k->symbol, symbol);
        assert_ptr_equal(uk_kernel_find(symbol), k);
        /* The function exists if the row's architecture is this build's; tests of other architectures see
         * other rows. */
        assert_int_equal(k->function != NULL, !strcmp(k->arch, "any") || !strcmp(k->arch, ARCH));
        assert_true(k->function || !uk_kernel_runs_here(k));
        assert_true(k->kr >= 1 && k->row_step >= 1 && k->mr % k->row_step == 0 && k->column_step >= 1);
        assert_true(k->nr % k->column_step == 0 || k->operation->form == UK_OP_DEPTHWISE_TILE);
        assert_true(k->fma >= 0 && k->loads > 0);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(k->symbol, uk_kernel_at(j)->symbol);
    }
    assert_null(uk_kernel_at(count));
    assert_null(uk_kernel_at(-1));
    assert_null(uk_kernel_find("uk_sgemm_0x0_avx2_asm"));
}

/* uk_kernel_at() lists rows by rank, without duplicates; rows without a rank are last. The order in
 * kernels.def has no meaning. */
static void rows_are_listed_by_rank(void **state) {
    const struct uk_kernel *before = uk_kernel_at(0), *k;

    (void)state;
    assert_true(before->rank > 0);
    for (int i = 1; (k = uk_kernel_at(i)); before = k, i++)
        if (before->rank ? k->rank && k->rank <= before->rank : k->rank)
            fail_msg("%s of rank %d comes before %s of rank %d", before->symbol, before->rank, k->symbol,
                     k->rank);
}

/* The public functions read the fields of a row whose fields all differ. */
static void fields_are_read(void **state) {
    static const struct uk_kernel k = {.symbol = "s",
                                       .op = "o",
                                       .isa = "i",
                                       .impl = "m",
                                       .arch = "a",
                                       .features = "f",
                                       .cores = "c",
                                       .parameters = "(void)",
                                       .function = (uk_function *)fields_are_read,
                                       .mr = 1,
                                       .nr = 2,
                                       .kr = 3,
                                       .row_step = 4,
                                       .column_step = 8,
                                       .fma = 5,
                                       .loads = 6,
                                       .other = 7,
                                       .scope = UK_EXEC_BLOCK,
                                       .a_space = UK_SPACE_GLOBAL,
                                       .b_space = UK_SPACE_SHARED,
                                       .c_space = UK_SPACE_PRIVATE};

    (void)state;
    assert_string_equal(uk_kernel_symbol(&k), "s");
    assert_string_equal(uk_kernel_op(&k), "o");
    assert_string_equal(uk_kernel_isa(&k), "i");
    assert_string_equal(uk_kernel_impl(&k), "m");
    assert_string_equal(uk_kernel_arch(&k), "a");
    assert_string_equal(uk_kernel_features(&k), "f");
    assert_string_equal(uk_kernel_cores(&k), "c");
    assert_string_equal(uk_kernel_parameters(&k), "(void)");
    assert_true(uk_kernel_function(&k) == k.function);
    assert_int_equal(uk_kernel_mr(&k), 1);
    assert_int_equal(uk_kernel_nr(&k), 2);
    assert_int_equal(uk_kernel_kr(&k), 3);
    assert_int_equal(uk_kernel_row_step(&k), 4);
    assert_int_equal(uk_kernel_column_step(&k), 8);
    assert_true(uk_kernel_fma(&k) == 5 && uk_kernel_loads(&k) == 6 && uk_kernel_other(&k) == 7);
    assert_int_equal(uk_kernel_scope(&k), UK_EXEC_BLOCK);
    for (int i = -1; i < 5; i++)
        assert_int_equal(uk_kernel_space(&k, i), i == 0   ? UK_SPACE_GLOBAL
                                                 : i == 1 ? UK_SPACE_SHARED
                                                 : i == 2 ? UK_SPACE_PRIVATE
                                                          : UK_SPACE_GENERIC);
}

/* A row for certain cores has the same operation and tile as a row for all cores. */
static void rows_of_cores_have_one_for_all(void **state) {
    const int count = uk_kernel_count();
    int of_cores = 0;

    (void)state;
    for (int i = 0; i < count; i++) {
        const struct uk_kernel *k = uk_kernel_at(i);
        bool found = !k->cores;

        of_cores += k->cores != NULL;
        for (int j = 0; j < count && !found; j++) {
            const struct uk_kernel *other = uk_kernel_at(j);

            found = !other->cores && !strcmp(k->op, other->op) && k->mr == other->mr && k->nr == other->nr &&
                    !strcmp(k->isa, other->isa);
        }
        if (!found)
            fail_msg("%s: no row for all cores", k->symbol);
    }
    assert_true(of_cores > 0);
}

/* The element type of a row of ops.def is that of its declaration's first tensor; the second has another type
 * only for products of u8 and i8. */
static void elements_are_declared(void **state) {
    static const char *const types[] = {
        [UK_ELEMENT_F16] = "f16", [UK_ELEMENT_F16_F32] = "f16", [UK_ELEMENT_BF16] = "bf16",
        [UK_ELEMENT_F32] = "f32", [UK_ELEMENT_F64] = "f64",     [UK_ELEMENT_I8] = "i8",
        [UK_ELEMENT_U8] = "u8",   [UK_ELEMENT_U8_I8] = "u8",    [UK_ELEMENT_I8_U8] = "i8",
        [UK_ELEMENT_I16] = "i16", [UK_ELEMENT_I32] = "i32",     [UK_ELEMENT_I64] = "i64"};

    (void)state;
    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);
        const enum uk_element e = k->operation->element;
        const char *first = strstr(k->declaration, "tensor "), *second = strstr(first + 1, "tensor ");
        char type[8] = "", other[8] = "";

        assert_int_equal(sscanf(first, "tensor %*s %7s", type), 1);
        assert_int_equal(sscanf(second, "tensor %*s %7s", other), 1);
        const bool mixes =
            (!strcmp(type, "u8") && !strcmp(other, "i8")) || (!strcmp(type, "i8") && !strcmp(other, "u8"));

        if (strcmp(type, types[e]) || mixes != (e == UK_ELEMENT_U8_I8 || e == UK_ELEMENT_I8_U8))
            fail_msg("%s: its element in ops.def is not that of its first tensors, %s and %s", k->op, type,
                     other);
    }
}

static void groups_are_filled_in(void **state) {
    static const char expected[] =
        "intrinsic uk_igemm_8x12_dotprod_asm requires dotprod\n"
        "  tensor a u8 [I, P] layout (i, p) -> [p / 4, i, p % 4] stride [32, 4, 1] over [8, P]\n"
        "  tensor b i8 [P, J] layout (p, j) -> [p / 4, j, p % 4] stride [48, 4, 1] over [P, 12]\n"
        "  tensor c i32 [I, J] stride [ldc, 1]\n"
        "  assume 1 <= I <= 8 and 1 <= J <= 12 and P % 4 == 0\n"
        "  c[i, j] = sum(p) i32(a[i, p]) * i32(b[p, j])\n";
    char text[1024];

    (void)state;
    uk_kernel_declaration(uk_kernel_find("uk_igemm_8x12_dotprod_asm"), text, sizeof text);
    assert_memory_equal(text, expected, sizeof expected - 1);
}

static void declaration_is_filled_in(void **state) {
    static const char expected[] =
        "intrinsic uk_sgemm_6x16_avx2_asm requires avx2, fma\n"
        "  tensor a f32 [I, P] stride [1, 6] over [6, P]\n"
        "  tensor b f32 [P, J] stride [16, 1] over [P, 16]\n"
        "  tensor c f32 [I, J] stride [ldc, 1]\n"
        "  assume 1 <= I <= 6 and 1 <= J <= 16\n"
        "  c[i, j] = sum(p) a[i, p] * b[p, j]\n"
        "  compute void uk_sgemm_6x16_avx2_asm(i64 P, ptr a, ptr b, ptr c, i64 ldc, i64 0, i64 I, i64 J)\n"
        "  update void uk_sgemm_6x16_avx2_asm(i64 P, ptr a, ptr b, ptr c, i64 ldc, i64 1, i64 I, i64 J)\n"
        "end\n";
    const struct uk_kernel *k = uk_kernel_find("uk_sgemm_6x16_avx2_asm");
    char text[1024], small[8];

    (void)state;
    assert_non_null(k);
    assert_int_equal(uk_kernel_declaration(k, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
    assert_int_equal(uk_kernel_declaration(k, small, sizeof small), strlen(expected));
    assert_string_equal(small, "intrins");
    assert_int_equal(uk_kernel_declaration(k, NULL, 0), strlen(expected));
}

static void declaration_follows_attributes(void **state) {
    static const char spaced[] = "intrinsic uk_sgemm_6x16_avx2_asm scope wave\n"
                                 "  tensor a f32 [I, P] stride [1, 6] over [6, P]\n"
                                 "  tensor b f32 [P, J] stride [16, 1] over [P, 16] in shared\n"
                                 "  tensor c f32 [I, J] stride [ldc, 1] in register\n"
                                 "  assume I == 6 and J == 16\n";
    struct uk_kernel k = *uk_kernel_find("uk_sgemm_6x16_avx2_asm");
    char text[1024];

    (void)state;
    k.edges = UK_EDGES_ROWS;
    uk_kernel_declaration(&k, text, sizeof text);
    assert_non_null(strstr(text, "assume 1 <= I <= 6 and J == 16\n"));
    k.edges = UK_EDGES_COLS;
    uk_kernel_declaration(&k, text, sizeof text);
    assert_non_null(strstr(text, "assume I == 6 and 1 <= J <= 16\n"));
    k.edges = UK_EDGES_FULL;
    k.features = "";
    uk_kernel_declaration(&k, text, sizeof text);
    assert_non_null(strstr(text, "assume I == 6 and J == 16\n"));
    assert_non_null(strstr(text, "intrinsic uk_sgemm_6x16_avx2_asm\n"));
    k.scope = UK_EXEC_WAVE;
    k.a_space = UK_SPACE_GLOBAL;
    k.b_space = UK_SPACE_SHARED;
    k.c_space = UK_SPACE_PRIVATE;
    uk_kernel_declaration(&k, text, sizeof text);
    assert_memory_equal(text, spaced, sizeof spaced - 1);
    k.features = "avx2,rvp";
    uk_kernel_declaration(&k, text, sizeof text);
    assert_non_null(strstr(text, "intrinsic uk_sgemm_6x16_avx2_asm requires avx2, rvp scope wave\n"));
    k.declaration = "a [I, P]A_OVER";
    k.a_over = 3;
    uk_kernel_declaration(&k, text, sizeof text);
    assert_string_equal(text, "a [I, P] over [I, P + 3]");
}

/* ---- UK_ISA ---- */

/* An instruction set, a feature of it that the next lower one lacks, whether this CPU has all of it, and the
 * library's message. */
struct isa {
    const char *name, *feature;
    bool here;
    const char *says;
};

#include ISAS_OF_ARCH

/* UK_ISA is read once per process, so a child, forked before this process reads it, prints what it
 * selects. */
static void see(const char *isa, char *text, size_t size) {
    const char *message;
    int channel[2], status;
    ssize_t n;

    assert_int_equal(pipe(channel), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        if (isa)
            setenv("UK_ISA", isa, 1);
        else
            unsetenv("UK_ISA");
        status = (int)uk_cpu_status(&message);
        n = dprintf(channel[1], "%d %d %d %s", status, uk_cpu_has(low().feature), uk_cpu_has(high().feature),
                    message);
        _exit(n < 0);
    }
    close(channel[1]);
    n = read(channel[0], text, size - 1);
    close(channel[0]);
    assert_true(n > 0);
    text[n] = 0;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

/* With UK_ISA=<isa>, the process has that set's features if this CPU does; otherwise it is refused, and
 * generic code is used. */
static void sees(struct isa isa, bool low_too, bool high_too) {
    char text[256], expected[256];

    if (isa.here)
        snprintf(expected, sizeof expected, "0 %d %d %s", low_too, high_too, isa.says ? isa.says : "");
    else
        snprintf(expected, sizeof expected, "8 0 0 UK_ISA=%s needs ", isa.name);
    see(isa.name, text, sizeof text);
    if (isa.here) {
        assert_string_equal(text, expected);
    } else {
        assert_memory_equal(text, expected, strlen(expected));
        assert_non_null(strstr(text, ", which this CPU lacks; unset it or take a lower one"));
    }
}

static void environment_hides_features(void **state) {
    char text[256], expected[256];

    (void)state;
    sees((struct isa){"generic", "", true, NULL}, false, false);
    see("sse9", text, sizeof text);
    snprintf(expected, sizeof expected, "1 0 0 UK_ISA=sse9 is not an instruction set; use one of %s", known);
    assert_string_equal(text, expected);
    sees(low(), *low().feature, false);
    sees(high(), *low().feature, true);
#ifdef UNSET
    see(NULL, text, sizeof text);
    assert_string_equal(text, UNSET);
#endif
}

static void features_are_listed(void **state) {
    char name[32], cut[4];

    (void)state;
    for (int i = 0; i < uk_kernel_count();
         i++) { /* a buffer too short for the name does not change the answer */
        const char *features = uk_kernel_features(uk_kernel_at(i));
        const bool lacks = uk_cpu_lacks(features, name, sizeof name);

        assert_int_equal(uk_cpu_lacks(features, cut, sizeof cut), lacks);
        assert_memory_equal(cut, name, strlen(cut));
        assert_int_equal(uk_cpu_lacks(features, NULL, 0), lacks);
    }
    assert_false(uk_cpu_lacks("", name, sizeof name));
    assert_string_equal(name, "");
    assert_true(uk_cpu_lacks("nosuch,avx2", name, sizeof name));
    assert_string_equal(name, "nosuch");
    assert_false(uk_cpu_has("nosuch"));
}

static void every_status_has_a_text(void **state) {
    (void)state;
    for (int s = UK_OK; s <= UK_INTERNAL; s++)
        assert_true(strlen(uk_status_text((enum uk_status)s)) > 1);
    assert_string_equal(uk_status_text((enum uk_status)99), "unknown status");
}

static void library_has_the_version(void **state) {
    (void)state;
    assert_string_equal(uk_version(), UK_VERSION);
}

int main(void) {
    /* First the tests that need a process which has not read UK_ISA. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environment_hides_features),
        cmocka_unit_test(rows_are_listed_by_rank),
        cmocka_unit_test(fields_are_read),
        cmocka_unit_test(rows_are_sound),
        cmocka_unit_test(rows_of_cores_have_one_for_all),
        cmocka_unit_test(elements_are_declared),
        cmocka_unit_test(declaration_is_filled_in),
        cmocka_unit_test(groups_are_filled_in),
        cmocka_unit_test(declaration_follows_attributes),
        cmocka_unit_test(features_are_listed),
        cmocka_unit_test(library_has_the_version),
        cmocka_unit_test(every_status_has_a_text),
    };

    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
