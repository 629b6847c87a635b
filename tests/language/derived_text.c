/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "derived_text.h"

/* ---- names in derived texts ---- */

/* Declarations at the beginning of each derived text, for the names that it uses. */
static const char *const declared = "tensor a0 f32 []\ntensor a1 f32 [N]\ntensor a2 f32 [M, N]\n"
                                    "tensor a3 f32 [M, N, N]\ntensor a4 f32 [M, N, M, N]\n"
                                    "tensor b0 i64 []\ntensor b1 i32 [N]\ntensor b2 u8 [M, N]\n"
                                    "tensor b3 i8 [M, N, N]\ntensor b4 i16 [M, N, M, N]\nscalar s f32\n";

static bool is_inside(const struct ebnf_derivation *d, const char *rule) {
    for (int i = 0; i < d->depth; i++)
        if (!strcmp(d->rule[i], rule))
            return true;
    return false;
}

static const char *one_of(struct ebnf_derivation *d, int n, const char *const list[]) {
    return list[ebnf_below(d, n)];
}

#define ONE_OF(d, ...) \
    one_of(d, (int)(sizeof(const char *[]){__VA_ARGS__} / sizeof(char *)), (const char *[]){__VA_ARGS__})

static void make_name(struct ebnf_derivation *d, char text[EBNF_TEXT]) {
    struct derived_names *names = d->user;
    const char *rule = d->rule[d->depth - 1], *outer = d->depth > 1 ? d->rule[d->depth - 2] : "";
    bool declares = !strcmp(outer, "tensor") || !strcmp(outer, "temp") || !strcmp(outer, "scalar") ||
                    !strcmp(outer, "intrinsic");
    const char *known = NULL;

    if (!strcmp(rule, "size_name") && strcmp(outer, "size"))
        known = ONE_OF(d, "M", "N");
    else if (!strcmp(rule, "tensor_name") && !declares)
        known = "a1";
    else if (!strcmp(rule, "scalar_name") && !declares)
        known = "s";
    else if (!strcmp(rule, "iterator") || !strcmp(rule, "loop"))
        known = ONE_OF(d, "i", "j", "k", "x", "ll");
    else if (!strcmp(rule, "stage"))
        known = "a1";
    else if (!strcmp(rule, "feature"))
        known = "avx2";
    else if (!strcmp(rule, "argument"))
        known = ONE_OF(d, "a1", "N", "s");
    /* an iterator of the map */
    else if (!strcmp(rule, "operand") && is_inside(d, "map"))
        known = "";
    else if (!strcmp(rule, "operand"))
        known = is_inside(d, "statement") ? ONE_OF(d, "i", "j", "M", "N") : ONE_OF(d, "M", "N");
    if (!known)
        snprintf(text, EBNF_TEXT, "n%d", names->fresh++);
    else if (*known)
        snprintf(text, EBNF_TEXT, "%s", known);
    else
        snprintf(text, EBNF_TEXT, "n%d", names->map_first + ebnf_below(d, names->fresh - names->map_first));
}

static void add_lines(struct ebnf_derivation *d, const char *text) {
    char word[EBNF_TEXT];

    for (size_t n; *text; text += n) {
        n = *text == '\n' ? 1 : strcspn(text, "\n");
        snprintf(word, sizeof word, "%.*s", (int)n, text);
        ebnf_add_token(d, word, *text == '\n');
    }
}

/* True if the current line begins with `intrinsic`. */
static bool begins_intrinsic(const struct ebnf_derivation *d) {
    for (int i = d->tokens - 1; i >= 0; i--)
        if (strchr(d->token[i].text, '\n') || !strcmp(d->token[i].text, "intrinsic"))
            return d->token[i].text[0] == 'i';
    return false;
}

static void make_token(struct ebnf_derivation *d, const char *name, char text[EBNF_TEXT]) {
    struct derived_names *names = d->user;
    const char *rule = d->rule[d->depth - 1];

    if (!strcmp(name, "name")) {
        if (!strcmp(rule, "map") && !strcmp(d->token[d->tokens - 1].text, "("))
            names->map_first = names->fresh;
        make_name(d, text);
    } else if (!strcmp(name, "integer")) {
        snprintf(text, EBNF_TEXT, "%s",
                 !strcmp(rule, "alignment")
                     ? ONE_OF(d, "1", "64", "4096")
                     : ONE_OF(d, "1", "2", "3", "4", "8", "007", "0", "9223372036854775807"));
    } else if (!strcmp(name, "number")) {
        snprintf(text, EBNF_TEXT, "%s", ONE_OF(d, "2.5", "1e-5", "6.02e23", "0.0", "1E+3"));
    } else if (!strcmp(name, "string")) {
        snprintf(text, EBNF_TEXT, "%s", ONE_OF(d, "\"k.c\"", "\"a folder/k # 2.bc\""));
    } else if (!strcmp(name, "text")) {
        snprintf(text, EBNF_TEXT, "%s",
                 ONE_OF(d, "\"\"\"\"\"\"", "\"\"\"void f(void);\n# \"x\" 'y'\n\"\"\""));
    } else if (!strcmp(name, "end_of_the_line")) {
        /* Names inside an intrinsic are its own, so they are declared there. */
        snprintf(text, EBNF_TEXT, "%s%s", ONE_OF(d, "\n", "\n", "\r\n", " # size M [\n", "\n\n  # end\n\n"),
                 begins_intrinsic(d) ? declared : "");
    } else {
        fail_msg("the grammar has a token %s, which the page does not explain", name);
    }
}

/* Gives an element access the tensor with that number of dimensions; in a subscript, one of integers. */
static void fit_element(struct ebnf_derivation *d, int first, char kind) {
    int depth = 0, dims = 0;

    for (int i = first + 1; i < d->tokens; i++) {
        const char *t = d->token[i].text;

        dims += depth == 1 && (!dims || !strcmp(t, ",")) && strcmp(t, "]");
        depth += !strcmp(t, "[") || !strcmp(t, "(");
        depth -= !strcmp(t, "]") || !strcmp(t, ")");
    }
    snprintf(d->token[first].text, sizeof d->token[first].text, "%c%d", kind, dims < 4 ? dims : 4);
}

/* Makes an argument a name or number of its type; in one of four cases leaves it. */
static void fit_argument(struct ebnf_derivation *d, int first) {
    char *type = d->token[first].text, *value = d->token[first + 1].text;
    bool integer = *type == 'i' || *type == 'u', number = *value >= '0' && *value <= '9';

    if (!ebnf_below(d, 4))
        return;
    if (number && (!strcmp(type, "ptr") || !strcmp(type, "void") || (integer && strpbrk(value, ".eE"))))
        strcpy(type, "f64");
    else if (!number && !integer && strcmp(type, "f32"))
        strcpy(type, "ptr");
    if (!number)
        strcpy(value, integer ? "N" : *type == 'f' ? "s" : "a1");
}

static void rule_done(struct ebnf_derivation *d, const char *name, int first) {
    if (!strcmp(name, "element"))
        fit_element(d, first, 'a');
    else if (!strcmp(name, "subscript_element"))
        fit_element(d, first, 'b');
    else if (!strcmp(name, "argument"))
        fit_argument(d, first);
}

/* ---- derived texts ---- */

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '"';
}

static bool is_bracket(const char *t) {
    return !t[1] && strchr("()[],", *t);
}

/* White space between two tokens: enough to separate them, and line breaks where they have no meaning. */
static const char *space(struct ebnf_derivation *d, const char *before, const char *after, int depth) {
    bool apart =
        is_word(before[strlen(before) - 1]) ? is_word(*after) : !is_bracket(before) && !is_bracket(after);

    if ((depth || !strcmp(before, ",") || !strcmp(before, "->") || !strcmp(before, "+")) &&
        !ebnf_below(d, 12))
        return ONE_OF(d, "\n", " # )\n  ", "\r\n\n");
    return ONE_OF(d, " ", " ", "\t", apart ? " " : "");
}

void derived_write(struct ebnf_derivation *d, struct derived_text *t) {
    enum derived_place place = AMONG_ITEMS;
    int depth = 0;

    *t = (struct derived_text){.end = malloc((size_t)d->tokens * sizeof *t->end),
                               .place = malloc((size_t)d->tokens * sizeof *t->place)};
    assert_non_null(t->end);
    assert_non_null(t->place);
    for (int i = 0; i < d->tokens; i++) {
        const struct ebnf_token *k = &d->token[i];
        bool first = !i || strchr(d->token[i - 1].text, '\n'), word = !k->is_symbol;

        if (!first && !strchr(k->text, '\n'))
            uk_put(&t->text, "%s", space(d, d->token[i - 1].text, k->text, depth));
        uk_put(&t->text, "%s", k->text);
        depth += word && (!strcmp(k->text, "(") || !strcmp(k->text, "["));
        depth -= word && (!strcmp(k->text, ")") || !strcmp(k->text, "]"));
        if (word && !strcmp(k->text, "intrinsic"))
            place = IN_INTRINSIC;
        else if (word && !strcmp(k->text, "end"))
            place = AMONG_ITEMS;
        else if (word && !strcmp(k->text, "schedule"))
            place = AMONG_STEPS;
        t->end[i] = t->text.length;
        t->place[i] = place;
    }
    assert_non_null(t->text.text);
}

void derived_text_free(struct derived_text *t) {
    uk_text_free(t->text.text);
    free(t->end);
    free(t->place);
}

void derive_program(struct ebnf_derivation *d, struct ebnf *g, struct derived_names *names, uint64_t random) {
    *names = (struct derived_names){0};
    *d = (struct ebnf_derivation){
        .g = g, .random = random, .user = names, .make_token = make_token, .rule_done = rule_done};
    add_lines(d, "size M, N\n");
    add_lines(d, declared);
    assert_int_equal(d->tokens, DERIVED_HEAD);
    ebnf_derive(d, "program", 5 + ebnf_below(d, 13) + (ebnf_below(d, 50) ? 0 : 40));
}

void derived_free(struct ebnf_derivation *d) {
    free(d->token);
    free(d->hit);
}
