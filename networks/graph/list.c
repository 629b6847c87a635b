/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in messages. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "graph/graph.h"

void uk_list_put(struct uk_list *l, const char *separator, const char *format, ...) {
    enum { LONGEST = 240 }; /* of an entry, as names in files may have any length */
    char entry[LONGEST];
    va_list ap;

    if (l->count++ >= UK_MAX_LISTED)
        return;
    va_start(ap, format);
    vsnprintf(entry, sizeof entry, format, ap);
    va_end(ap);
    uk_put(&l->text, "%s%s", l->count > 1 ? separator : "", entry);
}

const char *uk_list_end(struct uk_list *l, struct uk_arena *a) {
    if (l->count > UK_MAX_LISTED)
        uk_put(&l->text, " and %d more", l->count - UK_MAX_LISTED);
    const char *list = l->text.failed ? NULL : uk_strdup(a, l->text.text ? l->text.text : "");

    free(l->text.text);
    l->text = (struct uk_text){0};
    return list;
}
