/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates for a nest, and the choice among them: the program's own intrinsics, then every row of the
 * registry. */
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include "cost/cost.h"
#include "match.h"

static struct uk_intrinsic *parse_row(struct uk_context *c, const struct uk_kernel *row) {
    char text[4096];
    struct uk_intrinsic *i = NULL;
    size_t n = uk_kernel_declaration(row, text, sizeof text);

    if (n >= sizeof text) {
        uk_fail(c, UK_INTERNAL, (struct uk_position){0}, "the declaration of %s is too long",
                uk_kernel_symbol(row));
        return NULL;
    }
    if (uk_parse_intrinsic(c, &c->arena, text, &i))
        return NULL;
    i->row = row;
    return i;
}

enum uk_status uk_context_intrinsic(struct uk_context *c, const struct uk_kernel *row,
                                    struct uk_intrinsic **out) {
    struct uk_intrinsic *i = c->parsed;

    while (i && i->row != row)
        i = i->next;
    if (!i && (i = parse_row(c, row))) {
        i->next = c->parsed;
        c->parsed = i;
    }
    *out = i;
    return i ? UK_OK : uk_failure(c);
}

const char *uk_lacking(const struct uk_schedule *s, const struct uk_intrinsic *i) {
    const char *scope = uk_target_lacks_scope(s->target, i->scope);

    if (scope)
        return scope;
    for (const struct uk_tensor *t = i->declaration->tensors; t && !s->target->machine.core.device.threads;
         t = t->next)
        if (t->scope != UK_SCOPE_GLOBAL)
            return t->scope == UK_SCOPE_SHARED ? "memory that the threads of a block share"
                                               : "tensors in registers";
    for (int f = 0; f < i->required; f++)
        if (!uk_target_has(s->target, i->requires_feature[f]))
            return i->requires_feature[f];
    return uk_target_lacks_state(s->target, i->state);
}

/* True if the row names the cores that it was made for, and the target's is not among them. */
static bool is_for_others(const struct uk_target *t, const struct uk_kernel *row) {
    const size_t length = strlen(t->row);

    for (const char *core = uk_kernel_cores(row); core;
         core = strchr(core, ',') ? strchr(core, ',') + 1 : NULL)
        if (!strncmp(core, t->row, length) && (!core[length] || core[length] == ','))
            return false;
    return uk_kernel_cores(row);
}

enum uk_status uk_next_candidate(struct uk_schedule *s, const char *only, struct uk_candidate *c) {
    char lacks[64], why[256];

    for (;;) {
        const char *name, *missing = NULL;
        const struct uk_kernel *row = NULL;

        c->own = c->started ? c->own ? c->own->next : NULL : s->program->intrinsics;
        c->started = true;
        c->intrinsic = NULL;
        if (c->own) {
            c->intrinsic = c->own;
            name = c->own->name;
            missing = uk_lacking(s, c->own);
        } else if ((row = uk_kernel_at(c->row))) {
            c->row++;
            name = uk_kernel_symbol(row);
            missing = uk_target_lacks_for(s->target, row, lacks, sizeof lacks) ? lacks : NULL;
        } else {
            return UK_OK;
        }
        if (only ? strcmp(only, name) : row && is_for_others(s->target, row))
            continue;
        if (row && !uk_target_takes(s->target, row)) {
            if (!only)
                continue;
            c->seen++;
            snprintf(c->refused, sizeof c->refused, "%s is a kernel of %s, which the target %s is not", name,
                     uk_kernel_arch(row), s->target->name);
            continue;
        }
        c->seen++;
        if (!missing)
            return row ? uk_context_intrinsic(s->context, row, &c->intrinsic) : UK_OK;
        snprintf(c->refused, sizeof c->refused, "%s needs %s, which the target %s lacks", name, missing,
                 s->target->name);
        if (!c->reasons)
            continue;
        snprintf(why, sizeof why, "needs %s, which the target %s lacks", missing, s->target->name);
        s->match_score = -2;
        uk_reason_add(s, c->reasons, name, why, false, 0);
    }
}

/* ---- cost ---- */

/* Cycles of an iteration of the inner loop by the row's instruction counts; 0: it states none. */
static double counted_cycles(const struct uk_target *t, const struct uk_kernel *k) {
    const struct uk_product_kernel p = uk_product_kernel(k);
    const struct uk_counts n = uk_product_counts(&p, p.mr, p.nr);

    return uk_cost_cycles(&t->machine.core, &t->vectors, &n);
}

double uk_kernel_cycles(const struct uk_target *t, const struct uk_kernel *k) {
    double most = counted_cycles(t, k);

    /* The counts of portable C are those of one compiler on one machine with 16-byte vectors. A factor
     * of 1.05 lets a kernel that was made for the target win a tie; a target without such vectors needs four
     * scalar instructions for one of a vector. */
    if (!strcmp(uk_kernel_arch(k), "any"))
        most *= t->vectors.bytes < 16 ? 4 : 1.05;
    /* Portable C may state no counts: a cycle per element of the tile. */
    return most > 0 ? most / uk_kernel_kr(k) : (double)uk_kernel_mr(k) * uk_kernel_nr(k);
}

double uk_kernel_bound(const struct uk_target *t, const struct uk_kernel *k) {
    return 2.0 * uk_kernel_mr(k) * uk_kernel_nr(k) / uk_kernel_cycles(t, k);
}

enum uk_status uk_kernel_peak_share(struct uk_context *c, const struct uk_kernel *k, const char *target,
                                    double *share) {
    const struct uk_target *t;

    if (share)
        *share = 0;
    if (!c)
        return UK_INVALID_ARGUMENT;
    uk_context_enter(c, NULL);
    enum uk_status s = uk_require(c, k, "the kernel");
    if (!s)
        s = uk_require(c, share, "the place for the share");
    if (!s)
        s = uk_target_find(c, target, &t);
    if (!s && uk_kernel_fma(k) > 0)
        *share = uk_kernel_fma(k) / uk_ports_rate(&t->vectors.fma) / counted_cycles(t, k);
    return s;
}

int64_t uk_l2_share(const struct uk_schedule *s) {
    const struct uk_core *core = &s->target->machine.core;
    int sharing = s->options->threads < core->l2_cores ? s->options->threads : core->l2_cores;

    return core->l2.size / (sharing > 1 ? sharing : 1);
}

/* ---- tensorize L auto | KERNEL ---- */

/* Elements that the kernel computes along an axis per element of a tile with extent n; 1: nothing is
 * wasted. */
static double waste(const struct uk_kernel *row, int64_t most, int64_t n) {
    int64_t step =
        most == uk_kernel_mr(row) && uk_kernel_row_step(row) > 0 ? (int64_t)uk_kernel_row_step(row) : most;

    return most <= 0 || n <= 0 || n >= most ? 1 : (double)((n + step - 1) / step * step) / (double)n;
}

/* The product of waste() over all axes of a match. */
static double waste_of(const struct uk_stage *st, const struct uk_match *m) {
    double all = 1;

    for (int v = 0; v < m->axes; v++)
        all *=
            waste(m->intrinsic->row, m->max_extent[v], m->axis[v] ? uk_constant_extent(st, m->axis[v]) : 1);
    return all;
}

/* Cycles per element of the tile and step of k. 0 for the program's own intrinsics, which are preferred. */
static double cost(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_match *m) {
    const struct uk_kernel *row = m->intrinsic->row;

    return row ? uk_kernel_cycles(s->target, row) / ((double)uk_kernel_mr(row) * uk_kernel_nr(row)) *
                     waste_of(st, m)
               : 0;
}

static void report_taken(struct uk_schedule *s, const struct uk_stage *st, const struct uk_match *best) {
    if (!s->report || !best)
        return;
    if (best->intrinsic->row && best->intrinsic->computes->reduce == UK_REDUCE_NONE)
        uk_put(s->report, "  taken: %s\n", best->intrinsic->name);
    else if (best->intrinsic->row)
        uk_put(s->report, "  taken: %s, at most %.1f flop/cycle by its instruction counts\n",
               best->intrinsic->name, uk_kernel_bound(s->target, best->intrinsic->row) / waste_of(st, best));
    else
        uk_put(s->report, "  taken: %s, the program's own\n", best->intrinsic->name);
}

static enum uk_status no_kernel(struct uk_schedule *s, struct uk_position at, const char *name) {
    struct uk_closest_name near = {.word = name};

    for (const struct uk_intrinsic *i = s->program->intrinsics; i; i = i->next)
        uk_consider_name(&near, i->name);
    for (int k = 0; k < uk_kernel_count(); k++)
        uk_consider_name(&near, uk_kernel_symbol(uk_kernel_at(k)));
    return uk_fail(s->context, UK_REFUSED, at,
                   "tensorize: there is no kernel %s%s%s; `uk kernels` lists them", name,
                   near.name ? "; did you mean " : "", near.name ? near.name : "");
}

enum uk_status uk_apply_tensorize(struct uk_schedule *s, struct uk_stage *st, int tile, const char *kernel,
                                  struct uk_position at) {
    struct uk_reasons reasons = {0};
    struct uk_candidate c = {.reasons = &reasons};
    struct uk_match *best = NULL, *m;
    struct uk_text why = {0}, all = {0};
    bool any = !strcmp(kernel, "auto");
    enum uk_status status;

    if (s->report)
        uk_put(s->report, "tensorize %s.%s %s\n", st->name, st->loop[tile]->var->name, kernel);
    while (!(status = uk_next_candidate(s, any ? NULL : kernel, &c)) && c.intrinsic) {
        why.length = 0;
        status = uk_match(s, st, tile, c.intrinsic, &m, &why);
        if (status && status != UK_NO_MATCH)
            break;
        if (status) {
            uk_reason_add(s, &reasons, c.intrinsic->name, why.length ? why.text : NULL, false, 0);
            continue;
        }
        if (any)
            uk_reason_add(s, &reasons, c.intrinsic->name, "computes this nest", true, cost(s, st, m));
        if (!best || cost(s, st, m) < cost(s, st, best))
            best = m;
    }
    if (s->report)
        uk_reasons_put(s, &reasons, s->report, false);
    else if (!best)
        uk_reasons_put(s, &reasons, &all, true);
    if (status && status != UK_NO_MATCH) {
        status = uk_failure(s->context);
    } else if (best) {
        report_taken(s, st, best);
        st->tile = tile;
        best->step = at;
        uk_set_match(st, best);
        status = UK_OK;
    } else if (!c.seen && any) {
        /* The stage runs as plain loops, with a note, unless kernels are required. */
        st->plain_loops_reason = uk_format(s->arena, "the target %s has no kernels", s->target->name);
        status = st->plain_loops_reason ? UK_OK : uk_out_of_memory(s->context);
    } else if (!c.seen) {
        status = no_kernel(s, at, kernel);
    } else {
        const char *what =
            any ? "; leave the step out, or change the program as the closest kernels require" : "";
        status =
            uk_fail(s->context, UK_NO_MATCH, at, "tensorize %s.%s %s: no kernel computes this nest%s%s%s",
                    st->name, st->loop[tile]->var->name, kernel, what,
                    !any && *c.refused ? "; "
                    : all.text         ? all.text
                                       : "",
                    !any ? c.refused : "");
    }
    uk_text_free(why.text);
    uk_text_free(all.text);
    return status;
}
