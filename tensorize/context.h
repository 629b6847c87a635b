/* SPDX-License-Identifier: Apache-2.0 */
/* Inside libuktensorize: what a context holds. */
#ifndef UK_CONTEXT_H
#define UK_CONTEXT_H

#include "program.h"
#include "target.h"

struct isl_ctx;

struct uk_context {
    char *message;         /* the last error, or NULL */
    struct uk_text notes;  /* what the last call says though it went well, a line each */
    enum uk_status status; /* of the recorded error */
    bool failed;           /* an error is recorded; later ones are ignored until the next call from outside */
    const char *file;      /* for messages: set by whoever works on a program */
    const char *schedule_file;    /* the same for its steps, where that is another; or NULL */
    struct isl_ctx *isl;          /* made on first use by the scheduler */
    struct uk_arena arena;        /* of the registry's parsed declarations */
    struct uk_intrinsic **parsed; /* by row, NULL until used */
    struct uk_backend *backend;   /* LLVM side: target machines, bitcode seen so far; made on first use */
    struct uk_times *times;       /* of the compilation under way, or NULL */
    struct uk_times spent;        /* of the last one */
};

/* Forgets the last error and sets the file that messages name; called at every entry from outside. */
void uk_context_enter(struct uk_context *c, const char *file);
/* Forgets the last error, of something that was only tried; the notes stay. */
void uk_context_forget(struct uk_context *c);
/* Messages are about the program from here on. */
void uk_context_turn_to(struct uk_context *c, const struct uk_program *p);
/* The status of the recorded error; memory ran out if none is. */
enum uk_status uk_failure(struct uk_context *c);
/* Provided by the back end (b may be NULL) and by the scheduler. */
void uk_backend_destroy(struct uk_backend *b);
void uk_context_isl_destroy(struct isl_ctx *isl);

#endif
