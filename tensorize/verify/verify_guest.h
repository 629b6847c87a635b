/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A case of `uk verify` for kernels that run elsewhere: as verify_remote.c writes it into a file, and
 * verify_guest.c, a program of the other architecture under an emulator, runs it. Both have addresses of 64
 * bits, little-endian numbers, and pages of 4096 bytes.
 *
 * The file begins with this struct; the spans and the pages of the operands follow. A byte on the guest's
 * standard input says that a case is there, one on its standard output that it has been run.
 */
#ifndef UK_VERIFY_GUEST_H
#define UK_VERIFY_GUEST_H

#include <stdint.h>

enum { GUEST_FILE = 3, GUEST_VALUES = 32, GUEST_OPERANDS = 16 };

/* Pages that exist, from `at` of the operand's address space, and from `data` of the file. */
struct guest_span {
    uint64_t at, length, data;
};

struct guest_case {
    int32_t call; /* which function */
    int32_t values, operands;
    int32_t state, signal, is_address, is_write;
    int32_t fault; /* the operand whose address space the access was to; -1: none, and `address` is that */
    uint64_t address;
    uint64_t spans; /* where the table of all operands' lies in the file */
    char broken[64];
    struct {
        uint64_t bits;   /* an address: from the start of the operand's address space */
        int32_t operand; /* -1: no address */
        uint8_t is_real, is_short;
    } value[GUEST_VALUES];
    struct {
        uint64_t reserved, span, spans; /* bytes of address space; the first of its spans, and how many */
        uint64_t is_written;
        uint64_t wanted; /* 0, or the address at which the spans are, with nothing reserved between them */
    } operand[GUEST_OPERANDS];
};
enum { GUEST_CALLED, GUEST_RETURNED, GUEST_FAULTED, GUEST_NO_ROOM };

#endif
