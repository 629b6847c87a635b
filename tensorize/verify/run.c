/* SPDX-License-Identifier: Apache-2.0 */
/* Runs all cases of one form in the child of `uk verify`: first in the interpreter, then the kernel's machine
 * code. */
#define _GNU_SOURCE /* REG_ERR */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include "verify.h"

/* ---- faults: the parent describes them ---- */

static struct uk_verifier *running;

static void handle_signal(int number, siginfo_t *info, void *context) {
    const ucontext_t *u = context;
    struct uk_verdict *faulted = running->verdict;

    /* A kernel may have left the direction flag set, and the code below accesses memory. */
    __asm__ volatile("cld");
    faulted->signal = number;
    faulted->address = (uintptr_t)info->si_addr;
    /* A misaligned access, or one to a non-canonical address, reports no address. */
    faulted->is_address = number == SIGBUS || (number == SIGSEGV && info->si_code != SI_KERNEL);
    faulted->is_write = u->uc_mcontext.gregs[REG_ERR] & 2;
    /* The process ends here, so the state that the kernel has interrupted does not matter. */
    if (faulted->is_address && faulted->is_write)
        uk_memory_describe_write(running, info->si_addr);
    faulted->state = UK_FAULTED;
    _exit(1);
}

/* Handlers have a stack of their own: the kernel may have broken its stack. */
static bool catch_faults(struct uk_verifier *v) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    struct sigaction action = {.sa_sigaction = handle_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    stack_t stack = {.ss_size = 1 << 16};

    running = v;
    stack.ss_sp = malloc(stack.ss_size);
    if (!stack.ss_sp || sigaltstack(&stack, NULL))
        return false;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    return true;
}

/* ---- descriptions of cases ---- */

__attribute__((format(printf, 4, 5))) static void add(char *text, size_t room, size_t *n, const char *format,
                                                      ...) {
    va_list ap;

    va_start(ap, format);
    int more = *n < room ? vsnprintf(text + *n, room - *n, format, ap) : 0;
    va_end(ap);
    *n += more > 0 ? (size_t)more : 0;
}

size_t uk_verify_describe(struct uk_verifier *v) {
    const struct uk_program *p = v->intrinsic->declaration;
    struct uk_verdict *verdict = v->verdict;
    const char *between = "";
    size_t n = 0;
    int k = 0;

    verdict->where[0] = 0;
    for (const struct uk_var *var = p->sizes; var; var = var->next, between = " ")
        add(verdict->where, sizeof verdict->where, &n, "%s%s=%" PRId64, between, var->name,
            v->size[var->number]);
    for (const struct uk_scalar *s = p->scalars; s; s = s->next, between = " ")
        add(verdict->where, sizeof verdict->where, &n, "%s%s=%g", between, s->name, v->scalar[k++]);
    return n;
}

static void describe(struct uk_verifier *v) {
    static const char *const places[] = {"ends at a page", "starts at a page",
                                         "has only the alignment that it needs"};
    struct uk_verdict *verdict = v->verdict;
    size_t n = uk_verify_describe(v);
    const char *between = n ? " " : "";

    verdict->operands = v->tensors;
    for (int i = 0; i < v->tensors; i++) {
        const struct uk_memory *m = &v->memory[i];
        const size_t bytes = uk_type_bytes(m->tensor->type);
        uintptr_t start = (uintptr_t)m->origin - (size_t)-m->lowest * bytes, space = (uintptr_t)m->space;

        add(verdict->where, sizeof verdict->where, &n, "%s%s %s", *between || i ? ", " : "", m->tensor->name,
            places[m->placement]);
        verdict->operand[i] = (struct uk_range){m->tensor->name, space, space + m->reserved, start,
                                                start + (uintptr_t)m->elements * bytes};
    }
}

/* ---- one case ---- */

bool uk_verify_give_up(struct uk_verifier *v, enum uk_status status, const char *what) {
    v->verdict->status = status;
    snprintf(v->verdict->what, sizeof v->verdict->what, "%s", what);
    v->verdict->state = UK_GAVE_UP;
    return false;
}

enum uk_status uk_verify_interpret(struct uk_verifier *v) {
    void *origin[UK_VERIFY_TENSORS];

    for (int i = 0; i < v->tensors; i++)
        origin[i] = v->memory[i].origin;
    return uk_interpret_form(v->intrinsic, v->form,
                             &(struct uk_values){.size = v->size, .scalar = v->scalar, .tensor = origin});
}

static enum uk_remote_result call_kernel(struct uk_verifier *v) {
    struct abi_value value[UK_VERIFY_WORDS];

    uk_verify_set_arguments(v, value);
    if (v->argv)
        return uk_remote_call(v, value);
    if (v->intrinsic->state) {
        if (uk_state_load(v->intrinsic->state)) {
            uk_verify_give_up(v, UK_UNSUPPORTED, "the system does not permit matrix tiles");
            return UK_REMOTE_WRONG;
        }
        abi_check_tiles();
    }
    uk_memory_protect(v, false);
    uk_verify_begin_call(v, getpid());
    const char *broken = abi_call_values(v->call, value, v->intrinsic->form[v->form].arguments);

    uk_verify_end_call(v);
    uk_memory_protect(v, true);
    uk_state_release(v->intrinsic->state);
    if (broken)
        snprintf(v->verdict->what, sizeof v->verdict->what, "does not preserve %s", broken);
    return broken ? UK_REMOTE_WRONG : UK_REMOTE_GOOD;
}

bool uk_verify_has_negative(const struct uk_verifier *v) {
    for (int i = 0; i < v->intrinsic->declaration->size_count; i++)
        if (v->negative[i])
            return true;
    return false;
}

static bool run_case(struct uk_verifier *v) {
    enum uk_status s;
    bool good;

    describe(v);
    uk_memory_save(v, false);
    uk_context_enter(v->context, v->context->file);
    s = uk_verify_interpret(v);
    if (s == UK_INVALID_SIZE)
        return true; /* the declaration refuses these sizes */
    if (s)
        return uk_verify_give_up(v, s, uk_context_message(v->context));
    uk_memory_save(v, true);
    uk_memory_restore(v);
    if (uk_verify_has_negative(v)) {
        uk_verify_negate(v);
        if (!uk_memory_mirror(v))
            return uk_verify_give_up(v, UK_OUT_OF_MEMORY, "no memory for its operands");
        describe(v);
    }
    const enum uk_remote_result called = call_kernel(v);

    if (called == UK_REMOTE_NO_ROOM)
        return true; /* the other process has no addresses for these operands */
    good = called == UK_REMOTE_GOOD && uk_memory_compare(v);
    v->verdict->cases++;
    if (!good)
        v->verdict->state = UK_WRONG;
    return good;
}

/* A case of which a sample is compared; the expected elements are computed first, without changing the
 * output. */
static bool run_large_case(struct uk_verifier *v) {
    void *origin[UK_VERIFY_TENSORS];
    struct uk_points points;
    bool good = uk_large_draw(v, &points);

    describe(v);
    for (int i = 0; i < v->tensors; i++)
        origin[i] = v->memory[i].origin;
    uk_context_enter(v->context, v->context->file);
    if (!good)
        uk_verify_give_up(v, UK_OUT_OF_MEMORY, "no memory for a sample of its elements");
    else if (uk_interpret_points(v->intrinsic, v->form,
                                 &(struct uk_values){.size = v->size, .scalar = v->scalar, .tensor = origin},
                                 &points))
        good = uk_verify_give_up(v, uk_failure(v->context), uk_context_message(v->context));
    if (good) {
        good = call_kernel(v) == UK_REMOTE_GOOD && uk_large_compare(v, &points);
        v->verdict->cases++;
        if (!good)
            v->verdict->state = UK_WRONG;
    }
    uk_large_end(&points);
    return good;
}

static bool next_case(struct uk_verifier *v) {
    if (!uk_verify_choose(v))
        return uk_verify_give_up(v, UK_REFUSED, "found no sizes that fulfil its assumptions");
    if (v->device)
        return uk_verify_device_case(v);
    bool good = uk_memory_make(v);

    if (good)
        good = v->is_large ? run_large_case(v) : run_case(v);
    else
        uk_verify_give_up(v, UK_OUT_OF_MEMORY, "no memory for its operands");
    uk_memory_free(v);
    return good;
}

void uk_verify_run(struct uk_verifier *v) {
    const struct uk_program *p = v->intrinsic->declaration;
    int scalars = 0;

    for (const struct uk_scalar *s = p->scalars; s; s = s->next)
        scalars++;
    v->size = calloc((size_t)p->size_count + 1, sizeof *v->size);
    v->scalar = calloc((size_t)scalars + 1, sizeof *v->scalar);
    v->negative = calloc((size_t)p->size_count + 1, sizeof *v->negative);
    if (!v->size || !v->scalar || !v->negative || !uk_verify_join_lanes(v) || !catch_faults(v)) {
        uk_verify_give_up(v, UK_OUT_OF_MEMORY, "no memory for its sizes");
        return;
    }
    if (v->argv && !uk_remote_start(v)) {
        uk_verify_give_up(v, UK_IO, "cannot start the process that its code runs in");
        return;
    }
    uk_verify_plan(v, v->cases);
    for (const int max_cases = 20 * v->cases; v->verdict->cases < v->cases && v->number < max_cases;
         v->number++) {
        int done;

        v->failed_attempts = 0;
        do {
            done = v->verdict->cases;
            if (!next_case(v))
                return;
        } while (v->verdict->cases == done && uk_verify_should_retry(v));
    }
    if (v->verdict->cases < v->cases)
        uk_verify_give_up(v, UK_REFUSED,
                          "most sizes that fulfil its assumptions make an access leave its tensor");
    else
        v->verdict->state = UK_GOOD;
}
