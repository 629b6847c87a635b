/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions as products: a product's operand that is read in windows, with strides or with a border
 * becomes a matrix by step `im2col`, whose rows are pixels. The loops of the sum become one, in the order in
 * which the other operand is stored; those over pixels are fused with the product's rows.
 */
#include "product.h"
#include "auto/stage.h"
#include "auto/steps.h"

bool uk_device_is_window(const struct uk_stage *st, int o) {
    const struct uk_operand *x = &st->operand[o];
    bool window = x->pad != UK_PAD_NONE;

    for (int d = 0; d < x->tensor->dims; d++)
        window |= x->expr->access.index[d]->op != UK_I_VAR && x->expr->access.index[d]->op != UK_I_INT;
    return window;
}

/* True if the matrix's elements can be found: indices are linear, the extents of all iterators but the first
 * are constants, and zeros may stand for the border. */
static bool may_be_matrix(const struct uk_stage *st, int o) {
    const struct uk_operand *x = &st->operand[o];
    int iterators = 0;

    for (int d = 0; d < x->tensor->dims; d++)
        if (x->index[d].general)
            return false;
    if (x->tensor->layout || uk_is_gathered(x) || st->parent || st->inside || st->statement->where ||
        (x->pad == UK_PAD_GUARD && !uk_may_store_zeros(st, o)))
        return false;
    for (int i = 0; i < st->loops; i++) {
        const struct uk_var *v = st->statement->iterator[st->loop[i]->iterator];
        bool is_used = false;

        for (int d = 0; d < x->tensor->dims; d++)
            is_used |= uk_mentions(x->expr->access.index[d], v);
        if (is_used && iterators++ && uk_constant_extent(st, st->loop[i]) < 1)
            return false;
    }
    return iterators <= UK_MAX_DIMS;
}

/* Puts the loops of the sum last, those with the largest steps in the other operand first. */
static enum uk_status order_sum(struct uk_schedule *s, struct uk_stage *st, int other) {
    struct uk_loop *order[UK_MAX_LOOPS];
    int64_t step[UK_MAX_LOOPS] = {0};
    int n = 0, first;

    for (int i = st->prefix; i < st->loops; i++)
        if (!uk_is_reduced(st, st->loop[i]))
            order[n++] = st->loop[i];
    first = n;
    for (int i = st->prefix; i < st->loops; i++) {
        const struct uk_poly c = uk_coefficient(&st->operand[other], st->loop[i]->id);
        int64_t here;
        int k = n;

        if (!uk_is_reduced(st, st->loop[i]))
            continue;
        if (!uk_poly_is_int(&c, &here))
            here = 0;
        for (n++; k > first && step[k - 1] < here; k--) {
            order[k] = order[k - 1];
            step[k] = step[k - 1];
        }
        order[k] = st->loop[i];
        step[k] = here;
    }
    return uk_device_order(s, st, order, n);
}

static enum uk_status make_matrix(struct uk_schedule *s, struct uk_stage *st, int o) {
    struct uk_step *step = uk_step_on(s, UK_STEP_IM2COL, st, NULL, 0);

    if (!step || !(step->name = uk_alloc(s->arena, sizeof *step->name)))
        return uk_out_of_memory(s->context);
    step->subject = st->operand[o].tensor->name;
    step->loops = step->names = 1;
    step->loop[0] = (struct uk_loop_name){.stage = st->name, .loop = "root", .at = step->at};
    step->name[0] = uk_fresh_name(s, step->subject, "_rows");
    uk_name_access(st, o, step);
    return step->name[0] ? uk_apply_one(s, step) : uk_out_of_memory(s->context);
}

enum uk_status uk_device_im2col(struct uk_schedule *s, struct uk_stage *st, int a, int b) {
    const int window = uk_device_is_window(st, a) ? a : b;
    enum uk_status status;

    if (!uk_device_is_window(st, window) || uk_device_is_window(st, a + b - window) ||
        !may_be_matrix(st, window) || uk_refusal(s, st->name, UK_DRAFT_IM2COL))
        return UK_OK;
    if ((status = uk_begin_draft(s, st, UK_DRAFT_IM2COL)) || (status = order_sum(s, st, a + b - window)) ||
        (status = make_matrix(s, st, window)))
        return status;
    for (int i = st->loops - 2; i >= st->prefix; i--)
        if (uk_is_reduced(st, st->loop[i]) && uk_is_reduced(st, st->loop[i + 1]) &&
            uk_fuse_is_view(s, st, i) && (status = uk_fuse_loop_pair(s, st, i)))
            return status;
    return UK_OK;
}
