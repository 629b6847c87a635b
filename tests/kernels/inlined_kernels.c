/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests every row of the registry, inlined through bitcode: runs the kernel test on functions into which the
 * library's linker has inlined calls of it.
 *
 * One module has two such functions. `once` calls the kernel once. `twice` calls it twice, so that anything
 * allowed only once per function (a label, a register fixed twice) would show. The second call is not
 * executed if it would add to C again, but it is in the code. `twice` also has a buffer aligned more than the
 * stack, which needs a frame pointer, and LLVM does not report inline assembly that changes it.
 *
 * --all runs each kernel in both functions for each target that runs here, and compiles it for every other
 * target. Otherwise only a named kernel is tested, or the first of each combination of operation form,
 * instruction set and implementation: it runs for two targets, each with one of the functions, and is
 * compiled for one other target.
 *
 * --objects ARCH FOLDER writes such functions of each row of another architecture as objects, with a table of
 * them; tests/cross/inlined.c, built for that architecture, tests them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/LLJIT.h>
#include <cmocka.h>
#include "link/link.h"
#include "check_kernel.h"
#include "registry/registry.h"

static struct uk_context *context;
static bool all, named;
/* The first two are used for every kernel that they support; the others for kernels without a target so
 * far. */
static const char *const targets[] = {
    "x86_64-avx2",    "x86_64-avx512",      "x86_64-avx512+avx512vnni", "x86_64-avx512+avx512bf16",
    "sapphirerapids", "x86_64-avx2+avxvnni"};
enum { TARGETS = sizeof targets / sizeof *targets, FOR_ALL = 2, FUNCTIONS = 2 };
static char names[FUNCTIONS][160] = {"once", "twice"};

static LLVMAttributeRef attribute(LLVMContextRef llvm, const char *name) {
    return LLVMCreateEnumAttribute(llvm, LLVMGetEnumAttributeKindForName(name, strlen(name)), 0);
}

/* Index of the argument that selects accumulation into C, which is where the forms differ; -1: there is
 * none. */
static int accumulate_argument(const struct uk_intrinsic *in) {
    const struct uk_form *compute = &in->form[UK_FORM_COMPUTE], *update = &in->form[UK_FORM_UPDATE];

    for (int i = 0; update->is_declared && i < update->arguments; i++)
        if (update->argument[i].number != compute->argument[i].number)
            return i;
    return -1;
}

static LLVMValueRef is_negative(LLVMBuilderRef build, LLVMValueRef v) {
    return LLVMBuildICmp(build, LLVMIntSLT, v, LLVMConstNull(LLVMTypeOf(v)), "");
}

/* Adds a buffer to the function, which is live after `at`. */
static LLVMValueRef add_buffer(struct uk_build *b, LLVMBuilderRef at) {
    LLVMTypeRef byte = LLVMInt8TypeInContext(b->llvm);
    LLVMValueRef buffer = LLVMBuildAlloca(at, LLVMArrayType2(byte, 64), "");

    LLVMSetAlignment(buffer, 64);
    LLVMSetVolatile(LLVMBuildStore(at, LLVMConstNull(byte), buffer), 1);
    return buffer;
}

/* Adds a function of the kernel's type that passes its arguments on. `adds`: the kernel always accumulates;
 * its first argument is a size, so it is not negative, which LLVM does not know. */
static void add_caller(struct uk_build *b, const char *name, LLVMValueRef kernel, int accumulate, bool adds,
                       bool again) {
    LLVMTypeRef type = LLVMGlobalGetValueType(kernel);
    LLVMValueRef f = LLVMAddFunction(b->module, name, type), argument[24];
    LLVMBuilderRef build = LLVMCreateBuilderInContext(b->llvm);
    LLVMBasicBlockRef last = LLVMAppendBasicBlockInContext(b->llvm, f, "entry");
    unsigned count = LLVMCountParams(f);

    assert_true(count <= sizeof argument / sizeof *argument);
    LLVMGetParams(f, argument);
    LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            attribute(b->llvm, "nounwind"));
    LLVMPositionBuilderAtEnd(build, last);
    LLVMValueRef buffer = again ? add_buffer(b, build) : NULL;

    LLVMBuildCall2(build, type, kernel, argument, count, "");
    if (again) {
        LLVMBasicBlockRef second = LLVMAppendBasicBlockInContext(b->llvm, f, "second");

        last = LLVMAppendBasicBlockInContext(b->llvm, f, "last");
        if (accumulate >= 0)
            LLVMBuildCondBr(build, LLVMBuildIsNull(build, argument[accumulate], ""), second, last);
        else if (adds)
            LLVMBuildCondBr(build, is_negative(build, argument[0]), second, last);
        else
            LLVMBuildBr(build, second);
        LLVMPositionBuilderAtEnd(build, second);
        LLVMBuildCall2(build, type, kernel, argument, count, "");
        LLVMBuildBr(build, last);
        LLVMPositionBuilderAtEnd(build, last);
        LLVMSetVolatile(LLVMBuildLoad2(build, LLVMInt8TypeInContext(b->llvm), buffer, ""), 1);
    }
    LLVMBuildRetVoid(build);
    LLVMDisposeBuilder(build);
}

/* Checks that only asm statements and LLVM's intrinsics are called. */
static void check_no_call(struct uk_build *b) {
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f)) {
        size_t length;
        const char *name = LLVMGetValueName2(f, &length);

        if (strcmp(name, names[0]) && strcmp(name, names[1]) && strncmp(name, "llvm.", 5))
            fail_msg("%s: %s is left after inlining", b->function->name, name);
    }
}

static LLVMMemoryBufferRef compile(const struct uk_kernel *row, const struct uk_target *target,
                                   LLVMCodeGenFileType type) {
    struct uk_program program = {.context = context};
    struct uk_function function = {.program = &program, .name = row->symbol, .intrinsics = 1};
    LLVMMemoryBufferRef object = NULL;
    struct uk_intrinsic *in;
    struct uk_build b;

    uk_context_enter(context, NULL);
    if (uk_context_intrinsic(context, row, &in) || uk_build_begin(&b, context, &function, target))
        fail_msg("%s", uk_context_message(context));
    function.intrinsic = &in;
    LLVMTypeRef prototype = uk_llvm_prototype(&b, in, &in->form[UK_FORM_COMPUTE], &program.arena);
    LLVMValueRef kernel = LLVMAddFunction(b.module, row->symbol, prototype);

    for (int i = 0; i < FUNCTIONS; i++)
        add_caller(&b, names[i], kernel, accumulate_argument(in), in->computes->assign != UK_ASSIGN, i == 1);
    if (uk_link(&b) || uk_optimize(&b))
        fail_msg("%s", uk_context_message(context));
    check_no_call(&b);
    if (uk_build_assemble(&b, type, &object))
        fail_msg("%s", uk_context_message(context));
    uk_build_end(&b);
    uk_arena_free(&program.arena);
    return object;
}

static void no_error(LLVMErrorRef error) {
    if (error)
        fail_msg("%s", LLVMGetErrorMessage(error));
}

/* Loads the object without defining any symbol for it. `n`: index among the row's targets. */
static void check_object(const struct uk_kernel *row, const char *target, int n, LLVMMemoryBufferRef object) {
    char message[512];
    LLVMOrcLLJITRef jit;

    no_error(LLVMOrcCreateLLJIT(&jit, NULL));
    no_error(LLVMOrcLLJITAddObjectFile(jit, LLVMOrcLLJITGetMainJITDylib(jit), object));
    for (int i = 0; i < FUNCTIONS; i++) {
        LLVMOrcExecutorAddress at;

        if (!all && i == n % FUNCTIONS)
            continue;
        no_error(LLVMOrcLLJITLookup(jit, &at, names[i]));
        if (!check_kernel(row, (void (*)(void))(uintptr_t)at, message, sizeof message))
            fail_msg("inlined %s for %s: %s", names[i], target, message);
    }
    no_error(LLVMOrcDisposeLLJIT(jit));
}

/* Finds a function called in the assembly by that instruction, except those that any generated function may
 * call: without vectors, memset is the best way to clear a tile's accumulators. NULL: none. */
static const char *calls(const char *text, const char *instruction) {
    static const char *const may[] = {"memset", "memcpy"};
    char word[16];

    snprintf(word, sizeof word, "\t%s\t", instruction);
    while ((text = strstr(text, word))) {
        const size_t n = strcspn(text += strlen(word), "\n");
        bool is_one = false;

        for (size_t i = 0; i < sizeof may / sizeof *may; i++)
            is_one |= n == strlen(may[i]) && !strncmp(text, may[i], n);
        if (!is_one)
            return text;
    }
    return NULL;
}

/* True if the targets' cores start equally many multiply-adds and loads per cycle. */
static bool are_alike(const struct uk_target *t, const struct uk_target *u) {
    const struct uk_vectors *a = uk_core_find(t->row)->vectors, *b = uk_core_find(u->row)->vectors;

    return a->fma.ports == b->fma.ports && a->fma.cycles == b->fma.cycles && a->load.ports == b->load.ports &&
           a->load.cycles == b->load.cycles;
}

/* True if the target has the kernel, and is a baseline or a core whose tuning differs from the previous
 * one's, which LLVM compares when inlining. */
static bool is_tried(const struct uk_target *t, const struct uk_kernel *row, char *lacks, size_t size) {
    return !uk_target_lacks_for(t, row, lacks, size) &&
           (t == uk_targets || t[-1].arch != t->arch || uk_target_lacks_for(t - 1, row, lacks, size) ||
            !are_alike(t - 1, t));
}

/* True if the kernel is the first of its operation's form, instruction set and implementation. */
static bool is_example(const struct uk_kernel *row) {
    for (int i = 0; uk_kernel_at(i) != row; i++) {
        const struct uk_kernel *other = uk_kernel_at(i);

        if (other->operation->form == row->operation->form && !strcmp(other->arch, row->arch) &&
            !strcmp(other->isa, row->isa) && !strcmp(other->impl, row->impl))
            return false;
    }
    return true;
}

/* Compiles for a target of another architecture that has the kernel, with --all for each such target. No call
 * may remain, and LLVM must not call a function for an instruction that the target lacks. */
static void check_others(const struct uk_kernel *row, bool is_compiled) {
    enum { MOST = 64 };
    const char *have[MOST];
    static int turn;
    int n = 0;
    char lacks[64];

    for (const struct uk_target *other = uk_targets; other->name; other++)
        if (!other->interpreted && !other->arch->is_device && other->arch != uk_own_arch() &&
            is_tried(other, row, lacks, sizeof lacks)) {
            assert_true(n < MOST);
            have[n++] = other->name;
        }
    if (!n && !row->function)
        fail_msg("%s: no target of this test has %s", row->symbol, lacks);
    turn++;
    for (int i = 0; i < n && is_compiled; i++) {
        const struct uk_target *t;

        if (!all && i != turn % n)
            continue;
        uk_context_enter(context, NULL);
        if (uk_target_find(context, have[i], &t))
            fail_msg("%s", uk_context_message(context));
        LLVMMemoryBufferRef text = compile(row, t, LLVMAssemblyFile);
        const char *called = calls(LLVMGetBufferStart(text), t->arch->assembly.call);

        if (called)
            fail_msg("inlined %s for %s: calls %.*s", row->symbol, t->name, (int)strcspn(called, "\n"),
                     called);
        LLVMDisposeMemoryBuffer(text);
    }
}

static void check_row(void **state) {
    const struct uk_kernel *row = *state;
    const bool is_checked = all || named || is_example(row);
    int checked = 0;
    char lacks[64];

    if (uk_arch_of(row)->is_device) /* tested by tests/gpu/tiles.py */
        return;
    check_others(row, is_checked);
    if (!row->function || !is_checked)
        return;

    for (int i = 0; i < (checked ? FOR_ALL : TARGETS); i++) {
        const struct uk_target *t;
        struct uk_intrinsic *in = NULL;
        bool fits = true;

        uk_context_enter(context, NULL);
        if (uk_target_find(context, targets[i], &t) || uk_context_intrinsic(context, row, &in))
            fail_msg("%s", uk_context_message(context));
        for (int k = 0; k < in->required; k++)
            fits = fits && uk_target_has(t, in->requires_feature[k]);
        if (!fits)
            continue;
        LLVMMemoryBufferRef object = compile(row, t, LLVMObjectFile);

        if (uk_kernel_runs_here(row) && !uk_target_runnable(context, t))
            check_object(row, t->name, checked++, object);
        else
            LLVMDisposeMemoryBuffer(object);
    }
    if (!checked) {
        uk_cpu_lacks(row->features, lacks, sizeof lacks);
        print_message("%s inlined: skipped, this CPU lacks %s or UK_ISA hides it\n", row->symbol,
                      *lacks ? lacks : "AVX2");
        skip();
    }
}

/* ---- objects for another architecture ---- */

/* The architecture's baseline target with the row's features. */
static const struct uk_target *plain_target(const struct uk_kernel *row, const char *arch) {
    const struct uk_target *plain = uk_targets, *t;
    char name[160], lacks[64];

    while (plain->name && strcmp(plain->arch->name, arch) != 0)
        plain++;
    if (!plain->name)
        fail_msg("there is no target of %s", arch);
    snprintf(name, sizeof name, "%s", plain->name);
    for (;;) {
        const size_t n = strlen(name);

        uk_context_enter(context, NULL);
        if (uk_target_find(context, name, &t))
            fail_msg("%s", uk_context_message(context));
        if (!uk_target_lacks_for(t, row, lacks, sizeof lacks))
            return t;
        snprintf(name + n, sizeof name - n, "+%s", lacks);
    }
}

/* The architecture's last target, a core, that has the kernel; if none, the baseline with its features. */
static const struct uk_target *core_target(const struct uk_kernel *row, const char *arch) {
    const struct uk_target *core = NULL, *t;
    char lacks[64];

    for (t = uk_targets; t->name; t++)
        if (!strcmp(t->arch->name, arch) && !uk_target_lacks_for(t, row, lacks, sizeof lacks))
            core = t;
    uk_context_enter(context, NULL);
    if (core && uk_target_find(context, core->name, &t))
        fail_msg("%s", uk_context_message(context));
    return core ? t : plain_target(row, arch);
}

/* Alternates between the baseline target and a core, because an emulator takes long for each. */
static int write_objects(const char *arch, const char *folder) {
    char path[4096];

    snprintf(path, sizeof path, "%s/inlined.def", folder);
    FILE *table = fopen(path, "w");

    for (int i = 0, n = 0; table && i < uk_kernel_count(); i++) {
        const struct uk_kernel *row = uk_kernel_at(i);

        if (strcmp(row->arch, "any") && strcmp(row->arch, arch))
            continue;
        const struct uk_target *t = n++ % 2 ? core_target(row, arch) : plain_target(row, arch);

        snprintf(names[0], sizeof names[0], "once_%s", row->symbol);
        snprintf(names[1], sizeof names[1], "twice_%s", row->symbol);
        LLVMMemoryBufferRef object = compile(row, t, LLVMObjectFile);

        snprintf(path, sizeof path, "%s/%s.o", folder, row->symbol);
        FILE *f = fopen(path, "wb");
        const size_t size = LLVMGetBufferSize(object);
        const bool written = f && fwrite(LLVMGetBufferStart(object), 1, size, f) == size;

        LLVMDisposeMemoryBuffer(object);
        if (!f || fclose(f) || !written)
            return 1;
        fprintf(table, "INLINED(%s, \"%s\", %s)\n", row->symbol, t->name, names[1]);
    }
    return !table || fclose(table);
}

int main(int argc, char **argv) {
    const int count = uk_kernel_count();
    int own = 0;
    struct CMUnitTest *tests = calloc((size_t)count, sizeof *tests);

    context = uk_context_create();
    if (!tests || !context)
        return 1;
    for (int i = 0; i < count; i++) {
        const struct uk_kernel *row = uk_kernel_at(i);

        tests[i] =
            (struct CMUnitTest){.name = row->symbol, .test_func = check_row, .initial_state = (void *)row};
        own += row->function != NULL;
    }
    if (argc == 4 && !strcmp(argv[1], "--objects"))
        return write_objects(argv[2], argv[3]);
    if (own < count)
        print_message("%d kernels of other architectures are compiled, not run\n", count - own);
    if (argc > 1 && !strcmp(argv[1], "--all"))
        all = true;
    else if (argc > 1)
        cmocka_set_test_filter(argv[1]), named = true;
    int failed = _cmocka_run_group_tests("kernels_inlined", tests, (size_t)count, NULL, NULL);
    uk_context_destroy(context);
    free(tests);
    return failed;
}
