/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas and growing texts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base.h"

struct uk_chunk {
    struct uk_chunk *next;
    size_t used, room;
    max_align_t data[];
};

void *uk_alloc(struct uk_arena *a, size_t bytes) {
    size_t need = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct uk_chunk *c = a->chunk;

    if (need < bytes) {
        a->failed = true;
        return NULL;
    }
    if (!c || c->room - c->used < need) {
        size_t room = need > 16384 ? need : 16384;

        c = malloc(sizeof *c + room);
        if (!c) {
            a->failed = true;
            return NULL;
        }
        c->next = a->chunk;
        c->used = 0;
        c->room = room;
        a->chunk = c;
    }
    void *p = (char *)c->data + c->used;
    c->used += need;
    return memset(p, 0, need);
}

bool uk_arena_has(const struct uk_arena *a, const void *p) {
    for (const struct uk_chunk *c = a->chunk; c; c = c->next)
        if ((uintptr_t)p - (uintptr_t)c->data < c->used)
            return true;
    return false;
}

char *uk_strndup(struct uk_arena *a, const char *s, size_t n) {
    char *d = uk_alloc(a, n + 1);

    return d ? memcpy(d, s, n) : NULL;
}

char *uk_strdup(struct uk_arena *a, const char *s) {
    return uk_strndup(a, s, strlen(s));
}

char *uk_format(struct uk_arena *a, const char *format, ...) {
    va_list ap;
    char *s;

    va_start(ap, format);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (n < 0 || !(s = uk_alloc(a, (size_t)n + 1)))
        return NULL;
    va_start(ap, format);
    vsnprintf(s, (size_t)n + 1, format, ap);
    va_end(ap);
    return s;
}

struct uk_mark uk_arena_mark(const struct uk_arena *a) {
    return (struct uk_mark){.chunk = a->chunk, .used = a->chunk ? a->chunk->used : 0};
}

void uk_arena_release(struct uk_arena *a, struct uk_mark mark) {
    while (a->chunk != mark.chunk) {
        struct uk_chunk *next = a->chunk->next;

        free(a->chunk);
        a->chunk = next;
    }
    if (a->chunk)
        a->chunk->used = mark.used;
}

void uk_arena_free(struct uk_arena *a) {
    uk_arena_release(a, (struct uk_mark){0});
}

void uk_text_cut(struct uk_text *t, size_t length) {
    if (!t->text)
        return;
    t->length = length;
    t->text[length] = 0;
}

void uk_put(struct uk_text *t, const char *format, ...) {
    va_list ap;

    if (t->failed)
        return;
    va_start(ap, format);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (n < 0)
        goto fail;
    if (t->room - t->length <= (size_t)n) {
        size_t room = (t->length + (size_t)n + 1) * 2;
        char *text = realloc(t->text, room);

        if (!text)
            goto fail;
        t->text = text;
        t->room = room;
    }
    va_start(ap, format);
    vsnprintf(t->text + t->length, (size_t)n + 1, format, ap);
    va_end(ap);
    t->length += (size_t)n;
    return;
fail:
    free(t->text);
    *t = (struct uk_text){.failed = true};
}
