/* SPDX-License-Identifier: Apache-2.0 */
/* Emits one stage of a compilation, of one or several programs. */
#include <stdlib.h>
#include <string.h>
#include "link.h"

static enum uk_status copy_out(struct uk_context *c, const char *from, size_t n, char **bytes,
                               size_t *length) {
    *bytes = malloc(n + 1);
    if (!*bytes)
        return uk_out_of_memory(c);
    memcpy(*bytes, from, n);
    (*bytes)[n] = 0;
    *length = n;
    return UK_OK;
}

static enum uk_status print_module(struct uk_build *b, char **bytes, size_t *length) {
    char *text = LLVMPrintModuleToString(b->module);
    enum uk_status s = copy_out(b->context, text, strlen(text), bytes, length);

    LLVMDisposeMessage(text);
    return s;
}

/* Makes an object or a shared object. */
static enum uk_status make_object(struct uk_build *b, enum uk_emit what, char **bytes, size_t *length) {
    char *object = NULL;
    size_t size;
    double since = uk_now();
    enum uk_status s = uk_build_object(b, &object, &size);

    uk_time(b->context->times, "assemble", since);
    if (!s && what == UK_EMIT_SHARED) {
        s = uk_link_shared(b, object, size, bytes, length);
        free(object);
    } else if (!s) {
        *bytes = object;
        *length = size;
    }
    return s;
}

static enum uk_status assemble(struct uk_build *b, char **bytes, size_t *length) {
    LLVMMemoryBufferRef buffer;
    double since = uk_now();
    enum uk_status s = uk_build_assemble(b, LLVMAssemblyFile, &buffer);

    uk_time(b->context->times, "assemble", since);
    if (s)
        return s;
    s = uk_name_words(b->context, b->target->arch, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer),
                      bytes, length);
    LLVMDisposeMemoryBuffer(buffer);
    return s;
}

enum uk_status uk_has_code(struct uk_context *c, const struct uk_target *t) {
    if (t->interpreted)
        return uk_fail(c, UK_UNSUPPORTED, (struct uk_position){0, 0},
                       "target interp has no code to emit; use another target, for instance x86_64-avx2");
    return UK_OK;
}

enum uk_status uk_emit_code(const struct uk_batch *b, enum uk_emit what, char **bytes, size_t *length) {
    const struct uk_target *t = b->target;
    struct uk_build build;

    enum uk_status s = uk_has_code(b->context, t);
    if (!s && !t->arch->is_device && (what == UK_EMIT_DEVICE || what == UK_EMIT_HOST))
        s = uk_fail(b->context, UK_UNSUPPORTED, (struct uk_position){0, 0},
                    "target %s is not a GPU: all its code is the host's; use another stage", t->name);
    if (!s)
        s = uk_build_all(&build, b, what, false);
    if (s)
        return s;
    if (what == UK_EMIT_DEVICE)
        s = uk_build_image(&build, bytes, length);
    else if (what == UK_EMIT_ASM)
        s = assemble(&build, bytes, length);
    else if (what > UK_EMIT_OPTIMIZED && what != UK_EMIT_HOST)
        s = make_object(&build, what, bytes, length);
    else
        s = print_module(&build, bytes, length);
    uk_build_end(&build);
    return s;
}

/* Hands over the text, which is non-NULL even if empty. */
static enum uk_status give_text(struct uk_context *c, enum uk_status s, struct uk_text *t, char **bytes,
                                size_t *length) {
    uk_put(t, "%s", "");
    if (s || t->failed) {
        free(t->text);
        return s ? s : uk_out_of_memory(c);
    }
    *bytes = t->text;
    *length = t->length;
    return UK_OK;
}

/* Prints the stages that need no code: schedules or loops, one after the other, or the header. */
static enum uk_status print_all(const struct uk_batch *b, enum uk_emit what, struct uk_text *t) {
    if (what == UK_EMIT_HEADER && b->bundle)
        return uk_fail(b->context, UK_UNSUPPORTED, (struct uk_position){0, 0},
                       "a bundle has no header, as the author of its source declares what it exports; for a "
                       "header of the programs emit these alone");
    for (int i = 0; i < b->count && what != UK_EMIT_HEADER; i++) {
        if (b->count > 1)
            uk_put(t, "%s# %s\n", i ? "\n" : "", b->function[i]->name);
        if (what == UK_EMIT_LOOPS)
            uk_print_loops(t, b->function[i]);
        else
            uk_put(t, "%s", b->steps[i].text ? b->steps[i].text : "");
    }
    return what == UK_EMIT_HEADER ? uk_emit_header(b, t) : UK_OK;
}

enum uk_status uk_emit_bundle(const struct uk_bundle *bundle, const struct uk_options *options,
                              enum uk_emit what, char **bytes, size_t *length) {
    struct uk_context *c;
    struct uk_text text = {0};
    struct uk_batch b;

    if (bytes)
        *bytes = NULL;
    if (length)
        *length = 0;
    enum uk_status s = uk_batch_check(bundle);
    if (s)
        return s;
    c = bundle->programs[0]->context;
    if ((s = uk_require(c, bytes, "the place for the bytes")) ||
        (s = uk_require(c, length, "the place for the length")))
        return s;
    if ((unsigned)what > UK_EMIT_HOST)
        return uk_fail(c, UK_INVALID_ARGUMENT, (struct uk_position){0, 0},
                       "there is no stage %d; use one of enum uk_emit", (int)what);
    s = uk_batch_begin(&b, bundle, options);
    if (!s && (what <= UK_EMIT_LLVM || what == UK_EMIT_HEADER))
        s = uk_batch_check_imports(&b);
    if (!s && (what <= UK_EMIT_LOOPS || what == UK_EMIT_HEADER)) {
        s = print_all(&b, what, &text);
        s = give_text(c, s, &text, bytes, length);
    } else if (!s) {
        do
            s = uk_emit_code(&b, what, bytes, length);
        while (s && uk_batch_reschedule(&b, &s));
    }
    uk_batch_end(&b);
    return s;
}

enum uk_status uk_emit_programs(struct uk_program *const programs[], int count,
                                const struct uk_options *options, enum uk_emit what, char **bytes,
                                size_t *length) {
    return uk_emit_bundle(&(struct uk_bundle){.programs = programs, .count = count}, options, what, bytes,
                          length);
}

enum uk_status uk_emit(struct uk_program *p, const struct uk_options *options, enum uk_emit what,
                       char **bytes, size_t *length) {
    return uk_emit_programs(&p, 1, options, what, bytes, length);
}

enum uk_status uk_explain(struct uk_program *p, const struct uk_options *options, char **text) {
    static const struct uk_options none;
    struct uk_text report = {0};
    const struct uk_target *t;
    struct uk_function *f;

    if (text)
        *text = NULL;
    enum uk_status s = uk_program_check(p);
    if (!s)
        s = uk_require(p->context, text, "the place for the text");
    if (s)
        return s;
    struct uk_context *c = p->context;
    struct uk_mark before = uk_arena_mark(&p->arena);
    s = uk_imports_open(p);
    if (!s)
        s = uk_target_chosen(c, options, &t);
    if (!s)
        s = uk_lower(p, t, options ? options : &none, &report, NULL, &f);
    if (!s)
        s = uk_imports_check(c, p, t);
    uk_imports_close(p);
    uk_arena_release(&p->arena, before);
    /* If nothing matched, the caller gets both the report and the status. */
    if ((!s || s == UK_NO_MATCH) && report.length) {
        *text = report.text;
        return s;
    }
    size_t length;
    return give_text(c, s, &report, text, &length);
}
