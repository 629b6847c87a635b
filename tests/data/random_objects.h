/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs as objects for other architectures, with their operands and what the interpreter makes of
 * them: tests/cross/programs.c runs them. */
#ifndef RANDOM_OBJECTS_H
#define RANDOM_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>
#include "language/language.h"

/* Into folders of the architectures' names in that folder; NULL: nothing is kept. */
void random_objects_begin(const char *folder);
/* The program, scheduled, with operands from x. False: it cannot be compiled, for the target that is named.
 * What a schedule asks for there may be refused, as a loop that has no vector form. */
bool random_objects_add(struct uk_program *p, uint64_t x, const char *name, const char **target);
/* Writes the tables. */
void random_objects_end(void);

#endif
