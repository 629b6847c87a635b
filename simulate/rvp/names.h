/* SPDX-License-Identifier: Apache-2.0 */
/* Assembly of RISC-V P 0.9.11's words, which LLVM and qemu do not disassemble. Not linked into programs. */
#ifndef UK_RVP_NAMES_H
#define UK_RVP_NAMES_H

#include <stddef.h>
#include "decode.h"

enum { UK_RVP_MNEMONIC = 16 }; /* bytes of the longest mnemonic, at least */

/* The row's mnemonic: "smaqa.su". */
void uk_rvp_mnemonic(const struct uk_rvp_row *row, char text[UK_RVP_MNEMONIC]);
/* The word with its operands: "smaqa.su t5, t4, t0"; false: it is none of P's. */
bool uk_rvp_print(uint32_t word, char *text, size_t size);
/* The same for a line of assembly, as LLVM prints words of P: ".insn r 119, 0, 101, t5, t4, t0", ".insn i"
 * likewise, or ".word" or ".insn 0x4," and a number. */
bool uk_rvp_print_line(const char *line, size_t length, char *text, size_t size);
/* The number of the integer register with this ABI name; -1: there is none. */
int uk_rvp_register(const char *name);

#endif
