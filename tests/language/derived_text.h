/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs that are derived from the grammar of uk.5. */
#ifndef DERIVED_TEXT_H
#define DERIVED_TEXT_H

#include "ebnf.h"
#include "language/language.h"

enum { DERIVED_HEAD = 24 }; /* tokens of the lines that every text begins with, and that declare names */

struct derived_names {
    int fresh;     /* names made so far */
    int map_first; /* of the map around the place: its first fresh name */
};

enum derived_place { AMONG_ITEMS, IN_INTRINSIC, AMONG_STEPS };

struct derived_text {
    struct uk_text text;
    size_t *end;               /* of each token */
    enum derived_place *place; /* after each token */
};

/* Derives a program; what the grammar has counted least is chosen more often. */
void derive_program(struct ebnf_derivation *d, struct ebnf *g, struct derived_names *names, uint64_t random);
void derived_free(struct ebnf_derivation *d);
/* Its tokens as a text, with spaces, comments and line breaks where they may stand. */
void derived_write(struct ebnf_derivation *d, struct derived_text *t);
void derived_text_free(struct derived_text *t);

#endif
