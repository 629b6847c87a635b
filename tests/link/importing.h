/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by tests of `pragma import`: files in a folder of the test's own, and programs with a kernel add_4
 * that an import defines. */
#ifndef IMPORTING_H
#define IMPORTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tensorize.h"

extern struct uk_context *context;
extern const char *clang;
extern char folder[]; /* without a slash at its end */

/* Runs a shell command, formatted as by printf; the test fails if the command fails. */
__attribute__((format(printf, 1, 2))) void run(const char *format, ...);
/* Writes a file of this name to the folder. */
void write_file(const char *name, const char *text);
/* Compiles the C text to an object of this name in the folder. */
void write_object(const char *name, const char *c);

/* Z = X + Y by a kernel add_4 that the imports define */

#define ADD                                                                                             \
    "void add_4(const float *a, const float *b, float *c) { for (int i = 0; i < 4; i++) c[i] = a[i] + " \
    "b[i]; }\n"
#define DECLARATION(requires, arguments)                                                 \
    "intrinsic add_4 "                                                                   \
        requires                                                                         \
    "\n"                                                                                 \
    "  tensor a f32 [4]\n  tensor b f32 [4]\n  tensor c f32 [4]\n  c[i] = a[i] + b[i]\n" \
    "  compute " arguments "\nend\n"
#define PLAIN DECLARATION("", "void add_4(ptr a, ptr b, ptr c)")
#define PROGRAM                                                                  \
    "tensor X f32 [N]\ntensor Y f32 [N]\ntensor Z f32 [N]\nZ[i] = X[i] + Y[i]\n" \
    "schedule\n  split Z.i 4 -> io ii\n  tensorize ii add_4\n"

/* Parses the text as folder/NAME.uk, a file that need not exist; destroy the program. */
struct uk_program *parse(const char *name, const char *text);

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Checks that running the program fails with this status and a message that contains all these words. target:
 * NULL: this machine. */
void refuses(const char *text, const char *target, enum uk_status status, const char *const word[]);
/* Checks the status of emitting the program as an object; after a failure the message has to contain all
 * these words. */
void emits(const char *text, const char *target, enum uk_status status, const char *const word[]);

/* Setup and teardown of a group of tests: the context and the folder. `clang` must be set before. */
int make_folder(void **state);
int remove_folder(void **state);

#endif
