/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of kernels' declarations: what a kernel computes, and how it is called. */
#include <stdlib.h>
#include <string.h>
#include "language/parse.h"

/* Takes a feature's name, which may also be that of a type (AArch64's bf16), and in which hyphens may join
 * parts (x86's amx-tile). */
static const char *expect_feature(struct uk_parser *ps) {
    enum uk_type type = uk_accept_type(ps);
    const char *name = type == UK_TYPES ? uk_expect_name(ps, "a feature") : uk_type_name(type);

    while (name && uk_accept(ps, "-")) {
        const struct uk_token *t = ps->t;

        if (t->kind != UK_T_WORD) {
            uk_expected(ps, "a feature", "a hyphen joins two words");
            return NULL;
        }
        ps->t++;
        name = uk_program_check_memory(ps->p, uk_format(&ps->p->arena, "%s-%.*s", name, (int)t->n, t->s));
    }
    return name;
}

static bool parse_requires(struct uk_parser *ps, struct uk_intrinsic *i) {
    size_t room = 1;

    for (const struct uk_token *t = ps->t; t->kind == UK_T_WORD || uk_token_is(t, ","); t++)
        room++;
    i->requires_feature =
        uk_program_check_memory(ps->p, uk_alloc(&ps->p->arena, room * sizeof *i->requires_feature));
    if (!i->requires_feature)
        return false;
    do {
        if (!(i->requires_feature[i->required++] = expect_feature(ps)))
            return false;
    } while (uk_accept(ps, ","));
    return true;
}

static bool parse_state(struct uk_parser *ps, enum uk_state *state) {
    *state = UK_STATE_TILES;
    return uk_accept(ps, "tiles") ||
           uk_expected(ps, "a state",
                       "the only one is tiles: x86's matrix tiles, as uk_state_load configures them");
}

static bool parse_exec_scope(struct uk_parser *ps, enum uk_exec_scope *scope) {
    static const char *const names[] = {"thread", "wave", "block"};

    for (int i = 0; i < 3; i++)
        if (uk_accept(ps, names[i])) {
            *scope = (enum uk_exec_scope)i;
            return true;
        }
    return uk_expected(ps, "an execution scope", "scopes of a kernel are thread, wave and block");
}

static bool parse_ctype(struct uk_parser *ps, int *ctype) {
    enum uk_type type = uk_accept_type(ps);

    if (type != UK_TYPES)
        *ctype = (int)type;
    else if (uk_accept(ps, "ptr"))
        *ctype = UK_CTYPE_PTR;
    else if (uk_accept(ps, "void"))
        *ctype = UK_CTYPE_VOID;
    else {
        const char *types =
            uk_program_check_memory(ps->p, uk_list_types(&ps->p->arena, "they are ptr, void, "));

        return types && uk_expected(ps, "a C type", types);
    }
    return true;
}

static bool parse_number_argument(struct uk_parser *ps, struct uk_argument *a) {
    const struct uk_token *t = ps->t;

    if (a->ctype >= UK_TYPES)
        return uk_program_fail(ps->p, UK_REFUSED, t->at, "a number is passed as %s; give it a number's type",
                               a->ctype == UK_CTYPE_PTR ? "ptr" : "void");
    if (t->kind == UK_T_INT) {
        if (!uk_expect_int(ps, "a number", &a->number))
            return false;
        a->real = (double)a->number;
        return true;
    }
    if (!uk_type_is_float((enum uk_type)a->ctype))
        return uk_program_fail(ps->p, UK_REFUSED, t->at, "%.*s is not an integer; its type is %s",
                               (int)(t->n < 40 ? t->n : 40), t->s, uk_type_name(a->ctype));
    char *text = uk_program_check_memory(ps->p, uk_strndup(&ps->p->arena, t->s, t->n));

    if (!text || !uk_text_to_double(text, &a->real))
        return uk_program_check_memory(ps->p, NULL);
    ps->t++;
    return true;
}

/* Parses one argument of the C function. Its name is resolved once the whole declaration is parsed. */
static bool parse_argument(struct uk_parser *ps, struct uk_argument *a, const char **name) {
    *name = NULL;
    if (!parse_ctype(ps, &a->ctype))
        return false;
    if (ps->t->kind == UK_T_INT || ps->t->kind == UK_T_NUMBER)
        return parse_number_argument(ps, a);
    return (*name = uk_expect_name(ps, "a name or a number"));
}

/* Resolves the name: a tensor as ptr, a size as an integer, a scalar as its own type. */
static bool resolve_argument(struct uk_parser *ps, struct uk_argument *a, const char *name,
                             struct uk_position at) {
    bool integer = a->ctype < UK_TYPES && !uk_type_is_float((enum uk_type)a->ctype);

    a->tensor = uk_find_tensor(ps->p, name);
    a->scalar = uk_find_scalar(ps->p, name);
    a->size = uk_find_var(ps->p->sizes, name);
    if (!a->tensor && !a->scalar && !a->size)
        return uk_program_fail(
            ps->p, UK_REFUSED, at,
            "%s is not a tensor, size or scalar of the declaration; pass one of these or a number", name);
    if (a->tensor && a->ctype != UK_CTYPE_PTR)
        return uk_program_fail(ps->p, UK_REFUSED, at, "%s is a tensor; pass it as ptr", name);
    if (a->size && !integer)
        return uk_program_fail(ps->p, UK_REFUSED, at, "%s is a size; pass it as i64 or a narrower integer",
                               name);
    if (a->scalar && a->ctype != (int)a->scalar->type)
        return uk_program_fail(ps->p, UK_REFUSED, at, "%s is a scalar of type %s; pass it as that", name,
                               uk_type_name(a->scalar->type));
    return true;
}

/* Parses what follows the word `hint`: an operand that is only read. */
static bool parse_hint(struct uk_parser *ps, struct uk_argument *a) {
    const struct uk_position at = ps->t->at;
    const char *name = uk_expect_name(ps, "a tensor");

    if (!name)
        return false;
    a->ctype = (int)UK_I64;
    if (!(a->hint = uk_find_tensor(ps->p, name)))
        return uk_program_fail(ps->p, UK_REFUSED, at,
                               "%s is not a tensor of the declaration; a hint names the operand whose next "
                               "elements the kernel prefetches",
                               name);
    for (const struct uk_statement *s = ps->p->statements; s; s = s->next)
        if (s->left.tensor == a->hint)
            return uk_program_fail(ps->p, UK_REFUSED, at,
                                   "%s is written; a hint names an operand that the kernel only reads", name);
    return true;
}

static bool parse_form(struct uk_parser *ps, struct uk_form *f, const char *word) {
    size_t room = 0;

    f->at = ps->t[-1].at;
    if (f->is_declared)
        return uk_program_fail(ps->p, UK_REFUSED, f->at, "%s is given twice; give it once", word);
    f->is_declared = true;
    if (!parse_ctype(ps, &f->result) || !(f->symbol = uk_expect_name(ps, "a C function")))
        return false;
    for (size_t k = 0; ps->t[k].kind != UK_T_NEWLINE && ps->t[k].kind != UK_T_END; k++)
        room += uk_token_is(&ps->t[k], ",");
    f->argument = uk_program_check_memory(ps->p, uk_alloc(&ps->p->arena, (room + 1) * sizeof *f->argument));
    if (!f->argument || !uk_expect(ps, "(", "the arguments stand in ( )"))
        return false;
    if (uk_accept(ps, ")"))
        return true;
    do {
        struct uk_argument *a = &f->argument[f->arguments++];
        const char *name;

        if (uk_accept(ps, "hint")) {
            if (!parse_hint(ps, a))
                return false;
            continue;
        }
        if (!parse_argument(ps, a, &name))
            return false;
        if (name && !resolve_argument(ps, a, name, ps->t[-1].at))
            return false;
    } while (uk_accept(ps, ","));
    return uk_expect(ps, ")", "an argument is a type and a name or number; separate by commas");
}

static bool parse_part(struct uk_parser *ps, struct uk_intrinsic *i) {
    static const char *const forms[UK_FORMS] = {"compute", "reset", "update"};

    if (uk_next_is(ps, "temp"))
        return uk_program_fail(ps->p, UK_REFUSED, ps->t->at,
                               "a kernel has no temp; declare operands by tensor");
    if (uk_accept(ps, "size"))
        return uk_parse_sizes(ps);
    if (uk_accept(ps, "tensor"))
        return uk_parse_tensor(ps);
    if (uk_accept(ps, "scalar"))
        return uk_parse_scalar(ps);
    if (uk_accept(ps, "assume"))
        return uk_parse_assume(ps);
    for (int k = 0; k < UK_FORMS; k++)
        if (uk_accept(ps, forms[k]))
            return parse_form(ps, &i->form[k], forms[k]);
    if (ps->t->kind == UK_T_WORD && (uk_token_is(ps->t + 1, "[") || uk_token_is(ps->t + 1, ":")))
        return uk_parse_statement(ps);
    return uk_expected(ps, "a part or 'end'",
                       "parts are size, tensor, scalar, assume, a statement, compute, reset and update");
}

static bool parse_parts(struct uk_parser *ps, struct uk_intrinsic *i) {
    for (;;) {
        while (ps->t->kind == UK_T_NEWLINE)
            ps->t++;
        if (uk_accept(ps, "end"))
            return true;
        if (!parse_part(ps, i) || !uk_expect_newline(ps))
            return false;
    }
}

static bool reads(const struct uk_expr *e, const struct uk_tensor *t) {
    if (e->op == UK_E_ACCESS)
        return e->access.tensor == t;
    for (int k = 0; k < 3; k++)
        if (e->arg[k] && reads(e->arg[k], t))
            return true;
    return false;
}

/* Checks a statement before the last: it copies an operand that the last statement reads, into a tensor that
 * no other statement uses. */
static bool check_copy(struct uk_program *d, const struct uk_statement *s) {
    const struct uk_expr *from = s->right->op == UK_E_PAD ? s->right->arg[0] : s->right;
    bool used = false;

    if (s->assign != UK_ASSIGN || s->reduce != UK_REDUCE_NONE || s->scan || from->op != UK_E_ACCESS)
        return uk_program_fail(d, UK_REFUSED, s->at,
                               "statements before the last one of an intrinsic copy an operand of it: write "
                               "%s[..] = an element, or pad(an element, 0)",
                               s->left.tensor->name);
    for (const struct uk_statement *o = d->statements; o; o = o->next) {
        if (o != s && (o->left.tensor == s->left.tensor || reads(o->right, s->left.tensor)))
            return uk_program_fail(d, UK_REFUSED, o->at,
                                   "%s is a copy that another statement of the intrinsic uses; give the copy "
                                   "a tensor of its own",
                                   s->left.tensor->name);
        if (o->left.tensor == from->access.tensor)
            return uk_program_fail(d, UK_REFUSED, o->at,
                                   "%s is copied and written by one intrinsic; copy what is only read",
                                   o->left.tensor->name);
        used |= !o->next && reads(o->right, from->access.tensor);
    }
    return used || uk_program_fail(d, UK_REFUSED, s->at,
                                   "%s is copied, but the last statement of the intrinsic does not read it; "
                                   "declare that in an intrinsic of its own",
                                   from->access.tensor->name);
}

static bool indexes_by_element(const struct uk_expr *e) {
    for (int n = 0; e->op == UK_E_ACCESS && n < e->access.tensor->dims; n++)
        if (e->access.index[n]->op == UK_I_ELEMENT)
            return true;
    for (int i = 0; i < 3 && e->arg[i]; i++)
        if (indexes_by_element(e->arg[i]))
            return true;
    return false;
}

static bool check_intrinsic(struct uk_intrinsic *i) {
    struct uk_program *d = i->declaration;

    if (!d->statements)
        return uk_program_fail(d, UK_REFUSED, i->at, "intrinsic %s has no statement; give one", i->name);
    for (i->computes = d->statements; i->computes->next; i->computes = i->computes->next)
        if (!check_copy(d, i->computes))
            return false;
    for (const struct uk_statement *s = d->statements; s; s = s->next)
        if (uk_scatters(s) || indexes_by_element(s->right))
            return uk_program_fail(
                d, UK_REFUSED, s->at,
                "a subscript in intrinsic %s is an element of a tensor, which no kernel takes; "
                "write it with integers, sizes and iterators",
                i->name);
    for (const struct uk_statement *s = d->statements; s; s = s->next)
        if (s->ranges)
            return uk_program_fail(
                d, UK_REFUSED, s->at,
                "a statement of an intrinsic runs over its tensors' shapes; leave `where` out, and "
                "give %s the shape",
                s->left.tensor->name);
    for (const struct uk_var *v = d->sizes; v; v = v->next)
        if (v->has_default)
            return uk_program_fail(d, UK_REFUSED, v->at,
                                   "size %s of intrinsic %s is an argument of each call; leave its value out",
                                   v->name, i->name);
    if (!i->form[UK_FORM_COMPUTE].is_declared && !i->form[UK_FORM_UPDATE].is_declared)
        return uk_program_fail(d, UK_REFUSED, i->at,
                               "intrinsic %s cannot be called; give compute, or update, or reset and update",
                               i->name);
    return uk_check_program(d) == UK_OK;
}

/* Parses the declaration. ps->p is the declaration's program, its memory the parent's. */
static bool parse_declaration(struct uk_parser *ps, struct uk_intrinsic *i) {
    if (!(i->name = uk_expect_name(ps, "a kernel name")))
        return false;
    i->declaration->name = i->name;
    if (uk_accept(ps, "requires") && !parse_requires(ps, i))
        return false;
    if (uk_accept(ps, "state") && !parse_state(ps, &i->state))
        return false;
    if (uk_accept(ps, "scope") && !parse_exec_scope(ps, &i->scope))
        return false;
    return uk_expect_newline(ps) && parse_parts(ps, i) && check_intrinsic(i);
}

/* Parses what follows the word `intrinsic`. The declaration borrows the parent's arena for the call. */
static bool parse_with_arena(struct uk_parser *ps, struct uk_context *c, const char *file,
                             struct uk_arena *arena, struct uk_intrinsic **out) {
    struct uk_intrinsic *i = uk_alloc(arena, sizeof *i);
    struct uk_program *d = i ? uk_alloc(arena, sizeof *d) : NULL, *parent = ps->p;
    bool ok;

    *out = i;
    if (!d)
        return uk_out_of_memory(c) == UK_OK;
    d->context = c;
    d->file = file;
    i->declaration = d;
    i->at = ps->t[-1].at;
    d->arena = *arena;
    ps->p = d;
    ok = parse_declaration(ps, i);
    ps->p = parent;
    *arena = d->arena;
    d->arena.chunk = NULL;
    return ok;
}

/* The reason why parse_with_arena returned false; without a declaration memory ran out. */
static enum uk_status failure_of(const struct uk_intrinsic *i) {
    return i && i->declaration ? i->declaration->status : UK_OUT_OF_MEMORY;
}

bool uk_parse_intrinsic_item(struct uk_parser *ps, struct uk_intrinsic **out) {
    struct uk_program *p = ps->p;

    if (parse_with_arena(ps, p->context, p->file, &p->arena, out))
        return true;
    uk_program_keep_failure(p, failure_of(*out));
    return false;
}

enum uk_status uk_parse_intrinsic(struct uk_context *c, struct uk_arena *a, const char *text,
                                  struct uk_intrinsic **out) {
    struct uk_parser ps = {.p = NULL};
    struct uk_intrinsic *i = NULL;
    enum uk_status status = uk_lex(c, text, strlen(text), &ps.list);

    *out = NULL;
    ps.t = ps.list;
    if (!status) {
        while (ps.t->kind == UK_T_NEWLINE)
            ps.t++;
        if (!uk_accept(&ps, "intrinsic"))
            status = uk_fail(c, UK_SYNTAX, ps.t->at, "a declaration begins with the word intrinsic; add it");
        else if (!parse_with_arena(&ps, c, c->file, a, &i))
            status = failure_of(i);
    }
    free(ps.list);
    if (!status)
        *out = i;
    return status;
}
