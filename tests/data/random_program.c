/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "random_inside.h"

enum { MOST_TERMS = 36 /* terms of a reduction at most; extents are at most 6 */ };

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

/* ---- statements ---- */

static void choose_iterators(struct random_program *r) {
    int order[RANDOM_ITERATORS] = {0, 1, 2, 3};

    for (int i = RANDOM_ITERATORS - 1; i > 0; i--) {
        int j = below(r, i + 1), o = order[i];

        order[i] = order[j];
        order[j] = o;
    }
    r->left_count = below(r, 12) ? 1 + below(r, 3) : 0;
    r->reduces = below(r, 3) ? below(r, RANDOM_ITERATORS - r->left_count + 1) : 0;
    if (r->reduces > 2)
        r->reduces = 2;
    memcpy(r->left, order, sizeof r->left);
    for (int i = 0; i < r->reduces; i++)
        r->reduced[i] = order[r->left_count + i];
}

/* Chooses a reduction of the value; "": none is exact. */
static const char *reduction(struct random_program *r, struct piece *v) {
    const bool fine = v->range.exact;
    const int which = below(r, 5);

    if (which < 2 && fine && random_fits(v->type, v->range.max_magnitude * MOST_TERMS, v->range.fraction)) {
        v->range.max_magnitude *= MOST_TERMS;
        return "sum";
    }
    if (which == 2 && fine && (!is_float(v->type) || (v->range.max_magnitude <= 1 && !v->range.fraction)))
        return "prod";
    if (!fine && is_float(v->type))
        return "";
    v->range.exact = v->range.exact && !is_float(v->type); /* max or min over nothing is infinite */
    return which & 1 ? "max" : "min";
}

/* Writes the text before the value: "", or for instance "sum(k, l where k <= i) ". */
static bool put_reduction(struct random_program *r, struct piece *v, bool scan, char text[TEXT]) {
    const char *word = reduction(r, v);
    char along[64] = "";

    if (!*word)
        return false;
    for (int i = 0; i < (scan ? 1 : r->reduces); i++) {
        size_t n = strlen(along);

        snprintf(along + n, sizeof along - n, "%s%s", i ? ", " : "",
                 random_iterators[scan ? r->left[0] : r->reduced[i]]);
    }
    if (!scan && !below(r, 4) && r->left_count) {
        size_t n = strlen(along);

        snprintf(along + n, sizeof along - n, " where %s %s %s + %d", random_iterators[r->reduced[0]],
                 below(r, 2) ? "<=" : ">", random_iterators[r->left[below(r, r->left_count)]], below(r, 3));
    }
    random_put(text, "%s%s(%s) ", scan ? "scan " : "", word, along);
    return true;
}

static void declare_result(struct random_program *r, struct random_tensor *t, bool temp) {
    uk_put(&r->head, "%s %s %s [", temp ? "temp" : "tensor", t->name, uk_type_name(t->type));
    for (int d = 0; d < t->dims; d++) {
        char e[16];

        random_extent(r, t->iterator[d], e);
        uk_put(&r->head, "%s%s%s", d ? ", " : "", e, t->offset[d]);
    }
    uk_put(&r->head, "]");
    if (!temp)
        random_put_storage(r, t->dims);
    uk_put(&r->head, "\n");
}

/* Begins a statement; writes the left side's subscripts before dimension `end`. */
static void put_left_at(struct random_program *r, const struct random_tensor *t, int end) {
    struct random_stage *s = &r->stage[r->stages++];

    snprintf(s->name, sizeof s->name, "S%d", r->stages);
    s->written = t->name;
    s->left = r->left_count;
    for (int i = 0; i < r->left_count + r->reduces; i++)
        snprintf(s->loop[s->loops++], sizeof s->loop[0], "%s",
                 random_iterators[i < r->left_count ? r->left[i] : r->reduced[i - r->left_count]]);
    uk_put(&r->body, "%s: %s[", s->name, t->name);
    for (int d = 0; d < end; d++)
        uk_put(&r->body, "%s%s%s", random_iterators[t->iterator[d]], t->offset[d],
               d + 1 < t->dims ? ", " : "");
}

static void put_left(struct random_program *r, const struct random_tensor *t) {
    put_left_at(r, t, t->dims);
    uk_put(&r->body, "]");
}

/* Generates a right side in which each reduced iterator, and each left one with an offset, is a subscript by
 * itself. */
static void anchored_value(struct random_program *r, const struct random_tensor *t, struct piece *v) {
    struct piece *a = malloc(2 * sizeof *a);
    int plain[2 * RANDOM_ITERATORS], n = 0;

    if (!a)
        exit(99);
    for (int i = 0; i < r->reduces; i++)
        plain[n++] = r->reduced[i];
    for (int d = 0; d < t->dims; d++)
        if (*t->offset[d] || t->part[d])
            plain[n++] = t->iterator[d];
    v->type = t->type;
    if (!n) {
        random_value(r, t->type, 3, v);
    } else {
        random_input(r, t->type, plain, n, false, &a[0]);
        if (below(r, 4)) {
            random_value(r, t->type, 2, &a[1]);
            random_arithmetic(r, &a[0], &a[1], v);
        } else {
            *v = a[0];
        }
    }
    free(a);
}

/* Generates an update of an earlier result, such as S2: T1[i, j] += sum(k) ... */
static bool update_statement(struct random_program *r, struct piece *v, char words[TEXT]) {
    static const char *const assign[] = {"+=", "*=", "max=", "min="};
    struct random_tensor *t = &r->tensor[below(r, r->tensors)];
    int which = below(r, 4);

    r->left_count = t->dims;
    r->reduces = 0;
    memcpy(r->left, t->iterator, sizeof r->left);
    for (int i = 0; i < RANDOM_ITERATORS && !r->reduces && below(r, 2); i++)
        if (!random_is_used(r, i))
            r->reduced[r->reduces++] = i;
    r->accesses = 1;
    r->written = t;
    anchored_value(r, t, v);
    words[0] = 0;
    if (r->reduces && !put_reduction(r, v, false, words))
        return false;
    if (is_float(t->type) && which < 2) {
        if (which || !t->range.exact || !v->range.exact ||
            !random_fits(t->type, t->range.max_magnitude + v->range.max_magnitude,
                         random_either(t->range, v->range).fraction))
            return false;
        t->range = (struct value_range){.max_magnitude = t->range.max_magnitude + v->range.max_magnitude,
                                        .fraction = random_either(t->range, v->range).fraction,
                                        .exact = true};
    } else {
        t->range = random_either(t->range, v->range);
    }
    put_left(r, t);
    uk_put(&r->body, " %s %s%s\n", assign[which], words, v->text);
    return true;
}

/* Chooses the iterators of an element's subscripts: that of the dimension, first or last, and perhaps another
 * one. With the dimension's own iterator, indices exist if the dimension is not empty. */
static int element_iterators(struct random_program *r, int dimension, int subscript[2]) {
    const int other = below(r, RANDOM_ITERATORS);
    const int n = other != dimension && below(r, 2) ? 2 : 1, first = n == 2 && below(r, 2);

    subscript[first] = dimension;
    if (n == 2)
        subscript[!first] = other;
    return n;
}

static void add_left(struct random_program *r, int iterator) {
    if (!random_is_used(r, iterator))
        r->left[r->left_count++] = iterator;
}

/* Generates a statement that writes an earlier result at elements of an index, such as
 * S2: T1[X3[i, k], j] += ... */
static bool scatter_statement(struct random_program *r, struct piece *v) {
    static const char *const assign[] = {"+=", "*=", "max=", "min=", "=", "=", "=", "="}; /* = by order */
    enum { MOST_INSTANCES = 1296 }; /* that write one element; extents are at most 6 */
    struct random_tensor *t = &r->tensor[below(r, r->tensors)];
    const int which = below(r, 8), dim = t->dims ? below(r, t->dims) : 0, wraps = below(r, 2);
    const enum uk_type index_types[] = {UK_I64, UK_I32, UK_I16, UK_I8}, index_type = index_types[below(r, 4)];
    int subscript[2];

    if (!t->dims)
        return false;
    const int subscripts = element_iterators(r, t->iterator[dim], subscript);
    r->left_count = r->reduces = 0;
    for (int d = 0; d < t->dims; d++)
        for (int i = 0; i < (d == dim ? subscripts : 1); i++)
            add_left(r, d == dim ? subscript[i] : t->iterator[d]);
    r->accesses = 2;
    r->written = t;
    anchored_value(r, t, v);
    const double grown = t->range.max_magnitude + v->range.max_magnitude * MOST_INSTANCES;
    const struct value_range both = random_either(t->range, v->range);
    if (is_float(t->type) && which < 2) {
        if (which || !t->range.exact || !v->range.exact || !random_fits(t->type, grown, both.fraction))
            return false;
        t->range = (struct value_range){.max_magnitude = grown, .fraction = both.fraction, .exact = true};
    } else {
        t->range = both;
    }
    const int index = r->inputs++;
    uk_put(&r->head, "tensor X%d %s [", index, uk_type_name(index_type));
    for (int i = 0; i < subscripts; i++) {
        char e[16];

        random_extent(r, subscript[i], e);
        uk_put(&r->head, "%s%s", i ? ", " : "", e);
    }
    uk_put(&r->head, "]\n");
    put_left_at(r, t, dim);
    uk_put(&r->body, "%sX%d[%s%s%s]%s", wraps ? "wrap(" : "", index, random_iterators[subscript[0]],
           subscripts > 1 ? ", " : "", subscripts > 1 ? random_iterators[subscript[1]] : "",
           wraps ? ")" : "");
    for (int d = dim + 1; d < t->dims; d++)
        uk_put(&r->body, ", %s%s", random_iterators[t->iterator[d]], t->offset[d]);
    uk_put(&r->body, "] %s %s\n", assign[which], v->text);
    return true;
}

static bool new_statement(struct random_program *r, bool last, struct piece *v, char words[TEXT]) {
    static const char *const offsets[] = {" + 1", " + 2"};
    struct random_tensor *t = &r->tensor[r->tensors];
    bool temp = !last && below(r, 2), scan;

    choose_iterators(r);
    *t = (struct random_tensor){.type = random_type(r)};
    /* Statements read earlier results of their type and iterators. */
    if (r->tensors && below(r, 2)) {
        const struct random_tensor *earlier = &r->tensor[below(r, r->tensors)];

        t->type = earlier->type;
        if (below(r, 2)) {
            r->left_count = earlier->dims;
            r->reduces = 0;
            memcpy(r->left, earlier->iterator, sizeof r->left);
        }
    }
    t->dims = r->left_count;
    snprintf(t->name, sizeof t->name, "T%d", r->tensors);
    memcpy(t->iterator, r->left, sizeof t->iterator);
    for (int d = 0; d < t->dims; d++)
        t->offset[d] = !temp && !below(r, 10) ? offsets[below(r, 2)] : "";
    scan = !r->reduces && r->left_count && !below(r, 6);
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

/* ---- parts of a tensor ---- */

/* Chooses an iterator that the left side lacks, or the left side's in that dimension. */
static int part_iterator(struct random_program *r, int dim) {
    for (int i = below(r, 2) ? RANDOM_ITERATORS : below(r, RANDOM_ITERATORS); i < RANDOM_ITERATORS; i++)
        if (!random_is_used(r, i))
            return i;
    return r->left[dim];
}

static void declare_whole(struct random_program *r, const struct random_tensor *t, bool temp, int dim,
                          const char *sum) {
    uk_put(&r->head, "%s %s %s [", temp ? "temp" : "tensor", t->name, uk_type_name(t->type));
    for (int d = 0; d < t->dims; d++) {
        char e[16];

        random_extent(r, t->iterator[d], e);
        uk_put(&r->head, "%s%s", d ? ", " : "", d == dim ? sum : e);
    }
    uk_put(&r->head, "]");
    if (!temp)
        random_put_storage(r, t->dims);
    uk_put(&r->head, "\n");
}

/* Generates a statement that reads each element of all parts, such as W[u, v] = max(T[u, v], T[u, v]). */
static void read_whole(struct random_program *r, const struct random_tensor *t, int dim, const char *sum) {
    static const char *const names[] = {"u", "v", "w", "x"};
    struct random_tensor whole = *t;
    struct random_stage *s = &r->stage[r->stages++];
    char index[64] = "";

    snprintf(whole.name, sizeof whole.name, "W%d", r->tensors);
    snprintf(s->name, sizeof s->name, "S%d", r->stages);
    s->written = strcpy(r->full_name[r->stages - 1], whole.name);
    s->left = s->loops = t->dims;
    declare_whole(r, &whole, false, dim, sum);
    for (int d = 0; d < t->dims; d++) {
        size_t n = strlen(index);

        snprintf(s->loop[d], sizeof s->loop[0], "%s", names[d]);
        snprintf(index + n, sizeof index - n, "%s%s", d ? ", " : "", names[d]);
    }
    uk_put(&r->body, "%s: %s[%s] = max(%s[%s], %s[%s])\n", s->name, whole.name, index, t->name, index,
           t->name, index);
}

/* Generates a concatenation: statements that each write an adjacent part of one tensor along one
 * dimension. */
static void parts(struct random_program *r, struct piece *v) {
    const struct random_tensor *first = &r->tensor[r->tensors];
    const int n = 2 + below(r, 2), named = r->tensors;
    const bool temp = below(r, 2);
    const enum uk_type type = random_type(r);
    char sum[64] = "";

    choose_iterators(r);
    r->reduces = 0;
    if (!r->left_count)
        return;
    const int dim = below(r, r->left_count);
    struct random_tensor t = {.type = type, .dims = r->left_count};

    snprintf(t.name, sizeof t.name, "T%d", named);
    for (int p = 0; p < n; p++) {
        char *offset = r->offset[r->stages], e[16];

        memcpy(t.iterator, r->left, sizeof t.iterator);
        for (int d = 0; d < t.dims; d++)
            t.offset[d] = "";
        if (p)
            t.iterator[dim] = r->left[dim] = part_iterator(r, dim);
        snprintf(offset, sizeof r->offset[0], "%s%s", *sum ? " + " : "", *sum ? sum : "");
        t.offset[dim] = p || below(r, 2) ? offset : " + 0";
        t.part[dim] = true;
        r->tensor[r->tensors] = t;
        r->accesses = 1;
        r->written = &r->tensor[r->tensors];
        anchored_value(r, r->written, v);
        r->tensor[r->tensors].range = v->range;
        put_left(r, &r->tensor[r->tensors]);
        random_extent(r, t.iterator[dim], e);
        uk_put(&r->body, " = %s", v->text);
        if (!below(r, 4))
            uk_put(&r->body, " where %s < %s", random_iterators[t.iterator[dim]], e);
        uk_put(&r->body, "\n");
        snprintf(sum + strlen(sum), sizeof sum - strlen(sum), "%s%s", *sum ? " + " : "", e);
        r->tensors++;
    }
    declare_whole(r, first, temp, dim, sum);
    if (temp || below(r, 2))
        read_whole(r, first, dim, sum);
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
        if (!below(r, 8))
            parts(r, v);
        else if (r->scatters && r->tensors && below(r, 2))
            scatter_statement(r, v);
        else if (r->tensors && !below(r, 4))
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
