/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RotaryEmbedding: pairs of elements of each head are rotated by an angle that depends on the position. A
 * head's elements are seen as [2, half], or as [half, 2] if the pairs are interleaved; elements beyond those
 * that are rotated are concatenated again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

struct rotary {
    struct uk_graph_value *x, *cos, *sin, *position;
    int64_t extent[4]; /* of x: batch, then heads and sequence in some order, size of a head */
    int64_t rotated;   /* elements of a head that are rotated */
    int sequence;      /* dimension */
    bool is_interleaved;
};

/* Sizes of a head and of the part that is rotated. */
static enum uk_status sizes(struct uk_graph *g, const struct uk_graph_node *n, struct rotary *r) {
    const struct uk_graph_value *x = r->x;
    const int64_t half = r->cos->extent[r->cos->rank - 1],
                  rotated = uk_attribute_int(n, "rotary_embedding_dim", 0);
    const int64_t hidden = x->extent[x->rank - 1], heads = uk_attribute_int(n, "num_heads", 0);

    if (x->rank == 4) {
        memcpy(r->extent, x->extent, sizeof r->extent);
        r->sequence = 2;
    } else {
        const int64_t size = heads > 0 ? hidden / heads : rotated ? 0 : 2 * half;
        if (size < 1 || hidden % size || (heads > 0 && hidden % heads))
            return uk_graph_fail(g, UK_REFUSED, n, "num_heads=%" PRId64 " does not divide rows of %" PRId64,
                                 heads, hidden);
        const int64_t extent[] = {x->extent[0], x->extent[1], hidden / size, size};
        memcpy(r->extent, extent, sizeof extent);
        r->sequence = 1;
    }
    r->rotated = rotated ? rotated : r->extent[3];
    if (r->rotated < 2 || r->rotated % 2 || r->rotated > r->extent[3] || half != r->rotated / 2 ||
        r->sin->extent[r->sin->rank - 1] != half)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "rotating %" PRId64 " of %" PRId64 " elements does not fit a table of shape %s",
                             r->rotated, r->extent[3], uk_value_shape(r->cos));
    return UK_OK;
}

/* Reads the node: x, cosines, sines, positions in ONNX; x, positions, cosines, sines in com.microsoft, whose
 * attribute `scale` ONNX Runtime reads and does not use. */
static enum uk_status read(struct uk_graph *g, const struct uk_graph_node *n, struct rotary *r) {
    const int table = *n->domain ? 2 : 1, position = *n->domain ? 1 : 3;
    enum uk_status s = uk_need_input(g, n, 0);

    for (int i = table; i < table + 2 && !s; i++)
        s = uk_need_input(g, n, i);
    if (!s && (*n->domain || uk_node_input(n, position)))
        s = uk_need_input(g, n, position);
    if (!s && uk_attribute_int(n, "is_packed_batching", 0))
        s = uk_graph_fail(g, UK_REFUSED, n, "is_packed_batching=1 is not supported");
    if (s)
        return s;
    *r = (struct rotary){.x = n->input[0],
                         .cos = n->input[table],
                         .sin = n->input[table + 1],
                         .position = uk_node_input(n, position),
                         .is_interleaved = uk_attribute_int(n, "interleaved", 0)};
    if ((r->x->rank != 3 && r->x->rank != 4) || r->cos->rank != (r->position ? 2 : 3) ||
        r->sin->rank != r->cos->rank)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "an input of shape %s and tables of shape %s are not supported",
                             uk_value_shape(r->x), uk_value_shape(r->cos));
    return sizes(g, n, r);
}

enum uk_status uk_expand_rotary(struct uk_graph *g, struct uk_graph_node *n, struct uk_graph_node **first) {
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    struct rotary r;
    enum uk_status s = read(g, n, &r);

    if (s)
        return s;
    const int64_t half = r.rotated / 2, size = r.extent[3];
    const int64_t pairs[] = {r.extent[0], r.extent[1], r.extent[2], r.is_interleaved ? half : 2,
                             r.is_interleaved ? 2 : half},
                  whole[] = {r.extent[0], r.extent[1], r.extent[2], r.rotated};
    struct uk_graph_value *x = r.x, *y;
    if (r.rotated < size) {
        x = uk_expand_reshape(&e, NULL, x, 4, r.extent);
        y = uk_expand_slice(&e, x, 3, 0, r.rotated);
        x = uk_expand_slice(&e, x, 3, r.rotated, size);
        y = uk_expand_reshape(&e, NULL, y, 5, pairs);
    } else {
        y = uk_expand_reshape(&e, NULL, x, 5, pairs);
    }
    if (r.position && r.position->rank == 2 && r.position->data && r.cos->data && r.sin->data) {
        r.cos = uk_expand_to(&e, NULL, "Gather", 2, r.cos, r.position); /* constants, too */
        r.sin = uk_expand_to(&e, NULL, "Gather", 2, r.sin, r.position);
        r.position = NULL;
    }
    y = uk_expand_to(&e, NULL, "Rotate", 4, y, r.cos, r.sin, r.position);
    uk_expand_domain(&e, UK_INTERNAL_DOMAIN);
    uk_expand_int(&e, "sequence", r.sequence);
    uk_expand_int(&e, "interleaved", r.is_interleaved);
    if (r.rotated < size) {
        y = uk_expand_reshape(&e, NULL, y, 4, whole);
        y = uk_expand_to(&e, NULL, "Concat", 2, y, x);
        uk_expand_int(&e, "axis", 3);
    }
    uk_expand_reshape(&e, n->output[0], y, r.x->rank, r.x->extent);
    return uk_expansion_end(&e);
}

/* ---- Rotate: pairs, cosines, sines, positions; attributes: the dimensions of the sequence ----
 * Tables are [positions, half] with positions [batch, sequence], or one, the first of a sequence; or [batch,
 * sequence, half] without. */

static bool has_first(const struct uk_graph_value *position) {
    return position && position->rank < 2;
}

enum uk_status uk_infer_rotate(struct uk_graph *g, struct uk_graph_node *n) {
    const struct uk_graph_value *x = uk_node_input(n, 0), *p = uk_node_input(n, 3), *table;
    const int64_t sequence = uk_attribute_int(n, "sequence", 1);
    enum uk_status s = uk_need_inputs(g, n, 3);

    if (s)
        return s;
    const int64_t lines[] = {x->extent[0], x->extent[sequence]};
    for (int i = 1; i < 3; i++) {
        table = n->input[i];
        bool fits = table->type == x->type;
        for (int d = 0; d < 2 && !p; d++)
            fits &= table->extent[d] == lines[d] || table->extent[d] == 1;
        if (!fits)
            return uk_graph_fail(g, UK_REFUSED, n,
                                 "a table of shape %s and type %s does not fit pairs of shape %s",
                                 uk_value_shape(table), uk_type_name(table->type), uk_value_shape(x));
    }
    bool fits = !p || p->type == UK_I64 || p->type == UK_I32;
    if (has_first(p))
        fits &= uk_value_elements(p) == 1;
    for (int d = 0; p && !has_first(p) && d < 2; d++)
        fits &= p->rank == 2 && (p->extent[d] == lines[d] || p->extent[d] == 1);
    if (!fits)
        return uk_graph_fail(g, UK_REFUSED, n, "positions of shape %s do not fit pairs of shape %s",
                             uk_value_shape(p), uk_value_shape(x));
    return uk_set_output(g, n, 0, x->type, x->rank, x->extent);
}

/* Writes the temps @c and @s, the tables' lines at the positions, and their subscripts. Elements as
 * subscripts keep a statement from kernels and vectors. */
static void write_lines(struct uk_writer *w, const struct uk_graph_node *n, int64_t sequence, char *at,
                        size_t room) {
    const struct uk_graph_value *x = n->input[0], *p = n->input[3];
    const int64_t half = n->input[1]->extent[1],
                  extent[] = {p->rank == 2 ? p->extent[0] : 1, x->extent[sequence], half};
    char index[32];

    if (has_first(p)) {
        uk_write_temp(w, n, "p", UK_I64, 1, &extent[1], NULL);
        uk_write(w, n, "@p[s] = i64($3[%s]) + index(s)", p->rank ? "0" : "");
        snprintf(index, sizeof index, "@p[s]");
    } else {
        snprintf(index, sizeof index, "$3[b, %s]", uk_is_broadcast(w->g, p, 1, x, (int)sequence) ? "0" : "s");
    }
    uk_write_temp(w, n, "c", x->type, 3, extent, NULL);
    uk_write_temp(w, n, "s", x->type, 3, extent, NULL);
    uk_write(w, n, "@c[b, s, k] = $1[%s, k]", index);
    uk_write(w, n, "@s[b, s, k] = $2[%s, k]", index);
    snprintf(at, room, "%s, i%" PRId64, p->rank != 2 || uk_is_one(w->g, p, 0) ? "0" : "i0", sequence);
}

enum uk_status uk_write_rotate(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const struct uk_graph_value *x = n->input[0], *position = uk_node_input(n, 3), *table = n->input[1];
    const int64_t sequence = uk_attribute_int(n, "sequence", 1);
    const bool is_interleaved = uk_attribute_int(n, "interleaved", 0);
    const int pair = is_interleaved ? 4 : 3, line = is_interleaved ? 3 : 4;
    const char *cos = "@c", *sin = "@s", *all = uk_iterators(5);
    char at[40];

    (void)output;
    if (position) {
        write_lines(w, n, sequence, at, sizeof at);
    } else {
        const bool is_one = uk_is_broadcast(w->g, table, 1, x, (int)sequence);
        snprintf(at, sizeof at, is_one ? "%s, 0" : "%s, i%" PRId64, uk_is_one(w->g, table, 0) ? "0" : "i0",
                 sequence);
        cos = "$1";
        sin = "$2";
    }
    uk_write_result(
        w, n,
        is_interleaved
            ? "$0[%1$s] * %2$s[%3$s, i%4$d] + select(index(i%5$d) == 0, -$0[i0, i1, i2, i3, 1 - i4], "
              "$0[i0, i1, i2, i3, 1 - i4]) * %6$s[%3$s, i%4$d]"
            : "$0[%1$s] * %2$s[%3$s, i%4$d] + select(index(i%5$d) == 0, -$0[i0, i1, i2, 1 - i3, i4], "
              "$0[i0, i1, i2, 1 - i3, i4]) * %6$s[%3$s, i%4$d]",
        all, cos, at, line, pair, sin);
    return UK_OK;
}
