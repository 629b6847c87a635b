/* SPDX-License-Identifier: Apache-2.0 */
/* Command-line arguments of test programs, and files as tests. */
#ifndef TEST_OPTIONS_H
#define TEST_OPTIONS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* `--name value`, or `--name` alone for a flag; name = NULL: an argument without a name. Exactly one pointer
 * is set; it defines the kind of value. */
struct test_option {
    const char *name;
    int *number;
    uint64_t *seed; /* a number, or `new` */
    const char **text;
    bool *flag;
};

/* Parses the arguments. The table ends with a row without pointers. An unknown argument prints all options
 * and ends the process. */
void take_options(int argc, char **argv, const struct test_option *option);

/* Makes a test of each .uk file in the directory, in order of names, or only of the file `only`; a test's
 * state is its path. Ends the process if there is none. */
int find_tests(const char *directory, const char *only, CMUnitTestFunction run, struct CMUnitTest *tests,
               int most);
/* Reads the whole file as text; the caller frees it. */
char *read_text(const char *path);

#endif
