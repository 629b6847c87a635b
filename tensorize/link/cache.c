/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache of a context's objects: the same functions for the same target need not be linked, optimized and
 * assembled again. The key is the text of the module before linking; with the target's name and the kernels'
 * names in it, it determines the object. Not cached: programs that import code, which may change, and
 * programs for GPUs, which have two modules.
 */
#include <stdlib.h>
#include <string.h>
#include "link.h"

enum { MOST_OBJECTS = 32 };

static void drop(struct uk_cached *k) {
    free(k->key);
    free(k->object);
    free(k);
}

bool uk_has_imports(const struct uk_program *p) {
    const struct uk_step *s = p->steps;

    while (s && s->kind != UK_STEP_IMPORT)
        s = s->next;
    return p->imports || s;
}

char *uk_cache_key(struct uk_build *b) {
    if (b->host || uk_has_imports(b->function->program))
        return NULL;
    struct uk_text t = {0};
    char *text = LLVMPrintModuleToString(b->module);

    uk_put(&t, "%s\n%s", b->target->name, text);
    LLVMDisposeMessage(text);
    return t.text;
}

LLVMMemoryBufferRef uk_cache_find(struct uk_context *c, const char *key) {
    if (!key)
        return NULL;
    for (const struct uk_cached *k = c->backend->cached; k; k = k->next)
        if (!strcmp(k->key, key))
            return LLVMCreateMemoryBufferWithMemoryRangeCopy(k->object, k->length, "kept");
    return NULL;
}

void uk_cache_keep(struct uk_context *c, char *key, LLVMMemoryBufferRef object) {
    struct uk_cached **end = &c->backend->cached, *k = key ? calloc(1, sizeof *k) : NULL;
    size_t n = LLVMGetBufferSize(object), count = 1;

    if (!k || !(k->object = malloc(n))) { /* not fatal: the object is just not cached */
        free(key);
        free(k);
        return;
    }
    memcpy(k->object, LLVMGetBufferStart(object), n);
    k->key = key;
    k->length = n;
    k->next = *end;
    *end = k;
    for (end = &k->next; *end; end = &(*end)->next)
        if (++count > MOST_OBJECTS) {
            drop(*end);
            *end = NULL;
            return;
        }
}

void uk_cache_clear(struct uk_backend *b) {
    while (b->cached) {
        struct uk_cached *next = b->cached->next;

        drop(b->cached);
        b->cached = next;
    }
}
