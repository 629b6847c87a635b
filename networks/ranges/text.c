/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unites the texts that a layer has at the points into one text with sizes. The tokens of the texts at the
 * points that determine forms differ in integers only; each that differs becomes its form:
 *
 *     an extent, a subscript or a range: an affine form as it is
 *     a stride: a multiple of one size as it is
 *     a value: TYPE(index(form))
 *
 * Other forms are sizes of their own, which the driver computes. At every other point the united text must
 * equal the one there, or at least compute the same: at bounds of ranges texts may be simpler.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "language/language.h"
#include "ranges/words.h"

/* Sizes of one program, and bytes of a size's name, at most. */
enum { MOST_SIZES = 24, MOST_NAME = 40 };

struct uniting {
    struct uk_graph *g;
    struct uk_context *context;
    struct uk_open_text *t;
    const struct uk_graph_node *at;
    const char *layer;
    struct uk_word *token; /* of the base's text */
    int tokens;
    int64_t **integer;         /* by point and token; NULL: the text there has other tokens */
    struct uk_size_form *form; /* by token */
    struct uk_program *base;   /* the base's program; NULL: not needed yet */
    struct uk_size_form size[MOST_SIZES];
    char name[MOST_SIZES][MOST_NAME];
    int sizes;
    bool failed; /* too many sizes, or no memory */
};

/* ---- forms of tokens ---- */

static enum uk_status read_point(struct uniting *u, int point) {
    struct uk_word *token = NULL;
    const int count = u->t->text[point] ? uk_words_of(u->t->text[point], &token) : 0;
    bool has_memory = count >= 0;

    if (count > 0 && uk_words_alike(u->token, u->tokens, token, count)) {
        u->integer[point] = malloc(((size_t)count + 1) * sizeof **u->integer);
        has_memory = u->integer[point];
        for (int i = 0; i < count && has_memory; i++)
            u->integer[point][i] = token[i].integer;
    }
    free(token);
    return has_memory ? UK_OK : uk_graph_no_memory(u->g);
}

/* Refuses the layer because of its text at the point. */
static enum uk_status refuse_text(struct uniting *u, int point) {
    return uk_graph_fail(u->g, UK_REFUSED, u->at,
                         "layer '%s' cannot stay open: at %s it computes in another way than at %s", u->layer,
                         uk_point_text(u->g, point), uk_point_text(u->g, u->g->points.base));
}

/* Refuses the layer because a number of its program has no form: shows it along a size where it bends. */
static enum uk_status refuse_number(struct uniting *u, int token) {
    const struct uk_size_points *p = &u->g->points;
    int size = 0;
    int64_t value[3] = {0};

    for (int i = u->g->open_count - 1; i >= 0; i--) {
        if (p->below[i][1] < 0)
            continue;
        const int64_t at[] = {u->integer[p->base][token], u->integer[p->below[i][0]][token],
                              u->integer[p->below[i][1]][token]};
        if (size && at[0] - at[1] == at[1] - at[2])
            continue;
        size = i;
        memcpy(value, at, sizeof value);
    }
    const int64_t step = u->g->open[size]->step, first = p->size[p->base][size] * step;
    return uk_graph_fail(u->g, UK_REFUSED, u->at,
                         "layer '%s' cannot stay open: a number of its program is %" PRId64 ", %" PRId64
                         " and %" PRId64 " at %s=%" PRId64 ", %" PRId64 " and %" PRId64
                         ", which no affine form is",
                         u->layer, value[2], value[1], value[0], u->g->open[size]->name, first - 2 * step,
                         first - step, first);
}

/* Refuses the layer because a number of its program is not that of its form at the point. */
static enum uk_status refuse_form(struct uniting *u, int token, int point) {
    return uk_graph_fail(u->g, UK_REFUSED, u->at,
                         "layer '%s' cannot stay open: a number of its program is %" PRId64
                         " at %s, where the affine form of larger sizes is %" PRId64,
                         u->layer, u->integer[point][token], uk_point_text(u->g, point),
                         uk_form_value(&u->form[token], u->g->points.size[point]));
}

static enum uk_status find_forms(struct uniting *u) {
    const struct uk_size_points *p = &u->g->points;
    int64_t *value = calloc((size_t)p->count, sizeof *value);
    enum uk_status s = value ? UK_OK : uk_graph_no_memory(u->g);

    for (int i = 0; i < u->tokens && !s; i++) {
        for (int k = 0; k < p->count; k++)
            value[k] = u->integer[k] ? u->integer[k][i] : 0;
        if (u->token[i].is_integer && !uk_form_fit(u->g, value, &u->form[i]))
            s = refuse_number(u, i);
    }
    free(value);
    return s;
}

/* ---- the text with sizes ---- */

/* Name of an open size in programs: that of the dimension in capital letters, which no tensor and no word of
 * the language has. */
static void name_size(const struct uk_graph *g, int open, char *name) {
    const char *from = g->open[open]->name;
    size_t n = 0;

    if (!isalpha((unsigned char)*from))
        name[n++] = 'N';
    for (; *from && n + 4 < MOST_NAME; from++)
        name[n++] = isalnum((unsigned char)*from) ? (char)toupper((unsigned char)*from) : '_';
    name[n] = 0;
    for (int i = 0; i < open; i++) {
        char other[MOST_NAME];
        name_size(g, i, other);
        if (!strcmp(name, other))
            snprintf(name + n, MOST_NAME - n, "_%d", open % 100);
    }
}

/* Returns the number of the program's size with the form. */
static int size_of(struct uniting *u, const struct uk_size_form *f) {
    const bool is_open = f->terms == 1 && f->term[0].factor == 1 && f->term[0].b < 0;
    int made = 0;

    for (int i = 0; i < u->sizes; i++) {
        if (uk_form_equal(&u->size[i], f))
            return i;
        made += u->size[i].terms != 1 || u->size[i].term[0].factor != 1 || u->size[i].term[0].b >= 0;
    }
    if (u->sizes == MOST_SIZES) {
        u->failed = true;
        return 0;
    }
    u->size[u->sizes] = *f;
    if (is_open)
        name_size(u->g, f->term[0].a, u->name[u->sizes]);
    else
        snprintf(u->name[u->sizes], MOST_NAME, "made_%d", made);
    return u->sizes++;
}

static bool has_size(const struct uniting *u, const struct uk_size_form *f) {
    int i = 0;

    while (i < u->sizes && !uk_form_equal(&u->size[i], f))
        i++;
    return i < u->sizes;
}

static const char *name_of(struct uniting *u, int open) {
    return u->name[size_of(u, &(struct uk_size_form){1, {{1, open, -1}}})];
}

static void put_affine(struct uniting *u, struct uk_text *out, const struct uk_size_form *f) {
    if (f->terms > 1)
        uk_put(out, "(");
    for (int i = 0; i < f->terms; i++) {
        const struct uk_size_term *t = &f->term[i];
        const int64_t size = t->factor < 0 && i ? -t->factor : t->factor;
        uk_put(out, "%s", !i ? "" : t->factor < 0 ? " - " : " + ");
        if (t->a < 0)
            uk_put(out, "%" PRId64, size);
        else if (size == 1)
            uk_put(out, "%s", name_of(u, t->a));
        else
            uk_put(out, "%" PRId64 " * %s", size, name_of(u, t->a));
    }
    if (f->terms > 1)
        uk_put(out, ")");
}

/* True if each product of the part is in the form, with a factor of the same sign that is at least as large.
 */
static bool has_part(const struct uk_size_form *f, const struct uk_size_form *part) {
    for (int i = 0; i < part->terms; i++) {
        const struct uk_size_term *t = &part->term[i];
        int64_t factor = 0;
        for (int k = 0; k < f->terms; k++)
            if (f->term[k].a == t->a && f->term[k].b == t->b)
                factor = f->term[k].factor;
        if (t->b >= 0 && (t->factor < 0 ? factor > t->factor : factor < t->factor))
            return false;
    }
    return !uk_form_is_affine(part);
}

/* Returns the number of the largest size that is a part of the form; -1: none is. */
static int largest_part(const struct uniting *u, const struct uk_size_form *f) {
    int found = -1;

    for (int i = 0; i < u->sizes; i++)
        if (has_part(f, &u->size[i]) && (found < 0 || has_part(&u->size[i], &u->size[found])))
            found = i;
    return found;
}

/* Writes a form with products as the sum of sizes that were written before and an affine rest: so a part of a
 * concatenation begins at the sum of the extents before it. A subscript needs such sizes, which are extents.
 * Returns false if the form is not such a sum. */
static bool put_sum(struct uniting *u, struct uk_text *out, const struct uk_size_form *f) {
    struct uk_size_form rest = *f;
    struct uk_text sum = {0};
    bool fits = true;
    int part;

    for (int parts = 0; fits && parts < MOST_SIZES && (part = largest_part(u, &rest)) >= 0; parts++) {
        uk_put(&sum, "%s%s", parts ? " + " : "(", u->name[part]);
        fits = uk_form_subtract(&rest, &u->size[part]);
    }
    const bool found = fits && uk_form_is_affine(&rest);
    if (found && rest.terms) {
        uk_put(&sum, " + ");
        put_affine(u, &sum, &rest);
    }
    if (found)
        uk_put(out, "%s)", sum.text ? sum.text : "");
    u->failed |= sum.failed;
    free(sum.text);
    return found;
}

/* The form of a multiple of a size, or a sum of them, is written as it is; others get a size. */
static void put_form(struct uniting *u, struct uk_text *out, const struct uk_size_form *f, bool is_stride) {
    if (uk_form_is_affine(f) && (!is_stride || f->terms == 1))
        put_affine(u, out, f);
    else
        uk_put(out, "%s", u->name[size_of(u, f)]);
}

/* ---- types of values ---- */

static const struct uk_expr *number_at(const struct uk_expr *e, const struct uk_word *t) {
    const struct uk_expr *found = NULL;

    if (e->op == UK_E_NUMBER && e->at.line == t->line && e->at.column == t->column)
        return e;
    for (int i = 0; i < 3 && e->arg[i] && !found; i++)
        found = number_at(e->arg[i], t);
    return found;
}

static enum uk_status parse(struct uniting *u, const char *text, struct uk_program **p) {
    const enum uk_status s = uk_program_parse(u->context, "layer.uk", text, strlen(text), p);

    if (s == UK_OUT_OF_MEMORY)
        uk_graph_no_memory(u->g); /* the callers' refusals do not replace it */
    return s;
}

/* Writes the value's number with the type that it has in the base's program. */
static void put_value(struct uniting *u, struct uk_text *out, const struct uk_word *t,
                      const struct uk_size_form *f) {
    const struct uk_expr *e = NULL;

    if (!u->base && parse(u, u->t->text[u->g->points.base], &u->base))
        u->failed = true;
    for (const struct uk_statement *s = u->base ? u->base->statements : NULL; s && !e; s = s->next)
        e = number_at(s->right, t);
    if (!e) {
        u->failed = true;
        return;
    }
    uk_put(out, e->type == UK_I64 ? "index(" : "%s(index(", uk_type_name(e->type));
    put_form(u, out, f, false);
    uk_put(out, e->type == UK_I64 ? ")" : "))");
}

/* ---- the whole program ---- */

static bool is_constant(const struct uk_size_form *f) {
    return !f->terms || (f->terms == 1 && f->term[0].a < 0);
}

/* True if a blank belongs before the token, which follows `last`. */
static bool is_apart(const struct uk_word *last, const struct uk_word *t) {
    return last->at + last->length < t->at;
}

static bool is_word(const struct uk_word *t, const char *word) {
    return (size_t)t->length == strlen(word) && !strncmp(t->at, word, (size_t)t->length);
}

static void put_tokens(struct uniting *u, struct uk_text *out) {
    bool declares = false;

    for (int i = 0; i < u->tokens; i++) {
        const struct uk_word *t = &u->token[i];
        if (!i || u->token[i - 1].line != t->line)
            declares = is_word(t, "tensor") || is_word(t, "temp");
        if (i && is_apart(&u->token[i - 1], t))
            uk_put(out, " ");
        if (!t->is_integer || is_constant(&u->form[i]))
            uk_put(out, "%.*s", t->length, t->at);
        else if (t->place == UK_WORD_VALUE)
            put_value(u, out, t, &u->form[i]);
        else if (declares || uk_form_is_affine(&u->form[i]) || has_size(u, &u->form[i]) ||
                 !put_sum(u, out, &u->form[i]))
            put_form(u, out, &u->form[i], t->place == UK_WORD_STRIDE);
    }
}

/* Declares the sizes, with the middle of their ranges for estimates, and the bounds of the open ones. Two
 * layers of BERT with texts of 1 to 512 tokens, in time relative to what is compiled for the length (Zen 5):
 *
 *     tokens                    1     7    37   128   200   512
 *     estimates for 8 tokens 1.05  1.02  1.92  1.98  1.94  1.91
 *     for 32                 1.03  1.25  1.08  1.02  1.03  1.02
 *     for 256                1.08  1.15  1.06  1.01  0.99  0.98
 *     for 511                1.21  1.30  1.09  1.04  1.01  1.00
 */
static void put_sizes(const struct uniting *u, struct uk_text *out) {
    int64_t typical[UK_MAX_OPEN];

    for (int i = 0; i < u->g->open_count; i++)
        typical[i] = (u->g->open[i]->lower + u->g->open[i]->upper) / u->g->open[i]->step / 2;
    for (int i = 0; i < u->sizes; i++)
        uk_put(out, "%s%s = %" PRId64, i ? ", " : "size ", u->name[i], uk_form_value(&u->size[i], typical));
    uk_put(out, u->sizes ? "\n" : "");
    for (int i = 0; i < u->sizes; i++) {
        const struct uk_size_form *f = &u->size[i];
        if (f->terms != 1 || f->term[0].factor != 1 || f->term[0].b >= 0)
            continue;
        const struct uk_graph_size *z = u->g->open[f->term[0].a];
        uk_put(out, "assume %" PRId64 " <= %s <= %" PRId64 "\n", z->lower / z->step, u->name[i],
               z->upper / z->step);
    }
}

static enum uk_status compose(struct uniting *u) {
    struct uk_text body = {0}, all = {0};
    enum uk_status s = UK_OK;

    put_tokens(u, &body);
    put_sizes(u, &all);
    uk_put(&all, "%s", body.text ? body.text : "");
    if (u->failed || !body.text || !all.text)
        s = u->sizes == MOST_SIZES
                ? uk_graph_fail(u->g, UK_REFUSED, u->at, "layer '%s' depends on more than %d sizes", u->layer,
                                MOST_SIZES)
                : uk_graph_no_memory(u->g);
    u->t->open = s ? NULL : uk_strdup(&u->g->arena, all.text);
    u->t->size = uk_alloc(&u->g->arena, ((size_t)u->sizes + 1) * sizeof *u->t->size);
    if (!s && (!u->t->open || !u->t->size))
        s = uk_graph_no_memory(u->g);
    for (int i = 0; i < u->sizes && !s; i++)
        u->t->size[i] = u->size[i];
    u->t->sizes = u->sizes;
    free(body.text);
    free(all.text);
    return s;
}

/* ---- verification ---- */

/* Returns the number of a token whose integer at the point is not its form's; -1: all agree. */
static int find_difference(const struct uniting *u, int point) {
    for (int i = 0; i < u->tokens; i++)
        if (u->token[i].is_integer &&
            uk_form_value(&u->form[i], u->g->points.size[point]) != u->integer[point][i])
            return i;
    return -1;
}

static bool computes_the_same(struct uniting *u, struct uk_program *open, int point) {
    int64_t size[MOST_SIZES];
    struct uk_program *p = NULL;
    const char *text = u->t->text[point];
    const int base = u->g->points.base;

    for (int i = 0; i < u->sizes; i++)
        size[i] = uk_form_value(&u->size[i], u->g->points.size[point]);
    bool same = !*text || !parse(u, text, &p);
    if (same)
        same = uk_programs_equal(&(struct uk_comparand){open, size, u->t->tensor[base], u->t->tensors[base]},
                                 &(struct uk_comparand){p, NULL, u->t->tensor[point], u->t->tensors[point]});
    uk_program_destroy(p);
    return same;
}

static enum uk_status verify(struct uniting *u) {
    struct uk_program *open = NULL;
    enum uk_status s = UK_OK;

    if (parse(u, u->t->open, &open))
        s = uk_graph_fail(u->g, UK_REFUSED, u->at, "layer '%s' cannot stay open: its program is refused: %s",
                          u->layer, uk_context_message(u->context));
    for (int p = 0; p < u->g->points.count && !s; p++) {
        const int token = u->integer[p] ? find_difference(u, p) : -1;
        if (!u->t->text[p] || (u->integer[p] && token < 0))
            continue;
        if (!computes_the_same(u, open, p))
            s = token < 0 ? refuse_text(u, p) : refuse_form(u, token, p);
    }
    uk_program_destroy(open);
    return s;
}

/* ---- entry ---- */

static enum uk_status unite(struct uniting *u) {
    const struct uk_size_points *p = &u->g->points;
    enum uk_status s = UK_OK;

    for (int k = 0; k < p->count && !s; k++)
        s = read_point(u, k);
    if (!s && !u->integer[p->base])
        s = refuse_text(u, p->base);
    for (int i = 0; i < u->g->open_count && !s; i++) {
        for (int k = 0; k < 2 && !s; k++)
            if (p->below[i][k] >= 0 && !u->integer[p->below[i][k]])
                s = refuse_text(u, p->below[i][k]);
        for (int j = i + 1; j < u->g->open_count && !s; j++)
            if (!u->integer[p->across[i][j]])
                s = refuse_text(u, p->across[i][j]);
    }
    if (!s)
        s = find_forms(u);
    if (!s)
        s = compose(u);
    return s ? s : verify(u);
}

enum uk_status uk_open_unite(struct uk_graph *g, struct uk_context *c, struct uk_open_text *t,
                             const struct uk_graph_node *at, const char *layer) {
    struct uniting u = {.g = g, .context = c, .t = t, .at = at, .layer = layer};
    const char *base = t->text[g->points.base];
    enum uk_status s;

    u.tokens = base ? uk_words_of(base, &u.token) : 0;
    u.integer = calloc((size_t)g->points.count, sizeof *u.integer);
    u.form = calloc((size_t)(u.tokens > 0 ? u.tokens : 0) + 1, sizeof *u.form);
    s = u.tokens >= 0 && u.integer && u.form ? unite(&u) : uk_graph_no_memory(g);
    for (int i = 0; u.integer && i < g->points.count; i++)
        free(u.integer[i]);
    free(u.integer);
    free(u.form);
    free(u.token);
    uk_program_destroy(u.base);
    return s;
}
