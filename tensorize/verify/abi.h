/* SPDX-License-Identifier: Apache-2.0 */
/* abi_<arch>.c: calls that check whether the callee follows the calling convention of the machine. */
#ifndef UK_ABI_H
#define UK_ABI_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ABI_WORDS = 22, /* maximum number of arguments of abi_call: 64-bit integers and addresses */
    ABI_VALUES = 32 /* maximum number of arguments of abi_call_values */
};

/* Calls the function with the words as arguments and, as its first floating-point argument, a float or double
 * with the bits of `scalar`. Words from `count` on are canaries; bit i of `addresses`: word i is an address,
 * which has 32 bits on some architectures. Returns NULL, or the name of the register or state that was not
 * preserved: "rbx", "x19", "sp", "the upper halves of vector registers", ... Not thread-safe. */
const char *abi_call(void (*function)(void), const int64_t *words, int count, unsigned addresses,
                     uint64_t scalar);

/* An argument as a register passes it. A float has its bits in the low ones; the bits above a 32-bit integer
 * are arbitrary where the convention allows it. */
struct abi_value {
    bool is_real;
    bool is_short; /* at most 32 bits */
    uint64_t bits;
};
/* The same for a function of any prototype; on 64-bit architectures only. */
const char *abi_call_values(void (*function)(void), const struct abi_value *value, int count);
/* From now on calls also check the configuration of x86's matrix tiles (UK_STATE_TILES), which the thread
 * must hold. */
void abi_check_tiles(void);
/* In a handler of SIGSEGV or SIGBUS: true if the access was a write; on 64-bit architectures only. */
bool abi_is_write(const void *context);

#endif
