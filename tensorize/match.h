/* Inside the matcher: one attempt to see an intrinsic in a nest. */
#ifndef UK_MATCH_H
#define UK_MATCH_H

#include "schedule.h"

struct uk_attempt {
    struct uk_schedule *s;
    struct uk_stage *st;
    int tile;
    const struct uk_intrinsic *k;
    const struct uk_statement *ks;
    struct uk_match m;
    struct uk_fit *fit; /* not NULL: packing is allowed, loops may stay outside */
    const struct uk_access *access[UK_MAX_OPERANDS]; /* the declaration's, by tensor number */
    bool padded[UK_MAX_OPERANDS];
    unsigned swap; /* which commutative nodes to swap */
    int node, score, best;
    struct uk_text *why;
};

/* Notes the difference if this attempt got further than the others; false. */
bool uk_differ(struct uk_attempt *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* match_tile.c: what must hold for every tile, once axes and operands are known. */
bool uk_match_forms(struct uk_attempt *t);
bool uk_match_roles(struct uk_attempt *t);
bool uk_match_tiles(struct uk_attempt *t);

#endif
