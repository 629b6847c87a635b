/* SPDX-License-Identifier: Apache-2.0 */
/* Generates the forms that lower/requantize.c finds with the target's instructions. */
#include <string.h>
#include "generator.h"
#include "lower/lower.h"

/* Fields of the instructions of RISC-V P, and of min, max and pack from B, which P includes. */
enum {
#define UK_RVP(name, form, funct3, funct7, ...) FUNCT3_##name = funct3, FUNCT7_##name = funct7,
#include "registry/rvp.def"
#undef UK_RVP
    OP_P = 0x77,
    OP = 0x33,
    FUNCT7_MIN_MAX = 5,
    FUNCT3_MIN = 4,
    FUNCT3_MAX = 6,
    FUNCT7_PACK = 4,
    FUNCT3_PACK = 4
};

/* Generates an instruction without side effects for which LLVM has no name, or not this form. */
static LLVMValueRef pure(struct uk_codegen *g, const char *text, const char *constraints, LLVMValueRef *args,
                         unsigned count) {
    static const char *const attribute[] = {"memory", "nounwind", "willreturn"};
    LLVMTypeRef types[2];

    for (unsigned i = 0; i < count; i++)
        types[i] = LLVMTypeOf(args[i]);
    if (!text) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return LLVMGetPoison(g->i64);
    }
    LLVMTypeRef type = LLVMFunctionType(g->i64, types, count, false);
    LLVMValueRef code = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), false,
                                         false, LLVMInlineAsmDialectATT, false);
    LLVMValueRef v = LLVMBuildCall2(g->b, type, code, args, count, "");

    for (size_t i = 0; i < sizeof attribute / sizeof *attribute; i++)
        LLVMAddCallSiteAttribute(v, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                 uk_cg_enum_attribute(g, attribute[i], 0));
    return v;
}

static LLVMValueRef instruction(struct uk_codegen *g, unsigned opcode, unsigned funct3, unsigned funct7,
                                LLVMValueRef l, LLVMValueRef r) {
    return pure(g,
                uk_format(&g->arena, ".balign 4\n\t.insn r %u, %u, %u, $0, $1, $2", opcode, funct3, funct7),
                "=r,r,r", (LLVMValueRef[]){l, r}, 2);
}

/* Generates an instruction whose last operand is a number in place of a register. */
static LLVMValueRef immediate(struct uk_codegen *g, unsigned funct3, unsigned funct7, LLVMValueRef v,
                              unsigned number) {
    return pure(
        g, uk_format(&g->arena, ".balign 4\n\t.insn r %u, %u, %u, $0, $1, x%u", OP_P, funct3, funct7, number),
        "=r,r", &v, 1);
}

static LLVMValueRef wide(struct uk_codegen *g, enum uk_type from, LLVMValueRef v) {
    return LLVMBuildIntCast2(g->b, v, g->i64, !uk_type_is_unsigned(from), "");
}

static LLVMValueRef zero_of(struct uk_codegen *g, const struct uk_fused *f) {
    const struct uk_expr *zero = f->arg[1];

    if (!zero || zero->op == UK_E_NUMBER)
        return LLVMConstInt(g->i32, zero ? (unsigned long long)zero->integer : 0, true);
    return LLVMBuildIntCast2(g->b, uk_cg_expr(g, zero), g->i32, !uk_type_is_unsigned(zero->type), "");
}

/*
 * x rounded and limited to low - zero .. high - zero. Clamping to these integers before rounding gives the
 * same as saturating the sum, and the result is in the range of every conversion. maxnum turns NaN into low -
 * zero, which is right if low is 0.
 */
static LLVMValueRef rounded(struct uk_codegen *g, enum uk_type to, LLVMValueRef x, LLVMValueRef zero) {
    for (int i = 0; i < 2; i++) {
        const int end = (to == UK_U8 ? 0 : INT8_MIN) + i * UINT8_MAX;
        LLVMValueRef distance =
            LLVMBuildNSWSub(g->b, LLVMConstInt(g->i32, (unsigned long long)end, true), zero, "");
        LLVMValueRef both[] = {x, LLVMBuildSIToFP(g->b, distance, g->f32, "")};

        x = uk_cg_intrinsic(g, i ? "llvm.minnum" : "llvm.maxnum", g->f32, both, 2);
    }
    return LLVMBuildFPToSI(g->b, uk_cg_intrinsic(g, "llvm.roundeven", g->f32, &x, 1), g->i32, "");
}

/*
 * x rounded to an integer, which the conversion saturates; NaN becomes -zero, so that the byte is 0. The
 * upper half of the register is the sign.
 */
static LLVMValueRef converted(struct uk_codegen *g, const struct uk_expr *e, LLVMValueRef x,
                              LLVMValueRef zero) {
    if (!uk_is_no_nan(e)) {
        LLVMValueRef both[] = {x, LLVMBuildSIToFP(g->b, LLVMBuildNeg(g->b, zero, ""), g->f32, "")};

        x = uk_cg_intrinsic(g, "llvm.maxnum", g->f32, both, 2);
    }
    return pure(g, "fcvt.w.s $0, $1, rne", "=r,f", &x, 1);
}

/* Adds the zero point to the lower word of v, or to both, and saturates to unsigned bytes. */
static LLVMValueRef clipped(struct uk_codegen *g, LLVMValueRef v, LLVMValueRef zero, bool both) {
    if (!LLVMIsConstant(zero) || !LLVMIsNull(zero)) {
        LLVMValueRef low = LLVMBuildZExt(g->b, zero, g->i64, "");

        if (both)
            low = LLVMBuildOr(g->b, low, LLVMBuildShl(g->b, low, LLVMConstInt(g->i64, 32, false), ""), "");
        v = instruction(g, OP_P, FUNCT3_kadd32, FUNCT7_kadd32, v, low);
    }
    return immediate(g, FUNCT3_uclip32, FUNCT7_uclip32, v, 8);
}

/* Marks v as a byte although its upper word was a sign, so that its users do not mask it. */
static LLVMValueRef mark_byte(struct uk_codegen *g, LLVMValueRef v) {
    LLVMMetadataRef range[] = {LLVMValueAsMetadata(uk_cg_int(g, 0)),
                               LLVMValueAsMetadata(uk_cg_int(g, UINT8_MAX + 1))};

    if (LLVMIsACallInst(v))
        LLVMSetMetadata(v, LLVMGetMDKindIDInContext(g->llvm, "range", 5),
                        LLVMMetadataAsValue(g->llvm, LLVMMDNodeInContext2(g->llvm, range, 2)));
    return LLVMBuildTrunc(g->b, v, g->i8, "");
}

static LLVMValueRef byte_of(struct uk_codegen *g, enum uk_type to, const struct uk_fused *f) {
    LLVMValueRef x = uk_cg_expr(g, f->arg[0]), zero = zero_of(g, f), v;

    if (to == UK_U8 && uk_target_has(g->target, "rvp"))
        return mark_byte(g, clipped(g, converted(g, f->arg[0], x, zero), zero, false));
    v = LLVMBuildAdd(g->b, rounded(g, to, x, zero), zero, "");
    if (to == UK_I8)
        v = LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealORD, x, x, ""), v,
                            LLVMConstInt(g->i32, 0, false), "");
    return LLVMBuildTrunc(g->b, v, g->i8, "");
}

/* ---- rows of bytes ---- */

bool uk_cg_reads(const struct uk_expr *e, const struct uk_tensor *t) {
    if (e->op == UK_E_ACCESS)
        return e->access.tensor == t;
    for (int i = 0; i < 3; i++)
        if (e->arg[i] && uk_cg_reads(e->arg[i], t))
            return true;
    return false;
}

/* True for adjacent bytes made with one zero point, none of which is read back. */
static bool is_row(struct uk_codegen *g, const struct uk_node *n, struct uk_fused *f) {
    const struct uk_access *to = &n->body->target;

    if (n->body->op != UK_N_STORE || n->body->next || n->step != 1 || n->body->assign != UK_ASSIGN ||
        to->tensor->type != UK_U8 || !uk_target_has(g->target, "rvp"))
        return false;
    *f = uk_fuse_value(g->target, n->body->expr);
    if (f->form != UK_FUSED_BYTE || !f->arg[1] ||
        (f->arg[1]->op != UK_E_SCALAR && f->arg[1]->op != UK_E_NUMBER) || uk_cg_reads(f->arg[0], to->tensor))
        return false;
    return uk_cg_is_adjacent(to, n->var);
}

enum { DOUBLE = 8, WORD = 4 };

/* A row of f32(sum + bias) * factor. Adjacent integers are loaded and added in pairs, which pays for the
 * shift that splits a pair; a single sum is better loaded by itself. */
struct product {
    const struct uk_expr *sum, *bias, *factor;
};

static bool has_neighbours(const struct uk_expr *e, const struct uk_var *i) {
    return e->op == UK_E_ACCESS && e->access.tensor->type == UK_I32 && uk_cg_is_adjacent(&e->access, i);
}

static bool is_product(const struct uk_expr *e, const struct uk_var *i, struct product *p) {
    for (int k = 0; k < 2 && e->op == UK_E_MUL; k++) {
        const struct uk_expr *cast = e->arg[k], *sum = cast->op == UK_E_CAST ? cast->arg[0] : NULL;

        if (!sum || sum->type != UK_I32)
            continue;
        *p = (struct product){sum->arg[0], sum->arg[1], e->arg[!k]};
        if (sum->op == UK_E_ADD && has_neighbours(p->sum, i) && has_neighbours(p->bias, i))
            return true;
    }
    return false;
}

static LLVMValueRef load_pair(struct uk_codegen *g, const struct uk_expr *e) {
    LLVMValueRef v = LLVMBuildLoad2(g->b, g->i64, uk_cg_address(g, &e->access, true), "");

    LLVMSetAlignment(v, (unsigned)uk_type_bytes(UK_I32));
    uk_cg_mark_access(g, v, e->access.tensor);
    return v;
}

/* Generates value from + i of the row. *pair: with P, two adjacent sums, computed if i is even and used again
 * for the next i. */
static LLVMValueRef value_of(struct uk_codegen *g, const struct uk_node *n, const struct uk_expr *e,
                             const struct product *p, LLVMValueRef from, unsigned i, LLVMValueRef *pair) {
    struct uk_binding *outside = g->bindings;
    LLVMValueRef v;

    uk_cg_bind(g, n->var, LLVMBuildNSWAdd(g->b, from, uk_cg_int(g, i), ""), uk_cg_from_zero);
    if (!p) {
        v = uk_cg_expr(g, e);
    } else {
        if (i % 2 == 0)
            *pair =
                instruction(g, OP_P, FUNCT3_add32, FUNCT7_add32, load_pair(g, p->sum), load_pair(g, p->bias));
        v = i % 2 ? LLVMBuildLShr(g->b, *pair, LLVMConstInt(g->i64, 32, false), "") : *pair;
        v = LLVMBuildSIToFP(g->b, LLVMBuildTrunc(g->b, v, g->i32, ""), g->f32, "");
        v = LLVMBuildFMul(g->b, v, uk_cg_expr(g, p->factor), "");
    }
    g->bindings = outside;
    return v;
}

static LLVMValueRef two_words(struct uk_codegen *g, LLVMValueRef low, LLVMValueRef high) {
    return instruction(g, OP, FUNCT3_PACK, FUNCT7_PACK, low, high);
}

/* The lower halves of both registers' words, that of `low` below the other. */
static LLVMValueRef two_halves(struct uk_codegen *g, LLVMValueRef low, LLVMValueRef high) {
    return instruction(g, OP_P, FUNCT3_pkbb16, FUNCT7_pkbb16, high, low);
}

/*
 * The row's next `count` bytes, 4 or 8, in one register, the first one lowest. Two values are clipped at
 * once, in the words of a register; then the bytes of each word are joined; with 4 values they are every
 * second byte.
 */
static LLVMValueRef bytes_of(struct uk_codegen *g, const struct uk_node *n, const struct uk_fused *f,
                             LLVMValueRef from, unsigned count) {
    LLVMValueRef zero = zero_of(g, f), v[DOUBLE], pair = NULL;
    struct product p;
    const bool pairs = is_product(f->arg[0], n->var, &p);
    const unsigned apart = count == DOUBLE ? 4 : 1, step = count == DOUBLE ? 1 : 2;

    for (unsigned i = 0; i < count; i++)
        v[i] = converted(g, f->arg[0], value_of(g, n, f->arg[0], pairs ? &p : NULL, from, i, &pair), zero);
    for (unsigned i = 0; i < count / 2; i++)
        v[i] = clipped(g, two_words(g, v[step * i], v[step * i + apart]), zero, true);
    if (count == WORD) {
        v[0] = two_halves(g, v[0], v[1]);
        return LLVMBuildOr(g->b, v[0], LLVMBuildLShr(g->b, v[0], LLVMConstInt(g->i64, 24, false), ""), "");
    }
    v[0] = two_halves(g, v[0], v[2]);
    v[1] = two_halves(g, v[1], v[3]);
    return LLVMBuildOr(g->b, v[0], LLVMBuildShl(g->b, v[1], LLVMConstInt(g->i64, 8, false), ""), "");
}

/* Stores the next bytes. */
static void store_bytes(struct uk_codegen *g, const struct uk_node *n, const struct uk_fused *f,
                        LLVMValueRef from, unsigned count) {
    struct uk_binding *outside = g->bindings;
    LLVMValueRef v = bytes_of(g, n, f, from, count);

    uk_cg_bind(g, n->var, from, uk_cg_from_zero);
    v = LLVMBuildStore(g->b, count == WORD ? LLVMBuildTrunc(g->b, v, g->i32, "") : v,
                       uk_cg_address(g, &n->body->target, true));
    LLVMSetAlignment(v, 1);
    uk_cg_mark_access(g, v, n->body->target.tensor);
    g->bindings = outside;
}

bool uk_cg_fused_row(struct uk_codegen *g, const struct uk_node *n, int64_t lower, int64_t upper) {
    enum { MAX_VALUES = 32 };
    struct uk_binding *outside = g->bindings;
    struct uk_fused f;

    if (lower < 0 || upper - lower < WORD || upper - lower > MAX_VALUES || !is_row(g, n, &f))
        return false;
    for (int64_t i = lower, count; i < upper && !g->status; i += count) {
        count = upper - i >= DOUBLE ? DOUBLE : upper - i >= WORD ? WORD : 1;
        if (count == 1) {
            uk_cg_bind(g, n->var, uk_cg_int(g, i), uk_cg_from_zero);
            uk_cg_store(g, n->body);
        } else {
            store_bytes(g, n, &f, uk_cg_int(g, i), (unsigned)count);
        }
        g->bindings = outside;
    }
    return true;
}

int uk_cg_fused_rows_at_once(struct uk_codegen *g, const struct uk_node *n, int64_t iterations) {
    enum { MAX_VALUES = 8 };
    const struct uk_node *row = n->body;
    struct uk_fused f;
    int times = MAX_VALUES;

    if (n->loop != UK_LOOP_SERIAL || n->step != 1 || iterations < 2 || row->op != UK_N_FOR || row->next ||
        row->lower->op != UK_I_INT || row->upper->op != UK_I_INT || !is_row(g, row, &f))
        return 1;
    while (iterations % times)
        times--;
    return times;
}

LLVMValueRef uk_cg_fused_blocks(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower,
                                LLVMValueRef upper) {
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b), body, done;
    struct uk_fused f;

    if (n->loop != UK_LOOP_SERIAL || !uk_cg_not_negative(g, n->lower) || !is_row(g, n, &f))
        return lower;
    body = uk_cg_block(g, "bytes");
    done = uk_cg_block(g, "stored");
    LLVMValueRef last = LLVMBuildNSWSub(g->b, upper, uk_cg_int(g, DOUBLE), "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLE, lower, last, ""), body, done);
    LLVMPositionBuilderAtEnd(g->b, body);
    LLVMValueRef i = LLVMBuildPhi(g->b, g->i64, n->var->name), next;
    store_bytes(g, n, &f, i, DOUBLE);
    next = LLVMBuildNSWAdd(g->b, i, uk_cg_int(g, DOUBLE), "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(g->b);
    LLVMAddIncoming(i, (LLVMValueRef[]){lower, next}, (LLVMBasicBlockRef[]){before, end}, 2);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLE, next, last, ""), body, done);
    LLVMPositionBuilderAtEnd(g->b, done);
    LLVMValueRef rest = LLVMBuildPhi(g->b, g->i64, "");
    LLVMAddIncoming(rest, (LLVMValueRef[]){lower, next}, (LLVMBasicBlockRef[]){before, end}, 2);
    return rest;
}

LLVMValueRef uk_cg_fused(struct uk_codegen *g, const struct uk_expr *e) {
    const struct uk_fused f = uk_fuse_value(g->target, e);

    if (!f.form)
        return NULL;
    if (f.form == UK_FUSED_BYTE)
        return byte_of(g, e->type, &f);
    LLVMValueRef l = wide(g, f.arg[0]->type, uk_cg_expr(g, f.arg[0])),
                 r = wide(g, f.arg[1]->type, uk_cg_expr(g, f.arg[1]));

    switch (f.form) {
    case UK_FUSED_HALF: /* 32-bit result; the upper half is undefined, so sign-extend */
        l = LLVMBuildTrunc(g->b, instruction(g, OP_P, FUNCT3_kwmmul_u, FUNCT7_kwmmul_u, l, r), g->i32, "");
        return LLVMBuildSExt(g->b, l, g->i64, "");
    case UK_FUSED_SHIFT:
        return instruction(g, OP_P, FUNCT3_sra_u, FUNCT7_sra_u, l, r);
    default:
        l = instruction(g, OP, f.form == UK_FUSED_MIN ? FUNCT3_MIN : FUNCT3_MAX, FUNCT7_MIN_MAX, l, r);
        return LLVMBuildIntCast2(g->b, l, uk_llvm_type(g->llvm, e->type), true, "");
    }
}
