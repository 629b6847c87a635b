/* SPDX-License-Identifier: Apache-2.0 */
/* The context: errors, and state that outlives a compilation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base.h"

const char *uk_tensorize_version(void) {
    return UK_VERSION;
}

struct uk_context *uk_context_create(void) {
    return calloc(1, sizeof(struct uk_context));
}

const char *uk_context_message(const struct uk_context *c) {
    if (!c || !c->failed)
        return "";
    return c->message ? c->message : "error: out of memory; free some and try again";
}

const char *uk_context_time(const struct uk_context *c, int i, double *milliseconds) {
    if (!c || i < 0 || i >= c->spent.count)
        return NULL;
    if (milliseconds)
        *milliseconds = c->spent.stage[i].milliseconds;
    return c->spent.stage[i].name;
}

void uk_context_forget(struct uk_context *c) {
    free(c->message);
    c->message = NULL;
    c->failed = false;
    c->refused_code = NULL;
}

void uk_context_enter(struct uk_context *c, const char *file) {
    uk_context_forget(c);
    free(c->notes.text);
    c->notes = (struct uk_text){0};
    c->file = file;
}

void uk_text_free(char *text) {
    free(text);
}

const char *uk_context_notes(const struct uk_context *c) {
    return c && !c->failed && c->notes.text ? c->notes.text : "";
}

/* Puts "FILE:LINE:COLUMN: " or "NAME: ITEM NUMBER: ", as far as these are known. */
static void put_position(struct uk_text *t, const struct uk_context *c, struct uk_position at) {
    static const char *const items[] = {
        [UK_ITEM_NEXT] = "before statement", [UK_ITEM_STATEMENT] = "statement", [UK_ITEM_STEP] = "step",
        [UK_ITEM_SCHEDULE] = "schedule",     [UK_ITEM_TENSOR] = "tensor",       [UK_ITEM_SCALAR] = "scalar",
        [UK_ITEM_ASSUMPTION] = "assumption", [UK_ITEM_INTRINSIC] = "intrinsic", [UK_ITEM_IMPORT] = "import",
    };

    const char *file = at.column < 0 && c->schedule_file ? c->schedule_file : c->file;

    if (file)
        uk_put(t, "%s:", file);
    if (at.line > 0)
        uk_put(t, "%d:%d:", at.line, abs(at.column));
    if (at.line < 0)
        uk_put(t, "%s%s %d:", file ? " " : "", items[at.column], -at.line);
    if (file || at.line)
        uk_put(t, " ");
}

static enum uk_status add_note(struct uk_context *c, struct uk_position at, const char *kind,
                               const char *what) {
    struct uk_text t = {0};

    put_position(&t, c, at);
    uk_put(&t, "%s: %s\n", kind, what);
    if (t.text && !(c->notes.text && strstr(c->notes.text, t.text)))
        uk_put(&c->notes, "%s", t.text);
    free(t.text);
    return t.failed || c->notes.failed ? uk_out_of_memory(c) : UK_OK;
}

enum uk_status uk_note(struct uk_context *c, struct uk_position at, const char *format, ...) {
    char what[1024];
    va_list ap;

    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    return add_note(c, at, "note", what);
}

enum uk_status uk_warn(struct uk_context *c, struct uk_position at, const char *format, ...) {
    char what[1024];
    va_list ap;

    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    return add_note(c, at, "warning", what);
}

enum uk_status uk_fail(struct uk_context *c, enum uk_status status, struct uk_position at, const char *format,
                       ...) {
    struct uk_text t = {0};
    char *what;
    va_list ap;

    if (c->failed)
        return c->status;
    c->failed = true;
    c->status = UK_OUT_OF_MEMORY; /* replaced below if the text can be allocated */
    va_start(ap, format);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (n < 0 || !(what = malloc((size_t)n + 1)))
        return c->status;
    va_start(ap, format);
    vsnprintf(what, (size_t)n + 1, format, ap);
    va_end(ap);
    put_position(&t, c, at);
    uk_put(&t, "error: %s", what);
    free(what);
    c->message = t.text;
    if (t.text)
        c->status = status;
    return c->status;
}

enum uk_status uk_out_of_memory(struct uk_context *c) {
    if (!c->failed)
        c->status = UK_OUT_OF_MEMORY;
    c->failed = true; /* no text is needed: uk_context_message has a constant one */
    return c->status;
}

enum uk_status uk_require(struct uk_context *c, const void *argument, const char *what) {
    return argument ? UK_OK
                    : uk_fail(c, UK_INVALID_ARGUMENT, (struct uk_position){0, 0},
                              "%s is NULL; pass its address", what);
}

enum uk_status uk_restore_failure(struct uk_context *c, enum uk_status status, const char *message) {
    struct uk_text t = {0};

    if (message)
        uk_put(&t, "%s", message);
    free(c->message);
    c->failed = true;
    c->status = status;
    c->message = t.text;
    return status;
}

enum uk_status uk_failure(struct uk_context *c) {
    return c->failed ? c->status : uk_out_of_memory(c);
}
