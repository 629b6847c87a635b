/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies rows of bytes by registers of eight bytes, if the target's loads and stores take any address, as P's
 * kernels assume. LLVM would copy short rows byte by byte and call memcpy for others.
 */
#include "generator.h"
#include "stages/stages.h"

enum { WORD = 8, STRAIGHT = 16 /* words that are copied without a loop, at most */ };

/* True if a step of v moves the access by one element. */
static bool steps_by_one(const struct uk_access *a, const struct uk_var *v) {
    const int last = a->tensor->stored_dims - 1;
    int64_t stride;
    int found = 0;

    if (last < 0 || !uk_index_is_int(a->tensor->stride[last], &stride) || stride != 1)
        return false;
    for (int d = 0; d < last; d++)
        if (uk_mentions(a->index[d], v))
            return false;
    const struct uk_poly p = uk_poly_of(a->index[last]);
    for (int i = 0; i < p.terms; i++)
        for (int k = 0; k < p.term[i].atoms; k++) {
            if (!uk_mentions(p.term[i].atom[k], v))
                continue;
            if (p.term[i].atoms != 1 || p.term[i].factor != 1 || p.term[i].atom[k]->op != UK_I_VAR)
                return false;
            found++;
        }
    return found == 1;
}

bool uk_cg_copies_words(const struct uk_codegen *g, const struct uk_node *n) {
    const struct uk_node *s = n->body;

    return n->loop == UK_LOOP_SERIAL && n->step == 1 && s && !s->next && s->op == UK_N_STORE &&
           s->assign == UK_ASSIGN && s->expr->op == UK_E_ACCESS &&
           s->expr->access.tensor->type == s->target.tensor->type &&
           s->expr->access.tensor != s->target.tensor && uk_type_bytes(s->target.tensor->type) == 1 &&
           uk_target_has(g->target, "rvp") && steps_by_one(&s->target, n->var) &&
           steps_by_one(&s->expr->access, n->var);
}

struct rows {
    struct uk_codegen *g;
    const struct uk_node *store;
    LLVMValueRef from, to;
};

/* Copies an integer of `bytes` bytes at offset `at`. */
static void copy_word(const struct rows *r, LLVMValueRef at, unsigned bytes) {
    struct uk_codegen *g = r->g;
    LLVMTypeRef type = LLVMIntTypeInContext(g->llvm, 8 * bytes);
    LLVMValueRef from = LLVMBuildInBoundsGEP2(g->b, g->i8, r->from, &at, 1, ""),
                 to = LLVMBuildInBoundsGEP2(g->b, g->i8, r->to, &at, 1, "");
    LLVMValueRef v = LLVMBuildLoad2(g->b, type, from, "");

    LLVMSetAlignment(v, 1);
    uk_cg_mark_access(g, v, r->store->expr->access.tensor);
    v = LLVMBuildStore(g->b, v, to);
    LLVMSetAlignment(v, 1);
    uk_cg_mark_access(g, v, r->store->target.tensor);
}

/* Copies n bytes without a loop; a partial last word overlaps the one before it, or is copied in halves. */
static void copy_straight(const struct rows *r, int64_t n) {
    int64_t i = 0;

    for (; i + WORD <= n; i += WORD)
        copy_word(r, uk_cg_int(r->g, i), WORD);
    if (i < n && n > WORD) {
        copy_word(r, uk_cg_int(r->g, n - WORD), WORD);
        return;
    }
    for (unsigned bytes = WORD / 2; bytes; bytes /= 2)
        if (i + bytes <= n) {
            copy_word(r, uk_cg_int(r->g, i), bytes);
            i += bytes;
        }
}

/* Copies the whole words of n bytes in a loop. */
static LLVMValueRef copy_in_loop(const struct rows *r, LLVMValueRef n) {
    struct uk_codegen *g = r->g;
    LLVMValueRef zero = uk_cg_int(g, 0), end = LLVMBuildAnd(g->b, n, uk_cg_int(g, -WORD), "words");
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b), body = uk_cg_block(g, "word"),
                      done = uk_cg_block(g, "copied");

    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, zero, end, ""), body, done);
    LLVMPositionBuilderAtEnd(g->b, body);
    LLVMValueRef i = LLVMBuildPhi(g->b, g->i64, "at");
    LLVMAddIncoming(i, &zero, &before, 1);
    copy_word(r, i, WORD);
    LLVMValueRef next = LLVMBuildNSWAdd(g->b, i, uk_cg_int(g, WORD), "");
    LLVMAddIncoming(i, &next, &body, 1);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, next, end, ""), body, done);
    LLVMPositionBuilderAtEnd(g->b, done);
    return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, zero, end, ""), end, zero, "");
}

LLVMValueRef uk_cg_copy_words(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower,
                              LLVMValueRef upper) {
    struct uk_binding *outside = g->bindings;
    struct rows r = {.g = g, .store = n->body};
    LLVMValueRef count = LLVMBuildNSWSub(g->b, upper, lower, "");

    uk_cg_bind(g, n->var, lower, uk_cg_loop_range(g, n));
    r.from = uk_cg_address(g, &n->body->expr->access, false);
    r.to = uk_cg_address(g, &n->body->target, false);
    g->bindings = outside;
    if (!LLVMIsAConstantInt(count) || LLVMConstIntGetSExtValue(count) > STRAIGHT * WORD)
        return LLVMBuildNSWAdd(g->b, lower, copy_in_loop(&r, count), "");
    copy_straight(&r, LLVMConstIntGetSExtValue(count));
    return upper;
}
