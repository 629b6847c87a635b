/* SPDX-License-Identifier: Apache-2.0 */
/* Advice in errors: what to write instead of functions that the language lacks, and of a reduction inside an
 * expression. */
#include <string.h>
#include "language/parse.h"

/* Replacements; $ represents the argument. */
static const struct {
    const char *name, *instead;
} lacking[] = {
    {"relu", "max(0, $)"},
    {"leaky_relu", "max($, 0.01 * $)"},
    {"sigmoid", "1 / (1 + exp(-($)))"},
    {"logistic", "1 / (1 + exp(-($)))"},
    {"silu", "swish($, 1)"},
    {"softplus", "log(1 + exp($))"},
    {"square", "($) * ($)"},
    {"rsqrt", "1 / sqrt($)"},
    {"exp2", "exp(0.69314718 * ($))"},
    {"log2", "1.44269504 * log($)"},
    {"log10", "0.43429448 * log($)"},
    {"log1p", "log(1 + ($))"},
    {"sign", "select($ > 0, 1, select($ < 0, -1, 0))"},
    {"trunc", "select($ < 0, ceil($), floor($))"},
    {"fabs", "abs($)"},
    {"float", "f32($)"},
    {"int", "i32($)"},
    {"maximum", "max($)"},
    {"minimum", "min($)"},
    {"fmax", "max($)"},
    {"fmin", "min($)"},
    {"where", "select($)"},
    {"clamp", "min(high, max(low, x))"},
    {"clip", "min(high, max(low, x))"},
    {"mean", "a sum, as in `M[i] = sum(k) X[i, k]`, and divide by the extent in a statement after it"},
    {"softmax",
     "the largest element, exp of the differences and their sum as three temps, and divide by the sum"},
};

/* Appends the tokens from first to last as written, with each run of blanks as one blank. */
static void put_tokens(struct uk_text *t, const struct uk_token *first, const struct uk_token *last) {
    const char *end = last->s + last->n;

    for (const char *s = first->s; s < end; s++)
        if (*s == ' ' || *s == '\t' || *s == '\n' || *s == '\r') {
            if (s + 1 < end && !strchr(" \t\n\r", s[1]))
                uk_put(t, " ");
        } else {
            uk_put(t, "%c", *s);
        }
}

/* True if the tokens are a name, a number, an element or a call, which need no brackets as an operand. */
static bool is_primary(const struct uk_parser *ps, const struct uk_token *first,
                       const struct uk_token *last) {
    const bool opens = first < last && (uk_token_is(first + 1, "[") || uk_token_is(first + 1, "("));

    return first == last || (first->kind == UK_T_WORD && opens && &ps->list[first[1].match] == last);
}

/* Appends the form with the argument for each $, in brackets only where it needs them. */
static void put_instead(struct uk_text *t, const char *form, const struct uk_parser *ps,
                        const struct uk_token *first, const struct uk_token *last) {
    for (const char *s = form; *s; s++) {
        const bool is_call = s > form && ((s[-1] >= 'a' && s[-1] <= 'z') || (s[-1] >= '0' && s[-1] <= '9'));
        const bool has_brackets = !strncmp(s, "($)", 3) && !is_call && is_primary(ps, first, last);

        if (has_brackets || *s == '$') {
            put_tokens(t, first, last);
            s += has_brackets ? 2 : 0;
        } else {
            uk_put(t, "%c", *s);
        }
    }
}

void *uk_refuse_function(struct uk_parser *ps, const char *name, const struct uk_token *called) {
    const struct uk_token *open = called + 1, *close = &ps->list[open->match];
    struct uk_closest_name near = {.word = name};
    struct uk_text t = {0};

    for (int i = 0; i < UK_FUNCTIONS; i++)
        uk_consider_name(&near, uk_function_name(i));
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++)
        if (!strcmp(lacking[i].name, name)) {
            uk_put(&t, "write ");
            put_instead(&t, lacking[i].instead, ps, open + 1, close - 1);
        }
    if (!t.length && near.name)
        uk_put(&t, "did you mean '%s'?", near.name);
    for (int i = 0; i < UK_FUNCTIONS && (i || !t.length); i++)
        uk_put(&t, "%s%s", i ? ", " : "use one of ", uk_function_name(i));
    if (t.failed)
        uk_program_check_memory(ps->p, NULL);
    else
        uk_program_fail(ps->p, UK_REFUSED, called->at, "there is no function '%s'; %s", name, t.text);
    uk_text_free(t.text);
    return NULL;
}

/* ---- a reduction inside an expression ---- */

/* Returns the last token of the term that the reduction sums, a product of factors that begins at t. */
static const struct uk_token *last_of_term(const struct uk_parser *ps, const struct uk_token *t) {
    static const char *const ends[] = {"+", "-", ")",  ",",  "where", "<<", ">>", "&",
                                       "^", "|", "==", "!=", "<",     "<=", ">",  ">="};
    const struct uk_token *last = t;

    for (bool is_first = true;; is_first = false) {
        if (t->kind == UK_T_NEWLINE || t->kind == UK_T_END)
            return last;
        for (size_t i = is_first && uk_token_is(t, "-") ? 2 : 0; i < sizeof ends / sizeof *ends; i++)
            if (uk_token_is(t, ends[i]))
                return last;
        if (uk_token_is(t, "(") || uk_token_is(t, "["))
            t = &ps->list[t->match];
        last = t++;
    }
}

static bool is_named(const struct uk_token *t, const struct uk_token *name) {
    return t->kind == UK_T_WORD && t->n == name->n && !memcmp(t->s, name->s, name->n);
}

/* True if the token names an iterator of this statement: no size, tensor or reserved word. */
static bool is_iterator(const struct uk_parser *ps, const struct uk_token *t) {
    char name[64];

    if (t->kind != UK_T_WORD || t->n >= sizeof name || uk_is_reserved(t->s, t->n))
        return false;
    memcpy(name, t->s, t->n);
    name[t->n] = 0;
    return !uk_find_tensor(ps->p, name) && !uk_find_scalar(ps->p, name) && !uk_find_var(ps->p->sizes, name);
}

/* Returns the extent of a dimension that the iterator indexes alone in the statement; NULL if there is
 * none. */
static struct uk_index *extent_of(const struct uk_parser *ps, const struct uk_token *statement,
                                  const struct uk_token *iterator) {
    char name[64];

    for (const struct uk_token *t = statement; t->kind != UK_T_NEWLINE && t->kind != UK_T_END; t++) {
        if (t->kind != UK_T_WORD || t->n >= sizeof name || !uk_token_is(t + 1, "["))
            continue;
        memcpy(name, t->s, t->n);
        name[t->n] = 0;
        const struct uk_tensor *x = uk_find_tensor(ps->p, name);
        const struct uk_token *close = &ps->list[t[1].match], *begin = t + 2;

        for (int d = 0; x && d < x->dims && begin < close; d++) {
            const struct uk_token *end = begin;

            while (end < close && !uk_token_is(end, ","))
                end = uk_token_is(end, "(") || uk_token_is(end, "[") ? &ps->list[end->match] + 1 : end + 1;
            if (end == begin + 1 && is_named(begin, iterator))
                return x->shape[d];
            begin = end + 1;
        }
    }
    return NULL;
}

/* Appends "[m, n]" and "[M, N]": the iterators of the term that are not reduced, and their extents. Returns
 * false if an extent cannot be found. */
static bool put_shape(struct uk_text *iterators, struct uk_text *extents, const struct uk_parser *ps,
                      const struct uk_token *statement, const struct uk_token *reduction,
                      const struct uk_token *last) {
    const struct uk_token *open = reduction + 1, *close = &ps->list[open->match];

    uk_put(iterators, "[");
    uk_put(extents, "[");
    for (const struct uk_token *t = close + 1; t <= last; t++) {
        bool is_new = is_iterator(ps, t) && !uk_token_is(t + 1, "(") && !uk_token_is(t + 1, "[");

        for (const struct uk_token *r = open; r < t; r++)
            is_new = is_new && !is_named(r, t);
        if (!is_new)
            continue;
        struct uk_index *extent = extent_of(ps, statement, t);

        if (!extent)
            return false;
        uk_put(iterators, "%s%.*s", iterators->length > 1 ? ", " : "", (int)t->n, t->s);
        uk_put(extents, "%s", extents->length > 1 ? ", " : "");
        uk_print_index(extents, extent);
    }
    uk_put(iterators, "]");
    uk_put(extents, "]");
    return !iterators->failed && !extents->failed;
}

void *uk_refuse_reduction(struct uk_parser *ps) {
    static const char *const names[][2] = {
        {"sum", "total"}, {"prod", "product"}, {"max", "largest"}, {"min", "least"}};
    static const char problem[] = "a reduction is only allowed as the whole right side";
    const struct uk_token *reduction = ps->t, *statement = ps->t;
    const char *name = NULL;

    while (statement > ps->list && statement[-1].kind != UK_T_NEWLINE)
        statement--;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (uk_next_is(ps, names[i][0]))
            name = names[i][1];
    const bool has_term = name && uk_token_is(reduction + 1, "(");
    const struct uk_token *term = has_term ? &ps->list[reduction[1].match] + 1 : NULL;
    const struct uk_token *last = has_term ? last_of_term(ps, term) : NULL;
    const struct uk_tensor *left = ps->left;
    struct uk_text iterators = {0}, extents = {0}, text = {0};

    if (has_term && left && !uk_find_tensor(ps->p, name) && !uk_find_var(ps->p->sizes, name) &&
        put_shape(&iterators, &extents, ps, statement, reduction, last))
        put_tokens(&text, reduction, last);
    if (text.length && !text.failed)
        uk_program_fail(ps->p, UK_SYNTAX, reduction->at,
                        "%s; compute it before: `temp %s %s %s`, `%s%s = %s`, and read %s%s here", problem,
                        name, uk_type_name(left->type), extents.text, name, iterators.text, text.text, name,
                        iterators.text);
    else
        uk_program_fail(ps->p, UK_SYNTAX, reduction->at,
                        "%s; compute it in a temp before, and read that here", problem);
    uk_text_free(iterators.text);
    uk_text_free(extents.text);
    uk_text_free(text.text);
    return NULL;
}
