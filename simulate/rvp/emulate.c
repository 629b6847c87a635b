/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs instructions of RISC-V P 0.9.11 on processors and emulators that lack them, by a handler of SIGILL
 * that is linked into the program (-Wl,-u,uk_rvp_start pulls it from its archive) and installed before any
 * constructor. It emulates the word and replaces it by a jump to a stub (replace.h); with UK_RVP_PATCH=0 in
 * the environment it emulates each time. It also handles SIGSEGV, for copied code (copies.h).
 *
 * These two handlers stay installed: sigaction, signal and their older forms are defined here instead of
 * libc's. They keep the program's action, which runs for signals that P does not cause, and remove SIGILL
 * from masks. signals.c does the latter for all other functions that take a mask. Not covered: system calls
 * that bypass these functions.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "copies.h"
#include "illegal.h"
#include "replace.h"
#include "signals.h"

/* glibc's own; the name is part of its interface. */
int __sigaction(int number, const struct sigaction *action, struct sigaction *old);

/* The program's action for a signal. Two copies, so that the handler never reads one that is half written. */
struct uk_rvp_program_action {
    struct sigaction action[2];
    atomic_uint which;
};
static struct uk_rvp_program_action uk_rvp_sigill, uk_rvp_sigsegv;
static bool uk_rvp_patches;

/* NULL: a signal that the emulation does not handle. */
static struct uk_rvp_program_action *uk_rvp_program_action_of(int number) {
    return number == SIGILL ? &uk_rvp_sigill : number == SIGSEGV ? &uk_rvp_sigsegv : NULL;
}

static uint32_t uk_rvp_word_at(uint64_t pc) {
    const uint16_t *half = (const uint16_t *)pc;

    if (pc % 4 == 0 && (half[0] & 3) == 3)
        return atomic_load_explicit((_Atomic uint32_t *)pc, memory_order_acquire);
    return (half[0] & 3) == 3 ? half[0] | (uint32_t)half[1] << 16 : half[0];
}

static void uk_rvp_end(int number, const siginfo_t *info, ucontext_t *context, uint32_t word) {
    const struct sigaction by_default = {.sa_handler = SIG_DFL};

    if (info->si_code > 0 && number == SIGILL)
        uk_rvp_print_illegal(context->uc_mcontext.__gregs[REG_PC], word);
    sigdelset(&context->uc_sigmask, number);
    __sigaction(number, &by_default, NULL);
    /* The faulting instruction runs again, under the default action; a signal that was sent is sent again. */
    if (info->si_code <= 0)
        syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), number);
}

/* Passes a signal on: runs the program's action, with its signal mask without SIGILL. */
static void uk_rvp_pass(int number, siginfo_t *info, ucontext_t *context, uint32_t word) {
    const struct uk_rvp_program_action *kept = number == SIGSEGV ? &uk_rvp_sigsegv : &uk_rvp_sigill;
    const struct sigaction *wanted = &kept->action[atomic_load(&kept->which)];
    const int flags = wanted->sa_flags;
    uk_rvp_mask mask = uk_rvp_bits(&context->uc_sigmask) | uk_rvp_bits(&wanted->sa_mask);
    void (*handler)(int, siginfo_t *, void *) = wanted->sa_sigaction;

    if (wanted->sa_handler == SIG_DFL || (wanted->sa_handler == SIG_IGN && info->si_code > 0)) {
        uk_rvp_end(number, info, context, word);
        return;
    }
    if (wanted->sa_handler == SIG_IGN)
        return;
    if (!(flags & SA_NODEFER))
        mask |= UK_RVP_BIT(number);
    mask &= ~UK_RVP_BIT(SIGILL);
    if (flags & SA_RESETHAND)
        signal(number, SIG_DFL);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
    if (flags & SA_SIGINFO)
        handler(number, info, context);
    else
        ((void (*)(int))(void (*)(void))handler)(number);
}

/* If the word at pc is one of P: executes it, advances pc, and returns true. */
static bool uk_rvp_emulate(uint64_t *x, uint32_t *word) {
    const uint64_t pc = x[REG_PC];
    const uint32_t now = uk_rvp_word_at(pc);

    _Static_assert(REG_PC == 0, "pc lies where x0 would");
    /* Another thread may have replaced the word after this thread had fetched it; it is executed here all the
     * same, so that it counts once. */
    *word = uk_rvp_replaced(pc, now);
    x[0] = 0;

    const bool executed = uk_rvp_execute(*word, x, &uk_rvp_vxsat);

    x[0] = executed ? pc + 4 : pc;
    if (executed && *word == now && uk_rvp_patches && uk_rvp_is_opcode(*word))
        uk_rvp_replace(pc, *word);
    return executed;
}

static void uk_rvp_trapped(int number, siginfo_t *info, void *data) {
    ucontext_t *context = data;
    uint64_t *x = (uint64_t *)context->uc_mcontext.__gregs;
    const int error = errno;
    uint32_t word = 0;

    if (info->si_code > 0) {
        if (number == SIGILL && uk_rvp_emulate(x, &word)) {
            errno = error;
            return;
        }
        if ((uint64_t)info->si_addr == x[REG_PC]) {
            const uint64_t from = uk_rvp_came_from(x[REG_PC]);

            errno = error;
            if (from) {
                x[REG_PC] = from;
                return;
            }
        }
    }
    uk_rvp_pass(number, info, context, word);
}

/* Installs the handler with those of the program's flags that the kernel interprets. */
static void uk_rvp_install(int number, int flags, struct sigaction *old) {
    struct sigaction ours = {.sa_sigaction = uk_rvp_trapped,
                             .sa_flags = SA_SIGINFO | (flags & (SA_ONSTACK | SA_RESTART))};

    uk_rvp_set_bits(&ours.sa_mask, ~UINT64_C(0));
    __sigaction(number, &ours, old);
}

/* `environment`, if given, replaces libc's, which is not set up yet. */
static void uk_rvp_begin(char **environment) {
    static bool started;
    const uk_rvp_mask sigill = UK_RVP_BIT(SIGILL);
    static const char name[] = "UK_RVP_PATCH=";
    const char *patch = environment ? NULL : getenv("UK_RVP_PATCH");

    if (started)
        return;
    started = true;
    for (; environment && *environment; environment++)
        if (!strncmp(*environment, name, sizeof name - 1))
            patch = *environment + sizeof name - 1;
    uk_rvp_patches = !patch || strcmp(patch, "0");
    if (uk_rvp_patches)
        uk_rvp_replace_start();
    uk_rvp_install(SIGILL, 0, &uk_rvp_sigill.action[0]);
    uk_rvp_install(SIGSEGV, 0, &uk_rvp_sigsegv.action[0]);
    /* SIGILL may have been blocked by the program that started this one. */
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &sigill, NULL, sizeof sigill);
}

/* Runs before constructors of the program if libc has no .preinit_array; its symbol pulls this object out of
 * its archive. */
__attribute__((constructor(101))) void uk_rvp_start(void);
void uk_rvp_start(void) {
    uk_rvp_begin(NULL);
}

/* Runs before constructors of shared libraries. */
static void uk_rvp_start_first(int argc, char **argv, char **environment) {
    (void)argc, (void)argv;
    uk_rvp_begin(environment);
}
__attribute__((section(".preinit_array"),
               used)) static void (*const uk_rvp_first)(int, char **, char **) = uk_rvp_start_first;

int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    struct uk_rvp_program_action *kept = uk_rvp_program_action_of(number);
    struct sigaction changed;

    uk_rvp_start();
    if (kept) {
        const unsigned now = atomic_load(&kept->which), next = !now;

        changed = kept->action[now];
        if (action) {
            kept->action[next] = *action;
            atomic_store(&kept->which, next);
            uk_rvp_install(number, action->sa_flags, NULL);
        }
        if (old)
            *old = changed;
        return 0;
    }
    if (action) {
        changed = *action;
        uk_rvp_set_bits(&changed.sa_mask, uk_rvp_bits(&action->sa_mask) & ~UK_RVP_BIT(SIGILL));
    }
    return __sigaction(number, action ? &changed : NULL, old);
}

static __sighandler_t uk_rvp_signal(int number, __sighandler_t handler, int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;

    if (handler == SIG_ERR || number < 1 || number >= _NSIG) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (!(flags & SA_NODEFER))
        sigaddset(&action.sa_mask, number);
    return sigaction(number, &action, &old) ? SIG_ERR : old.sa_handler;
}

/* BSD semantics, as in libc: system calls restart after the handler. */
__sighandler_t signal(int number, __sighandler_t handler) {
    return uk_rvp_signal(number, handler, SA_RESTART);
}

__sighandler_t bsd_signal(int number, __sighandler_t handler);
__sighandler_t bsd_signal(int number, __sighandler_t handler) {
    return signal(number, handler);
}

__sighandler_t ssignal(int number, __sighandler_t handler) {
    return signal(number, handler);
}

/* System V semantics: once. signal means this in programs compiled for X/Open. */
__sighandler_t __sysv_signal(int number, __sighandler_t handler) {
    return uk_rvp_signal(number, handler, (int)(SA_RESETHAND | SA_NODEFER));
}

__sighandler_t sysv_signal(int number, __sighandler_t handler) {
    return __sysv_signal(number, handler);
}

int sigignore(int number) {
    return uk_rvp_signal(number, SIG_IGN, SA_NODEFER) == SIG_ERR ? -1 : 0;
}

/* X/Open: SIG_HOLD blocks the signal, a handler unblocks it. */
__sighandler_t sigset(int number, __sighandler_t handler) {
    struct sigaction action = {.sa_handler = handler}, old;
    sigset_t set, before;

    sigemptyset(&set);
    if (handler == SIG_ERR || sigaddset(&set, number)) {
        errno = EINVAL;
        return SIG_ERR;
    }
    if (sigprocmask(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, &set, &before) ||
        sigaction(number, handler == SIG_HOLD ? NULL : &action, &old))
        return SIG_ERR;
    return sigismember(&before, number) ? SIG_HOLD : old.sa_handler;
}
