/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: a program as machine code in this process. */
#define _GNU_SOURCE /* strdup */
#include <stdlib.h>
#include <string.h>
#include "module.h"

static void empty(struct uk_module *m) {
    uk_jit_destroy(m->jit);
    for (char **k = m->kernel; k && *k; k++)
        free(*k);
    for (char **n = m->name; n && *n; n++)
        free(*n);
    free(m->kernel);
    free(m->name);
    for (int i = 0; m->packs && i < m->arguments; i++)
        uk_module_destroy(m->packs[i]);
    free(m->packs);
    free(m->packing);
    *m = (struct uk_module){0};
}

/* ---- the JIT: only links the object, which is compiled already ---- */

static enum uk_status jit_fail(struct uk_context *c, const char *what, LLVMErrorRef error) {
    char *text = LLVMGetErrorMessage(error);
    enum uk_status s = uk_fail(c, UK_LINK, (struct uk_position){0, 0}, "%s: %s", what, text);

    LLVMDisposeErrorMessage(text);
    return s;
}

static LLVMErrorRef define_symbols(LLVMOrcLLJITRef jit, LLVMOrcJITDylibRef library) {
    LLVMOrcCSymbolMapPair pair[UK_SYMBOLS];

    for (int i = 0; i < UK_SYMBOLS; i++) {
        pair[i].Name = LLVMOrcLLJITMangleAndIntern(jit, uk_symbols[i].name);
        pair[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)uk_symbols[i].address;
        pair[i].Sym.Flags =
            (LLVMJITSymbolFlags){LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0};
    }
    return LLVMOrcJITDylibDefine(library, LLVMOrcAbsoluteSymbols(pair, UK_SYMBOLS));
}

enum uk_status uk_jit_find(struct uk_context *c, LLVMOrcLLJITRef jit, const char *name,
                           LLVMOrcExecutorAddress *at) {
    LLVMErrorRef error = LLVMOrcLLJITLookup(jit, at, name);

    return error ? jit_fail(c, name, error) : UK_OK;
}

void uk_jit_destroy(LLVMOrcLLJITRef jit) {
    LLVMErrorRef error = jit ? LLVMOrcDisposeLLJIT(jit) : NULL;

    if (error)
        LLVMConsumeError(error);
}

enum uk_status uk_jit_load(struct uk_context *c, const char *name, LLVMMemoryBufferRef object,
                           LLVMOrcLLJITRef *jit) {
    LLVMErrorRef error = LLVMOrcCreateLLJIT(jit, LLVMOrcCreateLLJITBuilder());

    if (error) {
        *jit = NULL;
        LLVMDisposeMemoryBuffer(object);
        return jit_fail(c, "LLVM's JIT does not start", error);
    }
    LLVMOrcJITDylibRef library = LLVMOrcLLJITGetMainJITDylib(*jit);
    error = define_symbols(*jit, library);
    if (error)
        LLVMDisposeMemoryBuffer(object);
    else
        error = LLVMOrcLLJITAddObjectFile(*jit, library, object);
    if (!error)
        return UK_OK;
    enum uk_status s = jit_fail(c, name, error);

    uk_jit_destroy(*jit);
    *jit = NULL;
    return s;
}

/* Finds the function's trampoline and stores it in *call, a pointer to a function. */
static enum uk_status find_call(struct uk_context *c, struct uk_module *m, const char *name, void *call) {
    LLVMOrcExecutorAddress at;
    struct uk_text trampoline = {0};

    uk_put(&trampoline, "%s.call", name);
    if (trampoline.failed)
        return uk_out_of_memory(c);
    enum uk_status s = uk_jit_find(c, m->jit, trampoline.text, &at);

    free(trampoline.text);
    if (!s)
        memcpy(call, &at, sizeof(void (*)(void)));
    return s;
}

/* Finds the trampolines of the function and of those that pack its constant tensors. */
static enum uk_status find_calls(struct uk_context *c, struct uk_module *m, const struct uk_function *f) {
    enum uk_status s = find_call(c, m, f->name, &m->call);
    int i = 0;

    m->packing = s ? NULL : calloc((size_t)f->tensors + 1, sizeof *m->packing);
    if (!s && !m->packing)
        return uk_out_of_memory(c);
    for (int t = 0; t < f->tensors && !s; t++) {
        const struct uk_packed *k = uk_packed_at(f, i);

        if (f->tensor[t]->kind != UK_TENSOR_ARGUMENT)
            continue;
        if (k && !(s = find_call(c, m, k->size_name, &m->packing[i].bytes)))
            s = find_call(c, m, k->pack->name, &m->packing[i].pack);
        m->arguments = ++i;
    }
    return s;
}

/* Loads the object, which it takes over. f: the function whose trampolines it contains; or NULL. */
static enum uk_status load(struct uk_context *c, struct uk_module *m, const char *name,
                           const struct uk_function *f, LLVMMemoryBufferRef object) {
    LLVMOrcExecutorAddress code;
    enum uk_status s = uk_jit_load(c, name, object, &m->jit);

    if (!s)
        s = uk_jit_find(c, m->jit, name, &code);
    if (s)
        return s;
    m->code = (void *)(uintptr_t)code;
    return f ? find_calls(c, m, f) : UK_OK;
}

/* ---- compiling ---- */

/* Adds a copy of the name to the list unless it is there. The list must have room. */
static bool keep_name(char **list, const char *name) {
    while (*list && strcmp(*list, name))
        list++;
    return *list || (*list = strdup(name));
}

static bool keep_work_name(char **list, const char *function) {
    struct uk_text name = {0};

    uk_put(&name, "%s_workspace", function);
    bool kept = !name.failed && keep_name(list, name.text);

    free(name.text);
    return kept;
}

/* Keeps the names of visible functions and of their kernels. exported: the bundle that lists the names; or
 * NULL. */
static enum uk_status keep_names(struct uk_context *c, struct uk_module *m,
                                 const struct uk_function *const f[], int count,
                                 const struct uk_bundle *exported) {
    const struct uk_program *p = f[0]->program;
    size_t names = exported ? (size_t)exported->exported_count : 2 * (size_t)count, most = 1;
    bool kept = true;

    m->takes_sizes = uk_has_size_arguments(p);
    m->takes_scalars = p->scalars;
    m->takes_tensors = f[0]->work_argument;
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        m->takes_tensors |= t->kind == UK_TENSOR_ARGUMENT;
    for (int i = 0; i < count; i++) {
        most += (size_t)f[i]->intrinsics;
        names += 2 * (size_t)f[i]->tensors;
    }
    m->kernel = calloc(most, sizeof *m->kernel);
    m->name = calloc(names + 1, sizeof *m->name);
    if (!m->kernel || !m->name)
        return uk_out_of_memory(c);
    for (int i = 0; exported && i < exported->exported_count; i++)
        kept &= keep_name(m->name, exported->exported[i]);
    for (int i = 0; i < count; i++) {
        if (!exported)
            kept &= keep_name(m->name, f[i]->name) &&
                    (!f[i]->work_argument || keep_work_name(m->name, f[i]->name));
        for (const struct uk_packed *k = exported ? NULL : f[i]->packed; k; k = k->next)
            kept &= keep_name(m->name, k->size_name) && keep_name(m->name, k->pack->name);
        for (int k = 0; k < f[i]->intrinsics; k++)
            kept &= keep_name(m->kernel, f[i]->intrinsic[k]->name);
    }
    return kept ? UK_OK : uk_out_of_memory(c);
}

/* Runs the stages from linking to the object and times each. */
static enum uk_status finish_code(struct uk_build *b, LLVMMemoryBufferRef *object) {
    double since = uk_now();
    enum uk_status s = uk_link(b);

    uk_time(b->context->times, "link", since);
    if (s)
        return s;
    since = uk_now();
    s = uk_optimize(b);
    uk_time(b->context->times, "optimize", since);
    if (!s && b->host)
        s = uk_build_to_host(b);
    if (s)
        return s;
    since = uk_now();
    s = uk_build_assemble(b, LLVMObjectFile, object);
    uk_time(b->context->times, "assemble", since);
    return s;
}

static enum uk_status build_code(struct uk_build *b, LLVMMemoryBufferRef *object) {
    double since = uk_now();
    enum uk_status s = uk_codegen(b);
    char *key = s ? NULL : uk_cache_key(b);

    uk_time(b->context->times, "codegen", since);
    if (s || (*object = uk_cache_find(b->context, key))) {
        free(key);
        return s;
    }
    s = finish_code(b, object);
    if (s)
        free(key);
    else
        uk_cache_keep(b->context, key, *object);
    return s;
}

enum uk_status uk_module_build(struct uk_context *c, const struct uk_function *f, const struct uk_target *t,
                               struct uk_module *m) {
    LLVMMemoryBufferRef object = NULL;
    struct uk_build b;
    enum uk_status s = uk_has_code(c, t);

    if (!s && !t->arch->is_device)
        s = uk_target_runnable(c, t);
    if (!s)
        s = keep_names(c, m, (const struct uk_function *const[]){f}, 1, NULL);
    if (!s)
        s = uk_build_begin(&b, c, f, t);
    if (s)
        return s;
    b.trampoline = true;
    LLVMContextSetDiscardValueNames(b.llvm, true);
    s = build_code(&b, &object);
    uk_build_end(&b);
    if (s)
        return s;
    double since = uk_now();
    s = load(c, m, f->name, f, object);
    uk_time(c->times, "jit", since);
    m->times = c->spent;
    return s;
}

/* Builds the function; if its code is refused, builds another automatic schedule of its program. */
static enum uk_status build_accepted(struct uk_context *c, struct uk_function *f, const struct uk_target *t,
                                     size_t notes, struct uk_module *m) {
    enum uk_status s = uk_module_build(c, f, t, m);

    while (s && f && c->refused_code == f && uk_refuse_code(f, s)) {
        empty(m);
        uk_text_cut(&c->notes, notes);
        if (!(s = uk_lower_again(f, NULL, &f)))
            s = uk_module_build(c, f, t, m);
    }
    return s;
}

static enum uk_status compile(struct uk_program *p, const struct uk_options *o, struct uk_module *m) {
    static const struct uk_options none;
    struct uk_context *c = p->context;
    const struct uk_target *t;
    struct uk_function *f;
    enum uk_status s = uk_imports_open(p);

    if (!s)
        s = uk_target_chosen(c, o, &t);
    const size_t notes = c->notes.length;
    if (!s)
        s = uk_lower(p, t, o ? o : &none, NULL, NULL, &f);
    if (s)
        return s;
    if (!t->interpreted && !(o && o->interpret))
        return build_accepted(c, f, t, notes, m);
    s = uk_imports_check(c, p, t);
    if (s)
        return s;
    m->program = p;
    m->function = f;
    m->times = c->spent;
    return keep_names(c, m, (const struct uk_function *const[]){f}, 1, NULL);
}

enum uk_status uk_compile(struct uk_program *p, const struct uk_options *options, struct uk_module **out) {
    if (out)
        *out = NULL;
    enum uk_status s = uk_program_check(p);
    if (!s)
        s = uk_require(p->context, out, "the place for the module");
    if (s)
        return s;
    struct uk_module *m = uk_module_create();
    if (!m)
        return uk_out_of_memory(p->context);
    struct uk_mark before = uk_arena_mark(&p->arena);
    p->context->spent = (struct uk_times){0};
    p->context->times = &p->context->spent;
    s = compile(p, options, m);
    uk_imports_close(p);
    p->context->times = NULL;
    if (s || !m->program) /* the interpreter still needs the loops */
        uk_arena_release(&p->arena, before);
    if (s)
        uk_module_destroy(m);
    else
        *out = m;
    return s;
}

static enum uk_status compile_batch(const struct uk_batch *b, struct uk_module *m) {
    struct uk_context *c = b->context;
    LLVMMemoryBufferRef object = NULL;
    struct uk_build build;

    if (b->target->interpreted || b->options->interpret)
        return uk_fail(c, UK_UNSUPPORTED, (struct uk_position){0, 0},
                       "%s runs one program at a time; compile each by itself",
                       b->target->interpreted ? "target interp" : "the interpreter");
    enum uk_status s = b->target->arch->is_device ? UK_OK : uk_target_runnable(c, b->target);
    empty(m);
    if (!s)
        s = keep_names(c, m, b->function, b->count, b->bundle);
    if (!s)
        s = uk_build_all(&build, b, UK_EMIT_OBJECT, !b->bundle);
    if (s)
        return s;
    double since = uk_now();
    s = uk_build_assemble(&build, LLVMObjectFile, &object);
    uk_time(c->times, "assemble", since);
    uk_build_end(&build);
    since = uk_now();
    if (!s)
        s = load(c, m, b->bundle ? b->bundle->exported[0] : b->function[0]->name,
                 b->bundle ? NULL : b->function[0], object);
    uk_time(c->times, "jit", since);
    return s;
}

enum uk_status uk_compile_bundle(const struct uk_bundle *bundle, const struct uk_options *options,
                                 struct uk_module **out) {
    struct uk_batch b;

    if (out)
        *out = NULL;
    enum uk_status s = uk_batch_check(bundle);
    if (!s)
        s = uk_require(bundle->programs[0]->context, out, "the place for the module");
    if (s)
        return s;
    s = uk_batch_begin(&b, bundle, options);
    struct uk_module *m = s ? NULL : uk_module_create();
    if (!s && !m)
        s = uk_out_of_memory(b.context);
    if (!s)
        do
            s = compile_batch(&b, m);
        while (s && uk_batch_reschedule(&b, &s));
    if (m)
        m->times = b.context->spent;
    uk_batch_end(&b);
    if (s)
        uk_module_destroy(m);
    else
        *out = m;
    return s;
}

enum uk_status uk_compile_programs(struct uk_program *const programs[], int count,
                                   const struct uk_options *options, struct uk_module **out) {
    if (programs && count == 1 && out)
        return uk_compile(programs[0], options, out);
    return uk_compile_bundle(&(struct uk_bundle){.programs = programs, .count = count}, options, out);
}

/* ---- modules ---- */

enum uk_status uk_target_runs(struct uk_context *c, const char *target) {
    const struct uk_target *t;

    if (!c)
        return UK_INVALID_ARGUMENT;
    uk_context_enter(c, NULL);
    enum uk_status s = uk_target_find(c, target, &t);

    return s || t->interpreted ? s : uk_target_runnable(c, t);
}

struct uk_module *uk_module_create(void) {
    return calloc(1, sizeof(struct uk_module));
}

void uk_module_destroy(struct uk_module *m) {
    if (m)
        empty(m);
    free(m);
}

void *uk_module_function(const struct uk_module *m) {
    return m ? m->code : NULL;
}

void *uk_module_find(const struct uk_module *m, const char *name) {
    LLVMOrcExecutorAddress at;
    char **n = m && name ? m->name : NULL;

    if (!n)
        return NULL;
    while (*n && strcmp(*n, name))
        n++;
    if (!*n || !m->jit)
        return NULL;
    LLVMErrorRef error = LLVMOrcLLJITLookup(m->jit, &at, name);
    if (error) {
        LLVMConsumeError(error);
        return NULL;
    }
    return (void *)(uintptr_t)at;
}

const char *uk_module_time(const struct uk_module *m, int i, double *milliseconds) {
    if (!m || i < 0 || i >= m->times.count)
        return NULL;
    if (milliseconds)
        *milliseconds = m->times.stage[i].milliseconds;
    return m->times.stage[i].name;
}

const char *uk_module_kernel(const struct uk_module *m, int i) {
    for (int k = 0; m && m->kernel && m->kernel[k]; k++)
        if (k == i)
            return m->kernel[k];
    return NULL;
}
