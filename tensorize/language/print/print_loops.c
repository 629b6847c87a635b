/* SPDX-License-Identifier: Apache-2.0 */
/* Printer of the loop IR, for people and golden tests. */
#include <inttypes.h>
#include "language/language.h"

static void indent(struct uk_text *t, int depth) {
    uk_put(t, "%*s", 2 * depth, "");
}

static void put_for(struct uk_text *t, const struct uk_node *n) {
    static const char *const kinds[] = {"", " parallel", " unrolled", " vector", " block", " thread"};

    uk_put(t, "for %s in ", n->var->name);
    uk_print_index(t, n->lower);
    uk_put(t, " .. ");
    uk_print_index(t, n->upper);
    if (n->step != 1)
        uk_put(t, " step %" PRId64, n->step);
    uk_put(t, "%s", kinds[n->loop]);
    if (n->loop == UK_LOOP_THREAD && n->axis == UK_AXES)
        uk_put(t, " / %" PRId64, n->weight);
    else if (n->loop == UK_LOOP_BLOCK || n->loop == UK_LOOP_THREAD)
        uk_put(t, ".%c", 'x' + n->axis);
    uk_put(t, "\n");
}

/* launch grid [(N - 1) / 64 + 1, 1, 1] block [64, 1, 1] */
static void put_launch(struct uk_text *t, const struct uk_node *n) {
    uk_put(t, "launch grid [");
    for (int a = 0; a < UK_AXES; a++) {
        uk_put(t, a ? ", " : "");
        uk_print_index(t, n->grid[a]);
    }
    uk_put(t, "] block [%" PRId64 ", %" PRId64 ", %" PRId64 "]\n", n->block[0], n->block[1], n->block[2]);
}

/* call KERNEL form: P = value, ..., a = A_packed[mo, kc, 0], ... */
static void put_call(struct uk_text *t, const struct uk_node *n) {
    static const char *const forms[UK_FORMS] = {"compute", "reset", "update"};
    const char *before = ": ";
    int64_t none;
    int i = 0;

    uk_put(t, "call %s %s", n->intrinsic->name, forms[n->form]);
    for (const struct uk_var *v = n->intrinsic->declaration->sizes; v; v = v->next) {
        uk_put(t, "%s%s = ", before, v->name);
        uk_print_index(t, n->bind[v->number]);
        before = ", ";
    }
    for (const struct uk_scalar *x = n->intrinsic->declaration->scalars; x; x = x->next) {
        uk_put(t, "%s%s = ", before, x->name);
        uk_print_expr(t, n->scalar[uk_scalar_number(n->intrinsic->declaration->scalars, x)]);
        before = ", ";
    }
    for (const struct uk_tensor *x = n->intrinsic->declaration->tensors; x; x = x->next) {
        uk_put(t, "%s%s = ", before, x->name);
        uk_print_access(t, &n->operand[i], n->operand[i].tensor->stored_dims);
        before = ", ";
        i++;
    }
    if (n->ahead) {
        uk_put(t, "%shint = ", before);
        uk_print_access(t, n->ahead, n->ahead->tensor->stored_dims);
        if (!uk_index_is_int(n->part, &none) || none) {
            uk_put(t, " + ");
            uk_print_index(t, n->part);
        }
    }
    uk_put(t, "\n");
}

static void put_store(struct uk_text *t, const struct uk_node *n) {
    static const char *const assigns[] = {"=", "+=", "*=", "max=", "min="};

    uk_print_access(t, &n->target, n->target.tensor->stored_dims);
    uk_put(t, " %s ", assigns[n->assign]);
    uk_print_expr(t, n->expr);
    uk_put(t, "\n");
}

/* check 0 <= I[k] < V */
static void put_check(struct uk_text *t, const struct uk_node *n) {
    uk_put(t, "check ");
    uk_print_index(t, n->lower);
    uk_put(t, " <= ");
    uk_print_index(t, n->value);
    uk_put(t, " < ");
    uk_print_index(t, n->upper);
    uk_put(t, "\n");
}

static void put_nodes(struct uk_text *t, const struct uk_node *n, int depth) {
    for (; n; n = n->next) {
        indent(t, depth);
        switch (n->op) {
        case UK_N_FOR:
            put_for(t, n);
            put_nodes(t, n->body, depth + 1);
            break;
        case UK_N_BARRIER:
            uk_put(t, "barrier\n");
            break;
        case UK_N_CHECK:
            put_check(t, n);
            break;
        case UK_N_LAUNCH:
            put_launch(t, n);
            put_nodes(t, n->body, depth + 1);
            break;
        case UK_N_IF:
            uk_put(t, "if ");
            uk_print_index(t, n->condition);
            uk_put(t, "\n");
            put_nodes(t, n->body, depth + 1);
            if (n->other) {
                indent(t, depth);
                uk_put(t, "else\n");
                put_nodes(t, n->other, depth + 1);
            }
            break;
        case UK_N_LET:
            uk_put(t, "let %s = ", n->var->name);
            uk_print_index(t, n->value);
            uk_put(t, "\n");
            put_nodes(t, n->body, depth); /* the rest of the block is in the name's scope */
            break;
        case UK_N_CALL:
            put_call(t, n);
            break;
        case UK_N_STORE:
            put_store(t, n);
            break;
        }
    }
}

static void put_signature(struct uk_text *t, const struct uk_function *f) {
    const char *between = "";

    uk_put(t, "%s(", f->name);
    for (const struct uk_var *v = f->program->sizes; v; v = v->next)
        if (!v->defined) {
            uk_put(t, "%s%s", between, v->name);
            between = ", ";
        }
    if (f->scalars)
        between = *between ? "; " : "";
    for (const struct uk_scalar *s = f->scalars; s; s = s->next) {
        uk_put(t, "%s%s", between, s->name);
        between = ", ";
    }
    between = *between ? "; " : "";
    for (int i = 0; i < f->tensors; i++)
        if (f->tensor[i]->kind == UK_TENSOR_ARGUMENT) {
            uk_put(t, "%s%s", between, f->tensor[i]->name);
            between = ", ";
        }
    uk_put(t, ")\n");
}

static void put_function(struct uk_text *t, const struct uk_function *f) {
    put_signature(t, f);
    for (const struct uk_entry_check *c = f->checks; c; c = c->next)
        uk_put(t, "  check %s\n", c->text);
    for (const struct uk_buffer *b = f->buffers; b; b = b->next) {
        uk_put(t, "  buffer %s %s [", b->tensor->name, uk_type_name(b->tensor->type));
        uk_print_index(t, b->elements);
        uk_put(t, "] %s",
               b->tensor->scope == UK_SCOPE_SHARED     ? "in shared"
               : b->tensor->scope == UK_SCOPE_REGISTER ? "in register"
               : b->per_thread                         ? "per thread"
                                                       : "shared by all threads");
        if (b->inside)
            uk_put(t, ", inside %s", b->inside);
        uk_put(t, "\n");
    }
    for (const struct uk_alias *a = f->aliases; a; a = a->next)
        uk_put(t, "  %s lives in %s\n", a->tensor->name, a->home->name);
    for (const struct uk_section *c = f->sections; c; c = c->next) {
        uk_put(t, "  %s at byte ", c->tensor->name);
        uk_print_index(t, c->offset);
        uk_put(t, " of %s\n", c->home->name);
    }
    put_nodes(t, f->body, 1);
}

void uk_print_loops(struct uk_text *t, const struct uk_function *f) {
    for (const struct uk_function_version *v = f->versions; v; v = v->next) {
        uk_put(t, "# ");
        uk_print_condition(t, v->condition);
        uk_print_loops(t, v->function);
    }
    if (f->versions)
        return;
    put_function(t, f);
    for (const struct uk_packed *p = f->packed; p; p = p->next) {
        uk_put(t, "%s: ", p->size_name);
        uk_print_index(t, p->bytes);
        uk_put(t, "\n");
        put_function(t, p->pack);
    }
}
