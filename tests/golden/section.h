/* SPDX-License-Identifier: Apache-2.0 */
/* What golden programs are made of: a program, and sections that say what the compiler makes of it (see
 * golden.c). */
#ifndef SECTION_H
#define SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include "tensorize.h"

enum { MAX_SECTIONS = 8, MAX_DEFINES = 8, MAX_SHOWN = 4 };

struct text {
    char *bytes;
    size_t length, room;
};

/* Appends n bytes; there is always a NUL behind them. Free t->bytes. */
void put(struct text *t, const char *from, size_t n);
struct text read_file(const char *path);

struct section {
    const char *head; /* the marker's line, as it is in the file */
    size_t head_length;
    char kind[16], target[32];
    bool plain_loops, nearest;
    int threads, defines, shown;
    char show[MAX_SHOWN][64];
    char name[MAX_DEFINES][32];
    int64_t value[MAX_DEFINES];
    struct text expected; /* lines without their prefix */
};

/* The program ends where the first marker begins; that offset is returned. Free the sections' expected.bytes.
 * */
size_t read_sections(const struct text *file, struct section *s, int *count);
/* With the target and the options of the section. */
struct uk_options section_options(const struct section *s);
/* Makes the sizes constants that the section defines. */
enum uk_status define_sizes(struct uk_program *p, const struct section *s);

#endif
