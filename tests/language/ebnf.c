/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "ebnf.h"
#include "random.h"

enum { MAX_NODES = 4096, ENDLESS = 1000, LONG = 1500 };

/* ---- reading ---- */

struct reader {
    struct ebnf *g;
    const char *s;
};

static void skip_space(struct reader *r) {
    while (isspace((unsigned char)*r->s))
        r->s++;
}

static bool accept(struct reader *r, char c) {
    skip_space(r);
    if (*r->s != c)
        return false;
    r->s++;
    return true;
}

static struct ebnf_node *new_node(struct reader *r, enum ebnf_kind kind) {
    assert_true(r->g->nodes < MAX_NODES);
    struct ebnf_node *n = &r->g->node[r->g->nodes++];

    *n = (struct ebnf_node){.kind = kind, .height = ENDLESS};
    return n;
}

static void add_part(struct ebnf_node *n, struct ebnf_node *part) {
    assert_true(n->parts < (int)(sizeof n->part / sizeof *n->part));
    n->part[n->parts++] = part;
}

static size_t name_length(const char *s) {
    size_t n = 0;

    while (isalpha((unsigned char)s[n]) || s[n] == '_')
        n++;
    return n;
}

/* True if a rule begins here: a name and "=". */
static bool rule_ahead(const char *s) {
    s += strspn(s, " \n");
    size_t n = name_length(s);

    s += n;
    return n && *(s + strspn(s, " \n")) == '=';
}

static struct ebnf_node *read_choice(struct reader *r);

static struct ebnf_node *read_bracket(struct reader *r, enum ebnf_kind kind, char close) {
    struct ebnf_node *n = kind == EBNF_CHOICE ? NULL : new_node(r, kind), *inside = read_choice(r);

    if (!accept(r, close))
        fail_msg("the grammar lacks %c before: %.40s", close, r->s);
    if (!n)
        return inside;
    add_part(n, inside);
    return n;
}

static struct ebnf_node *read_one(struct reader *r) {
    if (accept(r, '('))
        return read_bracket(r, EBNF_CHOICE, ')');
    if (accept(r, '['))
        return read_bracket(r, EBNF_OPTION, ']');
    if (accept(r, '{'))
        return read_bracket(r, EBNF_REPEAT, '}');
    bool quoted = accept(r, '"');
    struct ebnf_node *n = new_node(r, quoted ? EBNF_WORD : EBNF_SYMBOL);
    size_t length = quoted ? strcspn(r->s, "\"") : name_length(r->s);

    if (!length || length >= sizeof n->text)
        fail_msg("not a grammar: %.40s", r->s);
    memcpy(n->text, r->s, length);
    r->s += length + quoted;
    return n;
}

static struct ebnf_node *read_sequence(struct reader *r) {
    struct ebnf_node *n = new_node(r, EBNF_SEQUENCE);

    for (skip_space(r); *r->s && !strchr("|)]}", *r->s) && !rule_ahead(r->s); skip_space(r))
        add_part(n, read_one(r));
    assert_true(n->parts > 0);
    return n;
}

static struct ebnf_node *read_choice(struct reader *r) {
    struct ebnf_node *n = new_node(r, EBNF_CHOICE);

    do
        add_part(n, read_sequence(r));
    while (accept(r, '|'));
    return n;
}

const struct ebnf_rule *ebnf_find(const struct ebnf *g, const char *name) {
    for (int i = 0; i < g->rules; i++)
        if (!strcmp(g->rule[i].name, name))
            return &g->rule[i];
    return NULL;
}

/* Computes the height of a node from those of its parts. */
static int height_of(const struct ebnf *g, const struct ebnf_node *n) {
    const struct ebnf_rule *rule = n->kind == EBNF_SYMBOL ? ebnf_find(g, n->text) : NULL;
    int height = n->kind == EBNF_CHOICE ? ENDLESS : 0;

    if (rule)
        return rule->body->height + 1;
    for (int i = 0; i < n->parts; i++) {
        int h = n->part[i]->height;

        if (n->kind == EBNF_SEQUENCE ? h > height : n->kind == EBNF_CHOICE && h < height)
            height = h;
    }
    return height;
}

void ebnf_read(struct ebnf *g, const char *text) {
    struct reader r = {g, text};

    *g = (struct ebnf){.node = malloc(MAX_NODES * sizeof *g->node)};
    assert_non_null(g->node);
    for (skip_space(&r); *r.s; skip_space(&r)) {
        struct ebnf_rule *rule = &g->rule[g->rules++];
        size_t n = name_length(r.s);

        if (!rule_ahead(r.s) || n >= sizeof rule->name || g->rules == 128)
            fail_msg("not a rule: %.40s", r.s);
        memcpy(rule->name, r.s, n);
        r.s += n;
        accept(&r, '=');
        if (ebnf_find(g, rule->name) != rule)
            fail_msg("two rules are named %s", rule->name);
        rule->body = read_choice(&r);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < g->nodes; i++) {
            int h = height_of(g, &g->node[i]);

            changed |= h < g->node[i].height;
            if (h < g->node[i].height)
                g->node[i].height = h;
        }
    }
    for (int i = 0; i < g->rules; i++)
        if (g->rule[i].body->height >= ENDLESS)
            fail_msg("the rule %s has no end", g->rule[i].name);
}

void ebnf_free(struct ebnf *g) {
    free(g->node);
}

static bool has(const struct ebnf *g, enum ebnf_kind kind, const char *text) {
    for (int i = 0; i < g->nodes; i++)
        if (g->node[i].kind == kind && !strcmp(g->node[i].text, text))
            return true;
    return false;
}

bool ebnf_has_word(const struct ebnf *g, const char *word) {
    return has(g, EBNF_WORD, word);
}

bool ebnf_has_symbol(const struct ebnf *g, const char *name) {
    return has(g, EBNF_SYMBOL, name) || ebnf_find(g, name);
}

/* ---- deriving ---- */

int ebnf_below(struct ebnf_derivation *d, int n) {
    return random_below(&d->random, n);
}

void ebnf_add_token(struct ebnf_derivation *d, const char *text, bool is_symbol) {
    if (d->tokens == d->token_room) {
        d->token_room = 2 * d->token_room + 64;
        d->token = realloc(d->token, (size_t)d->token_room * sizeof *d->token);
        assert_non_null(d->token);
    }
    struct ebnf_token *t = &d->token[d->tokens++];

    snprintf(t->text, sizeof t->text, "%s", text);
    t->is_symbol = is_symbol;
}

/* Records that a place of the grammar was passed; it is counted once the tokens derived by now have been
 * parsed. */
static void add_hit(struct ebnf_derivation *d, int *counter) {
    if (d->hits == d->hit_room) {
        d->hit_room = 2 * d->hit_room + 64;
        d->hit = realloc(d->hit, (size_t)d->hit_room * sizeof *d->hit);
        assert_non_null(d->hit);
    }
    d->hit[d->hits++] = (struct ebnf_hit){counter, d->tokens};
}

static void derive(struct ebnf_derivation *d, struct ebnf_node *n, int freedom);

static void derive_symbol(struct ebnf_derivation *d, const char *name, int freedom) {
    const struct ebnf_rule *rule = ebnf_find(d->g, name);
    char text[EBNF_TEXT];
    int first = d->tokens;

    if (!rule) {
        d->make_token(d, name, text);
        ebnf_add_token(d, text, true);
        return;
    }
    assert_true(d->depth < (int)(sizeof d->rule / sizeof *d->rule));
    d->rule[d->depth++] = rule->name;
    derive(d, rule->body, freedom - 1);
    d->depth--;
    d->rule_done(d, name, first);
}

/* Chooses in one of two cases among the alternatives that were counted least. */
static void derive_choice(struct ebnf_derivation *d, struct ebnf_node *n, int freedom) {
    struct ebnf_node *possible[32];
    bool rare = ebnf_below(d, 2);
    int count = 0;

    for (int i = 0; i < n->parts; i++) {
        struct ebnf_node *part = n->part[i];

        if (freedom <= 0 && part->height != n->height)
            continue;
        if (rare && count && part->chosen < possible[0]->chosen)
            count = 0;
        if (!rare || !count || part->chosen == possible[0]->chosen)
            possible[count++] = part;
    }
    struct ebnf_node *chosen = possible[ebnf_below(d, count)];

    derive(d, chosen, freedom);
    add_hit(d, &chosen->chosen);
}

static void derive(struct ebnf_derivation *d, struct ebnf_node *n, int freedom) {
    int times = 0;

    if (d->tokens > LONG)
        freedom = 0;
    switch (n->kind) {
    case EBNF_SEQUENCE:
        for (int i = 0; i < n->parts; i++)
            derive(d, n->part[i], freedom);
        break;
    case EBNF_CHOICE:
        derive_choice(d, n, freedom);
        break;
    case EBNF_OPTION:
    case EBNF_REPEAT:
        if (freedom > 0 && n->taken && n->left_out)
            /* Operators of six precedences: more repetitions would multiply to very long values. */
            times = ebnf_below(d, 2) ? 0 : n->kind == EBNF_OPTION ? 1 : ebnf_below(d, 4);
        else if (freedom > 0)
            times = n->taken ? 0 : 1;
        for (int i = 0; i < times; i++)
            derive(d, n->part[0], freedom);
        add_hit(d, times ? &n->taken : &n->left_out);
        break;
    case EBNF_WORD:
        ebnf_add_token(d, n->text, false);
        break;
    case EBNF_SYMBOL:
        derive_symbol(d, n->text, freedom);
        break;
    }
}

void ebnf_derive(struct ebnf_derivation *d, const char *rule, int freedom) {
    derive_symbol(d, rule, freedom);
}

void ebnf_count_hits(const struct ebnf_derivation *d, int tokens) {
    for (int i = 0; i < d->hits; i++)
        if (d->hit[i].at <= tokens)
            ++*d->hit[i].counter;
}
