/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of the core that kernels need: x86's matrix tiles, for which Linux has to be asked (arch_prctl), as
 * ukernels/machine/state.c does for libukernels. Generated code asks by itself, so that an object file needs
 * no library.
 */
#include <string.h>
#include "generator.h"
#include "machine/machine.h"

/* Linux's numbers: the call arch_prctl on x86-64, and its arguments. */
enum { SYS_ARCH_PRCTL = 158, ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };

static LLVMValueRef global(struct uk_codegen *g, const char *name, LLVMValueRef value, unsigned align) {
    LLVMValueRef v = LLVMGetNamedGlobal(g->module, name);

    if (v)
        return v;
    v = LLVMAddGlobal(g->module, LLVMTypeOf(value), name);
    LLVMSetInitializer(v, value);
    LLVMSetLinkage(v, LLVMInternalLinkage);
    LLVMSetAlignment(v, align);
    return v;
}

/* True if a node calls a kernel that needs a state, in a parallel loop or, with `serial`, outside of them. */
static bool calls(const struct uk_node *n, bool serial) {
    for (; n; n = n->next) {
        const bool skips = serial && n->op == UK_N_FOR && n->loop == UK_LOOP_PARALLEL;

        if ((n->op == UK_N_CALL && n->intrinsic->state) || (!skips && calls(n->body, serial)) ||
            calls(n->other, serial))
            return true;
    }
    return false;
}

void uk_cg_find_state(struct uk_codegen *g) {
    for (int i = 0; i < g->f->intrinsics; i++)
        if (g->f->intrinsic[i]->state)
            g->state = g->f->intrinsic[i]->state;
    g->holds_state = g->state && calls(g->f->body, true);
}

bool uk_cg_task_needs_state(const struct uk_node *body) {
    return calls(body, false);
}

/* Calls the system; the result is 0 if it permits tiles. */
static LLVMValueRef ask(struct uk_codegen *g) {
    static const char text[] = "syscall", constraints[] = "={rax},{rax},{rdi},{rsi},~{rcx},~{r11},~{memory}";
    LLVMTypeRef type = LLVMFunctionType(g->i64, (LLVMTypeRef[]){g->i64, g->i64, g->i64}, 3, false);
    LLVMValueRef call = LLVMGetInlineAsm(type, text, sizeof text - 1, constraints, sizeof constraints - 1,
                                         true, false, LLVMInlineAsmDialectATT, false);

    return LLVMBuildCall2(g->b, type, call,
                          (LLVMValueRef[]){uk_cg_int(g, SYS_ARCH_PRCTL), uk_cg_int(g, ARCH_REQ_XCOMP_PERM),
                                           uk_cg_int(g, XFEATURE_XTILEDATA)},
                          3, "refused");
}

void uk_cg_ask_for_state(struct uk_codegen *g) {
    if (g->state != UK_STATE_TILES)
        return;
    /* Threads that enter at the same time all ask, which changes nothing. */
    LLVMValueRef granted = global(g, "uk.tiles.granted", LLVMConstInt(g->i8, 0, false), 1);
    LLVMValueRef known = LLVMBuildLoad2(g->b, g->i8, granted, "granted");
    LLVMBasicBlockRef unknown = uk_cg_block(g, "ask"), go_on = uk_cg_block(g, "permitted");

    LLVMSetOrdering(known, LLVMAtomicOrderingMonotonic);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntNE, known, LLVMConstInt(g->i8, 0, false), ""), go_on,
                    unknown);
    LLVMPositionBuilderAtEnd(g->b, unknown);
    LLVMValueRef refused = ask(g);
    uk_cg_leave_if(g, LLVMBuildICmp(g->b, LLVMIntNE, refused, uk_cg_int(g, 0), ""),
                   LLVMConstInt(g->i32, UK_UNSUPPORTED, false), "granting");
    LLVMSetOrdering(LLVMBuildStore(g->b, LLVMConstInt(g->i8, 1, false), granted),
                    LLVMAtomicOrderingMonotonic);
    LLVMBuildBr(g->b, go_on);
    LLVMPositionBuilderAtEnd(g->b, go_on);
}

void uk_cg_load_state(struct uk_codegen *g) {
    LLVMValueRef bytes[sizeof uk_tile_configuration];
    unsigned char value[sizeof uk_tile_configuration];

    memcpy(value, &uk_tile_configuration, sizeof value);
    for (size_t i = 0; i < sizeof value; i++)
        bytes[i] = LLVMConstInt(g->i8, value[i], false);
    LLVMValueRef of =
        global(g, "uk.tiles.configuration", LLVMConstArray2(g->i8, bytes, sizeof value), sizeof value);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->llvm), &g->ptr, 1, false);

    LLVMSetGlobalConstant(of, true);
    LLVMBuildCall2(g->b, type, uk_cg_declare(g, "llvm.x86.ldtilecfg", type), &of, 1, "");
}

void uk_cg_release_state(struct uk_codegen *g) {
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(g->llvm), NULL, 0, false);

    LLVMBuildCall2(g->b, type, uk_cg_declare(g, "llvm.x86.tilerelease", type), NULL, 0, "");
}
