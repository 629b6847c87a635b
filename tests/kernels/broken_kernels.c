/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the kernel test: kernels that each break one clause of the contract must be reported, for that
 * reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "check_kernel.h"
#include "registry/registry.h"

enum { MR = 4, NR = 8 };

#define PARAMETERS \
    int64_t k, const float *a, const float *b, float *c, int64_t ldc, int64_t acc, int64_t mr, int64_t nr
#define ARGUMENTS k, a, b, c, ldc, acc, mr, nr

void good(PARAMETERS);
void good(PARAMETERS) {
    uk_reference_sgemm(MR, NR, 1, ARGUMENTS);
}

static void use(float x) {
    volatile float sink = x;

    (void)sink;
}

static void reads_c(PARAMETERS) {
    const float old = c[0];

    good(ARGUMENTS);
    if (!acc)
        c[0] += 0 * old;
}

static void reads_behind_a(PARAMETERS) {
    use(*(volatile const float *)(a + k * MR));
    good(ARGUMENTS);
}

static void reads_before_b(PARAMETERS) {
    use(*(volatile const float *)(b - 1));
    good(ARGUMENTS);
}

static void reads_c_past_edge(PARAMETERS) {
    use(*(volatile const float *)(c + (mr - 1) * ldc + NR - 1));
    good(ARGUMENTS);
}

static void writes_past_edge(PARAMETERS) {
    good(ARGUMENTS);
    if (mr > 1 && nr < ldc)
        c[nr] = 0;
}

/* Races with the thread that computes these columns. */
static void rewrites_neighbour(PARAMETERS) {
    good(ARGUMENTS);
    if (mr > 1 && nr < ldc) {
        volatile uint32_t *neighbour = (volatile uint32_t *)(c + nr);
        const uint32_t same = *neighbour;

        *neighbour = same;
    }
}

static void wrong_for_k_of_5(PARAMETERS) {
    good(ARGUMENTS);
    if (k == 5)
        c[0] += 1;
}

static void writes_a(PARAMETERS) {
    good(ARGUMENTS);
    if (k > 0)
        *(float *)(uintptr_t)a += 1;
}

static void ignores_k_of_0(PARAMETERS) {
    if (k > 0)
        good(ARGUMENTS);
}

static void ignores_acc(PARAMETERS) {
    good(k, a, b, c, ldc, 0, mr, nr);
    (void)acc;
}

static void ignores_ldc(PARAMETERS) {
    good(k, a, b, c, nr, acc, mr, nr);
    (void)ldc;
}

static void cuts_ldc_to_32_bits(PARAMETERS) {
    good(k, a, b, c, (int32_t)ldc, acc, mr, nr);
}

/* With 32-bit addresses, a stride and its low 32 bits are equivalent. */
static bool has_64_bits(void) {
    return sizeof(void *) == 8;
}

static void ignores_last_k(PARAMETERS) {
    good(k > 64 ? 64 : k, a, b, c, ldc, acc, mr, nr);
}

static void uses_padding(PARAMETERS) {
    good(ARGUMENTS);
    if (k > 0)
        c[0] += 0 * a[MR - 1];
}

static void rounds_too_often(PARAMETERS) {
    good(ARGUMENTS);
    c[0] *= 1 + 0x1p-12f;
}

#include BROKEN_OF_ARCH

static const struct broken {
    const char *name;
    void (*function)(PARAMETERS);
    const char *reason;
    bool (*applies)(void);
} kernels[] = {{"reads_c", reads_c, "wrong result", NULL},
               {"reads_behind_a", reads_behind_a, "outside operand 0", NULL},
               {"reads_before_b", reads_before_b, "outside operand 1", NULL},
               {"reads_c_past_edge", reads_c_past_edge, "outside operand 2", NULL},
               {"writes_past_edge", writes_past_edge, "wrote outside its output: operand 2", NULL},
               {"rewrites_neighbour", rewrites_neighbour, "nothing between the rows of its output", NULL},
               {"wrong_for_k_of_5", wrong_for_k_of_5, "k=5", NULL},
               {"writes_a", writes_a, "wrote outside its output: operand 0", NULL},
               {"ignores_k_of_0", ignores_k_of_0, "wrong result", NULL},
               {"ignores_acc", ignores_acc, "wrong result", NULL},
               {"ignores_ldc", ignores_ldc, "wrong result", NULL},
               {"cuts_ldc_to_32_bits", cuts_ldc_to_32_bits, "strides that need 64 bits", has_64_bits},
               {"ignores_last_k", ignores_last_k, "wrong result", NULL},
               {"uses_padding", uses_padding, "wrong result", NULL},
               {"rounds_too_often", rounds_too_often, "wrong result", NULL},
               {"needs_alignment", needs_alignment, "faulted", NULL},
               {"writes_caller_stack", writes_caller_stack, "the caller's stack", NULL},
               {"illegal_instruction", illegal_instruction, "faulted", NULL},
               MACHINES_OWN};
enum { COUNT = sizeof kernels / sizeof *kernels };

/* A row of sgemm; main() adds its declaration. */
static struct uk_kernel row = {.symbol = "broken",
                               .op = "sgemm",
                               .features = "",
                               .mr = MR,
                               .nr = NR,
                               .kr = 1,
                               .a_align = 1,
                               .b_align = 1,
                               .c_align = 1};

static void is_reported(void **state) {
    const struct broken *b = *state;
    char message[512];

    if (b->applies && !b->applies())
        skip();
    if (check_kernel(&row, (void (*)(void))b->function, message, sizeof message))
        fail_msg("%s was not found out", b->name);
    if (!strstr(message, b->reason))
        fail_msg("%s was refused for another reason: %s", b->name, message);
}

static void good_passes(void **state) {
    char message[512];

    (void)state;
    if (!check_kernel(&row, (void (*)(void))good, message, sizeof message))
        fail_msg("%s", message);
}

int main(void) {
    struct CMUnitTest tests[COUNT + 1] = {cmocka_unit_test(good_passes)};

    for (int i = 0; i < uk_kernel_count(); i++)
        if (!strcmp(uk_kernel_at(i)->op, row.op))
            row.declaration = uk_kernel_at(i)->declaration;
    for (int i = 0; i < COUNT; i++)
        tests[i + 1] = (struct CMUnitTest){.name = kernels[i].name,
                                           .test_func = is_reported,
                                           .initial_state = (void *)(uintptr_t)&kernels[i]};
    return cmocka_run_group_tests_name("broken kernels", tests, NULL, NULL);
}
