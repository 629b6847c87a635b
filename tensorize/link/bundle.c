/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs, constants and a source (C or LLVM IR) as one piece of code. The source is compiled alone and
 * linked once the programs' functions are optimized, so that each function has the same code as without a
 * bundle.
 */
#include <stdlib.h>
#include <string.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include "link.h"

enum { MOST_NAMES = 65536, MOST_ALIGNMENT = 4096, MOST_BYTES = 1 << 30 };

static const struct uk_position nowhere = {0, 0};
static const char source_name[] = "source"; /* name in messages, clang's included */

/* ---- names ---- */

struct names {
    const char **sorted;
    int count;
};

static int compare(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort(struct names *n) {
    qsort(n->sorted, (size_t)n->count, sizeof *n->sorted, compare);
}

static bool has(const struct names *n, const char *name) {
    return n->count && bsearch(&name, n->sorted, (size_t)n->count, sizeof *n->sorted, compare);
}

static enum uk_status check_name(struct uk_context *c, const char *what, const char *name) {
    if (!uk_is_identifier(name))
        return uk_fail(c, UK_INVALID_ARGUMENT, nowhere, "the name of %s, %s%s%s, is not a C identifier", what,
                       name ? "\"" : "", name ? name : "NULL", name ? "\"" : "");
    if (!uk_may_name_function(name))
        return uk_fail(
            c, UK_INVALID_ARGUMENT, nowhere,
            "the name of %s, \"%s\", is a word or a standard function of C or C++; use another one", what,
            name);
    return UK_OK;
}

static enum uk_status check_unique(struct uk_context *c, const char *what, const struct names *n) {
    for (int i = 1; i < n->count; i++)
        if (!strcmp(n->sorted[i - 1], n->sorted[i]))
            return uk_fail(c, UK_INVALID_ARGUMENT, nowhere,
                           "%s is the name of two %s; leave one out, or give it "
                           "another name",
                           n->sorted[i], what);
    return UK_OK;
}

static enum uk_status sort_constants(const struct uk_batch *b, struct uk_arena *a, struct names *n) {
    n->count = b->bundle->constant_count;
    if (!(n->sorted = uk_alloc(a, ((size_t)n->count + 1) * sizeof *n->sorted)))
        return uk_out_of_memory(b->context);
    for (int i = 0; i < n->count; i++)
        n->sorted[i] = b->bundle->constants[i].name;
    sort(n);
    return UK_OK;
}

static enum uk_status sort_exported(const struct uk_batch *b, struct uk_arena *a, struct names *n) {
    n->count = b->bundle->exported_count;
    if (!(n->sorted = uk_alloc(a, ((size_t)n->count + 1) * sizeof *n->sorted)))
        return uk_out_of_memory(b->context);
    for (int i = 0; i < n->count; i++)
        n->sorted[i] = b->bundle->exported[i];
    sort(n);
    return UK_OK;
}

/* ---- checks ---- */

static enum uk_status check_counts(struct uk_context *c, const struct uk_bundle *u) {
    if (u->constant_count < 0 || u->constant_count > MOST_NAMES)
        return uk_fail(c, UK_INVALID_ARGUMENT, nowhere, "%d constants; give 0 to %d of them",
                       u->constant_count, MOST_NAMES);
    if (u->exported_count < 0 || u->exported_count > MOST_NAMES)
        return uk_fail(c, UK_INVALID_ARGUMENT, nowhere, "%d exported functions; give 0 to %d of them",
                       u->exported_count, MOST_NAMES);
    if (!u->exported_count)
        return uk_fail(c, UK_INVALID_ARGUMENT, nowhere,
                       "no function is exported, so nothing of the bundle could be called; name the "
                       "functions that others call");
    if (u->constant_count && !u->source)
        return uk_fail(c, UK_INVALID_ARGUMENT, nowhere,
                       "%d constants are given, but the source is NULL and cannot use them; leave them out",
                       u->constant_count);
    enum uk_status s = uk_require(c, u->exported, "the list of exported functions");
    return s || !u->constant_count ? s : uk_require(c, u->constants, "the list of constants");
}

static enum uk_status check_constants(struct uk_context *c, const struct uk_bundle *u) {
    enum uk_status s = UK_OK;
    size_t left = MOST_BYTES;

    for (int i = 0; i < u->constant_count && !s; i++) {
        const struct uk_constant *k = &u->constants[i];

        s = check_name(c, "a constant", k->name);
        if (!s && k->length > left)
            s = uk_fail(
                c, UK_INVALID_ARGUMENT, nowhere,
                "constant %s of %zu bytes: the constants are more than %d bytes in all; load such data "
                "when the code runs",
                k->name, k->length, MOST_BYTES);
        if (!s && !k->bytes && k->length && !u->make_constant)
            s = uk_fail(c, UK_INVALID_ARGUMENT, nowhere,
                        "the bytes of constant %s are NULL; pass their address", k->name);
        if (!s && (k->alignment & (k->alignment - 1) || k->alignment > MOST_ALIGNMENT))
            s = uk_fail(c, UK_INVALID_ARGUMENT, nowhere,
                        "the alignment of constant %s is %zu; use a power of two up to %d", k->name,
                        k->alignment, MOST_ALIGNMENT);
        left -= s ? 0 : k->length;
    }
    return s;
}

static enum uk_status check_function_name(const struct uk_batch *b, const struct names *constants,
                                          const char *name) {
    if (!name)
        return uk_out_of_memory(b->context);
    if (!has(constants, name))
        return UK_OK;
    return uk_fail(b->context, UK_INVALID_ARGUMENT, nowhere,
                   "%s is the name of a constant and of a program's function; rename the constant", name);
}

/* Checks that constants have other names than the programs' functions (NAME, NAME_workspace, and those that
 * pack) and the exported functions. */
static enum uk_status check_constant_names(const struct uk_batch *b, struct uk_arena *a,
                                           const struct names *constants) {
    for (int i = 0; i < b->count; i++) {
        const char *name = b->program[i]->name;
        enum uk_status s = check_function_name(b, constants, name);

        if (!s)
            s = check_function_name(b, constants, uk_format(a, "%s_workspace", name));
        for (const struct uk_tensor *t = b->program[i]->tensors; t && !s; t = t->next) {
            if (!t->is_constant)
                continue;
            s = check_function_name(b, constants, uk_format(a, "%s_pack_%s", name, t->name));
            if (!s)
                s = check_function_name(b, constants, uk_format(a, "%s_packed_%s", name, t->name));
        }
        if (s)
            return s;
    }
    for (int i = 0; i < b->bundle->exported_count; i++)
        if (has(constants, b->bundle->exported[i]))
            return uk_fail(b->context, UK_INVALID_ARGUMENT, nowhere,
                           "exported: %s is a constant; export a function that returns its address",
                           b->bundle->exported[i]);
    return UK_OK;
}

enum uk_status uk_bundle_check(const struct uk_batch *b) {
    const struct uk_bundle *u = b->bundle;
    struct names constants, exported;
    struct uk_arena a = {0};

    uk_context_set_program(b->context, NULL);
    enum uk_status s = check_counts(b->context, u);
    if (!s && b->target->arch->is_device)
        s = uk_fail(b->context, UK_UNSUPPORTED, nowhere,
                    "target %s is a GPU, but bundles are for CPUs; compile the programs without a bundle",
                    b->target->name);
    if (!s)
        s = check_constants(b->context, u);
    for (int i = 0; i < u->exported_count && !s; i++)
        s = check_name(b->context, "an exported function", u->exported[i]);
    if (!s)
        s = sort_constants(b, &a, &constants);
    if (!s)
        s = sort_exported(b, &a, &exported);
    if (!s)
        s = check_unique(b->context, "constants", &constants);
    if (!s)
        s = check_unique(b->context, "exported functions", &exported);
    if (!s)
        s = check_constant_names(b, &a, &constants);
    uk_arena_free(&a);
    return s;
}

/* ---- the source ---- */

/* Writes LLVM IR with the constants' declarations at its end, so that line numbers are the caller's. */
static enum uk_status write_llvm(const struct uk_batch *b, struct uk_text *t) {
    uk_put(t, "%s\n", b->bundle->source);
    for (int i = 0; i < b->bundle->constant_count; i++) {
        const struct uk_constant *k = &b->bundle->constants[i];

        uk_put(t, "@%s = external constant [%zu x i8], align %zu\n", k->name, k->length,
               uk_constant_alignment(k));
    }
    return t->failed ? uk_out_of_memory(b->context) : UK_OK;
}

/* Writes C after the declarations of what it may use. */
static enum uk_status write_c(const struct uk_batch *b, struct uk_text *t) {
    enum uk_status s = uk_emit_header(b, t);

    for (int i = 0; i < b->bundle->constant_count; i++) {
        const struct uk_constant *k = &b->bundle->constants[i];

        uk_put(t, "extern const unsigned char %s[%zu] __attribute__((aligned(%zu)));\n", k->name, k->length,
               uk_constant_alignment(k));
    }
    uk_put(t, "# 1 \"%s\"\n%s\n", source_name, b->bundle->source);
    return s || !t->failed ? s : uk_out_of_memory(b->context);
}

static bool is_local(LLVMValueRef v) {
    return LLVMGetLinkage(v) == LLVMInternalLinkage || LLVMGetLinkage(v) == LLVMPrivateLinkage;
}

static bool is_of_llvm(LLVMValueRef v) {
    return !strncmp(LLVMGetValueName(v), "llvm.", 5);
}

/* Checks a function of the source: it may define names that nothing else defines, and refer to names that
 * something defines. */
static enum uk_status check_function(struct uk_build *build, LLVMValueRef f) {
    const char *name = LLVMGetValueName(f);
    LLVMValueRef other = LLVMGetNamedFunction(build->module, name);
    const bool known = (other && !is_local(other)) || uk_is_runtime_symbol(name);

    if (is_of_llvm(f) || is_local(f))
        return UK_OK;
    if (!LLVMIsDeclaration(f))
        return !known ? UK_OK
                      : uk_fail(
                            build->context, UK_LINK, nowhere,
                            "%s: defines %s, a function that the programs have or call; give it another name",
                            source_name, name);
    if (!LLVMGetFirstUse(f) || (known && !(other && LLVMIsDeclaration(other) && !uk_is_runtime_symbol(name))))
        return UK_OK;
    return uk_fail(build->context, UK_LINK, nowhere,
                   "%s: calls %s, which neither it nor a program defines; define it there", source_name,
                   name);
}

static enum uk_status check_variable(struct uk_build *build, const struct names *constants, LLVMValueRef v) {
    const char *name = LLVMGetValueName(v);
    const bool is_constant = has(constants, name), defined = !LLVMIsDeclaration(v);

    if (is_of_llvm(v) || is_local(v) || defined != is_constant)
        return UK_OK;
    return uk_fail(build->context, UK_LINK, nowhere,
                   defined ? "%s: defines %s, which is the name of a constant; rename it"
                           : "%s: refers to %s, which is neither defined there nor a constant",
                   source_name, name);
}

static enum uk_status check_source(struct uk_build *build, const struct names *constants, LLVMModuleRef m) {
    enum uk_status s = UK_OK;
    size_t length;

    if (*LLVMGetModuleInlineAsm(m, &length))
        s = uk_fail(build->context, UK_LINK, nowhere,
                    "%s: has assembly outside of functions, whose names cannot be known; put it into one",
                    source_name);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f && !s; f = LLVMGetNextFunction(f))
        s = check_function(build, f);
    for (LLVMValueRef v = LLVMGetFirstGlobal(m); v && !s; v = LLVMGetNextGlobal(v))
        s = check_variable(build, constants, v);
    return s;
}

static bool has_assembly(LLVMModuleRef m) {
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb))
            for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
                if (LLVMIsACallInst(i) && LLVMIsAInlineAsm(LLVMGetCalledValue(i)))
                    return true;
    return false;
}

/* Links the source's module, which it consumes. Errors in inline assembly surface only here, once all is one
 * module, and must not be blamed on programs. bytes: the module as bitcode or text. */
static enum uk_status link_source(struct uk_build *build, const struct names *constants, LLVMModuleRef m,
                                  const char *bytes, size_t length) {
    enum uk_status s = check_source(build, constants, m);

    if (!s && has_assembly(m))
        s = uk_import_try(build, source_name, nowhere, bytes, length);
    if (s) {
        LLVMDisposeModule(m);
        return s;
    }
    build->uses_library |=
        LLVMGetNamedFunction(m, "uk_parallel_for") || LLVMGetNamedFunction(m, "uk_num_threads");
    LLVMSetTarget(m, LLVMGetTarget(build->module));
    LLVMSetDataLayout(m, LLVMGetDataLayoutStr(build->module));
    return LLVMLinkModules2(build->module, m)
               ? uk_build_fail(build, UK_LINK, source_name, "does not link with the programs")
               : UK_OK;
}

static enum uk_status add_llvm(struct uk_build *build, const struct uk_batch *b,
                               const struct names *constants) {
    struct uk_source source = {.name = source_name};
    struct uk_text text = {0};
    enum uk_status s = write_llvm(b, &text);

    if (!s)
        s = uk_parse_source(build, &source, text.text, text.length);
    if (!s)
        s = link_source(build, constants, source.module, text.text, text.length);
    free(text.text);
    return s;
}

static enum uk_status add_c(struct uk_build *build, const struct uk_batch *b, const struct names *constants) {
    struct uk_text text = {0};
    char *bitcode = NULL;
    size_t length;
    enum uk_status s = write_c(b, &text);

    if (!s)
        s = uk_source_compile(build, source_name, &text, &bitcode, &length);
    free(text.text);
    if (!s) {
        LLVMModuleRef m;
        LLVMMemoryBufferRef buffer =
            LLVMCreateMemoryBufferWithMemoryRange(bitcode, length, source_name, false);
        LLVMBool failed = LLVMParseBitcodeInContext2(build->llvm, buffer, &m);

        LLVMDisposeMemoryBuffer(buffer);
        s = failed ? uk_build_fail(build, UK_LINK, source_name, "its bitcode cannot be read")
                   : link_source(build, constants, m, bitcode, length);
    }
    free(bitcode);
    return s;
}

/* ---- visible names ---- */

static enum uk_status check_defined(struct uk_build *build, const struct names *exported) {
    for (int i = 0; i < exported->count; i++) {
        LLVMValueRef f = LLVMGetNamedFunction(build->module, exported->sorted[i]);

        if (!f || LLVMIsDeclaration(f) || is_local(f))
            return uk_fail(build->context, UK_INVALID_ARGUMENT, nowhere,
                           "exported: neither the source nor a program defines a function %s; define it in "
                           "the source, without static",
                           exported->sorted[i]);
    }
    return UK_OK;
}

static void hide(LLVMValueRef v) {
    if (!LLVMIsDeclaration(v) && !is_of_llvm(v)) {
        LLVMSetLinkage(v, LLVMInternalLinkage);
        LLVMSetVisibility(v, LLVMDefaultVisibility);
    }
}

static enum uk_status hide_unexported(struct uk_build *build, const struct names *exported) {
    LLVMModuleRef m = build->module;
    enum uk_status s = check_defined(build, exported);

    if (s)
        return s;
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f))
        if (!has(exported, LLVMGetValueName(f)))
            hide(f);
    for (LLVMValueRef v = LLVMGetFirstGlobal(m); v; v = LLVMGetNextGlobal(v))
        hide(v);
    for (LLVMValueRef a = LLVMGetFirstGlobalAlias(m); a; a = LLVMGetNextGlobalAlias(a))
        hide(a);
    for (LLVMValueRef i = LLVMGetFirstGlobalIFunc(m); i; i = LLVMGetNextGlobalIFunc(i))
        hide(i);
    return uk_run_passes(build, "globaldce");
}

enum uk_status uk_bundle_join(struct uk_build *build, const struct uk_batch *b, enum uk_emit what) {
    struct names constants, exported;
    struct uk_arena a = {0};
    double since = uk_now();
    enum uk_status s = sort_constants(b, &a, &constants);

    uk_context_set_program(b->context, NULL);
    if (!s)
        s = sort_exported(b, &a, &exported);
    if (!s && b->bundle->source)
        s = b->bundle->source_is_llvm ? add_llvm(build, b, &constants) : add_c(build, b, &constants);
    if (!s)
        s = uk_constants_add(build, b->bundle, what != UK_EMIT_OBJECT && what != UK_EMIT_SHARED);
    if (!s)
        s = hide_unexported(build, &exported);
    uk_arena_free(&a);
    uk_time(b->context->times, "source", since);
    return s;
}
