/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop that moves neighbours in memory is one load of a vector. LLVM would merge single loads; but where the other side of a condition
 * has the last of them too, it makes one of those two first.
 */
#include "generator.h"

bool uk_cg_move_vector(struct uk_codegen *g, const struct uk_node *n, int64_t lower, int64_t upper) {
    struct uk_binding *outside = g->bindings;
    const struct uk_node *store = n->body;

    if (!g->launch || n->loop != UK_LOOP_VECTOR || !n->moves)
        return false;
    const struct uk_tensor *from = store->expr->access.tensor, *to = store->target.tensor;
    const unsigned bytes = (unsigned)uk_type_bytes(from->type);
    LLVMTypeRef vector = LLVMVectorType(uk_llvm_type(g->llvm, from->type), (unsigned)(upper - lower));

    uk_cg_bind(g, n->var, uk_cg_int(g, lower), true);
    LLVMValueRef v = LLVMBuildLoad2(g->b, vector, uk_cg_address(g, &store->expr->access, true), "");
    LLVMSetAlignment(v, from->scope == UK_SCOPE_SHARED ? bytes * (unsigned)(upper - lower) : bytes);
    uk_cg_mark_access(g, v, from);
    for (int64_t i = lower; i < upper && !g->status; i++) {
        g->bindings = outside;
        uk_cg_bind(g, n->var, uk_cg_int(g, i), true);
        LLVMValueRef element = LLVMBuildExtractElement(g->b, v, uk_cg_int(g, i - lower), "");
        LLVMValueRef out = LLVMBuildStore(g->b, element, uk_cg_address(g, &store->target, true));

        LLVMSetAlignment(out, bytes);
        uk_cg_mark_access(g, out, to);
    }
    g->bindings = outside;
    return true;
}
