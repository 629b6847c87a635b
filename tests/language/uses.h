/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that take a program: each returns the status of what it does with p. */
#ifndef TEST_USES_H
#define TEST_USES_H

#include "tensorize.h"

struct program_use {
    const char *name;
    enum uk_status (*use)(struct uk_program *p);
};

extern const struct program_use program_uses[];
extern const int program_use_count;
extern const struct uk_options plain_options;
/* Emits the programs, and checks that the text is set on success only. */
enum uk_status emit_what(struct uk_program *const p[], int count, enum uk_emit what);
enum uk_status use_emit_loops(struct uk_program *p);
enum uk_status use_schedule(struct uk_program *p);

#endif
