/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of single tokens, and errors about unexpected ones. */
#include <stdio.h>
#include <string.h>
#include "language/parse.h"

/* Finds the closest match of the token among the words that a hint lists ("types are f64, f32 and u8"). Sets
 * *length to the match's length. */
static const char *nearest_listed(const struct uk_token *t, const char *hint, int *length) {
    const char *list = strstr(hint, " are "), *found = NULL;
    char word[32], listed[32];
    struct uk_closest_name near = {.word = word};

    if (!list || t->kind != UK_T_WORD || t->n >= sizeof word)
        return NULL;
    memcpy(word, t->s, t->n);
    word[t->n] = 0;
    for (const char *s = list + strlen(" are "); *s && *s != ';'; s += *s && *s != ';') {
        size_t n = strcspn(s, " ,;");
        const char *before = near.name;

        if (n > 1 && n < sizeof listed && strncmp(s, "and ", 4)) {
            memcpy(listed, s, n);
            listed[n] = 0;
            const int distance = near.distance;

            uk_consider_name(&near, listed);
            if (near.name != before || near.distance != distance) {
                found = s;
                *length = (int)n;
            }
        }
        s += n;
    }
    return found;
}

void *uk_expected(struct uk_parser *ps, const char *what, const char *hint) {
    const struct uk_token *t = ps->t;
    int length = 0;
    const char *near = nearest_listed(t, hint, &length);

    if (t->kind == UK_T_END || t->kind == UK_T_NEWLINE)
        return uk_program_fail(ps->p, UK_SYNTAX, t->at, "expected %s, found the end of the %s; %s", what,
                               t->kind == UK_T_END ? "text" : "line", hint);
    if (t->kind == UK_T_STRING || t->kind == UK_T_BLOCK)
        return uk_program_fail(ps->p, UK_SYNTAX, t->at, "expected %s, found a %s; %s", what,
                               t->kind == UK_T_STRING ? "string" : "text", hint);
    return uk_program_fail(ps->p, UK_SYNTAX, t->at, "expected %s, found '%.*s'; %s%.*s%s%s", what,
                           (int)(t->n < 40 ? t->n : 40), t->s, near ? "did you mean '" : "", length,
                           near ? near : "", near ? "'? " : "", hint);
}

bool uk_next_is(const struct uk_parser *ps, const char *word) {
    return uk_token_is(ps->t, word);
}

bool uk_accept(struct uk_parser *ps, const char *word) {
    if (!uk_token_is(ps->t, word))
        return false;
    ps->t++;
    return true;
}

bool uk_expect(struct uk_parser *ps, const char *word, const char *hint) {
    char quoted[32];

    if (uk_accept(ps, word))
        return true;
    snprintf(quoted, sizeof quoted, "'%s'", word);
    return uk_expected(ps, quoted, hint);
}

const char *uk_expect_name(struct uk_parser *ps, const char *what) {
    const struct uk_token *t = ps->t;

    if (t->kind != UK_T_WORD)
        return uk_expected(ps, what, "names are letters, digits and _");
    if (uk_is_reserved(t->s, t->n))
        return uk_expected(ps, what, "that is a word of the language; choose another name");
    ps->t++;
    return uk_program_check_memory(ps->p, uk_strndup(&ps->p->arena, t->s, t->n));
}

bool uk_expect_int(struct uk_parser *ps, const char *what, int64_t *value) {
    const struct uk_token *t = ps->t;
    int64_t v = 0;

    if (t->kind != UK_T_INT)
        return uk_expected(ps, what, "write it in decimal digits");
    for (size_t i = 0; i < t->n; i++)
        if (__builtin_mul_overflow(v, (int64_t)10, &v) ||
            __builtin_add_overflow(v, (int64_t)(t->s[i] - '0'), &v))
            return uk_program_fail(ps->p, UK_SYNTAX, t->at,
                                   "the integer does not fit into 64 bits; take a smaller one");
    ps->t++;
    *value = v;
    return true;
}

bool uk_expect_newline(struct uk_parser *ps) {
    if (ps->t->kind == UK_T_END)
        return true;
    if (ps->t->kind != UK_T_NEWLINE)
        return uk_expected(ps, "the end of the line", "one item or step a line");
    ps->t++;
    return true;
}

enum uk_type uk_accept_type(struct uk_parser *ps) {
    for (int i = 0; i < UK_TYPES; i++)
        if (uk_accept(ps, uk_type_name(i)))
            return (enum uk_type)i;
    return UK_TYPES;
}

/* Names of types in other languages. */
static const struct {
    const char *word;
    enum uk_type type;
} foreign_types[] = {
    {"double", UK_F64},  {"float64", UK_F64},  {"fp64", UK_F64},    {"float", UK_F32},
    {"float32", UK_F32}, {"fp32", UK_F32},     {"single", UK_F32},  {"half", UK_F16},
    {"float16", UK_F16}, {"fp16", UK_F16},     {"bfloat", UK_BF16}, {"bfloat16", UK_BF16},
    {"long", UK_I64},    {"int64", UK_I64},    {"int64_t", UK_I64}, {"int", UK_I32},
    {"int32", UK_I32},   {"int32_t", UK_I32},  {"short", UK_I16},   {"int16", UK_I16},
    {"int16_t", UK_I16}, {"char", UK_I8},      {"int8", UK_I8},     {"int8_t", UK_I8},
    {"s8", UK_I8},       {"byte", UK_U8},      {"uint8", UK_U8},    {"uint8_t", UK_U8},
    {"uint16", UK_U16},  {"uint16_t", UK_U16}, {"uint", UK_U32},    {"unsigned", UK_U32},
    {"uint32", UK_U32},  {"uint32_t", UK_U32}, {"uint64", UK_U64},  {"uint64_t", UK_U64},
};

enum uk_type uk_expect_type(struct uk_parser *ps) {
    enum uk_type type = uk_accept_type(ps);

    if (type != UK_TYPES)
        return type;
    const char *types = uk_program_check_memory(ps->p, uk_list_types(&ps->p->arena, "types are "));
    if (!types)
        return UK_TYPES;

    for (size_t i = 0; i < sizeof foreign_types / sizeof *foreign_types; i++)
        if (uk_next_is(ps, foreign_types[i].word)) {
            uk_program_fail(ps->p, UK_SYNTAX, ps->t->at, "expected a type, found '%s'; did you mean '%s'? %s",
                            foreign_types[i].word, uk_type_name(foreign_types[i].type), types);
            return UK_TYPES;
        }
    uk_expected(ps, "a type", types);
    return UK_TYPES;
}
