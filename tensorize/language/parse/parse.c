/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of items and of whole programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "language/parse.h"

bool uk_parse_sizes(struct uk_parser *ps) {
    do {
        struct uk_position at = ps->t->at;
        const char *name = uk_expect_name(ps, "a size name");
        int64_t value;

        if (!name)
            return false;
        ps->p->at = at;
        if (!uk_accept(ps, "=")) {
            if (!uk_size(ps->p, name))
                return false;
        } else if (!uk_expect_int(ps, "an integer", &value) || !uk_size_default(ps->p, name, value)) {
            return false;
        }
    } while (uk_accept(ps, ","));
    return true;
}

bool uk_parse_scalar(struct uk_parser *ps) {
    struct uk_position at = ps->t->at;
    const char *name = uk_expect_name(ps, "a scalar name");
    enum uk_type type = name ? uk_expect_type(ps) : UK_TYPES;

    ps->p->at = at;
    return type != UK_TYPES && uk_scalar(ps->p, name, type);
}

bool uk_parse_assume(struct uk_parser *ps) {
    ps->names = UK_NAMES_ASSUMED;
    uk_assume(ps->p, uk_parse_relations(ps));
    return !ps->p->status;
}

struct uk_import *uk_parse_import(struct uk_parser *ps) {
    struct uk_import *i = uk_program_check_memory(ps->p, uk_alloc(&ps->p->arena, sizeof *i));
    struct uk_token *t = ps->t;

    if (!i)
        return NULL;
    i->at = t->at;
    i->kind = UK_IMPORT_FILE;
    if (t->kind != UK_T_STRING) {
        i->kind = uk_token_is(t, "ll") ? UK_IMPORT_LL_TEXT : UK_IMPORT_C_TEXT;
        if (!uk_accept(ps, "ll") && !uk_accept(ps, "c"))
            return uk_expected(ps, "a string, 'll' or 'c'", "write pragma import \"kernel.c\"");
        t = ps->t;
        if (t->kind != UK_T_BLOCK)
            return uk_expected(ps, "a text", "put it between two \"\"\"");
    } else if (!t->n) {
        return uk_program_fail(ps->p, UK_SYNTAX, t->at, "the name of the file is empty; give its path");
    }
    ps->t++;
    i->text = uk_program_check_memory(ps->p, uk_strndup(&ps->p->arena, t->s, t->n));
    return i->text ? i : NULL;
}

static bool import_item(struct uk_parser *ps) {
    struct uk_import **link = &ps->p->imports;

    if (!uk_expect(ps, "import", "the only pragma is `pragma import`"))
        return false;
    while (*link)
        link = &(*link)->next;
    return (*link = uk_parse_import(ps));
}

static bool intrinsic_item(struct uk_parser *ps) {
    struct uk_intrinsic **link = &ps->p->intrinsics, *i;

    if (!uk_parse_intrinsic_item(ps, &i))
        return false;
    for (; *link; link = &(*link)->next)
        if (!strcmp((*link)->name, i->name))
            return uk_program_fail(ps->p, UK_REFUSED, i->at, "two intrinsics are named %s; rename one",
                                   i->name);
    *link = i;
    return true;
}

static bool parse_item(struct uk_parser *ps) {
    if (uk_accept(ps, "size"))
        return uk_parse_sizes(ps);
    if (uk_accept(ps, "tensor") || uk_accept(ps, "temp"))
        return uk_parse_tensor(ps);
    if (uk_accept(ps, "scalar"))
        return uk_parse_scalar(ps);
    if (uk_accept(ps, "assume"))
        return uk_parse_assume(ps);
    if (uk_accept(ps, "intrinsic"))
        return intrinsic_item(ps);
    if (uk_accept(ps, "pragma"))
        return import_item(ps);
    if (ps->t->kind == UK_T_WORD && (uk_token_is(ps->t + 1, "[") || uk_token_is(ps->t + 1, ":")))
        return uk_parse_statement(ps);
    return uk_expected(
        ps, "an item",
        "items are size, tensor, temp, scalar, assume, intrinsic, pragma import and C[i] = ...");
}

static bool skip_newlines(struct uk_parser *ps) {
    while (ps->t->kind == UK_T_NEWLINE)
        ps->t++;
    return ps->t->kind != UK_T_END;
}

/* Parses what follows the word `schedule`: the condition, if any, and the steps. */
static bool parse_schedule(struct uk_parser *ps) {
    const struct uk_position at = ps->t[-1].at;
    struct uk_index *condition = NULL;

    if (uk_accept(ps, "where")) {
        ps->names = UK_NAMES_CONDITION;
        if (!(condition = uk_parse_relations(ps)))
            return false;
    }
    ps->p->at = at;
    if (!uk_begin_schedule(ps->p, condition) || !uk_expect_newline(ps))
        return false;
    while (skip_newlines(ps) && !uk_next_is(ps, "schedule"))
        if (!uk_parse_step(ps) || !uk_expect_newline(ps))
            return false;
    return true;
}

static void parse_program(struct uk_parser *ps) {
    while (skip_newlines(ps) && !uk_next_is(ps, "schedule"))
        if (!parse_item(ps) || !uk_expect_newline(ps))
            return;
    while (uk_accept(ps, "schedule"))
        if (!parse_schedule(ps))
            return;
}

/* Makes the function's name from the file's stem, as uk_program_parse() documents. */
static char *stem(struct uk_arena *a, const char *file) {
    const char *s = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    char *name = uk_name_of_stem(a, s, strcspn(s, "."), 200, "program");

    return !name || uk_may_name_function(name) ? name : uk_format(a, "%s_", name);
}

static struct uk_program *new_program(struct uk_context *c, const char *file) {
    struct uk_program *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->context = c;
    p->file = uk_strdup(&p->arena, file);
    p->name = p->file ? stem(&p->arena, p->file) : NULL;
    if (p->name)
        return p;
    uk_program_destroy(p);
    return NULL;
}

enum uk_status uk_program_parse(struct uk_context *c, const char *file, const char *text, size_t length,
                                struct uk_program **out) {
    if (out)
        *out = NULL;
    if (!c)
        return UK_INVALID_ARGUMENT;
    uk_context_enter(c, NULL);
    if (!out)
        return uk_require(c, out, "the place for the program");
    if (!file || (!text && length))
        return uk_fail(c, UK_INVALID_ARGUMENT, (struct uk_position){0, 0},
                       "the text or its file name is NULL; give both");
    struct uk_parser ps = {.p = new_program(c, file)};

    if (!ps.p)
        return uk_out_of_memory(c);
    uk_context_enter(c, ps.p->file);
    enum uk_status status = uk_lex(c, text ? text : "", length, &ps.list);

    ps.t = ps.list;
    if (!status) {
        parse_program(&ps);
        status = ps.p->status ? ps.p->status : uk_check_program(ps.p);
    }
    if (!status && !ps.p->intrinsics) /* a file may also declare kernels alone, for uk verify */
        status = uk_check_has_statement(ps.p, (struct uk_position){1, 1});
    free(ps.list);
    if (status) {
        uk_program_destroy(ps.p);
        return status;
    }
    ps.p->at = (struct uk_position){0, 0};
    *out = ps.p;
    return UK_OK;
}

/* Splits a text that is an argument of a call; errors get the position of the call. */
static enum uk_status lex_piece(struct uk_parser *ps, const char *text) {
    uk_context_enter(ps->p->context, ps->p->file);
    enum uk_status status = uk_lex(ps->p->context, text, strlen(text), &ps->list);

    ps->t = ps->list;
    for (struct uk_token *t = ps->list; t && !status; t++) {
        t->at = ps->p->at;
        if (t->kind == UK_T_END)
            break;
    }
    if (status)
        uk_program_keep_failure(ps->p, status);
    return status;
}

struct uk_map *uk_parse_map(struct uk_program *p, const char *text) {
    struct uk_parser ps = {.p = p};
    struct uk_map *m = NULL;

    if (!lex_piece(&ps, text)) {
        m = uk_parse_layout(&ps);
        if (m && (!uk_expect_newline(&ps) || skip_newlines(&ps)))
            m = ps.p->status ? NULL : uk_expected(&ps, "the end of the map", "give one map");
    }
    free(ps.list);
    return m;
}

enum uk_status uk_parse_item(struct uk_program *p, const char *text) {
    struct uk_parser ps = {.p = p};

    if (!lex_piece(&ps, text) && skip_newlines(&ps) && parse_item(&ps) && uk_expect_newline(&ps) &&
        skip_newlines(&ps))
        uk_expected(&ps, "the end of the text", "give one item");
    free(ps.list);
    p->is_checked = false;
    return p->status;
}

/* Splits a text of its own file, which messages name (NULL: the program's file). */
static enum uk_status lex_file(struct uk_parser *ps, const char *file, const char *text, size_t length) {
    if (file)
        ps->p->context->file = file;
    enum uk_status status = uk_lex(ps->p->context, text, length, &ps->list);

    ps->p->context->file = ps->p->file;
    ps->t = ps->list;
    for (struct uk_token *t = ps->list; file && t && !status; t++) {
        t->at.column = -t->at.column;
        if (t->kind == UK_T_END)
            break;
    }
    return status;
}

enum uk_status uk_parse_steps(struct uk_program *p, const char *file, const char *text, size_t length,
                              bool single) {
    struct uk_parser ps = {.p = p};
    enum uk_status status = single ? lex_piece(&ps, text) : lex_file(&ps, file, text, length);

    while (!status && !single && !p->status && skip_newlines(&ps) && uk_accept(&ps, "schedule"))
        parse_schedule(&ps);
    if (!status && single && !skip_newlines(&ps))
        uk_program_fail(p, UK_SYNTAX, p->at, "the step is empty; give one, for instance \"unroll C.m\"");
    while (!status && !p->status && skip_newlines(&ps)) {
        if (!uk_parse_step(&ps) || !uk_expect_newline(&ps))
            break;
        if (single && skip_newlines(&ps))
            uk_expected(&ps, "the end of the step", "give one step a call");
    }
    free(ps.list);
    p->has_schedule = true;
    p->is_checked = false;
    return status ? status : p->status;
}
