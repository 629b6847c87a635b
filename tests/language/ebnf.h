/* SPDX-License-Identifier: Apache-2.0 */
/* A grammar in EBNF, read from a text, and what is derived from it. */
#ifndef EBNF_H
#define EBNF_H

#include <stdbool.h>
#include <stdint.h>

enum { EBNF_TEXT = 256 };

enum ebnf_kind { EBNF_SEQUENCE, EBNF_CHOICE, EBNF_OPTION, EBNF_REPEAT, EBNF_WORD, EBNF_SYMBOL };

struct ebnf_node {
    enum ebnf_kind kind;
    char text[40]; /* of a word or a symbol */
    int parts;
    struct ebnf_node *part[32];
    int height; /* rules inside each other that it needs at least */
    /* In how many texts that were parsed: chosen as a part of a CHOICE; OPTION and REPEAT with and without
     * what is in them. */
    int chosen, taken, left_out;
};

struct ebnf_rule {
    char name[40];
    struct ebnf_node *body;
};

struct ebnf {
    struct ebnf_rule rule[128];
    int rules;
    struct ebnf_node *node; /* all of them */
    int nodes;
};

/* Rules "name = body", one after the other; the test fails if it is none. Free with ebnf_free. */
void ebnf_read(struct ebnf *g, const char *text);
void ebnf_free(struct ebnf *g);
/* NULL: a token. */
const struct ebnf_rule *ebnf_find(const struct ebnf *g, const char *name);
bool ebnf_has_word(const struct ebnf *g, const char *word);
bool ebnf_has_symbol(const struct ebnf *g, const char *name);

struct ebnf_token {
    char text[EBNF_TEXT];
    bool is_symbol; /* a token of the grammar; else a word of it */
};

/* A derivation: its tokens, and the places of the grammar that it went through, each with the number of
 * tokens before its end. */
struct ebnf_derivation {
    struct ebnf *g;
    uint64_t random;
    struct ebnf_token *token;
    int tokens, token_room;
    struct ebnf_hit {
        int *counter, at;
    } *hit;
    int hits, hit_room;
    const char *rule[256]; /* those around the place where it is */
    int depth;
    void *user;
    /* The text of a token; the innermost rule is rule[depth - 1]. */
    void (*make_token)(struct ebnf_derivation *d, const char *name, char text[EBNF_TEXT]);
    /* A rule has been derived, beginning with the token `first`. */
    void (*rule_done)(struct ebnf_derivation *d, const char *name, int first);
};

int ebnf_below(struct ebnf_derivation *d, int n);
/* Derives the rule: freely for `freedom` rules inside each other, then as short as can be. */
void ebnf_derive(struct ebnf_derivation *d, const char *rule, int freedom);
void ebnf_add_token(struct ebnf_derivation *d, const char *text, bool is_symbol);
/* Adds one to what was gone through before token number `tokens`. */
void ebnf_count_hits(const struct ebnf_derivation *d, int tokens);

#endif
