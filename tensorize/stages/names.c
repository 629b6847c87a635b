/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash table of names: those of the schedule's stages, loops, sizes and tensors, and those that steps have
 * given, so that a lookup does not search all stages. Names stay in the table when the object is removed.
 */
#include <string.h>
#include "stages.h"

struct uk_name {
    const char *name;
    int stages;             /* stages created with this name */
    struct uk_stage *stage; /* the last of them */
    int suffix;             /* lower numbers appended to this name are in use */
    struct uk_name *next;
};

static size_t hash(const char *name) {
    size_t h = 14695981039346656037u;

    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return h;
}

static struct uk_name *find(const struct uk_schedule *s, const char *name) {
    struct uk_name *n = s->names ? s->names[hash(name) % UK_NAMES] : NULL;

    while (n && strcmp(n->name, name))
        n = n->next;
    return n;
}

static struct uk_name *find_or_add(struct uk_schedule *s, const char *name) {
    struct uk_name *n = find(s, name), **at;

    if (n)
        return n;
    if (!s->names && !(s->names = uk_alloc(s->arena, sizeof(struct uk_name *) * UK_NAMES)))
        return NULL;
    if (!(n = uk_alloc(s->arena, sizeof *n)))
        return NULL;
    at = &s->names[hash(name) % UK_NAMES];
    *n = (struct uk_name){.name = name, .suffix = 1, .next = *at};
    *at = n;
    return n;
}

enum uk_status uk_name_add(struct uk_schedule *s, const char *name) {
    return find_or_add(s, name) ? UK_OK : uk_out_of_memory(s->context);
}

enum uk_status uk_name_add_stage(struct uk_schedule *s, struct uk_stage *st, const char *name) {
    struct uk_name *n = find_or_add(s, name);

    if (!n)
        return uk_out_of_memory(s->context);
    n->stages++;
    n->stage = st;
    return UK_OK;
}

enum uk_status uk_names_begin(struct uk_schedule *s) {
    enum uk_status status = UK_OK;

    for (const struct uk_tensor *t = s->program->tensors; t && !status; t = t->next)
        status = uk_name_add(s, t->name);
    for (struct uk_var *v = s->program->sizes; v && !status; v = v->next) {
        v->scope = 0; /* left by an earlier schedule */
        status = uk_name_add(s, v->name);
    }
    return status;
}

bool uk_is_name_known(const struct uk_schedule *s, const char *name) {
    return find(s, name);
}

struct uk_stage *uk_stage_find(const struct uk_schedule *s, const char *name) {
    const struct uk_name *n = find(s, name);

    if (!n || !n->stages)
        return NULL;
    if (n->stages == 1 && !n->stage->is_gone && !strcmp(n->stage->name, name))
        return n->stage;
    for (struct uk_stage *st = s->stages; st; st = st->next)
        if (!strcmp(st->name, name))
            return st;
    return NULL;
}

bool uk_is_name_used(const struct uk_schedule *s, const char *name) {
    if (!find(s, name))
        return false;
    return uk_find_tensor(s->program, name) || uk_find_var(s->program->sizes, name) || uk_stage_find(s, name);
}

const char *uk_fresh_name(struct uk_schedule *s, const char *iterator, const char *suffix) {
    const char *name = uk_format(s->arena, "%s%s", iterator, suffix);
    struct uk_name *first = name ? find(s, name) : NULL;

    while (first && name && find(s, name))
        name = uk_format(s->arena, "%s%s%d", iterator, suffix, first->suffix++);
    if (first && first->suffix > 1)
        first->suffix--; /* the number just used is not in the table yet */
    return name;
}
