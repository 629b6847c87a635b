/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LSTM, GRU and RNN, and LSTM on bytes, whose inputs and states are quantized as they are read. Per
 * direction: one product of the inputs of all steps with W, then a loop over the steps, which adds the
 * product of the state with R and computes the gates. Sequences that are shorter than the longest keep their
 * state once they have ended, and their further results are 0; in the reverse direction each is reversed
 * before the loop, and its results after it.
 */
#include <inttypes.h>
#include <string.h>
#include "layers/loops/recurrent.h"

enum { MAX_DIRECTIONS = 2 };
enum { X, W, R, B, LENGTHS, H, C, P, W_SCALE, W_ZERO, R_SCALE, R_ZERO, MAX_INPUTS };

static const struct {
    const char *type;
    enum uk_cell cell;
    int gates, inputs;
} kinds[] = {{"RNN", UK_CELL_RNN, 1, 6},
             {"GRU", UK_CELL_GRU, 3, 6},
             {"LSTM", UK_CELL_LSTM, 4, 8},
             {"DynamicQuantizeLSTM", UK_CELL_LSTM, 4, MAX_INPUTS}};

struct recurrent {
    struct uk_expansion e;
    struct uk_graph *g;
    struct uk_graph_node *n;
    struct uk_graph_value *in[MAX_INPUTS]; /* NULL: left out */
    bool has_bytes;                        /* as weights */
    enum uk_cell cell;
    enum uk_type type;
    int gates, directions;
    bool is_reverse; /* of the first direction */
    bool is_batch_first;
    int64_t steps, batch, inputs, hidden;
    struct uk_graph_value *x;                   /* [steps, batch, inputs] */
    struct uk_graph_value *lengths, *ends;      /* i64, [batch] and [batch, 1]; NULL: all have all steps */
    struct uk_graph_value *zero;                /* result of steps after the end */
    struct uk_graph_value *y, *last_h, *last_c; /* results of the direction expanded last; NULL: not wanted */
    struct uk_direction direction[MAX_DIRECTIONS];
};

/* ---- attributes and shapes ---- */

static enum uk_status read_attributes(struct recurrent *r) {
    const char *direction = uk_attribute_string(r->n, "direction", "forward");
    const int64_t layout = uk_attribute_int(r->n, "layout", 0);
    const struct uk_attribute *clip = uk_attribute_find(r->n, "clip");

    r->is_reverse = !strcmp(direction, "reverse");
    r->directions = strcmp(direction, "bidirectional") ? 1 : 2;
    if (r->directions == 1 && !r->is_reverse && strcmp(direction, "forward") != 0)
        return uk_graph_fail(r->g, UK_REFUSED, r->n,
                             "direction '%s' is none of forward, reverse and bidirectional", direction);
    if (layout != 0 && layout != 1)
        return uk_graph_fail(r->g, UK_REFUSED, r->n, "layout=%" PRId64 " is neither 0 nor 1", layout);
    r->is_batch_first = layout;
    if (clip && clip->f <= 0)
        return uk_graph_fail(r->g, UK_REFUSED, r->n, "clip=%g is not above 0", clip->f);
    return UK_OK;
}

/* Refuses input i unless it has this shape and type. */
static enum uk_status check_input(const struct recurrent *r, int i, enum uk_type type, int rank,
                                  const int64_t *extent) {
    static const char *const names[] = {"X",         "W",           "R", "B",       "sequence_lens",
                                        "initial_h", "initial_c",   "P", "W_scale", "W_zero_point",
                                        "R_scale",   "R_zero_point"};
    struct uk_graph_value wanted = {.has_shape = true, .rank = rank};
    const struct uk_graph_value *v = r->in[i];
    enum uk_status s = v ? uk_need_input(r->g, r->n, i) : UK_OK;

    if (s || !v)
        return s;
    memcpy(wanted.extent, extent, (size_t)rank * sizeof *extent);
    if (v->rank != rank || memcmp(v->extent, extent, (size_t)rank * sizeof *extent) || v->type != type)
        return uk_graph_fail(
            r->g, UK_REFUSED, r->n,
            "its input %s is %s of shape %s; by its attributes and inputs X and R it must be "
            "%s of shape %s",
            names[i], uk_type_name(v->type), uk_value_shape(v), uk_type_name(type), uk_value_shape(&wanted));
    return UK_OK;
}

/* Checks bytes and their quantization, of a direction or of each gate's element. */
static enum uk_status check_bytes(const struct recurrent *r, int weights, int scale, int64_t terms) {
    const int64_t shape[] = {r->directions, terms, r->gates * r->hidden},
                  by_element[] = {r->directions, r->gates * r->hidden};
    const struct uk_graph_value *v = r->in[weights];
    const enum uk_type type = v->type == UK_I8 ? UK_I8 : UK_U8;
    enum uk_status s = uk_need_input(r->g, r->n, scale);

    if (!s)
        s = check_input(r, weights, type, 3, shape);
    for (int i = scale; i <= scale + 1 && !s; i++)
        s = check_input(r, i, i == scale ? UK_F32 : type, r->in[i] && r->in[i]->rank == 2 ? 2 : 1,
                        by_element);
    return s;
}

/* Reads sizes from X and R; checks the shapes of all inputs against them. */
static enum uk_status check_inputs(struct recurrent *r) {
    enum uk_status s = uk_need_input(r->g, r->n, X);

    for (int i = W; i <= R && !s; i++)
        s = uk_need_input(r->g, r->n, i);
    if (s)
        return s;
    const struct uk_graph_value *x = r->in[X], *recurrent = r->in[R];
    if (x->rank != 3 || recurrent->rank != 3)
        return uk_graph_fail(r->g, UK_REFUSED, r->n,
                             "its inputs X and R of shapes %s and %s must have three dimensions each",
                             uk_value_shape(x), uk_value_shape(recurrent));
    if (x->type != UK_F32 && (x->type != UK_F64 || r->has_bytes))
        return uk_graph_fail(r->g, UK_REFUSED, r->n, "element type %s is not supported",
                             uk_type_name(x->type));
    r->type = x->type;
    r->steps = x->extent[r->is_batch_first];
    r->batch = x->extent[!r->is_batch_first];
    r->inputs = x->extent[2];
    r->hidden = uk_attribute_int(r->n, "hidden_size", recurrent->extent[r->has_bytes ? 1 : 2]);
    if (r->hidden < 1 || r->hidden > UK_MAX_ELEMENTS)
        return uk_graph_fail(r->g, UK_REFUSED, r->n, "hidden_size=%" PRId64 " is not a size", r->hidden);
    const int64_t d = r->directions, all = r->gates * r->hidden;
    const int64_t state[] = {r->is_batch_first ? r->batch : d, r->is_batch_first ? d : r->batch, r->hidden};
    const struct {
        int input, rank;
        enum uk_type type;
        int64_t extent[3];
    } wanted[] = {
        {R, 3, r->type, {d, all, r->hidden}}, {W, 3, r->type, {d, all, r->inputs}},
        {B, 2, r->type, {d, 2 * all}},        {LENGTHS, 1, UK_I32, {r->batch}},
        {P, 2, r->type, {d, 3 * r->hidden}},
    };
    if (r->has_bytes && !(s = check_bytes(r, R, R_SCALE, r->hidden)))
        s = check_bytes(r, W, W_SCALE, r->inputs);
    for (size_t i = r->has_bytes ? 2 : 0; i < sizeof wanted / sizeof *wanted && !s; i++)
        s = check_input(r, wanted[i].input, wanted[i].type, wanted[i].rank, wanted[i].extent);
    for (int i = H; i <= C && !s; i++)
        s = check_input(r, i, r->type, 3, state);
    return s;
}

/* ---- weights ---- */

/* Rows [from, to) of direction d of an input [directions, rows, ...], without the first dimension. */
static struct uk_graph_value *rows(struct recurrent *r, int input, int64_t d, int64_t from, int64_t to) {
    struct uk_graph_value *v = r->in[input];
    const int rank = v->rank - 1;
    const int64_t extent[] = {to - from, rank > 1 ? v->extent[2] : 1};

    if (r->directions > 1)
        v = uk_expand_slice(&r->e, v, 0, d, d + 1);
    if (from > 0 || to < r->in[input]->extent[1])
        v = uk_expand_slice(&r->e, v, 1, from, to);
    return uk_expand_reshape(&r->e, NULL, v, rank, extent);
}

/* Direction d of an input [directions, ...], without the first dimension. */
static struct uk_graph_value *of_direction(struct recurrent *r, int input, int64_t d) {
    struct uk_graph_value *v = r->in[input];
    const int64_t *extent = v ? v->extent + 1 : NULL;

    if (!v)
        return NULL;
    const int rank = v->rank - 1;
    if (r->directions > 1)
        v = uk_expand_slice(&r->e, v, 0, d, d + 1);
    return uk_expand_reshape(&r->e, NULL, v, rank, extent);
}

/* Weights of gates of direction d, W or R: rows [from, to), which are all of bytes. */
static struct uk_gate_weights weights(struct recurrent *r, int input, int64_t d, int64_t from, int64_t to) {
    const int scale = input == W ? W_SCALE : R_SCALE;

    if (!r->has_bytes)
        return (struct uk_gate_weights){.matrix = rows(r, input, d, from, to)};
    return (struct uk_gate_weights){of_direction(r, input, d), of_direction(r, scale, d),
                                    of_direction(r, scale + 1, d)};
}

/* Sets what the steps of direction d read. Returns the addend to the product of the inputs, or NULL. */
static struct uk_graph_value *read_direction(struct recurrent *r, int d) {
    const struct uk_attribute *clip = uk_attribute_find(r->n, "clip");
    struct uk_direction *to = &r->direction[d];
    const int64_t hidden = r->hidden, all = r->gates * hidden;
    struct uk_graph_value *bias = NULL;

    to->cell = r->cell;
    to->hidden = hidden;
    to->couples_gates = uk_attribute_int(r->n, "input_forget", 0);
    to->resets_product = uk_attribute_int(r->n, "linear_before_reset", 0);
    const bool splits = r->cell == UK_CELL_GRU && !to->resets_product;
    to->r = weights(r, R, d, 0, splits ? 2 * hidden : all);
    if (splits)
        to->last_r = weights(r, R, d, 2 * hidden, all);
    if (r->in[B]) {
        bias = rows(r, B, d, 0, all);
        to->addend = rows(r, B, d, all, 2 * all);
        if (r->cell != UK_CELL_GRU || splits) {
            bias = uk_expand_to(&r->e, NULL, "Add", 2, bias, to->addend);
            to->addend = NULL;
        }
    }
    for (int i = 0; i < 3 && r->in[P]; i++)
        to->peephole[i] = rows(r, P, d, i * hidden, (i + 1) * hidden);
    if (clip) {
        to->low = uk_expand_real(&r->e, r->type, -clip->f);
        to->high = uk_expand_real(&r->e, r->type, clip->f);
    }
    to->one = uk_expand_real(&r->e, r->type, 1);
    return bias;
}

/* ---- sequences ---- */

static void read_lengths(struct recurrent *r) {
    const int64_t ends[] = {r->batch, 1};

    if (!r->in[LENGTHS])
        return;
    r->lengths = uk_expand_to(&r->e, NULL, "Cast", 1, r->in[LENGTHS]);
    uk_expand_int(&r->e, "to", 7); /* i64 */
    struct uk_graph_value *low = uk_expand_ints(&r->e, 1, &(int64_t){0}),
                          *high = uk_expand_ints(&r->e, 1, &r->steps);
    r->lengths = uk_expand_to(&r->e, NULL, "Clip", 3, r->lengths, low, high);
    r->ends = uk_expand_reshape(&r->e, NULL, r->lengths, 2, ends);
    r->zero = uk_expand_real(&r->e, r->type, 0);
}

/* The state of direction d before the first step, [batch, hidden]. */
static struct uk_graph_value *initial(struct recurrent *r, int input, int d) {
    const int64_t extent[] = {r->batch, r->hidden};
    struct uk_graph_value *v = r->in[input];

    if (!v) {
        v = uk_expand_real(&r->e, r->type, 0);
        return uk_expand_to(&r->e, NULL, "Expand", 2, v, uk_expand_ints(&r->e, 2, extent));
    }
    if (r->directions > 1)
        v = uk_expand_slice(&r->e, v, r->is_batch_first, d, d + 1);
    return uk_expand_reshape(&r->e, NULL, v, 2, extent);
}

/* Adds the loop over the steps of direction d. x: the product of the inputs, [steps, batch, gates * hidden];
 * is_reversed: from the last step to the first. */
static void expand_loop(struct recurrent *r, int d, struct uk_graph_value *x, bool is_reversed) {
    struct uk_graph_value *first_h = initial(r, H, d),
                          *first_c = r->cell == UK_CELL_LSTM ? initial(r, C, d) : NULL;

    uk_expand_loop(&r->e, r->in[X], r->is_batch_first);
    struct uk_graph_value *h = uk_expand_state(&r->e, NULL, first_h),
                          *c = first_c ? uk_expand_state(&r->e, NULL, first_c) : NULL, *next_c = c, *y,
                          *is_within = NULL;
    x = uk_expand_element(&r->e, NULL, x, is_reversed);
    struct uk_graph_value *next_h = y = uk_expand_cell(&r->e, &r->direction[d], x, h, &next_c);
    if (r->ends) {
        is_within = uk_expand_to(&r->e, NULL, "Less", 2, uk_expand_iteration(&r->e), r->ends);
        y = uk_expand_to(&r->e, NULL, "Where", 3, is_within, next_h, r->zero);
        next_h = uk_expand_to(&r->e, NULL, "Where", 3, is_within, next_h, h);
    }
    if (r->ends && c)
        next_c = uk_expand_to(&r->e, NULL, "Where", 3, is_within, next_c, c);
    uk_expand_next(&r->e, h, next_h);
    if (c)
        uk_expand_next(&r->e, c, next_c);
    if (r->y)
        r->y = uk_expand_collect(&r->e, NULL, y, is_reversed);
    uk_expand_loop_end(&r->e);
    if (r->last_h)
        r->last_h = uk_expand_final(&r->e, NULL, h);
    if (c && r->last_c)
        r->last_c = uk_expand_final(&r->e, NULL, c);
}

static void expand_direction(struct recurrent *r, int d) {
    const int64_t flat[] = {r->steps * r->batch, r->inputs},
                  apart[] = {r->steps, r->batch, r->gates * r->hidden};
    const bool is_reverse = r->is_reverse || d == 1, by_lengths = is_reverse && r->lengths;
    struct uk_graph_value *bias = read_direction(r, d), *x = r->x;
    const struct uk_gate_weights w = weights(r, W, d, 0, r->gates * r->hidden);

    if (by_lengths)
        x = uk_expand_to(&r->e, NULL, "ReverseSequence", 2, x, r->lengths);
    x = uk_expand_reshape(&r->e, NULL, x, 2, flat);
    x = uk_expand_gates(&r->e, x, &w, bias);
    expand_loop(r, d, uk_expand_reshape(&r->e, NULL, x, 3, apart), is_reverse && !by_lengths);
    if (by_lengths && r->y)
        r->y = uk_expand_to(&r->e, NULL, "ReverseSequence", 2, r->y, r->lengths);
}

/* ---- results ---- */

static struct uk_graph_value *wanted(const struct uk_graph_node *n, int output) {
    return output < n->outputs && n->output[output] && n->output[output]->uses ? n->output[output] : NULL;
}

/* Joins what the directions give along a new dimension: the results of all steps, [steps, batch, hidden], or
 * states, [batch, hidden]. */
static void join(struct recurrent *r, struct uk_graph_value *to, struct uk_graph_value *const *from,
                 bool is_state) {
    const int64_t one_state[] = {1, r->batch, r->hidden}, one_y[] = {r->steps, 1, r->batch, r->hidden},
                  state_perm[] = {1, 0, 2}, y_perm[] = {2, 0, 1, 3};
    const int rank = is_state ? 3 : 4;
    struct uk_graph_value *part[MAX_DIRECTIONS], *all, *before = r->is_batch_first ? NULL : to;

    if (!to)
        return;
    for (int d = 0; d < r->directions; d++)
        part[d] = uk_expand_reshape(&r->e, r->directions == 1 ? before : NULL, from[d], rank,
                                    is_state ? one_state : one_y);
    all = part[0];
    if (r->directions > 1) {
        all = uk_expand_to(&r->e, before, "Concat", 2, part[0], part[1]);
        uk_expand_int(&r->e, "axis", is_state ? 0 : 1);
    }
    if (r->is_batch_first)
        uk_expand_transpose(&r->e, to, all, rank, is_state ? state_perm : y_perm);
}

static void expand_directions(struct recurrent *r) {
    struct uk_graph_value *to[] = {wanted(r->n, 0), wanted(r->n, 1), wanted(r->n, 2)}, *y[MAX_DIRECTIONS],
                          *h[MAX_DIRECTIONS], *c[MAX_DIRECTIONS];
    const int64_t perm[] = {1, 0, 2};

    r->x = r->in[X];
    if (r->is_batch_first)
        r->x = uk_expand_transpose(&r->e, NULL, r->x, 3, perm);
    read_lengths(r);
    for (int d = 0; d < r->directions; d++) {
        r->y = to[0];
        r->last_h = to[1];
        r->last_c = to[2];
        expand_direction(r, d);
        y[d] = r->y;
        h[d] = r->last_h;
        c[d] = r->last_c;
    }
    join(r, to[0], y, false);
    join(r, to[1], h, true);
    join(r, to[2], c, true);
}

enum uk_status uk_expand_recurrent(struct uk_graph *g, struct uk_graph_node *n,
                                   struct uk_graph_node **first) {
    struct recurrent r = {.e = uk_expansion_begin(g, n, first), .g = g, .n = n};
    int k = 0;

    while (strcmp(kinds[k].type, n->type) != 0)
        k++;
    r.cell = kinds[k].cell;
    r.gates = kinds[k].gates;
    r.has_bytes = kinds[k].inputs > W_SCALE;
    if (n->inputs > kinds[k].inputs)
        return uk_graph_fail(g, UK_REFUSED, n, "it has %d inputs; at most %d are known", n->inputs,
                             kinds[k].inputs);
    for (int i = 0; i < n->inputs; i++)
        r.in[i] = n->input[i];
    enum uk_status s = read_attributes(&r);
    if (!s)
        s = check_inputs(&r);
    if (!s)
        s = uk_read_activations(&r.e, r.type, r.cell, r.direction, r.directions);
    if (s)
        return s;
    if (wanted(n, 0) || wanted(n, 1) || wanted(n, 2))
        expand_directions(&r);
    return uk_expansion_end(&r.e);
}
