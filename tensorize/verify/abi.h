/* SPDX-License-Identifier: Apache-2.0 */
/* A call that checks whether the callee keeps the machine's calling convention: abi_<arch>.c. */
#ifndef TESTS_ABI_H
#define TESTS_ABI_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ABI_WORDS = 18, /* arguments of abi_call, at most: integers of 64 bits, and addresses */
    ABI_VALUES = 32 /* of abi_call_values */
};

/* Calls function with the words as arguments (those past `count` are canaries; bit i of `addresses` says that
 * word i is an address, which may be shorter), and with a float or double of these bits as the first
 * floating-point argument. Returns NULL, or what it did not leave as it was: "rbx", "x19", "sp", "the upper
 * halves of vector registers", ... Not from two threads at once. */
const char *abi_call(void (*function)(void), const int64_t *words, int count, unsigned addresses,
                     uint64_t scalar);

/* An argument as it is passed in a register: the bits of a float are in the low ones, those above an integer
 * of 32 bits may be any where the convention says so. */
struct abi_value {
    bool is_real;
    bool is_short; /* 32 bits, or less */
    uint64_t bits;
};
/* The same for a function of any prototype, on 64-bit architectures only. */
const char *abi_call_values(void (*function)(void), const struct abi_value *value, int count);
/* Whether the access that a handler of SIGSEGV or SIGBUS was called for is one that writes; on 64-bit
 * architectures only. */
bool abi_is_write(const void *context);

#endif
