/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by rvp_cases and rvp_system. */
#ifndef RVP_SHARED_H
#define RVP_SHARED_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "registry/rvp.h"

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

#define A UINT64_C(0x8182838405060708)
#define B UINT64_C(0xfffefdfc12345678)
#define OPCODE_TEXT_(x) #x
#define OPCODE_TEXT(x) OPCODE_TEXT_(x)
/* A word of P by its number, without the opcode. */
#define WORD(hex) ".4byte " hex " + " OPCODE_TEXT(UK_RVP_OPCODE) "\n"

struct rvp_case {
    const char *name;
    void (*run)(void);
};

/* Runs the case that the only argument names; the exit status. */
static inline int run_case(int argc, char **argv, const struct rvp_case *cases, size_t count) {
    for (size_t i = 0; argc == 2 && i < count; i++)
        if (!strcmp(argv[1], cases[i].name)) {
            cases[i].run();
            return 0;
        }
    fprintf(stderr, "usage: %s CASE\n", argv[0]);
    return 2;
}

/* Functions and a result of a shared object, if the program is dynamic. */
extern uint64_t shared_at_start; /* result of P in its constructor */
uint64_t shared_add32(uint64_t a, uint64_t b);
int shared_sigaction(int number, const struct sigaction *action, struct sigaction *old);

#endif
