/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for sizes on both sides of the conditions of schedules. It starts from the given sizes. For each
 * relation and each size in it, it looks for the value nearest to the present one at which the relation's
 * truth changes; the sizes on both sides of it are points. Points at which other relations hold than before
 * are starts of further searches, so that all schedules are reached if the sizes depend little on each other.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "operands/shape.h"
#include "uk.h"
#include "operands/versions.h"

enum {
    MAX_RELATIONS = 32,
    MAX_DISTANCE = 4096, /* of a tried value from the present one */
};

int uk_version_count(const struct uk_program *p) {
    int n = 0;

    for (const struct uk_version *v = p->versions; v; v = v->next)
        n++;
    return n;
}

int uk_version_taken(const struct uk_program *p, const int64_t *sizes) {
    int n = 1;

    for (const struct uk_version *v = p->versions; v; v = v->next, n++)
        if (!v->condition || uk_value(v->condition, sizes) == 1)
            return n;
    return 0;
}

void uk_version_print(struct uk_program *p, const int64_t *sizes) {
    const int taken = uk_version_taken(p, sizes);
    char *text = NULL;

    if (!taken || uk_program_print(p, &text))
        return;
    const char *line = text;
    for (int i = 0; i < taken && line; i++)
        line = strstr(line, "\nschedule") ? strstr(line, "\nschedule") + 1 : NULL;
    if (line && taken < uk_version_count(p))
        printf("schedule %d of %d: %.*s\n", taken, uk_version_count(p), (int)strcspn(line + 9, "\n"),
               line + 9);
    else
        printf("schedule %d of %d: no condition holds\n", taken, taken);
    uk_text_free(text);
}

struct search {
    struct uk_test_sizes *points;
    struct uk_program *p;
    const struct uk_options *options;
    const struct uk_index *relation[MAX_RELATIONS];
    int relations;
    double max_operations;
};

static void list_relations(struct search *s, const struct uk_index *e) {
    if (e->op == UK_I_AND) {
        list_relations(s, e->a);
        list_relations(s, e->b);
    } else if (s->relations < MAX_RELATIONS) {
        s->relation[s->relations++] = e;
    }
}

/* The truth of each relation, a bit each. */
static uint32_t truths(const struct search *s, const int64_t *sizes) {
    uint32_t bits = 0;

    for (int i = 0; i < s->relations; i++)
        bits |= (uint32_t)(uk_value(s->relation[i], sizes) == 1) << i;
    return bits;
}

/* Adds the sizes to the points, with `changed` as it is and sizes that follow from others derived again,
 * unless they are known or refused. False: no memory. */
static bool add_point(struct search *s, const int64_t *sizes, const struct uk_var *changed) {
    const size_t bytes = ((size_t)s->p->size_count + 1) * sizeof *sizes;
    struct uk_test_sizes *points = s->points;
    int64_t *copy;

    if (points->count == UK_MAX_TEST_SIZES)
        return true;
    if (!(copy = malloc(bytes)))
        return false;
    memcpy(copy, sizes, bytes);
    bool usable = uk_derive_sizes(s->p, changed, copy);

    for (int i = 0; i < points->count && usable; i++)
        usable = memcmp(points->sizes[i], copy, bytes - sizeof *sizes) != 0;
    if (usable && uk_operations(s->p, copy) <= s->max_operations &&
        !uk_program_check_sizes(s->p, s->options, copy))
        points->sizes[points->count++] = copy;
    else
        free(copy);
    return true;
}

/* Adds the points on both sides of the nearest value of v at which the relation's truth changes. False: no
 * memory. */
static bool cross(struct search *s, const int64_t *from, const struct uk_index *relation,
                  const struct uk_var *v, int64_t *sizes) {
    const int64_t given = from[v->number], holds = uk_value(relation, from);

    memcpy(sizes, from, ((size_t)s->p->size_count + 1) * sizeof *sizes);
    for (int64_t d = 1; d <= MAX_DISTANCE; d++)
        for (int sign = -1; sign <= 1; sign += 2) {
            sizes[v->number] = given + sign * d;
            if (sizes[v->number] < 0 || uk_value(relation, sizes) == holds)
                continue;
            if (!add_point(s, sizes, v))
                return false;
            sizes[v->number] -= sign;
            return add_point(s, sizes, v);
        }
    return true;
}

static bool mentions(const struct uk_index *e, const struct uk_var *v) {
    return e && (e->var == v || mentions(e->a, v) || mentions(e->b, v));
}

/* Searches from all points, also from those that it adds. False: no memory. */
static bool search(struct search *s, int64_t *sizes) {
    uint32_t known[UK_MAX_TEST_SIZES];

    for (int i = 0; i < s->points->count; i++) {
        const int64_t *from = s->points->sizes[i];
        bool is_new = true;

        known[i] = truths(s, from);
        for (int k = 0; k < i; k++)
            is_new &= known[k] != known[i];
        for (int r = 0; r < s->relations && is_new; r++)
            for (const struct uk_var *v = s->p->sizes; v; v = v->next)
                if (!v->defined && mentions(s->relation[r], v) && !cross(s, from, s->relation[r], v, sizes))
                    return false;
    }
    return true;
}

int uk_test_sizes_find(struct uk_test_sizes *points, struct uk_program *p, const struct uk_options *o,
                       const int64_t *sizes) {
    struct search s = {.points = points, .p = p, .options = o};
    int64_t *changed = calloc((size_t)p->size_count + 1, sizeof *changed);

    *points = (struct uk_test_sizes){.count = 0};
    s.max_operations = 1e7 + 4 * uk_operations(p, sizes);
    for (const struct uk_version *v = p->versions; v && v->condition; v = v->next)
        list_relations(&s, v->condition);
    const bool searched = changed && add_point(&s, sizes, NULL) && search(&s, changed);

    free(changed);
    return searched ? UK_EXIT_OK : uk_complain(UK_EXIT_WRONG, "out of memory");
}

void uk_test_sizes_free(struct uk_test_sizes *points) {
    for (int i = 0; i < points->count; i++)
        free(points->sizes[i]);
    points->count = 0;
}
