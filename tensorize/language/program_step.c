/* SPDX-License-Identifier: Apache-2.0 */
/* Steps, intrinsics and imports by calls. Steps are written as text and parsed: the text is their one
 * definition. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "language.h"

enum { MOST_LOOPS = 256 }; /* more than a stage can have */

/* The next step begins. */
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

/* `what` was made by uk_format; NULL: there was no memory. */
static void fail_step(struct uk_program *p, const char *what) {
    struct uk_position before = begin_step(p);

    if (uk_program_made(p, (void *)(uintptr_t)what))
        uk_program_fail(p, UK_INVALID_ARGUMENT, p->at, "%s", what);
    p->at = before;
}

/* A name that is pasted into a step: a loop may have one dot; nothing else is let through. */
static const char *word(struct uk_program *p, const char *s) {
    if (uk_may_build(p) &&
        (!s || !*s || s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.")]))
        fail_step(
            p,
            uk_format(
                &p->arena,
                "a name of a step, %s%s%s, is no identifier; take letters, digits, _ and one dot for loops",
                s ? "\"" : "", s ? s : "NULL", s ? "\"" : ""));
    return s ? s : "";
}

static void step(struct uk_program *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void step(struct uk_program *p, const char *format, ...) {
    char *text;
    va_list ap;

    if (!uk_may_build(p))
        return;
    va_start(ap, format);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    text = n < 0 ? NULL : uk_program_made(p, uk_alloc(&p->arena, (size_t)n + 1));
    if (!text)
        return;
    va_start(ap, format);
    vsnprintf(text, (size_t)n + 1, format, ap);
    va_end(ap);
    uk_step(p, text);
}

/* A number that is pasted into a step: the text has no sign for it. */
static int64_t above_zero(struct uk_program *p, const char *what, int64_t n) {
    if (uk_may_build(p) && n < 1)
        fail_step(p, uk_format(&p->arena, "%s is %" PRId64 "; take 1 or more", what, n));
    return n;
}

void uk_split(struct uk_program *p, const char *loop, int64_t factor, const char *outer, const char *inner) {
    step(p, "split %s %" PRId64 " -> %s %s", word(p, loop), above_zero(p, "the factor", factor),
         word(p, outer), word(p, inner));
}

void uk_split_parts(struct uk_program *p, const char *loop, int64_t parts, const char *outer,
                    const char *inner) {
    step(p, "split %s parts %" PRId64 " -> %s %s", word(p, loop), above_zero(p, "the number of parts", parts),
         word(p, outer), word(p, inner));
}

void uk_tile(struct uk_program *p, const char *a, const char *b, int64_t factor_a, int64_t factor_b,
             const char *const names[4]) {
    step(p, "tile %s %s %" PRId64 " %" PRId64 " -> %s %s %s %s", word(p, a), word(p, b),
         above_zero(p, "the factor", factor_a), above_zero(p, "the factor", factor_b),
         word(p, names ? names[0] : NULL), word(p, names ? names[1] : NULL), word(p, names ? names[2] : NULL),
         word(p, names ? names[3] : NULL));
}

void uk_fuse(struct uk_program *p, const char *a, const char *b, const char *name) {
    step(p, "fuse %s %s -> %s", word(p, a), word(p, b), word(p, name));
}

static void step_of_loops(struct uk_program *p, const char *what, int n, const char *const loops[]) {
    struct uk_text t = {0};

    if (!uk_may_build(p))
        return;
    if (n < 1 || n > MOST_LOOPS) {
        fail_step(p, uk_format(&p->arena, "%s of %d loops; name 1 to %d", what, n, MOST_LOOPS));
        return;
    }
    uk_put(&t, "%s", what);
    for (int i = 0; i < n; i++)
        uk_put(&t, " %s", word(p, loops ? loops[i] : NULL));
    if (t.text)
        uk_step(p, t.text);
    else
        uk_program_made(p, NULL);
    uk_text_free(t.text);
}

void uk_reorder(struct uk_program *p, int n, const char *const loops[]) {
    step_of_loops(p, "reorder", n, loops);
}

void uk_unroll(struct uk_program *p, const char *loop) {
    step(p, "unroll %s", word(p, loop));
}

void uk_vectorize(struct uk_program *p, const char *loop) {
    step(p, "vectorize %s", word(p, loop));
}

void uk_parallel(struct uk_program *p, int n, const char *const loops[]) {
    step_of_loops(p, "parallel", n, loops);
}

void uk_bind(struct uk_program *p, const char *loop, const char *axis) {
    step(p, "bind %s %s", word(p, loop), word(p, axis));
}

void uk_pipeline(struct uk_program *p, const char *loop, int slots) {
    step(p, "pipeline %s %" PRId64, word(p, loop), above_zero(p, "the number of slots", slots));
}

void uk_pack(struct uk_program *p, const char *tensor, const char *place, int64_t panel, int along,
             const char *name) {
    char direction[32] = "";

    if (uk_may_build(p) && along < -1) {
        fail_step(
            p, uk_format(&p->arena,
                         "pack along dimension %d; dimensions are counted from 0, and -1 leaves the choice",
                         along));
        return;
    }
    if (along >= 0)
        snprintf(direction, sizeof direction, " along %d", along);
    step(p, "pack %s at %s panel %" PRId64 "%s%s%s", word(p, tensor), word(p, place),
         above_zero(p, "the panel width", panel), direction, name ? " -> " : "", name ? word(p, name) : "");
}

static void cache(struct uk_program *p, const char *what, const char *tensor, const char *place,
                  enum uk_scope scope, const char *name) {
    static const char *const scopes[] = {"global", "shared", "register"};

    if (!uk_may_build(p))
        return;
    if ((unsigned)scope > UK_SCOPE_REGISTER)
        fail_step(
            p, uk_format(&p->arena, "there is no such scope as %d; take one of enum uk_scope", (int)scope));
    else
        step(p, "%s %s at %s in %s%s%s", what, word(p, tensor), word(p, place), scopes[scope],
             name ? " -> " : "", name ? word(p, name) : "");
}

void uk_cache_read(struct uk_program *p, const char *tensor, const char *place, enum uk_scope scope,
                   const char *name) {
    cache(p, "cache_read", tensor, place, scope, name);
}

void uk_cache_write(struct uk_program *p, const char *tensor, const char *place, enum uk_scope scope,
                    const char *name) {
    cache(p, "cache_write", tensor, place, scope, name);
}

void uk_compute_at(struct uk_program *p, const char *stage, const char *loop) {
    step(p, "compute_at %s %s", word(p, stage), word(p, loop));
}

void uk_reverse_compute_at(struct uk_program *p, const char *stage, const char *loop) {
    step(p, "reverse_compute_at %s %s", word(p, stage), word(p, loop));
}

void uk_compute_inline(struct uk_program *p, const char *stage) {
    step(p, "compute_inline %s", word(p, stage));
}

void uk_rfactor(struct uk_program *p, const char *loop, const char *name) {
    step(p, "rfactor %s -> %s", word(p, loop), word(p, name));
}

void uk_tensorize(struct uk_program *p, const char *loop, const char *kernel) {
    step(p, "tensorize %s %s", word(p, loop), word(p, kernel));
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
    if (!uk_program_made(p, i))
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
