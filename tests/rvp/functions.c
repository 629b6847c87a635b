/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the functions of rvp.h, one per row of rvp.def, executed as instructions, with the table's C. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include "registry/rvp.h"

static const uint64_t values[] = {
    0, 1, UINT64_C(0x8182838405060708), UINT64_C(0x7fffffff80000000), UINT64_C(0xfffe7fff12348000),
};
enum { VALUES = sizeof values / sizeof *values };
static int failures, checked;

static void same(const char *name, uint64_t p, uint64_t c) {
    checked++;
    if (p != c) {
        fprintf(stderr, "uk_rvp_%s: %" PRIx64 ", not %" PRIx64 "\n", name, p, c);
        failures++;
    }
}

/* Immediates must be constants: the smallest, one or two between, and the largest of the width. */
#define RR(name) same(#name, uk_rvp_##name(a, b), uk_rvp_c_##name(0, a, b, &ov))
#define RRA(name) same(#name, uk_rvp_##name(d, a, b), uk_rvp_c_##name(d, a, b, &ov))
#define R(name) same(#name, uk_rvp_##name(a), uk_rvp_c_##name(0, a, 0, &ov))
#define I(name, immediate) same(#name, uk_rvp_##name(a, immediate), uk_rvp_c_##name(0, a, immediate, &ov))
#define I3(name) I(name, 0), I(name, 5), I(name, 7)
#define I4(name) I(name, 0), I(name, 9), I(name, 15)
#define I5(name) I(name, 0), I(name, 17), I(name, 31)
#define I6(name) I(name, 0), I(name, 31), I(name, 32), I(name, 63)
#define IA(name, immediate) same(#name, uk_rvp_##name(d, a, immediate), uk_rvp_c_##name(d, a, immediate, &ov))
#define I3A(name) IA(name, 0), IA(name, 5), IA(name, 7)
#define UK_RVP(name, form, funct3, funct7, field, saturates, cycles, width, value) \
    static void check_##name(uint64_t d, uint64_t a, uint64_t b) {                 \
        uint64_t ov = 0;                                                           \
                                                                                   \
        (void)d, (void)b;                                                          \
        form(name);                                                                \
    }
#include "registry/rvp.def"
#undef UK_RVP

int main(void) {
    for (int i = 0; i < VALUES * VALUES; i++) {
        const uint64_t d = values[i * 3 % VALUES], a = values[i / VALUES], b = values[i % VALUES];

#define UK_RVP(name, form, funct3, funct7, field, saturates, cycles, width, value) check_##name(d, a, b);
#include "registry/rvp.def"
    }
    printf("%d results\n", checked);
    return failures || checked < 100 * VALUES;
}
