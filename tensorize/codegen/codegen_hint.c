/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the optimizer may know of loops and accesses, as LLVM metadata.
 *
 * No two tensors of a function overlap where one of them is written: the entry checks refuse such arguments,
 * and buffers are disjoint parts of the workspace. So each tensor is an alias scope of its own, which holds
 * in the functions of parallel loops too, where arguments come out of a struct.
 */
#include <string.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/IRReader.h>
#include "generator.h"

static LLVMMetadataRef text_node(struct uk_codegen *g, const char *text) {
    return LLVMMDStringInContext2(g->llvm, text, strlen(text));
}

static void set(struct uk_codegen *g, LLVMValueRef instruction, const char *kind, LLVMMetadataRef node) {
    LLVMSetMetadata(instruction, LLVMGetMDKindIDInContext(g->llvm, kind, (unsigned)strlen(kind)),
                    LLVMMetadataAsValue(g->llvm, node));
}

static LLVMMetadataRef scope_of(struct uk_codegen *g, const struct uk_place *p) {
    LLVMMetadataRef name = text_node(g, g->f->name), domain = LLVMMDNodeInContext2(g->llvm, &name, 1);
    LLVMMetadataRef scope[] = {text_node(g, p->tensor->name), domain};

    return LLVMMDNodeInContext2(g->llvm, scope, 2);
}

void uk_cg_alias_scopes(struct uk_codegen *g) {
    size_t n = 0;

    for (const struct uk_place *p = g->places; p; p = p->next)
        n++;
    LLVMMetadataRef *list = uk_alloc(&g->arena, (n + 1) * sizeof *list);
    if (!list) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    for (struct uk_place *p = g->places; p; p = p->next) {
        LLVMMetadataRef own = scope_of(g, p);
        size_t k = 0;

        for (const struct uk_place *o = g->places; o; o = o->next)
            if (o != p)
                list[k++] = scope_of(g, o);
        p->scope = LLVMMDNodeInContext2(g->llvm, &own, 1);
        p->others = k ? LLVMMDNodeInContext2(g->llvm, list, k) : NULL;
    }
}

void uk_cg_mark_access(struct uk_codegen *g, LLVMValueRef instruction, const struct uk_tensor *t) {
    for (const struct uk_place *p = g->places; p; p = p->next)
        if (p->tensor == t && p->others) {
            set(g, instruction, "alias.scope", p->scope);
            set(g, instruction, "noalias", p->others);
        }
    if (g->group)
        set(g, instruction, "llvm.access.group", g->group);
}

/* A node that is its own first operand, which is put in after it exists; so it equals no other. */
static LLVMMetadataRef distinct(struct uk_codegen *g, LLVMMetadataRef *operand, size_t n) {
    LLVMMetadataRef self = operand[0] = LLVMTemporaryMDNode(g->llvm, NULL, 0);
    LLVMMetadataRef node = LLVMMDNodeInContext2(g->llvm, operand, n);

    LLVMMetadataReplaceAllUsesWith(self, node);
    return node;
}

static LLVMMetadataRef pair(struct uk_codegen *g, const char *text, LLVMMetadataRef value) {
    LLVMMetadataRef both[] = {text_node(g, text), value};

    return LLVMMDNodeInContext2(g->llvm, both, 2);
}

/* `distinct !{}`: an access group is a node without operands, which the C API cannot make but read; and it
 * reads no text while values lose their names. */
static LLVMMetadataRef access_group(struct uk_codegen *g) {
    static const char text[] = "!group = !{!0}\n!0 = distinct !{}\n";
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(text, sizeof text - 1, "group", true);
    LLVMModuleRef module = NULL;
    LLVMValueRef node = NULL;
    char *wrong = NULL;
    LLVMBool nameless = LLVMContextShouldDiscardValueNames(g->llvm);

    LLVMContextSetDiscardValueNames(g->llvm, false);
    if (!LLVMParseIRInContext(g->llvm, buffer, &module, &wrong)) {
        LLVMGetNamedMetadataOperands(module, "group", &node);
        LLVMDisposeModule(module);
    }
    LLVMContextSetDiscardValueNames(g->llvm, nameless);
    if (!node)
        uk_cg_fail(g, UK_INTERNAL, "LLVM does not read its own metadata", wrong ? wrong : "");
    LLVMDisposeMessage(wrong);
    return node ? LLVMValueAsMetadata(node) : NULL;
}

/* The metadata of one text. */
static LLVMMetadataRef flag(struct uk_codegen *g, const char *text) {
    LLVMMetadataRef name = text_node(g, text);

    return LLVMMDNodeInContext2(g->llvm, &name, 1);
}

LLVMMetadataRef uk_cg_enter_loop(struct uk_codegen *g, const struct uk_node *n) {
    LLVMMetadataRef outer = g->group;

    g->chooses = false;
    g->group = n->loop == UK_LOOP_VECTOR && n->independent ? access_group(g) : NULL;
    return outer;
}

enum { WORD = 8 }; /* no vectors */

/* The columns of a tile: where there are no vectors, what a column needs is kept for all rows. LLVM counts
 * instructions, and of long ones some. */
static bool is_row_of_tile(const struct uk_codegen *g, const struct uk_node *n) {
    enum { MOST = 8 };

    return g->target->vectors.bytes <= WORD && n->body->op == UK_N_STORE && !n->body->next && n->step == 1 &&
           n->lower->op == UK_I_INT && n->upper->op == UK_I_INT && n->upper->value - n->lower->value <= MOST;
}

/* A loop of constant length, a vector of f32 at least, that stores neighbours in memory. */
static bool is_row_of_vectors(const struct uk_codegen *g, const struct uk_node *n) {
    enum { SINGLE = 4 };
    const struct uk_access *to = &n->body->target;
    const int last = n->body->op == UK_N_STORE ? to->tensor->stored_dims - 1 : -1;
    int64_t stride;

    if (g->target->arch->is_device || g->target->vectors.bytes <= WORD || last < 0 || n->body->next ||
        n->lower->op != UK_I_INT || n->upper->op != UK_I_INT ||
        n->upper->value - n->lower->value < g->target->vectors.bytes / SINGLE)
        return false;
    for (int d = 0; d < last; d++)
        if (uk_mentions(to->index[d], n->var))
            return false;
    return uk_index_is_int(to->tensor->stride[last], &stride) && stride == 1 &&
           uk_mentions(to->index[last], n->var);
}

/* Rows that LLVM unrolls before it looks for vectors: it would take those of the loop around them, whose
 * elements lie apart, where it finds those of a row later. */
static bool is_around_rows(const struct uk_codegen *g, const struct uk_node *n) {
    return n->body->op == UK_N_FOR && !n->body->next && is_row_of_vectors(g, n->body);
}

/* A row of bytes that are made of larger values, as whole vectors of bytes. LLVM takes as many as a vector
 * holds of the larger values, and narrows each such part by itself. */
static bool is_row_of_bytes(const struct uk_codegen *g, const struct uk_node *n) {
    return !g->target->arch->flushes && is_row_of_vectors(g, n) &&
           uk_type_bytes(n->body->target.tensor->type) == 1 && n->body->expr->op != UK_E_ACCESS &&
           (n->upper->value - n->lower->value) % g->target->vectors.bytes == 0;
}

/* An edge fits into few vectors: masked ones are better than a loop of scalars for the rest. Where a GPU's
 * loop reads behind a branch, its vectors would be of conditions, at some of which LLVM 19 ends the process
 * (SIFixSGPRCopies), and read one by one anyway. */
void uk_cg_leave_loop(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef branch,
                      LLVMMetadataRef outer) {
    LLVMMetadataRef yes = LLVMValueAsMetadata(LLVMConstInt(g->i1, 1, false)),
                    no = LLVMValueAsMetadata(LLVMConstInt(g->i1, 0, false)), operand[8] = {NULL};
    const bool is_scalar = (g->target->arch->is_device && g->chooses) || is_around_rows(g, n);
    const bool is_bytes = !is_scalar && is_row_of_bytes(g, n);
    size_t count = 1;

    if (n->loop == UK_LOOP_VECTOR || is_scalar || is_bytes)
        operand[count++] = pair(g, "llvm.loop.vectorize.enable", is_scalar ? no : yes);
    if (n->full && g->in_edge && !is_scalar)
        operand[count++] = pair(g, "llvm.loop.vectorize.predicate.enable", yes);
    if (g->group)
        operand[count++] = pair(g, "llvm.loop.parallel_accesses", g->group);
    if (is_bytes) {
        LLVMValueRef width = LLVMConstInt(g->i32, (unsigned long long)g->target->vectors.bytes, false);

        operand[count++] = pair(g, "llvm.loop.vectorize.width", LLVMValueAsMetadata(width));
        operand[count++] = flag(g, "llvm.loop.unroll.disable");
    }
    if (is_row_of_tile(g, n))
        operand[count++] = flag(g, "llvm.loop.unroll.full");
    g->group = outer;
    if (count > 1)
        set(g, branch, "llvm.loop", distinct(g, operand, count));
}

/* LLVM takes half vectors where the CPU once ran slower with whole ones; the kernels use whole ones anyway.
 * */
void uk_cg_whole_vectors(struct uk_codegen *g, LLVMValueRef f) {
    static const char key[] = "prefer-vector-width", bits[] = "512";

    if (uk_target_has(g->target, "avx512f"))
        LLVMAddAttributeAtIndex(
            f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
            LLVMCreateStringAttribute(g->llvm, key, sizeof key - 1, bits, sizeof bits - 1));
}
