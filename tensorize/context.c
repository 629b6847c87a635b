/* The context: errors, and what is kept from one compilation to the next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "context.h"

struct uk_context *uk_context_create(void) {
    return calloc(1, sizeof(struct uk_context));
}

void uk_context_destroy(struct uk_context *c) {
    if (!c)
        return;
    uk_backend_destroy(c->backend);
    if (c->isl)
        uk_context_isl_destroy(c->isl);
    uk_arena_free(&c->arena);
    free(c->message);
    free(c);
}

const char *uk_context_message(const struct uk_context *c) {
    if (!c || !c->failed)
        return "";
    return c->message ? c->message : "error: out of memory; free some and try again";
}

const char *uk_context_time(const struct uk_context *c, int i, double *milliseconds) {
    if (i < 0 || i >= c->spent.count)
        return NULL;
    *milliseconds = c->spent.stage[i].milliseconds;
    return c->spent.stage[i].name;
}

void uk_context_enter(struct uk_context *c, const char *file) {
    free(c->message);
    c->message = NULL;
    c->failed = false;
    c->file = file;
}

void uk_text_free(char *text) {
    free(text);
}

enum uk_status uk_fail(struct uk_context *c, enum uk_status status, struct uk_position at, const char *format,
                       ...) {
    struct uk_text t = {0};
    char *what;
    va_list ap;

    if (c->failed)
        return status;
    c->failed = true;
    va_start(ap, format);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (n < 0 || !(what = malloc((size_t)n + 1)))
        return status;
    va_start(ap, format);
    vsnprintf(what, (size_t)n + 1, format, ap);
    va_end(ap);
    if (c->file)
        uk_put(&t, "%s:", c->file);
    if (at.line > 0)
        uk_put(&t, "%d:%d:", at.line, at.column);
    uk_put(&t, "%serror: %s", t.length ? " " : "", what);
    free(what);
    c->message = t.text;
    return status;
}

enum uk_status uk_out_of_memory(struct uk_context *c) {
    c->failed = true; /* no message is allocated: uk_context_message has a constant one */
    return UK_OUT_OF_MEMORY;
}
