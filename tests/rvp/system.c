/* SPDX-License-Identifier: Apache-2.0 */
/*
 * P in situations that are hard to emulate: before main, while all signals are blocked, on the stacks of
 * signal handlers, and in code that was copied after its words were replaced. rvp_system CASE, for riscv64,
 * linked with simulate/rvp/. Returns 0, or prints the condition that failed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "registry/rvp.h"
#include "shared.h"

/* Defines a function of 8 words of P, each of which traps once. They add b to a 8 times, in each half. */
#define FRESH(name)                                                \
    uint64_t name(uint64_t a, uint64_t b);                         \
    __asm__(".text\n.balign 4\n.type " #name ", @function\n" #name \
            ":\n.rept 8\n" WORD("0x40b52500") ".endr\nret\n.size " #name ", . - " #name "\n")

FRESH(in_sigsuspend);
FRESH(in_sigpause);
FRESH(in_ppoll);
FRESH(in_ppoll_chk);
FRESH(in_pselect);
FRESH(in_pselect_call);
FRESH(in_ppoll_call);
FRESH(in_epoll_pwait);
FRESH(in_epoll_pwait2);
FRESH(in_thread);
FRESH(in_sigblock);
FRESH(in_sigsetmask);
FRESH(in_sighold);
FRESH(in_sigset);
FRESH(in_syscall);
FRESH(in_syscall_action);
FRESH(on_small_stack);
FRESH(on_small_stack_again);
FRESH(in_action);
FRESH(before_main);
FRESH(after_signals);

static bool right(uint64_t (*f)(uint64_t, uint64_t)) {
    return f(A, UINT64_C(0x0000000100000001)) == A + UINT64_C(0x0000000800000008);
}

static bool right_at_start;

__attribute__((constructor(101))) static void starts(void) {
    right_at_start = right(before_main);
}

static void constructors(void) {
    CHECK(right_at_start && shared_at_start == UINT64_C(0x0000000400000000));
}

/* ---- masks ---- */

static uint64_t (*volatile to_call)(uint64_t, uint64_t);
static volatile sig_atomic_t calls;

static void calls_p(int number) {
    (void)number;
    calls += right(to_call);
}

/* Makes SIGUSR1 pending, with a handler that calls f. Returns the set of all other signals. */
static sigset_t prepare(uint64_t (*f)(uint64_t, uint64_t)) {
    const struct sigaction action = {.sa_handler = calls_p};
    sigset_t usr1, set;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    CHECK(!sigaction(SIGUSR1, &action, NULL) && !sigprocmask(SIG_BLOCK, &usr1, NULL));
    to_call = f;
    calls = 0;
    raise(SIGUSR1);
    sigfillset(&set);
    sigdelset(&set, SIGUSR1);
    return set;
}

#define INTERRUPTED(call) CHECK((call) == -1 && errno == EINTR && calls == 1)

int bsd_sigpause(int mask) __asm__("sigpause");
int __ppoll_chk(struct pollfd *files, nfds_t n, const struct timespec *timeout, const sigset_t *set,
                size_t bytes);

static void waits(void) {
    const int epoll = epoll_create1(0);
    const struct timespec second = {1, 0};
    struct timespec time = second;
    struct epoll_event event;
    struct pollfd file = {epoll, POLLIN, 0};
    sigset_t set;

    set = prepare(in_sigsuspend);
    INTERRUPTED(sigsuspend(&set));
    prepare(in_sigpause);
    INTERRUPTED(bsd_sigpause(~(1 << (SIGUSR1 - 1))));
    set = prepare(in_ppoll);
    INTERRUPTED(ppoll(&file, 1, &time, &set));
    set = prepare(in_ppoll_chk);
    INTERRUPTED(__ppoll_chk(&file, 1, &time, &set, sizeof file));
    set = prepare(in_pselect);
    INTERRUPTED(pselect(0, NULL, NULL, NULL, &time, &set));
    set = prepare(in_pselect_call);
    INTERRUPTED(syscall(SYS_pselect6, 0, NULL, NULL, NULL, &time, (void *[]){&set, (void *)8}));
    set = prepare(in_ppoll_call);
    INTERRUPTED(syscall(SYS_ppoll, &file, 1, NULL, &set, 8));
    set = prepare(in_epoll_pwait);
    INTERRUPTED(epoll_pwait(epoll, &event, 1, 1000, &set));
    set = prepare(in_epoll_pwait2);
    const int waited = epoll_pwait2(epoll, &event, 1, &time, &set);
    /* Older kernels lack this call. */
    CHECK(waited == -1 && (errno == ENOSYS || (errno == EINTR && calls == 1)));

    /* The replaced functions behave like libc's: without a mask, with a timeout that ends and is unchanged,
     * and with an error. */
    time = (struct timespec){0, 1000};
    CHECK(ppoll(&file, 1, &time, NULL) == 0 && time.tv_nsec == 1000);
    CHECK(pselect(0, NULL, NULL, NULL, &time, NULL) == 0 && time.tv_nsec == 1000);
    CHECK(epoll_pwait(epoll, &event, 1, 0, NULL) == 0);
    CHECK(epoll_pwait(-1, &event, 1, 0, NULL) == -1 && errno == EBADF);
}

static void *waits_for_ever(void *unused) {
    sigset_t set;

    sigfillset(&set);
    sigsuspend(&set);
    return unused;
}

static void *calls_in_thread(void *unused) {
    sigset_t set;

    CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &set) && sigismember(&set, SIGUSR2) &&
          !sigismember(&set, SIGILL));
    CHECK(right(in_thread));
    return unused;
}

static void masks(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t set, got;
    void *result;

    sigfillset(&set);
    CHECK(!pthread_attr_init(&attributes) && !pthread_attr_setsigmask_np(&attributes, &set));
    CHECK(!pthread_attr_getsigmask_np(&attributes, &got) && sigismember(&got, SIGUSR2));
    CHECK(!pthread_create(&thread, &attributes, calls_in_thread, NULL) && !pthread_join(thread, NULL));
    CHECK(!pthread_attr_setsigmask_np(&attributes, NULL));
    CHECK(pthread_attr_getsigmask_np(&attributes, &got) == PTHREAD_ATTR_NO_SIGMASK_NP);
    /* The replaced functions are cancellation points. */
    CHECK(!pthread_create(&thread, NULL, waits_for_ever, NULL) && !pthread_cancel(thread));
    CHECK(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    CHECK(sigblock(~0) == 0 && right(in_sigblock) && sigblock(0) & 1 << (SIGUSR2 - 1));
    CHECK(sigsetmask(~0) && right(in_sigsetmask) && sigsetmask(0));
    CHECK(!sighold(SIGILL) && !sighold(SIGUSR2) && right(in_sighold));
    CHECK(sigset(SIGUSR2, SIG_IGN) == SIG_HOLD && sigset(SIGILL, SIG_HOLD) == SIG_DFL && right(in_sigset));
    CHECK(!syscall(SYS_rt_sigprocmask, SIG_SETMASK, &set, NULL, 8) && right(in_syscall));
    CHECK(!syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, &got, 8) && sigismember(&got, SIGUSR2));
    CHECK(syscall(SYS_rt_sigprocmask, ~0, 16, NULL, 8) == -1 && syscall(SYS_getpid) == getpid());
    void *ignores[] = {SIG_IGN, NULL, NULL}, *before[3];
    CHECK(!syscall(SYS_rt_sigaction, SIGILL, ignores, before, 8) && before[0] == (void *)SIG_DFL);
    CHECK(right(in_syscall_action) && signal(SIGILL, SIG_DFL) == SIG_IGN);
    /* Variants of signal() that do not call sigaction. */
    CHECK(sysv_signal(SIGILL, calls_p) == SIG_DFL && !sigignore(SIGILL));
    CHECK(sigset(SIGILL, SIG_DFL) == SIG_IGN && right(after_signals));
}

/* ---- stacks ---- */

static uint32_t *memory(size_t bytes, int protection) {
    void *m = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(m != MAP_FAILED);
    return m;
}

static void *small_stack(void *again) {
    /* MINSIGSTKSZ on Linux. */
    const size_t size = 2048, page = (size_t)sysconf(_SC_PAGESIZE);
    /* Writing below the stack faults. */
    char *bytes = (char *)memory(2 * page, PROT_NONE) + page;
    const stack_t small = {.ss_sp = bytes, .ss_size = size}, none = {.ss_flags = SS_DISABLE};
    const stack_t too_small = {.ss_sp = bytes, .ss_size = 64};
    struct sigaction action = {.sa_handler = calls_p, .sa_flags = SA_ONSTACK};
    stack_t old;

    CHECK(sigaltstack(&too_small, NULL) == -1 && errno == ENOMEM);
    CHECK(!sigaltstack(NULL, &old) && old.ss_flags == SS_DISABLE);
    for (int i = 0; i < 2; i++) {
        CHECK(!sigaltstack(&small, NULL));
        CHECK(!sigaltstack(NULL, &old) && old.ss_sp == bytes && old.ss_size == size && !old.ss_flags);
    }
    CHECK(!sigaction(SIGUSR2, &action, NULL));
    CHECK(!mprotect(bytes, page, PROT_READ | PROT_WRITE));
    to_call = again ? on_small_stack_again : on_small_stack;
    calls = 0;
    CHECK(!raise(SIGUSR2) && calls == 1);
    CHECK(!sigaltstack(&none, &old) && old.ss_sp == bytes && old.ss_size == size);
    CHECK(!sigaltstack(NULL, &old) && old.ss_flags == SS_DISABLE);
    CHECK(!sigaltstack(&small, NULL));
    return NULL;
}

static sigjmp_buf back;
static void *volatile seen;

static void leaves(int number, siginfo_t *info, void *context) {
    sigset_t set;

    (void)context;
    seen = info->si_addr;
    /* In a handler its own signal is blocked, except SIGILL, which never is. */
    CHECK(!sigprocmask(SIG_BLOCK, NULL, &set) && sigismember(&set, number) == (number != SIGILL));
    if (right(in_action))
        siglongjmp(back, 1);
}

static void stacks(void) {
    struct sigaction action = {.sa_sigaction = leaves, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    pthread_t thread;

    small_stack(NULL);
    /* The program's handler of SIGILL, on this stack. */
    CHECK(!sigaction(SIGILL, &action, NULL));
    if (!sigsetjmp(back, 1)) {
        __asm__ volatile("unimp");
        CHECK(!"executed");
    }
    for (int i = 0; i < 2; i++)
        CHECK(!pthread_create(&thread, NULL, small_stack, &action) && !pthread_join(thread, NULL));
}

/* ---- SIGSEGV is the program's ---- */

static void by_signal(int number, void (*f)(void)) {
    const pid_t child = fork();
    int status;

    if (!child) {
        f();
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
          WTERMSIG(status) == number);
}

static void *volatile nowhere = (void *)16;

static void reads_nowhere(void) {
    *(volatile int *)nowhere;
}

static void jumps_nowhere(void) {
    ((void (*)(void))nowhere)();
}

static void sends_segv(void) {
    raise(SIGSEGV);
}

static void segv(void) {
    struct sigaction action = {.sa_sigaction = leaves, .sa_flags = SA_SIGINFO}, old;

    by_signal(SIGSEGV, reads_nowhere);
    by_signal(SIGSEGV, jumps_nowhere);
    by_signal(SIGSEGV, sends_segv);
    CHECK(!sigaction(SIGSEGV, &action, &old) && old.sa_handler == SIG_DFL);
    for (int i = 0; i < 4; i++)
        if (!sigsetjmp(back, 1)) {
            seen = NULL;
            (i % 2 ? reads_nowhere : jumps_nowhere)();
            CHECK(!"executed");
        } else {
            CHECK(seen == nowhere);
        }
    CHECK(signal(SIGSEGV, SIG_IGN) == (__sighandler_t)(void *)leaves);
    sends_segv();
    by_signal(SIGSEGV, reads_nowhere);
    CHECK(signal(SIGSEGV, SIG_DFL) == SIG_IGN);
}

/* ---- copies ---- */

enum { COPY_WORDS = 9, AROUND = 1 << 22, NOP = 0x13 };
/* Two words of P, a jump to the next word, and more words of P; the result is a + 5 b in each half. */
uint64_t copied_0(uint64_t a, uint64_t b);
extern uint32_t copied_code[];
__asm__(".text\n.balign 4\n.type copied_0, @function\n.option push\n.option "
        "norvc\ncopied_code:\ncopied_0:\n" WORD("0x40b52500")
            WORD("0x40b52500") "j 1f\n1:\n" WORD("0x40b52500") "nop\n" WORD("0x40b52500")
                WORD("0x40b52500") "ret\nret\n.size copied_0, . - copied_0\n.option pop\n");

typedef uint64_t function(uint64_t, uint64_t);

static bool copy_is_right(const uint32_t *copy, const uint32_t original[COPY_WORDS]) {
    for (int i = 0; i < 3; i++)
        if (((function *)copy)(A, UINT64_C(0x0000000100000001)) != A + UINT64_C(0x0000000500000005))
            return false;
    return !memcmp(copy, original, 4 * COPY_WORDS);
}

static void copies(void) {
    const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    uint32_t original[COPY_WORDS], *m;

    memcpy(original, copied_code, sizeof original);
    for (int i = 0; i < 3; i++)
        CHECK(copied_0(A, UINT64_C(0x0000000100000001)) == A + UINT64_C(0x0000000500000005));

    m = memory(4096, all);
    memcpy(m, copied_code, sizeof original);
    __builtin___clear_cache((char *)m, (char *)(m + COPY_WORDS));
    CHECK(!memcmp(m, original, sizeof original) && copy_is_right(m, original));
    /* A word of the program that equals a jump which replaced a word of P stays as it is. */
    m = memory(4096, all);
    memcpy(m, (uint32_t[]){NOP, copied_code[0], NOP}, 12);
    __builtin___clear_cache((char *)m, (char *)(m + 3));
    CHECK(m[1] == copied_code[0]);
    /* A copy that begins in the middle of a run of words and ends with the page: nothing beyond it is
     * read. */
    m = memory(4096, all);
    memcpy(m + 1024 - 2, copied_code + 6, 8);
    __builtin___clear_cache((char *)(m + 1024 - 2), (char *)(m + 1024));
    CHECK(((function *)(m + 1024 - 2))(A, UINT64_C(0x0000000100000001)) == A + UINT64_C(0x0000000100000001));

    m = memory(8192, PROT_READ | PROT_WRITE);
    memcpy(m, copied_code, sizeof original);
    CHECK(!mprotect(m, 8192, PROT_READ | PROT_EXEC) && !memcmp(m, original, sizeof original));
    CHECK(copy_is_right(m, original));

    /* No call announces the new code; its jumps lead to memory that is inaccessible, or empty. */
    m = memory(AROUND, PROT_NONE);
    CHECK(!mprotect((char *)m + AROUND / 2, 4096, all));
    memcpy((char *)m + AROUND / 2, copied_code, sizeof original);
    CHECK(copy_is_right(m + AROUND / 8, original));
    m = memory(AROUND, all);
    memcpy((char *)m + AROUND / 2, copied_code, sizeof original);
    CHECK(copy_is_right(m + AROUND / 8, original));
    /* Ranges without code: nothing happens. */
    CHECK(!mprotect(m, AROUND, PROT_READ | PROT_WRITE | PROT_EXEC) &&
          mprotect((void *)1, 1, PROT_READ) == -1);
    __builtin___clear_cache((char *)NULL, (char *)UINTPTR_MAX);
}

static const struct rvp_case cases[] = {
    {"constructors", constructors},
    {"waits", waits},
    {"masks", masks},
    {"stacks", stacks},
    {"segv", segv},
    {"copies", copies},
};

int main(int argc, char **argv) {
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
