/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop that moves adjacent elements is one vector load, and one vector store if they stay adjacent. LLVM
 * merges single accesses only in part: if the other side of a condition contains the last of them too, it
 * merges those two first, and it does not merge stores to shared memory whose alignment it cannot see.
 */
#include "generator.h"

/* One access to n elements; in shared memory it is aligned to all of them. */
static void mark(struct uk_codegen *g, LLVMValueRef access, const struct uk_tensor *t, int64_t n) {
    const unsigned bytes = (unsigned)uk_type_bytes(t->type);

    LLVMSetAlignment(access, t->scope == UK_SCOPE_SHARED ? bytes * (unsigned)n : bytes);
    uk_cg_mark_access(g, access, t);
}

bool uk_cg_move_vector(struct uk_codegen *g, const struct uk_node *n, int64_t lower, int64_t upper) {
    struct uk_binding *outside = g->bindings;
    const struct uk_node *store = n->body;

    if (!g->launch || n->loop != UK_LOOP_VECTOR || !n->moves)
        return false;
    const struct uk_tensor *from = store->expr->access.tensor, *to = store->target.tensor;
    LLVMTypeRef vector = LLVMVectorType(uk_llvm_type(g->llvm, from->type), (unsigned)(upper - lower));

    uk_cg_bind(g, n->var, uk_cg_int(g, lower), uk_cg_from_zero);
    LLVMValueRef v = LLVMBuildLoad2(g->b, vector, uk_cg_address(g, &store->expr->access, true), "");
    mark(g, v, from, upper - lower);
    if (n->stores)
        mark(g, LLVMBuildStore(g->b, v, uk_cg_address(g, &store->target, true)), to, upper - lower);
    for (int64_t i = lower; i < upper && !n->stores && !g->status; i++) {
        g->bindings = outside;
        uk_cg_bind(g, n->var, uk_cg_int(g, i), uk_cg_from_zero);
        LLVMValueRef element = LLVMBuildExtractElement(g->b, v, uk_cg_int(g, i - lower), "");

        mark(g, LLVMBuildStore(g->b, element, uk_cg_address(g, &store->target, true)), to, 1);
    }
    g->bindings = outside;
    return true;
}
