/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "random_packed.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
/* ACCESSES: elements that a statement may read; with the one that it writes 16. */
enum { RESULTS = 3, DEPTH = 3, EXPRESSION = 2048, ACCESSES = 15 };

static const char *const integers[] = {"u8", "i8", "i16", "i32"}, *const floats[] = {"f16", "f32"};

struct maker {
    uint64_t *x;
    bool is_float;
    /* types of X and Y */
    const char *type[2];
    int width;
};

static const char *any_type(struct maker *m) {
    return m->is_float ? floats[random_below(m->x, COUNT(floats))]
                       : integers[random_below(m->x, COUNT(integers))];
}

__attribute__((format(printf, 2, 3))) static void put(char to[EXPRESSION], const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    const int n = vsnprintf(to, EXPRESSION, format, ap);
    va_end(ap);
    if (n < 0 || n >= EXPRESSION) {
        fprintf(stderr, "random_packed.c: EXPRESSION is too small\n");
        exit(99);
    }
}

/* Writes element `at` of X or Y, converted if its type is another. */
static void put_one(const struct maker *m, const char *type, int tensor, int at, char to[EXPRESSION]) {
    if (strcmp(m->type[tensor], type))
        put(to, "%s(%c[i, %d])", type, "XY"[tensor], at);
    else
        put(to, "%c[i, %d]", "XY"[tensor], at);
}

static void put_element(struct maker *m, const char *type, char to[EXPRESSION]) {
    const int tensor = random_below(m->x, 2);

    put_one(m, type, tensor, random_below(m->x, m->width), to);
}

/* Combines an element of X with another one of Y, and the same two elements of Y and X. */
static void put_crossed(struct maker *m, const char *type, char to[EXPRESSION]) {
    const int at[2] = {random_below(m->x, m->width), random_below(m->x, m->width)};
    char one[4][EXPRESSION];

    for (int i = 0; i < 4; i++)
        put_one(m, type, i % 2 ^ i / 2, at[i % 2], one[i]);
    switch (random_below(m->x, 5)) {
    case 0:
        put(to, "(%s * %s - %s * %s)", one[0], one[1], one[2], one[3]);
        break;
    case 1:
        put(to, "((%s - %s) + 2 * (%s - %s))", one[0], one[1], one[2], one[3]);
        break;
    case 2:
        put(to, "((%s + %s) - 2 * (%s + %s))", one[0], one[1], one[2], one[3]);
        break;
    case 3:
        put(to, "(max(%s, %s) - max(%s, %s))", one[0], one[1], one[2], one[3]);
        break;
    default:
        put(to, "(min(%s, %s) - min(%s, %s))", one[0], one[1], one[2], one[3]);
    }
}

/* Writes an operation on two expressions of the type; some contain one of them twice, like saturating sums
 * and differences. */
static void put_operation(struct maker *m, const char *a, const char *b, char to[EXPRESSION]) {
    switch (random_below(m->x, m->is_float ? 9 : 12)) {
    case 0:
    case 1:
        put(to, "(%s + %s)", a, b);
        break;
    case 2:
    case 3:
        put(to, "(%s - %s)", a, b);
        break;
    case 4:
        put(to, "max(%s, %s)", a, b);
        break;
    case 5:
        put(to, "min(%s, %s)", a, b);
        break;
    case 6:
        put(to, "select(%s < %s, %s, %s)", a, b, b, a);
        break;
    case 7:
        put(to, "(max(%s, %s) - %s)", a, b, b);
        break;
    case 8:
        put(to, "abs(%s - %s)", a, b);
        break;
    case 9:
        put(to, "(%s * %s)", a, b);
        break;
    case 10:
        put(to, "((%s >> %d) - %s)", a, 1 + random_below(m->x, 7), b);
        break;
    default:
        put(to, "((%s << %d) + %s)", a, 1 + random_below(m->x, 7), b);
    }
}

static void put_expression(struct maker *m, const char *type, int depth, char to[EXPRESSION]) {
    char a[EXPRESSION], b[EXPRESSION];

    if (!depth || (depth < DEPTH && !random_below(m->x, 3))) {
        put_element(m, type, to);
        return;
    }
    /* by way of another type */
    if (!random_below(m->x, 5)) {
        const char *other = any_type(m);

        put_expression(m, other, depth - 1, a);
        put(to, strcmp(other, type) ? "%s(%s)" : "%.0s%s", type, a);
        return;
    }
    if (depth < DEPTH && random_below(m->x, 2)) {
        put_crossed(m, type, to);
        return;
    }
    put_expression(m, type, depth - 1, a);
    put_expression(m, type, depth - 1, b);
    put_operation(m, a, b, to);
}

/* Writes a sum of X's elements in order with Y's in reverse order. */
static void put_sum(struct maker *m, const char *type, char to[EXPRESSION]) {
    const char *of = random_below(m->x, 2) ? "+" : "-";
    const bool x = strcmp(m->type[0], type), y = strcmp(m->type[1], type);

    put(to, "sum(j where j < %d) (%s%sX[i, j]%s * %s%sY[i, %d - j]%s %s %s%sX[i, 0]%s)", m->width,
        x ? type : "", x ? "(" : "", x ? ")" : "", y ? type : "", y ? "(" : "", m->width - 1, y ? ")" : "",
        of, x ? type : "", x ? "(" : "", x ? ")" : "");
}

static int accesses(const char *text) {
    int n = 0;

    for (; (text = strchr(text, '[')); text++)
        n++;
    return n;
}

void random_packed_make(uint64_t *x, struct uk_text *text) {
    struct maker m = {.x = x, .is_float = !random_below(x, 4), .width = 2 << random_below(x, 3)};
    const int results = 1 + random_below(x, RESULTS);
    char expression[EXPRESSION];

    for (int i = 0; i < 2; i++) {
        do
            m.type[i] = any_type(&m);
        while (!strcmp(m.type[i], "i32"));
        uk_put(text, "tensor %c %s [N, %d]\n", "XY"[i], m.type[i], m.width);
    }
    for (int i = 0; i < results; i++) {
        const char *type = any_type(&m);

        if (random_below(x, 4))
            do
                put_expression(&m, type, DEPTH, expression);
            while (accesses(expression) > ACCESSES);
        else
            put_sum(&m, type, expression);
        uk_put(text, "tensor R%d %s [N]\nR%d[i] = %s\n", i, type, i, expression);
    }
}
