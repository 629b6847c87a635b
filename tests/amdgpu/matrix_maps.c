/* SPDX-License-Identifier: Apache-2.0 */
/*
 * matrix_maps FILE: compares each digit of the lane maps of matrix.h with matrix_lanes.tsv, for shapes that
 * the simulator has no instruction of, too (gfx942's). All maps are sums of digits, so that the places of the
 * powers of two and that of 0 determine the others; tests/amdgpu/matrix.py compares results of all elements.
 * The rates of gfx90a's matrix units, in cores.def, are compared with the cycles in matrix.def.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "matrix.h"
#include "machine/machine.h"
#include "state.h"

enum { ROW, COLUMN, BLOCK, INDICES };

/* Splits the line at tabs; false: it has another number of fields. */
static bool split(char *line, char **field, int n) {
    line[strcspn(line, "\n")] = 0;
    for (int i = 0; i < n; i++) {
        char *end = line ? strchr(line, '\t') : NULL;

        field[i] = line;
        if (!line || !end != (i == n - 1))
            return false;
        if (end)
            *end++ = 0;
        line = end;
    }
    return true;
}

/* The shape from the instruction's name: v_mfma_TYPE_MxNxK..., and the type of A and B at its end. */
static struct uk_matrix shape_of(const char *name, unsigned blocks) {
    static const struct {
        const char *end;
        uint8_t type, factor_type;
    } types[] = {{"bf16_1k", T_f32, T_bf16}, {"bf16", T_f32, T_bf16}, {"f16", T_f32, T_f16},
                 {"f64", T_f64, T_f64},      {"f32", T_f32, T_f32},   {"i8", T_i32, T_i8}};
    unsigned size = 0, columns = 0, k = 0;
    struct uk_matrix m = {.blocks = (uint8_t)blocks};

    sscanf(name, "v_mfma_%*[fi0-9]_%ux%ux%u", &size, &columns, &k);
    m.size = (uint8_t)size;
    m.k = (uint8_t)k;
    for (size_t t = 0; t < sizeof types / sizeof *types && !m.type; t++)
        if (strlen(name) > strlen(types[t].end) &&
            !strcmp(name + strlen(name) - strlen(types[t].end), types[t].end)) {
            m.type = types[t].type;
            m.factor_type = types[t].factor_type;
        }
    return m;
}

static struct uk_matrix_place place(const struct uk_matrix *m, char matrix, const unsigned *index) {
    return matrix == 'A'   ? uk_matrix_factor_place(m, index[BLOCK], index[ROW], index[COLUMN])
           : matrix == 'B' ? uk_matrix_factor_place(m, index[BLOCK], index[COLUMN], index[ROW])
                           : uk_matrix_sum_place(m, index[BLOCK], index[ROW], index[COLUMN]);
}

/* Compares the digits of one index; returns their number, or -1: one differs. */
static int check_digits(const struct uk_matrix *m, char matrix, int which, const char *digits) {
    int n = 0;

    if (*digits == '-')
        return 0;
    for (; *digits; n++) {
        const unsigned bit = 1u << strtoul(digits + 1, NULL, 10);
        unsigned index[INDICES] = {0};

        index[which] = 1u << n;
        const struct uk_matrix_place at = place(m, matrix, index);

        if (at.lane != (*digits == 'l' ? bit : 0) || at.value != (*digits == 'v' ? bit : 0))
            return -1;
        digits += strcspn(digits, " ");
        digits += *digits == ' ';
    }
    return n;
}

/* The largest rate of a row of matrix.def with these factors: multiply-adds per cycle of a compute unit. */
static unsigned largest_rate(uint8_t factors, unsigned simds) {
    static const struct {
        uint8_t type;
        unsigned multiply_adds, cycles;
    } rows[] = {
#define MATRIX(name, D, AB, size, k, blocks, passes) {T_##AB, size * size * k * blocks, 4 * passes},
#include "matrix.def"
    };
    unsigned largest = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const unsigned rate = rows[i].multiply_adds * simds / rows[i].cycles;

        largest = rows[i].type == factors && rate > largest ? rate : largest;
    }
    return largest;
}

/* True if the row of gfx90a has the rates that follow from the instructions' cycles. */
static bool has_rates(void) {
    const struct uk_device *d = &uk_core_find("gfx90a")->device;
    const unsigned simds = (unsigned)d->simds;

    return largest_rate(T_f32, simds) == (unsigned)d->matrix.f32 &&
           largest_rate(T_f64, simds) == (unsigned)d->matrix.f64 &&
           largest_rate(T_f16, simds) == (unsigned)d->matrix.f16 &&
           largest_rate(T_bf16, simds) == (unsigned)d->matrix.f16 &&
           largest_rate(T_i8, simds) == (unsigned)d->matrix.i8;
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    int digits = 0, failed = 0;
    char line[512];

    if (!file)
        return 2;
    while (fgets(line, sizeof line, file)) {
        char *field[7];

        if (*line == '#')
            continue;
        if (!split(line, field, 7))
            return 2;
        const char *blocks = field[6];
        unsigned n_blocks = 1;

        for (const char *c = blocks; *c; c++)
            n_blocks <<= *c == 'l' || *c == 'v';
        const struct uk_matrix m = shape_of(field[1], n_blocks);
        const unsigned origin[INDICES] = {0};
        const struct uk_matrix_place first = place(&m, *field[3], origin);

        failed += first.lane || first.value;
        for (int which = 0; which < INDICES; which++) {
            const int found = check_digits(&m, *field[3], which, field[4 + which]);

            if (found < 0)
                printf("%s %s: digits %s of %s differ\n", field[0], field[1], field[4 + which], field[3]);
            failed += found < 0;
            digits += found < 0 ? 0 : found;
        }
    }
    fclose(file);
    printf("%d digits\n", digits);
    if (!has_rates()) {
        printf("the rates of matrix.def are not those of gfx90a's row in cores.def\n");
        failed++;
    }
    return failed || digits < 1000;
}
