/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the declarations of kernels. */
#include "arguments.h"
#include <stdlib.h>
#include <string.h>

/* ---- the text ---- */

struct reader {
    const char *at; /* next character; NULL after an error, whose place is `wrong` */
    const char *wrong;
};

static bool fail(struct reader *r) {
    if (r->at)
        r->wrong = r->at;
    r->at = NULL;
    return false;
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Skips blanks and the text, if it follows. */
static bool skip(struct reader *r, const char *text) {
    const char *p = r->at;

    if (!p)
        return false;
    p += strspn(p, " ");
    if (strncmp(p, text, strlen(text)) != 0)
        return false;
    r->at = p + strlen(text);
    return true;
}

static void expect(struct reader *r, const char *text) {
    if (r->at && !skip(r, text))
        fail(r);
}

static void read_name(struct reader *r, char name[BENCH_NAME_SIZE]) {
    size_t n = 0;

    name[0] = 0;
    if (!r->at)
        return;
    r->at += strspn(r->at, " ");
    while (is_letter(r->at[n]) || (n && (is_digit(r->at[n]) || r->at[n] == '_')))
        n++;
    if (!n || n >= BENCH_NAME_SIZE) {
        fail(r);
        return;
    }
    memcpy(name, r->at, n);
    name[n] = 0;
    r->at += n;
}

static int64_t read_number(struct reader *r) {
    char *end;

    if (!r->at)
        return 0;
    const long long n = strtoll(r->at, &end, 10);

    if (end == r->at)
        fail(r);
    else
        r->at = end;
    return n;
}

/* Reads a term, such as 4, P, P + 4 or lda. */
static void read_term(struct reader *r, struct bench_term *t) {
    *t = (struct bench_term){.number = 0};
    if (!r->at)
        return;
    r->at += strspn(r->at, " ");
    if (!is_letter(*r->at)) {
        t->number = read_number(r);
        return;
    }
    read_name(r, t->name);
    if (skip(r, "+"))
        t->number = read_number(r);
}

/* Reads [t, t, ...] and returns the number of terms. */
static int read_terms(struct reader *r, struct bench_term terms[BENCH_DIMS]) {
    int n = 0;

    expect(r, "[");
    if (skip(r, "]"))
        return 0;
    do {
        if (n == BENCH_DIMS)
            fail(r);
        else
            read_term(r, &terms[n++]);
    } while (skip(r, ","));
    expect(r, "]");
    return n;
}

/* ---- tensors ---- */

/* Reads a layout, (i, p) -> [p / 4, i, p % 4]: the stored dimensions. */
static void read_layout(struct reader *r, struct bench_tensor *t) {
    struct bench_dim logical[BENCH_DIMS];
    char index[BENCH_DIMS][BENCH_NAME_SIZE], name[BENCH_NAME_SIZE];
    int n = 0;

    memcpy(logical, t->dim, sizeof logical);
    expect(r, "(");
    do {
        if (n == t->dims)
            fail(r);
        else
            read_name(r, index[n++]);
    } while (skip(r, ","));
    expect(r, ")");
    expect(r, "->");
    expect(r, "[");
    t->dims = 0;
    do {
        int i = 0;

        read_name(r, name);
        while (i < n && strcmp(index[i], name) != 0)
            i++;
        if (i == n || t->dims == BENCH_DIMS) {
            fail(r);
            return;
        }
        struct bench_dim *d = &t->dim[t->dims++];

        *d = logical[i];
        if (skip(r, "/"))
            d->divide = read_number(r);
        else if (skip(r, "%"))
            d->modulo = read_number(r);
    } while (skip(r, ","));
    expect(r, "]");
}

/* Reads a tensor: a f32 [I, P] stride [1, 4] over [4, P] in shared. */
static void read_tensor(struct reader *r, struct bench_tensor *t) {
    struct bench_term terms[BENCH_DIMS], over[BENCH_DIMS];
    const char *layout = NULL;
    int n;

    *t = (struct bench_tensor){.dims = 0};
    read_name(r, t->name);
    read_name(r, t->type);
    t->dims = read_terms(r, terms);
    memcpy(over, terms, sizeof over);
    if (skip(r, "layout") && r->at) {
        layout = r->at;
        r->at += strcspn(r->at, "]");
        expect(r, "]");
    }
    struct bench_term strides[BENCH_DIMS] = {{.number = t->dims == 1}};

    n = skip(r, "stride") ? read_terms(r, strides) : t->dims < 2 ? t->dims : -1;
    if (skip(r, "over") && read_terms(r, over) != t->dims)
        fail(r);
    for (int i = 0; i < t->dims; i++)
        t->dim[i] = (struct bench_dim){.extent = terms[i], .over = over[i]};
    if (layout && r->at) {
        struct reader inside = {.at = layout};

        read_layout(&inside, t);
        if (!inside.at)
            *r = inside;
    }
    if (n != t->dims)
        fail(r);
    for (int i = 0; i < t->dims && i < n; i++)
        t->dim[i].stride = strides[i];
}

static int tensor_named(const struct bench_declaration *d, const char *name) {
    for (int i = 0; i < d->tensors; i++)
        if (!strcmp(d->tensor[i].name, name))
            return i;
    return -1;
}

/* ---- assumptions, statements and parameters ---- */

static void raise(int64_t *least, int64_t to) {
    if (*least < to)
        *least = to;
}

/* Reads an assumption: 1 <= I <= 4, J == 24, P % 4 == 0. Assumptions about strides are skipped. */
static void read_assumption(struct reader *r, struct bench_declaration *d) {
    struct bench_term left, x;
    int64_t least = 0;

    read_term(r, &left);
    x = left;
    if (!*left.name) {
        expect(r, "<=");
        read_term(r, &x);
        least = left.number;
    }
    const int i = bench_is_size(x.name) ? x.name[0] - 'A' : -1;

    if (skip(r, "%")) {
        const int64_t n = read_number(r);

        expect(r, "== 0");
        if (i >= 0)
            d->size_multiple[i] = n;
        return;
    }
    if (i < 0) {
        fail(r);
        return;
    }
    raise(&d->min_size[i], least);
    if (skip(r, "==")) {
        d->max_size[i] = read_number(r);
        raise(&d->min_size[i], d->max_size[i]);
    } else if (skip(r, "<=")) {
        d->max_size[i] = read_number(r);
    }
}

/* Reads a statement: c[i, j] = sum(p) a[i, p] * b[p, j]. */
static void read_statement(struct reader *r, struct bench_declaration *d) {
    static const char *const reductions[] = {" = sum(", " = max(", " +="};
    char name[BENCH_NAME_SIZE];

    read_name(r, name);
    const int i = tensor_named(d, name);

    if (i < 0) {
        fail(r);
        return;
    }
    const size_t left = strcspn(r->at, "]"), all = strcspn(r->at, "\n");
    const char *value = r->at + (left < all ? left + 1 : all), *factor = memchr(r->at, '*', all);

    /* A product, with blanks around *; KR*g in an index is none. */
    d->multiplies |= factor && factor[-1] == ' ';
    d->tensor[i].is_output = true;
    for (size_t n = 0; n < sizeof reductions / sizeof *reductions; n++)
        d->tensor[i].is_accumulated |= !strncmp(value, reductions[n], strlen(reductions[n]));
    d->adds |= !strncmp(value, " +=", 3);
    r->at += all;
}

/* Reads void uk_kernel(i64 P, ptr a, i64 lda, f32 alpha, i64 0, hint a) and returns the number of parameters.
 */
static int read_parameters(struct reader *r, struct bench_declaration *d, struct bench_parameter *p) {
    char type[BENCH_NAME_SIZE];
    int n = 0;

    expect(r, "void");
    if (!r->at)
        return 0;
    r->at += strcspn(r->at, "(");
    expect(r, "(");
    do {
        read_name(r, type);
        if (n == BENCH_PARAMETERS)
            fail(r);
        if (!r->at)
            return 0;
        p[n] = (struct bench_parameter){.tensor = !strcmp(type, "i64") ? BENCH_NUMBER : BENCH_SCALAR};
        if (!strcmp(type, "hint")) { /* any address */
            read_name(r, type);
            p[n++].tensor = BENCH_NUMBER;
            continue;
        }
        read_term(r, &p[n].value);
        if (!strcmp(type, "ptr") && (p[n].tensor = tensor_named(d, p[n].value.name)) < 0)
            fail(r);
        if (p[n].tensor == BENCH_NUMBER && bench_is_size(p[n].value.name))
            d->has_size[p[n].value.name[0] - 'A'] = true;
        n++;
    } while (skip(r, ","));
    expect(r, ")");
    return n;
}

static void read_line(struct reader *r, struct bench_declaration *d) {
    char name[BENCH_NAME_SIZE];
    int n;

    if (skip(r, "tensor ")) {
        if (d->tensors == BENCH_TENSORS)
            fail(r);
        else
            read_tensor(r, &d->tensor[d->tensors++]);
        /* Skips address space and alignment. */
        r->at += r->at ? strcspn(r->at, "\n") : 0;
    } else if (skip(r, "size ")) {
        do
            read_name(r, name);
        while (skip(r, ","));
    } else if (skip(r, "scalar ")) {
        read_name(r, name);
        read_name(r, name);
        d->scalar_is_f64 = !strcmp(name, "f64");
    } else if (skip(r, "assume ")) {
        do
            read_assumption(r, d);
        while (skip(r, "and"));
    } else if (skip(r, "compute ")) {
        d->computes = true;
        d->parameters = read_parameters(r, d, d->parameter);
    } else if (skip(r, "update ")) {
        d->updates = true;
        n = read_parameters(r, d, d->update);
        if (d->computes ? n != d->parameters : false)
            fail(r);
        d->parameters = n;
    } else {
        read_statement(r, d);
    }
}

bool bench_declaration_read(const char *text, struct bench_declaration *d, const char **at) {
    struct reader r = {.at = strchr(text, '\n'), .wrong = text};

    *d = (struct bench_declaration){.tensors = 0};
    while (r.at && strncmp(r.at, "\nend", 4) != 0) {
        expect(&r, "\n");
        read_line(&r, d);
        if (r.at && *r.at != '\n')
            fail(&r);
    }
    if (!d->computes)
        memcpy(d->parameter, d->update, sizeof d->parameter);
    *at = r.wrong;
    return r.at && d->parameters;
}
