/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that inlining a kernel's module is possible and safe; each refusal names the cause. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/IRReader.h>
#include <llvm/Config/llvm-config.h>
#include "link/link.h"

bool uk_is_called_symbol(LLVMValueRef f, const struct uk_called_symbol *w, int count) {
    size_t n;
    const char *name = LLVMGetValueName2(f, &n);

    for (int i = 0; i < count; i++)
        if (!strcmp(w[i].symbol, name))
            return true;
    return false;
}

/* ---- reading ---- */

static bool is_bitcode(const char *data, size_t size) {
    return size >= 4 && (!memcmp(data, "BC\xc0\xde", 4) || !memcmp(data, "\xde\xc0\x17\x0b", 4));
}

static enum uk_status unreadable(struct uk_build *b, const struct uk_source *s, const char *data, size_t size,
                                 const char *error) {
    char producer[64] = "an unknown producer";
    const char *heard = error && *error       ? error
                        : b->diagnostics.text ? b->diagnostics.text
                                              : "no reason given";
    unsigned epoch = 0;
    bool known = is_bitcode(data, size) && uk_bitcode_producer(data, size, producer, &epoch);
    enum uk_status status;

    if (known && epoch > 0)
        status = uk_fail(b->context, UK_LINK, s->at,
                         "%s: bitcode of a newer LLVM (epoch %u, written by %s), this one is "
                         "LLVM " LLVM_VERSION_STRING "; compile it with clang-" UK_LLVM
                         ", or import LLVM's text form",
                         s->name, epoch, producer);
    else if (is_bitcode(data, size))
        status =
            uk_fail(b->context, UK_LINK, s->at,
                    "%s: not valid bitcode, cut off or of another LLVM than "
                    "LLVM " LLVM_VERSION_STRING " (written by %s): %s; compile it again with clang-" UK_LLVM,
                    s->name, producer, heard);
    else
        status = uk_fail(b->context, UK_LINK, s->at, "%s: not valid LLVM IR: %s", s->name, heard);
    return status;
}

/* True if the module defines anything: LLVM reads a truncated or empty file as an empty module. */
static bool defines_anything(LLVMModuleRef m) {
    LLVMValueRef f = LLVMGetFirstFunction(m);

    while (f && LLVMIsDeclaration(f))
        f = LLVMGetNextFunction(f);
    return f;
}

enum uk_status uk_parse_source(struct uk_build *b, struct uk_source *s, const char *data, size_t size) {
    bool binary = is_bitcode(data, size);
    LLVMMemoryBufferRef buffer = binary ? LLVMCreateMemoryBufferWithMemoryRange(data, size, s->name, false)
                                        : LLVMCreateMemoryBufferWithMemoryRangeCopy(data, size, s->name);
    char *error = NULL;
    LLVMBool failed;

    if (binary) {
        failed = LLVMParseBitcodeInContext2(b->llvm, buffer, &s->module);
        LLVMDisposeMemoryBuffer(buffer);
    } else {
        LLVMBool discards = LLVMContextShouldDiscardValueNames(b->llvm);

        /* IR text refers to values by name. */
        LLVMContextSetDiscardValueNames(b->llvm, false);
        failed = LLVMParseIRInContext(b->llvm, buffer, &s->module, &error);
        LLVMContextSetDiscardValueNames(b->llvm, discards);
    }
    if (failed)
        s->module = NULL;
    else if (!defines_anything(s->module))
        failed = !!(error = LLVMCreateMessage("it defines no function"));
    else /* llvm-as verified the modules of the library */
        failed = (!s->built_in && LLVMVerifyModule(s->module, LLVMReturnStatusAction, &error)) ||
                 b->diagnostics.length;
    enum uk_status status = failed ? unreadable(b, s, data, size, error) : UK_OK;

    LLVMDisposeMessage(error);
    if (failed && s->module) {
        LLVMDisposeModule(s->module);
        s->module = NULL;
    }
    free(b->diagnostics.text);
    b->diagnostics = (struct uk_text){0};
    return status;
}

/* ---- one function ---- */

static bool has(LLVMValueRef f, const char *attribute) {
    return LLVMGetEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                       LLVMGetEnumAttributeKindForName(attribute, strlen(attribute)));
}

static bool label_character(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '@';
}

/* The length of the symbol at s, including ${:uid} and the like; *unique is set if it contains one. */
static size_t symbol_length(const char *s, const char *end, bool *unique) {
    const char *p = s;

    *unique = false;
    while (p < end) {
        if (label_character(*p)) {
            p++;
        } else if (end - p > 1 && p[0] == '$' && p[1] == '{') {
            const char *close = memchr(p, '}', (size_t)(end - p));

            if (!close)
                break;
            *unique |= close - p >= 6 && !memcmp(p, "${:uid", 6);
            p = close + 1;
        } else if (end - p > 1 && p[0] == '$' && p[1] == '$') {
            p += 2;
        } else {
            break;
        }
    }
    return (size_t)(p - s);
}

/* Finds a label that is a plain name, which inlining would define once per copy. NULL: none. */
static const char *literal_label(const char *text, size_t length, size_t *label_length) {
    const char *p = text, *end = text + length;

    while (p < end) {
        bool unique;

        while (p < end && isspace((unsigned char)*p))
            p++;
        size_t n = symbol_length(p, end, &unique);
        const char *q = p + n;

        while (q < end && (*q == ' ' || *q == '\t'))
            q++;
        if (n && q < end && *q == ':') {
            if (!unique && strspn(p, "0123456789") < n) {
                *label_length = n;
                return p;
            }
            p = q + 1;
            continue;
        }
        while (p < end && *p != '\n' && *p != ';')
            p++;
        p += p < end;
    }
    return NULL;
}

static enum uk_status gate_call(struct uk_build *b, const struct uk_source *s, LLVMValueRef f,
                                LLVMValueRef call) {
    const char *name = LLVMGetValueName(f);
    LLVMValueRef callee = LLVMGetCalledValue(call);
    size_t length, label;

    if (!LLVMIsAInlineAsm(callee)) {
        if (LLVMIsAFunction(callee))
            return UK_OK; /* undefined functions are found among the declarations */
        return uk_fail(b->context, UK_LINK, s->at,
                       "%s: %s calls through a pointer; call the function by its name", s->name, name);
    }
    enum uk_status status = uk_validate_asm(b, s, f, callee);
    if (status)
        return status;
    const char *text = LLVMGetInlineAsmAsmString(callee, &length);
    const char *literal = literal_label(text, length, &label);

    if (!literal)
        return UK_OK;
    return uk_fail(
        b->context, UK_LINK, s->at,
        "%s: the asm of %s defines the label '%.*s', which clashes when it is inlined twice; write "
        "'%.*s%%=' or a number like '1:'",
        s->name, name, (int)label, literal, (int)label, literal);
}

/* Checks features: code for features that the target lacks makes LLVM end the process. */
static enum uk_status gate_features(struct uk_build *b, const struct uk_source *s, LLVMValueRef f) {
    LLVMAttributeRef a = LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                                       "target-features", 15);
    const char *name = LLVMGetValueName(f), *lacks = uk_target_lacks_intrinsic(b->target, name);
    unsigned n;

    const size_t begins = strlen(b->target->arch->intrinsics);

    if (!strncmp(name, b->target->arch->intrinsics, begins) &&
        uk_arch_not_in_imports(b->target->arch, name + begins))
        return uk_fail(b->context, UK_LINK, s->at,
                       "%s: calls %s; the barriers, and the state of the core, around its calls are those of "
                       "the kernel's program; leave it out",
                       s->name, name);
    if (!lacks && a)
        lacks = uk_target_lacks(b->target, LLVMGetStringAttributeValue(a, &n));
    for (const struct uk_arch *const *arch = uk_archs; *arch && !lacks; arch++)
        if (*arch != b->target->arch && !strncmp(name, (*arch)->intrinsics, strlen((*arch)->intrinsics)))
            return uk_fail(
                b->context, UK_UNSUPPORTED, s->at,
                "%s: %s is an instruction of %s, but target %s is %s; compile the kernel for the target",
                s->name, name, (*arch)->name, b->target->name, b->target->arch->name);
    if (!lacks)
        return UK_OK;
    return uk_fail(b->context, UK_UNSUPPORTED, s->at,
                   "%s: %s needs %s, which target %s does not have; compile the kernel without it, or use a "
                   "target with +%s",
                   s->name, name, lacks, b->target->name, lacks);
}

static enum uk_status gate_function(struct uk_build *b, const struct uk_source *s, LLVMValueRef f) {
    static const struct {
        const char *attribute, *why;
    } refused[] = {
        {"naked",
         "is naked: its own return would end the caller; write the body as one asm statement in a normal "
         "function"},
        {"optnone", "was compiled without optimization; compile it with -O2"},
        {"noinline", "is marked noinline; remove that (clang -O0 adds it: compile with -O2)"},
        {"returns_twice", "returns twice, which cannot be inlined; do without setjmp"},
    };
    const char *name = LLVMGetValueName(f);

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (has(f, refused[i].attribute))
            return uk_fail(b->context, UK_LINK, s->at, "%s: function %s %s", s->name, name, refused[i].why);
    if (LLVMGetFunctionCallConv(f) != LLVMCCallConv && LLVMGetLinkage(f) != LLVMInternalLinkage)
        return uk_fail(b->context, UK_LINK, s->at,
                       "%s: function %s has another calling convention than C's; remove it", s->name, name);
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i)) {
            enum uk_status status = LLVMIsACallInst(i) ? gate_call(b, s, f, i) : UK_OK;

            if (!status && b->target->arch->is_device && LLVMIsAAllocaInst(i))
                status = uk_fail(
                    b->context, UK_LINK, s->at,
                    "%s: function %s has an array in memory, of which each thread of a GPU would have a "
                    "copy; unroll the loops over it (#pragma unroll), so that its indices are constants",
                    s->name, name);
            if (status)
                return status;
        }
    return UK_OK;
}

/* ---- the module ---- */

static enum uk_status gate_globals(struct uk_build *b, const struct uk_source *s) {
    LLVMValueRef odd = LLVMGetFirstGlobalAlias(s->module);
    size_t length = 0;

    LLVMGetModuleInlineAsm(s->module, &length);
    if (length)
        return uk_fail(b->context, UK_LINK, s->at,
                       "%s: has asm outside of functions, which cannot be inlined; move it into one",
                       s->name);
    if (!odd)
        odd = LLVMGetFirstGlobalIFunc(s->module);
    if (odd)
        return uk_fail(b->context, UK_LINK, s->at, "%s: %s is an alias; define the function itself", s->name,
                       LLVMGetValueName(odd));
    for (LLVMValueRef v = LLVMGetFirstGlobal(s->module); v; v = LLVMGetNextGlobal(v)) {
        if (LLVMIsDeclaration(v))
            return uk_fail(b->context, UK_LINK, s->at,
                           "%s: uses the external variable %s; pass it to the kernel as an argument", s->name,
                           LLVMGetValueName(v));
        if (!LLVMIsGlobalConstant(v))
            return uk_fail(b->context, UK_LINK, s->at,
                           "%s: has the variable %s; kernels may only have constant tables", s->name,
                           LLVMGetValueName(v));
    }
    return UK_OK;
}

/* The architecture of the triple; NULL if no target has it. */
static const struct uk_arch *arch_of(const char *triple) {
    for (const struct uk_arch *const *a = uk_archs; *a; a++)
        for (const char *const *begins = (*a)->triples; *begins; begins++)
            if (!strncmp(triple, *begins, strlen(*begins)))
                return *a;
    return NULL;
}

/* IR text need not name its target. */
static enum uk_status gate_arch(struct uk_build *b, const struct uk_source *s) {
    const char *triple = LLVMGetTarget(s->module);

    if (!*triple || arch_of(triple) == b->target->arch)
        return UK_OK;
    return uk_fail(b->context, UK_LINK, s->at,
                   "%s: is compiled for %s, but target %s is %s; compile it for the target, or use a target "
                   "of its architecture",
                   s->name, triple, b->target->name, b->target->arch->name);
}

/* Instructions on matrix tiles raise a signal unless the caller holds their state. */
static enum uk_status gate_state(struct uk_build *b, const struct uk_source *s,
                                 const struct uk_called_symbol *w) {
    const size_t begins = strlen(b->target->arch->intrinsics);

    for (LLVMValueRef f = LLVMGetFirstFunction(s->module); f && !w->intrinsic->state;
         f = LLVMGetNextFunction(f)) {
        const char *name = LLVMGetValueName(f);

        if (strncmp(name, b->target->arch->intrinsics, begins))
            continue;
        for (const char *const *t = b->target->arch->tiles; t && *t; t++)
            if (!strncmp(name + begins, *t, strlen(*t)))
                return uk_fail(
                    b->context, UK_LINK, s->at,
                    "%s: calls %s, but intrinsic %s does not say that it needs matrix tiles; write "
                    "'state tiles' after its features",
                    s->name, name, w->intrinsic->name);
    }
    return UK_OK;
}

static enum uk_status gate_type(struct uk_build *b, const struct uk_source *s,
                                const struct uk_called_symbol *w) {
    LLVMTypeRef type = LLVMGlobalGetValueType(LLVMGetNamedFunction(s->module, w->symbol));

    if (type == w->type)
        return UK_OK;
    char *is = LLVMPrintTypeToString(type), *says = LLVMPrintTypeToString(w->type);
    enum uk_status status = uk_fail(
        b->context, UK_LINK, s->at, "%s: %s is %s, but intrinsic %s declares it as %s; make the two agree%s",
        s->name, w->symbol, is, w->intrinsic->name, says,
        b->target->arch->is_device ? ", by UK_SHARED * for what is in shared, UK_REGISTER * for what is in "
                                     "register, and plain pointers for the rest"
                                   : "");

    LLVMDisposeMessage(is);
    LLVMDisposeMessage(says);
    return status;
}

enum uk_status uk_validate_functions(struct uk_build *b, const struct uk_source *s,
                                     const struct uk_called_symbol *w, int count) {
    enum uk_status status = gate_arch(b, s);

    if (!status)
        status = gate_globals(b, s);

    for (int i = 0; i < count && !status; i++)
        if (w[i].source == s) {
            status = gate_type(b, s, &w[i]);
            status = status ? status : gate_state(b, s, &w[i]);
        }
    for (LLVMValueRef f = LLVMGetFirstFunction(s->module); f && !status; f = LLVMGetNextFunction(f)) {
        status = gate_features(b, s, f);
        if (status)
            break;
        if (!LLVMIsDeclaration(f))
            status = gate_function(b, s, f);
        else if (!LLVMGetIntrinsicID(f))
            status = uk_fail(
                b->context, UK_LINK, s->at,
                "%s: calls %s, which is not in it; a kernel may not call libraries: write it out, or make "
                "it static inline",
                s->name, LLVMGetValueName(f));
    }
    return status;
}
