/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include "arena.h"

bool arena_make(struct arena *a, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    a->size = (bytes + page - 1) / page * page;
    unsigned char *p = mmap(NULL, a->size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return false;
    a->data = p + page;
    return !mprotect(a->data, a->size, PROT_READ | PROT_WRITE);
}

void arena_free(struct arena *a) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (a->data)
        munmap(a->data - page, a->size + 2 * page);
    a->data = NULL;
}

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction old[SIGNALS];
static volatile sig_atomic_t guarded;
static sigjmp_buf back;
static const void *volatile address;

/* Outside run_guarded() the instruction is run again, with the old handler. */
static void caught(int number, siginfo_t *info, void *context) {
    (void)context;
    if (!guarded) {
        for (int i = 0; i < SIGNALS; i++)
            if (signals[i] == number)
                sigaction(number, &old[i], NULL);
        return;
    }
    address = info->si_addr;
    siglongjmp(back, 1);
}

/* The handlers stay, since a test has thousands of calls: whoever installs handlers of its own, as cmocka
 * does for each test, replaces all four. */
static void install(void) {
    struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_NODEFER}, now;

    if (!sigaction(signals[0], NULL, &now) && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == caught)
        return;
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &action, &old[i]);
}

bool run_guarded(void (*f)(void *argument), void *argument, const void **at) {
    volatile bool faulted = true;

    install();
    /* SA_NODEFER: the handler blocks no signal, so that none has to be restored. */
    if (!sigsetjmp(back, 0)) {
        guarded = 1;
        f(argument);
        faulted = false;
    }
    guarded = 0;
    *at = address;
    return !faulted;
}
