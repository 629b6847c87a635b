/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that a program copies after its words of P were replaced: the copy contains the jumps, which are wrong
 * at their new place. They become words of P again when the program announces new code, by
 * __riscv_flush_icache (__builtin___clear_cache) or mprotect with PROT_EXEC, which copies.c defines instead
 * of libc's; or when one of them has led into memory that cannot be executed.
 */
#ifndef UK_RVP_COPIES_H
#define UK_RVP_COPIES_H

#include <stdint.h>

/*
 * If a copied jump may have led to pc, where no instruction could be executed: makes the jump a word of P
 * again, and returns its address; else 0. Async-signal-safe.
 */
uint64_t uk_rvp_came_from(uint64_t pc);

#endif
