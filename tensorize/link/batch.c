/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several programs as one piece of code: each is compiled alone, then the modules are merged. Names of
 * functions must differ from each other and from names that the code of another program calls.
 */
#include <stdlib.h>
#include <string.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Linker.h>
#include "link.h"

enum { MOST = 65536 };

static const struct uk_position nowhere = {0, 0};

static const char *where(const struct uk_program *p) {
    return p->file ? p->file : "a program made by calls";
}

/* ---- lowering ---- */

static enum uk_status check_names(struct uk_context *c, struct uk_program *const programs[], int count) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++) {
            if (programs[i]->context != c)
                return uk_fail(
                    c, UK_INVALID_ARGUMENT, nowhere,
                    "programs of different contexts cannot be compiled together; make them with one");
            if (programs[i]->name && programs[j]->name && !strcmp(programs[i]->name, programs[j]->name))
                return uk_fail(c, UK_INVALID_ARGUMENT, nowhere,
                               "function %s is also made from %s; rename one of the files", programs[i]->name,
                               where(programs[j]));
        }
    return UK_OK;
}

enum uk_status uk_batch_check(const struct uk_bundle *bundle) {
    if (!bundle || !bundle->programs || bundle->count < 1 || !bundle->programs[0])
        return UK_INVALID_ARGUMENT; /* without a program there is no context for a message */
    struct uk_program *const *programs = bundle->programs;
    const int count = bundle->count;
    struct uk_context *c = programs[0]->context;
    enum uk_status s = UK_OK;

    uk_context_enter(c, programs[0]->file);
    if (count > MOST)
        s = uk_fail(c, UK_INVALID_ARGUMENT, nowhere, "%d programs; give at most %d of them", count, MOST);
    for (int i = 1; i < count && !s; i++)
        s = uk_require(c, programs[i], "a program");
    return s;
}

static enum uk_status check_all(struct uk_program *const programs[], int count) {
    enum uk_status s = UK_OK;

    for (int i = 0; i < count && !s; i++)
        s = uk_program_check(programs[i]);
    for (int i = 0; i < count && !s; i++) {
        uk_context_set_program(programs[i]->context, programs[i]);
        s = uk_imports_open(programs[i]);
    }
    return s;
}

/* Reports progress, unless a single program is part of its caller's progress. */
static void show_progress(const struct uk_batch *b, enum uk_progress_stage stage, int item) {
    if (b->count > 1)
        uk_progress_set(&b->context->progress, stage, item);
}

static enum uk_status lower_all(struct uk_batch *b) {
    enum uk_status s = UK_OK;

    b->notes = b->context->notes.length;
    for (int i = 0; i < b->count && !s; i++) {
        struct uk_program *p = b->program[i];
        struct uk_function *f;

        uk_context_set_program(b->context, p);
        b->before[i] = uk_arena_mark(&p->arena);
        b->lowered = i + 1;
        show_progress(b, UK_PROGRESS_SCHEDULE, i);
        s = uk_lower(p, b->target, b->options, NULL, &b->steps[i], &f);
        b->function[i] = f;
    }
    return s;
}

/* Refuses the schedule of the function whose code was at fault. If that function has no other schedule, since
 * the code of all was optimized together, refuses that of any function that has one. */
static bool refuse(struct uk_batch *b, enum uk_status s) {
    const struct uk_function *at_fault = b->context->refused_code;
    bool found = at_fault && uk_refuse_code(at_fault, s);

    for (int i = 0; at_fault && i < b->count && !found; i++)
        found = uk_refuse_code(b->function[i], s);
    return found;
}

bool uk_batch_reschedule(struct uk_batch *b, enum uk_status *s) {
    if (!refuse(b, *s))
        return false;
    *s = UK_OK;
    uk_text_cut(&b->context->notes, b->notes);
    for (int i = 0; i < b->count && !*s; i++) {
        struct uk_function *f;

        uk_context_set_program(b->context, b->program[i]);
        uk_text_cut(&b->steps[i], 0);
        *s = uk_lower_again(b->function[i], &b->steps[i], &f);
        b->function[i] = f;
    }
    return !*s;
}

enum uk_status uk_batch_begin(struct uk_batch *b, const struct uk_bundle *bundle,
                              const struct uk_options *options) {
    static const struct uk_options none;
    const struct uk_options *o = options ? options : &none;
    struct uk_program *const *programs = bundle->programs;
    const int count = bundle->count;
    struct uk_context *c = programs[0]->context;

    uk_context_enter(c, programs[count - 1]->file);
    *b = (struct uk_batch){.context = c, .program = programs, .count = count, .options = o};
    if (bundle->source || bundle->constant_count || bundle->exported_count)
        b->bundle = bundle;
    c->spent = (struct uk_times){0};
    c->times = &c->spent;
    b->function = calloc((size_t)count, sizeof *b->function);
    b->before = calloc((size_t)count, sizeof *b->before);
    b->steps = calloc((size_t)count, sizeof *b->steps);
    if (!b->function || !b->before || !b->steps)
        return uk_out_of_memory(c);
    enum uk_status s = check_names(c, programs, count);
    if (!s)
        s = check_all(programs, count);
    if (!s)
        s = uk_target_chosen(c, o, &b->target);
    if (!s && b->bundle)
        s = uk_bundle_check(b);
    return s ? s : lower_all(b);
}

enum uk_status uk_batch_check_imports(const struct uk_batch *b) {
    enum uk_status s = UK_OK;

    for (int i = 0; i < b->count && !s; i++) {
        uk_context_set_program(b->context, b->program[i]);
        s = uk_imports_check(b->context, b->program[i], b->target);
    }
    return s;
}

void uk_batch_end(struct uk_batch *b) {
    for (int i = 0; i < b->count; i++)
        uk_imports_close(b->program[i]);
    for (int i = 0; i < b->lowered; i++) {
        uk_arena_release(&b->program[i]->arena, b->before[i]);
        free(b->steps[i].text);
    }
    free(b->function);
    free(b->before);
    free(b->steps);
    show_progress(b, UK_PROGRESS_NONE, 0);
    b->context->times = NULL;
}

/* ---- code ---- */

static enum uk_status advance(struct uk_build *b, enum uk_emit what) {
    double since = uk_now();
    enum uk_status s = uk_codegen(b);

    uk_time(b->context->times, "codegen", since);
    if (s || what <= UK_EMIT_LLVM)
        return s;
    since = uk_now();
    s = uk_link(b);
    uk_time(b->context->times, "link", since);
    if (s || what <= UK_EMIT_LINKED)
        return s;
    since = uk_now();
    s = uk_optimize(b);
    uk_time(b->context->times, "optimize", since);
    return !s && b->host && uk_is_of_host(what) ? uk_build_to_host(b) : s;
}

/* Checks that the module defines what it calls: a name only declared would bind to another program's
 * function. */
static enum uk_status check_module(struct uk_build *b, const struct uk_function *const f[], int count) {
    for (int i = 0; i < count; i++)
        if (f[i] != b->function && LLVMGetNamedFunction(b->module, f[i]->name))
            return uk_fail(
                b->context, UK_INVALID_ARGUMENT, nowhere,
                "function %s, which is made of %s, is also the name of a function that %s calls; give "
                "the file another name",
                f[i]->name, where(f[i]->program), b->function->name);
    return UK_OK;
}

/* Merges b's module into that of `all`. They have different LLVM contexts, so it passes through bitcode. */
static enum uk_status merge(struct uk_build *all, const struct uk_build *b) {
    double since = uk_now();
    LLVMMemoryBufferRef bitcode = LLVMWriteBitcodeToMemoryBuffer(b->module);
    LLVMModuleRef module;
    LLVMBool failed = LLVMParseBitcodeInContext2(all->llvm, bitcode, &module);

    LLVMDisposeMemoryBuffer(bitcode);
    if (!failed)
        failed = LLVMLinkModules2(all->module, module);
    uk_time(all->context->times, "merge", since);
    return failed ? uk_build_fail(all, UK_LINK, b->function->name, "does not link with the other functions")
                  : UK_OK;
}

static enum uk_status add(struct uk_build *all, const struct uk_function *const f[], int count, int i,
                          const struct uk_target *t, enum uk_emit what) {
    struct uk_build b;
    enum uk_status s = uk_build_begin(&b, all->context, f[i], t);

    if (s)
        return s;
    b.trampoline = all->trampoline;
    s = advance(&b, what);
    if (!s)
        s = check_module(&b, f, count);
    if (!s)
        s = merge(all, &b);
    if (!s)
        uk_objects_move(all, &b);
    uk_build_end(&b);
    return s;
}

enum uk_status uk_build_all(struct uk_build *build, const struct uk_batch *b, enum uk_emit what,
                            bool trampoline) {
    const struct uk_function *const *f = b->function;

    uk_context_set_program(b->context, f[0]->program);
    enum uk_status s = uk_build_begin(build, b->context, f[0], b->target);

    if (s)
        return s;
    build->trampoline = trampoline;
    for (int i = 0; i < b->count; i++)
        build->uses_library |= f[i]->is_parallel;
    show_progress(b, UK_PROGRESS_COMPILE, 0);
    s = advance(build, what);
    if (!s)
        s = check_module(build, f, b->count);
    for (int i = 1; i < b->count && !s; i++) {
        uk_context_set_program(b->context, f[i]->program);
        show_progress(b, UK_PROGRESS_COMPILE, i);
        s = add(build, f, b->count, i, b->target, what);
    }
    show_progress(b, UK_PROGRESS_JOIN, 0);
    if (!s && b->bundle)
        s = uk_bundle_join(build, b, what);
    if (s)
        uk_build_end(build);
    return s;
}
