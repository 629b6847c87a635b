/* SPDX-License-Identifier: Apache-2.0 */
/* A second copy of a program, made only by functions of the public header. */
#ifndef REBUILD_H
#define REBUILD_H

#include "language/language.h"

/* Makes the items and steps of `from` in a new program of context c, which is not checked. A call that fails
 * makes the test fail. */
struct uk_program *rebuild(struct uk_context *c, const struct uk_program *from);

#endif
