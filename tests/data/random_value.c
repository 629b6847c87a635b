/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "random_inside.h"

const char *const random_iterators[RANDOM_ITERATORS] = {"i", "j", "k", "l"};
static const char *const random_extents[RANDOM_ITERATORS] = {"A", "B", "C", "D"};

__attribute__((format(printf, 2, 3))) void random_put(char text[TEXT], const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    int n = vsnprintf(text, TEXT, format, ap);
    va_end(ap);
    if (n < 0 || n >= TEXT) {
        fprintf(stderr, "random_value.c: TEXT is too small\n");
        exit(99);
    }
}

/* Largest magnitude that stays exact: one bit less than the type's mantissa, as a sum of two values needs one
 * more. */
static double limit(enum uk_type t) {
    static const double of[UK_TYPES] = {0x1p52, 0x1p23, 0x1p10, 0x1p7};

    return is_float(t) ? of[t] : INFINITY;
}

bool random_fits(enum uk_type t, double most, int fraction) {
    return !is_float(t) || (fraction <= 4 && ldexp(most, fraction) <= limit(t));
}

static struct value_range any_value(enum uk_type t) {
    return (struct value_range){.max_magnitude = is_float(t) ? 2 : INFINITY, .exact = true};
}

/* ---- accesses ---- */

void random_extent(const struct random_program *r, int iterator, char text[16]) {
    if (r->fixed[iterator])
        snprintf(text, 16, "%d", r->extent[iterator]);
    else
        snprintf(text, 16, "%s", random_extents[iterator]);
}

static int any_iterator(struct random_program *r) {
    int n = r->left_count + r->reduces, i = n ? below(r, n) : 0;

    return !n ? -1 : i < r->left_count ? r->left[i] : r->reduced[i - r->left_count];
}

struct subscript {
    char index[48], extent[48];
};

/* Generates an affine subscript and an extent that contains it, for extents from 0 on. */
static struct subscript any_subscript(struct random_program *r, int plain) {
    struct subscript s;
    char e[16], f[16];
    const int v = plain >= 0 ? plain : any_iterator(r), w = any_iterator(r), c = 1 + below(r, 3);

    if (v < 0) {
        snprintf(s.index, sizeof s.index, "%d", c);
        snprintf(s.extent, sizeof s.extent, "%d", c + 1);
        return s;
    }
    random_extent(r, v, e);
    random_extent(r, w, f);
    snprintf(s.index, sizeof s.index, "%s", random_iterators[v]);
    snprintf(s.extent, sizeof s.extent, "%s", e);
    switch (plain >= 0 ? 0 : below(r, 9)) {
    case 0:
    case 1:
        break;
    case 2:
        snprintf(s.index, sizeof s.index, "%s + %d", random_iterators[v], c);
        snprintf(s.extent, sizeof s.extent, "%s + %d", e, c);
        break;
    case 3:
        snprintf(s.index, sizeof s.index, "%d * %s + %d", c + 1, random_iterators[v], c - 1);
        snprintf(s.extent, sizeof s.extent, "%d * %s + %d", c + 1, e, c);
        break;
    case 4: /* dilation */
        snprintf(s.index, sizeof s.index, "%s + %d * %s", random_iterators[v], c, random_iterators[w]);
        snprintf(s.extent, sizeof s.extent, "%s + %d * %s", e, c, f);
        break;
    case 5: /* reversed */
        snprintf(s.index, sizeof s.index, "%s - 1 - %s", e, random_iterators[v]);
        break;
    case 6:
        snprintf(s.index, sizeof s.index, "%d", c);
        snprintf(s.extent, sizeof s.extent, "%d", c + 1);
        break;
    case 7:
        snprintf(s.index, sizeof s.index, "%s / %d", random_iterators[v], c + 1);
        snprintf(s.extent, sizeof s.extent, "%s / %d + 1", e, c + 1);
        break;
    default:
        snprintf(s.index, sizeof s.index, "%s %% %d", random_iterators[v], c + 1);
        snprintf(s.extent, sizeof s.extent, "%d", c + 1);
        break;
    }
    return s;
}

void random_put_storage(struct random_program *r, int dims) {
    switch (dims == 2 ? below(r, 8) : 7) {
    case 0:
        uk_put(&r->head, " stride [s%d, 1]", r->strides++);
        break;
    case 1:
        uk_put(&r->head, " stride [1, s%d]", r->strides++);
        break;
    case 2:
        uk_put(&r->head, " stride [3 * s%d, 2]", r->strides++);
        break;
    case 3:
        uk_put(&r->head, " layout (a, b) -> [b / 2, a, b %% 2]");
        break;
    default:
        break;
    }
    if (!below(r, 20))
        uk_put(&r->head, " align %d", 16 << below(r, 3));
}

/* Generates a new input and an access of it; iterators in `plain` are subscripts by themselves. */
void random_input(struct random_program *r, enum uk_type type, const int *plain, int plain_count,
                  bool guarded, struct piece *out) {
    int dims = plain_count + below(r, plain_count ? 2 : 3);
    char index[256] = "";
    bool padded = guarded && dims && below(r, 5) == 0;

    uk_put(&r->head, "tensor X%d %s [", r->inputs, uk_type_name(type));
    for (int d = 0; d < dims; d++) {
        struct subscript s = any_subscript(r, d < plain_count ? plain[d] : -1);
        size_t n = strlen(index);

        snprintf(index + n, sizeof index - n, "%s%s%s", d ? ", " : "", s.index,
                 padded && d >= plain_count ? " - 1" : "");
        uk_put(&r->head, "%s%s", d ? ", " : "", s.extent);
    }
    uk_put(&r->head, "]");
    random_put_storage(r, dims);
    uk_put(&r->head, "\n");
    random_put(out->text, padded ? "pad(X%d[%s], %d)" : "X%d[%s]", r->inputs++, index, below(r, 2));
    out->type = type;
    out->range = any_value(type);
    r->accesses++;
}

bool random_is_used(const struct random_program *r, int iterator) {
    for (int i = 0; i < r->left_count; i++)
        if (r->left[i] == iterator)
            return true;
    for (int i = 0; i < r->reduces; i++)
        if (r->reduced[i] == iterator)
            return true;
    return false;
}

/* Generates an access of an earlier statement's result, if one of the type has only iterators of this
 * statement. False: there is none. */
static bool earlier_element(struct random_program *r, enum uk_type type, struct piece *out) {
    for (int n = 0; n < r->tensors; n++) {
        const struct random_tensor *t = &r->tensor[(n + below(r, r->tensors)) % r->tensors];
        char index[128] = "";
        bool usable = t->type == type && strcmp(t->name, r->written->name);

        for (int d = 0; d < t->dims; d++) {
            size_t length = strlen(index);

            usable = usable && !t->part[d] && random_is_used(r, t->iterator[d]);
            snprintf(index + length, sizeof index - length, "%s%s%s", d ? ", " : "",
                     random_iterators[t->iterator[d]], t->offset[d]);
        }
        if (!usable)
            continue;
        random_put(out->text, "%s[%s]", t->name, index);
        out->type = type;
        out->range = t->range;
        r->accesses++;
        return true;
    }
    return false;
}

/* ---- expressions ---- */

enum uk_type random_type(struct random_program *r) {
    return (enum uk_type)below(r, UK_TYPES);
}

static void literal(struct random_program *r, enum uk_type type, struct piece *out) {
    static const char *const halves[] = {"0.5", "1.5", "-0.5", "2.0", "2.5e-1", "0x1"};
    static const char *const wide[] = {
        "-9223372036854775807", "-2147483648",        "-32768", "-128", "255", "65535",
        "4294967295",           "9223372036854775807"};

    out->type = type;
    out->range = (struct value_range){.max_magnitude = is_float(type) ? 3 : INFINITY, .exact = true};
    if (is_float(type) && !below(r, 3)) {
        out->range.fraction = 2;
        random_put(out->text, "%s", halves[below(r, 5)]);
    } else if (is_float(type) && !below(r, 12)) {
        out->range.exact = false;
        random_put(out->text, "%sinf", below(r, 2) ? "-" : "");
    } else if (!is_float(type) && !below(r, 12)) {
        random_put(out->text, "%s", wide[type - UK_I64]);
    } else {
        random_put(out->text, "%d", type >= UK_U8 ? below(r, 4) : below(r, 7) - 3);
    }
}

static void leaf(struct random_program *r, enum uk_type type, struct piece *out) {
    int which = below(r, 10);

    if (which < 5 && r->accesses < MAX_ACCESSES) {
        if (which > 2 || !earlier_element(r, type, out))
            random_input(r, type, NULL, 0, true, out);
    } else if (which < 6) {
        uk_put(&r->head, "scalar q%d %s\n", r->scalars, uk_type_name(type));
        random_put(out->text, "q%d", r->scalars++);
        out->type = type;
        out->range = any_value(type);
    } else if (which < 8 && any_iterator(r) >= 0) {
        random_put(out->text, "%s(index(%s + %d))", uk_type_name(type), random_iterators[any_iterator(r)],
                   below(r, 3));
        out->type = type;
        out->range = (struct value_range){.max_magnitude = is_float(type) ? 8 : INFINITY, .exact = true};
    } else {
        literal(r, type, out);
    }
}

struct value_range random_either(struct value_range a, struct value_range b) {
    return (struct value_range){.max_magnitude = fmax(a.max_magnitude, b.max_magnitude),
                                .fraction = a.fraction > b.fraction ? a.fraction : b.fraction,
                                .exact = a.exact && b.exact};
}

static void condition(struct random_program *r, int depth, char text[TEXT]) {
    static const char *const relation[] = {"==", "!=", "<", "<=", ">", ">="};
    enum uk_type type = random_type(r);
    struct piece *p = malloc(2 * sizeof *p);
    char *one = malloc(TEXT), *other = malloc(TEXT);

    if (!p || !one || !other)
        exit(99);
    if (depth > 1 && !below(r, 3)) {
        condition(r, depth - 1, one);
        condition(r, depth - 1, other);
        random_put(text, below(r, 2) ? "%s(%s) %s (%s)" : "%s(%s) %s not (%s)", below(r, 2) ? "not " : "",
                   one, below(r, 2) ? "and" : "or", other);
    } else {
        random_value(r, type, depth - 1, &p[0]);
        random_value(r, type, depth - 1, &p[1]);
        random_put(text, "%s %s %s", p[0].text, relation[below(r, 6)], p[1].text);
    }
    free(p);
    free(one);
    free(other);
}

/* Generates a + b, a - b or a * b if it is exact or wraps, else one of the operands. */
void random_arithmetic(struct random_program *r, const struct piece *a, const struct piece *b,
                       struct piece *out) {
    const enum uk_type t = out->type;
    const bool exact = a->range.exact && b->range.exact;
    const int fraction = random_either(a->range, b->range).fraction, which = below(r, 3);

    if (which < 2 && (!exact || random_fits(t, a->range.max_magnitude + b->range.max_magnitude, fraction))) {
        random_put(out->text, "(%s %s %s)", a->text, which ? "-" : "+", b->text);
        out->range = (struct value_range){.max_magnitude = a->range.max_magnitude + b->range.max_magnitude,
                                          .fraction = fraction,
                                          .exact = exact};
    } else if (exact && random_fits(t, a->range.max_magnitude * b->range.max_magnitude,
                                    a->range.fraction + b->range.fraction)) {
        random_put(out->text, "%s * %s", a->text, b->text);
        out->range = (struct value_range){.max_magnitude = a->range.max_magnitude * b->range.max_magnitude,
                                          .fraction = a->range.fraction + b->range.fraction,
                                          .exact = true};
    } else {
        random_put(out->text, "%s(%s, %s)", which ? "min" : "max", a->text, b->text);
        out->range = random_either(a->range, b->range);
    }
}

static void binary(struct random_program *r, enum uk_type type, int depth, struct piece *out) {
    struct piece *p = malloc(2 * sizeof *p);
    char *c = malloc(TEXT);

    if (!p || !c)
        exit(99);
    random_value(r, type, depth - 1, &p[0]);
    random_value(r, type, depth - 1, &p[1]);
    out->type = type;
    out->range = random_either(p[0].range, p[1].range);
    switch (below(r, 7)) {
    case 0:
        random_put(out->text, "%s(%s, %s)", below(r, 2) ? "min" : "max", p[0].text, p[1].text);
        break;
    case 1:
        condition(r, depth, c);
        random_put(out->text, "select(%s, %s, %s)", c, p[0].text, p[1].text);
        break;
    case 2:
        if (is_float(type)) {
            out->range.exact = false;
            random_put(out->text, "(%s) / (%s)", p[0].text, p[1].text);
        } else {
            static const char *const operators[] = {"<<", ">>", "&", "^", "|", "/"};

            random_put(out->text, "((%s) %s (%s))", p[0].text, operators[below(r, 6)], p[1].text);
        }
        break;
    default:
        random_arithmetic(r, &p[0], &p[1], out);
        break;
    }
    free(p);
    free(c);
}

/* exp and similar functions differ from the interpreter's in the last bits, so their results are compared
 * only after rounding. */
static void function(struct random_program *r, enum uk_type type, struct piece *a, struct piece *out) {
    static const struct {
        const char *before, *after;
    } functions[] = {{"exp(", ")"},    {"tanh(", ")"},  {"erf(", ")"},        {"log(1 + abs(", "))"},
                     {"pow(", ", 3)"}, {"expm1(", ")"}, {"log1p(abs(", "))"}, {"sin(", ")"},
                     {"cos(", ")"},    {"atan(", ")"},  {"sinh(", ")"},       {"asinh(", ")"}};

    out->type = type;
    out->range = a->range;
    switch (is_float(type) ? below(r, 7) : below(r, 2)) {
    case 0:
        random_put(out->text, "-(%s)", a->text);
        break;
    case 1:
        random_put(out->text, "abs(%s)", a->text);
        break;
    case 2:
        random_put(out->text, "round(%s)", a->text);
        break;
    case 3:
        random_put(out->text, "%s(%s)", below(r, 2) ? "floor" : "ceil", a->text);
        out->range.max_magnitude = ceil(out->range.max_magnitude);
        break;
    case 4:
        random_put(out->text, "sqrt(%s)", a->text);
        out->range.exact = false;
        break;
    default:
        leaf(r, type, a);
        if (a->range.exact && a->range.max_magnitude <= 3 && !a->range.fraction && a->text[0] == 'X') {
            const int f = below(r, sizeof functions / sizeof *functions);

            random_put(out->text, "round(%s%s%s)", functions[f].before, a->text, functions[f].after);
            out->range = (struct value_range){.max_magnitude = 32, .exact = true};
        } else {
            *out = *a;
        }
        break;
    }
}

static void conversion(struct random_program *r, enum uk_type type, int depth, struct piece *out) {
    struct piece *a = malloc(sizeof *a);
    enum uk_type from = random_type(r);

    if (!a)
        exit(99);
    random_value(r, from, depth - 1, a);
    random_put(out->text, "%s(%s)", uk_type_name(type), a->text);
    out->type = type;
    out->range = a->range;
    if (!is_float(type))
        out->range = (struct value_range){.max_magnitude = INFINITY, .exact = true};
    else if (!is_float(from) || !a->range.exact ||
             !random_fits(type, a->range.max_magnitude, a->range.fraction))
        out->range = (struct value_range){.max_magnitude = INFINITY, .exact = false};
    if (from == UK_I8 && is_float(type) && type != UK_BF16)
        out->range = (struct value_range){.max_magnitude = 128, .exact = true};
    free(a);
}

void random_value(struct random_program *r, enum uk_type type, int depth, struct piece *out) {
    struct piece *a;

    switch (depth <= 0 ? 0 : below(r, 8)) {
    case 0:
    case 1:
        leaf(r, type, out);
        break;
    case 2:
        conversion(r, type, depth, out);
        break;
    case 3:
        a = malloc(sizeof *a);
        if (!a)
            exit(99);
        random_value(r, type, depth - 1, a);
        function(r, type, a, out);
        free(a);
        break;
    default:
        binary(r, type, depth, out);
        break;
    }
}
