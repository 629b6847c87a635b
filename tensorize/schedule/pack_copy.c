/* SPDX-License-Identifier: Apache-2.0 */
/* The copy stage of pack and cache_read: its statement, its loops with their bounds, and the conditions under
 * which its source has an element. */
#include <string.h>
#include "pack.h"

/* Makes the copy's statement, for the interpreter, the printer and plain loops: tensor[d0, ..] = pad(T[..],
 * 0). */
static struct uk_statement *create_statement(struct uk_packing_step *p) {
    struct uk_arena *a = p->s->arena;
    struct uk_statement *t = uk_alloc(a, sizeof *t);
    struct uk_expr *pad = uk_alloc(a, sizeof *pad), *read = uk_alloc(a, sizeof *read),
                   *zero = uk_alloc(a, sizeof *zero);

    if (!t || !pad || !read || !zero)
        return NULL;
    *zero = (struct uk_expr){.op = UK_E_NUMBER, .type = p->tensor->type, .is_integer = true, .depth = 1};
    *read = (struct uk_expr){.op = UK_E_ACCESS, .type = p->tensor->type, .depth = 1};
    read->access.tensor = (struct uk_tensor *)p->from;
    *pad = (struct uk_expr){.op = UK_E_PAD, .type = p->tensor->type, .arg = {read, zero}, .depth = 2};
    if (p->outside)
        pad->arg[1] = (struct uk_expr *)p->outside;
    *t = (struct uk_statement){.label = p->tensor->name, .right = pad, .at = p->step->at};
    t->left.tensor = p->tensor;
    t->iterators = t->left_iterators = p->tensor->dims;
    for (int d = 0; d < p->tensor->dims; d++) {
        struct uk_var *v = uk_alloc(a, sizeof *v);

        if (!v)
            return NULL;
        *v = (struct uk_var){.name = uk_format(a, "d%d", d), .kind = UK_VAR_ITERATOR, .number = d};
        t->iterator[d] = v;
        t->left.index[d] = uk_index_var(a, v);
        t->extent[d] = p->tensor->shape[d];
        if (!v->name || !t->left.index[d])
            return NULL;
    }
    return t;
}

/* True if the copy stores zeros beyond the end of the part, so that the buffer is filled for any sizes:
 * buffers in shared memory and registers. */
static bool fills(const struct uk_packing_step *p) {
    return p->step->scope != UK_SCOPE_GLOBAL;
}

/* True if the bound is a constant, without loops. */
static bool is_constant_bound(const struct uk_bound *b) {
    bool alone = uk_index_is_int(b->upper, NULL);

    for (int i = 0; i < UK_MAX_LOOPS; i++)
        alone &= !b->form.coefficient[i];
    return alone;
}

/* True if the bound is a constant at which the dimension's loops stop by themselves: a multiple of the
 * largest divisor of its digits. */
static bool is_counted(const struct uk_packing_step *p, int d, const struct uk_bound *b) {
    int64_t n, coarsest = 1;

    for (int k = 0; k < p->layout.stored; k++)
        if (p->layout.digit[k].dim == d && p->layout.digit[k].divisor > coarsest)
            coarsest = p->layout.digit[k].divisor;
    return is_constant_bound(b) && uk_index_is_int(b->upper, &n) && n % coarsest == 0;
}

/* Bounds a loop of x = step * loop (+ finer digits): it continues while step * loop is inside the part. */
static enum uk_status bound_copy(struct uk_packing_step *p, const struct uk_part *part,
                                 const struct uk_loop *l, int64_t step) {
    struct uk_stage *c = p->copy;
    struct uk_affine only = {0};

    if (fills(p)) {
        const int64_t most = uk_part_constant_extent(part);

        only.coefficient[l->id] = 1;
        return uk_add_bound(p->s, c, &only, uk_index_int(p->s->arena, most ? (most - 1) / step + 1 : 0));
    }
    for (int b = 0; b < part->bounds; b++) {
        struct uk_affine f = part->bound[b].form;
        struct uk_index *upper = part->bound[b].upper;
        bool alone = true;
        int64_t n;

        for (int i = 0; i < UK_MAX_LOOPS; i++)
            alone &= !f.coefficient[i];
        f.coefficient[l->id] = step;
        if (alone && uk_index_is_int(upper, &n)) {
            f.coefficient[l->id] = 1;
            upper = uk_index_int(p->s->arena, n <= 0 ? 0 : (n - 1) / step + 1);
        }
        enum uk_status status = upper ? uk_add_bound(p->s, c, &f, upper) : uk_out_of_memory(p->s->context);
        if (status)
            return status;
    }
    return UK_OK;
}

static enum uk_status bound_loops(struct uk_packing_step *p) {
    struct uk_stage *c = p->copy;
    enum uk_status status = UK_OK;

    for (int split = 0; split < 2; split++)
        for (int k = 0; k < p->layout.stored && !status; k++) {
            const struct uk_digit *digit = &p->layout.digit[k];
            const struct uk_loop *l = c->loop[p->prefix + k];
            struct uk_affine f = {0};

            if (uk_layout_is_split(&p->layout, digit->dim) != split)
                continue;
            f.coefficient[l->id] = 1;
            status = digit->modulus ? uk_add_bound(p->s, c, &f, uk_index_int(p->s->arena, digit->modulus))
                                    : bound_copy(p, &p->region->part[digit->dim], l, digit->divisor);
        }
    return status;
}

static enum uk_status add_within(struct uk_packing_step *p, struct uk_operand *o, const struct uk_affine *f,
                                 struct uk_index *upper) {
    struct uk_bound *b = &o->within[o->valid++];

    *b = (struct uk_bound){.form = *f, .upper = upper};
    if (f->rest)
        b->upper = uk_index_op(p->s->arena, UK_I_SUB, upper, f->rest);
    b->form.rest = NULL;
    return b->upper ? UK_OK : uk_out_of_memory(p->s->context);
}

/* Adds 0 <= index < extent of T, unless every access is at an iterator that runs over that very dimension. */
static enum uk_status add_edges(struct uk_packing_step *p, struct uk_operand *o, int d) {
    const struct uk_statement *t = p->consumer->statement;
    struct uk_affine f = o->index[d], minus = {0};
    bool plain = true;
    int64_t rest = 0;

    for (int i = 0; i < p->operands; i++) {
        const struct uk_index *e = p->consumer->operand[p->operand[i]].expr->access.index[d];
        bool found = false;

        for (int k = 0; k < t->iterators; k++)
            found |= e->op == UK_I_VAR && e->var == t->iterator[k] &&
                     uk_index_equal(t->extent[k], p->from->shape[d]);
        plain &= found;
    }
    if (plain)
        return UK_OK;
    bool below = f.rest && (!uk_index_is_int(f.rest, &rest) || rest < 0);
    for (int l = 0; l < UK_MAX_LOOPS; l++) {
        minus.coefficient[l] = -f.coefficient[l];
        below |= f.coefficient[l] < 0;
    }
    if (f.rest)
        minus.rest = uk_index_op(p->s->arena, UK_I_NEG, f.rest, NULL);
    enum uk_status status = below ? add_within(p, o, &minus, uk_index_int(p->s->arena, 1)) : UK_OK;
    return status ? status : add_within(p, o, &f, p->from->shape[d]);
}

static enum uk_status connect_source(struct uk_packing_step *p) {
    struct uk_stage *c = p->copy;
    struct uk_operand *o = &c->operand[c->operands++];
    size_t most = (size_t)p->from->dims * (UK_MAX_PART_BOUNDS + 2);
    /* guards select the elements in use; other elements of the region may be outside the tensor */
    bool edges = p->outside || uk_has_guards(p->consumer);
    enum uk_status status = UK_OK;

    *o = (struct uk_operand){
        .tensor = (struct uk_tensor *)p->from, .expr = c->statement->right->arg[0], .pad = UK_PAD_VALUE};
    o->within = uk_alloc(p->s->arena, sizeof *o->within * most);
    if (!o->within)
        return uk_out_of_memory(p->s->context);
    for (int d = 0; d < p->from->dims && !status; d++) {
        const struct uk_part *part = &p->region->part[d];
        struct uk_affine x = {0};

        for (int k = 0; k < p->layout.stored; k++)
            if (p->layout.digit[k].dim == d)
                x.coefficient[c->loop[p->prefix + k]->id] = p->layout.digit[k].divisor;
        o->index[d] = part->offset;
        for (int l = 0; l < UK_MAX_LOOPS; l++)
            o->index[d].coefficient[l] += x.coefficient[l];
        for (int b = 0; (fills(p) || uk_layout_is_split(&p->layout, d)) && b < part->bounds && !status; b++) {
            struct uk_affine f = part->bound[b].form;

            if (fills(p) && is_counted(p, d, &part->bound[b]))
                continue;
            for (int l = 0; l < UK_MAX_LOOPS; l++)
                f.coefficient[l] += x.coefficient[l];
            status = add_within(p, o, &f, part->bound[b].upper);
        }
        /* The last block of an index that runs backwards begins before the tensor's first element. */
        bool backwards = part->begins_before;
        for (int l = 0; l < UK_MAX_LOOPS; l++)
            backwards |= part->offset.coefficient[l] < 0;
        if ((edges || backwards) && !status)
            status = add_edges(p, o, d);
    }
    return status;
}

enum uk_status uk_create_copy(struct uk_packing_step *p) {
    struct uk_schedule *s = p->s;
    struct uk_stage *c = p->copy = uk_alloc(s->arena, sizeof *c), **at = &s->stages;
    struct uk_copied *what = uk_alloc(s->arena, sizeof *what);
    enum uk_status status;

    if (!c || !what || !(c->statement = create_statement(p)))
        return uk_out_of_memory(s->context);
    if ((status = uk_count_stage(s, c, p->tensor->name, p->step->at)))
        return status;
    *what = (struct uk_copied){.region = p->region, .layout = p->layout, .outside = p->outside};
    c->copied = what;
    c->name = p->tensor->name;
    for (c->parent = p->consumer; !p->prefix && c->parent->parent;)
        c->parent = c->parent->parent;
    c->parent->attached++;
    c->prefix = c->loops = p->prefix;
    c->is_copy = true;
    memcpy(c->loop, p->consumer->loop, sizeof c->loop[0] * (size_t)p->prefix);
    c->operands = 1;
    c->operand[0].tensor = p->tensor;
    c->iterators = p->tensor->dims;
    for (int d = 0; d < p->tensor->dims; d++) {
        struct uk_loop *l = uk_loop_create(s, c, c->statement->iterator[d]->name, d);

        if (!l)
            return UK_REFUSED;
        c->loop[c->loops++] = l;
        c->iterator[d].coefficient[l->id] = 1;
        c->operand[0].index[d].coefficient[l->id] = 1;
    }
    c->tile = c->loops;
    if ((status = uk_inherit_bounds(s, p->consumer, p->prefix, c)) || (status = bound_loops(p)) ||
        (status = connect_source(p)))
        return status;
    while (*at != c->parent)
        at = &(*at)->next;
    c->next = *at;
    *at = c;
    return UK_OK;
}
