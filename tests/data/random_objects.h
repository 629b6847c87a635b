/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs compiled to objects for other architectures, with their operands and the interpreter's
 * results; tests/cross/programs.c runs them. */
#ifndef RANDOM_OBJECTS_H
#define RANDOM_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>
#include "language/language.h"

/* Writes into a subfolder of `folder` per architecture; NULL: keeps nothing. */
void random_objects_begin(const char *folder);
/* Compiles the scheduled program and draws its operands from x. False: it cannot be compiled for *target. A
 * schedule may be refused there, for instance if a loop has no vector form. */
bool random_objects_add(struct uk_program *p, uint64_t x, const char *name, const char **target);
/* Writes the tables. */
void random_objects_end(void);

#endif
