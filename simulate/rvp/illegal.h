/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UK_RVP_ILLEGAL_H
#define UK_RVP_ILLEGAL_H

#include <stdint.h>

/*
 * Says on stderr which word at which address of which function cannot be executed. For signal handlers: it allocates
 * nothing, and reads the program's symbols from its file.
 */
void uk_rvp_print_illegal(uint64_t pc, uint32_t word);

#endif
