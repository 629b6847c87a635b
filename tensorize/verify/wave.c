/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that all lanes of a wave call together (`scope wave`). An operand in registers is spread over the
 * lanes: its layout says for each element which lane has it, and in which of the lane's registers. A case has
 * such an operand as a whole tile, which the interpreter computes with, and converts it to the lanes'
 * registers for the call and back.
 */
#include <stdio.h>
#include <string.h>
#include "verify.h"

struct place {
    int64_t lane, element; /* element: of those in the lane's registers */
};

struct point {
    const struct uk_map *layout;
    const int64_t *index;
};

static int64_t value_of(const struct uk_var *var, void *point) {
    const struct point *p = point;
    int d = 0;

    while (p->layout->from[d] != var)
        d++;
    return p->index[d];
}

static struct place place_of(const struct uk_lane_map *s, const int64_t *index) {
    struct point p = {s->layout, index};
    struct place at = {0, 0};
    bool overflow = false;

    at.lane = uk_index_eval(s->layout->lane, value_of, &p, &overflow);
    for (int d = 0; d < s->layout->to_count; d++)
        at.element += s->stride[d] * uk_index_eval(s->layout->to[d], value_of, &p, &overflow);
    return at;
}

/* False: the strides of the registers, or their number, are not constant. */
static bool find_spread(const struct uk_intrinsic *i, const struct uk_tensor *t, struct uk_lane_map *s) {
    *s = (struct uk_lane_map){.layout = t->layout, .elements = uk_verify_registers(i, t)};
    for (int d = 0; d < t->stored_dims; d++)
        if (!uk_index_is_int(t->stride[d], &s->stride[d]))
            return false;
    return s->elements;
}

/* ---- checks ---- */

/* Moves to the next element, the last dimension fastest. False: it was the last one. */
static bool advance(const struct uk_tensor *t, int64_t *index) {
    int64_t extent = 0;

    for (int d = t->dims; d-- > 0; index[d] = 0)
        if (uk_index_is_int(t->shape[d], &extent) && ++index[d] < extent)
            return true;
    return false;
}

/* Describes in *why an element in a lane that waves have not, or a number of elements that is not that of the
 * lanes' registers. That no two elements share a register has been checked with the program. */
static void check_places(const struct uk_tensor *t, const struct uk_lane_map *s, int lanes,
                         struct uk_text *why) {
    int64_t index[UK_MAX_DIMS] = {0}, number = 0;

    do {
        const int64_t lane = place_of(s, index).lane;

        number++;
        if (lane >= 0 && lane < lanes)
            continue;
        uk_put(why, "%s", t->name);
        for (int d = 0; d < t->dims; d++)
            uk_put(why, "%s%lld", d ? ", " : "[", (long long)index[d]);
        uk_put(why, "] is in lane %lld, and a wave has %d", (long long)lane, lanes);
        return;
    } while (advance(t, index));
    if (number != lanes * s->elements)
        uk_put(why, "%s has %lld elements, and %d lanes have %lld registers each", t->name, (long long)number,
               lanes, (long long)s->elements);
}

static enum uk_status check_spread(struct uk_context *c, const struct uk_intrinsic *i,
                                   const struct uk_tensor *t, int lanes) {
    struct uk_text why = {0};
    struct uk_lane_map s;
    int64_t extent = 0;
    bool is_constant = find_spread(i, t, &s);

    for (int d = 0; d < t->dims; d++)
        is_constant = is_constant && uk_index_is_int(t->shape[d], &extent) && extent > 0;
    if (!is_constant || t->scope != UK_SCOPE_REGISTER)
        return uk_fail(c, UK_REFUSED, i->at,
                       "%s: %s is spread over the lanes of a wave; declare it `in register`, with constant "
                       "extents and at most %d elements in each lane",
                       i->name, t->name, UK_VERIFY_REGISTERS);
    check_places(t, &s, lanes, &why);
    enum uk_status status =
        why.failed ? uk_out_of_memory(c)
        : why.text ? uk_fail(c, UK_REFUSED, i->at, "%s: %s; give each register of lanes 0 to %d one element",
                             i->name, why.text, lanes - 1)
                   : UK_OK;
    uk_text_free(why.text);
    return status;
}

enum uk_status uk_verify_check_scope(struct uk_context *c, const struct uk_target *target,
                                     const struct uk_intrinsic *i) {
    const int lanes = target->machine.core.device.lanes;
    const bool is_wave = i->scope == UK_EXEC_WAVE;
    enum uk_status s = UK_OK;

    if (i->scope == UK_EXEC_BLOCK)
        return uk_fail(c, UK_UNSUPPORTED, i->at,
                       "%s runs on a whole block of a GPU; only kernels of one thread or one wave can be "
                       "verified",
                       i->name);
    if (is_wave && (!target->arch || !target->arch->is_device || !lanes))
        return uk_fail(c, UK_UNSUPPORTED, i->at,
                       "%s runs on a whole wave of a GPU, and the target %s has none; give a GPU's, as "
                       "--target=amdgcn-gfx90a",
                       i->name, target->name);
    for (const struct uk_tensor *t = i->declaration->tensors; t && !s; t = t->next) {
        const bool is_spread = t->layout && t->layout->lane;

        if (is_spread && !is_wave)
            s = uk_fail(c, UK_REFUSED, i->at,
                        "%s: %s is spread over the lanes of a wave, and the kernel is one thread's; declare "
                        "it with `scope wave`",
                        i->name, t->name);
        else if (is_wave && t->scope == UK_SCOPE_REGISTER && !is_spread)
            s = uk_fail(c, UK_REFUSED, i->at,
                        "%s: %s is in registers of a wave; say by `layout .. -> lane` which lane has an "
                        "element",
                        i->name, t->name);
        else if (is_spread)
            s = check_spread(c, i, t, lanes);
    }
    return s;
}

/* ---- tiles ---- */

bool uk_verify_join_lanes(struct uk_verifier *v) {
    struct uk_arena *a = &v->context->arena;
    int n = 0;

    for (struct uk_tensor *t = v->intrinsic->declaration->tensors; t; t = t->next, n++) {
        struct uk_index *stride = uk_index_int(a, 1);

        if (!t->layout || !t->layout->lane)
            continue;
        find_spread(v->intrinsic, t, &v->spread[n]);
        t->layout = NULL;
        t->stored_dims = t->dims;
        for (int d = t->dims; d-- > 0; stride = uk_index_op(a, UK_I_MUL, stride, t->shape[d])) {
            t->stored[d] = t->shape[d];
            t->stride[d] = stride;
        }
        if (!stride)
            return false;
    }
    return true;
}

int uk_verify_lanes(const struct uk_verifier *v) {
    return v->intrinsic->scope == UK_EXEC_WAVE ? v->device->target->machine.core.device.lanes : 1;
}

void uk_verify_exchange_lanes(struct uk_verifier *v, int n, unsigned char *image, unsigned char *mask,
                              bool back) {
    const struct uk_memory *m = &v->memory[n];
    const size_t bytes = uk_type_bytes(m->tensor->type);
    struct uk_box b;

    if (!uk_box_begin(&b, v, m->tensor, true))
        return;
    do {
        const struct place p = place_of(&v->spread[n], b.index);
        const size_t at = (size_t)(p.lane * v->spread[n].elements + p.element) * bytes;
        unsigned char *tile = m->origin + uk_box_offset(&b) * (int64_t)bytes;

        memcpy(back ? tile : image + at, back ? image + at : tile, bytes);
        if (mask)
            memset(mask + at, 1, bytes);
    } while (uk_box_advance(&b));
}

int uk_verify_put_lane(const struct uk_verifier *v, int n, const int64_t *index, char *text, size_t room) {
    const struct uk_lane_map *s = &v->spread[n];

    if (!s->layout)
        return 0;
    const struct place at = place_of(s, index);

    return snprintf(text, room, " (register %lld of lane %lld)", (long long)at.element, (long long)at.lane);
}
