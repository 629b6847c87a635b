/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of the loop IR: loops, conditions and calls of kernels. */
#include <string.h>
#include "generator.h"
#include "stages/stages.h"

static bool has_barrier(const struct uk_node *n) {
    for (; n; n = n->next)
        if (n->op == UK_N_BARRIER || has_barrier(n->body) || has_barrier(n->other))
            return true;
    return false;
}

/* True for a loop of a GPU's kernel in which threads wait for each other, the long part of its work. */
static bool is_main_loop(const struct uk_codegen *g, const struct uk_node *n) {
    return g->launch && g->spares_registers && n->op == UK_N_FOR && n->loop == UK_LOOP_SERIAL &&
           has_barrier(n->body);
}

/* A guarded loop with its test at the end, the form that LLVM's loop passes expect; `times` iterations per
 * pass, a divisor of the trip count. */
static void repeated_loop(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower,
                          LLVMValueRef upper, int times) {
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->b), body = uk_cg_block(g, n->var->name);
    LLVMBasicBlockRef done = uk_cg_block(g, "done");
    struct uk_binding *outside = g->bindings;
    const struct uk_interval range = uk_cg_loop_range(g, n);
    /* Otherwise LLVM keeps a scalar offset for each row of a copy, and adds its stride in each iteration. */
    const bool hides = is_main_loop(g, n) && !g->calls_wave;
    const struct uk_node *around = g->innermost;

    g->innermost = n->body->op == UK_N_STORE && !n->body->next ? n : NULL;
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, lower, upper, ""), body, done);
    LLVMPositionBuilderAtEnd(g->b, body);
    LLVMValueRef i = LLVMBuildPhi(g->b, LLVMTypeOf(upper), n->var->name);
    LLVMAddIncoming(i, &lower, &before, 1);
    LLVMMetadataRef outer = uk_cg_enter_loop(g, n);
    for (int k = 0; k < times; k++) {
        LLVMValueRef at = k ? LLVMBuildNSWAdd(g->b, i, uk_cg_int_as(upper, k * n->step), "") : i;

        uk_cg_bind(g, n->var, hides ? uk_cg_hide_shared(g, at) : at, range);
        uk_cg_nodes(g, n->body);
        g->bindings = outside;
    }
    LLVMValueRef next = LLVMBuildNSWAdd(g->b, i, uk_cg_int_as(upper, times * n->step), "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(g->b);
    LLVMAddIncoming(i, &next, &end, 1);
    LLVMValueRef again = LLVMBuildICmp(g->b, LLVMIntSLT, next, upper, "");
    uk_cg_leave_loop(g, n, LLVMBuildCondBr(g->b, again, body, done), outer);
    LLVMPositionBuilderAtEnd(g->b, done);
    g->innermost = around;
}

static void serial_loop(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower,
                        LLVMValueRef upper) {
    if (uk_cg_is_extreme(g, n))
        uk_cg_extreme(g, n, lower, upper);
    else
        repeated_loop(g, n, lower, upper, 1);
}

/* Generates the first iterations of a loop of a form that LLVM does not vectorize. Returns the begin of the
 * remainder. */
static LLVMValueRef by_vectors(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower,
                               LLVMValueRef upper) {
    return uk_cg_scan(g, n, uk_cg_fused_blocks(g, n, lower, upper), upper, serial_loop);
}

/* Unrolls here rather than in LLVM, whose decisions depend on its estimate of asm statements. */
static void constant_loop(struct uk_codegen *g, const struct uk_node *n, int64_t lower, int64_t upper) {
    struct uk_binding *outside = g->bindings;

    if (uk_cg_fused_row(g, n, lower, upper) || uk_cg_move_vector(g, n, lower, upper))
        return;
    if (n->loop != UK_LOOP_UNROLLED && uk_cg_is_extreme(g, n)) {
        uk_cg_extreme(g, n, uk_cg_int(g, lower), uk_cg_int(g, upper));
        return;
    }
    if (n->loop != UK_LOOP_UNROLLED && !(g->launch && n->loop == UK_LOOP_VECTOR) &&
        !(n->loop == UK_LOOP_SERIAL && uk_cg_selects_variable(g, n->body, n->var))) {
        repeated_loop(g, n, by_vectors(g, n, uk_cg_int(g, lower), uk_cg_int(g, upper)), uk_cg_int(g, upper),
                      uk_cg_fused_rows_at_once(g, n, upper - lower));
        return;
    }
    for (int64_t i = lower; i < upper && !g->status; i += n->step) {
        uk_cg_bind(g, n->var, uk_cg_int(g, i), (struct uk_interval){i, i});
        uk_cg_nodes(g, n->body);
        g->bindings = outside;
    }
}

/* A version with the full extent as a constant, and one for edges, in which no further loop gets two
 * versions. */
static void two_versions(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower,
                         LLVMValueRef upper) {
    LLVMBasicBlockRef full = uk_cg_block(g, "full"), edge = uk_cg_block(g, "edge");
    LLVMBasicBlockRef after = uk_cg_block(g, "after");

    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntEQ, upper, uk_cg_int_as(upper, n->full), ""), full,
                    edge);
    LLVMPositionBuilderAtEnd(g->b, full);
    constant_loop(g, n, 0, n->full);
    LLVMBuildBr(g->b, after);
    LLVMPositionBuilderAtEnd(g->b, edge);
    g->in_edge = true;
    serial_loop(g, n, lower, upper);
    g->in_edge = false;
    LLVMBuildBr(g->b, after);
    LLVMPositionBuilderAtEnd(g->b, after);
}

/* A loop over registers, whose elements need constant indices: all possible iterations, each under its
 * condition; the first one beyond the end leaves the loop. Loops begin at 0 or later. In a main loop the
 * conditions are not nested, because each level takes a pair of scalar registers for its mask. */
static void conditional_loop(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower,
                             LLVMValueRef upper) {
    const int64_t end = uk_cg_range(g, n->upper).high,
                  first = LLVMIsAConstantInt(lower) ? LLVMConstIntGetSExtValue(lower) : 0;
    struct uk_binding *outside = g->bindings;
    LLVMBasicBlockRef done = uk_cg_block(g, "done");

    if (end == INT64_MAX)
        uk_cg_fail(g, UK_UNSUPPORTED, "a loop over elements of a buffer in register has no constant bound",
                   n->var->name);
    for (int64_t i = first; i < end && !g->status; i += n->step) {
        LLVMBasicBlockRef here = uk_cg_block(g, n->var->name), next = NULL;

        if (g->in_main_loop)
            next = uk_cg_block(g, "next");
        LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, uk_cg_int_as(upper, i), upper, ""), here,
                        next ? next : done);
        LLVMPositionBuilderAtEnd(g->b, here);
        if (!LLVMIsAConstantInt(lower)) {
            here = uk_cg_block(g, n->var->name);
            next = next ? next : uk_cg_block(g, "next");
            LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLE, lower, uk_cg_int_as(lower, i), ""), here,
                            next);
            LLVMPositionBuilderAtEnd(g->b, here);
        }
        uk_cg_bind(g, n->var, uk_cg_int(g, i), (struct uk_interval){i, i});
        uk_cg_nodes(g, n->body);
        g->bindings = outside;
        if (next) {
            LLVMBuildBr(g->b, next);
            LLVMPositionBuilderAtEnd(g->b, next);
        }
    }
    LLVMBuildBr(g->b, done);
    LLVMPositionBuilderAtEnd(g->b, done);
}

/* True if the loop's variable, also after the last iteration, has 32 bits in a kernel with short indices. */
static bool is_short_loop(const struct uk_codegen *g, const struct uk_node *n) {
    return g->is_short && uk_cg_range(g, n->lower).low >= INT32_MIN &&
           uk_cg_range(g, n->upper).high <= INT32_MAX - n->step;
}

static void loop(struct uk_codegen *g, const struct uk_node *n) {
    const bool is_short = is_short_loop(g, n);
    LLVMValueRef lower = is_short ? uk_cg_low_index(g, n->lower) : uk_cg_index(g, n->lower),
                 upper = is_short ? uk_cg_low_index(g, n->upper) : uk_cg_index(g, n->upper);
    bool starts = LLVMIsAConstantInt(lower), ends = LLVMIsAConstantInt(upper);

    /* Otherwise comparisons with a thread's own bounds are moved out of loops, and each takes SGPRs there. */
    if (g->spares_registers && uk_cg_varies(g, n->upper))
        upper = uk_cg_hide_own(g, upper);
    if (g->spares_registers && uk_cg_varies(g, n->lower))
        lower = uk_cg_hide_own(g, lower);
    if (g->launch && !(starts && ends) && uk_cg_selects_variable(g, n->body, n->var))
        conditional_loop(g, n, lower, upper);
    else if (uk_cg_copies_words(g, n))
        serial_loop(g, n, uk_cg_copy_words(g, n, lower, upper), upper);
    else if (starts && ends)
        constant_loop(g, n, LLVMConstIntGetSExtValue(lower), LLVMConstIntGetSExtValue(upper));
    else if (n->full > 1 && n->step == 1 && starts && !LLVMConstIntGetSExtValue(lower) && !g->in_edge)
        two_versions(g, n, lower, upper);
    else
        serial_loop(g, n, by_vectors(g, n, lower, upper), upper);
}

/* True if the kernel may have code for each value in the range: there are fewer than rows in its tile. Other
 * sizes keep no bounds, because in a loop over these, such as channels, LLVM then peels the first iteration
 * and no longer sees that no remainder is left. */
static bool is_height(const struct uk_node *call, struct uk_interval range) {
    const struct uk_kernel *row = call->intrinsic->row;

    return row && range.low != INT64_MIN && range.high != INT64_MAX &&
           (uint64_t)range.high - (uint64_t)range.low < (uint64_t)uk_kernel_mr(row);
}

/* A size, a height with its bounds: LLVM then drops the kernel's code for heights that no call has. It does
 * not find the bounds itself, since its ranges of loop variables are bounded on one side only. */
static LLVMValueRef size_argument(struct uk_codegen *g, const struct uk_node *call,
                                  const struct uk_index *e) {
    const struct uk_interval range = uk_cg_range(g, e);
    LLVMValueRef v = uk_cg_index(g, e);

    if (LLVMIsAConstantInt(v) || !is_height(call, range) || g->overflow)
        return v;
    v = uk_cg_intrinsic(g, "llvm.smin", g->i64, (LLVMValueRef[]){v, uk_cg_int(g, range.high)}, 2);
    return uk_cg_intrinsic(g, "llvm.smax", g->i64, (LLVMValueRef[]){v, uk_cg_int(g, range.low)}, 2);
}

/* The address that a kernel gets. All lanes of a wave pass that of the first one's elements, except for those
 * in registers. */
static LLVMValueRef kernel_operand(struct uk_codegen *g, const struct uk_node *call,
                                   const struct uk_access *a) {
    struct uk_binding *outside = g->bindings;

    for (const struct uk_binding *b = outside; b && call->intrinsic->wave; b = b->next)
        if (b->is_lane && a->tensor->scope != UK_SCOPE_REGISTER)
            uk_cg_bind(g, b->var, uk_cg_int(g, 0), (struct uk_interval){0, 0});
    LLVMValueRef address = uk_cg_address(g, a, false);

    g->bindings = outside;
    return address;
}

static LLVMValueRef kernel_argument(struct uk_codegen *g, const struct uk_node *n,
                                    const struct uk_argument *a) {
    LLVMTypeRef type = uk_llvm_type(g->llvm, a->ctype);
    int i = 0;

    if (a->tensor) {
        for (const struct uk_tensor *t = n->intrinsic->declaration->tensors; t && t != a->tensor; t = t->next)
            i++;
        return kernel_operand(g, n, &n->operand[i]);
    }
    if (a->hint)
        return uk_cg_hint(g, n);
    if (a->scalar) {
        const struct uk_expr *e = n->scalar[uk_scalar_number(n->intrinsic->declaration->scalars, a->scalar)];

        /* Small floats are 16 bits in memory, but have types of their own as arguments. */
        return LLVMBuildBitCast(g->b, uk_cg_to_memory(g, e->type, uk_cg_expr(g, e)), type, "");
    }
    if (a->ctype <= UK_BF16)
        return LLVMConstReal(type, a->size ? 0 : a->real);
    LLVMValueRef v = a->size ? size_argument(g, n, n->bind[a->size->number]) : uk_cg_int(g, a->number);

    return LLVMBuildIntCast2(g->b, v, type, !uk_type_is_unsigned((enum uk_type)a->ctype),
                             a->size ? a->size->name : "");
}

/* Widens small integers in the caller if the ABI may leave that to it: Arm's does, x86-64 compilers do so by
 * convention; RISC-V's ABI also widens int. */
static void widen(struct uk_codegen *g, LLVMValueRef call, const struct uk_form *form) {
    for (int i = 0; i < form->arguments; i++) {
        int type = form->argument[i].ctype;
        const bool is_integer = type >= UK_I64 && type < UK_TYPES;
        const size_t bytes = is_integer ? uk_type_bytes((enum uk_type)type) : 8;
        /* RISC-V extends even unsigned 32 bits by their sign. */
        const char *name = bytes < 4 && uk_type_is_unsigned((enum uk_type)type) ? "zeroext" : "signext";

        if (bytes < 4 || (bytes == 4 && g->target->arch->extends_int))
            LLVMAddCallSiteAttribute(
                call, (LLVMAttributeIndex)(i + 1),
                LLVMCreateEnumAttribute(g->llvm, LLVMGetEnumAttributeKindForName(name, strlen(name)), 0));
    }
}

/* other: the form to call if the condition does not hold, or NULL. */
static void call(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef condition,
                 const struct uk_form *other) {
    const struct uk_form *form = &n->intrinsic->form[n->form];
    LLVMTypeRef type = uk_llvm_prototype(g->build, n->intrinsic, form, &g->arena);
    LLVMValueRef *arg = uk_alloc(&g->arena, ((size_t)form->arguments + 1) * sizeof *arg);

    if (!type || !arg) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    LLVMTypeRef *wanted = uk_alloc(&g->arena, ((size_t)form->arguments + 1) * sizeof *wanted);

    if (!wanted) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return;
    }
    LLVMGetParamTypes(type, wanted);
    for (int i = 0; i < form->arguments; i++) {
        arg[i] = kernel_argument(g, n, &form->argument[i]);
        if (form->argument[i].tensor && LLVMTypeOf(arg[i]) != wanted[i])
            arg[i] = LLVMBuildAddrSpaceCast(g->b, arg[i], wanted[i], "");
        /* After inlining, each access in each edge of the kernel would become an induction candidate of every
         * loop around it, and LLVM's strength reduction takes more than linear time in these. The freeze
         * hides how the address is computed. */
        if (form->argument[i].tensor && !g->target->arch->is_device &&
            uk_has_size_arguments(g->build->function->program))
            arg[i] = LLVMBuildFreeze(g->b, arg[i], "");
        if (other && !form->argument[i].tensor && !form->argument[i].size && !form->argument[i].scalar &&
            !form->argument[i].hint)
            arg[i] = LLVMBuildSelect(g->b, condition, arg[i], kernel_argument(g, n, &other->argument[i]), "");
    }
    LLVMValueRef f = uk_cg_declare(g, form->symbol, type);

    if (LLVMGlobalGetValueType(f) != type)
        uk_cg_fail(g, UK_LINK, "two intrinsics give this kernel different prototypes; make them agree",
                   form->symbol);
    else
        widen(g, LLVMBuildCall2(g->b, type, f, arg, (unsigned)form->arguments, ""), form);
}

/* True if both forms of a call are one function, whose arguments differ at most in numbers. */
static bool is_one_function(const struct uk_form *a, const struct uk_form *b) {
    bool same = !strcmp(a->symbol, b->symbol) && a->arguments == b->arguments && a->result == b->result;

    for (int i = 0; same && i < a->arguments; i++) {
        const struct uk_argument *x = &a->argument[i], *y = &b->argument[i];

        same = x->ctype == y->ctype && x->tensor == y->tensor && x->size == y->size &&
               x->scalar == y->scalar && x->hint == y->hint;
    }
    return same;
}

static void condition(struct uk_codegen *g, const struct uk_node *n) {
    LLVMValueRef c = uk_cg_condition(g, n->condition);

    if (LLVMIsAConstantInt(c)) {
        uk_cg_nodes(g, LLVMConstIntGetZExtValue(c) ? n->body : n->other);
        return;
    }
    if (n->is_form && !g->target->arch->is_device) {
        const struct uk_form *form = n->body->intrinsic->form, *other = &form[n->other->form];

        if (is_one_function(&form[n->body->form], other)) {
            call(g, n->body, c, other);
            return;
        }
    }
    LLVMBasicBlockRef then = uk_cg_block(g, "then"), other = n->other ? uk_cg_block(g, "else") : NULL;
    LLVMBasicBlockRef after = uk_cg_block(g, "endif");

    LLVMBuildCondBr(g->b, c, then, other ? other : after);
    LLVMPositionBuilderAtEnd(g->b, then);
    uk_cg_nodes(g, n->body);
    LLVMBuildBr(g->b, after);
    if (other) {
        LLVMPositionBuilderAtEnd(g->b, other);
        uk_cg_nodes(g, n->other);
        LLVMBuildBr(g->b, after);
    }
    LLVMPositionBuilderAtEnd(g->b, after);
}

/* Records the result, so that the loop can be vectorized; the function returns after it. */
static void check(struct uk_codegen *g, const struct uk_node *n) {
    LLVMValueRef v = uk_cg_index(g, n->value);
    LLVMValueRef low = LLVMBuildICmp(g->b, LLVMIntSLT, v, uk_cg_index(g, n->lower), ""),
                 high = LLVMBuildICmp(g->b, LLVMIntSGE, v, uk_cg_index(g, n->upper), "");
    LLVMValueRef before = LLVMBuildLoad2(g->b, g->i1, g->bad_index, "");

    LLVMBuildStore(g->b, LLVMBuildOr(g->b, before, LLVMBuildOr(g->b, low, high, ""), ""), g->bad_index);
}

/* False, with a failure, for nodes that the host of a GPU cannot run itself: it runs only loops around
 * launches. */
static bool is_for_host(struct uk_codegen *g, const struct uk_node *n) {
    if (n->op != UK_N_STORE && n->op != UK_N_CALL && n->op != UK_N_CHECK)
        return true;
    uk_cg_fail(g, UK_UNSUPPORTED, "its loops are not bound to blocks of a kernel; bind one to block.x, stage",
               n->stage ? n->stage : "");
    return false;
}

void uk_cg_node(struct uk_codegen *g, const struct uk_node *n) {
    struct uk_binding *outside = g->bindings;

    if (g->device && !is_for_host(g, n))
        return;
    switch (n->op) {
    case UK_N_FOR:
        if (n->loop == UK_LOOP_BLOCK || n->loop == UK_LOOP_THREAD)
            uk_cg_spread(g, n);
        else if (n->loop == UK_LOOP_PARALLEL && !g->in_parallel)
            uk_cg_parallel(g, n);
        else {
            g->serial_loops++;
            loop(g, n);
            g->serial_loops--;
        }
        break;
    case UK_N_IF:
        condition(g, n);
        break;
    case UK_N_LET:
        uk_cg_bind(g, n->var, uk_cg_short_index(g, n->value), uk_cg_range(g, n->value));
        uk_cg_nodes(g, n->body);
        break;
    case UK_N_CALL:
        call(g, n, NULL, NULL);
        break;
    case UK_N_STORE:
        uk_cg_store(g, n);
        break;
    case UK_N_BARRIER:
        uk_cg_barrier(g);
        break;
    case UK_N_LAUNCH:
        uk_cg_launch(g, n);
        break;
    case UK_N_CHECK:
        check(g, n);
        break;
    }
    g->bindings = outside;
    uk_cg_end_wave(g, n);
}

void uk_cg_nodes(struct uk_codegen *g, const struct uk_node *n) {
    struct uk_place *places = g->places;
    struct uk_binding *outside = g->bindings;
    const bool is_inside = g->in_main_loop;
    bool reloads = false;

    for (; n && !g->status; n = n->next) {
        const bool is_main = is_main_loop(g, n);

        g->in_main_loop |= is_main;
        if (uk_cg_runs_in_some_threads(g, n))
            uk_cg_kernel_node(g, n);
        else
            uk_cg_node(g, n);
        g->in_main_loop = is_inside;
        if (reloads || !n->next || !is_main)
            continue;
        uk_cg_reload_parameters(g);
        uk_cg_reload_blocks(g);
        reloads = true;
    }
    if (reloads) {
        g->places = places;
        g->bindings = outside;
    }
}
