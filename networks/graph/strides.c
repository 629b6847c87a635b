/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of values' elements in memory. A slice has the strides of its storage. A view has strides if those
 * of its storage allow it: in the order of dimensions in memory, dimensions that it merges must be
 * contiguous.
 */
#include "graph/graph.h"

bool uk_is_strided(const struct uk_graph_value *v) {
    while (v && !v->is_slice)
        v = v->storage;
    return v;
}

static int dimension_at(const struct uk_graph_value *v, int i) {
    return v->is_laid_out ? v->order[i] : i;
}

/* Extents other than 1 and strides, from outermost to innermost. */
struct lengths {
    int count;
    int64_t extent[UK_RANK], stride[UK_RANK];
    int dimension[UK_RANK];
};

static struct lengths lengths_of(const struct uk_graph_value *v, const int64_t *stride) {
    struct lengths l = {.count = 0};

    for (int i = 0; i < v->rank; i++) {
        const int d = dimension_at(v, i);
        if (v->extent[d] == 1)
            continue;
        l.extent[l.count] = v->extent[d];
        l.stride[l.count] = stride[d];
        l.dimension[l.count++] = d;
    }
    return l;
}

/* Strides of the dimensions of `to` from number *t on that have as many elements as those of `from` from
 * number *f on. False: those of `from` are not contiguous. */
static bool match(const struct lengths *from, struct lengths *to, int *f, int *t) {
    const int first = *t;
    int64_t a = from->extent[(*f)++], b = to->extent[(*t)++];

    while (a != b) {
        if (a < b) {
            if (*f == from->count || from->stride[*f - 1] != from->stride[*f] * from->extent[*f])
                return false;
            a *= from->extent[(*f)++];
        } else {
            if (*t == to->count)
                return false;
            b *= to->extent[(*t)++];
        }
    }
    int64_t stride = from->stride[*f - 1];
    for (int i = *t - 1; i >= first; i--) {
        to->stride[i] = stride;
        stride *= to->extent[i];
    }
    return true;
}

/* True if the values have the same extents in the order of memory; then stride[] becomes that of v. */
static bool match_all(const struct uk_graph_value *of, const int64_t *strides, const struct uk_graph_value *v,
                      int64_t stride[UK_RANK]) {
    if (of->rank != v->rank)
        return false;
    for (int i = 0; i < v->rank; i++) {
        if (of->extent[dimension_at(of, i)] != v->extent[dimension_at(v, i)])
            return false;
        stride[dimension_at(v, i)] = strides[dimension_at(of, i)];
    }
    return true;
}

bool uk_view_strides(const struct uk_graph_value *of, const int64_t *strides, const struct uk_graph_value *v,
                     int64_t stride[UK_RANK]) {
    const int64_t none[UK_RANK] = {0};
    struct lengths from = lengths_of(of, strides), to = lengths_of(v, none);
    int f = 0, t = 0;

    if (match_all(of, strides, v, stride))
        return true;
    if (!uk_value_elements(of) || !uk_value_elements(v))
        to.count = from.count = 0; /* of no elements any strides are right */
    while (f < from.count && t < to.count)
        if (!match(&from, &to, &f, &t))
            return false;
    for (int i = 0; i < v->rank; i++)
        stride[i] = 0;
    for (int i = 0; i < to.count; i++)
        stride[to.dimension[i]] = to.stride[i];
    int64_t inner = 1; /* a dimension of extent 1 has the stride of the next one inside */
    for (int i = v->rank - 1; i >= 0; i--) {
        const int d = dimension_at(v, i);
        stride[d] = stride[d] ? stride[d] : inner;
        inner = stride[d];
    }
    return true;
}

void uk_value_strides(const struct uk_graph_value *v, int64_t stride[UK_RANK]) {
    int64_t all = 1, storage[UK_RANK];

    while (v->is_slice)
        v = v->storage;
    if (uk_is_strided(v)) {
        uk_value_strides(v->storage, storage);
        uk_view_strides(v->storage, storage, v, stride);
        return;
    }
    for (int i = v->rank - 1; i >= 0; i--) {
        const int d = dimension_at(v, i);
        stride[d] = all;
        all *= uk_stored_extents(v)[d];
    }
}

int64_t uk_value_begin(const struct uk_graph_value *v) {
    int64_t at = 0;

    for (; v->storage; v = v->storage)
        at += v->is_slice ? v->slice_at : 0;
    return at;
}

int64_t uk_value_offset(const struct uk_graph_value *v, const void *memory) {
    int64_t at = uk_value_begin(v);

    for (; v->storage; v = v->storage)
        at += v->mover && memory ? uk_value_part(v, memory) * uk_value_elements(v) : 0;
    return at * (int64_t)uk_type_bytes(v->type) + v->offset;
}
