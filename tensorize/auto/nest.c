/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the cycles of a stage with a kernel and given levels. The loops around the kernel's calls, its
 * own k iterations, and the copies into panels become loop nests, of which ukernels/cost counts the cycles.
 * All operands are affine in the loops, so their strides determine which cache lines they touch, and how
 * often these come from which cache. Unknown sizes are estimated.
 */
#include <math.h>
#include <string.h>
#include "registry/operation.h"
#include "costing.h"
#include "minmax.h"

/* Maximum number of loops in a nest; the loops outside repeat it. */
enum { NEST_LOOPS = UK_NEST_LOOPS - 1, LINE = 64 };

/* ---- costs that do not depend on blocks ---- */

/* Bytes by which one step along the loop moves the operand; an index that is not affine counts as constant.
 */
static int64_t stride_of(const struct uk_schedule *s, const struct uk_operand *o, const struct uk_loop *l) {
    struct uk_poly c = uk_coefficient(o, l->id);
    int64_t n;

    if (c.terms < 0)
        return 0;
    if (!uk_poly_is_int(&c, &n)) {
        const struct uk_index *e = uk_poly_index(s->arena, &c);

        n = e ? (int64_t)uk_size_estimate(s, e) : 0;
    }
    return n * (int64_t)uk_type_bytes(o->tensor->type);
}

void uk_costing_begin(struct uk_costing *c, const struct uk_schedule *s, const struct uk_stage *st,
                      const struct uk_fit *f, bool by_first_tile) {
    const struct uk_kernel *row = f->intrinsic->row;
    const double iterations = uk_whole_iterations(s, st, f);

    *c = (struct uk_costing){.s = s, .st = st, .fit = f, .by_first_tile = by_first_tile};
    c->operands = st->operands < UK_NEST_OPERANDS ? st->operands : UK_NEST_OPERANDS;
    c->iterations = iterations;
    /* nothing is known of a kernel that the program declares */
    if (row) {
        c->instructions = iterations * uk_kernel_cycles(s->target, row) + uk_lanes_cycles(s, st, f);
        c->loads =
            iterations * uk_kernel_loads(row) / uk_kernel_kr(row) / uk_ports_rate(&s->target->vectors.load);
    }
    for (int i = 0; i < st->loops; i++) {
        c->size[i] = (int64_t)uk_values_estimate(s, st, st->loop[i]);
        for (int o = 0; o < c->operands; o++)
            c->stride[o][i] = stride_of(s, &st->operand[o], st->loop[i]);
    }
}

/* ---- operands ---- */

static int place_of(const struct uk_costing *c, const struct uk_loop *l) {
    int i = 0;

    while (c->st->loop[i] != l)
        i++;
    return i;
}

/* The number of values that the loop takes within one iteration of the first `levels` levels. */
static int64_t range_in(const struct uk_costing *c, const struct uk_levels *l, int levels, int loop) {
    int64_t n = c->size[loop];

    for (int i = 0; i < levels; i++)
        if (l->level[i].loop == c->st->loop[loop])
            n = l->level[i].step;
    return n;
}

/* Layout of an operand's panels. */
struct panels {
    /* elements of a line; bytes of an element */
    int64_t width, bytes;
    /* the loop along a line */
    int lane;
    /* bytes between successive values of each loop; for the lane, of one element, averaged over panels */
    int64_t stride[UK_MAX_LOOPS];
};

/* Lays out panels: lines of `width` elements. If lanes are rows or columns, a panel has a line per term of
 * the sum, and other loops of the output are outside; if they are terms, a line per row, and other terms are.
 */
static void find_panels(const struct uk_costing *c, const struct uk_levels *l, int o, struct panels *p) {
    const struct uk_panel *panel = &c->fit->panel[o];
    const struct uk_operand *x = &c->st->operand[o];

    p->width = panel->width;
    p->bytes = (int64_t)uk_type_bytes(x->tensor->type);
    p->lane = place_of(c, c->fit->axis[panel->lane]);
    int64_t size = p->width * p->bytes;
    const bool has_terms = !uk_is_reduced(c->st, c->st->loop[p->lane]);
    for (int i = c->st->loops - 1; i >= 0; i--) {
        p->stride[i] = 0;
        if (i == p->lane || uk_is_reduced(c->st, c->st->loop[i]) != has_terms ||
            !uk_depends(x, c->st->loop[i]))
            continue;
        p->stride[i] = size;
        size *= range_in(c, l, l->copied[o], i);
    }
    p->stride[p->lane] = size / p->width;
    size *= uk_ceil_div(range_in(c, l, l->copied[o], p->lane), p->width);
    for (int i = c->st->loops - 1; i >= 0; i--)
        if (i != p->lane && uk_is_reduced(c->st, c->st->loop[i]) != has_terms &&
            uk_depends(x, c->st->loop[i])) {
            p->stride[i] = size;
            size *= range_in(c, l, l->copied[o], i);
        }
}

/* ---- nests ---- */

struct loops {
    int count;
    struct {
        int64_t extent, stride[UK_NEST_OPERANDS];
    } loop[UK_MAX_LEVELS + UK_MAX_LOOPS];
};

static void add_loop(struct loops *n, int64_t extent, const int64_t *stride, int operands) {
    if (extent <= 1)
        return;
    n->loop[n->count].extent = extent;
    memcpy(n->loop[n->count++].stride, stride, sizeof *stride * (size_t)operands);
}

/* Costs the innermost loops as a nest, times the iterations of the loops outside. */
static double cost_of(const struct uk_schedule *s, const struct loops *l, struct uk_loop_nest *n) {
    const int first = l->count > NEST_LOOPS ? l->count - NEST_LOOPS : 0;
    double times = 1;

    for (int i = 0; i < first; i++)
        times *= (double)l->loop[i].extent;
    n->loops = l->count - first;
    for (int i = 0; i < n->loops; i++) {
        n->extent[i] = l->loop[first + i].extent;
        for (int o = 0; o < n->operands; o++)
            n->operand[o].stride[i] = l->loop[first + i].stride[o];
    }
    n->instructions /= times;
    n->loads /= times;
    return times * uk_cost_nest(&s->target->machine, n);
}

/* Sets what a k iteration of a tile accesses in place: elements adjacent along one of the tile's axes are a
 * run, and each element of the other axis begins another run. */
static void set_body(const struct uk_costing *c, const struct uk_levels *l, int o,
                     struct uk_loop_operand *out) {
    const struct uk_fit *f = c->fit;

    out->bytes = (int)uk_type_bytes(c->st->operand[o].tensor->type);
    out->runs = 1;
    out->length = out->bytes;
    out->pitch = 0;
    for (int v = 0; v < f->axes; v++) {
        const int i = place_of(c, f->axis[v]);
        const int64_t at_once = uk_rows_at_once(c->st, f, v),
                      n = uk_min(range_in(c, l, l->levels, i), at_once),
                      stride = c->stride[o][i] < 0 ? -c->stride[o][i] : c->stride[o][i];

        if (uk_is_reduced(c->st, f->axis[v]) || !at_once || !stride)
            continue;
        if (stride == out->bytes && out->length == out->bytes) {
            out->length = n * stride;
        } else {
            out->pitch = out->runs == 1 || stride < out->pitch ? stride : out->pitch;
            out->runs *= n;
        }
    }
}

/* The number of loads of the operand's vectors: one per vector and k iteration, unless the kernel uses a
 * vector for several iterations. */
static double vector_loads(const struct uk_costing *c, const struct uk_loop_operand *o) {
    const struct uk_kernel *row = c->fit->intrinsic->row;

    return row && uk_kernel_operation(row)->form == UK_OP_DEPTHWISE_TILE
               ? c->iterations * uk_kernel_loads(row) / (c->operands - 1)
               : c->iterations * (double)o->length / c->s->target->vectors.bytes;
}

/* The number of vector loads across two cache lines, for operands that are read in place and whose rows do
 * not begin at cache lines. */
static double splits_of(const struct uk_costing *c, const struct uk_loop_nest *n) {
    const struct uk_target *t = c->s->target;
    double splits = 0;

    for (int o = 1; o < n->operands; o++) {
        int64_t next = 0;

        for (int i = 0; i < c->st->loops; i++)
            if (uk_is_reduced(c->st, c->st->loop[i]) && c->stride[o][i])
                next |= c->stride[o][i];
        if (!c->fit->panel[o].width && n->operand[o].length >= t->vectors.bytes)
            splits += vector_loads(c, &n->operand[o]) * uk_cost_splits(t->vectors.bytes, next);
    }
    return splits;
}

/* True if the kernel prefetches the operand's next panel while it uses the present one: its declaration has a
 * hint. */
static bool is_hinted(const struct uk_costing *c, int o) {
    const struct uk_form *f = &c->fit->intrinsic->form[UK_FORM_UPDATE];
    bool hinted = false;

    for (int i = 0; i < f->arguments; i++)
        hinted |= f->argument[i].hint != NULL;
    return hinted && c->fit->panel[o].width;
}

/* The part of a panel that its kernel's calls prefetch: a call prefetches a line for each row of the panel,
 * and the calls are those between two moves of the operand. */
static double hinted_part(const struct uk_costing *c, const struct uk_levels *l, int o) {
    const struct uk_operand *x = &c->st->operand[o];
    const double lines = (double)c->fit->panel[o].width * (double)uk_type_bytes(x->tensor->type) / LINE;
    double calls = 1;

    if (!is_hinted(c, o))
        return 0;
    for (int i = l->levels - 1; i >= 0 && !uk_depends(x, l->level[i].loop); i--)
        calls *= (double)l->level[i].extent;
    return uk_min_real(1, calls / lines);
}

/* Constants are not copied before their use, so they come from where they are. */
static void set_exposed(const struct uk_costing *c, const struct uk_levels *l, int o,
                        struct uk_loop_operand *x) {
    if (o && c->st->operand[o].tensor->is_constant)
        x->exposed = 1 - c->s->target->machine.core.hint_hides * hinted_part(c, l, o);
}

/* Estimates the cycles of all tiles, without copies. */
static double tiles_cost(const struct uk_costing *c, const struct uk_levels *l) {
    const struct uk_stage *st = c->st;
    const struct uk_fit *f = c->fit;
    struct uk_loop_nest n = {.operands = c->operands};
    struct loops loops = {0};
    struct panels panels[UK_NEST_OPERANDS];
    double calls = 1;

    for (int o = 0; o < c->operands; o++) {
        set_body(c, l, o, &n.operand[o]);
        n.operand[o].is_written = !o;
        set_exposed(c, l, o, &n.operand[o]);
        if (!f->panel[o].width)
            continue;
        find_panels(c, l, o, &panels[o]);
        n.operand[o].runs = 1;
        n.operand[o].length = panels[o].width * panels[o].bytes;
    }
    for (int i = 0; i < l->levels; i++) {
        const int at = place_of(c, l->level[i].loop);
        int64_t stride[UK_NEST_OPERANDS];

        for (int o = 0; o < c->operands; o++)
            stride[o] = l->level[i].step * (!f->panel[o].width ? c->stride[o][at]
                                            : i < l->copied[o] ? 0
                                                               : panels[o].stride[at]);
        add_loop(&loops, l->level[i].extent, stride, c->operands);
        calls *= (double)l->level[i].extent;
    }
    int first = 0;
    for (int pass = 0; pass < 2; pass++) {
        first = loops.count;
        for (int v = 0; v < f->axes; v++) {
            const int at = place_of(c, f->axis[v]);
            const bool sum = uk_is_reduced(st, f->axis[v]);
            const int64_t at_once = sum ? 1 : uk_max(uk_rows_at_once(st, f, v), 1),
                          groups = uk_ceil_div(range_in(c, l, l->levels, at), at_once);
            int64_t stride[UK_NEST_OPERANDS];

            if (sum != (pass == 1) || (!sum && f->max_extent[v] && at_once >= f->max_extent[v]))
                continue;
            for (int o = 0; o < c->operands; o++)
                stride[o] = (f->panel[o].width ? panels[o].stride[at] : c->stride[o][at]) * at_once;
            add_loop(&loops, groups, stride, c->operands);
            calls *= at_once > 1 ? (double)groups : 1;
        }
    }
    /* the tile's sums stay in registers */
    n.operand[0].register_loops = loops.count - first;
    const double splits = splits_of(c, &n);
    n.loads = c->loads + splits * c->s->target->machine.core.split;
    n.instructions = uk_max_real(c->instructions + splits * c->s->target->vectors.split, n.loads);
    if (st->statement->reduce != UK_REDUCE_NONE)
        n.instructions += calls * uk_cycles_of_tile(c->s, st, f);
    return cost_of(c->s, &loops, &n);
}

/* Instructions of a copy: vector loads and stores; if lines become columns, log2(lanes) shuffles per vector;
 * without vectors, single elements. A copy that the kernel makes while it computes needs only the stores. */
static double copy_instructions(const struct uk_costing *c, int o, const struct panels *p, int64_t next,
                                double elements, double *loads) {
    const struct uk_target *t = c->s->target;
    const double lanes = uk_max_real((double)t->vectors.bytes / (double)p->bytes, 1),
                 vectors = elements / lanes, stores = vectors / uk_ports_rate(&t->vectors.store);
    const bool transposes = c->stride[o][p->lane] != p->bytes;

    *loads = 0;
    if (c->by_first_tile)
        return stores;
    if (transposes && next != p->bytes) {
        const struct uk_counts n = {.load = elements, .other = 2 * elements};

        *loads = elements / uk_ports_rate(&t->vectors.load);
        return uk_max_real(uk_cost_cycles(&t->machine.core, &t->vectors, &n), stores);
    }
    return uk_copy_cycles(&t->machine.core, &t->vectors, vectors, (int)lanes,
                          transposes || c->fit->panel[o].group, loads);
}

static double copy_cost(const struct uk_costing *c, const struct uk_levels *l, int o) {
    struct uk_loop_nest n = {.operands = 2};
    struct loops loops = {0};
    struct panels p;
    double elements = 1, calls = 1;
    int64_t next = 0;

    find_panels(c, l, o, &p);
    for (int i = 0; i < l->copied[o]; i++) {
        const int64_t stride[2] = {c->stride[o][place_of(c, l->level[i].loop)] * l->level[i].step, 0};

        add_loop(&loops, l->level[i].extent, stride, 2);
        calls *= (double)l->level[i].extent;
    }
    for (int i = 0; i < c->st->loops; i++) {
        const bool lane = i == p.lane;
        const int64_t width = lane ? p.width : 1, range = range_in(c, l, l->copied[o], i);
        const int64_t stride[2] = {c->stride[o][i] * width, p.stride[i] * width};

        if (!lane && !p.stride[i])
            continue;
        elements *= (double)range;
        next = !lane && (!next || c->stride[o][i] < next) ? c->stride[o][i] : next;
        calls *= uk_is_reduced(c->st, c->st->loop[i]) ? 1 : (double)uk_ceil_div(range, width);
        add_loop(&loops, uk_ceil_div(range, width), stride, 2);
    }
    for (int i = 0; i < l->copied[o]; i++)
        elements *= (double)l->level[i].extent;
    n.operand[0] = (struct uk_loop_operand){
        .bytes = (int)p.bytes, .runs = p.width, .length = p.bytes, .pitch = c->stride[o][p.lane]};
    if (c->stride[o][p.lane] == p.bytes)
        n.operand[0] =
            (struct uk_loop_operand){.bytes = (int)p.bytes, .runs = 1, .length = p.width * p.bytes};
    n.operand[1] = (struct uk_loop_operand){
        .bytes = (int)p.bytes, .runs = 1, .length = p.width * p.bytes, .is_written = true};
    n.instructions = copy_instructions(c, o, &p, next, elements, &n.loads) + calls * GEMM_CALL;
    return cost_of(c->s, &loops, &n);
}

double uk_costing_cycles(const struct uk_costing *c, const struct uk_levels *l) {
    double cycles = tiles_cost(c, l);
    bool copies = false;

    for (int o = 1; o < c->operands; o++)
        if (c->fit->panel[o].width && !c->st->operand[o].tensor->is_constant) {
            cycles += copy_cost(c, l, o);
            copies = true;
        }
    return cycles + (copies ? AUTO_WORKSPACE : 0);
}
