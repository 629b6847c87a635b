/* SPDX-License-Identifier: Apache-2.0 */
/* What random_network.c and random_parts.c draw with. */
#ifndef RANDOM_PARTS_H
#define RANDOM_PARTS_H

#include <stdbool.h>
#include "language/language.h"
#include "random_network.h"

enum { MOST_VALUES = 64, MOST_GRAPHS = 12 };

struct drawing {
    const uint8_t *at, *end;
    struct uk_text text;
    int values;        /* number of values of the network, named v0, v1, ... */
    int inner;         /* of the body that is being written, with those around it: b0, b1, ... */
    int graphs;        /* number of bodies, named g0, g1, ... */
    int depth;         /* number of bodies around the next node */
    const char *real;  /* the type that most tensors have */
    bool has_n, has_m; /* shapes with these sizes */
    struct random_options *options;
};

unsigned drawn_byte(struct drawing *d);
bool drawn_one_in(struct drawing *d, unsigned n);
long long drawn_number(struct drawing *d);
void drawn_real(struct drawing *d);
const char *drawn_type(struct drawing *d);
void put_shape(struct drawing *d, const char *shape);
void drawn_shape(struct drawing *d, bool may_be_open);
const char *drawn_text(struct drawing *d);
/* Puts the name of any value, or _. */
void drawn_value(struct drawing *d);
/* Puts a node of any operator. */
void drawn_node(struct drawing *d);
/* First letter of the names of new values. */
char drawn_letter(const struct drawing *d);
/* Number of a new value. */
int drawn_result(struct drawing *d);

/* Draws ranges of the sizes N and M, usually if the network has them. */
void draw_options(struct drawing *d);
/* Puts several lines whose shapes fit: a recurrent operator, a loop, a branch or a state. */
void draw_part(struct drawing *d);

#endif
