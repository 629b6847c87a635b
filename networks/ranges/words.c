/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of programs that operators write. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "ranges/words.h"

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Length of the number at `at`. *is_integer: it has no fraction and no exponent. */
static int number_length(const char *at, bool *is_integer) {
    int n = 0;

    while (isdigit((unsigned char)at[n]))
        n++;
    *is_integer = true;
    if (at[n] == '.') {
        *is_integer = false;
        for (n++; isdigit((unsigned char)at[n]);)
            n++;
    }
    if (at[n] == 'e') {
        *is_integer = false;
        for (n += 1 + (at[n + 1] == '-' || at[n + 1] == '+'); isdigit((unsigned char)at[n]);)
            n++;
    }
    return n;
}

/* ---- places ---- */

/* State of a line up to a token: which brackets are open, and which words have been read. */
struct scan {
    int square, round;
    bool declares, strides;
    int index_until; /* in `index(` or after `where`: indices while `round` is at least this; 0: not in any */
    bool is_index_next; /* the word before the token was `index` */
};

static bool is(const struct uk_word *t, const char *word) {
    return (size_t)t->length == strlen(word) && !strncmp(t->at, word, (size_t)t->length);
}

static enum uk_word_place place_of(const struct scan *s) {
    if (s->strides)
        return UK_WORD_STRIDE;
    return s->declares || s->square || s->index_until ? UK_WORD_INDEX : UK_WORD_VALUE;
}

/* At the start of a line `round` is 1, so that a `where` at its end has a depth above 0. */
static void pass(struct scan *s, const struct uk_word *t) {
    const char c = t->length == 1 ? *t->at : 0;

    if (c == '\n') {
        *s = (struct scan){.round = 1};
        return;
    }
    s->square += (c == '[') - (c == ']');
    s->round += (c == '(') - (c == ')');
    if (c == '(' && s->is_index_next)
        s->index_until = s->index_until ? s->index_until : s->round;
    if (c == ')' && s->round < s->index_until)
        s->index_until = 0;
    s->is_index_next = is(t, "index");
    if (is(t, "where"))
        s->index_until = s->index_until ? s->index_until : s->round;
    s->declares |= is(t, "tensor") || is(t, "temp");
    s->strides |= s->declares && is(t, "stride");
}

/* ---- tokens ---- */

int uk_words_of(const char *text, struct uk_word **tokens) {
    struct uk_word *list = malloc((strlen(text) + 1) * sizeof *list);
    struct scan s = {.round = 1};
    const char *line = text;
    int count = 0, number = 1;

    *tokens = list;
    if (!list)
        return -1;
    for (const char *at = text; *at;) {
        struct uk_word *t = &list[count];
        if (*at == ' ') {
            at++;
            continue;
        }
        *t = (struct uk_word){.at = at, .length = 1, .line = number, .column = (int)(at - line) + 1};
        if (isdigit((unsigned char)*at)) {
            t->is_number = true;
            t->length = number_length(at, &t->is_integer);
            t->integer = t->is_integer ? strtoll(at, NULL, 10) : 0;
            t->place = place_of(&s);
        } else {
            while (is_word(*at) && is_word(at[t->length]))
                t->length++;
        }
        pass(&s, t);
        at += t->length;
        if (*t->at == '\n') {
            line = at;
            number++;
        }
        count++;
    }
    return count;
}

bool uk_words_alike(const struct uk_word *a, int count_a, const struct uk_word *b, int count_b) {
    bool alike = count_a == count_b;

    for (int i = 0; i < count_a && alike; i++)
        alike = (a[i].is_integer && b[i].is_integer) ||
                (a[i].length == b[i].length && !memcmp(a[i].at, b[i].at, (size_t)a[i].length));
    return alike;
}
