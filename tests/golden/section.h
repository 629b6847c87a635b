/* SPDX-License-Identifier: Apache-2.0 */
/* Golden files' programs, and the sections that say what the compiler makes of each (see golden.c). */
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

struct program {
    char name[64];        /* that of the file if it has no marker of programs; messages begin with it */
    char path[128];       /* FILE/NAME, or FILE */
    struct text text;     /* with the beginning that it shares */
    size_t sections, end; /* offsets in the file: its first section, the next program */
    int count;
    struct section s[MAX_SECTIONS];
};

/* Reads the program of that number, which begins at 0, of a file whose name without .uk is `stem`; false if
 * the file has fewer. The program points into the file; free it by free_program(). */
bool read_program(const struct text *file, const char *stem, int number, struct program *p);
void free_program(struct program *p);
/* With the target and the options of the section. */
struct uk_options section_options(const struct section *s);
/* Makes the sizes constants that the section defines. */
enum uk_status define_sizes(struct uk_program *p, const struct section *s);

#endif
