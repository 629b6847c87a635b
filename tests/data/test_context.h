/* SPDX-License-Identifier: Apache-2.0 */
/* A context for a group of tests, created by its setup and destroyed by its teardown; parsing. After
 * cmocka.h. */
#ifndef TEST_CONTEXT_H
#define TEST_CONTEXT_H

#include <string.h>
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

/* Parses the text; a refusal fails the test. */
static inline struct uk_program *parse_in(struct uk_context *c, const char *file, const char *text) {
    struct uk_program *p;

    if (uk_program_parse(c, file, text, strlen(text), &p))
        fail_msg("%s\n%s", uk_context_message(c), text);
    return p;
}

static inline struct uk_program *parse_text(const char *text) {
    return parse_in(context, "f.uk", text);
}

#endif
