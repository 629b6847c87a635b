/* SPDX-License-Identifier: Apache-2.0 */
/* A program made once more, by calls of the public header only. */
#ifndef REBUILD_H
#define REBUILD_H

#include "language/language.h"

/* The items and steps of `from` in a new program of context c; it is not checked. A call that fails makes the
 * test fail. */
struct uk_program *rebuild(struct uk_context *c, const struct uk_program *from);

#endif
