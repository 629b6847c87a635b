/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles expressions for evaluation: sizes are known, so addresses become flat strides. */
#include <inttypes.h>
#include "interpret.h"

/* An element used as a subscript. */
struct loaded {
    struct uk_code *element;
    int64_t extent; /* added to a negative value; 0: negative values do not wrap */
};

static int64_t load_index(struct uk_frame *f, const struct loaded *l) {
    const int64_t v = uk_run_value(f, l->element).i;

    return v < 0 ? v + l->extent : v;
}

int64_t uk_frame_value(const struct uk_var *v, void *frame) {
    const struct uk_frame *f = frame;

    if (v->kind == UK_VAR_LOADED)
        return load_index(frame, v->loaded);
    if (v->definition)
        return uk_index_eval(v->definition, uk_frame_value, frame, &((struct uk_frame *)frame)->overflow);
    return v->kind == UK_VAR_SIZE ? f->size[v->number] : f->slot[v->slot];
}

static bool is_constant(const struct uk_index *e) {
    if (e->op == UK_I_VAR)
        return e->var->kind == UK_VAR_SIZE;
    if (e->op == UK_I_ELEMENT)
        return false;
    return (!e->a || is_constant(e->a)) && (!e->b || is_constant(e->b)) && (!e->c || is_constant(e->c));
}

static bool add_term(struct uk_flat *out, int slot, int64_t coefficient) {
    for (int i = 0; i < out->terms; i++)
        if (out->slot[i] == slot)
            return !__builtin_add_overflow(out->coefficient[i], coefficient, &out->coefficient[i]);
    if (out->terms == UK_FLAT_TERMS)
        return false;
    out->slot[out->terms] = slot;
    out->coefficient[out->terms++] = coefficient;
    return true;
}

static bool add_constant(struct uk_flat *out, int64_t value, int64_t coefficient) {
    int64_t product;

    return !__builtin_mul_overflow(value, coefficient, &product) &&
           !__builtin_add_overflow(out->constant, product, &out->constant);
}

/* A variable whose value is the element's. */
static struct uk_index *load_of(struct uk_frame *f, const struct uk_index *e) {
    struct uk_expr *access = uk_alloc(&f->arena, sizeof *access);
    struct loaded *l = uk_alloc(&f->arena, sizeof *l);
    struct uk_var *v = uk_alloc(&f->arena, sizeof *v);

    if (!access || !l || !v)
        return NULL;
    *access = (struct uk_expr){
        .op = UK_E_ACCESS, .type = e->tensor->type, .access = uk_element_access(e), .at = e->at, .depth = 1};
    *l = (struct loaded){.element = uk_compile_value(f, access, true)};
    if (e->b)
        l->extent = uk_index_eval(e->b, uk_frame_value, f, &f->overflow);
    *v = (struct uk_var){.name = e->tensor->name, .kind = UK_VAR_LOADED, .loaded = l};
    return l->element ? uk_index_var(&f->arena, v) : NULL;
}

/* Replaces elements of tensors in e by variables. */
static const struct uk_index *with_loads(struct uk_frame *f, const struct uk_index *e) {
    if (!uk_has_element(e))
        return e;
    if (e->op == UK_I_ELEMENT)
        return load_of(f, e);
    const struct uk_index *a = with_loads(f, e->a), *b = e->b ? with_loads(f, e->b) : NULL;

    return a && (b || !e->b) ? uk_index_node(&f->arena, e->op, (struct uk_index *)a, (struct uk_index *)b)
                             : NULL;
}

bool uk_flatten(struct uk_frame *f, const struct uk_index *e, int64_t coefficient, struct uk_flat *out) {
    bool overflow = false;
    int64_t c;

    if (is_constant(e)) {
        c = uk_index_eval(e, uk_frame_value, f, &overflow);
        return !overflow && add_constant(out, c, coefficient);
    }
    switch (e->op) {
    case UK_I_VAR:
        if (out->terms < UK_FLAT_TERMS)
            return add_term(out, e->var->slot, coefficient);
        break;
    case UK_I_NEG:
        return coefficient > INT64_MIN && uk_flatten(f, e->a, -coefficient, out);
    case UK_I_ADD:
        return uk_flatten(f, e->a, coefficient, out) && uk_flatten(f, e->b, coefficient, out);
    case UK_I_SUB:
        return coefficient > INT64_MIN && uk_flatten(f, e->a, coefficient, out) &&
               uk_flatten(f, e->b, -coefficient, out);
    case UK_I_MUL:
        if (!is_constant(e->a) && !is_constant(e->b))
            break;
        c = uk_index_eval(is_constant(e->a) ? e->a : e->b, uk_frame_value, f, &overflow);
        return !overflow && !__builtin_mul_overflow(coefficient, c, &c) &&
               uk_flatten(f, is_constant(e->a) ? e->b : e->a, c, out);
    default:
        break;
    }
    if (out->trees == UK_MAX_DIMS)
        return false;
    if (!(e = with_loads(f, e))) {
        f->status = f->status ? f->status : uk_out_of_memory(f->context);
        return false;
    }
    out->tree[out->trees] = e;
    out->tree_coefficient[out->trees++] = coefficient;
    return true;
}

/* Inside the checked ranges nothing overflows. Elsewhere (a padded element) the value only has to be defined,
 * hence unsigned arithmetic. */
int64_t uk_flat_value(struct uk_frame *f, const struct uk_flat *x) {
    uint64_t v = (uint64_t)x->constant;

    for (int i = 0; i < x->terms; i++)
        v += (uint64_t)x->coefficient[i] * (uint64_t)f->slot[x->slot[i]];
    for (int i = 0; i < x->trees; i++)
        v += (uint64_t)x->tree_coefficient[i] *
             (uint64_t)uk_index_eval(x->tree[i], uk_frame_value, f, &f->overflow);
    return uk_wrap_to(UK_I64, v).i;
}

/* Substitutes the access's subscripts for the names in the map's expression. */
static struct uk_index *substitute(struct uk_arena *a, const struct uk_map *m, struct uk_index *const index[],
                                   struct uk_index *e) {
    if (e->op == UK_I_INT)
        return e;
    if (e->op == UK_I_VAR) {
        for (int i = 0; i < m->from_count; i++)
            if (m->from[i] == e->var)
                return index[i];
        return e;
    }
    return uk_index_op(a, e->op, substitute(a, m, index, e->a), e->b ? substitute(a, m, index, e->b) : NULL);
}

bool uk_frame_fail(struct uk_frame *f, enum uk_status status, struct uk_position at, const char *name,
                   const char *what) {
    if (!f->status)
        f->status = uk_fail(f->context, status, at, "%s %s", name, what);
    return false;
}

bool uk_flatten_access(struct uk_frame *f, const struct uk_access *a, bool stored, struct uk_flat *out) {
    const struct uk_tensor *t = a->tensor;
    bool overflow = false;

    *out = (struct uk_flat){.constant = 0};
    for (int i = 0; i < t->stored_dims; i++) {
        struct uk_index *e = a->index[i];
        int64_t stride = uk_index_eval(t->stride[i], uk_frame_value, f, &overflow);

        if (t->layout && !stored)
            e = substitute(&f->arena, t->layout, a->index, t->layout->to[i]);
        if (!e) {
            f->status = uk_out_of_memory(f->context);
            return false;
        }
        if (overflow || !uk_flatten(f, e, stride, out))
            return uk_frame_fail(f, UK_INVALID_SIZE, a->at, t->name,
                                 "has an address that overflows; use smaller sizes or strides");
    }
    return true;
}

struct uk_storage *uk_find_storage(struct uk_frame *f, const struct uk_tensor *t) {
    for (int i = 0; i < f->storages; i++)
        if (f->storage[i].tensor == t)
            return &f->storage[i];
    uk_frame_fail(f, UK_INTERNAL, t->at, t->name, "has no storage; please report this");
    return NULL;
}

static bool compile_pad(struct uk_frame *f, const struct uk_expr *e, struct uk_code *c) {
    const struct uk_access *a = &e->arg[0]->access;
    size_t n = (size_t)a->tensor->dims;
    bool overflow = false;

    c->dims = a->tensor->dims;
    c->logical = uk_alloc(&f->arena, (n + 1) * sizeof *c->logical);
    c->extent = uk_alloc(&f->arena, (n + 1) * sizeof *c->extent);
    if (!c->logical || !c->extent) {
        f->status = uk_out_of_memory(f->context);
        return false;
    }
    for (int i = 0; i < c->dims; i++) {
        c->extent[i] = uk_index_eval(a->tensor->shape[i], uk_frame_value, f, &overflow);
        if (overflow || !uk_flatten(f, a->index[i], 1, &c->logical[i]))
            return uk_frame_fail(f, UK_INVALID_SIZE, a->at, a->tensor->name,
                                 "has a subscript that overflows; use smaller sizes");
    }
    return true;
}

static union uk_value constant_value(struct uk_frame *f, const struct uk_expr *e) {
    if (e->op == UK_E_SCALAR) {
        double v = f->scalar[uk_scalar_number(f->scalars, e->scalar)];

        return uk_convert(UK_F64, e->type, (union uk_value){.d = v});
    }
    if (!uk_type_is_float(e->type))
        return (union uk_value){.i = e->integer};
    if (e->is_integer)
        return uk_convert(UK_I64, e->type, (union uk_value){.i = e->integer});
    return (union uk_value){.d = uk_round_to(e->type, e->number)};
}

struct uk_code *uk_compile_value(struct uk_frame *f, const struct uk_expr *e, bool stored) {
    struct uk_code *c = f->status ? NULL : uk_alloc(&f->arena, sizeof *c);

    if (!c) {
        if (!f->status)
            f->status = uk_out_of_memory(f->context);
        return NULL;
    }
    c->op = e->op;
    c->type = e->type;
    if (e->op == UK_E_NUMBER || e->op == UK_E_SCALAR)
        c->value = constant_value(f, e);
    if (e->op == UK_E_ACCESS && (!uk_flatten_access(f, &e->access, stored, &c->address) ||
                                 !(c->storage = uk_find_storage(f, e->access.tensor))))
        return NULL;
    if (e->op == UK_E_INDEX && !uk_flatten(f, e->index, 1, &c->address)) {
        uk_frame_fail(f, UK_INVALID_SIZE, e->at, "index()", "overflows; use smaller sizes");
        return NULL;
    }
    if (e->op == UK_E_PAD && !compile_pad(f, e, c))
        return NULL;
    for (int i = 0; i < 3 && e->arg[i]; i++)
        if (!(c->arg[i] = uk_compile_value(f, e->arg[i], stored)))
            return NULL;
    c->from = e->arg[0] ? e->arg[0]->type : e->type;
    return c;
}

bool uk_inside(struct uk_frame *f, const struct uk_code *pad) {
    for (int i = 0; i < pad->dims; i++) {
        int64_t v = uk_flat_value(f, &pad->logical[i]);

        if (v < 0 || v >= pad->extent[i])
            return false;
    }
    return true;
}

bool uk_compare_values(enum uk_expr_op op, enum uk_type t, union uk_value a, union uk_value b) {
    bool real = uk_type_is_float(t);
    bool less = real ? a.d < b.d : uk_is_less(t, a, b);
    bool equal = real ? a.d == b.d : a.i == b.i;
    bool more = real ? a.d > b.d : uk_is_less(t, b, a);

    switch (op) {
    case UK_E_EQ:
        return equal;
    case UK_E_NE:
        return !equal;
    case UK_E_LT:
        return less;
    case UK_E_LE:
        return less || equal;
    case UK_E_GT:
        return more;
    default:
        return more || equal;
    }
}

static bool run_condition(struct uk_frame *f, const struct uk_code *c) {
    if (c->op == UK_E_AND)
        return run_condition(f, c->arg[0]) && run_condition(f, c->arg[1]);
    if (c->op == UK_E_OR)
        return run_condition(f, c->arg[0]) || run_condition(f, c->arg[1]);
    if (c->op == UK_E_NOT)
        return !run_condition(f, c->arg[0]);
    return uk_compare_values(c->op, c->from, uk_run_value(f, c->arg[0]), uk_run_value(f, c->arg[1]));
}

/* Addresses in the loop IR are not proved, so each access is checked. */
static union uk_value run_access(struct uk_frame *f, const struct uk_code *c) {
    int64_t at = uk_flat_value(f, &c->address);

    if (at >= 0 && at < c->storage->elements)
        return uk_load(c->type, c->storage->base, uk_record_access(f, c->storage, at, false));
    if (!f->status)
        f->status = uk_fail(f->context, UK_INTERNAL, (struct uk_position){0, 0},
                            "%s is read at element %" PRId64 " of %" PRId64 "; please report this",
                            c->storage->tensor->name, at, c->storage->elements);
    return (union uk_value){.i = 0};
}

union uk_value uk_run_value(struct uk_frame *f, const struct uk_code *c) {
    switch (c->op) {
    case UK_E_NUMBER:
    case UK_E_SCALAR:
        return c->value;
    case UK_E_ACCESS:
        return run_access(f, c);
    case UK_E_INDEX:
        return (union uk_value){.i = uk_flat_value(f, &c->address)};
    case UK_E_CAST:
        return uk_convert(c->from, c->type, uk_run_value(f, c->arg[0]));
    case UK_E_PAD:
        return uk_run_value(f, c->arg[uk_inside(f, c) ? 0 : 1]);
    case UK_E_SELECT:
        return uk_run_value(f, c->arg[run_condition(f, c->arg[0]) ? 1 : 2]);
    default:
        break;
    }
    if (c->arg[1]) {
        union uk_value a = uk_run_value(f, c->arg[0]);

        return uk_binary(c->op, c->type, a, uk_run_value(f, c->arg[1]));
    }
    return uk_unary(c->op, c->type, uk_run_value(f, c->arg[0]));
}

enum uk_expr_op uk_assign_op(enum uk_assign assign) {
    static const enum uk_expr_op ops[] = {UK_E_ADD, UK_E_ADD, UK_E_MUL, UK_E_MAX, UK_E_MIN};

    return ops[assign];
}

void uk_assign_value(enum uk_assign assign, const struct uk_storage *s, int64_t element, union uk_value v) {
    enum uk_type t = s->tensor->type;

    if (assign != UK_ASSIGN)
        v = uk_reduced(uk_assign_op(assign), t, uk_load(t, s->base, element), v);
    uk_store(t, s->base, element, v);
}
