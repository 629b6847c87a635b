/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room base: arenas, growing texts, errors of a context, time, and suggestions for misspelled names. It uses
 * only the public header. Data: struct uk_arena, uk_text, uk_position, uk_context.
 */
#ifndef UK_BASE_H
#define UK_BASE_H

#include <stdatomic.h>
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
    /* An allocation has failed. A caller that makes several allocations clears it before and tests it once
     * after. */
    bool failed;
};

/* uk_alloc: zeroed memory that lives as long as the arena. These functions return NULL if there is no
 * memory. */
void *uk_alloc(struct uk_arena *a, size_t bytes);
char *uk_strdup(struct uk_arena *a, const char *s);
/* True if p points into the arena's memory. */
bool uk_arena_has(const struct uk_arena *a, const void *p);
char *uk_strndup(struct uk_arena *a, const char *s, size_t n);
char *uk_format(struct uk_arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
void uk_arena_free(struct uk_arena *a);
/* A position in the arena: uk_arena_release frees everything allocated after the mark. */
struct uk_mark {
    struct uk_chunk *chunk;
    size_t used;
};
struct uk_mark uk_arena_mark(const struct uk_arena *a);
void uk_arena_release(struct uk_arena *a, struct uk_mark mark);

/* A growing text, owned by malloc. After a failed allocation text is NULL and stays NULL. */
struct uk_text {
    char *text;
    size_t length, room;
    bool failed;
};
void uk_put(struct uk_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Cuts the text to its first `length` characters. */
void uk_text_cut(struct uk_text *t, size_t length);

/* ---- errors (context.c) ---- */

/* A position in a text, from 1; a negative column counts in the text that the schedule was read from. In a
 * program built by calls: -line is the number, from 1, of an item of kind `column`. 0: unknown. */
struct uk_position {
    int line, column;
};
enum uk_item {
    UK_ITEM_NEXT, /* before a statement; the number is that of the next statement */
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
/* Records a message that an earlier uk_fail composed; NULL: there was no memory for it. */
enum uk_status uk_fail_again(struct uk_context *c, enum uk_status status, const char *message);
/* UK_OK, or UK_INVALID_ARGUMENT if `argument` is NULL; `what` describes it in the message. */
enum uk_status uk_require(struct uk_context *c, const void *argument, const char *what);
/* Adds the line "FILE:LINE:COLUMN: note: TEXT", or "warning", to uk_context_notes, unless it is there
 * already. */
enum uk_status uk_note(struct uk_context *c, struct uk_position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum uk_status uk_warn(struct uk_context *c, struct uk_position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- time of a compilation, by stage (time.c) ---- */

enum { UK_MAX_TIMES = 16 };

struct uk_stage_time {
    const char *name; /* a string constant */
    double milliseconds;
};

struct uk_times {
    int count;
    struct uk_stage_time stage[UK_MAX_TIMES];
};

/* Milliseconds of a monotonic clock. */
double uk_now(void);
/* Adds the time since `since` to the stage of that name, which is created if it is new; t may be NULL.
 * uk_lower() passes context->times. */
void uk_time(struct uk_times *t, const char *stage, double since);

/* What a long call is doing, for signal handlers and other threads: of several programs compiled together,
 * which one, from 0. */
enum uk_progress_stage { UK_PROGRESS_NONE, UK_PROGRESS_SCHEDULE, UK_PROGRESS_COMPILE, UK_PROGRESS_JOIN };
struct uk_progress {
    atomic_int stage, item;
};
static inline void uk_progress_set(struct uk_progress *p, enum uk_progress_stage stage, int item) {
    atomic_store(&p->item, item);
    atomic_store(&p->stage, (int)stage);
}

/* ---- the context (context.c) ---- */

struct uk_context {
    char *message;         /* the last error, or NULL */
    struct uk_text notes;  /* notes and warnings of the last call, a line each */
    enum uk_status status; /* of the recorded error */
    /* An error is recorded; later ones are ignored until the next call of a public function. */
    bool failed;
    const char *file;          /* named in messages; set by uk_context_enter */
    const char *schedule_file; /* the file of the schedule, if it is another one; or NULL */
    /* The function whose code was refused although another schedule may succeed; or NULL. */
    const struct uk_function *refused_code;
    struct isl_ctx *isl;             /* created on first use by the scheduler */
    struct uk_arena arena;           /* for parsed declarations of the registry */
    struct uk_intrinsic *parsed;     /* declarations of the registry parsed so far */
    struct uk_known_target *targets; /* targets used so far */
    struct uk_backend *backend;      /* link's LLVM objects: target machines, bitcode; created on first use */
    struct uk_times *times;          /* the current compilation's, or NULL */
    struct uk_times spent;           /* the last compilation's */
    struct uk_progress progress;
};

/* Forgets the last error and sets the file named in messages; called by every public function. */
void uk_context_enter(struct uk_context *c, const char *file);
/* Forgets the last error if failing was an expected outcome; notes stay. */
void uk_context_forget(struct uk_context *c);
/* The status of the recorded error, or UK_OUT_OF_MEMORY if none is recorded. */
enum uk_status uk_failure(struct uk_context *c);

/* ---- names (nearest.c) ---- */

struct uk_near {
    const char *word; /* the misspelled word */
    const char *name; /* the closest name so far; NULL if no name is close */
    int distance;     /* between `word` and `name` */
};

/* Keeps `name` if it is closer to the word than all names before. */
void uk_nearer(struct uk_near *n, const char *name);

#endif
