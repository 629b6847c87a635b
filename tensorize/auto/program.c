/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules a program without steps: multiplies out differences, converts factors, inlines elementwise stages
 * into their only reader, gives the others a kernel and tiles, and computes elementwise stages that follow a
 * sum tile by tile, as soon as a tile is complete.
 */
#include <math.h>
#include <string.h>
#include "registry/operation.h"
#include "stage.h"
#include "steps.h"

/* Inlines bias, activation and similar stages into one expression. Nothing is inlined into a sum, since
 * kernels read their operands from memory. */
enum uk_status uk_inline_stages(struct uk_schedule *s) {
    for (struct uk_stage *st = s->stages, *next; st; st = next) {
        const struct uk_stage *reader = uk_is_elementwise(st) ? uk_only_reader(s, st) : NULL;
        bool done;

        next = st->next;
        if (!reader || !uk_is_elementwise(reader) || uk_is_as_written(s, st->name) ||
            uk_is_as_written(s, reader->name))
            continue;
        enum uk_status status = uk_try_step(s, uk_step_of(s, UK_STEP_COMPUTE_INLINE, st), &done);
        if (status)
            return status;
    }
    return UK_OK;
}

/* ---- fusion of rows ---- */

/* Sets the list in_group: st and the elementwise stages that read its output, directly or through others, and
 * can run tile by tile. */
static void find_group(const struct uk_schedule *s, struct uk_stage *st) {
    struct uk_stage *last = st;

    st->in_group = NULL;
    for (struct uk_stage *e = st->next; e; e = e->next) {
        bool follows = false;

        if (e->parent || e->match || !uk_is_elementwise(e) || uk_is_as_written(s, e->name))
            continue;
        for (const struct uk_stage *g = st; g && !follows; g = g->in_group)
            follows = uk_reads(e, g->operand[0].tensor);
        if (!follows)
            continue;
        e->in_group = NULL;
        last->in_group = e;
        last = e;
    }
}

/* The position of the only loop in the index of dimension d of the stage's output; -1: there is none. */
static int loop_of_dimension(const struct uk_stage *st, int d) {
    const struct uk_affine *f = &st->operand[0].index[d];
    int found = -1;

    for (int i = 0; i < st->loops; i++) {
        int64_t c = f->coefficient[st->loop[i]->id];

        if (c && (c != 1 || found >= 0))
            return -1;
        found = c ? i : found;
    }
    return f->general ? -1 : found;
}

static bool can_fuse(struct uk_schedule *s, struct uk_stage *st, int d, int e) {
    int position = loop_of_dimension(st, d), next = loop_of_dimension(st, e);

    return position >= 0 && next == position + 1 && uk_fuse_is_view(s, st, position);
}

/* True if the stage has one loop for both dimensions already, because it was fused with another sum's group.
 */
static bool is_fused(const struct uk_stage *st, int d, int e) {
    const struct uk_affine *f = &st->operand[0].index[d];
    int64_t zero = 0;

    for (int i = 0; i < st->loops; i++)
        if (f->coefficient[st->loop[i]->id])
            return false;
    return !f->general && (!f->rest || (uk_index_is_int(f->rest, &zero) && !zero)) &&
           loop_of_dimension(st, e) >= 0;
}

enum uk_status uk_fuse_rows(struct uk_schedule *s, struct uk_stage *st) {
    int inner = st->operand[0].tensor->dims - 1;

    if (st->statement->reduce == UK_REDUCE_NONE || !inner)
        return UK_OK;
    find_group(s, st);
    for (int d = inner - 1; d >= 0; d--) {
        bool all = true;

        for (struct uk_stage *g = st; g && all; g = g->in_group)
            all = g->operand[0].tensor->dims > inner &&
                  (can_fuse(s, g, d, inner) || (g != st && is_fused(g, d, inner)));
        if (!all) {
            inner = d;
            continue;
        }
        for (struct uk_stage *g = st; g; g = g->in_group) {
            enum uk_status status =
                is_fused(g, d, inner) ? UK_OK : uk_fuse_loop_pair(s, g, loop_of_dimension(g, d));

            if (status)
                return status;
        }
    }
    return UK_OK;
}

/* ---- stages after a tile ---- */

/* The output's last dimension that only loops of the tile and those outside of a row of tiles index:
 * dimensions behind it are groups and columns. */
static int dimension_of_rows(const struct uk_stage *st) {
    const struct uk_operand *y = &st->operand[0];
    int rows = -1;

    for (int i = st->tile; i < st->loops; i++)
        for (int d = rows + 1; d < y->tensor->dims - 1; d++)
            rows = !y->index[d].general && y->index[d].coefficient[st->loop[i]->id] ? d : rows;
    return rows;
}

/* True if the loop selects groups or columns. */
static bool is_in_row(const struct uk_stage *st, const struct uk_loop *l) {
    const struct uk_operand *y = &st->operand[0];
    const int rows = dimension_of_rows(st);
    bool any = false;

    for (int d = 0; d < y->tensor->dims; d++) {
        if (y->index[d].general || (d <= rows && y->index[d].coefficient[l->id]))
            return false;
        any |= y->index[d].coefficient[l->id] > 0;
    }
    return any && rows >= 0 && l->kind == UK_LOOP_SERIAL;
}

/* Bytes of output that a row of tiles writes inside the loops from `position` on. */
static double bytes_of_row(const struct uk_schedule *s, const struct uk_stage *st, int position) {
    const struct uk_operand *y = &st->operand[0];
    const struct uk_affine *last = &y->index[y->tensor->dims - 1];
    double width = uk_size_estimate(s, y->tensor->shape[y->tensor->dims - 1]), rows = 1;

    for (int i = 0; i < position; i++) {
        double block = (double)last->coefficient[st->loop[i]->id];

        width = block > 0 && block < width ? block : width;
    }
    for (int d = dimension_of_rows(st) + 1; d < y->tensor->dims - 1; d++)
        width *= uk_size_estimate(s, y->tensor->shape[d]);
    for (int i = st->tile; i < st->loops; i++)
        rows *= uk_depends(y, st->loop[i]) && !last->coefficient[st->loop[i]->id]
                    ? uk_values_estimate(s, st, st->loop[i])
                    : 1;
    return rows * width * (double)uk_type_bytes(y->tensor->type);
}

/* True on targets without vectors for a small tile of a kernel in C: it can stay in registers
 * (codegen/work.c), if the next stage runs immediately after it. */
static bool is_variable(const struct uk_schedule *s, const struct uk_stage *st) {
    const struct uk_match *m = st->match;
    int64_t bytes = (int64_t)uk_type_bytes(st->operand[0].tensor->type);

    if (!m->intrinsic->row || !strncmp(uk_kernel_impl(m->intrinsic->row), "asm", 3) ||
        s->target->vectors.bytes >= 16 || s->options->threads > 1)
        return false;
    for (int v = 0; v < m->axes; v++)
        if (m->axis[v] && !uk_is_reduced(st, m->axis[v]) &&
            (m->max_extent[v] <= 0 || __builtin_mul_overflow(bytes, m->max_extent[v], &bytes)))
            return false;
    return bytes <= UK_VARIABLE_BYTES;
}

/* True if a tile has rows of pixels with many channels: the next stage then loads the values of a channel
 * once for all of them. */
static bool is_row_of_pixels(const struct uk_stage *st) {
    const struct uk_kernel *row = st->match->intrinsic->row;

    return row && (uk_kernel_operation(row)->form == UK_OP_DEPTHWISE_CHANNELS ||
                   uk_kernel_operation(row)->form == UK_OP_DEPTHWISE_TILE);
}

/*
 * The number of loops that the stages after the tiles share with them.
 *
 * Without vectors they run after each tile: values per column, a bias and a scale, stay in registers for all
 * rows, and such a core does not execute ahead of a store anyway. With vectors they run after a row of tiles,
 * because stored sums can only be read when the tile's last ones are complete, and the next tile would wait
 * meanwhile; if the row is at most twice the first-level cache (measured).
 */
static int shared_loops(const struct uk_schedule *s, const struct uk_stage *st) {
    const struct uk_operand *y = &st->operand[0];
    int columns = st->tile, last = y->tensor->dims - 1;

    /* a stage without a kernel has no sums to wait for */
    if (!st->match)
        return st->loops && !uk_is_reduced(st, st->loop[0]);
    if (columns < 2 || last < 1 || s->target->vectors.bytes < 16 || y->tensor->layout ||
        y->index[last].general || is_variable(s, st) || is_row_of_pixels(st))
        return st->tile;
    while (columns > 1 && is_in_row(st, st->loop[columns - 1]))
        columns--;
    const struct uk_loop *outer = st->loop[columns - 1];
    if (columns == st->tile || uk_is_reduced(st, outer) || !uk_depends(y, outer) ||
        y->index[last].coefficient[outer->id])
        return st->tile;
    return bytes_of_row(s, st, columns) <= 2 * (double)s->target->machine.core.l1.size ? columns : st->tile;
}

/* Computes stage e inside the first `prefix` loops of st, after the others, if that is legal. */
static enum uk_status attach(struct uk_schedule *s, struct uk_stage *st, int prefix, struct uk_stage *e,
                             const char *draft, bool *done) {
    struct uk_step *step = uk_step_on(s, UK_STEP_REVERSE_COMPUTE_AT, st, &st->loop[prefix - 1], 1);

    if (step)
        step->subject = e->name;
    enum uk_status status = uk_try_step(s, step, done);
    if (status || !*done)
        return status;
    /* a refusal counts against the draft of st */
    e->draft = NULL;
    if ((status = uk_begin_draft(s, st, draft)))
        return status;
    if (s->report)
        uk_put(s->report, "stage %s: computed after each %s of %s\n", e->name,
               !st->match          ? "row"
               : prefix < st->tile ? "row of tiles"
                                   : "tile",
               st->name);
    return UK_OK;
}

/* The draft's name if readers are attached to the stage; NULL: out of memory. */
static const char *followed_draft(struct uk_schedule *s, const struct uk_stage *st) {
    static const char end[] = ", with elementwise stages attached";
    const char *draft = st->draft ? st->draft->name : UK_DRAFT_AS_WRITTEN;

    return strstr(draft, end) ? draft : uk_format(s->arena, "%s%s", draft, end);
}

/* Attaches the elementwise stages that read the output of st, directly or not, to run after its tiles or
 * rows. */
static enum uk_status attach_readers(struct uk_schedule *s, struct uk_stage *st) {
    const char *draft = followed_draft(s, st);

    if (!draft)
        return uk_out_of_memory(s->context);
    if (uk_refusal(s, st->name, draft))
        return UK_OK;
    for (struct uk_stage *e = st->next; e; e = e->next) {
        bool follows = uk_reads(e, st->operand[0].tensor), done;
        int prefix = st->match || uk_is_empty(st) ? shared_loops(s, st) : uk_loops_of_row(s, st, e);

        for (const struct uk_stage *o = s->stages; o; o = o->next)
            if (o->parent == st && o->after && uk_reads(e, o->operand[0].tensor)) {
                follows = true;
                prefix = o->prefix < prefix ? o->prefix : prefix;
            }
        if (!follows || e->parent || e->match || !uk_is_elementwise(e) || !prefix ||
            uk_is_as_written(s, e->name))
            continue;
        enum uk_status status = attach(s, st, prefix, e, draft, &done);
        if (status)
            return status;
    }
    return UK_OK;
}

/* Attaches a sum that no kernel computes to the nest before it, if that is legal. */
static enum uk_status join_nest(struct uk_schedule *s, struct uk_stage *st, bool *done) {
    struct uk_stage *before = uk_preceding_sum(s, st);
    const char *draft = before ? followed_draft(s, before) : NULL;
    bool fits = st->match;
    enum uk_status status = UK_OK;

    *done = false;
    if (!before)
        return UK_OK;
    if (!draft)
        return uk_out_of_memory(s->context);
    if (uk_refusal(s, before->name, draft) || (status = uk_is_computed_by_kernel(s, st, &fits)) || fits)
        return status;
    status = attach(s, before, uk_loops_of_row(s, before, st), st, draft, done);
    if (status || !*done || (status = attach_readers(s, before)))
        return status;
    return uk_order_sum(s, st);
}

/* Schedules a sum that no kernel computes and that joins no earlier nest. */
static enum uk_status schedule_sum(struct uk_schedule *s, struct uk_stage *st) {
    enum uk_status status = uk_order_sum(s, st);

    return status ? status : attach_readers(s, st);
}

/* The stage's kernel; conversions may be plain loops even if kernels are required. */
static enum uk_status auto_stage(struct uk_schedule *s, struct uk_stage *st) {
    const enum uk_status status = uk_auto_stage(s, st);

    if (!st->is_conversion || status != UK_NO_MATCH)
        return status;
    s->is_final = false;
    uk_context_forget(s->context);
    return UK_OK;
}

static enum uk_status schedule_nest(struct uk_schedule *s, struct uk_stage *st) {
    enum uk_status status = uk_begin_draft(s, st, UK_DRAFT_ROWS);

    if (status)
        return status;
    if (uk_is_as_written(s, st->name)) {
        st->plain_loops_reason = uk_reason_as_written(s, st->name);
        return UK_OK;
    }
    if (st->is_factor_sum)
        return uk_order_sum(s, st);
    const bool sums = st->statement->reduce != UK_REDUCE_NONE && !uk_is_empty(st);
    bool done = false;
    if ((sums && ((status = join_nest(s, st, &done)) || done)) ||
        (!uk_refusal(s, st->name, UK_DRAFT_ROWS) && (status = uk_fuse_rows(s, st))) ||
        (status = auto_stage(s, st)))
        return status;
    if (sums && !st->match && ((status = join_nest(s, st, &done)) || done))
        return status;
    return sums && !st->match             ? schedule_sum(s, st)
           : st->match || uk_is_empty(st) ? attach_readers(s, st)
                                          : UK_OK;
}

enum uk_status uk_auto_schedule(struct uk_schedule *s) {
    s->is_automatic = true;
    enum uk_status status = uk_replace_sums(s);
    if (!status)
        status = uk_inline_stages(s);
    for (struct uk_stage *st = s->stages; st && !status; st = st->next)
        if (!st->parent && !st->match && !st->is_conversion)
            status = schedule_nest(s, st);
    for (struct uk_stage *st = s->stages; st && !status; st = st->next)
        if (st->is_conversion && !uk_is_converted_in_copy(s, st) && !(status = uk_place_conversion(s, st)))
            status = schedule_nest(s, st);
    return status;
}
