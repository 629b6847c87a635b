/* SPDX-License-Identifier: Apache-2.0 */
/* Parser of a schedule's steps, driven by their rows (steps.def). Room schedule decides what they mean and
 * whether they are legal. */
#include <stdio.h>
#include <string.h>
#include "language/parse.h"

/* Each parse_NAME takes one argument. The arrays for loops and names are allocated before (new_step). */

static bool parse_name_of_loop(struct uk_parser *ps, struct uk_loop_name *l) {
    l->at = ps->t->at;
    if (!(l->loop = uk_expect_name(ps, "a loop")))
        return false;
    if (!uk_accept(ps, "."))
        return true;
    l->stage = l->loop;
    return (l->loop = uk_expect_name(ps, "a loop"));
}

static bool parse_loop(struct uk_parser *ps, struct uk_step *s) {
    return parse_name_of_loop(ps, &s->loop[s->loops++]);
}

static bool parse_more_loops(struct uk_parser *ps, struct uk_step *s) {
    while (ps->t->kind == UK_T_WORD)
        if (!parse_loop(ps, s))
            return false;
    return true;
}

static bool parse_place(struct uk_parser *ps, struct uk_step *s) {
    if (!uk_expect(ps, "at", "say where: at root, or at a loop"))
        return false;
    bool of_stage = ps->t->kind == UK_T_WORD && uk_token_is(ps->t + 1, ".") && uk_token_is(ps->t + 2, "root");
    if (!of_stage && !uk_next_is(ps, "root"))
        return parse_loop(ps, s);
    s->loop->at = ps->t->at;
    if (of_stage && (!(s->loop->stage = uk_expect_name(ps, "a stage")) || !uk_accept(ps, ".")))
        return false;
    ps->t++;
    s->loop->loop = "root";
    s->loops = 1;
    return true;
}

static bool parse_tensor(struct uk_parser *ps, struct uk_step *s) {
    return (s->subject = uk_expect_name(ps, "a tensor name"));
}

static bool parse_access(struct uk_parser *ps, struct uk_step *s) {
    if (!parse_tensor(ps, s))
        return false;
    if (!uk_next_is(ps, "["))
        return true;
    if (!(s->subscript = uk_program_check_memory(
              ps->p, uk_alloc(&ps->p->arena, UK_MAX_DIMS * sizeof(struct uk_index *)))))
        return false;
    ps->names = UK_NAMES_STEP;
    s->subscripts = uk_parse_affines(ps, s->subscript);
    return s->subscripts >= 0;
}

static bool parse_names(struct uk_parser *ps, struct uk_step *s) {
    const int n = uk_steps[s->kind].names;

    if (!uk_expect(ps, "->", "the new names follow"))
        return false;
    while (s->names < n)
        if (!(s->name[s->names++] = uk_expect_name(ps, "a new name")))
            return false;
    return true;
}

static bool parse_optional_names(struct uk_parser *ps, struct uk_step *s) {
    return !uk_next_is(ps, "->") || parse_names(ps, s);
}

static bool parse_positive(struct uk_parser *ps, const char *what, int64_t *value) {
    struct uk_position at = ps->t->at;
    char expected[32];

    snprintf(expected, sizeof expected, "a %s", what);
    if (!uk_expect_int(ps, expected, value))
        return false;
    if (*value > 0)
        return true;
    return uk_program_fail(ps->p, UK_REFUSED, at, "the %s is 0; take 1 or more", what);
}

static bool parse_factor(struct uk_parser *ps, struct uk_step *s) {
    return parse_positive(ps, "factor", &s->number[s->number[0] > 0]);
}

static bool parse_factor_or_parts(struct uk_parser *ps, struct uk_step *s) {
    s->parts = uk_accept(ps, "parts");
    return parse_positive(ps, s->parts ? "number of parts" : "factor", &s->number[0]);
}

static bool parse_slots(struct uk_parser *ps, struct uk_step *s) {
    return parse_positive(ps, "number of slots", &s->number[0]);
}

static bool parse_axis(struct uk_parser *ps, struct uk_step *s) {
    const char *hint = "axes are block.x, block.y, block.z, thread.x, thread.y and thread.z";

    if (!uk_next_is(ps, "block") && !uk_next_is(ps, "thread"))
        return uk_expected(ps, "an axis", hint);
    const char *of = uk_accept(ps, "block") ? "block" : "thread";
    ps->t += *of == 't';
    if (!uk_expect(ps, ".", hint))
        return false;
    if (!uk_next_is(ps, "x") && !uk_next_is(ps, "y") && !uk_next_is(ps, "z"))
        return uk_expected(ps, "'x', 'y' or 'z'", hint);
    return (s->axis = uk_program_check_memory(ps->p, uk_format(&ps->p->arena, "%s.%c", of, *ps->t++->s)));
}

/* "[" INT, ... "]" */
static bool parse_layout_strides(struct uk_parser *ps, struct uk_step *s) {
    struct uk_position at = ps->t->at;

    if (!uk_expect(ps, "[", "the strides of the layout's dimensions follow, [132, 1]"))
        return false;
    do {
        if (s->strides == UK_MAX_DIMS)
            return uk_program_fail(ps->p, UK_REFUSED, at,
                                   "there are more than %d strides; give one for each "
                                   "dimension of the layout",
                                   UK_MAX_DIMS);
        if (!uk_expect_int(ps, "a stride", &s->stride[s->strides++]))
            return false;
    } while (uk_accept(ps, ","));
    return uk_expect(ps, "]", "it ends the strides");
}

static bool parse_layout(struct uk_parser *ps, struct uk_step *s) {
    if (!uk_accept(ps, "layout"))
        return true;
    return (s->layout = uk_parse_layout(ps)) && (!uk_accept(ps, "stride") || parse_layout_strides(ps, s));
}

static bool parse_panel_or_layout(struct uk_parser *ps, struct uk_step *s) {
    if (uk_accept(ps, "layout"))
        return (s->layout = uk_parse_layout(ps));
    if (!uk_accept(ps, "panel"))
        return uk_expected(ps, "'panel' or 'layout'", "give the width of the panels, or a map");
    if (!parse_positive(ps, "panel width", &s->number[0]))
        return false;
    s->has_panel = true;
    s->has_along = uk_accept(ps, "along");
    return !s->has_along || uk_expect_int(ps, "a dimension", &s->along);
}

static bool parse_scope(struct uk_parser *ps, struct uk_step *s) {
    s->has_scope = uk_accept(ps, "in");
    return !s->has_scope || uk_parse_scope(ps, &s->scope);
}

static bool parse_stage(struct uk_parser *ps, struct uk_step *s) {
    return (s->subject = uk_expect_name(ps, "a stage"));
}

static bool parse_kernel(struct uk_parser *ps, struct uk_step *s) {
    return (s->subject = uk_accept(ps, "auto") ? "auto" : uk_expect_name(ps, "a kernel name or 'auto'"));
}

static bool parse_import(struct uk_parser *ps, struct uk_step *s) {
    return (s->import = uk_parse_import(ps));
}

/* Makes a step with room for as many loops as the line has tokens, and for its names. */
static struct uk_step *new_step(struct uk_parser *ps, enum uk_step_kind kind) {
    struct uk_arena *a = &ps->p->arena;
    struct uk_step *s = uk_program_check_memory(ps->p, uk_alloc(a, sizeof *s));
    size_t room = 1;

    while (ps->t[room - 1].kind != UK_T_NEWLINE && ps->t[room - 1].kind != UK_T_END)
        room++;
    if (!s || !(s->loop = uk_program_check_memory(ps->p, uk_alloc(a, room * sizeof *s->loop))) ||
        !(s->name = uk_program_check_memory(
              ps->p, uk_alloc(a, ((size_t)uk_steps[kind].names + 1) * sizeof *s->name))))
        return NULL;
    s->kind = kind;
    s->version = uk_current_version(ps->p);
    s->at = ps->t[-1].at;
    return s;
}

static bool parse_arguments(struct uk_parser *ps, struct uk_step *s) {
    static bool (*const parse[])(struct uk_parser *ps, struct uk_step *s) = {
#define UK_STEP_ARGUMENT(name) [UK_STEP_ARGUMENT_##name] = parse_##name,
#include "language/steps.def"
    };

    for (const unsigned char *a = uk_steps[s->kind].argument; *a; a++)
        if (!parse[*a](ps, s))
            return false;
    return true;
}

/* Takes the step's first word or words. */
static bool accept_step(struct uk_parser *ps, enum uk_step_kind kind) {
    if (kind != UK_STEP_IMPORT)
        return uk_accept(ps, uk_steps[kind].word);
    return uk_accept(ps, "pragma");
}

bool uk_parse_step(struct uk_parser *ps) {
    struct uk_step **link = &ps->p->steps, *s;
    int kind = 0;

    while (kind < UK_STEPS && !accept_step(ps, (enum uk_step_kind)kind))
        kind++;
    if (kind == UK_STEPS) {
        const char *words = uk_list_words(&ps->p->arena, UK_STEPS, uk_step_word);
        const char *hint =
            uk_program_check_memory(ps->p, words ? uk_format(&ps->p->arena, "steps are %s", words) : NULL);

        return hint && uk_expected(ps, "a step", hint);
    }
    if (!(s = new_step(ps, (enum uk_step_kind)kind)) ||
        (kind == UK_STEP_IMPORT && !uk_expect(ps, "import", "the only pragma is `pragma import`")) ||
        !parse_arguments(ps, s))
        return false;
    while (*link)
        link = &(*link)->next;
    *link = s;
    return true;
}
