/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room base: memory that is freed at once, growing texts, errors of a context, time, and suggestions for
 * misspelled names. It uses the public header alone. Data: struct uk_arena, uk_text, uk_position, uk_context.
 */
#ifndef UK_BASE_H
#define UK_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tensorize.h"

struct isl_ctx;
struct uk_backend;
struct uk_known_target;
struct uk_intrinsic;

/* ---- memory (arena.c) ---- */

struct uk_arena {
    struct uk_chunk *chunk;
    bool failed; /* an allocation has failed; a caller that needs all of several clears it before and tests it
                    after */
};

/* Zeroed memory that lives as long as the arena, or NULL. */
void *uk_alloc(struct uk_arena *a, size_t bytes);
char *uk_strdup(struct uk_arena *a, const char *s);
/* Whether p lies in the arena's memory. */
bool uk_arena_has(const struct uk_arena *a, const void *p);
char *uk_strndup(struct uk_arena *a, const char *s, size_t n);
char *uk_format(struct uk_arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void uk_arena_free(struct uk_arena *a);
/* What was allocated after the mark is freed by the release. */
struct uk_mark {
    struct uk_chunk *chunk;
    size_t used;
};
struct uk_mark uk_arena_mark(const struct uk_arena *a);
void uk_arena_release(struct uk_arena *a, struct uk_mark mark);

/* A text that grows; after a failed allocation, text is NULL and stays so. Owned by malloc. */
struct uk_text {
    char *text;
    size_t length, room;
    bool failed;
};
void uk_put(struct uk_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Takes away what was put behind the first `length` characters. */
void uk_text_cut(struct uk_text *t, size_t length);

/* ---- errors (context.c) ---- */

/* Of a text, from 1; a negative column is of the text that the schedule was read from. Of a program made by
 * calls: -line is the number, from 1, of an item of kind `column`. 0: unknown. */
struct uk_position {
    int line, column;
};
enum uk_item {
    UK_ITEM_NEXT, /* what a later statement is made of; the number is that statement's */
    UK_ITEM_STATEMENT,
    UK_ITEM_STEP,
    UK_ITEM_TENSOR,
    UK_ITEM_SCALAR,
    UK_ITEM_ASSUMPTION,
    UK_ITEM_INTRINSIC,
    UK_ITEM_IMPORT,
};

/* Records "FILE:LINE:COLUMN: error: MESSAGE" in the context (the first error wins) and returns status. */
enum uk_status uk_fail(struct uk_context *c, enum uk_status status, struct uk_position at, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));
enum uk_status uk_out_of_memory(struct uk_context *c);
/* Records a message that uk_fail made before; NULL: there was no memory for it. */
enum uk_status uk_fail_again(struct uk_context *c, enum uk_status status, const char *message);
/* UK_OK; or UK_INVALID_ARGUMENT if an argument, which `what` describes, is NULL. */
enum uk_status uk_require(struct uk_context *c, const void *argument, const char *what);
/* Adds "FILE:LINE:COLUMN: note: TEXT", or warning, to what uk_context_notes returns, once. */
enum uk_status uk_note(struct uk_context *c, struct uk_position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum uk_status uk_warn(struct uk_context *c, struct uk_position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- what a compilation took, stage by stage (time.c) ---- */

enum { UK_MAX_TIMES = 16 };

struct uk_stage_time {
    const char *name; /* a constant */
    double milliseconds;
};

struct uk_times {
    int count;
    struct uk_stage_time stage[UK_MAX_TIMES];
};

/* Milliseconds of a monotonic clock. */
double uk_now(void);
/* Adds the time since `since` to the phase of that name, which is made if it is new; t may be NULL.
 * uk_lower() passes context->times. */
void uk_time(struct uk_times *t, const char *stage, double since);

/* ---- the context (context.c) ---- */

struct uk_context {
    char *message;         /* the last error, or NULL */
    struct uk_text notes;  /* notes and warnings of the last call, a line each */
    enum uk_status status; /* of the recorded error */
    bool failed;           /* an error is recorded; later ones are ignored until the next call from outside */
    const char *file;      /* in messages: set by uk_context_enter */
    const char *schedule_file; /* the same for its steps, where that is another; or NULL */
    const struct uk_function
        *refused_code;               /* whose loops no code could be made of, where others may do; or NULL */
    struct isl_ctx *isl;             /* made on first use by the scheduler */
    struct uk_arena arena;           /* of the registry's parsed declarations */
    struct uk_intrinsic *parsed;     /* of the registry's rows, those that were used */
    struct uk_known_target *targets; /* that were asked for (target) */
    struct uk_backend *backend;      /* LLVM side: target machines, bitcode seen so far; made on first use */
    struct uk_times *times;          /* of the current compilation, or NULL */
    struct uk_times spent;           /* of the last one */
};

/* Forgets the last error and sets the file that messages name; called at every entry from outside. */
void uk_context_enter(struct uk_context *c, const char *file);
/* Forgets the last error, where failing was one of the expected outcomes; the notes stay. */
void uk_context_forget(struct uk_context *c);
/* The status of the recorded error; memory ran out if none is. */
enum uk_status uk_failure(struct uk_context *c);

/* ---- names (nearest.c) ---- */

struct uk_near {
    const char *word; /* what was written */
    const char *name; /* the name nearest to it so far; NULL if none is near */
    int distance;     /* of `name` */
};

/* Keeps `name` if it is nearer than all before. */
void uk_nearer(struct uk_near *n, const char *name);

#endif
