/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UK_RVP_ILLEGAL_H
#define UK_RVP_ILLEGAL_H

#include <stdbool.h>
#include <stdint.h>

/* Walks this process's mappings in the order of addresses until is_it returns true. Async-signal-safe. */
struct uk_rvp_mapping {
    uint64_t from, to, offset;
    int protection;
    const char *path; /* NULL: anonymous */
};
void uk_rvp_find_mapping(bool (*is_it)(const struct uk_rvp_mapping *mapping, void *data), void *data);

/*
 * Prints to stderr the word that cannot be executed, its address and function. For signal handlers: it
 * allocates nothing, and reads the program's symbols from its file.
 */
void uk_rvp_print_illegal(uint64_t pc, uint32_t word);

#endif
