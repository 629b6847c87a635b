/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs derived from the grammar of uk.5. */
#ifndef DERIVED_TEXT_H
#define DERIVED_TEXT_H

#include "ebnf.h"
#include "language/language.h"

/* tokens of the lines at the beginning of every text, which declare names */
enum { DERIVED_HEAD = 24 };

struct derived_names {
    /* number of names made so far */
    int fresh;
    /* first fresh name of the map that is being derived */
    int map_first;
};

enum derived_place { AMONG_ITEMS, IN_INTRINSIC, AMONG_STEPS };

struct derived_text {
    struct uk_text text;
    /* end of each token in the text */
    size_t *end;
    enum derived_place *place; /* after each token */
};

/* Derives a program; alternatives that were counted least are chosen more often. */
void derive_program(struct ebnf_derivation *d, struct ebnf *g, struct derived_names *names, uint64_t random);
void derived_free(struct ebnf_derivation *d);
/* Writes its tokens as a text, with spaces, comments and line breaks where they are allowed. */
void derived_write(struct ebnf_derivation *d, struct derived_text *t);
void derived_text_free(struct derived_text *t);

#endif
