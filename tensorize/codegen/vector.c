/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop that moves adjacent elements is one vector load, and one vector store if they stay adjacent. LLVM
 * merges single accesses only in part: if the other side of a condition contains the last of them too, it
 * merges those two first, and it does not merge stores to shared memory whose alignment it cannot see.
 */
#include "generator.h"

enum { MAX_ELEMENTS = 16 };

/* One access to n elements; in shared memory it is aligned to all of them. */
static void mark(struct uk_codegen *g, LLVMValueRef access, const struct uk_tensor *t, int64_t n) {
    const unsigned bytes = (unsigned)uk_type_bytes(t->type);

    LLVMSetAlignment(access, t->scope == UK_SCOPE_SHARED ? bytes * (unsigned)n : bytes);
    uk_cg_mark_access(g, access, t);
}

/* The type in which n elements are moved: smaller ones than words in words, as registers hold them. Between
 * blocks of code LLVM would have a register for each. */
static LLVMTypeRef moved_type(const struct uk_codegen *g, enum uk_type type, unsigned n) {
    const unsigned word = sizeof(int32_t), bytes = n * (unsigned)uk_type_bytes(type);

    if (uk_type_bytes(type) >= word || bytes % word)
        return LLVMVectorType(uk_llvm_type(g->llvm, type), n);
    return bytes == word ? g->i32 : LLVMVectorType(g->i32, bytes / word);
}

/* Joins n elements, smaller than words, that were loaded into registers one by one. LLVM would join them
 * where they are loaded, and wait for them there. It widens integers of 16 bits in asm statements, but not
 * floats. */
static LLVMValueRef join(struct uk_codegen *g, const struct uk_node *n, const struct uk_access *x,
                         unsigned elements) {
    const bool is_half = uk_type_bytes(x->tensor->type) == sizeof(int16_t);
    LLVMTypeRef type = is_half ? LLVMHalfTypeInContext(g->llvm) : g->i8;
    LLVMValueRef part[MAX_ELEMENTS], v = LLVMGetPoison(LLVMVectorType(type, elements));
    struct uk_binding *outside = g->bindings;

    for (unsigned i = 0; i < elements; i++) {
        uk_cg_bind(g, n->var, uk_cg_int(g, i), (struct uk_interval){i, i});
        part[i] = LLVMBuildLoad2(g->b, type, uk_cg_address(g, x, true), "");
        part[i] = is_half ? part[i] : LLVMBuildZExt(g->b, part[i], g->i32, "");
        g->bindings = outside;
    }
    uk_cg_hide(g, part, elements);
    for (unsigned i = 0; i < elements; i++) {
        LLVMValueRef one = is_half ? part[i] : LLVMBuildTrunc(g->b, part[i], type, "");

        v = LLVMBuildInsertElement(g->b, v, one, uk_cg_int(g, i), "");
    }
    return LLVMBuildBitCast(g->b, v, moved_type(g, x->tensor->type, elements), "");
}

/* Loads n elements; zeros, or another number, where pad's access is outside. */
static LLVMValueRef load(struct uk_codegen *g, const struct uk_node *loop, const struct uk_expr *e,
                         unsigned n) {
    const struct uk_access *x = uk_moved_access(e);
    const enum uk_type type = x->tensor->type;
    LLVMTypeRef moved = moved_type(g, type, n);
    LLVMValueRef exists = e->op == UK_E_PAD ? uk_cg_exists(g, x) : NULL, value[2];
    LLVMBasicBlockRef block[2];

    if (x->tensor->is_ahead && !x->tensor->is_vectors && uk_type_bytes(type) < sizeof(int32_t))
        return join(g, loop, x, n);
    if (exists) {
        LLVMBasicBlockRef inside = uk_cg_block(g, "inside");
        LLVMValueRef number = uk_cg_to_memory(g, type, uk_cg_expr(g, e->arg[1]));

        value[0] = LLVMGetPoison(LLVMVectorType(uk_llvm_type(g->llvm, type), n));
        for (unsigned i = 0; i < n; i++)
            value[0] = LLVMBuildInsertElement(g->b, value[0], number, uk_cg_int(g, i), "");
        value[0] = LLVMBuildBitCast(g->b, value[0], moved, "");
        block[0] = LLVMGetInsertBlock(g->b);
        block[1] = uk_cg_block(g, "loaded");
        LLVMBuildCondBr(g->b, exists, inside, block[1]);
        LLVMPositionBuilderAtEnd(g->b, inside);
    }
    LLVMValueRef v = LLVMBuildLoad2(g->b, moved, uk_cg_address(g, x, true), "");
    mark(g, v, x->tensor, n);
    if (!exists)
        return v;
    LLVMBasicBlockRef after = block[1];
    value[1] = v;
    block[1] = LLVMGetInsertBlock(g->b);
    LLVMBuildBr(g->b, after);
    LLVMPositionBuilderAtEnd(g->b, after);
    v = LLVMBuildPhi(g->b, moved, "");
    LLVMAddIncoming(v, value, block, 2);
    return v;
}

bool uk_cg_move_vector(struct uk_codegen *g, const struct uk_node *n, int64_t lower, int64_t upper) {
    struct uk_binding *outside = g->bindings;
    const struct uk_node *store = n->body;

    if (!g->launch || n->loop != UK_LOOP_VECTOR || !n->moves)
        return false;
    const struct uk_tensor *to = store->target.tensor;

    uk_cg_bind(g, n->var, uk_cg_int(g, lower), (struct uk_interval){lower, lower});
    g->moves = true;
    LLVMValueRef v = load(g, n, store->expr, (unsigned)(upper - lower));
    g->moves = false;
    if (n->stores)
        mark(g, LLVMBuildStore(g->b, v, uk_cg_address(g, &store->target, true)), to, upper - lower);
    if (!n->stores)
        v = LLVMBuildBitCast(g->b, v,
                             LLVMVectorType(uk_llvm_type(g->llvm, to->type), (unsigned)(upper - lower)), "");
    for (int64_t i = lower; i < upper && !n->stores && !g->status; i++) {
        g->bindings = outside;
        uk_cg_bind(g, n->var, uk_cg_int(g, i), (struct uk_interval){i, i});
        LLVMValueRef element = LLVMBuildExtractElement(g->b, v, uk_cg_int(g, i - lower), "");

        mark(g, LLVMBuildStore(g->b, element, uk_cg_address(g, &store->target, true)), to, 1);
    }
    g->bindings = outside;
    return true;
}
