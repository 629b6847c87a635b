/* A call that looks whether the callee keeps the calling convention of x86-64 System V. */
#ifndef TESTS_ABI_H
#define TESTS_ABI_H

#include <stdint.h>

enum { ABI_WORDS = 14 }; /* 64-bit integer arguments, at most: 6 in registers, 8 on the stack */

/* Calls function with the words as arguments (those past `count` are canaries), and with a float or
 * double of these bits among them, for who takes one. Returns NULL, or what it did not leave as it was: "rbx", "the direction flag", "the upper halves
 * of vector registers", ... */
const char *abi_call(void (*function)(void), const int64_t *words, int count, uint64_t scalar);

#endif
