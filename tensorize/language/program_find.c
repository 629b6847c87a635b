/* SPDX-License-Identifier: Apache-2.0 */
/* Look-up of a program's objects by name. */
#include <string.h>
#include "language.h"

struct uk_var *uk_find_var(struct uk_var *list, const char *name) {
    while (list && strcmp(list->name, name))
        list = list->next;
    return list;
}

struct uk_tensor *uk_find_tensor(const struct uk_program *p, const char *name) {
    struct uk_tensor *t = p->tensors;

    while (t && strcmp(t->name, name))
        t = t->next;
    return t;
}

struct uk_scalar *uk_find_scalar(const struct uk_program *p, const char *name) {
    struct uk_scalar *s = p->scalars;

    while (s && strcmp(s->name, name))
        s = s->next;
    return s;
}

int uk_scalar_number(const struct uk_scalar *list, const struct uk_scalar *s) {
    int n = 0;

    for (; list && list != s; list = list->next)
        n++;
    return n;
}
