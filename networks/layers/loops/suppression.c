/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NonMaxSuppression: boxes [batch, count, 4], scores [batch, classes, count]; greedily, per class, the best
 * box that overlaps no better one. A loop over the boxes that are chosen, for all classes at once. The number
 * of rows of ONNX's result depends on the data; here the result has a row for each box that may be chosen,
 * and rows of -1 follow those that are. With an open number of boxes, there are as many rows as for the
 * largest number if the bound on those that are chosen is below that.
 */
#include <inttypes.h>
#include <math.h>
#include "layers/layers.h"

enum { IS_BOUNDED }; /* choices of open sizes: the operator's bound on boxes is below their largest number */
enum { BOXES, SCORES, MOST, OVERLAP, LEAST };
enum { BOTTOM, LEFT, TOP, RIGHT, AREA, FACTS };

struct suppression {
    struct uk_expansion e;
    int64_t batch, classes, count, chosen; /* chosen: boxes of a class at most; it may be above the count */
    struct uk_graph_value *fact[FACTS];    /* of each box, [batch, 1, count] */
    struct uk_graph_value *table;          /* the same as [batch, count, FACTS] */
};

/* ---- inputs ---- */

static enum uk_status read_count(struct suppression *s) {
    struct uk_graph_node *n = s->e.n;
    int64_t listed[UK_MAX_LISTED_INTS] = {0};
    int count = -1;
    enum uk_status status = uk_node_input(n, MOST) ? uk_need_ints(s->e.g, n, NULL, MOST, listed, &count) : 0;

    if (!status && count >= 0 && count != 1)
        status =
            uk_graph_fail(s->e.g, UK_REFUSED, n, "max_output_boxes_per_class is a list of %d numbers", count);
    const int64_t most = listed[0] < 0 ? 0 : listed[0];
    s->chosen = uk_choose_form(s->e.g, n, IS_BOUNDED, most < s->count) ? most : s->count;
    return status;
}

static enum uk_status check_threshold(const struct suppression *s, int i, const char *name) {
    const struct uk_graph_value *v = uk_node_input(s->e.n, i);
    enum uk_status status = v ? uk_need_input(s->e.g, s->e.n, i) : UK_OK;

    if (!status && v && (v->type != UK_F32 || uk_value_elements(v) != 1 || v->rank > 1))
        status = uk_graph_fail(s->e.g, UK_REFUSED, s->e.n, "%s of type %s and shape %s is not one f32", name,
                               uk_type_name(v->type), uk_value_shape(v));
    return status;
}

static enum uk_status check(struct suppression *s) {
    struct uk_graph_node *n = s->e.n;
    struct uk_graph *g = s->e.g;
    enum uk_status status = uk_need_input(g, n, BOXES);

    if (!status)
        status = uk_need_input(g, n, SCORES);
    if (status)
        return status;
    const struct uk_graph_value *b = n->input[BOXES], *c = n->input[SCORES];
    if (b->rank != 3 || c->rank != 3 || b->extent[2] != 4 || b->extent[0] != c->extent[0] ||
        b->extent[1] != c->extent[2] || b->type != UK_F32 || c->type != UK_F32)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "boxes and scores of shapes %s and %s are not [batch, boxes, 4] and "
                             "[batch, classes, boxes] of f32",
                             uk_value_shape(b), uk_value_shape(c));
    const int64_t center = uk_attribute_int(n, "center_point_box", 0);
    if (center != 0 && center != 1)
        return uk_graph_fail(g, UK_REFUSED, n, "center_point_box=%" PRId64 " is neither 0 nor 1", center);
    s->batch = b->extent[0];
    s->count = b->extent[1];
    s->classes = c->extent[1];
    if (!(status = check_threshold(s, OVERLAP, "iou_threshold")))
        status = check_threshold(s, LEAST, "score_threshold");
    return status ? status : read_count(s);
}

/* ---- corners and areas ---- */

static struct uk_graph_value *binary(struct suppression *s, const char *type, struct uk_graph_value *a,
                                     struct uk_graph_value *b) {
    return uk_expand_to(&s->e, NULL, type, 2, a, b);
}

/* Sets the bounds of one dimension, from two columns of the boxes. */
static void bound(struct suppression *s, int low, int high, int first, int second) {
    const bool is_center = uk_attribute_int(s->e.n, "center_point_box", 0);
    struct uk_graph_value *boxes = s->e.n->input[BOXES],
                          *a = uk_expand_slice(&s->e, boxes, 2, first, first + 1),
                          *b = uk_expand_slice(&s->e, boxes, 2, second, second + 1);

    if (is_center)
        b = binary(s, "Mul", b, uk_expand_real(&s->e, UK_F32, 0.5));
    s->fact[low] = binary(s, is_center ? "Sub" : "Min", a, b);
    s->fact[high] = binary(s, is_center ? "Add" : "Max", a, b);
}

static void find_facts(struct suppression *s) {
    const bool is_center = uk_attribute_int(s->e.n, "center_point_box", 0);
    const int64_t row[] = {s->batch, 1, s->count};

    bound(s, BOTTOM, TOP, is_center ? 1 : 0, is_center ? 3 : 2);
    bound(s, LEFT, RIGHT, is_center ? 0 : 1, is_center ? 2 : 3);
    s->fact[AREA] = binary(s, "Mul", binary(s, "Sub", s->fact[TOP], s->fact[BOTTOM]),
                           binary(s, "Sub", s->fact[RIGHT], s->fact[LEFT]));
    s->table = uk_expand_to(&s->e, NULL, "Concat", FACTS, s->fact[0], s->fact[1], s->fact[2], s->fact[3],
                            s->fact[4]);
    uk_expand_int(&s->e, "axis", 2);
    for (int i = 0; i < FACTS; i++)
        s->fact[i] = uk_expand_reshape(&s->e, NULL, s->fact[i], 3, row);
}

/* ---- one iteration ---- */

/* The length of what two boxes share in a dimension. */
static struct uk_graph_value *shared(struct suppression *s, struct uk_graph_value *const *best, int low,
                                     int high) {
    struct uk_graph_value *to = binary(s, "Min", s->fact[high], best[high]),
                          *from = binary(s, "Max", s->fact[low], best[low]);

    return uk_expand_to(&s->e, NULL, "Relu", 1, binary(s, "Sub", to, from));
}

/* Returns, for each box, if it overlaps the best one of each class too much. */
static struct uk_graph_value *overlaps(struct suppression *s, struct uk_graph_value *index) {
    struct uk_graph_value *picked = uk_expand_to(&s->e, NULL, "GatherND", 2, s->table, index), *best[FACTS];

    uk_expand_int(&s->e, "batch_dims", 1);
    for (int i = 0; i < FACTS; i++)
        best[i] = uk_expand_slice(&s->e, picked, 2, i, i + 1);
    struct uk_graph_value *both =
                              binary(s, "Mul", shared(s, best, BOTTOM, TOP), shared(s, best, LEFT, RIGHT)),
                          *all = binary(s, "Sub", binary(s, "Add", s->fact[AREA], best[AREA]), both),
                          *most = uk_node_input(s->e.n, OVERLAP);
    return binary(s, "Greater", binary(s, "Div", both, all), most ? most : uk_expand_real(&s->e, UK_F32, 0));
}

/* An iteration on the scores of boxes that are left. Returns the index of the box that is chosen, or -1. */
static struct uk_graph_value *choose(struct suppression *s, struct uk_graph_value *scores,
                                     struct uk_graph_value *places) {
    struct uk_expansion *e = &s->e;
    struct uk_graph_value *least = uk_node_input(e->n, LEAST), *lost = uk_expand_real(e, UK_F32, -INFINITY);
    struct uk_graph_value *highest =
        uk_expand_to(e, NULL, "ReduceMax", 2, scores, uk_expand_ints(e, 1, (const int64_t[1]){2}));
    struct uk_graph_value *index = uk_expand_to(e, NULL, "ArgMax", 1, scores);

    uk_expand_int(e, "axis", 2);
    struct uk_graph_value *out = binary(s, "Or", overlaps(s, index), binary(s, "Equal", places, index));
    uk_expand_next(e, scores, uk_expand_to(e, NULL, "Where", 3, out, lost, scores));
    return uk_expand_to(e, NULL, "Where", 3, binary(s, "Greater", highest, least ? least : lost), index,
                        uk_expand_ints(e, 1, (const int64_t[1]){-1}));
}

/* ---- the result ---- */

/* Returns 0 to count - 1 in a dimension, with the result's extents, as a column. */
static struct uk_graph_value *numbers(struct suppression *s, int dimension, int64_t count) {
    const int64_t extent[] = {s->batch, s->classes, s->chosen},
                  column[] = {s->batch * s->classes * s->chosen, 1};
    int64_t apart[] = {1, 1, 1}, *list = uk_alloc(&s->e.g->arena, ((size_t)count + 1) * sizeof *list);

    s->e.failed |= !list;
    for (int64_t i = 0; list && i < count; i++)
        list[i] = i;
    apart[dimension] = count;
    struct uk_graph_value *v =
        uk_expand_reshape(&s->e, NULL, uk_expand_ints(&s->e, list ? (int)count : 0, list), 3, apart);
    return uk_expand_reshape(
        &s->e, NULL, uk_expand_to(&s->e, NULL, "Expand", 2, v, uk_expand_ints(&s->e, 3, extent)), 2, column);
}

/* Moves the rows of boxes that were chosen to the front. all: [chosen, batch, classes, 1]. */
static void collect(struct suppression *s, struct uk_graph_value *all) {
    struct uk_expansion *e = &s->e;
    const int64_t perm[] = {1, 2, 0, 3}, rows = s->batch * s->classes * s->chosen, column[] = {rows, 1},
                  extent[] = {rows + 1, 3}, zero = 0, none = -1;
    struct uk_graph_value *index =
        uk_expand_reshape(e, NULL, uk_expand_transpose(e, NULL, all, 4, perm), 2, column);
    struct uk_graph_value *is_chosen = binary(s, "GreaterOrEqual", index, uk_expand_ints(e, 1, &zero));
    struct uk_graph_value *count = uk_expand_to(e, NULL, "Cast", 1, is_chosen), *place, *row;

    uk_expand_int(e, "to", 7);
    count = uk_expand_to(e, NULL, "CumSum", 2, count, uk_expand_ints(e, 1, &zero));
    uk_expand_int(e, "exclusive", 1);
    place = uk_expand_to(e, NULL, "Where", 3, is_chosen, count, uk_expand_ints(e, 1, &rows));
    row = uk_expand_to(e, NULL, "Concat", 3, numbers(s, 0, s->batch), numbers(s, 1, s->classes), index);
    uk_expand_int(e, "axis", 1);
    struct uk_graph_value *empty =
        uk_expand_to(e, NULL, "Expand", 2, uk_expand_ints(e, 1, &none), uk_expand_ints(e, 2, extent));
    struct uk_graph_value *result = uk_expand_to(e, NULL, "ScatterND", 3, empty, place, row);
    result = uk_expand_slice(e, result, 0, 0, rows);
    uk_expand_to(e, e->n->output[0], "Identity", 1, result);
}

static void expand(struct suppression *s) {
    struct uk_expansion *e = &s->e;
    int64_t row[] = {1, 1, s->count}, *list = uk_alloc(&e->g->arena, ((size_t)s->count + 1) * sizeof *list);

    e->failed |= !list;
    for (int64_t i = 0; list && i < s->count; i++)
        list[i] = i;
    find_facts(s);
    struct uk_graph_value *places =
        uk_expand_reshape(e, NULL, uk_expand_ints(e, list ? (int)s->count : 0, list), 3, row);
    uk_expand_counted_loop(e, NULL, uk_expand_ints(e, 1, &s->chosen));
    struct uk_graph_value *scores = uk_expand_state(e, NULL, e->n->input[SCORES]);
    struct uk_graph_value *all = uk_expand_collect(e, NULL, choose(s, scores, places), false);
    uk_expand_loop_end(e);
    collect(s, all);
}

enum uk_status uk_expand_suppression(struct uk_graph *g, struct uk_graph_node *n,
                                     struct uk_graph_node **first) {
    struct suppression s = {.e = uk_expansion_begin(g, n, first)};
    const enum uk_status status = check(&s);

    if (status)
        return status;
    if (!s.batch || !s.classes || !s.chosen) {
        const int64_t extent[] = {0, 3};
        uk_expand_reshape(&s.e, n->output[0], uk_expand_ints(&s.e, 0, extent), 2, extent);
    } else {
        expand(&s);
    }
    return uk_expansion_end(&s.e);
}
