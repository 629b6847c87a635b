/* SPDX-License-Identifier: Apache-2.0 */
/* The counterpart of remote.c: calls the kernel in a process under an emulator. Its source is compiled
 * after the headers that it needs and the file of the calling convention. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "abi.h"
#include "guest.h"

/* The function of each form; the generated source defines them. */
extern void (*const guest_calls[])(void);

static struct guest_case *guest;
static char *space[GUEST_OPERANDS];
static uint64_t mapped[GUEST_OPERANDS]; /* number of mapped spans */

static void answer(int state) {
    const char byte = 0;

    guest->state = state;
    if (write(STDOUT_FILENO, &byte, 1) != 1)
        _exit(1);
}

static void handle_signal(int number, siginfo_t *info, void *context) {
    const uint64_t address = (uint64_t)info->si_addr;

    guest->signal = number;
    guest->is_address = number == SIGSEGV || number == SIGBUS;
    guest->is_write = guest->is_address && abi_is_write(context);
    guest->address = address;
    guest->fault = -1;
    for (int i = 0; i < guest->operands; i++)
        if (address - (uint64_t)space[i] < guest->operand[i].reserved) {
            guest->fault = i;
            guest->address = address - (uint64_t)space[i];
        }
    answer(GUEST_FAULTED);
    _exit(1);
}

static int catch_faults(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    struct sigaction action = {.sa_sigaction = handle_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    stack_t stack = {.ss_size = 1 << 16};

    stack.ss_sp = malloc(stack.ss_size);
    if (!stack.ss_sp || sigaltstack(&stack, NULL))
        return 0;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    return 1;
}

static int protection(int i) {
    return PROT_READ | (guest->operand[i].is_written ? PROT_WRITE : 0);
}

static void unmap_operand(int i, const struct guest_span *spans) {
    if (space[i] && !guest->operand[i].wanted)
        munmap(space[i], guest->operand[i].reserved);
    for (uint64_t k = 0; space[i] && guest->operand[i].wanted && k < mapped[i]; k++) {
        const struct guest_span *s = &spans[guest->operand[i].span + k];

        munmap(space[i] + s->at, s->length);
    }
    space[i] = NULL;
    mapped[i] = 0;
}

/* Maps an operand: address space of its own in which only the spans are accessible, as pages of the file. For
 * a wide operand only the spans are reserved, because an emulator would keep a record of each page. */
static int map_operand(int i, const struct guest_span *spans) {
    const int is_far = guest->operand[i].wanted != 0;

    space[i] = is_far ? (char *)guest->operand[i].wanted
                      : mmap(NULL, guest->operand[i].reserved, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space[i] == MAP_FAILED) {
        space[i] = NULL;
        return 0;
    }
    for (; mapped[i] < guest->operand[i].spans; mapped[i]++) {
        const struct guest_span *s = &spans[guest->operand[i].span + mapped[i]];
        char *there = mmap(space[i] + s->at, s->length, protection(i), MAP_SHARED | (is_far ? 0 : MAP_FIXED),
                           GUEST_FILE, (off_t)s->data);

        if (there != space[i] + s->at) {
            if (there != MAP_FAILED)
                munmap(there, s->length);
            return 0;
        }
    }
    return 1;
}

static int call(void) {
    struct abi_value value[GUEST_VALUES];

    for (int i = 0; i < guest->values; i++) {
        const int of = guest->value[i].operand;

        value[i] = (struct abi_value){.is_real = guest->value[i].is_real,
                                      .is_short = guest->value[i].is_short,
                                      .bits = guest->value[i].bits + (of < 0 ? 0 : (uint64_t)space[of])};
    }
    const char *broken = abi_call_values(guest_calls[guest->call], value, guest->values);

    snprintf(guest->broken, sizeof guest->broken, "%s", broken ? broken : "");
    return GUEST_RETURNED;
}

static int run_case(void) {
    struct stat s;
    int operands = 0, state = GUEST_NO_ROOM;

    if (fstat(GUEST_FILE, &s))
        return state;
    const size_t bytes = (size_t)s.st_size;
    char *file = mmap(NULL, bytes, PROT_READ, MAP_SHARED, GUEST_FILE, 0);
    if (file == MAP_FAILED)
        return state;
    const struct guest_span *spans = (const struct guest_span *)(const void *)(file + guest->spans);

    while (operands < guest->operands && map_operand(operands, spans))
        operands++;
    if (operands == guest->operands)
        state = call();
    for (int i = 0; i < guest->operands; i++)
        unmap_operand(i, spans);
    munmap(file, bytes);
    return state;
}

int main(void) {
    char byte;

    guest = mmap(NULL, sizeof *guest, PROT_READ | PROT_WRITE, MAP_SHARED, GUEST_FILE, 0);
    if (guest == MAP_FAILED || !catch_faults())
        return 1;
    while (read(STDIN_FILENO, &byte, 1) == 1)
        answer(run_case());
    return 0;
}
