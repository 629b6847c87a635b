/* SPDX-License-Identifier: Apache-2.0 */
/* The list of kernels that were considered, with the reasons why some do not fit. */
#include <stdlib.h>
#include <string.h>
#include "match.h"

enum { SHOWN = 10 }; /* kernels listed, unless all are asked for */

void uk_reason_add(struct uk_schedule *s, struct uk_reasons *r, const char *kernel, const char *text,
                   bool fits, double cycles) {
    if (r->count == r->room) {
        int room = r->room ? 2 * r->room : 64;
        struct uk_reason *list = uk_alloc(s->arena, sizeof *list * (size_t)room);

        if (!list)
            return; /* arena.failed is set */
        if (r->count)
            memcpy(list, r->list, sizeof *list * (size_t)r->count);
        r->list = list;
        r->room = room;
    }
    const char *copy = uk_strdup(s->arena, text && *text ? text : "no reason");
    if (copy)
        r->list[r->count] = (struct uk_reason){.kernel = kernel,
                                               .text = copy,
                                               .fits = fits,
                                               .cycles = cycles,
                                               .match_score = s->match_score,
                                               .number = r->count};
    r->count += copy != NULL;
}

/* Kernels that fit first, by cost; the others by decreasing score; ties in the order of the list. */
static int compare(const void *x, const void *y) {
    const struct uk_reason *a = x, *b = y;

    if (a->fits != b->fits)
        return a->fits ? -1 : 1;
    if (a->fits && (a->cycles < b->cycles || a->cycles > b->cycles))
        return a->cycles < b->cycles ? -1 : 1;
    if (!a->fits && a->match_score != b->match_score)
        return a->match_score > b->match_score ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

void uk_reasons_sort(struct uk_reasons *r) {
    if (r->count > 1)
        qsort(r->list, (size_t)r->count, sizeof *r->list, compare);
}

void uk_reasons_put(const struct uk_schedule *s, struct uk_reasons *r, struct uk_text *t, bool in_message) {
    int shown = s->options->all_candidates || r->count <= SHOWN ? r->count : SHOWN;

    uk_reasons_sort(r);
    for (int i = 0; i < shown; i++)
        uk_put(t, in_message ? "\n  %s: %s" : "  %-34s %s\n", r->list[i].kernel, r->list[i].text);
    if (shown < r->count)
        uk_put(t,
               in_message ? "\n  and %d more, which uk explain --all lists"
                          : "  and %d more, which --all lists\n",
               r->count - shown);
}
