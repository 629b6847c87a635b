/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of a schedule. What they mean, and whether they are legal, is the scheduler's. */
#include <stdio.h>
#include <string.h>
#include "language/parse.h"

static struct uk_step *new_step(struct uk_parser *ps, enum uk_step_kind kind) {
    struct uk_step *s = uk_program_made(ps->p, uk_alloc(&ps->p->arena, sizeof *s));

    if (s) {
        s->kind = kind;
        s->at = ps->t[-1].at;
    }
    return s;
}

static bool parse_loop(struct uk_parser *ps, struct uk_loop_name *l) {
    l->at = ps->t->at;
    if (!(l->loop = uk_expect_name(ps, "a loop")))
        return false;
    if (!uk_accept(ps, "."))
        return true;
    l->stage = l->loop;
    return (l->loop = uk_expect_name(ps, "a loop"));
}

/* `least` loops, and more as long as names follow if `more`. */
static bool parse_loops(struct uk_parser *ps, struct uk_step *s, int least, bool more) {
    size_t room = 1;

    while (ps->t[room].kind != UK_T_NEWLINE && ps->t[room].kind != UK_T_END)
        room++;
    if (!(s->loop =
              uk_program_made(ps->p, uk_alloc(&ps->p->arena, (room + (size_t)least) * sizeof *s->loop))))
        return false;
    while (s->loops < least || (more && ps->t->kind == UK_T_WORD))
        if (!parse_loop(ps, &s->loop[s->loops++]))
            return false;
    return true;
}

/* root, STAGE.root, or a loop. */
static bool parse_place(struct uk_parser *ps, struct uk_step *s) {
    if (!uk_expect(ps, "at", "say where: at root, or at a loop"))
        return false;
    bool of_stage = ps->t->kind == UK_T_WORD && uk_token_is(ps->t + 1, ".") && uk_token_is(ps->t + 2, "root");
    if (!of_stage && !uk_next_is(ps, "root"))
        return parse_loops(ps, s, 1, false);
    if (!(s->loop = uk_program_made(ps->p, uk_alloc(&ps->p->arena, sizeof *s->loop))))
        return false;
    s->loop->at = ps->t->at;
    if (of_stage && (!(s->loop->stage = uk_expect_name(ps, "a stage")) || !uk_accept(ps, ".")))
        return false;
    ps->t++;
    s->loop->loop = "root";
    s->loops = 1;
    return true;
}

/* A tensor, and the subscripts of some of its accesses. */
static bool parse_copied(struct uk_parser *ps, struct uk_step *s) {
    if (!(s->subject = uk_expect_name(ps, "a tensor name")))
        return false;
    if (s->kind == UK_STEP_CACHE_WRITE || !uk_next_is(ps, "["))
        return true;
    if (!(s->subscript =
              uk_program_made(ps->p, uk_alloc(&ps->p->arena, UK_MAX_DIMS * sizeof(struct uk_index *)))))
        return false;
    ps->names = UK_NAMES_STEP;
    s->subscripts = uk_parse_affines(ps, s->subscript);
    return s->subscripts >= 0;
}

/* "->" ID ...: n names. */
static bool parse_names(struct uk_parser *ps, struct uk_step *s, int n) {
    if (!uk_expect(ps, "->", "the new names follow"))
        return false;
    if (!(s->name = uk_program_made(ps->p, uk_alloc(&ps->p->arena, (size_t)n * sizeof *s->name))))
        return false;
    while (s->names < n)
        if (!(s->name[s->names++] = uk_expect_name(ps, "a new name")))
            return false;
    return true;
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

static bool parse_split(struct uk_parser *ps, struct uk_step *s) {
    if (!parse_loops(ps, s, 1, false))
        return false;
    s->parts = uk_accept(ps, "parts");
    return parse_positive(ps, s->parts ? "number of parts" : "factor", &s->number[0]) &&
           parse_names(ps, s, 2);
}

static bool parse_tile(struct uk_parser *ps, struct uk_step *s) {
    return parse_loops(ps, s, 2, false) && parse_positive(ps, "factor", &s->number[0]) &&
           parse_positive(ps, "factor", &s->number[1]) && parse_names(ps, s, 4);
}

static bool parse_fuse(struct uk_parser *ps, struct uk_step *s) {
    return parse_loops(ps, s, 2, false) && parse_names(ps, s, 1);
}

static bool parse_reorder(struct uk_parser *ps, struct uk_step *s) {
    return parse_loops(ps, s, 2, true);
}

static bool parse_one_loop(struct uk_parser *ps, struct uk_step *s) {
    return parse_loops(ps, s, 1, false);
}

static bool parse_parallel(struct uk_parser *ps, struct uk_step *s) {
    return parse_loops(ps, s, 1, true);
}

static bool parse_bind(struct uk_parser *ps, struct uk_step *s) {
    const char *hint = "axes are block.x, block.y, block.z, thread.x, thread.y and thread.z";

    if (!parse_loops(ps, s, 1, false))
        return false;
    if (!uk_next_is(ps, "block") && !uk_next_is(ps, "thread"))
        return uk_expected(ps, "an axis", hint);
    s->bind_kind = uk_next_is(ps, "block") ? "block" : "thread";
    ps->t++;
    if (!uk_expect(ps, ".", hint))
        return false;
    if (!uk_next_is(ps, "x") && !uk_next_is(ps, "y") && !uk_next_is(ps, "z"))
        return uk_expected(ps, "'x', 'y' or 'z'", hint);
    s->bind_axis = *ps->t++->s;
    return true;
}

static bool parse_pipeline(struct uk_parser *ps, struct uk_step *s) {
    return parse_loops(ps, s, 1, false) && parse_positive(ps, "number of slots", &s->number[0]);
}

static bool parse_layout(struct uk_parser *ps, struct uk_step *s) {
    return (s->layout = uk_parse_layout(ps));
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

static bool parse_pack(struct uk_parser *ps, struct uk_step *s) {
    if (!parse_copied(ps, s) || !parse_place(ps, s))
        return false;
    if (uk_accept(ps, "layout")) {
        if (!parse_layout(ps, s))
            return false;
    } else {
        if (!uk_accept(ps, "panel"))
            return uk_expected(ps, "'panel' or 'layout'", "give the width of the panels, or a map");
        if (!parse_positive(ps, "panel width", &s->number[0]))
            return false;
        s->has_panel = true;
        s->has_along = uk_accept(ps, "along");
        if (s->has_along && !uk_expect_int(ps, "a dimension", &s->along))
            return false;
    }
    return !uk_next_is(ps, "->") || parse_names(ps, s, 1);
}

static bool parse_cache(struct uk_parser *ps, struct uk_step *s) {
    static const char *const scopes[] = {"global", "shared", "register"};

    if (!parse_copied(ps, s) || !parse_place(ps, s))
        return false;
    if (uk_accept(ps, "in")) {
        int i = 0;

        while (i < 3 && !uk_accept(ps, scopes[i]))
            i++;
        if (i == 3)
            return uk_expected(ps, "a scope", "scopes are global, shared and register");
        s->has_scope = true;
        s->scope = (enum uk_scope)i;
    }
    if (uk_accept(ps, "layout") &&
        (!parse_layout(ps, s) || (uk_accept(ps, "stride") && !parse_layout_strides(ps, s))))
        return false;
    return !uk_next_is(ps, "->") || parse_names(ps, s, 1);
}

static bool parse_compute_at(struct uk_parser *ps, struct uk_step *s) {
    return (s->subject = uk_expect_name(ps, "a stage")) && parse_loops(ps, s, 1, false);
}

static bool parse_inline(struct uk_parser *ps, struct uk_step *s) {
    return (s->subject = uk_expect_name(ps, "a stage"));
}

static bool parse_rfactor(struct uk_parser *ps, struct uk_step *s) {
    return parse_loops(ps, s, 1, false) && parse_names(ps, s, 1);
}

static bool parse_tensorize(struct uk_parser *ps, struct uk_step *s) {
    if (!parse_loops(ps, s, 1, false))
        return false;
    if (uk_accept(ps, "auto"))
        s->subject = "auto";
    else
        s->subject = uk_expect_name(ps, "a kernel name or 'auto'");
    return s->subject;
}

static bool parse_step_import(struct uk_parser *ps, struct uk_step *s) {
    return uk_expect(ps, "import", "the only pragma is `pragma import`") && (s->import = uk_parse_import(ps));
}

static const struct {
    const char *word;
    enum uk_step_kind kind;
    bool (*parse)(struct uk_parser *ps, struct uk_step *s);
} steps[] = {
    {"split", UK_STEP_SPLIT, parse_split},
    {"tile", UK_STEP_TILE, parse_tile},
    {"fuse", UK_STEP_FUSE, parse_fuse},
    {"reorder", UK_STEP_REORDER, parse_reorder},
    {"unroll", UK_STEP_UNROLL, parse_one_loop},
    {"vectorize", UK_STEP_VECTORIZE, parse_one_loop},
    {"parallel", UK_STEP_PARALLEL, parse_parallel},
    {"bind", UK_STEP_BIND, parse_bind},
    {"pipeline", UK_STEP_PIPELINE, parse_pipeline},
    {"pack", UK_STEP_PACK, parse_pack},
    {"cache_read", UK_STEP_CACHE_READ, parse_cache},
    {"cache_write", UK_STEP_CACHE_WRITE, parse_cache},
    {"compute_at", UK_STEP_COMPUTE_AT, parse_compute_at},
    {"reverse_compute_at", UK_STEP_REVERSE_COMPUTE_AT, parse_compute_at},
    {"compute_inline", UK_STEP_COMPUTE_INLINE, parse_inline},
    {"rfactor", UK_STEP_RFACTOR, parse_rfactor},
    {"tensorize", UK_STEP_TENSORIZE, parse_tensorize},
    {"pragma", UK_STEP_IMPORT, parse_step_import},
};

bool uk_parse_step(struct uk_parser *ps) {
    struct uk_step **link = &ps->p->steps, *s;

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (!uk_accept(ps, steps[i].word))
            continue;
        if (!(s = new_step(ps, steps[i].kind)) || !steps[i].parse(ps, s))
            return false;
        while (*link)
            link = &(*link)->next;
        *link = s;
        return true;
    }
    return uk_expected(
        ps, "a step",
        "steps are split, tile, fuse, reorder, unroll, vectorize, parallel, bind, "
        "pipeline, pack, cache_read, cache_write, compute_at, reverse_compute_at, compute_inline, "
        "rfactor, tensorize and pragma import");
}
