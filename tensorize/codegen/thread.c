/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of a kernel. Each thread runs the whole body, and a loop over threads or blocks is a single
 * iteration: that of the thread's or block's number. Code that loops over threads do not distribute over all
 * threads, such as a store by one thread, runs only in threads whose remaining number is 0, as if the loops
 * ran sequentially.
 */
#include <string.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include "generator.h"

static int64_t threads(const struct uk_node *launch) {
    return launch->block[0] * launch->block[1] * launch->block[2];
}

/* The weight of an axis in the thread's number, x fastest. */
static int64_t axis_weight(const struct uk_node *launch, int axis) {
    int64_t weight = 1;

    for (int a = 0; a < axis; a++)
        weight *= launch->block[a];
    return weight;
}

static LLVMValueRef thread_number(struct uk_codegen *g) {
    LLVMValueRef n = uk_cg_int_as(g->thread_id[0], 0);

    for (int a = 0; a < UK_AXES; a++)
        if (g->launch->block[a] > 1)
            n = uk_cg_arithmetic(
                g, UK_I_ADD, n,
                uk_cg_arithmetic(g, UK_I_MUL, g->thread_id[a], uk_cg_int_as(n, axis_weight(g->launch, a))));
    return n;
}

/* n / weight % extent; `whole` bounds n / weight. */
static LLVMValueRef digit_of(struct uk_codegen *g, LLVMValueRef n, int64_t weight, int64_t extent,
                             int64_t whole) {
    if (weight > 1)
        n = LLVMBuildUDiv(g->b, n, uk_cg_int_as(n, weight), "");
    return extent < whole ? LLVMBuildURem(g->b, n, uk_cg_int_as(n, extent), "") : n;
}

static LLVMValueRef digit(struct uk_codegen *g, int64_t weight, int64_t extent, int64_t whole) {
    return digit_of(g, thread_number(g), weight, extent, whole);
}

/* The iteration of a loop over threads of an axis. */
static LLVMValueRef digit_of_axis(struct uk_codegen *g, const struct uk_node *n) {
    const int64_t weight = n->weight / axis_weight(g->launch, n->axis);

    return digit_of(g, g->thread_id[n->axis], weight, n->threads, g->launch->block[n->axis] / weight);
}

static bool has_threads(const struct uk_node *n) {
    if ((n->op == UK_N_FOR && n->loop == UK_LOOP_THREAD) || n->op == UK_N_BARRIER)
        return true;
    for (const struct uk_node *in = n->body; in; in = in->next)
        if (has_threads(in))
            return true;
    for (const struct uk_node *in = n->other; in; in = in->next)
        if (has_threads(in))
            return true;
    return false;
}

static const struct uk_spread *next_spread(const struct uk_codegen *g, int64_t from) {
    const struct uk_spread *next = NULL;

    for (const struct uk_spread *s = g->spread; s; s = s->outer)
        if (s->weight >= from && s->extent > 1 && (!next || s->weight < next->weight))
            next = s;
    return next;
}

/* The condition that the thread's number is 0 in all positions over which the enclosing loops do not
 * distribute; NULL: there are none. */
static LLVMValueRef is_first(struct uk_codegen *g) {
    const int64_t all = threads(g->launch);
    LLVMValueRef first = NULL;
    int64_t done = 1;

    while (done < all) {
        const struct uk_spread *s = next_spread(g, done);
        const int64_t to = s ? s->weight : all;

        if (to > done) {
            LLVMValueRef left = digit(g, done, to / done, s ? INT64_MAX : all / done);

            left = LLVMBuildICmp(g->b, LLVMIntEQ, left, uk_cg_int_as(left, 0), "");
            first = first ? LLVMBuildAnd(g->b, first, left, "") : left;
        }
        done = s ? s->weight * s->extent : all;
    }
    return first;
}

bool uk_cg_runs_in_some_threads(const struct uk_codegen *g, const struct uk_node *n) {
    return g->launch && !g->is_one_each && !has_threads(n);
}

void uk_cg_kernel_node(struct uk_codegen *g, const struct uk_node *n) {
    LLVMValueRef first = is_first(g);

    g->is_one_each = true;
    if (!first) {
        uk_cg_node(g, n);
    } else {
        LLVMBasicBlockRef own = uk_cg_block(g, "first"), after = uk_cg_block(g, "others");

        LLVMBuildCondBr(g->b, first, own, after);
        LLVMPositionBuilderAtEnd(g->b, own);
        uk_cg_node(g, n);
        LLVMBuildBr(g->b, after);
        LLVMPositionBuilderAtEnd(g->b, after);
    }
    g->is_one_each = false;
}

static LLVMValueRef conjoin(struct uk_codegen *g, LLVMValueRef all, LLVMValueRef one) {
    return all ? LLVMBuildAnd(g->b, all, one, "") : one;
}

/* Compares a block's or thread's number, which has 31 bits, with a value of 32 or 64 bits. */
static LLVMValueRef compare(struct uk_codegen *g, LLVMIntPredicate p, LLVMValueRef number, LLVMValueRef v) {
    return LLVMBuildICmp(g->b, p, LLVMBuildIntCast2(g->b, number, LLVMTypeOf(v), false, ""), v, "");
}

/* The iteration with this number, which is below `numbers`. No end check if the loop has that many, as for
 * blocks, whose grid is the loop's extent. Conditions may make the loop begin after 0. */
static void iteration(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef at, int64_t numbers) {
    struct uk_binding *outside = g->bindings;
    LLVMValueRef upper = uk_cg_short_index(g, n->upper), some = NULL;
    LLVMBasicBlockRef after = NULL;
    int64_t first;

    if (!uk_index_is_int(n->lower, &first) || first > 0)
        some = compare(g, LLVMIntSGE, at, uk_cg_short_index(g, n->lower));
    if (n->loop == UK_LOOP_THREAD &&
        (!LLVMIsAConstantInt(upper) || LLVMConstIntGetSExtValue(upper) < numbers))
        some = conjoin(g, some, compare(g, LLVMIntSLT, at, upper));
    if (some) {
        LLVMBasicBlockRef inside = uk_cg_block(g, n->var->name);

        after = uk_cg_block(g, "beyond");
        LLVMBuildCondBr(g->b, some, inside, after);
        LLVMPositionBuilderAtEnd(g->b, inside);
    }
    const int64_t end = uk_cg_range(g, n->upper).high, max = g->is_short ? INT32_MAX : INT64_MAX;
    uk_cg_bind(g, n->var, at, (struct uk_interval){0, end >= max ? max : end - 1});
    if (g->bindings != outside) {
        g->bindings->varies = n->loop == UK_LOOP_THREAD;
        g->bindings->blocks = n->loop == UK_LOOP_BLOCK ? n : NULL;
        g->bindings->is_lane = n->loop == UK_LOOP_THREAD && !n->axis;
    }
    uk_cg_nodes(g, n->body);
    g->bindings = outside;
    if (after) {
        LLVMBuildBr(g->b, after);
        LLVMPositionBuilderAtEnd(g->b, after);
    }
}

/* A block's number divided by e, which the launch's grid bounds: it is a factor of the grid's extent. */
static LLVMValueRef divide_block(struct uk_codegen *g, LLVMOpcode op, LLVMValueRef number,
                                 const struct uk_index *e) {
    if (!g->is_short)
        return LLVMBuildBinOp(g->b, op, number, uk_cg_index(g, e), "");
    return LLVMBuildBinOp(g->b, op, number, uk_cg_low_index(g, e), "");
}

/* The iteration of a loop over blocks. */
static LLVMValueRef digit_of_block(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef number) {
    if (n->within)
        number = divide_block(g, LLVMUDiv, number, n->within);
    return n->is_digit ? divide_block(g, LLVMURem, number, n->upper) : number;
}

void uk_cg_reload_blocks(struct uk_codegen *g) {
    for (const struct uk_binding *b = g->bindings; b; b = b->next) {
        if (!b->blocks || !g->target->arch->kernel.shared_value)
            continue;
        LLVMValueRef id = g->block_id[b->blocks->axis],
                     number = LLVMBuildIntCast2(g->b, id, g->i32, false, "");

        number = LLVMBuildIntCast2(g->b, uk_cg_hide_shared(g, number), LLVMTypeOf(id), false, "");
        uk_cg_bind(g, b->var, digit_of_block(g, b->blocks, number), b->range);
    }
}

void uk_cg_spread(struct uk_codegen *g, const struct uk_node *n) {
    struct uk_spread here = {.weight = n->weight, .outer = g->spread};

    if (n->step != 1) {
        uk_cg_fail(g, UK_REFUSED,
                   "a loop over blocks or threads does not count by 1; bind another one in its place",
                   n->var->name);
        return;
    }
    if (n->loop == UK_LOOP_BLOCK) {
        iteration(g, n, digit_of_block(g, n, g->block_id[n->axis]), 0);
        return;
    }
    here.extent = n->axis < UK_AXES ? n->threads : uk_cg_range(g, n->upper).high;
    if (here.extent == INT64_MAX || here.extent < 1) {
        uk_cg_fail(
            g, UK_REFUSED,
            "a loop over threads has no constant extent; split it by a number, and bind the inner loop",
            n->var->name);
        return;
    }
    g->spread = &here;
    iteration(g, n,
              n->axis < UK_AXES ? digit_of_axis(g, n)
                                : digit(g, here.weight, here.extent, threads(g->launch) / here.weight),
              here.extent);
    g->spread = here.outer;
}

/* A function of that name whose body is LLVM IR in text, to be inlined where it is called. LLVM's C API
 * cannot create a fence of a block's threads; the parser fails while value names are discarded. */
static LLVMValueRef function_of_text(struct uk_codegen *g, const char *name, const char *body,
                                     const char *declarations) {
    LLVMValueRef f = LLVMGetNamedFunction(g->module, name);
    LLVMModuleRef module = NULL;
    char *wrong = NULL, *text;

    if (f)
        return f;
    text = uk_format(&g->arena, "define void @%s() alwaysinline convergent nounwind {\n%s  ret void\n}\n%s",
                     name, body, declarations);
    if (!text) {
        uk_cg_fail(g, UK_OUT_OF_MEMORY, NULL, NULL);
        return NULL;
    }
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(text, strlen(text), name, true);
    LLVMBool nameless = LLVMContextShouldDiscardValueNames(g->llvm);
    LLVMContextSetDiscardValueNames(g->llvm, false);
    if (!LLVMParseIRInContext(g->llvm, buffer, &module, &wrong)) {
        LLVMSetTarget(module, LLVMGetTarget(g->module));
        LLVMSetDataLayout(module, LLVMGetDataLayoutStr(g->module));
        if (!LLVMLinkModules2(g->module, module))
            f = LLVMGetNamedFunction(g->module, name);
    }
    LLVMContextSetDiscardValueNames(g->llvm, nameless);
    if (f)
        LLVMSetLinkage(f, LLVMInternalLinkage);
    else
        uk_cg_fail(g, UK_INTERNAL, "LLVM does not read the text of a function", wrong ? wrong : name);
    LLVMDisposeMessage(wrong);
    return f;
}

static void call_text(struct uk_codegen *g, const char *name, const char *body, const char *declarations) {
    LLVMValueRef f = function_of_text(g, name, body, declarations);

    if (f)
        LLVMBuildCall2(g->b, LLVMGlobalGetValueType(f), f, NULL, 0, "");
}

void uk_cg_barrier(struct uk_codegen *g) {
    const struct uk_kernel_code *code = &g->target->arch->kernel;

    call_text(g, "uk.barrier", code->barrier, code->barrier_declarations);
}

/* ---- kernels of a whole wave ---- */

bool uk_cg_calls_wave(const struct uk_node *n, bool in_loops) {
    for (; n; n = n->next) {
        const bool is_loop =
            n->op == UK_N_FOR && n->loop != UK_LOOP_BLOCK && n->loop != UK_LOOP_THREAD && !in_loops;

        if (n->op == UK_N_CALL && n->intrinsic->scope == UK_EXEC_WAVE)
            return true;
        if (!is_loop && (uk_cg_calls_wave(n->body, in_loops) || uk_cg_calls_wave(n->other, in_loops)))
            return true;
    }
    return false;
}

void uk_cg_end_wave(struct uk_codegen *g, const struct uk_node *n) {
    const struct uk_kernel_code *code = &g->target->arch->kernel;
    const bool ends = n->op == UK_N_CALL  ? n->intrinsic->scope == UK_EXEC_WAVE && !g->serial_loops
                      : n->op == UK_N_FOR ? n->loop != UK_LOOP_BLOCK && n->loop != UK_LOOP_THREAD &&
                                                uk_cg_calls_wave(n->body, false)
                                          : false;

    if (g->launch && ends && code->matrix_wait)
        call_text(g, "uk.matrix_wait", code->matrix_wait, code->matrix_wait_declarations);
}
