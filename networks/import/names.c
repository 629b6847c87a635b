/* SPDX-License-Identifier: Apache-2.0 */
/* Values by name: a hash table with linear probing, at most half full. */
#include <stdlib.h>
#include <string.h>
#include "import/names.h"

static size_t hash_of(const char *name) {
    size_t h = 14695981039346656037u; /* FNV-1a */

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return h;
}

static struct uk_named *slot(const struct uk_names *n, const char *name) {
    size_t i = hash_of(name) & (n->room - 1);

    while (n->entry[i].value && strcmp(n->entry[i].name, name) != 0)
        i = (i + 1) & (n->room - 1);
    return &n->entry[i];
}

struct uk_graph_value *uk_names_find(const struct uk_names *n, const char *name) {
    return n->room ? slot(n, name)->value : NULL;
}

static bool grow(struct uk_names *n) {
    struct uk_names larger = {.room = n->room ? 2 * n->room : 256, .used = n->used};

    larger.entry = calloc(larger.room, sizeof *larger.entry);
    if (!larger.entry)
        return false;
    for (size_t i = 0; i < n->room; i++)
        if (n->entry[i].value)
            *slot(&larger, n->entry[i].name) = n->entry[i];
    free(n->entry);
    *n = larger;
    return true;
}

bool uk_names_add(struct uk_names *n, const char *name, struct uk_graph_value *v) {
    if (2 * (n->used + 1) > n->room && !grow(n))
        return false;
    *slot(n, name) = (struct uk_named){name, v};
    n->used++;
    return true;
}

void uk_names_free(struct uk_names *n) {
    free(n->entry);
}
