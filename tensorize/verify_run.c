/* In the child of `uk verify`: every case of one form, the interpreter first, the kernel's machine code then. */
#define _GNU_SOURCE /* REG_ERR */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include "abi.h"
#include "interpret.h"
#include "verify.h"

/* ---- faults: the parent says what they mean ---- */

static struct uk_verdict *faulted;

static void caught(int number, siginfo_t *info, void *context) {
    const ucontext_t *u = context;

    /* A kernel may have left it set, and memory is touched below. */
    __asm__ volatile("cld");
    faulted->signal = number;
    faulted->address = (uintptr_t)info->si_addr;
    /* An access that is not aligned, or to no canonical address, has no address. */
    faulted->is_address = number == SIGBUS || (number == SIGSEGV && info->si_code != SI_KERNEL);
    faulted->is_write = u->uc_mcontext.gregs[REG_ERR] & 2;
    faulted->state = UK_FAULTED;
    _exit(1);
}

/* On a stack of its own: the kernel's may be what is broken. */
static bool catch_faults(struct uk_verdict *verdict) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    stack_t stack = {.ss_size = 1 << 16};

    faulted = verdict;
    stack.ss_sp = malloc(stack.ss_size);
    if (!stack.ss_sp || sigaltstack(&stack, NULL))
        return false;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    return true;
}

/* ---- what the case is, for messages ---- */

__attribute__((format(printf, 4, 5))) static void add(char *text, size_t room, size_t *n, const char *format,
                                                      ...) {
    va_list ap;

    va_start(ap, format);
    int more = *n < room ? vsnprintf(text + *n, room - *n, format, ap) : 0;
    va_end(ap);
    *n += more > 0 ? (size_t)more : 0;
}

static void describe(struct uk_verifier *v) {
    static const char *const places[] = {"ends at a page", "starts at a page",
                                         "is aligned no better than it must be"};
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
    verdict->operands = v->tensors;
    for (int i = 0; i < v->tensors; i++) {
        const struct uk_memory *m = &v->memory[i];
        uintptr_t origin = (uintptr_t)m->origin, space = (uintptr_t)m->space;

        add(verdict->where, sizeof verdict->where, &n, "%s%s %s", *between || i ? ", " : "", m->tensor->name,
            places[m->placement]);
        verdict->operand[i] =
            (struct uk_range){m->tensor->name, space, space + m->reserved, origin,
                              origin + (uintptr_t)m->elements * uk_type_bytes(m->tensor->type)};
    }
}

/* ---- one case ---- */

static bool gave_up(struct uk_verifier *v, enum uk_status status, const char *what) {
    v->verdict->status = status;
    snprintf(v->verdict->what, sizeof v->verdict->what, "%s", what);
    v->verdict->state = UK_GAVE_UP;
    return false;
}

/* The form as declared, in the operands themselves. */
static enum uk_status interpret(struct uk_verifier *v) {
    void *origin[UK_VERIFY_TENSORS];

    for (int i = 0; i < v->tensors; i++)
        origin[i] = v->memory[i].origin;
    return uk_interpret_form(v->intrinsic, v->form,
                             &(struct uk_values){.size = v->size, .scalar = v->scalar, .tensor = origin});
}

static bool call_kernel(struct uk_verifier *v) {
    int64_t words[UK_VERIFY_WORDS] = {0}, argument = (int64_t)(intptr_t)words;
    void (*function)(void);

    uk_verify_words(v, words);
    memcpy(&function, &v->call, sizeof function);
    const char *broken = abi_call(function, &argument, 1, 1, 0);

    if (broken)
        snprintf(v->verdict->what, sizeof v->verdict->what, "does not preserve %s", broken);
    return !broken;
}

static bool run_case(struct uk_verifier *v) {
    enum uk_status s;
    bool good;

    describe(v);
    uk_memory_keep(v, false);
    uk_context_enter(v->context, v->context->file);
    s = interpret(v);
    if (s == UK_INVALID_SIZE)
        return true; /* these sizes are none that the kernel could be called with */
    if (s)
        return gave_up(v, s, uk_context_message(v->context));
    uk_memory_keep(v, true);
    uk_memory_restore(v);
    good = call_kernel(v) && uk_memory_compare(v);
    v->verdict->cases++;
    if (!good)
        v->verdict->state = UK_WRONG;
    return good;
}

static bool next_case(struct uk_verifier *v) {
    if (!uk_verify_choose(v))
        return gave_up(v, UK_REFUSED, "found no sizes that fulfil its assumptions");
    bool good = uk_memory_make(v);

    if (good)
        good = run_case(v);
    else
        gave_up(v, UK_OUT_OF_MEMORY, "no memory for its operands");
    uk_memory_free(v);
    return good;
}

void uk_verify_run(struct uk_verifier *v) {
    const struct uk_program *p = v->intrinsic->declaration;
    const int most = 20 * v->cases;
    int tries = 0, scalars = 0;

    for (const struct uk_scalar *s = p->scalars; s; s = s->next)
        scalars++;
    v->size = calloc((size_t)p->size_count + 1, sizeof *v->size);
    v->scalar = calloc((size_t)scalars + 1, sizeof *v->scalar);
    if (!v->size || !v->scalar || !catch_faults(v->verdict)) {
        gave_up(v, UK_OUT_OF_MEMORY, "no memory for its sizes");
        return;
    }
    while (v->verdict->cases < v->cases && tries++ < most)
        if (!next_case(v))
            return;
    if (v->verdict->cases < v->cases)
        gave_up(v, UK_REFUSED,
                "of the sizes that fulfil its assumptions, most make an access leave its tensor");
    else
        v->verdict->state = UK_GOOD;
}
