/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room base: arenas, growing texts, errors of a context, time, and suggestions for misspelled names. It uses
 * only the public header. (A room is a folder of the library; it uses only the rooms before it, in the order
 * that ARCHITECTURE.md lists.) Data: struct uk_arena, uk_text, uk_position, uk_context.
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
    /* An allocation has failed since this was last cleared. A caller that makes several allocations clears it
     * before the first one and tests it once after the last one. */
    bool failed;
};

/* Memory that lives as long as the arena; uk_alloc zeroes it. NULL, and a->failed: there is no memory. */
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

/* A growing text, in memory from malloc. After a failed allocation `text` is NULL and stays NULL. */
struct uk_text {
    char *text;
    size_t length, room; /* characters without the NUL; bytes allocated */
    bool failed;
};
void uk_put(struct uk_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Cuts the text to its first `length` characters. */
void uk_text_cut(struct uk_text *t, size_t length);

/* ---- errors (context.c) ---- */

/* A place that a message names, in one of these encodings:
 *
 *     line > 0   line and abs(column), both from 1, of a text: of the schedule's text if column < 0, else of
 *                the program's
 *     line < 0   item number -line, from 1, of a program built by calls; column is its enum uk_item
 *     line == 0  unknown; column is not used */
struct uk_position {
    int line, column;
};
enum uk_item {
    UK_ITEM_NEXT, /* the place before the statement of that number, which may not exist yet */
    UK_ITEM_STATEMENT,
    UK_ITEM_STEP,
    UK_ITEM_SCHEDULE,
    UK_ITEM_TENSOR,
    UK_ITEM_SCALAR,
    UK_ITEM_ASSUMPTION,
    UK_ITEM_INTRINSIC,
    UK_ITEM_IMPORT,
};

/* Records "FILE:LINE:COLUMN: error: MESSAGE" in the context and returns status. If an error is recorded
 * already, changes nothing and returns the status of that one. */
enum uk_status uk_fail(struct uk_context *c, enum uk_status status, struct uk_position at, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));
enum uk_status uk_out_of_memory(struct uk_context *c);
/* Records a message that an earlier uk_fail composed, for callers that cleared the context in between. NULL:
 * there was no memory for the message. */
enum uk_status uk_restore_failure(struct uk_context *c, enum uk_status status, const char *message);
/* Fails with UK_INVALID_ARGUMENT if `argument` is NULL; `what` describes it in the message. */
enum uk_status uk_require(struct uk_context *c, const void *argument, const char *what);
/* Adds the line "FILE:LINE:COLUMN: note: TEXT" (uk_warn: "warning" instead of "note") to the result of
 * uk_context_notes, unless it is there already. */
enum uk_status uk_note(struct uk_context *c, struct uk_position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum uk_status uk_warn(struct uk_context *c, struct uk_position at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- time of a compilation, by phase (time.c) ----
 *
 * In this section `stage` is a phase of a compilation, such as "lower"; elsewhere a stage is a statement with
 * its loops (struct uk_stage). */

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
/* Adds the time since `since`, a value of uk_now, to the phase of that name, which is created if it is new.
 * Does nothing if t, usually context->times, is NULL. */
void uk_time(struct uk_times *t, const char *stage, double since);

/* Progress of a call that compiles several programs together; signal handlers and other threads read it. */
enum uk_progress_stage {
    UK_PROGRESS_NONE,     /* no such call is running */
    UK_PROGRESS_SCHEDULE, /* a program is being scheduled and lowered */
    UK_PROGRESS_COMPILE,  /* machine code for a program is being generated */
    UK_PROGRESS_JOIN      /* the objects of all programs are being joined; item is 0 */
};
struct uk_progress {
    atomic_int stage, item; /* enum uk_progress_stage; number of the program, from 0 */
};
static inline void uk_progress_set(struct uk_progress *p, enum uk_progress_stage stage, int item) {
    atomic_store(&p->item, item);
    atomic_store(&p->stage, (int)stage);
}

/* ---- the context (context.c) ---- */

struct uk_context {
    char *message;         /* of the recorded error; NULL: none, or no memory for the text */
    struct uk_text notes;  /* notes and warnings of the last public call, a line each */
    enum uk_status status; /* of the recorded error */
    /* An error is recorded. Later errors are ignored until uk_context_enter or uk_context_forget. */
    bool failed;
    const char *file;          /* named in messages; set by uk_context_enter */
    const char *schedule_file; /* the file of the schedule, if it is not `file`; or NULL */
    /* The function whose code was refused although another schedule may succeed; or NULL. */
    const struct uk_function *refused_code;
    struct isl_ctx *isl;             /* of room polyhedra; created on first use */
    struct uk_arena arena;           /* for parsed declarations of the registry, and targets */
    struct uk_intrinsic *parsed;     /* declarations of the registry parsed so far */
    struct uk_known_target *targets; /* targets used so far */
    struct uk_backend *backend;      /* of room link: compiled imports and objects; created on first use */
    struct uk_times *times;          /* where the running compilation adds its times; or NULL */
    struct uk_times spent;           /* times of the last compilation */
    struct uk_progress progress;
    /* Replaces UK_SHORT_BYTES of loops.h, for tests of kernels with wide indices; 0: it is not replaced. */
    int64_t short_bytes;
};

/* Discards the recorded error and the notes, and sets the file named in messages. Every public function calls
 * it first. */
void uk_context_enter(struct uk_context *c, const char *file);
/* Discards the recorded error; notes stay. For a caller that expected the failure and continues. */
void uk_context_forget(struct uk_context *c);
/* The status of the recorded error. If none is recorded, an allocation has failed: records and returns
 * UK_OUT_OF_MEMORY. */
enum uk_status uk_failure(struct uk_context *c);

/* ---- names (closest_name.c) ---- */

struct uk_closest_name {
    const char *word; /* the misspelled word */
    const char *name; /* the closest name so far; NULL if no name is close */
    int distance;     /* edit distance between `word` and `name` (Damerau-Levenshtein) */
};

/* Keeps `name` if it is closer to the word than all names before, and at most half of the word's length (in
 * edits) away. */
void uk_consider_name(struct uk_closest_name *n, const char *name);

#endif
