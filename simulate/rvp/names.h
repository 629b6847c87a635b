/* SPDX-License-Identifier: Apache-2.0 */
/* Disassembles words of RISC-V P 0.9.11, which LLVM and qemu cannot. Not linked into programs. */
#ifndef UK_RVP_NAMES_H
#define UK_RVP_NAMES_H

#include <stddef.h>
#include "decode.h"

enum { UK_RVP_MNEMONIC = 16 }; /* a mnemonic and its NUL fit */

/* The row's mnemonic: "smaqa.su". */
void uk_rvp_mnemonic(const struct uk_rvp_row *row, char text[UK_RVP_MNEMONIC]);
/* The word with its operands: "smaqa.su t5, t4, t0"; false: not a word of P. */
bool uk_rvp_print(uint32_t word, char *text, size_t size);
/* The same for a line of assembly in which LLVM prints a word of P: ".insn r 119, 0, 101, t5, t4, t0", ".insn
 * i" likewise, or ".word" or ".insn 0x4," with a number. */
bool uk_rvp_print_line(const char *line, size_t length, char *text, size_t size);
/* The number of the integer register with this ABI name, or -1. */
int uk_rvp_register(const char *name);

#endif
