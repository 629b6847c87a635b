/* SPDX-License-Identifier: Apache-2.0 */
/* Printer of programs; the text parses to the same program. */
#include <inttypes.h>
#include <string.h>
#include "language/language.h"

static void put_list(struct uk_text *t, struct uk_index *const list[], int n) {
    uk_put(t, "[");
    for (int i = 0; i < n; i++) {
        uk_put(t, "%s", i ? ", " : "");
        uk_print_index(t, list[i]);
    }
    uk_put(t, "]");
}

/* Prints a stride, a plain product: INT * ID * ID. */
static void put_stride(struct uk_text *t, const struct uk_index *e) {
    if (e->op == UK_I_MUL) {
        put_stride(t, e->a);
        uk_put(t, " * ");
        put_stride(t, e->b);
    } else {
        uk_print_index(t, e);
    }
}

void uk_print_map(struct uk_text *t, const struct uk_map *m) {
    uk_put(t, "(");
    for (int i = 0; i < m->from_count; i++)
        uk_put(t, "%s%s", i ? ", " : "", m->from[i]->name);
    uk_put(t, ") -> ");
    if (m->lane) {
        uk_put(t, "lane ");
        uk_print_index(t, m->lane);
        uk_put(t, ", ");
    }
    put_list(t, m->to, m->to_count);
}

static void put_tensor(struct uk_text *t, const struct uk_tensor *x) {
    uk_put(t, "%s %s %s ", x->kind == UK_TENSOR_TEMP ? "temp" : "tensor", x->name, uk_type_name(x->type));
    put_list(t, x->shape, x->dims);
    if (x->layout) {
        uk_put(t, " layout ");
        uk_print_map(t, x->layout);
    }
    if (x->has_strides) {
        uk_put(t, " stride [");
        for (int i = 0; i < x->stored_dims; i++) {
            uk_put(t, "%s", i ? ", " : "");
            put_stride(t, x->stride[i]);
        }
        uk_put(t, "]");
    }
    if (x->align)
        uk_put(t, " align %d", x->align);
    if (x->has_over) {
        uk_put(t, " over ");
        put_list(t, x->over, x->dims);
    }
    if (x->scope != UK_SCOPE_GLOBAL)
        uk_put(t, " in %s", uk_scope_names[x->scope]);
    uk_put(t, "%s%s\n", x->is_constant ? " constant" : "", x->is_finite ? " finite" : "");
}

/* Prints the left side. An offset of 0 is printed, since it means that a part of the tensor is written. */
static void put_left(struct uk_text *t, const struct uk_access *a) {
    uk_put(t, "%s[", a->tensor->name);
    for (int d = 0; d < a->tensor->dims; d++) {
        uk_put(t, "%s", d ? ", " : "");
        uk_print_index(t, a->index[d]);
        uk_put(t, "%s", a->index[d]->is_offset ? " + 0" : "");
    }
    uk_put(t, "]");
}

void uk_print_statement(struct uk_text *t, const struct uk_statement *s) {
    static const char *const assigns[] = {"=", "+=", "*=", "max=", "min="};
    static const char *const reduces[] = {"", "sum", "prod", "max", "min"};

    if (s->has_label)
        uk_put(t, "%s: ", s->label);
    put_left(t, &s->left);
    uk_put(t, " %s ", assigns[s->assign]);
    if (s->reduce) {
        uk_put(t, "%s%s(", s->scan ? "scan " : "", reduces[s->reduce]);
        for (int i = 0; i < s->reduced; i++)
            uk_put(t, "%s%s", i ? ", " : "", s->reduced_iterator[i]->name);
        if (s->where) {
            uk_put(t, " where ");
            uk_print_index(t, s->where);
        }
        uk_put(t, ") ");
    }
    uk_print_expr(t, s->right);
    for (int i = 0; i < s->ranges; i++) {
        uk_put(t, "%s%s < ", i ? " and " : " where ", s->ranged[i]->name);
        uk_print_index(t, s->range[i]);
    }
}

static const char *ctype_name(int ctype) {
    return ctype == UK_CTYPE_PTR ? "ptr" : ctype == UK_CTYPE_VOID ? "void" : uk_type_name(ctype);
}

static void put_argument(struct uk_text *t, const struct uk_argument *a) {
    struct uk_expr number = {.op = UK_E_NUMBER,
                             .number = a->real,
                             .is_integer = a->real == (double)a->number,
                             .integer = a->number};

    uk_put(t, "%s ", a->hint ? "hint" : ctype_name(a->ctype));
    if (a->hint)
        uk_put(t, "%s", a->hint->name);
    else if (a->tensor || a->size || a->scalar)
        uk_put(t, "%s", a->tensor ? a->tensor->name : a->size ? a->size->name : a->scalar->name);
    else
        uk_print_expr(t, &number);
}

static void put_form(struct uk_text *t, const char *word, const struct uk_form *f) {
    if (!f->is_declared)
        return;
    uk_put(t, "  %s %s %s(", word, ctype_name(f->result), f->symbol);
    for (int i = 0; i < f->arguments; i++) {
        uk_put(t, "%s", i ? ", " : "");
        put_argument(t, &f->argument[i]);
    }
    uk_put(t, ")\n");
}

static void put_items(struct uk_text *t, const struct uk_program *p, const char *indent) {
    for (const struct uk_tensor *x = p->tensors; x; x = x->next) {
        uk_put(t, "%s", indent);
        put_tensor(t, x);
    }
    for (const struct uk_scalar *s = p->scalars; s; s = s->next)
        uk_put(t, "%sscalar %s %s\n", indent, s->name, uk_type_name(s->type));
    for (const struct uk_assume *a = p->assumes; a; a = a->next) {
        uk_put(t, "%sassume ", indent);
        uk_print_index(t, a->relation);
        uk_put(t, "\n");
    }
    for (const struct uk_statement *s = p->statements; s; s = s->next) {
        uk_put(t, "%s", indent);
        uk_print_statement(t, s);
        uk_put(t, "\n");
    }
}

/* True if the sizes in e first appear in the order of their numbers; `expected` is the next new one's. */
static bool in_order(const struct uk_index *e, int *expected) {
    if (!e)
        return true;
    if (e->op == UK_I_VAR && e->var->kind == UK_VAR_SIZE) {
        if (e->var->number > *expected)
            return false;
        *expected += e->var->number == *expected;
    }
    return in_order(e->a, expected) && in_order(e->b, expected);
}

/* True if a `size` item with the first n sizes preserves the order of all sizes. */
static bool keeps_order(const struct uk_program *p, int n) {
    for (const struct uk_tensor *x = p->tensors; x; x = x->next) {
        for (int i = 0; i < x->dims; i++)
            if (!in_order(x->shape[i], &n))
                return false;
        for (int i = 0; i < x->stored_dims && x->has_strides; i++)
            if (!in_order(x->stride[i], &n))
                return false;
        for (int i = 0; i < x->dims && x->has_over; i++)
            if (!in_order(x->over[i], &n))
                return false;
    }
    return n == p->size_count;
}

static void put_sizes(struct uk_text *t, const struct uk_program *p, const char *indent) {
    int n = 0;

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (v->has_default)
            n = v->number + 1;
    while (n < p->size_count && !keeps_order(p, n))
        n++;
    for (const struct uk_var *v = p->sizes; v && v->number < n; v = v->next) {
        if (!v->number)
            uk_put(t, "%ssize ", indent);
        uk_put(t, "%s%s", v->number ? ", " : "", v->name);
        if (v->has_default)
            uk_put(t, " = %" PRId64, v->default_value);
    }
    if (n)
        uk_put(t, "\n");
}

static void put_intrinsic(struct uk_text *t, const struct uk_intrinsic *i) {
    static const char *const exec[] = {"thread", "wave", "block"};
    static const char *const forms[UK_FORMS] = {"compute", "reset", "update"};

    uk_put(t, "intrinsic %s", i->name);
    for (int k = 0; k < i->required; k++)
        uk_put(t, "%s%s", k ? ", " : " requires ", i->requires_feature[k]);
    if (i->state == UK_STATE_TILES)
        uk_put(t, " state tiles");
    if (i->scope != UK_EXEC_THREAD)
        uk_put(t, " scope %s", exec[i->scope]);
    uk_put(t, "\n");
    put_sizes(t, i->declaration, "  ");
    put_items(t, i->declaration, "  ");
    for (int k = 0; k < UK_FORMS; k++)
        put_form(t, forms[k], &i->form[k]);
    uk_put(t, "end\n");
}

void uk_print_program(struct uk_text *t, const struct uk_program *p) {
    put_sizes(t, p, "");
    for (const struct uk_import *i = p->imports; i; i = i->next)
        uk_print_import(t, i);
    for (const struct uk_intrinsic *i = p->intrinsics; i; i = i->next)
        put_intrinsic(t, i);
    put_items(t, p, "");
    if (p->has_schedule)
        uk_put(t, p->versions ? "\n" : "\nschedule\n");
    uk_print_steps(t, p);
}
