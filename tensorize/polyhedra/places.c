/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts: checks that no two elements share a place, for all sizes that the program allows. */
#include <inttypes.h>
#include <isl/ilp.h>
#include <isl/map.h>
#include <isl/point.h>
#include <isl/space.h>
#include <isl/val.h>
#include "polyhedra.h"

static int64_t coordinate(isl_point *point, int at) {
    isl_val *v = isl_point_get_coordinate_val(point, isl_dim_set, at);
    const int64_t value = isl_val_get_num_si(v);

    isl_val_free(v);
    return value;
}

bool uk_lexmin_point(struct uk_schedule *s, isl_set *set, struct uk_point *out) {
    const int sizes = (int)isl_set_dim(set, isl_dim_param), dims = (int)isl_set_dim(set, isl_dim_set);

    *out = (struct uk_point){.sizes = ""};
    if (sizes < 0 || dims < 0 || dims > 2 * UK_MAX_DIMS || isl_set_is_empty(set) != isl_bool_false) {
        isl_set_free(set);
        return false;
    }
    isl_set *all = isl_set_move_dims(isl_set_copy(set), isl_dim_set, 0, isl_dim_param, 0, (unsigned)sizes);
    isl_point *point = isl_set_sample_point(isl_set_lexmin(all));

    for (int i = 0; i < sizes && point && out->sizes; i++)
        out->sizes = uk_format(s->arena, "%s%s%s = %" PRId64, out->sizes, i ? ", " : " for ",
                               isl_set_get_dim_name(set, isl_dim_param, (unsigned)i), coordinate(point, i));
    for (int i = 0; i < dims && point; i++)
        out->value[i] = coordinate(point, sizes + i);
    const bool found = point != NULL && out->sizes;

    isl_point_free(point);
    isl_set_free(set);
    return found;
}

/* A stage whose loops are the map's index names, so that its indices are expressions over them. */
static struct uk_stage *names_of(struct uk_schedule *s, const struct uk_map *m) {
    struct uk_stage *st = uk_alloc(s->arena, sizeof *st);
    struct uk_loop *loop = uk_alloc(s->arena, UK_MAX_DIMS * sizeof *loop);

    for (; st && loop && st->loops < m->from_count; st->loops++) {
        loop[st->loops].var = m->from[st->loops];
        st->loop[st->loops] = &loop[st->loops];
    }
    return loop ? st : NULL;
}

/* Maps each element to its place. */
static isl_map *places_of(struct uk_schedule *s, const struct uk_stage *names, const struct uk_map *m,
                          struct uk_index *const shape[]) {
    isl_space *sp = uk_loop_space(s, names->loops, NULL);
    isl_set *box = isl_set_universe(isl_space_copy(sp));

    for (int d = 0; d < m->from_count; d++) {
        struct uk_index *name = uk_index_var(s->arena, m->from[d]);

        box = isl_set_lower_bound_si(box, isl_dim_set, (unsigned)d, 0);
        if (shape)
            box = isl_set_intersect(box, isl_pw_aff_lt_set(uk_isl_affine(s, names, sp, name),
                                                           uk_isl_affine(s, names, sp, shape[d])));
    }
    isl_map *places = isl_map_from_domain(box);

    if (m->lane)
        places =
            isl_map_flat_range_product(places, isl_map_from_pw_aff(uk_isl_affine(s, names, sp, m->lane)));
    for (int k = 0; k < m->to_count; k++)
        places =
            isl_map_flat_range_product(places, isl_map_from_pw_aff(uk_isl_affine(s, names, sp, m->to[k])));
    isl_space_free(sp);
    return places;
}

struct element {
    const struct uk_map *map;
    const int64_t *index;
};

static int64_t index_of(const struct uk_var *v, void *user) {
    const struct element *x = user;

    for (int d = 0; d < x->map->from_count; d++)
        if (x->map->from[d] == v)
            return x->index[d];
    return v->value; /* a defined size; others cannot occur in a map */
}

static void put_numbers(struct uk_text *t, const int64_t *number, int n) {
    uk_put(t, "[");
    for (int i = 0; i < n; i++)
        uk_put(t, "%s%" PRId64, i ? ", " : "", number[i]);
    uk_put(t, "]");
}

static char *describe(struct uk_schedule *s, const char *name, const struct uk_map *m,
                      const struct uk_point *point) {
    struct element x = {m, point->value};
    struct uk_text t = {0};
    int64_t place[UK_MAX_DIMS];
    bool overflow = false;

    uk_put(&t, "%s", name);
    put_numbers(&t, point->value, m->from_count);
    uk_put(&t, " and %s", name);
    put_numbers(&t, point->value + m->from_count, m->from_count);
    uk_put(&t, " share place ");
    if (m->lane)
        uk_put(&t, "%" PRId64 " of the lanes, ", uk_index_eval(m->lane, index_of, &x, &overflow));
    for (int k = 0; k < m->to_count; k++)
        place[k] = uk_index_eval(m->to[k], index_of, &x, &overflow);
    put_numbers(&t, place, m->to_count);
    uk_put(&t, "%s", point->sizes);
    char *text = t.text ? uk_strdup(s->arena, t.text) : NULL;

    uk_text_free(t.text);
    return text;
}

const char *uk_shared_place(struct uk_schedule *s, const char *name, const struct uk_map *m,
                            struct uk_index *const shape[]) {
    const struct uk_stage *names = names_of(s, m);
    struct uk_point point;

    if (!names)
        return NULL;
    uk_scope_begin(s);
    for (int d = 0; d < m->from_count && shape; d++)
        uk_scope_index(s, shape[d]);
    isl_map *places = places_of(s, names, m, shape);
    isl_map *pairs = isl_map_apply_range(isl_map_copy(places), isl_map_reverse(isl_map_copy(places)));

    pairs = isl_map_intersect(pairs, isl_map_lex_lt(isl_space_domain(isl_map_get_space(places))));
    pairs = isl_map_intersect_params(pairs, uk_context_set(s));
    isl_map_free(places);
    return uk_lexmin_point(s, isl_set_flatten(isl_map_wrap(pairs)), &point) ? describe(s, name, m, &point)
                                                                            : NULL;
}
