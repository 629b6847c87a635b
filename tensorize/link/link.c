/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links kernels into the module; each passes every check first.
 *
 * LLVM inlines alwaysinline functions regardless of features, and lowers what the target lacks to library
 * calls or aborts. So features are compared here, and the attributes that carry them are dropped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include "bitcode.h"
#include "link.h"

/* ---- before linking ---- */

static enum uk_status check_features(struct uk_build *b) {
    for (int i = 0; i < b->function->intrinsics; i++) {
        const struct uk_intrinsic *in = b->function->intrinsic[i];

        if (in->row && !uk_target_takes(b->target, in->row))
            return uk_fail(b->context, UK_UNSUPPORTED, in->at,
                           "kernel %s is for %s, but target %s is %s; use a kernel and a target of the same "
                           "architecture",
                           in->name, uk_kernel_arch(in->row), b->target->name, b->target->arch->name);
        for (int k = 0; k < in->required; k++)
            if (!uk_target_has(b->target, in->requires_feature[k]))
                return uk_fail(b->context, UK_UNSUPPORTED, in->at,
                               "kernel %s requires %s, which target %s does not have; use another kernel, or "
                               "a target with +%s",
                               in->name, in->requires_feature[k], b->target->name, in->requires_feature[k]);
        const char *state = uk_target_lacks_state(b->target, in->state);

        if (state)
            return uk_fail(b->context, UK_UNSUPPORTED, in->at,
                           "kernel %s requires state tiles, for which target %s lacks %s; use another kernel",
                           in->name, b->target->name, state);
    }
    return UK_OK;
}

/* ---- linking one module ---- */

/* Drops features, CPU, builtins and probes: attributes that could prevent inlining, or that only concern
 * separate compilation. */
static enum uk_status strip(LLVMContextRef llvm, LLVMValueRef f) {
    static const char *const drop[] = {
        "ssp",         "sspstrong",       "sspreq",          "uwtable",
        "cold",        "minsize",         "optsize",         "sanitize_address",
        "safestack",   "sanitize_memory", "sanitize_thread", "sanitize_hwaddress",
        "noduplicate", "vscale_range"};
    unsigned n = LLVMGetAttributeCountAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex), length;
    LLVMAttributeRef *list = calloc(n + 1, sizeof *list);

    if (!list)
        return UK_OUT_OF_MEMORY;
    LLVMGetAttributesAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, list);
    for (unsigned i = 0; i < n; i++)
        if (LLVMIsStringAttribute(list[i])) {
            const char *key = LLVMGetStringAttributeKind(list[i], &length);

            LLVMRemoveStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, key, length);
        }
    free(list);
    for (size_t i = 0; i < sizeof drop / sizeof *drop; i++)
        LLVMRemoveEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                       LLVMGetEnumAttributeKindForName(drop[i], strlen(drop[i])));
    LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            uk_enum_attribute(llvm, "alwaysinline"));
    return UK_OK;
}

/* Marks asm statements: O3 takes one for a single cheap instruction and would unroll the nest around it. */
static void keep_asm_single(LLVMContextRef llvm, LLVMValueRef f) {
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
            if (LLVMIsACallInst(i) && LLVMIsAInlineAsm(LLVMGetCalledValue(i)))
                LLVMAddCallSiteAttribute(i, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                         uk_enum_attribute(llvm, "noduplicate"));
}

/* Drops functions that no wanted one needs: only the called kernels of a source are linked. */
static void drop_unused(LLVMModuleRef m, const struct uk_called_symbol *w, int count) {
    bool again = true;

    while (again) {
        again = false;
        for (LLVMValueRef f = LLVMGetFirstFunction(m), next; f; f = next) {
            next = LLVMGetNextFunction(f);
            if (LLVMGetFirstUse(f) || uk_is_called_symbol(f, w, count))
                continue;
            LLVMDeleteFunction(f);
            again = true;
        }
        for (LLVMValueRef v = LLVMGetFirstGlobal(m), next; v; v = next) {
            next = LLVMGetNextGlobal(v);
            if (LLVMGetFirstUse(v))
                continue;
            LLVMDeleteGlobal(v);
            again = true;
        }
    }
}

/* Keeps the module's flags where they differ from the source's (wchar_size, for instance): kernels do not
 * depend on them. */
static void settle_flags(LLVMModuleRef module, LLVMModuleRef source) {
    size_t count;
    LLVMModuleFlagEntry *list = LLVMCopyModuleFlagsMetadata(source, &count);

    for (unsigned i = 0; i < count; i++) {
        size_t n;
        const char *key = LLVMModuleFlagEntriesGetKey(list, i, &n);

        if (!LLVMGetModuleFlag(module, key, n))
            LLVMAddModuleFlag(module, LLVMModuleFlagBehaviorOverride, key, n,
                              LLVMModuleFlagEntriesGetMetadata(list, i));
    }
    LLVMDisposeModuleFlagsMetadata(list);
}

static enum uk_status prepare(struct uk_build *b, struct uk_source *s, const struct uk_called_symbol *w,
                              int count) {
    for (LLVMValueRef f = LLVMGetFirstFunction(s->module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f))
            continue;
        if (strip(b->llvm, f))
            return uk_out_of_memory(b->context);
        keep_asm_single(b->llvm, f);
        LLVMSetComdat(f, NULL);
        LLVMSetLinkage(f, uk_is_called_symbol(f, w, count) ? LLVMExternalLinkage : LLVMInternalLinkage);
        LLVMSetVisibility(f, LLVMDefaultVisibility);
    }
    for (LLVMValueRef v = LLVMGetFirstGlobal(s->module); v; v = LLVMGetNextGlobal(v)) {
        LLVMSetComdat(v, NULL);
        if (LLVMGetLinkage(v) != LLVMPrivateLinkage)
            LLVMSetLinkage(v, LLVMInternalLinkage);
        LLVMSetVisibility(v, LLVMDefaultVisibility);
    }
    LLVMSetTarget(s->module, LLVMGetTarget(b->module));
    LLVMSetDataLayout(s->module, LLVMGetDataLayoutStr(b->module));
    settle_flags(b->module, s->module);
    return UK_OK;
}

/* Links an object, whose kernels stay calls. A note says so, and lists what could not be checked. */
static enum uk_status link_object(struct uk_build *b, const struct uk_source *s,
                                  const struct uk_called_symbol *w, int count) {
    enum uk_status status = uk_object_validate(b, s);

    if (!status)
        status = uk_object_use(b, s);
    for (int i = 0; i < count && !status; i++)
        if (w[i].source == s)
            status = uk_note(
                b->context, s->at,
                "%s: %s is machine code: it is called, not inlined, and neither its prototype nor the "
                "features it needs can be checked",
                s->name, w[i].symbol);
    return status;
}

static enum uk_status link_source(struct uk_build *b, struct uk_source *s, struct uk_called_symbol *w,
                                  int count) {
    enum uk_status status = UK_OK;
    bool used = false;

    for (int i = 0; i < count; i++)
        used |= w[i].source == s;
    if (!used)
        return UK_OK;
    if (s->is_object)
        return link_object(b, s, w, count);
    drop_unused(s->module, w, count);
    status = uk_validate_functions(b, s, w, count);
    if (!status && !s->built_in)
        uk_forbid_contraction(b, s, w, count);
    if (!status)
        status = prepare(b, s, w, count);
    if (!status && !s->built_in)
        status = uk_try(b, s);
    if (!status && !s->built_in)
        status = uk_validate_words(b, s);
    if (status)
        return status;
    LLVMBool failed = LLVMLinkModules2(b->module, s->module);

    s->module = NULL;
    return failed ? uk_build_fail(b, UK_LINK, s->name, "does not link") : UK_OK;
}

/* ---- finding the kernels ---- */

static struct uk_source *add_source(struct uk_build *b, struct uk_sources *all, const char *name) {
    struct uk_source *s = uk_alloc(&all->arena, sizeof *s);

    if (!s || !(s->name = uk_strdup(&all->arena, name))) {
        uk_out_of_memory(b->context);
        return NULL;
    }
    s->next = all->first;
    all->first = s;
    return s;
}

static bool is_known(const struct uk_sources *all, const char *bytes, size_t length) {
    for (const struct uk_source *s = all->first; s; s = s->next)
        if (s->length == length && !memcmp(s->bytes, bytes, length))
            return true;
    return false;
}

static enum uk_status add_import(struct uk_build *b, struct uk_sources *all, const struct uk_import *i,
                                 const char *name, const char *bytes, size_t length) {
    struct uk_source *s = add_source(b, all, name);
    char *copy = s ? uk_alloc(&all->arena, length + 1) : NULL;

    if (!copy)
        return uk_out_of_memory(b->context);
    memcpy(copy, bytes, length);
    s->at = i->at;
    s->import = i;
    s->bytes = copy;
    s->length = length;
    s->is_object = uk_is_object(bytes, length);
    return s->is_object ? uk_object_parse(b, s) : uk_parse_source(b, s, bytes, length);
}

/* Reads an import. The same content imported again, under any name, is the same import. */
static enum uk_status read_import(struct uk_build *b, struct uk_sources *all, struct uk_import *i,
                                  int number) {
    char *bytes, *name;
    size_t length;
    enum uk_status s = uk_import_read(b, i, &bytes, &length);

    if (s)
        return s;
    name = i->kind == UK_IMPORT_FILE ? uk_format(&all->arena, "import \"%s\"", i->text)
                                     : uk_format(&all->arena, "import %d of the program", number);
    if (!name)
        s = uk_out_of_memory(b->context);
    else if (!is_known(all, bytes, length))
        s = add_import(b, all, i, name, bytes, length);
    free(bytes);
    return s;
}

/* Reads the program's imports, then those of its schedule, used or not. */
static enum uk_status read_imports(struct uk_build *b, struct uk_sources *all) {
    const struct uk_program *p = b->function->program;
    enum uk_status s = UK_OK;
    int number = 0;

    for (struct uk_import *i = p->imports; i && !s; i = i->next)
        s = read_import(b, all, i, ++number);
    for (const struct uk_step *t = p->steps; t && !s; t = t->next)
        if (t->kind == UK_STEP_IMPORT)
            s = read_import(b, all, t->import, ++number);
    return s;
}

static void free_sources(struct uk_sources *all) {
    for (struct uk_source *s = all->first; s; s = s->next)
        if (s->module)
            LLVMDisposeModule(s->module);
    uk_arena_free(&all->arena);
}

static bool has_imports(const struct uk_program *p) {
    const struct uk_step *t = p->steps;

    while (t && t->kind != UK_STEP_IMPORT)
        t = t->next;
    return p->imports || t;
}

enum uk_status uk_imports_check(struct uk_context *c, struct uk_program *p, const struct uk_target *t) {
    const struct uk_function f = {.program = p, .name = "uk.imports"};
    struct uk_sources all = {0};
    struct uk_build b;

    if (!has_imports(p))
        return UK_OK;
    /* The interpreter has no machine code; imports are checked for this machine instead. */
    enum uk_status s = t->interpreted ? uk_target_find(c, "native", &t) : UK_OK;
    if (!s)
        s = uk_build_begin(&b, c, &f, t);
    if (s)
        return s;
    s = read_imports(&b, &all);
    free_sources(&all);
    uk_build_end(&b);
    return s;
}

static bool defines(const struct uk_source *s, const char *symbol) {
    if (s->is_object)
        return uk_object_defines(s->bytes, s->length, symbol);
    LLVMValueRef f = LLVMGetNamedFunction(s->module, symbol);

    return f && !LLVMIsDeclaration(f);
}

/* Finds the only source that defines the kernel: an import, else the built-in registry. */
static enum uk_status find_source(struct uk_build *b, struct uk_sources *all, struct uk_called_symbol *w) {
    const struct uk_source *import = NULL;
    const struct uk_bitcode *own;

    for (struct uk_source *s = all->first; s; s = s->next) {
        if (s->built_in || !defines(s, w->symbol))
            continue;
        if (import)
            return uk_fail(b->context, UK_LINK, s->at,
                           "%s and %s both define %s; import only one, or rename one of the functions",
                           import->name, s->name, w->symbol);
        import = w->source = s;
    }
    own = w->intrinsic->row || !import ? uk_bitcode_find(b->target->arch->name, w->symbol) : NULL;
    if (import && w->intrinsic->row)
        return uk_fail(b->context, UK_LINK, import->at,
                       "%s and the library's own kernels both define %s; rename the imported function",
                       import->name, w->symbol);
    if (import)
        return UK_OK;
    if (!own)
        return uk_fail(b->context, UK_LINK, w->intrinsic->at,
                       "kernel %s: no import defines %s; add `pragma import` of a file that does",
                       w->intrinsic->name, w->symbol);
    w->source = add_source(b, all, w->symbol);
    if (!w->source)
        return UK_OUT_OF_MEMORY;
    w->source->built_in = true;
    return uk_parse_source(b, w->source, (const char *)own->data, own->size);
}

/* Lists each symbol that the loops call, once. */
static int list_wanted(struct uk_build *b, struct uk_called_symbol *w) {
    int n = 0;

    for (int i = 0; i < b->function->intrinsics; i++)
        for (int k = 0; k < UK_FORMS; k++) {
            const struct uk_intrinsic *in = b->function->intrinsic[i];
            LLVMValueRef f =
                in->form[k].is_declared ? LLVMGetNamedFunction(b->module, in->form[k].symbol) : NULL;
            int j = 0;

            while (f && j < n && strcmp(w[j].symbol, in->form[k].symbol))
                j++;
            if (f && j == n)
                w[n++] = (struct uk_called_symbol){
                    .symbol = in->form[k].symbol, .intrinsic = in, .type = LLVMGlobalGetValueType(f)};
        }
    return n;
}

enum uk_status uk_link(struct uk_build *b) {
    struct uk_sources all = {0};
    enum uk_status s = check_features(b);
    struct uk_called_symbol *w =
        uk_alloc(&all.arena, ((size_t)b->function->intrinsics * UK_FORMS + 1) * sizeof *w);
    int count = w ? list_wanted(b, w) : 0;

    if (!s && !w)
        s = uk_out_of_memory(b->context);
    if (!s && count && b->target->arch->kernel.is_text)
        s = uk_fail(b->context, UK_UNSUPPORTED, (struct uk_position){0},
                    "target %s takes no kernels yet, neither the library's nor imported ones; leave "
                    "`tensorize` out",
                    b->target->name);
    if (!s)
        s = read_imports(b, &all);
    for (int i = 0; i < count && !s; i++)
        s = find_source(b, &all, &w[i]);
    for (struct uk_source *from = all.first; from && !s; from = from->next)
        s = link_source(b, from, w, count);
    for (int i = 0; i < count && !s; i++) {
        LLVMValueRef f = LLVMGetNamedFunction(b->module, w[i].symbol);

        if (!w[i].source->is_object)
            LLVMSetLinkage(f, LLVMInternalLinkage);
    }
    free_sources(&all);
    return s;
}
