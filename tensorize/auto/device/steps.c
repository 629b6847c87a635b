/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of the automatic schedules for GPUs. */
#include "device.h"
#include "auto/stage.h"
#include "auto/steps.h"

static enum uk_status name_step(struct uk_schedule *s, struct uk_step *step, const char *base,
                                const char *first, const char *second) {
    if (!step || !(step->name = uk_alloc(s->arena, 2 * sizeof *step->name)))
        return uk_out_of_memory(s->context);
    step->names = second ? 2 : 1;
    step->name[0] = uk_fresh_name(s, base, first);
    step->name[1] = second ? uk_fresh_name(s, base, second) : NULL;
    return step->name[0] && (step->name[1] || !second) ? UK_OK : uk_out_of_memory(s->context);
}

enum uk_status uk_device_split(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **l, int64_t factor,
                               const char *outer_suffix, const char *inner_suffix, struct uk_loop **outer) {
    struct uk_step *step = uk_step_on(s, UK_STEP_SPLIT, st, l, 1);
    const int at = uk_loop_position(st, *l);
    enum uk_status status =
        name_step(s, step, st->statement->iterator[(*l)->iterator]->name, outer_suffix, inner_suffix);

    if (status)
        return status;
    step->number[0] = factor;
    if ((status = uk_apply_one(s, step)))
        return status;
    *outer = st->loop[at];
    *l = st->loop[at + 1];
    return UK_OK;
}

enum uk_status uk_device_rfactor(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *l,
                                 const char *name) {
    struct uk_step *step = uk_step_on(s, UK_STEP_RFACTOR, st, &l, 1);

    if (!step || !name || !(step->name = uk_alloc(s->arena, sizeof *step->name)))
        return uk_out_of_memory(s->context);
    step->names = 1;
    step->name[0] = name;
    return uk_apply_one(s, step);
}

enum uk_status uk_device_order(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *const *order,
                               int n) {
    bool same = true;

    for (int i = 0; i < n; i++)
        same &= st->loop[st->loops - n + i] == order[i];
    return same ? UK_OK : uk_apply_one(s, uk_step_on(s, UK_STEP_REORDER, st, order, n));
}

enum uk_status uk_device_bind(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *l, const char *kind,
                              int axis) {
    struct uk_step *step = uk_step_on(s, UK_STEP_BIND, st, &l, 1);

    if (!step)
        return uk_out_of_memory(s->context);
    step->axis = uk_format(s->arena, "%s.%c", kind, 'x' + axis);
    return step->axis ? uk_apply_one(s, step) : uk_out_of_memory(s->context);
}

enum uk_status uk_device_bind_blocks(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *const *loop,
                                     int n) {
    enum uk_status status = UK_OK;
    int most = 0, others = 0;

    for (int i = 1; i < n; i++)
        if (uk_values_estimate(s, st, loop[i]) > uk_values_estimate(s, st, loop[most]))
            most = i;
    for (int i = n; i-- > 0 && !status;) {
        const bool is_x = i == most || others == UK_AXES - 1;

        status = uk_device_bind(s, st, loop[i], "block", is_x ? 0 : ++others);
    }
    return status;
}

enum uk_status uk_device_keep_in_registers(struct uk_schedule *s, struct uk_stage *st,
                                           const struct uk_loop *place) {
    struct uk_loop *l = (struct uk_loop *)place;
    struct uk_step *step = uk_step_on(s, UK_STEP_CACHE_WRITE, st, &l, 1);
    enum uk_status status = name_step(s, step, st->operand[0].tensor->name, "_kept", NULL);

    if (status)
        return status;
    step->subject = st->operand[0].tensor->name;
    step->has_scope = true;
    step->scope = UK_SCOPE_REGISTER;
    return uk_apply_one(s, step);
}

struct uk_step *uk_device_copy(struct uk_schedule *s, struct uk_stage *st, struct uk_loop *place, int operand,
                               enum uk_scope scope, const char *suffix) {
    struct uk_step *step = uk_step_on(s, UK_STEP_CACHE_READ, st, &place, 1);

    if (!step || !(step->name = uk_alloc(s->arena, sizeof *step->name)))
        return NULL;
    step->subject = st->operand[operand].tensor->name;
    step->has_scope = true;
    step->scope = scope;
    step->names = 1;
    step->name[0] = uk_fresh_name(s, step->subject, suffix);
    uk_name_access(st, operand, step);
    return step->name[0] ? step : NULL;
}

enum uk_status uk_device_attach_reader(struct uk_schedule *s, struct uk_stage *st,
                                       const struct uk_loop *place) {
    struct uk_loop *l = (struct uk_loop *)place;
    struct uk_stage *e = uk_only_reader(s, st);
    struct uk_step *step = uk_step_on(s, UK_STEP_REVERSE_COMPUTE_AT, st, &l, 1);
    bool done;

    if (!e || !uk_is_elementwise(e) || e->parent)
        return UK_OK;
    if (step)
        step->subject = e->name;
    return uk_try_step(s, step, &done);
}

bool uk_device_is_free(const struct uk_stage *st, int position) {
    const struct uk_loop *l = st->loop[position];

    return position >= st->prefix && !uk_is_reduced(st, l) && !(st->previous && l->iterator == st->scanned);
}

bool uk_device_is_contiguous(const struct uk_operand *o, const struct uk_loop *l) {
    const struct uk_poly step = uk_coefficient(o, l->id);
    int64_t n;

    for (int d = 0; o->tensor->im2col && d < o->tensor->dims; d++)
        if (o->index[d].coefficient[l->id])
            return o->index[d].coefficient[l->id] == 1 && uk_im2col_is_contiguous(o->tensor, d);
    return uk_poly_is_int(&step, &n) && n == 1;
}

int64_t uk_power_of_two_above(double n) {
    int64_t p = 1;

    while ((double)p < n && p < INT64_MAX / 2)
        p *= 2;
    return p;
}
