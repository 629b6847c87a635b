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

static sigjmp_buf back;
static const void *volatile address;

static void caught(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    address = info->si_addr;
    siglongjmp(back, 1);
}

bool run_guarded(void (*f)(void *argument), void *argument, const void **at) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
    struct sigaction action = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO | SA_NODEFER}, old[4];
    volatile bool faulted = true;

    for (int i = 0; i < 4; i++)
        sigaction(signals[i], &action, &old[i]);
    if (!sigsetjmp(back, 1)) {
        f(argument);
        faulted = false;
    }
    for (int i = 0; i < 4; i++)
        sigaction(signals[i], &old[i], NULL);
    *at = address;
    return !faulted;
}
