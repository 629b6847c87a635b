/*
 * Proves that a nest of loops is what an intrinsic declares, or says where they differ.
 *
 * The operands are paired by the expression trees, up to commutativity. An axis of the declaration is a loop
 * of the nest if, for every operand, one step of either moves the address by the same amount; strides that
 * the declaration names are bound to what stands here. Coefficients are polynomials over the sizes, compared
 * exactly. What is left are facts about all tiles (extents, alignment, memory read past the box): those that
 * a split makes obvious are read off, the rest is asked of isl.
 */
#include <string.h>
#include "match.h"

/* Keeps the reason of the attempt that got furthest. */
bool uk_differ(struct uk_attempt *t, const char *format, ...) {
    va_list ap;
    char text[512];

    if (t->score <= t->best)
        return false;
    t->best = t->score;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    t->why->length = 0;
    uk_put(t->why, "%s", text);
    return false;
}

static const char *poly_text(struct uk_attempt *t, const struct uk_poly *p) {
    struct uk_text text = {0};

    if (p->terms < 0)
        return "not a constant";
    uk_print_index(&text, uk_poly_index(t->s->arena, p));
    const char *copy = text.text ? uk_strdup(t->s->arena, text.text) : NULL;
    uk_text_free(text.text);
    return copy ? copy : "?";
}

int uk_tensor_number(const struct uk_program *p, const struct uk_tensor *t) {
    int n = 0;

    for (const struct uk_tensor *o = p->tensors; o; o = o->next, n++)
        if (o == t)
            return n;
    return -1;
}

/* ---- expressions ---- */

static const char *operation_name(const struct uk_expr *e) {
    switch (e->op) {
    case UK_E_NUMBER:
        return "a number";
    case UK_E_SCALAR:
        return "a scalar";
    case UK_E_ACCESS:
        return "an element";
    case UK_E_ADD:
        return "+";
    case UK_E_SUB:
        return "-";
    case UK_E_MUL:
        return "*";
    case UK_E_DIV:
        return "/";
    case UK_E_MIN:
        return "min";
    case UK_E_MAX:
        return "max";
    case UK_E_PAD:
        return "pad";
    case UK_E_CAST:
        return "a conversion";
    case UK_E_SELECT:
        return "select";
    default:
        return "another operation";
    }
}

static bool pair(struct uk_attempt *t, const struct uk_access *ka, int operand) {
    int n = uk_tensor_number(t->k->declaration, ka->tensor);
    const struct uk_operand *o = &t->st->operand[operand];

    if (t->m.operand[n] >= 0)
        return uk_differ(t, "%s stands twice in the declaration; one access each is matched",
                         ka->tensor->name);
    if (ka->tensor->type != o->tensor->type)
        return uk_differ(t, "%s has the type %s, %s of the kernel has %s", o->tensor->name,
                         uk_type_names[o->tensor->type], ka->tensor->name, uk_type_names[ka->tensor->type]);
    t->m.operand[n] = operand;
    t->access[n] = ka;
    t->score++;
    return true;
}

static int operand_of(const struct uk_stage *st, const struct uk_expr *e) {
    for (int o = 1; o < st->operands; o++)
        if (st->operand[o].expr == e)
            return o;
    return -1;
}

/* A pad whose outside adds nothing to the sum: guards are all that is left of it. */
static bool is_left_out(const struct uk_stage *st, const struct uk_expr *pad) {
    int o = operand_of(st, pad->arg[0]);

    return o >= 0 && st->operand[o].pad != UK_PAD_VALUE;
}

static double value_of(const struct uk_expr *number) {
    return number->is_integer ? (double)number->integer : number->number;
}

static bool same_expression(struct uk_attempt *t, const struct uk_expr *k, const struct uk_expr *e) {
    while (e->op == UK_E_PAD && is_left_out(t->st, e))
        e = e->arg[0];
    bool commutes = k->op == UK_E_ADD || k->op == UK_E_MUL || k->op == UK_E_MIN || k->op == UK_E_MAX;

    if (k->op != e->op)
        return uk_differ(t, "the expression has %s here, %s in the kernel", operation_name(e),
                         operation_name(k));
    t->score++;
    switch (k->op) {
    case UK_E_ACCESS:
        return pair(t, &k->access, operand_of(t->st, e));
    case UK_E_NUMBER:
        return value_of(k) == value_of(e) ||
               uk_differ(t, "the number %g here is %g in the kernel", value_of(e), value_of(k));
    case UK_E_SCALAR:
    case UK_E_INDEX:
        return uk_differ(t, "%s in a kernel's expression is not built yet", operation_name(k));
    case UK_E_CAST:
        if (k->type != e->type)
            return uk_differ(t, "a conversion to %s here, to %s in the kernel", uk_type_names[e->type],
                             uk_type_names[k->type]);
        break;
    case UK_E_PAD: {
        int n = uk_tensor_number(t->k->declaration, k->arg[0]->access.tensor);

        t->padded[n] = true;
        break;
    }
    default:
        break;
    }
    bool swap = commutes && (t->swap >> t->node++ & 1);
    for (int i = 0; i < 3; i++) {
        const struct uk_expr *x = e->arg[swap && i < 2 ? 1 - i : i];

        if ((k->arg[i] == NULL) != (x == NULL))
            return uk_differ(t, "the expressions have another form");
        if (x && !same_expression(t, k->arg[i], x))
            return false;
    }
    return true;
}

/* ---- coefficients ---- */

/* How far one step along the declaration's axis moves the address of its tensor. */
static struct uk_poly declared_coefficient(const struct uk_attempt *t, int tensor, int axis) {
    const struct uk_access *a = t->access[tensor];
    struct uk_poly sum = {0};

    for (int d = 0; d < a->tensor->dims; d++) {
        struct uk_poly index = uk_poly_of(a->index[d]), stride = uk_poly_of(a->tensor->stride[d]);
        struct uk_poly step = {0};

        for (int i = 0; i < index.terms; i++)
            if (index.term[i].atoms == 1 && index.term[i].atom[0]->op == UK_I_VAR &&
                index.term[i].atom[0]->var == t->ks->iterator[axis]) {
                step.terms = 1;
                step.term[0].factor = index.term[i].factor;
            }
        step = uk_poly_multiply(&step, &stride);
        sum = uk_poly_add(sum, &step, 1);
    }
    return sum;
}

/* The width of the panel that the declaration reads, if it is one that pack makes: strides 1 and w over two
 * axes. */
static int64_t panel_width(struct uk_attempt *t, int tensor, int *lane) {
    int64_t width = 0, c;

    *lane = -1;
    for (int v = 0; v < t->ks->iterators; v++) {
        struct uk_poly p = declared_coefficient(t, tensor, v);

        if (!uk_poly_is_int(&p, &c))
            return 0;
        if (c == 1)
            *lane = v;
        width = c > width ? c : width;
    }
    return *lane >= 0 && width > 1 && t->m.operand[tensor] != 0 ? width : 0;
}

/* A step that would make the difference go away: the declaration's panel is one that pack makes. */
static const char *advice(struct uk_attempt *t, int tensor, const struct uk_operand *o) {
    int lane;
    int64_t width = panel_width(t, tensor, &lane);

    if (!width)
        return "";
    const char *text = o->tensor->kind == UK_TENSOR_PACKED
                           ? uk_format(t->s->arena, "; pack with panel %lld instead", (long long)width)
                           : uk_format(t->s->arena, "; pack %s with panel %lld outside of this loop",
                                       o->tensor->name, (long long)width);
    return text ? text : "";
}

static bool same_step(struct uk_attempt *t, int tensor, int axis, const struct uk_loop *l) {
    const struct uk_operand *o = &t->st->operand[t->m.operand[tensor]];
    struct uk_poly want = declared_coefficient(t, tensor, axis), have = uk_coefficient(o, l->id);
    int64_t c;

    if (have.terms < 0)
        return uk_differ(
            t, "%s: its index is not a sum of the loops from %s on%s", o->tensor->name,
            t->st->loop[t->tile]->var->name,
            o->tensor->kind == UK_TENSOR_PACKED
                ? "; split the packed axis by the panel's width, or pack with a panel as wide as the tile"
                : "");
    if (!uk_poly_is_int(&want, &c) && want.terms == 1 && want.term[0].atoms == 1 &&
        want.term[0].factor == 1 && want.term[0].atom[0]->op == UK_I_VAR &&
        want.term[0].atom[0]->var->kind == UK_VAR_SIZE) {
        const struct uk_var *v = want.term[0].atom[0]->var;

        if (!t->m.size[v->number].bound) {
            t->m.size[v->number].bound = true;
            t->m.size[v->number].value = have;
            t->score += 2;
            return true;
        }
        want = t->m.size[v->number].value;
    }
    if (uk_poly_equal(&want, &have)) {
        t->score += 2;
        return true;
    }
    if (t->fit && o->tensor->kind != UK_TENSOR_PACKED && (want.terms == 0) == (have.terms == 0)) {
        int lane, n = t->m.operand[tensor];

        t->fit->panel[n].width = panel_width(t, tensor, &lane);
        t->fit->panel[n].lane = lane;
        if (t->fit->panel[n].width)
            return true;
    }
    return uk_differ(t, "%s: coefficient of %s (loop %s) is %s in %s, but %s here%s", o->tensor->name,
                     t->ks->iterator[axis]->name, l->var->name, poly_text(t, &want), t->k->name,
                     poly_text(t, &have), advice(t, tensor, o));
}

static bool is_used(const struct uk_attempt *t, const struct uk_loop *l, int axes) {
    for (int v = 0; v < axes; v++)
        if (t->m.axis[v] == l)
            return true;
    return false;
}

/* Axes one after the other, each with a loop whose coefficients agree; backs up only where several agree. */
static bool assign_axes(struct uk_attempt *t, int axis) {
    if (axis == t->ks->iterators)
        return true;
    bool reduced = axis >= t->ks->left_iterators, found = false;

    for (int i = t->st->loops - 1; i >= t->tile;
         i--) { /* of equals, the innermost: loops that are left stay outside */
        struct uk_loop *l = t->st->loop[i];

        if (is_used(t, l, axis) || uk_is_reduced(t->st, l) != reduced)
            continue;
        struct uk_match saved = t->m;
        struct uk_fit fit = t->fit ? *t->fit : (struct uk_fit){0};
        int score = t->score;
        bool same = true;

        found = true;
        for (int n = 0; n < t->m.tensors && same; n++)
            same = same_step(t, n, axis, l);
        t->m.axis[axis] = l;
        if (same && assign_axes(t, axis + 1))
            return true;
        t->m = saved;
        t->score = score;
        if (t->fit)
            *t->fit = fit;
    }
    return found ? false
                 : uk_differ(t, "the kernel's axis %s is %s; no loop from %s on is",
                             t->ks->iterator[axis]->name, reduced ? "summed over" : "an axis of the output",
                             t->st->loop[t->tile]->var->name);
}

static bool unify(struct uk_attempt *t) {
    struct uk_match empty = t->m;
    int commutative = 0;

    t->swap = 0;
    do {
        t->m = empty;
        t->node = t->score = 0;
        memset(t->padded, 0, sizeof t->padded);
        if (pair(t, &t->ks->left, 0) && same_expression(t, t->ks->right, t->st->statement->right) &&
            assign_axes(t, 0))
            return true;
        commutative = t->node > commutative ? t->node : commutative;
        t->swap++;
    } while (commutative < 8 && t->swap < 1u << commutative);
    return false;
}

static bool prove(struct uk_attempt *t) {
    int inner = t->st->loops - t->tile;

    if (!uk_match_forms(t))
        return false;
    if (inner != t->ks->iterators)
        return uk_differ(t, "%d loops from %s on, the kernel has %d axes", inner,
                         t->st->loop[t->tile]->var->name, t->ks->iterators);
    if (!unify(t))
        return false;
    t->score = 1 << 20; /* from here on, every difference is the one to report */
    return uk_match_roles(t) && uk_match_tiles(t);
}

static enum uk_status begin(struct uk_schedule *s, struct uk_stage *st, int tile, struct uk_intrinsic *i,
                            struct uk_text *why, struct uk_attempt **out) {
    struct uk_attempt *t = *out = uk_alloc(s->arena, sizeof *t);

    if (!t)
        return uk_out_of_memory(s->context);
    *t = (struct uk_attempt){
        .s = s, .st = st, .tile = tile, .k = i, .ks = i->declaration->statements, .best = -1, .why = why};
    t->m.intrinsic = i;
    t->m.axes = t->ks->iterators;
    for (int n = 0; n < UK_MAX_OPERANDS; n++)
        t->m.operand[n] = -1;
    for (const struct uk_tensor *x = i->declaration->tensors; x; x = x->next)
        t->m.tensors++;
    t->m.sizes = i->declaration->size_count;
    if (t->m.tensors > UK_MAX_OPERANDS || t->m.sizes > UK_MAX_SIZES) {
        uk_put(why, "the declaration has more than %d tensors or %d sizes", UK_MAX_OPERANDS, UK_MAX_SIZES);
        return UK_NO_MATCH;
    }
    return UK_OK;
}

/* The axis' largest extent: a number in the declaration, or `I <= 14` among its assumptions. */
static int64_t most_along(const struct uk_attempt *t, int axis) {
    const struct uk_index *e = t->ks->extent[axis];
    int64_t c, least = 0;

    if (uk_index_is_int(e, &c))
        return c;
    for (const struct uk_assume *a = t->k->declaration->assumes; a; a = a->next)
        if (a->relation->op == UK_I_LE && a->relation->a->op == UK_I_VAR && a->relation->a->var == e->var &&
            uk_index_is_int(a->relation->b, &c))
            least = least && least < c ? least : c;
    return least;
}

enum uk_status uk_match(struct uk_schedule *s, struct uk_stage *st, int tile, struct uk_intrinsic *i,
                        struct uk_match **out, struct uk_text *why) {
    struct uk_attempt *t;
    enum uk_status status = begin(s, st, tile, i, why, &t);

    *out = NULL;
    if (status)
        return status;
    if (prove(t)) {
        for (int v = 0; v < t->m.axes; v++)
            t->m.most[v] = most_along(t, v);
        *out = &t->m;
        return UK_OK;
    }
    return s->context->failed ? UK_REFUSED : UK_NO_MATCH;
}

enum uk_status uk_fits(struct uk_schedule *s, struct uk_stage *st, struct uk_intrinsic *i, struct uk_fit *out,
                       struct uk_text *why) {
    struct uk_attempt *t;
    enum uk_status status = begin(s, st, 0, i, why, &t);

    *out = (struct uk_fit){.intrinsic = i};
    if (status)
        return status;
    t->fit = out;
    if (!uk_match_forms(t) || !unify(t) || !uk_match_roles(t))
        return s->context->failed ? UK_REFUSED : UK_NO_MATCH;
    if (st->statement->reduce != UK_REDUCE_NONE && !i->form[UK_FORM_UPDATE].given) {
        uk_differ(t, "the sum has to be split, and the kernel has no `update`");
        return UK_NO_MATCH;
    }
    out->axes = t->ks->iterators;
    memcpy(out->axis, t->m.axis, sizeof out->axis);
    for (int v = 0; v < out->axes; v++)
        out->most[v] = most_along(t, v);
    for (int o = 1; o < st->operands; o++) {
        if (!out->panel[o].width)
            continue;
        const struct uk_loop *lane = out->axis[out->panel[o].lane];

        out->panel[o].along = -1;
        for (int d = 0; d < st->operand[o].tensor->dims; d++)
            if (st->operand[o].index[d].coefficient[lane->id])
                out->panel[o].along = d;
    }
    return UK_OK;
}
