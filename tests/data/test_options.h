/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of test programs, and files as tests. */
#ifndef TEST_OPTIONS_H
#define TEST_OPTIONS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* `--name value`, or `--name` alone for a flag; name NULL: an argument without a name. One of the pointers is
 * not NULL, and says what the value is. */
struct test_option {
    const char *name;
    int *number;
    uint64_t *seed; /* a number, or `new` */
    const char **text;
    bool *flag;
};

/* Sets what the arguments name. An unknown argument ends the process with a line that shows all options,
 * which a row without any pointer ends. */
void take_options(int argc, char **argv, const struct test_option *option);

/* Tests of the directory's .uk files in the order of their names, or of the one of them that is named; each
 * has its path as its state. Ends the process where there is none. */
int find_tests(const char *directory, const char *only, CMUnitTestFunction run, struct CMUnitTest *tests,
               int most);
/* The whole file, as text; free it. */
char *read_text(const char *path);

#endif
