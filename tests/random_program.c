#include "random_program.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 2048, MAX_ACCESSES = 6, MOST_TERMS = 36 /* of a reduction: extents are at most 6 */ };

struct piece {
    char text[TEXT];
    enum uk_type type;
    struct value_range range;
};

static const char *const names[UK_TYPES] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"};
static const char *const iterators[RANDOM_ITERATORS] = {"i", "j", "k", "l"};
static const char *const extents[RANDOM_ITERATORS] = {"A", "B", "C", "D"};

uint64_t random_next(uint64_t *x) {
    *x ^= *x << 13;
    *x ^= *x >> 7;
    return *x ^= *x << 17;
}

int random_below(uint64_t *x, int n) {
    return (int)((random_next(x) >> 33) % (uint64_t)n);
}

static int below(struct random_program *r, int n) {
    return random_below(&r->x, n);
}

static __attribute__((format(printf, 2, 3))) void put(char text[TEXT], const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    int n = vsnprintf(text, TEXT, format, ap);
    va_end(ap);
    if (n < 0 || n >= TEXT) {
        fprintf(stderr, "random_program.c: TEXT is too small\n");
        exit(99);
    }
}

static bool is_float(enum uk_type t) {
    return t <= UK_BF16;
}

/* Integers of the type's digits are exact; a sum of two of them needs one more. */
static double limit(enum uk_type t) {
    static const double of[UK_TYPES] = {0x1p52, 0x1p23, 0x1p10, 0x1p7};

    return is_float(t) ? of[t] : INFINITY;
}

static bool fits(enum uk_type t, double most, int fraction) {
    return !is_float(t) || (fraction <= 4 && ldexp(most, fraction) <= limit(t));
}

static struct value_range any_value(enum uk_type t) {
    return (struct value_range){.most = is_float(t) ? 2 : INFINITY, .exact = true};
}

void random_elements(uint64_t *x, enum uk_type type, void *to, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        static const uint16_t half[] = {0xc000, 0xbc00, 0, 0x3c00, 0x4000};
        static const uint16_t bfloat[] = {0xc000, 0xbf80, 0, 0x3f80, 0x4000};
        const int v = random_below(x, 5);
        const uint64_t bits = random_next(x) * 0x9e3779b97f4a7c15;
        const double d = v - 2;
        const float f = (float)(v - 2);
        const size_t bytes = uk_type_bytes(type);
        const void *from = type == UK_F64    ? (const void *)&d
                           : type == UK_F32  ? (const void *)&f
                           : type == UK_F16  ? (const void *)&half[v]
                           : type == UK_BF16 ? (const void *)&bfloat[v]
                                             : (const void *)&bits;

        memcpy((char *)to + i * (int64_t)bytes, from, bytes);
    }
}

/* ---- accesses ---- */

static void extent_text(const struct random_program *r, int iterator, char text[16]) {
    if (r->fixed[iterator])
        snprintf(text, 16, "%d", r->extent[iterator]);
    else
        snprintf(text, 16, "%s", extents[iterator]);
}

static int any_iterator(struct random_program *r) {
    int n = r->lefts + r->reduces, i = n ? below(r, n) : 0;

    return !n ? -1 : i < r->lefts ? r->left[i] : r->reduced[i - r->lefts];
}

struct subscript {
    char index[48], extent[48];
};

/* An affine subscript and an extent that it stays inside of, for extents from 0 on. */
static struct subscript any_subscript(struct random_program *r, int alone) {
    struct subscript s;
    char e[16], f[16];
    const int v = alone >= 0 ? alone : any_iterator(r), w = any_iterator(r), c = 1 + below(r, 3);

    if (v < 0) {
        snprintf(s.index, sizeof s.index, "%d", c);
        snprintf(s.extent, sizeof s.extent, "%d", c + 1);
        return s;
    }
    extent_text(r, v, e);
    extent_text(r, w, f);
    snprintf(s.index, sizeof s.index, "%s", iterators[v]);
    snprintf(s.extent, sizeof s.extent, "%s", e);
    switch (alone >= 0 ? 0 : below(r, 9)) {
    case 0:
    case 1:
        break;
    case 2:
        snprintf(s.index, sizeof s.index, "%s + %d", iterators[v], c);
        snprintf(s.extent, sizeof s.extent, "%s + %d", e, c);
        break;
    case 3:
        snprintf(s.index, sizeof s.index, "%d * %s + %d", c + 1, iterators[v], c - 1);
        snprintf(s.extent, sizeof s.extent, "%d * %s + %d", c + 1, e, c);
        break;
    case 4: /* dilation */
        snprintf(s.index, sizeof s.index, "%s + %d * %s", iterators[v], c, iterators[w]);
        snprintf(s.extent, sizeof s.extent, "%s + %d * %s", e, c, f);
        break;
    case 5: /* backwards */
        snprintf(s.index, sizeof s.index, "%s - 1 - %s", e, iterators[v]);
        break;
    case 6:
        snprintf(s.index, sizeof s.index, "%d", c);
        snprintf(s.extent, sizeof s.extent, "%d", c + 1);
        break;
    case 7:
        snprintf(s.index, sizeof s.index, "%s / %d", iterators[v], c + 1);
        snprintf(s.extent, sizeof s.extent, "%s / %d + 1", e, c + 1);
        break;
    default:
        snprintf(s.index, sizeof s.index, "%s %% %d", iterators[v], c + 1);
        snprintf(s.extent, sizeof s.extent, "%d", c + 1);
        break;
    }
    return s;
}

static void put_storage(struct random_program *r, int dims) {
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

/* A new input, read by an access; iterators in `alone` stand alone in a subscript. */
static void new_input(struct random_program *r, enum uk_type type, const int *alone, int alones, bool guarded,
                      struct piece *out) {
    int dims = alones + below(r, alones ? 2 : 3);
    char index[256] = "";
    bool padded = guarded && dims && below(r, 5) == 0;

    uk_put(&r->head, "tensor X%d %s [", r->inputs, names[type]);
    for (int d = 0; d < dims; d++) {
        struct subscript s = any_subscript(r, d < alones ? alone[d] : -1);
        size_t n = strlen(index);

        snprintf(index + n, sizeof index - n, "%s%s%s", d ? ", " : "", s.index,
                 padded && d >= alones ? " - 1" : "");
        uk_put(&r->head, "%s%s", d ? ", " : "", s.extent);
    }
    uk_put(&r->head, "]");
    put_storage(r, dims);
    uk_put(&r->head, "\n");
    put(out->text, padded ? "pad(X%d[%s], %d)" : "X%d[%s]", r->inputs++, index, below(r, 2));
    out->type = type;
    out->range = any_value(type);
    r->accesses++;
}

static bool is_used(const struct random_program *r, int iterator) {
    for (int i = 0; i < r->lefts; i++)
        if (r->left[i] == iterator)
            return true;
    for (int i = 0; i < r->reduces; i++)
        if (r->reduced[i] == iterator)
            return true;
    return false;
}

/* An element that an earlier statement computed, if one of the type has only iterators of this one. */
static bool earlier_element(struct random_program *r, enum uk_type type, struct piece *out) {
    for (int n = 0; n < r->tensors; n++) {
        const struct random_tensor *t = &r->tensor[(n + below(r, r->tensors)) % r->tensors];
        char index[128] = "";
        bool usable = t->type == type && t != r->written;

        for (int d = 0; d < t->dims; d++) {
            size_t length = strlen(index);

            usable = usable && is_used(r, t->iterator[d]);
            snprintf(index + length, sizeof index - length, "%s%s%s", d ? ", " : "",
                     iterators[t->iterator[d]], t->offset[d]);
        }
        if (!usable)
            continue;
        put(out->text, "%s[%s]", t->name, index);
        out->type = type;
        out->range = t->range;
        r->accesses++;
        return true;
    }
    return false;
}

/* ---- expressions ---- */

static void any_value_of(struct random_program *r, enum uk_type type, int depth, struct piece *out);

static enum uk_type any_type(struct random_program *r) {
    return (enum uk_type)below(r, UK_TYPES);
}

static void literal(struct random_program *r, enum uk_type type, struct piece *out) {
    static const char *const halves[] = {"0.5", "1.5", "-0.5", "2.0", "2.5e-1", "0x1"};
    static const char *const wide[] = {"-9223372036854775807", "-2147483648", "-32768", "-128", "255"};

    out->type = type;
    out->range = (struct value_range){.most = is_float(type) ? 3 : INFINITY, .exact = true};
    if (is_float(type) && !below(r, 3)) {
        out->range.fraction = 2;
        put(out->text, "%s", halves[below(r, 5)]);
    } else if (is_float(type) && !below(r, 12)) {
        out->range.exact = false;
        put(out->text, "%sinf", below(r, 2) ? "-" : "");
    } else if (!is_float(type) && !below(r, 12)) {
        put(out->text, "%s", wide[type - UK_I64]);
    } else {
        put(out->text, "%d", type == UK_U8 ? below(r, 4) : below(r, 7) - 3);
    }
}

static void leaf(struct random_program *r, enum uk_type type, struct piece *out) {
    int which = below(r, 10);

    if (which < 5 && r->accesses < MAX_ACCESSES) {
        if (which > 2 || !earlier_element(r, type, out))
            new_input(r, type, NULL, 0, true, out);
    } else if (which < 6) {
        uk_put(&r->head, "scalar q%d %s\n", r->scalars, names[type]);
        put(out->text, "q%d", r->scalars++);
        out->type = type;
        out->range = any_value(type);
    } else if (which < 8 && any_iterator(r) >= 0) {
        put(out->text, "%s(index(%s + %d))", names[type], iterators[any_iterator(r)], below(r, 3));
        out->type = type;
        out->range = (struct value_range){.most = is_float(type) ? 8 : INFINITY, .exact = true};
    } else {
        literal(r, type, out);
    }
}

static struct value_range either(struct value_range a, struct value_range b) {
    return (struct value_range){.most = fmax(a.most, b.most),
                                .fraction = a.fraction > b.fraction ? a.fraction : b.fraction,
                                .exact = a.exact && b.exact};
}

static void condition(struct random_program *r, int depth, char text[TEXT]) {
    static const char *const relation[] = {"==", "!=", "<", "<=", ">", ">="};
    enum uk_type type = any_type(r);
    struct piece *p = malloc(2 * sizeof *p);
    char *one = malloc(TEXT), *other = malloc(TEXT);

    if (!p || !one || !other)
        exit(99);
    if (depth > 1 && !below(r, 3)) {
        condition(r, depth - 1, one);
        condition(r, depth - 1, other);
        put(text, below(r, 2) ? "%s(%s) %s (%s)" : "%s(%s) %s not (%s)", below(r, 2) ? "not " : "", one,
            below(r, 2) ? "and" : "or", other);
    } else {
        any_value_of(r, type, depth - 1, &p[0]);
        any_value_of(r, type, depth - 1, &p[1]);
        put(text, "%s %s %s", p[0].text, relation[below(r, 6)], p[1].text);
    }
    free(p);
    free(one);
    free(other);
}

/* a + b, a - b, a * b where that is exact (or wraps), else one of them. */
static void arithmetic(struct random_program *r, const struct piece *a, const struct piece *b,
                       struct piece *out) {
    const enum uk_type t = out->type;
    const bool exact = a->range.exact && b->range.exact;
    const int fraction = either(a->range, b->range).fraction, which = below(r, 3);

    if (which < 2 && (!exact || fits(t, a->range.most + b->range.most, fraction))) {
        put(out->text, "(%s %s %s)", a->text, which ? "-" : "+", b->text);
        out->range =
            (struct value_range){.most = a->range.most + b->range.most, .fraction = fraction, .exact = exact};
    } else if (exact && fits(t, a->range.most * b->range.most, a->range.fraction + b->range.fraction)) {
        put(out->text, "%s * %s", a->text, b->text);
        out->range = (struct value_range){.most = a->range.most * b->range.most,
                                          .fraction = a->range.fraction + b->range.fraction,
                                          .exact = true};
    } else {
        put(out->text, "%s(%s, %s)", which ? "min" : "max", a->text, b->text);
        out->range = either(a->range, b->range);
    }
}

static void binary(struct random_program *r, enum uk_type type, int depth, struct piece *out) {
    struct piece *p = malloc(2 * sizeof *p);
    char *c = malloc(TEXT);

    if (!p || !c)
        exit(99);
    any_value_of(r, type, depth - 1, &p[0]);
    any_value_of(r, type, depth - 1, &p[1]);
    out->type = type;
    out->range = either(p[0].range, p[1].range);
    switch (below(r, 7)) {
    case 0:
        put(out->text, "%s(%s, %s)", below(r, 2) ? "min" : "max", p[0].text, p[1].text);
        break;
    case 1:
        condition(r, depth, c);
        put(out->text, "select(%s, %s, %s)", c, p[0].text, p[1].text);
        break;
    case 2:
        if (is_float(type)) {
            out->range.exact = false;
            put(out->text, "(%s) / (%s)", p[0].text, p[1].text);
        } else {
            put(out->text, "((%s) %s (%s))", p[0].text, below(r, 2) ? "<<" : ">>", p[1].text);
        }
        break;
    default:
        arithmetic(r, &p[0], &p[1], out);
        break;
    }
    free(p);
    free(c);
}

/* exp and tanh come from other libraries than the interpreter's: only what a rounding hides is compared. */
static void function(struct random_program *r, enum uk_type type, struct piece *a, struct piece *out) {
    out->type = type;
    out->range = a->range;
    switch (is_float(type) ? below(r, 6) : below(r, 2)) {
    case 0:
        put(out->text, "-(%s)", a->text);
        break;
    case 1:
        put(out->text, "abs(%s)", a->text);
        break;
    case 2:
        put(out->text, "round(%s)", a->text);
        break;
    case 3:
        put(out->text, "sqrt(%s)", a->text);
        out->range.exact = false;
        break;
    default:
        leaf(r, type, a);
        if (a->range.exact && a->range.most <= 3 && !a->range.fraction && a->text[0] == 'X') {
            put(out->text, "round(%s(%s))", below(r, 2) ? "exp" : "tanh", a->text);
            out->range = (struct value_range){.most = 32, .exact = true};
        } else {
            *out = *a;
        }
        break;
    }
}

static void conversion(struct random_program *r, enum uk_type type, int depth, struct piece *out) {
    struct piece *a = malloc(sizeof *a);
    enum uk_type from = any_type(r);

    if (!a)
        exit(99);
    any_value_of(r, from, depth - 1, a);
    put(out->text, "%s(%s)", names[type], a->text);
    out->type = type;
    out->range = a->range;
    if (!is_float(type))
        out->range = (struct value_range){.most = INFINITY, .exact = true};
    else if (!is_float(from) || !a->range.exact || !fits(type, a->range.most, a->range.fraction))
        out->range = (struct value_range){.most = INFINITY, .exact = false};
    if (from == UK_I8 && is_float(type) && type != UK_BF16)
        out->range = (struct value_range){.most = 128, .exact = true};
    free(a);
}

static void any_value_of(struct random_program *r, enum uk_type type, int depth, struct piece *out) {
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
        any_value_of(r, type, depth - 1, a);
        function(r, type, a, out);
        free(a);
        break;
    default:
        binary(r, type, depth, out);
        break;
    }
}

/* ---- statements ---- */

static void choose_iterators(struct random_program *r) {
    int order[RANDOM_ITERATORS] = {0, 1, 2, 3};

    for (int i = RANDOM_ITERATORS - 1; i > 0; i--) {
        int j = below(r, i + 1), o = order[i];

        order[i] = order[j];
        order[j] = o;
    }
    r->lefts = below(r, 12) ? 1 + below(r, 3) : 0;
    r->reduces = below(r, 3) ? below(r, RANDOM_ITERATORS - r->lefts + 1) : 0;
    if (r->reduces > 2)
        r->reduces = 2;
    memcpy(r->left, order, sizeof r->left);
    for (int i = 0; i < r->reduces; i++)
        r->reduced[i] = order[r->lefts + i];
}

/* A reduction of the value: its words, or "" if none of them is exact. */
static const char *reduction(struct random_program *r, struct piece *v) {
    const bool fine = v->range.exact;
    const int which = below(r, 5);

    if (which < 2 && fine && fits(v->type, v->range.most * MOST_TERMS, v->range.fraction)) {
        v->range.most *= MOST_TERMS;
        return "sum";
    }
    if (which == 2 && fine && (!is_float(v->type) || (v->range.most <= 1 && !v->range.fraction)))
        return "prod";
    if (!fine && is_float(v->type))
        return "";
    v->range.exact = v->range.exact && !is_float(v->type); /* an empty one is infinite */
    return which & 1 ? "max" : "min";
}

/* The text before the value: "", "sum(k, l where k <= i) " */
static bool put_reduction(struct random_program *r, struct piece *v, bool scan, char text[TEXT]) {
    const char *word = reduction(r, v);
    char along[64] = "";

    if (!*word)
        return false;
    for (int i = 0; i < (scan ? 1 : r->reduces); i++) {
        size_t n = strlen(along);

        snprintf(along + n, sizeof along - n, "%s%s", i ? ", " : "",
                 iterators[scan ? r->left[0] : r->reduced[i]]);
    }
    if (!scan && !below(r, 4) && r->lefts) {
        size_t n = strlen(along);

        snprintf(along + n, sizeof along - n, " where %s %s %s + %d", iterators[r->reduced[0]],
                 below(r, 2) ? "<=" : ">", iterators[r->left[below(r, r->lefts)]], below(r, 3));
    }
    put(text, "%s%s(%s) ", scan ? "scan " : "", word, along);
    return true;
}

static void declare_result(struct random_program *r, struct random_tensor *t, bool temp) {
    uk_put(&r->head, "%s %s %s [", temp ? "temp" : "tensor", t->name, names[t->type]);
    for (int d = 0; d < t->dims; d++) {
        char e[16];

        extent_text(r, t->iterator[d], e);
        uk_put(&r->head, "%s%s%s", d ? ", " : "", e, t->offset[d]);
    }
    uk_put(&r->head, "]");
    if (!temp)
        put_storage(r, t->dims);
    uk_put(&r->head, "\n");
}

static void put_left(struct random_program *r, const struct random_tensor *t) {
    struct random_stage *s = &r->stage[r->stages++];

    snprintf(s->name, sizeof s->name, "S%d", r->stages);
    s->written = t->name;
    s->left = r->lefts;
    for (int i = 0; i < r->lefts + r->reduces; i++)
        snprintf(s->loop[s->loops++], sizeof s->loop[0], "%s",
                 iterators[i < r->lefts ? r->left[i] : r->reduced[i - r->lefts]]);
    uk_put(&r->body, "%s: %s[", s->name, t->name);
    for (int d = 0; d < t->dims; d++)
        uk_put(&r->body, "%s%s%s", d ? ", " : "", iterators[t->iterator[d]], t->offset[d]);
    uk_put(&r->body, "]");
}

/* Every reduced iterator, and a left one with an offset, stands alone in a subscript of the right side. */
static void anchored_value(struct random_program *r, const struct random_tensor *t, struct piece *v) {
    struct piece *a = malloc(2 * sizeof *a);
    int alone[2 * RANDOM_ITERATORS], n = 0;

    if (!a)
        exit(99);
    for (int i = 0; i < r->reduces; i++)
        alone[n++] = r->reduced[i];
    for (int d = 0; d < t->dims; d++)
        if (*t->offset[d])
            alone[n++] = t->iterator[d];
    v->type = t->type;
    if (!n) {
        any_value_of(r, t->type, 3, v);
    } else {
        new_input(r, t->type, alone, n, false, &a[0]);
        if (below(r, 4)) {
            any_value_of(r, t->type, 2, &a[1]);
            arithmetic(r, &a[0], &a[1], v);
        } else {
            *v = a[0];
        }
    }
    free(a);
}

/* S2: T1[i, j] += sum(k) ...: into what an earlier statement wrote. */
static bool update_statement(struct random_program *r, struct piece *v, char words[TEXT]) {
    static const char *const assign[] = {"+=", "*=", "max=", "min="};
    struct random_tensor *t = &r->tensor[below(r, r->tensors)];
    int which = below(r, 4);

    r->lefts = t->dims;
    r->reduces = 0;
    memcpy(r->left, t->iterator, sizeof r->left);
    for (int i = 0; i < RANDOM_ITERATORS && !r->reduces && below(r, 2); i++)
        if (!is_used(r, i))
            r->reduced[r->reduces++] = i;
    r->accesses = 1;
    r->written = t;
    anchored_value(r, t, v);
    words[0] = 0;
    if (r->reduces && !put_reduction(r, v, false, words))
        return false;
    if (is_float(t->type) && which < 2) {
        if (which || !t->range.exact || !v->range.exact ||
            !fits(t->type, t->range.most + v->range.most, either(t->range, v->range).fraction))
            return false;
        t->range = (struct value_range){.most = t->range.most + v->range.most,
                                        .fraction = either(t->range, v->range).fraction,
                                        .exact = true};
    } else {
        t->range = either(t->range, v->range);
    }
    put_left(r, t);
    uk_put(&r->body, " %s %s%s\n", assign[which], words, v->text);
    return true;
}

static bool new_statement(struct random_program *r, bool last, struct piece *v, char words[TEXT]) {
    static const char *const offsets[] = {" + 1", " + 2"};
    struct random_tensor *t = &r->tensor[r->tensors];
    bool temp = !last && below(r, 2), scan;

    choose_iterators(r);
    *t = (struct random_tensor){.type = any_type(r), .dims = r->lefts};
    snprintf(t->name, sizeof t->name, "T%d", r->tensors);
    memcpy(t->iterator, r->left, sizeof t->iterator);
    for (int d = 0; d < t->dims; d++)
        t->offset[d] = !temp && !below(r, 10) ? offsets[below(r, 2)] : "";
    scan = !r->reduces && r->lefts && !below(r, 6);
    r->accesses = 1;
    r->written = t;
    anchored_value(r, t, v);
    words[0] = 0;
    if ((r->reduces || scan) && !put_reduction(r, v, scan, words))
        return false;
    declare_result(r, t, temp);
    put_left(r, t);
    uk_put(&r->body, " = %s%s\n", words, v->text);
    t->range = v->range;
    r->tensors++;
    return true;
}

void random_program_make(struct random_program *r) {
    struct piece *v = malloc(sizeof *v);
    char *words = malloc(TEXT);
    int n = 1 + below(r, 3);

    if (!v || !words)
        exit(99);
    for (int i = 0; i < RANDOM_ITERATORS; i++) {
        r->fixed[i] = below(r, 2);
        r->extent[i] = 1 + below(r, 6);
    }
    while (r->stages < n) {
        if (r->tensors && !below(r, 4))
            update_statement(r, v, words);
        else
            new_statement(r, r->stages == n - 1, v, words);
    }
    free(v);
    free(words);
}

void random_program_free(struct random_program *r) {
    free(r->head.text);
    free(r->body.text);
}
