/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A case of `uk verify` for kernels of another architecture: remote.c writes it to a file, and
 * guest.c, a program of that architecture under an emulator, runs it. Both have 64-bit addresses,
 * little-endian numbers and pages of 4096 bytes.
 *
 * The file begins with struct guest_case; the spans and the pages of the operands follow. A byte on the
 * guest's standard input starts the case, and a byte on its standard output ends it.
 */
#ifndef UK_VERIFY_GUEST_H
#define UK_VERIFY_GUEST_H

#include <stdint.h>

enum { GUEST_FILE = 3, GUEST_VALUES = 32, GUEST_OPERANDS = 16 };

/* Accessible pages: `at` in the operand's address space, `data` in the file. */
struct guest_span {
    uint64_t at, length, data;
};

struct guest_case {
    int32_t call;             /* number of the function */
    int32_t values, operands; /* numbers of elements of `value` and `operand` */
    /* Set by the guest. state: GUEST_RETURNED, .... After GUEST_FAULTED: the signal; `address` is that of a
     * faulting access; this was a write. */
    int32_t state, signal, is_address, is_write;
    /* Set by the guest, too: the operand whose address range contains the address, and the offset in this
     * range. -1: none does, and `address` is an address. */
    int32_t fault;
    uint64_t address;
    uint64_t spans;  /* offset in the file of the table of all operands' spans */
    char broken[64]; /* set by the guest: the register or state that the call did not preserve; or "" */
    struct {
        uint64_t bits;   /* of an address: offset in the operand's address space */
        int32_t operand; /* -1: not an address */
        uint8_t is_real, is_short;
    } value[GUEST_VALUES];
    struct {
        uint64_t reserved, span, spans; /* bytes of address space; index of its first span; number of spans */
        uint64_t is_written;
        uint64_t wanted; /* a wide range (uk_memory.is_far): the address at which it must lie, only its spans
                            being mapped; 0: any */
    } operand[GUEST_OPERANDS];
};
/* CALLED: the guest has not answered yet. NO_ROOM: it could not map the operands. */
enum { GUEST_CALLED, GUEST_RETURNED, GUEST_FAULTED, GUEST_NO_ROOM };

#endif
