/* SPDX-License-Identifier: Apache-2.0 */
/* Automatic steps that replace a sum by parts: multiply_out, and widen with the places of its conversions. */
#include <math.h>
#include "costing.h"
#include "stage.h"
#include "steps.h"

/* A step that makes parts of a stage. */
struct rewriting {
    enum uk_step_kind step;
    enum uk_status (*make)(struct uk_schedule *s, const struct uk_stage *st, struct uk_position at,
                           struct uk_parts *out);
    int after; /* number of parts after the sum of products; they are elementwise, as what follows either form
                */
    const char *what;
};

static const struct rewriting rewritings[] = {
    {UK_STEP_MULTIPLY_OUT, uk_multiply_out, 1, "its differences are multiplied out"},
    {UK_STEP_WIDEN, uk_widen_factors, 0, "its factors are converted to f32 first"},
};

/* Cycles of a part before the products: plain loops, and storing and reading what half of L2 does not hold.
 * Conversions run in blocks that L2 holds (uk_place_conversion), or when a constant is packed, for which no
 * cycles count. */
static double cycles_before(const struct uk_schedule *s, const struct uk_stage *st) {
    const struct uk_machine *m = &s->target->machine;
    const struct uk_tensor *x = st->operand[0].tensor;
    const double bytes = uk_elements(s, x) * (double)uk_type_bytes(x->type);

    if (x->is_constant)
        return 0;
    if (bytes <= (double)m->cache[UK_L2].size / 2 || st->is_conversion)
        return uk_plain_cycles(s, st);
    return uk_plain_cycles(s, st) + 2 * bytes / m->cache[UK_LLC].bytes;
}

/* Cycles of the kernel of the products, and of the parts before. Infinite: no kernel computes the products.
 */
static enum uk_status cycles_of_parts(struct uk_schedule *s, const struct uk_parts *made, int after,
                                      double *cycles) {
    struct uk_kernel_plan plan = {0};
    struct uk_stage *product = made->part[made->count - 1 - after];

    *cycles = HUGE_VAL;
    if (uk_is_as_written(s, product->name))
        return UK_OK;
    const enum uk_status status = uk_best_plan(s, product, &plan);
    if (status || !plan.fit.intrinsic)
        return status;
    *cycles = plan.cycles;
    for (int i = 0; made->part[i] != product; i++)
        *cycles += cycles_before(s, made->part[i]);
    return UK_OK;
}

static enum uk_status apply(struct uk_schedule *s, struct uk_stage *st, const struct rewriting *r) {
    if (s->report)
        uk_put(s->report, "stage %s: %s\n", st->name, r->what);
    return uk_apply_one(s, uk_step_of(s, r->step, st));
}

/* Applies the step if it saves time. The parts made here serve the estimate alone. */
static enum uk_status rewrite(struct uk_schedule *s, struct uk_stage *st, const struct rewriting *r) {
    struct uk_buffer *const buffers = s->buffers;
    struct uk_parts made;
    struct uk_kernel_plan plan = {0};
    double cycles;
    enum uk_status status = r->make(s, st, st->statement->at, &made);

    if (status == UK_REFUSED || status == UK_UNSUPPORTED)
        return uk_context_forget(s->context), UK_OK;
    if (status || (status = uk_best_plan(s, st, &plan)) ||
        (status = cycles_of_parts(s, &made, r->after, &cycles)))
        return status;
    uk_forget_parts(s, &made, buffers);
    const double written = plan.fit.intrinsic          ? plan.cycles
                           : uk_can_use_plain_loops(s) ? uk_plain_cycles(s, st)
                                                       : HUGE_VAL;

    return cycles < written ? apply(s, st, r) : UK_OK;
}

enum uk_status uk_replace_sums(struct uk_schedule *s) {
    enum uk_status status = UK_OK;

    for (struct uk_stage *st = s->stages, *next; st && !status; st = next) {
        next = st->next;
        if (st->statement->reduce != UK_REDUCE_SUM || uk_is_empty(st) || uk_is_as_written(s, st->name))
            continue;
        for (size_t i = 0; i < sizeof rewritings / sizeof *rewritings && !status && !st->is_gone; i++)
            status = rewrite(s, st, &rewritings[i]);
    }
    return status;
}

bool uk_is_converted_in_copy(const struct uk_schedule *s, const struct uk_stage *st) {
    const struct uk_stage *reader = uk_only_reader(s, st);

    return st->operand[0].tensor->is_constant && reader && reader->is_copy && !reader->prefix;
}

/* The number of outer loops of the reader each of which selects other elements of the tensor t: inside them
 * no element is read again. A copy is made in the loops that it shares. */
static int loops_of_blocks(const struct uk_stage *reader, const struct uk_tensor *t) {
    int o = 1, n = 0;

    if (reader->is_copy)
        return reader->prefix;
    while (reader->operand[o].tensor != t)
        o++;
    while (n < reader->tile && uk_depends(&reader->operand[o], reader->loop[n]))
        n++;
    return n;
}

enum uk_status uk_place_conversion(struct uk_schedule *s, struct uk_stage *st) {
    const struct uk_tensor *t = st->operand[0].tensor;
    const struct uk_stage *reader = uk_only_reader(s, st);
    const int loops = reader ? loops_of_blocks(reader, t) : 0;
    bool done;

    if (t->is_constant || !loops || uk_is_as_written(s, st->name))
        return UK_OK;
    struct uk_stage *at = reader->is_copy ? reader->parent : (struct uk_stage *)reader;
    struct uk_step *step = uk_step_on(s, UK_STEP_COMPUTE_AT, at, &at->loop[loops - 1], 1);
    if (step)
        step->subject = st->name;
    return uk_try_step(s, step, &done);
}
