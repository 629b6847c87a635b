/* SPDX-License-Identifier: Apache-2.0 */
/* A grammar in EBNF, read from a text, and derivations from it. */
#ifndef EBNF_H
#define EBNF_H

#include <stdbool.h>
#include <stdint.h>

enum { EBNF_TEXT = 256 };

enum ebnf_kind { EBNF_SEQUENCE, EBNF_CHOICE, EBNF_OPTION, EBNF_REPEAT, EBNF_WORD, EBNF_SYMBOL };

struct ebnf_node {
    enum ebnf_kind kind;
    /* text of a word, or name of a symbol */
    char text[40];
    int parts;
    struct ebnf_node *part[32];
    /* minimum depth of nested rules that it needs */
    int height;
    /* Numbers of parsed texts in which it was chosen as an alternative of a CHOICE; in which the contents of
     * an OPTION or REPEAT occurred; in which they did not. */
    int chosen, taken, left_out;
};

struct ebnf_rule {
    char name[40];
    struct ebnf_node *body;
};

struct ebnf {
    struct ebnf_rule rule[128];
    int rules;
    /* all nodes */
    struct ebnf_node *node;
    int nodes;
};

/* Reads rules "name = body", one after the other; the test fails if the text is no grammar. Free it with
 * ebnf_free. */
void ebnf_read(struct ebnf *g, const char *text);
void ebnf_free(struct ebnf *g);
/* Finds a rule; NULL: the name is a token. */
const struct ebnf_rule *ebnf_find(const struct ebnf *g, const char *name);
bool ebnf_has_word(const struct ebnf *g, const char *word);
bool ebnf_has_symbol(const struct ebnf *g, const char *name);

struct ebnf_token {
    char text[EBNF_TEXT];
    /* a token such as a name or number; else a word of the grammar */
    bool is_symbol;
};

/* A derivation: its tokens, and the places of the grammar that were passed, each with the number of tokens up
 * to it. */
struct ebnf_derivation {
    struct ebnf *g;
    uint64_t random;
    struct ebnf_token *token;
    int tokens, token_room;
    struct ebnf_hit {
        int *counter, at;
    } *hit;
    int hits, hit_room;
    /* the rules around the current place */
    const char *rule[256];
    int depth;
    void *user;
    /* Makes the text of a token; the innermost rule is rule[depth - 1]. */
    void (*make_token)(struct ebnf_derivation *d, const char *name, char text[EBNF_TEXT]);
    /* Called after a rule was derived, from the token `first` on. */
    void (*rule_done)(struct ebnf_derivation *d, const char *name, int first);
};

int ebnf_below(struct ebnf_derivation *d, int n);
/* Derives the rule: randomly down to `freedom` nested rules, then as short as possible. */
void ebnf_derive(struct ebnf_derivation *d, const char *rule, int freedom);
void ebnf_add_token(struct ebnf_derivation *d, const char *text, bool is_symbol);
/* Counts the places that were passed before token number `tokens`. */
void ebnf_count_hits(const struct ebnf_derivation *d, int tokens);

#endif
