/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs instructions of RISC-V P 0.9.11 on processors and emulators that lack them: a handler of SIGILL that is linked into
 * the program (-Wl,-u,uk_rvp_start takes it from its archive) and installed before main. It emulates the word and replaces
 * it by a jump to a stub (replace.h); with UK_RVP_PATCH=0 in the environment it emulates each time.
 *
 * SIGILL is never blocked and its handler stays this one: sigaction and signal keep what the program sets for SIGILL, to
 * be called for what is not P, and take SIGILL out of masks, as do sigprocmask and pthread_sigmask. They are defined here, in
 * front of libc's. Not covered: sysv_signal, sigset, raw system calls, and masks of sigsuspend and ppoll with SIGILL.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include "illegal.h"
#include "replace.h"

/* The system's form of a set. */
typedef uint64_t uk_rvp_mask;
#define BIT(signal) (UINT64_C(1) << ((signal) - 1))

/* glibc's own; the name is part of its interface. */
int __sigaction(int number, const struct sigaction *action, struct sigaction *old);

/* The action that the program has set for SIGILL: one of two copies, so that the handler never reads one that is half written. */
static struct sigaction uk_rvp_wanted[2];
static atomic_uint uk_rvp_which;
static bool uk_rvp_patches;

static uk_rvp_mask uk_rvp_bits(const sigset_t *set) {
    uk_rvp_mask bits;

    memcpy(&bits, set, sizeof bits);
    return bits;
}

/* qemu-riscv64 7.2 reads sa_mask from the second word of libc's set, where Linux has none: it is in both. */
static void uk_rvp_set_bits(sigset_t *set, uk_rvp_mask bits) {
    const uk_rvp_mask both[2] = {bits, bits};

    sigemptyset(set);
    memcpy(set, both, sizeof both);
}

static uint32_t uk_rvp_word_at(uint64_t pc) {
    const uint16_t *half = (const uint16_t *)pc;

    if (pc % 4 == 0 && (half[0] & 3) == 3)
        return atomic_load_explicit((_Atomic uint32_t *)pc, memory_order_acquire);
    return (half[0] & 3) == 3 ? half[0] | (uint32_t)half[1] << 16 : half[0];
}

static void uk_rvp_end(const siginfo_t *info, ucontext_t *context, uint32_t word) {
    const struct sigaction by_default = {.sa_handler = SIG_DFL};

    if (info->si_code > 0)
        uk_rvp_print_illegal(context->uc_mcontext.__gregs[REG_PC], word);
    sigdelset(&context->uc_sigmask, SIGILL);
    __sigaction(SIGILL, &by_default, NULL);
    /* An illegal instruction is executed once more; a signal that was sent is sent again. */
    if (info->si_code <= 0)
        syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), SIGILL);
}

/* The word is not one of P: runs the action that the program set, with its signal mask less SIGILL. */
static void uk_rvp_pass(int number, siginfo_t *info, ucontext_t *context, uint32_t word) {
    const struct sigaction wanted = uk_rvp_wanted[atomic_load(&uk_rvp_which)];
    const uk_rvp_mask mask =
        (uk_rvp_bits(&context->uc_sigmask) | uk_rvp_bits(&wanted.sa_mask)) & ~BIT(SIGILL);

    if (wanted.sa_handler == SIG_DFL || (wanted.sa_handler == SIG_IGN && info->si_code > 0)) {
        uk_rvp_end(info, context, word);
        return;
    }
    if (wanted.sa_handler == SIG_IGN)
        return;
    if (wanted.sa_flags & SA_RESETHAND)
        signal(SIGILL, SIG_DFL);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
    if (wanted.sa_flags & SA_SIGINFO)
        wanted.sa_sigaction(number, info, context);
    else
        wanted.sa_handler(number);
}

static void uk_rvp_trapped(int number, siginfo_t *info, void *data) {
    ucontext_t *context = data;
    uint64_t *x = (uint64_t *)context->uc_mcontext.__gregs;
    const uint64_t pc = x[REG_PC];
    const int error = errno;
    uint32_t word = 0;

    _Static_assert(REG_PC == 0, "pc lies where x0 would");
    if (info->si_code > 0) {
        const uint32_t now = uk_rvp_word_at(pc);

        /* Another thread may have replaced it after this one had read it: it is executed here, so that it counts once. */
        word = uk_rvp_replaced(pc, now);
        x[0] = 0;

        const bool executed = uk_rvp_execute(word, x, &uk_rvp_vxsat);

        x[0] = executed ? pc + 4 : pc;
        if (executed) {
            if (word == now && uk_rvp_patches && uk_rvp_is_opcode(word))
                uk_rvp_replace(pc, word);
            errno = error;
            return;
        }
    }
    uk_rvp_pass(number, info, context, word);
}

/* Installs the handler, with those of the program's flags that concern the system. */
static void uk_rvp_install(int flags, struct sigaction *old) {
    struct sigaction ours = {.sa_sigaction = uk_rvp_trapped,
                             .sa_flags = SA_SIGINFO | (flags & (SA_ONSTACK | SA_RESTART))};

    uk_rvp_set_bits(&ours.sa_mask, ~UINT64_C(0));
    __sigaction(SIGILL, &ours, old);
}

/* Before main and before constructors of the program, whose symbol pulls this object out of its archive. */
__attribute__((constructor(101))) void uk_rvp_start(void);
void uk_rvp_start(void) {
    static bool started;
    const uk_rvp_mask sigill = BIT(SIGILL);
    const char *patch = getenv("UK_RVP_PATCH");

    if (started)
        return;
    started = true;
    uk_rvp_patches = !patch || strcmp(patch, "0");
    if (uk_rvp_patches)
        uk_rvp_replace_start();
    uk_rvp_install(0, &uk_rvp_wanted[0]);
    /* SIGILL may have been blocked by the program that started this one. */
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &sigill, NULL, sizeof sigill);
}

int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    struct sigaction changed;

    uk_rvp_start();
    if (number == SIGILL) {
        const unsigned now = atomic_load(&uk_rvp_which), next = !now;

        changed = uk_rvp_wanted[now];
        if (action) {
            uk_rvp_wanted[next] = *action;
            atomic_store(&uk_rvp_which, next);
            uk_rvp_install(action->sa_flags, NULL);
        }
        if (old)
            *old = changed;
        return 0;
    }
    if (action) {
        changed = *action;
        uk_rvp_set_bits(&changed.sa_mask, uk_rvp_bits(&action->sa_mask) & ~BIT(SIGILL));
    }
    return __sigaction(number, action ? &changed : NULL, old);
}

/* BSD's, as libc's: system calls go on after the handler. */
__sighandler_t signal(int number, __sighandler_t handler) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;

    if (handler == SIG_ERR || number < 1 || number >= _NSIG) {
        errno = EINVAL;
        return SIG_ERR;
    }
    sigaddset(&action.sa_mask, number);
    return sigaction(number, &action, &old) ? SIG_ERR : old.sa_handler;
}

/* SIGILL is never blocked; neither are the two signals that libc keeps for itself, before SIGRTMIN. */
static int uk_rvp_set_mask(int how, const sigset_t *set, sigset_t *old) {
    uk_rvp_mask bits = 0;

    if (set) {
        bits = uk_rvp_bits(set);
        if (how != SIG_UNBLOCK)
            bits &= ~(BIT(SIGILL) | BIT(__SIGRTMIN) | BIT(__SIGRTMIN + 1));
    }
    if (old)
        sigemptyset(old);

    const int saved = errno;
    const int status = syscall(SYS_rt_sigprocmask, how, set ? &bits : NULL, old, sizeof bits) ? errno : 0;

    errno = saved;
    return status;
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
    return uk_rvp_set_mask(how, set, old);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
    const int status = uk_rvp_set_mask(how, set, old);

    if (status)
        errno = status;
    return status ? -1 : 0;
}
