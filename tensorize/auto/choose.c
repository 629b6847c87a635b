/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the cheapest kernel for a stage: plans the stage with each candidate, and reports them. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include "registry/operation.h"
#include "stage.h"
#include "copies.h"
#include "tiling.h"
#include "costing.h"

enum { MOST_TILES = 32 };

/* True if the kernel's tile would be mostly padding, so that plain loops, if allowed, are faster. */
static bool is_wasted(const struct uk_schedule *s, const struct uk_stage *st,
                      const struct uk_kernel_plan *p) {
    return p->fit.units && p->fit.intrinsic->row && uk_can_use_plain_loops(s) &&
           p->cycles > uk_plain_cycles(s, st);
}

static void add_fit(struct uk_schedule *s, const struct uk_stage *st, const struct uk_kernel_plan *p,
                    struct uk_reasons *reasons) {
    struct uk_text t = {0};

    if (!p->fit.intrinsic->row)
        uk_put(&t, "fits, and is the program's own");
    else
        uk_put(&t, "fits, about %.3g cycles", p->cycles);
    for (int o = 1; o < st->operands && p->fit.intrinsic->row; o++)
        if (p->fit.panel[o].width)
            uk_put(&t, ", with %s packed", st->operand[o].tensor->name);
    if (p->is_packed_by_loops)
        uk_put(&t, " by plain loops");
    uk_reason_add(s, reasons, p->fit.intrinsic->name, t.text, true,
                  p->is_packed_by_loops ? DBL_MAX : p->cycles);
    uk_text_free(t.text);
}

/* The cycles by which plans are compared. The panels of constants are the same for all sizes, so that a plan
 * should lose little at any: the geometric mean of the cycles at usual sizes and at the least ones. */
static double cycles_at_all(const struct uk_kernel_plan *p) {
    return p->at_least > 0 ? sqrt(p->cycles * p->at_least) : p->cycles;
}

/* True if kernel p of the same operation and tile as `first` is not worth considering: it is not faster by
 * AUTO_MARGIN. A kernel in generic C and a native one are never compared. */
static bool can_replace(const struct uk_kernel_plan *first, const struct uk_kernel_plan *p) {
    const struct uk_kernel *x = first->fit.intrinsic ? first->fit.intrinsic->row : NULL,
                           *y = p->fit.intrinsic->row;

    return x && y && !strcmp(uk_kernel_op(x), uk_kernel_op(y)) && uk_kernel_mr(x) == uk_kernel_mr(y) &&
           uk_kernel_nr(x) == uk_kernel_nr(y) && first->is_packed_by_loops == p->is_packed_by_loops &&
           !strcmp(uk_kernel_arch(x), "any") == !strcmp(uk_kernel_arch(y), "any") &&
           cycles_at_all(p) >= cycles_at_all(first) * (1 - AUTO_MARGIN);
}

int uk_packed_constants(const struct uk_stage *st, const struct uk_fit *f) {
    int n = 0;

    for (int o = 1; o < st->operands; o++)
        n += f->panel[o].width && st->operand[o].tensor->is_constant;
    return n;
}

/* True if kernel x sums all terms of a depthwise window in registers, and y one column after the other. */
static bool sums_windows(const struct uk_kernel *x, const struct uk_kernel *y) {
    return x && y && uk_kernel_operation(x)->form == UK_OP_DEPTHWISE_TILE &&
           uk_kernel_operation(y)->form == UK_OP_DEPTHWISE;
}

/* Sets the cycles at the least sizes. */
static void estimate_at_least(struct uk_schedule *s, const struct uk_stage *st, bool by_first_tile,
                              struct uk_kernel_plan *p) {
    bool reads_constant = false;

    for (int o = 1; o < st->operands; o++)
        reads_constant |= st->operand[o].tensor->is_constant;
    s->at_least = reads_constant;
    p->at_least = reads_constant ? uk_estimate(s, st, &p->fit, by_first_tile) : 0;
    s->at_least = false;
}

/* True if p takes fewer cycles, or not many more and is preferred: with more constants in panels, which take
 * no time here and are read line after line whatever the sizes are; or in one call for all rows, which enters
 * the kernel once. */
static bool is_cheaper(const struct uk_kernel_plan *p, const struct uk_kernel_plan *than) {
    const struct uk_kernel *x = p->fit.intrinsic->row, *y = than->fit.intrinsic->row;
    const int calls = (x && uk_computes_all_rows(x)) - (y && uk_computes_all_rows(y)),
              preferred = p->constants != than->constants ? p->constants - than->constants : calls;

    /* The estimate charges both the same for lines of the image, which y reads once per column of the window.
     */
    if (sums_windows(x, y))
        return p->cycles < 2 * than->cycles;
    if (sums_windows(y, x))
        return than->cycles >= 2 * p->cycles;
    return cycles_at_all(p) * (preferred > 0 ? 1 - AUTO_MARGIN : 1) <
           cycles_at_all(than) * (preferred < 0 ? 1 - AUTO_MARGIN : 1);
}

static enum uk_status pack_if_cheaper(struct uk_schedule *s, const struct uk_stage *st,
                                      struct uk_kernel_plan *p) {
    struct uk_kernel_plan q = *p;
    bool done;
    enum uk_status status = uk_pack_scattered(s, st, &q.fit, &done);

    if (status || !done)
        return status;
    q.cycles = uk_estimate(s, st, &q.fit, false);
    q.constants = uk_packed_constants(st, &q.fit);
    estimate_at_least(s, st, false, &q);
    if (is_cheaper(&q, p))
        *p = q;
    return UK_OK;
}

/* True if the kernel packs panels of this layout: kernels that pack groups of terms handle any panel width,
 * the others only their own. */
static bool fills(const struct uk_kernel *row, const struct uk_panel *p) {
    if (p->group || uk_kernel_kr(row) > 1)
        return uk_kernel_kr(row) == p->group;
    return uk_kernel_mr(row) == p->width || (uk_kernel_mr(row) == 1 && uk_kernel_nr(row) == p->width);
}

/* Sets *found if some kernel packs such panels. */
static enum uk_status fills_panels(struct uk_schedule *s, enum uk_type type, const struct uk_panel *p,
                                   bool *found) {
    struct uk_candidate c = {0};
    enum uk_status status;

    *found = false;
    while (!(status = uk_next_candidate(s, NULL, &c)) && c.intrinsic && !*found) {
        const struct uk_kernel *row = c.intrinsic->row;
        const struct uk_statement *t = c.intrinsic->declaration->statements;

        *found = row && !t->next && t->right->op == UK_E_PAD && t->left.tensor->type == type && fills(row, p);
    }
    return status;
}

/* True if the operand is contiguous along the panel or along the sum, which kernels that pack groups
 * require. */
static bool is_contiguous(const struct uk_operand *o, const struct uk_fit *f) {
    bool any = false;

    for (int v = 0; v < f->axes; v++) {
        struct uk_poly step = uk_coefficient(o, f->axis[v]->id);
        int64_t c;

        any |= uk_poly_is_int(&step, &c) && c == 1;
    }
    return any;
}

/* Checks the panels of the plan: each is filled by a kernel, or by plain loops where these are allowed. */
static enum uk_status check_panels(struct uk_schedule *s, const struct uk_stage *st,
                                   struct uk_kernel_plan *plan, struct uk_text *why) {
    const struct uk_fit *f = &plan->fit;

    plan->is_packed_by_loops = false;
    for (int o = 1; o < st->operands && !plan->is_packed_by_loops; o++) {
        const struct uk_panel *p = &f->panel[o];
        const struct uk_operand *x = &st->operand[o];
        bool found = !p->width || x->tensor->is_constant;
        enum uk_status status = found ? UK_OK : fills_panels(s, x->tensor->type, p, &found);

        if (status)
            return status;
        if (found && (!p->group || x->tensor->is_constant || is_contiguous(x, f)))
            continue;
        plan->is_packed_by_loops = uk_can_use_plain_loops(s);
        if (plan->is_packed_by_loops)
            continue;
        why->length = 0;
        uk_put(why, "no kernel fills panels of %lld elements of %s", (long long)p->width, x->tensor->name);
        if (p->group)
            uk_put(why, " in groups of %lld", (long long)p->group);
        return UK_NO_MATCH;
    }
    return UK_OK;
}

/* Kernels that compute all rows in one call are for small products and for few columns, as in uk_sgemm, and
 * for one thread, unless threads split loops outside. */
static enum uk_status check_one_call(const struct uk_schedule *s, const struct uk_stage *st,
                                     const struct uk_kernel_plan *p, struct uk_text *why) {
    const char *refusal = NULL;
    double terms = 1;

    for (int v = 0; v < p->fit.axes; v++)
        terms *= uk_values_estimate(s, st, p->fit.axis[v]);
    if (s->version && s->version->estimate)
        refusal = "fits, but a version takes kernels of little code that are fast for any number of columns";
    else if (terms > GEMM_WORK_ALONE && !uk_is_one_call(s, st, &p->fit))
        refusal = "fits, but the product is so large that tiles are faster";
    else if (s->options->threads > 1 && p->cycles > 2 * GEMM_TASK &&
             !uk_has_loops_for_threads(s, st, &p->fit))
        refusal = "fits, but one call computes all rows, so threads cannot split them";
    if (!refusal)
        return UK_OK;
    why->length = 0;
    uk_put(why, "%s", refusal);
    return UK_NO_MATCH;
}

static bool has_windows(const struct uk_fit *f) {
    const struct uk_kernel *row = f->intrinsic ? f->intrinsic->row : NULL;

    return row && (uk_kernel_operation(row)->form == UK_OP_WINDOW ||
                   uk_kernel_operation(row)->form == UK_OP_DEPTHWISE_CHANNELS);
}

bool uk_takes_windows(const struct uk_kernel_plan *p) {
    return has_windows(&p->fit) && !p->fit.units;
}

/* Cycles of copying borders for the kernel, or of its calls at borders, which are no fewer. */
static double border_cycles(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    return has_windows(f) ? st->border_cycles + uk_border_cycles(s, st) : 0;
}

/* The number of terms that a call adds up. */
static double terms_of(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f) {
    double terms = 1;

    for (int v = 0; v < f->axes; v++)
        terms *= uk_is_reduced(st, f->axis[v]) ? uk_values_estimate(s, st, f->axis[v]) : 1;
    return terms;
}

/* Packs rows that share sets of L1; makes tiles or blocks of rows even. Rows are contiguous, so that loops
 * pack them as well as kernels, where loops are allowed. */
static enum uk_status divide_rows(struct uk_schedule *s, const struct uk_stage *st, struct uk_kernel_plan *p,
                                  bool by_first_tile) {
    struct uk_kernel_plan q = *p;
    struct uk_text why = {0};
    bool changed = uk_pack_rows(s, st, &q.fit);
    const enum uk_status status = changed ? check_panels(s, st, &q, &why) : UK_OK;

    uk_text_free(why.text);
    if (status && status != UK_NO_MATCH)
        return status;
    changed &= !status;
    if (changed)
        p->fit = q.fit;
    changed |= uk_take_even_rows(s, st, &p->fit) || uk_take_row_blocks(s, st, &p->fit);
    if (!changed)
        return UK_OK;
    p->cycles = uk_estimate(s, st, &p->fit, by_first_tile);
    estimate_at_least(s, st, by_first_tile, p);
    return UK_OK;
}

/* The reason why a kernel that fits is not taken whatever its cycles are; or NULL. */
static const char *refusal_of_fit(const struct uk_schedule *s, const struct uk_stage *st,
                                  const struct uk_fit *f) {
    const struct uk_kernel *row = f->intrinsic->row;

    if (!f->axes)
        return "no loop of the stage is an axis of it";
    if (row && uk_kernel_operation(row)->form == UK_OP_TRANSPOSE && f->axes < 2)
        return "the stage copies rows as they are";
    if (uk_lacks_channels(st, f))
        return "no loop of the stage goes over its channels";
    if (row && terms_of(s, st, f) < uk_kernel_least_terms(row))
        return uk_format(s->arena, "for windows of fewer than %d terms another kernel is faster",
                         uk_kernel_least_terms(row));
    if (uk_wastes_stream(s, st, f))
        return uk_format(s->arena, "it is for 2 to %d rows and an operand that is read once, from beyond L2",
                         uk_kernel_mr(row));
    if (uk_has_too_many_columns(s, st, f))
        return uk_format(s->arena,
                         "each of its vectors holds several rows, which is slower for more than %d columns",
                         uk_kernel_nr(row));
    return NULL;
}

/* Plans the stage with this kernel. UK_NO_MATCH: `why` has the reason. */
static enum uk_status plan_by(struct uk_schedule *s, struct uk_stage *st, struct uk_intrinsic *i,
                              struct uk_kernel_plan *p, struct uk_text *why) {
    bool by_first_tile;
    enum uk_status status = uk_fits(s, st, i, &p->fit, why);

    p->is_wasted = false;
    if (status)
        return status;
    /* the declaration matches the stage: no later mismatch is reported */
    s->match_score = INT_MAX;
    const char *refusal = refusal_of_fit(s, st, &p->fit);
    if (refusal) {
        why->length = 0;
        uk_put(why, "%s", refusal);
        return UK_NO_MATCH;
    }
    if ((status = uk_pack_constants_by_map(s, st, &p->fit)) || (status = check_panels(s, st, p, why)))
        return status;
    if (uk_packs_windows(st, &p->fit)) {
        why->length = 0;
        uk_put(why, "the windows of the input would have to be packed");
        return UK_NO_MATCH;
    }
    if ((status = uk_has_packing(s, &p->fit, &by_first_tile)))
        return status;
    p->cycles = uk_estimate(s, st, &p->fit, by_first_tile) + border_cycles(s, st, &p->fit);
    p->constants = uk_packed_constants(st, &p->fit);
    estimate_at_least(s, st, by_first_tile, p);
    if ((p->is_wasted = is_wasted(s, st, p))) {
        why->length = 0;
        uk_put(why, "fits, but plain loops take less time: its tile would be mostly empty");
        return UK_NO_MATCH;
    }
    if (i->row && uk_computes_all_rows(i->row) && (status = check_one_call(s, st, p, why)))
        return status;
    status = pack_if_cheaper(s, st, p);
    if (!status && !uk_is_window(st, &p->fit))
        status = divide_rows(s, st, p, by_first_tile);
    if (!status && i->row)
        uk_take_channel_blocks(s, st, &p->fit, &p->cycles);
    return status;
}

bool uk_is_better_plan(const struct uk_kernel_plan *p, const struct uk_kernel_plan *than) {
    if (p->is_packed_by_loops != than->is_packed_by_loops)
        return than->is_packed_by_loops;
    return is_cheaper(p, than);
}

/* Sets the note of a stage in plain loops: the closest kernel, or the one (`wasted`) that is slower than they
 * are. */
static void report_reason(struct uk_schedule *s, struct uk_stage *st, struct uk_reasons *r,
                          const char *wasted) {
    uk_reasons_sort(r);
    st->plain_loops_reason =
        wasted ? uk_format(s->arena, "they take less time than %s, whose tile would be mostly empty", wasted)
        : r->count ? uk_format(s->arena, "no kernel matches it; the closest is %s: %.400s", r->list[0].kernel,
                               r->list[0].text)
                   : "no kernel matches it";
}

/* Reports the kernels. With transposed tiles those that do not fit are not listed: the list of the stage as
 * written has them. */
static void report(struct uk_schedule *s, const struct uk_stage *st, bool transposed,
                   const struct uk_kernel_plan *best, struct uk_reasons *r) {
    if (!s->report || (transposed && !best->fit.intrinsic))
        return;
    uk_reasons_sort(r);
    while (transposed && !r->list[r->count - 1].fits)
        r->count--;
    uk_put(s->report, "stage %s%s: candidates\n", st->name, transposed ? ", its tiles transposed" : "");
    uk_reasons_put(s, r, s->report, false);
    if (best->fit.intrinsic)
        uk_put(s->report, "  taken: %s, the cheapest\n", best->fit.intrinsic->name);
}

static enum uk_status no_kernel(struct uk_schedule *s, const struct uk_stage *st, struct uk_reasons *r) {
    struct uk_text all = {0};

    /* a report contains the reasons already */
    if (!s->report)
        uk_reasons_put(s, r, &all, true);
    enum uk_status status = uk_fail(
        s->context, UK_NO_MATCH, st->statement->at,
        "no kernel matches stage '%s'; do not require kernels, or write it as the closest kernels need it%s",
        st->name, all.text ? all.text : "");
    uk_text_free(all.text);
    return status;
}

const char *uk_draft_by(struct uk_schedule *s, const struct uk_intrinsic *i, bool transposed) {
    return transposed ? uk_format(s->arena, "%s with its tiles transposed", i->name) : i->name;
}

static const char *refusal_of(struct uk_schedule *s, const struct uk_stage *st, const struct uk_intrinsic *i,
                              bool transposed) {
    const char *draft = s->refused ? uk_draft_by(s, i, transposed) : NULL;

    return draft ? uk_refusal(s, st->name, draft) : NULL;
}

enum uk_status uk_choose_kernel(struct uk_schedule *s, struct uk_stage *st, bool transposed,
                                struct uk_kernel_plan *best) {
    struct uk_reasons reasons = {0};
    struct uk_candidate c = {.reasons = &reasons};
    struct uk_text why = {0};
    struct uk_kernel_plan p, tile[MOST_TILES];
    const char *wasted = NULL;
    int tiles = 0, n;
    bool any_refused = false;
    enum uk_status status;

    const char *only = s->wanted_stage && !strcmp(s->wanted_stage, st->name) ? s->wanted_kernel : NULL;
    best->fit.intrinsic = NULL;
    while (!(status = uk_next_candidate(s, only, &c)) && c.intrinsic) {
        const char *refusal = refusal_of(s, st, c.intrinsic, transposed);
        any_refused |= refusal != NULL;

        why.length = 0;
        status = plan_by(s, st, c.intrinsic, &p, &why);
        if (!status && refusal) {
            why.length = 0;
            uk_put(&why, "fits, but its schedule was refused: %s", refusal);
            status = UK_NO_MATCH;
        }
        if (status == UK_NO_MATCH) {
            uk_reason_add(s, &reasons, c.intrinsic->name, why.length ? why.text : NULL, false, 0);
            wasted = !wasted && p.is_wasted ? c.intrinsic->name : wasted;
            continue;
        }
        if (status)
            break;
        add_fit(s, st, &p, &reasons);
        for (n = 0; n < tiles && !can_replace(&tile[n], &p); n++)
            ;
        if (n < tiles)
            continue;
        if (tiles < MOST_TILES)
            tile[tiles++] = p;
        if (!best->fit.intrinsic || uk_is_better_plan(&p, best))
            *best = p;
    }
    uk_text_free(why.text);
    if (status)
        return status;
    report(s, st, transposed, best, &reasons);
    if (best->fit.intrinsic)
        return UK_OK;
    if (!uk_can_use_plain_loops(s))
        return no_kernel(s, st, &reasons);
    report_reason(s, st, &reasons, any_refused ? NULL : wasted);
    return UK_OK;
}
