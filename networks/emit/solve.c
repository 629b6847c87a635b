/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes at values of the open sizes, and the sizes at which inputs have given shapes. */
#include <string.h>
#include "emit/emit.h"

static const struct uk_graph_value *value_at(const struct uk_network *n, enum uk_network_role role, int i) {
    if (!uk_network_value(n, role, i))
        return NULL;
    return role == UK_NETWORK_INPUT ? n->graph.input[i] : n->graph.output[i];
}

static int64_t extent_at(const struct uk_graph_value *v, int d, const int64_t *steps) {
    return v->form ? uk_form_value(&v->form[d], steps) : v->extent[d];
}

/* Divides sizes by their steps. False: one is out of its range. */
static bool steps_of(const struct uk_network *n, const int64_t *sizes, int64_t *steps) {
    for (int i = 0; i < n->graph.open_count; i++) {
        const struct uk_network_size *z = &n->size[i];
        if (!sizes || sizes[i] < z->lower || sizes[i] > z->upper || sizes[i] % z->step)
            return false;
        steps[i] = sizes[i] / z->step;
    }
    return true;
}

enum uk_status uk_network_value_at(const struct uk_network *n, enum uk_network_role role, int i,
                                   const int64_t *sizes, struct uk_network_tensor *t) {
    const struct uk_graph_value *v = value_at(n, role, i);
    int64_t steps[UK_MAX_OPEN];

    if (!v || !t)
        return UK_INVALID_ARGUMENT;
    if (!steps_of(n, sizes, steps))
        return UK_INVALID_SIZE;
    *t = *uk_network_value(n, role, i);
    t->elements = 1;
    for (int d = 0; d < v->rank; d++) {
        t->shape[d] = extent_at(v, d, steps);
        t->elements *= (size_t)t->shape[d];
    }
    t->bytes = t->elements * uk_type_bytes(t->type);
    return UK_OK;
}

/* Sizes that have been found, in steps. */
struct solving {
    const struct uk_network *n;
    int64_t steps[UK_MAX_OPEN];
    bool known[UK_MAX_OPEN];
};

/* Finds a size from an extent in whose form it is the only unknown one, in one term without another size. */
static bool solve(struct solving *s, const struct uk_size_form *f, int64_t extent) {
    const struct uk_size_term *unknown = NULL;

    for (int i = 0; i < f->terms; i++) {
        const struct uk_size_term *t = &f->term[i];
        const bool a = t->a < 0 || s->known[t->a], b = t->b < 0 || s->known[t->b];
        if (a && b)
            extent -= uk_form_value(&(struct uk_size_form){1, {*t}}, s->steps);
        else if (unknown || t->b >= 0)
            return false;
        else
            unknown = t;
    }
    if (!unknown || extent % unknown->factor)
        return false;
    s->steps[unknown->a] = extent / unknown->factor;
    return s->known[unknown->a] = true;
}

/* True if the shape of an input depends on the size. */
static bool has_input(const struct uk_network *n, int size) {
    const struct uk_graph_value *v;

    for (int i = 0; (v = value_at(n, UK_NETWORK_INPUT, i)); i++)
        for (int d = 0; v->form && d < v->rank; d++)
            for (int k = 0; k < v->form[d].terms; k++)
                if (v->form[d].term[k].a == size || v->form[d].term[k].b == size)
                    return true;
    return false;
}

enum uk_status uk_network_solve_sizes(const struct uk_network *n, const int64_t *const shapes[],
                                      int64_t *sizes) {
    struct solving s = {.n = n};
    const struct uk_graph_value *v;
    int64_t steps[UK_MAX_OPEN];
    bool found = true;

    if (!n || !n->is_read || !shapes || !sizes)
        return UK_INVALID_ARGUMENT;
    for (int i = 0; i < n->graph.open_count; i++)
        if (!has_input(n, i)) {
            s.known[i] = sizes[i] % n->size[i].step == 0;
            s.steps[i] = sizes[i] / n->size[i].step;
        }
    while (found) {
        found = false;
        for (int i = 0; (v = value_at(n, UK_NETWORK_INPUT, i)); i++)
            for (int d = 0; v->form && d < v->rank; d++)
                found |= solve(&s, &v->form[d], shapes[i][d]);
    }
    for (int i = 0; i < n->graph.open_count; i++) {
        if (!s.known[i])
            return UK_INVALID_SIZE;
        sizes[i] = s.steps[i] * n->size[i].step;
    }
    if (!steps_of(n, sizes, steps))
        return UK_INVALID_SIZE;
    for (int i = 0; (v = value_at(n, UK_NETWORK_INPUT, i)); i++)
        for (int d = 0; d < v->rank; d++)
            if (shapes[i][d] != extent_at(v, d, steps))
                return UK_INVALID_SIZE;
    return UK_OK;
}
