/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that a program copies after its words of P were replaced: the copy has the jumps, which lead astray
 * from there. They become words of P again where a program says that it has written code, by
 * __riscv_flush_icache (__builtin___clear_cache) or mprotect with PROT_EXEC, which copies.c defines in front
 * of libc's; and where one of them has led into memory that cannot be executed.
 */
#ifndef UK_RVP_COPIES_H
#define UK_RVP_COPIES_H

#include <stdint.h>

/*
 * If a copied jump may have led to pc, where no instruction could be executed: makes the jump a word of P
 * again, and returns where it is; else 0. For signal handlers.
 */
uint64_t uk_rvp_came_from(uint64_t pc);

#endif
