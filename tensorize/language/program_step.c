/* SPDX-License-Identifier: Apache-2.0 */
/* Building calls for steps, intrinsics and imports. A step's function fills a struct uk_step, which is
 * printed by the step's row and parsed again, so that the text remains the only definition. */
#include <inttypes.h>
#include <string.h>
#include "language.h"

enum { MOST_LOOPS = 256 }; /* exceeds the number of loops of any stage */

/* Begins the next step as an item; returns the old position. */
static struct uk_position begin_step(struct uk_program *p) {
    int number = 1;

    for (const struct uk_step *s = p->steps; s; s = s->next)
        number++;
    return uk_begin_item(p, UK_ITEM_STEP, number);
}

void uk_step(struct uk_program *p, const char *text) {
    if (!uk_may_build(p))
        return;
    struct uk_position before = begin_step(p);

    if (!text)
        uk_program_fail(p, UK_INVALID_ARGUMENT, p->at, "the step is NULL; give its text");
    else
        uk_parse_steps(p, NULL, text, strlen(text), true);
    p->at = before;
}

/* Fails the program at the next step. `what` is made by uk_format; NULL: memory ran out. */
static void fail_step(struct uk_program *p, const char *what) {
    struct uk_position before = begin_step(p);

    if (uk_program_check_memory(p, (void *)(uintptr_t)what))
        uk_program_fail(p, UK_INVALID_ARGUMENT, p->at, "%s", what);
    p->at = before;
}

/* True if s is a word that may be pasted into a text: letters, digits, _ and the dot of loops and axes.
 * Anything else fails the step. */
static bool is_word(struct uk_program *p, const char *s) {
    if (s && *s && !s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.")])
        return true;
    fail_step(
        p, uk_format(
               &p->arena,
               "a name of a step, %s%s%s, is not an identifier; use letters, digits, _ and one dot for loops",
               s ? "\"" : "", s ? s : "NULL", s ? "\"" : ""));
    return false;
}

/* Checks a number before it is pasted: the text has no sign for it. */
static bool is_above_zero(struct uk_program *p, const char *what, int64_t n) {
    if (n < 1)
        fail_step(p, uk_format(&p->arena, "%s is %" PRId64 "; take 1 or more", what, n));
    return n >= 1;
}

static bool is_given(enum uk_step_kind kind, enum uk_step_argument argument) {
    return uk_step_arguments(kind, argument) > 0;
}

#define HAS(argument) is_given(s->kind, UK_STEP_ARGUMENT_##argument)

static bool are_numbers(struct uk_program *p, const struct uk_step *s) {
    const int factors = uk_step_arguments(s->kind, UK_STEP_ARGUMENT_factor) + HAS(factor_or_parts);

    for (int i = 0; i < factors; i++)
        if (!is_above_zero(p, s->parts ? "the number of parts" : "the factor", s->number[i]))
            return false;
    return (!HAS(slots) || is_above_zero(p, "the number of slots", s->number[0])) &&
           (!s->has_panel || is_above_zero(p, "the panel width", s->number[0]));
}

static bool are_words(struct uk_program *p, const struct uk_step *s) {
    for (int i = 0; i < s->loops; i++)
        if (!is_word(p, s->loop[i].loop))
            return false;
    for (int i = 0; i < s->names; i++)
        if (!is_word(p, s->name[i]))
            return false;
    const bool named = HAS(tensor) || HAS(access) || HAS(stage) || HAS(kernel);

    return (!named || is_word(p, s->subject)) && (!HAS(axis) || is_word(p, s->axis));
}

/* Adds the step; its loops are "L" or "S.L", its names as many as its row says. */
static void add(struct uk_program *p, const struct uk_step *s) {
    struct uk_text t = {0};

    if (!uk_may_build(p) || !are_words(p, s) || !are_numbers(p, s))
        return;
    uk_print_step(&t, s);
    if (t.text)
        uk_step(p, t.text);
    else
        uk_program_check_memory(p, NULL);
    uk_text_free(t.text);
}

#define LOOPS(...)                                \
    .loop = (struct uk_loop_name[]){__VA_ARGS__}, \
    .loops = sizeof((struct uk_loop_name[]){__VA_ARGS__}) / sizeof(struct uk_loop_name)
#define LOOP(name) {.loop = (name)}
#define NAMES(...) \
    .name = (const char *[]){__VA_ARGS__}, .names = sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)
#define ADD(p, step, ...) add(p, &(struct uk_step){.kind = UK_STEP_##step, __VA_ARGS__})

void uk_split(struct uk_program *p, const char *loop, int64_t factor, const char *outer, const char *inner) {
    ADD(p, SPLIT, LOOPS(LOOP(loop)), .number = {factor}, NAMES(outer, inner));
}

void uk_split_parts(struct uk_program *p, const char *loop, int64_t parts, const char *outer,
                    const char *inner) {
    ADD(p, SPLIT, LOOPS(LOOP(loop)), .parts = true, .number = {parts}, NAMES(outer, inner));
}

void uk_tile(struct uk_program *p, const char *a, const char *b, int64_t factor_a, int64_t factor_b,
             const char *const names[4]) {
    static const char *const none[4];
    const char *const *n = names ? names : none;

    ADD(p, TILE, LOOPS(LOOP(a), LOOP(b)), .number = {factor_a, factor_b}, NAMES(n[0], n[1], n[2], n[3]));
}

void uk_fuse(struct uk_program *p, const char *a, const char *b, const char *name) {
    ADD(p, FUSE, LOOPS(LOOP(a), LOOP(b)), NAMES(name));
}

static void add_of_loops(struct uk_program *p, enum uk_step_kind kind, int n, const char *const loops[]) {
    struct uk_loop_name loop[MOST_LOOPS] = {{.loop = NULL}};

    if (!uk_may_build(p))
        return;
    if (n < 1 || n > MOST_LOOPS) {
        fail_step(p,
                  uk_format(&p->arena, "%s of %d loops; name 1 to %d", uk_steps[kind].word, n, MOST_LOOPS));
        return;
    }
    for (int i = 0; i < n; i++)
        loop[i].loop = loops ? loops[i] : NULL;
    add(p, &(struct uk_step){.kind = kind, .loop = loop, .loops = n});
}

void uk_reorder(struct uk_program *p, int n, const char *const loops[]) {
    add_of_loops(p, UK_STEP_REORDER, n, loops);
}

void uk_unroll(struct uk_program *p, const char *loop) {
    ADD(p, UNROLL, LOOPS(LOOP(loop)));
}

void uk_vectorize(struct uk_program *p, const char *loop) {
    ADD(p, VECTORIZE, LOOPS(LOOP(loop)));
}

void uk_parallel(struct uk_program *p, int n, const char *const loops[]) {
    add_of_loops(p, UK_STEP_PARALLEL, n, loops);
}

void uk_bind(struct uk_program *p, const char *loop, const char *axis) {
    ADD(p, BIND, LOOPS(LOOP(loop)), .axis = axis);
}

void uk_pipeline(struct uk_program *p, const char *loop, int slots) {
    ADD(p, PIPELINE, LOOPS(LOOP(loop)), .number = {slots});
}

void uk_pack(struct uk_program *p, const char *tensor, const char *place, int64_t panel, int along,
             const char *name) {
    if (uk_may_build(p) && along < -1) {
        fail_step(
            p, uk_format(&p->arena,
                         "pack along dimension %d; dimensions are counted from 0, and -1 leaves the choice",
                         along));
        return;
    }
    ADD(p, PACK, LOOPS(LOOP(place)), .subject = tensor, .has_panel = true, .number = {panel},
        .has_along = along >= 0, .along = along, .name = &name, .names = name ? 1 : 0);
}

static void cache(struct uk_program *p, enum uk_step_kind kind, const char *tensor, const char *place,
                  enum uk_scope scope, const char *name) {
    if (!uk_may_build(p))
        return;
    if ((unsigned)scope > UK_SCOPE_REGISTER)
        fail_step(p, uk_format(&p->arena, "there is no scope %d; use one of enum uk_scope", (int)scope));
    else
        add(p, &(struct uk_step){.kind = kind,
                                 LOOPS(LOOP(place)),
                                 .subject = tensor,
                                 .has_scope = true,
                                 .scope = scope,
                                 .name = &name,
                                 .names = name ? 1 : 0});
}

void uk_cache_read(struct uk_program *p, const char *tensor, const char *place, enum uk_scope scope,
                   const char *name) {
    cache(p, UK_STEP_CACHE_READ, tensor, place, scope, name);
}

void uk_cache_write(struct uk_program *p, const char *tensor, const char *place, enum uk_scope scope,
                    const char *name) {
    cache(p, UK_STEP_CACHE_WRITE, tensor, place, scope, name);
}

void uk_compute_at(struct uk_program *p, const char *stage, const char *loop) {
    ADD(p, COMPUTE_AT, LOOPS(LOOP(loop)), .subject = stage);
}

void uk_reverse_compute_at(struct uk_program *p, const char *stage, const char *loop) {
    ADD(p, REVERSE_COMPUTE_AT, LOOPS(LOOP(loop)), .subject = stage);
}

void uk_compute_inline(struct uk_program *p, const char *stage) {
    ADD(p, COMPUTE_INLINE, .subject = stage);
}

void uk_rfactor(struct uk_program *p, const char *loop, const char *name) {
    ADD(p, RFACTOR, LOOPS(LOOP(loop)), NAMES(name));
}

void uk_tensorize(struct uk_program *p, const char *loop, const char *kernel) {
    ADD(p, TENSORIZE, LOOPS(LOOP(loop)), .subject = kernel);
}

void uk_intrinsic(struct uk_program *p, const char *text) {
    int number = 1, after = 0;

    if (!uk_may_build(p))
        return;
    for (const struct uk_intrinsic *i = p->intrinsics; i; i = i->next)
        number++;
    struct uk_position before = uk_begin_item(p, UK_ITEM_INTRINSIC, number);

    if (!text)
        uk_program_fail(p, UK_INVALID_ARGUMENT, p->at, "the intrinsic is NULL; give its text");
    else
        uk_parse_item(p, text);
    for (const struct uk_intrinsic *i = p->intrinsics; i; i = i->next)
        after++;
    if (after != number)
        uk_program_fail(p, UK_INVALID_ARGUMENT, p->at,
                        "the text of an intrinsic is empty or another item; write intrinsic NAME ... end");
    p->at = before;
}

static void add_import(struct uk_program *p, struct uk_import **link, int kind, const char *text) {
    struct uk_import *i;

    if (!text || !*text) {
        uk_program_fail(p, UK_INVALID_ARGUMENT, p->at, "an import is empty; give a path or a text");
        return;
    }
    i = uk_alloc(&p->arena, sizeof *i);
    if (i && !(i->text = uk_strdup(&p->arena, text)))
        i = NULL;
    if (!uk_program_check_memory(p, i))
        return;
    i->kind = kind;
    i->at = p->at;
    *link = i;
}

static void import(struct uk_program *p, int kind, const char *text) {
    if (!uk_may_build(p))
        return;
    struct uk_import **end = &p->imports;
    int number = 1;

    for (; *end; end = &(*end)->next)
        number++;
    struct uk_position before = uk_begin_item(p, UK_ITEM_IMPORT, number);

    add_import(p, end, kind, text);
    p->at = before;
}

void uk_import_file(struct uk_program *p, const char *path) {
    import(p, UK_IMPORT_FILE, path);
}

void uk_import_llvm(struct uk_program *p, const char *text) {
    import(p, UK_IMPORT_LL_TEXT, text);
}

void uk_import_c(struct uk_program *p, const char *text) {
    import(p, UK_IMPORT_C_TEXT, text);
}
