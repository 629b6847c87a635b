/* SPDX-License-Identifier: Apache-2.0 */
/* The time that a program's multiply-adds take at a GPU's peak rate. */
#include <stdio.h>
#include <string.h>
#include "shape.h"

/* The type of a factor, before casts; of other expressions, their own. */
static enum uk_type factor_type(const struct uk_expr *e) {
    while (e->op == UK_E_CAST || e->op == UK_E_PAD)
        e = e->arg[0];
    return e->type;
}

static enum uk_factors factors_of(const struct uk_statement *s) {
    const enum uk_type a = factor_type(s->right->arg[0]), b = factor_type(s->right->arg[1]);

    if (s->left.tensor->type == UK_F64)
        return UK_FACTORS_F64;
    if (uk_type_bytes(a) == 1 && uk_type_bytes(b) == 1)
        return UK_FACTORS_I8;
    return a == UK_F16 && b == a ? UK_FACTORS_F16 : a == UK_BF16 && b == a ? UK_FACTORS_BF16 : UK_FACTORS_F32;
}

static const char *name_of(enum uk_factors f) {
    static const char *const names[UK_FACTORS] = {"f32", "f64", "f16", "bf16", "i8"};

    return names[f];
}

enum uk_factors uk_factors_of_matrix(const char *instruction) {
    const size_t n = strcspn(instruction, " ");
    enum uk_factors found = UK_FACTORS_F32;

    /* v_mfma_f32_32x32x8bf16_1k: the type of the factors follows the last digits of the shape. */
    for (enum uk_factors f = 0; f < UK_FACTORS; f++) {
        const char *type = name_of(f), *at = strrchr(instruction, 'x');

        at = at && (size_t)(at - instruction) < n ? at + 1 + strspn(at + 1, "0123456789") : instruction;
        found = !strncmp(at, type, strlen(type)) ? f : found;
    }
    return found;
}

/* Vector instructions multiply bf16 as f32. */
static int rate_of(const struct uk_rates *r, enum uk_factors f, bool is_matrix) {
    const int rates[UK_FACTORS] = {r->f32, r->f64, r->f16, is_matrix ? r->f16 : r->f32, r->i8};

    return rates[f];
}

/* The matrix units' rate for the statement's products, which they add in f64, f32 or i32 only; 0: none. */
static int matrix_rate(const struct uk_device *d, const struct uk_statement *s, enum uk_factors f) {
    const enum uk_type sums = f == UK_FACTORS_F64 ? UK_F64 : f == UK_FACTORS_I8 ? UK_I32 : UK_F32;

    return s->left.tensor->type == sums ? rate_of(&d->matrix, f, true) : 0;
}

static bool is_product(const struct uk_statement *s) {
    return s->reduce == UK_REDUCE_SUM && s->right->op == UK_E_MUL;
}

/* The number of multiply-adds of a sum of products, borders included; 0: another statement. */
static double multiply_adds(const struct uk_statement *s, const int64_t *sizes) {
    double points = is_product(s);

    for (int i = 0; i < s->iterators && points > 0; i++)
        points *= (double)uk_value(s->extent[i], sizes);
    return points > 0 ? points : 0;
}

void uk_peak_add(struct uk_peak *peak, const struct uk_program *p, const int64_t *sizes,
                 const struct uk_device *d, unsigned matrix) {
    for (const struct uk_statement *s = p->statements; s; s = s->next) {
        const double points = multiply_adds(s, sizes);
        const enum uk_factors f = points > 0 ? factors_of(s) : UK_FACTORS_F32;
        const bool is_matrix = matrix >> f & 1 && matrix_rate(d, s, f) > 0;

        if (points <= 0)
            continue;
        peak->cycles += points / rate_of(is_matrix ? &d->matrix : &d->fma, f, is_matrix) / d->units;
        *(is_matrix ? &peak->matrix : &peak->vector) |= 1u << f;
    }
}

const char *uk_peak_units(const struct uk_peak *peak, char text[UK_PEAK_TEXT]) {
    int at = 0;

    *text = 0;
    for (enum uk_factors f = 0; f < UK_FACTORS; f++)
        for (int is_matrix = 0; is_matrix < 2; is_matrix++)
            if ((is_matrix ? peak->matrix : peak->vector) >> f & 1)
                at += snprintf(text + at, UK_PEAK_TEXT - (size_t)at, "%s%s by %s", at ? ", " : "", name_of(f),
                               is_matrix ? "matrix units" : "vector instructions");
    return text;
}

void uk_peak_explain(const struct uk_program *p, const struct uk_device *d, const char *indent) {
    for (const struct uk_statement *s = p->statements; s; s = s->next) {
        if (!is_product(s))
            continue;
        const enum uk_factors f = factors_of(s);
        const int matrix = matrix_rate(d, s, f);

        printf("%sproducts of %s: at most %d multiply-adds of %s a cycle in each of %d compute units", indent,
               s->left.tensor->name, rate_of(&d->fma, f, false), name_of(f), d->units);
        if (matrix)
            printf(", %d by matrix instructions", matrix);
        if (matrix && d->matrix_flush && (f == UK_FACTORS_F16 || f == UK_FACTORS_BF16))
            printf(", which take subnormal numbers as 0");
        printf("\n");
    }
}
