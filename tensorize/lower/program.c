/* SPDX-License-Identifier: Apache-2.0 */
/* Work that follows from the steps: kernels of copies, initializations, buffers; and the checks at entry of a
 * function. */
#include <isl/set.h>
#include <string.h>
#include "lower.h"

/* Maximum number of conditions that are checked together: the cost doubles with each, as each has
 * alternatives. */
enum { MAX_CONDITIONS = 4 };

/* ---- after the steps ---- */

/* Tensorizes a copy: tries the loops of a panel from the outermost one that a kernel takes. */
static enum uk_status tensorize_copy(struct uk_schedule *s, struct uk_stage *st) {
    struct uk_text *report = s->report, quiet = {0};
    enum uk_status status = UK_NO_MATCH;

    for (int tile = st->prefix; tile < st->loops && status == UK_NO_MATCH; tile++) {
        quiet.length = 0;
        s->report = report ? &quiet : NULL;
        status = uk_apply_tensorize(s, st, tile, "auto", st->statement->at);
        s->report = report;
        if (status == UK_NO_MATCH)
            uk_context_forget(s->context); /* a failed try is not an error */
    }
    if (report && !status)
        uk_put(report, "%s", quiet.text ? quiet.text : "");
    uk_text_free(quiet.text);
    return status == UK_NO_MATCH ? UK_OK : status;
}

bool uk_nest_is_parallel(const struct uk_schedule *s, const struct uk_stage *of) {
    for (const struct uk_stage *st = s->stages; st; st = st->next)
        for (int i = 0; i < st->tile && uk_root_of(st) == uk_root_of(of); i++)
            if (st->loop[i]->kind == UK_LOOP_PARALLEL)
                return true;
    return false;
}

/* A copy inside a parallel loop is private to the thread; outside, its panels are copied in parallel. */
static void place_copy(struct uk_schedule *s, struct uk_stage *st) {
    const struct uk_stage *reader = st->parent ? st->parent : uk_first_reader(st);
    bool inside = false;

    for (int i = 0; i < st->prefix; i++)
        inside |= st->loop[i]->kind == UK_LOOP_PARALLEL;
    if (!inside && st->tile > st->prefix && reader && uk_nest_is_parallel(s, reader))
        st->loop[st->prefix]->kind = UK_LOOP_PARALLEL;
    for (struct uk_buffer *b = s->buffers; b; b = b->next)
        if (b->tensor == st->operand[0].tensor)
            b->per_thread = inside;
}

/* Sums that no kernel initializes are set to their identity before the first loop of the sum, or before the
 * tile. */
static enum uk_status insert_reset(struct uk_schedule *s, struct uk_stage *st) {
    struct uk_stage **at = &s->stages, *reset = uk_reset_stage(s, st);
    int first = st->prefix;

    if (!reset)
        return UK_OUT_OF_MEMORY;
    while (first < st->tile && !uk_is_reduced(st, st->loop[first]))
        first++;
    reset->parent = st;
    reset->attached = 0;
    st->attached++;
    reset->after = false;
    reset->prefix = reset->tile = first;
    for (int i = first; i < reset->loops; i++)
        if (reset->loop[i]->kind == UK_LOOP_PARALLEL || reset->loop[i]->kind == UK_LOOP_THREAD)
            reset->tile = i + 1;
    while (*at != st && (*at)->parent != st)
        at = &(*at)->next;
    reset->next = *at;
    *at = reset;
    return UK_OK;
}

/* True if the stage is elementwise and follows a kernel's tile: its plain loops read the tile from the
 * cache. */
static bool ends_tile(const struct uk_stage *st) {
    const struct uk_stage *root = uk_root_of(st);

    return st->after && (root->match || uk_is_empty(root)) && st->statement->reduce == UK_REDUCE_NONE;
}

/* Uses of each element, with constants counted as sizes: whether a program is refused must not depend on
 * their values. */
static double reuse_of_arguments(const struct uk_schedule *s, const struct uk_stage *copy,
                                 const struct uk_stage *reader) {
    const struct uk_operand *o = &reader->operand[1];
    double reuse = 1;

    while (o->tensor != copy->operand[0].tensor)
        o++;
    for (int i = 0; i < reader->iterators; i++) {
        bool depends = false;

        for (int l = 0; l < reader->loops; l++)
            depends |= reader->iterator[i].coefficient[reader->loop[l]->id] && uk_depends(o, reader->loop[l]);
        reuse *= depends ? 1 : uk_size_of_argument(s, reader->statement->extent[i]);
    }
    for (int i = 0; i < copy->prefix; i++)
        reuse /= uk_depends(&copy->operand[1], copy->loop[i])
                     ? 1
                     : uk_values_estimate(s, copy->parent, copy->loop[i]);
    return reuse;
}

/* True for a copy of few elements compared with the work of its reader. Inside loops that each select a part
 * of the source, all runs together copy the source once. */
static bool is_cheap_copy(const struct uk_schedule *s, const struct uk_stage *st) {
    double copied = 1, all = 1;
    bool once = true;
    const struct uk_stage *user = uk_first_reader(st), *reader = st->parent ? st->parent : user;

    if (!st->is_copy || !user || !reader->match)
        return false;
    for (int i = 0; i < st->prefix; i++) {
        copied *= uk_values_estimate(s, reader, st->loop[i]);
        once &= uk_depends(&st->operand[1], st->loop[i]);
    }
    for (int i = 0; i < st->iterators; i++)
        copied *= uk_size_estimate(s, st->statement->extent[i]);
    for (int d = 0; d < st->operand[1].tensor->dims; d++)
        all *= uk_size_estimate(s, st->operand[1].tensor->shape[d]);
    return uk_is_cheap(s, reader, once && all < copied ? all : copied) ||
           reuse_of_arguments(s, st, user) > UK_CHEAP_REUSE;
}

/* True if GPUs have no kernel for the stage: theirs compute products; everything else is loops of threads. */
static bool has_no_kernels(const struct uk_schedule *s, const struct uk_stage *st) {
    const struct uk_statement *t = st->statement;

    return s->target->arch->is_device &&
           (st->is_copy || t->reduce != UK_REDUCE_SUM || t->right->op != UK_E_MUL);
}

/* Plain loops that no step asks for get a note, or are refused if kernels are required. */
static enum uk_status check_plain(struct uk_schedule *s, const struct uk_stage *st) {
    const char *why = st->is_copy              ? "no kernel packs it"
                      : st->plain_loops_reason ? st->plain_loops_reason
                                               : "no step tensorizes it";

    if (uk_is_empty(st->parent ? st->parent : st))
        return UK_OK;
    if (s->report) {
        uk_put(s->report, "stage %s is compiled as plain loops\n", st->name);
        uk_report_fused(s->target, st->statement->right, s->report);
    }
    if (s->options->plain_loops || s->target->interpreted || has_no_kernels(s, st) || ends_tile(st) ||
        is_cheap_copy(s, st) || st->is_factor_sum || st->is_conversion)
        return UK_OK;
    if (uk_can_use_plain_loops(s))
        return uk_note(s->context, st->statement->at, "%s '%s' is compiled as plain loops: %s",
                       st->is_copy ? "the copy" : "stage", st->name, why);
    return uk_fail(
        s->context, UK_NO_MATCH, st->statement->at,
        st->is_copy ? "the copy '%s' would be compiled as plain loops: %s; pack along another dimension, or "
                      "do not require kernels"
        : s->is_automatic
            ? "stage '%s' would be compiled as plain loops: %s; do not require kernels, or write a schedule"
            : "stage '%s' would be compiled as plain loops: %s; add `tensorize LOOP auto`, leave the "
              "schedule out, or do not require kernels",
        st->name, why);
}

/* The loops of an attached stage do not need isl: their bounds are known, and full tiles get constants. */
static void place_plain(const struct uk_schedule *s, struct uk_stage *st) {
    int last = st->prefix;

    for (int i = st->prefix; i < st->loops; i++)
        if (st->loop[i]->kind == UK_LOOP_PARALLEL || st->loop[i]->kind == UK_LOOP_THREAD)
            last = i + 1;
    for (const struct uk_stage *o = s->stages; o; o = o->next)
        if (o->parent == st && o->prefix > last)
            last = o->prefix;
    st->tile = last;
}

/* The last loop of a copy with a border is split into parts, without isl, together with all loops inside
 * it. */
static void place_row(const struct uk_schedule *s, struct uk_stage *st) {
    const int row = uk_border_loop(st);
    bool whole = st->match || st->tile != st->loops || row < 0;

    for (int i = row; i < st->loops && !whole; i++)
        whole = st->loop[i]->kind == UK_LOOP_PARALLEL;
    for (const struct uk_stage *o = s->stages; o; o = o->next)
        whole |= o->parent == st && o->prefix > row;
    if (!whole)
        st->tile = row;
}

/* Lets copies be made by kernels that pack while they compute, unless a step tensorizes them. */
static enum uk_status fuse_copies(struct uk_schedule *s) {
    for (struct uk_stage *st = s->stages, *next; st; st = next) {
        enum uk_status status = UK_OK;

        next = st->next;
        s->at = st;
        if (st->is_copy && !st->match && st->operand[0].tensor->scope == UK_SCOPE_GLOBAL &&
            !uk_is_constant_pack(st) && (status = uk_fuse_copy(s, st)))
            return status;
    }
    return UK_OK;
}

enum uk_status uk_finish_stages(struct uk_schedule *s) {
    enum uk_status begun = uk_convert_constants(s);

    if (begun || (begun = fuse_copies(s)))
        return begun;
    for (struct uk_stage *st = s->stages; st; st = st->next) {
        s->at = st;
        enum uk_status status = uk_check_vectors(s, st);

        if (!status && uk_is_constant_pack(st)) {
            if (s->report)
                uk_put(s->report, "copy %s: made before, by %s_pack_%s\n", st->name, s->program->name,
                       st->operand[1].tensor->name);
            continue;
        }
        if (!status && st->is_copy && !st->match && st->operand[0].tensor->scope == UK_SCOPE_GLOBAL)
            status = tensorize_copy(s, st);
        if (!status && !st->match && !st->is_reset)
            status = check_plain(s, st);
        if (!status && !st->is_copy && !st->previous && st->statement->reduce != UK_REDUCE_NONE &&
            st->statement->assign == UK_ASSIGN && !(st->match && st->match->begins_sums))
            status = insert_reset(s, st);
        if (status)
            return status;
        if (s->report && st->match && st->match->has_partial_tiles)
            uk_put(s->report, "stage %s: tiles that are smaller than %s takes run as plain loops\n", st->name,
                   st->match->intrinsic->name);
    }
    for (struct uk_stage *st = s->stages; st; st = st->next) {
        enum uk_status status = uk_set_tail(s, st);

        if (status)
            return status;
        if (st->is_copy) {
            place_copy(s, st);
            if (uk_is_block_copy(st))
                st->tile = st->prefix;
            else
                place_row(s, st);
        } else if (st->parent && !st->match && !st->is_reset) {
            place_plain(s, st);
        }
    }
    return UK_OK;
}

/* ---- conditions at entry ---- */

enum uk_status uk_add_check(struct uk_schedule *s, struct uk_function *f, struct uk_index *condition) {
    struct uk_entry_check *c = uk_alloc(s->arena, sizeof *c), **end = &f->checks;
    struct uk_text t = {0};

    uk_print_index(&t, condition);
    const char *text = t.text ? uk_strdup(s->arena, t.text) : NULL;
    uk_text_free(t.text);
    if (!c || !text)
        return uk_out_of_memory(s->context);
    *c = (struct uk_entry_check){.condition = condition, .text = text};
    while (*end)
        end = &(*end)->next;
    *end = c;
    return UK_OK;
}

/* Checks the arguments of the stage's kernels. */
static enum uk_status check_arguments(struct uk_schedule *s, struct uk_stage *st, struct uk_function *f) {
    struct uk_match *own = st->match;
    enum uk_status status = uk_check_arguments(s, st, f);

    if (status || !st->packing)
        return status;
    st->match = st->packing->match;
    status = uk_check_arguments(s, st, f);
    st->match = own;
    return status;
}

/* Checks that each `over` is at least its tensor's extent. */
static enum uk_status check_over(struct uk_schedule *s, struct uk_function *f) {
    enum uk_status status = UK_OK;
    int64_t over, extent;

    for (const struct uk_tensor *t = s->program->tensors; t; t = t->next)
        for (int d = 0; d < t->dims && t->has_over && !status; d++)
            if (!uk_index_is_int(t->over[d], &over) || !uk_index_is_int(t->shape[d], &extent)) {
                if (!uk_index_equal(t->over[d], t->shape[d]))
                    status = uk_add_check(s, f, uk_index_op(s->arena, UK_I_GE, t->over[d], t->shape[d]));
            } else if (over < extent) {
                status = uk_fail(s->context, UK_REFUSED, t->over[d]->at,
                                 "`over` of %s: extent %d is smaller than the shape's; define a larger size",
                                 t->name, d);
            }
    return status;
}

enum uk_status uk_add_checks(struct uk_schedule *s, struct uk_function *f) {
    enum uk_status over = check_over(s, f);

    if (over) {
        s->is_final = true;
        return over;
    }
    for (const struct uk_assume *a = s->program->assumes; a; a = a->next) {
        enum uk_status status = uk_add_check(s, f, a->relation);

        if (status)
            return status;
    }
    for (const struct uk_var *v = s->products; v; v = v->next) {
        struct uk_index *one = uk_index_op(s->arena, UK_I_GE, v->definition, uk_index_int(s->arena, 0));
        enum uk_status status = uk_add_check(s, f, one);

        if (status)
            return status;
    }
    struct uk_index *all = NULL;
    int conditions = 0;
    for (struct uk_stage *st = s->stages; st; st = st->next) {
        struct uk_index *inside = st->inside;
        int64_t always;

        s->at = st;
        enum uk_status status =
            st->is_copy || st->is_reset || inside ? UK_OK : uk_inside_condition(s, st, &inside);
        if (!status)
            status = check_arguments(s, st, f);
        if (status)
            return status;
        if (st->needs && !(inside && uk_index_equal(st->needs, inside)))
            inside = inside ? uk_index_op(s->arena, UK_I_AND, st->needs, inside) : st->needs;
        if (st->is_copy || st->is_reset || (uk_index_is_int(inside, &always) && always))
            continue;
        s->is_final = uk_index_is_int(inside, &always);
        if (s->is_final)
            return uk_fail(s->context, UK_REFUSED, st->statement->at,
                           "stage %s: an access is outside of its tensor for all sizes; correct its "
                           "subscripts, or read it under pad()",
                           st->name);
        if ((status = uk_add_check(s, f, inside)))
            return status;
        all = conditions++ ? uk_index_op(s->arena, UK_I_AND, all, inside) : inside;
    }
    s->is_final = true;
    return conditions > 1 && conditions <= MAX_CONDITIONS ? uk_check_conditions(s, all) : UK_OK;
}

/* ---- the function ---- */

struct uk_index *uk_elements_of(struct uk_arena *a, const struct uk_tensor *t) {
    struct uk_index *n = uk_index_int(a, 1), *one = uk_index_int(a, 1);

    for (int d = 0; d < t->stored_dims; d++) {
        struct uk_index *extent = uk_stored_extent(t, d);

        if (!t->has_strides) {
            n = uk_index_op(a, UK_I_MUL, n, extent);
            continue;
        }
        extent = uk_index_op(a, UK_I_SUB, uk_index_op(a, UK_I_MAX, extent, one), one);
        n = uk_index_op(a, UK_I_ADD, n, uk_index_op(a, UK_I_MUL, extent, t->stride[d]));
    }
    return n;
}

/* True if some stage uses the temp: inlining may have removed all uses. */
static bool is_used(const struct uk_schedule *s, const struct uk_tensor *t) {
    for (const struct uk_stage *st = s->stages; st; st = st->next)
        for (int o = 0; o < st->operands; o++)
            if (uk_memory_of(&st->operand[o]) == t)
                return true;
    return false;
}

enum uk_status uk_add_temps(struct uk_schedule *s) {
    for (struct uk_tensor *t = s->program->tensors; t; t = t->next) {
        if (t->kind != UK_TENSOR_TEMP || !is_used(s, t))
            continue;
        struct uk_buffer *b = uk_alloc(s->arena, sizeof *b);
        struct uk_index *elements = uk_elements_of(s->arena, t);

        if (!b || !elements)
            return uk_out_of_memory(s->context);
        *b = (struct uk_buffer){.tensor = t, .elements = elements, .next = s->buffers};
        s->buffers = b;
    }
    return UK_OK;
}

void uk_list_intrinsic(struct uk_function *f, struct uk_intrinsic *intrinsic) {
    for (int i = 0; i < f->intrinsics; i++)
        if (f->intrinsic[i] == intrinsic)
            return;
    f->intrinsic[f->intrinsics++] = intrinsic;
}

/* Lists the kernels in use; a stage has at most three. */
enum uk_status uk_list_intrinsics(struct uk_schedule *s, struct uk_function *f) {
    int stages = 0;

    for (const struct uk_stage *st = s->stages; st; st = st->next)
        stages++;
    f->intrinsic = uk_alloc(s->arena, sizeof(struct uk_intrinsic *) * (size_t)(3 * stages + 1));
    if (!f->intrinsic)
        return uk_out_of_memory(s->context);
    for (const struct uk_stage *st = s->stages; st; st = st->next) {
        if (st->match)
            uk_list_intrinsic(f, st->match->intrinsic);
        if (st->packing)
            uk_list_intrinsic(f, st->packing->match->intrinsic);
        if (st->tail)
            uk_list_intrinsic(f, st->tail->intrinsic);
    }
    return UK_OK;
}
