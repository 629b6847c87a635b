/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "signals.h"

long uk_rvp_system(long number, long a, long b, long c, long d, long e, long f) {
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e;
    register long a5 __asm__("a5") = f;
    register long a7 __asm__("a7") = number;

    __asm__ __volatile__("ecall"
                         : "+r"(a0)
                         : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7)
                         : "memory");
    return a0;
}

static int uk_rvp_status(long returned) {
    if (returned >= 0)
        return (int)returned;
    errno = (int)-returned;
    return -1;
}

uk_rvp_mask uk_rvp_bits(const sigset_t *set) {
    uk_rvp_mask bits;

    memcpy(&bits, set, sizeof bits);
    return bits;
}

void uk_rvp_set_bits(sigset_t *set, uk_rvp_mask bits) {
    const uk_rvp_mask both[2] = {bits, bits};

    sigemptyset(set);
    memcpy(set, both, sizeof both);
}

/* The bits without SIGILL and the two signals before SIGRTMIN, which libc reserves. */
static uk_rvp_mask uk_rvp_allowed(uk_rvp_mask bits) {
    return bits & ~(UK_RVP_BIT(SIGILL) | UK_RVP_BIT(__SIGRTMIN) | UK_RVP_BIT(__SIGRTMIN + 1));
}

/* ---- the mask of a thread ---- */

static int uk_rvp_set_mask(int how, const sigset_t *set, sigset_t *old) {
    uk_rvp_mask bits = 0;

    if (set)
        bits = how == SIG_UNBLOCK ? uk_rvp_bits(set) : uk_rvp_allowed(uk_rvp_bits(set));
    if (old)
        sigemptyset(old);
    return (int)-uk_rvp_system(SYS_rt_sigprocmask, how, (long)(set ? &bits : NULL), (long)old, sizeof bits, 0,
                               0);
}

int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
    return uk_rvp_set_mask(how, set, old);
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
    return uk_rvp_status(-uk_rvp_set_mask(how, set, old));
}

/* BSD's functions, with the first 32 signals as an int. */
static int uk_rvp_set_int(int how, int mask) {
    sigset_t set, old;

    uk_rvp_set_bits(&set, (unsigned)mask);
    return uk_rvp_set_mask(how, &set, &old) ? -1 : (int)uk_rvp_bits(&old);
}

int sigblock(int mask) {
    return uk_rvp_set_int(SIG_BLOCK, mask);
}

int sigsetmask(int mask) {
    return uk_rvp_set_int(SIG_SETMASK, mask);
}

int sighold(int number) {
    sigset_t set;

    sigemptyset(&set);
    return sigaddset(&set, number) ? -1 : sigprocmask(SIG_BLOCK, &set, NULL);
}

/* The initial mask of a new thread is in an attribute that only libc's own function can set. In a static
 * program that function has another name, and pthread_getattr_default_np links the object that contains
 * it. */
extern int __pthread_attr_setsigmask_internal(pthread_attr_t *attributes, const sigset_t *set)
    __attribute__((weak));
extern __typeof(dlsym) dlsym __attribute__((weak));
extern __typeof(pthread_getattr_default_np) *const uk_rvp_links_setsigmask;
__typeof(pthread_getattr_default_np) *const uk_rvp_links_setsigmask = pthread_getattr_default_np;

int pthread_attr_setsigmask_np(pthread_attr_t *attributes, const sigset_t *set) {
    int (*libc)(pthread_attr_t *, const sigset_t *) = __pthread_attr_setsigmask_internal;
    sigset_t allowed;

    if (!libc && dlsym)
        libc = (int (*)(pthread_attr_t *, const sigset_t *))dlsym(RTLD_NEXT, "pthread_attr_setsigmask_np");
    if (!libc)
        return ENOSYS;
    if (!set)
        return libc(attributes, NULL);
    uk_rvp_set_bits(&allowed, uk_rvp_allowed(uk_rvp_bits(set)));
    return libc(attributes, &allowed);
}

/* ---- the mask during a call ---- */

/* A system call that waits with a mask; a cancellation point. */
static int uk_rvp_wait(long number, long a, long b, long c, long d, long e, long f) {
    int type;

    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    const long returned = uk_rvp_system(number, a, b, c, d, e, f);

    pthread_setcanceltype(type, NULL);
    return uk_rvp_status(returned);
}

static uk_rvp_mask *uk_rvp_copy(const sigset_t *set, uk_rvp_mask *copy) {
    if (!set)
        return NULL;
    *copy = uk_rvp_allowed(uk_rvp_bits(set));
    return copy;
}

int sigsuspend(const sigset_t *set) {
    uk_rvp_mask copy;

    return uk_rvp_wait(SYS_rt_sigsuspend, (long)uk_rvp_copy(set, &copy), sizeof copy, 0, 0, 0, 0);
}

/* BSD's sigpause. X/Open's, which has another name in the object file, blocks no further signals. */
int uk_rvp_sigpause(int mask) __asm__("sigpause");
int uk_rvp_sigpause(int mask) {
    sigset_t set;

    uk_rvp_set_bits(&set, (unsigned)mask);
    return sigsuspend(&set);
}

/* Linux writes the remaining time into the timeout; libc does not. */
int ppoll(struct pollfd *files, nfds_t n, const struct timespec *timeout, const sigset_t *set) {
    struct timespec time = timeout ? *timeout : (struct timespec){0};
    uk_rvp_mask copy;

    return uk_rvp_wait(SYS_ppoll, (long)files, (long)n, (long)(timeout ? &time : NULL),
                       (long)uk_rvp_copy(set, &copy), sizeof copy, 0);
}

/* Entry for programs built with _FORTIFY_SOURCE; __chk_fail ends the program if the array is too short. */
_Noreturn void __chk_fail(void);
int __ppoll_chk(struct pollfd *files, nfds_t n, const struct timespec *timeout, const sigset_t *set,
                size_t bytes);
int __ppoll_chk(struct pollfd *files, nfds_t n, const struct timespec *timeout, const sigset_t *set,
                size_t bytes) {
    if (bytes / sizeof *files < n)
        __chk_fail();
    return ppoll(files, n, timeout, set);
}

int pselect(int n, fd_set *in, fd_set *out, fd_set *other, const struct timespec *timeout,
            const sigset_t *set) {
    struct timespec time = timeout ? *timeout : (struct timespec){0};
    uk_rvp_mask copy;
    const struct {
        uk_rvp_mask *mask;
        size_t bytes;
    } last = {uk_rvp_copy(set, &copy), sizeof copy};

    return uk_rvp_wait(SYS_pselect6, n, (long)in, (long)out, (long)other, (long)(timeout ? &time : NULL),
                       (long)&last);
}

int epoll_pwait(int epoll, struct epoll_event *events, int n, int timeout, const sigset_t *set) {
    uk_rvp_mask copy;

    return uk_rvp_wait(SYS_epoll_pwait, epoll, (long)events, n, timeout, (long)uk_rvp_copy(set, &copy),
                       sizeof copy);
}

int epoll_pwait2(int epoll, struct epoll_event *events, int n, const struct timespec *timeout,
                 const sigset_t *set) {
    uk_rvp_mask copy;

    return uk_rvp_wait(SYS_epoll_pwait2, epoll, (long)events, n, (long)timeout, (long)uk_rvp_copy(set, &copy),
                       sizeof copy);
}

/* ---- system calls by number ---- */

/* The kernel's form of an action. */
struct uk_rvp_action {
    void *handler;
    unsigned long flags;
    uk_rvp_mask mask;
};

static long uk_rvp_raw_action(int number, const struct uk_rvp_action *action, struct uk_rvp_action *old) {
    struct sigaction libcs, before;

    if (action) {
        libcs.sa_sigaction = (void (*)(int, siginfo_t *, void *))action->handler;
        libcs.sa_flags = (int)action->flags;
        uk_rvp_set_bits(&libcs.sa_mask, action->mask);
    }
    if (sigaction(number, action ? &libcs : NULL, &before))
        return -1;
    if (old)
        *old = (struct uk_rvp_action){(void *)before.sa_sigaction, (unsigned)before.sa_flags,
                                      uk_rvp_bits(&before.sa_mask)};
    return 0;
}

long syscall(long number, ...) {
    long a[6];
    uk_rvp_mask copy;
    struct {
        const sigset_t *mask;
        size_t bytes;
    } last;
    va_list list;
    /* The argument that is a mask. */
    const int mask = number == SYS_rt_sigsuspend                               ? 0
                     : number == SYS_ppoll                                     ? 3
                     : number == SYS_epoll_pwait || number == SYS_epoll_pwait2 ? 4
                                                                               : -1;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_rt_sigaction)
        return uk_rvp_raw_action((int)a[0], (const void *)a[1], (void *)a[2]);
    if (mask >= 0)
        a[mask] = (long)uk_rvp_copy((const sigset_t *)a[mask], &copy);
    if (number == SYS_rt_sigprocmask && (a[0] == SIG_BLOCK || a[0] == SIG_SETMASK))
        a[1] = (long)uk_rvp_copy((const sigset_t *)a[1], &copy);
    if (number == SYS_pselect6 && a[5]) {
        memcpy(&last, (const void *)a[5], sizeof last);
        last.mask = (const sigset_t *)uk_rvp_copy(last.mask, &copy);
        a[5] = (long)&last;
    }
    const long returned = uk_rvp_system(number, a[0], a[1], a[2], a[3], a[4], a[5]);

    if (returned < 0 && returned >= -4095) {
        errno = (int)-returned;
        return -1;
    }
    return returned;
}

/* ---- the stack of handlers ---- */

/*
 * A stack of at least this size is used unchanged; a smaller one is extended by this size. A word of P in a
 * handler needs room for a second frame of the kernel and for the emulation, which stacks of MINSIGSTKSZ do
 * not have. So the kernel gets memory of the emulation's, and the program sees its own.
 */
enum { UK_RVP_STACK = 32768 };

static _Thread_local struct {
    stack_t program;
    void *own;
} uk_rvp_stack;
static pthread_key_t uk_rvp_stack_key;

static long uk_rvp_kernel_stack(const stack_t *stack, stack_t *old) {
    return uk_rvp_system(SYS_sigaltstack, (long)stack, (long)old, 0, 0, 0, 0);
}

/* Runs at the end of a thread. */
static void uk_rvp_free_stack(void *own) {
    const stack_t none = {.ss_flags = SS_DISABLE};

    if (!uk_rvp_kernel_stack(&none, NULL))
        munmap(own, 2 * UK_RVP_STACK);
}

static void uk_rvp_make_key(void) {
    pthread_key_create(&uk_rvp_stack_key, uk_rvp_free_stack);
}

/* This thread's memory for a stack and its extension, or NULL. */
static void *uk_rvp_get_stack(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (uk_rvp_stack.own)
        return uk_rvp_stack.own;
    void *own = mmap(NULL, 2 * UK_RVP_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (own == MAP_FAILED)
        return NULL;
    pthread_once(&once, uk_rvp_make_key);
    pthread_setspecific(uk_rvp_stack_key, own);
    return uk_rvp_stack.own = own;
}

int sigaltstack(const stack_t *stack, stack_t *old) {
    stack_t before, larger;
    /* The kernel checks the program's own stack and refuses an invalid one. */
    const long returned = uk_rvp_kernel_stack(stack, &before);

    if (returned)
        return uk_rvp_status(returned);
    if (before.ss_sp == uk_rvp_stack.own && before.ss_sp) {
        before.ss_sp = uk_rvp_stack.program.ss_sp;
        before.ss_size = uk_rvp_stack.program.ss_size;
    }
    if (stack && !(stack->ss_flags & SS_DISABLE) && stack->ss_size < UK_RVP_STACK) {
        larger = *stack;
        larger.ss_sp = uk_rvp_get_stack();
        larger.ss_size = stack->ss_size + UK_RVP_STACK;
        uk_rvp_stack.program = *stack;
        if (larger.ss_sp)
            uk_rvp_kernel_stack(&larger, NULL);
    }
    if (old)
        *old = before;
    return 0;
}
