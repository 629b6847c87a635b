/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of `pragma import` share: files in a folder of their own, programs on a kernel add_4 that an
 * import defines. */
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

/* Runs a command by the shell, formatted as printf does; the test fails if it does. */
__attribute__((format(printf, 1, 2))) void run(const char *format, ...);
/* A file of this name in the folder. */
void write_file(const char *name, const char *text);
/* An object of this name in the folder, compiled from the C text. */
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

/* The program of that text in folder/NAME.uk, which need not exist; destroy it. */
struct uk_program *parse(const char *name, const char *text);

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* To run the program fails with this status and a message that has all these words. target: NULL is this
 * machine. */
void refuses(const char *text, const char *target, enum uk_status status, const char *const word[]);
/* To emit the program as an object gives this status; where it is a failure, the message has all these words.
 * */
void emits(const char *text, const char *target, enum uk_status status, const char *const word[]);

/* Setup and teardown of a group of tests: the context and the folder. `clang` is set before. */
int make_folder(void **state);
int remove_folder(void **state);

#endif
