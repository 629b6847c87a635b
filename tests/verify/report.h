/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of uk_verify on programs' kernels. */
#ifndef VERIFY_REPORT_H
#define VERIFY_REPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tensorize.h"

/* Returns the report on a program; fails the test if the status is another one. */
char *report_of(struct uk_context *c, const char *text, const struct uk_verify_options *options,
                enum uk_status expected);
/* Fails the test unless the report's line that begins with `begin` contains `contains`. */
void expect_line(const char *report, const char *begin, const char *contains);

/* A kernel, right or with one mistake. */
struct judged {
    const char *name, *text, *says; /* what the report has; "ok": the kernel is right */
};

/* Runs a test for each kernel, or only the one named `only` unless that is NULL, and then `more` unless that
 * is NULL, whose state is a context. Returns the number of failures. */
int run_judged(const char *group, const struct judged *kernels, size_t count, CMUnitTestFunction more,
               const char *only);

#endif
