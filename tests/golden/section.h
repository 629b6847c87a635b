/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of golden files, and their sections of expected compiler output (see golden.c). */
#ifndef SECTION_H
#define SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include "tensorize.h"

enum { MAX_SECTIONS = 16, MAX_DEFINES = 8, MAX_SHOWN = 4 };

struct text {
    char *bytes;
    size_t length, room;
};

/* Appends n bytes; a NUL always follows them. Free t->bytes. */
void put(struct text *t, const char *from, size_t n);
struct text read_file(const char *path);

struct section {
    /* the marker's line in the file */
    const char *head;
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
    /* the file's name if it has no marker of programs; prefix of messages */
    char name[64];
    char path[128]; /* FILE/NAME, or FILE */
    /* with the shared beginning */
    struct text text;
    /* offsets in the file of its first section, and of the next program */
    size_t sections, end;
    int count;
    struct section s[MAX_SECTIONS];
};

/* Reads the program of that number, from 0, of a file whose name without .uk is `stem`; false if the file has
 * fewer. The program points into the file; free it by free_program(). */
bool read_program(const struct text *file, const char *stem, int number, struct program *p);
void free_program(struct program *p);
/* The options of the section, with its target. */
struct uk_options section_options(const struct section *s);
/* Makes the sizes that the section defines constants. */
enum uk_status define_sizes(struct uk_program *p, const struct section *s);

#endif
