/* SPDX-License-Identifier: Apache-2.0 */
/* Inside libuktensorize and the command uk: the name that was probably meant. */
#ifndef UK_NEAREST_H
#define UK_NEAREST_H

struct uk_near {
    const char *word; /* what was written */
    const char *name; /* the name nearest to it so far; NULL if none is near */
    int distance;     /* of `name` */
};

/* Takes `name` if it is nearer; the first of those that are as near stays. */
void uk_nearer(struct uk_near *n, const char *name);

#endif
