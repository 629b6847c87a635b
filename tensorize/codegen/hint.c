/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LLVM metadata about loops and accesses.
 *
 * No two tensors of a function overlap if one of them is written: the entry checks refuse such arguments, and
 * buffers are disjoint parts of the workspace. So each tensor has its own alias scope, which also holds in
 * the functions of parallel loops, whose arguments come from a struct.
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

/* A node that is its own first operand, set after the node exists, so that it equals no other. */
static LLVMMetadataRef distinct_node(struct uk_codegen *g, LLVMMetadataRef *operand, size_t n) {
    LLVMMetadataRef self = operand[0] = LLVMTemporaryMDNode(g->llvm, NULL, 0);
    LLVMMetadataRef node = LLVMMDNodeInContext2(g->llvm, operand, n);

    LLVMMetadataReplaceAllUsesWith(self, node);
    return node;
}

static LLVMMetadataRef pair(struct uk_codegen *g, const char *text, LLVMMetadataRef value) {
    LLVMMetadataRef both[] = {text_node(g, text), value};

    return LLVMMDNodeInContext2(g->llvm, both, 2);
}

/* `distinct !{}`: an access group is a node without operands. The C API can only parse one, and the parser
 * fails while value names are discarded. */
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

/* A node with one text. */
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

enum { WORD = 8 }; /* bytes: no vectors */

/* True for the columns of a tile. Without vectors, unrolling keeps a column's values in registers for all
 * rows; LLVM's own limit counts instructions. */
static bool is_row_of_tile(const struct uk_codegen *g, const struct uk_node *n) {
    enum { MAX_ITERATIONS = 8 };

    return g->target->vectors.bytes <= WORD && n->body->op == UK_N_STORE && !n->body->next && n->step == 1 &&
           n->lower->op == UK_I_INT && n->upper->op == UK_I_INT &&
           n->upper->value - n->lower->value <= MAX_ITERATIONS;
}

enum { SINGLE = 4, AVX512 = 64 }; /* bytes of an f32, and of a vector */

/* True for a loop of constant length, at least `least`, that stores adjacent elements. */
static bool is_row(const struct uk_codegen *g, const struct uk_node *n, int64_t least) {
    const struct uk_access *to = &n->body->target;
    const int last = n->body->op == UK_N_STORE ? to->tensor->stored_dims - 1 : -1;
    int64_t stride;

    if (g->target->arch->is_device || g->target->vectors.bytes <= WORD || last < 0 || n->body->next ||
        n->lower->op != UK_I_INT || n->upper->op != UK_I_INT || n->upper->value - n->lower->value < least)
        return false;
    for (int d = 0; d < last; d++)
        if (uk_mentions(to->index[d], n->var))
            return false;
    return uk_index_is_int(to->tensor->stride[last], &stride) && stride == 1 &&
           uk_mentions(to->index[last], n->var);
}

static bool is_row_of_vectors(const struct uk_codegen *g, const struct uk_node *n) {
    return is_row(g, n, g->target->vectors.bytes / SINGLE);
}

/* True if the row's elements are bytes computed from larger values. */
static bool narrows(const struct uk_node *n) {
    return uk_type_bytes(n->body->target.tensor->type) == 1 && n->body->expr->op != UK_E_ACCESS;
}

/* True for a row of bytes computed from larger values, to be vectorized in whole vectors of bytes. LLVM's
 * default is as many elements as a vector holds of the larger type, with each part narrowed separately. */
static bool is_row_of_bytes(const struct uk_codegen *g, const struct uk_node *n) {
    return !g->target->arch->flushes && is_row_of_vectors(g, n) && narrows(n) &&
           (n->upper->value - n->lower->value) % g->target->vectors.bytes == 0;
}

/* True for a row of bytes computed from larger values, for AVX-512, of less than a vector of these and other
 * lengths than those of shorter vectors: one vector under a mask takes less time than its parts. */
static bool is_part_of_vector(const struct uk_codegen *g, const struct uk_node *n) {
    enum { LEAST = 3 };

    if (g->target->vectors.bytes != AVX512 || !is_row(g, n, LEAST) || !narrows(n))
        return false;
    const int64_t length = n->upper->value - n->lower->value;
    return length < AVX512 / SINGLE && (length & (length - 1)) != 0;
}

/* True for a short row of bytes computed from larger values that ends with part of a vector of them, for
 * AVX-512: converting up to 15 elements one by one takes longer than the whole vectors. In long rows, masks
 * for all vectors take longer. */
static bool is_short_row_of_bytes(const struct uk_codegen *g, const struct uk_node *n) {
    enum { SHORT = 2 * AVX512 };

    return g->target->vectors.bytes == AVX512 && is_row_of_vectors(g, n) && narrows(n) &&
           n->upper->value - n->lower->value < SHORT &&
           (n->upper->value - n->lower->value) % (AVX512 / SINGLE) != 0;
}

/* True around rows that LLVM unrolls before vectorizing: it would vectorize the outer loop, whose elements
 * are not adjacent; it vectorizes the rows later. */
static bool is_around_rows(const struct uk_codegen *g, const struct uk_node *n) {
    return n->body->op == UK_N_FOR && !n->body->next &&
           (is_row_of_vectors(g, n->body) || is_part_of_vector(g, n->body));
}

/* Iterations of the nest from n on, whose innermost loop adds a term to one element; 0: another nest, or the
 * extents are not all constant. */
static int64_t terms_of(const struct uk_node *n) {
    int64_t terms = 1;

    for (; n->op == UK_N_FOR; n = n->body) {
        if (n->body->next || n->step != 1 || n->lower->op != UK_I_INT || n->upper->op != UK_I_INT)
            return 0;
        terms *= n->upper->value - n->lower->value;
    }
    return n->op == UK_N_STORE && n->any_order ? terms : 0;
}

/* True for a GPU's sum of a number of elements that is not constant, such as the parts of another sum. */
static bool is_open_sum(const struct uk_codegen *g, const struct uk_node *n) {
    return !g->chooses && n->step == 1 && n->upper->op != UK_I_INT && n->body->op == UK_N_STORE &&
           !n->body->next && n->body->any_order && n->body->expr->op == UK_E_ACCESS;
}

/* The number of iterations that a GPU's loop is unrolled by. Fewer than LLVM's: those of a pipeline, whose
 * loads would be moved ahead by several iterations; and of a sum that reads under conditions, as LLVM loads
 * what does not depend on them for all iterations first. Both would spill. More: an open sum, which otherwise
 * waits for each of its loads. */
static LLVMMetadataRef unrolling(struct uk_codegen *g, const struct uk_node *n) {
    enum { MAX_TERMS = 64, UNROLLED = 8 };

    if (g->target->arch->is_device && is_open_sum(g, n))
        return pair(g, "llvm.loop.unroll.count", LLVMValueAsMetadata(LLVMConstInt(g->i32, UNROLLED, false)));
    if (!g->target->arch->is_device || (!n->slots && (!g->chooses || terms_of(n) <= MAX_TERMS)))
        return NULL;
    if (n->slots || n->body->op == UK_N_FOR)
        return flag(g, "llvm.loop.unroll.disable");
    return pair(g, "llvm.loop.unroll.count", LLVMValueAsMetadata(LLVMConstInt(g->i32, UNROLLED, false)));
}

static bool approximates(const struct uk_expr *e) {
    if (uk_ulps(e->op) > 0)
        return true;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && approximates(e->arg[i]))
            return true;
    return false;
}

/* True for a loop whose value is a chain of dependent multiply-adds, of 50 cycles and more: the scheduler
 * finds more of them that do not wait if two vectors advance together. AVX-512 has the registers for it. */
static bool is_long_chain(const struct uk_codegen *g, const struct uk_node *n) {
    return g->target->vectors.bytes == AVX512 && n->body->op == UK_N_STORE && !n->body->next &&
           n->body->assign == UK_ASSIGN && approximates(n->body->expr);
}

/* Sets the metadata of a loop. An edge fits into few vectors: masked ones are faster than a scalar remainder.
 * A GPU's loop that reads under a condition, or whose end is not constant, stays scalar: its vectors of
 * conditions take many SGPRs and make LLVM 19 abort in some cases (SIFixSGPRCopies), and their elements are
 * read one by one anyway. */
void uk_cg_leave_loop(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef branch,
                      LLVMMetadataRef outer) {
    LLVMMetadataRef yes = LLVMValueAsMetadata(LLVMConstInt(g->i1, 1, false)),
                    no = LLVMValueAsMetadata(LLVMConstInt(g->i1, 0, false)), operand[9] = {NULL};
    const bool is_constant = n->lower->op == UK_I_INT && n->upper->op == UK_I_INT,
               is_scalar =
                   (g->target->arch->is_device && (g->chooses || !is_constant)) || is_around_rows(g, n);
    const bool is_bytes = !is_scalar && is_row_of_bytes(g, n),
               is_part = !is_scalar && is_part_of_vector(g, n);
    size_t count = 1;

    if (n->loop == UK_LOOP_VECTOR || is_scalar || is_bytes || is_part)
        operand[count++] = pair(g, "llvm.loop.vectorize.enable", is_scalar ? no : yes);
    if (!is_scalar && ((n->full && g->in_edge) || is_part || is_short_row_of_bytes(g, n)))
        operand[count++] = pair(g, "llvm.loop.vectorize.predicate.enable", yes);
    if (g->group)
        operand[count++] = pair(g, "llvm.loop.parallel_accesses", g->group);
    if (is_bytes || is_part) {
        const int lanes = is_bytes ? g->target->vectors.bytes : AVX512 / SINGLE;
        LLVMValueRef width = LLVMConstInt(g->i32, (unsigned long long)lanes, false);

        operand[count++] = pair(g, "llvm.loop.vectorize.width", LLVMValueAsMetadata(width));
        operand[count++] = flag(g, "llvm.loop.unroll.disable");
    }
    if (!is_scalar && !is_bytes && !is_part && is_long_chain(g, n))
        operand[count++] =
            pair(g, "llvm.loop.interleave.count", LLVMValueAsMetadata(LLVMConstInt(g->i32, 2, false)));
    if (is_row_of_tile(g, n))
        operand[count++] = flag(g, "llvm.loop.unroll.full");
    if ((operand[count] = unrolling(g, n)))
        count++;
    g->group = outer;
    if (count > 1)
        set(g, branch, "llvm.loop", distinct_node(g, operand, count));
}

/* LLVM prefers half vectors because some CPUs ran slower with whole ones; the kernels use whole ones
 * anyway. */
void uk_cg_prefer_full_vectors(struct uk_codegen *g, LLVMValueRef f) {
    static const char key[] = "prefer-vector-width", bits[] = "512";

    if (uk_target_has(g->target, "avx512f"))
        LLVMAddAttributeAtIndex(
            f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
            LLVMCreateStringAttribute(g->llvm, key, sizeof key - 1, bits, sizeof bits - 1));
}
