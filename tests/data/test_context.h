/* SPDX-License-Identifier: Apache-2.0 */
/* A context for a group of tests, created by its setup and destroyed by its teardown. */
#ifndef TEST_CONTEXT_H
#define TEST_CONTEXT_H

#include "tensorize.h"

static struct uk_context *context;

static inline int make_context(void **state) {
    (void)state;
    context = uk_context_create();
    return !context;
}

static inline int destroy_context(void **state) {
    (void)state;
    uk_context_destroy(context);
    return 0;
}

#endif
